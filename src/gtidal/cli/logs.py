"""``gtidal logs``: the files of a log in order, and what each says of itself."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gtidal.cli.conversion import Command
from gtidal.cli.heads import read_facts
from gtidal.cli.opening import KeyFileOption, KeyOption
from gtidal.cli.output import Output, print_json, utc
from gtidal.cli.screen import Screen, printable
from gtidal.gtid.mysql import GtidSet
from gtidal.log.facts import AnyGtidSet, Ending, FileFacts
from gtidal.sources.files import find_logs
from gtidal.sources.keyring import KeyStore

HELP = """
List the files of a log in order: size, first and last time (UTC), the GTIDs before and inside each, and how
it ends. Exit code 1 if a file is seen to be damaged: it is gone through from event to event, and checksums are not
compared. `gtidal verify` does that.

\b
Examples:
  gtidal logs /var/lib/mysql
  gtidal logs '/archive/db1/binlog.*' --output json
  gtidal logs binlog.index --key-file component_keyring_file
  gtidal logs mysql://repl@db1:3306/
"""

MOST_LINES = 4
"""A GTID set of more lines is cut in text, never in JSON."""
LABEL = 11


def register(app: typer.Typer) -> None:
    app.command("logs", cls=Command, help=HELP)(logs)


def logs(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH", help="Files, directories, globs, .index files or servers.")
    ],
    output: Annotated[Output, typer.Option("--output", help="text, or json for JSON Lines.")] = Output.text,
    key: KeyOption = None,
    key_file: KeyFileOption = None,
) -> int:
    keys = KeyStore(key, key_file)
    files = find_logs(paths)
    listing = Listing(max(len(file.name) for file in files))
    damaged = False
    for file in files:
        facts = read_facts(file, keys)
        damaged |= facts.ending is Ending.DAMAGED or (facts.ending is Ending.PARTIAL and not facts.in_use)
        if output is Output.json:
            print_json({"path": str(file.path), **facts_record(facts)})
        else:
            listing.show(facts)
    return int(damaged)


def facts_record(facts: FileFacts) -> dict[str, Any]:
    """For JSON: times as text in UTC, sets in one line; null where the log does not say."""
    return {
        "file": facts.name,
        "size": facts.size,
        "first_time": time_text(facts.first_timestamp),
        "last_time": time_text(facts.last_timestamp),
        "server_version": facts.format.server_version,
        "binlog_version": facts.binlog_version,
        "checksum": facts.checksum,
        "relay_log": facts.relay,
        "in_use": facts.in_use,
        "events": facts.events,
        "previous_gtids": None if facts.previous is None else facts.previous.one_line(),
        "gtids": None if facts.inside is None else facts.inside.one_line(),
        "anonymous_transactions": facts.anonymous,
        "open_transaction": facts.open_gtid,
        "ending": facts.ending.value,
        "next_file": facts.next_file,
        "stopped_at": facts.stopped_at,
    }


def time_text(seconds: int | None) -> str | None:
    return None if seconds is None else utc(seconds)


class Listing:
    """The text form: one line for the file, and under it its GTIDs."""

    def __init__(self, widest_name: int) -> None:
        self.screen = Screen()
        self.name_width = min(widest_name, 32)
        self._started = False

    def show(self, facts: FileFacts) -> None:
        name, width = printable(facts.name), self.name_width
        if not self._started:
            self._started = True
            titles = f"{'file':{width}} {'size':>13}  {'first time (UTC)':19}  {'last time (UTC)':19}  ends"
            self.screen.line((titles, "dim"))
        if len(name) > width:
            self.screen.line((name, "bold"))
            name = ""
        first, last = time_text(facts.first_timestamp) or "-", time_text(facts.last_timestamp) or "-"
        row = f" {facts.size:13,}  {first:19}  {last:19}"
        ends = printable(facts.ends)
        fits = width + len(row) + 2 + len(ends) <= self.screen.width
        self.screen.line((f"{name:{width}}", "bold"), (row + (f"  {ends}" if fits else ""), ""))
        if not fits:
            self._labelled("ends", [ends])
        if facts.previous is not None:
            self._labelled("previous", self._set_lines(facts.previous))
        if facts.inside is not None:
            self._labelled("inside", self._set_lines(facts.inside))
        if facts.anonymous:
            self._labelled("anonymous", [f"{facts.anonymous:,} transactions without a GTID"])
        if facts.open_gtid is not None:
            self._labelled("not whole", [printable(facts.open_gtid)])

    def _labelled(self, label: str, lines: list[str]) -> None:
        for number, line in enumerate(lines):
            self.screen.line((f"  {label if not number else '':{LABEL - 2}}", "dim"), (line, ""))

    def _set_lines(self, gtids: AnyGtidSet) -> list[str]:
        if not gtids:
            return ["(none)"]
        lines = break_set(gtids.one_line(), self.screen.width - LABEL)
        if len(lines) <= MOST_LINES:
            return lines
        whole = f"{gtids.count:,} transactions" if isinstance(gtids, GtidSet) else f"{len(gtids):,} positions"
        return [*lines[:MOST_LINES], f"... {whole} in all; --output json prints every one"]


def break_set(text: str, width: int) -> list[str]:
    """A set in lines, broken behind commas, and within a UUID's intervals behind colons."""
    lines: list[str] = []
    while len(text) > width:
        at = max(text.rfind(",", 0, width), text.rfind(":", 0, width)) + 1
        at = at if at > 0 else width
        lines.append(text[:at])
        text = text[at:]
    return [*lines, text]
