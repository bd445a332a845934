"""MySQL's text form of GTIDs, read the way the server reads it (tried on 9.7.4).

A set is a list of ``uuid:item:item…`` separated by commas, where an item is a number, a range ``5-9``, or
a tag that holds for the numbers after it. White space is allowed between all tokens and commas may be
redundant; letters may be upper case; order is free and ranges may overlap. Three things are legal that
one may not expect, and add nothing: a range that ends before it starts, a UUID without numbers, a tag
without numbers. A UUID may also be written without dashes, or with dashes in braces.
"""

from __future__ import annotations

import re
from typing import NoReturn

from gtidal.errors import UsageError
from gtidal.gtid.intervals import GNO_END

SET_FORM = "uuid:1-5:7, uuid:tag:1-2"
ONE_FORM = "uuid:7 or uuid:tag:7"

_DASHED = "-".join(f"[0-9a-fA-F]{{{digits}}}" for digits in (8, 4, 4, 4, 12))
_UUID = re.compile(rf"{_DASHED}|\{{{_DASHED}\}}|[0-9a-fA-F]{{32}}")
_TAG = r"[A-Za-z_][A-Za-z0-9_]{0,31}+(?![A-Za-z0-9_])"
_ITEM = re.compile(rf"\s*+:\s*+(?:([0-9]++)(?:\s*+-\s*+([0-9]++))?|({_TAG}))", re.ASCII)
BLANK = re.compile(r"\s*+", re.ASCII)
_DASH = re.compile(r"-\s*+", re.ASCII)
_COLON = re.compile(r":\s*+", re.ASCII)
SEPARATORS = re.compile(r"[\s,]*+", re.ASCII)
_VALID_TAG = re.compile(_TAG)

Pairs = dict[tuple[bytes, str], list[tuple[int, int]]]
"""(start, exclusive end) of each range as written, by UUID and tag."""


def parse_uuid(text: str) -> bytes:
    """The 16 bytes of a UUID in any of its three forms."""
    if not _UUID.fullmatch(text.strip()):
        raise UsageError(f"not a UUID: {shown(text, 0)}; write it as 01234567-89ab-cdef-0123-456789abcdef")
    return _uuid_bytes(text)


def format_uuid(uuid: bytes) -> str:
    text = uuid.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def is_tag(text: str) -> bool:
    """Whether this can be a tag, upper case included; the empty text means no tag."""
    return not text or _VALID_TAG.fullmatch(text) is not None


def parse_pairs(text: str) -> Pairs:
    """The ranges of a GTID set, not yet ordered or merged."""
    pairs: Pairs = {}
    pos = skip(SEPARATORS, text, 0)
    while pos < len(text):
        match = _UUID.match(text, pos)
        if match is None:
            _fail(text, pos, "a UUID")
        uuid = _uuid_bytes(match[0])
        tag = ""
        pos = match.end()
        found: list[tuple[int, int]] | None = None
        while (match := _ITEM.match(text, pos)) is not None:
            pos = match.end()
            first, last, name = match.groups()
            if name is not None:
                tag = name.lower()
                found = None
                continue
            start = _number(text, match.start(1), first)
            end = start + 1 if last is None else _number(text, match.start(2), last, lowest=0) + 1
            if start < end:
                if found is None:
                    found = pairs.setdefault((uuid, tag), [])
                found.append((start, end))
        pos = _expect_separator(text, pos)
    return pairs


def parse_one(text: str) -> tuple[bytes, str, int]:
    """UUID, tag and number of a single GTID."""
    pairs = parse_pairs(text)
    if len(pairs) == 1:
        ((uuid, tag), found) = next(iter(pairs.items()))
        if len(found) == 1 and found[0][1] == found[0][0] + 1:
            return uuid, tag, found[0][0]
    raise UsageError(f"not a single GTID: {shown(text, 0)}; the form is {ONE_FORM}")


def _uuid_bytes(text: str) -> bytes:
    return bytes.fromhex(text.strip().strip("{}").replace("-", ""))


def _number(text: str, pos: int, digits: str, lowest: int = 1) -> int:
    # Compared by length first: Python refuses to convert thousands of digits.
    digits = digits.lstrip("0") or "0"
    if len(digits) > 19 or not lowest <= int(digits) < GNO_END:
        _fail(text, pos, f"a number from {lowest} to {GNO_END - 1}")
    return int(digits)


def _expect_separator(text: str, pos: int) -> int:
    """Past the commas after one UUID's items; says what is wrong if something else is there."""
    pos = skip(BLANK, text, pos)
    if pos == len(text) or text[pos] == ",":
        return skip(SEPARATORS, text, pos)
    if text[pos] == ":":
        _fail(text, skip(_COLON, text, pos), "a transaction number, or a tag of up to 32 letters, digits, _")
    if text[pos] == "-":
        _fail(text, skip(_DASH, text, pos), "the last number of a range")
    _fail(text, pos, "a comma or a colon")


def skip(pattern: re.Pattern[str], text: str, pos: int) -> int:
    """Where the text goes on behind what the pattern matches."""
    match = pattern.match(text, pos)
    return pos if match is None else match.end()


def shown(text: str, pos: int) -> str:
    """A short piece of the text for a message."""
    if pos >= len(text):
        return "the end"
    piece = text[pos : pos + 24]
    return repr(piece) if len(text) <= pos + 24 else repr(piece) + "…"


def _fail(text: str, pos: int, expected: str) -> NoReturn:
    raise UsageError(
        f"malformed GTID set: expected {expected} at character {pos + 1}, found {shown(text, pos)}; "
        f"the form is {SET_FORM}"
    )
