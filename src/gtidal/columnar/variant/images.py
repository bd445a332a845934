"""Row images as VARIANT: an object with the columns' names for keys.

A column's physical type follows from its declaration, never from the value, so that a column has one type in
all rows. What VARIANT cannot hold exactly is the text that MySQL prints: TIME, zero and impossible dates,
DECIMAL over 38 digits. A column that the image does not hold is an absent key; NULL is a null. The dictionary
begins with all columns of the table in their order; keys of JSON documents follow as they come.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

from gtidal.columnar.variant import writing
from gtidal.columnar.variant.documents import read_document
from gtidal.columnar.variant.writing import Keys
from gtidal.columns import charsets
from gtidal.columns.meanings import Meaning, decompress_column
from gtidal.columns.temporal import DateTime, Timestamp
from gtidal.columns.types import Column
from gtidal.errors import DecodeError, GtidalError
from gtidal.events.images import ABSENT, Image, JsonDiffs
from gtidal.log.tables import column_title

Write = Callable[[Any, Keys], bytes]
"""From a physical value, never None, to VARIANT."""

_ZERO = DateTime(0, 0, 0, 0, 0, 0)


class ImageEncoder:
    """Writes the images of one table. What depends on the columns alone is worked out once."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = tuple(columns)
        titles = [column_title(column) for column in self.columns]
        self._keys: Keys = {title: number for number, title in enumerate(titles)}
        if len(self._keys) < len(titles):
            twice = next(title for title in titles if titles.count(title) > 1)
            raise DecodeError(f"two columns are called {twice}: VARIANT has no place for both")
        meanings = {column.type.meaning for column in self.columns}
        if Meaning.GEOMETRY in meanings:
            for title in ("srid", "wkb"):
                self._keys.setdefault(title, len(self._keys))
        self._adds_keys = Meaning.JSON in meanings
        self._metadata = writing.metadata_of(self._keys)
        writers = [_MAKERS[column.type.meaning](column) for column in self.columns]
        # In the order of the names' bytes, which is that of their code points.
        self._ordered = [
            (number, title, writers[number])
            for title, number in sorted(self._keys.items())
            if number < len(titles)
        ]

    def encode(self, image: Image) -> tuple[bytes, bytes]:
        """Value and metadata."""
        values = tuple(image)
        if len(values) != len(self.columns):
            raise DecodeError(f"an image of {len(values)} columns, the table has {len(self.columns)}")
        keys = dict(self._keys) if self._adds_keys else self._keys
        ids = []
        parts = []
        has_diffs = False
        for number, title, write in self._ordered:
            value = values[number]
            if value is ABSENT:
                continue
            if type(value) is JsonDiffs:
                has_diffs = True
                title = self._diff_title(title)
                number = keys.setdefault(title, len(keys))
                write = _write_diffs
            ids.append(number)
            try:
                parts.append(writing.NULL if value is None else write(value, keys))
            except GtidalError as error:
                raise error.at(field=title) from None
        if has_diffs:  # their keys are not where their columns are
            names = list(keys)
            order = sorted(range(len(ids)), key=lambda place: names[ids[place]])
            ids = [ids[place] for place in order]
            parts = [parts[place] for place in order]
        metadata = self._metadata if len(keys) == len(self._keys) else writing.metadata_of(keys)
        return writing.checked(writing.object_of(ids, parts), metadata)

    def _diff_title(self, title: str) -> str:
        """The key of a diff that could not be applied: it says that this is no document."""
        found = f"{title} (diff)"
        while found in self._keys:
            found += " (diff)"
        return found


_MOST_ENCODERS = 256
_encoders: dict[int, ImageEncoder] = {}
"""By the identity of the columns' tuple, which the encoder keeps alive: to hash columns takes long."""


def encode_image(table_columns: Sequence[Column], image: Image) -> tuple[bytes, bytes]:
    """Value and metadata of one image as the reference decoder gives it."""
    found = _encoders.get(id(table_columns))
    if found is None or found.columns is not table_columns:
        found = ImageEncoder(table_columns)
        if len(_encoders) >= _MOST_ENCODERS:
            _encoders.clear()
        _encoders[id(found.columns)] = found
    return found.encode(image)


def _number(kind: int, letter: str) -> Write:
    pack = struct.Struct(f"<B{letter}").pack
    header = kind << 2
    return lambda value, keys: pack(header, value)


_INTEGERS = {
    (1, True): (writing.INT8, "b"),
    (2, True): (writing.INT16, "h"),
    (3, True): (writing.INT32, "i"),
    (4, True): (writing.INT32, "i"),
    (8, True): (writing.INT64, "q"),
    (1, False): (writing.INT16, "h"),
    (2, False): (writing.INT32, "i"),
    (3, False): (writing.INT32, "i"),
    (4, False): (writing.INT64, "q"),
}
"""By size and signedness: an unsigned number takes the next type in which it fits."""


def _integer(column: Column) -> Write:
    found = _INTEGERS.get(column.shape.arguments)  # those of an Int: size, signed
    return _number(*found) if found else _unsigned64


