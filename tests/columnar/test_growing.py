"""Logs that grow while they are read: whatever has come at whichever moment, a view is that of the whole log."""

from __future__ import annotations

import io
import random
from typing import TYPE_CHECKING, BinaryIO, cast

import pyarrow as pa
import pytest

from gtidal.columnar.scanning import VIEWS, LogScan, Scan
from gtidal.log.decoder import FIRST_EVENT
from tests.columnar.drift_judges import FILE, SCHEMAS
from tests.columnar.test_views import shop

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class Growing(io.BytesIO):
    """Whoever asks whether there is more may find that there was not, and that it has come a moment later."""

    def __init__(self, log: bytes, seed: int) -> None:
        super().__init__(log)
        self._random = random.Random(seed)
        self._there = FIRST_EVENT
        self._size = len(log)

    def ready(self) -> bool:
        is_ready = self.tell() < self._there or self._there == self._size
        if self._random.random() < 0.5:
            self._grow()
        return is_ready

    def readinto(self, buffer: WriteableBuffer) -> int:
        if self.tell() >= self._there:
            self._grow()  # a server's stream waits
        view = memoryview(buffer).cast("B")
        return super().readinto(view[: max(self._there - self.tell(), 0)])

    def _grow(self) -> None:
        self._there = min(self._there + self._random.choice((1, 19, 100, 700, 3000)), self._size)


def table(view: str, stream: io.BytesIO) -> pa.Table:
    schema = SCHEMAS[view]
    scan = LogScan(cast(BinaryIO, stream), FILE, Scan(tuple(schema.names), images="json"))
    return pa.Table.from_batches(list(VIEWS[view](scan)))


@pytest.mark.parametrize("view", ["changes", "transactions", "events"])
def test_what_comes_late(view: str) -> None:
    whole = table(view, io.BytesIO(shop()))
    assert whole.num_rows
    for seed in range(200):
        assert table(view, Growing(shop(), seed)).equals(whole), seed
