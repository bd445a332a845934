"""What becomes of damage: ``FAILFAST`` raises, ``PERMISSIVE`` shows it as a row and reads on, ``DROPMALFORMED`` counts it
and reads on.

A bad region is what ``verify`` calls one: an event that does not decode, one whose checksum is wrong, or all bytes up to
the next event that can be proven. To a view the log ends where a bad region begins, and begins anew behind it:

* the transaction that it falls into is ``incomplete``, and so are its changes, which are shown only to those who ask for
  uncommitted ones;
* what follows of it, up to where a transaction is known to begin, is only in ``events``, as events of no transaction.

Batches are held back until nothing can go wrong with the transactions in them. When something does, they are dropped,
and made again from the log up to the bad region.
"""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from gtidal.columnar.codes import FAILFAST, PERMISSIVE
from gtidal.columnar.plan import printable
from gtidal.columnar.scanning import VIEWS, LogScan, View
from gtidal.columnar.schemas import BIGINT, STRING
from gtidal.columnar.splitting import BEGINS, ENDS, writes_gtids
from gtidal.columnar.windows import Place, WindowReader
from gtidal.errors import DecodeError, GtidalError, UsageError
from gtidal.events.format import Format
from gtidal.events.frame import decode_event
from gtidal.events.mariadb import QueryCompressed
from gtidal.events.registry import Context
from gtidal.events.statement import Query
from gtidal.log.decoder import FIRST_EVENT, Frame
from gtidal.log.salvage import Damage, SalvageDecoder
from gtidal.log.transactions import statement_kind

CORRUPT = pa.field(
    "_corrupt",
    pa.struct(
        [
            pa.field("reason", STRING),
            pa.field("position", BIGINT),
            pa.field("length", BIGINT),
            pa.field("bytes", pa.binary()),
        ]
    ),
)
_STILL_KNOWN = ("file", "position", "end_position", "_file", "_position")
"""The columns that a row has which stands for a bad region."""
_FIRST_BYTES = 64
_MOST_HELD = 64 << 20
"""Bytes of batches. A transaction with more is read twice: first to see that nothing is wrong with it."""
_CHUNK = 1 << 16
_ENDING_STATEMENTS = frozenset(("commit", "rollback", "xa_prepare", "xa_commit", "xa_rollback"))
_BEGINNING_STATEMENTS = frozenset(("begin", "xa_start", "xa_begin", "ddl"))
_BEGINNING = Place(FIRST_EVENT, Format())

_log = logging.getLogger("gtidal")


def schema_in_mode(schema: pa.Schema, mode: str) -> pa.Schema:
    """That of a view in a mode. ``PERMISSIVE``: with ``_corrupt``, and what a row for a bad region does not have may be
    null."""
    if mode != PERMISSIVE:
        return schema
    if CORRUPT.name in schema.names:
        raise UsageError(
            f"the table has a column {CORRUPT.name} of its own: mode={PERMISSIVE} has no place for its"
        )
    return pa.schema([*(_nullable(field) for field in schema), CORRUPT])


def _nullable(field: pa.Field) -> pa.Field:
    return field if field.name in _STILL_KNOWN else field.with_nullable(True)


@dataclass(frozen=True, slots=True)
class BadRegion:
    """Bytes of a log that are no event, or an event that does not decode."""

    file: str
    position: int
    length: int
    reason: str
    bytes: bytes
    """The first ones."""

    def __str__(self) -> str:
        return f"{self.file}, position {self.position}, {self.length} bytes: {self.reason}"


OnCorrupt = Callable[[BadRegion], None]


def view_columns(columns: Sequence[str], schema: pa.Schema) -> tuple[str, ...]:
    """Those that are made from events: at least one, so that there are rows."""
    return tuple(name for name in columns if name != CORRUPT.name) or tuple(schema.names[:1])


