"""The live bench: a real server on the loopback address sends the bench's logs, and each reader takes them from there.

    python bench/live.py [--rounds 3] [--only oltp|bulk] [--no-spark]

Reader and server work at the same time, so both processors are theirs and the clock on the wall counts. What was
copied is compared with the logs, byte for byte. At the end a streaming query's latency: from a commit to the row in
the sink.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from make_logs import OPTIONS, ROOT, WORKLOADS, Workload, log_of
from peer import PEER, served
from run import PEER_SLICE, Bar, machine, ratio, show_bars

from gtidal.cli.bench import CHILD, COMMAND, ROUNDS, Measure, Result, beginning, run_all, show_results
from gtidal.cli.progress import telling
from gtidal.cli.screen import Screen
from gtidal.events.control import Rotate
from gtidal.events.frame import HEADER_SIZE
from gtidal.events.transaction import GtidEvent
from gtidal.sources.files import open_log
from tests.live.copies import assert_identical
from tests.live.servers import MySQLServer, numbered, short_temporary_folder

TOOL_RAW = "mysqlbinlog -R --raw"
SOCKET = "plain socket"
LIVE, FILES, FILES_2 = "changes, live", "changes, files", "changes, files, 2 threads"
ARCHIVE = "archive --once"
MEGABYTES = 300
"""Of one file."""
BACKLOG = 3
"""What is copied, and what Spark reads, is a server's whole log: this many such files. (One
file alone is copied once more: there the start of a Python program is a third of the time.)"""
ARCHIVE_ONE, TOOL_RAW_ONE = f"{ARCHIVE}, one file", f"{TOOL_RAW}, one file"
STREAM, BATCH = "Spark: changes, live, AvailableNow", "Spark: changes, files, batch"

BARS = (
    Bar("oltp", LIVE, FILES, 0.6, "wall"),
    Bar("bulk", LIVE, FILES, 0.6, "wall"),
    Bar("oltp", LIVE, PEER, 100, "wall"),
    Bar("bulk", LIVE, PEER, 100, "wall"),
    Bar("oltp", ARCHIVE, TOOL_RAW, 2, "wall"),
    Bar("bulk", ARCHIVE, TOOL_RAW, 1, "wall"),
    Bar("oltp", STREAM, BATCH, 0.6, "wall"),
    Bar("bulk", STREAM, BATCH, 0.6, "wall"),
)
ROTATE_SIZE = HEADER_SIZE + 8 + 4
"""Of a ROTATE event without the name of the next file."""
COMMITS = 60
"""Of which the latency is measured."""


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


# --- what is measured


def measures(server: MySQLServer, log: Path, target: Path) -> list[Measure]:
    size = log.stat().st_size
    url = f"mysql://root@127.0.0.1:{server.port}/"

    def drain(title: str, path: str, threads: int) -> Measure:
        work = {"view": "changes", "paths": [path], "options": {"threads": threads}}
        return Measure(
            title, size, [sys.executable, "-c", CHILD, "drain", json.dumps(work)], reports=True, cores=2
        )

    return [
        Measure(SOCKET, size, [sys.executable, __file__, "--socket", url, log.name, str(size)], True, 2),
        drain(LIVE, f"{url}{log.name}?tls=off", 1),
        drain(FILES, str(log), 1),
        drain(FILES_2, str(log), 2),
        *copies(server, [log], target, ARCHIVE_ONE, TOOL_RAW_ONE),
    ]


def copies(server: MySQLServer, logs: list[Path], target: Path, *titles: str) -> list[Measure]:
    """The archive and the tool, each into a folder that is empty."""
    size = sum(log.stat().st_size for log in logs)
    url = f"mysql://root@127.0.0.1:{server.port}/?tls=off"
    raw = [str(server.binaries.reader), "--no-defaults", *server.remote_options(), "--raw"]
    commands = (
        [sys.executable, "-c", COMMAND, "archive", url, str(target / titles[0]), "--once"],
        [*raw, f"--result-file={target / titles[1]}/", *(log.name for log in logs)],
    )
    anew = 'rm -rf "$1"; mkdir "$1"; shift; exec "$@"'
    return [
        Measure(title, size, ["sh", "-c", anew, "-", str(target / title), *command], cores=2)
        for title, command in zip(titles, commands, strict=True)
    ]


def check_copies(results: list[Result], logs: list[Path], target: Path) -> None:
    for result in results:
        folder = target / result.measure.name
        if result.runs and folder.is_dir():
            for log in logs:
                assert_identical(folder / log.name, log)


def repeated(log: Path, folder: Path, times: int) -> list[Path]:
    """A log so often, under the names that follow, each naming the next one at its end as a server does."""
    files = []
    for number in range(1, times + 1):
        file = folder / f"binlog.{number:06}"
        shutil.copyfile(log, file)
        following = b"binlog.%06d" % (number + 1)
        with file.open("r+b") as stream:
            stream.seek(-(ROTATE_SIZE + len(following)), os.SEEK_END)
            event = stream.read()
            assert event[4] == Rotate.code, f"{log} does not end with a ROTATE event to a file of such a name"
            body = event[: -4 - len(following)] + following
            stream.seek(-len(event), os.SEEK_END)
            stream.write(body + zlib.crc32(body).to_bytes(4, "little"))
        files.append(file)
    return files


def drain_socket(url: str, file: str, size: int) -> None:
    """What the server sends and the system hands over, looked at by nobody: the limit of all readers."""
    from gtidal.events.protocol import DUMP_NON_BLOCK, BinlogDump
    from gtidal.sources.server.address import ServerAddress
    from gtidal.sources.server.connection import Connection

    address = ServerAddress.parse(f"{url}?tls=off")
    connection = Connection(address, address.hosts[0])
    connection.announce("socket", semi_sync=False, mariadb=False)
    room = bytearray(1 << 20)
    wall, cpu, got = time.perf_counter(), time.process_time(), 0
    connection.send(BinlogDump(flags=DUMP_NON_BLOCK, server_id=4712, file=file))
    while got < size:
        got += connection.socket.recv_into(room)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    connection.close()
    print(json.dumps({"wall": wall, "cpu": cpu, "memory": 0, "rows": None}))


# --- Spark, in a process of its own


def spark_measures(server: MySQLServer, logs: list[Path], small: Path) -> list[Measure]:
    size = sum(log.stat().st_size for log in logs)

    def of(title: str, job: str) -> Measure:
        command = [
            sys.executable,
            __file__,
            "--spark",
            job,
            str(server.port),
            str(logs[0].parent),
            str(small),
        ]
        return Measure(title, size, command, reports=True, cores=2)

    return [of(STREAM, "stream"), of(BATCH, "batch")]


def run_spark(job: str, port: str, logs: str, small: str) -> None:
    """On a small log first, in the same way, so that Java is warm; then timed. The files are read in one partition for
    each processor and more; a server sends a file to one reader."""
    from gtidal.spark import session

    spark = session(master="local[2]")

    def batch(path: str) -> None:
        spark.read.format("binlog").load(path).write.format("noop").mode("overwrite").save()

    def stream(start: str) -> None:
        reader = spark.readStream.format("binlog").option("host", f"127.0.0.1:{port}")
        frame = reader.option("user", "root").option("tls", "off").option("start", start).load()
        with tempfile.TemporaryDirectory() as checkpoint:
            writer = frame.writeStream.format("noop").option("checkpointLocation", checkpoint)
            writer.trigger(availableNow=True).start().awaitTermination()

    batch(small)
    batch(small)
    if job == "stream":
        stream("now")
    started = time.perf_counter()
    if job == "stream":
        stream("oldest")
    else:
        batch(logs)
    wall = time.perf_counter() - started
    spark.stop()
    print(json.dumps({"wall": wall, "cpu": wall, "memory": 0, "rows": None}))


# --- latency


def latency(folder: Path) -> tuple[float, float]:
    """Seconds from a commit to its row in the sink's files, at a trigger of 100 ms: median and 99th percentile."""
    with MySQLServer.temporary(*OPTIONS) as server:
        server.execute("CREATE DATABASE live; CREATE TABLE live.t (a INT PRIMARY KEY)")
        sink = folder / "sink"
        command = [
            *(sys.executable, "-c", COMMAND, "stream", f"mysql://root@127.0.0.1:{server.port}/"),
            *("--view", "changes", "--to", str(sink), "--checkpoint", str(folder / "checkpoint")),
            *("--trigger", "100ms", "--start", "now"),
        ]
        with (folder / "stream.log").open("wb") as said:
            process = subprocess.Popen(command, stdout=said, stderr=said)
            try:
                return _latencies(server, sink, process)
            except RuntimeError as error:
                last_words = (folder / "stream.log").read_text(errors="replace")[-2000:]
                raise SystemExit(f"{error}; it said: {last_words}") from None
            finally:
                process.terminate()
                process.wait(60)


