"""VARIANT in Python: what is written is what the format says, PySpark's own reader agrees, bad bytes are refused."""

from __future__ import annotations

import datetime
import json
import math
import struct
import time
import zlib
from dataclasses import replace
from decimal import Decimal, localcontext
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.types import VariantVal

from gtidal.columnar.variant import (
    ImageEncoder,
    decode,
    decode_typed,
    encode_detail,
    encode_image,
    encode_value,
    json_text,
    writing,
)
from gtidal.columns.jsonb import JsonDiff, Opaque, decode_json, encode_diffs, encode_json
from gtidal.columns.meanings import Undecoded
from gtidal.columns.shapes import RawNan
from gtidal.columns.temporal import Date, DateTime, Time, Timestamp
from gtidal.columns.types import Column, make_columns, resolve
from gtidal.errors import DecodeError, GtidalError, UsageError
from gtidal.events import Event
from gtidal.events.images import ABSENT, JsonDiffs
from tests import samples

UTF8MB4, LATIN1, BINARY, UCS2, SJIS = 255, 8, 63, 35, 13
EMPTY = b"\x01\x00\x00"
"""A dictionary without names."""


def column(code: int, metadata: int = 0, **known: Any) -> Column:
    return Column(
        **{
            "index": 0,
            "type_code": code,
            "real_type": resolve(code, metadata),
            "metadata": metadata,
            "name": "c",
        }
        | known
    )


def written(one: Column, value: Any) -> Any:
    """The typed value of a column's physical value, by way of an image."""
    kind, found = decode_typed(*encode_image((one,), (value,)))
    assert kind == "object"
    assert list(found) == [one.name]
    return found[one.name]


def both(value: bytes, metadata: bytes) -> Any:
    """What we read, after PySpark read the same."""
    found = decode(value, metadata)
    with localcontext(prec=60):  # it multiplies, and so rounds to the context's 28 digits
        theirs = VariantVal(value, metadata).toPython()
    assert repr(theirs) == repr(found) or theirs == found
    return found


def float_hex(value: float, letter: str = "d") -> str:
    return struct.pack(f"<{letter}", value).hex()


