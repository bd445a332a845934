"""Rows events for the kernel's ``cells``: what they should give, running the kernel over them, and generating them."""

from __future__ import annotations

import datetime
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from gtidal.columnar import kernel
from gtidal.columnar.codes import ShapeCode, State
from gtidal.columnar.shapes_plan import shape_row, step
from gtidal.columns import shapes as s
from gtidal.columns.temporal import Date, DateTime, Time, Timestamp, pack_datetime
from gtidal.columns.types import Column
from gtidal.errors import GtidalError
from gtidal.events.images import ABSENT, Image, Row, RowsCodec
from gtidal.events.rows import DeleteRows, RowsEvent, UpdateRows, WriteRows
from gtidal.wire.layout import Writer
from gtidal.wire.reading import Reader

DONE, FULL, REFUSED = 0, 1, 2
EPOCH = datetime.datetime(1970, 1, 1)
MICROSECOND = datetime.timedelta(microseconds=1)

INTERPRETED = kernel.load_interpreted("cells")
KERNELS = [INTERPRETED, kernel.cells] if kernel.is_compiled(kernel.cells) else [INTERPRETED]
QUICK = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
Cells = list[tuple[int, Any]]
"""Of an image: state and content, one of each column. The content of a span is its bytes."""


# What a value should be in its cell.


class NoSlot(Exception):
    """One of the values that the kernel leaves to the reference decoder."""


def bits64(number: int) -> int:
    return struct.unpack("<q", struct.pack("<Q", number))[0]


def moment(value: DateTime) -> tuple[int, int]:
    try:
        return State.VALUE, (datetime.datetime(*value) - EPOCH) // MICROSECOND
    except (ValueError, OverflowError):
        return State.ZERO, pack_datetime(value)


def span_of_time(value: Time) -> tuple[int, int]:
    negative, hour, minute, second, microsecond = value
    if minute > 59 or second > 59 or microsecond > 999999:
        raise NoSlot
    span = datetime.timedelta(hours=hour, minutes=minute, seconds=second, microseconds=microsecond)
    return State.VALUE, (-span if negative else span) // MICROSECOND


def expected(shape: s.Shape, value: Any) -> tuple[int, Any]:
    """State and content of the cell of a value that the reference decoder has read."""
    if value is ABSENT:
        return State.ABSENT, 0
    if value is None:
        return State.NULL, 0
    match shape:
        case s.Int() | s.Bits():
            return State.VALUE, bits64(value % 2**64)
        case s.Float():
            return State.VALUE, int.from_bytes(shape.write(value), "little", signed=shape.size == 8)
        case s.Year():
            return State.VALUE, value
        case s.Bytes():
            return State.VALUE, value
        case s.PackedDecimal():
            if shape.arguments[0] > 38:
                return State.VALUE, shape.write(value)
            sign, digits, exponent = value.as_tuple()
            assert exponent == -shape.arguments[1]
            number = int("".join(map(str, digits)))
            return State.VALUE, -number if sign else number
        case s.Date24():
            try:
                return State.VALUE, (datetime.date(*value) - EPOCH.date()).days
            except (ValueError, OverflowError):
                return State.ZERO, value.year << 9 | value.month << 5 | value.day
        case s.Datetime64():
            year, month, day, hour, minute, second, _ = value
            if year * 13 + month >= 2**17 or month > 12 or day > 31 or hour > 31 or max(minute, second) > 63:
                raise NoSlot
            return moment(value)
        case s.PackedDatetime():
            return moment(value)
        case s.Time24() | s.PackedTime():
            return span_of_time(value)
        case s.Epoch32() | s.PackedEpoch():
            return State.ZERO if value.zero else State.VALUE, value.seconds * 1000000 + value.microsecond
    raise AssertionError(shape)


# Tables, events, and running the kernel over them.


def table(*kinds: tuple[int, int, bool]) -> tuple[Column, ...]:
    """Columns of (real type, metadata, unsigned)."""
    return tuple(
        Column(index, code, code, metadata, unsigned=unsigned)
        for index, (code, metadata, unsigned) in enumerate(kinds)
    )


@dataclass(frozen=True)
class Bare:
    """A column of a shape that perhaps no type has."""

    index: int
    shape: s.Shape
    real_type: int = 0


Columns = tuple[Column | Bare, ...]


def bare(*shapes: s.Shape) -> Columns:
    return tuple(Bare(index, shape) for index, shape in enumerate(shapes))


