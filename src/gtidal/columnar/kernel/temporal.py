"""Dates and times of row images.

All that begin with ``read_`` read what lies at ``pos`` into a cell, and give 0, or 2 where it is refused; the year alone is
given. The caller has compared their size with what is there.
"""

import gtidal.columnar.kernel.machine as machine


def fraction_step(extra):
    """The microseconds that a fraction of ``extra`` bytes counts."""
    if extra == 1:
        return 10000
    elif extra == 2:
        return 100
    return 1


def day_number(year, month, day):
    """Days since 1970-01-01; -1000000 for what is no date of the years 1 to 9999. No part is negative."""
    if year < 1 or year > 9999 or month < 1 or month > 12 or day < 1 or day > 31:
        return -1000000
    if day > 28:
        if month == 2:
            if day > 29 or year % 4 or (year % 100 == 0 and year % 400):
                return -1000000
        elif day == 31 and not (month + (month >> 3)) & 1:
            return -1000000
    # Counted from March, so that the leap day is the year's last.
    if month > 2:
        month -= 3
    else:
        month += 9
        year -= 1
    days = 365 * year + year // 4 - year // 100 + year // 400 + (153 * month + 2) // 5 + day
    return days - 719469


def read_year(data, pos):
    year = data[pos]
    return year + 1900 if year else 0


def read_date(data, pos, limit, slots, states, cell):
    """Days since 1970; as they are, in state ZERO, what is no date."""
    number = machine.little_number(data, pos, 3, limit)
    days = day_number(number >> 9, number >> 5 & 15, number & 31)
    if days == -1000000:
        states[cell] = 3  # ZERO
        slots[cell] = number
    else:
        slots[cell] = days
    return 0


def read_time24(data, pos, limit, slots, cell):
    """Microseconds of a time that is written in decimal digits."""
    number = machine.little_number(data, pos, 3, limit)
    negative = number >= 0x800000
    if negative:
        number = 0x1000000 - number
    second = number % 100
    minute = number // 100 % 100
    hour = number // 10000
    if minute > 59 or second > 59:
        return 2
    span = ((hour * 60 + minute) * 60 + second) * 1000000
    slots[cell] = -span if negative else span
    return 0


def read_datetime64(data, pos, limit, slots, states, cell):
    """Microseconds since 1970 of a moment that is written in decimal digits."""
    number = machine.little_number(data, pos, 8, limit)
    second = number % 100
    minute = number // 100 % 100
    hour = number // 10000 % 100
    day = number // 1000000 % 100
    number = number // 100000000
    month = number % 100
    number = number // 100
    if number > 10081:
        return 2
    year = number
    days = day_number(year, month, day)
    if days == -1000000 or hour > 23 or minute > 59 or second > 59:
        if month > 12 or day > 31 or hour > 31 or minute > 63 or second > 63:
            return 2
        span = year * 13 + month
        states[cell] = 3  # ZERO
        slots[cell] = (span << 22 | day << 17 | hour << 12 | minute << 6 | second) << 24
    else:
        span = ((days * 24 + hour) * 60 + minute) * 60 + second
        slots[cell] = span * 1000000
    return 0


def read_epoch32(data, pos, limit, slots, states, cell):
    """Microseconds since 1970, of seconds."""
    span = machine.little_number(data, pos, 4, limit)
    span *= 1000000
    slots[cell] = span
    if span == 0:
        states[cell] = 3  # ZERO
    return 0


def read_epoch(data, pos, size, limit, slots, states, cell):
    """Microseconds since 1970, of 4 bytes of seconds and up to 3 of their fraction."""
    number = machine.big_number(data, pos, size, limit)
    bits = 8 * (size - 4)
    mask = 1
    mask = (mask << bits) - 1
    span = number >> bits
    fraction = number & mask
    span = span * 1000000 + fraction * fraction_step(size - 4)
    slots[cell] = span
    if span == 0:
        states[cell] = 3  # ZERO
    return 0


def read_datetime(data, pos, size, limit, slots, states, cell):
    """Microseconds since 1970, of 5 bytes of bit fields and up to 3 of the fraction."""
    if data[pos] < 128:
        return 2
    bits = 8 * (size - 5)
    number = machine.big_number(data, pos, size, limit)
    mask = 1
    mask = (mask << bits) - 1
    fraction = number & mask
    fraction *= fraction_step(size - 5)
    fields = 0x7FFFFFFFFF  # all but the first bit
    number = number >> bits & fields
    month = number >> 22
    year = month // 13
    month = month % 13
    hour = number >> 12 & 31
    minute = number >> 6 & 63
    second = number & 63
    days = day_number(year, month, number >> 17 & 31)
    if days == -1000000 or hour > 23 or minute > 59 or second > 59 or fraction > 999999:
        states[cell] = 3  # ZERO
        slots[cell] = number << 24 | fraction
    else:
        span = ((days * 24 + hour) * 60 + minute) * 60 + second
        slots[cell] = span * 1000000 + fraction
    return 0


def read_time(data, pos, size, limit, slots, cell):
    """Microseconds, of 3 bytes of bit fields and up to 3 of the fraction, all counted from the middle."""
    bits = 8 * (size - 3)
    number = machine.big_number(data, pos, size, limit)
    sign = 0x800000
    sign = sign << bits
    negative = number < sign
    number = sign - number if negative else number - sign
    mask = 1
    mask = (mask << bits) - 1
    fraction = (number & mask) * fraction_step(size - 3)
    number = number >> bits
    hour = number >> 12
    minute = number >> 6 & 63
    second = number & 63
    if minute > 59 or second > 59 or fraction > 999999:
        return 2
    span = ((hour * 60 + minute) * 60 + second) * 1000000 + fraction
    slots[cell] = -span if negative else span
    return 0
