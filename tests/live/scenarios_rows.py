"""What is in a rows event besides the values: images, metadata, partitions, compression, keys, cascades."""

from __future__ import annotations

from tests.live.scenarios import Lab, scenario

ANONYMOUS = ("--gtid-mode=OFF", "--enforce-gtid-consistency=OFF")
GTID = ("--gtid-mode=ON", "--enforce-gtid-consistency=ON")


def change_rows(lab: Lab) -> None:
    """Tables with a key, a long key, a unique key and none; blobs beside them."""
    lab.sql("CREATE DATABASE IF NOT EXISTS d")
    rest = "a INT, b BLOB, t TEXT, c VARCHAR(30) DEFAULT 'there', j JSON, n INT NOT NULL DEFAULT 5"
    lab.sql(
        f"CREATE TABLE d.keyed (id INT PRIMARY KEY, {rest})",
        f"CREATE TABLE d.pair (x INT, {rest}, y VARCHAR(10), PRIMARY KEY (y, x))",
        f"CREATE TABLE d.prefix (id VARCHAR(50), {rest}, PRIMARY KEY (id(5)))",
        f"CREATE TABLE d.uniq (id INT NOT NULL UNIQUE, {rest})",
        f"CREATE TABLE d.nokey (id INT, {rest})",
    )
    for table in ("keyed", "pair", "prefix", "uniq", "nokey"):
        first = "x, y" if table == "pair" else "id"
        rows = [(n, f"{n}, 'y{n}'" if table == "pair" else str(n)) for n in range(1, 5)]
        for n, key in rows[:2]:
            lab.sql(f"INSERT INTO d.{table} ({first}, a, b) VALUES ({key}, {n * 10}, REPEAT('b', {n}))")
        lab.sql(
            f"INSERT INTO d.{table} ({first}, t, j) VALUES ({rows[2][1]}, NULL, '[1]'), ({rows[3][1]}, 'four', NULL)"
        )
        lab.sql(f"UPDATE d.{table} SET a = 11 WHERE a = 10", f"UPDATE d.{table} SET b = 'blob', t = 'text'")
        lab.sql(f"UPDATE d.{table} SET a = NULL, c = NULL WHERE a = 11", f"UPDATE d.{table} SET a = 1, b = b")
        column = "x" if table == "pair" else "id"
        lab.sql(
            f"UPDATE d.{table} SET {column} = 40, n = 8 WHERE {column} = 4",
            f"DELETE FROM d.{table} WHERE a IS NULL",
        )
        lab.sql(f"REPLACE INTO d.{table} ({first}, a) VALUES ({rows[1][1]}, 99)")
        lab.sql(f"INSERT INTO d.{table} ({first}) VALUES ({rows[1][1]}) ON DUPLICATE KEY UPDATE a = a + 1")
        lab.sql(f"DELETE FROM d.{table} WHERE {column} = 3")
        lab.keep(f"d.{table}")


@scenario("mysql", *GTID, binlog_row_metadata="FULL")
def rows_full(lab: Lab) -> None:
    change_rows(lab)


@scenario("mysql", *GTID, binlog_row_metadata="FULL")
def rows_minimal(lab: Lab) -> None:
    """binlog_row_image=MINIMAL: the key before, what changed after."""
    lab.sql("SET binlog_row_image = MINIMAL")
    change_rows(lab)
    lab.sql("INSERT INTO d.keyed () VALUES (100, DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT)")
    lab.sql(
        "CREATE TABLE d.auto (id INT PRIMARY KEY AUTO_INCREMENT, a INT)",
        "INSERT INTO d.auto () VALUES (), ()",
    )
    lab.keep("d.auto")


@scenario("mysql", *ANONYMOUS, binlog_row_metadata="MINIMAL")
def rows_noblob(lab: Lab) -> None:
    """binlog_row_image=NOBLOB: blobs only where they changed."""
    lab.sql("SET binlog_row_image = NOBLOB")
    change_rows(lab)


@scenario("mysql", *GTID, binlog_row_metadata="FULL")
def rows_compressed(lab: Lab) -> None:
    """binlog_transaction_compression: one payload a transaction, large and small, beside plain ones."""
    lab.sql("SET binlog_transaction_compression = ON, binlog_rows_query_log_events = ON")
    change_rows(lab)
    lab.sql("CREATE TABLE d.many (id INT PRIMARY KEY, t VARCHAR(200))")
    many = ", ".join(f"({n}, '{'row ' * 20}{n}')" for n in range(2000))
    lab.sql(
        f"INSERT INTO d.many VALUES {many}", "BEGIN; UPDATE d.many SET t = 'x'; DELETE FROM d.many; COMMIT"
    )
    for level in (1, 22):
        lab.sql(
            f"SET binlog_transaction_compression_level_zstd = {level}",
            f"INSERT INTO d.many VALUES ({level}, 'z')",
        )
    lab.sql("SET binlog_transaction_compression = OFF", "INSERT INTO d.many VALUES (0, 'plain')")
    lab.sql("SET binlog_transaction_compression = ON; BEGIN; INSERT INTO d.many VALUES (7, 'a')")
    lab.sql(
        "SAVEPOINT one; INSERT INTO d.many VALUES (8, 'b'); ROLLBACK TO one; INSERT INTO d.many VALUES (9, 'c'); COMMIT"
    )
    lab.keep("d.many")


