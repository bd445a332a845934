"""Small batches put together: what comes next has a cost for each batch."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from gtidal.errors import GtidalError

BATCH_ROWS = 1 << 13
BATCH_BYTES = 1 << 22
"""Batches with fewer than half so many rows, and fewer bytes, are put together, up to these."""


def coalesced(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Small batches put together; large ones are not copied. An error comes behind the batches before it."""
    small: list[pa.RecordBatch] = []
    rows = size = 0
    problem: GtidalError | None = None
    while True:
        try:
            batch = next(batches, None)
        except GtidalError as error:
            batch, problem = None, error
        if batch is None:
            break
        # Of batches that are large by their rows, nobody asks for the bytes: to count them takes time.
        large = 2 * batch.num_rows >= BATCH_ROWS or batch.nbytes >= BATCH_BYTES
        if small and (large or rows + batch.num_rows > BATCH_ROWS or size + batch.nbytes > BATCH_BYTES):
            yield _joined(small)
            small, rows, size = [], 0, 0
        if large:
            yield batch
        elif batch.num_rows:
            small.append(batch)
            rows += batch.num_rows
            size += batch.nbytes
    if small:
        yield _joined(small)
    if problem is not None:
        raise problem


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return pa.concat_batches(batches) if len(batches) > 1 else batches[0]
