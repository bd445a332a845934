"""What typed rows must be, told by the reference decoder's values; and reading them."""

from __future__ import annotations

import datetime
import io
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa

from gtidal.columnar.scanning import LogScan, Scan
from gtidal.columnar.selection import Selection
from gtidal.columnar.table_schema import TableSchema
from gtidal.columnar.table_versions import find_versions
from gtidal.columnar.variant import decode_typed, encode_value
from gtidal.columnar.variant.documents import read_document
from gtidal.columnar.windows import WindowReader
from gtidal.columns.charsets import BINARY, collation_decoder
from gtidal.columns.meanings import Meaning
from gtidal.columns.temporal import Date, DateTime
from gtidal.columns.types import Column
from gtidal.errors import DecodeError, Truncated
from gtidal.events.images import ABSENT, JsonDiffs, apply_json_diffs
from gtidal.events.registry import Event
from gtidal.events.rows import RowsEvent
from gtidal.events.transaction import TransactionPayload
from gtidal.log.decoder import Keys, LogDecoder
from gtidal.log.tables import column_title

Named = dict[str, Any]


class NoText(Exception):
    """Bytes that are no text in their column's charset: typed rows end before the row, with an error."""


FILE = "binlog.000001"


def reader_of(log: bytes, keys: Keys | None = None, **options: Any) -> WindowReader:
    return WindowReader(io.BytesIO(log), FILE, keys=keys, verify_checksum=False, **options)


def schema_of(log: bytes, table: str, keys: Keys | None = None, images: str = "variant") -> TableSchema:
    schema, name = table.split(".", 1)
    return TableSchema(schema, name, find_versions(reader_of(log, keys), schema, name), images)


def read_rows(
    log: bytes,
    schema: TableSchema,
    keys: Keys | None = None,
    columns: list[str] | None = None,
    **options: Any,
) -> Iterator[pa.RecordBatch]:
    """All rows, whatever became of their transactions."""
    names = tuple(schema.arrow_schema().names if columns is None else columns)
    selection = Selection(include_uncommitted=True)
    scan = Scan(
        names, selection, keys=keys, table=schema, images=schema.images, verify_checksum=False, **options
    )
    for batch in LogScan(io.BytesIO(log), FILE, scan).rows():
        batch.validate(full=True)
        assert batch.schema == schema.arrow_schema(columns)
        yield batch


def plain(value: Any) -> Any:
    """A value of a batch in words that can be compared: documents with the types of all their parts."""
    if isinstance(value, dict) and value.keys() == {"value", "metadata"}:
        return decode_typed(value["value"], value["metadata"])
    return value


def shown(batches: Iterator[pa.RecordBatch]) -> list[Named]:
    return [
        {name: plain(value) for name, value in row.items()} for batch in batches for row in batch.to_pylist()
    ]


# --- the reference


def events(log: bytes, keys: Keys | None = None) -> Iterator[Event]:
    decoder = LogDecoder(FILE, verify_checksum=False, keys=keys)
    decoder.receive_data(log)
    while (frame := decoder.next_frame()) is not None:
        event = decoder.decode(frame)
        if isinstance(event, TransactionPayload):
            for _, inner in decoder.inner(event):
                yield inner
        else:
            yield event


def tables_of(log: bytes, keys: Keys | None = None) -> dict[str, list[RowsEvent]]:
    """The rows events of each table, in order."""
    tables: dict[str, list[RowsEvent]] = {}
    for event in events(log, keys):
        if isinstance(event, RowsEvent) and event.table is not None:
            tables.setdefault(f"{event.table.schema}.{event.table.table}", []).append(event)
    return tables


def expected_rows(found: list[RowsEvent], schema: TableSchema) -> Iterator[Named]:
    fields = {field.name.lower(): field for field in schema.arrow_schema()}
    own = [name.lower() for name in schema.names]
    for event in found:
        assert event.table is not None
        names = ["insert"] if event.operation == "insert" else ["delete"]
        if event.operation == "update":
            names = ["update_preimage", "update_postimage"]
        for row in event.rows:
            after = None if row.after is None else apply_json_diffs(row)
            for change_type, image in zip(
                names, [each for each in (row.before, after) if each is not None], strict=True
            ):
                values: Named = dict.fromkeys(own)
                for column, value in zip(event.table.columns, image, strict=True):
                    name = column_title(column).lower()
                    name = name if name in fields and name in own else name + "_"
                    values[name] = expected(column, value, fields[name].type)
                yield {"_change_type": change_type, **values}


def expected(column: Column, physical: Any, kind: pa.DataType) -> Any:
    if physical is None or physical is ABSENT:
        return None
    if column.type.meaning is Meaning.JSON:
        if isinstance(physical, JsonDiffs):
            document: Any = {f"{column_title(column)} (diff)": physical.diffs}
        else:
            document = read_document(physical)
        return decode_typed(*encode_value(document))
    value = column.python(physical)
    if isinstance(value, Date | DateTime):
        return None
    if column.type.meaning is Meaning.GEOMETRY:
        return {"srid": value.srid, "wkb": value.wkb}
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, bytes):
        known = column.charset is not None and collation_decoder(column.charset) is not None
        if known and column.charset != BINARY:
            raise NoText(column_title(column))
        return bytes(value)
    if value == "" and pa.types.is_binary(kind):  # the ENUM's value for what was none of its labels
        return b""
    if pa.types.is_string(kind) and isinstance(value, Decimal | int):
        return f"{Decimal(value):f}"
    if pa.types.is_timestamp(kind) and type(value) is datetime.date:
        return datetime.datetime(value.year, value.month, value.day)
    return value


def difference(
    log: bytes, table: str, found: list[RowsEvent], keys: Keys | None = None, **options: Any
) -> str | None:
    """How the typed rows of a table differ from what the reference decoder says; None if they do not."""
    schema = schema_of(log, table, keys)
    want: list[Named] = []
    have: list[Named] = []
    no_text = error = None
    try:
        for row in expected_rows(found, schema):
            want.append(row)
    except NoText as problem:
        no_text = str(problem)
    try:
        for batch in read_rows(log, schema, keys, **options):
            have.extend(shown(iter([batch])))
    except Truncated:
        pass  # some logs end inside an event; what is before it must be there all the same
    except DecodeError as problem:
        error = problem
    if no_text is not None:
        if (
            error is None
            or error.field != no_text
            or "no text" not in error.message
            or error.position is None
        ):
            return f"no error for what is no text in {no_text}, but {error}"
        if want and want[-1]["_change_type"] == "update_preimage":
            want.pop()  # of a change both images are given, or none
    elif error is not None:
        return f"{type(error).__name__}: {error}"
    if len(want) != len(have):
        return f"{len(have)} rows, not {len(want)}"
    for number, (one, other) in enumerate(zip(want, have, strict=True)):
        others = {key.lower(): each for key, each in other.items()}
        for name, value in one.items():
            if not same(value, others[name]):
                return f"row {number}, {name}: {others[name]!r:.200} is not {value!r:.200}"
    return None


def same(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    if isinstance(one, float) and isinstance(other, float):
        return one == other or (one != one and other != other)
    if isinstance(one, bool) != isinstance(other, bool):
        return bool(one == other)
    return bool(one == other)
