"""Logs in files: which files a path means, in which order, and their events.

A path is a file, a directory, a glob, an ``.index`` file, or ``-`` for standard input; on this machine, or in any
storage that has a URI (``sources.storage``); or a server that sends its log (``sources.server``). Files of one server are ordered by the number in their name,
numerically: 1000000 follows 999999.
"""

from __future__ import annotations

import glob
import io
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeVar, cast
from urllib.parse import unquote, urlsplit

from gtidal.errors import UsageError
from gtidal.events.format import MAGIC
from gtidal.events.registry import Event
from gtidal.log.decoder import HOLDS_EVENTS, IBB_MAGIC, Frame, Keys, LogDecoder
from gtidal.log.encryption import ENCRYPTED_MAGIC
from gtidal.log.facts import LogName
from gtidal.sources.archive import MANIFEST, ArchivedFile, Manifest
from gtidal.sources.seeking import SeekingStream
from gtidal.sources.server.address import is_server
from gtidal.sources.server.locating import ServerUri, list_server, open_on_server, size_on_server
from gtidal.sources.storage import Found, Storage, Uri, is_uri

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

CHUNK = 1 << 20
STDIN = "-"
AT_A_TIME = 16
"""Files that are looked into at the same time."""
_MAGICS = (MAGIC, ENCRYPTED_MAGIC, IBB_MAGIC)
_T = TypeVar("_T")
_S = TypeVar("_S")


@dataclass(frozen=True, slots=True)
class LogFile:
    """One file of a log."""

    path: Path | Uri
    storage: Storage | None = field(default=None, compare=False)
    """Where a URI is looked up."""
    listed_size: int | None = field(default=None, compare=False)
    archived: ArchivedFile | None = field(default=None, compare=False)
    """What the manifest of its archive says of it, if all of it is there."""

    @classmethod
    def at(cls, path: str | Path, storage: Storage | None = None) -> LogFile:
        """The file of this name, which is not looked up."""
        if is_server(path):
            return cls(ServerUri(path))
        local = _local(path)
        return cls(Uri(path), storage or Storage()) if local is None else cls(local)

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def size(self) -> int:
        if self.listed_size is not None:
            return self.listed_size
        if isinstance(self.path, Path):
            return self.path.stat().st_size
        if isinstance(self.path, ServerUri):
            return size_on_server(self.path)
        assert self.storage is not None
        found = self.storage.look(self.path)
        return found.size if found else 0

    @property
    def searchable(self) -> bool:
        """Whether it can be read from anywhere; servers send only from where an event begins."""
        return not isinstance(self.path, ServerUri)

    def open(self) -> BinaryIO:
        return self._open(-1)

    def open_raw(self) -> BinaryIO:
        """Without a buffer in between, for readers that have their own."""
        return self._open(0)

    def _open(self, buffering: int) -> BinaryIO:
        if isinstance(self.path, ServerUri):
            return cast(BinaryIO, open_on_server(self.path, self.size))
        if not isinstance(self.path, Path):
            assert self.storage is not None
            return cast(BinaryIO, self.storage.open(self.path, self.listed_size))
        try:
            return open(self.path, "rb", buffering)
        except OSError as error:
            raise UsageError(f"cannot open {self.path}: {error.strerror}") from None


class Meter:
    """How many bytes were read."""

    def __init__(self) -> None:
        self.bytes_read = 0


class BoundedStream(SeekingStream):
    """The first ``size`` bytes of a file, which may have grown meanwhile; counted as they are read."""

    def __init__(self, stream: BinaryIO, size: int, meter: Meter | None = None) -> None:
        super().__init__(stream.tell())
        self._stream = stream
        self._size = size
        self._meter = meter or Meter()
        self.searchable = getattr(stream, "searchable", True)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._stream.seek(super().seek(offset, whence))

    def _end(self) -> int:
        return self._size

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        room = min(len(view), max(self._size - self._at, 0))
        got: int = self._stream.readinto(view[:room]) if room else 0  # type: ignore[attr-defined]  # raw streams have it
        self._at += got
        self._meter.bytes_read += got
        return got

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()


