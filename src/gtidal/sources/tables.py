"""``gtidal.tables``: every table in the logs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from gtidal.log.decoder import Keys
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
        for frame in reader.frames():
            catalog.read(reader.decoder, frame, file.name)
