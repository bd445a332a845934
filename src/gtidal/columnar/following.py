"""Transactions of a window: the ordinary ones by the kernel, all others by the reference decoder's tracker.

A ``Follower`` goes through windows in order. For each it tells which transaction an event belongs to, which plan a
table map has, where rows lie, and the numbers of every transaction that ended.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from operator import itemgetter
from zlib import crc32

import numpy as np

from gtidal.columnar import kernel
from gtidal.columnar.codes import NONE, STATEMENT_WORDS, TXN_FIELDS, Role, Txn
from gtidal.columnar.event_lanes import Lanes
from gtidal.columnar.flat import is_one_of, own_numbers
from gtidal.columnar.plan import PlanBook, printable
from gtidal.columnar.statements import Statement, statement_of
from gtidal.columnar.transaction_numbers import tag_of, transaction_numbers
from gtidal.columnar.windows import Array, Window
from gtidal.errors import GtidalError
from gtidal.events.format import CRC32, NO_CHECKSUM, Format, FormatDescription, StartV3
from gtidal.events.frame import HEADER_SIZE, decode_event
from gtidal.events.mariadb import AnnotateRows, PartialRowData
from gtidal.events.registry import Context, Event
from gtidal.events.rows import RowsEvent
from gtidal.events.statement import RowsQuery
from gtidal.events.table_map import TableMap
from gtidal.log.decoder import Fragments, LogDecoder, event_name, inner_format_of
from gtidal.log.transactions import COMMIT, Transaction, TransactionTracker

DONE, ASK, OPEN, TABLE, FULL = range(5)
NO_TRANSACTION = -1
_OPERATIONS = {-1: "statement", -2: "ddl"}
"""In the place of the text that rows belong to: the event is itself a statement, and of which kind."""
_MOST_MAPS = 1024
_V1_ROWS, _V2_ROWS = (23, 24, 25), (30, 31, 32)
ROWS_TYPES = frozenset(_V1_ROWS + _V2_ROWS)
IS_ROWS = np.zeros(256, bool)
IS_ROWS[list(ROWS_TYPES)] = True
_SCHEMA_SIZE = HEADER_SIZE + 8
_ROWISH = (Role.TABLE_MAP, Role.ROWS_V1, Role.ROWS_V2, Role.ROWS_QUERY, Role.ANNOTATE_ROWS)


_ORDINARY = (
    (33, Role.GTID, None),
    (34, Role.GTID, None),
    (2, Role.BEGIN, 13),
    (19, Role.TABLE_MAP, 8),
    (29, Role.ROWS_QUERY, 0),
    (16, Role.XID, 0),
    (40, Role.PAYLOAD, None),
    *((code, Role.ROWS_V1, 8) for code in _V1_ROWS),
    *((code, Role.ROWS_V2, 10) for code in _V2_ROWS),
)
_ALL = (
    *_ORDINARY,
    (2, Role.QUERY, 13),
    *((code, Role.SETTING, 0) for code in (5, 13, 14)),
    (160, Role.ANNOTATE_ROWS, None),
    (162, Role.MARIADB_GTID, None),
)
"""A type's code, its role, and how long its fixed part must be; None: nobody asks."""


def roles_of(format: Format, *, only_ordinary: bool = False) -> memoryview:
    """What the kernel may do with each type of event in this format: where a fixed part is not as long as known,
    nothing. ``only_ordinary``: of transactions, those of MySQL's rows alone (GTID, BEGIN, …, XID)."""
    roles = np.zeros(256, np.uint8)
    if format.version >= 4 and format.header_length == HEADER_SIZE:
        for code, role, size in _ORDINARY if only_ordinary else _ALL:
            if size is None or format.post_header_length(code, size) == size:
                roles[code] = role
    return memoryview(roles)


def packed_word(word: str) -> int:
    """As ``kernel.queries`` packs it: five bits for each letter."""
    number = 0
    for letter in word:
        number = number << 5 | ord(letter) & 31
    return number


_WORDS = memoryview(
    np.array([(packed_word(word), kind) for word, kind in STATEMENT_WORDS.items()], np.int64).reshape(-1)
)


