"""Binary JSON: what a MySQL 9.7 stored and printed, round trips, diffs, and hostile documents."""

from __future__ import annotations

import contextlib
import math
import struct
import time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gtidal.columns.jsonb import (
    INSERT,
    REMOVE,
    REPLACE,
    JsonDiff,
    Opaque,
    apply_diffs,
    decode_diffs,
    decode_json,
    double_text,
    encode_diffs,
    encode_json,
    json_text,
)
from gtidal.columns.jsonpath import FromEnd, parse_path
from gtidal.columns.temporal import Date, DateTime, Time
from gtidal.errors import DecodeError, GtidalError

# Stored and printed by MySQL 9.7.4.
SERVER = [
    ("", "null"),
    ("0400", "null"),
    ("0200000400", "[]"),
    ("0000000400", "{}"),
    ("0affffffffffffffff", "18446744073709551615"),
    ("090000000000000080", "-9223372036854775808"),
    (
        "020b00590005ff7f072500050080072900072d000731000735000939000941000a49000b510000800000ff7fffffffff00000000"
        "0100ffffff7f0000008000000000ffffffff000000000000000001000000000000000000f043",
        "[32767, 32768, -32768, -32769, 65535, 65536, 2147483647, 2147483648, 4294967295, 4294967296, "
        "1.8446744073709552e19]",
    ),
    (
        "02090083000f1f000f35000f3d000f47000f51000f5b000f65000f6f000f7900f614271e800000010db5858000000000000000000"
        "000f60609007ffe79600a08000000000044a5190c0870580a053144a5190b080000000591cbffff0b0800000000000000000b08e0"
        "5ef8ffffffffff0c0820a1070100c202190a080000000000820300",
        '[1.230000000000000000000000000000, -99999, "2020-01-02", "2020-01-02 03:04:05.678000", '
        '"-838:59:59.000000", "00:00:00.000000", "-00:00:00.500000", "1970-01-01 00:00:01.500000", "0001-01-01"]',
    ),
    ("0c14011f080c0a0d09225c2fc3a97ff09f9880e280a8", '"\\u0001\\u001f\\b\\f\\n\\r\\t\\"\\\\/é\x7f😀\u2028"'),
    (
        "00060036002e0000002e0001002f000100300002003200020034000200050100040000050200050300040100040200616261617a"
        "7ac3a9",
        '{"": 1, "a": null, "b": 2, "aa": 3, "zz": true, "é": false}',
    ),
    ("0204001a000b100006ea070c1800067b0000000000000023400161", '[9.5, 2026, "a", 123]'),
]

DOUBLES = [
    "0.0",
    "-0.0",
    "1.0",
    "-1.5",
    "100000000000000.0",
    "1e15",
    "1e16",
    "123456789012345.0",
    "1.234567890123456e15",
    "1.2345678901234568e16",
    "1234567890123456.8",
    "-3534830441240446.5",
    "0.1",
    "0.00001",
    "0.00000000000001",
    "0.000000000000001",
    "1e-16",
    "0.000000000000015",
    "0.00000000000000125",
    "1e300",
    "-1e-300",
    "1.7976931348623157e308",
    "5e-324",
    "99999999999999.9",
    "999999999999999.9",
    "0.30000000000000004",
    "100.0",
    "100.5",
    "1e21",
    "1e22",
    "0.0000003",
]


@pytest.mark.parametrize(("data", "text"), SERVER)
def test_as_the_server_prints(data: str, text: str) -> None:
    document = bytes.fromhex(data)
    assert json_text(document) == text
    assert json_text(encode_json(decode_json(document))) == text


@pytest.mark.parametrize("text", DOUBLES)
def test_doubles_as_the_server_prints(text: str) -> None:
    assert double_text(float(text)) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_read_back(value: float) -> None:
    text = double_text(value)
    assert float(text) == value
    assert math.copysign(1, float(text)) == math.copysign(1, value)
    assert "." in text or "e" in text


