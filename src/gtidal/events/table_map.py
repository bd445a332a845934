"""TABLE_MAP: the table whose rows follow, as its columns lie in row images."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import cached_property
from typing import ClassVar, TypeVar

from gtidal.columns.types import Column, make_columns
from gtidal.errors import DecodeError, GtidalError
from gtidal.events.header import flag_names
from gtidal.events.registry import Event, event, walk_post_header_extra
from gtidal.wire.layout import Fields, Reader, Record

TABLE_FLAGS = {
    0x0001: "BIT_LEN_EXACT",
    0x0002: "REFERRED_FK_DB",
    0x0004: "GENERATED_INVISIBLE_PK",
    0x4000: "HAS_TRIGGERS",
}
DUMMY_TABLE_ID = 0xFFFFFF
MOST_COLUMNS = 4096
"""The limit of both servers."""


class Metadata(Record):
    """One optional part of a table map: a type, a length, a value."""

    tag: int

    title: ClassVar[str] = ""


METADATA: dict[int, type[Metadata]] = {}
M = TypeVar("M", bound=type[Metadata])


def metadata(tag: int, title: str) -> Callable[[M], M]:
    def register(cls: M) -> M:
        METADATA[tag] = cls
        cls.title = title
        return cls

    return register


class BitsMetadata(Metadata):
    """A bit for each column of a kind, the first in the highest bit."""

    bits: bytes

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.u8("tag")
        f.lenenc_bytes("bits")


class NumbersMetadata(Metadata):
    numbers: tuple[int, ...]

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.u8("tag")
        f.sized_numbers("numbers", "lenenc")


class Labels(Record):
    """The labels of one ENUM or SET column, in the column's character set."""

    labels: tuple[bytes, ...]

    @classmethod
    def walk(cls, f: Fields) -> None:
        count = f.lenenc_count("labels")
        f.numbers("labels", "lenenc_bytes", count=count)


class LabelsMetadata(Metadata):
    columns: tuple[Labels, ...]

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.u8("tag")
        size = f.lenenc_size("columns")
        f.records("columns", lambda _: Labels, size=size, most=MOST_COLUMNS)


@metadata(1, "SIGNEDNESS")
class Signedness(BitsMetadata):
    """A bit for each numeric column; set means unsigned."""


@metadata(2, "DEFAULT_CHARSET")
class DefaultCharset(NumbersMetadata):
    """The collation of most character columns, then pairs: which of them differs, and its collation."""


@metadata(3, "COLUMN_CHARSET")
class ColumnCharset(NumbersMetadata):
    """A collation for each character column."""


@metadata(4, "COLUMN_NAME")
class ColumnName(Metadata):
    names: tuple[str, ...]

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.u8("tag")
        f.sized_numbers("names", "lenenc_text")


@metadata(5, "SET_STR_VALUE")
class SetLabels(LabelsMetadata):
    """The members of each SET column."""


@metadata(6, "ENUM_STR_VALUE")
class EnumLabels(LabelsMetadata):
    """The labels of each ENUM column."""


@metadata(7, "GEOMETRY_TYPE")
class GeometryType(NumbersMetadata):
    """The kind of each geometry column."""


@metadata(8, "SIMPLE_PRIMARY_KEY")
class SimplePrimaryKey(NumbersMetadata):
    """The columns of the primary key, counted from 0."""


@metadata(9, "PRIMARY_KEY_WITH_PREFIX")
class PrimaryKeyWithPrefix(NumbersMetadata):
    """Pairs: a column of the primary key, and how many characters of it (0 for all)."""


@metadata(10, "ENUM_AND_SET_DEFAULT_CHARSET")
class EnumAndSetDefaultCharset(NumbersMetadata):
    """As DEFAULT_CHARSET, for ENUM and SET columns."""


@metadata(11, "ENUM_AND_SET_COLUMN_CHARSET")
class EnumAndSetColumnCharset(NumbersMetadata):
    """As COLUMN_CHARSET, for ENUM and SET columns."""


@metadata(12, "COLUMN_VISIBILITY")
class ColumnVisibility(BitsMetadata):
    """A bit for each column; clear means invisible."""


@metadata(13, "VECTOR_DIMENSIONALITY")
class VectorDimensionality(NumbersMetadata):
    """How many numbers each vector column holds."""