@dataclass(slots=True)
class Followed:
    """What is known of a window's events, up to ``events``."""

    window: Window
    lanes: Lanes
    events: int = 0
    transactions: int = 0
    asked: list[tuple[int, Event]] = field(default_factory=list)
    """The events that the reference decoder decoded, by their place in the window."""
    statements: list[tuple[int, Statement]] = field(default_factory=list)
    """Those that the kernel followed; see ``Follower.tell_statements``."""
    has_open: bool = False
    """Whether a row for the transaction that is still open follows those of the ended ones."""
    open_from: int | None = None
    """The place of the first event of a transaction that does not end in the window, where it was left alone."""
    error: GtidalError | None = None
    """What is wrong with the event behind these; see ``Follower.keep_errors``."""
    all_committed: bool = True
    """Whether that is known of all transactions."""
    has_xa: bool = False

    @property
    def txn(self) -> Array:
        """One row per transaction that ended here; a column of it lies in one piece."""
        return self.lanes.txn[:, : self.transactions].T

    @property
    def rows(self) -> Array:
        """Those, and the one that is still open: what ``event_txn`` counts."""
        return self.lanes.txn[:, : self.transactions + self.has_open].T

    @property
    def told(self) -> list[tuple[int, Event | Statement]]:
        """What was asked for and the kernel's statements, in order."""
        return (
            sorted([*self.asked, *self.statements], key=itemgetter(0)) if self.statements else [*self.asked]
        )

    def text(self, start: int, size: int) -> bytes:
        return self.lanes.heap[start : start + size].tobytes()


