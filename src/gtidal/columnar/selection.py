"""Which events, transactions and tables are read. Applied as early as can be: a table by its table map, before any
row is touched; a GTID by its event, jumping over the whole transaction."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gtidal.columnar.codes import KINDS, NONE, OUTCOMES, Txn
from gtidal.columnar.flat import is_one_of
from gtidal.columnar.following import NO_TRANSACTION, Followed
from gtidal.columnar.index import GtidFilter
from gtidal.columnar.plan import PlanBook
from gtidal.columnar.statements import statement_of
from gtidal.columnar.windows import Array, Window
from gtidal.errors import UsageError
from gtidal.gtid import GtidSet, MariadbGtid, MariadbGtidSet, parse_uuid
from gtidal.log.transactions import COMMIT, PREPARED, ROLLBACK, XA

AnyGtidSet = GtidSet | MariadbGtidSet
_COMMIT = OUTCOMES.index(COMMIT)


@dataclass(frozen=True, slots=True)
class Selection:
    """What a read selects. None: all. Times are microseconds since 1970; ``stop`` is exclusive."""

    start_time: int | None = None
    stop_time: int | None = None
    include_gtids: AnyGtidSet | None = None
    exclude_gtids: AnyGtidSet | None = None
    passed: MariadbGtidSet | None = None
    """Where a replica of MariaDB's is: it has all of a domain up to there, whichever server wrote it."""
    schemas: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    types: frozenset[int] | None = None
    server_ids: frozenset[int] | None = None
    exclude_server_ids: frozenset[int] = frozenset()
    include_uncommitted: bool = False

    @property
    def by_table(self) -> bool:
        return bool(self.schemas or self.tables)

    @property
    def by_server(self) -> bool:
        return self.server_ids is not None or bool(self.exclude_server_ids)

    @property
    def by_time(self) -> bool:
        return self.start_time is not None or self.stop_time is not None

    @property
    def by_gtid(self) -> bool:
        return any(each is not None for each in (self.include_gtids, self.exclude_gtids, self.passed))

    def table_matcher(self) -> Callable[[str, str], bool]:
        """Whether a table (schema, name) is selected."""
        schemas = [pattern(text) for text in self.schemas]
        tables = [pattern(text) for text in self.tables]

        def matches(schema: str, table: str) -> bool:
            full = f"{schema}.{table}"
            in_schemas = not schemas or any(each.fullmatch(schema) for each in schemas)
            return in_schemas and (not tables or any(each.fullmatch(full) for each in tables))

        return matches

    def schema_matcher(self) -> Callable[[str | None], bool]:
        """Whether a statement is selected that names no table to us, only its default schema."""
        schemas = [
            pattern(text) for text in (*self.schemas, *(text.rpartition(".")[0] for text in self.tables))
        ]

        def matches(schema: str | None) -> bool:
            return not schemas or any(each.fullmatch(schema or "") for each in schemas)

        return matches

    def gtid_filter(self) -> GtidFilter | None:
        """For the kernel's walk: only what all transactions can be judged by, so not two sets at once."""
        include, exclude = self.include_gtids, self.exclude_gtids
        if (include is None) == (exclude is None):
            return None
        chosen = include if include is not None else exclude
        return flat_filter(chosen, include is not None) if isinstance(chosen, GtidSet) else None


def pattern(text: str) -> re.Pattern[str]:
    """``*`` stands for any characters; everything else for itself."""
    return re.compile(".*".join(re.escape(part) for part in text.split("*")), re.DOTALL)


def flat_filter(gtids: GtidSet, including: bool) -> GtidFilter:
    uuids: list[bytes] = []
    firsts = [0]
    starts: list[int] = []
    ends: list[int] = []
    for uuid, tag, intervals in gtids:
        if tag:
            continue  # tagged GTIDs have an event of their own, which the walk does not judge
        uuids.append(parse_uuid(uuid))
        for start, last in intervals:
            starts.append(start)
            ends.append(last + 1)
        firsts.append(len(starts))
    return GtidFilter(
        memoryview(np.frombuffer(b"".join(uuids) or bytes(16), np.uint8)),
        memoryview(np.array(firsts, np.int64)),
        memoryview(np.array(starts or [0], np.int64)),
        memoryview(np.array(ends or [0], np.int64)),
        including,
    )


