"""JSON documents of every kind, and the updates that are logged as differences."""

from __future__ import annotations

import json

from tests.live.scenarios import Lab, scenario

GTID = ("--gtid-mode=ON", "--enforce-gtid-consistency=ON")

TEXTS = [
    "null",
    "true",
    "false",
    "0",
    "-1",
    "1",
    "32767",
    "-32768",
    "32768",
    "65535",
    "65536",
    "-32769",
    "2147483647",
    "-2147483648",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1.5",
    "-0.0",
    "0.1",
    "1e308",
    "5e-324",
    "1e20",
    "123456789.123456789",
    '""',
    '"text"',
    '"Grüße 世界 🌊"',
    '"\\u0000 \\u001f \\" \\\\ \\/ \\b \\f \\n \\r \\t"',
    "[]",
    "{}",
    "[[[[]]]]",
    '{"a": {"b": {"c": {}}}}',
    '[1, "two", 3.5, null, true, false, [], {}, -4]',
    '{"b": 1, "a": 2, "aa": 3, "": 4, "é": 5, "a b": 6, "\\"q\\"": 7}',
    '{"dup": 1, "dup": 2}',
    "[2147483647, 4294967295, 32768, 65535, -32769]",
]

VALUES = [
    "CAST(1.5 AS JSON)",
    "CAST(CAST(-12345.678 AS DECIMAL(10,3)) AS JSON)",
    "CAST(CAST(0 AS DECIMAL(1,0)) AS JSON)",
    "CAST(99999999999999999999999999999999999.999999999999999999999999999999 AS JSON)",
    "CAST(DATE'2024-02-29' AS JSON)",
    "CAST(DATE'0001-01-01' AS JSON)",
    "CAST(TIME'-838:59:59' AS JSON)",
    "CAST(TIME'12:34:56.789' AS JSON)",
    "CAST(TIME'-00:00:00.000001' AS JSON)",
    "CAST(TIMESTAMP'2024-02-29 12:34:56.789012' AS JSON)",
    "CAST(CAST('9999-12-31 23:59:59' AS DATETIME) AS JSON)",
    "CAST(NOW(6) AS JSON)",
    "JSON_OBJECT('stamp', (SELECT ts FROM d.odd), 'year', (SELECT y FROM d.odd), 'bit', (SELECT b FROM d.odd))",
    "JSON_OBJECT('enum', (SELECT e FROM d.odd), 'set', (SELECT s FROM d.odd), 'float', (SELECT f FROM d.odd))",
    "JSON_ARRAY((SELECT c FROM d.odd), (SELECT v FROM d.odd), (SELECT bl FROM d.odd), (SELECT tb FROM d.odd))",
    "JSON_ARRAY((SELECT vb FROM d.odd), (SELECT bi FROM d.odd), (SELECT lb FROM d.odd), (SELECT mb FROM d.odd))",
    "JSON_ARRAY(x'CAFE', b'101', 0xFF, _binary 'bytes', CAST('x' AS BINARY(3)))",
    "CAST(ST_GeomFromText('POINT(1 2)') AS JSON)",
    "JSON_ARRAY(ST_GeomFromText('LINESTRING(0 0, 1 1)'))",
    "JSON_ARRAY(1.10, 2.50, 1e0, TRUE, NULL, CAST(7 AS UNSIGNED), CAST(-7 AS SIGNED))",
    "JSON_OBJECT('d', DATE'2024-01-01', 'n', 1.00, 't', TIME'01:02:03', 'dt', TIMESTAMP'2024-01-01 00:00:00')",
    "CAST(CAST(x'00FF' AS BINARY) AS JSON)",
]


def nested(depth: int) -> str:
    return "[" * depth + "1" + "]" * depth


def nested_objects(depth: int) -> str:
    return '{"k": ' * depth + "1" + "}" * depth


