"""Which GTIDs are missing between the first and the last one of each server?

python examples/gtid_gaps.py [PATH]
"""

import sys

import gtidal.spark

path = sys.argv[1] if len(sys.argv) > 1 else "examples/shop"
spark = gtidal.spark.session()

columns = "source_uuid string, tag string, gno bigint"
transactions = spark.read.format("binlog").option("view", "transactions").schema(columns).load(path)
transactions.where("gno IS NOT NULL").createOrReplaceTempView("numbered")
spark.sql("""
    WITH neighbours AS (
        SELECT source_uuid, tag, gno, lag(gno) OVER (PARTITION BY source_uuid, tag ORDER BY gno) AS before
        FROM numbered
    )
    SELECT source_uuid, tag, min(gno) AS first, max(gno) AS last, count(DISTINCT gno) AS transactions,
           array_sort(collect_list(
               CASE WHEN gno > before + 1 THEN concat_ws('-', before + 1, nullif(gno - 1, before + 1)) END
           )) AS missing
    FROM neighbours GROUP BY source_uuid, tag ORDER BY source_uuid, tag
""").show(50, truncate=False)