@dataclass(frozen=True)
class Made:
    """A rows event: its table, bitmaps (None: no such image) and the bytes of its rows."""

    columns: Columns
    before: bytes | None
    after: bytes | None
    images: bytes

    def codec(self) -> RowsCodec:
        kinds: dict[tuple[bool, bool], type[RowsEvent]] = {
            (True, True): UpdateRows,
            (True, False): DeleteRows,
            (False, True): WriteRows,
        }
        kind = kinds[self.before is not None, self.after is not None]
        any_table: Any = SimpleNamespace(columns=self.columns, mariadb=False)
        return RowsCodec(kind, any_table, self.before or b"", self.after or b"")

    def rows(self) -> tuple[Row, ...] | None:
        """What the reference decoder reads; None where it refuses."""
        try:
            return self.codec().read(Reader(self.images, 0, len(self.images)), "rows")
        except GtidalError:
            return None

    def with_rows(self, rows: Sequence[Row]) -> Made:
        images = self.codec().write(Writer(None), tuple(rows))
        return Made(self.columns, self.before, self.after, images)

    def with_images(self, images: bytes) -> Made:
        return Made(self.columns, self.before, self.after, images)

    def cells(self) -> list[Cells] | None:
        """The cells of all images; None where the reference decoder or the kernel refuses a value."""
        rows = self.rows()
        if rows is None:
            return None
        images: list[Image] = [
            image for row in rows for image in (row.before, row.after) if image is not None
        ]
        try:
            return [
                [expected(column.shape, value) for column, value in zip(self.columns, image, strict=True)]
                for image in images
            ]
        except NoSlot:
            return None


def int32(numbers: Sequence[int]) -> np.ndarray:
    return np.array(numbers, dtype=np.int32)


class Log:
    """Events and the arrays that the kernel is given of them. The data ends with the last event's images."""

    def __init__(self, events: Sequence[Made]) -> None:
        self.events = events
        tables: dict[Columns, int] = {}
        data = bytearray()
        starts, ends, plans, befores, afters = [], [], [], [], []
        for event in events:
            plans.append(tables.setdefault(event.columns, len(tables)))
            for places, bitmap in ((befores, event.before), (afters, event.after)):
                places.append(-1 if bitmap is None else len(data))
                data += bitmap or b""
            starts.append(len(data))
            data += event.images
            ends.append(len(data))
        self.data = bytes(data)
        self.of_events = [int32(numbers) for numbers in (starts, ends, plans, befores, afters)]
        shapes = [[shape_row(column.shape) for column in columns] for columns in tables]
        self.slot = [[sum(r.slots for r in rows[:i]) for i in range(len(rows))] for rows in shapes]
        widths = [len(rows) for rows in shapes]
        self.first = int32([sum(widths[:i]) for i in range(len(widths))])
        self.width = int32(widths)
        self.slots = int32([sum(row.slots for row in rows) for rows in shapes])
        flat = [row for rows in shapes for row in rows]
        self.shape, self.size = (int32([row[place] for row in flat]) for place in range(2))
        self.sizes = int32([sum(row.size for row in rows) for rows in shapes])
        flat_slot = [offset for offsets in self.slot for offset in offsets]
        self.steps = np.array([step(*each) for each in zip(flat, flat_slot, strict=True)], np.int64).ravel()

    def call(self, function: Any, *arguments: Any) -> int:
        """Interpreted code must not see numpy's numbers."""
        return function(*(memoryview(a) if isinstance(a, np.ndarray) else a for a in arguments))

    def fill(self, cells: ModuleType, images: int = 2000, room: int = 20000) -> Iterator[Filled]:
        """Calls until all is done; a refused event is left out. What each call gives."""
        progress = np.array([0, -1, 0, 0], dtype=np.int64)
        while True:
            slots = np.full(room, 0x5A5A5A5A5A5A5A5A, dtype=np.int64)
            states = np.full(room, 99, dtype=np.uint8)
            image_cell, image_event, image_plan = (int32([-7] * images) for _ in range(3))
            entered = int(progress[0]), int(progress[1])
            progress[2:] = 0
            code = self.call(
                cells.fill, self.data, *self.of_events, len(self.events), self.first, self.width, self.slots,
                self.sizes, self.steps, slots, states, image_cell,
                image_event, image_plan, progress,
            )  # fmt: skip
            event, position, made, used = (int(number) for number in progress)
            assert set(states[used:].tolist()) <= ({99} if code != REFUSED else {99, 0, 1, 2, 3})
            yield Filled(self, code, entered, event, position, slots[:used], states[:used],
                         image_cell[:made].tolist(), image_event[:made].tolist())  # fmt: skip
            if code == DONE:
                assert (event, position) == (len(self.events), -1)
                return
            if code == REFUSED:
                progress[0] += 1
                progress[1] = -1

    def count(self, cells: ModuleType) -> list[int | None]:
        """The number of rows of each event; None where it is refused."""
        progress = np.array([0], dtype=np.int64)
        rows = int32([-7] * len(self.events))
        refused = []
        while (
            self.call(
                cells.count, self.data, *self.of_events, len(self.events), self.first, self.width, self.shape,
                self.size, rows, progress,
            ) == REFUSED
        ):  # fmt: skip
            refused.append(int(progress[0]))
            assert rows[progress[0]] == 0
            progress[0] += 1
        return [None if event in refused else int(count) for event, count in enumerate(rows)]

    def content(self, event: Made, cells: np.ndarray, states: np.ndarray, plan: int) -> Cells:
        """One image, in the form of ``expected``."""
        image = []
        for column, offset in zip(event.columns, self.slot[plan], strict=True):
            row = shape_row(column.shape)
            state, content = int(states[offset]), int(cells[offset])
            if row.slots == 2:
                assert states[offset + 1] == state
                content = int(cells[offset + 1]) << 64 | content & 0xFFFFFFFFFFFFFFFF
            if state == State.VALUE and row.code in (ShapeCode.BYTES, ShapeCode.LONG_DECIMAL):
                start = content & 0xFFFFFFFF
                image.append((state, self.data[start : start + (content >> 32)]))
            else:
                image.append((state, content))
        return image


