"""Decoded values equal what the server's own SELECT says, value by value.

The rows of a log are applied, one after the other, to tables in memory: inserts put, deletes take away, updates
change what their images hold. In the end the tables must be what the server had (`tables.json`).
"""

from __future__ import annotations

import datetime
import re
import struct
from collections.abc import Callable
from itertools import zip_longest
from typing import Any, NamedTuple

import pytest

from gtidal.columns.charsets import Undecoded
from gtidal.columns.jsonb import Json
from gtidal.columns.meanings import Geometry, decompress_column
from gtidal.columns.temporal import Date, DateTime
from gtidal.columns.types import Column
from gtidal.events.images import ABSENT, JsonDiffs
from gtidal.events.registry import Event
from gtidal.events.rows import RowsEvent
from gtidal.events.statement import Query
from gtidal.events.transaction import XaPrepare
from tests.live.reading import events, every_scenario, open_decoder
from tests.live.scenarios import Logs

JSON_TYPE = 245
COMPRESSED_TYPES = (140, 141)
TEXTS = {"char", "varchar", "tinytext", "text", "mediumtext", "longtext"}


class Cell(NamedTuple):
    """A value as the log has it, and the column that tells its meaning."""

    column: Column
    value: Any

    @property
    def python(self) -> Any:
        return self.column.python(self.value)


def same_cell(one: Any, other: Any) -> bool:
    """Whether two values of a row that is looked for agree; what an image does not hold agrees with all."""
    if one is ABSENT or other is ABSENT:
        return True
    if one is None or other is None:
        return one is other
    if one.column.real_type == JSON_TYPE and isinstance(one.value, bytes):
        # The same document may be packed in several ways.
        return bool(one.python.text() == other.python.text())
    return bool(one.value == other.value)


class Replay:
    """Tables in memory that follow a log."""

    def __init__(self, names: list[str]) -> None:
        self.tables: dict[str, list[list[Any]]] = {name: [] for name in names}
        self.waiting: list[RowsEvent] = []
        self.prepared: dict[tuple[int, bytes, bytes], list[RowsEvent]] = {}

    def feed(self, event: Event) -> None:
        if isinstance(event, RowsEvent):
            self.waiting.append(event)
        elif isinstance(event, XaPrepare) and not event.one_phase:
            self.prepared[event.format_id & 0xFFFFFFFF, event.gtrid, event.bqual] = self.waiting
            self.waiting = []
        elif isinstance(event, Query) and (found := XA_END.match(event.query)):
            word, gtrid, bqual, format_id = found.groups()
            key = int(format_id) & 0xFFFFFFFF, bytes.fromhex(gtrid.decode()), bytes.fromhex(bqual.decode())
            rows = self.prepared.pop(key)
            self.waiting = rows if word == b"COMMIT" else []
            self.settle()
        elif event.name == "XID" or (isinstance(event, Query) and not event.query.startswith(b"XA END")):
            self.settle()

    def settle(self) -> None:
        for event in self.waiting:
            self.apply(event)
        self.waiting = []

    def apply(self, event: RowsEvent) -> None:
        table = event.table
        assert table is not None
        rows = self.tables.get(f"{table.schema}.{table.table}")
        if rows is None:
            return

        def cells(image: tuple[Any, ...]) -> list[Any]:
            pairs = zip(table.columns, image, strict=True)
            return [
                value if value is None or value is ABSENT else Cell(column, value) for column, value in pairs
            ]

        for row in event.rows:
            if row.before is None:
                assert row.after is not None
                rows.append(cells(row.after))
                continue
            before = cells(row.before)
            place = find(rows, before)
            if row.after is None:
                del rows[place]
            else:
                rows[place] = list(map(changed, rows[place], cells(row.after)))


XA_END = re.compile(rb"XA (COMMIT|ROLLBACK) X'(\w*)',X'(\w*)',(\d+)")


