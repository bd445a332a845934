"""Typed rows hold what the server's own SELECT shows, value by value.

Tables are rebuilt from ``rows`` alone: those of the scenarios that were only written to, with whole images.
"""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import Any

import pytest

import gtidal
from gtidal.columnar.schemas import ROWS
from gtidal.columnar.variant import decode
from gtidal.errors import DecodeError
from tests.live.reading import every_scenario
from tests.live.scenarios import Logs
from tests.live.test_table_state import Image, Info, Rows, full, image, problems, rebuilt, same


def is_no_date(text: str) -> bool:
    """Parts that are zero, and days that the month does not have: null in a typed column."""
    try:
        datetime.date.fromisoformat(text[:10])
    except ValueError:
        return True
    return False


def only_written(files: list[Path], **options: Any) -> dict[str, int]:
    """The tables that no statement changed behind their first row, and whose images are all whole: their widths."""
    widths: dict[str, set[int]] = {}
    touched: set[str] = set()
    columns = ["schema", "table", "op", "before", "after", "outcome", "query"]
    for batch in gtidal.changes(files, columns=columns, **options):
        for change in batch.to_pylist():
            if change["op"] == "ddl":
                words = re.findall(r"[\w$.-]+", change["query"].replace("`", ""))
                touched |= {full(word, change["schema"]) for word in words} & set(widths)
            elif change["table"] is not None:
                name = f"{change['schema']}.{change['table']}"
                images = (image(change["before"]), image(change["after"]))
                widths.setdefault(name, set()).update(len(each) for each in images if each is not None)
                if change["outcome"] != "commit":
                    touched.add(name)
    return {name: max(found) for name, found in widths.items() if name not in touched and len(found) == 1}


def typed_state(files: list[Path], table: str, key: list[str] | None, **options: Any) -> Rows:
    found = Rows()
    before: Image | None = None
    for batch in gtidal.rows(files, table, **options):
        for row in batch.to_pylist():
            own = {name: plain(value) for name, value in row.items() if name not in ROWS.names}
            match row["_change_type"]:
                case "insert":
                    found.add(own, key)
                case "delete":
                    found.change(own, None, key)
                case "update_preimage":
                    before = own
                case "update_postimage":
                    assert before is not None
                    found.change(before, own, key)
                    before = None
    return found


def plain(value: Any) -> Any:
    if isinstance(value, dict) and set(value) == {"value", "metadata"}:
        return decode(value["value"], value["metadata"])
    if isinstance(value, datetime.timedelta):
        microseconds = abs(value) // datetime.timedelta(microseconds=1)
        seconds, fraction = divmod(microseconds, 1_000_000)
        sign = "-" if value < datetime.timedelta(0) else ""
        return f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{fraction:06}"
    return value


def same_typed(value: Any, text: str | None, info: Info) -> bool:
    if value is None and text is not None and info["type"] in ("date", "datetime", "timestamp"):
        return is_no_date(text)
    if info["type"] == "time" and isinstance(value, str) and text is not None:
        digits = int(info["fsp"] or 0)
        return value[: len(value) - 6 + digits if digits else -7] == text
    return same(value, text, info)


@pytest.mark.parametrize("logs", every_scenario(), indirect=True)
def test_scenarios(logs: Logs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.live.test_table_state.same", same_typed)
    if not logs.tables:
        return
    key_file = next(
        (logs.folder / name for name in ("keyring", "keys") if (logs.folder / name).exists()), None
    )
    options = {"key_file": key_file}
    state = rebuilt(logs.binlogs, **options)
    written = only_written(logs.binlogs, **options)
    wrong = []
    for name in sorted(set(written) & set(logs.tables)):
        table = logs.tables[name]
        if any(row.keys() & {"@1"} for row in state.tables[name]):
            key = []  # the log does not name columns
        else:
            key = table["key"]
        try:
            found = typed_state(logs.binlogs, name, key or None, **options)
        except DecodeError as error:  # a text column that holds no text; changes show it
            assert "is no text in" in str(error), error
            continue
        wrong += problems(name, table, found)
    assert not wrong, "\n".join([f"{len(wrong)} differ", *wrong[:20]])


def test_a_wrong_value_is_seen() -> None:
    info: Info = {"type": "datetime", "full_type": "datetime", "name": "a", "charset": None, "fsp": None}
    assert same_typed(None, "2024-00-10 00:00:00", info)
    assert not same_typed(None, "2024-01-10 00:00:00", info)
    time = info | {"type": "time", "fsp": 2}
    assert same_typed(plain(-datetime.timedelta(hours=838, microseconds=120000)), "-838:00:00.12", time)
    assert not same_typed(plain(datetime.timedelta(hours=838)), "-838:00:00.00", time)
