"""MySQL's binary JSON as the Python values that are written as VARIANT."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, NamedTuple

from gtidal.columns import jsonb

_DECIMAL = 246


class SizedDecimal(NamedTuple):
    """A decimal inside a document, with the number of digits that the document declares for it."""

    value: Decimal
    precision: int


class _Reader(jsonb._Decoder):
    """Keeps the declared precision of decimals: it decides their type."""

    def value(self, kind: int, start: int, end: int, depth: int) -> Any:
        if kind != jsonb.OPAQUE or start >= end or self.data[start] != _DECIMAL:
            return super().value(kind, start, end, depth)
        data = self.counted(start + 1, end)
        return SizedDecimal(jsonb.decode_opaque(_DECIMAL, data), data[0])


def read_document(data: bytes) -> Any:
    """As ``decode_json``, but for its decimals."""
    return _Reader(data).value(data[0], 1, len(data), 0) if data else None
