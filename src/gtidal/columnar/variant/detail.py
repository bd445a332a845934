"""What an event says, as VARIANT: the column ``detail`` of the events view.

Every decoded field is there under its own name, nested as the event is; a field that the log does not hold is
an absent key. Row values are left out (``changes`` has them), and so are the bytes they are hidden in, which
give their size only. Numbers that stand for something have a name beside them.
"""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Callable, Container, Iterable
from dataclasses import fields, is_dataclass
from functools import cache, cached_property
from typing import Any

from gtidal.columnar.variant.writing import encode_value
from gtidal.columns.charsets import collation_name, decode_text
from gtidal.columns.types import Column
from gtidal.errors import DecodeError, GtidalError
from gtidal.events.format import CHECKSUM_NAMES, FormatDescription
from gtidal.events.header import Header
from gtidal.events.mariadb import CompressedRows, PartialRowData, QueryCompressed
from gtidal.events.registry import Event
from gtidal.events.rows import RowsEvent
from gtidal.events.statement import STRING_RESULT, StatusVariable, UserVar
from gtidal.events.table_map import Metadata, TableMap
from gtidal.events.transaction import GtidEvent, TransactionPayload, XaId, version_text
from gtidal.gtid.binary import EncodedGtidSet
from gtidal.gtid.mariadb import MariadbGtid
from gtidal.gtid.mysql import Gtid, GtidSet
from gtidal.log.tables import column_title

Detail = dict[str, Any]

_HIDDEN: dict[type[Event], tuple[str, ...]] = {
    RowsEvent: ("rows", "table", "undecoded"),
    CompressedRows: ("compressed_rows",),
    TransactionPayload: ("payload",),
    PartialRowData: ("data",),
    QueryCompressed: ("compressed",),
    TableMap: ("mariadb",),
}
"""Row values, the bytes they are hidden in, and what is given unpacked."""

_SIZED = ("undecoded", "compressed_rows", "payload", "data", "compressed")
"""Of the hidden fields, those that give their size."""

_SELDOM = frozenset(
    (
        *("post_header_extra", "trailing", "padding", "extra", "unknown_fields", "optional"),
        *("before_columns", "after_columns", "extra_info"),
    )
)
"""Absent where they are empty: the event has no such part."""

_TEXTS = frozenset(
    (
        *("query", "message", "variable", "type_name", "labels"),
        *("field_terminator", "enclosed_by", "line_terminator", "line_start", "escaped_by"),
    )
)
"""Fields of bytes that are text nearly always: strings where they are UTF-8."""

_MIXED = frozenset(("values", "extra_info"))
"""Lists of records of several kinds: each says which."""

_DERIVED = (
    *("flag_names", "extra_flag_names", "opt_flag_names", "empty_flag_names", "names", "kind_name"),
    *("incident_name", "duplicates_name", "compression", "compression_name", "uncompressed_size"),
    *("gtid", "gtids", "xa", "row_only", "query", "file", "position", "artificial", "ends_statement"),
)
"""Properties of events, and of their parts, that say what the fields do not."""

_PLAIN = frozenset((int, str, bool))
"""Most fields are of these, which are what they are."""

_COLUMN = (
    *("metadata", "nullable", "unsigned", "geometry_type", "dimension", "visible"),
    *("key_position", "key_prefix"),
)


def encode_detail(event: Event) -> tuple[bytes, bytes]:
    """Value and metadata of everything that ``event`` says but its row values."""
    try:
        return encode_value(_detail(event))
    except GtidalError as error:
        raise error.at(position=event.header.position, event=event.name, field="detail") from None


def _detail(event: Event) -> Detail:
    hidden = _hidden(type(event))  # type: ignore[arg-type]  # classes are hashable
    found = _record(event, hidden)
    for name in _SIZED:
        if name in hidden and getattr(event, name):
            found[f"{name}_size"] = len(getattr(event, name))
    for kind, add in _ADDITIONS.items():
        if isinstance(event, kind):
            found |= {name: value for name, value in add(event).items() if value is not None}
    return found


@cache
def _hidden(kind: type[Event]) -> frozenset[str]:
    return frozenset(name for base, names in _HIDDEN.items() if issubclass(kind, base) for name in names)


