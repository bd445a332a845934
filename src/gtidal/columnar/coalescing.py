"""Small batches put together: what comes next has a cost for each batch."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

BATCH_ROWS = 1 << 13
BATCH_BYTES = 1 << 22
"""Batches with fewer rows, and fewer bytes, are put together."""


def coalesced(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Small batches put together; large ones are not copied."""
    small: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        large = batch.num_rows >= BATCH_ROWS or batch.nbytes >= BATCH_BYTES
        if small and (large or rows + batch.num_rows > BATCH_ROWS or size + batch.nbytes > BATCH_BYTES):
            yield pa.concat_batches(small) if len(small) > 1 else small[0]
            small, rows, size = [], 0, 0
        if large:
            yield batch
        elif batch.num_rows:
            small.append(batch)
            rows += batch.num_rows
            size += batch.nbytes
    if small:
        yield pa.concat_batches(small) if len(small) > 1 else small[0]