def view_in_mode(view: str, mode: str, schema: pa.Schema, on_corrupt: OnCorrupt | None = None) -> View:
    """What reads a stretch of a log. ``schema``: that of the batches. ``on_corrupt`` is told of each bad region."""

    def read(log: LogScan) -> Iterator[pa.RecordBatch]:
        return _Reading(log, view, schema, mode, on_corrupt).batches()

    def fail_behind_start(log: LogScan) -> Iterator[pa.RecordBatch]:
        try:
            yield from VIEWS[view](log)
        except DecodeError as error:
            if log.reader.overran or error.position is None or error.position >= log.shown_from:
                raise
            # It was met on the way to what is shown, which nobody asked for.
            yield from read(log)

    if mode != FAILFAST:
        return read
    return fail_behind_start if view == "events" else VIEWS[view]


class _Salvager:
    """Goes through a log from a sound place on, event by event, as ``verify`` does."""

    def __init__(self, log: LogScan, place: Place | None, before: _Salvager | None) -> None:
        reader = log.reader
        self._log = log
        size = reader.stream.seek(0, io.SEEK_END)
        self.end = size - reader.head_size
        """Of the log."""
        # Where events are encrypted one by one, what they need is at the log's head.
        self._whole = place is None or reader.decoder.encrypts_events
        if self._whole or place is None:
            self.decoder = SalvageDecoder(log.file, size=size, keys=log.scan.keys)
            self._at = 0
        else:
            self.decoder = SalvageDecoder(log.file, size=size - reader.head_size)
            self.decoder.start_behind(
                place.position,
                place.format,
                own_positions=not reader.relay if before is None else before.decoder.own_positions,
                shift=0 if before is None else before.decoder.shift,
            )
            self._at = place.position
        self.decoder.verify_checksum = log.scan.verify_checksum
        self._ended = False
        self._saw_gtids: bool = before is not None and before._saw_gtids
        """Then all transactions have them, whatever a damaged head tells of the server."""
        self.damage: Damage | None = None
        """What ``next_damage`` found."""
        if self._whole and place is not None:
            while (item := self.next()) is not None and item.end < place.position:
                pass

    def _read(self) -> bytes:
        reader = self._log.reader
        if self._whole:
            reader.stream.seek(self._at)
            data = reader.stream.read(_CHUNK)
        else:
            data = reader.read_at(self._at, _CHUNK)
        self._at += len(data)
        return data

    def next(self) -> Frame | Damage | None:
        while (item := self.decoder.next_item()) is None and not self._ended:
            if data := self._read():
                self.decoder.receive_data(data)
            else:
                self.decoder.end_of_data()
                self._ended = True
        self._saw_gtids |= isinstance(item, Frame) and item.type_code in BEGINS
        return item

    def _has_gtids(self, format: Format) -> bool:
        return self._saw_gtids or writes_gtids(format)

    @property
    def place(self) -> Place:
        """Behind what came last."""
        return Place(self.decoder.position, self.decoder.format)

    def next_damage(self, until: int | None) -> bool:
        """Whether something is damaged before; then that is ``damage``."""
        while until is None or self.decoder.position < until:
            item = self.next()
            if isinstance(item, Damage):
                self.damage = item
                return not (item.partial and self._log.reader.in_use)
            if item is None:
                break
        return False

    def region_of(self, error: DecodeError) -> Damage:
        """The bad region at which a view ended with an error."""
        while error.position is not None and (item := self.next()) is not None:
            if item.end > error.position:
                if isinstance(item, Damage):
                    return item
                return Damage(item.position, len(item.data), error, goes_on=True)
        raise error

    def next_beginning(self, until: int | None) -> Place | Damage:
        """Where a transaction is known to begin, or what is damaged before; at last, the end."""
        first = self.place
        while until is None or self.decoder.position < until:
            here = self.place
            item = self.next()
            if item is None:
                return here if self._has_gtids(here.format) else first
            if isinstance(item, Damage):
                return here if item.partial and self._log.reader.in_use else item
            if item.type_code in BEGINS:
                return here
            if item.type_code in ENDS:
                return self.place
            kind = _statement(item, here.format)
            if kind in _ENDING_STATEMENTS:
                return self.place
            if kind in _BEGINNING_STATEMENTS and not self._has_gtids(here.format):
                return first  # what stands before was outside of any transaction
        return self.place


