"""Small logs for the tests of commands: the seeds' binlog.000024 rebuilt, and logs of our own making."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from zlib import crc32

import zstandard

from gtidal.events import Event, Format, Header, encode_event
from gtidal.events.control import EndMark, Ignorable, PreviousGtids, Rotate, Stop
from gtidal.events.format import CRC32, MAGIC, FormatDescription
from gtidal.events.frame import decode_event
from gtidal.events.images import Row
from gtidal.events.registry import Context
from gtidal.events.rows import DeleteRows, UpdateRows, WriteRows
from gtidal.events.statement import Query
from gtidal.events.table_map import (
    ColumnName,
    DefaultCharset,
    EnumAndSetDefaultCharset,
    EnumLabels,
    Labels,
    Metadata,
    Signedness,
    SimplePrimaryKey,
    TableMap,
)
from gtidal.events.transaction import (
    Compression,
    Gtid,
    PayloadSize,
    TransactionPayload,
    UncompressedSize,
    Xid,
)
from gtidal.gtid import EncodedGtidSet, GtidSet
from tests.events import test_seeds as seeds
from tests.logs import build_log

SEALED = Format(checksum=CRC32)
HEADER_AND_CHECKSUM = 23
COMMITS = {
    458: (13, 2, 1748308018964504, 310),
    768: (14, 3, 1748308018968955, 342),
    1110: (15, 4, 1748308018972353, 318),
}
"""Position of the seeds' GTID events: number, sequence number, commit time, transaction length."""


