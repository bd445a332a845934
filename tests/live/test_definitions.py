"""``schema_from`` against real servers: the columns of a log without metadata, settled by what SHOW CREATE TABLE and a
dump say, are the columns of a log with FULL metadata of the same tables."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from gtidal.columns.charsets import COLLATIONS, charset_of_name
from gtidal.columns.definitions import default_collation, parse_definitions, settle_columns
from gtidal.columns.types import Column, make_columns
from gtidal.errors import ServerProblem
from gtidal.events.table_map import TableMap
from gtidal.sources.definitions import ServerDefinitions, read_definitions
from gtidal.sources.files import LogReader, find_logs
from tests.live.conftest import StartMariaDB, StartMySQL
from tests.live.servers import Server

CHARSETS = sorted({charset for charset, _ in COLLATIONS.values()} - {"binary"})

TABLES = {
    "integers": ", ".join(
        f"{kind}_s {kind}, {kind}_u {kind} UNSIGNED, {kind}_z {kind}(3) ZEROFILL NOT NULL"
        for kind in (
            "TINYINT",
            "SMALLINT",
            "MEDIUMINT",
            "INT",
            "BIGINT",
            "INT1",
            "INT2",
            "INT3",
            "INT4",
            "INT8",
        )
    )
    + ", m MIDDLEINT UNSIGNED, i INTEGER, b BOOL, b2 BOOLEAN NOT NULL, s SERIAL",
    "numbers": "f FLOAT, fu FLOAT UNSIGNED, f2 FLOAT(7,3), f24 FLOAT(24), f25 FLOAT(25), d DOUBLE, du DOUBLE UNSIGNED,"
    " dp DOUBLE PRECISION, d2 DOUBLE(20,5), r REAL, f4 FLOAT4, f8 FLOAT8 UNSIGNED, n DECIMAL, n5 NUMERIC(5),"
    " n52 DEC(5,2) UNSIGNED, n65 FIXED(65,30) ZEROFILL, n9 DECIMAL(9,9), y YEAR, b BIT, b8 BIT(8), b9 BIT(9),"
    " b64 BIT(64) NOT NULL",
    "times": "d DATE, t TIME, dt DATETIME, ts TIMESTAMP NULL, tn TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE"
    " CURRENT_TIMESTAMP, "
    + ", ".join(
        f"{kind}{n} {kind}({n}) NULL" for kind in ("TIME", "DATETIME", "TIMESTAMP") for n in range(1, 7)
    ),
    "strings": "c CHAR, c0 CHAR(0), c255 CHAR(255), b BINARY, b255 BINARY(255), v0 VARCHAR(0), v63 VARCHAR(63),"
    " v64 VARCHAR(64) NOT NULL, v3000 VARCHAR(3000), vb VARBINARY(300), nc NATIONAL CHAR(3), n2 NCHAR(4) NOT NULL,"
    " nv NVARCHAR(5), nv2 NATIONAL VARCHAR(6), nv3 NCHAR VARYING(7), cv CHAR VARYING(8), chv CHARACTER VARYING(9),"
    " cb CHAR(5) BYTE, ca CHAR(3) ASCII, cu CHAR(3) UNICODE, cbin CHAR(3) BINARY, vbin VARCHAR(3) BINARY"
    " CHARACTER SET latin1, vcb VARCHAR(5) CHARACTER SET binary, tcb TEXT CHARACTER SET binary,"
    " co CHAR(3) COLLATE utf8mb3_bin, utf VARCHAR(9) CHARACTER SET utf8mb3",
    "blobs": "tt TINYTEXT, t TEXT, mt MEDIUMTEXT, lt LONGTEXT, tb TINYBLOB, b BLOB, mb MEDIUMBLOB, lb LONGBLOB,"
    " t63 TEXT(63), t64 TEXT(64), t255 TEXT(255) CHARACTER SET latin1, t256 TEXT(256) CHARACTER SET latin1,"
    " t16383 TEXT(16383), t16384 TEXT(16384), b255 BLOB(255), b256 BLOB(256), b65536 BLOB(65536), b24 BLOB(16777216),"
    " lv LONG VARCHAR, lvb LONG VARBINARY, l LONG, lcv LONG CHAR VARYING",
    "labels": r"e ENUM('a','it''s','c,d','q\"q','n\nl','back\\\\slash','per\\%cent',')','(',';','*/','-- x','`'),"
    " l ENUM('a','b   ','ü','€') CHARACTER SET latin1, s SET('x','y') CHARACTER SET ucs2,"
    " b ENUM('é','b ') CHARACTER SET binary, j SET('漢','字','表','～') CHARACTER SET eucjpms,"
    " sj ENUM('表','ソ','ａ') CHARACTER SET sjis, g ENUM('ж','я') CHARACTER SET koi8r, k ENUM('한','글') CHARACTER SET"
    " euckr, u ENUM('ﬃ') CHARACTER SET utf16le, u3 SET('ж') CHARACTER SET utf32, h ENUM(x'61',0x62,'c'),"
    " e1 ENUM('', '0'), bg ENUM('中','文') CHARACTER SET big5"
    + "".join(f", s{n} SET({','.join(repr(f'm{i}') for i in range(n))})" for n in (8, 9, 16, 17, 25, 33, 64))
    + "".join(f", e{n} ENUM({','.join(repr(f'l{i}') for i in range(n))})" for n in (255, 256, 300)),
    "charsets": ", ".join(f"c_{each} CHAR(7) CHARACTER SET {each}" for each in CHARSETS if each != "gb18030"),
    "geometries": "g GEOMETRY, p POINT, l LINESTRING, y POLYGON, mp MULTIPOINT, ml MULTILINESTRING, my MULTIPOLYGON,"
    " gc GEOMETRYCOLLECTION, v VARCHAR(3), pn POINT NOT NULL",
    "json": "a VARCHAR(3), j JSON, b INT UNSIGNED, jn JSON NOT NULL",
    "generated": "a INT UNSIGNED, v INT UNSIGNED AS (a + 1) VIRTUAL, s INT GENERATED ALWAYS AS (a + 2) STORED UNIQUE,"
    " w VARCHAR(9) AS (concat('x,)', a)) COMMENT 'a, b) c', KEY (w), z DECIMAL(9,4) UNSIGNED",
    "odd `name": "`a``b` INT, `c d` INT UNSIGNED, `key` INT, `,` INT COMMENT 'it''s ) , `', `ü` INT, `check` INT,"
    " CONSTRAINT `x,y` CHECK ((`key` > 0) and (`c d` <> ')'))",
    "keyed": "a VARCHAR(100), b TEXT, c INT, d VARBINARY(9), PRIMARY KEY (c, a(10), b(5), d(4)), KEY (a(3)), UNIQUE (c)",
    "keyed_whole": "a VARCHAR(10), b INT AUTO_INCREMENT, PRIMARY KEY (b, a(10))",
    "keyed_inline": "x INT, a INT NOT NULL PRIMARY KEY COMMENT 'KEY', b INT UNIQUE KEY",
    "unique_nulls": "a INT NOT NULL, b INT, UNIQUE KEY x (b), UNIQUE KEY y (a)",
    "unique_prefix": "a INT NOT NULL, b VARCHAR(20) NOT NULL, UNIQUE KEY x (b(5)), UNIQUE KEY y (a, b)",
    "unique_first": "a INT NOT NULL, b INT NOT NULL, UNIQUE KEY z (b), UNIQUE KEY y (a)",
    "hash_asked": "a INT NOT NULL, UNIQUE (a) USING HASH",
    "no_key": "a INT, b INT, KEY (a), UNIQUE (b)",
    "defaults": "a INT DEFAULT -1, b VARCHAR(30) DEFAULT 'NOT NULL, UNSIGNED', c BIT(3) DEFAULT b'101', d BIGINT UNSIGNED"
    " DEFAULT 18446744073709551615, e TIMESTAMP(3) NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),"
    " f DOUBLE DEFAULT -1.5e-3, g VARCHAR(40) DEFAULT (uuid()), h INT DEFAULT (1 + (2)), i CHAR(3) DEFAULT ''",
    "invisible": "a INT INVISIBLE, b INT UNSIGNED, c VARCHAR(9) INVISIBLE DEFAULT 'INVISIBLE'",
}
OPTIONS = {
    "no_key": "COMMENT='a ; CHARSET=latin1' PARTITION BY RANGE (b) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1"
    " VALUES LESS THAN MAXVALUE)",
    "strings": "DEFAULT CHARSET=latin1",
    "labels": "CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    "blobs": "CHARSET=utf8mb4",
    "defaults": "CHARSET=binary",
}
MYSQL_TABLES = {
    "binary_labels": "e ENUM(x'ff','ü',x'00',x'e97a') CHARACTER SET binary, s SET('a ','b') CHARACTER SET binary",
    "gb18030": "a CHAR(3) CHARACTER SET gb18030, e ENUM('㐀','ḿ') CHARACTER SET gb18030",
    "vectors": "a VARCHAR(3), v VECTOR(3), w VECTOR, b VARCHAR(4) CHARACTER SET latin1",
    "functional": "a INT PRIMARY KEY, b VARCHAR(20), j JSON, KEY k ((lower(b))), KEY m ((CAST(j->'$.x' AS UNSIGNED"
    " ARRAY))), UNIQUE KEY n ((a + 1), a)",
    "unique_virtual": "a INT NOT NULL, b INT AS (a + 1) VIRTUAL NOT NULL, c INT AS (a + 2) STORED NOT NULL,"
    " UNIQUE KEY z (b), UNIQUE y (c)",
    "unique_only_virtual": "a INT NOT NULL, b INT AS (a + 1) VIRTUAL NOT NULL, UNIQUE KEY z (b)",
    "references": "a INT PRIMARY KEY, b INT, g GEOMETRY NOT NULL SRID 4326, SPATIAL INDEX (g), FULLTEXT INDEX f (t),"
    " t TEXT, FOREIGN KEY (b) REFERENCES `references` (a) ON DELETE SET NULL, x INT CHECK (x > 0) NOT ENFORCED",
}
MARIADB_TABLES = {
    "compressed": "a VARCHAR(300) COMPRESSED CHARACTER SET latin1, b LONGTEXT COMPRESSED, c VARBINARY(20) COMPRESSED,"
    " d BLOB COMPRESSED=zlib, e VARCHAR(10) COMPRESSED",
    "own_types": "u UUID, i6 INET6, i4 INET4 NOT NULL, v VECTOR(3) NOT NULL, VECTOR INDEX (v)",
    "versioned": "a INT PRIMARY KEY, b VARCHAR(3)",
    "versioned_columns": "a INT, b VARCHAR(3) NOT NULL, s TIMESTAMP(6) GENERATED ALWAYS AS ROW START, e TIMESTAMP(6)"
    " GENERATED ALWAYS AS ROW END INVISIBLE, PERIOD FOR SYSTEM_TIME (s, e), UNIQUE (b)",
    "hashed": "a INT, b TEXT UNIQUE, c BLOB NOT NULL, UNIQUE (c), d INT NOT NULL, UNIQUE (d)",
    "period": "a INT, s DATE, e DATE, PERIOD FOR p (s, e), PRIMARY KEY (a, p WITHOUT OVERLAPS)",
    "collated": "a VARCHAR(3) CHARACTER SET utf8mb4 COLLATE uca1400_swedish_nopad_as_cs, b CHAR(2) COLLATE"
    " latin1_swedish_nopad_ci, c ENUM('č') CHARACTER SET utf8mb3 COLLATE utf8mb3_croatian_ci,"
    " d TEXT COLLATE utf8mb4_croatian_mysql561_ci",
    "persistent": "a INT, b INT AS (a + 1) PERSISTENT, c INT AS (a + 2) VIRTUAL",
}
MARIADB_OPTIONS = {
    "versioned": "WITH SYSTEM VERSIONING",
    "versioned_columns": "WITH SYSTEM VERSIONING",
}
# Some columns have no default.
VALUES = {
    "geometries": "(pn) VALUES (POINT(1, 2))",
    "json": "(jn) VALUES ('{}')",
    "references": "(g) VALUES (ST_GeomFromText('POINT(1 2)', 4326))",
    "period": "VALUES (1, '2000-01-01', '2001-01-01')",
    "own_types": "(v) VALUES (VEC_FromText('[1,2,3]'))",
}


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


class Made:
    """Tables on a server, each with one row logged with FULL metadata and one with less."""

    def __init__(self, server: Server, tables: dict[str, str], options: dict[str, str], less: str) -> None:
        self.server = server
        server.execute("CREATE DATABASE IF NOT EXISTS shop; USE shop; SET sql_mode = ''")
        for name, columns in tables.items():
            server.execute(f"CREATE TABLE {quoted(name)} ({columns}) {options.get(name, '')}")
        self.written = {
            name: f"CREATE TABLE {quoted(name)} ({tables[name]}) {options.get(name, '')}" for name in tables
        }
        self.full = self._logged(tables, "FULL")
        self.less = self._logged(tables, less)
        self.shown = {name: server.query(f"SHOW CREATE TABLE {quoted(name)}")[0][1] for name in tables}

    def _logged(self, tables: Iterable[str], metadata: str) -> dict[str, TableMap]:
        self.server.execute(f"SET GLOBAL binlog_row_metadata = {metadata}")
        self.server.flush()
        for name in tables:
            self.server.execute(f"INSERT INTO {quoted(name)} {VALUES.get(name, '() VALUES ()')}")
            self.server.execute(f"DELETE FROM {quoted(name)}")
        found = table_maps(self.server.binlogs()[-1])
        assert set(found) == set(tables)
        return found

    def dump(self) -> str:
        """What the server's own tool prints, with a trigger, a view and the rows' statements in it."""
        self.server.execute(
            [
                "CREATE TRIGGER tr BEFORE INSERT ON no_key FOR EACH ROW BEGIN SET NEW.a = 1; SET NEW.b = 2; END",
                "CREATE VIEW v AS SELECT a FROM no_key",
                "CREATE TABLE filled (a INT PRIMARY KEY, b VARCHAR(99))",
                r"INSERT INTO filled VALUES (1, 'a; CREATE TABLE y (\'a INT)'), (2, '/*!50000 ;'), (3, '-- `')",
            ]
        )
        options = ["--no-defaults", "--user=root", "--databases", "shop", f"--socket={self.server.socket}"]
        options += ["--skip-ssl"] if self.server.name == "mariadb" else []
        done = subprocess.run([*dump_program(self.server), *options], capture_output=True, check=False)
        assert not done.returncode, done.stderr.decode()
        return done.stdout.decode()


def dump_program(server: Server) -> list[str]:
    """The dump program that was fetched with the server, or lies beside it; the wrapper of the server shows how
    its programs are run."""
    name = "mysqldump" if server.name == "mysql" else "mariadb-dump"
    folder = server.binaries.server.parent
    if (folder / name).exists():
        return [str(folder / name)]
    libraries = folder.parent / "root" / "usr" / "lib" / "x86_64-linux-gnu"
    loader = libraries / "ld-linux-x86-64.so.2"
    return [str(loader), "--library-path", str(libraries), str(folder.parent / "root" / "usr" / "bin" / name)]


def table_maps(log: Path) -> dict[str, TableMap]:
    found: dict[str, TableMap] = {}
    [file] = find_logs(log)
    with LogReader(file) as reader:
        for frame in reader.frames():
            event = reader.decoder.decode(frame)
            if isinstance(event, TableMap):
                found[event.table] = event
    return found


def bare(table: TableMap) -> tuple[Column, ...]:
    """As a server of old would have logged it."""
    assert table.metadata is not None
    assert table.null_bitmap is not None
    return make_columns(table.types, table.metadata, table.null_bitmap)


def settled(made: Made, table: TableMap, columns: tuple[Column, ...], script: str) -> tuple[Column, ...]:
    definition = parse_definitions(script, "shop")["shop", table.table]
    return settle_columns(
        columns, definition, table.table, mariadb=table.mariadb, generated_key=bool(table.flags & 4)
    )


def expected(table: TableMap, visible: dict[str, bool]) -> tuple[Column, ...]:
    """The columns that FULL metadata tells. MariaDB does not log visibility; information_schema tells it."""
    if not table.mariadb:
        return table.columns
    return tuple(replace(column, visible=visible.get(str(column.name), False)) for column in table.columns)


def visibility(server: Server, table: str) -> dict[str, bool]:
    rows = server.query(
        "SELECT column_name, extra FROM information_schema.columns WHERE table_schema = 'shop' AND table_name = %s",
        table,
    )
    return {name: "INVISIBLE" not in extra for name, extra in rows}


def check(made: Made) -> None:
    dump = made.dump()
    from_dump = parse_definitions(dump)
    assert {name for name in from_dump if name != ("shop", "v")} == {
        ("shop", name) for name in [*made.shown, "filled"]
    }
    for name, full in made.full.items():
        wanted = expected(full, visibility(made.server, name))
        less = made.less[name]
        assert all(column.name is None for column in less.columns)
        shown = made.shown[name]
        assert settled(made, less, less.columns, shown) == wanted, name
        assert settled(made, less, bare(full), shown) == wanted, name
        assert settled(made, full, full.columns, shown) == wanted, name
        assert settled(made, less, bare(full), dump) == wanted, name
        check_written(made, name, wanted)


def check_written(made: Made, name: str, wanted: tuple[Column, ...]) -> None:
    """The statement as a person wrote it leaves defaults to the server, which the script says first. Collations
    are the server's choice, so only the charset must be the same."""
    script = f"CREATE DATABASE shop CHARACTER SET utf8mb4; USE shop; {made.written[name]}"
    found = settled(made, made.less[name], bare(made.full[name]), script)
    assert [without_collation(column) for column in found] == [
        without_collation(column) for column in wanted
    ], name


