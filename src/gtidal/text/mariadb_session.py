"""The SET lines that mariadb-binlog prints before a statement, and the variables around it."""

from __future__ import annotations

from typing import NamedTuple

from gtidal.columns.charsets import charset_name, collation_name
from gtidal.events.format import version_numbers
from gtidal.events.header import SUPPRESS_USE, THREAD_SPECIFIC
from gtidal.events.statement import (
    STRING_RESULT,
    CharacterSetCollations,
    MariadbMicroseconds,
    MariadbXid,
    QueryEvent,
    StatusVariable,
    UserVar,
)
from gtidal.text.statements import (
    DELIMITER,
    Settings,
    SharedSettings,
    quoted,
    settings_of,
    text_of,
    user_var_value,
)

AUTO_IS_NULL, NO_CONSTRAINT_CHECKS, NOT_AUTOCOMMIT = 1 << 14, 1 << 15, 1 << 19
NO_FOREIGN_KEYS, RELAXED_UNIQUE, INSERT_HISTORY = 1 << 26, 1 << 27, 1 << 30
EXPLICIT_TIMESTAMP, IF_EXISTS = 1 << 24, 1 << 28
_ALWAYS_NAMED = (
    AUTO_IS_NULL | NO_CONSTRAINT_CHECKS | NOT_AUTOCOMMIT | NO_FOREIGN_KEYS | RELAXED_UNIQUE | INSERT_HISTORY
)
_FIRST_PATCH = {5: 17, 6: 9, 7: 5, 8: 4, 9: 2}
"""By the minor version of MariaDB 10: the patch level that began to log EXPLICIT_TIMESTAMP."""
_MAX_MICROSECOND = 999_999

# (bit, name, whether a set bit means the variable is off), in the order of printing
_FLAGS2 = (
    (NO_FOREIGN_KEYS, "@@session.foreign_key_checks", True),
    (AUTO_IS_NULL, "@@session.sql_auto_is_null", False),
    (RELAXED_UNIQUE, "@@session.unique_checks", True),
    (NOT_AUTOCOMMIT, "@@session.autocommit", True),
    (NO_CONSTRAINT_CHECKS, "@@session.check_constraint_checks", True),
    (IF_EXISTS, "@@session.sql_if_exists", False),
    (EXPLICIT_TIMESTAMP, "@@session.explicit_defaults_for_timestamp", False),
    (INSERT_HISTORY, "@@session.system_versioning_insert_history", False),
)


def named_flags(server_version: str) -> int:
    """The bits of FLAGS2 that the tool names in the log of a server of this version; two of them were other
    things once. A change of other bits is printed too, as a SET of nothing."""
    version = version_numbers(server_version)
    if "MariaDB" not in server_version or version < (10, 5, 2):
        return _ALWAYS_NAMED
    major, minor, patch = version
    if major == 10 and minor < 10 and patch < _FIRST_PATCH.get(minor, 99):
        return _ALWAYS_NAMED | IF_EXISTS
    return _ALWAYS_NAMED | IF_EXISTS | EXPLICIT_TIMESTAMP


def is_transaction_keyword(query: bytes, xa: bool) -> bool:
    """Whether a query steers a transaction and belongs to no schema. The comparisons are the tool's own."""
    if xa:
        return query[:3].upper() == b"XA "
    if b"BEGIN".startswith(query) or b"COMMIT".startswith(query):
        return True
    return query[:9].upper().startswith((b"SAVEPOINT", b"ROLLBACK"))


def collations_line(variable: CharacterSetCollations) -> str:
    """Pairs of ids: the default collation that names a character set, and what replaces it."""
    chosen = {pair.default: pair.replacement for pair in variable.pairs}
    pairs = [
        (charset_name(default), collation_name(collation, mariadb=True))
        for default, collation in sorted(chosen.items())  # the tool keeps them in this order
    ]
    if any(None in pair for pair in pairs):
        return "/* SET @@session.character_set_collations='<format not recognized>' */\n"
    text = ",".join(f"{charset}={collation}" for charset, collation in pairs)
    return f"SET @@session.character_set_collations='{text}'{DELIMITER}\n"


class MariadbSettings(NamedTuple):
    """A query's status variables as the tool takes them."""

    common: Settings
    microsecond: int
    xid: int
    collations: str
    """A line that is printed each time."""


