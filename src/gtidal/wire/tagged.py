"""mysql::serialization: a message of numbered fields, of which a reader may not know the last ones.

    [version] [size of the whole message] [last field that may not be ignored, plus one] {[id] [data]} …

All are variable-length integers. Ids ascend; an absent id is an absent field. Since a field does not tell
its own size, the first unknown id makes everything up to the message's end opaque: it is kept as bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gtidal.errors import DecodeError, GtidalError, Unsupported
from gtidal.wire.layout import Fields, Reader, Writer
from gtidal.wire.words import encode_uvarint, read_uvarint


@dataclass(frozen=True, slots=True)
class TaggedField:
    """One numbered field: its id, its name, and the ``Fields`` method that handles its data."""

    id: int
    name: str
    method: str
    arguments: tuple[Any, ...] = ()


def walk_message(f: Fields, fields: Sequence[TaggedField]) -> None:
    """Fields ``serialization_version``, ``last_non_ignorable``, each of ``fields`` (None when absent) and
    ``unknown_fields`` (bytes from the first unknown id on)."""
    if isinstance(f, Writer):
        _write(f, fields)
    elif isinstance(f, Reader):
        _read(f, fields)


def _read(f: Reader, fields: Sequence[TaggedField]) -> None:
    start = f.pos
    version = f.uvarint("serialization_version", 16)
    if version != 1:
        raise Unsupported(f"serialization version {version}; known is 1", field="serialization_version")
    size = f.uvarint_size("message")
    end = start + size
    if end > f.end:
        raise f.short("message", size)
    outer, f.end = f.end, end
    if f.pos > end:
        raise DecodeError(f"a message of {size} bytes cannot hold its own header", field="message_size")
    f.uvarint("last_non_ignorable")
    for part in fields:
        f.values[part.name] = None
    known = {part.id: part for part in fields}
    last = -1
    while f.pos < end:
        here = f.pos
        try:
            identity, after = read_uvarint(f.data, here, end)
        except GtidalError as error:
            raise error.at(field="field_id") from None
        field = known.get(identity)
        if field is None:
            if identity < f.values["last_non_ignorable"]:
                raise Unsupported(f"field {identity} is unknown and may not be ignored", field="field_id")
            break
        if identity <= last:
            raise DecodeError(f"field {identity} comes after field {last}", field="field_id")
        last = identity
        f.pos = after
        f.note(field.name + "_id", here, identity)
        getattr(f, field.method)(field.name, *field.arguments)
    f.rest("unknown_fields")
    f.end = outer


def _write(f: Writer, fields: Sequence[TaggedField]) -> None:
    outer, f.out = f.out, bytearray()
    f.uvarint("last_non_ignorable")
    for part in fields:
        if f.get(part.name) is not None:
            f.out += encode_uvarint(part.id)
            getattr(f, part.method)(part.name, *part.arguments)
    f.rest("unknown_fields")
    body, f.out = f.out, outer
    f.uvarint("serialization_version", 16)
    head = len(encode_uvarint(f.get("serialization_version")))
    size = head + 1 + len(body)
    while head + len(encode_uvarint(size)) + len(body) != size:  # the size counts its own bytes
        size = head + len(encode_uvarint(size)) + len(body)
    f.out += encode_uvarint(size) + body
