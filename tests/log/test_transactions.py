"""Where transactions begin and end, in every form a log has for it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from gtidal.events import Event, Header
from gtidal.events.control import Incident, PreviousGtids, Rotate, Stop
from gtidal.events.load import BeginLoadQuery, ExecuteLoadQuery
from gtidal.events.mariadb import AnnotateRows, MariadbGtidEvent
from gtidal.events.statement import Intvar, Query
from gtidal.events.transaction import AnonymousGtid, Gtid, TransactionPayload, XaPrepare, Xid
from gtidal.gtid import EncodedGtidSet, GtidSet
from gtidal.log.decoder import LogDecoder
from gtidal.log.transactions import Transaction, TransactionTracker, statement_kind, xa_in_text
from tests.logs import build_log, format_description
from tests.samples import TABLE, UUID, samples, with_type

INSERT = next(event for event in samples() if event.code == 30)
UPDATE = next(event for event in samples() if event.code == 31)
DELETE = next(event for event in samples() if event.code == 32)
PAYLOAD = next(event for event in samples() if isinstance(event, TransactionPayload))


def q(text: str, schema: str = "shop") -> Event:
    return Query(8, 0, 0, schema, (), query=text.encode(), header=Header(1, 2, 1))


def gtid(gno: int = 1) -> Event:
    return Gtid(1, UUID, gno, 2, 0, 1, header=Header(1, 33, 1))


def anonymous() -> Event:
    return AnonymousGtid(1, bytes(16), 0, 2, 0, 1, header=Header(1, 34, 1))


def maria(flags: int, **more: object) -> Event:
    return MariadbGtidEvent(7, 0, flags, header=Header(1, 162, 3), **more)  # type: ignore[arg-type]


XID = with_type(Xid(9))


def run(*events: Event) -> list[Transaction]:
    decoder = LogDecoder("log")
    decoder.receive_data(build_log(list(events)))
    tracker = TransactionTracker()
    found: list[Transaction] = []
    for event in decoder:
        found.extend(tracker.feed(event))
        if isinstance(event, TransactionPayload):
            for _, inner in decoder.inner(event):
                found.extend(tracker.feed(inner))
    found.extend(tracker.finish())
    return found


ROWS = [q("BEGIN"), TABLE, INSERT]
FORMS: dict[str, tuple[list[Event], list[tuple[str, str]]]] = {
    "gtid, rows, xid": ([gtid(), *ROWS, XID], [("commit", "dml")]),
    "anonymous": ([anonymous(), *ROWS, XID], [("commit", "dml")]),
    "no gtid at all": ([*ROWS, XID, *ROWS, XID], [("commit", "dml")] * 2),
    "commit as a query": ([gtid(), *ROWS, q("COMMIT")], [("commit", "dml")]),
    "rollback": ([gtid(), *ROWS, q("ROLLBACK")], [("rollback", "dml")]),
    "rollback with a comment": ([gtid(), *ROWS, q("ROLLBACK /* added by server */")], [("rollback", "dml")]),
    "rollback to a savepoint goes on": (
        [gtid(), q("BEGIN"), q("SAVEPOINT a"), TABLE, INSERT, q("ROLLBACK TO `a`"), XID],
        [("commit", "dml")],
    ),
    "ddl": ([gtid(), q("CREATE TABLE t (a INT)")], [("commit", "ddl")]),
    "ddl without gtid": ([q("DROP TABLE t"), q("/* x */ ALTER TABLE t ADD b INT")], [("commit", "ddl")] * 2),
    "create select": (
        [gtid(), q("CREATE TABLE t (a INT) START TRANSACTION"), TABLE, INSERT, XID],
        [("commit", "ddl")],
    ),
    "statements": (
        [gtid(), q("BEGIN"), with_type(Intvar(2, 5)), q("INSERT INTO t VALUES (1)"), XID],
        [("commit", "dml")],
    ),
    "statement outside a transaction": (
        [with_type(Intvar(2, 5)), q("INSERT INTO t VALUES (1)")],
        [("commit", "dml")],
    ),
    "load data": (
        [
            gtid(),
            q("BEGIN"),
            with_type(BeginLoadQuery(1, b"x")),
            with_type(
                ExecuteLoadQuery(1, 0, 0, "shop", (), 1, 9, 14, 0, b"LOAD DATA INFILE 'x' INTO TABLE t")
            ),
            XID,
        ],
        [("commit", "dml")],
    ),
    "xa prepared": (
        [
            gtid(),
            q("XA START X'61',X'',1"),
            TABLE,
            INSERT,
            q("XA END X'61',X'',1"),
            with_type(XaPrepare(0, 1, b"a", b"")),
        ],
        [("prepared", "xa")],
    ),
    "xa in one phase": (
        [
            gtid(),
            q("XA START X'61',X'',1"),
            TABLE,
            INSERT,
            q("XA END X'61',X'',1"),
            with_type(XaPrepare(1, 1, b"a", b"")),
        ],
        [("commit", "xa")],
    ),
    "xa fate": (
        [gtid(1), q("XA COMMIT X'61',X'',1"), gtid(2), q("XA ROLLBACK X'62',X'',1")],
        [("commit", "xa"), ("rollback", "xa")],
    ),
    "payload": ([gtid(), PAYLOAD], [("commit", "dml")]),
    "payload and more": ([gtid(1), PAYLOAD, gtid(2), *ROWS, XID], [("commit", "dml")] * 2),
    "empty": ([gtid(), q("BEGIN"), q("COMMIT")], [("commit", "other")]),
    "incident": (
        [gtid(), with_type(Incident(1, b"lost")), gtid(2), *ROWS, XID],
        [("commit", "other"), ("commit", "dml")],
    ),
    "never ended": ([gtid(), *ROWS], [("incomplete", "dml")]),
    "cut by the next": ([gtid(1), *ROWS, gtid(2), *ROWS, XID], [("incomplete", "dml"), ("commit", "dml")]),
    "cut by a stop": ([gtid(1), *ROWS, with_type(Stop())], [("incomplete", "dml")]),
    "cut by a restart": (
        [gtid(1), *ROWS, format_description(), *ROWS, XID],
        [("incomplete", "dml"), ("commit", "dml")],
    ),
    "between": (
        [with_type(PreviousGtids(EncodedGtidSet.from_set(GtidSet()))), with_type(Rotate(4, "next"))],
        [],
    ),
    "mariadb transaction": (
        [maria(4), with_type(AnnotateRows(b"INSERT")), TABLE, INSERT, XID],
        [("commit", "dml")],
    ),
    "mariadb standalone": (
        [maria(1 | 32), q("CREATE TABLE t (a INT)"), maria(4), TABLE, INSERT, q("COMMIT")],
        [("commit", "ddl"), ("commit", "dml")],
    ),
    "mariadb xa": (
        [maria(64, format_id=1, gtrid=b"a", bqual=b""), TABLE, INSERT, with_type(XaPrepare(0, 1, b"a", b""))],
        [("prepared", "xa")],
    ),
}


@pytest.mark.parametrize(("events", "expected"), FORMS.values(), ids=FORMS)
def test_forms(events: list[Event], expected: list[tuple[str, str]]) -> None:
    found = run(*events)
    assert [(transaction.outcome, transaction.kind) for transaction in found] == expected
    for before, after in pairwise(found):
        assert before.end_position <= after.position


def test_what_a_transaction_holds() -> None:
    (one,) = run(gtid(5), q("BEGIN"), TABLE, INSERT, TABLE, UPDATE, TABLE, DELETE, XID)
    assert one.gtid == "b8ae2fd2-3005-11f0-8be8-0242ac150002:5"
    assert (one.rows_inserted, one.rows_updated, one.rows_deleted) == (2, 1, 1)
    assert list(one.tables) == ["shop.orders"]
    assert (one.events, one.xid, one.thread_id, one.schema) == (9, 9, 8, "shop")
    assert (one.server_id, one.timestamp) == (1, 1)
    assert one.length == one.end_position - one.position > 0


def test_length_of_a_compressed_transaction() -> None:
    """Inner events count as events, and do not move the end."""
    (one,) = run(gtid(), PAYLOAD)
    assert (one.compressed, one.events, one.rows_inserted, one.xid) == (True, 6, 2, 9)
    log = build_log([gtid(), PAYLOAD])
    assert one.end_position == len(log)
    assert one.uncompressed_length == PAYLOAD.uncompressed_size  # type: ignore[attr-defined]


def test_mariadb_gtid() -> None:
    (one,) = run(maria(4, extra_flags=16, thread_id=44), TABLE, INSERT, XID)
    assert (one.gtid, one.thread_id) == ("0-3-7", 44)


def test_xa_ids_agree() -> None:
    """The statement and the event spell one identifier alike."""
    prepared, fate = run(
        gtid(1),
        q("XA START X'616263',X'6264',7"),
        with_type(XaPrepare(0, 7, b"abc", b"bd")),
        gtid(2),
        q("XA COMMIT X'616263',X'6264',7"),
    )
    assert prepared.xa == fate.xa == "X'616263',X'6264',7"
    assert xa_in_text(b"XA ROLLBACK 'abc'") == "X'616263',X'',1"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("BEGIN", "begin"),
        ("begin", "begin"),
        ("START TRANSACTION", "begin"),
        ("COMMIT", "commit"),
        ("ROLLBACK", "rollback"),
        ("ROLLBACK TO `s`", "savepoint"),
        ("SAVEPOINT `s`", "savepoint"),
        ("RELEASE SAVEPOINT `s`", "savepoint"),
        ("XA PREPARE X'61',X'',1", "xa_prepare"),
        ("/* c */ insert into t values (1)", "dml"),
        ("WITH x AS (SELECT 1) DELETE FROM t", "dml"),
        ("REPLACE INTO t VALUES (1)", "dml"),
        ("CREATE TABLE t (a INT)", "ddl"),
        ("-- c\nDROP TABLE t", "ddl"),
        ("GRANT SELECT ON *.* TO u", "ddl"),
        ("", "ddl"),
    ],
)
def test_statement_kinds(text: str, kind: str) -> None:
    assert statement_kind(text.encode()) == kind


def test_a_replica_keeps_transactions_over_rotations() -> None:
    """In a relay log the replica's own events may stand inside a transaction."""
    own = replace(format_description(), header=Header(1, 15, 2, flags=0x40))
    (one,) = run(gtid(), q("BEGIN"), own, TABLE, INSERT, XID)
    assert one.outcome == "commit"
