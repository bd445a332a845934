"""``gtidal dump``: what mysqlbinlog prints."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from gtidal.cli.getopt import MysqlStyleCommand
from gtidal.cli.remote import DUMPS, address_of, copy_raw, named_files
from gtidal.errors import UsageError
from gtidal.gtid import GtidSet, MariadbGtidSet
from gtidal.sources.files import STDIN, find_logs
from gtidal.sources.keyring import KeyStore
from gtidal.sources.places import Where
from gtidal.sources.server.address import ServerAddress, is_server
from gtidal.sources.server.locating import Reach, reach
from gtidal.text.dumping import FINE, Dump
from gtidal.text.options import FIRST_POSITION, Base64, DumpOptions
from gtidal.text.remote import Remote
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
  gtidal dump -R -h db1 -u repl -p --stop-never binlog.000024
  gtidal dump 'mysql://repl@db1/binlog.000024?follow=true'
  gtidal dump -R -h db1 -u repl --raw --to-last-log binlog.000001
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
            help="Files, directories, globs, .index files, servers (mysql://user@host/FILE), or - for standard input.",
            show_default=False,
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
    read_from_remote_server: Annotated[
        bool, _option("-R", "--read-from-remote-server", help="LOGS are a server's, by their names.")
    ] = False,
    read_from_remote_source: Annotated[
        str | None,
        _option(
            "--read-from-remote-source",
            "--read-from-remote-master",
            metavar="TYPE",
            help="As -R; BINLOG-DUMP-GTIDS: the server leaves out --exclude-gtids, BINLOG-DUMP-NON-GTIDS: we do.",
        ),
    ] = None,
    host: Annotated[str | None, _option("-h", "--host", metavar="NAME", help="With -R: the server.")] = None,
    port: Annotated[int | None, _option("-P", "--port", metavar="N", help="With -R: its port.")] = None,
    user: Annotated[str | None, _option("-u", "--user", metavar="NAME", help="With -R: log in as.")] = None,
    password: Annotated[
        bool, _option("-p", "--password", help="With -R: ask for the password. It cannot stand here.")
    ] = False,
    password_file: Annotated[
        str | None,
        _option("--password-file", metavar="FILE", help="gtidal: with -R, where the password stands."),
    ] = None,
    socket: Annotated[
        str | None, _option("-S", "--socket", metavar="FILE", help="With -R: the server's socket.")
    ] = None,
    protocol: Annotated[
        str | None, _option("--protocol", metavar="NAME", help="With -R: tcp or socket.")
    ] = None,
    ssl_mode: Annotated[
        str | None,
        _option(
            "--ssl-mode",
            metavar="MODE",
            help="With -R: DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY.",
        ),
    ] = None,
    ssl_ca: Annotated[
        str | None, _option("--ssl-ca", metavar="FILE", help="With -R: certificates to trust.")
    ] = None,
    ssl_cert: Annotated[
        str | None, _option("--ssl-cert", metavar="FILE", help="With -R: our certificate.")
    ] = None,
    ssl_key: Annotated[str | None, _option("--ssl-key", metavar="FILE", help="With -R: and its key.")] = None,
    defaults_file: Annotated[
        str | None,
        _option(
            "--defaults-file",
            "--defaults-extra-file",
            metavar="FILE",
            help="With -R: an option file ([client]).",
        ),
    ] = None,
    connection_server_id: Annotated[
        int | None,
        _option(
            "--connection-server-id",
            "--stop-never-slave-server-id",
            metavar="N",
            help="With -R: register as this replica (default: a random one).",
        ),
    ] = None,
    to_last_log: Annotated[
        bool, _option("-t", "--to-last-log", help="With -R: go on with the logs behind, to the last.")
    ] = False,
    stop_never: Annotated[
        bool, _option("--stop-never", help="With -R: go on to the last log, and wait for more.")
    ] = False,
    raw: Annotated[
        bool, _option("--raw", help="With -R: copy the logs, into files of their names behind --result-file.")
    ] = False,
    compress: Annotated[
        bool, _option("-C", "--compress", help="Refused: connections are not compressed.")
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
    if compress:
        raise UsageError("--compress: connections are not compressed here; leave it out")
    remote: Remote | None = None
    if read_from_remote_server or read_from_remote_source is not None:
        address = address_of(
            host=host,
            port=port,
            user=user,
            socket=socket,
            protocol=protocol,
            ssl_mode=ssl_mode,
            ssl_ca=ssl_ca,
            ssl_cert=ssl_cert,
            ssl_key=ssl_key,
            option_file=defaults_file,
            password_file=password_file,
            server_id=connection_server_id,
        )
        excluded = _excluded_there(read_from_remote_source, read_from_remote_server, options)
        remote = Remote(to_last_log or stop_never, stop_never, excluded)
        paths = named_files(address, logs)
    else:
        given = {
            "--host": host, "--port": port, "--user": user, "--password": password, "--password-file": password_file,
            "--socket": socket, "--protocol": protocol, "--ssl-mode": ssl_mode, "--ssl-ca": ssl_ca, "--ssl-cert": ssl_cert,
            "--ssl-key": ssl_key, "--connection-server-id": connection_server_id, "--to-last-log": to_last_log,
            "--stop-never": stop_never, "--raw": raw,
        }  # fmt: skip
        if wrong := [name for name, value in given.items() if value]:
            raise UsageError(f"{wrong[0]} goes with --read-from-remote-server (-R)")
        paths, options, remote = _reached(logs, options)
    if raw:
        assert remote is not None
        _check_raw(options)
        copy_raw(paths, str(result_file or ""), options.start_position, remote)
        return FINE
    if paths == [STDIN] and stop_position is not None:
        raise UsageError("--stop-position does not go with standard input: name a file")
    keys = KeyStore(key, key_file)
    folder = local_load or os.environ.get("TMPDIR") or tempfile.gettempdir()
    settings: Any = {
        "keys": keys,
        "load_folder": folder,
        "threads": threads or _processors(),
        "remote": remote,
    }
    if result_file is None:
        return Dump(paths, options, sys.stdout.buffer, **settings).run()
    try:
        out = result_file.open("wb")
    except OSError as error:
        raise UsageError(f"cannot write {result_file}: {error.strerror}") from None
    with out:
        return Dump(paths, options, out, **settings).run()


def _excluded_there(source: str | None, server: bool, options: DumpOptions) -> GtidSet | None:
    """What the server leaves out itself."""
    found = [kind for kind in DUMPS if source is None or kind.startswith(source.upper())]
    if source is not None and len(found) != 1:
        raise UsageError(f"--read-from-remote-source is {' or '.join(DUMPS)}, not {source!r}")
    if source is None or found == [DUMPS[0]]:
        return None
    if server:
        raise UsageError("-R does not go with --read-from-remote-source=BINLOG-DUMP-GTIDS: leave it out")
    return options.exclude_gtids or GtidSet()


def _check_raw(options: DumpOptions) -> None:
    chosen = (options.stop_position, options.stop_time, options.include_gtids, options.exclude_gtids)
    if options.start_time or any(bound is not None for bound in chosen):
        raise UsageError("--raw copies whole files: it does not go with times, GTIDs and --stop-position")


def _reached(given: list[str], options: DumpOptions) -> tuple[list[str], DumpOptions, Remote | None]:
    """Files and addresses, as what they mean."""
    servers = [path for path in given if is_server(path)]
    if not servers:
        return _paths(given), options, None
    if len(servers) < len(given):
        raise UsageError("files and servers do not go together: dump them one after the other")
    addresses = [ServerAddress.parse(server) for server in servers]
    if len(addresses) > 1 and any(each.start or each.stop or each.follow for each in addresses):
        raise UsageError("an address with start, stop or follow is the only one")
    if len(addresses) > 1:
        return [str(uri) for each in addresses for uri, _ in reach(each).files], options, Remote()
    found = reach(addresses[0])
    files = [str(uri) for uri, _ in found.files]
    follow = addresses[0].follow
    return files[:1] if follow else files, _merged(options, found), Remote(follow, follow)


def _merged(options: DumpOptions, found: Reach) -> DumpOptions:
    """With what an address says of start and stop."""
    start, stop = found.start, found.stop
    for name, ours, theirs in (
        ("start", options.start_position > FIRST_POSITION or options.start_time, start != Where()),
        ("stop", options.stop_position is not None or options.stop_time is not None, stop != Where()),
        ("exclude-gtids", options.exclude_gtids is not None, start.gtids is not None),
    ):
        if ours and theirs:
            raise UsageError(f"{name} stands in the address and beside it: say it once")
    if isinstance(start.gtids, MariadbGtidSet):
        raise UsageError("dump leaves out MySQL's GTIDs alone: give a position as start")
    return replace(
        options,
        start_position=start.position[1] if start.position else options.start_position,
        start_time=options.start_time if start.time is None else -(-start.time // 1_000_000),
        exclude_gtids=options.exclude_gtids if start.gtids is None else start.gtids,
        stop_position=stop.position[1] if stop.position else options.stop_position,
        stop_time=options.stop_time if stop.time is None else -(-stop.time // 1_000_000),
    )


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
    # -h is the host here, as for mysqlbinlog.
    names = {"help_option_names": ["--help"]}
    app.command("dump", cls=MysqlStyleCommand, help=EXAMPLES, no_args_is_help=True, context_settings=names)(
        dump
    )
