"""Transactions and table maps: what the event index says beyond single events.

``follow`` goes through the index and does the usual transactions by itself, if they lie within the window: a GTID
or none, BEGIN where it is not MariaDB's GTID that begins, table maps and rows or statements, XID or COMMIT or
ROLLBACK; or one statement alone. It writes one row of numbers for each (``codes.Txn``), and for each event which
transaction it belongs to, which plan its table map has, where its row images lie. Anything else it leaves to the
caller, who feeds the reference decoder and goes on behind it:

    0 DONE   all events were followed
    1 ASK    the event ``progress[0]`` is not ours; if a transaction was begun, that is its first event
    2 OPEN   the transaction that begins with event ``progress[0]`` does not end in this window
    3 TABLE  the table map that is event ``progress[1]`` is not known; go on at ``progress[0]``
    4 FULL   no room for the transaction that begins with event ``progress[0]``

While the caller owns the open transaction (``state[0]``), all but table maps, rows and their texts are ASK.
"""

import gtidal.columnar.kernel.machine as machine
import gtidal.columnar.kernel.queries as queries

try:
    import cython
except ImportError:  # it is needed to compile only
    import gtidal.columnar.kernel.without_cython as cython

NONE = -(2**63 - 1)


def table_id_at(data, pos):
    low = machine.word_at(data, pos)
    high = data[pos + 4] | data[pos + 5] << 8
    return low + high * 65536 * 65536


def put_hex(heap, at, byte):
    high = byte >> 4
    low = byte & 15
    heap[at] = high + (48 if high < 10 else 87)
    heap[at + 1] = low + (48 if low < 10 else 87)
    return at + 2


def put_number(heap, at, number):
    """A positive number in decimal digits; returns where they end."""
    size = 1
    rest = number // 10
    while rest:
        size += 1
        rest //= 10
    place = at + size
    while place > at:
        place -= 1
        heap[place] = 48 + number % 10
        number //= 10
    return at + size


def begin(txn, most, row, position, timestamp, server_id, tables):
    """A transaction of which nothing more is known yet. Its numbers lie far from each other: each is written once."""
    txn[row] = position
    txn[2 * most + row] = timestamp
    txn[3 * most + row] = server_id
    txn[5 * most + row] = 3  # KIND: other
    txn[6 * most + row] = 0
    txn[7 * most + row] = NONE  # GTID_SIZE
    txn[8 * most + row] = 0
    txn[9 * most + row] = 0
    for k in range(10, 20):  # TAG_SIZE to THREAD_ID
        txn[k * most + row] = NONE
    for k in range(20, 24):
        txn[k * most + row] = 0
    txn[24 * most + row] = NONE  # SCHEMA_SIZE
    txn[25 * most + row] = 0
    txn[26 * most + row] = NONE  # QUERY_SIZE
    txn[28 * most + row] = tables
    txn[30 * most + row] = NONE  # UNCOMPRESSED_LENGTH
    txn[31 * most + row] = 0
    txn[32 * most + row] = NONE  # XA_SIZE
    txn[33 * most + row] = NONE  # ANNOUNCED_LENGTH
    for k in range(34, 38):
        txn[k * most + row] = 0


