"""Row images as text, by the kernel: the same bytes as the reference printer's, for any value and any damage."""

from __future__ import annotations

import struct
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gtidal.columns.decimals import encode_decimal
from gtidal.columns.jsonb import Opaque, encode_json
from gtidal.columns.temporal import Date, DateTime, Time
from gtidal.events import Event, encode_event
from gtidal.events.format import MAGIC
from gtidal.events.rows import (
    DeleteRows,
    DeleteRowsV1,
    RowsEvent,
    UpdateRows,
    UpdateRowsV1,
    WriteRows,
    WriteRowsV1,
)
from gtidal.events.table_map import TableMap, VectorDimensionality
from gtidal.text import mariadb
from gtidal.text.row_plans import TextKind, text_column
from gtidal.text.stretch import Writer
from tests.log.making import header
from tests.logs import build_log, format_description
from tests.text.dumps import Dumped, dump_all_ways, run_dump

QUICK = settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
JSON, VECTOR, GEOMETRY = 245, 242, 255


class Type:
    """A column type: its code, its metadata as the table map has it, and the size of values or of their lengths."""

    def __init__(self, code: int, metadata: bytes = b"", size: int = 0, prefix: int = 0) -> None:
        self.code = code
        self.metadata = metadata
        self.size = size
        self.prefix = prefix

    def __repr__(self) -> str:
        return f"{self.code}:{self.metadata.hex()}"


def decimal(precision: int, scale: int) -> Type:
    size = len(encode_decimal(Decimal(0), precision, scale))
    return Type(246, bytes((precision, scale)), size)


