"""MariaDB: its types, its GTIDs, its compressed events and columns, its statements."""

from __future__ import annotations

import json
import threading

from tests.live.scenarios import Lab, scenario
from tests.live.scenarios_statements import USER_VARIABLES
from tests.live.scenarios_types import DECIMALS, INTEGERS, SHAPES, TEXTS, known_bytes, members, values


def all_types(lab: Lab) -> None:
    """Tables of numbers, times, strings and everything else with extreme values."""
    columns, low, high = [], [], []
    for name, bits in INTEGERS.items():
        columns += [f"{name.lower()}_s {name}", f"{name.lower()}_u {name} UNSIGNED"]
        low += [str(-(1 << bits - 1)), "0"]
        high += [str((1 << bits - 1) - 1), str((1 << bits) - 1)]
    columns += [f"d_{each.replace(',', '_')} DECIMAL({each})" for each in DECIMALS]
    columns += ["f FLOAT", "g DOUBLE", "y YEAR", "b BOOL"]
    width = len(DECIMALS)
    lab.sql(
        "CREATE DATABASE d; SET sql_mode = ''; USE d",
        f"CREATE TABLE numbers (id INT PRIMARY KEY, {', '.join(columns)})",
    )
    rows = [["1", *low, *["-99e60"] * width, "-3.4e38", "-1.7e308", "0", "0"]]
    rows += [["2", *high, *["99e60"] * width, "3.4e38", "1.7e308", "2155", "1"]]
    rows += [
        ["3", *["NULL"] * (len(low) + width + 4)],
        ["4", *["0"] * len(low), *["0.1"] * width, "0.1", "0.1", "1901", "2"],
    ]
    lab.sql(
        f"INSERT INTO numbers VALUES {values(rows)}",
        "UPDATE numbers SET g = -g, d_65_30 = -d_65_30 WHERE id < 4",
    )

    kinds = ("TIME", "DATETIME", "TIMESTAMP")
    columns = [f"{kind.lower()}{fsp} {kind}({fsp}) NULL" for kind in kinds for fsp in range(7)]
    lab.sql(f"CREATE TABLE times (id INT PRIMARY KEY, dt DATE, {', '.join(columns)})")
    moments = [
        ("'0000-00-00'", "'00:00:00'", "'0000-00-00 00:00:00'", "'0000-00-00 00:00:00'"),
        ("'1000-01-01'", "'-838:59:59'", "'1000-01-01 00:00:00'", "'1970-01-01 00:00:01'"),
        (
            "'9999-12-31'",
            "'838:59:59.999999'",
            "'9999-12-31 23:59:59.999999'",
            "'2038-01-19 03:14:07.999999'",
        ),
        ("NULL", "NULL", "NULL", "NULL"),
        ("'2020-00-00'", "'-00:00:00.5'", "'2020-00-00 00:00:00'", "'2001-09-09 01:46:40.5'"),
        ("'0000-01-01'", "'-00:00:00.000001'", "'0000-01-01 00:00:00.01'", "'2016-12-31 23:59:59.01'"),
        ("'2024-02-29'", "'-12:34:56.789012'", "'2024-02-29 23:59:59.999999'", "'2106-02-07 06:28:15'"),
    ]
    rows = [[str(n), day, *[t] * 7, *[m] * 7, *[s] * 7] for n, (day, t, m, s) in enumerate(moments)]
    lab.sql(f"INSERT INTO times VALUES {values(rows)}", "DELETE FROM times WHERE id = 2")
    lab.sql(
        "SET timestamp = 1234567890.123456",
        "INSERT INTO times (id, timestamp6, time3) VALUES (50, NOW(6), NOW(3))",
    )

    bits = (1, 7, 8, 9, 16, 31, 33, 63, 64)
    columns = [f"b{n} BIT({n})" for n in bits] + [f"s{n} SET({members(n)})" for n in (1, 8, 9, 24, 33, 64)]
    columns += ["e ENUM('a','b')", f"e300 ENUM({members(300)})", "el ENUM('ä','ö') CHARACTER SET latin1"]
    lab.sql(f"CREATE TABLE flags (id INT PRIMARY KEY, {', '.join(columns)})")
    rows = [
        [
            "1",
            *[f"b'{'1' * n}'" for n in bits],
            *[str((1 << n) - 1) for n in (1, 8, 9, 24, 33, 64)],
            "1",
            "300",
            "'ö'",
        ]
    ]
    rows += [["2", *["0"] * 15, "'wrong'", "'wrong'", "'wrong'"], ["3", *["NULL"] * 18]]
    lab.sql(f"INSERT INTO flags VALUES {values(rows)}", "SET timestamp = DEFAULT")

    kinds = (
        "CHAR(10)",
        "CHAR(255)",
        "VARCHAR(63)",
        "VARCHAR(300)",
        "BINARY(16)",
        "VARBINARY(300)",
        "TINYTEXT",
        "TEXT",
    )
    kinds += (
        "MEDIUMBLOB",
        "LONGTEXT",
        "CHAR(255) CHARACTER SET latin1",
        "VARCHAR(20) CHARACTER SET ucs2",
        "JSON",
    )
    lab.sql(
        f"CREATE TABLE strings (id INT PRIMARY KEY, {', '.join(f'c{n} {kind}' for n, kind in enumerate(kinds))})"
    )
    texts = ["'\"\"'", "NULL", "'\"Grüße 🌊\"'", "'\"a  \"'", f"'{json.dumps(['x' * 100])}'"]
    lab.sql(f"INSERT INTO strings VALUES {values([str(n), *[t] * len(kinds)] for n, t in enumerate(texts))}")

    lab.sql("CREATE TABLE others (id INT PRIMARY KEY, i6 INET6, i4 INET4, u UUID, v VECTOR(3))")
    lab.sql(
        "INSERT INTO others VALUES (1, '2001:db8::1', '192.0.2.1', '123e4567-e89b-12d3-a456-426655440000',"
        " VEC_FromText('[1,2.5,-3]')), (2, '::', '0.0.0.0', '00000000-0000-0000-0000-000000000000', NULL),"
        " (3, NULL, NULL, NULL, NULL), (4, '::ffff:1.2.3.4', '255.255.255.255', 'ffffffff-ffff-ffff-ffff-ffffffffff00', NULL)"
    )
    lab.sql(
        f"CREATE TABLE shapes (id INT PRIMARY KEY, {', '.join(f'{name} {kind}' for name, (kind, _) in SHAPES.items())})"
    )
    lab.sql(
        f"INSERT INTO shapes VALUES (1, {', '.join(f'ST_GeomFromText({text!r})' for _, text in SHAPES.values())})"
    )
    lab.sql(
        "CREATE TABLE mixed (id VARCHAR(40), a ENUM('ä','b') CHARACTER SET latin1, b SET('語','x') CHARACTER SET ujis,"
        " c ENUM('я') CHARACTER SET koi8r, PRIMARY KEY (id(5)))",
        "INSERT INTO mixed VALUES ('key', 'ä', '語,x', 'я')",
    )
    lab.keep("d.mixed")
    lab.keep("d.numbers", "d.times", "d.flags", "d.strings", "d.others", "d.shapes")


