"""Statements and what they need around them: the SET lines before a query, variables, LOAD DATA."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

from gtidal.columns.charsets import COLLATIONS
from gtidal.columns.decimals import decimal_text, decode_decimal
from gtidal.errors import GtidalError
from gtidal.events.header import SUPPRESS_USE, THREAD_SPECIFIC
from gtidal.events.load import ExecuteLoadQuery
from gtidal.events.statement import (
    DECIMAL_RESULT,
    INT_RESULT,
    REAL_RESULT,
    STRING_RESULT,
    AutoIncrement,
    DatabaseCharset,
    DdlXid,
    DefaultCollationForUtf8mb4,
    DefaultTableEncryption,
    EnableCascadeTriggers,
    ExplicitDefaultsForTimestamp,
    Flags2,
    Intvar,
    LcTimeNames,
    Microseconds,
    QueryEvent,
    Rand,
    SessionCharset,
    SqlMode,
    SqlRequirePrimaryKey,
    StatusVariable,
    TimeZone,
    UserVar,
)

DELIMITER = "/*!*/;"
REMOVED_MODES = 0x1003FF00
"""The bits of sql_mode that MySQL 8.0.5 no longer knows."""
UTF8MB3 = 33
_MARIADB_COLLATIONS = 576
"""From this number on they are MariaDB's alone."""
_NO_XID = (1 << 64) - 1
_UNSET = 255

# (bit, name, whether a set bit means the variable is off), in the order of printing
_FLAGS2 = (
    (0x4000000, "@@session.foreign_key_checks", True),
    (0x4000, "@@session.sql_auto_is_null", False),
    (0x8000000, "@@session.unique_checks", True),
    (0x80000, "@@session.autocommit", True),
)


def text_of(data: bytes) -> str:
    """Bytes as they will be written again."""
    return data.decode("utf-8", "surrogateescape")


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def quoted_path(path: str) -> str:
    """A file's name as the LOAD DATA statement spells it."""
    escapes = {"\n": "\\n", "\r": "\\r", "\\": "\\\\", "\b": "\\b", "\t": "\\t", "'": "\\'", "\0": "\\0"}
    return "'" + "".join(escapes.get(character, character) for character in path) + "'"


# What a query is to the flow of transactions. The comparisons are the tool's own.


def _prefix_of(word: bytes, query: bytes) -> bool:
    return word.startswith(query)


def starts_group(query: bytes) -> bool:
    return _prefix_of(b"BEGIN", query) or query.startswith(b"XA START")


def ends_group(query: bytes) -> bool:
    if _prefix_of(b"COMMIT", query) or query.startswith(b"XA ROLLBACK"):
        return True
    upper = query[:12].upper()
    return upper.startswith(b"ROLLBACK") and upper != b"ROLLBACK TO "


_KEYWORDS = (b"SAVEPOINT", b"ROLLBACK", b"XA START", b"XA END", b"XA PREPARE", b"XA COMMIT", b"XA ROLLBACK")


def is_transaction_keyword(query: bytes) -> bool:
    if _prefix_of(b"BEGIN", query) or _prefix_of(b"COMMIT", query):
        return True
    return query[:11].upper().startswith(_KEYWORDS)


class Settings(NamedTuple):
    """The settings in a query's status variables, as the tool takes them: absent ones have its defaults."""

    flags2: int | None = None
    sql_mode: int | None = None
    auto_increment: tuple[int, int] = (1, 1)
    charset: tuple[int, int, int] | None = None
    time_zone: str = ""
    lc_time_names: int = 0
    collation_database: int = 0
    default_collation: int = 0
    cascade_triggers: int = 0
    xid: str = ""
    explicit: str = ""
    always: str = ""
    """``explicit`` and ``always`` are lines that are printed each time."""


def settings_of(status: tuple[StatusVariable, ...], delimiter: str = DELIMITER) -> Settings:
    found = Settings()
    explicit = primary_key = encryption = ""
    for variable in status:
        match variable:
            case Flags2():
                found = found._replace(flags2=variable.flags)
            case SqlMode():
                found = found._replace(sql_mode=variable.mode)
            case AutoIncrement():
                found = found._replace(auto_increment=(variable.increment, variable.offset))
            case SessionCharset():
                charset = (variable.client, variable.connection, variable.server)
                found = found._replace(charset=charset)
            case TimeZone():
                found = found._replace(time_zone=variable.time_zone.partition("\0")[0])
            case LcTimeNames():
                found = found._replace(lc_time_names=variable.number)
            case DatabaseCharset():
                found = found._replace(collation_database=variable.collation)
            case DefaultCollationForUtf8mb4():
                found = found._replace(default_collation=variable.collation)
            case DdlXid() if variable.xid != _NO_XID:
                found = found._replace(xid=f"\tXid = {variable.xid}")
            case ExplicitDefaultsForTimestamp():
                value = int(variable.value != 0)
                explicit = f"SET @@session.explicit_defaults_for_timestamp={value}{delimiter}\n"
            case SqlRequirePrimaryKey() if variable.value != _UNSET:
                primary_key = (
                    f"/*!80013 SET @@session.sql_require_primary_key={variable.value}*/{delimiter}\n"
                )
            case DefaultTableEncryption() if variable.value != _UNSET:
                encryption = (
                    f"/*!80016 SET @@session.default_table_encryption={variable.value}*/{delimiter}\n"
                )
            case EnableCascadeTriggers():
                found = found._replace(cascade_triggers=variable.value)
    return found._replace(explicit=explicit, always=primary_key + encryption)


