"""``docs/views.md`` names every column of every view, with its type, in order."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

from gtidal.columnar import schemas

PAGE = (Path(__file__).parents[2] / "docs" / "views.md").read_text(encoding="utf-8")
NAMES = {
    schemas.STRING: "string",
    schemas.BIGINT: "bigint",
    schemas.BOOLEAN: "boolean",
    schemas.TIMESTAMP: "timestamp",
    schemas.UNSIGNED: "decimal(20,0)",
    schemas.STRINGS: "array<string>",
    schemas.VARIANT: "variant",
    pa.int16(): "smallint",
}


@pytest.mark.parametrize("view", ["events", "transactions", "changes", "rows"])
def test_columns(view: str) -> None:
    section = PAGE.split(f"\n## {view}\n")[1].split("\n## ")[0]
    written = re.sub(r"\s+", " ", re.search(r"`(_?\w+ string!,[^`]+)`", section)[1])
    schema = getattr(schemas, view.upper())
    expected = ", ".join(
        f"{field.name} {NAMES[field.type]}{'' if field.nullable else '!'}" for field in schema
    )
    assert written == expected


def test_options() -> None:
    from gtidal.requests import FINDING, OPTIONS

    table = PAGE.split("## What is read")[1]
    for name in (OPTIONS | FINDING) - {"include_uncommitted"}:
        assert f"`{name}`" in table
    assert "`columns`" in table
    assert "include_uncommitted=True" in PAGE
