"""Which events ``eventtext`` may print, and how: one pass over the index, in the order of the log.

mysqlbinlog's text depends on what came before: the session's settings (printed where they change), the tables in
force, whether a statement's rows are complete. Here that is followed, with little work for each event, so that the
text itself can be written by several threads. What an event needs is left in eight numbers of ``acts``:

    0 act: 0 nothing at all, 1 "# at" alone, held back until something is printed, 2 GTID, 3 query, 4 table map,
      5 rows, 6 the statement of rows, 7 XID, 8 "# at" alone, 9 the end of a statement whose rows are left out
    1 marks: 1 begins the base64, 2 ends the statement, 4 the log tells of invisible keys, 8 opens a group of texts
      that ends with the statement, 16 closes the base64, 32 the rows are not ours to print
    2 query: the transition; table map: its plan; rows: the before image, -1 if there is none
    3 query: its key; rows: the after image, -1 if there is none
    4 where the query's text or the rows begin
    5 which of ``seconds``     6 GTID: which of ``moments``; rows: where extra information is, or 0
    7 GTID: which of ``moments`` the original one is; rows: the plan

``state``: 0 session, 1 in a transaction, 2 saw a GTID, 3 left an event out, 4 tells of invisible keys, 5 base64 is
open, 6 a statement is not complete, 7 inside an unwanted transaction, 8 a group is open, 9 the key used last.
``settings``: 0 verbosity, 1 base64, 2 rows may be printed, 3 the only server, 4 no GTIDs, 5 include some, 6 exclude
some, 7 schemas or tables are left out.
``maps``: how many tables are in force, then id and plan of each (-1: left out).
``plans``, twelve for each: 0 columns, 1 left out, 2 its first image, 3 and following words (see ``eventtext``).
``images``, eight for each: 4 where its bitmap is, 5 the next image of the same plan; before these, ``rowtext``'s.
``keys``, six for each: settings and schema of a query: 0 where the bytes are, 1 size of the settings, 2 of the schema,
3 where in the settings microseconds are, or -1, 4 the flags that matter. ``moves``: for each session and key the
transition, -1 if it is not known. ``transitions``, four for each: 0 the session after it, 1 and 2 words.

Codes: 0 all are judged, 1 the event is not ours, 2 learn its table map, 3 learn an image (``progress[4]``: 0 before,
1 after), 4 learn its session. ``progress``: 0 the event, 1 seconds, 2 moments, 3 the event behind the last one that
lets held text go.
"""

import gtidal.columnar.kernel.machine as machine

try:
    import cython
except ImportError:  # it is needed to compile only
    import gtidal.columnar.kernel.without_cython as cython

# Numbers of 64 bits; their C types are in the .pxd.
LOW_55 = (1 << 55) - 1
MOST_MAPS = 1000
MOST_KEYS = 64


def little(data, pos, size):
    """A number of up to seven bytes."""
    number = 0
    for i in range(size):
        byte = data[pos + i]
        number |= byte << 8 * i
    return number


def read_gtid(data, pos, end, fields):
    """The fields of a GTID event: 0 last committed, 1 sequence number, 2 and 3 immediate and original commit time,
    4 transaction length, 5 and 6 immediate and original version, 7 whether tables tell of invisible keys. -2 if it is
    not ours."""
    for i in range(8):
        fields[i] = 0
    if end - pos < 25:
        return -2
    pos += 25
    if pos >= end or data[pos] != 2:
        return 0
    if end - pos < 17:
        return -2
    fields[0] = machine.long_at(data, pos + 1)
    fields[1] = machine.long_at(data, pos + 9)
    pos += 17
    if end - pos < 7:
        return 0
    moment = little(data, pos, 7)
    pos += 7
    fields[2] = moment & LOW_55
    fields[3] = fields[2]
    fields[5] = 999999
    fields[6] = 999999
    if moment > LOW_55:
        if end - pos < 7:
            return -2
        fields[3] = little(data, pos, 7)
        pos += 7
    if pos >= end:
        return 0
    first = data[pos]
    if first < 251:
        fields[4] = first
        pos += 1
    elif first == 252 and end - pos >= 3:
        fields[4] = little(data, pos + 1, 2)
        pos += 3
    elif first == 253 and end - pos >= 4:
        fields[4] = little(data, pos + 1, 3)
        pos += 4
    elif first == 254 and end - pos >= 9:
        fields[4] = machine.long_at(data, pos + 1)
        pos += 9
    else:
        return -2
    if end - pos < 4:
        return 0
    version = machine.word_at(data, pos)
    pos += 4
    fields[5] = version & 2147483647
    fields[6] = fields[5]
    if version > 2147483647:
        if end - pos < 4:
            return -2
        fields[6] = machine.word_at(data, pos)
    fields[7] = 1 if fields[5] >= 80030 and fields[5] != 999999 else 0
    return 0


