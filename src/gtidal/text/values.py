"""How the reference tools print one value of a row, and how they name its type.

``value_printer(column, dimension)`` gives the name that ``-vv`` shows and the function from a physical value
(``columns.shapes``) to text. It is asked once per column of a table; the function runs once per value, so
everything that the column alone decides is decided outside of it. A function of None means that the tool
cannot print the type: it says so and leaves the event there.

The rules are those of log_event_print_value in MySQL 9.7 and, with ``mariadb``, in MariaDB 11.8. Bytes become
str as UTF-8 with surrogateescape, so that whatever the log holds can be written out again unchanged.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gtidal.columns.jsonb import (
    INSERT,
    LARGE_ARRAY,
    LARGE_OBJECT,
    OPAQUE,
    REMOVE,
    SMALL_ARRAY,
    Opaque,
    decode_json,
    json_text,
    opaque_text,
)
from gtidal.columns.temporal import Date, DateTime, Time
from gtidal.columns.types import Column, string_length
from gtidal.errors import GtidalError
from gtidal.events.images import JsonDiffs
from gtidal.text.geometry import geometry_text
from gtidal.wire.words import read_lenenc

Text = Callable[[Any], str]
Printer = tuple[str, Text | None]


class Stop(Exception):
    """The tool prints this instead of the value and leaves the event there."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


# --- strings ----------------------------------------------------------------------------------------------


_LONG = 2000
"""From this many bytes on, replacing one byte value after the other is faster than looking at each byte."""


def _quoter(escapes: dict[int, str]) -> Callable[[bytes], str]:
    """A function that quotes bytes. ``escapes`` holds the control characters and perhaps others."""
    search = re.compile(f"[{re.escape(''.join(map(chr, escapes)))}]").search
    controls = re.compile("[\0-\x1f]")
    table = {chr(code): text for code, text in escapes.items()}
    # A backslash must come first: the others' texts hold some.
    pairs = [(bytes((code,)), escapes[code].encode()) for code in sorted(escapes, reverse=True)]
    others = [(chr(code), escapes[code]) for code in sorted(escapes, reverse=True) if code > 31]

    def escape(found: re.Match[str]) -> str:
        return table[found[0]]

    def quote(value: bytes) -> str:
        if len(value) > _LONG:
            for byte, escaped in pairs:
                value = value.replace(byte, escaped)
            return f"'{value.decode('utf-8', 'surrogateescape')}'"
        text = value.decode("utf-8", "surrogateescape")
        if search(text) is None:
            return f"'{text}'"
        for mark, replacement in others:
            text = text.replace(mark, replacement)
        return f"'{controls.sub(escape, text)}'"

    return quote


