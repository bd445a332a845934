"""Changes logged as text: QUERY with its status variables, and what a statement needs around it."""

from __future__ import annotations

import struct
from collections.abc import Callable
from decimal import Decimal
from typing import ClassVar, TypeVar

from gtidal.columns.charsets import decode_text
from gtidal.columns.decimals import decode_decimal
from gtidal.errors import DecodeError, GtidalError
from gtidal.events.header import flag_names
from gtidal.events.registry import Event, event, walk_post_header_extra
from gtidal.wire.layout import U8, U16, U24, U32, U64, Fields, Reader, Record, Rest, Run, ShortText

FLAGS2 = {
    0x4000: "AUTO_IS_NULL",
    0x80000: "NOT_AUTOCOMMIT",
    0x4000000: "NO_FOREIGN_KEY_CHECKS",
    0x8000000: "RELAXED_UNIQUE_CHECKS",
}
SQL_MODES = {
    1 << 0: "REAL_AS_FLOAT",
    1 << 1: "PIPES_AS_CONCAT",
    1 << 2: "ANSI_QUOTES",
    1 << 3: "IGNORE_SPACE",
    1 << 4: "NOT_USED",
    1 << 5: "ONLY_FULL_GROUP_BY",
    1 << 6: "NO_UNSIGNED_SUBTRACTION",
    1 << 7: "NO_DIR_IN_CREATE",
    1 << 18: "ANSI",
    1 << 19: "NO_AUTO_VALUE_ON_ZERO",
    1 << 20: "NO_BACKSLASH_ESCAPES",
    1 << 21: "STRICT_TRANS_TABLES",
    1 << 22: "STRICT_ALL_TABLES",
    1 << 23: "NO_ZERO_IN_DATE",
    1 << 24: "NO_ZERO_DATE",
    1 << 25: "INVALID_DATES",
    1 << 26: "ERROR_FOR_DIVISION_BY_ZERO",
    1 << 27: "TRADITIONAL",
    1 << 29: "HIGH_NOT_PRECEDENCE",
    1 << 30: "NO_ENGINE_SUBSTITUTION",
    1 << 31: "PAD_CHAR_TO_FULL_LENGTH",
    1 << 32: "TIME_TRUNCATE_FRACTIONAL",
    1 << 33: "INTERPRET_UTF8_AS_UTF8MB4",
}


class StatusVariable(Record):
    """A setting the statement ran under. ``code`` is on the wire before the value."""

    code: U8

    variable: ClassVar[str] = ""


STATUS_VARIABLES: dict[int, type[StatusVariable]] = {}
S = TypeVar("S", bound=type[StatusVariable])


def status_variable(code: int, name: str) -> Callable[[S], S]:
    def register(cls: S) -> S:
        STATUS_VARIABLES[code] = cls
        cls.variable = name
        return cls

    return register


@status_variable(0, "flags2")
class Flags2(StatusVariable):
    flags: U32

    @property
    def names(self) -> tuple[str, ...]:
        return flag_names(self.flags, FLAGS2)


@status_variable(1, "sql_mode")
class SqlMode(StatusVariable):
    mode: U64

    @property
    def names(self) -> tuple[str, ...]:
        return flag_names(self.mode, SQL_MODES)


@status_variable(2, "catalog")
class CatalogWithZero(StatusVariable):
    """MySQL 5.0.0 to 5.0.3 only."""

    catalog: str = ""

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.u8("code")
        f.short_text("catalog")
        f.zero()


@status_variable(3, "auto_increment")
class AutoIncrement(StatusVariable):
    increment: U16
    offset: U16


@status_variable(4, "charset")
class SessionCharset(StatusVariable):
    """Collation ids."""

    client: U16
    connection: U16
    server: U16


@status_variable(5, "time_zone")
class TimeZone(StatusVariable):
    time_zone: ShortText


@status_variable(6, "catalog_nz")
class Catalog(StatusVariable):
    catalog: ShortText


@status_variable(7, "lc_time_names")
class LcTimeNames(StatusVariable):
    number: U16


@status_variable(8, "charset_database")
class DatabaseCharset(StatusVariable):
    collation: U16


@status_variable(9, "table_map_for_update")
class TableMapForUpdate(StatusVariable):
    tables: U64


@status_variable(10, "master_data_written")
class SourceDataWritten(StatusVariable):
    """The event's size before a replica rewrote it; relay logs of very old sources."""

    size: U32


@status_variable(11, "invoker")
class Invoker(StatusVariable):
    user: ShortText
    host: ShortText


@status_variable(12, "updated_db_names")
class UpdatedSchemas(StatusVariable):
    """254 stands for too many, and no names follow."""

    schemas: tuple[str, ...] | None = ()
    """None: too many to be named."""

    TOO_MANY: ClassVar[int] = 254

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.u8("code")
        count = f.count_or_none("schemas", 1, cls.TOO_MANY)
        if count is not None:
            f.numbers("schemas", "cstring", count=count)


@status_variable(13, "microseconds")
class Microseconds(StatusVariable):
    """To be added to the header's timestamp."""

    microseconds: U24


