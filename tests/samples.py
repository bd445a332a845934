"""One event of every type, made from fields: the material for round trips and for damage."""

from __future__ import annotations

import zlib
from decimal import Decimal

import zstandard

from gtidal.columns.jsonb import JsonDiff, encode_diffs, encode_json
from gtidal.columns.temporal import Date, DateTime, Time, Timestamp
from gtidal.events import (
    Context,
    Event,
    Format,
    Header,
    Unknown,
    control,
    encode_event,
    group,
    load,
    mariadb,
    rows,
    statement,
    table_map,
    transaction,
)
from gtidal.events.format import StartV3
from gtidal.gtid import EncodedGtidSet, GtidSet
from tests.logs import format_description

UUID = bytes.fromhex("b8ae2fd2300511f08be80242ac150002")
GTIDS = GtidSet("b8ae2fd2-3005-11f0-8be8-0242ac150002:1-11:13, b8ae2fd2-3005-11f0-8be8-0242ac150002:blue:1-2")

TABLE = table_map.TableMap(
    table_id=77,
    flags=1,
    schema="shop",
    table="orders",
    types=bytes([3, 15, 246, 12, 18, 19, 17, 245, 254, 1, 16, 255, 10]),
    metadata=bytes([0xFC, 0x03, 20, 6, 3, 2, 6, 4, 0xF7, 1, 5, 1, 4]),
    null_bitmap=b"\xfe\x1f",
    optional=(
        table_map.Signedness(1, b"\xa0"),
        table_map.DefaultCharset(2, (255,)),
        table_map.ColumnName(
            4, ("id", "note", "total", "old", "at", "took", "seen", "doc", "state", "n", "b", "g", "d")
        ),
        table_map.EnumLabels(6, (table_map.Labels((b"new", b"paid")),)),
        table_map.GeometryType(7, (1,)),
        table_map.SimplePrimaryKey(8, (0,)),
        table_map.EnumAndSetDefaultCharset(10, (255,)),
        table_map.ColumnVisibility(12, b"\xff\xf8"),
        table_map.UnknownMetadata(99, b"later"),
    ),
)

DOCUMENT = encode_json({"a": [1, 2.5, None, True, "x" * 40], "b": {"c": -70000}})
FIRST: rows.Image = (
    4_000_000_000,
    "grün".encode(),
    Decimal("-12345678901234.567890"),
    DateTime(2024, 2, 29, 23, 59, 59, 0),
    DateTime(2024, 2, 29, 23, 59, 59, 123000),
    Time(True, 838, 59, 58, 990000),
    Timestamp(1_700_000_000, 654321),
    DOCUMENT,
    2,
    200,
    0x1FFF,
    bytes(4) + b"\x01\x01\x00\x00\x00" + bytes(16),
    Date(2024, 0, 0),
)
SECOND: rows.Image = (7, *(None,) * 12)
ALL = b"\xff\x1f"
FEW = b"\x81\x00"
ABSENT = rows.ABSENT
PARTIAL: rows.Image = (
    7,
    *(ABSENT,) * 6,
    rows.JsonDiffs(encode_diffs((JsonDiff(0, "$.a[0]", encode_json(9)), JsonDiff(2, "$.b", None)))),
    *(ABSENT,) * 5,
)


def compressed(data: bytes) -> bytes:
    return b"\x84" + len(data).to_bytes(4, "big") + zlib.compress(data)


def images(event: rows.RowsEvent) -> bytes:
    """The row images of an event alone."""
    codec = event.codec(TABLE, event.before_columns, event.after_columns)
    return codec.write(None, event.rows)  # type: ignore[arg-type]  # the writer is not used


