"""One large log in several stretches, each of whole transactions, so that several threads can read it.

A boundary between events is looked for near each cut and proven (``log.resync``); from there headers are walked to
the next event that begins a transaction. A stretch that started right ends exactly where the next one begins, or
its reader raises: so a false boundary cannot pass unnoticed.
"""

from __future__ import annotations

from collections.abc import Callable

from gtidal.columnar.windows import Place, WindowReader
from gtidal.events.frame import HEADER_SIZE
from gtidal.log.resync import Prover

_PROBE = 1 << 18
_LARGEST_PROBE = 1 << 26
_BEGINS_TRANSACTION = frozenset((33, 34, 42, 162))

ReadAt = Callable[[int, int], bytes]
"""From position and size to bytes, fewer at the end."""


def split(reader: WindowReader, size: int, stretch: int) -> list[Place]:
    """Where stretches begin, after the first; ``size`` is the log's. None where the log cannot be cut."""
    reader.read_format()
    decoder = reader.decoder
    format = decoder.format
    if format.version < 4 or decoder.encrypts_events or decoder.stream_cipher is not None:
        return []
    prover = Prover(format, own_positions=not reader.relay, size=size, strict=not reader.relay)
    places: list[Place] = []
    cut = stretch
    while cut < size - stretch // 2:
        begins = _next_transaction(reader.read_at, cut, prover, size)
        if begins is None:
            break
        places.append(Place(begins, format))
        cut = max(begins, cut) + stretch
    return places


def _next_transaction(read_at: ReadAt, cut: int, prover: Prover, size: int) -> int | None:
    position = _next_event(read_at, cut, prover, size)
    while position is not None and position < size:
        header = read_at(position, HEADER_SIZE)
        if len(header) < HEADER_SIZE:
            return None
        if header[4] in _BEGINS_TRANSACTION:
            return position
        length = int.from_bytes(header[9:13], "little")
        if length < HEADER_SIZE:
            return None
        position += length
    return None


def _next_event(read_at: ReadAt, cut: int, prover: Prover, size: int) -> int | None:
    probe = _PROBE
    while probe <= _LARGEST_PROBE:
        data = read_at(cut, probe)
        offset, proven = prover.search(data, 0, cut, cut + len(data) >= size)
        if proven:
            return cut + offset
        if cut + len(data) >= size:
            return None
        probe *= 4
    return None