def without_collation(column: Column) -> tuple[Column, str | None]:
    charset = None if column.charset is None else COLLATIONS[column.charset][0]
    return replace(column, charset=None), charset


@pytest.fixture(scope="module")
def mysql_tables(mysql: Server) -> Made:
    return Made(mysql, TABLES | MYSQL_TABLES, OPTIONS, "MINIMAL")


def test_mysql(mysql_tables: Made) -> None:
    check(mysql_tables)


def test_default_collations(mysql_tables: Made) -> None:
    defaults = dict(
        mysql_tables.server.query(
            "SELECT character_set_name, id FROM information_schema.collations WHERE is_default = 'Yes'"
        )
    )
    assert defaults.pop("utf8mb4") == 255
    assert {name: default_collation(charset_of_name(name)) for name in defaults} == defaults


def test_mariadb(start_mariadb: StartMariaDB) -> None:
    server = start_mariadb("--binlog-format=ROW", "--system-versioning-alter-history=KEEP")
    check(Made(server, TABLES | MARIADB_TABLES, OPTIONS | MARIADB_OPTIONS, "NO_LOG"))


# Labels in ASCII: CONVERT TO leaves the bytes of others as they are, in both servers.
ALTERED = [
    "CREATE TABLE shop.changing (a INT UNSIGNED, b VARCHAR(9), c INT, d TEXT, e INT, t TINYTEXT, t63 TEXT(63),"
    " t3 TEXT CHARACTER SET utf8mb3, t2 TEXT CHARACTER SET ucs2, t4 TEXT CHARACTER SET utf8mb4, m MEDIUMTEXT, bl BLOB,"
    " PRIMARY KEY (a)) CHARSET=latin1"
    " COLLATE=latin1_bin",
    "ALTER TABLE shop.changing ADD COLUMN f BIGINT UNSIGNED NOT NULL AFTER a, ADD g CHAR(3) FIRST,"
    " ADD (h INT, i ENUM('x','y')), DROP c, ADD KEY (b), COMMENT 'a, DROP d'",
    "ALTER TABLE shop.changing MODIFY COLUMN h DECIMAL(7,3) UNSIGNED AFTER f, CHANGE a aa MEDIUMINT UNSIGNED NOT NULL,"
    " ADD COLUMN v INT AS (aa + 1) VIRTUAL",
    "ALTER TABLE shop.changing CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci",
    "ALTER TABLE shop.changing DROP PRIMARY KEY, ADD UNIQUE INDEX u (f), RENAME COLUMN e TO ee,"
    " ADD COLUMN j VARCHAR(4) CHARACTER SET cp1251",
    "ALTER TABLE shop.changing DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_bin",
    "ALTER TABLE shop.changing ADD COLUMN k VARCHAR(4), ADD COLUMN l BLOB FIRST, DROP COLUMN b",
    "ALTER TABLE shop.changing CONVERT TO CHARACTER SET latin2",
    "RENAME TABLE shop.changing TO shop.nearly",
    "ALTER TABLE shop.nearly RENAME TO shop.changed",
]


