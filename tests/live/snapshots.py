"""What the server's own SELECT says about a table, in a form that needs no server to be compared.

    {"key": ["id"],
     "columns": [{"name": "id", "type": "int", "full_type": "int unsigned", "charset": null,
                  "scale": 0, "fsp": null}, …],
     "rows": [["1", …], …]}

Every value is NULL (null) or text:

    numbers, dates, times, JSON      as the server prints them (TIMESTAMP in UTC; FLOAT as the exact double)
    BIT                              the number
    ENUM, SET                        the number, a slash, and the label or labels in UTF-8 in hex
    text, binary, GEOMETRY, VECTOR   the stored bytes in hex
    text                             the stored bytes, a slash, and the text in UTF-8, both in hex
"""

from __future__ import annotations

from typing import Any

from tests.live.servers import Server

BYTES = {
    *("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "vector"),
    *("geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon"),
    *("geomcollection", "geometrycollection"),
}
TEXTS = {"char", "varchar", "tinytext", "text", "mediumtext", "longtext"}

COLUMNS = """
SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, CHARACTER_SET_NAME, COLLATION_NAME, NUMERIC_SCALE, DATETIME_PRECISION
FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s ORDER BY ORDINAL_POSITION
"""
KEY = """
SELECT COLUMN_NAME FROM information_schema.STATISTICS
WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s AND INDEX_NAME = 'PRIMARY' ORDER BY SEQ_IN_INDEX
"""


def expression(name: str, kind: str) -> str:
    column = f"`{name}`"
    if kind == "bit":
        return f"CAST({column} AS UNSIGNED)"
    if kind in ("enum", "set"):
        return f"CONCAT(CAST({column} AS UNSIGNED), '/', HEX(CONVERT({column} USING utf8mb4)))"
    if kind in BYTES:
        return f"HEX({column})"
    if kind in TEXTS:
        return f"CONCAT(HEX({column}), '/', HEX(CONVERT({column} USING utf8mb4)))"
    if kind in ("inet4", "inet6", "uuid"):
        return f"HEX(CAST({column} AS BINARY({4 if kind == 'inet4' else 16})))"
    if kind == "float":
        return f"CAST(CAST({column} AS DOUBLE) AS CHAR)"
    return f"CAST({column} AS CHAR)"


def snapshot(server: Server, table: str) -> dict[str, Any]:
    schema, name = table.split(".")
    connection = server.connect()
    try:
        with connection.cursor() as cursor:

            def rows(sql: str, *arguments: str) -> list[tuple[Any, ...]]:
                cursor.execute(sql, arguments or None)
                return list(cursor.fetchall())

            cursor.execute("SET time_zone = '+00:00', sql_mode = ''")
            columns = rows(COLUMNS, schema, name)
            key = [str(column) for (column,) in rows(KEY, schema, name)]
            wanted = ", ".join(expression(str(column[0]), str(column[1])) for column in columns)
            found = rows(f"SELECT {wanted} FROM `{schema}`.`{name}`")
    finally:
        connection.close()
    words = ("name", "type", "full_type", "charset", "collation", "scale", "fsp")
    return {
        "key": key,
        "columns": [dict(zip(words, column, strict=True)) for column in columns],
        "rows": [[value_text(value) for value in row] for row in found],
    }


def value_text(value: Any) -> str | None:
    if isinstance(value, bytes):
        return value.decode()
    return None if value is None else str(value)
