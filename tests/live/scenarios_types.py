"""Every column type of MySQL with its extreme values, NULL and zero dates."""

from __future__ import annotations

from collections.abc import Iterable

from tests.live.scenarios import Lab, scenario

ANONYMOUS = ("--gtid-mode=OFF", "--enforce-gtid-consistency=OFF")

GTID = ("--gtid-mode=ON", "--enforce-gtid-consistency=ON")

INTEGERS = {"TINYINT": 8, "SMALLINT": 16, "MEDIUMINT": 24, "INT": 32, "BIGINT": 64}
DECIMALS = (
    "1,0",
    "1,1",
    "4,2",
    "5,5",
    "9,0",
    "9,9",
    "10,0",
    "18,9",
    "19,10",
    "30,30",
    "38,12",
    "65,0",
    "65,30",
)


def values(rows: Iterable[Iterable[str]]) -> str:
    return ", ".join(f"({', '.join(row)})" for row in rows)


@scenario("mysql", *GTID, binlog_row_metadata="FULL")
def types_integers(lab: Lab) -> None:
    """Minimum, maximum, 0, ±1, NULL of each integer type; YEAR; updates that cross the sign."""
    columns, low, high, one, minus = [], [], [], [], []
    for name, bits in INTEGERS.items():
        columns += [f"{name.lower()}_s {name}", f"{name.lower()}_u {name} UNSIGNED"]
        low += [str(-(1 << bits - 1)), "0"]
        high += [str((1 << bits - 1) - 1), str((1 << bits) - 1)]
        one += ["1", "1"]
        minus += ["-1", str(1 << bits - 1)]
    columns += ["z INT ZEROFILL", "y YEAR", "b BOOL", "s SERIAL"]
    lab.sql(
        "CREATE DATABASE d; SET sql_mode = ''",
        f"CREATE TABLE d.integers (id INT PRIMARY KEY, {', '.join(columns)})",
    )
    width = 2 * len(INTEGERS)
    rows = [
        ["1", *low, "0", "0", "0", "1"],
        ["2", *high, "4294967295", "2155", "1", "18446744073709551614"],
        ["3", *one, "1", "1901", "127", "3"],
        ["4", *minus, "42", "1970", "-128", "4"],
        ["5", *["NULL"] * width, "NULL", "NULL", "NULL", "5"],
        ["6", *["0"] * width, "0", "2000", "FALSE", "6"],
        ["-7", *["12"] * width, "7", "69", "TRUE", "7"],
    ]
    lab.sql(f"INSERT INTO d.integers VALUES {values(rows)}")
    lab.sql(
        "UPDATE d.integers SET tinyint_s = -tinyint_s - 1, bigint_u = bigint_u ^ 1, y = y + 1 WHERE id < 5"
    )
    lab.sql("DELETE FROM d.integers WHERE id = 6")
    lab.keep("d.integers")


