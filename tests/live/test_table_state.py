"""Tables rebuilt from ``changes`` alone are what the server's own SELECT shows, value by value.

Inserts put, updates and deletes find their row by its key, or by the whole image where there is none. What an XA
transaction changed waits for its fate. TRUNCATE, DROP and RENAME come from the ``ddl`` rows.
"""

from __future__ import annotations

import datetime
import json
import re
import struct
from collections.abc import Callable, Iterator
from copy import deepcopy
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import gtidal
from gtidal.columnar.variant import decode
from tests.live.conftest import StartMariaDB, StartMySQL
from tests.live.reading import every_scenario
from tests.live.scenarios import Logs
from tests.live.servers import Server
from tests.live.snapshots import snapshot
from tests.live.test_values import agree

COLUMNS = ["schema", "table", "op", "key", "before", "after", "outcome", "xa", "query"]
Variant = tuple[bytes, bytes]
Image = dict[str, Any]
"""By column. A column that an image does not hold is not there."""
ABSENT = object()


def image(variant: dict[str, bytes] | None) -> Image | None:
    if variant is None:
        return None
    found = decode(variant["value"], variant["metadata"])
    assert isinstance(found, dict)
    return found


class Rows:
    """The rows of one table, found by key where there is one."""

    def __init__(self) -> None:
        self.rows: list[Image | None] = []
        self.places: dict[str, int] = {}
        """By the key's values. A row that is gone leaves its place empty."""

    def __iter__(self) -> Iterator[Image]:
        return (row for row in self.rows if row is not None)

    def add(self, row: Image, key: list[str] | None) -> None:
        if key is not None:
            assert key_of(row, key) not in self.places, f"two rows with the key {key_of(row, key)}"
            self.places[key_of(row, key)] = len(self.rows)
        self.rows.append(row)

    def find(self, before: Image, key: list[str] | None) -> int:
        if key is not None:
            return self.places[key_of(before, key)]
        for place, row in enumerate(self.rows):
            if row is not None and all(
                name not in row or same_value(row[name], value) for name, value in before.items()
            ):
                return place
        raise AssertionError(f"no row like {before}")

    def change(self, before: Image, after: Image | None, key: list[str] | None) -> None:
        place = self.find(before, key)
        old = self.rows[place]
        assert old is not None
        if key is not None:
            del self.places[key_of(old, key)]
        if after is None:
            self.rows[place] = None
            return
        row = dict(old)
        for name, value in after.items():
            if name.endswith(" (diff)"):
                column = name.removesuffix(" (diff)")
                row[column] = with_diffs(row[column], value)
            else:
                row[name] = value
        self.rows[place] = row
        if key is not None:
            self.places[key_of(row, key)] = place


def same_value(one: Any, other: Any) -> bool:
    """1 and 1.0 and True are three values."""
    return repr(one) == repr(other)


def key_of(row: Image, key: list[str]) -> str:
    return repr([row[name] for name in key])


PATH_STEP = re.compile(r'\.(?:"((?:[^"\\]|\\.)*)"|([^.\[]+))|\[(\d+)\]')


def with_diffs(document: Any, diffs: list[Any]) -> Any:
    """A JSON document with the differences that a partial update logged for it."""
    document = deepcopy(document)
    for diff in diffs:
        operation, path = diff["operation"].lower(), diff["path"]
        steps: list[Any] = [
            int(index) if index else json.loads(f'"{quoted}"') if quoted else plain
            for quoted, plain, index in (found.groups() for found in PATH_STEP.finditer(path))
        ]
        holder = document
        for step in steps[:-1]:
            holder = holder[step]
        last = steps[-1]
        if operation == "remove":
            del holder[last]
        elif operation == "insert" and isinstance(holder, list):
            holder.insert(last, diff["value"])
        else:
            holder[last] = diff["value"]
    return document


