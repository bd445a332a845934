"""The options of ``spark.read`` and ``spark.readStream`` with the format ``binlog``: one table, from which they are checked and documented.

All are checked together, so that one error tells of every wrong one. Names are in any case of letters, as Spark has it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from gtidal.columnar.codes import FAILFAST, MODES
from gtidal.columns.charsets import charset_of_name
from gtidal.errors import GtidalError, UsageError
from gtidal.planning import SPLITTINGS, STOP_MARGIN
from gtidal.requests import selection_of
from gtidal.sources.definitions import read_definitions
from gtidal.sources.places import where_of
from gtidal.sources.server.address import TLS, ServerAddress, is_server

VIEWS = ("changes", "events", "transactions")
TYPED = "rows"
"""The view that the option ``table`` means."""
IMAGES = ("variant", "json")

STORAGE_PREFIX = "fs."
"""Hadoop's options of file systems, such as ``fs.s3a.endpoint``."""
_SECRET = re.compile(r"secret|password|token|credential|access\.?key|encryption\.key", re.IGNORECASE)
_SIZE = re.compile(r"(\d+)\s*([kmgtp]?)b?", re.IGNORECASE)
_TABLE = re.compile(r"[^.]+\..+")
_HAS_PORT = re.compile(r"^(?:[^\[\]:]*|\[[^\]]*\]):")
_CREATE_TABLE = re.compile(r"\bcreate\b.*\btable\b", re.IGNORECASE | re.DOTALL)

_PASSWORDS = ("password", "passwd", "pass", "pwd")
_PASSWORD_SEEN = (
    "Spark shows options in its plans: put the password into a file (passwordFile), into an option file (optionFile), or into "
    "MYSQL_PWD in the environment of the driver and the executors"
)

Parse = Callable[[str], Any]


class Wrong(ValueError):
    """A value that an option does not take; says what it takes."""


@dataclass(frozen=True)
class Option:
    """One option, as users write it."""

    name: str
    what: str
    parse: Parse
    default: str | None = None
    views: tuple[str, ...] = (*VIEWS, TYPED)
    """Those it means something for."""
    filter: str | None = None
    """Its name among the options of ``gtidal.changes``; None: it is Spark's alone."""
    server: str | None = None
    """Its name in a server's address."""
    stream: bool = False
    """Whether it is for streams alone."""


# --- what values are


def one_of(words: tuple[str, ...]) -> Parse:
    def parse(text: str) -> str:
        for word in words:
            if word.lower() == text.strip().lower():
                return word
        raise Wrong(f"it is {' or '.join([', '.join(words[:-1]), words[-1]])}")

    return parse


def true_or_false(text: str) -> bool:
    return bool(one_of(("true", "false"))(text) == "true")


def size_in_bytes(text: str) -> int:
    """As Spark writes sizes: ``134217728``, ``64m``, ``1gb``."""
    found = _SIZE.fullmatch(text.strip())
    if not found or not int(found[1]):
        raise Wrong("it is a number of bytes, or one with k, m, g, t or p such as 64m")
    return int(found[1]) << 10 * " kmgtp".index(found[2].lower() or " ")


def seconds(text: str) -> int:
    if not re.fullmatch(r"\d{1,9}", text.strip()):
        raise Wrong("it is a number of seconds")
    return int(text)


def number(text: str) -> int:
    if not re.fullmatch(r"[1-9]\d{0,17}", text.strip()):
        raise Wrong("it is a number, at least 1")
    return int(text)


def table_name(text: str) -> str:
    if not _TABLE.fullmatch(text.strip()):
        raise Wrong("it is a table with its schema, as in shop.orders")
    return text.strip()


def words(text: str) -> str:
    return text


def definitions(text: str) -> str:
    """What CREATE TABLE statements say goes to the executors; the file need not be there."""
    try:
        read_definitions(text)
    except GtidalError as error:
        raise Wrong(str(error)) from None
    if "://" in text or _CREATE_TABLE.search(text):
        return text
    return Path(text).expanduser().read_text("utf-8-sig", "surrogateescape")


