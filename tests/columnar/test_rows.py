"""Typed rows: they are the reference decoder's values, in one schema for all versions of a table."""

from __future__ import annotations

import datetime
import io
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from itertools import product
from typing import Any

import duckdb
import polars
import pyarrow as pa
import pytest

from gtidal.columnar import kernel
from gtidal.columnar.scanning import LogScan, Scan
from gtidal.columnar.schemas import CHANGES, ROWS
from gtidal.columnar.table_schema import TableSchema, widen
from gtidal.columnar.table_versions import find_versions, find_versions_quickly
from gtidal.columnar.variant import decode
from gtidal.columnar.windows import WindowReader
from gtidal.columns.jsonb import encode_json
from gtidal.columns.temporal import Date, DateTime, Time, Timestamp
from gtidal.errors import DecodeError, GtidalError, SchemaConflict
from gtidal.events import Event, table_map
from gtidal.events.images import ABSENT, Row
from gtidal.events.rows import DeleteRows, RowsEvent, UpdateRows, WriteRows
from gtidal.events.transaction import Xid
from tests.columnar import row_judge
from tests.columnar.drift_judges import How, compare
from tests.hostile.small_logs import small_logs
from tests.logs import CorpusLog, build_log, corpus_logs
from tests.samples import query

INT, BIGINT, TINY, DOUBLE, FLOAT, DATE = (3, ""), (8, ""), (1, ""), (5, "08"), (4, "04"), (10, "")
DATETIME, TIMESTAMP, VARCHAR, BLOB, JSON = (18, "06"), (17, "00"), (15, "2800"), (252, "02"), (245, "04")
ENUM, SET, GEOMETRY, VECTOR, BIT1, BIT9 = (
    (254, "f701"),
    (254, "f801"),
    (255, "04"),
    (242, "04"),
    (16, "0100"),
    (16, "0101"),
)
TIME = (19, "06")


def decimal(precision: int, scale: int) -> tuple[int, str]:
    return 246, f"{precision:02x}{scale:02x}"


Columns = dict[str, tuple[int, str]]


