"""The bench of the Spark source, in one run: against the kernel alone, mysqlbinlog, and Spark's own Parquet reader.

    python bench/spark.py [--rounds 2] [--megabytes 300]

Every measurement is a process of its own, Java and Python workers included, pinned to one processor or to two. It
starts a session, does its job once on the first 16 MB, and then, timed by the clock, several times on the whole log: the
best counts, since Java goes on compiling while it works. The first of them, which a session that does one thing meets, is
told apart, and so is what a session, the job on the small log and planning cost. Results go to the cache folder as JSON.
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
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from make_logs import ROOT, WORKLOADS, bench_folder, log_of

from gtidal.cli.bench import beginning
from gtidal.cli.screen import Screen
from tests.live.servers import mysql_binaries

SAMPLE = ROOT / "examples" / "shop"
QUERY = "SELECT op, count(*) AS n FROM changes GROUP BY op ORDER BY op"
TIMES = 8
"""So often a job that reads is done in one session; those that write, twice."""
WRITING = ("write", "export")
STOCK = f"""
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[*]").getOrCreate()
spark.read.format("binlog").load(sys.argv[1]).createOrReplaceTempView("changes")
spark.sql({QUERY!r}).show()
"""


@dataclass(frozen=True)
class Taken:
    """What one process measured."""

    seconds: float
    first: float = 0.0
    """The best time, and that of the first time."""
    session: float = 0.0
    small: float = 0.0
    planning: float = 0.0
    """Apart: the session's start, the job on the small log, and the planning of the read."""
    bytes_read: int | None = None


# --- in the child


Job = Callable[[], int | None]


def jobs(spark: Any, table: str, folder: Path) -> dict[str, Callable[[str, bool], Job]]:
    """What can be measured, by name; each takes a log, and whether it is the timed run, plans, and gives what to do."""

    def reading(**options: str) -> Any:
        return spark.read.format("binlog").options(**options)

    def drained(frame: Any) -> Job:
        return lambda: frame.write.format("noop").mode("overwrite").save()

    def changes(log: str, timed: bool) -> Job:
        return drained(reading().load(log))

    def rows(log: str, timed: bool) -> Job:
        return drained(reading(table=table).load(log))

    def parquet(log: str, timed: bool) -> Job:
        return drained(spark.read.parquet(str(folder)))

    def write(log: str, timed: bool) -> Job:
        target = folder if timed else folder.with_name("small")
        frame = reading(table=table).load(log)
        return lambda: frame.write.mode("overwrite").parquet(str(target))

    def export(log: str, timed: bool) -> Job:
        from gtidal.spark.exporting import Export
        from gtidal.spark.options import ReadOptions

        target = Path(tempfile.mkdtemp(dir=folder.parent))

        def work() -> None:
            Export(ReadOptions.parse({"table": table, "path": log}), str(target)).run(spark)
            shutil.rmtree(target)

        return work

    def one_table(log: str, timed: bool) -> Job:
        return drained(reading(tables=table).load(log))

    def window(log: str, timed: bool) -> Job:
        start, stop = middle(log, 0.05)
        drain = drained(reading(start=start, stop=stop).load(log))
        share = bytes_of(log, {"start": start, "stop": stop})

        def work() -> int:
            drain()
            return share

        return work

    def ready(log: str, timed: bool) -> Job:
        """The batches of ``changes``, made before: what Spark itself takes for them."""
        parts = folder.with_name("ready" if timed else "ready-small")
        keep_batches(log, parts)
        spark.dataSource.register(ready_source())
        return drained(spark.read.format("ready").schema(reading().load(log).schema).load(str(parts)))

    return {each.__name__: each for each in (changes, rows, parquet, write, export, one_table, window, ready)}


READY_PARTS = 8
"""As many as ``changes`` has for such a log."""


