"""A table map's columns, settled: with what a definition knows and the log does not tell.

What the log itself tells wins, and where the two contradict each other, reading stops: a definition of another
time would give wrong values without anyone noticing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import TypeVar

from gtidal.columns.charsets import (
    BINARY,
    COLLATIONS,
    charset_name,
    charset_of_name,
    collation_name,
    decoder,
)
from gtidal.columns.declared import (
    ColumnDefinition,
    Key,
    TableDefinition,
    blob_prefix,
    character_size,
    full_collation_name,
)
from gtidal.columns.meanings import Meaning
from gtidal.columns.types import Column
from gtidal.errors import UsageError

_MULTIBYTE_CODECS = {
    **{"big5": "big5", "cp932": "cp932", "eucjpms": "euc_jp", "euckr": "cp949", "gb18030": "gb18030"},
    **{"gb2312": "gb2312", "gbk": "gbk", "sjis": "shift_jis", "ujis": "euc_jp", "ucs2": "utf-16-be"},
    **{"utf16": "utf-16-be", "utf16le": "utf-16-le", "utf32": "utf-32-be", "utf8mb3": "utf-8"},
    **{"utf8mb4": "utf-8"},
}
_UTF8 = 45
"""utf8mb4_general_ci."""

_ADVICE = "the definition must be that of the time when the log was written"

T = TypeVar("T")


# --- charsets ---------------------------------------------------------------------------------------------


@cache
def _collations(mariadb: bool) -> dict[str, int]:
    """Ids by name; of two with one name (Croatian), MariaDB's own is the one that kept the name there."""
    found: dict[str, int] = {}
    for number in sorted(COLLATIONS):
        found.setdefault(collation_name(number, mariadb) or "", number)
    return found


@cache
def default_collation(charset: str) -> int:
    """The collation of a charset that is named without one.

    For utf8mb4 this is the default of the servers whose SHOW CREATE TABLE leaves it out: MySQL before 8.0 and
    MariaDB before 10.6. The newer ones always name it. It makes no difference to the text."""
    of_charset = {name: number for number, (owner, name) in sorted(COLLATIONS.items()) if owner == charset}
    usual = "latin1_swedish_ci" if charset == "latin1" else f"{charset}_general_ci"
    return of_charset.get(usual) or min(of_charset.values())


def _collation_id(definition: ColumnDefinition, mariadb: bool) -> int | None:
    if definition.charset is None:
        return None
    if definition.collation is None:
        return default_collation(definition.charset)
    known = _collations(mariadb)
    name = full_collation_name(definition.collation)
    # MariaDB's uca1400_ai_ci is short for utf8mb4_uca1400_ai_ci, ucs2_uca1400_ai_ci, …
    found = known.get(name) or known.get(f"{definition.charset}_{name}") or _collations(not mariadb).get(name)
    return default_collation(definition.charset) if found is None else found


@cache
def _two_byte_codes(charset: str) -> dict[str, bytes]:
    """The bytes of each character of one or two bytes, by the decoder that reads the log."""
    decode = decoder(charset)
    found: dict[str, bytes] = {}
    if decode is None:
        return found
    codes = [bytes((lead,)) for lead in range(256)]
    if charset in _MULTIBYTE_CODECS:
        codes += [bytes((lead, trail)) for lead in range(0x80, 256) for trail in range(0x30, 256)]
    for code in codes:
        try:
            character = decode(code)
        except UnicodeDecodeError:
            continue
        if len(character) == 1:
            found.setdefault(character, code)
    return found


def encode_label(label: str | bytes, charset: str) -> bytes:
    """A label as a log holds it: in the column's charset. The decoder is the judge of what was encoded."""
    if isinstance(label, bytes):
        return label
    decode = decoder(charset)
    if decode is None:  # binary: the bytes of the script
        return label.encode("utf-8", "surrogateescape")
    codec = _MULTIBYTE_CODECS.get(charset)
    if codec is not None:
        try:
            data = label.encode(codec)
            if decode(data) == label:
                return data
        except UnicodeError:
            pass
    codes = _two_byte_codes(charset)
    try:
        return b"".join(codes[character] for character in label)
    except KeyError as error:
        raise UsageError(f"the label {label!r} has {error.args[0]!r}, which {charset} does not") from None


def with_charset(columns: Sequence[Column], charset: str) -> tuple[Column, ...]:
    """The columns, those of unknown charset taken to be in this one. Nothing in such a log tells TEXT from
    BLOB: bytes that are not text in the charset stay bytes."""
    collation = default_collation(charset_of_name(charset))
    text = (Meaning.CHARACTERS, Meaning.COMPRESSED)
    return tuple(
        replace(column, charset=collation)
        if column.charset is None and column.type.meaning in text
        else column
        for column in columns
    )


