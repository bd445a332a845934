"""An event as it lies in a log: header, body, checksum.

``decode_event``, ``encode_event`` and ``trace_event`` put around the body, which the event's class
describes, what all events have in common.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from zlib import crc32

from gtidal.errors import DecodeError, GtidalError, Truncated
from gtidal.events.control import Rotate
from gtidal.events.format import CHECKSUM_SIZE, CRC32, Format, FormatDescription, StartV3, announces_checksum
from gtidal.events.header import COMMON, IN_USE, Header
from gtidal.events.registry import EVENTS, Context, Event, Unknown
from gtidal.wire.layout import Field, Reader, Tracer

HEADER_SIZE, V1_HEADER_SIZE = 19, 13
_FIXED_HEADER = {FormatDescription.code, Rotate.code}


def header_length(type_code: int, format: Format) -> int:
    """Format descriptions and ROTATEs have 19 bytes in every version 4 log, whatever it announces."""
    if type_code in _FIXED_HEADER and format.version >= 4:
        return HEADER_SIZE
    return format.header_length


def checksum_size(data: bytes, type_code: int, format: Format) -> int:
    """How many bytes at the event's end are its checksum. A format description has one by its own
    server's version, even where it says that the other events have none."""
    if type_code == FormatDescription.code:
        version = data[HEADER_SIZE + 2 : HEADER_SIZE + 52].split(b"\0")[0]
        return CHECKSUM_SIZE if announces_checksum(version.decode("latin-1")) else 0
    return CHECKSUM_SIZE if format.has_checksums else 0


def compute_checksum(data: bytes, type_code: int) -> int:
    """CRC-32 of an event without its checksum. The in-use bit of a format description is flipped in
    place when the file is closed, so it counts as cleared."""
    if type_code == FormatDescription.code:
        data = data[:17] + bytes((data[17] & ~IN_USE,)) + data[18:]
    return crc32(data)


def decode_header(data: bytes, position: int, format: Format, start: int = 0) -> Header:
    """The header at ``start`` of ``data``, which lies at ``position`` of its file."""
    length = HEADER_SIZE
    if len(data) > start + 4 and (format.header_length != HEADER_SIZE or format.version < 4):
        length = header_length(data[start + 4], format)
    if length == HEADER_SIZE and len(data) - start >= HEADER_SIZE:  # nearly all: one call, no walk
        header = object.__new__(Header)
        timestamp, type_code, server_id, size, log_pos, flags = COMMON.unpack(data, start)
        values = {
            "timestamp": timestamp,
            "type_code": type_code,
            "server_id": server_id,
            "size": size,
            "log_pos": log_pos,
            "flags": flags,
            "position": position,
        }
        object.__setattr__(header, "__dict__", values)
    else:
        header = Reader(data, start, len(data), length).read_record(Header)
        header.__dict__["position"] = position
    if header.size < length:
        raise DecodeError(f"{header.size} bytes do not hold a header of {length}", field="size")
    return header


def decode_event(data: bytes, position: int, context: Context) -> Event:
    """One whole event. The checksum is read, not compared: that is the log decoder's decision."""
    format = context.format
    size = len(data)
    end = size - CHECKSUM_SIZE if format.checksum == CRC32 else size
    plain = format.header_length == HEADER_SIZE and format.version >= 4 and end >= HEADER_SIZE
    if not plain or data[4] == FormatDescription.code:
        return _read(Reader, data, position, context)[0]
    # Nearly all events; what is unusual or wrong is left to _read.
    header = decode_header(data, position, format)
    if header.size != size:
        return _read(Reader, data, position, context)[0]
    cls = EVENTS.get(header.type_code, Unknown)
    reader = Reader(data, HEADER_SIZE, end, context)
    try:
        event: Event = reader.read_record(cls)
    except GtidalError as error:
        raise error.at(position=position, event=cls.name if cls is not Unknown else "event") from None
    values = event.__dict__
    values["header"] = header
    if reader.pos < end:
        values["trailing"] = data[reader.pos : end]
    if end < size:
        values["checksum"] = int.from_bytes(data[end:], "little")
    return event


def trace_event(data: bytes, position: int, context: Context) -> tuple[Event, list[Field]]:
    """The event, and every field of it with offset, size and value."""
    event, reader = _read(Tracer, data, position, context)
    return event, reader.fields


def _read(kind: type[Any], data: bytes, position: int, context: Context) -> tuple[Event, Any]:
    format = context.format
    name = EVENTS[data[4]].name if len(data) > 4 and data[4] in EVENTS else "event"
    try:
        header = decode_header(data, position, format)
        code = header.type_code
        if header.size != len(data):
            raise Truncated(f"has {len(data)} bytes of {header.size}", field="size")
        tail = checksum_size(data, code, format)
        end = header.size - tail
        reader = kind(data, header.length, end, context)
        if end < header.length:
            raise Truncated(f"{header.size} bytes do not hold header and checksum", field="size")
        if reader.tracing:
            _trace_header(reader, header)
        event: Event = reader.read_record(EVENTS.get(code, Unknown))
        values = event.__dict__
        values["header"] = header
        if reader.pos < end:
            values["trailing"] = data[reader.pos : end]
        if tail:
            values["checksum"] = int.from_bytes(data[end:], "little")
        if reader.tracing:
            _trace_tail(reader, event, end, tail)
        return event, reader
    except GtidalError as error:
        raise error.at(position=position, event=name) from None


def _trace_header(reader: Tracer, header: Header) -> None:
    inner = Tracer(reader.data, 0, header.length, header.length)
    inner.prefix = "header."
    inner.read_record(Header)
    reader.fields = inner.fields


def _trace_tail(reader: Tracer, event: Event, end: int, tail: int) -> None:
    if reader.pos < end:
        start, reader.pos = reader.pos, end
        reader.note("trailing", start, event.trailing)
    if tail:
        start, reader.pos = reader.pos, end + tail
        stored = int.from_bytes(reader.data[start : start + tail], "little")
        reader.note("checksum", start, stored)


def encode_event(event: Event, format: Format) -> bytes:
    """The event's bytes, from its fields alone: size and checksum are computed."""
    header = event.header
    body = event.encode(Context(format, {})) + event.trailing
    sealed = format.has_checksums
    if isinstance(event, FormatDescription):  # sealed even where it announces that the others are not
        sealed = event.checksum_algorithm is not None
    size = header.length + len(body) + CHECKSUM_SIZE * sealed
    data = replace(header, size=size).encode() + body
    if sealed:
        data += compute_checksum(data, header.type_code).to_bytes(CHECKSUM_SIZE, "little")
    return data


def initial_format(data: bytes) -> Format:
    """The format that reads a log's first event: told by that event's type and size."""
    if len(data) < V1_HEADER_SIZE:
        raise Truncated(f"{len(data)} bytes do not hold an event header", position=4)
    size = int.from_bytes(data[9:13], "little")
    if data[4] == StartV3.code:
        if size == V1_HEADER_SIZE + 56:
            return Format(1, header_length=V1_HEADER_SIZE)
        if size == HEADER_SIZE + 56:
            return Format(3)
        raise DecodeError(f"a START event of {size} bytes is of no known version", position=4, field="size")
    return Format(4)
