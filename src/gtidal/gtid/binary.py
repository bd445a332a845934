"""The three binary encodings of a MySQL GTID set.

PREVIOUS_GTIDS, TRANSACTION_CONTEXT, VIEW_CHANGE and COM_BINLOG_DUMP_GTID all carry one. Its first eight
bytes say which encoding it is and how many entries follow, one for each UUID and tag:

    0   no tags     count (7), 0                     uuid, n_intervals u64, n × (start i64, end i64)
    1   tags        1, count (6), 1                  uuid, tag_length uvarint, tag, then as 0
    2   compact     2, count (6), 2, table of tags   tag index and whether a UUID follows in one uvarint,
                                                     uuid, n_boundaries uvarint, differences as uvarints

Starts are inclusive, ends exclusive. Encoding 2 is in MySQL's source of 2026 only, for reading; 9.7.4 calls
it malformed. Entries keep the order of the bytes, so that they encode back to the same; the one exception
is a UUID that encoding 2 could have left out because it equals the one before: it is read, not written.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Self

from gtidal.errors import DecodeError, GtidalError, Truncated, UsageError
from gtidal.gtid.intervals import GNO_END, ascending
from gtidal.gtid.mysql import GtidSet
from gtidal.gtid.text import is_tag
from gtidal.wire.layout import Fields, Reader, Record, Writer
from gtidal.wire.words import encode_uvarint, read_uvarint

PLAIN, TAGGED, COMPACT = 0, 1, 2

# The fewest bytes an entry can take: what a claimed count is held against.
_LEAST = {PLAIN: 24, TAGGED: 25, COMPACT: 2}

_U64 = struct.Struct("<Q")


@dataclass(frozen=True, slots=True)
class EncodedEntry:
    """The numbers of one UUID and tag: (start, exclusive end) pairs, ascending and apart."""

    uuid: bytes
    tag: str
    intervals: tuple[tuple[int, int], ...]


class EncodedGtidSet(Record):
    """A GTID set as it lies in the bytes. ``tags`` is the table that encoding 2 has, else empty."""

    encoding: int
    entries: tuple[EncodedEntry, ...]
    tags: tuple[str, ...] = ()

    @classmethod
    def walk(cls, f: Fields) -> None:
        head = _Head()
        encoding = f.coded("encoding", head)
        if encoding == COMPACT and head.count:
            tags = f.coded("tags", _Tags())
            f.coded("entries", _Compact(head.count, tags))
        else:
            f.computed("tags", ())
            f.coded("entries", _Plain(head.count, tagged=encoding == TAGGED))

    def to_set(self) -> GtidSet:
        return GtidSet.from_lanes(
            (entry.uuid, entry.tag.lower(), tuple(chain.from_iterable(entry.intervals)))
            for entry in self.entries
        )

    @classmethod
    def from_set(cls, gtids: GtidSet, encoding: int | None = None) -> Self:
        """In canonical order; by default encoding 0, or 1 if there are tags."""
        if encoding is None:
            encoding = TAGGED if gtids.has_tags else PLAIN
        if encoding not in _LEAST:
            raise UsageError(f"a GTID set has the encodings 0, 1 and 2, not {encoding}")
        if encoding == PLAIN and gtids.has_tags:
            raise UsageError("a GTID set with tags needs encoding 1 or 2")
        entries = tuple(
            EncodedEntry(uuid, tag, tuple(zip(lane[::2], lane[1::2], strict=True)))
            for uuid, tag, lane in gtids.lanes()
        )
        tags = tuple(sorted({entry.tag for entry in entries})) if encoding == COMPACT else ()
        return cls(encoding, entries, tags)


class _Head:
    """The first eight bytes: the encoding is the field, the count is that of the entries."""

    count = 0

    def read(self, reader: Reader, name: str) -> int:
        start = reader.pos
        data = reader.take("n_sids", 8)
        encoding = data[7]
        if encoding not in _LEAST:
            raise DecodeError(f"{encoding} is no known encoding of a GTID set", field=name)
        if encoding == PLAIN:
            self.count = _U64.unpack(data)[0]
            parts = [("n_sids", 8, self.count)]
        else:
            if data[0] != encoding:
                raise DecodeError(f"is {data[0]} in the first byte and {encoding} in the eighth", field=name)
            self.count = int.from_bytes(data[1:7], "little")
            parts = [(name, 1, encoding), ("n_tsids", 6, self.count), (f"{name}_again", 1, encoding)]
        for part, size, value in parts:
            reader.pos = start + size
            reader.note(part, start, value)
            start = reader.pos
        _check_claim(reader, "n_sids" if encoding == PLAIN else "n_tsids", self.count, _LEAST[encoding])
        return encoding

    def write(self, writer: Writer, value: int) -> bytes:
        self.count = len(writer.get("entries"))
        if value not in _LEAST:
            raise DecodeError(f"{value} is no known encoding of a GTID set", field="encoding")
        if value == PLAIN:
            return _U64.pack(self.count)
        return bytes((value,)) + self.count.to_bytes(6, "little") + bytes((value,))


class _Plain:
    """The entries of encodings 0 and 1."""

    def __init__(self, count: int, *, tagged: bool) -> None:
        self.count = count
        self.tagged = tagged

    def read(self, reader: Reader, name: str) -> tuple[EncodedEntry, ...]:
        entries = []
        for index in range(self.count):
            inside = f"{name}[{index}]."
            uuid = _read_uuid(reader, inside)
            tag = _read_tag(reader, f"{inside}tag", f"{inside}tag_length") if self.tagged else ""
            entries.append(EncodedEntry(uuid, tag, self._intervals(reader, inside)))
        return tuple(entries)

    def _intervals(self, reader: Reader, inside: str) -> tuple[tuple[int, int], ...]:
        start = reader.pos
        count: int = _U64.unpack(reader.take(f"{inside}n_intervals", 8))[0]
        reader.note(f"{inside}n_intervals", start, count)
        _check_claim(reader, f"{inside}n_intervals", count, 16)
        data = reader.take(f"{inside}intervals", 16 * count)
        bounds: tuple[int, ...] = struct.unpack(f"<{2 * count}q", data)
        _check_ascending(bounds, inside)
        if reader.tracing:
            end = reader.pos
            for index, value in enumerate(bounds):
                reader.pos = end - 8 * (len(bounds) - index - 1)
                reader.note(f"{inside}{_bound_name(index)}", reader.pos - 8, value)
        return tuple(zip(bounds[::2], bounds[1::2], strict=True))

    def write(self, writer: Writer, value: tuple[EncodedEntry, ...]) -> bytes:
        out = bytearray()
        for index, entry in enumerate(value):
            inside = f"entries[{index}]."
            bounds = _bounds_of(entry, inside)
            out += entry.uuid
            if self.tagged:
                out += _encode_tag(entry.tag, f"{inside}tag")
            elif entry.tag:
                raise DecodeError("encoding 0 has no tags", field=f"{inside}tag")
            out += _U64.pack(len(entry.intervals))
            out += struct.pack(f"<{len(bounds)}q", *bounds)
        return bytes(out)


class _Tags:
    """Encoding 2's table of the tags that occur, the empty one included."""

    def read(self, reader: Reader, name: str) -> tuple[str, ...]:
        count = _read_number(reader, "n_tags")
        _check_claim(reader, "n_tags", count, 1)
        return tuple(
            _read_tag(reader, f"{name}[{index}]", f"{name}[{index}]_length") for index in range(count)
        )

    def write(self, writer: Writer, value: tuple[str, ...]) -> bytes:
        parts = [_encode_tag(tag, f"tags[{index}]") for index, tag in enumerate(value)]
        return encode_uvarint(len(parts)) + b"".join(parts)


