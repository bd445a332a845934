"""``--require-row-format``: stops at the first event that changes data by its statement.

The rules are those a replica with REQUIRE_ROW_FORMAT applies to its stream."""

from __future__ import annotations

from enum import Enum, auto

from gtidal.errors import DecodeError
from gtidal.events.control import Incident
from gtidal.events.group import ViewChange
from gtidal.events.header import IGNORABLE
from gtidal.events.load import BeginLoadQuery, BlockEvent, DeleteFile, ExecuteLoadQuery
from gtidal.events.registry import Event
from gtidal.events.rows import RowsEvent
from gtidal.events.statement import Intvar, Query, Rand, RowsQuery, UserVar
from gtidal.events.table_map import TableMap
from gtidal.events.transaction import GtidEvent, TransactionPayload, XaPrepare, Xid
from gtidal.text.statements import ends_group, starts_group

_IGNORED = {3, 4, 7, 11, 15, 27, 35, 36, 41}
"""STOP, ROTATE, SLAVE, DELETE_FILE, FORMAT_DESCRIPTION, HEARTBEAT, PREVIOUS_GTIDS, TRANSACTION_CONTEXT."""
_ALLOWED_QUERIES = (b"XA END", b"XA PREPARE", b"SAVEPOINT", b"CREATE TABLE")


class _Place(Enum):
    NONE = auto()
    GTID = auto()
    DDL = auto()
    DML = auto()
    ERROR = auto()


class RowFormatGuard:
    """Feed it every event; it raises at the one that is not allowed."""

    def __init__(self) -> None:
        self._place = _Place.NONE

    def check(self, event: Event) -> None:
        if self._refuses(event):
            raise DecodeError(
                "changes data by its statement, which --require-row-format forbids",
                position=event.header.position,
                event=event.name,
            )

    def _refuses(self, event: Event) -> bool:
        place = self._place
        match event:
            case GtidEvent():
                self._place = _Place.GTID
            case Query(query=query) if not query:
                self._place = _Place.ERROR
                return True
            case Query(query=query) if starts_group(query):
                self._place = _Place.DML
            case Query(query=query) if ends_group(query) or query[:11].upper() == b"XA ROLLBACK":
                self._place = _Place.NONE
            case Xid() | XaPrepare() | Incident():
                self._place = _Place.NONE
            case Intvar() | Rand() | UserVar():
                if place in (_Place.NONE, _Place.GTID):
                    self._place = _Place.DDL
                elif place is _Place.ERROR:
                    self._place = _Place.NONE
                return not isinstance(event, UserVar) or self._place is not _Place.DDL
            case TransactionPayload():
                self._place = _Place.NONE
            case (
                Query()
                | ExecuteLoadQuery()
                | TableMap()
                | BlockEvent()
                | RowsQuery()
                | RowsEvent()
                | ViewChange()
            ):
                self._place = _Place.DML if place is _Place.DML else _Place.NONE
                return self._refuses_statement(event)
            case _ if event.type_code in _IGNORED or event.header.flags & IGNORABLE:
                return isinstance(event, DeleteFile)
            case _:
                self._place = _Place.ERROR
                return True
        return False

    def _refuses_statement(self, event: Event) -> bool:
        if isinstance(event, ExecuteLoadQuery | BlockEvent | BeginLoadQuery):
            return True
        if not isinstance(event, Query):
            return False
        upper = event.query[:17].upper()
        if len(upper) > 16 and upper.startswith((b"CREATE TEMPORARY", b"DROP TEMPORARY")):
            return True
        return self._place is _Place.DML and not upper.startswith(_ALLOWED_QUERIES)
