"""A decoder that survives damage: what cannot be read comes as ``Damage``, and it goes on behind it.

    decoder = SalvageDecoder("binlog.000024", size=1472)
    decoder.receive_data(chunk)
    while (item := decoder.next_item()) is not None:
        ...                                   # a Frame, or the Damage between two frames
    decoder.end_of_data()                     # and ask for the rest

Every byte behind the head of the file is in exactly one frame or damage. An event whose checksum does not
agree is damage from its first byte to its last, if its header holds, that is if an event begins where it
ends. Otherwise all bytes up to the next boundary that ``resync`` can prove are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from gtidal.errors import DecodeError, GtidalError, KeyProblem, Truncated, Unsupported
from gtidal.events.control import Rotate
from gtidal.events.format import MAGIC, Format, FormatDescription
from gtidal.events.frame import HEADER_SIZE
from gtidal.events.header import ARTIFICIAL, RELAY_LOG
from gtidal.log.decoder import FIRST_EVENT, MAX_EVENT_SIZE, Frame, Keys, LogDecoder
from gtidal.log.encryption import EncryptionHeader
from gtidal.log.resync import LOOK_AHEAD, Head, Prover, Verdict, claimed_start

_WRAP = 1 << 32
_HINT_REACH = 1 << 26
"""How far behind damage a header's own word for the event's end is tried."""
_FORMAT_SIZE = 1 << 10
"""No format description is larger: it has a byte for each type code."""


class Damage(NamedTuple):
    """Bytes that are no event."""

    position: int
    size: int
    error: GtidalError
    """What was met at ``position``."""
    goes_on: bool
    """Whether an event follows; else it reaches to the end of the file."""
    partial: bool = False
    """The file ends inside an event whose header is sound: not written to its end, or cut."""
    zeros: bool = False

    @property
    def end(self) -> int:
        return self.position + self.size


@dataclass(slots=True)
class _Search:
    """Framing is lost; how far the search has come."""

    position: int
    error: GtidalError
    hints: list[int] = field(default_factory=list)
    """Positions at which the damaged event may end, by its own header."""
    partial: bool = False
    started: bool = False
    zeros: bool = True


class SalvageDecoder(LogDecoder):
    """``size`` is the file's as it lies on disk, where it is known."""

    def __init__(self, file: str | None = None, *, size: int | None = None, keys: Keys | None = None) -> None:
        super().__init__(file, keys=keys)
        self.own_positions = True
        """False in relay logs and captured streams: headers hold the positions of another file."""
        self.shift = 0
        """How much ``log_pos`` is ahead of the place in the file: bytes before were lost (or, below 0,
        put in)."""
        self._size = size
        self._search: _Search | None = None
        self._formats = 0

    @property
    def log_size(self) -> int | None:
        """The file's size without an encryption header: what positions are measured in."""
        if self._size is None or self.encryption is None:
            return self._size
        return self._size - EncryptionHeader.SIZE

    def next_item(self) -> Frame | Damage | None:
        """The next event's bytes, or what is damaged before it; None: give more data, or all was read."""
        while True:
            if self._search is not None:
                return self._recover(self._search)
            if self._stage != self._read_events:
                if not self._read_head():
                    return None
                continue
            head = self._peek()
            if head is None:
                if not self._ended or not self._available:
                    return None
                self._lose(self._partial_error(HEADER_SIZE), partial=True)
            elif (error := self._refuse(head)) is not None:
                self._lose(error, head)
            elif (frame := self._read_frame(head)) is not None:
                return frame
            elif self._search is None:
                return None

    @property
    def _available(self) -> int:
        return len(self._buffer) - self._offset + self._waiting_size

    def _unread(self) -> bytes:
        """All that was received and not yet read."""
        self._have(self._available)
        return self._buffer[self._offset :] if self._offset else self._buffer

    def _advance(self, size: int) -> None:
        self._offset += size
        self.position += size

    def _prover(self) -> Prover:
        return Prover(
            self.format,
            own_positions=self.own_positions,
            shift=self.shift,
            cipher=self.event_cipher,
            size=self.log_size,
        )

    # --- the head of the file

    def _read_head(self) -> bool:
        """One step; False: more data are needed."""
        try:
            return self._stage()
        except (KeyProblem, Unsupported):
            raise
        except GtidalError as error:
            error.at(file=self.file, position=self.position)
            if self.position == 0 and self.encryption is None and self._has_format_behind_magic():
                self._search = _Search(0, error, hints=[FIRST_EVENT])
                self._offset = 0  # the magic bytes have been taken
            else:
                self._search = _Search(self.position, error, partial=isinstance(error, Truncated))
            if self.position == 0:
                self._offset = 0
            self.context.format = Format()
            self._stage = self._read_events
            return True

    def _has_format_behind_magic(self) -> bool:
        """Whether the magic bytes alone are damaged."""
        data = self._unread()[:_FORMAT_SIZE]
        size = int.from_bytes(data[9:13], "little")
        event = data[:size]
        if len(event) != size or size < HEADER_SIZE + 57 or data[4] != FormatDescription.code:
            return False
        return int.from_bytes(data[13:17], "little") == FIRST_EVENT + size

    # --- events

    def _peek(self) -> Head | None:
        """The next event's header; None if it is not all there."""
        if not self._have(HEADER_SIZE + 1) and not (self._ended and self._have(self._available)):
            return None
        return self._prover().head(self._buffer, self._offset, self.position - self._offset)

    def _refuse(self, head: Head) -> GtidalError | None:
        """What is wrong with a header, as far as it alone can tell."""
        smallest = self.format.header_length
        if not smallest <= head.size <= MAX_EVENT_SIZE:
            return DecodeError(
                f"an event of {head.size} bytes; it has at least {smallest} and at most {MAX_EVENT_SIZE}",
                file=self.file,
                position=self.position,
                field="header.size",
            )
        if self.log_size is not None and self.position + head.size > self.log_size:
            return self._partial_error(head.size)
        if self._ended and head.size > self._available:
            return self._partial_error(head.size)
        if self.event_cipher is None and self._ciphers:
            return None  # encrypted, and the cipher's mode is not known yet: this is no header to judge
        believed = (
            not self.own_positions or head.start is None or self._prover().is_in_place(head, self.position)
        )
        if believed or (head.size <= LOOK_AHEAD and self.format.has_checksums):
            return None
        if self.format.has_checksums or not self._begins_behind(head):
            return DecodeError(
                f"an event of {head.size} bytes that by its header starts at {head.start}",
                file=self.file,
                position=self.position,
                field="header.log_pos",
            )
        return None

    def _begins_behind(self, head: Head) -> bool:
        """Without checksums: whether a strange position is all that is strange about this event."""
        return self._judge(self.position + head.size) is not Verdict.REFUTED

    def _partial_error(self, size: int) -> Truncated:
        end = self.log_size if self.log_size is not None else self.position + self._available
        return Truncated(
            f"the log ends inside an event: {end - self.position} bytes of at least {size}",
            file=self.file,
            position=self.position,
        )

    def _read_frame(self, head: Head) -> Frame | None:
        position, format = self.position, self.context.format
        try:
            frame = self.next_frame()
        except KeyProblem:
            raise
        except GtidalError as error:
            self._lost = None
            if self.position > position:  # read, and refused: back to its beginning
                self._advance(position - self.position)
            if position != FIRST_EVENT:
                self.context.format = format
            self._lose(error, head)
            return None
        if frame is not None:
            self._learn_positions(frame)
        return frame

    def _learn_positions(self, frame: Frame) -> None:
        data, code = frame.data, frame.type_code
        log_pos, flags = int.from_bytes(data[13:17], "little"), int.from_bytes(data[17:19], "little")
        if self.format.version < 4:
            flags = 0
        if code == FormatDescription.code:
            self._formats += 1
            if self._formats > 1 or flags & RELAY_LOG or not log_pos:
                self.own_positions = False
        elif code == Rotate.code and self.format.version >= 4 and (flags & ARTIFICIAL or not log_pos):
            self.own_positions = False
        start = claimed_start(self.format, len(data), log_pos)
        if self.own_positions and start is not None:
            distance = (start - frame.position) % _WRAP
            self.shift = distance - _WRAP if distance > _WRAP // 2 else distance

    # --- behind damage

    def _lose(self, error: GtidalError, head: Head | None = None, partial: bool = False) -> None:
        hints = []
        if head is not None:
            prover = self._prover()
            partial = (
                isinstance(error, Truncated)
                and prover.is_plausible(head)
                and (not self.own_positions or head.start is None or prover.is_in_place(head, self.position))
            )
            ends = [self.position + head.size]
            if self.own_positions and head.start is not None and self.format.version >= 4:
                distance = (head.start + head.size - self.shift - self.position) % _WRAP
                ends.append(self.position + distance)
            hints = [end for end in ends if self.position < end <= self.position + _HINT_REACH]
        self._search = _Search(self.position, error, hints, partial)

    def _recover(self, search: _Search) -> Damage | None:
        while search.hints:
            verdict = self._judge(search.hints[0])
            if verdict is Verdict.PROVEN:
                return self._resume(search, search.hints[0] - self.position)
            if verdict is Verdict.UNDECIDED:
                return None
            del search.hints[0]
        data = self._unread()
        if not search.started:
            if not data and not self._ended:
                return None
            start = min(1, len(data))
            search.started = True
        else:
            start = 0
        at, proven = self._prover().search(data, start, self.position, self._ended)
        search.zeros = search.zeros and data.count(0, 0, at) == at
        if proven:
            return self._resume(search, at)
        self._advance(at)
        if not self._ended:
            return None
        return self._resume(search, 0, goes_on=False)

    def _resume(self, search: _Search, size: int, goes_on: bool = True) -> Damage:
        if size:
            self._have(size)
        self._advance(size)
        self._search = None
        if self._ended and not self._available:
            goes_on = False
        length = self.position - search.position
        partial = search.partial and not goes_on
        zeros = search.zeros and search.started and length > 0 and not partial
        return Damage(search.position, length, search.error, goes_on, partial, zeros)

    def _judge(self, position: int) -> Verdict:
        """Whether an event begins at ``position``, where a header says that its event ends."""
        offset = position - self.position
        end = self.log_size
        if end is not None and position >= end:
            return Verdict.PROVEN if position == end else Verdict.REFUTED
        if self._available < offset + HEADER_SIZE + 1 and not self._ended:
            return Verdict.UNDECIDED
        data = self._unread()
        if offset >= len(data):
            return Verdict.PROVEN if offset == len(data) else Verdict.REFUTED
        prover = self._prover()
        head = prover.head(data, offset, self.position)
        if head is not None and prover.is_plausible(head) and prover.is_in_place(head, position):
            return Verdict.PROVEN  # two headers agree, whatever happened to the event behind the second
        return prover.judge(data, offset, self.position, self._ended)
