"""Run by tools/fuzz.py in a process with sanitizers: damage that finds its own way.

A log is kept as material for more damage if it made the kernel run somewhere new. The sanitizers judge memory and
arithmetic, and what the kernel makes of rows, and of some logs altogether, is compared with the reference decoder.
"""

from __future__ import annotations

import argparse
import ctypes
import sys
import time
from pathlib import Path

import numpy as np

from gtidal.columnar import kernel
from tests.hostile.damage import Damager
from tests.hostile.kernel_drive import Drive
from tests.hostile.sanitized import report_and_end
from tests.hostile.small_logs import small_logs
from tests.hostile.view_judge import compare_views

MOST_KEPT = 4000
LARGEST_KEPT = 1 << 14
PLACES = 1 << 16
VIEWS_OF = 10
"""The views of each so manyth log are judged, and of every one that is kept: that takes ten times as long."""


class Coverage:
    """The places of the kernel that have run, from tools/coverage_map.c."""

    def __init__(self) -> None:
        self._map = np.frombuffer(
            (ctypes.c_ubyte * PLACES).in_dll(ctypes.CDLL(None), "gtidal_places"), np.uint8
        )
        self.count = self.look()

    def look(self) -> int:
        return int(np.count_nonzero(self._map))

    def grew(self) -> bool:
        before, self.count = self.count, self.look()
        return self.count > before


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--no-views", action="store_true", help="do not compare views")
    parser.add_argument("--kept", type=Path, help="a folder: logs from earlier runs, and where new ones go")
    parser.add_argument("--current", type=Path, required=True)
    options = parser.parse_args()
    assert kernel.IMPLEMENTATION == "compiled", kernel.interpreted_modules()
    sys.unraisablehook = report_and_end

    coverage = Coverage()
    damager = Damager(small_logs(), options.seed)
    drive = Drive(options.seed, judge=True)
    earlier = sorted(options.kept.glob("*.log")) if options.kept else []
    runs = kept = 0
    end = time.monotonic() + options.seconds
    with options.current.open("wb", buffering=0) as current:

        def run(data: bytes) -> bool:
            nonlocal runs
            current.seek(0)
            current.truncate()
            current.write(data)
            drive.drive(data)
            runs += 1
            grew = coverage.grew()
            if not options.no_views and (grew or runs % VIEWS_OF == 0):
                compare_views(data)
            return grew

        for data in small_logs():
            run(data)
        for path in earlier:
            if run(data := path.read_bytes()):
                damager.logs.append(data)
        begun = coverage.count
        while time.monotonic() < end:
            data = damager.next()
            if run(data) and len(data) <= LARGEST_KEPT and len(damager.logs) < MOST_KEPT:
                damager.logs.append(data)
                kept += 1
                if options.kept:
                    (options.kept / f"{options.seed}-{kept:05}.log").write_bytes(data)
    print(
        f"{runs} logs, no report; {drive.judged} images as the reference decoder has them; "
        f"{coverage.count - begun} places found beyond the first {begun}, {kept} logs kept"
    )


if __name__ == "__main__":
    main()
