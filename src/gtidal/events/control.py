"""Events that steer a reader: where a log ends, where it goes on, that a source is alive."""

from __future__ import annotations

from gtidal.errors import DecodeError
from gtidal.events.header import ARTIFICIAL
from gtidal.events.registry import Event, event
from gtidal.gtid.binary import EncodedGtidSet
from gtidal.wire.layout import Fields, Reader, Record, Rest

INCIDENTS = {0: "NONE", 1: "LOST_EVENTS"}


@event(3, "STOP")
class Stop(Event):
    """The server was shut down cleanly."""


@event(4, "ROTATE")
class Rotate(Event):
    """The log goes on in another file; on the wire, also the name of the file that comes now."""

    start: int
    """Where to begin in the next file; version 1 does not say and means 4."""
    next_file: str

    @classmethod
    def walk(cls, f: Fields) -> None:
        if f.context.format.post_header_length(4, 8):
            f.u64("start")
        else:
            f.computed("start", 4)
        if isinstance(f, Reader) and not f.more():
            raise DecodeError("names no file", field="next_file")
        f.rest_text("next_file")

    @property
    def artificial(self) -> bool:
        """Made by the sender and not in its file."""
        return bool(self.header.flags & ARTIFICIAL) or (self.header.timestamp == 0 == self.header.log_pos)

    def summary(self) -> str:
        return f"{'artificial, ' if self.artificial else ''}to {self.next_file}:{self.start}"


@event(7, "SLAVE")
class Slave(Event):
    """A type code that no server ever wrote."""

    body: Rest = b""


@event(26, "INCIDENT")
class Incident(Event):
    """The source may have lost events."""

    incident: int
    message: bytes | None = None

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.u16("incident")
        if f.present("message"):
            f.short_bytes("message")

    @property
    def incident_name(self) -> str:
        return INCIDENTS.get(self.incident, str(self.incident))

    def summary(self) -> str:
        return f"{self.incident_name}: {(self.message or b'').decode('utf-8', 'replace')}"


def _starts_with_number(f: Reader) -> bool:
    """Eight bytes with zeros among them are a position; a file's name has none."""
    return f.context.format.is_mariadb and b"\0" in f.data[f.pos : f.pos + 8]


@event(27, "HEARTBEAT")
class Heartbeat(Event):
    """On the wire only: the source is alive, and so far along in this file."""

    file: str
    long_position: int | None = None
    """MariaDB, where the position does not fit the header: that then says 0."""

    @classmethod
    def walk(cls, f: Fields) -> None:
        if f.present("long_position", 9) and (not isinstance(f, Reader) or _starts_with_number(f)):
            f.u64("long_position")
        f.rest_text("file")

    @property
    def position(self) -> int:
        return self.header.log_pos if self.long_position is None else self.long_position

    def summary(self) -> str:
        return f"{self.file}:{self.position}"


class HeartbeatFile(Record):
    tag: int = 1
    file: str = ""

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.lenenc("tag")
        f.lenenc_text("file")


class HeartbeatPosition(Record):
    tag: int = 2
    position: int = 0

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.lenenc("tag")
        f.sized_lenenc("position")


class EndMark(Record):
    """Type 0 ends a list of typed values; it has no length."""

    tag: int = 0

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.lenenc("tag")


class UnknownValue(Record):
    """A typed value nobody told us about."""

    tag: int = 0
    data: bytes = b""

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.lenenc("tag")
        f.lenenc_bytes("data")


_HEARTBEAT_VALUES: dict[int, type[Record]] = {0: EndMark, 1: HeartbeatFile, 2: HeartbeatPosition}


def _heartbeat_value(reader: Reader) -> type[Record]:
    return _HEARTBEAT_VALUES.get(reader.data[reader.pos], UnknownValue)


@event(41, "HEARTBEAT_V2")
class HeartbeatV2(Event):
    """On the wire only, for a client that asked for it: positions beyond 4 GiB fit."""

    values: tuple[Record, ...] = ()

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.records("values", _heartbeat_value, until=EndMark)

    @property
    def file(self) -> str:
        return next((value.file for value in self.values if isinstance(value, HeartbeatFile)), "")

    @property
    def position(self) -> int:
        return next((value.position for value in self.values if isinstance(value, HeartbeatPosition)), 0)

    def summary(self) -> str:
        return f"{self.file}:{self.position}"


@event(28, "IGNORABLE")
class Ignorable(Event):
    """Something a reader may pass over."""

    body: Rest = b""


@event(35, "PREVIOUS_GTIDS")
class PreviousGtids(Event):
    """The GTIDs of all files before this one."""

    gtids: EncodedGtidSet

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.record("gtids", EncodedGtidSet)

    def summary(self) -> str:
        return self.gtids.to_set().one_line() or "none"


@event(43, "LARGE_TRANSACTION_HEADER")
class LargeTransactionHeader(Event):
    """Proposed: the head of a transaction cache file that became a log. The padding says nothing."""

    version: int
    terminating_event_offset: int
    terminating_event_type: int
    padding: bytes = b""

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.u8("version")
        f.u64("terminating_event_offset")
        f.u8("terminating_event_type")
        f.rest("padding")
