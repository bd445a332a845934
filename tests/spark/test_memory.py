"""Python workers stay small, whatever a log holds."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.columnar.test_memory import Make, large_event, large_row, large_transaction

MOST = 600_000_000


def workers(java: int) -> dict[int, int]:
    """The Python processes below Java: the most memory that each has had, in bytes."""
    parents: dict[int, int] = {}
    peaks: dict[int, int] = {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        except (OSError, ValueError):
            continue  # it has just ended
        number = int(status.parent.name)
        parents[number] = int(lines["PPid"])
        if "python" in lines["Name"] and "VmHWM" in lines:
            peaks[number] = int(lines["VmHWM"].split()[0]) * 1024
    return {number: peak for number, peak in peaks.items() if java in ancestors(number, parents)}


def ancestors(number: int, parents: dict[int, int]) -> set[int]:
    found = set()
    while number in parents:
        number = parents[number]
        found.add(number)
    return found


@pytest.mark.parametrize("make", [large_event, large_row, large_transaction])
def test_large_ones(make: Make, spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "binlog.000001"
    counts, _ = make(path)
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    for view in ("changes", "transactions", "events"):
        frame = spark.read.format("binlog").option("view", view).load(str(path))
        assert frame.count() == counts[view]
    found = workers(gateway.proc.pid)
    assert found
    assert max(found.values()) < MOST, found
