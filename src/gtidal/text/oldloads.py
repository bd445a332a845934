"""LOAD DATA as MySQL 3.23 to 4.1 logged it. The tool of today refuses those logs; we print them as the tools of
those days did."""

from __future__ import annotations

from collections.abc import Callable

from gtidal.events.header import THREAD_SPECIFIC
from gtidal.events.load import SEPARATORS, CreateFile, ExecLoad, LoadEvent
from gtidal.text.loads import STEM, LoadFiles
from gtidal.text.statements import DELIMITER, Session, quoted, quoted_path, text_of

_OPTIONALLY, _REPLACE, _IGNORE = 2, 4, 8


class OldLoads:
    """A file's first block comes with the statement. That is shown as a comment then, and printed when the file
    is complete, reading what was put together from the blocks."""

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
        self._begun: dict[int, tuple[CreateFile, str]] = {}

    def print(self, event: LoadEvent | ExecLoad, line: str) -> str:
        """``line`` is the header line begun; empty in the short form."""
        if isinstance(event, ExecLoad):
            comment = f"{line}\n#Exec_load: file_id={event.file_id}\n" if line else ""
            return comment + self._execute(event)
        if self._skips_schema(event.schema):
            return ""
        if not isinstance(event, CreateFile):
            return self._statement(event, line, None)
        self._begun[event.file_id] = event, line
        if self._files is not None:
            self._files.begin(event.file_id, event.block, event.file.rpartition("/")[2] or STEM)
        return self._statement(event, line, None, "# ") + _file_comment(event) if line else ""

    def _execute(self, event: ExecLoad) -> str:
        load, line = self._begun.pop(event.file_id, (None, ""))
        path = self._files.take(event.file_id) if self._files is not None else None
        if load is None:
            self._warn(f"an EXEC_LOAD is left out: the beginning of file {event.file_id} was not read")
            return ""
        return self._statement(load, line, path) + (_file_comment(load) if line else "")

    def _statement(self, event: LoadEvent, line: str, path: str | None, mark: str = "") -> str:
        pieces = []
        if line:
            pieces.append(f"{line}\tQuery\tthread_id={event.thread_id}\texec_time={event.exec_time}\n")
        if event.schema != self._session.schema:
            if event.schema:
                pieces.append(f"{mark}use {quoted(event.schema)}{DELIMITER}\n")
            if not mark:
                self._session.schema = event.schema
        if event.header.flags & THREAD_SPECIFIC:
            pieces.append(f"{mark}SET @@session.pseudo_thread_id={event.thread_id}{DELIMITER}\n")
        return "".join(pieces) + mark + load_data_text(event, path)


def _file_comment(event: CreateFile) -> str:
    return f"# file_id: {event.file_id}  block_len: {len(event.block)}\n"


def load_data_text(event: LoadEvent, path: str | None) -> str:
    """The statement, put together from the event's fields."""
    pieces = ["LOAD DATA "]
    pieces.append(f"{'LOCAL ' if path else ''}INFILE {quoted_path(path or event.file)} ")
    if event.opt_flags & _REPLACE:
        pieces.append("REPLACE ")
    elif event.opt_flags & _IGNORE:
        pieces.append("IGNORE ")
    pieces.append(f"INTO TABLE {quoted(event.table)}")
    field_terminator, enclosed_by, line_terminator, line_start, escaped_by = map(
        _separator, _separators(event)
    )
    pieces.append(f" FIELDS TERMINATED BY {field_terminator}")
    optionally = " OPTIONALLY " if event.opt_flags & _OPTIONALLY else ""
    pieces.append(f"{optionally} ENCLOSED BY {enclosed_by} ESCAPED BY {escaped_by}")
    pieces.append(f" LINES TERMINATED BY {line_terminator} STARTING BY {line_start}")
    if event.skip_lines > 0:
        pieces.append(f" IGNORE {event.skip_lines} LINES")
    if event.fields:
        pieces.append(f" ({','.join(quoted(name) for name in event.fields)})")
    return "".join(pieces) + f"{DELIMITER}\n"


def _separators(event: LoadEvent) -> list[bytes]:
    """The oldest form has a byte for each, and flags for those that are empty."""
    flags = event.empty_flags or 0
    values: list[bytes] = [getattr(event, name) for name in SEPARATORS]
    return [b"" if flags >> index & 1 else value for index, value in enumerate(values)]


def _separator(value: bytes) -> str:
    return quoted_path(text_of(value))
