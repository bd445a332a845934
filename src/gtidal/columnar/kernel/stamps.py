"""What all changes of a rows event share, as columns: its place and time, its transaction's GTID, its table's name.

Changes come in runs (``kernel.runs``). ``columns`` makes many columns at once, into one buffer, ``out``; ``ways`` says in
ten numbers what a column is and where it goes, as for ``kernel.lanes``:

    0 kind     numbers of eight bytes: 0 of the event, 1 of the transaction, 2 the change's in its transaction; texts:
               3 of the transaction, and labels: 4 of the operation, 5 of the plan, 6 of a number of the transaction,
               7 of the image: its operation, but 3 for the second one of an update
    1 source   of the event: 0 its position, 1 its time, 2 its server; of the transaction: which of its numbers; for texts,
               the one that says where the text begins
    2 size     of numbers: by what they are multiplied; of a transaction's text: which number says how long it is, below 0
               for null; of labels: how many there are
    3 values   where the numbers go, or the offsets of text
    4 bitmap   where a bit for each row goes, if there are nulls: 1 for values
    5 text     where the bytes of text go
    6 end      of the room for them
    7 labels   the first one's place in ``labels``, which has start | size << 32 of each in ``label_heap``, or NULL
    8 nulls    out: how many there are
    9 used     out: where text ends, counted from its beginning

The value NONE is null, and so is a label of a number below 0.
"""

import gtidal.columnar.kernel.machine as machine

try:
    import cython
except ImportError:  # it is needed to compile only
    import gtidal.columnar.kernel.without_cython as cython

NONE = -(2**63 - 1)  # their C types are in the .pxd
LOW_HALF = 0xFFFFFFFF
NULL = -(2**32)  # a label of that size


def mark_nulls(out, bitmap, row, count):
    """These rows are null."""
    for k in range(row, row + count):
        out[bitmap + (k >> 3)] &= 255 - (1 << (k & 7))


def clear(out, bitmap, rows):
    """No row is null."""
    for k in range((rows + 7) >> 3):
        out[bitmap + k] = 255


def put_numbers(source, codes, counts, runs, rows, factor, out, values, bitmap):
    """The number that each run's code stands for, for all its rows; gives how many are null."""
    row = 0
    nulls = 0
    for r in range(runs):
        number = source[codes[r]]
        count = counts[r]
        if number == NONE:
            if not nulls:
                clear(out, bitmap, rows)
            nulls += count
            mark_nulls(out, bitmap, row, count)
            number = 0
        number *= factor
        for k in range(count):
            machine.put_long_raw(out, values + 8 * (row + k), number)
        row += count
    return nulls


def put_own_numbers(firsts, operations, counts, runs, paired, out, values):
    """The number of each row's change: two images of an update have the same."""
    row = 0
    for r in range(runs):
        number = firsts[r]
        half = paired and operations[r] == 1
        for k in range(counts[r]):
            machine.put_long_raw(out, values + 8 * (row + k), number + (k >> half))
        row += counts[r]


def put_texts(starts, sizes, codes, counts, runs, rows, heap, limit, way, at, out):
    """The text that each run's code stands for, for all its rows. Gives 0; 1 if there is no room, 2 if it is not there."""
    offsets = way[at + 3]
    text = way[at + 5]
    end = way[at + 6] - text
    used = 0
    row = 0
    nulls = 0
    for r in range(runs):
        size = sizes[codes[r]]
        start = starts[codes[r]]
        count = counts[r]
        if size < 0:
            if not nulls:
                clear(out, way[at + 4], rows)
            nulls += count
            mark_nulls(out, way[at + 4], row, count)
            size = 0
        elif start < 0 or size > limit - start:
            return 2
        for k in range(count):
            if size > end - used:
                return 1
            if size:
                machine.copy_near(out, text + used, way[at + 6], heap, start, limit, size)
            used += size
            machine.put_word_raw(out, offsets + 4 * (row + k) + 4, used)
        row += count
    way[at + 8] = nulls
    way[at + 9] = used
    return 0