class State:
    """All tables."""

    def __init__(self) -> None:
        self.tables: dict[str, Rows] = {}
        self.prepared: dict[str, list[dict[str, Any]]] = {}
        self.seen: set[str] = set()
        """Operations and outcomes that came."""

    def feed(self, change: dict[str, Any]) -> None:
        operation, xa = change["op"], change["xa"]
        self.seen |= {operation, change["outcome"]}
        if operation in ("xa_commit", "xa_rollback"):
            waiting = self.prepared.pop(xa)
            for one in waiting if operation == "xa_commit" else []:
                self.apply(one)
        elif operation == "ddl":
            self.define(change["query"], change["schema"])
        elif change["outcome"] == "prepared" and xa is not None:
            self.prepared.setdefault(xa, []).append(change)
        elif operation in ("insert", "update", "delete"):
            self.apply(change)

    def apply(self, change: dict[str, Any]) -> None:
        rows = self.tables.setdefault(f"{change['schema']}.{change['table']}", Rows())
        before, after, key = image(change["before"]), image(change["after"]), change["key"]
        if before is None:
            assert after is not None
            rows.add(after, key)
        else:
            rows.change(before, after, key)

    def define(self, query: str, schema: str | None) -> None:
        words = " ".join(query.replace("`", "").replace("/*", " /*").split())
        if found := re.match(r"TRUNCATE (?:TABLE )?([\w.]+)", words, re.IGNORECASE):
            self.tables[full(found[1], schema)] = Rows()
        elif found := re.match(r"DROP TABLE (?:IF EXISTS )?([\w., ]+)", words, re.IGNORECASE):
            for name in found[1].split(","):
                self.tables.pop(full(name.strip(), schema), None)
        elif found := re.match(r"RENAME TABLE ([\w.]+) TO ([\w.]+)", words, re.IGNORECASE):
            self.tables[full(found[2], schema)] = self.tables.pop(full(found[1], schema), Rows())


def full(name: str, schema: str | None) -> str:
    return name if "." in name else f"{schema}.{name}"


def rebuilt(files: list[Path], **options: Any) -> State:
    state = State()
    for batch in gtidal.changes(files, columns=COLUMNS, **options):
        for change in batch.to_pylist():
            state.feed(change)
    return state


# --- a value in the words of `snapshots.py`: None if it is the server's, else what it is


Info = dict[str, Any]
SIZES = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}


def integer(value: Any, want: str, info: Info) -> bool:
    if value < 0 and "unsigned" in info["full_type"]:
        value += 1 << SIZES[info["type"]]  # a log without metadata does not tell the sign
    return int(want) == value


def labelled(value: Any, want: str, info: Info) -> bool:
    number, label = want.split("/")
    if isinstance(value, int | Decimal):  # the log has no labels
        return int(number) == value
    if isinstance(value, bytes):  # labels of a binary column
        return bytes.fromhex(label) == value
    text = value if isinstance(value, str) else ",".join(map(str, value))
    return bytes.fromhex(label).decode() == text


def binary(value: Any, want: str, info: Info) -> bool:
    found = value.encode() if isinstance(value, str) else value
    padded = re.fullmatch(r"binary\((\d+)\)", info["full_type"])
    sizes = {"inet4": 4, "inet6": 16, "uuid": 16}
    size = int(padded[1]) if padded else sizes.get(info["type"], 0)
    return bytes.fromhex(want) == found.ljust(size, b"\0")


def characters(value: Any, want: str, info: Info) -> bool:
    stored, text = want.split("/")
    if isinstance(value, bytes):
        return value.hex().upper() == stored
    if agree(value, stored, text, info["charset"]):
        return True
    # Without metadata the charset is not known: what is UTF-8 is a string.
    return bool(info.get("unknown")) and value.encode().hex().upper() == stored


def geometry(value: Any, want: str, info: Info) -> bool:
    return ((value["srid"] or 0).to_bytes(4, "little") + value["wkb"]).hex().upper() == want


def vector(value: Any, want: str, info: Info) -> bool:
    found = struct.pack(f"<{len(value)}f", *value) if isinstance(value, list | tuple) else value
    if isinstance(found, str):
        found = found.encode()
    return bool(found.hex().upper() == want)


def moment(value: Any, want: str, info: Info) -> bool:
    digits = int(info["fsp"] or 0)
    if isinstance(value, str):
        return value == want
    if isinstance(value, datetime.datetime):
        text = value.replace(tzinfo=None).isoformat(" ", "microseconds")
        return text[: 20 + digits if digits else 19] == want
    return bool(value.isoformat() == want)


def floating(value: Any, want: str, info: Info) -> bool:
    return struct.pack("<d", value) == struct.pack("<d", float(want))


