"""What stands before the first event and after the last."""

from __future__ import annotations

from gtidal.text.options import DumpOptions
from gtidal.text.statements import DELIMITER


def saved_settings(options: DumpOptions) -> list[str]:
    """What both servers' tools set aside before they print."""
    lines: list[str] = []
    if options.disable_log_bin:
        lines.append("/*!32316 SET @OLD_SQL_LOG_BIN=@@SQL_LOG_BIN, SQL_LOG_BIN=0*/;\n")
    lines.append("/*!50003 SET @OLD_COMPLETION_TYPE=@@COMPLETION_TYPE,COMPLETION_TYPE=0*/;\n")
    if options.charset is not None:
        lines.append(
            "\n/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */;"
            "\n/*!40101 SET @OLD_CHARACTER_SET_RESULTS=@@CHARACTER_SET_RESULTS */;"
            "\n/*!40101 SET @OLD_COLLATION_CONNECTION=@@COLLATION_CONNECTION */;"
            f"\n/*!40101 SET NAMES {options.charset} */;\n"
        )
    return lines


def opening(options: DumpOptions) -> str:
    lines = [
        "# The proper term is pseudo_replica_mode, but we use this compatibility alias\n"
        "# to make the statement usable on server versions 8.0.24 and older.\n"
        "/*!50530 SET @@SESSION.PSEUDO_SLAVE_MODE=1*/;\n"
    ]
    lines.extend(saved_settings(options))
    if options.idempotent:
        lines.append("/*!50700 SET @@SESSION.RBR_EXEC_MODE=IDEMPOTENT*/;\n\n")
    if options.require_row_format:
        lines.append("/*!80019 SET @@SESSION.REQUIRE_ROW_FORMAT=1*/;\n\n")
    lines.append(f"DELIMITER {DELIMITER}\n")
    return "".join(lines)


def restored_settings(options: DumpOptions) -> list[str]:
    """The opposite of ``saved_settings``, at the end."""
    lines: list[str] = []
    if options.disable_log_bin:
        lines.append("/*!32316 SET SQL_LOG_BIN=@OLD_SQL_LOG_BIN*/;\n")
    if options.charset is not None:
        lines.append(
            "/*!40101 SET CHARACTER_SET_CLIENT=@OLD_CHARACTER_SET_CLIENT */;\n"
            "/*!40101 SET CHARACTER_SET_RESULTS=@OLD_CHARACTER_SET_RESULTS */;\n"
            "/*!40101 SET COLLATION_CONNECTION=@OLD_COLLATION_CONNECTION */;\n"
        )
    lines.append("/*!50530 SET @@SESSION.PSEUDO_SLAVE_MODE=0*/;\n")
    return lines


def closing(options: DumpOptions) -> str:
    lines = [
        "DELIMITER ;\n# End of log file\n/*!50003 SET COMPLETION_TYPE=@OLD_COMPLETION_TYPE*/;\n",
    ]
    lines.extend(restored_settings(options))
    if options.idempotent:
        lines.append("/*!50700 SET @@SESSION.RBR_EXEC_MODE=STRICT*/;\n")
    return "".join(lines)
