"""What the tools print of a server's log, and would not of its files.

A server tells which file it sends by a ROTATE that is in no file. To one who begins in the middle it sends the format
description first, with no place and no time of creation. And the tools do not know where events are: they count the
bytes they get. All of that is made here again, from the files' own bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, cast

from gtidal.events.control import Rotate
from gtidal.events.format import Format, FormatDescription
from gtidal.events.frame import HEADER_SIZE, compute_checksum, decode_event
from gtidal.events.header import ARTIFICIAL
from gtidal.events.registry import Context, Event
from gtidal.events.transaction import GtidEvent
from gtidal.gtid import GtidSet
from gtidal.log.decoder import Frame
from gtidal.sources.server.locating import ServerUri, file_uri, list_server, open_on_server
from gtidal.text.options import FIRST_POSITION

_CREATED = slice(HEADER_SIZE + 52, HEADER_SIZE + 56)
_LOG_POS = slice(13, 17)
_CHECKSUM = 4


@dataclass(frozen=True)
class Remote:
    """How a server's log is printed."""

    goes_on: bool = False
    """Behind a file, with the next: up to the last one."""
    waits: bool = False
    """At the end of the last one, for more."""
    excluded: GtidSet | None = None
    """Transactions that the server leaves out itself, so that nobody sees where they are."""

    @property
    def plain(self) -> bool:
        """Whether it looks as its files do."""
        return not self.goes_on and self.excluded is None


def streams(uri: ServerUri, remote: Remote) -> Iterator[tuple[str, BinaryIO | None]]:
    """The files to be printed from one on: names, and what waits for more; None: to be opened as it is now."""
    if not remote.goes_on:
        yield str(uri), None
        return
    if not remote.waits:
        names = [file for file, _ in list_server(str(uri.parent))]
        for file in names[[each.name for each in names].index(uri.name) :]:
            yield str(file), None
        return
    while True:
        stream = open_on_server(uri, None)
        yield str(uri), cast(BinaryIO, stream)
        if stream.next_file is None:
            return
        uri = file_uri(uri.address, stream.next_file[0])


def rotate_to(file: str, position: int, server_id: int, format: Format) -> tuple[Frame, Event]:
    """What a server says before it sends a file; ``format``: that of the file before."""
    checksum = format.has_checksums
    body = position.to_bytes(8, "little") + file.encode()
    size = HEADER_SIZE + len(body) + (_CHECKSUM if checksum else 0)
    data = bytes(4) + bytes((Rotate.code,)) + server_id.to_bytes(4, "little") + size.to_bytes(4, "little")
    data += bytes(4) + ARTIFICIAL.to_bytes(2, "little") + body
    if checksum:
        data += compute_checksum(data, Rotate.code).to_bytes(_CHECKSUM, "little")
    return Frame(0, data), decode_event(data, 0, Context(format, {}))


def format_in_the_middle(data: bytes) -> bytes:
    """A format description as it is sent to one who does not begin with the file."""
    changed = bytearray(data)
    changed[_LOG_POS] = bytes(4)
    changed[_CREATED] = bytes(4)
    changed[-_CHECKSUM:] = compute_checksum(bytes(changed[:-_CHECKSUM]), FormatDescription.code).to_bytes(
        _CHECKSUM, "little"
    )
    return bytes(changed)


class Counted:
    """Where the tools say that events are: they add up what they got. MySQL's begins anew with each file."""

    def __init__(self, start: int, *, mariadb: bool) -> None:
        self._start = self._at = start
        self._mariadb = mariadb

    def next_file(self) -> None:
        if not self._mariadb:
            self._at = self._start

    def placed(self, frame: Frame) -> Frame:
        placed = Frame(self._at, frame.data)
        code = frame.type_code
        if code == Rotate.code and not any(frame.data[_LOG_POS]):
            return placed
        # A format description in the middle is none of the file's bytes; the tools take all but the first for such.
        if code != FormatDescription.code or self._at == FIRST_POSITION:
            self._at += len(frame.data)
        return placed


class LeftOut:
    """Which events a server does not send: those of excluded transactions."""

    def __init__(self, excluded: GtidSet) -> None:
        self._excluded = excluded
        self._leaves_out = False

    def __contains__(self, event: Event) -> bool:
        if isinstance(event, GtidEvent):
            self._leaves_out = event.gtid is not None and event.gtid in self._excluded
        elif isinstance(event, FormatDescription | Rotate):
            self._leaves_out = False
        return self._leaves_out
