"""DDL of all kinds."""

from __future__ import annotations

from tests.live.scenarios import Lab, scenario

GTID = ("--gtid-mode=ON", "--enforce-gtid-consistency=ON")


@scenario("mysql", *GTID, binlog_row_metadata="FULL")
def ddl_tables(lab: Lab) -> None:
    """Tables: created, copied, altered in every way, renamed, swapped, truncated, dropped."""
    lab.sql("CREATE DATABASE d; USE d")
    lab.sql(
        "CREATE TABLE t (id INT PRIMARY KEY, a INT, KEY (a)) COMMENT='it''s a \\\\ comment'",
        "CREATE TABLE IF NOT EXISTS t (id INT)",
        "INSERT INTO t VALUES (1, 1)",
        "ALTER TABLE t ADD COLUMN b VARCHAR(10) DEFAULT 'x', ALGORITHM=INSTANT",
        "INSERT INTO t VALUES (2, 2, 'y')",
        "ALTER TABLE t ADD COLUMN first_one INT FIRST, ADD COLUMN c JSON AFTER a",
        "INSERT INTO t VALUES (0, 3, 3, '[3]', 'z')",
        "ALTER TABLE t DROP COLUMN a, RENAME COLUMN b TO bb, MODIFY c LONGTEXT",
        "UPDATE t SET bb = 'changed'",
        "ALTER TABLE t CHANGE bb b2 VARBINARY(300) NOT NULL, ADD UNIQUE (b2, id), ENGINE=InnoDB",
        "INSERT INTO t VALUES (1, 9, NULL, x'00ff')",
        "ALTER TABLE t CONVERT TO CHARACTER SET latin1, ORDER BY id",
        "ALTER TABLE t DROP PRIMARY KEY, ADD COLUMN new_id BIGINT AUTO_INCREMENT PRIMARY KEY",
        "ALTER TABLE t ADD CONSTRAINT positive CHECK (id > 0), ALTER COLUMN c SET INVISIBLE",
        "CREATE INDEX i ON t (id); CREATE FULLTEXT INDEX f ON t (c); DROP INDEX i ON t",
        "CREATE TABLE copy LIKE t",
        "CREATE TABLE sel SELECT * FROM t",
        "CREATE TABLE sel2 (x INT PRIMARY KEY AUTO_INCREMENT) SELECT id AS y, b2 FROM t",
        "CREATE TABLE empty_sel SELECT 1 AS one WHERE FALSE",
        "RENAME TABLE copy TO copy2, sel TO copy",
        "ALTER TABLE copy2 RENAME TO copy3",
        "ALTER TABLE copy3 COMMENT 'x'",
        "CREATE TABLE part (id INT) PARTITION BY LIST (id) (PARTITION a VALUES IN (1, 2), PARTITION b VALUES IN (3))",
        "INSERT INTO part VALUES (1), (3)",
        "ALTER TABLE part TRUNCATE PARTITION a; ALTER TABLE part DROP PARTITION b; ALTER TABLE part REMOVE PARTITIONING",
        "TRUNCATE TABLE t",
        "INSERT INTO t (id, b2) VALUES (1, 'after')",
        "CREATE TEMPORARY TABLE tmp (a INT); INSERT INTO tmp VALUES (1)",
        "DROP TABLE copy, copy3; DROP TABLE IF EXISTS nothing",
        "CREATE TABLE fk (id INT PRIMARY KEY, p BIGINT, CONSTRAINT c FOREIGN KEY (p) REFERENCES t (new_id))",
        "ALTER TABLE fk DROP FOREIGN KEY c",
        "CREATE TABLESPACE ts ADD DATAFILE 'ts.ibd'; DROP TABLESPACE ts",
    )
    lab.fails("CREATE TABLE t (a INT)", 1050)
    lab.sql(
        "ALTER DATABASE d CHARACTER SET latin1; CREATE DATABASE e; DROP DATABASE e; DROP DATABASE IF EXISTS e"
    )
    lab.keep("d.sel2")


@scenario("mysql", *GTID)
def ddl_programs(lab: Lab) -> None:
    """Views, routines, triggers, events, users, roles: with definers, comments, odd text."""
    lab.sql("CREATE DATABASE d; USE d; CREATE TABLE t (a INT PRIMARY KEY, b INT)")
    lab.sql(
        "CREATE USER 'de''finer'@'%', other@localhost; CREATE ROLE r; GRANT ALL ON d.* TO 'de''finer'@'%'; GRANT r TO other@localhost",
        "CREATE VIEW v AS SELECT a FROM t",
        "CREATE OR REPLACE DEFINER='de''finer'@'%' SQL SECURITY INVOKER VIEW v AS SELECT a, b FROM t WHERE a > 1 WITH CHECK OPTION",
        "ALTER VIEW v AS SELECT 1 AS x; DROP VIEW v",
        "CREATE DEFINER='de''finer'@'%' PROCEDURE p(INOUT x INT) COMMENT 'says ''hi''' BEGIN\n  -- a comment\n  SET x = x + 1;\nEND",
        "ALTER PROCEDURE p SQL SECURITY INVOKER; DROP PROCEDURE p",
        "CREATE FUNCTION f(x INT) RETURNS INT DETERMINISTIC RETURN x; DROP FUNCTION IF EXISTS f",
        "CREATE DEFINER=other@localhost TRIGGER tr AFTER INSERT ON t FOR EACH ROW SET @x = NEW.a; DROP TRIGGER tr",
        "CREATE EVENT ev ON SCHEDULE EVERY 1 YEAR DISABLE DO DELETE FROM t; ALTER EVENT ev RENAME TO ev2; DROP EVENT ev2",
        "CREATE EVENT past ON SCHEDULE AT '2030-01-01' ON COMPLETION PRESERVE DISABLE DO BEGIN SET @a = 1; END; DROP EVENT past",
        "SET DEFAULT ROLE r TO other@localhost; ALTER USER other@localhost ACCOUNT LOCK; DROP ROLE r",
        "ALTER USER other@localhost IDENTIFIED BY 'pass word'; DROP USER other@localhost, 'de''finer'@'%'",
        "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (HOST 'h', DATABASE 'd'); DROP SERVER s",
        "INSERT INTO t VALUES (1, 2); CREATE TABLE u AS TABLE t; INSERT INTO u VALUES ROW(3, 4), ROW(5, 6)",
        "WITH c AS (SELECT 1 AS a) UPDATE t SET b = (SELECT a FROM c)",
    )
    lab.keep("d.t", "d.u")
