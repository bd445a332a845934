"""``gtidal dump``: what mysqlbinlog prints."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from gtidal.cli.getopt import MysqlStyleCommand
from gtidal.errors import UsageError
from gtidal.gtid.mysql import GtidSet
from gtidal.sources.files import STDIN, find_logs
from gtidal.sources.keyring import KeyStore
from gtidal.text.dumping import Dump
from gtidal.text.options import FIRST_POSITION, Base64, DumpOptions
from gtidal.text.times import parse_datetime

EXAMPLES = """
Print the logs' events as SQL that a server can run, byte for byte as mysqlbinlog 9.7 does (for MariaDB's logs, as
mariadb-binlog does). The switches are that tool's; those marked "gtidal" it does not have.

\b
Examples:
  gtidal dump binlog.000024 | mysql
  gtidal dump -vv --base64-output=decode-rows binlog.000024 | less
  gtidal dump -j 1428 --stop-position=1472 -H binlog.000024
  gtidal dump --start-datetime="2026-08-01 12:00:00" -d shop /var/lib/mysql/binlog.index
  gtidal dump --include-gtids=3e11fa47-71ca-11e1-9e33-c80aa9429562:23-26 binlog.00002*
  zcat binlog.000024.gz | gtidal dump -vv -
  gtidal dump --table shop.orders -v --key-file=component_keyring_file binlog.000024
