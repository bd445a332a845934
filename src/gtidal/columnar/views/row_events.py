"""What the views ``changes`` and ``rows`` share: from rows events to batches.

A ``RowEventReader`` goes through the windows of one log. Rows that the kernel reads come as ``Images``; those of events
that it refuses, and of the ones that only the reference decoder knows, come as that decoder's values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Generic, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from gtidal.columnar.arrays import Array, Texts, constant, counted, no_texts, numbers, timestamps
from gtidal.columnar.cells import Cells, Images, RowEvents, count_rows, reference_rows
from gtidal.columnar.codes import NONE, OUTCOMES, Txn
from gtidal.columnar.following import IS_ROWS, Followed
from gtidal.columnar.plan import PlanBook
from gtidal.columnar.schemas import BIGINT
from gtidal.columnar.selection import Selector
from gtidal.columnar.statements import Statement, statement_of
from gtidal.errors import DecodeError, GtidalError, MissingTableMap
from gtidal.events.registry import Event
from gtidal.events.rows import RowsEvent
from gtidal.events.table_map import TableMap

INSERT, UPDATE, DELETE = range(3)
OPERATION_OF_TYPE = np.zeros(256, np.int32)
OPERATION_OF_TYPE[[24, 31]] = UPDATE
OPERATION_OF_TYPE[[25, 32]] = DELETE
_OUTCOME_TEXTS = Texts.of(OUTCOMES)


class HasPlace(Protocol):
    """A change that the kernel has no part in."""

    @property
    def place(self) -> int: ...


Odd = TypeVar("Odd", bound=HasPlace)


class ChangeBlock:
    """Some changes of one window, in runs that share an event; and the columns that are made of them."""

    def __init__(
        self, file: str, followed: Followed, events: Array, rows: Array, counts: Array | None = None
    ) -> None:
        self.file = file
        self.followed = followed
        self.index = followed.window.index
        self.events = events
        """The place of each run's event."""
        self.counts = counts
        """How many rows each run has; None: one each."""
        self.rows = rows
        """The number of each change in its transaction."""
        self.transactions = followed.lanes.event_txn[events]

    def __len__(self) -> int:
        return len(self.rows)

    def spread(self, values: Array) -> Array:
        """A value of each run for all its rows."""
        return values if self.counts is None else counted(values, np.zeros_like(values), self.counts)

    def of_transaction(self, place: Txn) -> Array:
        """For each run."""
        return self.followed.rows[:, place][self.transactions]

    def text_of_transaction(self, start: Txn, size: Txn) -> pa.Array:
        rows = self.followed.rows
        texts = Texts(self.followed.lanes.heap, rows[:, start], rows[:, size])
        return texts.pick(self.transactions, counts=self.counts)

    def make_file(self) -> pa.Array:
        return constant(self.file, len(self))

    def make_position(self) -> pa.Array:
        return numbers(self.spread(self.index.positions[self.events]), BIGINT)

    def make_row(self) -> pa.Array:
        return numbers(self.rows, BIGINT)

    def make_transaction_position(self) -> pa.Array:
        return numbers(self.spread(self.of_transaction(Txn.POSITION)), BIGINT)

    def make_commit_timestamp(self) -> pa.Array:
        return timestamps(self.spread(self.of_transaction(Txn.IMMEDIATE_TIMESTAMP)))

    def make_gtid(self) -> pa.Array:
        return self.text_of_transaction(Txn.GTID, Txn.GTID_SIZE)

    def make_outcome(self) -> pa.Array:
        outcomes = self.followed.rows[:, Txn.OUTCOME]
        if (outcomes == outcomes[0]).all():
            return constant(OUTCOMES[int(outcomes[0])], len(self))
        return _OUTCOME_TEXTS.pick(outcomes[self.transactions], counts=self.counts)

    def make_xa(self) -> pa.Array:
        if (self.followed.rows[:, Txn.XA_SIZE] == NONE).all():
            return no_texts(len(self))
        return self.text_of_transaction(Txn.XA, Txn.XA_SIZE)


class RowNumbers:
    """Numbers the changes of a transaction: 0, 1, 2 …, across blocks and windows."""

    def __init__(self) -> None:
        self.state: tuple[int, int] = (-1, 0)
        """The position of the last transaction seen, and the number of its next change."""

    def number(self, positions: Array, changes: Array, passed_over: Array | None = None) -> Array:
        """For events in order with some changes each, by their transactions' positions: the number of each event's first
        one. ``passed_over``: how many rows of the transaction stand before each event and are not shown, counted within
        these events and those before them."""
        before = np.cumsum(changes) - changes
        begins = np.concatenate(([True], positions[1:] != positions[:-1]))
        first = before - np.maximum.accumulate(np.where(begins, before, 0))
        position, following = self.state
        if int(positions[0]) == position:
            first[positions == position] += following
        self.state = int(positions[-1]), int(first[-1] + changes[-1])
        return first if passed_over is None else first + passed_over


