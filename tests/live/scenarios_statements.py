"""Statements as text: variables of all kinds, LOAD DATA, temporary tables, the settings that travel along."""

from __future__ import annotations

from tests.live.scenarios import Lab, scenario

ANONYMOUS = ("--gtid-mode=OFF", "--enforce-gtid-consistency=OFF")

USER_VARIABLES = {
    "int": "-1",
    "big": "9223372036854775807",
    "unsigned": "18446744073709551615",
    "real": "1.5e0",
    "real_big": "1.7976931348623157e308",
    "real_small": "-1e-300",
    "exact": "12345678901234567890.123456789",
    "exact_negative": "-0.5",
    "exact_long": "99999999999999999999999999999999999.999999999999999999999999999999",
    "text": "'it''s Grüße'",
    "latin": "_latin1 x'fcff'",
    "binary": "x'00ff'",
    "empty": "''",
    "null": "NULL",
    "collated": "'x' COLLATE utf8mb4_bin",
    "long": "REPEAT('z', 300)",
    "bool": "TRUE",
    "date": "DATE'2024-02-29'",
    "time": "CURRENT_TIME(6)",
}


@scenario("mysql", *ANONYMOUS)
def statement_variables(lab: Lab) -> None:
    """User variables of each type, INTVAR, RAND, in the format STATEMENT."""
    lab.sql("CREATE DATABASE d; USE d; SET binlog_format = STATEMENT")
    lab.sql("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v VARBINARY(400), n DOUBLE) ENGINE=InnoDB")
    for name, value in USER_VARIABLES.items():
        lab.sql(f"SET @`{name}` = {value}", f"INSERT INTO t (v) VALUES (@`{name}`)")
    lab.sql("SET @`odd ``name' ü` = 'odd'", "INSERT INTO t (v) VALUES (@`odd ``name' ü`)")
    lab.sql("SET @a = 1, @b = 'two', @c = 3.0", "INSERT INTO t (v) VALUES (@a), (@b), (@c), (@never_set)")
    lab.sql("INSERT INTO t (n) VALUES (RAND()), (RAND())", "INSERT INTO t (n) VALUES (RAND(7))")
    lab.sql(
        "INSERT INTO t (v) VALUES ('x')",
        "INSERT INTO t (v) SELECT LAST_INSERT_ID()",
        "UPDATE t SET n = RAND() WHERE id = 1",
    )
    lab.sql(
        "SET insert_id = 500; INSERT INTO t (v) VALUES ('jump')",
        "SET @x := 5; UPDATE t SET n = @x := @x + 1 WHERE id < 4",
    )
    lab.sql("SET timestamp = 1000000000.654321; INSERT INTO t (v) VALUES (NOW(6)); SET timestamp = DEFAULT")
    lab.sql(
        "PREPARE p FROM 'INSERT INTO t (v, n) VALUES (?, ?)'; SET @p1 = 'a', @p2 = 1e10; EXECUTE p USING @p1, @p2"
    )
    lab.sql("DELETE FROM t WHERE id = 2 LIMIT 1", "TRUNCATE TABLE t")
    lab.fails("INSERT INTO t VALUES (1, 'a', 0), (1, 'b', 0)")


