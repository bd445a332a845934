"""Row images as the comments of mysqlbinlog -v, straight from their bytes.

``steps`` holds ten numbers for each column that an image holds: 0 the kind of text, 1 bytes of the value or of its
length, 2 and 3 arguments, 4 and 5 start and size (in ``texts``) of what comes before the value, 6 and 7 of what
follows, 8 and 9 of the whole line for NULL. ``images`` holds eight for each set of columns: 0 the first step, 1 how
many, 2 bytes of the null bitmap, 3 whether all can be printed here; the rest is ``judging``'s.

Kinds (``text.row_plans.TextKind``): 1 integer, 2 float, 3 string in quotes, 4 decimal, 5 bits, 6 year, 7 date,
8 time of three bytes, 9 datetime of eight, 10 seconds of four, 11 packed seconds, 12 packed datetime, 13 packed time,
14 unsigned number, 15 set, 16 JSON, 17 vector.

Negative results: -1 there is no room, -2 a value that is not ours. ``work``: 0 and 1 are JSON's, 2 is where the bytes
read end, 3 where the whole rows written end, 4 how many they are.
"""

import gtidal.columnar.kernel.jsontext as jsontext
import gtidal.columnar.kernel.machine as machine

try:
    import cython
except ImportError:  # it is needed to compile only
    import gtidal.columnar.kernel.without_cython as cython

# Numbers of 64 bits; their C types are in the .pxd.
ONE = 1
DATETIME_SIGN = 1 << 39
TIME_SIGN = 1 << 23


def put_quoted(data, start, size, quote, out, at, room):
    """In single quotes. ``quote`` 39: quotes, backslashes and the usual control characters as in SQL; 0: control
    characters alone, by their numbers."""
    if room - at < 16:
        return -1
    out[at] = 39
    at += 1
    pos = start
    end = start + size
    while pos < end:
        run = machine.plain(data, pos, end - pos, quote)
        if run + 16 > room - at:
            return -1
        if run:
            machine.copy(out, at, data, pos, run)
            at += run
            pos += run
            if pos >= end:
                break
        byte = data[pos]
        pos += 1
        out[at] = 92
        at += 1
        if quote and byte >= 32:
            out[at] = byte
        elif quote and byte == 8:
            out[at] = 98
        elif quote and byte == 9:
            out[at] = 116
        elif quote and byte == 10:
            out[at] = 110
        elif quote and byte == 12:
            out[at] = 102
        elif quote and byte == 13:
            out[at] = 114
        else:
            out[at] = 120
            out[at + 1] = 48 + (byte >> 4)
            out[at + 2] = 48 + (byte & 15) if byte & 15 < 10 else 87 + (byte & 15)
            at += 2
        at += 1
    out[at] = 39
    return at + 1


def put_signed(out, at, number, size):
    """A number; of a negative one the unsigned reading too."""
    if number >= 0:
        return machine.put_number(out, at, number, 1)
    at = machine.put_negative(out, at, number)
    out[at] = 32
    out[at + 1] = 40
    if size < 8:
        number += ONE << 8 * size
    at = machine.put_number(out, at + 2, number, 1)
    out[at] = 41
    return at + 1


def put_bits(out, at, number, count):
    """Binary digits, the highest first."""
    for i in range(count):
        out[at + i] = 48 + (number >> count - 1 - i & 1)
    return at + count


def put_fraction(out, at, raw, digits):
    """What follows the second: stored with an even number of digits."""
    if digits:
        if digits & 1:
            raw //= 10
        out[at] = 46
        at = machine.put_number(out, at + 1, raw, digits)
    return at


def put_clock(out, at, hour, minute, second):
    at = machine.put_number(out, at, hour, 2)
    out[at] = 58
    at = machine.put_number(out, at + 1, minute, 2)
    out[at] = 58
    return machine.put_number(out, at + 1, second, 2)


def put_date(out, at, year, month, day, mark):
    at = machine.put_number(out, at, year, 4)
    out[at] = mark
    at = machine.put_number(out, at + 1, month, 2)
    out[at] = mark
    return machine.put_number(out, at + 1, day, 2)


