"""Python values as VARIANT.

A value is a header byte and its content. The two low bits of the header tell a primitive (0; the type is in
the other six), a short string (1; the size is), an object (2) or an array (3). Objects list the numbers of
their keys, ordered by the keys' names, and the offsets of their values; arrays list offsets. Numbers are
little-endian, and lists of them have the smallest width that holds all: one, two or four bytes.
"""

from __future__ import annotations

import datetime
import struct
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from itertools import accumulate
from typing import Any

from gtidal.columnar.variant.documents import SizedDecimal, read_document
from gtidal.columns.decimals import decimal_text
from gtidal.columns.jsonb import OPERATIONS, JsonDiff, Opaque, opaque_text
from gtidal.columns.temporal import Date, DateTime, Time, fraction_text
from gtidal.errors import DecodeError, UsageError

INT8, INT16, INT32, INT64, DOUBLE = 3, 4, 5, 6, 7
DECIMAL4, DECIMAL8, DECIMAL16 = 8, 9, 10
DATE, TIMESTAMP, TIMESTAMP_NTZ, FLOAT, BINARY, STRING = 11, 12, 13, 14, 15, 16

NULL, TRUE, FALSE = b"\x00", b"\x04", b"\x08"
LARGEST = 128 << 20
"""Spark's limit for the value and for the metadata, in bytes."""
MOST_NESTED = 128
"""Containers in containers. MySQL's JSON may be 100 deep, and a row image, and a diff, lie around it."""

Keys = dict[str, int]
"""The names of a dictionary and their numbers, in the order of these."""

_SHORTEST_LONG_STRING = 64
_LONG_STRING = bytes((STRING << 2,))
_BINARY = bytes((BINARY << 2,))
_LETTERS = {1: "B", 2: "H", 4: "I"}
_EPOCH_DAY = datetime.date(1970, 1, 1).toordinal()
_EPOCH = datetime.datetime(1970, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)

_pack_int8 = struct.Struct("<Bb").pack
_pack_int16 = struct.Struct("<Bh").pack
_pack_int32 = struct.Struct("<Bi").pack
_pack_int64 = struct.Struct("<Bq").pack
_pack_double = struct.Struct("<Bd").pack
_pack_size = struct.Struct("<I").pack


def string(data: bytes) -> bytes:
    """Text, given as UTF-8."""
    size = len(data)
    if size < _SHORTEST_LONG_STRING:
        return bytes((size << 2 | 1,)) + data
    return _LONG_STRING + _size(size) + data


def text(value: str) -> bytes:
    return string(value.encode())


def binary(data: bytes) -> bytes:
    return _BINARY + _size(len(data)) + data


def _size(size: int) -> bytes:
    check_size(size)
    return _pack_size(size)


