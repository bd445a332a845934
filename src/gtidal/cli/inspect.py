"""``gtidal inspect``: the events of a log, and the bytes of one of them beside every field."""

from __future__ import annotations

import datetime
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gtidal.cli import hexview
from gtidal.cli.conversion import Command
from gtidal.cli.event_filters import Filters, on_server, parse_bound, parse_types
from gtidal.cli.field_meanings import Scene
from gtidal.cli.opening import KeyFileOption, KeyOption, open_one
from gtidal.cli.output import Output, print_json, utc
from gtidal.cli.screen import Screen, cut, printable
from gtidal.cli.skipping import SkippingReader
from gtidal.errors import ChecksumMismatch, GtidalError, UsageError
from gtidal.events.format import NO_CHECKSUM
from gtidal.events.frame import HEADER_SIZE
from gtidal.events.registry import EVENTS, Context, Event
from gtidal.events.rows import RowsEvent
from gtidal.events.table_map import TableMap
from gtidal.events.transaction import GtidEvent, TransactionPayload
from gtidal.log.decoder import Frame, event_name
from gtidal.sources.files import LogReader
from gtidal.sources.keyring import KeyStore
from gtidal.sources.server.address import is_server
from gtidal.sources.server.locating import ServerUri
from gtidal.text.remote import Remote, streams

if TYPE_CHECKING:
    from gtidal.columnar.surveying import Ordinary