class SharedSettings:
    """The settings in force that both servers' tools print alike, each where it changes."""

    def __init__(self) -> None:
        self.auto_increment: tuple[int, int] = (0, 0)
        self.time_zone = ""
        self.lc_time_names = -1
        self.collation_database = -1

    def _increments(self, lines: list[str], new: Settings) -> None:
        if new.auto_increment != self.auto_increment:
            increment, offset = self.auto_increment = new.auto_increment
            lines.append(
                f"SET @@session.auto_increment_increment={increment}, "
                f"@@session.auto_increment_offset={offset}{DELIMITER}\n"
            )

    def _places(self, lines: list[str], new: Settings) -> None:
        if new.time_zone and new.time_zone != self.time_zone:
            lines.append(f"SET @@session.time_zone='{new.time_zone}'{DELIMITER}\n")
            self.time_zone = new.time_zone
        if new.lc_time_names != self.lc_time_names:
            lines.append(f"SET @@session.lc_time_names={new.lc_time_names}{DELIMITER}\n")
            self.lc_time_names = new.lc_time_names
        if new.collation_database != self.collation_database:
            lines.append(
                f"SET @@session.collation_database={new.collation_database or 'DEFAULT'}{DELIMITER}\n"
            )
            self.collation_database = new.collation_database


_STATE = (
    "schema", "thread_id_printed", "flags2", "sql_mode", "charset", "default_collation", "cascade_triggers",
    "auto_increment", "time_zone", "lc_time_names", "collation_database",
)  # fmt: skip


class Session(SharedSettings):
    """What the statements printed so far have set: a SET line is printed only where something changes."""

    def __init__(self, short_form: bool = False, print_thread_id: bool = True) -> None:
        super().__init__()
        self.short_form = short_form
        self.print_thread_id = print_thread_id
        self.schema = ""
        self.thread_id = 0
        self.thread_id_printed = False
        self.flags2: int | None = None
        self.sql_mode: int | None = None
        self.charset: tuple[int, int, int] | None = None
        self.default_collation = 0
        self.cascade_triggers = 0
        self._settings: dict[tuple[int, ...], tuple[tuple[StatusVariable, ...], Settings]] = {}
        self._current: Settings | None = None

    def settings(self, status: tuple[StatusVariable, ...]) -> tuple[Settings, int]:
        """The settings, and the microseconds. Sessions repeat their settings, and the decoder gives the same
        objects for the same bytes."""
        microseconds = 0
        ids = []
        for variable in status:
            if type(variable) is Microseconds:
                microseconds = variable.microseconds
            else:
                ids.append(id(variable))
        key = tuple(ids)
        known = self._settings.get(key)
        if known is None:
            if len(self._settings) >= 1024:
                self._settings.clear()
            known = self._settings[key] = (status, settings_of(status))  # kept, so their ids stay theirs
        return known[1], microseconds

    def before_query(self, event: QueryEvent, query: bytes, header: str, type_name: str) -> str:
        """All lines before the statement's text."""
        settings, microsecond = self.settings(event.status)
        line = ""
        if not self.short_form:
            line = (
                f"{header}\t{type_name}\tthread_id={event.thread_id}\texec_time={event.exec_time}"
                f"\terror_code={event.error_code}{settings.xid}\n"
            )
        use, changes = self.go_on(event, query, settings)
        fraction = f".{microsecond:06}" if microsecond else ""
        return f"{line}{use}SET TIMESTAMP={event.header.timestamp}{fraction}{DELIMITER}\n{changes}"

    def go_on(self, event: QueryEvent, query: bytes, settings: Settings) -> tuple[str, str]:
        """Take over what the query ran under: the ``use`` line, and the lines behind its timestamp."""
        flags = event.header.flags
        use = changes = ""
        if flags & SUPPRESS_USE:
            if not is_transaction_keyword(query):
                self.schema = ""
        elif event.schema != self.schema:
            self.schema = event.schema
            if event.schema:
                use = f"use {quoted(event.schema)}{DELIMITER}\n"
        if not self.thread_id_printed or (flags & THREAD_SPECIFIC and event.thread_id != self.thread_id):
            changes = self._thread_id(event.thread_id)
        if settings is not self._current:
            changes += self._changes(settings)
            self._current = settings
        else:
            changes += settings.explicit + settings.always
        return use, changes

    def snapshot(self) -> tuple[Any, ...]:
        """Everything that the lines before the next query depend on, but the thread's number."""
        return tuple(getattr(self, name) for name in _STATE)

    def restore(self, snapshot: tuple[Any, ...]) -> None:
        for name, value in zip(_STATE, snapshot, strict=True):
            setattr(self, name, value)
        self._current = None

    def _thread_id(self, thread_id: int) -> str:
        if not self.print_thread_id:
            return ""
        self.thread_id = thread_id
        self.thread_id_printed = True
        printed = 999999999 if self.short_form else thread_id
        return f"SET @@session.pseudo_thread_id={printed}{DELIMITER}\n"

    def _changes(self, new: Settings) -> str:
        lines: list[str] = []
        if new.flags2 is not None:
            changed = ~0 if self.flags2 is None else self.flags2 ^ new.flags2
            if changed:
                parts = [
                    f"{name}={int(bool(new.flags2 & bit) != inverted)}"
                    for bit, name, inverted in _FLAGS2
                    if changed & bit
                ]
                lines.append(f"SET {', '.join(parts)}{DELIMITER}\n")
                self.flags2 = new.flags2
        if new.sql_mode is not None and new.sql_mode != self.sql_mode:
            mask = "/*!80005 &~0x1003ff00*/" if new.sql_mode & REMOVED_MODES else ""
            lines.append(f"SET @@session.sql_mode={new.sql_mode}{mask}{DELIMITER}\n")
            self.sql_mode = new.sql_mode
        self._increments(lines, new)
        if new.charset is not None and new.charset != self.charset:
            self._charset(lines, new.charset)
        self._places(lines, new)
        lines.append(new.explicit)
        if new.default_collation != self.default_collation:
            if new.default_collation:
                lines.append(
                    f"/*!80011 SET @@session.default_collation_for_utf8mb4={new.default_collation}*/{DELIMITER}\n"
                )
            self.default_collation = new.default_collation
        lines.append(new.always)
        if new.cascade_triggers != self.cascade_triggers:
            lines.append(
                f"/*!90700 SET @@session.enable_cascade_triggers={new.cascade_triggers}*/{DELIMITER}\n"
            )
            self.cascade_triggers = new.cascade_triggers
        return "".join(lines)

    def _charset(self, lines: list[str], charset: tuple[int, int, int]) -> None:
        lines.append(charset_text(charset))
        self.charset = charset

    def user_var(self, event: UserVar) -> str:
        """Set under a character set in which the name and the value read right; then back to the old one."""
        name = quoted(text_of(event.variable.partition(b"\0")[0]))
        text = f"SET @{name}:={user_var_value(event)}{DELIMITER}\n"
        collation = event.collation or 0
        if event.is_null or event.type == STRING_RESULT or mysql_collation(collation) is None:
            collation = UTF8MB3
        needed = (UTF8MB3, collation, UTF8MB3)
        if needed == self.charset:
            return text
        back = "" if self.charset is None else charset_text(self.charset)
        return charset_text(needed) + text + back


