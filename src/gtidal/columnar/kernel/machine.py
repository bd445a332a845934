"""What the kernel's modules share: a few operations that the machine has better ways for than a loop over bytes.

Interpreted, they are these; compiled, those of ``machine.pxd``, inlined into the caller. Callers have checked that
all bytes they name are there, and that ``size`` is not 0.
"""

import binascii
import struct
import zlib

from gtidal.columns.jsonb import double_text


def end_turn():
    """This thread no longer holds Python's lock between two calls of the kernel (turns.h). Interpreted, there are no
    turns."""


def crc32(data, pos, end):
    """CRC-32 of ``data[pos:end]``."""
    return zlib.crc32(data[pos:end])


def copy(target, at, data, pos, size):
    """Copy bytes; the two do not overlap. There may be none."""
    target[at : at + size] = data[pos : pos + size]


def is_ascii(data, pos, size):
    """Whether all bytes are below 128; they may be none."""
    return bytes(data[pos : pos + size]).isascii()


def prefetch(data, pos):
    """These bytes will be wanted soon: the processor may fetch them. It does no harm if they are not there."""


def put_short(target, at, number):
    """The low two bytes of a number, least significant first."""
    target[at : at + 2] = (number & 65535).to_bytes(2, "little")


def put_long(target, at, number):
    """The low eight bytes of a number, least significant first. Also for shorter ones, where there is room for eight
    bytes and nothing behind them yet."""
    target[at : at + 8] = (number & (1 << 64) - 1).to_bytes(8, "little")


def same(one, at, other, pos, size):
    """Whether two stretches of bytes are equal."""
    return bytes(one[at : at + size]) == bytes(other[pos : pos + size])


def word_at(data, pos):
    """Four bytes, little-endian, unsigned."""
    return int.from_bytes(data[pos : pos + 4], "little")


def long_at(data, pos):
    """Eight bytes, little-endian, signed."""
    return int.from_bytes(data[pos : pos + 8], "little", signed=True)


# --- the same for functions that hand their buffers on; compiled, they take pointers


def place(view):
    return view


def from_long(view, at):
    """What begins there."""
    return view[at:]


room = longs = steps = words = place
from_byte = from_long
copy_raw = copy
same_raw = same
ascii_raw = is_ascii
word_raw = word_at
prefetch_raw = prefetch
put_short_raw = put_short
put_long_raw = put_long
long_raw = long_at


def big_raw(data, pos):
    """Eight bytes, big-endian, unsigned."""
    return int.from_bytes(data[pos : pos + 8], "big")


def utf8_raw(data, pos, size):
    """Whether these bytes are UTF-8; they may be none."""
    try:
        bytes(data[pos : pos + size]).decode()
    except UnicodeDecodeError:
        return False
    return True


def copy_near(target, at, target_end, data, pos, end, size):
    """Copy bytes, perhaps none. ``target_end`` and ``end`` are where the two end: up to there, what follows is free to be
    written over, and to be read."""
    target[at : at + size] = data[pos : pos + size]


def put_word_raw(target, at, number):
    """The low four bytes of a number, least significant first."""
    target[at : at + 4] = (number & 0xFFFFFFFF).to_bytes(4, "little")


def short_raw(data, pos):
    return int.from_bytes(data[pos : pos + 2], "little")


def big_number(data, pos, size, limit):
    """The number that 1 to 8 bytes make, the highest first. ``limit`` is where the data end."""
    if limit - pos >= 8:
        return big_raw(data, pos) >> 8 * (8 - size)
    number = 0
    for k in range(size):
        number = number << 8 | data[pos + k]
    return number


def little_number(data, pos, size, limit):
    """The number that 1 to 8 bytes make, the lowest first. ``limit`` is where the data end."""
    if limit - pos >= 8:
        ones = 0xFFFFFFFFFFFFFFFF
        return long_raw(data, pos) & ones >> 8 * (8 - size)
    number = 0
    for k in range(size - 1, -1, -1):
        number = number << 8 | data[pos + k]
    return number


# --- text: each gives where it ends; callers have checked the room


def put_number(out, at, number, least):
    """A number of 64 bits, taken as unsigned, with at least so many digits."""
    text = str(number & (1 << 64) - 1).rjust(least, "0").encode()
    out[at : at + len(text)] = text
    return at + len(text)


def put_negative(out, at, number):
    """A number below 0."""
    text = str(number).encode()
    out[at : at + len(text)] = text
    return at + len(text)


def plain(data, pos, size, quote):
    """How many of these bytes, from the first, are no control characters and, unless ``quote`` is 0, neither that nor
    a backslash."""
    for i in range(size):
        byte = data[pos + i]
        if byte < 32 or (quote and (byte == quote or byte == 92)):
            return i
    return size


def put_base64(out, at, data, pos, size):
    """Lines of 57 bytes, each with its line break: 78 letters at most."""
    for start in range(pos, pos + size, 57):
        line = binascii.b2a_base64(data[start : min(start + 57, pos + size)])
        out[at : at + len(line)] = line
        at += len(line)
    return at


def put_float(out, at, bits, form):
    """A finite number as C prints it: form 0 "%-20g" of four bytes, 1 "%-.20g" of eight, 2 "%.5e" of four. At most 40
    letters. -1 if it cannot be done."""
    value = struct.unpack_from("<d" if form == 1 else "<f", (bits & (1 << 64) - 1).to_bytes(8, "little"))
    text = (("%-20g", "%-.20g", "%.5e")[form] % value).encode()
    out[at : at + len(text)] = text
    return at + len(text)


def put_json_double(out, at, bits):
    """A finite number of eight bytes as MySQL's JSON prints it, with the fewest digits: at most 40 letters."""
    text = double_text(struct.unpack("<d", (bits & (1 << 64) - 1).to_bytes(8, "little"))[0]).encode()
    out[at : at + len(text)] = text
    return at + len(text)
