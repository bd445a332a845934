"""What the views ``changes`` and ``rows`` share: from rows events to batches.

A ``RowEventReader`` goes through the windows of one log. Rows that the kernel reads come as ``Images``; those of events
that it refuses, and of the ones that only the reference decoder knows, come as that decoder's values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from gtidal.columnar import kernel
from gtidal.columnar.arrays import Array, Texts, constant, no_texts, numbers, picked_numbers
from gtidal.columnar.cells import Cells, Images, RowEvents, count_rows, reference_rows
from gtidal.columnar.codes import NONE, OUTCOMES, Txn
from gtidal.columnar.following import IS_ROWS, Followed
from gtidal.columnar.memory import numbers_room
from gtidal.columnar.plan import PlanBook
from gtidal.columnar.schemas import BIGINT, TIMESTAMP
from gtidal.columnar.selection import Selector
from gtidal.columnar.statements import Statement, statement_of
from gtidal.errors import DecodeError, GtidalError, MissingTableMap
from gtidal.events.registry import Event
from gtidal.events.rows import RowsEvent
from gtidal.events.table_map import TableMap

INSERT, UPDATE, DELETE = range(3)
_OPERATION_OF_TYPE = np.zeros(256, np.int32)
_OPERATION_OF_TYPE[[24, 31]] = UPDATE
_OPERATION_OF_TYPE[[25, 32]] = DELETE
_OPERATIONS = memoryview(_OPERATION_OF_TYPE)
_ARE_ROWS = memoryview(IS_ROWS.view(np.uint8))
_ALL = memoryview(np.zeros(0, np.uint8))
_OUTCOME_TEXTS = Texts.of(OUTCOMES)


class HasPlace(Protocol):
    """A change that the kernel has no part in."""

    @property
    def place(self) -> int: ...


Odd = TypeVar("Odd", bound=HasPlace)


class ChangeBlock:
    """Some changes of one window, in runs that share an event; and the columns that are made of them."""

    def __init__(
        self,
        file: str,
        followed: Followed,
        events: Array,
        transactions: Array,
        rows: Array,
        counts: Array | None = None,
    ) -> None:
        self.file = file
        self.followed = followed
        self.index = followed.window.index
        self.events = events
        """The place of each run's event."""
        self.transactions = transactions
        """The number of each run's transaction."""
        self.counts = counts
        """How many rows each run has; None: one each."""
        self.rows = rows
        """The number of each change in its transaction."""

    def __len__(self) -> int:
        return len(self.rows)

    def of_event(self, values: Array, kind: pa.DataType = BIGINT, factor: int = 1) -> pa.Array:
        """For each change what the index says of its event."""
        return picked_numbers(values, self.events, kind, self.counts, factor)

    def of_transaction(self, place: Txn, kind: pa.DataType = BIGINT) -> pa.Array:
        """For each change."""
        return picked_numbers(self.followed.rows[:, place], self.transactions, kind, self.counts)

    def text_of_transaction(self, start: Txn, size: Txn) -> pa.Array:
        rows = self.followed.rows
        texts = Texts(self.followed.lanes.heap, rows[:, start], rows[:, size])
        return texts.pick(self.transactions, counts=self.counts)

    def make_file(self) -> pa.Array:
        return constant(self.file, len(self))

    def make_position(self) -> pa.Array:
        return self.of_event(self.index.positions)

    def make_row(self) -> pa.Array:
        return numbers(self.rows, BIGINT)

    def make_transaction_position(self) -> pa.Array:
        return self.of_transaction(Txn.POSITION)

    def make_commit_timestamp(self) -> pa.Array:
        return self.of_transaction(Txn.IMMEDIATE_TIMESTAMP, TIMESTAMP)

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
        self._state = memoryview(np.array([-1, 0], np.int64))

    @property
    def state(self) -> tuple[int, int]:
        """The position of the last transaction seen, and the number of its next change."""
        return self._state[0], self._state[1]

    @state.setter
    def state(self, state: tuple[int, int]) -> None:
        self._state[0], self._state[1] = state

    def number(self, followed: Followed, transactions: Array, changes: Array) -> Array:
        """For events in order with some changes each: the number of each event's first one."""
        first = numbers_room(len(changes))
        code = kernel.runs.number(
            memoryview(transactions), memoryview(followed.rows[:, Txn.POSITION]), memoryview(changes), len(changes),
            memoryview(first), self._state,
        )  # fmt: skip
        assert not code
        return first


