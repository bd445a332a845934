"""The scripts in ``examples/`` run on the sample logs, and what they say is so."""

from __future__ import annotations

import runpy
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import gtidal
from gtidal.cli.main import main

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLES = Path(__file__).parents[2] / "examples"
SHOP = str(EXAMPLES / "shop")
SCRIPTS = sorted(EXAMPLES.glob("*.py"))


@pytest.mark.usefixtures("spark")
def test_the_examples(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def run(name: str, *arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", [name, SHOP, *arguments])
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        return capsys.readouterr().out

    assert [script.name for script in SCRIPTS] == [
        "commit_parallelism.py",
        "gtid_gaps.py",
        "large_transactions.py",
        "stream_to_parquet.py",
        "top_tables.py",
        "who_deleted.py",
    ]
    transactions = gtidal.transactions(SHOP).read_all().to_pylist()
    largest = max(transactions, key=lambda each: each["length"])

    said = run("large_transactions.py")
    assert f"0 of {len(transactions)} transactions have more than 100,000,000 bytes" in said
    assert f" {largest['length']}|" in said
    assert f"1 of {len(transactions)} transactions" in run(
        "large_transactions.py", str(largest["length"] - 1)
    )

    by_table = run("top_tables.py").splitlines()
    sizes = [int(line.split("|")[4]) for line in by_table if "shop." in line]
    assert len(sizes) >= 4
    assert sum(sizes) == sum(
        event["size"]
        for event in gtidal.events(SHOP).read_all().to_pylist()
        if event["type"] in ("WRITE_ROWS", "UPDATE_ROWS", "DELETE_ROWS")
    )

    deleted = run("who_deleted.py")
    expected = [
        change
        for change in gtidal.changes(SHOP, tables="customers", columns=["op", "gtid"]).read_all().to_pylist()
        if change["op"] == "delete"
    ]
    assert expected
    assert all(change["gtid"] in deleted for change in expected)
    assert deleted.count("RECORD") == len(expected)
    assert "RECORD" not in run("who_deleted.py", "customers", "name", "nobody")

    parallel = run("commit_parallelism.py")
    for file in ("binlog.000001", "binlog.000002", "binlog.000003"):
        groups = [each["last_committed"] for each in transactions if each["file"] == file]
        most = max(map(groups.count, groups))
        assert f"|{file}|{len(groups)}|{len(set(groups))}|{most}|" in "".join(parallel.split(" "))

    gaps = run("gtid_gaps.py")
    assert gaps.count("|[]") == len({(each["source_uuid"], each["tag"]) for each in transactions})


@pytest.mark.usefixtures("spark")
def test_gaps_are_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the file in the middle there is a gap."""
    for number in (1, 3):
        name = f"binlog.00000{number}"
        (tmp_path / name).write_bytes((EXAMPLES / "shop" / name).read_bytes())
    numbers = [
        each["gno"]
        for each in gtidal.transactions(EXAMPLES / "shop" / "binlog.000002").read_all().to_pylist()
        if not each["tag"]
    ]
    monkeypatch.setattr(sys, "argv", ["gtid_gaps.py", str(tmp_path)])
    runpy.run_path(str(EXAMPLES / "gtid_gaps.py"), run_name="__main__")
    assert f"[{min(numbers)}-{max(numbers)}]" in capsys.readouterr().out


def test_the_demo(
    spark: SparkSession, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    assert main(["demo"]) == 0
    out = capsys.readouterr().out
    assert out.count("$ gtidal query") == 3
    for shown in ("update_postimage", "rows of 3 logs", "What to try next:"):
        assert shown in out
    folder = Path(out.split("The Parquet files are in ")[1].splitlines()[0])
    assert spark.read.parquet(str(folder)).count() == gtidal.changes(SHOP).read_all().num_rows
    shutil.rmtree(folder)
