"""From the reference decoder's byte shapes to what the kernel is told of them."""

from __future__ import annotations

from typing import NamedTuple

from gtidal.columnar.codes import ShapeCode
from gtidal.columns import shapes

DIGITS_IN_A_SLOT = 18
DIGITS_IN_TWO_SLOTS = 38


class ShapeRow(NamedTuple):
    """A column of a plan: the arguments are those that ``ShapeCode`` describes, ``slots`` the cells it takes."""

    code: ShapeCode
    size: int
    arg1: int
    arg2: int
    slots: int


_WITHOUT_ARGUMENTS: dict[type[shapes.Shape], ShapeCode] = {
    shapes.Float: ShapeCode.FLOAT,
    shapes.Bits: ShapeCode.BITS,
    shapes.Year: ShapeCode.YEAR,
    shapes.Date24: ShapeCode.DATE,
    shapes.Time24: ShapeCode.TIME24,
    shapes.Datetime64: ShapeCode.DATETIME64,
    shapes.Epoch32: ShapeCode.EPOCH32,
    shapes.Nothing: ShapeCode.NOTHING,
}
_WITH_DIGITS: dict[type[shapes.Shape], ShapeCode] = {
    shapes.PackedEpoch: ShapeCode.EPOCH,
    shapes.PackedDatetime: ShapeCode.DATETIME,
    shapes.PackedTime: ShapeCode.TIME,
}


def shape_row(shape: shapes.Shape) -> ShapeRow:
    """What the kernel is told of ``shape``."""
    kind = type(shape)
    size = shape.size or 0
    if kind in _WITHOUT_ARGUMENTS:
        return ShapeRow(_WITHOUT_ARGUMENTS[kind], size, 0, 0, 1)
    if kind in _WITH_DIGITS:
        return ShapeRow(_WITH_DIGITS[kind], size, shape.arguments[0], 0, 1)
    if kind is shapes.Int:
        return ShapeRow(ShapeCode.INT if shape.arguments[1] else ShapeCode.UINT, size, 0, 0, 1)
    if kind is shapes.Bytes:
        return ShapeRow(ShapeCode.BYTES, shape.arguments[0], 0, 0, 1)
    if kind is shapes.PackedDecimal:
        precision, scale = shape.arguments
        if precision <= DIGITS_IN_A_SLOT:
            return ShapeRow(ShapeCode.DECIMAL, size, precision, scale, 1)
        if precision <= DIGITS_IN_TWO_SLOTS:
            return ShapeRow(ShapeCode.WIDE_DECIMAL, size, precision, scale, 2)
        return ShapeRow(ShapeCode.LONG_DECIMAL, size, precision, scale, 1)
    if kind is shapes.Unreadable:
        return ShapeRow(ShapeCode.UNREADABLE, 0, 0, 0, 1)
    raise TypeError(f"the kernel has no code for {shape!r}")