@dataclass(frozen=True)
class Filled:
    """What one call of ``fill`` gave."""

    log: Log
    code: int
    entered: tuple[int, int]
    event: int
    position: int
    slots: np.ndarray
    states: np.ndarray
    image_cell: list[int]
    image_event: list[int]

    def images(self) -> list[tuple[int, Cells]]:
        """The images with their event's number."""
        found = []
        next_cell = 0
        for cell, event in zip(self.image_cell, self.image_event, strict=True):
            assert cell == next_cell  # no cell is left out
            plan = int(self.log.of_events[2][event])
            next_cell += int(self.log.slots[plan])
            cells, states = self.slots[cell:next_cell], self.states[cell:next_cell]
            found.append((event, self.log.content(self.log.events[event], cells, states, plan)))
        assert next_cell == len(self.slots)
        return found


def read(cells: ModuleType, log: Log, **room: int) -> list[list[Cells] | None]:
    """The images of each event; None where the kernel refuses it."""
    found: list[list[Cells] | None] = [[] for _ in log.events]
    for call in log.fill(cells, **room):
        for event, image in call.images():
            of_event = found[event]
            assert of_event is not None
            of_event.append(image)
        if call.code == REFUSED:
            start = int(log.of_events[0][call.event])
            before = call.entered[1] if call.entered[0] == call.event and call.entered[1] >= 0 else start
            assert call.position == before
            found[call.event] = None
    return found


def check(*events: Made, kernels: Sequence[ModuleType] = KERNELS) -> list[list[Cells] | None]:
    """Both kernels give what the reference decoder gives, or refuse what it or the slots refuse."""
    log = Log(events)
    wanted = [event.cells() for event in events]
    counts = [None if (rows := event.rows()) is None else len(rows) for event in events]
    for cells in kernels:
        assert read(cells, log) == wanted
        for counted, count in zip(log.count(cells), counts, strict=True):
            # It reads no values, so it may count what cannot be read, but not the other way round.
            assert count is None or counted == count
    return wanted


