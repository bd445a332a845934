"""The replication commands and the stream's packets, byte by byte."""

from __future__ import annotations

import pytest

from gtidal.errors import DecodeError, GtidalError
from gtidal.events.protocol import (
    COMMANDS,
    BinlogDump,
    BinlogDumpGtid,
    Command,
    EofPacket,
    ErrorPacket,
    EventPacket,
    Piece,
    RegisterSlave,
    SemiSyncPacket,
    SemiSyncReply,
    TableDump,
    decode_command,
    decode_packet,
    join_payload,
    split_payload,
)
from gtidal.gtid import EncodedGtidSet, GtidSet

SET = GtidSet("b8ae2fd2-3005-11f0-8be8-0242ac150002:1-11")
CASES: list[tuple[Command, str]] = [
    (
        BinlogDump(position=4, flags=1, server_id=77, file="binlog.000001"),
        "12 04000000 0100 4d000000" + b"binlog.000001".hex(),
    ),
    (BinlogDump(server_id=77), "12 04000000 0000 4d000000"),
    (TableDump(schema="shop", table="orders"), "13 04 73686f70 06 6f7264657273"),
    (
        RegisterSlave(server_id=77, host="h", user="u", password="pw", port=3306, rank=0, source_id=0),
        "15 4d000000 01 68 01 75 02 7077 ea0c 00000000 00000000",
    ),
    (
        BinlogDumpGtid(flags=4, server_id=77, file="", position=4, gtids=EncodedGtidSet.from_set(GtidSet())),
        "1e 0400 4d000000 00000000 0400000000000000 08000000 0000000000000000",
    ),
    (
        BinlogDumpGtid(server_id=77, gtids=EncodedGtidSet.from_set(SET)),
        "1e 0000 4d000000 00000000 0400000000000000 30000000 0100000000000000 b8ae2fd2300511f08be80242ac150002"
        "0100000000000000 0100000000000000 0c00000000000000",
    ),
]


@pytest.mark.parametrize(("command", "text"), CASES, ids=lambda value: type(value).__name__)
def test_commands(command: Command, text: str) -> None:
    data = bytes.fromhex(text.replace(" ", ""))
    assert command.encode() == data
    assert decode_command(data) == command
    assert sum(field.size for field in type(command).trace(data)) == len(data)


def test_every_command_is_here() -> None:
    assert {type(command) for command, _ in CASES} == set(COMMANDS.values())


@pytest.mark.parametrize(("command", "text"), CASES[2:], ids=lambda value: type(value).__name__)
def test_a_cut_command(command: Command, text: str) -> None:
    data = bytes.fromhex(text.replace(" ", ""))
    for end in range(len(data)):
        with pytest.raises(GtidalError):
            decode_command(data[:end])


def test_the_number_of_the_internals_page_is_refused() -> None:
    """It prints 0x14 for COM_REGISTER_SLAVE; servers use 0x15."""
    with pytest.raises(DecodeError, match="0x14"):
        decode_command(b"\x14" + bytes(18))


def test_stream_packets() -> None:
    event = bytes(range(30))
    assert decode_packet(b"\0" + event) == EventPacket(0, event)
    assert decode_packet(b"\0\xef\x01" + event, semi_sync=True) == SemiSyncPacket(0, 0xEF, 1, event)
    assert decode_packet(b"\0" + event, semi_sync=True) == EventPacket(0, event)
    assert decode_packet(bytes.fromhex("fe 0000 0200")) == EofPacket(0xFE, 0, 2)
    error = decode_packet(b"\xff\xd4\x04#HY000Could not find first log file name")
    assert isinstance(error, ErrorPacket)
    assert (error.error, error.sqlstate, error.message) == (
        1236,
        b"HY000",
        "Could not find first log file name",
    )
    for data in (b"", b"\x01", b"\xff\x01", b"\xfe\x00"):
        with pytest.raises(GtidalError):
            decode_packet(data)


@pytest.mark.parametrize(
    "packet",
    [
        EventPacket(0, b"x"),
        SemiSyncPacket(0, 0xEF, 0, b"x"),
        EofPacket(),
        ErrorPacket(error=1236, message="gone"),
    ],
)
def test_packets_round_trip(packet: EventPacket) -> None:
    assert decode_packet(packet.encode(), semi_sync=True) == packet


def test_semi_sync_reply() -> None:
    reply = SemiSyncReply(position=1472, file="binlog.000024")
    assert reply.encode() == bytes.fromhex("ef c005000000000000") + b"binlog.000024"
    assert SemiSyncReply.decode(reply.encode()) == reply


@pytest.mark.parametrize(
    "size", [0, 1, Piece.LARGEST - 1, Piece.LARGEST, Piece.LARGEST + 1, 2 * Piece.LARGEST]
)
def test_payloads_over_packets(size: int) -> None:
    """Exactly 16 MiB - 1 is followed by an empty packet; the sequence number wraps."""
    payload = bytes(size)
    pieces = split_payload(payload, sequence=255)
    assert [len(piece.payload) for piece in pieces][:-1] == [Piece.LARGEST] * (size // Piece.LARGEST)
    assert [piece.sequence for piece in pieces] == [(255 + i) % 256 for i in range(len(pieces))]
    data = b"".join(piece.encode() for piece in pieces)
    assert join_payload(data + b"next") == (payload, len(data))
    assert join_payload(data[:-1]) is None


def test_a_packet_out_of_sequence() -> None:
    first = Piece(sequence=0, payload=bytes(Piece.LARGEST)).encode()
    with pytest.raises(DecodeError, match="expected 1"):
        join_payload(first + Piece(sequence=2).encode())
