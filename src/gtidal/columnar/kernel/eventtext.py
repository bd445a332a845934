"""The text of events as mysqlbinlog prints it, for events that ``judging`` let pass.

An event has up to three texts: its head (comments and statements), its body (base64) and its foot (rows as comments).
Bodies and feet of a statement come after all its heads; ``write`` gives one kind, or all of them in the right order
where statements are whole.

``words`` holds start and size (in ``texts``) of each text. The first of them (``text.lexicon.Word``):
    0 "# at "  1 newline and "#"  2 " server id "  3 "  end_log_pos "  4 " CRC32 0x"  5 GTID  6 anonymous GTID
    7 sequence_number  8 and 9 rbr_only yes and no  10 immediate_commit_timestamp  11 transaction_length
    12 and 13 original_commit_timestamp, with and without the isolation level  14 " ("  15 immediate_commit_timestamp
    16 SET original_commit_timestamp  17 SET original_server_version  18 SET immediate_server_version  19 SET GTID_NEXT
    20 quote, delimiter  21 ANONYMOUS  22 thread_id  23 exec_time  24 error_code  25 SET TIMESTAMP  26 delimiter
    27 newline, delimiter  28 and 29 has_generated_invisible_primary_key 0 and 1  30 Rows_query  31 Xid  32 COMMIT
    33 BINLOG  34 partition  35 source partition  36 target partition  37 SET  64 and following: the flags of rows
    96 and following: the heads of rows events, by type
``plans``: 3 the table map's line, 4 its metadata, or -1, 5 whether its key is generated, 6 and following the heads of
inserted, updated and deleted rows.
``clocks``: four for each of ``judging``'s moments: start and size of its text, then of its zone; ``seconds``: start of
15 letters. Both in ``dates``. ``settings``: 1 base64, 8 the position that the events of a payload have, or -1,
9 whether checksums are shown.

Codes: 0 all is written, 1 the buffer is full, 2 the foot of this event is not ours. ``progress``: 0 the event, 1 bytes
used of the buffer, 2 where in the event to go on, 0 for its beginning, 3 where in the buffer the event's text begins.
For all kinds at once, an event that is not
done has no text in the buffer, and neither have the others of its statement.
"""

import gtidal.columnar.kernel.judging as judging
import gtidal.columnar.kernel.machine as machine
import gtidal.columnar.kernel.rowtext as rowtext

try:
    import cython
except ImportError:  # it is needed to compile only
    import gtidal.columnar.kernel.without_cython as cython

# Numbers of 64 bits; their C types are in the .pxd.
MILLION = 1000000


def put(out, at, texts, words, word):
    size = words[2 * word + 1]
    if size:
        machine.copy(out, at, texts, words[2 * word], size)
    return at + size


def put_hex(out, at, number, digits):
    for i in range(digits):
        digit = number >> 4 * (digits - 1 - i) & 15
        out[at + i] = 48 + digit if digit < 10 else 87 + digit
    return at + digits


def put_uuid(out, at, data, pos):
    for i in range(16):
        if i == 4 or i == 6 or i == 8 or i == 10:
            out[at] = 45
            at += 1
        at = put_hex(out, at, data[pos + i], 2)
    return at


def put_moment(out, at, micros, clock, clocks, dates):
    """A date with its fraction and zone."""
    size = clocks[4 * clock + 1]
    machine.copy(out, at, dates, clocks[4 * clock], size)
    at += size
    out[at] = 46
    at = machine.put_number(out, at + 1, micros % MILLION, 6)
    size = clocks[4 * clock + 3]
    if size:
        machine.copy(out, at, dates, clocks[4 * clock + 2], size)
    return at + size


