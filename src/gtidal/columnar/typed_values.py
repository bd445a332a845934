"""Typed columns from the reference decoder's values: what the kernel refuses comes here, and becomes the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from gtidal.columnar.arrow_types import holds_text, logical_type, spark_type
from gtidal.columnar.lanes import adapt, exact_text
from gtidal.columnar.variant import encode_value, json_text
from gtidal.columnar.variant.documents import read_document
from gtidal.columns.charsets import Undecoded
from gtidal.columns.meanings import Meaning
from gtidal.columns.temporal import Date, DateTime
from gtidal.columns.types import Column
from gtidal.errors import DecodeError
from gtidal.events.images import ABSENT, JsonDiffs
from gtidal.log.tables import column_title

Value = Callable[[Any], Any]
"""From a physical value, never None, to what ``pa.array`` takes."""

SEE_CHANGES = "the view changes shows it as it is"


class TypedColumn:
    """Makes the values of one column what an Arrow array of the merged schema's type holds."""

    def __init__(self, column: Column, wanted: pa.DataType, images: str) -> None:
        self.column = column
        self.own = logical_type(column)
        self.wanted = wanted
        self.images = images
        self._value = self._maker()

    def array(self, values: Sequence[Any]) -> pa.Array:
        """Of values that ``value`` made."""
        return adapt(pa.array(values, spark_type(self.own, self.images)), self.own, self.wanted, self.images)

    def value(self, physical: Any) -> Any:
        """A value of an image; absent and NULL are null. Raises for what the type cannot hold."""
        return None if physical is None or physical is ABSENT else self._value(physical)

    def _maker(self) -> Value:
        column = self.column
        match column.type.meaning:
            case Meaning.EXACT if self.own != spark_type(self.own):
                return exact_text
            case Meaning.DATE | Meaning.DATETIME | Meaning.TIMESTAMP:
                return self._moment
            case Meaning.CHARACTERS | Meaning.COMPRESSED:
                return self._text if holds_text(column) else lambda value: bytes(column.python(value))
            case Meaning.ENUM if column.labels is not None:
                return self._enum
            case Meaning.SET if column.labels is not None:
                return self._set
            case Meaning.JSON:
                return self._document
            case Meaning.GEOMETRY:
                return self._geometry
            case Meaning.VECTOR:
                return self._vector
            case Meaning.NULL | Meaning.UNKNOWN:
                return lambda value: None
        return column.python

    def _moment(self, value: Any) -> Any:
        found = self.column.python(value)
        return None if isinstance(found, Date | DateTime) else found

    def _text(self, value: Any) -> str:
        return self._checked_text(self.column.python(value))

    def _checked_text(self, text: Any) -> str:
        if isinstance(text, Undecoded):
            raise self._unfit(
                f"{bytes(text)!r:.80} is no text in {text.charset}: the view changes shows it as binary, "
                "assume_charset or schema_from say what it is"
            )
        try:
            text.encode()
        except UnicodeEncodeError:
            raise self._unfit(f"half a surrogate pair; {SEE_CHANGES}") from None
        return str(text)

    def _label(self, label: Any) -> str | bytes:
        return self._checked_text(label) if holds_text(self.column) else bytes(label)

    def _enum(self, value: Any) -> str | bytes:
        label = self.column.python(value)
        if isinstance(label, int):
            raise self._unfit(
                f"{label}, and the ENUM has {len(self.column.labels or ())} labels; {SEE_CHANGES}"
            )
        return self._label(label) if label else b"" if self.own == pa.binary() else ""

    def _set(self, value: Any) -> list[str | bytes]:
        labels = self.column.python(value)
        if isinstance(labels, int):
            raise self._unfit(
                f"{labels:#x}, and the SET has {len(self.column.labels or ())} labels; {SEE_CHANGES}"
            )
        return [self._label(label) for label in labels]

    def _document(self, value: Any) -> Any:
        if isinstance(value, JsonDiffs):  # there is no document to apply them to: this is said, not hidden
            document: Any = {f"{column_title(self.column)} (diff)": value.diffs}
        else:
            document = read_document(value)
        binary, metadata = encode_value(document)
        return (
            json_text(binary, metadata) if self.images == "json" else {"value": binary, "metadata": metadata}
        )

    def _geometry(self, value: Any) -> dict[str, Any]:
        srid, wkb = self.column.python(value)
        if srid is not None and srid >= 1 << 31:
            raise self._unfit(f"the SRID {srid}, which has more than 31 bits; {SEE_CHANGES}")
        return {"srid": srid, "wkb": wkb}

    def _vector(self, value: Any) -> list[float]:
        numbers = self.column.python(value)
        if isinstance(numbers, bytes):
            raise self._unfit(
                f"a VECTOR of {len(numbers)} bytes, whose last number is not whole; {SEE_CHANGES}"
            )
        return list(numbers)

    def _unfit(self, reason: str) -> DecodeError:
        return DecodeError(reason, field=column_title(self.column))
