"""``gtidal.events``, ``transactions``, ``changes`` and ``rows``: logs as Arrow.

Each gives a ``pyarrow.RecordBatchReader``: DuckDB, Polars and pandas take it as it is. Nothing is read before the
first batch is asked for. This is where files (``sources``) and the kernel (``columnar``) meet.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from itertools import chain
from pathlib import Path
from queue import SimpleQueue
from threading import Condition, Lock, Thread
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
    from gtidal.columnar.scanning import LogScan, Scan, Stretch, View
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

    Where the table changed inside the range, the schema is that of all its versions. Finding them takes a look at
    all table maps first, or at those at both ends where these are the same. ``images="json"``: JSON columns as text. Options are those of all views: see ``changes``."""
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

    @staticmethod
    def of(view: str, schema: pa.Schema, columns: Sequence[str] | None, options: Mapping[str, Any]) -> _Shown:
        import pyarrow as pa

        from gtidal.columnar.modes import schema_in_mode, view_columns, view_in_mode
        from gtidal.requests import chosen_columns

        mode = options.get("mode", "FAILFAST")
        there = schema_in_mode(schema, mode)
        chosen = chosen_columns(columns, there.names)
        shown = pa.schema([there.field(name) for name in chosen])
        read = view_in_mode(view, mode, shown, options.get("on_corrupt"))
        return _Shown(view, shown, view_columns(chosen, schema), read)


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
    from gtidal.columnar.coalescing import coalesced
    from gtidal.live import follow

    files = request.files
    by_event = shown.view == "events"
    if request.follow is not None:
        stretch = _stretch(files[0], scan, request.start, None, by_event=by_event, exact=request.exact)
        assert isinstance(files[0].path, ServerUri)
        yield from follow(request.follow, files[0].path, stretch, shown.read, scan)
        return
    last = len(files) - 1
    tasks: list[tuple[LogFile, Stretch]] = []
    for index, file in enumerate(files):
        start = request.start if index == 0 else None
        stop = request.stop if index == last else None
        tasks.append((file, _stretch(file, scan, start, stop, by_event=by_event, exact=request.exact)))
    if threads == 1 or (len(tasks) == 1 and files[0].size < 2 * _STRETCH):
        for file, stretch in tasks:
            yield from coalesced(_one(shown.read, file, scan, stretch))
        return
    yield from coalesced(_in_parallel(shown.read, tasks, scan, threads))


def _stretch(
    file: LogFile, scan: Scan, start: int | None, stop: int | None, *, by_event: bool, exact: bool
) -> Stretch:
    """Between two offsets, which users choose as they like; ``exact``: the start is known to be right."""
    from gtidal.columnar.scanning import Stretch
    from gtidal.columnar.splitting import Boundaries
    from gtidal.columnar.windows import WindowReader

    asked = None if exact else start
    if asked is None and stop is None:
        return Stretch(start)
    with file.open_raw() as stream:
        reader = WindowReader(stream, file.name, keys=scan.keys, window=_LOOK)
        try:
            reader.open()
            boundaries = Boundaries(reader, file.size - reader.head_size)
        except NotABinlog:
            raise
        except DecodeError:  # whoever reads the damaged head says so
            return Stretch(None if by_event else start, stop, shown_from=start or 0)
        if not by_event:
            begin, stop = boundaries.bounds(asked, stop)
            return Stretch(start if exact else begin, stop)
        place, stop = boundaries.around_events(asked, stop)
        if exact or place is None:
            return Stretch(start if exact else None, stop, shown_from=start or 0)
        return Stretch(place.position, stop, place.format, start or 0)


_LOOK = 1 << 14
_STRETCH = 15 << 18
"""A thread reads at least so much at a time, a window; its batches wait for those before them."""
_HANDED_OVER = 16 << 20
"""A thread gives its batches away by so many bytes, and at the end of a stretch."""
_READ_AHEAD = 128 << 20
"""Bytes of batches that may wait, of all threads together. One transaction may be larger than that."""


def _one(read: Any, file: LogFile, scan: Scan, stretch: Stretch) -> Iterator[pa.RecordBatch]:
    from gtidal.columnar.scanning import LogScan

    with file.open_raw() as stream:
        yield from read(LogScan(stream, file.name, scan, stretch))


def _in_parallel(
    read: Any, tasks: list[tuple[LogFile, Stretch]], scan: Scan, threads: int
) -> Iterator[pa.RecordBatch]:
    """Stretches read by several threads, given out in order."""
    stretches = Stretches(_stretches(tasks, scan, threads), threads)
    workers = [Worker(read, scan, stretches) for _ in range(threads)]
    try:
        for worker in workers:
            worker.start()
        yield from stretches
    finally:
        stretches.close()
        for worker in workers:
            if worker.ident is not None:
                worker.join()


