"""JSON documents and geometries as VARIANT binary, in the heap, before ``variant`` writes rows.

A cell of a JSON or GEOMETRY column becomes a span of the heap in state VARIANT. Its objects use ids of the row's
dictionary: first the table's column names, then "srid" and "wkb" if the table has geometries, then the keys of
this image's documents in order of first use. What follows the column names goes to the heap, too, as the
image's keys: how many (4 bytes), the length of each (2 bytes), then all their bytes.
Sizes of ids and offsets are chosen from an upper bound, so that every value is written once, where it stays.

``scratch`` is zero when it is new and kept between calls. It has 1216 entries and three times a power of two, H:
an image may have H/2 names. What lies where:
    0     registers: 0 stamp, 1 plan's stamp, 2 image's stamp, 3 how many ids are in ``names``, 4 next id, 5 hash
          mask, 6 first dictionary entry, 7 first sorting entry, 8 id of "srid", 9 id of "wkb", 10 most ids
    16    a frame of 12 per open container: 0 start, 1 end, 2 first value entry, 3 where members may begin, 4 kind,
          5 members, 6 next member, 7 and 8 place and size of offsets, 9 place of the data, 10 bytes spent
    1216  hash table: stamp << 32 | id, live with the plan's or the image's stamp; then for each id the prefix and
          the span of its name; then for each key of the object being sorted its prefix and id << 32 | index
"""

import gtidal.columnar.kernel.machine as machine

try:
    import cython
except ImportError:  # it is needed to compile only
    import gtidal.columnar.kernel.without_cython as cython
import gtidal.columnar.kernel.sql_values as sql_values

SCRATCH_SIZE = 1216 + 3 * 65536

# Numbers of more than 31 bits; their C types are in the .pxd.
LOW_HALF = 0xFFFFFFFF
SIGN32 = 1 << 31
HASHED_BITS = (1 << 58) - 1
FACTOR = 2654435761
SRID = int.from_bytes(b"srid", "big") << 28 | 4  # as ``prefix_of`` has it
WKB = int.from_bytes(b"wkb", "big") << 36 | 3


def put(value, at, number, size):
    """The low bytes of a number, least significant first. The loops of known length become one store."""
    if size == 1:
        value[at] = number & 255
    elif size == 2:
        for i in range(2):
            value[at + i] = number >> 8 * i & 255
    elif size == 4:
        for i in range(4):
            value[at + i] = number >> 8 * i & 255
    else:
        for i in range(size):
            value[at + i] = number >> 8 * i & 255


def read(data, pos, size):
    """A number of two or four bytes, least significant first."""
    if size == 2:
        return data[pos] | data[pos + 1] << 8
    return machine.word_at(data, pos)


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
        machine.copy(value, at, source, start, size)
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


def is_ascii(data, start, size):
    seen = 0
    for i in range(size):
        seen |= data[start + i]
    return 1 if seen < 128 else 0


def is_utf8(data, start, size):
    """As strict as Python's decoder."""
    pos = start
    end = start + size
    while pos < end:
        lead = data[pos]
        pos += 1
        if lead < 128:
            continue
        low = 128  # the range of the second byte: no overlong forms, no surrogates, nothing above U+10FFFF
        high = 191
        if 194 <= lead <= 223:
            more = 1
        elif 224 <= lead <= 239:
            more = 2
            if lead == 224:
                low = 160
            elif lead == 237:
                high = 159
        elif 240 <= lead <= 244:
            more = 3
            if lead == 240:
                low = 144
            elif lead == 244:
                high = 143
        else:
            return 0
        if more > end - pos or data[pos] < low or data[pos] > high:
            return 0
        for i in range(1, more):
            if data[pos + i] & 192 != 128:
                return 0
        pos += more
    return 1


def prefix_of(data, start, size):
    """The first seven bytes and min(length, 8): orders as the bytes do, and up to seven bytes it is the key."""
    prefix = 0
    if size >= 7:
        for i in range(7):
            prefix = prefix << 8 | data[start + i]
        return prefix << 4 | (7 if size == 7 else 8)
    for i in range(size):
        prefix = prefix << 8 | data[start + i]
    return prefix << 8 * (7 - size) + 4 | size


