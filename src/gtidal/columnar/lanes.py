"""Typed columns from cells: one ``Lane`` for each column of a table that is wanted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from gtidal.columnar import kernel
from gtidal.columnar.arrays import Array, Texts, booleans, from_values
from gtidal.columnar.arrow_types import GEOMETRY, VECTOR, holds_text, list_of, logical_type, spark_type
from gtidal.columnar.cells import FULL, Cells, Images
from gtidal.columnar.codes import ShapeCode
from gtidal.columnar.memory import offsets_room, room
from gtidal.columnar.plan import Plan, PlanBook
from gtidal.columnar.schemas import STRING, VARIANT
from gtidal.columnar.variant import json_text
from gtidal.columnar.windows import Window
from gtidal.columns.charsets import charset_name, decode_text
from gtidal.columns.meanings import Meaning
from gtidal.columns.types import Column
from gtidal.errors import DecodeError

SIGNED, UNSIGNED, TWO_SLOTS = range(3)
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
    cells: Cells
    images: Images

    @property
    def count(self) -> int:
        return self.images.count

    def numbers(self, slot: int, size: int) -> tuple[Array, Array | None]:
        """The low bytes of a slot; and which are valid, None for all."""
        cells, count = self.cells, self.count
        out, valid = room(count * size), np.empty(count, np.uint8)
        nulls = kernel.lanes.numbers(
            memoryview(cells.slots), memoryview(cells.states), memoryview(cells.image_cell), slot, count, size,
            memoryview(out), 0, memoryview(valid),
        )  # fmt: skip
        return out, valid if nulls else None

    def wide(self, slot: int, kind: int) -> tuple[Array, Array | None]:
        cells, count = self.cells, self.count
        out, valid = room(16 * count).view(np.int64), np.empty(count, np.uint8)
        nulls = kernel.lanes.wide(
            memoryview(cells.slots), memoryview(cells.states), memoryview(cells.image_cell), slot, count, kind,
            memoryview(out), 0, memoryview(valid),
        )  # fmt: skip
        return out, valid if nulls else None


def _mask(valid: Array | None) -> pa.Buffer | None:
    return None if valid is None else pa.py_buffer(np.packbits(valid.astype(bool), bitorder="little"))


class Room:
    """How many bytes a column needed for a row: the next block gets some more at once."""

    def __init__(self) -> None:
        self._per_row = 16.0

    def first(self, count: int) -> int:
        return int(self._per_row * 1.125 * count) + (1 << 14)

    def was(self, used: int, count: int) -> None:
        self._per_row = used / max(count, 1)


class Lane:
    """How one column of a plan becomes an Arrow array of the merged schema's type."""

    def __init__(self, column: Column, slot: int, shape: ShapeCode, wanted: pa.DataType, images: str) -> None:
        self.column = column
        self.slot = slot
        self.shape = shape
        self.own = logical_type(column)
        self.wanted = wanted
        self.images = images
        self._unchecked = is_utf8(column)
        self._room = Room()
        self._metadata_room = Room()
        # An integer can be made as wide as it is wanted at once.
        both = self.own in BYTE_SIZE and wanted in BYTE_SIZE
        if both and pa.types.is_integer(self.own) and pa.types.is_integer(wanted):
            self.own = wanted
        self._make = self._maker()

    def make(self, block: Block) -> pa.Array:
        return adapt(self._make(block), self.own, self.wanted, self.images)

    def _maker(self) -> Callable[[Block], pa.Array]:
        column = self.column
        match column.type.meaning:
            case Meaning.ENUM if column.labels is not None:
                self._labels = Texts.of(["", *self._label_texts()])
                return self._enum
            case Meaning.SET if column.labels is not None:
                self._labels = Texts.of(self._label_texts())
                return self._set
            case Meaning.CHARACTERS | Meaning.COMPRESSED:
                return self._text if holds_text(column) else self._bytes
            case Meaning.JSON:
                return self._document
            case Meaning.GEOMETRY:
                return self._geometry
            case Meaning.VECTOR:
                return self._vector
            case Meaning.NULL | Meaning.UNKNOWN:
                return lambda block: pa.nulls(block.count)
        if self.own == pa.bool_():
            return self._boolean
        if self.shape is ShapeCode.LONG_DECIMAL:
            return self._text
        return self._wide if pa.types.is_decimal(self.own) else self._number

    def _label_texts(self) -> list[str | bytes]:
        return [decode_text(label, self.column.charset) for label in self.column.labels or ()]

    # --- numbers

    def _number(self, block: Block) -> pa.Array:
        out, valid = block.numbers(self.slot, BYTE_SIZE[self.own])
        return pa.Array.from_buffers(self.own, block.count, [_mask(valid), pa.py_buffer(out)])

    def _boolean(self, block: Block) -> pa.Array:
        out, valid = block.numbers(self.slot, 1)
        return booleans(out, None if valid is None else valid.astype(bool))

    def _wide(self, block: Block) -> pa.Array:
        if self.shape is ShapeCode.WIDE_DECIMAL:
            kind = TWO_SLOTS
        else:
            kind = SIGNED if self.shape is ShapeCode.DECIMAL else UNSIGNED
        out, valid = block.wide(self.slot, kind)
        return pa.Array.from_buffers(self.own, block.count, [_mask(valid), pa.py_buffer(out)])

    # --- labels

    def _enum(self, block: Block) -> pa.Array:
        out, valid = block.numbers(self.slot, 4)
        codes = out.view(np.int32)
        check(codes >= len(self._labels.sizes))
        if valid is not None:
            codes[valid == 0] = -1
        return self._labels.pick(codes, self.own)

    def _set(self, block: Block) -> pa.Array:
        out, valid = block.numbers(self.slot, 8)
        count, labels = block.count, len(self._labels.sizes)
        bits = np.unpackbits(out.reshape(count, 8), axis=1, bitorder="little")
        check(bits[:, labels:].any(axis=1))
        members = self._labels.pick(np.nonzero(bits)[1], self.own.value_type)
        offsets = offsets_room(count)
        np.cumsum(bits.sum(axis=1), out=offsets[1:])
        kind = list_of(self.own.value_type)
        buffers = [_mask(valid), pa.py_buffer(offsets)]
        return pa.ListArray.from_buffers(kind, count, buffers, children=[members])

    # --- bytes

    def _spans(self, block: Block) -> tuple[Array, Array, Array, int]:
        """Bytes, offsets, states of validity, how many nulls."""
        cells, count = block.cells, block.count
        offsets, valid = offsets_room(count), np.empty(count, np.uint8)
        size = self._room.first(count)
        while True:
            out = room(size)
            nulls = kernel.lanes.spans(
                memoryview(block.window.data), memoryview(cells.heap), memoryview(cells.slots),
                memoryview(cells.states), memoryview(cells.image_cell), self.slot, count, memoryview(out),
                memoryview(offsets), 0, memoryview(valid),
            )  # fmt: skip
            if nulls >= 0:
                self._room.was(int(offsets[-1]), count)
                return out, offsets, valid, nulls
            size = larger(size)

    def _span_array(self, block: Block, kind: pa.DataType) -> pa.Array:
        out, offsets, valid, nulls = self._spans(block)
        if kind == STRING:
            check(valid == 2)
            if self._unchecked:
                image = kernel.lanes.first_untext(memoryview(out), memoryview(offsets), block.count)
                if image >= 0:
                    raise Unfit(image)
        mask = _mask(valid) if nulls else None
        return pa.Array.from_buffers(kind, block.count, [mask, pa.py_buffer(offsets), pa.py_buffer(out)])

    def _text(self, block: Block) -> pa.Array:
        return self._span_array(block, STRING)

    def _bytes(self, block: Block) -> pa.Array:
        return self._span_array(block, pa.binary())

    def _vector(self, block: Block) -> pa.Array:
        out, offsets, valid, nulls = self._spans(block)
        check(offsets[1:] % 4 != 0)
        values = pa.Array.from_buffers(pa.float32(), int(offsets[-1]) // 4, [None, pa.py_buffer(out)])
        buffers = [_mask(valid) if nulls else None, pa.py_buffer(offsets // 4)]
        return pa.ListArray.from_buffers(VECTOR, block.count, buffers, children=[values])

    def _geometry(self, block: Block) -> pa.Array:
        cells, count = block.cells, block.count
        srids, offsets = np.empty(count, np.int32), offsets_room(count)
        valid = np.empty(count, np.uint8)
        size = self._room.first(count)
        while True:
            out = room(size)
            nulls = kernel.lanes.geometries(
                memoryview(block.window.data), memoryview(cells.slots), memoryview(cells.states),
                memoryview(cells.image_cell), self.slot, count, memoryview(srids), memoryview(out),
                memoryview(offsets), 0, memoryview(valid),
            )  # fmt: skip
            if nulls >= 0:
                break
            size = larger(size)
        self._room.was(int(offsets[-1]), count)
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
        value = room(self._room.first(count))
        metadata = room(self._metadata_room.first(count))
        progress = memoryview(np.zeros(2, np.int64))
        while code := kernel.documents.column(
            memoryview(block.window.data), memoryview(cells.slots), memoryview(cells.states),
            memoryview(cells.image_cell), self.slot, count, memoryview(value), memoryview(value_offsets),
            memoryview(metadata), memoryview(metadata_offsets), memoryview(valid), cells.documents_scratch, progress,
        ):  # fmt: skip
            if code != FULL:
                raise Unfit(progress[0])
            value, metadata = longer(value), longer(metadata)
        self._room.was(int(value_offsets[-1]), count)
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
