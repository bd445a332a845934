"""The two products that read: ``Reader`` takes each field from bytes, ``Tracer`` also notes where it lay."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any

from gtidal.errors import DecodeError, GtidalError, Truncated
from gtidal.wire.fields import Codec, Field, Fields, Pick, Run
from gtidal.wire.words import read_lenenc, read_svarint, read_uvarint

_U16 = struct.Struct("<H").unpack_from
_U32 = struct.Struct("<I").unpack_from
_U64 = struct.Struct("<Q").unpack_from
_I32 = struct.Struct("<i").unpack_from
_I64 = struct.Struct("<q").unpack_from


class Reader(Fields):
    """Takes each field from bytes."""

    __slots__ = ("context", "data", "end", "pos", "values")

    tracing = False

    def __init__(self, data: bytes, pos: int, end: int, context: Any = None) -> None:
        self.data = data
        self.pos = pos
        self.end = end
        self.context = context
        self.values: dict[str, Any] = {}

    def read_record(self, cls: type[Any]) -> Any:
        """Walk ``cls`` at the current position and make the object."""
        outer = self.values
        values: dict[str, Any] = {}
        self.values = values
        cls.walk(self)
        self.values = outer
        record = object.__new__(cls)
        object.__setattr__(record, "__dict__", values)
        return record

    def short(self, name: str, need: int) -> Truncated:
        left = self.end - self.pos
        return Truncated(f"needs {need} bytes, {max(left, 0)} are left", field=name)

    def take(self, name: str, size: int) -> bytes:
        """``size`` bytes, not stored as a field."""
        pos = self.pos
        stop = pos + size
        if size < 0 or stop > self.end:
            raise self.short(name, size)
        self.pos = stop
        return self.data[pos:stop]

    def u8(self, name: str) -> int:
        pos = self.pos
        if pos >= self.end:
            raise self.short(name, 1)
        self.pos = pos + 1
        value = self.values[name] = self.data[pos]
        return value

    def u16(self, name: str) -> int:
        pos = self.pos
        stop = pos + 2
        if stop > self.end:
            raise self.short(name, 2)
        self.pos = stop
        value: int = _U16(self.data, pos)[0]
        self.values[name] = value
        return value

    def u32(self, name: str) -> int:
        pos = self.pos
        stop = pos + 4
        if stop > self.end:
            raise self.short(name, 4)
        self.pos = stop
        value: int = _U32(self.data, pos)[0]
        self.values[name] = value
        return value

    def u64(self, name: str) -> int:
        pos = self.pos
        stop = pos + 8
        if stop > self.end:
            raise self.short(name, 8)
        self.pos = stop
        value: int = _U64(self.data, pos)[0]
        self.values[name] = value
        return value

    def i32(self, name: str) -> int:
        pos = self.pos
        stop = pos + 4
        if stop > self.end:
            raise self.short(name, 4)
        self.pos = stop
        value: int = _I32(self.data, pos)[0]
        self.values[name] = value
        return value

    def i64(self, name: str) -> int:
        pos = self.pos
        stop = pos + 8
        if stop > self.end:
            raise self.short(name, 8)
        self.pos = stop
        value: int = _I64(self.data, pos)[0]
        self.values[name] = value
        return value

    def _little(self, name: str, width: int) -> int:
        pos = self.pos
        stop = pos + width
        if stop > self.end:
            raise self.short(name, width)
        self.pos = stop
        return int.from_bytes(self.data[pos:stop], "little")

    def u24(self, name: str) -> int:
        value = self.values[name] = self._little(name, 3)
        return value

    def u48(self, name: str) -> int:
        value = self.values[name] = self._little(name, 6)
        return value

    def u56(self, name: str) -> int:
        value = self.values[name] = self._little(name, 7)
        return value

    def _variable(self, name: str, read: Callable[..., tuple[int, int]], *arguments: int) -> int:
        try:
            value, self.pos = read(self.data, self.pos, self.end, *arguments)
        except GtidalError as error:
            raise error.at(field=name) from None
        return value

    def lenenc(self, name: str) -> int:
        value = self.values[name] = self._variable(name, read_lenenc)
        return value

    def uvarint(self, name: str, bits: int = 64) -> int:
        value = self.values[name] = self._variable(name, read_uvarint, bits)
        return value

    def svarint(self, name: str) -> int:
        value = self.values[name] = self._variable(name, read_svarint)
        return value

    def raw(self, name: str, size: int) -> bytes:
        value = self.values[name] = self.take(name, size)
        return value

    def text(self, name: str, size: int) -> str:
        value = self.values[name] = self.take(name, size).decode("utf-8", "surrogateescape")
        return value

    def rest(self, name: str) -> bytes:
        value = self.values[name] = self.data[self.pos : self.end]
        self.pos = self.end
        return value

    def rest_text(self, name: str) -> str:
        value = self.values[name] = self.data[self.pos : self.end].decode("utf-8", "surrogateescape")
        self.pos = self.end
        return value

    def cstring(self, name: str) -> str:
        stop = self.data.find(b"\0", self.pos, self.end)
        if stop < 0:
            raise Truncated("has no terminating zero byte", field=name)
        value = self.values[name] = self.data[self.pos : stop].decode("utf-8", "surrogateescape")
        self.pos = stop + 1
        return value

    def zero(self, size: int = 1) -> None:
        data = self.take("terminator", size)
        if data.count(0) != size:
            raise DecodeError(f"expected {size} zero bytes, found {data.hex()}", field="terminator")

    def fixed(self, run: Run) -> dict[str, Any]:
        pos = self.pos
        stop = pos + run.size
        if stop > self.end:
            for name, part in run.parts:
                self.take(name, part.size)  # raises for the field that is short
        self.pos = stop
        self.values.update(zip(run.names, run.unpack(self.data, pos), strict=True))
        return self.values

    def flagged(self, name: str, width: int, bit: int, announces: str) -> bool:
        """A number whose top bit announces that another field follows."""
        value = self._little(name, width)
        self.values[name] = value & ~(1 << bit)
        return bool(value >> bit & 1)

    def split_count(self, of: str, width: int, bits: int, rest: str) -> int:
        """A number of items in the low ``bits`` of a number, and another field in the high ones."""
        value = self._little(of + "_count", width)
        self.values[rest] = value >> bits
        return value & ((1 << bits) - 1)

    def padded_text(self, name: str, size: int) -> str:
        value = self.take(name, size).rstrip(b"\0").decode("utf-8", "surrogateescape")
        self.values[name] = value
        return value

    def sizes(self, of: str, count: int) -> bytes:
        return self.take(of + "_sizes", count)

    def terminated(self, name: str, sizes: bytes) -> Any:
        """Texts of known sizes, each with a zero byte behind it."""
        items: list[str] = []
        for index, size in enumerate(sizes):
            data = self.take(f"{name}[{index}]", size + 1)
            if data[-1]:
                raise DecodeError("has no terminating zero byte", field=f"{name}[{index}]")
            items.append(data[:-1].decode("utf-8", "surrogateescape"))
        value = self.values[name] = tuple(items)
        return value

    def uvarint_bytes(self, name: str, size: int) -> bytes:
        """A fixed array of bytes as mysql::serialization writes it: each byte an integer."""
        value = self.values[name] = bytes(self._variable(name, read_uvarint, 8) for _ in range(size))
        return value

    def uvarint_size(self, of: str) -> int:
        return self._variable(of + "_size", read_uvarint)

    def sized_lenenc(self, name: str) -> int:
        """A length-encoded integer inside a value that tells its own size."""
        stop = self.lenenc_size(name) + self.pos
        value = self.lenenc(name)
        if self.pos != stop:
            raise DecodeError("the integer does not fill its value", field=name)
        return value

    def remaining(self) -> int:
        return self.end - self.pos

    def size(self, of: str, width: int, plus: int = 0) -> int:
        """The size of a later field; ``plus`` is what the number on the wire counts beyond it."""
        value = self._little(of + "_size", width)
        if value < plus:
            raise DecodeError(f"{value} is less than {plus}", field=of + "_size")
        return value - plus

    def lenenc_size(self, of: str) -> int:
        return self._variable(of + "_size", read_lenenc)

    def count(self, of: str, width: int) -> int:
        return self._little(of + "_count", width)

    def count_or_none(self, of: str, width: int, none: int) -> int | None:
        """A number of items, one of which stands for a list that is not there."""
        count = self.count(of, width)
        if count != none:
            return count
        self.values[of] = None
        return None

    def lenenc_count(self, of: str) -> int:
        return self._variable(of + "_count", read_lenenc)

    def uvarint_count(self, of: str) -> int:
        return self._variable(of + "_count", read_uvarint)

    def present(self, name: str, size: int = 1) -> bool:
        """Whether an optional field is there: while decoding, whether enough bytes remain."""
        return self.end - self.pos >= size

    def more(self) -> bool:
        return self.pos < self.end

    def record(self, name: str, cls: type[Any]) -> Any:
        try:
            value = self.values[name] = self.read_record(cls)
        except GtidalError as error:
            raise error.inside(name) from None
        return value

    def sized_record(self, name: str, cls: type[Any], size: int) -> Any:
        """A record that fills ``size`` bytes exactly; None where there are none."""
        if not size:
            self.values[name] = None
            return None
        if size < 0 or self.pos + size > self.end:
            raise self.short(name, size)
        outer, self.end = self.end, self.pos + size
        value = self.record(name, cls)
        if self.pos != self.end:
            raise DecodeError(f"{self.end - self.pos} bytes follow the last field", field=name)
        self.end = outer
        return value

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
        items: list[Any] = []
        for index in self._repeat(name, count, size):
            if index == most:
                raise DecodeError(f"more than {most} items", field=name)
            try:
                items.append(self.read_record(pick(self)))
            except GtidalError as error:
                raise error.inside(f"{name}[{index}]") from None
            if until is not None and isinstance(items[-1], until):
                break
        value = self.values[name] = tuple(items)
        return value

    def _repeat(self, name: str, count: int | None, size: int | None) -> Iterator[int]:
        """Indexes while items remain: ``count`` of them, or as many as fit ``size`` bytes or the rest.

        A count is a claim of the input, so each item must use up bytes; that bounds the work."""
        outer = self.end
        if size is not None:
            if size < 0 or self.pos + size > outer:
                raise self.short(name, size)
            self.end = self.pos + size
        index = 0
        while self.pos < self.end if count is None else index < count:
            before = self.pos
            yield index
            if self.pos == before:
                raise DecodeError("an empty item in a list", field=f"{name}[{index}]")
            index += 1
        if size is not None:
            self.end = outer

    def numbers(self, name: str, method: str, *, count: int | None = None, size: int | None = None) -> Any:
        read = getattr(self, method)
        items: list[int] = []
        outer = self.values
        self.values = {}
        tracing = self.tracing
        for index in self._repeat(name, count, size):
            try:
                items.append(read(f"{name}[{index}]" if tracing else name))
            except GtidalError as error:
                error.field = f"{name}[{index}]"
                raise
        self.values = outer
        value = self.values[name] = tuple(items)
        return value

    def sized_numbers(self, name: str, method: str) -> Any:
        """A list that fills a length-encoded number of bytes."""
        return self.numbers(name, method, size=self.lenenc_size(name))

    def coded(self, name: str, codec: Codec, size: int | None = None) -> Any:
        outer = self.end
        if size is not None:
            if size < 0 or self.pos + size > outer:
                raise self.short(name, size)
            self.end = self.pos + size
        value = self.values[name] = codec.read(self, name)
        self.end = outer
        return value

    def computed(self, name: str, value: Any) -> None:
        """A field that the layout implies and no byte holds."""
        self.values[name] = value

    def mark(self) -> tuple[int, int, int]:
        """The present state, to which ``rewind`` goes back after an attempt that failed."""
        return self.pos, self.end, 0

    def rewind(self, mark: tuple[int, int, int]) -> None:
        self.pos, self.end, _ = mark

    def note(self, name: str, start: int, value: Any) -> None:
        """Codecs report their inner fields here; only a tracer listens."""


class Tracer(Reader):
    """A reader that notes every field it reads."""

    __slots__ = ("fields", "prefix")

    tracing = True

    def __init__(self, data: bytes, pos: int, end: int, context: Any = None) -> None:
        super().__init__(data, pos, end, context)
        self.fields: list[Field] = []
        self.prefix = ""

    def mark(self) -> tuple[int, int, int]:
        return self.pos, self.end, len(self.fields)

    def rewind(self, mark: tuple[int, int, int]) -> None:
        super().rewind(mark)
        del self.fields[mark[2] :]

    def note(self, name: str, start: int, value: Any) -> None:
        self.fields.append(Field(self.prefix + name, start, self.pos - start, value))

    def zero(self, size: int = 1) -> None:
        start = self.pos
        super().zero(size)
        self.note("terminator", start, self.data[start : self.pos])

    def fixed(self, run: Run) -> dict[str, Any]:
        for name, part in run.parts:
            start = self.pos
            self.values[name] = value = part.unpack(self.take(name, part.size))[0]
            self.note(name, start, value)
        return self.values

    def flagged(self, name: str, width: int, bit: int, announces: str) -> bool:
        start = self.pos
        flag = super().flagged(name, width, bit, announces)
        self.note(name, start, self.values[name])
        return flag

    def terminated(self, name: str, sizes: bytes) -> Any:
        start = self.pos
        value = super().terminated(name, sizes)
        stop, self.pos = self.pos, start
        for index, item in enumerate(value):
            start = self.pos
            self.pos += sizes[index] + 1
            self.note(f"{name}[{index}]", start, item)
        self.pos = stop
        return value

    def record(self, name: str, cls: type[Any]) -> Any:
        outer = self.prefix
        self.prefix = f"{outer}{name}."
        value = super().record(name, cls)
        self.prefix = outer
        return value

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
        outer = self.prefix
        index = -1

        def picked(reader: Reader) -> type[Any]:
            nonlocal index
            index += 1
            self.prefix = f"{outer}{name}[{index}]."
            return pick(reader)

        value = super().records(name, picked, count=count, size=size, until=until, most=most)
        self.prefix = outer
        return value


def _traced(method: str, suffix: str = "") -> Callable[..., Any]:
    plain = getattr(Reader, method)

    def read(self: Tracer, name: str, *arguments: Any, **options: Any) -> Any:
        start = self.pos
        value = plain(self, name, *arguments, **options)
        self.note(name + suffix, start, value)
        return value

    return read


for _method in [
    "u8",
    "u16",
    "u24",
    "u32",
    "u48",
    "u56",
    "u64",
    "i32",
    "i64",
    "lenenc",
    "uvarint",
    "svarint",
    "raw",
    "text",
    "rest",
    "rest_text",
    "cstring",
    "padded_text",
    "uvarint_bytes",
]:
    setattr(Tracer, _method, _traced(_method))
for _method in ("size", "lenenc_size", "uvarint_size"):
    setattr(Tracer, _method, _traced(_method, "_size"))
for _method in ("count", "lenenc_count", "uvarint_count", "split_count"):
    setattr(Tracer, _method, _traced(_method, "_count"))
setattr(Tracer, "sizes", _traced("sizes", "_sizes"))  # noqa: B010 - beside the loops above
