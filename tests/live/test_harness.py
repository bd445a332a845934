"""What proves live reading, proved itself: the proxy, the writer, the killing of commands, and servers that fail over.

The reader here is the servers' own tool, the one that other readers are measured by.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pymysql
import pytest

from tests.live.conftest import StartMariaDB, StartMySQL
from tests.live.copies import assert_archived, assert_identical, has_all
from tests.live.killing import Killing, session_members
from tests.live.proxy import Proxy
from tests.live.servers import (
    CRASH_SAFE,
    TOOL_ENVIRONMENT,
    MariaDBServer,
    MySQLServer,
    Server,
    ServerError,
    run_mariadb_binlog,
    run_mysqlbinlog,
    short_temporary_folder,
)
from tests.live.waiting import wait_until
from tests.live.writer import TABLE, Row, Writer

GTID = ("--gtid-mode=ON", "--enforce-gtid-consistency=ON")
SELECT = f"SELECT number, txn, place FROM {TABLE} ORDER BY number"


@pytest.fixture(scope="module")
def source() -> Iterator[MySQLServer]:
    """A server with GTIDs that may be killed."""
    with MySQLServer.temporary(*GTID, *CRASH_SAFE, "--server-id=5") as server:
        yield server


@pytest.fixture
def empty(source: MySQLServer) -> MySQLServer:
    """That server, with nothing in it and one new log."""
    source.execute("DROP DATABASE IF EXISTS live")
    source.reset_logs()
    return source


def copying(server: Server, folder: Path, port: int = 0, *, follow: bool = True) -> list[str]:
    """The tool's command that copies all logs of a server."""
    how = ["--stop-never"] if follow else ["--to-last-log"]
    command = [str(server.binaries.reader), "--no-defaults", *server.remote_options(port), "--raw", *how]
    return [*command, f"--result-file={folder}/", server.binlogs()[0].name]