def find_logs(
    paths: str | Path | Iterable[str | Path], storage: Storage | None = None, *, recursive: bool = False
) -> list[LogFile]:
    """The files that paths mean, in order. A path that means none is an error that says so. ``recursive``: also
    those in folders inside of a folder."""
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    storage = storage or Storage()
    files: list[LogFile] = []
    for path in given:
        local = _local(path)
        if is_server(path):
            files.extend(LogFile(uri, listed_size=size) for uri, size in list_server(str(path)))
        elif local is not None:
            files.extend(_expand(local, recursive))
        else:
            files.extend(_expand_uri(Uri(path), storage, recursive))
    if not files:
        raise UsageError(
            "no path was given: name a binlog file, a directory, a glob, an .index file or a server"
        )
    return list(dict.fromkeys(files))


def _local(path: str | Path) -> Path | None:
    """The path, if it is on this machine."""
    if isinstance(path, Path) or not is_uri(path):
        return Path(path)
    parts = urlsplit(path)
    return Path(unquote(parts.path)) if parts.scheme == "file" and not parts.netloc else None


def _expand(path: Path, recursive: bool) -> list[LogFile]:
    if path.is_dir():
        entries = [entry for entry in (path.rglob("*") if recursive else path.iterdir()) if entry.is_file()]
        found = _only_logs([LogFile(entry) for entry in entries], path)
        if not found:
            raise UsageError(f"{path} holds no binary logs")
        return _ordered(found)
    if path.exists():
        file = LogFile(path)
        if path.suffix == ".index" and not _looks_like_log(file):
            return _read_index(file)
        return [file]
    if glob.has_magic(str(path)):
        matches = [Path(name) for name in glob.glob(str(path), recursive=True) if Path(name).is_file()]
        return _ordered(_chosen([LogFile(entry) for entry in matches], path))
    raise UsageError(f"no such file or directory: {path}")


def _expand_uri(uri: Uri, storage: Storage, recursive: bool) -> list[LogFile]:
    folder, pattern = _split_glob(uri)
    if pattern:
        listed = storage.list(folder, recursive="/" in pattern or recursive)
        shape = _glob_shape(pattern)
        matches = [entry for entry in listed if shape.fullmatch(entry.uri[len(folder.rstrip("/")) + 1 :])]
        return _ordered(_chosen(_stored(matches, storage), uri))
    found = storage.look(uri)
    if found is None:
        raise UsageError(f"no such file or directory: {uri}")
    if found.is_folder:
        logs = _only_logs(_stored(storage.list(uri, recursive), storage), uri)
        if not logs:
            raise UsageError(f"{uri} holds no binary logs")
        return _ordered(logs)
    (file,) = _stored([found], storage)
    if file.name.endswith(".index") and not _looks_like_log(file):
        return _read_index(file)
    return [file]


def _stored(found: list[Found], storage: Storage) -> list[LogFile]:
    return [LogFile(entry.uri, storage, entry.size) for entry in found]


def _split_glob(uri: Uri) -> tuple[Uri, str]:
    """The folder before the first part of the path that has a ``*``, and the rest; no rest: no glob."""
    parts = uri.split("/")
    for index, part in enumerate(parts[3:], 3):
        if glob.has_magic(part):
            return Uri("/".join(parts[:index])), "/".join(parts[index:])
    return uri, ""


def _glob_shape(pattern: str) -> re.Pattern[str]:
    """``*`` and ``?`` stay inside of a folder, as in a shell; ``**`` does not."""
    shape = ""
    for token in re.findall(r"\*\*/?|\*|\?|\[!?[^]]+\]|.", pattern, re.DOTALL):
        if token.startswith("**"):
            shape += "(?:.*/)?" if token.endswith("/") else ".*"
        elif token == "*":
            shape += "[^/]*"
        elif token == "?":
            shape += "[^/]"
        elif len(token) > 1:
            shape += token.replace("[!", "[^", 1)
        else:
            shape += re.escape(token)
    return re.compile(shape)


