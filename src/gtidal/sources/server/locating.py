"""Files of a server under a name: ``mysql://user@host:3306/binlog.000001?tls=verify``. Such a name travels; it holds all
that is needed to open the file elsewhere, and no secret."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gtidal.errors import LogsDiverged, LogsPurged, UsageError
from gtidal.gtid import MariadbGtidSet
from gtidal.sources.places import NOW, Where, where_of
from gtidal.sources.server.address import ServerAddress
from gtidal.sources.storage import Uri

if TYPE_CHECKING:
    from gtidal.sources.server.logs import ServerLogs
    from gtidal.sources.server.stream import ServerStream


class ServerUri(Uri):
    """A file on a server."""

    @property
    def address(self) -> ServerAddress:
        return ServerAddress.parse(self)

    @property
    def name(self) -> str:
        file = self.address.file
        if file is None:
            raise UsageError(f"{self} names no file of the server")
        return file

    @property
    def parent(self) -> Uri:
        return ServerUri(replace(self.address, file=None).url())


def server_logs(address: ServerAddress) -> ServerLogs:
    from gtidal.sources.server.logs import ServerLogs  # PyMySQL takes its time

    return ServerLogs(address)


@dataclass(frozen=True)
class Reach:
    """What of a server's logs is read."""

    files: list[tuple[ServerUri, int]]
    """From the first one that is read on, and their sizes now."""
    start: Where
    stop: Where
    exact: bool
    """Whether the server told the position of the start itself: a transaction begins there."""


def reach(address: ServerAddress, start: Any = None, stop: Any = None) -> Reach:
    """The files that an address means, from where to where. ``start`` and ``stop`` may stand in the address or here."""
    begin = where_of("start", _one_of("start", address.start, start))
    end = where_of("stop", _one_of("stop", address.stop, stop))
    _check(address, begin, end)
    with server_logs(address) as logs:
        begin, first, exact = _found(logs, address, begin)
        files = logs.files()
        host = replace(address, hosts=(logs.host,))
    title = logs.host.title
    low = 0 if first is None else _index(files, first, title)
    high = (
        len(files) - 1
        if end.position is None or end.position[0] is None
        else _index(files, end.position[0], title)
    )
    if address.file is not None and not address.follow:
        high = min(high, low)
    chosen = files[low : high + 1]
    if not chosen:
        raise UsageError("stop lies before start: nothing is in between")
    if begin.position is not None and begin.position[1] > chosen[0][1]:
        raise LogsDiverged(
            f"{title} has {chosen[0][1]} bytes of this file, and the start is behind them, at {begin.position[1]}: its logs "
            "were reset, or it is another server; start anew with start=oldest",
            file=chosen[0][0],
        )
    return Reach([(file_uri(host, name), size) for name, size in chosen], begin, end, exact)


def _one_of(name: str, in_address: str | None, beside: Any) -> Any:
    if in_address is not None and beside is not None:
        raise UsageError(f"{name} stands in the address and beside it: say it once")
    return beside if in_address is None else in_address


def _check(address: ServerAddress, start: Where, stop: Where) -> None:
    if stop.word is not None or stop.gtids is not None:
        raise UsageError("stop is a position or a time; for GTIDs use include_gtids")
    if address.follow and stop != Where():
        raise UsageError("follow goes on without an end: it does not go with stop")
    if start.word == NOW and not address.follow:
        raise UsageError("start=now: there is nothing behind it yet; with follow=true there will be")
    named = start.position[0] if start.position else None
    if address.file is not None and (start.word is not None or named not in (None, address.file)):
        raise UsageError(
            f"the address names {address.file}: start is a position in it, or leave that file out"
        )


def _found(logs: ServerLogs, address: ServerAddress, start: Where) -> tuple[Where, str | None, bool]:
    """Where a server begins: with its position, the file, and whether it is exact."""
    if address.file is not None:
        return start, address.file, False
    if start.word == NOW:
        status = logs.status()
        return Where(position=(status.file, status.position)), status.file, True
    if start.gtids is not None:
        if isinstance(start.gtids, MariadbGtidSet) != logs.identity.mariadb:
            kinds = ("MariaDB", "MySQL") if logs.identity.mariadb else ("MySQL", "MariaDB")
            raise UsageError(f"{logs.host.title} is {kinds[0]}, and the start is a GTID of {kinds[1]}'s")
        place = logs.locate(start.gtids)
        return start._replace(position=place), place[0], True
    if start.time is not None:
        return start, logs.at_time(start.time / 1e6)[0], False
    return start._replace(word=None), start.position[0] if start.position else None, False


def _index(files: list[tuple[str, int]], name: str, title: str) -> int:
    names = [file for file, _ in files]
    if name not in names:
        raise LogsPurged(
            f"{title} has no file {name}, or has it no more: it has {names[0]} to {names[-1]}; read the missing ones from "
            "an archive or a backup, or start anew with start=oldest"
        )
    return names.index(name)


def list_server(url: str) -> list[tuple[ServerUri, int]]:
    """The files that an address means, and their sizes now."""
    address = ServerAddress.parse(url)
    if address.follow:
        raise UsageError(
            "follow=true is for dump, inspect and the views; others read to the current end: leave it out"
        )
    return reach(address).files


def file_uri(address: ServerAddress, name: str) -> ServerUri:
    """One file, whatever of it is read."""
    return ServerUri(replace(address, file=name, start=None, stop=None, follow=False).url())


def size_on_server(uri: ServerUri) -> int:
    return list_server(uri)[0][1]


def open_on_server(uri: ServerUri, size: int | None, pauses: Sequence[float] | None = None) -> ServerStream:
    """``size``: how much of it is read; None: until the server begins its next file."""
    from gtidal.sources.server.stream import PAUSES

    with server_logs(uri.address) as logs:
        return logs.stream(uri.name, size, PAUSES if pauses is None else pauses)
