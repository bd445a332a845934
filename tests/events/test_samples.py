"""Every event type: decode, encode, trace; from its fields alone; and the same through a pickle."""

from __future__ import annotations

import pickle
from dataclasses import fields, replace
from typing import Any

import pytest

from gtidal.errors import GtidalError
from gtidal.events import EVENTS, Event, Format, Unknown, decode_event, encode_event, trace_event
from gtidal.events.format import CRC32, StartV3
from gtidal.events.frame import initial_format
from gtidal.events.rows import RowsEvent
from gtidal.events.transaction import TransactionPayload
from tests.logs import build_log, format_description, read_all
from tests.samples import context_for, samples

SAMPLES = samples()
ids = [f"{index}-{event.name}" for index, event in enumerate(SAMPLES)]


def format_for(event: Event, checksum: int) -> Format:
    if isinstance(event, StartV3):
        return Format(3)
    return format_description(checksum=checksum).format


def test_every_type_has_a_sample() -> None:
    assert {event.code for event in SAMPLES} == {*EVENTS, Unknown.code}


@pytest.mark.parametrize("checksum", [0, CRC32])
@pytest.mark.parametrize("event", SAMPLES, ids=ids)
def test_round_trip(event: Event, checksum: int) -> None:
    format = format_for(event, checksum)
    data = encode_event(event, format)
    decoded = decode_event(data, 0, context_for(event, format))
    assert encode_event(decoded, format) == data
    for field in fields(event):
        if field.name not in ("header", "checksum", "table", "mariadb"):
            assert getattr(decoded, field.name) == getattr(event, field.name), field.name


@pytest.mark.parametrize("event", SAMPLES, ids=ids)
def test_trace_accounts_for_every_byte(event: Event) -> None:
    format = format_for(event, CRC32)
    data = encode_event(event, format)
    decoded, traced = trace_event(data, 0, context_for(event, format))
    assert decoded == decode_event(data, 0, context_for(event, format))
    end = 0
    for field in traced:
        assert field.offset == end, field.name
        end += field.size
    assert end == len(data)
    assert len({field.name for field in traced}) > 5


def changed(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value ^ 1
    if isinstance(value, bytes):
        return bytes((value[0] ^ 1,)) + value[1:]
    return "q" + value[1:]


@pytest.mark.parametrize("event", SAMPLES, ids=ids)
def test_a_changed_field_changes_the_bytes(event: Event) -> None:
    """No copy of the body is kept: what is written comes from the fields."""
    format = format_for(event, CRC32)
    data = encode_event(event, format)
    computed = {"checksum", "undecoded", "rows", "width"} if isinstance(event, RowsEvent) else {"checksum"}
    for field in fields(event):
        value = getattr(event, field.name)
        if field.name in computed | {"header", "table", "mariadb"} or not value:
            continue
        if isinstance(value, int | bytes | str):
            other = replace(event, **{field.name: changed(value)})
            try:
                encoded = encode_event(other, format)
            except GtidalError:  # a value that does not go with the others is refused, not ignored
                continue
            assert encoded != data, field.name


@pytest.mark.parametrize("event", SAMPLES, ids=ids)
def test_pickle(event: Event) -> None:
    assert pickle.loads(pickle.dumps(event)) == event


@pytest.mark.parametrize("checksum", [0, CRC32])
def test_a_whole_log(checksum: int) -> None:
    events = [event for event in SAMPLES if event.code not in (1, 15, 164)]
    data = build_log(events, checksum)
    read = list(read_all(data))
    assert [event.name for event in read[1:]] == [event.name for event in events]
    position = 4
    for event in read:
        assert event.header.position == position
        position = event.header.end_position
        assert event.header.log_pos == position
    assert position == len(data)


def test_rows_change_with_their_values() -> None:
    event = next(event for event in SAMPLES if isinstance(event, RowsEvent) and event.code == 30)
    image = event.rows[0].after
    assert image is not None
    other = replace(event, rows=(event.rows[0]._replace(after=(5, *image[1:])),))
    format = format_description().format
    decoded = decode_event(encode_event(other, format), 0, context_for(event))
    assert isinstance(decoded, RowsEvent)
    assert decoded.rows[0].after == (5, *image[1:])
    assert len(decoded.rows) == 1


def test_named_values() -> None:
    event = next(event for event in SAMPLES if isinstance(event, RowsEvent) and event.code == 31)
    ((before, after),) = event.changes()
    assert before is not None
    assert after is not None
    assert before["id"] == 4_000_000_000
    assert before["note"] == "grün"
    assert before["state"] == "paid"
    assert after == {name: 7 if name == "id" else None for name in before}


def test_partial_json_is_applied() -> None:
    event = next(event for event in SAMPLES if isinstance(event, RowsEvent) and event.code == 39)
    (_, after), (_, without) = event.changes()
    assert after is not None
    assert after.keys() == {"id", "doc"}
    assert after["doc"].python() == {"a": [9, 2.5, None, True, "x" * 40]}
    assert without == {"id": 7, "doc": None}


def test_payload_in_several_frames() -> None:
    from gtidal.log.decoder import LogDecoder

    event = next(event for event in SAMPLES if isinstance(event, TransactionPayload))
    decoder = LogDecoder()
    inner = [inside for _, inside in decoder.inner(event)]
    assert [inside.name for inside in inner] == ["QUERY", "TABLE_MAP", "WRITE_ROWS", "XID"]


def test_versions_are_told_by_the_first_event() -> None:
    start = StartV3(1, "3.23.58", 0)
    short = replace(start.header, type_code=1, long=False)
    assert (
        initial_format(encode_event(replace(start, header=short), Format(1, header_length=13))).version == 1
    )
    assert initial_format(encode_event(SAMPLES[0], Format(3))).version == 3


def test_pre_ga_images_that_are_not_v1_images_stay_bytes() -> None:
    """The pre-GA servers began a row with the table record's own null bytes."""
    event = next(event for event in SAMPLES if isinstance(event, RowsEvent) and event.code == 20)
    format = format_description().format
    odd = replace(event, rows=(), undecoded=b"\xff\xff\x01")
    data = encode_event(odd, format)
    decoded, traced = trace_event(data, 0, context_for(event))
    assert isinstance(decoded, RowsEvent)
    assert (decoded.rows, decoded.undecoded) == ((), b"\xff\xff\x01")
    assert decoded == decode_event(data, 0, context_for(event))
    assert encode_event(decoded, format) == data
    assert sum(field.size for field in traced) == len(data)
