"""The small numbers that plans, cells and kernel share.

The kernel's modules compare with literals, because a chain of literals compiles to a jump table; the tests
hold them against the names here.
"""

from __future__ import annotations

from enum import IntEnum


class ShapeCode(IntEnum):
    """How a value's bytes lie in a row image, and what its slot holds. ``size`` and the two arguments of a
    plan's column are given in parentheses."""

    UNREADABLE = 0
    INT = 1
    """Little-endian, signed (size bytes): the number."""
    UINT = 2
    """Little-endian, unsigned (size bytes): the number's 64 bits."""
    FLOAT = 3
    """IEEE, little-endian (size 4 or 8): its bits, zero-extended."""
    BYTES = 4
    """Bytes behind a little-endian length (size bytes of length): a span, start + (length << 32)."""
    DECIMAL = 5
    """Up to 18 digits (size bytes, precision, scale): the number without its point."""
    WIDE_DECIMAL = 6
    """19 to 38 digits (size bytes, precision, scale): two slots, low and high half in two's complement."""
    LONG_DECIMAL = 7
    """More than 38 digits (size bytes, precision, scale): a span of the stored bytes, digits checked."""
    BITS = 8
    """Big-endian, unsigned (size bytes): the number's 64 bits."""
    YEAR = 9
    """One byte: the year, 0 or 1901 to 2155."""
    DATE = 10
    """Three bytes: days since 1970-01-01. Not a date: state ZERO, year << 9 | month << 5 | day."""
    TIME24 = 11
    """Three bytes, hhmmss: microseconds, signed."""
    DATETIME64 = 12
    """Eight bytes, YYYYMMDDhhmmss: microseconds since 1970-01-01. Not a date: state ZERO, packed as DATETIME."""
    EPOCH32 = 13
    """Four bytes little-endian: microseconds since 1970 in UTC; 0 is state ZERO."""
    EPOCH = 14
    """Four bytes big-endian and a fraction (size, digits): as EPOCH32."""
    DATETIME = 15
    """Five bytes big-endian and a fraction (size, digits): microseconds since 1970-01-01. Not a date: state
    ZERO, ((year·13+month) << 22 | day << 17 | hour << 12 | minute << 6 | second) << 24 | microsecond."""
    TIME = 16
    """Three bytes big-endian and a fraction (size, digits): microseconds, signed."""
    NOTHING = 17
    """No bytes: state NULL."""


class State(IntEnum):
    """What a cell holds."""

    VALUE = 0
    NULL = 1
    ABSENT = 2
    """The image does not hold the column."""
    ZERO = 3
    """A date or time that is none; the slot packs its parts."""
    HEAP = 4
    """Text in the heap: the slot is a span of it."""
    RAW = 5
    """Bytes that are no text in their charset: the slot is a span of the data."""
    HEAP_BYTES = 6
    """Bytes in the heap: the slot is a span of it."""
    VARIANT = 7
    """A value in VARIANT's binary form in the heap: the slot is a span of it."""


class TextAction(IntEnum):
    """What is done with a column's cells before they are text."""

    NONE = 0
    UTF8 = 1
    """Validate; what is not UTF-8 becomes RAW."""
    TABLE = 2
    """A single-byte charset (argument: which table of 256 code points): converted into the heap; a byte without
    a character makes the cell RAW."""
    ASCII = 3
    """Some other charset whose ASCII is ASCII: pure ASCII stays, anything else is not ours (code FOREIGN)."""
    FOREIGN = 4
    """Any value is not ours."""
    PAD = 5
    """BINARY(n) (argument: n): zero bytes added again, in the heap (HEAP_BYTES)."""
    TIME = 6
    """(argument: digits) The text of a TIME."""
    DATE = 7
    """The text of cells in state ZERO."""
    DATETIME = 8
    """(argument: digits) The text of cells in state ZERO; also TIMESTAMP's, whose slot is then 0."""
    DECIMAL = 9
    """The text of a LONG_DECIMAL."""


