"""The kernel under AddressSanitizer and UndefinedBehaviorSanitizer, with bounds checks.

Builds it apart from the ordinary one, into the environment's own folder, and lets tests/hostile/sanitized.py run
over the corpus, logs cut around every event boundary, and damaged logs. Any report fails.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
FOLDER = Path(sys.prefix) / "kernel" / "sanitized"
LIBRARIES = ("libasan.so", "libubsan.so", "libstdc++.so")
COVERAGE_SOURCE = REPOSITORY / "tools" / "coverage_map.c"
COVERAGE_MAP = FOLDER / "coverage_map.so"


def build() -> Path:
    """The package with a kernel that has sanitizers in it; what has not changed since is kept."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:  # tests run side by side
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _build(FOLDER / "lib")


def _build(package: Path) -> Path:
    build_ext = [
        "setup.py",
        "--quiet",
        "build_ext",
        "--build-lib",
        str(package),
        "--build-temp",
        str(FOLDER / "temp"),
    ]
    subprocess.run(
        [sys.executable, *build_ext],
        cwd=REPOSITORY,
        env=os.environ | {"GTIDAL_SANITIZE": "1", "GTIDAL_REQUIRE_COMPILED": "1"},
        check=True,
    )
    compiler = os.environ.get("CC", "cc")
    subprocess.run(
        [compiler, "-O2", "-fPIC", "-shared", "-o", str(COVERAGE_MAP), str(COVERAGE_SOURCE)], check=True
    )
    source = REPOSITORY / "src" / "gtidal"
    wanted = {path.relative_to(source) for path in source.rglob("*.py")}
    for left in set((package / "gtidal").rglob("*.py")) - {package / "gtidal" / path for path in wanted}:
        left.unlink()
    for path in wanted:
        target = package / "gtidal" / path
        if not target.exists() or target.read_bytes() != (source / path).read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / path, target)
    return package


def environment(package: Path) -> dict[str, str]:
    compiler = os.environ.get("CC", "cc")
    verify_asan = "verify_asan_link_order=0"  # the coverage map comes before it
    found = [
        subprocess.run(
            [compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True
        ).stdout.strip()
        for name in LIBRARIES
    ]
    variables = {name: value for name, value in os.environ.items() if name != "GTIDAL_KERNEL"}
    return variables | {
        "LD_PRELOAD": " ".join([str(COVERAGE_MAP), *found]),
        "ASAN_OPTIONS": f"detect_leaks=0:abort_on_error=0:allocator_may_return_null=1:{verify_asan}",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONPATH": os.pathsep.join([str(package), str(REPOSITORY)]),
    }


def start(
    package: Path, *options: str, number: int = 0, module: str = "tests.hostile.sanitized"
) -> subprocess.Popen[str]:
    current = FOLDER / f"current-{number}.log"
    return subprocess.Popen(
        [sys.executable, "-m", module, "--current", str(current), *options],
        cwd=REPOSITORY,
        env=environment(package),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def sanitize(logs: int, every: int, seed: str, workers: int) -> tuple[bool, str]:
    """Whether there was no report, and what the processes said."""
    package = build()
    work = ["--logs", str(logs), "--every", str(every), "--seed", seed]
    running = [start(package, *work, "--share", f"{k}/{workers}", number=k) for k in range(workers)]
    fine, said = True, ""
    for number, process in enumerate(running):
        output, _ = process.communicate()
        said += output
        if process.returncode:
            fine = False
            culprit = FOLDER / f"culprit-{seed}-{number}.log"
            shutil.copy2(FOLDER / f"current-{number}.log", culprit)
            said += f"exit code {process.returncode}; it was reading {culprit}\n"
    return fine, said


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=20_000, help="how many damaged logs")
    parser.add_argument("--every", type=int, default=1, help="of the cut logs, take each so manyth")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    fine, said = sanitize(options.logs, options.every, options.seed, options.workers)
    print(said, end="")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
