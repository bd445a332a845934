"""Ranges of transaction numbers, and the arithmetic on them.

A *lane* is the set of numbers of one UUID and tag, as its boundaries in ascending order: start, end,
start, end, …, each end exclusive and less than the next start. A number is in the set if an odd number of
boundaries are at or below it, so membership is one bisection and every set operation is one merge.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from operator import lt

GNO_END = (1 << 63) - 1
"""The first number too large for a GTID: numbers are 1 … 2^63 - 2."""

Lane = tuple[int, ...]
Truth = tuple[bool, bool, bool, bool]

# Whether a number stays: in neither set, in the first, in the second, in both.
UNION: Truth = (False, True, True, True)
INTERSECTION: Truth = (False, False, False, True)
DIFFERENCE: Truth = (False, True, False, False)

_BEYOND = GNO_END + 1


def combine(first: Sequence[int], second: Sequence[int], keep: Truth) -> Lane:
    """One merge over the boundaries of both; ``keep`` says which numbers stay."""
    a = [*first, _BEYOND]
    b = [*second, _BEYOND]
    i = j = 0
    inside = False
    out: list[int] = []
    while True:
        x, y = a[i], b[j]
        if x < y:
            i += 1
        elif y < x:
            x = y
            j += 1
        elif x == _BEYOND:
            return tuple(out)
        else:
            i += 1
            j += 1
        if keep[(i & 1) | (j & 1) << 1] is not inside:
            inside = not inside
            out.append(x)


def union(first: Lane, second: Lane) -> Lane:
    return combine(first, second, UNION)


def intersection(first: Lane, second: Lane) -> Lane:
    return combine(first, second, INTERSECTION)


def difference(first: Lane, second: Lane) -> Lane:
    return combine(first, second, DIFFERENCE)


def contains(lane: Sequence[int], number: int) -> bool:
    return bisect_right(lane, number) & 1 == 1


def covers(outer: Sequence[int], inner: Sequence[int]) -> bool:
    """Whether every number of ``inner`` is in ``outer``."""
    for start, end in zip(inner[::2], inner[1::2], strict=True):
        at = bisect_right(outer, start)
        if not at & 1 or outer[at] < end:
            return False
    return True


def touches(first: Sequence[int], second: Sequence[int]) -> bool:
    """Whether any number is in both."""
    few, many = (first, second) if len(first) <= len(second) else (second, first)
    for start, end in zip(few[::2], few[1::2], strict=True):
        at = bisect_right(many, start)
        if at & 1 or (at < len(many) and many[at] < end):
            return True
    return False


def holes(lane: Lane) -> Lane:
    """The numbers below the largest that are missing."""
    return lane[1:-1] if lane[0] == 1 else (1, *lane[:-1])


def size(lane: Sequence[int]) -> int:
    return sum(lane[1::2]) - sum(lane[::2])


def ascending(lane: Sequence[int]) -> bool:
    """Whether these boundaries make a lane: even in number, strictly ascending, in range."""
    if not lane:
        return True
    in_range = lane[0] >= 1 and lane[-1] <= GNO_END
    return in_range and not len(lane) & 1 and all(map(lt, lane, lane[1:]))


def lane_of(pairs: Iterable[tuple[int, int]]) -> Lane:
    """A lane from (start, exclusive end) in any order, overlapping or not; empty ones are dropped."""
    out: list[int] = []
    for start, end in sorted(pairs):
        if start >= end:
            continue
        if out and start <= out[-1]:
            if end > out[-1]:
                out[-1] = end
        else:
            out += (start, end)
    return tuple(out)


def put(lane: list[int], start: int, end: int) -> None:
    """Add one interval in place."""
    left = bisect_left(lane, start)
    right = bisect_right(lane, end)
    lane[left:right] = [start][left & 1 :] + [end][right & 1 :]


def ranges(lane: Sequence[int]) -> Iterator[tuple[int, int]]:
    """(first, last) of each interval, both inclusive, as people write them."""
    for start, end in zip(lane[::2], lane[1::2], strict=True):
        yield start, end - 1


def format_lane(lane: Sequence[int]) -> str:
    return ":".join(f"{first}-{last}" if last > first else str(first) for first, last in ranges(lane))
