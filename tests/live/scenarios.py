"""Logs of real servers, made by SQL of every kind.

A scenario is a function that runs SQL on a server; its name names the folder of logs that come out of it.
The functions are in `scenarios_*.py`; here is what runs them. Beside the logs lie the final contents of the
tables that a scenario keeps (`tables.json`, see `snapshots.py`), so that decoded values can be compared
without the server.

Logs are made once per version of the server and text of the scenario's module, into the cache folder:

    CACHE/logs/mysql-9.7.4-2/types_numbers-0123456789ab/    binlog.000001 … binlog.index tables.json
    CACHE/logs/current/mysql.types_numbers                  link to the newest one

`python -m tests.live.scenarios` (with `tools` in PYTHONPATH) makes all of them and prints their folders.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pymysql

import fetch_servers  # tools/fetch_servers.py
from tests.live.servers import (
    MariaDBServer,
    MySQLServer,
    Server,
    mariadb_binaries,
    mysql_binaries,
    numbered,
)
from tests.live.snapshots import snapshot

MODULES = {
    "mysql": ("types", "json", "rows", "mysql", "statements", "ddl", "files"),
    "mariadb": ("mariadb", "mariadb_files"),
}
KINDS: dict[str, type[Server]] = {"mysql": MySQLServer, "mariadb": MariaDBServer}
KEPT_DAYS = 14
SYSTEM_SCHEMAS = {"mysql", "sys", "information_schema", "performance_schema"}

Make = Callable[["Lab"], None]


@dataclass(frozen=True)
class Scenario:
    """One set of logs."""

    kind: str
    """mysql or mariadb."""
    title: str
    make: Make = field(repr=False)
    options: tuple[str, ...] = ()
    """Of the server; scenarios with the same options share one."""
    settings: tuple[tuple[str, Any], ...] = ()
    """Global variables, set back afterwards."""
    own: bool = False
    """It needs a server of its own, to stop or kill or replicate."""
    encrypted: bool = False
    soak: bool = False

    @property
    def name(self) -> str:
        return f"{self.kind}.{self.title}"

    @property
    def folder(self) -> Path:
        return logs_folder() / f"{self.kind}-{version(self.kind)}" / f"{self.title}-{text_hash(self.make)}"


@dataclass(frozen=True)
class Logs:
    """What a scenario left."""

    scenario: Scenario
    folder: Path

    @property
    def name(self) -> str:
        return self.scenario.name

    @property
    def binlogs(self) -> list[Path]:
        return numbered(self.folder, "binlog")

    @property
    def relay_logs(self) -> list[Path]:
        return numbered(self.folder, "relay")

    @property
    def files(self) -> list[Path]:
        """Binary logs and relay logs."""
        return self.binlogs + self.relay_logs

    @property
    def tables(self) -> dict[str, Any]:
        """The tables' final contents: see `snapshots.py`."""
        tables: dict[str, Any] = json.loads((self.folder / "tables.json").read_text())
        return tables

    @property
    def notes(self) -> dict[str, Any]:
        """What the scenario wrote down."""
        notes: dict[str, Any] = json.loads((self.folder / "notes.json").read_text())
        return notes


