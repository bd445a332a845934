"""``gtidal archive``: a server's logs copied byte by byte, until it is stopped."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from gtidal.cli.conversion import Command
from gtidal.cli.progress import Teller
from gtidal.errors import UsageError

if TYPE_CHECKING:
    from gtidal.archiving import Progress, Summary

_ON_TERMINAL, _ELSEWHERE = 0.5, 10.0
"""Seconds between two reports."""
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)(s|m|h)?")
_UNITS = {"s": 1, "m": 60, "h": 3600}


def archive(
    server: Annotated[str, typer.Argument(metavar="SERVER", help="mysql://user@host:port/ or mariadb://…")],
    to: Annotated[str, typer.Argument(metavar="DIR", help="A folder, here or in a storage (s3://…).")],
    once: Annotated[bool, typer.Option("--once", help="Stop at the end that the log has now.")] = False,
    start: Annotated[
        str,
        typer.Option(
            "--start", metavar="PLACE", help="Where an empty archive begins: oldest, now, or a file's name."
        ),
    ] = "oldest",
    allow_gap: Annotated[
        bool, typer.Option("--allow-gap", help="Go on if the server has purged what comes next.")
    ] = False,
    spool: Annotated[
        str | None,
        typer.Option("--spool", metavar="DIR", help="For a storage: where files are until they are there."),
    ] = None,
    upload_every: Annotated[
        str,
        typer.Option(
            "--upload-every", metavar="TIME", help="For a storage: how often the file that grows is uploaded."
        ),
    ] = "60s",
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option", metavar="NAME=VALUE", help="A setting of the storage (fs.s3a.endpoint); repeatable."
        ),
    ] = None,
) -> None:
    """Copy a server's logs into a folder, file by file and byte by byte, and go on as it writes, until Ctrl-C.

    Run it again, and it goes on where it ended, whatever ended it; nothing is missing, nothing is there twice. Every
    event is compared with its checksum before it is written. A manifest beside the files tells their times, GTIDs,
    sizes and checksums; an .index file is there for other tools.

    The copies are what mysqlbinlog --raw --stop-never would write, with two differences to the server's own files: a
    server that encrypts its logs sends them as plain text, and the in-use bit is set in the last file only.

    \b
    Examples:
      gtidal archive mysql://repl@db1/ /archive/db1
      gtidal archive mysql://repl@db1/ /archive/db1 --once
      gtidal archive 'mysql://repl@db1/?tls=verify&ca=ca.pem' s3://logs/db1 --upload-every 5m
    """
    from gtidal.archiving import Archiver, Folder, Mirror, Options
    from gtidal.sources.server.address import ServerAddress
    from gtidal.sources.server.logs import ServerLogs
    from gtidal.sources.storage import Storage, Uri, is_uri

    address = ServerAddress.parse(server)
    if address.file or address.start or address.stop:
        raise UsageError(
            "an archive is of all files of a server: --start tells with which an empty one begins"
        )
    options = Options(start, once, allow_gap, _duration(upload_every))
    in_storage = is_uri(to) and not to.startswith("file://")
    if spool is not None and not in_storage:
        raise UsageError("--spool is for an archive in a storage, such as s3://…")
    settings = dict(_setting(each) for each in option or ())
    place = (
        Path(spool)
        if spool is not None
        else _spool_of(to)
        if in_storage
        else Path(to.removeprefix("file://"))
    )
    began = time.monotonic()
    with Folder(place) as folder, ServerLogs(address) as logs, _watching() as watch:
        mirror = Mirror(Uri(to), Storage(settings), folder) if in_storage else None
        try:
            if mirror is not None:
                watch.say(f"what is not in {to} yet is kept in {place}")
                mirror.restore()
            summary = Archiver(logs, folder, options, watch, mirror).run()
        finally:
            if mirror is not None:
                mirror.close()
    print(f"gtidal: {_told(summary, time.monotonic() - began)}", file=sys.stderr)


def register(app: typer.Typer) -> None:
    app.command("archive", cls=Command)(archive)


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"--option {text}: it is NAME=VALUE")
    return name, value


def _duration(text: str) -> float:
    found = _DURATION.fullmatch(text)
    seconds = float(found[1]) * _UNITS[found[2] or "s"] if found else 0.0
    if seconds <= 0:
        raise UsageError(f"--upload-every {text}: it is a time such as 60s, 5m or 1h")
    return seconds


def _spool_of(uri: str) -> Path:
    """The same for the same destination: what a run has left there the next one finds."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    key = hashlib.sha256(uri.rstrip("/").encode()).hexdigest()[:16]
    return base / "gtidal" / "spool" / key


def _told(summary: Summary, seconds: float) -> str:
    if not summary.size:
        return "nothing is new"
    closed = "1 file" if summary.closed == 1 else f"{summary.closed:,} files"
    return (
        f"{summary.size:,} bytes in {seconds:,.1f} s, {closed} closed; the archive ends at "
        f"{summary.file}:{summary.position}"
    )


class _Screen:
    """Tells on stderr how far it has come, and hears the signals that end it."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._teller = Teller(self._live)
        self._asked = False
        self._told_at = time.monotonic()
        self._size = 0

    def stop(self, number: int, frame: FrameType | None) -> None:
        self._asked = True

    def stopped(self) -> bool:
        return self._asked

    def clear(self) -> None:
        self._teller("")

    def say(self, text: str) -> None:
        self.clear()
        print(f"gtidal: {text}", file=sys.stderr, flush=True)

    def progress(self, progress: Progress) -> None:
        now = time.monotonic()
        since = now - self._told_at
        if since < (_ON_TERMINAL if self._live else _ELSEWHERE):
            return
        rate = (progress.size - self._size) / since
        self._told_at, self._size = now, progress.size
        text = f"{progress.file}:{progress.position}  {rate / 1e6:,.1f} MB/s  {_behind(progress.behind)}"
        if self._live:
            self._teller(text)
        else:
            self.say(text)


def _behind(seconds: float | None) -> str:
    if seconds is None:
        return "not connected"
    return "all is here" if seconds == 0 else f"{seconds:,.0f} s behind"


@contextmanager
def _watching() -> Iterator[_Screen]:
    screen = _Screen()
    before = {number: signal.signal(number, screen.stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield screen
    finally:
        screen.clear()
        for number, handler in before.items():
            signal.signal(number, handler)
