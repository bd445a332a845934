"""MySQL's files: the ways they end, checksums, large events, encryption, replicas and their relay logs."""

from __future__ import annotations

import os
import shutil
import threading
import time
from contextlib import suppress
from pathlib import Path

import pymysql

from tests.live.scenarios import Lab, scenario
from tests.live.servers import MySQLServer, Server, ServerError, mysqlbinlog

GTID = ("--gtid-mode=ON", "--enforce-gtid-consistency=ON")
TABLE = "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY AUTO_INCREMENT, s LONGTEXT)"


def fill(lab: Lab, rows: int = 5) -> None:
    lab.sql(TABLE)
    for n in range(rows):
        lab.sql(f"INSERT INTO d.t (s) VALUES ('row {n}')")


@scenario("mysql", *GTID)
def end_flush(lab: Lab) -> None:
    """FLUSH BINARY LOGS: a file ends in ROTATE; the last one is still open."""
    fill(lab)
    lab.sql(
        "FLUSH BINARY LOGS", "INSERT INTO d.t (s) VALUES ('more')", "FLUSH BINARY LOGS", "FLUSH BINARY LOGS"
    )
    lab.sql("INSERT INTO d.t (s) VALUES ('in the open file')")
    lab.collect(close=False)
    lab.notes["ends"] = ["rotate", "rotate", "rotate", "open"]
    lab.keep("d.t")


@scenario("mysql", *GTID, max_binlog_size=4096)
def end_size(lab: Lab) -> None:
    """max_binlog_size: a file ends after the transaction that made it too large, however large that is."""
    fill(lab, 30)
    lab.sql("INSERT INTO d.t (s) VALUES (REPEAT('large', 5000))", "INSERT INTO d.t (s) VALUES ('next')")
    lab.collect()
    lab.notes["ends"] = ["rotate"] * len(list(lab.folder.glob("binlog.*")))
    lab.keep("d.t")


@scenario("mysql", *GTID, own=True)
def end_stop(lab: Lab) -> None:
    """A clean stop: a file ends in STOP, the next begins with a server that started."""
    fill(lab)
    lab.server.restart()
    lab.sql("INSERT INTO d.t (s) VALUES ('after the restart')")
    lab.server.restart("--server-id=4294967295", "--binlog-checksum=NONE")
    lab.sql("INSERT INTO d.t (s) VALUES ('another server id')")
    lab.keep("d.t")
    lab.snapshot()
    lab.server.stop()
    lab.collect(*lab.server.binlogs())
    lab.notes["ends"] = ["stop", "stop", "stop"]


@scenario("mysql", *GTID)
def end_reset(lab: Lab) -> None:
    """RESET BINARY LOGS AND GTIDS: numbers begin anew; the older file was taken before."""
    fill(lab)
    lab.sql("FLUSH BINARY LOGS")
    shutil.copyfile(lab.server.binlogs()[0], lab.folder / "binlog.000007")
    lab.sql(
        "RESET BINARY LOGS AND GTIDS", "INSERT INTO d.t (s) VALUES ('after the reset')", "FLUSH BINARY LOGS"
    )
    lab.sql("RESET BINARY LOGS AND GTIDS TO 8", "INSERT INTO d.t (s) VALUES ('from eight on')")
    lab.collect()
    lab.notes["ends"] = ["rotate", "rotate"]


@scenario("mysql", *GTID, own=True)
def end_crash(lab: Lab) -> None:
    """kill -9 of a server at rest: a file that nothing ends, and one that is marked as in use."""
    fill(lab)
    lab.server.crash()
    lab.server.start()
    lab.sql("INSERT INTO d.t (s) VALUES ('after the crash')")
    lab.server.crash()
    lab.collect(*lab.server.binlogs())
    lab.notes["ends"] = ["crashed", "open"]  # the restarted server took the mark away


def cut_log(server: Server, folder: Path, statements: int = 2500) -> bool:
    """Kill the server while it writes a transaction to its log. True if the log ends inside an event."""
    log = server.binlogs()[-1]
    start = log.stat().st_size

    def commit() -> None:
        with suppress(pymysql.MySQLError, OSError):
            connection = server.connect()
            with connection.cursor() as cursor:
                cursor.execute("BEGIN")
                values = ", ".join(["(NULL, REPEAT('cut', 150))"] * statements)
                cursor.execute(f"INSERT INTO d.t (id, s) VALUES {values}")
                cursor.execute("COMMIT")

    thread = threading.Thread(target=commit)
    thread.start()
    path, deadline = os.fspath(log), time.monotonic() + 20
    while os.stat(path).st_size < start + 20_000 and time.monotonic() < deadline:
        pass
    server.crash()
    thread.join()
    data = log.read_bytes()
    position = 4
    while position + 19 <= len(data):
        position += int.from_bytes(data[position + 9 : position + 13], "little")
    shutil.copyfile(log, folder / log.name)
    return position > len(data)


