"""A log read in parts, and in one piece."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

import gtidal
from gtidal.errors import GtidalError
from gtidal.planning import plan_read, read_part

VIEWS = ("events", "transactions", "changes")
MOST_PARTS = 24
Outcome = tuple[list[dict[str, Any]], str | None]


def sizes(path: Path, count: int) -> list[int]:
    """Some sizes of parts, always the same for a log; the smallest gives a few dozen parts."""
    chosen = random.Random(path.name)
    size = path.stat().st_size
    smallest = max(size // MOST_PARTS, 150)
    return [smallest, *(chosen.randint(smallest, max(size, smallest)) for _ in range(count - 1))]


def drained(batches: Iterable[pa.RecordBatch]) -> Outcome:
    """All rows, and the error behind them."""
    rows: list[dict[str, Any]] = []
    try:
        for batch in batches:
            rows += batch.to_pylist()
    except GtidalError as error:
        return rows, f"{type(error).__name__} at {error.position}: {error.message}"
    return rows, None


def in_sequence(view: str, path: Path | list[Path], **options: Any) -> Outcome:
    return drained(getattr(gtidal, view)(path, threads=1, **options))


def in_parts(
    view: str, path: Path | list[Path], part_bytes: int, splitting: str = "search", **options: Any
) -> Outcome:
    """Up to the first part that raises: behind damage, the other parts still give their rows."""

    def batches() -> Iterator[pa.RecordBatch]:
        plan = plan_read(path, options, part_bytes=part_bytes, splitting=splitting, view=view)
        for part in plan.parts:
            yield from read_part(view, part, options)

    return drained(batches())
