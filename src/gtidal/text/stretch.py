"""Indexed events of a log, and the writing of their text by the kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import local
from typing import Any

import numpy as np

from gtidal.columnar import kernel
from gtidal.columnar.flat import own_numbers
from gtidal.columnar.index import ALL_GTIDS, Index
from gtidal.errors import GtidalError
from gtidal.events.format import Format, FormatDescription, StartV3
from gtidal.events.frame import HEADER_SIZE, decode_event
from gtidal.events.mariadb import StartEncryption
from gtidal.events.registry import Context
from gtidal.events.table_map import TableMap
from gtidal.log.decoder import LogDecoder
from gtidal.text.ordered import Sink
from gtidal.text.rows import RowPrinter

Array = np.ndarray[Any, Any]

WALKED_ALL = 0
"""``kernel.walk``: the next event is not whole."""
INDEX_FULL = 1
DONE, FULL, FOREIGN = range(3)
"""``kernel.eventtext``'s codes."""
ALL, HEADS, BODIES, FEET = range(4)
ENDS, OPENS = 2, 8
"""Marks of an act."""
ACT_FIELDS = 8
_MAGIC_AS_TIME = int.from_bytes(b"\xfebin", "little")
_BUFFER = 4 << 20
_SCRATCH = 1 << 20
_LARGEST_BUFFER = 1 << 33
_MARKED = np.zeros(256, np.uint8)
_MARKED[[FormatDescription.code, StartV3.code, StartEncryption.code]] = 1
_SHORT = 1 << 16
"""Text of this size is copied: a whole buffer would wait with it until it is written."""
_USUAL_EVENT = 100
"""Bytes, for the size of an index. Where events are shorter, a stretch ends when it is full."""