def little(data, pos, size):
    """A number of up to eight bytes, least significant first."""
    if size == 4:
        return machine.word_at(data, pos)
    if size == 8:
        return machine.long_at(data, pos)
    number = 0
    for i in range(size):
        byte = data[pos + i]
        number |= byte << 8 * i
    return number


def big(data, pos, size):
    """The same, most significant first."""
    number = 0
    for i in range(size):
        byte = data[pos + i]
        number = number << 8 | byte
    return number


def put_temporal(kind, number, fraction, digits, argument, out, at):
    """Dates and times, from the stored number (without the fraction's bytes)."""
    if kind == 7:
        if number >> 9 > 9999:
            return -2
        out[at] = 39
        at = put_date(out, at + 1, number >> 9, number >> 5 & 15, number & 31, 58)
        out[at] = 39
        return at + 1
    if kind == 8:
        out[at] = 39
        at += 1
        if argument and number >> 23:
            out[at] = 45
            at += 1
            number = 16777216 - number
        at = put_clock(out, at, number // 10000, number // 100 % 100, number % 100)
        out[at] = 39
        return at + 1
    if kind == 9:
        if number < 0:
            return -2
        if argument:
            out[at] = 39
            at += 1
        day = number // 1000000
        number = number % 1000000
        at = put_date(out, at, day // 10000, day // 100 % 100, day % 100, 45)
        out[at] = 32
        at = put_clock(out, at + 1, number // 10000, number // 100 % 100, number % 100)
        if argument:
            out[at] = 39
            at += 1
        return at
    if kind == 12:
        number -= DATETIME_SIGN
        if number < 0:
            return -2
        out[at] = 39
        at = put_date(out, at + 1, (number >> 22) // 13, (number >> 22) % 13, number >> 17 & 31, 45)
        out[at] = 32
        at = put_clock(out, at + 1, number >> 12 & 31, number >> 6 & 63, number & 63)
        at = put_fraction(out, at, fraction, digits)
        out[at] = 39
        return at + 1
    # 13: the whole, with the fraction, is negated if it is negative
    bits = (digits + 1) // 2 * 8
    number = (number << bits | fraction) - (TIME_SIGN << bits)
    out[at] = 39
    at += 1
    if number < 0:
        out[at] = 45
        at += 1
        number = -number
    fraction = number & (ONE << bits) - 1
    number >>= bits
    at = put_clock(out, at, number >> 12, number >> 6 & 63, number & 63)
    at = put_fraction(out, at, fraction, digits)
    out[at] = 39
    return at + 1


def put_vector(data, start, size, out, at, room):
    count = size // 4
    out[at] = 91
    at += 1
    for i in range(count):
        if room - at < 64:
            return -1
        if i:
            out[at] = 44
            at += 1
        bits = machine.word_at(data, start + 4 * i)
        if bits >> 23 & 255 == 255:
            return -2
        at = machine.put_float(out, at, bits, 2)
        if at < 0:
            return -2
    if count:
        out[at] = 93
        at += 1
    return at


def put_fixed(data, pos, kind, size, argument1, argument2, out, at):
    """A value of a known size, all of whose bytes are there: 160 letters at most."""
    if kind == 1:
        number = little(data, pos, size)
        if size < 8 and number >> 8 * size - 1:
            number -= ONE << 8 * size
        return put_signed(out, at, number, size)
    if kind == 2:
        number = little(data, pos, size)
        if size == 8:
            if number >> 52 & 2047 == 2047:
                return -2
        elif number >> 23 & 255 == 255:
            return -2
        at = machine.put_float(out, at, number, 1 if size == 8 else 0)
        return at if at >= 0 else -2
    if kind == 4:
        return jsontext.put_decimal(data, pos, size, argument1, argument2, out, at)
    if kind == 5:
        out[at] = 98
        out[at + 1] = 39
        at = put_bits(out, at + 2, data[pos], argument1 - 8 * (size - 1))
        for i in range(1, size):
            at = put_bits(out, at, data[pos + i], 8)
        out[at] = 39
        return at + 1
    if kind == 6:
        number = data[pos]
        return machine.put_number(out, at, number + 1900, 1)
    if kind == 10:
        number = machine.word_at(data, pos)
        if number >> 31:
            return machine.put_negative(out, at, number - (ONE << 32))
        return machine.put_number(out, at, number, 1)
    if kind == 11:
        at = machine.put_number(out, at, big(data, pos, 4), 1)
        return put_fraction(out, at, big(data, pos + 4, size - 4), argument1)
    if kind == 14:
        return machine.put_number(out, at, little(data, pos, size), 1)
    if kind == 15:
        out[at] = 98
        out[at + 1] = 39
        at += 2
        for i in range(size):
            at = put_bits(out, at, data[pos + i], 8)
        out[at] = 39
        return at + 1
    if kind == 12:
        return put_temporal(kind, big(data, pos, 5), big(data, pos + 5, size - 5), argument1, 0, out, at)
    if kind == 13:
        return put_temporal(kind, big(data, pos, 3), big(data, pos + 3, size - 3), argument1, 0, out, at)
    return put_temporal(kind, little(data, pos, size), 0, 0, argument1, out, at)


def put_image(data, pos, end, image, images, steps, texts, scratch, out, at, work):
    """The lines of one image."""
    room = out.shape[0]
    first = images[8 * image]
    count = images[8 * image + 1]
    nulls = pos
    size = images[8 * image + 2]
    if size > end - pos:
        return -2
    pos += size
    for i in range(count):
        step = 10 * (first + i)
        if data[nulls + (i >> 3)] >> (i & 7) & 1:
            size = steps[step + 9]
            if size > room - at:
                return -1
            machine.copy(out, at, texts, steps[step + 8], size)
            at += size
            continue
        size = steps[step + 5]
        after = steps[step + 7]
        if size + after + 192 > room - at:
            return -1
        machine.copy(out, at, texts, steps[step + 4], size)
        at += size
        kind = steps[step]
        size = steps[step + 1]
        if size > end - pos:
            return -2
        if kind == 3 or kind >= 16:  # a length, then so many bytes
            length = little(data, pos, size)
            pos += size
            if length > end - pos:
                return -2
            if kind == 3:
                at = put_quoted(data, pos, length, steps[step + 2], out, at, room)
            elif kind == 16:
                size = jsontext.put_document(data, pos, length, scratch, 0, scratch.shape[0], work)
                if size < 0:
                    return size
                at = put_quoted(scratch, 0, size, 39, out, at, room)
            else:
                at = put_vector(data, pos, length, out, at, room)
            pos += length
        else:
            at = put_fixed(data, pos, kind, size, steps[step + 2], steps[step + 3], out, at)
            pos += size
        if at < 0:
            return at
        if after > room - at:
            return -1
        machine.copy(out, at, texts, steps[step + 6], after)
        at += after
    work[2] = pos
    return at


def put_rows(
    data, pos, end, before, after, head, head_size, between, between_size, images, steps, texts, scratch, out, at, work
):  # fmt: skip
    """The rows from ``pos`` on; ``before`` or ``after`` is -1 where there is no such image. Each begins with the text
    at ``head``, and the second image of a row with that at ``between``. 0 or a negative result; what was done of
    whole rows stands in ``work``."""
    room = out.shape[0]
    work[2] = pos
    work[3] = at
    work[4] = 0
    while pos < end:
        if head_size + between_size > room - at:
            return -1
        machine.copy(out, at, texts, head, head_size)
        at += head_size
        start = pos
        if before >= 0:
            at = put_image(data, pos, end, before, images, steps, texts, scratch, out, at, work)
            if at < 0:
                work[2] = start
                return at
            pos = work[2]
        if after >= 0:
            if before >= 0:
                if between_size > room - at:
                    work[2] = start
                    return -1
                machine.copy(out, at, texts, between, between_size)
                at += between_size
            at = put_image(data, pos, end, after, images, steps, texts, scratch, out, at, work)
            if at < 0:
                work[2] = start
                return at
            pos = work[2]
        if pos == start:
            return -2
        work[2] = pos
        work[3] = at
        work[4] += 1
    return 0


def write_rows(
    data, pos, end, before, after, head, head_size, between, between_size, images, steps, texts, scratch, out, work
):  # fmt: skip
    """``put_rows`` into an empty buffer."""
    with cython.nogil:
        return put_rows(
            data, pos, end, before, after, head, head_size, between, between_size, images, steps, texts, scratch,
            out, 0, work,
        )  # fmt: skip
