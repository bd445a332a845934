"""The command itself: what it loads, what it lists, what it takes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer

import gtidal
from gtidal.cli.main import SUMMARIES, app, main

SHOP = Path(__file__).parents[2] / "examples" / "shop"
LOG = str(SHOP / "binlog.000002")
WATCHED = ("numpy", "pyarrow", "pydantic", "pyspark", "rich.console", "gtidal.events", "gtidal.views")
RUN = f"""
import json, sys
from gtidal.cli.main import main
code = main(sys.argv[1:])
print(json.dumps([name for name in {WATCHED} if name in sys.modules]), file=sys.stderr)
sys.exit(code)
"""


def loaded_by(*arguments: str) -> set[str]:
    """What a command has loaded when it is done, of the libraries that take long."""
    process = subprocess.run(
        [sys.executable, "-c", RUN, *arguments], capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr
    assert process.stdout
    return set(json.loads(process.stderr.splitlines()[-1]))


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_nothing_is_loaded_to_tell_about_the_command(option: str) -> None:
    assert loaded_by(option) == set()


@pytest.mark.parametrize(
    "arguments",
    [
        ("logs", LOG),
        ("tables", LOG),
        ("verify", "--output", "json", LOG),
        ("dump", "-vv", "--threads", "2", LOG),
        ("inspect", "--output", "json", LOG),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_command_loads_what_it_uses(arguments: tuple[str, ...]) -> None:
    assert loaded_by(*arguments) == {"numpy", "gtidal.events"}


def test_sets_need_no_numbers() -> None:
    assert loaded_by("gtid", "count", "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5") == {"gtidal.events"}


def test_the_package_is_loaded_name_by_name() -> None:
    """The function ``events`` hides the package, whether that is imported before or after."""
    check = """
import sys, gtidal
assert not any(name.startswith("gtidal.") for name in sys.modules), sys.modules
import gtidal.events.rows
assert callable(gtidal.events)
assert "pyarrow" not in sys.modules
from gtidal import *
assert all(name in globals() and name in dir(gtidal) for name in gtidal.__all__)
assert gtidal.events is events and gtidal.changes is changes
"""
    subprocess.run([sys.executable, "-c", check], check=True)
    with pytest.raises(AttributeError, match="has no attribute 'evens'"):
        _ = gtidal.evens


def test_every_command_is_there() -> None:
    group = typer.main.get_group(app)
    modules = {path.stem for path in Path(main.__code__.co_filename).parent.glob("*.py")}
    assert set(group.commands) == set(SUMMARIES) <= modules
    assert [command.name for command in group.commands.values()] == list(SUMMARIES)


def test_commands_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    said = capsys.readouterr().out
    for name, summary in SUMMARIES.items():
        assert f"  {name:9}{summary}\n" in said  # in one line of a usual terminal


def test_a_command_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lgos"]) == 2
    assert "No such command 'lgos'. Did you mean 'logs'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["logs", "--output", "xml", LOG], "'xml' is not one of 'text', 'json'"),
        (["dump", "--threads", "0", LOG], "greater than or equal to 1"),
        (["dump", "--threads", "two", LOG], "valid integer"),
        (["dump", "--offset", "-1", LOG], "greater than or equal to 0"),
        (["dump", "--stop-position", "9" * 5000, LOG], "--stop-position"),
    ],
    ids=lambda value: " ".join(value)[:30],
)
def test_a_wrong_value(arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert complaint in said
    assert "Traceback" not in said
