"""The views as their users meet them: columns of their own choice, DuckDB and Polars, batches of bounded size."""

from __future__ import annotations

import io
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import polars
import pyarrow as pa
import pytest

from gtidal.columnar.scanning import VIEWS, LogScan, Scan
from gtidal.columnar.schemas import CHANGES, DETAIL, EVENTS, TRANSACTIONS
from gtidal.columnar.views.changes import schema_of
from gtidal.events import Event, rows, transaction
from tests.columnar.drift_judges import FILE, JUDGED, SCHEMAS, How, read_view, row_difference
from tests.columnar.test_memory import insert, whole
from tests.hostile.small_logs import small_logs
from tests.logs import build_log, corpus_logs
from tests.samples import UUID, payload, query, with_type

MOST_ROWS = 1 << 16
LARGEST_BATCH = 32 << 20


@cache
def shop() -> bytes:
    """Inserts, an update and a delete of all column types, DDL, XA, a compressed transaction."""
    texts = small_logs()[-7:]
    assert len({len(text) for text in texts}) > 1
    events: list[Event] = []
    for number in range(1, 4):
        events += [gtid(number), *whole(insert(3, 20, flags=1))[1:]]
    events += [gtid(4), query(b"CREATE TABLE t (a INT)"), gtid(5), payload()]
    events += [
        gtid(6),
        query(b"XA START X'61',X'',1"),
        query(b"XA END X'61',X'',1"),
        transaction.XaPrepare(0, 1, b"a", b""),
    ]
    events += [gtid(7), query(b"XA COMMIT X'61',X'',1")]
    events += [query(b"BEGIN"), *whole(insert(2, 5, flags=1))[2:4], query(b"ROLLBACK")]
    return build_log([with_type(event) for event in events])


def gtid(number: int) -> transaction.Gtid:
    return transaction.Gtid(
        flags=1,
        uuid=UUID,
        gno=number,
        clock_type=2,
        last_committed=number - 1,
        sequence_number=number,
        immediate_commit_timestamp=1_748_308_013_569_478 + number,
        transaction_length=900,
        immediate_server_version=90704,
    )


def reader(view: str, log: bytes, images: str = "variant") -> pa.RecordBatchReader:
    columns = tuple({"events": EVENTS, "transactions": TRANSACTIONS, "changes": CHANGES}[view].names)
    schema = schema_of(columns, images) if view == "changes" else SCHEMAS[view]
    schema = pa.schema([schema.field(name) for name in columns])
    scan = LogScan(io.BytesIO(log), FILE, Scan(columns, images=images))
    return pa.RecordBatchReader.from_batches(schema, VIEWS[view](scan))


# --- others read them


QUERIES = {
    "events": (
        "SELECT count(*), count(gtid), count(payload_position), sum(size)::BIGINT FROM view",
        (34, 29, 4, None),
    ),
    "transactions": (
        "SELECT count(*), count(gtid), sum(rows_inserted)::BIGINT, count(*) FILTER (WHERE outcome = 'rollback') FROM view",
        (8, 7, 13, 1),
    ),
    "changes": (
        "SELECT count(*), count(\"after\"), count(*) FILTER (WHERE op = 'ddl'), max(row)::BIGINT FROM view",
        (13, 11, 1, 2),
    ),
}


@pytest.mark.parametrize("view", JUDGED)
def test_duckdb(view: str) -> None:
    told = read_view(view, shop(), How()).rows
    with duckdb.connect() as connection:
        connection.register("view", reader(view, shop()))
        sql, expected = QUERIES[view]
        (found,) = connection.execute(sql).fetchall()
        assert [
            one for one, want in zip(found, expected, strict=True) if want is not None and one != want
        ] == [], found
        assert found[0] == len(told)
        connection.register("again", reader(view, shop()))
        times = connection.execute("SELECT DISTINCT epoch_us(timestamp) FROM again").fetchall()
    assert times == [(1_700_000_000_000_000,)]


@pytest.mark.parametrize("view", JUDGED)
def test_polars(view: str) -> None:
    told = read_view(view, shop(), How()).rows
    frame = polars.DataFrame(reader(view, shop()))
    assert frame.columns == reader(view, shop()).schema.names
    assert frame.height == len(told)
    assert frame["position"].to_list() == [row["position"] for row in told]
    assert frame["gtid"].to_list() == [row["gtid"] for row in told]
    moments = frame["timestamp"].dt.epoch("us").to_list()
    assert moments == [row["timestamp"] for row in told]