@scenario("mariadb", binlog_row_metadata="NO_LOG", binlog_format="ROW")
def types(lab: Lab) -> None:
    """All types without optional metadata, MariaDB's default."""
    all_types(lab)


@scenario("mariadb", binlog_row_metadata="FULL", binlog_format="ROW")
def types_full(lab: Lab) -> None:
    """All types with all metadata."""
    all_types(lab)


@scenario("mariadb", binlog_row_metadata="MINIMAL", binlog_format="ROW")
def charsets(lab: Lab) -> None:
    """Text in every charset the server has."""
    names = lab.query("SELECT CHARACTER_SET_NAME, MAXLEN FROM information_schema.CHARACTER_SETS ORDER BY 1")
    lab.sql("CREATE DATABASE d; SET sql_mode = ''")
    for name, length in names:
        in_it = f"CHARACTER SET {name}"
        lab.sql(
            f"CREATE TABLE d.cs_{name} (id INT PRIMARY KEY, c CHAR(60) {in_it}, v VARCHAR(300) {in_it}, t TEXT {in_it})"
        )
        rows = [
            [str(n), *["'" + text.replace("\\", "\\\\").replace("'", "''") + "'"] * 3]
            for n, text in TEXTS.items()
        ]
        lab.sql(f"INSERT INTO d.cs_{name} VALUES {values(rows)}")
        if length == 1 and name != "binary":
            lab.sql(f"INSERT INTO d.cs_{name} (id, v) VALUES (20, _{name} x'{bytes(range(256)).hex()}')")
            lab.sql(f"INSERT INTO d.cs_{name} (id, v) VALUES (21, _{name} x'{known_bytes(lab, name)}')")
        lab.keep(f"d.cs_{name}")


