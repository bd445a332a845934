"""The view ``events``: one row per event, those inside compressed payloads too."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from gtidal.columnar.arrays import Array, Texts, constant, lists_by_code, numbers, timestamps
from gtidal.columnar.codes import Txn
from gtidal.columnar.following import Followed
from gtidal.columnar.schemas import BIGINT, DETAIL, EVENTS
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
        self.places = places
        self.details = details

    def batch(self, columns: Sequence[str]) -> pa.RecordBatch:
        arrays = [_MAKERS[name](self) for name in columns]
        schema = pa.schema([SCHEMA_WITH_DETAIL.field(name) for name in columns])
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def __len__(self) -> int:
        return len(self.places)

    def plain(self, values: Array) -> pa.Array:
        return numbers(values[self.places], BIGINT)

    def checksum(self) -> pa.Array:
        checksum = self.followed.window.checksum
        inside = self.index.payloads[self.places] >= 0
        codes = np.where(inside, NO_CHECKSUM, checksum)
        return _CHECKSUMS.pick(codes)

    def flags(self) -> pa.Array:
        flags = self.index.flags[self.places]
        known = np.flatnonzero(np.bincount(flags, minlength=1))
        codes = np.zeros(int(known[-1]) + 1 if len(known) else 1, np.int32)
        codes[known] = np.arange(len(known))
        return lists_by_code([flag_names(bits, FLAGS) for bits in known.tolist()], codes[flags])

    def transactions(self) -> Array:
        return self.followed.lanes.event_txn[self.places]

    def gtid(self) -> pa.Array:
        followed = self.followed
        texts = Texts(followed.lanes.heap, followed.rows[:, Txn.GTID], followed.rows[:, Txn.GTID_SIZE])
        return texts.pick(self.transactions())

    def transaction_position(self) -> pa.Array:
        transactions = self.transactions()
        positions = self.followed.rows[:, Txn.POSITION]
        if not len(positions):
            return pa.nulls(len(self), BIGINT)
        return numbers(positions[transactions], BIGINT, transactions >= 0)

    def payload_position(self) -> pa.Array:
        positions = self.index.payloads[self.places]
        return numbers(positions, BIGINT, positions >= 0)

    def detail(self) -> pa.Array:
        assert self.details is not None
        return self.details


_E = EventColumns
_MAKERS: dict[str, Callable[[EventColumns], pa.Array]] = {
    "file": lambda e: constant(e.file, len(e)),
    "position": lambda e: e.plain(e.index.positions),
    "end_position": lambda e: e.plain(e.index.ends),
    "timestamp": lambda e: timestamps(e.index.timestamps[e.places] * _SECOND),
    "type": lambda e: _TYPES.pick(e.index.types[e.places]),
    "type_code": lambda e: numbers(e.index.types[e.places].astype(np.int16), pa.int16()),
    "server_id": lambda e: e.plain(e.index.server_ids),
    "size": lambda e: numbers(e.index.sizes[e.places].astype(np.int64), BIGINT),
    "flags": _E.flags,
    "checksum": _E.checksum,
    "gtid": _E.gtid,
    "transaction_position": _E.transaction_position,
    "payload_position": _E.payload_position,
    "detail": _E.detail,
}
