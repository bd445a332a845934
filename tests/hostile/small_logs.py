"""Small logs that hold a lot: the material that damage is done to."""

from __future__ import annotations

from decimal import Decimal
from functools import cache
from typing import Any

from gtidal.columns.jsonb import encode_json
from gtidal.columns.temporal import Date, DateTime, Time, Timestamp
from gtidal.events import Event, mariadb, rows, statement, table_map, transaction
from tests.logs import build_log
from tests.samples import UUID, payload, query, samples, with_type

PARTS = 10
DOCUMENT = {
    "": [],
    "a": [1, -1, 127, -128, 255, 32768, -70000, 1 << 40, (1 << 64) - 1, 0.1, None, True, False, "", "é" * 40],
    "id": {"note": {"deep": [[[{}]]]}, "b" * 70: "c" * 200},
    "zz": [Decimal("12.50"), {"k": [{"k": 1}, {"k": 2}]}],
}

# type code, metadata bytes, the values of two rows
Columns = tuple[tuple[int, str, Any, Any], ...]
NUMBERS: Columns = (
    (1, "", -128, 127),
    (1, "", 255, 0),
    (2, "", -32768, 32767),
    (9, "", -8388608, 8388607),
    (9, "", 16777215, 1),
    (3, "", -2147483648, 2147483647),
    (8, "", -(1 << 63), (1 << 63) - 1),
    (8, "", (1 << 64) - 1, 1 << 63),
    (4, "04", 0.5, -3.25),
    (5, "08", 1e300, -0.1),
    (246, "0a02", Decimal("-12345678.90"), Decimal("0.01")),
    (246, "1e0a", Decimal("-12345678901234567890.0123456789"), Decimal("99999999999999999999.9999999999")),
    (246, "411e", Decimal("-" + "9" * 35 + "." + "1" * 30), Decimal(0)),
    (13, "", 2155, 0),
    (16, "0501", 0x1FFF, 1),
)
NUMBERS_UNSIGNED = (0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0)
TIMES: Columns = (
    (10, "", Date(2024, 2, 29), Date(2024, 0, 31)),
    (11, "", Time(True, 838, 59, 59, 0), Time(False, 0, 0, 1, 0)),
    (12, "", DateTime(9999, 12, 31, 23, 59, 59, 0), DateTime(0, 0, 0, 0, 0, 0, 0)),
    (7, "", Timestamp(4294967295, 0), Timestamp(0, 0)),
    (17, "03", Timestamp(2147483647, 999000), Timestamp(0, 0)),
    (17, "06", Timestamp(1, 1), Timestamp(1700000000, 999999)),
    (18, "00", DateTime(1000, 1, 1, 0, 0, 0, 0), DateTime(2024, 2, 30, 1, 2, 3, 0)),
    (18, "06", DateTime(2024, 2, 29, 23, 59, 59, 999999), DateTime(0, 0, 0, 0, 0, 0, 0)),
    (19, "00", Time(True, 838, 59, 59, 0), Time(False, 0, 0, 0, 0)),
    (19, "02", Time(True, 0, 0, 0, 10000), Time(False, 838, 59, 58, 990000)),
    (19, "06", Time(True, 1, 2, 3, 4), Time(False, 1, 2, 3, 4)),
)
TEXTS: Columns = (
    (15, "2800", "grün".encode(), b""),
    (15, "9001", b"x" * 300, "日本語 🐟".encode()),
    (254, "fe28", b"char", b"no text: \xff\xfe"),
    (254, "fe10", b"binary\x00\x01", b""),
    (252, "01", b"t" * 60, b"\xed\xa0\x80"),
    (252, "04", b"long", b"caf\xe9"),
    (254, "f701", 1, 3),
    (254, "f802", 5, 0xFFFF),
    (242, "04", b"\x00\x00\x80\x3f" * 3, b"\x01\x02\x03"),
    (245, "04", encode_json(DOCUMENT), b""),
    (245, "04", encode_json([1, {"a": 2}]), encode_json("x" * 130)),
    (255, "04", bytes(4) + b"\x01\x01\x00\x00\x00" + bytes(16), b"\x01\x02"),
)
TEXTS_CHARSETS = (
    255,
    8,
    33,
    63,
    255,
    51,
    63,
)  # of the first six and of VECTOR: utf8mb4, latin1, utf8, binary, cp1251


