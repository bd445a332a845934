"""MySQL's binary JSON as VARIANT binary: one document at a time, straight from its bytes.

Objects use ids of a dictionary, which the caller begins (``json_keys``, which also tells of ``scratch``). Sizes of ids
and offsets are chosen from an upper bound, so that every value is written once, where it stays.
"""

import gtidal.columnar.kernel.json_keys as json_keys
import gtidal.columnar.kernel.machine as machine
import gtidal.columnar.kernel.sql_values as sql_values

SIGN32 = 1 << 31  # its C type is in the .pxd


def put(value, at, number, size):
    """The low bytes of a number, least significant first."""
    if size == 2:
        machine.put_short_raw(value, at, number)
    elif size == 1:
        value[at] = number & 255
    elif size == 8:
        machine.put_long_raw(value, at, number)
    else:
        for i in range(size):
            value[at + i] = number >> 8 * i & 255


def read(data, pos, size):
    """A number of two or four bytes, least significant first."""
    if size == 2:
        return machine.short_raw(data, pos)
    return machine.word_raw(data, pos)


def width_of(most):
    """How many bytes hold numbers up to ``most``."""
    if most < 256:
        return 1
    if most < 65536:
        return 2
    if most < 16777216:
        return 3
    return 4


def put_text(value, at, source, start, size):
    if size < 64:
        value[at] = size << 2 | 1
        at += 1
    else:
        value[at] = 64
        put(value, at + 1, size, 4)
        at += 5
    if size:
        machine.copy_raw(value, at, source, start, size)
    return at + size


def put_integer(value, at, number):
    """The smallest integer type that holds the number."""
    if -128 <= number < 128:
        value[at] = 12
        value[at + 1] = number & 255
        return at + 2
    if -32768 <= number < 32768:
        value[at] = 16
        put(value, at + 1, number, 2)
        return at + 3
    if -SIGN32 <= number < SIGN32:
        value[at] = 20
        put(value, at + 1, number, 4)
        return at + 5
    value[at] = 24
    put(value, at + 1, number, 8)
    return at + 9


def put_unsigned(value, at, number):
    """A decimal of 16 bytes: the number's 64 bits, unsigned."""
    value[at] = 40
    value[at + 1] = 0
    put(value, at + 2, number, 8)
    put(value, at + 10, 0, 8)
    return at + 18


def open_container(data, names, value, scratch, at, limit, kind, pos, end, depth, id_size):
    """Reads a container's head, sorts its keys, writes its head and makes its frame. Gives where the first
    member goes; -2 if the document is not ours, -3 if it has no head."""
    width = 4 if kind & 1 else 2
    if 2 * width > end - pos:
        return -2
    count = read(data, pos, width)
    size = read(data, pos + width, width)
    if size > end - pos:
        return -2
    values_at = pos + 2 * width
    if kind < 2:
        values_at += count * (width + 2)
    first = values_at + count * (width + 1)
    if first > pos + size:
        return -2
    frame = 16 + 12 * depth
    scratch[frame + 10] = first - pos  # spent
    scratch[frame] = pos
    scratch[frame + 1] = pos + size
    scratch[frame + 2] = values_at
    scratch[frame + 3] = first
    scratch[frame + 4] = kind
    scratch[frame + 5] = count
    scratch[frame + 6] = 0
    scratch[frame + 11] = 0
    offset_size = width_of(json_guess(size))
    count_size = 4 if count > 255 else 1
    if 8 + count * (id_size + offset_size) + offset_size > limit - at:
        return -2
    large = 1 if count > 255 else 0
    if kind < 2:
        value[at] = (large << 4 | id_size - 1 << 2 | offset_size - 1) << 2 | 2
    else:
        value[at] = (large << 2 | offset_size - 1) << 2 | 3
    put(value, at + 1, count, count_size)
    at += 1 + count_size
    if kind < 2:
        head = 0
        if scratch[11]:
            head = json_keys.find_head(data, scratch, pos, size, kind, count, first - pos)
            if head == 0 and scratch[11] == 1:
                return -3
        if head and scratch[11] == 1:
            scratch[frame + 10] += scratch[head + 3]
            scratch[frame + 11] = scratch[head + 4]
            scratch[12] = scratch[head + 5]
            base = scratch[head + 4]
            for i in range(count):
                put(value, at + i * id_size, scratch[base + i] >> 32, id_size)
        else:
            spent = json_keys.sort_members(data, names, scratch, pos, size, width, count, first - pos)
            if spent < 0:
                return -2
            scratch[frame + 10] += spent
            base = scratch[7] + 1
            for i in range(count):
                entry = scratch[base + 2 * i]
                put(value, at + i * id_size, entry >> 32, id_size)
                # The place of the offset holds, until it is known, which member it is.
                put(value, at + count * id_size + i * offset_size, entry & 2147483647, offset_size)
            if head:
                scratch[12] = scratch[head + 5]
            elif scratch[11]:
                json_keys.keep_head(data, scratch, pos, kind, width, count, first - pos, spent)
        at += count * id_size
    scratch[frame + 7] = at
    scratch[frame + 8] = offset_size
    at += (count + 1) * offset_size
    scratch[frame + 9] = at
    return at


