"""Table definitions, read from the CREATE TABLE statements of MySQL 5.x to 9.x and MariaDB.

ALTER, DROP and RENAME TABLE are followed as far as they change columns and keys, since dumps and migration
scripts use them. Defaults, comments, constraints, other indexes and partitions are passed over.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from gtidal.columns.declared import (
    TEXTS,
    Charset,
    ColumnDefinition,
    ColumnDraft,
    Key,
    KeyPart,
    TableDefinition,
    TableName,
    arguments,
    blob_prefix,
    character_size,
    charset_of_collation,
    read_charset,
    read_collation,
    read_column,
    says_charset,
)
from gtidal.columns.sql_tokens import Statement, statements


class Table:
    """A table while its statements are read."""

    def __init__(self, name: TableName, default: Charset) -> None:
        self.name = name
        self.default = default
        self.drafts: list[ColumnDraft] = []
        self.columns: list[ColumnDefinition] = []
        self.keys: list[Key] = []
        self.versioned = False
        self.row_end: str | None = None
        self.periods: dict[str, tuple[KeyPart, ...]] = {}

    def finish(self) -> None:
        """The columns, now that the table's default charset is known."""
        for draft in self.drafts:
            self.columns.append(draft.finish(self.default))
            if draft.row_end:
                self.row_end = draft.name
        self.drafts = []

    def copy(self, name: TableName) -> Table:
        other = Table(name, self.default)
        other.columns, other.keys = list(self.columns), list(self.keys)
        other.versioned, other.row_end = self.versioned, self.row_end
        other.periods = dict(self.periods)
        return other

    def definition(self) -> TableDefinition:
        columns, keys = self.columns, [self._with_period(key) for key in self.keys]
        if self.versioned:
            # MariaDB adds the period's columns if none are declared, and its end to each unique key.
            row_end = self.row_end or "row_end"
            if self.row_end is None:
                stamp = ColumnDefinition("", "TIMESTAMP", digits=6, visible=False, nullable=False)
                columns = [*columns, replace(stamp, name="row_start"), replace(stamp, name=row_end)]
            keys = [_with_part(key, row_end) if key.primary or key.unique else key for key in keys]
        return TableDefinition(*self.name, tuple(columns), tuple(keys))

    def _with_period(self, key: Key) -> Key:
        """MariaDB's ``p WITHOUT OVERLAPS`` means the period's end and start."""
        parts: list[KeyPart] = []
        for part in key.parts:
            parts += self.periods.get((part.column or "").lower(), ()) if part.period else (part,)
        return replace(key, parts=tuple(parts))


def _with_part(key: Key, column: str) -> Key:
    if any(part.column is not None and part.column.lower() == column.lower() for part in key.parts):
        return key
    return replace(key, parts=(*key.parts, KeyPart(column)))


# --- keys -------------------------------------------------------------------------------------------------


def _starts_key(statement: Statement) -> bool:
    """Whether an index or constraint is next, and not a column: not all of these words are reserved."""
    word, after = statement.peek().upper, statement.peek(1).upper
    if word in ("PRIMARY", "KEY", "INDEX", "UNIQUE", "FULLTEXT", "SPATIAL", "CONSTRAINT", "FOREIGN", "CHECK"):
        return True
    return (word == "VECTOR" and after in ("KEY", "INDEX")) or (word == "PERIOD" and after == "FOR")


def _read_key(statement: Statement, table: Table) -> None:
    if statement.accept("CONSTRAINT") and not _starts_key(statement):
        statement.name()
    primary = statement.accept("PRIMARY", "KEY")
    unique = primary or statement.accept("UNIQUE")
    kind = statement.peek().upper
    if unique or kind in ("KEY", "INDEX", "FULLTEXT", "SPATIAL"):
        if not primary:
            statement.accept_any("FULLTEXT", "SPATIAL")
            statement.accept_any("KEY", "INDEX")
        statement.accept("IF", "NOT", "EXISTS")
        name = None
        if statement.peek().upper not in ("(", "USING", "TYPE"):
            name = statement.name()
        by_hash = bool(statement.accept_any("USING", "TYPE")) and statement.take().upper == "HASH"
        parts = _read_parts(statement)
        while not _element_ends(statement):
            by_hash = statement.accept("USING", "HASH") or by_hash
            if not _element_ends(statement):
                statement.skip_one()
        if unique or any(part.column is None for part in parts):
            table.keys.append(Key(name, parts, primary, unique, by_hash))
        return
    if statement.accept("PERIOD", "FOR") and not statement.accept("SYSTEM_TIME"):
        period = statement.name()
        table.periods[period.lower()] = _read_parts(statement)[::-1]
    while not _element_ends(statement):  # a foreign key, a check, a period
        statement.skip_one()