# --- the bytes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("python", "value", "metadata"),
    [
        (None, "00", EMPTY),
        (True, "04", EMPTY),
        (False, "08", EMPTY),
        (-2, "0cfe", EMPTY),
        (200, "10c800", EMPTY),
        (-70000, "1490eefeff", EMPTY),
        (1 << 40, "18000000000001 0000", EMPTY),
        (1.5, "1c000000000000f83f", EMPTY),
        (Decimal("-1.50"), "20026affffff", EMPTY),
        (Decimal("12345678901.5"), "2401 171a99be1c000000", EMPTY),
        (Decimal((1 << 64) - 1), "2800ffffffffffffffff0000000000000000", EMPTY),
        (datetime.date(1969, 12, 31), "2cffffffff", EMPTY),
        (datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.UTC), "3040420f0000000000", EMPTY),
        (datetime.datetime(1970, 1, 1, 0, 0, 1), "3440420f0000000000", EMPTY),
        (b"\x00\xff", "3c0200000000ff", EMPTY),
        ("é", "09c3a9", EMPTY),
        ("", "01", EMPTY),
        ("x" * 63, "fd" + "78" * 63, EMPTY),
        ("x" * 64, "4040000000" + "78" * 64, EMPTY),
        ([], "030000", EMPTY),
        ([True, [None]], "0302000106 04 0301000100", EMPTY),
        # Keys are numbered as they come, and listed by name: "a" is 1 and comes first.
        ({"b": 1, "a": None}, "0202 0100 000103 00 0c01", b"\x01\x02\x00\x01\x02ba"),
        ({}, "020000", EMPTY),
    ],
)
def test_the_bytes_are_those_of_the_format(python: Any, value: str, metadata: bytes) -> None:
    assert encode_value(python) == (bytes.fromhex(value), metadata)
    found = both(bytes.fromhex(value), metadata)
    assert found == python
    assert type(found) is type(python)


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        *((value, "int8") for value in (-128, 127)),
        *((value, "int16") for value in (-129, 128, -32768, 32767)),
        *((value, "int32") for value in (-32769, 32768, -(1 << 31), (1 << 31) - 1)),
        *((value, "int64") for value in (-(1 << 31) - 1, 1 << 31, -(1 << 63), (1 << 63) - 1)),
    ],
)
def test_integers_take_the_smallest_type(number: int, kind: str) -> None:
    assert decode_typed(*encode_value(number)) == (kind, number)
    assert both(*encode_value(number)) == number


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (-(1 << 63) - 1, ("decimal16", (-(1 << 63) - 1, 0))),
        (10**38 - 1, ("decimal16", (10**38 - 1, 0))),
        (10**38, ("string", "1" + "0" * 38)),
        (Decimal("999999999"), ("decimal4", (999999999, 0))),
        (Decimal("-9.99999999"), ("decimal4", (-999999999, 8))),
        (Decimal("0.000000001"), ("decimal4", (1, 9))),
        (Decimal("0.0000000001"), ("decimal8", (1, 10))),
        (Decimal("1000000000"), ("decimal8", (10**9, 0))),
        (Decimal("1E+3"), ("decimal4", (1000, 0))),
        (Decimal("-9999999999.99999999"), ("decimal8", (-(10**18) + 1, 8))),
        (Decimal("1000000000000000000"), ("decimal16", (10**18, 0))),
        (Decimal("-" + "9" * 30 + "." + "9" * 8), ("decimal16", (-(10**38) + 1, 8))),
        (Decimal("9" * 38 + ".5"), ("string", "9" * 38 + ".5")),
        (Decimal("1E-39"), ("string", "0." + "0" * 38 + "1")),
        (Decimal("NaN"), ("string", "NaN")),
    ],
)
def test_large_numbers_and_decimals(number: Any, expected: Any) -> None:
    assert decode_typed(*encode_value(number)) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Date(2024, 2, 29), ("date", 19782)),
        (Date(2023, 2, 29), ("string", "2023-02-29")),
        (Date(0, 0, 0), ("string", "0000-00-00")),
        (Date(0, 1, 1), ("string", "0000-01-01")),
        (DateTime(1969, 12, 31, 23, 59, 59, 999999), ("timestamp_ntz", -1)),
        (DateTime(2024, 0, 1, 2, 3, 4, 50), ("string", "2024-00-01 02:03:04.000050")),
        (Time(True, 838, 59, 59, 10), ("string", "-838:59:59.000010")),
        (datetime.timedelta(hours=-30, microseconds=-5), ("string", "-30:00:00.000005")),
        (datetime.timedelta(seconds=61), ("string", "00:01:01")),
        (
            datetime.datetime(1970, 1, 1, 1, 0, 0, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
            ("timestamp", -3_599_999_999),
        ),
        (Opaque(16, b"\x05"), ("string", "base64:type16:BQ==")),
        (Undecoded(b"\xff"), ("binary", b"\xff")),
        (bytearray(b"ab"), ("binary", b"ab")),
        (memoryview(b"ab"), ("binary", b"ab")),
        ("a\udcffb", ("binary", b"a\xffb")),
        ("\ud800", ("binary", b"\xed\xa0\x80")),
        ((1, "x"), ("array", [("int8", 1), ("string", "x")])),
        (JsonDiff(2, "$.a"), ("object", {"operation": ("string", "REMOVE"), "path": ("string", "$.a")})),
        (-0.0, ("double", "0000000000000080")),
    ],
)
def test_values_of_other_kinds(value: Any, expected: Any) -> None:
    assert decode_typed(*encode_value(value)) == expected


@pytest.mark.parametrize("count", [31, 32, 33, 255, 256, 257, 70_000])
def test_many_keys(count: int) -> None:
    # Reversed, so that no number equals its key's place; each nested object is as wide as the outer one's end.
    python = {f"k{number:06d}": number - 3 for number in reversed(range(count))}
    value, metadata = encode_value([python, {"k000001": {"new": 1}}])
    assert both(value, metadata) == [python, {"k000001": {"new": 1}}]
    assert list(decode(value, metadata)[0]) == sorted(python)


@pytest.mark.parametrize("size", [250, 256, 65_530, 65_536, 1 << 24])
def test_long_members_widen_the_offsets(size: int) -> None:
    python = {"b": ["x" * size, 1, "y"], "a": b"z" * size}
    assert both(*encode_value(python)) == python


def test_names_are_ordered_by_their_bytes() -> None:
    keys = ["é", "z", "a", "Z", "aa", "", "\uff21", "\U0001f40b", "ab"]
    value, metadata = encode_value(dict.fromkeys(keys))
    assert list(decode(value, metadata)) == sorted(keys, key=str.encode)


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 70), 1 << 70),
    st.floats(allow_nan=False),
    st.text(),
    st.binary(),
    st.decimals(allow_nan=False, allow_infinity=False, places=7, min_value=-(10**20), max_value=10**20),
    st.dates(),
    st.datetimes(),
    st.datetimes(timezones=st.just(datetime.UTC)),
)
TREES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=40
)


@settings(max_examples=150, deadline=None)
@given(TREES)
def test_what_is_written_is_read(python: Any) -> None:
    value, metadata = encode_value(python)
    assert decode(value, metadata) == python
    assert VariantVal(value, metadata).toPython() == python
    decode_typed(value, metadata)  # strict: tight, and keys in order
    json.loads(json_text(value, metadata))


