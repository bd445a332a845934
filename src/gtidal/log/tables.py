"""The tables of a log: what its table maps say of them, and how many rows changed.

A log tells of a table only where row changes follow. A *version* is one definition: two table maps that
say the same, whatever their table id, are the same version. What the log leaves out (servers with
``binlog_row_metadata=MINIMAL``, MariaDB's default, all before 8.0.1) stays unknown; nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gtidal.columns.charsets import BINARY, charset_name, decode_text
from gtidal.columns.meanings import Meaning
from gtidal.columns.shapes import Unreadable
from gtidal.columns.types import TYPED_ARRAY, Column
from gtidal.errors import DecodeError, GtidalError
from gtidal.events.registry import EVENTS, Event
from gtidal.events.rows import RowsEvent
from gtidal.events.table_map import TableMap
from gtidal.log.decoder import HOLDS_EVENTS, Frame, LogDecoder

GENERATED_KEY = 0x0004
GENERATED_KEY_NAME = "my_row_id"
GEOMETRIES = (
    "GEOMETRY",
    "POINT",
    "LINESTRING",
    "POLYGON",
    "MULTIPOINT",
    "MULTILINESTRING",
    "MULTIPOLYGON",
    "GEOMETRYCOLLECTION",
)
# The most bytes that a character takes; all others take one.
CHARACTER_SIZE = {
    **dict.fromkeys(("big5", "cp932", "euckr", "gb2312", "gbk", "sjis", "ucs2"), 2),
    **dict.fromkeys(("eucjpms", "ujis", "utf8mb3"), 3),
    **dict.fromkeys(("gb18030", "utf16", "utf16le", "utf32", "utf8mb4"), 4),
}
_BLOB_PREFIX = {0: "", 1: "TINY", 2: "", 3: "MEDIUM", 4: "LONG"}
_INTEGERS = {1: "TINYINT", 2: "SMALLINT", 3: "INT", 8: "BIGINT", 9: "MEDIUMINT"}


def _string(column: Column, text: str, binary: str) -> str:
    """CHAR or BINARY. The log has the length in bytes, SQL says it in characters."""
    length = column.length or 0
    if column.charset is None:
        return f"{text}({length} bytes)"
    if column.charset == BINARY:
        return f"{binary}({length})"
    size = CHARACTER_SIZE.get(charset_name(column.charset) or "", 1)
    return f"{text}({length // size})"


def _blob(column: Column) -> str:
    prefix = _BLOB_PREFIX.get(column.metadata, "")
    if column.charset is None:
        return f"{prefix}BLOB or {prefix}TEXT"
    return prefix + ("BLOB" if column.charset == BINARY else "TEXT")


def _members(name: str) -> Callable[[Column], str]:
    def text(column: Column) -> str:
        if column.labels is None:
            return f"{name}(…)"
        return f"{name}({','.join(_label(label, column.charset) for label in column.labels)})"

    return text


def _label(label: bytes, charset: int | None) -> str:
    text = decode_text(label, charset)
    if isinstance(text, bytes):
        text = text.decode("utf-8", "backslashreplace")
    return "'" + text.replace("'", "''") + "'"


def _always(name: str) -> Callable[[Column], str]:
    return lambda column: name


def _digits(name: str) -> Callable[[Column], str]:
    return lambda column: f"{name}({column.digits})" if column.digits else name


def _geometry(column: Column) -> str:
    kind = column.geometry_type
    return GEOMETRIES[kind] if kind is not None and kind < len(GEOMETRIES) else GEOMETRIES[0]


def _decimal(column: Column) -> str:
    return f"DECIMAL({column.precision},{column.digits})"


def _vector(column: Column) -> str:
    return "VECTOR" if column.dimension is None else f"VECTOR({column.dimension})"


_SQL: dict[int, Callable[[Column], str]] = {
    4: _always("FLOAT"),
    5: _always("DOUBLE"),
    10: _always("DATE"),
    14: _always("DATE"),
    13: _always("YEAR"),
    15: lambda column: _string(column, "VARCHAR", "VARBINARY"),
    16: lambda column: f"BIT({column.bits})",
    17: _digits("TIMESTAMP"),
    18: _digits("DATETIME"),
    19: _digits("TIME"),
    140: lambda column: f"{_blob(column)} COMPRESSED",
    141: lambda column: f"{_string(column, 'VARCHAR', 'VARBINARY')} COMPRESSED",
    242: _vector,
    246: _decimal,
    247: _members("ENUM"),
    248: _members("SET"),
    249: _blob,
    250: _blob,
    251: _blob,
    252: _blob,
    253: lambda column: _string(column, "VARCHAR", "VARBINARY"),
    254: lambda column: _string(column, "CHAR", "BINARY"),
    255: _geometry,
    **{code: _always(name) for code, name in _INTEGERS.items()},
}


def base_type(column: Column) -> str:
    """The type without sign and charset: ``VARCHAR(64)``."""
    if column.real_type == TYPED_ARRAY:
        element = column.element_type or 0
        name = _INTEGERS.get(element)
        if name is None:
            try:
                name = base_type(Column(0, element, element, column.metadata))
            except GtidalError:
                name = "?"
        return f"{name} ARRAY"
    maker = _SQL.get(column.real_type)
    return maker(column) if maker else column.type.name


def is_numeric(column: Column) -> bool:
    """Whether SQL's UNSIGNED applies; YEAR has a sign bit in the log, and never a sign."""
    return column.type.numeric and column.type.meaning is not Meaning.YEAR


