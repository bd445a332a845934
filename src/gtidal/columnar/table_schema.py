"""One schema for all versions of a table.

A table that changed while the logs were written has several definitions. Columns are the same if their names are, in
any case of letters, as MySQL has it; those without names are matched by number (``@3``). The fields of a schema are the
columns of the newest version in their order, then those it no longer has. A column that a version lacks is null there.

A type that changed is widened where every value stays exactly what it was:

    integers              to the larger one, to a decimal, and up to 32 bits to DOUBLE
    BIT(1), BIT, YEAR     as the integers they are
    DECIMAL               to digits enough before and after the point; beyond 38 digits to text
    FLOAT                 to DOUBLE
    DATE                  to DATETIME, at midnight, as ALTER TABLE does
    ENUM                  to text

Anything else (a number that became text, bytes that became text, DATETIME and TIMESTAMP) is a conflict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from gtidal.columnar.arrow_types import NOTHING, TIMESTAMP_NTZ, decimal_type, logical_type, spark_type
from gtidal.columnar.schemas import ROWS
from gtidal.columns.types import Column
from gtidal.errors import DecodeError, SchemaConflict
from gtidal.log.tables import TableVersion, column_title, sql_type

_DIGITS = {pa.bool_(): 1, pa.int8(): 3, pa.int16(): 5, pa.int32(): 10, pa.int64(): 19}
"""The decimal digits that an integer may have."""
_INTEGERS = list(_DIGITS)
_EXACT_IN_A_DOUBLE = _INTEGERS[:4]
_RESERVED = {*(name.lower() for name in ROWS.names), "_corrupt"}
"""Names that our own columns have, in one mode or another."""


def widen(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """A type that holds the values of both exactly; None if there is none."""
    if one == other or other == NOTHING:
        return one
    if one == NOTHING:
        return other
    if one in _DIGITS and other in _DIGITS:
        return max(one, other, key=_INTEGERS.index)
    if _is_exact(one) and _is_exact(other):
        return _wider_decimal(one, other)
    for this, that in ((one, other), (other, one)):
        if pa.types.is_floating(this) and (pa.types.is_floating(that) or that in _EXACT_IN_A_DOUBLE):
            return pa.float64()
        if this == pa.date32() and that == TIMESTAMP_NTZ:
            return TIMESTAMP_NTZ
    return None


def _is_exact(kind: pa.DataType) -> bool:
    return pa.types.is_decimal(kind) or kind in _DIGITS


def _wider_decimal(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    scale = max(_scale(one), _scale(other))
    whole = max(_whole_digits(one), _whole_digits(other))
    return decimal_type(whole + scale, scale)


def _scale(kind: pa.DataType) -> int:
    return 0 if kind in _DIGITS else int(kind.scale)


def _whole_digits(kind: pa.DataType) -> int:
    return _DIGITS[kind] if kind in _DIGITS else int(kind.precision - kind.scale)


@dataclass(slots=True)
class Field:
    """A column of the merged schema."""

    name: str
    kind: pa.DataType
    """The logical type."""
    column: Column
    """As the version has it that made the type what it is; for messages."""
    version: TableVersion


class TableSchema:
    """The merged schema of a table's versions, given in the order in which they appeared."""

    def __init__(
        self, schema: str, table: str, versions: Sequence[TableVersion], images: str = "variant"
    ) -> None:
        self.schema = schema
        self.table = table
        self.images = images
        self.versions = tuple(versions)
        merged: dict[str, Field] = {}
        for version in versions:
            self._merge(merged, version)
        newest = [column_title(column).lower() for column in versions[-1].columns] if versions else []
        dropped = [key for key in merged if key not in set(newest)]
        self.fields = {key: merged[key] for key in [*dict.fromkeys(newest), *dropped]}
        """By the name in small letters."""

    @property
    def title(self) -> str:
        return f"{self.schema}.{self.table}"

    def _merge(self, merged: dict[str, Field], version: TableVersion) -> None:
        titles = [column_title(column).lower() for column in version.columns]
        if len(set(titles)) < len(titles):
            twice = next(title for title in titles if titles.count(title) > 1)
            raise DecodeError(
                f"two columns of {self.title} are called {twice}",
                file=version.file,
                position=version.position,
            )
        for column in version.columns:
            name = column_title(column)
            kind = logical_type(column)
            known = merged.get(name.lower())
            if known is None:
                merged[name.lower()] = Field(name, kind, column, version)
                continue
            wider = widen(known.kind, kind)
            if wider is None:
                raise self._conflict(known, Field(name, kind, column, version))
            known.name = name
            if wider != known.kind:
                known.kind, known.column, known.version = wider, column, version

    def _conflict(self, one: Field, other: Field) -> SchemaConflict:
        def described(field: Field) -> str:
            version = field.version
            return f"{sql_type(field.column)} ({field.kind}) at {version.file}:{version.position}"

        return SchemaConflict(
            f"column {other.name} of {self.title} is {described(one)} and {described(other)}: no type holds both "
            "exactly; read the two parts of the log for themselves, or the view changes",
            file=other.version.file,
            position=other.version.position,
            field=other.name,
        )

    def check(self, columns: Sequence[Column], file: str, position: int) -> None:
        """Raise if a version holds what the schema does not: the table changed after its versions were looked for."""
        for column in columns:
            field = self.fields.get(column_title(column).lower())
            if field is None or widen(field.kind, logical_type(column)) != field.kind:
                raise SchemaConflict(
                    f"{self.title} has a column {column_title(column)} {sql_type(column)} that its schema does not "
                    "hold: the table was changed after the schema was made; read again",
                    file=file,
                    position=position,
                    field=column_title(column),
                )

    @property
    def names(self) -> list[str]:
        """Of the fields, as they are called in batches."""
        return [batch_name(field.name) for field in self.fields.values()]

    def arrow_schema(self, columns: Sequence[str] | None = None) -> pa.Schema:
        """That of a batch: the columns of every table, then the table's own; or some of them."""
        own = [
            pa.field(batch_name(field.name), spark_type(field.kind, self.images))
            for field in self.fields.values()
        ]
        whole = pa.schema([*ROWS, *own])
        return whole if columns is None else pa.schema([whole.field(name) for name in columns])


def batch_name(name: str) -> str:
    """A column's name in batches: what is no UTF-8 is escaped, and the names before a table's own are taken."""
    text = name.encode("utf-8", "backslashreplace").decode()
    return text + "_" if text.lower() in _RESERVED else text
