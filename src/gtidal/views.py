"""``gtidal.events``, ``transactions``, ``changes`` and ``rows``: logs as Arrow.

Each gives a ``pyarrow.RecordBatchReader``: DuckDB, Polars and pandas take it as it is. Nothing is read before the
first batch is asked for. This is where files (``sources``) and the kernel (``columnar``) meet.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gtidal.columnar.codes import FAILFAST
from gtidal.errors import DecodeError, NotABinlog, UsageError
from gtidal.sources.files import LogFile, find_logs
from gtidal.sources.keyring import KeyStore
from gtidal.sources.server.locating import ServerUri
from gtidal.sources.storage import Storage

if TYPE_CHECKING:
    import pyarrow as pa

    from gtidal.columnar.modes import OnCorrupt
    from gtidal.columnar.scanning import Scan, Stretch, View
    from gtidal.columnar.selection import AnyGtidSet
    from gtidal.columnar.table_schema import TableSchema
    from gtidal.gtid import GtidSet
    from gtidal.log.tables import TableVersion
    from gtidal.requests import Request

Paths = str | Path | Iterable[str | Path]
Bound = str | int | datetime | None
Words = str | Iterable[str] | None
Numbers = int | Iterable[int] | None


def events(
    paths: Paths,
    *,
    detail: bool = False,
    columns: Sequence[str] | None = None,
    **options: Any,
) -> pa.RecordBatchReader:
    """One row per event, those inside compressed payloads too; with ``detail`` also every decoded field.

    Options are those of all views: see ``changes``."""
    from gtidal.columnar.schemas import EVENTS
    from gtidal.columnar.views.events import SCHEMA_WITH_DETAIL

    schema = SCHEMA_WITH_DETAIL if detail or "detail" in (columns or ()) else EVENTS
    return _read("events", paths, schema, columns, options)


def transactions(
    paths: Paths, *, columns: Sequence[str] | None = None, **options: Any
) -> pa.RecordBatchReader:
    """One row per transaction, whatever its outcome: GTID, times, sizes, tables, rows.

    Options are those of all views: see ``changes``."""
    from gtidal.columnar.schemas import TRANSACTIONS

    return _read("transactions", paths, TRANSACTIONS, columns, options)


def changes(
    paths: Paths,
    *,
    columns: Sequence[str] | None = None,
    images: str = "variant",
    include_uncommitted: bool = False,
    start: Bound | GtidSet = None,
    stop: Bound = None,
    include_gtids: str | AnyGtidSet | None = None,
    exclude_gtids: str | AnyGtidSet | None = None,
    schemas: Words = None,
    tables: Words = None,
    types: str | int | Iterable[str | int] | None = None,
    server_ids: Numbers = None,
    exclude_server_ids: Numbers = None,
    verify_checksum: bool = True,
    threads: int | None = None,
    schema_from: str | Path | Mapping[str, Any] | None = None,
    assume_charset: str | None = None,
    key_file: str | Path | None = None,
    mode: str = "FAILFAST",
    on_corrupt: OnCorrupt | None = None,
    storage: Mapping[str, str] | None = None,
    recursive: bool = False,
) -> pa.RecordBatchReader:
    """One row per changed row of any table, before and after as VARIANT, and one per statement that may have
    changed data.

    ``columns``: only these, in this order; nothing else is computed. ``images="json"``: before and after as JSON text.
    ``start``, ``stop``: a position (``binlog.000024:197``; a number means the first or last file), a time (ISO 8601,
    UTC unless it says otherwise; ``stop`` is exclusive), or for ``start`` a GTID set that is already had, and of a
    server ``oldest`` or ``now``. A transaction counts as a whole, by its first event.
    ``schemas``, ``tables``: names, ``*`` for any characters. ``types``: event types by name or number.
    ``schema_from``: a file of CREATE TABLE statements, a server, or a mapping, for logs that do not name columns;
    ``assume_charset``: what text is in where the log does not tell. ``key_file``: for encrypted logs.
    ``mode``: ``FAILFAST`` raises at damage. ``PERMISSIVE`` gives a row for it, of which the last column ``_corrupt`` says
    what is wrong, and reads on; ``DROPMALFORMED`` logs it and reads on. ``on_corrupt``: is called with each bad region.
    ``threads``: how many read at a time; all processors unless told. The order of rows does not depend on it.
    ``paths``: files, folders, globs, ``.index`` files, on this machine or by URI (``s3://…``), or a running server
    (``mysql://user@host:port/FILE?follow=true``: without an end); ``storage``: settings for those, under Hadoop's names
    (``fs.s3a.endpoint``); ``recursive``: also folders inside of folders."""
    from gtidal.columnar.schemas import CHANGES
    from gtidal.requests import FINDING, OPTIONS

    options: dict[str, Any] = {name: value for name, value in locals().items() if name in OPTIONS | FINDING}
    return _read("changes", paths, CHANGES, columns, options, images)


def rows(
    paths: Paths,
    table: str,
    *,
    columns: Sequence[str] | None = None,
    images: str = "variant",
    **options: Any,
) -> pa.RecordBatchReader:
    """The rows of one table (``shop.orders``) with its own columns, typed; an update is two rows.

    Where the table changed inside the range, the schema is that of all its versions. Finding them takes some looks at
    each log first; a pass over all table maps where that does not tell. ``images="json"``: JSON columns as text. Options
    are those of all views: see ``changes``."""
    from gtidal.columnar import kernel
    from gtidal.columnar.table_schema import TableSchema
    from gtidal.columnar.table_versions import find_versions_quickly
    from gtidal.columnar.windows import WindowReader
    from gtidal.requests import check_options, check_view

    check_options(options, images)
    check_view("rows", options)
    schema_name, dot, name = table.partition(".")
    if not dot or not schema_name or not name:
        raise UsageError(f"table={table!r}: name it with its schema, as in shop.orders")
    kernel.announce()
    request = _request(paths, options)
    keys = KeyStore(None, options.get("key_file"))
    versions: list[TableVersion] = []
    for file in chain(request.files, _before(request)):
        if versions and file not in request.files:
            break
        with file.open_raw() as stream:
            reader = WindowReader(stream, file.name, keys=keys, verify_checksum=False)
            reader.open()
            size = file.size - reader.head_size
            versions.extend(find_versions_quickly(reader, size, schema_name, name, request.settle))
    if not versions:
        raise UsageError(f"no rows of {table} in {_named(request.files)}; gtidal tables lists what is there")
    merged = TableSchema(schema_name, name, versions, images)
    shown = _Shown.of("rows", merged.arrow_schema(), columns, options)
    return _table(shown, request, options, images, merged)


def _request(paths: Paths, options: Mapping[str, Any]) -> Request:
    from gtidal.requests import Request

    storage = Storage(options.get("storage"))
    request = Request.of(paths, options, storage, recursive=options.get("recursive", False))
    mode = options.get("mode", FAILFAST)
    if request.follow is not None and mode != FAILFAST:
        raise UsageError(f"mode={mode} looks for the end of a log: it does not go with follow")
    return request


def _before(request: Request) -> Iterator[LogFile]:
    """Of a log that is followed, the files before those that are read, the last first: where nothing was written yet,
    they tell what a table looks like."""
    if request.follow is not None:
        every = replace(request.follow, file=None, start=None, follow=False)
        files = find_logs(every.url())
        yield from reversed(files[: [file.name for file in files].index(request.files[0].name)])


def _named(files: list[LogFile]) -> str:
    names = [file.name for file in files]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more files" if len(names) > 3 else "")


def _read(
    view: str,
    paths: Paths,
    schema: pa.Schema,
    columns: Sequence[str] | None,
    options: dict[str, Any],
    images: str = "variant",
) -> pa.RecordBatchReader:
    from gtidal.columnar import kernel
    from gtidal.columnar.views.changes import schema_of
    from gtidal.requests import check_options, check_view

    check_options(options, images)
    check_view(view, options)
    if view == "changes":
        schema = schema_of(schema.names, images)
    shown = _Shown.of(view, schema, columns, options)
    kernel.announce()
    return _table(shown, _request(paths, options), options, images)


class _Shown(NamedTuple):
    """What is shown of a view."""

    view: str
    schema: pa.Schema
    columns: tuple[str, ...]
    """That are read."""
    read: View
    mode: str

    @staticmethod
    def of(view: str, schema: pa.Schema, columns: Sequence[str] | None, options: Mapping[str, Any]) -> _Shown:
        import pyarrow as pa

        from gtidal.columnar.modes import schema_in_mode, view_columns, view_in_mode
        from gtidal.requests import chosen_columns

        mode = options.get("mode", FAILFAST)
        there = schema_in_mode(schema, mode)
        chosen = chosen_columns(columns, there.names)
        shown = pa.schema([there.field(name) for name in chosen])
        read = view_in_mode(view, mode, shown, options.get("on_corrupt"))
        return _Shown(view, shown, view_columns(chosen, schema), read, mode)


def _table(
    shown: _Shown,
    request: Request,
    options: Mapping[str, Any],
    images: str,
    table: TableSchema | None = None,
) -> pa.RecordBatchReader:
    import pyarrow as pa

    from gtidal.columnar.scanning import Scan

    scan = Scan(
        columns=shown.columns,
        selection=request.selection,
        images=images,
        verify_checksum=options.get("verify_checksum", True),
        keys=KeyStore(None, options.get("key_file")),
        settle=request.settle,
        table=table,
    )
    batches = _batches(shown, request, scan, _threads(options.get("threads")))
    return pa.RecordBatchReader.from_batches(shown.schema, batches)


def _threads(given: int | None) -> int:
    if given is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if given < 1:
        raise UsageError(f"threads={given}: at least 1")
    return given


# --- reading, by one thread or several


def _batches(shown: _Shown, request: Request, scan: Scan, threads: int) -> Iterator[pa.RecordBatch]:
    from gtidal import parallel
    from gtidal.columnar.coalescing import coalesced
    from gtidal.live import follow

    files = request.files
    if request.follow is not None:
        stretch = _stretch(shown, files[0], scan, request.start, None, exact=request.exact)
        assert isinstance(files[0].path, ServerUri)
        yield from follow(request.follow, files[0].path, stretch, shown.read, scan)
        return
    last = len(files) - 1
    tasks: list[tuple[LogFile, Stretch]] = []
    for index, file in enumerate(files):
        start = request.start if index == 0 else None
        stop = request.stop if index == last else None
        tasks.append((file, _stretch(shown, file, scan, start, stop, exact=request.exact)))
    if threads == 1 or not parallel.is_worth_it(tasks):
        for file, stretch in tasks:
            yield from coalesced(_one(shown.read, file, scan, stretch))
        return
    yield from coalesced(parallel.read(shown.read, tasks, scan, threads))


def _stretch(
    shown: _Shown, file: LogFile, scan: Scan, start: int | None, stop: int | None, *, exact: bool
) -> Stretch:
    """Between two offsets, which users choose as they like; ``exact``: the start is known to be right."""
    from gtidal.columnar.modes import stop_behind
    from gtidal.columnar.scanning import LogScan, Stretch
    from gtidal.columnar.splitting import LOOK, Boundaries
    from gtidal.columnar.windows import WindowReader

    asked = None if exact else start
    if asked is None and stop is None:
        return Stretch(start)
    by_event = shown.view == "events"
    with file.open_raw() as stream:
        reader = WindowReader(stream, file.name, keys=scan.keys, window=LOOK)
        try:
            reader.open()
            boundaries = Boundaries(reader, file.size - reader.head_size)
        except NotABinlog:
            raise
        except DecodeError:  # whoever reads the damaged head says so
            if stop is not None and shown.mode != FAILFAST:  # else nothing is read that a stop would be for
                stream.seek(0)
                stop = stop_behind(LogScan(stream, file.name, scan), stop, by_event=by_event)
            return Stretch(None if by_event else start, stop, shown_from=start or 0)
        if not by_event:
            begin, stop = boundaries.bounds(asked, stop)
            return Stretch(start if exact else begin, stop)
        place, stop = boundaries.around_events(asked, stop)
        if exact or place is None:
            return Stretch(start if exact else None, stop, shown_from=start or 0)
        return Stretch(place.position, stop, place.format, start or 0)


def _one(read: Any, file: LogFile, scan: Scan, stretch: Stretch) -> Iterator[pa.RecordBatch]:
    from gtidal.columnar.scanning import LogScan

    with file.open_raw() as stream:
        yield from read(LogScan(stream, file.name, scan, stretch))