class Selector:
    """Applies a selection to followed windows."""

    def __init__(self, selection: Selection, book: PlanBook) -> None:
        self.selection = selection
        self._book = book
        self.matches = selection.table_matcher()
        self._wanted = np.zeros(0, bool)
        self.matches_schema = selection.schema_matcher()
        self._all = np.ones(1 << 10, bool)
        self._places = np.arange(1 << 10)

    def plans(self) -> Array:
        """Which plans are of selected tables."""
        plans = self._book.plans
        if len(self._wanted) < max(len(plans), 1):
            new = [self.matches(plan.table.schema, plan.table.table) for plan in plans[len(self._wanted) :]]
            self._wanted = np.append(self._wanted, np.array(new, bool)) if plans else np.zeros(0, bool)
        return self._wanted if plans else np.zeros(1, bool)

    def all(self, count: int) -> Array:
        """That so many are selected. Nobody writes there."""
        if count > len(self._all):
            self._all = np.ones(2 * count, bool)
        return self._all[:count]

    def of_tables(self, followed: Followed) -> Array:
        """Which events of a window are table maps or rows of a selected table."""
        plans = followed.lanes.event_plan[: followed.events]
        return (plans >= 0) & self.plans()[plans]

    def kept(self, followed: Followed) -> Array | None:
        """Which rows events of a window are of selected types and servers; None: all of them."""
        if self.selection.types is None and not self.selection.by_server:
            return None
        return self.by_header(followed.window, followed.events)

    def by_header(self, window: Window, count: int) -> Array:
        """Which events are selected by their own headers: type, server."""
        index, selection = window.index, self.selection
        keep = np.ones(count, bool)
        if selection.types is not None:
            keep &= is_one_of(index.types[:count], selection.types)
        return keep & self._servers(index.server_ids[:count])

    def _servers(self, server_ids: Array) -> Array:
        selection = self.selection
        keep = np.ones(len(server_ids), bool)
        if selection.server_ids is not None:
            keep &= is_one_of(server_ids, selection.server_ids)
        if selection.exclude_server_ids:
            keep &= ~is_one_of(server_ids, selection.exclude_server_ids)
        return keep

    def _times(self, seconds: Array) -> Array:
        selection = self.selection
        keep = np.ones(len(seconds), bool)
        if selection.start_time is not None:
            keep &= seconds * 1_000_000 >= selection.start_time
        if selection.stop_time is not None:
            keep &= seconds * 1_000_000 < selection.stop_time
        return keep

    def events(self, followed: Followed) -> Array:
        """The places of selected events. Nobody writes there."""
        count = followed.events
        window, selection = followed.window, self.selection
        by_header = selection.types is not None or selection.by_server or selection.by_time
        if not (by_header or selection.by_table or selection.by_gtid):
            if count > len(self._places):
                self._places = np.arange(2 * count)
            return self._places[:count]
        keep = self.by_header(window, count) & self._times(window.index.timestamps[:count])
        if selection.by_table:
            keep &= self.of_tables(followed) | self._statements(followed)
        if selection.by_gtid:
            keep &= self._of_selected(followed, self._gtids(followed), selection.include_gtids is None)
        return np.flatnonzero(keep)

    def _statements(self, followed: Followed) -> Array:
        """Statements that may change data, by their default schema. BEGIN and the like are told or not, as it happens
        who followed their transaction: they are of no table."""
        keep = np.zeros(followed.events, bool)
        for place, event in followed.told:
            statement = statement_of(event) if place < followed.events else None
            if statement is not None and statement.schema is not None:
                keep[place] |= self.matches_schema(statement.schema)
        return keep

    def _of_selected(self, followed: Followed, transactions: Array, others: bool) -> Array:
        """Events of these transactions; ``others``: also events of none."""
        numbers = followed.lanes.event_txn[: followed.events]
        if not len(transactions):
            return np.full(len(numbers), others)
        return np.where(numbers == NO_TRANSACTION, others, transactions[numbers])

    def _gtids(self, followed: Followed) -> Array:
        rows = followed.rows
        keep = np.ones(len(rows), bool)
        include, exclude = self.selection.include_gtids, self.selection.exclude_gtids
        passed = self.selection.passed
        for number, (start, size) in enumerate(rows[:, [Txn.GTID, Txn.GTID_SIZE]].tolist()):
            gtid = None if size == NONE else followed.text(start, size).decode()
            if include is not None:
                keep[number] &= gtid is not None and _holds(include, gtid)
            if exclude is not None:
                keep[number] &= gtid is None or not _holds(exclude, gtid)
            if passed is not None and gtid is not None and ":" not in gtid:
                keep[number] &= not passed.covers(MariadbGtid.parse(gtid))
        return keep

    def transactions(self, followed: Followed) -> Array:
        """Which transactions are selected as a whole, by time, server and GTID: for ``rows``, the open one too."""
        rows, selection = followed.rows, self.selection
        if not (selection.by_time or selection.by_server or selection.by_gtid):
            return self.all(len(rows))
        keep = self._times(rows[:, Txn.TIMESTAMP]) & self._servers(rows[:, Txn.SERVER_ID])
        return keep & self._gtids(followed) if selection.by_gtid else keep

    def committed(self, followed: Followed) -> Array:
        """Of those, the ones whose changes are shown."""
        keep = self.transactions(followed)
        if self.selection.include_uncommitted or followed.all_committed:
            return keep
        outcomes, kinds = followed.rows[:, Txn.OUTCOME], followed.rows[:, Txn.KIND]
        # XA ROLLBACK, apart from what it rolls back: the fate of what was shown as prepared.
        fates = (kinds == KINDS.index(XA)) & (outcomes == OUTCOMES.index(ROLLBACK))
        fates &= followed.rows[:, Txn.EVENTS] <= 2
        fates |= is_one_of(outcomes, (_COMMIT, OUTCOMES.index(PREPARED)))
        return np.asarray(keep & fates)

    def with_selected_events(self, followed: Followed) -> Array:
        """Which transactions have an event of a selected type and table."""
        selection = self.selection
        count = followed.events
        rows = followed.rows
        if selection.types is None and not selection.by_table:
            return np.ones(len(rows), bool)
        keep = np.ones(count, bool)
        if selection.types is not None:
            keep &= is_one_of(followed.window.index.types[:count], selection.types)
        if selection.by_table:
            keep &= self.of_tables(followed) | self._statements(followed)
        numbers = followed.lanes.event_txn[:count][keep]
        found = np.zeros(len(rows) + 1, bool)
        found[numbers] = True
        return found[: len(rows)]


def _holds(gtids: AnyGtidSet, gtid: str) -> bool:
    try:
        return gtid in gtids
    except UsageError:  # a GTID of the other server's kind
        return False
