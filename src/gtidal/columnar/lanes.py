"""Typed columns from cells: one ``Lane`` for each column of a table that is wanted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from gtidal.columnar import kernel
from gtidal.columnar.arrays import Array, Texts, from_values
from gtidal.columnar.arrow_types import GEOMETRY, VECTOR, holds_text, list_of, logical_type, spark_type
from gtidal.columnar.cells import FULL, ColumnCells, Images
from gtidal.columnar.codes import ShapeCode, State
from gtidal.columnar.flat import own_numbers
from gtidal.columnar.memory import offsets_room, room
from gtidal.columnar.plan import Plan, PlanBook
from gtidal.columnar.schemas import STRING, VARIANT
from gtidal.columnar.variant import json_text
from gtidal.columnar.ways import Flat, Labels, Room, Way, Ways
from gtidal.columnar.windows import Window
from gtidal.columns.charsets import charset_name, decode_text
from gtidal.columns.meanings import Meaning
from gtidal.columns.types import Column
from gtidal.errors import DecodeError

NUMBER, SIGNED, UNSIGNED, TWO_SLOTS, TEXT, LABEL = range(6)
"""What the kernel makes of slots (kernel/lanes.py)."""
ANY_BYTES, SOME_TEXT, UTF8_TEXT = range(3)
MOST_BYTES = 2**31 - 1
UTF8 = ("utf8mb3", "utf8mb4")
BYTE_SIZE = {
    **{pa.int8(): 1, pa.int16(): 2, pa.int32(): 4, pa.int64(): 8, pa.float32(): 4, pa.float64(): 8},
    **{pa.date32(): 4, pa.duration("us"): 8, pa.timestamp("us"): 8, pa.timestamp("us", tz="UTC"): 8},
}


class Unfit(Exception):
    """An image with a value that its column's type cannot hold: the reference decoder says what it is."""

    def __init__(self, image: int) -> None:
        super().__init__(image)
        self.image = image


@dataclass(slots=True)
class Block:
    """Settled cells of images that share a plan."""

    window: Window
    cells: ColumnCells
    images: Images

    @property
    def count(self) -> int:
        return self.images.count


def _mask(valid: Array | None) -> pa.Buffer | None:
    return None if valid is None else pa.py_buffer(np.packbits(valid.astype(bool), bitorder="little"))


