"""What the views ``changes`` and ``rows`` share: from rows events to batches.

A ``RowEventReader`` goes through the windows of one log. Rows that the kernel reads come as ``Images``; those of events
that it refuses, and of the ones that only the reference decoder knows, come as that decoder's values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from gtidal.columnar import kernel
from gtidal.columnar.arrays import Array
from gtidal.columnar.cells import Cells, Images, RowEvents, count_rows, reference_rows
from gtidal.columnar.codes import Txn
from gtidal.columnar.flat import own_numbers
from gtidal.columnar.following import IS_ROWS, Followed
from gtidal.columnar.memory import numbers_room, room
from gtidal.columnar.plan import PlanBook
from gtidal.columnar.selection import Selector
from gtidal.columnar.statements import Statement, statement_of
from gtidal.columnar.views.stamps import Runs
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
_NO_BYTES = np.zeros(0, np.uint8)
_ALL = memoryview(_NO_BYTES)


class HasPlace(Protocol):
    """A change that the kernel has no part in."""

    @property
    def place(self) -> int: ...


Odd = TypeVar("Odd", bound=HasPlace)


class RowNumbers:
    """Numbers the changes of a transaction: 0, 1, 2 …, across blocks and windows."""

    def __init__(self) -> None:
        self._state = own_numbers(-1, 0)
        self._progress = own_numbers(0, 0, 0, 0, 0)
        self._found = np.empty(0, np.int32)
        self._sizes = np.empty(0, np.int64)

    @property
    def state(self) -> tuple[int, int]:
        """The position of the last transaction seen, and the number of its next change."""
        return self._state[0], self._state[1]

    @state.setter
    def state(self, state: tuple[int, int]) -> None:
        self._state[0], self._state[1] = state

    def find(self, followed: Followed, images: Images, *, with_sides: bool) -> ImageRuns:
        """The runs of these images, until others are asked for. ``with_sides``: with the images before and after of each
        change."""
        lanes, count = followed.lanes, images.count
        sides = count if with_sides else 0
        if 3 * count > len(self._sizes):
            most = count + count // 4
            self._found, self._sizes = np.empty(8 * most, np.int32), np.empty(3 * most, np.int64)
        found, sizes = self._found[: 6 * count], self._sizes[: 3 * count]
        befores, afters = self._found[6 * count : 6 * count + 2 * sides].reshape(2, sides)
        valid = room(2 * ((sides + 7) >> 3)) if sides else _NO_BYTES
        progress = self._progress
        code = kernel.runs.find(
            memoryview(images.numbers), count, memoryview(images.events.places),
            memoryview(followed.window.index.types), _OPERATIONS, memoryview(lanes.event_txn),
            memoryview(lanes.event_plan), memoryview(lanes.event_query), memoryview(followed.rows[:, Txn.POSITION]),
            self._state, memoryview(found), memoryview(sizes), memoryview(befores), memoryview(afters), memoryview(valid), progress,
        )  # fmt: skip
        assert not code
        runs, changes, has_texts, added, removed = progress
        half = len(valid) >> 1
        _, events, operations, transactions, plans, texts = found.reshape(6, count)[:, :runs]
        of_images, of_changes, firsts = sizes.reshape(3, count)[:, :runs]
        return ImageRuns(
            plans,
            texts if has_texts else None,
            Side(befores[:changes], pa.py_buffer(valid[:half]) if added else None),
            Side(afters[:changes], pa.py_buffer(valid[half:]) if removed else None),
            Runs(changes, of_changes, events, transactions, operations, plans, firsts),
            Runs(count, of_images, events, transactions, operations, plans, firsts),
        )

    def number(self, followed: Followed, transactions: Array, changes: Array) -> Array:
        """For events in order with some changes each: the number of each event's first one."""
        first = numbers_room(len(changes))
        code = kernel.runs.number(
            memoryview(transactions), memoryview(followed.rows[:, Txn.POSITION]), memoryview(changes), len(changes),
            memoryview(first), self._state,
        )  # fmt: skip
        assert not code
        return first