@scenario("mysql", *GTID, binlog_row_metadata="MINIMAL")
def types_numbers(lab: Lab) -> None:
    """FLOAT, DOUBLE and DECIMAL of all sizes."""
    columns = [f"d_{each.replace(',', '_')} DECIMAL({each})" for each in DECIMALS]
    lab.sql("CREATE DATABASE d; SET sql_mode = ''")
    lab.sql(
        "CREATE TABLE d.floats (id INT PRIMARY KEY, f FLOAT, g DOUBLE, fu FLOAT UNSIGNED, gu DOUBLE UNSIGNED,"
        " f2 FLOAT(7,3), g2 DOUBLE(20,5), f53 FLOAT(53))",
        f"CREATE TABLE d.decimals (id INT PRIMARY KEY, {', '.join(columns)}, u DECIMAL(20,4) UNSIGNED)",
    )
    floats = ["0", "-0e0", "1", "-1", "0.1", "3.402823466e38", "-3.402823466e38", "1.175494351e-38", "1e-45"]
    floats += [
        "3.14159265358979",
        "1e10",
        "123456.789",
        "16777217",
        "1e15",
        "1e-5",
        "0.00001234",
        "1234567.5",
    ]
    doubles = ["1.7976931348623157e308", "-1.7976931348623157e308", "2.2250738585072014e-308", "4.9e-324"]
    doubles += ["1e15", "1e16", "1e17", "123456789012345678", "0.3", "1e-7", "100", "1e100", "12345678.9"]
    rows = [[str(n), *[each] * 7] for n, each in enumerate(floats, 1)]
    rows += [
        [str(n), "NULL", each, "NULL", each, "NULL", "NULL", each] for n, each in enumerate(doubles, 100)
    ]
    rows += [["200", *["NULL"] * 7]]
    lab.sql(f"INSERT INTO d.floats VALUES {values(rows)}")

    def largest(each: str) -> str:
        digits, scale = map(int, each.split(","))
        whole = "9" * (digits - scale) or "0"
        return f"{whole}.{'9' * scale}" if scale else whole

    def counting(each: str) -> str:
        digits, scale = map(int, each.split(","))
        text = ("1234567890" * 7)[:digits]
        return f"{text[: digits - scale] or '0'}.{text[digits - scale :]}" if scale else text

    big, count = [largest(each) for each in DECIMALS], [counting(each) for each in DECIMALS]
    rows = [["1", *big, "9999999999999999.9999"], ["2", *[f"-{each}" for each in big], "0"]]
    rows += [["3", *count, "1.5"], ["4", *[f"-{each}" for each in count], "0.0001"]]
    rows += [
        ["5", *["0"] * len(big), "0"],
        ["6", *["NULL"] * len(big), "NULL"],
        ["7", *["-0.1"] * len(big), "1"],
    ]
    rows += [["8", *["1e-30"] * len(big), "1"], ["9", *["-1"] * len(big), "100"]]
    lab.sql(f"INSERT INTO d.decimals VALUES {values(rows)}")
    lab.sql("UPDATE d.decimals SET d_65_30 = -d_65_30, d_4_2 = NULL", "DELETE FROM d.decimals WHERE id = 9")
    lab.keep("d.floats", "d.decimals")


@scenario("mysql", *ANONYMOUS, binlog_row_metadata="FULL")
def types_times(lab: Lab) -> None:
    """TIME, DATETIME, TIMESTAMP with each number of fractional digits; DATE; zero and partly zero dates."""
    kinds = ("TIME", "DATETIME", "TIMESTAMP")
    columns = [f"{kind.lower()}{fsp} {kind}({fsp}) NULL" for kind in kinds for fsp in range(7)]
    lab.sql("CREATE DATABASE d; SET sql_mode = ''")
    lab.sql(f"CREATE TABLE d.times (id INT PRIMARY KEY, dt DATE, yr YEAR, {', '.join(columns)})")

    def row(n: int, day: str, year: str, time: str, moment: str, stamp: str) -> list[str]:
        return [str(n), day, year, *[time] * 7, *[moment] * 7, *[stamp] * 7]

    zero = "'0000-00-00 00:00:00'"
    rows = [
        row(1, "'0000-00-00'", "0", "'00:00:00'", zero, zero),
        row(2, "'1000-01-01'", "1901", "'-838:59:59'", "'1000-01-01 00:00:00'", "'1970-01-01 00:00:01'"),
        row(
            3, "'9999-12-31'", "2155", "'838:59:59'", "'9999-12-31 23:59:59.999999'", "'2038-01-19 03:14:07'"
        ),
        row(4, "NULL", "NULL", "NULL", "NULL", "NULL"),
        row(5, "'2020-00-00'", "2020", "'-00:00:00.5'", "'2020-00-00 00:00:00'", "'2001-09-09 01:46:40.5'"),
        row(
            6,
            "'2020-01-00'",
            "69",
            "'-00:00:01.000001'",
            "'2020-01-00 12:00:00.1'",
            "'2016-12-31 23:59:59.1'",
        ),
        row(
            7,
            "'0000-01-01'",
            "70",
            "'-00:00:00.000001'",
            "'0000-01-01 00:00:00.01'",
            "'2016-12-31 23:59:59.01'",
        ),
        row(
            8,
            "'0001-01-01'",
            "1",
            "'-12:34:56.789012'",
            "'0001-01-01 01:01:01.001'",
            "'2024-02-29 12:34:56.789012'",
        ),
        row(
            9,
            "'2024-02-29'",
            "99",
            "'12:34:56.999999'",
            "'2024-02-29 23:59:59.999999'",
            "'2024-02-29 0:0:0.000001'",
        ),
        row(
            10,
            "'1582-10-10'",
            "'0'",
            "'-00:00:00.999999'",
            "'1582-10-10 10:10:10.10'",
            "'2038-01-19 03:14:07.499999'",
        ),
        row(11, "'2023-02-31'", "'abc'", "'100:00:00.09'", "'2023-02-31 00:00:00'", "'2023-13-01 00:00:00'"),
        row(12, "'0000-00-01'", "1900", "'-100:59:59.9'", "'0000-00-01 23:59:59.5'", "'1970-01-01 00:00:00'"),
    ]
    lab.sql(f"INSERT INTO d.times VALUES {values(rows)}")
    lab.sql("SET sql_mode = 'ALLOW_INVALID_DATES'")
    lab.sql(
        "INSERT INTO d.times (id, dt, datetime0, datetime6) VALUES (20, '2023-02-31', '2023-04-31', '2023-02-30')"
    )
    lab.sql("SET time_zone = '-05:30', timestamp = 1234567890.123456")
    lab.sql(
        "INSERT INTO d.times (id, timestamp0, timestamp3, timestamp6, datetime6, time6)"
        " VALUES (21, NOW(), NOW(3), NOW(6), NOW(6), CURTIME(6))"
    )
    lab.sql(
        "CREATE TABLE d.stamps (id INT PRIMARY KEY, a TIMESTAMP(6) DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE NOW(6))"
    )
    lab.sql("INSERT INTO d.stamps (id) VALUES (1), (2)", "UPDATE d.stamps SET id = id + 10")
    lab.sql("UPDATE d.times SET time6 = -time6, dt = dt + INTERVAL 1 DAY", "DELETE FROM d.times WHERE id = 9")
    lab.keep("d.times", "d.stamps")