def charset(text: str) -> str:
    try:
        return charset_of_name(text)
    except UsageError as error:
        raise Wrong(str(error)) from None


def filter_of(name: str) -> Parse:
    """What the views of Python take under that name, in the same words."""

    def parse(text: str) -> str:
        try:
            selection_of({name: text})
        except GtidalError as error:
            # The option is named already, by what Spark's users call it.
            said = str(error).removeprefix(f"{name}: ").removeprefix(f"{name}={text.strip()!r}: ")
            for beginning in (f"{name}={text.strip()!r} is", f"{name} is"):
                if said.startswith(beginning):
                    said = "it is" + said.removeprefix(beginning)
            raise Wrong(said.replace("include_gtids", "includeGtids")) from None
        return text

    return parse


# --- the table

_ROWS = ("changes", TYPED)

OPTIONS = (
    Option("view", "which table the logs are read as: " + ", ".join(f"`{view}`" for view in VIEWS), one_of(VIEWS), "changes"),
    Option("table", "the typed rows of one table (`shop.orders`) instead of a view", table_name),
    Option("start", "where to begin: a position (`binlog.000024:197`; a number alone means the first file), a time (ISO 8601, UTC unless it says otherwise), or a GTID set that is already had", filter_of("start"), filter="start"),
    Option("stop", "where to end, exclusive: a position (a number alone means the last file) or a time", filter_of("stop"), filter="stop"),
    Option("timeMargin", "how many seconds a statement may have run before it was written: so much more is read behind a time that `stop` names", seconds, str(STOP_MARGIN)),
    Option("includeGtids", "only these GTIDs", filter_of("include_gtids"), filter="include_gtids"),
    Option("excludeGtids", "all but these GTIDs", filter_of("exclude_gtids"), filter="exclude_gtids"),
    Option("schemas", "only these schemas; commas between, `*` for any characters", words, filter="schemas", views=VIEWS),
    Option("tables", "only these tables (`shop.orders, shop.item*`)", words, filter="tables", views=VIEWS),
    Option("types", "only events of these types, by name or number (`WRITE_ROWS, 2`)", filter_of("types"), filter="types"),
    Option("serverIds", "only what these servers wrote first", filter_of("server_ids"), filter="server_ids"),
    Option("excludeServerIds", "all but what these servers wrote first", filter_of("exclude_server_ids"), filter="exclude_server_ids"),
    Option("includeUncommitted", "also changes of transactions that were rolled back or never ended", true_or_false, "false", _ROWS, "include_uncommitted"),
    Option("detail", "also a column `detail` (VARIANT) with every decoded field of an event", true_or_false, "false", ("events",)),
    Option("images", "row images and JSON columns as `variant`, or as `json` text", one_of(IMAGES), "variant", _ROWS),
    Option("mergeSchema", "the columns of all versions of the table, found in all files; else those of its last version", true_or_false, "false", (TYPED,)),
    Option("schemaFrom", "names, signs and charsets of columns where the log does not tell: a file of CREATE TABLE statements, or a server (`mysql://user@host/`, its password in MYSQL_PWD)", definitions, filter="schema_from"),
    Option("assumeCharset", "the charset of text where the log does not tell", charset, filter="assume_charset"),
    Option("mode", "what becomes of damage: `FAILFAST` raises an error, `PERMISSIVE` gives a row whose last column `_corrupt` says what is wrong and reads on, `DROPMALFORMED` logs it and reads on", one_of(MODES), FAILFAST, filter="mode"),
    Option("verifyChecksum", "whether checksums are compared", true_or_false, "true", filter="verify_checksum"),
    Option("keyFile", "for encrypted logs: the server's keyring file, at the same place on every machine", words, filter="key_file"),
    Option("recursive", "folders with all folders below them", true_or_false, "false"),
    Option("maxPartitionBytes", "how much of a log one task reads at the most (`64m`); larger files are read by several tasks, small ones together", size_in_bytes, "128m"),
    Option("splitting", "how a large file is cut: `search` finds boundaries near each cut, `walk` goes from transaction to transaction", one_of(SPLITTINGS), "search"),
    Option("host", "a server instead of a path: `db1`, `db1:3307`; several with commas between have the same history, and the next is tried when one is out of reach", words, server="hosts"),
    Option("port", "of hosts that do not say theirs", number, "3306", server="port"),
    Option("user", "who logs in", words, server="user"),
    Option("passwordFile", "a file that holds the password and nothing else, at the same place on every machine; else `MYSQL_PWD` in the environment is taken", words, server="password_file"),
    Option("optionFile", "a `my.cnf` with user, password and TLS files, at the same place on every machine", words, server="option_file"),
    Option("tls", "how connections are encrypted: " + ", ".join(f"`{mode}`" for mode in TLS), one_of(TLS), server="tls"),
    Option("ca", "the certificates to trust", words, server="ca"),
    Option("cert", "our own certificate", words, server="cert"),
    Option("key", "the key of that certificate", words, server="key"),
    Option("serverId", "what every connection registers as; a random high number for each if there is none: servers end a reader when another with the same id comes", number, server="server_id"),
    Option("heartbeat", "seconds after which an idle server says that it is there", number, "10", server="heartbeat"),
    Option("connectTimeout", "seconds that a server has for the connection and the login", number, "30", server="connect_timeout"),
    Option("archive", "a folder with older logs of the server: the stream begins there, and goes on at the server", words, stream=True),
    Option("maxBytesPerTrigger", "how much of the log a micro-batch holds at the most (`64m`); a transaction is never split", size_in_bytes, stream=True),
    Option("maxRowsPerTrigger", "how many rows a micro-batch holds at the most, before filters; a transaction is never split", number, stream=True),
)  # fmt: skip
BY_NAME = {option.name.lower(): option for option in OPTIONS}