def string_or_binary(data: bytes) -> bytes:
    """Bytes whose charset nobody told: a string where they are UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return binary(data)
    return string(data)


def integer(value: int) -> bytes:
    """The smallest of the four integer types; a decimal where none is large enough."""
    if -0x80 <= value < 0x80:
        return _pack_int8(INT8 << 2, value)
    if -0x8000 <= value < 0x8000:
        return _pack_int16(INT16 << 2, value)
    if -0x80000000 <= value < 0x80000000:
        return _pack_int32(INT32 << 2, value)
    if -0x8000000000000000 <= value < 0x8000000000000000:
        return _pack_int64(INT64 << 2, value)
    if abs(value) < 10**38:
        return decimal(value, 38, 0)
    return text(str(value))


def int64(value: int) -> bytes:
    return _pack_int64(INT64 << 2, value)


def int64_or_decimal(value: int) -> bytes:
    """An unsigned number of 64 bits: an int64, or a decimal of 16 bytes where it does not fit."""
    return int64(value) if value < 1 << 63 else decimal(value, 38, 0)


def decimal(unscaled: int, precision: int, scale: int) -> bytes:
    """A decimal of the size that ``precision`` digits, at most 38, need."""
    kind, size = (DECIMAL4, 4) if precision <= 9 else (DECIMAL8, 8) if precision <= 18 else (DECIMAL16, 16)
    return bytes((kind << 2, scale)) + unscaled.to_bytes(size, "little", signed=True)


def decimal_writer(precision: int, scale: int) -> Callable[[Decimal], bytes]:
    """A function that writes values of DECIMAL(precision, scale); those above 38 digits are text."""
    if precision > 38:
        return lambda value: text(decimal_text(value))

    def write(value: Decimal) -> bytes:
        # By way of text, because arithmetic on Decimals rounds to the context's precision.
        whole, _, fraction = f"{value:f}".partition(".")
        return decimal(int(whole + fraction.ljust(scale, "0")), precision, scale)

    return write


def _any_decimal(value: Decimal) -> bytes:
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        return text(str(value))
    scale = max(-exponent, 0)
    precision = max(len(digits) + max(exponent, 0), scale)
    return decimal_writer(precision, scale)(value)


def _sized_decimal(value: SizedDecimal) -> bytes:
    exponent = value.value.as_tuple().exponent
    assert isinstance(exponent, int)  # a stored decimal is a number
    return decimal_writer(value.precision, -exponent)(value.value)


def date(value: datetime.date) -> bytes:
    return _pack_int32(DATE << 2, value.toordinal() - _EPOCH_DAY)


def timestamp(microseconds: int) -> bytes:
    """An instant, in microseconds since 1970 in UTC."""
    return _pack_int64(TIMESTAMP << 2, microseconds)


def timestamp_ntz(value: datetime.datetime) -> bytes:
    """Date and time without a zone."""
    return _pack_int64(TIMESTAMP_NTZ << 2, (value - _EPOCH) // _MICROSECOND)


def mysql_date(value: Date) -> bytes:
    """A date; the text that MySQL prints where there is no such day."""
    try:
        return date(datetime.date(*value))
    except (ValueError, OverflowError):
        return text(value.text())


def mysql_datetime(value: DateTime, digits: int) -> bytes:
    """Date and time; the text that MySQL prints where there are none such."""
    try:
        return timestamp_ntz(datetime.datetime(*value))
    except (ValueError, OverflowError):
        return text(value.text(digits))


def _numbers(size: int, numbers: Sequence[int]) -> bytes:
    if size == 1:
        return bytes(numbers)
    return struct.pack(f"<{len(numbers)}{_LETTERS[size]}", *numbers)


def _width(largest: int) -> int:
    return 1 if largest < 1 << 8 else 2 if largest < 1 << 16 else 4


def array(parts: Sequence[bytes]) -> bytes:
    """An array of values that are written already."""
    count = len(parts)
    offsets = list(accumulate(map(len, parts), initial=0))
    check_size(offsets[-1])
    width = _width(offsets[-1])
    large = count > 0xFF
    header = large << 4 | width - 1 << 2 | 3
    head = bytes((header,)) + count.to_bytes(4 if large else 1, "little")
    return b"".join((head, _numbers(width, offsets), *parts))


def object_of(ids: Sequence[int], parts: Sequence[bytes]) -> bytes:
    """An object of values that are written already; keys and values come in the order of the keys' names."""
    count = len(ids)
    offsets = list(accumulate(map(len, parts), initial=0))
    check_size(offsets[-1])
    width = _width(offsets[-1])
    id_width = _width(max(ids, default=0))
    large = count > 0xFF
    header = large << 6 | id_width - 1 << 4 | width - 1 << 2 | 2
    head = bytes((header,)) + count.to_bytes(4 if large else 1, "little")
    return b"".join((head, _numbers(id_width, ids), _numbers(width, offsets), *parts))


def metadata_of(names: Iterable[str]) -> bytes:
    """The dictionary: version 1, names in the order of their numbers."""
    try:
        words = [name.encode() for name in names]
    except UnicodeEncodeError:
        raise DecodeError("a key that is no UTF-8 text: VARIANT has no place for it") from None
    offsets = list(accumulate(map(len, words), initial=0))
    check_size(offsets[-1])
    width = _width(max(offsets[-1], len(words)))
    return b"".join(
        (bytes((1 | width - 1 << 6,)), _numbers(width, (len(words),)), _numbers(width, offsets), *words)
    )


def check_size(size: int) -> None:
    if size > LARGEST:
        raise DecodeError(f"{size} bytes as VARIANT, where 128 MiB is the limit; typed `rows` hold them")


def checked(value: bytes, metadata: bytes) -> tuple[bytes, bytes]:
    check_size(len(value))
    check_size(len(metadata))
    return value, metadata


