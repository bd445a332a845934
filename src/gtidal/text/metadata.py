"""What ``--print-table-metadata`` prints for a table map: its columns and its primary key.

The tools walk the optional metadata by iterators of their own, one step for each column that they believe to
have an entry; where a server believes otherwise, names and charsets shift. So do ours: this module follows
Table_map_log_event::print_columns and does not use ``TableMap.columns``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gtidal.columns.charsets import BINARY, charset_name, collation_name
from gtidal.events.table_map import (
    BitsMetadata,
    ColumnCharset,
    ColumnName,
    ColumnVisibility,
    DefaultCharset,
    EnumAndSetColumnCharset,
    EnumAndSetDefaultCharset,
    EnumLabels,
    GeometryType,
    LabelsMetadata,
    NumbersMetadata,
    PrimaryKeyWithPrefix,
    SetLabels,
    Signedness,
    SimplePrimaryKey,
    TableMap,
    VectorDimensionality,
)

GENERATED_KEY = 0x0004
ENUM, SET, YEAR, VECTOR, STRING, GEOMETRY = 247, 248, 13, 242, 254, 255

_SIGNED = frozenset((1, 2, 3, 4, 5, 8, 9, 246))
_CHARACTER = frozenset((15, 252, 253, 254))
_MAX_BYTES = {
    **dict.fromkeys(("big5", "cp932", "euckr", "gb2312", "gbk", "sjis", "ucs2"), 2),
    **dict.fromkeys(("eucjpms", "ujis", "utf8mb3"), 3),
    **dict.fromkeys(("gb18030", "utf16", "utf16le", "utf32", "utf8mb4"), 4),
}
_ESCAPES = {0: "\\0", 8: "\\b", 9: "\\t", 10: "\\n", 13: "\\r", ord("'"): "\\'", ord("\\"): "\\\\"}
_NAME_ESCAPES = {**_ESCAPES, ord("`"): "``"}
_GEOMETRIES = ("GEOMETRY", "POINT", "LINESTRING", "POLYGON", "MULTIPOINT", "MULTILINESTRING", "MULTIPOLYGON")
_BLOBS = ("", "TINY", "", "MEDIUM", "LONG")
_NEXT_LINE = ",\n#         "


class _Metadata:
    """The block of column metadata, read as the tool reads it: a type it does not know takes no bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.pos = 0

    def peek(self) -> int:
        return self.data[self.pos] if self.pos < len(self.data) else 0

    def take(self) -> int:
        value = self.peek()
        self.pos += 1
        return value


Name = Callable[[_Metadata, int | None], str]


def _always(name: str, size: int = 0) -> Name:
    def text(block: _Metadata, collation: int | None) -> str:
        block.pos += size
        return name

    return text


def _temporal(name: str) -> Name:
    def text(block: _Metadata, collation: int | None) -> str:
        digits = block.take()
        return f"{name}({digits})" if digits else name

    return text


def _decimal(block: _Metadata, collation: int | None) -> str:
    return f"DECIMAL({block.take()},{block.take()})"


def _bit(block: _Metadata, collation: int | None) -> str:
    return f"BIT({block.take() + 8 * block.take()})"


def _blob(block: _Metadata, collation: int | None) -> str:
    size = block.take()
    kind = "BLOB" if collation in (None, BINARY) else "TEXT"
    return f"{_BLOBS[size]}{kind}" if 1 <= size <= 4 else f"INVALID_{kind}({size})"


def _varchar(block: _Metadata, collation: int | None) -> str:
    length = block.take() | block.take() << 8
    if collation in (None, BINARY):
        return f"VARBINARY({length})"
    return f"VARCHAR({length // _character_size(collation)})"


def _char(block: _Metadata, collation: int | None) -> str:
    first, second = block.take(), block.take()
    length = ((first & 0x30) ^ 0x30) << 4 | second
    if collation in (None, BINARY):
        return f"BINARY({length})"
    return f"CHAR({length // _character_size(collation)})"