def read_gtid(data, pos, end, txn, most, row, heap, at, uuid, text):
    """A GTID or ANONYMOUS_GTID event's body into the transaction ``row``, which has begun; ``most`` transactions have
    room, so each field has ``most`` places. Returns where the heap ends, or -1 if the event is not laid out as known. The heap has
    room for 64 bytes. The text of the UUID at ``uuid`` is at ``text`` of the heap already; -1: there is none yet."""
    if end - pos < 25:
        return -1
    gno = machine.long_raw(data, pos + 17)
    if gno < 0:
        return -1
    txn[14 * most + row] = 1 - (data[pos] & 1)  # ROW_ONLY
    if gno:
        start = at
        txn[6 * most + row] = at  # GTID
        if uuid >= 0 and machine.same_raw(data, pos + 1, data, uuid, 16):
            machine.copy_raw(heap, at, heap, text, 36)
            at += 36
        else:
            for k in range(16):
                if k == 4 or k == 6 or k == 8 or k == 10:
                    heap[at] = 45
                    at += 1
                at = put_hex(heap, at, data[pos + 1 + k])
        txn[8 * most + row] = at - start  # UUID_SIZE
        heap[at] = 58
        at = put_number(heap, at + 1, gno)
        txn[7 * most + row] = at - start
        txn[11 * most + row] = gno
    pos += 25
    if pos == end:
        return at
    if data[pos] != 2 or end - pos < 17:
        return -1
    txn[12 * most + row] = machine.long_raw(data, pos + 1)
    txn[13 * most + row] = machine.long_raw(data, pos + 9)
    pos += 17
    if pos == end:
        return at
    if end - pos < 7:
        return -1
    high = data[pos + 4] | data[pos + 5] << 8 | (data[pos + 6] & 127) << 16
    stamp = machine.word_raw(data, pos) + high * 65536 * 65536
    txn[15 * most + row] = stamp
    txn[16 * most + row] = stamp
    pos += 7
    if data[pos - 1] & 128:
        if end - pos < 7:
            return -1
        high = data[pos + 4] | data[pos + 5] << 8 | data[pos + 6] << 16
        txn[16 * most + row] = machine.word_raw(data, pos) + high * 65536 * 65536
        pos += 7
    if pos == end:
        return at
    size = data[pos]
    if size < 251:
        txn[33 * most + row] = size
        pos += 1
    elif size == 252 and end - pos >= 3:
        txn[33 * most + row] = data[pos + 1] | data[pos + 2] << 8
        pos += 3
    elif size == 253 and end - pos >= 4:
        txn[33 * most + row] = data[pos + 1] | data[pos + 2] << 8 | data[pos + 3] << 16
        pos += 4
    elif size == 254 and end - pos >= 9 and data[pos + 8] < 128:
        txn[33 * most + row] = machine.long_raw(data, pos + 1)
        pos += 9
    else:
        return -1
    if pos == end:
        return at
    if end - pos < 4:
        return -1
    version = machine.word_raw(data, pos)
    pos += 4
    txn[17 * most + row] = version & 2147483647
    txn[18 * most + row] = version & 2147483647
    if version >> 31:
        if end - pos < 4:
            return -1
        txn[18 * most + row] = machine.word_raw(data, pos)
        pos += 4
    if pos == end:
        return at
    if end - pos != 8:
        return -1
    txn[20 * most + row] = machine.long_raw(data, pos)
    txn[22 * most + row] = 1
    return at


def read_mariadb_gtid(data, pos, end, txn, most, row, heap, at):
    """The same for MariaDB's GTID event. Those of one statement alone, of DDL and of XA are not ours."""
    if end - pos < 13:
        return -1
    sequence = machine.long_raw(data, pos)
    flags = data[pos + 12]
    if sequence < 0 or flags & 225:  # STANDALONE, DDL, PREPARED_XA, COMPLETED_XA
        return -1
    start = at
    at = put_number(heap, at, machine.word_raw(data, pos + 8))
    heap[at] = 45
    at = put_number(heap, at + 1, txn[3 * most + row])  # SERVER_ID
    heap[at] = 45
    at = put_number(heap, at + 1, sequence)
    txn[6 * most + row] = start  # GTID
    txn[7 * most + row] = at - start
    txn[11 * most + row] = sequence  # GNO
    pos += 13
    if flags & 2:  # GROUP_COMMIT_ID
        if end - pos < 8:
            return -1
        pos += 8
    if pos == end:
        return at
    extra = data[pos]
    pos += 1
    if extra & 14:  # an ALTER in two phases
        return -1
    if extra & 1:  # MULTI_ENGINE
        if end - pos < 1:
            return -1
        pos += 1
    if extra & 16:
        if end - pos < 4:
            return -1
        txn[19 * most + row] = machine.word_raw(data, pos)  # THREAD_ID
    return at


