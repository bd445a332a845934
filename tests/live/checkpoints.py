"""MariaDB's notes that older logs are not needed for recovery any more, which it writes a little later."""

from __future__ import annotations

from tests.live.servers import MariaDBServer, Server
from tests.live.waiting import wait_until


def wait_for_checkpoint(server: Server) -> None:
    """Wait until the log of a server to which nobody writes does not grow any more."""
    last = server.binlogs()[-1].name

    def noted() -> bool:
        events = server.query(f"SHOW BINLOG EVENTS IN '{last}'")
        return any(row[2] == "Binlog_checkpoint" and row[5] == last for row in events)

    if isinstance(server, MariaDBServer):
        wait_until(noted, "the last checkpoint was written")