@contextmanager
def running(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(command, env=TOOL_ENVIRONMENT, stderr=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


# --- the proxy --------------------------------------------------------------------------------------------


def test_the_proxy_passes_stalls_and_cuts_a_copying_tool(empty: MySQLServer, tmp_path: Path) -> None:
    with (
        Proxy(empty) as proxy,
        Writer(empty, seed=1) as writer,
        running(copying(empty, tmp_path, proxy.port)) as tool,
    ):
        writer.wait_for(500)
        wait_until(lambda: proxy.counts.to_client > 10_000, "the tool gets logs")
        proxy.stall()
        before = proxy.counts
        writer.wait_for(writer.count + 500)
        assert proxy.counts == before, "nothing passes"
        assert before.open == 1
        assert tool.poll() is None
        proxy.resume()
        with writer.resting():
            wait_until(lambda: has_all(tmp_path, empty), "the copy is complete")
            assert_archived(tmp_path, empty)
        proxy.cut()
        _, errors = tool.communicate(timeout=20)
        assert b"Lost connection" in errors
        assert (proxy.counts.connections, proxy.counts.open, proxy.counts.cuts) == (1, 0, 1)
    assert len(empty.binlogs()) > 1


def test_a_cut_in_the_middle_of_a_packet(empty: MySQLServer) -> None:
    """Exactly so many bytes come, and then the end of the stream."""
    greeting = 4 + int.from_bytes(first_bytes(empty.port)[:3], "little")
    with Proxy(empty) as proxy:
        proxy.cut_after(greeting - 10)
        with socket.create_connection(("127.0.0.1", proxy.port), 20) as client:
            assert len(all_bytes(client)) == greeting - 10
        assert (proxy.counts.cuts, proxy.counts.to_client, proxy.counts.open) == (1, greeting - 10, 0)
        with empty.connect(port=proxy.port) as connection, connection.cursor() as cursor:
            assert cursor.execute("SELECT 1") == 1, "it cuts once"
            before = proxy.counts.to_client
            proxy.cut_after(5000)
            with pytest.raises(pymysql.OperationalError, match="Lost connection"):
                cursor.execute("SELECT REPEAT('x', 100000)")
            assert proxy.counts.to_client == before + 5000


def test_a_cut_is_a_reset(empty: MySQLServer) -> None:
    with Proxy(empty) as proxy, socket.create_connection(("127.0.0.1", proxy.port), 20) as client:
        assert client.recv(1)
        proxy.cut()
        with pytest.raises(ConnectionResetError):
            all_bytes(client)


def test_refused_connections_and_a_server_that_is_down(empty: MySQLServer) -> None:
    with Proxy(empty) as proxy, empty.connect(port=proxy.port) as connection, connection.cursor() as cursor:
        proxy.refuse()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", proxy.port), 20)
        assert cursor.execute("SELECT 1") == 1, "what is open stays"
        proxy.accept()
        with empty.connect(port=proxy.port) as other, other.cursor() as second:
            assert second.execute("SELECT 2") == 1
        assert proxy.counts.connections == 2
        assert proxy.counts.to_server > 0
        port, empty.port = empty.port, 1  # where nobody listens
        try:
            with pytest.raises(pymysql.OperationalError):
                empty.connect(port=proxy.port)
        finally:
            empty.port = port


def test_the_proxy_leaves_nothing_behind(empty: MySQLServer) -> None:
    before = threading.active_count()
    with Proxy(empty) as proxy:
        client = socket.create_connection(("127.0.0.1", proxy.port), 20)
        assert client.recv(1)
        proxy.stall()
    with client, pytest.raises(ConnectionResetError):
        all_bytes(client)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", proxy.port), 20)
    assert threading.active_count() == before


def first_bytes(port: int) -> bytes:
    with socket.create_connection(("127.0.0.1", port), 20) as client:
        return client.recv(4, socket.MSG_WAITALL)


def all_bytes(client: socket.socket) -> bytes:
    found = b""
    while data := client.recv(1 << 16):
        found += data
    return found


# --- the writer -------------------------------------------------------------------------------------------


def test_the_writer_knows_what_a_killed_server_has(empty: MySQLServer) -> None:
    """The server is killed in the middle of it, and restarted; its table and its log hold the same rows."""
    with Writer(empty, seed=2, pause=0) as writer:
        for trouble in (empty.recover, empty.restart):
            writer.wait_for(writer.count + 400)
            trouble()
        writer.wait_for(writer.count + 200)
    rows = writer.rows()
    assert empty.query(SELECT) == rows
    assert logged_numbers(empty) == [row.number for row in rows]
    assert [row.number for row in rows] == list(range(1, writer.count + 1))
    assert writer.reconnects >= 2
    assert len(empty.binlogs()) > 3


def test_what_the_writer_does_is_decided_by_its_seed(empty: MySQLServer, start_mariadb: StartMariaDB) -> None:
    """The same transactions on another server; updates and others change none of it."""
    with Writer(empty, seed=3, extras=["update", "delete", "ddl", "rollback", "myisam"]) as first:
        first.wait_for(1500)
    mariadb = start_mariadb(*CRASH_SAFE)
    with Writer(mariadb, seed=3, extras=["update", "delete", "ddl", "rollback", "myisam"]) as second:
        second.wait_for(600)
        mariadb.recover()
        second.wait_for(1500)
    common = min(len(first.transactions), len(second.transactions))
    assert first.transactions[:common] == second.transactions[:common]
    assert first.rows()[0] == Row(number=1, transaction=1, place=0)
    there = empty.query(SELECT)
    assert set(there) < set(first.rows()), "some were deleted"
    assert empty.query(f"SELECT MAX(changed) > 0 FROM {TABLE}") == [(1,)]
    assert empty.query("SELECT COUNT(*) > 0 FROM live.loose") == [(1,)]
    assert logged_numbers(empty) == [row.number for row in first.rows()]


def test_a_commit_without_an_answer(start_mariadb: StartMariaDB) -> None:
    """A server is killed while a commit waits: once for a replica, which means it is done; once for a backup, which
    means it is not. Each time the writer finds out."""
    server = start_mariadb(*CRASH_SAFE, "--binlog-format=ROW")
    stages = [f"BACKUP STAGE {stage}" for stage in ("START", "FLUSH", "BLOCK_DDL", "BLOCK_COMMIT")]
    wait_for_a_replica = (
        "SET GLOBAL rpl_semi_sync_master_timeout = 600000, GLOBAL rpl_semi_sync_master_enabled = ON"
    )
    with Writer(server, seed=9, flush_odds=0) as writer:
        for number, (trouble, done) in enumerate([([wait_for_a_replica], True), (stages, False)]):
            writer.wait_for(writer.count + 50)
            with writer.resting():
                server.execute(trouble)
            wait_until(lambda: commits_waiting(server) == 1, "a commit waits")
            known = writer.count
            server.crash()
            assert (logged_numbers(server)[-1] > known) == done
            server.start()
            writer.wait_for(known + 50)
            assert writer.unknown_outcomes == number + 1
    assert server.query(SELECT) == writer.rows()
    assert logged_numbers(server) == [row.number for row in writer.rows()]


def commits_waiting(server: Server) -> int:
    [(count,)] = server.query(
        "SELECT COUNT(*) FROM information_schema.processlist WHERE info = 'COMMIT' AND state LIKE 'Waiting for %'"
    )
    return int(count)


def test_the_writer_notices_what_is_lost(empty: MySQLServer) -> None:
    writer = Writer(empty, seed=4)
    writer.start()
    writer.wait_for(10)
    with writer.resting():
        empty.execute(f"DELETE FROM {TABLE}")
        writer.move_to(empty)
    with pytest.raises(AssertionError, match=r"the writer gave up: .*row 0 is the server's last"):
        writer.wait_for(1_000_000)
    with pytest.raises(AssertionError, match="gave up"):
        writer.stop()


def logged_numbers(server: Server) -> list[int]:
    """The numbers that were inserted, in the order of the server's logs, as the tool tells them."""
    run = run_mysqlbinlog if server.name == "mysql" else run_mariadb_binlog
    text = run("-v", "--base64-output=decode-rows", *server.binlogs()).decode()
    lines = text.splitlines()
    return [
        int(lines[at + 2].partition("=")[2])
        for at, line in enumerate(lines)
        if line == "### INSERT INTO `live`.`numbers`"
    ]


# --- killing ----------------------------------------------------------------------------------------------


def test_a_killed_tool_is_started_until_its_copy_is_complete(empty: MySQLServer, tmp_path: Path) -> None:
    with Writer(empty, seed=5) as writer:
        writer.wait_for(1000)
        killing = Killing(
            copying(empty, tmp_path),
            tmp_path,
            seed=6,
            kills=4,
            longest=0.2,
            most_written=50_000,
            may_fail=lambda: True,
        )

        def trouble(number: int) -> None:
            if number == 2:
                empty.recover()
            if number == 4:
                writer.stop()

        runs = killing.run(lambda: has_all(tmp_path, empty), trouble)
    assert_archived(tmp_path, empty)
    assert [run.ended for run in runs].count("killed") == 4
    assert runs[-1].ended == "stopped"


SCRIPT = """
import os, pathlib, subprocess, sys, time
folder = pathlib.Path(sys.argv[1])
subprocess.Popen([sys.executable, "-c", "import os, time; os.setpgid(0, 0); time.sleep(600)"])
print("beginning", os.getpid(), file=sys.stderr, flush=True)
for number in range(int(sys.argv[2])):
    (folder / str(len(list(folder.iterdir())))).write_bytes(bytes(1000))
    time.sleep(0.01)
sys.exit(int(sys.argv[3]))
"""


def script(folder: Path, files: int, code: int = 0) -> list[str]:
    return [sys.executable, "-c", SCRIPT, str(folder), str(files), str(code)]


def test_kills_by_size_and_by_time(tmp_path: Path) -> None:
    started: list[int] = []
    killing = Killing(script(tmp_path, 100), tmp_path, seed=1, kills=3, longest=0.3, most_written=20_000)
    runs = killing.run(lambda: len(list(tmp_path.iterdir())) >= 100, started.append)
    assert started == list(range(len(runs)))
    assert [run.code for run in runs[:3]] == [-9, -9, -9]
    assert runs[-1].code in (0, -2)
    pids = [int(run.errors.split()[1]) for run in runs if run.errors.startswith("beginning")]
    assert pids
    assert not any(map(session_members, pids)), "nothing is left of any run"
    assert f"beginning {pids[-1]}" in killing.report()


def test_a_command_that_fails_is_told(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"it failed by itself: (?s:.*)exited \(3\)(?s:.*)beginning"):
        Killing(script(tmp_path, 1, 3), tmp_path, seed=1, kills=1, longest=60).run(lambda: False)
    with pytest.raises(AssertionError, match=r"not done in 0.5 s"):
        Killing(script(tmp_path, 1000), tmp_path, seed=1, kills=0).run(lambda: False, seconds=0.5)


# --- servers that replicate, purge, reset, and are careful ------------------------------------------------


def test_fail_over_to_a_mysql_replica(start_mysql: StartMySQL) -> None:
    source = start_mysql(*GTID, *MySQLServer.semi_sync_source(seconds=30))
    replica = start_mysql(*GTID, "--server-id=2", *MySQLServer.semi_sync_replica())
    check_fail_over(source, replica)
    [(executed,)] = replica.query("SELECT @@global.gtid_executed")
    assert source.uuid in executed
    assert replica.uuid in executed


def test_fail_over_to_a_mariadb_replica(start_mariadb: StartMariaDB) -> None:
    source = start_mariadb(*MariaDBServer.semi_sync_source(seconds=30))
    replica = start_mariadb("--server-id=2", "--log-slave-updates", *MariaDBServer.semi_sync_replica())
    check_fail_over(source, replica)


def check_fail_over(source: Server, replica: Server) -> None:
    """The writer goes on at the replica, which has everything in logs of its own; the source acknowledged it."""
    replica.follow(source)
    with Writer(source, seed=7) as writer:
        writer.wait_for(300)
        assert replica.query("SELECT @@global.read_only") == [(1,)]
        with writer.resting():
            replica.wait_for(source)
            assert source.acknowledged() > 0
            replica.promote()
            writer.move_to(replica)
        before = writer.count
        writer.wait_for(before + 300)
    assert replica.query("SELECT @@global.read_only") == [(0,)]
    assert replica.query(SELECT) == writer.rows()
    assert len(source.query(SELECT)) == before
    assert len(replica.binlogs()) > 1


@pytest.mark.parametrize("kind", ["mysql", "mariadb"])
def test_purged_and_reset_logs(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    server: Server = request.getfixturevalue(kind)
    server.reset_logs()
    for _ in range(3):
        server.flush()
    second = server.binlogs()[1]
    with running(copying(server, tmp_path)):
        wait_until(lambda: has_all(tmp_path, server), "the copy is complete")
        server.purge_to(second)
        assert server.binlogs()[0] == second
    server.reset_logs()
    assert [log.name for log in server.binlogs()] == ["binlog.000001"]


def test_a_log_that_is_being_read_is_not_purged(empty: MySQLServer, tmp_path: Path) -> None:
    empty.execute("CREATE DATABASE live; CREATE TABLE live.t (a LONGTEXT)")
    empty.execute("INSERT INTO live.t VALUES (REPEAT('x', 60000000))")
    empty.flush()
    with Proxy(empty) as proxy, running(copying(empty, tmp_path, proxy.port)):
        wait_until(lambda: proxy.counts.to_client > 1_000_000, "the first log is being sent")
        proxy.stall()
        with pytest.raises(ServerError, match=r"binlog.000001 was not purged"):
            empty.purge_to(empty.binlogs()[1], patience=0)


@pytest.mark.parametrize("kind", ["mysql", "mariadb"])
def test_users_have_the_privileges_they_were_given(kind: str, request: pytest.FixtureRequest) -> None:
    server: Server = request.getfixturevalue(kind)
    size = server.binlogs()[-1].stat().st_size
    server.add_user("replicator", "secret", "REPLICATION SLAVE")
    server.add_user("nobody", "secret")
    assert server.binlogs()[-1].stat().st_size == size, "no log tells of it"
    with server.connect(user="replicator", password="secret") as connection, connection.cursor() as cursor:
        cursor.execute("SHOW GRANTS")
        assert "GRANT REPLICATION SLAVE ON *.*" in str(cursor.fetchall())
    with (
        server.connect(user="nobody", password="secret") as connection,
        connection.cursor() as cursor,
        pytest.raises(pymysql.OperationalError, match="denied"),
    ):
        cursor.execute("CREATE DATABASE d")


def test_tls_can_be_required(mysql: MySQLServer, start_mariadb: StartMariaDB) -> None:
    for server in (mysql, start_mariadb("--ssl=ON")):
        server.require_tls()
        with pytest.raises(pymysql.OperationalError, match="insecure transport"):
            server.connect(ssl_disabled=True)
        server.disconnect()
        [(_, cipher)] = server.query("SHOW STATUS LIKE 'Ssl_cipher'")
        assert cipher
        server.execute("SET GLOBAL require_secure_transport = OFF")


# --- copies, and servers of logs --------------------------------------------------------------------------


def test_logs_behind_another_server(empty: MySQLServer, tmp_path: Path) -> None:
    """A server adopts the logs of another, UUID and GTIDs included, and sends them as they are."""
    with Writer(empty, seed=8) as writer:
        writer.wait_for(1000)
    empty.flush()
    logs = empty.binlogs()[:-1]
    with short_temporary_folder() as folder:
        other = MySQLServer(folder / "s", *GTID)
        other.adopt(logs)
        other.take_uuid(empty.uuid)
        try:
            other.start()
            assert other.query("SELECT @@server_uuid") == [(empty.uuid,)]
            assert other.query("SELECT @@gtid_executed") == empty.query("SELECT @@gtid_executed")
            subprocess.run(copying(other, tmp_path, follow=False), env=TOOL_ENVIRONMENT, check=True)
            assert_archived(tmp_path, other)
        finally:
            other.crash()
    for log in logs:
        assert_identical(tmp_path / log.name, log)


def test_what_is_not_identical(tmp_path: Path) -> None:
    original, copy = tmp_path / "original", tmp_path / "copy"
    data = bytes(range(100))

    def differ(changed: bytes) -> str:
        copy.write_bytes(changed)
        with pytest.raises(AssertionError) as caught:
            assert_identical(copy, original)
        return str(caught.value)

    original.write_bytes(data)
    assert "offset 50: ff 33" in differ(data[:50] + b"\xff" + data[51:])
    assert "offset 90: its end, not 5a" in differ(data[:90])
    assert "offset 0" in differ(b"")
    assert "offset 100" in differ(data + b"more")
    in_use = data[:21] + bytes([data[21] | 1]) + data[22:]
    original.write_bytes(in_use)
    for same in (in_use, data[:21] + bytes([data[21] & ~1]) + data[22:]):
        copy.write_bytes(same)
        assert_identical(copy, original)
    original.write_bytes(data[:21] + b"\x00" + data[22:])
    assert "offset 21" in differ(data[:21] + b"\x01" + data[22:])
