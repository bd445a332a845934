"""What SQL declares of a table, and how one column's declaration is read.

Only what a reader of binary logs needs is kept: types, character sets, labels, visibility and the keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from gtidal.columns.charsets import COLLATIONS, charset_of_name, collation_name
from gtidal.columns.sql_tokens import BYTES, NAME, STRING, WORD, Statement
from gtidal.errors import UsageError


@dataclass(frozen=True, slots=True)
class ColumnDefinition:
    """A column as SQL declares it. With ``type`` None only the name is known."""

    name: str
    type: str | None = None
    """The canonical type: INT for INTEGER, BLOB for the whole family of TEXT and BLOB, see ``size``."""
    length: int | None = None
    """CHAR, VARCHAR, TEXT(n): characters, or bytes if binary; BIT: bits; DECIMAL: digits; VECTOR: numbers."""
    digits: int = 0
    """DECIMAL: the scale; TIME, DATETIME, TIMESTAMP: fractional digits."""
    size: int | None = None
    """BLOB and TEXT: bytes of the length prefix; None where it depends on a charset that is not known."""
    unsigned: bool | None = None
    charset: str | None = None
    collation: str | None = None
    """None where the statement leaves it to the charset's default."""
    labels: tuple[str | bytes, ...] | None = None
    geometry_type: int | None = None
    visible: bool = True
    nullable: bool = True
    virtual: bool = False
    """Generated and not stored."""
    compressed: bool = False


@dataclass(frozen=True, slots=True)
class KeyPart:
    column: str | None
    """None for an expression."""
    prefix: int = 0
    period: bool = False
    """It names a period of MariaDB's, not a column."""


@dataclass(frozen=True, slots=True)
class Key:
    """A primary key, a unique key, or an index with an expression: the others do not concern a log."""

    name: str | None
    parts: tuple[KeyPart, ...]
    primary: bool = False
    unique: bool = False
    by_hash: bool = False


@dataclass(frozen=True, slots=True)
class TableDefinition:
    schema: str | None
    table: str
    columns: tuple[ColumnDefinition, ...]
    keys: tuple[Key, ...] = ()

    @property
    def title(self) -> str:
        return f"{self.schema}.{self.table}" if self.schema else self.table

    @property
    def key(self) -> tuple[KeyPart, ...]:
        """The declared primary key; empty if there is none."""
        return next((key.parts for key in self.keys if key.primary), ())


TableName = tuple[str | None, str]
Charset = tuple[str | None, str | None]
"""A charset and a collation."""

GEOMETRY_TYPES = {
    "GEOMETRY": 0,
    "POINT": 1,
    "LINESTRING": 2,
    "POLYGON": 3,
    "MULTIPOINT": 4,
    "MULTILINESTRING": 5,
    "MULTIPOLYGON": 6,
    "GEOMETRYCOLLECTION": 7,
    "GEOMCOLLECTION": 7,
}
INTEGERS = ("TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT")
NUMBERS = (*INTEGERS, "FLOAT", "DOUBLE", "DECIMAL")
TEXTS = ("CHAR", "VARCHAR", "BLOB", "ENUM", "SET")

_SYNONYMS = {
    **{"INT1": "TINYINT", "INT2": "SMALLINT", "INT3": "MEDIUMINT", "INT4": "INT", "INT8": "BIGINT"},
    **{"INTEGER": "INT", "MIDDLEINT": "MEDIUMINT", "BOOL": "TINYINT", "BOOLEAN": "TINYINT"},
    **{"REAL": "DOUBLE", "FLOAT4": "FLOAT", "FLOAT8": "DOUBLE"},
    **{"DEC": "DECIMAL", "NUMERIC": "DECIMAL", "FIXED": "DECIMAL", "NUMBER": "DECIMAL"},
    **{"CHARACTER": "CHAR", "VARCHARACTER": "VARCHAR", "VARCHAR2": "VARCHAR", "RAW": "VARBINARY"},
    **{"CLOB": "LONGTEXT"},
}
# The most bytes that a character takes; all others take one.
CHARACTER_SIZE = {
    **dict.fromkeys(("big5", "cp932", "euckr", "gb2312", "gbk", "sjis", "ucs2"), 2),
    **dict.fromkeys(("eucjpms", "ujis", "utf8mb3"), 3),
    **dict.fromkeys(("gb18030", "utf16", "utf16le", "utf32", "utf8mb4"), 4),
}
_BLOB_LIMITS = (0xFF, 0xFFFF, 0xFFFFFF)
_BLOB_SIZES = {"TINY": 1, "": 2, "MEDIUM": 3, "LONG": 4}
_BLOBS = {f"{word}{kind}": size for word, size in _BLOB_SIZES.items() for kind in ("BLOB", "TEXT")}
_TEMPORAL = ("TIME", "DATETIME", "TIMESTAMP")
_FIXED = ("DATE", "JSON", "UUID", "INET4", "INET6")
_DEFAULT_DIMENSION = 2048  # of MySQL's VECTOR


