"""Where a stream's log is now: in a folder, or on one of several servers with the same history.

Positions are those of one server. On another one, the same place is where all GTIDs before it were had.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gtidal.errors import ConnectionLost, LogsDiverged, ServerProblem
from gtidal.log.decoder import Keys
from gtidal.planning.growing import AnyGtidSet, ArchivedLog, FolderLog, GrowingLog, ServerLog
from gtidal.planning.tailing import Mark, Tail, mark_behind
from gtidal.sources.server.logs import ServerLogs
from gtidal.sources.storage import Storage
from gtidal.spark.options import ReadOptions


@dataclass(frozen=True)
class LogStretch:
    """What lies between two marks, on a server that is in reach."""

    log: GrowingLog
    start: Mark
    end: Mark
    include: AnyGtidSet | None = None
    exclude: AnyGtidSet | None = None


class Hosts:
    """The logs of all hosts that a read names; a folder is one that is always in reach."""

    def __init__(self, read: ReadOptions, keys: Keys) -> None:
        self._read = read
        self._keys = keys
        self._logs: dict[str, GrowingLog] = {}
        """Of the hosts that were reached."""

    def close(self) -> None:
        for log in self._logs.values():
            log.close()
        self._logs = {}

    def any(self) -> GrowingLog:
        """The log of the first host that answers."""
        found = self._reach(None)
        assert found is not None
        return found

    def tail(self, mark: Mark) -> Tail:
        """What follows the log from a mark on: on its own server, else on another one with its GTIDs."""
        log = self._reach(mark.server)
        if log is not None:
            tail = Tail(log, replace(mark, server=log.server), self._keys, self._read.view)
            tail.check()
            return tail
        log, moved = self._elsewhere(mark)
        return Tail(log, moved, self._keys, self._read.view)

    def stretch(self, start: Mark, end: Mark, tail: Tail | None) -> LogStretch:
        """Where to read what lies between two marks, exactly. ``tail``: what was following the log."""
        followed = tail is not None and _same(tail.log.server, end.server)
        log = tail.log if tail is not None and followed else self._reach(end.server)
        if log is not None:
            if not followed:
                Tail(log, end, self._keys).check()
            if _same(start.server, end.server):
                return LogStretch(log, start, end, exclude=None if start.ahead is None else start.gtids)
            return LogStretch(log, mark_behind(log, start.gtids, self._keys), end, exclude=start.gtids)
        # It was planned on a server that is gone: the same transactions, wherever they are on this one.
        log, moved = self._elsewhere(start)
        found = Tail(log, moved, self._keys).advance()
        if not end.gtids <= found.gtids:  # type: ignore[operator]  # of one kind: they are of one log
            raise ConnectionLost(f"{log.title} does not have all yet that the server before it had")
        return LogStretch(log, moved, found, include=end.gtids, exclude=start.gtids)

    # --- hosts

    def _reach(self, server: str | None) -> GrowingLog | None:
        """The log of a server, or of any; None: it is not among those in reach."""
        read = self._read
        if read.server is None:
            if not self._logs:
                self._logs[""] = FolderLog(read.paths, Storage(read.storage), recursive=read.recursive)
            return self._logs[""]
        lost: ConnectionLost | None = None
        for host in read.server.hosts:
            try:
                log = self._logs.get(host.title) or self._with_archive(
                    ServerLog(ServerLogs(read.server, host))
                )
            except ConnectionLost as error:
                lost = lost or error
                continue
            self._logs[host.title] = log
            if server is None or _same(log.server, server):
                return log
        if not self._logs:
            assert lost is not None
            raise lost
        return None

    def _with_archive(self, live: ServerLog) -> GrowingLog:
        read = self._read
        if read.archive is None:
            return live
        log = ArchivedLog(FolderLog([read.archive], Storage(read.storage), recursive=read.recursive), live)
        log.check(self._keys)
        return log

    def _elsewhere(self, mark: Mark) -> tuple[GrowingLog, Mark]:
        """The same place on another server."""
        read = self._read
        if read.server is None or len(read.server.hosts) == 1:
            (log,) = self._logs.values()
            raise LogsDiverged(
                f"{log.title} is the server {log.server}, and the checkpoint is of {mark.server}: its files are other files. Name "
                "the old host and the new one in host, and the stream goes over to it by GTID; or start anew with another "
                "checkpoint"
            )
        if not mark.gtids:
            raise LogsDiverged(
                f"the server {mark.server} is out of reach, and without GTIDs its place is not known on another one"
            )
        problem: ServerProblem | None = None
        for log in self._logs.values():
            try:
                return log, mark_behind(log, mark.gtids, self._keys)
            except ServerProblem as found:
                problem = problem or found
        assert problem is not None
        if isinstance(
            problem, LogsDiverged
        ):  # a replica that is behind says the same as one that has diverged
            raise ConnectionLost(str(problem)) from None
        raise problem


def _same(one: str, other: str) -> bool:
    """Whether these may be the same server: a folder does not tell whose it is."""
    return one == other or not one or not other
