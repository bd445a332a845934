"""A file of a server's log, read as if it were here.

What came last is kept, so that readers can go back a little; who goes back further, or far ahead, gets a new dump.
After a lost connection reading goes on at the byte where it was lost: on the same server, in the same file.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gtidal.errors import ConnectionLost, DecodeError, LogsDiverged, LogsPurged, ServerProblem
from gtidal.events.format import MAGIC
from gtidal.log.decoder import FIRST_EVENT
from gtidal.sources.seeking import SeekingStream
from gtidal.sources.server.ahead import AHEAD, ReadAhead
from gtidal.sources.server.connection import Connection, Identity
from gtidal.sources.server.dump import Dump
from gtidal.sources.server.kept import Kept

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_AHEAD = 16 << 20
"""What is nearer is read and passed over, which is quicker than a new dump."""
_WORTH_A_THREAD = 8 << 20
"""If so much is still to come, it is received while what has come is read."""
_FURTHEST = (1 << 32) - 1
"""Servers are asked for no position behind it."""
PAUSES = (0.1, 0.3, 1.0, 3.0, 10.0, 10.0, 10.0, 10.0, 10.0)
"""Between attempts to connect again, in seconds."""

Connect = Callable[[], Connection]


class ServerStream(SeekingStream):
    """``size``: how many bytes of the file there are, for those who want no more; None: until the server begins its next
    file, waiting for what comes. ``identity``: which server it has to be; None: the one that is found. ``pauses``: between
    attempts to connect again."""

    searchable = False
    """A new dump begins where an event does."""

    def __init__(
        self,
        connect: Connect,
        identity: Identity | None,
        file: str,
        size: int | None,
        pauses: Sequence[float] = PAUSES,
    ) -> None:
        super().__init__()
        self.name = file
        self.next_file: tuple[str, int] | None = None
        """Where the log goes on, once this file has ended."""
        self._connect = connect
        self._identity = identity
        self._size = size
        self._pauses = pauses
        self._dump: Dump | ReadAhead | None = None
        self._kept = Kept()
        self._begin_at(0)
        self._pass_over = 0  # bytes of the dump that were read before the connection was lost
        self._created: bytes | None = None
        self._boundaries = [FIRST_EVENT]  # where some events begin
        self._guessed = self._misled = False
        """Whether the dump begins where an event is only supposed to begin; whether that was wrong."""
        self._ended = False

    def _end(self) -> int:
        return super()._end() if self._size is None else self._size

    def ready(self) -> bool:
        """Whether there is something to read without waiting, be it the end."""
        if self._size is not None or self._ended:
            return True
        if self._at != self._kept.behind:
            return True
        try:
            if self._dump is None:
                self._begin_dump(self._kept.behind)
            return isinstance(self._dump, Dump) and self._dump.ready()
        except (ConnectionLost, OSError, ValueError):
            return True  # who reads will connect again, or see why not

    def readinto(self, buffer: WriteableBuffer) -> int:
        target = memoryview(buffer).cast("B")
        if self._size is not None:
            target = target[: max(self._size - self._at, 0)]
        if not len(target) or not self._have_kept():
            return 0
        found = self._kept.at(self._at)[: len(target)]
        target[: len(found)] = found
        self._at += len(found)
        return len(found)

    def close(self) -> None:
        self._end_dump()
        super().close()

    # --- what is kept, and what comes

    def _have_kept(self) -> bool:
        """See that what comes next is kept; false at the end."""
        kept = self._kept
        while not kept.first <= self._at < kept.behind:
            if self._at < kept.first or self._at > kept.behind + _AHEAD:
                self._begin_at(self._at)
            elif not self._receive():
                return False
        return True

    def _begin_at(self, position: int) -> None:
        self._end_dump()
        self._ended = False
        self._kept.begin_at(0 if position < FIRST_EVENT else position)
        if position < FIRST_EVENT:
            self._kept.room()[: len(MAGIC)] = MAGIC
            self._kept.filled(len(MAGIC))

    def _receive(self) -> bool:
        if self._ended:
            return False
        while True:
            try:
                if self._dump is None:
                    self._begin_dump(self._kept.behind)
                assert self._dump is not None
                room, got = self._received(self._dump)
                if not got and self._size is None and self._dump.next_file is None:
                    # MariaDB takes its leave so when it is shut down.
                    raise ConnectionLost(f"{self._dump.connection.host.title} stopped sending")
            except ConnectionLost as lost:
                self._connect_again(lost)
                continue
            except (DecodeError, ServerProblem):
                if not self._guessed:
                    raise
                self._misled = True  # no event begins there
                self._begin_at(self._kept.behind)
                continue
            self._guessed = self._misled = False
            self._remember(self._dump.begun)
            self._ended = not got
            self.next_file = self._dump.next_file if self._ended else None
            again = min(got, self._pass_over)
            if again:
                self._pass_over -= again
                room[: got - again] = bytes(room[again:got])
            if not isinstance(self._dump, ReadAhead):
                self._kept.filled(got - again)
            elif got > again:
                self._kept.adopt(room, got - again)
                self._dump.supply(self._kept.new_room())
            else:
                self._dump.supply(room)
            if self._ended or got > again:
                return not self._ended

    def _received(self, dump: Dump | ReadAhead) -> tuple[memoryview, int]:
        """The next bytes, and where they are."""
        if isinstance(dump, ReadAhead):
            return dump.take()
        room = self._kept.room()
        return room, dump.readinto(room)

    def _remember(self, boundary: int) -> None:
        if boundary > self._boundaries[-1]:
            self._boundaries.append(boundary)

    def _begin_dump(self, position: int) -> None:
        """Servers send from where an event begins, below 4 GiB: begin there, and pass over what was not asked for."""
        known = self._boundaries[bisect_right(self._boundaries, min(position, _FURTHEST)) - 1]
        # Whoever goes far ahead mostly knows where an event begins.
        self._guessed = (
            position > self._boundaries[-1] + _AHEAD and position <= _FURTHEST and not self._misled
        )
        begin = position if self._guessed else known
        dump = self._new_dump(begin)
        self._dump, self._pass_over = dump, position - begin
        if self._size is not None and self._size - begin > _WORTH_A_THREAD:
            self._dump = ReadAhead(dump)
            for _ in range(AHEAD):
                self._dump.supply(self._kept.new_room())

    def _end_dump(self) -> None:
        if self._dump is not None:
            self._dump.close()
            self._dump = None

    def _new_dump(self, position: int) -> Dump:
        connection = self._connect()
        try:
            found = connection.identity()
            wanted = self._identity.uuid if self._identity is not None else connection.address.server_uuid
            if wanted is not None and found.uuid != wanted:
                raise LogsDiverged(
                    f"{connection.host.title} is another server than before: its files are other files"
                )
            self._identity = found
            dump = Dump(connection, self.name, position, waits=self._size is None, mariadb=found.mariadb)
            self._check_same(connection, dump)
            dump.until = self._size
        except BaseException:
            connection.close()
            raise
        return dump

    def _check_same(self, connection: Connection, dump: Dump) -> None:
        """A server may have been set up anew, and have another file of this name."""
        assert dump.format is not None
        created = dump.format.header.timestamp.to_bytes(4, "little") + dump.format.server_version.encode()
        if self._created is None:
            self._created = created
        elif self._created != created:
            raise LogsDiverged(
                f"{connection.host.title} has another file of this name now: its logs were reset; start anew with start=oldest",
                file=self.name,
            )

    def _connect_again(self, lost: ConnectionLost) -> None:
        """Go on with the byte that is missing."""
        if self._dump is not None:
            self._remember(self._dump.begun)
            self._end_dump()
        for pause in self._pauses:
            time.sleep(pause)
            try:
                self._begin_dump(self._kept.behind)
                return
            except ConnectionLost as again:
                lost = again
            except (LogsPurged, LogsDiverged):
                raise
            except ServerProblem as refused:  # of a place that was read before
                raise LogsDiverged(
                    f"{refused.message}; this file was read up to {self._kept.behind} before: the server's logs were reset; start "
                    "anew with start=oldest",
                    file=self.name,
                ) from None
        raise lost
