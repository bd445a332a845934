"""What mysqlbinlog 9.7 prints, event by event.

``MysqlPrinter`` follows the tool's own flow, quirks included, because people pipe and diff its output. The tool
collects text in three places and so do we: *head* (headers and statements) is written out after every event
that was printed, *body* (base64) and *foot* (the rows as comments) when a statement's rows are complete. The
``# at`` line of an event that is then filtered out stays in *head* and comes with the next event's text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Protocol
from zlib import crc32

from gtidal.errors import DecodeError, GtidalError
from gtidal.events.control import Rotate
from gtidal.events.format import CRC32, FormatDescription, StartV3
from gtidal.events.header import ARTIFICIAL, IGNORABLE, IN_USE, RELAY_LOG, Header
from gtidal.events.load import AppendBlock, BeginLoadQuery, ExecLoad, ExecuteLoadQuery, LoadEvent
from gtidal.events.registry import EVENTS, Event
from gtidal.events.rows import RowsEvent
from gtidal.events.statement import Intvar, Query, Rand, RowsQuery, UserVar
from gtidal.events.table_map import TableMap
from gtidal.events.transaction import UNDEFINED_SERVER_VERSION, GtidEvent, TransactionPayload, XaPrepare, Xid
from gtidal.log.decoder import Frame, LogDecoder
from gtidal.text.events import (
    COMMENTS,
    STATEMENTS,
    GtidText,
    ignorable_text,
    payload_text,
    rows_query_text,
    xa_prepare_text,
)
from gtidal.text.filters import GtidFilter
from gtidal.text.flow import Flow
from gtidal.text.hexdump import base64_lines, hexdump
from gtidal.text.loads import LoadFiles
from gtidal.text.oldloads import OldLoads
from gtidal.text.options import DumpOptions
from gtidal.text.prologue import closing, opening
from gtidal.text.rewrite import make_rewriter
from gtidal.text.row_heads import ROW_NAMES, row_flags
from gtidal.text.statements import (
    DELIMITER,
    Session,
    ends_group,
    is_transaction_keyword,
    load_text,
    starts_group,
    text_of,
)
from gtidal.text.times import Clock

_FOREVER = 1 << 64
_MYSQL_TYPES = 42
"""How many event types a log without format description may have."""

FORMAT_VERSION = 4
_LARGE_PAYLOAD = 1 << 16
_INVISIBLE_KEYS = 80030
"""Servers from this version on say whether a table's primary key is a generated, invisible column."""


class Refusal(DecodeError):
    """The event is sound, but may not be printed as it was asked for."""


class RowText(Protocol):
    """Prints table maps and rows as comments: ``text.rows.RowPrinter``."""

    def table_metadata(self, table: TableMap) -> str: ...

    def rows(self, event: RowsEvent) -> str: ...


class NoRows:
    """Where rows are not printed as comments."""

    def table_metadata(self, table: TableMap) -> str:
        return ""

    def rows(self, event: RowsEvent) -> str:
        return ""


