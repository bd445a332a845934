"""One declaration of a byte layout, three products: decode, encode, trace.

A ``Record`` is a frozen dataclass. Its layout is either in its annotations::

    class Rand(Event):
        seed1: U64
        seed2: U64

or, where a field depends on an earlier one, in a ``walk`` that names the fields in wire order::

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.u16("incident")
        size = f.size("message", 1)
        f.raw("message", size)

The same walk is run by three kinds of ``Fields``: a ``Reader`` takes each field from bytes, a ``Writer``
takes it from the record and appends bytes, a ``Tracer`` is a reader that also notes name, offset, size
and value of everything it read. Every read is compared with what is left first, and says which field
was short. There is no condition language: a walk is Python.

Numbers are little-endian. Text is UTF-8 with undecodable bytes kept (surrogateescape), so it
encodes back to the same bytes.
"""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, field, fields
from reprlib import Repr
from typing import Annotated, Any, ClassVar, Self, cast, dataclass_transform, get_type_hints

from gtidal.errors import DecodeError
from gtidal.wire.fields import Codec, Field, Fields, Pick, Run
from gtidal.wire.reading import Reader, Tracer
from gtidal.wire.writing import Writer


@dataclass(frozen=True, slots=True)
class Word:
    """Names the ``Fields`` method that reads or writes a field declared by annotation."""

    method: str
    arguments: tuple[Any, ...] = ()


U8 = Annotated[int, Word("u8")]
U16 = Annotated[int, Word("u16")]
U24 = Annotated[int, Word("u24")]
U32 = Annotated[int, Word("u32")]
U48 = Annotated[int, Word("u48")]
U64 = Annotated[int, Word("u64")]
I32 = Annotated[int, Word("i32")]
I64 = Annotated[int, Word("i64")]
Rest = Annotated[bytes, Word("rest")]
RestText = Annotated[str, Word("rest_text")]
CString = Annotated[str, Word("cstring")]
Short = Annotated[bytes, Word("short_bytes")]
ShortText = Annotated[str, Word("short_text")]


_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = 120
_SHORT.maxtuple = 20


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Record:
    """Something with a byte layout. Every subclass becomes a dataclass, without slots: a reader hands the dictionary it
    filled to the new object as it is, several times faster than ``__init__``.

    What dataclasses would make for each class is here once for all, since there are many and each start makes them:
    records are equal by their fields, and frozen."""

    _words: ClassVar[tuple[tuple[str, Word], ...] | None] = None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        dataclass(eq=False, repr=False)(cls)

    def __setattr__(self, name: str, value: object) -> None:
        """``__init__`` sets each field once; nobody sets it again."""
        if name in self.__dict__ or name not in type(self).__dataclass_fields__:  # type: ignore[attr-defined]  # set by dataclass()
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        self.__dict__[name] = value

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._compared() == other._compared()

    def __hash__(self) -> int:
        return hash(self._compared())

    def _compared(self) -> tuple[Any, ...]:
        return tuple(getattr(self, part.name) for part in fields(cast(Any, self)) if part.compare)

    def __repr__(self) -> str:
        """All fields but the longest values in full."""
        shown = (part for part in fields(cast(Any, self)) if part.repr)
        parts = (f"{part.name}={_SHORT.repr(getattr(self, part.name))}" for part in shown)
        return f"{type(self).__name__}({', '.join(parts)})"

    def __getstate__(self) -> dict[str, Any]:
        """What was worked out from the fields and kept beside them is not part of a record."""
        declared = type(self).__dataclass_fields__  # type: ignore[attr-defined]  # set by dataclass()
        return {name: value for name, value in self.__dict__.items() if name in declared}

    @classmethod
    def walk(cls, f: Fields) -> None:
        """By default, the fields declared by annotation, in order."""
        words = cls.__dict__.get("_words")
        if words is None:
            hints = get_type_hints(cls, include_extras=True)
            words = tuple(
                (name, mark)
                for name, hint in hints.items()
                for mark in getattr(hint, "__metadata__", ())
                if isinstance(mark, Word)
            )
            cls._words = words
        for name, word in words:
            getattr(f, word.method)(name, *word.arguments)

    @classmethod
    def decode(cls, data: bytes, context: Any = None) -> Self:
        """Exactly these bytes as a record; what is left over is an error."""
        reader = Reader(data, 0, len(data), context)
        record: Self = reader.read_record(cls)
        if reader.pos != reader.end:
            raise DecodeError(f"{reader.end - reader.pos} bytes follow the last field")
        return record

    def encode(self, context: Any = None) -> bytes:
        return Writer(self, context).run()

    @classmethod
    def trace(cls, data: bytes, context: Any = None) -> list[Field]:
        tracer = Tracer(data, 0, len(data), context)
        tracer.read_record(cls)
        return tracer.fields


__all__ = [
    "I32", "I64", "U8", "U16", "U24", "U32", "U48", "U64", "CString", "Codec", "Field", "Fields", "Pick", "Reader",
    "Record", "Rest", "RestText", "Run", "Short", "ShortText", "Tracer", "Word", "Writer",
]  # fmt: skip
