"""THE table of column types, and the columns of a table map.

Adding a column type is one row in ``COLUMN_TYPES``. Type codes, metadata and the optional metadata are
those of the server's enum_field_types, read_field_metadata and Table_map_event.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from gtidal.columns.meanings import Meaning, python_maker
from gtidal.columns.shapes import (
    Bits,
    Bytes,
    Date24,
    Datetime64,
    Epoch32,
    Float,
    Int,
    Nothing,
    PackedDatetime,
    PackedDecimal,
    PackedEpoch,
    PackedTime,
    Read,
    Shape,
    Time24,
    Unreadable,
    Write,
    Year,
)
from gtidal.errors import DecodeError, GtidalError, Truncated

STRING = 254
ENUM = 247
SET = 248
TYPED_ARRAY = 20

NONE, ONE, LITTLE, BIG = "none", "one", "little", "big"
"""Metadata in a table map: no byte, one byte, two bytes little-endian, two bytes big-endian."""

MAX_COLUMNS = 4096
"""MAX_FIELDS of both servers, hidden columns included."""

METADATA_SIZE = {NONE: 0, ONE: 1, LITTLE: 2, BIG: 2}

ShapeOf = Callable[[int, bool], Shape]
"""From metadata and signedness to the shape."""


@dataclass(frozen=True, slots=True)
class ColumnType:
    """One row of the table. The flags tell which optional metadata a column of this type consumes."""

    code: int
    name: str
    metadata: str
    shape: ShapeOf
    meaning: Meaning
    numeric: bool = False
    character: bool = False


def string_length(metadata: int) -> int:
    """The declared length in bytes of a CHAR or BINARY. Lengths of 256 to 1023 hide their two top bits,
    inverted, in bits 4 and 5 of the type byte (MySQL bug 37426), where a real type has ones."""
    if metadata < 256:
        return metadata  # before 5.1.18 there was no type byte
    return (metadata & 0xFF) | ((metadata >> 4 & 0x300) ^ 0x300)


def _fixed(shape: Shape) -> ShapeOf:
    return lambda metadata, signed: shape


def _int(size: int) -> ShapeOf:
    return lambda metadata, signed: Int(size, signed)


def _float(size: int) -> ShapeOf:
    def shape(metadata: int, signed: bool) -> Shape:
        if metadata not in (0, size):
            raise DecodeError(f"a floating-point number of {metadata} bytes, where {size} are stored")
        return Float(size)

    return shape


_NO_METADATA = Unreadable("the table map has no metadata for this column, so a value's size is not known")


def _blob(metadata: int, signed: bool) -> Shape:
    if not metadata:
        return _NO_METADATA
    if not 1 <= metadata <= 4:
        raise DecodeError(f"a length prefix of {metadata} bytes")
    return Bytes(metadata)


def _varchar(metadata: int, signed: bool) -> Shape:
    return Bytes(1 if metadata < 256 else 2)


def _char(metadata: int, signed: bool) -> Shape:
    return Bytes(1 if string_length(metadata) < 256 else 2)


def _member(largest: int) -> ShapeOf:
    def shape(metadata: int, signed: bool) -> Shape:
        if not metadata:
            return _NO_METADATA
        size = metadata & 0xFF
        if not 1 <= size <= largest:
            raise DecodeError(f"an ENUM or SET of {size} bytes")
        return Int(size, False)

    return shape


def _bits(metadata: int, signed: bool) -> Shape:
    if not metadata:
        return _NO_METADATA
    count = (metadata >> 8) * 8 + (metadata & 0xFF)
    if metadata & 0xFF > 7 or not 1 <= count <= 64:
        raise DecodeError(f"a BIT of {metadata >> 8} bytes and {metadata & 0xFF} bits")
    return Bits(count)


def _decimal(metadata: int, signed: bool) -> Shape:
    return PackedDecimal(metadata >> 8, metadata & 0xFF) if metadata else _NO_METADATA


def _digits(kind: Callable[[int], Shape]) -> ShapeOf:
    return lambda metadata, signed: kind(metadata)


_OLD_DECIMAL = Unreadable("a DECIMAL of MySQL 4.1 or earlier: the log does not tell its size")
_NO_VALUE = Unreadable("a column type that no server writes")

M = Meaning
# fmt: off
COLUMN_TYPES: tuple[ColumnType, ...] = (
    #          code name                  metadata bytes in a row image    meaning
    ColumnType(0,   "DECIMAL",            NONE,    _fixed(_OLD_DECIMAL),    M.UNKNOWN, numeric=True),
    ColumnType(1,   "TINY",               NONE,    _int(1),                 M.INTEGER, numeric=True),
    ColumnType(2,   "SHORT",              NONE,    _int(2),                 M.INTEGER, numeric=True),
    ColumnType(3,   "LONG",               NONE,    _int(4),                 M.INTEGER, numeric=True),
    ColumnType(4,   "FLOAT",              ONE,     _float(4),               M.FLOAT, numeric=True),
    ColumnType(5,   "DOUBLE",             ONE,     _float(8),               M.FLOAT, numeric=True),
    ColumnType(6,   "NULL",               NONE,    _fixed(Nothing()),       M.NULL),
    ColumnType(7,   "TIMESTAMP",          NONE,    _fixed(Epoch32()),       M.TIMESTAMP),
    ColumnType(8,   "LONGLONG",           NONE,    _int(8),                 M.INTEGER, numeric=True),
    ColumnType(9,   "INT24",              NONE,    _int(3),                 M.INTEGER, numeric=True),
    ColumnType(10,  "DATE",               NONE,    _fixed(Date24()),        M.DATE),
    ColumnType(11,  "TIME",               NONE,    _fixed(Time24()),        M.TIME),
    ColumnType(12,  "DATETIME",           NONE,    _fixed(Datetime64()),    M.DATETIME),
    ColumnType(13,  "YEAR",               NONE,    _fixed(Year()),          M.YEAR, numeric=True),
    ColumnType(14,  "NEWDATE",            NONE,    _fixed(Date24()),        M.DATE),
    ColumnType(15,  "VARCHAR",            LITTLE,  _varchar,                M.CHARACTERS, character=True),
    ColumnType(16,  "BIT",                LITTLE,  _bits,                   M.BIT),
    ColumnType(17,  "TIMESTAMP2",         ONE,     _digits(PackedEpoch),    M.TIMESTAMP),
    ColumnType(18,  "DATETIME2",          ONE,     _digits(PackedDatetime), M.DATETIME),
    ColumnType(19,  "TIME2",              ONE,     _digits(PackedTime),     M.TIME),
    # A multi-valued index's hidden column: a JSON array. Its metadata is the element's type and metadata.
    ColumnType(20,  "TYPED_ARRAY",        NONE,    _fixed(Bytes(4)),        M.JSON),
    ColumnType(140, "BLOB_COMPRESSED",    ONE,     _blob,                   M.COMPRESSED, character=True),
    ColumnType(141, "VARCHAR_COMPRESSED", LITTLE,  _varchar,                M.COMPRESSED, character=True),
    # MySQL 9.7 logs a charset (binary) for VECTOR, not for JSON and GEOMETRY, though all are blobs inside.
    ColumnType(242, "VECTOR",             ONE,     _blob,                   M.VECTOR, character=True),
    ColumnType(243, "INVALID",            NONE,    _fixed(_NO_VALUE),       M.UNKNOWN),
    ColumnType(244, "BOOL",               NONE,    _fixed(_NO_VALUE),       M.UNKNOWN),
    ColumnType(245, "JSON",               ONE,     _blob,                   M.JSON),
    ColumnType(246, "NEWDECIMAL",         BIG,     _decimal,                M.EXACT, numeric=True),
    ColumnType(247, "ENUM",               BIG,     _member(2),              M.ENUM),
    ColumnType(248, "SET",                BIG,     _member(8),              M.SET),
    ColumnType(249, "TINY_BLOB",          ONE,     _blob,                   M.CHARACTERS),
    ColumnType(250, "MEDIUM_BLOB",        ONE,     _blob,                   M.CHARACTERS),
    ColumnType(251, "LONG_BLOB",          ONE,     _blob,                   M.CHARACTERS),
    ColumnType(252, "BLOB",               ONE,     _blob,                   M.CHARACTERS, character=True),
    ColumnType(253, "VAR_STRING",         LITTLE,  _varchar,                M.CHARACTERS, character=True),
    ColumnType(254, "STRING",             BIG,     _char,                   M.CHARACTERS, character=True),
    ColumnType(255, "GEOMETRY",           ONE,     _blob,                   M.GEOMETRY),
)
# fmt: on

BY_CODE: dict[int, ColumnType] = {row.code: row for row in COLUMN_TYPES}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table map. ``unsigned``, ``charset``, ``labels`` … are None where the log does not tell.

    ``type_code`` is the code as logged; ``real_type`` the one after STRING was resolved to CHAR (254), ENUM
    or SET. ``metadata`` is the number the reference tool prints as ``meta=``. ``charset`` is a collation id.
    """

    index: int
    type_code: int
    real_type: int
    metadata: int
    nullable: bool = True
    name: str | None = None
    unsigned: bool | None = None
    charset: int | None = None
    labels: tuple[bytes, ...] | None = None
    geometry_type: int | None = None
    dimension: int | None = None
    visible: bool | None = None
    key_position: int | None = None
    key_prefix: int | None = None
    element_type: int | None = None
    type: ColumnType = field(init=False, repr=False, compare=False)
    shape: Shape = field(init=False, repr=False, compare=False)
    read: Read = field(init=False, repr=False, compare=False)
    write: Write = field(init=False, repr=False, compare=False)
    _python: Callable[[Any], Any] | None = field(init=False, repr=False, compare=False, default=None)

    def __post_init__(self) -> None:
        put = object.__setattr__
        shape = shape_of(self.real_type, self.metadata, not self.unsigned)
        put(self, "type", BY_CODE[self.real_type])
        put(self, "shape", shape)
        put(self, "read", shape.read)
        put(self, "write", shape.write)

    def __reduce__(self) -> tuple[Any, ...]:
        return Column, tuple(getattr(self, name) for name in _COLUMN_FIELDS)

    def python(self, value: Any) -> Any:
        """The logical value of a physical one; None stays None."""
        if value is None:
            return None
        make = self._python
        if make is None:
            make = python_maker(self)
            object.__setattr__(self, "_python", make)
        return make(value)

    @property
    def is_array(self) -> bool:
        return self.type_code == TYPED_ARRAY

    @property
    def length(self) -> int | None:
        """The declared length in bytes of CHAR, BINARY, VARCHAR and VARBINARY."""
        if self.real_type == STRING:
            return string_length(self.metadata)
        return self.metadata if self.real_type in (15, 141, 253) else None

    @property
    def digits(self) -> int:
        """Fractional digits of a temporal column, scale of a decimal one."""
        if self.real_type in (17, 18, 19):
            return self.metadata
        return self.metadata & 0xFF if self.real_type == 246 else 0

    @property
    def precision(self) -> int | None:
        return self.metadata >> 8 if self.real_type == 246 else None

    @property
    def bits(self) -> int | None:
        """The n of BIT(n)."""
        return (self.metadata >> 8) * 8 + (self.metadata & 0xFF) if self.real_type == 16 else None


