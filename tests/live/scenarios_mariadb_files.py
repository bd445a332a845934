"""MariaDB's files: the ways they end, checksums, encryption, replicas and their relay logs."""

from __future__ import annotations

import shutil

from tests.live.scenarios import Lab, scenario
from tests.live.scenarios_files import cut_log, fill
from tests.live.servers import MariaDBServer, ServerError, mariadb_binlog


@scenario("mariadb", own=True)
def ends(lab: Lab) -> None:
    """FLUSH, size, clean stop, crash: a file of each."""
    fill(lab)
    lab.sql("FLUSH BINARY LOGS", "SET GLOBAL max_binlog_size = 4096; SET binlog_format = ROW")
    lab.sql("INSERT INTO d.t (s) VALUES (REPEAT('large', 1500))", "INSERT INTO d.t (s) VALUES ('next')")
    lab.server.restart()
    lab.sql("INSERT INTO d.t (s) VALUES ('after the restart')")
    lab.server.crash()
    lab.server.start()
    lab.sql("INSERT INTO d.t (s) VALUES ('after the crash')")
    lab.collect(close=False)
    lab.notes["ends"] = ["rotate", "rotate", "stop", "open", "open"]


@scenario("mariadb", "--binlog-format=ROW", own=True)
def end_cut(lab: Lab) -> None:
    """kill -9 in the middle of writing a transaction."""
    fill(lab)
    for _ in range(12):
        if cut_log(lab.server, lab.folder, 6000):
            lab.collected = True
            lab.notes["ends"] = ["cut"]
            return
        for log in lab.folder.glob("binlog.*"):
            log.unlink()
        lab.server.start()
        lab.sql("TRUNCATE TABLE d.t; RESET MASTER; INSERT INTO d.t (s) VALUES ('once more')")
    raise AssertionError("the server was never caught in the middle of an event")


@scenario("mariadb", binlog_format="ROW")
def checksum_switch(lab: Lab) -> None:
    """binlog_checksum changed at run time."""
    fill(lab)
    before = lab.query("SELECT @@GLOBAL.binlog_checksum")[0][0]
    for algorithm in ("NONE", "CRC32", "NONE", before):
        lab.sql(f"SET GLOBAL binlog_checksum = {algorithm}", f"INSERT INTO d.t (s) VALUES ('{algorithm}')")


def encrypted_logs(lab: Lab) -> None:
    assert isinstance(lab.server, MariaDBServer)
    fill(lab)
    lab.sql(
        "FLUSH BINARY LOGS",
        "INSERT INTO d.t (s) VALUES (REPEAT('second file ', 2000))",
        "SET binlog_format = ROW",
    )
    lab.sql(
        "SET GLOBAL log_bin_compress = ON",
        "INSERT INTO d.t (s) VALUES (REPEAT('compressed ', 200))",
        "FLUSH BINARY LOGS",
    )
    lab.sql("SET GLOBAL binlog_checksum = NONE", "INSERT INTO d.t (s) VALUES ('no checksum')")
    lab.collect()
    for log in lab.server.binlogs()[:-1]:
        remote = [
            "--read-from-remote-server",
            "--host=127.0.0.1",
            f"--port={lab.server.port}",
            "--user=root",
            "--raw",
        ]
        done = mariadb_binlog(*remote, "--skip-ssl", f"--result-file={lab.folder / 'plain.'}", log.name)
        if done.returncode:
            raise ServerError(done.stderr.decode(errors="replace"))
    shutil.copyfile(lab.server.key_file, lab.folder / "keys")


@scenario("mariadb", own=True, encrypted=True)
def encrypted(lab: Lab) -> None:
    """encrypt_binlog with a key file; statements, rows, compressed rows; with and without checksums."""
    encrypted_logs(lab)


@scenario("mariadb", "--loose-file-key-management-encryption-algorithm=AES_CTR", own=True, encrypted=True)
def encrypted_ctr(lab: Lab) -> None:
    """The same with the other cipher."""
    encrypted_logs(lab)


@scenario("mariadb", "--server-id=10", "--binlog-format=ROW", own=True)
def replica(lab: Lab) -> None:
    """A replica by GTID: relay logs and its own logs."""
    source = lab.server
    assert isinstance(source, MariaDBServer)
    other = lab.another_server("--server-id=20", "--relay-log-purge=OFF", "--log-slave-updates=ON")
    fill(lab)
    other.replicate_from(source, "MASTER_USE_GTID=slave_pos")
    lab.sql("SET gtid_domain_id = 5", "INSERT INTO d.t (s) VALUES ('another domain')", "FLUSH BINARY LOGS")
    lab.sql("SET binlog_format = STATEMENT", "INSERT INTO d.t (s) VALUES (NOW(6))", "SET binlog_format = ROW")
    other.wait_for(source)
    other.execute("FLUSH RELAY LOGS")
    lab.sql(
        "SET GLOBAL binlog_checksum = CRC32",
        "UPDATE d.t SET s = CONCAT(s, '!')",
        "DELETE FROM d.t WHERE id = 1",
    )
    other.wait_for(source)
    other.execute(["STOP SLAVE", "INSERT INTO d.t (s) VALUES ('of the replica')", "FLUSH BINARY LOGS"])
    lab.collect(*other.relay_logs(), *other.binlogs()[:-1])