def has_gtid(data, pos, uuids, firsts, starts, ends):
    """Whether the GTID whose UUID is at ``pos`` is in a set."""
    gno = machine.long_at(data, pos + 16)
    for server in range(firsts.shape[0] - 1):
        if machine.same(data, pos, uuids, 16 * server, 16):
            low = firsts[server]
            high = firsts[server + 1]
            while low < high:
                middle = (low + high) // 2
                if ends[middle] <= gno:
                    low = middle + 1
                else:
                    high = middle
            if low < firsts[server + 1] and starts[low] <= gno:
                return 1
    return 0


def query_kind(data, start, size):
    """1 BEGIN, 2 COMMIT, 0 none that matters to transactions, -1 left to others: ROLLBACK, XA and what is short."""
    if size == 5 and data[start] == 66 and data[start + 1] == 69 and data[start + 2] == 71:
        if data[start + 3] == 73 and data[start + 4] == 78:
            return 1
    if size == 6 and data[start] == 67 and data[start + 1] == 79 and data[start + 2] == 77:
        if data[start + 3] == 77 and data[start + 4] == 73 and data[start + 5] == 84:
            return 2
    if size < 9:
        return -1
    first = data[start] & 223  # upper case
    if first == 82 or first == 88:
        return -1
    return 0


def is_key(data, pos, status, schema, flags, keys, key_bytes, key):
    """Whether settings and schema at ``pos`` are those of a key."""
    at = 6 * key
    if keys[at + 1] != status or keys[at + 2] != schema or keys[at + 4] != flags:
        return 0
    start = keys[at]
    hole = keys[at + 3]
    size = status + schema
    if size == 0:
        return 1
    if hole < 0:
        return machine.same(data, pos, key_bytes, start, size)
    if hole > 0 and not machine.same(data, pos, key_bytes, start, hole):
        return 0
    if hole + 3 >= size:
        return 1
    return machine.same(data, pos + hole + 3, key_bytes, start + hole + 3, size - hole - 3)


def find_image(data, pos, size, plan, plans, images, bitmaps):
    """The image of a plan with this bitmap; -1 if it is not known."""
    image = plans[12 * plan + 2]
    while image >= 0:
        if machine.same(data, pos, bitmaps, images[8 * image + 4], size):
            return image
        image = images[8 * image + 5]
    return -1


def judge_query(
    data, off, stop, flags, settings, state, keys, key_bytes, key_count, moves, transitions, acts, act
):  # fmt: skip
    """A code."""
    body = off + 19
    if stop - body < 13:
        return 1
    schema = data[body + 8]
    status = data[body + 11] | data[body + 12] << 8
    start = body + 13
    if status + schema + 1 > stop - start or data[start + status + schema]:
        return 1
    text = start + status + schema + 1
    kind = query_kind(data, text, stop - text)
    if flags & 4 or kind < 0 or (kind == 0 and (settings[7] or flags & 8)):
        return 1
    key = state[9]
    if key >= key_count or not is_key(data, start, status, schema, flags & 8, keys, key_bytes, key):
        key = 0
        while key < key_count and not is_key(data, start, status, schema, flags & 8, keys, key_bytes, key):
            key += 1
        if key >= key_count:
            return 4
    transition = moves[MOST_KEYS * state[0] + key]
    if transition < 0:
        return 4
    state[9] = key
    state[0] = transitions[4 * transition]
    if kind == 2:
        state[1] = 0
        state[2] = 0
        state[3] = 0
    elif kind == 1:
        state[1] = 1
    elif not state[1]:
        state[2] = 0
    acts[act] = 3
    acts[act + 2] = transition
    acts[act + 3] = key
    acts[act + 4] = text
    return 0


