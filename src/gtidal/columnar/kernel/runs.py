"""Rows events and their changes: which events are shown, and how their images make runs of changes.

A run is what one event has of the images at hand. An update has two images for each change. All functions return 0
when done, or 1 where there is no room, or a number that stands for nothing.
"""

import gtidal.columnar.kernel.machine as machine

try:
    import cython
except ImportError:  # it is needed to compile only
    import gtidal.columnar.kernel.without_cython as cython


def choose(
    types, is_rows, event_plan, event_txn, event_start, event_end, event_before, event_after, shown, kept, wanted, count,
    positions, ended, places, taken, passed, progress,
):  # fmt: skip
    """The places of rows events whose plan is known and whose transaction is shown; where there is any ``kept``, only
    of those that it marks, and where there is any ``wanted``, of plans that it marks. ``taken``: what ``take`` gives of
    them, in stretches as long as ``places``. ``passed``: the places of those that are left out of a shown transaction, if
    one follows in it that is not, or may follow: so it is from the transaction ``ended`` on. Transactions of which
    ``positions`` are the same count as one. progress: 0 how many there are, 1 and 2 the lowest and the highest of their
    plans, 3 how many are passed."""
    with cython.nogil:
        found = 0
        left_out = 0
        waiting = 0
        waits_for = -1
        lowest = 2147483647
        highest = -1
        transactions = min(shown.shape[0], positions.shape[0])
        plans = wanted.shape[0]
        room = places.shape[0]
        all_kept = kept.shape[0] == 0
        if 5 * room > taken.shape[0] or room > passed.shape[0]:
            return 1
        for i in range(count):
            plan = event_plan[i]
            if not is_rows[types[i]] or plan < 0:
                continue
            number = event_txn[i]
            if number < 0:
                continue
            if number >= transactions or found >= room or waiting >= room:
                return 1
            if not shown[number]:
                continue
            if plans and plan >= plans:
                return 1
            if not (all_kept or kept[i]) or (plans and not wanted[plan]):
                if positions[number] != waits_for:
                    waits_for = positions[number]
                    waiting = left_out
                passed[waiting] = i
                waiting += 1
                if number >= ended:
                    left_out = waiting
                continue
            if positions[number] == waits_for:
                left_out = waiting
            places[found] = i
            taken[found] = event_start[i]
            taken[room + found] = event_end[i]
            taken[2 * room + found] = plan
            taken[3 * room + found] = event_before[i]
            taken[4 * room + found] = event_after[i]
            lowest = min(lowest, plan)
            highest = max(highest, plan)
            found += 1
        progress[0] = found
        progress[1] = lowest
        progress[2] = highest
        progress[3] = left_out
        return 0


def take(event_start, event_end, event_plan, event_before, event_after, places, count, taken):
    """What is known of the events at these places: five stretches of ``count`` numbers."""
    with cython.nogil:
        events = event_start.shape[0]
        if 5 * count > taken.shape[0]:
            return 1
        for i in range(count):
            place = places[i]
            if place < 0 or place >= events:
                return 1
            taken[i] = event_start[place]
            taken[count + i] = event_end[place]
            taken[2 * count + i] = event_plan[place]
            taken[3 * count + i] = event_before[place]
            taken[4 * count + i] = event_after[place]
        return 0


def next_number(position, changes, state):
    """The number of a run's first change within its transaction, which is at ``position``. ``state``, in and out: the
    position of the last transaction seen, and the number of its next change."""
    if position != state[0]:
        state[0] = position
        state[1] = 0
    first = state[1]
    state[1] = first + changes
    return first


def number(transactions, positions, changes, runs, firsts, state):
    """The number of each run's first change within its transaction. ``positions`` are the transactions'."""
    with cython.nogil:
        there = positions.shape[0]
        for r in range(runs):
            which = transactions[r]
            if which < 0 or which >= there:
                return 1
            firsts[r] = next_number(positions[which], changes[r], machine.longs(state))
        return 0


