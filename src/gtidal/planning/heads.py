"""What a planner sees of a file: its head, and where it is asked for a few events elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO, cast

from gtidal.columnar.splitting import Boundaries, Seen
from gtidal.columnar.windows import Place, WindowReader
from gtidal.errors import DecodeError, GtidalError, NotABinlog
from gtidal.events.control import PreviousGtids
from gtidal.events.mariadb import GtidList
from gtidal.events.transaction import AnonymousGtid, Gtid
from gtidal.gtid import GtidSet, MariadbGtidSet
from gtidal.log.decoder import FIRST_EVENT, Keys
from gtidal.log.facts import LogName
from gtidal.sources.archive import ArchivedFile
from gtidal.sources.files import BoundedStream, LogFile, Meter

_WINDOW = 1 << 12
_SAMPLE = 1 << 13
_MOST_SAMPLED = 50
_TAIL = (1 << 12, 1 << 16, 1 << 20, 1 << 24)
"""How far before its end a file's last events are looked for."""


@dataclass(frozen=True)
class Sample:
    """A few events one behind the other: where, and what their headers say."""

    position: int
    earliest: int
    latest: int
    servers: frozenset[int]
    kinds: frozenset[int]


@dataclass(frozen=True)
class Head:
    """One file, and what its head says."""

    file: LogFile
    size: int
    log_size: int
    """Without what comes before position 0."""
    begins: int = FIRST_EVENT
    """The position behind the events that say something of the whole log."""
    cuttable: bool = False
    relay: bool = False
    in_use: bool = False
    previous: GtidSet | MariadbGtidSet | None = None
    """The GTIDs of all files before; None where the head does not say, or nobody asked."""
    ends: tuple[Sample, ...] | None = None
    """The first events and the last ones; None where these cannot be found, or nobody asked."""
    problem: str = ""
    """What is wrong with the head. The file is read as a whole, and its reader will say so."""

    @property
    def log_name(self) -> LogName:
        return LogName.parse(self.file.name)


class Looker:
    """Looks into files, without reading them."""

    def __init__(self, keys: Keys, meter: Meter) -> None:
        self.keys = keys
        self.meter = meter

    def head(self, file: LogFile, *, gtids: bool = False, ends: bool = False) -> Head:
        """What is asked for besides: the GTIDs before, the events at both ends. Raises if this is no log, or its key is missing or wrong: no reader could do anything about that."""
        if file.archived is not None:
            return _from_manifest(file, file.archived)
        size = file.size
        with self._opened(file, size) as reader:
            try:
                reader.open()
                found = Boundaries(reader, size - reader.head_size)
                previous = previous_gtids(found) if gtids else None
                samples = _ends(found) if ends else None
                if reader.decoder.encrypts_events:
                    reader.next()  # only the first encrypted event shows whether the key fits
            except NotABinlog:
                raise
            except DecodeError as error:
                return Head(file, size, size, problem=error.message)
            return Head(
                file,
                size,
                found.size,
                found.head,
                found.possible,
                found.relay,
                reader.in_use,
                previous,
                samples,
            )

    @contextmanager
    def boundaries(self, head: Head) -> Iterator[Boundaries]:
        with self._opened(head.file, head.size) as reader:
            yield Boundaries(reader, head.log_size)

    @contextmanager
    def _opened(self, file: LogFile, size: int) -> Iterator[WindowReader]:
        stream = cast(BinaryIO, BoundedStream(file.open_raw(), size, self.meter))
        with stream:
            try:
                yield WindowReader(stream, file.name, keys=self.keys, window=_WINDOW)
            except GtidalError as error:
                raise error.at(file=str(file.path)) from None


def _from_manifest(file: LogFile, archived: ArchivedFile) -> Head:
    """What is known of a file that was archived: of its times and GTIDs more than its ends tell."""
    sets = MariadbGtidSet if "MariaDB" in archived.server_version else GtidSet
    kinds = [AnonymousGtid.code] if archived.anonymous_transactions else []
    kinds += [Gtid.code] if archived.gtids else []
    begins = archived.body or FIRST_EVENT
    ends = None
    if archived.earliest is not None and archived.latest is not None:
        ends = (
            Sample(begins, archived.earliest, archived.latest, servers=frozenset(), kinds=frozenset(kinds)),
        )
    return Head(
        file,
        archived.size,
        archived.size,
        begins,
        cuttable=archived.body is not None,
        previous=None if archived.previous_gtids is None else sets(archived.previous_gtids),
        ends=ends,
    )


def _ends(boundaries: Boundaries) -> tuple[Sample, ...] | None:
    if not boundaries.possible:
        return None
    size = boundaries.size
    first = _sample(boundaries.events(Place(FIRST_EVENT, boundaries.format), size))
    for distance in _TAIL:
        last = _sample(boundaries.walk(max(size - distance, FIRST_EVENT + 1), size))
        if last is not None:
            return (last,) if first is None else (first, last)
    return None


def sampler(boundaries: Boundaries) -> Callable[[int], Sample | None]:
    """What gives the events behind an offset; None: there are none that can be proven."""

    def sample(cut: int) -> Sample | None:
        return _sample(boundaries.walk(cut, boundaries.size))

    return sample


def _sample(events: Iterator[Seen]) -> Sample | None:
    seen = []
    for event in events:
        seen.append(event)
        if (
            event.place.position + event.size - seen[0].place.position >= _SAMPLE
            or len(seen) == _MOST_SAMPLED
        ):
            break
    if not seen:
        return None
    times = [event.timestamp for event in seen]
    return Sample(
        seen[0].place.position,
        min(times),
        max(times),
        frozenset(event.server_id for event in seen),
        frozenset(event.kind for event in seen),
    )


def previous_gtids(boundaries: Boundaries) -> GtidSet | MariadbGtidSet | None:
    for seen in boundaries.events(Place(FIRST_EVENT, boundaries.format), boundaries.head):
        if seen.kind in (PreviousGtids.code, GtidList.code):
            event = boundaries.event(seen.place.position, seen.size, seen.place.format)
            if isinstance(event, PreviousGtids):
                return event.gtids.to_set()
            if isinstance(event, GtidList):
                return MariadbGtidSet.of(event.gtids)
    return None