@pytest.mark.parametrize("kind", ["mysql", "mariadb"])
def test_alter(kind: str, request: pytest.FixtureRequest) -> None:
    """A migration script gives the table that the server makes of it, after each of its steps."""
    server: Server = request.getfixturevalue(kind)
    server.execute("CREATE DATABASE IF NOT EXISTS shop")
    server.execute("SET GLOBAL binlog_row_metadata = FULL")
    if kind == "mariadb":
        server.execute("SET SESSION binlog_format = ROW")
    for count, statement in enumerate(ALTERED, 1):
        server.execute(statement)
        [((schema, name), definition)] = parse_definitions(";".join(ALTERED[:count])).items()
        server.flush()
        server.execute(
            f"DELETE FROM {schema}.{name}; SET sql_mode = ''; INSERT INTO {schema}.{name} () VALUES ()"
        )
        full = table_maps(server.binlogs()[-1])[name]
        wanted = expected(full, dict.fromkeys([str(column.name) for column in full.columns], True))
        found = settle_columns(bare(full), definition, name, mariadb=full.mariadb)
        # The script leaves some collations to the server.
        assert [without_collation(column) for column in found] == [
            without_collation(column) for column in wanted
        ], statement


def test_generated_key(start_mysql: StartMySQL) -> None:
    """MySQL's own invisible key is in the log whether SHOW CREATE TABLE shows it or not."""
    server = start_mysql("--sql-generate-invisible-primary-key=ON")
    made = Made(server, {"t": "a INT UNSIGNED, b VARCHAR(3)"}, {}, "MINIMAL")
    assert "my_row_id" in made.shown["t"]
    full, less = made.full["t"], made.less["t"]
    assert settled(made, less, bare(full), made.shown["t"]) == full.columns
    server.execute("SET show_gipk_in_create_table_and_information_schema = OFF")
    [(_, shown)] = server.query("SHOW CREATE TABLE shop.t")
    assert "my_row_id" not in shown
    assert settled(made, less, bare(full), shown) == full.columns


