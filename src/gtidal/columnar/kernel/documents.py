"""JSON documents and geometries as VARIANT binary.

``settle`` prepares images for ``variant``: a cell of a JSON or GEOMETRY column becomes a span of the heap in state
VARIANT. Its objects use ids of the row's dictionary: first the table's column names, then "srid" and "wkb" if the table
has geometries, then the keys of this image's documents in order of first use. What follows the column names goes to the
heap, too, as the image's keys: how many (4 bytes), the length of each (2 bytes), then all their bytes.
``column`` writes one JSON column for itself, each document with a dictionary of its own keys.

``scratch`` is described in ``json_keys``.
"""

import gtidal.columnar.kernel.json_keys as json_keys
import gtidal.columnar.kernel.json_values as json_values
import gtidal.columnar.kernel.machine as machine

try:
    import cython
except ImportError:  # it is needed to compile only
    import gtidal.columnar.kernel.without_cython as cython
import gtidal.columnar.kernel.sql_values as sql_values

SCRATCH_HEAD = 7872
SCRATCH_SIZE = SCRATCH_HEAD + 3 * 65536
LOW_HALF = 0xFFFFFFFF  # its C type is in the .pxd


def next_pause(pause):
    """For how many images heads are not tried, when they failed again."""
    return 2 * pause + 1 if pause < 255 else pause


def is_new_state(scratch):
    """Whether no image has ended in this state: then nothing has been made of the dictionary, which heads leave out."""
    return scratch[12] > 0 and scratch[1217 + 2 * scratch[12]] == 0


def put_image(data, limit, heap, slots, states, cells, low, high, slot, kind, names, scratch, used, id_size):
    """The documents and geometries of one image; gives where they end, -2 or -3. What a slot was stands before the
    value that it became."""
    for column in range(low, high):
        if kind[column] == 8 or kind[column] == 11:
            cell = cells + slot[column]
            size = slots[cell] >> 32
            start = slots[cell] & LOW_HALF
            if states[cell] == 0 and (size > 0 or kind[column] == 11):
                for i in range(8):
                    heap[used + i] = slots[cell] >> 8 * i & 255
                used += 8
                if kind[column] == 8:
                    at = json_values.put_json(data, limit, names, heap, scratch, used, start, size, id_size)
                else:
                    at = sql_values.put_geometry(
                        data, start, size, heap, used, scratch[8], scratch[9], id_size
                    )
                if at < 0:
                    return at
                slots[cell] = used | at - used << 32
                states[cell] = 7  # VARIANT
                used = at
    return used


def take_back(heap, slots, states, cells, low, high, slot, kind):
    """Makes an image what it was before ``put_image``."""
    for column in range(low, high):
        if kind[column] == 8 or kind[column] == 11:
            cell = cells + slot[column]
            if states[cell] == 7:
                states[cell] = 0
                slots[cell] = machine.long_raw(heap, (slots[cell] & LOW_HALF) - 8)


def put_again(data, heap, slots, states, cells, last, low, high, slot, kind):
    """If the documents and geometries of an image are those of the one before it, at ``last``, which are there already:
    as mostly in updates. Gives 0, and does nothing, if they are not."""
    for column in range(low, high):
        if kind[column] == 8 or kind[column] == 11:
            cell = cells + slot[column]
            size = slots[cell] >> 32
            if states[cell] == 0 and (size > 0 or kind[column] == 11):
                if states[last + slot[column]] != 7:
                    return 0
                was = machine.long_raw(heap, (slots[last + slot[column]] & LOW_HALF) - 8)
                if was >> 32 != size:
                    return 0
                if not machine.same_raw(data, was & LOW_HALF, data, slots[cell] & LOW_HALF, size):
                    return 0
            elif states[cell] != states[last + slot[column]]:
                return 0
    for column in range(low, high):
        if kind[column] == 8 or kind[column] == 11:
            cell = cells + slot[column]
            slots[cell] = slots[last + slot[column]]
            states[cell] = states[last + slot[column]]
    return 1


