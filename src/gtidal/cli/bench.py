"""``gtidal bench``: how fast logs are read on this machine, beside the reference tool.

Every measurement runs in a process of its own, pinned to its processors. Ours time themselves from the moment at
which Python and the libraries are there; what a start takes is a measurement of its own. The tool's time is that of
its whole process.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gtidal.cli.conversion import Command
from gtidal.cli.opening import check_magic
from gtidal.cli.output import Output, print_json
from gtidal.cli.progress import telling
from gtidal.cli.screen import Screen, cut
from gtidal.errors import UsageError
from gtidal.events.format import MAGIC, FormatDescription
from gtidal.sources.files import LogFile, find_logs, open_log

if TYPE_CHECKING:
    import resource

HELP = """
Measure how fast logs are read here: each step of the kernel, each view drained to Arrow, verify and dump; beside
them mysqlbinlog, if it is found. One processor each, the best of some rounds, by processor time; what uses two
processors is measured by the clock.

\b
Examples:
  gtidal bench binlog.000024
  gtidal bench /archive/db1 --rounds 1 --output json
  gtidal bench binlog.000024 --mysqlbinlog /opt/mysql/bin/mysqlbinlog
"""

ROUNDS = 3
REPEATS = 3
"""What compares two processors with one is measured so often in each round: a second processor is more easily disturbed, and
the two are not measured at the same moment."""
SLICE = 16_000_000
"""What is slow reads about so many bytes of the first log."""
FEW_COLUMNS = ("file", "position", "gtid", "schema", "table", "op")
"""A projection of `changes`: who changed which table, without the rows themselves."""
MOST_IN_MEMORY = 1 << 30
INDEX_SIZE, INDEX_FULL = 1 << 16, 1
"""Events that the header walk indexes in one call, and its code for a full index."""
POLL_SECONDS = 0.005
TOOL = "mysqlbinlog"
TOOL_VV = "mysqlbinlog -vv decode-rows"
TOOL_VERIFY = "mysqlbinlog --verify-binlog-checksum"
TOOL_DUMP = "mysqlbinlog -vv"


# --- what is measured -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measure:
    """One thing to measure: a program that reads logs."""

    name: str
    size: int
    """Bytes of log that it reads."""
    command: Sequence[str]
    reports: bool = False
    """Whether it prints what it took, as JSON: then it leaves its own start out. Else its whole process counts."""
    cores: int = 1
    repeats: int = 1
    """How often it is measured in each round."""


@dataclass(frozen=True)
class Taken:
    """What one run took. Memory in bytes, at its peak; `base` is what Python and the libraries had before."""

    wall: float
    cpu: float
    memory: int = 0
    base: int = 0
    rows: int | None = None


@dataclass
class Result:
    """The runs of a measure, or why there are none."""

    measure: Measure
    runs: list[Taken] = field(default_factory=list)
    problem: str = ""

    @property
    def clock(self) -> str:
        """By which clock it is judged: processor time, which other work on the machine hardly changes, where there
        is one processor; else the clock on the wall."""
        return "cpu" if self.measure.cores == 1 else "wall"

    def best(self, clock: str = "") -> Taken:
        seconds = attrgetter(clock or self.clock)
        return min(self.runs, key=seconds)

    def speed(self, clock: str = "") -> float:
        """Bytes per second."""
        clock = clock or self.clock
        return self.measure.size / max(float(getattr(self.best(clock), clock)), 1e-9)

    def rows_per_second(self) -> float | None:
        best = self.best()
        return best.rows / max(float(getattr(best, self.clock)), 1e-9) if best.rows else None

    def record(self) -> dict[str, Any]:
        found = {"measure": self.measure.name, "bytes": self.measure.size, "cores": self.measure.cores}
        if not self.runs:
            return {**found, "problem": self.problem}
        return {
            **found,
            "clock": self.clock,
            "bytes_per_second": round(self.speed()),
            "rows_per_second": self.rows_per_second(),
            "best": asdict(self.best()),
            "runs": [asdict(taken) for taken in self.runs],
        }


COMMAND = "import sys; from gtidal.cli.main import main; sys.exit(main())"
CHILD = "import sys; from gtidal.cli.bench import child; child(*sys.argv[1:])"
LIBRARIES = "from gtidal.cli.bench import load_libraries; load_libraries()"


def own_measures(paths: Sequence[Path], part: Path, table: str | None) -> list[Measure]:
    """Ours. `part` is a small log for what is slow."""
    files = [str(path) for path in paths]
    size, part_size = sum(path.stat().st_size for path in paths), part.stat().st_size

    def step(
        title: str, name: str, size: int = size, cores: int = 1, repeats: int = 1, **arguments: Any
    ) -> Measure:
        command = [sys.executable, "-c", CHILD, name, json.dumps(arguments)]
        return Measure(title, size, command, reports=True, cores=cores, repeats=repeats)

    def view(title: str, name: str, cores: int = 1, repeats: int = 1, **options: Any) -> Measure:
        options = {**options, "threads": cores}
        return step(title, "drain", cores=cores, repeats=repeats, view=name, paths=files, options=options)

    def twice(title: str, name: str, **options: Any) -> Measure:
        options = {**options, "threads": 1}
        return step(
            title, "drain_twice", 2 * size, cores=2, repeats=REPEATS, view=name, paths=files, options=options
        )

    def command(title: str, *arguments: str, cores: int = 1) -> Measure:
        return Measure(title, size, [sys.executable, "-c", COMMAND, *arguments], cores=cores)

    detail = {"detail": True, "threads": 1}
    in_memory = min(paths[0].stat().st_size, MOST_IN_MEMORY)
    verify = ["verify", "--output", "json", *files]
    dump = ["dump", "-vv", *files]
    return [
        Measure("start of Python and libraries", 0, [sys.executable, "-c", LIBRARIES]),
        step("header walk", "walk", in_memory, path=files[0], compare=False),
        step("header walk and checksums", "walk", in_memory, path=files[0], compare=True),
        view("events", "events"),
        step("events with detail", "drain", part_size, view="events", paths=[str(part)], options=detail),
        view("transactions", "transactions"),
        view("changes", "changes", repeats=REPEATS),
        view("changes without images", "changes", columns=FEW_COLUMNS),
        view("typed rows", "rows", repeats=REPEATS, table=table),
        step("verify", "command", arguments=verify),
        command("verify, whole process", *verify),
        view("changes, 2 threads", "changes", cores=2, repeats=REPEATS),
        view("typed rows, 2 threads", "rows", cores=2, repeats=REPEATS, table=table),
        twice("changes, 2 processes", "changes"),
        twice("typed rows, 2 processes", "rows", table=table),
        command("dump -vv", *dump),
        command("dump -vv, 2 cores", *dump, cores=2),
    ]


def tool_measures(tool: str, paths: Sequence[Path]) -> list[Measure]:
    """The reference tool's, of the same files."""
    files = [str(path) for path in paths]
    size = sum(path.stat().st_size for path in paths)

    def of(name: str, *arguments: str) -> Measure:
        return Measure(name, size, [tool, "--no-defaults", *arguments, *files])

    return [
        of(TOOL),
        of(TOOL_VERIFY, "--verify-binlog-checksum"),
        of(TOOL_VV, "-vv", "--base64-output=decode-rows"),
        of(TOOL_DUMP, "-vv"),
    ]