def test_what_is_no_variant_value() -> None:
    with pytest.raises(UsageError, match="complex is no VARIANT value"):
        encode_value({"a": [1j]})
    with pytest.raises(UsageError, match="7 is no key"):
        encode_value({7: 1})
    with pytest.raises(DecodeError, match="no UTF-8"):
        encode_value({"a\udcff": 1})


def test_nesting_is_bounded() -> None:
    python: Any = 1
    for _ in range(writing.MOST_NESTED):
        python = [python]
    assert both(*encode_value(python)) == python
    with pytest.raises(DecodeError, match="deeper"):
        encode_value([python])


@pytest.mark.parametrize(
    "python", ["x" * 600, b"x" * 600, ["x" * 300, "y" * 300], {"k" * 600: 1}, {"a": "x" * 590}]
)
def test_the_limit_of_size(python: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert writing.LARGEST == 134_217_728
    monkeypatch.setattr(writing, "LARGEST", 594)
    with pytest.raises(DecodeError, match=r"128 MiB.*typed `rows`"):
        encode_value(python)
    monkeypatch.setattr(writing, "LARGEST", 640)
    assert both(*encode_value(python)) == python


# --- row images --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "value", "expected"),
    [
        (column(1, unsigned=False), -128, ("int8", -128)),
        (column(1), 127, ("int8", 127)),
        (column(1, unsigned=True), 255, ("int16", 255)),
        (column(2, unsigned=False), -1, ("int16", -1)),
        (column(2, unsigned=True), 65535, ("int32", 65535)),
        (column(9, unsigned=False), -(1 << 23), ("int32", -(1 << 23))),
        (column(9, unsigned=True), (1 << 24) - 1, ("int32", (1 << 24) - 1)),
        (column(3, unsigned=False), -1, ("int32", -1)),
        (column(3, unsigned=True), (1 << 32) - 1, ("int64", (1 << 32) - 1)),
        (column(8, unsigned=False), -(1 << 63), ("int64", -(1 << 63))),
        (column(8, unsigned=True), 1, ("decimal16", (1, 0))),
        (column(8, unsigned=True), (1 << 64) - 1, ("decimal16", ((1 << 64) - 1, 0))),
        (column(13), 2155, ("int16", 2155)),
        (column(13), 0, ("int16", 0)),
        (column(4, 4), 0.5, ("float", float_hex(0.5, "f"))),
        (column(4, 4), -0.0, ("float", "00000080")),
        (column(4, 4), RawNan(b"\x01\x00\xa0\x7f"), ("float", "0100a07f")),
        (column(5, 8), 0.1, ("double", float_hex(0.1))),
        (column(246, 9 << 8 | 2), Decimal("-1.50"), ("decimal4", (-150, 2))),
        (column(246, 10 << 8 | 2), Decimal("-1.50"), ("decimal8", (-150, 2))),
        (column(246, 18 << 8), Decimal("9" * 18), ("decimal8", (10**18 - 1, 0))),
        (column(246, 19 << 8 | 19), Decimal("-0." + "9" * 19), ("decimal16", (1 - 10**19, 19))),
        (column(246, 38 << 8 | 30), Decimal("9" * 8 + "." + "9" * 30), ("decimal16", (10**38 - 1, 30))),
        (column(246, 39 << 8 | 1), Decimal("-1.5"), ("string", "-1.5")),
        (column(246, 65 << 8 | 30), Decimal("1." + "0" * 30), ("string", "1." + "0" * 30)),
        (column(10), Date(1000, 1, 1), ("date", -354285)),
        (column(10), Date(9999, 12, 31), ("date", 2932896)),
        (column(10), Date(2020, 0, 0), ("string", "2020-00-00")),
        (column(12), DateTime(2024, 2, 29, 23, 59, 59), ("timestamp_ntz", 1709251199000000)),
        (column(12), DateTime(0, 0, 0, 0, 0, 0), ("string", "0000-00-00 00:00:00")),
        (column(18, 3), DateTime(1969, 12, 31, 23, 59, 59, 999000), ("timestamp_ntz", -1000)),
        (column(18, 3), DateTime(2024, 2, 30, 1, 2, 3, 45000), ("string", "2024-02-30 01:02:03.045")),
        (column(7), Timestamp(1 << 31), ("timestamp", (1 << 31) * 1_000_000)),
        (column(7), Timestamp(0), ("string", "0000-00-00 00:00:00")),
        (column(17, 6), Timestamp(0, 1), ("timestamp", 1)),
        (column(17, 2), Timestamp(0), ("string", "0000-00-00 00:00:00.00")),
        (column(11), Time(True, 838, 59, 59), ("string", "-838:59:59")),
        (column(19, 4), Time(False, 1, 2, 3, 456700), ("string", "01:02:03.4567")),
        (column(19, 0), Time(False, 0, 0, 0), ("string", "00:00:00")),
        (column(16, 1), 1, ("boolean", True)),
        (column(16, 1), 0, ("boolean", False)),
        (column(16, 0x0100), 1, ("int64", 1)),
        (column(16, 0x0707), (1 << 63) - 1, ("int64", (1 << 63) - 1)),
        (column(16, 0x0800), 1 << 63, ("decimal16", (1 << 63, 0))),
        (column(15, 400, charset=UTF8MB4), "grün".encode(), ("string", "grün")),
        (column(15, 400, charset=UTF8MB4), b"gr\xfcn", ("binary", b"gr\xfcn")),
        (column(15, 400, charset=LATIN1), b"gr\xfcn \x80", ("string", "grün €")),
        (column(15, 400, charset=UCS2), "né".encode("utf-16-be"), ("string", "né")),
        (column(15, 400, charset=UCS2), b"\xd8\x00\x00n", ("binary", b"\xd8\x00\x00n")),
        (column(15, 400, charset=SJIS), "日本".encode("shift_jis"), ("string", "日本")),
        (column(15, 400, charset=9999), b"plain", ("binary", b"plain")),
        (column(15, 400), "grün".encode(), ("string", "grün")),
        (column(15, 400), b"gr\xfcn", ("binary", b"gr\xfcn")),
        (column(15, 400, charset=BINARY), b"ab", ("binary", b"ab")),
        (column(254, 0xFE05, charset=BINARY), b"ab", ("binary", b"ab\0\0\0")),
        (column(254, 0xFE05, charset=UTF8MB4), b"ab", ("string", "ab")),
        (column(252, 2, charset=UTF8MB4), b"t" * 64, ("string", "t" * 64)),
        (column(252, 2, charset=BINARY), b"", ("binary", b"")),
        (column(140, 2, charset=UTF8MB4), b"\x89\x01" + zlib.compress(b"z", wbits=-15), ("string", "z")),
        (column(254, 0xF701, labels=(b"a", b"\xe9"), charset=LATIN1), 2, ("string", "é")),
        (column(254, 0xF701, labels=(b"a", b"\xe9"), charset=LATIN1), 0, ("string", "")),
        (column(254, 0xF701, labels=(b"a", b"\xe9"), charset=LATIN1), 3, ("int64", 3)),
        (column(254, 0xF701, labels=(b"a", b"\xe9")), 2, ("binary", b"\xe9")),
        (column(254, 0xF702), 700, ("int64", 700)),
        (
            column(254, 0xF801, labels=(b"a", b"b", b"c"), charset=UTF8MB4),
            0b101,
            ("array", [("string", "a"), ("string", "c")]),
        ),
        (column(254, 0xF801, labels=(b"a", b"b", b"c"), charset=UTF8MB4), 0, ("array", [])),
        (column(254, 0xF801, labels=(b"a", b"b", b"c"), charset=UTF8MB4), 8, ("int64", 8)),
        (column(254, 0xF808), 1 << 63, ("decimal16", (1 << 63, 0))),
        (column(254, 0xF808), 5, ("decimal16", (5, 0))),
        (column(254, 0xF804), 5, ("int64", 5)),
        (column(254, 0xF808, labels=(b"a",), charset=UTF8MB4), (1 << 63) - 1, ("int64", (1 << 63) - 1)),
        (column(254, 0xF808, labels=(b"a",), charset=UTF8MB4), 1 << 63, ("decimal16", (1 << 63, 0))),
        (
            column(242, 4),
            struct.pack("<2f", 0.1, -2.0),
            ("array", [("float", float_hex(0.1, "f")), ("float", float_hex(-2.0, "f"))]),
        ),
        (column(242, 4), b"\x01\x00\xa0\x7f", ("array", [("float", "0100a07f")])),
        (column(242, 4), b"abcde", ("binary", b"abcde")),
        (
            column(255, 4),
            b"\xff\xff\xff\xffpoint",
            ("object", {"srid": ("int64", (1 << 32) - 1), "wkb": ("binary", b"point")}),
        ),
        (column(255, 4), b"ab", ("object", {"srid": ("null", None), "wkb": ("binary", b"ab")})),
        (column(255, 4, name="wkb"), bytes(4), ("object", {"srid": ("int64", 0), "wkb": ("binary", b"")})),
        (column(245, 4), b"", ("null", None)),
        (column(20, 4), encode_json([1, None]), ("array", [("int8", 1), ("null", None)])),
    ],
)  # fmt: skip
def test_a_column_has_its_type(one: Column, value: Any, expected: Any) -> None:
    assert written(one, value) == expected
    both(*encode_image((one,), (value,)))
    assert written(one, None) == ("null", None)
    assert decode_typed(*encode_image((one,), (ABSENT,))) == ("object", {})