def test_opaque_values_print_as_base64_in_lines() -> None:
    assert json_text([Opaque(15, b"y" * 57)]) == '["base64:type15:' + "eXl5" * 19 + '"]'
    assert json_text([Opaque(15, b"y" * 58)]) == '["base64:type15:' + "eXl5" * 19 + '\\neQ=="]'
    assert json_text([Opaque(16, b"")]) == '["base64:type16:"]'


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False),
    st.text(max_size=300),
    st.decimals(allow_nan=False, allow_infinity=False, places=5, min_value=-(10**20), max_value=10**20),
    st.builds(Date, st.integers(0, 9999), st.integers(0, 12), st.integers(0, 31)),
    st.builds(
        DateTime,
        st.integers(0, 9999),
        st.integers(0, 12),
        st.integers(0, 31),
        st.integers(0, 23),
        st.integers(0, 59),
        st.integers(0, 59),
        st.integers(0, 999999),
    ),
    st.builds(
        Time,
        st.just(False),
        st.integers(0, 838),
        st.integers(0, 59),
        st.integers(0, 59),
        st.integers(0, 999999),
    ),
    st.builds(Opaque, st.sampled_from((15, 16, 252, 254, 255)), st.binary(max_size=200)),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=6), inner, max_size=6),
    max_leaves=30,
)


@given(VALUES)
def test_round_trip(value: Any) -> None:
    decoded = decode_json(encode_json(value))
    assert decoded == value
    assert json_text(encode_json(decoded)) == json_text(encode_json(value))


def test_large_containers() -> None:
    value = {
        "k": "a" * 70000,
        "n": 123456,
        "u": 4000000000,
        "arr": [1, 100000, 3.5],
        "many": list(range(40000)),
    }
    document = encode_json(value)
    assert document[0] == 1
    assert decode_json(document) == value
    assert list(decode_json(document)) == ["k", "n", "u", "arr", "many"]


def test_members_are_ordered_by_length_then_bytes() -> None:
    assert json_text(encode_json({"zz": 1, "é": 2, "b": 3, "": 4, "aa": 5})) == (
        '{"": 4, "b": 3, "aa": 5, "zz": 1, "é": 2}'
    )


def test_holes_are_allowed() -> None:
    # An array of one string at offset 9 instead of 7, as an update in place may leave it.
    document = bytes.fromhex("02 0100 0d00 0c 0900 ffff 03 616263")
    assert decode_json(document) == ["abc"]


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth - 1):
        value = [value]
    return value


def test_depth() -> None:
    document = encode_json(nested(100))
    assert json_text(document) == "[" * 100 + "]" * 100
    with pytest.raises(DecodeError):
        encode_json(nested(101))
    inner = document[1:]
    deeper = b"\x02" + struct.pack("<HH", 1, 7 + len(inner)) + b"\x02\x07\0" + inner
    with pytest.raises(DecodeError, match="deeper"):
        decode_json(deeper)


def test_shared_members_do_not_blow_up() -> None:
    # Each array holds the next one twice: 2**90 values if followed.
    body = bytes.fromhex("0000 0400")
    for _ in range(90):
        size = 10 + len(body)
        body = struct.pack("<HHBHBH", 2, size, 2, 10, 2, 10) + body
    started = time.monotonic()
    with pytest.raises(DecodeError, match="overlap"):
        decode_json(b"\x02" + body)
    assert time.monotonic() - started < 1


def test_shared_strings_do_not_blow_up() -> None:
    count = 5000
    text = b"\x80\x80\x01" + bytes(16384)
    offset = 8 + 5 * count
    body = struct.pack("<II", count, offset + len(text)) + struct.pack("<BI", 12, offset) * count + text
    with pytest.raises(DecodeError, match="overlap"):
        decode_json(b"\x03" + body)


@pytest.mark.parametrize(("data", "_text"), [pair for pair in SERVER if len(pair[0]) > 10])
def test_truncated_at_every_byte_and_every_byte_changed(data: str, _text: str) -> None:
    document = bytes.fromhex(data)
    for size in range(1, len(document)):
        with pytest.raises(GtidalError):
            decode_json(document[:size])
    for index in range(len(document)):
        for byte in {0, 255, *(document[index] ^ 1 << bit for bit in range(8))}:
            with contextlib.suppress(GtidalError):
                json_text(document[:index] + bytes((byte,)) + document[index + 1 :])


@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    for document in (data, b"\x00" + data, b"\x02" + data, b"\x0f" + data):
        with contextlib.suppress(GtidalError):
            json_text(document)


@pytest.mark.parametrize(
    ("path", "legs"),
    [
        ("$", ()),
        ("$.a", ("a",)),
        ('$.a."b c"[3]', ("a", "b c", 3)),
        ('$ . "q\\"\\\\é" [ 12 ] . x', ('q"\\é', 12, "x")),
        ("$[last]", (FromEnd(0),)),
        ("$[last-2].ü", (FromEnd(2), "ü")),
        ('$.""', ("",)),
    ],
)
def test_paths(path: str, legs: tuple[Any, ...]) -> None:
    assert parse_path(path) == legs


