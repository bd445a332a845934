"""Cells to the columns of a typed table: row-major slots become flat buffers as Arrow has them.

``columns`` makes many of them at once, some images at a time, so that their cells are near while all columns take theirs.
What it makes lies in one buffer, ``out``. ``ways`` says in ten numbers what a column is and where it goes:

    0 kind     0 a number; 1 a number of 16 bytes of a signed slot, 2 of an unsigned one, 3 of two slots; 4 text or bytes;
               5 the label of a number
    1 slot     the column's place among an image's cells
    2 size     of a number: 1, 2, 4 or 8, the slot's low bytes; of text: 0 bytes of any kind, 1 text, 2 text that has to be
               asked whether it is UTF-8; of labels: how many there are
    3 values   where the numbers go, or the offsets of text
    4 bitmap   where a bit for each row goes: 1 for values, 0 for nulls (also dates that are none), whose number is 0
    5 text     where the bytes of text go
    6 end      of the room for them
    7 labels   the first one's place in ``labels``, which has start | size << 32 of each in ``label_heap``
    8 nulls    out: how many there are
    9 used     out: where text ends, counted from its beginning

Spans were checked when cells were made and settled, and are checked again.
"""

import gtidal.columnar.kernel.machine as machine

try:
    import cython
except ImportError:  # it is needed to compile only
    import gtidal.columnar.kernel.without_cython as cython

LOW_HALF = 0xFFFFFFFF  # its C type is in the .pxd


def put_numbers(slots, states, image_cell, slot, first, last, size, out, at, bitmap):
    """The numbers of some images, from a multiple of 8 on; gives how many are null."""
    nulls = 0
    bits = 0
    for i in range(first, last):
        cell = image_cell[i] + slot
        good = 1 if states[cell] == 0 else 0
        number = slots[cell] & -good  # no branch: which values are null cannot be foreseen
        if size == 8:
            machine.put_long_raw(out, at + 8 * i, number)
        elif size == 4:
            machine.put_word_raw(out, at + 4 * i, number)
        elif size == 2:
            machine.put_short_raw(out, at + 2 * i, number)
        else:
            out[at + i] = number & 255
        nulls += 1 - good
        bits |= good << (i & 7)
        if i & 7 == 7 or i == last - 1:
            out[bitmap + (i >> 3)] = bits
            bits = 0
    return nulls


def put_wide(slots, states, image_cell, slot, first, last, kind, out, at, bitmap):
    """Numbers of 16 bytes."""
    nulls = 0
    bits = 0
    for i in range(first, last):
        cell = image_cell[i] + slot
        good = 1 if states[cell] == 0 else 0
        low = slots[cell] & -good
        if kind == 3:
            high = slots[cell + 1] & -good
        elif kind == 1:
            high = low >> 63
        else:
            high = 0
        machine.put_long_raw(out, at + 16 * i, low)
        machine.put_long_raw(out, at + 16 * i + 8, high)
        nulls += 1 - good
        bits |= good << (i & 7)
        if i & 7 == 7 or i == last - 1:
            out[bitmap + (i >> 3)] = bits
            bits = 0
    return nulls


def put_spans(data, limit, heap, heap_limit, slots, states, image_cell, first, last, way, at, out, progress):
    """Texts and bytes; gives 0, 1 or 2 as ``columns`` does."""
    slot = way[at + 1]
    offsets = way[at + 3]
    bitmap = way[at + 4]
    text = way[at + 5]
    end = way[at + 6] - text
    used = way[at + 9]
    begun = used
    bits = 0
    for i in range(first, last):
        if i + 8 < last:
            machine.prefetch_raw(data, slots[image_cell[i + 8] + slot] & LOW_HALF)
        cell = image_cell[i] + slot
        state = states[cell]
        good = 0
        if state == 0 or state == 5:  # VALUE, RAW
            start = slots[cell] & LOW_HALF
            size = slots[cell] >> 32
            if state == 5 and way[at + 2] != 0:
                progress[0] = i
                return 2
            if size > end - used:
                return 1
            if size > limit - start:
                progress[0] = i
                return 2
            machine.copy_near(out, text + used, way[at + 6], data, start, limit, size)
            used += size
            good = 1
        elif state == 4 or state == 6:  # HEAP, HEAP_BYTES
            start = slots[cell] & LOW_HALF
            size = slots[cell] >> 32
            if size > end - used:
                return 1
            if size > heap_limit - start:
                progress[0] = i
                return 2
            machine.copy_near(out, text + used, way[at + 6], heap, start, heap_limit, size)
            used += size
            good = 1
        way[at + 8] += 1 - good
        machine.put_word_raw(out, offsets + 4 * i + 4, used)
        bits |= good << (i & 7)
        if i & 7 == 7 or i == last - 1:
            out[bitmap + (i >> 3)] = bits
            bits = 0
    way[at + 9] = used
    if way[at + 2] == 2:
        i = first_untext(out, text, begun, used, offsets, first, last)
        if i >= 0:
            progress[0] = i
            return 2
    return 0


def first_untext(out, text, begun, used, offsets, first, last):
    """Of texts that lie one behind the other, the first that is not UTF-8; -1 if all are."""
    if machine.ascii_raw(out, text + begun, used - begun):
        return -1
    # All together are UTF-8, and none begins in the middle of a character: then each is.
    whole = machine.utf8_raw(out, text + begun, used - begun)
    for i in range(first, last):
        start = machine.word_raw(out, offsets + 4 * i)
        if start < used and out[text + start] & 192 == 128:
            whole = 0
    if whole:
        return -1
    for i in range(first, last):
        start = machine.word_raw(out, offsets + 4 * i)
        size = machine.word_raw(out, offsets + 4 * i + 4) - start
        if not machine.utf8_raw(out, text + start, size):
            return i
    return -1