def fully_told(columns: Sequence[Column]) -> bool:
    """Whether the log itself tells all that a definition could: it was written with FULL metadata."""
    return all(column.name is not None for column in columns)


# --- types ------------------------------------------------------------------------------------------------

_CODES = {
    "TINYINT": 1,
    "SMALLINT": 2,
    "INT": 3,
    "FLOAT": 4,
    "DOUBLE": 5,
    "BIGINT": 8,
    "MEDIUMINT": 9,
    "YEAR": 13,
}
_TEMPORAL = {"TIMESTAMP": (17, 7), "DATETIME": (18, 12), "TIME": (19, 11)}
"""With MySQL 5.6's way to store them, and without."""
_ADDRESSES = {"UUID": 16, "INET6": 16, "INET4": 4}


def _sizes(definition: ColumnDefinition, charset: str | None) -> list[int]:
    """The bytes of the declared length; several where the charset is not known."""
    length = definition.length or 0
    charset = charset or definition.charset
    sizes = (1, 2, 3, 4) if charset is None else (character_size(charset),)
    return [length * size for size in sizes]


def _same_type(column: Column, definition: ColumnDefinition) -> bool:
    """Whether a column of the log can be the declared one, by its type and all that its metadata tells.

    Metadata 0 is none at all where the type cannot have it: early 5.1 servers wrote no metadata."""
    kind, code = definition.type, column.real_type
    told = None if column.charset is None else charset_name(column.charset)
    if kind in _CODES:
        return code == _CODES[kind]
    if kind in _TEMPORAL:
        return code in _TEMPORAL[kind] and column.digits == definition.digits
    if kind == "DATE":
        return code in (10, 14)
    if kind == "DECIMAL":
        whole = (definition.length, definition.digits)
        return code == 0 or (
            code == 246 and (not column.metadata or (column.precision, column.digits) == whole)
        )
    if kind == "BIT":
        return code == 16 and column.bits in (0, definition.length)
    if kind == "CHAR":
        return code == 254 and (not column.metadata or column.length in _sizes(definition, told))
    if kind == "VARCHAR":
        sizes = _sizes(definition, told)
        if definition.compressed:  # one byte more: how it is compressed
            return code == 141 and column.metadata - 1 in sizes
        return code in (15, 253) and (not column.metadata or column.metadata in sizes)
    if kind == "BLOB":
        prefixes = (
            {definition.size} if definition.size else {blob_prefix(n) for n in _sizes(definition, told)}
        )
        codes = (140,) if definition.compressed else (249, 250, 251, 252)
        return code in codes and (not column.metadata or column.metadata in prefixes)
    if kind in ("ENUM", "SET"):
        return code == (247 if kind == "ENUM" else 248) and (
            not column.metadata or column.metadata & 0xFF == _member_size(definition)
        )
    if kind == "JSON":  # in MariaDB another name for LONGTEXT
        return code == 245 or (code == 252 and column.metadata == 4)
    if kind == "VECTOR":  # in MariaDB stored as VARBINARY
        return code == 242 or (code == 15 and column.metadata == 4 * (definition.length or 0))
    if kind in _ADDRESSES:
        return code == 254 and column.length == _ADDRESSES[kind]
    return code == 255 and kind == "GEOMETRY"


def _member_size(definition: ColumnDefinition) -> int:
    count = len(definition.labels or ())
    if definition.type == "ENUM":
        return 1 if count < 256 else 2
    size = (count + 7) // 8
    return 8 if size > 4 else size


_BLOB_NAMES = {0: "", 1: "TINY", 2: "", 3: "MEDIUM", 4: "LONG"}


def _logged_type(column: Column) -> str:
    """What the log says of a column's type, for an error message."""
    code, name = column.real_type, column.type.name
    name = {3: "INT", 8: "BIGINT", 9: "MEDIUMINT", 2: "SMALLINT", 1: "TINYINT", 246: "DECIMAL"}.get(
        code, name
    )
    if code in (17, 18, 19):
        return f"{name[:-1]}({column.digits})"
    if column.precision is not None:
        return f"{name}({column.precision},{column.digits})"
    if column.bits is not None:
        return f"{name}({column.bits})"
    if column.length is not None:
        return f"{'CHAR or BINARY' if code == 254 else name} of {column.length} bytes"
    if code in (140, 252):
        size = _BLOB_NAMES.get(column.metadata, "")
        return f"{size}BLOB or {size}TEXT{' COMPRESSED' if code == 140 else ''}"
    if code in (247, 248):
        return f"{name} of {column.metadata & 0xFF} bytes"
    return name