def settle(
    data, heap, slots, states, image_cell, image_plan, images, plan_first, plan_width, slot, kind, names, name_offsets,
    image_keys, scratch, progress
):  # fmt: skip
    """Settles the images from progress[0] on; progress[1] is how much of the heap is used. Codes: 0 all done;
    1 the heap is full (nothing of this image is done); 2 this image is not ours. ``image_keys`` gets the span
    of each image's keys, 0 where it has none."""
    with cython.nogil:
        known = -1  # the plan that geometry, low and high are about
        dictionary = -1  # the plan whose names are known
        geometry = 0
        base = 0
        width = 0
        low = 0
        high = 0
        pause = 0  # how long heads are not tried, after an image that had none
        waiting = 0
        image = progress[0]
        used = progress[1]
        first = image
        source = machine.place(data)
        target = machine.room(heap)
        kept = machine.longs(scratch)
        if json_keys.set_up(kept, len(scratch)) < 0:
            return 2
        while image < images:
            progress[0] = image
            progress[1] = used
            image_keys[image] = 0
            if image_plan[image] != known:
                known = image_plan[image]
                base = plan_first[known]
                width = plan_width[known]
                geometry = 0
                low = base + width  # the first of its documents and geometries, and behind the last
                high = base
                for column in range(base, base + width):
                    if kind[column] == 8 or kind[column] == 11:  # JSON, GEOMETRY
                        low = min(low, column)
                        high = column + 1
                    if kind[column] == 11:
                        geometry = 1
            if low < high:
                cells = image_cell[image]
                total = 0
                fields = 0
                for column in range(low, high):
                    if kind[column] == 8 or kind[column] == 11:
                        cell = cells + slot[column]
                        if states[cell] == 0:
                            size = slots[cell] >> 32
                            if size > len(data) - (slots[cell] & LOW_HALF):
                                return 2
                            total += size
                            fields += 1
                if (
                    fields
                    and image > first
                    and image_plan[image - 1] == known
                    and put_again(
                        source, target, machine.longs(slots), machine.room(states), cells, image_cell[image - 1],
                        low, high, machine.words(slot), machine.words(kind),
                    )
                ):  # fmt: skip
                    image_keys[image] = image_keys[image - 1]
                elif fields or geometry:
                    # Twice its size and some bytes for each document, once for all keys.
                    if 3 * total + 144 * fields + 64 > len(heap) - used:
                        return 1
                    if dictionary != known:
                        dictionary = -1
                        if (
                            json_keys.know_names(
                                machine.place(names), machine.words(name_offsets), kept, base, width, geometry
                            )
                            < 0
                        ):
                            return 2
                        dictionary = known
                    id_size = json_values.width_of(
                        width + 2 + total // 7
                    )  # a key takes seven bytes and its own
                    with_heads = waiting == 0
                    json_keys.begin(kept, with_heads)
                    at = put_image(
                        source, len(data), target, machine.longs(slots), machine.room(states), cells, low, high,
                        machine.words(slot), machine.words(kind), machine.place(names), kept, used, id_size,
                    )  # fmt: skip
                    if at == -3 or (with_heads and at >= 0 and is_new_state(kept)):
                        pause = next_pause(pause)
                        waiting = pause
                        take_back(
                            target, machine.longs(slots), machine.room(states), cells, low, high,
                            machine.words(slot), machine.words(kind),
                        )  # fmt: skip
                        json_keys.begin(kept, 0)
                        at = put_image(
                            source, len(data), target, machine.longs(slots), machine.room(states), cells, low, high,
                            machine.words(slot), machine.words(kind), machine.place(names), kept, used, id_size,
                        )  # fmt: skip
                    elif with_heads:
                        pause = 0
                    else:
                        waiting -= 1
                    if at < 0:
                        return 2
                    used = at
                    keys = scratch[1217 + 2 * scratch[12]] if scratch[11] else 0
                    if not keys:
                        keys = -1
                        if scratch[4] > width:
                            at = json_keys.put_keys(source, target, kept, used, width)
                            keys = used | at - used << 32
                            used = at
                        if scratch[11]:
                            scratch[1217 + 2 * scratch[12]] = keys
                    if keys > 0:
                        image_keys[image] = keys
            image += 1
        progress[0] = image
        progress[1] = used
        return 0