def put_gtid(data, off, stop, kind, acts, act, texts, words, clocks, dates, out, at, fields):
    judging.read_gtid(data, off + 19, stop, fields)
    flags = data[off + 19]
    at = put(out, at, texts, words, 5 if kind == 33 else 6)
    at = machine.put_number(out, at, fields[0], 1)
    at = put(out, at, texts, words, 7)
    at = machine.put_number(out, at, fields[1], 1)
    at = put(out, at, texts, words, 9 if flags & 1 else 8)
    at = machine.put_number(out, at, fields[3], 1)
    at = put(out, at, texts, words, 10)
    at = machine.put_number(out, at, fields[2], 1)
    at = put(out, at, texts, words, 11)
    at = machine.put_number(out, at, fields[4], 1)
    at = put(out, at, texts, words, 13 if flags & 1 else 12)
    at = machine.put_number(out, at, fields[3], 1)
    at = put(out, at, texts, words, 14)
    at = put_moment(out, at, fields[3], acts[act + 7], clocks, dates)
    at = put(out, at, texts, words, 15)
    at = machine.put_number(out, at, fields[2], 1)
    at = put(out, at, texts, words, 14)
    at = put_moment(out, at, fields[2], acts[act + 6], clocks, dates)
    at = put(out, at, texts, words, 16)
    at = machine.put_number(out, at, fields[3], 1)
    at = put(out, at, texts, words, 17)
    at = machine.put_number(out, at, fields[6], 1)
    at = put(out, at, texts, words, 18)
    at = machine.put_number(out, at, fields[5], 1)
    at = put(out, at, texts, words, 19)
    if kind == 33:
        at = put_uuid(out, at, data, off + 20)
        out[at] = 58
        at = machine.put_number(out, at + 1, machine.long_at(data, off + 36), 1)
    else:
        at = put(out, at, texts, words, 21)
    return put(out, at, texts, words, 20)


def put_query(data, off, stop, acts, act, texts, words, keys, transitions, out, at):
    body = off + 19
    transition = 4 * acts[act + 2]
    text = acts[act + 4]
    size = stop - text
    needed = size + words[2 * transitions[transition + 1] + 1] + words[2 * transitions[transition + 2] + 1]
    if needed > out.shape[0] - at - 256:
        return -1
    at = put(out, at, texts, words, 22)
    at = machine.put_number(out, at, machine.word_at(data, body), 1)
    at = put(out, at, texts, words, 23)
    at = machine.put_number(out, at, machine.word_at(data, body + 4), 1)
    at = put(out, at, texts, words, 24)
    at = machine.put_number(out, at, data[body + 9] | data[body + 10] << 8, 1)
    out[at] = 10
    at = put(out, at + 1, texts, words, transitions[transition + 1])
    at = put(out, at, texts, words, 25)
    at = machine.put_number(out, at, machine.word_at(data, off), 1)
    hole = keys[6 * acts[act + 3] + 3]
    if hole >= 0:
        hole += body + 13
        micros = data[hole] | data[hole + 1] << 8 | data[hole + 2] << 16
        if micros:
            out[at] = 46
            at = machine.put_number(out, at + 1, micros, 6)
    at = put(out, at, texts, words, 26)
    at = put(out, at, texts, words, transitions[transition + 2])
    machine.copy(out, at, data, text, size)
    return put(out, at + size, texts, words, 27)


def put_statement(data, start, end, out, at):
    """The statement that rows come from, each line a comment."""
    if 3 * (end - start) > out.shape[0] - at - 64:
        return -1
    out[at] = 35
    out[at + 1] = 32
    at += 2
    pos = start
    while pos < end:
        run = machine.plain(data, pos, end - pos, 92)
        if run:
            machine.copy(out, at, data, pos, run)
            at += run
            pos += run
            if pos >= end:
                break
        byte = data[pos]
        pos += 1
        if byte == 10:
            out[at] = 10
            out[at + 1] = 35
            out[at + 2] = 32
            at += 3
        elif byte == 0 or byte == 8 or byte == 9 or byte == 13 or byte == 92:
            out[at] = 92
            if byte != 92:
                byte = 48 if byte == 0 else 98 if byte == 8 else 116 if byte == 9 else 114
            out[at + 1] = byte
            at += 2
        else:
            out[at] = byte
            at += 1
    out[at] = 10
    return at + 1


