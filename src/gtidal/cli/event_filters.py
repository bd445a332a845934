"""Which events ``inspect`` lists, and from where to where."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gtidal.errors import UsageError
from gtidal.events.registry import EVENTS
from gtidal.log.decoder import Frame, event_name
from gtidal.sources.places import Where
from gtidal.sources.server.address import ServerAddress
from gtidal.sources.server.locating import ServerUri, reach

if TYPE_CHECKING:
    from gtidal.columnar.surveying import Ordinary
    from gtidal.columnar.windows import Array

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


@dataclass(frozen=True)
class Filters:
    """Which events of a listing are shown."""

    types: tuple[str, ...]
    start: int | datetime.datetime | None
    stop: int | datetime.datetime | None

    def __contains__(self, frame: Frame) -> bool:
        if self.types and not self._has_type(frame.type_code):
            return False
        before_start = self.start is not None and self._place(frame, self.start) < self.start
        return not before_start and not (self.stop is not None and self._place(frame, self.stop) >= self.stop)

    def _place(self, frame: Frame, bound: int | datetime.datetime) -> Any:
        if isinstance(bound, int):
            return frame.position
        return datetime.datetime.fromtimestamp(int.from_bytes(frame.data[:4], "little"), datetime.UTC)

    def choose(self, found: Ordinary) -> Array:
        """Which events of a stretch are shown, counted from its first; and the first one that is past the end."""
        import numpy as np

        index, span = found.window.index, slice(found.first, found.last)
        wanted = self._wanted_codes[index.types[span]]
        payloads = index.payloads[span]
        positions = np.where(payloads < 0, index.positions[span], payloads)
        for bound, is_start in ((self.start, True), (self.stop, False)):
            if bound is None:
                continue
            places = positions if isinstance(bound, int) else index.timestamps[span] * 1_000_000
            limit = (
                bound if isinstance(bound, int) else (bound - _EPOCH) // datetime.timedelta(microseconds=1)
            )
            wanted &= (places >= limit) == is_start
        if isinstance(self.stop, int) and (past := positions >= self.stop).any():
            wanted[np.argmax(past)] = True
        return np.flatnonzero(wanted)

    @cached_property
    def _wanted_codes(self) -> Array:
        import numpy as np

        return np.array([not self.types or self._has_type(code) for code in range(256)])

    def _has_type(self, code: int) -> bool:
        return any(fnmatchcase(event_name(code), pattern) or pattern == str(code) for pattern in self.types)

    def is_past(self, frame: Frame) -> bool:
        """Whether nothing more can come: positions ascend, times need not."""
        return isinstance(self.stop, int) and frame.position >= self.stop


def parse_types(given: list[str]) -> tuple[str, ...]:
    patterns = tuple(part.strip().upper() for text in given for part in text.split(",") if part.strip())
    for pattern in patterns:
        known = pattern.isdigit() or any(fnmatchcase(cls.name, pattern) for cls in EVENTS.values())
        if not known and not pattern.startswith("UNKNOWN"):
            near = sorted(cls.name for cls in EVENTS.values() if pattern in cls.name or cls.name in pattern)
            hint = f"; did you mean {', '.join(near)}?" if near else "; docs/events.md lists them"
            raise UsageError(f"there is no event type {pattern}{hint}")
    return patterns


def parse_bound(text: str | None, option: str) -> int | datetime.datetime | None:
    """A position, or a time in ISO 8601, which is UTC unless it says otherwise."""
    if text is None:
        return None
    if text.isdigit():
        return int(text)
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"{option} takes a position like 197 or a time like 2025-05-27T01:06:53, not {text}"
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)


def on_server(path: str, filters: Filters) -> tuple[str | ServerUri, Filters]:
    """What an address means: a log; where it is to be followed, the first one as a URI. What it says of start and stop
    goes to the filters."""
    address = ServerAddress.parse(path)
    found = reach(address)
    bounds: dict[str, Any] = {}
    for name, there in (("start", found.start), ("stop", found.stop)):
        if there == Where():
            continue
        if getattr(filters, name) is not None:
            raise UsageError(f"{name} stands in the address and beside it: say it once")
        if there.position is not None:
            bounds[name] = there.position[1]
        elif there.time is not None:
            bounds[name] = _EPOCH + datetime.timedelta(microseconds=there.time)
    filters = replace(filters, **bounds)
    first = found.files[0][0]
    if address.follow:
        return first, filters
    return str(first) if len(found.files) == 1 else path, filters
