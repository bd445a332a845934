"""Settling text: cells as the reference decoder's text, interpreted and compiled."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gtidal.columnar.codes import State, TextAction
from gtidal.columns import charsets
from gtidal.columns.decimals import decimal_text, encode_decimal
from gtidal.columns.temporal import Date, DateTime, Time, Timestamp, pack_datetime
from gtidal.events.images import ABSENT, Image
from tests.columnar.row_images import COMPILED, KERNELS, Images, Kernel, Settled, Table, column, table, views

UTF8MB4, LATIN1, BINARY, SJIS, UCS2, SWE7 = 255, 8, 63, 13, 35, 10
DONE, FULL, NOT_OURS = 0, 1, 2
QUICK = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))

each_kernel = pytest.mark.parametrize(
    "one", KERNELS, ids=lambda one: "compiled" if one is COMPILED else "interpreted"
)


def settle(columns: Table, *values: Any, heap: int = 1 << 16) -> list[tuple[int, Any] | None]:
    """State and content of the first column's cells; None where an image is not ours. The same by all kernels."""
    images = Images([(columns, (value, *[None] * (len(columns) - 1))) for value in values])
    found = []
    for one in KERNELS:
        settled = images.settled(one, heap)
        found.append(
            [None if image in settled.not_ours else settled.cell(image) for image in range(len(values))]
        )
    assert all(other == found[0] for other in found[1:])
    return found[0]


def test_literals_are_those_of_the_codes() -> None:
    assert [action.value for action in TextAction] == list(range(10))
    assert [TextAction.UTF8, TextAction.TABLE, TextAction.ASCII, TextAction.FOREIGN] == [1, 2, 3, 4]
    assert [TextAction.PAD, TextAction.TIME, TextAction.DATE] == [5, 6, 7]
    assert [TextAction.DATETIME, TextAction.DECIMAL, State.ZERO] == [8, 9, 3]


# UTF-8.

TEXT = table(column(252, 4, charset=UTF8MB4))
EDGES = [
    *(chr(code).encode() for code in (0, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF)),
    *(bytes((lead,)) + rest for lead in range(0x80, 256) for rest in (b"", b"\x80", b"\xbf\xbf", b"\x80\x80\x80")),
    *(bytes((lead, second)) + b"\x80\x80" for lead in (0xE0, 0xED, 0xEF, 0xF0, 0xF4) for second in range(0x7F, 0xC1)),
    *(bytes((lead, second)) + b"\x80" for lead in (0xC1, 0xC2, 0xE0, 0xED) for second in range(0x7F, 0xC1)),
    b"\xf0\x90\x80\x7f", b"\xf0\x90\xc0\x80", b"\xe1\x80\xc0", b"\xe1\x80\x7f",
]  # fmt: skip


def state_of(data: bytes) -> State:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return State.RAW
    return State.VALUE


@pytest.mark.parametrize(
    "around", [(b"", b""), (b"plain text of some length, ", b"g"), (b"", b" and behind it")]
)
def test_utf8_at_its_edges(around: tuple[bytes, bytes]) -> None:
    values = [around[0] + edge + around[1] for edge in EDGES]
    assert settle(TEXT, *values) == [(state_of(value), value) for value in values]
    assert {state_of(value) for value in values} == {State.VALUE, State.RAW}


@QUICK
@given(st.lists(st.binary(max_size=40) | st.text(max_size=20).map(str.encode), min_size=1, max_size=5))
def test_any_bytes_as_utf8(values: list[bytes]) -> None:
    assert settle(TEXT, *values) == [(state_of(value), value) for value in values]


def test_a_sequence_does_not_go_on_in_the_next_column() -> None:
    columns = table(column(15, 20, charset=UTF8MB4), column(15, 20, charset=UTF8MB4))
    settled = Images([(columns, (b"\xc3", b"\xa4"))]).settled(COMPILED)
    assert [settled.cell(0, 0), settled.cell(0, 1)] == [(State.RAW, b"\xc3"), (State.RAW, b"\xa4")]


# Other charsets.


def single_byte_collations() -> list[int]:
    chosen: dict[str, int] = {}
    for number, (charset, _) in charsets.COLLATIONS.items():
        chosen.setdefault(charset, number)
    return [
        number
        for charset, number in chosen.items()
        if charset in charsets._CODECS
        and charset not in ("utf8mb3", "utf8mb4", "ucs2", "utf16", "utf16le", "utf32", "big5", "cp932", "eucjpms",
                            "euckr", "gb18030", "gb2312", "gbk", "sjis", "ujis")
    ]  # fmt: skip


