"""What a column's cells become: how their text is settled, and how they are written as VARIANT.

Here, and in ``arrow_types`` for typed columns, MySQL's types and charsets end: the kernel gets small numbers.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from gtidal.columnar.codes import ShapeCode, TextAction, VariantKind
from gtidal.columns.charsets import BINARY, charset_name, collation_decoder, decoder
from gtidal.columns.meanings import Meaning
from gtidal.columns.types import STRING, Column

_UTF8 = ("utf8mb3", "utf8mb4")
_WIDE = ("ucs2", "utf16", "utf16le", "utf32")
_MULTI_BYTE = ("big5", "cp932", "eucjpms", "euckr", "gb18030", "gb2312", "gbk", "sjis", "ujis")

INT8, INT16, INT32, INT64, DOUBLE, DECIMAL4, DECIMAL8, DECIMAL16 = 3, 4, 5, 6, 7, 8, 9, 10
DATE, TIMESTAMP, TIMESTAMP_NTZ, FLOAT = 11, 12, 13, 14
"""VARIANT's primitive types."""


class VariantColumn(NamedTuple):
    """How a column is written as VARIANT."""

    kind: VariantKind
    primitive: int = 0
    size: int = 0
    argument: int = 0

    @property
    def header(self) -> int:
        return self.primitive << 2


class TextColumn(NamedTuple):
    """What is done with a column's cells before they are text."""

    action: TextAction
    argument: int = 0


class CharsetTables:
    """The single-byte charsets that plans refer to by number: 256 code points each, -1 for none."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.code_points: list[int] = []

    def number(self, charset: str) -> int:
        if charset not in self.numbers:
            self.numbers[charset] = len(self.numbers)
            self.code_points.extend(single_byte_table(charset))
        return self.numbers[charset]


@cache
def single_byte_table(charset: str) -> tuple[int, ...]:
    decode = decoder(charset)
    assert decode is not None
    table = []
    for byte in range(256):
        try:
            table.append(ord(decode(bytes((byte,)))))
        except UnicodeDecodeError:
            table.append(-1)
    return tuple(table)


@cache
def _keeps_ascii(charset: str) -> bool:
    decode = decoder(charset)
    ascii_bytes = bytes(range(128))
    return decode is not None and decode(ascii_bytes) == ascii_bytes.decode("ascii")


NO_TEXT = TextColumn(TextAction.NONE)


def characters(column: Column, tables: CharsetTables) -> TextColumn:
    """How a character column's bytes become text; NO_TEXT or PAD for binary ones."""
    if column.type.meaning is Meaning.COMPRESSED:
        return TextColumn(TextAction.FOREIGN)
    collation = column.charset
    if collation is None:
        return TextColumn(TextAction.UTF8)
    if collation == BINARY:
        if column.real_type == STRING and column.length is not None:
            return TextColumn(TextAction.PAD, column.length)
        return NO_TEXT
    charset = charset_name(collation)
    if charset is None or collation_decoder(collation) is None:
        return NO_TEXT  # bytes, as the reference decoder leaves them
    if charset in _UTF8:
        return TextColumn(TextAction.UTF8)
    if charset in _WIDE:
        return TextColumn(TextAction.FOREIGN)
    if charset in _MULTI_BYTE:
        return TextColumn(TextAction.ASCII if _keeps_ascii(charset) else TextAction.FOREIGN)
    return TextColumn(TextAction.TABLE, tables.number(charset))


def is_binary(column: Column) -> bool:
    """Whether a character column holds bytes that are no text: binary, or of a collation nobody knows."""
    collation = column.charset
    return collation is not None and (collation == BINARY or collation_decoder(collation) is None)