def put_head(
    data, off, size, stop, kind, position, settings, acts, act, texts, words, plans, keys, transitions, seconds, clocks,
    dates, out, at, fields
):  # fmt: skip
    """Where the head ends, or -1."""
    action = acts[act]
    if action == 0:
        return at
    if out.shape[0] - at < 2048:
        return -1
    at = put(out, at, texts, words, 0)
    if settings[8] >= 0:
        position = settings[8]
    at = machine.put_number(out, at, position, 1)
    if action == 1 or action >= 8:
        out[at] = 10
        return at + 1
    at = put(out, at, texts, words, 1)
    machine.copy(out, at, dates, seconds[acts[act + 5]], 15)
    at = put(out, at + 15, texts, words, 2)
    at = machine.put_number(out, at, machine.word_at(data, off + 5), 1)
    at = put(out, at, texts, words, 3)
    if settings[8] >= 0:
        at = machine.put_number(out, at, settings[8], 1)
    else:
        at = machine.put_number(out, at, machine.word_at(data, off + 13), 1)
    if settings[9]:
        at = put(out, at, texts, words, 4)
        at = put_hex(out, at, machine.word_at(data, off + size - 4), 8)
    out[at] = 32
    at += 1
    if action == 2:
        return put_gtid(data, off, stop, kind, acts, act, texts, words, clocks, dates, out, at, fields)
    if action == 3:
        return put_query(data, off, stop, acts, act, texts, words, keys, transitions, out, at)
    if action == 4:
        plan = 12 * acts[act + 2]
        metadata = plans[plan + 4]
        length = words[2 * plans[plan + 3] + 1]
        if metadata >= 0:
            length += words[2 * metadata + 1]
        if length + 256 > out.shape[0] - at:
            return -1
        at = put(out, at, texts, words, plans[plan + 3])
        at = machine.put_number(out, at, judging.little(data, off + 19, 6), 1)
        out[at] = 10
        at += 1
        if acts[act + 1] & 4:
            at = put(out, at, texts, words, 28 + plans[plan + 5])
        if metadata >= 0:
            at = put(out, at, texts, words, metadata)
        return at
    if action == 5:
        at = put(out, at, texts, words, 96 + kind)
        at = machine.put_number(out, at, judging.little(data, off + 19, 6), 1)
        return put(out, at, texts, words, 64 + (data[off + 25] & 31))
    if action == 6:
        at = put(out, at, texts, words, 30)
        return put_statement(data, off + 20, stop, out, at)
    at = put(out, at, texts, words, 31)
    at = machine.put_number(out, at, machine.long_at(data, off + 19), 1)
    return put(out, at, texts, words, 32)


def put_body(data, off, size, settings, acts, act, texts, words, out, at, progress):
    """Where the body ends; -1 if there is no room for all: what was done is in ``progress``."""
    action = acts[act]
    marks = acts[act + 1]
    done = progress[2]
    if out.shape[0] - at < 256:
        return -1
    if settings[1] and 4 <= action <= 6:
        if done == 0 and marks & 1:
            at = put(out, at, texts, words, 33)
        lines = (out.shape[0] - at - 128) // 77
        if (size - done + 56) // 57 > lines:
            if lines < 1:
                return -1
            progress[1] = machine.put_base64(out, at, data, off + done, 57 * lines)
            progress[2] = done + 57 * lines
            return -1
        at = machine.put_base64(out, at, data, off + done, size - done)
    if marks & 16:
        at = put(out, at, texts, words, 20)
    return at