@pytest.mark.parametrize("collation", single_byte_collations())
def test_every_byte_of_a_single_byte_charset(collation: int) -> None:
    columns = table(column(252, 4, charset=collation))
    values = [bytes((byte,)) for byte in range(256)] + [b"abc", b"@[]{}~", b"", b"ab\xc0\xe9 z"]
    for value, found in zip(values, settle(columns, *values, heap=100), strict=True):
        wanted = charsets.decode_text(value, collation)
        if isinstance(wanted, str):
            assert found in ((State.HEAP, wanted.encode()), (State.VALUE, wanted.encode()))
            if value == b"abc" and collation != SWE7:  # it has other letters than ASCII, so nothing stays
                assert found[0] == State.VALUE
        else:
            assert found == (State.RAW, value)


def test_charsets_that_are_not_ours() -> None:
    sjis = table(column(252, 4, charset=SJIS))
    if TextAction.ASCII in Images([(sjis, (b"",))]).book.text_action.array:
        assert settle(sjis, b"plain", b"", "日".encode("shift_jis"), None) == [
            (State.VALUE, b"plain"), (State.VALUE, b""), None, (State.NULL, 0)
        ]  # fmt: skip
    ucs2 = table(column(252, 4, charset=UCS2))
    assert settle(ucs2, b"\0a", None) == [None, (State.NULL, 0)]


def test_an_image_that_is_not_ours_does_not_stop_the_others() -> None:
    columns = table(column(252, 4, charset=LATIN1), column(252, 4, charset=UCS2))
    rows: list[tuple[Table, Image]] = [
        (columns, (b"\xe9", None)), (columns, (b"\xe8", b"\0a")), (columns, (b"\xe7", ABSENT)),
    ]  # fmt: skip
    for one in KERNELS:
        settled = Images(rows).settled(one)
        assert settled.not_ours == {1}
        assert [settled.cell(0), settled.cell(2)] == [(State.HEAP, b"\xc3\xa9"), (State.HEAP, b"\xc3\xa7")]


def test_binary_is_padded() -> None:
    columns = table(column(254, 0xFE05, charset=BINARY))
    assert settle(columns, b"ab", b"abcde", b"", None, heap=7) == [
        (State.HEAP_BYTES, b"ab\0\0\0"), (State.VALUE, b"abcde"), (State.HEAP_BYTES, bytes(5)), (State.NULL, 0)
    ]  # fmt: skip


# Times, dates, decimals.


