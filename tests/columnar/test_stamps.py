"""Columns of what changes share, held against the same in plain Python: interpreted and compiled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from gtidal.columnar import kernel
from gtidal.columnar.codes import NONE
from gtidal.columnar.schemas import BIGINT, STRING
from gtidal.columnar.views.stamps import (
    CHANGE,
    EVENT,
    FIELD,
    FULL,
    IMAGE,
    OPERATION,
    PLAN,
    TEXT,
    TRANSACTION,
)
from gtidal.columnar.ways import Labels, Way, Ways

pytestmark = pytest.mark.usefixtures("implementation")

LABELS = ["insert", "update", None, "post", "", "naïve", "x" * 40]
HEAP = bytes(range(256))
FIELDS, WIDTH = 7, 9
START, SIZE, CODE, NUMBER = range(4)
WAYS = (
    Way(EVENT, 0, 1),
    Way(EVENT, 1, 1_000_000),
    Way(EVENT, 2, 1),
    Way(TRANSACTION, NUMBER, 1),
    Way(CHANGE, 0, 1),
    Way(TEXT, START, SIZE),
    Way(OPERATION, 0, 4),
    Way(PLAN, 0, 3),
    Way(FIELD, CODE, 7),
    Way(IMAGE, 0, 4),
)
FIRST_LABELS = {OPERATION: 0, PLAN: 4, FIELD: 0, IMAGE: 0}


@dataclass
class Made:
    """Runs of changes of events and transactions that do not exist."""

    events: Any
    transactions: Any
    plans: Any
    operations: Any
    counts: Any
    firsts: Any
    index: list[Any]
    txn: Any

    @staticmethod
    def of(random: np.random.Generator, runs: int) -> Made:
        def picked(most: int, least: int = 0) -> Any:
            return random.integers(least, most, runs).astype(np.int32)

        txn = np.zeros((FIELDS, WIDTH), np.int64)
        txn[SIZE] = random.integers(-1, 20, WIDTH)
        txn[START] = random.integers(0, 236, WIDTH)
        txn[CODE] = random.integers(-1, 7, WIDTH)
        txn[NUMBER] = random.choice([NONE, -5, 2**50], WIDTH)
        index = [random.integers(0, 2**33, 6) for _ in range(3)]
        counts = random.integers(0, 5, runs)
        return Made(
            picked(6),
            picked(WIDTH),
            picked(3, -1),
            picked(3),
            counts,
            picked(99).astype(np.int64),
            index,
            txn,
        )

    def columns(self, ways: Ways, rows: int, *, paired: bool, room: int = 4000) -> Any:
        labels, progress = Labels(LABELS), memoryview(np.zeros(1, np.int64))
        shorts: list[int] = []

        def call(numbers: memoryview, out: memoryview) -> int | None:
            code = kernel.stamps.columns(
                *map(memoryview, (self.events, self.transactions, self.plans, self.operations, self.counts, self.firsts)),
                len(self.counts), rows, paired, *map(memoryview, self.index), memoryview(self.txn.reshape(-1)), WIDTH,
                memoryview(HEAP), labels.spans, labels.heap, numbers, out, progress,
            )  # fmt: skip
            if code not in (0, FULL):
                raise LookupError(code)
            shorts.extend(progress.tolist() if code else [])
            return progress[0] if code else None

        made = ways.make(rows, lambda: [room] * len(WAYS), call, lambda _, size: size + 50)
        numbers = {EVENT, TRANSACTION, CHANGE}
        arrays = [
            flat.array(BIGINT)
            if way.kind in numbers
            else flat.texts(STRING if way.kind != TEXT else pa.binary())
            for way, flat in zip(WAYS, made, strict=True)
        ]
        for array in arrays:
            array.validate(full=True)
        return [array.to_pylist() for array in arrays], shorts

    def expected(self, paired: bool) -> list[list[Any]]:
        found: list[list[Any]] = [[] for _ in WAYS]
        for event, transaction, plan, operation, count, first in zip(
            self.events, self.transactions, self.plans, self.operations, self.counts, self.firsts, strict=True
        ):
            field = self.txn[:, transaction].tolist()
            text = HEAP[field[START] :][: field[SIZE]] if field[SIZE] >= 0 else None
            for k in range(count):
                position, time, server = (int(each[event]) for each in self.index)
                label = 3 if operation == 1 and k % 2 else operation
                row = [
                    position, time * 1_000_000, server, None if field[NUMBER] == NONE else field[NUMBER],
                    int(first) + (k // 2 if paired and operation == 1 else k), text, LABELS[operation],
                    LABELS[4 + plan] if plan >= 0 else None, LABELS[field[CODE]] if field[CODE] >= 0 else None,
                    LABELS[label],
                ]  # fmt: skip
                for column, value in zip(found, row, strict=True):
                    column.append(value)
        return found


def all_ways() -> Ways:
    ways = Ways(WAYS, [8 if way.kind in (EVENT, TRANSACTION, CHANGE) else 0 for way in WAYS])
    for number, way in enumerate(WAYS):
        ways.numbers[number, 7] = FIRST_LABELS.get(way.kind, 0)
    return ways


@pytest.mark.parametrize("paired", [False, True])
def test_what_events_and_transactions_tell(paired: bool) -> None:
    random = np.random.default_rng(5)
    ways = all_ways()
    for runs in [0, 1, 2, 3, 9, *random.integers(1, 60, 30).tolist()]:
        made = Made.of(random, runs)
        rows = int(made.counts.sum())
        assert made.columns(ways, rows, paired=paired)[0] == made.expected(paired)


def test_columns_ask_for_more_room() -> None:
    made = Made.of(np.random.default_rng(7), 40)
    rows = int(made.counts.sum())
    columns, shorts = made.columns(all_ways(), rows, paired=False, room=8)
    assert columns == made.expected(False)
    assert set(shorts) == {number for number, way in enumerate(WAYS) if way.kind >= TEXT}


def test_numbers_that_stand_for_nothing() -> None:
    random = np.random.default_rng(3)

    def refused(**other: Any) -> bool:
        made = Made.of(random, 3)
        made.counts = np.ones(3, np.int64)
        rows = other.pop("rows", 3)
        for name, value in other.items():
            getattr(made, name)[1] = value
        try:
            made.columns(all_ways(), rows, paired=False)
        except LookupError:
            return True
        return False

    assert not refused()
    assert refused(events=6)
    assert refused(events=-1)
    assert refused(transactions=WIDTH)
    assert refused(transactions=-1)
    assert refused(plans=3)
    assert refused(operations=4)
    assert refused(counts=2)
    assert refused(counts=-1)
    assert refused(rows=4)
    made = Made.of(random, 3)
    made.txn[START] = 250
    made.txn[SIZE] = 7
    with pytest.raises(LookupError):
        made.columns(all_ways(), int(made.counts.sum()), paired=False)
