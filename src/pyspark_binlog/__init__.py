"""Makes ``spark.read.format("binlog")`` known: Spark looks into every package whose name begins with ``pyspark_``."""

from gtidal.spark.source import BinlogSource as DefaultSource

__all__ = ["DefaultSource"]
