"""Logs in S3, read and written by Spark's tasks. Keys come from the environment, and are shown nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from moto.server import ThreadedMotoServer
from pyarrow.fs import S3FileSystem
from pyspark.sql import SparkSession

import gtidal
from gtidal.spark.exporting import Export
from gtidal.spark.options import ReadOptions
from tests.conftest import SECRET

SHOP = Path(__file__).parents[2] / "examples" / "shop"


@pytest.fixture
def endpoint() -> Iterator[str]:
    """Where the sample logs are in a bucket ``logs``."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    system = storage(f"http://{host}:{port}")
    for bucket in ("logs", "lake"):
        system.create_dir(bucket)
        system.delete_dir_contents(bucket)  # all of moto's servers in a process are one
    for path in SHOP.glob("binlog.0*"):
        with system.open_output_stream(f"logs/db1/{path.name}") as stream:
            stream.write(path.read_bytes())
    yield f"http://{host}:{port}"
    server.stop()


def storage(endpoint: str) -> S3FileSystem:
    return S3FileSystem(
        access_key="x",
        secret_key="y",
        endpoint_override=endpoint,
        region="us-east-1",
        allow_bucket_creation=True,
    )


def test_s3(spark: SparkSession, endpoint: str) -> None:
    frame = (
        spark.read.format("binlog")
        .option("fs.s3a.endpoint", endpoint)
        .option("fs.s3a.path.style.access", "true")
        .option("maxPartitionBytes", "20k")
        .load("s3a://logs/db1/")
    )
    assert frame.rdd.getNumPartitions() > 3
    names = ["file", "position", "row", "op"]
    wanted = gtidal.changes(SHOP, columns=names).read_all().to_pylist()
    found = [row.asDict() for row in frame.select(*names).orderBy("file", "position", "row").collect()]
    assert found == wanted
    plan = frame._jdf.queryExecution().toString()  # type: ignore[operator]
    assert SECRET not in plan

    options = {
        "table": "shop.orders",
        "path": "s3://logs/db1",
        "fs.s3a.endpoint": endpoint,
        "fs.s3a.path.style.access": "true",
    }
    report = Export(ReadOptions.parse(options), "s3://lake/orders").run(spark)
    assert report.rows == gtidal.rows(SHOP, "shop.orders", columns=["_row"]).read_all().num_rows
