"""``gtidal.tables``: every table in the logs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from gtidal.errors import DecodeError, GtidalError
from gtidal.events.registry import EVENTS, Event
from gtidal.events.rows import RowsEvent
from gtidal.log.decoder import HOLDS_EVENTS, Frame, Keys
from gtidal.log.tables import Table, TableCatalog
from gtidal.sources.files import LogFile, LogReader, find_logs


def tables(paths: str | Path | Iterable[str | Path], *, keys: Keys | None = None) -> list[Table]:
    """Every table in the logs: its versions, columns, key, rows and bytes, in order of appearance.

    Only row changes tell of tables; those that statements name are not listed. A log that cannot be read
    to its end raises; to keep what precedes the damage, call ``read_tables`` with a catalog of your own."""
    catalog = TableCatalog()
    for file in find_logs(paths):
        read_tables(catalog, file, keys)
    return catalog.tables


def read_tables(catalog: TableCatalog, file: LogFile, keys: Keys | None = None) -> None:
    """Feed one file's events to ``catalog``. Rows that do not decode are counted there as such; anything
    else that is wrong raises."""
    with LogReader(file, keys=keys) as reader:
        for event in _events(reader, catalog):
            catalog.feed(event, file.name)


def _events(reader: LogReader, catalog: TableCatalog) -> Iterator[Event]:
    for frame in reader.frames():
        event = _decode(reader, frame, catalog)
        if event is None:
            continue
        yield event
        if isinstance(event, HOLDS_EVENTS):
            yield from (inner for _, inner in reader.decoder.inner(event))


def _decode(reader: LogReader, frame: Frame, catalog: TableCatalog) -> Event | None:
    """The event; None for rows that do not decode: their table is known, their number is not."""
    try:
        return reader.decoder.decode(frame)
    except DecodeError as error:
        kind = EVENTS.get(frame.type_code)
        if kind is None or not issubclass(kind, RowsEvent):
            raise
        bare = _without_rows(reader, frame, error)
        catalog.undecoded(len(frame.data), bare.table_id, bare.table)
        return None


def _without_rows(reader: LogReader, frame: Frame, error: GtidalError) -> RowsEvent:
    context = reader.decoder.context
    context.decode_rows = False
    try:
        event = reader.decoder.decode(frame)
    except GtidalError:
        raise error from None
    finally:
        context.decode_rows = True
    if not isinstance(event, RowsEvent):
        raise error
    return event