class _Compact:
    """The entries of encoding 2."""

    def __init__(self, count: int, tags: tuple[str, ...]) -> None:
        self.count = count
        self.tags = tags

    def read(self, reader: Reader, name: str) -> tuple[EncodedEntry, ...]:
        entries = []
        uuid = b""
        for index in range(self.count):
            inside = f"{name}[{index}]."
            code = _read_number(reader, f"{inside}code")
            if code >> 1 >= len(self.tags):
                raise DecodeError(f"says tag {code >> 1} of {len(self.tags)}", field=f"{inside}code")
            if code & 1:
                uuid = _read_uuid(reader, inside)
            elif not uuid:
                raise DecodeError("the first entry has no UUID", field=f"{inside}code")
            entries.append(EncodedEntry(uuid, self.tags[code >> 1], self._intervals(reader, inside)))
        return tuple(entries)

    def _intervals(self, reader: Reader, inside: str) -> tuple[tuple[int, int], ...]:
        count = _read_number(reader, f"{inside}n_boundaries")
        _check_claim(reader, f"{inside}n_boundaries", count, 1)
        bounds = [1] if count & 1 else []
        least = 2
        for _ in range(count):
            start = reader.pos
            try:
                delta, reader.pos = read_uvarint(reader.data, start, reader.end)
                value = least + delta
                if value > GNO_END:
                    raise DecodeError(f"{value} is larger than any transaction number")
            except GtidalError as error:
                raise error.at(field=f"{inside}{_bound_name(len(bounds))}") from None
            if reader.tracing:
                reader.note(f"{inside}{_bound_name(len(bounds))}", start, value)
            bounds.append(value)
            least = value + 1
        return tuple(zip(bounds[::2], bounds[1::2], strict=True))

    def write(self, writer: Writer, value: tuple[EncodedEntry, ...]) -> bytes:
        numbers = {tag: number for number, tag in reversed(list(enumerate(self.tags)))}
        out = bytearray()
        last = b""
        for index, entry in enumerate(value):
            inside = f"entries[{index}]."
            bounds = _bounds_of(entry, inside)
            if entry.tag not in numbers:
                raise DecodeError(f"{entry.tag!r} is not in the table of tags", field=f"{inside}tag")
            fresh = entry.uuid != last
            out += encode_uvarint(numbers[entry.tag] << 1 | fresh)
            if fresh:
                out += entry.uuid
            last = entry.uuid
            first = 1 if bounds and bounds[0] == 1 else 0
            out += encode_uvarint(len(bounds) - first)
            for before, bound in pairwise((1, *bounds[first:])):
                out += encode_uvarint(bound - before - 1)
        return bytes(out)