def test_the_values_are_the_reference_decoders() -> None:
    """What ``Column.python`` says of a sample's values, in other words."""
    event = samples.TABLE
    found = decode(*encode_image(event.columns, samples.FIRST))
    for one, physical in zip(event.columns, samples.FIRST, strict=True):
        logical = one.python(physical)
        assert one.name is not None
        shown = found[one.name]
        if one.name == "doc":
            assert shown == logical.python()
        elif one.name == "took":
            assert shown == "-838:59:58.99"
        elif one.name == "d":
            assert shown == logical.text()
        elif one.name == "g":
            assert shown == {"srid": logical.srid, "wkb": logical.wkb}
        else:
            assert shown == logical
            assert type(shown) is type(logical)


def test_the_dictionary_begins_with_the_columns() -> None:
    columns = samples.TABLE.columns
    _, metadata = encode_image(columns, samples.FIRST)
    names = _names(metadata)
    assert names[:13] == [one.name for one in columns]
    assert names[13:15] == ["srid", "wkb"]
    assert names[15:] == ["a", "c"]  # "b" is a column
    _, shorter = encode_image(columns, samples.SECOND)
    assert _names(shorter) == names[:15]


def _names(metadata: bytes) -> list[str]:
    count = metadata[1]
    ends = metadata[2 : 3 + count]
    text = metadata[3 + count :].decode()
    return [text[start:end] for start, end in pairwise(ends)]


