"""Logs that grow: in a folder, on a server, or in an archive first and then on the server that it is of.

Each gives the names of its files in order, where it ends now, and each file as a stream of bytes. Names and positions are
the server's own, wherever a file is read.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, cast

from gtidal.columnar.splitting import Boundaries
from gtidal.columnar.windows import WindowReader
from gtidal.errors import ChainBroken, LogsDiverged, LogsPurged, UsageError
from gtidal.events.format import MAGIC
from gtidal.events.frame import HEADER_SIZE
from gtidal.gtid import GtidSet, MariadbGtidSet
from gtidal.log.decoder import FIRST_EVENT, Keys
from gtidal.log.facts import LogName
from gtidal.planning.heads import previous_gtids
from gtidal.sources.files import BoundedStream, LogFile, find_logs
from gtidal.sources.server.locating import file_uri
from gtidal.sources.server.logs import ServerLogs
from gtidal.sources.storage import Storage

AnyGtidSet = GtidSet | MariadbGtidSet
LIST_AGAIN = 10.0
"""Seconds after which a folder in which nothing grows is listed, to see whether a file is missing."""
_LOOK = 1 << 12


@dataclass(frozen=True)
class End:
    """Where a log ends now: its last file, and how many bytes that has. The last event may be written in part."""

    file: str
    size: int


@dataclass(frozen=True)
class FileHead:
    """What the head of a file says."""

    created: int
    """When the file was begun, in seconds since 1970; 0 where that is encrypted."""
    server_id: int
    previous: AnyGtidSet | None
    """The GTIDs of all files before; None: it does not say."""
    relay: bool
    in_use: bool
    """Whether it says that it may end anywhere."""
    beginning: bytes
    """The bytes of its first event and what is before it; none where that is encrypted."""


class GrowingLog(ABC):
    """The files of one log."""

    server: str
    """Which server wrote it: its UUID, or its id where that is all there is."""

    @abstractmethod
    def names(self) -> Sequence[str]:
        """Of the files, in order, as ``end`` has last seen them."""

    @abstractmethod
    def end(self) -> End: ...

    @abstractmethod
    def size(self, name: str) -> int:
        """Of a file behind which another one was begun."""

    @abstractmethod
    def file(self, name: str) -> LogFile:
        """A name for it that travels."""

    @abstractmethod
    def open(self, name: str) -> BinaryIO:
        """Its bytes: those that are there, and those that will come."""

    @abstractmethod
    def close(self) -> None: ...

    @property
    @abstractmethod
    def title(self) -> str:
        """For messages."""

    def following(self, name: str) -> str | None:
        """The name of the next file, once there is one."""
        names = self.names()
        place = self._place(name) + 1
        return names[place] if place < len(names) else None

    def between(self, first: str, last: str) -> Sequence[str]:
        """The files from one to another, both included."""
        return self.names()[self._place(first) : self._place(last) + 1]

    def _place(self, name: str) -> int:
        try:
            return self.names().index(name)
        except ValueError:
            raise self.missing(name) from None

    def missing(self, name: str) -> ChainBroken | LogsPurged | LogsDiverged:
        """Why a file that was being read is not there."""
        known = LogName.parse(self.names()[-1])
        sought = LogName.parse(name)
        if sought.base != known.base or (sought.number or 0) > (known.number or 0):
            return LogsDiverged(
                f"{self.title} has no file {name}; its last is {known.text}: its logs were reset or renamed, or these are "
                "not those that were read before. Start anew: another checkpoint, and start=oldest"
            )
        return LogsPurged(
            f"{self.title} does not have {name} any more, the first of its files is {self.names()[0]}: read what is missing "
            "from an archive of the logs (option archive), or start anew: another checkpoint, and start=oldest"
        )

    def head(self, name: str, size: int, keys: Keys) -> FileHead:
        """What a file's head says; ``size``: so much of it is there."""
        with cast(BinaryIO, BoundedStream(self.open(name), size)) as stream:
            first = exactly(stream, FIRST_EVENT)
            header = exactly(stream, HEADER_SIZE)
            told = first == MAGIC and len(header) == HEADER_SIZE
            body = exactly(stream, int.from_bytes(header[9:13], "little") - HEADER_SIZE) if told else b""
            stream.seek(0)
            reader = WindowReader(stream, name, keys=keys, window=_LOOK)
            reader.open()
            boundaries = Boundaries(reader, size - reader.head_size)
            return FileHead(
                int.from_bytes(header[:4], "little") if told else 0,
                int.from_bytes(header[5:9], "little") if told else 0,
                previous_gtids(boundaries),
                boundaries.relay,
                reader.in_use,
                first + header + body if told else b"",
            )


def exactly(stream: BinaryIO, size: int) -> bytes:
    """So many bytes, or all there are: raw streams give what they have."""
    data = b""
    while len(data) < size and (piece := stream.read(size - len(data))):
        data += piece
    return data


def _in_a_row(names: Iterable[str], title: str) -> None:
    """Raise if a number is left out."""
    last: LogName | None = None
    for name in map(LogName.parse, names):
        if last is not None and last.number is not None and name.text != last.at(last.number + 1):
            raise ChainBroken(
                f"{title} has {last.text} and {name.text}, and nothing in between: {last.at(last.number + 1)} is missing"
            )
        last = name


