"""The replication commands and the stream, said to a real source: it must understand ours, and we its answers."""

from __future__ import annotations

from collections.abc import Iterator

import pymysql
import pytest

from gtidal.cli.main import main
from gtidal.events import Event
from gtidal.events.control import HeartbeatV2, Rotate
from gtidal.events.format import MAGIC
from gtidal.events.protocol import (
    DUMP_NON_BLOCK,
    DUMP_USE_HEARTBEAT_V2,
    BinlogDump,
    BinlogDumpGtid,
    Command,
    EofPacket,
    ErrorPacket,
    EventPacket,
    RegisterSlave,
    decode_packet,
)
from gtidal.gtid import EncodedGtidSet, GtidSet
from gtidal.log.decoder import LogDecoder
from gtidal.sources.files import open_log
from tests.live.servers import MySQLServer


@pytest.fixture(scope="module")
def source() -> Iterator[MySQLServer]:
    """Four files: transactions plain and tagged, with a gap, in each."""
    with MySQLServer.temporary("--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--server-id=5") as server:
        server.execute("CREATE DATABASE shop; CREATE TABLE shop.t (a INT PRIMARY KEY)")
        for number in range(1, 10):
            if number % 3 == 0:
                server.flush()
            tag = "SET gtid_next='AUTOMATIC:blue';" if number % 2 else ""
            server.execute(f"{tag} INSERT INTO shop.t VALUES ({number}); SET gtid_next='AUTOMATIC'")
        server.execute(
            f"SET gtid_next='{server.uuid}:100'; INSERT INTO shop.t VALUES (100); SET gtid_next='AUTOMATIC'"
        )
        yield server


def stream(source: MySQLServer, command: Command) -> Iterator[bytes]:
    """The events that a source sends for a dump command that does not wait."""
    connection = source.connect()
    try:
        with connection.cursor() as cursor:
            cursor.execute("SET @source_binlog_checksum = @@global.binlog_checksum")
        data = command.encode()
        connection._execute_command(data[0], data[1:])
        while True:
            packet = decode_packet(b"".join(read_payload(connection)))
            if isinstance(packet, EofPacket):
                return
            assert isinstance(packet, EventPacket)
            yield packet.event
    finally:
        connection.close()


def read_payload(connection: pymysql.Connection) -> Iterator[bytes]:
    """One packet as it comes, errors included: PyMySQL would raise those itself."""
    while True:
        header = connection._read_bytes(4)
        size = int.from_bytes(header[:3], "little")
        yield connection._read_bytes(size)
        if size < 0xFFFFFF:
            return


def decoded(events: Iterator[bytes]) -> list[Event]:
    decoder = LogDecoder("stream")
    decoder.receive_data(MAGIC)
    found = []
    for data in events:
        decoder.receive_data(data)
        event = decoder.next_event()
        assert event is not None
        found.append(event)
    return found


def test_dump_by_position_is_the_file(source: MySQLServer) -> None:
    """What the source sends of its first file is what the file holds."""
    first = source.binlogs()[0]
    events = decoded(stream(source, BinlogDump(flags=DUMP_NON_BLOCK, server_id=77, file=first.name)))
    assert isinstance(events[0], Rotate)
    assert events[0].artificial
    assert (events[0].next_file, events[0].start) == (first.name, 4)
    assert events[0].checksum is not None, "announced by the session variable, before any format description"
    sent = [(event.name, event.header.size) for event in events[1:]]
    held = [(event.name, event.header.size) for event in open_log(first, inner=False)]
    assert sent[: len(held)] == held


SETS = ["", "{0}:1-2", "{0}:1-4:blue:1-2", "{0}:1-6:blue:1-3", "{0}:1-6:blue:1-5", "{0}:1-6:100:blue:1-5"]


@pytest.mark.parametrize("text", SETS)
def test_the_file_to_start_from(source: MySQLServer, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`gtidal gtid start` chooses the file that the source itself chooses for a replica with these GTIDs."""
    already = GtidSet(text.format(source.uuid))
    encoded = EncodedGtidSet.from_set(already)
    events = decoded(stream(source, BinlogDumpGtid(flags=DUMP_NON_BLOCK, server_id=77, gtids=encoded)))
    assert isinstance(events[0], Rotate)
    assert main(["gtid", "start", already.one_line(), str(source.binlog_dir)]) == 0
    assert capsys.readouterr().out.strip().endswith(events[0].next_file)
    sent = {str(event.gtid) for event in events if getattr(event, "gtid", None)}
    assert not any(gtid in already for gtid in sent)


def test_registering(source: MySQLServer) -> None:
    """0x15 makes a replica visible; the Internals page's 0x14 is refused."""
    connection = source.connect()
    try:
        data = RegisterSlave(server_id=77, host="here", user="u", password="p", port=3307).encode()
        connection._execute_command(data[0], data[1:])
        assert b"".join(read_payload(connection))[0] == 0
        with connection.cursor() as cursor:
            cursor.execute("SHOW REPLICAS")
            assert cursor.fetchall()[0][:3] == (77, "here", 3307)
        connection._execute_command(0x14, data[1:])
        answer = decode_packet(b"".join(read_payload(connection)))
        assert isinstance(answer, ErrorPacket)
    finally:
        connection.close()


def test_a_position_that_is_gone(source: MySQLServer) -> None:
    connection = source.connect()
    try:
        data = BinlogDump(flags=DUMP_NON_BLOCK, server_id=77, file="binlog.777777").encode()
        connection._execute_command(data[0], data[1:])
        answer = decode_packet(b"".join(read_payload(connection)))
        assert isinstance(answer, ErrorPacket)
        assert (answer.error, answer.sqlstate) == (1236, b"HY000")
    finally:
        connection.close()


def test_heartbeats(source: MySQLServer) -> None:
    """A client that waits and asked for the second version gets those."""
    connection = source.connect(read_timeout=20)
    try:
        with connection.cursor() as cursor:
            cursor.execute("SET @source_binlog_checksum = @@global.binlog_checksum")
            cursor.execute("SET @source_heartbeat_period = 100000000")
        last = source.binlogs()[-1]
        data = BinlogDump(flags=DUMP_USE_HEARTBEAT_V2, server_id=78, file=last.name).encode()
        connection._execute_command(data[0], data[1:])
        decoder = LogDecoder("stream")
        decoder.receive_data(MAGIC)
        for _ in range(200):
            packet = decode_packet(b"".join(read_payload(connection)))
            assert isinstance(packet, EventPacket)
            decoder.receive_data(packet.event)
            event = decoder.next_event()
            if isinstance(event, HeartbeatV2):
                assert (event.file, event.position) == (last.name, last.stat().st_size)
                return
        pytest.fail("no heartbeat came")
    finally:
        connection.close()
