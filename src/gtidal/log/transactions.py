"""Events to transactions: where each begins and ends, and how it ended.

A transaction begins with a GTID event (named or anonymous), or in older logs with BEGIN or with the first
event outside of one. It ends

    XID                              commit
    QUERY COMMIT / ROLLBACK          commit / rollback
    XA_PREPARE                       prepared (commit, if in one phase)
    one QUERY, no BEGIN before it    commit: DDL, XA COMMIT, XA ROLLBACK, a statement that commits by itself
    rows that end their statement    commit, where neither BEGIN nor a GTID of MySQL's came before
    INCIDENT, no BEGIN before it     commit: a transaction of its own
    TRANSACTION_PAYLOAD              as the events inside it end; commit, if these are not given
    MariaDB GTID, STANDALONE flag    with the first event that is a statement, or a rows event that ends one
    MariaDB's ALTER in two phases    START ALTER prepared; COMMIT ALTER, ROLLBACK ALTER commit, rollback
    the next GTID or BEGIN, a format description of a restarted server, the end of the log: incomplete

The tracker holds one transaction and no events: memory does not grow with a transaction's size.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from gtidal.events.control import (
    Heartbeat,
    HeartbeatV2,
    Ignorable,
    Incident,
    LargeTransactionHeader,
    PreviousGtids,
    Rotate,
    Slave,
    Stop,
)
from gtidal.events.format import FormatDescription, StartV3
from gtidal.events.group import TransactionContext
from gtidal.events.header import IGNORABLE, RELAY_LOG
from gtidal.events.load import DeleteFile, ExecLoad, ExecuteLoadQuery, Load, NewLoad
from gtidal.events.mariadb import (
    DDL,
    STANDALONE,
    AnnotateRows,
    BinlogCheckpoint,
    GtidList,
    MariadbGtidEvent,
    PartialRowData,
    QueryCompressed,
    StartEncryption,
)
from gtidal.events.registry import Event, Unknown
from gtidal.events.rows import RowsEvent
from gtidal.events.statement import DdlXid, MariadbGtidFlags, MariadbXid, Query, QueryEvent, RowsQuery
from gtidal.events.table_map import TableMap
from gtidal.events.transaction import GtidEvent, TransactionPayload, XaPrepare, Xid

COMMIT, ROLLBACK, PREPARED, INCOMPLETE = "commit", "rollback", "prepared", "incomplete"
DML, DDL_KIND, XA, OTHER = "dml", "ddl", "xa", "other"

_START_ALTER, _ROLLBACK_ALTER = 2, 8
_GAP = (
    rb"(?:\s++"
    rb"|/\*(?!M?!).*?\*/"  # a comment
    rb"|/\*M?!\d{0,6}+|\*/"  # /*!50000 CREATE … */: what is inside is code
    rb"|--(?=\s|\Z)[^\n]*+|\#[^\n]*+"
    rb")*+"
)
"""What may stand before a word. Possessive: a gap is passed over once, however long it is."""
_WORD = rb"([A-Za-z]{0,64}+)"
_WORDS = re.compile(_GAP + _WORD + _GAP + _WORD + _GAP + _WORD, re.DOTALL)
_COMMON = {b"BEGIN": "begin", b"COMMIT": "commit"}
_BEGINS = ("begin", "xa_start", "xa_begin")
_DML_WORDS = {
    b"INSERT",
    b"UPDATE",
    b"DELETE",
    b"REPLACE",
    b"LOAD",
    b"CALL",
    b"DO",
    b"SELECT",
    b"WITH",
    b"SET",
}
_XA_TEXT = re.compile(
    rb"XA\s+(\w+)\s+(?:X'([0-9a-fA-F]*)'|'([^']*)')(?:\s*,\s*(?:X'([0-9a-fA-F]*)'|'([^']*)'))?(?:\s*,\s*(\d{1,10}))?",
    re.IGNORECASE,
)


def first_words(query: bytes) -> tuple[bytes, bytes, bytes]:
    """The first three words of a statement, in upper case, without comments; empty where there is none."""
    found = _WORDS.match(query)
    assert found  # each part may be empty
    return found[1].upper(), found[2].upper(), found[3].upper()


def statement_kind(query: bytes) -> str:
    """``begin``, ``commit``, ``rollback``, ``savepoint``, ``xa_start`` …, ``dml`` or ``ddl``."""
    common = _COMMON.get(query)
    if common is not None:
        return common
    first, second, third = first_words(query)
    if first in _DML_WORDS and not (first == b"SET" and second != b"TIMESTAMP" and b"=" not in query):
        return "dml"
    if first in (b"BEGIN", b"COMMIT"):
        return first.decode().lower()
    if first == b"START" and second == b"TRANSACTION":
        return "begin"
    if first == b"ROLLBACK":
        return "savepoint" if second == b"TO" or (second, third) == (b"WORK", b"TO") else "rollback"
    if first in (b"SAVEPOINT", b"RELEASE"):
        return "savepoint"
    if first == b"XA":
        return f"xa_{second.decode().lower()}"
    return "ddl"


def creates_and_fills(query: bytes) -> bool:
    """CREATE TABLE … SELECT as one transaction: the rows and a commit follow."""
    if not query[-64:].rstrip().upper().endswith(b"START TRANSACTION"):
        return False
    return first_words(query)[:2] == (b"CREATE", b"TABLE")


@dataclass(slots=True)
class Transaction:
    """What a log says of one transaction."""

    position: int
    timestamp: int
    server_id: int
    gtid_event: GtidEvent | MariadbGtidEvent | None = None
    end_position: int = 0
    outcome: str = INCOMPLETE
    kind: str = OTHER
    events: int = 0
    rows_inserted: int = 0
    rows_updated: int = 0
    rows_deleted: int = 0
    tables: dict[str, None] = field(default_factory=dict)
    xid: int | None = None
    xa: str | None = None
    thread_id: int | None = None
    schema: str | None = None
    query: bytes | None = None
    compressed: bool = False
    uncompressed_length: int | None = None

    @property
    def gtid(self) -> str | None:
        event = self.gtid_event
        if event is None or event.gtid is None:
            return None
        return str(event.gtid)

    @property
    def length(self) -> int:
        return self.end_position - self.position

    @property
    def announced_length(self) -> int | None:
        """The length its GTID event announces; to be compared with ``length``."""
        return self.gtid_event.transaction_length if isinstance(self.gtid_event, GtidEvent) else None


Ended = tuple[Transaction, ...]


class TransactionTracker:
    """Fed all events in order, inner ones behind what holds them; tells the transactions they make."""

    def __init__(self) -> None:
        self.current: Transaction | None = None
        self._inside = False
        """After BEGIN: a statement does not end the transaction."""
        self._outer = -1
        """The position of a payload, or of a piece of rows: that of the events inside it, too."""
        self._outer_end = 0
        self._sealed = False
        """After a payload of which no inner event was given."""

    def feed(self, event: Event) -> Ended:
        """The transactions this event ends: none, one, or an incomplete one and another."""
        ended: Ended = ()
        position = event.header.position
        if self._outer >= 0:
            if position != self._outer:
                ended = self._leave_outer()
            elif self._sealed:
                self._sealed = False
        kind = type(event)
        handler = _HANDLERS.get(kind) or _learn(kind)
        if self.current is None and event.header.flags & IGNORABLE and handler not in _BEGINNINGS:
            return ended
        return ended + handler(self, event)

    def finish(self) -> Ended:
        """At the end of the log: a transaction that has not ended is incomplete."""
        return self._leave_outer() + self._abandon()

    @property
    def between(self) -> bool:
        """Whether the log may be cut here: no transaction is open."""
        return self.current is None

    @property
    def takes_rows(self) -> bool:
        """Whether a transaction is open that neither table maps nor rows end: see ``pass_over``."""
        current = self.current
        if current is None or self._sealed:
            return False
        return self._inside or isinstance(current.gtid_event, GtidEvent)

    def pass_over(self, events: int, end_position: int, tables: Iterable[str], rows: bool) -> None:
        """So many table maps, rows events and texts of rows were not given, where ``takes_rows``. Their rows are
        the caller's to count."""
        current = self.current
        assert current is not None
        current.events += events
        current.end_position = end_position
        for table in tables:
            current.tables.setdefault(table)
        if rows and current.kind == OTHER:
            current.kind = DML

    def inside_of(self, position: int, end_position: int) -> None:
        """The next event is inside of the payload there, which may not have been given."""
        if position != self._outer:
            self._outer, self._outer_end = position, end_position

    # --- beginnings and ends

    def _part(self, event: Event) -> Transaction:
        """The transaction the event belongs to; it begins one where there is none."""
        header = event.header
        position = header.position
        current = self.current
        if current is None:
            current = self.current = Transaction(position, header.timestamp, header.server_id)
        current.events += 1
        current.end_position = self._outer_end if position == self._outer else position + header.size
        return current

    def _end(self, current: Transaction, outcome: str) -> Ended:
        current.outcome = outcome
        self.current = None
        self._inside = False
        return (current,)

    def _end_alone(self, current: Transaction, outcome: str = COMMIT) -> Ended:
        """A statement outside BEGIN … COMMIT is a transaction of its own."""
        return () if self._inside else self._end(current, outcome)

    def _abandon(self) -> Ended:
        return () if self.current is None else self._end(self.current, INCOMPLETE)

    def _enter(self, event: Event) -> bool:
        """Events inside this one may follow; False if it is itself inside another."""
        header = event.header
        if header.position == self._outer:
            return False
        self._outer, self._outer_end = header.position, header.end_position
        return True

    def _leave_outer(self) -> Ended:
        """A payload holds a whole transaction. If nobody looked inside, it is taken to have committed."""
        sealed, self._sealed, self._outer = self._sealed, False, -1
        return self._end(self.current, COMMIT) if sealed and self.current is not None else ()

    # --- what each event says

    def _pass(self, event: Event) -> Ended:
        """Of the log, not of a transaction. A relay log may have such events inside of one."""
        return ()

    def _stop(self, event: Stop) -> Ended:
        return self._abandon()

    def _format(self, event: FormatDescription) -> Ended:
        """A restarted server's; in a relay log, a transaction may span those of the replica itself."""
        restarted = event.created and not event.header.flags & RELAY_LOG
        return self._abandon() if restarted else ()

    def _gtid(self, event: GtidEvent) -> Ended:
        ended = self._abandon()
        self._part(event).gtid_event = event
        return ended

    def _mariadb_gtid(self, event: MariadbGtidEvent) -> Ended:
        ended = self._abandon()
        current = self._part(event)
        current.gtid_event = event
        self._inside = not event.flags & STANDALONE
        current.thread_id = event.thread_id
        if event.xa is not None:
            current.xa = str(event.xa)
            current.kind = XA
        elif event.flags & DDL:
            current.kind = DDL_KIND
        return ended

    def _other(self, event: Event) -> Ended:
        self._part(event)
        return ()

    def _guest(self, event: Event) -> Ended:
        """Part of a transaction if it stands in one; it begins none."""
        if self.current is not None:
            self._part(event)
        return ()

    def _rows(self, event: RowsEvent) -> Ended:
        current = self._part(event)
        if current.kind == OTHER:
            current.kind = DML
        count = len(event.rows)
        if event.operation == "insert":
            current.rows_inserted += count
        elif event.operation == "update":
            current.rows_updated += count
        else:
            current.rows_deleted += count
        if self._inside or not event.ends_statement or isinstance(current.gtid_event, GtidEvent):
            return ()  # behind a GTID of MySQL's there is always a BEGIN: if it is lost, the end may still come
        return self._end(current, COMMIT)

    def _table_map(self, event: TableMap) -> Ended:
        self._part(event).tables.setdefault(f"{event.schema}.{event.table}")
        return ()

    def _text_of_rows(self, event: RowsQuery | AnnotateRows) -> Ended:
        current = self._part(event)
        if current.query is None:
            current.query = event.query
        return ()

    def _xid(self, event: Xid) -> Ended:
        current = self._part(event)
        current.xid = event.xid
        return self._end(current, COMMIT)

    def _xa_prepare(self, event: XaPrepare) -> Ended:
        current = self._part(event)
        current.kind = XA
        current.xa = str(event.xa)
        return self._end(current, COMMIT if event.one_phase else PREPARED)

    def _transaction_payload(self, event: TransactionPayload) -> Ended:
        current = self._part(event)
        current.compressed = True
        current.uncompressed_length = event.uncompressed_size
        self._sealed = self._enter(event)
        return ()

    def _piece_of_rows(self, event: PartialRowData) -> Ended:
        self._part(event)
        self._enter(event)
        return ()

    def _incident(self, event: Incident) -> Ended:
        return self._end_alone(self._part(event))

    def _load(self, event: Load | NewLoad | ExecLoad) -> Ended:
        current = self._part(event)
        current.kind = DML
        return self._end_alone(current)

    def _delete_file(self, event: DeleteFile) -> Ended:
        """The load failed."""
        return self._end_alone(self._part(event), ROLLBACK)

    def _execute_load(self, event: ExecuteLoadQuery) -> Ended:
        return self._dml(event, self._part(event), event.query)

    def _query(self, event: Query | QueryCompressed) -> Ended:
        query = event.query
        kind = statement_kind(query)
        if kind in _BEGINS:
            return self._begin(event, query, kind)
        current = self._part(event)
        if kind == "commit":
            return self._end(current, COMMIT)
        if kind == "rollback":
            return self._end(current, ROLLBACK)
        if kind == "savepoint":
            return ()
        if kind == "dml":
            return self._dml(event, current, query)
        if kind == "ddl":
            return self._ddl(event, current, query)
        return self._xa(event, current, query, kind)

    def _begin(self, event: QueryEvent, query: bytes, kind: str) -> Ended:
        """Transactions do not nest: one that is open has lost its end."""
        ended: Ended = ()
        if self._inside and self.current and not isinstance(self.current.gtid_event, MariadbGtidEvent):
            ended = self._abandon()
        current = self._part(event)
        self._inside = True
        current.thread_id = event.thread_id
        if kind == "begin":
            current.schema = event.schema
        else:
            current.kind, current.xa = XA, xa_in_text(query)
        return ended

    def _dml(self, event: QueryEvent, current: Transaction, query: bytes) -> Ended:
        current.thread_id = event.thread_id
        current.schema = event.schema
        if current.query is None:
            current.query = event.in_utf8(query)
        if current.kind == OTHER:
            current.kind = DML
        return self._end_alone(current)

    def _ddl(self, event: QueryEvent, current: Transaction, query: bytes) -> Ended:
        xid = event.variable(DdlXid) or event.variable(MariadbXid)
        current.xid = xid.xid if xid else current.xid
        current.thread_id, current.schema = event.thread_id, event.schema
        current.query = event.in_utf8(query)
        if current.kind == OTHER:
            current.kind = DDL_KIND
        if creates_and_fills(query):
            self._inside = True
        return self._end_alone(current, _ddl_outcome(event, current))

    def _xa(self, event: QueryEvent, current: Transaction, query: bytes, kind: str) -> Ended:
        current.kind = XA
        current.thread_id = event.thread_id
        current.xa = xa_in_text(query)
        if kind == "xa_end":
            return ()
        current.query = event.in_utf8(query)
        if kind == "xa_prepare":
            return self._end(current, PREPARED)
        return self._end(current, ROLLBACK if kind == "xa_rollback" else COMMIT)


