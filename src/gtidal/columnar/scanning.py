"""A log, or a stretch of one, as the batches of a view.

``changes`` and ``rows`` show a transaction only when its outcome is known. A window that ends inside a transaction
gives what stands before it, and the next window begins with the transaction; one that is longer than any window is
followed to its end first, and then read again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from gtidal.columnar import kernel
from gtidal.columnar.cells import count_rows
from gtidal.columnar.codes import Txn
from gtidal.columnar.following import IS_ROWS, NO_TRANSACTION, Followed, Follower
from gtidal.columnar.index import Index
from gtidal.columnar.memory import keeping
from gtidal.columnar.plan import PlanBook, Settle
from gtidal.columnar.selection import Selection, Selector
from gtidal.columnar.table_schema import TableSchema
from gtidal.columnar.views.changes import ChangeReader
from gtidal.columnar.views.details import DetailWriter
from gtidal.columnar.views.events import EventColumns
from gtidal.columnar.views.rows import RowReader
from gtidal.columnar.views.transactions import NEED_COUNTS, TransactionColumns
from gtidal.columnar.windows import WINDOW, Array, Place, Window, WindowReader
from gtidal.errors import GtidalError
from gtidal.events.format import Format
from gtidal.log.decoder import Keys
from gtidal.log.transactions import Transaction

MOST_ROWS = 1 << 16
EVENTS_WINDOW = 3 << 20
"""Little is made of each event, so it matters more that a window stays in the processor's cache."""
LARGEST_WINDOW = 1 << 26
"""A transaction that does not fit is followed to its end before its rows are read."""
_COUNTERS = (Txn.ROWS_INSERTED, Txn.ROWS_UPDATED, Txn.ROWS_DELETED)
_COUNTER_OF_TYPE = np.zeros(256, np.int32)
for _counter, _codes in zip(_COUNTERS, ((23, 30), (24, 31), (25, 32)), strict=True):
    _COUNTER_OF_TYPE[list(_codes)] = _counter


@dataclass(frozen=True)
class Scan:
    """What is wanted of a log."""

    columns: tuple[str, ...]
    selection: Selection = field(default_factory=Selection)
    images: str = "variant"
    verify_checksum: bool = True
    keys: Keys | None = None
    settle: Settle | None = None
    window: int = WINDOW
    table: TableSchema | None = None
    """For the view ``rows``: whose rows."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a log that begins and ends between transactions: two positions. None: its start, its end."""

    start: int | None = None
    stop: int | None = None
    format: Format | None = None
    """In force at its start; None: that of the log's head."""
    shown_from: int = 0
    """Events before are read, to know what the others belong to, and not shown: for the view ``events``."""


_Begun = tuple[int, int]
"""A transaction's first event: the payload that it is inside of, or -1, and its position."""


@dataclass
class _Known:
    """What was found out about transactions that no window holds."""

    outcomes: dict[_Begun, Transaction] = field(default_factory=dict)
    """Of those that are open where a window ends."""
    problem: GtidalError | None = None
    """What they end with: the last one's outcome is not known."""
    log_ended: bool = False
    """Inside of the last one."""


