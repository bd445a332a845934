"""``gtidal dump`` against the real mysqlbinlog, on a log of small transactions.

    python bench/dump_vs_tool.py [--megabytes 24] [--rounds 3] [--mode default|vv|…]

The log is made once by a real MySQL server (inserts, updates and deletes of a row or two, each a transaction of
its own) and kept in the cache folder. Both programs print it to the null device, in turns; the best round of each
counts, by processor time, so that other work on the machine does not decide. Their output is compared first: speed
without the same text would mean nothing.

Target: -vv at no less than a twelfth of the tool's speed, in constant memory.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

import fetch_servers  # noqa: E402
from tests.live.servers import TOOL_ENVIRONMENT, MySQLServer, mysql_binaries  # noqa: E402

SLOWEST = 12
MODES = {
    "default": [],
    "v": ["-v"],
    "vv": ["-vv"],
    "decode-rows": ["-vv", "--base64-output=decode-rows"],
    "short": ["-s"],
}
SETUP = [
    "CREATE DATABASE shop",
    "USE shop",
    """CREATE TABLE orders (id INT AUTO_INCREMENT PRIMARY KEY, customer INT NOT NULL, status ENUM('new', 'paid', 'sent'),
       amount DECIMAL(10,2), note VARCHAR(80), placed DATETIME(3), changed TIMESTAMP NULL)""",
    """CREATE PROCEDURE fill (IN total INT)
       BEGIN
         DECLARE i INT DEFAULT 0;
         WHILE i < total DO
           INSERT INTO orders (customer, status, amount, note, placed)
             VALUES (i MOD 977, 'new', i / 7, CONCAT('order number ', i), NOW(3));
           IF i MOD 3 = 0 THEN UPDATE orders SET status = 'paid', changed = NOW() WHERE id = i + 1; END IF;
           IF i MOD 10 = 0 THEN DELETE FROM orders WHERE id = i + 1; END IF;
           SET i = i + 1;
         END WHILE;
       END""",
]


def small_transactions(megabytes: int) -> Path:
    """A log of at least this size; made if it is not there."""
    folder = fetch_servers.cache_folder() / "bench"
    path = folder / f"small-transactions-{mysql_binaries().version}-{megabytes}.binlog"
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    print(f"making {path.name} …", file=sys.stderr)
    options = ("--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--max-binlog-size=1G")
    with MySQLServer.temporary(*options) as server:
        server.execute(SETUP)
        server.flush()
        while server.binlogs()[-1].stat().st_size < megabytes << 20:
            server.execute(["CALL shop.fill(5000)"])
        log = server.binlogs()[-1]
        server.flush()
        draft = path.with_suffix(".draft")
        draft.write_bytes(log.read_bytes())
        draft.rename(path)
    return path


class Taken(NamedTuple):
    """What a run took: of the clock, of the processor, and of memory at its peak."""

    wall: float
    cpu: float
    memory: int


def run(command: list[str]) -> Taken:
    start = time.perf_counter()
    process = subprocess.Popen(
        command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"exit {process.returncode} from {' '.join(command)}")
    return Taken(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def environment() -> dict[str, str]:
    return {**TOOL_ENVIRONMENT, "PYTHONPATH": str(ROOT / "src")}


def same_output(ours: list[str], theirs: list[str]) -> bool:
    texts = [
        subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE) for command in (ours, theirs)
    ]
    same = True
    left, right = (process.stdout for process in texts)
    assert left is not None
    assert right is not None
    while same and (block := left.read(1 << 20)):
        same = block == right.read(len(block))
    same = same and not right.read(1)
    for process in texts:
        process.kill()
        process.wait()
    return same


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mode", choices=MODES, default="vv")
    arguments = parser.parse_args()
    log = small_transactions(arguments.megabytes)
    switches = MODES[arguments.mode]
    start = "import sys; from gtidal.cli.main import main; sys.exit(main())"
    ours = [sys.executable, "-c", start, "dump", *switches, str(log)]
    theirs = [str(mysql_binaries().reader), "--no-defaults", *switches, str(log)]
    size = log.stat().st_size / 1e6
    if not same_output(ours, theirs):
        print("the outputs differ")
        return 1
    rounds = [(run(ours), run(theirs)) for _ in range(arguments.rounds)]
    print(f"{log.name}: {size:.1f} MB, dump {' '.join(switches)}")
    best = [min(taken, key=lambda taken: taken.cpu) for taken in zip(*rounds, strict=True)]
    for name, taken in zip(("gtidal", "mysqlbinlog"), best, strict=True):
        print(
            f"  {name:<12} {taken.cpu:6.2f} s of processor time, {taken.wall:6.2f} s in all, "
            f"{size / taken.cpu:6.1f} MB/s, peak memory {taken.memory / 1e6:.0f} MB"
        )
    slower = best[0].cpu / best[1].cpu
    print(f"  1/{slower:.1f} of the tool's speed (no less than 1/{SLOWEST} is wanted)")
    print(
        f"  {os.cpu_count()} cores, Python {sys.version.split()[0]}, mysqlbinlog {mysql_binaries().version}"
    )
    return 0 if slower <= SLOWEST else 1


if __name__ == "__main__":
    sys.exit(main())
