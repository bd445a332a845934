"""What one file of a log says of itself: its format, times and GTIDs, and how it ends."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from gtidal.errors import DecodeError
from gtidal.events.control import PreviousGtids, Rotate, Stop
from gtidal.events.format import CHECKSUM_NAMES, Format, FormatDescription, StartV3
from gtidal.events.header import IN_USE, RELAY_LOG
from gtidal.events.load import ExecuteLoadQuery
from gtidal.events.mariadb import STANDALONE, GtidList, MariadbGtidEvent, QueryCompressed, StartEncryption
from gtidal.events.registry import Event
from gtidal.events.statement import Query
from gtidal.events.table_map import TableMap
from gtidal.events.transaction import (
    AnonymousGtid,
    Gtid,
    GtidEvent,
    GtidTagged,
    TransactionPayload,
    XaPrepare,
    Xid,
)
from gtidal.gtid.intervals import GNO_END
from gtidal.gtid.mariadb import MariadbGtid, MariadbGtidSet, MariadbGtidSetBuilder
from gtidal.gtid.mysql import GtidSet, GtidSetBuilder
from gtidal.gtid.text import is_tag
from gtidal.log.decoder import Frame, LogDecoder
from gtidal.log.transactions import statement_kind

AnyGtidSet = GtidSet | MariadbGtidSet

_NUMBERED = re.compile(r"(.*)\.(\d+)", re.DOTALL)


class LogName(NamedTuple):
    """``binlog.000024``: the base name, and the number where there is one."""

    text: str
    base: str
    number: int | None = None

    @classmethod
    def parse(cls, name: str) -> LogName:
        name = re.split(r"[/\\]", name)[-1]
        found = _NUMBERED.fullmatch(name)
        return cls(name, found[1], int(found[2])) if found else cls(name, name)

    def at(self, number: int) -> str:
        """The name of the file with another number: it has a digit more only where it must."""
        return f"{self.base}.{number:0{len(self.text) - len(self.base) - 1}d}"


class Ending(StrEnum):
    """How a file ends."""

    ROTATE = "rotate"
    STOP = "stop"
    OPEN = "open"
    """Nothing ends it: in use, a crash, or cut between two events."""
    PARTIAL = "partial"
    """Inside an event."""
    DAMAGED = "damaged"


@dataclass(slots=True)
class FileFacts:
    """What a file says of itself. Its head alone tells the first part, the whole file the second."""

    name: str
    size: int
    format: Format = field(default_factory=Format)
    binlog_version: int = 4
    in_use: bool = False
    created: int = 0
    """When the server started, if this is its first file."""
    relay: bool = False
    first_timestamp: int | None = None
    previous: AnyGtidSet | None = None
    """The GTIDs of all files before; None where the file does not say."""

    last_timestamp: int | None = None
    inside: AnyGtidSet | None = None
    """The GTIDs in it; None where it has none."""
    state: AnyGtidSet | None = None
    """The GTIDs of all files up to and with this one, its last transaction excepted if that is ``open``."""
    open_gtid: str | None = None
    """The last transaction, if its end is not in the file."""
    events: int = 0
    anonymous: int = 0
    ending: Ending = Ending.OPEN
    next_file: str | None = None
    stopped_at: int | None = None
    """Where the first event that is not whole begins."""

    @property
    def log_name(self) -> LogName:
        return LogName.parse(self.name)

    @property
    def checksum(self) -> str:
        return CHECKSUM_NAMES.get(self.format.checksum, str(self.format.checksum))

    @property
    def ends(self) -> str:
        """For people."""
        if self.ending is Ending.ROTATE:
            return f"rotate to {self.next_file}"
        if self.ending is Ending.STOP:
            return "stop (clean shutdown)"
        if self.ending is Ending.DAMAGED:
            return f"damaged at {self.stopped_at}"
        if self.ending is Ending.PARTIAL:
            return f"inside an event at {self.stopped_at}" + (", in use" if self.in_use else "")
        return "in use or not closed" if self.in_use else "open: no ROTATE or STOP"


@dataclass(frozen=True, slots=True)
class Passed:
    """Ordinary events one behind the other that somebody else has read and found to be in order: transactions of
    GTID, BEGIN, table maps, rows and XID; or table maps and rows inside of one, with their texts."""

    position: int
    end: int
    events: int
    """Without those inside payloads."""
    inner_events: int
    first_timestamp: int
    """0: no event has one."""
    last_timestamp: int
    log_pos: int
    """Of the last event."""
    transactions: int
    """0: all is inside of one."""
    anonymous: int
    gtids: GtidSet | None
    tables: tuple[str, ...]
    """Those that come inside the transaction."""
    has_rows: bool


_ENDS_TRANSACTION = {Xid.code, XaPrepare.code, TransactionPayload.code, ExecuteLoadQuery.code}
_GOES_ON = ("begin", "savepoint", "xa_start", "xa_begin", "xa_end", "dml")
"""Statements behind which a transaction goes on."""


class FactsBuilder:
    """Collects a file's facts from its events in order. Those of ``DECODED`` must be given as events; of all
    others the frame will do."""

    DECODED = frozenset(
        cls.code
        for cls in (FormatDescription, StartV3, Rotate, Stop, PreviousGtids, GtidList, Gtid, AnonymousGtid,
                    GtidTagged, MariadbGtidEvent, Query, QueryCompressed)
    )  # fmt: skip
    _HEAD = frozenset((FormatDescription.code, StartV3.code, Rotate.code, StartEncryption.code))

    def __init__(self, name: str, size: int) -> None:
        self.facts = FileFacts(name, size)
        self.head_is_read = False
        self.repeated: list[str] = []
        """GTIDs that this event showed to be in the file, or in one before it, for a second time."""
        self._builder: GtidSetBuilder | MariadbGtidSetBuilder | None = None
        self._open: GtidEvent | MariadbGtidEvent | None = None
        self._formats = 0
        self._end = 0

    def feed(self, event: Event) -> None:
        header = event.header
        if isinstance(event, GtidEvent):
            _check_gtid(event)
        self._note(header.timestamp, event.type_code, header.end_position)
        if isinstance(event, FormatDescription | StartV3):
            self._format(event)
        elif isinstance(event, PreviousGtids):
            self._previous(event.gtids.to_set())
        elif isinstance(event, GtidList):
            self._previous(MariadbGtidSet.of(event.gtids))
        elif isinstance(event, GtidEvent | MariadbGtidEvent):
            self.settle()
            self._open = event
        elif isinstance(event, Rotate):
            self._rotate(event)
        elif isinstance(event, Stop):
            self.facts.ending = Ending.STOP
        elif isinstance(event, Query | QueryCompressed):
            alone = isinstance(self._open, MariadbGtidEvent) and self._open.flags & STANDALONE
            if alone or statement_kind(event.query) not in _GOES_ON:
                self.settle()

    def read(self, decoder: LogDecoder, frame: Frame) -> None:
        """Decode a frame if that is needed, and take note of it."""
        if frame.type_code in self.DECODED:
            self.feed(decoder.decode(frame))
        else:
            self.pass_over(frame)

    def pass_over(self, frame: Frame) -> None:
        """An event that was not decoded."""
        self._note(int.from_bytes(frame.data[:4], "little"), frame.type_code, frame.end)

    @property
    def is_open(self) -> bool:
        """Whether the last GTID's transaction has not been seen to end."""
        return self._open is not None

    def pass_over_many(self, passed: Passed) -> bool:
        """Events that were not given one by one. False, and nothing is noted: a GTID of theirs was there before."""
        if passed.transactions:
            self.settle()
        if passed.gtids is not None and not self._add_new(passed.gtids):
            return False
        facts = self.facts
        facts.anonymous += passed.anonymous
        facts.events += passed.events - 1
        if passed.first_timestamp and facts.first_timestamp is None:
            facts.first_timestamp = passed.first_timestamp
        self._note(passed.last_timestamp, TableMap.code, passed.end)
        return True

    def _add_new(self, gtids: GtidSet) -> bool:
        previous = self.facts.previous
        if isinstance(previous, GtidSet) and not previous.isdisjoint(gtids):
            return False
        if not isinstance(self._builder, GtidSetBuilder):
            self._builder = GtidSetBuilder()
        return self._builder.add_new(gtids)

    def stop_at(self, position: int, ending: Ending) -> None:
        """The file ends inside an event, or is damaged from here to its end."""
        self.facts.ending, self.facts.next_file, self.facts.stopped_at = ending, None, position

    def finish(self) -> FileFacts:
        """All events were given."""
        facts = self.facts
        self.repeated = []
        closed = facts.ending in (Ending.ROTATE, Ending.STOP) and not facts.relay
        if self._open is not None and (closed or self._is_whole(self._open)):
            self.settle()
        if self._open is not None:
            facts.open_gtid = str(self._open.gtid) if self._open.gtid else "(anonymous)"
        if self._builder is not None:
            facts.inside = self._builder.build()
        facts.state = unite(facts.previous, facts.inside)
        return facts

    def _note(self, timestamp: int, type_code: int, end: int) -> None:
        facts = self.facts
        facts.events += 1
        facts.ending, facts.next_file = Ending.OPEN, None
        self.repeated = []
        self._end = end
        if timestamp:
            facts.last_timestamp = timestamp
            if facts.first_timestamp is None:
                facts.first_timestamp = timestamp
        if type_code not in self._HEAD:
            self.head_is_read = True
        if type_code in _ENDS_TRANSACTION:
            self.settle()

    def _format(self, event: FormatDescription | StartV3) -> None:
        self._formats += 1
        facts = self.facts
        if self._formats == 1:
            facts.format = event.format
            facts.binlog_version = event.binlog_version
            facts.in_use = isinstance(event, FormatDescription) and bool(event.header.flags & IN_USE)
            facts.created = event.created
        if self._formats > 1 or event.header.flags & RELAY_LOG:
            facts.relay = True  # the source's format description follows the replica's own

    def _previous(self, gtids: AnyGtidSet) -> None:
        if self.facts.previous is None:
            self.facts.previous = gtids

    def _rotate(self, event: Rotate) -> None:
        """An artificial one tells which file comes now, and a relay log holds the source's too."""
        facts = self.facts
        name = LogName.parse(event.next_file)
        if event.artificial:
            facts.relay = True
        elif not facts.relay or event.header.flags & RELAY_LOG or name.base == facts.log_name.base:
            facts.ending, facts.next_file = Ending.ROTATE, name.text

    def _is_whole(self, event: GtidEvent | MariadbGtidEvent) -> bool:
        """By the length its GTID event announces."""
        length = event.transaction_length if isinstance(event, GtidEvent) else None
        return bool(length) and event.header.position + (length or 0) <= self._end

    def settle(self) -> None:
        """The open transaction is whole: for a caller who knows better than the types of events tell."""
        event, self._open = self._open, None
        if event is None:
            return
        if event.gtid is None:
            self.facts.anonymous += 1
        elif isinstance(event, MariadbGtidEvent):
            self._add_mariadb(event.gtid)
        elif isinstance(event, GtidEvent):
            if not isinstance(self._builder, GtidSetBuilder):
                self._builder = GtidSetBuilder()
            uuid, tag, gno = event.uuid, event.tag or "", event.gno
            previous = self.facts.previous
            known = isinstance(previous, GtidSet) and previous.has(uuid, tag, gno)
            if not self._builder.add(uuid, tag, gno) or known:
                self.repeated.append(str(event.gtid))

    def _add_mariadb(self, gtid: MariadbGtid) -> None:
        if not isinstance(self._builder, MariadbGtidSetBuilder):
            self._builder = MariadbGtidSetBuilder()
        previous = self.facts.previous
        known = isinstance(previous, MariadbGtidSet) and gtid in previous
        if not self._builder.add(gtid.domain, gtid.server, gtid.sequence) or known:
            self.repeated.append(str(gtid))


def _check_gtid(event: GtidEvent) -> None:
    """Refuse an event with what no GTID can be, before anything is noted of it."""
    tag = event.tag or ""
    if not 0 <= event.gno < GNO_END or not is_tag(tag) or tag != tag.lower():
        message = f"{tag!r}:{event.gno} is no tag and number of a GTID"
        raise DecodeError(message, position=event.header.position, event=event.name, field="gno")


def unite(previous: AnyGtidSet | None, inside: AnyGtidSet | None) -> AnyGtidSet | None:
    if isinstance(previous, GtidSet) and isinstance(inside, GtidSet):
        return previous | inside
    if isinstance(previous, MariadbGtidSet) and isinstance(inside, MariadbGtidSet):
        builder = MariadbGtidSetBuilder(previous)
        for gtid in inside:
            builder.add(gtid.domain, gtid.server, gtid.sequence)
        return builder.build()
    return previous
