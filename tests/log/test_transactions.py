"""Where transactions begin and end, in every form a log has for it."""

from __future__ import annotations

import io
import time
from dataclasses import replace
from itertools import pairwise

import pytest

from gtidal import open_log
from gtidal.events import Event, Header, encode_event
from gtidal.events.control import (
    Heartbeat,
    HeartbeatV2,
    Ignorable,
    Incident,
    LargeTransactionHeader,
    PreviousGtids,
    Rotate,
    Slave,
    Stop,
)
from gtidal.events.group import TransactionContext
from gtidal.events.header import IGNORABLE
from gtidal.events.load import BeginLoadQuery, DeleteFile, ExecuteLoadQuery
from gtidal.events.mariadb import AnnotateRows, MariadbGtidEvent, PartialRowData
from gtidal.events.registry import Unknown
from gtidal.events.statement import Intvar, MariadbGtidFlags, Query, RowsQuery
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


def q(text: str, schema: str = "shop", status: tuple[MariadbGtidFlags, ...] = ()) -> Event:
    return Query(8, 0, 0, schema, status, query=text.encode(), header=Header(1, 2, 1))


def gtid(gno: int = 1) -> Event:
    return Gtid(1, UUID, gno, 2, 0, 1, header=Header(1, 33, 1))


def anonymous() -> Event:
    return AnonymousGtid(1, bytes(16), 0, 2, 0, 1, header=Header(1, 34, 1))


def maria(flags: int, **more: object) -> Event:
    return MariadbGtidEvent(7, 0, flags, header=Header(1, 162, 3), **more)  # type: ignore[arg-type]


def ignorable(event: Event) -> Event:
    return replace(event, header=replace(event.header, flags=IGNORABLE))


XID = with_type(Xid(9))
INCIDENT = with_type(Incident(1, b"lost"))
INSERT_GOES_ON = replace(INSERT, flags=0)  # type: ignore[call-arg]  # a rows event has flags
UNKNOWN = Unknown(b"what", header=Header(1, 99, 1))


