"""A dump that is received while what came before it is looked at.

A connection holds a few hundred kilobytes: without a thread that takes them, a server waits whenever its reader works.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from queue import SimpleQueue

from gtidal.sources.server.connection import Connection
from gtidal.sources.server.dump import Dump
from gtidal.sources.server.kept import LEAST_ROOM

AHEAD = 8
"""How many rooms are received into before any is looked at. More are not: memory is bounded."""


@dataclass(slots=True)
class _Received:
    room: memoryview
    count: int
    begun: int
    """Where the last event begins of which there are bytes."""
    error: BaseException | None = None
    """What came instead of bytes."""


class ReadAhead:
    """Gives what ``dump`` gives, in rooms that others supply."""

    def __init__(self, dump: Dump) -> None:
        self.dump = dump
        self.begun = dump.begun
        self._last: _Received | None = None
        self._empty: SimpleQueue[memoryview | None] = SimpleQueue()
        self._full: SimpleQueue[_Received] = SimpleQueue()
        # It knows nothing of this object, so that one who forgets to close it does not keep it.
        arguments = (dump, self._empty, self._full)
        self._thread = threading.Thread(target=_receive, args=arguments, name="gtidal-receive", daemon=True)
        self._thread.start()

    @property
    def connection(self) -> Connection:
        return self.dump.connection

    @property
    def next_file(self) -> tuple[str, int] | None:
        return self.dump.next_file

    def supply(self, room: memoryview) -> None:
        """To be received into. Its bytes are the thread's until ``take`` gives them."""
        self._empty.put(room)

    def take(self) -> tuple[memoryview, int]:
        """The next room, and how many bytes are in it: none at the end. What went wrong is raised."""
        if self._last is None or self._last.count:  # the end, and an error, stay
            self._last = self._full.get()
        if self._last.error is not None:
            raise self._last.error
        if self._last.count:
            self.begun = self._last.begun
        return self._last.room, self._last.count

    def close(self) -> None:
        self._empty.put(None)
        self.dump.interrupt()
        self._thread.join()
        self.dump.close()


def _receive(dump: Dump, empty: SimpleQueue[memoryview | None], full: SimpleQueue[_Received]) -> None:
    problem: BaseException | None = None
    while (room := empty.get()) is not None:
        count = 0
        try:
            while problem is None and len(room) - count >= LEAST_ROOM:
                got = dump.readinto(room[count:])
                count += got
                if not got:
                    break
        except BaseException as error:
            problem = error  # what came before it is given first
        full.put(_Received(room, count, dump.begun, None if count else problem))
        if not count:
            return
