"""An archive in a storage: what was copied into a folder here is brought there, and leaves the folder.

A closed file is one upload, the file that grows is uploaded again from time to time. Behind the files comes the
manifest: so whatever it names is there. If the folder is lost, all goes on from what is in the storage.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from gtidal.archiving.folder import Folder, index_name, index_text, writing
from gtidal.errors import GtidalError, UsageError
from gtidal.log.facts import LogName
from gtidal.sources.archive import MANIFEST, ArchivedFile, Manifest, State
from gtidal.sources.storage import Storage, Uri

_PIECE = 8 << 20


class Mirror:
    """``uri``: the folder in the storage."""

    def __init__(self, uri: Uri, storage: Storage, folder: Folder) -> None:
        self.uri = uri
        self._storage = storage
        self._folder = folder
        self._pool = ThreadPoolExecutor(1, "gtidal-upload")
        self._running: Future[None] | None = None
        self._failed: GtidalError | None = None
        self._uploaded: tuple[str, int] | None = None
        """The file that grows, as it is in the storage."""

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    # --- from the storage

    def restore(self) -> None:
        """Have in the folder what is needed to go on. Where the storage has more, it counts."""
        found = self._storage.look(self.uri / MANIFEST)
        if found is None:
            return
        theirs = Manifest.decode(self._get(self.uri / MANIFEST), found.uri)
        ours = self._folder.manifest
        if ours.server and theirs.server and ours.server.uuid != theirs.server.uuid:
            raise UsageError(
                f"{self._folder.path} holds logs of the server {ours.server.uuid}, {self.uri} those of {theirs.server.uuid}:"
                " say --spool to use another folder"
            )
        if _progress(theirs.last) <= self._own_progress():
            return
        self._folder.manifest = theirs
        for file in theirs.files:
            if file.state is not State.CURRENT:
                (self._folder.path / file.name).unlink(missing_ok=True)
            elif self._storage.look(self.uri / file.name):
                self._download(file.name)
        self._folder.save()

    def _own_progress(self) -> tuple[int, int]:
        """By the file itself: it may have grown after the manifest was written."""
        last = self._folder.manifest.last
        number, size = _progress(last)
        if last is not None and (path := self._folder.path / last.name).exists():
            size = max(size, path.stat().st_size)
        return number, size

    def _get(self, uri: Uri) -> bytes:
        with self._storage.open(uri) as stream:
            return stream.read()

    def _download(self, name: str) -> None:
        target = self._folder.path / name
        with writing(target), self._storage.open(self.uri / name) as stream, target.open("wb") as file:
            while piece := stream.read(_PIECE):
                file.write(piece)

    # --- into the storage

    def push(self, current: tuple[str, int] | None) -> None:
        """Bring everything there that is new; in the background. ``current``: the file that grows, and how much of it.
        If something is on its way still, the next time will do."""
        if self._running is None or self._running.done():
            self._end_of_running()
            self._begin(current)

    def problem(self) -> GtidalError | None:
        """What went wrong the last time."""
        if self._running is not None and self._running.done():
            self._end_of_running()
        failed, self._failed = self._failed, None
        return failed

    def finish(self, current: tuple[str, int] | None) -> None:
        """All is there. Raises if it is not."""
        self._end_of_running()
        self._failed = None
        self._begin(current)
        self._end_of_running()
        if self._failed is not None:
            raise self._failed

    def _begin(self, current: tuple[str, int] | None) -> None:
        manifest = Manifest(self._folder.manifest.server, list(self._folder.manifest.files))
        self._running = self._pool.submit(self._push, manifest, current)

    def _end_of_running(self) -> None:
        if self._running is not None:
            try:
                self._running.result()
            except GtidalError as error:
                self._failed = error
            self._running = None

    def _push(self, manifest: Manifest, current: tuple[str, int] | None) -> None:
        done = [
            path
            for file in manifest.files
            if file.state is not State.CURRENT and (path := self._folder.path / file.name).exists()
        ]
        for path in done:
            self._upload(path, path.stat().st_size)
        if current is None:
            manifest.files = [file for file in manifest.files if file.state is not State.CURRENT]
        elif current[1] and current != self._uploaded:
            self._upload(self._folder.path / current[0], current[1])
            self._uploaded = current
        if not manifest.files:
            return
        self._put(index_name(manifest), index_text(manifest))
        self._put(MANIFEST, manifest.encode())
        for path in done:
            path.unlink()

    def _upload(self, path: Path, size: int) -> None:
        system, folder = self._storage.destination(self.uri)
        with (
            self._storage.writing(self.uri / path.name),
            path.open("rb", 0) as file,
            system.open_output_stream(f"{folder}/{path.name}") as stream,
        ):
            while size and (piece := file.read(min(size, _PIECE))):
                stream.write(piece)
                size -= len(piece)

    def _put(self, name: str, data: bytes) -> None:
        system, folder = self._storage.destination(self.uri)
        with self._storage.writing(self.uri / name), system.open_output_stream(f"{folder}/{name}") as stream:
            stream.write(data)


def _progress(file: ArchivedFile | None) -> tuple[int, int]:
    """How far an archive has come, by its last file."""
    return (-1, 0) if file is None else (LogName.parse(file.name).number or 0, file.size)
