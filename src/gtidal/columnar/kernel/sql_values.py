"""SQL values inside VARIANT: the opaque values of JSON documents (DECIMAL, DATE, DATETIME, TIME) and geometries.

What is rare is not ours: decimals above 38 digits and dates that the calendar does not have, both text in VARIANT,
and opaque values of any other type.
"""

import gtidal.columnar.kernel.machine as machine

# Numbers of more than 31 bits; their C types are in the .pxd.
LOW_HALF = 0xFFFFFFFF
LEAST = -((1 << 63) - 1)


def put(value, at, number, size):
    """The low bytes of a number, least significant first."""
    for i in range(size):
        value[at + i] = number >> 8 * i & 255


def put_digits(value, at, number, digits):
    """A number with leading zeros."""
    for i in range(digits):
        value[at + digits - 1 - i] = 48 + number % 10
        number //= 10
    return at + digits


def days_in(year, month):
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month == 4 or month == 6 or month == 9 or month == 11 else 31


def epoch_day(year, month, day):
    """Days since 1970-01-01. Years begin in March here, so that the leap day is the last."""
    if month <= 2:
        year -= 1
        month += 12
    return year * 365 + year // 4 - year // 100 + year // 400 + (153 * month - 457) // 5 + day - 719469


def put_moment(value, at, kind, packed):
    """An opaque DATE (kind 10) or DATETIME; -2 if the calendar has no such day: its text is the reference's."""
    month = (packed >> 46) % 13
    year = (packed >> 46) // 13
    day = packed >> 41 & 31
    if year < 1 or year > 9999 or month < 1 or day < 1 or day > days_in(year, month):
        return -2
    day = epoch_day(year, month, day)
    if kind == 10:
        value[at] = 44
        put(value, at + 1, day, 4)
        return at + 5
    hour = packed >> 36 & 31
    minute = packed >> 30 & 63
    second = packed >> 24 & 63
    micro = packed & 16777215
    if hour > 23 or minute > 59 or second > 59 or micro > 999999:
        return -2
    value[at] = 52
    put(value, at + 1, (((day * 24 + hour) * 60 + minute) * 60 + second) * 1000000 + micro, 8)
    return at + 9


def put_time(value, at, packed):
    """An opaque TIME: text, hh:mm:ss and six digits; the hour with as many digits as it has."""
    head = at
    at += 1
    if packed < 0:
        value[at] = 45
        at += 1
        packed = -packed
    digits = 2
    rest = (packed >> 36) // 100
    while rest > 0:
        digits += 1
        rest //= 10
    at = put_digits(value, at, packed >> 36, digits)
    value[at] = 58
    at = put_digits(value, at + 1, packed >> 30 & 63, 2)
    value[at] = 58
    at = put_digits(value, at + 1, packed >> 24 & 63, 2)
    value[at] = 46
    micro = packed & 16777215
    while micro > 999999:  # more than six digits are cut
        micro //= 10
    at = put_digits(value, at + 1, micro, 6)
    value[head] = at - head - 1 << 2 | 1
    return at


def put_decimal(data, start, size, value, at):
    """An opaque DECIMAL: precision, scale, then groups of up to nine digits. -2 if it is none, or above 38 digits
    (its text is the reference's)."""
    if size < 2:
        return -2
    precision = data[start]
    scale = data[start + 1]
    if precision < 1 or precision > 38 or scale > precision:
        return -2
    whole = precision - scale
    pos = start + 2
    end = start + size
    if pos >= end:
        return -2
    flip = 0 if data[pos] & 128 else 255  # negative: every bit is inverted
    lead = 128  # the first bit is the sign
    limb0 = limb1 = limb2 = limb3 = 0  # 32 bits each
    while whole + scale > 0:
        if whole > 0:
            digits = 9 if whole % 9 == 0 else whole % 9
            whole -= digits
        else:
            digits = 9 if scale > 9 else scale
            scale -= digits
        length = 4 if digits == 9 else (digits + 1) // 2
        if length > end - pos:
            return -2
        number = 0
        for i in range(length):
            number = number << 8 | data[pos + i] ^ flip ^ lead
            lead = 0
        pos += length
        limit = 1
        for _ in range(digits):
            limit *= 10
        if number >= limit:
            return -2
        limb0 = limb0 * limit + number
        limb1 = limb1 * limit + (limb0 >> 32)
        limb2 = limb2 * limit + (limb1 >> 32)
        limb3 = limb3 * limit + (limb2 >> 32)
        limb0 &= LOW_HALF
        limb1 &= LOW_HALF
        limb2 &= LOW_HALF
    if pos != end:
        return -2
    if flip:  # two's complement, limb by limb
        limb0 = (limb0 ^ LOW_HALF) + 1
        limb1 = (limb1 ^ LOW_HALF) + (limb0 >> 32)
        limb2 = (limb2 ^ LOW_HALF) + (limb1 >> 32)
        limb3 = (limb3 ^ LOW_HALF) + (limb2 >> 32)
    value[at] = 32 if precision <= 9 else 36 if precision <= 18 else 40
    value[at + 1] = data[start + 1]
    put(value, at + 2, limb0, 4)
    if precision <= 9:
        return at + 6
    put(value, at + 6, limb1, 4)
    if precision <= 18:
        return at + 10
    put(value, at + 10, limb2, 4)
    put(value, at + 14, limb3, 4)
    return at + 18


def put_opaque(data, kind, start, size, value, at):
    """Writes the value of SQL type ``kind`` in data[start : start + size] at ``at``, where at least 32 bytes are left.
    Gives where it ends; -2 if it is not ours."""
    if kind == 246:
        return put_decimal(data, start, size, value, at)
    if size != 8:
        return -2
    packed = machine.long_raw(data, start)
    if kind == 11:
        return put_time(value, at, packed) if packed >= LEAST else -2
    if (kind == 10 or kind == 12 or kind == 7) and packed >= 0:
        return put_moment(value, at, kind, packed)
    return -2


def put_geometry(data, start, size, value, at, srid_id, wkb_id, id_size):
    """An object: srid (null where there is none) and wkb."""
    srid_size = 9 if size >= 4 else 1
    skipped = 4 if size >= 4 else 0
    offset_size = 1 if size < 242 else 2 if size < 65522 else 4  # the data is at most 14 bytes longer
    value[at] = (id_size - 1 << 2 | offset_size - 1) << 2 | 2
    value[at + 1] = 2
    at += 2
    put(value, at, srid_id, id_size)
    put(value, at + id_size, wkb_id, id_size)
    at += 2 * id_size
    put(value, at, 0, offset_size)
    put(value, at + offset_size, srid_size, offset_size)
    put(value, at + 2 * offset_size, srid_size + 5 + size - skipped, offset_size)
    at += 3 * offset_size
    value[at] = 0
    if skipped:
        value[at] = 24
        put(value, at + 1, machine.word_raw(data, start), 8)
    at += srid_size
    value[at] = 60
    put(value, at + 1, size - skipped, 4)
    if size > skipped:
        machine.copy_raw(value, at + 5, data, start + skipped, size - skipped)
    return at + 5 + size - skipped
