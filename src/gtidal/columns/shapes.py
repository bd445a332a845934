"""The byte shapes: how many bytes a value takes in a row image and which physical value they are.

About thirty MySQL types come down to these. A shape knows no column, no charset and no type code; what
the value means is in ``meanings``. Every shape has

* ``read(data, pos, end) -> (value, new position)``: compares with ``end`` before it looks, raises
  ``Truncated``. It is a closure made once per column type, because it runs once per value;
* ``write(value) -> bytes``, its inverse: ``write(read(b)) == b`` for every ``b`` that ``read`` takes;
* ``size``: the number of bytes, or None where a length prefix tells.

Values: int, float, bytes, Decimal, and the tuples of ``temporal``. Impossible clock and calendar values
are kept as they are; a value that no tuple can hold is a ``DecodeError``.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from gtidal.columns.decimals import decimal_reader, decimal_size, encode_decimal
from gtidal.columns.temporal import Date, DateTime, Time, Timestamp
from gtidal.errors import DecodeError, Truncated, Unsupported

Read = Callable[[bytes, int, int], tuple[Any, int]]
Write = Callable[[Any], bytes]

_new = tuple.__new__  # a NamedTuple's own constructor costs twice as much


class Shape:
    """A byte shape. Equal shapes have the same class and arguments; they pickle by those."""

    __slots__ = ("arguments", "read", "size", "write")

    read: Read
    write: Write
    size: int | None
    arguments: tuple[Any, ...]

    def _set(self, arguments: tuple[Any, ...], size: int | None, read: Read, write: Write) -> None:
        self.arguments = arguments
        self.size = size
        self.read = read
        self.write = write

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shape) and type(self) is type(other) and self.arguments == other.arguments

    def __hash__(self) -> int:
        return hash((type(self), self.arguments))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.arguments))})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.arguments


def _short(what: str, size: int, pos: int, end: int) -> Truncated:
    return Truncated(f"{what} needs {size} bytes, {max(end - pos, 0)} are left")


def _put(value: int, size: int, order: Any, signed: bool = False) -> bytes:
    try:
        return value.to_bytes(size, order, signed=signed)
    except OverflowError:
        raise DecodeError(f"{value} does not fit {size} bytes") from None


def _check(value: Any, *parts: tuple[int, int]) -> None:
    """Parts that outgrow their bits would spill into their neighbours."""
    for part, limit in parts:
        if not 0 <= part < limit:
            raise DecodeError(f"{value} has a part that its bytes cannot hold")


class Int(Shape):
    """A little-endian integer of 1 to 8 bytes; also ENUM and SET."""

    __slots__ = ()

    def __init__(self, size: int, signed: bool = True) -> None:
        letter = {1: "b", 2: "h", 4: "i", 8: "q"}.get(size)
        what = f"an integer of {size} bytes"

        if size == 1 and not signed:

            def read(data: bytes, pos: int, end: int) -> tuple[int, int]:
                if pos >= end:
                    raise _short(what, size, pos, end)
                return data[pos], pos + 1

        elif letter:
            unpack = struct.Struct("<" + (letter if signed else letter.upper())).unpack_from

            def read(data: bytes, pos: int, end: int) -> tuple[int, int]:
                stop = pos + size
                if stop > end:
                    raise _short(what, size, pos, end)
                return unpack(data, pos)[0], stop

        else:
            from_bytes = int.from_bytes

            def read(data: bytes, pos: int, end: int) -> tuple[int, int]:
                stop = pos + size
                if stop > end:
                    raise _short(what, size, pos, end)
                return from_bytes(data[pos:stop], "little", signed=signed), stop

        def write(value: int) -> bytes:
            return _put(value, size, "little", signed)

        self._set((size, signed), size, read, write)


class RawNan(float):
    """A NaN together with its bytes: one that changes when it is converted, as signalling ones of four bytes
    do. No server computes one."""

    __slots__ = ("data",)

    data: bytes

    def __new__(cls, data: bytes) -> RawNan:
        made = super().__new__(cls, "-nan" if data[-1] & 0x80 else "nan")
        made.data = data
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return RawNan, (self.data,)


class Float(Shape):
    """An IEEE number of 4 or 8 bytes, little-endian."""

    __slots__ = ()

    def __init__(self, size: int) -> None:
        packer = struct.Struct("<f" if size == 4 else "<d")
        unpack = packer.unpack_from

        def read(data: bytes, pos: int, end: int) -> tuple[float, int]:
            stop = pos + size
            if stop > end:
                raise _short("a floating-point number", size, pos, end)
            value = unpack(data, pos)[0]
            if value != value and packer.pack(value) != data[pos:stop]:
                return RawNan(data[pos:stop]), stop
            return value, stop

        def write(value: float) -> bytes:
            if type(value) is RawNan and len(value.data) == size:
                return value.data
            try:
                return packer.pack(value)
            except OverflowError:
                raise DecodeError(f"{value} does not fit {size} bytes") from None

        self._set((size,), size, read, write)


class Bytes(Shape):
    """Bytes behind a little-endian length of 1 to 4 bytes."""

    __slots__ = ()

    def __init__(self, prefix: int) -> None:
        what = "a length prefix"
        from_bytes = int.from_bytes

        if prefix == 1:

            def read(data: bytes, pos: int, end: int) -> tuple[bytes, int]:
                if pos >= end:
                    raise _short(what, prefix, pos, end)
                start = pos + 1
                stop = start + data[pos]
                if stop > end:
                    raise _short("a string", stop - start, start, end)
                return data[start:stop], stop

        else:

            def read(data: bytes, pos: int, end: int) -> tuple[bytes, int]:
                start = pos + prefix
                if start > end:
                    raise _short(what, prefix, pos, end)
                stop = start + from_bytes(data[pos:start], "little")
                if stop > end:
                    raise _short("a string", stop - start, start, end)
                return data[start:stop], stop

        def write(value: bytes) -> bytes:
            return _put(len(value), prefix, "little") + value

        self._set((prefix,), None, read, write)


class PackedDecimal(Shape):
    """DECIMAL(precision, scale)."""

    __slots__ = ()

    def __init__(self, precision: int, scale: int) -> None:
        def write(value: Decimal) -> bytes:
            return encode_decimal(value, precision, scale)

        read = decimal_reader(precision, scale)
        self._set((precision, scale), decimal_size(precision, scale), read, write)


class Bits(Shape):
    """BIT(count): big-endian, in whole bytes."""

    __slots__ = ()

    def __init__(self, count: int) -> None:
        size = (count + 7) // 8
        from_bytes = int.from_bytes

        def read(data: bytes, pos: int, end: int) -> tuple[int, int]:
            stop = pos + size
            if stop > end:
                raise _short(f"a BIT({count})", size, pos, end)
            return from_bytes(data[pos:stop], "big"), stop

        def write(value: int) -> bytes:
            return _put(value, size, "big")

        self._set((count,), size, read, write)


class Year(Shape):
    """One byte: years after 1900, and 0 for the year 0000."""

    __slots__ = ()

    def __init__(self) -> None:
        def read(data: bytes, pos: int, end: int) -> tuple[int, int]:
            if pos >= end:
                raise _short("a YEAR", 1, pos, end)
            value = data[pos]
            return (value + 1900 if value else 0), pos + 1

        def write(value: int) -> bytes:
            if value == 1900:
                raise DecodeError("there is no YEAR 1900")
            return _put(value - 1900 if value else 0, 1, "little")

        self._set((), 1, read, write)


class Date24(Shape):
    """Three bytes little-endian: day in 5 bits, month in 4, year in 15."""

    __slots__ = ()

    def __init__(self) -> None:
        def read(data: bytes, pos: int, end: int) -> tuple[Date, int]:
            stop = pos + 3
            if stop > end:
                raise _short("a DATE", 3, pos, end)
            value = data[pos] | data[pos + 1] << 8 | data[pos + 2] << 16
            return _new(Date, (value >> 9, value >> 5 & 15, value & 31)), stop

        def write(value: Date) -> bytes:
            year, month, day = value
            _check(value, (month, 16), (day, 32))
            return _put(year << 9 | month << 5 | day, 3, "little")

        self._set((), 3, read, write)


class Time24(Shape):
    """TIME before 5.6: three bytes little-endian, the signed decimal number hhmmss."""

    __slots__ = ()

    def __init__(self) -> None:
        from_bytes = int.from_bytes

        def read(data: bytes, pos: int, end: int) -> tuple[Time, int]:
            stop = pos + 3
            if stop > end:
                raise _short("a TIME", 3, pos, end)
            value = from_bytes(data[pos:stop], "little", signed=True)
            negative = value < 0
            rest, second = divmod(-value if negative else value, 100)
            hour, minute = divmod(rest, 100)
            return _new(Time, (negative, hour, minute, second, 0)), stop

        def write(value: Time) -> bytes:
            _check(value, (value.minute, 100), (value.second, 100))
            number = value.hour * 10000 + value.minute * 100 + value.second
            return _put(-number if value.negative else number, 3, "little", True)

        self._set((), 3, read, write)


class Datetime64(Shape):
    """DATETIME before 5.6: eight bytes little-endian, the decimal number YYYYMMDDhhmmss."""

    __slots__ = ()

    def __init__(self) -> None:
        unpack = struct.Struct("<Q").unpack_from

        def read(data: bytes, pos: int, end: int) -> tuple[DateTime, int]:
            stop = pos + 8
            if stop > end:
                raise _short("a DATETIME", 8, pos, end)
            day, clock = divmod(unpack(data, pos)[0], 1000000)
            month, day = divmod(day, 100)
            year, month = divmod(month, 100)
            hour, second = divmod(clock, 10000)
            minute, second = divmod(second, 100)
            return _new(DateTime, (year, month, day, hour, minute, second, 0)), stop

        def write(value: DateTime) -> bytes:
            _check(value, *((part, 100) for part in value[1:6]))
            number = (value.year * 10000 + value.month * 100 + value.day) * 1000000
            number += value.hour * 10000 + value.minute * 100 + value.second
            return _put(number, 8, "little")

        self._set((), 8, read, write)


class Epoch32(Shape):
    """TIMESTAMP before 5.6: four bytes little-endian."""

    __slots__ = ()

    def __init__(self) -> None:
        unpack = struct.Struct("<I").unpack_from

        def read(data: bytes, pos: int, end: int) -> tuple[Timestamp, int]:
            stop = pos + 4
            if stop > end:
                raise _short("a TIMESTAMP", 4, pos, end)
            return _new(Timestamp, (unpack(data, pos)[0], 0)), stop

        def write(value: Timestamp) -> bytes:
            return _put(value.seconds, 4, "little")

        self._set((), 4, read, write)


# Fractional digits 1-2, 3-4, 5-6 take one, two, three bytes that count these microseconds.
_FRACTION_STEP = (1, 10000, 100, 1)


def fraction_size(digits: int) -> int:
    """Bytes of the fraction behind a packed temporal value."""
    if not 0 <= digits <= 6:
        raise DecodeError(f"{digits} fractional digits, where 6 is the most")
    return (digits + 1) // 2


class PackedEpoch(Shape):
    """TIMESTAMP(digits): seconds and fraction, big-endian."""

    __slots__ = ()

    def __init__(self, digits: int) -> None:
        extra = fraction_size(digits)
        size = 4 + extra
        step = _FRACTION_STEP[extra]
        from_bytes = int.from_bytes

        def read(data: bytes, pos: int, end: int) -> tuple[Timestamp, int]:
            stop = pos + size
            if stop > end:
                raise _short(f"a TIMESTAMP({digits})", size, pos, end)
            middle = pos + 4
            fraction = from_bytes(data[middle:stop], "big") * step if extra else 0
            return _new(Timestamp, (from_bytes(data[pos:middle], "big"), fraction)), stop

        def write(value: Timestamp) -> bytes:
            return _put(value.seconds, 4, "big") + _put(value.microsecond // step, extra, "big")

        self._set((digits,), size, read, write)


class PackedDatetime(Shape):
    """DATETIME(digits): 40 bits big-endian (a set sign bit, year·13+month in 17 bits, day in 5, hour in 5,
    minute in 6, second in 6), then the fraction. The server never writes the sign bit clear."""

    __slots__ = ()

    def __init__(self, digits: int) -> None:
        extra = fraction_size(digits)
        size = 5 + extra
        step = _FRACTION_STEP[extra]
        from_bytes = int.from_bytes

        def read(data: bytes, pos: int, end: int) -> tuple[DateTime, int]:
            stop = pos + size
            if stop > end:
                raise _short(f"a DATETIME({digits})", size, pos, end)
            middle = pos + 5
            value = from_bytes(data[pos:middle], "big") - 0x8000000000
            if value < 0:
                raise DecodeError(f"{data[pos:stop].hex()} is a negative DATETIME")
            year, month = divmod(value >> 22, 13)
            fraction = from_bytes(data[middle:stop], "big") * step if extra else 0
            parts = year, month, value >> 17 & 31, value >> 12 & 31, value >> 6 & 63, value & 63, fraction
            return _new(DateTime, parts), stop

        def write(value: DateTime) -> bytes:
            year, month, day, hour, minute, second, microsecond = value
            _check(value, (month, 13), (day, 32), (hour, 32), (minute, 64), (second, 64))
            number = (year * 13 + month) << 22 | day << 17 | hour << 12 | minute << 6 | second
            return _put(number + 0x8000000000, 5, "big") + _put(microsecond // step, extra, "big")

        self._set((digits,), size, read, write)


class PackedTime(Shape):
    """TIME(digits): 24 bits big-endian (hour<<12 | minute<<6 | second) and the fraction, biased by half the
    range. A negative time is the negated whole, integer part and fraction together."""

    __slots__ = ()

    def __init__(self, digits: int) -> None:
        extra = fraction_size(digits)
        size = 3 + extra
        step = _FRACTION_STEP[extra]
        bits = 8 * extra
        mask = (1 << bits) - 1
        bias = 0x800000 << bits
        from_bytes = int.from_bytes

        def read(data: bytes, pos: int, end: int) -> tuple[Time, int]:
            stop = pos + size
            if stop > end:
                raise _short(f"a TIME({digits})", size, pos, end)
            value = from_bytes(data[pos:stop], "big") - bias
            negative = value < 0
            if negative:
                value = -value
            fraction = (value & mask) * step
            value >>= bits
            return _new(Time, (negative, value >> 12, value >> 6 & 63, value & 63, fraction)), stop

        def write(value: Time) -> bytes:
            negative, hour, minute, second, microsecond = value
            _check(value, (minute, 64), (second, 64), (microsecond // step, mask + 1))
            number = (hour << 12 | minute << 6 | second) << bits | microsecond // step
            return _put(bias - number if negative else bias + number, size, "big")

        self._set((digits,), size, read, write)


class Nothing(Shape):
    """No bytes: the type NULL."""

    __slots__ = ()

    def __init__(self) -> None:
        def read(data: bytes, pos: int, end: int) -> tuple[None, int]:
            return None, pos

        def write(value: None) -> bytes:
            return b""

        self._set((), 0, read, write)


class Unreadable(Shape):
    """A value whose size cannot be known: reading one says why."""

    __slots__ = ()

    def __init__(self, reason: str) -> None:
        def read(data: bytes, pos: int, end: int) -> tuple[Any, int]:
            raise Unsupported(reason)

        def write(value: Any) -> bytes:
            raise Unsupported(reason)

        self._set((reason,), None, read, write)
