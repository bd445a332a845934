"""A growing log, followed from one place between transactions to the next.

A ``Mark`` is such a place, with the GTIDs of all that comes before it: exact ones, from the file's head and the events
behind it. A ``Tail`` moves its mark forward over what has come, as far as it is told to.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import time_ns
from typing import Any, BinaryIO, cast

import numpy as np
import pyarrow as pa

from gtidal.columnar.scanning import LogScan, Scan, Stretch
from gtidal.columnar.windows import Place
from gtidal.errors import ConnectionLost, DecodeError, LogsDiverged, LogsPurged, ServerProblem, UsageError
from gtidal.events.format import Format
from gtidal.gtid import GtidSet, MariadbGtid, MariadbGtidSet
from gtidal.gtid.mariadb import MariadbGtidSetBuilder
from gtidal.log.decoder import FIRST_EVENT, Keys
from gtidal.log.transactions import INCOMPLETE
from gtidal.planning.growing import AnyGtidSet, End, FileHead, GrowingLog, ServerLog, exactly
from gtidal.planning.parts import Carried, Piece
from gtidal.sources.files import BoundedStream
from gtidal.sources.places import NOW, OLDEST, where_of

Array = np.ndarray[Any, Any]
CHUNK = 16 << 20
"""So much is looked through at a time; more where a transaction is longer."""
CARRIED = 1 << 20
"""A stretch that is no longer travels with its bytes: to connect takes longer than to send them."""
_COLUMNS = ("position", "end_position", "timestamp", "outcome", "source_uuid", "tag", "gno", "gtid")
_COUNTS: dict[str, dict[str, int]] = {
    "changes": {"rows_inserted": 1, "rows_updated": 1, "rows_deleted": 1},
    "rows": {"rows_inserted": 1, "rows_updated": 2, "rows_deleted": 1},
    "events": {"events": 1},
    "transactions": {},
}
"""How many rows of a view come of what a transaction holds."""


@dataclass(frozen=True)
class Mark:
    """Between two transactions of a log."""

    server: str
    file: str
    position: int
    created: int
    """When the file was begun: after a reset another one has its name."""
    gtids: AnyGtidSet
    """All that was had here. It grows with the log; behind a fail-over it is what was had of the server before."""
    ahead: AnyGtidSet | None = None
    """Those of them that are still to come in this server's log, which may have another order."""


@dataclass(frozen=True)
class Limits:
    """How much is taken at a time; at least one transaction is. None: all."""

    size: int | None = None
    rows: int | None = None


UNLIMITED = Limits()


@dataclass
class _Seen:
    """Transactions that were looked at."""

    begins: int
    ends: Array
    rows: Array
    """Of all transactions up to each."""
    batch: pa.RecordBatch | None

    def first(self, limits: Limits, size: int, rows: int, least: int) -> int:
        """How many transactions fit, where so much was taken before."""
        count = len(self.ends)
        if limits.size is not None:
            room = limits.size - size
            count = min(count, int(np.searchsorted(self.ends - self.begins, room, side="right")))
        if limits.rows is not None:
            count = min(count, int(np.searchsorted(self.rows, limits.rows - rows, side="right")))
        return max(count, least)

    def older(self, time: int) -> int:
        """How many come before the first that bears this time, in microseconds, or a later one."""
        if self.batch is None:
            return len(self.ends)
        times = self.batch.column("timestamp").cast(pa.int64()).fill_null(0).to_numpy()
        return next(iter(np.flatnonzero(times >= time).tolist()), len(times))

    def behind(self, count: int) -> _Seen | None:
        if count == len(self.ends):
            return None
        batch = None if self.batch is None else self.batch.slice(count)
        return _Seen(
            int(self.ends[count - 1]), self.ends[count:], self.rows[count:] - self.rows[count - 1], batch
        )


class _Growing(BoundedStream):
    """A file whose end is where it was last seen: whoever reads it does not wait for more."""

    def grow_to(self, size: int) -> None:
        self._size = size