def mariadb_settings(status: tuple[StatusVariable, ...]) -> MariadbSettings:
    microsecond, xid, collations = 0, 0, ""
    for variable in status:
        match variable:
            case MariadbMicroseconds() if variable.microseconds <= _MAX_MICROSECOND:
                microsecond = variable.microseconds
            case MariadbXid():
                xid = variable.xid
            case CharacterSetCollations() if variable.pairs:
                collations = collations_line(variable)
    return MariadbSettings(settings_of(status), microsecond, xid, collations)


class MariadbSession(SharedSettings):
    """What the statements printed so far have set: a SET line is printed only where something changes."""

    def __init__(self, short_form: bool = False) -> None:
        super().__init__()
        self.short_form = short_form
        self.named_flags = _ALWAYS_NAMED
        self.in_xa = False
        """Whether the GTID event before said that the transaction is a distributed one."""
        self.schema = ""
        self.thread_id: int | None = None
        self.flags2: int | None = None
        self.sql_mode: int | None = None
        self.charset: tuple[int, int, int] | None = None
        self._current: tuple[StatusVariable, ...] | None = None
        self._settings = mariadb_settings(())

    def before_query(self, event: QueryEvent, query: bytes, header: str, type_name: str) -> str:
        """All lines before the statement's text."""
        known = event.status is self._current  # the decoder gives the same tuple for the same bytes
        if not known:
            self._current = event.status
            self._settings = mariadb_settings(event.status)
        settings = self._settings
        flags = event.header.flags
        lines = []
        if not self.short_form:
            lines.append(
                f"{header}\t{type_name}\tthread_id={event.thread_id}\texec_time={event.exec_time}"
                f"\terror_code={event.error_code}\txid={settings.xid}\n"
            )
        if is_transaction_keyword(query, self.in_xa):
            pass  # it needs no schema, and leaves the one in use alone
        elif flags & SUPPRESS_USE:
            self.schema = ""
        elif event.schema != self.schema:
            self.schema = event.schema
            if event.schema:
                lines.append(f"use {quoted(event.schema)}{DELIMITER}\n")
        fraction = f".{settings.microsecond:06}" if settings.microsecond else ""
        lines.append(f"SET TIMESTAMP={event.header.timestamp}{fraction}{DELIMITER}\n")
        if self.thread_id is None or (flags & THREAD_SPECIFIC and event.thread_id != self.thread_id):
            self.thread_id = event.thread_id
            printed = 999999999 if self.short_form else event.thread_id
            lines.append(f"SET @@session.pseudo_thread_id={printed}{DELIMITER}\n")
        if known:
            lines.append(settings.collations)
        else:
            self._changes(lines, settings.common, settings.collations)
        return "".join(lines)

    def _changes(self, lines: list[str], new: Settings, collations: str) -> None:
        if new.flags2 is not None:
            self._flags(lines, new.flags2)
        if new.sql_mode is not None and new.sql_mode != self.sql_mode:
            lines.append(f"SET @@session.sql_mode={new.sql_mode}{DELIMITER}\n")
            self.sql_mode = new.sql_mode
        self._increments(lines, new)
        if new.charset is not None and new.charset != self.charset:
            self._charset(lines, new.charset)
        lines.append(collations)
        self._places(lines, new)

    def _flags(self, lines: list[str], flags: int) -> None:
        changed = ~0 if self.flags2 is None else self.flags2 ^ flags
        if not changed:
            return
        changed &= self.named_flags
        parts = [
            f"{name}={int(bool(flags & bit) != inverted)}" for bit, name, inverted in _FLAGS2 if changed & bit
        ]
        lines.append(f"SET {', '.join(parts)}{DELIMITER}\n")
        self.flags2 = flags

    def _charset(self, lines: list[str], charset: tuple[int, int, int]) -> None:
        client, connection, server = charset
        name = charset_name(client)
        if name is not None:
            lines.append(f"/*!\\C {name} */{DELIMITER}\n")
        else:
            lines.append("# Ignored (Unknown charset) ")
        lines.append(
            f"SET @@session.character_set_client={name or 'Unknown'},"
            f"@@session.collation_connection={connection},@@session.collation_server={server}{DELIMITER}\n"
        )
        self.charset = charset


def user_var_text(event: UserVar) -> str:
    name = quoted(text_of(event.variable))
    return f"SET @{name}:={_user_var_value(event)}{DELIMITER}\n"


def _user_var_value(event: UserVar) -> str:
    value = event.value
    if event.is_null or value is None or event.type != STRING_RESULT:
        return user_var_value(event)
    collation = event.collation or 0
    charset = charset_name(collation)
    if charset is None:
        return "???"
    digits = f"X'{value.hex().upper()}'" if value else '""'
    return f"_{charset} {digits} COLLATE `{collation_name(collation, mariadb=True)}`"
