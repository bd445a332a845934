"""The bench: our speed and memory beside mysqlbinlog's and python-mysql-replication's, in one run.

    python bench/run.py [--rounds 3] [--only oltp|bulk] [--megabytes 20] [--without-peer]

The logs are made by a real MySQL server on the first run (bench/make_logs.py), and the peer is installed into an
environment of its own (bench/peer.py); both are kept in the cache folder. Everything runs on one processor, but for
what says two. Prints tables and the bars that were set, and writes all of it as JSON into the cache folder.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from make_logs import ROOT, WORKLOADS, Workload, bench_folder, log_of
from peer import PEER, served

from gtidal import __version__
from gtidal.cli.bench import (
    COMMAND,
    ROUNDS,
    TOOL_DUMP,
    TOOL_VERIFY,
    TOOL_VV,
    Result,
    beginning,
    own_measures,
    run_all,
    show_results,
    tool_measures,
)
from gtidal.cli.progress import telling
from gtidal.cli.screen import Screen
from tests.live.servers import mysql_binaries

PEER_SLICE = 8_000_000
MOST_MEMORY = 400_000_000


@dataclass(frozen=True)
class Bar:
    """What a speed has to be, as a multiple of another that was measured in the same run."""

    log: str
    ours: str
    theirs: str
    least: float
    clock: str = "cpu"


BARS = (
    Bar("oltp", "transactions", TOOL_VV, 15),
    Bar("oltp", "changes", TOOL_VV, 10),
    Bar("bulk", "typed rows", TOOL_VV, 20),
    Bar("bulk", "changes", TOOL_VV, 10),
    Bar("oltp", "events", TOOL_VV, 20),
    Bar("oltp", "changes", PEER, 150),
    Bar("bulk", "changes", PEER, 150),
    Bar("oltp", "verify", TOOL_VERIFY, 15),
    Bar("oltp", "dump -vv, 2 cores", TOOL_DUMP, 0.5, "wall"),
    Bar("bulk", "dump -vv, 2 cores", TOOL_DUMP, 0.5, "wall"),
    Bar("oltp", "changes, 2 threads", "changes", 1.7, "wall"),
    Bar("bulk", "changes, 2 threads", "changes", 1.7, "wall"),
    Bar("bulk", "typed rows, 2 threads", "typed rows", 1.7, "wall"),
)


def measure(workload: Workload, rounds: int, size: int, with_peer: bool) -> tuple[list[Result], bool]:
    """All measures of one log, and whether `dump` prints what the tool prints."""
    tool = str(mysql_binaries().reader)
    with ExitStack() as stack:
        log = stack.enter_context(beginning(log_of(workload), size))
        part = stack.enter_context(beginning(log))
        measures = own_measures([log], part, workload.table) + tool_measures(tool, [log])
        if with_peer:
            short = stack.enter_context(beginning(log, PEER_SLICE))
            measures.append(stack.enter_context(served(short)))
        same = same_output(part, tool)
        tell = stack.enter_context(telling())
        return run_all(measures, rounds, lambda text: tell(f"{workload.name}, {text}")), same


def same_output(log: Path, tool: str) -> bool:
    """Whether both dumps are the same text: speed without that would mean nothing."""
    commands = (
        [sys.executable, "-c", COMMAND, "dump", "-vv", str(log)],
        [tool, "--no-defaults", "-vv", str(log)],
    )
    texts = [
        subprocess.Popen(each, env={**os.environ, "TZ": "UTC"}, stdout=subprocess.PIPE) for each in commands
    ]
    left, right = (process.stdout for process in texts)
    assert left is not None
    assert right is not None
    same = True
    while same and (block := left.read(1 << 20)):
        same = block == right.read(len(block))
    same = same and not right.read(1)
    for process in texts:
        process.kill()
        process.wait()
    return same


def ratio(bar: Bar, results: dict[str, list[Result]]) -> float | None:
    """How many times theirs ours is; None if one of the two was not measured."""
    found = {result.measure.name: result for result in results.get(bar.log, []) if result.runs}
    if bar.ours not in found or bar.theirs not in found:
        return None
    return found[bar.ours].speed(bar.clock) / found[bar.theirs].speed(bar.clock)


def show_bars(screen: Screen, ratios: dict[Bar, float | None]) -> None:
    screen.line(("bars (by processor time; where two processors are used, by the clock)", "bold"))
    for bar, value in ratios.items():
        text = f"  {bar.log}: {bar.ours} against {bar.theirs}"
        shown = f"{value:8.2f}×" if value is not None else f"{'—':>9}"
        met = value is not None and value >= bar.least
        verdict = "met" if met else "not measured" if value is None else "NOT MET"
        screen.line((f"{text:<76}{shown}   of {bar.least:>5g}×  ", ""), (verdict, "green" if met else "red"))


def show_ceiling(screen: Screen, results: dict[str, list[Result]]) -> None:
    """What the machine's second processor is worth: on many, it is the other half of the same core."""
    for log in results:
        for ours in ("changes", "typed rows"):
            if (most := ratio(Bar(log, f"{ours}, 2 processes", ours, 0, "wall"), results)) is not None:
                text = f"  {log}: {ours}: two processes that share nothing reach {most:.2f}× one"
                screen.line((text, "dim"))


