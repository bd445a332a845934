"""MySQL's GTIDs: one, a set of them, and a builder that takes them one after another.

Everything here works on ranges (see ``intervals``) and never enumerates: a set that says 1-9000000000 is
as cheap as one that says 1. No tag is the empty text, everywhere.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, NoReturn, Self

from gtidal.errors import DecodeError, UsageError
from gtidal.gtid import intervals
from gtidal.gtid.intervals import GNO_END, Lane
from gtidal.gtid.text import format_uuid, is_tag, parse_one, parse_pairs, parse_uuid

Tsid = tuple[bytes, str]
"""What MySQL calls a tagged source id: the 16 bytes of a UUID, and a tag."""


@dataclass(frozen=True, slots=True, order=True)
class Gtid:
    """One transaction: ``uuid:7`` or ``uuid:tag:7``. The constructor takes canonical (lower-case) parts as
    they are; ``parse`` takes what people write."""

    uuid: str
    tag: str
    gno: int

    @classmethod
    def parse(cls, text: str) -> Self:
        uuid, tag, gno = parse_one(text)
        return cls(format_uuid(uuid), tag, gno)

    @classmethod
    def of(cls, uuid: bytes, tag: str, gno: int) -> Self:
        """From the parts as an event holds them."""
        return cls(format_uuid(uuid), tag, gno)

    def __str__(self) -> str:
        return f"{self.uuid}:{self.tag}:{self.gno}" if self.tag else f"{self.uuid}:{self.gno}"


class GtidSet:
    """An immutable set of MySQL GTIDs.

    >>> a = GtidSet("3E11FA47-71CA-11E1-9E33-C80AA9429562:1-5:9, 3e11fa47-71ca-11e1-9e33-c80aa9429562:blue:1")
    >>> print(a)
    3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5:9:blue:1
    >>> a.count, "3e11fa47-71ca-11e1-9e33-c80aa9429562:blue:1" in a
    (7, True)
    >>> print(a.gaps())
    3e11fa47-71ca-11e1-9e33-c80aa9429562:6-8

    Operators as for Python's sets: ``|``, ``-``, ``&``, ``<=``, ``<``, ``>=``, ``>``, ``==``, ``in``.
    """

    __slots__ = ("_hash", "_lanes")

    _lanes: dict[Tsid, Lane]
    _hash: int | None

    def __init__(self, text: str = "") -> None:
        found = {tsid: intervals.lane_of(pairs) for tsid, pairs in parse_pairs(text).items()}
        self._fill(found)

    @classmethod
    def from_ranges(cls, ranges: Mapping[str | tuple[str, str], Iterable[tuple[int, int]]]) -> Self:
        """From ``{uuid: [(first, last), …], (uuid, tag): [(first, last), …]}``, both ends inclusive."""
        found: list[tuple[Tsid, Lane]] = []
        for key, pairs in ranges.items():
            uuid, tag = (key, "") if isinstance(key, str) else key
            if not is_tag(tag):
                raise UsageError(f"not a tag: {tag!r}; write 1 to 32 letters, digits and _, no digit first")
            exclusive = [(first, last + 1) for first, last in pairs]
            if any(start < 1 or end > GNO_END for start, end in exclusive):
                raise UsageError(f"a GTID's number is 1 to {GNO_END - 1}; a range of {uuid} goes beyond")
            found.append(((parse_uuid(uuid), tag.lower()), intervals.lane_of(exclusive)))
        return cls._of(_united(found))

    @classmethod
    def from_lanes(cls, lanes: Iterable[tuple[bytes, str, Lane]]) -> Self:
        """From boundaries as ``lanes`` gives them; what comes twice is united."""
        return cls._of(_united(((uuid, tag), lane) for uuid, tag, lane in lanes))

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """From any of the three binary encodings."""
        from gtidal.gtid.binary import EncodedGtidSet

        return cls._of(EncodedGtidSet.decode(data).to_set()._lanes)

    def encode(self, encoding: int | None = None) -> bytes:
        """In binary: encoding 0 (no tags), 1 (tags) or 2 (compact); by default the lowest that will do."""
        from gtidal.gtid.binary import EncodedGtidSet

        return EncodedGtidSet.from_set(self, encoding).encode()

    @classmethod
    def _of(cls, lanes: dict[Tsid, Lane]) -> Self:
        made = object.__new__(cls)
        made._fill(lanes)
        return made

    def _fill(self, lanes: dict[Tsid, Lane]) -> None:
        object.__setattr__(self, "_lanes", {tsid: lanes[tsid] for tsid in sorted(lanes) if lanes[tsid]})
        object.__setattr__(self, "_hash", None)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a GtidSet does not change: cannot set {name}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._of, (self._lanes,)

    # --- what is in it

    def __contains__(self, gtid: Gtid | str) -> bool:
        """One GTID, as ``Gtid`` or text; for a set of them use ``<=``."""
        if isinstance(gtid, str):
            return self.has(*parse_one(gtid))
        return self.has(parse_uuid(gtid.uuid), gtid.tag, gtid.gno)

    def has(self, uuid: bytes, tag: str, gno: int) -> bool:
        """``in`` for the parts as an event holds them."""
        lane = self._lanes.get((uuid, tag))
        return lane is not None and intervals.contains(lane, gno)

    def __iter__(self) -> Iterator[tuple[str, str, tuple[tuple[int, int], ...]]]:
        """(uuid, tag, ((first, last), …)) in canonical order, both ends inclusive."""
        for (uuid, tag), lane in self._lanes.items():
            yield format_uuid(uuid), tag, tuple(intervals.ranges(lane))

    def lanes(self) -> Iterator[tuple[bytes, str, Lane]]:
        """(uuid, tag, boundaries) in canonical order, for code: see ``intervals``."""
        for (uuid, tag), lane in self._lanes.items():
            yield uuid, tag, lane

    @property
    def count(self) -> int:
        """How many transactions."""
        return sum(map(intervals.size, self._lanes.values()))

    @property
    def interval_count(self) -> int:
        return sum(map(len, self._lanes.values())) // 2

    @property
    def has_tags(self) -> bool:
        return any(tag for _, tag in self._lanes)

    def __bool__(self) -> bool:
        return bool(self._lanes)

    def gaps(self) -> Self:
        """What is missing below the largest number of each UUID and tag."""
        return self._of({tsid: intervals.holes(lane) for tsid, lane in self._lanes.items()})

    # --- algebra

    def __or__(self, other: GtidSet) -> Self:
        if not isinstance(other, GtidSet):
            return NotImplemented
        return self._of(_united(chain(self._lanes.items(), other._lanes.items())))

    def __and__(self, other: GtidSet) -> Self:
        if not isinstance(other, GtidSet):
            return NotImplemented
        return self._with(other, intervals.intersection, self._lanes.keys() & other._lanes.keys())

    def __sub__(self, other: GtidSet) -> Self:
        if not isinstance(other, GtidSet):
            return NotImplemented
        return self._with(other, intervals.difference, self._lanes.keys())

    def _with(self, other: GtidSet, operate: Callable[[Lane, Lane], Lane], tsids: Iterable[Tsid]) -> Self:
        return self._of({tsid: operate(self._lanes[tsid], other._lanes.get(tsid, ())) for tsid in tsids})

    def __le__(self, other: GtidSet) -> bool:
        if not isinstance(other, GtidSet):
            return NotImplemented
        theirs = other._lanes
        return all(intervals.covers(theirs.get(tsid, ()), lane) for tsid, lane in self._lanes.items())

    def __ge__(self, other: GtidSet) -> bool:
        return other.__le__(self) if isinstance(other, GtidSet) else NotImplemented

    def __lt__(self, other: GtidSet) -> bool:
        return self != other and self <= other if isinstance(other, GtidSet) else NotImplemented

    def __gt__(self, other: GtidSet) -> bool:
        return other.__lt__(self) if isinstance(other, GtidSet) else NotImplemented

    def isdisjoint(self, other: GtidSet) -> bool:
        shared = self._lanes.keys() & other._lanes.keys()
        return not any(intervals.touches(self._lanes[tsid], other._lanes[tsid]) for tsid in shared)

    def __eq__(self, other: object) -> bool:
        return self._lanes == other._lanes if isinstance(other, GtidSet) else NotImplemented

    def __hash__(self) -> int:
        if self._hash is None:
            object.__setattr__(self, "_hash", hash(tuple(self._lanes.items())))
        assert self._hash is not None
        return self._hash

    # --- text

    def __str__(self) -> str:
        """As MySQL prints @@gtid_executed: a UUID per line, a comma at the end of each but the last."""
        return ",\n".join(self._lines())

    def one_line(self) -> str:
        """The same without line breaks: ``uuid:1-5,uuid:7``."""
        return ",".join(self._lines())

    def _lines(self) -> Iterator[str]:
        line: list[str] = []
        current = None
        for (uuid, tag), lane in self._lanes.items():
            if uuid != current:
                if line:
                    yield ":".join(line)
                line = [format_uuid(uuid)]
                current = uuid
            if tag:
                line.append(tag)
            line.append(intervals.format_lane(lane))
        if line:
            yield ":".join(line)

    def __repr__(self) -> str:
        return f"GtidSet({self.one_line()!r})"


def _united(lanes: Iterable[tuple[Tsid, Lane]]) -> dict[Tsid, Lane]:
    """One lane for each UUID and tag. Those that occur more than twice are collected and put in order once:
    uniting one after the other would take the square of their number."""
    found: dict[Tsid, Lane] = {}
    again: dict[Tsid, list[Lane]] = {}
    for tsid, lane in lanes:
        known = found.setdefault(tsid, lane)
        if known is not lane and known != lane:
            again.setdefault(tsid, [known]).append(lane)
    for tsid, several in again.items():
        if len(several) == 2:
            found[tsid] = intervals.union(*several)
        else:
            found[tsid] = intervals.lane_of(
                chain.from_iterable(zip(lane[::2], lane[1::2], strict=True) for lane in several)
            )
    return found


class GtidSetBuilder:
    """Collects GTIDs one by one, as a walk through a log meets them.

    Numbers that come in ascending order, or nearly so (a replica that commits out of order), extend the
    last interval or are put in near the end. Those that fall deep inside are set aside and merged in
    bulk, so that no order makes it slow.
    """

    _NEAR = 512
    _ASIDE = 4096

    def __init__(self, start: GtidSet | None = None) -> None:
        self._lanes: dict[Tsid, list[int]] = {}
        self._aside: dict[Tsid, set[int]] = {}
        if start is not None:
            self._lanes = {(uuid, tag): list(lane) for uuid, tag, lane in start.lanes()}

    def add(self, uuid: bytes, tag: str, gno: int) -> bool:
        """Add one; whether it is new. What cannot be a GTID is a ``DecodeError``: it came from a log."""
        if not 0 < gno < GNO_END:
            raise DecodeError(f"{gno} is not a transaction number: those are 1 to {GNO_END - 1}", field="gno")
        lane = self._lanes.get((uuid, tag))
        if lane is None:
            return self._start(uuid, tag, gno)
        end = lane[-1]
        if gno == end:
            lane[-1] = gno + 1
            return True
        if gno > end:
            lane += (gno, gno + 1)
            return True
        return self._insert((uuid, tag), lane, gno)

    def add_set(self, other: GtidSet) -> None:
        for uuid, tag, lane in other.lanes():
            mine = self._lanes.get((uuid, tag))
            if mine is None:
                self._lanes[uuid, tag] = list(lane)
            elif len(lane) < 64:
                for start, end in zip(lane[::2], lane[1::2], strict=True):
                    intervals.put(mine, start, end)
            else:
                self._lanes[uuid, tag] = list(intervals.union(tuple(mine), lane))

    def add_new(self, other: GtidSet) -> bool:
        """Add a whole set if all of it is new; else nothing is added."""
        for uuid, tag, _ in other.lanes():
            if (uuid, tag) in self._aside:
                self._fold((uuid, tag))
        for uuid, tag, lane in other.lanes():
            mine = self._lanes.get((uuid, tag))
            if mine and lane[0] < mine[-1] and intervals.touches(mine, lane):
                return False
        self.add_set(other)
        return True

    def build(self) -> GtidSet:
        """The set so far; the builder can go on."""
        for tsid in list(self._aside):
            self._fold(tsid)
        return GtidSet.from_lanes((uuid, tag, tuple(lane)) for (uuid, tag), lane in self._lanes.items())

    def _start(self, uuid: bytes, tag: str, gno: int) -> bool:
        if len(uuid) != 16:
            raise DecodeError(f"a UUID has 16 bytes, not {len(uuid)}", field="uuid")
        if not is_tag(tag) or tag != tag.lower():
            raise DecodeError(f"{tag!r} is not a tag", field="tag")
        self._lanes[uuid, tag] = [gno, gno + 1]
        return True

    def _insert(self, tsid: Tsid, lane: list[int], gno: int) -> bool:
        at = bisect_right(lane, gno)
        if at & 1 or gno in self._aside.get(tsid, ()):
            return False
        joins_left = at > 0 and lane[at - 1] == gno
        joins_right = lane[at] == gno + 1
        if joins_left is joins_right and len(lane) - at > self._NEAR:
            self._set_aside(tsid, lane, gno)
        elif joins_left and joins_right:
            del lane[at - 1 : at + 1]
        elif joins_left:
            lane[at - 1] = gno + 1
        elif joins_right:
            lane[at] = gno
        else:
            lane[at:at] = (gno, gno + 1)
        return True

    def _set_aside(self, tsid: Tsid, lane: list[int], gno: int) -> None:
        aside = self._aside.setdefault(tsid, set())
        aside.add(gno)
        if len(aside) > max(self._ASIDE, len(lane) // 8):
            self._fold(tsid)

    def _fold(self, tsid: Tsid) -> None:
        late = intervals.lane_of((gno, gno + 1) for gno in self._aside.pop(tsid))
        self._lanes[tsid] = list(intervals.union(tuple(self._lanes[tsid]), late))
