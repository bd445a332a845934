"""One dump: a server sends a file of its log, from a position on, until the file ends.

What comes out are the file's own bytes. What a server says in between (which file comes, that it is alive, the format
for those who begin in the middle) is understood here and not given.
"""

from __future__ import annotations

import random
import re
import select
import socket
import ssl
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

import numpy as np

from gtidal.columnar import kernel
from gtidal.errors import ConnectionLost, DecodeError, GtidalError, LogsDiverged, LogsPurged, ServerProblem
from gtidal.events.control import Heartbeat, HeartbeatV2, PreviousGtids, Rotate
from gtidal.events.format import CRC32, Format, FormatDescription
from gtidal.events.frame import HEADER_SIZE, decode_event
from gtidal.events.header import ARTIFICIAL
from gtidal.events.mariadb import BinlogCheckpoint, GtidList, StartEncryption
from gtidal.events.protocol import (
    DUMP_NON_BLOCK,
    DUMP_USE_HEARTBEAT_V2,
    SEMI_SYNC,
    BinlogDump,
    BinlogDumpGtid,
    Command,
    Piece,
    SemiSyncReply,
)
from gtidal.events.registry import Context
from gtidal.gtid import EncodedGtidSet, GtidSet, MariadbGtidSet
from gtidal.log.decoder import FIRST_EVENT
from gtidal.sources.server.connection import Connection, Refused

DATA, FULL, OTHER, SEQUENCE, PLACE, SIZE, REPLY = range(7)
AT, FILLED, _, _, NUMBER, BEHIND, _, _, BEGUN = range(9)
_RECEIVED = 1 << 20
_WORTH_WAITING_FOR = 1 << 19
_LARGEST_OTHER = 1 << 20
"""No packet that is not a plain event of the log is longer."""
_SEND_ANNOTATE_ROWS = 0x02
_POSITION_BITS = 32
_HEADS = (
    FormatDescription.code,
    PreviousGtids.code,
    GtidList.code,
    BinlogCheckpoint.code,
    StartEncryption.code,
)
"""With these a file begins."""
_REFUSED = 1236
_PURGED = re.compile(
    r"purged|could not find.* log file|could not open log|not find first log|too old|missing", re.I
)
_DIVERGED = re.compile(r"more GTIDs than|diverged|not in the (master|source|primary)|ahead of", re.I)
_EVICTED = re.compile(r"same server_(uuid|id)", re.I)
_NO_EVENT = re.compile(
    r"impossible position|bogus data|read error|event (size|header)|log_pos|not.*start of|truncated", re.I
)


