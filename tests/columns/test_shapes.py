"""Every shape: round trips, extremes, truncation at every byte, and the public vectors."""

from __future__ import annotations

import math
import pickle
import struct
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gtidal.columns import shapes as s
from gtidal.columns.decimals import decimal_text, decode_decimal, encode_decimal
from gtidal.columns.temporal import Date, DateTime, Time, Timestamp, text
from gtidal.errors import DecodeError, GtidalError, Truncated, Unsupported

from .vectors import load

SHAPES: list[s.Shape] = [
    *(s.Int(size, signed) for size in range(1, 9) for signed in (True, False)),
    s.Float(4),
    s.Float(8),
    *(s.Bytes(prefix) for prefix in range(1, 5)),
    *(
        s.PackedDecimal(p, q)
        for p, q in ((1, 0), (1, 1), (9, 9), (10, 2), (18, 9), (19, 10), (38, 8), (65, 30))
    ),
    *(s.Bits(count) for count in (1, 7, 8, 9, 33, 63, 64)),
    s.Year(),
    s.Date24(),
    s.Time24(),
    s.Datetime64(),
    s.Epoch32(),
    *(kind(digits) for kind in (s.PackedEpoch, s.PackedDatetime, s.PackedTime) for digits in range(7)),
    s.Nothing(),
]


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_what_is_read_is_written_back(shape: s.Shape) -> None:
    @given(st.binary(max_size=40))
    def check(data: bytes) -> None:
        try:
            value, stop = shape.read(data, 0, len(data))
        except GtidalError:
            return
        assert shape.write(value) == data[:stop]
        assert shape.size in (None, stop)

    check()


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_a_value_that_ends_early_is_truncated(shape: s.Shape) -> None:
    if shape.size == 0:
        return
    whole = b"\x05abcde" if shape == s.Bytes(1) else None
    if isinstance(shape, s.Bytes) and whole is None:
        whole = (5).to_bytes(shape.arguments[0], "little") + b"abcde"
    data = whole or bytes(shape.size or 0)
    for end in range(len(data)):
        with pytest.raises(Truncated):
            shape.read(data, 0, end)
        with pytest.raises(Truncated):
            shape.read(b"xyz" + data, 3, 3 + end)


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_shapes_are_values(shape: s.Shape) -> None:
    copy = pickle.loads(pickle.dumps(shape))
    assert copy == shape
    assert hash(copy) == hash(shape)
    assert copy.read is not shape.read


def one(shape: s.Shape, data: bytes) -> Any:
    value, stop = shape.read(b"\xaa" + data, 1, 1 + len(data))
    assert stop == 1 + len(data)
    assert shape.write(value) == data
    return value


def test_integers() -> None:
    assert one(s.Int(1), b"\x80") == -128
    assert one(s.Int(3, False), b"\xff\xff\xff") == 16777215
    assert one(s.Int(3), b"\xff\xff\xff") == -1
    assert one(s.Int(3), b"\x00\x00\x80") == -8388608
    assert one(s.Int(8, False), b"\xff" * 8) == 2**64 - 1
    assert one(s.Bits(64), b"\xff" * 8) == 2**64 - 1
    assert one(s.Bits(9), b"\x01\x02") == 258
    assert one(s.Year(), b"\0") == 0
    assert one(s.Year(), b"\x01") == 1901
    assert one(s.Year(), b"\xff") == 2155


def test_floats_keep_their_bits() -> None:
    for bits in (0, 1, 0x80000000, 0x7F7FFFFF, 0x7F800000, 0x00800000, 0x3DCCCCCD):
        one(s.Float(4), struct.pack("<I", bits))
    assert str(one(s.Float(8), bytes(7) + b"\x80")) == "-0.0"


@pytest.mark.parametrize("bits", [0x7F800001, 0xFF800001, 0x7FBFFFFF, 0x7FC00000, 0xFFC00000, 0x7FFFFFFF])
def test_a_nan_keeps_its_bits(bits: int) -> None:
    """A conversion to double makes a signalling one quiet."""
    data = struct.pack("<I", bits)
    value, _ = s.Float(4).read(data, 0, 4)
    assert math.isnan(value)
    assert str(value) == "nan"
    assert math.copysign(1, value) == (-1 if bits >> 31 else 1)
    assert s.Float(4).write(value) == s.Float(4).write(pickle.loads(pickle.dumps(value))) == data
    assert math.isnan(s.Float(8).read(s.Float(8).write(value), 0, 8)[0])
    wide = struct.pack("<Q", 0x7FF0000000000001 | bits >> 31 << 63)
    assert s.Float(8).write(s.Float(8).read(wide, 0, 8)[0]) == wide


