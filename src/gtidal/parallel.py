"""Logs read by several threads: each takes a stretch, reads it and takes the next; batches are given out in order.

A log is cut where transactions begin (``columnar.splitting``); a stretch must end exactly where the next one begins, or its
reader raises. The kernel needs no lock of Python's, and what threads say to each other is said once for some megabytes.
"""

from __future__ import annotations

import atexit
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import replace
from queue import SimpleQueue
from threading import Condition, Lock, Thread

import pyarrow as pa

from gtidal.columnar.scanning import LogScan, Scan, Stretch, View
from gtidal.columnar.splitting import LOOK, split
from gtidal.columnar.windows import WindowReader
from gtidal.errors import DecodeError
from gtidal.sources.files import LogFile

Task = tuple[LogFile, Stretch]

STRETCH = 15 << 18
"""A thread reads at least so much at a time, a window; its batches wait for those before them."""
HANDED_OVER = 16 << 20
"""A thread gives its batches away by so many bytes, and at the end of a stretch."""
READ_AHEAD = 128 << 20
"""Bytes of batches that may wait, of all threads together. One transaction may be larger than that."""


def is_worth_it(tasks: list[Task]) -> bool:
    """Whether there is enough for two threads."""
    return len(tasks) > 1 or tasks[0][0].size >= 2 * STRETCH


def read(view: View, tasks: list[Task], scan: Scan, threads: int) -> Iterator[pa.RecordBatch]:
    """Stretches read by several threads, given out in order."""
    todo = _stretches(tasks, scan, threads)
    stretches = Stretches(todo, threads)
    workers = [Worker(view, scan, stretches) for _ in range(threads)]

    def stop() -> None:
        stretches.close()
        for worker in workers:
            if worker.ident is not None:
                worker.join()

    atexit.register(stop)  # who leaves with half a log read does not wait for the rest of it
    try:
        for worker in workers:
            worker.start()
        yield from stretches
    finally:
        atexit.unregister(stop)
        stop()
        todo.close()


def _stretches(tasks: list[Task], scan: Scan, threads: int) -> Generator[Task, None, None]:
    for file, whole in tasks:
        size = min(file.size, whole.stop or file.size)
        if size < 2 * STRETCH or not file.searchable:
            yield file, whole
            continue
        start = whole.start
        # One after the other, while the stretches before are read. Of a damaged head whoever reads the rest tells.
        with file.open_raw() as stream, suppress(DecodeError):
            reader = WindowReader(stream, file.name, keys=scan.keys, window=LOOK)
            for place in split(reader, size, STRETCH, threads):
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
        if self._made_size >= min(HANDED_OVER, self._room):
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

    def __init__(self, todo: Iterator[Task], threads: int) -> None:
        self._todo = todo
        self._room = max(STRETCH, READ_AHEAD // (threads + 1))
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

    def __init__(self, view: View, scan: Scan, stretches: Stretches) -> None:
        super().__init__(name="gtidal", daemon=True)
        self._view = view
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
            for batch in self._view(self._scan_of(file, stretch)):
                pipe.put(batch)
        except BaseException as error:
            pipe.end(error)
        else:
            pipe.end()

    def _scan_of(self, file: LogFile, stretch: Stretch) -> LogScan:
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
