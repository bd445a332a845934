"""A streaming read: a log that grows, in micro-batches that end between transactions.

One process of the driver's keeps a ``StreamReader`` for as long as a query runs: it asks where the log ends, and follows
it to know which places lie between transactions and which GTIDs come before them. Tasks read exactly what lies between
two such places. What was read is known to Spark alone, in its checkpoint.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from gtidal.columnar.table_schema import TableSchema
from gtidal.errors import ConnectionLost, SchemaConflict, UsageError
from gtidal.planning import Part, ReadPlan
from gtidal.planning.growing import AnyGtidSet, End
from gtidal.planning.stretches import parts_between
from gtidal.planning.tailing import Limits, Mark, Tail, mark_at
from gtidal.requests import selection_of
from gtidal.sources.keyring import KeyStore
from gtidal.sources.places import NOW, OLDEST
from gtidal.spark.batch import TASKS_PER_PROCESSOR, BatchReader, LogPartition, Snapshot, columns_of
from gtidal.spark.errors import plain_errors
from gtidal.spark.hosts import Hosts
from gtidal.spark.offsets import BEGINNING, Offset, start_of, to_mark, to_offset
from gtidal.spark.options import ReadOptions

PAUSES = (0.1, 0.3, 1.0, 3.0, 5.0, 10.0, 10.0, 10.0, 10.0, 10.0)
"""Between attempts to reach a server again, in seconds."""
_T = TypeVar("_T")


@dataclass
class StretchPartition(LogPartition):
    """What one task reads, and which of it: behind a fail-over by GTIDs, too."""

    include: AnyGtidSet | None = None
    exclude: AnyGtidSet | None = None
    number: int = 0
    """Which part of its micro-batch it is."""


def check_for_stream(read: ReadOptions) -> None:
    """Raise if an option means nothing for a stream."""
    if "stop" in read.filters:
        raise UsageError("stop means nothing for a stream; stop the query, or read a batch")
    if read.server is not None:
        for name in ("start", "stop", "follow", "file"):
            if getattr(read.server, name):
                raise UsageError(
                    f"{name} in the address: a stream takes where to begin from the option start, and goes on without end"
                )
        if read.server.semi_sync:
            raise UsageError("semi-sync: a stream cannot promise a source what Spark has not committed yet")
    if read.archive is not None and read.server is None:
        raise UsageError("archive: name the server that goes on with it (host), or load() the archive alone")
    if read.server is None and any(
        "://" in path for path in read.paths if path.startswith(("mysql:", "mariadb:"))
    ):
        raise UsageError("several paths, and one is a server: a stream reads one log")


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads a growing log. Spark pickles it into every task, before it has opened anything."""

    def __init__(self, read: ReadOptions, table: Callable[[], TableSchema | None], asked: StructType) -> None:
        self.read_options = read
        self.table = table
        self.asked = asked
        self._keys = KeyStore(None, read.filters.get("key_file"))
        self._tail: Tail | None = None
        self._hosts: Hosts | None = None
        self._goal: End | None = None
        """Where a query ends that reads what is there now; None: it has no end."""
        self._ends_now = False

    def _rows(self, include: AnyGtidSet | None, exclude: AnyGtidSet | None) -> BatchReader:
        read = self.read_options
        filters = dict(read.filters)
        filters.pop("start", None)  # where the stream begins, of which its offsets know
        selection = selection_of(filters)
        if exclude is not None:
            filters["exclude_gtids"] = _together(selection.exclude_gtids, exclude)
        if include is not None:
            filters["include_gtids"] = _both(selection.include_gtids, include)
        table = self.table()
        snapshot = Snapshot(ReadPlan([], 0, 0, 0), columns_of(read, table), table)
        return _Rows(replace(read, filters=filters), snapshot, self.asked)

    # --- in the driver

    def initialOffset(self) -> Offset:  # Spark's names
        return BEGINNING

    def _first_mark(self) -> Mark:
        read = self.read_options
        usual = NOW if read.server is not None and read.archive is None else OLDEST
        log = self._found_hosts().any()
        return mark_at(log, read.filters.get("start", usual), self._keys)

    def prepareForTriggerAvailableNow(self) -> None:
        self._ends_now = True

    def getDefaultReadLimit(self) -> ReadLimit:
        read = self.read_options
        # Both together are more than Spark has a word for: what it does not know of is in the options.
        if read.most_rows is not None:
            return ReadMaxRows(read.most_rows)
        if read.most_bytes is not None:
            return ReadMaxBytes(read.most_bytes)
        return ReadAllAvailable()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        limits = self._limits(limit)
        with plain_errors():
            if start == BEGINNING:
                # Whoever starts a query waits for it: an address that is wrong is told soon.
                return self._patiently(lambda: self._first(limits), PAUSES[:3])
            mark = to_mark(start)
            latest = self._patiently(lambda: self._latest(mark, limits))
            return start if latest == mark else to_offset(latest)

    def _first(self, limits: Limits) -> Offset:
        """The end of the first batch, which is done even if it is empty: to keep where the query began."""
        began = self._first_mark()
        return to_offset(self._latest(began, limits), began)

    def _limits(self, limit: ReadLimit) -> Limits:
        if isinstance(limit, ReadMaxBytes):
            return Limits(size=limit.max_bytes)
        if isinstance(limit, ReadMaxRows):
            return Limits(size=self.read_options.most_bytes, rows=limit.max_rows)
        return Limits()

    def _latest(self, start: Mark, limits: Limits) -> Mark:
        tail = self._tail_at(start)
        if self._ends_now and self._goal is None:
            self._goal = tail.log.end()
        return tail.advance(limits, self._goal)

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        with plain_errors():
            found = start_of(start, end)
            return self._patiently(
                lambda: self._planned(self._first_mark() if found is None else found, to_mark(end))
            )

    def _planned(self, start: Mark, end: Mark) -> list[InputPartition]:
        if start == end:
            return []
        read = self.read_options
        stretch = self._found_hosts().stretch(start, end, self._tail)
        tail = self._tail if self._tail is not None and self._tail.log is stretch.log else None
        piece = None if tail is None else tail.carried(stretch.start, stretch.end)
        if piece is not None:
            return [StretchPartition(Part((piece,)), stretch.include, stretch.exclude)]
        parts = parts_between(
            stretch.log,
            stretch.start,
            stretch.end,
            self._keys,
            part_bytes=read.part_bytes,
            least_parts=TASKS_PER_PROCESSOR * (os.cpu_count() or 1),
            boundaries=None if tail is None else tail.boundaries,
            searching=read.splitting == "search",
        )
        return [
            StretchPartition(part, stretch.include, stretch.exclude, number)
            for number, part in enumerate(parts)
        ]

    def commit(self, end: Offset) -> None:
        """Spark has it: nobody asks for what is before."""
        if self._tail is not None:
            self._tail.forget(to_mark(end).file)

    def stop(self) -> None:
        if self._tail is not None:
            self._tail.close()
        if self._hosts is not None:
            self._hosts.close()

    def _found_hosts(self) -> Hosts:
        if self._hosts is None:
            # Not when this is made: of an error there Spark 4.3 only says that it has no reader.
            check_for_stream(self.read_options)
            self._rows(None, None)  # checks the schema that is asked for
            self._hosts = Hosts(self.read_options, self._keys)
        return self._hosts

    def _tail_at(self, start: Mark) -> Tail:
        if self._tail is None or self._tail.mark != start:
            tail = self._found_hosts().tail(start)
            if self._tail is not None:
                self._tail.close()
            self._tail = tail
        return self._tail

    def _patiently(self, ask: Callable[[], _T], pauses: Sequence[float] = PAUSES) -> _T:
        """A server that is out of reach may be starting again."""
        for pause in pauses:
            try:
                return ask()
            except ConnectionLost:
                self._let_go()
                time.sleep(pause)
        return ask()

    def _let_go(self) -> None:
        if self._tail is not None:
            self._tail.close()
        self._tail = self._goal = None
        if self._hosts is not None:
            self._hosts.close()
        self._hosts = None

    # --- in the tasks

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, StretchPartition):
            return  # Spark's own, where there is nothing to read
        with plain_errors():
            yield from self._rows(partition.include, partition.exclude).read(partition)


class _Rows(BatchReader):
    """Reads a part of the log as a batch read does."""

    def _unlike_the_last(self, conflict: SchemaConflict) -> SchemaConflict:
        return SchemaConflict(
            f"{self.read_options.table} has another column {conflict.field} here than when the query was started, and a "
            "stream's columns do not change: start it again from the same checkpoint, with mergeSchema=true if rows of both "
            "kinds are still to be read",
            file=conflict.file,
            position=conflict.position,
        )


def _together(one: AnyGtidSet | None, other: AnyGtidSet) -> AnyGtidSet:
    return other if one is None else one | other  # type: ignore[operator]  # of one kind: they are of one log


def _both(one: AnyGtidSet | None, other: AnyGtidSet) -> AnyGtidSet:
    return other if one is None else one & other  # type: ignore[operator]