class FolderLog(GrowingLog):
    """Files of one server in a folder: an archive, a backup, or where the server itself writes them."""

    def __init__(self, paths: Sequence[str], storage: Storage, *, recursive: bool = False) -> None:
        self._paths = paths
        self._storage = storage
        self._recursive = recursive
        self._files: dict[str, LogFile] = {}
        self._names: list[str] = []
        self._sizes: dict[str, int] = {}
        self._list()
        self.server = ""

    @property
    def title(self) -> str:
        return ", ".join(self._paths)

    def close(self) -> None:
        """Nothing stays open."""

    def names(self) -> Sequence[str]:
        return self._names

    def end(self) -> End:
        while (found := self._next()) is not None:
            self._add(found)
        last = self._names[-1]
        size = self.file(last).size
        if self._sizes.get(last) == size and time.monotonic() > self._listed + LIST_AGAIN:
            self._list()
        self._sizes[last] = size
        return End(last, size)

    def size(self, name: str) -> int:
        return self.file(name).size

    def file(self, name: str) -> LogFile:
        file = self._files[name]
        if isinstance(file.path, Path) and not file.path.exists():
            raise LogsPurged(f"{file.path} is gone: it was removed before it was read")
        return file

    def open(self, name: str) -> BinaryIO:
        return self.file(name).open_raw()

    def has(self, name: str) -> bool:
        return name in self._files

    def _list(self) -> None:
        found = find_logs(self._paths, self._storage, recursive=self._recursive)
        # MariaDB keeps an index of GTIDs beside each file.
        files = [file for file in found if not file.name.endswith(".idx")] or found
        folders = {str(file.path.parent) for file in files}
        bases = {LogName.parse(file.name).base for file in files}
        if len(folders) > 1 or len(bases) > 1:
            kinds = ", ".join(sorted(f"{base}.*" for base in bases))
            raise UsageError(
                f"{self.title}: a stream reads the logs of one server in one folder, and these are {kinds} in "
                f"{', '.join(sorted(folders))}; give a glob for those of one server"
            )
        _in_a_row([file.name for file in files], self.title)
        self._files = {file.name: replace(file, listed_size=None) for file in files}
        self._names = list(self._files)
        self._listed = time.monotonic()

    def _next(self) -> LogFile | None:
        """The file behind the last one, if it has begun."""
        last = LogName.parse(self._names[-1])
        if last.number is None:
            return None
        path = self._files[last.text].path.parent / last.at(last.number + 1)
        if isinstance(path, Path):
            there = path.is_file() and path.stat().st_size > FIRST_EVENT
            return LogFile(path) if there else None
        found = self._storage.look(path)
        return None if found is None or found.is_folder else LogFile(path, self._storage)

    def _add(self, file: LogFile) -> None:
        self._files[file.name] = file
        self._names.append(file.name)


class ServerLog(GrowingLog):
    """The log of a running server."""

    def __init__(self, logs: ServerLogs) -> None:
        self.logs = logs
        self.server = logs.identity.uuid
        self._sizes: dict[str, int] = {}
        self._last = ""

    @property
    def title(self) -> str:
        return self.logs.host.title

    def close(self) -> None:
        self.logs.close()

    def names(self) -> Sequence[str]:
        if not self._sizes:
            self.end()
        return list(self._sizes)

    def end(self) -> End:
        status = self.logs.status()
        if status.file != self._last:
            # Files that are not the last do not grow any more.
            self._sizes = dict(self.logs.files())
            self._last = status.file
            self._sizes.setdefault(status.file, status.position)
        return End(status.file, status.position)

    def size(self, name: str) -> int:
        if name not in self._sizes:
            raise self.missing(name)
        return self._sizes[name]

    def file(self, name: str) -> LogFile:
        address = replace(self.logs.address, hosts=(self.logs.host,), server_uuid=self.server)
        return LogFile(file_uri(address, name))

    def open(self, name: str) -> BinaryIO:
        return cast(BinaryIO, self.logs.stream(name, None))

    def has(self, name: str) -> bool:
        return name in self._sizes


class ArchivedLog(GrowingLog):
    """A server's log, the older files of it in an archive. A file is read there when the archive has the next one, too,
    or the server does not have it any more; then the archive has all of it."""

    def __init__(self, archive: FolderLog, live: ServerLog) -> None:
        self.archive = archive
        self.live = live
        self.server = live.server

    @property
    def title(self) -> str:
        return f"{self.live.title} with the archive {self.archive.title}"

    def close(self) -> None:
        self.live.close()

    def check(self, keys: Keys) -> None:
        """Raise if the archive is of another server, or ends before the server's logs begin."""
        names = self.names()
        for name in reversed(names):
            if self.archive.has(name) and self.live.has(name):
                mine = self.archive.head(name, self.archive.size(name), keys)
                theirs = self.live.head(name, self.live.size(name), keys)
                if (mine.created, mine.server_id) != (theirs.created, theirs.server_id):
                    raise LogsDiverged(
                        f"{name} in {self.archive.title} is not the file of that name on {self.live.title}: the archive is "
                        "of another server, or the server's logs were reset"
                    )
                return

    def names(self) -> Sequence[str]:
        names = list(self.archive.names())
        live = self.live.names()
        if names and live and LogName.parse(names[-1]).base != LogName.parse(live[0]).base:
            raise LogsDiverged(
                f"{self.archive.title} holds {names[-1]}, and {self.live.title} calls its files {live[0]}: they are of two servers"
            )
        names += [name for name in live if not self.archive.has(name)]
        _in_a_row(names, self.title)
        return names

    def end(self) -> End:
        return self.live.end()

    def size(self, name: str) -> int:
        return self._of(name).size(name)

    def file(self, name: str) -> LogFile:
        return self._of(name).file(name)

    def open(self, name: str) -> BinaryIO:
        return self._of(name).open(name)

    def _of(self, name: str) -> GrowingLog:
        if not self.archive.has(name):
            return self.live
        parsed = LogName.parse(name)
        is_whole = parsed.number is not None and self.archive.has(parsed.at(parsed.number + 1))
        return self.archive if is_whole or not self.live.has(name) else self.live
