"""``gtidal verify``: whether logs are whole, and if not, what of them is."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import asdict
from typing import Annotated

import typer

from gtidal.cli.conversion import Command
from gtidal.cli.heads import read_head
from gtidal.cli.logs import facts_record
from gtidal.cli.opening import KeyFileOption, KeyOption
from gtidal.cli.output import Output, print_json
from gtidal.cli.screen import Screen, printable, wrap
from gtidal.errors import GtidalError, NotABinlog
from gtidal.log.audit import Account, FileAudit
from gtidal.log.chain import judge_link, next_in_chain
from gtidal.log.facts import Ending, FileFacts
from gtidal.log.findings import Finding
from gtidal.log.salvage import lacks_magic_only
from gtidal.log.transactions import ROLLBACK
from gtidal.sources.files import LogFile, find_logs
from gtidal.sources.keyring import KeyStore

HELP = """
Check logs, and account for every byte of them: checksums, positions, the chain of files, GTIDs against
PREVIOUS_GTIDS, the length of transactions, whether rows decode, payloads unpack and transactions end. Behind
damage it goes on at the next event it can prove. Exit code 0: fine; 1: a problem; 2: wrong use.

\b
Examples:
  gtidal verify /var/lib/mysql
  gtidal verify binlog.000024 binlog.000025
  gtidal verify '/archive/db1/binlog.*' --output json
  gtidal verify encrypted/ --key-file component_keyring_file
  gtidal verify 'mysql://repl@db1/?start=binlog.000020:4'
