"""``events`` from any offset on, and up to any: exactly the rows of the whole log that lie there, with all they say."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import gtidal
from gtidal import parallel, views
from gtidal.columnar.splitting import Boundaries
from gtidal.columnar.windows import WindowReader
from gtidal.errors import DecodeError
from gtidal.planning import plan_read, read_part
from tests.hostile.small_logs import small_logs
from tests.logs import corpus_logs

SHOP = Path(__file__).parents[2] / "examples" / "shop"
CORPUS = [log for log in corpus_logs() if log.path.stat().st_size < 20_000 and not log.bad_checksums]
FILE = "binlog.000002"
Rows = list[dict[str, Any]]


def rows(batches: Iterable[pa.RecordBatch]) -> Rows:
    return [row for batch in batches for row in batch.to_pylist()]


def events(path: Any, **options: Any) -> Rows:
    return rows(gtidal.events(path, **options))


def events_in_parts(path: Any, splitting: str = "search", **options: Any) -> Rows:
    def batches() -> Iterator[pa.RecordBatch]:
        for part in plan_read(path, options, part_bytes=900, splitting=splitting, view="events").parts:
            yield from read_part("events", part, options)

    return rows(batches())


def place(row: dict[str, Any]) -> int:
    """Events inside of a payload are where it is."""
    outer = row["payload_position"]
    return int(row["position"] if outer is None else outer)


def offsets(every: Rows, most: int = 40) -> list[int]:
    """Where events begin, and beside; some of them, if there are very many."""
    places = sorted({place(row) + by for row in every for by in (-1, 0, 1)} | {0, every[-1]["end_position"]})
    return places[:: 1 + len(places) // most]


def from_offset(every: Rows, file: str, offset: int) -> Rows:
    return [row for row in every if (row["file"], place(row)) >= (file, offset)]


def before_offset(every: Rows, file: str, offset: int) -> Rows:
    return [row for row in every if (row["file"], place(row)) < (file, offset)]


def check(path: Path, read: Any = events, **options: Any) -> None:
    every = events(path, threads=1, **options)
    for offset in offsets(events(path, threads=1, mode="DROPMALFORMED"), 16):
        expected = from_offset(every, path.name, offset)
        assert read(path, start=offset, **options) == expected, f"start={offset}"
        expected = before_offset(every, path.name, offset)
        assert read(path, stop=offset, **options) == expected, f"stop={offset}"


def transaction_at(every: Rows, position: int) -> str:
    return next(str(row["gtid"]) for row in every if row["position"] == position)


def test_the_middle_of_a_transaction() -> None:
    path = SHOP / FILE
    whole = events(path)
    assert [row["position"] for row in events(path, start=2829, stop=3222, tables="shop.*")] == [
        2829,
        3067,
        3221,
    ]
    shown = events(path, start=2829, stop=3222)
    assert {row["transaction_position"] for row in shown} == {2105}
    gtid = transaction_at(whole, 2829)
    assert {row["gtid"] for row in shown} == {gtid}
    assert events(path, start=2829, stop=3222, include_gtids=gtid) == shown
    assert events(path, start=2829, stop=3222, exclude_gtids=gtid) == []


@pytest.mark.parametrize("file", ["binlog.000001", "binlog.000002", "binlog.000003"])
@pytest.mark.parametrize("read", [events, events_in_parts])
def test_every_offset_of_a_log(file: str, read: Any) -> None:
    check(SHOP / file, read)


def test_details_are_the_same() -> None:
    every = events(SHOP / FILE, detail=True)
    for offset in offsets(every, 12):
        assert events(SHOP / FILE, start=offset, detail=True) == from_offset(every, FILE, offset)


@pytest.mark.parametrize("read", [events, events_in_parts])
@pytest.mark.parametrize("option", ["tables", "include_gtids", "exclude_gtids", "types"])
def test_offsets_and_filters(read: Any, option: str) -> None:
    path = SHOP / FILE
    gtid = transaction_at(events(path), 2829)
    value = {"tables": "shop.*", "types": "UPDATE_ROWS,TABLE_MAP"}.get(option, gtid)
    check(path, read, **{option: value})


def test_several_files_in_parts_and_by_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "STRETCH", 900)
    every = events(SHOP)
    for offset in offsets([row for row in every if row["file"] == FILE], 7):
        here = f"{FILE}:{offset}"
        for ways in ({"start": here}, {"stop": here}):
            expected = (from_offset if "start" in ways else before_offset)(every, FILE, offset)
            assert events(SHOP, threads=3, **ways) == expected, ways
            assert events_in_parts(SHOP, **ways) == expected, ways
            assert events_in_parts(SHOP, "walk", **ways) == expected, ways


@pytest.mark.parametrize("window", [256, 1000, 5000])
@pytest.mark.parametrize("mode", ["FAILFAST", "PERMISSIVE", "DROPMALFORMED"])
def test_all_windows_and_modes(monkeypatch: pytest.MonkeyPatch, window: int, mode: str) -> None:
    one = views._one
    monkeypatch.setattr(
        views,
        "_one",
        lambda read, file, scan, stretch: one(read, file, replace(scan, window=window), stretch),
    )
    every = events(SHOP / FILE, mode=mode, threads=1)
    for offset in offsets(every, 9):
        assert events(SHOP / FILE, mode=mode, start=offset, threads=1) == from_offset(every, FILE, offset)
        assert events(SHOP / FILE, mode=mode, stop=offset, threads=1) == before_offset(every, FILE, offset)


@pytest.mark.parametrize("number", range(len(small_logs(others=True))))
def test_small_logs_of_all_kinds(tmp_path: Path, number: int) -> None:
    path = tmp_path / "binlog.000001"
    path.write_bytes(small_logs(others=True)[number])
    every = events(path, threads=1)
    for offset in offsets(every, 9):
        for read in (events, events_in_parts):
            assert read(path, start=offset) == from_offset(every, path.name, offset), offset
            assert read(path, stop=offset) == before_offset(every, path.name, offset), offset


@pytest.mark.parametrize("log", CORPUS, ids=str)
def test_public_logs(log: Any) -> None:
    try:
        every = events(log.path, threads=1)
    except DecodeError:
        pytest.skip("damaged: there is no whole read to compare with; test_modes has damaged logs")
    for offset in offsets(every, 10):
        for read in (events, events_in_parts):
            assert read(log.path, start=offset) == from_offset(every, log.name, offset), offset
            assert read(log.path, stop=offset) == before_offset(every, log.name, offset), offset


class OfServer(io.FileIO):
    """Servers send a log only from where an event begins."""

    searchable = False


def test_what_cannot_be_searched_is_gone_through() -> None:
    path = SHOP / FILE
    size = path.stat().st_size
    every = events(path)
    for offset in offsets(every):
        found = []
        for stream in (OfServer(path), io.FileIO(path)):
            with stream:
                found.append(Boundaries(WindowReader(stream, FILE), size).around_events(offset, offset))
        assert found[0] == found[1], offset
    begins = next(row["transaction_position"] for row in every if row["position"] == 2829)
    with OfServer(path) as stream:
        place, _ = Boundaries(WindowReader(stream, FILE), size).around_events(2829, None)
        assert place is not None
        assert place.position == begins


# --- damage in the transaction that an offset is in


def damaged_at(tmp_path: Path, position: int) -> Path:
    data = bytearray((SHOP / FILE).read_bytes())
    data[position + 30] ^= 1
    path = tmp_path / FILE
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED"])
@pytest.mark.parametrize("read", [events, events_in_parts])
def test_offsets_around_damage(tmp_path: Path, mode: str, read: Any) -> None:
    path = damaged_at(tmp_path, 2829)
    check(path, read, mode=mode)


@pytest.mark.parametrize("read", [events, events_in_parts])
def test_damage_before_the_start_does_not_raise(tmp_path: Path, read: Any) -> None:
    path = damaged_at(tmp_path, 2829)
    behind = [row for row in events(path, mode="DROPMALFORMED") if row["position"] > 2829]
    assert read(path, start=behind[0]["position"]) == behind
    with pytest.raises(DecodeError, match="checksum"):
        read(path, start=2829)


def test_further_damage_behind_the_start_raises(tmp_path: Path) -> None:
    path = damaged_at(damaged_at(tmp_path, 2829).parent, 2829)
    data = bytearray(path.read_bytes())
    data[3221 + 30] ^= 1
    path.write_bytes(data)
    with pytest.raises(DecodeError, match="checksum") as raised:
        events(path, start=3067)
    assert raised.value.position == 3221


@pytest.mark.parametrize("window", [256, 1000, 1 << 20])
def test_statements_are_selected_by_table_however_windows_end(
    monkeypatch: pytest.MonkeyPatch, window: int
) -> None:
    """BEGIN has a default schema, too, and changes nothing."""
    one = views._one
    monkeypatch.setattr(
        views,
        "_one",
        lambda read, file, scan, stretch: one(read, file, replace(scan, window=window), stretch),
    )
    shown = events(SHOP / FILE, tables="shop.*", threads=1, detail=True)
    queries = [row["position"] for row in shown if row["type"] == "QUERY"]
    changed = gtidal.changes(SHOP / FILE, tables="shop.*", threads=1, columns=["position", "op"])
    assert queries == [row["position"] for row in rows(changed) if row["op"] in ("statement", "ddl")]