def _rows() -> list[Event]:
    found: list[Event] = []
    insert = {"after_columns": ALL, "rows": (rows.Row(None, FIRST), rows.Row(None, SECOND))}
    update = {"before_columns": ALL, "after_columns": ALL, "rows": (rows.Row(FIRST, SECOND),)}
    delete = {"before_columns": FEW, "rows": (rows.Row((7, *(ABSENT,) * 6, DOCUMENT, *(ABSENT,) * 5), None),)}
    common = {"table_id": 77, "flags": 1, "width": 13, "table": TABLE}
    for write, change, remove in (
        (rows.PreGaWriteRows, rows.PreGaUpdateRows, rows.PreGaDeleteRows),
        (rows.WriteRowsV1, rows.UpdateRowsV1, rows.DeleteRowsV1),
        (rows.WriteRows, rows.UpdateRows, rows.DeleteRows),
    ):
        found += [write(**common, **insert), change(**common, **update), remove(**common, **delete)]  # type: ignore[arg-type]
    found.append(rows.WriteRows(**common, **insert, extra_info=(rows.PartitionInfo(1, 3),)))  # type: ignore[arg-type]
    found.append(
        rows.UpdateRows(
            **common, **update, extra_info=(rows.NdbInfo(0, 5, b"ndb"), rows.MovedPartitionInfo(1, 3, 4))
        )
    )  # type: ignore[arg-type]
    found.append(
        rows.PartialUpdateRows(
            **common,  # type: ignore[arg-type]
            before_columns=ALL,
            after_columns=FEW,
            rows=(
                rows.Row(FIRST, PARTIAL, 1, b"\x01"),
                rows.Row(FIRST, (7, *(ABSENT,) * 6, None, *(ABSENT,) * 5)),
            ),
        )
    )
    plain = (
        rows.WriteRows(**common, **insert),
        rows.UpdateRows(**common, **update),
        rows.DeleteRows(**common, **delete),
    )  # type: ignore[arg-type]
    for kinds in (
        (mariadb.WriteRowsCompressedV1, mariadb.UpdateRowsCompressedV1, mariadb.DeleteRowsCompressedV1),
        (mariadb.WriteRowsCompressed, mariadb.UpdateRowsCompressed, mariadb.DeleteRowsCompressed),
    ):
        for kind, event, options in zip(kinds, plain, (insert, update, delete), strict=True):
            found.append(kind(**common, **options, compressed_rows=compressed(images(event))))  # type: ignore[arg-type]
    return found


def payload() -> transaction.TransactionPayload:
    """A compressed transaction with events inside."""
    inside = Format()
    events: list[Event] = [query(b"BEGIN"), TABLE, _rows()[6], transaction.Xid(9)]
    plain = b"".join(encode_event(with_type(event), inside) for event in events)
    data = zstandard.compress(plain[:40]) + zstandard.compress(plain[40:])
    return transaction.TransactionPayload(
        values=(
            transaction.Compression(2, 0),
            transaction.UncompressedSize(3, len(plain)),
            transaction.PayloadSize(1, len(data)),
            control.EndMark(0),
        ),
        payload=data,
    )


def query(text: bytes) -> statement.Query:
    return statement.Query(
        thread_id=12,
        exec_time=0,
        error_code=0,
        schema="shop",
        status=(
            statement.Flags2(0, 0x4000),
            statement.SqlMode(1, 1168113696),
            statement.Catalog(6, "std"),
            statement.AutoIncrement(3, 2, 1),
            statement.SessionCharset(4, 255, 255, 8),
            statement.TimeZone(5, "SYSTEM"),
            statement.LcTimeNames(7, 3),
            statement.DatabaseCharset(8, 33),
            statement.Invoker(11, "root", "localhost"),
            statement.UpdatedSchemas(12, schemas=("shop", "audit")),
            statement.Microseconds(13, 123456),
            statement.ExplicitDefaultsForTimestamp(16, 1),
            statement.DdlXid(17, 99),
            statement.DefaultCollationForUtf8mb4(18, 255),
            statement.SqlRequirePrimaryKey(19, 0),
            statement.DefaultTableEncryption(20, 0),
            statement.EnableCascadeTriggers(21, 1),
        ),
        query=text,
    )


def with_type(event: Event) -> Event:
    header = Header(timestamp=1_700_000_000, type_code=event.code or 200, server_id=1)
    event.__dict__["header"] = header
    return event


def _load() -> dict[str, object]:
    return {
        "thread_id": 3,
        "exec_time": 1,
        "skip_lines": 2,
        "field_terminator": b",",
        "enclosed_by": b'"',
        "line_terminator": b"\n",
        "line_start": b">",
        "escaped_by": b"\\",
        "opt_flags": 6,
        "fields": ("a", "bc"),
        "table": "t",
        "schema": "shop",
        "file": "/data/t.csv",
    }


