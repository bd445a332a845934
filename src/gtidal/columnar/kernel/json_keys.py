"""The dictionary of VARIANT values that are made of JSON documents: names, ids, and objects' keys in order.

A dictionary begins with the names of a table's columns, or with none; keys of documents follow in order of first use.

Documents of a column mostly look alike, so what was found out about an object's keys (their ids, their order by name) is
kept for the next one with the same keys: a *head*. Ids depend on the dictionary so far; so heads hang on *states*, of
which the first is the dictionary at its beginning, and a head leads to the next. With heads alone no key is looked at,
only compared as bytes. An object without a head (-3) means: begin the dictionary anew, and look at all keys.

``scratch`` is zero when it is new and kept between calls. It has ``SCRATCH_HEAD`` entries and three times a power of
two, H: a dictionary may have H/2 names. What lies where:
    0     registers: 0 stamp, 1 plan's stamp, 2 image's stamp, 3 how many ids are in ``names``, 4 next id, 5 hash
          mask, 6 first dictionary entry, 7 first sorting entry, 8 id of "srid", 9 id of "wkb", 10 most ids,
          11 mode: 0 without heads, 1 with heads only, 2 looking and keeping heads; 12 state, 13 how many states,
          14 heads, 15 places in the pool are used
    16    a frame of 12 per open container: 0 start, 1 end, 2 first value entry, 3 where members may begin, 4 kind,
          5 members, 6 next member, 7 and 8 place and size of offsets, 9 place of the data, 10 bytes spent,
          11 place of the keys in the pool, 0 if they are not there
    1216  256 states: 0 how many heads (at most 8) << 32 | first head + 1, 1 for the caller: what it made of the dictionary in this state, 0 for nothing
    1728  256 heads: 0 start of the object, 1 kind, 2 members, 3 bytes of keys, 4 first place in the pool, 5 state
          behind it, 6 next head of the same state + 1
    3776  pool: id << 32 | index of an object's keys, in the order of their names
    7872  hash table: stamp << 32 | id, live with the plan's or the image's stamp; then for each id the prefix and
          the span of its name; then for each key of the object being sorted its prefix and id << 32 | index
"""

import gtidal.columnar.kernel.machine as machine

SCRATCH_HEAD = 7872

# Numbers of more than 31 bits; their C types are in the .pxd.
LOW_HALF = 0xFFFFFFFF
HASHED_BITS = (1 << 58) - 1
FACTOR = 2654435761
SRID = int.from_bytes(b"srid", "big") << 28 | 4  # as ``prefix_of`` has it
WKB = int.from_bytes(b"wkb", "big") << 36 | 3


def put(value, at, number, size):
    """The low bytes of a number, least significant first."""
    for i in range(size):
        value[at + i] = number >> 8 * i & 255


def read(data, pos, size):
    """A number of two or four bytes, least significant first."""
    if size == 2:
        return data[pos] | data[pos + 1] << 8
    return machine.word_raw(data, pos)


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
        entry = scratch[7872 + spot]
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
    scratch[7872 + spot] = scratch[2] << 32 | found
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


def sort_members(data, names, scratch, pos, size, width, count, least):
    """Looks at an object's keys: their ids, and their order by name, are left in the sorting entries. Gives how many
    bytes they have, or -2. Keys may begin ``least`` bytes behind the object's start."""
    if count > scratch[10]:
        return -2
    base = scratch[7]
    spent = 0
    for i in range(count):
        entry = pos + 2 * width + i * (width + 2)
        start = read(data, entry, width)
        length = read(data, entry + width, 2)
        if start < least or start > size or length > size - start:
            return -2
        spent += length
        if not machine.utf8_raw(data, pos + start, length):
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
    return spent


def find_head(data, scratch, pos, size, kind, count, least):
    """Where the head of an object lies that has the very keys, lying in the same way; 0 if there is none."""
    width = 4 if kind & 1 else 2
    head = scratch[1216 + 2 * scratch[12]] & 65535
    while head:
        head = 1728 + 8 * (head - 1)
        other = scratch[head]
        keys = scratch[head + 3]
        if (
            scratch[head + 1] == kind
            and scratch[head + 2] == count
            and keys <= size - least
            and (
                count == 0
                or machine.same_raw(data, pos + 2 * width, data, other + 2 * width, count * (width + 2))
            )
            and (keys == 0 or machine.same_raw(data, pos + least, data, other + least, keys))
        ):
            return head
        head = scratch[head + 6]
    return 0