def encode_value(python: Any) -> tuple[bytes, bytes]:
    """Value and metadata of a Python value: None, bool, int, float, str, bytes, Decimal, dates and times of
    ``datetime`` and of MySQL, what ``decode_json`` makes, and dicts and sequences of all these."""
    keys: Keys = {}
    value = write_value(python, keys, 0)
    return checked(value, metadata_of(keys))


def write_value(value: Any, keys: Keys, depth: int) -> bytes:
    """Any value; its keys join the dictionary in order of first use."""
    write = _WRITERS.get(type(value))
    if write is not None:
        return write(value, keys, depth)
    for kind in type(value).__mro__:  # an enumeration's member, a mark like Undecoded: what it is a kind of
        if kind in _WRITERS:
            return _WRITERS[kind](value, keys, depth)
    raise UsageError(f"{type(value).__name__} is no VARIANT value")


def _nested(depth: int) -> int:
    if depth >= MOST_NESTED:
        raise DecodeError(f"nested deeper than {MOST_NESTED}")
    return depth + 1


def _write_dict(value: dict[Any, Any], keys: Keys, depth: int) -> bytes:
    depth = _nested(depth)
    entries = []
    for key, item in value.items():
        if not isinstance(key, str):
            raise UsageError(f"{key!r} is no key of a VARIANT object")
        number = keys.setdefault(key, len(keys))
        entries.append((key, number, write_value(item, keys, depth)))
    # The order of code points is that of their UTF-8 bytes.
    entries.sort()
    return object_of([entry[1] for entry in entries], [entry[2] for entry in entries])


def _write_sequence(value: Sequence[Any], keys: Keys, depth: int) -> bytes:
    depth = _nested(depth)
    return array([write_value(item, keys, depth) for item in value])


def _write_str(value: str, keys: Keys, depth: int) -> bytes:
    try:
        return string(value.encode())
    except UnicodeEncodeError:  # bytes that were no text, kept by surrogateescape
        try:
            return binary(value.encode("utf-8", "surrogateescape"))
        except UnicodeEncodeError:
            return binary(value.encode("utf-8", "surrogatepass"))


def _write_datetime(value: datetime.datetime, keys: Keys, depth: int) -> bytes:
    if value.tzinfo is None:
        return timestamp_ntz(value)
    # Shifted by hand: `astimezone` knows no instant before the year 1, where a zone may lead.
    local = value.replace(tzinfo=None) - _EPOCH
    return timestamp((local - (value.utcoffset() or datetime.timedelta())) // _MICROSECOND)


def _write_timedelta(value: datetime.timedelta, keys: Keys, depth: int) -> bytes:
    """As MySQL prints a TIME; a fraction only where there is one."""
    seconds, micros = divmod(abs(value) // _MICROSECOND, 1_000_000)
    sign = "-" if value < datetime.timedelta() else ""
    clock = f"{sign}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return text(clock + fraction_text(micros, 6 if micros else 0))


def _write_diff(value: JsonDiff, keys: Keys, depth: int) -> bytes:
    shown = {"operation": OPERATIONS[value.operation], "path": value.path}
    if value.value is not None:
        shown["value"] = read_document(value.value)
    return _write_dict(shown, keys, depth)


_WRITERS: dict[type, Callable[[Any, Keys, int], bytes]] = {
    type(None): lambda value, keys, depth: NULL,
    bool: lambda value, keys, depth: TRUE if value else FALSE,
    int: lambda value, keys, depth: integer(value),
    float: lambda value, keys, depth: _pack_double(DOUBLE << 2, value),
    str: _write_str,
    bytes: lambda value, keys, depth: binary(value),
    bytearray: lambda value, keys, depth: binary(bytes(value)),
    memoryview: lambda value, keys, depth: binary(bytes(value)),
    Decimal: lambda value, keys, depth: _any_decimal(value),
    SizedDecimal: lambda value, keys, depth: _sized_decimal(value),
    datetime.date: lambda value, keys, depth: date(value),
    datetime.datetime: _write_datetime,
    datetime.timedelta: _write_timedelta,
    Date: lambda value, keys, depth: mysql_date(value),
    DateTime: lambda value, keys, depth: mysql_datetime(value, 6),
    Time: lambda value, keys, depth: text(value.text(6)),
    Opaque: lambda value, keys, depth: text(opaque_text(value)),
    JsonDiff: _write_diff,
    dict: _write_dict,
    list: _write_sequence,
    tuple: _write_sequence,
}
