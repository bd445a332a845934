"""From physical values to those a Python user expects."""

from __future__ import annotations

import contextlib
import datetime
import zlib
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gtidal.columns.charsets import BINARY, Undecoded
from gtidal.columns.jsonb import Json
from gtidal.columns.meanings import Geometry, decompress_column
from gtidal.columns.temporal import Date, DateTime, Time, Timestamp
from gtidal.columns.types import Column
from gtidal.errors import DecodeError, GtidalError

UTC = datetime.UTC


def column(code: int, metadata: int = 0, **more: Any) -> Column:
    return Column(0, code, code, metadata, **more)


@pytest.mark.parametrize(
    ("kind", "physical", "logical"),
    [
        (column(3), None, None),
        (column(3), -1, -1),
        (column(246, 0x0A02), Decimal("1.50"), Decimal("1.50")),
        (column(10), Date(2024, 2, 29), datetime.date(2024, 2, 29)),
        (column(10), Date(2024, 0, 0), Date(2024, 0, 0)),
        (column(18, 6), DateTime(2024, 1, 2, 3, 4, 5, 6), datetime.datetime(2024, 1, 2, 3, 4, 5, 6)),
        (column(18, 0), DateTime(0, 0, 0, 0, 0, 0), DateTime(0, 0, 0, 0, 0, 0)),
        (
            column(19, 1),
            Time(True, 838, 59, 58, 500000),
            -datetime.timedelta(hours=838, minutes=59, seconds=58.5),
        ),
        (column(17, 0), Timestamp(0), DateTime(0, 0, 0, 0, 0, 0)),
        (column(17, 3), Timestamp(1, 500000), datetime.datetime(1970, 1, 1, 0, 0, 1, 500000, tzinfo=UTC)),
        (column(7), Timestamp(2**32 - 1), datetime.datetime(2106, 2, 7, 6, 28, 15, tzinfo=UTC)),
        (column(13), 0, 0),
        (column(16, 1), 1, True),
        (column(16, 0x0800), 2**64 - 1, 2**64 - 1),
        (column(15, 20), b"caf\xe9", b"caf\xe9"),
        (column(15, 20, charset=8), b"caf\xe9\x80", "café€"),
        (column(15, 20, charset=255), "é😀".encode(), "é😀"),
        (column(252, 2, charset=BINARY), b"\xff", b"\xff"),
        (column(254, 0xFE05, charset=BINARY), b"ab", b"ab\0\0\0"),
        (column(254, 0xFE05, charset=255), b"ab", "ab"),
        (column(247, 0xF701, labels=(b"a", b"\xfc"), charset=8), 2, "ü"),
        (column(247, 0xF701, labels=(b"a",), charset=8), 0, ""),
        (column(247, 0xF701, labels=(b"a",), charset=8), 5, 5),
        (column(247, 0xF701), 2, 2),
        (column(248, 0xF801, labels=(b"a", b"b", b"c"), charset=255), 5, ("a", "c")),
        (column(248, 0xF801, labels=(b"a",), charset=255), 0, ()),
        (column(248, 0xF801, labels=(b"a",), charset=255), 4, 4),
        (column(255, 4), b"\xe6\x10\0\0wkb", Geometry(4326, b"wkb")),
        (column(255, 4), b"", Geometry(None, b"")),
        (column(242, 4), b"\0\0\x80\x3f\0\0\0\x40", (1.0, 2.0)),
        (column(245, 4), b"\x04\x01", Json(b"\x04\x01")),
    ],
)
def test_python(kind: Column, physical: Any, logical: Any) -> None:
    result = kind.python(physical)
    assert result == logical
    assert type(result) is type(logical)


def test_json_values() -> None:
    value = column(245, 4).python(b"\x04\x01")
    assert value.python() is True
    assert value.text() == "true"


def test_bytes_that_are_no_text_are_kept() -> None:
    value = column(15, 20, charset=255).python(b"\xff\xfe")
    assert isinstance(value, Undecoded)
    assert value == b"\xff\xfe"
    assert value.charset == "utf8mb4"
    assert isinstance(column(15, 20, charset=9999).python(b"a"), Undecoded)


def test_set_of_64_members() -> None:
    labels = tuple(b"m%d" % index for index in range(64))
    assert len(column(248, 0xF808, labels=labels, charset=8).python(2**64 - 1)) == 64


def test_compressed_columns() -> None:
    content = b"c" * 500
    assert decompress_column(b"") == b""
    assert decompress_column(b"\0abc") == b"abc"
    assert decompress_column(b"\x82\x01\xf4" + zlib.compress(content)) == content
    raw = zlib.compressobj(wbits=-15)
    assert decompress_column(b"\x8a\x01\xf4" + raw.compress(content) + raw.flush()) == content
    # As MariaDB 11.8 stored repeat('c', 500).
    stored = column(140, 2, charset=8).python(bytes.fromhex("8a01f44b4e1e05230d0000"))
    assert stored == "c" * 500


def test_a_compressed_column_cannot_grow_beyond_its_length() -> None:
    bomb = zlib.compress(bytes(10_000_000))
    with pytest.raises(DecodeError):
        decompress_column(b"\x81\x0a" + bomb)
    for wrong in (b"\x81", b"\x84\0\0", b"\x81\x05abc", b"\x90abc", b"\x81\x05" + zlib.compress(b"abc")):
        with pytest.raises(DecodeError):
            decompress_column(wrong)


def test_a_compressed_column_that_cannot_hold_what_it_announces() -> None:
    """Deflate makes at most 1032 bytes of one; such a value is refused before it is unpacked."""
    content = bytes(3_000_000)
    packed = zlib.compress(content, 9)
    assert len(content) > 1000 * len(packed)
    assert decompress_column(b"\x84" + len(content).to_bytes(4, "big") + packed) == content
    for size in (1032 * len(packed) + 65, (1 << 56) - 1):
        with pytest.raises(DecodeError, match="cannot unpack"):
            decompress_column(b"\x87" + size.to_bytes(7, "big") + packed)


@given(st.binary(max_size=50))
def test_compressed_from_any_bytes(value: bytes) -> None:
    with contextlib.suppress(GtidalError):
        decompress_column(value)
