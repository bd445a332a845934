"""``gtidal export``: a view of logs, or one of the tables in them, as files."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from typing import Annotated

import typer

from gtidal.cli.conversion import Command
from gtidal.cli.query import (
    KeyFileOption,
    MasterOption,
    OptionsOption,
    SchemasOption,
    StartOption,
    StopOption,
    TablesOption,
    source_options,
    spark_session,
)
from gtidal.errors import UsageError


class View(StrEnum):
    """What ``--view`` takes."""

    changes = "changes"
    transactions = "transactions"
    events = "events"


class Format(StrEnum):
    """What ``--format`` takes."""

    parquet = "parquet"
    orc = "orc"
    json = "json"
    csv = "csv"


class PartitionBy(StrEnum):
    """What ``--partition-by`` takes."""

    date = "date"
    table = "table"


def export(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH", help="Logs, directories, globs, .index files or URIs.")
    ],
    to: Annotated[str, typer.Option("--to", metavar="DIR", help="The folder, here or in a storage.")],
    view: Annotated[View | None, typer.Option("--view", help="Which view is written (changes).")] = None,
    table: Annotated[
        str | None, typer.Option("--table", metavar="SCHEMA.TABLE", help="Typed rows of one table instead.")
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="What is written.")] = Format.parquet,
    partition_by: Annotated[
        PartitionBy | None,
        typer.Option("--partition-by", help="A folder for each day (UTC), or for each table."),
    ] = None,
    start: StartOption = None,
    stop: StopOption = None,
    tables: TablesOption = None,
    schemas: SchemasOption = None,
    key_file: KeyFileOption = None,
    option: OptionsOption = None,
    master: MasterOption = "local[*]",
) -> None:
    """Write a view of the logs, or the typed rows of one table, into a folder.

    Parquet: run it again, and what is new in the logs is added; nothing is written twice. Files come into sight when
    all of them are there. VARIANT columns are VARIANT again when Spark reads them. Other formats are written once, into
    a new folder; what they have no type for is JSON text.

    \b
    Examples:
      gtidal export /var/lib/mysql --to changes
      gtidal export 'logs/binlog.*' --table shop.orders --to orders --partition-by date
      gtidal export s3://logs/db1 --view transactions --to s3://lake/transactions
      gtidal export binlog.000024 --view events --to events --format csv
    """
    if view is not None and table is not None:
        raise UsageError(f"--view {view} and --table {table}: give one of the two")
    what = {"table": table} if table is not None else {"view": (view or View.changes).value}
    options = source_options(
        option, **what, start=start, stop=stop, tables=tables, schemas=schemas, keyFile=key_file
    )
    partition = None if partition_by is None else partition_by.value
    with spark_session(master) as spark:
        from gtidal.spark.exporting import Export, export_with_spark
        from gtidal.spark.options import ReadOptions

        if form is not Format.parquet:
            export_with_spark(spark, options, paths, form.value, to, partition)
            print(f"gtidal: written to {to}", file=sys.stderr)
            return
        read = ReadOptions.parse({**options, "paths": json.dumps(paths)})
        report = Export(read, to, partition).run(spark)
    if report.logs == 0:
        print(f"gtidal: nothing is new; {to} is as it was", file=sys.stderr)
        return
    files = "1 file" if report.files == 1 else f"{report.files:,} files"
    logs = "1 log" if report.logs == 1 else f"{report.logs:,} logs"
    print(
        f"gtidal: {report.rows:,} rows of {logs} in {files}, {report.size:,} bytes, in {to}", file=sys.stderr
    )


def register(app: typer.Typer) -> None:
    app.command("export", cls=Command)(export)
