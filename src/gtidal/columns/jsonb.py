"""MySQL's binary JSON: decode, print as the server prints, encode, and the diffs of partial updates.

A document is a type byte and a value. Containers hold offsets counted from their first byte; an update
in place leaves unused holes, so offsets are followed and tightness is never required. Reference: format
facts 15 and 16 (json_binary.cc, json_dom.cc and json_diff.cc of MySQL 8.0).

Python values: dict, list, str, int, float, bool, None; Decimal; Date, DateTime and Time; ``Opaque`` for any
other SQL value. Bytes that are not UTF-8 are kept in str by surrogateescape.
"""

from __future__ import annotations

import base64
import copy
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from gtidal.columns.decimals import decimal_text, decode_decimal, encode_decimal
from gtidal.columns.jsonpath import FromEnd, Leg, parse_path
from gtidal.columns.temporal import (
    Date,
    DateTime,
    Time,
    pack_datetime,
    pack_time,
    unpack_datetime,
    unpack_time,
)
from gtidal.errors import DecodeError, Truncated, UsageError
from gtidal.wire.words import encode_lenenc, read_lenenc

MAX_DEPTH = 100  # JSON_DOCUMENT_MAX_DEPTH of the server

SMALL_OBJECT, LARGE_OBJECT, SMALL_ARRAY, LARGE_ARRAY, LITERAL = 0, 1, 2, 3, 4
INT16, UINT16, INT32, UINT32, INT64, UINT64, DOUBLE, STRING, OPAQUE = 5, 6, 7, 8, 9, 10, 11, 12, 15

_LITERALS: dict[int, bool | None] = {0: None, 1: True, 2: False}
_NUMBERS = {
    INT16: struct.Struct("<h"),
    UINT16: struct.Struct("<H"),
    INT32: struct.Struct("<i"),
    UINT32: struct.Struct("<I"),
    INT64: struct.Struct("<q"),
    UINT64: struct.Struct("<Q"),
    DOUBLE: struct.Struct("<d"),
}
_INLINE_SMALL = frozenset((LITERAL, INT16, UINT16))
_INLINE_LARGE = _INLINE_SMALL | {INT32, UINT32}

# The SQL types that an opaque value may be of and that have a Python value.
_DECIMAL, _DATE, _TIME, _DATETIME, _TIMESTAMP, _VAR_STRING = 246, 10, 11, 12, 7, 253


class Opaque(NamedTuple):
    """An SQL value inside a document: its column type code and its bytes."""

    type_code: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Json:
    """A JSON column's value. Two are equal if their bytes are; ``python()`` compares the content."""

    data: bytes

    def python(self) -> Any:
        return decode_json(self.data)

    def text(self) -> str:
        return json_text(self.data)


