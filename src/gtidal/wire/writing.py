"""The product that writes: ``Writer`` takes each field from a record and appends its bytes."""

from __future__ import annotations

import struct
from typing import Any, Self, cast

from gtidal.errors import DecodeError
from gtidal.wire.fields import Codec, Fields, Pick, Run
from gtidal.wire.words import encode_lenenc, encode_svarint, encode_uvarint


class Writer(Fields):
    """Takes each field from a record and appends its bytes."""

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

    def bytes_of(self, name: str) -> bytes:
        """The encoded form of a sized field: bytes, text, or a tuple of records."""
        value = self.get(name)
        if isinstance(value, bytes):
            return value
        if isinstance(value, str):
            return value.encode("utf-8", "surrogateescape")
        if value is None:
            return b""
        if isinstance(value, tuple):
            return b"".join(item.encode(self.context) for item in value)
        encoded: bytes = value.encode(self.context)
        return encoded

    def _put(self, name: str, width: int, signed: bool = False) -> int:
        return self._number(name, self.get(name), width, signed)

    def _number(self, name: str, value: int | None, width: int, signed: bool = False) -> int:
        if value is None:
            raise DecodeError("is missing", field=name)
        try:
            self.out += value.to_bytes(width, "little", signed=signed)
        except OverflowError:
            raise DecodeError(f"{value} does not fit {width} bytes", field=name) from None
        return value

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
        value: int = self.get(name)
        self.out += encode_lenenc(value)
        return value

    def uvarint(self, name: str, bits: int = 64) -> int:
        value: int = self.get(name)
        self.out += encode_uvarint(value)
        return value

    def svarint(self, name: str) -> int:
        value: int = self.get(name)
        self.out += encode_svarint(value)
        return value

    def _append(self, name: str) -> None:
        pending = self.pending.pop(name, None)
        self.out += self.bytes_of(name) if pending is None else pending

    def raw(self, name: str, size: int) -> bytes:
        self._append(name)
        return cast(bytes, self.get(name))

    def text(self, name: str, size: int) -> str:
        self._append(name)
        return cast(str, self.get(name))

    def rest(self, name: str) -> bytes:
        return self.raw(name, 0)

    def rest_text(self, name: str) -> str:
        return self.text(name, 0)

    def cstring(self, name: str) -> str:
        value: str = self.get(name)
        self.out += value.encode("utf-8", "surrogateescape") + b"\0"
        return value

    def zero(self, size: int = 1) -> None:
        self.out += bytes(size)

    def fixed(self, run: Run) -> dict[str, Any]:
        values = {}
        for name, part in run.parts:
            values[name] = value = self.get(name)
            try:
                self.out += part.pack(value)
            except struct.error as error:
                raise DecodeError(f"{value!r} does not fit: {error}", field=name) from None
        return values

    def flagged(self, name: str, width: int, bit: int, announces: str) -> bool:
        flag = self.get(announces) is not None
        self._number(name, self.get(name) | flag << bit, width)
        return flag

    def split_count(self, of: str, width: int, bits: int, rest: str) -> int:
        count = len(self.get(of))
        self._number(of + "_count", count | self.get(rest) << bits, width)
        return count

    def padded_text(self, name: str, size: int) -> str:
        value: str = self.get(name)
        data = value.encode("utf-8", "surrogateescape")
        if len(data) > size:
            raise DecodeError(f"{len(data)} bytes do not fit {size}", field=name)
        self.out += data.ljust(size, b"\0")
        return value

    def sizes(self, of: str, count: int) -> bytes:
        sizes = bytes(len(item.encode("utf-8", "surrogateescape")) for item in self.get(of))
        self.out += sizes
        return sizes

    def terminated(self, name: str, sizes: bytes) -> Any:
        values = self.get(name)
        for value in values:
            self.out += value.encode("utf-8", "surrogateescape") + b"\0"
        return values

    def uvarint_bytes(self, name: str, size: int) -> bytes:
        value: bytes = self.get(name)
        for byte in value:
            self.out += encode_uvarint(byte)
        return value

    def uvarint_size(self, of: str) -> int:
        self.pending[of] = data = self.bytes_of(of)
        self.out += encode_uvarint(len(data))
        return len(data)

    def sized_lenenc(self, name: str) -> int:
        value: int = self.get(name)
        data = encode_lenenc(value)
        self.out += encode_lenenc(len(data)) + data
        return value

    def remaining(self) -> int:
        return 0

    def size(self, of: str, width: int, plus: int = 0) -> int:
        self.pending[of] = data = self.bytes_of(of)
        self._number(of + "_size", len(data) + plus, width)
        return len(data)

    def lenenc_size(self, of: str) -> int:
        self.pending[of] = data = self.bytes_of(of)
        self.out += encode_lenenc(len(data))
        return len(data)

    def count(self, of: str, width: int) -> int:
        return self._number(of + "_count", len(self.get(of)), width)

    def lenenc_count(self, of: str) -> int:
        count = len(self.get(of))
        self.out += encode_lenenc(count)
        return count

    def uvarint_count(self, of: str) -> int:
        count = len(self.get(of))
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
    ) -> Any:
        self._append(name)
        return self.get(name)

    def numbers(self, name: str, method: str, *, count: int | None = None, size: int | None = None) -> Any:
        values = self.get(name)
        for value in values:
            getattr(Writer(_Item(value), self.context).into(self.out), method)("value")
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
        self.out += codec.write(self, value)
        return value

    def computed(self, name: str, value: Any) -> None:
        pass


class _Item:
    """Lets one item of a list be written by the method that writes a field."""

    def __init__(self, value: Any) -> None:
        self.value = value
