"""Marks of a log as Spark keeps them: JSON, always written the same way, since Spark compares the text."""

from __future__ import annotations

from typing import Any

from gtidal.errors import GtidalError, UsageError
from gtidal.gtid import parse_gtid_set
from gtidal.planning.tailing import Mark

Offset = dict[str, Any]

BEGINNING: Offset = {"began": None}
"""Where a query begins. Spark does not keep that: it asks again for each batch that has none before it, and by then ``now``
and ``oldest`` are other places. So it is the end of the first batch, which Spark keeps, that tells where it began."""
_TYPES = {"created": int, "file": str, "gtids": str, "position": int, "server": str}


def to_offset(mark: Mark, began: Mark | None = None) -> Offset:
    """Keys in the order of the alphabet. ``ahead`` is there behind a fail-over alone, ``began`` in the first batch."""
    offset = {
        "created": mark.created,
        "file": mark.file,
        "gtids": mark.gtids.one_line(),
        "position": mark.position,
        "server": mark.server,
    }
    if began is not None:
        offset = {"began": to_offset(began), **offset}
    return offset if mark.ahead is None else {"ahead": mark.ahead.one_line(), **offset}


def start_of(start: Offset, end: Offset) -> Mark | None:
    """Where a batch begins; None: where the query does, and its end does not tell (older checkpoints)."""
    if start != BEGINNING:
        return to_mark(start)
    return to_mark(end["began"]) if "began" in end else None


def to_mark(offset: Offset) -> Mark:
    """What a checkpoint holds may have been written by anybody."""
    try:
        if any(not isinstance(offset[name], kind) for name, kind in _TYPES.items()):
            raise UsageError("a value is not what it should be")
        ahead = offset.get("ahead")
        return Mark(
            offset["server"],
            offset["file"],
            offset["position"],
            offset["created"],
            parse_gtid_set(offset["gtids"]),
            None if ahead is None else parse_gtid_set(ahead),
        )
    except (KeyError, TypeError, AttributeError, GtidalError) as error:
        raise UsageError(
            f"the checkpoint holds no offset of a log ({error}): it is of another source; name another one"
        ) from None