# --- running it -------------------------------------------------------------------------------------------


class MeasureError(Exception):
    """A measurement did not work; the text is its last line of complaint."""


def run_all(measures: Sequence[Measure], rounds: int, tell: Callable[[str], None]) -> list[Result]:
    """Measure everything in turns, so that a busy moment of the machine does not meet one measure alone."""
    results = [Result(measure) for measure in measures]
    for turn in range(rounds):
        for result in results:
            if result.problem:
                continue
            tell(f"round {turn + 1} of {rounds}: {result.measure.name}")
            try:
                result.runs += [run(result.measure) for _ in range(result.measure.repeats)]
            except MeasureError as error:
                result.problem = str(error)
                result.runs.clear()
    return results


def run(measure: Measure) -> Taken:
    """One run, in a process pinned to as many processors as the measure wants."""
    if measure.cores > len(usable_processors()):
        raise MeasureError(f"needs {measure.cores} processors")
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        with pinned(measure.cores):
            process = subprocess.Popen(
                measure.command,
                env={**os.environ, "TZ": "UTC"},
                stdin=subprocess.DEVNULL,
                stdout=output if measure.reports else subprocess.DEVNULL,
                stderr=errors,
            )
        memory, status, usage = _wait(process.pid, look=not measure.reports)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            said = errors.read().decode(errors="replace").strip().splitlines() or ["it said nothing"]
            raise MeasureError(f"exit {process.returncode}: {said[-1]}")
        if measure.reports:
            output.seek(0)
            return Taken(**json.loads(output.read()))
        return Taken(wall, usage.ru_utime + usage.ru_stime, memory or usage.ru_maxrss * 1024)