@scenario("mysql", *ANONYMOUS, binlog_row_metadata="FULL")
def types_bits(lab: Lab) -> None:
    """BIT(1) to BIT(64)."""
    lab.sql("CREATE DATABASE d; SET sql_mode = ''")
    lab.sql(f"CREATE TABLE d.bits (id INT PRIMARY KEY, {', '.join(f'b{n} BIT({n})' for n in range(1, 65))})")
    rows = [["1", *[f"b'{'1' * n}'" for n in range(1, 65)]], ["2", *["0"] * 64], ["3", *["NULL"] * 64]]
    rows += [["4", *[f"b'{('10' * 32)[:n]}'" for n in range(1, 65)]], ["5", *["1"] * 64]]
    rows += [["6", *[f"b'1{'0' * (n - 1)}'" for n in range(1, 65)]]]
    lab.sql(f"INSERT INTO d.bits VALUES {values(rows)}")
    lab.sql("UPDATE d.bits SET b1 = ~b1, b64 = b64 ^ 255, b33 = NULL WHERE id <> 2")
    lab.keep("d.bits")


def members(count: int, word: str = "m") -> str:
    return ", ".join(f"'{word}{n}'" for n in range(1, count + 1))


@scenario("mysql", *ANONYMOUS, binlog_row_metadata="FULL")
def types_enums(lab: Lab) -> None:
    """ENUM of one and two bytes, SET of all sizes; the value 0; labels of several charsets."""
    sizes = (1, 2, 7, 8, 9, 16, 17, 24, 25, 32, 33, 40, 48, 63, 64)
    lab.sql("CREATE DATABASE d; SET sql_mode = ''")
    lab.sql(
        "CREATE TABLE d.enums (id INT PRIMARY KEY, e1 ENUM('only'), e3 ENUM('a','b''c','d,e'),"
        f" e255 ENUM({members(255)}), e256 ENUM({members(256)}), e3000 ENUM({members(3000)}),"
        " el ENUM('grün','weiß','') CHARACTER SET latin1, es ENUM('日本','中国') CHARACTER SET sjis,"
        " eu ENUM('привет','мир') CHARACTER SET utf16, en ENUM('x','y') NOT NULL,"
        " eb ENUM('a','ÿ') CHARACTER SET binary)"
    )
    lab.sql(
        "INSERT INTO d.enums VALUES"
        " (1, 'only', 'a', 'm1', 'm1', 'm1', 'grün', '日本', 'привет', 'x', 'a'),"
        " (2, 'only', 'd,e', 'm255', 'm256', 'm3000', 'weiß', '中国', 'мир', 'y', 'ÿ'),"
        " (3, 'wrong', 'wrong', 'wrong', 'wrong', 'wrong', 'wrong', 'wrong', 'wrong', 'wrong', 'wrong'),"
        " (4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, DEFAULT, NULL),"
        " (5, 1, 2, 200, 255, 256, '', 1, 2, 2, 1)"
    )
    columns = [f"s{n} SET({members(n)})" for n in sizes]
    lab.sql(
        f"CREATE TABLE d.sets (id INT PRIMARY KEY, {', '.join(columns)}, sl SET('ä','ö') CHARACTER SET latin1)"
    )
    rows = [["1", *[str((1 << n) - 1) for n in sizes], "3"], ["2", *["0"] * len(sizes), "''"]]
    rows += [["3", *["NULL"] * len(sizes), "NULL"], ["4", *[f"'m1,m{n}'" for n in sizes], "'ä'"]]
    rows += [["5", *[str(1 << n - 1) for n in sizes], "'wrong'"]]
    lab.sql(f"INSERT INTO d.sets VALUES {values(rows)}")
    lab.sql(
        "UPDATE d.enums SET e3000 = 257, e255 = 'm7'",
        "UPDATE d.sets SET s64 = s64 ^ 3, s9 = '' WHERE id <> 3",
    )
    # So different that the table map names each column's charset.
    lab.sql(
        "CREATE TABLE d.mixed (id INT PRIMARY KEY, a ENUM('ä','b') CHARACTER SET latin1,"
        " b SET('語','x') CHARACTER SET ujis, c ENUM('я') CHARACTER SET koi8r)",
        "INSERT INTO d.mixed VALUES (1, 'ä', '語,x', 'я')",
    )
    lab.keep("d.enums", "d.sets", "d.mixed")


