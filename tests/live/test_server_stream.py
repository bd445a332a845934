"""A server's files as streams: the bytes are those of its files, whatever happens to the connection meanwhile."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gtidal.errors import ConnectionLost, LogsDiverged, LogsPurged
from gtidal.gtid import GtidSet, MariadbGtidSet
from gtidal.sources.server.address import ServerAddress
from gtidal.sources.server.logs import ServerLogs
from gtidal.sources.server.stream import ServerStream
from tests.live.proxy import Proxy
from tests.live.servers import MariaDBServer, MySQLServer, Server

pytestmark = pytest.mark.live

GTIDS = ("--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--server-id=5")
PACKET = (1 << 24) - 1
IN_USE_AT = 4 + 17
"""The byte of the format description that tells that a file is being written; it is sent without."""


@pytest.fixture(scope="module")
def mysql() -> Iterator[MySQLServer]:
    with MySQLServer.temporary(*GTIDS, "--max-allowed-packet=128M") as server:
        fill(server)
        yield server


@pytest.fixture(scope="module")
def mariadb() -> Iterator[MariaDBServer]:
    with MariaDBServer.temporary("--binlog-format=ROW", "--max-allowed-packet=128M") as server:
        fill(server)
        yield server


@pytest.fixture(params=["mysql", "mariadb"])
def server(request: pytest.FixtureRequest) -> Server:
    found: Server = request.getfixturevalue(request.param)
    return found


@pytest.fixture(params=["ahead", "when asked for"])
def received(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    least = 0 if request.param == "ahead" else 1 << 40
    monkeypatch.setattr("gtidal.sources.server.stream._WORTH_A_THREAD", least)


def fill(server: Server) -> None:
    """Three files; rows events whose packets are full, nearly full and more than full, and one of 40 MB."""
    server.execute("CREATE DATABASE shop; CREATE TABLE shop.t (a INT PRIMARY KEY, b LONGBLOB)")
    server.execute("INSERT INTO shop.t VALUES (1, '')")
    server.flush()
    server.execute("INSERT INTO shop.t VALUES (2, 'x')")
    smallest = PACKET - 100
    for number in range(6):
        server.execute(f"INSERT INTO shop.t VALUES ({100 + number}, REPEAT('z', {smallest + 10 * number}))")
    server.execute("INSERT INTO shop.t VALUES (3, REPEAT('y', 40000000))")
    server.flush()
    server.execute("INSERT INTO shop.t VALUES (4, 'end')")


def address(server: Server, port: int | None = None, more: str = "") -> ServerAddress:
    kind = "mariadb" if isinstance(server, MariaDBServer) else "mysql"
    return ServerAddress.parse(f"{kind}://root@127.0.0.1:{port or server.port}/?tls=off{more}")


def held(path: Path) -> bytes:
    data = bytearray(path.read_bytes())
    data[IN_USE_AT] &= ~1
    return bytes(data)


def read_to_the_end(stream: ServerStream, step: int = 1 << 22) -> bytes:
    with stream:
        return b"".join(iter(lambda: stream.read(step) or b"", b""))


def same(sent: bytes, path: Path) -> bool:
    """Also where the server computes the format description's checksum anew."""
    file = held(path)[: len(sent)]  # MariaDB writes checkpoints by itself
    end = 4 + int.from_bytes(file[13:17], "little")
    return sent[: end - 4] == file[: end - 4] and sent[end:] == file[end:]


@pytest.mark.usefixtures("received")
def test_files_come_as_they_are(server: Server) -> None:
    with ServerLogs(address(server)) as logs:
        files = logs.files()
        assert [name for name, _ in files] == [path.name for path in server.binlogs()]
        for (name, size), path in zip(files, server.binlogs(), strict=True):
            assert same(read_to_the_end(logs.stream(name, size)), path)