def _latencies(server: MySQLServer, sink: Path, process: subprocess.Popen[bytes]) -> tuple[float, float]:
    import pyarrow.parquet as pq

    seen: dict[int, float] = {}
    known: set[Path] = set()
    ended = threading.Event()

    def watch() -> None:
        while not ended.is_set():
            for path in set(sink.glob("*.parquet")) - known:
                known.add(path)
                now = time.perf_counter()
                for after in pq.read_table(path, columns=["position"])["position"].to_pylist():
                    seen.setdefault(after, now)
            time.sleep(0.005)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    committed: list[tuple[int, float]] = []
    number = 0
    while not seen:  # until the query runs
        if process.poll() is not None or number > 600:
            raise RuntimeError("gtidal stream gave no row")
        number += 1
        server.execute(f"INSERT INTO live.t VALUES ({number})")
        time.sleep(0.2)
    for _ in range(COMMITS + 20):
        number += 1
        server.execute(f"INSERT INTO live.t VALUES ({number})")
        end = int(server.query("SHOW BINARY LOG STATUS")[0][1])
        committed.append((end, time.perf_counter()))
        time.sleep(0.15)
    time.sleep(3)
    ended.set()
    watcher.join()
    rows = sorted(seen.items())
    waits = []
    for end, moment in committed[20:]:
        arrived = [when for position, when in rows if position < end]
        if arrived and rows[len(arrived) - 1][0] < end:
            waits.append(rows[len(arrived) - 1][1] - moment)
    if len(waits) < COMMITS // 2:
        raise RuntimeError(f"{len(waits)} of {COMMITS} rows arrived")
    waits.sort()
    return statistics.median(waits), waits[min(len(waits) - 1, int(len(waits) * 0.99))]


