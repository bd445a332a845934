"""MySQL's transactions: GTIDs with tags and gaps, none at all, XA, savepoints, many at the same time."""

from __future__ import annotations

import threading
import uuid

from tests.live.scenarios import Lab, scenario

GTID = ("--gtid-mode=ON", "--enforce-gtid-consistency=ON")
ANONYMOUS = ("--gtid-mode=OFF", "--enforce-gtid-consistency=OFF")  # since 9.7 both are ON unless told


@scenario("mysql", *GTID, binlog_row_metadata="FULL")
def gtid_tags(lab: Lab) -> None:
    """Tagged and untagged GTIDs of several servers, with gaps, empty transactions, over three files."""
    lab.sql("CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY AUTO_INCREMENT, s VARCHAR(50))")
    lab.sql(
        "SET gtid_next = 'AUTOMATIC:blue'",
        "INSERT INTO d.t (s) VALUES ('tagged')",
        "INSERT INTO d.t (s) VALUES ('again')",
    )
    lab.sql(
        "SET gtid_next = 'AUTOMATIC:_a123456789012345678901234567890'",
        "INSERT INTO d.t (s) VALUES ('longest tag')",
    )
    first, second = str(uuid.UUID(int=1)), "ffffffff-ffff-ffff-ffff-ffffffffffff"
    explicit = [f"{first}:{n}" for n in (1, 2, 3, 10, 12, 1000000, 9223372036854775806)]
    explicit += [f"{second}:Tag:{n}" for n in (1, 3, 4)] + [f"{second}:7", f"{first}:tag:5"]
    for n, gtid in enumerate(explicit):
        lab.sql(f"SET gtid_next = '{gtid}'", f"INSERT INTO d.t (s) VALUES ('{n}')")
        if n in (3, 8):
            lab.sql("SET gtid_next = 'AUTOMATIC'; FLUSH BINARY LOGS")
    for gtid in (f"{first}:20", f"{first}:tag:21"):
        lab.sql(f"SET gtid_next = '{gtid}'; BEGIN; COMMIT")
    lab.sql("SET gtid_next = 'AUTOMATIC:blue'", "CREATE TABLE d.u (a INT)", "DROP TABLE d.u")
    lab.sql("SET gtid_next = 'AUTOMATIC'", "INSERT INTO d.t (s) VALUES ('untagged')")
    lab.notes["gtid_executed"] = lab.query("SELECT @@gtid_executed")[0][0]
    lab.keep("d.t")


@scenario("mysql", *GTID, binlog_row_metadata="MINIMAL")
def gtid_many_intervals(lab: Lab) -> None:
    """PREVIOUS_GTIDS with hundreds of intervals and tens of UUIDs, tagged and untagged."""
    lab.sql("CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)")
    own = lab.query("SELECT @@server_uuid")[0][0]
    for n in range(0, 300, 3):
        lab.sql(f"SET gtid_next = '{uuid.UUID(int=7)}:{n + 1}'; BEGIN; COMMIT")
    for n in range(30):
        lab.sql(f"SET gtid_next = '{uuid.UUID(int=n * 2**64 + 99)}:{n + 1}'; BEGIN; COMMIT")
    lab.sql("SET gtid_next = 'AUTOMATIC'; FLUSH BINARY LOGS")
    for n in range(12):
        lab.sql(f"SET gtid_next = '{own}:tag_{n}:{5 * n + 1}'; BEGIN; COMMIT")
    lab.sql("SET gtid_next = 'AUTOMATIC'; FLUSH BINARY LOGS", "INSERT INTO d.t VALUES (1)")
    lab.notes["gtid_executed"] = lab.query("SELECT @@gtid_executed")[0][0]


@scenario("mysql", *GTID)
def gtid_purged_and_reset(lab: Lab) -> None:
    """Numbering that began anew, then a set of GTIDs from elsewhere."""
    lab.sql("CREATE DATABASE d; FLUSH BINARY LOGS; RESET BINARY LOGS AND GTIDS TO 1234567")
    lab.sql(f"SET GLOBAL gtid_purged = '{uuid.UUID(int=5)}:1-100:200-300,{uuid.UUID(int=5)}:x:1-7'")
    lab.sql(
        "CREATE TABLE d.t (a INT PRIMARY KEY); INSERT INTO d.t VALUES (1); FLUSH BINARY LOGS; INSERT INTO d.t VALUES (2)"
    )


