"""The common header that starts every event.

Version 1 logs have 13 bytes (no position, no flags), later ones 19, and a format description may announce
more: those are kept in ``extra``. Format description and ROTATE events always have exactly 19.
"""

from __future__ import annotations

from typing import Any

from gtidal.wire.layout import Fields, Record, Run

FLAGS = {
    0x0001: "BINLOG_IN_USE",
    0x0002: "FORCED_ROTATE",
    0x0004: "THREAD_SPECIFIC",
    0x0008: "SUPPRESS_USE",
    0x0010: "UPDATE_TABLE_MAP_VERSION",
    0x0020: "ARTIFICIAL",
    0x0040: "RELAY_LOG",
    0x0080: "IGNORABLE",
    0x0100: "NO_FILTER",
    0x0200: "MTS_ISOLATE",
    0x4000: "ACCEPT_OWN",
    0x8000: "SKIP_REPLICATION",
}
IN_USE, THREAD_SPECIFIC, SUPPRESS_USE, ARTIFICIAL, RELAY_LOG, IGNORABLE = 1, 4, 8, 0x20, 0x40, 0x80

_V1 = Run("timestamp:I", "type_code:B", "server_id:I", "size:I")
COMMON = Run("timestamp:I", "type_code:B", "server_id:I", "size:I", "log_pos:I", "flags:H")


def flag_names(bits: int, names: dict[int, str]) -> tuple[str, ...]:
    """The names of the bits that are set; a bit without a name appears as its number."""
    return tuple(names.get(1 << i, f"0x{1 << i:x}") for i in range(bits.bit_length()) if bits >> i & 1)


class Header(Record):
    """The fields of the common header. ``position`` is ours: where the event starts in its file."""

    timestamp: int = 0
    type_code: int = 0
    server_id: int = 0
    size: int = 0
    log_pos: int = 0
    flags: int = 0
    extra: bytes = b""
    position: int = 0
    long: bool = True
    """False for the 13 bytes of version 1."""

    @classmethod
    def walk(cls, f: Fields) -> None:
        """``f.context`` is the header's length."""
        length: int = f.context
        f.fixed(_V1 if length == _V1.size else COMMON)
        if length > COMMON.size:
            f.raw("extra", length - COMMON.size)
        f.computed("long", length != _V1.size)

    @property
    def length(self) -> int:
        if self.extra or not self.long:
            return COMMON.size + len(self.extra) if self.long else _V1.size
        return COMMON.size

    @property
    def end_position(self) -> int:
        """Where the event ends: computed, because ``log_pos`` wraps at 4 GiB and relay logs hold others'."""
        return self.position + self.size

    @property
    def flag_names(self) -> tuple[str, ...]:
        return flag_names(self.flags, FLAGS)

    def encode(self, context: Any = None) -> bytes:
        return super().encode(self.length)
