"""Rows events: the row images of one table, before and after.

An image holds the values of some columns of the table. Its tuple has a place for every column of the
table: ``ABSENT`` where the image does not hold the column, ``None`` for NULL, else the physical value
(``columns.shapes``). ``event.named(image)`` turns it into names and Python values.

Three generations: pre-GA (5.1.0 to 5.1.15), V1 (until 5.6, and MariaDB), V2. The last two differ in the
fixed part only. The pre-GA servers wrote the null bytes of the table's own record, which the log does not
describe; images that do not come out even as V1 images are kept as bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from gtidal.columns import jsonb
from gtidal.columns.types import Column
from gtidal.errors import DecodeError, GtidalError, MissingTableMap, Truncated
from gtidal.events.header import flag_names
from gtidal.events.registry import Event, event
from gtidal.events.table_map import DUMMY_TABLE_ID, TableMap, walk_table_id
from gtidal.wire.layout import Fields, Reader, Record, Rest, Writer
from gtidal.wire.words import encode_lenenc, read_lenenc

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
JSON_TYPE = 245
OLD_TEMPORALS = {7, 11, 12}
PARTIAL_JSON = 1


class Absent:
    """The value of a column that an image does not hold: not NULL, not a default, not there."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ABSENT"

    def __reduce__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent()
Image = tuple[Any, ...]


class Row(NamedTuple):
    """One changed row."""

    before: Image | None
    after: Image | None
    options: int = 0
    """PARTIAL_UPDATE_ROWS: bit 0 says that JSON columns may come as diffs."""
    partial: bytes = b""
    """Which JSON columns do: a bit for each JSON column of the table."""
    padding: tuple[int, ...] = ()
    """The unused bits of the null bitmaps, where they are not all set as servers write them."""


class JsonDiffs(NamedTuple):
    """What a partial update says of a JSON column: how the document differs from the one before."""

    data: bytes

    @property
    def diffs(self) -> tuple[jsonb.JsonDiff, ...]:
        return jsonb.decode_diffs(self.data)

    def apply(self, document: bytes) -> bytes:
        """The document after the update, from the one before it."""
        return jsonb.encode_json(jsonb.apply_diffs(document, self.diffs))

    @staticmethod
    def read(data: bytes, pos: int, end: int) -> tuple[JsonDiffs, int]:
        """Four bytes of length, then diffs."""
        start = pos + 4
        stop = start + int.from_bytes(data[pos:start], "little")
        if start > end or stop > end:
            raise Truncated(f"a JSON diff needs {stop - end} more bytes")
        return JsonDiffs(data[start:stop]), stop

    def encode(self) -> bytes:
        return len(self.data).to_bytes(4, "little") + self.data


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


class Present:
    """Which columns an image holds, worked out once: columns, readers, and the size of the null bitmap."""

    __slots__ = ("columns", "full", "indexes", "null_size", "readers", "width")

    def __init__(self, columns: tuple[Column, ...], bitmap: bytes) -> None:
        bits = int.from_bytes(bitmap, "little")
        self.width = len(columns)
        self.indexes = tuple(i for i in range(self.width) if bits >> i & 1)
        self.columns = tuple(columns[i] for i in self.indexes)
        self.readers = tuple(column.shape.read for column in self.columns)
        self.full = len(self.indexes) == self.width
        self.null_size = (len(self.indexes) + 7) // 8


def present_columns(table: TableMap, bitmap: bytes) -> Present:
    """Most events of a table have the same bitmap, so the work is kept with the table map."""
    cache: dict[bytes, Present] | None = table.__dict__.get("_present")
    if cache is None:
        cache = table.__dict__["_present"] = {}
    found = cache.get(bitmap)
    if found is None:
        found = cache[bitmap] = Present(table.columns, bitmap)
    return found


def shown(column: Column, value: Any) -> Any:
    """A value as a trace shows it: the logical one where it can be had."""
    try:
        return value if isinstance(value, JsonDiffs) else column.python(value)
    except GtidalError:
        return value


_OLD_TEMPORALS_HINT = (
    " (the table has a TIMESTAMP, TIME or DATETIME in MariaDB's old format, whose size the log does not tell"
    " when it has fractional digits)"
)


