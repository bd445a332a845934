"""A session with a server: what it is, which logs it has, and the socket over which it sends one.

PyMySQL connects and asks; behind a dump command the packets on the socket are ours.
"""

from __future__ import annotations

import re
import socket
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from gtidal.errors import ConnectionLost, ServerProblem, UsageError
from gtidal.events.protocol import (
    Command,
    ErrorPacket,
    RegisterSlave,
    TableDump,
    decode_packet,
    split_payload,
)
from gtidal.sources.server.address import Host, ServerAddress
from gtidal.sources.server.login import connect, privilege_problem

_NO_BINARY_LOG = 1381
_SYNTAX = 1064
_PRIVILEGES = (1045, 1142, 1227)
_GONE = (2006, 2013, 2055, 1053, 1927)
"""The connection is lost, or the server stops."""
_MARIADB_GTIDS = 4
"""The capability of a replica that understands MariaDB's GTID events; for others they are rewritten."""


@dataclass(frozen=True)
class Identity:
    """Which server this is: files of the same name on another one are other files."""

    uuid: str
    """MySQL's server_uuid; MariaDB has none, its server id stands here."""
    server_id: int
    version: str

    @property
    def mariadb(self) -> bool:
        return "mariadb" in self.version.lower()


@dataclass(frozen=True)
class Status:
    """Where a server's log ends now, and the GTIDs it has executed, as the server writes them."""

    file: str
    position: int
    executed: str


class Refused(ServerProblem):
    """The server's own words."""

    code = 0

    @classmethod
    def with_code(cls, message: str, code: int) -> Refused:
        refused = cls(message)
        refused.code = code
        return refused


class Connection:
    """One session."""

    def __init__(self, address: ServerAddress, host: Host) -> None:
        self.address = address
        self.host = host
        self._session: Any = connect(address, host, read_timeout=address.connect_timeout)

    def close(self) -> None:
        # Not a polite goodbye: a server that sends its log does not listen. Nor pymysql's way to hang up, which takes
        # whatever is raised meanwhile for an error of the socket, Ctrl-C too.
        session = self._session
        for held in (session._rfile, session._sock):
            if held is not None:
                with suppress(OSError):
                    held.close()
        session._rfile = session._sock = None

    def interrupt(self) -> None:
        with suppress(OSError, ConnectionLost):
            self.socket.shutdown(socket.SHUT_RDWR)

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        import pymysql

        try:
            with self._session.cursor() as cursor:
                cursor.execute(statement)
                return list(cursor.fetchall())
        except pymysql.MySQLError as error:
            raise self._problem(error, statement) from None
        except OSError as error:
            raise ConnectionLost(f"{self.host.title}: {error}") from None

    def _problem(self, error: Any, statement: str) -> ServerProblem:
        code = error.args[0] if error.args and isinstance(error.args[0], int) else 0
        said = str(error.args[1]) if len(error.args) > 1 else str(error)
        if code in _GONE:
            return ConnectionLost(f"{self.host.title}: {said}")
        if code in _PRIVILEGES:
            return ServerProblem(f"{self.host.title}: {privilege_problem(code, said, statement)}")
        if code == _NO_BINARY_LOG:
            return ServerProblem(f"{self.host.title} writes no binary log: start it with --log-bin")
        return Refused.with_code(f"{self.host.title}: {statement}: {said}", code)

    # --- what there is

    def identity(self) -> Identity:
        (version, server_id) = self.query("SELECT VERSION(), @@GLOBAL.server_id")[0]
        if "mariadb" in str(version).lower():
            return Identity(f"server-{server_id}", int(server_id), str(version))
        uuid = self.query("SELECT @@GLOBAL.server_uuid")[0][0]
        return Identity(str(uuid), int(server_id), str(version))

    def binary_logs(self) -> list[tuple[str, int]]:
        """The files that the server has, in order, and their sizes."""
        return [(str(row[0]), int(row[1])) for row in self.query("SHOW BINARY LOGS")]

    def status(self) -> Status:
        """All versions tell it, under three names."""
        for statement in ("SHOW BINARY LOG STATUS", "SHOW BINLOG STATUS"):
            try:
                return self._status(statement)
            except Refused as error:
                if error.code != _SYNTAX:
                    raise
        return self._status("SHOW MASTER STATUS")

    def _status(self, statement: str) -> Status:
        rows = self.query(statement)
        if not rows:
            raise ServerProblem(f"{self.host.title} writes no binary log: start it with --log-bin")
        row = rows[0]
        executed = str(row[4]) if len(row) > 4 else str(self.query("SELECT @@GLOBAL.gtid_binlog_pos")[0][0])
        return Status(str(row[0]), int(row[1]), re.sub(r"\s", "", executed))

    # --- dumps

    def announce(self, replica_uuid: str, *, semi_sync: bool, mariadb: bool) -> None:
        """Tell the server what we understand. It takes old names or new ones of these, by its version."""
        nanoseconds = int(self.address.heartbeat * 1e9)
        names = [
            *((f"{who}_binlog_checksum", "'CRC32'") for who in ("master", "source")),
            *((f"{who}_heartbeat_period", str(nanoseconds)) for who in ("master", "source")),
            *((f"{who}_uuid", f"'{replica_uuid}'") for who in ("slave", "replica")),
        ]
        if mariadb:
            names.append(("mariadb_slave_capability", str(_MARIADB_GTIDS)))
        if semi_sync:
            names += [(f"rpl_semi_sync_{who}", "1") for who in ("slave", "replica")]
        self.query("SET " + ", ".join(f"@{name} = {value}" for name, value in names))

    def register(self, server_id: int) -> None:
        """Be visible in SHOW REPLICAS."""
        self.send(RegisterSlave(server_id=server_id, host="gtidal"))
        answer = self._read_answer()
        if answer[:1] == b"\xff":
            self.refuse(answer, "COM_REGISTER_SLAVE")

    def send(self, command: Command) -> None:
        if isinstance(command, TableDump):
            raise UsageError(
                "COM_TABLE_DUMP: no server has known it since MySQL 5.0; ask for the table with SELECT, or take a dump"
            )
        data = b"".join(piece.encode() for piece in split_payload(command.encode()))
        self.send_bytes(data)

    def send_bytes(self, data: bytes) -> None:
        try:
            self.socket.sendall(data)
        except OSError as error:
            raise ConnectionLost(f"{self.host.title}: {error}") from None

    @property
    def socket(self) -> socket.socket:
        """With nothing read ahead of it: PyMySQL has read all of the last answer, and no more was sent."""
        found = self._session._sock
        if found is None:
            raise ConnectionLost(f"{self.host.title}: the connection is closed")
        return found  # type: ignore[no-any-return]  # PyMySQL keeps it without a type

    def _read_answer(self) -> bytes:
        head = self._read(4)
        return self._read(int.from_bytes(head[:3], "little"))

    def _read(self, size: int) -> bytes:
        data = b""
        try:
            while len(data) < size:
                piece = self.socket.recv(size - len(data))
                if not piece:
                    raise ConnectionLost(f"{self.host.title} closed the connection")
                data += piece
        except OSError as error:
            raise ConnectionLost(f"{self.host.title}: {error}") from None
        return data

    def refuse(self, packet: bytes, command: str) -> None:
        """Raise what an error packet says."""
        error = decode_packet(packet)
        assert isinstance(error, ErrorPacket)
        if error.error in _PRIVILEGES:
            raise ServerProblem(
                f"{self.host.title}: {privilege_problem(error.error, error.message, command)}"
            )
        raise Refused.with_code(f"{self.host.title}: {error.message}", error.error)