_CONTROLS = {code: f"\\x{code:02x}" for code in range(32)}
quote_mysql = _quoter(
    {**_CONTROLS, 8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", ord("'"): "\\'", ord("\\"): "\\\\"}
)
quote_mariadb = _quoter(_CONTROLS)  # it leaves quotes and backslashes alone


def quote_text(text: str) -> str:
    """As ``quote_mysql``, of text."""
    return quote_mysql(text.encode("utf-8", "surrogateescape"))


# --- numbers ----------------------------------------------------------------------------------------------


def _integer(name: str, size: int) -> Callable[[Column], Printer]:
    """The signed number; of a negative one the unsigned reading too. The tool ignores SIGNEDNESS."""
    half, full = 1 << (8 * size - 1), 1 << 8 * size

    def signed(value: int) -> str:
        return str(value) if value >= 0 else f"{value} ({value + full})"

    def unsigned(value: int) -> str:
        return str(value) if value < half else f"{value - full} ({value})"

    return lambda column: (name, unsigned if column.unsigned else signed)


def _decimal(column: Column) -> Printer:
    precision, scale = column.metadata >> 8, column.metadata & 0xFF
    # str() changes to an exponent only below 1E-6.
    text: Text = str if scale <= 6 else "{:f}".format
    return f"DECIMAL({precision},{scale})", text


def _float(value: float) -> str:
    return "%-20g" % value  # noqa: UP031  C's own formats


def _double(value: float) -> str:
    return "%-.20g" % value  # noqa: UP031


def _bit(column: Column) -> Printer:
    count = (column.metadata >> 8) * 8 + (column.metadata & 0xFF)
    mask = (1 << count) - 1
    digits = f"b'{{:0{count}b}}'".format
    return f"BIT({count})", lambda value: digits(value & mask)


def _year(value: int) -> str:
    return str(value or 1900)  # the tool knows no year 0000


# --- temporal ---------------------------------------------------------------------------------------------

_TWO = tuple(f"{number:02d}" for number in range(100))


def _fraction(digits: int) -> Callable[[int], str]:
    """From microseconds to ``.12``; the rest is cut off."""
    step = 10 ** (6 - digits)
    layout = f".{{:0{digits}d}}".format
    return lambda microsecond: layout(microsecond // step)


def _timestamp2(column: Column) -> Printer:
    name = f"TIMESTAMP({column.metadata})"
    if not column.metadata:
        return name, lambda value: str(value[0])
    fraction = _fraction(column.metadata)
    return name, lambda value: f"{value[0]}{fraction(value[1])}"


def _timestamp(value: Any) -> str:
    seconds: int = value[0]
    return str(seconds if seconds < 1 << 31 else seconds - (1 << 32))  # printed with %d


def _datetime(value: Any) -> str:
    year, month, day, hour, minute, second, _ = value
    if year < 1000:
        year = f"{year:04d}"
    return f"{year}-{_TWO[month]}-{_TWO[day]} {_TWO[hour]}:{_TWO[minute]}:{_TWO[second]}"


def _quoted_datetime(value: Any) -> str:
    year, month, day, hour, minute, second, _ = value
    if year < 1000:
        year = f"{year:04d}"
    return f"'{year}-{_TWO[month]}-{_TWO[day]} {_TWO[hour]}:{_TWO[minute]}:{_TWO[second]}'"


def _datetime2(column: Column) -> Printer:
    name = f"DATETIME({column.metadata})"
    if not column.metadata:
        return name, _quoted_datetime
    fraction = _fraction(column.metadata)
    return name, lambda value: f"'{_datetime(value)}{fraction(value[6])}'"


def _time2(column: Column) -> Printer:
    digits = column.metadata
    fraction = _fraction(digits)

    def text(value: Any) -> str:
        negative, hour, minute, second, microsecond = value
        sign = "-" if negative else ""
        tail = fraction(microsecond) if digits else ""
        return f"'{sign}{hour:02d}:{_TWO[minute]}:{_TWO[second]}{tail}'"

    return f"TIME({digits})", text


def _time(value: Any) -> str:
    negative, hour, minute, second, _ = value
    if negative:  # taken for an unsigned number of three bytes
        hour, rest = divmod((1 << 24) - (hour * 10000 + minute * 100 + second), 10000)
        minute, second = divmod(rest, 100)
    return f"'{hour:02d}:{_TWO[minute]}:{_TWO[second]}'"


def _signed_time(value: Any) -> str:
    negative, hour, minute, second, _ = value
    return f"'{'-' if negative else ''}{hour:02d}:{_TWO[minute]}:{_TWO[second]}'"


def _date(value: Any) -> str:
    year, month, day = value
    if year <= 9999:
        return f"'{year:04d}:{_TWO[month]}:{_TWO[day]}'"
    thousands, year = divmod(year, 1000)  # one character for all above the hundreds, digit or not
    return f"'{chr(48 + thousands)}{year:03d}:{_TWO[month]}:{_TWO[day]}'"


# --- the rest ---------------------------------------------------------------------------------------------


def _enum(column: Column) -> Printer:
    return "ENUM(1 byte)" if column.metadata & 0xFF == 1 else "ENUM(2 bytes)", str


def _set(column: Column) -> Printer:
    """The bits of each byte from the highest, the bytes as they lie in the row."""
    size = column.metadata & 0xFF
    digits = f"b'{{:0{8 * size}b}}'".format
    return f"SET({size} bytes)", lambda value: digits(int.from_bytes(value.to_bytes(size, "little"), "big"))


_BLOBS = ("", "TINYBLOB/TINYTEXT", "BLOB/TEXT", "MEDIUMBLOB/MEDIUMTEXT", "LONGBLOB/LONGTEXT")


def _vector(value: bytes) -> str:
    count = len(value) // 4
    if not count:
        return "["
    return f"[{','.join([f'{number:.5e}' for number in struct.unpack(f'<{count}f', value[: 4 * count])])}]"


def _json(column: Column) -> Printer:
    name = f"@{column.index + 1}"

    def text(value: Any) -> str:
        if type(value) is JsonDiffs:
            return diff_text(value.data, name)
        try:
            return quote_text(_document_text(decode_json(value)))
        except GtidalError:
            if _opens(value):
                return "Failed to format JSON object as string.\n"
            raise Stop("Invalid JSON\n") from None

    return "JSON", text


def _document_text(value: Any) -> str:
    """The tool leaves out the quotes of a document that is a single string, date or opaque value."""
    if isinstance(value, str):
        return value
    if isinstance(value, Opaque):
        return opaque_text(value)
    if isinstance(value, Date | DateTime | Time):
        return value.text(6)
    return json_text(value)


def _opens(document: bytes) -> bool:
    """Whether the tool's first look finds nothing wrong with a damaged document: it sees the header of a
    container and the length of an opaque value, not what is inside."""
    kind = document[0]
    if kind == OPAQUE:
        try:
            decode_json(document[:1] + b"\xfc" + document[2:])
        except GtidalError:
            return False
        return True
    if kind > LARGE_ARRAY:
        return False
    width = 4 if kind in (LARGE_OBJECT, LARGE_ARRAY) else 2
    count = int.from_bytes(document[1 : 1 + width], "little")
    size = int.from_bytes(document[1 + width : 1 + 2 * width], "little")
    entry = 1 + width if kind in (SMALL_ARRAY, LARGE_ARRAY) else 1 + width + width + 2
    return 2 * width + count * entry <= size < len(document)


def diff_text(data: bytes, column: str) -> str:
    """A partial update as the functions that would do it; neighbours of one kind share a call."""
    try:
        steps = list(_diff_steps(data))
    except _DiffProblem as problem:
        return problem.text
    if not steps:
        return column
    names = [_function(operation, path) for operation, path, _ in steps]
    opening = [f"{name}(" for index, name in enumerate(names) if not index or names[index - 1] != name]
    out = ["\n###      ".join(reversed(opening)), column, ", "]
    for index, (_, path, value) in enumerate(steps):
        out.append(quote_mysql(path))
        try:
            if value is not None:
                out.append(", ")
                out.append(_diff_value(value))
        except _DiffProblem as problem:
            out.append(problem.text)
            break
        last = index == len(steps) - 1
        if last or names[index + 1] != names[index]:
            out.append(")")
        if not last:
            out.append(",\n###      ")
    return "".join(out)


class _DiffProblem(Exception):
    """What the tool says of a damaged diff."""

    def __init__(self, doing: str) -> None:
        super().__init__(doing)
        self.text = f"Error {doing} while printing JSON diff\n"


def _diff_steps(data: bytes) -> Iterator[tuple[int, bytes, bytes | None]]:
    """As ``jsonb.decode_diffs``, with the tool's words for each way to fail."""
    pos, end = 0, len(data)
    while pos < end:
        operation = data[pos]
        if operation > REMOVE:
            raise _DiffProblem("reading operation type (invalid operation code)")
        path, pos = _diff_part(data, pos + 1, end, "path")
        value = None
        if operation != REMOVE:
            value, pos = _diff_part(data, pos, end, "value")
        yield operation, path, value


def _diff_part(data: bytes, pos: int, end: int, name: str) -> tuple[bytes, int]:
    try:
        size, pos = read_lenenc(data, pos, end)
    except GtidalError:
        raise _DiffProblem(f"reading {name} length to skip") from None
    if pos + size > end:
        raise _DiffProblem(f"skipping {name}")
    return data[pos : pos + size], pos + size


def _function(operation: int, path: bytes) -> str:
    if operation == REMOVE:
        return "JSON_REMOVE"
    if operation == INSERT:
        return "JSON_ARRAY_INSERT" if path.endswith(b"]") else "JSON_INSERT"
    return "JSON_REPLACE"


def _diff_value(document: bytes) -> str:
    try:
        value = decode_json(document)
        text = _document_text(value)
    except GtidalError:
        raise _DiffProblem(
            "converting json to string" if _opens(document) else "parsing json value"
        ) from None
    if isinstance(value, dict | list):
        return f"CAST({quote_text(text)} AS JSON)"
    # Strings, and the values that JSON text shows as strings.
    return quote_text(text) if isinstance(value, str | tuple) else text


# --- the tables of types ----------------------------------------------------------------------------------


def _plain(name: str, text: Text) -> Callable[[Column], Printer]:
    return lambda column: (name, text)


def _strings(quote: Text) -> dict[int, Callable[[Column], Printer]]:
    def varchar(column: Column) -> Printer:
        return f"VARSTRING({column.metadata})", quote

    return {
        15: varchar,
        252: lambda column: (_BLOBS[column.metadata], quote),
        253: varchar,
        254: lambda column: (f"STRING({string_length(column.metadata)})", quote),
    }


_BOTH: dict[int, Callable[[Column], Printer]] = {
    1: _integer("TINYINT", 1),
    2: _integer("SHORTINT", 2),
    3: _integer("INT", 4),
    4: _plain("FLOAT", _float),
    5: _plain("DOUBLE", _double),
    7: _plain("TIMESTAMP", _timestamp),
    8: _integer("LONGINT", 8),
    9: _integer("MEDIUMINT", 3),
    10: _plain("DATE", _date),
    13: _plain("YEAR", _year),
    14: _plain("DATE", _date),
    16: _bit,
    17: _timestamp2,
    18: _datetime2,
    19: _time2,
    246: _decimal,
    247: _enum,
    248: _set,
}

_MYSQL: dict[int, Callable[[Column], Printer]] = {
    **_BOTH,
    **_strings(quote_mysql),
    11: _plain("TIME", _time),
    12: _plain("DATETIME", _datetime),
    245: _json,
}

_MARIADB: dict[int, Callable[[Column], Printer]] = {
    **_BOTH,
    **_strings(quote_mariadb),
    11: _plain("TIME", _signed_time),
    12: _plain("DATETIME", _quoted_datetime),
    140: lambda column: (f"{_BLOBS[column.metadata]} COMPRESSED", quote_mariadb),
    141: lambda column: (f"VARSTRING({column.metadata}) COMPRESSED", quote_mariadb),
    255: _plain("GEOMETRY", quote_mariadb),
}


def value_printer(
    column: Column, dimension: int = 0, *, mariadb: bool = False, geometry: bool = False
) -> Printer:
    """The type's name and the function from a value to text. ``dimension`` is a vector's; ``geometry`` prints
    what MySQL's tool cannot."""
    code = column.real_type
    maker = (_MARIADB if mariadb else _MYSQL).get(code)
    if maker is not None:
        return maker(column)
    if code == 242 and not mariadb:
        return f"VECTOR({dimension})", _vector
    if code == 255 and geometry:
        return "GEOMETRY", geometry_text
    return "", None


def printers_of(
    columns: Sequence[Column], dimensions: Sequence[int], *, mariadb: bool = False, geometry: bool = False
) -> list[Printer]:
    """The printers of an image's columns. The tool gives the dimensions to the vectors that the image holds,
    in order, even where the image leaves out a vector before them."""
    waiting = iter(dimensions)
    return [
        value_printer(
            column, next(waiting, 0) if column.real_type == 242 else 0, mariadb=mariadb, geometry=geometry
        )
        for column in columns
    ]