"""

LARGE = 16 << 20
"""From this size on a terminal sees a progress bar."""
MOST_FINDINGS = 100
"""More of one file are counted, not printed, in text."""
INDENT = "     "


def register(app: typer.Typer) -> None:
    app.command("verify", cls=Command, help=HELP)(verify)


def verify(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH", help="Files, directories, globs, .index files or servers.")
    ],
    output: Annotated[Output, typer.Option("--output", help="text, or json for JSON Lines.")] = Output.text,
    key: KeyOption = None,
    key_file: KeyFileOption = None,
) -> int:
    keys = KeyStore(key, key_file)
    files = find_logs(paths)
    chains = _chains(files, [_read_head(file, keys) for file in files])
    report: TextReport | JsonReport
    report = JsonReport() if output is Output.json else TextReport(max(len(file.name) for file in files))
    indexed = any(str(path).endswith(".index") for path in paths)
    total = sum(file.size for file in files)
    with _progress(total) as progress:
        for chain in chains:
            _verify_chain(chain, keys, report, progress, indexed)
    report.summary(len(files))
    return int(report.problems > 0)


Chain = list[tuple[LogFile, FileFacts]]


def _chains(files: list[LogFile], heads: list[FileFacts]) -> list[Chain]:
    """Files of one folder and one base name, in the order in which they were found."""
    chains: dict[tuple[str, str], Chain] = {}
    for file, head in zip(files, heads, strict=True):
        chains.setdefault((str(file.path.parent), head.log_name.base), []).append((file, head))
    return list(chains.values())


def _read_head(file: LogFile, keys: KeyStore) -> FileFacts:
    """A file that is no log at all is wrong use; one that lost its first bytes is a damaged log."""
    try:
        return read_head(file, keys)
    except NotABinlog:
        with file.open() as stream:
            start = stream.read(64)
        if lacks_magic_only(start) or len(start) < 4:
            facts = FileFacts(file.name, file.size)
            facts.ending = Ending.DAMAGED
            return facts
        raise


def _verify_chain(
    chain: Chain, keys: KeyStore, report: TextReport | JsonReport, progress: Bar, indexed: bool
) -> None:
    waiting = list(chain)
    file, _ = waiting.pop(0)
    while True:
        audit = _examine(file, keys, report, progress)
        following = next_in_chain(audit.facts, [head for _, head in waiting], indexed)
        for finding in judge_link(audit.facts, following):
            report.finding(finding)
        report.file(file, audit)
        if not waiting:
            return
        place = next((at for at, (_, head) in enumerate(waiting) if head is following), 0)
        file, _ = waiting.pop(place)


def _examine(file: LogFile, keys: KeyStore, report: TextReport | JsonReport, progress: Bar) -> FileAudit:
    from gtidal.columnar.auditing import examine  # here, so that other commands start without it

    size = file.size
    audit = FileAudit(file.name, size, keys=keys)
    with file.open_raw() as stream:
        try:
            report.findings(examine(stream, audit, size, keys=keys, advance=progress.advance))
        except GtidalError as error:
            raise error.at(file=str(file.path)) from None
    return audit


# --- reports


class JsonReport:
    """JSON Lines: each finding as it is met, then its file; at the end a summary."""

    def __init__(self) -> None:
        self.problems = self.notes = 0
        self._of_file: Counter[str] = Counter()

    def findings(self, findings: Iterable[Finding]) -> None:
        for finding in findings:
            self.finding(finding)

    def finding(self, finding: Finding) -> None:
        self._of_file[finding.severity.value] += 1
        print_json({"record": "finding", **asdict(finding)})

    def file(self, file: LogFile, audit: FileAudit) -> None:
        problems, notes = self._of_file["problem"], self._of_file["note"]
        self.problems += problems
        self.notes += notes
        self._of_file.clear()
        print_json(
            {
                "record": "file",
                "path": str(file.path),
                **facts_record(audit.facts),
                "events": audit.events,
                "transactions": audit.transactions,
                "damaged_transactions": audit.damaged_transactions,
                "outcomes": dict(audit.outcomes),
                "account": asdict(audit.account),
                "accounted_for": audit.account.total == audit.facts.size,
                "problems": problems,
                "notes": notes,
            }
        )

    def summary(self, files: int) -> None:
        print_json({"record": "summary", "files": files, "problems": self.problems, "notes": self.notes})


class TextReport:
    """A table of accounts, one line for each file, and under it what was found."""

    def __init__(self, widest_name: int) -> None:
        self.screen = Screen()
        self.problems = self.notes = 0
        self.name_width = max(4, min(widest_name, 16))
        self._started = False
        self._kept: list[Finding] = []
        self._not_kept: Counter[str] = Counter()
        self._total = Account()
        self._transactions = 0

    def findings(self, findings: Iterable[Finding]) -> None:
        for finding in findings:
            self.finding(finding)

    def finding(self, finding: Finding) -> None:
        if finding.is_problem:
            self.problems += 1
        else:
            self.notes += 1
        if len(self._kept) < MOST_FINDINGS:
            self._kept.append(finding)
        else:
            self._not_kept[finding.severity.value] += 1

    def file(self, file: LogFile, audit: FileAudit) -> None:
        bad = self._not_kept["problem"] > 0 or any(finding.is_problem for finding in self._kept)
        ends = audit.facts.ending.value if audit.facts.ending is not Ending.OPEN else "-"
        if audit.facts.in_use and audit.facts.ending is Ending.OPEN:
            ends = "in use"
        self._row("bad" if bad else "ok", file.name, audit.account, audit.transactions, ends)
        if audit.account.total != audit.facts.size:  # a mistake of ours; better said than hidden
            self._paragraph(f"only {audit.account.total:,} of {audit.facts.size:,} bytes are accounted for")
            self.problems += 1
        for finding in self._kept:
            self._show(finding)
        if self._not_kept:
            more = ", ".join(f"{count:,} {severity}s" for severity, count in self._not_kept.items())
            self._paragraph(f"... and {more} more; --output json prints every one")
        if rolled_back := audit.outcomes[ROLLBACK]:  # not a problem, yet in the log and not in the tables
            self._paragraph(f"{counted(rolled_back, 'transaction')} rolled back")
        if audit.account.damaged:
            self._paragraph(salvage_text(audit), "bold")
        for name in ("head", "events", "damaged", "partial"):
            setattr(self._total, name, getattr(self._total, name) + getattr(audit.account, name))
        self._transactions += audit.transactions
        self._kept, self._not_kept = [], Counter()

    def summary(self, files: int) -> None:
        if files > 1:
            self._row("", f"{files} files", self._total, self._transactions, "")
        found = counted(self.problems, "problem") if self.problems else "no problems"
        notes = f", {counted(self.notes, 'note')}" if self.notes else ""
        self.screen.line((found + notes, "bold red" if self.problems else "bold green"))

    def _row(self, verdict: str, name: str, account: Account, transactions: int, ends: str) -> None:
        width = self.name_width
        if not self._started:
            self._started = True
            titles = (
                f"    {'file':{width}} {'size':>13} = {'head':>4} + {'events':>13} + {'damaged':>8} + partial"
            )
            self.screen.line((titles + f" {'transactions':>12}  ends", "dim"))
        name = printable(name)
        if len(name) > width:
            self.screen.line(("    " + name, ""))
            name = ""
        numbers = f"{account.total:13,} = {account.head:4,} + {account.events:13,} + {account.damaged:8,}"
        row = f"{name:{width}} {numbers} + {account.partial:7,} {transactions:12,}  {ends}"
        self.screen.line((f"{verdict:3} ", "bold red" if verdict == "bad" else "green"), (row, ""))

    def _show(self, finding: Finding) -> None:
        where = "" if finding.position is None else f"at {finding.position}"
        if finding.size is not None:
            where += f" ({counted(finding.size, 'byte')})"
        if finding.event is not None:
            where += f" {finding.event}"
        place = f" {where.strip()}:" if where else ":"
        self._paragraph(
            f"{finding.severity.value}{place} {finding.message}", "red" if finding.is_problem else ""
        )

    def _paragraph(self, text: str, style: str = "") -> None:
        for number, line in enumerate(wrap(printable(text), self.screen.width - len(INDENT) - 2)):
            self.screen.line((f"{INDENT}{'  ' * (number > 0)}{line}", style))


def salvage_text(audit: FileAudit) -> str:
    """How much of a damaged file is sound."""
    sound, size = audit.account.events, audit.facts.size
    whole = audit.transactions - audit.damaged_transactions
    text = f"can be salvaged: {sound:,} of {size:,} bytes, {counted(audit.events, 'event')}"
    return f"{text}, {whole:,} of {counted(audit.transactions, 'transaction')} untouched"


def counted(number: int, one: str) -> str:
    return f"{number:,} {one}{'s' * (number != 1)}"


# --- progress


class Bar:
    """Nothing to see; the base of the one that a terminal sees."""

    def advance(self, size: int) -> None:
        pass


class ProgressBar(Bar):
    def __init__(self, total: int) -> None:
        # here, so that what is no terminal does not wait for it
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("verifying"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
        # rich would print our lines above the bar, that is to stderr: good where both are one terminal.
        redirect = sys.stdout.isatty()
        self._progress = Progress(
            *columns, console=Console(stderr=True), transient=True, redirect_stdout=redirect
        )
        self._task = self._progress.add_task("verify", total=total)

    def __enter__(self) -> ProgressBar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def advance(self, size: int) -> None:
        self._progress.advance(self._task, size)


def _progress(total: int) -> ProgressBar | nullcontext[Bar]:
    if total >= LARGE and sys.stderr.isatty():
        return ProgressBar(total)
    return nullcontext(Bar())
