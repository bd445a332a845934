"""One large log in several stretches, each of whole transactions, so that many can read it at a time.

A cut is any offset. The stretch behind it begins with the first transaction that can be proven to begin there: a
boundary between events is looked for and proven (``log.resync``), and from it headers are walked to a GTID, or to the
end of a transaction. Whoever asks for the same cut of the same log gets the same answer. So the reader of the stretch
before knows where it has to arrive; if that was no boundary it does not arrive there, and raises. The first stretch
begins with the log: it is right, and so are all.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from gtidal.columnar import kernel
from gtidal.columnar.windows import Place, WindowReader
from gtidal.errors import DecodeError, GtidalError, ServerProblem
from gtidal.events.format import Format, FormatDescription, version_numbers
from gtidal.events.frame import HEADER_SIZE, checksum_size, compute_checksum, decode_event
from gtidal.events.mariadb import MariadbGtidEvent
from gtidal.events.registry import Context
from gtidal.events.statement import Query
from gtidal.events.transaction import AnonymousGtid, Gtid, GtidEvent, GtidTagged, XaPrepare, Xid
from gtidal.log.decoder import FIRST_EVENT, MAX_EVENT_SIZE
from gtidal.log.resync import Prover, claimed_start
from gtidal.log.transactions import statement_kind

LOOK = 1 << 14
"""A reader that only looks for boundaries needs no larger window."""
_PROBE = 1 << 14
_LARGEST_PROBE = 1 << 24
"""An event that is longer is not used to prove a boundary: the next one will do."""
_SMALLEST_CHUNK, _LARGEST_CHUNK = 1 << 8, 1 << 18
_NEAR = 1 << 14
_LONG = 1 << 16
"""A transaction that goes on for so long is worth a look at how long it says it is."""
BEGINS = frozenset((Gtid.code, AnonymousGtid.code, GtidTagged.code, MariadbGtidEvent.code))
ENDS = frozenset((Xid.code, XaPrepare.code))
_LONGEST_COMMIT = 1 << 12
_FORMAT = FormatDescription.code - 1
_FORMAT_FIXED = 57
"""A format description's body has so many bytes, and one for each type: that for its own type is how long it is."""