def samples() -> list[Event]:
    """At least one event of every type code."""
    gtid = {
        "flags": 1,
        "uuid": UUID,
        "gno": 12,
        "last_committed": 3,
        "sequence_number": 4,
        "immediate_commit_timestamp": 1748308013569478,
        "transaction_length": 261,
        "immediate_server_version": 90704,
    }
    replicated = {
        "original_commit_timestamp": 1748308000000000,
        "original_server_version": 80040,
        "commit_group_ticket": 5,
    }
    encoded = EncodedGtidSet.from_set(GTIDS)
    events: list[Event] = [
        StartV3(3, "4.0.16-log", 1_000_000_000),
        query(b"CREATE TABLE t (a INT)"),
        control.Stop(),
        control.Rotate(4, "binlog.000025"),
        statement.Intvar(2, 1 << 40),
        load.Load(**_load(), empty_flags=1),  # type: ignore[arg-type]
        control.Slave(b"never"),
        load.CreateFile(**_load(), file_id=9, block=b"1,2\n"),  # type: ignore[arg-type]
        load.AppendBlock(9, b"3,4\n"),
        load.ExecLoad(9),
        load.DeleteFile(9),
        load.NewLoad(**_load()),  # type: ignore[arg-type]
        statement.Rand(1 << 63, 12345),
        statement.UserVar(b"v", 0, 4, 8, bytes([5, 2, 0x80, 123, 45]), 1),
        statement.UserVar(b"w", 1),
        format_description(),
        transaction.Xid(1 << 40),
        load.BeginLoadQuery(9, b"1,2\n"),
        load.ExecuteLoadQuery(3, 1, 0, "shop", (statement.Flags2(0, 1),), 9, 18, 30, 1, b"LOAD DATA INFILE '/data/t.csv' INTO TABLE t"),
        TABLE,
        *_rows(),
        control.Incident(1, b"LOST_EVENTS"),
        control.Heartbeat("binlog.000001"),
        control.Ignorable(b"whatever"),
        statement.RowsQuery(22, b"INSERT INTO t VALUES (1)"),
        transaction.Gtid(**gtid, clock_type=2),  # type: ignore[arg-type]
        transaction.Gtid(**gtid, **replicated, clock_type=2),  # type: ignore[arg-type]
        transaction.Gtid(flags=1, uuid=UUID, gno=3),
        transaction.AnonymousGtid(**(gtid | {"gno": 0, "uuid": bytes(16)}), clock_type=2),  # type: ignore[arg-type]
        control.PreviousGtids(encoded),
        group.TransactionContext(7, 1, "b8ae2fd2-3005-11f0-8be8-0242ac150002", encoded, (group.HashedKey(b"12345678"),), ()),
        group.ViewChange("17000:1", 8, (group.CertificationItem(b"key", encoded.encode()),)),
        transaction.XaPrepare(0, 1, b"trx", b"branch"),
        payload(),
        control.HeartbeatV2((control.HeartbeatFile(1, "binlog.000001"), control.HeartbeatPosition(2, 1 << 33), control.UnknownValue(9, b"x"), control.EndMark(0))),
        transaction.GtidTagged(**gtid, **replicated, tag="blue"),  # type: ignore[arg-type]
        transaction.GtidTagged(**gtid, tag="x" * 32, unknown_fields=bytes([24, 0, 2, 4])),  # type: ignore[arg-type]
        control.LargeTransactionHeader(1, 65536, 16, bytes(40)),
        mariadb.AnnotateRows(b"INSERT INTO t VALUES (1)"),
        mariadb.BinlogCheckpoint("maria-bin.000001"),
        mariadb.MariadbGtidEvent(5, 0, 2 | 4, commit_id=99, extra_flags=1 | 4 | 16, extra_engines=1, start_alter=4, thread_id=8),
        mariadb.MariadbGtidEvent(5, 0, 64, format_id=1, gtrid=b"trx", bqual=b"b", extra_flags=0, padding=bytes(3)),
        mariadb.GtidList(1, (mariadb.GtidListEntry(0, 1, 5), mariadb.GtidListEntry(7, 2, 1 << 40))),
        mariadb.StartEncryption(1, 1, bytes(range(12))),
        mariadb.QueryCompressed(3, 0, 0, "shop", (statement.MariadbXid(129, 3), statement.MariadbGtidFlags(130, 4, 77), statement.CharacterSetCollations(131, pairs=(statement.CollationPair(45, 255),)), statement.Padding(255, b"\xff")), compressed(b"INSERT INTO t VALUES (1)")),
        mariadb.PartialRowData(2, 1, 1, 4096, b"fragment"),
        Unknown(b"something new"),
    ]  # fmt: skip
    return [with_type(event) for event in events]


def context_for(event: Event, format: Format | None = None) -> Context:
    """A context in which ``event`` decodes: its table map is known."""
    return Context(format or format_description().format, {77: TABLE})
