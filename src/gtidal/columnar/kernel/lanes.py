"""Cells to the columns of a typed table: row-major slots become flat arrays as Arrow has them.

Every function takes one column of ``count`` images: ``slot`` is its place among an image's cells. The output's row
``at`` is the first that is written, so that a column can be made of several blocks of cells. ``valid`` gets a byte for
each row: 1 for values, 0 for nulls (also dates that are none). Numbers return how many nulls there are; what copies
bytes returns -1 where there is no room, and then has done nothing that counts. Spans were checked when cells were made
and settled, and are checked again.
"""

import gtidal.columnar.kernel.json_keys as json_keys
import gtidal.columnar.kernel.machine as machine

try:
    import cython
except ImportError:  # it is needed to compile only
    import gtidal.columnar.kernel.without_cython as cython

LOW_HALF = 0xFFFFFFFF  # its C type is in the .pxd


def put(out, at, number, size):
    """The low bytes of a number, least significant first."""
    if size == 8:
        machine.put_long(out, at, number)
    elif size == 4:
        for i in range(4):
            out[at + i] = number >> 8 * i & 255
    elif size == 2:
        machine.put_short(out, at, number)
    else:
        out[at] = number & 255


def numbers(slots, states, image_cell, slot, count, size, out, at, valid):
    """Numbers of ``size`` (1, 2, 4, 8) bytes: the slot's low ones. A null is 0."""
    with cython.nogil:
        nulls = 0
        for i in range(count):
            cell = image_cell[i] + slot
            number = slots[cell]
            good = 1
            if states[cell]:
                number = 0
                good = 0
                nulls += 1
            valid[at + i] = good
            put(out, (at + i) * size, number, size)
        return nulls


def wide(slots, states, image_cell, slot, count, kind, out, at, valid):
    """Numbers of 16 bytes, as two of 8. ``kind``: 0 a signed slot, 1 an unsigned one, 2 two slots."""
    with cython.nogil:
        nulls = 0
        for i in range(count):
            cell = image_cell[i] + slot
            low = slots[cell]
            high = 0
            good = 1
            if states[cell]:
                low = 0
                good = 0
                nulls += 1
            elif kind == 2:
                high = slots[cell + 1]
            elif kind == 0 and low < 0:
                high = -1
            valid[at + i] = good
            out[2 * (at + i)] = low
            out[2 * (at + i) + 1] = high
        return nulls


def spans(data, heap, slots, states, image_cell, slot, count, out, offsets, at, valid):
    """Texts and bytes. Bytes that are no text get 2 in ``valid``. ``offsets[at]`` is given. Returns nulls, or -1."""
    with cython.nogil:
        used = offsets[at]
        room = out.shape[0]
        end = data.shape[0]
        heap_end = heap.shape[0]
        nulls = 0
        for i in range(count):
            if i + 8 < count:
                machine.prefetch(data, slots[image_cell[i + 8] + slot] & LOW_HALF)
            cell = image_cell[i] + slot
            state = states[cell]
            start = slots[cell] & LOW_HALF
            size = slots[cell] >> 32
            if state == 0 or state == 5:  # VALUE, RAW
                if size > room - used or size > end - start:
                    return -1
                if size:
                    machine.copy(out, used, data, start, size)
                    used += size
                valid[at + i] = 2 if state == 5 else 1
            elif state == 4 or state == 6:  # HEAP, HEAP_BYTES
                if size > room - used or size > heap_end - start:
                    return -1
                if size:
                    machine.copy(out, used, heap, start, size)
                    used += size
                valid[at + i] = 1
            else:
                valid[at + i] = 0
                nulls += 1
            offsets[at + i + 1] = used
        return nulls


def geometries(data, slots, states, image_cell, slot, count, srids, out, offsets, at, valid):
    """Spans of four bytes of SRID, little-endian, and the rest. Shorter than four: ``valid`` is 2, the rest is all. An
    SRID of more than 31 bits: 3."""
    with cython.nogil:
        used = offsets[at]
        room = out.shape[0]
        end = data.shape[0]
        nulls = 0
        for i in range(count):
            cell = image_cell[i] + slot
            srids[at + i] = 0
            if states[cell] == 0:
                start = slots[cell] & LOW_HALF
                size = slots[cell] >> 32
                if size > room - used or size > end - start:
                    return -1
                valid[at + i] = 2
                if size >= 4:
                    srid = machine.word_at(data, start)
                    valid[at + i] = 1
                    if srid > 2147483647:
                        valid[at + i] = 3
                    else:
                        srids[at + i] = srid
                    start += 4
                    size -= 4
                if size:
                    machine.copy(out, used, data, start, size)
                    used += size
            else:
                valid[at + i] = 0
                nulls += 1
            offsets[at + i + 1] = used
        return nulls


def first_untext(out, offsets, count):
    """Of ``count`` values that lie one behind the other, the first that is not UTF-8; -1 if all are."""
    with cython.nogil:
        data = machine.place(out)
        end = offsets[count]
        if end > len(out) or end < 0:
            return 0
        if machine.ascii_raw(data, 0, end):
            return -1
        for i in range(count):
            start = offsets[i]
            size = offsets[i + 1] - start
            if not machine.ascii_raw(data, start, size) and not json_keys.is_utf8(data, start, size):
                return i
        return -1
