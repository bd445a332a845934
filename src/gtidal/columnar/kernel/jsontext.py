"""MySQL's binary JSON as the text that the server prints, straight from a document's bytes.

What is rare or wrong is not ours (-2): a document that is damaged in any way, keys out of order, numbers that are
none, and opaque values other than decimals, dates, times and strings. -1: no room. ``budget[0]`` is what is left of
the document's size: entries and strings of a real document do not overlap, and a hostile one is not followed
further.
"""

import gtidal.columnar.kernel.machine as machine

# A number of more than 31 bits; its C type is in the .pxd.
LEAST = -((1 << 63) - 1)


def read(data, pos, size):
    """A number of two or four bytes, least significant first."""
    if size == 2:
        return data[pos] | data[pos + 1] << 8
    return machine.word_at(data, pos)


def put_word(out, at, word):
    """Up to eight letters, the first in the lowest byte."""
    while word > 0:
        out[at] = word & 255
        word >>= 8
        at += 1
    return at


def put_decimal(data, start, size, precision, scale, out, at):
    """The text of a stored DECIMAL (100 letters at most), or -2. Groups of up to nine digits lie most significant
    first; a negative number has every bit inverted."""
    whole = precision - scale
    if size < 1 or whole < 0 or precision < 1 or precision > 81:
        return -2
    flip = 0 if data[start] & 128 else 255
    lead = 128  # the first bit is the sign
    if flip:
        out[at] = 45
        at += 1
    pos = start
    end = start + size
    begun = 0
    while whole > 0 or scale > 0:
        if whole > 0:
            digits = 9 if whole % 9 == 0 else whole % 9
        else:
            digits = 9 if scale > 9 else scale
        length = 4 if digits == 9 else (digits + 1) // 2
        if length > end - pos:
            return -2
        number = 0
        for i in range(length):
            byte = data[pos + i]
            number = number << 8 | byte ^ flip ^ lead
            lead = 0
        pos += length
        limit = 1
        for _ in range(digits):
            limit *= 10
        if number >= limit:
            return -2
        if whole > 0:
            whole -= digits
            if begun:
                at = machine.put_number(out, at, number, digits)
            elif number > 0:
                at = machine.put_number(out, at, number, 1)
                begun = 1
        else:
            if begun < 2:
                if begun == 0:
                    out[at] = 48
                    at += 1
                out[at] = 46
                at += 1
                begun = 2
            scale -= digits
            at = machine.put_number(out, at, number, digits)
    if begun == 0:
        out[at] = 48
        at += 1
    return at if pos == end else -2


def put_clock(out, at, hour, packed):
    """hh:mm:ss and six digits."""
    at = machine.put_number(out, at, hour, 2)
    out[at] = 58
    at = machine.put_number(out, at + 1, packed >> 30 & 63, 2)
    out[at] = 58
    at = machine.put_number(out, at + 1, packed >> 24 & 63, 2)
    out[at] = 46
    return machine.put_number(out, at + 1, packed & 16777215, 6)