@pytest.mark.usefixtures("received")
def test_reading_here_and_there(mysql: MySQLServer) -> None:
    """Back and ahead, further than is kept, and in the middle of events."""
    path = mysql.binlogs()[1]
    file = held(path)
    chance = random.Random(7)
    with ServerLogs(address(mysql)) as logs, logs.stream(path.name, len(file)) as stream:
        places = [0, 4, len(file) - 9, 30 << 20, 120, 100 << 20, len(file) - (20 << 20)]
        for place in places + [chance.randrange(200, len(file)) for _ in range(4)]:
            stream.seek(place)
            wanted = file[place : place + 50_000]
            got = b""
            while len(got) < len(wanted):
                got += stream.read(len(wanted) - len(got)) or b"?"
            assert got == wanted, place


def test_a_stream_that_nobody_closed(mysql: MySQLServer) -> None:
    path = mysql.binlogs()[1]
    with ServerLogs(address(mysql)) as logs:
        stream = logs.stream(path.name, path.stat().st_size)
        stream.seek(200)
        assert stream.read(100)
        assert [thread for thread in threading.enumerate() if thread.name == "gtidal-receive"]
        del stream
        assert not [thread for thread in threading.enumerate() if thread.name == "gtidal-receive"]


def streamed(logs: ServerLogs, file: str, size: int | None = None, tries: int = 40) -> ServerStream:
    """Does not wait long before it connects again."""
    return ServerStream(logs.connect, logs.identity, file, size, [0.05] * tries)


