"""``gtidal demo``: the tour is found, runs real commands, and stays short."""

from __future__ import annotations

from pathlib import Path

import pytest

from gtidal.cli import demo
from gtidal.cli.main import main
from tests.cli import example_logs

EXAMPLES = Path(__file__).parents[2] / "examples" / "shop"


def test_tour_of_the_sample_log(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["demo"]) == 0
    out = capfd.readouterr().out
    for command in ("logs", "tables", "inspect", "dump", "verify", "gtid"):
        assert f"$ gtidal {command}" in out
    assert "DELETE FROM" in out
    assert str(EXAMPLES.parents[1]) not in out, "commands are shown as a user in the checkout types them"
    assert len(out.splitlines()) < 220, "it must be readable in a minute"
    assert max(map(len, out.splitlines())) <= 200


def test_finds_the_deletion(tmp_path: Path) -> None:
    path = Path(example_logs.write(tmp_path, example_logs.seed_log()))
    assert demo.find_deletion([demo.LogFile(path)]) is None  # it holds GTIDs and no rows


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
    base = Path("/somewhere/checkout")
    words = ["gtid", "subtract", "a:1-5, b:1", str(base / "examples" / "shop")]
    assert demo.shown_command(words, base) == "gtidal gtid subtract 'a:1-5, b:1' examples/shop"
