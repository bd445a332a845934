"""The table of column types and the columns of a table map."""

from __future__ import annotations

import pickle
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gtidal.columns import shapes as s
from gtidal.columns.meanings import _MAKERS, Meaning
from gtidal.columns.types import BY_CODE, COLUMN_TYPES, Column, make_columns, read_metadata, shape_of
from gtidal.errors import DecodeError, GtidalError, Unsupported

# Every code of the server's enum_field_types and of MariaDB's, with the name it has there.
ALL_CODES = {
    0: "DECIMAL", 1: "TINY", 2: "SHORT", 3: "LONG", 4: "FLOAT", 5: "DOUBLE", 6: "NULL", 7: "TIMESTAMP",
    8: "LONGLONG", 9: "INT24", 10: "DATE", 11: "TIME", 12: "DATETIME", 13: "YEAR", 14: "NEWDATE", 15: "VARCHAR",
    16: "BIT", 17: "TIMESTAMP2", 18: "DATETIME2", 19: "TIME2", 20: "TYPED_ARRAY", 140: "BLOB_COMPRESSED",
    141: "VARCHAR_COMPRESSED", 242: "VECTOR", 243: "INVALID", 244: "BOOL", 245: "JSON", 246: "NEWDECIMAL",
    247: "ENUM", 248: "SET", 249: "TINY_BLOB", 250: "MEDIUM_BLOB", 251: "LONG_BLOB", 252: "BLOB",
    253: "VAR_STRING", 254: "STRING", 255: "GEOMETRY",
}  # fmt: skip


def test_the_table_is_complete() -> None:
    assert {row.code: row.name for row in COLUMN_TYPES} == ALL_CODES
    assert len(BY_CODE) == len(COLUMN_TYPES)
    assert set(_MAKERS) == set(Meaning)


@pytest.mark.parametrize(
    ("types", "metadata", "values"),
    [
        # As the server's read_field_metadata combines the bytes: this is what `meta=` shows.
        ([246], "0a02", [0x0A02]),
        ([15], "2c01", [300]),
        ([16], "0107", [0x0701]),
        ([254], "fe14", [65044]),
        ([254], "f701", [63233]),
        ([254], "f808", [63496]),
        ([252, 245, 255, 242], "02040404", [2, 4, 4, 4]),
        ([18, 4, 5, 3], "060408", [6, 4, 8, 0]),
        ([20], "03", [0]),
        ([20], "0f102700", [10000]),
        ([20], "f60a02", [0x0A02]),
        ([140, 141], "022c01", [2, 300]),
    ],
)
def test_metadata(types: list[int], metadata: str, values: list[int]) -> None:
    assert [part.value for part in read_metadata(bytes(types), bytes.fromhex(metadata))] == values


def test_string_hides_four_types() -> None:
    metadata = bytes.fromhex("fe14 f702 f808 eefc ee00 cefc")
    kinds = make_columns(bytes([254] * 6), metadata, b"\0")
    assert [column.real_type for column in kinds] == [254, 247, 248, 254, 254, 254]
    assert [column.shape for column in kinds] == [
        s.Bytes(1),
        s.Int(2, False),
        s.Int(8, False),
        s.Bytes(2),
        s.Bytes(2),
        s.Bytes(2),
    ]
    # CHAR(255) utf8mb4 is 1020 bytes: 0xfe ^ 0x30 = 0xce.
    assert [column.length for column in kinds] == [20, None, None, 508, 256, 1020]


def test_optional_metadata_finds_its_columns() -> None:
    # INT, VARCHAR, ENUM, FLOAT, GEOMETRY, SET, VECTOR, BLOB, YEAR, JSON
    types = bytes([3, 15, 254, 4, 255, 254, 242, 252, 13, 245])
    metadata = bytes.fromhex("1400 f701 04 04 f801 04 02 04")
    columns = make_columns(
        types,
        metadata,
        b"\x02\x00",
        signedness=b"\xa0",
        default_charset=(255, [(1, 63), (2, 8)]),
        names=[f"c{index}" for index in range(10)],
        enum_labels=[[b"a", b"b"]],
        set_labels=[[b"x"]],
        geometry_types=[1],
        prefix_key=[(1, 5), (0, 0)],
        enum_set_charsets=[8, 255],
        visibility=b"\xff\x80",
        dimensions=[3],
    )
    assert [column.unsigned for column in columns] == [True, None, None, False] + [None] * 4 + [True, None]
    assert [column.charset for column in columns] == [None, 255, 8, None, None, 255, 63, 8, None, None]
    assert [column.labels for column in columns if column.labels] == [(b"a", b"b"), (b"x",)]
    assert columns[4].geometry_type == 1
    assert columns[6].dimension == 3
    assert [column.visible for column in columns] == [True] * 9 + [False]
    assert [(column.key_position, column.key_prefix) for column in columns[:3]] == [
        (1, 0),
        (0, 5),
        (None, None),
    ]
    assert [column.nullable for column in columns] == [False, True] + [False] * 8
    assert pickle.loads(pickle.dumps(columns)) == columns


