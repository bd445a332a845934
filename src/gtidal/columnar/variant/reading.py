"""VARIANT as Python values, as typed values, and as JSON text.

Whatever bytes are given, nothing but a ``DecodeError`` comes out. Each value's bytes are counted: in a real
VARIANT they do not overlap, so their sum stays within the size. That bounds the work on a hostile one, whose
containers may share their members and double at every level.
"""

from __future__ import annotations

import base64
import datetime
import struct
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import pairwise
from json.encoder import encode_basestring
from typing import Any

from gtidal.columnar.variant.writing import (
    BINARY,
    DATE,
    DECIMAL4,
    DECIMAL8,
    DECIMAL16,
    DOUBLE,
    FLOAT,
    INT8,
    INT16,
    INT32,
    INT64,
    MOST_NESTED,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
)
from gtidal.errors import DecodeError, Truncated

NULL, TRUE, FALSE = 0, 1, 2

TYPE_NAMES = {
    NULL: "null",
    TRUE: "boolean",
    FALSE: "boolean",
    INT8: "int8",
    INT16: "int16",
    INT32: "int32",
    INT64: "int64",
    DOUBLE: "double",
    DECIMAL4: "decimal4",
    DECIMAL8: "decimal8",
    DECIMAL16: "decimal16",
    DATE: "date",
    TIMESTAMP: "timestamp",
    TIMESTAMP_NTZ: "timestamp_ntz",
    FLOAT: "float",
    BINARY: "binary",
    STRING: "string",
}

_SIZES = {
    **{NULL: 0, TRUE: 0, FALSE: 0, INT8: 1, INT16: 2, INT32: 4, INT64: 8, DOUBLE: 8, FLOAT: 4, DATE: 4},
    **{DECIMAL4: 5, DECIMAL8: 9, DECIMAL16: 17, TIMESTAMP: 8, TIMESTAMP_NTZ: 8},
}
_PLAIN_HEADERS = {kind << 2: (kind, size) for kind, size in _SIZES.items()} | {
    size << 2 | 1: (STRING, size) for size in range(64)
}
"""Header bytes that tell all: the type, and the size of what follows. Strings up to 63 bytes are among them."""
_MOST_DIGITS = {DECIMAL4: 9, DECIMAL8: 18, DECIMAL16: 38}
_LETTERS = {1: "B", 2: "H", 4: "I"}

Scalar = Callable[[bytes], Any]
"""From a primitive's content to what it is turned into."""


def _numbers(data: bytes, start: int, count: int, width: int) -> Sequence[int]:
    stop = start + count * width
    if width == 1:
        return data[start:stop]
    if width == 3:
        return [int.from_bytes(data[at : at + 3], "little") for at in range(start, stop, 3)]
    return struct.unpack_from(f"<{count}{_LETTERS[width]}", data, start)


class _Names:
    """The names of a dictionary."""

    def __init__(self, metadata: bytes) -> None:
        self.plain = _read_names(metadata)

    @cached_property
    def quoted(self) -> list[str]:
        """As JSON writes them before a value."""
        return [f"{encode_basestring(name)}:" for name in self.plain]


def _read_names(metadata: bytes) -> list[str]:
    if not metadata:
        raise Truncated("VARIANT metadata without a byte")
    if metadata[0] & 0x0F != 1:
        raise DecodeError(f"version {metadata[0] & 0x0F} of VARIANT metadata")
    width = (metadata[0] >> 6) + 1
    first = 1 + width
    if first > len(metadata):
        raise Truncated("VARIANT metadata ends inside its size")
    count = int.from_bytes(metadata[1:first], "little")
    start = first + (count + 1) * width
    if start > len(metadata):
        raise Truncated(f"{count} names do not fit VARIANT metadata of {len(metadata)} bytes")
    offsets = _numbers(metadata, first, count + 1, width)
    names = []
    end = 0
    for offset, following in pairwise(offsets):
        # Each name must begin where the one before ends: names that overlap could be many times the bytes.
        if offset != end or not offset <= following <= len(metadata) - start:
            raise DecodeError(f"a VARIANT name from {offset} to {following}")
        end = following
        try:
            names.append(metadata[start + offset : start + following].decode())
        except UnicodeDecodeError:
            raise DecodeError("a VARIANT name that is no UTF-8 text") from None
    if start + end != len(metadata):
        raise DecodeError("VARIANT metadata that does not end with its last name")
    return names