class RowsCodec:
    """Reads and writes the row images of one event."""

    def __init__(self, event: type[RowsEvent], table: TableMap, before: bytes, after: bytes) -> None:
        self.event = event
        self.before = present_columns(table, before) if event.has_before else None
        self.after = present_columns(table, after) if event.has_after else None
        self.json_columns = tuple(c.index for c in table.columns if c.real_type == JSON_TYPE)
        self.hint = ""
        if table.mariadb and any(column.real_type in OLD_TEMPORALS for column in table.columns):
            self.hint = _OLD_TEMPORALS_HINT

    def read(self, reader: Reader, name: str) -> tuple[Row, ...]:
        data, end = reader.data, reader.end
        rows: list[Row] = []
        while reader.pos < end:
            start = reader.pos
            try:
                rows.append(self.read_row(reader, data, end, f"{name}[{len(rows)}]."))
            except GtidalError as error:
                error.message += self.hint
                raise error.inside(f"{name}[{len(rows)}]") from None
            if reader.pos == start:
                raise DecodeError("a row of no bytes", field=f"{name}[{len(rows) - 1}]")
        return tuple(rows)

    def read_row(self, reader: Reader, data: bytes, end: int, name: str) -> Row:
        before = after = None
        options, partial = 0, b""
        padding: list[int] = []
        if self.before is not None:
            before = self.read_image(reader, self.before, name + "before.", padding, None)
        if self.after is not None:
            diffs = None
            if self.event.partial:
                options, partial, diffs = self.read_options(reader, name)
            after = self.read_image(reader, self.after, name + "after.", padding, diffs)
        if padding and any(padding):
            return Row(before, after, options, partial, tuple(padding))
        return Row(before, after, options, partial)

    def read_options(self, reader: Reader, name: str) -> tuple[int, bytes, frozenset[int] | None]:
        start = reader.pos
        try:
            options, reader.pos = read_lenenc(reader.data, reader.pos, reader.end)
        except GtidalError as error:
            raise error.at(field="value_options") from None
        reader.note(name + "value_options", start, options)
        if options & ~PARTIAL_JSON:
            raise DecodeError(f"unknown bits in {options:#x}", field="value_options")
        if not options & PARTIAL_JSON:
            return options, b"", None
        start = reader.pos
        partial = reader.take("partial_bits", (len(self.json_columns) + 7) // 8)
        reader.note(name + "partial_bits", start, partial)
        bits = int.from_bytes(partial, "little")
        return options, partial, frozenset(c for i, c in enumerate(self.json_columns) if bits >> i & 1)

    def read_image(
        self, reader: Reader, present: Present, name: str, padding: list[int], diffs: frozenset[int] | None
    ) -> Image:
        data, end, pos = reader.data, reader.end, reader.pos
        size = present.null_size
        stop = pos + size
        if stop > end:
            raise reader.short("null_bitmap", size)
        nulls = int.from_bytes(data[pos:stop], "little")
        count = len(present.readers)
        unused = (1 << 8 * size) - 1 >> count
        padding.append(nulls >> count ^ unused)
        reader.pos = pos = stop
        if reader.tracing:
            reader.note(name + "null_bitmap", stop - size, data[stop - size : stop])
            return self.trace_image(reader, present, name, nulls, diffs)
        values: list[Any] = []
        append = values.append
        try:
            if diffs is None and not nulls & ((1 << count) - 1):
                for read in present.readers:
                    value, pos = read(data, pos, end)
                    append(value)
            else:
                for read, column in zip(present.readers, present.columns, strict=True):
                    if nulls & 1:
                        append(None)
                    else:
                        if diffs and column.index in diffs:
                            value, pos = JsonDiffs.read(data, pos, end)
                        else:
                            value, pos = read(data, pos, end)
                        append(value)
                    nulls >>= 1
        except GtidalError as error:
            raise error.inside(f"@{present.indexes[len(values)] + 1}") from None
        reader.pos = pos
        if present.full:
            return tuple(values)
        image: list[Any] = [ABSENT] * present.width
        for index, value in zip(present.indexes, values, strict=True):
            image[index] = value
        return tuple(image)

    def trace_image(
        self, reader: Reader, present: Present, name: str, nulls: int, diffs: frozenset[int] | None
    ) -> Image:
        image: list[Any] = [ABSENT] * present.width
        for place, column in enumerate(present.columns):
            title = column.name or f"@{column.index + 1}"
            if nulls >> place & 1:
                image[column.index] = None
                continue
            start = reader.pos
            read: Callable[[bytes, int, int], tuple[Any, int]] = column.shape.read
            if diffs and column.index in diffs:
                read = JsonDiffs.read
            try:
                image[column.index], reader.pos = read(reader.data, reader.pos, reader.end)
            except GtidalError as error:
                raise error.inside(name.rpartition("].")[2] + title) from None
            reader.note(name + title, start, shown(column, image[column.index]))
        return tuple(image)

    def write(self, writer: Writer, value: tuple[Row, ...]) -> bytes:
        out = bytearray()
        for row in value:
            padding = list(row.padding)
            if self.before is not None:
                self.write_image(out, self.before, row.before, padding.pop(0) if padding else 0)
            if self.after is not None:
                if self.event.partial:
                    out += encode_lenenc(row.options) + row.partial
                self.write_image(out, self.after, row.after, padding.pop(0) if padding else 0)
        return bytes(out)

    def write_image(self, out: bytearray, present: Present, image: Image | None, padding: int) -> None:
        if image is None or len(image) != present.width:
            raise DecodeError(f"an image needs {present.width} values", field="rows")
        nulls = 0
        body = bytearray()
        for place, column in enumerate(present.columns):
            value = image[column.index]
            if value is None:
                nulls |= 1 << place
            elif isinstance(value, JsonDiffs):
                body += value.encode()
            else:
                body += column.shape.write(value)
        count = len(present.columns)
        unused = ((1 << 8 * present.null_size) - 1 >> count) ^ padding
        out += (nulls | unused << count).to_bytes(present.null_size, "little") + body


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
            f.records("extra_info", cls._pick_extra, size=size)
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

    extra_info: tuple[Record, ...] = ()

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
        start = f.pos
        try:
            bitmaps = f.values.get("before_columns", b""), f.values.get("after_columns", b"")
            f.coded("rows", cls.codec(table, *bitmaps))
        except DecodeError:
            if cls.version:
                raise
            f.pos = start
            f.rest("undecoded")

    @classmethod
    def codec(cls, table: TableMap, before: bytes, after: bytes) -> RowsCodec:
        return RowsCodec(cls, table, before, after)

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

    def _place(self, field: str) -> Any:
        return {"position": self.header.position, "event": self.name, "field": field}

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


def apply_json_diffs(row: Row) -> Image:
    """The after image with its JSON diffs applied to the before image, where the document is there."""
    after = row.after
    assert after is not None
    if row.before is None or not any(isinstance(value, JsonDiffs) for value in after):
        return after
    image = list(after)
    for index, value in enumerate(image):
        document = row.before[index]
        if isinstance(value, JsonDiffs) and document is not ABSENT and document is not None:
            image[index] = value.apply(document)
    return tuple(image)


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