@status_variable(14, "commit_ts")
class CommitTs(StatusVariable):
    """Obsolete; no known writer, and so no known length."""

    data: Rest


@status_variable(15, "commit_ts2")
class CommitTs2(StatusVariable):
    """Obsolete; no known writer, and so no known length."""

    data: Rest


@status_variable(16, "explicit_defaults_for_timestamp")
class ExplicitDefaultsForTimestamp(StatusVariable):
    value: U8


@status_variable(17, "ddl_logged_with_xid")
class DdlXid(StatusVariable):
    xid: U64


@status_variable(18, "default_collation_for_utf8mb4")
class DefaultCollationForUtf8mb4(StatusVariable):
    collation: U16


@status_variable(19, "sql_require_primary_key")
class SqlRequirePrimaryKey(StatusVariable):
    value: U8


@status_variable(20, "default_table_encryption")
class DefaultTableEncryption(StatusVariable):
    value: U8


@status_variable(21, "enable_cascade_triggers")
class EnableCascadeTriggers(StatusVariable):
    """New in MySQL 9.7."""

    value: U8


@status_variable(128, "hrnow")
class MariadbMicroseconds(StatusVariable):
    microseconds: U24


@status_variable(129, "xid")
class MariadbXid(StatusVariable):
    xid: U64


@status_variable(130, "gtid_flags3")
class MariadbGtidFlags(StatusVariable):
    """The extra flags of a GTID event; COMMIT_ALTER (4) and ROLLBACK_ALTER (8) name a start-alter."""

    flags: int = 0
    start_alter: int | None = None

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.u8("code")
        if f.u8("flags") & 12:
            f.u64("start_alter")


class CollationPair(Record):
    default: U16
    replacement: U16


@status_variable(131, "character_set_collations")
class CharacterSetCollations(StatusVariable):
    """Pairs of collation ids: a character set's own default, and what replaces it."""

    pairs: tuple[CollationPair, ...] = ()

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.u8("code")
        count = f.count("pairs", 1)
        f.records("pairs", lambda _: CollationPair, count=count)


@status_variable(255, "dummy")
class Padding(StatusVariable):
    """MariaDB fills a block it shortened."""

    data: Rest


class UnknownStatus(StatusVariable):
    """A variable nobody told us about. Its length is unknown, so it takes the rest of the block."""

    data: Rest


def _pick_status(reader: Reader) -> type[Record]:
    return STATUS_VARIABLES.get(reader.data[reader.pos], UnknownStatus)


_MOST_BLOCKS, _LARGEST_BLOCK = 1024, 512
_blocks: dict[bytes, tuple[StatusVariable, ...]] = {}
_timed_blocks: dict[tuple[int, bytes], tuple[tuple[StatusVariable, ...], int]] = {}
"""Blocks that hold microseconds, by the offset of these and with zeros in their place; and where the
microseconds are among the variables."""
_time_offsets: dict[int, int] = {}
"""For the size of a block: where in it microseconds lay last."""


def decode_status(block: bytes) -> tuple[StatusVariable, ...]:
    """Sessions repeat their settings with each statement, so the same blocks come again and again, or
    differ in the microseconds only."""
    status = _blocks.get(block)
    if status is not None:
        return status
    offset = _time_offsets.get(len(block))
    if offset is not None:
        known = _timed_blocks.get((offset, block[:offset] + b"\0\0\0" + block[offset + 3 :]))
        if known is not None:
            status, index = known
            value = int.from_bytes(block[offset : offset + 3], "little")
            time = object.__new__(Microseconds)
            time.__dict__.update(status[index].__dict__, microseconds=value)
            return (*status[:index], time, *status[index + 1 :])
    return _decode_new_status(block)


def _decode_new_status(block: bytes) -> tuple[StatusVariable, ...]:
    status: tuple[StatusVariable, ...] = Reader(block, 0, len(block)).records("status", _pick_status)
    if len(block) > _LARGEST_BLOCK:
        return status
    for known in (_blocks, _timed_blocks, _time_offsets):
        if len(known) >= _MOST_BLOCKS:
            known.clear()
    index = next((index for index, each in enumerate(status) if isinstance(each, Microseconds)), None)
    if index is None:
        _blocks[block] = status
    else:
        offset = sum(len(each.encode()) for each in status[:index]) + 1
        _time_offsets[len(block)] = offset
        _timed_blocks[offset, block[:offset] + b"\0\0\0" + block[offset + 3 :]] = status, index
    return status


class StatusBlock:
    """The status variables of a QUERY, read as one field."""

    def read(self, reader: Reader, name: str) -> tuple[StatusVariable, ...]:
        if reader.tracing:
            status: tuple[StatusVariable, ...] = reader.records(name, _pick_status)
            return status
        block = reader.data[reader.pos : reader.end]
        reader.pos = reader.end
        return decode_status(block)

    def write(self, writer: object, value: tuple[StatusVariable, ...]) -> bytes:
        return b"".join(variable.encode() for variable in value)


_STATUS = StatusBlock()
_QUERY = Run("thread_id:I", "exec_time:I")


