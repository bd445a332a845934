"""The versions of a table in a log, found in one quick pass: only distinct table maps of the table are decoded."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gtidal.columnar import kernel
from gtidal.columnar.plan import Growing, Settle
from gtidal.columnar.windows import Window, WindowReader
from gtidal.errors import GtidalError
from gtidal.events.frame import HEADER_SIZE, decode_event
from gtidal.events.registry import Context
from gtidal.events.table_map import TableMap
from gtidal.log.decoder import inner_format_of
from gtidal.log.tables import GENERATED_KEY, TableVersion

ID_SIZE = 6
FIXED_PART = 8
"""Table id and flags, in all logs but the oldest."""


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
    if not window.plain or window.format.post_header_length(TableMap.code, FIXED_PART) != FIXED_PART:
        for place in np.flatnonzero(index.types[: index.count] == TableMap.code).tolist():
            yield _decoded(window, place)
        return
    place = -1
    while True:
        place = kernel.table_maps.next_unknown(
            memoryview(window.data), memoryview(index.offsets), memoryview(index.stops), memoryview(index.types),
            place + 1, index.count, name, known.bodies.view, known.starts.view, known.sizes.view, len(known.sizes),
        )  # fmt: skip
        if place < 0:
            return
        start = int(index.offsets[place]) + HEADER_SIZE + ID_SIZE
        known.add(window.data[start : int(index.stops[place])].tobytes())
        yield _decoded(window, place)


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
