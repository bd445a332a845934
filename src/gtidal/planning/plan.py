"""A read becomes parts: which files, which bytes of them, cut and packed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from gtidal.columnar.splitting import walk_places
from gtidal.errors import UsageError
from gtidal.events.format import Format
from gtidal.planning.heads import Head, Looker
from gtidal.planning.parts import SPLITTINGS, Part, Piece, ReadPlan
from gtidal.planning.pruning import STOP_MARGIN, TimeWindow, by_gtid, by_time, narrowed
from gtidal.requests import Request, check_options
from gtidal.sources.files import LogFile, Meter, each_of
from gtidal.sources.keyring import KeyStore
from gtidal.sources.server.address import ServerAddress, is_server
from gtidal.sources.storage import Storage

Paths = str | Path | Iterable[str | Path]
OPEN_COST = 4 << 20
"""What it costs to open a file, in bytes that could be read meanwhile: as Spark reckons."""
SMALLEST_PART = 16 << 20
"""To start a task costs more than to read so much."""


def plan_read(
    paths: Paths,
    options: Mapping[str, Any],
    *,
    part_bytes: int,
    splitting: str = "search",
    storage: Mapping[str, str] | None = None,
    recursive: bool = False,
    view: str | None = None,
    time_margin: int = STOP_MARGIN,
    least_parts: int = 1,
    meter: Meter | None = None,
) -> ReadPlan:
    """The parts of a read; ``options`` are those of ``gtidal.changes``.

    ``splitting``: ``search`` cuts files at offsets from which readers look for a boundary themselves; ``walk`` goes
    through them from transaction to transaction. ``view``: the one that will be read; None: any. ``time_margin``: so
    many seconds a transaction may have been written after the time it bears; see ``planning.pruning``.
    ``least_parts``: see ``even_part``. ``meter`` counts the bytes that planning reads."""
    check_options(options)
    paths = [paths] if isinstance(paths, str | Path) else list(paths)
    if splitting not in SPLITTINGS:
        raise UsageError(f"splitting={splitting!r}: {' or '.join(SPLITTINGS)}")
    if part_bytes < 1:
        raise UsageError(f"a part of {part_bytes} bytes: at least 1")
    _check_addresses(paths)
    where = Storage(options.get("storage") if storage is None else storage)
    request = Request.of(paths, options, where, recursive=recursive or options.get("recursive", False))
    found = request.found
    planner = _Planner(request, Looker(KeyStore(None, options.get("key_file")), meter or Meter()), view)
    planner.prune(len(found), time_margin)
    part_bytes = even_part(part_bytes, planner.cost, least_parts)
    pieces = planner.pieces(part_bytes, splitting)
    return ReadPlan(
        packed(pieces, part_bytes),
        len(found),
        sum(file.size for file in found),
        sum(piece.length for group in pieces for piece in group),
        planner.pruned,
    )


def even_part(part_bytes: int, cost: int, least_parts: int) -> int:
    """How large parts are, so that there are as many as ``least_parts``, or twice as many and so on: with seven parts for
    two processors, one of them would be idle for a while. Not smaller than 16 MB for that, and never larger."""
    waves = -(-cost // (part_bytes * least_parts))
    return min(part_bytes, max(SMALLEST_PART, -(-cost // max(waves * least_parts, 1))))


def _check_addresses(paths: list[str | Path]) -> None:
    """Parts are read elsewhere, by options alone: what an address says besides would be lost on the way."""
    for path in paths:
        if is_server(path):
            address = ServerAddress.parse(str(path))
            if address.follow:
                raise UsageError(
                    f"{address.title}: follow=true is for a stream; this reads to the current end"
                )
            if address.start is not None or address.stop is not None:
                raise UsageError(
                    f"{address.title}: start and stop are options here, not a part of the address"
                )


class _Planner:
    def __init__(self, request: Request, looker: Looker, view: str | None) -> None:
        self.request = request
        self.looker = looker
        self.view = view
        self.pruned: list[str] = []
        selection = request.selection
        by_time = selection.start_time is not None or selection.stop_time is not None

        def look(file: LogFile) -> Head:
            return looker.head(file, gtids=selection.by_gtid, ends=selection.by_gtid or by_time)

        heads = each_of(request.files, look)
        self.first_format: Format | None = None
        """In force where the first file is read from; None: that of its head."""
        self.ranges = {head.file: (head, *self._asked(index, head)) for index, head in enumerate(heads)}
        """Of each file that is read: its head, and from where to where."""
        self.searched = {head.file: (False, False) for head in heads}

    def _asked(self, index: int, head: Head) -> tuple[int | None, int | None]:
        """From where to where, by what the user named: any offsets."""
        request = self.request
        start = request.start if index == 0 else None
        stop = request.stop if index == len(request.files) - 1 else None
        if start is None and stop is None:
            return None, None
        if self.view == "events":
            return self._asked_for_events(head, start, stop)
        if not head.cuttable:
            return start, stop
        with self.looker.boundaries(head) as boundaries:
            return boundaries.bounds(start, stop)

    def _asked_for_events(
        self, head: Head, start: int | None, stop: int | None
    ) -> tuple[int | None, int | None]:
        """Some events more than are shown may be read at the start: see ``Piece.shown_from``."""
        if head.problem:
            return None, stop
        exact = self.request.exact
        with self.looker.boundaries(head) as boundaries:
            place, stop = boundaries.around_events(None if exact else start, stop)
        if place is None:
            return start if exact else None, stop
        self.first_format = place.format if boundaries.relay else None
        return place.position, stop

    @property
    def heads(self) -> list[Head]:
        return [head for head, _, _ in self.ranges.values()]

    @property
    def cost(self) -> int:
        """About how many bytes are read, and files opened."""
        ranges = self.ranges.values()
        return sum((stop or head.log_size) - (start or 0) + OPEN_COST for head, start, stop in ranges)

    # --- what is left out

    def prune(self, found: int, margin: int) -> None:
        selection = self.request.selection
        if (left := found - len(self.ranges)) > 0:
            self.pruned.append(f"{_files(left)} before start or after stop")
        if selection.by_gtid:
            kept = by_gtid(self.heads, selection, whole=self.view in (None, "events"))
            self._keep(kept, "by GTID: nothing that is asked for is in them")
        if (window := TimeWindow.of(selection, margin)) is not None:
            self._keep(by_time(self.heads, window), "by time: their events are all outside of the window")
            self._narrow(window)

    def _keep(self, kept: list[Head], reason: str) -> None:
        files = {head.file for head in kept}
        left = [head for head in self.heads if head.file not in files]
        if left:
            size = sum(head.size for head in left)
            self.pruned.append(f"{_files(len(left))} ({size:,} bytes) {reason}")
        self.ranges = {file: range_ for file, range_ in self.ranges.items() if file in files}

    def _narrow(self, window: TimeWindow) -> None:
        heads = self.heads
        left = 0
        bounds = each_of(heads, lambda head: narrowed(self.looker, head, window))
        for head, (start, stop) in zip(heads, bounds, strict=True):
            _, first, last = self.ranges[head.file]
            begins = start is not None and start > (first or 0)
            ends = stop is not None and stop < (last or head.log_size)
            self.ranges[head.file] = head, start if begins else first, stop if ends else last
            self.searched[head.file] = begins, ends
            left += (start or 0) if begins else 0
            left += head.log_size - (stop or 0) if ends else 0
        if left:
            self.pruned.append(
                f"{left:,} bytes of large files by time, with {window.margin} seconds to spare for statements that ran long"
            )

    # --- cuts

    def pieces(self, part_bytes: int, splitting: str) -> list[list[Piece]]:
        if splitting == "walk":
            return each_of(self.heads, lambda head: self._cut(head, part_bytes, walk=True))
        return [self._cut(head, part_bytes, walk=False) for head in self.heads]

    def _cut(self, head: Head, part_bytes: int, walk: bool) -> list[Piece]:
        _, start, stop = self.ranges[head.file]
        first_is_searched, last_is_searched = self.searched[head.file]
        begin, end = start or 0, min(stop or head.log_size, head.log_size)
        count = -(-(end - begin) // part_bytes) if head.cuttable else 1
        step = max(-(-(end - begin) // max(count, 1)), 1)
        is_first = head.file == self.request.files[0]
        whole = Piece(
            str(head.file.path),
            head.file.name,
            head.size,
            start,
            first_is_searched,
            stop=None if last_is_searched else stop,
            format=self.first_format if is_first and not first_is_searched else None,
            shown_from=(self.request.start or 0) if is_first and self.view == "events" else 0,
            in_use=head.in_use,
        )
        cuts = list(range(begin + step, end, step))
        if walk:
            return self._walked(head, whole, cuts, stop if last_is_searched else None)
        last = stop if last_is_searched else None
        if last is not None:
            cuts.append(last)
        pieces = []
        for here, until in zip([start, *cuts], [*cuts, None], strict=True):
            if here is not None and here == last:
                break
            searched = first_is_searched if here == start else True
            piece = replace(whole, cut=here, searched=searched)
            pieces.append(piece if until is None else replace(piece, until=until, step=step, last=last))
        return pieces

    def _walked(self, head: Head, whole: Piece, cuts: list[int], last: int | None) -> list[Piece]:
        """Exact: all places are true beginnings of transactions."""
        wanted = [*([whole.cut] if whole.searched and whole.cut is not None else []), *cuts]
        wanted += [] if last is None else [last]
        if not wanted:
            return [whole]
        with self.looker.boundaries(head) as boundaries:
            places = walk_places(boundaries, wanted)
        begin = replace(whole, cut=None) if whole.searched else whole
        starts = [begin, *(replace(whole, cut=place.position, format=place.format) for place in places)]
        starts = [replace(piece, searched=False) for piece in starts]
        pieces = [replace(piece, until=following.cut) for piece, following in pairwise(starts)] + starts[-1:]
        return [piece for piece in pieces if _overlaps(piece, whole.cut if whole.searched else None, last)]


def _overlaps(piece: Piece, first: int | None, last: int | None) -> bool:
    """Whether something in it is asked for."""
    before = first is not None and piece.until is not None and piece.until <= first
    behind = last is not None and piece.cut is not None and piece.cut >= last
    return not before and not behind


def packed(files: Sequence[list[Piece]], part_bytes: int) -> list[Part]:
    """Small files together, in their order."""
    parts: list[Part] = []
    together: list[Piece] = []
    cost = 0
    for pieces in files:
        mine = sum(piece.length for piece in pieces) + OPEN_COST
        if together and (len(pieces) > 1 or cost + mine > part_bytes):
            parts.append(Part(tuple(together)))
            together, cost = [], 0
        if len(pieces) > 1:
            parts.extend(Part((piece,)) for piece in pieces)
        else:
            together += pieces
            cost += mine
    if together:
        parts.append(Part(tuple(together)))
    return parts


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count:,} files"