STRINGS = {
    "c0": "CHAR(0)",
    "c1": "CHAR(1)",
    "c63": "CHAR(63)",
    "c64": "CHAR(64)",
    "c255": "CHAR(255)",
    "c255l": "CHAR(255) CHARACTER SET latin1",
    "c255u": "CHAR(255) CHARACTER SET utf8mb3",
    "v0": "VARCHAR(0)",
    "v63": "VARCHAR(63)",
    "v64": "VARCHAR(64)",
    "v255l": "VARCHAR(255) CHARACTER SET latin1",
    "v256l": "VARCHAR(256) CHARACTER SET latin1",
    "v3000": "VARCHAR(3000)",
    "b0": "BINARY(0)",
    "b1": "BINARY(1)",
    "b16": "BINARY(16)",
    "b255": "BINARY(255)",
    "vb255": "VARBINARY(255)",
    "vb256": "VARBINARY(256)",
    "tt": "TINYTEXT",
    "tx": "TEXT",
    "mt": "MEDIUMTEXT",
    "lt": "LONGTEXT",
    "tb": "TINYBLOB",
    "bb": "BLOB",
    "mb": "MEDIUMBLOB",
    "lb": "LONGBLOB",
    "ta": "TEXT CHARACTER SET ascii",
    "vc": "VARCHAR(20) COLLATE utf8mb4_bin",
    "nv": "NATIONAL VARCHAR(10)",
}