@scenario("mysql", *ANONYMOUS)
def statement_settings(lab: Lab) -> None:
    """Each status variable of a QUERY event: sql_mode, charset, zone, language, increments, checks, schemas."""
    lab.sql("CREATE DATABASE d; CREATE DATABASE e; CREATE DATABASE latin CHARACTER SET latin1; USE d")
    lab.sql(
        "SET binlog_format = STATEMENT; CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, s VARCHAR(100), ts TIMESTAMP NULL)"
    )
    settings = [
        "SET sql_mode = ''",
        "SET sql_mode = 'ANSI,TRADITIONAL,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH,HIGH_NOT_PRECEDENCE'",
        "SET sql_mode = 'ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO,REAL_AS_FLOAT,TIME_TRUNCATE_FRACTIONAL'",
        "SET sql_mode = DEFAULT",
        "SET NAMES latin1",
        "SET character_set_client = koi8r, collation_connection = koi8r_bin, collation_server = ascii_bin",
        "SET NAMES utf8mb4 COLLATE utf8mb4_unicode_ci",
        "SET NAMES binary",
        "SET NAMES utf8mb4",
        "SET time_zone = '+05:45'",
        "SET time_zone = '-00:30'",
        "SET time_zone = 'SYSTEM'",
        "SET time_zone = DEFAULT",
        "SET lc_time_names = 'de_DE'",
        "SET lc_time_names = 'ja_JP'",
        "SET lc_time_names = 'en_US'",
        "SET auto_increment_increment = 10, auto_increment_offset = 3",
        "SET auto_increment_increment = 1, auto_increment_offset = 1",
        "SET collation_database = latin1_bin",
        "SET foreign_key_checks = 0",
        "SET unique_checks = 0, sql_auto_is_null = 1",
        "SET foreign_key_checks = 1, unique_checks = 1, sql_auto_is_null = 0",
        "SET explicit_defaults_for_timestamp = 0",
        "SET default_collation_for_utf8mb4 = utf8mb4_general_ci",
        "SET sql_require_primary_key = 1",
        "SET default_table_encryption = 0, sql_require_primary_key = 0",
        "SET character_set_client = latin1, collation_connection = utf8mb3_general_ci",
        "SET NAMES DEFAULT",
    ]
    for n, setting in enumerate(settings):
        if lab.optional(setting):
            lab.sql(b"INSERT INTO t (s, ts) VALUES ('%d %%', FROM_UNIXTIME(%d))" % (n, 1000000000 + n))
            lab.sql(f"UPDATE t SET s = CONCAT(s, DATE_FORMAT('2024-02-29', '%M')) WHERE id = {n + 1}")
    lab.sql("SET NAMES latin1", b"INSERT INTO t (s) VALUES ('\xfc\xe4 latin')", "SET NAMES utf8mb4")
    lab.sql("ALTER TABLE t MODIFY s VARBINARY(100)")
    lab.sql(b"INSERT INTO t (s) VALUES (_binary 'b\xff\xfe\\0\\n\n\r\x1a')")
    lab.sql("USE e", "INSERT INTO d.t (s) VALUES ('from another schema')", "CREATE TABLE f (a INT)")
    lab.sql("UPDATE d.t, e.f SET d.t.s = 'both' WHERE a = 1", "USE latin", "CREATE TABLE g (s CHAR(3))")
    names = [f"s{n}" for n in range(20)]
    for name in names:
        lab.sql(f"CREATE DATABASE {name}; CREATE TABLE {name}.t (a INT)")
    lab.sql(f"DROP TABLE {', '.join(f'{name}.t' for name in names)}")
    lab.sql(f"DROP TABLE IF EXISTS {', '.join(f'{name}.t' for name in names[:3])}, d.nothing")
    lab.sql(
        "CREATE USER 'u'@'%' IDENTIFIED BY 'secret'; GRANT SELECT ON d.* TO 'u'@'%'; SET PASSWORD FOR u = 'other'"
    )
    lab.sql(
        "ALTER USER u COMMENT 'x'; RENAME USER u TO w; REVOKE SELECT ON d.* FROM w; DROP USER w; FLUSH PRIVILEGES"
    )
    lab.sql("ANALYZE TABLE d.t; OPTIMIZE TABLE d.t; FLUSH TABLES; FLUSH NO_WRITE_TO_BINLOG STATUS")
    lab.server.disconnect()
    lab.sql(
        "SET binlog_format = STATEMENT; CREATE DATABASE gone; USE gone; DROP DATABASE gone; CREATE TABLE d.nodb (a INT)"
    )


@scenario("mysql", *ANONYMOUS)
def statement_load_data(lab: Lab) -> None:
    """LOAD DATA as a file in the log: small, in several blocks, with all clauses, failing, local, and as rows."""
    lab.sql("CREATE DATABASE d; USE d; SET binlog_format = STATEMENT")
    lab.sql("CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(200), c INT) ENGINE=MyISAM")
    small, large = lab.server.folder / "small.csv", lab.server.folder / "large.csv"
    small.write_bytes(b"1,'one',1\n2,'two\\n',2\n\\N,\\N,\\N\n3,\xc3\xbc,3\n")
    large.write_bytes(b"".join(b"%d\t%s\t%d\n" % (n, b"text" * 30, n) for n in range(100, 1500)))
    lab.sql("SET sql_mode = ''")
    lab.sql(
        f"LOAD DATA INFILE '{small}' IGNORE INTO TABLE t CHARACTER SET utf8mb4 FIELDS TERMINATED BY ','"
        " OPTIONALLY ENCLOSED BY '''' ESCAPED BY '\\\\' LINES STARTING BY '' TERMINATED BY '\\n' IGNORE 1 LINES (a, b, @c)"
        " SET c = @c + 1"
    )
    lab.sql(f"LOAD DATA INFILE '{large}' REPLACE INTO TABLE t")
    lab.sql(
        f"LOAD DATA LOCAL INFILE '{small}' INTO TABLE d.t FIELDS TERMINATED BY ',' LINES TERMINATED BY '\\n'"
    )
    lab.sql("SET sql_mode = 'STRICT_ALL_TABLES'")
    lab.fails(f"LOAD DATA INFILE '{small}' INTO TABLE t FIELDS TERMINATED BY ','")
    lab.sql("CREATE TABLE i (a INT PRIMARY KEY, b VARCHAR(200), c INT) ENGINE=InnoDB; SET sql_mode = ''")
    lab.fails(f"LOAD DATA INFILE '{large}' INTO TABLE i (a, b, nothing)")
    lab.sql(
        f"BEGIN; LOAD DATA INFILE '{large}' INTO TABLE i; SAVEPOINT s; UPDATE i SET c = 0; ROLLBACK TO s; COMMIT"
    )
    lab.fails(f"LOAD DATA INFILE '{large}' INTO TABLE i", 1062)
    lab.sql(
        "SET binlog_format = ROW; DELETE FROM i",
        f"LOAD DATA INFILE '{small}' REPLACE INTO TABLE i FIELDS TERMINATED BY ','",
    )
    lab.sql(
        "SET binlog_format = MIXED; TRUNCATE t",
        f"LOAD DATA INFILE '{small}' INTO TABLE t FIELDS TERMINATED BY ','",
    )