def _check_claim(reader: Reader, name: str, count: int, least: int) -> None:
    """A count is only a claim: refuse it before anything is made for it."""
    left = reader.end - reader.pos
    if count * least > left:
        raise Truncated(f"{count} need at least {count * least} bytes, {left} are left", field=name)


def _read_number(reader: Reader, name: str) -> int:
    start = reader.pos
    try:
        value, reader.pos = read_uvarint(reader.data, start, reader.end)
    except GtidalError as error:
        raise error.at(field=name) from None
    reader.note(name, start, value)
    return value


def _read_uuid(reader: Reader, inside: str) -> bytes:
    start = reader.pos
    uuid = reader.take(f"{inside}uuid", 16)
    reader.note(f"{inside}uuid", start, uuid)
    return uuid


def _read_tag(reader: Reader, name: str, length_name: str) -> str:
    size = _read_number(reader, length_name)
    if size > 32:
        raise DecodeError(f"a tag has at most 32 characters, not {size}", field=length_name)
    start = reader.pos
    tag = reader.take(name, size).decode("latin-1")
    if not is_tag(tag):
        raise DecodeError(f"{tag!r} is not a tag", field=name)
    if size:
        reader.note(name, start, tag)
    return tag


def _encode_tag(tag: str, name: str) -> bytes:
    if not is_tag(tag):
        raise DecodeError(f"{tag!r} is not a tag", field=name)
    return encode_uvarint(len(tag)) + tag.encode("ascii")


def _bounds_of(entry: EncodedEntry, inside: str) -> tuple[int, ...]:
    """What is about to be written, checked as strictly as what is read."""
    if len(entry.uuid) != 16:
        raise DecodeError(f"a UUID has 16 bytes, not {len(entry.uuid)}", field=f"{inside}uuid")
    bounds = tuple(chain.from_iterable(entry.intervals))
    _check_ascending(bounds, inside)
    return bounds


def _check_ascending(bounds: Sequence[int], inside: str) -> None:
    if ascending(bounds):
        return
    before = 0
    for index, value in enumerate(bounds):
        if not before < value <= GNO_END:
            reason = f"{value} is not above {before}" if value <= before else f"{value} is too large"
            raise DecodeError(reason, field=f"{inside}{_bound_name(index)}")
        before = value
    raise DecodeError("a start without an end", field=f"{inside}intervals")


def _bound_name(index: int) -> str:
    return f"interval[{index >> 1}].{'end' if index & 1 else 'start'}"
