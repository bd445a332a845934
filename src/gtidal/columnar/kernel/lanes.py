"""Cells to the columns of a typed table: slots become flat buffers as Arrow has them.

The cells of a column lie side by side. ``columns`` makes many columns at once, into one buffer, ``out``; ``ways`` says in
ten numbers what a column is and where it goes:

    0 kind     0 a number; 1 a number of 16 bytes of a signed slot, 2 of an unsigned one, 3 of two slots; 4 text or bytes;
               5 the label of a number
    1 cell     the column's first; of two slots, the second are ``stride`` behind the first
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


def put_bitmap(states, first, last, is_text, out, bitmap):
    """A bit for each row from ``first``, a multiple of 8, on: whether it has a value, which text has in several states.
    Gives how many have none."""
    nulls = 0
    i = first
    while i < last:
        if last - i >= 8 and machine.long_raw(states, i) == 0:
            out[bitmap + (i >> 3)] = 255
        else:
            bits = 0
            for k in range(min(8, last - i)):
                state = states[i + k]
                if state == 0 or (is_text and 4 <= state <= 6):  # VALUE, HEAP, RAW, HEAP_BYTES
                    bits |= 1 << k
                else:
                    nulls += 1
            out[bitmap + (i >> 3)] = bits
        i += 8
    return nulls


def put_numbers(slots, states, first, last, size, has_nulls, out, at):
    """Numbers of some rows; a null is 0."""
    for i in range(first, last):
        number = slots[i]
        if has_nulls:  # no branch for each: which values are null cannot be foreseen
            number &= -(states[i] == 0)
        if size == 8:
            machine.put_long_raw(out, at + 8 * i, number)
        elif size == 4:
            machine.put_word_raw(out, at + 4 * i, number)
        elif size == 2:
            machine.put_short_raw(out, at + 2 * i, number)
        else:
            out[at + i] = number & 255


def put_wide(slots, high_slots, states, first, last, kind, out, at):
    """Numbers of 16 bytes."""
    for i in range(first, last):
        there = -(states[i] == 0)
        low = slots[i] & there
        if kind == 3:
            high = high_slots[i] & there
        elif kind == 1:
            high = low >> 63
        else:
            high = 0
        machine.put_long_raw(out, at + 16 * i, low)
        machine.put_long_raw(out, at + 16 * i + 8, high)


def put_spans(data, limit, heap, heap_limit, slots, states, first, last, way, at, out, progress):
    """Texts and bytes; gives 0, 1 or 2 as ``columns`` does."""
    offsets = way[at + 3]
    text = way[at + 5]
    end = way[at + 6] - text
    used = way[at + 9]
    begun = used
    for i in range(first, last):
        if i + 8 < last:
            machine.prefetch_raw(data, slots[i + 8] & LOW_HALF)
        state = states[i]
        if state == 0 or state == 5:  # VALUE, RAW
            start = slots[i] & LOW_HALF
            size = slots[i] >> 32
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
        elif state == 4 or state == 6:  # HEAP, HEAP_BYTES
            start = slots[i] & LOW_HALF
            size = slots[i] >> 32
            if size > end - used:
                return 1
            if size > heap_limit - start:
                progress[0] = i
                return 2
            machine.copy_near(out, text + used, way[at + 6], heap, start, heap_limit, size)
            used += size
        machine.put_word_raw(out, offsets + 4 * i + 4, used)
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


def put_labels(labels, label_heap, label_limit, slots, states, first, last, way, at, out, progress):
    """The labels of numbers; gives 0, 1 or 2 as ``columns`` does."""
    offsets = way[at + 3]
    text = way[at + 5]
    end = way[at + 6] - text
    used = way[at + 9]
    for i in range(first, last):
        if states[i] == 0:
            number = slots[i]
            if number < 0 or number >= way[at + 2]:
                progress[0] = i
                return 2
            span = labels[way[at + 7] + number]
            size = span >> 32
            if size > end - used:
                return 1
            machine.copy_near(out, text + used, way[at + 6], label_heap, span & LOW_HALF, label_limit, size)
            used += size
        machine.put_word_raw(out, offsets + 4 * i + 4, used)
    way[at + 9] = used
    return 0


def columns(data, heap, slots, states, stride, count, ways, labels, label_heap, out, progress):
    """The columns that ``ways`` tells of, of ``count`` images. Gives 0; 1 if there is no room for the text of the column
    progress[1]; 2 if an image, progress[0], has a value that its column cannot hold. The caller has seen to it that
    ``out`` has room for everything but text, and that the cells are there."""
    with cython.nogil:
        source = machine.place(data)
        more = machine.place(heap)
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
        # Some at a time: their bytes are near while all columns take theirs.
        while first < count:
            last = min(first + 512, count)
            at = 0
            while at < len(ways):
                kind = way[at]
                cells = machine.from_long(slots, way[at + 1])
                conditions = machine.from_byte(states, way[at + 1])
                nulls = put_bitmap(conditions, first, last, kind == 4, target, way[at + 4])
                way[at + 8] += nulls
                code = 0
                if kind == 0:
                    size = way[at + 2]
                    # A call for each, so that each is compiled for itself.
                    if size == 8 and nulls == 0:
                        put_numbers(cells, conditions, first, last, 8, 0, target, way[at + 3])
                    elif size == 8:
                        put_numbers(cells, conditions, first, last, 8, 1, target, way[at + 3])
                    elif size == 4 and nulls == 0:
                        put_numbers(cells, conditions, first, last, 4, 0, target, way[at + 3])
                    elif size == 4:
                        put_numbers(cells, conditions, first, last, 4, 1, target, way[at + 3])
                    elif size == 2:
                        put_numbers(cells, conditions, first, last, 2, 1, target, way[at + 3])
                    else:
                        put_numbers(cells, conditions, first, last, 1, 1, target, way[at + 3])
                elif kind < 4:
                    high_cells = machine.from_long(slots, way[at + 1] + (stride if kind == 3 else 0))
                    if kind == 3:
                        put_wide(cells, high_cells, conditions, first, last, 3, target, way[at + 3])
                    elif kind == 2:
                        put_wide(cells, high_cells, conditions, first, last, 2, target, way[at + 3])
                    else:
                        put_wide(cells, high_cells, conditions, first, last, 1, target, way[at + 3])
                elif kind == 4:
                    code = put_spans(
                        source,
                        len(data),
                        more,
                        len(heap),
                        cells,
                        conditions,
                        first,
                        last,
                        way,
                        at,
                        target,
                        progress,
                    )
                else:
                    code = put_labels(
                        spans,
                        names,
                        len(label_heap),
                        cells,
                        conditions,
                        first,
                        last,
                        way,
                        at,
                        target,
                        progress,
                    )
                if code:
                    if code == 1:
                        progress[1] = at // 10
                    return code
                at += 10
            first = last
        return 0


def geometries(data, slots, states, cell, count, srids, out, offsets, valid):
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
            srids[i] = 0
            if states[cell + i] == 0:
                start = slots[cell + i] & LOW_HALF
                size = slots[cell + i] >> 32
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
