"""Row images to cells: the kernel, interpreted and compiled, against the reference decoder.

What is expected is made from what ``RowsCodec`` reads, with Python's ``datetime``: for values known by hand, for
generated tables, at every truncation and for flipped bits.
"""

from __future__ import annotations

import inspect
from decimal import Decimal
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gtidal.columnar import kernel
from gtidal.columnar.codes import ShapeCode, State
from gtidal.columnar.shapes_plan import ShapeRow, shape_row
from gtidal.columns import shapes as s
from gtidal.columns.temporal import DateTime, pack_datetime
from gtidal.events.images import ABSENT, Row
from tests.columnar.cell_logs import (
    DONE,
    FULL,
    KERNELS,
    KINDS,
    QUICK,
    REFUSED,
    Log,
    Made,
    any_bytes,
    bare,
    check,
    insert,
    logs,
    read,
    sensible,
    table,
    whole,
)

each_kernel = pytest.mark.parametrize(
    "cells", KERNELS, ids=lambda module: "compiled" if kernel.is_compiled(module) else "interpreted"
)


def test_every_shape_has_a_code() -> None:
    """A new shape fails here until the plan and the kernel know it."""
    samples: dict[type[s.Shape], list[tuple[s.Shape, ShapeRow]]] = {
        s.Int: [
            (s.Int(3, True), ShapeRow(ShapeCode.INT, 3, 0, 0, 1)),
            (s.Int(8, False), ShapeRow(ShapeCode.UINT, 8, 0, 0, 1)),
        ],
        s.Float: [(s.Float(4), ShapeRow(ShapeCode.FLOAT, 4, 0, 0, 1))],
        s.Bytes: [(s.Bytes(3), ShapeRow(ShapeCode.BYTES, 3, 0, 0, 1))],
        s.PackedDecimal: [
            (s.PackedDecimal(18, 10), ShapeRow(ShapeCode.DECIMAL, 9, 18, 10, 1)),
            (s.PackedDecimal(19, 0), ShapeRow(ShapeCode.WIDE_DECIMAL, 9, 19, 0, 2)),
            (s.PackedDecimal(38, 8), ShapeRow(ShapeCode.WIDE_DECIMAL, 18, 38, 8, 2)),
            (s.PackedDecimal(39, 0), ShapeRow(ShapeCode.LONG_DECIMAL, 18, 39, 0, 1)),
        ],
        s.Bits: [(s.Bits(9), ShapeRow(ShapeCode.BITS, 2, 0, 0, 1))],
        s.Year: [(s.Year(), ShapeRow(ShapeCode.YEAR, 1, 0, 0, 1))],
        s.Date24: [(s.Date24(), ShapeRow(ShapeCode.DATE, 3, 0, 0, 1))],
        s.Time24: [(s.Time24(), ShapeRow(ShapeCode.TIME24, 3, 0, 0, 1))],
        s.Datetime64: [(s.Datetime64(), ShapeRow(ShapeCode.DATETIME64, 8, 0, 0, 1))],
        s.Epoch32: [(s.Epoch32(), ShapeRow(ShapeCode.EPOCH32, 4, 0, 0, 1))],
        s.PackedEpoch: [(s.PackedEpoch(3), ShapeRow(ShapeCode.EPOCH, 6, 3, 0, 1))],
        s.PackedDatetime: [(s.PackedDatetime(5), ShapeRow(ShapeCode.DATETIME, 8, 5, 0, 1))],
        s.PackedTime: [(s.PackedTime(1), ShapeRow(ShapeCode.TIME, 4, 1, 0, 1))],
        s.Nothing: [(s.Nothing(), ShapeRow(ShapeCode.NOTHING, 0, 0, 0, 1))],
        s.Unreadable: [(s.Unreadable("why"), ShapeRow(ShapeCode.UNREADABLE, 0, 0, 0, 1))],
    }
    kinds = {
        kind
        for _, kind in inspect.getmembers(s, inspect.isclass)
        if issubclass(kind, s.Shape) and kind is not s.Shape
    }
    assert kinds == set(samples)
    for pairs in samples.values():
        for shape, row in pairs:
            assert shape_row(shape) == row
    assert {row.code for pairs in samples.values() for _, row in pairs} == set(ShapeCode)


def test_a_shape_that_the_kernel_does_not_know_is_an_error() -> None:
    class New(s.Int):
        __slots__ = ()

    with pytest.raises(TypeError, match="no code"):
        shape_row(New(4))


def written(number: int) -> str:
    """Eight bytes."""
    return number.to_bytes(8, "little").hex()


