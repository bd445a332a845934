"""Row images as cells: the kernel's table of slots and states, filled for many events at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gtidal.columnar import kernel
from gtidal.columnar.codes import ShapeCode
from gtidal.columnar.flat import own_numbers
from gtidal.columnar.following import Followed
from gtidal.columnar.memory import numbers_room
from gtidal.columnar.plan import PlanBook
from gtidal.columnar.shapes_plan import STEP
from gtidal.columnar.windows import Array, Window
from gtidal.errors import GtidalError
from gtidal.events.frame import HEADER_SIZE, decode_event
from gtidal.events.registry import Context
from gtidal.events.rows import RowsEvent
from gtidal.log.decoder import event_name, inner_format_of

MOST_IMAGES = 1 << 16
MOST_CELLS = 1 << 20
APART = 72
"""Cells between columns, so that those of an image are not all in the same lines of the processor's caches."""
DONE, FULL, NOT_OURS, TOO_LARGE = range(4)


class RowEvents(NamedTuple):
    """Rows events of one window, as flat arrays for the kernel."""

    places: Array
    starts: Array
    ends: Array
    plans: Array
    befores: Array
    afters: Array

    @staticmethod
    def at(followed: Followed, places: Array) -> RowEvents:
        """Those at these places of the window."""
        lanes, count = followed.lanes, len(places)
        places = np.ascontiguousarray(places, np.int32)
        taken = numbers_room(5 * count, np.int32)
        code = kernel.runs.take(
            memoryview(lanes.event_start), memoryview(lanes.event_end), memoryview(lanes.event_plan),
            memoryview(lanes.event_before), memoryview(lanes.event_after), memoryview(places), count,
            memoryview(taken),
        )  # fmt: skip
        assert not code
        return RowEvents(places, *taken.reshape(5, count))

    @property
    def total(self) -> int:
        return len(self.places)

    def between(self, first: int, last: int) -> RowEvents:
        """Some of them."""
        if first == 0 and last == len(self.places):
            return self
        return RowEvents(*(each[first:last] for each in self))

    def images_per_row(self, event: int) -> int:
        return int(self.befores[event] >= 0) + int(self.afters[event] >= 0)


@dataclass(slots=True)
class Images:
    """Some row images: of which events they are, and of which plans."""

    count: int
    events: RowEvents
    numbers: Array
    """Of which of the events each is."""
    plans: memoryview
    """Of each image, and perhaps of some that were cut off."""
    first_row: int
    """How many rows of the first event were given before."""
    refused: int | None = None
    """The place of the event behind these that the kernel cannot read."""
    refused_rows: int = 0
    """How many rows of that event were given before it was refused."""

    def place(self, image: int) -> int:
        """Of its event in the window."""
        return int(self.events.places[self.numbers[image]])


class Cells:
    """Room for the cells of some thousand images, used again and again."""

    def __init__(self, book: PlanBook, file: str) -> None:
        self.book = book
        self.file = file
        self.slots = np.zeros(MOST_CELLS, np.int64)
        self.states = np.zeros(MOST_CELLS, np.uint8)
        self.image_cell = np.zeros(MOST_IMAGES, np.int32)
        self._image_event = np.zeros(MOST_IMAGES, np.int32)
        self._image_plan = memoryview(np.zeros(MOST_IMAGES, np.int32))
        self.image_keys = np.zeros(MOST_IMAGES, np.int64)
        self.heap = np.zeros(1 << 20, np.uint8)
        self.documents_scratch = memoryview(np.zeros(kernel.documents.SCRATCH_SIZE, np.int64))
        self._progress = own_numbers(0, 0, 0, 0)
        self._heap_used = 0

    # --- images

    def fill(self, window: Window, events: RowEvents) -> Iterator[Images]:
        """The images of these events, as many at a time as there is room for. Those given before are overwritten."""
        book, progress = self.book, self._progress
        first, pos = 0, -1
        given = 0  # rows of the first event
        total = events.total
        while first < total:
            slots, steps = self._make_room(events, first)
            progress[0], progress[1], progress[2], progress[3] = first, pos, 0, 0
            code = kernel.cells.fill(
                memoryview(window.data),
                memoryview(events.starts),
                memoryview(events.ends),
                memoryview(events.plans),
                memoryview(events.befores),
                memoryview(events.afters),
                total,
                book.first.view,
                book.width.view,
                slots,
                book.sizes.view,
                steps,
                memoryview(self.slots),
                memoryview(self.states),
                memoryview(self.image_cell),
                memoryview(self._image_event),
                self._image_plan,
                progress,
            )
            stopped, pos, count = progress[0], progress[1], progress[2]
            numbers = self._image_event[:count]
            images = Images(count, events, numbers, self._image_plan, given)
            resumed = given if stopped == first else 0
            if code == NOT_OURS:
                images.refused = int(events.places[stopped])
                images.refused_rows = resumed
                first, pos, given = stopped + 1, -1, 0
            else:
                first, given = stopped, 0
                if stopped < total:
                    in_this = int(np.count_nonzero(numbers == stopped))
                    given = resumed + in_this // max(events.images_per_row(stopped), 1)
            self._heap_used = 0
            yield images

    def _make_room(self, events: RowEvents, first: int) -> tuple[memoryview, memoryview]:
        """A row of the widest table must fit. Gives how many slots images take, and the steps of columns."""
        self._hold(2 * self._widest(events, first))
        return self.book.slots.view, self.book.steps.view

    def _widest(self, events: RowEvents, first: int) -> int:
        """How many slots an image of these events takes at most."""
        return self.book.most_slots

    def _hold(self, cells: int) -> None:
        if cells > len(self.slots):
            self.slots = np.zeros(cells, np.int64)
            self.states = np.zeros(cells, np.uint8)

    # --- texts and documents

    def settle(self, window: Window, images: Images, actions: memoryview, arguments: memoryview) -> None:
        """Charsets, zero dates, what is only text. Images that the kernel cannot settle are cut off."""
        book = self.book
        plans = images.plans
        progress = self._progress
        progress[0], progress[1] = 0, self._heap_used
        while code := kernel.texts.settle(
            memoryview(window.data), memoryview(self.heap), memoryview(self.slots), memoryview(self.states),
            memoryview(self.image_cell), plans, images.count, book.first.view, book.width.view, self.slot_view(),
            actions, arguments, book.charset_tables.view, progress,
        ):  # fmt: skip
            if code == FULL:
                self._grow_heap()
            else:
                self.cut(images, progress[0])
                progress[0] = images.count
        self._heap_used = progress[1]

    def slot_view(self) -> memoryview:
        """Where columns have their cells, counted from an image's first."""
        return self.book.slot.view

    def settle_documents(self, window: Window, images: Images) -> None:
        """JSON and geometries, as VARIANT."""
        book = self.book
        if not book.has_documents:
            return
        plans = images.plans
        progress = self._progress
        progress[0], progress[1] = 0, self._heap_used
        while code := kernel.documents.settle(
            memoryview(window.data), memoryview(self.heap), memoryview(self.slots), memoryview(self.states),
            memoryview(self.image_cell), plans, images.count, book.first.view, book.width.view, book.slot.view,
            book.kind.view, book.title_bytes.view, book.title_offsets.view, memoryview(self.image_keys),
            self.documents_scratch, progress,
        ):  # fmt: skip
            if code == FULL:
                self._grow_heap()
            else:
                self.cut(images, progress[0])
                progress[0] = images.count
        self._heap_used = progress[1]

    def _grow_heap(self) -> None:
        self.heap = np.concatenate((self.heap, np.zeros_like(self.heap)))

    def cut(self, images: Images, image: int) -> None:
        """This image's event is not the kernel's: leave its images out, and what follows them for later."""
        number = images.numbers[image]
        first = int(np.searchsorted(images.numbers, number))
        images.refused = images.place(image)
        images.refused_rows = images.first_row if first == 0 else 0
        images.count = first
        images.numbers = images.numbers[:first]


