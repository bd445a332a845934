"""The paths of JSON diffs: ``$.a."b c"[3]``, always without wildcards."""

from __future__ import annotations

import json
from typing import NamedTuple

from gtidal.errors import DecodeError


class FromEnd(NamedTuple):
    """The array cell ``[last-n]``."""

    distance: int


Leg = str | int | FromEnd


def parse_path(path: str) -> tuple[Leg, ...]:
    """The legs of a path without wildcards: ``$.a."b c"[3]`` gives ``("a", "b c", 3)``."""
    legs: list[Leg] = []
    pos = _skip(path, 0)
    if path[pos : pos + 1] != "$":
        raise DecodeError(f"a JSON path starts with $, not {path[:20]!r}")
    pos = _skip(path, pos + 1)
    while pos < len(path):
        start = path[pos]
        pos = _skip(path, pos + 1)
        if start == ".":
            leg, pos = _member(path, pos)
            legs.append(leg)
        elif start == "[":
            stop = path.find("]", pos)
            if stop < 0:
                raise DecodeError("a JSON path ends inside a cell")
            legs.append(_cell(path[pos:stop]))
            pos = stop + 1
        else:
            raise DecodeError(f"a JSON path goes on with {start!r}")
        pos = _skip(path, pos)
    return tuple(legs)


def _skip(path: str, pos: int) -> int:
    while path[pos : pos + 1] in (" ", "\t", "\n", "\r"):
        pos += 1
    return pos


def _member(path: str, pos: int) -> tuple[str, int]:
    if path[pos : pos + 1] != '"':
        stop = pos
        while stop < len(path) and path[stop] not in ".[ \t\r\n":
            stop += 1
        name = path[pos:stop]
        if not name or "*" in name:
            raise DecodeError("a JSON path names no member")
        return name, stop
    stop = pos + 1
    while stop < len(path) and path[stop] != '"':
        stop += 2 if path[stop] == "\\" else 1
    try:
        quoted = json.loads(path[pos : stop + 1], strict=False)
    except ValueError:
        raise DecodeError("a JSON path has a malformed member name") from None
    return str(quoted), stop + 1


def _cell(text: str) -> Leg:
    text = text.strip(" \t\r\n")
    if text == "last":
        return FromEnd(0)
    from_end = text.startswith("last")
    if from_end:
        text = text[4:].strip(" \t\r\n").removeprefix("-").strip(" \t\r\n")
    # The server's cell numbers have 32 bits.
    if not (text.isascii() and text.isdigit()) or len(text) > 10:
        raise DecodeError(f"[{text[:20]}] is no JSON array cell")
    return FromEnd(int(text)) if from_end else int(text)
