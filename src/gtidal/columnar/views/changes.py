"""The view ``changes``: one row per changed row, and one for every statement that may have changed data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from gtidal.columnar import kernel
from gtidal.columnar.arrays import Array, Texts, constant, lists_by_code, numbers, text_or_escaped, timestamps
from gtidal.columnar.cells import FULL, TOO_LARGE, Cells, Images, RowEvents, count_rows, reference_rows
from gtidal.columnar.codes import OUTCOMES, Txn
from gtidal.columnar.following import IS_ROWS, Followed
from gtidal.columnar.plan import PlanBook, key_names
from gtidal.columnar.schemas import BIGINT, CHANGES, VARIANT
from gtidal.columnar.selection import Selector
from gtidal.columnar.statements import Statement, statement_of
from gtidal.columnar.variant import ImageEncoder, json_text
from gtidal.errors import DecodeError, GtidalError, MissingTableMap
from gtidal.events.images import apply_json_diffs
from gtidal.events.registry import Event
from gtidal.events.rows import RowsEvent

INSERT, UPDATE, DELETE = range(3)
OPERATIONS = ("insert", "update", "delete", "ddl", "statement", "xa_commit", "xa_rollback")
_OPERATION_TEXTS = Texts.of(OPERATIONS)
_OUTCOME_TEXTS = Texts.of(OUTCOMES)
_SECOND = 1_000_000
_OPERATION_OF_TYPE = np.zeros(256, np.int32)
_OPERATION_OF_TYPE[[24, 31]] = UPDATE
_OPERATION_OF_TYPE[[25, 32]] = DELETE


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


class ChangeBlock:
    """Some changes of one window: of which event each is, and its images."""

    def __init__(self, reader: ChangeReader, followed: Followed, events: Array, rows: Array) -> None:
        self.reader = reader
        self.followed = followed
        self.index = followed.window.index
        self.events = events
        """The place of each change's event."""
        self.rows = rows
        """The number of each change in its transaction."""
        self.transactions = followed.lanes.event_txn[events]

    def batch(self, columns: Sequence[str]) -> pa.RecordBatch:
        arrays = [getattr(self, f"make_{name}")() for name in columns]
        return pa.RecordBatch.from_arrays(arrays, schema=self.reader.schema)

    def __len__(self) -> int:
        return len(self.events)

    def of_transaction(self, place: Txn) -> Array:
        return self.followed.rows[:, place][self.transactions]

    def text_of_transaction(self, start: Txn, size: Txn) -> pa.Array:
        rows = self.followed.rows
        return Texts(self.followed.lanes.heap, rows[:, start], rows[:, size]).pick(self.transactions)

    def make_file(self) -> pa.Array:
        return constant(self.reader.file, len(self))

    def make_position(self) -> pa.Array:
        return numbers(self.index.positions[self.events], BIGINT)

    def make_row(self) -> pa.Array:
        return numbers(self.rows, BIGINT)

    def make_transaction_position(self) -> pa.Array:
        return numbers(self.of_transaction(Txn.POSITION), BIGINT)

    def make_timestamp(self) -> pa.Array:
        return timestamps(self.index.timestamps[self.events] * _SECOND)

    def make_commit_timestamp(self) -> pa.Array:
        return timestamps(self.of_transaction(Txn.IMMEDIATE_TIMESTAMP))

    def make_gtid(self) -> pa.Array:
        return self.text_of_transaction(Txn.GTID, Txn.GTID_SIZE)

    def make_server_id(self) -> pa.Array:
        return numbers(self.index.server_ids[self.events], BIGINT)

    def make_outcome(self) -> pa.Array:
        return _OUTCOME_TEXTS.pick(self.of_transaction(Txn.OUTCOME))

    def make_xa(self) -> pa.Array:
        return self.text_of_transaction(Txn.XA, Txn.XA_SIZE)