def put_schema(data, pos, text, txn, most, row, heap, at):
    """The schema and the thread of the QUERY event whose body is at ``pos``; returns where the heap ends."""
    size = data[pos + 8]
    txn[19 * most + row] = machine.word_raw(data, pos)  # THREAD_ID
    txn[23 * most + row] = at  # SCHEMA
    txn[24 * most + row] = size
    if size:
        machine.copy_raw(heap, at, data, text - 1 - size, size)
    return at + size


def put_statement(data, pos, text, end, is_ddl, txn, most, row, heap, at):
    """What a QUERY event that is a statement adds to its transaction; returns where the heap ends."""
    at = put_schema(data, pos, text, txn, most, row, heap, at)
    if is_ddl or txn[26 * most + row] == NONE:
        txn[25 * most + row] = at  # QUERY
        txn[26 * most + row] = end - text
        machine.copy_raw(heap, at, data, text, end - text)
        at += end - text
    if txn[5 * most + row] == 3:
        txn[5 * most + row] = is_ddl  # KIND: dml or ddl
    if is_ddl:
        status = text - 1 - data[pos + 8]
        xid = queries.find_status(data, pos + 13, status, 17)
        if xid < 0:
            xid = queries.find_status(data, pos + 13, status, 129)  # MariaDB's
        if xid >= 0:
            txn[21 * most + row] = machine.long_raw(data, xid)
            txn[22 * most + row] |= 2
    return at


def find_plan(data, pos, size, cache_id, cache_body, body_start, body_size, body_plan, bodies):
    """The plan of the table map whose body is at ``pos``, or -1. The id before it is no part of a body."""
    if size < 8:
        return -1
    number = table_id_at(data, pos)
    place = number & 4095
    if cache_id[place] != number:
        return -1
    body = cache_body[place]
    if body_size[body] != size - 6:
        return -1
    if not machine.same(data, pos + 6, bodies, body_start[body], size - 6):
        return -1
    return body_plan[body]


def read_rows(data, pos, end, version, before, after, maps, plan_width, event, event_plan, event_start,
              event_before, event_after):  # fmt: skip
    """The fixed part of a rows event: its plan, where its bitmaps and its images are. Returns the event's flags,
    or -1 if it is not ours."""
    if end - pos < 9:
        return -1
    number = table_id_at(data, pos)
    flags = data[pos + 6] | data[pos + 7] << 8
    pos += 8
    if version == 2:
        if end - pos < 3:
            return -1
        size = data[pos] | data[pos + 1] << 8
        if size != 2:
            # Partitions add two or four bytes, MySQL Cluster more: parts the reference decoder would refuse
            # are left to it.
            if size < 2 or size > end - pos - 1 or size > 7 or data[pos + 2] != 1:
                return -1
            if size != (7 if before and after else 5):
                return -1
        pos += size
    plan = -1
    count = maps[0]
    for k in range(count):
        if maps[1 + 2 * k] == number:
            plan = maps[2 + 2 * k]
    if plan < 0:
        return -1
    width = data[pos]
    if width < 251:
        pos += 1
    elif width == 252 and end - pos >= 3:
        width = data[pos + 1] | data[pos + 2] << 8
        pos += 3
    else:
        return -1
    if width != plan_width[plan]:
        return -1
    size = (width + 7) // 8
    event_before[event] = -1
    event_after[event] = -1
    if before:
        if size > end - pos:
            return -1
        event_before[event] = pos
        pos += size
    if after:
        if size > end - pos:
            return -1
        event_after[event] = pos
        pos += size
    event_plan[event] = plan
    event_start[event] = pos
    return flags


