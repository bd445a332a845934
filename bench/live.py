"""The live bench: a real server on the loopback address sends the bench's logs, and each reader takes them from there.

    python bench/live.py [--rounds 3] [--only oltp|bulk]

Reader and server work at the same time, so both processors are theirs and the clock on the wall counts. What the tool
has copied is compared with the logs, byte for byte.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from make_logs import OPTIONS, ROOT, WORKLOADS, Workload, log_of
from run import machine

from gtidal.cli.bench import ROUNDS, Measure, Result, run_all, show_results
from gtidal.cli.progress import telling
from gtidal.cli.screen import Screen
from gtidal.events.transaction import GtidEvent
from gtidal.sources.files import open_log
from tests.live.copies import assert_identical
from tests.live.servers import MySQLServer, numbered, short_temporary_folder

TOOL_RAW = "mysqlbinlog -R --raw"


@contextmanager
def serve_logs(folder: Path) -> Iterator[MySQLServer]:
    """A running server whose logs are those of the folder, as if it had written them itself: it has the UUID of their
    first GTID, and knows all of their GTIDs. Its own log comes behind them."""
    logs = numbered(folder, "binlog")
    with short_temporary_folder() as place:
        server = MySQLServer(place / "s", *OPTIONS)
        server.adopt(logs)
        server.take_uuid(first_uuid(logs[0]))
        try:
            server.start()
            yield server
        finally:
            server.crash()


def first_uuid(log: Path) -> str:
    with open_log(log) as events:
        return next(event.gtid.uuid for event in events if isinstance(event, GtidEvent) and event.gtid)


def tool_measure(server: MySQLServer, logs: Sequence[Path], target: Path) -> Measure:
    """The tool copies the logs into the folder `target`."""
    command = [str(server.binaries.reader), "--no-defaults", *server.remote_options(), "--raw"]
    names = [log.name for log in logs]
    size = sum(log.stat().st_size for log in logs)
    return Measure(TOOL_RAW, size, [*command, f"--result-file={target}/", *names], cores=2)


def measure(workload: Workload, rounds: int) -> list[Result]:
    folder = log_of(workload).parent
    logs = numbered(folder, "binlog")
    with serve_logs(folder) as server, tempfile.TemporaryDirectory() as target, telling() as tell:
        measures = [tool_measure(server, logs, Path(target))]
        results = run_all(measures, rounds, lambda text: tell(f"{workload.name}, {text}"))
        for log in logs if results[0].runs else ():
            assert_identical(Path(target) / log.name, log)
    return results


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", choices=[workload.name for workload in WORKLOADS])
    arguments = parser.parse_args()
    os.environ["PYTHONPATH"] = str(ROOT / "src")
    screen = Screen()
    screen.line((", ".join(f"{name} {value}" for name, value in machine().items()), "dim"))
    problems = 0
    for workload in WORKLOADS:
        if arguments.only in (None, workload.name):
            results = measure(workload, arguments.rounds)
            screen.line()
            screen.line((f"{workload.name}, live, best of {arguments.rounds}", "bold"))
            show_results(screen, results)
            problems += sum(not result.runs for result in results)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