class Tail:
    """Follows a log from a mark on. ``view``: the one whose rows are counted."""

    def __init__(self, log: GrowingLog, mark: Mark, keys: Keys, view: str = "changes") -> None:
        self.log = log
        self.mark = mark
        self.boundaries: dict[str, list[int]] = {}
        """Of each file, some of the places between transactions that were passed."""
        self._keys = keys
        self._counts = _COUNTS[view]
        self._counting = False
        self._pending: _Seen | None = None
        self._head: FileHead | None = None
        self._stream: _Growing | None = None
        self._scan: LogScan | None = None
        self._format: Format | None = None

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()
        self._stream = self._scan = None

    def check(self) -> None:
        """Raise if the log is not the one that the mark was made in."""
        mark, end = self.mark, self.log.end()
        self.log.between(mark.file, end.file)
        size = self._size_of(mark.file, end)
        if size < mark.position:
            raise LogsDiverged(
                f"{self.log.title} has {size:,} bytes of {mark.file}, and {mark.position:,} were read: it is another file of "
                "that name, its logs were reset. Start anew: another checkpoint, and start=oldest"
            )
        created = self._file_head(end).created
        if created and mark.created and created != mark.created:
            raise LogsDiverged(
                f"{self.log.title} has another file {mark.file} than the one that was read: its logs were reset. Start anew: "
                "another checkpoint, and start=oldest"
            )

    # --- forward

    def advance(self, limits: Limits = UNLIMITED, until: End | None = None) -> Mark:
        """The furthest mark that is within limits; the old one if there is nothing new."""
        try:
            return self._advance(limits, until or self.log.end())
        except ConnectionLost:
            raise
        except (DecodeError, ServerProblem):
            # What cannot be read may be another file of the same name.
            self.close()
            self._head = None
            self.check()
            raise

    def _advance(self, limits: Limits, end: End) -> Mark:
        if limits == UNLIMITED:
            self._leap(end)
        counting = limits.rows is not None
        if counting and not self._counting:
            self.close()
        self._counting |= counting
        size = rows = 0
        taken = False
        while self._pending is not None or self._look(end):
            if self._pending is None:  # a file has begun
                continue
            seen = self._pending
            count = seen.first(limits, size, rows, least=0 if taken else 1)
            if not count:
                break
            taken = True
            size += int(seen.ends[count - 1]) - seen.begins
            rows += int(seen.rows[count - 1])
            self._take(seen, count)
        return self.mark

    def pass_older(self, time: int) -> Mark:
        """Go to the first transaction that bears this time, in microseconds, or a later one; if none does, to the end."""
        end = self.log.end()
        while self._pending is not None or self._look(end):
            if self._pending is None:  # a file has begun
                continue
            seen = self._pending
            count = seen.older(time)
            if count:
                self._take(seen, count)
            if count < len(seen.ends):
                break
        return self.mark

    def _take(self, seen: _Seen, count: int) -> None:
        mark = self.mark
        gtids, ahead = mark.gtids, mark.ahead
        if seen.batch is not None:
            gtids = _with(gtids, seen.batch.slice(0, count))
            if ahead is not None:
                ahead = _without(ahead, _with(type(ahead)(), seen.batch.slice(0, count)))
        position = int(seen.ends[count - 1])
        self.mark = replace(mark, position=position, gtids=gtids, ahead=ahead)
        self._pending = seen.behind(count)
        if self._pending is None:
            self.boundaries.setdefault(mark.file, []).append(position)

    def carried(self, start: Mark, end: Mark) -> Piece | None:
        """What lies between two marks with its bytes, if it is short and was just received; None: whoever wants it asks
        the server again."""
        is_here = self._stream is not None and start.file == end.file == self.mark.file
        is_short = 0 < end.position - start.position <= CARRIED and start.position > FIRST_EVENT
        file = self.log.file(end.file)
        if not is_here or not is_short or file.searchable or self._head is None:
            return None
        assert self._stream is not None
        self._stream.seek(start.position)
        events = exactly(cast(BinaryIO, self._stream), end.position - start.position)
        if len(events) < end.position - start.position:
            return None
        bytes_of = Carried(self._head.beginning, events)
        return Piece(
            str(file.path), file.name, end.position, start.position, until=end.position, carried=bytes_of
        )

    def forget(self, file: str) -> None:
        """Nobody will ask for boundaries before this file."""
        names = self.log.names()
        if file in names:
            for name in names[: names.index(file)]:
                self.boundaries.pop(name, None)

    def _leap(self, end: End) -> None:
        """To the last file at once, if its head tells what comes before."""
        mark = self.mark
        if mark.file == end.file or mark.ahead is not None or self._pending is not None:
            return
        self.log.between(mark.file, end.file)
        head = self.log.head(end.file, end.size, self._keys)
        if head.relay or (head.previous is None and mark.gtids):
            return
        self._begin(end.file, head)

    def _begin(self, file: str, head: FileHead) -> None:
        """Go to the beginning of a file."""
        mark = self.mark
        gtids = mark.gtids
        if head.previous is not None and not head.relay:
            if isinstance(gtids, GtidSet) and isinstance(head.previous, GtidSet):
                if mark.ahead is None and not gtids <= head.previous:
                    raise LogsDiverged(
                        f"{file} of {self.log.title} does not know {(gtids - head.previous).one_line()[:200]}, which was read "
                        "before: the logs were reset, or are of another server. Start anew: another checkpoint, and "
                        "start=oldest"
                    )
                gtids = gtids | head.previous
            elif not gtids:
                gtids = head.previous
            elif isinstance(gtids, MariadbGtidSet) and isinstance(head.previous, MariadbGtidSet):
                gtids = gtids | head.previous
        self.close()
        self._head, self._format = head, None
        self.mark = replace(mark, file=file, position=FIRST_EVENT, created=head.created, gtids=gtids)

    # --- what is there

    def _size_of(self, file: str, end: End) -> int:
        return end.size if file == end.file else self.log.size(file)

    def _file_head(self, end: End) -> FileHead:
        if self._head is None:
            self._head = self.log.head(self.mark.file, self._size_of(self.mark.file, end), self._keys)
        return self._head

    def _look(self, end: End) -> bool:
        """See what comes behind the mark; false: nothing yet."""
        mark = self.mark
        self.log.between(mark.file, end.file)
        size = self._size_of(mark.file, end)
        closed = mark.file != end.file
        chunk = CHUNK
        while self._behind_head(mark.position) < size:
            scan = self._opened(end)
            goal = min(size, self._behind_head(mark.position) + chunk)
            self._pending = self._read(scan, goal, last=closed and goal == size)
            if self._pending is not None:
                return True
            if goal == size:
                if closed:
                    break  # a transaction that will never end
                return False
            chunk *= 2
        if size < self._behind_head(mark.position):
            self.check()
        following = self.log.following(mark.file) if closed else None
        if following is None:
            return False
        self._begin(following, self.log.head(following, self._size_of(following, end), self._keys))
        return True

    def _behind_head(self, position: int) -> int:
        """As an offset in the file: encrypted ones have a head of their own."""
        return position + (0 if self._scan is None else self._scan.reader.head_size)

    def _opened(self, end: End) -> LogScan:
        if self._scan is not None:
            return self._scan
        mark, head = self.mark, self._file_head(end)
        columns = (*_COLUMNS, *(self._counts if self._counting else ()))
        wanted = Scan(columns=columns, verify_checksum=False, keys=self._keys)
        self._stream = _Growing(self.log.open(mark.file), self._size_of(mark.file, end))
        begins = mark.position > FIRST_EVENT and not head.relay
        stretch = Stretch(mark.position) if begins else Stretch()
        self._scan = LogScan(cast(BinaryIO, self._stream), mark.file, wanted, stretch)
        if begins:
            self._format = self._scan.reader.decoder.format
        elif mark.position > FIRST_EVENT:
            self._walk_to(mark.position)
        return self._scan

    def _walk_to(self, position: int) -> None:
        """In a relay log the format in force may be one of those that come in between."""
        assert self._scan is not None
        reader = self._scan.reader
        reader.stop = position
        for _ in reader:
            pass
        reader.stop = None
        self._format = reader.decoder.format

    def _read(self, scan: LogScan, goal: int, *, last: bool) -> _Seen | None:
        """The transactions that end before an offset of the file."""
        assert self._stream is not None
        assert self._head is not None
        mark, reader = self.mark, scan.reader
        self._stream.grow_to(goal)
        if self._format is not None:
            scan.go_on(Place(mark.position, self._format), None)
        reader.in_use = not last or self._head.in_use
        batches = [batch for batch in scan.transactions() if batch.num_rows]
        found = pa.Table.from_batches(batches).combine_chunks().to_batches()[0] if batches else None
        behind = reader.position
        if found is not None and found.column("outcome")[-1].as_py() == INCOMPLETE:
            behind = found.column("position")[-1].as_py()
            found = found.slice(0, found.num_rows - 1)
        if behind <= mark.position:
            if mark.position == FIRST_EVENT:
                self.close()  # not even the head is there
            return None
        self._format = reader.decoder.format
        if found is None or not found.num_rows:
            return _Seen(mark.position, np.array([behind]), np.array([0]), None)
        ends = found.column("end_position").to_numpy().copy()
        ends[-1] = behind  # what stands behind the last transaction and is of none
        return _Seen(mark.position, ends, self._rows(found), found)

    def _rows(self, found: pa.RecordBatch) -> Array:
        rows = np.zeros(found.num_rows, np.int64)
        if self._counting:
            for name, times in self._counts.items():
                rows += times * found.column(name).to_numpy()
        return np.cumsum(np.maximum(rows, 1))


