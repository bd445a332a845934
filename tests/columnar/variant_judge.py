"""What the tests of VARIANT share: columns to write, and PySpark's own reader as a judge."""

from __future__ import annotations

from decimal import localcontext
from typing import Any

from pyspark.sql.types import VariantVal

from gtidal.columnar.variant import decode
from gtidal.columns.types import Column, resolve

EMPTY = b"\x01\x00\x00"
"""A dictionary without names."""


def column(code: int, metadata: int = 0, **known: Any) -> Column:
    return Column(
        **{
            "index": 0,
            "type_code": code,
            "real_type": resolve(code, metadata),
            "metadata": metadata,
            "name": "c",
        }
        | known
    )


def both(value: bytes, metadata: bytes) -> Any:
    """What we read, after PySpark read the same."""
    found = decode(value, metadata)
    with localcontext(prec=60):  # it multiplies, and so rounds to the context's 28 digits
        theirs = VariantVal(value, metadata).toPython()
    assert repr(theirs) == repr(found) or theirs == found
    return found