def column(
    data, slots, states, image_cell, slot, images, value, value_offsets, metadata, metadata_offsets, valid, scratch,
    progress
):  # fmt: skip
    """Writes the documents of a column, of the images from progress[0] on; the offsets of that image are given.
    ``slot`` is the column's place among an image's cells; ``valid`` gets 0 for nulls. A document of no bytes is a
    VARIANT null. progress: 1 how many nulls there were. Codes: 0 all done; 1 value or metadata is full; 2 this document
    is not ours; 3 it would be larger than 128 MiB."""
    with cython.nogil:
        image = progress[0]
        first = image
        used = value_offsets[image]
        noted = metadata_offsets[image]
        pause = 0  # how long heads are not tried, after a document that had none
        waiting = 0
        source = machine.place(data)
        target = machine.room(value)
        names = machine.room(metadata)
        kept = machine.longs(scratch)
        if json_keys.set_up(kept, len(scratch)) < 0:
            return 2
        json_keys.know_nothing(kept)
        while image < images:
            progress[0] = image
            if image + 6 < images:
                machine.prefetch(data, slots[image_cell[image + 6] + slot] & LOW_HALF)
            cell = image_cell[image] + slot
            state = states[cell]
            valid[image] = 1
            if state != 0:
                valid[image] = 0
                progress[1] += 1
            else:
                size = slots[cell] >> 32
                start = slots[cell] & LOW_HALF
                if size > len(data) - start:
                    return 2
                if 2 * size + 128 > len(value) - used:
                    return 1
                last = image_cell[image - 1] + slot if image > first else cell
                if (
                    image > first
                    and states[last] == 0
                    and slots[last] >> 32 == size
                    and machine.same_raw(source, slots[last] & LOW_HALF, source, start, size)
                ):  # as mostly in updates
                    size = used - value_offsets[image - 1]
                    if size > len(value) - used:
                        return 1
                    machine.copy_raw(target, used, target, value_offsets[image - 1], size)
                    used += size
                    size = noted - metadata_offsets[image - 1]
                    if size > len(metadata) - noted:
                        return 1
                    machine.copy_raw(names, noted, names, metadata_offsets[image - 1], size)
                    noted += size
                else:
                    with_heads = waiting == 0
                    json_keys.begin(kept, with_heads)
                    at = used + 1
                    if size == 0:
                        value[used] = 0
                    else:
                        id_size = json_values.width_of(2 + size // 7)  # a key takes seven bytes and its own
                        at = json_values.put_json(
                            source, len(data), source, target, kept, used, start, size, id_size
                        )
                        if at == -3 or (with_heads and at >= 0 and is_new_state(kept)):
                            pause = next_pause(pause)
                            waiting = pause
                            json_keys.begin(kept, 0)
                            at = json_values.put_json(
                                source, len(data), source, target, kept, used, start, size, id_size
                            )
                        elif with_heads:
                            pause = 0
                        else:
                            waiting -= 1
                    if at < 0:
                        return 2
                    if at - used > 134217728:
                        return 3
                    used = at
                    known = scratch[1217 + 2 * scratch[12]] if scratch[11] else 0
                    if known:  # a dictionary like this one is there
                        size = known >> 32
                        if size > len(metadata) - noted:
                            return 1
                        machine.copy_raw(names, noted, names, known & LOW_HALF, size)
                        noted += size
                    else:
                        at = json_keys.put_dictionary(source, kept, names, noted, len(metadata))
                        if at < 0:
                            return 1
                        if at - noted > 134217728:
                            return 3
                        if scratch[11]:
                            scratch[1217 + 2 * scratch[12]] = noted | at - noted << 32
                        noted = at
            image += 1
            value_offsets[image] = used
            metadata_offsets[image] = noted
        progress[0] = image
        return 0