@scenario("mysql", *ANONYMOUS, binlog_row_metadata="FULL", binlog_checksum="NONE")
def rows_no_checksum(lab: Lab) -> None:
    """The same changes in a log without checksums, some of them compressed."""
    change_rows(lab)
    lab.sql("SET binlog_transaction_compression = ON", "INSERT INTO d.keyed (id, a) VALUES (200, 1)")


@scenario("mysql", *GTID, binlog_row_metadata="FULL", binlog_rows_query_log_events="ON")
def rows_query(lab: Lab) -> None:
    """The statement beside its rows: several lines, odd bytes, longer than 255 bytes, in a transaction."""
    lab.sql(
        "SET binlog_rows_query_log_events = ON",
        "CREATE DATABASE d",
        "CREATE TABLE d.t (id INT PRIMARY KEY, s TEXT)",
    )
    lab.sql("INSERT INTO d.t\n  VALUES (1, 'line'),\n\n  (2, 'two') -- with a comment\n")
    lab.sql(
        f"INSERT INTO d.t VALUES (3, '{'long ' * 200}')",
        "UPDATE d.t SET s = 'Grüße 🌊' /* a comment */ WHERE id = 1",
    )
    lab.sql(
        b"INSERT INTO d.t VALUES (4, _latin1 '\xfc\xff'), (5, x'0a0d')", "BEGIN; DELETE FROM d.t WHERE id = 2"
    )
    lab.sql("INSERT INTO d.t VALUES (6, '*/ -- tricky')", "COMMIT")
    lab.keep("d.t")


@scenario("mysql", *GTID, binlog_row_metadata="FULL")
def rows_partitions(lab: Lab) -> None:
    """Partitioned tables: rows carry their partition, updates move rows between partitions."""
    lab.sql("CREATE DATABASE d")
    lab.sql(
        "CREATE TABLE d.ranges (id INT PRIMARY KEY, a INT) PARTITION BY RANGE (id)"
        " (PARTITION low VALUES LESS THAN (10), PARTITION mid VALUES LESS THAN (100), PARTITION top VALUES LESS THAN MAXVALUE)",
        "CREATE TABLE d.hashes (id INT PRIMARY KEY, a INT) PARTITION BY HASH (id) PARTITIONS 7",
        "CREATE TABLE d.subs (id INT, day DATE, PRIMARY KEY (id, day)) PARTITION BY RANGE (YEAR(day))"
        " SUBPARTITION BY HASH (id) SUBPARTITIONS 3 (PARTITION a VALUES LESS THAN (2000), PARTITION b VALUES LESS THAN MAXVALUE)",
        "CREATE TABLE d.plain (id INT PRIMARY KEY, a INT)",
    )
    for table in ("ranges", "hashes"):
        lab.sql(
            f"INSERT INTO d.{table} VALUES (1, 1), (20, 2), (2000, 3), (3, 4)",
            f"UPDATE d.{table} SET a = a + 1",
        )
        lab.sql(f"UPDATE d.{table} SET id = id + 90 WHERE id < 100", f"DELETE FROM d.{table} WHERE a > 3")
    lab.sql(
        "INSERT INTO d.subs VALUES (1, '1999-01-01'), (2, '2020-01-01')",
        "UPDATE d.subs SET day = '2001-01-01'",
    )
    lab.sql(
        "INSERT INTO d.plain VALUES (1, 1)", "SET binlog_row_image = MINIMAL", "UPDATE d.ranges SET a = 100"
    )
    lab.keep("d.ranges", "d.hashes", "d.subs", "d.plain")


