"""Every log of the real servers: through Spark the same rows as in Python, in the same order.

Spark's fixed costs are by the query, so that all logs are read by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import gtidal
from tests.live.conftest import live_servers, made_logs
from tests.live.scenarios import Logs, find_logs, scenarios
from tests.spark.collecting import collect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["live_servers", "made_logs"]
pytestmark = pytest.mark.live

TYPED = {
    "mysql.types_numbers": 2,
    "mysql.types_strings": 2,
    "mysql.types_times": 2,
    "mysql.json_values": 1,
    "mariadb.types_full": 2,
}
"""Of these scenarios so many tables as typed rows."""


def every_log() -> list[Logs]:
    return [find_logs(name) for name, each in scenarios().items() if not each.soak]


def readable(logs: list[Logs]) -> list[str]:
    """Those that are read to their end: the others raise, here as there."""
    files = []
    for each in logs:
        for file in each.files:
            try:
                for view in (gtidal.events, gtidal.changes):
                    for _ in view(file, **key_of(each)):
                        pass
            except gtidal.GtidalError:
                continue
            files.append(str(file))
    return files


def key_of(logs: Logs) -> dict[str, str]:
    for name in ("keyring", "keys"):
        if (logs.folder / name).exists():
            return {"key_file": str(logs.folder / name)}
    return {}


def compare(spark: SparkSession, expected: pa.RecordBatchReader, paths: list[str], **options: Any) -> int:
    table = expected.read_all()
    read = collect(spark.read.format("binlog").options(**options).load(paths))
    assert read.column_names == table.column_names
    for name in table.column_names:
        assert read.column(name).to_pylist() == table.column(name).to_pylist(), name
    return table.num_rows


def test_every_log(spark: SparkSession, made_logs: None) -> None:
    plain = readable([each for each in every_log() if not each.scenario.encrypted])
    assert len(plain) > 100
    assert compare(spark, gtidal.events(plain, detail=True), plain, view="events", detail="true") > 10_000
    assert compare(spark, gtidal.transactions(plain), plain, view="transactions") > 1000
    assert compare(spark, gtidal.changes(plain), plain, maxPartitionBytes="1m", splitting="walk") > 1000
    options = {"includeUncommitted": "true", "images": "json"}
    assert compare(spark, gtidal.changes(plain, include_uncommitted=True, images="json"), plain, **options)


def test_encrypted_logs(spark: SparkSession, made_logs: None) -> None:
    for each in every_log():
        key = key_of(each)
        if each.scenario.encrypted and key and (files := readable([each])):
            assert compare(spark, gtidal.changes(files, **key), files, keyFile=key["key_file"])


@pytest.mark.parametrize("name", TYPED)
def test_typed_rows(spark: SparkSession, made_logs: None, name: str) -> None:
    files = [str(file) for file in find_logs(name).binlogs]
    tables = [each.title for each in gtidal.tables(files)][: TYPED[name]]
    assert tables
    for table in tables:
        assert compare(spark, gtidal.rows(files, table), files, table=table, mergeSchema="true")
