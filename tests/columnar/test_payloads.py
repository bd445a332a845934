"""Payloads that hold several transactions, or pieces of them. No server writes such; the views say of them what the
reference decoder says, wherever windows end."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gtidal.columnar import windows
from gtidal.columnar.modes import schema_in_mode, view_in_mode
from gtidal.columnar.scanning import LogScan, Scan
from gtidal.columnar.schemas import CHANGES
from gtidal.columnar.selection import Selection
from gtidal.events import Event, Format, encode_event, transaction
from gtidal.events.mariadb import StartEncryption
from gtidal.events.rows import Row, WriteRows
from gtidal.log.codecs import MariadbCipher
from gtidal.log.decoder import Keys
from tests.columnar.drift_judges import FILE, How, compare, read_view
from tests.columnar.row_judge import read_rows, schema_of
from tests.columnar.test_drift import LONG, QUICK, headed, packed_bytes, packed_events, transactions
from tests.columnar.test_memory import TABLE
from tests.hostile.damage import event_spans
from tests.logs import build_log
from tests.samples import UUID, query, with_type

WINDOWS = (200, 1000, 1 << 20)
INNER = (1, 300, 1 << 16)


@pytest.fixture(params=INNER)
def small_inner(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows inside of payloads as small as their zstd frames."""
    monkeypatch.setattr(windows, "SMALLEST_INNER", request.param)


def gtid(number: int) -> Event:
    return transaction.Gtid(flags=1, uuid=UUID, gno=number, last_committed=0, sequence_number=1, clock_type=2)


def rows(*numbers: int) -> list[Event]:
    changed = tuple(Row(None, (number, b"x" * 50)) for number in numbers)
    inserted = WriteRows(table_id=7, flags=1, width=2, after_columns=b"\x03", rows=changed, table=TABLE)
    return [replace(TABLE), inserted]


BEGIN, XID, ROLLBACK = b"BEGIN", b"XID", b"ROLLBACK"
Words = Sequence[object]


def made(words: Words) -> list[Event]:
    """Bytes: statements, or XID. Lists: payloads. Numbers below 100: GTIDs; others: an inserted row."""
    events: list[Event] = []
    for word in words:
        if isinstance(word, list):
            inner = made(word)
            events.append(packed_events(inner, max(len(inner), 1)))
        elif isinstance(word, int):
            events += [gtid(word)] if word < 100 else rows(word, word + 1)
        elif word == XID:
            events.append(transaction.Xid(9))
        else:
            assert isinstance(word, bytes)
            events.append(query(word))
    return [with_type(event) for event in events]


BEHIND: Words = (50, BEGIN, 900, XID)
LOGS: dict[str, Words] = {
    "two": (1, [BEGIN, 100, XID, BEGIN, 200, 300, XID], *BEHIND),
    "three, the second rolled back": (1, [BEGIN, 100, XID, BEGIN, 200, ROLLBACK, BEGIN, 300, XID], *BEHIND),
    "open, cut off": (1, [BEGIN, 100, XID, BEGIN, 200, 300], *BEHIND),
    "open, and goes on outside": (1, [BEGIN, 100, XID, BEGIN, 200], 300, XID, *BEHIND),
    "open, and rolled back outside": (1, [BEGIN, 100, XID, BEGIN, 200], 300, ROLLBACK, *BEHIND),
    "open at the log's end": (1, [BEGIN, 100, XID, BEGIN, 200, 300]),
    "from one payload to the next": (1, [BEGIN, 100, XID, BEGIN, 200], 300, [400, XID, BEGIN, 500], XID, *BEHIND),
    "none before it": ([BEGIN, 100, XID, BEGIN, 200, XID], [BEGIN, 300], *BEHIND),
    "with their own names": (1, [BEGIN, 100, XID, 2, BEGIN, 200, XID, 3, BEGIN, 300, XID], *BEHIND),
    "cut off by names": (1, [BEGIN, 100, 2, BEGIN, 200, 3, BEGIN, 300, XID], *BEHIND),
    "statements alone": (1, [b"CREATE TABLE a (a INT)", b"DROP TABLE b", b"INSERT INTO c VALUES (1)"], *BEHIND),
    "one, of many events": (1, [BEGIN, *range(100, 130), XID], *BEHIND),
    "the first of many events": (1, [BEGIN, *range(100, 130), XID, BEGIN, 200, XID], *BEHIND),
    "the last of many events": (1, [BEGIN, 100, XID, BEGIN, *range(200, 230)], 300, XID, *BEHIND),
    "behind a large event": (1, BEGIN, *range(100, 130), [XID, BEGIN, 200], *range(300, 330), XID, *BEHIND),
    "nothing inside": (1, [], *BEHIND),
    "nothing inside, and rows behind it": (1, BEGIN, 100, [], 200, 300, XID, *BEHIND),
    "nothing inside, and rows behind it, from one payload to the next": ([BEGIN, 100], [], 200, 300, XID, *BEHIND),
    "between others": (*BEHIND, 1, [BEGIN, 100, XID, BEGIN, 200, 300], *BEHIND, 2, [BEGIN, 400, XID, BEGIN], *BEHIND),
}  # fmt: skip


