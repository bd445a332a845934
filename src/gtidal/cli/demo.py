"""``gtidal demo``: a guided tour over the sample log in ``examples/shop``.

Each step is a real command, run as its own process, so that what the tour shows is what a user gets.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from gtidal.cli.conversion import Command
from gtidal.cli.screen import Screen
from gtidal.errors import UsageError
from gtidal.events.control import PreviousGtids
from gtidal.events.rows import DeleteRowsEvent
from gtidal.events.transaction import GtidEvent, TransactionPayload
from gtidal.gtid.mysql import GtidSet, GtidSetBuilder
from gtidal.sources.files import LogFile, find_logs, open_log

SAMPLE = Path("examples") / "shop"


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


def tour(folder: Path) -> list[Step]:
    """The steps for the logs in ``folder``. What they point at is looked up there, not written down here."""
    files = find_logs(folder)
    steps = [
        Step("Which logs are there?", ["logs", str(folder)], 14),
        Step("What tables changed, and how are they defined?", ["tables", str(folder)], 16),
        Step("What is in the first file?", ["inspect", str(files[0].path), "--limit", "9"], 10),
    ]
    deletion = find_deletion(files)
    if deletion is not None:
        log = str(deletion.file.path)
        steps += [
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
    steps.append(Step("Is the log sound, to the last byte?", ["verify", str(folder)], 14))
    before, everything = gtids_of(files)
    if deletion is not None and deletion.gtid:
        steps.append(
            Step(
                "Replay all but that deletion: which GTIDs are those?",
                ["gtid", "subtract", everything.one_line(), deletion.gtid],
                8,
            )
        )
    if before:
        steps.append(
            Step(
                "A replica has these GTIDs. In which file must it go on?",
                ["gtid", "start", before.one_line(), str(folder)],
                6,
            )
        )
    return steps


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


def demo() -> None:
    """A guided tour over the sample log: the other commands, and what they print."""
    folder = sample_folder()
    base = folder.parents[len(SAMPLE.parts) - 1]
    screen = Screen()
    worst = 0
    for number, step in enumerate(tour(folder), 1):
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
