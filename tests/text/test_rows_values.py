"""One value as the reference tools print it. The expected texts were printed by mysqlbinlog 9.7.4 and
mariadb-binlog 11.8."""

from __future__ import annotations

import re
import struct
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gtidal.columns.jsonb import JsonDiff, Opaque, encode_diffs, encode_json
from gtidal.columns.temporal import Date, DateTime, Time, Timestamp
from gtidal.columns.types import BY_CODE, Column, make_columns
from gtidal.events.images import JsonDiffs
from gtidal.text.geometry import geometry_text
from gtidal.text.values import Stop, quote_mariadb, quote_mysql, value_printer


def column(code: int, metadata: str = "", signedness: bytes | None = None) -> Column:
    [made] = make_columns(bytes([code]), bytes.fromhex(metadata), b"\1", signedness=signedness)
    return made


def shown(made: Column, data: bytes, *, mariadb: bool = False, dimension: int = 0) -> str:
    """What -v prints for these bytes of a row image."""
    value, end = made.read(data, 0, len(data))
    assert end == len(data)
    _, text = value_printer(made, dimension, mariadb=mariadb)
    assert text is not None
    return text(value)


@pytest.mark.parametrize(("code", "size"), [(1, 1), (2, 2), (9, 3), (3, 4), (8, 8)])
@pytest.mark.parametrize("signedness", [None, b"\x00", b"\x80"])
def test_integers_ignore_signedness(code: int, size: int, signedness: bytes | None) -> None:
    made = column(code, signedness=signedness)
    top = 1 << 8 * size
    for number in (0, 1, top // 2 - 1):
        assert shown(made, number.to_bytes(size, "little")) == str(number)
    for number in (top // 2, top - 1):
        assert shown(made, number.to_bytes(size, "little")) == f"{number - top} ({number})"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0                   "),
        (2.5, "2.5                 "),
        (-1e-45, "-1.4013e-45         "),
        (3.402823466e38, "3.40282e+38         "),
        (123456.789, "123457              "),
        (1000000.0, "1e+06               "),
    ],
)
def test_float(number: float, text: str) -> None:
    assert shown(column(4, "04"), struct.pack("<f", number)) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.1, "0.10000000000000000555"),
        (1e16, "10000000000000000"),
        (1e100, "1.0000000000000000159e+100"),
        (-1.7976931348623157e308, "-1.7976931348623157081e+308"),
        (-0.0, "-0"),
    ],
)
def test_double(number: float, text: str) -> None:
    assert shown(column(5, "08"), struct.pack("<d", number)) == text


def test_decimal_never_has_an_exponent() -> None:
    smallest = column(246, "411e")  # DECIMAL(65,30)
    data = smallest.write(smallest.read(bytes([0x80, *bytes(29)]), 0, 30)[0])
    assert shown(smallest, data) == "0." + "0" * 30
    assert shown(smallest, data[:-2] + b"\0\1") == "0.000000000000000000000000000001"
    assert shown(column(246, "0505"), bytes.fromhex("7ffffe")) == "-0.00001"
    assert value_printer(smallest)[0] == "DECIMAL(65,30)"