@scenario("mysql", *GTID, own=True)
def end_cut(lab: Lab) -> None:
    """kill -9 in the middle of writing a transaction: the file ends inside an event."""
    fill(lab)
    for _ in range(12):
        if cut_log(lab.server, lab.folder):
            lab.collected = True
            lab.notes["ends"] = ["cut"]
            return
        for log in lab.folder.glob("binlog.*"):
            log.unlink()
        lab.server.start()
        lab.sql("TRUNCATE TABLE d.t; RESET BINARY LOGS AND GTIDS; INSERT INTO d.t (s) VALUES ('once more')")
    raise AssertionError("the server was never caught in the middle of an event")


@scenario("mysql", *GTID)
def checksum_switch(lab: Lab) -> None:
    """binlog_checksum changed at run time: each change begins a file."""
    fill(lab)
    try:
        for algorithm in ("NONE", "CRC32", "NONE"):
            lab.sql(
                f"SET GLOBAL binlog_checksum = {algorithm}", f"INSERT INTO d.t (s) VALUES ('{algorithm}')"
            )
    finally:
        lab.sql("SET GLOBAL binlog_checksum = CRC32")
    lab.keep("d.t")


@scenario("mysql", "--gtid-mode=OFF", "--enforce-gtid-consistency=OFF")
def incident(lab: Lab) -> None:
    """A statement that the log has lost: an INCIDENT, and a new file."""
    lab.sql("CREATE DATABASE d; CREATE TABLE d.m (a LONGTEXT) ENGINE=MyISAM")
    lab.sql("SET GLOBAL max_binlog_stmt_cache_size = 4096, GLOBAL binlog_stmt_cache_size = 4096")
    lab.server.disconnect()
    try:
        lab.fails("INSERT INTO d.m VALUES (REPEAT('x', 3000)), (REPEAT('y', 3000)), (REPEAT('z', 30000))")
        lab.sql("INSERT INTO d.m VALUES ('after it')")
    finally:
        lab.sql("SET GLOBAL max_binlog_stmt_cache_size = DEFAULT, GLOBAL binlog_stmt_cache_size = DEFAULT")


def exact_events(lab: Lab, size: int) -> None:
    """Rows whose WRITE_ROWS event has `size` bytes, one less, one more."""
    lab.sql("CREATE DATABASE d; CREATE TABLE d.big (id INT PRIMARY KEY, b LONGBLOB)")
    base = 100_000
    lab.sql(f"INSERT INTO d.big VALUES (0, REPEAT('0', {base}))")
    [log] = lab.server.binlogs()
    sizes = [
        row[4] - row[1] for row in lab.query(f"SHOW BINLOG EVENTS IN '{log.name}'") if row[2] == "Write_rows"
    ]
    for n in (-1, 0, 1):
        lab.sql(f"INSERT INTO d.big VALUES ({n + 2}, REPEAT('{n + 2}', {size + n - (sizes[0] - base)}))")
    lab.notes["sizes"] = [sizes[0], size - 1, size, size + 1]


@scenario("mysql", *GTID, binlog_row_metadata="FULL")
def large_events(lab: Lab) -> None:
    """Events of 256 KiB, one less, one more; a transaction that the session's cache spills to disk."""
    exact_events(lab, 1 << 18)


@scenario("mysql", *GTID, binlog_row_metadata="FULL", soak=True)
def huge_events(lab: Lab) -> None:
    """Events of 16 MiB, one less, one more; the same compressed."""
    exact_events(lab, 1 << 24)
    lab.sql(
        "SET binlog_transaction_compression = ON; INSERT INTO d.big VALUES (9, REPEAT('compressed', 4000000))"
    )


def take_plain(lab: Lab, server: MySQLServer) -> None:
    """Take the logs as the server sends them: its own decryption."""
    for log in server.binlogs()[:-1]:
        remote = [
            "--read-from-remote-server",
            "--host=127.0.0.1",
            f"--port={server.port}",
            "--user=root",
            "--raw",
        ]
        done = mysqlbinlog(
            *remote, "--get-server-public-key", f"--result-file={lab.folder / 'plain.'}", log.name
        )
        if done.returncode:
            raise ServerError(done.stderr.decode(errors="replace"))


@scenario("mysql", *GTID, own=True, encrypted=True)
def encrypted(lab: Lab) -> None:
    """binlog_encryption with the file keyring: several keys, then switched off and on again."""
    assert isinstance(lab.server, MySQLServer)
    fill(lab)
    lab.sql("FLUSH BINARY LOGS", "INSERT INTO d.t (s) VALUES (REPEAT('second file ', 2000))")
    lab.sql("ALTER INSTANCE ROTATE BINLOG MASTER KEY", "INSERT INTO d.t (s) VALUES ('another key')")
    lab.sql("SET GLOBAL binlog_encryption = OFF", "INSERT INTO d.t (s) VALUES ('plain')")
    lab.sql("SET GLOBAL binlog_encryption = ON", "INSERT INTO d.t (s) VALUES ('encrypted again')")
    lab.keep("d.t")
    lab.snapshot()
    lab.collect()
    take_plain(lab, lab.server)
    shutil.copyfile(lab.server.key_file, lab.folder / "keyring")


