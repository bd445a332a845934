"""The versions of a table in a log: by a look at both of its ends, else in one quick pass, in which only distinct table
maps of the table are decoded.

A server numbers a table anew whenever it opens it, and never gives a number twice; a log file is written by one run of
a server. So where the first and the last map of a table are the very same, number included, nothing has changed in
between."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gtidal.columnar import kernel
from gtidal.columnar.plan import Growing, Settle
from gtidal.columnar.splitting import Boundaries
from gtidal.columnar.windows import Place, Window, WindowReader
from gtidal.errors import GtidalError
from gtidal.events.frame import HEADER_SIZE, decode_event
from gtidal.events.registry import Context
from gtidal.events.table_map import TableMap
from gtidal.log.decoder import inner_format_of
from gtidal.log.tables import GENERATED_KEY, TableVersion

ID_SIZE = 6
FIXED_PART = 8
"""Table id and flags, in all logs but the oldest."""
_END = 1 << 20
_STEP = 1 << 18


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
        beginning = Place(boundaries.head, boundaries.format)
        name = _name_bytes(schema, table)
        try:
            end = boundaries.first(size - _END, size)
            last = None if end is None else _map_near(reader, end, size, name, last=True)
            first = None if last is None else _map_near(reader, beginning, beginning.position + _END, name)
        except GtidalError:
            first = last = None
        if first is not None and last is not None and first[1] == last[1]:
            versions: list[TableVersion] = []
            _add(versions, first[0], reader.name, settle)
            return versions
        reader.seek(beginning)
    return find_versions(reader, schema, table, settle)


def _map_near(
    reader: WindowReader, place: Place, stop: int, name: memoryview, *, last: bool = False
) -> tuple[TableMap, bytes] | None:
    """The first map of the table behind a place, or the last one before ``stop``, and its bytes."""
    reader.seek(place)
    found: tuple[TableMap, bytes] | None = None
    while reader.position < stop and (window := reader.next(_STEP)) is not None:
        index = window.index
        if not _is_usual(window):
            return None
        for at in _maps(window, name, KnownMaps()):
            start = int(index.offsets[at]) + HEADER_SIZE
            found = _decoded(window, at), window.data[start : int(index.stops[at])].tobytes()
            if not last:
                return found
    return found


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
            yield _decoded(window, place)
        return
    for place in _maps(window, name, known):
        start = int(index.offsets[place]) + HEADER_SIZE + ID_SIZE
        known.add(window.data[start : int(index.stops[place])].tobytes())
        yield _decoded(window, place)


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


def _decoded(window: Window, place: int) -> TableMap:
    frame = window.frame(place)
    inside = int(window.index.payloads[place]) >= 0
    context = Context(inner_format_of(window.format) if inside else window.format, {})
    event = decode_event(frame.data, frame.position, context)
    assert isinstance(event, TableMap)
    return event


def _add(versions: list[TableVersion], event: TableMap, file: str, settle: Settle | None) -> None:
    columns = event.columns if settle is None else settle(event)
    generated = bool(event.flags & GENERATED_KEY)
    if not any(each.columns == columns and each.generated_key == generated for each in versions):
        header = event.header
        versions.append(TableVersion(columns, generated, file, header.position, header.timestamp))
