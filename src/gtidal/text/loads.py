"""The files that LOAD DATA statements in the log read: put together from the log's blocks."""

from __future__ import annotations

from pathlib import Path

from gtidal.errors import UsageError

_ATTEMPTS = 1000
STEM = "SQL_LOAD_MB"


class LoadFiles:
    """Writes each file into a folder, under a name nobody else has. The statement printed names it."""

    def __init__(self, folder: str) -> None:
        self._folder = folder if folder.endswith("/") else folder + "/"
        self._paths: dict[int, str] = {}

    def begin(self, file_id: int, block: bytes, stem: str = STEM) -> None:
        for attempt in range(_ATTEMPTS):
            path = f"{self._folder}{stem}-{file_id:x}-{attempt:x}"
            try:
                with Path(path).open("xb") as file:
                    file.write(block)
            except FileExistsError:
                continue
            except OSError as error:
                raise UsageError(
                    f"cannot write {path}: {error.strerror}; name a folder with --local-load"
                ) from None
            self._paths[file_id] = path
            return
        raise UsageError(f"{self._folder} holds {_ATTEMPTS} files of load {file_id}: empty it")

    def append(self, file_id: int, block: bytes) -> bool:
        """False if the file's beginning was not seen."""
        path = self._paths.get(file_id)
        if path is None:
            return False
        try:
            with Path(path).open("ab") as file:
                file.write(block)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from None
        return True

    def take(self, file_id: int) -> str | None:
        """The complete file's path, once."""
        return self._paths.pop(file_id, None)
