"""The view ``rows``: the changed rows of one table in its own columns, after those that all tables share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gtidal.columnar.arrays import Array
from gtidal.columnar.arrow_types import spark_type
from gtidal.columnar.cells import ColumnCells, Images, RowEvents
from gtidal.columnar.codes import ShapeCode
from gtidal.columnar.flat import distinct
from gtidal.columnar.following import Followed
from gtidal.columnar.lanes import Block, Columns, Lane, TextActions, Unfit
from gtidal.columnar.plan import Plan, PlanBook
from gtidal.columnar.schemas import ROWS
from gtidal.columnar.selection import Selector
from gtidal.columnar.statements import Statement
from gtidal.columnar.table_schema import Field, TableSchema, batch_name
from gtidal.columnar.typed_values import TypedColumn
from gtidal.columnar.views.row_events import DELETE, INSERT, UPDATE, RowEventReader
from gtidal.columnar.views.stamps import Runs, Stamps
from gtidal.columns.types import Column
from gtidal.errors import GtidalError
from gtidal.events.images import Image, apply_json_diffs
from gtidal.events.registry import Event
from gtidal.events.rows import RowsEvent
from gtidal.log.tables import column_title

CHANGE_TYPES = ("insert", "update_preimage", "delete", "update_postimage")
"""By the operation of an image's event; the last is that of an update's second image."""
POSTIMAGE = 3
_OPERATIONS = {"insert": INSERT, "update": UPDATE, "delete": DELETE}


class OddRow(NamedTuple):
    """A changed row that the reference decoder made: of its images, the values of the wanted columns."""

    place: int
    operation: int
    columns: tuple[Column, ...]
    before: tuple[object, ...] | None
    after: tuple[object, ...] | None


@dataclass(slots=True)
class Layout:
    """How the images of plans with the same columns become the wanted columns."""

    number: int
    columns: Columns
    places: list[int | None]
    """Of each wanted column its place among these; None: this version of the table has no such column."""


class RowReader(RowEventReader[OddRow]):
    """Makes the batches of one log. ``columns``: names of the merged schema, in any order."""

    cells: ColumnCells
    cells_type = ColumnCells

    def __init__(
        self, book: PlanBook, selector: Selector, file: str, columns: Sequence[str], table: TableSchema
    ) -> None:
        super().__init__(book, selector, file, numbered="_row" in columns)
        self.columns = columns
        self.table = table
        self.schema = table.arrow_schema(columns)
        by_name = {batch_name(field.name): key for key, field in table.fields.items()}
        self._wanted: list[tuple[str, Field]] = [
            (by_name[name], table.fields[by_name[name]]) for name in columns if name not in ROWS.names
        ]
        shared = [name[1:] for name in columns if name in ROWS.names]
        self._stamps = Stamps(book, file, shared, CHANGE_TYPES, paired=True)
        self._texts = TextActions(book)
        self._layouts: dict[int, Layout] = {}
        self._by_columns: dict[tuple[Column, ...], Layout] = {}
        self._typed: dict[int, tuple[tuple[Column, ...], list[tuple[int, TypedColumn] | None]]] = {}

    # --- by the kernel

    def layout(self, plan: Plan) -> Layout:
        """Plans with the same columns share one: two table maps may differ in a flag only."""
        found = self._layouts.get(plan.number)
        if found is not None:
            return found
        places = {column_title(column).lower(): index for index, column in enumerate(plan.columns)}
        self._texts.want(plan, [places[key] for key, _ in self._wanted if key in places])
        found = self._by_columns.get(plan.columns)
        if found is None:
            self.table.check(plan.columns, self.file, plan.table.header.position)
            base = int(self.book.first.array[plan.number])
            lanes: list[Lane] = []
            own: list[int | None] = []
            for key, field in self._wanted:
                index = places.get(key)
                own.append(None if index is None else len(lanes))
                if index is None:
                    continue
                slot = int(self.book.slot.array[base + index])
                shape = ShapeCode(int(self.book.shape.array[base + index]))
                lanes.append(Lane(plan.columns[index], slot, shape, field.kind, self.table.images))
            found = self._by_columns[plan.columns] = Layout(len(self._by_columns), Columns(lanes), own)
        self._layouts[plan.number] = found
        return found

    def runs(self, events: RowEvents) -> Iterator[RowEvents]:
        """Events whose images have the same layout, as long as they follow each other."""
        plans = events.plans
        if self._one_plan:
            self.layout(self.book.plans[int(plans[0])])
            yield events
            return
        numbers = np.zeros(len(self.book.plans), np.int64)
        for plan in distinct(plans).tolist():
            numbers[plan] = self.layout(self.book.plans[plan]).number
        layouts = numbers[plans]
        cuts = [0, *(np.flatnonzero(layouts[1:] != layouts[:-1]) + 1).tolist(), len(plans)]
        for first, last in pairwise(cuts):
            yield events.between(first, last)

    def image_batch(self, followed: Followed, images: Images, skipped: Array | None) -> pa.RecordBatch | None:
        if not images.count:
            return None
        texts = self._texts
        if texts.any:
            self.cells.settle(followed.window, images, memoryview(texts.actions), memoryview(texts.arguments))
        while images.count:
            layout = self._layouts[images.plans[0]]
            block = Block(followed.window, self.cells, images)
            try:
                made = layout.columns.make(block)
            except Unfit as unfit:  # the reference decoder gets its event, and says what is wrong
                self.cells.cut(images, unfit.image)
                continue
            own = [
                self._nulls(field, block.count) if place is None else made[place]
                for place, (_, field) in zip(layout.places, self._wanted, strict=True)
            ]
            runs = self.image_runs(followed, images, skipped, with_sides=False)
            return self._batch(followed, runs.images, own)
        return None

    def _nulls(self, field: Field, count: int) -> pa.Array:
        return pa.nulls(count, spark_type(field.kind, self.table.images))

    def _batch(self, followed: Followed, runs: Runs, own: list[pa.Array]) -> pa.RecordBatch:
        rest, stamped = iter(own), self._stamps.make(followed, runs)
        # "_gtid" is the stamp "gtid"
        arrays = [stamped[name[1:]] if name in ROWS.names else next(rest) for name in self.columns]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    # --- by the reference decoder

    def odd_changes(self, followed: Followed, place: int, event: Event | Statement) -> Iterator[OddRow]:
        return iter(())

    def odd_rows(self, followed: Followed, place: int, event: RowsEvent, plan: int) -> Iterator[OddRow]:
        table = self.table_of(event)
        columns = table.columns
        if id(columns) not in self._typed:
            self.table.check(columns, self.file, table.header.position)
        typed = self._typed_columns(columns)
        operation = _OPERATIONS[event.operation]

        def values(image: Image) -> tuple[object, ...]:
            physical = tuple(image)
            return tuple(None if each is None else each[1].value(physical[each[0]]) for each in typed)

        try:
            for row in event.rows:
                before = None if row.before is None else values(row.before)
                after = None if row.after is None else values(apply_json_diffs(row))
                yield OddRow(place, operation, columns, before, after)
        except GtidalError as error:
            raise error.at(file=self.file, position=event.header.position, event=event.name) from None

    def _typed_columns(self, columns: tuple[Column, ...]) -> list[tuple[int, TypedColumn] | None]:
        """For each wanted column its place in an image."""
        known = self._typed.get(id(columns))
        if known is not None:
            return known[1]
        places = {column_title(column).lower(): index for index, column in enumerate(columns)}
        made = []
        for key, field in self._wanted:
            index = places.get(key)
            typed = None if index is None else TypedColumn(columns[index], field.kind, self.table.images)
            made.append(None if index is None or typed is None else (index, typed))
        self._typed[id(columns)] = columns, made  # the columns are kept, and so is their id
        return made

    def odd_batch(self, followed: Followed, changes: list[OddRow], skipped: Array | None) -> pa.RecordBatch:
        sources: list[int] = []
        change_types: list[int] = []
        pieces: list[tuple[tuple[Column, ...], list[tuple[object, ...]]]] = []
        """Images of the same columns; changes of several versions of the table may stand side by side."""
        for number, change in enumerate(changes):
            if not pieces or pieces[-1][0] is not change.columns:
                pieces.append((change.columns, []))
            for values, is_second in ((change.before, False), (change.after, change.before is not None)):
                if values is not None:
                    sources.append(number)
                    change_types.append(POSTIMAGE if is_second else change.operation)
                    pieces[-1][1].append(values)
        own = [
            pa.concat_arrays([self._typed_array(number, *piece) for piece in pieces])
            for number in range(len(self._wanted))
        ]
        numbered = self.odd_runs(followed, changes, [change.operation for change in changes], skipped)
        runs = Runs(
            len(sources),
            np.ones(len(sources), np.int64),
            numbered.events[sources],
            numbered.transactions[sources],
            np.array(change_types, np.int32),
            numbered.plans[sources],
            numbered.firsts[sources],
        )
        return self._batch(followed, runs, own)

    def _typed_array(
        self, number: int, columns: tuple[Column, ...], images: list[tuple[object, ...]]
    ) -> pa.Array:
        typed = self._typed_columns(columns)[number]
        if typed is None:
            return pa.nulls(len(images), spark_type(self._wanted[number][1].kind, self.table.images))
        return typed[1].array([image[number] for image in images])