class Side(NamedTuple):
    """Of each change the image before, or the one after."""

    images: Array
    """Below 0: it has none."""
    valid: pa.Buffer | None
    """Arrow's bitmap; None: all have one."""


@dataclass(slots=True)
class ImageRuns:
    """Images of rows events in order, event by event: an update has two images for each change."""

    plans: Array
    """Of each run."""
    texts: Array | None
    """The number of each run's statement, below 0 where it has none; None: none has."""
    before: Side
    after: Side
    """Of each change, if they were asked for."""
    changes: Runs
    """With changes for rows."""
    images: Runs
    """With images for rows."""


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
        self._places = self._left_out_places = np.empty(0, np.int32)
        self._taken = np.empty((5, 0), np.int32)
        self._progress = own_numbers(0, 0, 0, 0)
        self._one_plan = False
        """Whether all chosen events of the window have the same plan."""
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

    def runs(self, events: RowEvents) -> Iterator[RowEvents]:
        """Rows events whose images can share a batch."""
        yield events

    # --- all of them

    def batches(self, followed: Followed) -> Iterator[pa.RecordBatch]:
        """The changes of a window whose transactions are all known."""
        count = followed.events
        if not len(followed.rows):
            return
        shown = self.selector.committed(followed)
        keep = self.selector.kept(followed)
        events, left_out = self._chosen(followed, shown, keep)
        odd, problem, ends = self._odd(followed, shown)
        places = events.places
        if problem is not None:
            places = places[: np.searchsorted(places, ends)]
        skipped = self._count_skipped(followed, shown, left_out, odd)
        begin = 0
        while begin < len(places) or odd:
            end = int(np.searchsorted(places, odd[0].place)) if odd else len(places)
            if end > begin:
                for run in self.runs(events.between(begin, end)):
                    yield from self._rows(followed, run, skipped)
                begin = end
            if odd:
                next_rows = int(places[begin]) if begin < len(places) else count
                now = [change for change in odd if change.place < next_rows]
                odd = odd[len(now) :]
                yield self.odd_batch(followed, now, skipped)
        if problem is not None:
            raise problem

    def _chosen(self, followed: Followed, shown: Array, keep: Array | None) -> tuple[RowEvents, Array]:
        """The rows events whose changes are shown; and the places of those that are passed over before one of them."""
        lanes, count = followed.lanes, followed.events
        if len(self._places) < count:
            self._places, self._left_out_places = np.empty((2, count + count // 8), np.int32)
            self._taken = np.empty((5, len(self._places)), np.int32)
        progress = self._progress
        by_table = self.selector.selection.by_table
        positions = followed.rows[:, Txn.POSITION]
        # Changes may follow in the last transaction; and where the reference decoder has a part, changes of its own.
        ended = len(positions)
        if followed.told:
            ended = 0
        elif _stays(followed):
            ended = int(np.searchsorted(positions, positions[-1]))
        code = kernel.runs.choose(
            memoryview(followed.window.index.types), _ARE_ROWS, memoryview(lanes.event_plan),
            memoryview(lanes.event_txn), memoryview(lanes.event_start), memoryview(lanes.event_end),
            memoryview(lanes.event_before), memoryview(lanes.event_after), memoryview(shown.view(np.uint8)),
            _ALL if keep is None else memoryview(keep.view(np.uint8)),
            memoryview(self.selector.plans().view(np.uint8)) if by_table else _ALL, count, memoryview(positions), ended,
            memoryview(self._places), memoryview(self._taken.reshape(-1)), memoryview(self._left_out_places), progress,
        )  # fmt: skip
        assert not code
        found, lowest, highest, left_out = progress
        self._one_plan = lowest == highest
        return RowEvents(self._places[:found], *self._taken[:, :found]), self._left_out_places[:left_out]

    def _count_skipped(
        self, followed: Followed, shown: Array, left_out: Array, odd: list[Odd]
    ) -> Array | None:
        """For each event, how many rows of its transaction stand before it that are not shown: so that rows keep
        their numbers whatever is selected. ``left_out``: the places of events that have some. Transactions that begin
        inside of one payload share a position, and count as one."""
        positions = followed.rows[:, Txn.POSITION]
        carried, earlier = self._passed
        goes_on = int(positions[0]) == carried  # of a transaction that no window holds
        if not self._numbered or not (len(left_out) or goes_on or followed.told):
            return None
        lanes, events = followed.lanes, followed.events
        counts = np.zeros(len(left_out), np.int32)
        with suppress(GtidalError):  # rows of another table that nobody can read: they are not counted
            counts = count_rows(followed, left_out, self.book, self.file)
        if others := self._left_out(followed, shown, odd):
            left_out = np.append(left_out, np.array(list(others), np.int32))
            order = np.argsort(left_out)
            left_out = left_out[order]
            counts = np.append(counts, np.array(list(others.values()), np.int32))[order]
        if not (len(left_out) or goes_on):
            return None
        passed = numbers_room(events)
        total = kernel.runs.pass_over(
            memoryview(lanes.event_txn), events, memoryview(positions), memoryview(left_out), memoryview(counts),
            len(left_out), earlier if goes_on else 0, memoryview(passed),
        )  # fmt: skip
        assert total >= 0
        if _stays(followed):
            self._passed = int(positions[-1]), total
        return passed

    def _left_out(self, followed: Followed, shown: Array, odd: list[Odd]) -> dict[int, int]:
        """Of the reference decoder's events, how many changes each has that are not selected."""
        selection = self.selector.selection
        if not (selection.by_table or selection.types is not None):
            return {}
        left_out: Counter[int] = Counter()
        numbers_of = followed.lanes.event_txn
        for place, event in followed.told:
            if place < followed.events and numbers_of[place] >= 0 and shown[numbers_of[place]]:
                if isinstance(event, RowsEvent):
                    left_out[place] += len(event.rows)
                else:
                    left_out[place] += statement_of(event) is not None
        left_out.subtract(change.place for change in odd)
        return {place: missing for place, missing in left_out.items() if missing > 0}

    def _rows(self, followed: Followed, events: RowEvents, skipped: Array | None) -> Iterator[pa.RecordBatch]:
        window = followed.window
        begin = 0
        while begin < events.total:
            rest = events.between(begin, events.total)
            begin = events.total
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
                    begin = int(np.searchsorted(events.places, images.refused)) + 1
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

    def image_runs(
        self, followed: Followed, images: Images, skipped: Array | None, *, with_sides: bool
    ) -> ImageRuns:
        """The runs of images; see ``RowNumbers.find``."""
        found = self.row_numbers.find(followed, images, with_sides=with_sides)
        if skipped is not None:
            found.changes.firsts = found.images.firsts = found.changes.firsts + skipped[found.changes.events]
        return found

    def odd_runs(
        self, followed: Followed, changes: list[Odd], operations: list[int], skipped: Array | None
    ) -> Runs:
        """Of changes that the reference decoder made, each a run of its own."""
        places = np.array([change.place for change in changes], np.int32)
        transactions = followed.lanes.event_txn[places]
        ones = np.ones(len(changes), np.int64)
        firsts = self.row_numbers.number(followed, transactions, ones)
        if skipped is not None:
            firsts = firsts + skipped[places]
        plans = np.full(len(changes), -1, np.int32)
        return Runs(len(changes), ones, places, transactions, np.array(operations, np.int32), plans, firsts)


def _stays(followed: Followed) -> bool:
    """Whether the last transaction may go on in the next window."""
    if followed.has_open or not followed.events:
        return followed.has_open
    return bool(followed.window.index.payloads[followed.events - 1] == followed.rows[-1, Txn.POSITION])


def gathered(changes: Iterator[Odd], into: list[Odd]) -> GtidalError | None:
    """Changes up to an error, which is raised when they have been given."""
    try:
        for change in changes:
            into.append(change)
    except GtidalError as error:
        return error
    return None