class ColumnCells(Cells):
    """Room where the cells of a column lie side by side: for images that become typed columns."""

    def __init__(self, book: PlanBook, file: str) -> None:
        super().__init__(book, file)
        self.stride = 0
        """From a column's first cell to the next column's."""
        self._plans = 0
        self._steps = self._slots = self._ones = memoryview(b"")

    def _widest(self, events: RowEvents, first: int) -> int:
        """All of them have the same columns."""
        return max(int(self.book.slots.array[events.plans[first]]), 1)

    def _make_room(self, events: RowEvents, first: int) -> tuple[memoryview, memoryview]:
        widest = self._widest(events, first)
        images = max(min(MOST_IMAGES // 2, MOST_CELLS // widest), 2)
        stride = images + APART
        self._hold(widest * stride)
        if (stride, len(self.book.plans)) != (self.stride, self._plans):
            self.stride, self._plans = stride, len(self.book.plans)
            steps = self.book.steps.array.reshape(-1, STEP).copy()
            steps[:, 2] *= stride
            steps[steps[:, 0] == ShapeCode.WIDE_DECIMAL, 5] = stride
            self._steps = memoryview(steps.reshape(-1))
            self._slots = memoryview(self.book.slot.array * np.int32(stride))
            self._ones = memoryview(np.ones(self._plans, np.int32))
            self.image_cell = np.zeros(images, np.int32)
        return self._ones, self._steps

    def slot_view(self) -> memoryview:
        return self._slots


def count_rows(followed: Followed, places: Array, book: PlanBook, file: str) -> Array:
    """How many rows each of these events has."""
    events = RowEvents.at(followed, places)
    rows = np.zeros(events.total, np.int32)
    progress = own_numbers(0, 0, 0, 0)
    while kernel.cells.count(
        memoryview(followed.window.data),
        memoryview(events.starts),
        memoryview(events.ends),
        memoryview(events.plans),
        memoryview(events.befores),
        memoryview(events.afters),
        events.total,
        book.first.view,
        book.width.view,
        book.shape.view,
        book.size.view,
        memoryview(rows),
        progress,
    ):
        event = progress[0]
        decoded = reference_rows(followed.window, int(places[event]), book, int(events.plans[event]), file)
        rows[event] = len(decoded.rows)
        progress[0] = event + 1
    return rows


def reference_rows(window: Window, place: int, book: PlanBook, plan: int, file: str) -> RowsEvent:
    """A rows event as the reference decoder sees it: it raises the error that the kernel only noticed."""
    frame = window.frame(place)
    inside = int(window.index.payloads[place]) >= 0
    format = inner_format_of(window.format) if inside else window.format
    table_id = int.from_bytes(frame.data[HEADER_SIZE : HEADER_SIZE + 6], "little")
    try:
        event = decode_event(frame.data, frame.position, Context(format, {table_id: book.plans[plan].table}))
    except GtidalError as error:
        raise error.at(file=file, position=frame.position, event=event_name(frame.type_code)) from None
    assert isinstance(event, RowsEvent)
    return event
