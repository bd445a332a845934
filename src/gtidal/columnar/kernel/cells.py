"""Row images to cells.

``fill`` reads the row images of many rows events, following the plans of their tables, into flat arrays: a slot and a
state for every column of every image. The steps say where an image's cells lie, and ``plan_slots`` how far the next
image's are: side by side, or those of a column are. ``count`` only walks over the values and counts rows.

Shapes and states are those of ``columnar.codes``, as literals, so that they compile to a jump table. What the
reference decoder refuses is refused here too, and so are a few impossible times that no slot can hold. Codes:

    0 DONE    all events                    2 REFUSED  the event at ``progress[0]`` is for the reference decoder
    1 FULL    call again after draining

Interpreted, the arrays must be memoryviews (or bytes): numpy's numbers wrap where Python's do not.
"""

import gtidal.columnar.kernel.machine as machine
import gtidal.columnar.kernel.temporal as temporal

try:
    import cython
except ImportError:  # it is needed to compile only
    import gtidal.columnar.kernel.without_cython as cython


NO_DECIMAL = -(1 << 62)  # no 18 digits; its C type is in the .pxd


def as_signed(number):
    """The number that has these 64 bits in two's complement."""
    sign = 0x8000000000000000
    return (number ^ sign) - sign


def power_of_ten(digits):
    """10 ** digits, for 1 to 9."""
    if digits == 9:  # noqa: SIM116 (this compiles to a table)
        return 1000000000
    elif digits == 8:
        return 100000000
    elif digits == 7:
        return 10000000
    elif digits == 6:
        return 1000000
    elif digits == 5:
        return 100000
    elif digits == 4:
        return 10000
    elif digits == 3:
        return 1000
    elif digits == 2:
        return 100
    return 10


def is_full(data, bitmap, width):
    """Whether the bitmap at ``bitmap`` has all of its first ``width`` bits."""
    for k in range(width >> 3):
        if data[bitmap + k] != 255:
            return 0
    rest = (1 << (width & 7)) - 1
    return rest == 0 or data[bitmap + (width >> 3)] & rest == rest


def columns_present(data, bitmap, width, limit):
    """How many of the first ``width`` bits are set, -1 if the bitmap is not there. No image has all columns."""
    if bitmap < 0:
        return width
    if (width + 7) >> 3 > limit - bitmap:
        return -1
    if is_full(data, bitmap, width):
        return width
    count = 0
    for k in range(width):
        count += data[bitmap + (k >> 3)] >> (k & 7) & 1
    return count


# --- decimals


def read_short_decimal(number, size, step, steps):
    """The unscaled number of a DECIMAL of up to eight bytes, given as a number, or NO_DECIMAL."""
    one = 1
    last_bits = steps[step + 5]
    last_bound = steps[step + 6]
    middle_bits = steps[step + 7]
    middle_bound = steps[step + 8]
    first_bound = steps[step + 9]
    # The first bit is the sign, set for what is not negative. A negative number has all of its bits inverted.
    sign = (number >> 8 * size - 1) - 1
    number = (number ^ sign) & (one << 8 * size - 1) - 1
    last = number & (one << last_bits) - 1
    number = number >> last_bits
    middle = number & (one << middle_bits) - 1
    number = number >> middle_bits
    if last >= last_bound or middle >= middle_bound or number >= first_bound:
        return NO_DECIMAL
    number = (number * middle_bound + middle) * last_bound + last
    return (number ^ sign) - sign


