"""Plans: what the kernel knows of a table map, as small numbers in flat arrays.

Each distinct table map is decoded once, by the reference decoder. A ``PlanBook`` keeps the plans of one reader,
numbers them, and holds the arrays that kernel functions take.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from gtidal.columnar.codes import ShapeCode, VariantKind
from gtidal.columnar.logical import CharsetTables, variant_column, variant_text
from gtidal.columnar.shapes_plan import STEP, shape_row, step
from gtidal.columns.charsets import decode_text
from gtidal.columns.types import Column
from gtidal.errors import DecodeError
from gtidal.events.table_map import TableMap
from gtidal.log.tables import GENERATED_KEY, GENERATED_KEY_NAME, column_title

Settle = Callable[[TableMap], tuple[Column, ...]]
"""Gives columns what the log does not tell: from the user's definitions."""

CACHE_SIZE = 4096


class Growing:
    """A flat array that grows at its end; ``view`` is what the kernel takes."""

    def __init__(self, dtype: Any, first: list[int] | None = None) -> None:
        self._array = np.zeros(64, dtype)
        self._used = 0
        self._view: memoryview | None = None
        if first:
            self.extend(first)

    def __len__(self) -> int:
        return self._used

    def extend(self, values: Any) -> None:
        need = self._used + len(values)
        if need > len(self._array):
            grown = np.zeros(max(need, 2 * len(self._array)), self._array.dtype)
            grown[: self._used] = self._array[: self._used]
            self._array = grown
        self._array[self._used : need] = values
        self._used = need
        self._view = None

    def append(self, value: int) -> None:
        self.extend((value,))

    @property
    def view(self) -> memoryview:
        if self._view is None:
            self._view = memoryview(self._array)
        return self._view

    @property
    def array(self) -> np.ndarray[Any, Any]:
        return self._array[: self._used]


class Plan:
    """One version of one table."""

    __slots__ = ("columns", "key", "labels", "name", "number", "readable", "table", "titles")

    def __init__(self, number: int, table: TableMap, columns: tuple[Column, ...]) -> None:
        self.number: Final = number
        self.table: Final = table
        self.columns: Final = columns
        self.name: Final = f"{table.schema}.{table.table}"
        self.titles: Final = tuple(column_title(column) for column in columns)
        self.key: Final = key_names(table, columns)
        self.readable = True


def key_names(table: TableMap, columns: tuple[Column, ...]) -> tuple[str, ...] | None:
    """The names of the primary key's columns; None where the log does not tell, or there is no key."""
    if table.flags & GENERATED_KEY:
        return (GENERATED_KEY_NAME,)
    parts = [column for column in columns if column.key_position is not None]
    parts.sort(key=lambda column: column.key_position or 0)
    return tuple(printable(column_title(column)) for column in parts) or None


