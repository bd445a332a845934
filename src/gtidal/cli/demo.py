"""``gtidal demo``: the sample logs in ``examples/shop`` become tables, in Spark and as Parquet; with ``--tour`` a guided
tour over the other commands.

Each step of the tour is a real command, run as its own process, so that what it shows is what a user gets.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import gtidal
from gtidal.cli.conversion import Command
from gtidal.cli.query import show as show_frame
from gtidal.cli.query import show_rows, spark_session
from gtidal.cli.screen import Screen
from gtidal.errors import UsageError
from gtidal.events.control import PreviousGtids
from gtidal.events.rows import DeleteRowsEvent
from gtidal.events.transaction import GtidEvent, TransactionPayload
from gtidal.gtid.mysql import GtidSet, GtidSetBuilder
from gtidal.sources.files import LogFile, find_logs, open_log

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SAMPLE = Path("examples") / "shop"

# --- the main job


@dataclass(frozen=True)
class Table:
    """One table that the demo shows: as a query, and by the same columns in Python."""

    title: str
    name: str
    columns: tuple[str, ...]
    order: str
    rows: int

    @property
    def sql(self) -> str:
        chosen = ", ".join(self.columns)
        return f"SELECT {chosen} FROM {self.name} ORDER BY {self.order} DESC LIMIT {self.rows}"

    def python(self, path: str) -> str:
        if "." in self.name:
            return f"gtidal.rows({path!r}, {self.name!r}, columns={list(self.columns)})"
        images = ", images='json'" if self.name == "changes" else ""
        return f"gtidal.{self.name}({path!r}, columns={list(self.columns)}{images})"


TABLES = (
    Table(
        "Every changed row, of every table:", "changes", ("position", "op", "table", "after"), "position", 6
    ),
    Table(
        "Every transaction, the largest first:",
        "transactions",
        ("length", "gtid", "timestamp", "rows_inserted", "rows_updated"),
        "length",
        5,
    ),
    Table(
        "One table of the shop, with its own columns:",
        "shop.orders",
        ("_position", "_change_type", "id", "status", "total", "placed_at"),
        "_position",
        6,
    ),
)
NEXT = (
    (
        "which tables changed most",
        'gtidal query "SELECT table, op, count(*) FROM changes GROUP BY ALL" {path}',
    ),
    (
        "what a query would read",
        "gtidal query \"SELECT gtid FROM changes WHERE table = 'orders'\" {path} --explain",
    ),
    ("who deleted a row", "python examples/who_deleted.py"),
    ("the other commands", "gtidal demo --tour"),
)


def main_job(screen: Screen, path: str, folder: Path) -> None:
    """Decode, show, write Parquet: in Spark, or without a Java through Python."""
    to = tempfile.mkdtemp(prefix="gtidal-demo-")
    try:
        with spark_session("local[*]") as spark:
            _with_spark(spark, screen, path, folder, to)
    except UsageError as error:
        screen.line((f"{error}. Until then, the same in Python:", "yellow"))
        _with_python(screen, path, folder, to)
    screen.line((f"The Parquet files are in {to}", "bold"))
    screen.line()
    screen.line(("What to try next:", "bold"))
    for title, command in NEXT:
        screen.line((f"  {title:<26}", ""), (command.format(path=path), "cyan"))


def _with_spark(spark: SparkSession, screen: Screen, path: str, folder: Path, to: str) -> None:
    from gtidal.spark.exporting import Export
    from gtidal.spark.failures import explained
    from gtidal.spark.options import ReadOptions
    from gtidal.spark.querying import Query

    for table in TABLES:
        _announce(screen, table.title, f'$ gtidal query "{table.sql}" {path}')
        with explained():
            show_frame(Query(spark, table.sql, [str(folder)]).run(), screen)
        screen.line()
    _announce(
        screen,
        "All changes as Parquet, a folder for each table:",
        f"$ gtidal export {path} --partition-by table --to {to}",
    )
    report = Export(ReadOptions.parse({"path": str(folder)}), to, "table").run(spark)
    screen.line((f"{report.rows:,} rows of {report.logs} logs in {report.files} files", ""))


def _with_python(screen: Screen, path: str, folder: Path, to: str) -> None:
    import pyarrow.parquet

    for table in TABLES:
        _announce(screen, table.title, f">>> {table.python(path)}")
        if "." in table.name:
            reader = gtidal.rows(folder, table.name, columns=table.columns)
        elif table.name == "changes":
            reader = gtidal.changes(folder, columns=table.columns, images="json")
        else:
            reader = gtidal.transactions(folder, columns=table.columns)
        sorted_rows = reader.read_all().sort_by([(table.order, "descending")]).slice(0, table.rows)
        texts = [
            [None if value is None else str(value) for value in row.values()]
            for row in sorted_rows.to_pylist()
        ]
        show_rows(table.columns, [False] * len(table.columns), texts, screen)
        screen.line()
    file = str(Path(to) / "changes.parquet")
    _announce(screen, "All changes as Parquet:", f">>> pyarrow.parquet.write_table(…, {file!r})")
    pyarrow.parquet.write_table(gtidal.changes(folder, images="json").read_all(), file)


def _announce(screen: Screen, title: str, command: str) -> None:
    screen.line((title, "bold"))
    screen.line((command, "bold cyan"))
    sys.stdout.flush()


# --- the tour


@dataclass(frozen=True)
class Step:
    """One stop of the tour: a sentence, the command, and how much of its output is shown."""

    title: str
    arguments: Sequence[str]
    most_lines: int
    begin: str = ""
    """The output is shown from the line that begins so."""


@dataclass(frozen=True)
class Deletion:
    """The transaction that deleted rows, and where it lies."""

    file: LogFile
    position: int
    end: int
    gtid: str


def sample_folder() -> Path:
    """``examples/shop`` of the checkout that this package runs from, or below the current folder."""
    checkout = Path(__file__).resolve().parents[3]
    for base in (checkout, Path.cwd()):
        if (base / SAMPLE).is_dir():
            return base / SAMPLE
    raise UsageError(
        f"the sample log {SAMPLE} is not here: it comes with the source, so run `gtidal demo` in a checkout, "
        "or see a log of your own with `gtidal inspect FILE`"
    )


def find_deletion(files: Sequence[LogFile]) -> Deletion | None:
    """The first transaction that is not compressed and deletes rows: the one a DBA would look for."""
    for file in files:
        gtid: GtidEvent | None = None
        compressed = False
        with open_log(file.path) as reader:
            for event in reader:
                if isinstance(event, GtidEvent):
                    gtid, compressed = event, False
                elif isinstance(event, TransactionPayload):
                    compressed = True
                elif isinstance(event, DeleteRowsEvent) and gtid is not None and not compressed:
                    length = gtid.transaction_length or event.header.end_position - gtid.header.position
                    start = gtid.header.position
                    return Deletion(file, start, start + length, str(gtid.gtid or ""))
    return None


def gtids_of(files: Sequence[LogFile]) -> tuple[GtidSet, GtidSet]:
    """The GTIDs before the last file, which its head tells, and those up to its end."""
    before = GtidSet()
    inside = GtidSetBuilder()
    with open_log(files[-1].path, decode_rows=False, inner=False) as reader:
        for event in reader:
            if isinstance(event, PreviousGtids):
                before = event.gtids.to_set()
            elif isinstance(event, GtidEvent) and event.gtid is not None:
                inside.add(event.uuid, event.tag or "", event.gno)
    return before, before | inside.build()


def steps(folder: Path) -> list[Step]:
    """The steps for the logs in ``folder``. What they point at is looked up there, not written down here."""
    files = find_logs(folder)
    found = [
        Step("Which logs are there?", ["logs", str(folder)], 14),
        Step("What tables changed, and how are they defined?", ["tables", str(folder)], 16),
        Step("What is in the first file?", ["inspect", str(files[0].path), "--limit", "9"], 10),
    ]
    deletion = find_deletion(files)
    if deletion is not None:
        log = str(deletion.file.path)
        found += [
            Step(
                "Every byte of one event: the GTID of the transaction that deleted a row.",
                ["inspect", log, "--at", str(deletion.position)],
                30,
            ),
            Step(
                "Who deleted that row, and when? The transaction, as mysqlbinlog prints it.",
                [
                    *("dump", "-vv", "--base64-output=decode-rows"),
                    *("--start-position", str(deletion.position), "--stop-position", str(deletion.end), log),
                ],
                40,
                f"# at {deletion.position}",
            ),
        ]
    found.append(Step("Is the log sound, to the last byte?", ["verify", str(folder)], 14))
    before, everything = gtids_of(files)
    if deletion is not None and deletion.gtid:
        found.append(
            Step(
                "Replay all but that deletion: which GTIDs are those?",
                ["gtid", "subtract", everything.one_line(), deletion.gtid],
                8,
            )
        )
    if before:
        found.append(
            Step(
                "A replica has these GTIDs. In which file must it go on?",
                ["gtid", "start", before.one_line(), str(folder)],
                6,
            )
        )
    return found


def shown_command(arguments: Sequence[str]) -> str:
    """The command as a user types it."""
    return " ".join(["gtidal", *map(shlex.quote, arguments)])


def run(arguments: Sequence[str], screen: Screen, folder: Path) -> tuple[list[str], int]:
    """A command's output, as it would be on this terminal, and its exit code."""
    environment = {**os.environ, "COLUMNS": str(screen.width), "PYTHONIOENCODING": "utf-8"}
    if screen.coloured:
        environment["FORCE_COLOR"] = "1"
    done = subprocess.run(
        [sys.executable, "-m", "gtidal", *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.stdout.decode("utf-8", "replace").splitlines(), done.returncode


def show(step: Step, lines: list[str], screen: Screen) -> None:
    start = next((index for index, line in enumerate(lines) if step.begin and line.startswith(step.begin)), 0)
    stop = min(start + step.most_lines, len(lines))
    if start:
        screen.line((f"… {start} lines", "dim"))
    for line in lines[start:stop]:
        sys.stdout.write(line + "\n")
    if stop < len(lines):
        screen.line((f"… {len(lines) - stop} lines", "dim"))


def demo(
    tour: Annotated[
        bool, typer.Option("--tour", help="The other commands, one after the other, and what they print.")
    ] = False,
) -> None:
    """The sample logs become tables: changes, transactions and one typed table in Spark, and Parquet files.

    Without a Java for Spark it shows the same in Python."""
    folder = sample_folder()
    base = folder.parents[len(SAMPLE.parts) - 1]
    screen = Screen()
    if tour:
        take_tour(screen, folder, base)
    else:
        main_job(screen, str(folder.relative_to(base)), folder)


def take_tour(screen: Screen, folder: Path, base: Path) -> None:
    worst = 0
    for number, step in enumerate(steps(folder), 1):
        if number > 1:
            screen.line()
        arguments = [word.replace(f"{base}{os.sep}", "", 1) for word in step.arguments]
        screen.line((f"{number}. {step.title}", "bold"))
        screen.line(("$ " + shown_command(arguments), "bold cyan"))
        sys.stdout.flush()
        lines, code = run(arguments, screen, base)
        worst = max(worst, code)
        show(step, lines, screen)
    screen.line()
    screen.line(("Now on your own logs: `gtidal COMMAND --help` tells what each can do.", "bold"))
    if worst:
        raise typer.Exit(worst)


def register(app: typer.Typer) -> None:
    app.command("demo", cls=Command)(demo)
