"""Fixtures that give running servers. Where there is no server, tests that ask for one fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.live.scenarios import Logs, find_logs, make_logs
from tests.live.servers import MariaDBServer, MySQLServer, ServerError, mariadb_binaries, mysql_binaries

StartMySQL = Callable[..., MySQLServer]
StartMariaDB = Callable[..., MariaDBServer]


@pytest.fixture(autouse=True, scope="session")
def live_servers() -> None:
    """Every test below this folder needs the servers; none is skipped for the lack of them."""
    problem = ""
    try:
        mysql_binaries()
        mariadb_binaries()
    except ServerError as error:
        problem = str(error)
    if problem:
        pytest.fail(f"live tests need the real servers: {problem}", pytrace=False)


@pytest.fixture
def start_mysql() -> Iterator[StartMySQL]:
    """`start_mysql(*options, encrypted=False)` starts a new MySQL server; it is gone after the test."""
    with ExitStack() as stack:
        yield lambda *options, **more: stack.enter_context(MySQLServer.temporary(*options, **more))


@pytest.fixture
def start_mariadb() -> Iterator[StartMariaDB]:
    """`start_mariadb(*options, encrypted=False)` starts a new MariaDB server; it is gone after the test."""
    with ExitStack() as stack:
        yield lambda *options, **more: stack.enter_context(MariaDBServer.temporary(*options, **more))


@pytest.fixture(scope="module")
def mysql() -> Iterator[MySQLServer]:
    """A MySQL server with our default options, shared by the tests of a file."""
    with MySQLServer.temporary() as server:
        yield server


@pytest.fixture(scope="module")
def mariadb() -> Iterator[MariaDBServer]:
    """A MariaDB server with our default options, shared by the tests of a file."""
    with MariaDBServer.temporary() as server:
        yield server


@pytest.fixture(scope="session")
def made_logs(live_servers: None) -> None:
    """The logs of all scenarios are in the cache. The workers of one run share the making of them."""
    make_logs()


@pytest.fixture
def logs(request: pytest.FixtureRequest, made_logs: None) -> Logs:
    """The logs of a scenario, by its name: see `every_scenario` in `reading.py`."""
    return find_logs(request.param)
