"""The folder that an export is written to, and its memory of what is in it.

Files are first written below ``_gtidal``, a name that Spark and others do not look into. A commit is one file that says
which of them to move into sight, and what the manifest is then; whoever finds it goes on with it. So an export is seen
whole or not at all but for the moment of the moves, and files of tasks that failed are never seen.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pyarrow.fs import FileSelector, FileSystem, FileType, LocalFileSystem

from gtidal.errors import UsageError
from gtidal.sources.storage import Storage, Uri, is_uri

HIDDEN = "_gtidal"
_MANIFEST = f"{HIDDEN}/manifest.json"
_COMMIT = f"{HIDDEN}/commit.json"
ATTEMPTS = f"{HIDDEN}/attempts"


@dataclass(frozen=True)
class ExportedLog:
    """A log that was exported, and up to where."""

    name: str
    head: str
    """What tells it from others of that name."""
    size: int
    until: int | None = None
    """The position up to which it was; None: to its end, it will not grow any more."""

    @property
    def key(self) -> tuple[str, str]:
        return self.name, self.head


@dataclass(frozen=True)
class ExportedFile:
    """A file that was written; ``attempt`` is where, ``path`` where it is seen."""

    path: str
    rows: int
    size: int
    attempt: str = ""


@dataclass
class Manifest:
    """What a folder holds."""

    read: dict[str, Any]
    """What was asked for: the view and its options. The same must be asked for again."""
    columns: dict[str, str]
    logs: list[ExportedLog] = field(default_factory=list)
    files: list[ExportedFile] = field(default_factory=list)

    @staticmethod
    def parse(value: dict[str, Any]) -> Manifest:
        return Manifest(
            value["read"],
            value["columns"],
            [ExportedLog(**each) for each in value["logs"]],
            [ExportedFile(**each) for each in value["files"]],
        )

    @property
    def by_log(self) -> dict[tuple[str, str], ExportedLog]:
        return {log.key: log for log in self.logs}


@dataclass(frozen=True)
class Folder:
    """Where an export goes, on this machine or in a storage. It travels to the tasks."""

    to: str
    settings: tuple[tuple[str, str], ...] = ()

    @cached_property
    def _place(self) -> tuple[FileSystem, str]:
        if is_uri(self.to):
            return Storage(dict(self.settings)).destination(Uri(self.to))
        return LocalFileSystem(), str(Path(self.to).absolute())

    @property
    def system(self) -> FileSystem:
        return self._place[0]

    def at(self, path: str) -> str:
        return f"{self._place[1]}/{path}" if path else self._place[1]

    @contextmanager
    def problems(self) -> Iterator[None]:
        """What a storage refuses, in one sentence."""
        try:
            yield
        except OSError as error:
            reason = error.strerror or " ".join(str(error).split())
            raise UsageError(f"cannot write to {self.to}: {reason}") from None

    def make_room(self, path: str) -> None:
        """The folders above a file; object storages have none."""
        if self.system.type_name not in ("s3", "gcs", "abfs"):
            self.system.create_dir(self.at(path).rpartition("/")[0], recursive=True)

    # --- the manifest

    def manifest(self) -> Manifest | None:
        """What is here, after a commit that was interrupted is brought to its end."""
        value = self.read_json(_COMMIT)
        if value is not None:
            self._go_on(value)
        value = self.read_json(_MANIFEST)
        if value is not None:
            return Manifest.parse(value)
        seen = self.system.get_file_info(FileSelector(self.at(""), allow_not_found=True))
        if any(not entry.base_name.startswith(("_", ".")) for entry in seen):
            raise UsageError(f"{self.to} is not empty, and what is in it was not written by gtidal export")
        return None

    def commit(self, manifest: Manifest, written: Sequence[ExportedFile]) -> None:
        """``written`` comes into sight, with all that the manifest says."""
        moves = [[file.attempt, file.path] for file in written]
        manifest.files += [ExportedFile(file.path, file.rows, file.size) for file in written]
        value = {"moves": moves, "manifest": asdict(manifest)}
        self.write_json(_COMMIT, value)
        self._go_on(value)

    def _go_on(self, commit: dict[str, Any]) -> None:
        for attempt, path in commit["moves"]:
            if self.system.get_file_info(self.at(attempt)).type != FileType.NotFound:
                self.make_room(path)
                self.system.move(self.at(attempt), self.at(path))
        self.write_json(_MANIFEST, commit["manifest"])
        self.system.delete_file(self.at(_COMMIT))

    def clean(self) -> None:
        """Remove what tasks have left behind."""
        if self.system.get_file_info(self.at(ATTEMPTS)).type == FileType.Directory:
            self.system.delete_dir(self.at(ATTEMPTS))

    def read_json(self, path: str) -> dict[str, Any] | None:
        if self.system.get_file_info(self.at(path)).type == FileType.NotFound:
            return None
        with self.system.open_input_stream(self.at(path)) as stream:
            value: dict[str, Any] = json.loads(stream.read())
        return value

    def write_json(self, path: str, value: dict[str, Any]) -> None:
        """Whole or not at all."""
        draft = f"{path}.draft"
        self.make_room(path)
        with self.system.open_output_stream(self.at(draft)) as stream:
            stream.write(json.dumps(value, ensure_ascii=False, indent=1).encode())
        self.system.move(self.at(draft), self.at(path))
