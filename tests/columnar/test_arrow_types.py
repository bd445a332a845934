"""Arrow types of MySQL's types: those that Spark derives for the Spark types one would write by hand."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as spark
from pyspark.sql.pandas.types import to_arrow_schema

from gtidal.columnar.arrow_types import arrow_type
from gtidal.columns.meanings import Meaning
from gtidal.columns.types import COLUMN_TYPES, Column

UTF8, LATIN1, BINARY, ARMSCII8, NO_SERVERS = 255, 8, 63, 32, 1999
UNSIGNED = spark.DecimalType(20, 0)
GEOMETRY = spark.StructType(
    [spark.StructField("srid", spark.IntegerType()), spark.StructField("wkb", spark.BinaryType())]
)
STRINGS = spark.ArrayType(spark.StringType())

# Type code, metadata, what else is known of the column: the Spark type.
TYPES: list[tuple[int, int, dict[str, Any], spark.DataType]] = [
    (1, 0, {}, spark.ByteType()),
    (1, 0, {"unsigned": True}, spark.ShortType()),
    (2, 0, {"unsigned": False}, spark.ShortType()),
    (2, 0, {"unsigned": True}, spark.IntegerType()),
    (9, 0, {}, spark.IntegerType()),
    (9, 0, {"unsigned": True}, spark.IntegerType()),
    (3, 0, {}, spark.IntegerType()),
    (3, 0, {"unsigned": True}, spark.LongType()),
    (8, 0, {}, spark.LongType()),
    (8, 0, {"unsigned": True}, UNSIGNED),
    (4, 4, {}, spark.FloatType()),
    (5, 8, {}, spark.DoubleType()),
    (246, 10 << 8 | 2, {}, spark.DecimalType(10, 2)),
    (246, 38 << 8 | 30, {}, spark.DecimalType(38, 30)),
    (246, 39 << 8 | 30, {}, spark.StringType()),
    (246, 65 << 8, {}, spark.StringType()),
    (16, 1, {}, spark.BooleanType()),
    (16, 2, {}, spark.LongType()),
    (16, 7 << 8 | 7, {}, spark.LongType()),
    (16, 8 << 8, {}, UNSIGNED),
    (13, 0, {}, spark.ShortType()),
    (10, 0, {}, spark.DateType()),
    (14, 0, {}, spark.DateType()),
    (11, 0, {}, spark.DayTimeIntervalType(0, 3)),
    (19, 6, {}, spark.DayTimeIntervalType(0, 3)),
    (12, 0, {}, spark.TimestampNTZType()),
    (18, 3, {}, spark.TimestampNTZType()),
    (7, 0, {}, spark.TimestampType()),
    (17, 6, {}, spark.TimestampType()),
    (15, 40, {"charset": UTF8}, spark.StringType()),
    (15, 40, {"charset": LATIN1}, spark.StringType()),
    (15, 40, {"charset": BINARY}, spark.BinaryType()),
    (15, 40, {}, spark.BinaryType()),
    (15, 40, {"charset": NO_SERVERS}, spark.BinaryType()),
    (15, 40, {"charset": ARMSCII8}, spark.StringType()),
    (253, 40, {"charset": UTF8}, spark.StringType()),
    (254, 0xFE10, {"charset": BINARY}, spark.BinaryType()),
    (252, 2, {"charset": UTF8}, spark.StringType()),
    *((code, 2, {"charset": UTF8}, spark.StringType()) for code in (249, 250, 251)),
    (252, 2, {}, spark.BinaryType()),
    (140, 2, {"charset": UTF8}, spark.StringType()),
    (141, 40, {"charset": BINARY}, spark.BinaryType()),
    (247, 0xF701, {"labels": (b"a",), "charset": UTF8}, spark.StringType()),
    (247, 0xF701, {"labels": (b"a",), "charset": BINARY}, spark.BinaryType()),
    (247, 0xF701, {}, spark.LongType()),
    (248, 0xF801, {"labels": (b"a",), "charset": UTF8}, STRINGS),
    (248, 0xF801, {}, spark.LongType()),
    (248, 0xF808, {}, UNSIGNED),
    (245, 4, {}, spark.VariantType()),
    (20, 0, {}, spark.VariantType()),
    (255, 4, {}, GEOMETRY),
    (242, 4, {}, spark.ArrayType(spark.FloatType())),
    *((code, 0, {}, spark.StringType()) for code in (0, 6, 243, 244)),
]


@pytest.mark.parametrize(("code", "metadata", "known", "wanted"), TYPES)
def test_the_type_that_spark_derives(
    code: int, metadata: int, known: dict[str, Any], wanted: spark.DataType
) -> None:
    kind = arrow_type(Column(0, code, code, metadata, **known))
    derived = to_arrow_schema(spark.StructType([spark.StructField("c", wanted)]), timezone="UTC")
    assert pa.schema([pa.field("c", kind)]).equals(derived)


def test_every_type_and_meaning_is_there() -> None:
    assert {code for code, *_ in TYPES} == {row.code for row in COLUMN_TYPES}
    assert {row.meaning for row in COLUMN_TYPES} == set(Meaning)


def test_documents_as_text() -> None:
    assert arrow_type(Column(0, 245, 245, 4), "json") == pa.string()
    assert arrow_type(Column(0, 255, 255, 4), "json") == arrow_type(Column(0, 255, 255, 4))
