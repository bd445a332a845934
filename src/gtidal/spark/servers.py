"""Whose logs are read together: those of one server, unless each file is named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gtidal.errors import UsageError
from gtidal.events.format import MAGIC
from gtidal.events.frame import HEADER_SIZE
from gtidal.log.facts import LogName
from gtidal.planning import Piece
from gtidal.sources.files import LogFile
from gtidal.sources.storage import Storage


def check_one_server(pieces: Iterable[Piece], named: Iterable[str], storage: Storage) -> None:
    """Raise if a folder holds the logs of two servers, whose files and positions would be mixed up.

    The first and the last file of each name are looked at."""
    folders: dict[str, dict[str, list[str]]] = {}
    for path in dict.fromkeys(piece.path for piece in pieces):
        if path not in named:
            folder, _, name = path.rpartition("/")
            folders.setdefault(folder, {}).setdefault(LogName.parse(name).base, []).append(path)
    for folder, bases in folders.items():
        if sum(map(len, bases.values())) > 1:
            _check(
                folder,
                [path for files in bases.values() for path in dict.fromkeys((files[0], files[-1]))],
                storage,
            )


def _check(folder: str, paths: list[str], storage: Storage) -> None:
    known: tuple[str, int] | None = None
    for path, server in _servers(paths, storage):
        name = path.rpartition("/")[2]
        if known is not None and known[1] != server:
            raise UsageError(
                f"{folder} holds logs of several servers: {known[0]} is of server {known[1]}, {name} of server {server}; "
                "give a glob for those of one of them, or name the files one by one"
            )
        known = name, server


def _servers(paths: list[str], storage: Storage) -> Iterator[tuple[str, int]]:
    """The server that wrote each file, as the header of its first event tells; encrypted ones do not tell."""
    for path in paths:
        with LogFile.at(path, storage).open() as stream:
            head = stream.read(len(MAGIC) + HEADER_SIZE)
        if head.startswith(MAGIC) and len(head) == len(MAGIC) + HEADER_SIZE:
            yield path, int.from_bytes(head[len(MAGIC) + 5 : len(MAGIC) + 9], "little")