def charset_text(charset: tuple[int, int, int]) -> str:
    client, connection, server = charset
    known = mysql_collation(client)
    name = "" if known is None else f"/*!\\C {known[0]} */{DELIMITER}\n"
    return (
        f"{name}SET @@session.character_set_client={client},@@session.collation_connection={connection},"
        f"@@session.collation_server={server}{DELIMITER}\n"
    )


def mysql_collation(number: int) -> tuple[str, str] | None:
    """Charset and name of a collation, if MySQL has it."""
    return COLLATIONS.get(number) if number < _MARIADB_COLLATIONS else None


def intvar_text(event: Intvar) -> str:
    name = Intvar.NAMES.get(event.kind, "INVALID_INT")
    return f"SET {name}={signed(event.value)}{DELIMITER}\n"


def rand_text(event: Rand) -> str:
    return f"SET @@RAND_SEED1={signed(event.seed1)}, @@RAND_SEED2={signed(event.seed2)}{DELIMITER}\n"


def user_var_value(event: UserVar) -> str:
    value = event.value
    if event.is_null or value is None:
        return "NULL"
    collation = mysql_collation(event.collation or 0)
    if collation is None:
        return "???"
    if event.type == STRING_RESULT:
        digits = f"0x{value.hex().upper()}" if value else '""'
        return f"_{collation[0]} {digits} COLLATE `{collation[1]}`"
    try:
        if event.type == REAL_RESULT:
            return f"{struct.unpack('<d', value[:8])[0]:.14g}"
        if event.type == INT_RESULT:
            return str(struct.unpack("<Q" if event.unsigned else "<q", value[:8])[0])
        if event.type == DECIMAL_RESULT:
            return decimal_text(decode_decimal(value[2:], value[0], value[1]))
    except (struct.error, IndexError, GtidalError):
        pass
    return "???"


def signed(value: int) -> int:
    """An unsigned number of 64 bits as the tool's printing takes it."""
    return value - (1 << 64) if value >> 63 else value


def load_text(event: ExecuteLoadQuery, path: str | None) -> str:
    """The LOAD DATA statement, reading the file that was put together from the log's blocks."""
    if path is None:
        return text_of(event.query)
    head, rest = event.query[: event.file_name_start], event.query[event.file_name_end :]
    replace = " REPLACE" if event.duplicates == 2 else ""
    return f"{text_of(head)} LOCAL INFILE {quoted_path(path)}{replace} INTO{text_of(rest)}"
