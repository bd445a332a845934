"""The view ``transactions``: one row per transaction, whatever its outcome."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from gtidal.columnar.arrays import (
    Array,
    Texts,
    bigints,
    booleans,
    constant,
    lists,
    numbers,
    text_or_escaped,
    timestamps,
    unsigned,
)
from gtidal.columnar.codes import KINDS, NONE, OUTCOMES, Txn
from gtidal.columnar.flat import distinct
from gtidal.columnar.following import Followed
from gtidal.columnar.plan import PlanBook
from gtidal.columnar.schemas import BIGINT, STRING, TRANSACTIONS
from gtidal.events.transaction import version_text

_OUTCOMES, _KINDS = Texts.of(OUTCOMES), Texts.of(KINDS)
_SECOND = 1_000_000


class TransactionColumns:
    """The columns of transactions that ended in one window."""

    def __init__(self, followed: Followed, book: PlanBook, file: str, keep: Array | None = None) -> None:
        self.followed = followed
        self.book = book
        self.file = file
        self.rows = followed.txn
        self._keep = None if keep is None or keep.all() else np.flatnonzero(keep)

    def batch(self, columns: Sequence[str]) -> pa.RecordBatch:
        arrays = [_MAKERS[name](self) for name in columns]
        schema = pa.schema([TRANSACTIONS.field(name) for name in columns])
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def __len__(self) -> int:
        return len(self.rows) if self._keep is None else len(self._keep)

    def of(self, place: Txn) -> Array:
        values = self.rows[:, place]
        return values.copy() if self._keep is None else values[self._keep]

    def plain(self, place: Txn) -> pa.Array:
        return numbers(self.of(place), BIGINT)

    def word(self, words: Sequence[str], texts: Texts, place: Txn) -> pa.Array:
        """One of a few words, mostly the same."""
        codes = self.of(place)
        if (codes == codes[0]).all():
            return constant(words[int(codes[0])], len(codes))
        return texts.pick(codes)

    def text(self, start: Txn, size: Txn, kind: pa.DataType = STRING) -> pa.Array:
        sizes = self.of(size)
        if (sizes < 0).all():
            return pa.nulls(len(self), kind)
        texts = Texts(self.followed.lanes.heap, self.of(start), sizes)
        return texts.pick(np.arange(len(self), dtype=np.int32), kind)

    def file_name(self) -> pa.Array:
        return constant(self.file, len(self))

    def source_uuid(self) -> pa.Array:
        sizes = self.of(Txn.UUID_SIZE)
        sizes[sizes == 0] = NONE
        texts = Texts(self.followed.lanes.heap, self.of(Txn.GTID), sizes)
        return texts.pick(np.arange(len(self), dtype=np.int32))

    def version(self, place: Txn) -> pa.Array:
        values = self.of(place)
        known = distinct(values)
        texts = [None if number == NONE else version_text(number) for number in known.tolist()]
        if len(texts) == 1 and texts[0] is not None:
            return constant(texts[0], len(values))
        return Texts.of(texts).pick(np.searchsorted(known, values))

    def row_only(self) -> pa.Array:
        values = self.of(Txn.ROW_ONLY)
        return booleans(values == 1, values != NONE)

    def timestamp(self) -> pa.Array:
        return timestamps(self.of(Txn.TIMESTAMP) * _SECOND)

    def length(self) -> pa.Array:
        return numbers(self.of(Txn.END_POSITION) - self.of(Txn.POSITION), BIGINT)

    def present(self, place: Txn, bit: int) -> pa.Array:
        return unsigned(self.of(place), self.of(Txn.PRESENT) & bit > 0)

    def tables(self) -> pa.Array:
        lanes = self.followed.lanes
        return lists(self.book.names, self.of(Txn.TABLES), self.of(Txn.TABLES_COUNT), numbers=lanes.tables)


_T = TransactionColumns
_MAKERS: dict[str, Callable[[TransactionColumns], pa.Array]] = {
    "file": _T.file_name,
    "position": lambda t: t.plain(Txn.POSITION),
    "end_position": lambda t: t.plain(Txn.END_POSITION),
    "outcome": lambda t: t.word(OUTCOMES, _OUTCOMES, Txn.OUTCOME),
    "kind": lambda t: t.word(KINDS, _KINDS, Txn.KIND),
    "gtid": lambda t: t.text(Txn.GTID, Txn.GTID_SIZE),
    "source_uuid": _T.source_uuid,
    "tag": lambda t: t.text(Txn.TAG, Txn.TAG_SIZE),
    "gno": lambda t: bigints(t.of(Txn.GNO)),
    "last_committed": lambda t: bigints(t.of(Txn.LAST_COMMITTED)),
    "sequence_number": lambda t: bigints(t.of(Txn.SEQUENCE_NUMBER)),
    "row_only": _T.row_only,
    "timestamp": _T.timestamp,
    "immediate_commit_timestamp": lambda t: timestamps(t.of(Txn.IMMEDIATE_TIMESTAMP)),
    "original_commit_timestamp": lambda t: timestamps(t.of(Txn.ORIGINAL_TIMESTAMP)),
    "immediate_server_version": lambda t: t.version(Txn.IMMEDIATE_VERSION),
    "original_server_version": lambda t: t.version(Txn.ORIGINAL_VERSION),
    "server_id": lambda t: t.plain(Txn.SERVER_ID),
    "thread_id": lambda t: bigints(t.of(Txn.THREAD_ID)),
    "length": _T.length,
    "commit_group_ticket": lambda t: t.present(Txn.TICKET, 1),
    "xid": lambda t: t.present(Txn.XID, 2),
    "xa": lambda t: t.text(Txn.XA, Txn.XA_SIZE),
    "schema": lambda t: text_or_escaped(t.text(Txn.SCHEMA, Txn.SCHEMA_SIZE, pa.binary())),
    "query": lambda t: text_or_escaped(t.text(Txn.QUERY, Txn.QUERY_SIZE, pa.binary())),
    "events": lambda t: t.plain(Txn.EVENTS),
    "rows_inserted": lambda t: t.plain(Txn.ROWS_INSERTED),
    "rows_updated": lambda t: t.plain(Txn.ROWS_UPDATED),
    "rows_deleted": lambda t: t.plain(Txn.ROWS_DELETED),
    "tables": _T.tables,
    "compressed": lambda t: booleans(t.of(Txn.COMPRESSED)),
    "uncompressed_length": lambda t: bigints(t.of(Txn.UNCOMPRESSED_LENGTH)),
}
NEED_COUNTS = frozenset(("rows_inserted", "rows_updated", "rows_deleted"))
"""Columns for which rows have to be counted."""