def find(rows: list[list[Any]], before: list[Any]) -> int:
    for place, row in enumerate(rows):
        if all(map(same_cell, before, row)):
            return place
    raise AssertionError(f"no row like {before}")


def changed(old: Any, new: Any) -> Any:
    """A value after an update: the new one, the old one where the image holds none, or the old one with the
    update's differences."""
    if new is ABSENT:
        return old
    if isinstance(new, Cell) and isinstance(new.value, JsonDiffs):
        return Cell(new.column, new.value.apply(old.value))
    return new


# --- a decoded value in the words of `snapshots.py` --------------------------------------------------------


def integer(cell: Cell, info: dict[str, Any]) -> str:
    value = cell.python
    if cell.column.unsigned is None and "unsigned" in info["full_type"] and value < 0:
        # A log without metadata does not tell the sign; here the server did.
        value += 1 << {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}[info["type"]]
    return f"{value:010d}" if "zerofill" in info["full_type"] else str(value)


def labelled(cell: Cell, info: dict[str, Any]) -> str:
    value = cell.python
    if cell.column.labels is None:
        return str(value)
    text = value if info["type"] == "enum" else ",".join(value)
    return f"{cell.value}/{(text.encode() if isinstance(text, str) else text).hex().upper()}"


def raw(cell: Cell) -> bytes:
    value = decompress_column(cell.value) if cell.column.type_code in COMPRESSED_TYPES else cell.value
    assert isinstance(value, bytes)
    return bytes(value)


def binary(cell: Cell, info: dict[str, Any]) -> str:
    value = bytes(cell.python)
    if cell.column.charset is None and (found := re.fullmatch(r"binary\((\d+)\)", info["full_type"])):
        value = value.ljust(int(found[1]), b"\0")
    if cell.column.charset is None and info["type"] in ("inet4", "inet6", "uuid"):
        value = value.ljust(4 if info["type"] == "inet4" else 16, b"\0")
    return value.hex().upper()


def characters(cell: Cell, info: dict[str, Any]) -> str:
    value = cell.python
    stored = raw(cell).hex().upper()
    if isinstance(value, str):
        return f"{stored}/{value.encode('utf-8', 'surrogatepass').hex().upper()}"
    return stored or "/"


def geometry(cell: Cell, info: dict[str, Any]) -> str:
    value = cell.python
    assert isinstance(value, Geometry)
    return ((value.srid or 0).to_bytes(4, "little") + value.wkb).hex().upper()


def vector(cell: Cell, info: dict[str, Any]) -> str:
    value = cell.python
    packed = struct.pack(f"<{len(value)}f", *value) if isinstance(value, tuple) else bytes(value)
    return packed.hex().upper()


def document(cell: Cell, info: dict[str, Any]) -> str:
    value = cell.python
    return value.text() if isinstance(value, Json) else str(value)