def key_id(data, names, scratch, start, size, prefix):
    """The id of a name, a new one if need be; -2 if there are too many."""
    hashed = prefix ^ prefix >> 29
    for i in range(7, size):
        hashed = (hashed & HASHED_BITS) * 31 + data[start + i]
    hashed ^= hashed >> 31
    mask = scratch[5]
    spot = (hashed & 2147483647) * FACTOR >> 31 & mask
    while True:
        entry = scratch[1216 + spot]
        stamp = entry >> 32
        if stamp != scratch[1] and stamp != scratch[2]:
            break
        found = entry & 2147483647
        at = scratch[6] + 2 * found
        if scratch[at] == prefix:
            if size < 8:
                return found
            span = scratch[at + 1]
            if span >> 32 == size:
                span &= LOW_HALF
                i = 7
                if found < scratch[3]:
                    while i < size and names[span + i] == data[start + i]:
                        i += 1
                else:
                    while i < size and data[span + i] == data[start + i]:
                        i += 1
                if i == size:
                    return found
        spot = spot + 1 & mask
    found = scratch[4]
    if found >= scratch[10]:
        return -2
    scratch[4] = found + 1
    scratch[1216 + spot] = scratch[2] << 32 | found
    at = scratch[6] + 2 * found
    scratch[at] = prefix
    scratch[at + 1] = start | size << 32
    return found


def key_after(data, scratch, a, b, object_start, width):
    """Whether the key in sorting slot a comes after the one in slot b."""
    if scratch[a] != scratch[b]:
        return 1 if scratch[a] > scratch[b] else 0
    if scratch[a] & 15 < 8:
        return 0
    at = object_start + 2 * width + (scratch[a + 1] & 2147483647) * (width + 2)
    start = object_start + read(data, at, width)
    size = read(data, at + width, 2)
    at = object_start + 2 * width + (scratch[b + 1] & 2147483647) * (width + 2)
    other = object_start + read(data, at, width)
    other_size = read(data, at + width, 2)
    i = 7
    while i < size and i < other_size:
        if data[start + i] != data[other + i]:
            return 1 if data[start + i] > data[other + i] else 0
        i += 1
    return 1 if size > other_size else 0


def sort_keys(data, scratch, count, object_start, width):
    """Shell's sort: as simple as insertion for few keys, still quick for many."""
    base = scratch[7]
    gap = 1
    while gap < count // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, count):
            at = base + 2 * i
            low = at - 2 * gap
            while low >= base and key_after(data, scratch, low, at, object_start, width):
                prefix = scratch[at]
                scratch[at] = scratch[low]
                scratch[low] = prefix
                entry = scratch[at + 1]
                scratch[at + 1] = scratch[low + 1]
                scratch[low + 1] = entry
                at = low
                low = at - 2 * gap
        gap //= 3
    return 0


def open_container(data, names, value, scratch, at, limit, kind, pos, end, depth, id_size):
    """Reads a container's head, sorts its keys, writes its head and makes its frame. Gives where the first
    member goes, or -2."""
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
        if count > scratch[10]:
            return -2
        base = scratch[7]
        for i in range(count):
            entry = pos + 2 * width + i * (width + 2)
            start = read(data, entry, width)
            length = read(data, entry + width, 2)
            if start < first - pos or start > size or length > size - start:
                return -2
            scratch[frame + 10] += length
            if not is_ascii(data, pos + start, length) and not is_utf8(data, pos + start, length):
                return -2
            prefix = prefix_of(data, pos + start, length)
            found = key_id(data, names, scratch, pos + start, length, prefix)
            if found < 0:
                return -2
            scratch[base + 2 * i] = prefix
            scratch[base + 2 * i + 1] = found << 32 | i
        sort_keys(data, scratch, count, pos, width)
        last = -1
        for i in range(count):
            entry = scratch[base + 2 * i + 1]
            if entry >> 32 == last:
                return -2
            last = entry >> 32
            put(value, at + i * id_size, last, id_size)
            # The place of the offset holds, until it is known, which member it is.
            put(value, at + count * id_size + i * offset_size, entry & 2147483647, offset_size)
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