def _chosen(files: list[LogFile], given: object) -> list[LogFile]:
    """What matches a glob, without the index beside the logs."""
    found = [file for file in files if not file.name.endswith(".index")]
    if not found:
        raise UsageError(f"no file matches {given}")
    return found


def _ordered(files: list[LogFile]) -> list[LogFile]:
    def order(file: LogFile) -> tuple[str, int, str]:
        name = LogName.parse(file.name)
        return name.base, -1 if name.number is None else name.number, str(file.path)

    return sorted(files, key=order)


def each_of(files: list[_S], look: Callable[[_S], _T]) -> list[_T]:
    """What is seen in each, several at a time: to look into a file is mostly to wait."""

    def some(first: int) -> list[_T]:
        return [look(file) for file in files[first : first + step]]

    if len(files) < 2:
        return [look(file) for file in files]
    # Where there are many, each thread takes several: to hand them over one by one costs more than local files do.
    step = -(-len(files) // (8 * AT_A_TIME))
    with ThreadPoolExecutor(min(AT_A_TIME, len(files)), "gtidal-look") as pool:
        return list(chain.from_iterable(pool.map(some, range(0, len(files), step))))


def _only_logs(files: list[LogFile], folder: Path | Uri) -> list[LogFile]:
    """Those of a folder's files that are logs. They are looked into, unless the folder is an archive that knows them."""
    known = _archived(files, folder)
    unknown = [file for file in files if file not in known]
    are_logs = dict(zip(unknown, each_of(unknown, _looks_like_log), strict=True))
    return [known.get(file, file) for file in files if are_logs.get(file, True)]


def _archived(files: list[LogFile], folder: Path | Uri) -> dict[LogFile, LogFile]:
    """Files that are as large as a manifest beside them says, with what it says."""
    found = next((file for file in files if file.path == folder / MANIFEST), None)
    if found is None:
        return {}
    with found.open() as stream:
        manifest = Manifest.decode(stream.read(), str(found.path))
    entries = {folder / entry.name: entry for entry in manifest.whole}
    return {
        file: replace(file, archived=entries[file.path])
        for file in files
        if file.path in entries and file.size == entries[file.path].size
    }


def _looks_like_log(file: LogFile) -> bool:
    try:
        with file.open_raw() as stream:
            return stream.read(4) in _MAGICS
    except OSError as error:
        raise UsageError(f"cannot read {file.path}: {error.strerror}") from None


def _read_index(index: LogFile) -> list[LogFile]:
    """The files an index names. It may have been moved with its files, so those beside it come first."""
    with index.open() as stream:
        text = stream.read().decode("utf-8", "surrogateescape")
    files = []
    for line in text.splitlines():
        if not (named := line.strip()):
            continue
        found = _beside(index, named)
        if found is None:
            raise UsageError(f"{index.path} names {Path(named)}, which is neither there nor beside the index")
        files.append(found)
    if not files:
        raise UsageError(f"{index.path} names no files")
    return files


def _beside(index: LogFile, named: str) -> LogFile | None:
    folder = index.path.parent
    if isinstance(folder, Path):
        places = (folder / named, folder / Path(named).name)
        return next((LogFile(entry) for entry in places if entry.is_file()), None)
    assert index.storage is not None
    found = index.storage.look(folder / Path(named).name)
    return _stored([found], index.storage)[0] if found and not found.is_folder else None


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
        source = LogFile.at(path)
        if isinstance(source.path, Path) and source.path.is_dir():
            raise UsageError(f"{path} is a directory: name one file of it")
    else:
        source = path
    return LogReader(source, verify_checksum=verify_checksum, decode_rows=decode_rows, inner=inner, keys=keys)
