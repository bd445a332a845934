"""A server's logs: which there are, where GTIDs and times lie in them, and each as a stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from gtidal.errors import ConnectionLost, LogsDiverged
from gtidal.events.frame import HEADER_SIZE
from gtidal.gtid import GtidSet, MariadbGtidSet, parse_gtid_set
from gtidal.log.decoder import FIRST_EVENT
from gtidal.sources.server.address import Host, ServerAddress
from gtidal.sources.server.connection import Connection, Identity, Status
from gtidal.sources.server.dump import Dump
from gtidal.sources.server.stream import PAUSES, ServerStream

T = TypeVar("T")
Place = tuple[str, int]
"""A file and a position in it."""


class ServerLogs:
    """The logs of one server, the first of an address's hosts that answers. Its connection is made when it is needed."""

    def __init__(self, address: ServerAddress, host: Host | None = None) -> None:
        self.address = address
        self._host = host
        self._connection: Connection | None = None
        self._identity: Identity | None = None

    def __enter__(self) -> ServerLogs:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # --- connections

    def connect(self) -> Connection:
        """A new connection: to the host that was chosen, once one is."""
        if self._host is not None:
            return Connection(self.address, self._host)
        lost: ConnectionLost | None = None
        for host in self.address.hosts:
            try:
                connection = Connection(self.address, host)
            except ConnectionLost as error:
                lost = lost or error
                continue
            self._host = host
            return connection
        assert lost is not None
        raise lost

    def _asked(self) -> Connection:
        if self._connection is None:
            self._connection = self.connect()
            self._check(self._connection.identity())
        return self._connection

    def _check(self, found: Identity) -> None:
        """Another server may answer at the same place."""
        wanted = self._identity.uuid if self._identity is not None else self.address.server_uuid
        if wanted is not None and wanted != found.uuid:
            self.close()
            raise LogsDiverged(
                f"{self.host.title} is another server ({found.uuid}) than the one that was read before ({wanted}): its files are other files"
            )
        self._identity = found

    @property
    def host(self) -> Host:
        if self._host is None:
            self._asked()
        assert self._host is not None
        return self._host

    @property
    def identity(self) -> Identity:
        if self._identity is None:
            self._asked()
        assert self._identity is not None
        return self._identity

    # --- what there is

    def files(self) -> list[tuple[str, int]]:
        """Names and sizes, in order."""
        return self._retried(Connection.binary_logs)

    def status(self) -> Status:
        """Where the log ends now."""
        return self._retried(Connection.status)

    def _retried(self, ask: Callable[[Connection], T]) -> T:
        try:
            return ask(self._asked())
        except ConnectionLost:
            self.close()
            return ask(self._asked())

    def stream(self, file: str, size: int | None, pauses: Sequence[float] = PAUSES) -> ServerStream:
        """One file: ``size`` bytes of it, or all that is written until the server begins the next."""
        return ServerStream(self.connect, self._identity, file, size, pauses)

    def locate(self, had: GtidSet | MariadbGtidSet) -> Place:
        """Where reading begins for one who has these GTIDs. Some behind it may be among them, too. Raises if the
        server does not have what is missing any more, or has not got as far."""
        before = self.status()
        connection = self.connect()
        try:
            found = Dump.locate(connection, had, mariadb=self.identity.mariadb)
        finally:
            connection.close()
        return found or (before.file, before.position)

    def has_executed(self, had: GtidSet | MariadbGtidSet) -> bool:
        """Whether all of these are in the server's history."""
        executed = parse_gtid_set(self.status().executed)
        if isinstance(had, MariadbGtidSet):
            return isinstance(executed, MariadbGtidSet) and all(executed.covers(gtid) for gtid in had)
        return isinstance(executed, GtidSet) and had <= executed

    def at_time(self, seconds: float) -> Place:
        """The beginning of the file that was being written at a time; what was written before it is older. A file that
        was begun in the same second comes behind some of that second."""
        files = [name for name, _ in self.files()]
        low, high = 0, len(files) - 1
        while low < high:
            middle = (low + high + 1) // 2
            if self._created(files[middle]) < seconds:
                low = middle
            else:
                high = middle - 1
        return files[low], FIRST_EVENT

    def _created(self, file: str) -> int:
        with self.stream(file, FIRST_EVENT + HEADER_SIZE) as stream:
            stream.seek(FIRST_EVENT)
            return int.from_bytes(stream.read(4), "little")