class RowBlock(ChangeBlock):
    """Changes that the kernel made."""

    def __init__(
        self, reader: ChangeReader, followed: Followed, events: Array, rows: Array, images: Images, changes: Array
    ) -> None:
        super().__init__(reader, followed, events, rows)
        self.operations = _OPERATION_OF_TYPE[self.index.types[events]]
        self.plans = followed.lanes.event_plan[events]
        self.befores = np.where(self.operations == INSERT, -1, changes).astype(np.int32)
        afters = np.where(self.operations == UPDATE, changes + 1, changes)
        self.afters = np.where(self.operations == DELETE, -1, afters).astype(np.int32)
        self.images = images
        self._variants: dict[str, pa.Array] = {}

    def write(self) -> bool:
        """Write the images. False: one could not be written, and was cut off together with those behind it."""
        for name, chosen in (("before", self.befores), ("after", self.afters)):
            if name in self.reader.columns:
                array = self.reader.variants(self.followed, self.images, chosen)
                if array is None:
                    return False
                self._variants[name] = array
        return True

    def make_schema(self) -> pa.Array:
        return Texts.of([plan.table.schema for plan in self.reader.book.plans]).pick(self.plans)

    def make_table(self) -> pa.Array:
        return Texts.of([plan.table.table for plan in self.reader.book.plans]).pick(self.plans)

    def make_op(self) -> pa.Array:
        return _OPERATION_TEXTS.pick(self.operations)

    def make_key(self) -> pa.Array:
        return lists_by_code([plan.key for plan in self.reader.book.plans], self.plans)

    def make_query(self) -> pa.Array:
        lanes = self.followed.lanes
        numbers_of_texts = lanes.event_query[self.events]
        codes = np.where(numbers_of_texts > 0, numbers_of_texts, -1)
        texts = Texts(lanes.heap, lanes.query_start, lanes.query_size)
        return text_or_escaped(texts.pick(codes, pa.binary()))

    def make_before(self) -> pa.Array:
        return self._variants["before"]

    def make_after(self) -> pa.Array:
        return self._variants["after"]


class OddBlock(ChangeBlock):
    """Changes that the reference decoder made."""

    def __init__(self, reader: ChangeReader, followed: Followed, changes: list[Odd], rows: Array) -> None:
        super().__init__(reader, followed, np.array([change.place for change in changes], np.int64), rows)
        self.changes = changes

    def make_schema(self) -> pa.Array:
        return pa.array([change.schema for change in self.changes], pa.string())

    def make_table(self) -> pa.Array:
        return pa.array([change.table for change in self.changes], pa.string())

    def make_op(self) -> pa.Array:
        return _OPERATION_TEXTS.pick(np.array([change.operation for change in self.changes]))

    def make_key(self) -> pa.Array:
        return pa.array([change.key for change in self.changes], CHANGES.field("key").type)

    def make_query(self) -> pa.Array:
        return text_or_escaped(pa.array([change.query for change in self.changes], pa.binary()))

    def _variants(self, images: list[tuple[bytes, bytes] | None]) -> pa.Array:
        if self.reader.images == "json":
            return pa.array([None if image is None else json_text(*image) for image in images], pa.string())
        return pa.array(
            [None if image is None else {"value": image[0], "metadata": image[1]} for image in images], VARIANT
        )

    def make_before(self) -> pa.Array:
        return self._variants([change.before for change in self.changes])

    def make_after(self) -> pa.Array:
        return self._variants([change.after for change in self.changes])


class RowNumbers:
    """Numbers the changes of a transaction: 0, 1, 2 …, across blocks and windows."""

    def __init__(self) -> None:
        self.state: tuple[int, int] = (-1, 0)
        """The position of the last transaction seen, and the number of its next change."""

    def number(self, positions: Array, passed_over: Array | None = None) -> Array:
        """For changes in order, by their transactions' positions. ``passed_over``: how many rows of the transaction
        stand before each and are not shown, counted within these changes and those before them."""
        count = len(positions)
        if not count:
            return np.zeros(0, np.int64)
        begins = np.flatnonzero(np.concatenate(([True], positions[1:] != positions[:-1])))
        first = np.repeat(begins, np.diff(np.append(begins, count)))
        rows = np.arange(count, dtype=np.int64) - first
        position, following = self.state
        if int(positions[0]) == position:
            rows[: int(begins[1]) if len(begins) > 1 else count] += following
        self.state = int(positions[-1]), int(rows[-1]) + 1
        return rows if passed_over is None else rows + passed_over


