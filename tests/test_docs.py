"""The generated pages of docs/ are those that the code makes, and leave nothing out; README's examples run."""

from __future__ import annotations

import re
import shlex

import pytest

import make_docs  # tools/make_docs.py
from gtidal.cli.main import main
from gtidal.columns.meanings import Meaning
from gtidal.columns.types import COLUMN_TYPES
from gtidal.events.registry import EVENTS

ROOT = make_docs.DOCS.parent


def page(name: str) -> str:
    return (make_docs.DOCS / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(make_docs.PAGES))
def test_page_is_current(name: str) -> None:
    assert page(name) == make_docs.PAGES[name](), "run: python tools/make_docs.py"


@pytest.mark.parametrize("path", make_docs.all_commands(), ids=" ".join)
def test_command_is_documented(path: tuple[str, ...]) -> None:
    assert f"\n## {' '.join(['gtidal', *path])}\n" in page("cli.md")
    assert len(make_docs.help_text(path).splitlines()) > 2


@pytest.mark.parametrize("cls", EVENTS.values(), ids=lambda cls: cls.name)
def test_event_is_documented(cls: type) -> None:
    text = make_docs.first_line(cls)
    assert text
    assert not text.startswith(cls.__name__ + "("), "has no docstring of its own"
    assert f"| {cls.name} | {text.replace('|', chr(92) + '|')} |" in page("events.md")


@pytest.mark.parametrize("row", COLUMN_TYPES, ids=lambda row: row.name)
def test_column_type_is_documented(row: object) -> None:
    assert f"| {row.code} | {row.name} |" in page("column-types.md")  # type: ignore[attr-defined]


def test_every_meaning_has_words() -> None:
    assert set(make_docs.MEANING_TEXT) == set(Meaning)


def test_the_python_in_the_readme_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    examples = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert len(examples) == 4
    for example in examples:
        exec(compile(example, "README.md", "exec"), {})
        assert capsys.readouterr().out


def test_the_commands_in_the_readme_run(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(ROOT)
    text = (ROOT / "README.md").read_text("utf-8")
    commands = re.findall(r"^\$ gtidal (.*)\n((?:[^$`].*\n)*)", text, re.MULTILINE)
    assert len(commands) == 4
    for command, shown in commands:
        assert main(shlex.split(command)) == 0
        printed = capfdbinary.readouterr().out.decode()
        assert printed == shown if shown else printed