class ImageRuns:
    """Images of rows events in order, event by event: an update has two images for each change."""

    def __init__(self, followed: Followed, images: Images) -> None:
        numbers_of = images.numbers
        self.count = images.count
        self.starts = np.concatenate(([0], np.flatnonzero(numbers_of[1:] != numbers_of[:-1]) + 1))
        self.sizes = np.diff(np.append(self.starts, self.count))
        self.events = images.events.places[numbers_of[self.starts]]
        self.operations = OPERATION_OF_TYPE[followed.window.index.types[self.events]]
        self.is_update = self.operations == UPDATE
        self.changes = self.sizes >> self.is_update


class RowEventReader(Generic[Odd]):
    """Makes the batches of one log."""

    cells_type = Cells

    def __init__(self, book: PlanBook, selector: Selector, file: str, *, numbered: bool) -> None:
        self.book = book
        self.selector = selector
        self.file = file
        self.cells = self.cells_type(book, file)
        self.row_numbers = RowNumbers()
        self._numbered = numbered
        self._passed = (-1, 0)
        """The position of a transaction that goes on, and how many of its rows were passed over so far."""

    def restart(self) -> None:
        """A transaction begins next, which may be one that was read before."""
        self.row_numbers.state = self._passed = (-1, 0)

    # --- what a view adds

    def image_batch(self, followed: Followed, images: Images, skipped: Array | None) -> pa.RecordBatch | None:
        """Images of the kernel's. What cannot be made of one cuts it off, with all behind it."""
        raise NotImplementedError

    def odd_batch(self, followed: Followed, changes: list[Odd], skipped: Array | None) -> pa.RecordBatch:
        raise NotImplementedError

    def odd_changes(self, followed: Followed, place: int, event: Event | Statement) -> Iterator[Odd]:
        """The changes of an event that the kernel did not follow."""
        raise NotImplementedError

    def odd_rows(self, followed: Followed, place: int, event: RowsEvent, plan: int) -> Iterator[Odd]:
        """The changes of a rows event that the reference decoder decoded."""
        raise NotImplementedError

    def runs(self, followed: Followed, places: Array) -> Iterator[Array]:
        """Rows events whose images can share a batch."""
        yield places

    # --- all of them

    def batches(self, followed: Followed) -> Iterator[pa.RecordBatch]:
        """The changes of a window whose transactions are all known."""
        count = followed.events
        if not len(followed.rows):
            return
        lanes, types = followed.lanes, followed.window.index.types[:count]
        shown = self.selector.committed(followed)
        numbers_of = lanes.event_txn[:count]
        of_shown = (numbers_of >= 0) & shown[numbers_of]
        is_rows = (lanes.event_plan[:count] >= 0) & IS_ROWS[types]
        keep = of_shown & self.selector.by_header(followed.window, count)
        if self.selector.selection.by_table:
            keep &= self.selector.of_tables(followed)
        places = np.flatnonzero(is_rows & keep)
        odd, problem, ends = self._odd(followed, of_shown)
        places = places[places < ends]
        skipped = self._count_skipped(followed, of_shown, is_rows & of_shown & ~keep, places, odd)
        begin = 0
        while begin < len(places) or odd:
            next_odd = odd[0].place if odd else count
            end = int(np.searchsorted(places, next_odd))
            if end > begin:
                for run in self.runs(followed, places[begin:end]):
                    yield from self._rows(followed, run, skipped)
                begin = end
            if odd:
                next_rows = int(places[begin]) if begin < len(places) else count
                now = [change for change in odd if change.place < next_rows]
                odd = odd[len(now) :]
                yield self.odd_batch(followed, now, skipped)
        if problem is not None:
            raise problem

    def _count_skipped(
        self, followed: Followed, of_shown: Array, skipped: Array, kept: Array, odd: list[Odd]
    ) -> Array | None:
        """For each event, how many rows of its transaction stand before it that are not shown: so that rows keep
        their numbers whatever is selected. Only transactions of which something is shown are counted."""
        positions = followed.rows[:, Txn.POSITION]
        carried, earlier = self._passed
        goes_on = int(positions[0]) == carried  # of a transaction that no window holds
        left_out = self._left_out(followed, of_shown, odd)
        if not self._numbered or not (skipped.any() or goes_on or left_out):
            return None
        numbers_of = followed.lanes.event_txn[: followed.events]
        counted = np.zeros(len(positions) + 1, bool)
        counted[numbers_of[kept]] = True
        counted[numbers_of[[change.place for change in odd]]] = True
        counted[followed.transactions : len(positions)] = True
        places = np.flatnonzero(skipped & counted[numbers_of])
        before = np.zeros(followed.events + 1, np.int64)
        with suppress(GtidalError):  # rows of another table that nobody can read: they are not counted
            before[places + 1] = count_rows(followed, places, self.book, self.file)
        for place, missing in left_out.items():
            before[place + 1] += missing
        np.cumsum(before, out=before)
        first = np.zeros(len(positions) + 1, np.int64)
        first[numbers_of[::-1]] = np.arange(followed.events)[::-1]
        passed = before[:-1] - before[first[numbers_of]]
        if goes_on:
            passed[numbers_of == 0] += earlier
        if followed.has_open:
            open_one = followed.transactions
            total = int(before[-1] - before[first[open_one]]) + (earlier if goes_on and open_one == 0 else 0)
            self._passed = int(positions[open_one]), total
        return np.asarray(passed)

    def _left_out(self, followed: Followed, of_shown: Array, odd: list[Odd]) -> dict[int, int]:
        """Of the reference decoder's events, how many changes each has that are not selected."""
        selection = self.selector.selection
        if not (selection.by_table or selection.types is not None):
            return {}
        left_out: Counter[int] = Counter()
        for place, event in followed.told:
            if place < followed.events and of_shown[place]:
                if isinstance(event, RowsEvent):
                    left_out[place] += len(event.rows)
                else:
                    left_out[place] += statement_of(event) is not None
        left_out.subtract(change.place for change in odd)
        return {place: missing for place, missing in left_out.items() if missing > 0}

    def _rows(self, followed: Followed, places: Array, skipped: Array | None) -> Iterator[pa.RecordBatch]:
        window = followed.window
        begin = 0
        while begin < len(places):
            rest = RowEvents(followed, places[begin:])
            begin = len(places)
            for images in self.cells.fill(window, rest):
                batch = self.image_batch(followed, images, skipped)
                if batch is not None:
                    yield batch
                if images.refused is not None:
                    plan = int(followed.lanes.event_plan[images.refused])
                    event = reference_rows(window, images.refused, self.book, plan, self.file)
                    changes: list[Odd] = []
                    problem = gathered(self.odd_rows(followed, images.refused, event, plan), changes)
                    changes = changes[images.refused_rows :]
                    if changes:
                        yield self.odd_batch(followed, changes, skipped)
                    if problem is not None:
                        raise problem
                    begin = int(np.searchsorted(places, images.refused)) + 1
                    break

    def _odd(self, followed: Followed, shown: Array) -> tuple[list[Odd], GtidalError | None, int]:
        """The changes, the error that ended them, and the place before which it is all right."""
        changes: list[Odd] = []
        told = followed.told
        if told:
            shown = shown & self.selector.by_header(followed.window, followed.events)
        for place, event in told:
            if place < followed.events and shown[place]:
                problem = gathered(self._changes_of(followed, place, event), changes)
                if problem is not None:
                    return changes, problem, place
        return changes, None, followed.events

    def _changes_of(self, followed: Followed, place: int, event: Event | Statement) -> Iterator[Odd]:
        if not isinstance(event, RowsEvent):
            yield from self.odd_changes(followed, place, event)
        elif not event.is_dummy or event.table is not None:
            table = self.table_of(event)
            if not self.selector.selection.by_table or self.selector.matches(table.schema, table.table):
                yield from self.odd_rows(followed, place, event, -1)

    def table_of(self, event: RowsEvent) -> TableMap:
        """The table of decoded rows."""
        problem: GtidalError | None = None
        if event.table is None:
            problem = MissingTableMap(
                f"table id {event.table_id} has no table map before it", field="table_id"
            )
        elif event.undecoded:
            problem = DecodeError(
                "rows that cannot be decoded: they were logged by a server whose format the log does not describe"
            )
        if problem is not None:
            raise problem.at(file=self.file, position=event.header.position, event=event.name)
        assert event.table is not None
        return event.table

    def number(self, followed: Followed, events: Array, changes: Array, skipped: Array | None) -> Array:
        """The number of each event's first change; events are given by their places."""
        positions = followed.rows[:, Txn.POSITION][followed.lanes.event_txn[events]]
        return self.row_numbers.number(positions, changes, None if skipped is None else skipped[events])


def gathered(changes: Iterator[Odd], into: list[Odd]) -> GtidalError | None:
    """Changes up to an error, which is raised when they have been given."""
    try:
        for change in changes:
            into.append(change)
    except GtidalError as error:
        return error
    return None
