"""Where a transaction begins and ends: GTIDs, XID, XA, and the compressed payload between them."""

from __future__ import annotations

from dataclasses import replace

from gtidal.errors import DecodeError
from gtidal.events.control import EndMark, UnknownValue
from gtidal.events.registry import Event, event
from gtidal.gtid.mysql import Gtid as GtidValue
from gtidal.wire.layout import U64, Fields, Reader, Record, Run, Writer
from gtidal.wire.tagged import TaggedField, walk_message

MAY_HAVE_STATEMENTS = 1
LOGICAL_CLOCK = 2
UNDEFINED_SERVER_VERSION = 999999


def version_text(number: int | None) -> str | None:
    """``80036`` as ``8.0.36``."""
    if number is None or number == UNDEFINED_SERVER_VERSION:
        return None
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


class GtidEvent(Event):
    """What the three GTID events share. None: this log does not hold the field."""

    flags: int
    uuid: bytes
    gno: int
    clock_type: int | None = None
    last_committed: int | None = None
    sequence_number: int | None = None
    immediate_commit_timestamp: int | None = None
    original_commit_timestamp: int | None = None
    """None also where it equals the immediate one: the transaction began on this server."""
    transaction_length: int | None = None
    immediate_server_version: int | None = None
    original_server_version: int | None = None
    commit_group_ticket: int | None = None
    tag: str | None = None

    @property
    def gtid(self) -> GtidValue | None:
        """The identifier; an anonymous transaction has none."""
        return GtidValue.of(self.uuid, self.tag or "", self.gno) if self.gno else None

    @property
    def row_only(self) -> bool:
        return not self.flags & MAY_HAVE_STATEMENTS

    @property
    def original_timestamp(self) -> int | None:
        """When the transaction committed where it began."""
        original = self.original_commit_timestamp
        return self.immediate_commit_timestamp if original is None else original

    @property
    def original_version(self) -> int | None:
        original = self.original_server_version
        return self.immediate_server_version if original is None else original

    def summary(self) -> str:
        text = str(self.gtid) if self.gtid else "anonymous"
        if self.sequence_number is not None:
            text += f" last_committed={self.last_committed} sequence_number={self.sequence_number}"
        return text


_GTID = Run("flags:B", "uuid:16s", "gno:q")
_CLOCK = Run("last_committed:q", "sequence_number:q")


class PlainGtid(GtidEvent):
    """GTID and ANONYMOUS_GTID: each group of fields came with a server version, and bytes that remain tell
    that it is there."""

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.fixed(_GTID)
        if not f.present("clock_type") or f.u8("clock_type") != LOGICAL_CLOCK:
            return
        f.fixed(_CLOCK)
        if not f.present("immediate_commit_timestamp", 7):
            return
        if f.flagged("immediate_commit_timestamp", 7, 55, "original_commit_timestamp"):
            f.u56("original_commit_timestamp")
        if not f.present("transaction_length"):
            return
        f.lenenc("transaction_length")
        if not f.present("immediate_server_version", 4):
            return
        if f.flagged("immediate_server_version", 4, 31, "original_server_version"):
            f.u32("original_server_version")
        if f.present("commit_group_ticket", 8):
            f.u64("commit_group_ticket")


@event(33, "GTID")
class Gtid(PlainGtid):
    """Begins a transaction and names it."""


@event(34, "ANONYMOUS_GTID")
class AnonymousGtid(PlainGtid):
    """Begins a transaction that has no name (gtid_mode=OFF)."""


_TAGGED = (
    TaggedField(0, "flags", "uvarint", (8,)),
    TaggedField(1, "uuid", "uvarint_bytes", (16,)),
    TaggedField(2, "gno", "svarint"),
    TaggedField(3, "tag", "uvarint_text"),
    TaggedField(4, "last_committed", "svarint"),
    TaggedField(5, "sequence_number", "svarint"),
    TaggedField(6, "immediate_commit_timestamp", "uvarint"),
    TaggedField(7, "original_commit_timestamp", "uvarint"),
    TaggedField(8, "transaction_length", "uvarint"),
    TaggedField(9, "immediate_server_version", "uvarint", (32,)),
    TaggedField(10, "original_server_version", "uvarint", (32,)),
    TaggedField(11, "commit_group_ticket", "uvarint"),
)