_COLUMN_FIELDS = (
    "index", "type_code", "real_type", "metadata", "nullable", "name", "unsigned", "charset", "labels",
    "geometry_type", "dimension", "visible", "key_position", "key_prefix", "element_type",
)  # fmt: skip


@lru_cache(maxsize=4096)
def shape_of(real_type: int, metadata: int, signed: bool = True) -> Shape:
    """The shape of a resolved type; a DecodeError where the metadata is none of that type's."""
    row = BY_CODE.get(real_type)
    if row is None:
        raise DecodeError(f"unknown column type {real_type}")
    return row.shape(metadata, signed)


def resolve(type_code: int, metadata: int) -> int:
    """The real type: CHAR, BINARY, ENUM and SET are all logged as STRING with the real type in the metadata's
    first byte."""
    if type_code != STRING or metadata < 256:
        return type_code
    real = metadata >> 8 | 0x30
    if real in (ENUM, SET):
        return real
    if real not in (253, STRING):
        raise DecodeError(f"a STRING whose real type is {real}")
    return STRING


@dataclass(frozen=True, slots=True)
class Metadata:
    """One column's part of a table map's metadata block."""

    real_type: int
    value: int
    size: int
    element_type: int | None = None


def read_metadata(type_codes: bytes, metadata: bytes) -> tuple[Metadata, ...]:
    """Split the metadata block of a table map by column.

    An empty block is accepted for any types and read as zeros, as the server does: table maps of early 5.1
    servers had none. Otherwise the block must fit exactly."""
    if len(type_codes) > MAX_COLUMNS:
        raise DecodeError(f"{len(type_codes)} columns, where {MAX_COLUMNS} is the most", field="types")
    out: list[Metadata] = []
    pos = 0
    end = len(metadata)
    for index, code in enumerate(type_codes):
        try:
            if not end:
                if code not in BY_CODE:
                    raise DecodeError(f"unknown column type {code}")
                out.append(Metadata(code, 0, 0))
                continue
            item = _read_one(code, metadata, pos, end)
        except GtidalError as error:
            raise error.inside(f"column {index}") from None
        out.append(item)
        pos += item.size
    if pos != end:
        raise DecodeError(
            f"{end - pos} bytes of column metadata follow those of the last column", field="metadata"
        )
    return tuple(out)


