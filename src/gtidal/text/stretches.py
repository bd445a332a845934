"""Stretches of ordinary events, printed by the kernel: what ``MysqlPrinter`` would print, many times faster.

A ``StretchPrinter`` takes the bytes that a ``LogDecoder`` has and not yet framed. The kernel's walk indexes their
events, ``kernel.judging`` follows mysqlbinlog's state over those it knows, ``kernel.eventtext`` writes their text. At
the first event that is not the kernel's it stops; the decoder and the printer take that one, and it goes on behind
it. The printer's state (``text.flow``) is handed over both ways, so neither knows that the other was there.

Rows that the kernel cannot print (a value out of the ordinary, damage) are printed by ``text.rows``, event by event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gtidal.columnar import kernel
from gtidal.columnar.codes import Role
from gtidal.columnar.flat import own_numbers
from gtidal.columnar.following import roles_of
from gtidal.columnar.selection import flat_filter
from gtidal.errors import GtidalError
from gtidal.events.format import Format
from gtidal.events.frame import HEADER_SIZE, decode_event
from gtidal.events.registry import Context
from gtidal.events.rows import RowsEvent
from gtidal.events.statement import Query
from gtidal.events.table_map import TableMap
from gtidal.gtid.mysql import GtidSet
from gtidal.log.decoder import FIRST_EVENT, LogDecoder
from gtidal.text.lexicon import Lexicon
from gtidal.text.options import DumpOptions
from gtidal.text.ordered import OrderedText, Target
from gtidal.text.printer import MysqlPrinter
from gtidal.text.row_plans import RowPlans
from gtidal.text.rows import RowPrinter
from gtidal.text.sessions import SessionBook
from gtidal.text.stretch import (
    ALL,
    BODIES,
    ENDS,
    FEET,
    HEADS,
    INDEX_FULL,
    OPENS,
    WALKED_ALL,
    Array,
    Buffers,
    Spare,
    Stretch,
    Writer,
)
from gtidal.text.times import Clock

DONE, ASK, TABLE, IMAGE, SESSION = range(5)
"""``kernel.judging``'s codes."""
_MOST_TABLES = 1000
_MOST_PLANS = 8192
_MOST_FORGOTTEN = 64
"""So often the sessions learned are forgotten for new ones; a log that has more is printed without."""
_MOST_LESSONS = 4
"""An event may need a few things to be learned; then it is not the kernel's."""
_BATCH = 4 << 20
"""Bytes of a payload's events that are printed at once."""
_TASK = 1 << 19
"""Bytes of log that a task prints."""


def can_print(options: DumpOptions) -> bool:
    """Whether the kernel knows what is asked for: the usual."""
    return not (
        options.hexdump
        or options.short_form
        or options.rewrite_db
        or options.require_row_format
        or options.geometry
    )


