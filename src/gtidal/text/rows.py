"""The rows of an event as the reference tools print them: commented SQL, ``### INSERT INTO …``.

    printer = RowPrinter(2, print_metadata=False)
    for event in log: print(printer.rows(event))

What a table's columns and an image's bitmap decide is worked out once and kept, by the table's definition:
a log repeats the same table map before every few rows. The rules are those of Rows_log_event::print_verbose
and print_verbose_one_row in MySQL 9.7 and MariaDB 11.8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gtidal.columns.types import Column
from gtidal.errors import GtidalError
from gtidal.events.images import PARTIAL_JSON, Image, JsonDiffs, Present
from gtidal.events.rows import MovedPartitionInfo, NdbInfo, PartitionInfo, RowsEvent
from gtidal.events.table_map import TableMap, VectorDimensionality
from gtidal.text.metadata import metadata_text
from gtidal.text.values import Stop, Text, printers_of
from gtidal.wire.words import read_lenenc

_JSON = 245
_MAX_TABLES = 10_000
VERBS = {"insert": "INSERT INTO", "update": "UPDATE", "delete": "DELETE FROM"}

Step = tuple[str, Text, str, str]
"""Of one column: what comes before its value, the value's printer, what follows, and the line for NULL."""


class ImagePrinter:
    """Prints the images that hold the same columns of the same table."""

    __slots__ = ("columns", "indexes", "last_words", "steps")

    def __init__(self, table: TableMap, bitmap: bytes, options: RowPrinter) -> None:
        present = Present(table.columns, bitmap)
        part = table.part(VectorDimensionality)
        printers = printers_of(
            present.columns,
            part.numbers if part else (),
            mariadb=options.mariadb,
            geometry=options.geometry,
        )
        self.columns = present.columns
        self.indexes = None if present.full else present.indexes
        self.last_words: str | None = None
        """Said where the tool gives up on the image, and with it on the event; None if it does not."""
        steps: list[Step] = []
        for column, (name, text) in zip(present.columns, printers, strict=True):
            before = f"###   @{column.index + 1}="
            if text is None:
                self.last_words = before + options.cannot_print(column)
                break
            after, null = "\n", "NULL\n"
            if options.verbosity > 1:
                comment = f" /* {name} meta={column.metadata} nullable={int(column.nullable)} is_null="
                after, null = f"{comment}0 */\n", f"NULL{comment}1 */\n"
            steps.append((before, text, after, before + null))
        if not present.columns and not options.mariadb:
            self.last_words = ""  # an image of no bytes: taken for a failure
        self.steps = tuple(steps)

    def lines(self, image: Image) -> str:
        values = image if self.indexes is None else [image[index] for index in self.indexes]
        try:
            return "".join(
                [
                    null if value is None else f"{before}{text(value)}{after}"
                    for value, (before, text, after, null) in zip(values, self.steps, strict=False)
                ]
            )
        except Stop:
            raise Stop(self._until_stop(values)) from None

    def _until_stop(self, values: Any) -> str:
        out: list[str] = []
        for value, (before, text, after, null) in zip(values, self.steps, strict=False):
            try:
                out.append(null if value is None else f"{before}{text(value)}{after}")
            except Stop as stop:
                out.append(before + stop.text)
                break
        return "".join(out)


class TablePrinter:
    """What is kept of a table: its name as the tools quote it, and a printer for each bitmap seen."""

    __slots__ = ("images", "name", "plain_name")

    def __init__(self, table: TableMap) -> None:
        schema, name = table.schema.replace("`", "``"), table.table.replace("`", "``")
        self.name = f"`{schema}`.`{name}`"
        self.plain_name = f"`{table.schema}`.`{table.table}`"
        self.images: dict[bytes, ImagePrinter] = {}


