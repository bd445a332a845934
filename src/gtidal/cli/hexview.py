"""One event, byte by byte: offset, bytes, field, value and what it means, in groups.

header, 19 bytes at 197
    0  2d 10 35 68              timestamp   1748308013 → 2025-05-27 01:06:53 UTC
    4  21                       type_code   33 → GTID
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from gtidal.cli.explain import explain, group_title, split_name
from gtidal.cli.field_meanings import NO, YES, Scene
from gtidal.cli.output import plain, utc
from gtidal.cli.screen import Screen, printable, wrap
from gtidal.columns.jsonb import Json
from gtidal.columns.meanings import Geometry
from gtidal.columns.temporal import Date, DateTime, Time, Timestamp
from gtidal.errors import DecodeError, GtidalError
from gtidal.events import images
from gtidal.events.frame import checksum_size, compute_checksum, header_length, trace_event
from gtidal.events.header import Header
from gtidal.events.registry import EVENTS, Context, Event, Unknown
from gtidal.events.table_map import TableMap
from gtidal.log.decoder import Frame, event_name
from gtidal.wire.layout import Field, Tracer

PER_LINE = 8
FEW_LINES = 8
"""So many lines of one field are shown, unless all are asked for."""
LEFT = 5 + 2 + 3 * PER_LINE + 1
"""Cells of offset and bytes."""
LONGEST_NAME = 29


@dataclass(frozen=True)
class Traced:
    """An event's fields; where it does not decode, those up to the damage, and the error."""

    frame: Frame
    event: Event | None
    fields: list[Field]
    error: GtidalError | None

    @property
    def name(self) -> str:
        return event_name(self.frame.type_code)


def trace(frame: Frame, context: Context) -> Traced:
    """All fields, or as many as can be read."""
    try:
        event, fields = trace_event(frame.data, frame.position, context)
        return Traced(frame, event, fields, None)
    except GtidalError as error:
        return Traced(frame, None, _partial(frame.data, context), error)


def _partial(data: bytes, context: Context) -> list[Field]:
    """The fields that precede the damage, and the rest as bytes."""
    code = data[4]
    length = min(header_length(code, context.format), len(data))
    head = Tracer(data, 0, length, length)
    head.prefix = "header."
    try:
        head.read_record(Header)
    except GtidalError:
        return [*head.fields, Field("undecoded", head.pos, len(data) - head.pos, data[head.pos :])]
    tail = checksum_size(data, code, context.format)
    end = max(len(data) - tail, length)
    body = Tracer(data, length, end, context)
    with suppress(GtidalError):
        body.read_record(EVENTS.get(code, Unknown))
    fields = head.fields + body.fields
    done = fields[-1].offset + fields[-1].size
    if done < end:
        fields.append(Field("undecoded", done, end - done, data[done:end]))
    if end < len(data):
        fields.append(Field("checksum", end, len(data) - end, int.from_bytes(data[end:], "little")))
    return fields


def table_of(traced: Traced, context: Context) -> TableMap | None:
    """The table that a rows event names, also where its rows do not decode."""
    number = next((field.value for field in traced.fields if field.name == "table_id"), None)
    return context.tables.get(number) if isinstance(number, int) else None


def checksum_of(frame: Frame, context: Context) -> tuple[int, int] | None:
    """The stored checksum and that of the bytes; None where the event has none."""
    size = checksum_size(frame.data, frame.type_code, context.format)
    if not size or len(frame.data) < header_length(frame.type_code, context.format) + size:
        return None
    stored = int.from_bytes(frame.data[-size:], "little")
    return stored, compute_checksum(frame.data[:-size], frame.type_code)


def section_of(field: Field) -> str:
    if field.name.startswith("header."):
        return "header"
    return "checksum" if field.name == "checksum" else "body"


def show(screen: Screen, traced: Traced, scene: Scene, title: str, *, full: bool = False) -> None:
    """The event as text."""
    size = len(traced.frame.data)
    screen.line((f"{traced.name}", "bold"), (f", {size} bytes, {title}", ""))
    summary = printable(traced.event.summary()) if traced.event is not None else ""
    if summary:
        for line in list(wrap(summary, screen.width - 2))[: None if full else 4]:
            screen.line(("  " + line, "italic"))
    names = [split_name(field.name)[1] for field in traced.fields]
    depth = max((2 for field in traced.fields if _group(field)), default=0)
    width = min(max(map(len, names), default=0) + depth, LONGEST_NAME)
    section = group = ""
    for field in traced.fields:
        if field.value == b"" and not field.size:
            continue  # a rest that is not there
        if section_of(field) != section:
            section, group = section_of(field), ""
            _section_line(screen, section, traced, scene)
        if _group(field) != group:
            group = _group(field)
            if group:
                screen.line((" " * (LEFT), ""), (printable(group_title(scene, group)), "magenta"))
        _field_lines(screen, field, scene, width, indent=2 if group else 0, full=full)


def _group(field: Field) -> str:
    prefix = split_name(field.name)[0]
    return "" if prefix == "header" else prefix