@scenario("mysql", *GTID, "--server-id=10", own=True)
def replica(lab: Lab) -> None:
    """A replica: its relay logs with two format descriptions, and its own logs with the source's GTIDs."""
    source = lab.server
    assert isinstance(source, MySQLServer)
    other = lab.another_server(*GTID, "--server-id=20", "--relay-log-purge=OFF")
    fill(lab)
    other.replicate_from(source, "SOURCE_AUTO_POSITION=1, SOURCE_HEARTBEAT_PERIOD=0.2")
    lab.sql(
        "SET gtid_next = 'AUTOMATIC:tag'",
        "INSERT INTO d.t (s) VALUES ('tagged')",
        "SET gtid_next = 'AUTOMATIC'",
    )
    lab.sql(
        "SET binlog_transaction_compression = ON",
        "INSERT INTO d.t (s) VALUES ('compressed')",
        "FLUSH BINARY LOGS",
    )
    lab.sql("SET binlog_format = STATEMENT", "INSERT INTO d.t (s) VALUES (NOW(6))", "SET binlog_format = ROW")
    other.wait_for(source)
    time.sleep(0.5)  # some heartbeats
    other.execute("FLUSH RELAY LOGS")
    lab.sql("SET GLOBAL binlog_checksum = NONE", "INSERT INTO d.t (s) VALUES ('no checksum at the source')")
    other.wait_for(source)
    other.execute(["STOP REPLICA", "START REPLICA"])
    lab.sql(
        "SET GLOBAL binlog_checksum = CRC32",
        "UPDATE d.t SET s = CONCAT(s, '!')",
        "DELETE FROM d.t WHERE id = 1",
    )
    other.wait_for(source)
    other.execute(["STOP REPLICA", "FLUSH BINARY LOGS", "INSERT INTO d.t (s) VALUES ('of the replica')"])
    other.execute("FLUSH BINARY LOGS")
    lab.collect(*other.relay_logs(), *other.binlogs()[:-1])
    lab.server, lab.notes["ends"] = other, None
    lab.keep("d.t")
    lab.snapshot()


@scenario("mysql", *GTID, "--server-id=11", own=True)
def replica_delayed(lab: Lab) -> None:
    """A replica of a replica, by file and position, with checks of the row format and an anonymous source."""
    source = lab.server
    assert isinstance(source, MySQLServer)
    middle = lab.another_server(*GTID, "--server-id=21")
    last = lab.another_server(*GTID, "--server-id=22", "--relay-log-purge=OFF", "--binlog-checksum=NONE")
    middle.replicate_from(source, "SOURCE_AUTO_POSITION=1")
    last.replicate_from(middle, "SOURCE_AUTO_POSITION=0, REQUIRE_ROW_FORMAT=1, SOURCE_DELAY=0")
    fill(lab, 3)
    middle.wait_for(source)
    last.wait_for(middle)
    last.execute(["STOP REPLICA", "FLUSH BINARY LOGS"])
    lab.collect(*last.relay_logs(), *last.binlogs()[:-1])
    lab.server = last
    lab.keep("d.t")
    lab.snapshot()


@scenario("mysql", *GTID, "--server-id=12", own=True)
def group_member(lab: Lab) -> None:
    """A group of one: what group replication writes into the logs."""
    server = lab.server
    sql = [
        "INSTALL PLUGIN group_replication SONAME 'group_replication.so'",
        "SET GLOBAL group_replication_group_name = 'aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa'",
        f"SET GLOBAL group_replication_local_address = '127.0.0.1:{server.port + 1}'",
        "SET GLOBAL group_replication_bootstrap_group = ON",
        "START GROUP_REPLICATION",
    ]
    if not all(lab.optional(each) for each in sql):
        lab.notes["error_log"] = server.log_tail()
    for _ in range(100):
        if lab.query("SELECT @@super_read_only")[0][0] == 0:
            break
        time.sleep(0.1)
    lab.sql(TABLE)
    lab.sql("INSERT INTO d.t (s) VALUES ('in a group')", "UPDATE d.t SET s = 'changed'")
    lab.collect()
    for file in sorted(server.data_dir.glob("*group_replication_applier*")) + sorted(
        server.binlog_dir.glob("*applier*")
    ):
        lab.notes.setdefault("applier", []).append(file.name)
        if file.suffix[1:].isdigit():
            shutil.copyfile(file, lab.folder / f"relay.{file.suffix[1:]}")
    lab.optional("STOP GROUP_REPLICATION")