def test_absent_is_not_null() -> None:
    columns = make_columns(b"\x03\x03\x03", b"", b"\x07", names=["z", "y", "x"])
    found = decode(*encode_image(columns, (1, ABSENT, None)))
    assert found == {"x": None, "z": 1}


def test_columns_without_names_are_numbered() -> None:
    columns = make_columns(b"\x03" * 12, b"", b"\xff\x0f")
    found = decode(*encode_image(columns, tuple(range(12))))
    assert found == {f"@{number + 1}": number for number in range(12)}
    assert list(found)[:4] == ["@1", "@10", "@11", "@12"]


@pytest.mark.parametrize("width", [33, 256, 300, 4096])
def test_wide_tables(width: int) -> None:
    names = (
        [f"c{number * 7 % width}" for number in range(width)]
        if width % 7
        else [f"c{n}" for n in range(width)]
    )
    columns = make_columns(b"\x02" * width, b"", b"\xff" * ((width + 7) // 8), names=names)
    image = [number - 150 for number in range(width)]
    image[5] = ABSENT  # type: ignore[call-overload]
    expected = {name: value for name, value in zip(names, image, strict=True) if value is not ABSENT}
    value, metadata = encode_image(columns, image)
    assert both(value, metadata) == expected
    decode_typed(value, metadata)


def test_two_columns_of_one_name() -> None:
    columns = make_columns(b"\x03\x03", b"", b"\x03", names=["same", "same"])
    with pytest.raises(DecodeError, match="two columns are called same"):
        encode_image(columns, (1, 2))


def test_a_name_that_is_no_text() -> None:
    with pytest.raises(DecodeError, match="no UTF-8"):
        encode_image((column(3, name="a\udcff"),), (1,))


def test_an_image_of_another_table() -> None:
    with pytest.raises(DecodeError, match="an image of 1 columns, the table has 13"):
        encode_image(samples.TABLE.columns, (1,))


def test_an_error_names_its_column() -> None:
    with pytest.raises(DecodeError) as caught:
        encode_image((column(245, 4, name="doc"),), (b"\x00\x01",))
    assert caught.value.field == "doc"


def test_the_size_of_an_image_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "LARGEST", 1000)
    one = column(252, 4, charset=BINARY)
    assert written(one, b"x" * 980) == ("binary", b"x" * 980)
    for size in (997, 1001):
        with pytest.raises(DecodeError, match="typed `rows`"):
            encode_image((one,), (b"x" * size,))


def test_encoders_are_kept_by_table() -> None:
    first, second = (column(1),), (column(1, unsigned=True),)
    for _ in range(2):
        assert decode_typed(*encode_image(first, (5,))) == ("object", {"c": ("int8", 5)})
        assert decode_typed(*encode_image(second, (5,))) == ("object", {"c": ("int16", 5)})
    assert ImageEncoder(list(first)).encode([7]) == encode_image(first, (7,))


# --- JSON documents ----------------------------------------------------------------------------------------

DOCUMENT = column(245, 4, name="doc")


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (None, ("null", None)),
        (True, ("boolean", True)),
        (-129, ("int16", -129)),
        (1 << 63, ("decimal16", (1 << 63, 0))),
        (2.0, ("double", float_hex(2.0))),
        ("x" * 200, ("string", "x" * 200)),
        ("a\udcff", ("binary", b"a\xff")),
        (Decimal("1.50"), ("decimal4", (150, 2))),
        (Decimal("-12345678.90"), ("decimal8", (-1234567890, 2))),
        (Decimal("9" * 39), ("string", "9" * 39)),
        (Date(2024, 2, 29), ("date", 19782)),
        (Date(0, 0, 0), ("string", "0000-00-00")),
        (DateTime(2024, 2, 29, 1, 2, 3, 4), ("timestamp_ntz", 1709168523000004)),
        (DateTime(0, 0, 0, 0, 0, 0), ("string", "0000-00-00 00:00:00.000000")),
        (Time(True, 1, 2, 3, 40), ("string", "-01:02:03.000040")),
        (Opaque(252, b"\x00\x01"), ("string", "base64:type252:AAE=")),
        ([], ("array", [])),
        ({"b": [{}], "aa": 1}, ("object", {"aa": ("int8", 1), "b": ("array", [("object", {})])})),
    ],
)  # fmt: skip
def test_documents(document: Any, expected: Any) -> None:
    data = encode_json(document)
    assert decode_json(data) == document
    assert written(DOCUMENT, data) == expected


