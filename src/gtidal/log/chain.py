"""The files of one log: what each says of itself, whether one follows the other, and where to start.

A file ends in a ROTATE that names the next one, in a STOP (the server was shut down), or in nothing: it is
in use, or the server crashed. The next number follows in each case, and PREVIOUS_GTIDS is the judge: the
GTIDs before a file are those before the last one and those in it. Numbers restart at 1 after RESET BINARY
LOGS AND GTIDS, and grow a digit after 999999.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from gtidal.errors import ChainBroken, UsageError
from gtidal.events.control import PreviousGtids, Rotate, Stop
from gtidal.events.format import CHECKSUM_NAMES, Format, FormatDescription, StartV3
from gtidal.events.header import IN_USE, RELAY_LOG
from gtidal.events.load import ExecuteLoadQuery
from gtidal.events.mariadb import GtidList, MariadbGtidEvent, QueryCompressed
from gtidal.events.registry import Event
from gtidal.events.statement import Query
from gtidal.events.transaction import (
    AnonymousGtid,
    Gtid,
    GtidEvent,
    GtidTagged,
    TransactionPayload,
    XaPrepare,
    Xid,
)
from gtidal.gtid.mariadb import MariadbGtid, MariadbGtidSet, MariadbGtidSetBuilder
from gtidal.gtid.mysql import GtidSet, GtidSetBuilder
from gtidal.log.decoder import Frame
from gtidal.log.transactions import statement_kind

AnyGtidSet = GtidSet | MariadbGtidSet

_NUMBERED = re.compile(r"(.*)\.(\d+)", re.DOTALL)


class LogName(NamedTuple):
    """``binlog.000024``: the base name, and the number where there is one."""

    base: str
    number: int | None
    width: int = 6

    @classmethod
    def parse(cls, name: str) -> LogName:
        name = re.split(r"[/\\]", name)[-1]
        found = _NUMBERED.fullmatch(name)
        return cls(found[1], int(found[2]), len(found[2])) if found else cls(name, None)

    def at(self, number: int) -> str:
        """The name of the file with another number: it has a digit more only where it must."""
        return f"{self.base}.{number:0{min(self.width, 6)}d}"


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
    format: Format = Format()
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


_ENDS_TRANSACTION = {Xid.code, XaPrepare.code, TransactionPayload.code, ExecuteLoadQuery.code}
_QUERIES = {Query.code, QueryCompressed.code}


class FactsBuilder:
    """Collects a file's facts from its events in order. Those of ``DECODED`` must be given as events; of all
    others the frame will do."""

    DECODED = frozenset(
        cls.code
        for cls in (FormatDescription, StartV3, Rotate, Stop, PreviousGtids, GtidList, Gtid, AnonymousGtid,
                    GtidTagged, MariadbGtidEvent, Query, QueryCompressed)
    )  # fmt: skip

    def __init__(self, name: str, size: int) -> None:
        self.facts = FileFacts(name, size)
        self.duplicates: list[str] = []
        """GTIDs of the event fed last that the file, or one before, has already."""
        self.head_is_read = False
        self._builder: GtidSetBuilder | MariadbGtidSetBuilder | None = None
        self._open: GtidEvent | MariadbGtidEvent | None = None
        self._formats = 0

    def feed(self, event: Event) -> None:
        facts = self.facts
        header = event.header
        self.duplicates = []
        self._note(header.timestamp)
        facts.ending, facts.next_file = Ending.OPEN, None
        if isinstance(event, FormatDescription | StartV3):
            self._format(event)
        elif isinstance(event, PreviousGtids):
            self._previous(event.gtids.to_set())
        elif isinstance(event, GtidList):
            self._previous(MariadbGtidSet.of(event.gtids))
        elif isinstance(event, GtidEvent | MariadbGtidEvent):
            self.head_is_read = True
            self._settle()
            self._open = event
        elif isinstance(event, Rotate):
            self._rotate(event)
        elif isinstance(event, Stop):
            facts.ending = Ending.STOP
        elif isinstance(event, Query | QueryCompressed):
            if statement_kind(event.query) not in ("begin", "savepoint", "xa_start", "xa_end", "dml"):
                self._settle()
        else:
            self._end_by(event.type_code)

    def pass_over(self, frame: Frame) -> None:
        """An event that was not decoded."""
        self._note(int.from_bytes(frame.data[:4], "little"))
        self.facts.ending, self.facts.next_file = Ending.OPEN, None
        self._end_by(frame.type_code)

    def stop_at(self, position: int, ending: Ending) -> None:
        """The file ends inside an event, or is damaged from here on."""
        self.facts.ending, self.facts.next_file, self.facts.stopped_at = ending, None, position

    def finish(self) -> FileFacts:
        """All events were given."""
        facts = self.facts
        if self._open is not None and facts.ending in (Ending.ROTATE, Ending.STOP) and not facts.relay:
            self._settle()
        if self._open is not None and self._has_ended(self._open):
            self._settle()
        if self._open is not None:
            facts.open_gtid = str(self._open.gtid) if self._open.gtid else "anonymous"
        if self._builder is not None:
            facts.inside = self._builder.build()
        facts.state = _union(facts.previous, facts.inside)
        return facts

    def _note(self, timestamp: int) -> None:
        facts = self.facts
        facts.events += 1
        if timestamp:
            facts.last_timestamp = timestamp
            if facts.first_timestamp is None:
                facts.first_timestamp = timestamp

    def _format(self, event: FormatDescription | StartV3) -> None:
        self._formats += 1
        facts = self.facts
        if self._formats == 1:
            facts.format = event.format
            facts.binlog_version = event.binlog_version
            facts.in_use = bool(event.header.flags & IN_USE) and event.header.long
            facts.created = event.created
        if self._formats > 1 or event.header.flags & RELAY_LOG:
            facts.relay = True  # the source's format description follows the replica's own

    def _previous(self, gtids: AnyGtidSet) -> None:
        if self.facts.previous is None and self._builder is None:
            self.facts.previous = gtids
        self.head_is_read = True

    def _rotate(self, event: Rotate) -> None:
        """An artificial one tells which file comes now; and a relay log holds the source's own."""
        facts = self.facts
        if event.artificial:
            facts.relay = True
            return
        if facts.relay and LogName.parse(event.next_file).base != facts.log_name.base:
            return
        facts.ending, facts.next_file = Ending.ROTATE, LogName.parse(event.next_file).at_name(event.next_file)

    def _end_by(self, type_code: int) -> None:
        if type_code in _ENDS_TRANSACTION:
            self._settle()

    def _has_ended(self, event: GtidEvent | MariadbGtidEvent) -> bool:
        """By the length its GTID event announces: for what ends without an event we know as an end."""
        length = event.transaction_length if isinstance(event, GtidEvent) else None
        return bool(length) and event.header.position + (length or 0) <= self._end_of_events

    _end_of_events = 0

    def _settle(self) -> None:
        """The open transaction is whole."""
        event, self._open = self._open, None
        if event is None:
            return
        if isinstance(event, MariadbGtidEvent):
            self._settle_mariadb(event.gtid)
        elif event.gtid is None:
            self.facts.anonymous += 1
        else:
            if not isinstance(self._builder, GtidSetBuilder):
                self._builder = GtidSetBuilder()
            previous = self.facts.previous
            known = isinstance(previous, GtidSet) and previous.has(event.uuid, event.tag or "", event.gno)
            if not self._builder.add(event.uuid, event.tag or "", event.gno) or known:
                self.duplicates.append(str(event.gtid))

    def _settle_mariadb(self, gtid: MariadbGtid) -> None:
        if not isinstance(self._builder, MariadbGtidSetBuilder):
            self._builder = MariadbGtidSetBuilder()
        previous = self.facts.previous
        known = isinstance(previous, MariadbGtidSet) and gtid in previous
        if not self._builder.add(gtid.domain, gtid.server, gtid.sequence) or known:
            self.duplicates.append(str(gtid))
