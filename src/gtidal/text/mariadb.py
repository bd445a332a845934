"""What mariadb-binlog 11.8 prints, event by event.

``MariadbPrinter`` has the interface of ``MysqlPrinter`` and the same purpose: the tool's own flow, quirks
included. The tool writes some text at once (the ``# at`` lines, ``use`` of a renamed schema, row counts) and
collects the rest in three places: *head* (headers and statements), *body* (base64) and *foot* (rows as
comments). The last two are written when a statement's rows are complete, and so are the heads of its rows
events: with several rows events, all ``# at`` lines come before the first header.

Unlike MySQL's tool this one forgets the session between files, and prints no closing lines after an error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gtidal.errors import DecodeError
from gtidal.events.control import Rotate
from gtidal.events.format import CRC32, Format, FormatDescription
from gtidal.events.header import ARTIFICIAL, IN_USE
from gtidal.events.load import AppendBlock, BeginLoadQuery, ExecuteLoadQuery
from gtidal.events.mariadb import (
    COMPLETED_XA,
    PREPARED_XA,
    STANDALONE,
    AnnotateRows,
    CompressedRows,
    GtidList,
    MariadbGtidEvent,
    QueryCompressed,
    StartEncryption,
)
from gtidal.events.registry import EVENTS, Event
from gtidal.events.rows import RowsEvent
from gtidal.events.statement import MariadbGtidFlags, Query
from gtidal.events.table_map import TableMap
from gtidal.log.decoder import Frame, LogDecoder
from gtidal.text.hexdump import base64_lines
from gtidal.text.kernel_rows import KernelRows
from gtidal.text.loads import LoadFiles
from gtidal.text.mariadb_events import (
    COMMENTS,
    HEADER_SIZE,
    STATEMENTS,
    annotate_text,
    count_rows,
    encryption_text,
    has_known_types,
    hexdump,
    ignorable_text,
    is_passed_over,
    renamed,
    uncompressed,
    with_rows,
)
from gtidal.text.mariadb_gtids import GtidOrder, gtid_words
from gtidal.text.mariadb_session import MariadbSession, is_transaction_keyword, named_flags
from gtidal.text.options import FIRST_POSITION, DumpOptions
from gtidal.text.printer import NoRows, RowText
from gtidal.text.prologue import restored_settings, saved_settings
from gtidal.text.statements import DELIMITER, load_text, quoted, text_of
from gtidal.text.times import Clock

_FOREVER = 1 << 64
SKIP_REPLICATION = 0x8000
HAS_TRIGGERS = 0x4000
_ALLOW_PARALLEL = 8
_START_ALTER, _COMMIT_ALTER, _ROLLBACK_ALTER = 2, 4, 8
_ALTER = _START_ALTER | _COMMIT_ALTER | _ROLLBACK_ALTER
_NEVER_BY_SERVER = {FormatDescription.code, Rotate.code}

ROW_NAMES = {
    **dict.fromkeys((23, 30), "Write_rows"),
    **dict.fromkeys((24, 31), "Update_rows"),
    **dict.fromkeys((25, 32), "Delete_rows"),
    **dict.fromkeys((166, 169), "Write_compressed_rows"),
    **dict.fromkeys((167, 170), "Update_compressed_rows"),
    **dict.fromkeys((168, 171), "Delete_compressed_rows"),
}

Handler = Callable[[int, bytes, Any], None]


class _FileState:
    """What the tool knows of the file it is in and forgets with the next."""

    def __init__(self, short_form: bool) -> None:
        self.session = MariadbSession(short_form)
        self.printed_format = False
        self.parallel: bool | None = None
        self.domain: int | None = None
        self.server_id: int | None = None
        self.skips_replication = False
        self.ignored_tables: set[int] = set()
        self.tables: dict[int, TableMap] = {}
        """The table maps that were printed. The tool knows no others, and these also when their statement is
        over."""
        self.row_count = 0
        self.head: list[str] = []
        self.body: list[str] = []
        self.foot: list[str] = []


class MariadbPrinter:
    """Give it every event of every file in order; it returns the text that is ready."""

    rewrite: Callable[[bytes, Format], bytes] | None = None
    """Schemas are renamed here, and not before events are decoded: the tool leaves queries alone."""

    def __init__(
        self,
        options: DumpOptions,
        rows: RowText | None = None,
        loads: LoadFiles | None = None,
        warn: Callable[[str], None] = lambda message: None,
        kernel_rows: KernelRows | None = None,
    ) -> None:
        self.options = options
        self._kernel_rows = kernel_rows
        self.stopped = False
        self.stop_position = _FOREVER
        self._warn = warn
        self._rows: RowText = rows or NoRows()
        self._loads = loads
        self._clock = Clock()
        self._order = GtidOrder(options.start_position <= FIRST_POSITION)
        self._short = options.short_form
        self._verbosity = 0 if options.short_form else options.verbosity
        self._base64 = options.base64 == "auto" and not options.short_form
        self._file = _FileState(self._short)
        self._start_position = options.start_position
        self._hexdump_from = 0
        self._out: list[str] = []
        self._annotation: tuple[bytes, AnnotateRows] | None = None
        self._count = 0
        self._offset = options.offset
        self._start_time = options.start_time
        self._stop_time = _FOREVER if options.stop_time is None else options.stop_time
        self._header_length = HEADER_SIZE
        self._checksum = False
        self._handlers = self._make_handlers()

    def _make_handlers(self) -> dict[int, Handler]:
        handlers: dict[int, Handler] = {
            code: self._rows_event
            for code in EVENTS
            if issubclass(EVENTS[code], RowsEvent) and code in ROW_NAMES
        }
        handlers |= dict.fromkeys(COMMENTS, self._comment)
        handlers |= dict.fromkeys(STATEMENTS, self._statement)
        return handlers | {
            Query.code: self._query,
            QueryCompressed.code: self._query,
            MariadbGtidEvent.code: self._gtid,
            AnnotateRows.code: self._annotate,
            TableMap.code: self._table_map,
            FormatDescription.code: self._format,
            StartEncryption.code: self._encryption,
            AppendBlock.code: self._append_block,
            BeginLoadQuery.code: self._begin_load,
            ExecuteLoadQuery.code: self._execute_load,
        }

    # --- the frame of the whole output

    def head(self) -> str:
        options = self.options
        lines = [
            "/*!50530 SET @@SESSION.PSEUDO_SLAVE_MODE=1*/;\n",
            "/*!40019 SET @@session.max_delayed_threads=0*/;\n",
        ]
        lines.extend(saved_settings(options))
        lines.append(f"DELIMITER {DELIMITER}\n")
        return "".join(lines)

    def before_format(self, frame: Frame, event: Event, decoder: LogDecoder) -> str:
        """As ``event``, for what a server says before it tells the format."""
        return self.event(frame, event, decoder)

    def next_file(self) -> str:
        """Between two files."""
        self._file = _FileState(self._short)
        self._start_position = FIRST_POSITION
        return f"DELIMITER ;\nDELIMITER {DELIMITER}\n"

    def tail(self) -> str:
        """The end; rows that still wait for their statement's end are not printed, as the tool does not."""
        options = self.options
        if self._file.body or self._file.foot:
            self._warn("the output ends inside a statement: its row events are not printed")
        lines = [
            "DELIMITER ;\n# End of log file\nROLLBACK /* added by mysqlbinlog */;\n"
            "/*!50003 SET COMPLETION_TYPE=@OLD_COMPLETION_TYPE*/;\n"
        ]
        lines.extend(restored_settings(options))
        if options.server_id:
            lines.append(
                "/*!100001 SET @@SESSION.SERVER_ID=@@GLOBAL.SERVER_ID */;\n"
                "/*!100001 SET @@SESSION.GTID_DOMAIN_ID=@@GLOBAL.GTID_DOMAIN_ID */;\n"
            )
        return "".join(lines)

    def missing(self) -> str | None:
        """What the tool complains of after all is printed, and ends with an error for."""
        return self._order.missing()

    # --- one event

    def event(self, frame: Frame, event: Event, decoder: LogDecoder) -> str:
        """The text that is ready after this event. Raises where the tool stops with an error."""
        self._process(frame.position, frame.data, event)
        return self.after_error()

    def after_error(self) -> str:
        """What was printed of the event that raised: the tool ends there, without closing lines."""
        text = "".join(self._out)
        self._out.clear()
        return text

    def _process(self, position: int, data: bytes, event: Event) -> None:
        header = event.header
        code = header.type_code
        handler = self._ignorable if is_passed_over(event) else self._handlers.get(code)
        if handler is None:
            if not self.options.force_read:
                raise DecodeError(
                    f"type {code} is none that mariadb-binlog knows; --force-read passes over it",
                    position=position,
                    field="header.type_code",
                )
            handler = self._unknown
        if isinstance(event, QueryCompressed):
            _ = event.query  # raises now, before anything is printed, if it cannot be uncompressed
        if code == FormatDescription.code:
            assert isinstance(event, FormatDescription)
            self._note_format(event)
            if position < self._start_position and self.options.base64 != "auto":
                return  # read for what it says, and not printed
        elif code == MariadbGtidEvent.code:
            assert isinstance(event, MariadbGtidEvent)
            self._order.check(event)
        elif code == GtidList.code:
            assert isinstance(event, GtidList)
            self._order.begin(event)
        self._count += 1
        if code != FormatDescription.code:
            if self._count <= self._offset or header.timestamp < self._start_time:
                return
            # From the first event that is wanted on, all are: times may go back and forth.
            self._start_time = 0
            self._offset = 0
            wanted = self.options.server_id
            if wanted and wanted != header.server_id and code not in _NEVER_BY_SERVER:
                return
        if position >= self.stop_position or header.timestamp >= self._stop_time:
            self.stopped = True
            return
        if not self._short:
            self._out.append(f"# at {position}\n")
        self._hexdump_from = position
        handler(position, data, event)

    def _line(self, data: bytes, event: Event) -> str:
        """The header line begun, and after it the hexdump."""
        header = event.header
        line = (
            f"#{self._clock.header(header.timestamp)} server id {header.server_id}  "
            f"end_log_pos {header.log_pos} "
        )
        if event.checksum is not None and self._checksum:
            line += f"CRC32 0x{event.checksum:08x} "
        if self.options.hexdump:
            length = HEADER_SIZE if header.type_code in _NEVER_BY_SERVER else self._header_length
            line += hexdump(self._hexdump_from, data, length)
        return line

    def _flush(self) -> None:
        self._out += self._file.head
        self._file.head.clear()

    def _print(self, text: str) -> None:
        self._file.head.append(text)
        self._flush()

    def _replication(self, event: Event) -> None:
        skips = bool(event.header.flags & SKIP_REPLICATION)
        if skips != self._file.skips_replication:
            self._out.append(f"/*!50521 SET skip_replication={int(skips)}*/{DELIMITER}\n")
            self._file.skips_replication = skips

    def _skips_schema(self, schema: str) -> bool:
        return self.options.database is not None and schema != self.options.database

    # --- formats and comments

    def _note_format(self, event: FormatDescription) -> None:
        self._checksum = event.checksum_algorithm == CRC32
        self._header_length = event.common_header_length
        self._file.session.named_flags = named_flags(event.server_version)

    def _format(self, position: int, data: bytes, event: FormatDescription) -> None:
        header = event.header
        head = self._file.head
        if not self._short:
            head.append(
                f"{self._line(data, event)}\tStart: binlog v {event.binlog_version}, "
                f"server v {event.server_version} created {self._clock.header(header.timestamp)}"
                f"{' at startup' if event.created else ''}\n"
            )
            if header.flags & IN_USE:
                head.append("# Warning: this binlog is either in use or was not closed properly.\n")
        if not header.flags & ARTIFICIAL and event.created:
            head.append(f"ROLLBACK{DELIMITER}\n")
        if self._base64:
            head.append(f"BINLOG '\n{base64_lines(data)}'{DELIMITER}\n")
            self._file.printed_format = True
        self._flush()
        if not self.options.force_if_open and header.flags & IN_USE:
            raise DecodeError(
                "the log was not closed: a server is still writing it, or it crashed; "
                "leave out --skip-force-if-open to read it all the same",
                position=position,
            )

    def _encryption(self, position: int, data: bytes, event: StartEncryption) -> None:
        self._replication(event)
        self._print(encryption_text(event))

    def _comment(self, position: int, data: bytes, event: Event) -> None:
        code = event.header.type_code
        if code not in (AppendBlock.code, BeginLoadQuery.code):
            self._replication(event)
        if self._short:
            return
        if isinstance(event, Rotate) and event.checksum is not None and not self._checksum:
            # Before any format description the tool takes the checksum for a part of the name.
            event = replace(event, next_file=event.next_file + text_of(data[-4:]))
        self._print(COMMENTS[code](event, self._line(data, event)))

    def _statement(self, position: int, data: bytes, event: Event) -> None:
        self._replication(event)
        comment, statement = STATEMENTS[event.header.type_code]
        line = "" if self._short else self._line(data, event) + comment(event)
        self._print(line + statement(event))

    def _ignorable(self, position: int, data: bytes, event: Event) -> None:
        self._replication(event)
        if not self._short:
            self._print(ignorable_text(event, self._line(data, event)))

    def _unknown(self, position: int, data: bytes, event: Event) -> None:
        self._replication(event)
        if not self._short:
            self._print(f"{self._line(data, replace(event, checksum=None))}\n# Unknown event\n")

    # --- transactions and statements

    def _gtid(self, position: int, data: bytes, event: MariadbGtidEvent) -> None:
        self._replication(event)
        file, flags = self._file, event.flags
        lines = []
        if not self._short:
            lines.append(f"{self._line(data, event)}\tGTID {event.gtid}{gtid_words(event)}\n")
            parallel = bool(flags & _ALLOW_PARALLEL)
            if file.parallel is not parallel:
                lines.append(
                    f"/*M!100101 SET @@session.skip_parallel_replication={int(not parallel)}*/{DELIMITER}\n"
                )
                file.parallel = parallel
            if file.domain != event.domain:
                lines.append(f"/*M!100001 SET @@session.gtid_domain_id={event.domain}*/{DELIMITER}\n")
                file.domain = event.domain
            server_id = event.header.server_id
            if file.server_id != server_id:
                lines.append(f"/*M!100001 SET @@session.server_id={server_id}*/{DELIMITER}\n")
                file.server_id = server_id
            lines.append(f"/*M!100001 SET @@session.gtid_seq_no={event.sequence}*/{DELIMITER}\n")
        if flags & PREPARED_XA:
            lines.append(f"XA START {event.xa}{DELIMITER}\n")
        elif not flags & STANDALONE:
            lines.append(f"START TRANSACTION\n{DELIMITER}\n")
        file.session.in_xa = bool(flags & (PREPARED_XA | COMPLETED_XA))
        self._print("".join(lines))

    def _use(self, event: Query | QueryCompressed | ExecuteLoadQuery) -> None:
        """``use`` of a schema with a new name. Queries keep the old one, so the session remembers that."""
        session = self._file.session
        if event.header.flags & 0x08 or event.schema == session.schema:
            return
        new = self.options.rewrite_db.get(event.schema)
        if new is not None:
            self._out.append(f"use {quoted(new)}{DELIMITER}\n")
            session.schema = event.schema

    def _query(self, position: int, data: bytes, event: Query | QueryCompressed) -> None:
        query = event.query
        session = self._file.session
        if not is_transaction_keyword(query, session.in_xa):
            if self._skips_schema(event.schema):
                return
            self._use(event)
        self._replication(event)
        line = "" if self._short else self._line(data, event)
        name = "Query_compressed" if isinstance(event, QueryCompressed) else "Query"
        before = session.before_query(event, query, line, name)
        alter = event.variable(MariadbGtidFlags)
        if alter is not None and alter.flags & _ALTER:
            self._print(before + self._alter(data, query, alter.flags))
        else:
            self._print(f"{before}{text_of(query)}\n{DELIMITER}\n")

    def _alter(self, data: bytes, query: bytes, flags: int) -> str:
        """A part of a two-phase ALTER TABLE: only its bytes say which."""
        text = ""
        if self._base64:
            text = f"BINLOG '\n{base64_lines(data)}'"
            if flags & (_START_ALTER | _ROLLBACK_ALTER):
                text = f"/*!100600 {text} */"
            text += f"{DELIMITER}\n"
        return text + (f"### {text_of(query)}\n" if self._verbosity else "")

    def _begin_load(self, position: int, data: bytes, event: BeginLoadQuery) -> None:
        self._comment(position, data, event)
        if self._loads is not None:
            self._loads.begin(event.file_id, event.block)

    def _append_block(self, position: int, data: bytes, event: AppendBlock) -> None:
        self._comment(position, data, event)
        if self._loads is not None and not self._loads.append(event.file_id, event.block):
            self._warn(f"position {position}: a block of file {event.file_id}, whose beginning was not seen")

    def _execute_load(self, position: int, data: bytes, event: ExecuteLoadQuery) -> None:
        path = None if self._loads is None else self._loads.take(event.file_id)
        if self._skips_schema(event.schema):
            return
        self._use(event)
        if path is None:
            self._warn(
                f"position {position}: LOAD DATA of file {event.file_id}, whose beginning was not seen"
            )
            return
        self._replication(event)
        line = "" if self._short else self._line(data, event)
        before = self._file.session.before_query(event, event.query, line, "Execute_load_query")
        tail = "" if self._short else f"# file_id: {event.file_id} \n"
        self._print(f"{before}{load_text(event, path)}\n{DELIMITER}\n{tail}")

    # --- rows

    def _annotate(self, position: int, data: bytes, event: AnnotateRows) -> None:
        """Kept until a table map is printed: all tables of the statement may be filtered out."""
        if not self.options.skip_annotate:
            self._annotation = data, event

    def _table_map(self, position: int, data: bytes, event: TableMap) -> None:
        file = self._file
        if self._skips_table(event):
            file.ignored_tables.add(event.table_id)
            return
        head = file.head
        if self._annotation is not None:
            kept, annotation = self._annotation
            line = (
                "# Annotate_rows:\n" if self._short else f"{self._line(kept, annotation)}\tAnnotate_rows:\n"
            )
            head.append(line + annotate_text(annotation))
            self._annotation = None
        new = self.options.rewrite_db.get(event.schema)
        if new is not None:
            data = renamed(data, event, new.encode("utf-8", "surrogateescape"), self._header_length)
            event = replace(event, schema=new)
        self._need_format(position, event)
        if self._short:
            return
        file.tables[event.table_id] = event
        triggers = " (has triggers)" if event.flags & HAS_TRIGGERS else ""
        head.append(
            f"{self._line(data, event)}\tTable_map: {quoted(event.schema)}.{quoted(event.table)} "
            f"mapped to number {event.table_id}{triggers}\n{self._rows.table_metadata(event)}"
        )
        if self._base64:
            file.body.append(base64_lines(data))
        self._flush()

    def _skips_table(self, event: TableMap) -> bool:
        if self._skips_schema(event.schema):
            return True
        tables = self.options.tables
        return bool(tables) and not tables & {(event.schema, event.table), ("", event.table)}

    def _need_format(self, position: int, event: Event) -> None:
        if self._base64 and not self._file.printed_format:
            raise DecodeError(
                "row events come before any format description", position=position, event=event.name
            )

    def _rows_event(self, position: int, data: bytes, event: RowsEvent) -> None:
        file = self._file
        ends = event.ends_statement
        skipped = event.table_id in file.ignored_tables
        if ends:
            file.ignored_tables.clear()
            self._annotation = None
        if skipped:
            if ends:
                if file.body:
                    file.body.append(f"'{DELIMITER}\n")
                self._flush_statement()
                file.row_count = 0
            return
        self._need_format(position, event)
        if not self._short:
            self._one_rows_event(data, event)
        if not ends:
            return
        if self._base64 and file.body:
            file.body.insert(0, "\nBINLOG '\n")
            file.body.append(f"'{DELIMITER}\n")
        self._flush_statement()
        if not self._short:
            self._out.append(f"# Number of rows: {file.row_count}\n")
        file.row_count = 0

    def _one_rows_event(self, data: bytes, event: RowsEvent) -> None:
        file = self._file
        if isinstance(event, CompressedRows):
            data = uncompressed(data, event)
        table = file.tables.get(event.table_id)
        unreadable = False
        printed: tuple[str, int] | None = None
        if table is None:
            event = replace(event, table=None)
        elif self._verbosity and (table is not event.table or event.undecoded):
            if (
                self._kernel_rows is not None
                and (printed := self._kernel_rows.text(event, table)) is not None
            ):
                event = replace(event, table=table)
            else:
                unreadable = not has_known_types(table)
                event = event if unreadable else with_rows(event, table)
        elif table is not event.table:
            event = replace(event, table=table)
        flags = " flags: STMT_END_F" if event.ends_statement else ""
        name = ROW_NAMES[event.header.type_code]
        file.head.append(f"{self._line(data, event)}\t{name}: table id {event.table_id}{flags}\n")
        if self._base64:
            file.body.append(base64_lines(data))
        if self._verbosity:
            if unreadable:  # the tool writes what it has, and ends
                self._out += file.head + file.body
                raise DecodeError("a column of unknown type", event=event.name)
            if printed is not None:
                file.foot.append(printed[0])
                file.row_count += printed[1]
                return
            file.foot.append(self._rows.rows(event))
        file.row_count += count_rows(event, bool(self._verbosity))

    def _flush_statement(self) -> None:
        file = self._file
        for part in (file.head, file.body, file.foot):
            self._out += part
            part.clear()