class Dump:
    """``file`` and ``position``: where to begin, between events. ``waits``: at the end of the log, too, for more."""

    def __init__(
        self, connection: Connection, file: str, position: int = FIRST_EVENT, *, waits: bool, mariadb: bool
    ) -> None:
        self._prepare(connection, waits=waits, mariadb=mariadb)
        if position >> _POSITION_BITS:
            raise ServerProblem(
                f"{file}: servers send no log from a position beyond 4 GiB, such as {position}"
            )
        self.file = file
        self._state[BEHIND] = position
        flags = (0 if waits else DUMP_NON_BLOCK) | (_SEND_ANNOTATE_ROWS if mariadb else DUMP_USE_HEARTBEAT_V2)
        self._begin(BinlogDump(position=position, flags=flags, server_id=self._server_id, file=file))

    @classmethod
    def locate(
        cls, connection: Connection, had: GtidSet | MariadbGtidSet, *, mariadb: bool
    ) -> tuple[str, int] | None:
        """Where the server begins for a replica that has these GTIDs; None: it has no more than those."""
        dump = cls.__new__(cls)
        dump._prepare(connection, waits=False, mariadb=mariadb)
        dump.file = ""
        if isinstance(had, MariadbGtidSet):
            connection.query(f"SET @slave_connect_state = '{had.positions().one_line()}'")
            command: Command = BinlogDump(flags=DUMP_NON_BLOCK, server_id=dump._server_id)
        else:
            flags = DUMP_NON_BLOCK | DUMP_USE_HEARTBEAT_V2
            gtids = EncodedGtidSet.from_set(had)
            command = BinlogDumpGtid(flags=flags, server_id=dump._server_id, gtids=gtids)
        dump._begin(command)
        return dump._first_place()

    def _prepare(self, connection: Connection, *, waits: bool, mariadb: bool) -> None:
        address = connection.address
        self.connection = connection
        self._mariadb = mariadb
        self._semi_sync = address.semi_sync and waits
        self._server_id = address.server_id or random.SystemRandom().randrange(1 << 31, (1 << 32) - 1)
        self._received = np.zeros(_RECEIVED, np.uint8)
        self._have = 0
        self._state = np.zeros(9, np.int64)
        self._state[NUMBER] = 1  # the command was packet 0
        self._context = Context(
            Format(checksum=CRC32), {}
        )  # announced: what comes before a format tells has checksums
        self.format: FormatDescription | None = None
        self.next_file: tuple[str, int] | None = None
        """Where the log goes on, when this file has ended."""
        self.ended = False
        self.until: int | None = None
        """A position up to which the file is there, and will be read."""
        self._least = 1
        # A server that is silent for longer than two heartbeats is lost.
        self.patience = max(2.5 * address.heartbeat, 1.0)
        connection.announce(str(uuid.uuid4()), semi_sync=self._semi_sync, mariadb=mariadb)
        connection.register(self._server_id)

    def _begin(self, command: Command) -> None:
        self._command = type(command).__name__
        self.connection.send(command)
        self.connection.socket.settimeout(self.patience)
        self._read_format()

    def _read_format(self) -> None:
        """What a file begins with comes whatever is asked for; unless the server is being shut down."""
        while self.format is None:
            full = self._step(self._received[:0]) == FULL
            if self.ended and self.format is None:
                raise ConnectionLost(f"{self.connection.host.title} stopped sending")
            if full:
                break

    def go_on(self) -> None:
        """Read the file behind the one that has ended: the server sends it without being asked."""
        assert self.next_file is not None
        self.file, self._state[BEHIND] = self.next_file
        self.format, self.next_file, self.ended = None, None, False
        self._read_format()

    def interrupt(self) -> None:
        """Whoever waits for bytes in another thread waits no longer: the connection is lost."""
        self.connection.interrupt()

    def close(self) -> None:
        self.connection.close()

    # --- bytes of the log

    @property
    def position(self) -> int:
        """Behind the event that was begun last."""
        return int(self._state[BEHIND])

    @property
    def begun(self) -> int:
        """Where the event begins of which bytes were given last."""
        return int(self._state[BEGUN])

    def readinto(self, target: memoryview) -> int:
        """Bytes of the log, at least one; 0 when the file has ended, or there is no more for one who does not wait."""
        room = np.frombuffer(target, np.uint8)
        self._state[FILLED] = 0
        while not self.ended:
            try:
                if self._step(room) == FULL or (self._state[FILLED] and not self.ready()):
                    break
            except ConnectionLost:
                if not self._state[FILLED]:
                    raise
                break  # what has come is given; who asks for more meets the loss again
        return int(self._state[FILLED])

    def arrived(self, target: memoryview) -> int:
        """Bytes of the log that have come, perhaps none; it waits for no more than the rest of an event."""
        room = np.frombuffer(target, np.uint8)
        self._state[FILLED] = 0
        while not self.ended and self.ready() and self._step(room) != FULL:
            pass
        return int(self._state[FILLED])

    def ready(self, seconds: float = 0) -> bool:
        """Whether there is more, if need be after so long a wait."""
        if self._have - self._state[AT] > 4 + HEADER_SIZE:
            return True
        return self._is_waiting(seconds)

    def _is_waiting(self, seconds: float) -> bool:
        waiting = self.connection.socket
        pending: Callable[[], int] = getattr(waiting, "pending", int)  # TLS has read more than it has given
        return bool(pending() or select.select([waiting], [], [], seconds)[0])

    @property
    def _is_tls(self) -> bool:
        return isinstance(self.connection.socket, ssl.SSLSocket)

    def _step(self, target: np.ndarray[tuple[int], np.dtype[np.uint8]]) -> int:
        code: int = kernel.packets.unpack(
            memoryview(self._received),
            self._have,
            memoryview(target),
            int(self._semi_sync),
            memoryview(self._state),
        )
        if code == DATA:
            if (
                not self._state[FILLED] or self.ready()
            ):  # else what there is is given, before more is waited for
                self._receive()
        elif code == OTHER:
            return self._take_other(target)
        elif code == REPLY:
            self._reply(self.position)
        elif code == PLACE:
            return self._take_misplaced()
        elif code in (SEQUENCE, SIZE):
            raise ConnectionLost(f"{self.connection.host.title}: packets are out of order")
        return code

    def _receive(self) -> None:
        state = self._state
        used = int(state[AT])
        if used:
            left = self._have - used
            self._received[:left] = self._received[used : self._have].copy()
            self._have, state[AT] = left, 0
        if self._have == len(self._received):
            self._received = np.concatenate((self._received, np.zeros_like(self._received)))
        self._receive_some()
        # TLS gives no more than 16 KB at a time. What is wrong behind these bytes comes up when they are used.
        with suppress(ConnectionLost):
            while self._is_tls and self._have < len(self._received) // 2 and self._is_waiting(0):
                self._receive_some()

    def _receive_some(self) -> None:
        host = self.connection.host.title
        self._ask_for_much()
        try:
            got = self.connection.socket.recv_into(memoryview(self._received)[self._have :])
        except TimeoutError:
            raise ConnectionLost(f"{host} was silent for {self.patience:.0f} seconds") from None
        except (OSError, ValueError) as error:
            raise ConnectionLost(f"{host}: {error}") from None
        if not got:
            raise ConnectionLost(f"{host} closed the connection")
        self._have += got

    def _ask_for_much(self) -> None:
        """Servers send small pieces. As long as much is still to come, they are worth waiting for: each costs as much as
        a large one."""
        if self._is_tls or self.until is None:
            return
        least = _WORTH_WAITING_FOR if self.until - self.position > 4 * _WORTH_WAITING_FOR else 1
        if least != self._least:
            self.connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, least)
            self._least = least

    # --- everything else

    def _take_other(self, target: np.ndarray[tuple[int], np.dtype[np.uint8]]) -> int:
        """A packet that the kernel does not take."""
        packet = self._peek_packet()
        if packet is None:
            self._receive()
            return DATA
        status = packet[0] if packet else 0xFE
        if status == 0xFF:
            self._refuse(packet)
        if status == 0xFE:
            self._pass_packet(packet)
            self.ended = True
            return FULL
        prefix = 3 if self._semi_sync and packet[1:2] == bytes((SEMI_SYNC,)) else 1
        data = packet[prefix:]
        if status or len(data) < HEADER_SIZE:
            raise ConnectionLost(
                f"{self.connection.host.title}: a packet that is no event: {packet[:8].hex(' ')}"
            )
        is_real = int.from_bytes(data[13:17], "little") and not data[17] & ARTIFICIAL
        if is_real and data[4] in (Rotate.code, FormatDescription.code):
            if data[4] == FormatDescription.code and self.format is None:
                self._understand(data)
            return self._give(packet, data, target)
        self._pass_packet(packet)
        self._understand(data)
        if prefix == 3 and packet[2] & 1:
            self._reply(self.position)
        return FULL if self.ended else OTHER

    def _give(self, packet: bytes, data: bytes, target: np.ndarray[tuple[int], np.dtype[np.uint8]]) -> int:
        """An event of the log that the kernel leaves to us."""
        state = self._state
        filled = int(state[FILLED])
        if len(target) - filled < len(data):
            if len(target) == 0 or filled:
                return FULL
            raise ServerProblem(f"room for {len(target)} bytes; an event here has {len(data)}")
        behind = self.position + len(data)
        if behind & 0xFFFFFFFF != int.from_bytes(data[13:17], "little"):
            return self._take_misplaced()
        target[filled : filled + len(data)] = np.frombuffer(data, np.uint8)
        state[BEGUN], state[BEHIND], state[FILLED] = self.position, behind, filled + len(data)
        self._pass_packet(packet)
        if self._semi_sync and packet[1] == SEMI_SYNC and packet[2] & 1:
            self._reply(behind)
        return OTHER

    def _peek_packet(self) -> bytes | None:
        at = int(self._state[AT])
        size = int.from_bytes(self._received[at : at + 3].tobytes(), "little")
        if size > _LARGEST_OTHER:
            raise ConnectionLost(
                f"{self.connection.host.title}: a packet of {size} bytes that is no plain event"
            )
        if self._have - at < 4 + size:
            return None
        return self._received[at + 4 : at + 4 + size].tobytes()

    def _pass_packet(self, packet: bytes) -> None:
        self._state[AT] += 4 + len(packet)
        self._state[NUMBER] = (self._state[NUMBER] + 1) & 255

    def _understand(self, data: bytes) -> None:
        try:
            event = decode_event(data, self.position, self._context)
        except GtidalError as error:
            raise error.at(file=self.file, position=self.position) from None
        if isinstance(event, FormatDescription):
            self.format = event
            self._context.format = event.format
        elif isinstance(event, Rotate):
            if self.format is None:
                self.file = event.next_file
                if not self.position:
                    self._state[BEHIND] = event.start
            elif event.next_file != self.file:
                self.next_file = event.next_file, event.start
                self.ended = True
        elif isinstance(event, Heartbeat | HeartbeatV2):
            self.heard(event)

    def heard(self, event: Heartbeat | HeartbeatV2) -> None:
        """The server is alive."""

    def _take_misplaced(self) -> int:
        packet = self._peek_packet() if self._small_packet() else None
        if packet is not None and packet[5] == StartEncryption.code:  # MariaDB sends it wherever one begins
            self._pass_packet(packet)
            return OTHER
        header = self._peek_header()
        begins = (
            int.from_bytes(header[13:17], "little") - int.from_bytes(header[9:13], "little")
        ) & 0xFFFFFFFF
        raise DecodeError(
            f"{self.connection.host.title} sent an event that begins at {begins}: either no event begins here, or events "
            "of this file were not sent",
            file=self.file,
            position=self.position,
        )

    def _peek_header(self) -> bytes:
        at = int(self._state[AT]) + (7 if self._semi_sync else 5)
        return self._received[at : at + HEADER_SIZE].tobytes()

    def _small_packet(self) -> bool:
        at = int(self._state[AT])
        return int.from_bytes(self._received[at : at + 3].tobytes(), "little") <= _LARGEST_OTHER

    def _reply(self, position: int) -> None:
        reply = SemiSyncReply(position=position, file=self.file).encode()
        self.connection.send_bytes(Piece(sequence=0, payload=reply).encode())

    def _refuse(self, packet: bytes) -> NoReturn:
        try:
            self.connection.refuse(packet, self._command)
        except Refused as refused:
            raise explained(refused, self.file, self.position) from None
        raise AssertionError("refused")

    # --- where a GTID set leads

    def _first_place(self) -> tuple[str, int] | None:
        """The position of the first event that is sent behind the file's head."""
        while not self.ended:
            if self._have - self._state[AT] < 4:
                self._receive()
            elif not self._small_packet():
                break
            elif (packet := self._peek_packet()) is None:
                self._receive()
            elif packet[:1] == b"\0" and _is_of_the_log(packet[1:]) and packet[5] not in _HEADS:
                break
            elif packet[:1] == b"\0" and packet[5] in _HEADS:
                self._pass_packet(packet)
            else:
                self._take_other(self._received[:0])
        if self.ended:
            return None
        while self._have - self._state[AT] < 5 + HEADER_SIZE:
            self._receive()
        header = self._peek_header()
        return self.file, int.from_bytes(header[13:17], "little") - int.from_bytes(header[9:13], "little")