class RowPrinter:
    """Prints rows events (``verbosity`` 1 for -v, 2 for -vv) and table maps' metadata.

    ``geometry`` goes on where MySQL's tool stops, at a GEOMETRY column. ``flavor`` "mariadb" is how
    mariadb-binlog prints."""

    def __init__(
        self, verbosity: int, print_metadata: bool, geometry: bool = False, flavor: str = "mysql"
    ) -> None:
        self.verbosity = verbosity
        self.print_metadata = print_metadata
        self.geometry = geometry
        self.mariadb = flavor == "mariadb"
        self._tables: dict[Any, TablePrinter] = {}
        self._last: tuple[TableMap | None, TablePrinter | None] = None, None

    def table_metadata(self, table: TableMap) -> str:
        """The lines of --print-table-metadata; nothing if it is off."""
        return metadata_text(table, mariadb=self.mariadb) if self.print_metadata else ""

    def rows(self, event: RowsEvent) -> str:
        """The block of -v or -vv; nothing without them. An event whose rows could not be decoded
        (``undecoded``) is printed as far as it goes."""
        if self.verbosity < 1:
            return ""
        extra = "".join(self._extra_info(event)) if event.extra_info else ""
        table = event.table
        if table is None:
            return f"{extra}### Row event for unknown table #{event.table_id}"
        known = self._table(table)
        if event.has_after and not event.has_before and not event.rows and not event.undecoded:
            name = known.name if self.mariadb else known.plain_name
            return f"{extra}### INSERT INTO {name} VALUES ()\n"
        head = f"### {VERBS[event.operation]} {known.name}\n"
        images: list[tuple[int, str, ImagePrinter]] = []
        if event.has_before:
            images.append((0, "### WHERE\n", self._image(known, table, event.before_columns)))
        if event.has_after:
            images.append((1, "### SET\n", self._image(known, table, event.after_columns)))
        out = [extra]
        if event.undecoded and not event.rows:
            out.extend(_DamagedRows(event, head, images).text())
        elif len(images) == 1 and images[0][2].last_words is None:
            self._plain_rows(event, head, images[0], out)
        else:
            self._any_rows(event, head, images, out)
        return "".join(out)

    @staticmethod
    def _plain_rows(
        event: RowsEvent, head: str, image: tuple[int, str, ImagePrinter], out: list[str]
    ) -> None:
        place, clause, printer = image
        head += clause
        lines: Callable[[Any], str] = printer.lines
        try:
            for row in event.rows:
                out.append(head)
                out.append(lines(row[place]))
        except Stop as stop:
            out.append(stop.text)

    def _any_rows(
        self, event: RowsEvent, head: str, images: list[tuple[int, str, ImagePrinter]], out: list[str]
    ) -> None:
        for row in event.rows:
            out.append(head)
            for place, clause, printer in images:
                if self.mariadb and not printer.columns and len(images) > 1 and place == 1:
                    out.append("### SET /* no columns */\n")
                    continue
                out.append(clause)
                image: Any = row[place]
                try:
                    out.append(printer.lines(image))
                except Stop as stop:
                    out.append(stop.text)
                    return
                # The after image of a partial update has bytes even without columns.
                if printer.last_words or (printer.last_words == "" and not (event.partial and place == 1)):
                    out.append(printer.last_words)
                    return

    def cannot_print(self, column: Column) -> str:
        """What the tool says of a type that it does not know; MariaDB's says it on standard error."""
        if self.mariadb:
            return ""
        code, meta = column.real_type, column.metadata
        return f"!! Don't know how to handle column type={code} meta={meta} ({f'{meta:04x}'[:4]})\n"

    def _table(self, table: TableMap) -> TablePrinter:
        last, known = self._last
        if last is not None and known is not None and last.columns is table.columns:
            return known
        key = (table.schema, table.table, table.types, table.metadata, table.null_bitmap, table.optional)
        known = self._tables.get(key)
        if known is None:
            if len(self._tables) >= _MAX_TABLES:
                self._tables.clear()
            known = self._tables[key] = TablePrinter(table)
        self._last = table, known
        return known

    def _image(self, known: TablePrinter, table: TableMap, bitmap: bytes) -> ImagePrinter:
        printer = known.images.get(bitmap)
        if printer is None:
            printer = known.images[bitmap] = ImagePrinter(table, bitmap, self)
        return printer

    @staticmethod
    def _extra_info(event: RowsEvent) -> Iterator[str]:
        for info in event.extra_info:
            if isinstance(info, NdbInfo):
                data = f"0x{info.payload.hex().upper()}" if info.payload else '""'
                size = len(info.payload)
                yield f"### Extra row ndb info: data_format: {info.format}, len: {size}, data: {data}\n"
        for info in event.extra_info:
            if isinstance(info, MovedPartitionInfo):
                source, target = info.source_partition_id, info.partition_id
                yield (
                    "### Extra row info for partitioning: "
                    f"source_partition: {source} target_partition: {target}\n"
                )
            elif isinstance(info, PartitionInfo):
                yield f"### Extra row info for partitioning: partition: {info.partition_id}\n"


class _DamagedRows:
    """Prints rows straight from their bytes, up to the one that cannot be read."""

    def __init__(self, event: RowsEvent, head: str, images: list[tuple[int, str, ImagePrinter]]) -> None:
        assert event.table is not None
        self.event = event
        self.head = head
        self.images = images
        self.data = event.undecoded
        self.pos = 0
        self.json_columns = [c.index for c in event.table.columns if c.real_type == _JSON]

    def text(self) -> Iterator[str]:
        while self.pos < len(self.data):
            yield self.head
            for place, clause, printer in self.images:
                try:
                    yield from self._image(place, clause, printer)
                except Stop as stop:
                    yield stop.text
                    return

    def _image(self, place: int, clause: str, printer: ImagePrinter) -> Iterator[str]:
        start = self.pos
        diffs = self._diffs() if place == 1 and self.event.partial else ()
        nulls_size = (len(printer.columns) + 7) // 8
        nulls = int.from_bytes(self.data[self.pos : self.pos + nulls_size], "little")
        self.pos += nulls_size
        yield clause
        for (before, text, after, null), column in zip(printer.steps, printer.columns, strict=False):
            if nulls & 1:
                yield null
            else:
                yield f"{before}{self._value(column, text, column.index in diffs)}{after}"
            nulls >>= 1
        if printer.last_words is not None:
            raise Stop(printer.last_words)
        if self.pos == start:
            raise Stop("")

    def _diffs(self) -> tuple[int, ...]:
        try:
            options, self.pos = read_lenenc(self.data, self.pos, len(self.data))
        except GtidalError:
            raise Stop(
                "*** Error reading binlog_row_value_options from Partial_update_rows_log_event\n"
            ) from None
        if not options & PARTIAL_JSON:
            return ()
        size = (len(self.json_columns) + 7) // 8
        bits = int.from_bytes(self.data[self.pos : self.pos + size], "little")
        self.pos += size
        return tuple(index for place, index in enumerate(self.json_columns) if bits >> place & 1)

    def _value(self, column: Column, text: Text, is_diff: bool) -> str:
        end = len(self.data)
        try:
            read = JsonDiffs.read if is_diff else column.read
            value, self.pos = read(self.data, self.pos, end)
        except GtidalError:
            raise Stop(
                f"###   @{column.index + 1}=***Corrupted replication event was detected: field data is "
                f"truncated; there are only {max(end - self.pos, 0)} bytes left of the event. "
                "Not printing the value***\n"
            ) from None
        try:
            return text(value)
        except Stop as stop:
            raise Stop(f"###   @{column.index + 1}={stop.text}") from None
