"""Columns between Spark and Arrow: the schema Spark is told, and what a user's own schema asks for."""

from __future__ import annotations

from difflib import get_close_matches

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from gtidal.errors import UsageError


def spark_schema(columns: pa.Schema) -> StructType:
    """Spark's types for Arrow's; from these Spark derives exactly the same Arrow types again."""
    return from_arrow_schema(columns.remove_metadata())


def arrow_schema(schema: StructType) -> pa.Schema:
    """That of the batches that Spark expects."""
    return to_arrow_schema(schema, timezone="UTC")


def check_asked(asked: StructType, there: pa.Schema) -> None:
    """Raise if a user's schema is not some of the columns that are there, with their types."""
    problems = []
    types = spark_schema(there)
    wanted = arrow_schema(asked)
    for number, field in enumerate(asked.fields):
        if field.name not in there.names:
            near = get_close_matches(field.name, there.names, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(there.names)}"
            problems.append(f"there is no column {field.name}; {hint}")
        elif wanted.names.count(field.name) > 1:
            problems.append(f"the column {field.name} is asked for twice")
        elif wanted.field(number).type != there.field(field.name).type:
            problems.append(
                f"column {field.name} is {types[field.name].dataType.simpleString()}, "
                f"not {field.dataType.simpleString()}: cast it after reading"
            )
        elif not field.nullable and there.field(field.name).nullable:
            problems.append(f"column {field.name} may be null")
    if not asked.fields:
        problems.append("a schema without columns")
    if problems:
        raise UsageError("the schema given does not fit: " + "; ".join(dict.fromkeys(problems)))