@scenario("mysql", *GTID, binlog_row_metadata="FULL")
def json_values(lab: Lab) -> None:
    """Every JSON type, every opaque type, large and deep documents, long keys."""
    lab.sql(
        "CREATE DATABASE d; SET sql_mode = ''",
        "CREATE TABLE d.docs (id INT PRIMARY KEY AUTO_INCREMENT, j JSON)",
    )
    lab.sql(
        "CREATE TABLE d.odd (ts TIMESTAMP(6), y YEAR, b BIT(12), e ENUM('x','y'), s SET('p','q'), f FLOAT, c CHAR(3),"
        " v VARCHAR(9), bl BLOB, tb TINYBLOB, vb VARBINARY(9), bi BINARY(4), lb LONGBLOB, mb MEDIUMBLOB)",
        "INSERT INTO d.odd VALUES ('2024-02-29 12:34:56.789012', 2024, b'101010101010', 'y', 'p,q', 1.25, 'abc',"
        " 'var', 'blob', x'00FF', x'DEADBEEF', 'bi', 'long', 'medium')",
    )
    for text in TEXTS:
        with lab.server.connection.cursor() as cursor:
            cursor.execute("INSERT INTO d.docs (j) VALUES (%s)", (text,))
    for value in VALUES:
        lab.optional(f"INSERT INTO d.docs (j) VALUES ({value})")
    lab.sql("INSERT INTO d.docs (j) VALUES (NULL)")
    big: list[object] = [
        {"key" + "k" * length: length for length in (1, 124, 125, 128, 300, 65530)},
        {f"member {n}": [n, str(n), n * 70000, None] for n in range(3000)},
        list(range(30000)),
        ["s" * length for length in (0, 1, 127, 128, 129, 16383, 16384, 70000)],
        {"small": 1, "big": "x" * 70000, "after": [2147483647, 65536, -70000, 1.5, True, None]},
        {"edge": "y" * 65490},
        {"edge": "y" * 65520, "more": [1, 2, 3]},
    ]
    for document in big:
        lab.sql(f"INSERT INTO d.docs (j) VALUES ('{json.dumps(document)}')")
    for text in (nested(99), nested_objects(99), nested_objects(50)):
        lab.sql(f"INSERT INTO d.docs (j) VALUES ('{text}')")
    lab.fails(f"INSERT INTO d.docs (j) VALUES ('{nested(101)}')", 3157)
    # A JSON column that is NOT NULL and gets nothing holds an empty value.
    lab.sql(
        "CREATE TABLE d.empty (id INT PRIMARY KEY, j JSON NOT NULL)",
        "INSERT IGNORE INTO d.empty (id) VALUES (1)",
    )
    lab.optional("INSERT IGNORE INTO d.empty VALUES (2, NULL), (3, '1')")
    lab.optional("INSERT INTO d.empty (id) VALUES (4)")
    lab.keep("d.docs", "d.empty")


@scenario("mysql", *GTID, binlog_row_metadata="FULL")
def json_partial(lab: Lab) -> None:
    """PARTIAL_JSON: replace, insert, remove, several documents, no change at all, documents with holes."""
    lab.sql("CREATE DATABASE d; SET binlog_row_value_options = 'PARTIAL_JSON'; SET sql_mode = ''")
    lab.sql(
        "CREATE TABLE d.p (id INT PRIMARY KEY, a JSON, n INT, b JSON, t VARCHAR(20), c JSON)",
        "INSERT INTO d.p VALUES"
        """ (1, '{"name": "first", "list": [1, 2, 3], "deep": {"x": {"y": "long enough to shrink"}}}', 1,"""
        """ '[10, 20, 30, 40, 50]', 'one', '{"only": "here"}'),"""
        """ (2, '{"name": "second", "list": ["a", "b"], "deep": {"x": {"y": 2}}, "a b": 1, "q\\\\"q": 2}', 2,"""
        """ '["x", {"k": [1, 2]}]', 'two', NULL),"""
        """ (3, '{}', 3, '[]', 'three', '"scalar"'),"""
        """ (4, '{"big": 12345678901, "pad": "................................................"}', 4, '[1]', 'four', '5')""",
    )
    updates = [
        "a = JSON_SET(a, '$.name', 'fi')",
        "a = JSON_SET(a, '$.new', CAST('[1, {\"z\": null}]' AS JSON))",
        "a = JSON_REPLACE(a, '$.deep.x.y', 'short')",
        "a = JSON_REPLACE(a, '$.absent', 1)",
        "a = JSON_REMOVE(a, '$.list[1]')",
        "a = JSON_REMOVE(a, '$.deep'), b = JSON_SET(b, '$[0]', 'changed')",
        "b = JSON_ARRAY_INSERT(b, '$[1]', 'inserted')",
        "b = JSON_ARRAY_APPEND(b, '$', 'appended')",
        "b = JSON_SET(b, '$[99]', 'at the end')",
        "b = JSON_SET(b, '$[0]', 1.5, '$[1]', DATE'2024-02-29', '$[2]', x'FF')",
        "a = JSON_SET(a, '$.name', 1), n = n + 1, t = CONCAT(t, '!')",
        'a = JSON_SET(a, \'$."a b"\', 2, \'$."q\\\\"q"\', 3)',
        "c = JSON_SET(c, '$.only', 'there')",
        "n = n * 10",
        "a = a",
        "a = JSON_SET(a, '$', CAST('{\"whole\": true}' AS JSON))",
        "a = '{\"not\": \"partial\"}', b = JSON_SET(b, '$[0]', 0)",
        "a = NULL, b = JSON_REMOVE(b, '$[0]')",
        "a = '{\"back\": 1}'",
        "a = JSON_SET(a, '$.back', 2, '$.back', 3, '$.other', 4)",
        "a = JSON_REMOVE(a, '$.back')",
        "a = JSON_MERGE_PATCH(a, '{\"m\": 1}')",
    ]
    for image in ("FULL", "MINIMAL", "NOBLOB"):
        lab.sql(f"SET binlog_row_image = {image}")
        for update in updates:
            lab.sql(f"UPDATE d.p SET {update}")
        lab.sql(
            f'UPDATE d.p SET n = id, a = \'{{"name": "{image}", "list": [1, 2], "deep": {{"x": {{}}}}}}\''
        )
    lab.sql("SET binlog_row_image = FULL")
    # Holes: shrink in place many times, then log the whole document.
    lab.sql("UPDATE d.p SET a = JSON_OBJECT('k', REPEAT('a', 100), 'l', REPEAT('b', 100)) WHERE id = 1")
    for size in (50, 40, 3, 0):
        lab.sql(f"UPDATE d.p SET a = JSON_SET(a, '$.k', REPEAT('c', {size})) WHERE id = 1")
    lab.sql("SET binlog_row_value_options = ''", "UPDATE d.p SET n = 77 WHERE id = 1")
    lab.sql("UPDATE d.p SET a = JSON_REMOVE(a, '$.l')", "DELETE FROM d.p WHERE id = 2")
    lab.sql(
        "CREATE TABLE d.one (j JSON, id INT PRIMARY KEY)",
        "INSERT INTO d.one VALUES ('[1, 2]', 1), ('[3]', 2)",
    )
    lab.sql("SET binlog_row_value_options = 'PARTIAL_JSON', binlog_row_image = MINIMAL")
    lab.sql(
        "UPDATE d.one SET j = JSON_SET(j, '$[0]', 'x')",
        "UPDATE d.one SET j = JSON_REMOVE(j, '$[0]') WHERE id = 2",
    )
    # Nine JSON columns: the partial bits need two bytes.
    lab.sql(f"CREATE TABLE d.nine (id INT PRIMARY KEY, {', '.join(f'j{n} JSON' for n in range(9))})")
    lab.sql(f"INSERT INTO d.nine VALUES (1, {', '.join([repr('[0, 0, 0, 0, 0, 0, 0, 0]')] * 9)})")
    lab.sql("UPDATE d.nine SET j8 = JSON_SET(j8, '$[0]', 8), j3 = JSON_SET(j3, '$[0]', 3), j5 = NULL")
    lab.sql("SET binlog_row_image = FULL")
    lab.sql("UPDATE d.nine SET j8 = JSON_SET(j8, '$[1]', 8), j0 = JSON_REMOVE(j0, '$[0]')")
    lab.keep("d.p", "d.one", "d.nine")


