"""``schema_from=``: table definitions from a file, a mapping, or a server that is asked for each table."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gtidal.columns.create_table import parse_definitions
from gtidal.columns.declared import TableDefinition
from gtidal.columns.definitions import Definitions, definitions_from
from gtidal.errors import ServerProblem, UsageError
from gtidal.sources.server.address import ServerAddress, is_server

_SQL = re.compile(r"\bCREATE\b.*\bTABLE\b.*\(", re.IGNORECASE | re.DOTALL)
_TIMEOUT = 30
_NO_SUCH_TABLE = (1049, 1146)
"""Unknown database, no such table."""


def read_definitions(schema_from: str | Path | Mapping[str, Any]) -> Definitions:
    """The definitions that the user names.

    * a path: a file of CREATE TABLE statements, such as ``mysqldump --no-data`` writes
    * SQL text
    * a mapping: see ``definitions_from``
    * ``mysql://user@host:port/``: a server, which is asked for each table when its turn comes; written as everywhere,
      see ``ServerAddress``
    """
    if isinstance(schema_from, Mapping):
        return definitions_from(schema_from)
    if isinstance(schema_from, Path):
        return _read_file(schema_from)
    if not isinstance(schema_from, str) or not schema_from.strip():
        raise UsageError(f"schema_from is a file, a mapping or a server, not {schema_from!r}")
    if is_server(schema_from):
        return ServerDefinitions(schema_from)
    if _SQL.search(schema_from):
        return definitions_from(schema_from)
    return _read_file(Path(schema_from))


def _read_file(path: Path) -> Definitions:
    try:
        data = path.expanduser().read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read the definitions in {path}: {error.strerror}") from None
    try:
        # Dumps are in UTF-8. Labels in the binary charset may hold any bytes.
        return definitions_from(data.decode("utf-8-sig", "surrogateescape"))
    except UsageError as error:
        raise error.at(file=str(path)) from None


class ServerDefinitions:
    """The tables of a server, as SHOW CREATE TABLE tells them now. Each is asked for once."""

    def __init__(self, url: str) -> None:
        self._address = ServerAddress.parse(url)
        for part in ("file", "start", "stop", "follow", "server_uuid"):
            if getattr(self._address, part):
                raise UsageError(
                    f"schema_from: {part}={getattr(self._address, part)!r} means nothing where tables are asked for;"
                    " it is mysql://user@host:port/"
                )
        self._lock = threading.Lock()
        self._connection: Any = None
        self._known: dict[tuple[str, str], TableDefinition | None] = {}

    @property
    def title(self) -> str:
        return self._address.title

    def get(self, schema: str, table: str) -> TableDefinition | None:
        name = (schema, table)
        with self._lock:  # a connection serves one thread at a time
            if name not in self._known:
                self._known[name] = self._ask(schema, table)
            return self._known[name]

    def __reduce__(self) -> tuple[Any, ...]:
        return ServerDefinitions, (self._address.url(),)  # without the connection

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _ask(self, schema: str, table: str) -> TableDefinition | None:
        import pymysql

        from gtidal.sources.server.login import connect_any  # loads what only servers need

        if self._connection is None:
            self._connection, _ = connect_any(self._address, read_timeout=_TIMEOUT)
            self._connection.use_unicode = False  # labels in the binary charset may hold any bytes
        try:
            with self._connection.cursor() as cursor:
                # The session's mode changes what SHOW CREATE TABLE prints.
                cursor.execute("SET SESSION sql_mode = '', SESSION sql_quote_show_create = 1")
                cursor.execute(f"SHOW CREATE TABLE {_quoted(schema)}.{_quoted(table)}")
                row = cursor.fetchone()
        except (pymysql.MySQLError, OSError) as error:
            if error.args and error.args[0] in _NO_SUCH_TABLE:
                return None
            self.close()
            said = error.args[-1] if error.args else type(error).__name__
            raise ServerProblem(f"asking {self.title} for the table {schema}.{table}: {said}") from None
        try:
            # The second column is the statement; that of a view makes no table.
            text = row[1].decode("utf-8", "surrogateescape")
            return parse_definitions(text, schema).get((schema, table))
        except UsageError as error:
            raise UsageError(f"{self.title}: the table {schema}.{table}: {error.message}") from None


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