@pytest.mark.usefixtures("small_inner")
@pytest.mark.parametrize("words", LOGS.values(), ids=LOGS)
@pytest.mark.parametrize("uncommitted", [False, True])
def test_as_the_reference_decoder_says(words: Words, uncommitted: bool) -> None:
    log = build_log(made(words), 1)
    for window in WINDOWS:
        told = compare(log, How(window=window, uncommitted=uncommitted))
        assert told["changes"].error is None


@pytest.mark.usefixtures("small_inner")
@pytest.mark.parametrize("words", LOGS.values(), ids=LOGS)
def test_typed_rows(words: Words) -> None:
    """The same rows as in changes, which were compared with the reference decoder's."""
    log = build_log(made(words), 1)
    changes = read_view("changes", log, How(uncommitted=True)).rows
    for window in WINDOWS:
        found = [
            row
            for batch in read_rows(log, schema_of(log, "shop.blobs"), window=window)
            for row in batch.to_pylist()
        ]
        expected = [change for change in changes if change["op"] == "insert"]
        assert [(row["_position"], row["_outcome"]) for row in found] == [
            (change["position"], change["outcome"]) for change in expected
        ]


def other(*numbers: int) -> list[Event]:
    """Rows of another table."""
    table = replace(TABLE, table_id=8, table="other")
    changed = tuple(Row(None, (number, b"y")) for number in numbers)
    inserted = WriteRows(table_id=8, flags=1, width=2, after_columns=b"\x03", rows=changed, table=table)
    return [with_type(table), with_type(inserted)]


@pytest.mark.usefixtures("small_inner")
@pytest.mark.parametrize("window", WINDOWS)
def test_rows_are_numbered_whatever_is_selected(window: int) -> None:
    """Transactions that begin inside of one payload share a position, and the numbers go on."""
    inner = [
        *(*made((BEGIN, 100)), *other(1), *made((101, XID))),
        *(*made((BEGIN,)), *other(1, 2), *made((200,)), *other(3), *made((300, XID))),
        *(*made((BEGIN,)), *other(7), *made((XID,))),
        *(*made((BEGIN,)), *other(4), *made((400,))),
    ]
    payload = with_type(packed_events(inner, len(inner)))
    log = build_log([*made((1,)), payload, *other(5), *made((500, XID, *BEHIND))], 1)

    def numbers(**selected: Any) -> list[tuple[int, int]]:
        scan = Scan(("position", "row", "table"), Selection(**selected), window=window)
        found = [row for batch in LogScan(io.BytesIO(log), FILE, scan).changes() for row in batch.to_pylist()]
        return [(row["position"], row["row"]) for row in found if row["table"] == "blobs"]

    expected = numbers()
    assert len(expected) == 14
    assert numbers(tables=("shop.blobs",)) == expected
    rows = [
        row
        for batch in read_rows(log, schema_of(log, "shop.blobs"), window=window)
        for row in batch.to_pylist()
    ]
    assert [(row["_position"], row["_row"]) for row in rows] == expected


@pytest.mark.usefixtures("small_inner")
@pytest.mark.parametrize("window", WINDOWS)
def test_a_payload_that_breaks_off(window: int) -> None:
    """Its transactions that ended are shown before the error; where damage is told of, none of them is."""
    words: list[object] = [BEGIN, 100, XID, BEGIN, 200, XID, BEGIN, 300, XID]
    whole = packed_events(made(words), 12)
    cut = with_type(replace(whole, payload=whole.payload[:-30]))
    log = build_log([*made((*BEHIND, 1)), cut, *made(BEHIND)], 1)
    told = compare(log, How(window=window))["changes"]
    assert told.error is not None
    assert len(told.rows) == 6

    schema = schema_in_mode(CHANGES, "PERMISSIVE")
    read = view_in_mode("changes", "PERMISSIVE", schema)
    scan = Scan(tuple(CHANGES.names), window=window)
    found = [row for batch in read(LogScan(io.BytesIO(log), FILE, scan)) for row in batch.to_pylist()]
    assert [row["gtid"] and row["gtid"][-3:] for row in found] == [":50", ":50", None, ":50", ":50"]
    assert found[2]["_corrupt"]["position"] == found[2]["position"]


