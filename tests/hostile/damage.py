"""Damaged logs, at random but the same for the same seed: what a disk, a network or an enemy makes of a log.

Half of the damage respects the framing, so that it reaches what lies inside of events: an event's body is changed,
then its size and checksum are set right again.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Sequence

MAGIC_SIZE = 4
HEADER_SIZE = 19
NUMBERS = (0, 1, 2, 0x7F, 0x80, 0xFB, 0xFC, 0xFD, 0xFE, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0xFFFFFF)
LARGE_NUMBERS = (0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
"""Where widths and signs go wrong."""


def event_spans(data: bytes) -> list[tuple[int, int]]:
    """Where events begin and end, as their headers say; what does not add up is one last span."""
    spans = []
    start = MAGIC_SIZE
    while len(data) - start >= HEADER_SIZE:
        size = int.from_bytes(data[start + 9 : start + 13], "little")
        if not HEADER_SIZE <= size <= len(data) - start:
            break
        spans.append((start, start + size))
        start += size
    if start < len(data):
        spans.append((start, len(data)))
    return spans


class Damager:
    """Makes damaged versions of some logs. ``logs`` are also where it takes foreign bytes from."""

    def __init__(self, logs: Sequence[bytes], seed: int | str) -> None:
        self.logs = list(logs)
        self.random = random.Random(seed)

    def damaged(self, data: bytes) -> bytes:
        for _ in range(self.random.choice((1, 1, 1, 2, 3, 6))):
            if not data:
                return data
            data = self.random.choices(
                (self._inside_an_event, self._anywhere, self._among_events), (6, 2, 2)
            )[0](data)
        return data

    def next(self) -> bytes:
        return self.damaged(self.random.choice(self.logs))

    # --- three kinds of damage

    def _inside_an_event(self, data: bytes) -> bytes:
        """Change a body, then make size and checksum fit. The checksum is made only where there was a right one."""
        spans = [span for span in event_spans(data) if span[1] - span[0] > HEADER_SIZE]
        if not spans:
            return self._anywhere(data)
        start, end = self.random.choice(spans)
        event = data[start:end]
        checked = len(event) >= HEADER_SIZE + 4 and zlib.crc32(event[:-4]).to_bytes(4, "little") == event[-4:]
        body = self._bytes_changed(event[HEADER_SIZE : -4 if checked else None])
        size = HEADER_SIZE + len(body) + 4 * checked
        header = bytearray(event[:HEADER_SIZE])
        header[9:13] = size.to_bytes(4, "little")
        if self.random.random() < 0.1:  # another type: the body is then read as something else
            header[4] = data[self.random.choice(spans)[0] + 4]
        event = bytes(header) + body
        if checked:
            event += zlib.crc32(event).to_bytes(4, "little")
        return data[:start] + event + data[end:]

    def _anywhere(self, data: bytes) -> bytes:
        if self.random.random() < 0.3:
            return data[: self.random.randrange(len(data))]
        return self._bytes_changed(data)

    def _among_events(self, data: bytes) -> bytes:
        spans = event_spans(data)
        if len(spans) < 2:
            return self._anywhere(data)
        events = [data[start:end] for start, end in spans]
        place, other = self.random.sample(range(len(events)), 2)
        match self.random.randrange(4):
            case 0:
                del events[place]
            case 1:
                events.insert(place, events[other])
            case 2:
                events[place], events[other] = events[other], events[place]
            case _:
                foreign = self.random.choice(self.logs)
                if foreign_spans := event_spans(foreign):
                    start, end = self.random.choice(foreign_spans)
                    events.insert(place, foreign[start:end])
        return data[:MAGIC_SIZE] + b"".join(events)

    # --- bytes

    def _bytes_changed(self, data: bytes) -> bytes:
        if not data:
            return self.random.randbytes(self.random.randrange(1, 9))
        place = self.random.randrange(len(data))
        match self.random.randrange(7):
            case 0:
                return self._put(data, place, bytes([data[place] ^ 1 << self.random.randrange(8)]))
            case 1:
                return self._put(data, place, bytes([self.random.randrange(256)]))
            case 2 | 3:
                width = self.random.choice((1, 2, 3, 4, 8))
                number = self.random.choice(NUMBERS + LARGE_NUMBERS) & (1 << 8 * width) - 1
                return self._put(data, place, number.to_bytes(width, self.random.choice(("little", "big"))))
            case 4:
                return data[:place] + data[place + self.random.randrange(1, 17) :]
            case 5:
                return data[:place] + self._foreign_bytes(data) + data[place:]
            case _:
                return self._put(data, place, self._foreign_bytes(data))

    def _foreign_bytes(self, data: bytes) -> bytes:
        source = self.random.choice((data, self.random.choice(self.logs)))
        size = self.random.choice((1, 2, 4, 8, 16, 40))
        start = self.random.randrange(max(1, len(source) - size))
        return source[start : start + size] if self.random.random() < 0.7 else self.random.randbytes(size)

    @staticmethod
    def _put(data: bytes, place: int, new: bytes) -> bytes:
        """Overwrite, without making it longer."""
        return (data[:place] + new + data[place + len(new) :])[: len(data)]
