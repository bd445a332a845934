"""DECIMAL as the log stores it: groups of nine digits in four bytes, most significant first.

A value of DECIMAL(precision, scale) always has the same size. The leading group of the integer part and
the last group of the fraction may be shorter. The first bit is 1 for positive numbers; a negative number
has every bit inverted. Reference: format facts 14.4; the server's bin2decimal refuses a group that holds
more digits than its width allows, and so do we.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from gtidal.errors import DecodeError, Truncated

GROUP_SIZE = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
"""Bytes for a group of 0 to 9 digits."""


def digit_groups(precision: int, scale: int) -> tuple[int, ...]:
    """How many digits each group holds, in the order of the bytes."""
    whole = precision - scale
    groups = ([whole % 9] if whole % 9 else []) + [9] * (whole // 9) + [9] * (scale // 9)
    if scale % 9:
        groups.append(scale % 9)
    return tuple(groups)


def decimal_size(precision: int, scale: int) -> int:
    """The size in bytes of a DECIMAL(precision, scale)."""
    return sum(GROUP_SIZE[digits] for digits in digit_groups(precision, scale))


def check_decimal(precision: int, scale: int) -> None:
    """MySQL allows 65 digits and 30 decimals, MariaDB 38 decimals; the format itself 81 digits."""
    if not 1 <= precision <= 81 or scale > precision:
        raise DecodeError(f"there is no DECIMAL({precision},{scale})")


def decimal_reader(precision: int, scale: int) -> Callable[[bytes, int, int], tuple[Decimal, int]]:
    """A function that reads a DECIMAL(precision, scale)."""
    check_decimal(precision, scale)
    size = decimal_size(precision, scale)
    pieces = []
    shift = 8 * size
    for digits in digit_groups(precision, scale):
        shift -= 8 * GROUP_SIZE[digits]
        pieces.append((shift, (1 << 8 * GROUP_SIZE[digits]) - 1, 10**digits))
    top = 1 << (8 * size - 1)
    mask = (1 << 8 * size) - 1
    tail = f"E-{scale}" if scale else ""
    from_bytes = int.from_bytes

    def read(data: bytes, pos: int, end: int) -> tuple[Decimal, int]:
        stop = pos + size
        if stop > end:
            raise Truncated(f"a DECIMAL({precision},{scale}) needs {size} bytes, {end - pos} are left")
        number = from_bytes(data[pos:stop], "big") ^ top
        sign = ""
        if number & top:  # it was clear: negative
            number ^= mask
            sign = "-"
        total = 0
        for shift, bits, limit in pieces:
            group = number >> shift & bits
            if group >= limit:
                raise DecodeError(f"{data[pos:stop].hex()} is no DECIMAL({precision},{scale})")
            total = total * limit + group
        # Text, because arithmetic on Decimals rounds to the context's precision and this never does.
        return Decimal(f"{sign}{total}{tail}"), stop

    return read


def encode_decimal(value: Decimal, precision: int, scale: int) -> bytes:
    """The bytes of ``value``; the sign of a zero is kept."""
    check_decimal(precision, scale)
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise DecodeError(f"{value} is no DECIMAL({precision},{scale})")
    shift = exponent + scale
    text = "".join(map(str, digits))
    if shift < 0:
        if text[shift:].strip("0"):
            raise DecodeError(f"{value} has more decimals than DECIMAL({precision},{scale})")
        text = text[:shift]
    elif text.strip("0"):
        if shift > precision:
            raise DecodeError(f"{value} does not fit DECIMAL({precision},{scale})")
        text += "0" * shift
    text = text.lstrip("0")
    if len(text) > precision:
        raise DecodeError(f"{value} does not fit DECIMAL({precision},{scale})")
    text = text.rjust(precision, "0")
    out = bytearray()
    start = 0
    for count in digit_groups(precision, scale):
        out += int(text[start : start + count]).to_bytes(GROUP_SIZE[count], "big")
        start += count
    number = int.from_bytes(out, "big")
    if sign:
        number ^= (1 << 8 * len(out)) - 1
    return (number ^ 1 << (8 * len(out) - 1)).to_bytes(len(out), "big")


def decode_decimal(data: bytes, precision: int, scale: int) -> Decimal:
    """Exactly these bytes as a DECIMAL(precision, scale)."""
    value, stop = decimal_reader(precision, scale)(data, 0, len(data))
    if stop != len(data):
        raise DecodeError(f"a DECIMAL({precision},{scale}) has {stop} bytes, not {len(data)}")
    return value


def decimal_text(value: Decimal) -> str:
    """As MySQL prints it: never with an exponent, all decimals of the scale."""
    return f"{value:f}"