def split(reader: WindowReader, size: int, least: int, threads: int) -> Iterator[Place]:
    """Where stretches begin, after the first; ``size`` is the log's. Each cut costs some time, and in the end no thread
    should wait long for another: so stretches are four times as long as the ``least`` at first, and shorter in the end.
    None where the log cannot be cut, nor in a relay log: its format may change, and who reads a stretch is not asked
    which one was in force at the end of it."""
    boundaries = Boundaries(reader, size)
    possible = boundaries.possible and not boundaries.relay
    cut = 0
    while possible:
        cut += max(least, min((size - cut) // (4 * threads), 4 * least))
        if cut >= size - least // 2 or (found := boundaries.first(cut, size)) is None:
            return
        yield found
        cut = max(found.position, cut)


class Seen(NamedTuple):
    """An event, by its header."""

    place: Place
    kind: int
    size: int
    timestamp: int
    server_id: int
    begins: bool
    """Whether a transaction is known to begin with it."""


class Boundaries:
    """Where transactions begin in one log, from any offset on. ``size`` is the log's, as all its readers know it."""

    def __init__(self, reader: WindowReader, size: int) -> None:
        reader.read_format()
        self.reader = reader
        self.size = size
        self.format = reader.decoder.format
        self.relay = reader.relay
        self.searchable: bool = getattr(reader.stream, "searchable", True)
        """Whether the log can be read from any offset on. A server sends it only from where an event begins."""
        self._seen = 0, b""
        """What was looked through last, and where it is: the events found there are walked next."""
        self.head = reader.position
        """Where the first event begins that says nothing of the log as a whole."""

    @property
    def possible(self) -> bool:
        """Whether the log can be cut."""
        return self.searchable and self._is_usual()

    def _is_usual(self) -> bool:
        """Not where each event is encrypted by itself, not before version 4, and not behind a head that may be damaged:
        such logs are read as a whole."""
        format, lengths = self.format, self.format.post_header_lengths
        own = lengths[_FORMAT] if len(lengths) > _FORMAT else 0
        sound = format.has_checksums or own == _FORMAT_FIXED + len(lengths)
        usual = format.version >= 4 and not self.reader.decoder.encrypts_events
        return usual and sound and not self.reader.headless

    def first(self, cut: int, until: int) -> Place | None:
        """Where the first transaction begins that is known to begin from ``cut`` on and before ``until``."""
        return next((seen.place for seen in self.walk(cut, until) if seen.begins), None)

    def bounds(self, start: int | None, stop: int | None) -> tuple[int | None, int | None]:
        """Where to begin and to stop for those who name any two offsets: with the first transaction that begins there or
        behind. None: with the log's first, behind its last."""
        if not self._is_usual():
            return start, stop
        begin = None if start is None else self.from_offset(start, by_event=False)
        return begin, None if stop is None else self.from_offset(stop, by_event=False)

    def around_events(self, start: int | None, stop: int | None) -> tuple[Place | None, int | None]:
        """What to read for the events from one offset on and before another, wherever these are: from the beginning of
        a transaction, where it is told what its events belong to, and to where an event begins."""
        if not self._is_usual():
            by_header = self.format.version >= 4 and not self.reader.decoder.encrypts_events
            return None, self._walk_to(stop) if stop is not None and by_header else stop
        begin = None if start is None else self._transaction_before(start)
        return begin, None if stop is None else self.from_offset(stop, by_event=True)

    def _transaction_before(self, offset: int) -> Place | None:
        """The last place up to ``offset`` at which a transaction is known to begin; None: the log's first event."""
        if offset <= self.head:
            return None
        if offset >= self.size:
            return Place(self.size, self.format)
        if not self.searchable and self._is_event(offset):
            # A server sends what is behind an offset; to look before it means to get the file from its head on.
            seen = next(self.events(Place(offset, self.format), offset + 1), None)
            if seen is not None and seen.begins:
                return seen.place
        back = _PROBE
        while self.searchable and not self.relay and offset - back > self.head:
            if (place := _last_beginning(self.walk(offset - back, offset + 1))) is not None:
                return place
            back *= 4
        # A relay log's format may change: which one is in force is known to those who come from its head.
        return _last_beginning(self.events(Place(self.head, self.format), offset + 1))

    def from_offset(self, offset: int, by_event: bool) -> int:
        """The position of the first transaction, or event, from ``offset`` on; the log's end if there is none."""
        if offset <= self.head:
            return self._walk_to(offset) if by_event else self.head
        missing = self.size
        if self._is_event(offset):  # also one that is damaged: whoever reads it says so
            missing = offset
            events = self.events(Place(offset, self.format), self.size)
        elif self.searchable:
            events = self._from_before(offset) if by_event else self.walk(offset, self.size)
        else:
            all_events = self.events(Place(self.head, self.format), self.size)
            events = (seen for seen in all_events if seen.place.position >= offset)
        for seen in events:
            at = seen.place.position
            if (
                by_event
                or seen.begins
                or (at == offset and seen.kind == Query.code and not self._has_gtids())
            ):
                return at
        return missing

    def _walk_to(self, offset: int) -> int:
        """The first event from an offset on, coming from the log's first."""
        places = (seen.place.position for seen in self.events(Place(FIRST_EVENT, self.format), self.size))
        return next((position for position in places if position >= offset), self.size)

    def _from_before(self, offset: int) -> Iterator[Seen]:
        """Events from ``offset`` on, reached from a boundary before it: not all tell where they are (MariaDB's inside of
        transactions, and types that are not known), and a search would pass over them."""
        begin, back = None, _PROBE
        while begin is None and offset - back > self.head:
            begin = self._next_event(offset - back, offset)
            back *= 4
        events = self.events(Place(self.head if begin is None else begin, self.format), self.size)
        return (seen for seen in events if seen.place.position >= offset)

    def _has_gtids(self) -> bool:
        """Where no transaction begins with a GTID, a statement that a user names begins one."""
        first = next(self.events(Place(self.head, self.format), self.size), None)
        return first is None or first.kind in BEGINS

    def _is_event(self, position: int) -> bool:
        prover = Prover(self.format, own_positions=not self.relay, size=self.size)
        try:
            head = prover.head(self.reader.read_at(position, HEADER_SIZE), 0, position)
        except (DecodeError, ServerProblem):  # a server has seen for itself that there is none
            return False
        return head is not None and prover.is_plausible(head) and prover.is_in_place(head, position)

    def walk(self, cut: int, until: int) -> Iterator[Seen]:
        """Events from the first boundary behind ``cut`` on."""
        position = self._next_event(cut, until)
        return iter(()) if position is None else self.events(Place(position, self.format), until)

    def events(self, place: Place, until: int) -> Iterator[Seen]:
        """Events from a boundary on, by their headers; stops where there is none any more."""
        position, format = place.position, place.format
        start, chunk = self._seen
        if not start <= position <= start + len(chunk):
            start, chunk = position, b""
        room = max(len(chunk), _SMALLEST_CHUNK)
        ended = False  # the event before ended a transaction
        always_gtids = writes_gtids(format)
        placed = False  # whether headers tell the place they are at
        while position < min(until, self.size):
            if position + HEADER_SIZE > start + len(chunk):
                # Small events lie side by side, or nearly so; of large ones the headers are all that is read.
                side_by_side = position <= start + len(chunk) + _NEAR
                room = min(4 * room, _LARGEST_CHUNK) if side_by_side else _SMALLEST_CHUNK
                chunk, start = self.reader.read_at(position, min(room, self.size - position)), position
            offset = position - start
            header = chunk[offset : offset + HEADER_SIZE]
            size = int.from_bytes(header[9:13], "little")
            if len(header) < HEADER_SIZE:
                return
            claimed = claimed_start(format, size, int.from_bytes(header[13:17], "little"))
            in_place = claimed == position & 0xFFFFFFFF
            if not HEADER_SIZE <= size <= MAX_EVENT_SIZE or (placed and not in_place and claimed is not None):
                found = self._next_event(position + 1, until)  # this one is damaged
                if found is None:
                    return
                position, ended = found, False
                continue
            placed |= in_place and not self.relay
            kind = header[4]
            telling = kind in BEGINS or kind in ENDS or kind == FormatDescription.code
            sound = telling and self._is_sound(chunk[offset : offset + size], position, size, format)
            yield Seen(
                Place(position, format),
                kind,
                size,
                int.from_bytes(header[:4], "little"),
                int.from_bytes(header[5:9], "little"),
                ended or (kind in BEGINS and sound),
            )
            if kind == FormatDescription.code and sound:
                format = self._format_at(position, size, format) or format
                always_gtids = writes_gtids(format)
            ended = (kind in ENDS and sound) or (
                kind == Query.code and not always_gtids and self._ends(position, size, format)
            )
            position += size

    def _is_sound(self, data: bytes, position: int, size: int, format: Format) -> bool:
        """Whether an event's checksum is right; ``data``: as much of it as is there. What looks like an event where
        the one before is damaged need not be one."""
        if len(data) < size:
            data = self.reader.read_at(position, min(size, _LONGEST_COMMIT))
        tail = checksum_size(data, data[4], format) if len(data) == size else 0
        stored = int.from_bytes(data[size - tail :], "little")
        return len(data) == size and (not tail or compute_checksum(data[:-tail], data[4]) == stored)

    def event(self, position: int, size: int, format: Format) -> object | None:
        """One event; None if it cannot be decoded."""
        data = self.reader.read_at(position, size)
        try:
            return decode_event(data, position, Context(format, {}, False)) if len(data) == size else None
        except GtidalError:
            return None

    def _format_at(self, position: int, size: int, format: Format) -> Format | None:
        event = self.event(position, size, format)
        try:
            return event.format if isinstance(event, FormatDescription) else None
        except GtidalError:
            return None

    def _ends(self, position: int, size: int, format: Format) -> bool:
        event = self.event(position, size, format) if size <= _LONGEST_COMMIT else None
        if not isinstance(event, Query) or statement_kind(event.query) not in ("commit", "rollback"):
            return False
        return self._is_sound(b"", position, size, format)

    def _next_event(self, cut: int, until: int) -> int | None:
        # A new one each time: what it has spent on other places would make its judgement another.
        prover = Prover(self.format, own_positions=not self.relay, size=self.size, strict=not self.relay)
        probe = _PROBE
        while cut < min(until, self.size):
            data = self.reader.read_at(cut, min(probe, self.size - cut))
            self._seen = cut, data
            ended = cut + len(data) >= self.size
            candidates = _placed(data, cut) if prover.strict and self.format.version >= 4 else None
            offset, proven = prover.search(data, 0, cut, ended, candidates)
            if proven:
                return cut + offset if cut + offset < until else None
            if ended:
                return None
            if offset:
                cut, probe = cut + offset, _PROBE
            elif probe < _LARGEST_PROBE:
                probe *= 4
            else:
                cut, probe = cut + 1, _PROBE
        return None


def _placed(data: bytes, position: int) -> Iterator[int]:
    """Offsets at which a header may begin that tells its own place; binlog version 4."""
    view = memoryview(data)
    at = kernel.walk.next_placed(view, 0, position)
    while at >= 0:
        yield at
        at = kernel.walk.next_placed(view, at + 1, position)


def _last_beginning(events: Iterator[Seen]) -> Place | None:
    last = deque((seen.place for seen in events if seen.begins), maxlen=1)
    return last[0] if last else None


def writes_gtids(format: Format) -> bool:
    """Whether each transaction of such a server begins with a GTID, named or anonymous: no other sign is needed."""
    return version_numbers(format.server_version) >= ((10, 0, 2) if format.is_mariadb else (5, 7, 5))


def walk_places(boundaries: Boundaries, cuts: list[int]) -> list[Place]:
    """The first true beginning of a transaction from each cut on, found by going through the whole log: from GTID to
    GTID where these tell how long their transactions are, else from event to event."""
    places: list[Place] = []
    todo = list(reversed(cuts))
    for place in _true_beginnings(boundaries):
        while todo and place.position >= todo[-1]:
            todo.pop()
            if not places or places[-1].position != place.position:
                places.append(place)
        if not todo:
            break
    return places


def _true_beginnings(boundaries: Boundaries) -> Iterator[Place]:
    place: Place | None = Place(boundaries.head, boundaries.format)
    while place is not None:
        events, place = boundaries.events(place, boundaries.size), None
        begun: Seen | None = None
        for seen in events:
            if seen.begins:
                begun = seen
                yield seen.place
            elif begun is not None and seen.place.position - begun.place.position > _LONG:
                if (place := _behind(boundaries, begun)) is not None:
                    break
                begun = None


def _behind(boundaries: Boundaries, seen: Seen) -> Place | None:
    """Behind the transaction that begins here, if it tells how long it is and a GTID follows."""
    if boundaries.relay or seen.kind not in BEGINS:  # in a relay log, other events may lie inside of it
        return None
    place, size = seen.place, seen.size
    event = boundaries.event(place.position, size, place.format) if size <= _LONGEST_COMMIT else None
    length = event.transaction_length if isinstance(event, GtidEvent) else None
    if not length or length < size:
        return None
    behind = place.position + length
    header = boundaries.reader.read_at(behind, HEADER_SIZE)
    prover = Prover(place.format, size=boundaries.size, strict=True)
    found = prover.head(header, 0, behind)
    sound = found is not None and prover.is_plausible(found) and prover.is_in_place(found, behind)
    return Place(behind, place.format) if sound and header[4] in BEGINS else None