@pytest.mark.usefixtures("received")
def test_cut_connections(server: Server) -> None:
    """Nothing is lost or twice, wherever the connection ends: also inside of packets and of large events."""
    path = server.binlogs()[1]
    size = path.stat().st_size
    chance = random.Random(3)
    with Proxy(server) as proxy, ServerLogs(address(server, proxy.port)) as logs:
        stream = streamed(logs, path.name, size)
        stream.read(4)
        data = [held(path)[:4]]
        for cuts in range(1, 5):
            proxy.cut_after(chance.randrange(size // 8))
            while proxy.counts.cuts < cuts:
                data.append(stream.read(1 << 20) or b"")
        data.append(read_to_the_end(stream))
    assert same(b"".join(data), path)


def test_a_silent_server_is_lost(mysql: MySQLServer) -> None:
    """Heartbeats that stay away: a new connection, and the log goes on."""
    path = mysql.binlogs()[-1]
    with (
        Proxy(mysql) as proxy,
        ServerLogs(address(mysql, proxy.port, "&heartbeat=0.4")) as logs,
        streamed(logs, path.name) as stream,
    ):
        size = path.stat().st_size
        data = b""
        while len(data) < size:
            data += stream.read(1 << 20) or b""
        proxy.stall()
        before = proxy.counts.connections
        mysql.execute(f"INSERT INTO shop.t VALUES ({random.randrange(1000, 1 << 30)}, 'later')")
        threading.Timer(2.5, proxy.resume).start()
        data += stream.read(1 << 20) or b""
        assert proxy.counts.connections > before
        assert held(path).startswith(data)
        assert len(data) > size


def test_following_over_rotations(server: Server) -> None:
    """One stream for each file; the end of one tells the next."""
    name = server.binlogs()[-1].name
    with ServerLogs(address(server)) as logs:
        stream = logs.stream(name, None)
        begun = read_available(stream)
        assert begun
        number = random.randrange(1 << 20, 1 << 30)
        server.execute(f"INSERT INTO shop.t VALUES ({number}, 'before')")
        server.flush()
        data = begun + read_to_the_end(stream)
        assert stream.next_file == (server.binlogs()[-1].name, 4)
        assert same(data, next(path for path in server.binlogs() if path.name == name))


def read_available(stream: ServerStream) -> bytes:
    data = stream.read(1 << 20) or b""
    while True:
        if not stream.ready():
            time.sleep(0.3)
            if not stream.ready():
                return data
        data += stream.read(1 << 20) or b""


def test_where_gtids_lead(mysql: MySQLServer, mariadb: MariaDBServer) -> None:
    with ServerLogs(address(mysql)) as logs:
        first, second = mysql.binlogs()[:2]
        had = GtidSet(f"{mysql.uuid}:1-3")
        file, position = logs.locate(had)
        assert file == second.name
        assert held(second)[position + 4] == 33  # GTID
        assert logs.locate(GtidSet(""))[0] == first.name
        everything = GtidSet(logs.status().executed)
        assert logs.locate(everything) == (logs.status().file, logs.status().position)
        with pytest.raises(LogsDiverged, match="start=oldest"):
            logs.locate(GtidSet(f"{mysql.uuid}:1-900000"))
    with ServerLogs(address(mariadb)) as logs:
        file, position = logs.locate(MariadbGtidSet("0-1-3"))
        second = mariadb.binlogs()[1]
        assert file == second.name
        assert held(second)[position + 4] == 162  # MARIADB_GTID
        with pytest.raises(LogsDiverged, match="start=oldest"):
            logs.locate(MariadbGtidSet("0-1-900000"))


def test_files_that_are_not_there(mysql: MySQLServer) -> None:
    with ServerLogs(address(mysql)) as logs, pytest.raises(LogsPurged, match="archive"):
        read_to_the_end(logs.stream("binlog.000777", None))


def test_logs_that_were_reset() -> None:
    with MySQLServer.temporary(*GTIDS) as server:
        server.execute("CREATE DATABASE a")
        with Proxy(server) as proxy, ServerLogs(address(server, proxy.port)) as logs:
            stream = streamed(logs, server.binlogs()[0].name)
            read_available(stream)
            time.sleep(1.1)  # files bear the second of their creation
            server.execute("RESET BINARY LOGS AND GTIDS")
            server.execute("CREATE DATABASE b")
            proxy.cut()
            with pytest.raises(LogsDiverged, match="reset"):
                read_to_the_end(stream)


def test_another_server_behind_the_address(mysql: MySQLServer) -> None:
    with (
        MySQLServer.temporary(*GTIDS) as other,
        Proxy(mysql) as proxy,
        ServerLogs(address(mysql, proxy.port)) as logs,
    ):
        stream = streamed(logs, mysql.binlogs()[-1].name)
        read_available(stream)
        proxy.server = other
        proxy.cut()
        with pytest.raises(LogsDiverged, match="another server"):
            stream.read(1 << 20)


def test_a_server_that_stays_away(mysql: MySQLServer) -> None:
    with Proxy(mysql) as proxy, ServerLogs(address(mysql, proxy.port)) as logs:
        stream = streamed(logs, mysql.binlogs()[-1].name, tries=2)
        read_available(stream)
        proxy.refuse()
        proxy.cut()
        with pytest.raises(ConnectionLost):
            read_to_the_end(stream)


def test_semi_sync() -> None:
    """A source that waits for acknowledgements gets them."""
    with MySQLServer.temporary(*GTIDS) as server:
        server.execute("INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'")
        server.execute(
            "SET GLOBAL rpl_semi_sync_source_enabled=ON, GLOBAL rpl_semi_sync_source_timeout=600000"
        )
        server.execute("SET GLOBAL rpl_semi_sync_source_wait_no_replica=OFF")
        with ServerLogs(address(server, more="&semi-sync=true")) as logs:
            stream = logs.stream(server.binlogs()[-1].name, None)
            data = read_available(stream)
            received: list[bytes] = []
            ended = threading.Event()

            def receive() -> None:
                while not ended.is_set():
                    received.append(stream.read(1 << 20) or b"")

            reader = threading.Thread(target=receive, daemon=True)
            reader.start()
            server.execute("CREATE DATABASE shop; CREATE TABLE shop.t (a INT)")
            server.execute("INSERT INTO shop.t VALUES (1)")  # would wait for ten minutes
            status = dict(server.query("SHOW STATUS LIKE 'Rpl_semi_sync_source%'"))
            ended.set()
            server.execute("SET GLOBAL rpl_semi_sync_source_enabled=OFF")
            server.execute("INSERT INTO shop.t VALUES (2)")
            reader.join(20)
            assert int(status["Rpl_semi_sync_source_yes_tx"]) >= 3
            assert int(status["Rpl_semi_sync_source_no_tx"]) == 0
            data += b"".join(received)
            assert held(server.binlogs()[-1]).startswith(data)
            stream.close()