def _wait(pid: int, *, look: bool) -> tuple[int, int, resource.struct_rusage]:
    """Wait for a process; its peak memory, status and usage. The usage of a child begins with the memory of its
    parent, so where there is /proc the peak is read there while it runs; but not of one that reports it by itself: to look
    takes time of the processors that it is measured on."""
    memory = 0
    if not look:
        _, status, usage = os.wait4(pid, 0)
        return memory, status, usage
    while True:
        found, status, usage = os.wait4(pid, os.WNOHANG)
        if found:
            return memory, status, usage
        memory = memory_of(str(pid), PEAK) or memory
        time.sleep(POLL_SECONDS)


PEAK, NOW = "VmHWM", "VmRSS"


def memory_of(pid: str, which: str) -> int:
    """The resident size of a process, now or at its peak so far; 0 where the system does not tell."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(which):
                return int(line.split()[1]) * 1024
    return 0


def usable_processors() -> list[int]:
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


@contextlib.contextmanager
def pinned(cores: int) -> Iterator[None]:
    """What is started within runs on this many processors. Systems without pinning only share fairly."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = usable_processors()
    os.sched_setaffinity(0, before[-cores:])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextlib.contextmanager
def beginning(path: Path, size: int = SLICE) -> Iterator[Path]:
    """The first part of a log as a log of its own: about `size` bytes, up to where a transaction begins. A log that
    is encrypted or short is taken whole."""
    with path.open("rb") as stream:
        data = stream.read(size if size <= path.stat().st_size else len(MAGIC))
    if len(data) < size or not data.startswith(MAGIC):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="gtidal-bench-") as folder:
        part = Path(folder) / path.name
        part.write_bytes(data[: _last_boundary(data)])
        yield part


GTID_TYPES = (33, 34, 42, 162)
"""The events that begin a transaction: GTID, ANONYMOUS_GTID, GTID_TAGGED, and MariaDB's GTID."""
HEADER_SIZE = 19


def _last_boundary(data: bytes) -> int:
    """Where the last transaction begins of which these bytes hold the beginning; else where the last event does."""
    position, event, transaction = len(MAGIC), len(MAGIC), 0
    while position + HEADER_SIZE <= len(data):
        event = position
        if data[position + 4] in GTID_TYPES:
            transaction = position
        position += max(int.from_bytes(data[position + 9 : position + 13], "little"), HEADER_SIZE)
    return transaction or (position if position <= len(data) else event)


# --- in the child -----------------------------------------------------------------------------------------


