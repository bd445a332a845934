"""The ``gtidal`` command: puts the commands together, and turns errors into one sentence and an exit code."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version

import typer

from gtidal.cli import bench, demo, dump, gtid, inspect, logs, tables, verify
from gtidal.errors import GtidalError, KeyProblem, NotABinlog, UsageError

FINE, DATA_PROBLEM, WRONG_USE = 0, 1, 2

app = typer.Typer(
    name="gtidal",
    help="MySQL's and MariaDB's binary logs: see every event, dump, verify, compare GTID sets.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def options(show_version: bool = typer.Option(False, "--version", help="Print the version.")) -> None:
    if show_version:
        from gtidal.columnar import kernel  # here, so that other commands start without it

        typer.echo(f"gtidal {version('gtidal')} (kernel: {kernel.IMPLEMENTATION})")
        raise typer.Exit


for _module in (logs, tables, inspect, dump, verify, gtid, bench, demo):
    _module.register(app)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
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