class _Decoder:
    """Walks one document. Each value's entry and each string's bytes are counted: in a real document they do
    not overlap, so their sum stays below the document's size. That bounds the work on a hostile one, where
    containers may share their members and double at every level."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.budget = len(data)

    def spend(self, size: int) -> None:
        self.budget -= size
        if self.budget < 0:
            raise DecodeError("JSON values overlap each other")

    def value(self, kind: int, start: int, end: int, depth: int) -> Any:
        if kind <= LARGE_ARRAY:
            return self.container(kind, start, end, depth + 1)
        if kind in _NUMBERS:
            number = _NUMBERS[kind]
            if start + number.size > end:
                raise Truncated("a JSON number ends early")
            return number.unpack_from(self.data, start)[0]
        if kind == LITERAL:
            if start >= end:
                raise Truncated("a JSON literal ends early")
            code = self.data[start]
            if code not in _LITERALS:
                raise DecodeError(f"{code} is no JSON literal")
            return _LITERALS[code]
        if kind == STRING:
            return self.counted(start, end).decode("utf-8", "surrogateescape")
        if kind == OPAQUE:
            if start >= end:
                raise Truncated("an opaque JSON value ends early")
            return decode_opaque(self.data[start], self.counted(start + 1, end))
        raise DecodeError(f"{kind} is no JSON type")

    def counted(self, pos: int, end: int) -> bytes:
        """Bytes behind a length of seven bits per byte, least significant first."""
        size = 0
        for shift in range(0, 35, 7):
            if pos >= end:
                raise Truncated("a JSON length ends early")
            byte = self.data[pos]
            pos += 1
            size |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
        else:
            raise DecodeError("a JSON length of more than five bytes")
        if pos + size > end:
            raise Truncated(f"a JSON string needs {size} bytes, {end - pos} are left")
        self.spend(size)
        return self.data[pos : pos + size]

    def container(self, kind: int, start: int, end: int, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise DecodeError(f"JSON nested deeper than {MAX_DEPTH}")
        data = self.data
        large = kind in (LARGE_OBJECT, LARGE_ARRAY)
        is_object = kind <= LARGE_OBJECT
        width = 4 if large else 2
        if start + 2 * width > end:
            raise Truncated("a JSON container ends early")
        count = int.from_bytes(data[start : start + width], "little")
        size = int.from_bytes(data[start + width : start + 2 * width], "little")
        if start + size > end:
            raise Truncated(f"a JSON container of {size} bytes, {end - start} are left")
        end = start + size
        keys_at = start + 2 * width
        values_at = keys_at + (count * (width + 2) if is_object else 0)
        first = values_at + count * (width + 1)
        if first > end:
            raise DecodeError(f"{count} members do not fit a JSON container of {size} bytes")
        self.spend(first - start)

        inline = _INLINE_LARGE if large else _INLINE_SMALL
        values = []
        for entry in range(values_at, first, width + 1):
            inner = data[entry]
            if inner in inline:
                values.append(self.value(inner, entry + 1, entry + 1 + width, depth))
                continue
            offset = int.from_bytes(data[entry + 1 : entry + 1 + width], "little")
            if not first <= start + offset <= end:
                raise DecodeError(f"a JSON offset of {offset} leads outside its container")
            values.append(self.value(inner, start + offset, end, depth))
        if not is_object:
            return values

        keys = []
        for entry in range(keys_at, values_at, width + 2):
            offset = int.from_bytes(data[entry : entry + width], "little")
            length = int.from_bytes(data[entry + width : entry + width + 2], "little")
            begin = start + offset
            if begin < first or begin + length > end:
                raise DecodeError(f"a JSON key at {offset} leads outside its object")
            self.spend(length)
            keys.append(data[begin : begin + length].decode("utf-8", "surrogateescape"))
        return dict(zip(keys, values, strict=True))


def decode_json(data: bytes) -> Any:
    """The Python value of a binary document. No bytes at all are the null literal: that is what a lax INSERT
    leaves in a NOT NULL column, and how the server reads it."""
    if not data:
        return None
    return _Decoder(data).value(data[0], 1, len(data), 0)


def decode_opaque(type_code: int, data: bytes) -> Any:
    if type_code == _DECIMAL:
        if len(data) < 2:
            raise Truncated("a JSON decimal ends early")
        return decode_decimal(data[2:], data[0], data[1])
    if type_code in (_DATE, _DATETIME, _TIMESTAMP, _TIME) and len(data) == 8:
        packed = int.from_bytes(data, "little", signed=True)
        if type_code == _TIME:
            return unpack_time(packed)
        if packed >= 0:
            moment = unpack_datetime(packed)
            return Date(*moment[:3]) if type_code == _DATE else moment
    if type_code == _VAR_STRING:  # the server, too, takes these for strings
        return data.decode("utf-8", "surrogateescape")
    return Opaque(type_code, data)


_SHORT_ESCAPES = {
    **{code: f"\\u{code:04x}" for code in range(32)},
    **{8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\"},
}


def quote(text: str) -> str:
    """A JSON string as the server prints it: only quotes, backslashes and control characters escaped."""
    return f'"{text.translate(_SHORT_ESCAPES)}"'


def double_text(value: float) -> str:
    """The shortest digits that give the same double, as the server's my_gcvt lays them out: plain with up to
    14 zeros after the point and 15 digits before it (or all digits the number has, if some follow it), else
    with an exponent; always recognisable as no integer."""
    if value != value or value in (float("inf"), float("-inf")):
        return "0.0"  # JSON has none; only a damaged document does
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits)).rstrip("0")
    exponent += len(digits) - len(text)
    minus = "-" if sign else ""
    if not text:
        return f"{minus}0.0"
    point = len(text) + exponent  # digits before the decimal point
    if point < -14 or (point > 15 and point >= len(text)):
        mantissa = text if len(text) == 1 else f"{text[0]}.{text[1:]}"
        return f"{minus}{mantissa}e{point - 1}"
    if point <= 0:
        return f"{minus}0.{'0' * -point}{text}"
    if len(text) <= point:
        return f"{minus}{text}{'0' * (point - len(text))}.0"
    return f"{minus}{text[:point]}.{text[point:]}"


def opaque_text(value: Opaque) -> str:
    """base64:typeN: and base64 in lines of 76 characters, the server's encoder's habit."""
    plain = base64.b64encode(value.data).decode("ascii")
    lines = "\n".join(plain[start : start + 76] for start in range(0, len(plain), 76))
    return f"base64:type{value.type_code}:{lines}"


def json_text(document: Any) -> str:
    """What MySQL prints for a binary document (bytes), or for a Python value as ``decode_json`` makes it."""
    out: list[str] = []
    _render(decode_json(document) if type(document) is bytes else document, out.append, 0)
    return "".join(out)


def _render(value: Any, put: Any, depth: int) -> None:
    if value is None:
        put("null")
    elif value is True:
        put("true")
    elif value is False:
        put("false")
    elif isinstance(value, str):
        put(quote(value))
    elif isinstance(value, int):
        put(str(value))
    elif isinstance(value, float):
        put(double_text(value))
    elif isinstance(value, (dict, list)):
        if depth >= MAX_DEPTH:
            raise DecodeError(f"JSON nested deeper than {MAX_DEPTH}")
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        between = opening
        for item in value:
            put(between)
            between = ", "
            if isinstance(value, dict):
                put(quote(item))
                put(": ")
                item = value[item]
            _render(item, put, depth + 1)
        put(closing if value else opening + closing)
    elif isinstance(value, Decimal):
        put(decimal_text(value))
    elif isinstance(value, (Date, DateTime, Time)):
        put(f'"{value.text(6)}"')
    elif isinstance(value, Opaque):
        put(quote(opaque_text(value)))
    else:
        raise UsageError(f"{type(value).__name__} is no JSON value")


def _utf8(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a path may spell half a surrogate pair with an escape
        return text.encode("utf-8", "surrogatepass")


def _length(size: int) -> bytes:
    out = bytearray()
    while size > 0x7F:
        out.append(size & 0x7F | 0x80)
        size >>= 7
    out.append(size)
    return bytes(out)


def _encode_int(value: int) -> tuple[int, bytes]:
    for kind, low, high in (
        (INT16, -(1 << 15), 1 << 15),
        (INT32, -(1 << 31), 1 << 31),
        (INT64, -(1 << 63), 1 << 63),
        (UINT64, 0, 1 << 64),
    ):
        if low <= value < high:
            return kind, _NUMBERS[kind].pack(value)
    raise UsageError(f"{value} does not fit 64 bits")


def _opaque(type_code: int, data: bytes) -> tuple[int, bytes]:
    return OPAQUE, bytes((type_code,)) + _length(len(data)) + data


def _encode_decimal(value: Decimal) -> tuple[int, bytes]:
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise UsageError(f"{value} is no JSON value")
    scale = max(-exponent, 0)
    precision = max(len(digits) + max(exponent, 0), scale, 1)
    return _opaque(_DECIMAL, bytes((precision, scale)) + encode_decimal(value, precision, scale))


def _encode(value: Any, depth: int) -> tuple[int, bytes]:
    """Type and bytes of a value."""
    if value is None:
        return LITERAL, b"\0"
    if isinstance(value, bool):
        return LITERAL, b"\1" if value else b"\2"
    if isinstance(value, int):
        return _encode_int(value)
    if isinstance(value, float):
        return DOUBLE, _NUMBERS[DOUBLE].pack(value)
    if isinstance(value, str):
        data = _utf8(value)
        return STRING, _length(len(data)) + data
    if isinstance(value, Decimal):
        return _encode_decimal(value)
    if isinstance(value, Date):
        packed = pack_datetime(DateTime(*value, 0, 0, 0))
        return _opaque(_DATE, packed.to_bytes(8, "little"))
    if isinstance(value, DateTime):
        return _opaque(_DATETIME, pack_datetime(value).to_bytes(8, "little"))
    if isinstance(value, Time):
        return _opaque(_TIME, pack_time(value).to_bytes(8, "little", signed=True))
    if isinstance(value, Opaque):
        return _opaque(value.type_code, value.data)
    if not isinstance(value, (dict, list, tuple)):
        raise UsageError(f"{type(value).__name__} is no JSON value")
    if depth >= MAX_DEPTH:
        raise DecodeError(f"JSON nested deeper than {MAX_DEPTH}")
    if isinstance(value, dict):
        pairs = sorted(((_utf8(key), item) for key, item in value.items()), key=_key_order)
        keys: list[bytes] | None = [key for key, _ in pairs]
        items = [_encode(item, depth + 1) for _, item in pairs]
    else:
        keys = None
        items = [_encode(item, depth + 1) for item in value]
    body = _lay_out(keys, items, large=False)
    if body is not None:
        return (SMALL_ARRAY if keys is None else SMALL_OBJECT), body
    body = _lay_out(keys, items, large=True)
    if body is None:
        raise UsageError("a JSON document of more than 4 GiB")
    return (LARGE_ARRAY if keys is None else LARGE_OBJECT), body


def _key_order(pair: tuple[bytes, Any]) -> tuple[int, bytes]:
    return len(pair[0]), pair[0]


def _lay_out(keys: list[bytes] | None, items: Sequence[tuple[int, bytes]], large: bool) -> bytes | None:
    """The bytes of a container; None if they outgrow the small format's 16-bit offsets."""
    width = 4 if large else 2
    inline = _INLINE_LARGE if large else _INLINE_SMALL
    offset = 2 * width + len(items) * (width + 1) + (0 if keys is None else len(keys) * (width + 2))
    tail: list[bytes] = []
    limit = 1 << 8 * width
    head: list[bytes] = []
    for key in keys or ():
        if len(key) > 0xFFFF:
            raise UsageError("a JSON key of more than 65535 bytes")
        if offset >= limit:
            return None
        head.append(offset.to_bytes(width, "little") + len(key).to_bytes(2, "little"))
        tail.append(key)
        offset += len(key)
    for kind, data in items:
        if kind in inline:
            head.append(bytes((kind,)) + data.ljust(width, b"\0"))
            continue
        if offset >= limit:
            return None
        head.append(bytes((kind,)) + offset.to_bytes(width, "little"))
        tail.append(data)
        offset += len(data)
    if offset >= limit or len(items) >= limit:
        return None
    sizes = len(items).to_bytes(width, "little") + offset.to_bytes(width, "little")
    return b"".join((sizes, *head, *tail))


