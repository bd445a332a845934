"""What users write for ``start`` and ``stop``, understood: a position, a GTID set or a time; of servers also a word."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, NamedTuple

from gtidal.errors import UsageError
from gtidal.gtid import GtidSet, MariadbGtidSet, parse_gtid_set

Position = tuple[str | None, int]
"""A file, or None for the first or last one, and an offset in it."""

NOW, OLDEST = "now", "oldest"
_POSITION = re.compile(r"(?:(.+):)?(\d+)")
_LIKE_UUID = re.compile(r"[0-9a-fA-F-]+")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


class Where(NamedTuple):
    """What was written, as one of these. What a server found for it stands beside it as a position."""

    position: Position | None = None
    gtids: GtidSet | MariadbGtidSet | None = None
    """All that is already had."""
    time: int | None = None
    """Microseconds since 1970."""
    word: str | None = None
    """``now`` or ``oldest``."""


def where_of(option: str, value: Any) -> Where:
    """``option`` is how it is called in errors."""
    if value is None:
        return Where()
    if isinstance(value, Where):
        return value
    if isinstance(value, GtidSet | MariadbGtidSet):
        return Where(gtids=value)
    if isinstance(value, datetime):
        return Where(time=microseconds(value))
    if isinstance(value, int):
        if value < 0:
            raise UsageError(f"{option}={value}: a position is 0 or more")
        return Where(position=(None, value))
    text = str(value).strip()
    if text.lower() in (NOW, OLDEST):
        return Where(word=text.lower())
    if _DATE.match(text):
        try:
            return Where(time=microseconds(datetime.fromisoformat(text)))
        except ValueError as error:
            raise UsageError(f"{option}={text!r}: {error}") from None
    found = _POSITION.fullmatch(text)
    if found and (found[1] is None or "." in found[1]):
        return Where(position=(found[1], int(found[2])))
    try:
        return Where(gtids=parse_gtid_set(text))
    except UsageError:
        if found and ":" not in found[1] and not _LIKE_UUID.fullmatch(found[1]):  # a file may have any name
            return Where(position=(found[1], int(found[2])))
        raise UsageError(
            f"{option}={text!r} is no position (binlog.000024:197), no time (2026-11-16T10:00:00) and no GTID set"
        ) from None


def microseconds(moment: datetime) -> int:
    """Since 1970; a time without a zone is UTC."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    span = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (span.days * 86400 + span.seconds) * 1_000_000 + span.microseconds
