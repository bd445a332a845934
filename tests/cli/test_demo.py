"""``gtidal demo``: the tour is found, runs real commands, and stays short."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow.parquet
import pytest

import gtidal
from gtidal.cli import demo
from gtidal.cli.main import main
from tests.cli import example_logs

EXAMPLES = Path(__file__).parents[2] / "examples" / "shop"


def check(out: str) -> None:
    for command in ("logs", "tables", "inspect", "dump", "verify", "gtid"):
        assert f"\n$ gtidal {command}" in out
    assert "### DELETE FROM" in out
    assert len(out.splitlines()) < 200, "it must be readable in a minute"


def test_without_a_java_it_is_shown_in_python(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gtidal.spark.java._candidates", lambda: iter(()))
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["demo"]) == 0
    out = capfd.readouterr().out
    assert out.startswith("Spark needs Java 17 or newer: install one, or pip install 'gtidal[java]'. ")
    for shown in (">>> gtidal.changes('examples/shop'", ">>> gtidal.rows('examples/shop', 'shop.orders'"):
        assert shown in out
    assert "update_postimage" in out
    folder = Path(out.split("The Parquet files are in ")[1].splitlines()[0])
    assert pyarrow.parquet.read_table(folder).num_rows == gtidal.changes(EXAMPLES).read_all().num_rows
    shutil.rmtree(folder)


def test_tour_of_the_sample_log(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["demo", "--tour"]) == 0
    out = capfd.readouterr().out
    check(out)
    assert str(EXAMPLES.parents[1]) not in out, "commands are shown as a user in the checkout types them"


@pytest.mark.soak
def test_tour_finds_what_it_shows(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In any log: here one of our own making, below the current folder."""
    folder = tmp_path / "examples" / "tour"
    folder.mkdir(parents=True)
    example_logs.two_logs(folder)
    monkeypatch.setattr(demo, "SAMPLE", Path("examples") / "tour")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--tour"]) == 0
    out = capfd.readouterr().out
    check(out)
    assert str(tmp_path) not in out
    assert "b8ae2fd2-3005-11f0-8be8-0242ac150002:1\n" in out  # all but the deletion
    assert "\nexamples/tour/binlog.000002\n" in out  # where to go on


def test_a_log_without_deletions_has_a_tour(tmp_path: Path) -> None:
    example_logs.write(tmp_path, example_logs.seed_log())
    assert [step.arguments[0] for step in demo.steps(tmp_path)] == [
        "logs",
        "tables",
        "inspect",
        "verify",
        "gtid",
    ]


def test_without_the_sample_log_it_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "SAMPLE", Path("examples") / "nothing-here")
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("gtidal: the sample log examples/nothing-here is not here")
    assert said.err.count("\n") == 1


def test_commands_are_shown_as_typed() -> None:
    words = ["gtid", "subtract", "a:1-5, b:1", "examples/shop"]
    assert demo.shown_command(words) == "gtidal gtid subtract 'a:1-5, b:1' examples/shop"
