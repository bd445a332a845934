"""MariaDB's GTIDs in the text: what a GTID event's flags are called, and the order that the tool demands."""

from __future__ import annotations

from gtidal.errors import DecodeError
from gtidal.events.mariadb import DDL, GROUP_COMMIT_ID, TRANSACTIONAL, GtidList, MariadbGtidEvent

_WAITED = 16
_START_ALTER, _COMMIT_ALTER, _ROLLBACK_ALTER, _THREAD_ID = 2, 4, 8, 16


class GtidOrder:
    """The tool stops at a GTID that goes back within its domain (--gtid-strict-mode, on by default). What
    the first GTID list says was there before counts: up to there, logs may be read again."""

    def __init__(self, from_start: bool = True) -> None:
        self._from_start = from_start
        self._start: dict[int, int] | None = None
        self._last: dict[int, MariadbGtidEvent] = {}

    def begin(self, event: GtidList) -> None:
        if self._start is not None:
            return
        self._start = {entry.domain: entry.sequence for entry in event.entries}
        if not self._from_start:
            return
        for domain in self._start.keys() & self._last.keys():
            raise DecodeError(
                f"the log begins after transactions of domain {domain} that came before it",
                position=event.header.position,
                event=event.name,
            )

    def check(self, event: MariadbGtidEvent) -> None:
        last = self._last.get(event.domain)
        start = (self._start or {}).get(event.domain, 0)
        if last is not None and start <= event.sequence <= last.sequence:
            raise DecodeError(
                f"GTID {event.gtid} comes after {last.gtid}", position=event.header.position, event=event.name
            )
        self._last[event.domain] = event

    def missing(self) -> str | None:
        """At the end, a domain that went back behind what the first list covers, and did not get there again."""
        for domain, start in (self._start or {}).items():
            last = self._last.get(domain)
            if last is not None and last.sequence < start:
                return f"domain {domain} ends at {last.gtid}, before {start}, where the first log began"
        return None


def gtid_words(event: MariadbGtidEvent) -> str:
    flags, extra = event.flags, event.extra_flags or 0
    words = f" cid={event.commit_id}" if flags & GROUP_COMMIT_ID else ""
    words += " ddl" if flags & DDL else ""
    words += " trans" if flags & TRANSACTIONAL else ""
    words += " waited" if flags & _WAITED else ""
    words += " START ALTER" if extra & _START_ALTER else ""
    words += f" COMMIT ALTER id= {event.start_alter}" if extra & _COMMIT_ALTER else ""
    words += f" ROLLBACK ALTER id= {event.start_alter}" if extra & _ROLLBACK_ALTER else ""
    return words + (f" thread_id={event.thread_id}" if extra & _THREAD_ID else "")
