"""``gtidal tables`` and the function behind it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gtidal.cli.main import main
from gtidal.columns.types import Column
from gtidal.log.tables import sql_type, unknown_parts
from gtidal.sources.tables import tables
from tests.cli import example_logs
from tests.logs import build_log

TEXT = """\
shop.orders  2 inserted, 1 updated, 1 deleted, 468 bytes
  version 1  shop.000001:174  2023-11-14 22:13:20  3 columns, key (id)
  version 2  shop.000001:563  2023-11-14 22:13:20  4 columns, key (id)
      + note VARCHAR(8) utf8mb4
    id     INT UNSIGNED NOT NULL
    name   VARCHAR(16) utf8mb4 NOT NULL
    state  ENUM('new','paid') utf8mb4
    note   VARCHAR(8) utf8mb4
"""


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def shop(tmp_path: Path) -> str:
    return example_logs.write(tmp_path, example_logs.shop_log(), "shop.000001")


def test_text(shop: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tables", shop]) == 0
    assert capsys.readouterr().out == TEXT


def test_json(shop: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tables", shop, "--output", "json"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    record = json.loads(line)
    assert (record["schema"], record["table"]) == ("shop", "orders")
    assert (record["rows_inserted"], record["rows_updated"], record["rows_deleted"]) == (2, 1, 1)
    assert record["bytes"] == 468
    first, second = record["versions"]
    assert (first["file"], first["position"], first["key"]) == ("shop.000001", 174, ["id"])
    assert second["position"] == 563
    assert first["columns"][1] == {
        "name": "name",
        "position": 2,
        "type": "VARCHAR(16) utf8mb4",
        "nullable": False,
        "unsigned": None,
        "charset": "utf8mb4",
        "collation": "utf8mb4_0900_ai_ci",
        "visible": None,
        "unknown": [],
    }


def test_function(shop: str) -> None:
    (table,) = tables(shop)
    assert table.title == "shop.orders"
    assert [len(version.columns) for version in table.versions] == [3, 4]
    assert table.key == ("id",)


def test_rows_inside_a_compressed_payload_count(tmp_path: Path) -> None:
    (table,) = tables(example_logs.write(tmp_path, example_logs.compressed_log()))
    assert (table.rows_inserted, table.rows_updated) == (2, 1)


def test_what_the_log_does_not_tell_is_unknown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = example_logs.orders(names=False)
    path = example_logs.write(tmp_path, build_log([table]))
    assert main(["tables", path]) == 0
    assert capsys.readouterr().out.splitlines()[2:] == [
        "    @1  INT UNSIGNED NOT NULL",
        "    @2  VARCHAR(64 bytes) NOT NULL  unknown: charset",
        "    @3  ENUM(…)  unknown: labels",
    ]
    (found,) = tables(path)
    assert found.key is None


def test_definition_that_comes_back_is_no_new_version(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = [example_logs.orders(), example_logs.orders(note=True), example_logs.orders()]
    path = example_logs.write(tmp_path, build_log(list(events)))
    (table,) = tables(path)
    assert len(table.versions) == 2
    assert len(table.columns) == 3
    assert main(["tables", path]) == 0
    assert "version 1 came back" in capsys.readouterr().out


def test_metadata_that_appears_is_said_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = example_logs.write(tmp_path, build_log([example_logs.orders(names=False), example_logs.orders()]))
    assert main(["tables", path]) == 0
    assert "      more metadata than before\n" in capsys.readouterr().out


def test_rows_without_table_map_are_not_dropped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = [event for event in example_logs.transaction_events() if event.name != "TABLE_MAP"]
    path = example_logs.write(tmp_path, build_log(events))
    assert main(["tables", path]) == 0
    out = capsys.readouterr().out
    assert out.startswith("table id 90 (its table map is not in the log)")
    assert "not counted: 2 rows events of 114 bytes" in out


def test_log_without_rows_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tables", example_logs.write(tmp_path, example_logs.seed_log())]) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert "tell of no tables" in said.err


def test_damage_shows_what_precedes(shop: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = example_logs.write(tmp_path, Path(shop).read_bytes()[:500], "cut.000001")
    assert main(["tables", path]) == 1
    said = capsys.readouterr()
    assert said.out.startswith("shop.orders  2 inserted, 1 updated, ")
    assert (
        said.err
        == "gtidal: cut.000001, position 486, XID, field header.size: the log ends inside an event: 14 bytes of at least 31\n"
    )


def test_rows_that_do_not_decode_are_counted_apart(tmp_path: Path) -> None:
    """As MariaDB's old temporal columns with fractions, whose size the log does not tell."""
    data = bytearray(build_log(example_logs.transaction_events(), checksum=0))
    place = data.index(b"\x04anna")
    data[place] = 200
    (table,) = tables(example_logs.write(tmp_path, bytes(data)))
    assert (table.undecoded_events, table.rows_inserted, table.rows_updated) == (1, 0, 1)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["none"], "no such file or directory"),
        (["notes.txt"], "is not a binary log"),
        (["."], "holds no binary"),
    ],
)
def test_wrong_use(
    arguments: list[str],
    text: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    monkeypatch.chdir(tmp_path)
    assert main(["tables", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert text in said.err
    assert said.err.count("\n") == 1


@pytest.mark.parametrize(
    ("column", "text", "unknown"),
    [
        (Column(0, 3, 3, 0, name="a", unsigned=True), "INT UNSIGNED", ()),
        (Column(0, 3, 3, 0, name="a"), "INT", ("sign",)),
        (Column(0, 8, 8, 0, name="a", unsigned=False), "BIGINT", ()),
        (Column(0, 13, 13, 0, name="a", unsigned=True), "YEAR", ()),
        (Column(0, 246, 246, 10 << 8 | 2, name="a", unsigned=False), "DECIMAL(10,2)", ()),
        (Column(0, 15, 15, 256, name="a", charset=255), "VARCHAR(64) utf8mb4", ()),
        (Column(0, 15, 15, 64, name="a", charset=63), "VARBINARY(64)", ()),
        (Column(0, 15, 15, 64, name="a"), "VARCHAR(64 bytes)", ("charset",)),
        (Column(0, 254, 254, 0xFE10, name="a", charset=8), "CHAR(16) latin1", ()),
        (Column(0, 254, 254, 0xFE10, name="a", charset=63), "BINARY(16)", ()),
        (Column(0, 252, 252, 3, name="a", charset=63), "MEDIUMBLOB", ()),
        (Column(0, 252, 252, 4, name="a", charset=33), "LONGTEXT utf8mb3", ()),
        (Column(0, 252, 252, 2, name="a"), "BLOB or TEXT", ("charset",)),
        (
            Column(0, 254, 247, 0xF701, name="a", charset=255, labels=(b"x", b"it's")),
            "ENUM('x','it''s') utf8mb4",
            (),
        ),
        (Column(0, 254, 248, 0xF801, name="a"), "SET(…)", ("labels",)),
        (Column(0, 18, 18, 3, name="a"), "DATETIME(3)", ()),
        (Column(0, 17, 17, 0, name="a"), "TIMESTAMP", ()),
        (Column(0, 16, 16, 0x0102, name="a"), "BIT(10)", ()),
        (Column(0, 245, 245, 4, name="a"), "JSON", ()),
        (Column(0, 255, 255, 4, name="a", geometry_type=1), "POINT", ()),
        (Column(0, 255, 255, 4), "GEOMETRY", ("name", "geometry type")),
        (Column(0, 242, 242, 4, name="a", dimension=3, charset=63), "VECTOR(3)", ()),
        (Column(0, 20, 20, 0, name="a", element_type=8), "BIGINT ARRAY", ()),
        (Column(0, 141, 141, 304, name="a", charset=45), "VARCHAR(76) COMPRESSED utf8mb4", ()),
        (Column(0, 246, 246, 0, name="a", unsigned=False), "DECIMAL(0,0)", ("length",)),
    ],
)
def test_sql_type(column: Column, text: str, unknown: tuple[str, ...]) -> None:
    assert sql_type(column) == text
    assert unknown_parts(column) == unknown
