"""What lies between two marks of a log, in parts: exactly the transactions behind the one and before the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from gtidal.columnar.splitting import Boundaries
from gtidal.columnar.windows import WindowReader
from gtidal.events.format import Format
from gtidal.log.decoder import FIRST_EVENT, Keys
from gtidal.planning.growing import GrowingLog
from gtidal.planning.parts import Part, Piece
from gtidal.planning.plan import OPEN_COST, even_part, packed
from gtidal.planning.tailing import Mark
from gtidal.sources.files import LogFile

_LOOK = 1 << 12


def parts_between(
    log: GrowingLog,
    start: Mark,
    end: Mark,
    keys: Keys,
    *,
    part_bytes: int,
    least_parts: int = 1,
    boundaries: Mapping[str, Sequence[int]] | None = None,
    searching: bool = True,
) -> list[Part]:
    """The parts of a stretch; ``boundaries``: places between transactions that are known already.

    A file that can be read from anywhere is cut where readers look for a boundary themselves, if ``searching``; a server's
    is cut at those that are known. ``least_parts``: see ``even_part``."""
    if (start.file, start.position) == (end.file, end.position):
        return []
    ranges = []
    for name in log.between(start.file, end.file):
        begin = start.position if name == start.file else FIRST_EVENT
        last = name == end.file
        stop = end.position if last else log.size(name)
        if begin < stop:
            ranges.append((name, begin, stop, last))
    cost = sum(stop - begin + OPEN_COST for _, begin, stop, _ in ranges)
    part_bytes = even_part(part_bytes, cost, least_parts)
    known = boundaries or {}
    return packed([_pieces(log, *each, keys, part_bytes, known, searching) for each in ranges], part_bytes)


def _pieces(
    log: GrowingLog,
    name: str,
    begin: int,
    stop: int,
    last: bool,
    keys: Keys,
    part_bytes: int,
    boundaries: Mapping[str, Sequence[int]],
    searching: bool,
) -> list[Piece]:
    """One file, from here to there. ``last``: it may have grown since."""
    file = log.file(name)
    size = file.size if file.searchable else stop
    until = stop if last else None
    first = None if begin <= FIRST_EVENT else begin
    count = -(-(stop - begin) // part_bytes)
    if count < 2 and first is None:
        return [Piece(str(file.path), name, size, until=until)]
    cuttable, format = _looked_at(file, begin, size, keys) if file.searchable else (False, None)
    searching &= file.searchable
    step = -(-(stop - begin) // count)
    if searching:
        cuts = list(range(begin + step, stop, step)) if cuttable else []
    else:
        cuts = _known(boundaries.get(name, ()), begin, stop, step)
    pieces = []
    for here, there in pairwise([first, *cuts, until]):
        searched = searching and here != first
        looks_on = searching and there is not None and there != until
        pieces.append(
            Piece(
                str(file.path),
                name,
                size,
                here,
                searched,
                there,
                step if looks_on else 0,
                stop=until if looks_on or searched else None,
                format=format if here == first else None,
            )
        )
    return pieces


def _known(boundaries: Sequence[int], begin: int, stop: int, step: int) -> list[int]:
    """Those that are about a step apart."""
    cuts: list[int] = []
    for position in sorted(set(boundaries)):
        if (cuts[-1] if cuts else begin) + step <= position < stop:
            cuts.append(position)
    return cuts


def _looked_at(file: LogFile, position: int, size: int, keys: Keys) -> tuple[bool, Format | None]:
    """Whether a file can be cut, and the format in force at a place, if that is not the one of its head."""
    with file.open_raw() as stream:
        reader = WindowReader(stream, file.name, keys=keys, window=_LOOK)
        reader.open()
        boundaries = Boundaries(reader, size - reader.head_size)
        if not boundaries.relay or position <= FIRST_EVENT:
            return boundaries.possible and not boundaries.relay, None
        place = boundaries.first(position, boundaries.size)
        return False, None if place is None else place.format