def test_a_decimal_has_the_type_of_its_declared_precision() -> None:
    """The same number, 1.5, declared with 2 and with 12 digits."""
    assert written(DOCUMENT, b"\x0f\xf6\x04\x02\x01\x81\x05") == ("decimal4", (15, 1))
    assert written(DOCUMENT, b"\x0f\xf6\x08\x0c\x01\x80\x00\x00\x00\x01\x05") == ("decimal8", (15, 1))


def test_keys_of_documents() -> None:
    keys = ["doc", "k" * 300, "", "é", *(f"n{number}" for number in range(300))]
    document = {key: {"inner": key, "doc": None} for key in keys}
    value, metadata = encode_image((DOCUMENT,), (encode_json(document),))
    assert both(value, metadata) == {"doc": document}
    decode_typed(value, metadata)


def test_a_key_that_is_no_text() -> None:
    with pytest.raises(DecodeError, match="no UTF-8"):
        encode_image((DOCUMENT,), (encode_json({"a\udcff": 1}),))


def test_the_deepest_document() -> None:
    document: Any = 7
    for _ in range(50):
        document = [{"k": document}]
    assert decode(*encode_image((DOCUMENT,), (encode_json(document),))) == {"doc": document}
    diffs = JsonDiffs(encode_diffs([JsonDiff(0, "$.a", encode_json(document))]))
    found = both(*encode_image((DOCUMENT,), (diffs,)))
    assert found["doc (diff)"][0]["value"] == document


def test_diffs_that_could_not_be_applied() -> None:
    diffs = JsonDiffs(encode_diffs([JsonDiff(0, "$.a[0]", encode_json(9)), JsonDiff(2, "$.b")]))
    columns = (replace(DOCUMENT, index=0), column(3, index=1, name="doc "), column(3, index=2, name="a"))
    value, metadata = encode_image(columns, (diffs, 5, None))
    shown = [{"operation": "REPLACE", "path": "$.a[0]", "value": 9}, {"operation": "REMOVE", "path": "$.b"}]
    assert both(value, metadata) == {"a": None, "doc ": 5, "doc (diff)": shown}
    decode_typed(value, metadata)
    taken = (*columns[:1], column(3, index=1, name="doc (diff)"), *columns[2:])
    found = both(*encode_image(taken, (diffs, 5, None)))
    assert found == {"a": None, "doc (diff)": 5, "doc (diff) (diff)": shown}


# --- details of events -------------------------------------------------------------------------------------


@pytest.mark.parametrize("event", samples.samples(), ids=lambda event: event.name)
def test_every_event_has_a_detail(event: Event) -> None:
    value, metadata = encode_detail(event)
    found = both(value, metadata)
    decode_typed(value, metadata)
    assert json.loads(json_text(value, metadata)).keys() == found.keys()
    assert found["header"]["type_code"] == event.header.type_code
    assert found["header"]["timestamp"] == 1_700_000_000
    assert "grün".encode() not in value  # a row's value
    hidden = {"rows", "undecoded", "compressed_rows", "payload", "compressed", "mariadb"}
    assert not hidden & found.keys()


def detail(event: Event) -> Any:
    return decode(*encode_detail(samples.with_type(event)))


