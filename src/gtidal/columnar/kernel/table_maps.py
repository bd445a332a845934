"""Table maps of one table, found among all events without decoding any."""

import gtidal.columnar.kernel.machine as machine

try:
    import cython
except ImportError:  # it is needed to compile only
    import gtidal.columnar.kernel.without_cython as cython


def next_unknown(data, offsets, stops, types, first, count, name, bodies, starts, sizes, known):
    """The place of the next event from ``first`` on that is a table map of the table called ``name`` (as a table map has
    it: lengths and zero bytes included) and none of the ``known`` ones; -1 if there is none. Known ones are
    ``sizes[k]`` bytes at ``starts[k]`` of ``bodies``: all that follows the table id."""
    with cython.nogil:
        length = len(name)
        last = known - 1  # the one that was seen last is the most likely
        for place in range(first, count):
            if types[place] != 19:
                continue
            start = offsets[place] + 25  # the header and the table id
            size = stops[place] - start
            if size < 2 + length or start < 0 or size > len(data) - start:
                continue
            if not machine.same(data, start + 2, name, 0, length):
                continue
            if last >= 0 and sizes[last] == size and machine.same(data, start, bodies, starts[last], size):
                continue
            found = -1
            for k in range(known):
                if sizes[k] == size and machine.same(data, start, bodies, starts[k], size):
                    found = k
            if found < 0:
                return place
            last = found
        return -1