@pytest.mark.usefixtures("small_inner")
@pytest.mark.parametrize("window", WINDOWS)
def test_rows_that_break_off(window: int) -> None:
    """The transactions before them in the same payload are given."""
    first, second = (with_type(event) for event in rows(200))
    assert isinstance(second, WriteRows)
    image = encode_event(second, Format())
    cut = image[:9] + (len(image) - 20).to_bytes(4, "little") + image[13:-20]
    events = [*made((BEGIN, 100, XID, BEGIN)), first]
    plain = b"".join(encode_event(event, Format()) for event in events) + cut
    payload = with_type(packed_bytes(plain, len(events)))
    log = build_log([*made((1,)), payload, *made(BEHIND)], 1)
    told = compare(log, How(window=window))
    assert [len(told[view].rows) for view in ("transactions", "changes")] == [1, 2]
    assert told["transactions"].error is not None


class OneKey(Keys):
    def mariadb(self, key_version: int) -> bytes:
        return bytes(16)


def encrypted(words: Words) -> bytes:
    """As MariaDB encrypts a log, each event by itself. Its cipher undoes itself."""
    start = StartEncryption(1, 1, bytes(12))
    log = build_log([with_type(start), *made(words)], 1)
    cipher = MariadbCipher(bytes(16), start.nonce, counter_mode=True)
    (_, first), *rest = event_spans(log)[1:]
    return log[:first] + b"".join(cipher.decrypt(log[begin:end], begin) for begin, end in rest)


@pytest.mark.usefixtures("small_inner")
@pytest.mark.parametrize("words", LOGS.values(), ids=LOGS)
def test_in_an_encrypted_log(words: Words) -> None:
    """Its events are framed by the reference decoder, which does not go back."""
    for window in WINDOWS:
        told = compare(encrypted(words), How(window=window, keys=OneKey()))
        assert told["changes"].error is None


@pytest.mark.parametrize("window", WINDOWS)
def test_a_broken_payload_in_an_encrypted_log(window: int) -> None:
    broken = with_type(replace(packed_events(made((BEGIN, 100, XID)), 1), values=()))
    log = build_log([with_type(StartEncryption(1, 1, bytes(12))), *made(BEHIND), broken, *made(BEHIND)], 1)
    cipher = MariadbCipher(bytes(16), bytes(12), counter_mode=True)
    (_, first), *rest = event_spans(log)[1:]
    log = log[:first] + b"".join(cipher.decrypt(log[begin:end], begin) for begin, end in rest)
    assert compare(log, How(window=window, keys=OneKey()))["changes"].error is not None


# --- what hypothesis makes of them


@st.composite
def logs(draw: st.DrawFn) -> bytes:
    """Transactions, cut anywhere; of the pieces, some are in payloads."""
    events = [event for number in range(1, draw(st.integers(2, 5))) for event in draw(transactions(number))]
    for event in events:
        headed(event, 1_700_000_000, 1, draw(st.sampled_from([0, 0, 8, 0x80])))
    cuts = sorted(draw(st.lists(st.integers(0, len(events)), max_size=4)))
    placed: list[Event] = []
    for start, end in pairwise([0, *cuts, len(events)]):
        piece = events[start:end]
        if draw(st.booleans()):
            piece = [headed(packed_events(piece, draw(st.integers(1, max(len(piece), 1)))), 1, 1, 0)]
        placed += piece
    return build_log(placed, draw(st.sampled_from([0, 1])))


HOWS = st.builds(How, uncommitted=st.booleans(), window=st.sampled_from(WINDOWS))


def judge(log: bytes, how: How, inner: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(windows, "SMALLEST_INNER", inner)
        compare(log, how)


@settings(QUICK, max_examples=40)
@given(logs(), HOWS, st.sampled_from(INNER))
def test_generated_logs(log: bytes, how: How, inner: int) -> None:
    judge(log, how, inner)


@pytest.mark.soak
@LONG
@given(logs(), HOWS, st.sampled_from(INNER))
def test_many_generated_logs(log: bytes, how: How, inner: int) -> None:
    judge(log, how, inner)


@st.composite
def damaged_logs(draw: st.DrawFn) -> bytes:
    """Without checksums: what is wrong is found when it is decoded."""
    log = bytearray(draw(logs()))
    for _ in range(draw(st.integers(1, 2))):
        log[draw(st.integers(128, len(log) - 1))] ^= draw(st.integers(1, 255))
    return bytes(log[: draw(st.integers(128, len(log)))])


@settings(QUICK, max_examples=40)
@given(damaged_logs(), HOWS, st.sampled_from(INNER))
def test_damaged_logs(log: bytes, how: How, inner: int) -> None:
    judge(log, replace(how, verify=False), inner)


@pytest.mark.soak
@LONG
@given(damaged_logs(), HOWS, st.sampled_from(INNER))
def test_many_damaged_logs(log: bytes, how: How, inner: int) -> None:
    judge(log, replace(how, verify=False), inner)
