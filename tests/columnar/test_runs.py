"""Runs of changes, held against the same in plain Python: interpreted and compiled."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import numpy as np
import pytest

from gtidal.columnar import kernel
from gtidal.columnar.arrays import constant_list, picked_numbers
from gtidal.columnar.codes import NONE
from gtidal.columnar.schemas import BIGINT

INSERT, UPDATE, DELETE = 30, 31, 32
TABLE_MAP = 19
OPERATIONS = np.zeros(256, np.int32)
OPERATIONS[UPDATE], OPERATIONS[DELETE] = 1, 2
ROWS = np.zeros(256, np.uint8)
ROWS[[INSERT, UPDATE, DELETE]] = 1


pytestmark = pytest.mark.usefixtures("implementation")


def ints(values: Any) -> memoryview:
    return memoryview(np.array(values, np.int32))


def longs(values: Any) -> memoryview:
    return memoryview(np.array(values, np.int64))


PLANS = [0, 0, 0, -1, 1, 1]


def chosen(
    shown: list[int], kept: list[int], wanted: list[int] | None = None, room: int = 9, taken_room: int = 5
) -> tuple[int, list[int], list[int]]:
    """The code, the places, and the lowest and highest plan. Each event has a transaction of its own."""
    types = memoryview(np.array([TABLE_MAP, INSERT, UPDATE, INSERT, DELETE, INSERT], np.uint8))
    places, taken, progress = ints([-7] * room), ints([-7] * taken_room * room), longs([-7] * 4)
    starts, ends, befores, afters = ([100 * lane + place for place in range(6)] for lane in (1, 2, 4, 5))
    code = kernel.runs.choose(
        types, memoryview(ROWS), ints(PLANS), ints([0, 0, 1, 1, 2, -1]), ints(starts), ints(ends), ints(befores),
        ints(afters), memoryview(np.array(shown, np.uint8)), memoryview(np.array(kept, np.uint8)),
        memoryview(np.array(wanted or [], np.uint8)), len(types), longs([4, 99, 300]), 3, places, taken, ints([0] * room), progress,
    )  # fmt: skip
    if code:
        return code, [], []
    assert progress[3] == 0, "none is passed over where none follows in its transaction"
    found = places[: progress[0]].tolist()
    for lane, values in enumerate((starts, ends, PLANS, befores, afters)):
        assert taken[lane * room :][: len(found)].tolist() == [values[place] for place in found]
    return code, found, progress[1:3].tolist()


def test_which_events_are_shown() -> None:
    """Not a table map, not rows without a plan, not rows of no transaction."""
    assert chosen([1, 1, 1], []) == (0, [1, 2, 4], [0, 1])
    assert chosen([1, 0, 1], []) == (0, [1, 4], [0, 1])
    assert chosen([1, 1, 1], [1, 0, 1, 1, 1, 1]) == (0, [2, 4], [0, 1])
    assert chosen([1, 1, 1], [], [1, 0]) == (0, [1, 2], [0, 0])
    assert chosen([1, 0, 1], [1, 1, 1, 1, 0, 1], [0, 1]) == (0, [], [2**31 - 1, -1])
    assert chosen([0, 0, 0], [])[:2] == (0, [])
    assert chosen([1, 1], [])[0] == 1, "a transaction that is not there"
    assert chosen([1, 1, 1], [], [1])[0] == 1, "a plan that is not there"
    assert chosen([1, 1, 1], [], room=2)[0] == 1
    assert chosen([1, 1, 1], [], taken_room=4)[0] == 1


def test_which_events_are_passed_over() -> None:
    """Those that are left out before one that is shown, in the same transaction; and all of one that goes on. Some
    transactions are at the same position: these are as one."""
    random = np.random.default_rng(13)
    for _ in range(200):
        count, transactions = int(random.integers(1, 30)), int(random.integers(1, 7))
        of = np.sort(random.integers(-1, transactions, count))
        kept = random.integers(0, 2, count)
        shown = random.integers(0, 4, transactions) > 0
        positions = 77 + np.sort(random.integers(0, transactions, transactions))
        ended = transactions if random.integers(2) else int(np.searchsorted(positions, positions[-1]))
        at = [int(positions[number]) if number >= 0 else -1 for number in of]
        zeros = ints([0] * count)
        places, passed, progress = ints([-7] * count), ints([-7] * count), longs([-7] * 4)
        code = kernel.runs.choose(
            memoryview(np.full(count, INSERT, np.uint8)), memoryview(ROWS), zeros, ints(of), zeros, zeros, zeros, zeros,
            memoryview(shown.astype(np.uint8)), memoryview(kept.astype(np.uint8)), memoryview(np.zeros(0, np.uint8)),
            count, longs(positions), ended, places, ints([0] * 5 * count), passed, progress,
        )  # fmt: skip
        assert code == 0
        of_shown = [place for place in range(count) if of[place] >= 0 and shown[of[place]]]
        assert places[: progress[0]].tolist() == [place for place in of_shown if kept[place]]
        assert passed[: progress[3]].tolist() == [
            place
            for place in of_shown
            if not kept[place]
            and (of[place] >= ended or any(at[k] == at[place] and kept[k] for k in of_shown if k > place))
        ]
        rows = random.integers(0, 5, count)
        before = longs([-7] * count)
        skipped = passed[: progress[3]]
        total = kernel.runs.pass_over(
            ints(of), count, longs(positions), skipped, ints(rows[: len(skipped)]), len(skipped), 3, before
        )
        size = dict(zip(skipped.tolist(), rows.tolist(), strict=False))

        def expected(
            place: int, where: int, size: Any = size, at: Any = at, first: Any = positions[0]
        ) -> int:
            return sum(size.get(k, 0) for k in range(place) if at[k] == where) + 3 * int(where == first)

        for place in range(count):
            assert of[place] < 0 or before[place] == expected(place, at[place])
        assert total == (expected(count, at[-1]) if of[-1] >= 0 else 3)


def test_pass_over_asks_for_room() -> None:
    three, one = ints([0, 0, 0]), longs([4])
    for arguments in (
        (three, 4, one, three, three, 3, 0, longs([0] * 4)),
        (three, 3, one, three, three, 3, 0, longs([0] * 2)),
        (three, 3, one, three, three, 4, 0, longs([0] * 3)),
        (three, 3, one, three, three[:2], 3, 0, longs([0] * 3)),
        (three, 3, one[:0], three, three, 3, 0, longs([0] * 3)),
        (ints([0, 1, 0]), 3, one, three, three, 3, 0, longs([0] * 3)),
    ):
        assert kernel.runs.pass_over(*arguments) == -1


def test_what_is_known_of_events() -> None:
    lanes = [ints([100 * lane + place for place in range(4)]) for lane in range(5)]
    taken = ints([0] * 10)
    assert kernel.runs.take(*lanes, ints([3, 1]), 2, taken) == 0
    assert list(taken) == [3, 1, 103, 101, 203, 201, 303, 301, 403, 401]
    assert kernel.runs.take(*lanes, ints([4]), 1, taken) == 1
    assert kernel.runs.take(*lanes, ints([-1]), 1, taken) == 1
    assert kernel.runs.take(*lanes, ints([0, 1, 2]), 3, taken) == 1


@pytest.mark.parametrize("with_sides", [False, True])
def test_runs_are_those_of_events(with_sides: bool) -> None:
    random = np.random.default_rng(11)
    for _ in range(60):
        events = int(random.integers(1, 9))
        types = random.choice([INSERT, UPDATE, DELETE], 3 * events).astype(np.uint8)
        places = np.sort(random.choice(3 * events, events, replace=False)).astype(np.int32)
        queries = random.integers(-2, 3, 3 * events).astype(np.int32)
        transactions = np.sort(random.integers(0, 4, 3 * events)).astype(np.int32)
        counts = random.integers(0, 4, events)
        sizes = np.where(types[places] == UPDATE, 2 * counts, counts)
        image_event = np.repeat(np.arange(events, dtype=np.int32), sizes)
        images = len(image_event)
        found, own_sizes, progress = ints([-9] * 6 * images), longs([-9] * 3 * images), longs([-9] * 5)
        befores, afters = (ints([-9] * (images if with_sides else 0)) for _ in range(2))
        valid = memoryview(np.full(2 * (images // 8 + 1) if with_sides else 0, 0x55, np.uint8))
        plans, positions, state = np.arange(3 * events) + 90, [4, 77, 99, 2**40], [77, 5]
        state_view = longs(state)
        code = kernel.runs.find(
            memoryview(image_event), images, memoryview(places), memoryview(types), memoryview(OPERATIONS),
            memoryview(transactions), ints(plans), memoryview(queries), longs(positions), state_view, found, own_sizes,
            befores, afters, valid, progress,
        )  # fmt: skip
        assert code == 0
        expected, sides = [], []
        first = 0
        for event, group in groupby(image_event.tolist()):
            place, size, changes = int(places[event]), len(list(group)), int(counts[event])
            text, operation = int(queries[place]), int(OPERATIONS[types[place]])
            transaction = int(transactions[place])
            own = [first, place, operation, transaction, place + 90, text if text > 0 else -1]
            if state[0] != positions[transaction]:
                state = [positions[transaction], 0]
            expected.append((own, size, changes, state[1]))
            state[1] += changes
            for k in range(changes):
                one = first + (2 * k if operation == 1 else k)
                sides.append((-1 if operation == 0 else one, (one + 1, one, -1)[(1, 0, 2).index(operation)]))
            first += size
        runs = progress[0]
        numbers = np.array(found).reshape(6, images)[:, :runs].T.tolist()
        three = np.array(own_sizes).reshape(3, images)[:, :runs].T.tolist()
        assert [(one, *more) for one, more in zip(numbers, three, strict=True)] == expected
        assert state_view.tolist() == state
        assert progress[1] == sum(changes for _, _, changes, _ in expected)
        assert bool(progress[2]) == any(own[5] > 0 for own, *_ in expected)
        if with_sides and images:
            both = zip(befores[: len(sides)].tolist(), afters[: len(sides)].tolist(), strict=True)
            assert list(both) == sides
            for side, half in enumerate(np.array(valid).reshape(2, -1)):
                bits = np.unpackbits(half, bitorder="little").tolist()
                there = [one[side] >= 0 for one in sides]
                assert bits == there + [False] * (len(bits) - len(there))
                assert progress[3 + side] == there.count(False)


def test_runs_of_events_that_are_not_there() -> None:
    def code_of(
        image_event: list[int],
        places: list[int],
        room: int = 6,
        sizes: int = 3,
        sides: int = 0,
        bits: int = 2,
        txn: int = 0,
    ) -> int:
        return int(
            kernel.runs.find(
                ints(image_event), len(image_event), ints(places), memoryview(np.full(2, INSERT, np.uint8)),
                memoryview(OPERATIONS), ints([txn] * 2), ints([0, 0]), ints([0, 0]), longs([4]), longs([-1, 0]),
                ints([0] * room), longs([0] * sizes), ints([0] * sides), ints([0] * sides),
                memoryview(np.zeros(bits, np.uint8)), longs([0] * 5),
            )
        )  # fmt: skip

    assert code_of([0], [1]) == 0
    assert code_of([1], [1]) == 1
    assert code_of([-1], [1]) == 1
    assert code_of([0], [2]) == 1
    assert code_of([0], [1], txn=1) == 1
    assert code_of([0], [1], txn=-1) == 1
    assert code_of([0], [1], room=5) == 1
    assert code_of([0], [1], sizes=2) == 1
    assert code_of([0, 0], [1], room=12, sizes=6, sides=2) == 0
    assert code_of([0, 0], [1], room=12, sizes=6, sides=1) == 1
    assert code_of([0] * 9, [1], room=54, sizes=27, sides=9, bits=2) == 1


def test_changes_are_numbered_in_their_transactions() -> None:
    state = longs([-1, 0])
    positions = longs([400, 700, 900])

    def numbered(transactions: list[int], changes: list[int]) -> list[int]:
        firsts = longs([-9] * len(changes))
        assert (
            kernel.runs.number(ints(transactions), positions, longs(changes), len(changes), firsts, state)
            == 0
        )
        return list(firsts)

    assert numbered([0, 0, 1, 1], [2, 3, 1, 4]) == [0, 2, 0, 1]
    assert numbered([1], [2]) == [5], "the transaction goes on"
    assert numbered([1, 2, 2], [1, 0, 1]) == [7, 0, 0]
    assert list(state) == [900, 1]
    assert kernel.runs.number(ints([3]), positions, longs([1]), 1, longs([0]), state) == 1


def test_numbers_with_nulls() -> None:
    values = np.array([5, NONE, -7])
    assert picked_numbers(values, np.array([2, -1, 1, 0]), BIGINT).to_pylist() == [-7, None, None, 5]
    assert picked_numbers(values, np.array([0, 2]), BIGINT).to_pylist() == [5, -7]
    assert picked_numbers(values, np.array([], int), BIGINT).to_pylist() == []
    assert picked_numbers(values, np.array([-1, 1]), BIGINT).to_pylist() == [None, None]


@pytest.mark.parametrize("texts", [None, (), ("id",), ("a", "b")])
def test_the_same_list(texts: tuple[str, ...] | None) -> None:
    for count in (0, 1, 5, 1000):
        array = constant_list(texts, count)
        array.validate(full=True)
        assert array.to_pylist() == [None if texts is None else list(texts)] * count
