"""Files in any storage that ``pyarrow.fs`` opens: ``s3://``, ``gs://``, ``hdfs://`` and others.

Settings have the names that Spark and Hadoop users know (``fs.s3a.access.key``, with or without ``spark.hadoop.``
before it); what is not set comes from the environment, as the storage's own tools have it. No secret is ever shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from gtidal.errors import UsageError
from gtidal.sources.seeking import SeekingStream

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer
    from pyarrow.fs import FileSystem

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_S3 = ("s3", "s3a", "s3n")
_HADOOP = "spark.hadoop."
_SECRETS = ("access.key", "secret.key", "session.token", "password")
FIRST_BLOCK = 1 << 16
LARGEST_BLOCK = 1 << 23


def is_uri(path: object) -> bool:
    """Whether a path names a storage. ``file://`` does, too."""
    return isinstance(path, str) and _URI.match(path) is not None


class Uri(str):
    """A file or a folder in a storage: ``s3://logs/db1/binlog.000001``. What a ``Path`` is for local ones."""

    @property
    def name(self) -> str:
        return self.rstrip("/").rpartition("/")[2]

    @property
    def parent(self) -> Uri:
        return Uri(self.rstrip("/").rpartition("/")[0])

    def __truediv__(self, name: str) -> Uri:
        return Uri(f"{self.rstrip('/')}/{name}")

    @property
    def scheme(self) -> str:
        return self.partition("://")[0].lower()


@dataclass(frozen=True)
class Found:
    """An entry of a storage."""

    uri: Uri
    size: int
    is_folder: bool = False


class Located(NamedTuple):
    """Where a URI leads: ``root`` and ``path`` together are the URI again."""

    system: FileSystem
    root: str
    path: str


class Storage:
    """The file systems that URIs name, with their settings. One file system is opened for each bucket or host."""

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        self._settings = {
            name.lower().removeprefix(_HADOOP): str(value) for name, value in (settings or {}).items()
        }
        self._opened: dict[str, FileSystem] = {}

    def __repr__(self) -> str:
        return f"Storage({', '.join(sorted(self._settings))})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Storage, (self._settings,)

    # --- what is there

    def look(self, uri: Uri) -> Found | None:
        """What a URI names; None: nothing."""
        from pyarrow.fs import FileType

        place = self._locate(uri)
        with self._explained(uri):
            info = place.system.get_file_info(place.path)
        if info.type == FileType.NotFound:
            return None
        return Found(uri, info.size or 0, info.type == FileType.Directory)

    def list(self, uri: Uri, recursive: bool = False) -> list[Found]:
        """The files of a folder."""
        from pyarrow.fs import FileSelector, FileType

        place = self._locate(uri)
        with self._explained(uri):
            chosen = FileSelector(place.path, allow_not_found=True, recursive=recursive)
            entries = place.system.get_file_info(chosen)
        return [
            Found(Uri(place.root + info.path), info.size) for info in entries if info.type == FileType.File
        ]

    def open(self, uri: Uri, size: int | None = None) -> StoredStream:
        place = self._locate(uri)
        with self._explained(uri):
            file = place.system.open_input_file(place.path)
            return StoredStream(file, file.size() if size is None else size, lambda: self._explained(uri))

    def destination(self, uri: Uri) -> tuple[FileSystem, str]:
        """Where files can be written, and how a folder is called there."""
        place = self._locate(uri)
        return place.system, place.path

    @contextmanager
    def writing(self, uri: Uri) -> Iterator[None]:
        """What a storage refuses to take, in one sentence."""
        with self._explained(uri, "write"):
            yield

    # --- file systems

    def _locate(self, uri: Uri) -> Located:
        parts = urlsplit(uri.rstrip("/"))
        start = f"{parts.scheme}://{parts.netloc}"
        if start not in self._opened:
            self._opened[start] = self._s3(parts.netloc) if parts.scheme in _S3 else self._other(start)
        system = self._opened[start]
        # A host is no part of a path, a bucket is.
        with_host = system.type_name != "hdfs"
        if with_host:
            return Located(system, f"{parts.scheme}://", parts.netloc + parts.path)
        return Located(system, start, parts.path)

    def _other(self, start: str) -> FileSystem:
        from pyarrow import ArrowException
        from pyarrow.fs import FileSystem

        try:
            system, _ = FileSystem.from_uri(start + "/")
        except (OSError, ArrowException, ValueError) as error:
            raise UsageError(f"cannot open {_shown(start)}: {self._without_secrets(error)}") from None
        return system

    def _s3(self, bucket: str) -> FileSystem:
        from pyarrow.fs import S3FileSystem

        if "@" in bucket:
            raise UsageError(
                "s3://…@…: keys belong into the settings or the environment, not into an address"
            )
        arguments: dict[str, Any] = {}
        for setting, argument in (
            ("access.key", "access_key"),
            ("secret.key", "secret_key"),
            ("session.token", "session_token"),
            ("endpoint.region", "region"),
            ("assumed.role.arn", "role_arn"),
        ):
            if value := self._s3_setting(bucket, setting):
                arguments[argument] = value
        if endpoint := self._s3_setting(bucket, "endpoint"):
            scheme, _, host = endpoint.rpartition("://")
            arguments["endpoint_override"] = host.rstrip("/")
            encrypted = self._s3_setting(bucket, "connection.ssl.enabled") != "false"
            arguments["scheme"] = scheme or ("https" if encrypted else "http")
            # Hadoop knows a region by its endpoint; the storage of an own endpoint asks for none.
            arguments.setdefault("region", _region_of(host) or "us-east-1")
            if self._s3_setting(bucket, "path.style.access") == "false":
                arguments["force_virtual_addressing"] = True
        if "anonymous" in (self._s3_setting(bucket, "aws.credentials.provider") or "").lower():
            arguments["anonymous"] = True
        with self._explained(Uri(f"s3://{bucket}")):
            return S3FileSystem(**arguments)

    def _s3_setting(self, bucket: str, name: str) -> str | None:
        """A bucket's own setting goes before the one for all."""
        own = self._settings.get(f"fs.s3a.bucket.{bucket}.{name}".lower())
        return own if own is not None else self._settings.get(f"fs.s3a.{name}")

    # --- errors

    @contextmanager
    def _explained(self, uri: Uri, doing: str = "read") -> Iterator[None]:
        from pyarrow import ArrowException

        try:
            yield
        except FileNotFoundError:
            raise UsageError(f"no such file or directory: {_shown(uri)}") from None
        except (OSError, ArrowException, ValueError) as error:
            raise UsageError(f"cannot {doing} {_shown(uri)}: {self._without_secrets(error)}") from None

    def _without_secrets(self, error: Exception) -> str:
        text = " ".join(str(error).split())
        for name, value in self._settings.items():
            if value and name.endswith(_SECRETS):
                text = text.replace(value, "…")
        return re.sub(r"(://)[^/@\s]*@", r"\1", text)