@scenario("mysql", *ANONYMOUS)
def statement_temporary_tables(lab: Lab) -> None:
    """Temporary tables: thread ids in the log, dropped by hand and by a session that ends."""
    lab.sql("CREATE DATABASE d; USE d; SET binlog_format = STATEMENT; CREATE TABLE t (a INT PRIMARY KEY)")
    lab.sql(
        "CREATE TEMPORARY TABLE tmp (a INT); INSERT INTO tmp VALUES (1), (2); INSERT INTO t SELECT * FROM tmp"
    )
    other = lab.session()
    with other.cursor() as cursor:
        cursor.execute("SET binlog_format = STATEMENT")
        cursor.execute("CREATE TEMPORARY TABLE d.tmp (b INT)")
        cursor.execute("BEGIN")
        cursor.execute("INSERT INTO d.tmp VALUES (5)")
        cursor.execute("INSERT INTO d.t SELECT * FROM d.tmp")
        cursor.execute("COMMIT")
    other.close()
    lab.sql(
        "DROP TEMPORARY TABLE tmp; CREATE TEMPORARY TABLE `odd ``x` (a INT) ENGINE=MEMORY; INSERT INTO `odd ``x` VALUES (1)"
    )
    lab.server.disconnect()
    lab.sql(
        "USE d; SET binlog_format = MIXED; CREATE TEMPORARY TABLE m (a INT); INSERT INTO t VALUES (100); DROP TABLE m"
    )
    lab.sql(
        "SET pseudo_thread_id = 4000000000; SET binlog_format = ROW; CREATE TEMPORARY TABLE r (a INT); DROP TABLE r"
    )


@scenario("mysql", *ANONYMOUS)
def statement_mixed(lab: Lab) -> None:
    """MIXED: text where it is safe, rows where it is not, both in one transaction."""
    lab.sql("CREATE DATABASE d; USE d; SET binlog_format = MIXED, binlog_rows_query_log_events = ON")
    lab.sql("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, s VARCHAR(60))")
    lab.sql(
        "INSERT INTO t (s) VALUES ('safe')",
        "INSERT INTO t (s) VALUES (UUID())",
        "BEGIN; INSERT INTO t (s) VALUES ('a'); UPDATE t SET s = UUID() WHERE id = 1; INSERT INTO t (s) VALUES ('b'); COMMIT",
        "CREATE FUNCTION f() RETURNS CHAR(36) NO SQL RETURN UUID()",
        "INSERT INTO t (s) VALUES (f())",
        "UPDATE t SET s = 'x' ORDER BY id LIMIT 1",
        "INSERT INTO t (s) SELECT s FROM t",
        "CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW SET NEW.s = CONCAT(NEW.s, '.')",
        "INSERT INTO t (s) VALUES ('triggered')",
        "CREATE PROCEDURE p(IN x VARCHAR(9), y INT) BEGIN INSERT INTO t (s) VALUES (x); SET @z = y; INSERT INTO t (s) VALUES (@z); END",
        "CALL p('it''s', 7)",
        "DELETE FROM t",
    )


@scenario("mysql", "--gtid-mode=ON", "--enforce-gtid-consistency=ON")
def statement_gtid(lab: Lab) -> None:
    """The format STATEMENT with GTIDs and compressed transactions."""
    lab.sql(
        "CREATE DATABASE d; USE d; SET binlog_format = STATEMENT; CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, s TEXT)"
    )
    lab.sql("SET @v = 'x'; INSERT INTO t (s) VALUES (@v); SET binlog_transaction_compression = ON")
    lab.sql(
        "BEGIN; INSERT INTO t (s) VALUES (REPEAT(@v, 9)); SET @r = RAND(); UPDATE t SET s = RAND(); COMMIT"
    )
    lab.sql("SET binlog_format = MIXED; INSERT INTO t (s) VALUES (UUID())")
