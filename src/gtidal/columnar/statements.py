"""Statements that change data and are logged as text: so that no change is missing."""

from __future__ import annotations

from typing import NamedTuple

from gtidal.events.load import ExecLoad, ExecuteLoadQuery, Load, NewLoad
from gtidal.events.mariadb import QueryCompressed
from gtidal.events.registry import Event
from gtidal.events.statement import Query
from gtidal.log.transactions import statement_kind

_OPERATIONS = {"dml": "statement", "ddl": "ddl", "xa_commit": "xa_commit", "xa_rollback": "xa_rollback"}


class Statement(NamedTuple):
    operation: str
    schema: str | None
    query: bytes
    """In UTF-8."""


def statement_of(event: Event | Statement) -> Statement | None:
    """What an event says was executed; None if it changes no data by itself."""
    if isinstance(event, Statement):
        return event
    if isinstance(event, Query | QueryCompressed):
        operation = _OPERATIONS.get(statement_kind(event.query))
        return None if operation is None else Statement(operation, event.schema, event.in_utf8(event.query))
    if isinstance(event, ExecuteLoadQuery):
        return Statement("statement", event.schema, event.in_utf8(event.query))
    if isinstance(event, Load | NewLoad):
        return Statement("statement", event.schema, event.summary().encode("utf-8", "surrogateescape"))
    if isinstance(event, ExecLoad):
        return Statement("statement", None, event.summary().encode("utf-8", "surrogateescape"))
    return None
