"""The manifest of an archive: what its files hold, for readers who need not open them to know.

``gtidal archive`` writes it beside the logs. A reader believes it only of a file that is as large as it says.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from gtidal.errors import UsageError

MANIFEST = "gtidal-archive.json"
_VERSION = 1


class State(StrEnum):
    """How far the copy of a file has come."""

    CURRENT = "current"
    """It grows."""
    CLOSED = "closed"
    """It is whole: the server went on with another file."""
    CUT = "cut"
    """The server purged it before all of it was copied."""


@dataclass(frozen=True)
class ArchivedFile:
    """One file. What is behind ``server_version`` is known once it is closed."""

    name: str
    state: State
    size: int
    begun: int
    """The time in its first event, which tells it from others of this name."""
    server_version: str
    previous_gtids: str | None = None
    """The GTIDs of all files before; None where the file does not say."""
    gtids: str | None = None
    """Those inside; None where it has none, or that is not known."""
    anonymous_transactions: int = 0
    events: int = 0
    first_time: str | None = None
    """The earliest and the latest time of its events, in UTC."""
    last_time: str | None = None
    body: int | None = None
    """Where its head ends; None: it is read as a whole."""
    sha256: str | None = None
    next_file: str | None = None
    follows_gap: bool = False
    """Whether the server had purged what came between the file before and this one."""

    @property
    def earliest(self) -> int | None:
        return _seconds(self.first_time)

    @property
    def latest(self) -> int | None:
        return _seconds(self.last_time)


def time_text(seconds: int | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _seconds(text: str | None) -> int | None:
    return None if text is None else int(datetime.fromisoformat(text).timestamp())


@dataclass(frozen=True)
class ArchivedServer:
    """Whose logs these are."""

    uuid: str
    server_id: int
    version: str


@dataclass
class Manifest:
    """All of an archive, its files in order."""

    server: ArchivedServer | None = None
    """None: nothing has come yet."""
    files: list[ArchivedFile] = field(default_factory=list)

    @property
    def last(self) -> ArchivedFile | None:
        return self.files[-1] if self.files else None

    @property
    def whole(self) -> list[ArchivedFile]:
        return [file for file in self.files if file.state is State.CLOSED]

    def put(self, file: ArchivedFile) -> None:
        """Add a file, or what is known of the last one now."""
        if self.files and self.files[-1].name == file.name:
            self.files[-1] = file
        else:
            self.files.append(file)

    def encode(self) -> bytes:
        value = {
            "version": _VERSION,
            "server": None if self.server is None else asdict(self.server),
            "files": [asdict(file) for file in self.files],
        }
        return json.dumps(value, indent=1).encode() + b"\n"

    @classmethod
    def decode(cls, data: bytes, origin: str) -> Manifest:
        """``origin``: for the message, if this is no manifest."""
        try:
            value = json.loads(data)
            if value["version"] != _VERSION:
                raise UsageError(f"{origin} is of version {value['version']}; this gtidal knows {_VERSION}")
            server = value["server"]
            return cls(
                None if server is None else ArchivedServer(**server), [_file(each) for each in value["files"]]
            )
        except (ValueError, KeyError, TypeError):
            raise UsageError(f"{origin} is not the manifest of an archive") from None


def _file(value: Mapping[str, Any]) -> ArchivedFile:
    return ArchivedFile(**{**value, "state": State(value["state"])})
