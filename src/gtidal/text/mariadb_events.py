"""What mariadb-binlog prints for events that depend on nothing before them, and pieces of its own making.

Each function gets the event and the header line begun, and returns the text."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from zlib import crc32

from gtidal.errors import GtidalError
from gtidal.events.control import INCIDENTS, Incident, Rotate, Slave, Stop
from gtidal.events.format import CHECKSUM_SIZE
from gtidal.events.header import IGNORABLE
from gtidal.events.images import ABSENT, Image, RowsCodec
from gtidal.events.load import AppendBlock, BeginLoadQuery, BlockEvent, DeleteFile
from gtidal.events.mariadb import (
    AnnotateRows,
    BinlogCheckpoint,
    CompressedRows,
    GtidList,
    StartEncryption,
    decompress,
)
from gtidal.events.registry import Event
from gtidal.events.rows import RowsEvent
from gtidal.events.statement import Intvar, Rand, UserVar
from gtidal.events.table_map import TableMap
from gtidal.events.transaction import XaPrepare, Xid
from gtidal.text.mariadb_session import user_var_text
from gtidal.text.statements import DELIMITER, intvar_text, rand_text, signed, text_of
from gtidal.wire.layout import Reader

HEADER_SIZE = 19
_PRINTABLE = bytes(code if 0x20 <= code < 0x7F else ord(".") for code in range(256))
_LINE_BREAKS = re.compile(rb"[\r\n]+")
_UNCOMPRESSED = {166: 23, 167: 24, 168: 25, 169: 30, 170: 31, 171: 32}
_COUNTABLE = frozenset((1, 2, 3, 4, 5, 7, 8, 9, *range(10, 20), 246, 247, 248, 252, 253, 254))
"""The column types whose size the tool knows where it only counts rows; at another it stops counting."""

# The tool's names of the types from 1 and from 160 on; it uses them for events that it passes over.
_FIRST_NAMES = """Start_v3, Query, Stop, Rotate, Intvar, Load, Slave, Create_file, Append_block, Exec_load,
Delete_file, New_load, RAND, User var, Format_desc, Xid, Begin_load_query, Execute_load_query, Table_map,
Write_rows_event_old, Update_rows_event_old, Delete_rows_event_old, Write_rows_v1, Update_rows_v1,
Delete_rows_v1, Incident, Heartbeat, Ignorable log event, MySQL Rows_query, Write_rows, Update_rows,
Delete_rows, MySQL Gtid, MySQL Anonymous_Gtid, MySQL Previous_gtids, Transaction_context, View_change,
XA_prepare, MySQL Update_rows_partial, MySQL Transaction_payload, MySQL Heartbeat"""
_MARIADB_NAMES = """Annotate_rows, Binlog_checkpoint, Gtid, Gtid_list, Start_encryption, Query_compressed,
Write_rows_compressed_v1, Update_rows_compressed_v1, Delete_rows_compressed_v1, Write_rows_compressed,
Update_rows_compressed, Delete_rows_compressed"""
_TYPE_NAMES = {
    first + index: name.strip()
    for first, names in ((1, _FIRST_NAMES), (160, _MARIADB_NAMES))
    for index, name in enumerate(names.split(","))
}
_LAST_TYPE = 171
_ALWAYS_IGNORED = frozenset((33, 34, 35, 36, 37, 41))


def hexdump(position: int, data: bytes, header_length: int) -> str:
    """The block of ``--hexdump`` from its first line break to the words before the event's own."""
    h = data[:HEADER_SIZE].hex(" ")
    lines = [
        "\n# Position\n#           |Timestamp   |Type |Master ID   |Size        |Master Pos  |Flags\n",
        f"# {position:8x}  |{h[0:11]} |{h[12:14]}   |{h[15:26]} |{h[27:38]} |{h[39:50]} |{h[51:56]}\n#\n",
    ]
    body = data[header_length:]
    position += header_length
    shown = body.translate(_PRINTABLE).decode("ascii")
    for start in range(0, len(body), 16):
        left, right = body[start : start + 8].hex(" "), body[start + 8 : start + 16].hex(" ")
        lines.append(f"# {position + start:8x}  {left:<23}  {right:<23}  |{shown[start : start + 16]}|\n")
    if body:
        lines.append("#\n")
    lines.append("# Event: ")
    return "".join(lines)


def uncompressed(data: bytes, event: CompressedRows) -> bytes:
    """The rows event that a compressed one stands for, as it would lie in the log."""
    tail = CHECKSUM_SIZE if event.checksum is not None else 0
    head = data[: len(data) - tail - len(event.trailing) - len(event.compressed_rows)]
    plain = head + decompress(event.compressed_rows)
    size = (len(plain) + tail).to_bytes(4, "little")
    plain = plain[:4] + bytes((_UNCOMPRESSED[data[4]],)) + plain[5:9] + size + plain[13:]
    return plain + crc32(plain).to_bytes(CHECKSUM_SIZE, "little") if tail else plain


def renamed(data: bytes, event: TableMap, schema: bytes, header_length: int) -> bytes:
    """A table map's bytes with another schema. The tool leaves the checksum as it was."""
    start = min(header_length, HEADER_SIZE) + 8
    old = len(event.schema.encode("utf-8", "surrogateescape"))
    changed = data[:start] + bytes((len(schema),)) + schema + data[start + 1 + old :]
    return changed[:9] + len(changed).to_bytes(4, "little") + changed[13:]