def child(step: str, arguments: str) -> None:
    """Do one step and print what it took, as JSON."""
    load_libraries()
    work = STEPS[step](**json.loads(arguments))
    base = memory_of("self", NOW)
    output, sys.stdout = sys.stdout, Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  # open until the process ends
    wall, cpu = time.perf_counter(), processor_time()
    rows = work()
    wall, cpu = time.perf_counter() - wall, processor_time() - cpu
    memory = memory_of("self", PEAK)
    json.dump({"wall": wall, "cpu": cpu, "memory": memory, "base": base, "rows": rows}, output)
    output.flush()


def load_libraries() -> None:
    """Load what else would be loaded when it is first used: a start is not part of what is measured."""
    import gtidal.columnar

    for module in pkgutil.walk_packages(gtidal.columnar.__path__, "gtidal.columnar."):
        importlib.import_module(module.name)
    names = ("pyarrow", "pyarrow.compute", "gtidal.requests", "gtidal.cli.main", "gtidal.cli.verify")
    for name in (*names, "gtidal.views", "gtidal.live", "gtidal.parallel", "pymysql.connections"):
        importlib.import_module(name)
    gc.collect()  # Python would look through all that was loaded a little later


def processor_time() -> float:
    """Of all threads, and of the processes that were started and have ended."""
    import resource

    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


Work = Callable[[], int | None]


def _drain(view: str, paths: list[str], options: dict[str, Any]) -> Work:
    import gtidal

    function = getattr(gtidal, view)
    if view == "rows" and options["table"] is None:
        options = {**options, "table": busiest_table(paths)}

    def work() -> int:
        return sum(batch.num_rows for batch in function(paths, **options))

    return work


def _drain_twice(view: str, paths: list[str], options: dict[str, Any]) -> Work:
    """Two processes that know nothing of each other, each on a processor of its own, at the same time."""
    drain = _drain(view, paths, options)

    def work() -> None:
        started = []
        for processor in usable_processors()[:2]:
            if not (process := os.fork()):
                if hasattr(os, "sched_setaffinity"):
                    os.sched_setaffinity(0, [processor])
                drain()
                os._exit(0)
            started.append(process)
        for process in started:
            if os.waitpid(process, 0)[1]:
                sys.exit("one of two processes failed")

    return work


def busiest_table(paths: Sequence[str]) -> str:
    """The table with most changed rows."""
    import pyarrow

    import gtidal

    counts: Counter[str] = Counter()
    for batch in gtidal.changes(paths, columns=["schema", "table"]):
        groups = pyarrow.Table.from_batches([batch]).group_by(["schema", "table"])
        for group in groups.aggregate([([], "count_all")]).to_pylist():
            if group["table"] is not None:
                counts[f"{group['schema']}.{group['table']}"] += group["count_all"]
    if not counts:
        sys.exit("no rows changed in these logs")
    return counts.most_common(1)[0][0]


def _walk(path: str, compare: bool) -> Work:
    """The kernel's first step alone, on bytes that are in memory already."""
    import numpy as np

    from gtidal.columnar import kernel
    from gtidal.columnar.index import ALL_GTIDS, Index

    data = np.fromfile(path, np.uint8, MOST_IN_MEMORY)
    with open_log(path) as reader:
        first = next(iter(reader))
    if not isinstance(first, FormatDescription):
        sys.exit(f"{path} begins with {first.name}, not with a format description")
    checksums = (2 if compare else 1) if first.format.checksum else 0
    index = Index(INDEX_SIZE)
    unmarked = np.zeros(256, np.uint8)
    progress = np.zeros(5, np.int64)

    def work() -> int:
        events, code, position = 0, INDEX_FULL, len(MAGIC)
        while code == INDEX_FULL:
            progress[:] = 0
            code = kernel.walk.walk(
                data,
                position,
                len(data),
                first.format.header_length,
                checksums,
                unmarked,
                *index.walked,
                0,
                *ALL_GTIDS,
                progress,
            )
            position = int(progress[0])
            events += int(progress[1])
        if code:
            sys.exit(f"the walk stopped at {position} with code {code}")
        return events

    return work


