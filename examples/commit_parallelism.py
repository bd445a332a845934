"""How many transactions could a replica have run at once?

A transaction may run together with all that committed after its last_committed. Those with the same last_committed
waited for the same one, and were ready at the same time.

    python examples/commit_parallelism.py [PATH]
"""

import sys

import gtidal.spark

path = sys.argv[1] if len(sys.argv) > 1 else "examples/shop"
spark = gtidal.spark.session()

columns = "file string, last_committed bigint, sequence_number bigint"
transactions = spark.read.format("binlog").option("view", "transactions").schema(columns).load(path)
transactions.where("sequence_number > 0").createOrReplaceTempView("numbered")
spark.sql("""
    WITH ready AS (
        SELECT file, last_committed, count(*) AS together FROM numbered GROUP BY file, last_committed
    )
    SELECT file, sum(together) AS transactions, count(*) AS waits, max(together) AS most_at_once,
           round(sum(together) / count(*), 2) AS at_once_on_average
    FROM ready GROUP BY file ORDER BY file
""").show(50, truncate=False)