class Follower:
    """Follows the transactions of one log."""

    def __init__(
        self, decoder: LogDecoder, book: PlanBook, *, decode_rows: bool = True, only_ordinary: bool = False
    ) -> None:
        self.decoder = decoder
        self.book = book
        self.tracker = TransactionTracker()
        self.decode_rows = decode_rows
        """Off: rows events that the reference decoder gets keep their images as bytes."""
        self.tell_statements = True
        """Off: of statements that the kernel followed, nothing but their transactions is told."""
        self._only_ordinary = only_ordinary
        self.query: bytes | None = None
        """The text of the rows to come, where it was in a window before."""
        self.keep_errors = False
        """On: an event that cannot be decoded ends what is followed of its window, and its error is kept there."""
        self._maps = memoryview(np.zeros(1 + 2 * _MOST_MAPS, np.int64))
        self.maps_at_begin = [0]
        """The maps in force where the last transaction began, for ``rewind``."""
        self._state = own_numbers(0, 0, 0, 0, 0, 0, 0, 0)
        self._progress = own_numbers(0, 0, 0, 0)
        self._format: Format | None = None
        self._roles = memoryview(bytes(256))
        self._fragments = Fragments()
        self._lanes: Lanes | None = None

    def reset(self) -> None:
        """Forget an open transaction: its beginning will be read again."""
        self.tracker = TransactionTracker()
        self._maps[0] = 0
        self.query = None

    def rewind(self, maps: list[int]) -> None:
        """As ``reset``, with the table maps that were in force before the transaction: there should be none."""
        self.reset()
        for place, number in enumerate(maps):
            self._maps[place] = number

    def begin(self, window: Window) -> Followed:
        """Nothing of the window is followed yet; what was known of the window before is no longer."""
        if window.format is not self._format:
            self._format = window.format
            self._roles = roles_of(window.format, only_ordinary=self._only_ordinary)
            self.book.forget_ids()
        if self._lanes is None or len(self._lanes.event_txn) < window.count:
            self._lanes = Lanes(window.count + window.count // 8)  # the next window may have some more
        for place in (1, 2, 3, 4, 6, 7):
            self._state[place] = 0
        self._state[5] = 1  # the first text is the one from the window before
        return Followed(window, self._lanes)

    def follow(self, window: Window, *, leave_open: bool = False) -> Followed:
        """Go through a window. ``leave_open``: stop before a transaction that does not end in it."""
        followed = self.begin(window)
        lanes = followed.lanes
        if self.query is not None:
            self._put_query(followed, self.query)
        place = 0
        begun = 0
        learned: set[int] = set()
        bad_table = -1  # events up to it are asked for one by one, so that those before it are known
        while place < window.count:
            owned = self.tracker.current is not None
            if place <= bad_table or (owned and not self._goes_on_with_rows(window, place)):
                code, stopped = ASK, place
            else:
                code, stopped, at = self.run(followed, place, owned)
                if owned and stopped > place:
                    self._pass_over(followed, place, stopped)
                if code == TABLE and at in learned:
                    code = ASK  # two maps of one transaction push each other out of the cache
            place = stopped
            if not owned:
                begun = place
                self.maps_at_begin = self.maps_now()
            if code == DONE:
                break
            if code == OPEN and leave_open:
                followed.open_from = place
                break
            try:
                if code == TABLE:
                    self.learn(followed, at)
                    learned.add(at)
                elif code == FULL:
                    self.grow(followed)
                else:
                    before = self.tracker.current
                    self._ask(followed, place)
                    current = self.tracker.current
                    if before is not None and current is not None and current is not before:
                        begun = place  # one transaction was cut off by another
                        self.maps_at_begin = self.maps_now()
                    place += 1
                    if followed.error is not None:
                        raise followed.error
            except GtidalError as error:
                if not self.keep_errors:
                    raise
                if code == TABLE and place < at:
                    bad_table = at
                    continue
                followed.error = error
                break
        incomplete = followed.open_from is not None or followed.error is not None
        followed.events = place if incomplete else window.count
        if leave_open and followed.open_from is None and self.tracker.current is not None:
            followed.open_from = followed.events = begun
        followed.transactions = self._state[1]
        if self.tell_statements and self._state[6]:
            followed.statements = list(self._statements(followed))
        if followed.open_from is None:
            self.show_open(followed, self.tracker.current)
        query = self._state[4]
        self.query = (
            followed.text(int(lanes.query_start[query]), int(lanes.query_size[query])) if query else None
        )
        return followed

    def finish(self, followed: Followed) -> None:
        """At the end of the log: a transaction that has not ended is incomplete."""
        for transaction in self.tracker.finish():
            self._lower(followed, transaction)
        followed.transactions = self._state[1]
        followed.has_open = False

    def show_open(self, followed: Followed, transaction: Transaction | None) -> None:
        """Give the open transaction a row: what is known of it so far, or from elsewhere."""
        if transaction is not None:
            self._lower(followed, transaction)
            self._state[1] -= 1
        followed.has_open = transaction is not None

    def maps_in_force(self) -> dict[int, TableMap]:
        """The table maps of the statement at hand."""
        maps, plans = self._maps, self.book.plans
        return {maps[1 + 2 * k]: plans[maps[2 + 2 * k]].table for k in range(maps[0])}

    @property
    def transactions(self) -> int:
        """How many have a row in the lanes."""
        return self._state[1]

    def grow(self, followed: Followed) -> None:
        """There is no room for what comes next."""
        state = self._state
        followed.lanes.grow(state[1], state[2], state[3], state[5])

    # --- the kernel's part

    def run(self, followed: Followed, first: int, owned: bool) -> tuple[int, int, int]:
        """Follow from ``first`` on: the kernel's code, where it stopped, and the event it stopped for."""
        window, lanes, book = followed.window, followed.lanes, self.book
        index = window.index
        self._state[0] = owned
        code = kernel.groups.follow(
            memoryview(window.data),
            *index.followed,
            first,
            index.count,
            self._roles,
            _WORDS,
            book.cache_id,
            book.cache_body,
            book.body_start.view,
            book.body_size.view,
            book.body_plan.view,
            book.bodies.view,
            book.width.view,
            book.name.view,
            self._maps,
            *lanes.views(),
            self._state,
            self._progress,
        )
        followed.all_committed &= not self._state[7]
        return code, self._progress[0], self._progress[1]

    def _pass_over(self, followed: Followed, first: int, last: int) -> None:
        """The kernel followed these events of a transaction that the tracker holds."""
        index, lanes = followed.window.index, followed.lanes
        plans = lanes.event_plan[first:last]
        maps = plans[index.types[first:last] == TableMap.code]
        rows = bool(IS_ROWS[index.types[first:last]].any())
        names = [self.book.plans[plan].name for plan in dict.fromkeys(maps.tolist())]
        self.tracker.pass_over(last - first, int(index.ends[last - 1]), names, rows)
        current = self.tracker.current
        if current is not None and current.query is None and self._state[5] > 1:
            texts = np.flatnonzero(is_one_of(index.types[first:last], (RowsQuery.code, AnnotateRows.code)))
            if len(texts):
                event = self._decode(followed.window, first + int(texts[0]))
                assert isinstance(event, RowsQuery | AnnotateRows)
                current.query = event.query

    def _goes_on_with_rows(self, window: Window, place: int) -> bool:
        """Whether the kernel may go on inside of the tracker's transaction."""
        return self._roles[window.index.types[place]] in _ROWISH and self.tracker.takes_rows

    # --- the reference decoder's part

    def context(self, window: Window, event: int) -> Context:
        """What decoding an event of the window depends on; its tables are those in force where the follower is."""
        inside = int(window.index.payloads[event]) >= 0
        tables = self.maps_in_force()
        format = inner_format_of(window.format) if inside else window.format
        return Context(format, tables, self.decode_rows)

    def _decode(self, window: Window, place: int) -> Event:
        frame = window.frame(place)
        try:
            return decode_event(frame.data, frame.position, self.context(window, place))
        except GtidalError as error:
            raise error.at(
                file=self.decoder.file, position=frame.position, event=event_name(frame.type_code)
            ) from None

    def decode_alone(self, followed: Followed, place: int) -> Event:
        """An event of a window that was followed, for itself: rows stay bytes, but their table is known."""
        window, plan = followed.window, int(followed.lanes.event_plan[place])
        frame = window.frame(place)
        inside = int(window.index.payloads[place]) >= 0
        tables = {}
        if plan >= 0:
            table_id = int.from_bytes(frame.data[HEADER_SIZE : HEADER_SIZE + 6], "little")
            tables = {table_id: self.book.plans[plan].table}
        context = Context(inner_format_of(window.format) if inside else window.format, tables, False)
        try:
            return decode_event(frame.data, frame.position, context)
        except GtidalError as error:
            raise error.at(file=self.decoder.file) from None

    def _statements(self, followed: Followed) -> Iterator[tuple[int, Statement]]:
        """Those that the kernel followed. Text that is not ASCII is in a charset that the event tells."""
        window, lanes = followed.window, followed.lanes
        kinds = lanes.event_query[: followed.events]
        places = np.flatnonzero(kinds < 0)
        starts, ends = lanes.event_start[places], lanes.event_end[places]
        sizes = window.data[window.index.offsets[places] + _SCHEMA_SIZE]
        data = memoryview(window.data)
        for place, kind, start, end, size in zip(
            *(each.tolist() for each in (places, kinds[places], starts, ends, sizes)), strict=True
        ):
            query = bytes(data[start:end])
            if query.isascii():
                schema = str(data[start - 1 - size : start - 1], "utf-8", "surrogateescape")
                yield place, Statement(_OPERATIONS[kind], schema, query)
            else:
                statement = statement_of(self.decode_alone(followed, place))
                assert statement is not None
                yield place, statement

    def learn(self, followed: Followed, place: int) -> None:
        """A table map that the kernel does not know: from now on it does."""
        window = followed.window
        event = self._decode(window, place)
        assert isinstance(event, TableMap)
        self._plan(window, place, event)

    def _plan(self, window: Window, place: int, event: TableMap) -> int:
        index = window.index
        start = int(index.offsets[place]) + HEADER_SIZE + 6
        body = window.data[start : int(index.stops[place])].tobytes()
        try:
            return self.book.learn(event, body).number
        except GtidalError as error:
            raise error.at(file=self.decoder.file, position=event.header.position, event=event.name) from None

    def _ask(self, followed: Followed, place: int) -> None:
        window, lanes = followed.window, followed.lanes
        event = self._decode(window, place)
        lanes.event_plan[place] = -1
        lanes.event_query[place] = 0
        if isinstance(event, TableMap):
            plan = self._plan(window, place, event)
            self._keep_map(event, plan)
            lanes.event_plan[place] = plan
        elif isinstance(event, FormatDescription | StartV3):
            self._maps[0] = 0
        followed.asked.append((place, event))
        self._feed(followed, place, event)
        if isinstance(event, PartialRowData):
            try:
                self._add_fragment(followed, place, event)
            except GtidalError as error:
                followed.error = error.at(
                    file=self.decoder.file, position=event.header.position, event=event.name
                )

    def _add_fragment(self, followed: Followed, place: int, event: PartialRowData) -> None:
        whole = self._fragments.add(event)
        if whole is not None:
            rows = self._decode_whole(followed.window, place, whole)
            followed.asked.append((place, rows))
            self._feed(followed, place, rows)

    def _decode_whole(self, window: Window, place: int, data: bytes) -> Event:
        """The rows event that MariaDB logged in pieces."""
        context = self.context(window, place)
        sealed = crc32(data[:-4]) == int.from_bytes(data[-4:], "little")
        context.format = replace(inner_format_of(window.format), checksum=CRC32 if sealed else NO_CHECKSUM)
        try:
            return decode_event(data, int(window.index.positions[place]), context)
        except GtidalError as error:
            raise error.at(file=self.decoder.file) from None

    def _feed(self, followed: Followed, place: int, event: Event) -> None:
        lanes, index, tracker = followed.lanes, followed.window.index, self.tracker
        if index.payloads[place] >= 0:  # the kernel may have followed what stands before, in another window
            tracker.inside_of(int(index.payloads[place]), int(index.ends[place]))
        was_open = tracker.current is not None
        ended = tracker.feed(event)
        for transaction in ended:
            self._lower(followed, transaction)
        position = event.header.position
        last = ended[-1] if ended else None
        if tracker.current is not None:
            lanes.event_txn[place] = self._state[1]
        elif last is not None and last.position <= position < last.end_position:
            lanes.event_txn[place] = self._state[1] - 1
        else:
            lanes.event_txn[place] = NO_TRANSACTION
        if not was_open or last is not None:
            self._state[4] = 0
        if isinstance(event, RowsQuery | AnnotateRows):
            self._put_query(followed, event.query)
        elif isinstance(event, RowsEvent):
            lanes.event_query[place] = self._state[4]
            if event.ends_statement:
                self._maps[0] = 0
                self._state[4] = 0

    def maps_now(self) -> list[int]:
        """Those in force, for ``rewind``."""
        numbers: list[int] = self._maps[: 1 + 2 * self._maps[0]].tolist()
        return numbers

    def _keep_map(self, event: TableMap, plan: int) -> None:
        maps = self._maps
        held = [k for k in range(maps[0]) if maps[1 + 2 * k] == event.table_id]
        if not held and maps[0] >= _MOST_MAPS:
            maps[0] = 0  # no statement has so many: statements that never ended left them
        place = held[0] if held else maps[0]
        maps[1 + 2 * place] = event.table_id
        maps[2 + 2 * place] = plan
        maps[0] += not held

    # --- what both write

    def _put_text(self, followed: Followed, text: bytes | str | None) -> tuple[int, int]:
        if text is None:
            return 0, NONE
        data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
        used = self._state[3]
        while used + len(data) > len(followed.lanes.heap):
            self.grow(followed)
        followed.lanes.heap[used : used + len(data)] = np.frombuffer(data, np.uint8)
        self._state[3] = used + len(data)
        return used, len(data)

    def _put_query(self, followed: Followed, query: bytes) -> None:
        number = self._state[5]
        while number >= len(followed.lanes.query_start):
            self.grow(followed)
        start, size = self._put_text(followed, query)
        followed.lanes.query_start[number] = start
        followed.lanes.query_size[number] = size
        self._state[4] = number
        self._state[5] = number + 1

    def _lower(self, followed: Followed, transaction: Transaction) -> None:
        """A transaction of the tracker's as a row of numbers."""
        followed.all_committed &= transaction.outcome == COMMIT
        followed.has_xa |= transaction.xa is not None
        count = self._state[1]
        lanes = followed.lanes
        while count >= lanes.txn.shape[1]:
            self.grow(followed)
        values = transaction_numbers(transaction)
        first = self._state[2]
        names = [self.book.name_number(name) for name in transaction.tables]
        while first + len(names) > len(lanes.tables):
            self.grow(followed)
        lanes.tables[first : first + len(names)] = names
        self._state[2] = first + len(names)
        values[Txn.TABLES], values[Txn.TABLES_COUNT] = first, len(names)
        texts: tuple[tuple[Txn, bytes | str | None], ...] = (
            (Txn.GTID, transaction.gtid and printable(transaction.gtid)),
            (Txn.TAG, tag_of(transaction)),
            (Txn.SCHEMA, transaction.schema),
            (Txn.QUERY, transaction.query),
            (Txn.XA, transaction.xa),
        )
        for place, text in texts:
            start, size = self._put_text(followed, text)
            values[place] = start
            values[_SIZES[place]] = size
        lanes.txn[:, count] = [_signed(values.get(place, 0)) for place in range(TXN_FIELDS)]
        self._state[1] = count + 1


_SIZES = {
    Txn.GTID: Txn.GTID_SIZE,
    Txn.TAG: Txn.TAG_SIZE,
    Txn.SCHEMA: Txn.SCHEMA_SIZE,
    Txn.QUERY: Txn.QUERY_SIZE,
    Txn.XA: Txn.XA_SIZE,
}


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 == 1 else value
