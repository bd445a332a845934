"""Events that only MariaDB writes (type codes from 160 on)."""

from __future__ import annotations

import zlib
from functools import cached_property
from typing import Any

from gtidal.errors import DecodeError, GtidalError, Truncated, Unsupported
from gtidal.events.header import flag_names
from gtidal.events.registry import Event, event
from gtidal.events.rows import DeleteRowsEvent, RowsEvent, UpdateRowsEvent, WriteRowsEvent
from gtidal.events.statement import QueryEvent, walk_query_head, walk_query_names
from gtidal.events.table_map import TableMap
from gtidal.events.transaction import XaId
from gtidal.gtid.mariadb import MariadbGtid
from gtidal.wire.layout import U32, Fields, Reader, Record, Rest, Run

GTID_FLAGS = {
    1: "STANDALONE",
    2: "GROUP_COMMIT_ID",
    4: "TRANSACTIONAL",
    8: "ALLOW_PARALLEL",
    16: "WAITED",
    32: "DDL",
    64: "PREPARED_XA",
    128: "COMPLETED_XA",
}
GTID_EXTRA_FLAGS = {
    1: "MULTI_ENGINE",
    2: "START_ALTER",
    4: "COMMIT_ALTER",
    8: "ROLLBACK_ALTER",
    16: "THREAD_ID",
}
STANDALONE, GROUP_COMMIT_ID, TRANSACTIONAL, DDL, PREPARED_XA, COMPLETED_XA = 1, 2, 4, 32, 64, 128
LIST_FLAGS = {1: "UNTIL_REACHED", 2: "IGN_GTIDS"}

_GTID = Run("sequence:Q", "domain:I", "flags:B")


@event(160, "ANNOTATE_ROWS")
class AnnotateRows(Event):
    """The statement whose row changes follow."""

    query: Rest

    def summary(self) -> str:
        return self.query.decode("utf-8", "replace")


@event(161, "BINLOG_CHECKPOINT")
class BinlogCheckpoint(Event):
    """The oldest file that crash recovery may need."""

    file: str

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.text("file", f.size("file", 4))

    def summary(self) -> str:
        return self.file


@event(162, "MARIADB_GTID")
class MariadbGtidEvent(Event):
    """Begins a transaction and names it; there is no BEGIN. STANDALONE: one event follows, and no commit."""

    sequence: int
    domain: int
    flags: int
    commit_id: int | None = None
    format_id: int | None = None
    gtrid: bytes | None = None
    bqual: bytes | None = None
    extra_flags: int | None = None
    extra_engines: int | None = None
    start_alter: int | None = None
    thread_id: int | None = None
    padding: bytes = b""

    @classmethod
    def walk(cls, f: Fields) -> None:
        flags = f.fixed(_GTID)["flags"]
        if flags & GROUP_COMMIT_ID:
            f.u64("commit_id")
        if flags & (PREPARED_XA | COMPLETED_XA):
            f.u32("format_id")
            gtrid = f.size("gtrid", 1)
            bqual = f.size("bqual", 1)
            f.raw("gtrid", gtrid)
            f.raw("bqual", bqual)
        if f.present("extra_flags"):
            extra = f.u8("extra_flags")
            if extra & 1:
                f.u8("extra_engines")
            if extra & 12:
                f.u64("start_alter")
            if extra & 16:
                f.u32("thread_id")
        f.rest("padding")

    @property
    def gtid(self) -> MariadbGtid:
        return MariadbGtid(self.domain, self.header.server_id, self.sequence)

    @property
    def xa(self) -> XaId | None:
        if self.gtrid is None:
            return None
        return XaId(self.format_id or 0, self.gtrid, self.bqual or b"")

    @property
    def flag_names(self) -> tuple[str, ...]:
        return flag_names(self.flags, GTID_FLAGS)

    @property
    def extra_flag_names(self) -> tuple[str, ...]:
        return flag_names(self.extra_flags or 0, GTID_EXTRA_FLAGS)

    def summary(self) -> str:
        return f"{self.gtid} {' '.join(self.flag_names).lower()}"


class GtidListEntry(Record):
    domain: U32
    server_id: U32
    sequence: int

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.u32("domain")
        f.u32("server_id")
        f.u64("sequence")


@event(163, "GTID_LIST")
class GtidList(Event):
    """The last GTIDs of each domain in all files before this one."""

    list_flags: int
    entries: tuple[GtidListEntry, ...]

    @classmethod
    def walk(cls, f: Fields) -> None:
        """The count and the flags share a number: 28 bits and 4."""
        count = f.split_count("entries", 4, 28, "list_flags")
        f.records("entries", lambda _: GtidListEntry, count=count)

    @property
    def flag_names(self) -> tuple[str, ...]:
        return flag_names(self.list_flags, LIST_FLAGS)

    @property
    def gtids(self) -> tuple[MariadbGtid, ...]:
        return tuple(MariadbGtid(e.domain, e.server_id, e.sequence) for e in self.entries)

    def summary(self) -> str:
        return ",".join(map(str, self.gtids)) or "none"