def put_json(data, names, value, scratch, at, start, size, id_size):
    """A document; gives where it ends, or -2. Follows the reference: the same bounds, depth and budget."""
    limit = at + 2 * size + 128
    budget = size
    end = start + size
    kind = data[start]
    pos = start + 1
    depth = frame = offset_size = slot = 0
    while True:
        if limit - at < 96:
            return -2
        if kind <= 3:
            if depth >= 100:
                return -2
            at = open_container(data, names, value, scratch, at, limit, kind, pos, end, depth, id_size)
            if at < 0:
                return -2
            budget -= scratch[16 + 12 * depth + 10]
            depth += 1
        elif kind == 4:
            if end - pos < 1 or data[pos] > 2:
                return -2
            value[at] = data[pos] << 2
            at += 1
        elif kind <= 10:
            if end - pos < (2 if kind <= 6 else 4 if kind <= 8 else 8):
                return -2
            if kind <= 6:
                number = read(data, pos, 2)
                if kind == 5:
                    number = (number ^ 32768) - 32768
            elif kind <= 8:
                number = read(data, pos, 4)
                if kind == 7:
                    number = (number ^ SIGN32) - SIGN32
            else:
                number = machine.long_at(data, pos)
            if kind == 10 and number < 0:
                at = put_unsigned(value, at, number)
            else:
                at = put_integer(value, at, number)
        elif kind == 11:
            if end - pos < 8:
                return -2
            value[at] = 28
            machine.copy(value, at + 1, data, pos, 8)
            at += 9
        elif kind == 12 or kind == 15:
            sql_type = 253
            if kind == 15:
                if end - pos < 1:
                    return -2
                sql_type = data[pos]
                pos += 1
            length = 0
            for i in range(6):  # seven bits a byte, at most five bytes
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
                if not is_ascii(data, pos, length) and not is_utf8(data, pos, length):
                    return -2
                at = put_text(value, at, data, pos, length)
            else:
                at = sql_values.put_opaque(data, sql_type, pos, length, value, at)
                if at < 0:
                    return -2
        else:
            return -2
        if budget < 0:
            return -2
        while True:  # on to the next member of the innermost container that has one
            if depth == 0:
                return at
            frame = 16 + 12 * (depth - 1)
            offset_size = scratch[frame + 8]
            slot = scratch[frame + 7] + scratch[frame + 6] * offset_size
            if scratch[frame + 6] < scratch[frame + 5]:
                break
            size = at - scratch[frame + 9]
            if width_of(size) > offset_size:
                return -2
            put(value, slot, size, offset_size)
            depth -= 1
        member = scratch[frame + 6]
        scratch[frame + 6] = member + 1
        kind = scratch[frame + 4]
        if kind < 2:
            member = 0
            for i in range(offset_size):
                member |= value[slot + i] << 8 * i
        put(value, slot, at - scratch[frame + 9], offset_size)
        width = 4 if kind & 1 else 2
        pos = scratch[frame + 2] + member * (width + 1)
        kind = data[pos]
        pos += 1
        if 4 <= kind <= 6 or (width == 4 and 7 <= kind <= 8):
            end = pos + width
        else:
            length = read(data, pos, width)
            pos = scratch[frame] + length
            end = scratch[frame + 1]
            if pos < scratch[frame + 3] or pos > end:
                return -2


def put_unsigned(value, at, number):
    """A decimal of 16 bytes: the number's 64 bits, unsigned."""
    value[at] = 40
    value[at + 1] = 0
    put(value, at + 2, number, 8)
    put(value, at + 10, 0, 8)
    return at + 18


def put_keys(data, value, scratch, at, width):
    """What the dictionary holds behind the column names."""
    count = scratch[4] - width
    put(value, at, count, 4)
    lengths_at = at + 4
    at = lengths_at + 2 * count
    for i in range(count):
        entry = scratch[6] + 2 * (width + i)
        prefix = scratch[entry]
        size = prefix & 15
        if size < 8:
            for k in range(size):
                value[at + k] = prefix >> 52 - 8 * k & 255
        else:
            size = scratch[entry + 1] >> 32
            machine.copy(value, at, data, scratch[entry + 1] & LOW_HALF, size)
        put(value, lengths_at + 2 * i, size, 2)
        at += size
    return at


