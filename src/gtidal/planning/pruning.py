"""What need not be read: files by their GTIDs and times, and bytes of large files by time.

By time is by evidence, not by proof. An event bears the time when its statement began, and is written when the
transaction commits: so times are nearly in order, a long statement's are late. Bytes are left out only where the
events around them are outside of the window by a margin; and of a file in which times are seen to go back by more, or
in which transactions of several servers are mixed (each with its own delay), none are.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gtidal.columnar.selection import Selection
from gtidal.events.transaction import AnonymousGtid, Gtid, GtidTagged
from gtidal.gtid import GtidSet
from gtidal.planning.heads import Head, Looker, Sample, sampler

SECOND = 1_000_000
START_MARGIN = 60
"""Seconds that a clock may have been put back."""
STOP_MARGIN = 600
"""Seconds that a statement may have run before it was written."""
_GRID = 8
_PRECISION = 1024
"""A bound is found to this part of a file."""
SMALLEST = 1 << 22
"""To look for bounds inside of smaller files costs more than to read them."""


@dataclass(frozen=True)
class TimeWindow:
    """The seconds that are asked for, and how far from them events must be to be left out."""

    start: int | None
    stop: int | None
    margin: int = STOP_MARGIN

    @staticmethod
    def of(selection: Selection, margin: int = STOP_MARGIN) -> TimeWindow | None:
        start, stop = selection.start_time, selection.stop_time
        if start is None and stop is None:
            return None
        return TimeWindow(
            None if start is None else start // SECOND,
            None if stop is None else -(-stop // SECOND),
            margin,
        )

    def is_after(self, latest: int) -> bool:
        """Whether it begins after such events, by far."""
        return self.start is not None and latest + min(START_MARGIN, self.margin) < self.start

    def is_before(self, earliest: int) -> bool:
        return self.stop is not None and earliest - self.margin >= self.stop


# --- whole files


def by_time(heads: Sequence[Head], window: TimeWindow) -> list[Head]:
    """The files that may hold something of the window."""
    return [head for head in heads if head.ends is None or not _is_outside(head.ends, window)]


def _is_outside(samples: Sequence[Sample], window: TimeWindow) -> bool:
    latest = max(sample.latest for sample in samples)
    earliest = min(sample.earliest for sample in samples)
    return window.is_after(latest) or window.is_before(earliest)


def by_gtid(heads: Sequence[Head], selection: Selection, whole: bool) -> list[Head]:
    """The files that may hold a transaction that is asked for. What is in a file is what is before the next one and
    not before itself. ``whole``: events of no transaction are asked for too, so that nothing can be left out because
    its GTIDs are excluded."""
    kept = []
    for head, following in zip(heads, [*heads[1:], None], strict=True):
        inside = _inside(head, following)
        if inside is None or not _is_unwanted(head, inside, selection, whole):
            kept.append(head)
    return kept


def _inside(head: Head, following: Head | None) -> GtidSet | None:
    if following is None or head.relay or following.relay:
        return None
    before, after = head.previous, following.previous
    if not isinstance(before, GtidSet) or not isinstance(after, GtidSet) or not before <= after:
        return None
    mine, theirs = head.log_name, following.log_name
    if head.file.path.parent != following.file.path.parent or mine.base != theirs.base:
        return None
    adjoining = mine.number is not None and theirs.number == mine.number + 1
    return after - before if adjoining else None


def _is_unwanted(head: Head, inside: GtidSet, selection: Selection, whole: bool) -> bool:
    include, exclude = selection.include_gtids, selection.exclude_gtids
    if isinstance(include, GtidSet) and inside.isdisjoint(include):
        return True
    if whole or not isinstance(exclude, GtidSet) or not inside <= exclude:
        return False
    # Transactions without a GTID are not excluded.
    seen = frozenset[int]().union(*(sample.kinds for sample in head.ends or ()))
    return AnonymousGtid.code not in seen and bool(seen & {Gtid.code, GtidTagged.code})


# --- bytes of one file


def narrowed(looker: Looker, head: Head, window: TimeWindow) -> tuple[int | None, int | None]:
    """From where to where a large file holds what may be in the window; None: from its head, to its end."""
    if not head.cuttable or head.log_size < SMALLEST:
        return None, None
    with looker.boundaries(head) as boundaries:
        return _Search(sampler(boundaries), head, window).bounds()


class _Search:
    def __init__(self, sample: Callable[[int], Sample | None], head: Head, window: TimeWindow) -> None:
        self._sample = sample
        self._head = head
        self._window = window
        self._seen: list[tuple[int, int, Sample]] = []

    def bounds(self) -> tuple[int | None, int | None]:
        head, window = self._head, self._window
        room = head.log_size - head.begins
        grid = [head.begins + room * number // _GRID for number in range(_GRID)]
        for cut in grid:
            self._look(cut)
        start = stop = None
        if window.start is not None:
            start = self._last(grid, lambda sample: window.is_after(sample.latest))
        if window.stop is not None:
            found = self._last(grid, lambda sample: not window.is_before(sample.earliest))
            stop = None if found is None else self._first_after(found)
        return (start, stop) if self._in_order() else (None, None)

    def _look(self, cut: int) -> Sample | None:
        sample = self._sample(cut)
        if sample is not None:
            insort(self._seen, (cut, len(self._seen), sample))
        return sample

    def _last(self, grid: list[int], holds: Callable[[Sample], bool]) -> int | None:
        """The last offset that was looked at for which something holds, if it holds from the beginning up to there."""
        known = {cut: sample for cut, _, sample in self._seen}
        low: int | None = None
        high = self._head.log_size
        for cut in grid:
            if cut not in known or not holds(known[cut]):
                high = cut
                break
            low = cut
        if low is None:
            return None
        while high - low > self._head.log_size // _PRECISION:
            middle = (low + high) // 2
            sample = self._look(middle)
            if sample is not None and holds(sample):
                low = middle
            else:
                high = middle
        return low

    def _first_after(self, offset: int) -> int | None:
        """The next offset that was looked at; None: there is none, all is read to the end."""
        return next((cut for cut, _, _ in self._seen if cut > offset), None)

    def _in_order(self) -> bool:
        latest = 0
        for _, _, sample in self._seen:
            if latest - sample.earliest > self._window.margin:
                return False
            latest = max(latest, sample.latest)
        return len(frozenset().union(*(sample.servers for _, _, sample in self._seen))) <= 1
