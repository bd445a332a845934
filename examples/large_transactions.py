"""Which transactions are over 100 MB? Replicas wait for them, and so does everybody behind.

python examples/large_transactions.py [PATH [BYTES]]
"""

import sys

import gtidal.spark

path = sys.argv[1] if len(sys.argv) > 1 else "examples/shop"
limit = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000_000
spark = gtidal.spark.session()

columns = "file string, position bigint, gtid string, length bigint, rows_inserted bigint, rows_updated bigint, rows_deleted bigint, tables array<string>"
transactions = spark.read.format("binlog").option("view", "transactions").schema(columns).load(path).cache()
large = transactions.where(transactions.length > limit)
print(
    f"{large.count()} of {transactions.count()} transactions have more than {limit:,} bytes; the largest ones:"
)
transactions.orderBy("length", ascending=False).show(5, truncate=40)