def variant_text(column: Column, shape: ShapeCode, tables: CharsetTables) -> TextColumn:
    """What VARIANT cannot hold is the text MySQL would print."""
    meaning = column.type.meaning
    if meaning in (Meaning.CHARACTERS, Meaning.COMPRESSED):
        return characters(column, tables)
    if meaning is Meaning.DATE:
        return TextColumn(TextAction.DATE)
    if meaning in (Meaning.DATETIME, Meaning.TIMESTAMP):
        return TextColumn(TextAction.DATETIME, column.digits)
    if meaning is Meaning.TIME:
        return TextColumn(TextAction.TIME, column.digits)
    if shape is ShapeCode.LONG_DECIMAL:
        return TextColumn(TextAction.DECIMAL, column.metadata)
    return NO_TEXT


def integer_size(column: Column) -> int:
    """Bytes of the number that holds all values; 16 for a decimal."""
    size = column.shape.size or 0
    if column.unsigned:
        return {1: 2, 2: 4, 3: 4, 4: 8, 8: 16}[size]
    return {1: 1, 2: 2, 3: 4, 4: 4, 8: 8}[size]


_INTEGERS = {1: INT8, 2: INT16, 4: INT32, 8: INT64}
_NUMBER = VariantKind.NUMBER


def variant_column(column: Column, shape: ShapeCode) -> VariantColumn:
    meaning = column.type.meaning
    match meaning:
        case Meaning.INTEGER:
            size = integer_size(column)
            if size == 16:
                return VariantColumn(VariantKind.UNSIGNED, DECIMAL16)
            return VariantColumn(_NUMBER, _INTEGERS[size], size)
        case Meaning.FLOAT:
            return (
                VariantColumn(_NUMBER, FLOAT, 4)
                if column.shape.size == 4
                else VariantColumn(_NUMBER, DOUBLE, 8)
            )
        case Meaning.EXACT:
            return _decimal(column, shape)
        case Meaning.BIT:
            bits = column.bits or 0
            if bits == 1:
                return VariantColumn(VariantKind.BOOLEAN)
            if bits == 64:
                return VariantColumn(VariantKind.UNSIGNED, DECIMAL16)
            return VariantColumn(_NUMBER, INT64, 8)
        case Meaning.YEAR:
            return VariantColumn(_NUMBER, INT16, 2)
        case Meaning.DATE:
            return VariantColumn(_NUMBER, DATE, 4)
        case Meaning.DATETIME:
            return VariantColumn(_NUMBER, TIMESTAMP_NTZ, 8)
        case Meaning.TIMESTAMP:
            return VariantColumn(_NUMBER, TIMESTAMP, 8)
        case Meaning.CHARACTERS | Meaning.COMPRESSED:
            return VariantColumn(VariantKind.BINARY if is_binary(column) else VariantKind.STRING)
        case Meaning.ENUM:
            return _labelled(column, VariantKind.LABEL)
        case Meaning.SET:
            return _labelled(column, VariantKind.LABELS)
        case Meaning.JSON:
            return VariantColumn(VariantKind.JSON)
        case Meaning.GEOMETRY:
            return VariantColumn(VariantKind.GEOMETRY)
        case Meaning.VECTOR:
            return VariantColumn(VariantKind.VECTOR)
        case Meaning.TIME | Meaning.NULL | Meaning.UNKNOWN:
            return VariantColumn(VariantKind.NULL)  # TIME is text before it comes here


def _decimal(column: Column, shape: ShapeCode) -> VariantColumn:
    precision, scale = column.precision or 0, column.digits
    if precision <= 9:
        return VariantColumn(VariantKind.DECIMAL, DECIMAL4, 4, scale)
    if precision <= 18:
        return VariantColumn(VariantKind.DECIMAL, DECIMAL8, 8, scale)
    if shape is ShapeCode.LONG_DECIMAL:
        return VariantColumn(VariantKind.NULL)  # text before it comes here
    return VariantColumn(VariantKind.WIDE_DECIMAL, DECIMAL16, 16, scale)


def _labelled(column: Column, kind: VariantKind) -> VariantColumn:
    if column.labels is not None:
        return VariantColumn(kind)
    if column.shape.size == 8:  # a SET of 64 members: its number may need all bits
        return VariantColumn(VariantKind.UNSIGNED, DECIMAL16)
    return VariantColumn(_NUMBER, INT64, 8)
