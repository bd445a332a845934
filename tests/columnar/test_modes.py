"""Damaged logs in all modes: nothing raises, nothing is shown twice, what is sound is all there."""

from __future__ import annotations

import io
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import gtidal
from gtidal import parallel
from gtidal.columnar import kernel, modes
from gtidal.columnar.codes import MODES
from gtidal.columnar.modes import BadRegion, schema_in_mode, view_in_mode
from gtidal.columnar.scanning import LogScan, Scan
from gtidal.columnar.schemas import CHANGES, EVENTS, ROWS, TRANSACTIONS
from gtidal.errors import ChecksumMismatch, NotABinlog, UsageError
from gtidal.events.rows import Row as LogRow
from gtidal.events.rows import WriteRows
from gtidal.events.table_map import ColumnName
from gtidal.log.audit import FileAudit
from gtidal.log.findings import Kind
from tests.hostile.damage import Damager, event_spans
from tests.hostile.small_logs import small_logs
from tests.planning.making import TABLE, LogMaker, insert

SCHEMAS = {"events": EVENTS, "transactions": TRANSACTIONS, "changes": CHANGES}
SEEDS = range(120)
Row = dict[str, Any]


def permissive(view: str, data: bytes, window: int = 1 << 14) -> tuple[list[Row], list[BadRegion]]:
    schema = SCHEMAS[view]
    log = LogScan(io.BytesIO(data), "log", Scan(columns=tuple(schema.names), window=window))
    found: list[BadRegion] = []
    read = view_in_mode(view, "PERMISSIVE", schema_in_mode(schema, "PERMISSIVE"), found.append)
    return [row for batch in read(log) for row in batch.to_pylist()], found


def regions_of_verify(data: bytes) -> set[tuple[int, int]]:
    audit = FileAudit("log", len(data))
    audit.receive_data(data)
    findings = list(audit.findings())
    audit.end_of_data()
    findings += audit.findings()
    kinds = (Kind.DAMAGE, Kind.CHECKSUM, Kind.ROWS)
    found = {(each.position or 0, each.size) for each in findings if each.kind in kinds and each.size}
    if audit.account.partial:
        found.add((len(data) - audit.account.partial, audit.account.partial))
    return found


# --- whatever the damage


@pytest.mark.parametrize("seed", SEEDS)
def test_every_byte_is_in_one_row(seed: int) -> None:
    data = Damager(small_logs(), seed).next()
    rows, found = permissive("events", data)
    at = min(4, len(data), *(row["position"] for row in rows))
    for row in rows:
        if row["payload_position"] is None:
            assert row["position"] == at
            at = row["end_position"]
    assert at == len(data)
    shown = [row["_corrupt"] for row in rows if row["_corrupt"]]
    assert [(each["position"], each["length"]) for each in shown] == [
        (each.position, each.length) for each in found
    ]
    for each in shown:
        start = each["position"]
        assert each["reason"]
        assert each["bytes"] == data[start : start + min(each["length"], 64)]


@pytest.mark.parametrize("seed", SEEDS)
def test_bad_regions_are_those_of_verify(seed: int) -> None:
    data = Damager(small_logs(), seed).next()
    known = regions_of_verify(data)
    for view in SCHEMAS:
        for region in permissive(view, data)[1]:
            if (region.position, region.length) in known:
                continue
            # verify does not put pieces of rows together, and looks into no value
            event = region.reason.replace(":", ",").split(",")[0]
            assert event == "PARTIAL_ROW_DATA" or (view == "changes" and event.endswith("_ROWS"))
            assert (region.position, region.position + region.length) in event_spans(data)


@pytest.mark.parametrize("seed", range(40))
def test_windows_of_any_size_give_the_same(seed: int) -> None:
    data = Damager(small_logs(), f"windows {seed}").next()
    for view in SCHEMAS:
        assert permissive(view, data, 256) == permissive(view, data, 1 << 20)


@pytest.mark.skipif(bool(kernel.interpreted_modules()), reason="the kernel is not compiled")
@pytest.mark.parametrize("seed", range(25))
def test_kernels_agree(seed: int) -> None:
    data = Damager(small_logs(), seed).next()
    for view in SCHEMAS:
        with kernel.use("interpreted"):
            expected = permissive(view, data)
        assert permissive(view, data) == expected


# --- one damaged event


def sound(count: int = 8) -> LogMaker:
    maker = LogMaker("")
    for number in range(1, count + 1):
        maker.transaction(number, *insert(number, b"a" * 40), *insert(number + 100, b"b" * 40))
    maker.rotate()
    return maker