def _stretches(
    tasks: list[tuple[LogFile, Stretch]], scan: Scan, threads: int
) -> Iterator[tuple[LogFile, Stretch]]:
    from gtidal.columnar.splitting import split
    from gtidal.columnar.windows import WindowReader

    for file, whole in tasks:
        size = min(file.size, whole.stop or file.size)
        if size < 2 * _STRETCH or not file.searchable:
            yield file, whole
            continue
        start = whole.start
        # One after the other, while the stretches before are read. Of a damaged head whoever reads the rest tells.
        with file.open_raw() as stream, suppress(DecodeError):
            reader = WindowReader(stream, file.name, keys=scan.keys, window=_LOOK)
            for place in split(reader, size, _STRETCH, threads):
                if place.position > (whole.start or 0):
                    yield file, replace(whole, start=start, stop=place.position)
                    start = place.position
        yield file, replace(whole, start=start)


class Closed(Exception):
    """Nobody waits for these batches any more."""


class Pipe:
    """The batches of one stretch on their way from the thread that reads it: some at a time, since threads that wake each
    other up for every batch lose more time than they save. Those that wait have about ``room`` bytes. An error comes
    behind the batches that were made before it."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._changed = Condition()
        self._made: list[pa.RecordBatch] = []
        self._made_size = 0
        self._waiting: list[pa.RecordBatch] = []
        self._size = 0
        self._ended = self._closed = False
        self._error: BaseException | None = None

    def put(self, batch: pa.RecordBatch) -> None:
        self._made.append(batch)
        # What it holds of memory, which is told much faster than ``nbytes``.
        self._made_size += batch.get_total_buffer_size()
        if self._made_size >= min(_HANDED_OVER, self._room):
            with self._changed:
                self._changed.wait_for(lambda: self._size < self._room or self._closed)
                self._hand_over()
        if self._closed:
            raise Closed

    def _hand_over(self) -> None:
        self._waiting += self._made
        self._size += self._made_size
        self._made, self._made_size = [], 0
        self._changed.notify_all()

    def end(self, error: BaseException | None = None) -> None:
        with self._changed:
            self._ended, self._error = True, error
            self._hand_over()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        ended = False
        while not ended:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._ended)
                batches, ended = self._waiting, self._ended
                self._waiting, self._size = [], 0
                self._changed.notify_all()
            batches.reverse()
            while batches:
                yield batches.pop()  # and keep none: its memory is wanted again
        if self._error is not None:
            raise self._error


class Stretches:
    """What is to be read: each thread takes the next stretch when it has read one. Not more are taken ahead of what was
    given out than threads can work on. Their batches come in order."""

    def __init__(self, todo: Iterator[tuple[LogFile, Stretch]], threads: int) -> None:
        self._todo = todo
        self._room = max(_STRETCH, _READ_AHEAD // (threads + 1))
        self._threads = threads
        self._lock = Lock()
        self._pipes: deque[Pipe] = deque()
        self._order: SimpleQueue[Pipe | None] = SimpleQueue()
        self._free: SimpleQueue[None] = SimpleQueue()
        self._closed = False
        for _ in range(threads + 1):
            self._free.put(None)

    def take(self) -> tuple[LogFile, Stretch, Pipe] | None:
        """The next stretch, and where its batches go; None: there is none."""
        self._free.get()
        with self._lock:
            pipe = Pipe(self._room)
            try:
                task = None if self._closed else next(self._todo, None)
            except BaseException as error:
                task = None
                pipe.end(error)
                self._add(pipe)
            if task is None:
                self._closed = True
                self._free.put(None)  # the other threads hear it, too
                self._order.put(None)
                return None
            self._add(pipe)
            return *task, pipe

    def _add(self, pipe: Pipe) -> None:
        self._pipes.append(pipe)
        self._order.put(pipe)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        while (pipe := self._order.get()) is not None:
            yield from pipe
            self._pipes.popleft()
            self._free.put(None)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for pipe in self._pipes:
                pipe.close()
            self._free.put(None)


class Worker(Thread):
    """Reads stretches, with all that it has allocated and learnt for those before."""

    def __init__(self, read: Any, scan: Scan, stretches: Stretches) -> None:
        super().__init__(name="gtidal", daemon=True)
        self._read = read
        self._scan = scan
        self._stretches = stretches
        self._opened: tuple[LogFile, LogScan] | None = None

    def run(self) -> None:
        try:
            while (task := self._stretches.take()) is not None:
                self._read_stretch(*task)
        finally:
            if self._opened is not None:
                self._opened[1].reader.stream.close()

    def _read_stretch(self, file: LogFile, stretch: Stretch, pipe: Pipe) -> None:
        try:
            for batch in self._read(self._scan_of(file, stretch)):
                pipe.put(batch)
        except BaseException as error:
            pipe.end(error)
        else:
            pipe.end()

    def _scan_of(self, file: LogFile, stretch: Stretch) -> LogScan:
        from gtidal.columnar.scanning import LogScan

        opened = self._opened
        if opened is not None and opened[0] == file and stretch.start is not None:
            opened[1].go_to(stretch)
            return opened[1]
        if opened is not None:
            self._opened = None
            opened[1].reader.stream.close()
        stream = file.open_raw()
        try:
            made = LogScan(stream, file.name, self._scan, stretch)
        except BaseException:
            stream.close()
            raise
        self._opened = file, made
        return made