def keep_batches(log: str, folder: Path) -> None:
    import pyarrow as pa

    import gtidal

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    batches = list(gtidal.changes(log))
    share = -(-len(batches) // READY_PARTS)
    for number in range(READY_PARTS):
        with pa.ipc.new_file(folder / f"{number}.arrow", batches[0].schema) as target:
            for batch in batches[number * share : (number + 1) * share]:
                target.write_batch(batch)


def ready_source() -> Any:
    """A data source that maps files of batches into memory and hands them out."""
    from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

    class Reader(DataSourceReader):
        def __init__(self, folder: str) -> None:
            self.folder = folder

        def partitions(self) -> list[InputPartition]:
            return [InputPartition(number) for number in range(READY_PARTS)]

        def read(self, partition: InputPartition) -> Any:
            import pyarrow as pa

            file = pa.ipc.open_file(pa.memory_map(f"{self.folder}/{partition.value}.arrow"))
            for number in range(file.num_record_batches):
                yield file.get_batch(number)

    class Ready(DataSource):
        @classmethod
        def name(cls) -> str:
            return "ready"

        def reader(self, schema: Any) -> DataSourceReader:
            return Reader(self.options["path"])

    return Ready


def middle(log: str, share: float) -> tuple[str, str]:
    """Two times in the middle of a log, so far apart that about this share of it lies between them."""
    import gtidal

    table = gtidal.transactions(log, columns=["timestamp", "end_position"]).read_all()
    size, ends = os.path.getsize(log), table["end_position"].to_pylist()
    times = table["timestamp"].to_pylist()
    first = next(time for time, end in zip(times, ends, strict=True) if end >= size * (0.5 - share / 2))
    last = next(time for time, end in zip(times, ends, strict=True) if end >= size * (0.5 + share / 2))
    return first.isoformat(), last.isoformat()


def bytes_of(log: str, options: dict[str, str]) -> int:
    """How many bytes of the log a read takes, those for planning included."""
    from gtidal.planning import plan_read, read_part
    from gtidal.sources.files import Meter

    meter = Meter()
    plan = plan_read(log, options, part_bytes=128 << 20, meter=meter)
    for part in plan.parts:
        for _ in read_part("changes", part, options, meter=meter):
            pass
    return meter.bytes_read


def child(job: str, log: str, small: str, table: str, cores: str, folder: str) -> None:
    started = time.perf_counter()
    if job == "kernel":
        import gtidal

        for _ in gtidal.changes(log, threads=int(cores)):
            pass
        print(json.dumps(asdict(Taken(time.perf_counter() - started))))
        return
    import gtidal.spark

    spark = gtidal.spark.session(f"local[{cores}]")
    ready = time.perf_counter()
    prepare = jobs(spark, table, Path(folder))[job]
    prepare(small, False)()
    warm = time.perf_counter()
    work = prepare(log, True)
    planned = time.perf_counter()
    taken = []
    for _ in range(2 if job in WRITING else TIMES):
        begun = time.perf_counter()
        read = work()
        taken.append(time.perf_counter() - begun)
    found = Taken(min(taken), taken[0], ready - started, warm - ready, planned - warm, read)
    print(json.dumps(asdict(found)))
    spark.stop()


# --- the measurements


def run(job: str, log: Path, small: Path, table: str, cores: int, folder: Path) -> Taken:
    command = [
        sys.executable,
        str(Path(__file__)),
        "--child",
        job,
        str(log),
        str(small),
        table,
        str(cores),
        str(folder),
    ]
    output = subprocess.run(
        ["taskset", "-c", "0" if cores == 1 else "0,1", *command], capture_output=True, text=True
    )
    if output.returncode:
        raise SystemExit(f"{job}: {output.stderr[-2000:]}")
    return Taken(**json.loads(output.stdout.strip().splitlines()[-1]))


def clocked(command: list[str]) -> float:
    started = time.perf_counter()
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    return time.perf_counter() - started


def measure(rounds: int, megabytes: int, screen: Screen) -> dict[str, Any]:
    best: dict[str, float] = {}
    first: dict[str, float] = {}
    fixed: dict[str, list[float]] = {"session": [], "job on the first 16 MB": [], "planning": []}
    shares: dict[str, float] = {}
    folder = bench_folder() / "spark" / "rows"
    folder.parent.mkdir(parents=True, exist_ok=True)
    tool = [str(mysql_binaries().reader), "--no-defaults", "-vv", "--base64-output=decode-rows"]
    plan = {
        "oltp": [
            ("changes", 1),
            ("changes", 2),
            ("ready", 1),
            ("ready", 2),
            ("kernel", 1),
            ("kernel", 2),
            ("one_table", 2),
            ("window", 2),
        ],
        "bulk": [
            ("write", 2),
            ("rows", 1),
            ("rows", 2),
            ("parquet", 1),
            ("parquet", 2),
            ("changes", 2),
            ("export", 2),
        ],
    }
    for _ in range(rounds):
        for workload in WORKLOADS:
            with beginning(log_of(workload), megabytes * 1_000_000) as log, beginning(log) as small:
                name = f"{workload.name}: mysqlbinlog -vv, 1 core"
                best[name] = min(best.get(name, 1e9), clocked(["taskset", "-c", "0", *tool, str(log)]))
                for job, cores in plan[workload.name]:
                    taken = run(job, log, small, workload.table, cores, folder)
                    name = f"{workload.name}: {job}, {cores} core{'s' if cores > 1 else ''}"
                    best[name] = min(best.get(name, 1e9), taken.seconds)
                    screen.line((f"{name:<44}{taken.seconds:8.2f} s", "dim"))
                    if taken.session:
                        first[name] = min(first.get(name, 1e9), taken.first)
                        fixed["session"].append(taken.session)
                        fixed["job on the first 16 MB"].append(taken.small)
                        fixed["planning"].append(taken.planning)
                    if taken.bytes_read is not None:
                        shares[name] = taken.bytes_read / log.stat().st_size
        for title, command in (
            ("gtidal query on the sample", [sys.executable, "-m", "gtidal", "query", QUERY, str(SAMPLE)]),
            ("the same in a stock session", [sys.executable, "-c", STOCK, str(SAMPLE)]),
        ):
            best[title] = min(best.get(title, 1e9), clocked(command))
            screen.line((f"{title:<44}{best[title]:8.2f} s", "dim"))
    return {
        "seconds": best,
        "first": first,
        "bytes": shares,
        "fixed": {name: statistics.median(each) for name, each in fixed.items()},
    }


def bars(found: dict[str, Any]) -> list[tuple[str, float, float, bool]]:
    """Title, what was measured, the bar, and whether more is better."""
    seconds = found["seconds"]

    def ratio(ours: str, theirs: str) -> float:
        return float(seconds[theirs] / seconds[ours])

    vv = "mysqlbinlog -vv, 1 core"
    return [
        ("typed rows, local[2], against Spark's Parquet reader", ratio("bulk: rows, 2 cores", "bulk: parquet, 2 cores"), 0.6, True),
        ("changes oltp, local[2], against mysqlbinlog -vv", ratio("oltp: changes, 2 cores", f"oltp: {vv}"), 8, True),
        ("changes oltp, two processors against one", ratio("oltp: changes, 2 cores", "oltp: changes, 1 core"), 1.7, True),
        ("typed rows, two processors against one", ratio("bulk: rows, 2 cores", "bulk: rows, 1 core"), 1.7, True),
        ("export of typed rows against df.write.parquet", ratio("bulk: export, 2 cores", "bulk: write, 2 cores"), 3, True),
        ("bytes read for a window of 5 % of the log", found["bytes"]["oltp: window, 2 cores"], 0.07, False),
        ("gtidal query against a stock session", 1 / ratio("gtidal query on the sample", "the same in a stock session"), 0.7, False),
    ]  # fmt: skip


def main() -> int:
    if sys.argv[1:2] == ["--child"]:
        child(*sys.argv[2:])
        return 0
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--megabytes", type=int, default=1000)
    arguments = parser.parse_args()
    os.environ["PYTHONPATH"] = str(ROOT / "src")
    screen = Screen()
    found = measure(arguments.rounds, arguments.megabytes, screen)
    screen.line()
    for name, value in found["seconds"].items():
        first = f"   the first time {found['first'][name]:.2f} s" if name in found["first"] else ""
        screen.line((f"{name:<52}{value:8.2f} s{first}", ""))
    for name, value in found["fixed"].items():
        screen.line((f"{name + ' (median)':<52}{value:8.2f} s", ""))
    screen.line()
    for cores in ("1 core", "2 cores"):
        share = found["seconds"][f"oltp: ready, {cores}"] / found["seconds"][f"oltp: changes, {cores}"]
        at_most = (
            found["seconds"]["oltp: mysqlbinlog -vv, 1 core"] / found["seconds"][f"oltp: ready, {cores}"]
        )
        text = f"  oltp, {cores}: the same batches, ready-made, take Spark {share:.2f} of the time"
        screen.line(
            (f"{text}; mysqlbinlog -vv takes {at_most:.1f} times that, so no source does better", "dim")
        )
    for title, value, least, more in bars(found):
        met = value >= least if more else value <= least
        verdict = ("met", "green") if met else ("NOT MET", "red")
        screen.line((f"  {title:<60}{value:8.2f}   of {least:>5g}  ", ""), verdict)
    stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H%M%SZ")
    target = bench_folder() / "results" / f"spark-{stamp}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps({**found, "load": os.getloadavg()[0], "bars": bars(found)}, indent=1) + "\n")
    screen.line((f"written to {target}", "dim"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