def set_up(scratch):
    """Divides the scratch space; -2 if it is too small."""
    room = (len(scratch) - 1216) // 3
    size = 64
    if room < size:
        return -2
    while 2 * size <= room and size < 16777216:
        size *= 2
    scratch[5] = size - 1
    scratch[6] = 1216 + size
    scratch[7] = 1216 + 2 * size
    scratch[10] = size // 2
    return 0


def know_names(names, name_offsets, scratch, base, width, geometry):
    """Makes a table's names the dictionary; -2 if two are the same or there are too many."""
    if scratch[0] > 1073741824:  # stamps have 31 bits
        scratch[0] = 0
        for i in range(scratch[5] + 1):
            scratch[1216 + i] = 0
    scratch[0] += 1
    scratch[1] = scratch[0]
    scratch[2] = scratch[0]
    scratch[3] = 2147483647
    scratch[4] = 0
    for column in range(width):
        start = name_offsets[base + column]
        size = name_offsets[base + column + 1] - start
        found = key_id(names, names, scratch, start, size, prefix_of(names, start, size))
        if found != column:
            return -2
    if geometry:
        scratch[8] = key_id(names, names, scratch, 0, 4, SRID)
        scratch[9] = key_id(names, names, scratch, 0, 3, WKB)
        if scratch[8] < 0 or scratch[9] < 0:
            return -2
    scratch[3] = scratch[4]
    return 0


def settle(
    data, heap, slots, states, image_cell, image_plan, images, plan_first, plan_width, slot, kind, names, name_offsets,
    image_keys, scratch, progress
):  # fmt: skip
    """Settles the images from progress[0] on; progress[1] is how much of the heap is used. Codes: 0 all done;
    1 the heap is full (nothing of this image is done); 2 this image is not ours. ``image_keys`` gets the span
    of each image's keys, 0 where it has none."""
    with cython.nogil:
        known = -1  # the plan that geometry and nested are about
        dictionary = -1  # the plan whose names are known
        nested = 0
        geometry = 0
        base = 0
        width = 0
        image = progress[0]
        used = progress[1]
        if set_up(scratch) < 0:
            return 2
        while image < images:
            progress[0] = image
            progress[1] = used
            image_keys[image] = 0
            if image_plan[image] != known:
                known = image_plan[image]
                base = plan_first[known]
                width = plan_width[known]
                nested = 0
                geometry = 0
                for column in range(base, base + width):
                    if kind[column] == 8:  # JSON
                        nested = 1
                    elif kind[column] == 11:  # GEOMETRY
                        geometry = 1
            if nested or geometry:
                cells = image_cell[image]
                total = 0
                fields = 0
                for column in range(base, base + width):
                    if kind[column] == 8 or kind[column] == 11:
                        cell = cells + slot[column]
                        if states[cell] == 0:
                            size = slots[cell] >> 32
                            if size > len(data) - (slots[cell] & LOW_HALF):
                                return 2
                            total += size
                            fields += 1
                if fields or geometry:
                    # Twice its size and some bytes for each document, once for all keys.
                    if 3 * total + 128 * fields + 64 > len(heap) - used:
                        return 1
                    if dictionary != known:
                        dictionary = -1
                        if know_names(names, name_offsets, scratch, base, width, geometry) < 0:
                            return 2
                        dictionary = known
                    scratch[0] += 1
                    scratch[2] = scratch[0]
                    scratch[4] = scratch[3]
                    id_size = width_of(width + 2 + total // 7)  # a key takes seven bytes and its own
                    for column in range(base, base + width):
                        if kind[column] == 8 or kind[column] == 11:
                            cell = cells + slot[column]
                            size = slots[cell] >> 32
                            start = slots[cell] & LOW_HALF
                            if states[cell] == 0 and (size > 0 or kind[column] == 11):
                                if kind[column] == 8:
                                    at = put_json(data, names, heap, scratch, used, start, size, id_size)
                                else:
                                    at = sql_values.put_geometry(
                                        data, start, size, heap, used, scratch[8], scratch[9], id_size
                                    )
                                if at < 0:
                                    return 2
                                slots[cell] = used | at - used << 32
                                states[cell] = 7  # VARIANT
                                used = at
                    if scratch[4] > width:
                        at = put_keys(data, heap, scratch, used, width)
                        image_keys[image] = used | at - used << 32
                        used = at
            image += 1
        progress[0] = image
        progress[1] = used
        return 0