def _character_size(collation: int | None) -> int:
    return _MAX_BYTES.get(charset_name(collation or 0) or "", 1)


_NAMES: dict[int, Name] = {
    1: _always("TINYINT"),
    2: _always("SMALLINT"),
    3: _always("INT"),
    4: _always("FLOAT", 1),
    5: _always("DOUBLE", 1),
    8: _always("BIGINT"),
    9: _always("MEDIUMINT"),
    10: _always("DATE"),
    13: _always("YEAR"),
    14: _always("DATE"),
    15: _varchar,
    16: _bit,
    17: _temporal("TIMESTAMP"),
    18: _temporal("DATETIME"),
    19: _temporal("TIME"),
    246: _decimal,
    247: _always("ENUM", 2),
    248: _always("SET", 2),
    252: _blob,
    253: _varchar,
    254: _char,
}
_MYSQL_NAMES: dict[int, Name] = {**_NAMES, 244: _always("BOOLEAN"), 245: _always("JSON", 1)}


def _bits(table: TableMap, kind: type[BitsMetadata]) -> Iterator[bool]:
    """All bits, those of the padding too: the tool cannot tell them apart."""
    part = table.part(kind)
    for byte in part.bits if part else b"":
        for place in range(8):
            yield bool(byte & 0x80 >> place)


def _numbers(table: TableMap, kind: type[NumbersMetadata]) -> tuple[int, ...]:
    part = table.part(kind)
    return part.numbers if part else ()


def _labels(table: TableMap, kind: type[LabelsMetadata]) -> Iterator[Sequence[bytes]]:
    part = table.part(kind)
    return (column.labels for column in (part.columns if part else ()))


def _collations(
    table: TableMap, default: type[NumbersMetadata], each: type[NumbersMetadata]
) -> Iterator[int]:
    """A collation for each column in turn; an id that the tool does not know counts as none (0)."""
    numbers = _numbers(table, default)
    if not numbers or not numbers[0]:
        yield from _numbers(table, each)
        return
    exceptions = list(zip(numbers[1::2], numbers[2::2], strict=False))
    exceptions.reverse()
    index = 0
    while True:
        if exceptions and exceptions[-1][0] == index:
            yield exceptions.pop()[1]
        else:
            yield numbers[0]
        index += 1