def kinds(names: str, function: Callable[[Any, str, Info], bool]) -> dict[str, Any]:
    return dict.fromkeys(names.split(), function)


SAME: dict[str, Callable[[Any, str, Info], bool]] = {
    **kinds("tinyint smallint mediumint int bigint", integer),
    "bit": lambda value, want, info: int(value) == int(want),
    **kinds("enum set", labelled),
    **kinds("binary varbinary tinyblob blob mediumblob longblob inet4 inet6 uuid", binary),
    **kinds("char varchar tinytext text mediumtext longtext", characters),
    **kinds("geometry point linestring polygon multipoint multilinestring multipolygon", geometry),
    **kinds("geomcollection geometrycollection", geometry),
    **kinds("date datetime timestamp time", moment),
    **kinds("float double", floating),
    "decimal": lambda value, want, info: (value if isinstance(value, str) else f"{value:f}") == want,
    "year": lambda value, want, info: f"{value:04d}" == want,
    "json": lambda value, want, info: same_json(value, want),
    "vector": vector,
}


def same_json(value: Any, want: str) -> bool:
    """Documents are compared as documents: keys have no order, and a number may be spelt in several ways."""
    return plain_json(value) == plain_json(json.loads(want, parse_float=Decimal))


def plain_json(value: Any) -> Any:
    match value:
        case dict():
            return {key: plain_json(member) for key, member in value.items()}
        case list() | tuple():
            return [plain_json(member) for member in value]
        case bool() | None | str():
            return value
        case Decimal() if len(value.as_tuple().digits) > 38:
            return f"{value:f}"  # what VARIANT cannot hold is text
        case float() | Decimal() | int():
            return ("number", float(value))
        case datetime.datetime():
            return value.replace(tzinfo=None).isoformat(" ", "microseconds")
        case datetime.date():
            return value.isoformat()
    return value


def problems(name: str, table: dict[str, Any], found: Rows) -> list[str]:
    """How the rows differ from the server's."""
    infos, want = table["columns"], table["rows"]
    have = [
        [row.get(info["name"], row.get(f"@{n}", ABSENT)) for n, info in enumerate(infos, 1)] for row in found
    ]
    if len(have) != len(want):
        return [f"{name}: {len(have)} rows, the server has {len(want)}"]
    names = [info["name"] for info in infos]
    keys = [names.index(key) for key in table["key"]] or list(range(len(names)))
    left = list(want)
    wrong = []
    unknown = any(f"@{n}" in row for row in found for n in range(1, len(infos) + 1))
    infos = [info | {"unknown": unknown} for info in infos]
    for row in have:
        # The server's row that agrees in the key; where there is no key, in everything.
        matches = [one for one in left if all(same(row[n], one[n], infos[n]) for n in keys)]
        if not matches:
            wrong.append(f"{name}: the server has no row like {[row[n] for n in keys]!r:.300}")
            continue
        left.remove(matches[0])
        for value, text, info in zip(row, matches[0], infos, strict=True):
            if not same(value, text, info):
                wrong.append(
                    f"{name}.{info['name']} {info['full_type']:.40}: {value!r:.200} is {text!r:.200}"
                )
    return wrong


def same(value: Any, text: str | None, info: Info) -> bool:
    if value is ABSENT:
        return True  # an insert with a minimal image left a default value out
    if value is None and info["type"] == "json":
        return text in (None, "null")  # in a VARIANT, no document and the document null look the same
    if value is None or text is None:
        return value is None and text is None
    return SAME[info["type"]](value, text, info)


# --- all types: the scenarios' logs and what SELECT said behind them


@pytest.mark.parametrize("logs", every_scenario(), indirect=True)
def test_scenarios(logs: Logs) -> None:
    wanted = logs.tables
    if not wanted:
        return
    key_file = next(
        (logs.folder / name for name in ("keyring", "keys") if (logs.folder / name).exists()), None
    )
    state = rebuilt(logs.binlogs, key_file=key_file)
    wrong = [
        one for name, table in wanted.items() for one in problems(name, table, state.tables.get(name, Rows()))
    ]
    assert not wrong, "\n".join([f"{len(wrong)} differ", *wrong[:20]])


# --- a workload of all that can become of a change


