"""Events to transactions: where each begins and ends, and how it ended.

A transaction begins with a GTID event (named or anonymous), or in older logs with BEGIN or with the first
event outside of one. It ends

    XID                              commit
    QUERY COMMIT / ROLLBACK          commit / rollback
    XA_PREPARE                       prepared (commit, if in one phase)
    one QUERY, no BEGIN before it    commit: DDL, XA COMMIT, XA ROLLBACK, a statement that commits by itself
    TRANSACTION_PAYLOAD              as the events inside it end
    MariaDB GTID, STANDALONE flag    with the first event that is a statement, or a rows event that ends one
    the next GTID, a format description of a restarted server, the end of the log: incomplete

The tracker holds one transaction and no events: memory does not grow with a transaction's size.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from gtidal.events.control import HeartbeatV2, Incident, PreviousGtids, Rotate, Stop
from gtidal.events.format import FormatDescription, StartV3
from gtidal.events.header import RELAY_LOG
from gtidal.events.load import ExecLoad, ExecuteLoadQuery, Load, NewLoad
from gtidal.events.mariadb import (
    DDL,
    STANDALONE,
    AnnotateRows,
    BinlogCheckpoint,
    GtidList,
    MariadbGtidEvent,
    QueryCompressed,
    StartEncryption,
)
from gtidal.events.registry import Event, Unknown
from gtidal.events.rows import RowsEvent
from gtidal.events.statement import DdlXid, MariadbXid, Query, QueryEvent, RowsQuery
from gtidal.events.table_map import TableMap
from gtidal.events.transaction import GtidEvent, TransactionPayload, XaPrepare, Xid

COMMIT, ROLLBACK, PREPARED, INCOMPLETE = "commit", "rollback", "prepared", "incomplete"
DML, DDL_KIND, XA, OTHER = "dml", "ddl", "xa", "other"

_BETWEEN = (FormatDescription, StartV3, PreviousGtids, Rotate, Stop, HeartbeatV2, GtidList,
            BinlogCheckpoint, StartEncryption)  # fmt: skip
"""Events that belong to the log, not to a transaction."""

_WORD = re.compile(
    rb"\s*(?:/\*.*?\*/\s*|--[ \t][^\n]*\n\s*|#[^\n]*\n\s*)*([A-Za-z]+)(?:\s+([A-Za-z]+))?", re.DOTALL
)
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
    rb"XA\s+(\w+)\s+(?:X'([0-9a-fA-F]*)'|'([^']*)')(?:\s*,\s*(?:X'([0-9a-fA-F]*)'|'([^']*)'))?(?:\s*,\s*(\d+))?",
    re.IGNORECASE,
)


def first_words(query: bytes) -> tuple[bytes, bytes]:
    """The first two words of a statement, in upper case, after comments."""
    found = _WORD.match(query[:4096])
    return (found[1].upper(), (found[2] or b"").upper()) if found else (b"", b"")


def statement_kind(query: bytes) -> str:
    """``begin``, ``commit``, ``rollback``, ``savepoint``, ``xa_start`` …, ``dml`` or ``ddl``."""
    first, second = first_words(query)
    if first in (b"BEGIN", b"COMMIT"):
        return first.decode().lower()
    if first == b"START" and second == b"TRANSACTION":
        return "begin"
    if first == b"ROLLBACK":
        return "savepoint" if second in (b"TO", b"WORK") and b" TO " in query.upper() else "rollback"
    if first in (b"SAVEPOINT", b"RELEASE"):
        return "savepoint"
    if first == b"XA":
        return f"xa_{second.decode().lower()}"
    if first in _DML_WORDS and not (first == b"SET" and second != b"TIMESTAMP" and b"=" not in query):
        return "dml"
    return "ddl"


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


class TransactionTracker:
    """Fed all events in order, inner ones behind their payload; tells the transactions they make."""

    def __init__(self) -> None:
        self.current: Transaction | None = None
        self._inside = False
        """After BEGIN: a statement does not end the transaction."""
        self._payload_end = 0
        self._ends_with_payload = False

    def feed(self, event: Event) -> Iterator[Transaction]:
        """The transactions this event ends: none, one, or an incomplete one and another."""
        if isinstance(event, _BETWEEN) and not self._is_inner(event):
            yield from self._outside(event)
            return
        if isinstance(event, GtidEvent | MariadbGtidEvent):
            yield from self._abandon()
            self.current = self._begin(event)
            self.current.gtid_event = event
            self._inside = isinstance(event, MariadbGtidEvent) and not event.flags & STANDALONE
            if isinstance(event, MariadbGtidEvent):
                self._mariadb_start(event, self.current)
            return
        current = self.current
        if current is None:
            if isinstance(event, Unknown):
                return
            current = self.current = self._begin(event)
        else:
            self._count(event, current)
        if self._apply(event, current):
            self.current = None
            self._inside = False
            yield current

    def finish(self) -> Iterator[Transaction]:
        """At the end of the log: a transaction that has not ended is incomplete."""
        yield from self._abandon()

    @property
    def between(self) -> bool:
        """Whether the log may be cut here: no transaction is open."""
        return self.current is None

    def _is_inner(self, event: Event) -> bool:
        return self.current is not None and event.header.position < self._payload_end

    def _outside(self, event: Event) -> Iterator[Transaction]:
        """In a relay log a transaction may span ROTATEs and format descriptions of the replica itself."""
        restarted = (
            isinstance(event, FormatDescription) and event.created and not event.header.flags & RELAY_LOG
        )
        if restarted or isinstance(event, Stop):
            yield from self._abandon()

    def _abandon(self) -> Iterator[Transaction]:
        if self.current is not None:
            unfinished, self.current = self.current, None
            self._inside = False
            yield unfinished

    def _begin(self, event: Event) -> Transaction:
        header = event.header
        transaction = Transaction(header.position, header.timestamp, header.server_id)
        self._count(event, transaction)
        return transaction

    def _count(self, event: Event, current: Transaction) -> None:
        current.events += 1
        end = event.header.end_position
        if event.header.position >= self._payload_end:
            current.end_position = end

    @staticmethod
    def _mariadb_start(event: MariadbGtidEvent, current: Transaction) -> None:
        if event.thread_id is not None:
            current.thread_id = event.thread_id
        if event.xa is not None:
            current.xa = str(event.xa)
            current.kind = XA
        elif event.flags & DDL:
            current.kind = DDL_KIND

    def _apply(self, event: Event, current: Transaction) -> bool:
        """What the event says of the transaction; True when it ends it."""
        if isinstance(event, RowsEvent):
            self._rows(event, current)
            return False
        if isinstance(event, TableMap):
            current.tables.setdefault(f"{event.schema}.{event.table}")
            return False
        if isinstance(event, Xid):
            current.xid = event.xid
            current.outcome = COMMIT
            return True
        if isinstance(event, Query | QueryCompressed):
            return self._query(event, current, event.query)
        if isinstance(event, XaPrepare):
            current.kind = XA
            current.xa = str(event.xa)
            current.outcome = COMMIT if event.one_phase else PREPARED
            return True
        if isinstance(event, TransactionPayload):
            current.compressed = True
            current.uncompressed_length = event.uncompressed_size
            self._payload_end = event.header.end_position
            return False
        if isinstance(event, ExecuteLoadQuery):
            self._statement(event, current, event.query)
            return self._alone(current)
        if isinstance(event, Incident):
            current.outcome = COMMIT
            return True
        if isinstance(event, Load | NewLoad | ExecLoad):
            current.kind = DML
            return self._alone(current)
        if isinstance(event, RowsQuery | AnnotateRows) and current.query is None:
            current.query = event.query
        return False

    def _rows(self, event: RowsEvent, current: Transaction) -> None:
        if current.kind == OTHER:
            current.kind = DML
        count = len(event.rows)
        if event.operation == "insert":
            current.rows_inserted += count
        elif event.operation == "update":
            current.rows_updated += count
        else:
            current.rows_deleted += count

    def _alone(self, current: Transaction) -> bool:
        """A statement outside BEGIN … COMMIT commits by itself."""
        if self._inside:
            return False
        current.outcome = COMMIT
        return True

    def _statement(self, event: QueryEvent, current: Transaction, query: bytes) -> None:
        current.thread_id = event.thread_id
        current.schema = event.schema
        if current.query is None:
            current.query = query
        if current.kind == OTHER:
            current.kind = DML

    def _query(self, event: QueryEvent, current: Transaction, query: bytes) -> bool:
        kind = statement_kind(query)
        if kind == "begin":
            self._inside = True
            current.thread_id = event.thread_id
            current.schema = event.schema
            return False
        if kind in ("commit", "rollback"):
            current.outcome = COMMIT if kind == "commit" else ROLLBACK
            return True
        if kind == "savepoint":
            return False
        if kind.startswith("xa_"):
            return self._xa(event, current, query, kind)
        if kind == "dml":
            self._statement(event, current, query)
            return self._alone(current)
        xid = event.variable(DdlXid) or event.variable(MariadbXid)
        current.xid = xid.xid if xid else current.xid
        current.thread_id, current.schema, current.query = event.thread_id, event.schema, query
        if self._inside and b"START TRANSACTION" in query[-64:].upper():
            return False  # CREATE TABLE … SELECT as one atomic statement: rows and XID follow
        if not self._inside and query.rstrip().upper().endswith(b"START TRANSACTION"):
            self._inside = True
            current.kind = DDL_KIND
            return False
        current.kind = DDL_KIND if current.kind == OTHER else current.kind
        return self._alone(current)

    def _xa(self, event: QueryEvent, current: Transaction, query: bytes, kind: str) -> bool:
        current.kind = XA
        current.thread_id = event.thread_id
        current.xa = xa_in_text(query)
        if kind in ("xa_start", "xa_begin"):
            self._inside = True
            return False
        if kind == "xa_end":
            return False
        current.query = query
        if kind == "xa_prepare":
            current.outcome = PREPARED
        else:
            current.outcome = ROLLBACK if kind == "xa_rollback" else COMMIT
        return True


def xa_in_text(query: bytes) -> str | None:
    """The identifier in an XA statement, spelt as XA_PREPARE events are: X'gtrid',X'bqual',format."""
    found = _XA_TEXT.match(query.strip())
    if not found:
        return None
    gtrid = found[2].lower() if found[2] is not None else found[3].hex().encode()
    bqual = (found[4] or b"").lower() if found[5] is None else found[5].hex().encode()
    return f"X'{gtrid.decode()}',X'{bqual.decode()}',{int(found[6] or 1)}"
