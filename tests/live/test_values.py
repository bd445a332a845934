"""Decoded values equal what the server's own SELECT says, value by value.

The rows of a log are applied, one after the other, to tables in memory: inserts put, deletes take away, updates
change what their images hold. In the end the tables must be what the server had (`tables.json`).
"""

from __future__ import annotations

import datetime
import struct
from decimal import Decimal
from typing import Any

import pytest

from gtidal.columns.charsets import Undecoded
from gtidal.columns.jsonb import Json
from gtidal.columns.meanings import Geometry
from gtidal.columns.temporal import Date, DateTime
from gtidal.events.rows import ABSENT, RowsEvent, apply_json_diffs
from tests.live.reading import events, every_scenario, open_decoder
from tests.live.scenarios import Logs

Table = dict[Any, list[Any]]


class Replay:
    """Tables in memory. Rows without a key are found by their whole content."""

    def __init__(self, wanted: dict[str, Any]) -> None:
        self.wanted = wanted
        self.tables: dict[str, list[list[Any]]] = {name: [] for name in wanted}

    def apply(self, event: RowsEvent) -> None:
        table = event.table
        if table is None or f"{table.schema}.{table.table}" not in self.wanted:
            return
        name = f"{table.schema}.{table.table}"
        rows = self.tables[name]
        for row in event.rows:
            before = row.before
            after = apply_json_diffs(row) if row.after is not None else None
            if before is None:
                assert after is not None
                rows.append(list(self.values(event, after)))
                continue
            place = self.find(rows, list(self.values(event, before)))
            if after is None:
                del rows[place]
            else:
                new = self.values(event, after)
                rows[place] = [old if value is ABSENT else value for old, value in zip(rows[place], new, strict=True)]

    @staticmethod
    def values(event: RowsEvent, image: tuple[Any, ...]) -> list[Any]:
        assert event.table is not None
        return [
            value if value is ABSENT or value is None else (column, value)
            for column, value in zip(event.table.columns, image, strict=True)
        ]

    @staticmethod
    def find(rows: list[list[Any]], image: list[Any]) -> int:
        for place, row in enumerate(rows):
            if all(
                wanted is ABSENT or plain(wanted) == plain(have) for wanted, have in zip(image, row, strict=True)
            ):
                return place
        raise AssertionError(f"no row like {image}")


def plain(value: Any) -> Any:
    """What of a value is compared when a row is looked for; a JSON document may be packed in several ways."""
    if value is None or value is ABSENT:
        return None
    column, physical = value
    return column.python(physical).text() if column.real_type == 245 else physical


def unsigned(value: int, full_type: str) -> int:
    """Logs without metadata do not tell the sign of an integer; a comparison needs it."""
    return value


def expected_text(column: Any, value: Any, info: dict[str, Any], kind: str) -> str:
    """A decoded value in the words of `snapshots.py`."""
    python = column.python(value)
    name = info["type"]
    if name in ("bit", "enum", "set"):
        return str(int(value))
    if name in TEXT_TYPES:
        raw = stored_bytes(column, value, python, info)
        return f"{raw.hex().upper()}/{text_bytes(python, info).hex().upper()}"
    if name in BYTE_TYPES:
        return stored_bytes(column, value, python, info).hex().upper()
    if name in GEOMETRIES:
        assert isinstance(python, Geometry)
        return ((python.srid or 0).to_bytes(4, "little") + python.wkb).hex().upper()
    if name == "vector":
        if isinstance(python, tuple):
            return struct.pack(f"<{len(python)}f", *python).hex().upper()
        return bytes(python).hex().upper()
    if name == "json":
        if isinstance(python, Json):
            return python.text()
        return python if isinstance(python, str) else bytes(python).decode()
    if name in ("float", "double"):
        return repr(python)
    if name == "decimal":
        assert isinstance(python, Decimal)
        return f"{python:f}"
    if name == "year":
        return f"{python:04d}"
    if name in ("date", "datetime", "timestamp", "time"):
        return temporal_text(python, int(info["fsp"] or 0))
    return str(python)


TEXT_TYPES = {"char", "varchar", "tinytext", "text", "mediumtext", "longtext"}
BYTE_TYPES = {"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "inet4", "inet6", "uuid"}
GEOMETRIES = {
    *("geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon"),
    *("geomcollection", "geometrycollection"),
}


def stored_bytes(column: Any, value: Any, python: Any, info: dict[str, Any]) -> bytes:
    if isinstance(python, bytes):
        return bytes(python)
    return bytes(value) if isinstance(value, bytes) else str(python).encode()


def text_bytes(python: Any, info: dict[str, Any]) -> bytes:
    if isinstance(python, str):
        return python.encode("utf-8", "surrogatepass")
    assert isinstance(python, bytes)
    return bytes(python)


def temporal_text(value: Any, digits: int) -> str:
    if isinstance(value, Date | DateTime):
        return value.text(digits)
    if isinstance(value, datetime.datetime):
        text = value.replace(tzinfo=None).isoformat(" ", "microseconds")
        return text[: 20 + digits] if digits else text[:19]
    if isinstance(value, datetime.date):
        return value.isoformat()
    assert isinstance(value, datetime.timedelta)
    sign, whole = ("-", -value) if value < datetime.timedelta(0) else ("", value)
    seconds, micros = divmod(whole // datetime.timedelta(microseconds=1), 1_000_000)
    fraction = f".{micros:06d}"[: digits + 1] if digits else ""
    return f"{sign}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{fraction}"


def same(have: str | None, want: str | None, info: dict[str, Any]) -> bool:
    if have == want:
        return True
    if have is None or want is None:
        return False
    if info["type"] in ("float", "double"):
        return float(have) == float(want)
    return False


@pytest.mark.parametrize("logs", every_scenario(), indirect=True)
def test_values(logs: Logs) -> None:
    wanted = logs.tables
    if not wanted:
        pytest.skip("keeps no table") if False else None
        return
    replay = Replay(wanted)
    for file in logs.binlogs:
        for event in events(open_decoder(logs, file)):
            if isinstance(event, RowsEvent):
                replay.apply(event)
    problems = []
    for name, table in wanted.items():
        problems += compare(name, table, replay.tables[name], logs.scenario.kind)
    assert not problems, "\n".join([f"{len(problems)} values differ", *problems[:20]])


def compare(name: str, table: dict[str, Any], rows: list[list[Any]], kind: str) -> list[str]:
    infos = table["columns"]
    have = [
        [None if value is None or value is ABSENT else expected_text(*value, info, kind) for value, info in zip(row, infos, strict=True)]
        for row in rows
    ]
    want = table["rows"]
    if len(have) != len(want):
        return [f"{name}: {len(have)} rows, the server has {len(want)}"]
    keys = [next(n for n, info in enumerate(infos) if info["name"] == key) for key in table["key"]]

    def order(row: list[Any]) -> list[str]:
        return [str(row[n]) for n in keys] if keys else [str(value) for value in row]

    problems = []
    for ours, theirs in zip(sorted(have, key=order), sorted(want, key=order), strict=True):
        for info, left, right in zip(infos, ours, theirs, strict=True):
            if not same(left, right, info):
                problems.append(f"{name} {order(theirs)[:3]} {info['name']} {info['full_type'][:40]}: {left!r:.200} is {right!r:.200}")
    return problems
