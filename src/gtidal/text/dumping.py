"""``gtidal dump`` without its command line: files in, text out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, Protocol

from gtidal.errors import GtidalError, Truncated, UsageError
from gtidal.events.control import PreviousGtids, Rotate
from gtidal.events.format import Format, FormatDescription, StartV3
from gtidal.events.header import IN_USE
from gtidal.events.registry import Event
from gtidal.log.decoder import Frame, Keys, LogDecoder
from gtidal.sources.files import STDIN, LogReader, open_log
from gtidal.text.loads import LoadFiles
from gtidal.text.options import FIRST_POSITION, DumpOptions
from gtidal.text.printer import MysqlPrinter
from gtidal.text.rowformat import RowFormatGuard
from gtidal.text.rows import RowPrinter

FINE, DATA_PROBLEM, WRONG_USE = 0, 1, 2
_BLOCK = 1 << 16
_FORMATS = {FormatDescription.code, StartV3.code}


class Printer(Protocol):
    """What prints: MySQL's tool, or MariaDB's."""

    stopped: bool
    stop_position: int
    rewrite: Callable[[bytes, Format], bytes] | None

    def head(self) -> str: ...

    def event(self, frame: Frame, event: Event, decoder: LogDecoder) -> str: ...

    def tail(self) -> str: ...


@dataclass
class Dump:
    """Prints logs one after the other, as one call of the tool does."""

    paths: Sequence[str]
    options: DumpOptions
    out: BinaryIO
    report: Callable[[str], None] = field(default=lambda message: print(f"gtidal: {message}", file=sys.stderr))
    keys: Keys | None = None
    load_folder: str | None = None

    def run(self) -> int:
        """Returns the exit code. What was printed before a problem stays printed, and properly ended."""
        self._chunks: list[str] = []
        self._chunk_size = 0
        self._guard = RowFormatGuard() if self.options.require_row_format else None
        readers: list[LogReader] = []
        code = FINE
        printer: Printer | None = None
        try:
            for index, path in enumerate(self.paths):
                reader = self._open(path)
                readers.append(reader)
                if printer is None:
                    printer = self._printer(reader)
                    self._write(printer.head())
                last = index == len(self.paths) - 1
                if last and self.options.stop_position is not None:
                    printer.stop_position = self.options.stop_position
                self._dump(reader, printer, self.options.start_position if index == 0 else FIRST_POSITION)
                reader.close()
                if printer.stopped:
                    break
        except UsageError as error:
            self.report(str(error))
            code = WRONG_USE
        except GtidalError as error:
            self.report(str(error))
            code = DATA_PROBLEM
        finally:
            for reader in readers:
                reader.close()
        if printer is not None:
            self._write(printer.tail())
        self._flush()
        return code
