"""The versions of a table in a log: by a look at both of its ends and at places in between where these differ, else in one
quick pass, in which only distinct table maps of the table are decoded.

A server numbers a table anew whenever it opens it, and never gives a number twice; a log file is written by one run of
a server. So where two maps of a table are the very same, number included, nothing has changed between them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from gtidal.columnar import kernel
from gtidal.columnar.plan import Growing, Settle
from gtidal.columnar.splitting import Boundaries
from gtidal.columnar.windows import WINDOW, Place, Window, WindowReader
from gtidal.errors import GtidalError
from gtidal.events.format import Format
from gtidal.events.frame import HEADER_SIZE, decode_event
from gtidal.events.registry import Context
from gtidal.events.table_map import TableMap
from gtidal.log.decoder import Frame, inner_format_of
from gtidal.log.tables import GENERATED_KEY, TableVersion

ID_SIZE = 6
FIXED_PART = 8
"""Table id and flags, in all logs but the oldest."""
_END = 1 << 20
"""So much is read at a place before the table counts as not being there."""
_STEP = 1 << 18
_MOST_LOOKS = 64
"""A table that is opened again and again is found sooner by going through the log."""


class KnownMaps:
    """The table maps seen so far: all that follows the table id."""

    def __init__(self) -> None:
        self.bodies = Growing(np.uint8)
        self.starts = Growing(np.int64)
        self.sizes = Growing(np.int32)

    def add(self, body: bytes) -> None:
        self.starts.append(len(self.bodies))
        self.sizes.append(len(body))
        self.bodies.extend(np.frombuffer(body, np.uint8))


def find_versions_quickly(
    reader: WindowReader, size: int, schema: str, table: str, settle: Settle | None = None
) -> list[TableVersion]:
    """As ``find_versions``, for a log of ``size`` bytes that is read from its beginning."""
    boundaries = Boundaries(reader, size)
    if size > 4 * _END and boundaries.possible and not boundaries.relay:
        versions: list[TableVersion] = []
        try:
            for met in _Looks(boundaries, _name_bytes(schema, table)).maps():
                _add(versions, _decoded(met), reader.name, settle)
        except (GtidalError, _Unsure):
            reader.seek(Place(boundaries.head, boundaries.format))
        else:
            return versions
    return find_versions(reader, schema, table, settle)


class _Unsure(Exception):
    """Some looks do not tell which maps there are."""


class _Met(NamedTuple):
    """A map of the table, as it stands in the log."""

    frame: Frame
    format: Format
    body: bytes
    """All behind its header, up to the checksum."""

    @property
    def position(self) -> int:
        return self.frame.position


class _Looks:
    """Looks for a table's maps at places of a log."""

    def __init__(self, boundaries: Boundaries, name: memoryview) -> None:
        self._boundaries = boundaries
        self._name = name
        self._looks = 0

    def maps(self) -> Iterator[_Met]:
        """The first map, and each behind it that is another, in order."""
        size, format = self._boundaries.size, self._boundaries.format
        first = self._first(Place(self._boundaries.head, format), size)
        if first is None:
            return
        yield first
        last = self._last(first)
        yield from self._walked(first, size) if last is None else self._others(first, last)

    def _first(self, place: Place, stop: int) -> _Met | None:
        return next(self._met(place, stop), None)

    def _last(self, first: _Met) -> _Met | None:
        """The log's last one, if it is not too far from the end."""
        size, tail = self._boundaries.size, _END
        while tail < (size - first.position) // 4:
            place = self._boundaries.first(size - tail, size)
            if place is not None and (last := deque(self._met(place, size), maxlen=1)):
                return last[0]
            tail *= 8
        return None

    def _others(self, low: _Met, high: _Met) -> Iterator[_Met]:
        """The maps behind one that differ from it, up to another."""
        if low.body == high.body:
            return
        if high.position - low.position > 4 * _END:
            self._looks += 1
            if self._looks > _MOST_LOOKS:
                raise _Unsure
            middle = self._boundaries.first((low.position + high.position) // 2, high.position)
            stop = high.position if middle is None else min(middle.position + _END, high.position)
            met = None if middle is None else self._first(middle, stop)
            if met is not None:
                yield from self._others(low, met)
                yield from self._others(met, high)
                return
        yield from self._walked(low, high.position + 1)

    def _walked(self, low: _Met, stop: int) -> Iterator[_Met]:
        return self._met(Place(low.position, self._boundaries.format), stop, KnownMaps())

    def _met(self, place: Place, stop: int, known: KnownMaps | None = None) -> Iterator[_Met]:
        """The maps from a place on, in windows that begin before ``stop``; with ``known`` only those that are not."""
        reader, step = self._boundaries.reader, _STEP
        reader.seek(place)
        while reader.position < stop and (window := reader.next(step)) is not None:
            if not _is_usual(window):
                raise _Unsure
            for at in _maps(window, self._name, known or KnownMaps()):
                met = _met_at(window, at)
                if known is not None:
                    known.add(met.body[ID_SIZE:])
                yield met
            step = min(2 * step, WINDOW)


def find_versions(
    reader: WindowReader, schema: str, table: str, settle: Settle | None = None
) -> list[TableVersion]:
    """The versions, in order of appearance. ``reader`` need not compare checksums: whoever reads the rows does.

    Where the log cannot be read any further the search ends: reading the rows ends there too, with the error."""
    versions: list[TableVersion] = []
    known = KnownMaps()
    try:
        for window in reader:
            for event in _unknown_maps(window, _name_bytes(schema, table), known):
                if (event.schema, event.table) == (schema, table):
                    _add(versions, event, reader.name, settle)
    except GtidalError:
        pass
    return versions


def _name_bytes(schema: str, table: str) -> memoryview:
    names = [name.encode("utf-8", "surrogateescape") for name in (schema, table)]
    return memoryview(b"".join(bytes((len(name) & 255,)) + name + b"\0" for name in names))


def _unknown_maps(window: Window, name: memoryview, known: KnownMaps) -> Iterator[TableMap]:
    index = window.index
    if not _is_usual(window):
        for place in np.flatnonzero(index.types[: index.count] == TableMap.code).tolist():
            yield _decoded(_met_at(window, place))
        return
    for place in _maps(window, name, known):
        met = _met_at(window, place)
        known.add(met.body[ID_SIZE:])
        yield _decoded(met)


def _is_usual(window: Window) -> bool:
    return window.plain and window.format.post_header_length(TableMap.code, FIXED_PART) == FIXED_PART


def _maps(window: Window, name: memoryview, known: KnownMaps) -> Iterator[int]:
    """The places of the table's maps that are not known at that moment."""
    index, place = window.index, -1
    while True:
        place = kernel.table_maps.next_unknown(
            memoryview(window.data), memoryview(index.offsets), memoryview(index.stops), memoryview(index.types),
            place + 1, index.count, name, known.bodies.view, known.starts.view, known.sizes.view, len(known.sizes),
        )  # fmt: skip
        if place < 0:
            return
        yield place


def _met_at(window: Window, place: int) -> _Met:
    index = window.index
    inside = int(index.payloads[place]) >= 0
    start = int(index.offsets[place]) + HEADER_SIZE
    return _Met(
        window.frame(place),
        inner_format_of(window.format) if inside else window.format,
        window.data[start : int(index.stops[place])].tobytes(),
    )


def _decoded(met: _Met) -> TableMap:
    event = decode_event(met.frame.data, met.position, Context(met.format, {}))
    assert isinstance(event, TableMap)
    return event


def _add(versions: list[TableVersion], event: TableMap, file: str, settle: Settle | None) -> None:
    columns = event.columns if settle is None else settle(event)
    generated = bool(event.flags & GENERATED_KEY)
    if not any(each.columns == columns and each.generated_key == generated for each in versions):
        header = event.header
        versions.append(TableVersion(columns, generated, file, header.position, header.timestamp))
