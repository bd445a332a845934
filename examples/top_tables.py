"""Which tables take most of the log, minute by minute?

python examples/top_tables.py [PATH]
"""

import sys

import gtidal.spark

path = sys.argv[1] if len(sys.argv) > 1 else "examples/shop"
spark = gtidal.spark.session()

# The details of a row event name its table; of all events only those are decoded.
events = (
    spark.read.format("binlog")
    .options(view="events", detail=True, types="WRITE_ROWS, UPDATE_ROWS, DELETE_ROWS")
    .schema("timestamp timestamp, size bigint, detail variant")
    .load(path)
)
events.createOrReplaceTempView("row_events")
spark.sql("""
    SELECT date_trunc('minute', timestamp) AS minute, detail:table_name::string AS `table`,
           count(*) AS events, sum(size) AS bytes
    FROM row_events GROUP BY ALL ORDER BY minute, bytes DESC
""").show(20, truncate=False)
