"""``gtidal gtid``: algebra of GTID sets, and the file in which to start for one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import reduce
from operator import and_, or_, sub
from pathlib import Path
from typing import Annotated, Any

import typer

from gtidal.cli.conversion import Command, Group
from gtidal.cli.heads import read_head
from gtidal.cli.opening import KeyFileOption, KeyOption
from gtidal.cli.output import Output, print_json
from gtidal.errors import UsageError
from gtidal.gtid.mariadb import MariadbGtidSet, parse_gtid_set
from gtidal.gtid.mysql import GtidSet
from gtidal.log.chain import find_start
from gtidal.log.facts import AnyGtidSet
from gtidal.sources.files import LogFile, find_logs
from gtidal.sources.keyring import KeyStore

HELP = """
GTID sets: unite, subtract, intersect, compare; and the file to start from.

A SET is a MySQL set (uuid:1-5:7,uuid:tag:1-2) or a MariaDB position (0-1-100,1-2-5), as an argument, from
standard input (-) or from a file (@PATH). Spaces, line breaks and upper case are fine.

\b
Examples:
  gtidal gtid subtract "$SOURCE_EXECUTED" "$REPLICA_EXECUTED"
  mysql -NBe 'SELECT @@gtid_executed' | gtidal gtid contains - 3e11fa47-71ca-11e1-9e33-c80aa9429562:23
  gtidal gtid start @executed.txt /var/lib/mysql
"""

Sets = Annotated[
    list[str], typer.Argument(metavar="SET", help="GTID sets; - is standard input, @PATH a file.")
]
OneSet = Annotated[str, typer.Argument(metavar="SET", help="A GTID set; - is standard input, @PATH a file.")]
OutputOption = Annotated[Output, typer.Option("--output", help="text, or json for JSON Lines.")]

app = typer.Typer(cls=Group, no_args_is_help=True, rich_markup_mode=None, help=HELP)


def register(parent: typer.Typer) -> None:
    parent.add_typer(app, name="gtid")


def _command(name: str, text: str, example: str) -> Callable[[Any], Any]:
    return app.command(name, cls=Command, help=f"{text}\n\n\b\nExample:\n  gtidal gtid {name} {example}")


@_command("union", "All GTIDs that are in any of the sets.", "'UUID:1-5' 'UUID:4-9' 'UUID:red:1'")
def union(sets: Sets, output: OutputOption = Output.text) -> None:
    _print_set(_fold(or_, sets), output)


@_command("subtract", "The GTIDs of the first set that are in none of the others.", "'UUID:1-9' 'UUID:4-5'")
def subtract(sets: Sets, output: OutputOption = Output.text) -> None:
    _print_set(_fold(sub, sets), output)


@_command("intersect", "The GTIDs that are in all of the sets.", "'UUID:1-5' 'UUID:4-9'")
def intersect(sets: Sets, output: OutputOption = Output.text) -> None:
    _print_set(_fold(and_, sets), output)


@_command(
    "contains",
    "Whether the first set holds all GTIDs of the others: prints yes or no, and exits with 0 or 1.",
    "'UUID:1-9' 'UUID:4-5' && echo caught up",
)
def contains(sets: Sets, output: OutputOption = Output.text) -> int:
    first, *others = _parse_all(sets)
    if not others:
        raise UsageError("contains compares sets: give at least two")
    missing = reduce(or_, others) - first  # type: ignore[operator]  # _parse_all gives sets of one flavour
    if output is Output.json:
        print_json({"contains": not missing, "missing": missing.one_line()})
    else:
        print("no" if missing else "yes")
    return int(bool(missing))


@_command("normalize", "Each set as the server prints it, on a line of its own.", "'UUID:3, UUID : 1-2'")
def normalize(sets: Sets, output: OutputOption = Output.text) -> None:
    for gtids in _parse_all(sets, mixed=True):
        _print_set(gtids, output)


@_command("count", "How many transactions are in each set, a line for each.", "'UUID:1-5:7'")
def count(sets: Sets, output: OutputOption = Output.text) -> None:
    for gtids in _parse_all(sets, mixed=True):
        if isinstance(gtids, MariadbGtidSet):
            raise UsageError("a MariaDB position says how far, not how many: it cannot be counted")
        if output is Output.json:
            print_json({"gtids": gtids.one_line(), "count": gtids.count})
        else:
            print(gtids.count)


@_command(
    "start",
    "The file in which to start for a reader that has these GTIDs already, found from the heads of the files"
    " as a source finds it for its replicas; exit 1 if it needs what was purged.",
    "@executed.txt /var/lib/mysql",
)
def start(
    gtids: OneSet,
    paths: Annotated[
        list[str],
        typer.Argument(metavar="DIR", help="The logs: a directory, files, a glob or an .index file."),
    ],
    output: OutputOption = Output.text,
    key: KeyOption = None,
    key_file: KeyFileOption = None,
) -> None:
    already_had = _parse(gtids)
    files = find_logs(paths)
    by_name = {str(file.path): file for file in files}
    found = by_name[find_start(_heads(files, KeyStore(key, key_file)), already_had)]
    if output is Output.json:
        print_json({"file": found.name, "path": str(found.path)})
    else:
        print(found.path)


def _heads(files: list[LogFile], keys: KeyStore) -> Iterator[tuple[str, AnyGtidSet | None]]:
    """The newest first, each read when it is asked for: a large archive is not opened as a whole."""
    for file in reversed(files):
        yield str(file.path), read_head(file, keys).previous


def _read_argument(text: str) -> str:
    try:
        if text == "-":
            return sys.stdin.read()
        if text.startswith("@"):
            return Path(text[1:]).read_text("utf-8")
    except OSError as error:
        raise UsageError(f"cannot read {text[1:] or 'standard input'}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{text[1:] or 'standard input'} holds no text") from None
    return text


def _parse(text: str) -> AnyGtidSet:
    return parse_gtid_set(_read_argument(text))


def _parse_all(texts: list[str], mixed: bool = False) -> list[AnyGtidSet]:
    """All sets; of one flavour, unless each is taken for itself. An empty set is of either."""
    sets = [_parse(text) for text in texts]
    flavours = {type(gtids) for gtids in sets if gtids}
    if mixed or not flavours:
        return sets
    if len(flavours) > 1:
        raise UsageError("MySQL's and MariaDB's GTIDs cannot be mixed: give sets of one kind")
    (flavour,) = flavours
    return [gtids if gtids else flavour() for gtids in sets]


def _fold(operate: Callable[[Any, Any], Any], texts: list[str]) -> AnyGtidSet:
    result: AnyGtidSet = reduce(operate, _parse_all(texts))
    return result


def _print_set(gtids: AnyGtidSet, output: Output) -> None:
    if output is Output.text:
        print(gtids.one_line())
        return
    record: dict[str, Any] = {"gtids": gtids.one_line()}
    if isinstance(gtids, GtidSet):
        record["count"] = gtids.count
    print_json(record)
