"""``gtidal bench``: what is measured is what was done, the tables say it, and a failure is told, not hidden."""

from __future__ import annotations

import importlib.util
import json
import os
import stat
import sys
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest

from gtidal import open_log
from gtidal.cli import bench
from gtidal.cli.bench import Measure, MeasureError, Result, Taken
from gtidal.cli.output import Output
from gtidal.cli.screen import Screen
from gtidal.errors import UsageError
from gtidal.events.transaction import Gtid, Xid
from gtidal.sources.files import LogFile
from gtidal.sources.storage import Storage, Uri
from tests.cli import example_logs
from tests.logs import build_log

ROOT = Path(__file__).parents[2]
ALL_NAMES = [
    "start of Python and libraries",
    "header walk",
    "header walk and checksums",
    "events",
    "events with detail",
    "transactions",
    "changes",
    "changes without images",
    "typed rows",
    "verify",
    "verify, whole process",
    "changes, 2 threads",
    "typed rows, 2 threads",
    "changes, 2 processes",
    "typed rows, 2 processes",
    "dump -vv",
    "dump -vv, 2 cores",
]
TOOL_NAMES = [
    "mysqlbinlog",
    "mysqlbinlog --verify-binlog-checksum",
    "mysqlbinlog -vv decode-rows",
    "mysqlbinlog -vv",
]


def python(code: str, **settings: object) -> Measure:
    return Measure("a program", 1000, [sys.executable, "-S", "-c", code], **settings)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture
def shop(tmp_path: Path) -> str:
    return example_logs.write(tmp_path, example_logs.shop_log(), "shop.000001")