def whole(width: int) -> bytes:
    return ((1 << width) - 1).to_bytes((width + 7) // 8, "little")


def insert(columns: Columns, *images: Image) -> Made:
    """An event of inserted rows with all columns."""
    event = Made(columns, None, whole(len(columns)), b"")
    return event.with_rows([Row(None, image) for image in images])


# What hypothesis makes.


def any_bytes(shape: s.Shape) -> st.SearchStrategy[bytes]:
    """Bytes of the right size, sensible or not."""
    if isinstance(shape, s.Bytes):
        size = shape.arguments[0]
        return st.binary(max_size=40).map(lambda value: len(value).to_bytes(size, "little") + value)
    return st.binary(min_size=shape.size or 0, max_size=shape.size or 0)


def microsecond(digits: int) -> st.SearchStrategy[int]:
    return st.integers(0, 10**digits - 1).map(lambda number: number * 10 ** (6 - digits))


def edges(low: int, high: int) -> st.SearchStrategy[int]:
    middle = {number for number in (-1, 0, 1) if low <= number <= high}
    return st.sampled_from(sorted({low, high, *middle})) | st.integers(low, high)


def sensible(shape: s.Shape) -> st.SearchStrategy[Any]:
    """Values as servers write them."""
    years, months, days = st.integers(0, 9999), st.integers(0, 12), st.integers(0, 31)
    clock = st.integers(0, 23), st.integers(0, 59), st.integers(0, 59)
    spans = st.booleans(), edges(0, 838), st.integers(0, 59), st.integers(0, 59)
    digits = shape.arguments[0] if shape.arguments else 0
    match shape:
        case s.Int():
            bits = 8 * digits
            return (
                edges(-(1 << bits - 1), (1 << bits - 1) - 1)
                if shape.arguments[1]
                else edges(0, (1 << bits) - 1)
            )
        case s.Float():
            return st.floats(width=8 * digits)
        case s.Bytes():
            return st.binary(max_size=300 if digits > 1 else 255)
        case s.PackedDecimal():
            top, scale = 10**digits - 1, shape.arguments[1]
            return edges(-top, top).map(lambda number: Decimal(f"{number}E-{scale}"))
        case s.Bits():
            return edges(0, (1 << digits) - 1)
        case s.Year():
            return st.just(0) | edges(1901, 2155)
        case s.Date24():
            return st.tuples(years, months, days).map(lambda parts: Date(*parts))
        case s.Datetime64():
            return st.tuples(years, months, days, *clock).map(lambda parts: DateTime(*parts))
        case s.PackedDatetime():
            return st.tuples(years, months, days, *clock, microsecond(digits)).map(
                lambda parts: DateTime(*parts)
            )
        case s.Time24() | s.PackedTime():
            fraction = microsecond(digits) if digits else st.just(0)
            return st.tuples(*spans, fraction).map(
                lambda parts: Time(parts[0] and any(parts[1:]), *parts[1:])
            )
        case s.Epoch32():
            return edges(0, 2**32 - 1).map(Timestamp)
        case s.PackedEpoch():
            return st.tuples(edges(0, 2**32 - 1), microsecond(digits)).map(lambda parts: Timestamp(*parts))
    return st.none()


KINDS: list[tuple[int, int, bool]] = [
    *((code, 0, unsigned) for code in (1, 2, 3, 8, 9) for unsigned in (False, True)),
    *((code, size, False) for code, size in ((4, 4), (5, 8), (15, 40), (15, 3000), (254, 0xFE1E), (247, 0xF702))),
    *((252, size, False) for size in range(1, 5)),
    *((248, 0xF800 | size, False) for size in range(1, 9)),
    *((246, precision << 8 | scale, False) for precision, scale in (
        (1, 0), (1, 1), (9, 0), (9, 9), (10, 2), (18, 0), (18, 9), (18, 10), (18, 18), (19, 0), (19, 10), (20, 2),
        (27, 9), (38, 0), (38, 8), (38, 38), (39, 0), (65, 30), (81, 38),
    )),
    *((16, bits // 8 << 8 | bits % 8, False) for bits in (1, 8, 9, 33, 63, 64)),
    *((code, 0, False) for code in (6, 7, 10, 11, 12, 13)),
    *((code, digits, False) for code in (17, 18, 19) for digits in range(7)),
]  # fmt: skip
"""Column types that have values: real type, metadata, unsigned."""


@st.composite
def events(draw: st.DrawFn, columns: Columns, most_rows: int = 4) -> Made:
    """An event of one of the three kinds, full or partial images, NULLs, values sensible or not."""
    width = len(columns)

    def bitmap() -> bytes:
        bits = (1 << width) - 1
        if draw(st.integers(0, 3)) == 0:
            bits = draw(st.integers(1, bits))
        spare = draw(st.sampled_from([0, 255])) << width  # bits behind the last column mean nothing
        return ((bits | spare) & (1 << (width + 7) // 8 * 8) - 1).to_bytes((width + 7) // 8, "little")

    kind = draw(st.sampled_from(["insert", "update", "delete"]))
    before = bitmap() if kind != "insert" else None
    after = bitmap() if kind != "delete" else None
    images = bytearray()
    for _ in range(draw(st.integers(0, most_rows))):
        for held in (before, after):
            if held is None:
                continue
            present = [c for c in columns if int.from_bytes(held, "little") >> c.index & 1]
            nulls = draw(st.integers(0, (1 << len(present)) - 1)) if draw(st.booleans()) else 0
            size = (len(present) + 7) // 8
            spare = draw(st.sampled_from([255, 255, 255, 0]))  # servers set the bits behind the last column
            bits = (nulls | spare << len(present)) & (1 << 8 * size) - 1
            images += bits.to_bytes(size, "little")
            odd = draw(st.integers(0, 7)) == 0
            for place, column in enumerate(present):
                if not nulls >> place & 1:
                    shape = column.shape
                    images += draw(any_bytes(shape)) if odd else shape.write(draw(sensible(shape)))
    return Made(columns, before, after, bytes(images))


tables = st.lists(st.sampled_from(KINDS), min_size=1, max_size=12).map(lambda kinds: table(*kinds))
logs = st.lists(tables, min_size=1, max_size=3).flatmap(
    lambda made: st.lists(st.sampled_from(made).flatmap(events), min_size=1, max_size=4)
)
