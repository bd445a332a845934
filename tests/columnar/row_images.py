"""Row images through the kernel: cells, texts, documents, VARIANT. For tests; small buffers are grown on the way."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from gtidal.columnar import kernel
from gtidal.columnar.plan import PlanBook
from gtidal.columns.types import Column, resolve
from gtidal.events.images import ABSENT, Image, Row, RowsCodec
from gtidal.events.rows import WriteRows
from gtidal.wire.layout import Writer

DONE, FULL, NOT_OURS, TOO_LARGE = 0, 1, 2, 3


class TooLarge(Exception):
    """An image above the limit of VARIANT."""


Table = tuple[Column, ...]
Kernel = dict[str, ModuleType]
_NAMES = ("texts", "documents", "variant")
INTERPRETED: Kernel = {name: kernel.load_interpreted(name) for name in _NAMES}
COMPILED: Kernel = {name: getattr(kernel, name) for name in _NAMES}
KERNELS = [INTERPRETED, COMPILED] if all(map(kernel.is_compiled, COMPILED.values())) else [INTERPRETED]


def column(code: int, metadata: int = 0, name: str | None = None, **known: Any) -> Column:
    return Column(0, code, resolve(code, metadata), metadata, name=name, **known)


def table(*columns: Column) -> Table:
    """Columns get their places, and names if they have none."""
    fields = ("type_code", "real_type", "metadata", "unsigned", "charset", "labels")
    return tuple(
        Column(index, name=one.name or f"c{index}", **{field: getattr(one, field) for field in fields})
        for index, one in enumerate(columns)
    )


def views(*arguments: Any) -> list[Any]:
    """Interpreted code must not see numpy's numbers."""
    return [memoryview(one) if isinstance(one, np.ndarray) else one for one in arguments]


def numbers(values: Sequence[int]) -> np.ndarray:
    return np.array(values, np.int32)


