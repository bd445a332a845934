"""What mysqlbinlog calls rows events, and their flags."""

from __future__ import annotations

ROW_NAMES = {
    20: "Write_rows_event_old",
    21: "Update_rows_event_old",
    22: "Delete_rows_event_old",
    23: "Write_rows_v1",
    24: "Update_rows_v1",
    25: "Delete_rows_v1",
    30: "Write_rows",
    31: "Update_rows",
    32: "Delete_rows",
    39: "Update_rows_partial",
}
_ROW_FLAGS = (
    (0x01, " STMT_END_F"),
    (0x02, " NO_FOREIGN_KEY_CHECKS_F"),
    (0x04, " RELAXED_UNIQUE_CHECKS_F"),
    (0x10, " USE_SQL_FOREIGN_KEY_F"),
    (0x08, " COMPLETE_ROWS_F"),
)


def row_flags(flags: int) -> str:
    if flags == 1:
        return " flags: STMT_END_F"
    if not flags:
        return ""
    names = "".join(name for bit, name in _ROW_FLAGS if flags & bit)
    unknown = flags & ~0x1F
    return f" flags:{names}" + (f" UNKNOWN_FLAG(0x{unknown:x})" if unknown else "")
