"""What the kernel's modules share: a few operations that the machine has better ways for than a loop over bytes.

Interpreted, they are these; compiled, those of ``machine.pxd``, inlined into the caller. Callers have checked that
all bytes they name are there, and that ``size`` is not 0.
"""

import zlib


def crc32(data, pos, end):
    """CRC-32 of ``data[pos:end]``."""
    return zlib.crc32(data[pos:end])


def copy(target, at, data, pos, size):
    """Copy bytes; the two do not overlap."""
    target[at : at + size] = data[pos : pos + size]


def same(one, at, other, pos, size):
    """Whether two stretches of bytes are equal."""
    return bytes(one[at : at + size]) == bytes(other[pos : pos + size])


def word_at(data, pos):
    """Four bytes, little-endian, unsigned."""
    return int.from_bytes(data[pos : pos + 4], "little")


def long_at(data, pos):
    """Eight bytes, little-endian, signed."""
    return int.from_bytes(data[pos : pos + 8], "little", signed=True)