def character_size(charset: str) -> int:
    """The most bytes that a character takes."""
    return CHARACTER_SIZE.get(charset, 1)


def blob_prefix(size: int) -> int:
    """Bytes of the length prefix of a TEXT(n) or BLOB(n) of this size in bytes."""
    return next((prefix for prefix, limit in enumerate(_BLOB_LIMITS, 1) if size <= limit), 4)


class ColumnDraft:
    """A column while its declaration is read."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.type = ""
        self.length: int | None = None
        self.digits = 0
        self.size: int | None = None
        self.unsigned = False
        self.charset: str | None = None
        self.collation: str | None = None
        self.binary = False
        self.labels: list[str | bytes] | None = None
        self.geometry_type: int | None = None
        self.visible = True
        self.nullable = True
        self.virtual = False
        self.compressed = False
        self.row_end = False

    def finish(self, default: Charset) -> ColumnDefinition:
        charset, collation = self._charset(default)
        size = self.size
        if self.type == "BLOB" and size is None and charset is not None:
            size = blob_prefix((self.length or 0) * character_size(charset))
        unsigned = None
        if self.type == "YEAR":
            unsigned = True  # as both servers log it
        elif self.type in NUMBERS:
            unsigned = self.unsigned
        labels = self.labels
        if labels is not None and charset != "binary":
            # The servers drop them, too.
            labels = [label.rstrip(" ") if isinstance(label, str) else label.rstrip(b" ") for label in labels]
        return ColumnDefinition(
            name=self.name,
            type=self.type,
            length=self.length,
            digits=self.digits,
            size=size,
            unsigned=unsigned,
            charset=charset,
            collation=collation,
            labels=None if labels is None else tuple(labels),
            geometry_type=self.geometry_type,
            visible=self.visible,
            nullable=self.nullable,
            virtual=self.virtual,
            compressed=self.compressed,
        )

    def _charset(self, default: Charset) -> Charset:
        if self.type not in TEXTS:
            return None, None
        charset, collation = self.charset, self.collation
        if collation is not None:
            return charset or charset_of_collation(collation) or default[0], collation
        if charset is None:
            charset, collation = default
        if self.binary and charset is not None and charset != "binary":
            collation = f"{charset}_bin"
        return charset, collation


def charset_of_collation(collation: str) -> str | None:
    """None for MariaDB's short names (``uca1400_ai_ci``), which any Unicode charset may take."""
    return _charsets().get(full_collation_name(collation))


@cache
def _charsets() -> dict[str, str]:
    """Charsets by the names that MySQL and MariaDB give their collations."""
    found = {
        str(collation_name(number, mariadb=True)): charset for number, (charset, _) in COLLATIONS.items()
    }
    return found | {name: charset for charset, name in COLLATIONS.values()}


def full_collation_name(name: str) -> str:
    """In lower case, and utf8 called utf8mb3."""
    name = name.lower()
    return f"utf8mb3_{name[5:]}" if name.startswith("utf8_") else name


def arguments(statement: Statement) -> list[int]:
    """The numbers in parentheses, if any."""
    found: list[int] = []
    if statement.accept("("):
        found.append(statement.number())
        while statement.accept(","):
            found.append(statement.number())
        statement.expect(")")
    return found