KNOWN: list[tuple[s.Shape, str, int, int]] = [
    (s.Int(1), "80", State.VALUE, -128),
    (s.Int(2), "ff7f", State.VALUE, 32767),
    (s.Int(3), "000080", State.VALUE, -8388608),
    (s.Int(3, False), "ffffff", State.VALUE, 16777215),
    (s.Int(4), "ffffffff", State.VALUE, -1),
    (s.Int(4), "00000080", State.VALUE, -2147483648),
    (s.Int(4, False), "00000080", State.VALUE, 2147483648),
    (s.Int(5, False), "0000000080", State.VALUE, 0x8000000000),
    (s.Int(8), "0000000000000080", State.VALUE, -(2**63)),
    (s.Int(8), "ffffffffffffff7f", State.VALUE, 2**63 - 1),
    (s.Int(8, False), "feffffffffffffff", State.VALUE, -2),
    (s.Float(4), "000080ff", State.VALUE, 0xFF800000),
    (s.Float(4), "010080ff", State.VALUE, 0xFF800001),
    (s.Float(8), "0000000000000080", State.VALUE, -(2**63)),
    (s.PackedDecimal(4, 2), "8c22", State.VALUE, 1234),
    (s.PackedDecimal(4, 2), "73dd", State.VALUE, -1234),
    (s.PackedDecimal(14, 4), "810dfb38d204d2", State.VALUE, 12345678901234),
    (s.PackedDecimal(14, 4), "7ef204c72dfb2d", State.VALUE, -12345678901234),
    (s.Bits(64), "8000000000000001", State.VALUE, -(2**63) + 1),
    (s.Bits(9), "0102", State.VALUE, 258),
    (s.Year(), "00", State.VALUE, 0),
    (s.Year(), "ff", State.VALUE, 2155),
    (s.Date24(), "210000", State.ZERO, 33),
    (s.Date24(), "5dd00f", State.VALUE, 19782),  # 2024-02-29
    (s.Date24(), "5dce0f", State.ZERO, 0x0FCE5D),  # 2023-02-29
    (s.Date24(), "210200", State.VALUE, -719162),  # 0001-01-01
    (s.Date24(), "9f1f4e", State.VALUE, 2932896),  # 9999-12-31
    (s.Date24(), "21204e", State.ZERO, 0x4E2021),  # 10000-01-01
    (s.Time24(), "a7f57f", State.VALUE, 3020399000000),  # 838:59:59
    (s.Time24(), "590a80", State.VALUE, -3020399000000),
    (s.Datetime64(), written(99991231235959), State.VALUE, 253402300799000000),
    (s.Datetime64(), written(10101000000), State.VALUE, -62135596800000000),
    (s.Datetime64(), written(20000101000060), State.ZERO, pack_datetime(DateTime(2000, 1, 1, 0, 0, 60))),
    (s.Datetime64(), written(20000101006000), State.ZERO, pack_datetime(DateTime(2000, 1, 1, 0, 60, 0))),
    (s.Datetime64(), written(20000101240000), State.ZERO, pack_datetime(DateTime(2000, 1, 1, 24, 0, 0))),
    (s.Datetime64(), written(20000000316363), State.ZERO, pack_datetime(DateTime(2000, 0, 0, 31, 63, 63))),
    (s.Datetime64(), written(100811231000000), State.ZERO, pack_datetime(DateTime(10081, 12, 31, 0, 0, 0))),
    (s.Epoch32(), "00000000", State.ZERO, 0),
    (s.Epoch32(), "ffffffff", State.VALUE, 4294967295000000),
    (s.PackedEpoch(2), "0000000001", State.VALUE, 10000),
    (s.PackedEpoch(6), "ffffffff0f423f", State.VALUE, 4294967295999999),
    (s.PackedDatetime(0), "8000000000", State.ZERO, 0),
    (s.PackedDatetime(0), "9964420000", State.VALUE, 946684800000000),  # 2000-01-01
    (s.PackedDatetime(6), "99027f7efb0f423f", State.VALUE, -1),  # 1969-12-31 23:59:59.999999
    (s.PackedDatetime(0), "fef3ff7efb", State.VALUE, 253402300799000000),  # 9999-12-31 23:59:59
    (s.PackedDatetime(6), "99027f7efb0f4240", State.ZERO, 0x19027F7EFB0F4240),  # 1000000 microseconds
    (s.PackedDatetime(0), "996442003c", State.ZERO, 0x196442003C000000),  # second 60
    (s.PackedDatetime(0), "9964420f00", State.ZERO, 0x1964420F00000000),  # minute 60
    (s.PackedDatetime(0), "9964438000", State.ZERO, 0x1964438000000000),  # hour 24
    (s.PackedDatetime(0), "9964437efb", State.VALUE, 946771199000000),  # 23:59:59 of the same day
    (s.PackedDatetime(2), "996442000064", State.ZERO, 0x19644200000F4240),  # 100 hundredths
    (s.PackedDatetime(4), "99644200000001", State.VALUE, 946684800000100),
    (s.PackedTime(0), "7fffff", State.VALUE, -1000000),
    (s.PackedTime(2), "7fffffff", State.VALUE, -10000),
    (s.PackedTime(6), "8000000f423f", State.VALUE, 999999),
    (s.PackedTime(6), "7ffffffffff6", State.VALUE, -10),
]


