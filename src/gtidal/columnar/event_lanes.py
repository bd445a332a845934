"""What the kernel tells of a window's events and transactions: flat arrays, which it fills window by window."""

from __future__ import annotations

import numpy as np

from gtidal.columnar.codes import TXN_FIELDS


class Lanes:
    """The kernel's outputs for one window. Arrays grow when they are full."""

    def __init__(self, events: int) -> None:
        self.event_txn = np.zeros(events, np.int32)
        self.event_plan = np.full(events, -1, np.int32)
        self.event_start = np.zeros(events, np.int32)
        self.event_end = np.zeros(events, np.int32)
        self.event_before = np.zeros(events, np.int32)
        self.event_after = np.zeros(events, np.int32)
        self.event_query = np.zeros(events, np.int32)
        self.txn = np.zeros((TXN_FIELDS, _uneven(max(64, min(events // 3, 1 << 17)))), np.int64)
        """A row for each field, a column for each transaction."""
        self.tables = np.zeros(max(256, min(events, 1 << 18)), np.int32)
        self.heap = np.zeros(max(1 << 14, min(48 * events, 1 << 23)), np.uint8)
        self.query_start = np.zeros(1024, np.int32)
        self.query_size = np.zeros(1024, np.int32)
        self._views: tuple[memoryview, ...] = ()

    NAMES = ("event_txn", "event_plan", "event_start", "event_end", "event_before", "event_after", "event_query", "txn",
             "tables", "heap", "query_start", "query_size")  # fmt: skip

    def views(self) -> tuple[memoryview, ...]:
        """All of them, for the kernel."""
        if not self._views:
            self._views = tuple(memoryview(getattr(self, name).reshape(-1)) for name in self.NAMES)
        return self._views

    def grow(self, transactions: int, tables: int, heap: int, texts: int) -> None:
        """Twice the room where more than half of it is used; everywhere, if that is so nowhere."""
        used = {
            "txn": transactions,
            "tables": tables,
            "heap": heap,
            "query_start": texts,
            "query_size": texts,
        }
        self._views = ()
        short = [name for name, count in used.items() if 2 * count > getattr(self, name).shape[-1]]
        for name in short or used:
            array = getattr(self, name)
            more = np.zeros((*array.shape[:-1], array.shape[-1] + (8 if name == "txn" else 0)), array.dtype)
            setattr(self, name, np.concatenate((array, more), axis=-1))


def _uneven(width: int) -> int:
    """At least as wide, and an odd number of lines of the processor's cache: then what is written to all rows of a column
    does not go to the same few places of it."""
    return width // 16 * 16 + 24