@scenario("mariadb", binlog_row_metadata="FULL", binlog_format="ROW")
def compressed_columns(lab: Lab) -> None:
    """Columns that are stored compressed: with a wrapper, without, too small, empty, NULL."""
    lab.sql(
        "CREATE DATABASE d; USE d; CREATE TABLE c (id INT PRIMARY KEY, v VARCHAR(3000) COMPRESSED, t TEXT COMPRESSED,"
        " b LONGBLOB COMPRESSED, vb VARBINARY(500) COMPRESSED, tt TINYTEXT COMPRESSED, m MEDIUMTEXT COMPRESSED CHARACTER SET latin1)"
    )
    lab.sql("INSERT INTO c VALUES (1, '', '', '', '', '', ''), (2, NULL, NULL, NULL, NULL, NULL, NULL)")
    lab.sql("INSERT INTO c VALUES (3, 'short', 'short', 'short', 'short', 'short', 'short')")
    lab.sql(
        "INSERT INTO c VALUES (4, REPEAT('ab', 500), REPEAT('ä', 5000), REPEAT('x', 100000), REPEAT('y', 400),"
        " REPEAT('z', 200), REPEAT('ü', 300))"
    )
    lab.sql("SET GLOBAL column_compression_zlib_wrap = ON", "SET column_compression_zlib_wrap = ON")
    lab.sql(
        "INSERT INTO c SELECT 5, v, t, b, vb, tt, m FROM c WHERE id = 4",
        "UPDATE c SET v = REPEAT('new', 99) WHERE id = 4",
    )
    lab.sql("SET GLOBAL column_compression_zlib_wrap = OFF", "DELETE FROM c WHERE id = 3")
    lab.keep("d.c")


@scenario(
    "mariadb",
    binlog_row_metadata="FULL",
    binlog_format="ROW",
    log_bin_compress=1,
    log_bin_compress_min_len=10,
)
def compressed_events(lab: Lab) -> None:
    """log_bin_compress: compressed rows of all kinds and compressed statements."""
    lab.sql("CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(500), b BLOB)")
    lab.sql(f"INSERT INTO t VALUES {', '.join(f'({n}, {chr(39)}{n}{chr(39)}, NULL)' for n in range(200))}")
    lab.sql(
        "UPDATE t SET s = REPEAT(s, 50), b = 'blob'",
        "DELETE FROM t WHERE id > 20",
        "INSERT INTO t VALUES (500, 's', '')",
    )
    lab.sql(
        "SET binlog_row_image = MINIMAL",
        "UPDATE t SET s = CONCAT(s, '!') WHERE id < 5",
        "DELETE FROM t WHERE id = 7",
    )
    lab.sql(
        "SET binlog_format = STATEMENT",
        f"INSERT INTO t VALUES (1000, '{'long text ' * 40}', 'x')",
        "UPDATE t SET b = 'z'",
    )
    lab.sql(
        "BEGIN; UPDATE t SET b = 'y'; ROLLBACK; BEGIN; UPDATE t SET b = 'w'; SAVEPOINT s; DELETE FROM t WHERE id = 1; COMMIT"
    )
    lab.sql("CREATE TABLE sel SELECT * FROM t", "DROP TABLE sel")