# --- GTIDs


def _with(gtids: AnyGtidSet, batch: pa.RecordBatch) -> AnyGtidSet:
    """A set, and those of some transactions."""
    if batch.column("source_uuid").null_count < batch.num_rows:
        return _mysql(batch) if not gtids else _union(gtids, _mysql(batch))
    texts = [text for text in batch.column("gtid").to_pylist() if text is not None]
    if not texts:
        return gtids
    builder = MariadbGtidSetBuilder(gtids if isinstance(gtids, MariadbGtidSet) else None)
    for gtid in map(MariadbGtid.parse, texts):
        builder.add(gtid.domain, gtid.server, gtid.sequence)
    return builder.build()


def _mysql(batch: pa.RecordBatch) -> GtidSet:
    known = batch.select(["source_uuid", "tag", "gno"]).filter(batch.column("source_uuid").is_valid())
    uuids = known.column("source_uuid").dictionary_encode()
    tags = known.column("tag").fill_null("").dictionary_encode()
    numbers = known.column("gno").to_numpy()
    of_uuid, of_tag = uuids.indices.to_numpy(), tags.indices.to_numpy()
    ranges: dict[str | tuple[str, str], list[tuple[int, int]]] = {}
    for tag_place, tag in enumerate(tags.dictionary.to_pylist()):
        for place, uuid in enumerate(uuids.dictionary.to_pylist()):
            mine = np.sort(numbers[(of_uuid == place) & (of_tag == tag_place)])
            if len(mine):
                breaks = np.flatnonzero(np.diff(mine) > 1)
                firsts = mine[np.concatenate(([0], breaks + 1))].tolist()
                lasts = mine[np.concatenate((breaks, [len(mine) - 1]))].tolist()
                ranges[uuid, tag] = list(zip(firsts, lasts, strict=True))
    return GtidSet.from_ranges(ranges)


