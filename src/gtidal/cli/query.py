"""``gtidal query``: Spark SQL over logs."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from itertools import chain, islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gtidal.cli.conversion import Command
from gtidal.cli.progress import telling
from gtidal.cli.screen import Screen, cut, printable
from gtidal.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NULL = "NULL"
PAGE = 1000
"""Rows whose widths decide how wide columns are."""
WIDEST = 60
NARROWEST = 4


class QueryOutput(StrEnum):
    """The forms of ``--output``."""

    text = "text"
    json = "json"
    csv = "csv"
    parquet = "parquet"


# --- what several commands share

OptionsOption = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="NAME=VALUE", help="Any option of the Spark source; repeatable."),
]
StartOption = Annotated[
    str | None,
    typer.Option("--start", metavar="PLACE", help="Begin at a position, a time, or behind a GTID set."),
]
StopOption = Annotated[
    str | None, typer.Option("--stop", metavar="PLACE", help="End before a position or a time.")
]
TablesOption = Annotated[
    str | None, typer.Option("--tables", metavar="NAMES", help="Only these tables: shop.orders, shop.item*")
]
SchemasOption = Annotated[str | None, typer.Option("--schemas", metavar="NAMES", help="Only these schemas.")]
KeyFileOption = Annotated[
    str | None, typer.Option("--key-file", metavar="PATH", help="The server's key file, for encrypted logs.")
]
MasterOption = Annotated[
    str, typer.Option("--master", metavar="URL", help="Where Spark runs: local[*], spark://host:7077, …")
]


def source_options(given: Sequence[str] | None, **named: str | None) -> dict[str, str]:
    """The options of the source, from switches of their own and from ``--option``."""
    options = {name: value for name, value in named.items() if value is not None}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"--option {text}: write it as name=value")
        if name.lower() in {known.lower() for known in options}:
            raise UsageError(f"--option {text}: {name} is given twice")
        options[name] = value
    return options


@contextmanager
def spark_session(master: str) -> Iterator[SparkSession]:
    """A session, with progress on the terminal. It ends with the process."""
    with telling() as tell:
        tell("starting Spark")
        from gtidal.spark.sessions import session

        spark = session(master)
        with tell.following(spark.sparkContext):
            yield spark


# --- the result as text


def text_rows(frame: DataFrame) -> Iterator[tuple[str | None, ...]]:
    """Each value as text, made by Spark; None is NULL. Rows come as they are ready, never all at once."""
    from pyspark.sql import functions as spark_sql
    from pyspark.sql.types import ArrayType, BinaryType, MapType, StructType, VariantType

    numbered = frame.toDF(*(f"c{number}" for number in range(len(frame.columns))))
    shown = []
    for field in numbered.schema.fields:
        column = spark_sql.col(field.name)
        if isinstance(field.dataType, ArrayType | MapType | StructType | VariantType):
            column = spark_sql.to_json(column)
        elif isinstance(field.dataType, BinaryType):
            column = spark_sql.concat(spark_sql.lit("0x"), spark_sql.lower(spark_sql.hex(column)))
        shown.append(column.cast("string").alias(field.name))
    return (tuple(row) for row in numbered.select(shown).toLocalIterator(prefetchPartitions=True))


def json_lines(frame: DataFrame) -> Iterator[str]:
    from pyspark.sql import functions as spark_sql

    twice = [name for name in frame.columns if frame.columns.count(name) > 1]
    if twice:
        raise UsageError(f"two columns are called {twice[0]}: give them names of their own with AS")
    whole = spark_sql.to_json(spark_sql.struct("*"), {"ignoreNullFields": "false"})
    return (row[0] for row in frame.select(whole).toLocalIterator(prefetchPartitions=True))


def show(frame: DataFrame, screen: Screen) -> int:
    """A DataFrame as a table; returns how many rows there were."""
    right = [_is_numeric(kind) for _, kind in frame.dtypes]
    return show_rows(frame.columns, right, text_rows(frame), screen)


def show_rows(
    titles: Sequence[str], right: Sequence[bool], rows: Iterable[Sequence[str | None]], screen: Screen
) -> int:
    """The first rows decide how wide columns are; numbers stand on the right."""
    names = [printable(title) for title in titles]
    rows = iter(rows)
    first = list(islice(rows, PAGE))
    widths = fitted([*first, names], screen.width)
    screen.line(*_cells(names, widths, right, "bold"))
    screen.line(("  ".join("─" * width for width in widths), "dim"))
    count = 0
    for row in chain(first, rows):
        count += 1
        screen.line(*_cells([NULL if value is None else printable(value) for value in row], widths, right))
    return count


def _is_numeric(kind: str) -> bool:
    return kind.startswith("decimal") or kind in ("tinyint", "smallint", "int", "bigint", "float", "double")


def fitted(rows: Iterable[Sequence[str | None]], room: int) -> list[int]:
    """How wide columns are: as their values, less where they would not fit beside each other."""
    from rich.cells import cell_len

    lengths = [
        [len(NULL) if value is None else cell_len(printable(value)) for value in column]
        for column in zip(*rows, strict=True)
    ]
    widths = [min(max(column), WIDEST) for column in lengths]
    room -= 2 * (len(widths) - 1)
    while sum(widths) > room and max(widths) > NARROWEST:
        # The widest give way first.
        widths[widths.index(max(widths))] -= 1
    return widths


def _cells(
    values: Sequence[str], widths: Sequence[int], right: Sequence[bool], style: str = ""
) -> list[tuple[str, str]]:
    from rich.cells import cell_len

    parts = []
    for value, width, is_right in zip(values, widths, right, strict=True):
        text = cut(value, width)
        blanks = " " * (width - cell_len(text))
        text = blanks + text if is_right else text + blanks
        parts.append((text + "  ", style or ("dim" if value == NULL else "")))
    return parts


def write_csv(frame: DataFrame) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(frame.columns)
    writer.writerows(text_rows(frame))


# --- the command


def query(
    sql: Annotated[str, typer.Argument(metavar="SQL", help="A SELECT of Spark's.")],
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH", help="Logs, directories, globs, .index files or URIs.")
    ],
    output: Annotated[
        QueryOutput, typer.Option("--output", help="json is JSON Lines; parquet needs --to.")
    ] = QueryOutput.text,
    to: Annotated[
        str | None, typer.Option("--to", metavar="DIR", help="Write json, csv or parquet files there.")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say what would be read and what is left out; run nothing.")
    ] = False,
    no_prune: Annotated[
        bool, typer.Option("--no-prune", help="Read everything, whatever the query's conditions are.")
    ] = False,
    start: StartOption = None,
    stop: StopOption = None,
    tables: TablesOption = None,
    schemas: SchemasOption = None,
    key_file: KeyFileOption = None,
    option: OptionsOption = None,
    master: MasterOption = "local[*]",
) -> None:
    """Spark SQL over logs. After FROM stand events, transactions, changes, or any table in the logs with its schema
    (shop.orders), whose rows are typed.

    Only the columns that the query names are decoded. Conditions on schema, table, gtid, file, timestamp, server_id
    and type also leave out what need not be read; --explain tells what.

    \b
    Examples:
      gtidal query "SELECT schema, table, op, count(*) FROM changes GROUP BY ALL" /var/lib/mysql
      gtidal query "SELECT * FROM shop.orders WHERE id = 7 ORDER BY _file, _position" binlog.index
      gtidal query "SELECT after:email::string FROM changes WHERE table = 'customers'" 'logs/binlog.*' --output json
      gtidal query "SELECT gtid, length FROM transactions ORDER BY length DESC LIMIT 9" s3://logs/db1 --explain
    """
    if output is QueryOutput.parquet and to is None:
        raise UsageError("--output parquet: name a folder with --to")
    if output is QueryOutput.text and to is not None:
        raise UsageError("--to: for files, add --output json, csv or parquet")
    options = source_options(option, start=start, stop=stop, tables=tables, schemas=schemas, keyFile=key_file)
    with spark_session(master) as spark:
        from gtidal.spark.exporting import write_with_spark
        from gtidal.spark.failures import explained
        from gtidal.spark.querying import Query

        asked = Query(spark, sql, paths, options, prune=not no_prune)
        if explain:
            _print_sentences(asked.explain(), output)
            return
        frame = asked.run()
        with explained():
            if to is not None:
                write_with_spark(frame, output.value, to)
                print(f"gtidal: written to {to}", file=sys.stderr)
            elif output is QueryOutput.json:
                for line in json_lines(frame):
                    sys.stdout.write(line + "\n")
            elif output is QueryOutput.csv:
                write_csv(frame)
            else:
                count = show(frame, Screen())
                print(f"{count:,} {'row' if count == 1 else 'rows'}", file=sys.stderr)


def _print_sentences(sentences: Sequence[str], output: QueryOutput) -> None:
    for sentence in sentences:
        shown: Any = json.dumps({"message": sentence}, ensure_ascii=False)
        sys.stdout.write((shown if output is QueryOutput.json else sentence) + "\n")


def register(app: typer.Typer) -> None:
    app.command("query", cls=Command)(query)