_small_names = lru_cache(maxsize=512)(_Names)
_SMALL = 1 << 14


class _Walker:
    """Goes through one value. What the parts become is up to the subclass."""

    scalars: dict[int, Scalar]

    def __init__(self, value: bytes, metadata: bytes) -> None:
        self.data = value
        # The rows of a table mostly share their metadata.
        self.names = _small_names(metadata) if len(metadata) < _SMALL else _Names(metadata)
        self.budget = len(value)

    def run(self) -> Any:
        return self.read(0, len(self.data), 0)

    def array(self, items: list[Any]) -> Any:
        raise NotImplementedError

    def object(self, ids: Sequence[int], items: list[Any]) -> Any:
        raise NotImplementedError

    def spend(self, size: int) -> None:
        self.budget -= size
        if self.budget < 0:
            raise DecodeError("VARIANT values overlap each other")

    def read(self, pos: int, end: int, depth: int) -> Any:
        if pos >= end:
            raise Truncated("a VARIANT value ends before its first byte")
        header = self.data[pos]
        start = pos + 1
        found = _PLAIN_HEADERS.get(header)
        if found is not None:
            kind, size = found
        elif header & 2:
            return self.container(header >> 2, header & 3 == 2, pos, end, depth)
        else:
            kind = header >> 2
            if kind not in (BINARY, STRING):
                raise DecodeError(f"{kind} is no VARIANT type")
            start += 4
            if start > end:
                raise Truncated(f"a VARIANT {TYPE_NAMES[kind]} ends inside its size")
            size = int.from_bytes(self.data[pos + 1 : start], "little")
        stop = start + size
        if stop > end:
            raise Truncated(f"a VARIANT {TYPE_NAMES[kind]} needs {size} bytes, {end - start} are left")
        self.spend(stop - pos)
        return self.scalars[kind](self.data[start:stop])

    def container(self, info: int, is_object: bool, pos: int, end: int, depth: int) -> Any:
        if depth >= MOST_NESTED:
            raise DecodeError(f"VARIANT nested deeper than {MOST_NESTED}")
        if info >> (5 if is_object else 3):
            raise DecodeError(f"{info} describes no VARIANT {'object' if is_object else 'array'}")
        data = self.data
        large = info & (16 if is_object else 4)
        first = pos + (5 if large else 2)
        if first > end:
            raise Truncated("a VARIANT container ends inside its size")
        count = int.from_bytes(data[pos + 1 : first], "little")
        id_width = (info >> 2 & 3) + 1 if is_object else 0
        width = (info & 3) + 1
        offsets_at = first + count * id_width
        start = offsets_at + (count + 1) * width
        if start > end:
            raise Truncated(f"{count} members do not fit a VARIANT container of {end - pos} bytes")
        self.spend(start - pos)
        offsets = _numbers(data, offsets_at, count + 1, width)
        size = offsets[-1]
        if size > end - start:
            raise Truncated(f"a VARIANT container of {size} bytes, {end - start} are left")
        end = start + size
        depth += 1
        items = [self.read(start + offset, end, depth) for offset in offsets[:-1]]
        if not is_object:
            return self.array(items)
        ids = _numbers(data, first, count, id_width)
        if count and max(ids) >= len(self.names.plain):
            raise DecodeError(f"key {max(ids)} of {len(self.names.plain)}")
        return self.object(ids, items)


def _signed(data: bytes) -> int:
    return int.from_bytes(data, "little", signed=True)


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise DecodeError("a VARIANT string that is no UTF-8 text") from None