def encode_json(value: Any) -> bytes:
    """A binary document of a Python value, laid out as the server does it."""
    kind, body = _encode(value, 0)
    return bytes((kind,)) + body


REPLACE, INSERT, REMOVE = 0, 1, 2
OPERATIONS = ("REPLACE", "INSERT", "REMOVE")


@dataclass(frozen=True, slots=True)
class JsonDiff:
    """One step of a partial update; ``value`` is a binary document, None for REMOVE."""

    operation: int
    path: str
    value: bytes | None = None


def decode_diffs(data: bytes) -> tuple[JsonDiff, ...]:
    """A diff vector without its four-byte length (``Bytes(4)`` reads that)."""
    diffs = []
    pos = 0
    end = len(data)
    while pos < end:
        operation = data[pos]
        if operation >= len(OPERATIONS):
            raise DecodeError(f"{operation} is no JSON diff operation")
        path, pos = _lenenc_bytes(data, pos + 1, end)
        value = None
        if operation != REMOVE:
            value, pos = _lenenc_bytes(data, pos, end)
        diffs.append(JsonDiff(operation, path.decode("utf-8", "surrogateescape"), value))
    return tuple(diffs)


def _lenenc_bytes(data: bytes, pos: int, end: int) -> tuple[bytes, int]:
    size, pos = read_lenenc(data, pos, end)
    if pos + size > end:
        raise Truncated(f"a JSON diff needs {size} bytes, {end - pos} are left")
    return data[pos : pos + size], pos + size