def json_guess(size):
    """How large the data of a JSON container of so many bytes becomes. It holds unless values overlap or many
    are text that is longer than what is stored; those documents are not ours."""
    guess = size + size * 3 // 4 + 8
    return guess if guess < 65536 else 2 * size + 128


def put_plain(data, limit, value, at, entry, start_of, least, end_of):
    """The member at ``entry`` of a small container, if it is no container and needs no closer look: gives where it
    ends, or -1. There is room for 65 bytes; ``limit`` is where the data end."""
    kind = data[entry]
    number = read(data, entry + 1, 2)
    if kind == 5:
        return put_integer(value, at, (number ^ 32768) - 32768)
    elif kind == 6:
        return put_integer(value, at, number)
    elif kind == 4:
        if number & 255 > 2:
            return -1
        value[at] = number << 2 & 255
        return at + 1
    pos = start_of + number
    if pos < least:
        return -1
    if kind == 12:
        if pos >= end_of:
            return -1
        length = data[pos]
        if length > 63 or length >= end_of - pos:
            return -1
        value[at] = length << 2 | 1
        if 0 < length <= 8 and limit - pos > 8:
            # Eight bytes at once, whatever the length is: it cannot be foreseen.
            high_bits = 0x8080808080808080
            word = machine.long_raw(data, pos + 1)
            if word & high_bits >> 64 - 8 * length:
                return -1
            machine.put_long_raw(value, at + 1, word)
            return at + 1 + length
        if not machine.ascii_raw(data, pos + 1, length):
            return -1
        machine.copy_raw(value, at + 1, data, pos + 1, length)
        return at + 1 + length
    elif kind == 11:
        if end_of - pos < 8:
            return -1
        value[at] = 28
        put(value, at + 1, machine.long_raw(data, pos), 8)
        return at + 9
    elif kind == 7:
        if end_of - pos < 4:
            return -1
        return put_integer(value, at, (read(data, pos, 4) ^ SIGN32) - SIGN32)
    return -1


def put_leaf(data, data_limit, value, scratch, at, limit, kind, pos, end, frame, id_size):
    """A small container of plain members, in one go: gives where it ends, and leaves in ``scratch[frame + 10]`` what it
    takes of the budget. -1 if it is none, or has keys that are not known: then nothing has happened."""
    if end - pos < 4:
        return -1
    count = read(data, pos, 2)
    size = read(data, pos + 2, 2)
    values_at = pos + 4
    if kind == 0:
        values_at += 4 * count
    first = values_at + 3 * count
    # Up to this size an offset takes one byte, as ``json_guess`` has it.
    if size > 140 or size > end - pos or first > pos + size or 8 + count * (id_size + 2) > limit - at:
        return -1
    spent = first - pos
    head = base = 0
    if kind == 0:
        if scratch[11] != 1:
            return -1
        head = json_keys.find_head(data, scratch, pos, size, kind, count, first - pos)
        if head == 0:
            return -1
        spent += scratch[head + 3]
        base = scratch[head + 4]
        value[at] = (id_size - 1 << 2) << 2 | 2
        value[at + 1] = count
        at += 2
        for i in range(count):
            put(value, at, scratch[base + i] >> 32, id_size)
            at += id_size
    else:
        value[at] = 3
        value[at + 1] = count
        at += 2
    slot = at
    at += count + 1
    begun = at
    for i in range(count):
        member = i
        if head:
            member = scratch[base + i] & 2147483647
        entry = values_at + 3 * member
        if limit - at < 160 or at - begun > 255:
            return -1
        value[slot + i] = at - begun
        behind = put_plain(data, data_limit, value, at, entry, pos, first, pos + size)
        if behind < 0:
            return -1
        if data[entry] == 12:
            spent += behind - at - 1
        at = behind
    if at - begun > 255:
        return -1
    value[slot + count] = at - begun
    scratch[frame + 10] = spent
    if head:
        scratch[12] = scratch[head + 5]
    return at