def has_charset(column: Column) -> bool:
    """Whether the column's values are text, or might be."""
    if column.type.meaning in (Meaning.ENUM, Meaning.SET):
        return column.labels is not None
    return column.type.meaning in (Meaning.CHARACTERS, Meaning.COMPRESSED)


def unknown_parts(column: Column) -> tuple[str, ...]:
    """What a definition would say and the log does not: ``name``, ``sign``, ``charset``, ``labels`` …"""
    parts = []
    if column.name is None:
        parts.append("name")
    if is_numeric(column) and column.unsigned is None:
        parts.append("sign")
    if has_charset(column) and column.charset is None:
        parts.append("charset")
    if column.type.meaning in (Meaning.ENUM, Meaning.SET) and column.labels is None:
        parts.append("labels")
    if column.type.meaning is Meaning.GEOMETRY and column.geometry_type is None:
        parts.append("geometry type")
    if column.type.meaning is Meaning.VECTOR and column.dimension is None:
        parts.append("dimension")
    if isinstance(column.shape, Unreadable):
        parts.append("length")
    return tuple(parts)


def sql_type(column: Column) -> str:
    """The type as SQL says it: ``INT UNSIGNED``, ``VARCHAR(64) utf8mb4``, ``DECIMAL(10,2)``."""
    text = base_type(column)
    if column.unsigned and is_numeric(column):
        text += " UNSIGNED"
    if column.charset not in (None, BINARY) and has_charset(column):
        text += f" {charset_name(column.charset or 0) or f'collation {column.charset}'}"
    return text


@dataclass(slots=True)
class TableVersion:
    """One definition of a table."""

    columns: tuple[Column, ...]
    generated_key: bool
    file: str
    position: int
    timestamp: int
    rows_inserted: int = 0
    rows_updated: int = 0
    rows_deleted: int = 0
    bytes: int = 0

    @property
    def key(self) -> tuple[str, ...] | None:
        """The columns of the primary key, empty if there is none; None where the log does not tell. A name
        with a number in parentheses is that many of its characters."""
        if self.generated_key:
            return (GENERATED_KEY_NAME,)
        parts = [column for column in self.columns if column.key_position is not None]
        if not parts and any(column.name is None for column in self.columns):
            return None  # names come with FULL metadata only, and so do keys
        parts.sort(key=lambda column: column.key_position or 0)
        return tuple(
            column_title(column) + (f"({column.key_prefix})" if column.key_prefix else "") for column in parts
        )


def column_title(column: Column) -> str:
    """The column's name, or ``@3`` as the reference tool numbers those without."""
    return column.name if column.name is not None else f"@{column.index + 1}"


