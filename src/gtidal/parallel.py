"""Logs read by several threads: each takes a stretch, reads it and takes the next; batches are given out in order.

A log is cut where transactions begin (``columnar.splitting``); a stretch must end exactly where the next one begins, or its
reader raises. The kernel needs no lock of Python's.

Whoever wants the batches is one of the threads: while the batch that comes next is not there yet, it reads a stretch
itself. What it reads when its turn is, it has at once, in memory that is still in the processor's cache, and nobody has to
be woken up for it.
"""

from __future__ import annotations

import atexit
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import replace
from threading import Condition, Lock, Semaphore, Thread

import pyarrow as pa

from gtidal.columnar.memory import keeping
from gtidal.columnar.scanning import LogScan, Scan, Stretch, View
from gtidal.columnar.splitting import LOOK, split
from gtidal.columnar.windows import WindowReader
from gtidal.errors import DecodeError
from gtidal.sources.files import LogFile

Task = tuple[LogFile, Stretch]

STRETCH = 15 << 18
"""A thread reads at least so much at a time, a window; its batches wait for those before them."""
READ_AHEAD = 160 << 20
"""Bytes of batches that may wait, of all threads together. One transaction may be larger than that."""


def is_worth_it(tasks: list[Task]) -> bool:
    """Whether there is enough for two threads."""
    return len(tasks) > 1 or tasks[0][0].size >= 2 * STRETCH


def read(view: View, tasks: list[Task], scan: Scan, threads: int) -> Iterator[pa.RecordBatch]:
    """Stretches read by several threads, of which the caller's is one; given out in order."""
    todo = _stretches(tasks, scan, threads)
    stretches = Stretches(todo, threads)
    helpers = [Helper(StretchReader(view, scan), stretches) for _ in range(threads - 1)]
    own = StretchReader(view, scan)

    def stop() -> None:
        stretches.close()
        for helper in helpers:
            if helper.ident is not None:
                helper.join()

    atexit.register(stop)  # who leaves with half a log read does not wait for the rest of it
    try:
        with keeping():
            for helper in helpers:
                helper.start()
            yield from _in_order(stretches, own)
    finally:
        atexit.unregister(stop)
        stop()
        own.close()
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


def _in_order(stretches: Stretches, reader: StretchReader) -> Iterator[pa.RecordBatch]:
    """All batches. While the next one is not there, the caller's thread makes another that comes later."""
    own: Iterator[pa.RecordBatch] = iter(())
    filled: Pipe | None = None
    """Where the batches go that are made here, while those before them are not given out."""
    while True:
        first = stretches.first()
        if first is not None and first.is_ready:
            yield from first.ready()
            if first.is_over():
                stretches.drop_first()
        elif filled is None:
            if (task := stretches.take(wait=False)) is not None:
                file, stretch, filled = task
                own = reader.read(file, stretch)
                continue
            first = stretches.first()  # another thread may have taken the last one just now
            if first is None:
                return
            first.wait()
        elif first is filled:
            yield from own
            stretches.drop_first()
            filled = None
        elif filled.is_full:
            assert first is not None
            first.wait()
        elif filled.fill_from(own):
            filled = None


class Closed(Exception):
    """Nobody waits for these batches any more."""


