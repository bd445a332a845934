"""Ordinary events in long stretches, for those who ask whether all is well and how much there is, not for values.

A ``Survey`` goes through a log beside a decoder. Where the decoder stands it looks for a *stretch* of perfectly
ordinary events: whole transactions (GTID, BEGIN, table maps and rows, XID), or table maps and rows inside of one. The
kernel has compared their checksums and walked over their rows, and what else the reference decoder would refuse has
been asked for all of them at once. The caller takes note of the stretch as a whole, and the decoder goes on behind it.
At anything else there is no stretch, and the decoder reads the next event as it always did. So the reference decoder
alone says what is wrong, and in its own words.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import BinaryIO

import numpy as np

from gtidal.columnar import kernel
from gtidal.columnar.cells import NOT_OURS, RowEvents
from gtidal.columnar.codes import NONE, ShapeCode, Txn
from gtidal.columnar.flat import is_one_of, lane_of, numbers_at, own_numbers
from gtidal.columnar.following import ASK, DONE, FULL, IS_ROWS, OPEN, TABLE, Followed, Follower
from gtidal.columnar.plan import PlanBook
from gtidal.columnar.windows import Array, Place, Window, WindowReader
from gtidal.errors import GtidalError
from gtidal.events.format import Format
from gtidal.events.frame import HEADER_SIZE, decode_event
from gtidal.events.registry import Context, Event
from gtidal.events.statement import Query, RowsQuery
from gtidal.events.table_map import TableMap
from gtidal.events.transaction import AnonymousGtid, Gtid, TransactionPayload, Xid
from gtidal.gtid.intervals import GNO_END
from gtidal.gtid.mysql import GtidSet
from gtidal.log.decoder import FIRST_EVENT, Frame, Keys, LogDecoder, inner_format_of
from gtidal.log.encryption import EncryptionHeader
from gtidal.log.facts import Passed

WINDOW = 3 << 20
"""What is read at a time: the more, the less it costs to begin; the less, the more stays in the processor's cache."""
LARGEST_PAYLOAD = 8 << 20
"""Payloads that unpack to more are left to the decoder."""
SMALLEST_WINDOW = 1 << 16
"""What is read where the last attempt found nothing."""
SHORTEST = 16
"""Fewer table maps and rows than these are quicker read one by one."""
FIRST_PENALTY, LARGEST_PENALTY = 1 << 12, 1 << 22
"""How many bytes are read event by event when a stretch that looked ordinary was not."""
CELLS = 1 << 14
IMAGES = 1 << 12
CHUNK = 1 << 20

_LOG_POS, _FLAGS, _UUID = 13, HEADER_SIZE + 6, HEADER_SIZE + 1
_WRAP = 0xFFFFFFFF
_marks = IS_ROWS.astype(np.uint8)
_marks[TableMap.code], _marks[Xid.code] = 2, 3
_MARKS = memoryview(_marks)
"""For ``Ordinary``: which kinds of events it asks for the places of."""
_IS_GTID = np.zeros(256, bool)
_IS_GTID[[Gtid.code, AnonymousGtid.code]] = True
_IS_ROWISH = IS_ROWS.copy()
_IS_ROWISH[[TableMap.code, RowsQuery.code]] = True
_REFUSING = (ShapeCode.DECIMAL, ShapeCode.WIDE_DECIMAL, ShapeCode.LONG_DECIMAL, ShapeCode.DATETIME)
"""Shapes with bytes that are no value. All others are right if they are long enough."""


def is_plain(format: Format) -> bool:
    """Whether the kernel can follow events of this format."""
    return format.version >= 4 and format.header_length == HEADER_SIZE