def run(*events: Event, inner: bool = True) -> list[Transaction]:
    decoder = LogDecoder("log")
    decoder.receive_data(build_log(list(events)))
    tracker = TransactionTracker()
    found: list[Transaction] = []
    for event in decoder:
        found.extend(tracker.feed(event))
        if inner and isinstance(event, TransactionPayload):
            for _, inside in decoder.inner(event):
                found.extend(tracker.feed(inside))
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
        [gtid(), INCIDENT, gtid(2), *ROWS, XID],
        [("commit", "other"), ("commit", "dml")],
    ),
    "incident without gtid": ([INCIDENT, *ROWS, XID], [("commit", "other"), ("commit", "dml")]),
    "incident inside": ([gtid(), *ROWS, INCIDENT, q("ROLLBACK")], [("rollback", "dml")]),
    "incident inside, then nothing": ([gtid(), *ROWS, INCIDENT], [("incomplete", "dml")]),
    "rows without begin": ([TABLE, INSERT, TABLE, INSERT], [("commit", "dml")] * 2),
    "a statement of several rows events": (
        [TABLE, INSERT_GOES_ON, INSERT_GOES_ON, INSERT, *ROWS, XID],
        [("commit", "dml")] * 2,
    ),
    "rows without begin, cut": ([TABLE, INSERT_GOES_ON], [("incomplete", "dml")]),
    "begin lost behind a gtid": ([gtid(), TABLE, INSERT, TABLE, INSERT, XID], [("commit", "dml")]),
    "begin inside begin": ([*ROWS, *ROWS, XID], [("incomplete", "dml"), ("commit", "dml")]),
    "begin inside begin with a gtid": (
        [gtid(), *ROWS, *ROWS, XID],
        [("incomplete", "dml"), ("commit", "dml")],
    ),
    "xa start inside begin": (
        [*ROWS, q("XA START X'61',X'',1"), with_type(XaPrepare(0, 1, b"a", b""))],
        [("incomplete", "dml"), ("prepared", "xa")],
    ),
    "a load that failed": (
        [with_type(BeginLoadQuery(1, b"x")), with_type(DeleteFile(1)), *ROWS, XID],
        [("rollback", "other"), ("commit", "dml")],
    ),
    "create select behind begin": (
        [gtid(), q("BEGIN"), q("CREATE TABLE t (a INT) START TRANSACTION"), TABLE, INSERT, XID],
        [("commit", "ddl")],
    ),
    "create select, no gtid": (
        [q("CREATE TABLE t (a INT) start transaction\n"), TABLE, INSERT, TABLE, INSERT, XID],
        [("commit", "ddl")],
    ),
    "a procedure that starts a transaction": (
        [gtid(), q("CREATE PROCEDURE p() START TRANSACTION"), gtid(2), *ROWS, XID],
        [("commit", "ddl"), ("commit", "dml")],
    ),
    "an anonymous gtid may be ignorable": ([ignorable(anonymous()), *ROWS, XID], [("commit", "dml")]),
    "unknown inside": ([gtid(), *ROWS, UNKNOWN, XID], [("commit", "dml")]),
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
    "mariadb standalone rows": (
        [
            maria(1),
            with_type(AnnotateRows(b"INSERT")),
            TABLE,
            INSERT_GOES_ON,
            INSERT,
            maria(4),
            TABLE,
            INSERT,
            XID,
        ],
        [("commit", "dml")] * 2,
    ),
    "mariadb create select": (
        [maria(4 | 32), q("CREATE TABLE t (a INT)"), TABLE, INSERT, TABLE, INSERT, q("COMMIT")],
        [("commit", "ddl")],
    ),
    "mariadb alter in two phases": (
        [
            *(maria(33, extra_flags=2), q("ALTER TABLE t FORCE")),
            *(maria(33, extra_flags=4, start_alter=7), q("ALTER TABLE t FORCE")),
            *(maria(33, extra_flags=2), q("ALTER TABLE t FORCE")),
            *(maria(33, extra_flags=8, start_alter=7), q("ALTER TABLE t FORCE")),
        ],
        [("prepared", "ddl"), ("commit", "ddl"), ("prepared", "ddl"), ("rollback", "ddl")],
    ),
    "mariadb alter in two phases, as the statement tells": (
        [
            q("ALTER TABLE t FORCE", status=(MariadbGtidFlags(130, 2),)),
            q("ALTER TABLE t FORCE", status=(MariadbGtidFlags(130, 4, 7),)),
            q("ALTER TABLE t FORCE", status=(MariadbGtidFlags(130, 8, 7),)),
        ],
        [("prepared", "ddl"), ("commit", "ddl"), ("rollback", "ddl")],
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


@pytest.mark.parametrize(
    "behind",
    [[gtid(2), *ROWS, XID], [*ROWS, XID], [with_type(Rotate(4, "next"))], [with_type(Stop())], [UNKNOWN], []],
)
def test_payloads_that_nobody_opened(behind: list[Event]) -> None:
    """A payload holds a whole transaction, even if the events inside it are not given."""
    one, *rest = run(gtid(), PAYLOAD, *behind, inner=False)
    assert (one.outcome, one.compressed, one.events) == ("commit", True, 2)
    assert one.end_position == len(build_log([gtid(), PAYLOAD]))
    assert [each.outcome for each in rest] == ["commit"] * (XID in behind)


def test_a_payload_that_breaks_off() -> None:
    """Some of its events were given, and none that ends the transaction: nothing is guessed."""
    decoder = LogDecoder("log")
    decoder.receive_data(build_log([gtid(), PAYLOAD, gtid(2)]))
    tracker = TransactionTracker()
    _, first, payload, second = decoder
    assert isinstance(payload, TransactionPayload)
    inside = next(inner for _, inner in decoder.inner(payload))
    assert tracker.feed(first) + tracker.feed(payload) + tracker.feed(inside) == ()
    (one,) = tracker.feed(second)
    assert (one.outcome, one.events) == ("incomplete", 3)
    assert one.end_position == payload.header.end_position


@pytest.mark.parametrize("head", [[], [maria(1)]], ids=["no gtid", "standalone"])
def test_rows_in_pieces(head: list[Event]) -> None:
    """The rows event that the pieces make up comes with the last of them, and moves no position."""
    rows = encode_event(INSERT, format_description(checksum=0).format)
    pieces = [
        with_type(PartialRowData(2, 1, 0, data=rows[:30])),
        with_type(PartialRowData(2, 2, 0, data=rows[30:])),
    ]
    events = [*head, TABLE, *pieces]
    tracker = TransactionTracker()
    found: list[Transaction] = []
    for event in open_log(io.BytesIO(build_log([*events, *ROWS, XID]))):
        found.extend(tracker.feed(event))
    assert [(each.outcome, each.rows_inserted) for each in found] == [("commit", 2), ("commit", 2)]
    assert found[0].end_position == found[1].position == len(build_log(events))


def test_positions_of_the_next_file_are_not_inside_a_payload() -> None:
    """One tracker may be fed the files of a chain."""
    tracker = TransactionTracker()
    found: list[Transaction] = []
    for events in ([*ROWS, XID, gtid(), PAYLOAD], [gtid(2), *ROWS, XID]):
        decoder = LogDecoder("log")
        decoder.receive_data(build_log(events))
        for event in decoder:
            found.extend(tracker.feed(event))
    assert [each.outcome for each in found] == ["commit"] * 3
    assert found[-1].end_position == len(build_log([gtid(2), *ROWS, XID]))


BESIDE = [
    Heartbeat("log", header=Header(1, 27, 1)),
    HeartbeatV2((), header=Header(1, 41, 1)),
    with_type(Ignorable(b"x")),
    with_type(Slave(b"x")),
    with_type(LargeTransactionHeader(1, 2, 3)),
    UNKNOWN,
    ignorable(UNKNOWN),
    next(event for event in samples() if isinstance(event, TransactionContext)),
    ignorable(with_type(RowsQuery(6, b"INSERT"))),
    ignorable(with_type(Intvar(2, 5))),
]


@pytest.mark.parametrize("event", BESIDE, ids=lambda event: event.name)
def test_events_that_begin_no_transaction(event: Event) -> None:
    assert run(event) == []
    first, second = run(*ROWS, XID, event, *ROWS, event, XID)
    assert (first.outcome, second.outcome) == ("commit", "commit")
    assert second.position > first.end_position


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
        ("ROLLBACK WORK TO SAVEPOINT s", "savepoint"),
        ("ROLLBACK /* x */ TO\ns", "savepoint"),
        ("ROLLBACK WORK", "rollback"),
        ("/*!50000 CREATE TABLE t (a INT) */", "ddl"),
        ("/*!50000 INSERT */ INTO t VALUES (1)", "dml"),
        ("/*! BEGIN */", "begin"),
        ("/*M!100100 /* c */ UPDATE t SET a=1 */", "dml"),
        ("/* INSERT */ /*!40000 DROP */ TABLE t", "ddl"),
        ("/***/ # c\n/*/ INSERT */ COMMIT", "commit"),
        ("--\tc\n-- d\n\tDELETE FROM t", "dml"),
        ("/* INSERT", "ddl"),
        ("-- INSERT", "ddl"),
    ],
)
def test_statement_kinds(text: str, kind: str) -> None:
    assert statement_kind(text.encode()) == kind


@pytest.mark.parametrize(
    "comment", ["/**/", "/* x */ ", "/*", "/*!50000 ", "*/", "-- \n", "#\n", " ", "/", "a "]
)
def test_statements_of_comments_take_no_time(comment: str) -> None:
    started = time.process_time()
    for end in ("1", "INSERT INTO t VALUES (1)"):
        statement_kind((comment * 100_000 + end).encode())
    assert time.process_time() - started < 2
    assert statement_kind(b"/* x */" * 100_000 + b"INSERT INTO t VALUES (1)") == "dml"


def test_xa_ids_out_of_bounds() -> None:
    assert xa_in_text(b"XA COMMIT 'a','b'," + b"1" * 10_000) == "X'61',X'62',1111111111"


def test_a_replica_keeps_transactions_over_rotations() -> None:
    """In a relay log the replica's own events may stand inside a transaction."""
    own = replace(format_description(), header=Header(1, 15, 2, flags=0x40))
    (one,) = run(gtid(), q("BEGIN"), own, TABLE, INSERT, XID)
    assert one.outcome == "commit"
