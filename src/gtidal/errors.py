"""Everything gtidal raises on purpose.

    GtidalError                 carries file, position, event and field; picklable
    ├── DecodeError             these bytes are not what the format says
    │   ├── NotABinlog          the file is something else altogether
    │   ├── Truncated           the bytes end inside a value or an event
    │   ├── ChecksumMismatch    the stored checksum is not that of the bytes
    │   ├── MissingTableMap     a rows event whose table map has not been seen
    │   └── Unsupported         understood, but not decodable here (another format, an unknown cipher)
    ├── KeyProblem              an encrypted log, and no key or the wrong one
    ├── ChainBroken             files that do not follow each other, or a position that is gone
    ├── SchemaConflict          versions of a table whose columns no common type holds
    ├── ServerProblem           a server refuses, or cannot give what was asked
    │   ├── ConnectionLost      out of reach, too slow or gone: worth trying again
    │   ├── LogsPurged          the server does not have these logs any more
    │   └── LogsDiverged        the server's history is not the one that was read before
    └── UsageError              the caller's mistake: no such file, a malformed GTID set, a wrong option

The promise, held by the hostile-input tests: whatever bytes are given to the decoder, nothing but a
``GtidalError`` comes out of it.
"""

from __future__ import annotations

from typing import Any, Self


class GtidalError(Exception):
    """The root: catch this to catch everything gtidal raises on purpose."""

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        position: int | None = None,
        event: str | None = None,
        field: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.position = position
        self.event = event
        self.field = field

    def at(
        self,
        *,
        file: str | None = None,
        position: int | None = None,
        event: str | None = None,
        field: str | None = None,
    ) -> Self:
        """Fill in what is not known yet: the innermost caller knows the field, the outermost the file."""
        self.file = file if self.file is None else self.file
        self.position = position if self.position is None else self.position
        self.event = event if self.event is None else self.event
        self.field = field if self.field is None else self.field
        return self

    def inside(self, name: str) -> Self:
        """Prefix the field: ``uuid`` inside ``entries[2]`` is ``entries[2].uuid``."""
        self.field = name if self.field is None else f"{name}.{self.field}"
        return self

    def __str__(self) -> str:
        place = []
        if self.file is not None:
            place.append(self.file)
        if self.position is not None:
            place.append(f"position {self.position}")
        if self.event is not None:
            place.append(self.event)
        if self.field is not None:
            place.append(f"field {self.field}")
        return f"{', '.join(place)}: {self.message}" if place else self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._rebuild, (self.message, self.file, self.position, self.event, self.field)

    @classmethod
    def _rebuild(
        cls, message: str, file: str | None, position: int | None, event: str | None, field: str | None
    ) -> Self:
        return cls(message, file=file, position=position, event=event, field=field)


class DecodeError(GtidalError):
    """These bytes are not what the format says."""


class NotABinlog(DecodeError):
    """The file is something else altogether."""


class Truncated(DecodeError):
    """The bytes end inside a value or an event."""


class ChecksumMismatch(DecodeError):
    """The stored checksum is not that of the bytes."""


class MissingTableMap(DecodeError):
    """A rows event whose table map has not been seen."""


class Unsupported(DecodeError):
    """Understood, but not decodable here."""


class KeyProblem(GtidalError):
    """An encrypted log, and no key or the wrong one."""


class ChainBroken(GtidalError):
    """Files that do not follow each other, or a position or GTID that is gone."""


class SchemaConflict(GtidalError):
    """Versions of a table whose columns no common type holds."""


class ServerProblem(GtidalError):
    """A server refuses, or cannot give what was asked."""


class ConnectionLost(ServerProblem):
    """The server is out of reach, too slow or gone; trying again may help."""


class LogsPurged(ServerProblem):
    """The server does not have these logs any more."""


class LogsDiverged(ServerProblem):
    """The server's history is not the one that was read before."""


class UsageError(GtidalError):
    """The caller's mistake."""