def test_mariadb_counts_geometry_among_the_character_columns() -> None:
    # As MariaDB 11.8 writes them: INT, POINT, VARCHAR utf8mb4_bin, TEXT latin1.
    types, metadata = bytes([3, 255, 15, 252]), bytes.fromhex("04 2800 02")
    pairs = (63, [(1, 46), (2, 8)])
    assert [c.charset for c in make_columns(types, metadata, b"\0", default_charset=pairs, mariadb=True)] == [
        None, 63, 46, 8,
    ]  # fmt: skip
    # Three entries cannot be of MySQL's two character columns.
    assert [c.charset for c in make_columns(types, metadata, b"\0", column_charsets=[63, 46, 8])] == [
        None, 63, 46, 8,
    ]  # fmt: skip


def test_signedness_unknown_is_signed() -> None:
    (column,) = make_columns(b"\x03", b"", b"\0")
    assert column.unsigned is None
    assert column.read(b"\xff" * 4, 0, 4) == (-1, 4)


def test_a_table_map_without_metadata() -> None:
    columns = make_columns(bytes([3, 252, 5, 246]), b"", b"\0")
    assert columns[2].shape == s.Float(8)
    for index in (1, 3):
        with pytest.raises(Unsupported, match="no metadata"):
            columns[index].read(b"\0" * 20, 0, 20)


@pytest.mark.parametrize(
    ("types", "metadata", "message"),
    [
        ([3, 99], "", "column 1"),
        ([3, 15], "01", "column 1"),
        ([3], "01", "1 bytes"),
        ([20], "14", "array of arrays"),
        ([20, 3], "0f01", "column 0"),
        ([18], "07", "7 fractional digits"),
        ([246], "0203", r"DECIMAL\(2,3\)"),
        ([252], "05", "prefix of 5"),
        ([254], "f709", "column 0"),
        ([254], "0101", "real type"),
        ([16], "0900", "BIT"),
        ([4], "08", "floating"),
    ],
)
def test_wrong_metadata(types: list[int], metadata: str, message: str) -> None:
    with pytest.raises(DecodeError, match=message):
        make_columns(bytes(types), bytes.fromhex(metadata), bytes((len(types) + 7) // 8))


def test_metadata_left_over_names_its_field() -> None:
    with pytest.raises(DecodeError) as caught:
        read_metadata(b"\x03", b"\x01")
    assert caught.value.field == "metadata"


def test_more_columns_than_a_table_can_have() -> None:
    assert len(make_columns(bytes([3] * 4096), b"", bytes(512))) == 4096
    started = time.process_time()
    for count in (4097, 1_000_000):
        with pytest.raises(DecodeError, match=f"{count} columns") as caught:
            make_columns(bytes([3]) * count, b"", bytes((count + 7) // 8), names=[""])
        assert caught.value.field == "types"
    assert time.process_time() - started < 0.5


def test_optional_metadata_that_is_too_short() -> None:
    for wrong in (
        {"signedness": b""},
        {"names": ["a"]},
        {"column_charsets": []},
        {"visibility": b""},
        {"simple_key": [2]},
        {"default_charset": (8, [(1, 8)])},
    ):
        with pytest.raises(DecodeError):
            make_columns(bytes([3, 252]), b"\x02", b"\0", **wrong)  # type: ignore[arg-type]


@given(st.binary(max_size=12), st.binary(max_size=24), st.binary(max_size=3), st.data())
def test_any_bytes_give_columns_or_a_gtidal_error(
    types: bytes, metadata: bytes, nulls: bytes, data: st.DataObject
) -> None:
    try:
        columns = make_columns(
            types,
            metadata,
            nulls,
            signedness=data.draw(st.none() | st.binary(max_size=2)),
            column_charsets=data.draw(st.none() | st.lists(st.integers(0, 400), max_size=12)),
            default_charset=data.draw(
                st.none()
                | st.tuples(st.integers(0, 400), st.lists(st.tuples(st.integers(0, 9), st.integers(0, 99))))
            ),
            simple_key=data.draw(st.none() | st.lists(st.integers(0, 20), max_size=3)),
        )
    except GtidalError:
        return
    body = data.draw(st.binary(max_size=60))
    for column in columns:
        try:
            value, _ = column.read(body, 0, len(body))
            column.python(value)
        except GtidalError:
            pass


@given(st.sampled_from(sorted(ALL_CODES)), st.integers(0, 0xFFFF), st.binary(max_size=80))
def test_any_value_of_any_type(code: int, metadata: int, body: bytes) -> None:
    try:
        shape = shape_of(code, metadata)
        column = Column(0, code, code, metadata, charset=255, labels=(b"a", b"b"))
        value, stop = shape.read(body, 0, len(body))
        assert stop <= len(body)
        column.python(value)
    except GtidalError:
        pass