def read_decimal(data, pos, limit, code, precision, scale, slots, cell, high_cell):
    """The unscaled number; of a WIDE_DECIMAL in two slots. A LONG_DECIMAL is only checked."""
    # Literals this large are Python objects to Cython, except where they are assigned.
    all_ones = 0xFFFFFFFFFFFFFFFF
    low_half = 0xFFFFFFFF
    tail = scale
    digits = precision - scale
    groups = digits // 9 + tail // 9
    digits = digits % 9
    tail = tail % 9
    # The first bit is the sign, set for what is not negative. A negative number has all of its bits inverted.
    negative = data[pos] < 128
    mask = all_ones if negative else 0
    sign_bit = 1
    low = 0
    high = 0
    read_digits = 0
    while True:
        if digits:
            size = 4 if digits > 6 else (digits + 1) >> 1
            group = (machine.big_number(data, pos, size, limit) ^ mask) & all_ones >> 64 - 8 * size + sign_bit
            sign_bit = 0
            pos += size
            bound = power_of_ten(digits)
            if group >= bound:
                return 2
            read_digits += digits
            if read_digits <= 18:
                low = low * bound + group
            else:
                # 128 bits times 30, in pieces of 32; what LONG_DECIMAL has more is lost.
                group = group + (low & low_half) * bound
                carry = (low >> 32) * bound + (group >> 32)
                low = (carry & low_half) << 32 | group & low_half
                high = (high * bound + (carry >> 32)) & all_ones
        if groups > 0:
            groups -= 1
            digits = 9
        elif tail:
            digits = tail
            tail = 0
        else:
            break
    if code != 7:
        # -n is n inverted, and one more.
        low = ((low ^ mask) + negative) & all_ones
        slots[cell] = as_signed(low)
        if code == 6:
            high = high ^ mask
            if low == 0:
                high = (high + negative) & all_ones
            slots[high_cell] = as_signed(high)
    return 0


# --- row images


def read_image(raw, limit, pos, end, nulls, bitmap, first, width, steps, slots, states, cells, is_checked):
    """Cells of one image whose bits for NULL are at ``nulls`` and whose values begin at ``pos``; gives where they end, or
    -1. ``bitmap`` says which columns it has, -1 for all. Only where ``is_checked`` each value is compared with ``end``;
    else the caller has seen that there are bytes behind it for all columns."""
    present = 0
    for index in range(0, width, 64):
        some = min(width - index, 64)
        # Of up to 64 columns, which have no value, and which of those are not in the image at all.
        absent = 0
        if bitmap < 0:
            gone = machine.little_number(raw, nulls + (index >> 3), (some + 7) >> 3, limit)
        else:
            gone = 0
            for k in range(some):
                bit = 1
                if raw[bitmap + (index + k >> 3)] >> (k & 7) & 1:
                    bit = raw[nulls + (present >> 3)] >> (present & 7) & 1
                    present += 1
                else:
                    absent |= bit << k
                gone |= bit << k
        following = 10 * (first + index)
        stop = following + 10 * some
        while following < stop:
            step = following
            following += 10
            code = steps[step]
            cell = cells + steps[step + 2]
            if gone & 1:
                gone >>= 1
                states[cell] = 1  # NULL
                slots[cell] = 0
                if absent:
                    place = some - (stop - step) // 10
                    states[cell] = 1 + (absent >> place & 1)  # ABSENT
                if code == 6:
                    states[cell + steps[step + 5]] = states[cell]
                    slots[cell + steps[step + 5]] = 0
                continue
            gone >>= 1
            size = steps[step + 1]
            if is_checked and size > end - pos:
                return -1
            states[cell] = 0
            if code == 4:  # BYTES
                if is_checked:
                    length = machine.little_number(raw, pos, size, limit)
                else:
                    length = machine.long_raw(raw, pos) & steps[step + 3]
                pos += size
                if length > end - pos:
                    return -1
                slots[cell] = pos | length << 32
                pos += length
                continue
            if code == 1 or code == 2 or code == 3:  # INT, UINT, FLOAT
                if is_checked:
                    number = as_signed(machine.little_number(raw, pos, size, limit))
                else:
                    number = machine.long_raw(raw, pos) & steps[step + 3]
                slots[cell] = (number ^ steps[step + 4]) - steps[step + 4]
            elif code == 5 or code == 6 or code == 7:  # DECIMAL, WIDE_DECIMAL, LONG_DECIMAL
                if code == 5 and size <= 8:
                    slots[cell] = read_short_decimal(
                        machine.big_number(raw, pos, size, limit), size, step, steps
                    )
                    if slots[cell] == NO_DECIMAL:
                        return -1
                else:
                    slots[cell] = pos | size << 32
                    high_cell = cell
                    if code == 6:
                        high_cell = cell + steps[step + 5]
                        states[high_cell] = 0
                    if read_decimal(
                        raw, pos, limit, code, steps[step + 3], steps[step + 4], slots, cell, high_cell
                    ):
                        return -1
            elif code == 8:  # BITS
                slots[cell] = as_signed(machine.big_number(raw, pos, size, limit))
            elif code == 9:  # YEAR
                slots[cell] = temporal.read_year(raw, pos)
            elif code == 10:  # DATE
                temporal.read_date(raw, pos, limit, slots, states, cell)
            elif code == 11:  # TIME24
                if temporal.read_time24(raw, pos, limit, slots, cell):
                    return -1
            elif code == 12:  # DATETIME64
                if temporal.read_datetime64(raw, pos, limit, slots, states, cell):
                    return -1
            elif code == 13:  # EPOCH32
                temporal.read_epoch32(raw, pos, limit, slots, states, cell)
            elif code == 14:  # EPOCH
                temporal.read_epoch(raw, pos, size, limit, slots, states, cell)
            elif code == 15:  # DATETIME
                if temporal.read_datetime(raw, pos, size, limit, slots, states, cell):
                    return -1
            elif code == 16:  # TIME
                if temporal.read_time(raw, pos, size, limit, slots, cell):
                    return -1
            elif code == 17:  # NOTHING
                states[cell] = 1  # NULL
                slots[cell] = 0
            else:  # UNREADABLE
                return -1
            pos += size
    return pos if pos <= end else -1


