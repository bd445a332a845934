"""LOAD DATA as MySQL 3.23 to 4.1 logged it. The tool of today refuses those logs; we print them as the tools of
those days did."""

from __future__ import annotations

from collections.abc import Callable

from gtidal.events.load import CreateFile, ExecLoad, LoadEvent
from gtidal.text.loads import STEM, LoadFiles
from gtidal.text.statements import DELIMITER, Session, quoted, quoted_path, text_of

_OPTIONALLY, _REPLACE, _IGNORE = 2, 4, 8


class OldLoads:
    """A file's first block comes with the statement, which is printed when the file is complete."""

    def __init__(
        self,
        session: Session,
        files: LoadFiles | None,
        skips_schema: Callable[[str], bool],
        warn: Callable[[str], None],
    ) -> None:
        self._session = session
        self._files = files
        self._skips_schema = skips_schema
        self._warn = warn
        self._begun: dict[int, CreateFile] = {}

    def print(self, event: LoadEvent | ExecLoad, line: str) -> str:
        """``line`` is the header line begun; empty in the short form."""
        if isinstance(event, ExecLoad):
            comment = f"{line}\n#Exec_load: file_id={event.file_id}\n" if line else ""
            return comment + self._execute(event)
        comment = ""
        if line:
            comment = f"{line}\tQuery\tthread_id={event.thread_id}\texec_time={event.exec_time}\n"
        if not isinstance(event, CreateFile):
            return comment + self._statement(event, None)
        self._begun[event.file_id] = event
        if self._files is not None:
            self._files.begin(event.file_id, event.block, event.file.rpartition("/")[2] or STEM)
        if not line:
            return ""
        size = len(event.block)
        return f"{comment}#{load_data_text(event, None)}# file_id: {event.file_id}  block_len: {size}\n"

    def _execute(self, event: ExecLoad) -> str:
        load = self._begun.pop(event.file_id, None)
        path = self._files.take(event.file_id) if self._files is not None else None
        if load is None:
            self._warn(f"an EXEC_LOAD is left out: the beginning of file {event.file_id} was not read")
            return ""
        return self._statement(load, path)

    def _statement(self, event: LoadEvent, path: str | None) -> str:
        if self._skips_schema(event.schema):
            return ""
        use = ""
        if event.schema and event.schema != self._session.schema:
            self._session.schema = event.schema
            use = f"use {quoted(event.schema)}{DELIMITER}\n"
        return use + load_data_text(event, path)


def load_data_text(event: LoadEvent, path: str | None) -> str:
    """The statement, put together from the event's fields."""
    pieces = ["LOAD DATA "]
    pieces.append(f"{'LOCAL ' if path else ''}INFILE {quoted_path(path or event.file)} ")
    if event.opt_flags & _REPLACE:
        pieces.append("REPLACE ")
    elif event.opt_flags & _IGNORE:
        pieces.append("IGNORE ")
    pieces.append(f"INTO TABLE {quoted(event.table)}")
    pieces.append(f" FIELDS TERMINATED BY {_separator(event.field_terminator)}")
    optionally = " OPTIONALLY " if event.opt_flags & _OPTIONALLY else ""
    pieces.append(f"{optionally} ENCLOSED BY {_separator(event.enclosed_by)}")
    pieces.append(f" ESCAPED BY {_separator(event.escaped_by)}")
    pieces.append(f" LINES TERMINATED BY {_separator(event.line_terminator)}")
    if event.line_start:
        pieces.append(f" STARTING BY {_separator(event.line_start)}")
    if event.skip_lines > 0:
        pieces.append(f" IGNORE {event.skip_lines} LINES")
    if event.fields:
        pieces.append(f" ({','.join(quoted(name) for name in event.fields)})")
    return "".join(pieces) + f"{DELIMITER}\n"


def _separator(value: bytes) -> str:
    return quoted_path(text_of(value))