def put_moment(out, at, kind, packed):
    """A TIME (kind 11), DATE (10) or DATETIME; -2 if it is odd."""
    if packed < 0:
        if kind != 11:
            return -2
        out[at] = 45
        at += 1
        packed = -packed
    if packed & 16777215 > 999999:
        return -2
    if kind == 11:
        return put_clock(out, at, packed >> 36, packed)
    at = machine.put_number(out, at, (packed >> 46) // 13, 4)
    out[at] = 45
    at = machine.put_number(out, at + 1, (packed >> 46) % 13, 2)
    out[at] = 45
    at = machine.put_number(out, at + 1, packed >> 41 & 31, 2)
    if kind == 10:
        return at
    out[at] = 32
    return put_clock(out, at + 1, packed >> 36 & 31, packed)


def put_string(data, start, size, out, at, room):
    """Between quotes; only quotes, backslashes and control characters are escaped."""
    if 6 * size + 2 > room - at:
        return -1
    out[at] = 34
    at += 1
    pos = start
    end = start + size
    while pos < end:
        run = machine.plain(data, pos, end - pos, 34)
        if run:
            machine.copy(out, at, data, pos, run)
            at += run
            pos += run
            if pos >= end:
                break
        byte = data[pos]
        pos += 1
        out[at] = 92
        if byte == 34 or byte == 92:
            out[at + 1] = byte
            at += 2
        elif byte == 8:
            out[at + 1] = 98
            at += 2
        elif byte == 9:
            out[at + 1] = 116
            at += 2
        elif byte == 10:
            out[at + 1] = 110
            at += 2
        elif byte == 12:
            out[at + 1] = 102
            at += 2
        elif byte == 13:
            out[at + 1] = 114
            at += 2
        else:
            out[at + 1] = 117
            out[at + 2] = 48
            out[at + 3] = 48
            out[at + 4] = 48 + (byte >> 4)
            out[at + 5] = 48 + (byte & 15) if byte & 15 < 10 else 87 + (byte & 15)
            at += 6
    out[at] = 34
    return at + 1


def counted(data, pos, end, budget):
    """Where the bytes begin that lie behind a length of seven bits per byte; their size is left in ``budget[1]``."""
    size = 0
    shift = 0
    while True:
        if pos >= end or shift > 28:
            return -2
        byte = data[pos]  # widened before it is shifted
        pos += 1
        size |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            break
    if size > end - pos:
        return -2
    budget[0] -= size
    budget[1] = size
    return pos if budget[0] >= 0 else -2


def put_opaque(data, start, end, depth, out, at, room, budget):
    """An SQL value. A string, a date or a time that is the whole document has no quotes."""
    if start >= end:
        return -2
    kind = data[start]
    pos = counted(data, start + 1, end, budget)
    if pos < 0:
        return -2
    size = budget[1]
    if room - at < 128:
        return -1
    if kind == 246:
        if size < 3:
            return -2
        return put_decimal(data, pos + 2, size - 2, data[pos], data[pos + 1], out, at)
    if kind == 253:
        if depth:
            return put_string(data, pos, size, out, at, room)
        return put_bytes(data, pos, size, out, at, room)
    if size != 8 or (kind != 7 and (kind < 10 or kind > 12)):
        return -2
    packed = machine.long_at(data, pos)
    if packed < LEAST:
        return -2
    if depth:
        out[at] = 34
        at += 1
    at = put_moment(out, at, kind, packed)
    if at >= 0 and depth:
        out[at] = 34
        at += 1
    return at


def put_bytes(data, start, size, out, at, room):
    if size > room - at:
        return -1
    if size:
        machine.copy(out, at, data, start, size)
    return at + size


def put_scalar(data, kind, start, end, depth, out, at, room, budget):
    if kind == 12:
        pos = counted(data, start, end, budget)
        if pos < 0:
            return -2
        if depth:
            return put_string(data, pos, budget[1], out, at, room)
        return put_bytes(data, pos, budget[1], out, at, room)
    if kind == 15:
        return put_opaque(data, start, end, depth, out, at, room, budget)
    if room - at < 64:
        return -1
    if kind == 4:
        if start >= end:
            return -2
        if data[start] == 0:
            return put_word(out, at, 1819047278)  # null
        if data[start] == 1:
            return put_word(out, at, 1702195828)  # true
        if data[start] == 2:
            out[at] = 102
            return put_word(out, at + 1, 1702063201)  # false
        return -2
    if kind == 5 or kind == 6:
        if end - start < 2:
            return -2
        number = read(data, start, 2)
        if kind == 5:
            number = (number ^ 32768) - 32768
    elif kind == 7 or kind == 8:
        if end - start < 4:
            return -2
        number = machine.word_at(data, start)
        if kind == 7:
            number = number - (number >> 31 << 32)
    elif kind == 9 or kind == 10 or kind == 11:
        if end - start < 8:
            return -2
        number = machine.long_at(data, start)
        if kind == 10:
            return machine.put_number(out, at, number, 1)
        if kind == 11:
            if number >> 52 & 2047 == 2047:
                return -2
            return machine.put_json_double(out, at, number)
    else:
        return -2
    if number < 0:
        return machine.put_negative(out, at, number)
    return machine.put_number(out, at, number, 1)


def comes_after(data, start, size, before, before_size):
    """Whether a key comes after another: by length, then by bytes."""
    if size != before_size:
        return 1 if size > before_size else 0
    for i in range(size):
        if data[start + i] != data[before + i]:
            return 1 if data[start + i] > data[before + i] else 0
    return 0


def put_container(data, kind, start, end, depth, out, at, room, budget):
    width = 4 if kind & 1 else 2
    if 2 * width > end - start or depth > 100:
        return -2
    count = read(data, start, width)
    size = read(data, start + width, width)
    if size > end - start:
        return -2
    end = start + size
    values_at = start + 2 * width
    if kind < 2:
        values_at += count * (width + 2)
    first = values_at + count * (width + 1)
    if first > end:
        return -2
    budget[0] -= first - start
    if budget[0] < 0:
        return -2
    if room - at < 16:
        return -1
    out[at] = 123 if kind < 2 else 91
    at += 1
    before = 0
    before_size = -1
    for i in range(count):
        if room - at < 16:
            return -1
        if i:
            out[at] = 44
            out[at + 1] = 32
            at += 2
        if kind < 2:
            entry = start + 2 * width + i * (width + 2)
            key = start + read(data, entry, width)
            length = read(data, entry + width, 2)
            if key < first or length > end - key or not comes_after(data, key, length, before, before_size):
                return -2
            before = key
            before_size = length
            budget[0] -= length
            if budget[0] < 0:
                return -2
            at = put_string(data, key, length, out, at, room)
            if at < 0:
                return at
            if room - at < 16:
                return -1
            out[at] = 58
            out[at + 1] = 32
            at += 2
        entry = values_at + i * (width + 1)
        inner = data[entry]
        if 4 <= inner <= 6 or (width == 4 and 7 <= inner <= 8):  # the value itself
            at = put_scalar(data, inner, entry + 1, entry + 1 + width, depth, out, at, room, budget)
        else:
            pos = start + read(data, entry + 1, width)
            if pos < first or pos > end:
                return -2
            if inner < 4:
                at = put_container(data, inner, pos, end, depth + 1, out, at, room, budget)
            else:
                at = put_scalar(data, inner, pos, end, depth, out, at, room, budget)
        if at < 0:
            return at
    if room - at < 16:
        return -1
    out[at] = 125 if kind < 2 else 93
    return at + 1


def put_document(data, start, size, out, at, room, budget):
    """A column's value. No bytes at all are the null literal."""
    if size == 0:
        if room - at < 4:
            return -1
        return put_word(out, at, 1819047278)
    budget[0] = size
    if data[start] < 4:
        return put_container(data, data[start], start + 1, start + size, 1, out, at, room, budget)
    return put_scalar(data, data[start], start + 1, start + size, 0, out, at, room, budget)