def _labels(statement: Statement) -> list[str | bytes]:
    found: list[str | bytes] = []
    statement.expect("(")
    while True:
        token = statement.take()
        if token.kind == BYTES:
            found.append(token.text.encode("latin-1"))
        elif token.kind == STRING or token.quoted_twice:
            found.append(token.text)
        else:
            raise UsageError(f"line {token.line}: a label is expected, and {token.shown} is there")
        if not statement.accept(","):
            break
    statement.expect(")")
    return found


def _read_type(statement: Statement, draft: ColumnDraft) -> bool:
    """Read the type; whether it is SERIAL, which is a key as well."""
    token = statement.peek()
    word = token.upper if token.kind == WORD else ""
    if not word:
        raise statement.problem(f"the type of column {draft.name} is expected, and {token.shown} is there")
    statement.take()
    national = word in ("NATIONAL", "NCHAR", "NVARCHAR")
    if word == "NATIONAL":
        word = statement.take().upper
    elif word == "NCHAR" and statement.accept("VARCHAR"):
        word = "VARCHAR"
    word = {"NCHAR": "CHAR", "NVARCHAR": "VARCHAR"}.get(word, word)
    word = _SYNONYMS.get(word, word)
    if word == "CHAR" and statement.accept("VARYING"):
        word = "VARCHAR"
    if word == "DOUBLE":
        statement.accept("PRECISION")
    if word == "LONG":  # LONG [VARCHAR | CHAR VARYING | VARBINARY]
        word = "MEDIUMBLOB" if statement.accept("VARBINARY") else "MEDIUMTEXT"
        if not statement.accept_any("VARCHAR", "VARCHARACTER") and statement.accept_any("CHAR", "CHARACTER"):
            statement.accept("VARYING")
    if national:
        draft.charset = "utf8mb3"
    if word == "SERIAL":
        draft.type, draft.unsigned, draft.nullable = "BIGINT", True, False
        return True
    if word in ("ENUM", "SET"):
        draft.type, draft.labels = word, _labels(statement)
        return False
    try:
        _set_type(draft, word, arguments(statement))
    except LookupError:
        raise UsageError(f"line {token.line}: column {draft.name}: no type is called {word}") from None
    if draft.type == "VARCHAR" and draft.length is None:
        raise UsageError(f"line {token.line}: column {draft.name}: {word} needs a length")
    return False


def _set_type(draft: ColumnDraft, word: str, numbers: list[int]) -> None:
    first = numbers[0] if numbers else None
    draft.type = word
    if word in INTEGERS or word in ("YEAR", *_FIXED):
        pass  # a number here is the width to print with
    elif word in ("FLOAT", "DOUBLE"):
        if word == "FLOAT" and len(numbers) == 1 and numbers[0] > 24:
            draft.type = "DOUBLE"
    elif word == "DECIMAL":
        draft.length = first or 10
        draft.digits = numbers[1] if len(numbers) > 1 else 0
    elif word in _TEMPORAL:
        draft.digits = first or 0
    elif word in ("BIT", "CHAR"):
        draft.length = 1 if first is None else first
    elif word == "BINARY":
        draft.type, draft.charset, draft.length = "CHAR", "binary", 1 if first is None else first
    elif word in ("VARCHAR", "VARBINARY"):
        draft.type, draft.length = "VARCHAR", first
        if word == "VARBINARY":
            draft.charset = "binary"
    elif word in _BLOBS:
        draft.type = "BLOB"
        draft.size = _BLOBS[word] if first is None else None
        draft.length = first
        if word.endswith("BLOB"):
            draft.charset = "binary"
    elif word in GEOMETRY_TYPES:
        draft.type, draft.geometry_type = "GEOMETRY", GEOMETRY_TYPES[word]
    elif word == "VECTOR":
        draft.length = first or _DEFAULT_DIMENSION
    else:
        raise LookupError(word)


def read_charset(statement: Statement) -> str | None:
    """Behind CHARACTER SET: the charset; None for DEFAULT."""
    statement.accept("=")
    token = statement.take()
    if token.upper == "DEFAULT":
        return None
    try:
        return charset_of_name(token.text)
    except UsageError as error:
        raise UsageError(f"line {token.line}: {error.message}") from None


