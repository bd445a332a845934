"""The view ``events``: one row per event, those inside compressed payloads too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa

from gtidal.columnar.arrays import Array, Texts, constant, lists_by_code, numbers, picked_numbers
from gtidal.columnar.codes import Txn
from gtidal.columnar.following import Followed
from gtidal.columnar.schemas import BIGINT, DETAIL, EVENTS, TIMESTAMP
from gtidal.columnar.windows import CHECKSUM_NAMES, NO_CHECKSUM
from gtidal.events.header import FLAGS, flag_names
from gtidal.log.decoder import event_name

_TYPES = Texts.of([event_name(code) for code in range(256)])
_CHECKSUMS = Texts.of(CHECKSUM_NAMES)
_SECOND = 1_000_000
SCHEMA_WITH_DETAIL = EVENTS.append(DETAIL)


class EventColumns:
    """The columns of some events of one window, by their places."""

    def __init__(self, followed: Followed, file: str, places: Array, details: pa.Array | None = None) -> None:
        self.followed = followed
        self.index = followed.window.index
        self.file = file
        self.details = details
        self._count = len(places)
        self._places: Array | slice = places
        if self._count and int(places[-1]) - int(places[0]) == self._count - 1:
            self._places = slice(int(places[0]), int(places[-1]) + 1)  # nothing is left out, as mostly
        self._inside = int(self.see(self.index.payloads).max(initial=-1)) >= 0

    def batch(self, columns: Sequence[str]) -> pa.RecordBatch:
        arrays = [_MAKERS[name](self) for name in columns]
        return pa.RecordBatch.from_arrays(arrays, schema=_schema_of(tuple(columns)))

    def __len__(self) -> int:
        return self._count

    def see(self, values: Array) -> Array:
        """Of these events. It may be the index's own memory, which the next window uses again."""
        return values[self._places]

    def plain(self, values: Array, kind: pa.DataType = BIGINT) -> pa.Array:
        return numbers(self.see(values).astype(kind.to_pandas_dtype()), kind)

    def checksum(self) -> pa.Array:
        checksum = self.followed.window.checksum
        if not self._inside:
            return constant(CHECKSUM_NAMES[checksum], len(self))
        return _CHECKSUMS.pick(np.where(self.see(self.index.payloads) >= 0, NO_CHECKSUM, checksum))

    def flags(self) -> pa.Array:
        flags = self.see(self.index.flags)
        used = int(np.bitwise_or.reduce(flags, initial=0))
        if used & used - 1 == 0:  # none, or one and the same
            return lists_by_code([(), flag_names(used, FLAGS)], flags != 0)
        known = np.flatnonzero(np.bincount(flags))
        codes = np.zeros(int(known[-1]) + 1, np.int32)
        codes[known] = np.arange(len(known))
        return lists_by_code([flag_names(bits, FLAGS) for bits in known.tolist()], codes[flags])

    def transactions(self) -> Array:
        return self.see(self.followed.lanes.event_txn)

    def gtid(self) -> pa.Array:
        followed = self.followed
        texts = Texts(followed.lanes.heap, followed.rows[:, Txn.GTID], followed.rows[:, Txn.GTID_SIZE])
        return texts.pick(self.transactions())

    def transaction_position(self) -> pa.Array:
        return picked_numbers(self.followed.rows[:, Txn.POSITION], self.transactions(), BIGINT)

    def payload_position(self) -> pa.Array:
        if not self._inside:
            return pa.nulls(len(self), BIGINT)
        positions = self.see(self.index.payloads)
        return numbers(positions.copy(), BIGINT, positions >= 0)

    def detail(self) -> pa.Array:
        assert self.details is not None
        return self.details


@lru_cache(maxsize=8)
def _schema_of(columns: tuple[str, ...]) -> pa.Schema:
    """Kept, for every batch of a log has it."""
    return pa.schema([SCHEMA_WITH_DETAIL.field(name) for name in columns])


_E = EventColumns
_MAKERS: dict[str, Callable[[EventColumns], pa.Array]] = {
    "file": lambda e: constant(e.file, len(e)),
    "position": lambda e: e.plain(e.index.positions),
    "end_position": lambda e: e.plain(e.index.ends),
    "timestamp": lambda e: numbers(e.see(e.index.timestamps) * _SECOND, TIMESTAMP),
    "type": lambda e: _TYPES.pick(e.see(e.index.types)),
    "type_code": lambda e: e.plain(e.index.types, pa.int16()),
    "server_id": lambda e: e.plain(e.index.server_ids),
    "size": lambda e: e.plain(e.index.sizes),
    "flags": _E.flags,
    "checksum": _E.checksum,
    "gtid": _E.gtid,
    "transaction_position": _E.transaction_position,
    "payload_position": _E.payload_position,
    "detail": _E.detail,
}