def _command(arguments: list[str]) -> Work:
    from gtidal.cli.main import main

    def work() -> None:
        if code := main(arguments):
            sys.exit(f"exit {code} from gtidal {' '.join(arguments)}")

    return work


STEPS: dict[str, Callable[..., Work]] = {
    "walk": _walk,
    "drain": _drain,
    "drain_twice": _drain_twice,
    "command": _command,
}


# --- the report -------------------------------------------------------------------------------------------


def show_results(screen: Screen, results: Sequence[Result]) -> None:
    """The table of one set of logs, each speed also as a multiple of the tool's with -vv."""
    tool = next((result for result in results if result.measure.name == TOOL_VV and result.runs), None)
    title = f"{'':<38}{'MB/s':>9}{'rows/s':>12}{'cpu s':>9}{'wall s':>9}{'peak MB':>9}{'+ MB':>6}"
    screen.line((title + ("  × -vv" if tool else ""), "bold"))
    for result in results:
        name = f"{cut(result.measure.name, 37):<38}"
        if not result.runs:
            screen.line((name, ""), (cut(f"not measured: {result.problem}", screen.width - 38), "yellow"))
            continue
        best = result.best()
        speed = f"{result.speed() / 1e6:,.1f}" if result.measure.size else ""
        rows = f"{rate:,.0f}" if (rate := result.rows_per_second()) else ""
        above = f"{(best.memory - best.base) / 1e6:.0f}" if best.base else ""
        line = f"{speed:>9}{rows:>12}{best.cpu:>9.3f}{best.wall:>9.3f}{best.memory / 1e6:>9.0f}{above:>6}"
        times = f"{result.speed() / tool.speed():>7.1f}" if tool and result.measure.size else ""
        screen.line((name, ""), (line, ""), (times, "green"))


def local_path(file: LogFile) -> Path:
    if isinstance(file.path, Path):
        return file.path
    raise UsageError(f"bench measures files on this machine; {file.path} is elsewhere")


def find_tool(named: str | None) -> str | None:
    """The program to compare with: the one that is named, which must be there, or one on the PATH."""
    tool = shutil.which(named or "mysqlbinlog")
    if named and tool is None:
        raise UsageError(f"--mysqlbinlog names no program that can be run: {named}")
    return tool


def bench(
    paths: Annotated[
        list[str], typer.Argument(metavar="FILE", help="Logs, directories, globs or .index files.")
    ],
    table: Annotated[
        str | None,
        typer.Option(
            metavar="SCHEMA.TABLE", help="The table for typed rows; the one with most changes if left out."
        ),
    ] = None,
    mysqlbinlog: Annotated[
        str | None,
        typer.Option(metavar="PROGRAM", help="The tool to compare with; else the one on the PATH."),
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Runs of each; the best counts.")] = ROUNDS,
    output: Annotated[Output, typer.Option("--output", help="text, or json for JSON Lines.")] = Output.text,
) -> None:
    files = find_logs(paths)
    for file in files:
        check_magic(file)
    tool = find_tool(mysqlbinlog)
    logs = [local_path(file) for file in files]
    with beginning(logs[0]) as part:
        measures = own_measures(logs, part, table)
        if tool:
            measures += tool_measures(tool, logs)
        with telling() as tell:
            results = run_all(measures, rounds, tell)
    if output is Output.json:
        for result in results:
            print_json(result.record())
        return
    screen = Screen()
    size = sum(path.stat().st_size for path in logs)
    noun = "log" if len(logs) == 1 else "logs"
    screen.line((f"{len(logs)} {noun}, {size / 1e6:,.1f} MB; best of {rounds}, one processor each", ""))
    show_results(screen, results)
    if not tool:
        screen.line(
            ("mysqlbinlog is not on the PATH: nothing to compare with (--mysqlbinlog names it)", "dim")
        )


def register(app: typer.Typer) -> None:
    app.command("bench", cls=Command, help=HELP)(bench)
