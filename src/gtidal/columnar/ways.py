"""Columns that one call of the kernel makes, side by side in one buffer.

``Ways`` are the numbers by which the kernel knows them (kernel/lanes.py, kernel/stamps.py): ten for each column, of which
those that say where it goes are the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from gtidal.columnar.arrays import Texts
from gtidal.columnar.memory import room

Array = np.ndarray[Any, Any]
WAY_SIZE = 10
NULL_LABEL = -(1 << 32)


class Way(NamedTuple):
    """How the kernel makes a column: the first three of its numbers."""

    kind: int
    source: int
    size: int


class Flat(NamedTuple):
    """What the kernel made of a column: numbers, or offsets and text."""

    rows: int
    values: pa.Buffer
    mask: pa.Buffer | None
    text: pa.Buffer

    def array(self, kind: pa.DataType) -> pa.Array:
        """Of numbers."""
        return pa.Array.from_buffers(kind, self.rows, [self.mask, self.values])

    def texts(self, kind: pa.DataType) -> pa.Array:
        return pa.Array.from_buffers(kind, self.rows, [self.mask, self.values, self.text])


class Room:
    """How many bytes a column needed for a row: the next block gets some more at once."""

    def __init__(self) -> None:
        self._per_row = 16.0

    def first(self, count: int, most: int) -> int:
        """For so many rows. ``most``: they cannot need more, though one large row was before them."""
        return min(int(self._per_row * 1.125 * count), most) + (1 << 14)

    def was(self, used: int, count: int) -> None:
        self._per_row = used / max(count, 1)


class Labels:
    """Texts that columns take by number, for all columns of a call."""

    def __init__(self, labels: Sequence[str | bytes | None]) -> None:
        texts = Texts.of(labels)
        self.spans = memoryview(np.where(texts.sizes < 0, NULL_LABEL, texts.starts | texts.sizes << 32))
        self.heap = memoryview(texts.heap)


class Ways:
    """The columns of a call. ``widths``: how many bytes a row takes in each column's values; 0: it is text."""

    def __init__(self, ways: Sequence[Way], widths: Sequence[int]) -> None:
        self.numbers = np.zeros((len(ways), WAY_SIZE), np.int64)
        for number, way in enumerate(ways):
            self.numbers[number, :3] = way
        self._flat = memoryview(self.numbers.reshape(-1))
        self._widths = widths

    def make(
        self,
        rows: int,
        texts: Callable[[], list[int]],
        call: Callable[[memoryview, memoryview], int | None],
        larger: Callable[[int, int], int],
    ) -> list[Flat]:
        """What ``call`` makes of the ways and of room for the columns; it gives the number of the column whose text has
        too little, or None. ``texts``: room for the text of each column, and ``larger`` more of it."""
        rooms = texts()
        while True:
            out = room(self._lay_out(rows, rooms))
            short = call(self._flat, memoryview(out))
            if short is None:
                return self._made(rows, out)
            rooms[short] = larger(short, rooms[short])

    def _lay_out(self, rows: int, rooms: list[int]) -> int:
        """Say where the values, bitmap and text of each column go; gives where the last one ends. In plain numbers: they are
        few, and NumPy takes longer for each of its calls."""
        numbers = self._flat
        bitmap = ((rows + 7) >> 3) + 63 & -64
        end, at = 0, 3
        for width, text in zip(self._widths, rooms, strict=True):
            numbers[at] = end
            end += self._size(width, rows) + 63 & -64
            numbers[at + 1] = end
            end += bitmap
            numbers[at + 2], numbers[at + 3] = end, end + text
            end += text + 63 & -64
            at += WAY_SIZE
        return end

    def _size(self, width: int, rows: int) -> int:
        """Of a column's values; of text, these are offsets."""
        return width * rows if width else 4 * (rows + 1)

    def _made(self, rows: int, out: Array) -> list[Flat]:
        whole, bits = pa.py_buffer(out), (rows + 7) >> 3
        made = []
        for width, way in zip(self._widths, self.numbers.tolist(), strict=True):
            _, _, _, values, bitmap, text, _, _, nulls, used = way
            mask = whole.slice(bitmap, bits) if nulls else None
            made.append(
                Flat(rows, whole.slice(values, self._size(width, rows)), mask, whole.slice(text, used))
            )
        return made