def put_json(data, data_limit, names, value, scratch, at, start, size, id_size):
    """A document; gives where it ends, -2 or -3. Follows the reference: the same bounds, depth and budget. ``data_limit`` is
    where the data end."""
    limit = at + 2 * size + 128
    budget = size
    end = start + size
    kind = data[start]
    pos = start + 1
    depth = is_new = 0
    # What the innermost container's frame says.
    frame = start_of = end_of = values_at = least = 0
    count = following = slot = offset_size = begun = pool = width = is_object = 0
    while True:
        if limit - at < 96:
            return -2
        if kind == 12 or kind == 15:  # one chain of equalities: it compiles to a jump table
            sql_type = 253
            if kind == 15:
                if end - pos < 1:
                    return -2
                sql_type = data[pos]
                pos += 1
            if end - pos < 1:
                return -2
            length = data[pos]
            pos += 1
            if length > 127:  # seven bits a byte, at most five bytes
                length &= 127
                for i in range(1, 6):
                    if i == 5 or pos >= end:
                        return -2
                    byte = data[pos]
                    pos += 1
                    length |= (byte & 127) << 7 * i
                    if byte < 128:
                        break
            if length > end - pos:
                return -2
            budget -= length
            if sql_type == 253:
                if length > limit - at - 96:
                    return -2
                if not machine.utf8_raw(data, pos, length):
                    return -2
                at = put_text(value, at, data, pos, length)
            else:
                at = sql_values.put_opaque(data, sql_type, pos, length, value, at)
                if at < 0:
                    return -2
        elif kind == 11:
            if end - pos < 8:
                return -2
            value[at] = 28
            put(value, at + 1, machine.long_raw(data, pos), 8)
            at += 9
        elif kind == 5 or kind == 6:
            if end - pos < 2:
                return -2
            number = read(data, pos, 2)
            if kind == 5:
                number = (number ^ 32768) - 32768
            at = put_integer(value, at, number)
        elif kind == 4:
            if end - pos < 1 or data[pos] > 2:
                return -2
            value[at] = data[pos] << 2
            at += 1
        elif kind == 0 or kind == 1 or kind == 2 or kind == 3:
            if depth >= 100:
                return -2
            at = open_container(data, names, value, scratch, at, limit, kind, pos, end, depth, id_size)
            if at < 0:
                return at
            if depth:
                scratch[frame + 6] = following
            frame = 16 + 12 * depth
            depth += 1
            is_new = 1
            budget -= scratch[frame + 10]
        elif kind == 7 or kind == 8:
            if end - pos < 4:
                return -2
            number = read(data, pos, 4)
            if kind == 7:
                number = (number ^ SIGN32) - SIGN32
            at = put_integer(value, at, number)
        elif kind == 9 or kind == 10:
            if end - pos < 8:
                return -2
            number = machine.long_raw(data, pos)
            if kind == 10 and number < 0:
                at = put_unsigned(value, at, number)
            else:
                at = put_integer(value, at, number)
        else:
            return -2
        if budget < 0:
            return -2
        if depth == 0:
            return at
        while following == count or is_new:  # all members are there, or a container was opened
            if not is_new:
                size = at - begun
                if width_of(size) > offset_size:
                    return -2
                put(value, slot, size, offset_size)
                depth -= 1
                if depth == 0:
                    return at
                frame -= 12
            is_new = 0
            start_of = scratch[frame]
            end_of = scratch[frame + 1]
            values_at = scratch[frame + 2]
            least = scratch[frame + 3]
            width = 4 if scratch[frame + 4] & 1 else 2
            is_object = scratch[frame + 4] < 2
            count = scratch[frame + 5]
            following = scratch[frame + 6]
            offset_size = scratch[frame + 8]
            slot = scratch[frame + 7] + following * offset_size
            begun = scratch[frame + 9]
            pool = scratch[frame + 11]
            # Most documents are small, and their members plain: those are written here, others below.
            plain = width == 2 and offset_size <= 2 and (pool != 0 or not is_object)
            while plain and following < count and limit - at > 160:
                member = following
                if pool:
                    member = scratch[pool + following] & 2147483647
                entry = values_at + 3 * member
                kind = data[entry]
                behind = put_plain(data, data_limit, value, at, entry, start_of, least, end_of)
                if behind >= 0:
                    if kind == 12:
                        budget -= behind - at - 1
                elif (kind == 0 or kind == 2) and depth < 100:
                    pos = start_of + read(data, entry + 1, 2)
                    if pos < least or pos > end_of:
                        return -2
                    behind = put_leaf(
                        data, data_limit, value, scratch, at, limit, kind, pos, end_of, frame + 12, id_size
                    )
                    if behind < 0:
                        break
                    budget -= scratch[frame + 22]
                else:
                    break
                put(value, slot, at - begun, offset_size)
                slot += offset_size
                following += 1
                at = behind
            if budget < 0:
                return -2
        member = following
        following += 1
        if pool:
            member = scratch[pool + member] & 2147483647
        elif is_object:
            member = 0
            for i in range(offset_size):
                member |= value[slot + i] << 8 * i
        put(value, slot, at - begun, offset_size)
        slot += offset_size
        pos = values_at + member * (width + 1)
        kind = data[pos]
        pos += 1
        if 4 <= kind <= 6 or (width == 4 and 7 <= kind <= 8):
            end = pos + width
        else:
            length = read(data, pos, width)
            pos = start_of + length
            end = end_of
            if pos < least or pos > end:
                return -2