def show_memory(screen: Screen, results: dict[str, list[Result]]) -> None:
    """The largest memory of ours above Python and its libraries."""
    grown = [
        (taken.memory - taken.base, f"{name}, {result.measure.name}")
        for name, found in results.items()
        for result in found
        for taken in result.runs
        if taken.base
    ]
    if grown:
        most, where = max(grown)
        verdict = ("met", "green") if most < MOST_MEMORY else ("NOT MET", "red")
        text = f"  memory above Python and libraries, at most ({where})"
        screen.line((f"{text:<76}{most / 1e6:>6.0f} MB   of {MOST_MEMORY / 1e6:>4.0f} MB ", ""), verdict)


def machine() -> dict[str, Any]:
    processor = platform.processor()
    information = Path("/proc/cpuinfo")
    if information.exists():
        names = [line for line in information.read_text().splitlines() if line.startswith("model name")]
        processor = names[0].partition(":")[2].strip() if names else processor
    return {
        "processor": processor,
        "processors": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "gtidal": __version__,
        "mysqlbinlog": mysql_binaries().version,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def write_results(
    facts: dict[str, Any], results: dict[str, list[Result]], ratios: dict[Bar, float | None]
) -> Path:
    folder = bench_folder() / "results"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{facts['time'].replace(':', '')}.json"
    document = {
        "machine": facts,
        "logs": {name: [result.record() for result in found] for name, found in results.items()},
        "bars": [
            {**bar.__dict__, "ratio": value, "met": value is not None and value >= bar.least}
            for bar, value in ratios.items()
        ],
    }
    path.write_text(json.dumps(document, indent=1) + "\n")
    return path


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", choices=[workload.name for workload in WORKLOADS])
    parser.add_argument("--megabytes", type=int, default=1000, help="read only about so much of each log")
    parser.add_argument("--without-peer", action="store_true", help="leave python-mysql-replication out")
    arguments = parser.parse_args()
    os.environ["PYTHONPATH"] = str(ROOT / "src")
    chosen = [workload for workload in WORKLOADS if arguments.only in (None, workload.name)]
    for workload in chosen:
        log_of(workload)
    facts = machine()
    screen = Screen()
    screen.line((", ".join(f"{name} {value}" for name, value in facts.items()), "dim"))
    results: dict[str, list[Result]] = {}
    problems = 0
    for workload in chosen:
        limit = arguments.megabytes * 1_000_000
        found, same = measure(workload, arguments.rounds, limit, not arguments.without_peer)
        results[workload.name] = found
        size = next(result.measure.size for result in found if result.measure.name == "events") / 1e6
        screen.line()
        screen.line((f"{workload.name}: {size:,.1f} MB, best of {arguments.rounds}", "bold"))
        show_results(screen, found)
        if not same:
            screen.line(("dump -vv does not print what mysqlbinlog -vv prints", "red"))
        problems += (not same) + sum(not result.runs for result in found)
    ratios = {bar: ratio(bar, results) for bar in BARS if bar.log in results}
    screen.line()
    show_bars(screen, ratios)
    show_ceiling(screen, results)
    show_memory(screen, results)
    screen.line((f"written to {write_results(facts, results, ratios)}", "dim"))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
