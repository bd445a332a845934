"""The kernel driven through all of its stages over a log, with buffers that end exactly where they must.

The package's own readers use roomy buffers, in which reading too far goes unnoticed. Here every array is as long as
what it holds, and outputs are now and then too small, so that a sanitizer sees each step outside.
"""

from __future__ import annotations

import io
import random
from collections import Counter
from typing import Any

import numpy as np

from gtidal.columnar import kernel
from gtidal.columnar.cells import reference_rows
from gtidal.columnar.following import ROWS_TYPES, Followed, Follower
from gtidal.columnar.plan import PlanBook
from gtidal.columnar.variant import decode_typed, encode_image
from gtidal.columnar.windows import Window, WindowReader
from gtidal.errors import GtidalError

Array = np.ndarray[Any, Any]
DONE, FULL, NOT_OURS = 0, 1, 2
MAGIC_SIZE = 4
NO_NUMBERS = memoryview(np.zeros(0, np.int64))
NO_BYTES = memoryview(np.zeros(0, np.uint8))
MOST_TURNS = 10_000
MOST_PACKED = 2000


LOGS_OF_A_BOOK = 64


Variant = tuple[bytes, bytes]


class Drive:
    """Drives logs; ``codes`` counts what the stages answered. With ``judge`` what they made of rows is compared with
    what the reference decoder makes of them."""

    def __init__(self, seed: int | str = 0, *, judge: bool = False) -> None:
        self.random = random.Random(seed)
        self.judge = judge
        self.judged = 0
        self.codes: Counter[str] = Counter()
        self.logs = 0
        self._book = PlanBook()

    def drive(self, data: bytes) -> None:
        """All stages. Whatever the bytes, nothing but codes and GtidalErrors may come of it."""
        self._walk(data)
        self._packets(data[MAGIC_SIZE : MAGIC_SIZE + MOST_PACKED])
        # Windows that end in the middle of things; never too small, since each costs time.
        window = self.random.choice((len(data) + 64, max(128, len(data) // 3)))
        reader = WindowReader(io.BytesIO(data), "damaged", verify_checksum=False, window=window)
        if (
            self.logs % LOGS_OF_A_BOOK == 0
        ):  # plans are kept for a while: making them costs more than all else
            self._book = PlanBook()
        self.logs += 1
        book = self._book
        follower = Follower(reader.decoder, book)
        try:
            while (found := reader.next()) is not None:
                size = int((found.index.offsets + found.index.sizes)[: found.count].max(initial=0))
                found.data = found.data[:size].copy()
                self._rows(found, follower.follow(found), book)
        except GtidalError as error:
            self.codes[type(error).__name__] += 1

    def _count(self, stage: str, code: int) -> int:
        assert 0 <= code < 6, f"{stage}: {code}"
        self.codes[f"{stage} {code}"] += 1
        return code

    # --- (1) headers

    def _packets(self, data: bytes) -> None:
        """The events as a server sends them, in packets as long as the damaged events say."""
        sent = bytearray()
        place, number = 0, 1
        before = b"\0" if self.random.random() < 0.7 else b"\0\xef\1"
        while place < len(data):
            size = max(int.from_bytes(data[place + 9 : place + 12], "little"), 1)
            payload = before + data[place : place + size]
            sent += len(payload).to_bytes(3, "little") + bytes((number,)) + payload
            number = (number + 1) & 255
            place += size
        target = np.zeros(self.random.choice((1, 40, len(data) + 1)), np.uint8)
        state = np.zeros(9, np.int64)
        state[4], state[5] = 1, MAGIC_SIZE
        have = 0
        for _ in range(MOST_TURNS):
            received = np.frombuffer(bytes(sent[:have]), np.uint8)
            state[1] = 0
            code = kernel.packets.unpack(
                memoryview(received), have, memoryview(target), int(len(before) > 1), memoryview(state)
            )
            self.codes[f"packets {code}"] += 1
            if code == 0:
                if have == len(sent):
                    break
                have = min(have + self.random.randrange(1, len(sent) + 1), len(sent))
            elif code not in (1, 6):  # pass over what is not the next event
                at = int(state[0])
                size = int.from_bytes(sent[at : at + 3], "little")
                state[:] = (
                    at + 4 + size,
                    0,
                    0,
                    0,
                    (state[4] + 1) & 255,
                    state[5] + size - len(before),
                    0,
                    0,
                    0,
                )
                have = max(have, min(at + 4 + size, len(sent)))
                if state[0] > len(sent):
                    break

    def _walk(self, data: bytes) -> None:
        exact = np.frombuffer(data[MAGIC_SIZE:], np.uint8).copy()
        for checksums in (0, 1, 2):
            capacity = self.random.choice((0, 1, 5, 1000))
            thin = [np.zeros(capacity, np.int32) for _ in range(4)]
            wide = [np.zeros(capacity, np.int64) for _ in range(5)]
            types = np.zeros(capacity, np.uint8)
            progress = np.zeros(5, np.int64)
            marked = np.zeros(256, np.uint8)
            code = kernel.walk.walk(
                *views(exact), 0, len(exact), self.random.choice((19, 19, 19, 13, 40)), checksums, *views(
                    marked, thin[0], thin[1], thin[2], types, wide[0], wide[1], thin[3], *wide[2:]
                ), MAGIC_SIZE, *self._gtids(), *views(progress)
            )  # fmt: skip
            self._count(f"walk{checksums}", code)
            # with code JUMP the place is behind a transaction, perhaps behind these bytes
            assert progress[0] >= 0
            assert 0 <= progress[1] <= capacity

    def _gtids(self) -> list[Any]:
        """Now and then a filter, by the server of the small logs."""
        if self.random.random() < 0.7:
            return [NO_BYTES, NO_NUMBERS, NO_NUMBERS, NO_NUMBERS, 0]
        uuid = np.frombuffer(bytes.fromhex("b8ae2fd2300511f08be80242ac150002"), np.uint8).copy()
        firsts, starts, ends = (np.array(values, np.int64) for values in ([0, 2], [1, 8], [3, 9]))
        return [*views(uuid, firsts, starts, ends), self.random.randrange(2)]

    # --- (3) rows

    def _rows(self, window: Window, followed: Followed, book: PlanBook) -> None:
        lanes = followed.lanes
        events = followed.events
        asked = {place for place, _ in followed.asked}
        types = window.index.types[:events].tolist()
        found = [
            place
            for place, code in enumerate(types)
            if code in ROWS_TYPES and place not in asked and lanes.event_plan[place] >= 0
        ]
        if not found:
            return
        chosen = [
            getattr(lanes, f"event_{name}")[found].copy()
            for name in ("start", "end", "plan", "before", "after")
        ]
        self._count_rows(window.data, chosen, book)
        fill = Fill(window.data, chosen, book)
        made: dict[int, list[Variant | None]] = {number: [] for number in range(len(found))}
        refused: set[int] = set()
        self._fill(window.data, fill, book, made, refused)
        if self.judge:
            for number, place in enumerate(found):
                self._compare(window, place, book, int(chosen[2][number]), made[number], number in refused)

    def _fill(
        self,
        data: Array,
        fill: Fill,
        book: PlanBook,
        made: dict[int, list[Variant | None]],
        refused: set[int],
    ) -> None:
        """Make all images of all events: what could not be made is None, or its event is refused."""
        for _ in range(MOST_TURNS):
            room = self.random.choice((1, 3, 1000))
            code = self._count("fill", fill.next(images=2 * room, cells=room * 40))
            if fill.images:
                written = self._settle(data, fill, book)
                for image, event in enumerate(fill.image_event[: fill.images].tolist()):
                    made[event].append(written.get(image))
            if code == DONE:
                return
            if code == NOT_OURS or not fill.images:
                # an event that the kernel cannot read, or whose rows are too wide for this room
                refused.add(fill.event)
                fill.skip()
                if fill.event >= len(made):
                    return
        raise AssertionError("fill does not come to an end")

    def _compare(
        self, window: Window, place: int, book: PlanBook, plan: int, made: list[Variant | None], refused: bool
    ) -> None:
        columns = book.plans[plan].columns
        try:
            event = reference_rows(window, place, book, plan, "damaged")
        except GtidalError:
            assert refused, "the kernel reads rows that the reference decoder refuses"
            return
        images = [image for row in event.rows for image in (row.before, row.after) if image is not None]
        assert len(made) <= len(images) if refused else len(made) == len(images)
        for variant, image in zip(made, images, strict=False):
            if variant is None:
                continue
            try:
                expected = encode_image(columns, image)
            except GtidalError as error:
                raise AssertionError("the kernel writes an image that cannot be written") from error
            if variant != expected:  # sizes of offsets may differ, and the order of values
                assert said(variant) == said(expected)
            self.judged += 1

    def _count_rows(self, data: Array, chosen: list[Array], book: PlanBook) -> None:
        events = len(chosen[0])
        rows = np.zeros(events, np.int32)
        progress = np.zeros(1, np.int64)
        while progress[0] < events:
            before = int(progress[0])
            code = kernel.cells.count(
                *views(data, *chosen),
                events,
                *book_views(book, "first", "width", "shape", "size"),
                *views(rows, progress),
            )
            if self._count("count", code) == DONE:
                return
            assert before <= progress[0] < events
            progress[0] += 1

    def _settle(self, data: Array, fill: Fill, book: PlanBook) -> dict[int, Variant]:
        images = fill.images
        plans = fill.image_plan[:images].copy()
        assert (plans == fill.chosen[2][fill.image_event[:images]]).all()
        cells = fill.image_cell[:images].copy()
        places = [*views(cells, plans)]
        kept = list(range(images))
        heap = np.zeros(self.random.choice((0, 64, 1 << 14)), np.uint8)
        keys = np.zeros(images, np.int64)
        progress = np.zeros(2, np.int64)
        slots, states = fill.slots, fill.states
        text = book_views(book, "first", "width", "slot", "text_action", "text_argument")
        documents = book_views(book, "first", "width", "slot", "kind", "title_bytes", "title_offsets")
        tables = book.charset_tables.array.copy()
        document_scratch = np.zeros(
            kernel.documents.SCRATCH_HEAD + 3 * self.random.choice((64, 1024)), np.int64
        )
        for stage in ("texts", "documents"):
            progress[0] = 0
            for _ in range(MOST_TURNS):
                arguments = [*views(data, heap, slots, states), *places, images]
                if stage == "texts":
                    code = kernel.texts.settle(*arguments, *text, *views(tables, progress))
                else:
                    code = kernel.documents.settle(
                        *arguments, *documents, *views(keys, document_scratch, progress)
                    )
                assert 0 <= progress[1] <= len(heap)
                if self._count(stage, code) == DONE:
                    break
                if code == FULL and len(heap) < 1 << 20:
                    heap = np.concatenate((heap, np.zeros(len(heap) + 100, np.uint8)))
                    continue
                if int(progress[0]) in kept:
                    kept.remove(int(progress[0]))
                progress[0] += 1
            else:
                raise AssertionError(f"{stage} does not come to an end")
        return self._write(data, heap, fill, plans, cells, keys, kept, book)

    def _write(
        self,
        data: Array,
        heap: Array,
        fill: Fill,
        plans: Array,
        cells: Array,
        keys: Array,
        kept: list[int],
        book: PlanBook,
    ) -> dict[int, Variant]:
        written: dict[int, Variant] = {}
        wanted = np.array([-1, *kept], np.int32)
        rows = len(wanted)
        first = 0
        room = self.random.choice((0, 30, 1 << 14))
        scratch = np.zeros(kernel.variant.SCRATCH_SIZE, np.int64)
        plan = book_views(
            book, "first", "width", "slot", "kind", "kind_header", "kind_size", "kind_argument", "order", "title_bytes",
            "title_offsets", "label_bytes", "label_first", "label_offsets",
        )  # fmt: skip
        while first < rows:
            value, metadata = np.zeros(room, np.uint8), np.zeros(room, np.uint8)
            value_offsets, metadata_offsets = np.zeros(rows + 1, np.int32), np.zeros(rows + 1, np.int32)
            progress = np.zeros(3, np.int64)
            code = kernel.variant.write(
                *views(data, heap, fill.slots, fill.states, cells, plans, keys, wanted),
                first,
                rows - first,
                *plan,
                *views(scratch, value, value_offsets, metadata, metadata_offsets, progress),
            )
            self._count("variant", code)
            assert first <= progress[0] <= rows
            assert 0 <= progress[1] <= room
            assert 0 <= progress[2] <= room
            for row in range(max(first, 1), int(progress[0])):
                written[int(wanted[row])] = (
                    value[value_offsets[row] : value_offsets[row + 1]].tobytes(),
                    metadata[metadata_offsets[row] : metadata_offsets[row + 1]].tobytes(),
                )
            if code == DONE:
                break
            if code == FULL and progress[0] == first:
                room = 2 * room + 100
                assert room < 1 << 30
            first = int(progress[0]) + (code >= NOT_OURS)
        return written


def said(variant: Variant) -> str:
    try:
        return repr(decode_typed(*variant))
    except GtidalError as error:
        raise AssertionError("the kernel writes what is no VARIANT") from error


class Fill:
    """``cells.fill`` over some rows events, call by call."""

    def __init__(self, data: Array, chosen: list[Array], book: PlanBook) -> None:
        self.data = data
        self.chosen = chosen
        self.plan = book_views(book, "first", "width", "slots", "sizes", "steps")
        self.event, self.position = 0, -1

    def next(self, images: int, cells: int) -> int:
        self.slots, self.states = np.zeros(cells, np.int64), np.zeros(cells, np.uint8)
        self.image_cell, self.image_event, self.image_plan = (np.zeros(images, np.int32) for _ in range(3))
        progress = np.array([self.event, self.position, 0, 0], np.int64)
        code: int = kernel.cells.fill(
            *views(self.data, *self.chosen),
            len(self.chosen[0]),
            *self.plan,
            *views(self.slots, self.states, self.image_cell, self.image_event, self.image_plan, progress),
        )
        self.event, self.position, self.images, used = map(int, progress)
        assert 0 <= self.images <= images
        assert 0 <= used <= cells
        return code

    def skip(self) -> None:
        self.event, self.position = self.event + 1, -1


def views(*arrays: Array) -> list[memoryview]:
    return [memoryview(array) for array in arrays]  # type: ignore[arg-type]


def book_views(book: PlanBook, *names: str) -> list[memoryview]:
    """A book's arrays without the room behind them."""
    return [memoryview(getattr(book, name).array.copy()) for name in names]
