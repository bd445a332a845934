"""A real Spark reads our VARIANT: paths, casts, types and JSON.

All values are columns of one row, so that one query answers all questions.
"""

from __future__ import annotations

import datetime
import json
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from gtidal.columnar.variant import encode_detail, encode_image, encode_value, json_text
from gtidal.columns.jsonb import encode_json
from gtidal.columns.types import Column, make_columns
from tests import samples

VARIANT = pa.struct(
    [pa.field("value", pa.binary(), nullable=False), pa.field("metadata", pa.binary(), nullable=False)]
)

# Names whose order is neither that of the columns nor that of their lengths, and too many for a linear search.
NAMES = [f"{'x' * (number % 5)}{number * 37 % 301}" for number in range(300)]
WIDE = make_columns(b"\x03" * 300, b"", b"\xff" * 38, names=NAMES)
DOCUMENT = Column(0, 245, 245, 4, name="doc")
KEYS = {f"{'k' * (number % 7)}{number}": {"é": [number]} for number in range(500)}
UNSIGNED = Column(0, 8, 8, 0, name="u", unsigned=True)
LONG_DECIMAL = Column(0, 246, 246, 38 << 8 | 30, name="p")

# The format orders names by their bytes, Spark searches 32 and more by UTF-16 units: the two differ where letters
# beyond the 16-bit plane meet those of its end. MySQL's column names have none such; keys of documents may.
MIXED = {f"{letter}{number}": number for letter in "a\uff21\U0001f40b" for number in range(20)}

VARIANTS: dict[str, tuple[bytes, bytes]] = {
    "image": encode_image(samples.TABLE.columns, samples.FIRST),
    "nulls": encode_image(samples.TABLE.columns, samples.SECOND),
    "partial": encode_image(samples.TABLE.columns, samples.PARTIAL),
    "wide": encode_image(WIDE, [number - 150 for number in range(300)]),
    "keys": encode_image((DOCUMENT,), (encode_json(KEYS),)),
    "mixed": encode_value(MIXED),
    "unsigned": encode_image((UNSIGNED,), ((1 << 64) - 1,)),
    "exact": encode_image((LONG_DECIMAL,), (Decimal("-" + "9" * 8 + "." + "9" * 29 + "7"),)),
    "large": encode_value({"b": b"x" * (17 << 20), "a": ["y" * 70_000, "z"], "c": 7}),
    "numbers": encode_value(
        [-128, 32767, -(1 << 31), 1 << 62, 1 << 63, Decimal("1.50"), 0.1, 1e300, math.inf]
    ),
    "times": encode_value(
        [
            datetime.date(987, 6, 5),
            datetime.datetime(9999, 12, 31, 23, 59, 59, 999999),
            datetime.datetime(1969, 12, 31, 23, 59, 59, 100, tzinfo=datetime.UTC),
        ]
    ),
    "texts": encode_value(["", "é" * 31, "x" * 64, 'q"\\\n\t\U0001f40b', b"\x00\xff", True, None, {}, []]),
    "floats": encode_image((Column(0, 4, 4, 4, name="f"),), (0.10000000149011612,)),
    **{f"detail{number}": encode_detail(event) for number, event in enumerate(samples.samples())},
}

