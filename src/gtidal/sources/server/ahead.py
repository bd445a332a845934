"""A dump that is received while what came before it is looked at.

A connection holds a few hundred kilobytes: without a thread that takes them, a server waits whenever its reader works.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from queue import SimpleQueue

import numpy as np

from gtidal.sources.server.connection import Connection
from gtidal.sources.server.dump import Dump

PIECE = 2 << 20
_PIECES = 8


@dataclass(slots=True)
class _Piece:
    room: memoryview
    have: int = 0
    begun: int = 0
    """Where its last event begins."""
    error: BaseException | None = None
    """What came instead of bytes."""


class ReadAhead:
    """Gives what ``dump`` gives, as ``Dump`` does. Memory is bounded: a few pieces are received, no more."""

    def __init__(self, dump: Dump) -> None:
        self.dump = dump
        self.begun = dump.begun
        self._given = 0
        self._piece: _Piece | None = None
        self._empty: SimpleQueue[_Piece | None] = SimpleQueue()
        self._full: SimpleQueue[_Piece] = SimpleQueue()
        for _ in range(_PIECES):
            self._empty.put(_Piece(memoryview(np.empty(PIECE, np.uint8))))
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

    def ready(self) -> bool:
        return self._piece is not None or not self._full.empty()

    def readinto(self, target: memoryview) -> int:
        piece = self._piece
        if piece is None:
            piece, self._given = self._full.get(), 0
            self._piece = piece
            if piece.have:
                self.begun = piece.begun
        if piece.error is not None:
            raise piece.error
        count = min(len(target), piece.have - self._given)
        target[:count] = piece.room[self._given : self._given + count]
        self._given += count
        if count and self._given == piece.have:
            self._piece = None
            self._empty.put(piece)
        return count

    def close(self) -> None:
        self._empty.put(None)
        self.dump.interrupt()
        self._thread.join()
        self.dump.close()


def _receive(dump: Dump, empty: SimpleQueue[_Piece | None], full: SimpleQueue[_Piece]) -> None:
    while (piece := empty.get()) is not None:
        try:
            piece.have = dump.readinto(piece.room)
            piece.begun = dump.begun
        except BaseException as error:
            piece.have, piece.error = 0, error
        full.put(piece)
        if not piece.have:
            return
