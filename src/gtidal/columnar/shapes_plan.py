"""From the reference decoder's byte shapes to what the kernel is told of them."""

from __future__ import annotations

from typing import NamedTuple

from gtidal.columnar.codes import ShapeCode
from gtidal.columns import shapes
from gtidal.columns.decimals import GROUP_SIZE, digit_groups

DIGITS_IN_A_SLOT = 18
DIGITS_IN_TWO_SLOTS = 38


class ShapeRow(NamedTuple):
    """A column of a plan: the arguments are those that ``ShapeCode`` describes, ``slots`` the cells it takes."""

    code: ShapeCode
    size: int
    arg1: int
    arg2: int
    slots: int


STEP = 10
"""So many numbers tell the kernel how a column is read."""

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


def step(row: ShapeRow, slot: int) -> list[int]:
    """How a column is read: 0 its code, 1 its size, 2 its slot among the image's; then of
    INT, UINT, FLOAT and BYTES (its length) 3 the bits of eight bytes that count, 4 the sign among them, or 0;
    of decimals 3 precision, 4 scale, and up to eight bytes, which are three groups of digits at most, 5 the bits of the
    last, 6 its bound, 7 and 8 those of the one before, 9 the bound of the first. A group that is not there is 0. Of
    those in two slots 5 is how far behind the first the second is."""
    made = [int(row.code), row.size, slot, 0, 0, 0, 0, 0, 0, 0]
    if row.code in (ShapeCode.INT, ShapeCode.UINT, ShapeCode.FLOAT, ShapeCode.BYTES):
        made[3] = -1 if row.size == 8 else (1 << 8 * row.size) - 1
        if row.code is ShapeCode.INT and row.size < 8:
            made[4] = 1 << 8 * row.size - 1
    elif row.code in (ShapeCode.DECIMAL, ShapeCode.WIDE_DECIMAL, ShapeCode.LONG_DECIMAL):
        made[3:5] = row.arg1, row.arg2
        if row.code is ShapeCode.DECIMAL and row.size <= 8:
            first, middle, last = (0, 0, *digit_groups(row.arg1, row.arg2))[-3:]
            made[5:7] = 8 * GROUP_SIZE[last], 10**last
            made[7:] = 8 * GROUP_SIZE[middle], 10**middle, 10**first
        elif row.code is ShapeCode.WIDE_DECIMAL:
            made[5] = 1
    return made
