"""The folder that logs are copied into. Whatever is interrupted, at any moment, the next run goes on from what is here.

The last file may end inside of an event; it is cut back to the last whole one before anything is added. While a file
grows its in-use bit is set, as on the server: so readers know that it may end anywhere. The manifest is replaced as a
whole, and names a file before the file is made, and as closed only when all of it is on the disk.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from gtidal.archiving.intake import FLAGS, Intake
from gtidal.errors import GtidalError, UsageError
from gtidal.events.header import IN_USE
from gtidal.log.decoder import FIRST_EVENT
from gtidal.log.facts import LogName
from gtidal.sources.archive import MANIFEST, Manifest

LOCK = "gtidal-archive.lock"
_IN_USE_AT = FIRST_EVENT + FLAGS
_SYNCING = ThreadPoolExecutor(1, "gtidal-sync")
_WRITING = ThreadPoolExecutor(1, "gtidal-write")
_WORTH_A_THREAD = 1 << 16
_RIGHTS = 0o640
"""Logs hold what the tables hold."""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """What a disk refuses, in one sentence."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from None


class Folder:
    """``with Folder(path) as folder``: nobody else writes into it meanwhile."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifest = Manifest()
        self._lock: int | None = None
        self._indexed = ""

    def __enter__(self) -> Folder:
        with writing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT, _RIGHTS)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise UsageError(f"another gtidal archive is writing into {self.path}") from None
        self.load()
        return self

    def __exit__(self, *_: object) -> None:
        if self._lock is not None:
            os.close(self._lock)  # which ends the lock; its file stays, since another may wait for it
            self._lock = None

    # --- the manifest

    def load(self) -> None:
        with suppress(FileNotFoundError):
            file = self.path / MANIFEST
            self.manifest = Manifest.decode(file.read_bytes(), str(file))

    def save(self) -> None:
        self._replace(MANIFEST, self.manifest.encode())

    def save_index(self) -> None:
        """As servers have it beside their logs, for tools that look for one."""
        last = self.manifest.last
        if last is None or last.name == self._indexed:
            return
        self._replace(index_name(self.manifest), index_text(self.manifest))
        self._indexed = last.name

    def _replace(self, name: str, data: bytes) -> None:
        """Whole or not at all, also if the power fails."""
        final = self.path / name
        draft = final.with_name(f"{name}.draft")
        with writing(final):
            fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _RIGHTS)
            try:
                _write_all(fd, memoryview(data))
                os.fsync(fd)
            finally:
                os.close(fd)
            draft.replace(final)
            self._sync_names()

    def _sync_names(self) -> None:
        fd = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    # --- logs

    def check_free(self, name: str) -> None:
        """Before a file is begun: nothing of others is overwritten."""
        if (self.path / name).exists():
            raise UsageError(f"{self.path / name} is there already, and was not written by gtidal archive")

    def open(self, name: str) -> tuple[GrowingFile, Intake]:
        """A file that grows, and what is whole of it; the rest is cut off."""
        file = GrowingFile(self.path / name)
        try:
            return file, file.recover()
        except BaseException:
            file.close()
            raise


def index_name(manifest: Manifest) -> str:
    assert manifest.last is not None
    return f"{LogName.parse(manifest.last.name).base}.index"


def index_text(manifest: Manifest) -> bytes:
    return "".join(f"./{file.name}\n" for file in manifest.files).encode()


class GrowingFile:
    """A copy that is being written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with writing(path):
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT, _RIGHTS)
        self.size = 0
        """With what is being written."""
        self._written = 0
        self._writing: Future[None] | None = None
        self._synced = 0
        self._syncing: Future[None] | None = None

    def recover(self) -> Intake:
        """Read what is here. It ends behind the last whole event whose checksum is right."""
        intake = Intake(self.path.name)
        with suppress(GtidalError), open(self._fd, "rb", 0, closefd=False) as stream:
            while count := stream.readinto(intake.room()):
                intake.take(count)
                intake.check()
        if intake.format is None:
            intake = Intake(self.path.name)
        intake.drop_rest()
        self.size = self._written = intake.position
        with writing(self.path):
            os.ftruncate(self._fd, self.size)
            os.lseek(self._fd, self.size, os.SEEK_SET)
            if self.size:
                self._mark(in_use=True)
        return intake

    def add(self, whole: memoryview) -> None:
        """Whole events. Their bytes must stay as they are until ``settle``, or until more is added."""
        self.settle()
        if not len(whole):
            return
        begins = not self.size
        self.size += len(whole)
        self._writing = _WRITING.submit(_write_all, self._fd, whole)
        if begins or len(whole) < _WORTH_A_THREAD:
            self.settle()
        if begins:
            with writing(self.path):
                self._mark(in_use=True)

    def settle(self) -> None:
        """What was added is in the file."""
        under_way, self._writing = self._writing, None
        if under_way is None:
            return
        try:
            with writing(self.path):
                under_way.result()
        except UsageError:
            self.size = self._written
            raise
        self._written = self.size

    def sync_soon(self) -> None:
        """Begin to bring to the disk what was added, unless that is under way. Meanwhile more may come."""
        self.settle()
        if self._syncing is not None and self._syncing.done():
            self._end_syncing()
        if self._syncing is None and self._synced != self.size:
            self._synced = self.size
            self._syncing = _SYNCING.submit(os.fsync, self._fd)

    def sync(self) -> None:
        """What was added survives a power failure from here on."""
        self.settle()
        self._end_syncing()
        if self._synced != self.size:
            with writing(self.path):
                os.fsync(self._fd)
            self._synced = self.size

    def _end_syncing(self) -> None:
        syncing, self._syncing = self._syncing, None
        if syncing is not None:
            with writing(self.path):
                syncing.result()

    def finish(self) -> None:
        """Nothing will be added any more."""
        self.settle()
        self._end_syncing()
        with writing(self.path):
            self._mark(in_use=False)
            os.fsync(self._fd)
        self.close()

    def close(self) -> None:
        if self._writing is not None:
            self._writing.exception()  # nobody closes what is being written
            self._writing = None
        if self._syncing is not None:
            self._syncing.exception()  # nobody closes what is being brought to the disk
            self._syncing = None
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def same(self, position: int, data: memoryview) -> bool:
        """Whether these bytes are here, too."""
        return os.pread(self._fd, len(data), position) == data

    def _mark(self, *, in_use: bool) -> None:
        (flags,) = os.pread(self._fd, 1, _IN_USE_AT)
        os.pwrite(self._fd, bytes((flags | IN_USE if in_use else flags & ~IN_USE,)), _IN_USE_AT)


def _write_all(fd: int, data: memoryview) -> None:
    while len(data):
        data = data[os.write(fd, data) :]