def put_labels(
    labels, label_heap, label_limit, slots, states, image_cell, first, last, way, at, out, progress
):
    """The labels of numbers; gives 0, 1 or 2 as ``columns`` does."""
    slot = way[at + 1]
    offsets = way[at + 3]
    bitmap = way[at + 4]
    text = way[at + 5]
    end = way[at + 6] - text
    used = way[at + 9]
    bits = 0
    for i in range(first, last):
        cell = image_cell[i] + slot
        good = 0
        if states[cell] == 0:
            number = slots[cell]
            if number < 0 or number >= way[at + 2]:
                progress[0] = i
                return 2
            span = labels[way[at + 7] + number]
            size = span >> 32
            if size > end - used:
                return 1
            machine.copy_near(out, text + used, way[at + 6], label_heap, span & LOW_HALF, label_limit, size)
            used += size
            good = 1
        way[at + 8] += 1 - good
        machine.put_word_raw(out, offsets + 4 * i + 4, used)
        bits |= good << (i & 7)
        if i & 7 == 7 or i == last - 1:
            out[bitmap + (i >> 3)] = bits
            bits = 0
    way[at + 9] = used
    return 0


def columns(data, heap, slots, states, image_cell, count, ways, labels, label_heap, out, progress):
    """The columns that ``ways`` tells of, of ``count`` images. Gives 0; 1 if there is no room for the text of the column
    progress[1], which is full at the image progress[0]; 2 if an image, progress[0], has a value that its column cannot
    hold. The caller has seen to it that ``out`` has room for everything but text."""
    with cython.nogil:
        source = machine.place(data)
        more = machine.place(heap)
        cells = machine.steps(slots)
        conditions = machine.place(states)
        image_cells = machine.words(image_cell)
        way = machine.longs(ways)
        target = machine.room(out)
        spans = machine.steps(labels)
        names = machine.place(label_heap)
        at = 0
        while at < len(ways):
            way[at + 8] = 0
            way[at + 9] = 0
            if way[at] >= 4:
                machine.put_word_raw(target, way[at + 3], 0)
            at += 10
        first = 0
        while first < count:
            last = min(first + 256, count)
            at = 0
            while at < len(ways):
                kind = way[at]
                code = 0
                if kind == 0:
                    size = way[at + 2]
                    # A call for each, so that each is compiled for itself.
                    if size == 8:
                        nulls = put_numbers(
                            cells, conditions, image_cells, way[at + 1], first, last, 8, target, way[at + 3], way[at + 4]
                        )  # fmt: skip
                    elif size == 4:
                        nulls = put_numbers(
                            cells, conditions, image_cells, way[at + 1], first, last, 4, target, way[at + 3], way[at + 4]
                        )  # fmt: skip
                    elif size == 2:
                        nulls = put_numbers(
                            cells, conditions, image_cells, way[at + 1], first, last, 2, target, way[at + 3], way[at + 4]
                        )  # fmt: skip
                    else:
                        nulls = put_numbers(
                            cells, conditions, image_cells, way[at + 1], first, last, 1, target, way[at + 3], way[at + 4]
                        )  # fmt: skip
                    way[at + 8] += nulls
                elif kind < 4:
                    way[at + 8] += put_wide(
                        cells, conditions, image_cells, way[at + 1], first, last, kind, target, way[at + 3], way[at + 4]
                    )  # fmt: skip
                elif kind == 4:
                    code = put_spans(
                        source, len(data), more, len(heap), cells, conditions, image_cells, first, last, way, at, target,
                        progress,
                    )  # fmt: skip
                else:
                    code = put_labels(
                        spans, names, len(label_heap), cells, conditions, image_cells, first, last, way, at, target,
                        progress,
                    )  # fmt: skip
                if code:
                    if code == 1:
                        progress[0] = first
                        progress[1] = at // 10
                    return code
                at += 10
            first = last
        return 0


def geometries(data, slots, states, image_cell, slot, count, srids, out, offsets, valid):
    """Spans of four bytes of SRID, little-endian, and the rest; gives how many nulls there are, or -1 where there is no
    room. ``valid`` gets a byte for each row: 1 for values, 0 for nulls; shorter than four bytes: 2, the rest is all. An
    SRID of more than 31 bits: 3."""
    with cython.nogil:
        used = 0
        offsets[0] = 0
        room = out.shape[0]
        end = data.shape[0]
        nulls = 0
        for i in range(count):
            cell = image_cell[i] + slot
            srids[i] = 0
            if states[cell] == 0:
                start = slots[cell] & LOW_HALF
                size = slots[cell] >> 32
                if size > room - used or size > end - start:
                    return -1
                valid[i] = 2
                if size >= 4:
                    srid = machine.word_at(data, start)
                    valid[i] = 1
                    if srid > 2147483647:
                        valid[i] = 3
                    else:
                        srids[i] = srid
                    start += 4
                    size -= 4
                if size:
                    machine.copy(out, used, data, start, size)
                    used += size
            else:
                valid[i] = 0
                nulls += 1
            offsets[i + 1] = used
        return nulls