class QueryEvent(Event):
    """What QUERY, EXECUTE_LOAD_QUERY and MariaDB's compressed QUERY share."""

    thread_id: int
    exec_time: int
    error_code: int
    schema: str
    status: tuple[StatusVariable, ...]

    def variable(self, kind: type[V]) -> V | None:
        """The status variable of this kind, if the statement has it."""
        return next((variable for variable in self.status if isinstance(variable, kind)), None)

    def in_utf8(self, statement: bytes) -> bytes:
        """A statement of this event, from the charset of the client that sent it; as it is where that is not known."""
        variable = self.variable(SessionCharset)
        if variable is None or statement.isascii():
            return statement
        text = decode_text(statement, variable.client)
        return text.encode() if isinstance(text, str) else statement

    @property
    def microsecond(self) -> int:
        value = self.variable(Microseconds)
        maria = self.variable(MariadbMicroseconds)
        return value.microseconds if value else maria.microseconds if maria else 0


V = TypeVar("V", bound=StatusVariable)


def walk_query_head(f: Fields, code: int) -> tuple[int, int]:
    """The fixed part; returns the sizes of the schema and of the status variables."""
    f.fixed(_QUERY)
    schema = f.size("schema", 1)
    f.u16("error_code")
    has_status = f.context.format.post_header_length(code, 13) >= 13
    return schema, f.size("status", 2) if has_status else 0


def walk_query_names(f: Fields, schema: int, status: int) -> None:
    if status or not isinstance(f, Reader):
        f.coded("status", _STATUS, status)
    else:
        f.computed("status", ())
    f.text("schema", schema)
    f.zero()


@event(2, "QUERY")
class Query(QueryEvent):
    """A statement: DDL, BEGIN, or DML that is logged as text."""

    query: bytes = b""

    @classmethod
    def walk(cls, f: Fields) -> None:
        schema, status = walk_query_head(f, 2)
        walk_post_header_extra(f, 2, 13)
        walk_query_names(f, schema, status)
        f.rest("query")

    def summary(self) -> str:
        text = self.query.decode("utf-8", "replace")
        return f"{self.schema}: {text}" if self.schema else text


@event(5, "INTVAR")
class Intvar(Event):
    """LAST_INSERT_ID() or the next AUTO_INCREMENT value, for the statement that follows."""

    kind: U8
    value: U64

    NAMES: ClassVar[dict[int, str]] = {0: "INVALID_INT", 1: "LAST_INSERT_ID", 2: "INSERT_ID"}

    @property
    def kind_name(self) -> str:
        return self.NAMES.get(self.kind, str(self.kind))

    def summary(self) -> str:
        return f"{self.kind_name}={self.value}"


@event(13, "RAND")
class Rand(Event):
    """The seeds of RAND() for the statement that follows."""

    seed1: U64
    seed2: U64

    def summary(self) -> str:
        return f"seeds {self.seed1}, {self.seed2}"


MARIADB_TYPE_NAME = 2
STRING_RESULT, REAL_RESULT, INT_RESULT, ROW_RESULT, DECIMAL_RESULT = range(5)


@event(14, "USER_VAR")
class UserVar(Event):
    """A user variable's value, for the statement that follows."""

    variable: bytes
    is_null: int
    type: int | None = None
    collation: int | None = None
    value: bytes | None = None
    flags: int | None = None
    type_name: bytes | None = None
    """MariaDB, where the value has a type of its own (``point``); the flags then are 2."""

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.raw("variable", f.size("variable", 4))
        if f.u8("is_null"):
            return
        f.u8("type")
        f.u32("collation")
        f.raw("value", f.size("value", 4))
        if f.present("flags") and f.u8("flags") == MARIADB_TYPE_NAME and f.present("type_name"):
            f.short_bytes("type_name")

    @property
    def unsigned(self) -> bool:
        return bool((self.flags or 0) & 1)

    def python(self) -> int | float | Decimal | bytes | None:
        """The value; a string as the bytes of its character set."""
        value = self.value
        if self.is_null or value is None:
            return None
        if self.type == STRING_RESULT:
            return value
        try:
            if self.type == REAL_RESULT:
                return float(struct.unpack("<d", value)[0])
            if self.type == INT_RESULT:
                return int(struct.unpack("<Q" if self.unsigned else "<q", value)[0])
            if self.type == DECIMAL_RESULT:
                return decode_decimal(value[2:], value[0], value[1])
        except GtidalError as error:
            raise error.at(**self._place("value")) from None
        except (struct.error, IndexError):
            message = f"{len(value)} bytes do not fit type {self.type}"
            raise DecodeError(message, **self._place("value")) from None
        raise DecodeError(f"type {self.type} is unknown", **self._place("type"))

    def summary(self) -> str:
        try:
            value = self.python()
        except GtidalError:
            value = self.value
        return f"@{self.variable.decode('utf-8', 'replace')}={value!r}"


@event(29, "ROWS_QUERY")
class RowsQuery(Event):
    """The statement whose row changes follow. The size byte holds the size modulo 256 and is of no use."""

    size_byte: U8
    query: Rest

    def summary(self) -> str:
        return self.query.decode("utf-8", "replace")