@scenario("mariadb", binlog_row_metadata="FULL", binlog_format="ROW")
def row_images(lab: Lab) -> None:
    """FULL, MINIMAL, NOBLOB and FULL_NODUP; with and without annotations; checks switched off."""
    lab.sql("CREATE DATABASE d; USE d")
    for image in ("FULL", "MINIMAL", "NOBLOB", "FULL_NODUP"):
        if not lab.optional(f"SET binlog_row_image = {image}"):
            continue
        name = f"t_{image.lower()}"
        lab.sql(
            f"CREATE TABLE {name} (id INT PRIMARY KEY, a INT, b BLOB, t TEXT, n INT NOT NULL DEFAULT 5, INDEX (a))"
        )
        lab.sql(
            f"INSERT INTO {name} (id, a) VALUES (1, 1), (2, NULL)",
            f"INSERT INTO {name} VALUES (3, 3, 'b', 't', 3)",
        )
        lab.sql(
            f"UPDATE {name} SET a = 7 WHERE id < 3",
            f"UPDATE {name} SET b = 'x', id = 30 WHERE id = 3",
            f"UPDATE {name} SET a = a",
        )
        lab.sql(
            "SET binlog_annotate_row_events = OFF",
            f"DELETE FROM {name} WHERE id = 1",
            "SET binlog_annotate_row_events = ON",
        )
        if image != "FULL_NODUP":
            lab.keep(f"d.{name}")
    lab.sql(
        "SET check_constraint_checks = 0, foreign_key_checks = 0, unique_checks = 0",
        "INSERT INTO t_full (id) VALUES (50)",
    )
    lab.sql(
        "SET check_constraint_checks = 1, foreign_key_checks = 1, unique_checks = 1; SET binlog_row_image = FULL"
    )
    lab.sql(
        "CREATE TABLE tr (id INT PRIMARY KEY, g INT AS (id + 1) PERSISTENT, v INT AS (id * 2) VIRTUAL, h INT INVISIBLE)"
    )
    lab.sql("CREATE TRIGGER x AFTER INSERT ON tr FOR EACH ROW INSERT INTO t_full (id) VALUES (NEW.id + 1000)")
    lab.sql(
        "INSERT INTO tr (id) VALUES (1), (2)",
        "UPDATE tr SET h = 1",
        "CREATE SEQUENCE s",
        "SELECT NEXT VALUE FOR s",
    )
    lab.sql(
        "CREATE TABLE hist (id INT PRIMARY KEY, a INT) WITH SYSTEM VERSIONING",
        "INSERT INTO hist VALUES (1, 1)",
    )
    lab.sql(
        "UPDATE hist SET a = 2",
        "DELETE FROM hist",
        "CREATE TABLE p (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 3",
    )
    lab.sql("INSERT INTO p VALUES (1), (2), (3)", "UPDATE p SET id = id + 10", "DELETE FROM p WHERE id = 11")
    lab.keep("d.p")


@scenario("mariadb", binlog_format="ROW")
def gtids(lab: Lab) -> None:
    """GTIDs of several domains and servers, sequence numbers that jump, over three files."""
    lab.sql("CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, s VARCHAR(200))")
    for domain, server, number in (
        (0, 1, 0),
        (1, 1, 0),
        (1, 99, 0),
        (4294967295, 4294967295, 0),
        (2, 7, 1000000),
        (1, 1, 500),
    ):
        lab.sql(f"SET gtid_domain_id = {domain}, server_id = {server}", f"SET gtid_seq_no = {number}")
        lab.sql(f"INSERT INTO t (s) VALUES ('{domain}')", f"UPDATE t SET s = CONCAT(s, '-{server}')")
        if number:
            lab.sql("FLUSH BINARY LOGS")
    lab.sql("SET gtid_domain_id = 3, skip_parallel_replication = ON", "INSERT INTO t (s) VALUES ('alone')")
    lab.sql("CREATE TABLE m (a INT) ENGINE=MyISAM", "INSERT INTO m VALUES (1)", "BEGIN; COMMIT")
    lab.notes["gtid_current_pos"] = lab.query("SELECT @@gtid_current_pos")[0][0]


@scenario("mariadb", binlog_format="ROW", binlog_commit_wait_count=4, binlog_commit_wait_usec=20000)
def parallel(lab: Lab) -> None:
    """Sessions that commit together: commit ids in the GTIDs."""
    lab.sql("CREATE DATABASE d")
    problems: list[BaseException] = []

    def work(worker: int) -> None:
        try:
            with lab.session().cursor() as cursor:
                cursor.execute(f"CREATE TABLE d.t{worker} (a INT PRIMARY KEY, s TEXT)")
                for n in range(12):
                    cursor.execute(f"INSERT INTO d.t{worker} VALUES ({n}, REPEAT('{worker}', {n}))")
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]
    lab.keep(*[f"d.t{worker}" for worker in range(5)])