SAMPLE = 200
"""So many events are held back to see how wide the columns must be."""
_UUID = re.compile(r"\b([0-9a-f]{8})(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
FARTHEST = 64 << 20
"""A longer transaction's end is not looked for: showing one event must stay quick."""


@dataclass(frozen=True)
class Row:
    """One event of the listing."""

    number: int
    frame: Frame
    inner: int | None
    event: Event | None
    error: GtidalError | None
    record: dict[str, Any]

    @property
    def summary(self) -> str:
        if self.event is not None and self.error is None:
            return printable(self.event.summary())
        return f"✗ {self.error.message}" if self.error is not None else ""


class Listing:
    """Reads all events, those inside payloads too, and goes on after one that is wrong in itself."""

    def __init__(self, reader: LogReader, filters: Filters, idle: Callable[[], None]) -> None:
        """``idle`` is called where a log that grows has no more for now."""
        self.reader = reader
        self.filters = filters
        self.errors: list[GtidalError] = []
        self._idle = idle
        self._is_ready: Callable[[], bool] = getattr(reader.stream, "ready", lambda: True)

    def __iter__(self) -> Iterator[Row | None]:
        """Rows, of which some may not pass the filters; None for some that do not."""
        decoder = self.reader.decoder
        number = 0
        while True:
            found = self.reader.stretch() if isinstance(self.reader, SkippingReader) else None
            if found is not None:
                yield from self._choose(found, number)
                number += found.last - found.first
                continue
            if not self._is_ready():
                self._idle()
            frame = self.reader.next_frame()
            if frame is None:
                return
            number += 1
            event, error = self._decode(frame)
            yield self._row(number, frame, None, event, error, decoder.context)
            if not isinstance(event, TransactionPayload):
                continue
            place = 0
            try:
                for place, (inside, inner) in enumerate(decoder.inner(event), 1):
                    number += 1
                    context = inner_context(decoder.context)
                    yield self._row(number, inside, place, inner, None, context)
            except GtidalError as problem:
                self.errors.append(problem)

    def _choose(self, found: Ordinary, number: int) -> Iterator[Row | None]:
        """Those of a stretch that pass the filters. In between it tells once that there is something else: whoever has
        seen enough need not wait for the next."""
        assert isinstance(self.reader, SkippingReader)
        shown = -1
        for chosen in self.filters.choose(found).tolist():
            if chosen > shown + 1:
                yield None
            shown = chosen
            place = found.first + chosen
            frame, event, context = found.decode(place)
            yield self._row(number + 1 + chosen, frame, found.inner_number(place), event, None, context)
        if shown + 1 < found.last - found.first:
            yield None
        self.reader.pass_over(found)

    def _decode(self, frame: Frame) -> tuple[Event | None, GtidalError | None]:
        try:
            event = self.reader.decoder.decode(frame)
        except GtidalError as error:
            self.errors.append(error)
            return None, error
        try:
            self.reader.decoder.check(frame)
        except ChecksumMismatch as error:
            self.errors.append(error)
            return event, error
        return event, None

    def _row(
        self,
        number: int,
        frame: Frame,
        inner: int | None,
        event: Event | None,
        error: GtidalError | None,
        context: Context,
    ) -> Row:
        record = {
            "file": self.reader.name,
            "event": number,
            **hexview.header_json(frame, context),
            "payload_position": None if inner is None else frame.position,
            "inner": inner,
            "summary": event.summary() if event is not None else None,
            "error": str(error) if error is not None else None,
        }
        if inner is not None:
            record["end_position"] = None
        return Row(number, frame, inner, event, error, record)


def inner_context(outer: Context) -> Context:
    """How the events inside a payload are read: no checksums, short headers."""
    inside = replace(outer.format, checksum=NO_CHECKSUM, header_length=HEADER_SIZE)
    return Context(inside, dict(outer.tables), outer.decode_rows)


def shorten(summary: str, width: int) -> str:
    """A summary that fits. UUIDs give way first: what follows them tells more."""
    if len(summary) > width:
        summary = _UUID.sub(lambda found: f"{found[1]}…", summary)
    return cut(summary, width)


class Table:
    """Prints the listing; the columns are as wide as the first events need."""

    HEADS = ("#", "position", "time", "type", "size", "summary")

    def __init__(self, screen: Screen, full: bool) -> None:
        self.screen = screen
        self.full = full
        self.sample: list[Row] | None = []
        self.widths = [len(head) for head in self.HEADS]

    def add(self, row: Row) -> None:
        if self.sample is None:
            self._line(row)
            return
        self.sample.append(row)
        if len(self.sample) >= SAMPLE:
            self.flush()

    def flush(self) -> None:
        if not self.sample:
            return
        rows, self.sample = self.sample, None
        for row in rows:
            cells = self._cells(row)
            self.widths = [max(width, len(cell)) for width, cell in zip(self.widths, cells, strict=False)]
        self._print(list(self.HEADS), ["bold"] * len(self.HEADS))
        for row in rows:
            self._line(row)

    def _cells(self, row: Row) -> list[str]:
        inner = row.inner is not None
        return [
            str(row.number),
            "" if inner else str(row.frame.position),
            utc(int.from_bytes(row.frame.data[:4], "little")),
            ("  " if inner else "") + event_name(row.frame.type_code),
            str(len(row.frame.data)),
        ]

    def _line(self, row: Row) -> None:
        shown = "bold red" if row.error is not None else ""
        self._print([*self._cells(row), row.summary], ["dim", "", "dim", "cyan", "", shown])

    def _print(self, cells: list[str], styles: list[str]) -> None:
        aligns = (">", ">", "<", "<", ">")
        parts = [
            (f"{cell:{align}{width}}  ", style)
            for cell, align, width, style in zip(cells, aligns, self.widths, styles, strict=False)
        ]
        room = self.screen.width - sum(len(text) for text, _ in parts)
        summary = cells[-1] if self.full else shorten(cells[-1], max(room, 10))
        self.screen.line(*parts, (summary, styles[-1]))


def list_events(reader: LogReader, filters: Filters, limit: int | None, output: Output, full: bool) -> int:
    """Returns how many were shown."""
    table = None if output is Output.json else Table(Screen(), full)

    def show() -> None:
        if table is not None:
            table.flush()
        sys.stdout.flush()

    listing = Listing(reader, filters, show)
    shown = 0
    try:
        for row in listing:
            if (limit is not None and shown >= limit) or (row is not None and filters.is_past(row.frame)):
                break
            if row is None or row.frame not in filters:
                continue
            shown += 1
            if table is None:
                print_json(row.record)
            else:
                table.add(row)
    finally:  # what precedes damage is shown, whatever comes after it
        if table is not None:
            table.flush()
    if listing.errors:
        first = listing.errors[0]
        more = len(listing.errors) - 1
        if more:
            first.message += f" (and {more} more event{'s' * (more != 1)} with problems)"
        raise first
    return shown


def follow_events(
    log: ServerUri, filters: Filters, limit: int | None, output: Output, full: bool, keys: KeyStore
) -> None:
    """List a server's events as it writes them, file after file."""
    for path, stream in streams(log, Remote(goes_on=True, waits=True)):
        assert stream is not None
        name = ServerUri(path).name
        if output is Output.text:
            Screen().line((name, "bold"))
        with LogReader(stream, name=name, verify_checksum=False, inner=False, keys=keys) as reader:
            shown = list_events(reader, filters, limit, output, full)
        if limit is not None and (limit := limit - shown) <= 0:
            return
        filters = replace(filters, start=None)  # it was in the file before


@dataclass(frozen=True)
class Found:
    """The event that was asked for, and all that reading it takes."""

    number: int
    frame: Frame
    context: Context
    inner: int | None = None
    inner_count: int | None = None


def find_event(reader: LogReader, at: int | None, number: int | None, inner: int | None) -> Found:
    """Walk to the event. Rows before it are not decoded, and an event before it that is wrong is passed."""
    decoder = reader.decoder
    decoder.context.decode_rows = False
    count = 0
    last: Frame | None = None
    while True:
        if (passed := _pass_over(reader, at, number, count)) is not None:
            count += passed.last - passed.first if number is not None else len(passed.outer)
            last = passed.window.frame(int(passed.outer[-1]))
            continue
        frame = reader.next_frame()
        if frame is None:
            break
        count += 1
        if at is not None and frame.position > at:
            raise UsageError(_between(at, last, frame))
        wanted = frame.position == at if at is not None else count == number
        if wanted and inner is None:
            return Found(count, frame, _snapshot(decoder.context), None, _count_inner(reader, frame))
        kind = EVENTS.get(frame.type_code)
        if kind is TransactionPayload and (wanted or number is not None):
            count_before = count
            for found in _inner_events(reader, frame, count):
                count = found.number
                if found.inner == inner if wanted else found.number == number:
                    return found
            if wanted:
                raise UsageError(
                    f"the payload at {frame.position} holds {count - count_before} events; "
                    f"--inner counts from 1"
                )
        elif wanted:
            raise UsageError(
                f"the event at {frame.position} is {event_name(frame.type_code)}: only a "
                "TRANSACTION_PAYLOAD has inner events"
            )
        elif kind is not None and issubclass(kind, TableMap | RowsEvent):
            _keep_tables(reader, frame)
        last = frame
    if at is not None:
        raise UsageError(_between(at, last, None))
    raise UsageError(f"{reader.name} has {count} events; --event counts from 1")


def _pass_over(reader: LogReader, at: int | None, number: int | None, count: int) -> Ordinary | None:
    """Pass over ordinary events before the one that was asked for, by its position, or by its number: ``count`` events
    came before these."""
    if not isinstance(reader, SkippingReader) or (found := reader.stretch()) is None:
        return None
    place = found.place_at(at) if at is not None else found.first + (number or 0) - count - 1
    return reader.pass_over(found, place)


def _snapshot(context: Context) -> Context:
    return Context(context.format, dict(context.tables))


def _keep_tables(reader: LogReader, frame: Frame) -> None:
    try:
        reader.decoder.decode(frame)
    except GtidalError:
        return  # not the event that was asked for


def _between(at: int, last: Frame | None, following: Frame | None) -> str:
    text = f"no event starts at {at}"
    if last is None:
        return text + (f": the first is at {following.position}" if following else ": the log has none")
    if at < last.end:
        text += f": it lies inside the {event_name(last.type_code)} at {last.position}"
    else:
        text += f": the last event is the {event_name(last.type_code)} at {last.position}"
    return text + (f", the next is at {following.position}" if following else f", which ends at {last.end}")


def _inner_events(reader: LogReader, frame: Frame, count: int) -> Iterator[Found]:
    event = reader.decoder.decode(frame)
    assert isinstance(event, TransactionPayload)
    inside = reader.decoder.inner(event)
    place = 0
    while True:
        context = replace(inner_context(reader.decoder.context), decode_rows=True)
        found = next(inside, None)
        if found is None:
            return
        place += 1
        yield Found(count + place, found[0], context, place)


def _count_inner(reader: LogReader, frame: Frame) -> int | None:
    if frame.type_code != TransactionPayload.code:
        return None
    try:
        return sum(1 for _ in _inner_events(reader, frame, 0))
    except GtidalError:
        return None


def ends_at_event(reader: LogReader, frame: Frame, length: int | None) -> bool | None:
    """Whether the log has an event boundary where the transaction should end; None if that is not seen."""
    if not length or length > FARTHEST:
        return None
    target = frame.position + length
    position = frame.end
    try:
        while position < target:
            following = reader.next_frame()
            if following is None:
                return False
            position = following.end
    except GtidalError:
        return None
    return position == target


def show_event(reader: LogReader, found: Found, output: Output, full: bool) -> None:
    traced = hexview.trace(found.frame, found.context)
    boundary = None
    if isinstance(traced.event, GtidEvent) and found.inner is None:
        boundary = ends_at_event(reader, found.frame, traced.event.transaction_length)
    sums = hexview.checksum_of(found.frame, found.context)
    scene = Scene(
        found.frame.data,
        found.frame.position,
        found.context.format,
        traced.event,
        found.inner,
        boundary,
        found.inner_count,
        sums[1] if sums else None,
        hexview.table_of(traced, found.context),
    )
    if output is Output.json:
        print_json(
            {
                "file": reader.name,
                "event": found.number,
                **hexview.header_json(found.frame, found.context),
                "inner": found.inner,
                **hexview.as_json(traced, scene),
            }
        )
    else:
        place = f"event {found.number} of {reader.name}"
        if found.inner is None:
            title = f"at {found.frame.position}, {place}"
        else:
            title = f"number {found.inner} in the payload at {found.frame.position}, {place}"
        hexview.show(Screen(), traced, scene, title, full=full)
    if traced.error is not None:
        raise traced.error.at(file=reader.name)
    if sums and sums[0] != sums[1]:
        reader.decoder.check(found.frame)


def inspect(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="A binary log, mysql://user@host/FILE on a server; - is standard input."
        ),
    ],
    at: Annotated[
        int | None,
        typer.Option("--at", metavar="POSITION", help="Show the bytes of the event that starts here."),
    ] = None,
    event: Annotated[
        int | None, typer.Option("--event", metavar="N", help="Show the bytes of the Nth event, as listed.")
    ] = None,
    inner: Annotated[
        int | None,
        typer.Option("--inner", metavar="K", help="With --at: the Kth event inside that compressed payload."),
    ] = None,
    types: Annotated[
        list[str] | None,
        typer.Option("--type", metavar="NAME", help="List these types only; * matches, commas separate."),
    ] = None,
    start: Annotated[
        str | None, typer.Option("--start", metavar="POSITION|TIME", help="List from here on.")
    ] = None,
    stop: Annotated[
        str | None, typer.Option("--stop", metavar="POSITION|TIME", help="List up to here, exclusive.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", metavar="N", min=0, help="List so many events at most.")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Cut nothing: long summaries, values and bytes are shown whole.")
    ] = False,
    output: Annotated[
        Output, typer.Option("--output", help="text, or json: one line for each event.")
    ] = Output.text,
    key: KeyOption = None,
    key_file: KeyFileOption = None,
) -> None:
    """The events of a log; with --at or --event, one event's bytes beside every field.

    Times are in UTC. Events inside a compressed payload are listed below it. In JSON, an event's fields
    have name, offset in the event, size, hex, value and meaning.

    \b
    Examples:
      gtidal inspect binlog.000024
      gtidal inspect binlog.000024 --at 197
      gtidal inspect binlog.000024 --type '*ROWS*' --start 2025-05-27T01:06
      gtidal inspect binlog.000024 --event 3 --output json
      gtidal inspect mysql://repl@db1/binlog.000024 --at 197
      gtidal inspect 'mysql://repl@db1/?start=now&follow=true'
    """
    if at is not None and event is not None:
        raise UsageError("--at and --event name the same thing: give one of them")
    if inner is not None and at is None and event is None:
        raise UsageError("--inner needs the payload's --at POSITION or --event N")
    filters = Filters(parse_types(types or []), parse_bound(start, "--start"), parse_bound(stop, "--stop"))
    if is_server(file):
        log, filters = on_server(file, filters)
        if isinstance(log, ServerUri):
            if at is not None or event is not None:
                raise UsageError("follow lists events: it does not go with --at and --event")
            follow_events(log, filters, limit, output, full, KeyStore(key, key_file))
            return
        file = log
    with open_one(file, key, key_file) as reader:
        if at is None and event is None:
            list_events(reader, filters, limit, output, full)
            return
        if filters.types or start is not None or stop is not None or limit is not None:
            raise UsageError(
                "--type, --start, --stop and --limit choose from the list; --at and --event show one"
            )
        show_event(reader, find_event(reader, at, event, inner), output, full)


def register(app: typer.Typer) -> None:
    app.command("inspect", cls=Command)(inspect)