def fill(
    data, event_start, event_end, event_plan, event_before, event_after, events, plan_first, plan_width,
    plan_slots, plan_size, steps, slots, states, image_cell, image_event, image_plan, progress,
):  # fmt: skip
    """Cells of the row images of ``events`` events, in their order.

    The images of event e are ``data[event_start[e]:event_end[e]]``, and ``event_before[e]`` and
    ``event_after[e]`` say where its bitmaps of present columns are, -1 for an image its rows do not have.
    ``steps`` says in ten numbers how a column is read (``columnar.shapes_plan``).
    ``progress``, in and out: the event to go on with, the position to go on at (-1: its start), images made,
    cells used. Both images of a row are made, or none; so there must be room for those of the widest table.
    REFUSED: images that this call made of the event are withdrawn, ``progress[1]`` is where it began with them.
    """
    with cython.nogil:
        limit = len(data)
        plans = len(plan_first)
        image_room = min(len(image_cell), len(image_event), len(image_plan))
        cell_room = min(len(slots), len(states))
        event = progress[0]
        pos = progress[1]
        images = progress[2]
        cells = progress[3]
        raw = machine.place(data)
        cell_slots = machine.longs(slots)
        cell_states = machine.room(states)
        way = machine.steps(steps)
        while event < events:
            if pos < 0:
                pos = event_start[event]
            end = event_end[event]
            # What every refusal below leaves behind.
            progress[0] = event
            progress[1] = pos
            progress[2] = images
            progress[3] = cells
            if pos < 0 or pos > end or end > limit:
                return 2
            if pos == end:
                event += 1
                pos = -1
                continue
            plan = event_plan[event]
            if plan < 0 or plan >= plans:
                return 2
            first = plan_first[plan]
            width = plan_width[plan]
            image_cells = plan_slots[plan]
            before = event_before[event]
            after = event_after[event]
            if event + 4 < events:
                machine.prefetch(data, event_start[event + 4])
            before_count = columns_present(raw, before, width, limit)
            after_count = columns_present(raw, after, width, limit)
            if before_count < 0 or after_count < 0:
                return 2
            row_images = (before >= 0) + (after >= 0)
            # Texts are compared with the end, always; what else an image has goes beyond it by ``plan_size`` at most, and
            # no value reads more than eight bytes.
            is_checked = plan_size[plan] + 8 > limit - end
            while pos < end:
                row_start = pos
                if row_images > image_room - images or row_images * image_cells > cell_room - cells:
                    progress[1] = pos
                    progress[2] = images
                    progress[3] = cells
                    return 1
                for side in range(2):
                    if side == 0:
                        bitmap = before
                        present = before_count
                    else:
                        bitmap = after
                        present = after_count
                    if bitmap < 0:
                        continue
                    if present == width:
                        bitmap = -1
                    nulls = pos
                    pos += (present + 7) >> 3
                    if pos > end:
                        return 2
                    image_cell[images] = cells
                    image_event[images] = event
                    image_plan[images] = plan
                    images += 1
                    # Two calls, so that each is compiled for itself: one of them without any comparing.
                    if is_checked:
                        pos = read_image(
                            raw, limit, pos, end, nulls, bitmap, first, width, way, cell_slots, cell_states, cells, 1
                        )  # fmt: skip
                    else:
                        pos = read_image(
                            raw, limit, pos, end, nulls, bitmap, first, width, way, cell_slots, cell_states, cells, 0
                        )  # fmt: skip
                    if pos < 0:
                        return 2
                    cells += image_cells
                if pos == row_start:
                    return 2
            event += 1
            pos = -1
        progress[0] = event
        progress[1] = -1
        progress[2] = images
        progress[3] = cells
        return 0