def _declared_type(definition: ColumnDefinition) -> str:
    kind, length = definition.type or "", definition.length
    if kind == "DECIMAL":
        text = f"DECIMAL({length},{definition.digits})"
    elif kind in _TEMPORAL:
        text = f"{kind}({definition.digits})" if definition.digits else kind
    elif kind in ("ENUM", "SET"):
        text = f"{kind} with {len(definition.labels or ())} labels"
    elif kind == "BLOB":
        word = "BLOB" if definition.charset == "binary" else "TEXT"
        text = f"{_BLOB_NAMES[definition.size]}{word}" if definition.size else f"{word}({length})"
    elif kind in ("CHAR", "VARCHAR") and definition.charset == "binary":
        text = f"{kind.replace('CHAR', '')}BINARY({length})"
    else:
        text = kind if length is None else f"{kind}({length})"
    if definition.charset not in (None, "binary"):
        text += f" CHARACTER SET {definition.charset}"
    return text + (" COMPRESSED" if definition.compressed else "")


# --- settling ---------------------------------------------------------------------------------------------


def settle_columns(
    columns: Sequence[Column],
    definition: TableDefinition,
    table_name: str,
    *,
    mariadb: bool = False,
    generated_key: bool = False,
) -> tuple[Column, ...]:
    """The columns of a table map, with what the definition knows and the log does not tell. ``table_name`` is
    for messages.

    ``mariadb``: whose log it is; the servers have a few names and habits each. ``generated_key``: the table
    map's flag GENERATED_INVISIBLE_PK; such a key may be left out of SHOW CREATE TABLE.

    Both servers log generated columns, VIRTUAL ones too (seen on MySQL 9.7 and MariaDB 11.8), so a
    definition's columns and a log's stand in the same places."""
    hashed = _hashed_keys(definition) if mariadb else []
    declared = _all_columns(columns, definition, hashed, generated_key)
    if len(declared) != len(columns):
        raise UsageError(
            f"{table_name} has {len(columns)} columns in the log and {len(definition.columns)} in its definition"
            f" ({', '.join(column.name for column in definition.columns)}): {_ADVICE}"
        )
    settled = [
        _settle(column, wanted, table_name, mariadb) for column, wanted in zip(columns, declared, strict=True)
    ]
    keys = [key for key in definition.keys if key not in hashed]
    return _settle_key(columns, settled, _key(columns, declared, keys, table_name), table_name)


_GENERATED_KEY = ColumnDefinition("my_row_id", "BIGINT", unsigned=True, visible=False, nullable=False)


def _hashed_keys(definition: TableDefinition) -> list[Key]:
    """MariaDB: a unique key on a whole BLOB, or one that asks for it, is on a hash in a hidden column. It is not
    used as a primary key."""
    blobs = {column.name.lower() for column in definition.columns if column.type == "BLOB"}

    def hashed(key: Key) -> bool:
        whole = ((part.column or "").lower() for part in key.parts if not part.prefix)
        return key.by_hash or not blobs.isdisjoint(whole)

    return [key for key in definition.keys if key.unique and not key.primary and hashed(key)]


def _all_columns(
    columns: Sequence[Column], definition: TableDefinition, hashed: list[Key], generated_key: bool
) -> list[ColumnDefinition]:
    """The declared columns, and those that servers add of their own accord, if the log has them."""
    declared = list(definition.columns)
    if generated_key and len(columns) == len(declared) + 1:
        return [_GENERATED_KEY, *declared]
    extra = len(columns) - len(declared)
    if extra <= 0:
        return declared
    if extra <= len(hashed) and all(column.real_type == 8 for column in columns[-extra:]):
        names = [f"DB_ROW_HASH_{number}" for number in range(1, extra + 1)]
        return declared + [ColumnDefinition(name, "BIGINT", unsigned=True, visible=False) for name in names]
    # MySQL 8.0, until it stopped logging them: a hidden column for each expression in an index.
    hidden = [
        ColumnDefinition(f"!hidden!{key.name or 'functional_index'}!{place}!0", visible=False)
        for key in definition.keys
        for place, part in enumerate(key.parts)
        if part.column is None
    ]
    return declared + hidden if extra == len(hidden) else declared


