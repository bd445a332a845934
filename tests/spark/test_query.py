"""``gtidal query``: what is pruned, that it changes no result, names, output, errors."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import gtidal
from gtidal.cli.main import main
from gtidal.cli.query import fitted
from gtidal.spark.querying import Query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHOP = str(Path(__file__).parents[2] / "examples" / "shop")
UUID = "5b0a6d3e-2f1c-11f1-9c6a-0242ac120002"


def options(query: Query) -> dict[str, dict[str, str]]:
    """What was set for each table, without what table it is."""
    return {
        table.name: {name: value for name, value in table.options.items() if name not in ("view", "table")}
        for table in query.tables
    }


def rows(query: Query) -> list[str]:
    return sorted(map(str, query.run().collect()))


PRUNED: dict[str, dict[str, dict[str, str]]] = {
    # and, like, in, between
    """SELECT op, count(*) FROM changes WHERE table IN ('orders', 'customers') AND schema LIKE 'sh%'
       AND timestamp BETWEEN '2026-11-15 22:00:00' AND '2026-11-15 22:30:00' GROUP BY op""": {
        "changes": {
            "schemas": "sh*",
            "tables": "*.customers,*.orders",
            "start": "2026-11-14T22:00:00+00:00",
            "stop": "2026-11-16T22:30:00.000001+00:00",
        }
    },
    f"SELECT gtid, type FROM events WHERE type = 'XID' AND gtid IN ('{UUID}:3', '{UUID}:120') AND server_id = 7": {
        "events": {"types": "XID", "includeGtids": f"{UUID}:3:120", "serverIds": "7"}
    },
    "SELECT count(*) FROM transactions WHERE '2026-11-15 22:06:47' <= timestamp AND timestamp < '2027-01-01'": {
        "transactions": {
            "start": "2026-11-15T22:06:47+00:00",
            "stop": "2027-01-01T00:00:00.000001+00:00",
        }
    },
    # either side, and what only one side says
    "SELECT count(*) FROM changes WHERE table = 'orders' OR table LIKE 'order_li%' AND schema = 'shop'": {
        "changes": {"tables": "*.orde*l*,*.orders"}
    },
    # what escapes is not told
    "SELECT DISTINCT table FROM changes WHERE table LIKE 'order!_lines' ESCAPE '!'": {
        "changes": {"tables": "*.order*lines"}
    },
    "SELECT DISTINCT table FROM changes WHERE table LIKE '%prodducts' ESCAPE 'd'": {
        "changes": {"tables": "*.*pro*ucts"}
    },
    "SELECT count(*) FROM changes WHERE table = 'orders' OR op = 'delete'": {"changes": {}},
    "SELECT count(*) FROM changes WHERE NOT table = 'orders' AND length(schema) = 4": {"changes": {}},
    "SELECT count(*) FROM changes WHERE table = 'a,b' OR table = 'orders'": {"changes": {}},
    # the outer side of a join keeps its rows, whatever is asked of the other
    """SELECT c.op, count(t.gtid) FROM changes c LEFT JOIN transactions t
       ON c.gtid = t.gtid AND c.table = 'orders' AND t.server_id = 7 GROUP BY ALL""": {
        "changes": {},
        "transactions": {"serverIds": "7"},
    },
    # read twice: enough for both
    """SELECT table FROM changes WHERE table = 'orders' AND schema = 'shop'
       UNION ALL SELECT op FROM changes WHERE table = 'customers'""": {
        "changes": {"tables": "*.customers,*.orders"}
    },
    """SELECT count(*), (SELECT max(position) FROM changes WHERE table = 'orders') FROM changes
       WHERE gtid IN (SELECT gtid FROM transactions WHERE rows_deleted > 0)""": {
        "changes": {},
        "transactions": {},
    },
    # a limit comes before the condition
    "SELECT count(*) FROM (SELECT * FROM changes LIMIT 100000) WHERE table = 'orders'": {"changes": {}},
    "SELECT count(*) FROM shop.orders WHERE _gtid = 'nonsense' OR _file = 'binlog.000003'": {
        "shop.orders": {}
    },
}


def test_pruning_leaves_the_result_as_it_is(spark: SparkSession) -> None:
    for sql, expected in PRUNED.items():
        query = Query(spark, sql, [SHOP])
        assert options(query) == expected, sql
        found = rows(query)
        assert found == rows(Query(spark, sql, [SHOP], prune=False)), sql
        assert found, sql


def test_columns_and_files(spark: SparkSession) -> None:
    query = Query(
        spark, "SELECT upper(op) FROM changes WHERE file = 'binlog.000002' ORDER BY position", [SHOP]
    )
    (changes,) = query.tables
    assert changes.columns.names == ["file", "position", "op"]
    assert changes.paths == (f"{SHOP}/binlog.000002",)
    assert query.run().count() == gtidal.changes(f"{SHOP}/binlog.000002").read_all().num_rows
    sentences = " ".join(query.explain())
    assert "changes is read: 3 of 17 columns (file, position, op)." in sentences
    assert "only files named binlog.000002: 1 of 3" in sentences
    size = (Path(SHOP) / "binlog.000002").stat().st_size
    assert f"{size:,} of {size:,} bytes are read, in 1 task." in sentences

    (none,) = Query(spark, "SELECT count(*) FROM events WHERE file = 'other.000001'", [SHOP]).tables
    assert none.columns.names == ["file"]
    assert len(none.paths) == 1
    (all_of_it,) = Query(
        spark, "SELECT * FROM transactions UNION ALL SELECT * FROM transactions", [SHOP]
    ).tables
    assert all_of_it.columns.names == gtidal.transactions(SHOP).schema.names
    assert all_of_it.readings == 2
    # What the user sets stays.
    (own,) = Query(spark, "SELECT * FROM changes WHERE table = 'orders'", [SHOP], {"tables": "shop.*"}).tables
    assert own.options["tables"] == "shop.*"


def test_tables_of_the_logs_by_name(spark: SparkSession) -> None:
    sql = """
        WITH kept AS (SELECT o.id FROM `shop`.orders o WHERE EXISTS (
            SELECT 1 FROM shop.order_lines l WHERE l.order_id = o.id))
        SELECT shop.customers.name, customers.id, shop.customers.*
        FROM shop.`customers` WHERE shop.customers.id IN (SELECT id FROM kept)
    """
    query = Query(spark, sql, [SHOP], {"mergeSchema": "true", "detail": "true"})
    assert {table.name for table in query.tables} == {"shop.orders", "shop.order_lines", "shop.customers"}
    found = query.run().collect()
    customers = gtidal.rows(SHOP, "shop.customers").read_all().to_pylist()
    orders = {row["id"] for row in gtidal.rows(SHOP, "shop.orders").read_all().to_pylist()}
    lines = {row["order_id"] for row in gtidal.rows(SHOP, "shop.order_lines").read_all().to_pylist()}
    wanted = [row for row in customers if row["id"] in orders & lines]
    assert wanted
    assert sorted((row[0], row[1]) for row in found) == sorted((row["name"], row["id"]) for row in wanted)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["query", *arguments])
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.mark.usefixtures("spark")
def test_output(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    sql = "SELECT op, before, key, position FROM changes WHERE table = 'orders' ORDER BY file, position, row LIMIT 3"
    code, out, err = run(capsys, sql, SHOP)
    assert code == 0, err
    head, rule, *lines = out.splitlines()
    assert head.split() == ["op", "before", "key", "position"]
    assert set(rule) == {"─", " "}
    assert len(lines) == 3
    assert all(len(line) <= 60 for line in out.splitlines())
    assert lines[0].split() == ["insert", "NULL", '["id"]', lines[0].split()[-1]]
    assert err.endswith("3 rows\n")

    _, out, _ = run(capsys, sql, SHOP, "--output", "json")
    found = [json.loads(line) for line in out.splitlines()]
    assert [list(each) for each in found] == [["op", "before", "key", "position"]] * 3
    assert found[0]["before"] is None
    assert found[0]["key"] == ["id"]

    _, out, _ = run(capsys, sql, SHOP, "--output", "csv")
    read = list(csv.reader(io.StringIO(out)))
    assert read[0] == ["op", "before", "key", "position"]
    assert [row[3] for row in read[1:]] == [str(each["position"]) for each in found]

    code, out, err = run(capsys, sql, SHOP, "--output", "parquet", "--to", str(tmp_path / "p"))
    assert (code, out) == (0, "")
    assert list((tmp_path / "p").glob("*.parquet"))

    code, out, _ = run(capsys, sql, SHOP, "--explain", "--option", "maxPartitionBytes=64m")
    assert code == 0
    assert "changes: only tables *.orders.\n" in out


WRONG = {
    "SELEC 1": "line 1, column 1: Syntax error at or near 'SELEC'.",
    "SELECT nothing FROM changes": "line 1, column 8: A column, variable, or function parameter with name `nothing` ",
    "SELECT *\nFROM nowhere": "line 2, column 6: there is no table `nowhere`; there are events, transactions, changes",
    "SELECT * FROM shop.nothing": "no rows of shop.nothing in binlog.000001, binlog.000002, binlog.000003; gtidal ",
    "DROP TABLE changes": "query takes a SELECT; nothing can be changed in logs",
    "SELECT 1/0 FROM changes": "Division by zero.",
}


@pytest.mark.usefixtures("spark")
def test_mistakes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for sql, sentence in WRONG.items():
        code, out, err = run(capsys, sql, SHOP)
        assert (code, out) == (2, ""), sql
        assert err.startswith(f"gtidal: {sentence}"), err
        assert err.count("\n") == 1, err
    for arguments, sentence in (
        (["SELECT * FROM changes", str(tmp_path)], f"{tmp_path} holds no binary logs"),
        (["SELECT 1", SHOP, "--output", "parquet"], "--output parquet: name a folder with --to"),
        (["SELECT * FROM changes", SHOP, "--option", "tables"], "--option tables: write it as name=value"),
        (["SELECT * FROM changes", SHOP, "--option", "tabels=x"], "there is no option tabels; did you mean tables?"),
        (["SELECT * FROM changes", SHOP, "--option", "view=events"], "view is no option of a query"),
        (["SELECT 1 AS a, 2 AS a", SHOP, "--output", "json"], "two columns are called a"),
    ):  # fmt: skip
        code, out, err = run(capsys, *arguments)
        assert (code, out) == (2, "")
        assert sentence in err
        assert err.count("\n") == 1

    damaged = bytearray((Path(SHOP) / "binlog.000002").read_bytes())
    damaged[5000] ^= 1
    log = tmp_path / "binlog.000002"
    log.write_bytes(damaged)
    code, _, err = run(capsys, "SELECT count(*) FROM changes", str(log))
    assert code == 1
    assert err.startswith("gtidal: binlog.000002, position ")
    assert "checksum" in err
    assert err.count("\n") == 1


def test_widths() -> None:
    table: list[tuple[Any, ...]] = [("a", None), ("x" * 100, "b" * 30)]
    assert fitted(table, 200) == [60, 30]
    assert fitted(table, 42) == [20, 20]
    assert fitted(table, 1) == [4, 4]
