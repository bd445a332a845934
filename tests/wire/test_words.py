"""The two variable-length integers: published vectors, and every value's way there and back."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gtidal.errors import DecodeError, GtidalError, Truncated
from gtidal.wire.words import (
    encode_lenenc,
    encode_svarint,
    encode_uvarint,
    read_lenenc,
    read_svarint,
    read_uvarint,
)

UNSIGNED = [
    (0, "00"),
    (1, "02"),
    (127, "fe"),
    (128, "01 02"),
    (65535, "fb ff 07"),
    (90200, "c3 02 0b"),
    (1 << 56, "ff 00 00 00 00 00 00 00 01"),
]
SIGNED = [(1, "04"), (123, "d9 03"), (-65536, "fb ff 0f")]
LENENC = [
    (250, "fa"),
    (251, "fc fb 00"),
    (261, "fc 05 01"),
    (1 << 16, "fd 00 00 01"),
    (1 << 24, "fe 00 00 00 01 00 00 00 00"),
]


@pytest.mark.parametrize(("value", "text"), UNSIGNED)
def test_unsigned(value: int, text: str) -> None:
    data = bytes.fromhex(text)
    assert encode_uvarint(value) == data
    assert read_uvarint(data, 0, len(data)) == (value, len(data))


@pytest.mark.parametrize(("value", "text"), SIGNED)
def test_signed(value: int, text: str) -> None:
    data = bytes.fromhex(text)
    assert encode_svarint(value) == data
    assert read_svarint(data, 0, len(data)) == (value, len(data))


@pytest.mark.parametrize(("value", "text"), LENENC)
def test_lenenc(value: int, text: str) -> None:
    data = bytes.fromhex(text)
    assert encode_lenenc(value) == data
    assert read_lenenc(data, 0, len(data)) == (value, len(data))


@given(st.integers(0, (1 << 64) - 1))
def test_unsigned_round_trip(value: int) -> None:
    for encode, read in ((encode_uvarint, read_uvarint), (encode_lenenc, read_lenenc)):
        data = encode(value)
        assert read(data + b"\xff", 0, len(data)) == (value, len(data))
        for end in range(len(data)):
            with pytest.raises(Truncated):
                read(data, 0, end)


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_signed_round_trip(value: int) -> None:
    data = encode_svarint(value)
    assert read_svarint(data, 0, len(data)) == (value, len(data))


@pytest.mark.parametrize(
    ("value", "size"), [((1 << 7 * n) - 1, n) for n in range(1, 9)] + [(1 << 56, 9), ((1 << 64) - 1, 9)]
)
def test_sizes(value: int, size: int) -> None:
    assert len(encode_uvarint(value)) == size


def test_longer_than_needed_is_read() -> None:
    """A writer may use more bytes than a number needs."""
    assert read_uvarint(bytes.fromhex("01 00"), 0, 2) == (0, 2)
    assert read_uvarint(b"\xff" + (5).to_bytes(8, "little"), 0, 9) == (5, 9)


def test_a_number_must_fit() -> None:
    with pytest.raises(DecodeError, match="does not fit 8 bits"):
        read_uvarint(encode_uvarint(256), 0, 9, 8)


@pytest.mark.parametrize("first", [0xFB, 0xFF])
def test_bytes_that_start_no_integer(first: int) -> None:
    with pytest.raises(GtidalError):
        read_lenenc(bytes((first,)) + bytes(8), 0, 9)


@pytest.mark.parametrize(
    ("encode", "value"),
    [
        *(
            (encode, value)
            for encode in (encode_lenenc, encode_uvarint)
            for value in (-1, -5, 1 << 64, 1 << 99)
        ),
        *((encode_svarint, value) for value in (1 << 63, -(1 << 63) - 1)),
    ],
)
def test_what_does_not_fit_is_refused(encode: Callable[[int], bytes], value: int) -> None:
    with pytest.raises(DecodeError, match="does not fit 64 bits"):
        encode(value)