def _settle(column: Column, definition: ColumnDefinition, table: str, mariadb: bool) -> Column:
    def agreed(
        what: str, logged: T | None, declared: T | None, alike: Callable[[T, T], bool] = lambda a, b: a == b
    ) -> T | None:
        if logged is None:
            return declared
        if declared is not None and not alike(logged, declared):
            raise _contradiction(column, definition, table, f"{what} {logged}", f"{what} {declared}")
        return logged

    if definition.type is not None and not _same_type(column, definition):
        raise _contradiction(column, definition, table, _logged_type(column), _declared_type(definition))
    name = agreed("the name", column.name, definition.name, lambda one, other: one.lower() == other.lower())
    if definition.type is None:
        return replace(column, name=name, visible=column.visible if definition.visible else False)
    charset = agreed("collation", column.charset, _charset(column, definition, mariadb), _same_charset)
    labels = column.labels
    if definition.labels is not None:
        # An image holds a label's number, so the charset of the labels is ours to choose if nobody tells it.
        charset = _UTF8 if charset is None else charset
        try:
            own = tuple(encode_label(label, charset_name(charset) or "binary") for label in definition.labels)
        except UsageError as error:
            raise UsageError(f"{table}: column {definition.name}: {error.message}") from None
        labels = agreed("the labels", column.labels, own, _same_labels)
    is_vector = column.real_type == 242
    return replace(
        column,
        name=name,
        unsigned=agreed("unsigned:", column.unsigned, definition.unsigned),
        charset=charset,
        labels=labels,
        geometry_type=agreed("geometry type", column.geometry_type, definition.geometry_type),
        dimension=agreed("dimension", column.dimension, definition.length if is_vector else None),
        visible=agreed("visible:", column.visible, definition.visible),
    )


def _charset(column: Column, definition: ColumnDefinition, mariadb: bool) -> int | None:
    """The collation that the server would log."""
    if definition.type in ("VECTOR", *_ADDRESSES) or (definition.type == "GEOMETRY" and mariadb):
        return BINARY
    if definition.type == "JSON" and column.real_type == 252:
        return _collations(mariadb=True)["utf8mb4_bin"]
    return _collation_id(definition, mariadb)


def _same_charset(one: int, other: int) -> bool:
    """Collations do not change the text, and where only a charset is declared, ours is a guess."""
    return charset_name(one) == charset_name(other)


def _same_labels(logged: tuple[bytes, ...], declared: tuple[bytes, ...]) -> bool:
    """MySQL's SHOW CREATE TABLE prints "?" for characters outside the first plane."""
    return len(logged) == len(declared) and all(
        one == other or b"?" in other for one, other in zip(logged, declared, strict=True)
    )


def _contradiction(
    column: Column, definition: ColumnDefinition, table: str, logged: str, declared: str
) -> UsageError:
    return UsageError(
        f"{table}: column {column.index + 1}, {definition.name}: the log has {logged}, the definition {declared}:"
        f" {_ADVICE}"
    )


def _key(
    columns: Sequence[Column], declared: Sequence[ColumnDefinition], keys: Sequence[Key], table: str
) -> list[tuple[int, int]]:
    """The key that the server logs: column and prefix (0 for all of it). It is the primary key, else the first
    unique key without NULLs, prefixes, expressions and virtual columns."""
    if declared and declared[0] is _GENERATED_KEY:
        return [(0, 0)]
    places = {column.name.lower(): index for index, column in enumerate(declared)}
    for key in sorted(keys, key=lambda each: not each.primary):
        parts: list[tuple[int, int]] = []
        for part in key.parts:
            index = places.get(part.column.lower()) if part.column is not None else None
            if index is None:
                break
            whole = declared[index].type in ("CHAR", "VARCHAR") and part.prefix == declared[index].length
            parts.append((index, 0 if whole else part.prefix))
        if len(parts) != len(key.parts):
            if key.primary:
                raise UsageError(f"the definition of {table} has a primary key on a column it does not have")
            continue
        if key.primary:
            return parts
        if key.unique and not any(
            prefix or columns[at].nullable or declared[at].virtual for at, prefix in parts
        ):
            return parts
    return []


def _settle_key(
    columns: Sequence[Column], settled: list[Column], key: list[tuple[int, int]], table: str
) -> tuple[Column, ...]:
    logged = sorted(
        (column.key_position, column.index, column.key_prefix or 0)
        for column in columns
        if column.key_position is not None
    )
    if logged or fully_told(columns):
        if logged and key and [(index, prefix) for _, index, prefix in logged] != key:
            names = (
                ", ".join(str(settled[index].name) for index in indexes)
                for indexes in ([each[1] for each in logged], [each[0] for each in key])
            )
            raise UsageError(
                "{}: the log has the key ({}), the definition ({}): {}".format(table, *names, _ADVICE)
            )
        return tuple(settled)
    for place, (index, prefix) in enumerate(key):
        settled[index] = replace(settled[index], key_position=place, key_prefix=prefix)
    return tuple(settled)