def _decimal_parts(kind: int) -> Callable[[bytes], tuple[int, int]]:
    digits = _MOST_DIGITS[kind]

    def parts(data: bytes) -> tuple[int, int]:
        unscaled = _signed(data[1:])
        if data[0] > digits or abs(unscaled) >= 10**digits:
            raise DecodeError(f"{unscaled} with {data[0]} decimals is no {TYPE_NAMES[kind]}")
        return unscaled, data[0]

    return parts


def _decimal(kind: int) -> Callable[[bytes], Decimal]:
    parts = _decimal_parts(kind)

    def make(data: bytes) -> Decimal:
        # Text, because arithmetic on Decimals rounds to the context's precision.
        unscaled, scale = parts(data)
        return Decimal(f"{unscaled}E-{scale}")

    return make


_EPOCH_DAY = datetime.date(1970, 1, 1).toordinal()
_EPOCH = datetime.datetime(1970, 1, 1)


def _date(data: bytes) -> datetime.date:
    try:
        return datetime.date.fromordinal(_EPOCH_DAY + _signed(data))
    except (ValueError, OverflowError):
        raise DecodeError(f"day {_signed(data)} since 1970 is none that Python knows") from None


def _moment(data: bytes) -> datetime.datetime:
    try:
        return _EPOCH + datetime.timedelta(microseconds=_signed(data))
    except OverflowError:
        raise DecodeError(f"microsecond {_signed(data)} since 1970 is none that Python knows") from None


_DOUBLE = struct.Struct("<d")
_FLOAT = struct.Struct("<f")

_PYTHON: dict[int, Scalar] = {
    NULL: lambda data: None,
    TRUE: lambda data: True,
    FALSE: lambda data: False,
    **dict.fromkeys((INT8, INT16, INT32, INT64), _signed),
    DOUBLE: lambda data: _DOUBLE.unpack(data)[0],
    FLOAT: lambda data: _FLOAT.unpack(data)[0],
    **{kind: _decimal(kind) for kind in _MOST_DIGITS},
    DATE: _date,
    TIMESTAMP: lambda data: _moment(data).replace(tzinfo=datetime.UTC),
    TIMESTAMP_NTZ: _moment,
    BINARY: lambda data: data,
    STRING: _text,
}


class _PythonWalker(_Walker):
    scalars = _PYTHON

    def array(self, items: list[Any]) -> list[Any]:
        return items

    def object(self, ids: Sequence[int], items: list[Any]) -> dict[str, Any]:
        names = self.names.plain
        return {names[number]: item for number, item in zip(ids, items, strict=True)}


def decode(value: bytes, metadata: bytes) -> Any:
    """The Python value: dict, list, str, bytes, int, float, bool, None, Decimal, ``datetime.date``, and
    ``datetime.datetime``, in UTC for an instant and without zone for a time without one."""
    return _PythonWalker(value, metadata).run()


class _PlaceWalker(_PythonWalker):
    scalars: dict[int, Scalar] = dict.fromkeys(TYPE_NAMES, bytes)

    def read(self, pos: int, end: int, depth: int) -> Any:
        before = self.budget
        found = super().read(pos, end, depth)
        if not isinstance(found, bytes):
            return found
        stop = pos + before - self.budget
        return range(stop - len(found), stop)


def places_in(value: bytes, metadata: bytes) -> Any:
    """As ``decode``, but each primitive is the range of ``value`` where its content lies."""
    return _PlaceWalker(value, metadata).run()


def _typed(kind: int) -> Scalar:
    name = TYPE_NAMES[kind]
    exact: Scalar
    if kind in _MOST_DIGITS:
        exact = _decimal_parts(kind)
    elif kind in (DOUBLE, FLOAT):
        exact = bytes.hex
    elif kind in (DATE, TIMESTAMP, TIMESTAMP_NTZ):
        exact = _signed
    else:
        exact = _PYTHON[kind]
    return lambda data: (name, exact(data))


