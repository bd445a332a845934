"""The ``gtidal`` command: puts the commands together, and turns errors into one sentence and an exit code."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

import typer

import gtidal
from gtidal.cli.conversion import Group
from gtidal.errors import GtidalError, KeyProblem, NotABinlog, UsageError

FINE, DATA_PROBLEM, WRONG_USE = 0, 1, 2

SUMMARIES = {
    "logs": "The files of a log in order: size, times, GTIDs, how each ends.",
    "tables": "The tables in the logs: versions, columns, key, rows, bytes.",
    "inspect": "The events of a log; the bytes of one beside its fields.",
    "dump": "Print logs as SQL, as mysqlbinlog does.",
    "verify": "Check logs, and account for every byte of them.",
    "gtid": "Compare and combine GTID sets; the file to start from.",
    "query": "Spark SQL over logs: any view, any table in them.",
    "export": "Write a view or a table as Parquet, ORC, JSON or CSV.",
    "archive": "Copy a server's logs byte by byte, and go on.",
    "stream": "Write a log as it grows into a folder of Parquet files.",
    "bench": "Measure how fast logs are read here.",
    "demo": "Sample logs become tables; a tour of all commands.",
}
"""The commands, each in the module of its name."""


class Commands(Mapping[str, Any]):
    """The commands by name. The module of one is loaded when it is looked up: none waits for another's libraries."""

    def __getitem__(self, name: str) -> Any:
        if name not in SUMMARIES:
            raise KeyError(name)
        return _load(name)

    def __iter__(self) -> Iterator[str]:
        return iter(SUMMARIES)

    def __len__(self) -> int:
        return len(SUMMARIES)


@cache
def _load(name: str) -> Any:
    found = typer.Typer(rich_markup_mode=None)
    import_module(f"gtidal.cli.{name}").register(found)
    return typer.main.get_group(found).commands[name]


class CommandGroup(Group):
    """Lists its commands without loading them."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = Commands()

    def list_commands(self, ctx: Any) -> list[str]:
        return list(SUMMARIES)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(SUMMARIES.items()))


app = typer.Typer(
    name="gtidal",
    cls=CommandGroup,
    help="MySQL's and MariaDB's binary logs: see every event, dump, verify, compare GTID sets.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gtidal {gtidal.__version__} (kernel: {gtidal.kernel})")
        raise typer.Exit


@app.callback()
def options(
    show_version: bool = typer.Option(
        False, "--version", help="Print the version.", callback=_print_version, is_eager=True
    ),
) -> None:
    """What can stand before a command."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    # No command multiplies matrices, for which numpy would start threads as soon as it is loaded.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(100_000, 20, 100)  # events are trees without cycles: looking for cycles costs a tenth
    try:
        result = app(args=arguments, standalone_mode=False)
        return result if isinstance(result, int) else FINE
    except typer.Exit as stop:
        return stop.exit_code
    except typer.TyperException as error:
        error.show()  # type: ignore[attr-defined]  # a usage error: prints usage and what is wrong
        return WRONG_USE
    except (UsageError, KeyProblem, NotABinlog) as error:
        print(f"gtidal: {error}", file=sys.stderr)
        return WRONG_USE
    except GtidalError as error:
        print(f"gtidal: {error}", file=sys.stderr)
        return DATA_PROBLEM
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINE
    except KeyboardInterrupt:
        return 130