class Lane:
    """How one column of a plan becomes an Arrow array of the merged schema's type."""

    def __init__(self, column: Column, slot: int, shape: ShapeCode, wanted: pa.DataType, images: str) -> None:
        self.column = column
        self.slot = slot
        self.shape = shape
        self.own = logical_type(column)
        self.wanted = wanted
        self.images = images
        self.room = Room()
        self._metadata_room = Room()
        self._progress = own_numbers(0, 0)
        self.labels: list[bytes] = []
        # An integer can be made as wide as it is wanted at once.
        both = self.own in BYTE_SIZE and wanted in BYTE_SIZE
        if both and pa.types.is_integer(self.own) and pa.types.is_integer(wanted):
            self.own = wanted
        self._target = spark_type(wanted, images)
        self.way: Way | None = None
        """None: it is made by itself."""
        self._make: Callable[[Block], pa.Array] | None = None
        self._finish: Callable[[Flat], pa.Array] = lambda flat: flat.array(self.own)
        self._choose()

    def make(self, block: Block) -> pa.Array:
        """A column that is made by itself."""
        assert self._make is not None
        return self._adapted(self._make(block))

    def finish(self, flat: Flat) -> pa.Array:
        return self._adapted(self._finish(flat))

    def _adapted(self, array: pa.Array) -> pa.Array:
        return array if array.type == self._target else adapt(array, self.own, self.wanted, self.images)

    def _choose(self) -> None:
        column = self.column
        match column.type.meaning:
            case Meaning.ENUM if column.labels is not None:
                self.labels = [b"", *self._label_texts()]
                self.way = Way(LABEL, self.slot, len(self.labels))
                self._finish = lambda flat: flat.texts(self.own)
            case Meaning.SET if column.labels is not None:
                self._members = Texts.of(self._label_texts())
                self.way = Way(NUMBER, self.slot, 8)
                self._finish = self._set
            case Meaning.CHARACTERS | Meaning.COMPRESSED:
                self._be_text(STRING if holds_text(column) else pa.binary())
            case Meaning.JSON:
                self._make = self._document
            case Meaning.GEOMETRY:
                self._make = self._geometry
            case Meaning.VECTOR:
                self.way = Way(TEXT, self.slot, ANY_BYTES)
                self._finish = self._vector
            case Meaning.NULL | Meaning.UNKNOWN:
                self._make = lambda block: pa.nulls(block.count)
            case _:
                self._choose_number()

    def _choose_number(self) -> None:
        if self.own == pa.bool_():
            self.way = Way(NUMBER, self.slot, 1)
            self._finish = _booleans
        elif self.shape is ShapeCode.LONG_DECIMAL:
            self._be_text(STRING)
        elif pa.types.is_decimal(self.own):
            kind = UNSIGNED
            if self.shape is ShapeCode.WIDE_DECIMAL:
                kind = TWO_SLOTS
            elif self.shape is ShapeCode.DECIMAL:
                kind = SIGNED
            self.way = Way(kind, self.slot, 16)
        else:
            self.way = Way(NUMBER, self.slot, BYTE_SIZE[self.own])

    def _be_text(self, kind: pa.DataType) -> None:
        checked = UTF8_TEXT if is_utf8(self.column) else SOME_TEXT
        self.way = Way(TEXT, self.slot, checked if kind == STRING else ANY_BYTES)
        self._finish = lambda flat: flat.texts(kind)

    def _label_texts(self) -> list[bytes]:
        texts = [decode_text(label, self.column.charset) for label in self.column.labels or ()]
        return [text.encode() if isinstance(text, str) else bytes(text) for text in texts]

    # --- from what the kernel made

    def _set(self, flat: Flat) -> pa.Array:
        count, labels = flat.rows, len(self._members.sizes)
        bits = np.unpackbits(
            np.frombuffer(flat.values, np.uint8).reshape(count, 8), axis=1, bitorder="little"
        )
        check(bits[:, labels:].any(axis=1))
        members = self._members.pick(np.nonzero(bits)[1], self.own.value_type)
        offsets = offsets_room(count)
        np.cumsum(bits.sum(axis=1), out=offsets[1:])
        buffers = [flat.mask, pa.py_buffer(offsets)]
        return pa.ListArray.from_buffers(list_of(self.own.value_type), count, buffers, children=[members])

    def _vector(self, flat: Flat) -> pa.Array:
        offsets = np.frombuffer(flat.values, np.int32)
        check(offsets[1:] % 4 != 0)
        values = pa.Array.from_buffers(pa.float32(), int(offsets[-1]) // 4, [None, flat.text])
        buffers = [flat.mask, pa.py_buffer(offsets // 4)]
        return pa.ListArray.from_buffers(VECTOR, flat.rows, buffers, children=[values])

    # --- geometries

    def _geometry(self, block: Block) -> pa.Array:
        cells, count = block.cells, block.count
        srids, offsets = np.empty(count, np.int32), offsets_room(count)
        valid = np.empty(count, np.uint8)
        size = self.room.first(count, len(block.window.data))
        while True:
            out = room(size)
            nulls = kernel.lanes.geometries(
                memoryview(block.window.data), memoryview(cells.slots), memoryview(cells.states),
                self.slot * cells.stride, count, memoryview(srids), memoryview(out), memoryview(offsets),
                memoryview(valid),
            )  # fmt: skip
            if nulls >= 0:
                break
            size = larger(size)
        self.room.was(int(offsets[-1]), count)
        check(valid == 3)
        short = valid == 2
        fields = [
            pa.Array.from_buffers(
                pa.int32(), count, [_mask(~short) if short.any() else None, pa.py_buffer(srids)]
            ),
            pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(offsets), pa.py_buffer(out)]),
        ]
        return pa.StructArray.from_buffers(
            GEOMETRY, count, [_mask(valid) if nulls else None], children=fields
        )

    # --- documents

    def _document(self, block: Block) -> pa.Array:
        cells, count = block.cells, block.count
        value_offsets, metadata_offsets = offsets_room(count), offsets_room(count)
        valid = np.empty(count, np.uint8)
        most = 2 * len(block.window.data) + 128 * count
        value = room(self.room.first(count, most))
        metadata = room(self._metadata_room.first(count, most))
        progress = self._progress
        progress[0] = progress[1] = 0
        while code := kernel.documents.column(
            memoryview(block.window.data), memoryview(cells.slots), memoryview(cells.states),
            memoryview(cells.image_cell), self.slot * cells.stride, count, memoryview(value), memoryview(value_offsets),
            memoryview(metadata), memoryview(metadata_offsets), memoryview(valid), cells.documents_scratch, progress,
        ):  # fmt: skip
            if code != FULL:
                raise Unfit(progress[0])
            value, metadata = longer(value), longer(metadata)
        self.room.was(int(value_offsets[-1]), count)
        self._metadata_room.was(int(metadata_offsets[-1]), count)
        fields = [
            pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(offsets), pa.py_buffer(data)])
            for data, offsets in ((value, value_offsets), (metadata, metadata_offsets))
        ]
        if self.images == "json":
            texts = [
                json_text(document.as_py(), names.as_py()) if there else None
                for document, names, there in zip(*fields, valid.tolist(), strict=True)
            ]
            return from_values(texts)
        mask = _mask(valid) if progress[1] else None
        return pa.StructArray.from_buffers(VARIANT, count, [mask], children=fields)