class Images:
    """Images of any tables, and the arrays that the kernel has of them."""

    def __init__(self, made: Sequence[tuple[Table, Image]]) -> None:
        self.made = made
        self.book = PlanBook(settle=lambda one: one.columns)
        plans: dict[int, int] = {}
        data = bytearray(b"\x5a")
        starts, ends, of_plans, bitmaps = [], [], [], []
        for columns, image in made:
            if id(columns) not in plans:
                one: Any = SimpleNamespace(
                    schema="s", table="t", flags=0, columns=columns, mariadb=False, table_id=len(plans)
                )
                plans[id(columns)] = self.book.learn(one, b"%d" % len(plans)).number
            bits = sum(1 << place for place, value in enumerate(image) if value is not ABSENT)
            bitmap = bits.to_bytes((len(columns) + 7) // 8, "little")
            codec = RowsCodec(WriteRows, SimpleNamespace(columns=columns, mariadb=False), b"", bitmap)  # type: ignore[arg-type]
            bitmaps.append(len(data))
            data += bitmap
            starts.append(len(data))
            data += codec.write(Writer(None), (Row(None, image),))
            ends.append(len(data))
            of_plans.append(plans[id(columns)])
        self.data = np.frombuffer(bytes(data), np.uint8)
        self.image_plan = numbers(of_plans)
        self._fill(starts, ends, bitmaps)

    def _fill(self, starts: list[int], ends: list[int], bitmaps: list[int]) -> None:
        book, count = self.book, len(self.made)
        room = sum(book.slots.array[plan] for plan in self.image_plan) + 1
        self.slots, self.states = np.zeros(room, np.int64), np.zeros(room, np.uint8)
        self.image_cell = numbers([0] * (count + 1))
        progress = np.array([0, -1, 0, 0])
        code = kernel.cells.fill(
            *views(
                self.data, numbers(starts), numbers(ends), self.image_plan, numbers([-1] * count),
                numbers(bitmaps), count, book.first.view, book.width.view, book.slots.view, book.sizes.view,
                book.steps.view, self.slots,
                self.states, self.image_cell, numbers([0] * (count + 1)), plans := numbers([-7] * (count + 1)), progress,
            )
        )  # fmt: skip
        assert (code, progress[2]) == (DONE, count)
        assert (plans[:count] == self.image_plan).all()

    def settled(self, one: Kernel, heap_size: int = 1 << 16) -> Settled:
        return Settled(self, one, heap_size)


class Settled:
    """Cells after ``texts`` and ``documents``."""

    def __init__(self, images: Images, one: Kernel, heap_size: int) -> None:
        self.images, self.kernel = images, one
        self.slots, self.states = images.slots.copy(), images.states.copy()
        self.heap = np.zeros(heap_size, np.uint8)
        self.used = 0
        self.not_ours: set[int] = set()
        book = images.book
        self._settle("texts", book.text_action.view, book.text_argument.view, book.charset_tables.view)
        self.keys = np.zeros(len(images.made), np.int64)
        self._settle(
            "documents",
            book.kind.view,
            book.title_bytes.view,
            book.title_offsets.view,
            self.keys,
            scratch(one),
        )

    def _settle(self, module: str, *special: Any) -> None:
        images, book, count = self.images, self.images.book, len(self.images.made)
        progress = np.array([0, self.used])
        while True:
            before = int(progress[0]), self.slots.copy(), self.states.copy()
            code = self.kernel[module].settle(
                *views(
                    images.data, self.heap, self.slots, self.states, images.image_cell, images.image_plan, count,
                    book.first.view, book.width.view, book.slot.view, *special, progress,
                )
            )  # fmt: skip
            image = int(progress[0])
            assert progress[1] <= len(self.heap)
            if code == DONE:
                assert image == count
                break
            assert before[0] <= image < count
            if code == FULL:  # nothing of this image and those behind it is touched
                begin = images.image_cell[image]
                assert (self.slots[begin:] == before[1][begin:]).all()
                assert (self.states[begin:] == before[2][begin:]).all()
                self.heap = np.concatenate([self.heap, np.zeros(len(self.heap) + 50, np.uint8)])
            else:
                self.not_ours.add(image)
                progress[0] += 1
        self.used = int(progress[1])

    def cell(self, image: int, place: int = 0) -> tuple[int, Any]:
        """State and content; the bytes of a span, where it is one."""
        images, book = self.images, self.images.book
        flat = book.first.array[images.image_plan[image]] + place
        at = images.image_cell[image] + book.slot.array[flat]
        state, slot = int(self.states[at]), int(self.slots[at])
        start, size = slot & 0xFFFFFFFF, slot >> 32
        if state in (4, 6, 7):
            return state, self.heap[start : start + size].tobytes()
        if state == 5 or (state == 0 and book.shape.array[flat] in (4, 7)):
            return state, images.data[start : start + size].tobytes()
        return state, slot

    def written(self, value_size: int = 1 << 16, metadata_size: int = 1 << 16) -> list[Variant | None]:
        """Value and metadata of each image; None where it is not ours."""
        images, book, count = self.images, self.images.book, len(self.images.made)
        found: list[Variant | None] = []
        chosen = numbers([-1 if place in self.not_ours else place for place in range(count)])
        while len(found) < count:
            first = len(found)
            value, metadata = np.zeros(value_size, np.uint8), np.zeros(metadata_size, np.uint8)
            ends, metadata_ends = numbers([0] * (count + 1)), numbers([0] * (count + 1))
            progress = np.zeros(3, np.int64)
            code = self.kernel["variant"].write(
                *views(
                    images.data, self.heap, self.slots, self.states, images.image_cell, images.image_plan,
                    self.keys, chosen, first, count - first, book.first.view, book.width.view, book.slot.view,
                    book.kind.view, book.kind_header.view, book.kind_size.view, book.kind_argument.view,
                    book.order.view, book.title_bytes.view, book.title_offsets.view, book.label_bytes.view,
                    book.label_first.view, book.label_offsets.view, np.zeros(256 + 8 * 5000, np.int64), value, ends,
                    metadata, metadata_ends, progress,
                )
            )  # fmt: skip
            for row in range(first, int(progress[0])):
                parts = (
                    value[ends[row] : ends[row + 1]].tobytes(),
                    metadata[metadata_ends[row] : metadata_ends[row + 1]].tobytes(),
                )
                found.append(None if chosen[row] < 0 else parts)
                assert chosen[row] >= 0 or parts == (b"", b"")
            assert (progress[1], progress[2]) == (ends[progress[0]], metadata_ends[progress[0]])
            if code == FULL:
                if progress[0] == first:
                    value_size, metadata_size = 2 * value_size + 64, 2 * metadata_size + 64
            elif code == NOT_OURS:
                found.append(None)
            elif code == TOO_LARGE:
                raise TooLarge(int(progress[0]))
            else:
                assert code == DONE
        return found


Variant = tuple[bytes, bytes]

_scratches: dict[int, np.ndarray] = {}


def scratch(one: Kernel) -> np.ndarray:
    """One for each kernel, kept, as readers do: what earlier calls leave in it must do no harm."""
    return _scratches.setdefault(id(one), np.zeros(kernel.documents.SCRATCH_HEAD + 3 * 8192, np.int64))


def reread(columns: Table, image: Image) -> Image:
    """The image as the reference decoder reads it: decimals with all their digits, for one."""
    return tuple(
        value if value is None or value is ABSENT else one.read(packed := one.write(value), 0, len(packed))[0]
        for one, value in zip(columns, image, strict=True)
    )


def variants(one: Kernel, made: Sequence[tuple[Table, Image]], heap: int = 1 << 16) -> list[Variant | None]:
    return Images(made).settled(one, heap).written()
