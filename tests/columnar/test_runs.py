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


def chosen(shown: list[int], kept: list[int], room: int = 9) -> tuple[int, list[int]]:
    types = memoryview(np.array([TABLE_MAP, INSERT, UPDATE, INSERT, DELETE, INSERT], np.uint8))
    places, progress = ints([-7] * room), longs([-7])
    code = kernel.runs.choose(
        types, memoryview(ROWS), ints([0, 0, 0, -1, 1, 1]), ints([0, 0, 1, 1, 2, -1]),
        memoryview(np.array(shown, np.uint8)), memoryview(np.array(kept, np.uint8)), len(types), places, progress,
    )  # fmt: skip
    return code, list(places[: max(progress[0], 0)])


def test_which_events_are_shown() -> None:
    """Not a table map, not rows without a plan, not rows of no transaction."""
    assert chosen([1, 1, 1], []) == (0, [1, 2, 4])
    assert chosen([1, 0, 1], []) == (0, [1, 4])
    assert chosen([1, 1, 1], [1, 0, 1, 1, 1, 1]) == (0, [2, 4])
    assert chosen([0, 0, 0], []) == (0, [])
    assert chosen([1, 1], [])[0] == 1, "a transaction that is not there"
    assert chosen([1, 1, 1], [], room=2)[0] == 1


def test_what_is_known_of_events() -> None:
    lanes = [ints([100 * lane + place for place in range(4)]) for lane in range(5)]
    taken = ints([0] * 10)
    assert kernel.runs.take(*lanes, ints([3, 1]), 2, taken) == 0
    assert list(taken) == [3, 1, 103, 101, 203, 201, 303, 301, 403, 401]
    assert kernel.runs.take(*lanes, ints([4]), 1, taken) == 1
    assert kernel.runs.take(*lanes, ints([-1]), 1, taken) == 1
    assert kernel.runs.take(*lanes, ints([0, 1, 2]), 3, taken) == 1


def test_runs_are_those_of_events() -> None:
    random = np.random.default_rng(11)
    for _ in range(60):
        events = int(random.integers(1, 9))
        types = random.choice([INSERT, UPDATE, DELETE], 3 * events).astype(np.uint8)
        places = np.sort(random.choice(3 * events, events, replace=False)).astype(np.int32)
        queries = random.integers(-2, 3, 3 * events).astype(np.int32)
        counts = random.integers(0, 4, events)
        sizes = np.where(types[places] == UPDATE, 2 * counts, counts)
        image_event = np.repeat(np.arange(events, dtype=np.int32), sizes)
        images = len(image_event)
        found, own_sizes, progress = ints([-9] * 6 * images), longs([-9] * 2 * images), longs([-9] * 4)
        transactions, plans = np.arange(3 * events) + 50, np.arange(3 * events) + 90
        code = kernel.runs.find(
            memoryview(image_event), images, memoryview(places), memoryview(types), memoryview(OPERATIONS),
            ints(transactions), ints(plans), memoryview(queries), found, own_sizes, progress,
        )  # fmt: skip
        assert code == 0
        expected = []
        first = 0
        for event, group in groupby(image_event.tolist()):
            place, size = int(places[event]), len(list(group))
            text = int(queries[place])
            own = [
                first,
                place,
                int(OPERATIONS[types[place]]),
                place + 50,
                place + 90,
                text if text > 0 else -1,
            ]
            expected.append((own, size, int(counts[event])))
            first += size
        runs = progress[0]
        numbers = np.array(found).reshape(6, images)[:, :runs].T.tolist()
        both = np.array(own_sizes).reshape(2, images)[:, :runs].T.tolist()
        assert [(one, *two) for one, two in zip(numbers, both, strict=True)] == expected
        assert progress[1] == sum(changes for _, _, changes in expected)
        assert bool(progress[2]) == any(changes != 1 for _, _, changes in expected)
        assert bool(progress[3]) == any(own[5] > 0 for own, _, _ in expected)


def test_runs_of_events_that_are_not_there() -> None:
    def code_of(image_event: list[int], places: list[int], room: int = 6) -> int:
        return int(
            kernel.runs.find(
                ints(image_event), len(image_event), ints(places), memoryview(np.full(2, INSERT, np.uint8)),
                memoryview(OPERATIONS), ints([0, 0]), ints([0, 0]), ints([0, 0]), ints([0] * room), longs([0] * 2),
                longs([0] * 4),
            )
        )  # fmt: skip

    assert code_of([0], [1]) == 0
    assert code_of([1], [1]) == 1
    assert code_of([-1], [1]) == 1
    assert code_of([0], [2]) == 1
    assert code_of([0], [1], room=5) == 1


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


def test_images_before_and_after() -> None:
    befores, afters = ints([-9] * 7), ints([-9] * 7)
    starts, operations, changes = ints([0, 2, 6, 8]), ints([0, 1, 2, 1]), longs([2, 2, 2, 1])
    assert kernel.runs.sides(starts, operations, changes, 4, befores, afters) == 0
    assert list(befores) == [-1, -1, 2, 4, 6, 7, 8]
    assert list(afters) == [0, 1, 3, 5, -1, -1, 9]
    assert kernel.runs.sides(starts, operations, changes, 4, befores, afters[:6]) == 1


def test_images_of_changes() -> None:
    rows, kinds = longs([-9] * 8), ints([-9] * 8)
    operations, firsts, sizes = ints([0, 1, 2, 1]), longs([0, 7, 2, 0]), longs([2, 4, 2, 0])
    assert kernel.runs.images(operations, firsts, sizes, 4, rows, kinds) == 0
    assert list(rows) == [0, 1, 7, 7, 8, 8, 2, 3]
    assert list(kinds) == [0, 0, 1, 3, 1, 3, 2, 2]
    assert kernel.runs.images(operations, firsts, sizes, 4, rows[:7], kinds) == 1


def test_numbers_in_runs_with_nulls() -> None:
    values = np.array([5, NONE, -7])
    codes, counts = np.array([2, -1, 1, 0]), np.array([2, 1, 2, 0])
    assert picked_numbers(values, codes, BIGINT, counts).to_pylist() == [-7, -7, None, None, None]
    assert picked_numbers(values, codes[[0, 3]], BIGINT, counts[[0, 2]], 1_000_000).to_pylist() == [
        -7_000_000, -7_000_000, 5_000_000, 5_000_000,
    ]  # fmt: skip
    assert picked_numbers(values, codes[:0], BIGINT).to_pylist() == []
    assert picked_numbers(values, codes[1:3], BIGINT).to_pylist() == [None, None]


@pytest.mark.parametrize("texts", [None, (), ("id",), ("a", "b")])
def test_the_same_list(texts: tuple[str, ...] | None) -> None:
    for count in (0, 1, 5, 1000):
        array = constant_list(texts, count)
        array.validate(full=True)
        assert array.to_pylist() == [None if texts is None else list(texts)] * count
