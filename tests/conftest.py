"""What holds for all tests: the markers `live` and `soak`, and the servers' versions in the header."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import fetch_servers  # tools/fetch_servers.py

LIVE = Path(__file__).parent / "live"


def pytest_report_header() -> str:
    found = []
    for server in fetch_servers.SERVERS:
        variable = server.variables[0]
        version = fetch_servers.fetched_version(server, fetch_servers.cache_folder())
        if own := os.environ.get(variable):
            found.append(f"{server.title} as in {variable} ({own})")
        elif version:
            found.append(f"{server.title} {version}")
    return f"live servers: {', '.join(found)}" if found else "no live servers fetched"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if LIVE in item.path.parents:
            item.add_marker(pytest.mark.live)
    if "soak" not in config.option.markexpr:  # the long ones run only when they are asked for
        long = [item for item in items if item.get_closest_marker("soak")]
        if long:
            config.hook.pytest_deselected(items=long)
            items[:] = [item for item in items if not item.get_closest_marker("soak")]