def _section_line(screen: Screen, section: str, traced: Traced, scene: Scene) -> None:
    fields = [field for field in traced.fields if section_of(field) == section]
    size = sum(field.size for field in fields)
    where = "" if scene.inner is not None else f" at {scene.position + fields[0].offset}"
    screen.line((section, "bold"), (f", {size} byte{'s' * (size != 1)}{where}", "dim"))


def _field_lines(screen: Screen, field: Field, scene: Scene, width: int, *, indent: int, full: bool) -> None:
    data = scene.data[field.offset : field.offset + field.size]
    name = " " * indent + printable(split_name(field.name)[1])
    value, meaning = explain(field, scene)
    room = max(screen.width - (LEFT + width + 2), 16)
    left = list(_hex_lines(data, full))
    right = list(_value_lines(printable(value), printable(meaning), room))
    names = list(wrap(name.strip(), width - indent)) if len(name) > width else [name.strip()]
    if not full and len(right) > FEW_LINES:
        right = [*right[: FEW_LINES - 1], ("…", "")]
    for index in range(max(len(left), len(right), len(names))):
        offset = str(field.offset) if index == 0 else ""
        shown = left[index] if index < len(left) else ""
        label = " " * indent + names[index] if index < len(names) else ""
        text, explained = right[index] if index < len(right) else ("", "")
        screen.line(
            (f"{offset:>5}  ", "dim"),
            (f"{shown:<{3 * PER_LINE}} ", "cyan"),
            (f"{label:<{width}}  ", "green"),
            (text, ""),
            *_coloured(explained),
        )


def _coloured(meaning: str) -> Iterator[tuple[str, str]]:
    """The meaning, with its marks of right and wrong in their colours."""
    for part in _split_marks(meaning):
        yield part, {YES: "bold green", NO: "bold red"}.get(part, "yellow")


def _split_marks(meaning: str) -> Iterator[str]:
    start = 0
    for index, character in enumerate(meaning):
        if character in (YES, NO):
            yield from (meaning[start:index], character)
            start = index + 1
    yield meaning[start:]


def _hex_lines(data: bytes, full: bool) -> Iterator[str]:
    most = len(data) if full else FEW_LINES * PER_LINE
    shown = data if len(data) <= most else data[: most - PER_LINE]
    for start in range(0, len(shown), PER_LINE):
        yield shown[start : start + PER_LINE].hex(" ")
    if len(shown) < len(data):
        yield f"… {len(data) - len(shown)} more"


def _value_lines(value: str, meaning: str, room: int) -> Iterator[tuple[str, str]]:
    """Lines of (value, meaning): beside each other where both fit, else below each other."""
    if not meaning:
        yield from ((line, "") for line in wrap(value, room))
        return
    arrow = f" → {meaning}" if value else meaning
    if len(value) + len(arrow) <= room:
        yield value, arrow
        return
    yield from ((line, "") for line in wrap(value, room) if value)
    lines = list(wrap(meaning, room - 2))
    yield from (("", f"{'→ ' if index == 0 else '  '}{line}") for index, line in enumerate(lines))


def as_json(traced: Traced, scene: Scene) -> dict[str, Any]:
    """The event for programs: every field with its name, offset, size, bytes, value and meaning."""
    fields = []
    for field in traced.fields:
        value, meaning = explain(field, scene)
        fields.append(
            {
                "name": field.name,
                "offset": field.offset,
                "size": field.size,
                "hex": scene.data[field.offset : field.offset + field.size].hex(),
                "value": json_value(field.value, value),
                "meaning": meaning or None,
            }
        )
    return {"fields": fields, "error": str(traced.error) if traced.error is not None else None}


def json_value(value: Any, text: str) -> Any:
    """A value as JSON has it; ``text`` is how ``explain`` writes it. Bytes are text where they read as such,
    else hex with a mark."""
    if isinstance(value, bytes):
        if len(value) == 16 and text.count("-") == 4:  # a UUID
            return text
        return value.decode("utf-8", "backslashreplace") if text[:1] in ("'", '"') else "0x" + value.hex()
    if isinstance(value, Json | images.JsonDiffs | Geometry):
        return text
    if isinstance(value, datetime.date | datetime.timedelta | Date | DateTime | Time | Timestamp):
        return text.strip("'")
    return plain(value)


def header_json(frame: Frame, context: Context) -> dict[str, Any]:
    """What the header of any event says, for programs."""
    header = frame_header(frame, context)
    return {
        "position": frame.position,
        "end_position": frame.end,
        "timestamp": utc(header.timestamp),
        "type": event_name(frame.type_code),
        "type_code": frame.type_code,
        "server_id": header.server_id,
        "size": len(frame.data),
        "flags": header.flag_names,
        "checksum": checksum_state(frame, context),
    }


def frame_header(frame: Frame, context: Context) -> Header:
    length = header_length(frame.type_code, context.format)
    if len(frame.data) < length:
        raise DecodeError(f"{len(frame.data)} bytes do not hold a header", position=frame.position)
    reader = Tracer(frame.data, 0, length, length)
    found: Header = reader.read_record(Header)
    return found


def checksum_state(frame: Frame, context: Context) -> str:
    """``ok``, ``bad`` or ``none``."""
    found = checksum_of(frame, context)
    return "none" if found is None else "ok" if found[0] == found[1] else "bad"
