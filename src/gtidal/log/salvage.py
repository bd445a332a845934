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

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from gtidal.errors import DecodeError, GtidalError, KeyProblem, NotABinlog, Truncated, Unsupported
from gtidal.events.control import Rotate
from gtidal.events.format import CHECKSUM_SIZE, CRC32, MAGIC, NO_CHECKSUM, Format, FormatDescription
from gtidal.events.frame import HEADER_SIZE, decode_event
from gtidal.events.header import ARTIFICIAL, RELAY_LOG
from gtidal.log.decoder import FIRST_EVENT, MAX_EVENT_SIZE, Frame, Keys, LogDecoder
from gtidal.log.encryption import EncryptionHeader
from gtidal.log.resync import LOOK_AHEAD, Head, Prover, Verdict, claimed_start

_WRAP = 1 << 32
_ENOUGH_FOR_HEAD = 21
"""The magic bytes, and the part of the first header that tells a log without them."""
_HINT_REACH = 1 << 26
"""How far behind damage a header's own word for the event's end is tried."""


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
    sound: bool = False
    """The header is right as far as it goes: the event is cut short, or its end is damaged."""
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
        self._line_end: int | None = None
        """Where the last event ended, by its own word."""

    @property
    def log_size(self) -> int | None:
        """The file's size without an encryption header: what positions are measured in."""
        if self._size is None or self.encryption is None:
            return self._size
        return self._size - EncryptionHeader.SIZE

    @property
    def is_sound(self) -> bool:
        """Whether it stands between two events of a log in which nothing is out of place."""
        return self._search is None and self._stage == self._read_events and not self.shift

    def start_behind(self, position: int, format: Format, *, own_positions: bool, shift: int) -> None:
        """As ``start_at``, somewhere behind the head of a log."""
        self.start_at(position, format)
        self.own_positions = own_positions
        self.shift = shift
        self._formats = 1

    def pass_over(self, log_pos: int) -> None:
        """Somebody else read some events, the last of which ends at ``log_pos`` by its own word."""
        self._line_end = log_pos

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
            elif self._needs_more(head):
                return None
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

    def _prover(self, strict: bool = False) -> Prover:
        return Prover(
            self.format,
            own_positions=self.own_positions,
            shift=self.shift,
            cipher=self.event_cipher,
            size=self.log_size,
            strict=strict,
        )

    def _read_head(self) -> bool:
        """One step through the bytes before the first event; False: more data are needed."""
        if self._available < _ENOUGH_FOR_HEAD and not self._ended:
            return False
        try:
            return self._stage()
        except NotABinlog as error:
            self._offset = 0  # the magic bytes have been taken, and are part of the damage
            data = self._unread()[:_ENOUGH_FOR_HEAD]
            cut = len(data) < len(MAGIC) and MAGIC.startswith(data)
            if self.encryption is not None or not (cut or lacks_magic_only(data)):
                raise error.at(file=self.file) from None
            self._lose_head(error, cut)
        except (KeyProblem, Unsupported) as error:
            raise error.at(file=self.file) from None
        except GtidalError as error:
            if self._stream_cipher is None and self.position == 0:  # an encryption header that is none
                self._offset = 0
                self.encryption = None
            self._lose_head(error, isinstance(error, Truncated))
        return True

    def _lose_head(self, error: GtidalError, partial: bool) -> None:
        error.at(file=self.file, position=self.position)
        self._search = _Search(self.position, error, partial=partial)
        self.context.format = Format()
        self._stage = self._read_events

    # --- events

    def _peek(self) -> Head | None:
        """The next event's header; None if it is not all there."""
        if not self._have(HEADER_SIZE + 1) and not (self._ended and self._have(self._available)):
            return None
        return self._prover().head(self._buffer, self._offset, self.position - self._offset)

    def _refuse(self, head: Head) -> GtidalError | None:
        """What is wrong with a header, as far as it alone can tell."""
        smallest = self.format.header_length + CHECKSUM_SIZE * self.format.has_checksums
        if not smallest <= head.size <= MAX_EVENT_SIZE:
            return self._header_error(
                "size",
                f"an event of {head.size} bytes; it has at least {smallest} and at most {MAX_EVENT_SIZE}",
            )
        if self.log_size is not None and self.position + head.size > self.log_size:
            return self._partial_error(head.size)
        if self._ended and head.size > self._available:
            return self._partial_error(head.size)
        if self._is_strange(head) and (head.size > LOOK_AHEAD or not self.format.has_checksums):
            # Nothing else will tell, or only after reading a lot: does an event begin where this one ends?
            verdict = self._judge(self.position + head.size)
            if verdict is Verdict.REFUTED or head.size > LOOK_AHEAD:
                return self._header_error(
                    "log_pos", f"an event of {head.size} bytes whose header claims another place, or none"
                )
        return None

    def _needs_more(self, head: Head) -> bool:
        """Whether only the bytes behind the event will tell if its header is to be believed."""
        if self._ended or self.format.has_checksums or head.size > LOOK_AHEAD or not self._is_strange(head):
            return False
        return self._judge(self.position + head.size) is Verdict.UNDECIDED

    def _is_strange(self, head: Head) -> bool:
        """Whether the header claims another place than the event has."""
        if self._ciphers and self.event_cipher is None:
            return False  # encrypted, and the cipher's mode is not known yet: this is no header to judge
        if not self.own_positions or self._is_in_place(head):
            return False
        if head.start is not None:
            return True
        # No claim. That is usual for MariaDB's cached events, and for those of a source in a relay log.
        usual = self.format.is_mariadb or head.type_code in (Rotate.code, FormatDescription.code)
        return not usual and self.format.version >= 4 and not self.format.has_checksums and self._formats > 0

    def _is_in_place(self, head: Head) -> bool:
        if not self.own_positions:
            return head.start is not None and head.start == self._line_end
        return self._prover().is_in_place(head, self.position)

    def _header_error(self, field: str, message: str) -> DecodeError:
        return DecodeError(message, file=self.file, position=self.position, field=f"header.{field}")

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
            if frame is not None and frame.type_code == FormatDescription.code:
                self._check_format(frame)
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

    def _check_format(self, frame: Frame) -> None:
        """A format description without a checksum can be judged by its length alone: it says its own."""
        event = decode_event(frame.data, frame.position, self.context)
        if isinstance(event, FormatDescription) and event.checksum is None:
            announced, actual = event.own_length
            if announced != actual:
                raise DecodeError(
                    f"announces {announced} bytes for itself and has {actual}",
                    file=self.file,
                    position=frame.position,
                    event=event.name,
                    field="post_header_lengths",
                )

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
        base = self._line_end if start is None else start
        self._line_end = None if base is None else (base + len(data)) % _WRAP
        if self.own_positions and start is not None:
            distance = (start - frame.position) % _WRAP
            self.shift = distance - _WRAP if distance > _WRAP // 2 else distance

    # --- behind damage

    def _lose(self, error: GtidalError, head: Head | None = None, partial: bool = False) -> None:
        hints: list[int] = []
        sound = False
        if head is not None:
            sound = self._prover().is_plausible(head) and self._is_in_place(head)
            unplaced = head.start is None and self._prover().is_plausible(head)
            partial = isinstance(error, Truncated) and (sound or unplaced)
            ends = [self.position + head.size]
            if self.own_positions and head.start is not None and self.format.version >= 4:
                distance = (head.start + head.size - self.shift - self.position) % _WRAP
                ends.append(self.position + distance)
            hints = [end for end in ends if self.position < end <= self.position + _HINT_REACH]
        self._search = _Search(self.position, error, hints, sound and partial, partial)

    def _recover(self, search: _Search) -> Damage | None:
        while search.hints:
            verdict = self._judge_in_any_format(search)
            if verdict is Verdict.PROVEN:
                return self._resume(search, search.hints[0] - self.position)
            if verdict is Verdict.UNDECIDED:
                return None
            del search.hints[0]
        data = self._unread()
        start = 0
        if not search.started:
            if not data and not self._ended:
                return None
            start = min(1, len(data))
            search.started = True
        at, proven = self._search_in_any_format(search, data, start)
        search.zeros = search.zeros and data.count(0, 0, at) == at
        if proven:
            return self._resume(search, at)
        self._advance(at)
        return self._resume(search, 0) if self._ended else None

    def _formats_to_try(self, search: _Search) -> list[Format]:
        """A damaged format description does not tell whether the events behind it have checksums."""
        if search.position != FIRST_EVENT or self.format.version < 4:
            return [self.format]
        known = replace(self.format, header_length=HEADER_SIZE)
        return [replace(known, checksum=algorithm) for algorithm in (CRC32, NO_CHECKSUM)]

    def _judge_in_any_format(self, search: _Search) -> Verdict:
        formats = self._formats_to_try(search)
        for format in formats:
            self.context.format = format
            verdict = self._judge(search.hints[0], thorough=format is not formats[-1])
            if verdict is not Verdict.REFUTED:
                return verdict
        return Verdict.REFUTED

    def _search_in_any_format(self, search: _Search, data: bytes, start: int) -> tuple[int, bool]:
        if search.sound and not self.own_positions:
            return len(data), False  # an event that was not written to its end: what it holds are no events
        nearest = None
        for format in self._formats_to_try(search):
            self.context.format = format
            at, proven = self._prover(search.sound).search(data, start, self.position, self._ended)
            if proven:
                return at, True
            nearest = at if nearest is None else min(at, nearest)
        assert nearest is not None
        return nearest, False

    def _resume(self, search: _Search, size: int) -> Damage:
        """Go on ``size`` bytes further: at an event, or at the end of the file."""
        self._have(size)
        self._advance(size)
        self._search = None
        goes_on = self.position != self.log_size and not (self._ended and not self._available)
        length = self.position - search.position
        partial = search.partial and not goes_on
        return Damage(
            search.position,
            length,
            search.error,
            goes_on,
            partial,
            zeros=search.zeros and search.started and not partial,
        )

    def _judge(self, position: int, thorough: bool = False) -> Verdict:
        """Whether an event begins at ``position``, where a header says that its event ends. If that one is
        in its place two headers agree, and whatever happened to it must not count; unless ``thorough``."""
        offset = position - self.position
        end = self.log_size
        if end is not None and position > end:
            return Verdict.REFUTED
        needed = offset if position == end else offset + HEADER_SIZE + 1
        if self._available < needed and not self._ended:
            return Verdict.UNDECIDED
        data = self._unread()
        if offset >= len(data):  # the file ends there, or before
            return Verdict.PROVEN if offset == len(data) else Verdict.REFUTED
        prover = self._prover()
        head = prover.head(data, offset, self.position)
        agrees = head is not None and prover.is_plausible(head) and prover.is_in_place(head, position)
        if agrees and not thorough:
            return Verdict.PROVEN
        return prover.judge(data, offset, self.position, self._ended)


def lacks_magic_only(data: bytes) -> bool:
    """Whether a file's first bytes are those of a log but for the magic bytes: a format description follows
    that says where it ends."""
    size = int.from_bytes(data[13:17], "little")
    log_pos = int.from_bytes(data[17:21], "little")
    return (
        data[8:9] == bytes((FormatDescription.code,))
        and size >= HEADER_SIZE
        and log_pos == FIRST_EVENT + size
    )
