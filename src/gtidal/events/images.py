"""Row images: the values of a row's columns, before and after a change, and how they lie in a rows event.

An image has a place for every column of the table: ``ABSENT`` where it does not hold the column, ``None`` for
NULL, else the physical value (``columns.shapes``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gtidal.columns import jsonb
from gtidal.columns.types import Column
from gtidal.errors import DecodeError, GtidalError, Truncated
from gtidal.events.table_map import TableMap
from gtidal.wire.layout import Reader, Writer
from gtidal.wire.words import encode_lenenc, read_lenenc

if TYPE_CHECKING:
    from gtidal.events.rows import RowsEvent

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
Image = Sequence[Any]


class PartialImage(Sequence[Any]):
    """An image that holds some columns only. It has a place for every column, and keeps the values that are
    there: a table may have thousands of columns, and an image one of them."""

    __slots__ = ("present", "values")

    def __init__(self, present: Present, values: tuple[Any, ...]) -> None:
        self.present = present
        self.values = values

    def __len__(self) -> int:
        return self.present.width

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(self)[index]
        place = self.present.places.get(range(self.present.width)[index])
        return ABSENT if place is None else self.values[place]

    def __iter__(self) -> Iterator[Any]:
        places = self.present.places
        for index in range(self.present.width):
            place = places.get(index)
            yield ABSENT if place is None else self.values[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple | PartialImage) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (tuple(self),)


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


def apply_json_diffs(row: Row) -> Image:
    """The after image with its JSON diffs applied to the before image, where the document is there and the
    diffs fit it; elsewhere they stay ``JsonDiffs``."""
    after = row.after
    assert after is not None
    if row.before is None or not any(isinstance(value, JsonDiffs) for value in after):
        return after
    image = list(after)
    for index, value in enumerate(image):
        document = row.before[index]
        if isinstance(value, JsonDiffs) and document is not ABSENT and document is not None:
            with suppress(DecodeError):  # it does not fit the document: the diff itself is all there is
                image[index] = value.apply(document)
    return tuple(image)


class Present:
    """Which columns an image holds, worked out once: columns, readers, and the size of the null bitmap."""

    __slots__ = ("columns", "full", "indexes", "null_size", "places", "readers", "width")

    def __init__(self, columns: tuple[Column, ...], bitmap: bytes) -> None:
        bits = int.from_bytes(bitmap, "little")
        self.width = len(columns)
        self.indexes = tuple(i for i in range(self.width) if bits >> i & 1)
        self.places = {index: place for place, index in enumerate(self.indexes)}
        self.columns = tuple(columns[i] for i in self.indexes)
        self.readers = tuple(column.shape.read for column in self.columns)
        self.full = len(self.indexes) == self.width
        self.null_size = (len(self.indexes) + 7) // 8


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
        self.before = Present(table.columns, before) if event.has_before else None
        self.after = Present(table.columns, after) if event.has_after else None
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
                error.args = (error.message,)
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
        return PartialImage(present, tuple(values))

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
