"""A log as windows: some megabytes of whole events, and the index of them.

A ``WindowReader`` reads a log with the kernel's header walk. Events that change how the following ones are read go
through the reference decoder's hands; a log whose events the kernel cannot frame (binlog versions 1 and 3, MariaDB's
encryption) is framed by the reference decoder altogether. The events inside a compressed payload are laid out behind
it, in the same window, so that nobody downstream sees a difference.

Memory: one window, which grows for an event that is larger.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from gtidal.columnar import kernel
from gtidal.columnar.codes import NONE
from gtidal.columnar.flat import own_numbers
from gtidal.columnar.index import ALL_GTIDS, GtidFilter, Index
from gtidal.errors import DecodeError, GtidalError, Truncated
from gtidal.events.control import PreviousGtids, Rotate
from gtidal.events.format import Format, FormatDescription, StartV3
from gtidal.events.frame import HEADER_SIZE, checksum_size, decode_event, decode_header
from gtidal.events.header import IN_USE, RELAY_LOG
from gtidal.events.mariadb import GtidList, StartEncryption
from gtidal.events.registry import Context
from gtidal.events.transaction import TransactionPayload
from gtidal.log.codecs import unpack_payload
from gtidal.log.decoder import FIRST_EVENT, Frame, Keys, LogDecoder, event_name, largest_inner
from gtidal.log.encryption import EncryptionHeader

Array = np.ndarray[Any, Any]

WINDOW = 4 << 20
LARGEST_EXPANSION = 32 << 20
"""Payloads that unpack to more are read in several windows."""
SMALLEST_INNER = 1 << 16
"""A window inside of a payload has at least so many bytes, if there are more."""
DATA, FULL, MARKED, SIZE, CHECKSUM, JUMP = range(6)
OK, NO_CHECKSUM, BAD, UNCHECKED = range(4)
CHECKSUM_NAMES = ("ok", "none", "bad", "unchecked")
_PAYLOAD = TransactionPayload.code
_HEAD_TYPES = {each.code for each in (FormatDescription, StartEncryption, PreviousGtids, GtidList, Rotate)}
"""A relay log begins with the replica's own format; behind a ROTATE comes the source's, which is in force."""
_STOPS, _COUNTED = 1, 2
_marks = np.zeros(256, np.uint8)
_marks[[FormatDescription.code, StartV3.code, StartEncryption.code]] = _STOPS
_marks[_PAYLOAD] = _COUNTED
_MARKED = memoryview(_marks)


@dataclass(slots=True)
class Window:
    """Some events of a log, all of one format."""

    data: Array
    index: Index
    format: Format
    checksum: int
    """Of its events: OK, NO_CHECKSUM or UNCHECKED. Those inside payloads have none."""
    plain: bool
    """Whether the kernel may follow its events: binlog version 4."""
    position: int
    """Of its first event."""
    end: int
    """The position behind its last event."""

    @property
    def count(self) -> int:
        return self.index.count

    def frame(self, event: int) -> Frame:
        index = self.index
        offset = int(index.offsets[event])
        payload = int(index.payloads[event])
        position = int(index.positions[event]) if payload < 0 else payload
        return Frame(position, self.data[offset : offset + int(index.sizes[event])].tobytes())


@dataclass(frozen=True, slots=True)
class Place:
    """Where reading can go on: a position between events, and the format in force there."""

    position: int
    format: Format


class WindowReader:
    """Reads one log. ``stream`` can seek; ``name`` is the log's, for errors."""

    def __init__(
        self,
        stream: BinaryIO,
        name: str,
        *,
        keys: Keys | None = None,
        verify_checksum: bool = True,
        window: int = WINDOW,
        gtids: GtidFilter | None = None,
        stop: int | None = None,
    ) -> None:
        self.stream = stream
        self.name = name
        self.verify_checksum = verify_checksum
        self.window_size = window
        self.stop = stop
        """A position at which, or behind which, no event is begun any more."""
        self.decoder = LogDecoder(name, verify_checksum=verify_checksum, keys=keys)
        self.in_use = False
        """The file may end inside an event: it is being written."""
        self.overran = False
        """Whether an event that is in order goes on behind the stop: that was no boundary."""
        self.relay = False
        self.headless = False  # the first event is neither a format description nor what precedes one
        self.jumped = 0
        self.misplaced = 0
        """How many events of the last window tell another place than theirs in ``log_pos``."""
        self._gtids = gtids
        self._progress = own_numbers(0, 0, 0, 0, 0)
        self._index = Index(max(window // 40, 64))
        self._buffer = np.zeros(window + (1 << 16), np.uint8)
        self._have = 0  # bytes in the buffer
        self._base = 0  # the position of the buffer's first byte
        self.head_size = 0  # bytes of the file before position 0
        self._ended = self._opened = False
        self._used = 0  # bytes of the buffer that the window given out last takes
        self._by_reference = False
        self._inner: Iterator[Window] = iter(())
        self._ahead: Window | GtidalError | None = None
        """What comes next of the payload that ends the last window."""
        self.payloads_end_windows = False
        """On: where windows are cut behind and inside of payloads does not depend on how much there was to read."""
        self._problem: GtidalError | None = None

    # --- where to read

    def open(self) -> None:
        """Read the head of the file. Raises what the reference decoder raises for what is no log."""
        if self._opened:
            return
        self._opened = True
        data = b""
        while not self.decoder.read_head():
            piece = self.stream.read(1 << 12)
            if not piece:
                self.decoder.end_of_data()
                self.decoder.read_head()
                break
            data += piece
            self.decoder.receive_data(piece)
        self.head_size = EncryptionHeader.SIZE if self.decoder.encryption is not None else 0
        self._go_to(FIRST_EVENT)

    def _go_to(self, position: int) -> None:
        self.stream.seek(self.head_size + position)
        if (cipher := self.decoder.stream_cipher) is not None:
            cipher.seek(position)
        self._have = 0
        self._base = position
        self._used = 0
        self._ended = self._by_reference = False
        self._ahead = self._problem = None

    def seek(self, place: Place) -> None:
        """Go on at an event boundary."""
        self.open()
        if place.format is not self.decoder.format:
            self.decoder.start_at(place.position, place.format, self.decoder.event_cipher)
        self._go_to(place.position)

    def go_back(self, place: Place) -> None:
        """Go on at an event of the last window: its bytes are here already. Nobody may have moved the stream since."""
        offset = place.position - self._base
        if self._by_reference or not 0 <= offset <= self._have or place.format is not self.decoder.format:
            self.seek(place)
            return
        self._used = offset
        self._ended = False
        self._ahead = self._problem = None

    def read_format(self) -> None:
        """Read the events at the head of the log that tell how the others are read, and go behind them."""
        self.open()
        while self.position <= FIRST_EVENT or self._next_type() in _HEAD_TYPES:
            if self.next(HEADER_SIZE) is None or self.decoder.encrypts_events:
                break

    def _next_type(self) -> int:
        self._fill(self._used + HEADER_SIZE)
        return int(self._buffer[self._used + 4]) if self._have >= self._used + HEADER_SIZE else 0

    def read_at(self, position: int, size: int) -> bytes:
        """Bytes of the log, wherever they are, fewer at its end. Where windows go on is lost: ``seek`` again."""
        self.stream.seek(self.head_size + position)
        data = b""
        while len(data) < size and (piece := self.stream.read(size - len(data))):
            data += piece
        if (cipher := self.decoder.stream_cipher) is not None:
            cipher.seek(position)
            data = cipher.update(data)
        return data

    @property
    def position(self) -> int:
        """Behind the last window."""
        return self.decoder.position if self._by_reference else self._base + self._used

    # --- windows

    @property
    def is_inside(self) -> bool:
        """Whether the payload that ends the last window has not been given in full."""
        return self._ahead is not None

    def next(self, size: int | None = None) -> Window | None:
        """The next window; None at the end of the log."""
        self.open()
        if (inner := self._ahead) is not None:
            if isinstance(inner, GtidalError):
                raise inner
            self._ahead = _ahead(self._inner)
            return inner
        if self._problem is not None:
            raise self._problem
        format = self.decoder.format
        if self.decoder.encrypts_events or format.version < 4 or format.header_length != HEADER_SIZE:
            return self._next_by_reference()
        return self._next_by_kernel(size or self.window_size)

    def __iter__(self) -> Iterator[Window]:
        while (window := self.next()) is not None:
            yield window

    def _fill(self, size: int, least: int | None = None) -> None:
        """Have ``size`` bytes in the buffer, or all there are. Of a log that grows while it is read, ``least`` will do:
        nobody waits for more than an event."""
        ready = None if least is None else getattr(self.stream, "ready", None)
        if size > len(self._buffer):
            grown = np.zeros(size + (1 << 16), np.uint8)
            grown[: self._have] = self._buffer[: self._have]
            self._buffer = grown
        view = memoryview(self._buffer)
        while self._have < size and not self._ended:
            if ready is not None and self._have >= (least or 0) and not ready():
                break
            if (cipher := self.decoder.stream_cipher) is not None:
                plain = cipher.update(self.stream.read(size - self._have))
                got = len(plain)
                view[self._have : self._have + got] = plain
            else:
                kernel.turns.end()
                got = self.stream.readinto(view[self._have : size])  # type: ignore[attr-defined]  # raw streams have it
            self._ended = not got
            self._have += got

    def _drop(self, used: int) -> None:
        """The window given out last is no longer needed: its bytes make room."""
        left = self._have - used
        if used and left:
            view = memoryview(self._buffer)  # which may overlap, and keeps Python's lock for so little
            view[:left] = view[used : self._have]
        self._have = left
        self._base += used

    def _next_by_kernel(self, size: int) -> Window | None:
        self._drop(self._used)
        self._used = 0
        if self.stop is not None and self._base >= self.stop:
            return None
        # Not further than to the stop: a stretch is often shorter than a window.
        need = size if self.stop is None else min(size, max(self.stop - self._base, 0))
        least = HEADER_SIZE
        while True:
            self._fill(max(need, least), least)
            window, need = self._walk()
            least = need
            if window is not None or not need:
                return window

    def _walk(self) -> tuple[Window | None, int]:
        """A window of what is in the buffer; or how many bytes are needed for one, 0 at the end."""
        format = self.decoder.format
        index = self._index
        index.count = 0
        first = self._base == FIRST_EVENT
        pos, code = 0, DATA
        if not first and (format.header_length >= HEADER_SIZE):
            pos, code = self._walk_buffer(format)
        if pos or index.count:
            if code == JUMP:
                end = self._base + pos
                window = self._window(self._have, format)
                self._go_to(end)
                return (window, 0) if window.count else (None, HEADER_SIZE)
            self._used = pos
            window = self._window(pos, format)
            return self._expanded(window) if self._progress[4] else window, 0
        if self._have >= HEADER_SIZE and (code == MARKED or first):
            return self._take_one()
        return self._look_closer(code)

    def _walk_buffer(self, format: Format) -> tuple[int, int]:
        index = self._index
        end = self._have if self.stop is None else max(0, min(self._have, self.stop - self._base))
        compare = 2 if self.verify_checksum else 1
        progress = self._progress
        progress[0] = progress[1] = progress[2] = progress[3] = progress[4] = 0
        code = kernel.walk.walk(
            memoryview(self._buffer),
            0,
            end,
            format.header_length,
            compare if format.has_checksums else 0,
            _MARKED,
            *index.walked,
            self._base,
            *(self._gtids or ALL_GTIDS),
            progress,
        )
        index.count = progress[1]
        self.jumped += progress[2]
        self.misplaced = progress[3]
        return progress[0], code

    def _window(self, used: int, format: Format) -> Window:
        if not format.has_checksums:
            checksum = NO_CHECKSUM
        else:
            checksum = OK if self.verify_checksum else UNCHECKED
        plain = format.version >= 4 and format.header_length == HEADER_SIZE
        return Window(self._buffer, self._index, format, checksum, plain, self._base, self._base + used)

    def _take_one(self) -> tuple[Window | None, int]:
        """An event that may change the format: a window of its own."""
        size = int.from_bytes(self._buffer[9:13].tobytes(), "little")
        if size > self._have and HEADER_SIZE <= size <= 1 << 30 and not self._ended:
            return None, size
        if not HEADER_SIZE <= size <= self._have:
            return self._look_closer(SIZE)
        if self.stop is not None and self._base >= self.stop:
            return None, 0
        frame = Frame(self._base, self._buffer[:size].tobytes())
        self.decoder.accept(frame)
        format = self.decoder.format
        if frame.type_code == FormatDescription.code:
            self.in_use |= bool(frame.data[17] & IN_USE)
            self.relay |= bool(frame.data[17] & RELAY_LOG) or frame.position > FIRST_EVENT
        self.headless |= frame.position == FIRST_EVENT and frame.type_code not in _HEAD_TYPES
        self._index.count = 0
        self._add(frame, 0, format)
        self._used = size
        window = self._window(size, format)
        if frame.type_code == FormatDescription.code and checksum_size(frame.data, frame.type_code, format):
            window.checksum = OK if self.verify_checksum else UNCHECKED
        return self._expanded(window), 0

    def _add(self, frame: Frame, offset: int, format: Format) -> None:
        try:
            header = decode_header(frame.data, frame.position, format)
        except GtidalError as error:
            name = event_name(frame.type_code)
            raise error.at(file=self.name, position=frame.position, event=name) from None
        tail = checksum_size(frame.data, frame.type_code, format)
        self._index.put(self._index.count, header, offset, offset + max(len(frame.data) - tail, 0))
        self._index.count += 1

    def _look_closer(self, code: int) -> tuple[Window | None, int]:
        """No event could be framed. More bytes may help; else the reference decoder says what is wrong."""
        if code == DATA and self._have >= HEADER_SIZE:
            size = int.from_bytes(self._buffer[9:13].tobytes(), "little")
            if self._have < size <= 1 << 30 and not self._ended:
                return None, size
        elif code == DATA and not self._ended:
            return None, HEADER_SIZE
        if not self._have or (self.stop is not None and self._base >= self.stop):
            return None, 0
        judge = LogDecoder(self.name, verify_checksum=self.verify_checksum)
        judge.start_at(self._base, self.decoder.format)
        judge.receive_data(self._buffer[: self._have].tobytes())
        judge.end_of_data()
        try:
            frame = judge.next_frame()
        except Truncated:
            if self.in_use:
                return None, 0  # the server is writing this event
            raise
        if frame is None:
            return None, 0
        self.overran = self.stop is not None and self._base < self.stop < frame.end
        raise DecodeError("an event that cannot be framed", file=self.name, position=self._base)

    # --- what the kernel cannot frame

    def _next_by_reference(self) -> Window | None:
        """Events framed by the reference decoder, one after the other in a buffer."""
        decoder = self.decoder
        self._index = Index(max(self.window_size // 40, 64))
        if not self._by_reference:
            self._by_reference = True
            self._drop(self._used)
            self._used = 0
            decoder.start_at(self._base, decoder.format, decoder.event_cipher)
            decoder.receive_data(self._buffer[: self._have].tobytes())
            self._have = 0
        pieces: list[bytes] = []
        size = 0
        start = decoder.position
        format = decoder.format
        while size < self.window_size and self._index.count < self._index.capacity:
            if self.stop is not None and decoder.position >= self.stop:
                break
            try:
                frame = self._next_frame()
                if frame is None:
                    break
                format = decoder.format
                self._add(frame, size, format)
            except GtidalError as error:
                self._problem = error  # what stands before it is given first
                if not pieces:
                    raise
                break
            pieces.append(frame.data)
            size += len(frame.data)
            if _marks[frame.type_code]:  # the decoder does not go back behind a payload
                break
        if not pieces:
            return None
        data = np.frombuffer(b"".join(pieces), np.uint8)
        window = self._window(0, format)
        window.data, window.position, window.end = data, start, start + size
        return self._expanded(window)

    def _next_frame(self) -> Frame | None:
        try:
            while (frame := self.decoder.next_frame()) is None:
                data = self.stream.read(1 << 20)
                if not data:
                    self.decoder.end_of_data()
                    return self.decoder.next_frame()
                self.decoder.receive_data(data)
        except Truncated:
            if self.in_use:
                return None
            raise
        if frame.type_code == FormatDescription.code:
            self.in_use |= bool(frame.data[17] & IN_USE)
        return frame

    # --- compressed payloads

    def _expanded(self, window: Window) -> Window:
        """The window with the events of its payloads behind them. A payload that unpacks to very much ends the
        window: what is inside it comes in the following ones."""
        index = window.index
        payloads = np.flatnonzero(index.types[: index.count] == _PAYLOAD)
        if not len(payloads) or not window.plain:
            return window
        pieces: list[Array] = [
            window.data[: int(index.offsets[index.count - 1] + index.sizes[index.count - 1])]
        ]
        base = len(pieces[0])
        inner_parts: list[tuple[int, Index]] = []
        last = index.count
        for place in payloads.tolist():
            try:
                event = self._payload(window, place)
            except GtidalError as error:
                if place == 0:
                    raise
                last = place  # what stands before it is given first
                self._problem = error if self._by_reference else None
                self._end_window_at(window, last)
                break
            announced = event.uncompressed_size
            index.extras[place] = NONE if announced is None else announced
            windows = self._unpacked(event, window.format, int(index.ends[place]))
            first, following = _ahead(windows), _ahead(windows)
            if isinstance(first, Window):
                inner_parts.append((place, _moved(first.index, base)))
                pieces.append(first.data)
                base += len(first.data)
            goes_on = isinstance(first, GtidalError) or following is not None
            if goes_on or base > LARGEST_EXPANSION or self.payloads_end_windows:
                last = place + 1
                self._ahead = first if isinstance(first, GtidalError) else following
                self._inner = windows
                self._end_window_at(window, last)
                break
        order_keys = [np.arange(last, dtype=np.int64) << 32]
        joined = index.take(np.arange(last))
        for place, inner in inner_parts:
            order_keys.append((place << 32) + 1 + np.arange(inner.count, dtype=np.int64))
            joined = joined.join(inner)
        order = np.argsort(np.concatenate(order_keys), kind="stable")
        return Window(
            np.concatenate(pieces),
            joined.take(order),
            window.format,
            window.checksum,
            True,
            window.position,
            window.end,
        )

    def _end_window_at(self, window: Window, last: int) -> None:
        end = int(window.index.ends[last - 1])
        if end != window.end:
            self._used = end - self._base
            window.end = end

    def _payload(self, window: Window, place: int) -> TransactionPayload:
        frame = window.frame(place)
        try:
            event = decode_event(frame.data, frame.position, Context(window.format, {}))
        except GtidalError as error:
            raise error.at(file=self.name) from None
        assert isinstance(event, TransactionPayload)
        return event

    def _unpacked(self, event: TransactionPayload, format: Format, end: int) -> Iterator[Window]:
        """The events inside a payload, in windows of bounded size."""
        position = event.header.position
        number = 1
        buffer = bytearray()
        largest = largest_inner(event.uncompressed_size)
        smallest = limit = max(self.window_size, SMALLEST_INNER)
        pieces = unpack_payload(event.payload, event.compression)
        problem: GtidalError | None = None
        try:
            while True:
                try:
                    piece = next(pieces, None)
                except GtidalError as error:  # the events before it are given first
                    piece, problem = None, error
                if piece is not None:
                    buffer += piece
                    if len(buffer) < limit:
                        continue
                window, used = self._inner_window(buffer, format, position, end, number, largest)
                if window is not None:
                    limit = smallest
                    number += window.count
                    del buffer[:used]
                    yield window
                elif piece is not None:
                    limit = max(limit, 2 * len(buffer))
                elif problem is not None:
                    raise problem
                elif buffer:
                    raise Truncated(f"{len(buffer)} bytes of an inner event are left", field="payload")
                else:
                    return
        except GtidalError as error:
            raise error.at(file=self.name, position=position, event=event.name) from None

    def _inner_window(
        self, buffer: bytearray, format: Format, position: int, end: int, number: int, largest: int
    ) -> tuple[Window | None, int]:
        data = np.frombuffer(bytes(buffer), np.uint8)
        index = Index(max(len(data) // 19 + 1, 1) if len(data) < 1 << 20 else len(data) // 40)
        progress = own_numbers(0, 0, 0, 0, 0)
        code = kernel.walk.walk(
            memoryview(data), 0, len(data), HEADER_SIZE, 0, memoryview(np.zeros(256, np.uint8)), *index.walked, 0, *ALL_GTIDS,
            progress,
        )  # fmt: skip
        used, count = progress[0], progress[1]
        torn = len(data) - used >= HEADER_SIZE and _size_at(data, used) > largest
        if not count and (code == SIZE or torn):
            raise DecodeError(f"an inner event of {_size_at(data, used)} bytes", field="payload")
        if not count:
            return None, 0
        index.count = count
        index.positions[:count] = position + number + np.arange(count)
        index.ends[:count] = end
        index.payloads[:count] = position
        return Window(data[:used], index, format, NO_CHECKSUM, True, position, end), used


def _size_at(data: Array, offset: int) -> int:
    return int.from_bytes(data[offset + 9 : offset + 13].tobytes(), "little")


def _ahead(windows: Iterator[Window]) -> Window | GtidalError | None:
    """The next one; an error is kept until what stands before it was given."""
    try:
        return next(windows, None)
    except GtidalError as error:
        return error


def _moved(index: Index, by: int) -> Index:
    index.offsets[: index.count] += by
    index.stops[: index.count] += by
    return index