class Feed:
    """A file's bytes, from wherever a decoder goes on."""

    def __init__(self, stream: BinaryIO, size: int | None = None) -> None:
        self.stream = stream
        self.size = size
        """More is not read: what a running server adds meanwhile."""
        self.ended = False
        self._at = 0
        self._chunk = CHUNK

    def go_behind(self, found: Ordinary, decoder: LogDecoder) -> None:
        """The decoder goes on behind a stretch, as if it had read it."""
        self.ended = False
        position = found.end
        decoder.start_at(position, decoder.format, decoder.event_cipher)
        if decoder.stream_cipher is not None:
            decoder.stream_cipher.seek(position)
        decoder.context.tables.clear()
        decoder.context.tables.update(found.maps)
        offset = position + (EncryptionHeader.SIZE if decoder.encryption is not None else 0)
        if offset != self._at:
            self._at = offset
            self._chunk = SMALLEST_WINDOW

    def next(self) -> bytes:
        """Some bytes more; none at the end. Others who read from the stream do not notice."""
        size = self._chunk if self.size is None else min(self._chunk, self.size - self._at)
        self._chunk = min(2 * self._chunk, CHUNK)
        if size <= 0:
            return b""
        before = self.stream.tell()
        self.stream.seek(self._at)
        data = self.stream.read(size)
        self.stream.seek(before)
        self._at += len(data)
        return data


class Ordinary:
    """A stretch: the events ``first`` to ``last`` of a window that was followed, those inside payloads included."""

    def __init__(self, followed: Followed, book: PlanBook, first: int, last: int, *, whole: bool) -> None:
        self.followed = followed
        self.window = followed.window
        self.book = book
        self.first = first
        self.last = last
        self.whole = whole
        """Whether these are transactions; else table maps and rows inside of one."""
        self.maps: dict[int, TableMap] = {}
        """Those in force behind the stretch."""

    @property
    def position(self) -> int:
        return int(self.window.index.positions[self.first])

    @property
    def end(self) -> int:
        return int(self.window.index.ends[self.last - 1])

    @property
    def types(self) -> Array:
        return self.window.index.types[self.first : self.last]

    # The places of some events:

    @cached_property
    def outer(self) -> Array:
        """Those that are not inside a payload."""
        payloads = self.window.index.payloads[self.first : self.last]
        if int(payloads.max(initial=-1)) < 0:
            return np.arange(self.first, self.last)
        return self.first + np.flatnonzero(payloads < 0)

    @cached_property
    def _of_kinds(self) -> tuple[Array, ...]:
        """Rows, table maps, and the last events of transactions."""
        count = self.last - self.first
        places, progress = np.empty((3, count), np.int32), memoryview(np.zeros(3, np.int64))
        code = kernel.gather.placed(
            memoryview(self.window.index.types), _MARKS, self.first, self.last, count, memoryview(places.reshape(-1)),
            progress,
        )  # fmt: skip
        assert not code
        return tuple(each[:found] for each, found in zip(places, progress, strict=True))

    @property
    def rows(self) -> Array:
        return self._of_kinds[0]

    @property
    def table_maps(self) -> Array:
        return self._of_kinds[1]

    @property
    def ends(self) -> Array:
        """The last ones of the transactions."""
        return self._of_kinds[2]

    def place_at(self, position: int) -> int:
        """The place of the event that has ``position`` in it; ``first`` or ``last`` if it lies before or behind."""
        if position >= self.end:
            return self.last
        starts = self.window.index.positions[self.outer]
        return int(self.outer[max(int(np.searchsorted(starts, position, "right")) - 1, 0)])

    def inner_number(self, place: int) -> int | None:
        """Which event of its payload it is, from 1 on; None if it is in none."""
        if int(self.window.index.payloads[place]) < 0:
            return None
        return place - int(self.outer[np.searchsorted(self.outer, place) - 1])

    def decode(self, place: int) -> tuple[Frame, Event, Context]:
        """One of the events, and what decoding it takes."""
        frame = self.window.frame(place)
        inside = int(self.window.index.payloads[place]) >= 0
        context = Context(inner_format_of(self.window.format) if inside else self.window.format, {})
        plan = int(self.followed.lanes.event_plan[place])
        if plan >= 0:
            table_id = int.from_bytes(frame.data[HEADER_SIZE : HEADER_SIZE + 6], "little")
            context.tables[table_id] = self.book.plans[plan].table
        return frame, decode_event(frame.data, frame.position, context), context

    @property
    def begins(self) -> Array:
        """The first ones of the transactions."""
        return np.concatenate(([self.first], self.ends[:-1] + 1))

    def summary(self) -> Passed | None:
        """What is known of the stretch as a whole; None if a GTID is in it twice."""
        gtids: GtidSet | None = None
        transactions = anonymous = 0
        if self.whole:
            transactions = len(self.ends)
            numbers = self.followed.lanes.txn[Txn.GNO, :transactions]
            named = numbers != NONE
            anonymous = transactions - int(np.count_nonzero(named))
            if anonymous < transactions and (gtids := self._gtids(numbers, named)) is None:
                return None
        index, outer = self.window.index, self.outer
        timestamps = index.timestamps[outer[[0, -1]]]
        if not timestamps.all():
            told = index.timestamps[outer]
            told = told[told != 0]
            timestamps = told[[0, -1]] if len(told) else timestamps
        return Passed(
            position=self.position,
            end=self.end,
            events=len(outer),
            inner_events=self.last - self.first - len(outer),
            first_timestamp=int(timestamps[0]),
            last_timestamp=int(timestamps[1]),
            log_pos=int(numbers_at(self.window.data, "<u4")[index.offsets[outer[-1]] + _LOG_POS]),
            transactions=transactions,
            anonymous=anonymous,
            gtids=gtids,
            tables=() if self.whole else self._table_names(),
            has_rows=bool(len(self.rows)),
        )

    def _table_names(self) -> tuple[str, ...]:
        plans = dict.fromkeys(self.followed.lanes.event_plan[self.table_maps].tolist())
        return tuple(self.book.plans[plan].name for plan in plans)

    def _gtids(self, numbers: Array, named: Array) -> GtidSet | None:
        words = numbers_at(self.window.data, "<i8")
        starts = self.window.index.offsets[self.begins] + _UUID
        parts: tuple[Array, ...] = (numbers, words[starts], words[starts + 8])
        if not named.all():
            parts = _chosen(parts, named)
        lanes: list[tuple[bytes, str, tuple[int, ...]]] = []
        while len(parts[0]):
            _, low, high = parts
            of_this = (low == low[0]) & (high == high[0])
            uuid = low[:1].tobytes() + high[:1].tobytes()
            alone = bool(of_this.all())
            lane = lane_of(parts[0] if alone else parts[0][of_this])
            if lane is None:
                return None
            lanes.append((uuid, "", lane))
            if alone:
                break
            parts = _chosen(parts, ~of_this)
        return GtidSet.from_lanes(lanes)