def stop_behind(log: LogScan, offset: int, *, by_event: bool) -> int:
    """Where to stop for who names any offset, in a log whose head is damaged: at the first event from there on, or at the
    first transaction. Inside of a bad region, that is behind it."""
    if offset <= FIRST_EVENT:
        return FIRST_EVENT
    salvager = _Salvager(log, None, None)
    while salvager.place.position < offset and salvager.next() is not None:
        pass
    return salvager.place.position if by_event else salvager.next_beginning(None).position


def _statement(frame: Frame, format: Format) -> str | None:
    if frame.type_code not in (Query.code, QueryCompressed.code):
        return None
    try:
        event = decode_event(frame.data, frame.position, Context(format, {}, False))
        return statement_kind(event.query) if isinstance(event, Query | QueryCompressed) else None
    except GtidalError:
        return None


_Reads = Generator[pa.RecordBatch, None, Damage | None]
"""Batches, and at last the bad region that ended them."""


class _Reading:
    """One stretch of a log, read in spite of damage."""

    def __init__(
        self, log: LogScan, view: str, schema: pa.Schema, mode: str, on_corrupt: OnCorrupt | None
    ) -> None:
        self.log = log
        self.view = view
        self.schema = schema
        self.shown = mode == PERMISSIVE
        self.fails = mode == FAILFAST
        self.on_corrupt = on_corrupt
        self.salvager: _Salvager | None = None
        self.stop = log.reader.stop

    def batches(self) -> Iterator[pa.RecordBatch]:
        log, stop = self.log, self.stop
        region = yield from self._from(log.settled, stop)
        while region is not None and (stop is None or region.position < stop):
            assert self.salvager is not None
            self._check(region.position, region.end)
            if region.position >= log.shown_from:
                if self.fails:
                    raise region.error
                yield from self._told(region)
            behind = self.salvager.place
            if behind.position >= self.salvager.end:
                return  # where nothing is left, there may be no head either that could be read again
            found = self.salvager.next_beginning(stop)
            region = None
            if self.view == "events":
                log.adrift = True
                region = yield from self._from(behind, found.position)
                log.adrift = False
            if region is not None:
                continue
            if isinstance(found, Damage):
                region = found
            else:
                self._check(behind.position, found.position)
                region = yield from self._from(found, stop)

    def _from(self, place: Place | None, stop: int | None) -> _Reads:
        """All from a place on, up to a bad region."""
        log, salvager = self.log, self._look_ahead(place, stop)
        log.reader.stream.seek(0)
        damage = None if salvager is None else salvager.damage
        if place is not None:
            log.go_on(place, stop if damage is None else damage.position)
        elif damage is not None:
            log.reader.stop = damage.position
        region = None
        if damage is None or damage.position > FIRST_EVENT:
            region = yield from self._sound(log.reader.stop)
        if region is None and damage is not None:
            self.salvager, region = salvager, damage
        return region

    def _look_ahead(self, place: Place | None, stop: int | None) -> _Salvager | None:
        """What finds the damage that a view does not notice, where there is some: a format description is always there
        to be judged; without checksums, nothing but its place tells whether an event is one."""
        salvager = _Salvager(self.log, place, self.salvager)
        if place is None and salvager.next_damage(FIRST_EVENT + 1):
            return salvager
        decoder = salvager.decoder
        is_checked = decoder.format.has_checksums and self.log.scan.verify_checksum
        if is_checked or not decoder.own_positions:
            return None
        if self._is_in_place(place, stop):
            return None
        return salvager if salvager.next_damage(stop) else None

    def _is_in_place(self, place: Place | None, stop: int | None) -> bool:
        """Whether all events tell the place they have."""
        log = self.log
        reader = WindowReader(
            log.reader.stream, log.file, keys=log.scan.keys, verify_checksum=False, stop=stop
        )
        try:
            log.reader.stream.seek(0)
            if place is not None:
                reader.seek(place)
            return not any(reader.misplaced for _ in reader)
        except DecodeError:
            return False

    def _sound(self, limit: int | None) -> _Reads:
        """What can be read before ``limit``; and the bad region before it at which that ends."""
        log = self.log
        region: Damage | None = None
        while True:
            try:
                for batch in self._settled():
                    yield self._in_schema(batch)
                return region
            except DecodeError as error:
                if log.reader.overran:
                    raise
                place = log.settled
                self.salvager = _Salvager(log, place, self.salvager)
                region = self.salvager.region_of(error)
                if limit is not None and region.position >= limit:
                    raise
            limit = region.position
            first = FIRST_EVENT if place is None else place.position
            if limit <= first:
                return region
            given = log.given
            log.go_on(place or _BEGINNING, limit)
            log.given = given

    def _settled(self) -> Iterator[pa.RecordBatch]:
        """The view's batches, once all of their transactions were read without an error."""
        log = self.log
        sure = 0  # nothing is wrong before this position
        while True:
            held: list[pa.RecordBatch] = []
            size, given, again = 0, log.given, log.settled
            problem: DecodeError | None = None
            try:
                for batch in VIEWS[self.view](log):
                    if log.given != given:
                        if size > _MOST_HELD:
                            break
                        yield from held
                        held, size, given, again = [], 0, log.given, log.settled
                    if given < sure:
                        yield batch
                        continue
                    size += batch.nbytes
                    held = [] if size > _MOST_HELD else [*held, batch]
            except DecodeError as error:
                problem = error
            is_settled = problem is None or log.given != given
            if is_settled and size <= _MOST_HELD:
                yield from held
            if not is_settled or size <= _MOST_HELD:
                if problem is not None:
                    raise problem
                return
            sure = log.given if log.given != given else sys.maxsize
            log.go_on(again or _BEGINNING, log.reader.stop)
            log.given = given

    # --- what is told of a bad region

    def _told(self, region: Damage) -> Iterator[pa.RecordBatch]:
        error = region.error
        reason = "zero bytes, no events" if region.zeros else error.message
        place = [text for text in (error.event, error.field and f"field {error.field}") if text]
        bad = BadRegion(
            self.log.file,
            region.position,
            region.size,
            printable(": ".join((", ".join(place), reason)) if place else reason),
            self._bytes(region),
        )
        if self.on_corrupt is not None:
            self.on_corrupt(bad)
        if CORRUPT.name not in self.schema.names:
            _log.warning("%s %s", "not read:" if self.shown else "dropped:", bad)
        if self.shown:
            yield self._row(bad)

    def _bytes(self, region: Damage) -> bytes:
        return self.log.reader.read_at(region.position, min(region.size, _FIRST_BYTES))

    def _check(self, position: int, end: int) -> None:
        """A stretch ends where an event begins. If that is inside of a bad region, others take it for more than it
        is."""
        if self.stop is not None and end > self.stop:
            self.log.reader.overran = True
            raise DecodeError(
                f"{end - position} bytes are damaged, and position {self.stop} is inside of them",
                file=self.log.file,
                position=position,
            )

    def _row(self, bad: BadRegion) -> pa.RecordBatch:
        values = {
            "file": bad.file,
            "_file": bad.file,
            "position": bad.position,
            "_position": bad.position,
            "end_position": bad.position + bad.length,
            CORRUPT.name: {
                "reason": bad.reason,
                "position": bad.position,
                "length": bad.length,
                "bytes": bad.bytes,
            },
        }
        # A table's own column may have such a name, too; it may be null.
        arrays = [
            pa.array([values[field.name] if not field.nullable or field == CORRUPT else None], field.type)
            for field in self.schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _in_schema(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if not self.shown:
            return batch
        count = batch.num_rows
        arrays = [
            pa.nulls(count, field.type) if field.name == CORRUPT.name else batch.column(field.name)
            for field in self.schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)