def _union(one: AnyGtidSet, other: AnyGtidSet) -> AnyGtidSet:
    if isinstance(one, GtidSet) and isinstance(other, GtidSet):
        return one | other
    assert isinstance(one, MariadbGtidSet)
    assert isinstance(other, MariadbGtidSet)
    return one | other


def _without(one: AnyGtidSet, other: AnyGtidSet | None) -> AnyGtidSet | None:
    """What of a set is not in another one; None: nothing."""
    if isinstance(one, GtidSet) and isinstance(other, GtidSet):
        return (one - other) or None
    if isinstance(one, MariadbGtidSet) and isinstance(other, MariadbGtidSet):
        left = one - other
        return left if len(left) else None
    return one if one else None


# --- where to begin


def mark_at(log: GrowingLog, start: str, keys: Keys) -> Mark:
    """Where a stream begins: ``now``, ``oldest``, or a place as users write it."""
    where = where_of("start", start)
    if where.word == OLDEST:
        return head_mark(log, log.names()[0], keys)
    if where.word == NOW:
        return Tail(log, head_mark(log, log.end().file, keys), keys).advance()
    if where.gtids is not None:
        return mark_behind(log, where.gtids, keys)
    if where.time is not None:
        if where.time > time_ns() // 1000:
            raise UsageError(f"start={start}: that time has not come yet; one without a zone is UTC")
        return Tail(
            log, head_mark(log, _written_at(log, where.time // 1_000_000, keys), keys), keys
        ).pass_older(where.time)
    assert where.position is not None
    file, offset = where.position
    tail = Tail(log, head_mark(log, file or log.names()[0], keys), keys)
    end = log.end()
    size = end.size if tail.mark.file == end.file else log.size(tail.mark.file)
    if offset > size:
        raise UsageError(
            f"start={start}: {tail.mark.file} of {log.title} has {size:,} bytes, there is no position {offset:,}"
        )
    while tail.mark.position < offset and tail.mark.file == (file or tail.mark.file):
        before = tail.mark
        if tail.advance(until=End(before.file, offset)) == before and tail.advance(Limits(size=1)) == before:
            break
    return tail.mark


def head_mark(log: GrowingLog, file: str, keys: Keys) -> Mark:
    """At the beginning of a file."""
    end = log.end()
    log.between(file, end.file)
    head = log.head(file, end.size if file == end.file else log.size(file), keys)
    gtids = GtidSet() if head.previous is None else head.previous
    return Mark(log.server, file, FIRST_EVENT, head.created, gtids)


def mark_behind(log: GrowingLog, had: AnyGtidSet, keys: Keys) -> Mark:
    """Where reading begins for one who has these GTIDs: in a file before which there are no others."""
    live = log if isinstance(log, ServerLog) else None
    if live is not None:
        file, _ = live.logs.locate(had)
        live.end()
        found = head_mark(log, file, keys)
    else:
        found = _last_within(log, had, keys)
    return replace(found, gtids=had, ahead=_without(had, found.gtids))


def _last_within(log: GrowingLog, had: AnyGtidSet, keys: Keys) -> Mark:
    found = None
    for file in reversed(log.names()):
        found = head_mark(log, file, keys)
        if _without(found.gtids, had) is None:
            return found
    assert found is not None
    missing = _without(found.gtids, had)
    assert missing is not None
    raise LogsPurged(
        f"{log.title} begins with {found.file}, behind {missing.one_line()[:200]}, which is not among the GTIDs that are had: "
        "what is missing is not there any more; start anew with start=oldest"
    )


def _written_at(log: GrowingLog, seconds: int, keys: Keys) -> str:
    """The file that was being written at a time. One begun in that second comes behind some of it."""
    names = log.names()
    low, high = 0, len(names) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if head_mark(log, names[middle], keys).created < seconds:
            low = middle
        else:
            high = middle - 1
    return names[low]
