"""LOAD DATA through the ages: the statement apart from the file's contents, which travel in blocks."""

from __future__ import annotations

from typing import ClassVar

from gtidal.events.header import flag_names
from gtidal.events.registry import Event, event
from gtidal.events.statement import QueryEvent, walk_query_head, walk_query_names
from gtidal.wire.layout import U32, Fields, Rest, Run

OPT_FLAGS = {1: "DUMPFILE", 2: "OPT_ENCLOSED", 4: "REPLACE", 8: "IGNORE"}
EMPTY_FLAGS = {
    1: "FIELD_TERM_EMPTY",
    2: "ENCLOSED_EMPTY",
    4: "LINE_TERM_EMPTY",
    8: "LINE_START_EMPTY",
    16: "ESCAPED_EMPTY",
}
SEPARATORS = ("field_terminator", "enclosed_by", "line_terminator", "line_start", "escaped_by")

_HEAD = Run("thread_id:I", "exec_time:I", "skip_lines:I")


class LoadEvent(Event):
    """What LOAD, NEW_LOAD and CREATE_FILE share."""

    thread_id: int
    exec_time: int
    skip_lines: int
    field_terminator: bytes
    enclosed_by: bytes
    line_terminator: bytes
    line_start: bytes
    escaped_by: bytes
    opt_flags: int
    fields: tuple[str, ...]
    table: str
    schema: str
    file: str
    empty_flags: int | None = None
    """The old form has one byte for each separator, and says here which of them are empty."""

    @property
    def opt_flag_names(self) -> tuple[str, ...]:
        return flag_names(self.opt_flags, OPT_FLAGS)

    @property
    def empty_flag_names(self) -> tuple[str, ...]:
        return flag_names(self.empty_flags or 0, EMPTY_FLAGS)

    def summary(self) -> str:
        return f"{self.file} into {self.schema}.{self.table}"


def walk_load_head(f: Fields) -> tuple[int, int, int]:
    f.fixed(_HEAD)
    table = f.size("table", 1)
    schema = f.size("schema", 1)
    return table, schema, f.count("fields", 4)


def walk_separators(f: Fields, old: bool) -> None:
    for name in SEPARATORS:
        if old:
            f.raw(name, 1)
        else:
            f.short_bytes(name)
    f.u8("opt_flags")
    if old:
        f.u8("empty_flags")


def walk_load_names(f: Fields, table: int, schema: int, fields: int) -> None:
    f.terminated("fields", f.sizes("fields", fields))
    f.text("table", table)
    f.zero()
    f.text("schema", schema)
    f.zero()


@event(6, "LOAD")
class Load(LoadEvent):
    """LOAD DATA before MySQL 4.0: the file itself is not in the log."""

    @classmethod
    def walk(cls, f: Fields) -> None:
        sizes = walk_load_head(f)
        walk_separators(f, old=True)
        walk_load_names(f, *sizes)
        f.rest_text("file")


@event(12, "NEW_LOAD")
class NewLoad(LoadEvent):
    """LOAD with separators of any length (MySQL 4.0 and 4.1)."""

    @classmethod
    def walk(cls, f: Fields) -> None:
        sizes = walk_load_head(f)
        walk_separators(f, old=False)
        walk_load_names(f, *sizes)
        f.rest_text("file")


@event(8, "CREATE_FILE")
class CreateFile(LoadEvent):
    """LOAD DATA with the file's first block (MySQL 4.0 and 4.1)."""

    file_id: int = 0
    block: bytes = b""

    @classmethod
    def walk(cls, f: Fields) -> None:
        sizes = walk_load_head(f)
        f.u32("file_id")
        walk_separators(f, old=False)
        walk_load_names(f, *sizes)
        f.cstring("file")
        f.rest("block")


class BlockEvent(Event):
    """A piece of a file."""

    file_id: U32
    block: Rest

    def summary(self) -> str:
        return f"file {self.file_id}, {len(self.block)} bytes"


@event(9, "APPEND_BLOCK")
class AppendBlock(BlockEvent):
    """A further piece of a file."""


@event(17, "BEGIN_LOAD_QUERY")
class BeginLoadQuery(BlockEvent):
    """The first piece of a file."""


class FileEvent(Event):
    """Something done to a file that came in pieces."""

    file_id: U32

    def summary(self) -> str:
        return f"file {self.file_id}"


@event(10, "EXEC_LOAD")
class ExecLoad(FileEvent):
    """The file is complete: load it."""


@event(11, "DELETE_FILE")
class DeleteFile(FileEvent):
    """The load failed: forget the file."""


@event(18, "EXECUTE_LOAD_QUERY")
class ExecuteLoadQuery(QueryEvent):
    """The file is complete: run this statement (MySQL 5.0 and later)."""

    file_id: int = 0
    file_name_start: int = 0
    """Bytes of the query that hold the file's name, to be replaced by that of the pieces put together."""
    file_name_end: int = 0
    duplicates: int = 0
    query: bytes = b""

    DUPLICATES: ClassVar[dict[int, str]] = {0: "ERROR", 1: "IGNORE", 2: "REPLACE"}

    @classmethod
    def walk(cls, f: Fields) -> None:
        schema, status = walk_query_head(f, 18)
        f.u32("file_id")
        f.u32("file_name_start")
        f.u32("file_name_end")
        f.u8("duplicates")
        walk_query_names(f, schema, status)
        f.rest("query")

    @property
    def duplicates_name(self) -> str:
        return self.DUPLICATES.get(self.duplicates, str(self.duplicates))

    def summary(self) -> str:
        return f"file {self.file_id}: {self.query.decode('utf-8', 'replace')}"