def _element_ends(statement: Statement) -> bool:
    return statement.peek().upper in (",", ")") or statement.at_end()


def _read_parts(statement: Statement) -> tuple[KeyPart, ...]:
    statement.expect("(")
    parts: list[KeyPart] = []
    while True:
        if statement.peek().upper == "(":
            statement.skip_one()
            parts.append(KeyPart(None))
        else:
            name = statement.name()
            prefix = arguments(statement)
            period = statement.accept("WITHOUT", "OVERLAPS")
            parts.append(KeyPart(name, prefix[0] if prefix else 0, period))
        statement.accept_any("ASC", "DESC")
        if not statement.accept(","):
            break
    statement.expect(")")
    return tuple(parts)


def read_element(statement: Statement, table: Table) -> None:
    if _starts_key(statement):
        _read_key(statement, table)
    else:
        table.drafts.append(read_column(statement, table.keys))


# --- whole statements -------------------------------------------------------------------------------------


_USE_SHOW = "give it as SHOW CREATE TABLE prints it"


def _read_options(statement: Statement, default: Charset) -> tuple[Charset, bool]:
    """A table's or a database's options, up to the end of the statement: the default charset, and whether
    MariaDB keeps the table's history."""
    charset, collation = default
    versioned = False
    while not statement.at_end():
        if says_charset(statement):
            charset, collation = read_charset(statement) or default[0], None
        elif statement.accept("COLLATE"):
            collation = read_collation(statement)
            if collation is not None:
                charset = charset_of_collation(collation) or charset
        elif statement.accept("WITH", "SYSTEM", "VERSIONING"):
            versioned = True
        elif statement.accept("PARTITION", "BY"):
            while not statement.at_end():
                statement.skip_one()
        elif statement.peek().upper in ("AS", "SELECT") or statement.accept("(", "SELECT"):
            raise statement.problem(f"CREATE TABLE … SELECT does not tell the columns; {_USE_SHOW}")
        else:
            statement.skip_one()
    return (charset, collation), versioned


@dataclass
class _Reader:
    schema: str | None
    tables: dict[TableName, Table] = field(default_factory=dict)
    databases: dict[str, Charset] = field(default_factory=dict)

    def read(self, statement: Statement) -> None:
        if statement.accept("USE"):
            self.schema = statement.name()
        elif statement.accept("CREATE"):
            self._create(statement)
        elif statement.accept("DROP", "TABLE"):
            statement.accept("IF", "EXISTS")
            self.tables.pop(self._table_name(statement), None)
            while statement.accept(","):
                self.tables.pop(self._table_name(statement), None)
        elif statement.accept("ALTER"):
            self._alter(statement)
        elif statement.accept("RENAME", "TABLE"):
            self._rename(statement)

    def _table_name(self, statement: Statement) -> TableName:
        first = statement.name()
        return (first, statement.name()) if statement.accept(".") else (self.schema, first)

    def _create(self, statement: Statement) -> None:
        replacing = statement.accept("OR", "REPLACE")
        if statement.accept_any("DATABASE", "SCHEMA"):
            statement.accept("IF", "NOT", "EXISTS")
            name = statement.name()
            self.databases[name], _ = _read_options(statement, (None, None))
        elif statement.accept("UNIQUE", "INDEX") or statement.accept("UNIQUE", "KEY"):
            self._create_unique_index(statement)
        elif statement.accept("TABLE"):
            self._create_table(statement, replacing)

    def _create_unique_index(self, statement: Statement) -> None:
        statement.accept("IF", "NOT", "EXISTS")
        key = statement.name()
        while not statement.accept("ON") and not statement.at_end():
            statement.skip_one()
        table = self.tables.get(self._table_name(statement))
        if table is not None:
            table.keys.append(Key(key, _read_parts(statement), unique=True))

    def _create_table(self, statement: Statement, replacing: bool) -> None:
        kept = statement.accept("IF", "NOT", "EXISTS")
        name = self._table_name(statement)
        if kept and not replacing and name in self.tables:
            return
        if statement.accept("LIKE") or statement.accept("(", "LIKE"):
            other = self.tables.get(self._table_name(statement))
            if other is None:
                raise statement.problem(
                    f"CREATE TABLE {name[1]} LIKE a table that is not defined before it; {_USE_SHOW}"
                )
            self.tables[name] = other.copy(name)
            return
        table = Table(name, self.databases.get(name[0] or "", (None, None)))
        if statement.accept("("):
            read_element(statement, table)
            while statement.accept(","):
                read_element(statement, table)
            statement.expect(")")
            table.default, table.versioned = _read_options(statement, table.default)
            table.finish()
        if not table.columns:
            raise statement.problem(f"CREATE TABLE {name[1]} without columns; {_USE_SHOW}")
        self.tables[name] = table

    def _alter(self, statement: Statement) -> None:
        statement.accept_any("ONLINE", "IGNORE")
        if not statement.accept("TABLE"):
            return
        statement.accept("IF", "EXISTS")
        name = self._table_name(statement)
        table = self.tables.get(name)
        if table is None:
            return  # nothing is known of it, so there is nothing to change
        while not statement.at_end():
            if statement.accept("RENAME", "TO") or statement.accept("RENAME", "AS"):
                table.name = self._table_name(statement)
                self.tables[table.name] = self.tables.pop(name)
                name = table.name
            else:
                _alter_one(statement, table)
            if not statement.accept(",") and not statement.at_end():
                raise statement.problem(f"ALTER TABLE {name[1]}: {statement.peek().shown} is not understood")

    def _rename(self, statement: Statement) -> None:
        while True:
            old = self._table_name(statement)
            statement.expect("TO")
            new = self._table_name(statement)
            if old in self.tables:
                self.tables[new] = self.tables.pop(old)
                self.tables[new].name = new
            if not statement.accept(","):
                break


