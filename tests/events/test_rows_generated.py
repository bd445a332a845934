"""Tables and rows made by hypothesis: any columns, any values, any image, in every kind of rows event."""

from __future__ import annotations

import struct
from decimal import Decimal
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gtidal.columns.temporal import Date, DateTime, Time, Timestamp
from gtidal.events import Context, Header, decode_event, encode_event, trace_event
from gtidal.events.images import ABSENT, Image, Row
from gtidal.events.rows import DeleteRows, RowsEvent, UpdateRows, UpdateRowsV1, WriteRows, WriteRowsV1
from gtidal.events.table_map import Signedness, TableMap
from tests.logs import format_description

FORMAT = format_description().format
Made = tuple[int, bytes, st.SearchStrategy[Any], bool]
"""Type code, metadata bytes, values, whether it takes a signedness bit."""


def integer(code: int, size: int) -> st.SearchStrategy[Made]:
    low, high = -(1 << (8 * size - 1)), (1 << (8 * size - 1)) - 1
    return st.just(
        (code, b"", st.one_of(st.sampled_from([low, -1, 0, 1, high]), st.integers(low, high)), True)
    )


def text(prefix: int, code: int, metadata: bytes, limit: int = 300) -> Made:
    return code, metadata, st.binary(max_size=min(limit, (1 << 8 * prefix) - 1)), False


def decimals(precision: int, scale: int) -> Made:
    def value(number: int) -> Decimal:
        return Decimal(f"{number}e-{scale}")

    top = 10**precision - 1
    return (
        246,
        bytes((precision, scale)),
        st.one_of(st.sampled_from([-top, -1, 0, 1, top]), st.integers(-top, top)).map(value),
        True,
    )


def micro(digits: int) -> st.SearchStrategy[int]:
    step = 10 ** (6 - digits)
    return st.integers(0, 10**digits - 1).map(lambda number: number * step)


def moments(digits: int) -> Made:
    parts = st.tuples(
        st.integers(0, 9999),
        st.integers(0, 12),
        st.integers(0, 31),
        st.integers(0, 23),
        st.integers(0, 59),
        st.integers(0, 59),
        micro(digits),
    )
    return 18, bytes((digits,)), parts.map(lambda value: DateTime(*value)), False


def times(digits: int) -> Made:
    def value(parts: tuple[bool, int, int, int, int]) -> Time:
        return Time(parts[0] and any(parts[1:]), *parts[1:])

    parts = st.tuples(
        st.booleans(), st.integers(0, 838), st.integers(0, 59), st.integers(0, 59), micro(digits)
    )
    return 19, bytes((digits,)), parts.map(value), False


def instants(digits: int) -> Made:
    return (
        17,
        bytes((digits,)),
        st.tuples(st.integers(0, 2**32 - 1), micro(digits)).map(lambda value: Timestamp(*value)),
        False,
    )


def doubles() -> Made:
    return 5, b"\x08", st.floats(allow_nan=False), True


def floats() -> Made:
    exact = st.floats(allow_nan=False, width=32)
    return 4, b"\x04", exact.map(lambda value: struct.unpack("<f", struct.pack("<f", value))[0]), True


COLUMNS: st.SearchStrategy[Made] = st.one_of(
    integer(1, 1),
    integer(2, 2),
    integer(9, 3),
    integer(3, 4),
    integer(8, 8),
    st.just(doubles()),
    st.just(floats()),
    st.just(text(1, 15, b"\xff\x00")),
    st.just(text(2, 15, b"\x00\x01")),
    st.just(text(1, 254, b"\xfe\x40", 64)),
    st.just(text(2, 254, b"\xce\xfc", 1000)),
    st.sampled_from([text(size, 252, bytes((size,))) for size in (1, 2, 3, 4)]),
    st.sampled_from([text(4, 245, b"\x04"), text(4, 255, b"\x04"), text(4, 242, b"\x04")]),
    st.integers(1, 65).flatmap(lambda p: st.integers(0, min(30, p)).map(lambda s: decimals(p, s))),
    st.integers(0, 6).map(moments),
    st.integers(0, 6).map(times),
    st.integers(0, 6).map(instants),
    st.integers(1, 64).map(lambda bits: (16, bytes((bits % 8, bits // 8)), st.integers(0, (1 << bits) - 1), False)),
    st.sampled_from([1, 2]).map(lambda size: (254, bytes((247, size)), st.integers(0, (1 << 8 * size) - 1), False)),
    st.sampled_from([1, 2, 3, 4, 8]).map(lambda size: (254, bytes((248, size)), st.integers(0, (1 << 8 * size) - 1), False)),
    st.just((13, b"", st.one_of(st.just(0), st.integers(1901, 2155)), True)),
    st.just((10, b"", st.tuples(st.integers(0, 9999), st.integers(0, 12), st.integers(0, 31)).map(lambda v: Date(*v)), False)),
)  # fmt: skip


@st.composite
def events(draw: st.DrawFn) -> RowsEvent:
    made = draw(st.lists(COLUMNS, min_size=1, max_size=20))
    count = len(made)
    bits = sum(takes for *_, takes in made)
    table = TableMap(
        table_id=draw(st.integers(0, (1 << 48) - 1)),
        flags=1,
        schema="s",
        table="t",
        types=bytes(code for code, *_ in made),
        metadata=b"".join(metadata for _, metadata, *_ in made),
        null_bitmap=b"\xff" * ((count + 7) // 8),
        optional=(Signedness(1, bytes((bits + 7) // 8)),) if bits else (),
    )

    def bitmap() -> tuple[bytes, list[int]]:
        chosen = draw(
            st.one_of(st.just([True] * count), st.lists(st.booleans(), min_size=count, max_size=count))
        )
        number = sum(1 << index for index, there in enumerate(chosen) if there)
        return number.to_bytes((count + 7) // 8, "little"), [i for i, there in enumerate(chosen) if there]

    def image(present: list[int]) -> Image:
        values: list[Any] = [ABSENT] * count
        for index in present:
            values[index] = draw(st.one_of(st.none(), made[index][2]))
        return tuple(values)

    kind = draw(st.sampled_from([WriteRows, UpdateRows, DeleteRows, WriteRowsV1, UpdateRowsV1]))
    before, old = bitmap() if kind.has_before else (b"", [])
    after, new = bitmap() if kind.has_after else (b"", [])
    changed = [
        Row(image(old) if kind.has_before else None, image(new) if kind.has_after else None)
        for _ in range(draw(st.integers(0, 3)) if old or new else 0)
    ]
    return kind(
        table_id=table.table_id,
        flags=1,
        width=count,
        before_columns=before,
        after_columns=after,
        rows=tuple(changed),
        table=table,
        header=Header(1, kind.code, 1),
    )


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(events())
def test_rows_round_trip(event: RowsEvent) -> None:
    assert event.table is not None
    data = encode_event(event, FORMAT)
    context = Context(FORMAT, {event.table_id: event.table})
    decoded = decode_event(data, 0, context)
    assert isinstance(decoded, RowsEvent)
    assert decoded.rows == event.rows
    assert encode_event(decoded, FORMAT) == data
    traced, fields = trace_event(data, 0, context)
    assert traced == decoded
    assert sum(field.size for field in fields) == len(data)
    for row in decoded.rows:
        for image in (row.before, row.after):
            if image is not None:
                assert len(event.named(image)) == sum(value is not ABSENT for value in image)