def printable(text: str) -> str:
    """A name for a column of text: bytes that were no UTF-8, which names keep as surrogates, are written ``\\xe4``."""
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def is_utf8(text: str) -> bool:
    """Whether a name's bytes were text: those that were not are kept as surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


class PlanBook:
    """All plans of one reader."""

    def __init__(self, settle: Settle | None = None) -> None:
        self._settle = settle
        self.plans: list[Plan] = []
        self.names: list[str] = []
        """Names of tables, numbered: versions of a table share one."""
        self._name_numbers: dict[str, int] = {}
        self._bodies: dict[tuple[bytes, bool], int] = {}
        # table maps seen: which body a table id had last, and the plan of each body
        self.cache_id = memoryview(np.full(CACHE_SIZE, -1, np.int64))
        self.cache_body = memoryview(np.zeros(CACHE_SIZE, np.int32))
        self.body_start = Growing(np.int64)
        self.body_size = Growing(np.int32)
        self.body_plan = Growing(np.int32)
        self.bodies = Growing(np.uint8)
        # per plan
        self.first = Growing(np.int32)
        self.width = Growing(np.int32)
        self.slots = Growing(np.int32)
        self.most_slots = 1
        self.sizes = Growing(np.int32)
        self.name = Growing(np.int32)
        # per column
        self.shape = Growing(np.int32)
        self.size = Growing(np.int32)
        self.steps = Growing(np.int64)
        self.slot = Growing(np.int32)
        self.text_action = Growing(np.int32)
        self.text_argument = Growing(np.int32)
        self.kind = Growing(np.int32)
        self.kind_header = Growing(np.int32)
        self.kind_size = Growing(np.int32)
        self.kind_argument = Growing(np.int32)
        self.order = Growing(np.int32)
        self.title_bytes = Growing(np.uint8)
        self.title_offsets = Growing(np.int32, [0])
        self.label_bytes = Growing(np.uint8)
        self.label_offsets = Growing(np.int32, [0])
        self.label_first = Growing(np.int32, [0])
        self._charsets = CharsetTables()
        self.charset_tables = Growing(np.int32)
        self.has_documents = False
        """Whether any column is JSON or a geometry."""

    def forget_ids(self) -> None:
        """At a new format description: ids begin anew."""
        self.cache_id = memoryview(np.full(CACHE_SIZE, -1, np.int64))

    def learn(self, table: TableMap, body: bytes) -> Plan:
        """The plan of a table map; ``body`` is the event's, without the table id at its start."""
        known = self._bodies.get((body, table.mariadb))
        if known is None:
            known = self._add_body(table, body)
        place = table.table_id % CACHE_SIZE
        self.cache_id[place] = table.table_id
        self.cache_body[place] = known
        return self.plans[int(self.body_plan.array[known])]

    def _add_body(self, table: TableMap, body: bytes) -> int:
        try:
            columns = table.columns
            if self._settle is not None:
                columns = self._settle(table)
                table.__dict__["columns"] = columns  # the reference decoder reads with the same ones
        except DecodeError:
            columns = ()  # whoever reads its rows asks the reference decoder, and hears what is wrong
        plan = Plan(len(self.plans), table, columns)
        number = len(self.body_size)
        self._bodies[body, table.mariadb] = number
        self.body_start.append(len(self.bodies))
        self.body_size.append(len(body))
        self.body_plan.append(plan.number)
        self.bodies.extend(np.frombuffer(body, np.uint8))
        self.plans.append(plan)
        self._add_plan(plan)
        return number

    def name_number(self, name: str) -> int:
        number = self._name_numbers.get(name)
        if number is None:
            number = self._name_numbers[name] = len(self.names)
            self.names.append(printable(name))
        return number

    def _add_plan(self, plan: Plan) -> None:
        self.first.append(len(self.shape))
        self.width.append(len(plan.columns) if plan.columns else -1)
        self.name.append(self.name_number(plan.name))
        slots = sizes = 0
        for column, title in zip(plan.columns, plan.titles, strict=True):
            row = shape_row(column.shape)
            code = row.code
            self.shape.append(code)
            self.size.append(row.size)
            self.slot.append(slots)
            self.steps.extend(step(row, slots))
            slots += row.slots
            sizes += row.size
            if code is ShapeCode.UNREADABLE:
                plan.readable = False
            text = variant_text(column, code, self._charsets)
            self.text_action.append(text.action)
            self.text_argument.append(text.argument)
            variant = variant_column(column, code)
            self.kind.append(variant.kind)
            self.has_documents |= variant.kind in (VariantKind.JSON, VariantKind.GEOMETRY)
            self.kind_header.append(variant.header)
            self.kind_size.append(variant.size)
            self.kind_argument.append(variant.argument)
            self._add_title(title)
            self._add_labels(plan, column)
        self.slots.append(slots)
        self.most_slots = max(self.most_slots, slots)
        self.sizes.append(sizes)
        if not all(is_utf8(title) for title in plan.titles):
            plan.readable = False
        names = [title.encode("utf-8", "surrogatepass") for title in plan.titles]
        self.order.extend(sorted(range(len(names)), key=names.__getitem__))
        if not plan.readable:  # the kernel refuses all its rows
            own = slice(len(self.shape) - len(plan.columns), None)
            self.shape.array[own] = ShapeCode.UNREADABLE
            self.steps.array.reshape(-1, STEP)[own, 0] = ShapeCode.UNREADABLE
        tables = self._charsets.code_points
        self.charset_tables.extend(tables[len(self.charset_tables) :])

    def _add_title(self, title: str) -> None:
        data = title.encode("utf-8", "surrogatepass")
        self.title_bytes.extend(np.frombuffer(data, np.uint8))
        self.title_offsets.append(len(self.title_bytes))

    def _add_labels(self, plan: Plan, column: Column) -> None:
        for label in column.labels or ():
            text = decode_text(label, column.charset)
            if not isinstance(text, str):
                plan.readable = False  # not text in its charset: the reference decoder keeps the bytes
                text = ""
            self.label_bytes.extend(np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8))
            self.label_offsets.append(len(self.label_bytes))
        self.label_first.append(len(self.label_offsets) - 1)