def keep_head(data, scratch, pos, kind, width, count, least, keys):
    """Keeps what was found out about an object whose keys lie one behind the other, as servers write them. If there is
    no room, or they lie otherwise, the rest of the image does without heads."""
    entry = pos + 2 * width
    start = least
    ordered = 1
    for _ in range(count):
        if read(data, entry, width) != start:
            ordered = 0
        start += read(data, entry + width, 2)
        entry += width + 2
    before = 1216 + 2 * scratch[12]
    if (
        not ordered
        or scratch[13] >= 256
        or scratch[14] >= 256
        or scratch[before] >> 32 >= 8
        or count > 4096 - scratch[15]
    ):
        scratch[11] = 0
        return 0
    head = 1728 + 8 * scratch[14]
    scratch[14] += 1
    state = scratch[13]
    scratch[13] += 1
    scratch[1216 + 2 * state] = 0
    scratch[1217 + 2 * state] = 0
    pool = 3776 + scratch[15]
    scratch[15] += count
    base = scratch[7] + 1
    for i in range(count):
        scratch[pool + i] = scratch[base + 2 * i]
    scratch[head] = pos
    scratch[head + 1] = kind
    scratch[head + 2] = count
    scratch[head + 3] = keys
    scratch[head + 4] = pool
    scratch[head + 5] = state
    scratch[head + 6] = scratch[before] & 65535
    scratch[before] = (scratch[before] >> 32) + 1 << 32 | scratch[14]
    scratch[12] = state
    return 0


def set_up(scratch, entries):
    """Divides the scratch space, and forgets all heads: they are about data that may be gone. -2 if it is too small."""
    room = (entries - 7872) // 3
    size = 64
    if room < size:
        return -2
    while 2 * size <= room and size < 16777216:
        size *= 2
    scratch[5] = size - 1
    scratch[6] = 7872 + size
    scratch[7] = 7872 + 2 * size
    scratch[10] = size // 2
    forget_heads(scratch)
    return 0


def forget_heads(scratch):
    scratch[1216] = 0
    scratch[1217] = 0
    scratch[13] = 1
    scratch[14] = 0
    scratch[15] = 0


def begin(scratch, with_heads):
    """Begins the dictionary of an image, or of a document."""
    scratch[0] += 1
    scratch[2] = scratch[0]
    scratch[4] = scratch[3]
    scratch[11] = 1 if with_heads else 2
    scratch[12] = 0


def new_stamp(scratch):
    """Stamps have 31 bits."""
    if scratch[0] > 1073741824:
        scratch[0] = 0
        for i in range(scratch[5] + 1):
            scratch[7872 + i] = 0
    scratch[0] += 1


def know_names(names, name_offsets, scratch, base, width, geometry):
    """Makes a table's names the dictionary; -2 if two are the same or there are too many."""
    new_stamp(scratch)
    forget_heads(scratch)
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


def know_nothing(scratch):
    """An empty dictionary to begin with."""
    new_stamp(scratch)
    scratch[1] = scratch[0]
    scratch[3] = 0


def put_name(data, scratch, entry, value, at):
    """A name of the dictionary that is a document's key; up to seven bytes of it are in its prefix."""
    prefix = scratch[entry]
    size = prefix & 15
    if size < 8:
        for k in range(size):
            value[at + k] = prefix >> 52 - 8 * k & 255
    else:
        size = scratch[entry + 1] >> 32
        machine.copy_raw(value, at, data, scratch[entry + 1] & LOW_HALF, size)
    return at + size


def put_keys(data, value, scratch, at, width):
    """What the dictionary holds behind the column names."""
    count = scratch[4] - width
    put(value, at, count, 4)
    lengths_at = at + 4
    at = lengths_at + 2 * count
    for i in range(count):
        begun = at
        at = put_name(data, scratch, scratch[6] + 2 * (width + i), value, at)
        put(value, lengths_at + 2 * i, at - begun, 2)
    return at


def put_dictionary(data, scratch, metadata, at, end):
    """VARIANT metadata of a dictionary without column names; gives where it ends, or -1 if that is behind ``end``."""
    count = scratch[4]
    total = 0
    for i in range(count):
        entry = scratch[6] + 2 * i
        size = scratch[entry] & 15
        total += size if size < 8 else scratch[entry + 1] >> 32
    most = total if total > count else count
    width = 1 if most < 256 else 2 if most < 65536 else 4
    if 1 + (count + 2) * width + total > end - at:
        return -1
    metadata[at] = 1 | width - 1 << 6
    put(metadata, at + 1, count, width)
    put(metadata, at + 1 + width, 0, width)
    end_at = at + 1 + 2 * width
    begun = at = end_at + count * width
    for i in range(count):
        at = put_name(data, scratch, scratch[6] + 2 * i, metadata, at)
        put(metadata, end_at, at - begun, width)
        end_at += width
    return at