def has_known_types(table: TableMap) -> bool:
    try:
        return bool(table.columns) or not table.types
    except GtidalError:
        return False


def count_rows(event: RowsEvent, printed: bool) -> int:
    """How many rows the tool says there are. It counts those that it prints; where it prints none it walks
    over the values and gives up at the first whose type it cannot measure."""
    table = event.table
    if table is None:
        return 0
    if printed and event.rows:
        return len(event.rows)
    data = event.undecoded
    if not has_known_types(table):
        return int(bool(data))
    rows = iter(event.rows)
    codec = type(event).codec(table, event.before_columns, event.after_columns) if data else None
    reader = Reader(data, 0, len(data))
    count = 0
    while reader.pos < len(data) if data else count < len(event.rows):
        count += 1
        try:
            row = _next_row(codec, reader) if codec is not None else next(rows)
        except GtidalError:
            break
        if not printed and not all(_measurable(table, image) for image in (row.before, row.after)):
            break
    return count


def _next_row(codec: RowsCodec, reader: Reader) -> Any:
    start = reader.pos
    row = codec.read_row(reader, reader.data, reader.end, "")
    if reader.pos == start:
        reader.pos = reader.end
    return row


def _measurable(table: TableMap, image: Image | None) -> bool:
    return image is None or all(
        value is None or value is ABSENT or column.real_type in _COUNTABLE
        for value, column in zip(image, table.columns, strict=True)
    )


def annotate_text(event: AnnotateRows) -> str:
    pieces = _LINE_BREAKS.split(event.query)
    return "".join(f"#Q> {text_of(piece)}\n" for piece in pieces if piece)


def encryption_text(event: StartEncryption) -> str:
    return (
        f"# Encryption scheme: {event.scheme}, key_version: {event.key_version}, nonce: {event.nonce.hex()}\n"
        "# The rest of the binlog is encrypted!\n"
    )


def is_passed_over(event: Event) -> bool:
    """Whether the tool prints nothing but the type's name: what is marked as ignorable, whatever it is, and
    what only MySQL writes."""
    code = event.header.type_code
    if event.header.flags & IGNORABLE:
        return code <= _LAST_TYPE and code != Slave.code
    return code in _ALWAYS_IGNORED


def ignorable_text(event: Event, header: str) -> str:
    code = event.header.type_code
    return f"{header}\tIgnorable\n# Ignorable event type {code} ({_TYPE_NAMES.get(code, 'Unknown')})\n"


def with_rows(event: RowsEvent, table: TableMap) -> RowsEvent:
    """The event with its rows decoded by this table map. Raises if that cannot be done."""
    if not event.undecoded:
        return replace(event, table=table)
    codec = type(event).codec(table, event.before_columns, event.after_columns)
    data = event.undecoded
    rows = codec.read(Reader(data, 0, len(data)), "rows")
    return replace(event, table=table, rows=rows, undecoded=b"")


def _gtid_list(event: GtidList, header: str) -> str:
    gtids = sorted(event.entries, key=lambda entry: (entry.domain, entry.sequence))
    text = ",\n# ".join(f"{entry.domain}-{entry.server_id}-{entry.sequence}" for entry in gtids)
    return f"{header}\tGtid list [{text}]\n"


def _block(event: BlockEvent, header: str) -> str:
    name = "Begin_load_query" if isinstance(event, BeginLoadQuery) else "Append_block"
    file_id = event.file_id - (1 << 32) if event.file_id >> 31 else event.file_id
    return f"{header}\n#{name}: file_id: {file_id}  block_len: {len(event.block)}\n"


def _incident(event: Incident, header: str) -> str:
    name = {0: "NOTHING"}.get(event.incident, INCIDENTS.get(event.incident, "<unknown>"))
    return f"{header}\n# Incident: {name}\nRELOAD DATABASE; # Shall generate syntax error\n"


# Comments only: nothing of these is printed in the short form.
COMMENTS: dict[int, Callable[[Any, str], str]] = {
    Stop.code: lambda event, header: f"{header}\tStop\n",
    Rotate.code: lambda event, header: f"{header}\tRotate to {event.next_file}  pos: {signed(event.start)}\n",
    BinlogCheckpoint.code: lambda event, header: f"{header}\tBinlog checkpoint {event.file}\n",
    GtidList.code: _gtid_list,
    AppendBlock.code: _block,
    BeginLoadQuery.code: _block,
    DeleteFile.code: lambda event, header: f"{header}\n#Delete_file: file_id={event.file_id}\n",
    Incident.code: _incident,
}

# A comment line, then a statement that the short form has too.
STATEMENTS: dict[int, tuple[Callable[[Any], str], Callable[[Any], str]]] = {
    Xid.code: (lambda event: f"\tXid = {event.xid}\n", lambda event: f"COMMIT{DELIMITER}\n"),
    Intvar.code: (lambda event: "\tIntvar\n", intvar_text),
    Rand.code: (lambda event: "\tRand\n", rand_text),
    UserVar.code: (lambda event: "\tUser_var\n", user_var_text),
    XaPrepare.code: (
        lambda event: f"\tXID = {event.xa}\n",
        lambda event: f"XA PREPARE {event.xa}\n{DELIMITER}\n",
    ),
}
