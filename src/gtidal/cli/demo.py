"""``gtidal demo``: a guided tour over the sample log in ``examples/shop``.

Each step is a real command, run as its own process, so that what the tour shows is what a user gets.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from gtidal.cli.screen import Screen
from gtidal.errors import UsageError
from gtidal.events.rows import DeleteRowsEvent
from gtidal.events.transaction import GtidEvent, TransactionPayload
from gtidal.sources.files import LogFile, find_logs, open_log

SAMPLE = Path("examples") / "shop"


@dataclass(frozen=True)
class Step:
    """One stop of the tour: a sentence, the command, and how much of its output is shown."""

    title: str
    arguments: Sequence[str]
    most_lines: int


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


def last_gtid_set(files: Sequence[LogFile]) -> str:
    """The GTIDs of all but the last file: what a replica that has read those would have."""
    with open_log(files[-1].path) as reader:
        for event in reader:
            if event.name == "PREVIOUS_GTIDS":
                return event.summary()
    return ""


def tour(folder: Path) -> list[Step]:
    files = find_logs(folder)
    first = str(files[0].path)
    steps = [
        Step("Which logs are there?", ["logs", str(folder)], 14),
        Step("What tables changed, and how were they defined?", ["tables", str(folder)], 16),
        Step("What is in the first file?", ["inspect", first, "--limit", "9"], 10),
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
                "Who deleted that row? The transaction, as mysqlbinlog prints it.",
                [
                    *("dump", "-vv", "--base64-output=decode-rows"),
                    *("--start-position", str(deletion.position), "--stop-position", str(deletion.end), log),
                ],
                48,
            ),
        ]
    steps.append(Step("Is every byte accounted for?", ["verify", str(folder)], 14))
    if deletion is not None and deletion.gtid:
        had = last_gtid_set(files)
        if had:
            steps += [
                Step(
                    "A replica has all of that except the deletion. Which GTIDs are left?",
                    ["gtid", "subtract", had, deletion.gtid],
                    8,
                ),
                Step("And in which file must it start to read?", ["gtid", "start", had, str(folder)], 6),
            ]
    return steps


def shown_command(arguments: Sequence[str], base: Path) -> str:
    """The command as a user in ``base`` would type it."""
    words = []
    for word in arguments:
        if word.startswith(str(base) + os.sep):
            word = word[len(str(base)) + 1 :]
        words.append(f"'{word}'" if " " in word or "\n" in word else word)
    return " ".join(["gtidal", *words])


def run(arguments: Sequence[str], screen: Screen) -> tuple[list[str], int]:
    """A command's output, as it would be on this terminal, and its exit code."""
    environment = {**os.environ, "COLUMNS": str(screen.width), "PYTHONIOENCODING": "utf-8"}
    if screen.coloured:
        environment["FORCE_COLOR"] = "1"
    done = subprocess.run(
        [sys.executable, "-m", "gtidal", *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.stdout.decode("utf-8", "replace").splitlines(), done.returncode


def demo() -> None:
    """A guided tour over the sample log: the other commands, and what they print."""
    folder = sample_folder()
    base = folder.parents[1]
    screen = Screen()
    steps = tour(folder)
    worst = 0
    for number, step in enumerate(steps, 1):
        if number > 1:
            screen.line()
        screen.line((f"{number}. {step.title}", "bold"))
        screen.line(("$ " + shown_command(step.arguments, base), "bold cyan"))
        sys.stdout.flush()
        lines, code = run(step.arguments, screen)
        worst = max(worst, code)
        for line in lines[: step.most_lines]:
            sys.stdout.write(line + "\n")
        if len(lines) > step.most_lines:
            screen.line((f"… {len(lines) - step.most_lines} more lines", "dim"))
    screen.line()
    screen.line(("Try these on your own logs; `gtidal COMMAND --help` tells what each can do.", "bold"))
    if worst:
        raise typer.Exit(worst)


def register(app: typer.Typer) -> None:
    app.command(name="demo")(demo)
