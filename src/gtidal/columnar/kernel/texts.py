"""Cells that are text, or become text: settled before rows are written or lanes gathered.

Text that is UTF-8 as it lies in the log stays there. What must be converted goes to the heap: single-byte charsets
(by tables), padded BINARY, times, dates that are none, and decimals above 38 digits.
"""

import gtidal.columnar.kernel.machine as machine

try:
    import cython
except ImportError:  # it is needed to compile only
    import gtidal.columnar.kernel.without_cython as cython

# A number of more than 31 bits; its C type is in the .pxd.
LOW_HALF = 0xFFFFFFFF


def keeps_ascii(tables, table):
    """Whether a charset's ASCII is ASCII."""
    for code in range(128):
        if tables[256 * table + code] != code:
            return 0
    return 1


def convert(data, start, size, tables, table, heap, at):
    """Writes UTF-8; gives where it ends, or -1 if a byte has no character."""
    for i in range(size):
        byte = data[start + i]  # widened before it is added
        code = tables[256 * table + byte]
        if code < 0 or code > 65535:
            return -1
        if code < 128:
            heap[at] = code
            at += 1
        elif code < 2048:
            heap[at] = 192 | code >> 6
            heap[at + 1] = 128 | code & 63
            at += 2
        else:
            heap[at] = 224 | code >> 12
            heap[at + 1] = 128 | code >> 6 & 63
            heap[at + 2] = 128 | code & 63
            at += 3
    return at


def pad(data, start, size, heap, at, length):
    for i in range(size):
        heap[at + i] = data[start + i]
    for i in range(size, length):
        heap[at + i] = 0
    return at + length


def put_digits(heap, at, number, digits):
    """A number with leading zeros, so many digits."""
    for i in range(digits):
        heap[at + digits - 1 - i] = 48 + number % 10
        number //= 10
    return at + digits


def put_number(heap, at, number, least):
    """A number with at least so many digits."""
    digits = least
    rest = number
    for _ in range(least):
        rest //= 10
    while rest > 0:
        digits += 1
        rest //= 10
    return put_digits(heap, at, number, digits)


def put_clock(heap, at, hour, minute, second, micro, digits):
    """hh:mm:ss and a fraction of so many digits, cut."""
    at = put_number(heap, at, hour, 2)
    heap[at] = 58
    at = put_digits(heap, at + 1, minute, 2)
    heap[at] = 58
    at = put_digits(heap, at + 1, second, 2)
    if digits > 0:
        while micro > 999999:  # only in damaged values; the first digits count
            micro //= 10
        for _ in range(digits, 6):
            micro //= 10
        heap[at] = 46
        at = put_digits(heap, at + 1, micro, digits)
    return at


def put_date(heap, at, year, month, day):
    at = put_number(heap, at, year, 4)
    heap[at] = 45
    at = put_digits(heap, at + 1, month, 2)
    heap[at] = 45
    return put_digits(heap, at + 1, day, 2)