def _table(number: int, columns: Columns, *optional: table_map.Metadata) -> table_map.TableMap:
    names = tuple(("id", "note", "a", "c")[i] if i < 4 else f"column{i}" for i in range(len(columns)))
    return table_map.TableMap(
        table_id=number,
        flags=1,
        schema="shop",
        table=f"t{number}",
        types=bytes(column[0] for column in columns),
        metadata=bytes.fromhex("".join(column[1] for column in columns)),
        null_bitmap=b"\xff" * ((len(columns) + 7) // 8),
        optional=(*optional, table_map.ColumnName(4, names)),
    )


def _bits(flags: tuple[int, ...]) -> bytes:
    text = "".join(map(str, flags))
    return int(text.ljust(-len(text) // 8 * -8, "0"), 2).to_bytes((len(text) + 7) // 8, "big")


def _changes(table: table_map.TableMap, columns: Columns) -> list[Event]:
    """Inserts, an update and a delete: whole and minimal images, NULLs."""
    width = len(columns)
    size = (width + 7) // 8
    whole = ((1 << width) - 1).to_bytes(size, "little")
    first = tuple(column[2] for column in columns)
    second = tuple(column[3] for column in columns)
    third = tuple(None if place % 3 else value for place, value in enumerate(first))
    key = b"\x01".ljust(size, b"\0")
    few = b"\x05".ljust(size, b"\0")
    absent = rows.ABSENT
    shared: dict[str, Any] = {"table_id": table.table_id, "width": width, "table": table}
    return [
        rows.WriteRows(**shared, flags=0, after_columns=whole, rows=(rows.Row(None, first), rows.Row(None, second))),
        rows.WriteRowsV1(**shared, flags=0, after_columns=whole, rows=(rows.Row(None, third),)),
        rows.UpdateRows(
            **shared,
            flags=0,
            before_columns=key,
            after_columns=few,
            rows=(rows.Row((first[0], *(absent,) * (width - 1)), (second[0], absent, None, *(absent,) * (width - 3))),),
        ),
        rows.DeleteRows(**shared, flags=1, before_columns=whole, rows=(rows.Row(second, None),)),
    ]  # fmt: skip


def _tables() -> list[tuple[table_map.TableMap, Columns]]:
    return [
        (_table(101, NUMBERS, table_map.Signedness(1, _bits(NUMBERS_UNSIGNED))), NUMBERS),
        (_table(102, TIMES), TIMES),
        (
            _table(
                103,
                TEXTS,
                table_map.ColumnCharset(3, TEXTS_CHARSETS),
                table_map.SetLabels(5, (table_map.Labels((b"x", b"y", b"z")),)),
                table_map.EnumLabels(6, (table_map.Labels((b"new", b"paid")),)),
                table_map.GeometryType(7, (1,)),
                table_map.EnumAndSetDefaultCharset(10, (255,)),
            ),
            TEXTS,
        ),
    ]


def _gtid(number: int) -> transaction.Gtid:
    return transaction.Gtid(
        flags=1,
        uuid=UUID,
        gno=number,
        clock_type=2,
        last_committed=number - 1,
        sequence_number=number,
        immediate_commit_timestamp=1748308013569478 + number,
        transaction_length=900,
        immediate_server_version=90704,
    )


def _transactions() -> list[list[Event]]:
    found: list[list[Event]] = []
    for number, (table, columns) in enumerate(_tables(), 1):
        texts = statement.RowsQuery(22, b"UPDATE t SET a = 1")
        changes = _changes(table, columns)
        found.append([_gtid(number), query(b"BEGIN"), texts, table, *changes, transaction.Xid(number)])
    ddl = [_gtid(7), query(b"CREATE TABLE t (a INT)")]
    xa = [
        _gtid(8),
        query(b"XA START X'61',X'',1"),
        query(b"XA END X'61',X'',1"),
        transaction.XaPrepare(0, 1, b"a", b""),
    ]
    compressed = [_gtid(9), payload()]
    return [*found, ddl, xa, compressed]


def _other_transactions() -> list[list[Event]]:
    """MariaDB's, those without a GTID, those of statements; one that the next cuts off."""
    table, columns = _tables()[1]
    changes = _changes(table, columns)
    settings = [
        statement.Intvar(2, 5),
        statement.Rand(7, 8),
        statement.UserVar(b"v", 0, 0, 8, b"value", 0),
        statement.UserVar(b"w", 1),
    ]
    text = mariadb.AnnotateRows(b"INSERT INTO t VALUES (1)")
    first = mariadb.MariadbGtidEvent(5, 0, 2 | 4, commit_id=99, extra_flags=16, thread_id=8)
    second = mariadb.MariadbGtidEvent(6, 0, 4, extra_flags=0, padding=bytes(5))
    return [
        [first, text, table, *changes, transaction.Xid(5), second, text, table, *changes, query(b"COMMIT")],
        [query(b"BEGIN"), table, *changes, transaction.Xid(1), query(b"BEGIN"), table, *changes, query(b"ROLLBACK")],
        [_gtid(1), query(b"BEGIN"), *settings, query(b"/* a */ INSERT INTO t VALUES (@v)"), query(b"SAVEPOINT s"),
         query(b"UPDATE t SET a = RAND()"), query(b"ROLLBACK TO s"), transaction.Xid(2)],
        [*settings, query(b"delete from t"), _gtid(2), query(b"DROP TABLE t"), first, query(b"INSERT t VALUES (1)"),
         second, *settings, query("INSERT t VALUES ('grün')".encode()), transaction.Xid(3)],
    ]  # fmt: skip


@cache
def small_logs(*, others: bool = False) -> tuple[bytes, ...]:
    """Whole transactions with all column types, and, in ten logs, every event type there is; with checksums and
    without, since damage gets further without. ``others``: also transactions other than MySQL's of rows."""
    every = [event for event in samples() if event.code not in (1, 15, 164)]
    table = [event for event in every if event.code == 19]
    logs = []
    for checksum in (0, 1):
        for part in range(PARTS):
            events: list[Event] = []
            for event in every[
                part::PARTS
            ]:  # a rows event ends its statement: the next needs the table map again
                events += [*table, event] if isinstance(event, rows.RowsEvent) else [event]
            logs.append(build_log(events, checksum))
        for events in [*_transactions(), *(_other_transactions() if others else ())]:
            logs.append(build_log([with_type(event) for event in events], checksum))
    return tuple(logs)
