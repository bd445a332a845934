"""Definitions from SQL and mappings, and what they do to a table map's columns. Real servers judge the same in
``tests/live/test_definitions.py``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gtidal.columns.charsets import collation_name, decode_text
from gtidal.columns.definitions import (
    ColumnDefinition,
    KeyPart,
    TableDefinition,
    definitions_from,
    fully_told,
    parse_definitions,
    settle_columns,
    with_charset,
)
from gtidal.columns.settling import encode_label
from gtidal.columns.types import Column, make_columns
from gtidal.errors import UsageError


def one(script: str) -> TableDefinition:
    [definition] = parse_definitions(script).values()
    return definition


def columns_of(script: str) -> dict[str, ColumnDefinition]:
    return {column.name: column for column in one(script).columns}


def declared(text: str) -> ColumnDefinition:
    return columns_of(f"CREATE TABLE t (c {text}) CHARSET=utf8mb4 COLLATE=utf8mb4_bin")["c"]


# --- scripts ----------------------------------------------------------------------------------------------

DUMP = r"""
/*M!999999\- enable the sandbox mode */
-- it's a "comment; CREATE TABLE no (a INT);
# CREATE TABLE no (a INT);
/* CREATE TABLE no (a INT); */
/*!40101 SET NAMES utf8mb4 */;
CREATE DATABASE /*!32312 IF NOT EXISTS*/ `shop` /*!40100 DEFAULT CHARACTER SET latin2 */ /*!80016 DEFAULT ENCRYPTION='N' */;

USE `shop`;
DROP TABLE IF EXISTS `orders`;
CREATE TABLE `orders` (
  `id` int(10) unsigned NOT NULL AUTO_INCREMENT COMMENT 'a, b) /* not a comment */ it''s',
  `note` varchar(20) DEFAULT 'x;y', -- the note
  `e` enum('a','b;','c''d','e\'f','g\\h') /*!50100 CHARACTER SET latin1 */ DEFAULT NULL,
  `total` decimal(8,3) DEFAULT '-1.500',
  PRIMARY KEY (`id`),
  KEY `n` (`note`(3)) /*!80000 INVISIBLE */,
  CONSTRAINT `f` FOREIGN KEY (`note`) REFERENCES `x` (`y`) ON DELETE SET NULL,
  CONSTRAINT `c` CHECK (`id` in (1,2,(3)))
) ENGINE=InnoDB AUTO_INCREMENT=5 DEFAULT CHARSET=cp1250 COMMENT='CHARSET=latin1; )'
/*!50100 PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (5) ENGINE = InnoDB) */;
INSERT INTO `orders` VALUES (1,'a;CREATE TABLE no (\'a INT)','`'),(2,'\\',"x;");
DELIMITER ;;
/*!50003 CREATE*/ /*!50017 DEFINER=`a`@`b`*/ /*!50003 TRIGGER t BEFORE INSERT ON orders FOR EACH ROW BEGIN
  DROP TABLE orders; SET NEW.id = 1; END */;;
