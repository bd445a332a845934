"""A stream without Java: a reader is asked as Spark asks it, offsets and partitions travel as they do there."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from gtidal.spark.options import ReadOptions
from gtidal.spark.source import BinlogSource
from gtidal.spark.stream import StreamReader

Offset = dict[str, Any]


def reader(**options: str) -> StreamReader:
    source = BinlogSource(options)
    schema = source.schema()
    return pickle.loads(pickle.dumps(source)).streamReader(schema)  # type: ignore[no-any-return]


def options_of(**options: str) -> ReadOptions:
    return ReadOptions.parse(options)


def travelled(offset: Offset) -> Offset:
    return json.loads(json.dumps(offset))  # type: ignore[no-any-return]


def rows_between(stream: StreamReader, start: Offset, end: Offset) -> list[pa.RecordBatch]:
    """What the tasks of a micro-batch give, in the order of its parts."""
    partitions = stream.partitions(travelled(start), travelled(end))
    task = pickle.dumps(reader_of(stream))
    return [
        batch
        for partition in partitions
        for batch in pickle.loads(task).read(pickle.loads(pickle.dumps(partition)))
    ]


def reader_of(stream: StreamReader) -> StreamReader:
    """As it is before it has opened anything: that is what tasks get."""
    return type(stream)(stream.read_options, stream.table, stream.asked)


def batches(stream: StreamReader, start: Offset | None = None) -> Iterator[tuple[Offset, pa.Table]]:
    """Micro-batches, each with its end, until there is no more now."""
    start = travelled(stream.initialOffset()) if start is None else start
    while True:
        end = travelled(stream.latestOffset(start, stream.getDefaultReadLimit()))
        if json.dumps(end) == json.dumps(start):
            return
        yield end, table_of(stream, rows_between(stream, start, end))
        stream.commit(end)
        start = end


def table_of(stream: StreamReader, found: list[pa.RecordBatch]) -> pa.Table:
    from gtidal.spark.schemas import arrow_schema

    return pa.Table.from_batches(found, schema=arrow_schema(stream.asked))


def drained(stream: StreamReader, start: Offset | None = None) -> tuple[Offset | None, pa.Table, int]:
    """Where it ended, all rows, and in how many batches."""
    found = list(batches(stream, start))
    if not found:
        return start, table_of(stream, []), 0
    return found[-1][0], pa.concat_tables(table for _, table in found), len(found)
