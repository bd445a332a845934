"""Row images as VARIANT binary.

An image is an object with a field for each column that it holds; ids are column numbers, listed in the order of the
names. The dictionary (metadata) is the column names, then what ``documents.settle`` has left as the image's keys.
Cells are settled by ``texts`` and ``documents`` before.

The size of offsets is chosen from an upper bound, so that every value is written once, where it stays. Values lie
in column order. The upper bound is also what must be left of ``value``.

``scratch``, which need not be kept between calls, has 256 entries and eight for each column of the widest table:
    0     of the last metadata for 32 plans, without and with keys: plan, start, size, the image's keys
    256   for each column of the plan: 0 slot, 1 kind, 2 header, 3 size, 4 argument, 5 its rank by name among the columns
          that the image holds, 6 all bits if its value is a span, else 0
"""

import gtidal.columnar.kernel.machine as machine

try:
    import cython
except ImportError:  # it is needed to compile only
    import gtidal.columnar.kernel.without_cython as cython

SCRATCH_SIZE = 256 + 8 * 4096
LOW_HALF = 0xFFFFFFFF  # its C type is in the .pxd


def put(value, at, number, size):
    """The low bytes of a number, least significant first. The loop of known length becomes one store."""
    if size == 1:
        value[at] = number & 255
    elif size == 2:
        machine.put_short_raw(value, at, number)
    elif size == 4:
        for i in range(4):
            value[at + i] = number >> 8 * i & 255
    else:
        for i in range(size):
            value[at + i] = number >> 8 * i & 255


def width_of(most):
    """How many bytes hold numbers up to ``most``."""
    if most < 256:
        return 1
    if most < 65536:
        return 2
    if most < 16777216:
        return 3
    return 4


def put_text_head(value, at, size):
    """What stands before so many bytes of text."""
    if size < 64:
        value[at] = size << 2 | 1
        return at + 1
    value[at] = 64
    put(value, at + 1, size, 4)
    return at + 5


def put_binary(value, at, source, start, size):
    value[at] = 60
    put(value, at + 1, size, 4)
    machine.copy_raw(value, at + 5, source, start, size)
    return at + 5 + size


def put_wide(value, at, scale, low, high):
    value[at] = 40
    value[at + 1] = scale
    machine.put_long_raw(value, at + 2, low)
    machine.put_long_raw(value, at + 10, high)
    return at + 18


def put_label(value, at, labels, label_offsets, label):
    start = label_offsets[label]
    size = label_offsets[label + 1] - start
    at = put_text_head(value, at, size)
    machine.copy_raw(value, at, labels, start, size)
    return at + size


def put_set(value, at, bits, labels, label_offsets, first, count):
    """The labels whose bits are set, as an array; the number if a bit has no label."""
    if count < 64 and bits >> count != 0:
        if bits < 0:
            return put_wide(value, at, 0, bits, 0)
        value[at] = 24
        machine.put_long_raw(value, at + 1, bits)
        return at + 9
    members = 0
    size = 0
    for i in range(count):
        if bits >> i & 1:
            members += 1
            size += 5 + label_offsets[first + i + 1] - label_offsets[first + i]
    offset_size = width_of(size)
    value[at] = offset_size - 1 << 2 | 3
    value[at + 1] = members
    offset_at = at + 2
    data_at = offset_at + (members + 1) * offset_size
    at = data_at
    for i in range(count):
        if bits >> i & 1:
            put(value, offset_at, at - data_at, offset_size)
            offset_at += offset_size
            at = put_label(value, at, labels, label_offsets, first + i)
    put(value, offset_at, at - data_at, offset_size)
    return at


def put_vector(value, at, data, start, size):
    """An array of floats; binary if the last one is not whole."""
    if size & 3:
        return put_binary(value, at, data, start, size)
    count = size // 4
    large = 1 if count > 255 else 0
    offset_size = width_of(5 * count)
    value[at] = (large << 2 | offset_size - 1) << 2 | 3
    put(value, at + 1, count, 4 if large else 1)
    at += 5 if large else 2
    for i in range(count + 1):
        put(value, at, 5 * i, offset_size)
        at += offset_size
    for i in range(count):
        value[at] = 56
        machine.copy_raw(value, at + 1, data, start + 4 * i, 4)
        at += 5
    return at


