"""Who deleted this row? The transaction, when it was committed, and the server's thread that did it.

python examples/who_deleted.py [PATH [TABLE [COLUMN VALUE]]]
"""

import sys

import gtidal.spark

path, table, column, value = [
    *sys.argv[1:],
    *["examples/shop", "customers", "name", "%"][len(sys.argv) - 1 :],
]
spark = gtidal.spark.session()
logs = spark.read.format("binlog")

deleted = logs.option("tables", table).load(path).where("op = 'delete'")
transactions = logs.option("view", "transactions").load(path)

deleted.createOrReplaceTempView("deleted")
transactions.createOrReplaceTempView("all_transactions")
spark.sql(
    """
    SELECT t.gtid, t.immediate_commit_timestamp AS committed, t.thread_id AS thread, t.server_id AS server,
           d.file, d.position, to_json(d.before) AS row
    FROM deleted d
    JOIN all_transactions t ON t.file = d.file AND t.position = d.transaction_position
    WHERE variant_get(d.before, '$.' || :column, 'string') LIKE :value
    ORDER BY d.file, d.position, d.row
    """,
    args={"column": column, "value": value},
).show(20, truncate=60, vertical=True)
