"""What ``gtidal dump`` was asked for: mysqlbinlog's switches, and our own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from gtidal.gtid.mysql import GtidSet

FIRST_POSITION = 4
Base64 = Literal["auto", "never", "decode-rows"]


@dataclass(frozen=True, slots=True)
class DumpOptions:
    """The defaults print what mysqlbinlog prints without switches."""

    verbosity: int = 0
    base64: Base64 = "auto"
    hexdump: bool = False
    short_form: bool = False
    start_position: int = FIRST_POSITION
    stop_position: int | None = None
    start_time: int = 0
    """Seconds since 1970; events are printed from the first that is not older on."""
    stop_time: int | None = None
    offset: int = 0
    server_id: int = 0
    include_gtids: GtidSet | None = None
    exclude_gtids: GtidSet | None = None
    skip_gtids: bool = False
    database: str | None = None
    tables: frozenset[tuple[str, str]] = frozenset()
    """Ours: (schema, table) pairs whose rows are printed; empty for all. A schema of "" is any."""
    rewrite_db: dict[str, str] = field(default_factory=dict)
    print_table_metadata: bool = False
    verify_checksum: bool = False
    force_if_open: bool = True
    force_read: bool = False
    idempotent: bool = False
    disable_log_bin: bool = False
    require_row_format: bool = False
    charset: str | None = None
    skip_annotate: bool = False
    """MariaDB's: no statements before the rows that they changed."""
    geometry: bool = False
    """Ours: print geometry values, where mysqlbinlog ends the row."""
