"""What an examination of a log found: a problem, or something worth knowing that is none."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    PROBLEM = "problem"
    NOTE = "note"


class Kind(StrEnum):
    """What a finding is about."""

    DAMAGE = "damage"
    """Bytes that are no event, or an event that does not decode."""
    CHECKSUM = "checksum"
    PARTIAL = "partial"
    """The file ends inside an event."""
    POSITION = "position"
    """``log_pos`` is not where the event ends."""
    FORMAT = "format"
    UNKNOWN = "unknown"
    """An event of a type nobody told us about."""
    ROWS = "rows"
    PAYLOAD = "payload"
    LENGTH = "transaction_length"
    INCOMPLETE = "incomplete"
    """A transaction that does not end."""
    GTID = "gtid"
    ENDING = "ending"
    CHAIN = "chain"


@dataclass(frozen=True, slots=True)
class Finding:
    kind: Kind
    message: str
    file: str
    severity: Severity = Severity.PROBLEM
    position: int | None = None
    size: int | None = None
    event: str | None = None

    @property
    def is_problem(self) -> bool:
        return self.severity is Severity.PROBLEM