def fill_strings(lab: Lab, table: str) -> None:
    columns = ", ".join(f"{name} {kind}" for name, kind in STRINGS.items())
    lab.sql(f"CREATE TABLE {table} (id INT PRIMARY KEY, {columns}) ROW_FORMAT=DYNAMIC")
    width = len(STRINGS)
    every_byte = f"x'{bytes(range(256)).hex()}'"
    rows = [
        ["1", *["''"] * width],
        ["2", *["NULL"] * width],
        ["3", *["' '"] * width],
        ["4", *["'a  '"] * width],
        ["5", *["'it''s \\\\ \\n \\t \\0 \\Z \\r \"quoted\"'"] * width],
        ["6", *["'Grüße, 世界 🌊 Ω'"] * width],
        ["7", *["REPEAT('x', 255)"] * width],
        ["8", *["REPEAT('é', 400)"] * width],
        ["9", *["x'00'"] * width],
        ["10", *["x'6100000000'"] * width],
        ["11", *["REPEAT('🌊', 100)"] * width],
    ]
    binary = [name for name, kind in STRINGS.items() if "B" in kind.split("(")[0]]
    lab.sql(f"INSERT INTO {table} VALUES {values(rows)}")
    lab.sql(
        f"INSERT INTO {table} (id, {', '.join(binary)}) VALUES (12, {', '.join([every_byte] * len(binary))})"
    )
    latin = "c255l = x'80818D90A0FF', v255l = CONVERT(x'80818D90A0FF' USING latin1)"
    lab.sql(f"INSERT INTO {table} SET id = 13, {latin}")
    lab.sql(f"UPDATE {table} SET c64 = CONCAT(c64, '!'), lb = REVERSE(lb), tx = NULL WHERE id < 8")
    lab.sql(f"DELETE FROM {table} WHERE id IN (7, 9)")


@scenario("mysql", *GTID, binlog_row_metadata="FULL")
def types_strings(lab: Lab) -> None:
    """CHAR, VARCHAR, BINARY, TEXT and BLOB of sizes around each limit; trailing spaces and zeros."""
    lab.sql("CREATE DATABASE d; SET sql_mode = ''")
    fill_strings(lab, "d.strings")
    lab.keep("d.strings")


@scenario("mysql", *GTID, binlog_row_metadata="MINIMAL")
def types_strings_minimal(lab: Lab) -> None:
    """The same with the metadata that is always there; padding kept by the session."""
    lab.sql("CREATE DATABASE d; SET sql_mode = 'PAD_CHAR_TO_FULL_LENGTH'")
    fill_strings(lab, "d.strings")
    lab.keep("d.strings")


TEXTS = {
    1: "plain ASCII ~ \\ | 'q'",
    2: "Grüße: äöüÄÖÜß ñ ç é",
    3: "Привет, мир! Ёё",
    4: "Ελληνικά άέ",
    5: "日本語テキスト、カタカナ ｱｲｳ",
    6: "中文字符 简体 繁體",
    7: "한국어 텍스트",
    8: "עברית ไทย ქართული",
    9: "emoji 🌊🐬 and \u0301combining",
    10: "żółć ŁŻŹ šđčćž",
    11: "€ „quotes“ – dash ™",
}


def known_bytes(lab: Lab, charset: str) -> str:
    """The bytes that are characters in a single-byte charset: those the server converts to something."""
    wanted = ", ".join(f"HEX(CONVERT(_{charset} x'{byte:02x}' USING utf8mb4))" for byte in range(256))
    [texts] = lab.query(f"SELECT {wanted}")
    return bytes(byte for byte, text in enumerate(texts) if text != "3F" or byte == 0x3F).hex()


def known_characters(lab: Lab, charset: str) -> list[str]:
    """The characters of the basic plane that a charset has, as many as it has, in rows of 256."""
    rows = []
    for block in (*range(0xD8), *range(0xE0, 0x100)):
        every = bytes(byte for low in range(256) for byte in (block, low)).hex()
        [(there, back)] = lab.query(
            f"SELECT HEX(CONVERT(_utf16 x'{every}' USING {charset})),"
            f" HEX(CONVERT(CONVERT(_utf16 x'{every}' USING {charset}) USING utf16))"
        )
        pairs = [(every[n : n + 4], back[n : n + 4].lower()) for n in range(0, 1024, 4)]
        kept = "".join(char for char, returned in pairs if char == returned)
        if there is not None and kept:
            rows.append(kept)
    return rows


@scenario("mysql", *GTID, binlog_row_metadata="FULL")
def types_charsets_complete(lab: Lab) -> None:
    """Every character that the charsets of several bytes have."""
    lab.sql("CREATE DATABASE d")
    for name in ("big5", "cp932", "eucjpms", "euckr", "gb2312", "gbk", "sjis", "ujis"):
        lab.sql(f"CREATE TABLE d.all_{name} (id INT PRIMARY KEY, t TEXT CHARACTER SET {name})")
        rows = [[str(n), f"_utf16 x'{text}'"] for n, text in enumerate(known_characters(lab, name))]
        lab.sql(f"INSERT INTO d.all_{name} VALUES {values(rows)}")
        lab.keep(f"d.all_{name}")


