"""The rows of single events, printed by the kernel: for printers that go event by event."""

from __future__ import annotations

from typing import Any

from gtidal.columnar import kernel
from gtidal.errors import GtidalError
from gtidal.events.rows import RowsEvent
from gtidal.events.table_map import TableMap
from gtidal.text.lexicon import Lexicon, Word
from gtidal.text.row_plans import RowPlans
from gtidal.text.rows import RowPrinter
from gtidal.text.stretch import Buffers, Spare

_FULL, _NOT_OURS = -1, -2
_MOST_PLANS = 1000
_HEADS = {"insert": 6, "update": 7, "delete": 8}
"""Where a plan has the text that each row begins with."""


class KernelRows:
    """Prints rows as ``RowPrinter.rows`` does, from their bytes."""

    def __init__(self, rows: RowPrinter) -> None:
        self._rows = rows
        self._buffers = Buffers(Spare())
        self._forget()

    def _forget(self) -> None:
        self._lexicon = Lexicon()
        self._plans = RowPlans(self._lexicon, self._rows)
        self._known: dict[Any, tuple[Any, int]] = {}
        self._images: dict[tuple[int, bytes], int] = {}

    def text(self, event: RowsEvent, table: TableMap) -> tuple[str, int] | None:
        """The text of an event that was decoded without its rows, and how many there are. None: the event is out
        of the ordinary, and the reference's to print."""
        if not event.undecoded or event.extra_info or event.partial or not event.version:
            return None
        try:
            plan = self._plan(table)
            before = self._image(plan, event.before_columns) if event.has_before else -1
            after = self._image(plan, event.after_columns) if event.has_after else -1
        except GtidalError:
            return None
        images = self._plans.images.array
        if any(image >= 0 and not images[8 * image + 3] for image in (before, after)):
            return None
        return self._print(event, plan, before, after)

    def _print(self, event: RowsEvent, plan: int, before: int, after: int) -> tuple[str, int] | None:
        buffers, plans, words = self._buffers, self._plans, self._lexicon.words.array
        head = 2 * int(plans.plans.array[12 * plan + _HEADS[event.operation]])
        between = 2 * Word.SET_ROWS
        data = memoryview(event.undecoded)
        position = count = 0
        pieces: list[bytes] = []
        while True:
            out, work = memoryview(buffers.out), buffers.work
            code = kernel.rowtext.write_rows(
                data, position, len(data), before, after, int(words[head]), int(words[head + 1]), int(words[between]),
                int(words[between + 1]), plans.images.view, plans.steps.view, self._lexicon.texts.view,
                memoryview(buffers.scratch), out, work,
            )  # fmt: skip
            if code == _NOT_OURS:
                return None
            pieces.append(bytes(out[: work[3]]))
            if code == _FULL and work[2] == position:
                buffers.grow()
            position = work[2]
            count += work[4]
            if code != _FULL:
                return b"".join(pieces).decode("utf-8", "surrogateescape"), count

    def _plan(self, table: TableMap) -> int:
        """Table maps that say the same share their columns (``LogDecoder``)."""
        key = id(table.columns), table.schema, table.table
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _MOST_PLANS:
                self._forget()
            number = len(self._plans.tables)
            self._plans.learn(table, number.to_bytes(4, "little"))
            known = self._known[key] = (table.columns, number)  # kept, so that their id stays theirs
        return known[1]

    def _image(self, plan: int, bitmap: bytes) -> int:
        image = self._images.get((plan, bitmap))
        if image is None:
            image = self._images[plan, bitmap] = self._plans.learn_image(plan, bitmap)
        return image