@pytest.mark.parametrize(
    ("code", "metadata", "value", "text", "name"),
    [
        (16, "0100", 1, "b'1'", "BIT(1)"),
        (16, "0102", 0x10001, "b'10000000000000001'", "BIT(17)"),
        (16, "0102", 0xFF0001, "b'10000000000000001'", "BIT(17)"),  # the bits above are not printed
        (254, "f801", 5, "b'00000101'", "SET(1 bytes)"),
        (254, "f802", 256, "b'0000000000000001'", "SET(2 bytes)"),
        (254, "f701", 3, "3", "ENUM(1 byte)"),
        (254, "f702", 300, "300", "ENUM(2 bytes)"),
        (13, "", 0, "1900", "YEAR"),
        (13, "", 2155, "2155", "YEAR"),
        (10, "", Date(2024, 2, 29), "'2024:02:29'", "DATE"),
        (14, "", Date(0, 0, 0), "'0000:00:00'", "DATE"),
        (10, "", Date(10000, 15, 31), "':000:15:31'", "DATE"),
        (10, "", Date(32767, 0, 0), "'P767:00:00'", "DATE"),
        (7, "", Timestamp(2**31 - 1), "2147483647", "TIMESTAMP"),
        (7, "", Timestamp(2**31), "-2147483648", "TIMESTAMP"),
        (17, "00", Timestamp(0), "0", "TIMESTAMP(0)"),
        (17, "02", Timestamp(1, 50000), "1.05", "TIMESTAMP(2)"),
        (17, "06", Timestamp(2147483647, 499999), "2147483647.499999", "TIMESTAMP(6)"),
        (12, "", DateTime(2020, 12, 31, 23, 59, 59), "2020-12-31 23:59:59", "DATETIME"),
        (18, "00", DateTime(0, 0, 0, 0, 0, 0), "'0000-00-00 00:00:00'", "DATETIME(0)"),
        (18, "03", DateTime(9999, 12, 31, 23, 59, 59, 999000), "'9999-12-31 23:59:59.999'", "DATETIME(3)"),
        (11, "", Time(False, 838, 59, 59), "'838:59:59'", "TIME"),
        (11, "", Time(True, 0, 0, 1), "'1677:72:15'", "TIME"),
        (19, "00", Time(True, 838, 59, 59), "'-838:59:59'", "TIME(0)"),
        (19, "01", Time(True, 0, 0, 0, 100000), "'-00:00:00.1'", "TIME(1)"),
        (19, "06", Time(True, 0, 0, 0, 1), "'-00:00:00.000001'", "TIME(6)"),
        (254, "fe0a", b"a\xff", "'a\udcff'", "STRING(10)"),
        (254, "ceff", b"", "''", "STRING(1023)"),
        (15, "2c01", "ü".encode(), "'ü'", "VARSTRING(300)"),
        (252, "01", b"'", "'\\''", "TINYBLOB/TINYTEXT"),
        (252, "02", b"\0\v", "'\\x00\\x0b'", "BLOB/TEXT"),
        (252, "03", b"\\", "'\\\\'", "MEDIUMBLOB/MEDIUMTEXT"),
        (252, "04", b"\b\f\n\r\t\x7f", "'\\b\\f\\n\\r\\t\x7f'", "LONGBLOB/LONGTEXT"),
        (242, "04", struct.pack("<3f", 1, -2.5, 3e10), "[1.00000e+00,-2.50000e+00,3.00000e+10]", "VECTOR(3)"),
    ],
)
def test_types(code: int, metadata: str, value: object, text: str, name: str) -> None:
    made = column(code, metadata)
    assert value_printer(made, 3)[0] == name
    assert shown(made, made.write(value)) == text


@pytest.mark.parametrize(
    ("code", "metadata", "value", "text", "name"),
    [
        (12, "", DateTime(2020, 12, 31, 23, 59, 59), "'2020-12-31 23:59:59'", "DATETIME"),
        (11, "", Time(True, 0, 0, 1), "'-00:00:01'", "TIME"),
        (15, "0a00", b"it's\\\n", "'it's\\\\x0a'", "VARSTRING(10)"),
        (255, "04", b"\1\0ab", "'\\x01\\x00ab'", "GEOMETRY"),
        (140, "02", b"\0abc", "'\\x00abc'", "BLOB/TEXT COMPRESSED"),
        (141, "2c01", b"\0abc", "'\\x00abc'", "VARSTRING(300) COMPRESSED"),
    ],
)
def test_types_of_mariadb(code: int, metadata: str, value: object, text: str, name: str) -> None:
    made = column(code, metadata)
    assert value_printer(made, mariadb=True)[0] == name
    assert shown(made, made.write(value), mariadb=True) == text