# --- all of it


def measure(workload: Workload, rounds: int, with_spark: bool) -> list[Result]:
    log = log_of(workload, MEGABYTES)
    with ExitStack() as stack:
        server = stack.enter_context(serve_logs(log.parent))
        target = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        peer = stack.enter_context(served(stack.enter_context(beginning(log, PEER_SLICE))))
        tell = stack.enter_context(telling())
        todo = [*measures(server, log, target), peer]
        results = run_all(todo, rounds, lambda text: tell(f"{workload.name}, {text}"))
        check_copies(results, [log], target)
    return results + measure_backlog(workload, log, rounds, with_spark)


def measure_backlog(workload: Workload, log: Path, rounds: int, with_spark: bool) -> list[Result]:
    """Of a log of several files."""
    with ExitStack() as stack:
        folders = [Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in range(2)]
        logs = repeated(log, folders[0], BACKLOG)
        server = stack.enter_context(serve_logs(folders[0]))
        tell = stack.enter_context(telling())
        todo = copies(server, logs, folders[1], ARCHIVE, TOOL_RAW)
        if with_spark:
            todo += spark_measures(server, logs, stack.enter_context(beginning(log)))
        results = run_all(todo, rounds, lambda text: tell(f"{workload.name}, {text}"))
        check_copies(results, logs, folders[1])
    return results


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", choices=[workload.name for workload in WORKLOADS])
    parser.add_argument("--no-spark", action="store_true")
    parser.add_argument("--socket", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--spark", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    os.environ["PYTHONPATH"] = str(ROOT / "src")
    if options.socket:
        drain_socket(*options.socket[:2], int(options.socket[2]))
        return 0
    if options.spark:
        run_spark(*options.spark)
        return 0
    screen = Screen()
    screen.line((", ".join(f"{name} {value}" for name, value in machine().items()), "dim"))
    results: dict[str, list[Result]] = {}
    for workload in WORKLOADS:
        if options.only in (None, workload.name):
            found = results[workload.name] = measure(workload, options.rounds, not options.no_spark)
            screen.line()
            screen.line((f"{workload.name}, live, best of {options.rounds}", "bold"))
            show_results(screen, found)
    screen.line()
    ratios: dict[Any, float | None] = {bar: ratio(bar, results) for bar in BARS if bar.log in results}
    show_bars(screen, ratios)
    if not options.no_spark:
        with tempfile.TemporaryDirectory() as folder:
            median, last = latency(Path(folder))
        screen.line(
            (f"from commit to the sink's file, trigger 100 ms: median {median:.2f} s, 99 % {last:.2f} s", "")
        )
    return 1 if any(not result.runs for found in results.values() for result in found) else 0


if __name__ == "__main__":
    sys.exit(main())
