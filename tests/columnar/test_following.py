"""Which transactions the kernel follows by itself, and that these are told as the reference decoder tells them.

``test_drift.py`` asks for any transactions whether both tell the same; here it is made sure that the kernel did it.
"""

from __future__ import annotations

import io

import pytest

from gtidal.columnar import kernel
from gtidal.columnar.codes import STATEMENT_WORDS, Role, Statement
from gtidal.columnar.following import Followed, Follower, roles_of
from gtidal.columnar.plan import PlanBook
from gtidal.columnar.windows import WindowReader
from gtidal.events import Event, Format, mariadb, statement, transaction
from gtidal.log.transactions import statement_kind
from tests.columnar.drift_judges import How, compare
from tests.logs import build_log
from tests.samples import UUID, query, samples, with_type

KERNELS: list[kernel.Implementation] = ["interpreted"]
if not kernel.interpreted_modules():
    KERNELS.append("compiled")

[TABLE] = [event for event in samples() if event.code == 19]
INSERT = next(event for event in samples() if event.code == 23)
TEXT = mariadb.AnnotateRows(b"INSERT INTO t VALUES (1)")
SETTINGS: list[Event] = [
    statement.Intvar(2, 5),
    statement.Rand(7, 8),
    statement.UserVar(b"v", 0, 0, 8, b"x", 0),
]
XID = transaction.Xid(9)


def gtid(number: int) -> Event:
    return transaction.Gtid(flags=1, uuid=UUID, gno=number, clock_type=2, last_committed=0, sequence_number=1)


def maria(number: int, flags: int = 4) -> Event:
    return mariadb.MariadbGtidEvent(number, 0, flags, extra_flags=16, thread_id=8)


FOLLOWED: dict[str, list[Event]] = {
    "MariaDB, XID": [maria(1), TEXT, TABLE, INSERT, XID],
    "MariaDB, COMMIT": [maria(1), TABLE, INSERT, query(b"COMMIT")],
    "MariaDB, ROLLBACK": [maria(1), TABLE, INSERT, query(b"ROLLBACK")],
    "MariaDB, statements": [maria(1), *SETTINGS, query(b"INSERT t VALUES (@v)"), XID],
    "no GTID, XID": [query(b"BEGIN"), TABLE, INSERT, XID],
    "no GTID, COMMIT": [query(b"BEGIN"), TABLE, INSERT, query(b"COMMIT")],
    "no GTID, no BEGIN": [*SETTINGS, query(b"INSERT t VALUES (@v)")],
    "statements": [gtid(1), query(b"BEGIN"), *SETTINGS, query(b"INSERT t VALUES (@v)"), query(b"DELETE FROM t"), XID],
    "savepoints": [gtid(1), query(b"BEGIN"), query(b"SAVEPOINT s"), TABLE, INSERT, query(b"ROLLBACK TO s"), XID],
    "DDL": [gtid(1), query(b"CREATE TABLE t (a INT)")],
    "DDL inside": [gtid(1), query(b"BEGIN"), query(b"DROP TEMPORARY TABLE t"), TABLE, INSERT, query(b"COMMIT")],
}  # fmt: skip
LEFT: dict[str, list[Event]] = {
    "cut off by MySQL's": [maria(1), TABLE, INSERT, gtid(2), query(b"DROP TABLE t")],
    "cut off by MariaDB's": [gtid(1), query(b"BEGIN"), maria(2), TABLE, INSERT, XID],
    "cut off by BEGIN": [query(b"BEGIN"), TABLE, INSERT, query(b"BEGIN"), TABLE, INSERT, XID],
    "never ended": [maria(1), TABLE, INSERT],
    "alone": [maria(1, 1), query(b"INSERT t VALUES (1)")],
    "rows behind DDL": [gtid(1), query(b"CREATE TABLE t (a INT) START TRANSACTION"), TABLE, INSERT, XID],
    "a stray end": [query(b"COMMIT"), XID, query(b"SAVEPOINT s")],
    "comments that are code": [gtid(1), query(b"/*!50000 DROP TABLE t */")],
}


def log_of(events: list[Event]) -> bytes:
    return build_log([with_type(event) for event in events])


def follow(events: list[Event]) -> Followed:
    reader = WindowReader(io.BytesIO(log_of(events)), "log")
    follower = Follower(reader.decoder, PlanBook())
    _, followed = map(follower.follow, reader)  # the first window is the format description
    return followed


@pytest.mark.parametrize("implementation", KERNELS)
@pytest.mark.parametrize("name", FOLLOWED)
def test_the_kernel_follows(name: str, implementation: kernel.Implementation) -> None:
    """Twice, so that nothing of the first is left in the second."""
    with kernel.use(implementation):
        followed = follow([*FOLLOWED[name], *FOLLOWED[name]])
    assert followed.asked == []
    assert followed.transactions == 2


@pytest.mark.parametrize("implementation", KERNELS)
@pytest.mark.parametrize("name", [*FOLLOWED, *LEFT])
def test_windows_that_end_anywhere(name: str, implementation: kernel.Implementation) -> None:
    events = [*FOLLOWED["no GTID, XID"], *(FOLLOWED | LEFT)[name], *FOLLOWED["MariaDB, XID"]]
    log = log_of(events)
    with kernel.use(implementation):
        for window in range(200, len(log) + 64, 151 if implementation == "compiled" else 701):
            told = compare(log, How(window=window, uncommitted=window % 2 == 0))
            assert len(told["events"].rows) == 1 + len(events)


@pytest.mark.parametrize("name", LEFT)
def test_the_rest_is_left_to_the_reference_decoder(name: str) -> None:
    assert follow(LEFT[name]).asked


def test_words_mean_what_the_reference_decoder_takes_them_for() -> None:
    kinds = {Statement.CREATE: "ddl"}
    for word, kind in STATEMENT_WORDS.items():
        for text in (f"{word} x", word.lower(), f"/* a */{word}(1)"):
            assert statement_kind(text.encode()) == kinds.get(kind, kind.name.lower())
    assert statement_kind(b"ROLLBACK TO x") == "savepoint"


def test_ordinary_transactions_are_those_of_rows_behind_a_gtid() -> None:
    ordinary, every = roles_of(Format(), only_ordinary=True), roles_of(Format())
    assert (ordinary[2], every[2]) == (Role.BEGIN, Role.QUERY)
    assert [code for code in range(256) if every[code] and not ordinary[code]] == [5, 13, 14, 160, 162]