def _booleans(flat: Flat) -> pa.Array:
    bits = np.packbits(np.frombuffer(flat.values, np.uint8).astype(bool), bitorder="little")
    return pa.Array.from_buffers(pa.bool_(), flat.rows, [flat.mask, pa.py_buffer(bits)])


class Columns:
    """The columns of images that share a layout. Most are made by one call of the kernel, into one buffer."""

    def __init__(self, lanes: Sequence[Lane]) -> None:
        self._lanes = lanes
        self._flat = [lane for lane in lanes if lane.way is not None]
        ways = [lane.way for lane in self._flat if lane.way is not None]
        self._ways = Ways(ways, [way.size if way.kind < TEXT else 0 for way in ways])
        self._slots = np.array([lane.slot for lane in self._flat], np.int64)
        labels: list[bytes] = []
        for number, lane in enumerate(self._flat):
            self._ways.numbers[number, 7] = len(labels)
            labels += lane.labels
        self._labels = Labels(labels)
        self._progress = own_numbers(0, 0)

    def make(self, block: Block) -> list[pa.Array]:
        flat = iter(self._made(block) if self._flat else ())
        return [lane.make(block) if lane.way is None else lane.finish(next(flat)) for lane in self._lanes]

    def _made(self, block: Block) -> list[Flat]:
        cells, count = block.cells, block.count
        self._ways.numbers[:, 1] = self._slots * cells.stride

        def call(ways: memoryview, out: memoryview) -> int | None:
            code = kernel.lanes.columns(
                memoryview(block.window.data), memoryview(cells.heap), memoryview(cells.slots), memoryview(cells.states),
                cells.stride, count, ways, self._labels.spans, self._labels.heap, out, self._progress,
            )  # fmt: skip
            if code not in (0, FULL):
                raise Unfit(self._progress[0])
            return self._progress[1] if code else None

        made = self._ways.make(
            count,
            lambda: [self._room_for(lane, block) for lane in self._flat],
            call,
            lambda number, _: bytes_of(block, self._flat[number].slot),
        )
        for lane, flat in zip(self._flat, made, strict=True):
            if lane.way is not None and lane.way.kind == TEXT:
                lane.room.was(flat.text.size, count)
        return made

    def _room_for(self, lane: Lane, block: Block) -> int:
        """For text; what is not used is not touched."""
        if lane.labels:
            return block.count * max(map(len, lane.labels))
        if lane.way is None or lane.way.kind != TEXT:
            return 0
        return lane.room.first(block.count, len(block.window.data) + len(block.cells.heap))