@event(42, "GTID_TAGGED")
class GtidTagged(GtidEvent):
    """Begins a transaction whose GTID has a tag (MySQL 8.3 and later)."""

    serialization_version: int = 1
    last_non_ignorable: int = 0
    unknown_fields: bytes = b""

    @classmethod
    def walk(cls, f: Fields) -> None:
        walk_message(f, _TAGGED)
        if isinstance(f, Reader):
            for name in ("flags", "uuid", "gno"):
                if f.values[name] is None:
                    raise DecodeError("is missing", field=name)


@event(16, "XID")
class Xid(Event):
    """The transaction committed."""

    xid: U64

    def summary(self) -> str:
        return f"COMMIT, xid {self.xid}"


class XaId(Record):
    """The identifier of a distributed transaction."""

    format_id: int = 0
    gtrid: bytes = b""
    bqual: bytes = b""

    def __str__(self) -> str:
        """As XA statements spell it: X'gtrid',X'bqual',format."""
        return f"X'{self.gtrid.hex()}',X'{self.bqual.hex()}',{self.format_id}"


@event(38, "XA_PREPARE")
class XaPrepare(Event):
    """Ends the changes of a distributed transaction; its fate comes later, in a transaction of its own."""

    one_phase: int
    format_id: int
    gtrid: bytes
    bqual: bytes

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.u8("one_phase")
        f.i32("format_id")
        gtrid = f.size("gtrid", 4)
        bqual = f.size("bqual", 4)
        if gtrid > 64 or bqual > 64:
            raise DecodeError(f"parts of {gtrid} and {bqual} bytes; each may have 64", field="gtrid_size")
        f.raw("gtrid", gtrid)
        f.raw("bqual", bqual)

    @property
    def xa(self) -> XaId:
        return XaId(self.format_id & 0xFFFFFFFF, self.gtrid, self.bqual)  # as XA COMMIT spells it

    def summary(self) -> str:
        return f"XA {'COMMIT ONE PHASE' if self.one_phase else 'PREPARE'} {self.xa}"


COMPRESSION_NAMES = {0: "ZSTD", 255: "NONE"}


class PayloadSize(Record):
    tag: int = 1
    payload_size: int = 0

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.lenenc("tag")
        f.sized_lenenc("payload_size")


class Compression(Record):
    tag: int = 2
    compression: int = 0

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.lenenc("tag")
        f.sized_lenenc("compression")


class UncompressedSize(Record):
    tag: int = 3
    uncompressed_size: int = 0

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.lenenc("tag")
        f.sized_lenenc("uncompressed_size")


_PAYLOAD_VALUES: dict[int, type[Record]] = {
    0: EndMark,
    1: PayloadSize,
    2: Compression,
    3: UncompressedSize,
}


def _payload_value(reader: Reader) -> type[Record]:
    return _PAYLOAD_VALUES.get(reader.data[reader.pos], UnknownValue)


@event(40, "TRANSACTION_PAYLOAD")
class TransactionPayload(Event):
    """A transaction's events, compressed. They are decoded by the log's decoder, as events of their own."""

    values: tuple[Record, ...]
    payload: bytes

    @classmethod
    def walk(cls, f: Fields) -> None:
        if isinstance(f, Writer):
            f.out += b"".join(value.encode() for value in f.source.sized_values)
            f.rest("payload")
            return
        values = f.records("values", _payload_value, until=EndMark)
        size = next((value.payload_size for value in values if isinstance(value, PayloadSize)), -1)
        if size < 0 or not any(isinstance(value, Compression) for value in values):
            raise DecodeError("names no payload size or no compression", field="values")
        f.raw("payload", size)

    @property
    def sized_values(self) -> tuple[Record, ...]:
        """The values with the size that the payload has."""
        size = len(self.payload)
        return tuple(
            replace(value, payload_size=size) if isinstance(value, PayloadSize) else value
            for value in self.values
        )

    @property
    def compression(self) -> int:
        return next(value.compression for value in self.values if isinstance(value, Compression))

    @property
    def uncompressed_size(self) -> int | None:
        sizes = (v.uncompressed_size for v in self.values if isinstance(v, UncompressedSize))
        return next(sizes, None)

    @property
    def compression_name(self) -> str:
        return COMPRESSION_NAMES.get(self.compression, str(self.compression))

    def summary(self) -> str:
        return f"{self.compression_name}, {len(self.payload)} of {self.uncompressed_size} bytes"
