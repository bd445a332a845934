"""Files of a server under a name: ``mysql://user@host:3306/binlog.000001?tls=verify``. Such a name travels; it holds all
that is needed to open the file elsewhere, and no secret."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gtidal.errors import LogsPurged, UsageError
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


def list_server(url: str) -> list[tuple[ServerUri, int]]:
    """The files that an address means, and their sizes now."""
    address = ServerAddress.parse(url)
    with server_logs(address) as logs:
        found = logs.files()
        host = logs.host
    if address.file is not None:
        found = [(name, size) for name, size in found if name == address.file]
        if not found:
            raise LogsPurged(
                f"{address.title} has no file {address.file}, or has it no more; gtidal logs lists what it has"
            )
    return [(file_uri(replace(address, hosts=(host,)), name), size) for name, size in found]


def file_uri(address: ServerAddress, name: str) -> ServerUri:
    """One file, whatever of it is read."""
    return ServerUri(replace(address, file=name, start=None, stop=None, follow=False).url())


def size_on_server(uri: ServerUri) -> int:
    return list_server(uri)[0][1]


def open_on_server(uri: ServerUri, size: int | None) -> ServerStream:
    """``size``: how much of it is read; None: until the server begins its next file."""
    with server_logs(uri.address) as logs:
        return logs.stream(uri.name, size)