class VariantKind(IntEnum):
    """How a cell in state VALUE is written as VARIANT. HEAP is always a string, RAW and HEAP_BYTES binary."""

    NULL = 0
    NUMBER = 1
    """The header byte and so many (``size``) low bytes of the slot."""
    BOOLEAN = 2
    DECIMAL = 3
    """The header byte, the scale (argument), ``size`` (4 or 8) low bytes of the slot."""
    UNSIGNED = 4
    """A decimal of 16 bytes and scale 0: the slot, unsigned."""
    WIDE_DECIMAL = 5
    """A decimal of 16 bytes: the scale (argument), two slots."""
    STRING = 6
    BINARY = 7
    JSON = 8
    """A span of MySQL's binary JSON; no bytes at all are null."""
    LABEL = 9
    """An index into the column's labels, from 1; 0 is ''; beyond the last: the number (int64)."""
    LABELS = 10
    """A bit set over the column's labels: an array of strings; a bit beyond the last: the number (int64, or a
    decimal of 16 bytes if it does not fit)."""
    GEOMETRY = 11
    """A span: four bytes of SRID little-endian, then WKB: an object {srid, wkb}. Shorter than four: srid null,
    wkb all of it."""
    VECTOR = 12
    """A span of four-byte floats: an array of floats; binary if the length is not a multiple of four."""


class Role(IntEnum):
    """What ``groups.follow`` does with events of a type; ASK leaves them to the reference decoder."""

    ASK = 0
    GTID = 1
    BEGIN = 2
    """A QUERY, if it says BEGIN behind a GTID."""
    TABLE_MAP = 3
    ROWS_V1 = 4
    ROWS_V2 = 5
    ROWS_QUERY = 6
    XID = 7
    PAYLOAD = 8
    MARIADB_GTID = 9
    ANNOTATE_ROWS = 10
    QUERY = 11
    """Any QUERY. This and what follows may begin a transaction that has no GTID."""
    SETTING = 12
    """INTVAR, RAND, USER_VAR: what the statement that follows depends on."""


class Statement(IntEnum):
    """What a statement does to the transaction that it is in."""

    UNKNOWN = 0
    BEGIN = 1
    COMMIT = 2
    ROLLBACK = 3
    """Or SAVEPOINT, if TO follows."""
    SAVEPOINT = 4
    DML = 5
    DDL = 6
    CREATE = 7
    """DDL, unless it is CREATE TABLE … SELECT as one transaction."""


STATEMENT_WORDS = {
    **{
        kind.name: kind
        for kind in (Statement.BEGIN, Statement.COMMIT, Statement.ROLLBACK, Statement.SAVEPOINT)
    },
    **dict.fromkeys(
        ("INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD", "CALL", "DO", "SELECT", "WITH"), Statement.DML
    ),
    **dict.fromkeys(
        ("ALTER", "DROP", "TRUNCATE", "RENAME", "GRANT", "REVOKE", "ANALYZE", "OPTIMIZE", "FLUSH"),
        Statement.DDL,
    ),
    "CREATE": Statement.CREATE,
}
"""What the kernel knows a statement by: its first word."""


class Txn(IntEnum):
    """The numbers kept of a transaction: a row of ``TXN_FIELDS`` int64. NONE stands for null; texts are a start
    in the heap and a size, NONE for null."""

    POSITION = 0
    END_POSITION = 1
    TIMESTAMP = 2
    SERVER_ID = 3
    OUTCOME = 4
    KIND = 5
    GTID = 6
    GTID_SIZE = 7
    UUID_SIZE = 8
    """The server's UUID is the start of the GTID's text; 0 where that has none."""
    TAG = 9
    TAG_SIZE = 10
    GNO = 11
    LAST_COMMITTED = 12
    SEQUENCE_NUMBER = 13
    ROW_ONLY = 14
    IMMEDIATE_TIMESTAMP = 15
    ORIGINAL_TIMESTAMP = 16
    IMMEDIATE_VERSION = 17
    ORIGINAL_VERSION = 18
    THREAD_ID = 19
    TICKET = 20
    """64 bits, unsigned; whether it is there: PRESENT."""
    XID = 21
    PRESENT = 22
    """1: there is a ticket. 2: there is an XID."""
    SCHEMA = 23
    SCHEMA_SIZE = 24
    QUERY = 25
    QUERY_SIZE = 26
    EVENTS = 27
    TABLES = 28
    """Where its tables begin in the list of tables' numbers."""
    TABLES_COUNT = 29
    UNCOMPRESSED_LENGTH = 30
    XA = 31
    XA_SIZE = 32
    ANNOUNCED_LENGTH = 33
    COMPRESSED = 34
    ROWS_INSERTED = 35
    ROWS_UPDATED = 36
    ROWS_DELETED = 37


TXN_FIELDS = 40
NONE = -(2**63 - 1)
OUTCOMES = ("commit", "rollback", "prepared", "incomplete")
KINDS = ("dml", "ddl", "xa", "other")
FAILFAST, PERMISSIVE, DROPMALFORMED = MODES = ("FAILFAST", "PERMISSIVE", "DROPMALFORMED")
"""What becomes of damage."""