def behind_image(data, limit, pos, end, bitmap, present, first, width, shape, size):
    """Where the image ends whose bits for NULL are at ``pos``; -1 if it is not all there. Values are walked over."""
    nulls = pos
    pos += (present + 7) >> 3
    if pos > end:
        return -1
    place = 0
    bits = 0
    for column in range(first, first + width):
        if present != width:
            index = column - first
            if not data[bitmap + (index >> 3)] >> (index & 7) & 1:
                continue
        if place & 7 == 0:
            bits = data[nulls + (place >> 3)]
        is_there = 1 - (bits & 1)
        bits >>= 1
        place += 1
        length = size[column]
        if shape[column] == 4:  # BYTES
            if length > end - pos:
                if is_there:
                    return -1
                continue
            length += machine.little_number(data, pos, length, limit)
        elif shape[column] == 0 and is_there:  # UNREADABLE
            return -1
        # Without a branch: which values are NULL cannot be foreseen.
        pos += length * is_there
    # Whatever went beyond the end has not been touched.
    return pos if pos <= end else -1


def count(
    data, event_start, event_end, event_plan, event_before, event_after, events, plan_first, plan_width,
    shape, size, rows, progress,
):  # fmt: skip
    """``rows[e]``: how many rows event e has. Values are walked over, not read, so it counts rows of values that
    ``fill`` refuses. ``progress[0]``, in and out: the event to go on with. REFUSED: its ``rows`` are 0."""
    with cython.nogil:
        limit = len(data)
        raw = machine.place(data)
        plans = len(plan_first)
        event = progress[0]
        while event < events:
            pos = event_start[event]
            end = event_end[event]
            progress[0] = event
            rows[event] = 0
            if pos < 0 or pos > end or end > limit:
                return 2
            if pos == end:
                event += 1
                continue
            plan = event_plan[event]
            if plan < 0 or plan >= plans:
                return 2
            first = plan_first[plan]
            width = plan_width[plan]
            before = event_before[event]
            after = event_after[event]
            if event + 4 < events:
                machine.prefetch(data, event_start[event + 4])
            before_count = columns_present(raw, before, width, limit)
            after_count = columns_present(raw, after, width, limit)
            if before_count < 0 or after_count < 0:
                return 2
            made = 0
            while pos < end:
                row_start = pos
                for side in range(2):
                    bitmap = after if side else before
                    if bitmap >= 0:
                        present = after_count if side else before_count
                        pos = behind_image(
                            raw, limit, pos, end, bitmap, present, first, width, machine.words(shape),
                            machine.words(size),
                        )  # fmt: skip
                        if pos < 0:
                            return 2
                if pos == row_start:
                    return 2
                made += 1
            rows[event] = made
            event += 1
        progress[0] = event
        return 0
