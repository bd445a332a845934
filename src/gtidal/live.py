"""A server's log as it is written: transactions as soon as they are complete, file after file; on the next host when one
is lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import BinaryIO, cast

import pyarrow as pa

from gtidal.columnar.auditing import read_facts
from gtidal.columnar.codes import NONE, Txn
from gtidal.columnar.following import Followed, Follower
from gtidal.columnar.scanning import LogScan, Scan, Stretch, View
from gtidal.columnar.selection import AnyGtidSet
from gtidal.columnar.windows import Window, WindowReader
from gtidal.errors import ConnectionLost, LogsDiverged, ServerProblem
from gtidal.gtid import Gtid, GtidSet, GtidSetBuilder, MariadbGtid, MariadbGtidSetBuilder, parse_uuid
from gtidal.sources.files import BoundedStream
from gtidal.sources.server.address import Host, ServerAddress
from gtidal.sources.server.locating import ServerUri, file_uri, open_on_server, server_logs
from gtidal.sources.server.stream import PAUSES, ServerStream

_PAUSES_WITH_OTHERS = PAUSES[:4]
"""Where another host can go on, one is given up sooner."""


def follow(
    address: ServerAddress, uri: ServerUri, stretch: Stretch, read: View, scan: Scan
) -> Iterator[pa.RecordBatch]:
    """The batches of a view, without an end, from a stretch's beginning in a file on."""
    return _Following(address, read, scan).batches(uri, stretch)


class _Following:
    def __init__(self, address: ServerAddress, read: View, scan: Scan) -> None:
        self._address = address
        self._read = read
        self._scan = scan
        self._log: LogScan | None = None
        self._given: _Given | None = None
        self._batch_from: int | None = None
        """What had been given when the last batch was."""

    def batches(self, uri: ServerUri, stretch: Stretch) -> Iterator[pa.RecordBatch]:
        if len(self._address.hosts) > 1:
            self._given = _Given(_gtids_before(uri, stretch, self._scan), self._scan.selection.exclude_gtids)
        while True:
            try:
                yield from self._from(uri, stretch)
            except ConnectionLost as lost:
                if self._given is None:
                    raise
                uri, stretch = self._on_next_host(uri.address.hosts[0], self._given, lost)

    def _from(self, uri: ServerUri, stretch: Stretch) -> Iterator[pa.RecordBatch]:
        while True:
            with self._opened(uri) as stream:
                self._log = log = _WatchedScan(cast(BinaryIO, stream), uri.name, self._scan, stretch)
                if self._given is not None:
                    self._given.watch(log)
                yield from self._batches_of(log)
                following = stream.next_file
            if following is None:
                raise ConnectionLost(f"{uri.address.title} ended the log without naming the next file")
            uri, stretch = file_uri(uri.address, following[0]), Stretch()

    def _opened(self, uri: ServerUri) -> ServerStream:
        pauses = PAUSES if self._given is None else _PAUSES_WITH_OTHERS
        for pause in pauses:
            with suppress(ConnectionLost):
                return open_on_server(uri, None, pauses)
            time.sleep(pause)
        return open_on_server(uri, None, pauses)

    def _batches_of(self, log: LogScan) -> Iterator[pa.RecordBatch]:
        self._batch_from = None
        for batch in self._read(log):
            self._batch_from = log.given
            yield batch

    # --- the next host

    def _on_next_host(self, gone: Host, given: _Given, lost: ConnectionLost) -> tuple[ServerUri, Stretch]:
        """Where the others go on, behind all that was given."""
        gtids = given.gtids(lost)
        if self._is_partly_given():
            raise ConnectionLost(
                f"{lost.message}; the transaction behind {gtids.one_line() or 'the first'} was given in part, so no other host "
                "can go on: take back what is not among those GTIDs, and start again with them as start"
            )
        selection = replace(self._scan.selection, exclude_gtids=gtids)
        self._scan = replace(self._scan, selection=selection)
        hosts = self._address.hosts
        after = hosts.index(gone) + 1 if gone in hosts else 0
        problem: ServerProblem = lost
        for host in (*hosts[after:], *hosts[:after]):
            try:
                return self._place_on(host, gtids)
            except ConnectionLost as also:
                problem = problem if isinstance(problem, LogsDiverged) else also
            except LogsDiverged as behind:
                problem = behind
        raise problem

    def _place_on(self, host: Host, gtids: AnyGtidSet) -> tuple[ServerUri, Stretch]:
        address = replace(self._address, hosts=(host,), file=None, server_uuid=None)
        with server_logs(address) as logs:
            for pause in _PAUSES_WITH_OTHERS:
                if logs.has_executed(gtids):
                    break
                time.sleep(pause)  # a replica may be a little behind
            else:
                raise LogsDiverged(
                    f"{host.title} does not have all of {gtids.one_line()}, which was read from another host before: what it "
                    "writes is another history, or lacks some of it"
                )
            file, position = logs.locate(gtids)
            address = replace(address, server_uuid=logs.identity.uuid)
        return file_uri(address, file), Stretch(position)

    def _is_partly_given(self) -> bool:
        """Whether some of a transaction was given, and some not."""
        log = self._log
        if log is None:
            return False
        begun = log.follower.tracker.current
        return log.given == self._batch_from or (begun is not None and begun.position < log.given)


