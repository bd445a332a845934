"""Gathering: values that lie here and there become one stretch, with offsets where Arrow wants them.

All of them look up what codes stand for; a code below 0 is null. They return 0 when done, 1 where there is no room, or a
code that stands for nothing.
"""

import gtidal.columnar.kernel.machine as machine

try:
    import cython
except ImportError:  # it is needed to compile only
    import gtidal.columnar.kernel.without_cython as cython

NONE = -(2**63 - 1)  # its C type is in the .pxd


def measured(sizes, codes, counts, runs, progress):
    """How many bytes the texts of these codes have, and how many are null: in progress[0] and progress[1]. The code of
    run r stands for ``counts[r]`` texts, for one where there are no counts."""
    with cython.nogil:
        total = 0
        nulls = 0
        texts = sizes.shape[0]
        single = counts.shape[0] == 0
        for r in range(runs):
            code = codes[r]
            if code >= texts:
                return 1
            count = 1 if single else counts[r]
            size = sizes[code] if code >= 0 else -1
            if size >= 0:
                total += size * count
            else:
                nulls += count
        progress[0] = total
        progress[1] = nulls
        return 0


def picked(data, starts, sizes, codes, counts, runs, out, offsets):
    """The texts of codes in runs: text k is ``sizes[k]`` bytes at ``starts[k]`` of ``data``. A code or a size below 0 is
    null, which has no bytes. ``offsets`` gets one entry more than there are texts."""
    with cython.nogil:
        used = 0
        room = out.shape[0]
        end = data.shape[0]
        texts = starts.shape[0]
        places = offsets.shape[0]
        single = counts.shape[0] == 0
        offsets[0] = 0
        at = 1
        source = machine.place(data)
        target = machine.room(out)
        for r in range(runs):
            code = codes[r]
            count = 1 if single else counts[r]
            if count > places - at:
                return 1
            size = 0
            start = 0
            if code >= 0:
                if code >= texts:
                    return 1
                if sizes[code] > 0:
                    size = sizes[code]
                    start = starts[code]
                    if start < 0 or size > end - start:
                        return 1
            for k in range(count):
                if size:
                    if size > room - used:
                        return 1
                    machine.copy_near(target, used, room, source, start, end, size)
                    used += size
                offsets[at + k] = used
            if count > 0:
                at += count
        return 0


def numbers(values, codes, count, out, progress):
    """The values of these codes; the value NONE is null, too, and nulls are 0 here. progress[0]: how many are null."""
    with cython.nogil:
        nulls = 0
        there = values.shape[0]
        if count > out.shape[0]:
            return 1
        for i in range(count):
            code = codes[i]
            if code >= there:
                return 1
            number = values[code] if code >= 0 else NONE
            if number == NONE:
                number = 0
                nulls += 1
            out[i] = number
        progress[0] = nulls
        return 0


def added(values, rows, columns, count, width, table):
    """Adds each value to the place of a table that its row and its column say; the table's rows are ``width`` wide."""
    with cython.nogil:
        size = table.shape[0]
        for i in range(count):
            place = rows[i] * width + columns[i]
            if rows[i] < 0 or columns[i] < 0 or columns[i] >= width or place >= size:
                return 1
            table[place] += values[i]
        return 0


def listed(first, sizes, codes, count, offsets, members, progress):
    """Lists: that of code k is ``sizes[k]`` numbers from ``first[k]`` on. ``offsets`` gets one entry more than there
    are lists; progress[0]: how many members they have together, progress[1]: how many are null."""
    with cython.nogil:
        used = 0
        nulls = 0
        room = members.shape[0]
        there = sizes.shape[0]
        offsets[0] = 0
        for i in range(count):
            code = codes[i]
            if code >= there:
                return 1
            if code >= 0:
                size = sizes[code]
                if size > room - used:
                    return 1
                for k in range(size):
                    members[used + k] = first[code] + k
                if size > 0:
                    used += size
            else:
                nulls += 1
            offsets[i + 1] = used
        progress[0] = used
        progress[1] = nulls
        return 0


def placed(types, marks, first, last, width, places, progress):
    """The places of the events from ``first`` up to ``last`` by the marks of their types, 1 to 3; 0: they are not asked for.
    Each mark has ``width`` numbers of ``places``, and one of ``progress``, which says how many there are."""
    with cython.nogil:
        if first < 0 or last > types.shape[0] or last - first > width or 3 * width > places.shape[0]:
            return 1
        ones = 0
        twos = width
        threes = 2 * width
        for i in range(first, last):
            mark = marks[types[i]]
            if mark == 1:
                places[ones] = i
                ones += 1
            elif mark == 2:
                places[twos] = i
                twos += 1
            elif mark == 3:
                places[threes] = i
                threes += 1
        progress[0] = ones
        progress[1] = twos - width
        progress[2] = threes - 2 * width
        return 0