def pass_over(event_txn, events, positions, places, rows, count, earlier, passed):
    """For each event, how many rows of its transaction stand before it at these places, in order, that have so many
    each; and ``earlier`` ones more in the first transaction. Gives the sum for the last one, -1 where there is no room, or a
    number stands for nothing. Transactions of which ``positions`` are the same count as one."""
    with cython.nogil:
        transactions = positions.shape[0]
        if transactions < 1 or events > event_txn.shape[0] or events > passed.shape[0]:
            return -1
        if count > places.shape[0] or count > rows.shape[0]:
            return -1
        current = positions[0]
        total = earlier
        k = 0
        for i in range(events):
            number = event_txn[i]
            if number >= transactions:
                return -1
            if number >= 0 and positions[number] != current:
                current = positions[number]
                total = 0
            passed[i] = total
            while k < count and places[k] == i:
                total += rows[k]
                k += 1
        return total


def put_bits(images, count, out, at, size):
    """A bit for each image that is there, in ``size`` bytes from ``at`` on."""
    for byte in range(size):
        bits = 0
        for k in range(8 * byte, min(8 * byte + 8, count)):
            bits |= (images[k] >= 0) << (k & 7)
        out[at + byte] = bits


def find(
    image_event, images, places, types, operations, event_txn, event_plan, event_query, positions, state, found, sizes,
    befores, afters, valid, progress,
):  # fmt: skip
    """The runs of images in order: ``image_event`` says of which of the events each is, whose places in the window are
    ``places``. Each run gets six numbers, in stretches as long as there are images: its first image, its event's place,
    operation, transaction, plan and text (-1: none); and three in ``sizes``: how many images it has, how many changes,
    and the number of the first of these in its transaction (``number``). Where there is room for them, ``befores`` and
    ``afters`` get the images of each change, -1 where there is none, and the two halves of ``valid`` a bit for each that
    there is. progress: 0 how many runs there are, 1 how many changes, 2 whether there are texts, 3 how many changes have
    no image before, 4 how many have none after."""
    with cython.nogil:
        runs = 0
        total = 0
        texts = 0
        there = places.shape[0]
        events = types.shape[0]
        transactions = positions.shape[0]
        sides = min(befores.shape[0], afters.shape[0])
        half = valid.shape[0] >> 1
        added = 0
        removed = 0
        if 6 * images > found.shape[0] or 3 * images > sizes.shape[0]:
            return 1
        if sides and (sides < images or 8 * half < images):
            return 1
        image = 0
        while image < images:
            number = image_event[image]
            if number < 0 or number >= there:
                return 1
            place = places[number]
            if place < 0 or place >= events:
                return 1
            which = event_txn[place]
            if which < 0 or which >= transactions:
                return 1
            last = image + 1
            while last < images and image_event[last] == number:
                last += 1
            operation = operations[types[place]]
            size = last - image
            changes = size
            if operation == 1:  # UPDATE
                changes = size >> 1
            if sides:
                if operation == 0:  # INSERT
                    added += changes
                    for k in range(changes):
                        befores[total + k] = -1
                        afters[total + k] = image + k
                elif operation == 1:
                    for k in range(changes):
                        befores[total + k] = image + 2 * k
                        afters[total + k] = image + 2 * k + 1
                else:
                    removed += changes
                    for k in range(changes):
                        befores[total + k] = image + k
                        afters[total + k] = -1
            found[runs] = image
            found[images + runs] = place
            found[2 * images + runs] = operation
            found[3 * images + runs] = which
            found[4 * images + runs] = event_plan[place]
            text = event_query[place]
            found[5 * images + runs] = text if text > 0 else -1
            if text > 0:
                texts = 1
            sizes[runs] = size
            sizes[images + runs] = changes
            sizes[2 * images + runs] = next_number(positions[which], changes, machine.longs(state))
            total += changes
            runs += 1
            image = last
        if sides:
            put_bits(machine.words(befores), total, machine.room(valid), 0, half)
            put_bits(machine.words(afters), total, machine.room(valid), half, half)
        progress[0] = runs
        progress[1] = total
        progress[2] = texts
        progress[3] = added
        progress[4] = removed
        return 0