@scenario("mariadb", binlog_format="ROW")
def transactions(lab: Lab) -> None:
    """XA in all its ways, savepoints, engines without transactions."""
    lab.sql(
        "CREATE DATABASE d; USE d; CREATE TABLE t (a INT PRIMARY KEY, s VARCHAR(20)) ENGINE=InnoDB; CREATE TABLE m (a INT) ENGINE=MyISAM"
    )
    names = ["'one'", "'two', 'branch'", "x'00ff27', x'c3bc', 4294967", f"'{'g' * 64}', '{'b' * 64}', 7"]
    for n, name in enumerate(names):
        lab.sql(f"XA START {name}; INSERT INTO d.t VALUES ({n}, 'xa'); XA END {name}; XA PREPARE {name}")
        lab.server.disconnect()
        lab.sql(
            f"INSERT INTO d.t VALUES ({100 + n}, 'between')", f"XA {'ROLLBACK' if n % 2 else 'COMMIT'} {name}"
        )
    lab.sql(
        "USE d; XA START 'fast'; INSERT INTO t VALUES (50, 'x'); XA END 'fast'; XA COMMIT 'fast' ONE PHASE"
    )
    lab.sql(
        "BEGIN; INSERT INTO t VALUES (60, 'a'); SAVEPOINT s; INSERT INTO t VALUES (61, 'b'); ROLLBACK TO s; COMMIT"
    )
    lab.sql(
        "BEGIN; INSERT INTO t VALUES (62, 'a'); INSERT INTO m VALUES (1); ROLLBACK; BEGIN; INSERT INTO m VALUES (2);"
        " INSERT INTO t VALUES (63, 'c'); SAVEPOINT x; INSERT INTO m VALUES (3); ROLLBACK TO x; COMMIT"
    )
    lab.fails("INSERT INTO t VALUES (70, 'x'), (60, 'duplicate')", 1062)
    lab.sql(
        "CREATE TABLE p (id INT PRIMARY KEY); CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE)"
    )
    lab.sql("INSERT INTO p VALUES (1), (2); INSERT INTO c VALUES (1, 1), (2, 2); DELETE FROM p WHERE id = 1")
    lab.sql("UPDATE t, c SET t.s = 'multi', c.p = 2 WHERE t.a = 60")


@scenario("mariadb", binlog_alter_two_phase=1)
def ddl(lab: Lab) -> None:
    """DDL: ALTER in two phases, the kind that fails, sequences, packages, views, roles."""
    lab.sql(
        "SET binlog_alter_two_phase = ON; CREATE DATABASE d; USE d; CREATE TABLE t (a INT PRIMARY KEY, b INT)"
    )
    lab.sql(
        "INSERT INTO t VALUES (1, 1), (2, 1)",
        "ALTER TABLE t ADD COLUMN c INT, ALGORITHM=COPY",
        "ALTER TABLE t FORCE",
    )
    lab.fails("ALTER TABLE t ADD UNIQUE (b), ALGORITHM=COPY", 1062)
    lab.fails("ALTER TABLE t ADD UNIQUE (b)", 1062)
    lab.sql(
        "SET binlog_alter_two_phase = OFF; ALTER TABLE t ENGINE=MyISAM; CREATE OR REPLACE TABLE t (x INT)"
    )
    lab.sql(
        "CREATE SEQUENCE s START WITH 5 INCREMENT BY 3; ALTER SEQUENCE s RESTART 10; DO NEXT VALUE FOR s; DROP SEQUENCE s"
    )
    lab.sql(
        "CREATE DEFINER=root@localhost VIEW v AS SELECT 1 AS a; DROP VIEW v; CREATE ROLE r; GRANT SELECT ON d.* TO r; DROP ROLE r"
    )
    lab.sql(
        "SET sql_mode = ORACLE; CREATE PROCEDURE p AS BEGIN NULL; END; DROP PROCEDURE p; SET sql_mode = DEFAULT"
    )
    lab.sql(
        "CREATE TABLE sel SELECT 1 AS one; CREATE TABLE li LIKE t; RENAME TABLE sel TO sel2, li TO li2; DROP TABLE sel2, li2"
    )
    lab.sql(
        "SET binlog_format = ROW; CREATE TABLE ctas SELECT seq FROM seq_1_to_5; CREATE OR REPLACE TABLE ctas SELECT 7 AS a"
    )
    lab.sql(
        "TRUNCATE t; ANALYZE TABLE t; CREATE INDEX i ON t (x); DROP INDEX i ON t; ALTER DATABASE d CHARACTER SET latin1"
    )
    lab.sql(
        "CREATE FUNCTION f(a INT) RETURNS INT DETERMINISTIC RETURN a; CREATE EVENT e ON SCHEDULE EVERY 1 YEAR DISABLE DO SET @a = 1; DROP EVENT e"
    )