def _read_one(code: int, metadata: bytes, pos: int, end: int) -> Metadata:
    row = BY_CODE.get(code)
    if row is None:
        raise DecodeError(f"unknown column type {code}")
    if code == TYPED_ARRAY:
        if pos >= end:
            raise Truncated("the metadata ends before an array's element type")
        element = metadata[pos]
        if element == 15:  # the one type whose metadata is wider in an array
            if pos + 4 > end:
                raise Truncated("the metadata ends inside an array's")
            return Metadata(code, int.from_bytes(metadata[pos + 1 : pos + 4], "little"), 4, element)
        if element == TYPED_ARRAY:
            raise DecodeError("an array of arrays")
        inner = _read_one(element, metadata, pos + 1, end)
        return Metadata(code, inner.value, inner.size + 1, element)
    kind = row.metadata
    if kind == NONE:
        return Metadata(code, 0, 0)
    size = METADATA_SIZE[kind]
    if pos + size > end:
        raise Truncated(f"{row.name} needs {size} bytes of metadata, {end - pos} are left")
    value = int.from_bytes(metadata[pos : pos + size], "big" if kind == BIG else "little")
    return Metadata(resolve(code, value), value, size)


def _bit(bits: bytes, index: int) -> bool:
    return bool(bits[index >> 3] & 0x80 >> (index & 7))