def _is_of_the_log(event: bytes) -> bool:
    said_only = event[4] in (Heartbeat.code, HeartbeatV2.code) or event[17] & ARTIFICIAL
    return not said_only and event[13:17] != bytes(4)  # with GTIDs and heads MariaDB tells the place


def explained(refused: Refused, file: str, position: int) -> ServerProblem:
    """What a source's refusal means for the user, and what can be done."""
    said = refused.message
    if _EVICTED.search(said):  # MariaDB has another code for it
        return ServerProblem(f"{said}; give each reader a server id of its own, or none", file=file or None)
    if refused.code != _REFUSED:
        return refused.at(file=file or None)
    if _DIVERGED.search(said):
        return LogsDiverged(
            f"{said}; this is not the server, or not the history, that was read before: read from the server that has "
            "these GTIDs, or start anew with start=oldest"
        )
    if _NO_EVENT.search(said):
        return ServerProblem(
            f"{said}; no event begins at this position: start with the file, or where gtidal inspect shows an event",
            file=file or None,
            position=position,
        )
    if _PURGED.search(said):
        return LogsPurged(
            f"{said}; the server does not have what comes next any more: read it from an archive or a backup of the "
            "logs, or start anew with start=oldest",
            file=file or None,
        )
    return refused.at(file=file or None)
