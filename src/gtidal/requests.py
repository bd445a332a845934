"""What users write for ``start``, ``stop`` and the filters, understood: the same words in Python, Spark and the
command line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gtidal.columnar.codes import FAILFAST, MODES
from gtidal.columnar.selection import AnyGtidSet, Selection
from gtidal.columns.charsets import charset_of_name
from gtidal.columns.definitions import fully_told, settle_columns, with_charset
from gtidal.columns.types import Column
from gtidal.errors import UsageError
from gtidal.events.registry import EVENTS
from gtidal.events.table_map import TableMap
from gtidal.gtid import GtidSet, MariadbGtidSet, parse_gtid_set
from gtidal.log.decoder import event_name
from gtidal.log.tables import GENERATED_KEY
from gtidal.sources.definitions import read_definitions
from gtidal.sources.files import LogFile, find_logs
from gtidal.sources.places import Position, where_of
from gtidal.sources.server.address import ServerAddress, is_server
from gtidal.sources.server.locating import reach
from gtidal.sources.storage import Storage

Paths = str | Path | Iterable[str | Path]
Settle = Callable[[TableMap], tuple[Column, ...]]

OPTIONS = frozenset(
    ("include_uncommitted", "start", "stop", "include_gtids", "exclude_gtids", "schemas", "tables", "types",
     "server_ids", "exclude_server_ids", "verify_checksum", "threads", "schema_from", "assume_charset", "key_file",
     "mode", "on_corrupt")
)  # fmt: skip
"""Of all views."""
FINDING = frozenset(("storage", "recursive"))
"""How paths are looked up."""


def selection_of(options: Mapping[str, Any]) -> Selection:
    """All that is asked for, positions apart."""
    start, stop = where_of("start", options.get("start")), where_of("stop", options.get("stop"))
    if stop.gtids is not None and not stop.gtids:
        raise UsageError("stop is empty: give a position or a time, or leave it out")
    if stop.gtids is not None or stop.word is not None:
        raise UsageError("stop is a position or a time; for GTIDs use include_gtids")
    exclude, passed = _gtids(options, "exclude_gtids"), None
    if start.gtids is not None:
        both = start.gtids if exclude is None else _united(exclude, start.gtids)
        if isinstance(start.gtids, MariadbGtidSet) and start.position is None:
            passed = start.gtids
        else:  # a server has found where it begins
            exclude = both
    servers = _numbers(options, "server_ids")
    return Selection(
        start_time=start.time,
        stop_time=stop.time,
        include_gtids=_gtids(options, "include_gtids"),
        exclude_gtids=exclude,
        passed=passed,
        schemas=_words(options, "schemas"),
        tables=tuple(_table(word) for word in _words(options, "tables")),
        types=_types(options.get("types")),
        server_ids=servers,
        exclude_server_ids=_numbers(options, "exclude_server_ids") or frozenset(),
        include_uncommitted=bool(options.get("include_uncommitted", False)),
    )


def _united(one: AnyGtidSet, other: AnyGtidSet) -> AnyGtidSet:
    if isinstance(one, GtidSet) and isinstance(other, GtidSet):
        return one | other
    if isinstance(one, MariadbGtidSet) and isinstance(other, MariadbGtidSet):
        return one | other
    raise UsageError("start and exclude_gtids are GTIDs of two kinds: MySQL's and MariaDB's")


def _gtids(options: Mapping[str, Any], name: str) -> AnyGtidSet | None:
    value = options.get(name)
    if value is None or isinstance(value, GtidSet | MariadbGtidSet):
        return value
    return parse_gtid_set(str(value))


def _words(options: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = options.get(name)
    if value is None:
        return ()
    words = [part.strip() for part in value.split(",")] if isinstance(value, str) else list(value)
    return tuple(word for word in words if word)


def _table(word: str) -> str:
    return word if "." in word else f"*.{word}"


def _numbers(options: Mapping[str, Any], name: str) -> frozenset[int] | None:
    value = options.get(name)
    if value is None:
        return None
    if isinstance(value, int):
        return frozenset((value,))
    values: Iterable[Any] = value.split(",") if isinstance(value, str) else value
    try:
        return frozenset(int(each) for each in values)
    except ValueError:
        raise UsageError(f"{name}={value!r}: it is a number, or several with commas between") from None


_CODES = {event_name(code): code for code in range(256)}
"""Also of types that nobody knows, as ``events.type`` shows them."""


def _types(value: Any) -> frozenset[int] | None:
    if value is None:
        return None
    given = value.split(",") if isinstance(value, str) else [value] if isinstance(value, int) else list(value)
    codes = set()
    for each in given:
        text = str(each).strip().upper()
        if text.isdigit():
            if int(text) not in range(256):
                raise UsageError(f"types: no event {text}; the numbers are 0 to 255")
            codes.add(int(text))
        elif text in _CODES:
            codes.add(_CODES[text])
        else:
            names = sorted(cls.name for cls in EVENTS.values())
            raise UsageError(f"types: no event {text}; there are {', '.join(names)}")
    return frozenset(codes)


def settle_of(options: Mapping[str, Any]) -> Settle | None:
    """What gives columns the names, signs and charsets that the log does not tell."""
    schema_from, charset = options.get("schema_from"), options.get("assume_charset")
    if schema_from is None and charset is None:
        return None
    definitions = None if schema_from is None else read_definitions(schema_from)
    if charset is not None:
        charset = charset_of_name(charset)

    def settle(table: TableMap) -> tuple[Column, ...]:
        columns = table.columns
        found = None if definitions is None else definitions.get(table.schema, table.table)
        if found is not None and not fully_told(columns):
            columns = settle_columns(
                columns,
                found,
                f"{table.schema}.{table.table}",
                mariadb=table.mariadb,
                generated_key=bool(table.flags & GENERATED_KEY),
            )
        return columns if charset is None else with_charset(columns, charset)

    return settle


def check_options(options: Mapping[str, Any], images: str = "variant") -> None:
    known = OPTIONS | FINDING
    if unknown := set(options) - known:
        raise UsageError(f"no option {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}")
    if images not in ("variant", "json"):
        raise UsageError(f"images={images!r}: variant or json")
    mode = options.get("mode", FAILFAST)
    if mode not in MODES:
        raise UsageError(f"mode={mode!r}: {', '.join(MODES[:-1])} or {MODES[-1]}")


def check_view(view: str, options: Mapping[str, Any]) -> None:
    """Raise for options that would be ignored."""
    if view == "rows" and (
        given := [name for name in ("schemas", "tables") if options.get(name) is not None]
    ):
        raise UsageError(
            f"{' and '.join(given)}: rows are of the one table that is named; leave out the rest"
        )
    if view in ("events", "transactions") and options.get("include_uncommitted"):
        raise UsageError(
            f"include_uncommitted is for changes and rows: {view} shows all transactions, whatever their outcome"
        )


def chosen_columns(columns: Sequence[str] | None, names: list[str]) -> tuple[str, ...]:
    if columns is None:
        return tuple(names)
    if isinstance(columns, str):
        raise UsageError(f"columns={columns!r}: give a list of names")
    if not columns:
        raise UsageError("columns: name at least one")
    for name in columns:
        if name not in names:
            raise UsageError(f"no column {name}; there are {', '.join(names)}")
    return tuple(columns)


@dataclass(frozen=True)
class Request:
    """The files of a read, from where to where, and what is selected."""

    found: list[LogFile]
    """All that the paths mean."""
    files: list[LogFile]
    """Those of them that are read."""
    start: int | None
    stop: int | None
    exact: bool
    """Whether a transaction is known to begin at the start."""
    selection: Selection
    settle: Settle | None
    follow: ServerAddress | None
    """Whose log is read on, when its end is reached."""

    @staticmethod
    def of(
        paths: Paths, options: Mapping[str, Any], storage: Storage | None = None, *, recursive: bool = False
    ) -> Request:
        given = [paths] if isinstance(paths, str | Path) else list(paths)
        follow, exact = None, False
        if len(given) == 1 and is_server(given[0]):
            address = ServerAddress.parse(str(given[0]))
            reached = reach(address, options.get("start"), options.get("stop"))
            options = {**options, "start": reached.start, "stop": reached.stop}
            found = [LogFile(uri, listed_size=size) for uri, size in reached.files]
            follow, exact = address if address.follow else None, reached.exact
        else:
            _check_plain(given, options)
            found = find_logs(given, storage, recursive=recursive)
        start, stop = where_of("start", options.get("start")), where_of("stop", options.get("stop"))
        files, first, last = _between(found, start.position, stop.position)
        return Request(found, files, first, last, exact, selection_of(options), settle_of(options), follow)


def _check_plain(paths: list[str | Path], options: Mapping[str, Any]) -> None:
    """Several paths, or files: a word or an address does not say where to begin in them."""
    if (word := where_of("start", options.get("start")).word) is not None:
        raise UsageError(f"start={word} is for a server: name one, and nothing else")
    for path in paths:
        address = ServerAddress.parse(str(path)) if is_server(path) else None
        if address is not None and (address.start or address.stop):
            raise UsageError(f"{address.title}: an address with start or stop is the only path")


def _between(
    files: list[LogFile], start: Position | None, stop: Position | None
) -> tuple[list[LogFile], int | None, int | None]:
    """The files from one position to another, and the positions in the first and in the last."""
    first = _index(files, start[0], "start") if start and start[0] else 0
    last = _index(files, stop[0], "stop") if stop and stop[0] else len(files) - 1
    if last < first or (first == last and start and stop and stop[1] < start[1]):
        raise UsageError("stop lies before start: nothing is in between")
    return files[first : last + 1], start[1] if start else None, stop[1] if stop else None


def _index(files: list[LogFile], name: str, option: str) -> int:
    for index, file in enumerate(files):
        if file.name == name:
            return index
    raise UsageError(f"{option}: no file {name} among {', '.join(file.name for file in files[:5])}")