def put_metadata(heap, names, name_offsets, base, width, keys, metadata, at, room):
    """The dictionary; gives where it ends, or -1 if it would end behind ``room``. ``keys`` is a span of the heap."""
    key_start = keys & LOW_HALF
    count = machine.word_raw(heap, key_start) if keys else 0
    names_size = name_offsets[base + width] - name_offsets[base]
    key_bytes = key_start + 4 + 2 * count
    keys_size = key_start + (keys >> 32) - key_bytes if keys else 0
    total = names_size + keys_size
    size = width_of(total if total > width + count else width + count)
    if 1 + (width + count + 2) * size + total > room - at:
        return -1
    metadata[at] = 1 | size - 1 << 6
    put(metadata, at + 1, width + count, size)
    at += 1 + size
    for i in range(width + 1):
        put(metadata, at, name_offsets[base + i] - name_offsets[base], size)
        at += size
    end = names_size
    for i in range(count):
        end += heap[key_start + 4 + 2 * i] | heap[key_start + 5 + 2 * i] << 8
        put(metadata, at, end, size)
        at += size
    if names_size:
        machine.copy_raw(metadata, at, names, name_offsets[base], names_size)
    if keys_size:
        machine.copy_raw(metadata, at + names_size, heap, key_bytes, keys_size)
    return at + total


def unfit_names(names, name_offsets, order, base, width):
    """Whether two columns have the same name, or one holds half a surrogate pair, which is no UTF-8."""
    for i in range(name_offsets[base], name_offsets[base + width] - 1):
        if names[i] == 237 and names[i + 1] >= 160:
            return 1
    for i in range(1, width):
        one = base + order[base + i - 1]
        other = base + order[base + i]
        size = name_offsets[one + 1] - name_offsets[one]
        if size == name_offsets[other + 1] - name_offsets[other] and (
            size == 0 or machine.same(names, name_offsets[one], names, name_offsets[other], size)
        ):
            return 1
    return 0


def same_keys(heap, one, other):
    """Whether two spans of the heap hold the same keys; 0 is no keys."""
    if one == other:
        return 1
    if one >> 32 != other >> 32:
        return 0
    return machine.same(heap, one & LOW_HALF, heap, other & LOW_HALF, one >> 32)