@dataclass(slots=True)
class Table:
    """A table and its versions, the oldest first. ``schema`` is None for rows whose table map is not in the
    logs: then ``name`` tells the table id, and their number is not known."""

    schema: str | None
    name: str
    versions: list[TableVersion] = field(default_factory=list)
    latest: TableVersion | None = None
    """The version seen last: a definition may come back."""
    undecoded_events: int = 0
    """Rows events that could not be counted: no table map, or rows that do not decode."""
    undecoded_bytes: int = 0

    @property
    def title(self) -> str:
        return f"{self.schema}.{self.name}" if self.schema is not None else self.name

    def _sum(self, name: str) -> int:
        return sum(getattr(version, name) for version in self.versions)

    @property
    def rows_inserted(self) -> int:
        return self._sum("rows_inserted")

    @property
    def rows_updated(self) -> int:
        return self._sum("rows_updated")

    @property
    def rows_deleted(self) -> int:
        return self._sum("rows_deleted")

    @property
    def bytes(self) -> int:
        """Of its table maps and rows events, uncompressed, headers and checksums included."""
        return self._sum("bytes") + self.undecoded_bytes

    @property
    def columns(self) -> tuple[Column, ...]:
        """Those of the latest version."""
        return self.latest.columns if self.latest else ()

    @property
    def key(self) -> tuple[str, ...] | None:
        return self.latest.key if self.latest else None


_COUNTER = {"insert": "rows_inserted", "update": "rows_updated", "delete": "rows_deleted"}


class TableCatalog:
    """Fed all events in order, inner ones too; holds the tables they tell of, in order of appearance."""

    def __init__(self) -> None:
        self._tables: dict[tuple[str | None, str], Table] = {}
        self._versions: dict[tuple[Any, ...], TableVersion] = {}

    @property
    def tables(self) -> list[Table]:
        return list(self._tables.values())

    def feed(self, event: Event, file: str) -> None:
        if isinstance(event, TableMap):
            self._version(event, file).bytes += event.header.size
        elif isinstance(event, RowsEvent) and not event.is_dummy:
            if event.table is None:
                self.undecoded(event.header.size, event.table_id)
                return
            version = self._version(event.table, file)
            version.bytes += event.header.size
            counter = _COUNTER[event.operation]
            setattr(version, counter, getattr(version, counter) + len(event.rows))

    def read(self, decoder: LogDecoder, frame: Frame, file: str) -> None:
        """Decode a frame, and take note of it. Rows that do not decode are counted as such; anything else that is
        wrong raises."""
        event = self._decode(decoder, frame)
        if event is None:
            return
        self.feed(event, file)
        if isinstance(event, HOLDS_EVENTS):
            for _, inner in decoder.inner(event):
                self.feed(inner, file)

    def _decode(self, decoder: LogDecoder, frame: Frame) -> Event | None:
        """The event; None for rows that do not decode: their table is known, their number is not."""
        try:
            return decoder.decode(frame)
        except DecodeError as error:
            kind = EVENTS.get(frame.type_code)
            if kind is None or not issubclass(kind, RowsEvent):
                raise
            bare = _without_rows(decoder, frame, error)
            self.undecoded(len(frame.data), bare.table_id, bare.table)
            return None

    def undecoded(self, size: int, table_id: int, table: TableMap | None = None) -> None:
        """A rows event that nobody can count."""
        if table is None:
            found = self._table(None, f"table id {table_id} (its table map is not in the log)")
        else:
            found = self._table(table.schema, table.table)
        found.undecoded_events += 1
        found.undecoded_bytes += size

    def _table(self, schema: str | None, name: str) -> Table:
        return self._tables.setdefault((schema, name), Table(schema, name))

    def _version(self, event: TableMap, file: str) -> TableVersion:
        header = event.header
        return self.version(event, file, header.position, header.timestamp)

    def version(self, event: TableMap, file: str, position: int, timestamp: int) -> TableVersion:
        """The version that a table map describes, which is its table's latest now. It begins at ``position`` if it
        has not been seen before."""
        generated = bool(event.flags & GENERATED_KEY)
        definition = (event.schema, event.table, event.types, event.metadata, event.null_bitmap,
                      event.optional, generated)  # fmt: skip
        version = self._versions.get(definition)
        if version is None:
            version = TableVersion(event.columns, generated, file, position, timestamp)
            self._versions[definition] = version
            self._table(event.schema, event.table).versions.append(version)
        self._tables[event.schema, event.table].latest = version
        return version


def _without_rows(decoder: LogDecoder, frame: Frame, error: GtidalError) -> RowsEvent:
    context = decoder.context
    context.decode_rows = False
    try:
        event = decoder.decode(frame)
    except GtidalError:
        raise error from None
    finally:
        context.decode_rows = True
    if not isinstance(event, RowsEvent):
        raise error
    return event