def read_collation(statement: Statement) -> str | None:
    statement.accept("=")
    token = statement.take()
    if token.upper == "DEFAULT":
        return None
    name = full_collation_name(token.text)
    if not any(known == name or known.endswith(f"_{name}") for known in _charsets()):
        raise UsageError(f"line {token.line}: no collation is called {token.text!r}")
    return name


def says_charset(statement: Statement) -> bool:
    return (
        statement.accept("CHARACTER", "SET") or statement.accept("CHAR", "SET") or statement.accept("CHARSET")
    )


def _skip_default(statement: Statement) -> None:
    """One value behind DEFAULT or ON UPDATE: a literal, a name or a function's call, an expression in
    parentheses."""
    while statement.accept_any("+", "-"):
        pass
    token = statement.peek()
    statement.skip_one()
    if token.kind not in (WORD, NAME):
        return
    if token.text.startswith("_") and statement.peek().kind in (STRING, BYTES, NAME):
        statement.take()  # a string with its charset: _utf8mb4'x'
    while statement.accept("."):
        statement.take()
    if statement.peek().upper == "(":
        statement.skip_one()


def read_column(statement: Statement, keys: list[Key], name: str | None = None) -> ColumnDraft:
    """A column's name (in place of which ``name`` may be given), type and attributes, up to the comma or
    parenthesis behind them; a key that is declared with it is added to ``keys``."""
    own = statement.name()
    draft = ColumnDraft(own if name is None else name)
    serial = _read_type(statement, draft)
    unique = serial
    primary = False
    attribute = statement.peek
    while attribute().upper not in (",", ")", ";", "FIRST", "AFTER") and not statement.at_end():
        if statement.accept_any("UNSIGNED", "ZEROFILL"):
            draft.unsigned = True  # ZEROFILL is unsigned, too
        elif says_charset(statement):
            draft.charset = read_charset(statement)
        elif statement.accept("COLLATE"):
            draft.collation = read_collation(statement)
        elif statement.accept("BINARY"):
            draft.binary = True
        elif statement.accept("ASCII"):
            draft.charset = "latin1"
        elif statement.accept("UNICODE"):
            draft.charset = "ucs2"
        elif statement.accept("BYTE"):
            draft.charset = "binary"
        elif statement.accept("NOT", "NULL"):
            draft.nullable = False
        elif statement.accept("SERIAL", "DEFAULT", "VALUE"):
            unique, draft.nullable = True, False
        elif statement.accept("DEFAULT") or statement.accept("ON", "UPDATE"):
            _skip_default(statement)
        elif statement.accept_any("COMMENT", "CONSTRAINT", "COLUMN_FORMAT", "STORAGE"):
            if attribute().upper != "CHECK":
                statement.skip_one()
        elif statement.accept("UNIQUE"):
            statement.accept("KEY")
            unique = True
        elif statement.accept("PRIMARY", "KEY") or statement.accept_any("KEY", "PRIMARY"):
            primary = True
        elif statement.accept("AS", "ROW") or statement.accept("GENERATED", "ALWAYS", "AS", "ROW"):
            draft.row_end = statement.take().upper == "END"
            draft.nullable = False
        elif statement.accept("AS"):
            draft.virtual = True
            statement.skip_one()
        elif statement.accept_any("STORED", "PERSISTENT"):
            draft.virtual = False
        elif statement.accept("INVISIBLE"):
            draft.visible = False
        elif statement.accept("COMPRESSED"):
            draft.compressed = True
        elif statement.accept("REFERENCES"):
            _skip_reference(statement)
        else:
            statement.skip_one()
    if primary or unique:
        keys.append(Key(None, (KeyPart(draft.name),), primary=primary, unique=True))
    return draft


def _skip_reference(statement: Statement) -> None:
    """A foreign key's target: its ON DELETE SET NULL says nothing of this column."""
    statement.name()
    if statement.accept("."):
        statement.name()
    if statement.peek().upper == "(":
        statement.skip_one()
    while True:
        if statement.accept("MATCH"):
            statement.skip_one()
        elif statement.accept("ON", "DELETE") or statement.accept("ON", "UPDATE"):
            if statement.accept_any("SET", "NO"):
                statement.take()
            else:
                statement.skip_one()
        else:
            return
