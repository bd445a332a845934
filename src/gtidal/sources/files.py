"""Logs in files: which files a path means, in which order, and their events.

A path is a file, a directory, a glob, an ``.index`` file, or ``-`` for standard input. Files of one server
are ordered by the number in their name, numerically: 1000000 follows 999999.
"""

from __future__ import annotations

import glob
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from gtidal.errors import UsageError
from gtidal.events.format import MAGIC
from gtidal.events.registry import Event
from gtidal.log.decoder import HOLDS_EVENTS, IBB_MAGIC, Frame, Keys, LogDecoder
from gtidal.log.encryption import ENCRYPTED_MAGIC
from gtidal.log.facts import LogName

CHUNK = 1 << 20
STDIN = "-"
_MAGICS = (MAGIC, ENCRYPTED_MAGIC, IBB_MAGIC)


@dataclass(frozen=True, slots=True)
class LogFile:
    """One file of a log."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def size(self) -> int:
        return self.path.stat().st_size

    def open(self) -> BinaryIO:
        return self._open(-1)

    def open_raw(self) -> BinaryIO:
        """Without a buffer in between, for readers that have their own."""
        return self._open(0)

    def _open(self, buffering: int) -> BinaryIO:
        try:
            return open(self.path, "rb", buffering)
        except OSError as error:
            raise UsageError(f"cannot open {self.path}: {error.strerror}") from None


def find_logs(paths: str | Path | Iterable[str | Path]) -> list[LogFile]:
    """The files that paths mean, in order. A path that means none is an error that says so."""
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    files: list[LogFile] = []
    for path in given:
        files.extend(_expand(path))
    if not files:
        raise UsageError("no path was given: name a binlog file, a directory, a glob or an .index file")
    return list(dict.fromkeys(files))


def _expand(given: str | Path) -> list[LogFile]:
    path = Path(given)
    if path.is_dir():
        found = [entry for entry in path.iterdir() if entry.is_file() and _looks_like_log(entry)]
        if not found:
            raise UsageError(f"{path} holds no binary logs")
        return _ordered(found)
    if path.exists():
        if path.suffix == ".index" and not _looks_like_log(path):
            return _read_index(path)
        return [LogFile(path)]
    if glob.has_magic(str(given)):
        matches = [Path(name) for name in glob.glob(str(given)) if Path(name).is_file()]
        found = [entry for entry in matches if entry.suffix != ".index"]
        if not found:
            raise UsageError(f"no file matches {given}")
        return _ordered(found)
    raise UsageError(f"no such file or directory: {given}")


def _ordered(paths: list[Path]) -> list[LogFile]:
    def order(path: Path) -> tuple[str, int, str]:
        name = LogName.parse(path.name)
        return name.base, -1 if name.number is None else name.number, str(path)

    return [LogFile(path) for path in sorted(paths, key=order)]


def _looks_like_log(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return stream.read(4) in _MAGICS
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None


def _read_index(path: Path) -> list[LogFile]:
    """The files an index names. It may have been moved with its files, so those beside it come first."""
    files = []
    for line in path.read_text("utf-8", "surrogateescape").splitlines():
        if not line.strip():
            continue
        named = Path(line.strip())
        beside = path.parent / named.name
        found = next((entry for entry in (path.parent / named, beside) if entry.is_file()), None)
        if found is None:
            raise UsageError(f"{path} names {named}, which is neither there nor beside the index")
        files.append(LogFile(found))
    if not files:
        raise UsageError(f"{path} names no files")
    return files


class LogReader:
    """Reads one file with a ``LogDecoder``. Iterating gives its events; the events inside a compressed
    payload follow it, unless ``inner`` is off."""

    def __init__(
        self,
        source: LogFile | BinaryIO,
        *,
        name: str | None = None,
        verify_checksum: bool = True,
        decode_rows: bool = True,
        inner: bool = True,
        keys: Keys | None = None,
    ) -> None:
        self.stream = source.open() if isinstance(source, LogFile) else source
        self.name = name or (source.name if isinstance(source, LogFile) else "standard input")
        self.inner = inner
        self.decoder = LogDecoder(
            self.name, verify_checksum=verify_checksum, decode_rows=decode_rows, keys=keys
        )

    def __enter__(self) -> LogReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self.stream is not sys.stdin.buffer:
            self.stream.close()

    def next_frame(self) -> Frame | None:
        """The next event's bytes, or None at the end of the file."""
        while (frame := self.decoder.next_frame()) is None:
            data = self.stream.read(CHUNK)
            if data:
                self.decoder.receive_data(data)
            else:
                self.decoder.end_of_data()
                return self.decoder.next_frame()
        return frame

    def frames(self) -> Iterator[Frame]:
        while (frame := self.next_frame()) is not None:
            yield frame

    def __iter__(self) -> Iterator[Event]:
        decode = self.decoder.decode
        for frame in self.frames():
            event = decode(frame)
            yield event
            if self.inner and isinstance(event, HOLDS_EVENTS):
                for _, inside in self.decoder.inner(event):
                    yield inside
        self.close()


def open_log(
    path: str | Path | BinaryIO,
    *,
    verify_checksum: bool = True,
    decode_rows: bool = True,
    inner: bool = True,
    keys: Keys | None = None,
) -> LogReader:
    """One log file, ready to be iterated: ``for event in open_log("binlog.000024")``."""
    source: LogFile | BinaryIO
    if path == STDIN:
        source = sys.stdin.buffer
    elif isinstance(path, str | Path):
        if Path(path).is_dir():
            raise UsageError(f"{path} is a directory: name one file of it")
        source = LogFile(Path(path))
    else:
        source = path
    return LogReader(source, verify_checksum=verify_checksum, decode_rows=decode_rows, inner=inner, keys=keys)
