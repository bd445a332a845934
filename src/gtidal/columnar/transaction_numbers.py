"""A transaction of the reference decoder's tracker in numbers, as the kernel writes its own."""

from __future__ import annotations

from typing import Any

from gtidal.columnar.codes import KINDS, NONE, OUTCOMES, Txn
from gtidal.columnar.plan import printable
from gtidal.events.mariadb import MariadbGtidEvent
from gtidal.events.transaction import GtidEvent
from gtidal.log.transactions import Transaction


def tag_of(transaction: Transaction) -> str | None:
    event = transaction.gtid_event
    return printable(event.tag) if isinstance(event, GtidEvent) and event.gno and event.tag else None


def _or_none(value: int | None) -> int:
    return NONE if value is None else value


def transaction_numbers(transaction: Transaction) -> dict[int, Any]:
    """What ``codes.Txn`` names, apart from texts and tables."""
    event = transaction.gtid_event
    values: dict[int, Any] = {
        Txn.POSITION: transaction.position,
        Txn.END_POSITION: transaction.end_position,
        Txn.TIMESTAMP: transaction.timestamp,
        Txn.SERVER_ID: transaction.server_id,
        Txn.OUTCOME: OUTCOMES.index(transaction.outcome),
        Txn.KIND: KINDS.index(transaction.kind),
        Txn.THREAD_ID: _or_none(transaction.thread_id),
        Txn.XID: transaction.xid or 0,
        Txn.PRESENT: 2 if transaction.xid is not None else 0,
        Txn.EVENTS: transaction.events,
        Txn.UNCOMPRESSED_LENGTH: _or_none(transaction.uncompressed_length),
        Txn.COMPRESSED: int(transaction.compressed),
        Txn.ROWS_INSERTED: transaction.rows_inserted,
        Txn.ROWS_UPDATED: transaction.rows_updated,
        Txn.ROWS_DELETED: transaction.rows_deleted,
    }
    for place in (Txn.GNO, Txn.LAST_COMMITTED, Txn.SEQUENCE_NUMBER, Txn.ROW_ONLY, Txn.IMMEDIATE_TIMESTAMP,
                  Txn.ORIGINAL_TIMESTAMP, Txn.IMMEDIATE_VERSION, Txn.ORIGINAL_VERSION,
                  Txn.ANNOUNCED_LENGTH):  # fmt: skip
        values[place] = NONE
    if isinstance(event, GtidEvent):
        values[Txn.GNO] = event.gno or NONE
        values[Txn.UUID_SIZE] = 36 if event.gno else 0
        values[Txn.LAST_COMMITTED] = _or_none(event.last_committed)
        values[Txn.SEQUENCE_NUMBER] = _or_none(event.sequence_number)
        values[Txn.ROW_ONLY] = int(event.row_only)
        values[Txn.IMMEDIATE_TIMESTAMP] = _or_none(event.immediate_commit_timestamp)
        values[Txn.ORIGINAL_TIMESTAMP] = _or_none(event.original_timestamp)
        values[Txn.IMMEDIATE_VERSION] = _or_none(event.immediate_server_version)
        values[Txn.ORIGINAL_VERSION] = _or_none(event.original_version)
        values[Txn.ANNOUNCED_LENGTH] = _or_none(event.transaction_length)
        if event.commit_group_ticket is not None:
            values[Txn.TICKET] = event.commit_group_ticket
            values[Txn.PRESENT] |= 1
    elif isinstance(event, MariadbGtidEvent):
        values[Txn.GNO] = event.gtid.sequence if event.gtid else NONE
    return values
