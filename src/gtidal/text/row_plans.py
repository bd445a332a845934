"""Table maps as the kernel's row printer needs them: for each column a kind of text and what stands around it.

The texts are those that ``text.rows.ImagePrinter`` works out, so the two printers cannot differ in them."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from gtidal.columnar.plan import CACHE_SIZE, Growing
from gtidal.columns import shapes
from gtidal.columns.types import Column
from gtidal.events.table_map import TableMap
from gtidal.text.lexicon import Lexicon
from gtidal.text.rows import VERBS, ImagePrinter, RowPrinter, TablePrinter

PLAN_FIELDS, IMAGE_FIELDS, STEP_FIELDS = 12, 8, 10


class TextKind(IntEnum):
    """How ``kernel.rowtext`` prints a value; the arguments are named in parentheses."""

    NONE = 0
    INTEGER = 1
    FLOAT = 2
    QUOTED = 3
    """(39: quotes and backslashes are escaped; 0: control characters alone)"""
    DECIMAL = 4
    """(precision, scale)"""
    BITS = 5
    """(how many)"""
    YEAR = 6
    DATE = 7
    TIME24 = 8
    """(1: with a sign)"""
    DATETIME64 = 9
    """(1: in quotes)"""
    EPOCH32 = 10
    EPOCH = 11
    """(digits)"""
    DATETIME = 12
    """(digits)"""
    TIME = 13
    """(digits)"""
    NUMBER = 14
    SET = 15
    JSON = 16
    VECTOR = 17


class TextColumn(NamedTuple):
    """What the kernel is told of a column: ``size`` is that of the value, or of its length."""

    kind: TextKind
    size: int = 0
    argument1: int = 0
    argument2: int = 0


_NONE = TextColumn(TextKind.NONE)
_INTEGERS = (1, 2, 3, 8, 9)
_STRINGS = (15, 252, 253, 254)
_DIGITS = {17: TextKind.EPOCH, 18: TextKind.DATETIME, 19: TextKind.TIME}
_FIXED = {
    4: (shapes.Float, TextKind.FLOAT),
    5: (shapes.Float, TextKind.FLOAT),
    7: (shapes.Epoch32, TextKind.EPOCH32),
    10: (shapes.Date24, TextKind.DATE),
    13: (shapes.Year, TextKind.YEAR),
    14: (shapes.Date24, TextKind.DATE),
    247: (shapes.Int, TextKind.NUMBER),
}
_PACKED = (shapes.PackedEpoch, shapes.PackedDatetime, shapes.PackedTime)
_MOST_BITS = 64


def text_column(column: Column, *, mariadb: bool = False) -> TextColumn:
    """How the kernel prints a column's values; kind NONE if it does not."""
    code, shape = column.real_type, column.shape
    size = shape.size or 0
    kind = type(shape)
    if code in _INTEGERS and kind is shapes.Int:
        return TextColumn(TextKind.INTEGER, size)
    if code in _FIXED and kind is _FIXED[code][0]:
        return TextColumn(_FIXED[code][1], size)
    if kind is shapes.Bytes:
        prefix = shape.arguments[0]
        if code in _STRINGS or (code == 255 and mariadb):
            return TextColumn(TextKind.QUOTED, prefix, 0 if mariadb else ord("'"))
        if code == 245 and not mariadb:
            return TextColumn(TextKind.JSON, prefix)
        if code == 242 and not mariadb:
            return TextColumn(TextKind.VECTOR, prefix)
    if code in _DIGITS and kind in _PACKED:
        return TextColumn(_DIGITS[code], size, shape.arguments[0])
    if code == 246 and kind is shapes.PackedDecimal:
        return TextColumn(TextKind.DECIMAL, size, *shape.arguments)
    if code == 16 and kind is shapes.Bits and 1 <= shape.arguments[0] <= _MOST_BITS:
        return TextColumn(TextKind.BITS, size, shape.arguments[0])
    if code == 248 and kind is shapes.Int and size == column.metadata & 0xFF:
        return TextColumn(TextKind.SET, size)
    if code == 11 and kind is shapes.Time24:
        return TextColumn(TextKind.TIME24, size, int(mariadb))
    if code == 12 and kind is shapes.Datetime64:
        return TextColumn(TextKind.DATETIME64, size, int(mariadb))
    return _NONE


