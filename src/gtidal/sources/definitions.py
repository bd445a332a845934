"""``schema_from=``: table definitions from a file, a mapping, or a server that is asked for each table."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from gtidal.columns.create_table import parse_definitions
from gtidal.columns.declared import TableDefinition
from gtidal.columns.definitions import Definitions, definitions_from
from gtidal.errors import UsageError

_SQL = re.compile(r"\bCREATE\b.*\bTABLE\b.*\(", re.IGNORECASE | re.DOTALL)
_URL = re.compile(r"(?:mysql|mariadb)://", re.IGNORECASE)
_OPTIONS = ("option_file", "socket", "ssl_ca")
_TIMEOUT = 30
_PORT = 3306
_NO_SUCH_TABLE = (1049, 1146)
"""Unknown database, no such table."""


def read_definitions(schema_from: str | Path | Mapping[str, Any]) -> Definitions:
    """The definitions that the user names.

    * a path: a file of CREATE TABLE statements, such as ``mysqldump --no-data`` writes
    * SQL text
    * a mapping: see ``definitions_from``
    * ``mysql://user@host:port/``: a server, which is asked for each table when its turn comes. The password is
      in MYSQL_PWD or in an option file (``?option_file=~/.my.cnf``). Also ``?socket=`` and ``?ssl_ca=``.
    """
    if isinstance(schema_from, Mapping):
        return definitions_from(schema_from)
    if isinstance(schema_from, Path):
        return _read_file(schema_from)
    if not isinstance(schema_from, str) or not schema_from.strip():
        raise UsageError(f"schema_from is a file, a mapping or a server, not {schema_from!r}")
    if _URL.match(schema_from):
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
        self._url = url
        self._settings, self.title = _settings(url)
        self._lock = threading.Lock()
        self._connection: Any = None
        self._known: dict[tuple[str, str], TableDefinition | None] = {}

    def get(self, schema: str, table: str) -> TableDefinition | None:
        name = (schema, table)
        with self._lock:  # a connection serves one thread at a time
            if name not in self._known:
                self._known[name] = self._ask(schema, table)
            return self._known[name]

    def __reduce__(self) -> tuple[Any, ...]:
        return ServerDefinitions, (self._url,)  # without connection and password

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _ask(self, schema: str, table: str) -> TableDefinition | None:
        import pymysql

        try:
            if self._connection is None:
                self._connection = pymysql.connect(**self._settings)
            with self._connection.cursor() as cursor:
                # The session's mode changes what SHOW CREATE TABLE prints.
                cursor.execute("SET SESSION sql_mode = '', SESSION sql_quote_show_create = 1")
                cursor.execute(f"SHOW CREATE TABLE {_quoted(schema)}.{_quoted(table)}")
                row = cursor.fetchone()
        except pymysql.MySQLError as error:
            code = error.args[0] if error.args else None
            if code in _NO_SUCH_TABLE:
                return None
            self.close()
            said = error.args[1] if len(error.args) > 1 else str(error)
            raise UsageError(f"asking {self.title} for the table {schema}.{table}: {said}") from None
        except (OSError, RuntimeError, ValueError) as error:  # RuntimeError: a login needs a missing library
            self.close()
            raise UsageError(f"asking {self.title} for the table {schema}.{table}: {error}") from None
        try:
            # The second column is the statement; that of a view makes no table.
            text = row[1].decode("utf-8", "surrogateescape")
            return parse_definitions(text, schema).get((schema, table))
        except UsageError as error:
            raise UsageError(f"{self.title}: the table {schema}.{table}: {error.message}") from None


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _settings(url: str) -> tuple[dict[str, Any], str]:
    """What PyMySQL connects with, and how to call the server in messages."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"schema_from is not an address: {error}") from None
    if parts.password is not None:
        raise UsageError(
            "a password in an address is seen by everybody: leave it out, and set MYSQL_PWD or name an option"
            " file (mysql://user@host/?option_file=~/.my.cnf)"
        )
    query = parse_qs(parts.query)
    unknown = sorted(set(query) - set(_OPTIONS))
    if unknown or parts.path not in ("", "/"):
        raise UsageError(
            f"schema_from: {unknown[0] if unknown else parts.path!r} in the address means nothing;"
            f" it is mysql://user@host:port/ and the options are {', '.join(_OPTIONS)}"
        )
    settings: dict[str, Any] = {
        "charset": "utf8mb4",
        "use_unicode": False,
        "connect_timeout": _TIMEOUT,
        "read_timeout": _TIMEOUT,
        "host": parts.hostname or "",
        "port": port or 0,
        "user": unquote(parts.username) if parts.username else None,
        "password": os.environ.get("MYSQL_PWD", ""),
    }
    if "option_file" in query:
        file = Path(query["option_file"][0]).expanduser()
        if not file.is_file():
            raise UsageError(f"schema_from: there is no option file {file}")
        settings["read_default_file"] = str(file)
    if "socket" in query:
        settings["unix_socket"] = query["socket"][0]
    if "ssl_ca" in query:
        settings["ssl_ca"] = query["ssl_ca"][0]
    return settings, f"{parts.hostname or 'the server'}:{port or _PORT}"