class Pipe:
    """The batches of one stretch on their way from the thread that reads it. Those that wait have about ``room`` bytes. An
    error comes behind the batches that were made before it."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._changed = Condition()
        self._waiting: deque[tuple[pa.RecordBatch, int]] = deque()
        self._size = 0
        self._ended = self._closed = False
        self._error: BaseException | None = None

    # --- for who fills it

    @property
    def is_full(self) -> bool:
        return self._size >= self._room

    def fill_from(self, batches: Iterator[pa.RecordBatch]) -> bool:
        """Put the next batch here; whether there was none any more."""
        try:
            batch = next(batches, None)
        except BaseException as error:
            self.end(error)
            if not isinstance(error, Exception):
                raise  # who presses Ctrl-C does not want to wait for the batches before
            return True
        if batch is None:
            self.end()
            return True
        self._put(batch)
        return False

    def fill(self, batches: Iterator[pa.RecordBatch]) -> None:
        """Put all batches here, when there is room."""
        while not self.fill_from(batches):
            if self.is_full:
                with self._changed:
                    self._changed.wait_for(lambda: not self.is_full or self._closed)
            if self._closed:
                raise Closed

    def _put(self, batch: pa.RecordBatch) -> None:
        # What it holds of memory, which is told much faster than ``nbytes``.
        size = batch.get_total_buffer_size()
        with self._changed:
            self._waiting.append((batch, size))
            self._size += size
            self._changed.notify_all()

    def end(self, error: BaseException | None = None) -> None:
        with self._changed:
            self._ended, self._error = True, error
            self._changed.notify_all()

    # --- for who takes from it

    @property
    def is_ready(self) -> bool:
        """Whether there are batches, or will be none any more."""
        return bool(self._waiting) or self._ended

    def wait(self) -> None:
        """Until it is ready."""
        with self._changed:
            self._changed.wait_for(lambda: self.is_ready)

    def ready(self) -> Iterator[pa.RecordBatch]:
        """The batches that are there."""
        while self._waiting:
            yield self._get()  # and keep none: its memory is wanted again

    def _get(self) -> pa.RecordBatch:
        with self._changed:
            batch, size = self._waiting.popleft()
            self._size -= size
            self._changed.notify_all()
        return batch

    def is_over(self) -> bool:
        """Whether those were all. Raises the error that ended them."""
        over = self._ended and not self._waiting
        if over and self._error is not None:
            raise self._error
        return over

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()


class Stretches:
    """What is to be read: each thread takes the next stretch when it has read one. Not more are taken ahead of what was
    given out than threads can work on."""

    def __init__(self, todo: Iterator[Task], threads: int) -> None:
        self._todo = todo
        self._room = max(STRETCH, READ_AHEAD // (2 * threads))
        self._free = Semaphore(2 * threads)
        self._cutting = Lock()
        """To find the next cut takes a while. Who only takes batches does not wait for it."""
        self._pipes: deque[Pipe] = deque()
        self._closed = False

    def take(self, *, wait: bool = True) -> tuple[LogFile, Stretch, Pipe] | None:
        """The next stretch, and where its batches go; None: there is none, or none yet."""
        if not self._free.acquire(blocking=wait):
            return None
        with self._cutting:
            pipe = Pipe(self._room)
            try:
                task = None if self._closed else next(self._todo, None)
            except BaseException as error:
                task = None
                pipe.end(error)
                self._pipes.append(pipe)
                if not isinstance(error, Exception):
                    raise  # as in ``fill_from``
            if task is None:
                self._closed = True
                self._free.release()  # others hear it, too
                return None
            self._pipes.append(pipe)
            return *task, pipe

    def first(self) -> Pipe | None:
        """The first one that is not given out; None: none is taken."""
        return self._pipes[0] if self._pipes else None

    def drop_first(self) -> None:
        self._pipes.popleft()
        self._free.release()

    def close(self) -> None:
        with self._cutting:
            self._closed = True
            for pipe in self._pipes:
                pipe.close()
            self._free.release()


class StretchReader:
    """Reads stretches, with all that it has allocated and learnt for those before."""

    def __init__(self, view: View, scan: Scan) -> None:
        self._view = view
        self._scan = scan
        self._opened: tuple[LogFile, LogScan] | None = None

    def read(self, file: LogFile, stretch: Stretch) -> Iterator[pa.RecordBatch]:
        yield from self._view(self._scan_of(file, stretch))

    def _scan_of(self, file: LogFile, stretch: Stretch) -> LogScan:
        opened = self._opened
        if opened is not None and opened[0] == file and stretch.start is not None:
            opened[1].go_to(stretch)
            return opened[1]
        self.close()
        stream = file.open_raw()
        try:
            made = LogScan(stream, file.name, self._scan, stretch)
        except BaseException:
            stream.close()
            raise
        self._opened = file, made
        return made

    def close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            opened[1].reader.stream.close()


class Helper(Thread):
    """A thread that reads stretches as long as there are any."""

    def __init__(self, reader: StretchReader, stretches: Stretches) -> None:
        super().__init__(name="gtidal", daemon=True)
        self._reader = reader
        self._stretches = stretches

    def run(self) -> None:
        try:
            while (task := self._stretches.take()) is not None:
                file, stretch, pipe = task
                with suppress(Closed):
                    pipe.fill(self._reader.read(file, stretch))
        finally:
            self._reader.close()
