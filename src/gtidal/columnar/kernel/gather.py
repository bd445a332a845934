"""Gathering: values that lie here and there become one stretch, with offsets where Arrow wants them.

All of them look up what codes stand for; a code below 0 is null. They return 0 when done, 1 where there is no room, or a
code that stands for nothing.
"""

import gtidal.columnar.kernel.machine as machine

try:
    import cython
except ImportError:  # it is needed to compile only
    import gtidal.columnar.kernel.without_cython as cython


def measured(sizes, codes, count, progress):
    """How many bytes the texts of these codes have, and how many are null: in progress[0] and progress[1]."""
    with cython.nogil:
        total = 0
        nulls = 0
        texts = sizes.shape[0]
        for i in range(count):
            code = codes[i]
            if code >= texts:
                return 1
            size = sizes[code] if code >= 0 else -1
            if size >= 0:
                total += size
            else:
                nulls += 1
        progress[0] = total
        progress[1] = nulls
        return 0


def picked(data, starts, sizes, codes, first, count, out, offsets):
    """The texts ``codes[first]`` and following: text k is ``sizes[k]`` bytes at ``starts[k]`` of ``data``. A code or a
    size below 0 is null, which has no bytes. ``offsets`` gets one entry more than there are texts."""
    with cython.nogil:
        used = 0
        room = out.shape[0]
        end = data.shape[0]
        texts = starts.shape[0]
        offsets[0] = 0
        for i in range(count):
            code = codes[first + i]
            if code >= 0:
                if code >= texts:
                    return 1
                size = sizes[code]
                if size > 0:
                    start = starts[code]
                    if size > room - used or start < 0 or size > end - start:
                        return 1
                    machine.copy(out, used, data, start, size)
                    used += size
            offsets[i + 1] = used
        return 0


def numbers(values, codes, count, out, progress):
    """The values of these codes, 0 for null; progress[0]: how many are null."""
    with cython.nogil:
        nulls = 0
        there = values.shape[0]
        for i in range(count):
            code = codes[i]
            if code >= there:
                return 1
            if code >= 0:
                out[i] = values[code]
            else:
                out[i] = 0
                nulls += 1
        progress[0] = nulls
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
