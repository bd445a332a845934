"""Where the next event begins, when the bytes before it are none.

Nothing marks an event's beginning, but a header says much that can be checked: its type is known, its size
is possible, its ``log_pos`` is where it ends, its checksum is right, and where it ends another such header
begins. A place that passes is *proven* to be a boundary; how many headers in a row it takes depends on what
else vouches for the first:

    position and checksum agree         2 headers, the first event's checksum
    checksum alone                      3 headers, two checksums: positions are shifted where bytes were
                                        lost or put in, and in relay logs they are the source's
    no checksums in this log            4 headers
    13-byte headers (no positions)      5 headers of one server
    the file ends before                fewer, if the last event ends where the file does

Bytes that someone put into a BLOB to look like events pass, as they must: nothing tells them from events.
That is why a reader asks first whether the damaged event ends where its own header says (``judge``), and
searches only if it does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from functools import cache
from struct import Struct
from typing import NamedTuple

from gtidal.events.control import Rotate
from gtidal.events.format import CHECKSUM_SIZE, Format, FormatDescription
from gtidal.events.frame import HEADER_SIZE, V1_HEADER_SIZE, checksum_size, compute_checksum, header_length
from gtidal.events.header import FLAGS
from gtidal.events.registry import EVENTS
from gtidal.log.codecs import MariadbCipher
from gtidal.log.decoder import MAX_EVENT_SIZE

_HEADER = Struct("<IBIIIH")
_V1_HEADER = Struct("<IBII")
_SIZE_AND_POSITION = Struct("<II")
_WRAP = 0xFFFFFFFF
_ODD_FLAGS = ~sum(FLAGS)
_VENDOR_TYPES = frozenset(range(101, 106))
"""Types of AliSQL's and PolarDB's logs."""
_PLAUSIBLE_TYPES = frozenset(EVENTS) | _VENDOR_TYPES
_V3_TYPES = frozenset(range(1, 15))
_BREAKS_LINE = {FormatDescription.code, Rotate.code}
"""In a relay log these come from the replica: positions before and after them have nothing in common."""

_OWN_LENGTH = 57 + FormatDescription.code - 1
"""Where a format description's body says how long it is."""

LOOK_AHEAD = 1 << 24
"""An event whose position does not vouch for it is not waited for beyond this size."""
_ALWAYS_CHECKED = 1 << 12
_BUDGET = 1 << 26
_BUDGET_PER_BYTE = 32
"""Garbage made to look like long events would have each byte checksummed many times: this bounds it."""


class Verdict(Enum):
    PROVEN = "proven"
    REFUTED = "refuted"
    UNDECIDED = "undecided"
    """More data are needed."""


class Head(NamedTuple):
    """What a header says that can be checked."""

    type_code: int
    server_id: int
    size: int
    start: int | None
    """Where the event starts, by its own ``log_pos``; None where that says nothing."""
    flags: int


