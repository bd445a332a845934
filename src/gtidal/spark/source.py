"""The data source ``binlog``.

Spark makes it when a DataFrame is loaded, in a Python process of the driver's, asks for its schema, and pickles it; in
another process it asks for the reader. What is found in the first is kept for the second.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

from gtidal.errors import GtidalError
from gtidal.spark.daemon import quieten

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from gtidal.columnar.table_schema import TableSchema
    from gtidal.spark.batch import BatchReader, Snapshot
    from gtidal.spark.stream import StreamReader

quieten()


def _tell_of_kernel() -> None:
    """Once for each read, to those who collect what Python says in Spark. Where it is interpreted, tasks warn as well."""
    from gtidal.columnar import kernel

    log = logging.getLogger("gtidal")
    if log.level == logging.NOTSET:
        log.setLevel(logging.INFO)  # nobody can configure Python's log in Spark's processes
    log.info("binlog: the kernel is %s", kernel.IMPLEMENTATION)


class BinlogSource(DataSource):
    """``spark.read`` and ``spark.readStream`` with the format ``binlog``. Little is imported before it is used: Spark's processes are many."""

    def __init__(self, options: dict[str, str]) -> None:
        from gtidal.spark.errors import plain_errors
        from gtidal.spark.options import ReadOptions

        super().__init__(options)
        with plain_errors():
            self.read = ReadOptions.parse(options)
        self._snapshot: Snapshot | None = None
        self._table: TableSchema | None = None

    @classmethod
    def name(cls) -> str:
        return "binlog"

    def schema(self) -> StructType:
        from gtidal.spark.batch import Snapshot, columns_of
        from gtidal.spark.errors import plain_errors
        from gtidal.spark.schemas import spark_schema

        with plain_errors():
            # Spark does not say whether this becomes a stream. What lies on servers is looked at when that is known.
            if self.read.server is None and not self.read.for_streams and not self.read.starts_with_a_word:
                self._snapshot = Snapshot.of(self.read)
                self._table = self._snapshot.table
                return spark_schema(self._snapshot.columns)
            return spark_schema(columns_of(self.read, self.table()))

    def table(self) -> TableSchema | None:
        """That of typed rows, looked for once."""
        from gtidal.spark.tables import find_table_schema, listed

        if self.read.table is not None and self._table is None:
            self._table = find_table_schema(self.read, listed(self.read))
        return self._table

    def reader(self, schema: StructType) -> BatchReader:
        from gtidal.spark.batch import BatchReader, Snapshot
        from gtidal.spark.errors import plain_errors

        _tell_of_kernel()
        with plain_errors():
            self.read.check_for_batch()
            # Each task gets this source pickled, and need not know of the others' parts.
            snapshot, self._snapshot = self._snapshot or Snapshot.of(self.read), None
            return BatchReader(self.read, snapshot, schema)

    def streamReader(self, schema: StructType) -> StreamReader:  # Spark's name
        from gtidal.spark.stream import StreamReader

        _tell_of_kernel()
        self._snapshot = None
        # Nobody has asked for the schema where a user gave one. Of an error here Spark 4.3 only says that it has no
        # reader: the reader meets it again.
        with suppress(GtidalError):
            self.table()
        return StreamReader(self.read, self.table, schema)