DELIMITER ;
CREATE TABLE other.things (a text);
create table `plain` (a text)
"""


def test_dump() -> None:
    found = parse_definitions(DUMP)
    assert set(found) == {("shop", "orders"), ("other", "things"), ("shop", "plain")}
    orders = found["shop", "orders"]
    assert [column.name for column in orders.columns] == ["id", "note", "e", "total"]
    identity, note, e, total = orders.columns
    assert (identity.type, identity.unsigned, identity.nullable) == ("INT", True, False)
    assert (note.type, note.length, note.charset) == ("VARCHAR", 20, "cp1250")
    assert (e.charset, e.labels) == ("latin1", ("a", "b;", "c'd", "e'f", "g\\h"))
    assert (total.length, total.digits) == (8, 3)
    assert orders.key == (KeyPart("id"),)
    assert found["shop", "plain"].columns[0].charset == "latin2"  # the database's
    assert found["other", "things"].columns[0].charset is None


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (
            "CREATE TABLE a (x INT);\n\nCREATE TABLE t (\n a INT,\n b FROB\n)",
            r"line 5: column b: no type is called FROB",
        ),
        ("\nCREATE TABLE t (a VARCHAR)", r"line 2: column a: VARCHAR needs a length"),
        ("CREATE TABLE t (a INT", r"line 1: \) is expected, and the end"),
        ("CREATE TABLE t (a ENUM('x', b))", r"line 1: a label is expected, and 'b'"),
        ("CREATE TABLE t\n(a INT COMMENT 'x)", r"line 2: a quotation that does not end"),
        ("CREATE TABLE t (a INT DEFAULT (1)", r"line 1"),
        ("CREATE TABLE t (a INT DEFAULT (1", r"line 1: a parenthesis that does not end"),
        ("CREATE TABLE t LIKE u", r"line 1: CREATE TABLE t LIKE"),
        ("CREATE TABLE t AS SELECT 1", r"line 1: CREATE TABLE t without columns"),
        ("CREATE TABLE t (a INT) SELECT 1 AS b", r"line 1: CREATE TABLE … SELECT"),
        ("CREATE TABLE t (a INT) ENGINE=InnoDB (SELECT 1 AS b)", r"line 1: CREATE TABLE … SELECT"),
        ("CREATE TABLE t (KEY (a))", r"without columns"),
        ("CREATE TABLE t (a CHAR(1) CHARACTER SET klingon)", r"line 1: no charset is called 'klingon'"),
        ("CREATE TABLE t (a CHAR(1) COLLATE klingon_ci)", r"line 1: no collation is called 'klingon_ci'"),
        ("CREATE TABLE t (a INT(x))", r"line 1: a number is expected, and 'x'"),
        ("CREATE TABLE t (a INT);\nALTER TABLE t\nDROP b", r"line 3: table t has no column b"),
    ],
)
def test_problems(script: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_definitions(script)


@given(st.integers(0, len(DUMP)), st.integers(0, len(DUMP)), st.text("`'\"(),;*/!-#\\ \n0aé", max_size=4))
def test_damaged_scripts(cut: int, place: int, text: str) -> None:
    """Whatever a script is, nothing but a UsageError comes of it."""
    script = DUMP[:place] + text + DUMP[place + len(text) :]
    for damaged in (script, script[:cut], script[cut:]):
        try:
            parse_definitions(damaged)
        except UsageError as error:
            assert error.message.startswith("line ")


def test_statements_that_follow() -> None:
    found = parse_definitions(
        """
        CREATE TABLE a (x INT, y VARCHAR(3) CHARACTER SET latin1 UNIQUE, z INT, PRIMARY KEY (x)) CHARSET=utf8mb4;
        CREATE TABLE IF NOT EXISTS a (other INT);
        CREATE TABLE copy LIKE a;
        ALTER TABLE a ADD COLUMN w TINYINT UNSIGNED AFTER x, ADD (p INT, q TEXT), DROP COLUMN z,
          MODIFY x BIGINT FIRST, CHANGE y why VARCHAR(5) AFTER q, RENAME COLUMN w TO double_u, ENGINE=InnoDB;
        ALTER TABLE a CONVERT TO CHARACTER SET cp1251, DROP PRIMARY KEY, ADD PRIMARY KEY (why(2), x);
        ALTER TABLE a ALTER COLUMN p SET INVISIBLE, ADD CONSTRAINT u UNIQUE (p), ALTER p DROP DEFAULT;
        /*!40000 ALTER TABLE `unknown` DISABLE KEYS */;
        CREATE TABLE gone (x INT); CREATE TABLE kept (x INT);
        DROP TABLE gone, copy; RENAME TABLE kept TO s.renamed; ALTER TABLE a RENAME TO b;
        CREATE TEMPORARY TABLE passing (x INT); CREATE VIEW v AS SELECT 1; CREATE OR REPLACE TABLE r (i INT)
        """
    )
    assert set(found) == {(None, "b"), ("s", "renamed"), (None, "r")}
    table = found[None, "b"]
    assert [(column.name, column.type, column.charset, column.visible) for column in table.columns] == [
        ("x", "BIGINT", None, True),
        ("double_u", "TINYINT", None, True),
        ("p", "INT", None, False),
        ("q", "BLOB", "cp1251", True),
        ("why", "VARCHAR", "cp1251", True),
    ]
    assert table.key == (KeyPart("why", 2), KeyPart("x"))
    assert {key.parts for key in table.keys if not key.primary} == {(KeyPart("why"),), (KeyPart("p"),)}


def test_unique_index() -> None:
    table = one(
        "CREATE TABLE t (a INT, b INT); CREATE UNIQUE INDEX u USING BTREE ON t (b DESC, a); CREATE INDEX i ON t (a)"
    )
    assert [(key.name, key.parts, key.unique) for key in table.keys] == [
        ("u", (KeyPart("b"), KeyPart("a")), True)
    ]


OLD_DUMP = """
-- MySQL dump 10.11
/*!40000 DROP DATABASE IF EXISTS `old`*/;
CREATE DATABASE /*!32312 IF NOT EXISTS*/ `old` /*!40100 DEFAULT CHARACTER SET latin1 */;
USE `old`;
SET @saved_cs_client     = @@character_set_client;
CREATE TABLE `t` (
  `id` int(11) NOT NULL auto_increment,
  `at` timestamp NOT NULL default CURRENT_TIMESTAMP on update CURRENT_TIMESTAMP,
  `d` datetime NOT NULL default '0000-00-00 00:00:00',
  `s` varchar(255) character set utf8 collate utf8_unicode_ci default NULL,
  `b` varchar(5) character set latin1 collate latin1_bin NOT NULL default '',
  `u` mediumint(8) unsigned zerofill default NULL,
  PRIMARY KEY  USING BTREE (`id`,`s`(10)),
  UNIQUE KEY `b` TYPE BTREE (`b`),
  FULLTEXT KEY `s` (`s`) WITH PARSER ngram COMMENT 'x, (y'
) TYPE=MyISAM MAX_ROWS=5 UNION=(`a`,`b`) COMMENT='it''s';
/*!50001 DROP VIEW IF EXISTS `v`*/;
/*!50001 CREATE TABLE `v` (
  `a` tinyint NOT NULL,
  `b` tinyint NOT NULL
) ENGINE=MyISAM */;
/*!50001 DROP TABLE IF EXISTS `v`*/;
/*!50001 CREATE ALGORITHM=UNDEFINED */
/*!50013 DEFINER=`root`@`localhost` SQL SECURITY DEFINER */
/*!50001 VIEW `v` AS select 1 AS `a` */;
"""


def test_dump_of_an_old_server() -> None:
    [((schema, name), table)] = parse_definitions(OLD_DUMP).items()
    assert (schema, name) == ("old", "t")
    assert [(column.name, column.type, column.charset, column.collation) for column in table.columns] == [
        ("id", "INT", None, None),
        ("at", "TIMESTAMP", None, None),
        ("d", "DATETIME", None, None),
        ("s", "VARCHAR", "utf8mb3", "utf8mb3_unicode_ci"),
        ("b", "VARCHAR", "latin1", "latin1_bin"),
        ("u", "MEDIUMINT", None, None),
    ]
    assert table.columns[5].unsigned
    assert table.key == (KeyPart("id"), KeyPart("s", 10))
    assert [key.parts for key in table.keys if not key.primary] == [(KeyPart("b"),)]


def test_names_and_quotes() -> None:
    table = one(
        'CREATE TABLE `a``b`.`c.d` ("x""y" INT, `key` INT, 1st INT, ünit INT, period INT, vector INT)'
    )
    assert (table.schema, table.table) == ("a`b", "c.d")
    assert [column.name for column in table.columns] == ['x"y', "key", "1st", "ünit", "period", "vector"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("INT(11)", {"type": "INT", "unsigned": False, "length": None}),
        ("INT(5) ZEROFILL", {"type": "INT", "unsigned": True}),
        ("SERIAL", {"type": "BIGINT", "unsigned": True, "nullable": False}),
        ("BOOL", {"type": "TINYINT", "unsigned": False}),
        ("YEAR(4)", {"type": "YEAR", "unsigned": True}),
        ("FLOAT(24)", {"type": "FLOAT"}),
        ("FLOAT(25)", {"type": "DOUBLE"}),
        ("FLOAT(30,2)", {"type": "FLOAT"}),
        ("NUMERIC", {"type": "DECIMAL", "length": 10, "digits": 0}),
        ("DEC(7)", {"type": "DECIMAL", "length": 7, "digits": 0}),
        ("BIT", {"type": "BIT", "length": 1, "unsigned": None}),
        ("DATETIME(3) NULL DEFAULT NOW(3) ON UPDATE NOW(3)", {"type": "DATETIME", "digits": 3}),
        ("CHAR", {"type": "CHAR", "length": 1, "charset": "utf8mb4", "collation": "utf8mb4_bin"}),
        ("CHAR(3) ASCII", {"charset": "latin1", "collation": None}),
        ("CHAR(3) UNICODE", {"charset": "ucs2"}),
        ("CHAR(3) CHARACTER SET koi8r BINARY", {"charset": "koi8r", "collation": "koi8r_bin"}),
        ("CHAR(3) COLLATE latin1_german2_ci", {"charset": "latin1", "collation": "latin1_german2_ci"}),
        ("VARCHAR(3) CHARSET utf8 COLLATE utf8_bin", {"charset": "utf8mb3", "collation": "utf8mb3_bin"}),
        ("NATIONAL CHAR VARYING(6)", {"type": "VARCHAR", "length": 6, "charset": "utf8mb3"}),
        ("NVARCHAR(6)", {"type": "VARCHAR", "charset": "utf8mb3"}),
        ("BINARY(16)", {"type": "CHAR", "length": 16, "charset": "binary"}),
        ("VARBINARY(16)", {"type": "VARCHAR", "length": 16, "charset": "binary"}),
        ("LONG VARBINARY", {"type": "BLOB", "size": 3, "charset": "binary"}),
        ("LONG", {"type": "BLOB", "size": 3, "charset": "utf8mb4"}),
        ("LONGTEXT", {"type": "BLOB", "size": 4, "charset": "utf8mb4"}),
        ("TEXT(63)", {"type": "BLOB", "size": 1}),
        ("TEXT(64)", {"type": "BLOB", "size": 2}),
        ("BLOB(65536)", {"type": "BLOB", "size": 3}),
        ("ENUM('a ', x'62', \"c\"\"d\")", {"type": "ENUM", "labels": ("a", b"b", 'c"d')}),
        ("SET('a ') CHARACTER SET binary", {"labels": ("a ",), "charset": "binary"}),
        ("GEOMCOLLECTION SRID 4326", {"type": "GEOMETRY", "geometry_type": 7}),
        ("VECTOR", {"type": "VECTOR", "length": 2048}),
        ("INT DEFAULT NULL /*!80023 INVISIBLE */", {"visible": False}),
        ("INT GENERATED ALWAYS AS (1 + (2)) VIRTUAL", {"virtual": True}),
        ("INT AS (1) PERSISTENT", {"virtual": False}),
        ("VARCHAR(9) /*M!100301 COMPRESSED*/ DEFAULT NULL", {"compressed": True}),
        ("INT DEFAULT -1 UNSIGNED", {"unsigned": True}),
        ("VARCHAR(9) DEFAULT _utf8mb4'UNSIGNED' NOT NULL", {"nullable": False}),
        ("INT REFERENCES d.x (y) ON DELETE SET NULL ON UPDATE CASCADE NOT NULL", {"nullable": False}),
    ],
)
def test_column(text: str, wanted: dict[str, Any]) -> None:
    column = declared(text)
    assert {name: getattr(column, name) for name in wanted} == wanted


def test_system_versioning() -> None:
    table = one(
        "CREATE TABLE t (a INT PRIMARY KEY) WITH SYSTEM VERSIONING PARTITION BY SYSTEM_TIME (PARTITION p)"
    )
    assert [(column.name, column.type, column.digits) for column in table.columns[1:]] == [
        ("row_start", "TIMESTAMP", 6),
        ("row_end", "TIMESTAMP", 6),
    ]
    assert table.key == (KeyPart("a"), KeyPart("row_end"))


# --- mappings ---------------------------------------------------------------------------------------------


def test_mapping() -> None:
    definitions = definitions_from(
        {
            "shop.a": "CREATE TABLE whatever (x INT UNSIGNED)",
            "shop.b": {"id": "BIGINT UNSIGNED PRIMARY KEY", "n": None, "t": "TEXT CHARACTER SET latin1"},
            "c": ["p", "q r"],
        }
    )
    assert definitions.get("shop", "a") == TableDefinition(
        "shop", "a", (ColumnDefinition("x", "INT", unsigned=True),)
    )
    b = definitions.get("shop", "b")
    assert b is not None
    assert [(column.name, column.type, column.charset) for column in b.columns] == [
        ("id", "BIGINT", None),
        ("n", None, None),
        ("t", "BLOB", "latin1"),
    ]
    assert b.key == (KeyPart("id"),)
    anywhere = definitions.get("any", "c")
    assert anywhere is not None
    assert [column.name for column in anywhere.columns] == ["p", "q r"]
    assert definitions.get("other", "a") is None


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a.b": "SELECT 1"}, r"a\.b: one CREATE TABLE"),
        ({"a.b": []}, "no columns"),
        ({"a.b": ["x", "X"]}, "column X is there twice"),
        ({"a.b": [1]}, "names and types are text"),
        ({"a.b": {"x": "INT, y INT"}}, r"column x: ',' is not understood"),
        ({"a.b": {"x": "INT; y"}}, r"column x: ';' is not understood"),
        ({"a.b": {"x": ""}}, "the type of column x"),
        ({"a.b": 5}, "not int"),
        ({"": ["x"]}, "names of tables"),
        (7, "not int"),
    ],
)
def test_wrong_mappings(value: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        definitions_from(value)


# --- settling ---------------------------------------------------------------------------------------------

# INT NOT NULL, VARCHAR(30 bytes), ENUM of one byte, DECIMAL(10,2), DATETIME(3), BLOB with two length bytes
TYPES = bytes((3, 15, 254, 246, 18, 252))
METADATA = bytes((30, 0, 247, 1, 10, 2, 3, 2))
LOGGED = make_columns(TYPES, METADATA, b"\x3e")
SCRIPT = """CREATE TABLE t (id INT UNSIGNED NOT NULL, v VARCHAR(10) CHARACTER SET utf8mb3, e ENUM('ä','b') CHARACTER SET
latin1, d DECIMAL(10,2), at DATETIME(3), x TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin INVISIBLE, UNIQUE (id))"""


def settle(script: str, columns: tuple[Column, ...] = LOGGED, **more: bool) -> tuple[Column, ...]:
    return settle_columns(columns, one(script), "shop.t", **more)


def test_settle() -> None:
    identity, v, e, d, at, x = settle(SCRIPT)
    assert identity == replace(
        LOGGED[0], name="id", unsigned=True, visible=True, key_position=0, key_prefix=0
    )
    assert identity.read(b"\xff\xff\xff\xff", 0, 4) == (4294967295, 4)
    assert v == replace(LOGGED[1], name="v", charset=33, visible=True)
    assert e == replace(LOGGED[2], name="e", charset=8, labels=(b"\xe4", b"b"), visible=True)
    assert e.python(1) == "ä"
    assert d == replace(LOGGED[3], name="d", unsigned=False, visible=True)
    assert at == replace(LOGGED[4], name="at", visible=True)
    assert x == replace(LOGGED[5], name="x", charset=46, visible=False)
    assert not fully_told(LOGGED)
    assert fully_told(settle(SCRIPT))
    assert settle(SCRIPT, settle(SCRIPT)) == settle(SCRIPT)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (", x TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin INVISIBLE", "", "6 columns in the log and 5 in its definition"),
        ("id INT", "id BIGINT", "shop.t: column 1, id: the log has INT, the definition BIGINT"),
        ("VARCHAR(10)", "VARCHAR(11)", r"VARCHAR of 30 bytes, the definition VARCHAR\(11\) CHARACTER SET utf8mb3"),
        ("utf8mb3", "utf8mb4", r"column 2, v: the log has VARCHAR of 30 bytes"),
        ("ENUM", "SET", r"column 3, e: the log has ENUM of 1 bytes, the definition SET with 2 labels"),
        ("DECIMAL(10,2)", "DECIMAL(10,3)", r"DECIMAL\(10,2\), the definition DECIMAL\(10,3\)"),
        ("DATETIME(3)", "DATETIME", r"DATETIME\(3\), the definition DATETIME:"),
        ("DATETIME(3)", "TIMESTAMP(3)", r"DATETIME\(3\), the definition TIMESTAMP\(3\)"),
        ("x TEXT", "x MEDIUMTEXT", "BLOB or TEXT, the definition MEDIUMTEXT"),
        ("'ä'", "'€ж'", "shop.t: column e: the label '€ж' has 'ж', which latin1 does not"),
        ("UNIQUE (id)", "PRIMARY KEY (nothing)", "shop.t has a primary key on a column it does not have"),
    ],
)  # fmt: skip
def test_contradicting_types(old: str, new: str, message: str) -> None:
    assert old in SCRIPT
    with pytest.raises(UsageError, match=message):
        settle(SCRIPT.replace(old, new))


@pytest.mark.parametrize(
    ("index", "told", "message"),
    [
        (0, {"unsigned": False}, "id: the log has unsigned: False, the definition unsigned: True"),
        (0, {"name": "key"}, "the log has the name key, the definition the name id"),
        (2, {"labels": (b"\xe4", b"c")}, "column 3, e: the log has the labels"),
        (5, {"charset": 8}, "column 6, x: the log has collation 8, the definition collation 46"),
        (5, {"visible": True}, "visible: True"),
        (
            3,
            {"key_position": 0, "key_prefix": 0},
            r"shop\.t: the log has the key \(d\), the definition \(id\)",
        ),
    ],
)
def test_contradicting_log(index: int, told: dict[str, Any], message: str) -> None:
    columns = (*LOGGED[:index], replace(LOGGED[index], **told), *LOGGED[index + 1 :])
    with pytest.raises(UsageError, match=message):
        settle(SCRIPT, columns)


def test_the_log_wins() -> None:
    columns = (replace(LOGGED[0], name="ID"), *LOGGED[1:5], replace(LOGGED[5], charset=255))
    settled = settle(SCRIPT, columns)
    assert settled[0].name == "ID"
    assert settled[5].charset == 255  # another collation of the same charset
    emoji = replace(LOGGED[2], labels=("😀".encode(), b"b"), charset=45)
    script = SCRIPT.replace("'ä'", "'?'").replace("latin1", "utf8mb4")
    assert settle(script, (*LOGGED[:2], emoji, *LOGGED[3:]))[2].labels == emoji.labels


def test_names_only() -> None:
    definition = definitions_from({"t": ["a", "b", "c", "d", "e", "f"]}).get("x", "t")
    assert definition is not None
    settled = settle_columns(LOGGED, definition, "x.t")
    assert settled == tuple(replace(column, name=name) for column, name in zip(LOGGED, "abcdef", strict=True))


def test_unknown_charset() -> None:
    """A charset that nobody tells stays unknown; labels are text all the same."""
    script = SCRIPT.replace(" CHARACTER SET utf8mb3", "").replace("CHARACTER SET\nlatin1", "")
    settled = settle(script)
    assert settled[1].charset is None
    assert settled[2].python(1) == "ä"
    with pytest.raises(UsageError, match="VARCHAR of 30 bytes"):
        settle(script.replace("VARCHAR(10)", "VARCHAR(9)"))
    assert with_charset(settled, "latin1")[1].charset == 8


def test_hidden_columns() -> None:
    """A table map of MySQL 8.0.13 has the hidden columns of functional indexes behind the others."""
    script = "CREATE TABLE t (a INT, KEY k ((a + 1)), KEY ((a + 2), a, (a + 3)))"
    settled = settle(script, make_columns(bytes((3, 8, 8, 8)), b"", b"\x0f"))
    assert [column.name for column in settled] == [
        "a", "!hidden!k!0!0", "!hidden!functional_index!0!0", "!hidden!functional_index!2!0",
    ]  # fmt: skip
    assert [column.visible for column in settled] == [True, False, False, False]
    with pytest.raises(UsageError, match="3 columns in the log"):
        settle(script, make_columns(bytes((3, 8, 8)), b"", b"\x07"))


def test_generated_key() -> None:
    columns = make_columns(bytes((8, 3)), b"", b"\x02")
    with pytest.raises(UsageError, match="2 columns in the log"):
        settle("CREATE TABLE t (a INT)", columns)
    settled = settle("CREATE TABLE t (a INT)", columns, generated_key=True)
    assert (settled[0].name, settled[0].unsigned, settled[0].key_position) == ("my_row_id", True, 0)
    assert (settled[1].name, settled[1].key_position) == ("a", None)


def test_old_servers() -> None:
    """Types without fractions, and table maps without metadata."""
    script = "CREATE TABLE t (a TIME, b DATETIME, c TIMESTAMP, d VARCHAR(9) CHARSET utf8mb3, e DECIMAL(5,2), f TEXT)"
    settled = settle(script, make_columns(bytes((11, 12, 7, 15, 246, 252)), b"", b"\x3f"))
    assert [column.name for column in settled] == list("abcdef")
    with pytest.raises(UsageError, match=r"column 1, a: the log has TIME, the definition TIME\(3\)"):
        settle(
            script.replace("a TIME", "a TIME(3)"),
            make_columns(bytes((11, 12, 7, 15, 246, 252)), b"", b"\x3f"),
        )


def test_names_of_two_servers() -> None:
    """MySQL and MariaDB give one name to two Croatian collations."""
    script = "CREATE TABLE t (a VARCHAR(1) COLLATE utf8mb4_croatian_ci)"
    columns = make_columns(bytes((15,)), b"\x04\x00", b"\x01")
    assert settle(script, columns)[0].charset == 245
    assert settle(script, columns, mariadb=True)[0].charset == 608
    assert collation_name(608, mariadb=True) == "utf8mb4_croatian_ci"


@pytest.mark.parametrize(
    ("text", "charset", "data"),
    [
        ("é€", "latin1", b"\xe9\x80"),
        ("ж", "koi8r", b"\xd6"),
        ("表", "sjis", b"\x95\x5c"),
        ("～", "eucjpms", b"\xa1\xc1"),
        ("ḿ", "gb18030", b"\xa8\xbc"),
        ("x", "ucs2", b"\x00x"),
        ("😀", "utf16le", b"\x3d\xd8\x00\xde"),
        ("\udce9", "binary", b"\xe9"),
    ],
)
def test_labels_in_charsets(text: str, charset: str, data: bytes) -> None:
    assert encode_label(text, charset) == data


def test_with_charset() -> None:
    columns = with_charset((*LOGGED, replace(LOGGED[1], charset=63)), "UTF8MB4")
    assert [column.charset for column in columns] == [None, 45, None, None, None, 45, 63]
    assert decode_text("ü€".encode(), columns[1].charset) == "ü€"
    with pytest.raises(UsageError, match="klingon"):
        with_charset(LOGGED, "klingon")