def test_details_say_what_numbers_mean() -> None:
    found = {event.name: detail(event) for event in samples.samples()}
    assert found["GTID_TAGGED"]["gtid"] == f"b8ae2fd2-3005-11f0-8be8-0242ac150002:{'x' * 32}:12"
    assert found["GTID_TAGGED"]["immediate_server_version_text"] == "9.7.4"
    assert found["GTID_TAGGED"]["immediate_commit_time"] == datetime.datetime(
        2025, 5, 27, 1, 6, 53, 569478, tzinfo=datetime.UTC
    )
    assert "original_commit_timestamp" not in found["GTID_TAGGED"]  # the log does not hold it
    assert "gtid" not in found["ANONYMOUS_GTID"]
    assert found["WRITE_ROWS"]["flag_names"] == ["STMT_END"]
    assert found["WRITE_ROWS"]["row_count"] == 2
    assert found["WRITE_ROWS"]["table_name"] == "shop.orders"
    assert found["WRITE_ROWS"]["extra_info"] == [{"kind": "PartitionInfo", "partition_id": 3, "typecode": 1}]
    assert found["QUERY"]["query"] == "CREATE TABLE t (a INT)"
    assert found["QUERY"]["status"]["time_zone"] == {"code": 5, "time_zone": "SYSTEM"}
    assert "STRICT_TRANS_TABLES" in found["QUERY"]["status"]["sql_mode"]["names"]
    assert found["QUERY_COMPRESSED"]["query"] == "INSERT INTO t VALUES (1)"
    assert found["RAND"]["seed1"] == 1 << 63
    assert found["TABLE_MAP"]["columns"][8]["labels"] == ["new", "paid"]
    assert found["TABLE_MAP"]["optional"]["simple_primary_key"]["numbers"] == [0]
    assert found["TABLE_MAP"]["optional"]["unknown_99"] == {"tag": 99, "data": b"later"}
    assert found["PREVIOUS_GTIDS"]["gtids"]["set"] == samples.GTIDS.one_line()
    assert found["XA_PREPARE"]["xa"] == "X'747278',X'6272616e6368',1"
    assert found["TRANSACTION_PAYLOAD"]["compression_name"] == "ZSTD"
    assert found["TRANSACTION_PAYLOAD"]["payload_size"] == len(samples.payload().payload)
    assert found["MARIADB_GTID"]["gtid"] == "0-1-5"
    assert found["UNKNOWN"]["body"] == b"something new"
    first = next(event for event in samples.samples() if event.name == "USER_VAR")
    assert detail(first)["decoded_value"] == Decimal("123.45")


def test_a_text_that_is_none_is_binary() -> None:
    assert detail(samples.query(b"SELECT '\xff'"))["query"] == b"SELECT '\xff'"


def test_a_detail_that_is_too_large_says_where(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "LARGEST", 500)
    with pytest.raises(DecodeError, match="128 MiB") as caught:
        detail(samples.query(b"x" * 400))
    assert (caught.value.event, caught.value.field) == ("QUERY", "detail")


# --- JSON text ---------------------------------------------------------------------------------------------


def as_json(python: Any) -> str:
    return json_text(*encode_value(python))


@pytest.mark.parametrize(
    ("python", "expected"),
    [
        ({"b": [1, None], "a": True}, '{"a":true,"b":[1,null]}'),
        (Decimal("-1.50"), "-1.50"),
        (Decimal("0.05"), "0.05"),
        (Decimal("-0.00000001"), "-0.00000001"),
        (Decimal("1E+12"), "1000000000000"),
        ((1 << 64) - 1, "18446744073709551615"),
        (0.1, "0.1"),
        (100.0, "100.0"),
        (math.nan, '"NaN"'),
        (math.inf, '"Infinity"'),
        (-math.inf, '"-Infinity"'),
        (datetime.date(987, 6, 5), '"0987-06-05"'),
        (datetime.datetime(2024, 2, 29, 1, 2, 3), '"2024-02-29 01:02:03"'),
        (datetime.datetime(2024, 2, 29, 1, 2, 3, 120), '"2024-02-29 01:02:03.00012"'),
        (datetime.datetime(2024, 2, 29, tzinfo=datetime.UTC), '"2024-02-29 00:00:00+00:00"'),
        (b"\x00\xff\xfe", '"AP/+"'),
        ('q"\\\n\x01é\U0001f40b', '"q\\"\\\\\\n\\u0001é\U0001f40b"'),
        ({'k"': 1}, '{"k\\"":1}'),
    ],
)
def test_json_text(python: Any, expected: str) -> None:
    assert as_json(python) == expected
    json.loads(expected)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.1, "0.1"),
        (16777216.0, "16777216.0"),
        (3.4028234663852886e38, "3.4028235e+38"),
        (1.401298464324817e-45, "1e-45"),
        (1.0000001192092896, "1.0000001"),
        (-0.0, "-0.0"),
        (math.nan, '"NaN"'),
        (-math.inf, '"-Infinity"'),
    ],
)
def test_floats_have_the_digits_of_four_bytes(value: float, expected: str) -> None:
    packed = struct.unpack("<f", struct.pack("<f", value))[0]
    assert json_text(*encode_image((column(4, 4),), (packed,))) == f'{{"c":{expected}}}'