class _TypedWalker(_Walker):
    scalars: dict[int, Scalar] = {kind: _typed(kind) for kind in TYPE_NAMES}  # noqa: RUF012

    def run(self) -> Any:
        found = super().run()
        if self.budget:
            raise DecodeError(f"{self.budget} bytes of a VARIANT belong to no value")
        return found

    def array(self, items: list[Any]) -> tuple[str, list[Any]]:
        return "array", items

    def object(self, ids: Sequence[int], items: list[Any]) -> tuple[str, dict[str, Any]]:
        keys = [self.names.plain[number] for number in ids]
        if any(key >= following for key, following in pairwise(keys)):
            raise DecodeError("the keys of a VARIANT object are not in the order of their names")
        return "object", dict(zip(keys, items, strict=True))


def decode_typed(value: bytes, metadata: bytes) -> Any:
    """A tree of (type name, value), for tests: two are equal if types and values are, to the bit. A decimal is
    (unscaled number, scale), a floating-point number its bytes in hexadecimal, a date the days and a timestamp
    the microseconds since 1970. It is strict: no byte may be left over, and keys must be in order."""
    return _TypedWalker(value, metadata).run()


_INFINITY = float("inf")


def _float_text(value: float, digits: str) -> str:
    """JSON has no NaN and no infinity: they are strings, as Spark writes them."""
    if value != value:
        return '"NaN"'
    if value in (_INFINITY, -_INFINITY):
        return '"Infinity"' if value > 0 else '"-Infinity"'
    return digits


def _double_text(data: bytes) -> str:
    value = _DOUBLE.unpack(data)[0]
    return _float_text(value, repr(value))


def _single_text(data: bytes) -> str:
    """The fewest digits that give the same four bytes again: up to nine, and seldom fewer than seven are tried
    in vain. Numbers that are very small have fewer."""
    value = _FLOAT.unpack(data)[0]
    digits = ""
    for precision in range(6 if abs(value) > 1e-37 else 1, 10):
        digits = f"{value:.{precision}g}"
        try:
            if _FLOAT.pack(float(digits)) == data:
                break
        except OverflowError:  # rounded up beyond the largest
            continue
    # As Python prints a double: always recognisable as no integer.
    return _float_text(value, repr(float(digits)))


def _decimal_text(kind: int) -> Scalar:
    parts = _decimal_parts(kind)

    def make(data: bytes) -> str:
        unscaled, scale = parts(data)
        if not scale:
            return str(unscaled)
        digits = f"{abs(unscaled):0{scale + 1}d}"
        return f"{'-' if unscaled < 0 else ''}{digits[:-scale]}.{digits[-scale:]}"

    return make


def _moment_text(data: bytes) -> str:
    """With a space between day and time, as MySQL and Spark print it, and only the digits that say something."""
    moment = _moment(data).isoformat(" ")
    return moment.rstrip("0") if "." in moment else moment


_JSON: dict[int, Scalar] = {
    NULL: lambda data: "null",
    TRUE: lambda data: "true",
    FALSE: lambda data: "false",
    **dict.fromkeys((INT8, INT16, INT32, INT64), lambda data: str(_signed(data))),
    DOUBLE: _double_text,
    FLOAT: _single_text,
    **{kind: _decimal_text(kind) for kind in _MOST_DIGITS},
    DATE: lambda data: f'"{_date(data).isoformat()}"',
    TIMESTAMP: lambda data: f'"{_moment_text(data)}+00:00"',
    TIMESTAMP_NTZ: lambda data: f'"{_moment_text(data)}"',
    BINARY: lambda data: f'"{base64.b64encode(data).decode("ascii")}"',
    STRING: lambda data: encode_basestring(_text(data)),
}


class _JsonWalker(_Walker):
    scalars = _JSON

    def array(self, items: list[Any]) -> str:
        return f"[{','.join(items)}]"

    def object(self, ids: Sequence[int], items: list[Any]) -> str:
        quoted = self.names.quoted
        return "{" + ",".join([quoted[number] + item for number, item in zip(ids, items, strict=True)]) + "}"


def json_text(value: bytes, metadata: bytes) -> str:
    """Standard JSON, keys in the order they are stored in. Decimals are plain numbers, dates and times strings
    (an instant ends in +00:00), bytes base64, what is no number in JSON "NaN" and "Infinity"."""
    return _JsonWalker(value, metadata).run()  # type: ignore[no-any-return]  # as the walker makes it