def _shown(uri: str) -> str:
    """Without what may be a password."""
    return re.sub(r"(://)[^/@]*@", r"\1", str(uri))


def _region_of(host: str) -> str | None:
    found = re.fullmatch(r"s3[.-]([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?/?", host)
    return found[1] if found else None


class StoredStream(SeekingStream):
    """A file of a storage. Each request takes its time, so bytes come in blocks: small ones where a reader only
    looks here and there, larger ones the longer it reads on; then the next one is on its way before it is needed."""

    def __init__(self, file: Any, size: int, explained: Callable[[], Any]) -> None:
        super().__init__()
        self._file = file
        self._size = size
        self._explained = explained
        self._block = b""
        self._start = 0  # the block's place in the file
        self._step = FIRST_BLOCK
        self._pool: ThreadPoolExecutor | None = None
        self._ahead: tuple[int, Future[bytes]] | None = None
        self.fetched = 0
        """Bytes that were asked for."""

    def _end(self) -> int:
        return self._size

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        wanted = min(len(view), self._size - self._at)
        if wanted <= 0:
            return 0
        if not self._start <= self._at < self._start + len(self._block):
            self._fetch(wanted)
        inside = self._at - self._start
        piece = self._block[inside : inside + wanted]
        view[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)

    def _fetch(self, wanted: int) -> None:
        # Who walks from event to event leaves something out, and reads on all the same.
        follows = bool(self._block) and 0 <= self._at - self._start - len(self._block) <= self._step
        self._step = min(self._step * 4, LARGEST_BLOCK) if follows else FIRST_BLOCK
        ahead, self._ahead = self._ahead, None
        if ahead is not None and ahead[0] == self._at:
            self._block = ahead[1].result()
        else:
            self._block = self._get(self._at, max(self._step, min(wanted, LARGEST_BLOCK)))
        self._start = self._at
        following = self._start + len(self._block)
        if self._step == LARGEST_BLOCK and following < self._size:
            self._pool = self._pool or ThreadPoolExecutor(1, "gtidal-read-ahead")
            self._ahead = following, self._pool.submit(self._get, following, LARGEST_BLOCK)

    def _get(self, start: int, size: int) -> bytes:
        size = min(size, self._size - start)
        self.fetched += size
        with self._explained():
            data: bytes = self._file.read_at(size, start)
        return data

    def close(self) -> None:
        if not self.closed:
            if self._pool is not None:
                self._pool.shutdown(wait=True, cancel_futures=True)
            self._file.close()
        super().close()