def damaged_in(data: bytes, transaction: int, event: int) -> tuple[bytes, tuple[int, int]]:
    """A byte of one event of one transaction (GTID, BEGIN, map, rows, map, rows, XID) is changed."""
    span = event_spans(data)[2 + 7 * (transaction - 1) + event]
    broken = bytearray(data)
    broken[span[1] - 8] ^= 0xFF
    return bytes(broken), span


def written(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "binlog.000001"
    path.write_bytes(data)
    return path


def read(view: str, path: Path, **options: Any) -> list[Row]:
    rows: list[Row] = getattr(gtidal, view)(path, **options).read_all().to_pylist()
    return rows


def without_corrupt(rows: list[Row]) -> list[Row]:
    kept = [row for row in rows if row["_corrupt"] is None]
    return [{name: value for name, value in row.items() if name != "_corrupt"} for row in kept]


@pytest.mark.parametrize("event", range(7))
@pytest.mark.parametrize("transaction", [1, 4, 8])
def test_the_transaction_is_lost_and_no_other(transaction: int, event: int, tmp_path: Path) -> None:
    whole = bytes(sound().data)
    data, (start, end) = damaged_in(whole, transaction, event)
    expected = read("changes", written(tmp_path, whole))
    gtid = next(row["gtid"] for row in expected if row["gtid"].endswith(f":{transaction}"))
    path = written(tmp_path, data)
    rows = read("changes", path, mode="PERMISSIVE")
    assert without_corrupt(rows) == [row for row in expected if row["gtid"] != gtid]
    (bad,) = [row for row in rows if row["_corrupt"]]
    assert (bad["file"], bad["position"], bad["op"], bad["timestamp"]) == ("binlog.000001", start, None, None)
    assert bad["_corrupt"]["length"] == end - start
    assert "checksum" in bad["_corrupt"]["reason"]
    assert read("changes", path, mode="DROPMALFORMED") == without_corrupt(rows)


def test_what_is_left_of_it_is_incomplete(tmp_path: Path) -> None:
    whole = bytes(sound().data)
    data, (start, _) = damaged_in(whole, 4, 5)
    path = written(tmp_path, data)
    transactions = read("transactions", path, mode="PERMISSIVE")
    (cut,) = [row for row in transactions if row["outcome"] == "incomplete"]
    assert cut["gtid"].endswith(":4")
    assert cut["end_position"] == start
    assert cut["rows_inserted"] == 1
    assert len(without_corrupt(transactions)) == 8
    changes = read("changes", path, mode="PERMISSIVE", include_uncommitted=True)
    (shown,) = [row for row in changes if row["outcome"] == "incomplete"]
    assert (shown["gtid"], shown["row"]) == (cut["gtid"], 0)
    events = read("events", path, mode="PERMISSIVE")
    place = next(number for number, row in enumerate(events) if row["_corrupt"])
    behind = events[place + 1]
    assert (behind["type"], behind["gtid"], behind["transaction_position"]) == ("XID", None, None)
    assert events[place + 2]["gtid"].endswith(":5")


def test_typed_rows(tmp_path: Path) -> None:
    whole = bytes(sound().data)
    data, (start, _) = damaged_in(whole, 4, 3)
    expected = gtidal.rows(written(tmp_path, whole), "shop.blobs").read_all().to_pylist()
    table = gtidal.rows(written(tmp_path, data), "shop.blobs", mode="PERMISSIVE").read_all()
    rows = table.to_pylist()
    assert without_corrupt(rows) == [row for row in expected if not row["_gtid"].endswith(":4")]
    (bad,) = [row for row in rows if row["_corrupt"]]
    assert (bad["_position"], bad["id"], bad["_change_type"]) == (start, None, None)


def test_a_transaction_that_is_not_held_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One with more changes than are kept is read twice, so that nothing of it is shown that is not whole."""
    maker = sound(2)
    many = [event for number in range(300) for event in insert(number, b"z" * 200)]
    maker.transaction(3, *many)
    maker.transaction(4)
    whole = bytes(maker.data)
    expected = read("changes", written(tmp_path, whole))
    monkeypatch.setattr(modes, "_MOST_HELD", 4000)
    monkeypatch.setattr(Scan, "window", 4096)
    assert without_corrupt(read("changes", written(tmp_path, whole), mode="PERMISSIVE")) == expected
    broken = bytearray(whole)
    broken[whole.rindex(b"z" * 200) + 50] ^= 1
    rows = without_corrupt(read("changes", written(tmp_path, bytes(broken)), mode="PERMISSIVE"))
    assert rows == [row for row in expected if not row["gtid"].endswith(":3")]


@pytest.mark.parametrize("view", SCHEMAS)
def test_threads_do_not_matter(view: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = bytes(sound(60).data)
    for transaction in (7, 8, 30, 51):
        data, _ = damaged_in(data, transaction, 3)
    path = written(tmp_path, data)
    expected = read(view, path, mode="PERMISSIVE", threads=1)
    assert sum(row["_corrupt"] is not None for row in expected) == 4
    monkeypatch.setattr(parallel, "STRETCH", 2000)
    assert read(view, path, mode="PERMISSIVE", threads=3) == expected


# --- what is told


def test_what_is_dropped_is_logged_and_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    data = bytes(sound().data)
    spans = []
    for transaction in (2, 5):
        data, span = damaged_in(data, transaction, 3)
        spans.append(span)
    found: list[BadRegion] = []
    with caplog.at_level(logging.WARNING, "gtidal"):
        read("changes", written(tmp_path, data), mode="DROPMALFORMED", on_corrupt=found.append)
    assert [(each.position, each.position + each.length) for each in found] == spans
    assert len(caplog.messages) == 2
    for message, (start, _) in zip(caplog.messages, spans, strict=True):
        assert message.startswith(f"dropped: binlog.000001, position {start}, ")


def test_a_log_that_is_cut(tmp_path: Path) -> None:
    data = bytes(sound().data)[:-60]
    rows = read("events", written(tmp_path, data), mode="PERMISSIVE")
    assert rows[-1]["end_position"] == len(data)
    assert "ends inside an event" in rows[-1]["_corrupt"]["reason"]


@pytest.mark.parametrize("data", [b"", b"\xfeb", b"\xfebin" + bytes(10)])
@pytest.mark.parametrize("view", SCHEMAS)
def test_a_log_that_is_cut_in_its_head(view: str, data: bytes) -> None:
    rows, regions = permissive(view, data)
    assert [(each.position, each.length) for each in regions] == [
        (4, 10) if len(data) > 4 else (0, len(data))
    ]
    assert [row["_corrupt"]["length"] for row in rows] == [each.length for each in regions]


@pytest.mark.parametrize("mode", MODES)
def test_what_is_no_log_raises(mode: str, tmp_path: Path) -> None:
    with pytest.raises(NotABinlog):
        read("changes", written(tmp_path, b"something else altogether, no log"), mode=mode)


def test_an_unknown_mode(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="mode='LENIENT': FAILFAST, PERMISSIVE or DROPMALFORMED"):
        read("changes", written(tmp_path, bytes(sound().data)), mode="LENIENT")


# --- columns


@pytest.mark.parametrize(
    "schema", [EVENTS, TRANSACTIONS, CHANGES, ROWS], ids=["events", "transactions", "changes", "rows"]
)
def test_schemas(schema: pa.Schema) -> None:
    for mode in ("FAILFAST", "DROPMALFORMED"):
        assert schema_in_mode(schema, mode) == schema
    shown = schema_in_mode(schema, "PERMISSIVE")
    assert shown.names == [*schema.names, "_corrupt"]
    assert {field.name for field in shown if not field.nullable} <= {
        "file",
        "position",
        "end_position",
        "_file",
        "_position",
    }
    assert [field.type for field in shown][:-1] == [field.type for field in schema]


def test_a_table_with_such_a_column() -> None:
    with pytest.raises(UsageError, match="_corrupt of its own"):
        schema_in_mode(pa.schema([("_corrupt", pa.int64())]), "PERMISSIVE")


def test_a_tables_own_column_has_another_name(tmp_path: Path) -> None:
    table = replace(TABLE, optional=(ColumnName(4, ("_corrupt", "data")),))
    row = LogRow(None, (5, b"x"))
    written_row = WriteRows(table_id=7, flags=1, width=2, after_columns=b"\x03", rows=(row,), table=table)
    maker = LogMaker("")
    maker.transaction(1, table, written_row)
    path = written(tmp_path, bytes(maker.data))
    for mode in MODES:
        found = gtidal.rows(path, "shop.blobs", mode=mode).read_all()
        assert found.column("_corrupt_").to_pylist() == [5]
        assert ("_corrupt" in found.column_names) == (mode == "PERMISSIVE")


def test_columns_in_any_order(tmp_path: Path) -> None:
    data, _ = damaged_in(bytes(sound().data), 4, 3)
    path = written(tmp_path, data)
    table = gtidal.changes(path, mode="PERMISSIVE", columns=["_corrupt", "op"]).read_all()
    assert table.column_names == ["_corrupt", "op"]
    whole = gtidal.changes(path, mode="PERMISSIVE").read_all()
    assert table.column("_corrupt") == whole.column("_corrupt")
    alone = gtidal.changes(path, mode="PERMISSIVE", columns=["_corrupt"]).read_all()
    assert alone.column("_corrupt") == whole.column("_corrupt")


# --- as docs/views.md says


def shop_with_damage(tmp_path: Path) -> tuple[Path, str]:
    """And the GTID of the transaction that it is in."""
    shop = Path(__file__).parents[2] / "examples" / "shop" / "binlog.000002"
    data = bytearray(shop.read_bytes())
    data[2829 + 30] ^= 1
    path = tmp_path / shop.name
    path.write_bytes(data)
    gtids = {row["position"]: row["gtid"] for row in gtidal.events(shop).read_all().to_pylist()}
    return path, str(gtids[2829])


@pytest.mark.parametrize("view", SCHEMAS)
def test_what_is_told_of_whatever_is_selected(tmp_path: Path, view: str) -> None:
    path, gtid = shop_with_damage(tmp_path)

    def told(**options: Any) -> list[int]:
        regions: list[BadRegion] = []
        read = getattr(gtidal, view)
        read(path, mode="DROPMALFORMED", on_corrupt=regions.append, **options).read_all()
        return [region.position for region in regions]

    for options in ({}, {"tables": "x.y"}, {"types": "XID"}, {"server_ids": 5}, {"start": "2030-01-01"}):
        assert told(**options) == [2829], options
    for options in ({"start": 4000}, {"stop": 2000}, {"exclude_gtids": gtid}):
        assert told(**options) == [], options


@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED"])
def test_files_that_hold_nothing(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "binlog.000001"
    path.write_bytes(b"")
    regions: list[BadRegion] = []
    gtidal.events(path, mode=mode, on_corrupt=regions.append).read_all()
    assert [(region.position, region.length) for region in regions] == [(0, 0)]
    path.write_bytes(b"nothing of a log")
    with pytest.raises(NotABinlog):
        gtidal.events(path, mode=mode).read_all()


# --- a damaged head


HEAD_DAMAGE = {
    "checksum": lambda data, start, end: data[: end - 10] + b"\x77" + data[end - 9 :],
    "size": lambda data, start, end: data[: start + 9] + b"\x43" + data[start + 10 :],
    "zeros": lambda data, start, end: data[:start] + bytes(end - start) + data[end:],
    "the second event": lambda data, start, end: data[: end + 25] + b"\x77" + data[end + 26 :],
}


@pytest.mark.parametrize("damage", HEAD_DAMAGE)
@pytest.mark.parametrize("view", SCHEMAS)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_stop_anywhere_behind_a_damaged_head(
    view: str, damage: str, threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What begins before the stop is told: the bad region, if the stop is inside of it, and nothing behind."""
    monkeypatch.setattr(parallel, "STRETCH", 500)
    whole = bytes(sound(3).data)
    head, second = event_spans(whole)[:2]
    path = written(tmp_path, HEAD_DAMAGE[damage](whole, *head))
    everything = read(view, path, mode="PERMISSIVE")
    bad = next(row for row in everything if row["_corrupt"])
    assert bad["position"] == (second if damage == "the second event" else head)[0]
    assert bad["_corrupt"]["length"]
    begins = "position" if view != "changes" else "transaction_position"
    for stop in (
        0,
        4,
        5,
        60,
        head[1] - 1,
        head[1],
        head[1] + 1,
        second[1],
        second[1] + 1,
        700,
        len(whole) - 1,
    ):
        expected = [row for row in everything if (row["position"] if row["_corrupt"] else row[begins]) < stop]
        regions: list[BadRegion] = []
        options = {"stop": stop, "threads": threads, "on_corrupt": regions.append}
        assert read(view, path, mode="PERMISSIVE", **options) == expected, stop
        assert [region.position for region in regions] == [
            row["position"] for row in expected if row["_corrupt"]
        ]
        assert read(view, path, mode="DROPMALFORMED", stop=stop, threads=threads) == without_corrupt(expected)


@pytest.mark.parametrize("view", SCHEMAS)
def test_a_damaged_head_still_raises(view: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At once: a log is not gone through for the sake of its stop."""
    monkeypatch.setattr("gtidal.columnar.modes.stop_behind", None)
    whole = bytes(sound(3).data)
    path = written(tmp_path, HEAD_DAMAGE["checksum"](whole, *event_spans(whole)[0]))
    for stop in (5, 60, 128, 129, 700):
        with pytest.raises(ChecksumMismatch):
            read(view, path, stop=stop)