def bytes_of(block: Block, slot: int) -> int:
    """How many bytes the spans of a column have."""
    first = slot * block.cells.stride
    own = slice(first, first + block.count)
    is_span = np.isin(block.cells.states[own], (State.VALUE, State.RAW, State.HEAP, State.HEAP_BYTES))
    size = int((block.cells.slots[own] >> 32)[is_span].sum())
    if size > MOST_BYTES:
        raise DecodeError("a column of more than 2 GiB in one batch")
    return size


def check(unfit: Any) -> None:
    """Raises for the first image that does not fit."""
    if unfit.any():
        raise Unfit(int(np.argmax(unfit)))


def larger(size: int) -> int:
    """More room, as far as Arrow's offsets go."""
    if size >= MOST_BYTES:
        raise DecodeError("a column of more than 2 GiB in one batch")
    return min(2 * size, MOST_BYTES)


def longer(array: Array) -> Array:
    grown = room(larger(len(array)))
    grown[: len(array)] = array
    return grown


def adapt(array: pa.Array, own: pa.DataType, wanted: pa.DataType, images: str) -> pa.Array:
    """An array of one version of a column in the merged schema's type, which holds all its values."""
    target = spark_type(wanted, images)
    if array.type == target:
        return array
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), target)
    if own == pa.bool_() and _is_decimal(wanted):
        array = array.cast(pa.int8())
    if pa.types.is_decimal256(wanted):
        return from_values([exact_text(value) for value in array.to_pylist()])
    return array.cast(target)


def _is_decimal(kind: pa.DataType) -> bool:
    return bool(pa.types.is_decimal(kind))


def exact_text(value: int | Decimal | None) -> str | None:
    """As MySQL prints it: never with an exponent."""
    return f"{value:f}" if isinstance(value, Decimal) else None if value is None else str(value)


class TextActions:
    """What is done with texts before they are gathered, for all plans of a book: only in wanted columns."""

    def __init__(self, book: PlanBook) -> None:
        self._book = book
        self.any = False
        self.actions = np.zeros(0, np.int32)
        self.arguments = np.zeros(0, np.int32)

    def want(self, plan: Plan, wanted: list[int]) -> None:
        """These columns of the plan are wanted."""
        book = self._book
        total = len(book.shape)
        grown = np.zeros(total, np.int32)
        grown[: len(self.actions)] = self.actions
        self.actions = grown
        self.arguments = np.array(book.text_argument.array)
        base = int(book.first.array[plan.number])
        for index in wanted:
            column = plan.columns[index]
            if not is_utf8(column) and is_settled(column, ShapeCode(int(book.shape.array[base + index]))):
                self.actions[base + index] = book.text_action.array[base + index]
                self.any |= bool(self.actions[base + index])


def is_utf8(column: Column) -> bool:
    """Whether a column's bytes are gathered as they are, and asked together whether they are UTF-8."""
    return (
        column.type.meaning is Meaning.CHARACTERS
        and column.charset is not None
        and charset_name(column.charset) in UTF8
    )


def is_settled(column: Column, shape: ShapeCode) -> bool:
    """Whether a typed column's cells are settled as VARIANT's are: texts, BINARY(n), long decimals. Dates that are
    none, and times, are no text here; and bytes are bytes where the charset is not known."""
    meaning = column.type.meaning
    if meaning is Meaning.COMPRESSED:
        return True
    if meaning is Meaning.CHARACTERS:
        return column.charset is not None
    return shape is ShapeCode.LONG_DECIMAL
