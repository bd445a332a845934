"""Fuzz the kernel for a while: coverage-guided, under sanitizers, against the reference decoder.

The build is that of tools/sanitize.py, the work is done by tests/hostile/fuzzing.py. What was found worth keeping
stays in the environment's folder, so that the next run goes on from there. Any finding fails, and says where the
log is that made it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time

import sanitize  # tools/sanitize.py

KEPT = sanitize.FOLDER / "kept"


def fuzz(seconds: float, seed: str, workers: int, *, keep: bool, views: bool = True) -> tuple[bool, str]:
    """Whether nothing was found, and what the processes said."""
    package = sanitize.build()
    options = ["--seconds", str(seconds)]
    if not views:
        options.append("--no-views")
    if keep:
        KEPT.mkdir(exist_ok=True)
        options += ["--kept", str(KEPT)]
    running = [
        sanitize.start(
            package, *options, "--seed", f"{seed}-{k}", number=100 + k, module="tests.hostile.fuzzing"
        )
        for k in range(workers)
    ]
    fine, said = True, ""
    for number, process in enumerate(running):
        output, _ = process.communicate()
        said += output
        if process.returncode:
            fine = False
            culprit = sanitize.FOLDER / f"found-{seed}-{number}.log"
            shutil.copy2(sanitize.FOLDER / f"current-{100 + number}.log", culprit)
            said += f"exit code {process.returncode}; it was reading {culprit}\n"
    return fine, said


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", default=str(int(time.time())), help="the time, unless given")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--no-views", action="store_true", help="judge the kernel's stages only")
    options = parser.parse_args()
    fine, said = fuzz(options.seconds, options.seed, options.workers, keep=True, views=not options.no_views)
    print(said, end="")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