class ChangeReader:
    """Makes the batches of one log."""

    def __init__(
        self, book: PlanBook, selector: Selector, file: str, columns: Sequence[str], images: str = "variant"
    ) -> None:
        self.book = book
        self.selector = selector
        self.file = file
        self.columns = columns
        self.images = images
        self.schema = schema_of(columns, images)
        self.cells = Cells(book, file)
        self.wants_images = "before" in columns or "after" in columns
        self._numbers = RowNumbers()
        self._encoders: dict[int, ImageEncoder] = {}
        self._scratch = memoryview(np.zeros(kernel.variant.SCRATCH_SIZE, np.int64))
        self._progress = memoryview(np.zeros(4, np.int64))
        self._value_room = self._metadata_room = 1 << 20

    def batches(self, followed: Followed) -> Iterator[pa.RecordBatch]:
        """The changes of a window whose transactions are all known."""
        count = followed.events
        if not len(followed.rows):
            return
        lanes, types = followed.lanes, followed.window.index.types[:count]
        shown = self.selector.committed(followed)
        numbers_of = lanes.event_txn[:count]
        of_shown = (numbers_of >= 0) & shown[numbers_of]
        is_rows = (lanes.event_plan[:count] >= 0) & IS_ROWS[types]
        keep = of_shown & self.selector.by_header(followed.window, count)
        if self.selector.selection.by_table:
            keep &= self.selector.of_tables(followed)
        skipped = self._count_skipped(followed, is_rows & of_shown & ~keep, is_rows & keep)
        places = np.flatnonzero(is_rows & keep)
        odd = self._odd(followed, of_shown)
        begin = 0
        while begin < len(places) or odd:
            next_odd = odd[0].place if odd else count
            end = int(np.searchsorted(places, next_odd))
            if end > begin:
                yield from self._rows(followed, places[begin:end], skipped)
                begin = end
            if odd:
                next_rows = int(places[begin]) if begin < len(places) else count
                now = [change for change in odd if change.place < next_rows]
                odd = odd[len(now) :]
                yield self._odd_batch(followed, now, skipped)

    def _count_skipped(self, followed: Followed, skipped: Array, kept: Array) -> Array | None:
        """For each event, how many rows of its transaction stand before it that are not shown: so that rows keep
        their numbers whatever is selected. Only transactions of which something is shown are counted."""
        if not skipped.any() or "row" not in self.columns:
            return None
        numbers_of = followed.lanes.event_txn[: followed.events]
        has_shown = np.zeros(len(followed.rows) + 1, bool)
        has_shown[numbers_of[kept]] = True
        places = np.flatnonzero(skipped & has_shown[numbers_of])
        before = np.zeros(followed.events + 1, np.int64)
        try:
            before[places + 1] = count_rows(followed, places, self.book, self.file)
        except GtidalError:
            return None  # rows of another table that nobody can read: those that can be are numbered without them
        np.cumsum(before, out=before)
        firsts = np.searchsorted(numbers_of, numbers_of, side="left") if (np.diff(numbers_of) >= 0).all() else None
        base = before[firsts] if firsts is not None else 0
        return before[:-1] - base

    # --- rows by the kernel

    def _rows(self, followed: Followed, places: Array, skipped: Array | None) -> Iterator[pa.RecordBatch]:
        events = RowEvents(followed, places)
        cells, book, window = self.cells, self.book, followed.window
        begin = 0
        while begin < len(places):
            rest = RowEvents(followed, places[begin:]) if begin else events
            begin = len(places)
            for images in cells.fill(window, rest):
                if self.wants_images and images.count:
                    cells.settle(window, images, book.text_action.view, book.text_argument.view)
                    cells.settle_documents(window, images)
                numbered = self._numbers.state
                block = self._row_block(followed, images, skipped)
                while images.count and not block.write():
                    self._numbers.state = numbered
                    block = self._row_block(followed, images, skipped)
                if images.count:
                    yield block.batch(self.columns)
                if images.refused is not None:
                    plan = int(followed.lanes.event_plan[images.refused])
                    event = reference_rows(window, images.refused, book, plan, self.file)
                    changes = list(self._reference_changes(followed, images.refused, event, plan))
                    changes = changes[images.refused_rows :]
                    if changes:
                        yield self._odd_batch(followed, changes, skipped)
                    begin = int(np.searchsorted(places, images.refused)) + 1
                    break

    def _row_block(self, followed: Followed, images: Images, skipped: Array | None) -> RowBlock:
        operations = _OPERATION_OF_TYPE[followed.window.index.types[images.event]]
        updates = operations == UPDATE
        # Before and after image of an update stand side by side: of these the second is no change of its own.
        second = updates & (np.cumsum(updates) % 2 == 0)
        changes = np.flatnonzero(~second)
        events = images.event[changes]
        positions = followed.rows[:, Txn.POSITION][followed.lanes.event_txn[events]]
        rows = self._numbers.number(positions, None if skipped is None else skipped[events])
        return RowBlock(self, followed, events, rows, images, changes)

    def variants(self, followed: Followed, images: Images, chosen: Array) -> pa.Array | None:
        """The chosen images; None if one could not be written, which is then cut off."""
        code, row = self._write(followed, images, chosen)
        if code == TOO_LARGE:
            place = int(images.event[chosen[row]])
            raise DecodeError(
                "a row of more than 128 MiB as VARIANT; the typed rows of its table hold it",
                file=self.file,
                position=int(followed.window.index.positions[place]),
            )
        if code:
            self.cells.cut(images, int(chosen[row]))
            return None
        count = len(chosen)
        valid = chosen >= 0
        fields = [
            pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(offsets), pa.py_buffer(data)])
            for data, offsets in ((self._value, self._value_offsets), (self._metadata, self._metadata_offsets))
        ]
        if self.images == "json":
            texts = [
                json_text(value.as_py(), metadata.as_py()) if there else None
                for value, metadata, there in zip(*fields, valid.tolist(), strict=True)
            ]
            return pa.array(texts, pa.string())
        mask = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
        return pa.StructArray.from_buffers(VARIANT, count, [mask], children=fields)

    def _write(self, followed: Followed, images: Images, chosen: Array) -> tuple[int, int]:
        """VARIANT of the chosen images into ``_value`` and ``_metadata``. Returns the kernel's code, and the row."""
        book, cells, count = self.book, self.cells, len(chosen)
        while True:
            # Fresh arrays, for they become the batch's; about as large as the last ones were in the end.
            self._value = np.empty(self._value_room, np.uint8)
            self._metadata = np.empty(self._metadata_room, np.uint8)
            self._value_offsets = np.zeros(count + 1, np.int32)
            self._metadata_offsets = np.zeros(count + 1, np.int32)
            code = kernel.variant.write(
                memoryview(followed.window.data),
                memoryview(cells.heap),
                memoryview(cells.slots),
                memoryview(cells.states),
                memoryview(cells.image_cell),
                memoryview(np.ascontiguousarray(images.plan)),
                memoryview(cells.image_keys),
                memoryview(np.ascontiguousarray(chosen, np.int32)),
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
            self._value_room = max(2 * self._value_room, used * count // done)
            self._metadata_room = max(2 * self._metadata_room, noted * count // done)

    # --- the reference decoder's changes

    def _odd(self, followed: Followed, shown: Array) -> list[Odd]:
        changes: list[Odd] = []
        for place, event in followed.asked:
            if place >= followed.events or not shown[place]:
                continue
            changes.extend(self._changes_of(followed, place, event))
        return changes

    def _changes_of(self, followed: Followed, place: int, event: Event) -> Iterator[Odd]:
        selection = self.selector.selection
        header_keeps = bool(self.selector.by_header(followed.window, followed.events)[place])
        if isinstance(event, RowsEvent):
            if event.table is None:
                if event.is_dummy:
                    return
                raise MissingTableMap(
                    f"table id {event.table_id} has no table map before it",
                    file=self.file,
                    position=event.header.position,
                    event=event.name,
                    field="table_id",
                )
            table = event.table
            if not header_keeps or (selection.by_table and not self.selector.matches(table.schema, table.table)):
                return
            yield from self._reference_changes(followed, place, event, -1)
            return
        statement = statement_of(event)
        if statement is not None and header_keeps and self.selector.matches_schema(statement.schema):
            yield _odd_statement(place, statement)

    def _reference_changes(self, followed: Followed, place: int, event: RowsEvent, plan: int) -> Iterator[Odd]:
        table = event.table
        assert table is not None
        if event.undecoded:
            raise DecodeError(
                "rows that cannot be decoded: they were logged by a server whose format the log does not describe",
                file=self.file,
                position=event.header.position,
                event=event.name,
            )
        encoder = self._encoder(event)
        number = int(followed.lanes.event_query[place])
        lanes = followed.lanes
        query = followed.text(int(lanes.query_start[number]), int(lanes.query_size[number])) if number else None
        operation = OPERATIONS.index(event.operation)
        key = key_names(table, table.columns)
        try:
            for row in event.rows:
                before = None if row.before is None else encoder.encode(row.before)
                after = None if row.after is None else encoder.encode(apply_json_diffs(row))
                yield Odd(place, operation, plan, before, after, table.schema, table.table, key, query)
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

    def _odd_batch(self, followed: Followed, changes: list[Odd], skipped: Array | None) -> pa.RecordBatch:
        places = np.array([change.place for change in changes])
        positions = followed.rows[:, Txn.POSITION][followed.lanes.event_txn[places]]
        rows = self._numbers.number(positions, None if skipped is None else skipped[places])
        return OddBlock(self, followed, changes, rows).batch(self.columns)


def _odd_statement(place: int, statement: Statement) -> Odd:
    operation = OPERATIONS.index(statement.operation)
    return Odd(place, operation, -1, None, None, statement.schema or None, None, None, statement.query)


def schema_of(columns: Sequence[str], images: str = "variant") -> pa.Schema:
    fields: list[Any] = [CHANGES.field(name) for name in columns]
    if images == "json":
        fields = [pa.field(each.name, pa.string()) if each.type == VARIANT else each for each in fields]
    return pa.schema(fields)