class Lab:
    """What a scenario has at hand: a running server and a place for what comes out of it."""

    def __init__(self, scenario: Scenario, server: Server, folder: Path, stack: ExitStack) -> None:
        self.scenario = scenario
        self.server = server
        self.folder = folder
        self.notes: dict[str, Any] = {}
        self.tables: dict[str, Any] = {}
        self.kept: list[str] = []
        self.collected = False
        self._stack = stack

    def sql(self, *statements: str | bytes) -> None:
        """Run statements, each a script that the server splits; the session stays the same."""
        for statement in statements:
            self.server.execute(statement)

    def query(self, sql: str | bytes, *arguments: object) -> list[tuple[Any, ...]]:
        return self.server.query(sql, *arguments)

    def fails(self, sql: str | bytes, code: int | None = None) -> None:
        """Run a statement that must fail."""
        try:
            self.server.execute(sql)
        except pymysql.MySQLError as error:
            if code is not None and error.args[0] != code:
                raise
            return
        raise AssertionError(f"did not fail: {sql!r}")

    def optional(self, sql: str | bytes) -> bool:
        """Run a statement that a server may refuse; what was refused is noted."""
        try:
            self.server.execute(sql)
            return True
        except pymysql.MySQLError as error:
            text = sql.decode("latin-1") if isinstance(sql, bytes) else sql
            self.notes.setdefault("refused", []).append(f"{text[:200]}: {error.args}")
            return False

    def session(self, **settings: Any) -> pymysql.Connection[Any]:
        """One more connection, closed after the scenario."""
        connection = self.server.connect(**settings)
        self._stack.callback(lambda: connection.open and connection.close())
        return connection

    def another_server(self, *options: str, kind: str | None = None, encrypted: bool = False) -> Any:
        """One more server, gone after the scenario."""
        server = KINDS[kind or self.scenario.kind]
        return self._stack.enter_context(server.temporary(*options, encrypted=encrypted))

    def keep(self, *tables: str) -> None:
        """Write down the contents that these tables have at the end."""
        self.kept += tables

    def snapshot(self) -> None:
        """Write the kept tables' contents down now."""
        for table in self.kept:
            self.tables[table] = snapshot(self.server, table)
        self.kept = []

    def collect(self, *files: Path, close: bool = True) -> None:
        """Take the logs: those named, or all that the server has closed."""
        self.collected = True
        if not files:
            if close:
                self.server.flush()
            files = tuple(self.server.binlogs()[:-1] if close else self.server.binlogs())
        for file in files:
            shutil.copyfile(file, self.folder / file.name)

    def write(self) -> None:
        for stem in ("binlog", "relay"):
            names = [path.name for path in numbered(self.folder, stem)]
            if names:
                (self.folder / f"{stem}.index").write_text("".join(f"./{name}\n" for name in names))
        (self.folder / "tables.json").write_text(json.dumps(self.tables, indent=0))
        (self.folder / "notes.json").write_text(json.dumps(self.notes, indent=1))


_found: dict[str, Scenario] = {}


def scenario(kind: str, *options: str, **more: Any) -> Callable[[Make], Make]:
    """Declare a scenario. `options` are the server's; `own`, `encrypted`, `soak` as in `Scenario`; all other
    keywords are global variables."""
    own_words = {word: more.pop(word) for word in ("own", "encrypted", "soak") if word in more}

    def declare(make: Make) -> Make:
        title = make.__name__
        each = Scenario(kind, title, make, options, tuple(more.items()), **own_words)
        if each.name in _found and _found[each.name].make.__module__ != make.__module__:
            raise ValueError(f"two scenarios are called {each.name}")
        _found[each.name] = each
        return make

    return declare


@cache
def scenarios() -> dict[str, Scenario]:
    """All of them, by name."""
    for modules in MODULES.values():
        for module in modules:
            importlib.import_module(f"tests.live.scenarios_{module}")
    return {name: _found[name] for name in sorted(_found)}


# --- where they lie ---------------------------------------------------------------------------------------


def logs_folder() -> Path:
    return fetch_servers.cache_folder() / "logs"


@cache
def version(kind: str) -> str:
    binaries = mysql_binaries() if kind == "mysql" else mariadb_binaries()
    return "".join(c if c.isalnum() or c in ".-+" else "_" for c in binaries.version.split(":")[-1])


@cache
def module_text(module: str) -> bytes:
    file = sys.modules[module].__file__
    assert file is not None
    return Path(file).read_bytes()


def text_hash(make: Make) -> str:
    text = module_text(make.__module__) + module_text("tests.live.snapshots")
    return hashlib.sha256(text).hexdigest()[:12]


def find_logs(name: str) -> Logs:
    """The logs of a scenario, made if need be."""
    each = scenarios()[name]
    if not each.folder.exists():
        make_logs([each])
    return Logs(each, each.folder)


def forget_old() -> None:
    """Remove what nobody has used for a while: logs of former versions, and what was printed of them."""
    used = {os.path.realpath(link) for link in (logs_folder() / "current").glob("*")}
    for path in logs_folder().glob("*-*/*"):
        if os.path.realpath(path) not in used and age(path) > KEPT_DAYS:
            shutil.rmtree(path, ignore_errors=True)
    for path in logs_folder().glob("printed/*/*"):
        if age(path) > KEPT_DAYS:
            path.unlink(missing_ok=True)


def age(path: Path) -> float:
    """In days; 0 if it has just gone."""
    try:
        return (time.time() - path.stat().st_mtime) / 86400
    except FileNotFoundError:
        return 0