@each_kernel
@pytest.mark.parametrize(("shape", "data", "state", "content"), KNOWN, ids=lambda value: str(value)[:30])
def test_values_known_without_the_reference(
    cells: ModuleType, shape: s.Shape, data: str, state: int, content: int
) -> None:
    row = Made(bare(shape), None, b"\x01", b"\xfe" + bytes.fromhex(data))
    assert read(cells, Log([row, row])) == [[[(state, content)]]] * 2


@QUICK
@given(logs)
def test_generated_logs(made: list[Made]) -> None:
    check(*made)


@settings(QUICK, max_examples=20)
@given(logs, st.integers(2, 9), st.integers(0, 60))
def test_small_outputs_are_resumed(made: list[Made], images: int, extra: int) -> None:
    log = Log(made)
    whole_reading = [event.cells() for event in made]
    for cells in KERNELS:
        room = 2 * int(log.slots.max()) + extra
        assert read(cells, log, images=images, room=room) == whole_reading


@settings(QUICK, max_examples=8)
@given(logs, st.data())
def test_every_truncation(made: list[Made], data: st.DataObject) -> None:
    event = data.draw(st.sampled_from(made))
    cuts = [event.with_images(event.images[:size]) for size in range(len(event.images))]
    for at in range(0, len(cuts), 50):
        check(*cuts[at : at + 50])


@settings(QUICK, max_examples=40)
@given(logs, st.data())
def test_flipped_bits(made: list[Made], data: st.DataObject) -> None:
    event = data.draw(st.sampled_from(made))
    if event.images:
        flips = data.draw(
            st.lists(
                st.tuples(st.integers(0, len(event.images) - 1), st.integers(1, 255)), min_size=1, max_size=20
            )
        )
        damaged = []
        for place, change in flips:
            images = bytearray(event.images)
            images[place] ^= change
            damaged.append(event.with_images(bytes(images)))
        check(*damaged)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_any_bytes_of_each_type(kind: tuple[int, int, bool]) -> None:
    """Between two integers, so that a value that ends elsewhere shows."""
    columns = table((2, 0, False), kind, (2, 0, False))

    shape = columns[1].shape

    @settings(QUICK, max_examples=6)
    @given(
        st.lists(sensible(shape), min_size=1, max_size=8), st.lists(any_bytes(shape), min_size=1, max_size=8)
    )
    def compare(usual: list[Any], odd: list[bytes]) -> None:
        assert check(insert(columns, *((-32767, value, 32514) for value in usual))) != [None]
        check(*(Made(columns, None, b"\x07", b"\xf8\x01\x80" + value + b"\x02\x7f") for value in odd))

    compare()


