"""VARIANT in Python: what is written is what the format says, PySpark's own reader agrees, bad bytes are refused."""

from __future__ import annotations

import datetime
import json
import math
import struct
import time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.types import VariantVal

from gtidal.columnar.variant import (
    decode,
    decode_typed,
    encode_image,
    encode_value,
    json_text,
    writing,
)
from gtidal.columns.jsonb import JsonDiff, Opaque
from gtidal.columns.meanings import Undecoded
from gtidal.columns.temporal import Date, DateTime, Time
from gtidal.errors import DecodeError, GtidalError, UsageError
from tests import samples
from tests.columnar.variant_judge import EMPTY, both, column


def float_hex(value: float, letter: str = "d") -> str:
    return struct.pack(f"<{letter}", value).hex()


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