def _unsigned64(value: int, keys: Keys) -> bytes:
    return writing.decimal(value, 38, 0)


def _float(column: Column) -> Write:
    # The bytes as they were: a signalling NaN does not survive a conversion.
    kind = writing.FLOAT if column.shape.size == 4 else writing.DOUBLE
    header = bytes((kind << 2,))
    return lambda value, keys: header + column.write(value)


def _exact(column: Column) -> Write:
    write = writing.decimal_writer(column.precision or 0, column.digits)
    return lambda value, keys: write(value)


def _bit(column: Column) -> Write:
    if column.bits == 1:
        return lambda value, keys: writing.TRUE if value else writing.FALSE
    return _unsigned64 if column.bits == 64 else _number(writing.INT64, "q")


def _datetime(column: Column) -> Write:
    digits = column.digits
    return lambda value, keys: writing.mysql_datetime(value, digits)


def _time(column: Column) -> Write:
    digits = column.digits
    return lambda value, keys: writing.text(value.text(digits))


def _timestamp(column: Column) -> Write:
    zero = writing.text(_ZERO.text(column.digits))

    def write(value: Timestamp, keys: Keys) -> bytes:
        return zero if value.zero else writing.timestamp(value.seconds * 1_000_000 + value.microsecond)

    return write


def _words(collation: int | None) -> Callable[[bytes], bytes]:
    """The writer of a charset's texts. Where the log names no charset, UTF-8 is a string; of a charset that we
    do not know, nothing is."""
    if collation is None:
        return writing.string_or_binary
    decode = charsets.collation_decoder(collation)
    if collation == charsets.BINARY or decode is None:
        return writing.binary

    def write(value: bytes) -> bytes:
        try:
            return writing.string(decode(value).encode())
        except UnicodeError:
            return writing.binary(value)

    return write


def _characters(column: Column) -> Write:
    write = _words(column.charset)
    length = column.length
    if column.charset == charsets.BINARY and column.real_type == 254 and length is not None:
        # The server strips trailing zero bytes of BINARY(n) when it packs the row.
        return lambda value, keys: write(value.ljust(length, b"\0"))
    return lambda value, keys: write(value)


def _compressed(column: Column) -> Write:
    inner = _characters(column)
    return lambda value, keys: inner(decompress_column(value), keys)


def _enum(column: Column) -> Write:
    word = _words(column.charset)
    # 0 is the error value '' that a lax INSERT stores for a word that is not in the list.
    labels = [] if column.labels is None else [writing.string(b""), *map(word, column.labels)]

    def write(value: int, keys: Keys) -> bytes:
        return labels[value] if value < len(labels) else writing.int64(value)

    return write


def _set(column: Column) -> Write:
    if column.labels is None:  # a set of 64 members may need all bits
        return _unsigned64 if column.shape.size == 8 else _number(writing.INT64, "q")
    labels = list(map(_words(column.charset), column.labels))

    def write(value: int, keys: Keys) -> bytes:
        if value >> len(labels):
            return writing.int64_or_decimal(value)
        return writing.array([label for index, label in enumerate(labels) if value >> index & 1])

    return write


def _json(value: bytes, keys: Keys) -> bytes:
    return writing.write_value(read_document(value), keys, 1)


def _write_diffs(value: JsonDiffs, keys: Keys) -> bytes:
    return writing.write_value(value.diffs, keys, 1)


def _geometry(value: bytes, keys: Keys) -> bytes:
    if len(value) < 4:
        srid, wkb = writing.NULL, value
    else:
        srid, wkb = writing.int64(int.from_bytes(value[:4], "little")), value[4:]
    return writing.object_of((keys["srid"], keys["wkb"]), (srid, writing.binary(wkb)))


def _vector(value: bytes, keys: Keys) -> bytes:
    if len(value) % 4:
        return writing.binary(value)
    header = bytes((writing.FLOAT << 2,))
    return writing.array([header + value[start : start + 4] for start in range(0, len(value), 4)])


def _nothing(value: Any, keys: Keys) -> bytes:
    return writing.NULL


_MAKERS: dict[Meaning, Callable[[Column], Write]] = {
    Meaning.INTEGER: _integer,
    Meaning.FLOAT: _float,
    Meaning.EXACT: _exact,
    Meaning.BIT: _bit,
    Meaning.YEAR: lambda column: _number(writing.INT16, "h"),
    Meaning.DATE: lambda column: lambda value, keys: writing.mysql_date(value),
    Meaning.TIME: _time,
    Meaning.DATETIME: _datetime,
    Meaning.TIMESTAMP: _timestamp,
    Meaning.CHARACTERS: _characters,
    Meaning.COMPRESSED: _compressed,
    Meaning.ENUM: _enum,
    Meaning.SET: _set,
    Meaning.JSON: lambda column: _json,
    Meaning.GEOMETRY: lambda column: _geometry,
    Meaning.VECTOR: lambda column: _vector,
    Meaning.NULL: lambda column: _nothing,
    Meaning.UNKNOWN: lambda column: _nothing,
}