class UnknownMetadata(Metadata):
    """A part nobody told us about."""

    data: bytes

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.u8("tag")
        f.lenenc_bytes("data")


def _pick(reader: Reader) -> type[Record]:
    return METADATA.get(reader.data[reader.pos], UnknownMetadata)


def walk_table_id(f: Fields, code: int) -> None:
    """Six bytes; four before MySQL 5.1.4, told by the announced length of the fixed part."""
    if f.context.format.post_header_length(code, 8) == 6:
        f.u32("table_id")
    else:
        f.u48("table_id")
    f.u16("flags")


@event(19, "TABLE_MAP")
class TableMap(Event):
    """Names a table by number for the rows events that follow."""

    table_id: int
    flags: int
    schema: str
    table: str
    types: bytes
    metadata: bytes | None = None
    """None before MySQL 5.1.18, together with ``null_bitmap``."""
    null_bitmap: bytes | None = None
    optional: tuple[Metadata, ...] = ()
    mariadb: bool = field(default=False, compare=False, repr=False)
    """Whose log this is: MariaDB counts geometry columns among those that have a character set."""

    @classmethod
    def walk(cls, f: Fields) -> None:
        walk_table_id(f, 19)
        walk_post_header_extra(f, 19, 8)
        f.lenenc_text("schema")
        f.zero()
        f.lenenc_text("table")
        f.zero()
        columns = f.lenenc_size("types")
        if columns > MOST_COLUMNS:
            raise DecodeError(f"{columns} columns; a table has at most {MOST_COLUMNS}", field="types_size")
        f.raw("types", columns)
        if f.present("metadata"):
            f.lenenc_bytes("metadata")
            f.raw("null_bitmap", (columns + 7) // 8)
            f.records("optional", _pick, most=255)
        f.computed("mariadb", f.context.format.is_mariadb)

    def part(self, kind: type[P]) -> P | None:
        """The optional part of this kind, if it is there."""
        return next((part for part in self.optional if isinstance(part, kind)), None)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns with all that the log says about them."""
        try:
            return self._make_columns()
        except GtidalError as error:
            raise error.at(**self._place("columns")) from None

    def _make_columns(self) -> tuple[Column, ...]:
        def bits(kind: type[BitsMetadata]) -> bytes | None:
            found = self.part(kind)
            return found.bits if found else None

        def numbers(kind: type[NumbersMetadata]) -> tuple[int, ...] | None:
            found = self.part(kind)
            return found.numbers if found else None

        def pairs(values: tuple[int, ...]) -> list[tuple[int, int]]:
            return list(zip(values[::2], values[1::2], strict=False))

        def default(kind: type[NumbersMetadata]) -> tuple[int, list[tuple[int, int]]] | None:
            found = numbers(kind)
            return (found[0], pairs(found[1:])) if found else None

        def labels(kind: type[LabelsMetadata]) -> list[tuple[bytes, ...]] | None:
            found = self.part(kind)
            return [column.labels for column in found.columns] if found else None

        names = self.part(ColumnName)
        prefix_key = numbers(PrimaryKeyWithPrefix)
        return make_columns(
            self.types,
            self.metadata or b"",
            b"\xff" * ((len(self.types) + 7) // 8) if self.null_bitmap is None else self.null_bitmap,
            signedness=bits(Signedness),
            default_charset=default(DefaultCharset),
            column_charsets=numbers(ColumnCharset),
            names=names.names if names else None,
            set_labels=labels(SetLabels),
            enum_labels=labels(EnumLabels),
            geometry_types=numbers(GeometryType),
            simple_key=numbers(SimplePrimaryKey),
            prefix_key=None if prefix_key is None else pairs(prefix_key),
            enum_set_default_charset=default(EnumAndSetDefaultCharset),
            enum_set_charsets=numbers(EnumAndSetColumnCharset),
            visibility=bits(ColumnVisibility),
            dimensions=numbers(VectorDimensionality),
            mariadb=self.mariadb,
        )

    @property
    def flag_names(self) -> tuple[str, ...]:
        return flag_names(self.flags, TABLE_FLAGS)

    def summary(self) -> str:
        return f"{self.schema}.{self.table} (id {self.table_id}), {len(self.types)} column{'s' * (len(self.types) != 1)}"


P = TypeVar("P", bound=Metadata)
