"""The Arrow type of a typed column: exactly the one that Spark derives for the same Spark type.

All columns are nullable: a partial image leaves columns out, and a date that is none is null.
"""

from __future__ import annotations

import pyarrow as pa

from gtidal.columnar.logical import integer_size
from gtidal.columnar.schemas import STRING, TIMESTAMP, UNSIGNED, VARIANT
from gtidal.columns.charsets import BINARY, collation_decoder
from gtidal.columns.meanings import Meaning
from gtidal.columns.types import Column

MOST_DIGITS = 38
"""Of a decimal; those of more are text."""
BYTES = pa.binary()
TIMESTAMP_NTZ = pa.timestamp("us")
DURATION = pa.duration("us")
GEOMETRY = pa.struct([pa.field("srid", pa.int32()), pa.field("wkb", BYTES)])
VECTOR = pa.list_(pa.field("element", pa.float32()))
NOTHING = pa.null()
LONG_DIGITS = 76
"""The most of Arrow's long decimals, which stand for text as long as types are compared."""
_INTEGERS = {1: pa.int8(), 2: pa.int16(), 4: pa.int32(), 8: pa.int64(), 16: UNSIGNED}


def holds_text(column: Column) -> bool:
    """Whether the charset is known and one of text. Where the log does not tell, bytes are bytes."""
    collation = column.charset
    return collation is not None and collation != BINARY and collation_decoder(collation) is not None


def list_of(element: pa.DataType) -> pa.DataType:
    return pa.list_(pa.field("element", element))


def arrow_type(column: Column, images: str = "variant") -> pa.DataType:
    """``images``: "json" has documents as text."""
    return spark_type(logical_type(column), images)


def spark_type(kind: pa.DataType, images: str = "variant") -> pa.DataType:
    """What stands in a schema for a logical type. Spark has no column that is nothing but null, and no decimal of more
    than 38 digits."""
    if kind == NOTHING or pa.types.is_decimal256(kind) or (kind == VARIANT and images == "json"):
        return STRING
    return kind


def logical_type(column: Column) -> pa.DataType:
    """Keeps apart what is text for different reasons, so that versions of a column can be compared."""
    match column.type.meaning:
        case Meaning.INTEGER:
            return _INTEGERS[integer_size(column)]
        case Meaning.FLOAT:
            return pa.float32() if column.shape.size == 4 else pa.float64()
        case Meaning.EXACT:
            return decimal_type(column.precision or MOST_DIGITS, column.digits)
        case Meaning.BIT:
            bits = column.bits or 0
            return pa.bool_() if bits == 1 else UNSIGNED if bits == 64 else pa.int64()
        case Meaning.YEAR:
            return pa.int16()
        case Meaning.DATE:
            return pa.date32()
        case Meaning.TIME:
            return DURATION
        case Meaning.DATETIME:
            return TIMESTAMP_NTZ
        case Meaning.TIMESTAMP:
            return TIMESTAMP
        case Meaning.CHARACTERS | Meaning.COMPRESSED:
            return _text_or_bytes(column)
        case Meaning.ENUM:
            return pa.int64() if column.labels is None else _text_or_bytes(column)
        case Meaning.SET:
            if column.labels is not None:
                return list_of(_text_or_bytes(column))
            return UNSIGNED if column.shape.size == 8 else pa.int64()
        case Meaning.JSON:
            return VARIANT
        case Meaning.GEOMETRY:
            return GEOMETRY
        case Meaning.VECTOR:
            return VECTOR
        case Meaning.NULL | Meaning.UNKNOWN:
            return NOTHING


def _text_or_bytes(column: Column) -> pa.DataType:
    return STRING if holds_text(column) else BYTES


def decimal_type(precision: int, scale: int) -> pa.DataType:
    if precision <= MOST_DIGITS:
        return pa.decimal128(precision, scale)
    return pa.decimal256(min(precision, LONG_DIGITS), scale)