class RowPlans:
    """The plans of the table maps seen, in flat arrays; ``kernel.judging`` says what is where."""

    def __init__(self, lexicon: Lexicon, rows: RowPrinter) -> None:
        self._lexicon = lexicon
        self._rows = rows
        self.tables: list[TableMap] = []
        self._bodies: dict[bytes, int] = {}
        self.cache_id = memoryview(np.full(CACHE_SIZE, -1, np.int64))
        self.cache_body = memoryview(np.zeros(CACHE_SIZE, np.int32))
        self.body_start = Growing(np.int64)
        self.body_size = Growing(np.int32)
        self.body_plan = Growing(np.int32)
        self.bodies = Growing(np.uint8)
        self.plans = Growing(np.int32)
        self.images = Growing(np.int32)
        self.bitmaps = Growing(np.uint8)
        self.steps = Growing(np.int32)

    def known(self, body: bytes) -> int | None:
        return self._bodies.get(body)

    def note_id(self, table_id: int, body: int) -> None:
        """The id stands for this table map, until another is seen with it."""
        place = table_id % CACHE_SIZE
        self.cache_id[place] = table_id
        self.cache_body[place] = body

    def learn(self, table: TableMap, body: bytes, *, skipped: bool = False) -> int:
        """Take in a table map; ``body`` is the event's without the table id at its start."""
        plan, number = len(self.tables), len(self.body_size)
        self.tables.append(table)
        self._bodies[body] = number
        self.body_start.append(len(self.bodies))
        self.body_size.append(len(body))
        self.body_plan.append(plan)
        self.bodies.extend(np.frombuffer(body, np.uint8))
        word = self._lexicon.number
        metadata = self._rows.table_metadata(table)
        name = TablePrinter(table).name
        self.plans.extend(
            [
                len(table.types),
                int(skipped),
                -1,
                word(f"\tTable_map: `{table.schema}`.`{table.table}` mapped to number "),
                word(metadata) if metadata else -1,
                table.flags >> 2 & 1,
                word(f"### {VERBS['insert']} {name}\n### SET\n"),
                word(f"### {VERBS['update']} {name}\n### WHERE\n"),
                word(f"### {VERBS['delete']} {name}\n### WHERE\n"),
                *(0, 0, 0),
            ]
        )
        return number

    def learn_image(self, plan: int, bitmap: bytes) -> int:
        """Take in a set of columns of a table. Raises what the table's columns raise."""
        printer = ImagePrinter(self.tables[plan], bitmap, self._rows)
        rows: list[Any] = []
        printable = printer.last_words is None and bool(printer.columns)
        for column, (before, _, after, null) in zip(printer.columns, printer.steps, strict=False):
            text = text_column(column, mariadb=self._rows.mariadb)
            printable = printable and text.kind is not TextKind.NONE
            span = self._lexicon.span
            rows += [*text, *span(before), *span(after), *span(null)]
        image = len(self.images) // IMAGE_FIELDS
        plans = self.plans.array
        first = PLAN_FIELDS * plan + 2
        self.images.extend(
            [
                len(self.steps) // STEP_FIELDS,
                len(printer.steps),
                (len(printer.columns) + 7) // 8,
                int(printable),
                len(self.bitmaps),
                int(plans[first]),
                *(0, 0),
            ]
        )
        self.bitmaps.extend(np.frombuffer(bitmap, np.uint8))
        self.steps.extend(rows)
        plans[first] = image
        return image