@pytest.fixture
def tool(tmp_path: Path) -> str:
    """A program that takes the tool's options and does some work."""
    path = tmp_path / "mysqlbinlog"
    path.write_text('#!/bin/sh\n[ "$1" = --no-defaults ] || exit 9\nfor file; do :; done\ncat "$file"\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


# --- one run


def test_processor_time_is_not_the_clock() -> None:
    busy = bench.run(python("import time\nwhile time.process_time() < 0.3: pass"))
    idle = bench.run(python("import time; time.sleep(0.3)"))
    assert busy.cpu >= 0.3
    assert busy.wall >= 0.3
    assert idle.wall >= 0.3
    assert idle.cpu < 0.25


def test_memory_is_the_peak_of_the_child_alone() -> None:
    ours = bytearray(b"x") * 200_000_000
    small = bench.run(python("import time; time.sleep(0.1)"))
    large = bench.run(python("import time; x = bytearray(b'x') * 90_000_000; time.sleep(0.1); del x"))
    assert len(ours) == 200_000_000
    assert 2_000_000 < small.memory < 80_000_000
    assert 90_000_000 < large.memory < 180_000_000


def test_what_a_program_reports_is_taken() -> None:
    said = '{"wall": 2.5, "cpu": 1.25, "memory": 7, "base": 3, "rows": 11}'
    assert bench.run(python(f"print('{said}')", reports=True)) == Taken(2.5, 1.25, 7, 3, 11)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system does not pin processes")
@pytest.mark.parametrize("cores", [1, 2])
def test_a_program_is_pinned(cores: int) -> None:
    before = os.sched_getaffinity(0)
    if len(before) < cores:
        pytest.skip("too few processors")
    code = 'import os; print(\'{"wall": 0, "cpu": 0, "rows": %d}\' % len(os.sched_getaffinity(0)))'
    assert bench.run(python(code, reports=True, cores=cores)).rows == cores
    assert os.sched_getaffinity(0) == before


def test_more_processors_than_there_are() -> None:
    with pytest.raises(MeasureError, match="needs 100000 processors"):
        bench.run(python("pass", cores=100_000))


def test_a_failure_is_told_and_the_rest_is_measured() -> None:
    told: list[str] = []
    failing = python("import sys; print('much', file=sys.stderr); sys.exit('no luck')")
    bad, good = bench.run_all([failing, python("pass")], 2, told.append)
    assert (bad.problem, bad.runs) == ("exit 1: no luck", [])
    assert bad.record() == {"measure": "a program", "bytes": 1000, "cores": 1, "problem": "exit 1: no luck"}
    assert len(good.runs) == 2
    assert len(told) == 3  # what has failed once is not tried again


# --- results


def test_the_best_run_by_its_clock() -> None:
    runs = [Taken(wall=4.0, cpu=2.0, rows=100), Taken(wall=3.0, cpu=2.5, rows=100)]
    one = Result(Measure("one", 10_000_000, []), runs)
    two = Result(Measure("two", 10_000_000, [], cores=2), runs)
    assert one.best() == runs[0]
    assert one.speed() == 5_000_000
    assert one.speed("wall") == pytest.approx(3_333_333.3)
    assert one.rows_per_second() == 50
    assert two.best() == runs[1]
    assert two.speed() == pytest.approx(3_333_333.3)
    assert two.record()["clock"] == "wall"
    assert one.record()["bytes_per_second"] == 5_000_000


TABLE = """\
                                           MB/s      rows/s    cpu s   wall s  peak MB  + MB  × -vv
changes                                   600.0   1,000,000    0.500    0.600      200    80   12.0
dump -vv, 2 cores                           8.0                3.000    2.000       60          0.2
start of Python and libraries                                  0.400    0.500       70
typed rows                            not measured: exit 1: no such table
mysqlbinlog -vv decode-rows                50.0                6.000    6.500       13          1.0
"""


def test_table(capsys: pytest.CaptureFixture[str]) -> None:
    bench.show_results(
        Screen(),
        [
            Result(Measure("changes", 300_000_000, []), [Taken(0.6, 0.5, 200_000_000, 120_000_000, 500_000)]),
            Result(Measure("dump -vv, 2 cores", 16_000_000, [], cores=2), [Taken(2.0, 3.0, 60_000_000)]),
            Result(Measure("start of Python and libraries", 0, []), [Taken(0.5, 0.4, 70_000_000)]),
            Result(Measure("typed rows", 300_000_000, []), problem="exit 1: no such table"),
            Result(Measure(bench.TOOL_VV, 300_000_000, []), [Taken(6.5, 6.0, 13_000_000)]),
        ],
    )
    assert capsys.readouterr().out == TABLE


# --- the part of a log for what is slow


def test_a_part_ends_where_a_transaction_begins(tmp_path: Path) -> None:
    events = [
        event for gno in (1, 2, 3) for event in example_logs.with_gtid(gno, example_logs.transaction_events())
    ]
    log = Path(example_logs.write(tmp_path, build_log(events), "shop.000001"))
    data = log.read_bytes()
    second, third = [event.header.position for event in open_log(log) if isinstance(event, Gtid)][1:]
    for size in (third + 19, third + 50, len(data)):
        with bench.beginning(log, size) as part:
            assert part.read_bytes() == data[:third]
            assert part.name == "shop.000001"
            assert isinstance(list(open_log(part))[-1], Xid)
        assert not part.exists()
    with bench.beginning(log, third + 18) as part:  # too few bytes to see the header of the third
        assert part.read_bytes() == data[:second]


def test_a_part_without_gtids_ends_where_an_event_ends(shop: str) -> None:
    data = Path(shop).read_bytes()
    positions = [event.header.position for event in open_log(shop)]
    for position, following in pairwise(positions[1:]):
        for size in (position, position + 1, following - 1):
            with bench.beginning(Path(shop), size) as part:
                assert part.read_bytes() == data[:position]


def test_a_short_or_encrypted_log_is_taken_whole(tmp_path: Path, shop: str) -> None:
    with bench.beginning(Path(shop), 1 << 20) as part:
        assert part == Path(shop)
    other = tmp_path / "binlog.000002"
    other.write_bytes(b"\xfdbin" + bytes(1000))
    with bench.beginning(other, 500) as part:
        assert part == other


# --- the command


def test_everything_of_a_log(shop: str, tool: str, capsys: pytest.CaptureFixture[str]) -> None:
    bench.bench([shop], mysqlbinlog=tool, rounds=1, output=Output.json)
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [record["measure"] for record in records] == ALL_NAMES + TOOL_NAMES
    problems = {record["measure"]: record.get("problem") for record in records if "problem" in record}
    if len(bench.usable_processors()) < 2:
        problems = {name: text for name, text in problems.items() if text != "needs 2 processors"}
    assert problems == {}
    by_name = {record["measure"]: record for record in records}
    events = len(list(open_log(shop)))
    assert by_name["events"]["best"]["rows"] == events
    assert by_name["header walk"]["best"]["rows"] == events
    assert by_name["header walk and checksums"]["best"]["rows"] == events
    assert by_name["changes"]["best"]["rows"] == 4
    assert by_name["changes without images"]["best"]["rows"] == 4
    assert by_name["typed rows"]["best"]["rows"] == 5  # an update is two
    size = Path(shop).stat().st_size
    for name, record in by_name.items():
        assert record["bytes"] == (0 if name == ALL_NAMES[0] else 2 * size if "2 processes" in name else size)


def test_text_without_the_tool(
    shop: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(bench, "own_measures", lambda paths, part, table: [python("pass")])
    bench.bench([shop], rounds=1)
    head, titles, line, last = capsys.readouterr().out.splitlines()
    assert head == "1 log, 0.0 MB; best of 1, one processor each"
    assert "× -vv" not in titles
    assert line.startswith("a program ")
    assert last.startswith("mysqlbinlog is not on the PATH")


def test_the_table_with_most_rows_is_found(shop: str) -> None:
    assert bench.busiest_table([shop]) == "shop.orders"


def test_wrong_use(shop: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="names no program that can be run: nowhere"):
        bench.bench([shop], mysqlbinlog="nowhere")
    with pytest.raises(UsageError, match="no such file"):
        bench.bench([str(tmp_path / "none")])
    with pytest.raises(UsageError, match=r"on this machine; s3://logs/binlog\.000001 is elsewhere"):
        bench.local_path(LogFile(Uri("s3://logs/binlog.000001"), Storage()))
    (tmp_path / "text").write_text("hello")
    with pytest.raises(UsageError, match="is not a binary log"):
        bench.bench([str(tmp_path / "text")])


# --- the bars of `make bench`


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    spec = importlib.util.spec_from_file_location("bench_run", ROOT / "bench" / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "bench_run", module)
    spec.loader.exec_module(module)
    return module


def test_bars(runner: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    results = {
        "oltp": [
            Result(Measure("changes", 1000, []), [Taken(wall=1.0, cpu=0.5)]),
            Result(Measure("changes, 2 threads", 1000, [], cores=2), [Taken(wall=0.5, cpu=0.9)]),
            Result(Measure("events", 1000, []), problem="exit 1"),
            Result(Measure(bench.TOOL_VV, 1000, []), [Taken(wall=20.0, cpu=5.0)]),
        ]
    }
    at, above = (
        runner.Bar("oltp", "changes", bench.TOOL_VV, 10),
        runner.Bar("oltp", "changes", bench.TOOL_VV, 10.1),
    )
    threads = runner.Bar("oltp", "changes, 2 threads", "changes", 1.7, "wall")
    missing = runner.Bar("oltp", "events", bench.TOOL_VV, 20)
    ratios = {bar: runner.ratio(bar, results) for bar in (at, above, threads, missing)}
    assert list(ratios.values()) == [10.0, 10.0, 2.0, None]
    runner.show_bars(Screen(), ratios)
    verdicts = [line.rpartition("×  ")[2] for line in capsys.readouterr().out.splitlines()[1:]]
    assert verdicts == ["met", "NOT MET", "met", "not measured"]


def test_every_bar_names_something_that_is_measured(runner: ModuleType) -> None:
    names = {*ALL_NAMES, *TOOL_NAMES, runner.PEER}
    assert {name for bar in runner.BARS for name in (bar.ours, bar.theirs)} <= names
    assert {bar.log for bar in runner.BARS} == {workload.name for workload in runner.WORKLOADS}
