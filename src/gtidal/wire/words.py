"""The two variable-length integers of the format, over plain bytes.

``lenenc`` is the length-encoded integer of MySQL's protocol; ``uvarint``/``svarint`` are those of
mysql::serialization, where the number of trailing one-bits in the first byte tells the length.
"""

from __future__ import annotations

from gtidal.errors import DecodeError, Truncated

LENENC_WIDTH = {0xFC: 2, 0xFD: 3, 0xFE: 8}


def read_lenenc(data: bytes, pos: int, end: int) -> tuple[int, int]:
    """The length-encoded integer at ``pos`` and where it ends."""
    if pos >= end:
        raise Truncated("ends before a length-encoded integer")
    first = data[pos]
    if first < 251:
        return first, pos + 1
    width = LENENC_WIDTH.get(first)
    if width is None:
        raise DecodeError(f"0x{first:02x} does not start a length-encoded integer")
    stop = pos + 1 + width
    if stop > end:
        raise Truncated(f"a length-encoded integer of {width} bytes needs {stop - end} more")
    return int.from_bytes(data[pos + 1 : stop], "little"), stop


def _check(value: int) -> None:
    if value < 0 or value >> 64:
        raise DecodeError(f"{value} does not fit 64 bits")


def encode_lenenc(value: int) -> bytes:
    _check(value)
    if value < 251:
        return bytes((value,))
    if value < 1 << 16:
        return b"\xfc" + value.to_bytes(2, "little")
    if value < 1 << 24:
        return b"\xfd" + value.to_bytes(3, "little")
    return b"\xfe" + value.to_bytes(8, "little")


def read_uvarint(data: bytes, pos: int, end: int, bits: int = 64) -> tuple[int, int]:
    """mysql::serialization's unsigned integer at ``pos`` and where it ends."""
    if pos >= end:
        raise Truncated("ends before a variable-length integer")
    first = data[pos]
    size = (~first & (first + 1)).bit_length()  # trailing ones + 1; 9 for 0xff
    stop = pos + size
    if stop > end:
        raise Truncated(f"a variable-length integer of {size} bytes needs {stop - end} more")
    if size == 9:
        value = int.from_bytes(data[pos + 1 : stop], "little")
    else:
        value = int.from_bytes(data[pos:stop], "little") >> size
    if value >> bits:
        raise DecodeError(f"{value} does not fit {bits} bits")
    return value, stop


def encode_uvarint(value: int) -> bytes:
    _check(value)
    size = min((max(value.bit_length(), 1) - 1) // 7 + 1, 9)
    if size == 9:
        return b"\xff" + value.to_bytes(8, "little")
    return ((value << size) | ((1 << (size - 1)) - 1)).to_bytes(size, "little")


def read_svarint(data: bytes, pos: int, end: int) -> tuple[int, int]:
    """mysql::serialization's signed integer at ``pos`` and where it ends."""
    value, stop = read_uvarint(data, pos, end)
    return (-(value >> 1) - 1 if value & 1 else value >> 1), stop


def encode_svarint(value: int) -> bytes:
    if not -(1 << 63) <= value < 1 << 63:
        raise DecodeError(f"{value} does not fit 64 bits")
    return encode_uvarint(value << 1 if value >= 0 else ((-value - 1) << 1) | 1)