def _chosen(parts: tuple[Array, ...], which: Array) -> tuple[Array, ...]:
    return tuple(part[which] for part in parts)


class Survey:
    """Finds the stretches of one log. ``rows``: whether rows must decode. ``lengths``: whether transactions must be as
    long as they announce, and payloads unpack to what they announce."""

    def __init__(
        self,
        stream: BinaryIO,
        name: str,
        *,
        keys: Keys | None = None,
        verify_checksum: bool = True,
        rows: bool = True,
        lengths: bool = False,
    ) -> None:
        self.reader = WindowReader(
            stream, name, keys=keys, verify_checksum=verify_checksum, window=LARGEST_PAYLOAD
        )
        self.book = PlanBook()
        self.follower = Follower(self.reader.decoder, self.book, decode_rows=False, only_ordinary=True)
        self._row_checker = RowChecker(self.book)
        self._rows = rows
        self._lengths = lengths
        self._window: Window | None = None
        self._outer: Array = np.zeros(0, np.int64)
        """The places of its events that are not inside payloads; ``_starts``: their positions."""
        self._starts = self._outer
        self._breaks: Array | None = None
        """The places of events that are neither table maps nor rows."""
        self._misplaced = 0
        self._size = WINDOW
        self._not_before = FIRST_EVENT + 1
        self._penalty = FIRST_PENALTY
        self._kept = -1
        """Behind a stretch inside of a transaction: the position at which the follower's table maps hold."""

    def stretch(
        self, decoder: LogDecoder, *, whole: bool = True, within: bool = True, positions: bool = False
    ) -> Ordinary | None:
        """The stretch at the decoder's position. ``whole``: transactions may begin there; ``within``: table maps and
        rows may come. ``positions``: every event must tell its own place."""
        position = decoder.position
        format = decoder.format
        if position < self._not_before or decoder.encrypts_events or not is_plain(format):
            return None
        place = self._find(position, format)
        while place is not None:
            assert self._window is not None
            window = self._window
            is_whole = bool(_IS_GTID[window.index.types[place]])
            if not (whole if is_whole else within and self._is_long(place)):
                return None
            if decoder.context.tables and (is_whole or self._kept != position):
                return None  # a statement that has not ended, which only the decoder knows of
            found, code = self._follow(window, place, is_whole)
            if found is not None:
                return self._judged(found, positions)
            if code != OPEN or window.position == position or self.reader.is_inside:
                return None
            place = self._read(position, format)
        return None

    def count_rows(self, followed: Followed, places: Array) -> Array:
        """How many rows these events have, which were found to decode."""
        return self._row_checker.count(followed, places)

    def refuse(self, found: Ordinary) -> None:
        """The stretch was not ordinary after all: some events more are read one by one."""
        self._kept = -1
        self._not_before = found.position + self._penalty
        self._penalty = min(2 * self._penalty, LARGEST_PENALTY)

    # --- windows

    def _find(self, position: int, format: Format) -> int | None:
        """The place of the event at ``position``, in a window that has it."""
        window = self._window
        if window is None or not window.position <= position < window.end or window.format != format:
            return self._read(position, format)
        place = self._place(position)
        return self._read(position, format) if place is None else place

    def _place(self, position: int) -> int | None:
        at = int(np.searchsorted(self._starts, position))
        return int(self._outer[at]) if at < len(self._starts) and self._starts[at] == position else None

    def _read(self, position: int, format: Format) -> int | None:
        """A window that begins at ``position``, and the place there, which is 0; None if there is none."""
        reader = self.reader
        follows = self._window is not None and self._window.end == position and not reader.is_inside
        self._window = None
        try:
            if not follows or reader.decoder.format != format:
                reader.seek(Place(position, format))
            window = reader.next(self._size)
        except GtidalError:
            window = None
        if window is None or window.position != position or window.format != format:
            self._not_before = position + 1
            self._size = SMALLEST_WINDOW
            return None
        self._size = min(4 * self._size, WINDOW)
        self._window = window
        self._misplaced = reader.misplaced
        index = window.index
        payloads = index.payloads[: index.count]
        has_inner = int(payloads.max(initial=-1)) >= 0
        self._outer = np.flatnonzero(payloads < 0) if has_inner else np.arange(index.count)
        self._starts = index.positions[self._outer]
        self._breaks = None
        return 0

    def _is_long(self, place: int) -> bool:
        """Whether table maps and rows follow, and many."""
        assert self._window is not None
        index = self._window.index
        if self._breaks is None:
            self._breaks = np.flatnonzero(~_IS_ROWISH[index.types[: index.count]])
        at = int(np.searchsorted(self._breaks, place))
        last = int(self._breaks[at]) if at < len(self._breaks) else index.count
        if last == place:
            return False
        return (
            last - place >= SHORTEST or int(index.ends[last - 1] - index.positions[place]) >= SMALLEST_WINDOW
        )

    # --- stretches

    def _follow(self, window: Window, place: int, whole: bool) -> tuple[Ordinary | None, int]:
        follower = self.follower
        followed = follower.begin(window)
        if whole or self._kept != int(window.index.positions[place]):
            follower.reset()
            self._kept = -1
        first, stopped = place, place
        learned: set[int] = set()
        while True:
            code, stopped, at = follower.run(followed, stopped, not whole)
            if code == TABLE:
                if at in learned:  # two maps of one transaction push each other out of the cache
                    code = ASK
                    break
                learned.add(at)
                try:
                    follower.learn(followed, at)
                except GtidalError:
                    code = ASK
                    break
            elif code == FULL:
                follower.grow(followed)
            else:
                break
        if stopped == first:
            return None, code
        found = Ordinary(followed, self.book, first, stopped, whole=whole)
        if self.reader.is_inside:  # the last payload goes on in the next window, and may yet be wrong
            found = self.before(found, int(self._outer[-1]))
        elif stopped < window.count and window.index.payloads[stopped] >= 0:
            found = self.before(found, stopped)
        return (found if found.last > first else None), code

    def _judged(self, found: Ordinary, positions: bool) -> Ordinary | None:
        """The stretch, up to the first event that is not ordinary."""
        bad = self._first_bad(found, positions)
        if bad is not None:
            found = self.before(found, bad)
            if found.last == found.first:
                self.refuse(found)
                return None
        self._kept = -1
        if not found.whole:
            if bad is None:
                found.maps = self.follower.maps_in_force()
            self._kept = found.end
        if found.end - found.position >= self._penalty:
            self._penalty = FIRST_PENALTY
        return found

    def before(self, found: Ordinary, place: int) -> Ordinary:
        """What of the stretch ends before ``place``: whole transactions, or whole statements."""
        ends = found.ends
        if not found.whole:
            flags = found.window.data[found.window.index.offsets[found.rows] + _FLAGS]
            ends = found.rows[flags & 1 == 1]
            self.follower.reset()
            self._kept = -1
        if found.window.index.payloads[place] >= 0:  # a payload is passed over as a whole
            place = int(self._outer[np.searchsorted(self._outer, place) - 1])
        count = int(np.searchsorted(ends, place))
        last = int(ends[count - 1]) + 1 if count else found.first
        return Ordinary(found.followed, found.book, found.first, last, whole=found.whole)

    def _first_bad(self, found: Ordinary, positions: bool) -> int | None:
        """The place of an event with which something is wrong, such that all is well before it."""
        bad = [self._bad_rows(found)]
        if positions and self._misplaced:
            bad.append(self._out_of_place(found))
        if found.whole:
            bad.append(self._bad_transaction(found))
        return min((place for place in bad if place is not None), default=None)

    def _bad_rows(self, found: Ordinary) -> int | None:
        return self._row_checker.first_bad(found) if self._rows else None

    def _out_of_place(self, found: Ordinary) -> int | None:
        index, outer = found.window.index, found.outer
        log_pos = numbers_at(found.window.data, "<u4")[index.offsets[outer] + _LOG_POS]
        wrong = log_pos != (index.ends[outer] & _WRAP)
        return int(outer[np.argmax(wrong)]) if wrong.any() else None

    def _bad_transaction(self, found: Ordinary) -> int | None:
        """Of its numbers, of how its last statement ends, of its payload."""
        index, data, txn = found.window.index, found.window.data, found.followed.lanes.txn
        ends = found.ends
        count = len(ends)
        wrong = txn[Txn.GNO, :count] >= GNO_END
        before = index.types[ends - 1]
        ended = IS_ROWS[before] & (data[index.offsets[ends - 1] + _FLAGS] & 1 == 1)
        wrong |= ~ended & (before != Query.code)
        if self._lengths:
            announced = txn[Txn.ANNOUNCED_LENGTH, :count]
            length = txn[Txn.END_POSITION, :count] - txn[Txn.POSITION, :count]
            wrong |= (announced > 0) & (announced != length)
        bad = [int(ends[np.argmax(wrong)])] if wrong.any() else []
        if len(self._outer) != index.count:
            bad += self._bad_payloads(found)
        return min(bad, default=None)

    def _bad_payloads(self, found: Ordinary) -> Iterator[int]:
        """Payloads that hold transactions of their own, or not what they announce."""
        index = found.window.index
        inside = index.payloads[found.first : found.last] >= 0
        begins = np.flatnonzero(inside & _IS_GTID[found.types])
        if len(begins):
            yield found.first + int(begins[0])
        if not self._lengths:
            return
        sizes = np.concatenate(([0], np.cumsum(np.where(inside, index.sizes[found.first : found.last], 0))))
        payloads = np.flatnonzero(found.types == TransactionPayload.code)
        outer = np.flatnonzero(~inside)
        behind = np.append(outer, len(inside))[np.searchsorted(outer, payloads, "right")]
        announced = index.extras[found.first + payloads]
        wrong = (announced != NONE) & (announced != sizes[behind] - sizes[payloads])
        if wrong.any():
            yield found.first + int(payloads[np.argmax(wrong)])