def encode_diffs(diffs: Iterable[JsonDiff]) -> bytes:
    out = bytearray()
    for diff in diffs:
        path = _utf8(diff.path)
        out.append(diff.operation)
        out += encode_lenenc(len(path)) + path
        if diff.operation != REMOVE:
            value = diff.value or b""
            out += encode_lenenc(len(value)) + value
    return bytes(out)


# To insert into an array, or remove from it, moves the cells behind: some thousand million in a second, but
# their number grows with the square of the diffs'. Beyond this many, only as many as the array justifies.
_MOST_MOVED = 1 << 28


def apply_diffs(document: Any, diffs: Iterable[JsonDiff]) -> Any:
    """The document (bytes or Python value) after the diffs, as a Python value. A diff that does not fit is
    a ``DecodeError``: the document is not the one that the diff was made from."""
    value = decode_json(document) if type(document) is bytes else copy.deepcopy(document)
    grown: dict[int, dict[str, Any]] = {}  # by identity: objects whose members have to be put in order
    moved = 0
    for diff in diffs:
        legs = parse_path(diff.path)
        parent = value
        for leg in legs[:-1]:
            parent = _child(parent, leg, diff)
        # The server, too, rejects a diff of the root: it logs the whole document then.
        if not legs or len(legs) > MAX_DEPTH:
            raise _misfit(diff)
        leg = legs[-1]
        if isinstance(parent, list) and not isinstance(leg, str) and diff.operation != REPLACE:
            moved += len(parent) - min(max(_index(leg, parent), 0), len(parent))
            if moved > _MOST_MOVED + 64 * len(parent):
                raise DecodeError("the JSON diffs move too many array cells")
        if diff.operation == INSERT:
            _insert(parent, leg, decode_json(diff.value or b""), diff)
            if isinstance(parent, dict):
                grown[id(parent)] = parent
            continue
        _child(parent, leg, diff)
        place = _index(leg, parent) if isinstance(parent, list) else leg
        if diff.operation == REPLACE:
            parent[place] = decode_json(diff.value or b"")
        elif diff.operation == REMOVE:
            del parent[place]
        else:
            raise _misfit(diff)
    for members in grown.values():
        ordered = sorted(members.items(), key=lambda item: _key_order((_utf8(item[0]), 0)))
        members.clear()
        members.update(ordered)
    return value


def _misfit(diff: JsonDiff) -> DecodeError:
    name = OPERATIONS[diff.operation] if diff.operation < len(OPERATIONS) else str(diff.operation)
    return DecodeError(f"the JSON diff {name} {diff.path[:80]} does not fit the document")


def _index(leg: Leg, items: list[Any]) -> int:
    return len(items) - 1 - leg.distance if isinstance(leg, FromEnd) else int(leg)


def _child(parent: Any, leg: Leg, diff: JsonDiff) -> Any:
    if isinstance(parent, dict) and isinstance(leg, str) and leg in parent:
        return parent[leg]
    if isinstance(parent, list) and not isinstance(leg, str):
        index = _index(leg, parent)
        if 0 <= index < len(parent):
            return parent[index]
    raise _misfit(diff)


def _insert(parent: Any, leg: Leg, value: Any, diff: JsonDiff) -> None:
    if isinstance(parent, list) and not isinstance(leg, str):
        parent.insert(max(_index(leg, parent), 0), value)  # behind the end appends, as on the server
    elif isinstance(parent, dict) and isinstance(leg, str) and leg not in parent:
        parent[leg] = value
    else:
        raise _misfit(diff)