@settings(max_examples=100, deadline=None)
@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_floats_text_gives_it_back(value: float) -> None:
    text = json_text(*encode_image((column(4, 4),), (value,)))
    assert struct.pack("<f", json.loads(text)["c"]) == struct.pack("<f", value)


JSON_TREES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**27), 10**27)  # PySpark rounds to 28 digits
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)


@settings(max_examples=100, deadline=None)
@given(JSON_TREES)
def test_json_says_what_pyspark_says(python: Any) -> None:
    value, metadata = encode_value(python)
    assert json.loads(json_text(value, metadata), parse_int=str) == json.loads(
        VariantVal(value, metadata).toJson(), parse_int=str
    )


# --- hostile bytes -----------------------------------------------------------------------------------------


def outcome(value: bytes, metadata: bytes) -> str:
    """That nothing but a GtidalError comes out."""
    found = ""
    for read in (decode, decode_typed, json_text):
        try:
            read(value, metadata)
            found += "."
        except GtidalError:
            found += "x"
    return found


def test_truncated_and_flipped_bytes() -> None:
    value, metadata = encode_image(samples.TABLE.columns, samples.FIRST)
    assert outcome(value, metadata) == "..."
    for end in range(len(value)):
        assert outcome(value[:end], metadata) == "xxx"
    for end in range(len(metadata)):
        assert outcome(value, metadata[:end]) == "xxx"
    assert outcome(value + b"\0", metadata) == ".x."
    for place in range(len(value)):
        for bit in range(8):
            outcome(value[:place] + bytes((value[place] ^ 1 << bit,)) + value[place + 1 :], metadata)
    for place in range(len(metadata)):
        for bit in range(8):
            outcome(value, metadata[:place] + bytes((metadata[place] ^ 1 << bit,)) + metadata[place + 1 :])


@settings(max_examples=200, deadline=None)
@given(st.binary(), st.binary() | st.just(EMPTY))
def test_any_bytes(value: bytes, metadata: bytes) -> None:
    outcome(value, metadata)


@pytest.mark.parametrize(
    ("value", "metadata", "reason"),
    [
        ("", EMPTY, "before its first byte"),
        ("44", EMPTY, "17 is no VARIANT type"),
        ("83", EMPTY, "describes no VARIANT array"),
        ("05ff", EMPTY, "no UTF-8"),
        ("200a01000000", EMPTY, "is no decimal4"),
        ("200000ca9a3b", EMPTY, "is no decimal4"),
        ("2cffffff7f", EMPTY, "none that Python knows"),
        ("34ffffffffffffff7f", EMPTY, "none that Python knows"),
        ("020100000100", EMPTY, "key 0 of 0"),
        ("00", b"\x02\x00\x00", "version 2"),
        ("00", b"\x01\x01\x00\x02a", "a VARIANT name"),
        ("00", b"\x01\x01\x00\x01\xff", "no UTF-8"),
        ("00", b"\x01\x00\x00a", "does not end"),
        ("3cffffffff00", EMPTY, "needs 4294967295 bytes"),
        ("17ffffffff00", EMPTY, "members do not fit"),
    ],
)
def test_what_is_wrong_is_said(value: str, metadata: bytes, reason: str) -> None:
    with pytest.raises(DecodeError, match=reason):
        decode(bytes.fromhex(value), metadata)


def test_keys_out_of_order_and_bytes_of_no_value() -> None:
    """Readers take them; the judge of writers does not."""
    swapped = bytes.fromhex("0202 0001 000103 00 0c01"), b"\x01\x02\x00\x01\x02ba"
    assert decode(*swapped) == {"b": None, "a": 1}
    with pytest.raises(DecodeError, match="order"):
        decode_typed(*swapped)
    twice = bytes.fromhex("0202 0000 000103 00 0c01"), b"\x01\x02\x00\x01\x02ba"
    with pytest.raises(DecodeError, match="order"):
        decode_typed(*twice)
    holed = bytes.fromhex("0301 0104 00000c01"[:4] + "0003 0c01ff"), EMPTY
    assert decode(*holed) == [1]
    with pytest.raises(DecodeError, match="1 bytes of a VARIANT belong to no value"):
        decode_typed(*holed)


def test_shared_members_do_not_multiply() -> None:
    """Each level names the next one 200 times: 200 to the power of 60."""
    value = b"\x00"
    for _ in range(60):
        head = b"\x07\xc8" + bytes(2 * 200) + len(value).to_bytes(2, "little")
        value = head + value
    started = time.monotonic()
    assert outcome(value, EMPTY) == "xxx"
    assert time.monotonic() - started < 5
