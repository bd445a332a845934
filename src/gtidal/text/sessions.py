"""Queries' settings as the kernel follows them: a table of what is printed where one session's query follows another's.

A query says under which settings it ran; mysqlbinlog prints those that differ from the settings in force. Logs
have few different settings, so the texts are worked out once for each pair, by ``text.statements.Session``."""

from __future__ import annotations

from typing import Any

import numpy as np

from gtidal.columnar.plan import Growing
from gtidal.events.header import SUPPRESS_USE
from gtidal.events.statement import Microseconds, Query
from gtidal.text.lexicon import Lexicon
from gtidal.text.statements import Session

MOST = 64
"""Sessions, and kinds of queries' settings."""
UNKNOWN = 0
"""The session in which no text is known."""


class SessionBook:
    """What ``kernel.judging`` calls keys, moves and transitions."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._numbers: dict[tuple[Any, ...], int] = {}
        self.snapshots: list[tuple[Any, ...]] = [()]
        self._keys: dict[tuple[Any, ...], int] = {}
        self.keys = Growing(np.int32)
        self.key_bytes = Growing(np.uint8)
        self.moves = np.full(MOST * MOST, -1, np.int32)
        self.transitions = Growing(np.int32)

    @property
    def key_count(self) -> int:
        return len(self._keys)

    @property
    def full(self) -> bool:
        return len(self.snapshots) >= MOST or len(self._keys) >= MOST

    def number(self, session: Session) -> int:
        """The number of the settings in force."""
        if not session.thread_id_printed:  # the next query prints its thread's number
            return UNKNOWN
        snapshot = session.snapshot()
        number = self._numbers.get(snapshot)
        if number is None:
            if len(self.snapshots) >= MOST:
                return UNKNOWN
            number = self._numbers[snapshot] = len(self.snapshots)
            self.snapshots.append(snapshot)
        return number

    def learn(self, session: Session, query: Query, names: bytes) -> bool:
        """Work out what a query prints in the session's state. ``names`` are the bytes of its status variables and of
        its schema. False if its text is its own."""
        before = self.number(session)
        settings, _ = session.settings(query.status)
        if before == UNKNOWN or settings.xid or self.full:
            return False
        size = len(names) - len(query.schema.encode("utf-8", "surrogateescape"))
        times = [place for place, each in enumerate(query.status) if isinstance(each, Microseconds)]
        hole = -1
        if times:
            hole = sum(len(each.encode()) for each in query.status[: times[0]]) + 1
            if len(times) > 1 or hole + 3 > size:
                return False
        snapshot = session.snapshot()
        use, changes = session.go_on(query, query.query, settings)
        after = self.number(session)
        session.restore(snapshot)
        if after == UNKNOWN:
            return False
        flags = query.header.flags & SUPPRESS_USE
        shape = names if hole < 0 else names[:hole] + names[hole + 3 :]
        key = self._keys.get((shape, size, hole, flags))
        if key is None:
            key = self._keys[shape, size, hole, flags] = len(self._keys)
            self.keys.extend([len(self.key_bytes), size, len(names) - size, hole, flags, 0])
            self.key_bytes.extend(np.frombuffer(names, np.uint8))
        self.moves[MOST * before + key] = len(self.transitions) // 4
        self.transitions.extend([after, self._lexicon.number(use), self._lexicon.number(changes), 0])
        return True
