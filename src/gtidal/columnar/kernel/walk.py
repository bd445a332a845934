"""Header walk: a buffer of events becomes an index of them, checksums compared on the way.

``walk`` stops where the next event is not whole, where the index is full, at an event whose type the caller
marked (it changes how the following ones are read), at a length no event can have, at a checksum that does
not fit, or behind a GTID that nobody wants and whose transaction goes beyond the buffer. Its codes:

    0 DATA    the event at ``progress[0]`` is not whole      4 CHECKSUM  its checksum is not that of its bytes
    1 FULL    the index is full                              5 JUMP      go on at ``progress[0]``, which may
    2 MARKED  the event there is of a marked type                        lie beyond the buffer
    3 SIZE    the length there is no event's
"""

import gtidal.columnar.kernel.machine as machine

try:
    import cython
except ImportError:  # it is needed to compile only
    import gtidal.columnar.kernel.without_cython as cython

LOW_HALF = 0xFFFFFFFF  # its C type is in the .pxd


def unwanted_length(data, pos, end, uuids, firsts, starts, ends, including):
    """The length of the transaction whose GTID event is at ``pos``, if its GTID is not to be read; else 0.

    Only events that end right behind the fields known here are judged."""
    body = pos + 19
    if end - body < 42 + 7 or data[body + 25] != 2:
        return 0
    gno = machine.long_at(data, body + 17)
    if gno <= 0:
        return 0
    found = 0
    server = 0
    servers = firsts.shape[0] - 1
    while server < servers and not found:
        if machine.same(data, body + 1, uuids, 16 * server, 16):
            low = firsts[server]
            high = firsts[server + 1]
            while low < high:
                middle = (low + high) // 2
                if ends[middle] <= gno:
                    low = middle + 1
                else:
                    high = middle
            if low < firsts[server + 1] and starts[low] <= gno:
                found = 1
        server += 1
    if found == including:
        return 0
    at = body + 42 + 7
    if data[at - 1] & 0x80:
        at += 7
    if at >= end:
        return 0
    first = data[at]
    if first < 251:
        length = first
    elif first == 252 and end - at >= 3:
        length = data[at + 1] | data[at + 2] << 8
    elif first == 253 and end - at >= 4:
        length = data[at + 1] | data[at + 2] << 8 | data[at + 3] << 16
    elif first == 254 and end - at >= 9:
        length = machine.long_at(data, at + 1)
    else:
        return 0
    if length < end - pos or length >> 48:
        return 0
    return length


def next_placed(data, pos, position):
    """Where, from ``pos`` on, a header may begin that tells its own place: ``data`` begins at ``position`` of its file.
    -1: nowhere."""
    with cython.nogil:
        end = data.shape[0] - 19
        while pos <= end:
            size = machine.word_at(data, pos + 9)
            claimed = machine.word_at(data, pos + 13) - size
            if (claimed - position - pos) & LOW_HALF == 0 and size >= 19:
                return pos
            pos += 1
        return -1


def walk(
    data,
    pos,
    end,
    header_size,
    checksums,
    marked,
    offsets,
    sizes,
    stops,
    types,
    timestamps,
    server_ids,
    flags,
    positions,
    finishes,
    payloads,
    base,
    uuids,
    firsts,
    starts,
    ends,
    including,
    progress,
):
    """Index the events from ``pos`` on: where each begins, its size, where its body stops, its header's fields,
    its position (``base`` is that of the first byte) and the one behind it; none is inside of a payload.
    ``checksums``: 0 there are none, 1 there are, 2 compare them. ``marked``: 1 for types before which to stop, 2 for those
    that are counted. ``progress``: [0] where it stopped, [1] events in the index (in and out), [2] events jumped over,
    [3] events whose header tells another place, [4] events that are counted (these three are added to)."""
    with cython.nogil:
        count = progress[1]
        capacity = offsets.shape[0]
        judging = firsts.shape[0] > 0
        smallest = header_size
        tail = 4 if checksums else 0
        code = 0
        while True:
            if end - pos < 19:
                break
            size = machine.word_at(data, pos + 9)
            if size < smallest or size > 1073741824:
                code = 3
                break
            if size > end - pos:
                break
            kind = data[pos + 4]
            if marked[kind] == 1:
                code = 2
                break
            if count >= capacity:
                code = 1
                break
            if judging and (kind == 33 or kind == 34):
                length = unwanted_length(data, pos, pos + size - tail, uuids, firsts, starts, ends, including)
                if length:
                    progress[2] += 1
                    pos += length
                    if pos > end:
                        code = 5
                        break
                    continue
            if checksums == 2 and size >= header_size + 4:
                if machine.crc32(data, pos, pos + size - 4) != machine.word_at(data, pos + size - 4):
                    code = 4
                    break
            offsets[count] = pos
            sizes[count] = size
            stops[count] = pos + size - tail
            types[count] = kind
            timestamps[count] = machine.word_at(data, pos)
            server_ids[count] = machine.word_at(data, pos + 5)
            flags[count] = data[pos + 17] | data[pos + 18] << 8
            positions[count] = base + pos
            payloads[count] = -1
            progress[4] += marked[kind] >> 1
            pos += size
            place = base + pos
            finishes[count] = place
            count += 1
            if machine.word_at(data, pos - size + 13) != place - (place >> 32 << 32):
                progress[3] += 1
        progress[0] = pos
        progress[1] = count
        return code
