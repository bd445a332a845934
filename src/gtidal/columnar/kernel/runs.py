"""Rows events and their changes: which events are shown, and how their images make runs of changes.

A run is what one event has of the images at hand. An update has two images for each change. All functions return 0
when done, or 1 where there is no room, or a number that stands for nothing.
"""

try:
    import cython
except ImportError:  # it is needed to compile only
    import gtidal.columnar.kernel.without_cython as cython


def choose(types, is_rows, event_plan, event_txn, shown, kept, count, places, progress):
    """The places of rows events whose plan is known and whose transaction is shown; where there is any ``kept``, only
    of those that it marks. progress[0]: how many."""
    with cython.nogil:
        found = 0
        transactions = shown.shape[0]
        room = places.shape[0]
        all_kept = kept.shape[0] == 0
        for i in range(count):
            if not is_rows[types[i]] or event_plan[i] < 0:
                continue
            number = event_txn[i]
            if number < 0:
                continue
            if number >= transactions or found >= room:
                return 1
            if shown[number] and (all_kept or kept[i]):
                places[found] = i
                found += 1
        progress[0] = found
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


def find(
    image_event, images, places, types, operations, event_txn, event_plan, event_query, found, sizes, progress
):
    """The runs of images in order: ``image_event`` says of which of the events each is, whose places in the window are
    ``places``. Each run gets six numbers, in stretches as long as there are images: its first image, its event's place,
    operation, transaction, plan and text (-1: none); and two in ``sizes``: how many images it has, and how many changes.
    progress: 0 how many runs there are, 1 how many changes, 2 whether a run has more or less than one, 3 whether there
    are texts."""
    with cython.nogil:
        runs = 0
        total = 0
        uneven = 0
        texts = 0
        there = places.shape[0]
        events = types.shape[0]
        if 6 * images > found.shape[0] or 2 * images > sizes.shape[0]:
            return 1
        image = 0
        while image < images:
            number = image_event[image]
            if number < 0 or number >= there:
                return 1
            place = places[number]
            if place < 0 or place >= events:
                return 1
            last = image + 1
            while last < images and image_event[last] == number:
                last += 1
            operation = operations[types[place]]
            size = last - image
            changes = size
            if operation == 1:  # UPDATE
                changes = size >> 1
            found[runs] = image
            found[images + runs] = place
            found[2 * images + runs] = operation
            found[3 * images + runs] = event_txn[place]
            found[4 * images + runs] = event_plan[place]
            text = event_query[place]
            found[5 * images + runs] = text if text > 0 else -1
            if text > 0:
                texts = 1
            sizes[runs] = size
            sizes[images + runs] = changes
            total += changes
            if changes != 1:
                uneven = 1
            runs += 1
            image = last
        progress[0] = runs
        progress[1] = total
        progress[2] = uneven
        progress[3] = texts
        return 0


def number(transactions, positions, changes, runs, firsts, state):
    """The number of each run's first change within its transaction. ``positions`` are the transactions'; ``state``, in
    and out: the position of the last transaction seen, and the number of its next change."""
    with cython.nogil:
        there = positions.shape[0]
        last = state[0]
        following = state[1]
        for r in range(runs):
            which = transactions[r]
            if which < 0 or which >= there:
                return 1
            position = positions[which]
            if position != last:
                last = position
                following = 0
            firsts[r] = following
            following += changes[r]
        state[0] = last
        state[1] = following
        return 0


def sides(starts, operations, changes, runs, befores, afters):
    """Of each change the images before and after it, -1 where there is none."""
    with cython.nogil:
        at = 0
        room = min(befores.shape[0], afters.shape[0])
        for r in range(runs):
            count = changes[r]
            if count > room - at:
                return 1
            image = starts[r]
            operation = operations[r]
            if operation == 0:  # INSERT
                for k in range(count):
                    befores[at + k] = -1
                    afters[at + k] = image + k
            elif operation == 1:  # UPDATE
                for k in range(count):
                    befores[at + k] = image + 2 * k
                    afters[at + k] = image + 2 * k + 1
            else:
                for k in range(count):
                    befores[at + k] = image + k
                    afters[at + k] = -1
            if count > 0:
                at += count
        return 0


def images(operations, firsts, sizes, runs, rows, kinds):
    """Of each image the number of its change, counted from its run's first, and its kind: the operation of its event, but
    3 for the second image of an update."""
    with cython.nogil:
        at = 0
        room = min(rows.shape[0], kinds.shape[0])
        for r in range(runs):
            count = sizes[r]
            if count > room - at:
                return 1
            row = firsts[r]
            operation = operations[r]
            if operation == 1:  # UPDATE
                for k in range(count):
                    rows[at + k] = row + (k >> 1)
                    kinds[at + k] = 1 + 2 * (k & 1)
            else:
                for k in range(count):
                    rows[at + k] = row + k
                    kinds[at + k] = operation
            if count > 0:
                at += count
        return 0