class ImageRuns:
    """Images of rows events in order, event by event: an update has two images for each change."""

    def __init__(self, followed: Followed, images: Images) -> None:
        lanes, count = followed.lanes, images.count
        found = numbers_room(6 * count, np.int32)
        sizes = numbers_room(2 * count)
        progress = memoryview(np.zeros(4, np.int64))
        code = kernel.runs.find(
            memoryview(images.numbers), count, memoryview(images.events.places),
            memoryview(followed.window.index.types), _OPERATIONS, memoryview(lanes.event_txn),
            memoryview(lanes.event_plan), memoryview(lanes.event_query), memoryview(found), memoryview(sizes), progress,
        )  # fmt: skip
        assert not code
        own = found.reshape(6, count)[:, : progress[0]]
        self.starts, self.events, self.operations, self.transactions, self.plans, self.texts = own
        self.sizes, self.changes = sizes.reshape(2, count)[:, : progress[0]]
        self.change_count = progress[1]
        self.is_even = not progress[2]
        """Whether every event has one change."""
        self.has_texts = bool(progress[3])


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
        self._places = np.empty(0, np.int32)
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
        shown = self.selector.committed(followed)
        keep = self.selector.kept(followed)
        places = self._chosen(followed, shown, keep)
        odd, problem, ends = self._odd(followed, shown)
        if problem is not None:
            places = places[: np.searchsorted(places, ends)]
        skipped = self._count_skipped(followed, shown, keep, places, odd)
        begin = 0
        while begin < len(places) or odd:
            end = int(np.searchsorted(places, odd[0].place)) if odd else len(places)
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

    def _chosen(self, followed: Followed, shown: Array, keep: Array | None) -> Array:
        """The places of the rows events whose changes are shown."""
        lanes, count = followed.lanes, followed.events
        if len(self._places) < count:
            self._places = np.empty(count + count // 8, np.int32)
        progress = memoryview(np.zeros(1, np.int64))
        code = kernel.runs.choose(
            memoryview(followed.window.index.types), _ARE_ROWS, memoryview(lanes.event_plan),
            memoryview(lanes.event_txn), memoryview(shown.view(np.uint8)),
            _ALL if keep is None else memoryview(keep.view(np.uint8)), count, memoryview(self._places), progress,
        )  # fmt: skip
        assert not code
        return self._places[: progress[0]]

    def _count_skipped(
        self, followed: Followed, shown: Array, keep: Array | None, kept: Array, odd: list[Odd]
    ) -> Array | None:
        """For each event, how many rows of its transaction stand before it that are not shown: so that rows keep
        their numbers whatever is selected. Only transactions of which something is shown are counted."""
        positions = followed.rows[:, Txn.POSITION]
        carried, earlier = self._passed
        goes_on = int(positions[0]) == carried  # of a transaction that no window holds
        if not self._numbered or (keep is None and not goes_on):
            return None
        lanes, events = followed.lanes, followed.events
        numbers_of = lanes.event_txn[:events]
        of_shown = (numbers_of >= 0) & shown[numbers_of]
        left_out = self._left_out(followed, of_shown, odd)
        is_rows = (lanes.event_plan[:events] >= 0) & IS_ROWS[followed.window.index.types[:events]]
        skipped = is_rows & of_shown & (False if keep is None else ~keep)
        if not (skipped.any() or goes_on or left_out):
            return None
        counted = np.zeros(len(positions) + 1, bool)
        counted[numbers_of[kept]] = True
        counted[numbers_of[[change.place for change in odd]]] = True
        counted[followed.transactions : len(positions)] = True
        places = np.flatnonzero(skipped & counted[numbers_of])
        before = np.zeros(events + 1, np.int64)
        with suppress(GtidalError):  # rows of another table that nobody can read: they are not counted
            before[places + 1] = count_rows(followed, places, self.book, self.file)
        for place, missing in left_out.items():
            before[place + 1] += missing
        np.cumsum(before, out=before)
        first = np.zeros(len(positions) + 1, np.int64)
        first[numbers_of[::-1]] = np.arange(events)[::-1]
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
        if not told:
            return changes, None, followed.events
        numbers_of = followed.lanes.event_txn[: followed.events]
        of_shown = (numbers_of >= 0) & shown[numbers_of]
        of_shown &= self.selector.by_header(followed.window, followed.events)
        for place, event in told:
            if place < followed.events and of_shown[place]:
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

    def number(self, followed: Followed, runs: ImageRuns, skipped: Array | None) -> Array:
        """The number of each run's first change."""
        first = self.row_numbers.number(followed, runs.transactions, runs.changes)
        return first if skipped is None else first + skipped[runs.events]

    def number_odd(self, followed: Followed, changes: list[Odd], skipped: Array | None) -> OddPlaces:
        """Where these changes are, and the number of each."""
        places = np.array([change.place for change in changes], np.int32)
        transactions = followed.lanes.event_txn[places]
        rows = self.row_numbers.number(followed, transactions, np.ones(len(changes), np.int64))
        return OddPlaces(places, transactions, rows if skipped is None else rows + skipped[places])


class OddPlaces(NamedTuple):
    """Of each change its event, its transaction and its number in that."""

    events: Array
    transactions: Array
    rows: Array


def gathered(changes: Iterator[Odd], into: list[Odd]) -> GtidalError | None:
    """Changes up to an error, which is raised when they have been given."""
    try:
        for change in changes:
            into.append(change)
    except GtidalError as error:
        return error
    return None