def test_tables_wider_than_a_byte_of_bits() -> None:
    """NULLs and absent columns at places where the bitmaps go into another byte."""
    columns = bare(*(s.Int(1 + index % 4) for index in range(18)))
    values = tuple(range(18))
    for width in (7, 8, 9, 16, 17, 18):
        held = columns[:width]
        rows = [
            tuple(None if i == place else v for i, v in enumerate(values[:width])) for place in range(width)
        ]
        check(insert(held, *rows))
        for place in range(width):
            bitmap = (((1 << width) - 1) ^ (1 << place)).to_bytes((width + 7) // 8, "little")
            event = Made(held, bitmap, whole(width), b"")
            before = tuple(
                ABSENT if i == place else None if i == width - 2 else v for i, v in enumerate(rows[0])
            )
            found = check(event.with_rows([Row(before, rows[0])] * 2))[0]
            assert found is not None
            assert [len(image) for image in found] == [width] * 4
            assert found[0][place] == (State.ABSENT, 0)
            assert found[1][0] == (State.NULL, 0)


def test_wide_decimals_take_two_cells_whatever_their_state() -> None:
    columns = bare(s.PackedDecimal(38, 0), s.Int(1), s.PackedDecimal(20, 2))
    top = 10**38 - 1
    rows = [(Decimal(number), 5, Decimal("1E-2")) for number in (top, -top, 2**64, -(2**64), -1, 0)]
    found = check(insert(columns, *rows, (None, 6, None)), Made(columns, None, b"\x02", b"\xfe\x07"))
    assert found[0] is not None
    assert [image[0] for image in found[0]] == [
        (State.VALUE, top), (State.VALUE, -top), (State.VALUE, 2**64), (State.VALUE, -(2**64)),
        (State.VALUE, -1), (State.VALUE, 0), (State.NULL, 0),
    ]  # fmt: skip
    assert found[1] == [[(State.ABSENT, 0), (State.VALUE, 7), (State.ABSENT, 0)]]


def test_decimals_of_every_precision() -> None:
    """With all kinds of first and last groups."""
    for precision in range(1, 82):
        scales = {0, 1, precision // 2, precision - 1, precision} if precision > 1 else {0, 1}
        columns = bare(*(s.PackedDecimal(precision, scale) for scale in sorted(scales)))
        numbers = (
            10**precision - 1,
            1 - 10**precision,
            10 ** (precision - 1),
            7 * 10 ** (precision // 3),
            -1,
            0,
        )
        rows = [tuple(Decimal(f"{n}E-{scale}") for scale in sorted(scales)) for n in numbers]
        found = check(insert(columns, *rows))[0]
        assert found is not None
        if precision <= 38:
            assert found == [[(State.VALUE, number)] * len(scales) for number in numbers]


def test_strings_of_every_length_prefix() -> None:
    columns = bare(s.Bytes(1), s.Bytes(2), s.Bytes(3), s.Bytes(4), s.Int(1))
    for length in (0, 1, 255, 256, 65535, 65536, 70000):
        sizes = min(length, 255), min(length, 65535), length, length
        row = (*(bytes([place + 65]) * size for place, size in enumerate(sizes)), -5)
        assert check(insert(columns, row, row)) == [[[(State.VALUE, value) for value in row]] * 2]
    # A length that goes beyond the event, and one that a signed number would take for negative.
    for prefix in range(1, 5):
        for size in (5, 1 << 8 * prefix - 1, (1 << 8 * prefix) - 1):
            value = size.to_bytes(prefix, "little") + b"abcd"
            assert check(Made(bare(s.Bytes(prefix)), None, b"\x01", b"\xfe" + value)) == [None]


@each_kernel
@pytest.mark.parametrize(
    ("shape", "data"),
    [
        (s.PackedDecimal(9, 0), "bb9aca00"),  # 1000000000 in nine digits
        (s.PackedDecimal(4, 2), "8064"),
        (s.PackedDecimal(20, 0), "e43b9ac9ff3b9ac9ff"),
        (s.PackedDecimal(40, 0), "8000000000" + "3b9aca00" + "00" * 9),
        (s.PackedDatetime(0), "1964420000"),
        (s.PackedTime(0), "80003c"),
        (s.PackedTime(0), "800f00"),
        (s.PackedTime(6), "8000000f4240"),
        (s.Time24(), "3c0000"),
        (s.Time24(), "701700"),
        (s.Datetime64(), written(20001301000000)),
        (s.Datetime64(), written(20000132000000)),
        (s.Datetime64(), written(20000101320000)),
        (s.Datetime64(), written(20000101006400)),
        (s.Datetime64(), written(20000101000064)),
        (s.Datetime64(), written(100820101000000)),
        (s.Datetime64(), "ff" * 8),
        (s.Unreadable("no"), "00"),
    ],
    ids=str,
)
def test_what_is_refused(cells: ModuleType, shape: s.Shape, data: str) -> None:
    bad = Made(bare(shape), None, b"\x01", b"\xfe" + bytes.fromhex(data))
    good = Made(bare(s.Int(1)), None, b"\x01", b"\xfe\x05\xfe\x06")
    wanted = [[(State.VALUE, 5)]], [[(State.VALUE, 6)]]
    images = [image for row in wanted for image in row]
    assert read(cells, Log([good, bad, good])) == [images, None, images]


def test_an_unreadable_column_that_is_null_or_absent_is_read() -> None:
    columns = bare(s.Int(1), s.Unreadable("no"))
    assert check(
        Made(columns, None, b"\x03", b"\xfe\x05"),
        Made(columns, None, b"\x01", b"\xfe\x05"),
        Made(columns, None, b"\x03", b"\xfc\x05"),
    ) == [
        [[(State.VALUE, 5), (State.NULL, 0)]],
        [[(State.VALUE, 5), (State.ABSENT, 0)]],
        None,
    ]


@each_kernel
def test_rows_of_no_bytes(cells: ModuleType) -> None:
    nothing = Made((), None, b"", b"x")
    no_columns = Made(bare(s.Int(1)), b"\0", b"\0", b"x")
    one_image = Made(bare(s.Int(1)), b"\0", b"\x01", b"\xfe\x05")
    empty = Made(bare(s.Int(1)), None, b"\x01", b"")
    log = Log([nothing, no_columns, one_image, empty])
    assert [event.rows() is None for event in log.events] == [True, True, False, False]
    assert read(cells, log) == [None, None, [[(State.ABSENT, 0)], [(State.VALUE, 5)]], []]
    assert log.count(cells) == [None, None, 1, 0]


@each_kernel
def test_places_outside_the_data_are_refused(cells: ModuleType) -> None:
    event = insert(bare(*[s.Int(1)] * 9), (1, 2, 3, 4, 5, 6, 7, 8, 9))
    size = len(Log([event]).data)
    for array, value in (
        (0, -1), (0, size + 1), (1, size + 1), (1, 0), (2, -1), (2, 1),
        (3, size - 1), (3, size), (3, 2**31 - 1), (4, size - 1), (4, size + 5),
    ):  # fmt: skip
        log = Log([event])
        log.of_events[array][0] = value
        assert read_codes(log, cells) == [REFUSED, DONE]
        assert log.count(cells) == [None]
    log = Log([event])
    log.of_events[4][0] = -1  # rows without any image
    assert read_codes(log, cells) == [REFUSED, DONE]
    assert log.count(cells) == [None]


def read_codes(log: Log, cells: ModuleType) -> list[int]:
    return [call.code for call in log.fill(cells)]


@each_kernel
def test_a_refusal_withdraws_the_images_of_its_call(cells: ModuleType) -> None:
    columns = bare(s.Int(1), s.PackedDatetime(0))
    row = b"\xfc\x05\x99\x64\x42\0\0"
    good = Made(columns, None, b"\x03", row)
    log = Log([good, Made(columns, None, b"\x03", row * 3 + b"\xfc\x06" + bytes(5)), good])
    calls = list(log.fill(cells))
    assert [(call.code, call.event, call.image_event) for call in calls] == [
        (REFUSED, 1, [0]),
        (DONE, 3, [2]),
    ]
    assert calls[0].position == log.of_events[0][1]
    # Two images a call: the second call enters the event behind its first row.
    calls = list(log.fill(cells, images=2))
    start = int(log.of_events[0][1])
    assert [(call.code, call.event, call.position - start, call.image_event) for call in calls[:2]] == [
        (FULL, 1, len(row), [0, 1]),
        (FULL, 1, 3 * len(row), [1, 1]),
    ]
    assert (calls[2].code, calls[2].event, calls[2].position - start) == (REFUSED, 1, 3 * len(row))
    assert calls[2].image_event == []


@each_kernel
def test_both_images_of_an_update_are_made_or_none(cells: ModuleType) -> None:
    columns = bare(s.Int(1), s.Int(2))
    event = Made(columns, b"\x03", b"\x03", b"")
    event = event.with_rows([Row((n, 2), (3, n)) for n in range(5)])
    for room in ({"images": 3}, {"room": 7}):
        calls = list(Log([event]).fill(cells, **room))
        assert [(call.code, len(call.image_cell)) for call in calls] == [(FULL, 2)] * 4 + [(DONE, 2)]
    for room in ({"images": 1}, {"room": 3}):
        call = next(Log([event]).fill(cells, **room))
        assert (call.code, call.image_cell, call.event) == (FULL, [], 0)


@pytest.mark.skipif(len(KERNELS) == 1, reason="too slow for the interpreted kernel")
def test_every_date_there_is() -> None:
    """All combinations of the years 0 to 10002, in order: the valid ones must count the days without a gap."""
    numbers = np.arange(10003 << 9, dtype=np.uint32)
    images = np.zeros((len(numbers), 4), dtype=np.uint8)
    for byte in range(3):
        images[:, byte + 1] = numbers >> 8 * byte & 255
    log = Log([Made(bare(s.Date24()), None, b"\x01", images.tobytes())])
    (call,) = log.fill(kernel.cells, images=len(numbers), room=len(numbers))
    valid = call.states == State.VALUE
    assert np.array_equal(call.slots[valid], np.arange(-719162, 2932897))
    assert np.array_equal(call.slots[~valid], numbers[~valid])
    assert set(np.unique(call.states)) == {State.VALUE, State.ZERO}