@pytest.mark.parametrize("images", ["variant", "json"])
def test_pandas_is_not_loaded(tmp_path: Path, images: str) -> None:
    """Arrow would do it, for lists of values: half a second at the start of whoever has pandas installed."""
    log = tmp_path / FILE
    log.write_bytes(shop())
    code = f"import sys, gtidal; gtidal.changes({str(log)!r}, images={images!r}).read_all(); print('pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_images_as_json_in_duckdb() -> None:
    with duckdb.connect() as connection:
        connection.register("view", reader("changes", shop(), "json"))
        sql = "SELECT count(*), min(json_extract(\"after\", '$.id')::INT) FROM view WHERE \"table\" = 'blobs'"
        assert connection.execute(sql).fetchall() == [(9, 0)]


# --- columns


@pytest.mark.parametrize("view", JUDGED)
def test_each_column_alone(view: str) -> None:
    """What a column holds does not depend on what else is asked for."""
    log = shop()
    everything = read_view(view, log, How(uncommitted=True)).rows
    for name in SCHEMAS[view].names:
        alone = read_view(view, log, How(uncommitted=True, columns=(name,)))
        assert alone.error is None
        assert len(alone.rows) == len(everything)
        for one, other in zip(alone.rows, everything, strict=True):
            assert list(one) == [name]
            assert row_difference(other, one) is None


@pytest.mark.parametrize("view", JUDGED)
def test_columns_in_another_order(view: str) -> None:
    names = tuple(reversed(SCHEMAS[view].names))
    assert [*read_view(view, shop(), How(columns=names)).rows[0]] == list(names)


def test_no_image_is_made_that_nobody_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    from gtidal.columnar.views.changes import ChangeReader

    def refuse(*_: Any) -> None:
        raise AssertionError("an image was written")

    monkeypatch.setattr(ChangeReader, "variants", refuse)
    without = tuple(name for name in CHANGES.names if name not in ("before", "after"))
    assert read_view("changes", shop(), How(columns=without)).rows
    with pytest.raises(AssertionError, match="an image was written"):
        read_view("changes", shop(), How())


def test_detail_is_the_last_column() -> None:
    assert [*EVENTS.names, DETAIL.name] == SCHEMAS["events"].names


# --- batches


@pytest.mark.parametrize("view", JUDGED)
def test_batches_are_bounded(view: str) -> None:
    """By rows, and by bytes: as much as a window holds."""
    events = whole(*(insert(500, 4000, start=500 * number) for number in range(10)))
    log = build_log(events)
    columns = tuple(SCHEMAS[view].names)
    found = list(VIEWS[view](LogScan(io.BytesIO(log), FILE, Scan(columns))))
    assert sum(batch.num_rows for batch in found) == {"events": 15, "transactions": 1, "changes": 5000}[view]
    assert all(0 < batch.num_rows <= MOST_ROWS for batch in found)
    assert all(batch.nbytes < LARGEST_BATCH for batch in found)


def test_rows_are_numbered_through_windows() -> None:
    log = build_log(whole(*(insert(7, 100, start=7 * number) for number in range(20))))
    for window in (300, 2000, 1 << 20):
        found = read_view("changes", log, How(window=window, columns=("row", "transaction_position")))
        assert [row["row"] for row in found.rows] == list(range(140))
        assert len({row["transaction_position"] for row in found.rows}) == 1


def test_empty_logs() -> None:
    for log in (b"\xfebin", build_log([])):
        for view in ("transactions", "changes"):
            found = read_view(view, log, How())
            assert found.rows == []
            assert found.error is None


def test_what_is_no_log() -> None:
    for view in JUDGED:
        error = read_view(view, b"PK\x03\x04 something else", How()).error
        assert error is not None
        assert error[0] == "NotABinlog"


@pytest.mark.parametrize("log", [log for log in corpus_logs() if log.path.stat().st_size < 4000][:6], ids=str)
def test_a_path_and_its_bytes_are_read_alike(log: Any) -> None:
    path: Path = log.path
    for view in JUDGED:
        assert read_view(view, path, How()) == read_view(view, path.read_bytes(), How())


def test_the_log_holds_what_it_should() -> None:
    """So that the tests above do not compare nothing with nothing."""
    kinds = {row["op"] for row in read_view("changes", shop(), How(uncommitted=True)).rows}
    assert kinds == {"insert", "ddl", "xa_commit"}
    assert rows.WriteRows.name in {row["type"] for row in read_view("events", shop(), How()).rows}