FIXED = [
    *(Type(code, size=size) for code, size in ((1, 1), (2, 2), (9, 3), (3, 4), (8, 8), (13, 1), (10, 3))),
    *(Type(code, size=size) for code, size in ((7, 4), (11, 3), (12, 8))),
    Type(4, b"\x04", 4),
    Type(5, b"\x08", 8),
    *(Type(17, bytes((digits,)), 4 + (digits + 1) // 2) for digits in range(7)),
    *(Type(18, bytes((digits,)), 5 + (digits + 1) // 2) for digits in range(7)),
    *(Type(19, bytes((digits,)), 3 + (digits + 1) // 2) for digits in range(7)),
    *(Type(16, bytes((count % 8, count // 8)), (count + 7) // 8) for count in (1, 7, 8, 13, 33, 64)),
    *(Type(254, bytes((247, size)), size) for size in (1, 2)),
    *(Type(254, bytes((248, size)), size) for size in (1, 3, 8)),
]
DECIMALS = [decimal(*digits) for digits in ((1, 0), (10, 2), (18, 6), (20, 6), (30, 30), (65, 30), (9, 9))]
STRINGS = [
    Type(15, b"\xff\x00", prefix=1),
    Type(15, b"\x20\x03", prefix=2),
    Type(254, b"\xfe\x40", prefix=1),
    *(Type(252, bytes((size,)), prefix=size) for size in (1, 2, 3, 4)),
    Type(VECTOR, b"\x04", prefix=4),
    Type(JSON, b"\x04", prefix=4),
]
TYPES = FIXED + DECIMALS + STRINGS


def table_map(*types: Type) -> TableMap:
    vectors = tuple(2 for each in types if each.code == VECTOR)
    return TableMap(
        table_id=77,
        flags=1,
        schema="shop",
        table="or`ders",
        types=bytes(each.code for each in types),
        metadata=b"".join(each.metadata for each in types),
        null_bitmap=b"\xff" * ((len(types) + 7) // 8),
        optional=(VectorDimensionality(tag=13, numbers=vectors),) if vectors else (),
        header=header(19),
    )


def rows(cls: type[RowsEvent], width: int, images: bytes, **fields: Any) -> RowsEvent:
    whole = ((1 << width) - 1).to_bytes((width + 7) // 8, "little")
    before = whole if cls.has_before else b""
    after = whole if cls.has_after else b""
    given = {"before_columns": before, "after_columns": after, **fields}
    return cls(table_id=77, flags=1, width=width, undecoded=images, header=header(cls.code), **given)


@pytest.fixture
def printed_by_reference(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The events whose rows the kernel left to the reference."""
    asked: list[int] = []
    foot = Writer._foot

    def spy(self: Writer, event: int, damage: Any) -> bytes:
        asked.append(event)
        return foot(self, event, damage)

    monkeypatch.setattr(Writer, "_foot", spy)
    return asked


def printed(path: Path, types: tuple[Type, ...] | list[Type], *events: RowsEvent, **options: Any) -> Dumped:
    log = path / "binlog.000001"
    log.write_bytes(build_log([table_map(*types), *events]))
    return dump_all_ways(log, **{"verbosity": 2, "base64": "decode-rows", **options})


def value_of(kind: Type, draw: st.DrawFn) -> bytes:
    """Bytes as a server may have written them, or any."""
    if kind in DECIMALS:
        precision, scale = kind.metadata
        digits = draw(st.integers(-(10**precision) + 1, 10**precision - 1))
        return encode_decimal(Decimal(f"{digits}E-{scale}"), precision, scale)
    if kind.code == JSON:
        data = encode_json(draw(documents))
    elif kind.code == 5:
        return struct.pack("<d", draw(st.floats(allow_nan=False, allow_infinity=False)))
    elif kind.code == 4:
        return struct.pack("<f", draw(st.floats(width=32, allow_nan=False, allow_infinity=False)))
    elif kind.code == VECTOR:
        data = b"".join(struct.pack("<f", draw(st.floats(-1e9, 1e9, width=32))) for _ in range(2))
    elif kind.code == 18:
        return bytes((draw(st.integers(128, 255)),)) + draw(
            st.binary(min_size=kind.size - 1, max_size=kind.size - 1)
        )
    elif kind.prefix:
        alphabet = st.sampled_from(b"ab'\\\"\0\x01\x08\x09\x0a\x0c\x0d\x1a\x1f\x7f\xc3\xa9\xff")
        data = bytes(draw(st.lists(alphabet, max_size=60)))
    else:
        return draw(st.binary(min_size=kind.size, max_size=kind.size))
    return len(data).to_bytes(kind.prefix, "little") + data


scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.integers(-(10**15), 10**15).map(float)
    | st.text(max_size=12)
    | st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**20), max_value=10**20)
    | st.builds(Date, st.integers(0, 9999), st.integers(0, 12), st.integers(0, 31))
    | st.builds(
        DateTime,
        st.integers(0, 9999),
        st.integers(0, 12),
        st.integers(0, 31),
        st.integers(0, 23),
        st.integers(0, 59),
        st.integers(0, 59),
        st.integers(0, 999999),
    )
    | st.builds(
        Time,
        st.booleans(),
        st.integers(1, 838),
        st.integers(0, 59),
        st.integers(0, 59),
        st.integers(0, 999999),
    )
    | st.builds(Opaque, st.sampled_from([253, 15, 252]), st.binary(max_size=8))
)
documents: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


@st.composite
def images(draw: st.DrawFn, types: list[Type], count: int) -> bytes:
    out = b""
    for _ in range(count):
        nulls = [draw(st.booleans()) and draw(st.booleans()) for _ in types]
        out += sum(1 << i for i, null in enumerate(nulls) if null).to_bytes((len(types) + 7) // 8, "little")
        out += b"".join(value_of(kind, draw) for kind, null in zip(types, nulls, strict=True) if not null)
    return out


@QUICK
@given(st.data())
def test_rows_of_all_types(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    types = data.draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=9))
    cls = data.draw(st.sampled_from([WriteRows, UpdateRows, DeleteRows]))
    per_row = 2 if cls is UpdateRows else 1
    body = data.draw(images(types, per_row * data.draw(st.integers(1, 3))))
    verbosity = data.draw(st.sampled_from([1, 2]))
    found = printed(tmp_path_factory.mktemp("log"), types, rows(cls, len(types), body), verbosity=verbosity)
    assert b"\n### " in found.text


@QUICK
@given(st.data())
def test_damaged_rows(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    types = data.draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=5))
    body = bytearray(data.draw(images(types, 2)))
    if data.draw(st.booleans()):
        del body[data.draw(st.integers(0, len(body) - 1)) :]
    else:
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    printed(tmp_path_factory.mktemp("log"), types, rows(WriteRows, len(types), bytes(body)))


@QUICK
@given(st.data())
def test_columns_that_are_absent(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    types = data.draw(st.lists(st.sampled_from(TYPES), min_size=2, max_size=9))
    size = (len(types) + 7) // 8
    bitmaps = [data.draw(st.integers(0, (1 << len(types)) - 1)) for _ in range(2)]
    body = b""
    for bits in bitmaps:
        body += data.draw(images([kind for i, kind in enumerate(types) if bits >> i & 1], 1))
    before, after = (bits.to_bytes(size, "little") for bits in bitmaps)
    event = rows(UpdateRows, len(types), body, before_columns=before, after_columns=after)
    printed(tmp_path_factory.mktemp("log"), types, event, event)


@pytest.mark.parametrize("kind", FIXED, ids=repr)
def test_edges_are_the_kernels_own(kind: Type, tmp_path: Path, printed_by_reference: list[int]) -> None:
    """Ordinary values are not left to the reference."""
    zeros, ones = bytes(kind.size), b"\xff" * kind.size
    if kind.code in (4, 5, 10, 12):
        ones = {4: struct.pack("<f", -3.4e38), 5: struct.pack("<d", 1.7e308), 10: b"\x9f\x1f\x4e"}.get(
            kind.code, (99991231235959).to_bytes(8, "little")
        )
    if kind.code == 18:
        zeros = b"\x80" + zeros[1:]
    printed(tmp_path, [kind], rows(WriteRows, 1, b"\0" + zeros + b"\0" + ones + b"\1"))
    assert printed_by_reference == []


DOUBLES = [0.0, -0.0, 1.0, 34.0, 0.1, 0.9024706481978955, 5e-324, 1.7976931348623157e308, 1e15, 1e16, 123456789012345678.0,
           2.0**-44, 9007199254740993.0, 4.35, 2.675, 1e22, 1e23, 0.30000000000000004, -1e-5, 1e-6, 12345678.5]  # fmt: skip


def test_doubles(tmp_path: Path, printed_by_reference: list[int]) -> None:
    """As columns and inside documents, where the shortest digits are printed."""
    body = b""
    for value in DOUBLES:
        document = encode_json([value, {"a": -value}])
        body += b"\0" + struct.pack("<d", value) + len(document).to_bytes(4, "little") + document
    text = printed(tmp_path, [Type(5, b"\x08"), Type(JSON, b"\x04")], rows(WriteRows, 2, body)).events
    assert '[0.30000000000000004, {"a": -0.30000000000000004}]' in text
    assert "@1=4.3499999999999996447 " in text
    assert printed_by_reference == []


@settings(QUICK, max_examples=300)
@example(2.0**-44)
@example(9007199254740995.0)
@given(
    st.floats(allow_nan=False, allow_infinity=False)
    | st.floats(1e-5, 1e17)
    | st.integers(0, 2**63).map(float)
)
def test_any_double(tmp_path_factory: pytest.TempPathFactory, value: float) -> None:
    document = encode_json(value)
    body = b"\0" + struct.pack("<d", value) + len(document).to_bytes(4, "little") + document
    types = [Type(5, b"\x08"), Type(JSON, b"\x04")]
    printed(tmp_path_factory.mktemp("log"), types, rows(WriteRows, 2, body))


@pytest.mark.parametrize(
    "document",
    [
        {"b": 1, "a": [True, False, None, {}], "long key": "x\"'\\\n\x01é"},
        "only 'text'\\",
        Decimal("-0.50"),
        DateTime(2026, 1, 2, 3, 4, 5, 6),
        Time(True, 838, 59, 59, 999999),
        [[[[[]]]], {"k": {"k": {"k": 2**64 - 1}}}],
        [0, -1, 32768, -(2**31), 2**31, -(2**63)],
        ["x" * 200, "y" * 70000],
    ],
    ids=lambda document: type(document).__name__,
)
def test_documents_are_the_kernels_own(
    document: Any, tmp_path: Path, printed_by_reference: list[int]
) -> None:
    data = encode_json(document)
    printed(
        tmp_path, [Type(JSON, b"\x04")], rows(WriteRows, 1, b"\0" + len(data).to_bytes(4, "little") + data)
    )
    assert printed_by_reference == []


@pytest.mark.parametrize(
    "data", [encode_json(Opaque(252, b"x")), b"\x05\x01", b"\x63abc", b"\x0c\xff\xff\xff\xff\xff"]
)
def test_odd_documents_are_left(data: bytes, tmp_path: Path, printed_by_reference: list[int]) -> None:
    printed(
        tmp_path, [Type(JSON, b"\x04")], rows(WriteRows, 1, b"\0" + len(data).to_bytes(4, "little") + data)
    )
    assert printed_by_reference


@pytest.mark.parametrize(
    ("body", "types"),
    [
        (b"", [Type(3, size=4)]),
        (b"\0\1\0\0\0" + b"\0\2\0", [Type(3, size=4)]),
        (b"\0\5\0\0\0abcde", [Type(GEOMETRY, b"\x04", prefix=4)]),
        (b"\0" + struct.pack("<d", float("nan")), [Type(5, b"\x08")]),
        (b"\0" + bytes(6), [Type(18, b"\x01", 6)]),
    ],
    ids=["no rows", "truncated", "geometry", "not a number", "negative datetime"],
)
def test_what_the_reference_prints(
    body: bytes, types: list[Type], tmp_path: Path, printed_by_reference: list[int]
) -> None:
    printed(tmp_path, types, rows(WriteRows, 1, body))
    assert printed_by_reference


MARIADB = [kind for kind in FIXED + DECIMALS + STRINGS if kind.code not in (JSON, VECTOR)]


def mariadb_log(*events: Event) -> bytes:
    data = MAGIC
    first = format_description("11.8.6-MariaDB")
    for event in (first, *events):
        draft = encode_event(event, first.format)
        placed = replace(event, header=replace(event.header, log_pos=len(data) + len(draft)))
        data += encode_event(placed, first.format)
    return data


@QUICK
@given(st.data())
def test_rows_of_mariadb(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Its tool quotes in another way, and counts the rows."""
    types = data.draw(st.lists(st.sampled_from(MARIADB), min_size=1, max_size=9))
    cls = data.draw(st.sampled_from([WriteRowsV1, UpdateRowsV1, DeleteRowsV1]))
    per_row = 2 if cls is UpdateRowsV1 else 1
    body = bytearray(data.draw(images(types, per_row * data.draw(st.integers(1, 3)))))
    if data.draw(st.booleans()):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    log = tmp_path_factory.mktemp("log") / "binlog.000001"
    log.write_bytes(mariadb_log(table_map(*types), rows(cls, len(types), bytes(body))))
    dump_all_ways(log, verbosity=data.draw(st.sampled_from([1, 2])))


def test_rows_of_mariadb_are_not_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "binlog.000001"
    body = b"\0\5\0\0\0\3it'" * 3
    log.write_bytes(mariadb_log(table_map(Type(3), STRINGS[0]), rows(WriteRowsV1, 2, body)))
    expected = run_dump(log, by_kernel=False, verbosity=2)
    monkeypatch.setattr(mariadb, "with_rows", None)
    assert run_dump(log, by_kernel=True, verbosity=2) == expected
    assert "@2='it''" in expected.events
    assert "# Number of rows: 3" in expected.events


def test_every_type_has_a_kind() -> None:
    """None of the types above is left to the reference unseen."""
    columns = table_map(*TYPES).columns
    assert [column for column in columns if text_column(column).kind is TextKind.NONE] == []
