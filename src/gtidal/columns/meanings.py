"""What a physical value means: from the values of ``shapes`` to the values a Python user expects.

    physical (shapes)         logical (here)
    int                       int with the right sign, bool for BIT(1), label(s) for ENUM and SET
    bytes                     str where the charset is known, bytes, Json, Geometry, tuple of floats
    Date, DateTime, Time      datetime.date, datetime.datetime without zone, datetime.timedelta
    Timestamp                 datetime.datetime in UTC

A value that Python has no object for keeps its physical form: zero and partly zero dates stay ``Date`` and
``DateTime`` (their ``text()`` is what MySQL prints), bytes that are not valid in their charset become
``Undecoded``. Nothing is lost and nothing is guessed.
"""

from __future__ import annotations

import datetime
import struct
import zlib
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from gtidal.columns.charsets import BINARY, Undecoded, decode_text
from gtidal.columns.jsonb import Json
from gtidal.columns.temporal import Date, DateTime, Time, Timestamp
from gtidal.errors import DecodeError, Truncated, Unsupported

if TYPE_CHECKING:
    from gtidal.columns.types import Column

__all__ = ["Geometry", "Meaning", "Undecoded", "decompress_column", "python_maker"]

Python = Callable[[Any], Any]


class Meaning(Enum):
    """What a column's values are, apart from how they are stored."""

    INTEGER = "integer"
    FLOAT = "float"
    EXACT = "exact"
    BIT = "bit"
    YEAR = "year"
    DATE = "date"
    TIME = "time"
    DATETIME = "datetime"
    TIMESTAMP = "timestamp"
    CHARACTERS = "characters"  # text or binary: the collation tells
    COMPRESSED = "compressed"  # the same, in MariaDB's compressed columns
    ENUM = "enum"
    SET = "set"
    JSON = "json"
    GEOMETRY = "geometry"
    VECTOR = "vector"
    NULL = "null"
    UNKNOWN = "unknown"


class Geometry(NamedTuple):
    """A GEOMETRY value: the spatial reference id and well-known binary. Both may be empty: MySQL writes
    an empty blob for a geometry that a lax INSERT left out."""

    srid: int | None
    wkb: bytes


_UTC = datetime.UTC
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=_UTC)


def _same(value: Any) -> Any:
    return value


def _date(value: Date) -> datetime.date | Date:
    try:
        return datetime.date(*value)
    except (ValueError, OverflowError):
        return value


def _datetime(value: DateTime) -> datetime.datetime | DateTime:
    try:
        return datetime.datetime(*value)
    except (ValueError, OverflowError):
        return value


def _time(value: Time) -> datetime.timedelta:
    negative, hour, minute, second, microsecond = value
    span = datetime.timedelta(hours=hour, minutes=minute, seconds=second, microseconds=microsecond)
    return -span if negative else span


_ZERO = DateTime(0, 0, 0, 0, 0, 0, 0)


def _timestamp(value: Timestamp) -> datetime.datetime | DateTime:
    if value.zero:
        return _ZERO
    return _EPOCH + datetime.timedelta(seconds=value.seconds, microseconds=value.microsecond)


_MOST_UNPACKED = 1032  # times: the most that deflate makes of a byte


def decompress_column(value: bytes) -> bytes:
    """The content of a MariaDB compressed column (field_comp.cc of MariaDB 10.3 and later).

    First byte: 0 = stored as it is; 8 in the high nibble = zlib, bit 3 = without zlib's wrapper, low three
    bits = size of the original length that follows, most significant byte first."""
    if not value:
        return b""
    head = value[0]
    if head == 0:
        return value[1:]
    if head >> 4 != 8:
        raise Unsupported(f"compression method {head >> 4} of a compressed column")
    start = 1 + (head & 7)
    if start > len(value):
        raise Truncated("a compressed column ends inside its length")
    size = int.from_bytes(value[1:start], "big")
    packed = len(value) - start
    if size > _MOST_UNPACKED * packed + 64:
        raise DecodeError(f"a compressed column of {packed} bytes cannot unpack to {size}")
    unpacker = zlib.decompressobj(-15 if head & 8 else 15)
    try:
        # One byte more than announced tells a lying length without unpacking the rest.
        content = unpacker.decompress(value[start:], size + 1)
    except zlib.error as error:
        raise DecodeError(f"a compressed column: {error}") from None
    if len(content) != size or not unpacker.eof:
        raise DecodeError(f"a compressed column does not unpack to its {size} bytes")
    return content


def _characters(column: Column) -> Python:
    collation = column.charset
    if collation is None:
        return _same
    if collation == BINARY:
        length = column.length
        if column.real_type != 254 or length is None:
            return _same
        # The server strips trailing zero bytes of BINARY(n) when it packs the row.
        return lambda value: value.ljust(length, b"\0")
    return lambda value: decode_text(value, collation)


def _enum(column: Column) -> Python:
    labels = column.labels
    if labels is None:
        return _same
    # 0 is the error value '' that a lax INSERT stores for a word that is not in the list.
    texts: tuple[Any, ...] = ("", *(decode_text(label, column.charset) for label in labels))

    def python(value: int) -> Any:
        return texts[value] if value < len(texts) else value

    return python


def _set(column: Column) -> Python:
    labels = column.labels
    if labels is None:
        return _same
    texts = tuple(decode_text(label, column.charset) for label in labels)

    def python(value: int) -> Any:
        if value >> len(texts):
            return value
        return tuple(text for index, text in enumerate(texts) if value >> index & 1)

    return python


def _bit(column: Column) -> Python:
    return bool if column.metadata == 1 else _same


def _geometry(value: bytes) -> Geometry:
    if len(value) < 4:
        return Geometry(None, value)
    return Geometry(int.from_bytes(value[:4], "little"), value[4:])


def _vector(value: bytes) -> tuple[float, ...] | bytes:
    if len(value) % 4:
        return value
    return struct.unpack(f"<{len(value) // 4}f", value)


def _compressed(column: Column) -> Python:
    inner = _characters(column)
    return lambda value: inner(decompress_column(value))


_MAKERS: dict[Meaning, Callable[[Column], Python]] = {
    Meaning.INTEGER: lambda column: _same,
    Meaning.FLOAT: lambda column: _same,
    Meaning.EXACT: lambda column: _same,
    Meaning.BIT: _bit,
    Meaning.YEAR: lambda column: _same,
    Meaning.DATE: lambda column: _date,
    Meaning.TIME: lambda column: _time,
    Meaning.DATETIME: lambda column: _datetime,
    Meaning.TIMESTAMP: lambda column: _timestamp,
    Meaning.CHARACTERS: _characters,
    Meaning.COMPRESSED: _compressed,
    Meaning.ENUM: _enum,
    Meaning.SET: _set,
    Meaning.JSON: lambda column: Json,
    Meaning.GEOMETRY: lambda column: _geometry,
    Meaning.VECTOR: lambda column: _vector,
    Meaning.NULL: lambda column: _same,
    Meaning.UNKNOWN: lambda column: _same,
}


def python_maker(column: Column) -> Python:
    """The function from this column's physical values to logical ones; None stays None before it."""
    return _MAKERS[column.type.meaning](column)
