"""What a replica and its source say to each other around the events: commands and stream packets.

These are layouts only. Connecting, logging in and waiting are a client's work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeVar

from gtidal.errors import DecodeError
from gtidal.gtid.binary import EncodedGtidSet
from gtidal.wire.layout import Fields, Record

DUMP_NON_BLOCK = 0x01
DUMP_USE_HEARTBEAT_V2 = 0x02
DUMP_SKIP_TAGGED_GTIDS = 0x04


class Command(Record):
    """A command packet's payload: its number, then its fields."""

    number: ClassVar[int] = 0


COMMANDS: dict[int, type[Command]] = {}
C = TypeVar("C", bound=type[Command])


def command(number: int) -> Callable[[C], C]:
    def register(cls: C) -> C:
        COMMANDS[number] = cls
        cls.number = number
        return cls

    return register


def decode_command(data: bytes) -> Command:
    """A command packet's payload as the command it is."""
    cls = COMMANDS.get(data[0]) if data else None
    if cls is None:
        raise DecodeError(f"0x{data[:1].hex()} is not a replication command", field="command")
    return cls.decode(data)


@command(0x12)
class BinlogDump(Command):
    """COM_BINLOG_DUMP: send the log from a file and position on. No name means the first file."""

    command: int = 0x12
    position: int = 4
    flags: int = 0
    server_id: int = 0
    file: str = ""

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.u8("command")
        f.u32("position")
        f.u16("flags")
        f.u32("server_id")
        f.rest_text("file")


@command(0x13)
class TableDump(Command):
    """COM_TABLE_DUMP: send a table. Only servers before 5.0 answer it."""

    command: int = 0x13
    schema: str = ""
    table: str = ""

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.u8("command")
        f.short_text("schema")
        f.short_text("table")


@command(0x15)
class RegisterSlave(Command):
    """COM_REGISTER_SLAVE: makes a replica visible in SHOW REPLICAS."""

    command: int = 0x15
    server_id: int = 0
    host: str = ""
    user: str = ""
    password: str = ""
    port: int = 0
    rank: int = 0
    source_id: int = 0

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.u8("command")
        f.u32("server_id")
        f.short_text("host")
        f.short_text("user")
        f.short_text("password")
        f.u16("port")
        f.u32("rank")
        f.u32("source_id")


@command(0x1E)
class BinlogDumpGtid(Command):
    """COM_BINLOG_DUMP_GTID: send everything but these GTIDs."""

    command: int = 0x1E
    flags: int = 0
    server_id: int = 0
    file: str = ""
    position: int = 4
    gtids: EncodedGtidSet | None = None

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.u8("command")
        f.u16("flags")
        f.u32("server_id")
        f.text("file", f.size("file", 4))
        f.u64("position")
        f.sized_record("gtids", EncodedGtidSet, f.size("gtids", 4))


SEMI_SYNC = 0xEF


class Packet(Record):
    """The payload of a packet a source sends."""

    status: int = 0


class EventPacket(Packet):
    """An event: an OK byte before it."""

    event: bytes = b""

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.u8("status")
        f.rest("event")


class SemiSyncPacket(Packet):
    """An event on a semi-synchronous connection: two bytes more, the second asks for a reply."""

    magic: int = SEMI_SYNC
    reply: int = 0
    event: bytes = b""

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.u8("status")
        f.u8("magic")
        f.u8("reply")
        f.rest("event")


class EofPacket(Packet):
    """The end of the log, for a client that asked not to wait."""

    status: int = 0xFE
    warnings: int = 0
    server_status: int = 0

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.u8("status")
        f.u16("warnings")
        f.u16("server_status")


class ErrorPacket(Packet):
    """The source refuses, or gives up."""

    status: int = 0xFF
    error: int = 0
    marker: bytes = b"#"
    sqlstate: bytes = b"HY000"
    message: str = ""

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.u8("status")
        f.u16("error")
        f.raw("marker", 1)
        f.raw("sqlstate", 5)
        f.rest_text("message")


def decode_packet(data: bytes, semi_sync: bool = False) -> Packet:
    """A stream packet's payload as what it is."""
    if not data:
        raise DecodeError("an empty packet", field="status")
    if data[0] == 0xFF:
        return ErrorPacket.decode(data)
    if data[0] == 0xFE and len(data) < 9:
        return EofPacket.decode(data)
    if data[0] != 0:
        raise DecodeError(f"0x{data[0]:02x} is not a stream packet's first byte", field="status")
    if semi_sync and data[1:2] == bytes((SEMI_SYNC,)):
        return SemiSyncPacket.decode(data)
    return EventPacket.decode(data)


class SemiSyncReply(Record):
    """A replica's answer: received up to here."""

    magic: int = SEMI_SYNC
    position: int = 0
    file: str = ""

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.u8("magic")
        f.u64("position")
        f.rest_text("file")


class Piece(Record):
    """One packet on the wire: at most 16 MiB - 1 of a payload; a full one is continued by the next."""

    sequence: int = 0
    payload: bytes = b""

    LARGEST: ClassVar[int] = 0xFFFFFF

    @classmethod
    def walk(cls, f: Fields) -> None:
        size = f.size("payload", 3)
        f.u8("sequence")
        f.raw("payload", size)


def split_payload(payload: bytes, sequence: int = 0) -> list[Piece]:
    """A payload as packets; one of exactly 16 MiB - 1 is followed by an empty one."""
    pieces: list[Piece] = []
    for start in range(0, len(payload) + 1, Piece.LARGEST):
        part = payload[start : start + Piece.LARGEST]
        pieces.append(Piece(sequence=(sequence + len(pieces)) % 256, payload=part))
    return pieces


def join_payload(data: bytes) -> tuple[bytes, int] | None:
    """The first payload in ``data`` and where it ends; None while it is not complete."""
    parts: list[bytes] = []
    pos = 0
    expected: int | None = None
    while True:
        if len(data) < pos + 4:
            return None
        size = int.from_bytes(data[pos : pos + 3], "little")
        if expected is not None and data[pos + 3] != expected:
            raise DecodeError(f"packet {data[pos + 3]}, expected {expected}", field="sequence")
        expected = (data[pos + 3] + 1) % 256
        stop = pos + 4 + size
        if len(data) < stop:
            return None
        parts.append(data[pos + 4 : stop])
        pos = stop
        if size < Piece.LARGEST:
            return b"".join(parts), pos
