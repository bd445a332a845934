"""The index of a window: what the headers of its events say, and where their bytes are."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gtidal.columnar.codes import NONE

Array = np.ndarray[Any, Any]


class Index:
    """The events of a window: flat arrays, of which ``count`` places are used."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.count = 0
        self.offsets = np.zeros(capacity, np.int32)
        self.sizes = np.zeros(capacity, np.int32)
        self.stops = np.zeros(capacity, np.int32)
        self.types = np.zeros(capacity, np.uint8)
        self.timestamps = np.zeros(capacity, np.int64)
        self.server_ids = np.zeros(capacity, np.int64)
        self.flags = np.zeros(capacity, np.int32)
        self.positions = np.zeros(capacity, np.int64)
        self.ends = np.zeros(capacity, np.int64)
        """The positions behind events; inside a payload, that behind the payload."""
        self.payloads = np.zeros(capacity, np.int64)
        """The position of the payload that an event is inside of, or -1."""
        self.extras = np.zeros(capacity, np.int64)
        """What a payload says that it unpacks to; of other events, nothing."""

    NAMES = ("offsets", "sizes", "stops", "types", "timestamps", "server_ids", "flags", "positions", "ends",
             "payloads", "extras")  # fmt: skip

    @cached_property
    def walked(self) -> tuple[memoryview, ...]:
        """What the kernel's walk fills."""
        return tuple(memoryview(getattr(self, name)) for name in self.NAMES[:10])

    @cached_property
    def followed(self) -> tuple[memoryview, ...]:
        """What the kernel looks at when it follows transactions."""
        return tuple(memoryview(getattr(self, name)) for name in self.NAMES if name != "sizes")

    def put(self, place: int, header: Any, offset: int, stop: int) -> None:
        self.offsets[place] = offset
        self.sizes[place] = header.size
        self.stops[place] = stop
        self.types[place] = header.type_code
        self.timestamps[place] = header.timestamp
        self.server_ids[place] = header.server_id
        self.flags[place] = header.flags
        self.positions[place] = header.position
        self.ends[place] = header.position + header.size
        self.payloads[place] = -1
        self.extras[place] = NONE

    def take(self, order: Array) -> Index:
        """The events in another order."""
        other = Index.__new__(Index)
        other.capacity = other.count = len(order)
        for name in Index.NAMES:
            setattr(other, name, getattr(self, name)[order])
        return other

    def join(self, other: Index) -> Index:
        joined = Index.__new__(Index)
        joined.capacity = joined.count = self.count + other.count
        for name in Index.NAMES:
            ours, theirs = getattr(self, name)[: self.count], getattr(other, name)[: other.count]
            setattr(joined, name, np.concatenate((ours, theirs)))
        return joined


class GtidFilter(NamedTuple):
    """Which transactions are read, by their GTIDs, in flat arrays for the kernel."""

    uuids: memoryview
    firsts: memoryview
    starts: memoryview
    ends: memoryview
    including: bool


_NO_NUMBERS = memoryview(np.zeros(0, np.int64))
ALL_GTIDS = GtidFilter(
    memoryview(np.zeros(0, np.uint8)), _NO_NUMBERS, _NO_NUMBERS, _NO_NUMBERS, including=False
)