def put_labels(kind, numbers, codes, counts, runs, rows, labels, label_heap, limit, way, at, out):
    """Labels of the runs' codes, or of the numbers that these stand for. Gives 0, 1 or 2 as ``put_texts`` does."""
    offsets = way[at + 3]
    text = way[at + 5]
    end = way[at + 6] - text
    used = 0
    row = 0
    nulls = 0
    for r in range(runs):
        code = numbers[codes[r]] if kind == 6 else codes[r]
        count = counts[r]
        if code >= way[at + 2]:
            return 2
        span = labels[way[at + 7] + code] if code >= 0 else NULL
        second = span
        if kind == 7 and code == 1:  # UPDATE
            if way[at + 2] < 4:
                return 2
            second = labels[way[at + 7] + 3]
        for k in range(count):
            start = (second if k & 1 else span) & LOW_HALF
            size = (second if k & 1 else span) >> 32
            if size < 0:
                if not nulls:
                    clear(out, way[at + 4], rows)
                nulls += 1
                mark_nulls(out, way[at + 4], row + k, 1)
                size = 0
            elif size > limit - start:
                return 2
            if size > end - used:
                return 1
            if size:
                machine.copy_near(out, text + used, way[at + 6], label_heap, start, limit, size)
            used += size
            machine.put_word_raw(out, offsets + 4 * (row + k) + 4, used)
        row += count
    way[at + 8] = nulls
    way[at + 9] = used
    return 0


def columns(
    events, transactions, plans, operations, counts, firsts, runs, rows, paired, positions, timestamps, server_ids, txn,
    width, heap, labels, label_heap, ways, out, progress,
):  # fmt: skip
    """The columns that ``ways`` tells of. Run r has ``counts[r]`` rows, ``rows`` in all; ``paired``: they are images, not
    changes. ``txn``: the transactions' numbers, ``width`` of each kind. Gives 0; 1 if there is no room for the text of the
    column progress[0]; 2 for a number that stands for nothing. The caller has seen to it that ``out`` has room for
    everything but text."""
    with cython.nogil:
        there = min(positions.shape[0], timestamps.shape[0], server_ids.shape[0])
        fields = txn.shape[0] // width
        total = 0
        for r in range(runs):
            if events[r] < 0 or events[r] >= there or transactions[r] < 0 or transactions[r] >= width:
                return 2
            if counts[r] < 0 or counts[r] > rows - total:
                return 2
            total += counts[r]
        if total != rows:
            return 2
        way = machine.longs(ways)
        target = machine.room(out)
        many = machine.steps(counts)
        of_event = machine.words(events)
        of_transaction = machine.words(transactions)
        at = 0
        while at < ways.shape[0]:
            kind = way[at]
            source = way[at + 1]
            way[at + 8] = 0
            way[at + 9] = 0
            code = 0
            if kind >= 3:
                machine.put_word_raw(target, way[at + 3], 0)
            if (kind == 1 or kind == 3 or kind == 6) and (source < 0 or source >= fields):
                return 2
            if kind <= 1:
                if kind == 1:
                    values = machine.from_long(txn, source * width)
                elif source == 0:
                    values = machine.steps(positions)
                elif source == 1:
                    values = machine.steps(timestamps)
                else:
                    values = machine.steps(server_ids)
                way[at + 8] = put_numbers(
                    values, of_transaction if kind == 1 else of_event, many, runs, rows, way[at + 2], target, way[at + 3],
                    way[at + 4],
                )  # fmt: skip
            elif kind == 2:
                put_own_numbers(
                    machine.steps(firsts), machine.words(operations), many, runs, paired, target, way[at + 3]
                )
            elif kind == 3:
                if way[at + 2] < 0 or way[at + 2] >= fields:
                    return 2
                code = put_texts(
                    machine.from_long(txn, source * width), machine.from_long(txn, way[at + 2] * width), of_transaction,
                    many, runs, rows, machine.place(heap), heap.shape[0], way, at, target,
                )  # fmt: skip
            else:
                values = machine.from_long(txn, source * width if kind == 6 else 0)
                if kind == 6:
                    codes = of_transaction
                elif kind == 5:
                    codes = machine.words(plans)
                else:
                    codes = machine.words(operations)
                code = put_labels(
                    kind, values, codes, many, runs, rows, machine.steps(labels), machine.place(label_heap),
                    label_heap.shape[0], way, at, target,
                )  # fmt: skip
            if code:
                progress[0] = at // 10
                return code
            at += 10
        return 0
