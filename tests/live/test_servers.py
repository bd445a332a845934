"""The test servers themselves: what the other live tests take for granted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.conftest import StartMariaDB, StartMySQL
from tests.live.servers import (
    MariaDBServer,
    MySQLServer,
    Server,
    ServerError,
    mysqlbinlog,
    run_mariadb_binlog,
    run_mysqlbinlog,
)

MAGIC = b"\xfebin"


def fill(server: Server) -> None:
    server.execute("CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY, b VARCHAR(20));")
    server.execute(["INSERT INTO d.t VALUES (1, 'one')", b"INSERT INTO d.t VALUES (2, 'tw\xc3\xb6')"])


def test_mysql_runs_sql_and_writes_logs(mysql: MySQLServer) -> None:
    fill(mysql)
    assert mysql.query("SELECT * FROM d.t WHERE a > %s", 1) == [(2, "twö")]
    assert mysql.query("SELECT @@time_zone, @@log_bin") == [("+00:00", 1)]
    mysql.flush()
    first, second = mysql.binlogs()
    assert (first.name, second.name) == ("binlog.000001", "binlog.000002")
    assert first.read_bytes()[:4] == MAGIC
    assert b"### INSERT INTO `d`.`t`" in run_mysqlbinlog("-v", first)
    assert str(second) in mysql.binlog_index.read_text()


def test_mariadb_runs_sql_and_writes_logs(mariadb: MariaDBServer) -> None:
    fill(mariadb)
    assert mariadb.query("SELECT * FROM d.t WHERE a > %s", 1) == [(2, "twö")]
    assert mariadb.query("SELECT @@time_zone, @@log_bin") == [("+00:00", 1)]
    mariadb.flush()
    first, second = mariadb.binlogs()
    assert (first.name, second.name) == ("binlog.000001", "binlog.000002")
    assert b"INSERT INTO d.t VALUES (1, 'one')" in run_mariadb_binlog(first)


def test_a_reader_that_fails_is_an_error(tmp_path: Path) -> None:
    assert mysqlbinlog(tmp_path / "nothing").returncode == 1
    with pytest.raises(ServerError, match="not found"):
        run_mysqlbinlog(tmp_path / "nothing")


def test_mysql_stops_crashes_and_starts_again(start_mysql: StartMySQL) -> None:
    server = start_mysql("--server-id=7", "--gtid-mode=ON", "--enforce-gtid-consistency=ON")
    fill(server)
    uuid = server.uuid
    server.restart()
    assert b"\tStop" in run_mysqlbinlog(server.binlogs()[0])
    server.execute("INSERT INTO d.t VALUES (3, 'three')")
    server.crash()
    assert not server.running
    assert b"\tStop" not in run_mysqlbinlog(server.binlogs()[1])
    server.start("--server-id=8")
    assert server.query("SELECT @@server_uuid, @@server_id") == [(uuid, 8)]
    assert len(server.binlogs()) == 3


def test_mariadb_stops_crashes_and_starts_again(start_mariadb: StartMariaDB) -> None:
    server = start_mariadb("--server-id=7")
    fill(server)
    server.restart()
    server.crash()
    server.start()
    assert server.query("SELECT @@server_id") == [(7,)]
    assert len(server.binlogs()) == 3


def test_an_option_that_is_wrong_is_told(start_mysql: StartMySQL) -> None:
    with pytest.raises(ServerError, match="no-such-option"):
        start_mysql("--no-such-option=1")


def test_mysql_encrypts_its_logs(start_mysql: StartMySQL) -> None:
    server = start_mysql(encrypted=True)
    fill(server)
    assert server.binlogs()[0].read_bytes()[:4] == b"\xfdbin"
    assert server.key_file.stat().st_size > 0


def test_mariadb_encrypts_its_logs(start_mariadb: StartMariaDB) -> None:
    server = start_mariadb(encrypted=True)
    fill(server)
    log = server.binlogs()[0].read_bytes()
    assert log[:4] == MAGIC
    assert b"CREATE TABLE" not in log


def test_a_mysql_replica_has_relay_logs(start_mysql: StartMySQL) -> None:
    source, replica = start_mysql(), start_mysql("--server-id=2")
    replica.replicate_from(source)
    fill(source)
    replica.wait_for(source)
    assert replica.query("SELECT * FROM d.t WHERE a = 2") == [(2, "twö")]
    assert replica.relay_logs()
    assert source.uuid != replica.uuid


def test_a_mariadb_replica_has_relay_logs(start_mariadb: StartMariaDB) -> None:
    source, replica = start_mariadb(), start_mariadb("--server-id=2")
    replica.replicate_from(source)
    fill(source)
    replica.wait_for(source)
    assert replica.query("SELECT * FROM d.t WHERE a = 2") == [(2, "twö")]
    assert replica.relay_logs()
