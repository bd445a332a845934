"""What the text of an event depends on besides the event: how far mysqlbinlog has come.

``MysqlPrinter`` keeps it here, apart from its own workings, because ``text.stretches`` goes on from it and leaves it
behind as the printer would have."""

from __future__ import annotations

from dataclasses import dataclass, field

from gtidal.events.registry import Event


@dataclass(slots=True)
class Flow:
    """The state between two events."""

    head: list[str] = field(default_factory=list)
    """Headers and statements; the ``# at`` line of an event that is left out waits here for the next."""
    body: list[str] = field(default_factory=list)
    """Base64 of a statement that is not complete."""
    foot: list[str] = field(default_factory=list)
    """Rows as comments, of the same statement."""
    waiting: list[tuple[int, bytes, Event]] = field(default_factory=list)
    """Variables, until their query comes."""
    ignored_tables: set[int] = field(default_factory=set)
    printed_tables: set[int] = field(default_factory=set)
    count: int = 0
    offset: int = 0
    start_time: int = 0
    in_transaction: bool = False
    seen_gtid: bool = False
    skipped_event: bool = False
    unflushed: bool = False
    printed_format: bool = False
    checksum: bool = False
    tells_invisible_key: bool = False
