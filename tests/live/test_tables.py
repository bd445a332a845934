"""``gtidal.tables`` against the servers' own information_schema: types, charsets, keys, NULLs, rows."""

from __future__ import annotations

import re

from gtidal.log.tables import Table, column_title, sql_type
from gtidal.sources.tables import tables
from tests.live.conftest import StartMariaDB, StartMySQL
from tests.live.servers import Server

COLUMNS = """
    id INT UNSIGNED NOT NULL, t TINYINT, tu TINYINT UNSIGNED, s SMALLINT, m MEDIUMINT UNSIGNED NOT NULL, b BIGINT,
    bu BIGINT UNSIGNED, f FLOAT, d DOUBLE, p DECIMAL(10,2), pu DECIMAL(65,30) UNSIGNED, y YEAR, da DATE, ti TIME(3),
    dt DATETIME(6), d0 DATETIME NOT NULL, ts TIMESTAMP(2) NULL, bi BIT(10), c CHAR(5) CHARACTER SET latin1,
    c4 CHAR(255) CHARACTER SET utf8mb4, bn BINARY(16), v VARCHAR(64) CHARACTER SET utf8mb4,
    v2 VARCHAR(20) CHARACTER SET ucs2, vb VARBINARY(300), tt TINYTEXT, tx TEXT CHARACTER SET sjis, mt MEDIUMTEXT,
    lt LONGTEXT, tb TINYBLOB, bl BLOB, mb MEDIUMBLOB, lb LONGBLOB, e ENUM('a','it''s','c,d') CHARACTER SET latin1,
    st SET('x','y') CHARACTER SET utf8mb4, g GEOMETRY, po POINT, gc GEOMETRYCOLLECTION,
    g2 VARCHAR(7) CHARACTER SET cp1251
"""


def from_schema(server: Server, name: str) -> list[tuple[str, str, bool]]:
    """Name, type as ``sql_type`` says it, and whether it may be NULL."""
    rows = server.query(
        "SELECT column_name, column_type, character_set_name, is_nullable FROM information_schema.columns"
        " WHERE table_schema = 'shop' AND table_name = %s ORDER BY ordinal_position",
        name,
    )
    return [(row[0], spelt(row[1], row[2]), row[3] == "YES") for row in rows]


def spelt(column_type: str, charset: str | None) -> str:
    """A COLUMN_TYPE as SQL statements spell it, without display widths, which mean nothing."""
    word, rest = re.fullmatch(r"(\w+)(.*)", column_type, re.DOTALL).groups()  # type: ignore[union-attr]
    word = word.upper()
    if word.endswith("INT") or word == "YEAR":
        rest = re.sub(r"^\(\d+\)", "", rest)
    if word == "GEOMCOLLECTION":
        word = "GEOMETRYCOLLECTION"
    if word not in ("ENUM", "SET"):
        rest = rest.upper()
    return f"{word}{rest}{f' {charset}' if charset else ''}"


def only_table(server: Server, name: str) -> Table:
    server.flush()
    found = [table for table in tables(server.binlogs()) if table.title == f"shop.{name}"]
    assert len(found) == 1
    return found[0]


def told(table: Table) -> list[tuple[str, str, bool]]:
    return [(column_title(column), sql_type(column), column.nullable) for column in table.columns]


def fill(server: Server) -> None:
    server.execute(
        [
            "CREATE DATABASE shop",
            f"CREATE TABLE shop.everything ({COLUMNS}, PRIMARY KEY (v(10), id))",
            "INSERT INTO shop.everything (id, m, d0, v) VALUES (1, 1, '2020-01-01', 'a'), (2, 2, '2020-01-01', 'b')",
            "UPDATE shop.everything SET t = 1",
            "ALTER TABLE shop.everything ADD added JSON",
            "DELETE FROM shop.everything WHERE id = 1",
        ]
    )


def check(server: Server) -> None:
    fill(server)
    table = only_table(server, "everything")
    assert told(table) == from_schema(server, "everything")
    assert table.key == ("v(10)", "id")
    assert (table.rows_inserted, table.rows_updated, table.rows_deleted) == (2, 2, 1)
    assert [len(version.columns) for version in table.versions] == [38, 39]


def test_mysql(start_mysql: StartMySQL) -> None:
    server = start_mysql("--binlog-row-metadata=FULL")
    check(server)
    server.execute(
        [
            "CREATE TABLE shop.more (v VECTOR(3), j JSON, i INT INVISIBLE, n VARCHAR(3))",
            "INSERT INTO shop.more (j) VALUES ('{}')",
        ]
    )
    table = only_table(server, "more")
    assert told(table) == from_schema(server, "more")
    assert table.key == ()
    assert [column.visible for column in table.columns] == [True, True, False, True]


def test_mysql_generated_key(start_mysql: StartMySQL) -> None:
    server = start_mysql("--sql-generate-invisible-primary-key=ON")
    server.execute(["CREATE DATABASE shop", "CREATE TABLE shop.t (a INT)", "INSERT INTO shop.t VALUES (1)"])
    assert only_table(server, "t").key == ("my_row_id",)


def test_mariadb(start_mariadb: StartMariaDB) -> None:
    server = start_mariadb("--binlog-row-metadata=FULL", "--binlog-format=ROW")
    check(server)
    server.execute(
        [
            "CREATE TABLE shop.places (g GEOMETRY, a VARCHAR(9) CHARACTER SET latin1,"
            " b VARCHAR(9) CHARACTER SET utf8mb4, c VARCHAR(9) CHARACTER SET utf8mb4,"
            " d VARCHAR(9) CHARACTER SET utf8mb4)",
            "INSERT INTO shop.places (a) VALUES ('x')",
        ]
    )
    assert told(only_table(server, "places")) == from_schema(server, "places")