# --- ALTER TABLE ------------------------------------------------------------------------------------------


def _alter_one(statement: Statement, table: Table) -> None:
    """One change, up to the comma behind it. What does not concern columns or keys is passed over."""
    if statement.accept("ADD"):
        _alter_add(statement, table)
    elif statement.accept("DROP"):
        _alter_drop(statement, table)
    elif statement.accept("MODIFY"):
        statement.accept("COLUMN")
        _if_exists(statement)
        _replace_column(statement, table, statement.peek().text)
    elif statement.accept("CHANGE"):
        statement.accept("COLUMN")
        _if_exists(statement)
        _replace_column(statement, table, statement.name())
    elif statement.accept("RENAME", "COLUMN"):
        _if_exists(statement)
        index = _find(statement, table, statement.name())
        statement.expect("TO")
        new = statement.name()
        _rename_in_keys(table, table.columns[index].name, new)
        table.columns[index] = replace(table.columns[index], name=new)
    elif statement.accept("CONVERT", "TO"):
        if not says_charset(statement):
            raise statement.problem("CHARACTER SET is expected behind CONVERT TO")
        charset = read_charset(statement)
        collation = read_collation(statement) if statement.accept("COLLATE") else None
        table.default = charset, collation
        table.columns = [_converted(column, charset, collation) for column in table.columns]
    elif statement.accept("ALTER") and not statement.accept_any("INDEX", "CHECK", "CONSTRAINT"):
        statement.accept("COLUMN")
        index = _find(statement, table, statement.name())
        if statement.accept("SET", "VISIBLE"):
            table.columns[index] = replace(table.columns[index], visible=True)
        elif statement.accept("SET", "INVISIBLE"):
            table.columns[index] = replace(table.columns[index], visible=False)
    else:
        statement.accept("DEFAULT")
        if says_charset(statement):
            table.default = read_charset(statement), None
        if statement.accept("COLLATE"):
            collation = read_collation(statement)
            charset = charset_of_collation(collation) if collation else None
            table.default = charset or table.default[0], collation
    while statement.peek().upper != "," and not statement.at_end():
        statement.skip_one()


def _converted(column: ColumnDefinition, charset: str | None, collation: str | None) -> ColumnDefinition:
    """A text column in another charset. Where characters take more bytes than before, TEXT becomes MEDIUMTEXT:
    as many as before must fit."""
    if column.type not in TEXTS or column.charset == "binary":
        return column
    size, old = column.size, column.charset
    if size is not None and old and charset and character_size(charset) > character_size(old):
        characters = ((1 << 8 * size) - 1) // character_size(old)
        size = blob_prefix(characters * character_size(charset))
    return replace(column, charset=charset, collation=collation, size=size)


def _if_exists(statement: Statement) -> bool:
    return statement.accept("IF", "EXISTS")