@cache
def _names(kind: type[Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of a record's fields, and of what it derives from them."""
    derived = [name for name in _DERIVED if isinstance(getattr(kind, name, None), property | cached_property)]
    return tuple(part.name for part in fields(kind)), tuple(derived)


def _record(record: Any, hidden: Container[str] = ()) -> Detail:
    """The fields of a record, and what it derives from them."""
    found: Detail = {}
    names, derived = _names(type(record))  # type: ignore[arg-type]  # classes are hashable
    for name in names:
        value = getattr(record, name)
        if name not in hidden and value is not None and (value or name not in _SELDOM):
            found[name] = _plain(value, name)
    for name in derived:
        try:
            value = getattr(record, name)
        except DecodeError:  # the fields, which are there, do not make one
            continue
        if value is not None:
            found[name] = _plain(value, name)
    return found


def _plain(value: Any, name: str) -> Any:
    """A field's value as one that VARIANT has."""
    if value.__class__ in _PLAIN:
        return value
    if isinstance(value, bytes):
        return _bytes(value, name)
    if isinstance(value, Gtid | MariadbGtid | XaId):
        return str(value)
    if isinstance(value, GtidSet):
        return value.one_line()
    if isinstance(value, EncodedGtidSet):
        return {"encoding": value.encoding, "set": value.to_set().one_line()}
    if isinstance(value, Header):
        return _record(value, ("position", "long"))
    if is_dataclass(value):
        return _record(value)
    if isinstance(value, tuple):
        if any(isinstance(item, StatusVariable | Metadata) for item in value):
            return _by_name(value)
        if name in _MIXED:
            return [{"kind": type(item).__name__} | _record(item) for item in value]
        return [_plain(item, name) for item in value]
    return value


def _bytes(value: bytes, name: str) -> Any:
    if name == "uuid" and len(value) == 16:
        return str(uuid.UUID(bytes=value))
    return _text(value) if name in _TEXTS else value


def _text(value: bytes) -> str | bytes:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


def _by_name(parts: Iterable[Any]) -> Detail:
    """Status variables and optional metadata as an object. Each should be there once."""
    found: Detail = {}
    for part in parts:
        if isinstance(part, StatusVariable):
            name = part.variable or f"unknown_{part.code}"
        else:
            name = part.title.lower() or f"unknown_{part.tag}"
        again = 2
        title = name
        while title in found:
            title = f"{name}_{again}"
            again += 1
        found[title] = _record(part)
    return found


def _of_rows(event: RowsEvent) -> Detail:
    table = event.table
    return {
        "row_count": None if event.undecoded or (table is None and not event.rows) else len(event.rows),
        "table_name": None if table is None else f"{table.schema}.{table.table}",
    }


def _of_table_map(event: TableMap) -> Detail:
    try:
        return {"columns": [_column(column) for column in event.columns]}
    except DecodeError:
        return {}


def _column(column: Column) -> Detail:
    found: Detail = {"name": column_title(column), "type": column.type.name}
    found |= {name: getattr(column, name) for name in _COLUMN if getattr(column, name) is not None}
    if column.charset is not None:
        found["collation"] = collation_name(column.charset) or str(column.charset)
    if column.labels is not None:
        found["labels"] = [decode_text(label, column.charset) for label in column.labels]
    return found


def _of_gtid(event: GtidEvent) -> Detail:
    return {
        "immediate_commit_time": _instant(event.immediate_commit_timestamp),
        "original_commit_time": _instant(event.original_timestamp),
        "immediate_server_version_text": version_text(event.immediate_server_version),
        "original_server_version_text": version_text(event.original_version),
    }


def _instant(microseconds: int | None) -> datetime.datetime | None:
    if not microseconds:
        return None
    try:
        return datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(
            microseconds=microseconds
        )
    except OverflowError:  # a number no clock shows; it is there as a number
        return None


def _of_user_var(event: UserVar) -> Detail:
    try:
        value = event.python()
    except DecodeError:
        return {}
    if event.type == STRING_RESULT and isinstance(value, bytes):
        return {
            "decoded_value": decode_text(value, event.collation),
            "collation_name": None if event.collation is None else collation_name(event.collation),
        }
    return {"decoded_value": value}


def _of_format(event: FormatDescription) -> Detail:
    algorithm = event.checksum_algorithm
    return {"checksum_algorithm_name": None if algorithm is None else CHECKSUM_NAMES.get(algorithm)}


_ADDITIONS: dict[type[Event], Callable[[Any], Detail]] = {
    RowsEvent: _of_rows,
    TableMap: _of_table_map,
    GtidEvent: _of_gtid,
    UserVar: _of_user_var,
    FormatDescription: _of_format,
}