def _ddl_outcome(event: QueryEvent, current: Transaction) -> str:
    """MariaDB may log an ALTER twice: when it starts, and when its fate is known."""
    gtid, variable = current.gtid_event, event.variable(MariadbGtidFlags)
    flags = variable.flags if variable else 0
    if isinstance(gtid, MariadbGtidEvent):
        flags |= gtid.extra_flags or 0
    if flags & _ROLLBACK_ALTER:
        return ROLLBACK
    return PREPARED if flags & _START_ALTER else COMMIT


_Handler = Callable[[TransactionTracker, Any], Ended]
_T = TransactionTracker
_HANDLERS: dict[type[Event], _Handler] = {
    FormatDescription: _T._format,
    Stop: _T._stop,
    **dict.fromkeys(
        (StartV3, PreviousGtids, Rotate, Heartbeat, HeartbeatV2, LargeTransactionHeader, GtidList,
         BinlogCheckpoint, StartEncryption),
        _T._pass,
    ),
    **dict.fromkeys((Ignorable, Slave, TransactionContext, Unknown), _T._guest),
    GtidEvent: _T._gtid,
    MariadbGtidEvent: _T._mariadb_gtid,
    RowsEvent: _T._rows,
    PartialRowData: _T._piece_of_rows,
    TableMap: _T._table_map,
    RowsQuery: _T._text_of_rows,
    AnnotateRows: _T._text_of_rows,
    Xid: _T._xid,
    XaPrepare: _T._xa_prepare,
    TransactionPayload: _T._transaction_payload,
    Incident: _T._incident,
    Load: _T._load,
    NewLoad: _T._load,
    ExecLoad: _T._load,
    DeleteFile: _T._delete_file,
    ExecuteLoadQuery: _T._execute_load,
    Query: _T._query,
    QueryCompressed: _T._query,
    Event: _T._other,
}  # fmt: skip
"""What is done with an event of a class, or of its nearest ancestor: added for each class once it is seen."""
_BEGINNINGS = (_T._gtid, _T._mariadb_gtid, _T._query)
"""Ignorable is what nobody knows. A server says so of anonymous GTIDs, too, and they begin a transaction all the same."""


def _learn(kind: type[Event]) -> _Handler:
    handler = next(_HANDLERS[each] for each in kind.__mro__ if each in _HANDLERS)
    _HANDLERS[kind] = handler
    return handler


def xa_in_text(query: bytes) -> str | None:
    """The identifier in an XA statement, spelt as XA_PREPARE events are: X'gtrid',X'bqual',format."""
    found = _XA_TEXT.match(query.strip())
    if not found:
        return None
    gtrid = found[2].lower() if found[2] is not None else found[3].hex().encode()
    bqual = (found[4] or b"").lower() if found[5] is None else found[5].hex().encode()
    return f"X'{gtrid.decode()}',X'{bqual.decode()}',{int(found[6] or 1)}"