class _NotedFollower(Follower):
    """Tells of all that it follows, some of it more than once."""

    note: Callable[[Followed], None] | None = None

    def follow(self, window: Window, *, leave_open: bool = False) -> Followed:
        followed = super().follow(window, leave_open=leave_open)
        if self.note is not None:
            self.note(followed)
        return followed


class _WatchedScan(LogScan):
    follower_type = _NotedFollower
    follower: _NotedFollower


class _Given:
    """The GTIDs of all that was given, and of all before it."""

    def __init__(self, before: AnyGtidSet | None, excluded: AnyGtidSet | None) -> None:
        self._mysql, self._mariadb = GtidSetBuilder(), MariadbGtidSetBuilder()
        for gtids in (before, excluded):
            if isinstance(gtids, GtidSet):
                self._mysql.add_set(gtids)
            elif gtids is not None:
                for gtid in gtids:
                    self._mariadb.add(gtid.domain, gtid.server, gtid.sequence)
        self._log: LogScan | None = None
        self._read: dict[int, str | None] = {}
        """Of transactions that may not have been given yet, by the position behind each."""
        self._has_nameless = False

    def watch(self, log: _WatchedScan) -> None:
        self._settle()
        self._read.clear()
        self._log = log
        log.follower.note = self._note

    def _note(self, followed: Followed) -> None:
        self._settle()
        for end, start, size in followed.txn[:, [Txn.END_POSITION, Txn.GTID, Txn.GTID_SIZE]].tolist():
            self._read[end] = None if size == NONE else followed.text(start, size).decode()

    def _settle(self) -> None:
        if self._log is None:
            return
        for end in [end for end in self._read if end <= self._log.given]:
            self._add(self._read.pop(end))

    def _add(self, text: str | None) -> None:
        if text is None:
            self._has_nameless = True
        elif ":" in text:
            gtid = Gtid.parse(text)
            self._mysql.add(parse_uuid(gtid.uuid), gtid.tag, gtid.gno)
        else:
            own = MariadbGtid.parse(text)
            self._mariadb.add(own.domain, own.server, own.sequence)

    def gtids(self, lost: ConnectionLost) -> AnyGtidSet:
        self._settle()
        if self._has_nameless:
            raise ConnectionLost(
                f"{lost.message}; transactions without a GTID were read, so no other host can be asked to go on behind them"
            )
        mariadb = self._mariadb.build()
        return mariadb or self._mysql.build()


def _gtids_before(uri: ServerUri, stretch: Stretch, scan: Scan) -> AnyGtidSet | None:
    """All that the server wrote before a stretch."""
    with open_on_server(uri, None) as stream:
        size = stretch.start
        if size is None:
            reader = WindowReader(cast(BinaryIO, stream), uri.name, keys=scan.keys)
            reader.read_format()
            size = reader.position
            stream.seek(0)
        facts = read_facts(
            cast(BinaryIO, BoundedStream(cast(BinaryIO, stream), size)), uri.name, size, scan.keys
        )
    return facts.state
