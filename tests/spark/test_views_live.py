"""Every log of the real servers: through Spark the same rows as in Python, in the same order.

Spark's fixed costs are by the query, so that all logs are read by one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

import gtidal
from gtidal.errors import KeyProblem
from gtidal.planning import plan_read
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
LARGE = 1_000_000
"""Logs beyond this size hold few and large rows: they tell nothing new, and take memory."""


def every_log() -> list[Logs]:
    return [find_logs(name) for name, each in scenarios().items() if not each.soak]


def readable(logs: list[Logs]) -> list[str]:
    """Those that are small and read to their end: the others raise, here as there."""
    files = []
    for each in logs:
        for file in each.files:
            if file.stat().st_size > LARGE:
                continue
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
    changes = gtidal.changes(plain, include_uncommitted=True)
    assert compare(spark, changes, plain, includeUncommitted="true", maxPartitionBytes="64m") > 1000


def test_encrypted_logs(spark: SparkSession, made_logs: None, tmp_path: Path) -> None:
    wrong = tmp_path / "keys"
    wrong.write_text("1;00112233445566778899AABBCCDDEEFF\n")
    for each in every_log():
        key = key_of(each)
        if each.scenario.encrypted and key and (files := readable([each])):
            assert compare(spark, gtidal.changes(files, **key), files, keyFile=key["key_file"])
            for given in ({}, {"keyFile": str(wrong)}):
                with pytest.raises(KeyProblem, match=r"^binlog.000001"):  # known before tasks start
                    plan_read(files, {"key_file": given.get("keyFile")}, part_bytes=1 << 27)
                with pytest.raises(PySparkException, match=r"gtidal.errors.KeyProblem: binlog.000001"):
                    spark.read.format("binlog").options(**given).load(files).count()


@pytest.mark.parametrize("name", ["mysql.encrypted", "mariadb.encrypted", "mariadb.encrypted_ctr"])
def test_damage_in_an_encrypted_log(spark: SparkSession, made_logs: None, tmp_path: Path, name: str) -> None:
    logs = find_logs(name)
    key = key_of(logs)
    whole = logs.binlogs[0].read_bytes()
    assert gtidal.changes(logs.binlogs[0], **key).read_all().num_rows
    damaged = tmp_path / logs.binlogs[0].name
    half = len(whole) // 2
    damaged.write_bytes(whole[:half] + bytes([whole[half] ^ 1]) + whole[half + 1 :])
    with pytest.raises(PySparkException, match=r"gtidal.errors.ChecksumMismatch: binlog.000001"):
        spark.read.format("binlog").options(keyFile=key["key_file"]).load(str(damaged)).count()
    found: list[Any] = []
    for mode in ("PERMISSIVE", "DROPMALFORMED"):
        expected = gtidal.changes(damaged, mode=mode, on_corrupt=found.append, **key)
        compare(spark, expected, [str(damaged)], mode=mode, keyFile=key["key_file"])
    assert found


@pytest.mark.parametrize("name", TYPED)
def test_typed_rows(spark: SparkSession, made_logs: None, name: str) -> None:
    files = [str(file) for file in find_logs(name).binlogs]
    tables = [each.title for each in gtidal.tables(files)][: TYPED[name]]
    assert tables
    for table in tables:
        assert compare(spark, gtidal.rows(files, table), files, table=table, mergeSchema="true")