def _need(what: str, have: int, need: int) -> None:
    if have < need:
        raise DecodeError(f"{have} entries for {need} columns", field=what)


def _spread(
    what: str,
    indexes: Sequence[int],
    default: tuple[int, Sequence[tuple[int, int]]] | None,
    each: Sequence[int] | None,
) -> dict[int, int]:
    """Collations by column index, from either of the two forms they are logged in."""
    if each is not None:
        _need(what, len(each), len(indexes))
        return dict(zip(indexes, each, strict=False))
    if default is None:
        return {}
    collation, pairs = default
    found = dict.fromkeys(indexes, collation)
    for position, other in pairs:
        if position >= len(indexes):
            raise DecodeError(f"entry {position} of {len(indexes)} columns", field=what)
        found[indexes[position]] = other
    return found


Default = tuple[int, Sequence[tuple[int, int]]]
"""A default collation and the exceptions: (position among the columns concerned, collation)."""


def make_columns(
    type_codes: bytes,
    metadata: bytes,
    null_bitmap: bytes,
    *,
    signedness: bytes | None = None,
    default_charset: Default | None = None,
    column_charsets: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
    set_labels: Sequence[Sequence[bytes]] | None = None,
    enum_labels: Sequence[Sequence[bytes]] | None = None,
    geometry_types: Sequence[int] | None = None,
    simple_key: Sequence[int] | None = None,
    prefix_key: Sequence[tuple[int, int]] | None = None,
    enum_set_default_charset: Default | None = None,
    enum_set_charsets: Sequence[int] | None = None,
    visibility: bytes | None = None,
    dimensions: Sequence[int] | None = None,
    mariadb: bool = False,
) -> tuple[Column, ...]:
    """The columns of a table map. The keyword arguments are the optional metadata 1 to 13, parsed; what is
    absent stays None in the column. MariaDB counts geometry columns among those with a charset, MySQL does
    not: ``mariadb`` tells which server wrote the log. Raises ``DecodeError`` only."""
    count = len(type_codes)
    parts = read_metadata(type_codes, metadata)
    if len(null_bitmap) != (count + 7) // 8:
        raise DecodeError(f"{len(null_bitmap)} bytes for {count} columns", field="null_bitmap")
    rows = [BY_CODE[part.real_type] for part in parts]

    def having(*meanings: Meaning) -> list[int]:
        return [index for index, row in enumerate(rows) if row.meaning in meanings]

    unsigned: dict[int, bool] = {}
    if signedness is not None:
        numeric = [index for index, row in enumerate(rows) if row.numeric]
        _need("signedness", len(signedness) * 8, len(numeric))
        unsigned = {index: _bit(signedness, place) for place, index in enumerate(numeric)}

    character = [index for index, row in enumerate(rows) if row.character]
    # An entry for a column too many, too, says that geometry columns were counted.
    highest = max((place for place, _ in default_charset[1]), default=-1) if default_charset else -1
    if mariadb or max(highest + 1, len(column_charsets or ())) > len(character):
        character = sorted(character + having(Meaning.GEOMETRY))
    charset = _spread("charset", character, default_charset, column_charsets)
    charset |= _spread(
        "enum_set_charset", having(Meaning.ENUM, Meaning.SET), enum_set_default_charset, enum_set_charsets
    )

    labels: dict[int, tuple[bytes, ...]] = {}
    for what, meaning, given in (
        ("set_labels", Meaning.SET, set_labels),
        ("enum_labels", Meaning.ENUM, enum_labels),
    ):
        if given is not None:
            concerned = having(meaning)
            _need(what, len(given), len(concerned))
            labels |= {index: tuple(words) for index, words in zip(concerned, given, strict=False)}

    geometry = _along("geometry_types", having(Meaning.GEOMETRY), geometry_types)
    dimension = _along("dimensions", having(Meaning.VECTOR), dimensions)
    if names is not None:
        _need("names", len(names), count)
    if visibility is not None:
        _need("visibility", len(visibility) * 8, count)

    key: dict[int, tuple[int | None, int | None]] = {}
    pairs = prefix_key if prefix_key is not None else [(index, 0) for index in simple_key or ()]
    for place, (index, prefix) in enumerate(pairs):
        if index >= count:
            raise DecodeError(f"column {index} of {count}", field="primary_key")
        key[index] = (place, prefix)

    columns: list[Column] = []
    for index, part in enumerate(parts):
        key_position, key_prefix = key.get(index, (None, None))
        try:
            columns.append(
                Column(
                    index=index,
                    type_code=type_codes[index],
                    real_type=part.real_type,
                    metadata=part.value,
                    nullable=bool(null_bitmap[index >> 3] & 1 << (index & 7)),
                    name=None if names is None else names[index],
                    unsigned=unsigned.get(index),
                    charset=charset.get(index),
                    labels=labels.get(index),
                    geometry_type=geometry.get(index),
                    dimension=dimension.get(index),
                    visible=None if visibility is None else _bit(visibility, index),
                    key_position=key_position,
                    key_prefix=key_prefix,
                    element_type=part.element_type,
                )
            )
        except GtidalError as error:
            raise error.inside(f"column {index}") from None
    return tuple(columns)


def _along(what: str, indexes: Sequence[int], values: Sequence[int] | None) -> dict[int, int]:
    if values is None:
        return {}
    _need(what, len(values), len(indexes))
    return dict(zip(indexes, values, strict=False))