def judge_table(
    data, off, stop, settings, state, maps, cache_id, cache_body, body_start, body_size, body_plan, bodies, plans, acts, act
):  # fmt: skip
    if stop - off < 27:
        return 1
    number = little(data, off + 19, 6)
    place = number % cache_id.shape[0]
    if cache_id[place] != number:
        return 2
    body = cache_body[place]
    size = stop - off - 25
    if size != body_size[body] or not machine.same(data, off + 25, bodies, body_start[body], size):
        return 2
    plan = body_plan[body]
    count = maps[0]
    skipped = plans[12 * plan + 1]
    place = 0
    while place < count and maps[1 + 2 * place] != number:
        place += 1
    if place == count:
        if count >= MOST_MAPS:
            return 1
        maps[1 + 2 * count] = number
        maps[2 + 2 * count] = -1 if skipped else plan
        maps[0] = count + 1
    elif maps[2 + 2 * place] != (-1 if skipped else plan):
        return 1  # another table with the same id
    if skipped:
        state[3] = 1
        acts[act] = 1
        return 0
    acts[act] = 4
    acts[act + 2] = plan
    acts[act + 1] = 4 if state[4] else 0
    open_base64(settings, state, acts, act)
    state[6] = 1
    return 0


def open_base64(settings, state, acts, act):
    """This event's bytes are printed as base64, if any are."""
    if settings[1]:
        if not state[5]:
            acts[act + 1] |= 1
        if not state[8]:
            acts[act + 1] |= 8
        state[5] = 1
        state[8] = 1


def judge_rows(
    data, off, stop, kind, role, settings, state, maps, plans, images, bitmaps, acts, act, progress
):  # fmt: skip
    pos = off + 19
    if stop - pos < 9:
        return 1
    number = little(data, pos, 6)
    flags = data[pos + 6] | data[pos + 7] << 8
    if flags > 31:
        return 1
    plan = -2
    for i in range(maps[0]):
        if maps[1 + 2 * i] == number:
            plan = maps[2 + 2 * i]
    if plan == -2:
        return 1
    if plan == -1:  # left out
        if flags & 1:
            maps[0] = 0
            acts[act] = 9
            acts[act + 1] = 2 | (16 if state[5] else 0)
            state[5] = 0
            state[6] = 0
            state[8] = 0
        else:
            acts[act] = 1
        state[3] = 1
        return 0
    if not settings[2]:
        return 1
    # 0 insert, 1 update, 2 delete
    operation = 1 if kind == 39 else (kind - 23 if kind < 30 else kind - 30)
    pos += 8
    extra = 0
    if role == 5:
        if stop - pos < 2:
            return 1
        size = data[pos] | data[pos + 1] << 8
        if size > 2:
            extra = pos + 2
            if size != (7 if operation == 1 else 5) or size > stop - pos or data[extra] != 1:
                return 1
        elif size < 2:
            return 1
        pos += size
    if pos >= stop:
        return 1
    width = data[pos]
    if width == 252 and stop - pos >= 3:
        width = data[pos + 1] | data[pos + 2] << 8
        pos += 2
    elif width > 250:
        return 1
    pos += 1
    size = (width + 7) // 8
    if width != plans[12 * plan] or width == 0 or (2 if operation == 1 else 1) * size > stop - pos:
        return 1
    before = -1
    after = -1
    foreign = 1 if kind == 39 else 0
    if operation != 0:
        if settings[0] > 0:
            before = find_image(data, pos, size, plan, plans, images, bitmaps)
            if before < 0:
                progress[4] = 0
                return 3
            if not images[8 * before + 3]:
                foreign = 1
        pos += size
    if operation != 2:
        if settings[0] > 0:
            after = find_image(data, pos, size, plan, plans, images, bitmaps)
            if after < 0:
                progress[4] = 1
                return 3
            if not images[8 * after + 3]:
                foreign = 1
        pos += size
    if pos >= stop:
        foreign = 1  # no rows: rare, and printed in its own way
    acts[act] = 5
    acts[act + 1] = 32 if foreign else 0
    acts[act + 2] = before
    acts[act + 3] = after
    acts[act + 4] = pos
    acts[act + 6] = extra
    acts[act + 7] = plan
    open_base64(settings, state, acts, act)
    if settings[0] > 0 and not state[8]:
        acts[act + 1] |= 8
        state[8] = 1
    if flags & 1:
        acts[act + 1] |= 2
        if state[5]:
            acts[act + 1] |= 16
        maps[0] = 0
        state[5] = 0
        state[8] = 0
    state[6] = 0 if flags & 1 else 1
    return 0