@dataclass(frozen=True)
class ReadOptions:
    """What a read asks for, checked."""

    paths: list[str]
    view: str
    table: str | None
    filters: dict[str, Any]
    """For ``gtidal.planning``, under the names that Python's views have."""
    storage: dict[str, str]
    detail: bool
    images: str
    merge_schema: bool
    recursive: bool
    part_bytes: int
    splitting: str
    time_margin: int
    server: ServerAddress | None = None
    """Where the log is, if not in files; among the paths, too."""
    archive: str | None = None
    most_bytes: int | None = None
    most_rows: int | None = None
    for_streams: tuple[str, ...] = ()
    """The options that mean something for streams alone."""

    @staticmethod
    def parse(given: Mapping[str, str]) -> ReadOptions:
        """``given``: all that Spark hands over, the paths among them."""
        own = {name.lower(): value for name, value in given.items()}
        problems = [f"{name}: {_PASSWORD_SEEN}" for name in list(own) if name in _PASSWORDS and own.pop(name)]
        paths = _paths(own, problems)
        storage = {name: own.pop(name) for name in list(own) if name.startswith(STORAGE_PREFIX)}
        problems += [
            f"{name} is a secret, and Spark shows options in its plans: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY "
            "in the environment of the driver and the executors instead"
            for name in storage
            if _SECRET.search(name)
        ]
        values = _values(own, problems)
        typed = values["table"] is not None
        if typed and "view" in own:
            problems.append(f"view={own['view']!r} and table={own['table']!r}: give one of the two")
        view = TYPED if typed else values["view"]
        problems += [
            f"{option.name} means nothing for {_titled(view)}; it is for {', '.join(map(_titled, option.views))}"
            for name, option in BY_NAME.items()
            if name in own and view in (*VIEWS, TYPED) and view not in option.views
        ]
        server = _server(own, values, paths, problems)
        if problems:
            raise UsageError("; ".join(problems))
        filters = {
            option.filter: values[option.name]
            for option in OPTIONS
            if option.filter is not None and option.name.lower() in own
        }
        return ReadOptions(
            paths=paths if server is None else [server.url()],
            view=view,
            table=values["table"],
            filters=filters,
            storage=storage,
            detail=values["detail"],
            images=values["images"],
            merge_schema=values["mergeSchema"],
            recursive=values["recursive"],
            part_bytes=values["maxPartitionBytes"],
            splitting=values["splitting"],
            time_margin=values["timeMargin"],
            server=server,
            archive=values["archive"],
            most_bytes=values["maxBytesPerTrigger"],
            most_rows=values["maxRowsPerTrigger"],
            for_streams=tuple(
                option.name for option in OPTIONS if option.stream and option.name.lower() in own
            ),
        )

    @property
    def starts_with_a_word(self) -> bool:
        """``now`` or ``oldest``: a place that streams begin at."""
        return where_of("start", self.filters.get("start")).word is not None

    def check_for_batch(self) -> None:
        """Raise if an option is for streams alone."""
        if self.for_streams:
            raise UsageError(f"{', '.join(self.for_streams)}: for streams alone, use spark.readStream")