def seed_log() -> bytes:
    """binlog.000024 with the events that the seeds print, at their positions; what lies between is filled
    with IGNORABLE events."""
    first = decode_event(seeds.FORMAT_8_0, 4, Context(Format(), {}))
    assert isinstance(first, FormatDescription)
    header = replace(first.header, flags=0, server_id=1, timestamp=1748307822, log_pos=126)
    first = replace(first, server_version="8.0.40", created=0, header=header)
    previous = seeds.PREVIOUS_GTIDS_HEADER + seeds.PREVIOUS_GTIDS
    gtid = decode_event(seeds.GTID, 197, Context(SEALED, {}))
    assert isinstance(gtid, Gtid)
    data = MAGIC + encode_event(first, SEALED) + sealed(previous) + seeds.GTID
    for position, (gno, sequence, commit, length) in COMMITS.items():
        data = fill(data, position)
        header = replace(gtid.header, timestamp=commit // 1_000_000, log_pos=position + 79)
        data += encode_event(
            replace(
                gtid,
                flags=0,
                gno=gno,
                last_committed=sequence - 1,
                sequence_number=sequence,
                immediate_commit_timestamp=commit,
                transaction_length=length,
                header=header,
            ),
            SEALED,
        )
    return fill(data, 1428) + seeds.ROTATE


def sealed(event: bytes) -> bytes:
    return event + crc32(event).to_bytes(4, "little")


def fill(data: bytes, position: int) -> bytes:
    size = position - len(data)
    header = Header(timestamp=1748308013, type_code=Ignorable.code, server_id=1, log_pos=position, flags=0x80)
    return data + encode_event(Ignorable(bytes(size - HEADER_AND_CHECKSUM), header=header), SEALED)


HEADER = Header(timestamp=1_700_000_000, server_id=1)


def orders(*, note: bool = False, names: bool = True) -> TableMap:
    """shop.orders: id INT UNSIGNED, name VARCHAR(16), state ENUM, and later note VARCHAR(8)."""
    labels = Labels((b"new", b"paid"))
    optional: list[Metadata] = [Signedness(1, b"\x80")]
    if names:
        titles = ("id", "name", "state", *(("note",) if note else ()))
        optional += [
            DefaultCharset(2, (255,)),
            EnumAndSetDefaultCharset(10, (255,)),
            ColumnName(4, titles),
            EnumLabels(6, (labels,)),
            SimplePrimaryKey(8, (0,)),
        ]
    return TableMap(
        table_id=90 + note,
        flags=1,
        schema="shop",
        table="orders",
        types=bytes((3, 15, 254)) + (b"\x0f" if note else b""),
        metadata=bytes.fromhex("4000 f701") + (bytes.fromhex("2000") if note else b""),
        null_bitmap=b"\x0c" if note else b"\x04",
        optional=tuple(optional),
        header=HEADER,
    )


def change(kind: type, table: TableMap, *rows: Row) -> Event:
    columns = {"before_columns": b"\xff"} if kind.has_before else {}
    if kind.has_after:
        columns["after_columns"] = b"\xff"
    return kind(
        table_id=table.table_id,
        flags=1,
        width=len(table.types),
        rows=rows,
        table=table,
        header=HEADER,
        **columns,
    )


def query(text: bytes) -> Query:
    return Query(thread_id=8, exec_time=0, error_code=0, schema="shop", status=(), query=text, header=HEADER)


def transaction_events() -> list[Event]:
    """Two rows inserted, one updated."""
    table = orders()
    return [
        query(b"BEGIN"),
        table,
        change(WriteRows, table, Row(None, (1, b"anna", 1)), Row(None, (2, b"bert", None))),
        table,
        change(UpdateRows, table, Row((1, b"anna", 1), (1, b"anna", 2))),
        Xid(40, header=HEADER),
    ]


def shop_log() -> bytes:
    """The transaction above; then the table has a column more, and a row is deleted."""
    table = orders(note=True)
    return build_log(
        [
            *transaction_events(),
            query(b"BEGIN"),
            table,
            change(DeleteRows, table, Row((2, b"bert", None, b"bye"), None)),
            Xid(41, header=HEADER),
        ]
    )


def compressed_log() -> bytes:
    """The transaction above, in a compressed payload."""
    inside = b"".join(
        encode_event(replace(event, header=replace(event.header, type_code=event.code)), Format())
        for event in transaction_events()
    )
    payload = zstandard.ZstdCompressor().compress(inside)
    values = (Compression(2, 0), UncompressedSize(3, len(inside)), PayloadSize(1, len(payload)), EndMark())
    return build_log([TransactionPayload(values, payload, header=HEADER)])


def with_gtid(gno: int, events: list[Event]) -> list[Event]:
    """The events behind a GTID that announces their length, its own included."""
    length = sum(len(encode_event(event, SEALED)) for event in events)
    gtid = Gtid(
        flags=0,
        uuid=bytes.fromhex("b8ae2fd2300511f08be80242ac150002"),
        gno=gno,
        clock_type=2,
        last_committed=gno - 1,
        sequence_number=gno,
        immediate_commit_timestamp=1_700_000_000_000_000,
        transaction_length=1 << 10,
        immediate_server_version=90704,
        header=HEADER,
    )
    size = len(encode_event(gtid, SEALED))  # the length takes three bytes, in both cases
    return [replace(gtid, transaction_length=length + size), *events]


def two_logs(folder: Path) -> None:
    """A log of two files with GTIDs; the second deletes a row."""
    table = orders()
    rotate = Rotate(4, "binlog.000002", header=HEADER)
    write(folder, build_log([*with_gtid(1, transaction_events()), rotate]), "binlog.000001")
    deletion = [
        query(b"BEGIN"),
        table,
        change(DeleteRows, table, Row((2, b"bert", None), None)),
        Xid(41, header=HEADER),
    ]
    previous = EncodedGtidSet.from_set(GtidSet("b8ae2fd2-3005-11f0-8be8-0242ac150002:1"))
    head = PreviousGtids(previous, header=replace(HEADER, flags=0x80))
    stop = Stop(header=HEADER)
    write(folder, build_log([head, *with_gtid(2, deletion), stop]), "binlog.000002")


def write(folder: Path, data: bytes, name: str = "binlog.000024") -> str:
    path = folder / name
    path.write_bytes(data)
    return str(path)