# --- running them -----------------------------------------------------------------------------------------


def make_logs(
    wanted: list[Scenario] | None = None, report: Callable[[str], None] = lambda line: None
) -> None:
    """Make the logs that are missing. Several processes may do it at the same time and share the work."""
    if wanted is None:
        wanted = [each for each in scenarios().values() if not each.soak]
        forget_old()
    groups: dict[tuple[Any, ...], list[Scenario]] = {}
    for each in wanted:
        key = (each.kind, each.title) if each.own else (each.kind, each.options, each.encrypted)
        groups.setdefault(key, []).append(each)
    waiting = sorted(groups, key=lambda key: -len(groups[key]))
    problems: list[Exception] = []
    for patient in (False, True):
        for key in list(waiting):
            missing = [each for each in groups[key] if not each.folder.exists()]
            with _lock(repr(key), patient) as mine:
                if mine:
                    problems += _make_group([each for each in missing if not each.folder.exists()], report)
                    waiting.remove(key)
    if problems:
        raise problems[0] if len(problems) == 1 else ExceptionGroup("scenarios failed", problems)


@contextmanager
def _lock(key: str, patient: bool) -> Iterator[bool]:
    folder = logs_folder() / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    name = hashlib.sha256(key.encode()).hexdigest()[:12]
    with (folder / name).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX if patient else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def _make_group(group: list[Scenario], report: Callable[[str], None]) -> list[Exception]:
    problems: list[Exception] = []
    if not group:
        return problems
    first = group[0]
    with KINDS[first.kind].temporary(*first.options, encrypted=first.encrypted) as server:
        for each in group:
            begin = time.monotonic()
            try:
                _make_one(each, server)
            except Exception as error:
                error.add_note(f"in the scenario {each.name}")
                problems.append(error)
            else:
                report(f"{each.name}: {time.monotonic() - begin:.1f} s, {each.folder}")
    return problems


def _make_one(each: Scenario, server: Server) -> None:
    before = {name: server.query(f"SELECT @@GLOBAL.{name}")[0][0] for name, _ in each.settings}
    _clean(each, server)
    each.folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=each.folder.parent) as name, ExitStack() as stack:
        work = Path(name) / "logs"
        work.mkdir()
        lab = Lab(each, server, work, stack)
        try:
            each.make(lab)
            if server.running:
                lab.snapshot()
            if not lab.collected:
                lab.collect(*(() if server.running else server.binlogs()))
        finally:
            if server.running and not each.own:
                _set_globals(server, before)
        lab.write()
        work.rename(each.folder)
    _link(each)


def _clean(each: Scenario, server: Server) -> None:
    """A server as if new: no schemas of ours, no logs, a new session."""
    server.disconnect()
    server.execute("SET sql_log_bin = 0")
    for (schema,) in server.query("SHOW DATABASES"):
        if schema not in SYSTEM_SCHEMAS:
            server.execute("DROP DATABASE `" + schema.replace("`", "``") + "`")
    for name, value in each.settings:
        server.execute(f"SET GLOBAL {name} = {literal(value)}")
    server.disconnect()
    server.execute("RESET BINARY LOGS AND GTIDS" if each.kind == "mysql" else "RESET MASTER")


def _set_globals(server: Server, values: dict[str, Any]) -> None:
    for name, value in values.items():
        server.execute(f"SET GLOBAL {name} = {literal(value)}")


def literal(value: Any) -> str:
    return str(value) if isinstance(value, int) else f"'{value}'"


def _link(each: Scenario) -> None:
    folder = logs_folder() / "current"
    folder.mkdir(exist_ok=True)
    link = folder / each.name
    fresh = folder / f".{each.name}.{os.getpid()}"
    with suppress(FileNotFoundError):
        fresh.unlink()
    fresh.symlink_to(os.path.relpath(each.folder, folder))
    fresh.rename(link)


def main() -> None:
    chosen = [each for each in scenarios().values() if not sys.argv[1:] or each.name in sys.argv[1:]]
    if not sys.argv[1:]:
        chosen = [each for each in chosen if not each.soak]
    make_logs(chosen, report=lambda line: print(line, file=sys.stderr, flush=True))
    for each in chosen:
        print(each.folder)


if __name__ == "__main__":
    # The modules of scenarios import this one by its name, so run that one.
    importlib.import_module("tests.live.scenarios").main()