@scenario("mysql", *GTID)
def gtid_mode_steps(lab: Lab) -> None:
    """gtid_mode from ON to OFF and back, step by step: each step begins a file."""
    lab.sql("CREATE DATABASE d; CREATE TABLE d.t (a VARCHAR(20) PRIMARY KEY)")
    try:
        for mode in ("ON_PERMISSIVE", "OFF_PERMISSIVE", "OFF", "OFF_PERMISSIVE", "ON_PERMISSIVE", "ON"):
            lab.sql(
                f"SET GLOBAL gtid_mode = {mode}",
                f"INSERT INTO d.t VALUES ('{mode}') ON DUPLICATE KEY UPDATE a = '{mode}2'",
            )
            if mode.endswith("PERMISSIVE"):
                lab.sql(f"SET gtid_next = '{uuid.UUID(int=9)}:{len(lab.server.binlogs())}'; BEGIN; COMMIT")
                lab.sql(
                    "SET gtid_next = 'ANONYMOUS'",
                    f"DELETE FROM d.t WHERE a LIKE '{mode}%'",
                    "SET gtid_next = 'AUTOMATIC'",
                )
    finally:
        modes = ["OFF", "OFF_PERMISSIVE", "ON_PERMISSIVE", "ON"]
        now = lab.query("SELECT @@GLOBAL.gtid_mode")[0][0]
        for mode in modes[modes.index(now) + 1 :]:
            lab.sql(f"SET GLOBAL gtid_mode = {mode}")
    lab.keep("d.t")


@scenario("mysql", *GTID, binlog_row_metadata="FULL")
def transactions_xa(lab: Lab) -> None:
    """XA: prepared and committed, rolled back, in one phase, left prepared; ids of all lengths."""
    lab.sql("CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY, s VARCHAR(20))")
    names = [
        "'one'",
        "'two', 'branch'",
        "x'00ff27', x'c3bc', 4294967295",
        f"'{'g' * 64}', '{'b' * 64}', 7",
        "'', '', 0",
    ]
    for n, name in enumerate(names):
        lab.sql(f"XA START {name}; INSERT INTO d.t VALUES ({n}, 'xa'); XA END {name}; XA PREPARE {name}")
        lab.server.disconnect()  # a prepared transaction survives its session
        lab.sql(f"INSERT INTO d.t VALUES ({100 + n}, 'between')")
        lab.sql(f"XA {'ROLLBACK' if n % 2 else 'COMMIT'} {name}")
    lab.sql(
        "XA START 'fast'; INSERT INTO d.t VALUES (50, 'x'); UPDATE d.t SET s = 'y' WHERE a = 50; XA END 'fast'"
    )
    lab.sql("XA COMMIT 'fast' ONE PHASE")
    lab.sql("XA START 'dead'; INSERT INTO d.t VALUES (51, 'x'); XA END 'dead'; XA ROLLBACK 'dead'")
    lab.sql("XA START 'empty'; XA END 'empty'; XA PREPARE 'empty'; XA COMMIT 'empty'")
    lab.sql("SET binlog_transaction_compression = ON")
    lab.sql("XA START 'small'; INSERT INTO d.t VALUES (60, 'compressed'); XA END 'small'; XA PREPARE 'small'")
    lab.server.disconnect()
    lab.sql("XA COMMIT 'small'")
    lab.sql(
        "XA START 'later'; INSERT INTO d.t VALUES (70, 'later'); XA END 'later'; XA PREPARE 'later'; FLUSH BINARY LOGS"
    )
    lab.server.disconnect()
    lab.sql("XA COMMIT 'later'", "SET gtid_next = 'AUTOMATIC:xa'")
    lab.sql(
        "XA START 'tag'; INSERT INTO d.t VALUES (80, 'tag'); XA END 'tag'; XA PREPARE 'tag'; XA COMMIT 'tag'"
    )
    lab.keep("d.t")


