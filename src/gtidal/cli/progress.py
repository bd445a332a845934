"""What a long command is doing: one line on the terminal, on stderr; nothing elsewhere."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import SparkContext

_EVERY = 0.5
_CLEARED = "\r\033[K"


class Teller:
    """Says what is being done."""

    def __init__(self, shown: bool) -> None:
        self._shown = shown

    def __call__(self, text: str) -> None:
        if self._shown:
            print(f"{_CLEARED}{text} …" if text else _CLEARED, end="", file=sys.stderr, flush=True)

    @contextmanager
    def following(self, context: SparkContext) -> Iterator[None]:
        """Says how many of Spark's tasks are done, as long as there are any."""
        self("")
        if not self._shown:
            yield
            return
        ended = threading.Event()
        watcher = threading.Thread(target=self._follow, args=(context, ended), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            ended.set()
            watcher.join()
            self("")

    def _follow(self, context: SparkContext, ended: threading.Event) -> None:
        tracker = context.statusTracker()
        while not ended.wait(_EVERY):
            stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
            total = sum(stage.numTasks for stage in stages if stage)
            done = sum(stage.numCompletedTasks for stage in stages if stage)
            if total:
                self(f"reading: {done:,} of {total:,} tasks")


@contextmanager
def telling() -> Iterator[Teller]:
    teller = Teller(sys.stderr.isatty())
    try:
        yield teller
    finally:
        teller("")
