"""Pieces of text made by several threads and written in the order in which they were asked for."""

from __future__ import annotations

import shutil
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from tempfile import SpooledTemporaryFile
from typing import Any, Protocol

from gtidal.errors import GtidalError

_IN_MEMORY = 16 << 20
"""Text of a statement that is not complete is kept in a file beyond this size."""
_WAITING_PER_THREAD = 4

Sink = Callable[[Any], object]
"""Takes a piece of text, which is its own."""


class Target(Protocol):
    """Where text goes."""

    def write(self, data: Any, /) -> object: ...


Task = Callable[[Sink], Iterable[GtidalError]]
"""Gives its text to the sink, piece by piece; returns the damage that it met."""


class Kept:
    """Text that waits until its statement is complete."""

    def __init__(self) -> None:
        self._file: Any = None

    def write(self, data: Any) -> None:
        if self._file is None:
            self._file = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115  closed by take
        self._file.write(data)

    def take(self, target: Target) -> None:
        """Hand it over, all of it."""
        if self._file is not None:
            self._file.seek(0)
            shutil.copyfileobj(self._file, target, 1 << 20)
            self._file.close()
            self._file = None


class OrderedText:
    """Runs tasks, at once or in threads, and writes what they give in order."""

    def __init__(
        self,
        out: Target,
        note_damage: Callable[[GtidalError], None],
        threads: int,
        recycle: Callable[[Any], object] = lambda piece: None,
    ) -> None:
        """``recycle`` gets each piece of text once it is written."""
        self.out = out
        self.body = Kept()
        self.foot = Kept()
        self._note_damage = note_damage
        self._recycle = recycle
        self._most = _WAITING_PER_THREAD * threads
        self._pool = ThreadPoolExecutor(threads, "gtidal-dump") if threads > 1 else None
        self._queue: deque[Callable[[], object]] = deque()

    def submit(self, task: Task, target: Target) -> None:
        if self._pool is None:
            self._note(task(lambda piece: self._write(piece, target)))
            return
        future = self._pool.submit(_collect, task)
        self._later(lambda: self._finish(future, target))

    def end_statement(self) -> None:
        """The text kept for it is due now."""
        self._later(self._release)

    def write(self, data: bytes) -> None:
        self._later(lambda: self.out.write(data))

    def drain(self) -> None:
        """Wait until all is written."""
        while self._queue:
            self._queue.popleft()()

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def _later(self, action: Callable[[], object]) -> None:
        if self._pool is None:
            action()
            return
        self._queue.append(action)
        while len(self._queue) > self._most:
            self._queue.popleft()()

    def _release(self) -> None:
        self.body.take(self.out)
        self.foot.take(self.out)

    def _finish(self, future: Future[tuple[list[Any], list[GtidalError]]], target: Target) -> None:
        pieces, damage = future.result()
        for piece in pieces:
            self._write(piece, target)
        self._note(damage)

    def _write(self, piece: Any, target: Target) -> None:
        target.write(piece)
        self._recycle(piece)

    def _note(self, damage: Iterable[GtidalError]) -> None:
        for error in damage:
            self._note_damage(error)


def _collect(task: Task) -> tuple[list[Any], list[GtidalError]]:
    pieces: list[Any] = []
    damage = list(task(pieces.append))
    return pieces, damage
