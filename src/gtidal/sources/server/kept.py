"""The bytes of a file that came last."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

KEPT = 24 << 20
"""How far readers can go back."""
ROOM = 2 << 20
LEAST_ROOM = 1 << 18
"""If less is left of a room, the next one is begun."""


@dataclass(slots=True)
class _Piece:
    position: int
    room: memoryview
    used: int


class Kept:
    """Bytes from ``first`` up to ``behind``, in pieces: none is copied to keep it, and the oldest give their room to the
    newest."""

    def __init__(self, position: int = 0) -> None:
        self._pieces: deque[_Piece] = deque()
        self._free: list[memoryview] = []
        self.begin_at(position)

    def begin_at(self, position: int) -> None:
        """Forget all."""
        self._free += [piece.room for piece in self._pieces]
        self._pieces.clear()
        self.first = self.behind = position

    def room(self) -> memoryview:
        """Where the next bytes go; see ``filled``."""
        if self._pieces:
            last = self._pieces[-1]
            if len(last.room) - last.used >= LEAST_ROOM:
                return last.room[last.used :]
        self._pieces.append(_Piece(self.behind, self.new_room(), 0))
        return self._pieces[-1].room

    def filled(self, count: int) -> None:
        """So many bytes were put into the room."""
        self._pieces[-1].used += count
        self.behind += count

    def new_room(self) -> memoryview:
        """For one who fills it elsewhere; see ``adopt``."""
        while self.behind - self.first > KEPT:
            self._free.append(self._pieces.popleft().room)
            self.first = self._pieces[0].position
        return self._free.pop() if self._free else memoryview(np.empty(ROOM, np.uint8))

    def adopt(self, room: memoryview, count: int) -> None:
        """The next bytes, in a room of their own."""
        self._pieces.append(_Piece(self.behind, room, count))
        self.behind += count

    def at(self, position: int) -> memoryview:
        """The bytes from here on that lie together; none, if they are not kept."""
        if self.first <= position < self.behind:
            for piece in reversed(self._pieces):
                if piece.position <= position:
                    return piece.room[position - piece.position : piece.used]
        return memoryview(b"")
