"""Run by tools/sanitize.py in a process with sanitizers: the kernel over real, cut and damaged logs.

A sanitizer ends the process; what the kernel was reading then is in the file ``--current``.
"""

from __future__ import annotations

import argparse
import ctypes
import io
import os
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

import numpy as np

import gtidal
from gtidal.cli.main import main as gtidal_command
from gtidal.columnar import kernel
from tests.hostile.damage import MAGIC_SIZE, Damager, event_spans
from tests.hostile.kernel_drive import Drive, views
from tests.hostile.small_logs import small_logs
from tests.hostile.view_judge import VIEWS, drain
from tests.logs import corpus_logs

COMMANDS = (["dump", "-vv"], ["verify"], ["logs"], ["tables"])
USES_OF = 200
"""The whole package reads each so manyth log: that takes long."""
EVENTS_BEFORE = 12
LARGE = 1 << 18


def cut_logs(data: bytes) -> Iterator[bytes]:
    """Prefixes around every event boundary. A prefix of a large log is its first event and the last ones."""
    spans = event_spans(data)
    if not spans:
        return
    head = data[: spans[0][1]]
    for place, (start, end) in enumerate(spans):
        begin = spans[max(1, place - EVENTS_BEFORE)][0] if place else MAGIC_SIZE
        before = head + data[begin:start] if place else data[:start]
        for size in sorted({0, 1, 13, 18, 19, 20, end - start - 5, end - start - 1}):
            if 0 <= size <= end - start:
                yield before + data[start : start + size]


def undamaged_logs() -> Iterator[bytes]:
    """The small logs, the corpus, and both cut."""
    corpus = [log.data for log in corpus_logs()]
    yield from small_logs()
    yield from (data for data in corpus if len(data) <= LARGE)
    for data in (*small_logs(), *corpus):
        yield from cut_logs(data)


def use_the_package(path: Path) -> None:
    """All of the kernel that the commands and views use. What they say or raise is judged elsewhere."""
    data = path.read_bytes()
    for view in VIEWS:
        with suppress(Exception):
            drain(view, data)
    tables: list[str] = []
    with suppress(Exception):
        tables = [f"{table.schema}.{table.name}" for table in gtidal.tables(path)]
    for table in tables:
        with suppress(Exception):
            for _ in gtidal.rows(path, table, threads=1):
                pass
    for command in COMMANDS:
        output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="surrogateescape")
        with redirect_stdout(output), redirect_stderr(output), suppress(Exception):
            gtidal_command([*command, str(path)])


def step_outside() -> None:
    """Something that AddressSanitizer must report: bytes that the caller says are there, and a checksum over them."""
    data = np.zeros(40, np.uint8)
    data[10] = 16  # an event of 4096 bytes
    one, wide = np.zeros(1, np.int32), np.zeros(1, np.int64)
    none, numbers = np.zeros(0, np.uint8), np.zeros(0, np.int64)
    kernel.walk.walk(
        memoryview(data), 0, 5000, 19, 2,
        *views(np.zeros(256, np.uint8), one, one, one, np.zeros(1, np.uint8), wide, wide, one, wide, wide, wide), 0,
        *views(none, numbers, numbers, numbers), 0, memoryview(np.zeros(5, np.int64)),
    )  # fmt: skip


def step_over_a_bound() -> None:
    """Something that the bounds checks must report: cells that are not there."""
    one, none = np.zeros(1, np.int32), np.zeros(0, np.uint8)
    kernel.texts.settle(
        *views(none, none, np.zeros(0, np.int64), none, one, one), 1,
        *views(one, np.ones(1, np.int32), one, np.ones(1, np.int32), one, one, np.zeros(2, np.int64)),
    )  # fmt: skip


def step_over_the_largest_number() -> None:
    """Something that UndefinedBehaviorSanitizer must report: the size of what is left overflows."""
    none, wide = np.zeros(0, np.int32), np.zeros(0, np.int64)
    bytes_ = np.zeros(0, np.uint8)
    kernel.walk.walk(
        memoryview(bytes_), (1 << 63) - 1, -(1 << 63), 19, 0,
        *views(np.zeros(256, np.uint8), none, none, none, bytes_, wide, wide, none, wide, wide, wide), 0,
        *views(bytes_, wide, wide, wide), 0, memoryview(np.zeros(5, np.int64)),
    )  # fmt: skip


PROOFS = {"outside": step_outside, "bound": step_over_a_bound, "overflow": step_over_the_largest_number}


def report_and_end(unraisable: Any) -> None:
    """A bounds check within a function that raises nothing ends here."""
    print(f"bounds check: {unraisable.exc_value!r} in {unraisable.object!r}", file=sys.stderr, flush=True)
    os._exit(97)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--logs", type=int, default=1000, help="how many damaged logs")
    parser.add_argument(
        "--every", type=int, default=1, help="of the undamaged and cut logs, take each so manyth"
    )
    parser.add_argument("--seed", default="1")
    parser.add_argument("--share", default="0/1", help="which part of the work: number/of how many")
    parser.add_argument("--current", type=Path, required=True)
    parser.add_argument("--prove", choices=PROOFS)
    options = parser.parse_args()

    assert hasattr(ctypes.CDLL(None), "__asan_init"), "no sanitizer in this process"
    assert kernel.IMPLEMENTATION == "compiled", kernel.interpreted_modules()
    sys.unraisablehook = report_and_end
    if options.prove:
        PROOFS[options.prove]()
        print("nothing was reported")
        return

    number, count = map(int, options.share.split("/"))
    drive = Drive(options.seed)
    damager = Damager(small_logs(), f"{options.seed} {number}")
    done = 0
    with options.current.open("wb", buffering=0) as current:

        def run(data: bytes) -> None:
            current.seek(0)
            current.truncate()
            current.write(data)
            drive.drive(data)
            if drive.logs % USES_OF == 0:
                use_the_package(options.current)

        for place, data in enumerate(undamaged_logs()):
            if place % (options.every * count) == number:
                run(data)
                done += 1
        for _ in range(options.logs // count):
            run(damager.next())
            done += 1
    print(f"{done} logs, no report; {dict(sorted(drive.codes.items()))}")


if __name__ == "__main__":
    main()
