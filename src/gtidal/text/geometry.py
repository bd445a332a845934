"""A GEOMETRY value as an SQL expression that makes it again: what ``dump --geometry`` prints."""

from __future__ import annotations

import struct

_NAMES = {
    1: "POINT",
    2: "LINESTRING",
    3: "POLYGON",
    4: "MULTIPOINT",
    5: "MULTILINESTRING",
    6: "MULTIPOLYGON",
    7: "GEOMETRYCOLLECTION",
}
_MAX_DEPTH = 100


class _NotWkb(Exception):
    """The bytes are no well-known binary."""


class _Reader:
    """Reads well-known binary and writes well-known text."""

    def __init__(self, data: bytes, pos: int) -> None:
        self.data = data
        self.pos = pos

    def number(self, order: str) -> int:
        return int(self._unpack(order + "I"))

    def _unpack(self, layout: str) -> float:
        try:
            value: float = struct.unpack_from(layout, self.data, self.pos)[0]
        except struct.error:
            raise _NotWkb from None
        self.pos += struct.calcsize(layout)
        return value

    def geometry(self, depth: int = 0) -> str:
        order, kind = self._head(depth)
        body = self._body(order, kind, depth)
        return f"{_NAMES[kind]}{body if body.startswith('(') else ' ' + body}"

    def _head(self, depth: int) -> tuple[str, int]:
        flag = self._unpack("B")
        order = {0: ">", 1: "<"}.get(int(flag))
        if order is None or depth > _MAX_DEPTH:
            raise _NotWkb
        kind = self.number(order)
        if kind not in _NAMES:
            raise _NotWkb
        return order, kind

    def _body(self, order: str, kind: int, depth: int) -> str:
        if kind == 1:
            return f"({self._point(order)})"
        count = self.number(order)
        if count > len(self.data):
            raise _NotWkb
        items = []
        for _ in range(count):
            if kind == 2:
                items.append(self._point(order))
            elif kind == 3:
                items.append(self._body(order, 2, depth))
            elif kind == 7:
                items.append(self.geometry(depth + 1))
            else:
                inner_order, inner = self._head(depth)
                if inner != kind - 3:
                    raise _NotWkb
                items.append(self._body(inner_order, inner, depth))
        return f"({','.join(items)})" if items else "EMPTY"

    def _point(self, order: str) -> str:
        return f"{_coordinate(self._unpack(order + 'd'))} {_coordinate(self._unpack(order + 'd'))}"


def _coordinate(value: float) -> str:
    text = repr(value)
    return text.removesuffix(".0")


def geometry_text(value: bytes) -> str:
    """``ST_GeomFromText('POINT(1 2)')``. With a spatial reference system the axes are named, because the log
    always has x (longitude) first. Bytes that are no geometry are printed in hexadecimal."""
    if len(value) > 4:
        reader = _Reader(value, 4)
        try:
            text = reader.geometry()
        except _NotWkb:
            pass
        else:
            if reader.pos == len(value):
                srid = int.from_bytes(value[:4], "little")
                if srid:
                    return f"ST_GeomFromText('{text}', {srid}, 'axis-order=long-lat')"
                return f"ST_GeomFromText('{text}')"
    return f"X'{value.hex()}'"
