"""``gtidal.events``, ``transactions`` and ``changes``: options, filters, threads, and Spark's schema."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any
from zlib import crc32

import pyarrow as pa
import pytest
from pyspark.sql import types as spark
from pyspark.sql.pandas.types import to_arrow_schema

import gtidal
from gtidal import parallel, views
from gtidal.errors import UsageError
from gtidal.events.mariadb import MariadbGtidEvent
from gtidal.events.transaction import Xid
from tests.logs import corpus_logs
from tests.planning.making import LogMaker

SHOP = Path(__file__).parents[2] / "examples" / "shop"
VIEWS = {"events": gtidal.events, "transactions": gtidal.transactions, "changes": gtidal.changes}
PAGE = (Path(__file__).parents[2] / "docs" / "views.md").read_text(encoding="utf-8")

SPARK_TYPES = {
    "string": spark.StringType(),
    "bigint": spark.LongType(),
    "smallint": spark.ShortType(),
    "boolean": spark.BooleanType(),
    "timestamp": spark.TimestampType(),
    "decimal(20,0)": spark.DecimalType(20, 0),
    "array<string>": spark.ArrayType(spark.StringType()),
    "variant": spark.VariantType(),
}


def rows(view: str, paths: Any = SHOP, **options: Any) -> list[dict[str, Any]]:
    return VIEWS[view](paths, **options).read_all().to_pylist()


@pytest.mark.parametrize("view", VIEWS)
def test_schema_is_the_one_that_spark_derives(view: str) -> None:
    """Spark compares for equality, metadata apart."""
    section = PAGE.split(f"\n## {view}\n")[1]
    columns = " ".join(section.split("`file string!")[1].split("`")[0].split())
    declared = [column.rsplit(" ", 1) for column in f"file string!{columns}".split(", ")]
    fields = [
        spark.StructField(name, SPARK_TYPES[kind.rstrip("!")], not kind.endswith("!"))
        for name, kind in declared
    ]
    derived = to_arrow_schema(spark.StructType(fields), timezone="UTC")
    assert VIEWS[view](SHOP).schema.equals(derived)
    assert next(iter(VIEWS[view](SHOP))).schema.equals(derived)


@pytest.mark.parametrize("view", VIEWS)
def test_columns_are_projected_in_the_order_given(view: str) -> None:
    whole = VIEWS[view](SHOP).read_all()
    for name in whole.column_names:
        assert VIEWS[view](SHOP, columns=[name]).read_all().column(0).equals(whole.column(name)), name
    names = whole.column_names[::-3]
    assert VIEWS[view](SHOP, columns=names).read_all().column_names == names


def test_gtids_are_jumped_over() -> None:
    every = rows("transactions")
    named = [row["gtid"] for row in every if row["gtid"]]
    some = ",".join(named[3:9] + named[20:21])
    found = rows("transactions", include_gtids=some)
    assert [row["gtid"] for row in found] == named[3:9] + named[20:21]
    assert [row for row in every if row["gtid"] in named[3:9] + named[20:21]] == found
    rest = rows("transactions", exclude_gtids=some)
    assert [row["gtid"] for row in rest if row["gtid"]] == [
        g for g in named if g not in named[3:9] + named[20:21]
    ]
    assert rows("transactions", start=gtidal.GtidSet(some)) == rest


def test_where_a_replica_of_mariadb_is(tmp_path: Path) -> None:
    """It knows one GTID of a domain, and has what other servers wrote there before."""
    maker = LogMaker(None, server_version="11.8.6-MariaDB")
    for sequence, server in ((1, 10), (2, 10), (3, 20), (4, 20), (5, 10)):
        maker.server_id = server
        maker.add(MariadbGtidEvent(sequence=sequence, domain=0, flags=0, padding=bytes(6)))
        maker.statements(f"INSERT INTO t VALUES ({sequence})")
        maker.add(Xid(sequence))
    file = tmp_path / "binlog.000001"
    file.write_bytes(maker.data)
    for start, left in (("0-10-2", ["0-20-3", "0-20-4", "0-10-5"]), ("0-20-4", ["0-10-5"]), ("7-1-9", None)):
        found = [row["gtid"] for row in rows("transactions", file, start=start)]
        assert found == (left or ["0-10-1", "0-10-2", "0-20-3", "0-20-4", "0-10-5"]), start
    assert {row["gtid"] for row in rows("changes", file, start="0-20-4")} == {"0-10-5"}


@pytest.mark.parametrize("view", ["transactions", "changes"])
def test_positions_and_times(view: str) -> None:
    every = rows(view)
    place = "transaction_position" if view == "changes" else "position"
    files = sorted({row["file"] for row in every})
    second = [row for row in every if row["file"] == files[1]]
    cut = second[len(second) // 2][place]
    after = [
        row for row in every if row["file"] > files[1] or (row["file"] == files[1] and row[place] >= cut)
    ]
    before = [row for row in every if row not in after]
    assert rows(view, start=f"{files[1]}:{cut}") == after
    assert rows(view, stop=f"{files[1]}:{cut}") == before
    moment = rows("transactions")[len(rows("transactions")) // 2]["timestamp"]
    starts = {(t["file"], t["position"]): t["timestamp"] for t in rows("transactions")}
    late = [row for row in every if starts[row["file"], row[place]] >= moment]
    assert rows(view, start=moment) == late == rows(view, start=moment.isoformat())
    assert rows(view, stop=moment) == [row for row in every if row not in late]


@pytest.mark.parametrize("view", ["events", "transactions", "changes"])
def test_any_offset_will_do(view: str) -> None:
    """Also one inside an event: what begins behind it is read, as a whole."""
    every = rows(view)
    place = "transaction_position" if view == "changes" else "position"
    file = sorted({row["file"] for row in every})[1]
    places = [row[place] for row in every if row["file"] == file]
    for offset in range(min(places) + 1, max(places) + 40, 1 + (max(places) - min(places)) // 50):
        after = [row for row in every if (row["file"], row[place]) >= (file, offset)]
        options = {"columns": ["file", place]}
        found = rows(view, start=f"{file}:{offset}", **options)
        assert [(row["file"], row[place]) for row in found] == [(row["file"], row[place]) for row in after]
        found = rows(view, stop=f"{file}:{offset}", **options)
        assert len(found) == len(every) - len(after)
        assert all((row["file"], row[place]) < (file, offset) for row in found)


def test_events_that_do_not_tell_where_they_are(tmp_path: Path) -> None:
    """MariaDB, since 11, writes no position into the events inside of a transaction."""
    data = bytearray((SHOP / "binlog.000002").read_bytes())
    for event in gtidal.open_log(SHOP / "binlog.000002"):
        begin, end = event.header.position, event.header.position + event.header.size
        if event.name in ("QUERY", "TABLE_MAP") or event.name.endswith("_ROWS"):
            data[begin + 13 : begin + 17] = bytes(4)
            data[end - 4 : end] = crc32(data[begin : end - 4]).to_bytes(4, "little")
    file = tmp_path / "binlog.000002"
    file.write_bytes(data)
    places = [row["position"] for row in rows("events", file, columns=["position"])]
    for place in places[:40:3] + places[-9:]:
        for offset in (place - 1, place, place + 1):
            after = [each for each in places if each >= offset]
            found = rows("events", file, start=offset, columns=["position"])
            assert [row["position"] for row in found] == after, offset
            found = rows("events", file, stop=offset, columns=["position"])
            assert [row["position"] for row in found] == places[: len(places) - len(after)], offset


def test_tables_keep_the_numbers_of_rows() -> None:
    every = rows("changes")
    for options, keeps in (
        ({"tables": ["shop.orders"]}, lambda row: row["table"] == "orders"),
        ({"tables": "order*"}, lambda row: str(row["table"]).startswith("order")),
        ({"schemas": ["sho*"], "tables": "*.products"}, lambda row: row["table"] == "products"),
    ):
        found = [row for row in rows("changes", **options) if row["table"] is not None]
        assert found == [row for row in every if row["table"] is not None and keeps(row)]
        assert found
    assert rows("changes", schemas=["other"]) == []


def test_types_and_servers() -> None:
    every = rows("events")
    found = rows("events", types=["XID", "write_rows"])
    assert found == [row for row in every if row["type"] in ("XID", "WRITE_ROWS")]
    assert rows("events", types="XID, 30") == found
    inserts = rows("changes", types=["WRITE_ROWS"])
    assert inserts == [row for row in rows("changes") if row["op"] == "insert"]
    server = every[0]["server_id"]
    assert rows("events", server_ids=server) == every
    assert rows("events", exclude_server_ids=[server]) == []
    assert rows("transactions", types=["DELETE_ROWS"]) == [
        row for row in rows("transactions") if row["rows_deleted"]
    ]


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_nothing(view: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = rows(view, threads=1)
    monkeypatch.setattr(parallel, "STRETCH", 6000)
    tasks = [(file, views_stretch()) for file in views.find_logs(SHOP)]
    cuts = list(parallel._stretches(tasks, scan_of(view), threads))
    assert len(cuts) > 6
    assert rows(view, threads=threads) == expected


LEAVE = """
import subprocess
import sys
import gtidal
from gtidal import parallel
parallel.STRETCH, parallel.READ_AHEAD = 6000, 1
reader = gtidal.changes(sys.argv[1], threads=2)
print(reader.read_next_batch().num_rows > 0, flush=True)
"""


def test_who_leaves_early_does_not_wait() -> None:
    """Threads that nobody takes batches from any more do not keep the process."""
    command = [sys.executable, "-c", LEAVE, str(SHOP)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("True\n", "", 0)


def views_stretch() -> Any:
    from gtidal.columnar.scanning import Stretch

    return Stretch()


def scan_of(view: str) -> Any:
    from gtidal.columnar.scanning import Scan

    return Scan(("file",))


@pytest.mark.parametrize("log", corpus_logs(), ids=str)
def test_threads_change_nothing_in_the_corpus(log: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if log.path.stat().st_size > 3 << 20:
        pytest.skip("large: the sequential read alone takes long")

    def outcome(threads: int) -> Any:
        found: list[Any] = []
        try:
            for batch in gtidal.changes(log.path, threads=threads):
                found.extend(batch.to_pylist())
        except gtidal.GtidalError as error:
            return found, str(error)
        return found, None

    expected = outcome(1)
    monkeypatch.setattr(parallel, "STRETCH", 3000)
    assert outcome(2) == expected


def test_wrong_use_is_told() -> None:
    for options, word in (
        ({"columns": ["nothing"]}, "nothing"),
        ({"columns": "file"}, "list"),
        ({"threads": 0}, "threads"),
        ({"start": "yesterday"}, "yesterday"),
        ({"start": "2026-13-01"}, "2026-13-01"),
        ({"start": "binlog.999999:4"}, "binlog.999999"),
        ({"types": ["NO_SUCH"]}, "NO_SUCH"),
        ({"server_ids": "one"}, "one"),
        ({"tables_": "x"}, "tables_"),
    ):
        with pytest.raises((UsageError, TypeError), match=word):
            gtidal.transactions(SHOP, **options)
    with pytest.raises(UsageError, match="images"):
        gtidal.changes(SHOP, images="xml")


def test_names_from_definitions(tmp_path: Path) -> None:
    """Only names that the log does not tell are taken; the sample log tells all."""
    script = tmp_path / "shop.sql"
    script.write_text("CREATE TABLE shop.orders (a INT)")
    assert rows("changes", schema_from=script) == rows("changes")


def test_batches_are_neither_tiny_nor_huge() -> None:
    sizes = [batch.num_rows for batch in gtidal.events(SHOP)]
    assert sum(sizes) == len(rows("events"))
    assert len(sizes) <= 3
    assert Counter(type(batch) for batch in gtidal.events(SHOP)) == {pa.RecordBatch: len(sizes)}


def test_typed_rows() -> None:
    """Against the same rows in ``changes``, by another road."""
    found = gtidal.rows(SHOP, "shop.orders").read_all().to_pylist()
    changes = [row for row in rows("changes", images="json", tables="shop.orders") if row["table"]]
    sides = {"insert": ("insert",), "delete": ("delete",), "update": ("update_preimage", "update_postimage")}
    expected = [
        (side, row["file"], row["position"], row["row"], row["gtid"])
        for row in changes
        for side in sides[row["op"]]
    ]
    assert [
        (row["_change_type"], row["_file"], row["_position"], row["_row"], row["_gtid"]) for row in found
    ] == expected
    assert gtidal.rows(SHOP, "shop.orders", columns=["total", "_row"], threads=1).read_all().to_pylist() == [
        {"total": row["total"], "_row": row["_row"]} for row in found
    ]


def test_typed_rows_of_no_table() -> None:
    with pytest.raises(UsageError, match=r"shop\.nothing"):
        gtidal.rows(SHOP, "shop.nothing")
    with pytest.raises(UsageError, match="schema"):
        gtidal.rows(SHOP, "orders")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"columns": []}, "columns: name at least one"),
        ({"server_ids": "x"}, "server_ids='x': it is a number, or several with commas between"),
        ({"assume_charset": "klingon"}, "no charset is called 'klingon'"),
        ({"start": "binlog.000003:4", "stop": "binlog.000002:4"}, "stop lies before start"),
        ({"start": "binlog.000002:900", "stop": "binlog.000002:300"}, "stop lies before start"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_read(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        gtidal.changes(SHOP, **options)