class MysqlPrinter:
    """Give it every event of every file in order; it returns the text that is ready."""

    def __init__(
        self,
        options: DumpOptions,
        rows: RowText | None = None,
        loads: LoadFiles | None = None,
        warn: Callable[[str], None] = lambda message: None,
        note_damage: Callable[[GtidalError], None] = lambda error: None,
        write: Callable[[str], None] | None = None,
    ) -> None:
        """``write``, if given, gets the text of a payload's events while they are read: there may be very many."""
        self.options = options
        self.stopped = False
        """A stop position or time was reached: the rest of the input is not wanted."""
        self.stop_position = _FOREVER
        self.rewrite = make_rewriter(options.rewrite_db)
        self._warn = warn
        self._note_damage = note_damage
        self._write = write
        self.print_inner: Callable[[Iterator[bytes], LogDecoder, int], None] | None = None
        """Prints the events of a large payload in another way."""
        self._rows: RowText = rows or NoRows()
        self._loads = loads
        self._clock = Clock()
        self.session = Session(options.short_form, not options.require_row_format)
        self._gtids = GtidText(self._clock, options.short_form)
        self._short = options.short_form
        self._verbosity = 0 if options.short_form else options.verbosity
        self._base64 = options.base64 != "decode-rows"
        self._hexdump = options.hexdump
        self._out: list[str] = []
        self.flow = Flow(offset=options.offset, start_time=options.start_time)
        self._stop_time = _FOREVER if options.stop_time is None else options.stop_time
        self._selects = bool(options.offset or options.start_time or options.server_id)
        self.gtid_filter = GtidFilter(options)
        self._filters_gtids = self.gtid_filter.active
        self._first_format = True
        self._header_length = 19
        self._positions_of_starts = False
        """Before MySQL 5.0, a header's position is that of the event's beginning."""
        self._made_by = (-1, -1)
        self._line_start = ""
        self._inner_end: int | None = None
        self._old_loads = OldLoads(self.session, loads, self._skips_schema, warn)
        self._handlers = self._make_handlers()

    def _make_handlers(self) -> dict[int, Callable[[int, bytes, Any, LogDecoder], None]]:
        handlers: dict[int, Callable[[int, bytes, Any, LogDecoder], None]] = {}
        for code, cls in EVENTS.items():
            if issubclass(cls, GtidEvent):
                handlers[code] = self._gtid
            elif issubclass(cls, RowsEvent) and code in ROW_NAMES:
                handlers[code] = self._rows_event
            elif issubclass(cls, LoadEvent):
                handlers[code] = self._old_load
        handlers |= dict.fromkeys(COMMENTS, self._comment)
        handlers |= dict.fromkeys(STATEMENTS, self._statement)
        handlers |= {
            Query.code: self._query,
            Xid.code: self._xid,
            TableMap.code: self._table_map,
            RowsQuery.code: self._rows_query,
            FormatDescription.code: self._format,
            StartV3.code: self._format,
            Intvar.code: self._wait,
            Rand.code: self._wait,
            UserVar.code: self._wait,
            AppendBlock.code: self._append_block,
            BeginLoadQuery.code: self._begin_load,
            ExecuteLoadQuery.code: self._execute_load,
            ExecLoad.code: self._old_load,
            XaPrepare.code: self._xa_prepare,
            TransactionPayload.code: self._payload,
        }
        return handlers

    # --- the frame of the whole output

    def head(self) -> str:
        return opening(self.options)

    def tail(self) -> str:
        """The end; text that still waits for its statement's end is not printed, as the tool does not."""
        if self.flow.waiting:
            self._warn("the output ends inside a statement: its variables are not printed")
        elif self.flow.unflushed:
            self._warn("the output ends inside a statement: its row events are not printed")
        if self.flow.skipped_event:
            self._out.append(f"COMMIT /* added by mysqlbinlog */{DELIMITER}\n")
        self._end_log()
        text = "".join(self._out)
        self._out.clear()
        return text + closing(self.options)

    def _end_log(self) -> None:
        """Between logs, and at the end: leave no transaction open and no GTID assigned."""
        out = self._out
        if self.flow.in_transaction:
            out.append(f"ROLLBACK /* added by mysqlbinlog */ {DELIMITER}\n")
        elif self.flow.seen_gtid and not self.options.skip_gtids:
            out.append(f"BEGIN /*added by mysqlbinlog */ {DELIMITER}\n")
            out.append(f"ROLLBACK /* added by mysqlbinlog */ {DELIMITER}\n")
        if not self.options.skip_gtids:
            out.append(f"SET @@SESSION.GTID_NEXT= 'AUTOMATIC' /* added by mysqlbinlog */ {DELIMITER}\n")
        self.flow.seen_gtid = False
        self.flow.in_transaction = False

    # --- one event

    def event(self, frame: Frame, event: Event, decoder: LogDecoder) -> str:
        """The text that is ready after this event. Raises where the tool stops with an error."""
        self._process(frame.position, frame.data, event, decoder)
        text = "".join(self._out)
        self._out.clear()
        return text

    def before_format(self, frame: Frame, event: Event, decoder: LogDecoder) -> str:
        """As ``event``, while the tool does not know the length of headers: it takes them for longer than they are."""
        self._header_length += 1
        try:
            return self.event(frame, event, decoder)
        finally:
            self._header_length -= 1

    def _process(self, position: int, data: bytes, event: Event, decoder: LogDecoder) -> None:
        header = event.header
        code = header.type_code
        self.flow.count += 1
        if self._selects and not self._selected(header, code):
            return
        if (
            position >= self.stop_position and self._inner_end is None
        ) or header.timestamp >= self._stop_time:
            self.stopped = self._inner_end is None or self.stopped
            return
        if not self._short:
            self.flow.head.append(f"# at {position}\n")
        if self._filters_gtids and self.gtid_filter.skips(event):
            return
        self._handlers.get(code, self._unknown)(position, data, event, decoder)

    def _selected(self, header: Header, code: int) -> bool:
        if code == FormatDescription.code or code == StartV3.code:
            return True
        if self.flow.count <= self.flow.offset or header.timestamp < self.flow.start_time:
            return False
        # From the first event that is wanted on, all are: times may go back and forth.
        self.flow.start_time = 0
        self.flow.offset = 0
        wanted = self.options.server_id
        return not wanted or wanted == header.server_id or code == Rotate.code

    def _flush(self) -> None:
        self._out += self.flow.head
        self.flow.head.clear()

    def _line(self, position: int, data: bytes, event: Event) -> str:
        """The header line begun, and after it the hexdump."""
        header = event.header
        made_by = header.timestamp, header.server_id
        if made_by != self._made_by:
            self._made_by = made_by
            date = self._clock.header(header.timestamp)
            self._line_start = f"#{date} server id {header.server_id}  end_log_pos "
        log_pos = header.log_pos if self._inner_end is None else self._inner_end
        if self._positions_of_starts and log_pos:
            log_pos += header.size
        checksum = event.checksum
        if checksum is not None and self.flow.checksum:
            line = f"{self._line_start}{log_pos} CRC32 0x{checksum:08x} "
        else:
            line = f"{self._line_start}{log_pos} "
        if self._hexdump:
            line += "\n" + hexdump(position, data, self._header_length)
        return line

    def _skips_schema(self, schema: str) -> bool:
        return self.options.database is not None and schema != self.options.database

    # --- formats

    def _format(
        self, position: int, data: bytes, event: FormatDescription | StartV3, decoder: LogDecoder
    ) -> None:
        header = event.header
        if isinstance(event, FormatDescription) and event.binlog_version != FORMAT_VERSION:
            raise DecodeError(
                f"{event.binlog_version} is not {FORMAT_VERSION}", position=position, field="binlog_version"
            )
        relay = header.flags & RELAY_LOG
        self.flow.checksum = isinstance(event, FormatDescription) and event.checksum_algorithm == CRC32
        self._positions_of_starts = isinstance(event, StartV3)
        self._header_length = (
            event.common_header_length if isinstance(event, FormatDescription) else header.length
        )
        if not relay:
            if header.log_pos > 0 and not self._first_format:
                self._end_log()
            self._first_format = False
        head = self.flow.head
        if not self._short:
            head.append(
                f"{self._line(position, data, event)}\tStart: binlog v {event.binlog_version}, "
                f"server v {event.server_version} created {self._clock.header(header.timestamp)}"
                f"{' at startup' if event.created else ''}\n"
            )
            if header.flags & IN_USE:
                head.append("# Warning: this binlog is either in use or was not closed properly.\n")
        if relay:
            head.append(
                "# This Format_description_event appears in a relay log and was generated by the replica thread.\n"
            )
        else:
            if not header.flags & ARTIFICIAL and event.created:
                head.append(f"ROLLBACK{DELIMITER}\n")
            if self.options.base64 != "never" and not self._short:
                if self._base64 and isinstance(event, FormatDescription):
                    head.append(f"BINLOG '\n{base64_lines(data)}'{DELIMITER}\n")
                self.flow.printed_format = True
                if self.options.skip_gtids:
                    head.append(f"/*!50616 SET @@SESSION.GTID_NEXT='AUTOMATIC'*/{DELIMITER}\n")
        if not self.options.force_if_open and header.flags & IN_USE:
            raise DecodeError(
                "the log was not closed: a server still writes it, or crashed; --force-if-open prints it all the same",
                position=position,
                event=event.name,
            )
        self._flush()

    # --- statements

    def _query(self, position: int, data: bytes, event: Query, decoder: LogDecoder) -> None:
        query = event.query
        if query == b"BEGIN":  # the most frequent one
            skips, ends, starts = False, False, True
        else:
            skips = self._skips_schema(event.schema) and not is_transaction_keyword(query)
            ends, starts = ends_group(query), starts_group(query)
        if self.flow.waiting:
            if not skips:
                for waiting in self.flow.waiting:
                    self._print_statement(*waiting)
            self.flow.waiting.clear()
        if skips:
            if self.flow.seen_gtid and not self.flow.in_transaction and not starts and not ends:
                self._out.append(f"COMMIT /* added by mysqlbinlog */{DELIMITER}\n")
                self.flow.skipped_event = False
                self.flow.seen_gtid = False
            else:
                self.flow.skipped_event = True
            return
        if ends:
            self.flow.in_transaction = False
            self.flow.skipped_event = False
            self.flow.seen_gtid = False
        elif starts:
            self.flow.in_transaction = True
        elif not self.flow.in_transaction:
            self.flow.seen_gtid = False
        line = "" if self._short else self._line(position, data, event)
        before = self.session.before_query(event, query, line, "Query")
        self.flow.head.append(f"{before}{text_of(query)}\n{DELIMITER}\n")
        self._flush()

    def _wait(self, position: int, data: bytes, event: Event, decoder: LogDecoder) -> None:
        """Variables are printed with the query they are for, or not at all."""
        self.flow.waiting.append((position, data, event))
        self._flush()

    def _print_statement(self, position: int, data: bytes, event: Event) -> None:
        if isinstance(event, UserVar):
            line = "" if self._short else self._line(position, data, event) + "\tUser_var\n"
            self.flow.head.append(line + self.session.user_var(event))
            return
        comment, statement = STATEMENTS[event.header.type_code]
        line = "" if self._short else self._line(position, data, event) + comment(event)
        self.flow.head.append(line + statement(event))

    def _statement(self, position: int, data: bytes, event: Event, decoder: LogDecoder) -> None:
        self._print_statement(position, data, event)
        self._flush()

    def _comment(self, position: int, data: bytes, event: Event, decoder: LogDecoder) -> None:
        if not self._short:
            self.flow.head.append(COMMENTS[event.header.type_code](event, self._line(position, data, event)))
        self._flush()

    def _unknown(self, position: int, data: bytes, event: Event, decoder: LogDecoder) -> None:
        code = event.header.type_code
        known = len(decoder.format.post_header_lengths) or _MYSQL_TYPES
        if not event.header.flags & IGNORABLE or code > known:
            raise DecodeError(
                f"type {code} is none that the log announces and may not be passed over",
                position=position,
                field="header.type_code",
            )
        if not self._short:
            self.flow.head.append(ignorable_text(event, self._line(position, data, event)))
        self._flush()

    def _append_block(self, position: int, data: bytes, event: AppendBlock, decoder: LogDecoder) -> None:
        self._comment(position, data, event, decoder)
        if self._loads is not None and not self._loads.append(event.file_id, event.block):
            self._warn(f"an APPEND_BLOCK is left out: the beginning of file {event.file_id} was not read")

    def _begin_load(self, position: int, data: bytes, event: BeginLoadQuery, decoder: LogDecoder) -> None:
        self._comment(position, data, event, decoder)
        if self._loads is not None:
            self._loads.begin(event.file_id, event.block)

    def _execute_load(self, position: int, data: bytes, event: ExecuteLoadQuery, decoder: LogDecoder) -> None:
        path = self._loads.take(event.file_id) if self._loads is not None else None
        if self._skips_schema(event.schema):
            self.flow.skipped_event = True
        elif path is None and self._loads is not None:
            self._warn(f"a LOAD DATA is left out: the beginning of file {event.file_id} was not read")
        else:
            line = "" if self._short else self._line(position, data, event)
            before = self.session.before_query(event, event.query, line, "Execute_load_query")
            self.flow.head.append(f"{before}{load_text(event, path)}\n{DELIMITER}\n")
            if not self._short:
                self.flow.head.append(f"# file_id: {event.file_id} \n")
        self._flush()

    def _old_load(self, position: int, data: bytes, event: LoadEvent | ExecLoad, decoder: LogDecoder) -> None:
        line = "" if self._short else self._line(position, data, event)
        self.flow.head.append(self._old_loads.print(event, line))
        self._flush()

    # --- transactions

    def _gtid(self, position: int, data: bytes, event: GtidEvent, decoder: LogDecoder) -> None:
        self.flow.seen_gtid = True
        version = event.immediate_server_version or 0
        self.flow.tells_invisible_key = _INVISIBLE_KEYS <= version != UNDEFINED_SERVER_VERSION
        if self.flow.skipped_event:
            self._out.append(f"COMMIT /* added by mysqlbinlog */{DELIMITER}\n")
        self.flow.skipped_event = False
        line = "" if self._short else self._line(position, data, event)
        self.flow.head.append(self._gtids.print(event, line))
        self._flush()

    def _xid(self, position: int, data: bytes, event: Xid, decoder: LogDecoder) -> None:
        self.flow.in_transaction = False
        self.flow.skipped_event = False
        self.flow.seen_gtid = False
        self._statement(position, data, event, decoder)

    def _xa_prepare(self, position: int, data: bytes, event: XaPrepare, decoder: LogDecoder) -> None:
        self.flow.head.append(xa_prepare_text(event, self._line(position, data, event)))
        self._flush()

    def _payload(self, position: int, data: bytes, event: TransactionPayload, decoder: LogDecoder) -> None:
        if not self._short:
            self.flow.head.append(payload_text(event, self._line(position, data, event)))
        end = self._inner_end = event.header.log_pos
        inner = (self._sealed(data, decoder) for data in decoder.inner_data(event))
        try:
            if self.print_inner is not None and (event.uncompressed_size or 0) >= _LARGE_PAYLOAD:
                self.print_inner(inner, decoder, end)
            else:
                for sealed in inner:
                    self.inner_event(sealed, decoder, end)
        finally:
            self._inner_end = None
        if not self._short:
            self.flow.head.append("# End of compressed events.\n")
        self._flush()

    def inner_event(self, data: bytes, decoder: LogDecoder, end: int) -> None:
        """An event inside a payload that ends at ``end``."""
        frame = Frame(end, data)
        try:
            event = decoder.decode(frame)
        except GtidalError as error:
            event = decode_without_rows(frame, decoder)
            self._note_damage(error)
        try:
            self._process(end, data, event, decoder)
        except Refusal as refusal:  # inside a payload the tool reports it and goes on
            self._warn(str(refusal))
        self.pass_on()

    def pass_on(self) -> None:
        """Write what is ready, where that can be done now."""
        if self._write is not None and self._out:
            self._write("".join(self._out))
            self._out.clear()

    def _sealed(self, data: bytes, decoder: LogDecoder) -> bytes:
        """An inner event as it would lie in the log: the tool gives it the checksum it does not have."""
        if self.rewrite is not None:
            data = self.rewrite(data, decoder.inner_format)
        if not decoder.format.has_checksums:
            return data
        data = data[:9] + (len(data) + 4).to_bytes(4, "little") + data[13:]
        return data + crc32(data).to_bytes(4, "little")

    # --- rows

    def _table_map(self, position: int, data: bytes, event: TableMap, decoder: LogDecoder) -> None:
        if self.skips_table(event):
            self.flow.skipped_event = True
            self.flow.ignored_tables.add(event.table_id)
            return
        if not self._short:
            name = f"`{event.schema}`.`{event.table}`"
            line = (
                f"{self._line(position, data, event)}\tTable_map: {name} mapped to number {event.table_id}\n"
            )
            if self.flow.tells_invisible_key:
                line += f"# has_generated_invisible_primary_key={event.flags >> 2 & 1}\n"
            if self.options.print_table_metadata:
                line += self._rows.table_metadata(event)
            self.flow.head.append(line)
            self.flow.printed_tables.add(event.table_id)
            self._base64_body(data, more=True)
        self.flow.unflushed = True
        self._flush()

    def skips_table(self, event: TableMap) -> bool:
        if self._skips_schema(event.schema):
            return True
        tables = self.options.tables
        return bool(tables) and not tables & {(event.schema, event.table), ("", event.table)}

    def _rows_query(self, position: int, data: bytes, event: RowsQuery, decoder: LogDecoder) -> None:
        if self._verbosity > 1:
            self.flow.head.append(rows_query_text(event, self._line(position, data, event)))
            self._base64_body(data, more=True)
        self.flow.unflushed = True
        self._flush()

    def _rows_event(self, position: int, data: bytes, event: RowsEvent, decoder: LogDecoder) -> None:
        ends = event.ends_statement
        skipped = event.table_id in self.flow.ignored_tables
        if ends:
            self.flow.ignored_tables.clear()
        if skipped:
            if ends:
                self.flow.unflushed = False
                if self.flow.body:
                    self.flow.body.append(f"'{DELIMITER}\n")
                self._flush_statement()
            self.flow.skipped_event = True
            return
        if not self.flow.printed_format and not self._short and self._base64:
            if self.options.base64 == "never":
                reason = "row events are printed as base64, which --base64-output=never forbids"
            else:
                reason = "row events come before any format description"
            raise Refusal(reason, position=position, event=event.name)
        if not self._short:
            name = ROW_NAMES[event.header.type_code]
            flags = row_flags(event.flags)
            self.flow.head.append(
                f"{self._line(position, data, event)}\t{name}: table id {event.table_id}{flags}\n"
            )
            self._base64_body(data, more=not ends)
            if self._verbosity:
                if event.table_id not in self.flow.printed_tables:
                    event = replace(event, table=None)  # its table map was left out
                self.flow.foot.append(self._rows.rows(event))
        self.flow.unflushed = not ends
        if ends:
            self._flush_statement()
        else:
            self._flush()

    def _base64_body(self, data: bytes, more: bool) -> None:
        if not self._base64:
            return
        if not self.flow.body:
            self.flow.body.append("\nBINLOG '\n")
        self.flow.body.append(base64_lines(data))
        if not more:
            self.flow.body.append(f"'{DELIMITER}\n")

    def _flush_statement(self) -> None:
        out = self._out
        out += self.flow.head
        out += self.flow.body
        out += self.flow.foot
        self.flow.head.clear()
        self.flow.body.clear()
        self.flow.foot.clear()


def decode_without_rows(frame: Frame, decoder: LogDecoder) -> Event:
    """For an event that does not decode: with its rows as bytes, if it is the rows that are wrong. The tools look
    into them late, when they print them."""
    context = decoder.context
    wanted, context.decode_rows = context.decode_rows, False
    try:
        return decoder.decode(frame)
    finally:
        context.decode_rows = wanted