@scenario("mysql", *GTID, binlog_row_metadata="FULL")
def types_charsets(lab: Lab) -> None:
    """Text in every charset the server has; every byte of the single-byte ones; bytes that mean nothing."""
    charsets = lab.query(
        "SELECT CHARACTER_SET_NAME, MAXLEN FROM information_schema.CHARACTER_SETS ORDER BY 1"
    )
    lab.sql("CREATE DATABASE d; SET sql_mode = ''")
    for name, length in charsets:
        table = f"d.cs_{name}"
        in_it = f"CHARACTER SET {name}"
        labels = "ENUM('a','b')" if name == "binary" else f"ENUM('a','ä','語') {in_it}"
        lab.sql(
            f"CREATE TABLE {table} (id INT PRIMARY KEY, c CHAR(60) {in_it}, v VARCHAR(300) {in_it},"
            f" t TEXT {in_it}, e {labels})"
        )
        rows = [
            [str(n), *[f"'{text}'".replace("'q'", "''q''").replace("\\", "\\\\")] * 3, "'ä'"]
            for n, text in TEXTS.items()
        ]
        lab.sql(f"INSERT INTO {table} VALUES {values(rows)}")
        if length == 1 and name != "binary":
            every = bytes(range(256)).hex()
            lab.sql(f"INSERT INTO {table} (id, v, t) VALUES (20, _{name} x'{every}', _{name} x'{every}')")
            known = known_bytes(lab, name)
            lab.sql(f"INSERT INTO {table} (id, v, t) VALUES (21, _{name} x'{known}', _{name} x'{known}')")
        else:
            # Whatever of this is no text in the charset is cut off or refused, and some of it is not.
            for n, junk in enumerate(
                ("8140FE", "FF00", "C0AF", "EDA080", "D800DC00", "8EA1A1A1", "A1A1FEFE")
            ):
                lab.optional(f"INSERT INTO {table} (id, v, t) VALUES ({30 + n}, x'{junk}', x'{junk}')")
        lab.keep(table)


@scenario("mysql", *GTID, binlog_row_metadata="FULL")
def types_collations(lab: Lab) -> None:
    """A column of every collation, so that every collation number is in a table map."""
    names = [
        name for (name,) in lab.query("SELECT COLLATION_NAME FROM information_schema.COLLATIONS ORDER BY ID")
    ]
    lab.sql("CREATE DATABASE d")
    for part in range(0, len(names), 100):
        some = names[part : part + 100]
        columns = ", ".join(f"c{n} VARCHAR(8) COLLATE {name}" for n, name in enumerate(some))
        lab.sql(f"CREATE TABLE d.t{part} (id INT PRIMARY KEY, {columns})")
        lab.sql(f"INSERT INTO d.t{part} VALUES (1, {', '.join(repr(f'text{n}') for n in range(len(some)))})")
        lab.keep(f"d.t{part}")


SHAPES = {
    "g": ("GEOMETRY", "POINT(1 2)"),
    "p": ("POINT", "POINT(-1.5 2.25)"),
    "l": ("LINESTRING", "LINESTRING(0 0, 1 1, 2 4)"),
    "y": ("POLYGON", "POLYGON((0 0, 0 9, 9 9, 9 0, 0 0), (2 2, 2 3, 3 3, 2 2))"),
    "mp": ("MULTIPOINT", "MULTIPOINT(1 1, 2 2)"),
    "ml": ("MULTILINESTRING", "MULTILINESTRING((0 0, 1 1), (2 2, 3 3))"),
    "my": ("MULTIPOLYGON", "MULTIPOLYGON(((0 0, 0 3, 3 3, 0 0)))"),
    "gc": ("GEOMETRYCOLLECTION", "GEOMETRYCOLLECTION(POINT(1 1), LINESTRING(0 0, 5 5))"),
}


