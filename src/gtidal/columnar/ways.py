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
        self._widths = np.array(widths, np.int64)
        self._is_text = self._widths == 0

    def make(
        self,
        rows: int,
        texts: Callable[[], list[int]],
        call: Callable[[memoryview, memoryview], int | None],
        larger: Callable[[int, int], int],
    ) -> list[Flat]:
        """What ``call`` makes of the ways and of room for the columns; it gives the number of the column whose text has
        too little, or None. ``texts``: room for the text of each column, and ``larger`` more of it."""
        numbers = self.numbers
        sizes = np.empty((len(numbers), 3), np.int64)  # of values, bitmap, and room for text
        sizes[:, 0] = np.where(self._is_text, 4 * (rows + 1), self._widths * rows)
        sizes[:, 1] = (rows + 7) >> 3
        sizes[:, 2] = texts()
        while True:
            places = (sizes + 63) & -64
            ends = np.cumsum(places).reshape(places.shape)
            numbers[:, 3:6] = ends - places
            numbers[:, 6] = numbers[:, 5] + sizes[:, 2]
            out = room(int(ends[-1, -1]))
            short = call(memoryview(numbers.reshape(-1)), memoryview(out))
            if short is None:
                break
            sizes[short, 2] = larger(short, int(sizes[short, 2]))
        whole = pa.py_buffer(out)
        return [
            Flat(
                rows,
                whole.slice(way[3], size[0]),
                whole.slice(way[4], size[1]) if way[8] else None,
                whole.slice(way[5], way[9]),
            )
            for way, size in zip(numbers.tolist(), sizes.tolist(), strict=True)
        ]