COMMON = """
CREATE DATABASE w; USE w;
CREATE TABLE keyed (id INT PRIMARY KEY, a INT, s VARCHAR(50), d DECIMAL(20,4), t DATETIME(6));
CREATE TABLE pair (x INT, v VARCHAR(20), y VARCHAR(10), PRIMARY KEY (y, x));
CREATE TABLE nokey (a INT, s VARCHAR(20), f DOUBLE);
CREATE TABLE gone (id INT PRIMARY KEY);
CREATE TABLE emptied (id INT PRIMARY KEY, s VARCHAR(10));
CREATE TABLE old_name (id INT PRIMARY KEY, s VARCHAR(10));
INSERT INTO keyed VALUES (1, -1, 'one', 1.5, '2024-02-29 23:59:59.999999'), (2, NULL, '', -0.0001, NULL), (3, 3, 'drei', 9, NOW(6));
INSERT INTO pair VALUES (1, 'a', 'k'), (1, 'b', 'l'), (2, 'c', 'k');
INSERT INTO nokey VALUES (1, 'same', 0.1), (1, 'same', 0.1), (1, 'same', 0.1), (2, NULL, NULL), (NULL, NULL, -1e300);
INSERT INTO gone VALUES (1), (2); INSERT INTO emptied VALUES (1, 'x'), (2, 'y'); INSERT INTO old_name VALUES (1, 'kept');
UPDATE keyed SET id = id + 10, s = CONCAT(s, '!') WHERE id > 1 ORDER BY id DESC;
UPDATE pair SET y = 'm' WHERE x = 1 AND y = 'k'; UPDATE pair SET v = NULL WHERE x = 2;
DELETE FROM nokey WHERE s = 'same' LIMIT 1; UPDATE nokey SET a = 5 WHERE a = 1 LIMIT 1; UPDATE nokey SET f = 2 WHERE a IS NULL;
TRUNCATE TABLE emptied; INSERT INTO emptied VALUES (3, 'after');
DROP TABLE gone; CREATE TABLE gone (id INT PRIMARY KEY, s TEXT); INSERT INTO gone VALUES (1, 'back');
RENAME TABLE old_name TO new_name; INSERT INTO new_name VALUES (2, 'new');
BEGIN; INSERT INTO keyed VALUES (20, 1, 'kept', 0, NULL); SAVEPOINT s; INSERT INTO keyed VALUES (21, 1, 'undone', 0, NULL);
UPDATE keyed SET a = 99; ROLLBACK TO s; INSERT INTO keyed VALUES (22, 1, 'kept', 0, NULL); COMMIT;
BEGIN; INSERT INTO keyed VALUES (30, 1, 'rolled back', 0, NULL); DELETE FROM pair; ROLLBACK;
XA START 'yes'; INSERT INTO keyed VALUES (40, 4, 'xa', 0, NULL); UPDATE pair SET v = 'xa' WHERE y = 'm'; XA END 'yes'; XA PREPARE 'yes'
"""
BETWEEN = "USE w; INSERT INTO keyed VALUES (41, 4, 'between', 0, NULL); XA COMMIT 'yes'"
SECOND = "USE w; XA START 'no', 'branch', 7; DELETE FROM keyed WHERE id = 1; XA END 'no', 'branch', 7; XA PREPARE 'no', 'branch', 7"
LAST = """
USE w; XA ROLLBACK 'no', 'branch', 7;
XA START 'once'; INSERT INTO keyed VALUES (50, 5, 'one phase', 0, NULL); XA END 'once'; XA COMMIT 'once' ONE PHASE;
INSERT INTO keyed SELECT id + 100, a, s, d, t FROM keyed; REPLACE INTO keyed VALUES (1, 7, 'replaced', 7, NULL);
INSERT INTO keyed (id) VALUES (1) ON DUPLICATE KEY UPDATE a = a + 1
"""
TABLES = ("keyed", "pair", "nokey", "gone", "emptied", "new_name")


def run_workload(server: Server, *extra: str) -> None:
    """XA transactions end in other sessions than they began in."""
    for script in (COMMON, BETWEEN, SECOND, LAST, *extra):
        server.execute(script)
        server.disconnect()