def test_which_types_have_no_text() -> None:
    """The tool stops at these; the list is complete, so a new type must be placed."""
    metadata = {"none": "", "one": "04", "little": "0100", "big": "fe0a"}
    special = {
        4: "04",
        5: "08",
        17: "00",
        18: "00",
        19: "00",
        20: "03",
        246: "0a02",
        247: "f701",
        248: "f801",
    }
    unknown: dict[bool, set[int]] = {False: set(), True: set()}
    for row in BY_CODE.values():
        made = column(row.code, special.get(row.code, metadata[row.metadata]))
        for mariadb, found in unknown.items():
            if value_printer(made, mariadb=mariadb)[1] is None:
                found.add(row.code)
    both = {0, 6, 20, 243, 244, 249, 250, 251}
    assert unknown == {False: both | {140, 141, 255}, True: both | {242, 245}}


# --- strings ----------------------------------------------------------------------------------------------

_NAMED = {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 39: "\\'", 92: "\\\\"}


def plainly(value: bytes, named: dict[int, str]) -> bytes:
    out = bytearray()
    for byte in value:
        if byte in named:
            out += named[byte].encode()
        elif byte < 32:
            out += b"\\x%02x" % byte
        else:
            out.append(byte)
    return b"'" + bytes(out) + b"'"


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


@given(st.binary(max_size=300), st.sampled_from([1, 9, 50]))
def test_quoting(value: bytes, repeat: int) -> None:
    """Short and long strings take different ways to the same text."""
    value *= repeat
    assert encoded(quote_mysql(value)) == plainly(value, _NAMED)
    assert encoded(quote_mariadb(value)) == plainly(value, {})


def test_every_byte() -> None:
    everything = bytes(range(256))
    for value in (everything, everything * 10, everything[::-1] * 10):
        assert encoded(quote_mysql(value)) == plainly(value, _NAMED)


# --- JSON -------------------------------------------------------------------------------------------------

JSON = column(245, "04")


def json_shown(document: bytes) -> str:
    return shown(JSON, len(document).to_bytes(4, "little") + document)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "'null'"),
        (True, "'true'"),
        (-1, "'-1'"),
        (1.0, "'1.0'"),
        ('it\'s "q"\n', "'it\\'s \"q\"\\n'"),  # a lone string has no quotes of its own
        (['it\'s "q"\n'], '\'["it\\\'s \\\\"q\\\\"\\\\n"]\''),
        ({"a": [1, None], "": {}}, '\'{"": {}, "a": [1, null]}\''),
        (Date(2020, 1, 2), "'2020-01-02'"),
        ([Date(2020, 1, 2)], "'[\"2020-01-02\"]'"),
        (DateTime(2020, 1, 2, 3, 4, 5, 678000), "'2020-01-02 03:04:05.678000'"),
        (Time(True, 12, 34, 56), "'-12:34:56.000000'"),
        (Decimal("-1.50"), "'-1.50'"),
        (Opaque(252, b"\0\xff\x10"), "'base64:type252:AP8Q'"),
    ],
)
def test_json(value: object, text: str) -> None:
    assert json_shown(encode_json(value)) == text


def test_no_bytes_are_null() -> None:
    assert json_shown(b"") == "'null'"


@pytest.mark.parametrize(
    "document",
    ["0405", "04", "63616263", "0c036162", "0501", "020100ff00050100", "02ffff0700050000", "0d0000"],
)
def test_damaged_json_ends_the_event(document: str) -> None:
    with pytest.raises(Stop, match="Invalid JSON"):
        json_shown(bytes.fromhex(document))


@pytest.mark.parametrize("document", ["02010007000c6000", "0201000700630000", "0ff603050280"])
def test_json_damaged_inside(document: str) -> None:
    assert json_shown(bytes.fromhex(document)) == "Failed to format JSON object as string.\n"


def diff_shown(data: bytes) -> str:
    text = value_printer(JSON)[1]
    assert text is not None
    return text(JsonDiffs(data))


ONE = encode_json(1)


