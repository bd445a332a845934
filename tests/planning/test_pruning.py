"""What a plan leaves out, and that nothing is missing then."""

from __future__ import annotations

import os
import pickle
import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gtidal.errors import KeyProblem, NotABinlog, UsageError
from gtidal.planning import ReadPlan, plan_read, pruning, read_part
from gtidal.sources.files import Meter
from tests.planning.making import START, UUID, LogMaker, insert
from tests.planning.reading import VIEWS, drained, in_parts, in_sequence

DAY = 86_400


def moment(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def write_day(path: Path, transactions: int, times: list[int] | None = None, blob: int = 4000) -> int:
    """One log of a whole day: transactions of equal size, one behind the other in time."""
    maker = LogMaker("")
    one = LogMaker("")
    start = len(one.data)
    one.transaction(1, *insert(1, random.Random(1).randbytes(blob)))
    maker.repeat(
        bytes(one.data[start:]),
        times or [START + DAY * number // transactions for number in range(transactions)],
    )
    path.write_bytes(maker.data)
    return len(maker.data)


def bytes_read(plan: ReadPlan, view: str, options: dict[str, Any]) -> tuple[int, list[dict[str, Any]]]:
    meter = Meter()
    rows, error = drained(
        batch for part in plan.parts for batch in read_part(view, part, options, meter=meter)
    )
    assert error is None
    return meter.bytes_read, rows


def test_a_twentieth_of_a_day_reads_few_of_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "binlog.000001"
    size = write_day(path, 25_000)
    start, stop = START + DAY // 2, START + DAY // 2 + DAY // 20
    options = {"start": moment(start), "stop": moment(stop)}
    planning = Meter()
    plan = plan_read(path, options, part_bytes=4 << 20, meter=planning)
    reading, rows = bytes_read(plan, "transactions", options)
    assert planning.bytes_read + reading <= 0.07 * size
    assert plan.bytes_planned <= 0.07 * plan.bytes_total
    assert [row["timestamp"].timestamp() for row in rows] == [
        START + DAY * number // 25_000
        for number in range(25_000)
        if start <= START + DAY * number // 25_000 < stop
    ]
    assert len(plan.parts) > 1
    assert "bytes of large files by time, with 600 seconds to spare" in plan.pruned[0]


@pytest.fixture
def low_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds are looked for in small files too."""
    monkeypatch.setattr(pruning, "SMALLEST", 1 << 16)


WINDOWS = [
    (0.0, 0.1),
    (0.3, 0.31),
    (0.95, 1.0),
    (-0.5, 0.02),
    (0.99, 3.0),
    (None, 0.2),
    (0.8, None),
    (2.0, 3.0),
]


def window(begins: float | None, ends: float | None) -> dict[str, str]:
    given = {"start": begins, "stop": ends}
    return {name: moment(START + int(DAY * part)) for name, part in given.items() if part is not None}


@pytest.mark.usefixtures("low_bar")
@pytest.mark.parametrize("splitting", ["search", "walk"])
def test_nothing_of_a_window_is_missing(tmp_path: Path, splitting: str) -> None:
    path = tmp_path / "binlog.000001"
    write_day(path, 600, blob=600)
    for begins, ends in WINDOWS:
        options = window(begins, ends)
        for view in VIEWS:
            expected = in_sequence(view, path, **options)
            for size in (20_000, 1 << 30):
                assert in_parts(view, path, size, splitting, **options) == expected, (begins, ends, size)


@pytest.mark.usefixtures("low_bar")
def test_statements_that_ran_long(tmp_path: Path) -> None:
    """They are written late: up to the margin, a transaction is found where times have gone on."""
    times = [START + DAY * number // 600 for number in range(600)]
    for number in range(10, 600, 7):
        times[number] -= 590
    path = tmp_path / "binlog.000001"
    write_day(path, 600, times, blob=9000)
    for begins, ends in [*WINDOWS, *((None, part / 20) for part in range(1, 20))]:
        options = window(begins, ends)
        assert in_parts("transactions", path, 200_000, **options) == in_sequence(
            "transactions", path, **options
        )


@pytest.mark.usefixtures("low_bar")
def test_times_that_go_back_by_more_prune_nothing(tmp_path: Path) -> None:
    times = [START + DAY * number // 600 for number in range(600)]
    for number in range(0, 600, 3):
        times[number] -= 7200
    path = tmp_path / "binlog.000001"
    write_day(path, 600, times, blob=600)
    options = window(0.3, 0.35)
    plan = plan_read(path, options, part_bytes=20_000)
    assert plan.bytes_planned == plan.bytes_total
    assert plan.pruned == []
    assert in_parts("transactions", path, 20_000, **options) == in_sequence("transactions", path, **options)


@pytest.mark.usefixtures("low_bar")
def test_transactions_of_two_servers_prune_nothing(tmp_path: Path) -> None:
    """A replica's log: its own are written at once, the source's with its delay."""
    maker = LogMaker("")
    for number in range(1, 400):
        maker.server_id = 1 + number % 2
        delay = 3 * 3600 if number % 2 else 0
        maker.transaction(number, *insert(number, b"x" * 300), timestamp=START + DAY * number // 400 - delay)
    path = tmp_path / "binlog.000001"
    path.write_bytes(maker.data)
    options = window(0.3, 0.35)
    assert plan_read(path, options, part_bytes=20_000, time_margin=4 * 3600).pruned == []
    assert in_parts("changes", path, 20_000, **options) == in_sequence("changes", path, **options)


# --- whole files


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Six files of an hour each, ten transactions in each of them."""
    for file in range(6):
        begins = START + 3600 * file
        maker = LogMaker(f"{UUID}:1-{10 * file}" if file else "", start=begins)
        for number in range(10 * file + 1, 10 * file + 11):
            maker.transaction(number, timestamp=begins + 300 * (number % 10))
        maker.rotate(f"binlog.{file + 2:06}", begins + 3599)
        (tmp_path / f"binlog.{file + 1:06}").write_bytes(maker.data)
    return tmp_path


def names(plan: ReadPlan) -> list[str]:
    return sorted({piece.name[-1] for part in plan.parts for piece in part.pieces})


def test_files_by_time(archive: Path) -> None:
    options = {"start": moment(START + 2 * 3600 + 1800), "stop": moment(START + 3 * 3600)}
    plan = plan_read(archive, options, part_bytes=1 << 20)
    assert names(plan) == ["3", "4"]  # the fourth begins less than the margin after the window
    assert plan.files == 6
    assert plan.pruned[0].startswith("4 files (")
    assert names(plan_read(archive, options, part_bytes=1 << 20, time_margin=0)) == ["3"]
    for view in VIEWS:
        assert in_parts(view, [archive], 500, **options) == in_sequence(view, [archive], **options)


def test_files_by_gtid(archive: Path) -> None:
    for options, expected in [
        ({"include_gtids": f"{UUID}:15-17"}, ["2", "6"]),
        ({"include_gtids": f"{UUID}:9-11:41"}, ["1", "2", "5", "6"]),
        ({"exclude_gtids": f"{UUID}:1-33"}, ["4", "5", "6"]),
        ({"start": f"{UUID}:1-20"}, ["3", "4", "5", "6"]),
    ]:
        # What is in the last file, no file behind it tells.
        assert names(plan_read(archive, options, part_bytes=1 << 20, view="changes")) == expected
        for view in VIEWS:
            assert in_parts(view, [archive], 500, **options) == in_sequence(view, [archive], **options)


def test_excluded_gtids_prune_no_events_of_the_log_itself(archive: Path) -> None:
    plan = plan_read(archive, {"exclude_gtids": f"{UUID}:1-33"}, part_bytes=1 << 20)
    assert names(plan) == ["1", "2", "3", "4", "5", "6"]


def test_transactions_without_gtids_are_not_excluded(tmp_path: Path) -> None:
    for file, previous in ((1, ""), (2, f"{UUID}:1-4")):
        maker = LogMaker(previous)
        for number in range(1, 5):
            maker.transaction(4 * file + number - 4)
            maker.transaction(number, named=False)
        (tmp_path / f"binlog.00000{file}").write_bytes(maker.data)
    options = {"exclude_gtids": f"{UUID}:1-33"}
    assert in_parts("changes", [tmp_path], 1 << 20, **options) == in_sequence(
        "changes", [tmp_path], **options
    )
    assert len(in_parts("changes", [tmp_path], 1 << 20, **options)[0]) == 8


def test_a_gap_between_files_prunes_nothing(archive: Path) -> None:
    """Nobody knows then what is in the file before it."""
    (archive / "binlog.000003").unlink()
    plan = plan_read(archive, {"include_gtids": f"{UUID}:55"}, part_bytes=1 << 20)
    assert names(plan) == ["2", "6"]


def test_positions(archive: Path) -> None:
    transactions = in_sequence("transactions", archive / "binlog.000002")[0]
    third = transactions[3]["position"]
    options = {"start": f"binlog.000002:{third}", "stop": f"binlog.000004:{third}"}
    plan = plan_read(archive, options, part_bytes=300)
    assert names(plan) == ["2", "3", "4"]
    assert plan.pruned == ["3 files before start or after stop"]
    for view in VIEWS:
        for splitting in ("search", "walk"):
            for size in (200, 300, 1000, 1 << 20):
                expected = in_sequence(view, [archive], **options)
                assert in_parts(view, [archive], size, splitting, **options) == expected


# --- parts


def test_small_files_are_packed(archive: Path) -> None:
    plan = plan_read(archive, {}, part_bytes=128 << 20)
    assert [len(part.pieces) for part in plan.parts] == [6]
    plan = plan_read(archive, {}, part_bytes=9 << 20)  # opening a file counts as 4 MB
    assert [len(part.pieces) for part in plan.parts] == [2, 2, 2]
    assert plan.bytes_planned == plan.bytes_total == sum(path.stat().st_size for path in archive.iterdir())


def test_large_files_are_cut_evenly(tmp_path: Path) -> None:
    path = tmp_path / "binlog.000001"
    size = write_day(path, 100)
    plan = plan_read(path, {}, part_bytes=100_000)
    sizes = [part.size for part in plan.parts]
    assert len(sizes) == -(-size // 100_000)
    assert sum(sizes) == size
    assert max(sizes) - min(sizes) < len(sizes)


def test_parts_travel(archive: Path) -> None:
    for splitting in ("search", "walk"):
        plan = plan_read(archive, {}, part_bytes=500, splitting=splitting)
        packed = [pickle.dumps(part) for part in plan.parts]
        assert max(map(len, packed)) < 2000
        assert [pickle.loads(each) for each in packed] == plan.parts


def test_planning_reads_no_whole_files(tmp_path: Path) -> None:
    path = tmp_path / "binlog.000001"
    write_day(path, 2000)
    meter = Meter()
    plan_read(path, {}, part_bytes=1 << 20, meter=meter)
    assert meter.bytes_read < 20_000


@pytest.mark.parametrize(
    ("count", "options", "most_each"),
    [
        (10_000, {}, 8 << 10),
        (500, {"start": "2020-01-01"}, 24 << 10),
        (500, {"exclude_gtids": f"{UUID}:1"}, 24 << 10),
    ],
)
def test_many_files_are_planned_by_heads_and_tails(
    tmp_path: Path, count: int, options: dict[str, Any], most_each: int
) -> None:
    """Bytes are counted, not seconds: they are the same on every machine."""
    first = tmp_path / "binlog.000001"
    size = write_day(first, 100)
    assert size > 10 * most_each
    for number in range(2, count + 1):
        os.link(first, tmp_path / f"binlog.{number:06}")
    meter = Meter()
    plan = plan_read(tmp_path, options, part_bytes=128 << 20, view="changes", meter=meter)
    assert plan.bytes_total == count * size
    assert meter.bytes_read < count * most_each


def test_mistakes(archive: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="splitting='guess': search or walk"):
        plan_read(archive, {}, part_bytes=1, splitting="guess")
    with pytest.raises(UsageError, match="at least 1"):
        plan_read(archive, {}, part_bytes=0)
    with pytest.raises(UsageError, match="no option wat"):
        plan_read(archive, {"wat": 1}, part_bytes=1 << 20)
    (part,) = plan_read(archive, {}, part_bytes=1 << 30).parts
    with pytest.raises(UsageError, match="no view rowz; there are events, transactions, changes and rows"):
        read_part("rowz", part, {})
    with pytest.raises(UsageError, match="no column wat"):
        read_part("changes", part, {}, ["wat"])
    other = tmp_path / "other"
    other.write_bytes(b"PK\x03\x04 something else")
    with pytest.raises(NotABinlog, match="other"):
        plan_read(other, {}, part_bytes=1 << 20)
    encrypted = tmp_path / "encrypted"
    encrypted.write_bytes(b"\xfdbin" + b"\x01\x01\x03K_1\x02" + bytes(32) + b"\x03" + bytes(16) + bytes(600))
    with pytest.raises(KeyProblem, match="encrypted with K_1"):
        plan_read(encrypted, {}, part_bytes=1 << 20)


def test_a_damaged_head_is_left_to_the_reader(tmp_path: Path) -> None:
    maker = LogMaker("")
    for number in range(1, 20):
        maker.transaction(number)
    maker.data[130] ^= 1  # in PREVIOUS_GTIDS
    path = tmp_path / "binlog.000001"
    path.write_bytes(maker.data)
    assert len(plan_read(path, {}, part_bytes=300).parts) == 1
    for view in VIEWS:
        expected = in_sequence(view, path)
        assert expected[1] is not None
        assert in_parts(view, path, 300) == expected
