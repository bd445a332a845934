"""A batch read: what there is when a DataFrame is loaded, and one task for each part of it."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from gtidal.columnar.codes import FAILFAST
from gtidal.columnar.modes import schema_in_mode
from gtidal.columnar.schemas import CHANGES, EVENTS, TRANSACTIONS
from gtidal.columnar.table_schema import TableSchema
from gtidal.columnar.views.changes import schema_of
from gtidal.columnar.views.events import SCHEMA_WITH_DETAIL
from gtidal.errors import SchemaConflict
from gtidal.planning import Part, ReadPlan, plan_read, read_part
from gtidal.sources.storage import Storage
from gtidal.spark.errors import plain_errors
from gtidal.spark.options import ReadOptions
from gtidal.spark.schemas import arrow_schema, check_asked
from gtidal.spark.servers import check_one_server
from gtidal.spark.tables import find_table_schema, planned

TASKS_PER_PROCESSOR = 2
"""As many tasks as that, if there is enough to read: the processors of the driver's machine are all that is known here of
the cluster. More would end more evenly, but each costs Spark as much as to decode some megabytes."""


@dataclass(frozen=True)
class Snapshot:
    """The logs as they are when the DataFrame is loaded; later actions read the same."""

    plan: ReadPlan
    columns: pa.Schema
    table: TableSchema | None = None

    @staticmethod
    def of(read: ReadOptions) -> Snapshot:
        plan = plan_read(
            read.paths,
            read.filters,
            part_bytes=read.part_bytes,
            splitting=read.splitting,
            storage=read.storage,
            recursive=read.recursive,
            view=read.view,
            time_margin=read.time_margin,
            least_parts=TASKS_PER_PROCESSOR * (os.cpu_count() or 1),
        )
        pieces = (piece for part in plan.parts for piece in part.pieces)
        check_one_server(pieces, read.paths, Storage(read.storage))
        table = None if read.table is None else find_table_schema(read, planned(plan))
        return Snapshot(plan, columns_of(read, table), table)


def columns_of(read: ReadOptions, table: TableSchema | None = None) -> pa.Schema:
    """Those of a table, or of a view, for which no log is looked at."""
    if table is not None:
        columns = table.arrow_schema()
    elif read.view == "changes":
        columns = schema_of(CHANGES.names, read.images)
    elif read.view == "events":
        columns = SCHEMA_WITH_DETAIL if read.detail else EVENTS
    else:
        columns = TRANSACTIONS
    return schema_in_mode(columns, read.filters.get("mode", FAILFAST))


@dataclass
class LogPartition(InputPartition):
    """What one task reads."""

    part: Part


class BatchReader(DataSourceReader):
    """Reads a snapshot. Spark pickles it into every task, without the plan."""

    def __init__(self, read: ReadOptions, snapshot: Snapshot, asked: StructType) -> None:
        check_asked(asked, snapshot.columns)
        self.read_options = read
        self.table = snapshot.table
        self.schema = arrow_schema(asked)
        self._parts = snapshot.plan.parts

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_parts": []}

    def partitions(self) -> list[InputPartition]:
        return [LogPartition(part) for part in self._parts]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, LogPartition):
            return  # Spark's own, where there is nothing to read
        _settle_worker()
        read = self.read_options
        with plain_errors():
            try:
                for batch in read_part(
                    read.view,
                    partition.part,
                    read.filters,
                    self.schema.names,
                    images=read.images,
                    table=self.table,
                    storage=read.storage,
                ):
                    yield pa.RecordBatch.from_arrays(batch.columns, schema=self.schema)
            except SchemaConflict as conflict:
                raise conflict if read.merge_schema else self._unlike_the_last(conflict) from None

    def _unlike_the_last(self, conflict: SchemaConflict) -> SchemaConflict:
        return SchemaConflict(
            f"{self.read_options.table} had another column {conflict.field} here than in its last version, whose "
            "columns are read: set mergeSchema=true for those of all versions",
            file=conflict.file,
            position=conflict.position,
        )


@cache
def _settle_worker() -> None:
    """Spark's worker collects garbage after every task, and would each time go through all that was ever imported, which
    takes about as long as to decode 10 MB of a log."""
    gc.freeze()