class Prover:
    """Judges places in one log. ``size`` is the file's, where it is known: no event goes beyond it.
    ``strict``: only an event whose position vouches for it is one."""

    def __init__(
        self,
        format: Format,
        *,
        own_positions: bool = True,
        shift: int = 0,
        cipher: MariadbCipher | None = None,
        size: int | None = None,
        strict: bool = False,
    ) -> None:
        self.format = format
        self.own_positions = own_positions
        self.shift = shift
        self.size = size
        self.strict = strict
        self._cipher = cipher
        self._types = _PLAUSIBLE_TYPES if format.version >= 4 else _V3_TYPES
        self._header_size = V1_HEADER_SIZE if format.version == 1 else HEADER_SIZE
        self._budget = _BUDGET

    def head(self, data: bytes, offset: int, position: int) -> Head | None:
        """The header at ``offset`` of ``data``, which lies at ``position`` of the file; None if cut short."""
        if self._cipher is not None:
            piece = data[offset : offset + HEADER_SIZE + 1]  # 16 bytes beside the size: a cipher block
            if piece[9:13] == HEADER_SIZE.to_bytes(4, "little"):
                piece = piece[:HEADER_SIZE]
            elif len(piece) <= HEADER_SIZE:
                return None
            data, offset = self._cipher.decrypt(piece, position + offset), 0
        if len(data) - offset < self._header_size:
            return None
        if self.format.version == 1:
            _, code, server, size = _V1_HEADER.unpack_from(data, offset)
            return Head(code, server, size, None, 0)
        _, code, server, size, log_pos, flags = _HEADER.unpack_from(data, offset)
        return Head(code, server, size, claimed_start(self.format, size, log_pos), flags)

    def is_plausible(self, head: Head) -> bool:
        smallest = header_length(head.type_code, self.format)
        if self.format.has_checksums:
            smallest += CHECKSUM_SIZE
        return (
            head.type_code in self._types
            and smallest <= head.size <= MAX_EVENT_SIZE
            and not head.flags & _ODD_FLAGS
        )

    def is_in_place(self, head: Head, position: int) -> bool:
        """Whether its position vouches for an event at ``position`` of the file."""
        if not self.own_positions or head.start is None:
            return False
        distance = (head.start - position) & _WRAP
        return distance in (0, self.shift & _WRAP)

    def judge(self, data: bytes, offset: int, position: int, ended: bool) -> Verdict:
        """Whether an event begins at ``offset`` of ``data``; ``data[0]`` is at ``position`` of the file.
        ``ended``: no data follow."""
        events: list[tuple[int, int]] = []
        at, seen, needed, in_place = offset, 0, 1, False
        follows: int | None = None
        first: Head | None = None
        while True:
            head = self.head(data, at, position)
            if head is None:
                if not ended:
                    return Verdict.UNDECIDED
                break
            if not self.is_plausible(head):
                return Verdict.REFUTED
            if first is None:
                if self._too_long(head, at + position) or not self._speaks(head):
                    return Verdict.REFUTED
                first = head
                in_place = self.is_in_place(head, at + position)
                if self.strict and not in_place:
                    return Verdict.REFUTED
                needed = self._headers_needed(in_place)
            elif not self._continues(head, at + position, follows, first):
                return Verdict.REFUTED
            seen += self._speaks(head)
            if seen >= needed:
                break
            end = at + head.size
            if end > len(data):
                if ended:
                    break
                return Verdict.UNDECIDED if in_place or head.size <= LOOK_AHEAD else Verdict.REFUTED
            events.append((at, end))
            base = head.start if head.start is not None else follows
            follows = None if base is None else (base + head.size) & _WRAP
            at = end
        if self.format.has_checksums:
            proven = bool(events) and self._checksums_agree(data, position, events)
        else:  # all that were needed; or all the file has, of which one must be whole
            proven = seen >= needed or len(events) >= 2 or (len(events) == 1 and in_place)
        return Verdict.PROVEN if proven else Verdict.REFUTED

    def _speaks(self, head: Head) -> bool:
        """Whether this header counts as evidence: without a checksum, one that claims no position does not."""
        return head.start is not None or self.format.has_checksums or self.format.version == 1

    def _headers_needed(self, in_place: bool) -> int:
        if self.format.has_checksums:
            return 2 if in_place else 3
        return 5 if self.format.version == 1 else 4

    def _too_long(self, head: Head, position: int) -> bool:
        return self.size is not None and position + head.size > self.size

    def _continues(self, head: Head, position: int, follows: int | None, first: Head) -> bool:
        """Whether a header can be that of the event after the one before."""
        if self.format.version == 1:
            return head.server_id == first.server_id
        if head.start is None or follows is None:
            return True
        if head.start == follows or self.is_in_place(head, position):
            return True
        return not self.own_positions and head.type_code in _BREAKS_LINE

    def _checksums_agree(self, data: bytes, position: int, events: list[tuple[int, int]]) -> bool:
        return all(self._checksum_agrees(data, position, start, end) for start, end in events)

    def _checksum_agrees(self, data: bytes, position: int, start: int, end: int) -> bool:
        if end - start > _ALWAYS_CHECKED:
            if self._budget < end - start:
                return False
            self._budget -= end - start
        event = data[start:end]
        if self._cipher is not None:
            event = self._cipher.decrypt(event, position + start)
        code = event[4]
        size = checksum_size(event, code, self.format)
        if not size:
            return _is_old_format(event)
        return compute_checksum(event[:-size], code) == int.from_bytes(event[-size:], "little")

    def search(
        self, data: bytes, offset: int, position: int, ended: bool, candidates: Iterator[int] | None = None
    ) -> tuple[int, bool]:
        """The first boundary from ``offset`` on: (its offset, True). Else (offset, False): there is none
        before; go on from there with more data, if there are more. ``candidates``: no other offsets are worth a look."""
        self._budget += _BUDGET_PER_BYTE * (len(data) - offset)
        for at in self._candidates(data, offset, position) if candidates is None else candidates:
            verdict = self.judge(data, at, position, ended)
            if verdict is not Verdict.REFUTED:
                return at, verdict is Verdict.PROVEN
        return (len(data) if ended else max(offset, len(data) - HEADER_SIZE)), False

    def _candidates(self, data: bytes, offset: int, position: int) -> Iterator[int]:
        """Places where the bytes have a header's shape, found at the speed of ``re``."""
        largest = MAX_EVENT_SIZE if self.size is None else min(MAX_EVENT_SIZE, self.size - position - offset)
        encrypted = self._cipher is not None
        pattern, ahead = _header_pattern(self._types, largest >> 24, self._header_size, encrypted)
        # Most places are refuted by the position they claim: where that must be right, it is looked at first.
        telling = self.strict and self.format.version >= 4 and not encrypted
        there = (0, self.shift & _WRAP)
        for found in pattern.finditer(data, offset + ahead):
            at = found.start() - ahead
            if telling:
                size, log_pos = _SIZE_AND_POSITION.unpack_from(data, at + 9)
                if (log_pos - size - position - at) & _WRAP not in there:
                    continue
            yield at