@scenario("mysql", *GTID, binlog_row_metadata="FULL")
def types_geometry(lab: Lab) -> None:
    """All geometry types, with and without SRID. mysqlbinlog cannot print these."""
    lab.sql("CREATE DATABASE d; SET sql_mode = ''")
    columns = ", ".join(f"{name} {kind}" for name, (kind, _) in SHAPES.items())
    lab.sql(f"CREATE TABLE d.shapes (id INT PRIMARY KEY, {columns}, w POINT SRID 4326, after_it INT)")
    texts = [f"ST_GeomFromText('{text}')" for _, text in SHAPES.values()]
    rows = [
        ["1", *texts, "ST_GeomFromText('POINT(48 11)', 4326)", "1"],
        ["2", *["NULL"] * len(SHAPES), "NULL", "2"],
    ]
    rows += [["3", *[f"ST_GeomFromText('{text}', 3857)" for _, text in SHAPES.values()], "NULL", "3"]]
    rows += [["4", "ST_GeomFromText('GEOMETRYCOLLECTION EMPTY')", *["NULL"] * len(SHAPES), "4"]]
    lab.sql(f"INSERT INTO d.shapes VALUES {values(rows)}")
    lab.sql("UPDATE d.shapes SET p = ST_GeomFromText('POINT(3 3)'), after_it = 9 WHERE id = 1")
    lab.sql("CREATE TABLE d.strict (id INT PRIMARY KEY, p POINT NOT NULL, after_it INT)")
    lab.optional("INSERT IGNORE INTO d.strict (id, after_it) VALUES (1, 2)")
    lab.sql(
        "INSERT INTO d.strict VALUES (2, ST_GeomFromText('POINT(0 0)'), 3)",
        "DELETE FROM d.shapes WHERE id = 3",
    )
    lab.keep("d.shapes", "d.strict")


@scenario("mysql", *GTID, binlog_row_metadata="FULL")
def types_vector(lab: Lab) -> None:
    """VECTOR of several dimensions, with the values that floats can have."""
    lab.sql(
        "CREATE DATABASE d",
        "CREATE TABLE d.vectors (id INT PRIMARY KEY, v1 VECTOR(1), v3 VECTOR(3), v VECTOR)",
    )
    lab.sql(
        "INSERT INTO d.vectors VALUES (1, TO_VECTOR('[1]'), TO_VECTOR('[1.5, -2, 3e38]'), TO_VECTOR('[0, -0]')),"
        " (2, NULL, NULL, NULL), (3, TO_VECTOR('[0.1]'), TO_VECTOR('[1e-30, 1e10, 0.333333333]'), x'0000803F')"
    )
    many = ", ".join(str(n / 8) for n in range(2048))
    lab.sql(f"INSERT INTO d.vectors VALUES (4, TO_VECTOR('[7]'), NULL, TO_VECTOR('[{many}]'))")
    lab.sql("UPDATE d.vectors SET v3 = TO_VECTOR('[1,2,3]')", "DELETE FROM d.vectors WHERE id = 2")
    lab.keep("d.vectors")


@scenario("mysql", *GTID, binlog_row_metadata="FULL", binlog_row_image="FULL")
def types_wide(lab: Lab) -> None:
    """Tables of 256, 300 and 1017 columns; images that are full, minimal, and of single columns."""
    lab.sql("CREATE DATABASE d")
    for width in (256, 300, 1017):
        columns = [
            f"c{n} {('INT', 'TINYINT UNSIGNED', 'VARCHAR(5)', 'DATE')[n % 4]}" for n in range(1, width)
        ]
        lab.sql(f"CREATE TABLE d.w{width} (c0 INT PRIMARY KEY, {', '.join(columns)})")
        lab.sql(f"INSERT INTO d.w{width} (c0, c1, c{width - 1}) VALUES (1, 7, NULL), (2, NULL, DEFAULT)")
        lab.sql("SET binlog_row_image = MINIMAL")
        lab.sql(
            f"UPDATE d.w{width} SET c255 = '2024-02-29', c2 = 'two'",
            f"INSERT INTO d.w{width} SET c0 = 3, c250 = 'z'",
        )
        lab.sql("SET binlog_row_image = FULL", f"UPDATE d.w{width} SET c1 = 255 WHERE c0 = 1")
        lab.keep(f"d.w{width}")
