"""``spark.read.format("binlog")`` on the sample logs: views, typed rows, VARIANT, a user's own schema, errors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql.datasource import DataSource, DataSourceReader, EqualTo, Filter, InputPartition

import gtidal
from tests.columnar.test_rows import INT, make_table, of_versions
from tests.spark.collecting import collect

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SHOP = Path(__file__).parents[2] / "examples" / "shop"


def load(
    spark: SparkSession, path: str | Path | list[str] = SHOP, schema: str = "", **options: Any
) -> DataFrame:
    reader = spark.read.format("binlog").options(**options)
    return (reader.schema(schema) if schema else reader).load(path if isinstance(path, list) else str(path))


def rows_of(batches: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = batches.to_pylist()
    return rows


def test_views_and_typed_rows(spark: SparkSession) -> None:
    for options in ({"view": "events"}, {"view": "events", "detail": "true"}, {"view": "transactions"}, {}):
        view = options.get("view", "changes")
        more = {"detail": True} if "detail" in options else {}
        expected = getattr(gtidal, view)(SHOP, **more).read_all()
        frame = load(spark, **options)
        assert frame.columns == expected.column_names
        assert [field.nullable for field in frame.schema] == [field.nullable for field in expected.schema]
        assert rows_of(collect(frame)) == rows_of(expected)
    expected = gtidal.rows(SHOP, "shop.orders").read_all()
    assert rows_of(collect(load(spark, table="shop.orders", mergeSchema="true"))) == rows_of(expected)


def test_paths_and_filters(spark: SparkSession) -> None:
    files = [str(SHOP / "binlog.000001"), str(SHOP / "binlog.000002")]
    expected = gtidal.changes(files, tables="shop.orders", images="json", columns=["file", "row", "after"])
    frame = load(spark, files, "file string, row bigint, after string", tables="orders", images="json")
    assert rows_of(collect(frame)) == rows_of(expected.read_all())
    spark.sql(
        f"CREATE OR REPLACE TEMPORARY VIEW shop USING binlog OPTIONS (path '{SHOP}', view 'transactions')"
    )
    assert spark.table("shop").count() == gtidal.transactions(SHOP).read_all().num_rows


def test_variant(spark: SparkSession, tmp_path: Path) -> None:
    frame = load(spark, schema="op string, after variant", tables="shop.customers").where("op = 'insert'")
    expected = gtidal.rows(SHOP, "shop.customers").read_all().to_pylist()
    names = [row["name"] for row in expected if row["_change_type"] == "insert"]
    told = frame.selectExpr("after:name::string AS name", "schema_of_variant(after) AS kind").collect()
    assert [row.name for row in told] == names
    assert "name: STRING" in told[0].kind
    frame.write.parquet(str(tmp_path / "out"))
    again = spark.read.parquet(str(tmp_path / "out"))
    assert again.schema["after"].dataType.typeName() == "variant"
    assert sorted(row[0] for row in again.selectExpr("after:name::string").collect()) == sorted(names)


def test_a_table_that_changed(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "binlog.000001"
    file.write_bytes(
        of_versions((make_table({"a": INT, "b": INT}), [(1, 2)]), (make_table({"a": INT}), [(3,)]))
    )
    said = error_of(load(spark, file, table="shop.t"))
    assert "shop.t had another column b here than in its last version" in said
    assert "set mergeSchema=true" in said
    merged = load(spark, file, "a int, b int", table="shop.t", mergeSchema="true")
    assert rows_of(collect(merged)) == [{"a": 1, "b": 2}, {"a": 3, "b": None}]


def test_events_from_the_middle_of_a_transaction(spark: SparkSession) -> None:
    here = {"start": "binlog.000002:2829", "stop": "binlog.000002:3222", "tables": "shop.*"}
    expected = gtidal.events(SHOP, **here).read_all()
    assert expected["transaction_position"].to_pylist() == [2105] * 3
    found = load(spark, SHOP, view="events", **here)
    assert rows_of(found.toArrow()) == rows_of(expected)


def test_reads_tell_which_kernel_they_have(spark: SparkSession, capfd: pytest.CaptureFixture[str]) -> None:
    setting = "spark.sql.pyspark.worker.logging.enabled"
    said = f"binlog: the kernel is {gtidal.kernel}"
    spark.conf.set(setting, "true")
    try:
        assert load(spark, SHOP, view="events").count()
        logged = spark.sql("SELECT level, msg FROM python_worker_logs() WHERE logger = 'gtidal'").collect()
    finally:
        spark.conf.unset(setting)
    assert [(row.level, row.msg) for row in logged if row.msg.startswith("binlog: ")] == [("INFO", said)]
    assert load(spark, SHOP, view="events").count()
    assert said not in "".join(capfd.readouterr())


def test_a_users_own_schema(spark: SparkSession) -> None:
    frame = load(spark, schema="op string, position bigint, file string")
    expected = gtidal.changes(SHOP, columns=["op", "position", "file"]).read_all()
    assert rows_of(collect(frame)) == rows_of(expected)
    for schema, said in (
        ("op string, positon bigint", "there is no column positon; did you mean position?"),
        ("position int", "column position is bigint, not int: cast it after reading"),
        ("gtid string not null", "column gtid may be null"),
        ("after string", "column after is variant, not string"),
    ):
        assert said in error_of(load(spark, schema=schema))


def error_of(frame: DataFrame) -> str:
    with pytest.raises(PySparkException) as caught:
        frame.collect()
    return plain(caught.value)


def load_error(spark: SparkSession, *arguments: Any, **options: Any) -> str:
    """An error that is met before any task runs."""
    with pytest.raises(PySparkException) as caught:
        load(spark, *arguments, **options)
    return plain(caught.value)


def plain(error: PySparkException) -> str:
    """It is a sentence of ours, and not the stack of a worker."""
    text = str(error)
    assert "gtidal.errors." in text
    assert "Traceback" not in text
    return text


def test_errors(spark: SparkSession, tmp_path: Path) -> None:
    assert "view='tables': it is changes, events or transactions" in load_error(spark, view="tables")
    assert "there is no option tabel; did you mean table" in load_error(spark, tabel="shop.orders")
    assert f"{tmp_path} holds no binary logs" in load_error(spark, tmp_path)
    assert "no such file or directory" in load_error(spark, tmp_path / "binlog.000009")
    assert "no rows of shop.nothing in binlog.000001" in load_error(spark, table="shop.nothing")
    whole = (SHOP / "binlog.000001").read_bytes()
    half = len(whole) // 2
    cut, flipped, other = (tmp_path / f"binlog.00000{number}" for number in (1, 2, 3))
    cut.write_bytes(whole[:half])
    flipped.write_bytes(whole[:half] + bytes([whole[half] ^ 1]) + whole[half + 1 :])
    other.write_bytes(b"no log")
    assert "binlog.000001, position 22898, WRITE_ROWS" in error_of(load(spark, cut))
    assert "checksum: stored is" in error_of(load(spark, flipped))
    for mode in ("PERMISSIVE", "DROPMALFORMED"):
        expected = gtidal.changes(flipped, mode=mode, on_corrupt=lambda bad: None).read_all()
        assert rows_of(collect(load(spark, flipped, mode=mode.lower()))) == rows_of(expected)
    assert "binlog.000003" in load_error(spark, other)
    servers = tmp_path / "servers"
    servers.mkdir()
    for name, server in (("one-bin.000001", 1), ("two-bin.000001", 2)):
        (servers / name).write_bytes(whole[:9] + server.to_bytes(4, "little") + whole[13:])
    said = (
        f"{servers} holds logs of several servers: one-bin.000001 is of server 1, two-bin.000001 of server 2"
    )
    assert said in load_error(spark, servers)
    assert (
        load(spark, servers / "one*", verifyChecksum="false").count()
        == load(spark, SHOP / "binlog.000001").count()
    )
    cut.chmod(0)
    if os.access(cut, os.R_OK):  # root reads everything
        return
    assert "cannot open" in load_error(spark, cut)


class Pushing(DataSource):
    """Two rows, of which a filter on ``a`` leaves one."""

    @classmethod
    def name(cls) -> str:
        return "pushing"

    def schema(self) -> str:
        return "a bigint"

    def reader(self, schema: Any) -> DataSourceReader:
        return PushingReader()


class PushingReader(DataSourceReader):
    def __init__(self) -> None:
        self.rows = [1, 2]

    def pushFilters(self, filters: list[Filter]) -> Iterator[Filter]:
        for each in filters:
            if isinstance(each, EqualTo):
                self.rows = [each.value]
            else:
                yield each

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pydict({"a": pa.array(self.rows, pa.int64())})


def test_why_filters_are_not_pushed_down(spark: SparkSession) -> None:
    """In Spark 4.3.0 a pushed filter stays with the loaded DataFrame. When this fails, Spark is mended, and the
    reader may take filters."""
    from pyspark import cloudpickle

    import tests.spark.test_reading as this

    cloudpickle.register_pickle_by_value(this)  # workers cannot import tests
    spark.dataSource.register(Pushing)
    frame = spark.read.format("pushing").load()
    assert frame.where("a = 1").count() == 1
    assert frame.count() == 1, "Spark is mended: it should be 2"