@scenario("mariadb")
def statements(lab: Lab) -> None:
    """STATEMENT and MIXED: variables, settings, LOAD DATA, temporary tables."""
    lab.sql("CREATE DATABASE d; USE d; SET binlog_format = STATEMENT")
    lab.sql("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v VARBINARY(400), n DOUBLE)")
    for name, value in USER_VARIABLES.items():
        lab.sql(f"SET @`{name}` = {value}", f"INSERT INTO t (v) VALUES (@`{name}`)")
    lab.sql("INSERT INTO t (n) VALUES (RAND()), (RAND())", "INSERT INTO t (v) SELECT LAST_INSERT_ID()")
    settings = [
        "SET sql_mode = ''",
        "SET sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES'",
        "SET sql_mode = DEFAULT",
        "SET NAMES latin1",
    ]
    settings += [
        "SET NAMES utf8mb4 COLLATE utf8mb4_bin",
        "SET time_zone = '+05:45'",
        "SET lc_time_names = 'de_DE'",
    ]
    settings += [
        "SET auto_increment_increment = 10, auto_increment_offset = 3",
        "SET foreign_key_checks = 0, unique_checks = 0",
    ]
    settings += [
        "SET collation_database = latin1_bin",
        "SET check_constraint_checks = 0",
        "SET sql_if_exists = 1",
    ]
    settings += [
        "SET system_versioning_insert_history = 1",
        "SET explicit_defaults_for_timestamp = 0",
        "SET NAMES DEFAULT",
    ]
    settings += [
        "SET character_set_collations = 'utf8mb4=uca1400_ai_ci'",
        "SET timestamp = 1000000000.654321",
        "SET sql_auto_is_null = 1",
    ]
    for n, setting in enumerate(settings):
        lab.sql(setting, f"INSERT INTO t (v) VALUES ('{n}'), (NOW(6))")
    lab.server.disconnect()
    lab.sql(
        "USE d; SET binlog_format = STATEMENT",
        "CREATE TEMPORARY TABLE tmp (a INT)",
        "INSERT INTO tmp VALUES (1)",
    )
    lab.sql(
        "INSERT INTO t (v) SELECT a FROM tmp", "DROP TABLE tmp", "CREATE TEMPORARY TABLE left_over (a INT)"
    )
    lab.server.disconnect()
    small, large = lab.server.folder / "small.csv", lab.server.folder / "large.csv"
    small.write_bytes(b"1,'one'\n2,'two'\n")
    large.write_bytes(b"".join(b"%d\t%s\n" % (n, b"text" * 30) for n in range(1000, 2400)))
    lab.sql(
        "USE d; SET binlog_format = STATEMENT; CREATE TABLE l (a INT PRIMARY KEY, b VARCHAR(200)) ENGINE=MyISAM"
    )
    lab.sql(
        f"LOAD DATA INFILE '{small}' INTO TABLE l FIELDS TERMINATED BY ',' ENCLOSED BY '''' (a, @b) SET b = CONCAT(@b, '!')"
    )
    lab.sql(f"LOAD DATA LOCAL INFILE '{large}' REPLACE INTO TABLE l")
    lab.fails(f"LOAD DATA INFILE '{small}' INTO TABLE l FIELDS TERMINATED BY ','", 1062)
    lab.sql(
        "SET binlog_format = MIXED",
        "INSERT INTO t (v) VALUES (UUID())",
        "BEGIN; INSERT INTO t (v) VALUES ('a'); UPDATE t SET v = UUID(); COMMIT",
    )
    lab.sql(
        "CREATE USER u; DROP USER u", "DELETE FROM t LIMIT 1", "INSERT INTO t (v) VALUES ('x') RETURNING id"
    )
