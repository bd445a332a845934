"""Writes the generated pages of docs/ from the code: `python tools/make_docs.py`.

tests/test_docs.py fails when a page is not what this script would write.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import typer

from gtidal.cli.main import app
from gtidal.columns.meanings import Meaning
from gtidal.columns.types import BIG, COLUMN_TYPES, LITTLE, NONE, ONE, ColumnType
from gtidal.events.header import FLAGS
from gtidal.events.registry import EVENTS, Event

DOCS = Path(__file__).resolve().parents[1] / "docs"
NOTE = "<!-- Written by tools/make_docs.py. Change the code, then run it. -->"

METADATA_TEXT = {NONE: "none", ONE: "1 byte", LITTLE: "2 bytes, little-endian", BIG: "2 bytes, big-endian"}
MEANING_TEXT = {
    Meaning.INTEGER: "int",
    Meaning.FLOAT: "float",
    Meaning.EXACT: "Decimal",
    Meaning.BIT: "int; bool for BIT(1)",
    Meaning.YEAR: "int",
    Meaning.DATE: "date; zero dates as they are",
    Meaning.TIME: "timedelta",
    Meaning.DATETIME: "datetime without zone; zero dates as they are",
    Meaning.TIMESTAMP: "datetime in UTC",
    Meaning.CHARACTERS: "str, bytes if binary or the charset is unknown",
    Meaning.COMPRESSED: "as CHARACTERS, unpacked (MariaDB)",
    Meaning.ENUM: "label; the number without labels",
    Meaning.SET: "labels; the number without labels",
    Meaning.JSON: "Json",
    Meaning.GEOMETRY: "SRID and well-known binary",
    Meaning.VECTOR: "floats",
    Meaning.NULL: "None",
    Meaning.UNKNOWN: "cannot be read",
}


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The path of every command, groups before what is in them."""
    yield path
    for name, inside in getattr(command, "commands", {}).items():
        yield from commands(inside, (*path, name))


def all_commands() -> list[tuple[str, ...]]:
    return list(commands(typer.main.get_command(app)))


def help_text(path: tuple[str, ...]) -> str:
    """What `--help` prints on a terminal of the usual width."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), mock.patch.dict(os.environ, {"COLUMNS": "100"}):
        app(args=[*path, "--help"], prog_name="gtidal", standalone_mode=False)
    return "\n".join(line.rstrip() for line in out.getvalue().strip().splitlines())


def cli_page() -> str:
    parts = [
        "# The command line",
        NOTE,
        "Data goes to stdout, messages to stderr. Exit code 0: fine, 1: the data has a problem, 2: wrong use.",
    ]
    for path in all_commands():
        parts += [f"## {' '.join(['gtidal', *path])}", f"```\n{help_text(path)}\n```"]
    return "\n\n".join(parts) + "\n"


def first_line(cls: type[Any]) -> str:
    """The first sentence of a docstring."""
    text = " ".join((cls.__doc__ or "").split())
    return text.partition(". ")[0].removesuffix(".")


def event_fields(cls: type[Event]) -> list[str]:
    own = {field.name for field in dataclasses.fields(Event)}
    return [field.name for field in dataclasses.fields(cls) if field.name not in own and field.repr]


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def events_page() -> str:
    parts = [
        "# Events",
        NOTE,
        "Every event is a frozen dataclass: `header`, the fields below, and `checksum`. A type code that is "
        "not listed becomes `Unknown` with its bytes. `gtidal inspect FILE --at POSITION` shows each field's "
        "bytes.",
    ]
    rows = ["| code | type | what it is | fields |", "|---:|---|---|---|"]
    for code, cls in sorted(EVENTS.items()):
        names = ", ".join(f"`{name}`" for name in event_fields(cls))
        rows.append(f"| {code} | {cls.name} | {cell(first_line(cls))} | {names} |")
    flags = ["## Header flags", "| bit | name |\n|---|---|"]
    flags[-1] += "".join(f"\n| 0x{bit:04x} | {name} |" for bit, name in FLAGS.items())
    return "\n\n".join([*parts, "\n".join(rows), *flags]) + "\n"


def told_by(row: ColumnType) -> str:
    parts = []
    if row.numeric:
        parts.append("sign")
    if row.character or row.meaning in (Meaning.ENUM, Meaning.SET):
        parts.append("charset")
    if row.meaning in (Meaning.ENUM, Meaning.SET):
        parts.append("labels")
    if row.meaning is Meaning.GEOMETRY:
        parts.append("kind of geometry")
    if row.meaning is Meaning.VECTOR:
        parts.append("dimension")
    return ", ".join(parts)


def column_types_page() -> str:
    parts = [
        "# Column types",
        NOTE,
        "The types of a TABLE_MAP. CHAR, BINARY, ENUM and SET are all logged as STRING with the real type in "
        "the metadata. Names, visibility and the primary key are optional metadata of every column.",
    ]
    rows = ["| code | type | metadata | optional metadata | Python value |", "|---:|---|---|---|---|"]
    for row in COLUMN_TYPES:
        metadata = METADATA_TEXT[row.metadata]
        rows.append(
            f"| {row.code} | {row.name} | {metadata} | {told_by(row)} | {MEANING_TEXT[row.meaning]} |"
        )
    return "\n\n".join([*parts, "\n".join(rows)]) + "\n"


PAGES = {"cli.md": cli_page, "events.md": events_page, "column-types.md": column_types_page}


def main() -> int:
    DOCS.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        path = DOCS / name
        text = page()
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote docs/{name}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