class _Columns:
    """Prints the columns of one table map."""

    def __init__(self, table: TableMap, mariadb: bool) -> None:
        self.table = table
        self.mariadb = mariadb
        self.block = _Metadata(table.metadata or b"")
        self.generated_key = bool(table.flags & GENERATED_KEY) and not mariadb
        self.signedness = _bits(table, Signedness)
        self.visibility = iter(()) if mariadb else _bits(table, ColumnVisibility)
        self.collations = _collations(table, DefaultCharset, ColumnCharset)
        self.label_collations = _collations(table, EnumAndSetDefaultCharset, EnumAndSetColumnCharset)
        self.labels = {ENUM: _labels(table, EnumLabels), SET: _labels(table, SetLabels)}
        self.geometries = iter(_numbers(table, GeometryType))
        self.dimensions = iter(_numbers(table, VectorDimensionality))
        names = table.part(ColumnName)
        self.names = iter(names.names if names else ())
        self.signed = _SIGNED if mariadb else _SIGNED | {0, YEAR}
        # Each tool takes one more type for text.
        self.character = _CHARACTER | {GEOMETRY if mariadb else VECTOR}

    def text(self) -> str:
        out = ["# Columns("]
        last = len(self.table.types) - 1
        for index, code in enumerate(self.table.types):
            column, known = self._column(index, code)
            out.append(column)
            if known and index != last:
                out.append(_NEXT_LINE)
        out.append(")\n")
        return "".join(out)

    def _column(self, index: int, code: int) -> tuple[str, bool]:
        if code == STRING and self.block.peek() in (ENUM, SET):
            code = self.block.peek()
        generated = index == 0 and self.generated_key
        labelled = code in (ENUM, SET)
        collation = self._collation(code)
        out = []
        name = next(self.names, None)
        if name is not None:
            out.append(f"`{name.translate(_ESCAPES if self.mariadb else _NAME_ESCAPES)}` ")
        elif generated:
            out.append("`my_row_id` ")
        type_name = self._type_name(code, collation)
        if not type_name:
            return f"{''.join(out)}INVALID_TYPE({code})", False
        out.append(type_name)
        out.append(self._signedness(code, generated))
        if generated or not self._nullable(index):
            out.append(" NOT NULL")
        labels = next(self.labels[code], None) if labelled else None
        if labels is not None:
            between = "," if self.mariadb else ", "
            # An empty list has no opening parenthesis either.
            out.append(f"{'(' if labels else ''}{between.join(map(_label, labels))})")
        if collation is not None and (labelled or collation != BINARY):
            names = charset_name(collation), collation_name(collation, self.mariadb)
            out.append(f" CHARSET {names[0]} COLLATE {names[1]}")
        visible = next(self.visibility, None)
        if visible is False or (visible is None and generated):
            out.append(" INVISIBLE")
        if generated:
            out.append(" AUTO_INCREMENT")
        return "".join(out), True

    def _nullable(self, index: int) -> bool:
        bitmap = self.table.null_bitmap  # none before MySQL 5.1.18
        return bitmap is None or bool(bitmap[index >> 3] >> (index & 7) & 1)

    def _collation(self, code: int) -> int | None:
        collation = 0
        if code in self.character:
            collation = next(self.collations, 0)
        elif code in (ENUM, SET):
            collation = next(self.label_collations, 0)
        return collation if charset_name(collation) else None

    def _type_name(self, code: int, collation: int | None) -> str:
        if code == GEOMETRY:
            self.block.pos += 1
            kind = next(self.geometries, 0)
            if kind == 7:
                return "GEOMETRYCOLLECTION" if self.mariadb else "GEOMCOLLECTION"
            return _GEOMETRIES[kind] if kind < 7 else f"INVALID_GEOMETRY_TYPE({kind})"
        if code == VECTOR and not self.mariadb:
            self.block.pos += 1
            return f"VECTOR({next(self.dimensions, 0)})"
        maker = (_NAMES if self.mariadb else _MYSQL_NAMES).get(code)
        return maker(self.block, collation) if maker else ""

    def _signedness(self, code: int, generated: bool) -> str:
        unsigned = next(self.signedness, None) if code in self.signed else None
        if unsigned is None:
            return " UNSIGNED" if generated else ""
        return " UNSIGNED" if unsigned and code != YEAR else ""


def _label(label: bytes) -> str:
    return f"'{label.decode('utf-8', 'surrogateescape').translate(_ESCAPES)}'"


def _primary_key(table: TableMap, mariadb: bool) -> str:
    if table.flags & GENERATED_KEY and not mariadb:
        return "# Primary Key(my_row_id)\n"
    simple = _numbers(table, SimplePrimaryKey)
    prefixed = _numbers(table, PrimaryKeyWithPrefix)
    pairs = [(index, 0) for index in simple] or list(zip(prefixed[::2], prefixed[1::2], strict=False))
    if not pairs:
        return ""
    part = table.part(ColumnName)
    names = part.names if part else ()
    columns = [
        (names[index] if index < len(names) else str(index)) + (f"({prefix})" if prefix else "")
        for index, prefix in pairs
    ]
    return f"# Primary Key({', '.join(columns)})\n"


def metadata_text(table: TableMap, *, mariadb: bool = False) -> str:
    """The lines ``# Columns(...)`` and ``# Primary Key(...)``."""
    return _Columns(table, mariadb).text() + _primary_key(table, mariadb)