def test_server_as_source(mysql_tables: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    server = mysql_tables.server
    monkeypatch.delenv("MYSQL_PWD", raising=False)
    definitions = read_definitions(f"mysql://root@127.0.0.1:{server.port}/")
    assert isinstance(definitions, ServerDefinitions)
    try:
        for name in ("labels", "odd `name", "charsets", "keyed"):
            full = mysql_tables.full[name]
            definition = definitions.get("shop", name)
            assert definition is not None
            assert settle_columns(bare(full), definition, name) == full.columns
        assert definitions.get("shop", "nothing") is None
        assert definitions.get("nowhere", "nothing") is None
        server.execute("CREATE VIEW shop.view AS SELECT 1 AS a")
        assert definitions.get("shop", "view") is None
    finally:
        definitions.close()


def test_server_password(mysql_tables: Made, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    server = mysql_tables.server
    server.execute("CREATE USER reader IDENTIFIED BY 'pass#1'; GRANT SELECT ON shop.* TO reader")
    url = f"mysql://reader@127.0.0.1:{server.port}/"
    monkeypatch.setenv("MYSQL_PWD", "wrong")
    with pytest.raises(ServerProblem, match="Access denied"):
        read_definitions(url).get("shop", "keyed")
    monkeypatch.setenv("MYSQL_PWD", "pass#1")
    assert read_definitions(url).get("shop", "keyed") is not None
    monkeypatch.delenv("MYSQL_PWD")
    options = tmp_path / "my.cnf"
    options.write_text("[client]\npassword = 'pass#1'\n")
    assert read_definitions(f"{url}?option_file={options}").get("shop", "keyed") is not None
    with pytest.raises(ServerProblem, match="denied"):
        read_definitions(f"{url}?option_file={options}").get("mysql", "user")


def test_no_server() -> None:
    with pytest.raises(ServerProblem, match=r"127\.0\.0\.1:1"):
        read_definitions("mysql://root@127.0.0.1:1/").get("shop", "t")
