"""A field's value as text, much as SQL would write it."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from gtidal.columns.jsonb import OPERATIONS, Json, json_text
from gtidal.columns.meanings import Geometry
from gtidal.columns.temporal import Date, DateTime, Time, Timestamp
from gtidal.errors import GtidalError
from gtidal.events.images import JsonDiffs
from gtidal.text.geometry import geometry_text


def value_text(value: Any) -> str:
    """A value as a reader of SQL would write it. Bytes that are no text say how many they are: they stand
    in the column beside."""
    if isinstance(value, bool | int | float | Decimal):
        return str(value)
    if isinstance(value, str):
        return repr(value)
    if isinstance(value, bytes):
        try:
            text = value.decode("utf-8")
        except UnicodeDecodeError:
            text = None
        if text is not None and (not text or text.replace("\n", " ").replace("\t", " ").isprintable()):
            return repr(text)
        return f"{len(value)} byte{'s' * (len(value) != 1)}"
    if isinstance(value, Json):
        return _or_bytes(value.text, value.data)
    if isinstance(value, JsonDiffs):
        return _or_bytes(lambda: _diffs_text(value), value.data)
    if isinstance(value, Geometry):
        srid = b"" if value.srid is None else value.srid.to_bytes(4, "little")
        return geometry_text(srid + value.wkb)
    return _other_text(value)


def _other_text(value: Any) -> str:
    if isinstance(value, datetime.timedelta):
        sign = "-" if value < datetime.timedelta() else ""
        seconds, micros = divmod(abs(value) // datetime.timedelta(microseconds=1), 1_000_000)
        text = f"{sign}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
        return repr(f"{text}.{micros:06d}" if micros else text)
    if isinstance(value, datetime.date):
        return repr(str(value).replace("+00:00", ""))
    if isinstance(value, Date | DateTime | Time | Timestamp):
        return repr(value.text(6 if getattr(value, "microsecond", 0) else 0))
    if isinstance(value, tuple):
        if all(isinstance(item, float) for item in value) and value:
            return "[" + ", ".join(f"{item:g}" for item in value) + "]"
        return repr(",".join(item if isinstance(item, str) else str(item) for item in value))
    return "NULL" if value is None else str(value)


def _or_bytes(text: Callable[[], str], data: bytes) -> str:
    try:
        return text()
    except GtidalError:
        return f"{len(data)} bytes"


def _diffs_text(value: JsonDiffs) -> str:
    parts = []
    for diff in value.diffs:
        shown = "" if diff.value is None else f" = {json_text(diff.value)}"
        parts.append(f"{OPERATIONS[diff.operation]} {diff.path}{shown}")
    return "; ".join(parts)