def _titled(view: str) -> str:
    return "typed rows (table)" if view == TYPED else f"view {view}"


def _paths(own: dict[str, str], problems: list[str]) -> list[str]:
    """Spark adds ``path`` for one path and ``paths``, a JSON list, for several."""
    paths: list[str] = []
    if "paths" in own:
        try:
            several = json.loads(own.pop("paths"))
            paths += [str(path) for path in several]
        except (ValueError, TypeError):
            problems.append("paths is a JSON list; it is simpler to give a list to load()")
    if "path" in own:
        paths.append(own.pop("path"))
    if not paths and not problems and "host" not in own:
        problems.append(
            "no path was given: load() takes a binlog file, a folder, a glob, an .index file or the address of a server"
        )
    return paths


def _server(
    own: Mapping[str, str], values: Mapping[str, Any], paths: list[str], problems: list[str]
) -> ServerAddress | None:
    """The server that options describe, or the address that stands in the place of a path."""
    given = {
        option.server: values[option.name]
        for option in OPTIONS
        if option.server and option.name.lower() in own
    }
    titles = ", ".join(option.name for option in OPTIONS if option.server in given)
    try:
        if "hosts" not in given:
            if given:
                problems.append(f"{titles}: for a server, name its host, too")
            addresses = [ServerAddress.parse(path) for path in paths if is_server(path)]
            return addresses[0] if addresses and len(paths) == 1 else None
        if paths:
            problems.append(f"host={own['host']!r} and the path {paths[0]}: give one of the two")
        if problems:
            return None
        port = given.pop("port", 3306)
        named = ",".join(
            each if _HAS_PORT.search(each) else f"{each}:{port}"
            for each in re.split(r"\s*,\s*", given.pop("hosts").strip())
        )
        hosts = ServerAddress.parse(f"mysql://{named}/").hosts
        return ServerAddress(kind="mysql", hosts=hosts, **given)
    except UsageError as error:
        problems.append(str(error))
        return None


def _values(own: Mapping[str, str], problems: list[str]) -> dict[str, Any]:
    """The value of every option, by its name; what is wrong is added to ``problems``."""
    for name in own:
        if name not in BY_NAME:
            near = get_close_matches(name, BY_NAME, n=1)
            hint = (
                f"; did you mean {BY_NAME[near[0]].name}?"
                if near
                else f"; there are {', '.join(option.name for option in OPTIONS)}"
            )
            problems.append(f"there is no option {name}{hint}")
    values: dict[str, Any] = {}
    for name, option in BY_NAME.items():
        text = own.get(name, option.default)
        try:
            values[option.name] = None if text is None else option.parse(text)
        except Wrong as wrong:
            values[option.name] = None
            problems.append(f"{option.name}={text!r}: {wrong}")
    return values


def markdown_table() -> str:
    """For the docs."""
    rows = ["| option | what | default |", "|---|---|---|"]
    rows += [
        f"| `{option.name}` | {option.what}{_only(option)} | {f'`{option.default}`' if option.default else ''} |"
        for option in OPTIONS
    ]
    return "\n".join(rows)


def _only(option: Option) -> str:
    if option.stream:
        return " (streams)"
    if len(option.views) > 3:
        return ""
    return " (" + ", ".join("with `table`" if view == TYPED else f"`{view}`" for view in option.views) + ")"
