"""What users write as options: what is understood, and what is said of mistakes. No Spark is needed for this."""

from __future__ import annotations

from pathlib import Path

import pytest

from gtidal.errors import UsageError
from gtidal.requests import OPTIONS as FILTERS
from gtidal.spark.options import OPTIONS, ReadOptions, markdown_table, size_in_bytes

DOCS = Path(__file__).parents[2] / "docs"


def parse(**given: str) -> ReadOptions:
    return ReadOptions.parse({"path": "logs", **given})


def test_defaults() -> None:
    read = parse()
    assert (read.paths, read.view, read.part_bytes, read.splitting) == (
        ["logs"],
        "changes",
        128 << 20,
        "search",
    )
    assert read.filters == {}


def test_names_in_any_case_and_what_python_calls_them() -> None:
    read = parse(INCLUDEUNCOMMITTED="TRUE", serverids="1, 2", maxPartitionBytes="64k", Tables="shop.*")
    assert read.filters == {"include_uncommitted": True, "server_ids": "1, 2", "tables": "shop.*"}
    assert read.part_bytes == 65536


def test_several_paths_and_file_systems() -> None:
    read = ReadOptions.parse({"paths": '["a", "b"]', "fs.s3a.endpoint": "http://127.0.0.1:9000"})
    assert read.paths == ["a", "b"]
    assert read.storage == {"fs.s3a.endpoint": "http://127.0.0.1:9000"}


def test_definitions_go_with_the_options(tmp_path: Path) -> None:
    file = tmp_path / "tables.sql"
    file.write_text("CREATE TABLE shop.t (a INT)")
    assert parse(schemaFrom=str(file)).filters["schema_from"] == "CREATE TABLE shop.t (a INT)"


@pytest.mark.parametrize(
    ("text", "size"),
    [("1", 1), ("64m", 64 << 20), ("1GB", 1 << 30), ("2 kb", 2048), ("3b", 3), ("1p", 1 << 50)],
)
def test_sizes(text: str, size: int) -> None:
    assert size_in_bytes(text) == size


WRONG = [
    ({"vieww": "events"}, "there is no option vieww; did you mean view?"),
    ({"zzz": "1"}, "there is no option zzz; there are view, table, start"),
    ({"view": "rows"}, "view='rows': it is changes, events or transactions"),
    ({"table": "orders"}, "table='orders': it is a table with its schema, as in shop.orders"),
    ({"table": "a.b", "view": "events"}, "view='events' and table='a.b': give one of the two"),
    ({"detail": "true"}, "detail means nothing for view changes; it is for view events"),
    ({"table": "shop.orders", "schemas": "shop"}, "schemas means nothing for typed rows (table); it is for view changes, view events"),
    ({"mergeSchema": "true"}, "mergeSchema means nothing for view changes; it is for typed rows (table)"),
    ({"start": "soon"}, "start='soon': it is no position (binlog.000024:197), no time"),
    ({"stop": "3e11fa47-71ca-11e1-9e33-c80aa9429562:1"}, "it is a position or a time; for GTIDs use includeGtids"),
    ({"includeGtids": "x"}, "includeGtids='x': malformed GTID set"),
    ({"types": "NO_SUCH"}, "types='NO_SUCH': no event NO_SUCH; there are ANNOTATE_ROWS"),
    ({"serverIds": "one"}, "serverIds='one': it is a number, or several with commas between"),
    ({"assumeCharset": "klingon"}, "assumeCharset='klingon': no charset is called 'klingon'"),
    ({"mode": "LENIENT"}, "mode='LENIENT': it is FAILFAST, PERMISSIVE or DROPMALFORMED"),
    ({"maxPartitionBytes": "12q"}, "maxPartitionBytes='12q': it is a number of bytes"),
    ({"maxPartitionBytes": "0"}, "maxPartitionBytes='0': it is a number of bytes"),
    ({"verifyChecksum": "no"}, "verifyChecksum='no': it is true or false"),
    ({"splitting": "guess"}, "splitting='guess': it is search or walk"),
    ({"schemaFrom": "/no/such.sql"}, "schemaFrom='/no/such.sql': cannot read the definitions in /no/such.sql"),
    ({"fs.s3a.secret.key": "hidden"}, "fs.s3a.secret.key is a secret, and Spark shows options in its plans"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "said"), WRONG, ids=lambda each: str(each)[:40])
def test_mistakes(given: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(**given)
    assert said in str(caught.value)
    assert "hidden" not in str(caught.value)


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(UsageError) as caught:
        parse(view="x", start="y", splitting="z")
    assert all(f"{name}=" in str(caught.value) for name in ("view", "start", "splitting"))


def test_no_path() -> None:
    with pytest.raises(UsageError, match="no path was given"):
        ReadOptions.parse({})


def test_every_filter_of_python_is_there() -> None:
    """Two apart: Spark has tasks for threads, and calls nobody back."""
    assert {option.filter for option in OPTIONS} - {None} == FILTERS - {"threads", "on_corrupt"}


def test_the_docs_have_the_table() -> None:
    assert markdown_table() in (DOCS / "spark.md").read_text("utf-8"), (
        "put options.markdown_table() into docs/spark.md"
    )
