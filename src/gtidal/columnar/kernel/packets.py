"""A server's packets become the bytes of its log: each event without what the protocol puts around it.

``unpack`` goes on where it stopped, in the middle of an event too. It stops where more bytes are needed, where the
target is full, and before every packet that is not simply the next event of the log. Its codes:

    0 DATA      more bytes are needed                        4 PLACE     the event there is not the log's next one
    1 FULL      the target is full                           5 SIZE      a packet is shorter or longer than its event
    2 OTHER     the packet there is something else           6 REPLY     the source wants to hear of what came
    3 SEQUENCE  the packet there has another number
"""

import gtidal.columnar.kernel.machine as machine

try:
    import cython
except ImportError:  # it is needed to compile only
    import gtidal.columnar.kernel.without_cython as cython


def unpack(data, end, target, semi_sync, state):
    """Copy the events in ``data`` to ``target``.

    ``state``, all in and out: [0] where in ``data``, [1] where in ``target``, [2] bytes left of the packet begun,
    [3] whether its payload goes on in the next one, [4] that one's number, [5] the position in the log behind what
    was begun, [6] bytes left of the event begun, [7] whether a reply is wanted behind it, [8] where that event begins."""
    with cython.nogil:
        pos = state[0]
        at = state[1]
        left = state[2]
        more = state[3]
        number = state[4]
        place = state[5]
        missing = state[6]
        reply = state[7]
        begun = state[8]
        room = target.shape[0]
        before = 3 if semi_sync else 1
        code = 0
        while True:
            if left:
                size = left
                if size > end - pos:
                    size = end - pos
                if size > room - at:
                    size = room - at
                if size <= 0:
                    code = 1 if end - pos > 0 else 0
                    break
                machine.copy(target, at, data, pos, size)
                pos += size
                at += size
                left -= size
                missing -= size
                continue
            if missing == 0 and reply:
                reply = 0
                code = 6
                break
            if not more and missing:
                code = 5
                break
            if end - pos < 4:
                break
            size = data[pos] | data[pos + 1] << 8 | data[pos + 2] << 16
            if data[pos + 3] != number:
                code = 3
                break
            if more:
                if size > missing or (size < missing and size < 16777215):
                    code = 5
                    break
                number = (number + 1) & 255
                more = 1 if size == 16777215 else 0
                left = size
                pos += 4
                continue
            if size < before + 19:
                code = 2
                break
            if end - pos < 4 + before + 19:
                break
            head = pos + 4 + before
            kind = data[head + 4]
            next_place = machine.word_at(data, head + 13)
            if (
                data[pos + 4]
                or (semi_sync and data[pos + 5] != 239)
                or kind == 4
                or kind == 15
                or kind == 27
                or kind == 41
                or data[head + 17] & 32
                or (not next_place and (kind == 163 or kind == 164))
            ):
                code = 2
                break
            missing = machine.word_at(data, head + 9)
            behind = place + missing
            # MariaDB leaves the place out inside of transactions; what follows them tells it.
            if next_place and behind - (behind >> 32 << 32) != next_place:
                missing = 0
                code = 4
                break
            if size - before > missing or (size - before < missing and size < 16777215):
                missing = 0
                code = 5
                break
            if semi_sync:
                reply = data[pos + 6] & 1
            number = (number + 1) & 255
            more = 1 if size == 16777215 else 0
            begun = place
            place = behind
            left = size - before
            pos = head
        state[0] = pos
        state[1] = at
        state[2] = left
        state[3] = more
        state[4] = number
        state[5] = place
        state[6] = missing
        state[7] = reply
        state[8] = begun
        return code