def claimed_start(format: Format, size: int, log_pos: int) -> int | None:
    """Where an event starts by its own ``log_pos``: modulo 4 GiB. 0 is no claim: an artificial event, or
    one of MariaDB's transaction cache."""
    if log_pos == 0 or format.version == 1:
        return None
    return log_pos if format.version < 4 else (log_pos - size) & _WRAP


def _is_old_format(event: bytes) -> bool:
    """Whether this is a format description of a server that knew no checksums: its version is 4 and its
    own length is in its place."""
    body = event[HEADER_SIZE:]
    return body[:2] == b"\x04\x00" and len(body) > _OWN_LENGTH and body[_OWN_LENGTH] == len(body)


@cache
def _header_pattern(
    types: frozenset[int], largest: int, header_size: int, encrypted: bool
) -> tuple[re.Pattern[bytes], int]:
    """A header's shape: a known type, a size of which the last byte is small, flags of which the last byte
    has no odd bits. Second: how far into the header the match begins. It begins with a class of bytes
    because that is what ``re`` skips to quickly."""
    sizes = b"[\\x00-" + re.escape(bytes((max(0, min(largest, 255)),))) + b"]"
    if encrypted:  # the size alone is readable
        return re.compile(sizes, re.DOTALL), 12
    known = b"[" + b"".join(re.escape(bytes((code,))) for code in sorted(types)) + b"]"
    shape = known + b"(?=.{7}" + sizes
    if header_size == HEADER_SIZE:
        flags = [high for high in range(256) if not high << 8 & _ODD_FLAGS]
        shape += b".{5}[" + b"".join(re.escape(bytes((high,))) for high in flags) + b"]"
    return re.compile(shape + b")", re.DOTALL), 4