@event(164, "START_ENCRYPTION")
class StartEncryption(Event):
    """All following events of the file are encrypted one by one."""

    scheme: int
    key_version: int
    nonce: bytes

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.u8("scheme")
        f.u32("key_version")
        f.raw("nonce", 12)

    def summary(self) -> str:
        return f"scheme {self.scheme}, key version {self.key_version}"


_MOST_INFLATION = 1032
"""zlib cannot do better; a block that announces more lies."""


def compressed_size(data: bytes) -> int:
    """The size of a compressed block's contents, as the block announces it."""
    count = data[0] & 0x07 if data else 0
    if not data or data[0] & 0xF0 != 0x80 or not 1 <= count <= 4:
        raise Unsupported("not a zlib block", field="compressed")
    if len(data) < 1 + count:
        raise Truncated("ends inside its length", field="compressed")
    return int.from_bytes(data[1 : 1 + count], "big")


def decompress(data: bytes) -> bytes:
    """A block as MariaDB compresses events: a byte of method and width, a big-endian length, zlib data."""
    size = compressed_size(data)
    if size > _MOST_INFLATION * len(data):
        raise DecodeError(f"{len(data)} bytes cannot unpack to {size}", field="compressed")
    inflater = zlib.decompressobj()
    try:
        plain = inflater.decompress(data[1 + (data[0] & 7) :], size + 1)
    except zlib.error as error:
        raise DecodeError(str(error), field="compressed") from None
    if len(plain) != size:
        raise DecodeError(f"unpacks to {len(plain)} bytes or more, announced are {size}", field="compressed")
    return plain


@event(165, "QUERY_COMPRESSED")
class QueryCompressed(QueryEvent):
    """QUERY with its text compressed."""

    compressed: bytes = b""

    @classmethod
    def walk(cls, f: Fields) -> None:
        schema, status = walk_query_head(f, 165)
        walk_query_names(f, schema, status)
        f.rest("compressed")

    @cached_property
    def query(self) -> bytes:
        try:
            return decompress(self.compressed)
        except GtidalError as error:
            raise error.at(**self._place("compressed")) from None

    def summary(self) -> str:
        return self.query.decode("utf-8", "replace")


class CompressedRows(RowsEvent):
    """Rows whose images are compressed: the compressed bytes are the field, the rows follow from them."""

    compressed_rows: bytes = b""

    compressed = True

    @classmethod
    def _walk_images(cls, f: Fields) -> None:
        data = f.rest("compressed_rows")
        if isinstance(f, Reader):
            plain = decompress(data)
            table = cls.table_in_force(f)
            if table is None or not f.context.decode_rows:
                f.values["undecoded"] = plain
            else:
                f.values["rows"] = cls.read_plain(f, plain, table)

    @classmethod
    def read_plain(cls, f: Reader, plain: bytes, table: TableMap) -> Any:
        inner = Reader(plain, 0, len(plain), f.context)
        codec = cls.codec(table, f.values.get("before_columns", b""), f.values.get("after_columns", b""))
        return codec.read(inner, "rows")


@event(166, "WRITE_ROWS_COMPRESSED_V1")
class WriteRowsCompressedV1(CompressedRows, WriteRowsEvent):
    """Inserted rows, compressed."""

    version = 1


@event(167, "UPDATE_ROWS_COMPRESSED_V1")
class UpdateRowsCompressedV1(CompressedRows, UpdateRowsEvent):
    """Updated rows, compressed."""

    version = 1


@event(168, "DELETE_ROWS_COMPRESSED_V1")
class DeleteRowsCompressedV1(CompressedRows, DeleteRowsEvent):
    """Deleted rows, compressed."""

    version = 1


@event(169, "WRITE_ROWS_COMPRESSED")
class WriteRowsCompressed(CompressedRows, WriteRowsEvent):
    """Inserted rows, compressed, with the fixed part of V2."""


@event(170, "UPDATE_ROWS_COMPRESSED")
class UpdateRowsCompressed(CompressedRows, UpdateRowsEvent):
    """Updated rows, compressed, with the fixed part of V2."""


@event(171, "DELETE_ROWS_COMPRESSED")
class DeleteRowsCompressed(CompressedRows, DeleteRowsEvent):
    """Deleted rows, compressed, with the fixed part of V2."""


@event(172, "PARTIAL_ROW_DATA")
class PartialRowData(Event):
    """A piece of a rows event that was too large; the pieces together are that event with its header."""

    fragments: int
    number: int
    flags: int
    original_size: int | None = None
    data: bytes = b""

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.u32("fragments")
        f.u32("number")
        if f.u8("flags") & 1:
            f.u64("original_size")
        f.rest("data")

    def summary(self) -> str:
        return f"{self.number} of {self.fragments}, {len(self.data)} bytes"