@scenario("mysql", *GTID, binlog_row_metadata="FULL")
def transactions_savepoints(lab: Lab) -> None:
    """Savepoints, rollbacks, implicit commits, statements that fail inside a transaction."""
    lab.sql("CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY, s VARCHAR(20)); USE d")
    lab.sql(
        "BEGIN; INSERT INTO t VALUES (1, 'a'); SAVEPOINT one; INSERT INTO t VALUES (2, 'b'); SAVEPOINT `two ``x`;"
        " INSERT INTO t VALUES (3, 'c'); ROLLBACK TO `two ``x`; INSERT INTO t VALUES (4, 'd'); RELEASE SAVEPOINT one; COMMIT",
        "BEGIN; INSERT INTO t VALUES (5, 'e'); ROLLBACK",
        "BEGIN; INSERT INTO t VALUES (6, 'f'); SAVEPOINT s; DELETE FROM t; ROLLBACK TO s; COMMIT",
        "SET autocommit = 0; INSERT INTO t VALUES (7, 'g'); UPDATE t SET s = 'x' WHERE a = 7; COMMIT; SET autocommit = 1",
        "BEGIN; INSERT INTO t VALUES (8, 'h'); CREATE TABLE u (a INT)",
        "START TRANSACTION WITH CONSISTENT SNAPSHOT; INSERT INTO t VALUES (9, 'i'); COMMIT AND CHAIN;"
        " INSERT INTO t VALUES (10, 'j'); COMMIT RELEASE",
    )
    lab.server.disconnect()
    lab.sql("USE d; BEGIN; INSERT INTO t VALUES (11, 'k')")
    lab.fails("INSERT INTO t VALUES (12, 'l'), (11, 'duplicate')", 1062)
    lab.sql("INSERT INTO t VALUES (13, 'm'); COMMIT")
    lab.sql("UPDATE t SET s = s WHERE a = 1; DELETE FROM t WHERE a = 999; BEGIN; COMMIT")
    lab.keep("d.t")


@scenario("mysql", *GTID, binlog_row_metadata="MINIMAL")
def transactions_parallel(lab: Lab) -> None:
    """Six sessions commit at the same time: groups, last_committed, sequence numbers."""
    lab.sql("CREATE DATABASE d")
    lab.sql("SET GLOBAL binlog_group_commit_sync_delay = 2000")
    problems: list[BaseException] = []

    def work(worker: int) -> None:
        try:
            connection = lab.session()
            with connection.cursor() as cursor:
                cursor.execute(f"CREATE TABLE d.t{worker} (a INT PRIMARY KEY, s TEXT)")
                cursor.execute(f"SET binlog_transaction_compression = {int(worker == 5)}")
                for n in range(25):
                    cursor.execute("BEGIN")
                    cursor.execute(f"INSERT INTO d.t{worker} VALUES ({n}, REPEAT('{worker}', {n * 10}))")
                    cursor.execute(f"UPDATE d.t{worker} SET s = CONCAT(s, '!') WHERE a = {n - 1}")
                    cursor.execute("COMMIT")
                    if n == 12 and worker == 0:
                        cursor.execute("FLUSH BINARY LOGS")
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lab.sql("SET GLOBAL binlog_group_commit_sync_delay = 0")
    if problems:
        raise problems[0]
    lab.keep(*[f"d.t{worker}" for worker in range(6)])


@scenario("mysql", *ANONYMOUS, binlog_row_metadata="FULL")
def transactions_mixed_engines(lab: Lab) -> None:
    """Tables with and without transactions in one transaction, rolled back: without GTIDs."""
    lab.sql("CREATE DATABASE d; USE d; CREATE TABLE i (a INT PRIMARY KEY) ENGINE=InnoDB")
    lab.sql("CREATE TABLE m (a INT PRIMARY KEY) ENGINE=MyISAM; CREATE TABLE mem (a INT) ENGINE=MEMORY")
    lab.sql(
        "BEGIN; INSERT INTO i VALUES (1); INSERT INTO m VALUES (1); ROLLBACK",
        "BEGIN; INSERT INTO m VALUES (2); INSERT INTO i VALUES (2); SAVEPOINT s; INSERT INTO m VALUES (3);"
        " INSERT INTO i VALUES (3); ROLLBACK TO s; INSERT INTO i VALUES (4); COMMIT",
        "BEGIN; INSERT INTO i VALUES (5); UPDATE m SET a = a + 100; COMMIT; INSERT INTO mem VALUES (1)",
        "SET binlog_direct_non_transactional_updates = ON",
        "BEGIN; INSERT INTO i VALUES (6); INSERT INTO m VALUES (6); ROLLBACK",
        "SET binlog_format = STATEMENT",
        "BEGIN; INSERT INTO i VALUES (7); INSERT INTO m VALUES (7); ROLLBACK",
        "SET binlog_direct_non_transactional_updates = OFF",
        "BEGIN; INSERT INTO i VALUES (8); INSERT INTO m VALUES (8); ROLLBACK",
        "BEGIN; SAVEPOINT `a``b`; INSERT INTO m VALUES (9); INSERT INTO i VALUES (9); ROLLBACK TO `a``b`; COMMIT",
    )
    lab.fails("INSERT INTO m VALUES (20), (21), (20)", 1062)
    lab.sql("SET binlog_format = ROW")
    lab.fails("INSERT INTO m VALUES (30), (31), (30)", 1062)
    lab.sql("SET binlog_format = MIXED; DELETE FROM mem; CREATE TABLE ctas ENGINE=MyISAM SELECT * FROM i")