def _find(statement: Statement, table: Table, name: str, missing: bool = False) -> int:
    for index, column in enumerate(table.columns):
        if column.name.lower() == name.lower():
            return index
    if missing:
        return -1
    raise statement.problem(f"table {table.name[1]} has no column {name}")


def _alter_add(statement: Statement, table: Table) -> None:
    if statement.accept("PARTITION") or statement.accept("PERIOD"):
        return
    if statement.peek().upper == "SYSTEM" and statement.peek(1).upper == "VERSIONING":
        table.versioned = True
        return
    if _starts_key(statement):
        _read_key(statement, table)
        return
    statement.accept("COLUMN")
    kept = statement.accept("IF", "NOT", "EXISTS")
    if statement.accept("("):
        read_element(statement, table)
        while statement.accept(","):
            read_element(statement, table)
        statement.expect(")")
        table.finish()
        return
    column = read_column(statement, table.keys).finish(table.default)
    index = _place(statement, table, len(table.columns))
    if kept and _find(statement, table, column.name, missing=True) >= 0:
        return
    table.columns.insert(index, column)


def _place(statement: Statement, table: Table, otherwise: int) -> int:
    """Where FIRST or AFTER puts a column."""
    if statement.accept("FIRST"):
        return 0
    if statement.accept("AFTER"):
        return _find(statement, table, statement.name()) + 1
    return otherwise


def _replace_column(statement: Statement, table: Table, old: str) -> None:
    index = _find(statement, table, old)
    before = table.columns.pop(index)
    column = read_column(statement, table.keys).finish(table.default)
    table.columns.insert(_place(statement, table, index), column)
    _rename_in_keys(table, before.name, column.name)


def _rename_in_keys(table: Table, old: str, new: str) -> None:
    for place, key in enumerate(table.keys):
        parts = tuple(replace(part, column=new) if _is(part, old) else part for part in key.parts)
        table.keys[place] = replace(key, parts=parts)


def _is(part: KeyPart, name: str) -> bool:
    return part.column is not None and part.column.lower() == name.lower()


def _alter_drop(statement: Statement, table: Table) -> None:
    if statement.accept("PRIMARY", "KEY"):
        table.keys = [key for key in table.keys if not key.primary]
    elif statement.accept_any("INDEX", "KEY", "CONSTRAINT"):
        _if_exists(statement)
        name = statement.name().lower()
        table.keys = [key for key in table.keys if key.primary or _key_name(key) != name]
    elif statement.accept("SYSTEM", "VERSIONING"):
        table.versioned = False
    elif not statement.accept_any("PARTITION", "FOREIGN", "CHECK", "PERIOD"):
        statement.accept("COLUMN")
        gone = _if_exists(statement)
        name = statement.name()
        index = _find(statement, table, name, missing=gone)
        if index >= 0:
            del table.columns[index]
        keys = (
            replace(key, parts=tuple(part for part in key.parts if not _is(part, name))) for key in table.keys
        )
        table.keys = [key for key in keys if key.parts]


def _key_name(key: Key) -> str:
    """A key without a name is called after its first column."""
    return (key.name or key.parts[0].column or "functional_index").lower()


FIRST_WORDS = frozenset(("CREATE", "USE", "DROP", "ALTER", "RENAME"))


def parse_definitions(sql_text: str, default_schema: str | None = None) -> dict[TableName, TableDefinition]:
    """The tables that a script creates, by schema and name; what is not about tables is passed over.

    The schema is the one the statement names, else that of the last USE, else ``default_schema``. A
    ``UsageError`` names the line."""
    reader = _Reader(default_schema)
    for statement in statements(sql_text, FIRST_WORDS):
        reader.read(statement)
    return {name: table.definition() for name, table in reader.tables.items()}


def parse_columns(
    items: Iterable[tuple[str, str | None]],
) -> tuple[tuple[ColumnDefinition, ...], tuple[Key, ...]]:
    """Columns from names and declarations (``INT UNSIGNED PRIMARY KEY``); without one, the name alone."""
    columns: list[ColumnDefinition] = []
    keys: list[Key] = []
    for name, declared in items:
        if declared is None:
            columns.append(ColumnDefinition(name))
            continue
        # No statement ends here, so that nothing behind a semicolon is overlooked.
        [statement] = statements(f"COLUMN {declared}".replace("\0", " "), ("COLUMN",), delimiter="\0")
        draft = read_column(statement, keys, name)
        if not statement.at_end():
            raise statement.problem(f"column {name}: {statement.peek().shown} is not understood")
        columns.append(draft.finish((None, None)))
    return tuple(columns), tuple(keys)