class Stretch:
    """Events that a decoder has received and not framed, up to one that is not whole or changes the format."""

    def __init__(
        self, source: bytes, offset: int, decoder: LogDecoder, *, compare_checksums: bool = False
    ) -> None:
        self.source = source
        self.data = memoryview(source)
        self.format: Format = decoder.format
        self.file = decoder.file
        self.index = index = Index(max((len(source) - offset) // _USUAL_EVENT, 64))
        progress = own_numbers(0, 0, 0, 0, 0, 0, 0, 0)
        compare = 2 if compare_checksums else 1
        self.code: int = kernel.walk.walk(
            self.data, offset, len(source), HEADER_SIZE, compare if self.format.has_checksums else 0,
            memoryview(_MARKED), *index.walked, decoder.position - offset, *ALL_GTIDS, progress,
        )  # fmt: skip
        self.count: int = progress[1]
        if decoder.joined_files:  # magic bytes between files look like an event of their own
            magic = np.flatnonzero(index.timestamps[: self.count] == _MAGIC_AS_TIME)
            if len(magic):
                self.count, self.code = int(magic[0]), -1
        self.start = offset
        self.place = 0
        """The first event that is not printed."""
        arrays = (index.offsets, index.sizes, index.stops, index.types, index.positions)
        self.views: tuple[memoryview, ...] = tuple(memoryview(array) for array in arrays)
        self.acts = np.zeros(ACT_FIELDS * max(self.count, 1), np.int32)
        self.seconds = np.zeros(self.count + 1, np.int64)
        self.moments = np.zeros(2 * self.count + 1, np.int64)

    def end_of(self, place: int) -> int:
        """Where in the buffer the events before ``place`` end."""
        if not place:
            return self.start
        return int(self.index.offsets[place - 1]) + int(self.index.sizes[place - 1])

    def event(self, place: int) -> tuple[bytes, int]:
        """An event's bytes and position."""
        offset = int(self.index.offsets[place])
        return self.source[offset : offset + int(self.index.sizes[place])], int(self.index.positions[place])

    def body(self, place: int, start: int) -> bytes:
        """An event's bytes from ``start`` on, without its checksum."""
        return self.source[int(self.index.offsets[place]) + start : int(self.index.stops[place])]

    def marks(self, first: int, last: int) -> Array:
        return self.acts[ACT_FIELDS * first + 1 : ACT_FIELDS * last : ACT_FIELDS]


class Spare:
    """Arrays whose text is written, for new text: memory that is used for the first time costs more than the text."""

    def __init__(self) -> None:
        self._arrays: list[Array] = []

    def take(self) -> Array:
        try:
            return self._arrays.pop()
        except IndexError:
            return np.zeros(_BUFFER, np.uint8)

    def give(self, piece: memoryview | bytes) -> None:
        """A piece of text, as ``Buffers.taken`` gave it."""
        array = memoryview(piece).obj
        if isinstance(array, np.ndarray) and len(array) == _BUFFER:
            self._arrays.append(array)


class Buffers(local):
    """A thread's own."""

    def __init__(self, spare: Spare) -> None:
        self._spare = spare
        self.out = spare.take()
        self.scratch = np.zeros(_SCRATCH, np.uint8)
        self.work = memoryview(np.zeros(16, np.int64))
        self.progress = own_numbers(0, 0, 0, 0, 0, 0, 0, 0)

    def taken(self, size: int) -> memoryview | bytes:
        """The text in ``out``, which stays as it is: what follows is written elsewhere."""
        text = memoryview(self.out)[:size]
        if size < _SHORT:
            return bytes(text)
        self.out = self._spare.take()
        return text

    def grow(self) -> None:
        size = 2 * len(self.out)
        if size > _LARGEST_BUFFER:
            raise MemoryError(f"a row's text of more than {_LARGEST_BUFFER} bytes")
        self.out = np.zeros(size, np.uint8)
        self.scratch = np.zeros(max(size, len(self.scratch)), np.uint8)


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes the text of a stretch's events. It holds the arrays as they were when the events were judged, so that
    what is learned later does not matter to it."""

    buffers: Buffers
    stretch: Stretch
    tables: list[TableMap]
    rows: RowPrinter
    arrays: tuple[Any, ...]

    def task(self, part: int, first: int, last: int) -> Callable[[Sink], list[GtidalError]]:
        def run(sink: Sink) -> list[GtidalError]:
            damage: list[GtidalError] = []
            self.write(part, first, last, sink, damage)
            return damage

        return run

    def write(self, part: int, event: int, last: int, sink: Sink, damage: list[GtidalError]) -> None:
        """Calls the kernel until all is written."""
        buffers = self.buffers
        progress = buffers.progress
        resume = carried = 0
        while True:
            progress[1], progress[2] = 0, resume
            code = kernel.eventtext.write(
                part, self.stretch.data, *self.stretch.views, event, last, *self.arrays,
                memoryview(buffers.scratch), memoryview(buffers.out), buffers.work, progress,
            )  # fmt: skip
            stopped, used, resumed, began = progress[0], progress[1], progress[2], progress[3]
            if used:
                sink(buffers.taken(used))
            if code == DONE:
                return
            if part == ALL and (code == FOREIGN or (not used and self._opens(stopped))):
                event = self._write_parts(stopped, last, sink, damage)
                resume = 0
            elif code == FOREIGN:
                sink(self._foot(stopped, damage)[carried if resumed else 0 :])
                event, resume = stopped + 1, 0
            elif stopped == event and resumed == resume and not used:
                buffers.grow()
            else:
                if stopped != event or not resume:
                    carried = 0
                carried += used - began  # so much of this event's text is out already
                event, resume = stopped, resumed

    def _opens(self, event: int) -> bool:
        return bool(self.stretch.marks(event, event + 1)[0] & OPENS)

    def _write_parts(self, first: int, last: int, sink: Sink, damage: list[GtidalError]) -> int:
        """A statement in three goes; the event behind it."""
        stop = first + int(np.flatnonzero(self.stretch.marks(first, last) & ENDS)[0]) + 1
        for part in (HEADS, BODIES, FEET):
            self.write(part, first, stop, sink, damage)
        return stop

    def _foot(self, event: int, damage: list[GtidalError]) -> bytes:
        """The rows of one event, by the reference."""
        stretch = self.stretch
        data, position = stretch.event(event)
        table_id = int.from_bytes(data[19:25], "little")
        tables = {table_id: self.tables[int(stretch.acts[ACT_FIELDS * event + 7])]}
        try:
            decoded = decode_event(data, position, Context(stretch.format, tables))
        except GtidalError as error:
            damage.append(error.at(file=stretch.file))
            decoded = decode_event(data, position, Context(stretch.format, tables, False))
        text: str = self.rows.rows(decoded)  # type: ignore[arg-type]  # only rows events come here
        return text.encode("utf-8", "surrogateescape")
