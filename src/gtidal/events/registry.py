"""The base of all events, and the one place where a type code finds its class.

Adding an event is one class with ``@event(code, "NAME")``. Nothing else is edited: the command line, the
documentation and the tests walk ``EVENTS``. A code nobody registered becomes ``Unknown`` with its bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from gtidal.events.header import Header
from gtidal.wire.layout import Fields, Record, Rest

if TYPE_CHECKING:
    from gtidal.events.format import Format
    from gtidal.events.table_map import TableMap


class Event(Record):
    """What all events have in common: a header, perhaps a checksum, and bytes we know no name for."""

    header: Header = field(default=Header(), kw_only=True)
    checksum: int | None = field(default=None, kw_only=True)
    """As stored in the log; None where the log has none."""
    post_header_extra: bytes = field(default=b"", kw_only=True)
    """What a newer server added to the fixed part."""
    trailing: bytes = field(default=b"", kw_only=True)
    """What follows the last known field: a newer server's additions, or a writer's padding."""

    name: ClassVar[str] = "UNKNOWN"
    code: ClassVar[int] = 0

    @property
    def type_code(self) -> int:
        return self.header.type_code

    def summary(self) -> str:
        """One line for a listing of events."""
        return ""

    def __str__(self) -> str:
        text = self.summary()
        return f"{self.name}: {text}" if text else self.name

    def _place(self, field: str) -> Any:
        """Where this event's errors are: its position, its name, and the field."""
        return {"position": self.header.position, "event": self.name, "field": field}


EVENTS: dict[int, type[Event]] = {}


def walk_post_header_extra(f: Fields, code: int, known: int) -> None:
    """A newer server may announce a longer fixed part than we know: what is added is kept."""
    extra = f.context.format.post_header_length(code, known) - known
    if extra > 0:
        f.raw("post_header_extra", extra)


E = TypeVar("E", bound=type[Event])


def event(code: int, name: str) -> Callable[[E], E]:
    """Register a class for a type code."""

    def register(cls: E) -> E:
        if code in EVENTS:
            raise TypeError(f"event {code} is {EVENTS[code].__name__} already")
        EVENTS[code] = cls
        cls.code = code
        cls.name = name
        return cls

    return register


@dataclass(slots=True)
class Context:
    """What decoding an event depends on besides its bytes."""

    format: Format
    tables: dict[int, TableMap]
    decode_rows: bool = True
    """Off: rows events keep their images as bytes (``undecoded``)."""


class Unknown(Event):
    """An event of a type nobody told us about: its body as it is."""

    body: Rest = b""

    def summary(self) -> str:
        return f"type {self.header.type_code}, {len(self.body)} bytes"
