"""``gtidal stream``: a log as it grows, into a folder of Parquet files."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from threading import Event
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gtidal.cli.conversion import Command
from gtidal.cli.export import View
from gtidal.cli.progress import Teller, telling
from gtidal.cli.query import (
    KeyFileOption,
    MasterOption,
    OptionsOption,
    SchemasOption,
    TablesOption,
    source_options,
)
from gtidal.errors import UsageError
from gtidal.sources.storage import is_uri

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from gtidal.spark.streaming import Progress

_STEP = 0.2
_EVERY = 1.0
_SETTINGS = {
    # Else Java's stack is too small for a batch that is stopped while Python works on it.
    "spark.driver.extraJavaOptions": "-Xss16m",
}


class StreamFormat(StrEnum):
    """What ``--format`` takes."""

    parquet = "parquet"


def stream(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE", help="A server (mysql://user@host:port/), or a folder of logs that grows."
        ),
    ],
    to: Annotated[str, typer.Option("--to", metavar="DIR", help="The folder, here or in a storage.")],
    view: Annotated[View | None, typer.Option("--view", help="Which view is written (changes).")] = None,
    table: Annotated[
        str | None, typer.Option("--table", metavar="SCHEMA.TABLE", help="Typed rows of one table instead.")
    ] = None,
    form: Annotated[StreamFormat, typer.Option("--format", help="What is written.")] = StreamFormat.parquet,
    checkpoint: Annotated[
        str | None,
        typer.Option("--checkpoint", metavar="DIR", help="Where Spark keeps how far it is (inside of --to)."),
    ] = None,
    trigger: Annotated[
        str,
        typer.Option(
            "--trigger", metavar="TIME", help="How often: 500ms, 5s, 1m; once: to the current end, and stop."
        ),
    ] = "5s",
    start: Annotated[
        str | None,
        typer.Option(
            "--start",
            metavar="PLACE",
            help="Begin now (a server's default), oldest (a folder's), at a position, a time, or behind a GTID set.",
        ),
    ] = None,
    archive: Annotated[
        str | None,
        typer.Option(
            "--archive", metavar="DIR", help="Older logs of the server: begin there, go on at the server."
        ),
    ] = None,
    tables: TablesOption = None,
    schemas: SchemasOption = None,
    key_file: KeyFileOption = None,
    option: OptionsOption = None,
    master: MasterOption = "local[*]",
) -> None:
    """Write a log into a folder of Parquet files as it grows, each row exactly once.

    Files have names of their own for each micro-batch; a batch that is done again after a crash replaces its files. So the
    folder can be read by anything that reads Parquet. Ctrl-C stops; the same command goes on where it was.

    \b
    Examples:
      gtidal stream mysql://repl@db1:3306/ --to changes
      gtidal stream mysql://repl@db1,db2/?tls=verify --table shop.orders --to orders --trigger 1s
      gtidal stream mysql://repl@db1/ --archive /archive/db1 --start oldest --to changes
      gtidal stream /var/lib/mysql/binlog.index --view transactions --to transactions --trigger once
    """
    if view is not None and table is not None:
        raise UsageError(f"--view {view} and --table {table}: give one of the two")
    what = {"table": table} if table is not None else {"view": (view or View.changes).value}
    options = source_options(
        option, **what, start=start, archive=archive, tables=tables, schemas=schemas, keyFile=key_file
    )
    _check(options, source, trigger)
    if checkpoint is None and is_uri(to):
        raise UsageError(
            f"--to {to}: name a folder for Spark's checkpoint with --checkpoint, one that Spark itself can write to"
        )
    with telling() as tell:
        tell("starting Spark")
        from gtidal.spark.sessions import session
        from gtidal.spark.streaming import start_stream

        spark = session(master, settings=_SETTINGS)
        with _stopping() as stop:
            query, progress = start_stream(spark, source, options, to, checkpoint, trigger)
            _watch(query, progress, stop, tell)
    print(
        f"gtidal: {progress.rows:,} rows in {_batches(progress.batches)}, {progress.size:,} bytes, in {to}",
        file=sys.stderr,
    )


def _check(options: dict[str, str], source: str, trigger: str) -> None:
    """What is wrong is told before Spark is started."""
    from gtidal.spark.options import ReadOptions
    from gtidal.spark.stream import check_for_stream
    from gtidal.spark.streaming import trigger_of

    trigger_of(trigger)
    check_for_stream(ReadOptions.parse({**options, "path": source}))


@contextmanager
def _stopping() -> Iterator[Event]:
    """Set by Ctrl-C, or when the process is told to end. Spark's own way would break the batch that is being written."""
    asked = Event()
    before = {
        number: signal.signal(number, lambda *_: asked.set()) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _watch(query: StreamingQuery, progress: Progress, stop: Event, tell: Teller) -> None:
    from gtidal.spark.failures import explained

    rows, since = 0, time.monotonic()
    with explained():
        while not stop.is_set() and query.isActive:
            if time.monotonic() - since >= _EVERY:
                speed = (progress.rows - rows) / (time.monotonic() - since)
                rows, since = progress.rows, time.monotonic()
                tell(_line(query.lastProgress, progress, speed))
            stop.wait(_STEP)
        query.stop()
        if not stop.is_set():
            query.awaitTermination()  # raises why it ended, if that was an error


def _line(last: Any, progress: Progress, speed: float) -> str:
    offset = json.loads(last["sources"][0]["endOffset"] or "null") if last else None
    if isinstance(offset, str):
        offset = json.loads(offset)
    place = f"{offset['file']}:{offset['position']}" if offset else "starting"
    lag = (
        ""
        if progress.newest is None
        else f", {max(time.time() - progress.newest / 1e6, 0):,.0f} s behind the last change"
    )
    return f"{place}, {progress.rows:,} rows, {speed:,.0f} rows/s{lag}"


def _batches(count: int) -> str:
    return "1 batch" if count == 1 else f"{count:,} batches"


def register(app: typer.Typer) -> None:
    app.command("stream", cls=Command)(stream)
