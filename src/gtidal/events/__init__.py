"""One frozen dataclass per event, one file per family. ``EVENTS`` maps type codes to classes."""

from gtidal.events import control, group, load, mariadb, rows, statement, table_map, transaction
from gtidal.events.format import Format
from gtidal.events.frame import decode_event, encode_event, trace_event
from gtidal.events.header import Header
from gtidal.events.registry import EVENTS, Context, Event, Unknown

__all__ = [
    "EVENTS",
    "Context",
    "Event",
    "Format",
    "Header",
    "Unknown",
    "control",
    "decode_event",
    "encode_event",
    "group",
    "load",
    "mariadb",
    "rows",
    "statement",
    "table_map",
    "trace_event",
    "transaction",
]
