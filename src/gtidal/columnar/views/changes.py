"""The view ``changes``: one row per changed row, and one for every statement that may have changed data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from gtidal.columnar import kernel
from gtidal.columnar.arrays import (
    Array,
    Texts,
    constant_list,
    from_values,
    lists_by_code,
    no_texts,
    text_or_escaped,
    variants,
)
from gtidal.columnar.cells import FULL, TOO_LARGE, Images
from gtidal.columnar.flat import own_numbers
from gtidal.columnar.following import Followed
from gtidal.columnar.memory import offsets_room, room
from gtidal.columnar.plan import PlanBook, key_names, printable
from gtidal.columnar.schemas import CHANGES, VARIANT
from gtidal.columnar.selection import Selector
from gtidal.columnar.statements import Statement, statement_of
from gtidal.columnar.variant import ImageEncoder, json_text
from gtidal.columnar.views.row_events import ImageRuns, RowEventReader, Side
from gtidal.columnar.views.stamps import Runs, Stamps
from gtidal.errors import DecodeError, GtidalError
from gtidal.events.images import apply_json_diffs
from gtidal.events.registry import Event
from gtidal.events.rows import RowsEvent

OPERATIONS = ("insert", "update", "delete", "ddl", "statement", "xa_commit", "xa_rollback")


class Odd(NamedTuple):
    """A change that the kernel has no part in."""

    place: int
    operation: int
    plan: int
    before: tuple[bytes, bytes] | None
    after: tuple[bytes, bytes] | None
    schema: str | None
    table: str | None
    key: tuple[str, ...] | None
    query: bytes | None


class PlanKeys:
    """The key of each plan. All plans may have the same one, as many tables have their ``id``."""

    def __init__(self, book: PlanBook) -> None:
        self._plans = book.plans
        self._keys: list[tuple[str, ...] | None] = []

    def pick(self, plans: Array, counts: Array, count: int) -> pa.Array:
        if len(self._keys) < len(self._plans):
            self._keys += [plan.key for plan in self._plans[len(self._keys) :]]
            self._are_same = len(set(self._keys)) == 1
        if self._are_same:
            return constant_list(self._keys[0], count)
        return lists_by_code(self._keys, np.repeat(plans, counts))


class ChangeReader(RowEventReader[Odd]):
    """Makes the batches of one log."""

    def __init__(
        self, book: PlanBook, selector: Selector, file: str, columns: Sequence[str], images: str = "variant"
    ) -> None:
        super().__init__(book, selector, file, numbered="row" in columns)
        self.columns = columns
        self.images = images
        self.schema = schema_of(columns, images)
        self.wants_images = "before" in columns or "after" in columns
        self._stamps = Stamps(book, file, columns, OPERATIONS)
        self._keys = PlanKeys(book)
        self._encoders: dict[int, ImageEncoder] = {}
        self._scratch = memoryview(np.zeros(kernel.variant.SCRATCH_SIZE, np.int64))
        self._progress = own_numbers(0, 0, 0, 0)
        self._value_room = self._metadata_room = 1 << 20

    def image_batch(self, followed: Followed, images: Images, skipped: Array | None) -> pa.RecordBatch | None:
        book, cells, window = self.book, self.cells, followed.window
        if self.wants_images and images.count:
            cells.settle(window, images, book.text_action.view, book.text_argument.view)
            cells.settle_documents(window, images)
        numbered = self.row_numbers.state
        while images.count:
            self.row_numbers.state = numbered
            runs = self.image_runs(followed, images, skipped, with_sides=self.wants_images)
            written = self._written(followed, images, runs)
            if written is not None:
                return self._batch(followed, runs.changes, {**written, **self._of_table(followed, runs)})
        return None

    def _batch(self, followed: Followed, runs: Runs, own: dict[str, pa.Array]) -> pa.RecordBatch:
        made = self._stamps.make(followed, runs, own) | own
        return pa.RecordBatch.from_arrays([made[name] for name in self.columns], schema=self.schema)

    def _written(self, followed: Followed, images: Images, runs: ImageRuns) -> dict[str, pa.Array] | None:
        """The images. None: one could not be written, and was cut off together with those behind it."""
        written = {}
        for name, side in (("before", runs.before), ("after", runs.after)):
            if name in self.columns:
                array = self.variants(followed, images, side)
                if array is None:
                    return None
                written[name] = array
        return written

    def _of_table(self, followed: Followed, runs: ImageRuns) -> dict[str, pa.Array]:
        """Its key, and the statement's text."""
        made = {}
        counts, rows = runs.changes.counts, runs.changes.rows
        if "key" in self.columns:
            made["key"] = self._keys.pick(runs.plans, counts, rows)
        if "query" in self.columns:
            made["query"] = no_texts(rows)
            if runs.texts is not None:
                lanes = followed.lanes
                texts = Texts(lanes.heap, lanes.query_start, lanes.query_size)
                made["query"] = text_or_escaped(texts.pick(runs.texts, pa.binary(), counts))
        return made

    def variants(self, followed: Followed, images: Images, side: Side) -> pa.Array | None:
        """The images of one side; None if one could not be written, which is then cut off."""
        chosen = side.images
        code, row = self._write(followed, images, chosen)
        if code == TOO_LARGE:
            place = images.place(int(chosen[row]))
            raise DecodeError(
                "a row of more than 128 MiB as VARIANT; the typed rows of its table hold it",
                file=self.file,
                position=followed.window.frame(place).position,
            )
        if code:
            self.cells.cut(images, int(chosen[row]))
            return None
        count = len(chosen)
        _, used, noted, _ = self._progress
        fields = [
            pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(offsets), pa.py_buffer(data)])
            for data, offsets in (
                (self._value[:used], self._value_offsets),
                (self._metadata[:noted], self._metadata_offsets),
            )
        ]
        if self.images == "json":
            texts = [
                json_text(value.as_py(), metadata.as_py()) if there else None
                for value, metadata, there in zip(*fields, (chosen >= 0).tolist(), strict=True)
            ]
            return from_values(texts)
        return pa.StructArray.from_buffers(VARIANT, count, [side.valid], children=fields)

    def _write(self, followed: Followed, images: Images, chosen: Array) -> tuple[int, int]:
        """VARIANT of the chosen images into ``_value`` and ``_metadata``. Returns the kernel's code, and the row."""
        book, cells, count = self.book, self.cells, len(chosen)
        while True:
            # Fresh arrays, for they become the batch's; about as large as the last ones were in the end.
            self._value = room(self._value_room)
            self._metadata = room(self._metadata_room)
            self._value_offsets = offsets_room(count)
            self._metadata_offsets = offsets_room(count)
            code = kernel.variant.write(
                memoryview(followed.window.data),
                memoryview(cells.heap),
                memoryview(cells.slots),
                memoryview(cells.states),
                memoryview(cells.image_cell),
                images.plans,
                memoryview(cells.image_keys),
                memoryview(chosen),
                0,
                count,
                book.first.view,
                book.width.view,
                book.slot.view,
                book.kind.view,
                book.kind_header.view,
                book.kind_size.view,
                book.kind_argument.view,
                book.order.view,
                book.title_bytes.view,
                book.title_offsets.view,
                book.label_bytes.view,
                book.label_first.view,
                book.label_offsets.view,
                self._scratch,
                memoryview(self._value),
                memoryview(self._value_offsets),
                memoryview(self._metadata),
                memoryview(self._metadata_offsets),
                self._progress,
            )
            if code != FULL:
                return code, self._progress[0]
            done, used, noted = max(self._progress[0], 1), self._progress[1], self._progress[2]
            self._value_room = _more(self._value_room, used * count // done)
            self._metadata_room = _more(self._metadata_room, noted * count // done)

    # --- the reference decoder's changes

    def odd_changes(self, followed: Followed, place: int, event: Event | Statement) -> Iterator[Odd]:
        statement = statement_of(event)
        if statement is not None and self.selector.matches_schema(statement.schema):
            yield _odd_statement(place, statement)

    def odd_rows(self, followed: Followed, place: int, event: RowsEvent, plan: int) -> Iterator[Odd]:
        table = self.table_of(event)
        number = int(followed.lanes.event_query[place])
        lanes = followed.lanes
        query = (
            followed.text(int(lanes.query_start[number]), int(lanes.query_size[number])) if number else None
        )
        operation = OPERATIONS.index(event.operation)
        key = key_names(table, table.columns)
        try:
            encoder = self._encoder(event)
            for row in event.rows:
                before = None if row.before is None else encoder.encode(row.before)
                after = None if row.after is None else encoder.encode(apply_json_diffs(row))
                schema, name = printable(table.schema), printable(table.table)
                yield Odd(place, operation, plan, before, after, schema, name, key, query)
        except GtidalError as error:
            raise error.at(file=self.file, position=event.header.position, event=event.name) from None

    def _encoder(self, event: RowsEvent) -> ImageEncoder:
        assert event.table is not None
        key = id(event.table.columns)
        if key not in self._encoders:
            if len(self._encoders) > 256:
                self._encoders.clear()
            self._encoders[key] = ImageEncoder(event.table.columns)
        return self._encoders[key]

    def odd_batch(self, followed: Followed, changes: list[Odd], skipped: Array | None) -> pa.RecordBatch:
        runs = self.odd_runs(followed, changes, [change.operation for change in changes], skipped)
        own = {
            "schema": from_values([change.schema for change in changes]),
            "table": from_values([change.table for change in changes]),
            "key": lists_by_code([change.key for change in changes], np.arange(len(changes))),
            "query": text_or_escaped(from_values([change.query for change in changes], pa.binary())),
        }
        for name in ("before", "after"):
            if name in self.columns:
                own[name] = self._odd_variants([getattr(change, name) for change in changes])
        return self._batch(followed, runs, own)

    def _odd_variants(self, images: list[tuple[bytes, bytes] | None]) -> pa.Array:
        if self.images == "json":
            return from_values([None if image is None else json_text(*image) for image in images])
        return variants(images)


def _more(room: int, expected: int) -> int:
    """More room, by what the first rows needed; but not all need be as large as one of them."""
    return min(max(room * 3 // 2, expected), 4 * room)


def _odd_statement(place: int, statement: Statement) -> Odd:
    operation = OPERATIONS.index(statement.operation)
    schema = printable(statement.schema) if statement.schema else None
    return Odd(place, operation, -1, None, None, schema, None, None, statement.query)


def schema_of(columns: Sequence[str], images: str = "variant") -> pa.Schema:
    fields: list[Any] = [CHANGES.field(name) for name in columns]
    if images == "json":
        fields = [pa.field(each.name, pa.string()) if each.type == VARIANT else each for each in fields]
    return pa.schema(fields)
