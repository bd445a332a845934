"""Rows events and table maps as the reference tools print them. The expected texts were printed by
mysqlbinlog 9.7.4 and mariadb-binlog 11.8."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gtidal.columns.jsonb import JsonDiff, encode_diffs, encode_json
from gtidal.events.images import ABSENT, JsonDiffs, Row
from gtidal.events.rows import (
    DeleteRows,
    MovedPartitionInfo,
    NdbInfo,
    PartialUpdateRows,
    PartitionInfo,
    RowsEvent,
    UnknownExtraInfo,
    UpdateRows,
    WriteRows,
)
from gtidal.events.table_map import (
    ColumnCharset,
    ColumnName,
    ColumnVisibility,
    DefaultCharset,
    EnumAndSetDefaultCharset,
    EnumLabels,
    GeometryType,
    Labels,
    Metadata,
    PrimaryKeyWithPrefix,
    SetLabels,
    Signedness,
    SimplePrimaryKey,
    TableMap,
    VectorDimensionality,
)
from gtidal.text.rows import RowPrinter


def table(
    types: Sequence[int],
    metadata: bytes = b"",
    optional: Sequence[Metadata] = (),
    nullable: int | None = None,
    flags: int = 1,
    name: str = "t",
) -> TableMap:
    size = (len(types) + 7) // 8
    bits = (1 << len(types)) - 1 if nullable is None else nullable
    return TableMap(
        5, flags, "d", name, bytes(types), metadata, bits.to_bytes(size, "little"), tuple(optional)
    )


def bitmap(of: TableMap, *columns: int) -> bytes:
    """A bitmap of these columns; of all without any."""
    width = len(of.types)
    bits = sum(1 << index for index in columns or range(width))
    return bits.to_bytes((width + 7) // 8, "little")


NOTHING = b"\0"


def write(of: TableMap, *images: tuple[Any, ...], after: bytes | None = None, **fields: Any) -> WriteRows:
    rows = tuple(Row(None, image) for image in images)
    columns = bitmap(of) if after is None else after
    return WriteRows(5, 1, len(of.types), after_columns=columns, rows=rows, table=of, **fields)


def update(of: TableMap, *rows: tuple[Any, Any], after: bytes | None = None, **fields: Any) -> UpdateRows:
    return UpdateRows(
        5,
        1,
        len(of.types),
        before_columns=bitmap(of),
        after_columns=bitmap(of) if after is None else after,
        rows=tuple(Row(before, image) for before, image in rows),
        table=of,
        **fields,
    )


def block(event: RowsEvent, verbosity: int = 1, **options: Any) -> str:
    return RowPrinter(verbosity, False, **options).rows(event)


INTS = table([1, 2])


def test_three_kinds_of_change() -> None:
    assert block(write(INTS, (1, None), (-1, 2))) == (
        "### INSERT INTO `d`.`t`\n### SET\n###   @1=1\n###   @2=NULL\n"
        "### INSERT INTO `d`.`t`\n### SET\n###   @1=-1 (255)\n###   @2=2\n"
    )
    assert block(update(INTS, ((1, 2), (3, 4)))) == (
        "### UPDATE `d`.`t`\n### WHERE\n###   @1=1\n###   @2=2\n### SET\n###   @1=3\n###   @2=4\n"
    )
    delete = DeleteRows(5, 1, 2, before_columns=b"\3", rows=(Row((1, 2), None),), table=INTS)
    assert block(delete) == "### DELETE FROM `d`.`t`\n### WHERE\n###   @1=1\n###   @2=2\n"


def test_verbosity() -> None:
    of = table([1, 2], nullable=2)
    assert block(write(of, (1, None)), 0) == ""
    assert block(write(of, (1, None)), 2) == (
        "### INSERT INTO `d`.`t`\n### SET\n"
        "###   @1=1 /* TINYINT meta=0 nullable=0 is_null=0 */\n"
        "###   @2=NULL /* SHORTINT meta=0 nullable=1 is_null=1 */\n"
    )


def test_absent_columns_are_not_printed() -> None:
    event = update(INTS, ((1, 2), (ABSENT, 9)), ((1, 2), (ABSENT, None)), after=bitmap(INTS, 1))
    head = "### UPDATE `d`.`t`\n### WHERE\n###   @1=1\n###   @2=2\n### SET\n"
    assert block(event) == f"{head}###   @2=9\n{head}###   @2=NULL\n"


def test_more_than_255_columns() -> None:
    wide = table([1] * 300)
    lines = block(write(wide, tuple(i % 100 for i in range(300)))).splitlines()
    assert lines[2:] == [f"###   @{i + 1}={i % 100}" for i in range(300)]


def test_names_are_quoted() -> None:
    odd = table([1], name="we`ird 'n")
    assert block(write(odd, (1,))).splitlines()[0] == "### INSERT INTO `d`.`we``ird 'n`"
    # … but not where a row has no values.
    assert block(write(odd, after=NOTHING)) == "### INSERT INTO `d`.`we`ird 'n` VALUES ()\n"
    assert (
        block(write(odd, after=NOTHING), flavor="mariadb") == "### INSERT INTO `d`.`we``ird 'n` VALUES ()\n"
    )


def test_no_rows() -> None:
    assert block(update(INTS)) == ""
    assert block(write(INTS)) == "### INSERT INTO `d`.`t` VALUES ()\n"


def test_empty_after_image_ends_the_event() -> None:
    event = update(INTS, ((1, 2), (ABSENT, ABSENT)), ((3, 4), (ABSENT, ABSENT)), after=NOTHING)
    assert block(event) == "### UPDATE `d`.`t`\n### WHERE\n###   @1=1\n###   @2=2\n### SET\n"
    assert block(event, flavor="mariadb") == (
        "### UPDATE `d`.`t`\n### WHERE\n###   @1=1\n###   @2=2\n### SET /* no columns */\n"
        "### UPDATE `d`.`t`\n### WHERE\n###   @1=3\n###   @2=4\n### SET /* no columns */\n"
    )


def test_unknown_and_dummy_table() -> None:
    assert block(WriteRows(9, 1, 2)) == "### Row event for unknown table #9"
    assert block(WriteRows(0xFFFFFF, 1, 0)) == "### Row event for unknown table #16777215"


def test_extra_row_info() -> None:
    def first_lines(event: RowsEvent) -> list[str]:
        return [line for line in block(event).splitlines() if "Extra" in line]

    assert first_lines(write(INTS, (1, 2), extra_info=(NdbInfo(0, 7, b"\xab\1"),))) == [
        "### Extra row ndb info: data_format: 7, len: 2, data: 0xAB01"
    ]
    assert first_lines(write(INTS, (1, 2), extra_info=(NdbInfo(0, 7, b""),))) == [
        '### Extra row ndb info: data_format: 7, len: 0, data: ""'
    ]
    assert first_lines(write(INTS, (1, 2), extra_info=(PartitionInfo(1, 3),))) == [
        "### Extra row info for partitioning: partition: 3"
    ]
    moved = (MovedPartitionInfo(1, 3, 2), NdbInfo(0, 1, b"x"))
    assert first_lines(update(INTS, ((1, 2), (1, 2)), extra_info=moved)) == [
        "### Extra row ndb info: data_format: 1, len: 1, data: 0x78",
        "### Extra row info for partitioning: source_partition: 2 target_partition: 3",
    ]
    assert first_lines(write(INTS, (1, 2), extra_info=(UnknownExtraInfo(b"\7"),))) == []


def test_geometry_ends_the_event() -> None:
    of = table([1, 255, 1], b"\4")
    point = bytes(4) + bytes.fromhex("0101000000000000000000f03f0000000000000040")
    event = write(of, (1, point, 2), (3, None, 4))
    assert block(event) == (
        "### INSERT INTO `d`.`t`\n### SET\n###   @1=1\n"
        "###   @2=!! Don't know how to handle column type=255 meta=4 (0004)\n"
    )
    assert block(event, 2, geometry=True).splitlines()[2:5] == [
        "###   @1=1 /* TINYINT meta=0 nullable=1 is_null=0 */",
        "###   @2=ST_GeomFromText('POINT(1 2)') /* GEOMETRY meta=4 nullable=1 is_null=0 */",
        "###   @3=2 /* TINYINT meta=0 nullable=1 is_null=0 */",
    ]
    assert "###   @2=NULL\n###   @3=4\n" in block(event, geometry=True)
    assert "###   @2='\\x00\\x00" in block(event, flavor="mariadb")


def test_invalid_json_ends_the_event() -> None:
    of = table([1, 245, 1], b"\4")
    assert block(write(of, (1, b"\x63", 2), (3, None, 4))) == (
        "### INSERT INTO `d`.`t`\n### SET\n###   @1=1\n###   @2=Invalid JSON\n"
    )


def test_vectors_take_the_dimensions_in_order() -> None:
    """Of the image, not of the table: the tool does not step over the columns an image leaves out."""
    of = table([242, 242], b"\4\4", [VectorDimensionality(13, (3, 5))])
    assert [line.split()[3] for line in block(write(of, (None, None)), 2).splitlines()[2:]] == [
        "VECTOR(3)",
        "VECTOR(5)",
    ]
    second = write(of, (ABSENT, None), after=bitmap(of, 1))
    assert "###   @2=NULL /* VECTOR(3) meta=4" in block(second, 2)


def test_partial_update() -> None:
    of = table([3, 245], b"\4")
    diffs = JsonDiffs(encode_diffs([JsonDiff(0, "$.a", encode_json("x"))]))
    rows = (Row((1, encode_json({"a": 1})), (1, diffs), 1, b"\1"),)
    event = PartialUpdateRows(5, 1, 2, before_columns=b"\3", after_columns=b"\3", rows=rows, table=of)
    assert block(event, 2) == (
        "### UPDATE `d`.`t`\n### WHERE\n"
        "###   @1=1 /* INT meta=0 nullable=1 is_null=0 */\n"
        "###   @2='{\"a\": 1}' /* JSON meta=4 nullable=1 is_null=0 */\n"
        "### SET\n"
        "###   @1=1 /* INT meta=0 nullable=1 is_null=0 */\n"
        "###   @2=JSON_REPLACE(@2, '$.a', 'x') /* JSON meta=4 nullable=1 is_null=0 */\n"
    )


def test_the_cache_knows_tables_by_definition() -> None:
    printer = RowPrinter(2, False)
    assert "(255)" in printer.rows(write(INTS, (-1, 1)))
    unsigned = table([1, 2], optional=[Signedness(1, b"\xc0")])
    assert "@1=-1 (255)" in printer.rows(write(unsigned, (255, 1)))
    assert "nullable=0" in printer.rows(write(table([1, 2], nullable=0), (1, 1)))
    assert "`other`" in printer.rows(write(table([1, 2], name="other"), (1, 1)))
    assert "(255)" in printer.rows(write(table([1, 2]), (-1, 1)))


# --- rows that cannot be decoded --------------------------------------------------------------------------


def damaged(event: RowsEvent, data: bytes, **changes: Any) -> RowsEvent:
    fields = {**event.__dict__, "rows": (), "undecoded": data, **changes}
    return type(event)(**{name: value for name, value in fields.items() if not name.startswith("_")})


@given(st.lists(st.tuples(st.integers(-128, 127) | st.none(), st.binary(max_size=5) | st.none()), min_size=1))
def test_sound_bytes_print_as_decoded_rows_do(images: list[tuple[Any, Any]]) -> None:
    of = table([1, 15], b"\x0a\0")
    event = write(of, *images)
    data = b"".join(
        bytes(
            [0xFC | (number is None) | (text is None) << 1]
            + ([] if number is None else [number & 255])
            + ([] if text is None else [len(text), *text])
        )
        for number, text in images
    )
    assert block(damaged(event, data), 2) == block(event, 2)


def test_truncated_value() -> None:
    data = bytes.fromhex("fc 01 0200 fc 01 02")
    assert block(damaged(write(INTS), data)) == (
        "### INSERT INTO `d`.`t`\n### SET\n###   @1=1\n###   @2=2\n"
        "### INSERT INTO `d`.`t`\n### SET\n###   @1=1\n"
        "###   @2=***Corrupted replication event was detected: field data is truncated; there are only 1 bytes "
        "left of the event. Not printing the value***\n"
    )


@given(st.binary(min_size=1, max_size=60))
def test_any_bytes_end(data: bytes) -> None:
    of = table([3, 245, 255, 245, 246], b"\4\4\4\x0a\2")
    full = bitmap(of)
    for kind in (UpdateRows, PartialUpdateRows):
        event = kind(5, 1, 5, before_columns=full, after_columns=full, undecoded=data, table=of)
        for geometry in (False, True):
            assert block(event, 2, geometry=geometry).startswith("### UPDATE `d`.`t`\n### WHERE\n")


# --- metadata ---------------------------------------------------------------------------------------------


def described(of: TableMap, flavor: str = "mysql") -> str:
    return RowPrinter(0, True, flavor=flavor).table_metadata(of)


def test_metadata_is_printed_on_demand() -> None:
    assert RowPrinter(2, False).table_metadata(INTS) == ""
    assert described(INTS) == "# Columns(TINYINT,\n#         SMALLINT)\n"


def test_columns_without_metadata() -> None:
    of = table(
        [3, 4, 5, 246, 16, 17, 18, 19, 17, 10, 13, 15, 254, 254, 254, 252, 245, 255, 242],
        bytes.fromhex("04 08 0a02 0102 00 03 06 06 2c01 fe0a ceff f701 03 04 04 04"),
        nullable=0,
    )
    assert described(of).replace(" NOT NULL", "").split(",\n#         ") == [
        *(
            "# Columns(INT",
            "FLOAT",
            "DOUBLE",
            "DECIMAL(10,2)",
            "BIT(17)",
            "TIMESTAMP",
            "DATETIME(3)",
            "TIME(6)",
        ),
        *(
            "TIMESTAMP(6)",
            "DATE",
            "YEAR",
            "VARBINARY(300)",
            "BINARY(10)",
            "BINARY(1023)",
            "ENUM",
            "MEDIUMBLOB",
        ),
        *("JSON", "GEOMETRY", "VECTOR(0))\n"),
    ]
    assert described(of).count(" NOT NULL") == 19


def test_columns_with_all_metadata() -> None:
    of = table(
        [3, 15, 254, 254, 13, 255, 242, 252],
        bytes.fromhex("2800 f701 f801 04 04 02"),
        [
            Signedness(1, b"\xc0"),
            ColumnCharset(3, (255, 63, 8)),
            GeometryType(7, (7,)),
            VectorDimensionality(13, (12,)),
            ColumnName(4, ("id", "a`b\n", "e", "s", "y", "g", "v", "t")),
            EnumAndSetDefaultCharset(10, (255, 1, 63)),
            SetLabels(5, (Labels((b"x", b"y\\")),)),
            EnumLabels(6, (Labels((b"it's", "ü".encode())),)),
            PrimaryKeyWithPrefix(9, (1, 5, 0, 0)),
            ColumnVisibility(12, b"\xbf"),
        ],
        nullable=0xFE,
    )
    assert described(of) == (
        "# Columns(`id` INT UNSIGNED NOT NULL,\n"
        "#         `a``b\\n` VARCHAR(10) CHARSET utf8mb4 COLLATE utf8mb4_0900_ai_ci INVISIBLE,\n"
        "#         `e` ENUM('it\\'s', 'ü') CHARSET utf8mb4 COLLATE utf8mb4_0900_ai_ci,\n"
        "#         `s` SET('x', 'y\\\\') CHARSET binary COLLATE binary,\n"
        "#         `y` YEAR,\n"
        "#         `g` GEOMCOLLECTION,\n"
        "#         `v` VECTOR(12),\n"
        "#         `t` TEXT CHARSET latin1 COLLATE latin1_swedish_ci)\n"
        "# Primary Key(a`b\n(5), id)\n"
    )


def test_generated_invisible_key() -> None:
    of = table([8, 3], flags=5, nullable=2)
    assert described(of) == (
        "# Columns(`my_row_id` BIGINT UNSIGNED NOT NULL INVISIBLE AUTO_INCREMENT,\n"
        "#         INT)\n# Primary Key(my_row_id)\n"
    )


def test_key_without_names() -> None:
    assert described(table([3, 3], optional=[SimplePrimaryKey(8, (1, 0))])).endswith("# Primary Key(1, 0)\n")


def test_types_without_a_name_take_no_metadata() -> None:
    """So the columns after them get the wrong metadata, and no line of their own."""
    assert described(table([12, 11, 3])) == "# Columns(INVALID_TYPE(12)INVALID_TYPE(11)INT)\n"
    assert described(table([141, 18], b"\3\0\6"), "mariadb") == "# Columns(INVALID_TYPE(141)DATETIME(3))\n"


def test_mariadb_counts_other_columns() -> None:
    """It takes geometry for text where MySQL takes vectors, and has no sign for YEAR."""
    of = table(
        [13, 3, 255, 254, 15],
        bytes.fromhex("04 f701 1400"),
        [
            Signedness(1, b"\x80"),
            DefaultCharset(2, (63, 1, 8)),
            GeometryType(7, (7,)),
            EnumAndSetDefaultCharset(10, (8,)),
            EnumLabels(6, (Labels((b"a", b"b")),)),
            ColumnVisibility(12, b"\0"),
        ],
    )
    assert described(of, "mariadb") == (
        "# Columns(YEAR,\n#         INT UNSIGNED,\n#         GEOMETRYCOLLECTION,\n"
        "#         ENUM('a','b') CHARSET latin1 COLLATE latin1_swedish_ci,\n"
        "#         VARCHAR(20) CHARSET latin1 COLLATE latin1_swedish_ci)\n"
    )


@pytest.mark.parametrize("flavor", ["mysql", "mariadb"])
@given(types=st.binary(max_size=20), metadata=st.binary(max_size=30), numbers=st.lists(st.integers(0, 3000)))
def test_any_table_map_has_a_text(flavor: str, types: bytes, metadata: bytes, numbers: list[int]) -> None:
    parts = [
        Signedness(1, bytes(number & 255 for number in numbers)),
        DefaultCharset(2, tuple(numbers)),
        GeometryType(7, tuple(numbers)),
        SimplePrimaryKey(8, tuple(numbers)),
    ]
    assert described(table(types, metadata, parts), flavor).startswith("# Columns(")