class StretchPrinter:
    """Prints for one ``MysqlPrinter``."""

    def __init__(
        self,
        printer: MysqlPrinter,
        rows: RowPrinter,
        out: Target,
        note_damage: Callable[[GtidalError], None],
        threads: int = 1,
    ) -> None:
        self.printer = printer
        spare = Spare()
        self._text = OrderedText(out, note_damage, threads, spare.give)
        self._rows = rows
        self._buffers = Buffers(spare)
        self._clock = Clock()
        self._held = b""
        self._open = False
        self._inside = False
        self._stretch: Stretch | None = None
        self._format: Format | None = None
        self._roles = memoryview(bytes(256))
        self._forgotten = 0
        options = printer.options
        self._gtids = (*_flat(options.include_gtids), *_flat(options.exclude_gtids))
        self._settings = np.zeros(16, np.int64)
        self._settings[:9] = (
            options.verbosity,
            options.base64 != "decode-rows",
            0,
            options.server_id,
            options.skip_gtids,
            options.include_gtids is not None,
            options.exclude_gtids is not None,
            options.database is not None or bool(options.tables),
            -1,
        )
        self._state = memoryview(np.zeros(16, np.int64))
        self._maps = memoryview(np.zeros(2 + 2 * _MOST_TABLES, np.int64))
        self._fields = memoryview(np.zeros(16, np.int64))
        self._progress = own_numbers(0, 0, 0, 0, 0, 0, 0, 0)
        self._forget_all()
        printer.print_inner = self._print_inner

    def _forget_all(self) -> None:
        self._lexicon = Lexicon()
        self._plans = RowPlans(self._lexicon, self._rows)
        self._sessions = SessionBook(self._lexicon)

    def close(self) -> None:
        self._text.close()

    # --- stretch by stretch

    def print(self, decoder: LogDecoder, more: Callable[[int], bool]) -> None:
        """Print events as far as the kernel goes; the decoder goes on behind them. ``more`` gives the decoder data,
        so that it has at least so many bytes; False at the end."""
        if not self._may_enter(decoder):
            return
        try:
            while (stretch := self._next_stretch(decoder, more)) is not None:
                start = stretch.end_of(stretch.place)
                self._advance(stretch)
                decoder.pass_over(stretch.end_of(stretch.place) - start)
                if stretch.place < stretch.count:
                    break
        finally:
            self._leave(decoder)

    def _advance(self, stretch: Stretch) -> None:
        """Print what the kernel can of a stretch."""
        last = self._limit(stretch)
        stretch.place = self._select(stretch, last)
        if stretch.place < last:
            self._enter(stretch)
            place = self._run(stretch, stretch.place, last)
            self.printer.flow.count += place - stretch.place
            stretch.place = place

    def _print_inner(self, events: Iterator[bytes], decoder: LogDecoder, end: int) -> None:
        """The events of a payload that ends at ``end``, some megabytes at a time."""
        self._settings[8] = end
        try:
            while batch := _some_of(events):
                self._print_batch(batch, decoder, end)
        finally:
            self._settings[8] = -1

    def _print_batch(self, batch: list[bytes], decoder: LogDecoder, end: int) -> None:
        source = b"".join(batch)
        first = offset = 0
        while first < len(batch):
            stretch = Stretch(source, offset, decoder)
            stretch.index.positions[: stretch.count] = end
            while stretch.place < max(stretch.count, 1):
                if stretch.count and self._may_enter(decoder):
                    self.printer.pass_on()
                    self._advance(stretch)
                    self._leave(decoder)
                if stretch.place < max(stretch.count, 1):
                    self.printer.inner_event(batch[first + stretch.place], decoder, end)
                    stretch.place += 1
            offset += sum(map(len, batch[first : first + stretch.place]))
            first += stretch.place

    def _may_enter(self, decoder: LogDecoder) -> bool:
        """Not where the printer has begun something that the kernel does not know how to go on with."""
        flow, format = self.printer.flow, decoder.format
        if flow.waiting or decoder.encrypts_events or decoder.position <= FIRST_EVENT:
            return False
        if format.version < 4 or format.header_length != HEADER_SIZE:
            return False
        if format is not self._format:
            self._format = format
            self._roles = _roles(format)
        tables = decoder.context.tables
        if not tables and not flow.ignored_tables:
            self._maps[0] = 0
            return True
        known = {table_id: self._plans.tables[plan] for table_id, plan in self._tables() if plan >= 0}
        ignored = {table_id for table_id, plan in self._tables() if plan < 0}
        return tables == known and flow.ignored_tables == ignored

    def _next_stretch(self, decoder: LogDecoder, more: Callable[[int], bool]) -> Stretch | None:
        """The events that follow; None if the next one is not the kernel's to frame."""
        while True:
            data, offset = decoder.buffered()
            stretch = self._stretch
            if stretch is None or stretch.source is not data:
                stretch = None
            elif stretch.place < stretch.count and offset == stretch.end_of(stretch.place + 1):
                stretch.place += 1  # the printer took one
            if stretch is None or offset != stretch.end_of(stretch.place):
                stretch = self._index(decoder)
            if stretch.place < stretch.count:
                return stretch
            if stretch.code == INDEX_FULL:
                self._stretch = None
                continue
            if stretch.code != WALKED_ALL:
                return None
            left = len(data) - offset
            size = int.from_bytes(data[offset + 9 : offset + 13], "little") if left >= HEADER_SIZE else 0
            if not more(max(size, left + 1)):
                return None

    def _index(self, decoder: LogDecoder) -> Stretch:
        compare = self.printer.options.verify_checksum
        self._stretch = Stretch(*decoder.buffered(), decoder, compare_checksums=compare)
        return self._stretch

    def _limit(self, stretch: Stretch) -> int:
        """The event that the printer is to stop at. Inside a payload a position stops nothing."""
        count, index = stretch.count, stretch.index
        if self._settings[8] < 0 and int(index.positions[count - 1]) >= self.printer.stop_position:
            count = int(np.searchsorted(index.positions[:count], self.printer.stop_position))
        stop_time = self.printer.options.stop_time
        if stop_time is not None:
            late = np.flatnonzero(index.timestamps[stretch.place : count] >= stop_time)
            if len(late):
                count = stretch.place + int(late[0])
        return max(count, stretch.place)

    def _select(self, stretch: Stretch, last: int) -> int:
        """Pass over the events before the first that is wanted, by offset and time."""
        flow, place = self.printer.flow, stretch.place
        if not flow.offset and not flow.start_time:
            return place
        first = min(place + max(flow.offset - flow.count, 0), last)
        wanted = np.flatnonzero(stretch.index.timestamps[first:last] >= flow.start_time)
        if not len(wanted):
            flow.count += last - place
            return last
        chosen = first + int(wanted[0])
        flow.count += chosen - place
        flow.offset = flow.start_time = 0
        return chosen

    # --- entering and leaving

    def _enter(self, stretch: Stretch) -> None:
        """Take over the printer's state, unless it is here already."""
        if self._inside:
            return
        self._inside = True
        flow, state, text = self.printer.flow, self._state, self._text
        if self._sessions.full and self._forgotten < _MOST_FORGOTTEN:
            self._forgotten += 1
            self._sessions = SessionBook(self._lexicon)
        if len(self._plans.tables) > _MOST_PLANS and not self._maps[0]:
            self._forget_all()
        self._open = bool(flow.body or flow.foot)
        state[0] = self._sessions.number(self.printer.session)
        state[1], state[2], state[3] = flow.in_transaction, flow.seen_gtid, flow.skipped_event
        state[4], state[5], state[6] = flow.tells_invisible_key, bool(flow.body), flow.unflushed
        state[7], state[8], state[9] = self.printer.gtid_filter.inside_unwanted, self._open, 0
        self._settings[2] = flow.printed_format or not self._settings[1]
        self._settings[9] = flow.checksum and stretch.format.has_checksums
        self._held = _taken(flow.head)
        for texts, kept in ((flow.body, text.body), (flow.foot, text.foot)):
            if texts:
                kept.write(_taken(texts))

    def _leave(self, decoder: LogDecoder) -> None:
        """Give the state back."""
        if not self._inside:
            return
        self._inside = False
        text = self._text
        text.drain()
        flow, state = self.printer.flow, self._state
        if state[0]:
            self.printer.session.restore(self._sessions.snapshots[state[0]])
        flow.in_transaction, flow.seen_gtid, flow.skipped_event = map(bool, state[1:4])
        flow.tells_invisible_key, flow.unflushed = bool(state[4]), bool(state[6])
        self.printer.gtid_filter.inside_unwanted = bool(state[7])
        if self._held:
            flow.head.append(self._held.decode("utf-8", "surrogateescape"))
        for texts, kept in ((flow.body, text.body), (flow.foot, text.foot)):
            collected = _Collected()
            kept.take(collected)
            if collected.pieces:
                texts.append(b"".join(collected.pieces).decode("utf-8", "surrogateescape"))
        decoder.context.tables.clear()
        flow.ignored_tables.clear()
        for table_id, plan in self._tables():
            if plan < 0:
                flow.ignored_tables.add(table_id)
            else:
                flow.printed_tables.add(table_id)
                decoder.context.tables[table_id] = self._plans.tables[plan]

    def _tables(self) -> Iterator[tuple[int, int]]:
        for number in range(self._maps[0]):
            yield self._maps[1 + 2 * number], self._maps[2 + 2 * number]

    # --- judging

    def _run(self, stretch: Stretch, first: int, last: int) -> int:
        """Judge and print from ``first`` on; gives the event that is not the kernel's."""
        progress = self._progress
        progress[1] = progress[2] = 0
        progress[3] = place = first
        lessons = 0
        while True:
            code, reached = self._judge(stretch, place, last)
            lessons = lessons + 1 if reached == place else 0
            place = reached
            if code in (DONE, ASK) or lessons > _MOST_LESSONS or not self._learn(stretch, code, place):
                break
        self._emit(stretch, first, progress[3], place)
        return place

    def _judge(self, stretch: Stretch, first: int, last: int) -> tuple[int, int]:
        plans, sessions = self._plans, self._sessions
        offsets, _, stops, types, _ = stretch.views
        code = kernel.judging.judge(
            stretch.data, offsets, stops, types, first, last, self._roles, memoryview(self._settings), self._state,
            self._maps, *self._gtids,
            plans.cache_id, plans.cache_body, plans.body_start.view, plans.body_size.view, plans.body_plan.view,
            plans.bodies.view, plans.plans.view, plans.images.view, plans.bitmaps.view,
            sessions.keys.view, sessions.key_bytes.view, sessions.key_count, memoryview(sessions.moves),
            sessions.transitions.view, memoryview(stretch.acts), memoryview(stretch.seconds),
            memoryview(stretch.moments), self._fields, self._progress,
        )  # fmt: skip
        return code, self._progress[0]

    def _learn(self, stretch: Stretch, code: int, place: int) -> bool:
        """Learn what the kernel lacks for an event. False: the event is the printer's."""
        data, position = stretch.event(place)
        context = Context(stretch.format, {}, False)
        try:
            if code == TABLE:
                self._learn_table(data, stretch.body(place, 25), position, context)
                return True
            event = decode_event(data, position, context)
            if isinstance(event, RowsEvent):
                plan = next(plan for table_id, plan in self._tables() if table_id == event.table_id)
                bitmap = event.after_columns if self._progress[4] else event.before_columns
                self._plans.learn_image(plan, bitmap)
                return True
            assert isinstance(event, Query)
            session = self.printer.session
            if self._state[0]:
                session.restore(self._sessions.snapshots[self._state[0]])
            size = data[27] + int.from_bytes(data[30:32], "little")
            return self._sessions.learn(session, event, data[32 : 32 + size])
        except GtidalError:
            return False  # the reference decoder says what is wrong

    def _learn_table(self, data: bytes, body: bytes, position: int, context: Context) -> None:
        known = self._plans.known(body)
        if known is None:
            table = decode_event(data, position, context)
            assert isinstance(table, TableMap)
            known = self._plans.learn(table, body, skipped=self.printer.skips_table(table))
        self._plans.note_id(int.from_bytes(data[19:25], "little"), known)

    # --- printing

    def _emit(self, stretch: Stretch, first: int, flushed: int, last: int) -> None:
        """Print judged events. Those behind ``flushed`` are left out, and their ``# at`` lines kept back."""
        if first == last:
            return
        writer = self._writer(stretch)
        if flushed > first:
            if self._held:
                self._text.write(self._held)
                self._held = b""
            self._print(writer, first, flushed)
        if flushed < last:
            held = _Collected()
            writer.task(HEADS, flushed, last)(held.write)
            self._held += b"".join(held.pieces)

    def _print(self, writer: Writer, first: int, last: int) -> None:
        marks = writer.stretch.marks(first, last)
        ends = first + np.flatnonzero(marks & ENDS) + 1
        opens = first + np.flatnonzero(marks & OPENS)
        if self._open:
            stop = int(ends[0]) if len(ends) else last
            self._print_parts(writer, first, stop)
            if not len(ends):
                return
            self._text.end_statement()
            self._open = False
            first = stop
        tail = last
        if len(opens) and (not len(ends) or opens[-1] >= ends[-1]):
            tail = int(opens[-1])
        self._print_whole(writer, first, tail, opens, ends)
        if tail < last:
            self._print_parts(writer, tail, last)
            self._open = True

    def _print_whole(self, writer: Writer, first: int, last: int, opens: Array, ends: Array) -> None:
        """Whole statements, in tasks of some size, which are not cut inside a statement."""
        offsets = writer.stretch.index.offsets
        while first < last:
            stop = max(int(np.searchsorted(offsets[:last], int(offsets[first]) + _TASK)), first + 1)
            if stop < last:
                begun = int(np.searchsorted(opens, stop))
                if begun and opens[begun - 1] >= first:
                    stop = max(stop, int(ends[np.searchsorted(ends, opens[begun - 1], side="right")]))
            self._text.submit(writer.task(ALL, first, stop), self._text.out)
            first = stop

    def _print_parts(self, writer: Writer, first: int, last: int) -> None:
        """Events inside a statement that is not whole here."""
        text = self._text
        text.submit(writer.task(HEADS, first, last), text.out)
        if self._settings[1]:
            text.submit(writer.task(BODIES, first, last), text.body)
        if self._settings[0]:
            text.submit(writer.task(FEET, first, last), text.foot)

    def _writer(self, stretch: Stretch) -> Writer:
        plans, sessions, lexicon = self._plans, self._sessions, self._lexicon
        arrays = (
            memoryview(self._settings.copy()), memoryview(stretch.acts), lexicon.texts.view, lexicon.words.view,
            plans.plans.view, plans.images.view, plans.steps.view, sessions.keys.view, sessions.transitions.view,
            *self._dates(stretch),
        )  # fmt: skip
        return Writer(self._buffers, stretch, plans.tables, self._rows, arrays)

    def _dates(self, stretch: Stretch) -> tuple[memoryview, memoryview, memoryview]:
        """The texts of all times that the judged events have, and where they are."""
        dates = bytearray()
        starts, clocks = [0], [0] * 4
        for number, second in enumerate(stretch.seconds[: self._progress[1]].tolist()):
            starts[number:] = [len(dates)]
            dates += self._clock.header(second).encode()
        for number, second in enumerate(stretch.moments[: self._progress[2]].tolist()):
            date, zone = self._clock.commit_parts(second)
            clocks[4 * number :] = [len(dates), len(date), len(dates) + len(date), len(zone.encode())]
            dates += (date + zone).encode()
        return (
            memoryview(np.array(starts, np.int32)),
            memoryview(np.array(clocks, np.int32)),
            memoryview(bytes(dates)),
        )


class _Collected:
    """Pieces of text, kept."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def write(self, data: Any) -> None:
        self.pieces.append(bytes(data))


def _taken(texts: list[str]) -> bytes:
    """The texts, which go from the printer to the kernel."""
    data = "".join(texts).encode("utf-8", "surrogateescape")
    texts.clear()
    return data


def _some_of(events: Iterator[bytes]) -> list[bytes]:
    batch = []
    size = 0
    for data in events:
        batch.append(data)
        size += len(data)
        if size >= _BATCH:
            break
    return batch


def _flat(gtids: GtidSet | None) -> tuple[memoryview, ...]:
    found = flat_filter(gtids if gtids is not None else GtidSet(), including=True)
    return found.uuids, found.firsts, found.starts, found.ends


def _roles(format: Format) -> memoryview:
    """What the kernel may do with each type of event: partial updates are rows, payloads are the printer's."""
    roles = np.frombuffer(roles_of(format, only_ordinary=True), np.uint8).copy()
    roles[roles == Role.PAYLOAD] = Role.ASK
    if format.post_header_length(39, 10) == 10 and roles[31] == Role.ROWS_V2:
        roles[39] = Role.ROWS_V2
    return memoryview(roles)