QUESTIONS: list[tuple[str, Any]] = [
    ("image:id::bigint", 4_000_000_000),
    ("image:note::string", "grün"),
    ("image:total::decimal(20,6)", Decimal("-12345678901234.567890")),
    ("image:at::timestamp_ntz", datetime.datetime(2024, 2, 29, 23, 59, 59, 123000)),
    ("image:old::date", datetime.date(2024, 2, 29)),
    ("string(image:seen::timestamp)", "2023-11-14 22:13:20.654321"),
    ("image:took::string", "-838:59:58.99"),
    ("image:d::string", "2024-00-00"),
    ("image:doc.a[1]::double", 2.5),
    ("image:doc.a[3]::boolean", True),
    ("is_variant_null(image:doc.a[2])", True),
    ("image:doc.b.c::int", -70000),
    ("image:state::string", "paid"),
    ("image:n::smallint", 200),
    ("try_variant_get(image, '$.n', 'tinyint')", None),
    ("image:g.srid::bigint", 0),
    ("image:g.wkb::binary", bytearray(b"\x01\x01\x00\x00\x00" + bytes(16))),
    ("is_variant_null(nulls:note)", True),
    ("nulls:note::string", None),
    ("nulls:note IS NULL", False),  # a VARIANT null is a value
    ("is_variant_null(partial:note)", False),
    ("partial:note IS NULL", True),  # absent
    ("partial:id::int", 7),
    ("partial:`doc (diff)`[0].operation::string", "REPLACE"),
    ("partial:`doc (diff)`[0].value::int", 9),
    ("mixed:a7::int", 7),
    ("mixed:`\U0001f40b7`::int", None),  # Spark does not find it; a Spark that does is noticed here
    ("unsigned:u::decimal(20,0)", Decimal((1 << 64) - 1)),
    ("exact:p::decimal(38,30)", Decimal("-" + "9" * 8 + "." + "9" * 29 + "7")),
    ("length(large:b::binary)", 17 << 20),
    ("length(large:a[0]::string)", 70_000),
    ("large:a[1]::string", "z"),
    ("large:c::int", 7),
    ("schema_of_variant(unsigned)", "OBJECT<u: DECIMAL(20,0)>"),
    ("schema_of_variant(times:[0])", "DATE"),
    ("schema_of_variant(times:[1])", "TIMESTAMP_NTZ"),
    ("schema_of_variant(times:[2])", "TIMESTAMP"),
    *((f"wide:`{name}`::int", number - 150) for number, name in enumerate(NAMES) if number % 6 == 0),
    ("wide:absent::int", None),
    *((f"keys:doc.`{key}`.`é`[0]::int", inner["é"][0]) for key, inner in list(KEYS.items())[::17]),
]
SCHEMA_OF_IMAGE = {
    "id": "BIGINT",
    "note": "STRING",
    "total": "DECIMAL(19,5)",
    "old": "TIMESTAMP_NTZ",
    "at": "TIMESTAMP_NTZ",
    "took": "STRING",
    "seen": "TIMESTAMP",
    "doc": "OBJECT<a: ARRAY<VARIANT>, b: OBJECT<c: BIGINT>>",
    "state": "STRING",
    "n": "BIGINT",
    "b": "BIGINT",
    "g": "OBJECT<srid: BIGINT, wkb: BINARY>",
    "d": "STRING",
}


def test_spark_reads_what_we_write(spark: SparkSession) -> None:
    columns = {
        name: pa.array([{"value": value, "metadata": metadata}], VARIANT)
        for name, (value, metadata) in VARIANTS.items()
    }
    schema = ", ".join(f"{name} variant" for name in columns)
    frame = spark.createDataFrame(pa.table(columns), schema)
    texts = [name for name in VARIANTS if name != "large"]
    answers = frame.selectExpr(
        *(f"{question} AS q{number}" for number, (question, _) in enumerate(QUESTIONS)),
        "schema_of_variant(image) AS schema_of_image",
        *(f"to_json({name}) AS json_{name}" for name in texts),
    ).first()
    assert answers is not None

    asked = {question: answers[f"q{number}"] for number, (question, _) in enumerate(QUESTIONS)}
    assert asked == dict(QUESTIONS)
    members = ", ".join(f"{name}: {kind}" for name, kind in sorted(SCHEMA_OF_IMAGE.items()))
    assert answers["schema_of_image"] == f"OBJECT<{members}>"
    # Numbers apart (Spark cuts the zeros of decimals and has other exponents), the text is the same.
    for name in texts:
        ours, theirs = json_text(*VARIANTS[name]), answers[f"json_{name}"]
        assert without_numbers(ours) == without_numbers(theirs)
    assert answers["json_floats"] == json_text(*VARIANTS["floats"]) == '{"f":0.1}'


def without_numbers(text: str) -> Any:
    """Keys and values in their order, numbers by their value."""
    return json.loads(text, parse_float=Decimal, parse_int=Decimal, object_pairs_hook=tuple)