@pytest.mark.parametrize(
    "path", ["", "a", "$a", "$.", "$.*", "$[", "$[*]", "$[-1]", "$[x]", '$."a', "$**.a", "$[1 to 2]"]
)
def test_malformed_paths(path: str) -> None:
    with pytest.raises(DecodeError):
        parse_path(path)


@given(st.text(alphabet='$.[]"\\ alst-0123*é', max_size=20))
def test_any_path(path: str) -> None:
    with contextlib.suppress(GtidalError):
        parse_path("$" + path)


DOCUMENT = {"a": 1, "b": [1, 2, 3], "cc": {"d": None}}


@pytest.mark.parametrize(
    ("diff", "after"),
    [
        (JsonDiff(REPLACE, "$.a", encode_json("x")), {"a": "x", "b": [1, 2, 3], "cc": {"d": None}}),
        (JsonDiff(REPLACE, "$.b[1]", encode_json([])), {"a": 1, "b": [1, [], 3], "cc": {"d": None}}),
        (JsonDiff(INSERT, "$.b[1]", encode_json(9)), {"a": 1, "b": [1, 9, 2, 3], "cc": {"d": None}}),
        (JsonDiff(INSERT, "$.b[99]", encode_json(9)), {"a": 1, "b": [1, 2, 3, 9], "cc": {"d": None}}),
        (
            JsonDiff(INSERT, "$.cc.e", encode_json(True)),
            {"a": 1, "b": [1, 2, 3], "cc": {"d": None, "e": True}},
        ),
        (JsonDiff(REMOVE, "$.b[last]"), {"a": 1, "b": [1, 2], "cc": {"d": None}}),
        (JsonDiff(REMOVE, "$.cc"), {"a": 1, "b": [1, 2, 3]}),
    ],
)
def test_diffs(diff: JsonDiff, after: Any) -> None:
    assert apply_diffs(encode_json(DOCUMENT), decode_diffs(encode_diffs([diff]))) == after
    assert apply_diffs(DOCUMENT, [diff]) == after
    assert DOCUMENT == {"a": 1, "b": [1, 2, 3], "cc": {"d": None}}


def test_an_inserted_member_takes_its_place() -> None:
    after = apply_diffs({"b": 1, "aa": 2}, [JsonDiff(INSERT, "$.a", encode_json(0))])
    assert json_text(after) == '{"a": 0, "b": 1, "aa": 2}'


@pytest.mark.parametrize(
    "diff",
    [
        JsonDiff(REPLACE, "$", b"\x04\x01"),
        JsonDiff(REMOVE, "$"),
        JsonDiff(REPLACE, "$.x", b"\x04\x01"),
        JsonDiff(REPLACE, "$.b[3]", b"\x04\x01"),
        JsonDiff(INSERT, "$.a", b"\x04\x01"),
        JsonDiff(INSERT, "$.a.b", b"\x04\x01"),
        JsonDiff(INSERT, "$.b.c", b"\x04\x01"),
        JsonDiff(REMOVE, "$.b.c"),
        JsonDiff(REMOVE, "$[0]"),
    ],
)
def test_a_diff_that_does_not_fit(diff: JsonDiff) -> None:
    with pytest.raises(DecodeError, match="does not fit"):
        apply_diffs(DOCUMENT, [diff])


def test_half_a_surrogate_pair_in_a_path() -> None:
    after = apply_diffs({}, [JsonDiff(INSERT, '$."\\ud800"', encode_json(1))])
    assert decode_json(encode_json(after)) is not None


def test_no_diffs_are_no_change() -> None:
    assert decode_diffs(b"") == ()
    assert apply_diffs(DOCUMENT, ()) == DOCUMENT


@given(st.binary(max_size=60))
def test_diffs_from_any_bytes(data: bytes) -> None:
    try:
        diffs = decode_diffs(data)
        apply_diffs({"a": [1]}, diffs)
    except GtidalError:
        pass


def test_diffs_cut_anywhere() -> None:
    whole = encode_diffs(
        [JsonDiff(INSERT, "$.a." + "b" * 300, encode_json("x" * 300)), JsonDiff(REMOVE, "$.q")]
    )
    assert encode_diffs(decode_diffs(whole)) == whole
    boundary = len(whole) - len(encode_diffs([JsonDiff(REMOVE, "$.q")]))
    for size in range(1, len(whole)):
        if size != boundary:
            with pytest.raises(GtidalError):
                decode_diffs(whole[:size])