def follow(
    data,
    offsets,
    stops,
    types,
    timestamps,
    server_ids,
    flags_of,
    positions,
    ends,
    payloads,
    extras,
    first,
    last,
    roles,
    words,
    cache_id,
    cache_body,
    body_start,
    body_size,
    body_plan,
    bodies,
    plan_width,
    plan_name,
    maps,
    event_txn,
    event_plan,
    event_start,
    event_end,
    event_before,
    event_after,
    event_query,
    txn,
    txn_tables,
    heap,
    query_start,
    query_size,
    state,
    progress,
):
    """Follow the events ``first`` to ``last`` of the index; ``ends`` are the positions behind them, ``payloads`` those of
    the payloads that they are inside of, ``extras`` the unpacked sizes of payloads; ``words``: see ``queries.kind_of``.
    ``state``: [0] 1 while the caller owns the open transaction, [1] transactions, [2] numbers of tables, [3] bytes of the
    heap, [4] the text that rows now belong to, [5] texts; [6] is above 0 if there were statements, [7] if transactions were
    rolled back. The maps in force: [0] how many, then pairs of id and plan."""
    with cython.nogil:
        owned = state[0]
        count = state[1]
        tables = state[2]
        used = state[3]
        query = state[4]
        texts = state[5]
        most = txn.shape[0] // 40
        room = heap.shape[0]
        begun = -1  # the event that began the transaction at hand
        inside = 0  # behind its BEGIN
        sealed = 0  # right behind its payload
        code = 0
        uuid = -1  # the last UUID, and its text in the heap
        text = 0
        i = first
        kept_tables = tables
        kept_used = used
        kept_texts = texts
        while i < last:
            kind = types[i]
            role = roles[kind]
            if i + 6 < last:
                machine.prefetch(data, offsets[i + 6])
            pos = offsets[i] + 19
            end = stops[i]
            event_txn[i] = count
            event_plan[i] = -1
            event_query[i] = 0
            if end < pos:
                code = 1
                break
            ended = -1  # how the transaction ends with this event
            if not owned:
                if begun < 0:
                    # From QUERY on, events may begin a transaction by themselves. A statement that has not ended
                    # before it leaves its maps in force.
                    begins = role == 1 or role == 9 or (role >= 11 and not flags_of[i] & 128)
                    if not begins or maps[0] or payloads[i] >= 0:
                        code = 1
                        break
                    begun = i
                    kept_tables = tables
                    kept_used = used
                    kept_texts = texts
                    query = 0
                    if count >= most or room - used < 64:
                        code = 4
                        break
                    begin(machine.longs(txn), most, count, positions[i], timestamps[i], server_ids[i], tables)
                elif role == 1 or role == 9 or (sealed and payloads[i] < 0):
                    code = 1
                    break
                sealed = 0
            if role == 3:  # TABLE_MAP
                if not owned and not inside:
                    code = 1
                    break
                plan = find_plan(
                    data, pos, end - pos, cache_id, cache_body, body_start, body_size, body_plan, bodies
                )
                if plan < 0:
                    code = 3
                    break
                event_plan[i] = plan
                number = table_id_at(data, pos)
                held = maps[0]
                k = 0
                while k < held and maps[1 + 2 * k] != number:
                    k += 1
                if k == held:
                    if 2 * k + 2 >= maps.shape[0]:
                        code = 1
                        break
                    maps[0] = held + 1
                maps[1 + 2 * k] = number
                maps[2 + 2 * k] = plan
                if not owned:
                    name = plan_name[plan]
                    k = txn[28 * most + count]
                    while k < tables and txn_tables[k] != name:
                        k += 1
                    if k == tables:
                        if tables >= txn_tables.shape[0]:
                            code = 4
                            break
                        txn_tables[tables] = name
                        tables += 1
            elif role == 4 or role == 5:  # ROWS
                if not owned and not inside:
                    code = 1
                    break
                before = 0 if kind == 23 or kind == 30 else 1
                after = 0 if kind == 25 or kind == 32 else 1
                flags = read_rows(
                    data, pos, end, role - 3, before, after, maps, plan_width, i, event_plan, event_start,
                    event_before, event_after,
                )  # fmt: skip
                if flags < 0:
                    code = 1
                    break
                event_end[i] = end
                event_query[i] = query
                if flags & 1:  # the statement ends
                    maps[0] = 0
                    query = 0
                if not owned and txn[5 * most + count] == 3:
                    txn[5 * most + count] = 0  # KIND: dml
            elif role == 6 or role == 10:  # ROWS_QUERY, ANNOTATE_ROWS
                if role == 6:
                    pos += 1
                if (not owned and not inside) or end < pos:
                    code = 1
                    break
                size = end - pos
                if size > room - used or texts >= query_start.shape[0]:
                    code = 4
                    break
                if size:
                    machine.copy(heap, used, data, pos, size)
                query_start[texts] = used
                query_size[texts] = size
                query = texts
                if not owned and txn[26 * most + count] == NONE:
                    txn[25 * most + count] = used
                    txn[26 * most + count] = size
                texts += 1
                used += size
            elif owned:
                code = 1
                break
            elif role == 1:  # GTID
                used = read_gtid(
                    machine.place(data), pos, end, machine.longs(txn), most, count, machine.room(heap), used, uuid, text
                )  # fmt: skip
                if used < 0:
                    code = 1
                    break
                if txn[8 * most + count]:
                    uuid = pos + 1
                    text = kept_used
            elif role == 9:  # MARIADB_GTID
                used = read_mariadb_gtid(
                    machine.place(data), pos, end, machine.longs(txn), most, count, machine.room(heap), used
                )
                if used < 0:
                    code = 1
                    break
                inside = 1
            elif role == 2 or role == 11:  # BEGIN, QUERY
                act = 0
                said = queries.text_of(machine.place(data), pos, end)
                if said >= 0:
                    act = queries.kind_of(
                        machine.place(data), said, end, machine.longs(words), words.shape[0] // 2
                    )
                if act == 0 or (role == 2 and act != 1):
                    code = 1
                    break
                if end - pos > room - used:
                    code = 4
                    break
                if act == 1:  # BEGIN
                    if inside:
                        code = 1
                        break
                    used = put_schema(
                        machine.place(data), pos, said, machine.longs(txn), most, count, machine.room(heap), used
                    )  # fmt: skip
                    inside = 1
                elif act >= 5:  # a statement, which is the whole transaction if it is alone
                    if not machine.ascii_raw(machine.place(data), said, end - said):
                        code = 1  # it may be in any charset
                        break
                    used = put_statement(
                        machine.place(data), pos, said, end, act - 5, machine.longs(txn), most, count, machine.room(heap), used
                    )  # fmt: skip
                    event_query[i] = 4 - act  # -1: dml, -2: ddl
                    state[6] += 1
                    event_start[i] = said
                    event_end[i] = end
                    if not inside:
                        ended = 0
                elif not inside:
                    code = 1
                    break
                elif act < 4:  # COMMIT, ROLLBACK
                    ended = act - 2
            elif role == 12:  # INTVAR, RAND, USER_VAR
                if not queries.is_setting(machine.place(data), pos, end, kind):
                    code = 1
                    break
            elif role == 8:  # PAYLOAD: the events inside it follow
                if inside or txn[34 * most + count]:
                    code = 1
                    break
                txn[34 * most + count] = 1
                txn[30 * most + count] = extras[i]
                sealed = 1
            elif role == 7:  # XID
                if not inside or end - pos != 8:
                    code = 1
                    break
                txn[21 * most + count] = machine.long_at(data, pos)
                txn[22 * most + count] |= 2
                ended = 0
            else:
                code = 1
                break
            if ended >= 0 and payloads[i] >= 0 and i + 1 < last and payloads[i + 1] >= 0:
                code = 1  # more follows in the payload, which should hold one transaction
                break
            i += 1
            if ended >= 0:
                txn[1 * most + count] = ends[i - 1]
                txn[4 * most + count] = ended  # OUTCOME: commit or rollback
                state[7] += ended
                txn[27 * most + count] = i - begun
                txn[29 * most + count] = tables - txn[28 * most + count]
                count += 1
                begun = -1
                inside = 0
        progress[1] = i
        if not owned and begun >= 0:
            # Half a transaction: as if it had not been begun.
            if code == 0:
                code = 2
            i = begun
            tables = kept_tables
            used = kept_used
            texts = kept_texts
            query = 0
            maps[0] = 0
        progress[0] = i
        state[1] = count
        state[2] = tables
        state[3] = used
        state[4] = query
        state[5] = texts
        return code