class LogScan:
    """Reads one stretch of one log."""

    follower_type = Follower

    def __init__(self, stream: BinaryIO, file: str, scan: Scan, stretch: Stretch | None = None) -> None:
        stretch = stretch or Stretch()
        self.file = file
        self.scan = scan
        self.reader = WindowReader(
            stream,
            file,
            keys=scan.keys,
            verify_checksum=scan.verify_checksum,
            window=scan.window,
            gtids=scan.selection.gtid_filter(),
            stop=stretch.stop,
        )
        self.book = PlanBook(scan.settle)
        self.selector = Selector(scan.selection, self.book)
        self.follower = self.follower_type(self.reader.decoder, self.book)
        self.follower.keep_errors = True
        self._details = DetailWriter(self.follower)
        self._format: Format | None = None
        self._changes: ChangeReader | None = None
        self._rows: RowReader | None = None
        self.settled: Place | None = None
        """From where to read again what was not given yet; None: from the log's beginning."""
        self.given = 0
        """The position before which everything was given."""
        self.shown_from = 0
        """As the stretch says; it stays, wherever reading goes on."""
        self.adrift = False
        """Whether it is not known to which transaction events belong: for the view ``events``."""
        self.go_to(stretch)

    def go_to(self, stretch: Stretch) -> None:
        """Read this stretch next, with all that was allocated for the one before."""
        self.reader.stop = stretch.stop
        self.settled, self.given = None, 0
        self.shown_from = stretch.shown_from
        if stretch.start is not None:
            if self._format is None:
                self.reader.read_format()
                self._format = self.reader.decoder.format
            self.go_on(Place(stretch.start, stretch.format or self._format), stretch.stop)

    def go_on(self, place: Place, stop: int | None) -> None:
        """Read from here on, where a transaction begins, to there."""
        self.reader.stop = stop
        self.reader.seek(place)
        self.follower.reset()
        for reader in (self._changes, self._rows):
            if reader is not None:
                reader.restart()
        self.settled, self.given = place, place.position

    def _settle(self, window: Window) -> None:
        """All of the window was given, but for the transaction that is open behind it."""
        if self.reader.is_inside:
            return
        begun = self.follower.tracker.current
        if begun is None:
            self.settled = Place(window.end, window.format)
        elif begun.position >= window.position:
            self.settled = Place(begun.position, window.format)

    # --- views

    def events(self) -> Iterator[pa.RecordBatch]:
        follower, columns = self.follower, self.scan.columns
        follower.decode_rows = False
        follower.tell_statements = self.scan.selection.by_table
        wants_detail = "detail" in columns
        for followed in self._followed(min(self.scan.window, EVENTS_WINDOW)):
            window = followed.window
            if self.adrift:
                followed.lanes.event_txn[: followed.events] = NO_TRANSACTION
            places = self.selector.events(followed)
            first = max(self.given, self.shown_from)
            if first > window.position:  # it is read for the sake of the transaction it is in
                places = places[_outer_positions(window.index, places) >= first]
            for some in np.array_split(places, -(-len(places) // MOST_ROWS)) if len(places) else ():
                details = self._details.column(followed, some) if wants_detail else None
                yield EventColumns(followed, self.file, some, details).batch(columns)
            if followed.error is not None:
                raise followed.error
            self._settle(window)
            if not self.reader.is_inside:
                self.given = max(self.given, window.end)

    def transactions(self) -> Iterator[pa.RecordBatch]:
        columns = self.scan.columns
        counting = not NEED_COUNTS.isdisjoint(columns)
        follower = self.follower
        follower.decode_rows = counting
        follower.tell_statements = self.scan.selection.by_table
        carried = False  # whether the open transaction had a selected event in an earlier window
        for followed in self._followed_to_the_end():
            if counting:
                self._count(followed)
            selected = self.selector.with_selected_events(followed)
            if carried and len(selected):
                selected[0] = True
            keep = (self.selector.transactions(followed) & selected)[: followed.transactions]
            carried = followed.has_open and bool(selected[followed.transactions])
            made = TransactionColumns(followed, self.book, self.file, keep)
            if len(made):
                yield made.batch(columns)
            if followed.error is not None:
                raise followed.error
            self._settle(followed.window)
            if self.settled is not None:
                self.given = self.settled.position

    def _followed_to_the_end(self) -> Iterator[Followed]:
        """All windows, and one without events for the transaction that has not ended."""
        followed = None
        for followed in self._followed():
            yield followed
        if followed is not None and self.follower.tracker.current is not None:
            followed = self.follower.follow(empty_window(followed.window))
            self.follower.finish(followed)
            yield followed

    def _followed(self, size: int | None = None) -> Iterator[Followed]:
        """All windows. Where a transaction goes on behind a window, and did not begin with it, the next one begins with
        that transaction: those that are whole need no reference decoder."""
        follower, reader = self.follower, self.reader
        while (window := reader.next(size)) is not None:
            if follower.tracker.current is not None or reader.is_inside or _begins_inside(window):
                yield follower.follow(window)
                continue
            maps = follower.maps_now()
            followed = follower.follow(window, leave_open=True)
            begins = followed.open_from
            if begins is None:
                yield followed
            elif begins and window.index.payloads[begins] < 0:
                place = Place(int(window.index.positions[begins]), window.format)
                maps = follower.maps_at_begin
                window.end = place.position
                followed.error = None  # it is met again, with the transaction it is in
                yield followed
                follower.rewind(maps)
                reader.go_back(place)
            else:
                follower.rewind(maps)
                yield follower.follow(window)

    def _count(self, followed: Followed) -> None:
        """The rows of the kernel's events, added to their transactions."""
        lanes, index = followed.lanes, followed.window.index
        count = followed.events
        types = index.types[:count]
        places = np.flatnonzero((lanes.event_plan[:count] >= 0) & IS_ROWS[types])
        if not len(places):
            return
        try:
            counted = count_rows(followed, places, self.book, self.file)
        except GtidalError as error:
            # Rows that nobody can count: the transactions before them are given first. Positions do not tell which these
            # are: inside of a payload, all have its own.
            numbers = lanes.event_txn[places]
            followed.transactions = bisect_left(
                range(len(followed.rows)),
                True,
                key=lambda last: self._is_bad(followed, places[numbers <= last]),
            )
            followed.has_open, followed.error = False, error
            places = places[numbers < followed.transactions]
            if not len(places):
                return
            counted = count_rows(followed, places, self.book, self.file)
        rows = followed.rows
        before = rows[-1].copy()
        table = lanes.txn  # a row of it for each field
        code = kernel.gather.added(
            memoryview(counted), memoryview(_COUNTER_OF_TYPE[types[places]]), memoryview(lanes.event_txn[places]),
            len(places), table.shape[1], memoryview(table.reshape(-1)),
        )  # fmt: skip
        assert not code
        current = self.follower.tracker.current
        if followed.has_open and current is not None:
            for place in _COUNTERS:
                name = place.name.lower()
                setattr(current, name, getattr(current, name) + int(rows[-1, place] - before[place]))

    def _is_bad(self, followed: Followed, places: Array) -> bool:
        """Whether nobody can count the rows of these events."""
        try:
            count_rows(followed, places, self.book, self.file)
        except GtidalError:
            return True
        return False

    def changes(self) -> Iterator[pa.RecordBatch]:
        if self._changes is None:
            self._changes = ChangeReader(
                self.book, self.selector, self.file, self.scan.columns, self.scan.images
            )
        for followed in self._whole_transactions():
            yield from self._changes.batches(followed)

    def rows(self) -> Iterator[pa.RecordBatch]:
        if self._rows is None:
            table = self.scan.table
            assert table is not None, "rows of which table?"
            selector = Selector(replace(self.scan.selection, tables=(table.title,)), self.book)
            selector.matches = lambda schema, name: (schema, name) == (table.schema, table.table)
            self._rows = RowReader(self.book, selector, self.file, self.scan.columns, table)
        for followed in self._whole_transactions():
            yield from self._rows.batches(followed)

    # --- transactions that are whole

    def _settle_at(self, place: Place) -> None:
        self.settled, self.given = place, place.position

    def _whole_transactions(self) -> Iterator[Followed]:
        reader, follower = self.reader, self.follower
        size = self.scan.window
        stuck: tuple[int, int] | None = None
        # Where one is open the log ended: it was shown as incomplete.
        while follower.tracker.current is None and (window := reader.next(size)) is not None:
            maps = follower.maps_now()
            followed = follower.follow(window, leave_open=True)
            if followed.error is not None:
                yield followed
                raise followed.error
            begins = followed.open_from
            if window.index.payloads[begins] >= 0 if begins is not None else reader.is_inside:
                # No window can begin behind this one: it is read again together with what follows.
                size = self.scan.window
                yield from self._long_transactions(Place(window.position, window.format), maps)
                continue
            if begins is None:
                size = self.scan.window
                yield followed
                self._settle_at(Place(window.end, window.format))
                continue
            place = Place(int(window.index.positions[begins]), window.format)
            maps = follower.maps_at_begin
            if followed.events:
                yield followed
            self._settle_at(place)
            if stuck == (place.position, window.end):  # there is no more, or a large event follows
                stuck, size = None, self.scan.window
                yield from self._long_transactions(place, maps)
                continue
            stuck = place.position, window.end
            follower.rewind(maps)
            reader.go_back(place)
            if begins == 0:
                size *= 2
                if size > LARGEST_WINDOW:
                    yield from self._long_transactions(place, maps)
                    size = self.scan.window

    def _long_transactions(self, place: Place, maps: list[int]) -> Iterator[Followed]:
        """The transactions from here on that no window holds, followed to their ends and read again. It is one; or several
        that share a payload, which no server writes. Of a log that grows more may have come by now: then it may be that
        nothing is given, and all is read as usual."""
        follower, reader = self.follower, self.reader
        stop = reader.stop
        reader.payloads_end_windows = True
        try:
            known = self._find_outcomes(place, maps)
            if known.problem is None:
                reader.stop = reader.position
            for followed, begun in self._up_to_a_beginning(place, maps):
                problem = followed.error
                if begun is not None and begun in known.outcomes:
                    followed.events = followed.window.count
                    follower.show_open(followed, known.outcomes[begun])
                elif begun is not None:
                    problem = known.problem
                    if problem is None:
                        follower.rewind(maps)
                        reader.seek(place)
                        return
                yield followed
                if problem is not None:
                    raise problem
            if not known.log_ended:
                follower.rewind(follower.maps_now())
                self._settle_at(Place(reader.position, reader.decoder.format))
        finally:
            reader.stop, reader.payloads_end_windows = stop, False

    def _find_outcomes(self, place: Place, maps: list[int]) -> _Known:
        known = _Known()
        follower = self.follower
        try:
            for followed, begun in self._up_to_a_beginning(place, maps):
                if followed.error is not None:
                    raise followed.error
                if begun is not None and follower.tracker.current is not None:
                    known.outcomes[begun] = follower.tracker.current
        except GtidalError as error:
            known.problem = error
            known.outcomes = {
                begun: one for begun, one in known.outcomes.items() if one is not follower.tracker.current
            }
        known.log_ended = bool(follower.tracker.finish())
        return known

    def _up_to_a_beginning(self, place: Place, maps: list[int]) -> Iterator[tuple[Followed, _Begun | None]]:
        """The windows from here on, each with the transaction that goes on behind it, if there is one. They end where no
        transaction is open, or where one begins that no payload holds: there a window can begin. Of a window the events
        are told before the transaction that stays open."""
        follower, reader = self.follower, self.reader
        follower.rewind(maps)
        reader.seek(place)
        begun: _Begun | None = None
        is_first = True
        while (window := reader.next()) is not None:
            before = follower.tracker.current
            followed = follower.follow(window, leave_open=True)
            begins = followed.open_from
            is_long = is_first and begins == 0 and followed.error is None
            if is_long:  # the kernel leaves it alone: the tracker takes it
                follower.rewind(maps)
                followed = follower.follow(window)
                followed.events, followed.has_open, followed.open_from = 0, False, 0
            is_first = False
            if begins is None or followed.error is not None:
                yield followed, None
                if not reader.is_inside:
                    return
                continue
            if before is None or follower.tracker.current is not before:
                begun = int(window.index.payloads[begins]), int(window.index.positions[begins])
                if begun[0] < 0 and not is_long:
                    maps = follower.maps_at_begin
                    yield followed, None
                    follower.rewind(maps)
                    reader.go_back(Place(begun[1], window.format))
                    return
            yield followed, begun


def _begins_inside(window: Window) -> bool:
    """Whether its first event is one of a payload that begins in a window before."""
    return window.count > 0 and int(window.index.payloads[0]) >= 0


def _outer_positions(index: Index, places: Array) -> Array:
    """Where events are; those inside of a payload are where it is, since theirs may go beyond its end."""
    payloads = index.payloads[places]
    return np.where(payloads >= 0, payloads, index.positions[places])


def empty_window(window: Window) -> Window:
    return Window(window.data[:1], Index(1), window.format, window.checksum, False, window.end, window.end)


View = Callable[[LogScan], Iterator[pa.RecordBatch]]


def _keeping_memory(view: View) -> View:
    def read(scan: LogScan) -> Iterator[pa.RecordBatch]:
        with keeping():
            yield from view(scan)

    return read


VIEWS: dict[str, View] = {
    name: _keeping_memory(getattr(LogScan, name)) for name in ("events", "transactions", "changes", "rows")
}
Columns = Sequence[str]
