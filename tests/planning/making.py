"""Logs that are made for the tests of parts: with times, GTIDs and lengths that are right."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace
from struct import pack_into

from gtidal.events import Event, Header, encode_event, rows, table_map
from gtidal.events.control import PreviousGtids, Rotate
from gtidal.events.format import CRC32, MAGIC
from gtidal.events.header import IN_USE
from gtidal.events.statement import Query
from gtidal.events.transaction import AnonymousGtid, Gtid, Xid
from gtidal.gtid import EncodedGtidSet, GtidSet
from tests.logs import format_description

UUID = "b8ae2fd2-3005-11f0-8be8-0242ac150002"
START = 1_700_000_000
TABLE = table_map.TableMap(
    table_id=7,
    flags=1,
    schema="shop",
    table="blobs",
    types=bytes((8, 252)),
    metadata=b"\x04",
    null_bitmap=b"\x03",
    optional=(table_map.ColumnName(4, ("id", "data")),),
)


def insert(number: int, data: bytes) -> list[Event]:
    """A row with a BLOB, and its table."""
    row = rows.Row(None, (number, data))
    written = rows.WriteRows(table_id=7, flags=1, width=2, after_columns=b"\x03", rows=(row,), table=TABLE)
    return [TABLE, written]


def query(text: str) -> Query:
    return Query(thread_id=7, exec_time=0, error_code=0, schema="shop", status=(), query=text.encode())


class LogMaker:
    """A log that grows. ``data`` is the file so far."""

    def __init__(
        self,
        previous: str | None = "",
        *,
        checksum: int = CRC32,
        server_version: str = "9.7.4",
        in_use: bool = False,
        server_id: int = 1,
        start: int = START,
        origin: int = 0,
    ) -> None:
        """``origin``: how far the positions in headers are from those in the file, as in a relay log."""
        first = format_description(server_version, checksum)
        self.format = first.format
        self.server_id = server_id
        self.origin = origin
        self.data = bytearray(MAGIC)
        self.add(first, start, IN_USE if in_use else 0)
        if previous is not None:
            self.add(PreviousGtids(EncodedGtidSet.from_set(GtidSet(previous))), start)

    def add(self, event: Event, timestamp: int = START, flags: int = 0) -> None:
        self.data += self.encoded(event, timestamp, flags)

    def encoded(self, event: Event, timestamp: int = START, flags: int = 0, at: int | None = None) -> bytes:
        """An event as it would stand at a position; the log's end unless told."""
        position = len(self.data) if at is None else at
        header = Header(timestamp=timestamp, type_code=event.code, server_id=self.server_id, flags=flags)
        draft = encode_event(replace(event, header=header), self.format)
        end = (position + len(draft) + self.origin) & 0xFFFFFFFF
        return encode_event(replace(event, header=replace(header, log_pos=end)), self.format)

    def transaction(self, number: int, *events: Event, timestamp: int = START, named: bool = True) -> None:
        """GTID, BEGIN, these events, XID; the GTID tells how long all of it is."""
        body = [query("BEGIN"), *(events or insert(number, b"x" * 40)), Xid(number)]
        length = sum(len(self.encoded(event)) for event in body)
        for _ in range(2):
            begin = _gtid(number, named, length)
            length = sum(len(self.encoded(event)) for event in (begin, *body))
        for event in (_gtid(number, named, length), *body):
            self.add(event, timestamp)

    def statements(self, *texts: str, timestamp: int = START) -> None:
        """As servers before GTIDs wrote them."""
        for text in texts:
            self.add(query(text), timestamp)

    def rotate(self, next_file: str = "binlog.000002", timestamp: int = START) -> None:
        self.add(Rotate(start=4, next_file=next_file), timestamp)

    def repeat(self, template: bytes, times: Sequence[int]) -> None:
        """The same events again and again, each time at another time and in its place: for large logs."""
        copy = bytearray(template)
        starts = []
        at = 0
        while at < len(copy):
            starts.append(at)
            at += int.from_bytes(copy[at + 9 : at + 13], "little")
        ends = [*starts[1:], len(copy)]
        pieces = [bytes(self.data)]
        position = len(self.data)
        for timestamp in times:
            for start, end in zip(starts, ends, strict=True):
                pack_into("<I", copy, start, timestamp)
                pack_into("<I", copy, start + 13, position + end)
                pack_into("<I", copy, end - 4, zlib.crc32(memoryview(copy)[start : end - 4]))
            pieces.append(bytes(copy))
            position += len(copy)
        self.data = bytearray(b"".join(pieces))


def _gtid(number: int, named: bool, length: int) -> Event:
    kind = Gtid if named else AnonymousGtid
    return kind(
        flags=0,
        uuid=bytes.fromhex(UUID.replace("-", "")) if named else bytes(16),
        gno=number if named else 0,
        clock_type=2,
        last_committed=number - 1,
        sequence_number=number,
        immediate_commit_timestamp=START * 1_000_000,
        transaction_length=length,
        immediate_server_version=90704,
    )


def crafted(maker: LogMaker, size: int, number: int) -> bytes:
    """What looks like transactions, for a BLOB that the next transaction of ``maker`` writes: bytes that would be right
    just there, to their positions and checksums."""
    mark = b"\xa7" * size
    trial = LogMaker(None)
    trial.data, trial.format, trial.origin = bytearray(maker.data), maker.format, maker.origin
    trial.transaction(number, *insert(number, mark))
    start = bytes(trial.data).index(mark)
    fake = LogMaker(None)
    fake.format, fake.origin = maker.format, maker.origin
    fake.data = bytearray(trial.data[:start])
    while len(fake.data) + 400 < start + size:
        fake.transaction(1_000_000 + len(fake.data), *insert(666, b"never written"))
    return bytes(fake.data[start:]).ljust(size, b"\xa7")
