"""What the fields of events mean, in words: flags by name, timestamps as dates, collations, types, sums.

``TABLE`` says, by the record's class and the field's name, how a value is written and what it stands for. A
field without a row still shows its value; nothing depends on this table but the eye.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gtidal.cli.output import utc
from gtidal.columns.charsets import collation_name
from gtidal.columns.types import Column
from gtidal.errors import GtidalError
from gtidal.events import control, format, group, header, load, mariadb, rows, statement, table_map
from gtidal.events import transaction as transactions
from gtidal.events.format import Format
from gtidal.events.header import flag_names
from gtidal.events.registry import EVENTS, Event, Unknown
from gtidal.gtid.binary import EncodedEntry, EncodedGtidSet
from gtidal.log.decoder import event_name
from gtidal.log.tables import column_title, sql_type
from gtidal.wire.layout import Record

YES, NO = "✓", "✗"


@dataclass(frozen=True)
class Scene:
    """What a meaning may depend on besides the value: the event around it, and where it lies."""

    data: bytes
    position: int
    format: Format
    event: Event | None
    """None where the event does not decode: then only its fields up to the damage are known."""
    inner: int | None = None
    """The number of an event inside a compressed payload; such an event has no position of its own."""
    boundary: bool | None = None
    """Whether an event begins where the transaction should end; None if nobody looked."""
    inner_count: int | None = None
    computed_checksum: int | None = None
    known_table: table_map.TableMap | None = None
    """The table of rows that do not decode."""

    @property
    def kind(self) -> type[Event]:
        return EVENTS.get(self.data[4], Unknown) if len(self.data) > 4 else Unknown

    @property
    def table(self) -> table_map.TableMap | None:
        event = self.event
        if isinstance(event, table_map.TableMap):
            return event
        return event.table if isinstance(event, rows.RowsEvent) else self.known_table

    @property
    def columns(self) -> tuple[Column, ...]:
        try:
            return self.table.columns if self.table is not None else ()
        except GtidalError:
            return ()

    def column_names(self, indexes: Iterator[int] | list[int]) -> str:
        columns = self.columns
        return ", ".join(column_title(columns[i]) if i < len(columns) else f"@{i + 1}" for i in indexes)


Meaning = Callable[[Any, Scene], str]


@dataclass(frozen=True)
class How:
    """How a field is shown: its value, and what that stands for."""

    meaning: Meaning = lambda value, scene: ""
    value: Callable[[Any, int], str] | None = None
    """From the value and its size in bytes; None for the usual form."""


def in_hex(value: int, size: int) -> str:
    return f"0x{value:0{2 * size}x}"


def in_bits(value: bytes, size: int) -> str:
    """Bytes as they lie, each with its highest bit first."""
    shown = " ".join(f"{byte:08b}" for byte in value[:4])
    return shown + (" …" if len(value) > 4 else "")


def unit(text: str) -> How:
    """A number of something."""
    singular = text.removesuffix("s")
    return How(value=lambda value, size: f"{value} {singular if value == 1 else text}")


def says(text: str) -> How:
    """A field that means the same whatever its value."""
    return How(lambda value, scene: text)


def flags(names: Mapping[int, str]) -> How:
    return How(lambda value, scene: " ".join(flag_names(value, dict(names))) or "none", in_hex)


def named(names: Mapping[int, str]) -> How:
    return How(lambda value, scene: names.get(value, "unknown"))


def _moment(value: int, scene: Scene) -> str:
    return f"{utc(value)} UTC" if value else "none"


def _micros(value: int, scene: Scene) -> str:
    if not value:
        return "none"
    seconds, fraction = divmod(value, 1_000_000)
    try:
        return f"{utc(seconds)}.{fraction:06d} UTC"
    except (ValueError, OverflowError, OSError):
        return "µs since 1970"


def _version(value: int, scene: Scene) -> str:
    text = transactions.version_text(value)
    return f"server {text}" if text else "unknown"


def _collation(value: int, scene: Scene) -> str:
    return collation_name(value, scene.format.is_mariadb) or "a collation no known server has"


def _uuid(value: bytes, size: int) -> str:
    return str(uuid.UUID(bytes=bytes(value))) if len(value) == 16 else value.hex()


def _log_pos(value: int, scene: Scene) -> str:
    position, size = scene.position, len(scene.data)
    if scene.inner is not None:
        return "means nothing inside a payload"
    if scene.format.version < 4:
        told = YES if value == position else f"{NO} it starts at {position}"
        return f"where this event starts {told}"
    end = position + size
    total = f"{position} + {size} = {end}"
    if value == end:
        return f"{total} {YES} the next event"
    if value == 0:
        return "none: the event was made by the sender"
    if end >> 32 and value == end & 0xFFFFFFFF:
        return f"{total}, modulo 2³² {YES}"
    return f"{NO} {total}; a relay log keeps the source's positions"


def _checksum(value: int, scene: Scene) -> str:
    computed = scene.computed_checksum
    if computed is None:
        return "CRC-32"
    if computed == value:
        return f"CRC-32 {YES}"
    return f"{NO} CRC-32 of the bytes is 0x{computed:08x}"


def _transaction_length(value: int, scene: Scene) -> str:
    if scene.inner is not None:
        return "bytes"
    total = f"{scene.position} + {value} = {scene.position + value}"
    if scene.boundary is None:
        return f"bytes; it ends at {total}"
    return f"{total} {YES} its end" if scene.boundary else f"{NO} no event begins at {total}"


def _follows(bit: int, what: str, same: str, inside: Meaning) -> Meaning:
    """A number whose top bit, not part of the value, announces another field."""

    def meaning(value: int, scene: Scene) -> str:
        event = scene.event
        follows = event is not None and getattr(event, what, None) is not None
        tail = f"; bit {bit}=1: the original follows" if follows else f"; bit {bit}=0: {same}"
        return inside(value, scene) + (tail if type(event) is not transactions.GtidTagged else "")

    return meaning


def _gno(value: int, scene: Scene) -> str:
    event = scene.event
    gtid = event.gtid if isinstance(event, transactions.GtidEvent) else None
    return f"transaction number {value}" if gtid else "none: anonymous"


def _post_header_lengths(value: bytes, scene: Scene) -> str:
    announced = value[14] if len(value) > 14 else 0
    actual = 57 + len(value)
    own = (
        f"57 + {len(value)} = {actual} {YES}" if announced == actual else f"{NO} 57 + {len(value)} = {actual}"
    )
    parts = [f"{event_name(code)} {size}" for code, size in enumerate(value, 1) if size]
    return f"its own {announced}, {own}; all: {', '.join(parts)}"


def _created(value: int, scene: Scene) -> str:
    if value:
        return f"{utc(value)} UTC, the server's start: older open transactions are void"
    return "after a rotation, not a start"


def _start(value: int, scene: Scene) -> str:
    return "the first event of that file" if value == 4 else "where to begin in that file"


def _exclusive(value: int, scene: Scene) -> str:
    return f"exclusive: the last is {value - 1}"


def _encoding(value: int, scene: Scene) -> str:
    return {1: "with tags", 2: "compact"}.get(value, "")


def _xa(value: Any, scene: Scene) -> str:
    event = scene.event
    found = event.xa if isinstance(event, transactions.XaPrepare | mariadb.MariadbGtidEvent) else None
    return f"XA {found}" if found else ""


def _payload(value: bytes, scene: Scene) -> str:
    if scene.inner_count is None:
        return "events, compressed"
    return f"{scene.inner_count} events, compressed: --inner 1 to {scene.inner_count} shows them"


def _terminator(value: Any, scene: Scene) -> str:
    return "ends the text before it"


# Query and its status variables


def _error_code(value: int, scene: Scene) -> str:
    return "none" if value == 0 else "the statement failed on the source, in part"


def _schemas(value: int, scene: Scene) -> str:
    return "too many to list" if value == statement.UpdatedSchemas.TOO_MANY else "names follow"


def _file_name(value: int, scene: Scene) -> str:
    event = scene.event
    if not isinstance(event, load.ExecuteLoadQuery):
        return ""
    part = event.query[event.file_name_start : event.file_name_end]
    return f"of the query; there the file's name is {part.decode('utf-8', 'replace')!r}"


def _status_code(value: int, scene: Scene) -> str:
    known = statement.STATUS_VARIABLES.get(value)
    return known.variable if known else "unknown"


_USER_TYPES = {0: "STRING", 1: "REAL", 2: "INT", 3: "ROW", 4: "DECIMAL"}


def _user_value(value: bytes, scene: Scene) -> str:
    event = scene.event
    try:
        found = event.python() if isinstance(event, statement.UserVar) else None
    except GtidalError:
        found = None
    return "" if found is None or isinstance(found, bytes) else str(found)


# Table maps and rows


def set_bits(value: bytes) -> list[int]:
    number = int.from_bytes(value, "little")
    return [index for index in range(number.bit_length()) if number >> index & 1]


def _types(value: bytes, scene: Scene) -> str:
    return ", ".join(sql_type(column) for column in scene.columns)


def _column_metadata(value: bytes, scene: Scene) -> str:
    parts = [
        f"{column_title(column)} {column.metadata:#x}"
        for column in scene.columns
        if column.type.metadata != "none"
    ]
    return f"by column: {', '.join(parts)}" if parts else ""


def _nullable(value: bytes, scene: Scene) -> str:
    count = len(scene.columns)
    found = [index for index in set_bits(value) if index < count]
    if not found:
        return "no column may be NULL"
    return "all may be NULL" if len(found) == count else f"may be NULL: {scene.column_names(found)}"


def _held(value: bytes, scene: Scene) -> str:
    event = scene.event
    count = event.width if isinstance(event, rows.RowsEvent) else len(scene.columns)
    found = [index for index in set_bits(value) if index < count]
    if len(found) == count:
        return f"the image holds all {count} columns" if count != 1 else "the image holds the one column"
    return f"the image holds {scene.column_names(found)}" if found else "the image holds no column"


def _table_id(value: int, scene: Scene) -> str:
    if value == table_map.DUMMY_TABLE_ID:
        return "the dummy: releases all table maps"
    table = scene.table
    if table is None:
        return "no table map with this id is known"
    return f"{table.schema}.{table.table}"


def _metadata_tag(value: int, scene: Scene) -> str:
    known = table_map.METADATA.get(value)
    return known.title if known else "unknown"


def _unsigned(value: bytes, scene: Scene) -> str:
    found = [column.index for column in scene.columns if column.unsigned]
    return f"unsigned: {scene.column_names(found)}" if found else "none is unsigned"


def _invisible(value: bytes, scene: Scene) -> str:
    found = [column.index for column in scene.columns if column.visible is False]
    return f"invisible: {scene.column_names(found)}" if found else "all are visible"


def key_column(value: int, scene: Scene) -> str:
    return scene.column_names([value])


def _value_options(value: int, scene: Scene) -> str:
    return "JSON columns may come as differences" if value & 1 else "none"


_COMPRESSED_SIZE = "zlib, unpacks to {} bytes"


def _compressed(value: bytes, scene: Scene) -> str:
    try:
        return _COMPRESSED_SIZE.format(mariadb.compressed_size(value))
    except GtidalError:
        return ""


BYTES = unit("bytes")
COLUMNS = unit("columns")
SECONDS = unit("seconds")
TEXT = How(value=lambda value, size: repr(value.decode("utf-8", "backslashreplace")))
MOMENT = How(_moment)
MICROS = How(_micros)
COLLATION = How(_collation)
UUID = How(value=_uuid)
BITS = How(value=in_bits)
YES_NO = How(lambda value, scene: "yes" if value else "no")
ON_OFF = How(lambda value, scene: "on" if value else "off")

TABLE: dict[tuple[type[Any], str], How] = {
    (header.Header, "timestamp"): MOMENT,
    (header.Header, "type_code"): How(lambda value, scene: event_name(value)),
    (header.Header, "size"): BYTES,
    (header.Header, "log_pos"): How(_log_pos),
    (header.Header, "flags"): flags(header.FLAGS),
    (Event, "checksum"): How(_checksum, in_hex),
    (Event, "trailing"): says("bytes that no known field covers"),
    (Record, "query"): TEXT,
    (Record, "terminator"): How(_terminator, lambda value, size: "0"),
    (format.StartV3, "created"): How(_created),
    (format.FormatDescription, "created"): How(_created),
    (format.FormatDescription, "common_header_length"): BYTES,
    (format.FormatDescription, "post_header_lengths"): How(
        _post_header_lengths, lambda value, size: f"{size} lengths"
    ),
    (format.FormatDescription, "checksum_algorithm"): named(format.CHECKSUM_NAMES),
    (control.Rotate, "start"): How(_start),
    (control.Incident, "incident"): named(control.INCIDENTS),
    (control.HeartbeatFile, "tag"): says("file name"),
    (control.HeartbeatPosition, "tag"): says("position"),
    (control.EndMark, "tag"): says("end of the list"),
    (control.UnknownValue, "tag"): says("unknown"),
    (EncodedGtidSet, "n_sids"): says("UUIDs; the last byte 0: no tags"),
    (EncodedGtidSet, "n_tsids"): says("pairs of UUID and tag"),
    (EncodedGtidSet, "encoding"): How(_encoding),
    (EncodedGtidSet, "encoding_again"): How(_encoding),
    (EncodedEntry, "uuid"): UUID,
    (EncodedEntry, "tag_length"): How(lambda value, scene: "stored doubled" if value else "no tag"),
    (EncodedEntry, "interval[].start"): says("inclusive"),
    (EncodedEntry, "interval[].end"): How(_exclusive),
    (transactions.GtidEvent, "flags"): How(
        lambda value, scene: "MAY_HAVE_SBR" if value & 1 else "row changes only", in_hex
    ),
    (transactions.GtidEvent, "uuid"): UUID,
    (transactions.GtidEvent, "gno"): How(_gno),
    (transactions.GtidEvent, "clock_type"): How(
        lambda value, scene: "logical clock follows" if value == transactions.LOGICAL_CLOCK else "none"
    ),
    (transactions.GtidEvent, "last_committed"): How(
        lambda value, scene: f"may run once {value} has committed" if value else "waits for none"
    ),
    (transactions.GtidEvent, "immediate_commit_timestamp"): How(
        _follows(55, "original_commit_timestamp", "it began on this server", _micros)
    ),
    (transactions.GtidEvent, "original_commit_timestamp"): MICROS,
    (transactions.GtidEvent, "transaction_length"): How(_transaction_length),
    (transactions.GtidEvent, "immediate_server_version"): How(
        _follows(31, "original_server_version", "the original too", _version)
    ),
    (transactions.GtidEvent, "original_server_version"): How(_version),
    (transactions.GtidTagged, "serialization_version"): says("mysql::serialization"),
    (transactions.GtidTagged, "message_size"): BYTES,
    (transactions.GtidTagged, "last_non_ignorable"): says("lower fields must be known"),
    (transactions.GtidTagged, "unknown_fields"): says("from the first unknown field on"),
    (transactions.XaPrepare, "one_phase"): YES_NO,
    (transactions.XaPrepare, "gtrid"): How(_xa),
    (transactions.PayloadSize, "tag"): says("payload size"),
    (transactions.PayloadSize, "payload_size"): BYTES,
    (transactions.Compression, "tag"): says("compression"),
    (transactions.Compression, "compression"): named(transactions.COMPRESSION_NAMES),
    (transactions.UncompressedSize, "tag"): says("uncompressed size"),
    (transactions.UncompressedSize, "uncompressed_size"): BYTES,
    (transactions.TransactionPayload, "payload"): How(_payload),
    (group.TransactionContext, "gtid_specified"): YES_NO,
    (statement.QueryEvent, "exec_time"): SECONDS,
    (statement.QueryEvent, "error_code"): How(_error_code),
    (statement.StatusVariable, "code"): How(_status_code),
    (statement.Flags2, "flags"): flags(statement.FLAGS2),
    (statement.SqlMode, "mode"): flags(statement.SQL_MODES),
    (statement.SessionCharset, "client"): COLLATION,
    (statement.SessionCharset, "connection"): COLLATION,
    (statement.SessionCharset, "server"): COLLATION,
    (statement.DatabaseCharset, "collation"): COLLATION,
    (statement.DefaultCollationForUtf8mb4, "collation"): COLLATION,
    (statement.CharacterSetCollations, "pairs[]"): COLLATION,
    (statement.TableMapForUpdate, "tables"): How(
        lambda value, scene: (
            f"table {', '.join(map(str, set_bits(value.to_bytes(8, 'little'))))} of the join"
            if value
            else "no join"
        ),
        in_hex,
    ),
    (statement.UpdatedSchemas, "schemas_count"): How(_schemas),
    (statement.ExplicitDefaultsForTimestamp, "value"): ON_OFF,
    (statement.SqlRequirePrimaryKey, "value"): ON_OFF,
    (statement.DefaultTableEncryption, "value"): ON_OFF,
    (statement.EnableCascadeTriggers, "value"): ON_OFF,
    (statement.Microseconds, "microseconds"): says("µs, added to the header's timestamp"),
    (statement.MariadbMicroseconds, "microseconds"): says("µs, added to the header's timestamp"),
    (statement.MariadbGtidFlags, "flags"): flags(mariadb.GTID_EXTRA_FLAGS),
    (statement.Intvar, "kind"): named(statement.Intvar.NAMES),
    (statement.UserVar, "is_null"): YES_NO,
    (statement.UserVar, "type"): named(_USER_TYPES),
    (statement.UserVar, "collation"): COLLATION,
    (statement.UserVar, "value"): How(_user_value),
    (statement.UserVar, "flags"): flags({1: "UNSIGNED"}),
    (statement.RowsQuery, "size_byte"): says("the query's size modulo 256"),
    (load.LoadEvent, "exec_time"): SECONDS,
    (load.LoadEvent, "opt_flags"): flags(load.OPT_FLAGS),
    (load.LoadEvent, "empty_flags"): flags(load.EMPTY_FLAGS),
    (load.ExecuteLoadQuery, "duplicates"): named(load.ExecuteLoadQuery.DUPLICATES),
    (load.ExecuteLoadQuery, "file_name_start"): How(_file_name),
    (load.ExecuteLoadQuery, "file_name_end"): says("of the query"),
    (table_map.TableMap, "flags"): flags(table_map.TABLE_FLAGS),
    (table_map.TableMap, "types_size"): COLUMNS,
    (table_map.TableMap, "types"): How(_types, lambda value, size: f"{size} type code{'s' * (size != 1)}"),
    (table_map.TableMap, "metadata"): How(_column_metadata),
    (table_map.TableMap, "null_bitmap"): How(_nullable, in_bits),
    (table_map.Metadata, "tag"): How(_metadata_tag),
    (table_map.Signedness, "bits"): How(_unsigned, in_bits),
    (table_map.ColumnVisibility, "bits"): How(_invisible, in_bits),
    (table_map.ColumnCharset, "numbers[]"): COLLATION,
    (table_map.EnumAndSetColumnCharset, "numbers[]"): COLLATION,
    (table_map.SimplePrimaryKey, "numbers[]"): How(key_column),
    (table_map.VectorDimensionality, "numbers[]"): says("numbers in each vector"),
    (rows.RowsEvent, "table_id"): How(_table_id),
    (rows.RowsEvent, "flags"): flags(rows.ROWS_FLAGS),
    (rows.RowsEvent, "extra_info_size"): How(
        lambda value, scene: "beside its own 2", lambda value, size: f"{value} bytes"
    ),
    (rows.RowsEvent, "width"): COLUMNS,
    (rows.RowsEvent, "before_columns"): How(_held, in_bits),
    (rows.RowsEvent, "after_columns"): How(_held, in_bits),
    (rows.RowsEvent, "undecoded"): says("row images, not decoded"),
    (rows.PartitionInfo, "typecode"): says("partition"),
    (rows.MovedPartitionInfo, "typecode"): says("partition"),
    (rows.NdbInfo, "typecode"): says("MySQL Cluster"),
    (mariadb.MariadbGtidEvent, "flags"): flags(mariadb.GTID_FLAGS),
    (mariadb.MariadbGtidEvent, "extra_flags"): flags(mariadb.GTID_EXTRA_FLAGS),
    (mariadb.MariadbGtidEvent, "gtrid"): How(_xa),
    (mariadb.GtidList, "entries_count"): says("GTIDs; the four highest bits are flags"),
    (mariadb.QueryCompressed, "compressed"): How(_compressed),
    (mariadb.CompressedRows, "compressed_rows"): How(_compressed),
    (mariadb.PartialRowData, "number"): How(
        lambda value, scene: (
            f"of {scene.event.fragments}" if isinstance(scene.event, mariadb.PartialRowData) else ""
        )
    ),
    (mariadb.PartialRowData, "flags"): flags({1: "ORIGINAL_SIZE"}),
}