def test_decimals_keep_their_scale() -> None:
    assert json_text(encode_json(Decimal("1.500"))) == "1.500"
    assert json_text(encode_json(Decimal("-0.05"))) == "-0.05"


def test_many_inserted_members() -> None:
    started = time.process_time()
    diffs = [JsonDiff(INSERT, f"$.o.k{number}", b"\x05\x01\x00") for number in reversed(range(20_000))]
    after = apply_diffs({"o": {"z": 0}, "p": 1}, diffs)
    assert time.process_time() - started < 1.5
    assert list(after) == ["o", "p"]
    assert list(after["o"])[:3] == ["z", "k0", "k1"]
    assert list(after["o"])[-1] == "k19999"


def test_members_inserted_into_what_a_diff_brought() -> None:
    diffs = [
        JsonDiff(INSERT, "$.c", encode_json({"y": 1})),
        JsonDiff(INSERT, "$.c.x", encode_json(2)),
        JsonDiff(REPLACE, "$.a", encode_json([])),
        JsonDiff(INSERT, "$.a[0]", encode_json({"q": 1})),
        JsonDiff(INSERT, "$.a[0].p", encode_json(1)),
        JsonDiff(REMOVE, "$.b"),
        JsonDiff(INSERT, "$.b", encode_json(3)),
    ]
    after = apply_diffs({"a": 1, "b": 2}, diffs)
    assert json_text(after) == '{"a": [{"p": 1, "q": 1}], "b": 3, "c": {"x": 2, "y": 1}}'


@pytest.mark.parametrize("diff", [JsonDiff(INSERT, "$[0]", b""), JsonDiff(INSERT, "$[last-9999]", b"")])
def test_array_cells_cannot_be_moved_without_end(diff: JsonDiff) -> None:
    assert apply_diffs([1], [diff] * 5000) == [None] * 5000 + [1]
    started = time.process_time()
    with pytest.raises(DecodeError, match="array cells"):
        apply_diffs([0] * 100_000, [diff] * 200_000)
    assert time.process_time() - started < 5


def test_removals_from_a_large_array() -> None:
    cells = list(range(200_000))
    assert apply_diffs(cells, [JsonDiff(REMOVE, "$[0]")] * 100) == cells[100:]
    with pytest.raises(DecodeError, match="array cells"):
        apply_diffs(cells, [JsonDiff(REMOVE, "$[0]")] * 10_000)


def test_array_cells_that_need_no_moving() -> None:
    after = apply_diffs([], [JsonDiff(INSERT, "$[4294967295]", b"\x04\x01")] * 50_000)
    assert after == [True] * 50_000
    far = apply_diffs(list(range(9)), [JsonDiff(INSERT, "$[last-4294967295]", b"")] * 9)
    assert far == [None] * 9 + list(range(9))


def _pointing(kind: int, count: int, target: bytes) -> bytes:
    """An array of ``count`` values that are all the same bytes."""
    first = 8 + 5 * count
    entry = bytes((kind,)) + struct.pack("<I", first)
    return b"\x03" + struct.pack("<II", count, first + len(target)) + entry * count + target


@pytest.mark.parametrize(
    ("kind", "target"),
    [
        (12, b"\x64" + b"x" * 100),
        (3, struct.pack("<II", 0, 8)),
        (1, struct.pack("<II", 0, 8)),
        (15, b"\xf6\x26\x51\x00\x80" + bytes(35)),
        (15, b"\x0c\x08" + bytes(8)),
    ],
)
def test_shared_values_are_refused_at_once(kind: int, target: bytes) -> None:
    document = _pointing(kind, 300_000, target)
    started = time.process_time()
    with pytest.raises(DecodeError, match="overlap"):
        json_text(document)
    assert time.process_time() - started < 0.5


@pytest.mark.parametrize(("kind", "target"), [(11, bytes(8)), (9, bytes(8)), (12, b"\0"), (15, b"\x10\0")])
def test_small_shared_values_take_time_by_their_number(kind: int, target: bytes) -> None:
    started = time.process_time()
    assert len(decode_json(_pointing(kind, 50_000, target))) == 50_000
    json_text(_pointing(kind, 50_000, target))
    assert time.process_time() - started < 5
