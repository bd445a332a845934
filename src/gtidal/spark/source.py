"""The data source ``binlog``.

Spark makes it when a DataFrame is loaded, in a Python process of the driver's, asks for its schema, and pickles it; in
another process it asks for the reader. What is found in the first is kept for the second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from gtidal.spark.batch import BatchReader, Snapshot


class BinlogSource(DataSource):
    """``spark.read.format("binlog")``. Little is imported before it is used: Spark's processes are many."""

    def __init__(self, options: dict[str, str]) -> None:
        from gtidal.spark.errors import plain_errors
        from gtidal.spark.options import ReadOptions

        super().__init__(options)
        with plain_errors():
            self.read = ReadOptions.parse(options)
        self._snapshot: Snapshot | None = None

    @classmethod
    def name(cls) -> str:
        return "binlog"

    def schema(self) -> StructType:
        from gtidal.spark.batch import Snapshot
        from gtidal.spark.errors import plain_errors
        from gtidal.spark.schemas import spark_schema

        with plain_errors():
            self._snapshot = Snapshot.of(self.read)
            return spark_schema(self._snapshot.columns)

    def reader(self, schema: StructType) -> BatchReader:
        from gtidal.spark.batch import BatchReader, Snapshot
        from gtidal.spark.errors import plain_errors

        with plain_errors():
            # Each task gets this source pickled, and need not know of the others' parts.
            snapshot, self._snapshot = self._snapshot or Snapshot.of(self.read), None
            return BatchReader(self.read, snapshot, schema)