class RowChecker:
    """Whether rows decode."""

    def __init__(self, book: PlanBook) -> None:
        self.book = book
        self._refusing = np.zeros(0, bool)
        """For each plan: whether it has columns whose bytes may be no value."""
        self._broken = np.zeros(0, bool)
        """For each plan: whether its columns make no sense."""
        self._slots = np.zeros(CELLS, np.int64)
        self._states = np.zeros(CELLS, np.uint8)
        self._image_cell = memoryview(np.zeros(IMAGES, np.int32))
        self._image_event = memoryview(np.zeros(IMAGES, np.int32))
        self._image_plan = memoryview(np.zeros(IMAGES, np.int32))
        self._progress = own_numbers(0, 0, 0, 0)

    def first_bad(self, found: Ordinary) -> int | None:
        """The place of the first event with a row that does not decode, or of a table map that has no columns."""
        self._look_at_plans()
        plan_of, maps, rows = found.followed.lanes.event_plan, found.table_maps, found.rows
        bad: list[int | None] = []
        if self._broken.any() and (broken := self._broken[plan_of[maps]]).any():
            bad.append(int(maps[np.argmax(broken)]))
        refusing = self._refusing[plan_of[rows]]
        if refusing.any():
            bad.append(self._read(found.followed, rows[refusing]))
            rows = rows[~refusing]
        bad.append(self._walked(found.followed, rows)[1])
        return min((place for place in bad if place is not None), default=None)

    def _look_at_plans(self) -> None:
        book = self.book
        for number in range(len(self._refusing), len(book.plans)):
            plan = book.plans[number]
            first, width = int(book.first.array[number]), len(plan.columns)
            refuses = is_one_of(book.shape.array[first : first + width], _REFUSING).any()
            self._refusing = np.append(self._refusing, bool(refuses))
            self._broken = np.append(self._broken, width != len(plan.table.types))

    def count(self, followed: Followed, places: Array) -> Array:
        """How many rows these events have, all of which decode."""
        return self._walked(followed, places)[0]

    def _walked(self, followed: Followed, places: Array) -> tuple[Array, int | None]:
        book, progress, events = self.book, self._progress, RowEvents.at(followed, places)
        counts = np.zeros(len(places), np.int32)
        progress[0] = 0
        code = kernel.cells.count(
            memoryview(followed.window.data), memoryview(events.starts), memoryview(events.ends),
            memoryview(events.plans), memoryview(events.befores), memoryview(events.afters), len(places),
            book.first.view, book.width.view, book.shape.view, book.size.view, memoryview(counts), progress,
        )  # fmt: skip
        return counts, None if code == DONE else int(places[progress[0]])

    def _read(self, followed: Followed, places: Array) -> int | None:
        """Cells are made of the rows, and thrown away."""
        book, progress, events = self.book, self._progress, RowEvents.at(followed, places)
        need = 2 * int(book.slots.array[events.plans].max(initial=1))
        if need > len(self._slots):
            self._slots, self._states = np.zeros(need, np.int64), np.zeros(need, np.uint8)
        progress[0], progress[1] = 0, -1
        while True:
            progress[2] = progress[3] = 0
            code = kernel.cells.fill(
                memoryview(followed.window.data), memoryview(events.starts), memoryview(events.ends),
                memoryview(events.plans), memoryview(events.befores), memoryview(events.afters), len(places),
                book.first.view, book.width.view, book.slots.view, book.sizes.view, book.steps.view, memoryview(self._slots),
                memoryview(self._states), self._image_cell, self._image_event, self._image_plan, progress,
            )  # fmt: skip
            if code == DONE:
                return None
            if code == NOT_OURS:
                return int(places[progress[0]])
