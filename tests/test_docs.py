"""The generated pages of docs/ are those that the code makes, and leave nothing out."""

from __future__ import annotations

import pytest

import make_docs  # tools/make_docs.py
from gtidal.columns.meanings import Meaning
from gtidal.columns.types import COLUMN_TYPES
from gtidal.events.registry import EVENTS


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
