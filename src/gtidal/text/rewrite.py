"""``--rewrite-db``: other schema names in the bytes of events, before they are decoded."""

from __future__ import annotations

from collections.abc import Callable
from zlib import crc32

from gtidal.events.format import CHECKSUM_SIZE, Format
from gtidal.events.load import ExecuteLoadQuery
from gtidal.events.statement import Query
from gtidal.events.table_map import TableMap

_LONGEST = 254


def make_rewriter(names: dict[str, str]) -> Callable[[bytes, Format], bytes] | None:
    """A function from an event's bytes to its bytes with the new name; None if nothing is to be renamed."""
    if not names:
        return None
    known = {
        old.encode("utf-8", "surrogateescape"): new.encode("utf-8", "surrogateescape")
        for old, new in names.items()
    }

    def rewrite(data: bytes, format: Format) -> bytes:
        code = data[4]
        start = format.header_length
        if code == TableMap.code:
            size_at = start + format.post_header_length(code, 8)
            name_at = size_at + 1
        elif code in (Query.code, ExecuteLoadQuery.code):
            size_at = start + 8
            fixed = format.post_header_length(code, 26 if code == ExecuteLoadQuery.code else 13)
            name_at = start + fixed + int.from_bytes(data[start + 11 : start + 13], "little")
        else:
            return data
        if size_at >= len(data):
            return data
        size = data[size_at]
        new = known.get(data[name_at : name_at + size])
        if new is None or len(new) > _LONGEST:
            return data
        changed = (
            data[:size_at] + bytes((len(new),)) + data[size_at + 1 : name_at] + new + data[name_at + size :]
        )
        changed = changed[:9] + len(changed).to_bytes(4, "little") + changed[13:]
        if format.has_checksums:
            body = changed[:-CHECKSUM_SIZE]
            changed = body + crc32(body).to_bytes(CHECKSUM_SIZE, "little")
        return changed

    return rewrite