@scenario("mysql", *GTID, binlog_row_metadata="MINIMAL")
def json_partial_compressed(lab: Lab) -> None:
    """JSON differences inside compressed transactions, with the statements beside them."""
    lab.sql(
        "CREATE DATABASE d; SET binlog_row_value_options = 'PARTIAL_JSON', binlog_rows_query_log_events = ON"
    )
    lab.sql("SET binlog_transaction_compression = ON")
    lab.sql("CREATE TABLE d.q (id INT PRIMARY KEY, j JSON)")
    lab.sql(
        "INSERT INTO d.q SELECT n, JSON_OBJECT('n', n, 'pad', REPEAT('p', 60)) FROM (SELECT 1 AS n UNION SELECT 2) x"
    )
    lab.sql(
        "UPDATE d.q SET j = JSON_SET(j, '$.n', id * 2)",
        "UPDATE d.q SET j = JSON_REMOVE(j, '$.pad') WHERE id = 2",
    )
    lab.keep("d.q")


@scenario("mysql", *GTID, binlog_row_metadata="FULL")
def json_indexed(lab: Lab) -> None:
    """Functional and multi-valued indexes, generated columns out of JSON."""
    lab.sql("CREATE DATABASE d")
    lab.sql(
        "CREATE TABLE d.i (id INT PRIMARY KEY, j JSON, v INT AS (j->'$.v') VIRTUAL, s VARCHAR(9) AS (j->>'$.s') STORED,"
        " INDEX ((CAST(j->'$.tags' AS UNSIGNED ARRAY))), INDEX ((CAST(j->'$.words' AS CHAR(10) ARRAY))),"
        " INDEX ((v + 1)), INDEX ((LOWER(s))), z INT)"
    )
    lab.sql(
        """INSERT INTO d.i (id, j, z) VALUES (1, '{"v": 1, "s": "One", "tags": [1, 2, 3], "words": ["a", "b"]}', 5),"""
        """ (2, '{"v": 2, "s": "Two", "tags": []}', 6), (3, NULL, 7)"""
    )
    lab.sql("UPDATE d.i SET j = JSON_SET(j, '$.v', 9, '$.tags[0]', 42)", "SET binlog_row_image = MINIMAL")
    lab.sql("UPDATE d.i SET z = z + 1", "DELETE FROM d.i WHERE id = 2")
    lab.keep("d.i")
