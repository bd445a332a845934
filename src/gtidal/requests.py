"""What users write for ``start``, ``stop`` and the filters, understood: the same words in Python, Spark and the
command line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from gtidal.columnar.selection import AnyGtidSet, Selection
from gtidal.columns.definitions import fully_told, settle_columns, with_charset
from gtidal.columns.types import Column
from gtidal.errors import UsageError
from gtidal.events.registry import EVENTS
from gtidal.events.table_map import TableMap
from gtidal.gtid import GtidSet, MariadbGtidSet, parse_gtid_set
from gtidal.log.tables import GENERATED_KEY
from gtidal.sources.definitions import read_definitions

Position = tuple[str | None, int]
_POSITION = re.compile(r"(?:(.+):)?(\d+)")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def place_of(option: str, value: Any) -> tuple[Position | None, AnyGtidSet | None, int | None]:
    """A position (file or None, offset), a GTID set, or a time in microseconds since 1970: one of the three."""
    if value is None:
        return None, None, None
    if isinstance(value, GtidSet | MariadbGtidSet):
        return None, value, None
    if isinstance(value, datetime):
        return None, None, microseconds(value)
    if isinstance(value, int):
        return (None, value), None, None
    text = str(value).strip()
    if _DATE.match(text):
        try:
            return None, None, microseconds(datetime.fromisoformat(text))
        except ValueError as error:
            raise UsageError(f"{option}={text!r}: {error}") from None
    found = _POSITION.fullmatch(text)
    if found and (found[1] is None or "." in found[1]):
        return (found[1], int(found[2])), None, None
    try:
        return None, parse_gtid_set(text), None
    except UsageError:
        raise UsageError(
            f"{option}={text!r} is no position (binlog.000024:197), no time (2026-11-16T10:00:00) and no GTID set"
        ) from None


def microseconds(moment: datetime) -> int:
    """Since 1970; a time without a zone is UTC."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    span = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (span.days * 86400 + span.seconds) * 1_000_000 + span.microseconds


def selection_of(
    options: Mapping[str, Any], had: AnyGtidSet | None, start_time: int | None, stop_time: int | None
) -> Selection:
    """``had``: GTIDs that need not be read any more."""
    exclude = _gtids(options, "exclude_gtids")
    if had is not None:
        exclude = had if exclude is None else _united(exclude, had)
    servers = _numbers(options, "server_ids")
    return Selection(
        start_time=start_time,
        stop_time=stop_time,
        include_gtids=_gtids(options, "include_gtids"),
        exclude_gtids=exclude,
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
    except ValueError as error:
        raise UsageError(f"{name}: {error}") from None


_CODES = {cls.name: code for code, cls in EVENTS.items()}


def _types(value: Any) -> frozenset[int] | None:
    if value is None:
        return None
    given = value.split(",") if isinstance(value, str) else [value] if isinstance(value, int) else list(value)
    codes = set()
    for each in given:
        text = str(each).strip().upper()
        if text.isdigit():
            codes.add(int(text))
        elif text in _CODES:
            codes.add(_CODES[text])
        else:
            raise UsageError(f"types: no event {text}; there are {', '.join(sorted(_CODES))}")
    return frozenset(codes)


def settle_of(options: Mapping[str, Any]) -> Callable[[TableMap], tuple[Column, ...]] | None:
    """What gives columns the names, signs and charsets that the log does not tell."""
    schema_from, charset = options.get("schema_from"), options.get("assume_charset")
    if schema_from is None and charset is None:
        return None
    definitions = None if schema_from is None else read_definitions(schema_from)

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
