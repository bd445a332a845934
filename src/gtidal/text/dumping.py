"""``gtidal dump`` without its command line: files in, text out."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO, Protocol

from gtidal.columnar import kernel
from gtidal.errors import GtidalError, KeyProblem, NotABinlog, Truncated, UsageError
from gtidal.events.control import PreviousGtids, Rotate
from gtidal.events.format import Format, FormatDescription
from gtidal.events.frame import HEADER_SIZE, decode_event
from gtidal.events.header import IN_USE
from gtidal.events.mariadb import StartEncryption
from gtidal.events.registry import Event
from gtidal.log.decoder import Frame, Keys, LogDecoder
from gtidal.sources.files import STDIN, LogReader, open_log
from gtidal.sources.server.locating import ServerUri
from gtidal.text.kernel_rows import KernelRows
from gtidal.text.loads import LoadFiles
from gtidal.text.mariadb import MariadbPrinter
from gtidal.text.options import FIRST_POSITION, DumpOptions
from gtidal.text.printer import MysqlPrinter, decode_without_rows
from gtidal.text.remote import Counted, LeftOut, Remote, format_in_the_middle, rotate_to, streams
from gtidal.text.rowformat import RowFormatGuard
from gtidal.text.rows import RowPrinter
from gtidal.text.stretches import StretchPrinter, can_print

FINE, DATA_PROBLEM, WRONG_USE = 0, 1, 2
_BLOCK = 1 << 17
_FIRST_EVENTS = 4
_LONGEST_START_ENCRYPTION = 256
_LARGE = 1 << 20
_WINDOW = 4 << 20
"""Bytes that are given to the kernel at once."""


class Printer(Protocol):
    """What prints: as MySQL's tool, or as MariaDB's."""

    stopped: bool
    stop_position: int

    @property
    def rewrite(self) -> Callable[[bytes, Format], bytes] | None: ...

    def head(self) -> str: ...

    def event(self, frame: Frame, event: Event, decoder: LogDecoder) -> str: ...

    def before_format(self, frame: Frame, event: Event, decoder: LogDecoder) -> str: ...

    def tail(self) -> str: ...


def report_on_stderr(message: str) -> None:
    print(f"gtidal: {message}", file=sys.stderr)


class Dump:
    """Prints logs one after the other, as one call of the tool does."""

    def __init__(
        self,
        paths: Sequence[str],
        options: DumpOptions,
        out: BinaryIO,
        *,
        report: Callable[[str], None] = report_on_stderr,
        keys: Keys | None = None,
        load_folder: str | None = None,
        threads: int = 1,
        by_kernel: bool | None = None,
        remote: Remote | None = None,
    ) -> None:
        """``by_kernel``: whether ordinary events are printed by the kernel, as fast as can be, or all by the
        reference; by default so if it is compiled. The text is the same, also for any number of ``threads``.
        ``remote``: paths are files of a server, printed as the tools do that."""
        self.paths = paths
        self.options = options
        self.report = report
        self._out = out
        self._keys = keys
        self._load_folder = load_folder
        self._threads = threads
        self._by_kernel = kernel.IMPLEMENTATION == "compiled" if by_kernel is None else by_kernel
        self._remote = remote
        # Where the tools lose count of positions, or events are printed as they come, the kernel does not.
        self._loses_count = remote is not None and (
            remote.excluded is not None or (remote.goes_on and options.start_position > FIRST_POSITION)
        )
        if remote is not None and (remote.waits or self._loses_count):
            self._by_kernel = False
        self._counted: Counted | None = None
        self._left_out = None if remote is None or remote.excluded is None else LeftOut(remote.excluded)
        self._decode_rows = options.verbosity > 0 and not options.short_form
        self._stretches: StretchPrinter | None = None
        self._chunks: list[str] = []
        self._size = 0
        self._guard: RowFormatGuard | None = None
        self._damaged = False

    def run(self) -> int:
        """Returns the exit code. What was printed before a problem stays printed, and is properly ended."""
        code = FINE
        printer: Printer | None = None
        try:
            for index, path in enumerate(self.paths):
                start = self.options.start_position if index == 0 else FIRST_POSITION
                before = Format()
                for file, (name, stream) in enumerate(self._files(path)):
                    with self._open(name, stream) as reader:
                        if printer is None:
                            printer = self._make_printer(reader)
                            self._write(printer.head())
                        elif isinstance(printer, MariadbPrinter) and not file:
                            self._write(printer.next_file())
                        if index == len(self.paths) - 1 and self.options.stop_position is not None:
                            printer.stop_position = self.options.stop_position
                        self._announce(reader, printer, start, before, is_first=not file)
                        self._dump(reader, printer, FIRST_POSITION if file else start)
                        before = reader.decoder.format
                    if printer.stopped:
                        break
                if printer is not None and printer.stopped:
                    break
        except (UsageError, KeyProblem, NotABinlog) as error:
            self.report(str(error))
            code = WRONG_USE
        except GtidalError as error:
            self.report(str(error))
            code = DATA_PROBLEM
        finally:
            if self._stretches is not None:
                self._stretches.close()
        if self._damaged and code == FINE:
            code = DATA_PROBLEM
        if code != FINE and isinstance(printer, MariadbPrinter):
            self._write(printer.after_error())
        elif printer is not None:
            self._write(printer.tail())
        if code == FINE and isinstance(printer, MariadbPrinter) and (missing := printer.missing()):
            self.report(missing)
            code = DATA_PROBLEM
        self._flush()
        return code

    def _note_damage(self, error: GtidalError) -> None:
        """Rows that cannot be read are printed as far as they go, and the rest of the log after them."""
        self._damaged = True
        self.report(str(error))

    def _files(self, path: str) -> Iterator[tuple[str, BinaryIO | None]]:
        """The files that a path stands for, and what is opened already."""
        if self._remote is None:
            return iter([(path, None)])
        return streams(ServerUri(path), self._remote)

    def _open(self, path: str, stream: BinaryIO | None) -> LogReader:
        """With rows as bytes where nobody looks at them."""
        # Checksums are compared here: the tool leaves that of a format description alone where the log has none.
        settings: Any = {"verify_checksum": False, "decode_rows": self._decode_rows, "keys": self._keys}
        if stream is not None:
            return LogReader(stream, name=ServerUri(path).name, **settings)
        reader = open_log(path, **settings)
        reader.decoder.joined_files = path == STDIN
        return reader

    def _announce(
        self, reader: LogReader, printer: Printer, start: int, before: Format, *, is_first: bool
    ) -> None:
        """What comes before a file: a ROTATE, where a server sends one file behind the other. The tools do not know the
        format yet when the first one comes."""
        if self._remote is None or self._remote.plain:
            return
        mariadb = isinstance(printer, MariadbPrinter)
        if is_first:
            self._counted = Counted(start, mariadb=mariadb) if mariadb or self._loses_count else None
        elif self._counted is not None:
            self._counted.next_file()
        if not self._remote.goes_on:
            return
        server_id = int.from_bytes(_look_ahead(reader.stream)[9:13], "little")
        frame, event = rotate_to(reader.name, start if is_first else FIRST_POSITION, server_id, before)
        frame = Frame(FIRST_POSITION, frame.data) if self._counted is None else self._counted.placed(frame)
        if is_first:
            self._write(printer.before_format(frame, event, reader.decoder))
        else:
            self._write(printer.event(frame, event, reader.decoder))

    def _make_printer(self, reader: LogReader) -> Printer:
        options = self.options
        loads = LoadFiles(self._load_folder) if self._load_folder is not None else None
        mariadb = self._is_mariadb(reader)
        rows = RowPrinter(
            0 if options.short_form else options.verbosity,
            options.print_table_metadata,
            options.geometry,
            "mariadb" if mariadb else "mysql",
        )
        if mariadb:
            return MariadbPrinter(options, rows, loads, self.report, self._kernel_rows(reader, rows))
        printer = MysqlPrinter(options, rows, loads, self.report, self._note_damage, self._write)
        if self._by_kernel and can_print(options):
            self._stretches = StretchPrinter(printer, rows, _Bytes(self), self._note_damage, self._threads)
        return printer

    def _kernel_rows(self, reader: LogReader, rows: RowPrinter) -> KernelRows | None:
        """If the kernel prints rows, they need not be decoded."""
        if not self._by_kernel:
            return None
        self._decode_rows = reader.decoder.context.decode_rows = False
        return KernelRows(rows)

    def _is_mariadb(self, reader: LogReader) -> bool:
        """Told by the first format description, looked at without taking it from the stream."""
        data = _look_ahead(reader.stream)
        decoder = LogDecoder(reader.name, keys=self._keys, verify_checksum=False)
        decoder.receive_data(data)
        try:
            for _ in range(_FIRST_EVENTS):
                frame = decoder.next_frame()
                if frame is None or frame.type_code == FormatDescription.code:
                    break
        except (KeyProblem, NotABinlog):
            raise  # before anything is printed
        except GtidalError:
            pass  # reported when the log is read
        # Of a log that ends in its format description, the bytes where the server's version is.
        return decoder.format.is_mariadb or (
            data[8:9] == bytes((FormatDescription.code,)) and b"MariaDB" in data[25:75]
        )

    def _dump(self, reader: LogReader, printer: Printer, start: int) -> None:
        self._guard = RowFormatGuard() if self.options.require_row_format else None
        decoder = reader.decoder
        mariadb = isinstance(printer, MariadbPrinter)
        if self._remote is not None and start > FIRST_POSITION:
            in_use = self._begin_in_the_middle(reader, printer, start)
        else:
            in_use = (self._go_exactly_to if mariadb else self._go_to)(reader, printer, start)
        rewrite, guard, write = printer.rewrite, self._guard, self._write
        decode, print_event, joined = decoder.decode, printer.event, decoder.joined_files
        # Of a log that is being written, MariaDB's tool takes whatever it cannot read for the end.
        forgiven = GtidalError if mariadb else Truncated
        next_frame, verify = decoder.next_frame, self.options.verify_checksum
        stretches = self._stretches
        counted, left_out = self._counted, self._left_out
        waits = self._remote is not None and self._remote.waits
        while True:
            if stretches is not None:
                stretches.print(decoder, lambda size: _receive(reader, size))
            if waits and not reader.stream.ready():  # type: ignore[attr-defined]  # of a server
                self._flush()
            try:
                frame = next_frame() or reader.next_frame()
                if verify and frame is not None and decoder.format.has_checksums:
                    decoder.check(frame)
            except KeyProblem as error:
                if isinstance(printer, MariadbPrinter):
                    self._write(self._encryption_text(reader, printer, error.position))
                    self._write(printer.tail() if in_use else "")
                raise
            except forgiven:
                if not in_use:
                    raise
                self.report(f"{reader.name} ends inside an event, as a log may that is being written")
                return
            if frame is None:
                return
            data = frame.data
            if data[4] == FormatDescription.code:
                in_use = bool(data[17] & IN_USE)
                if joined and frame.position > FIRST_POSITION:
                    frame = Frame(frame.position - FIRST_POSITION, data)  # of the magic bytes before it
            if rewrite is not None:
                frame = Frame(frame.position, rewrite(data, decoder.format))
            try:
                event = decode(frame)
            except GtidalError as error:
                try:
                    event = decode_without_rows(frame, decoder)
                except GtidalError:
                    if not (mariadb and in_use):
                        raise
                    self.report(f"{error}; taken for the end of a log that is being written")
                    return
                if not mariadb:
                    self._note_damage(error)
            if left_out is not None and event in left_out:
                continue
            if counted is not None:
                frame = counted.placed(frame)
            if guard is not None:
                guard.check(event)
            text = print_event(frame, event, decoder)
            if text:
                write(text)
            if printer.stopped:
                return
            if len(data) > _LARGE:
                del frame, data, event, text  # gone before the next one is read

    def _go_to(self, reader: LogReader, printer: Printer, start: int) -> bool:
        """To the first event wanted. The format description before it is printed all the same, at the
        position of the event that was read last; returns whether it has the in-use flag.

        The tool reads on over PREVIOUS_GTIDS and ROTATE to find the format description of a relay log's
        source, and over one event more: a start inside that one begins with the next."""
        decoder = reader.decoder
        position = last = FIRST_POSITION
        found: tuple[Frame, Event] | None = None
        while position < start:
            last = position
            frame = reader.next_frame()
            if frame is None:
                break
            position = frame.end
            event = decoder.decode(frame)
            if isinstance(event, FormatDescription):
                found = frame, event
            elif not isinstance(event, PreviousGtids | Rotate):
                break
        if found is None:
            return False
        if position < start:
            self._seek(reader, start)
        frame, event = found
        self._write(printer.event(Frame(last, frame.data), event, decoder))
        return bool(event.header.flags & IN_USE)

    def _begin_in_the_middle(self, reader: LogReader, printer: Printer, start: int) -> bool:
        """As a server does: with the format, then the event that was asked for."""
        decoder = reader.decoder
        frame = reader.next_frame()
        if frame is None or frame.type_code != FormatDescription.code:
            raise Truncated("the file has no format description", file=reader.name)
        data = format_in_the_middle(frame.data)
        event = decode_event(data, start, decoder.context)
        self._write(printer.event(Frame(start, data), event, decoder))
        self._seek(reader, start)
        return False

    @staticmethod
    def _encryption_text(reader: LogReader, printer: MariadbPrinter, position: int | None) -> str:
        """What MariaDB's tool, which has no keys, prints where the encrypted part of a log begins."""
        if position is None or not reader.stream.seekable():
            return ""
        reader.stream.seek(position)
        data = reader.stream.read(_LONGEST_START_ENCRYPTION)
        data = data[: int.from_bytes(data[9:13], "little")]
        if len(data) < HEADER_SIZE or data[4] != StartEncryption.code:
            return ""
        event = decode_event(data, position, reader.decoder.context)
        return printer.event(Frame(position, data), event, reader.decoder)

    def _go_exactly_to(self, reader: LogReader, printer: Printer, start: int) -> bool:
        """As ``_go_to``, for MariaDB's tool: it prints each format description where it is, and then begins at
        the very position it was told, event or not."""
        decoder = reader.decoder
        position, in_use = FIRST_POSITION, False
        while position < start:
            frame = reader.next_frame()
            if frame is None:
                break
            position = frame.end
            if frame.type_code == FormatDescription.code:
                in_use = bool(frame.data[17] & IN_USE)
                self._write(printer.event(frame, decoder.decode(frame), decoder))
            elif frame.type_code != Rotate.code:
                break
        if start > FIRST_POSITION:
            self._seek(reader, start)
        return in_use

    def _seek(self, reader: LogReader, position: int) -> None:
        decoder = reader.decoder
        if reader.stream.seekable() and decoder.encryption is None and decoder.event_cipher is None:
            reader.stream.seek(position)
            decoder.start_at(position, decoder.format)
            return
        while decoder.position < position:  # a stream, or encrypted: event by event
            if reader.next_frame() is None:
                return

    def write_bytes(self, data: bytes | memoryview) -> None:
        """Text that is encoded already."""
        if self._chunks:
            self._flush()
        self._out.write(data)

    def _write(self, text: str) -> None:
        self._chunks.append(text)
        self._size += len(text)
        if self._size > _BLOCK:
            self._flush()

    def _flush(self) -> None:
        self._out.write("".join(self._chunks).encode("utf-8", "surrogateescape"))
        self._chunks.clear()
        self._size = 0
        self._out.flush()


class _Bytes:
    """A dump's output, for text that is encoded already."""

    def __init__(self, dump: Dump) -> None:
        self.write = dump.write_bytes


def _receive(reader: LogReader, size: int) -> bool:
    """Have at least ``size`` bytes in the decoder; False if there are no more."""
    buffer, offset = reader.decoder.buffered()
    have = len(buffer) - offset
    wanted = max(size, _WINDOW)
    data = reader.stream.read(wanted - have)
    while data and have + len(data) < size and (piece := reader.stream.read(wanted - have - len(data))):
        data += piece  # a server's log comes in pieces
    reader.decoder.receive_data(data)
    return bool(data)


_FORMAT_READ = 100
"""So much of a log holds its server's version."""


def _look_ahead(stream: BinaryIO, size: int = 1 << 13) -> bytes:
    """The stream's next bytes, which stay in it."""
    if isinstance(stream, io.BufferedReader):
        return stream.peek(size)
    if not stream.seekable():
        return b""
    start = stream.tell()
    data = b""
    while len(data) < _FORMAT_READ and (piece := stream.read(size)):
        data += piece
    stream.seek(start)
    return data