def put_foot(
    data, off, stop, kind, settings, acts, act, texts, words, plans, images, steps, scratch, out, at, work, progress
):  # fmt: skip
    """Where the foot ends, or -1 or -2: what was done of whole rows is in ``progress``."""
    if acts[act] != 5 or settings[0] < 1:
        return at
    if acts[act + 1] & 32:
        return -2
    pos = progress[2]
    if pos == 0:
        pos = acts[act + 4]
        extra = acts[act + 6]
        if extra:
            if out.shape[0] - at < 256:
                return -1
            if kind == 31:
                at = put(out, at, texts, words, 35)
                at = machine.put_number(out, at, data[extra + 3] | data[extra + 4] << 8, 1)
                at = put(out, at, texts, words, 36)
            else:
                at = put(out, at, texts, words, 34)
            at = machine.put_number(out, at, data[extra + 1] | data[extra + 2] << 8, 1)
            out[at] = 10
            at += 1
    operation = kind - 23 if kind < 30 else kind - 30
    head = plans[12 * acts[act + 7] + 6 + operation]
    code = rowtext.put_rows(
        data, pos, stop, acts[act + 2], acts[act + 3], words[2 * head], words[2 * head + 1], words[74], words[75],
        images, steps, texts, scratch, out, at, work
    )  # fmt: skip
    if code == -1 and work[3] > at:  # some rows are done
        progress[1] = work[3]
        progress[2] = work[2]
    return code if code else work[3]


def group_end(acts, event, last):
    """The event behind the one that ends this statement; ``last`` + 1 if none does."""
    while event < last:
        if acts[8 * event + 1] & 2:
            return event + 1
        event += 1
    return last + 1


def write(
    part, data, offsets, sizes, stops, types, positions, first, last, settings, acts, texts, words, plans, images,
    steps, keys, transitions, seconds, clocks, dates, scratch, out, work, progress
):  # fmt: skip
    """Write ``part`` (0 all, 1 heads, 2 bodies, 3 feet) of the events from ``first`` to ``last``, of which the first is
    begun where ``progress`` says. ``scratch`` holds a JSON document's text."""
    with cython.nogil:
        event = first
        at = progress[1]
        code = 0
        while event < last:
            act = 8 * event
            if part == 0 and acts[act + 1] & 8:
                end = group_end(acts, event, last)
                if end > last:
                    code = 2
                    break
                start = at
                for kind in range(3):
                    for i in range(event, end):
                        progress[2] = 0
                        if kind == 0:
                            at = put_head(
                                data, offsets[i], sizes[i], stops[i], types[i], positions[i], settings, acts, 8 * i,
                                texts, words, plans, keys, transitions, seconds, clocks, dates, out, at, work
                            )  # fmt: skip
                        elif kind == 1:
                            at = put_body(
                                data, offsets[i], sizes[i], settings, acts, 8 * i, texts, words, out, at, progress
                            )  # fmt: skip
                        else:
                            at = put_foot(
                                data, offsets[i], stops[i], types[i], settings, acts, 8 * i, texts, words, plans, images,
                                steps, scratch, out, at, work, progress
                            )  # fmt: skip
                        if at < 0:
                            break
                    if at < 0:
                        break
                progress[2] = 0
                if at < 0:
                    code = -at
                    at = start
                    break
                event = end
                continue
            progress[1] = at
            progress[3] = at
            if part < 2:
                at = put_head(
                    data, offsets[event], sizes[event], stops[event], types[event], positions[event], settings, acts, act,
                    texts, words, plans, keys, transitions, seconds, clocks, dates, out, at, work
                )  # fmt: skip
            elif part == 2:
                at = put_body(
                    data, offsets[event], sizes[event], settings, acts, act, texts, words, out, at, progress
                )  # fmt: skip
            else:
                at = put_foot(
                    data, offsets[event], stops[event], types[event], settings, acts, act, texts, words, plans, images,
                    steps, scratch, out, at, work, progress
                )  # fmt: skip
            if at < 0:
                code = -at
                at = progress[1]
                break
            progress[2] = 0
            event += 1
        progress[0] = event
        progress[1] = at
        return code