"""

_MODES: dict[str, Base64] = {
    "auto": "auto",
    "never": "never",
    "decode-rows": "decode-rows",
    "unspec": "auto",
}
"""The names the tools take; the last prints as auto does."""
T = TypeVar("T")


def _option(*names: str, help: str, **settings: Any) -> Any:
    return typer.Option(*names, help=help, show_default=False, **settings)


def dump(
    logs: Annotated[
        list[str],
        typer.Argument(
            help="Files, directories, globs, .index files, or - for standard input.", show_default=False
        ),
    ],
    verbose: Annotated[
        int, _option("-v", "--verbose", count=True, help="Rows as comments; -vv with column types.")
    ] = 0,
    base64_output: Annotated[
        str,
        _option("--base64-output", metavar="MODE", help="auto, never or decode-rows (no BINLOG statements)."),
    ] = "auto",
    hexdump: Annotated[
        bool, _option("-H", "--hexdump", help="Each event's bytes in hexadecimal too.")
    ] = False,
    short_form: Annotated[
        bool, _option("-s", "--short-form", help="Queries only: no comments, no rows.")
    ] = False,
    start_position: Annotated[
        int, _option("-j", "--start-position", metavar="N", help="In the first file, begin at this position.")
    ] = FIRST_POSITION,
    stop_position: Annotated[
        int | None,
        _option("--stop-position", metavar="N", help="In the last file, end before this position."),
    ] = None,
    start_datetime: Annotated[
        str | None,
        _option("--start-datetime", metavar="TIME", help="Begin at the first event not older (local time)."),
    ] = None,
    stop_datetime: Annotated[
        str | None,
        _option("--stop-datetime", metavar="TIME", help="End at the first event not older (local time)."),
    ] = None,
    offset: Annotated[
        int, _option("-o", "--offset", metavar="N", help="Leave out the first N events.", min=0)
    ] = 0,
    server_id: Annotated[
        int, _option("--server-id", metavar="N", help="Only events of this server.", min=0)
    ] = 0,
    include_gtids: Annotated[
        str | None, _option("--include-gtids", metavar="SET", help="Only transactions in this GTID set.")
    ] = None,
    exclude_gtids: Annotated[
        str | None, _option("--exclude-gtids", metavar="SET", help="No transactions in this GTID set.")
    ] = None,
    skip_gtids: Annotated[
        bool, _option("--skip-gtids", help="No GTIDs: transactions get new ones where they are run.")
    ] = False,
    database: Annotated[
        str | None, _option("-d", "--database", metavar="NAME", help="Only changes of this schema.")
    ] = None,
    rewrite_db: Annotated[
        list[str] | None,
        _option("--rewrite-db", metavar="FROM->TO", help="Another name for a schema; repeatable."),
    ] = None,
    print_table_metadata: Annotated[
        bool, _option("--print-table-metadata", help="The columns and key of each table, where logged.")
    ] = False,
    verify_binlog_checksum: Annotated[
        bool,
        _option("-c", "--verify-binlog-checksum", help="Compare the events' checksums; end at a wrong one."),
    ] = False,
    force_if_open: Annotated[
        bool,
        _option(
            "--force-if-open/--skip-force-if-open", "-F", help="Also logs that were not closed (default)."
        ),
    ] = True,
    force_read: Annotated[
        bool,
        _option("-f", "--force-read", help="Accepted for compatibility; without effect, as in mysqlbinlog."),
    ] = False,
    idempotent: Annotated[
        bool, _option("-i", "--idempotent", help="Have rows applied in idempotent mode.")
    ] = False,
    disable_log_bin: Annotated[
        bool, _option("-D", "--disable-log-bin", help="Have the statements run without logging them again.")
    ] = False,
    require_row_format: Annotated[
        bool, _option("--require-row-format", help="Rows only: end where a statement changes data.")
    ] = False,
    set_charset: Annotated[
        str | None, _option("--set-charset", metavar="NAME", help="Put SET NAMES in front.")
    ] = None,
    local_load: Annotated[
        str | None,
        _option("-l", "--local-load", metavar="DIR", help="Where LOAD DATA files go (default: $TMPDIR)."),
    ] = None,
    result_file: Annotated[
        Path | None,
        _option("-r", "--result-file", metavar="FILE", help="Write there, not to standard output."),
    ] = None,
    table: Annotated[
        list[str] | None,
        _option("-T", "--table", metavar="SCHEMA.TABLE", help="gtidal: rows of this table only; repeatable."),
    ] = None,
    threads: Annotated[
        int | None,
        _option(
            "--threads", metavar="N", help="gtidal: threads that print (default: one per processor).", min=1
        ),
    ] = None,
    skip_annotate_row_events: Annotated[
        bool,
        _option("--skip-annotate-row-events", help="MariaDB: leave out the statements that changed rows."),
    ] = False,
    geometry: Annotated[
        bool, _option("--geometry", help="gtidal: print geometry values; mysqlbinlog ends the row there.")
    ] = False,
    key: Annotated[
        str | None, _option("--key", metavar="HEX", help="gtidal: the key of encrypted logs.")
    ] = None,
    key_file: Annotated[
        Path | None,
        _option(
            "--key-file", metavar="FILE", help="gtidal: MySQL's keyring file, or MariaDB's file of keys."
        ),
    ] = None,
) -> int:
    options = DumpOptions(
        verbosity=verbose,
        base64=_base64_mode(base64_output),
        hexdump=hexdump,
        short_form=short_form,
        start_position=max(FIRST_POSITION, start_position),
        stop_position=None if stop_position is None else max(FIRST_POSITION, stop_position),
        start_time=_maybe(start_datetime, parse_datetime) or 0,
        stop_time=_maybe(stop_datetime, parse_datetime),
        offset=offset,
        server_id=server_id,
        include_gtids=_maybe(include_gtids, GtidSet),
        exclude_gtids=_maybe(exclude_gtids, GtidSet),
        skip_gtids=skip_gtids,
        database=database,
        tables=frozenset(map(_table_name, table or ())),
        rewrite_db=dict(map(_rewrite_rule, reversed(rewrite_db or ()))),
        print_table_metadata=print_table_metadata,
        verify_checksum=verify_binlog_checksum,
        force_if_open=force_if_open,
        force_read=force_read,
        idempotent=idempotent,
        disable_log_bin=disable_log_bin,
        require_row_format=require_row_format,
        charset=set_charset,
        skip_annotate=skip_annotate_row_events,
        geometry=geometry,
    )
    paths = _paths(logs)
    if paths == [STDIN] and stop_position is not None:
        raise UsageError("--stop-position does not go with standard input: name a file")
    keys = KeyStore(key, key_file)
    folder = local_load or os.environ.get("TMPDIR") or tempfile.gettempdir()
    settings: Any = {"keys": keys, "load_folder": folder, "threads": threads or _processors()}
    if result_file is None:
        return Dump(paths, options, sys.stdout.buffer, **settings).run()
    try:
        out = result_file.open("wb")
    except OSError as error:
        raise UsageError(f"cannot write {result_file}: {error.strerror}") from None
    with out:
        return Dump(paths, options, out, **settings).run()


def _processors() -> int:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _paths(given: Iterable[str]) -> list[str]:
    """What exists is checked before anything is printed. A file named twice is printed twice."""
    paths: list[str] = []
    for path in given:
        paths.extend([STDIN] if path == STDIN else [str(log.path) for log in find_logs(path)])
    return paths


def _maybe(value: str | None, convert: Callable[[str], T]) -> T | None:
    return None if value is None else convert(value)


def _base64_mode(name: str) -> Base64:
    """By its name or the beginning of it, in any case, as the tool takes it."""
    found = [mode for mode in _MODES if mode.startswith(name.lower())]
    if len(found) != 1 or not name:
        raise UsageError(f"--base64-output is auto, never or decode-rows, not {name!r}")
    return _MODES[found[0]]


def _table_name(name: str) -> tuple[str, str]:
    """Without a schema, as mariadb-binlog takes it, the table of every schema."""
    schema, dot, table = name.rpartition(".")
    if not table or (dot and not schema):
        raise UsageError(f"--table takes schema.table, not {name!r}")
    return schema, table


def _rewrite_rule(rule: str) -> tuple[str, str]:
    old, arrow, new = rule.partition("->")
    old, new = old.rstrip(), new.lstrip()
    if not (old and arrow and new):
        raise UsageError(f"--rewrite-db takes 'from->to', not {rule!r}")
    return old, new


def register(app: typer.Typer) -> None:
    app.command("dump", cls=MysqlStyleCommand, help=EXAMPLES, no_args_is_help=True)(dump)