def make_table(
    columns: Columns, number: int = 7, unsigned: str = "", charset: int = 255
) -> table_map.TableMap:
    """A table map with names; ``unsigned`` has a letter u for each unsigned number."""
    kinds = list(columns.values())
    numeric = [kind for kind in kinds if kind[0] in (1, 2, 3, 4, 5, 8, 9, 246)]
    texts = [kind for kind in kinds if kind[0] in (15, 252, 242)]
    charsets = [63 if kind == VECTOR else charset for kind in texts]
    bits = "".join("1" if letter == "u" else "0" for letter in unsigned.ljust(len(numeric), "s"))
    optional: list[Any] = []
    if numeric:
        packed = int(bits.ljust(-(-len(bits) // 8) * 8, "0"), 2).to_bytes(-(-len(bits) // 8), "big")
        optional.append(table_map.Signedness(1, packed))
    if texts:
        optional.append(table_map.ColumnCharset(3, tuple(charsets)))
    if SET in kinds:
        optional.append(table_map.SetLabels(5, (table_map.Labels((b"x", b"y", b"z")),)))
    if ENUM in kinds:
        optional.append(table_map.EnumLabels(6, (table_map.Labels((b"new", b"paid")),)))
    if {SET, ENUM} & set(kinds):
        optional.append(table_map.EnumAndSetDefaultCharset(10, (255,)))
    return table_map.TableMap(
        table_id=number,
        flags=1,
        schema="shop",
        table="t",
        types=bytes(kind[0] for kind in kinds),
        metadata=bytes.fromhex("".join(kind[1] for kind in kinds)),
        null_bitmap=b"\xff" * ((len(kinds) + 7) // 8),
        optional=(*optional, table_map.ColumnName(4, tuple(columns))),
    )


def transaction(*events: Event, number: int = 1) -> list[Event]:
    return [query(b"BEGIN"), *events, Xid(number)]


def full(width: int) -> bytes:
    return ((1 << width) - 1).to_bytes((width + 7) // 8, "little")


def inserts(table: table_map.TableMap, *rows: tuple[Any, ...], last: int = 1) -> RowsEvent:
    width = len(table.types)
    made = tuple(Row(None, row) for row in rows)
    return WriteRows(
        table_id=table.table_id, flags=last, width=width, after_columns=full(width), rows=made, table=table
    )


def updates(
    table: table_map.TableMap, *rows: tuple[tuple[Any, ...], tuple[Any, ...]], last: int = 1
) -> RowsEvent:
    width = len(table.types)
    bits = full(width)
    return UpdateRows(
        table_id=table.table_id, flags=last, width=width, before_columns=bits, after_columns=bits,
        rows=tuple(Row(before, after) for before, after in rows), table=table,
    )  # fmt: skip


def deletes(table: table_map.TableMap, *rows: tuple[Any, ...], last: int = 1) -> RowsEvent:
    width = len(table.types)
    made = tuple(Row(row, None) for row in rows)
    return DeleteRows(
        table_id=table.table_id, flags=last, width=width, before_columns=full(width), rows=made, table=table
    )


def of_versions(*versions: tuple[table_map.TableMap, list[tuple[Any, ...]]]) -> bytes:
    """A log in which a table changes: a transaction of inserts for each version."""
    return build_log([each for table, rows in versions for each in transaction(table, inserts(table, *rows))])


def read(log: bytes, columns: list[str] | None = None, **options: Any) -> list[dict[str, Any]]:
    schema = row_judge.schema_of(log, "shop.t")
    return row_judge.shown(row_judge.read_rows(log, schema, columns=columns, **options))


def own(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name not in ROWS.names} for row in rows]


@pytest.fixture(params=["compiled", "interpreted"])
def each_kernel(request: pytest.FixtureRequest) -> Iterator[None]:
    if request.param == "compiled" and kernel.interpreted_modules():
        pytest.skip("the kernel is not compiled")
    with kernel.use(request.param):
        yield


# --- the reference decoder's values


@pytest.mark.usefixtures("each_kernel")
@pytest.mark.parametrize("log", small_logs(), ids=range(len(small_logs())))
def test_small_logs(log: bytes) -> None:
    for table, events in row_judge.tables_of(log).items():
        assert row_judge.difference(log, table, events) is None, table


@pytest.mark.parametrize("log", corpus_logs(), ids=str)
def test_corpus(log: CorpusLog) -> None:
    try:
        tables = row_judge.tables_of(log.data)
    except GtidalError:
        return  # what is wrong with it is the other tests' business
    for table, events in tables.items():
        assert row_judge.difference(log.data, table, events, window=1 << 16) is None, table


DOCUMENTS: list[Any] = [
    {"a": 1, "bb": [1.5, "x", None, {"c": True}]},
    {"a": 2, "bb": [2.5, "y", None, {"c": False}]},
    {"other": {"a": {"bb": {}}}},
    {"": {}},
    {"": None},
    [],
    {},
    "text",
    7,
    {f"key{n}": n for n in range(40)},
    {"a": 3, "bb": []},
    {"long": "é" * 200, "ids": list(range(300))},
]


@pytest.mark.usefixtures("each_kernel")
def test_documents_of_many_shapes() -> None:
    table = make_table({"id": INT, "one": JSON, "two": JSON})
    order = [0, 1, 2, 3, 4, 4, 3, 5, 6, 7, 8, 9, 0, 1, 1, 10, 11, 2, 9, 6, 0]
    rows = [
        (n, encode_json(DOCUMENTS[k]), None if n % 3 == 0 else encode_json(DOCUMENTS[-k - 1]))
        for n, k in enumerate(order)
    ]
    log = of_versions((table, rows))
    (events,) = row_judge.tables_of(log).values()
    assert row_judge.difference(log, "shop.t", events) is None
    schema = row_judge.schema_of(log, "shop.t")
    batch = next(row_judge.read_rows(log, schema))
    found = [decode(one["value"], one["metadata"]) for one in batch.column("one").to_pylist()]
    assert found == [DOCUMENTS[k] for k in order]


@pytest.mark.usefixtures("each_kernel")
def test_documents_that_look_alike() -> None:
    """What was found out about one object's keys must not be taken for another's."""
    shapes: list[Any] = [
        {"a": 0},
        {"b": 0},
        {"ab": 0},
        {"a": 0, "b": 0},
        {"b": 0, "c": 0},
        {"a": {"b": 0}},
        {"b": {"a": 0}},
    ]
    documents = [shape for one in shapes for shape in (one, one, one)] + [shapes[n % 7] for n in range(3, 40)]
    table = make_table({"j": JSON})
    log = of_versions((table, [(encode_json(document),) for document in documents]))
    batch = next(row_judge.read_rows(log, row_judge.schema_of(log, "shop.t")))
    found = batch.column("j").to_pylist()
    assert [decode(one["value"], one["metadata"]) for one in found] == documents


@pytest.mark.usefixtures("each_kernel")
def test_documents_of_updates() -> None:
    """An image may have the documents of the one before it, some of them, or others of the same size."""
    documents = [
        None,
        encode_json({"a": 1, "b": [2]}),
        encode_json({"a": 3, "b": [2]}),
        encode_json({"c": {"a": 1}}),
    ]
    places = [None, bytes(4) + b"one", bytes(4) + b"two"]
    table = make_table({"one": JSON, "place": GEOMETRY, "two": JSON})
    images = list(product(documents, places, documents))
    pairs = [(images[n], images[n * 7 // 3 % len(images)]) for n in range(len(images))] + list(
        product(images[:9], images[:9])
    )
    log = build_log(transaction(table, inserts(table, *images, last=0), updates(table, *pairs)))
    compare(log, How())
    (events,) = row_judge.tables_of(log).values()
    assert row_judge.difference(log, "shop.t", events) is None


@pytest.mark.usefixtures("each_kernel")
def test_values_of_every_kind() -> None:
    table = make_table(
        {"i": TINY, "u": BIGINT, "m": decimal(12, 2), "w": decimal(30, 5), "l": decimal(50, 3), "d": DATE,
         "n": DATETIME, "s": TIMESTAMP, "t": TIME, "c": VARCHAR, "e": ENUM, "f": SET, "g": GEOMETRY, "v": VECTOR,
         "b": BIT1, "o": BIT9, "x": FLOAT, "y": DOUBLE},
        unsigned="su",
    )  # fmt: skip
    values = (
        -1, 2**64 - 1, Decimal("-1234567890.12"), Decimal("-1234567890123456789012345.67891"),
        Decimal("-0.007"), Date(2024, 2, 29), DateTime(2024, 2, 29, 23, 59, 59, 999999), Timestamp(1, 0),
        Time(True, 838, 59, 59, 1), "Zoë".encode(), 2, 0b101, b"\xe6\x10\0\0" + b"wkb", b"\0\0\x80?\0\0\0@", 1, 257,
        0.5, -0.1,
    )  # fmt: skip
    nothing = (None,) * len(values)
    zeros = (*values[:5], Date(2024, 0, 0), DateTime(0, 0, 0, 0, 0, 0, 0), Timestamp(0, 0), *values[8:])
    (first, second, third) = own(read(of_versions((table, [values, nothing, zeros]))))
    assert first == {
        "i": -1,
        "u": Decimal(2**64 - 1),
        "m": Decimal("-1234567890.12"),
        "w": Decimal("-1234567890123456789012345.67891"),
        "l": "-0.007",
        "d": datetime.date(2024, 2, 29),
        "n": datetime.datetime(2024, 2, 29, 23, 59, 59, 999999),
        "s": datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.UTC),
        "t": -datetime.timedelta(hours=838, minutes=59, seconds=59, microseconds=1),
        "c": "Zoë",
        "e": "paid",
        "f": ["x", "z"],
        "g": {"srid": 4326, "wkb": b"wkb"},
        "v": [1.0, 2.0],
        "b": True,
        "o": 257,
        "x": 0.5,
        "y": -0.1,
    }
    assert set(second.values()) == {None}
    assert third == {**first, "d": None, "n": None, "s": None}


def test_no_text_ends_the_rows_with_an_error() -> None:
    table = make_table({"id": INT, "c": VARCHAR})
    log = build_log(
        [
            *transaction(table, inserts(table, (1, b"fine"))),
            *transaction(table, inserts(table, (2, b"\xff\xfe"))),
        ]
    )
    schema = row_judge.schema_of(log, "shop.t")
    batches = row_judge.read_rows(log, schema)
    assert next(batches).column("id").to_pylist() == [1]
    with pytest.raises(DecodeError, match=r"no text in utf8mb4.*changes.*assume_charset") as caught:
        list(batches)
    assert (caught.value.file, caught.value.field) == (row_judge.FILE, "c")
    assert caught.value.position == row_judge.tables_of(log)["shop.t"][1].header.position
    assert [row["id"] for row in read(log, ["id"])] == [1, 2], "nobody asked for the text"


# --- the columns that all tables share


def test_the_shared_columns_are_those_of_changes() -> None:
    table, other = make_table({"id": INT}), make_table({"n": INT, "m": INT}, number=8)
    other.__dict__["table"] = "other"
    log = build_log(
        [
            *transaction(
                table, other, inserts(other, (1, 1), (2, 2), last=0), inserts(table, (1,), (2,), last=0),
                updates(table, ((1,), (10,)), ((2,), (20,)), last=0), inserts(other, (3, 3), last=0),
                deletes(table, (10,)),
            ),
            *transaction(table, inserts(table, (5,)), number=2),
        ]
    )  # fmt: skip
    rows = read(log)
    assert [(row["_change_type"], row["_row"], row["id"]) for row in rows] == [
        ("insert", 2, 1),
        ("insert", 3, 2),
        ("update_preimage", 4, 1),
        ("update_postimage", 4, 10),
        ("update_preimage", 5, 2),
        ("update_postimage", 5, 20),
        ("delete", 7, 10),
        ("insert", 0, 5),
    ]
    scan = LogScan(io.BytesIO(log), row_judge.FILE, Scan(tuple(CHANGES.names)))
    changes = [row for batch in scan.changes() for row in batch.to_pylist() if row["table"] == "t"]
    both = [change for change in changes for _ in range(2 if change["op"] == "update" else 1)]
    names = [name.removeprefix("_") for name in ROWS.names if name != "_change_type"]
    assert [[row[f"_{name}"] for name in names] for row in rows] == [
        [row[name] for name in names] for row in both
    ]


def test_a_large_transaction_keeps_its_numbers() -> None:
    table = make_table({"id": INT, "c": VARCHAR})
    events = [
        updates(table, *(((n, b"a" * 30), (n, b"b" * 30)) for n in range(k, k + 50)), last=0)
        for k in range(0, 2000, 50)
    ]
    log = build_log(transaction(table, *events, deletes(table, (1, b"b"))))
    rows = read(log, ["_row", "id", "_change_type"], window=4096)
    assert [row["_row"] for row in rows] == [*(n for n in range(2000) for _ in range(2)), 2000]


def test_columns_in_any_order() -> None:
    table = make_table({"id": INT, "c": VARCHAR})
    log = of_versions((table, [(1, b"x")]))
    rows = read(log, ["c", "_row", "id", "_file"])
    assert [list(row.items()) for row in rows] == [
        [("c", "x"), ("_row", 0), ("id", 1), ("_file", row_judge.FILE)]
    ]


def test_partial_images_leave_nulls() -> None:
    table = make_table({"id": INT, "c": VARCHAR})
    event = UpdateRows(
        table_id=7, flags=1, width=2, before_columns=b"\1", after_columns=b"\2",
        rows=(Row((1, ABSENT), (ABSENT, b"x")),), table=table,
    )  # fmt: skip
    assert own(read(build_log(transaction(table, event)))) == [{"id": 1, "c": None}, {"id": None, "c": "x"}]


# --- one schema for all versions


def merged(*columns: Columns) -> dict[str, pa.DataType]:
    log = of_versions(*((make_table(each), []) for each in columns))
    fields = row_judge.schema_of(log, "shop.t").arrow_schema()
    return {field.name: field.type for field in fields if field.name not in ROWS.names}


def test_columns_come_and_go() -> None:
    one = make_table({"id": INT, "old": VARCHAR})
    two = make_table({"new": DATE, "ID": BIGINT})
    rows = own(read(of_versions((one, [(1, b"x")]), (two, [(Date(2024, 1, 2), 2)]), (one, [(3, b"y")]))))
    assert rows == [
        {"new": None, "ID": 1, "old": "x"},
        {"new": datetime.date(2024, 1, 2), "ID": 2, "old": None},
        {"new": None, "ID": 3, "old": "y"},
    ]
    assert [list(row) for row in rows] == [["new", "ID", "old"]] * 3, "those of the newest version first"


WIDENED: list[tuple[tuple[int, str], Any, tuple[int, str], Any, pa.DataType, Any]] = [
    (TINY, -128, BIGINT, 2**40, pa.int64(), -128),
    (INT, -7, decimal(12, 2), Decimal("0.50"), pa.decimal128(12, 2), Decimal("-7.00")),
    (BIGINT, 2**62, decimal(10, 4), Decimal("0.5000"), pa.decimal128(23, 4), Decimal(2**62)),
    (decimal(10, 2), Decimal("1.25"), decimal(8, 4), Decimal("9.0001"), pa.decimal128(12, 4), Decimal("1.25")),
    (decimal(10, 8), Decimal("0.00000010"), decimal(50, 2), Decimal("9.00"), pa.string(), "0.00000010"),
    (INT, 5, decimal(65, 0), Decimal(10) ** 60, pa.string(), "5"),
    (FLOAT, 0.5, DOUBLE, 0.1, pa.float64(), 0.5),
    (INT, 2**31 - 1, DOUBLE, 0.1, pa.float64(), float(2**31 - 1)),
    (DATE, Date(2024, 1, 2), DATETIME, DateTime(2024, 1, 2, 3, 4, 5, 6), pa.timestamp("us"), datetime.datetime(2024, 1, 2)),
    (ENUM, 2, VARCHAR, b"x", pa.string(), "paid"),
    (BIT1, 1, BIT9, 300, pa.int64(), 1),
    (BIT1, 1, decimal(5, 1), Decimal("2.5"), pa.decimal128(5, 1), Decimal("1.0")),
]  # fmt: skip


@pytest.mark.parametrize(("narrow", "value", "wide", "other", "kind", "wanted"), WIDENED)
def test_types_are_widened(
    narrow: tuple[int, str], value: Any, wide: tuple[int, str], other: Any, kind: pa.DataType, wanted: Any
) -> None:
    assert merged({"c": narrow}, {"c": wide}) == merged({"c": wide}, {"c": narrow}) == {"c": kind}
    rows = [(make_table({"c": narrow}), [(value,), (None,)]), (make_table({"c": wide}), [(other,)])]
    log = of_versions(*rows)
    assert [row["c"] for row in read(log)][:2] == [wanted, None]
    (events,) = row_judge.tables_of(log).values()
    assert row_judge.difference(log, "shop.t", events) is None


CONFLICTS = [
    (INT, VARCHAR),
    (DATETIME, TIMESTAMP),
    (BIGINT, DOUBLE),
    (JSON, VARCHAR),
    (ENUM, SET),
    (decimal(5, 2), DOUBLE),
]


@pytest.mark.parametrize(("one", "other"), CONFLICTS)
def test_a_conflict_names_both_versions(one: tuple[int, str], other: tuple[int, str]) -> None:
    log = of_versions((make_table({"c": one}), []), (make_table({"c": other}), []))
    maps = [event for event in row_judge.events(log) if isinstance(event, table_map.TableMap)]
    first, second = (f"{row_judge.FILE}:{event.header.position}" for event in maps)
    with pytest.raises(
        SchemaConflict, match=f"column c of shop.t .* at {first} and .* at {second}: no type"
    ) as caught:
        row_judge.schema_of(log, "shop.t")
    assert caught.value.position == maps[1].header.position


def test_bytes_and_text_are_a_conflict() -> None:
    log = of_versions((make_table({"c": VARCHAR}), []), (make_table({"c": VARCHAR}, charset=63), []))
    with pytest.raises(SchemaConflict, match="binary"):
        row_judge.schema_of(log, "shop.t")


def test_widening_is_symmetric() -> None:
    kinds = [
        *(pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.date32()),
        *(
            pa.decimal128(20, 0),
            pa.decimal128(38, 30),
            pa.decimal256(60, 2),
            pa.null(),
            pa.string(),
            pa.binary(),
        ),
        *(pa.timestamp("us"), pa.timestamp("us", tz="UTC"), pa.duration("us")),
    ]
    for one in kinds:
        assert widen(one, one) == one
        for other in kinds:
            assert widen(one, other) == widen(other, one)


def test_a_table_that_changed_after_its_schema_was_made() -> None:
    one, two = make_table({"id": INT}), make_table({"id": INT, "more": INT})
    schema = row_judge.schema_of(of_versions((one, [(1,)])), "shop.t")
    log = of_versions((one, [(1,)]), (two, [(2, 3)]))
    with pytest.raises(SchemaConflict, match="more INT"):
        list(row_judge.read_rows(log, schema))


def test_names_that_are_taken() -> None:
    log = of_versions((make_table({"_row": INT, "_GTID": INT}), [(1, 2)]))
    (row,) = read(log)
    assert (row["_row"], row["_row_"], row["_gtid"], row["_GTID_"]) == (0, 1, None, 2)


def test_versions_are_decoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = make_table({"id": INT}), make_table({"id": BIGINT})
    log = of_versions(*[(one, [(1,)])] * 20, *[(two, [(2,)])] * 20, *[(one, [(3,)])] * 20)
    decoded: list[int] = []
    monkeypatch.setattr("gtidal.columnar.table_versions.decode_event", counting(decoded))
    versions = find_versions(row_judge.reader_of(log), "shop", "t")
    assert [[column.real_type for column in each.columns] for each in versions] == [[3], [8]]
    assert len(decoded) == 2


def counting(calls: list[int]) -> Any:
    from gtidal.events.frame import decode_event

    def decode_one(data: bytes, position: int, context: Any) -> Event:
        calls.append(position)
        return decode_event(data, position, context)

    return decode_one


class CountingStream(io.BytesIO):
    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.taken = 0

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size)
        self.taken += len(data)
        return data

    def readinto(self, buffer: Any) -> int:
        size = super().readinto(buffer)
        self.taken += size
        return size


def look_quickly(log: bytes) -> tuple[list[tuple[Any, int]], int]:
    """The versions of shop.t: their columns and where they begin; and how many bytes were read."""
    stream = CountingStream(log)
    reader = WindowReader(stream, "binlog.000001", verify_checksum=False)
    versions = find_versions_quickly(reader, len(log), "shop", "t")
    return [(each.columns, each.position) for each in versions], stream.taken


def test_a_table_whose_first_and_last_maps_are_the_same_is_not_looked_for_in_between(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gtidal.columnar.table_versions._END", 1 << 12)
    monkeypatch.setattr("gtidal.columnar.table_versions._STEP", 1 << 10)
    one, two = make_table({"id": INT}, number=7), make_table({"id": BIGINT}, number=8)
    log = of_versions(*[(one, [(1,)])] * 2000)
    versions, taken = look_quickly(log)
    assert versions == [
        (each.columns, each.position) for each in find_versions(row_judge.reader_of(log), "shop", "t")
    ]
    assert taken < len(log) // 4
    # A number that is another, though the columns are the same: something may have happened in between.
    again = make_table({"id": INT}, number=9)
    log = of_versions(*[(one, [(1,)])] * 900, *[(two, [(2,)])] * 900, *[(again, [(3,)])] * 900)
    assert [[column.real_type for column in columns] for columns, _ in look_quickly(log)[0]] == [[3], [8]]


# Of each version how many transactions there are; 0 stands for another table.
HISTORIES = {
    "opened again": [(1, 400), (2, 900)],
    "changed and back": [(1, 900), (2, 500), (3, 800)],
    "for a moment": [(1, 900), (2, 1), (3, 900)],
    "not at first": [(0, 900), (1, 400), (2, 400)],
    "not in the end": [(1, 400), (2, 400), (0, 300)],
    "long ago": [(1, 100), (2, 100), (0, 1800)],
    "rarely": [(1, 1), (0, 900), (2, 1), (0, 900), (3, 1)],
    "once": [(0, 900), (1, 1), (0, 900)],
    "never": [(0, 1800)],
    "again and again": [(number, 1) for number in range(1, 1800)],
}


@pytest.mark.parametrize("history", HISTORIES.values(), ids=HISTORIES)
def test_a_table_that_is_opened_again_is_looked_for_where_that_happened(
    history: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gtidal.columnar.table_versions._END", 1 << 11)
    monkeypatch.setattr("gtidal.columnar.table_versions._STEP", 1 << 9)
    monkeypatch.setattr("gtidal.columnar.table_versions.WINDOW", 1 << 12)
    monkeypatch.setattr("gtidal.columnar.splitting._PROBE", 1 << 9)
    monkeypatch.setattr("gtidal.columnar.splitting._SMALLEST_CHUNK", 1 << 9)
    kinds = [INT, BIGINT, INT, VARCHAR]
    other = replace(make_table({"id": INT}, number=99), table="other")
    tables = {
        number: make_table({"id": kinds[number % 4]}, number=100 + number) if number else other
        for number, _ in history
    }
    values = {INT: 1, BIGINT: 2, VARCHAR: b"v"}
    log = of_versions(
        *[
            (tables[number], [(values[kinds[number % 4]] if number else 1,)])
            for number, count in history
            for _ in range(count)
        ]
    )
    versions, taken = look_quickly(log)
    assert versions == [
        (each.columns, each.position) for each in find_versions(row_judge.reader_of(log), "shop", "t")
    ]
    if all(number and count > 100 for number, count in history):
        assert taken < len(log) // 4


@pytest.mark.parametrize("log", corpus_logs(), ids=str)
def test_a_quick_look_finds_what_a_long_one_finds(log: CorpusLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gtidal.columnar.table_versions._END", 600)
    monkeypatch.setattr("gtidal.columnar.table_versions._STEP", 200)
    try:
        tables = row_judge.tables_of(log.data)
    except GtidalError:
        return  # what is wrong with it is the other tests' business
    for table in tables:
        schema, name = table.split(".", 1)
        found = find_versions_quickly(row_judge.reader_of(log.data), len(log.data), schema, name)
        assert found == find_versions(row_judge.reader_of(log.data), schema, name)


# --- others read it


def test_duckdb_and_polars_read_it() -> None:
    table = make_table(
        {"id": BIGINT, "c": VARCHAR, "d": DATE, "f": SET, "g": GEOMETRY, "j": JSON}, unsigned="u"
    )
    document = encode_json({"a": [1, "x"]})
    log = of_versions(
        (
            table,
            [(2**63, b"x", Date(2024, 1, 2), 3, b"\0\0\0\0wkb", document), (1, None, None, None, None, None)],
        )
    )
    schema = TableSchema("shop", "t", find_versions(row_judge.reader_of(log), "shop", "t"), "json")
    batches = list(row_judge.read_rows(log, schema))
    reader = pa.RecordBatchReader.from_batches(schema.arrow_schema(), iter(batches))
    found = (
        duckdb.from_arrow(reader)
        .query("t", "SELECT id, c, d, f, g.wkb, j FROM t ORDER BY id DESC")
        .fetchall()
    )
    assert found[0] == (Decimal(2**63), "x", datetime.date(2024, 1, 2), ["x", "y"], b"wkb", '{"a":[1,"x"]}')
    assert found[1][1:] == (None,) * 5
    frame = polars.from_arrow(pa.Table.from_batches(batches))
    assert isinstance(frame, polars.DataFrame)
    assert frame["d"].to_list() == [datetime.date(2024, 1, 2), None]
