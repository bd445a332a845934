"""Rows events: the row images of one table, before and after.

An image holds the values of some columns of the table. Its tuple has a place for every column of the
table: ``ABSENT`` where the image does not hold the column, ``None`` for NULL, else the physical value
(``columns.shapes``). ``event.named(image)`` turns it into names and Python values.

Three generations: pre-GA (5.1.0 to 5.1.15), V1 (until 5.6, and MariaDB), V2. The last two differ in the
fixed part only. The pre-GA servers wrote the null bytes of the table's own record, which the log does not
describe; images that do not come out even as V1 images are kept as bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar

from gtidal.errors import DecodeError, GtidalError, MissingTableMap
from gtidal.events.header import flag_names
from gtidal.events.images import ABSENT, Image, JsonDiffs, Row, RowsCodec, apply_json_diffs
from gtidal.events.registry import Event, event, walk_post_header_extra
from gtidal.events.table_map import DUMMY_TABLE_ID, TableMap, walk_table_id
from gtidal.wire.layout import Fields, Reader, Record, Rest, Writer

if TYPE_CHECKING:
    from gtidal.events.registry import Context

ROWS_FLAGS = {
    0x01: "STMT_END",
    0x02: "NO_FOREIGN_KEY_CHECKS",
    0x04: "RELAXED_UNIQUE_CHECKS",
    0x08: "COMPLETE_ROWS",
    0x10: "USE_SQL_FOREIGN_KEY",
    0x80: "NO_CHECK_CONSTRAINT_CHECKS",
}
STMT_END = 1
_MOST_CODECS = 8


class PartitionInfo(Record):
    """The partition a row is in."""

    typecode: int = 1
    partition_id: int = 0

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.u8("typecode")
        f.u16("partition_id")


class MovedPartitionInfo(Record):
    """The partition an updated row is in, and the one it came from."""

    typecode: int = 1
    partition_id: int = 0
    source_partition_id: int = 0

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.u8("typecode")
        f.u16("partition_id")
        f.u16("source_partition_id")


class NdbInfo(Record):
    """Data of MySQL Cluster; its length counts its own two bytes."""

    typecode: int = 0
    format: int = 0
    payload: bytes = b""

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.u8("typecode")
        size = f.size("payload", 1, plus=2)
        f.u8("format")
        f.raw("payload", size)


class UnknownExtraInfo(Record):
    """Data of a kind nobody told us about: all the rest."""

    data: Rest = b""


class RowsEvent(Event):
    """What all rows events share."""

    table_id: int
    flags: int
    width: int
    """The number of columns of the table."""
    before_columns: bytes = b""
    """Which columns the before images hold: a bit each, the first in the lowest bit."""
    after_columns: bytes = b""
    rows: tuple[Row, ...] = ()
    undecoded: bytes = b""
    """The row images as bytes, where no table map is known or nobody asked for the rows."""
    table: TableMap | None = field(default=None, compare=False, repr=False)
    """The table map in force; not part of the event."""
    extra_info: tuple[Record, ...] = ()
    """V2: what partitions and MySQL Cluster add."""

    version: ClassVar[int] = 2
    has_before: ClassVar[bool] = False
    has_after: ClassVar[bool] = False
    partial: ClassVar[bool] = False
    compressed: ClassVar[bool] = False
    operation: ClassVar[str] = ""

    @classmethod
    def walk(cls, f: Fields) -> None:
        walk_table_id(f, cls.code)
        if cls.version == 2:
            size = f.size("extra_info", 2, plus=2)
            walk_post_header_extra(f, cls.code, 10)
            f.records("extra_info", cls._pick_extra, size=size)
        else:
            walk_post_header_extra(f, cls.code, 8)
        width = f.lenenc("width")
        if cls.has_before:
            f.raw("before_columns", (width + 7) // 8)
        if cls.has_after:
            one_bitmap = cls.version == 0 and cls.has_before
            if one_bitmap and isinstance(f, Reader):
                f.computed("after_columns", f.values["before_columns"])
            elif not one_bitmap:
                f.raw("after_columns", (width + 7) // 8)
        cls._walk_images(f)

    @classmethod
    def _walk_images(cls, f: Fields) -> None:
        if isinstance(f, Writer):
            event: RowsEvent = f.source
            if event.table is None or event.undecoded:
                f.rest("undecoded")
            else:
                f.coded("rows", cls.codec(event.table, event.before_columns, event.after_columns))
            return
        assert isinstance(f, Reader)
        table = cls.table_in_force(f)
        if table is None or not f.context.decode_rows:
            f.rest("undecoded")
            return
        start = f.mark()
        try:
            bitmaps = f.values.get("before_columns", b""), f.values.get("after_columns", b"")
            f.coded("rows", cls.codec(table, *bitmaps))
        except DecodeError:
            if cls.version:
                raise
            f.rewind(start)
            f.rest("undecoded")

    @classmethod
    def codec(cls, table: TableMap, before: bytes, after: bytes) -> RowsCodec:
        """Most events of a table have the same bitmaps, so the codec is kept with the table map."""
        kept: dict[Any, RowsCodec] = table.__dict__.setdefault("_codecs", {})
        found = kept.get((cls, before, after))
        if found is None:
            if len(kept) >= _MOST_CODECS:
                kept.clear()
            found = kept[cls, before, after] = RowsCodec(cls, table, before, after)
        return found

    @classmethod
    def table_in_force(cls, f: Reader) -> TableMap | None:
        """The table map this event refers to; its columns must be as many as the event says."""
        context: Context = f.context
        table = context.tables.get(f.values["table_id"])
        if table is not None and len(table.types) != f.values["width"]:
            raise DecodeError(
                f"{f.values['width']} columns, the table map of {table.schema}.{table.table} has {len(table.types)}",
                field="width",
            )
        f.values["table"] = table
        return table

    @classmethod
    def _pick_extra(cls, reader: Reader) -> type[Record]:
        typecode = reader.data[reader.pos]
        if typecode == 0:
            return NdbInfo
        if typecode == 1:
            return MovedPartitionInfo if cls.has_before and cls.has_after else PartitionInfo
        return UnknownExtraInfo

    @property
    def is_dummy(self) -> bool:
        """Releases all table maps and holds no rows."""
        return self.table_id == DUMMY_TABLE_ID

    @property
    def ends_statement(self) -> bool:
        return bool(self.flags & STMT_END)

    @property
    def flag_names(self) -> tuple[str, ...]:
        return flag_names(self.flags, ROWS_FLAGS)

    def named(self, image: Image) -> dict[str, Any]:
        """An image as names and Python values; absent columns are absent keys."""
        if self.table is None:
            raise MissingTableMap("no table map is known", **self._place("table_id"))
        named: dict[str, Any] = {}
        for column, value in zip(self.table.columns, image, strict=True):
            if value is not ABSENT:
                title = column.name or f"@{column.index + 1}"
                try:
                    named[title] = value if isinstance(value, JsonDiffs) else column.python(value)
                except GtidalError as error:
                    raise error.at(**self._place(title)) from None
        return named

    def changes(self) -> Iterator[tuple[dict[str, Any] | None, dict[str, Any] | None]]:
        """Each row as (before, after), by name. JSON diffs are applied where the document is there."""
        for row in self.rows:
            before = None if row.before is None else self.named(row.before)
            try:
                after = None if row.after is None else self.named(apply_json_diffs(row))
            except GtidalError as error:
                raise error.at(**self._place("after")) from None
            yield before, after

    def summary(self) -> str:
        name = f"{self.table.schema}.{self.table.table}" if self.table else f"table id {self.table_id}"
        if self.undecoded or (self.table is None and not self.rows):
            return f"{self.operation} {name}, {len(self.undecoded)} bytes"
        return f"{self.operation} {name}, {len(self.rows)} row{'s' * (len(self.rows) != 1)}"


class WriteRowsEvent(RowsEvent):
    has_after = True
    operation = "insert"


class UpdateRowsEvent(RowsEvent):
    has_before = True
    has_after = True
    operation = "update"


class DeleteRowsEvent(RowsEvent):
    has_before = True
    operation = "delete"


@event(20, "PRE_GA_WRITE_ROWS")
class PreGaWriteRows(WriteRowsEvent):
    """Inserted rows, MySQL 5.1.0 to 5.1.15."""

    version = 0


@event(21, "PRE_GA_UPDATE_ROWS")
class PreGaUpdateRows(UpdateRowsEvent):
    """Updated rows, MySQL 5.1.0 to 5.1.15; one bitmap serves both images."""

    version = 0


@event(22, "PRE_GA_DELETE_ROWS")
class PreGaDeleteRows(DeleteRowsEvent):
    """Deleted rows, MySQL 5.1.0 to 5.1.15."""

    version = 0


@event(23, "WRITE_ROWS_V1")
class WriteRowsV1(WriteRowsEvent):
    """Inserted rows, MySQL 5.1.16 to 5.6 and MariaDB."""

    version = 1


@event(24, "UPDATE_ROWS_V1")
class UpdateRowsV1(UpdateRowsEvent):
    """Updated rows, MySQL 5.1.16 to 5.6 and MariaDB."""

    version = 1


@event(25, "DELETE_ROWS_V1")
class DeleteRowsV1(DeleteRowsEvent):
    """Deleted rows, MySQL 5.1.16 to 5.6 and MariaDB."""

    version = 1


@event(30, "WRITE_ROWS")
class WriteRows(WriteRowsEvent):
    """Inserted rows."""


@event(31, "UPDATE_ROWS")
class UpdateRows(UpdateRowsEvent):
    """Updated rows."""


@event(32, "DELETE_ROWS")
class DeleteRows(DeleteRowsEvent):
    """Deleted rows."""


@event(39, "PARTIAL_UPDATE_ROWS")
class PartialUpdateRows(UpdateRowsEvent):
    """Updated rows in which a JSON column may come as the difference to the before image."""

    partial = True