def judge(server: Server, tables: tuple[str, ...], **options: Any) -> State:
    server.flush()
    state = rebuilt(server.binlogs(), **options)
    wrong = []
    for name in tables:
        found = snapshot(server, f"w.{name}")
        assert found["rows"], name
        wrong += problems(f"w.{name}", found, state.tables[f"w.{name}"])
    assert not wrong, "\n".join([f"{len(wrong)} differ", *wrong[:20]])
    assert not state.prepared
    return state


ALL_OPERATIONS = {"insert", "update", "delete", "ddl", "xa_commit", "xa_rollback"}
ALL_OUTCOMES = {"commit", "prepared", "rollback"}
"""XA ROLLBACK is rolled back; nothing else that was is shown."""

DOCUMENTS = """
USE w; SET binlog_row_value_options = PARTIAL_JSON;
CREATE TABLE docs (id INT PRIMARY KEY, j JSON, k JSON);
INSERT INTO docs VALUES (1, JSON_OBJECT('a', JSON_ARRAY(1, 2, 3), 'b c', REPEAT('x', 300), 'n', 18446744073709551615), '[1, 2.5, null]'),
 (2, '{}', NULL), (3, JSON_OBJECT('deep', JSON_OBJECT('er', JSON_ARRAY(JSON_OBJECT('k', 1)))), '"text"');
UPDATE docs SET j = JSON_SET(j, '$.a[1]', -70000, '$."b c"', 'short'), k = JSON_ARRAY(id) WHERE id = 1;
UPDATE docs SET j = JSON_REMOVE(j, '$.n'), k = NULL WHERE id = 1;
UPDATE docs SET j = JSON_SET(j, '$.deep.er[0].k', 0.1) WHERE id = 3;
UPDATE docs SET j = JSON_ARRAY_INSERT(j, '$.deep.er[0]', 'first') WHERE id = 3;
UPDATE docs SET j = JSON_SET(j, '$.new', CAST('2024-02-29' AS DATE)) WHERE id = 2
"""


@pytest.mark.parametrize("image", ["FULL", "MINIMAL", "NOBLOB"])
@pytest.mark.parametrize("compression", ["OFF", "ON"])
def test_mysql(start_mysql: StartMySQL, image: str, compression: str) -> None:
    server = start_mysql(
        "--gtid-mode=ON",
        "--enforce-gtid-consistency=ON",
        "--binlog-row-metadata=FULL",
        f"--binlog-row-image={image}",
        f"--binlog-transaction-compression={compression}",
    )
    run_workload(server, DOCUMENTS)
    assert judge(server, (*TABLES, "docs")).seen == ALL_OPERATIONS | ALL_OUTCOMES
    judge(server, (*TABLES, "docs"), threads=1)


def test_mysql_without_names(start_mysql: StartMySQL) -> None:
    """The log names no columns: rows are found by their images."""
    server = start_mysql("--binlog-row-metadata=MINIMAL", "--gtid-mode=OFF")
    run_workload(server)
    judge(server, TABLES)


def test_mysql_encrypted(start_mysql: StartMySQL) -> None:
    server = start_mysql("--binlog-row-metadata=FULL", encrypted=True)
    run_workload(server)
    judge(server, TABLES, key_file=server.key_file)


@pytest.mark.parametrize("compressed", ["OFF", "ON"])
def test_mariadb(start_mariadb: StartMariaDB, compressed: str) -> None:
    server = start_mariadb(
        "--binlog-row-metadata=FULL",
        "--binlog-format=ROW",
        f"--log-bin-compress={compressed}",
        "--log-bin-compress-min-len=10",
    )
    run_workload(server)
    judge(server, TABLES)


def test_a_wrong_value_is_seen() -> None:
    info: Info = {"type": "int", "full_type": "int", "name": "a", "charset": None, "fsp": None}
    table = {"key": ["a"], "columns": [info], "rows": [["-1"]]}
    rows = Rows()
    rows.add({"a": -1}, None)
    assert not problems("t", table, rows)
    assert problems("t", table | {"rows": [["1"]]}, rows)
    assert problems("t", table | {"rows": []}, rows)
    assert not same(0.1, "0.10000000000000002", info | {"type": "double"})
    assert not same("a", "61/62", info | {"type": "char", "charset": "utf8mb4"})
    assert not same({"a": 1}, '{"a": 2}', info | {"type": "json"})
