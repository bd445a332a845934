"""A growing log as Parquet files: python examples/stream_to_parquet.py mysql://user@host/ FOLDER [once]

What ``gtidal stream`` does in one command, with Spark's own Parquet writer: a place to begin for a stream of one's own.
"""

import sys

import gtidal.spark

source = sys.argv[1] if len(sys.argv) > 1 else "examples/shop"
folder = sys.argv[2] if len(sys.argv) > 2 else "changes.parquet"
trigger = {"availableNow": True} if sys.argv[3:] == ["once"] else {"processingTime": "5 seconds"}

spark = gtidal.spark.session()
changes = spark.readStream.format("binlog").options(start="oldest", maxBytesPerTrigger="64m").load(source)
query = (
    changes.writeStream.format("parquet")
    .option("path", folder)
    .option("checkpointLocation", f"{folder}/_checkpoint")
    .trigger(**trigger)
    .start()
)
query.awaitTermination()
