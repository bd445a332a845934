"""A schema that the user gives, for logs that do not tell it: names, signs, charsets, labels, keys.

``definitions_from`` takes SQL text or a mapping; ``settle_columns`` gives a table map's columns what the
definition knows. Files and servers are read in ``gtidal.sources.definitions``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from gtidal.columns.create_table import parse_columns, parse_definitions
from gtidal.columns.declared import ColumnDefinition, Key, KeyPart, TableDefinition, TableName
from gtidal.columns.settling import default_collation, fully_told, settle_columns, with_charset
from gtidal.errors import UsageError

__all__ = [
    "ColumnDefinition",
    "Definitions",
    "Key",
    "KeyPart",
    "TableDefinition",
    "TableDefinitions",
    "default_collation",
    "definitions_from",
    "fully_told",
    "parse_definitions",
    "settle_columns",
    "with_charset",
]


class Definitions(Protocol):
    """Anything that knows tables: a parsed script, a mapping, a server."""

    def get(self, schema: str, table: str) -> TableDefinition | None:
        """None where it knows nothing of the table."""
        ...


class TableDefinitions:
    """Definitions that are all known beforehand. One without a schema holds for that table of any schema."""

    def __init__(self, tables: Mapping[TableName, TableDefinition]) -> None:
        self.tables = dict(tables)

    def get(self, schema: str, table: str) -> TableDefinition | None:
        return self.tables.get((schema, table)) or self.tables.get((None, table))


Given = str | Mapping[str, "str | Mapping[str, str | None] | Sequence[str]"]


def definitions_from(value: Given) -> TableDefinitions:
    """From SQL text, or from a mapping of ``"schema.table"`` to one of these:

    * a CREATE TABLE statement
    * columns and their types: ``{"id": "INT UNSIGNED PRIMARY KEY", "name": None}``; None if not known
    * a list of column names
    """
    if isinstance(value, str):
        return TableDefinitions(parse_definitions(value))
    if not isinstance(value, Mapping):
        raise UsageError(f"a schema is SQL text or a mapping, not {type(value).__name__}")
    tables: dict[TableName, TableDefinition] = {}
    for title, given in value.items():
        if not isinstance(title, str) or not title:
            raise UsageError(f"a schema's keys are names of tables, not {title!r}")
        schema, _, table = title.rpartition(".")
        name = (schema or None, table)
        try:
            tables[name] = _one_definition(name, given)
        except UsageError as error:
            raise UsageError(f"the definition of {title}: {error.message}") from None
    return TableDefinitions(tables)


def _one_definition(
    name: TableName, given: str | Mapping[str, str | None] | Sequence[str]
) -> TableDefinition:
    if isinstance(given, str):
        found = list(parse_definitions(given).values())
        if len(found) != 1:
            raise UsageError(f"one CREATE TABLE statement is wanted, {len(found)} are there")
        return replace(found[0], schema=name[0], table=name[1])
    if isinstance(given, Mapping):
        items = list(given.items())
    elif isinstance(given, Sequence):
        items = [(column, None) for column in given]
    else:
        raise UsageError(f"a statement, a mapping or a list of names is wanted, not {type(given).__name__}")
    for column, declared in items:
        if not isinstance(column, str) or not isinstance(declared, str | None):
            raise UsageError(f"column {column!r} is {declared!r}; names and types are text")
    if not items:
        raise UsageError("it has no columns")
    columns, keys = parse_columns(items)
    _refuse_twice(columns)
    return TableDefinition(*name, columns, keys)


def _refuse_twice(columns: Iterable[ColumnDefinition]) -> None:
    seen: set[str] = set()
    for column in columns:
        if column.name.lower() in seen:
            raise UsageError(f"column {column.name} is there twice")
        seen.add(column.name.lower())
