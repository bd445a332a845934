"""Servers as mysqlbinlog names them: its options for a connection become an address, and ``--raw`` copies files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from gtidal.errors import UsageError
from gtidal.sources.files import CHUNK, LogFile
from gtidal.sources.server.address import Host, ServerAddress
from gtidal.sources.server.locating import ServerUri, list_server
from gtidal.sources.server.option_file import read_option_file
from gtidal.text.options import FIRST_POSITION
from gtidal.text.remote import Remote, format_in_the_middle, streams

DUMPS = ("BINLOG-DUMP-NON-GTIDS", "BINLOG-DUMP-GTIDS")
_PASSWORD = re.compile(r"--(?:loose[-_])?password=.+|-[vHsFfiDcRtC]*p.+", re.DOTALL)
"""With its value; before the short form other switches may stand that take none."""


def check_passwords(arguments: Iterable[str]) -> None:
    """A password that stands in a command is in the list of processes, and in the shell's history."""
    for argument in arguments:
        if argument == "--":
            return
        if _PASSWORD.fullmatch(argument):
            raise UsageError(
                "a password in a command is seen by everybody: put it into a file (--password-file FILE), into MYSQL_PWD or "
                "into an option file (--defaults-file FILE), or give -p alone to be asked for it"
            )


def address_of(
    *,
    host: str | None,
    port: int | None,
    user: str | None,
    socket: str | None,
    protocol: str | None,
    ssl_mode: str | None,
    ssl_ca: str | None,
    ssl_cert: str | None,
    ssl_key: str | None,
    option_file: str | None,
    password_file: str | None,
    server_id: int | None,
) -> ServerAddress:
    """The server that options name; where they do not, an option file may."""
    from gtidal.sources.server.login import SSL_MODES  # what it needs takes its time

    known = read_option_file(option_file) if option_file else {}
    if host is None and port is None:
        socket = socket or known.get("socket")
    protocol = (protocol or ("socket" if socket else "tcp")).lower()
    if protocol not in ("tcp", "socket"):
        raise UsageError(f"--protocol is tcp or socket here, not {protocol!r}")
    if protocol == "socket" and not socket:
        raise UsageError("--protocol=socket needs --socket FILE")
    mode = (ssl_mode or "PREFERRED").upper()
    if mode not in SSL_MODES:
        raise UsageError(f"--ssl-mode is one of {', '.join(SSL_MODES)}, not {ssl_mode!r}")
    try:
        number = int(known.get("port") or 3306) if port is None else port
    except ValueError:
        raise UsageError(f"{option_file}: port={known['port']!r} is not a number") from None
    return ServerAddress(
        kind="mysql",
        hosts=(Host(host or known.get("host") or "localhost", number or 3306),),
        user=user,
        tls=SSL_MODES[mode],
        ca=ssl_ca,
        cert=ssl_cert,
        key=ssl_key,
        password_file=password_file,
        option_file=option_file,
        socket=socket if protocol == "socket" else None,
        server_id=server_id,
    )


def named_files(address: ServerAddress, names: list[str]) -> list[str]:
    """The server's files of these names, each as an address of its own."""
    there = {uri.name: str(uri) for uri, _ in list_server(address.url())}
    for name in names:
        if name not in there:
            raise UsageError(
                f"{address.title} has no log {name!r}; it has {', '.join(list(there)[:5])}"
                + (" and more" if len(there) > 5 else "")
            )
    return [there[name] for name in names]


def copy_raw(files: list[str], prefix: str, start: int, remote: Remote) -> None:
    """The files' bytes, under their own names behind a prefix; from ``start`` on in the first."""
    for place, file in enumerate(files):
        for number, (path, stream) in enumerate(streams(ServerUri(file), remote)):
            source = LogFile.at(path).open_raw() if stream is None else stream
            target = Path(f"{prefix}{ServerUri(path).name}")
            try:
                out = target.open("wb")
            except OSError as error:
                source.close()
                raise UsageError(f"cannot write {target}: {error.strerror}") from None
            with source, out:
                _copy(source, out, start if place == number == 0 else FIRST_POSITION)


def _copy(source: BinaryIO, out: BinaryIO, start: int) -> None:
    if start > FIRST_POSITION:
        out.write(_exactly(source, FIRST_POSITION))
        header = _exactly(source, 13)
        rest = _exactly(source, int.from_bytes(header[9:13], "little") - len(header))
        out.write(format_in_the_middle(header + rest))
        source.seek(start)
    while data := source.read(CHUNK):
        out.write(data)
        if not getattr(source, "ready", bool)():
            out.flush()


def _exactly(source: BinaryIO, size: int) -> bytes:
    data = b""
    while len(data) < size and (piece := source.read(size - len(data))):
        data += piece
    return data
