"""Details made from templates are those that the reference decoder's events have, byte for byte."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gtidal.columnar.following import Followed, Follower
from gtidal.columnar.scanning import VIEWS, LogScan, Scan
from gtidal.columnar.variant import decode, encode_value, places_in
from gtidal.columnar.views import details
from gtidal.errors import DecodeError
from gtidal.events import Event, rows, transaction
from gtidal.events.format import CRC32, NO_CHECKSUM
from gtidal.events.statement import Query, RowsQuery
from tests.columnar.drift_judges import How, compare
from tests.columnar.test_drift import headed, packed_events
from tests.logs import build_log
from tests.samples import UUID, query, samples, with_type

HOW = How(columns=("position", "detail"))
COPIES = 6
TABLE = next(event for event in samples() if event.name == "TABLE_MAP")
INSERT = next(event for event in samples() if isinstance(event, rows.WriteRows))


def same(log: bytes, how: How = HOW) -> None:
    found = compare(log, how, ("events",))
    assert len(found["events"].rows) > 1


# --- numbers of one size, so that events share templates, and of all sizes


def sized(bits: int) -> st.SearchStrategy[tuple[int, int]]:
    """The first and the last number of a size that VARIANT has."""
    edges = [0, 1, 1 << 7, 1 << 15, 1 << 31, 1 << 62, 1 << 63, 1 << 64]
    spans = [(low, min(high, 1 << bits) - 1) for low, high in pairwise(edges)]
    return st.sampled_from([span for span in spans if span[0] <= span[1]])


def within(span: tuple[int, int]) -> st.SearchStrategy[int]:
    return st.one_of(st.sampled_from(span), st.integers(*span))


SIZES = {
    "timestamp": 32, "gno": 63, "last_committed": 63, "sequence_number": 63, "immediate_commit_timestamp": 55,
    "original_commit_timestamp": 56, "transaction_length": 64, "thread_id": 32, "exec_time": 32, "table_id": 48,
    "xid": 64,
}  # fmt: skip


@st.composite
def transactions(draw: st.DrawFn) -> list[list[Event]]:
    """Some transactions that differ in their numbers and in the letters of their texts."""
    spans = {name: draw(sized(bits)) for name, bits in SIZES.items()}
    began_elsewhere, anonymous, clock_type, fields = draw(
        st.tuples(st.booleans(), st.booleans(), st.sampled_from([2, 2, 2, 3]), st.integers(0, 3))
    )
    letters = draw(st.sampled_from([st.sampled_from(b"abc"), st.sampled_from(b"a\xff")]))
    length = draw(st.sampled_from([0, 1, 63, 64]))
    made = []
    for _ in range(COPIES):
        if draw(st.integers(0, 9)) == 0:
            name = draw(st.sampled_from(list(SIZES)))
            spans[name] = draw(sized(SIZES[name]))
        number = {name: draw(within(span)) for name, span in spans.items()}
        known: dict[str, Any] = {"flags": 1, "uuid": UUID, "gno": 0 if anonymous else number["gno"]}
        if fields > 0:
            known["clock_type"] = clock_type
        if fields > 0 and clock_type == 2:
            known |= {name: number[name] for name in ("last_committed", "sequence_number")}
        if fields > 1 and clock_type == 2:
            known["immediate_commit_timestamp"] = number["immediate_commit_timestamp"]
            if began_elsewhere:
                known["original_commit_timestamp"] = number["original_commit_timestamp"]
        if fields > 2 and clock_type == 2:
            known |= {"transaction_length": number["transaction_length"], "immediate_server_version": 90704}
        begin = query(b"BEGIN")
        assert isinstance(begin, Query)
        events = [
            (transaction.AnonymousGtid if anonymous else transaction.Gtid)(**known),
            replace(begin, thread_id=number["thread_id"], exec_time=number["exec_time"]),
            RowsQuery(length % 256, bytes(draw(st.lists(letters, min_size=length, max_size=length)))),
            replace(TABLE, table_id=number["table_id"]),
            replace(INSERT, table_id=number["table_id"], rows=INSERT.rows[: draw(st.integers(1, 2))]),
            transaction.Xid(number["xid"]),
        ]
        made.append([headed(event, number["timestamp"], 1, 0) for event in events])
    return made


@settings(max_examples=60, deadline=None)
@given(transactions(), st.sampled_from([CRC32, NO_CHECKSUM]), st.booleans())
def test_numbers_of_all_sizes(made: list[list[Event]], checksum: int, packed: bool) -> None:
    if packed:
        made = [
            [events[0], headed(packed_events(events[1:], 1), events[0].header.timestamp, 1, 0)]
            for events in made
        ]
    log = build_log([event for events in made for event in events], checksum)
    same(log)
    same(log, replace(HOW, window=1000))  # templates of one window serve the next


# --- single matters


def alike(change: Callable[[Event, int], Event] = lambda event, number: event) -> bytes:
    """Transactions with one table, and rows of other sizes in each."""
    events: list[Event] = []
    for number in range(100):
        gtid = transaction.Gtid(flags=0, uuid=UUID, gno=1000 + number)
        insert = replace(INSERT, rows=INSERT.rows[: 1 + number % 2])
        for event in (gtid, query(b"BEGIN"), TABLE, insert, transaction.Xid(1000 + number)):
            events.append(with_type(change(event, number)))
    return build_log(events)


class Counting(Follower):
    """Counts the events that the reference decoder is asked for."""

    decoded = 0

    def decode_alone(self, followed: Followed, place: int) -> Event:
        self.decoded += 1
        return super().decode_alone(followed, place)


def test_alike_events_are_decoded_once() -> None:
    scan = LogScan(io.BytesIO(alike()), "binlog.000001", Scan(("detail",)))
    counting = Counting(scan.reader.decoder, scan.book)
    scan.follower, scan._details = counting, details.DetailWriter(counting)
    assert sum(batch.num_rows for batch in VIEWS["events"](scan)) == 501
    assert 5 <= counting.decoded < 40  # five types, and numbers of some sizes


def test_templates_may_be_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(details, "MOST_KEPT", 2000)
    same(alike())
    same(alike(), replace(HOW, window=3000))


def test_what_is_no_number_tells_events_apart() -> None:
    def change(event: Event, number: int) -> Event:
        if isinstance(event, transaction.Gtid):
            return replace(event, uuid=bytes((number % 3,)) * 16, flags=number % 2)
        if isinstance(event, Query):
            return replace(event, schema="ab"[number % 2], query=b"BEGIN")
        return replace(event, header=replace(event.header, server_id=number % 4))

    same(alike(change))


def test_tables_of_one_number_tell_rows_apart() -> None:
    def change(event: Event, number: int) -> Event:
        return replace(event, table=f"t{number % 2}") if event.name == "TABLE_MAP" else event

    same(alike(change))


def test_layouts_of_one_size() -> None:
    """GTID events as long as each other, whose fields are of other sizes."""
    plain = {"flags": 0, "uuid": UUID, "clock_type": 2, "last_committed": 5, "sequence_number": 6}
    shapes: list[dict[str, Any]] = [
        {"transaction_length": 1 << 40},
        {"transaction_length": 200, "commit_group_ticket": 7 << 48},
        {"transaction_length": 70_000, "original_commit_timestamp": 1 << 51},
        {"transaction_length": 300, "commit_group_ticket": 7 << 48},
    ]
    events = []
    for number in range(40):
        times = {"immediate_commit_timestamp": (1 << 50) + number, "immediate_server_version": 90704}
        gtid = transaction.Gtid(gno=number + 100, **plain, **times, **shapes[number % 4])
        events += [with_type(gtid), with_type(query(b"BEGIN")), with_type(transaction.Xid(1))]
    same(build_log(events))


def test_bytes_behind_an_unknown_clock_are_no_numbers() -> None:
    events = []
    for number in range(10):
        gtid = transaction.Gtid(flags=0, uuid=UUID, gno=100 + number, clock_type=3)
        gtid = replace(gtid, trailing=(1000 + number).to_bytes(8, "little") * 2)
        events += [with_type(gtid), with_type(query(b"BEGIN")), with_type(transaction.Xid(1))]
    same(build_log(events))


def test_a_time_that_is_none() -> None:
    def change(event: Event, number: int) -> Event:
        if not isinstance(event, transaction.Gtid):
            return event
        clock = {"clock_type": 2, "last_committed": 1, "sequence_number": 2}
        return replace(event, **clock, immediate_commit_timestamp=number % 4)

    same(alike(change))


def test_inside_and_outside_of_payloads() -> None:
    events: list[Event] = []
    for number in range(20):
        inner = [with_type(event) for event in (query(b"BEGIN"), TABLE, INSERT, transaction.Xid(number))]
        events.append(with_type(transaction.Gtid(flags=0, uuid=UUID, gno=100 + number)))
        events += [with_type(packed_events(inner, 1))] if number % 2 else inner
    same(build_log(events))


def test_texts_that_are_none() -> None:
    texts = ("größe".encode(), b"gr\xf6\xdfe12", b"abcdefg", b"abcd")
    begin = [transaction.Gtid(flags=0, uuid=UUID, gno=1), query(b"BEGIN")]
    events = [with_type(RowsQuery(7, texts[number % 4])) for number in range(40)]
    same(build_log([*map(with_type, begin), *events, with_type(transaction.Xid(1))]))


def test_details_that_no_column_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(details, "LARGEST_COLUMN", 1000)
    scan = LogScan(io.BytesIO(alike()), "binlog.000001", Scan(("detail",)))
    with pytest.raises(DecodeError, match="500 events"):
        list(VIEWS["events"](scan))


def test_places_of_primitives() -> None:
    shown = {"a": 1, "b": [70000, "text", b"bytes"], "c": {"d": "x" * 100, "e": None, "f": True}}
    value, metadata = encode_value(shown)
    places = places_in(value, metadata)
    assert decode(value, metadata) == shown
    assert value[slice(places["a"].start, places["a"].stop)] == b"\x01"
    found = [value[place.start : place.stop] for place in (*places["b"], *places["c"].values())]
    assert found == [(70000).to_bytes(4, "little"), b"text", b"bytes", b"x" * 100, b"", b""]
