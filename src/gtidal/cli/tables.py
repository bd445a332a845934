"""``gtidal tables``: every table in the logs, its versions, columns, key, rows and bytes."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from gtidal.cli.conversion import Command
from gtidal.cli.opening import KeyFileOption, KeyOption, check_magic
from gtidal.cli.output import Output, print_json, utc
from gtidal.cli.screen import Screen, cut, printable, wrap
from gtidal.columns.charsets import charset_name, collation_name
from gtidal.columns.types import Column
from gtidal.errors import GtidalError
from gtidal.log.tables import (
    Table,
    TableCatalog,
    TableVersion,
    column_title,
    is_numeric,
    sql_type,
    unknown_parts,
)
from gtidal.sources.files import find_logs
from gtidal.sources.keyring import KeyStore

LONGEST_NAME = 30


def counted(number: int, one: str) -> str:
    return f"{number:,} {one}{'s' * (number != 1)}"


def definition(column: Column) -> str:
    """The column as CREATE TABLE would say it, without its name."""
    text = sql_type(column)
    if not column.nullable:
        text += " NOT NULL"
    return text + (" INVISIBLE" if column.visible is False else "")


def unknown(column: Column) -> str:
    """What the log leaves open; a missing name shows by itself, as @1."""
    parts = [part for part in unknown_parts(column) if part != "name"]
    return f"unknown: {', '.join(parts)}" if parts else ""


def key_text(version: TableVersion) -> str:
    key = version.key
    if key is None:
        return "key unknown"
    return f"key ({', '.join(key)})" if key else "no primary key"


def changes(old: TableVersion, new: TableVersion) -> list[str]:
    """What tells one version from the one before. Columns are the same by name, or where a version has no
    names by place: then only what both tell of is compared."""
    by_place = [version for version in (old, new) if any(column.name is None for column in version.columns)]
    before = {_same(column, bool(by_place)): column for column in old.columns}
    after = {_same(column, bool(by_place)): column for column in new.columns}
    parts = [
        f"+ {column_title(column)} {definition(column)}"
        for name, column in after.items()
        if name not in before
    ]
    parts += [f"- {column_title(column)}" for name, column in before.items() if name not in after]
    for name, column in after.items():
        if name in before and _differs(before[name], column, len(by_place) == 1):
            parts.append(f"~ {column_title(column)} {definition(before[name])} → {definition(column)}")
    if len(by_place) == 1:
        parts.append("more metadata than before" if by_place[0] is old else "less metadata than before")
    elif old.key != new.key:
        parts.append(f"{key_text(old)} → {key_text(new)}")
    return parts or ["order of columns, collation or metadata"]


def _same(column: Column, by_place: bool) -> str | int:
    return column.index if by_place else column_title(column)


def _differs(old: Column, new: Column, metadata_differs: bool) -> bool:
    if not metadata_differs:
        return definition(old) != definition(new)
    return (old.type_code, old.metadata, old.nullable) != (new.type_code, new.metadata, new.nullable)


def show(screen: Screen, table: Table) -> None:
    versions = table.versions
    rows = [
        (table.rows_inserted, "inserted"),
        (table.rows_updated, "updated"),
        (table.rows_deleted, "deleted"),
    ]
    shown = ", ".join(f"{number:,} {word}" for number, word in rows if number) or "no rows"
    head = f"  {shown}, {counted(table.bytes, 'byte')}"
    screen.line((printable(table.title), "bold"), (head, ""))
    if table.undecoded_events:
        events = counted(table.undecoded_events, "rows event")
        note = f"  not counted: {events} of {counted(table.undecoded_bytes, 'byte')} that cannot be decoded"
        screen.line((note, "red"))
    width = max((len(f"{version.file}:{version.position}") for version in versions), default=0)
    for number, version in enumerate(versions, 1):
        place = f"{version.file}:{version.position}"
        told = f"{counted(len(version.columns), 'column')}, {key_text(version)}"
        head = f"  version {number}  {place:<{width}}  {utc(version.timestamp)}  "
        screen.line((head, "dim"), (printable(told), ""))
        for change in changes(versions[number - 2], version) if number > 1 else ():
            for index, part in enumerate(wrap(printable(change), screen.width - 8)):
                screen.line(((6 if index == 0 else 8) * " ", ""), (part, "cyan"))
    if table.latest is not None:
        if table.latest is not versions[-1]:
            number = versions.index(table.latest) + 1
            screen.line((f"  version {number} came back; its columns:", "dim"))
        _show_columns(screen, table.latest)


def _show_columns(screen: Screen, version: TableVersion) -> None:
    names = [cut(printable(column_title(column)), LONGEST_NAME) for column in version.columns]
    width = max(map(len, names), default=0)
    room = max(screen.width - 6 - width, 20)
    for name, column in zip(names, version.columns, strict=True):
        mark = unknown(column)
        lines = list(wrap(printable(definition(column)), room))
        for index, part in enumerate(lines):
            last = index == len(lines) - 1
            screen.line(
                (f"    {name if index == 0 else '':<{width}}  ", "green"),
                (part, ""),
                (f"  {mark}" if last and mark else "", "yellow"),
            )


def column_json(column: Column) -> dict[str, Any]:
    return {
        "name": column.name,
        "position": column.index + 1,
        "type": sql_type(column),
        "nullable": column.nullable,
        "unsigned": column.unsigned if is_numeric(column) else None,
        "charset": charset_name(column.charset) if column.charset is not None else None,
        "collation": collation_name(column.charset) if column.charset is not None else None,
        "visible": column.visible,
        "unknown": unknown_parts(column),
    }


def counts_json(counted: Table | TableVersion) -> dict[str, int]:
    return {
        "rows_inserted": counted.rows_inserted,
        "rows_updated": counted.rows_updated,
        "rows_deleted": counted.rows_deleted,
        "bytes": counted.bytes,
    }


def table_json(table: Table) -> dict[str, Any]:
    return {
        "schema": table.schema,
        "table": table.name,
        **counts_json(table),
        "undecoded_events": table.undecoded_events,
        "undecoded_bytes": table.undecoded_bytes,
        "versions": [
            {
                "file": version.file,
                "position": version.position,
                "timestamp": utc(version.timestamp),
                "key": version.key,
                **counts_json(version),
                "columns": [column_json(column) for column in version.columns],
            }
            for version in table.versions
        ],
    }


def tables(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH", help="Logs, directories, globs, .index files or servers.")
    ],
    output: Annotated[
        Output, typer.Option("--output", help="text, or json: one line for each table.")
    ] = Output.text,
    key: KeyOption = None,
    key_file: KeyFileOption = None,
) -> None:
    """Every table whose rows changed: versions, columns, key, rows and bytes.

    A version is a definition that differs from those before; its position is where it comes first. The
    columns are those of the latest. What the log does not tell is marked unknown: only servers with
    binlog_row_metadata=FULL log column names, keys and the labels of ENUM and SET. Bytes are those of the
    table's events, uncompressed.

    \b
    Examples:
      gtidal tables /var/lib/mysql
      gtidal tables binlog.000024 --output json
      gtidal tables mysql://repl@db1/binlog.000024
    """
    from gtidal.columnar.auditing import read_tables  # here, so that other commands start without it

    catalog = TableCatalog()
    problem: GtidalError | None = None
    keys = KeyStore(key, key_file)
    files = find_logs(paths)
    for file in files:
        check_magic(file)
    for file in files:
        try:
            with file.open_raw() as stream:
                read_tables(catalog, stream, file.name, keys)
        except GtidalError as error:  # what precedes the damage is still worth seeing
            problem = problem or error
    screen = Screen()
    for index, table in enumerate(catalog.tables):
        if output is Output.json:
            print_json(table_json(table))
        else:
            if index:
                screen.line()
            show(screen, table)
    if problem is not None:
        raise problem
    if not catalog.tables:
        print("gtidal: no row changes in these logs, so they tell of no tables", file=sys.stderr)


def register(app: typer.Typer) -> None:
    app.command("tables", cls=Command)(tables)