def put_time(heap, at, micros, digits):
    if micros < 0:
        heap[at] = 45
        at += 1
        micros = -micros
    seconds = micros // 1000000
    minutes = seconds // 60
    return put_clock(heap, at, minutes // 60, minutes % 60, seconds % 60, micros % 1000000, digits)


def put_decimal(data, start, size, precision, scale, heap, at):
    """The text of a stored DECIMAL, or -1. Groups of up to nine digits lie most significant first; a negative number
    has every bit inverted."""
    whole = precision - scale
    if size < 1 or whole < 0:
        return -1
    flip = 0 if data[start] & 128 else 255
    lead = 128  # the first bit is the sign
    if flip:
        heap[at] = 45
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
            return -1
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
            return -1
        if whole > 0:
            whole -= digits
            if begun:
                at = put_digits(heap, at, number, digits)
            elif number > 0:
                at = put_number(heap, at, number, 1)
                begun = 1
        else:
            if begun < 2:
                if begun == 0:
                    heap[at] = 48
                    at += 1
                heap[at] = 46
                at += 1
                begun = 2
            scale -= digits
            at = put_digits(heap, at, number, digits)
    if begun == 0:
        heap[at] = 48
        at += 1
    return at if pos == end else -1


def room_for(action, argument):
    """The most bytes of the heap that a cell takes; of TABLE it is three times its size."""
    if action == 5:  # PAD
        return argument
    if action >= 6:  # TIME, DATE, DATETIME; DECIMAL
        return 96 if action == 9 else 32
    return 0


def settle(
    data, heap, slots, states, image_cell, image_plan, images, plan_first, plan_width, slot, text_action, text_arg,
    tables, progress
):  # fmt: skip
    """Settles the images from progress[0] on; progress[1] is how much of the heap is used. Codes: 0 all done; 1 the
    heap is full (nothing of this image is done); 2 this image is not ours."""
    with cython.nogil:
        image = progress[0]
        used = progress[1]
        known = -1  # the plan that first, last, most and by_table are about
        first = 0
        last = 0
        most = 0
        by_table = 0
        table = -1  # the table that plain is about
        plain = 0
        while image < images:
            progress[0] = image
            progress[1] = used
            if image_plan[image] != known:
                known = image_plan[image]
                first = plan_first[known]
                last = first + plan_width[known]
                while first < last and text_action[first] == 0:
                    first += 1
                while first < last and text_action[last - 1] == 0:
                    last -= 1
                most = 0
                by_table = 0
                for column in range(first, last):
                    most += room_for(text_action[column], text_arg[column])
                    if text_action[column] == 2:  # TABLE
                        by_table = 1
            if first < last and image + 4 < images and image_plan[image + 4] == known:
                machine.prefetch(data, slots[image_cell[image + 4] + slot[first]] & LOW_HALF)
            cells = image_cell[image]
            room = most
            if by_table:
                for column in range(first, last):
                    cell = cells + slot[column]
                    if text_action[column] == 2 and states[cell] == 0:
                        room += 3 * (slots[cell] >> 32)
            if room > len(heap) - used:
                return 1
            for column in range(first, last):
                action = text_action[column]
                cell = cells + slot[column]
                state = states[cell]
                if action == 0 or state == 1 or state == 2:
                    continue
                value = slots[cell]
                if action == 7 or action == 8:  # DATE, DATETIME: only what is none
                    if state == 0:
                        continue
                    if state != 3:
                        return 2
                    if action == 7:
                        at = put_date(heap, used, value >> 9, value >> 5 & 15, value & 31)
                    else:
                        at = put_date(heap, used, (value >> 46) // 13, (value >> 46) % 13, value >> 41 & 31)
                        heap[at] = 32
                        at = put_clock(
                            heap, at + 1, value >> 36 & 31, value >> 30 & 63, value >> 24 & 63, value & 16777215,
                            text_arg[column],
                        )  # fmt: skip
                    states[cell] = 4  # HEAP
                    slots[cell] = used | at - used << 32
                    used = at
                    continue
                if state != 0:
                    return 2
                if action == 6:  # TIME
                    at = put_time(heap, used, value, text_arg[column])
                    states[cell] = 4  # HEAP
                    slots[cell] = used | at - used << 32
                    used = at
                    continue
                start = value & LOW_HALF
                size = value >> 32
                if size > len(data) - start:
                    return 2
                if action == 1:  # UTF8
                    if not machine.utf8_raw(machine.place(data), start, size):
                        states[cell] = 5  # RAW
                elif action == 2:  # TABLE
                    if text_arg[column] != table:
                        table = text_arg[column]
                        plain = keeps_ascii(tables, table)
                    if plain and machine.is_ascii(data, start, size):
                        continue
                    at = convert(data, start, size, tables, table, heap, used)
                    if at < 0:
                        states[cell] = 5  # RAW
                        continue
                    states[cell] = 4  # HEAP
                    slots[cell] = used | at - used << 32
                    used = at
                elif action == 3:  # ASCII
                    if not machine.is_ascii(data, start, size):
                        return 2
                elif action == 5:  # PAD
                    if size < text_arg[column]:
                        at = pad(data, start, size, heap, used, text_arg[column])
                        states[cell] = 6  # HEAP_BYTES
                        slots[cell] = used | at - used << 32
                        used = at
                elif action == 9:  # DECIMAL
                    at = put_decimal(
                        data, start, size, text_arg[column] >> 8, text_arg[column] & 255, heap, used
                    )
                    if at < 0:
                        return 2
                    states[cell] = 4  # HEAP
                    slots[cell] = used | at - used << 32
                    used = at
                else:  # FOREIGN
                    return 2
            image += 1
        progress[0] = image
        progress[1] = used
        return 0