@pytest.mark.parametrize(
    ("steps", "text"),
    [
        ([], "@1"),
        ([JsonDiff(0, "$.a", ONE)], "JSON_REPLACE(@1, '$.a', 1)"),
        ([JsonDiff(1, "$[1]", encode_json([]))], "JSON_ARRAY_INSERT(@1, '$[1]', CAST('[]' AS JSON))"),
        ([JsonDiff(1, "$.q'", encode_json("x'"))], "JSON_INSERT(@1, '$.q\\'', 'x\\'')"),
        ([JsonDiff(0, "$", b"")], "JSON_REPLACE(@1, '$', null)"),
        (
            [JsonDiff(2, "$.z"), JsonDiff(2, "$.y"), JsonDiff(0, "$.a", ONE)],
            "JSON_REPLACE(\n###      JSON_REMOVE(@1, '$.z',\n###      '$.y'),\n###      '$.a', 1)",
        ),
    ],
)
def test_json_diffs(steps: list[JsonDiff], text: str) -> None:
    assert diff_shown(encode_diffs(steps)) == text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\7\1$", "Error reading operation type (invalid operation code) while printing JSON diff\n"),
        (b"\0", "Error reading path length to skip while printing JSON diff\n"),
        (b"\0\x50$", "Error skipping path while printing JSON diff\n"),
        (b"\0\1$", "Error reading value length to skip while printing JSON diff\n"),
        (b"\0\1$\x50ab", "Error skipping value while printing JSON diff\n"),
        (b"\0\1$\1\x63", "JSON_REPLACE(@1, '$', Error parsing json value while printing JSON diff\n"),
        (
            b"\0\1$\x08\2\1\0\7\0\x0c\x60\0",
            "JSON_REPLACE(@1, '$', Error converting json to string while printing JSON diff\n",
        ),
    ],
)
def test_damaged_json_diffs(data: bytes, text: str) -> None:
    assert diff_shown(data) == text


# --- geometry ---------------------------------------------------------------------------------------------


def wkb(kind: int, body: bytes) -> bytes:
    return struct.pack("<BI", 1, kind) + body


def points(*numbers: float) -> bytes:
    return struct.pack("<I", len(numbers) // 2) + struct.pack(f"<{len(numbers)}d", *numbers)


POINT = wkb(1, struct.pack("<2d", 1, 2.5))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (POINT, "POINT(1 2.5)"),
        (struct.pack(">BI2d", 0, 1, 1, 2.5), "POINT(1 2.5)"),
        (wkb(2, points(0, 0, 1, 1)), "LINESTRING(0 0,1 1)"),
        (wkb(3, struct.pack("<I", 1) + points(0, 0, 1, 0, 1, 1, 0, 0)), "POLYGON((0 0,1 0,1 1,0 0))"),
        (wkb(4, struct.pack("<I", 2) + POINT * 2), "MULTIPOINT((1 2.5),(1 2.5))"),
        (wkb(5, struct.pack("<I", 1) + wkb(2, points(0, 0, 1, 1))), "MULTILINESTRING((0 0,1 1))"),
        (wkb(7, struct.pack("<I", 1) + POINT), "GEOMETRYCOLLECTION(POINT(1 2.5))"),
        (wkb(7, struct.pack("<I", 0)), "GEOMETRYCOLLECTION EMPTY"),
    ],
)
def test_geometry(value: bytes, text: str) -> None:
    assert geometry_text(bytes(4) + value) == f"ST_GeomFromText('{text}')"
    assert geometry_text(b"\xe6\x10\0\0" + value) == f"ST_GeomFromText('{text}', 4326, 'axis-order=long-lat')"


@given(st.binary(max_size=40), st.integers(0, 9))
def test_any_bytes_have_a_text(data: bytes, kind: int) -> None:
    """Either a geometry or all bytes in hexadecimal; never an exception."""
    for value in (data, bytes(4) + wkb(kind, data)):
        text = geometry_text(value)
        assert text == f"X'{value.hex()}'" or re.fullmatch(r"ST_GeomFromText\('.*'.*\)", text)


def test_deep_collections_are_no_trouble() -> None:
    value = bytes(4) + wkb(7, struct.pack("<I", 1)) * 5000
    assert geometry_text(value).startswith("X'")