def test_old_temporals() -> None:
    assert one(s.Date24(), bytes(3)) == Date(0, 0, 0)
    assert one(s.Date24(), (2020 << 9).to_bytes(3, "little")) == Date(2020, 0, 0)
    assert one(s.Time24(), (8385959).to_bytes(3, "little")).text() == "838:59:59"
    assert one(s.Time24(), (-8385959).to_bytes(3, "little", signed=True)).text() == "-838:59:59"
    stamp = (20240229235959).to_bytes(8, "little")
    assert one(s.Datetime64(), stamp) == DateTime(2024, 2, 29, 23, 59, 59)
    assert one(s.Epoch32(), b"\xff\xff\xff\xff") == Timestamp(2**32 - 1)


def test_time_vectors() -> None:
    for vector in load("time2.json"):
        value = one(s.PackedTime(vector["fsp"]), bytes.fromhex(vector["hex"]))
        assert text(value, vector["fsp"]) == vector["expected"]


def test_datetime_vectors() -> None:
    for vector in load("datetime2.json"):
        value = one(s.PackedDatetime(vector["fsp"]), bytes.fromhex(vector["hex"]))
        assert text(value, vector["fsp"]) == vector["expected"]


def test_decimal_vectors() -> None:
    for vector in load("decimal.json"):
        shape = s.PackedDecimal(vector["precision"], vector["scale"])
        data = bytes.fromhex(vector["hex"])
        value, stop = shape.read(data, 0, len(data))
        assert decimal_text(value) == vector["expected"]
        assert stop == vector.get("consumed", stop)
        assert shape.write(value) == data[:stop]


@given(
    st.integers(0, 6),
    st.booleans(),
    st.integers(0, 838),
    st.integers(0, 59),
    st.integers(0, 59),
    st.integers(0, 999999),
)
def test_time_of_every_precision(
    digits: int, negative: bool, hour: int, minute: int, second: int, microsecond: int
) -> None:
    step = 10 ** (6 - digits)
    value = Time(negative, hour, minute, second, microsecond // step * step)
    if not any(value[1:]):
        value = value._replace(negative=False)
    assert one(s.PackedTime(digits), s.PackedTime(digits).write(value)) == value


@given(st.integers(1, 65).flatmap(lambda p: st.tuples(st.just(p), st.integers(0, min(p, 30)))), st.data())
def test_decimals(size: tuple[int, int], data: st.DataObject) -> None:
    precision, scale = size
    unscaled = data.draw(st.integers(-(10**precision) + 1, 10**precision - 1))
    value = Decimal(f"{unscaled}E-{scale}")
    decoded = decode_decimal(encode_decimal(value, precision, scale), precision, scale)
    assert decoded == value
    assert decoded.as_tuple().exponent == -scale


def test_decimal_extremes() -> None:
    largest = Decimal("9" * 35 + "." + "9" * 30)
    for value in (largest, largest.copy_negate(), Decimal(0), Decimal("-0")):
        data = encode_decimal(value, 65, 30)
        assert len(data) == 30
        again = decode_decimal(data, 65, 30)
        assert again == value
        assert again.is_signed() == value.is_signed()
    for text_, precision, scale in (("1.5", 3, 0), ("1000", 3, 0), ("NaN", 3, 0), ("1E+70", 65, 0)):
        with pytest.raises(DecodeError):
            encode_decimal(Decimal(text_), precision, scale)
    assert decode_decimal(encode_decimal(Decimal("1E+2"), 5, 1), 5, 1) == 100
    with pytest.raises(DecodeError):
        decode_decimal(b"\xff\xff", 4, 2)  # 127 and 255 in groups of two digits


def test_zero_and_partly_zero_dates() -> None:
    assert one(s.PackedDatetime(0), b"\x80" + bytes(4)).text() == "0000-00-00 00:00:00"
    partly = DateTime(2020, 0, 0, 1, 2, 3, 500000)
    assert one(s.PackedDatetime(1), s.PackedDatetime(1).write(partly)) == partly
    with pytest.raises(DecodeError):
        s.PackedDatetime(0).read(bytes(5), 0, 5)


@pytest.mark.parametrize(
    ("shape", "value"),
    [
        (s.Int(1), 128),
        (s.Int(2, False), -1),
        (s.Bits(8), 256),
        (s.Year(), 1900),
        (s.Year(), 3000),
        (s.Date24(), Date(2020, 16, 1)),
        (s.Date24(), Date(2020, 1, 32)),
        (s.Time24(), Time(False, 1, 100, 0)),
        (s.Datetime64(), DateTime(2020, 100, 1, 0, 0, 0)),
        (s.PackedDatetime(0), DateTime(2020, 13, 1, 0, 0, 0)),
        (s.PackedTime(0), Time(False, 4000, 0, 0)),
        (s.PackedTime(2), Time(False, 0, 0, 64)),
        (s.PackedEpoch(0), Timestamp(2**32)),
        (s.Bytes(1), b"x" * 256),
        (s.Float(4), 1e300),
    ],
)
def test_what_does_not_fit_is_refused(shape: s.Shape, value: Any) -> None:
    with pytest.raises(DecodeError):
        shape.write(value)


def test_unreadable_says_why() -> None:
    with pytest.raises(Unsupported, match=r"4\.1"):
        s.Unreadable("a DECIMAL of MySQL 4.1").read(b"1", 0, 1)
