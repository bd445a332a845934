"""Bytes of a log come in, whole events go out: each compared with its checksum, and summed up.

The same for what a server sends and for what is found in the archive after a crash.
"""

from __future__ import annotations

import hashlib
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from gtidal.archiving.contents import Contents
from gtidal.columnar import kernel
from gtidal.columnar.index import ALL_GTIDS, Index
from gtidal.columnar.windows import CHECKSUM, DATA, SIZE
from gtidal.errors import DecodeError, GtidalError, NotABinlog
from gtidal.events.format import MAGIC, Format, FormatDescription
from gtidal.events.frame import HEADER_SIZE
from gtidal.events.header import IN_USE
from gtidal.log.decoder import FIRST_EVENT, MAX_EVENT_SIZE, Frame, LogDecoder, event_name

ROOM = 4 << 20
_LEAST_ROOM = 1 << 20
_WORTH_A_THREAD = 1 << 16
FLAGS = 17
"""Where an event's flags are."""
_HASHING = ThreadPoolExecutor(1, "gtidal-sha256")
"""SHA-256 takes longer than all else that is done with the bytes; meanwhile the next ones come."""
_NONE_MARKED = memoryview(np.zeros(256, np.uint8))


class Intake:
    """One file of a log, from its beginning. Bytes are put into ``room``; ``take`` gives what is whole of them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.contents = Contents()
        self.format: FormatDescription | None = None
        self.position = 0
        """Behind the last whole event."""
        self._sha256 = hashlib.sha256()
        self._hashed: Future[None] | None = None
        self._buffer = np.zeros(ROOM, np.uint8)
        self._other = np.zeros(ROOM, np.uint8)  # which may be at the hashing still
        self._have = self._used = 0
        self._index = Index(ROOM // 40)
        self._decoder = LogDecoder(name)
        self._problem: GtidalError | None = None

    @property
    def sha256(self) -> str:
        """Of all whole events, with the in-use bit cleared."""
        self._end_hashing()
        return self._sha256.hexdigest()

    @property
    def begun(self) -> int:
        assert self.format is not None
        return self.format.header.timestamp

    def drop_rest(self) -> None:
        """What is not whole, or not right, is forgotten."""
        self._have = self._used
        self._problem = None

    def room(self) -> memoryview:
        """Where the next bytes go."""
        rest = self._have - self._used
        wanted = max(ROOM, rest + max(self._missing(), _LEAST_ROOM))
        target = self._other if wanted == len(self._other) else np.zeros(wanted, np.uint8)
        target[:rest] = self._buffer[self._used : self._have]
        self._buffer, self._other = target, self._buffer
        self._have, self._used = rest, 0
        return memoryview(self._buffer)[rest:]

    def _missing(self) -> int:
        """How many bytes of the event that was begun have not come."""
        rest = self._buffer[self._used : self._have]
        if len(rest) < HEADER_SIZE or not self.position:
            return 0
        size = int.from_bytes(rest[9:13].tobytes(), "little")
        return max(min(size, MAX_EVENT_SIZE) - len(rest), 0)

    def take(self, count: int) -> memoryview:
        """So many bytes were put into the room; all whole events, until room is asked for again."""
        self._have += count
        base = self.position
        if self.format is None:
            self._take_head()
        if self.format is not None:
            self._walk(self.format.format, base)
        self.position = base + self._used
        whole = memoryview(self._buffer)[: self._used]
        self._end_hashing()
        if len(whole) < _WORTH_A_THREAD:
            self._sha256.update(whole)
        else:
            self._hashed = _HASHING.submit(self._sha256.update, whole)
        return whole

    def check(self) -> None:
        """Raise what is wrong behind the events that were taken."""
        if self._problem is not None:
            raise self._problem

    def _end_hashing(self) -> None:
        if self._hashed is not None:
            self._hashed.result()
            self._hashed = None

    def _take_head(self) -> None:
        """The magic and the format description, which tells whether there are checksums."""
        data = self._buffer[: self._have]
        if self._have >= len(MAGIC) and data[: len(MAGIC)].tobytes() != MAGIC:
            raise NotABinlog("this is no binary log", file=self.name)
        if self._have < FIRST_EVENT + HEADER_SIZE:
            return
        size = int.from_bytes(data[FIRST_EVENT + 9 : FIRST_EVENT + 13].tobytes(), "little")
        if self._have < FIRST_EVENT + size:
            return
        data[FIRST_EVENT + FLAGS] &= ~IN_USE & 0xFF
        frame = Frame(FIRST_EVENT, data[FIRST_EVENT : FIRST_EVENT + size].tobytes())
        try:
            self._decoder.accept(frame)
            event = self._decoder.decode(frame)
        except GtidalError as error:
            raise error.at(file=self.name, position=FIRST_EVENT) from None
        if not isinstance(event, FormatDescription):
            raise DecodeError(
                "a file does not begin with its format",
                file=self.name,
                position=FIRST_EVENT,
                event=event.name,
            )
        self.format = event

    def _walk(self, format: Format, base: int) -> None:
        index = self._index
        progress = memoryview(np.zeros(5, np.int64))
        at = 0 if base else FIRST_EVENT
        code = -1
        while code not in (DATA, SIZE, CHECKSUM):
            progress[1] = 0
            code = kernel.walk.walk(
                memoryview(self._buffer), at, self._have, format.header_length, 2 if format.has_checksums else 0,
                _NONE_MARKED, *index.walked, base, *ALL_GTIDS, progress,
            )  # fmt: skip
            at, index.count = progress[0], progress[1]
            self.contents.add(self._buffer, index, format)
        self._used = at
        if code != DATA:
            self._problem = self._judged(at, base + at, code)

    def _judged(self, at: int, position: int, code: int) -> GtidalError:
        """What is wrong with the event there."""
        size = int.from_bytes(self._buffer[at + 9 : at + 13].tobytes(), "little")
        if code == CHECKSUM:
            try:
                self._decoder.check(Frame(position, self._buffer[at : at + size].tobytes()))
            except GtidalError as error:
                return error.at(file=self.name)
        name = event_name(int(self._buffer[at + 4]))
        return DecodeError(f"an event of {size} bytes", file=self.name, position=position, event=name)