def judge(
    data, offsets, stops, types, first, count, roles, settings, state, maps,
    in_uuids, in_firsts, in_starts, in_ends, out_uuids, out_firsts, out_starts, out_ends,
    cache_id, cache_body, body_start, body_size, body_plan, bodies, plans, images, bitmaps,
    keys, key_bytes, key_count, moves, transitions, acts, seconds, moments, fields, progress
):  # fmt: skip
    """Judges the events from ``first`` to ``count``."""
    with cython.nogil:
        code = 0
        event = first
        filtering = settings[4] or settings[5] or settings[6]
        while event < count:
            off = offsets[event]
            stop = stops[event]
            kind = types[event]
            role = roles[kind]
            if role == 0 or stop - off < 19:
                code = 1
                break
            act = 8 * event
            acts[act] = 0
            acts[act + 1] = 0
            if settings[3] and settings[3] != machine.word_at(data, off + 5):
                event += 1
                continue
            second = machine.word_at(data, off)
            if progress[1] == 0 or seconds[progress[1] - 1] != second:
                seconds[progress[1]] = second
                progress[1] += 1
            acts[act + 5] = progress[1] - 1
            if filtering:
                held = state[7]
                if role == 1:
                    if stop - off < 44:
                        code = 1
                        break
                    held = 0
                    if settings[5] and not has_gtid(data, off + 20, in_uuids, in_firsts, in_starts, in_ends):
                        held = 1
                    if settings[6] and has_gtid(data, off + 20, out_uuids, out_firsts, out_starts, out_ends):
                        held = 1
                    state[7] = held
                    if settings[4]:
                        held = 1
                elif role == 7:
                    state[7] = 0
                elif role == 2 and held:
                    # only what ends the transaction matters
                    if stop - off < 32:
                        code = 1
                        break
                    schema = data[off + 27]
                    status = data[off + 30] | data[off + 31] << 8
                    if status + schema + 1 > stop - off - 32:
                        code = 1
                        break
                    text = off + 33 + status + schema
                    sort = query_kind(data, text, stop - text)
                    if sort < 0:
                        code = 1
                        break
                    if sort == 2:
                        state[7] = 0
                if held:
                    acts[act] = 1
                    event += 1
                    continue
            if role == 1:
                if (
                    state[3]
                    or read_gtid(data, off + 19, stop, fields) < 0
                    or machine.long_at(data, off + 36) < 0
                ):
                    code = 1
                    break
                if fields[4] < 0:
                    code = 1
                    break
                for i in range(2):
                    second = fields[2 + i] // 1000000
                    if progress[2] == 0 or moments[progress[2] - 1] != second:
                        moments[progress[2]] = second
                        progress[2] += 1
                    acts[act + 6 + i] = progress[2] - 1
                state[2] = 1
                state[4] = fields[7]
                acts[act] = 2
            elif role == 2:
                code = judge_query(
                    data, off, stop, data[off + 17], settings, state, keys, key_bytes, key_count, moves, transitions, acts, act
                )  # fmt: skip
                if code:
                    break
            elif role == 3:
                code = judge_table(
                    data, off, stop, settings, state, maps, cache_id, cache_body, body_start, body_size, body_plan,
                    bodies, plans, acts, act,
                )  # fmt: skip
                if code:
                    break
            elif role == 4 or role == 5:
                code = judge_rows(
                    data, off, stop, kind, role, settings, state, maps, plans, images, bitmaps, acts, act, progress
                )  # fmt: skip
                if code:
                    break
            elif role == 6:
                if settings[0] > 1:
                    if stop - off < 21:
                        code = 1
                        break
                    acts[act] = 6
                    open_base64(settings, state, acts, act)
                else:
                    acts[act] = 8
                state[6] = 1
            elif role == 7:
                if stop - off < 27:
                    code = 1
                    break
                acts[act] = 7
                state[1] = 0
                state[2] = 0
                state[3] = 0
            else:
                code = 1
                break
            event += 1
            if acts[act] > 1:
                progress[3] = event
        progress[0] = event
        return code