@scenario("mysql", *GTID, binlog_row_metadata="FULL")
def rows_keys_and_columns(lab: Lab) -> None:
    """Generated and invisible columns, the generated primary key, checks off, odd names."""
    lab.sql("CREATE DATABASE d", "CREATE DATABASE `odd ``name ü`")
    lab.sql(
        "CREATE TABLE d.gen (id INT PRIMARY KEY, a INT, v INT AS (a + 1) VIRTUAL, s INT AS (a * 2) STORED,"
        " hid INT INVISIBLE DEFAULT 3, e VARCHAR(40) DEFAULT (UUID()))",
        "INSERT INTO d.gen (id, a) VALUES (1, 10), (2, NULL)",
        "UPDATE d.gen SET a = 11, hid = 4 WHERE id = 1",
        "SET sql_generate_invisible_primary_key = ON",
        "CREATE TABLE d.gipk (a INT, b INT)",
        "INSERT INTO d.gipk (a, b) VALUES (1, 2), (3, 4)",
        "UPDATE d.gipk SET b = 5 WHERE a = 3",
        "SET sql_generate_invisible_primary_key = OFF",
        "CREATE TABLE `odd ``name ü`.`t``a'b` (`i d` INT PRIMARY KEY, `sel``ect` INT, `ü` INT)",
        "INSERT INTO `odd ``name ü`.`t``a'b` VALUES (1, 2, 3)",
        "SET foreign_key_checks = 0, unique_checks = 0",
        "INSERT INTO d.gen (id, a) VALUES (3, 30)",
        "SET foreign_key_checks = 1, unique_checks = 1",
        f"CREATE TABLE d.`{'l' * 64}` (`{'c' * 64}` INT PRIMARY KEY)",
        f"INSERT INTO d.`{'l' * 64}` VALUES (1)",
    )
    lab.keep("d.gen", "d.gipk", f"d.{'l' * 64}")


@scenario("mysql", *GTID, binlog_row_metadata="FULL")
def rows_foreign_keys(lab: Lab) -> None:
    """Cascades: delete, update, set null, over two levels; several tables in one statement."""
    lab.sql("CREATE DATABASE d; USE d")
    lab.sql(
        "CREATE TABLE d.parent (id INT PRIMARY KEY, a INT)",
        "CREATE TABLE d.child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES d.parent (id)"
        " ON DELETE CASCADE ON UPDATE CASCADE)",
        "CREATE TABLE d.grandchild (id INT PRIMARY KEY, c INT, FOREIGN KEY (c) REFERENCES d.child (id)"
        " ON DELETE SET NULL ON UPDATE CASCADE)",
        "INSERT INTO d.parent VALUES (1, 1), (2, 2), (3, 3), (4, 4)",
        "INSERT INTO d.child VALUES (10, 1), (20, 2), (21, 2), (30, 3), (40, 4)",
        "INSERT INTO d.grandchild VALUES (100, 10), (200, 20), (300, 30)",
        "UPDATE d.parent SET id = 11 WHERE id = 1",
        "DELETE FROM d.parent WHERE id = 2",
        "UPDATE d.child SET id = 31 WHERE id = 30",
        "UPDATE d.parent, d.child SET a = a + 1, child.id = child.id + 1000 WHERE parent.id = child.p",
        "DELETE parent, grandchild FROM d.parent, d.grandchild WHERE parent.id = 3 AND grandchild.id = 200",
        "SET foreign_key_checks = 0",
        "INSERT INTO d.child VALUES (50, 500)",
    )
    lab.keep("d.parent", "d.child", "d.grandchild")


@scenario("mysql", *GTID, binlog_row_metadata="FULL")
def rows_triggers(lab: Lab) -> None:
    """Triggers, stored procedures and functions whose changes are rows of several tables."""
    lab.sql("CREATE DATABASE d; USE d")
    lab.sql(
        "CREATE TABLE t (id INT PRIMARY KEY, a INT)",
        "CREATE TABLE log (n INT PRIMARY KEY AUTO_INCREMENT, what VARCHAR(20), id INT)",
        "CREATE TRIGGER ai AFTER INSERT ON t FOR EACH ROW INSERT INTO log (what, id) VALUES ('insert', NEW.id)",
        "CREATE TRIGGER bu BEFORE UPDATE ON t FOR EACH ROW SET NEW.a = NEW.a * 2",
        "CREATE TRIGGER ad AFTER DELETE ON t FOR EACH ROW INSERT INTO log (what, id) VALUES ('delete', OLD.id)",
        "CREATE PROCEDURE fill(k INT) BEGIN DECLARE i INT DEFAULT 0; WHILE i < k DO"
        " INSERT INTO t VALUES (i, i); SET i = i + 1; END WHILE; END",
        "CREATE FUNCTION add_one(x INT) RETURNS INT DETERMINISTIC RETURN x + 1",
        "CALL fill(4)",
        "UPDATE t SET a = add_one(a)",
        "DELETE FROM t WHERE id > 1",
        "INSERT INTO t SELECT id + 100, a FROM t",
    )
    lab.keep("d.t", "d.log")


@scenario("mysql", *GTID, binlog_row_metadata="MINIMAL", own=True)
def rows_many(lab: Lab) -> None:
    """Statements whose rows fill many events, cut at the size that the server was told."""
    lab.server.restart("--binlog-row-event-max-size=1024")
    lab.sql("CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, s VARCHAR(100))")
    lab.sql(f"INSERT INTO d.t VALUES {', '.join(f'({n}, {n * n})' for n in range(600))}")
    lab.sql("UPDATE d.t SET s = CONCAT(s, 'x') WHERE id < 300", "DELETE FROM d.t WHERE id > 200")
    lab.keep("d.t")