def write(
    data, heap, slots, states, image_cell, image_plan, image_keys, images, first, count, plan_first, plan_width, slot,
    kind, kind_header, kind_size, kind_arg, order, names, name_offsets, labels, label_first, label_offsets, scratch,
    value, value_offsets, metadata, metadata_offsets, progress
):  # fmt: skip
    """Writes the output rows from ``first`` on: row r is image images[r], or null (no bytes) where that is -1. The
    offsets of row ``first`` are given, those of the following rows are written. progress: 0 next row, 1 and 2
    bytes used of value and metadata. Codes: 0 all done; 1 value or metadata is full; 2 this row is not ours;
    3 it would be larger than 128 MiB."""
    with cython.nogil:
        row = first
        used = value_offsets[first]
        noted = metadata_offsets[first]
        value_room = len(value) if len(value) < 2147483647 else 2147483647  # offsets have 31 bits
        metadata_room = len(metadata) if len(metadata) < 2147483647 else 2147483647
        known = -1  # the plan that the following and the scratch are about
        base = 0
        width = 0
        most = 0  # the bytes that its columns take at most, spans excepted
        vectors = 0
        span_slot = -1  # its first span of the data, and of the heap
        heap_slot = -1
        ranked = 0  # whether the ranks of all its columns are in the scratch, and the ids in value
        ranked_at = 0
        target = machine.room(value)
        noted_in = machine.room(metadata)
        source = machine.place(data)
        kept = machine.place(heap)
        cell_slots = machine.steps(slots)
        cell_states = machine.place(states)
        steps = machine.longs(scratch)
        for i in range(64):
            scratch[4 * i] = -1
        while True:
            progress[0] = row
            progress[1] = used
            progress[2] = noted
            if row >= first + count:
                return 0
            image = images[row]
            row += 1
            if image < 0:
                value_offsets[row] = used
                metadata_offsets[row] = noted
                continue
            if row + 3 < first + count and images[row + 3] >= 0:
                ahead = images[row + 3]
                if image_plan[ahead] == known:
                    ahead = image_cell[ahead]
                    if span_slot >= 0:
                        machine.prefetch(data, slots[ahead + span_slot] & LOW_HALF)
                    if heap_slot >= 0:
                        machine.prefetch(heap, slots[ahead + heap_slot] & LOW_HALF)
            plan = image_plan[image]
            cells = image_cell[image]
            if plan != known:
                known = -1
                base = plan_first[plan]
                width = plan_width[plan]
                if 8 * width > len(scratch) - 256:
                    return 2
                ranked = 0
                vectors = 0
                most = 0
                span_slot = -1
                heap_slot = -1
                for column in range(base, base + width):
                    code = kind[column]
                    step = 256 + 8 * (column - base)
                    steps[step] = slot[column]
                    steps[step + 1] = code
                    steps[step + 2] = kind_header[column]
                    steps[step + 3] = kind_size[column]
                    steps[step + 4] = kind_arg[column]
                    steps[step + 6] = 0
                    if code == 6 or code == 7 or code == 12:  # STRING, BINARY, VECTOR
                        steps[step + 6] = -1
                        most += 5
                        if span_slot < 0:
                            span_slot = slot[column]
                        if code == 12:
                            vectors = 1
                    elif code == 9 or code == 10:  # LABEL, LABELS
                        label = label_first[column]
                        last = label_first[column + 1]
                        most += 24 + 10 * (last - label) + label_offsets[last] - label_offsets[label]
                    else:
                        most += 18
                        if (code == 8 or code == 11) and heap_slot < 0:
                            heap_slot = slot[column]
                known = plan

            # The most bytes that it takes, and the least.
            present = width
            least = 0
            stop = 256 + 8 * width
            step = 256
            while step < stop:
                cell = cells + steps[step]
                state = cell_states[cell]
                if state == 0:
                    least += cell_slots[cell] >> 32 & steps[step + 6]
                elif state >= 4:
                    least += cell_slots[cell] >> 32
                elif state == 2:  # ABSENT
                    present -= 1
                step += 8
            bound = most + least
            if vectors:
                for column in range(base, base + width):
                    if kind[column] == 12:
                        bound += 2 * (slots[cells + slot[column]] >> 32) + 27
            id_size = width_of(width)
            offset_size = width_of(bound)
            large = 1 if present > 255 else 0
            bound += 5 + present * id_size + (present + 1) * offset_size
            if least > 134217728:
                return 3
            if bound > value_room - used:
                return 1

            # Its head; for each column where among the names its offset goes.
            target[used] = (large << 4 | id_size - 1 << 2 | offset_size - 1) << 2 | 2
            put(target, used + 1, present, 4 if large else 1)
            at = used + (5 if large else 2)
            offset_at = at + present * id_size
            if ranked and present == width and width > 0:
                machine.copy_raw(target, at, target, ranked_at, width * id_size)
            else:
                rank = 0
                for i in range(base, base + width):
                    column = order[i]
                    if states[cells + slot[base + column]] != 2:
                        steps[256 + 8 * column + 5] = rank
                        put(target, at, column, id_size)
                        at += id_size
                        rank += 1
                ranked = 1 if present == width else 0
            ranked_at = offset_at - present * id_size

            # The values, in the order of the columns.
            data_at = offset_at + (present + 1) * offset_size
            at = data_at
            following = 256
            while following < stop:
                step = following
                following += 8
                cell = cells + steps[step]
                state = cell_states[cell]
                code = steps[step + 1]
                if state:
                    code = 16 + state
                    if state == 2:  # ABSENT
                        continue
                if offset_size == 2:
                    machine.put_short_raw(target, offset_at + 2 * steps[step + 5], at - data_at)
                else:
                    put(target, offset_at + steps[step + 5] * offset_size, at - data_at, offset_size)
                number = cell_slots[cell]
                if code == 1:  # NUMBER: what is written behind it is overwritten by the next
                    target[at] = steps[step + 2]
                    machine.put_long_raw(target, at + 1, number)
                    at += 1 + steps[step + 3]
                    continue
                size = number >> 32
                start = number & LOW_HALF
                if code == 6:  # STRING
                    if size > len(data) - start:
                        return 2
                    at = put_text_head(target, at, size)
                    machine.copy_raw(target, at, source, start, size)
                    at += size
                elif code == 20:  # HEAP
                    if size > len(heap) - start:
                        return 2
                    at = put_text_head(target, at, size)
                    machine.copy_raw(target, at, kept, start, size)
                    at += size
                elif code == 3:  # DECIMAL
                    target[at] = steps[step + 2]
                    target[at + 1] = steps[step + 4]
                    machine.put_long_raw(target, at + 2, number)
                    at += 2 + steps[step + 3]
                elif code == 7 or code == 21:  # BINARY; RAW
                    if size > len(data) - start:
                        return 2
                    at = put_binary(target, at, source, start, size)
                elif code == 22:  # HEAP_BYTES
                    if size > len(heap) - start:
                        return 2
                    at = put_binary(target, at, kept, start, size)
                elif code == 23:  # VARIANT
                    if size > len(heap) - start:
                        return 2
                    machine.copy_raw(target, at, kept, start, size)
                    at += size
                elif code == 9:  # LABEL
                    column = base + ((step - 256) >> 3)
                    label = label_first[column] + number - 1
                    if number == 0:
                        target[at] = 1
                        at += 1
                    elif number > 0 and label < label_first[column + 1]:
                        at = put_label(target, at, machine.place(labels), machine.words(label_offsets), label)
                    else:
                        target[at] = 24
                        machine.put_long_raw(target, at + 1, number)
                        at += 9
                elif code == 5:  # WIDE_DECIMAL
                    at = put_wide(target, at, steps[step + 4], number, cell_slots[cell + 1])
                elif code == 4:  # UNSIGNED
                    at = put_wide(target, at, 0, number, 0)
                elif code == 2:  # BOOLEAN
                    target[at] = 4 if number else 8
                    at += 1
                elif code == 10:  # LABELS
                    column = base + ((step - 256) >> 3)
                    label = label_first[column]
                    at = put_set(
                        target, at, number, machine.place(labels), machine.words(label_offsets), label,
                        label_first[column + 1] - label,
                    )  # fmt: skip
                elif code == 12:  # VECTOR
                    if size > len(data) - start:
                        return 2
                    at = put_vector(target, at, source, start, size)
                elif code == 0 or code == 17:  # NULL
                    target[at] = 0
                    at += 1
                elif code == 8:  # JSON of no bytes, which is null; else it is not settled
                    if size:
                        return 2
                    target[at] = 0
                    at += 1
                else:  # ZERO, GEOMETRY that is not settled
                    return 2
            put(target, offset_at + present * offset_size, at - data_at, offset_size)
            if at - used > 134217728:
                return 3

            # The dictionary, that of this plan's last row if the keys are the same.
            keys = image_keys[image]
            last = 4 * (2 * plan + (1 if keys else 0) & 63)
            if scratch[last] == plan and same_keys(heap, keys, scratch[last + 3]):
                size = scratch[last + 2]
                if size > metadata_room - noted:
                    return 1
                machine.copy_raw(noted_in, noted, noted_in, scratch[last + 1], size)
                noted += size
            else:
                if scratch[last] != plan and unfit_names(names, name_offsets, order, base, width):
                    return 2
                size = (
                    put_metadata(
                        kept,
                        machine.place(names),
                        machine.words(name_offsets),
                        base,
                        width,
                        keys,
                        noted_in,
                        noted,
                        metadata_room,
                    )
                    - noted
                )
                if size < 0:
                    return 1
                if size > 134217728:
                    return 3
                scratch[last] = plan
                scratch[last + 1] = noted
                scratch[last + 2] = size
                scratch[last + 3] = keys
                noted += size
            used = at
            value_offsets[row] = used
            metadata_offsets[row] = noted