@pytest.mark.parametrize("digits", range(7))
def test_times(digits: int) -> None:
    columns = table(column(19, digits))
    step = 10 ** (6 - digits)
    values = [
        Time(False, 0, 0, 0), Time(True, 0, 0, 1), Time(False, 9, 8, 7, 123456 // step * step),
        Time(True, 838, 59, 59, 999999 // step * step), Time(False, 100, 0, 0, 20000 // step * step),
    ]  # fmt: skip
    assert settle(columns, *values, heap=40) == [
        (State.HEAP, value.text(digits).encode()) for value in values
    ]


def test_dates() -> None:
    values = [Date(0, 0, 0), Date(2020, 0, 31), Date(10000, 1, 1), Date(32767, 15, 31), Date(2023, 2, 29)]
    found = settle(table(column(10)), Date(2020, 2, 29), *values, None, heap=10)
    assert found[0] == (State.VALUE, 18321)
    assert found[1:] == [*((State.HEAP, value.text().encode()) for value in values), (State.NULL, 0)]


@pytest.mark.parametrize("digits", range(7))
def test_datetimes(digits: int) -> None:
    step = 10 ** (6 - digits)
    values = [
        DateTime(0, 0, 0, 0, 0, 0), DateTime(2020, 0, 1, 23, 59, 58, 987654 // step * step),
        DateTime(2023, 2, 29, 1, 2, 3, 4000 // step * step), DateTime(9999, 12, 31, 24, 0, 0),
    ]  # fmt: skip
    found = settle(table(column(18, digits)), *values, heap=10)
    assert found == [(State.HEAP, value.text(digits).encode()) for value in values]
    zero = settle(table(column(17, digits)), Timestamp(0), Timestamp(1))
    assert zero == [(State.HEAP, values[0].text(digits).encode()), (State.VALUE, 1000000)]


@each_kernel
def test_packed_parts_of_any_size(one: Kernel) -> None:
    """No server writes them; the text is still the reference's, fraction cut to its first digits."""
    values = [DateTime(10081, 12, 31, 31, 63, 63, (1 << 24) - 1), DateTime(1, 2, 3, 4, 5, 6, 10_000_000)]
    for value in values:
        for digits in (0, 2, 6):
            images = Images([(table(column(18, digits)), (DateTime(0, 0, 0, 0, 0, 0),))])
            images.slots[0] = pack_datetime(value)
            assert images.settled(one).cell(0) == (State.HEAP, value.text(digits).encode())


@QUICK
@given(st.integers(39, 65), st.data())
def test_long_decimals(precision: int, data: st.DataObject) -> None:
    scale = data.draw(st.integers(0, min(precision, 38)))
    top = 10**precision - 1
    numbers = st.sampled_from([0, 1, -1, top, -top, 10**scale, -(10**scale)]) | st.integers(-top, top)
    values = [
        Decimal(f"{number}E-{scale}") for number in data.draw(st.lists(numbers, min_size=1, max_size=4))
    ]
    columns = table(column(246, precision << 8 | scale))
    assert settle(columns, *values, heap=30) == [
        (State.HEAP, decimal_text(value).encode()) for value in values
    ]


def test_the_sign_of_a_zero_decimal() -> None:
    columns = table(column(246, 40 << 8 | 2))
    value = Decimal("-0.00")
    assert columns[0].write(value) == encode_decimal(value, 40, 2)
    assert settle(columns, value) == [(State.HEAP, decimal_text(value).encode())]


@each_kernel
def test_a_decimal_of_wrong_size_or_digits(one: Kernel) -> None:
    images = Images([(table(column(246, 40 << 8 | 2)), (Decimal(1),))])
    slot = int(images.slots[0])
    for change in (1 << 32, -1 << 32, -5 << 32):
        images.slots[0] = slot + change
        images.data = np.append(images.data, np.zeros(1, np.uint8))
        assert images.settled(one).not_ours == {0}
    images.slots[0] = slot
    images.data = images.data.copy()
    images.data[(slot & 0xFFFFFFFF) + 1] = 0x7F  # the first of four: more than nine digits
    assert images.settled(one).not_ours == {0}


# The whole.


def test_what_needs_nothing_is_left_alone() -> None:
    columns = table(column(3), column(15, 10, charset=UTF8MB4), column(5, 8), column(252, 2, charset=BINARY))
    images = Images([(columns, (1, b"a", 0.5, b"\xff")), (columns, (None, None, ABSENT, None))])
    for one in KERNELS:
        settled = images.settled(one, heap_size=0)
        assert (settled.slots == images.slots).all()
        assert (settled.states == images.states).all()


@each_kernel
def test_the_heap_is_full(one: Kernel) -> None:
    """Nothing of an image is done, and the next call with more room goes on there."""
    columns = table(column(252, 4, charset=LATIN1), column(19, 0), column(254, 0xFE14, charset=BINARY))
    row = (b"\xe9" * 10, Time(False, 1, 2, 3), b"")
    images = Images([(columns, row)] * 3)
    book = images.book
    slots, states = images.slots.copy(), images.states.copy()
    progress = np.array([0, 0])
    heap = np.full(130, 0xEE, np.uint8)

    def call() -> int:
        return one["texts"].settle(
            *views(
                images.data, heap, slots, states, images.image_cell, images.image_plan, 3, book.first.view,
                book.width.view, book.slot.view, book.text_action.view, book.text_argument.view,
                book.charset_tables.view, progress,
            )
        )  # fmt: skip

    assert call() == FULL
    assert progress.tolist() == [2, 2 * (20 + 8 + 20)]
    assert (heap[96:] == 0xEE).all()
    assert (states[6:9] == State.VALUE).all()
    heap = np.zeros(1000, np.uint8)
    progress[1] = 0
    assert call() == DONE
    assert progress.tolist() == [3, 48]
    assert heap[:28].tobytes() == "é".encode() * 10 + b"01:02:03"


@each_kernel
def test_spans_that_lead_outside(one: Kernel) -> None:
    for collation in (UTF8MB4, LATIN1, SJIS):
        images = Images([(table(column(252, 4, charset=collation)), (b"abc",))])
        images.slots[0] += 1 << 32
        assert images.settled(one).not_ours == {0}


@each_kernel
def test_settled_cells_are_not_settled_twice(one: Kernel) -> None:
    images = Images([(table(column(19, 0)), (Time(False, 1, 2, 3),))])
    settled = images.settled(one)
    images.slots, images.states = settled.slots, settled.states
    assert Settled(images, one, 100).not_ours == {0}