def moment(cell: Cell, info: dict[str, Any]) -> str:
    value, digits = cell.python, int(info["fsp"] or 0)
    if isinstance(value, Date | DateTime):
        return value.text(digits)
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None).isoformat(" ", "microseconds")[: 20 + digits if digits else 19]
    if isinstance(value, datetime.date):
        return value.isoformat()
    assert isinstance(value, datetime.timedelta)
    sign = "-" if value < datetime.timedelta(0) else ""
    seconds, micros = divmod(abs(value) // datetime.timedelta(microseconds=1), 1_000_000)
    fraction = f".{micros:06d}"[: digits + 1] if digits else ""
    return f"{sign}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{fraction}"


def kinds(names: str, function: Callable[[Cell, dict[str, Any]], str]) -> dict[str, Any]:
    return dict.fromkeys(names.split(), function)


WORDS: dict[str, Callable[[Cell, dict[str, Any]], str]] = {
    **kinds("tinyint smallint mediumint int bigint", integer),
    "bit": lambda cell, info: str(int(cell.python)),
    **kinds("enum set", labelled),
    **kinds("binary varbinary tinyblob blob mediumblob longblob inet4 inet6 uuid", binary),
    **kinds("char varchar tinytext text mediumtext longtext", characters),
    **kinds("geometry point linestring polygon multipoint multilinestring multipolygon", geometry),
    **kinds("geomcollection geometrycollection", geometry),
    **kinds("date datetime timestamp time", moment),
    **kinds("float double", lambda cell, info: repr(cell.python)),
    "decimal": lambda cell, info: f"{cell.python:f}",
    "year": lambda cell, info: f"{cell.python:04d}",
    "json": document,
    "vector": vector,
}


def problem(cell: Any, want: str | None, info: dict[str, Any]) -> str | None:
    """How a value differs from what the server says; None if it does not."""
    if cell is ABSENT:
        return None  # an insert with a minimal image left a default value out
    have = None if cell is None else WORDS[info["type"]](cell, info)
    if have == want:
        return None
    if have is not None and want is not None:
        if info["type"] in ("float", "double") and float(have) == float(want):
            return None
        if info["type"] in ("enum", "set") and have == want.split("/")[0] and cell.column.labels is None:
            return None
        if info["type"] in TEXTS and agree(cell.python, *want.split("/"), info["charset"]):
            return None
    return f"{info['name']} {info['full_type'][:40]} {info['charset'] or ''}: {have!r:.300} is {want!r:.300}"


# Charsets that Python has no codec for: their texts stay bytes.
NO_CODEC = {"armscii8", "dec8", "geostd8", "hp8", "keybcs2", "swe7"}
# Characters that Python knows and the server's own tables do not.
PYTHON_KNOWS = {
    "cp1256": "\u0679\u0688\u06a9\u0691\u06ba\u06be\u06c1\u06d2",
    "big5": "\u5345",
    "ucs2": "\U00010000",
}


def agree(value: Any, stored: str, text: str, charset: str) -> bool:
    """Whether a text that is not the server's own is right all the same."""
    theirs = bytes.fromhex(text).decode()
    if isinstance(value, str):
        more = PYTHON_KNOWS.get(charset, "")
        return all(one == other or one in more for one, other in zip_longest(value, theirs, fillvalue=""))
    if bytes(value).hex().upper() != stored:
        return False
    # Bytes: of no known charset, or no text in theirs. Then the server puts question marks.
    return not isinstance(value, Undecoded) or "?" in theirs or charset in NO_CODEC


@pytest.mark.parametrize("logs", every_scenario(), indirect=True)
def test_values(logs: Logs) -> None:
    wanted = logs.tables
    replay = Replay(list(wanted))
    for file in logs.binlogs:
        for event in events(open_decoder(logs, file)):
            replay.feed(event)
    replay.settle()
    problems: list[str] = []
    for name, table in wanted.items():
        problems += compare(name, table, replay.tables[name])
    assert not problems, "\n".join([f"{len(problems)} values differ", *problems[:20]])


def compare(name: str, table: dict[str, Any], have: list[list[Any]]) -> list[str]:
    infos, want = table["columns"], table["rows"]
    if len(have) != len(want):
        return [f"{name}: {len(have)} rows, the server has {len(want)}"]
    names = [info["name"] for info in infos]
    keys = [names.index(key) for key in table["key"]] or range(len(names))

    def words(row: list[Any]) -> list[str]:
        cells = zip(row, infos, strict=True)
        return [
            "" if cell in (None, ABSENT) else WORDS[info["type"]](cell, info).split("/")[0]
            for cell, info in cells
        ]

    def our_order(row: list[Any]) -> list[str]:
        ours = words(row)
        return [ours[n] for n in keys]

    def their_order(row: list[Any]) -> list[str]:
        return [(row[n] or "").split("/")[0] for n in keys]

    problems = []
    for ours, theirs in zip(sorted(have, key=our_order), sorted(want, key=their_order), strict=True):
        for info, cell, text in zip(infos, ours, theirs, strict=True):
            if found := problem(cell, text, info):
                problems.append(f"{name} {their_order(theirs)[:2]}: {found}")
    return problems
