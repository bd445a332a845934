"""The product that writes: ``Writer`` takes each field from a record and appends its bytes."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Self, TypeVar, cast

from gtidal.errors import DecodeError, GtidalError
from gtidal.wire.fields import Codec, Fields, Pick, Run
from gtidal.wire.words import encode_lenenc, encode_svarint, encode_uvarint

T = TypeVar("T")

UNKNOWN = -1
"""The size of a field that only its bytes tell."""


def _checked(name: str, value: Any, kind: type[T]) -> T:
    if not isinstance(value, kind):
        what = "missing" if value is None else f"{type(value).__name__}, not {kind.__name__}"
        raise DecodeError(f"is {what}", field=name)
    return value


def _utf8(name: str, value: Any) -> bytes:
    try:
        return _checked(name, value, str).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise DecodeError(f"{value[error.start]!r} is no character of UTF-8", field=name) from None


def _misfit(name: str, data: bytes, size: int) -> DecodeError:
    return DecodeError(f"has {len(data)} bytes, where the layout has {size}", field=name)


class Writer(Fields):
    """Takes each field from a record and appends its bytes. What does not fit the layout is a
    ``DecodeError`` that names the field."""

    def __init__(self, record: Any, context: Any = None) -> None:
        self.source = record
        self.context = context
        self.out = bytearray()
        self.pending: dict[str, bytes] = {}

    def run(self) -> bytes:
        type(self.source).walk(self)
        return bytes(self.out)

    def get(self, name: str) -> Any:
        return getattr(self.source, name)

    def need(self, name: str, kind: type[T]) -> T:
        """A field's value, which must be of this kind."""
        return _checked(name, self.get(name), kind)

    def bytes_of(self, name: str) -> bytes:
        """The encoded form of a sized field: bytes, text, a record, or a tuple of records."""
        value = self.get(name)
        if isinstance(value, bytes):
            return value
        if isinstance(value, str):
            return _utf8(name, value)
        if value is None:
            return b""
        if isinstance(value, (tuple, list)):
            return b"".join(self._encoded(f"{name}[{index}]", item) for index, item in enumerate(value))
        return self._encoded(name, value)

    def _encoded(self, name: str, record: Any) -> bytes:
        encode = getattr(record, "encode", None)
        if encode is None or isinstance(record, str):
            raise DecodeError(f"is {type(record).__name__}, which has no layout", field=name)
        try:
            encoded: bytes = encode(self.context)
        except GtidalError as error:
            raise error.inside(name) from None
        return encoded

    def _put(self, name: str, width: int, signed: bool = False) -> int:
        return self._number(name, self.get(name), width, signed)

    def _number(self, name: str, value: Any, width: int, signed: bool = False) -> int:
        number = _checked(name, value, int)
        try:
            self.out += number.to_bytes(width, "little", signed=signed)
        except OverflowError:
            raise DecodeError(f"{number} does not fit {width} bytes", field=name) from None
        return number

    def u8(self, name: str) -> int:
        return self._put(name, 1)

    def u16(self, name: str) -> int:
        return self._put(name, 2)

    def u24(self, name: str) -> int:
        return self._put(name, 3)

    def u32(self, name: str) -> int:
        return self._put(name, 4)

    def u48(self, name: str) -> int:
        return self._put(name, 6)

    def u56(self, name: str) -> int:
        return self._put(name, 7)

    def u64(self, name: str) -> int:
        return self._put(name, 8)

    def i32(self, name: str) -> int:
        return self._put(name, 4, True)

    def i64(self, name: str) -> int:
        return self._put(name, 8, True)

    def lenenc(self, name: str) -> int:
        return self._variable(name, encode_lenenc, self.need(name, int))

    def uvarint(self, name: str, bits: int = 64) -> int:
        value = self.need(name, int)
        if value >> bits:
            raise DecodeError(f"{value} does not fit {bits} bits", field=name)
        return self._variable(name, encode_uvarint, value)

    def svarint(self, name: str) -> int:
        return self._variable(name, encode_svarint, self.need(name, int))

    def _variable(self, name: str, encode: Callable[[int], bytes], value: int) -> int:
        try:
            self.out += encode(value)
        except GtidalError as error:
            raise error.at(field=name) from None
        return value

    def _append(self, name: str, size: int = UNKNOWN) -> None:
        """A field's bytes. Where the walk says their size, and not because the record told it (``size`` and
        its like, then they are pending), they must have it."""
        data = self.pending.pop(name, None)
        if data is None:
            data = self.bytes_of(name)
            if 0 <= size != len(data):
                raise _misfit(name, data, size)
        self.out += data

    def raw(self, name: str, size: int) -> bytes:
        self._append(name, size)
        return cast(bytes, self.get(name))

    def text(self, name: str, size: int) -> str:
        self._append(name, size)
        return cast(str, self.get(name))

    def rest(self, name: str) -> bytes:
        return self.raw(name, UNKNOWN)

    def rest_text(self, name: str) -> str:
        return self.text(name, UNKNOWN)

    def cstring(self, name: str) -> str:
        value = self.need(name, str)
        if "\0" in value:
            raise DecodeError("holds a zero byte, which ends it", field=name)
        self.out += _utf8(name, value) + b"\0"
        return value

    def zero(self, size: int = 1) -> None:
        self.out += bytes(size)

    def fixed(self, run: Run) -> dict[str, Any]:
        values = {}
        for name, part in run.parts:
            values[name] = value = self.get(name)
            if isinstance(value, bytes) and len(value) != part.size:  # struct would cut or pad it
                raise _misfit(name, value, part.size)
            try:
                self.out += part.pack(value)
            except struct.error as error:
                raise DecodeError(f"{value!r} does not fit: {error}", field=name) from None
        return values

    def flagged(self, name: str, width: int, bit: int, announces: str) -> bool:
        flag = self.get(announces) is not None
        value = self.need(name, int)
        if value >> bit:
            raise DecodeError(f"{value} does not fit {bit} bits", field=name)
        self._number(name, value | flag << bit, width)
        return flag

    def split_count(self, of: str, width: int, bits: int, rest: str) -> int:
        count = self._length(of)
        if count >> bits:
            raise DecodeError(f"{count} does not fit {bits} bits", field=of + "_count")
        high = self.need(rest, int)
        if high < 0 or high >> 8 * width - bits:
            raise DecodeError(f"{high} does not fit {8 * width - bits} bits", field=rest)
        return self._number(of + "_count", count | high << bits, width) & ((1 << bits) - 1)

    def padded_text(self, name: str, size: int) -> str:
        value = self.need(name, str)
        data = _utf8(name, value)
        if len(data) > size:
            raise DecodeError(f"{len(data)} bytes do not fit {size}", field=name)
        self.out += data.ljust(size, b"\0")
        return value

    def sizes(self, of: str, count: int) -> bytes:
        sizes = [len(data) for data in self._texts(of)]
        for index, size in enumerate(sizes):
            if size > 0xFF:
                raise DecodeError(f"{size} bytes, where 255 is the most", field=f"{of}[{index}]")
        self.out += bytes(sizes)
        return bytes(sizes)

    def terminated(self, name: str, sizes: bytes) -> Any:
        for data in self._texts(name):
            self.out += data + b"\0"
        return self.get(name)

    def _texts(self, name: str) -> list[bytes]:
        return [_utf8(f"{name}[{index}]", text) for index, text in enumerate(self._items(name))]

    def uvarint_bytes(self, name: str, size: int) -> bytes:
        value = self.need(name, bytes)
        if len(value) != size:
            raise _misfit(name, value, size)
        for byte in value:
            self.out += encode_uvarint(byte)
        return value

    def uvarint_size(self, of: str) -> int:
        self.pending[of] = data = self.bytes_of(of)
        self.out += encode_uvarint(len(data))
        return len(data)

    def sized_lenenc(self, name: str) -> int:
        outer, self.out = self.out, bytearray()
        value = self.lenenc(name)
        data, self.out = self.out, outer
        self.out += encode_lenenc(len(data)) + data
        return value

    def remaining(self) -> int:
        """Only a reader knows: less than nothing, also when a walk takes something from it."""
        return UNKNOWN

    def size(self, of: str, width: int, plus: int = 0) -> int:
        self.pending[of] = data = self.bytes_of(of)
        self._number(of + "_size", len(data) + plus, width)
        return len(data)

    def lenenc_size(self, of: str) -> int:
        self.pending[of] = data = self.bytes_of(of)
        self.out += encode_lenenc(len(data))
        return len(data)

    def count(self, of: str, width: int) -> int:
        return self._number(of + "_count", self._length(of), width)

    def _items(self, name: str) -> Any:
        value = self.get(name)
        return value if isinstance(value, list) else _checked(name, value, tuple)

    def _length(self, of: str) -> int:
        return len(self._items(of))

    def count_or_none(self, of: str, width: int, none: int) -> int | None:
        if self.get(of) is not None:
            return self.count(of, width)
        self._number(of + "_count", none, width)
        return None

    def lenenc_count(self, of: str) -> int:
        count = self._length(of)
        self.out += encode_lenenc(count)
        return count

    def uvarint_count(self, of: str) -> int:
        count = self._length(of)
        self.out += encode_uvarint(count)
        return count

    def present(self, name: str, size: int = 1) -> bool:
        return self.get(name) is not None

    def more(self) -> bool:
        return True

    def record(self, name: str, cls: type[Any]) -> Any:
        self._append(name)
        return self.get(name)

    def sized_record(self, name: str, cls: type[Any], size: int) -> Any:
        return self.record(name, cls)

    def records(
        self,
        name: str,
        pick: Pick,
        *,
        count: int | None = None,
        size: int | None = None,
        until: type[Any] | None = None,
        most: int | None = None,
    ) -> Any:
        self._append(name)
        return self.get(name)

    def numbers(self, name: str, method: str, *, count: int | None = None, size: int | None = None) -> Any:
        values = self._items(name)
        for index, value in enumerate(values):
            try:
                getattr(Writer(_Item(value), self.context).into(self.out), method)("value")
            except GtidalError as error:
                error.field = f"{name}[{index}]"
                raise
        return values

    def sized_numbers(self, name: str, method: str) -> Any:
        outer, self.out = self.out, bytearray()
        values = self.numbers(name, method)
        data, self.out = self.out, outer
        self.out += encode_lenenc(len(data)) + data
        return values

    def into(self, out: bytearray) -> Self:
        self.out = out
        return self

    def coded(self, name: str, codec: Codec, size: int | None = None) -> Any:
        value = self.get(name)
        try:
            data = codec.write(self, value)
        except GtidalError as error:
            raise error.at(field=name) from None
        if size is not None and 0 <= size != len(data):
            raise _misfit(name, data, size)
        self.out += data
        return value

    def computed(self, name: str, value: Any) -> None:
        pass


class _Item:
    """Lets one item of a list be written by the method that writes a field."""

    def __init__(self, value: Any) -> None:
        self.value = value
