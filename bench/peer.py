"""The peer: python-mysql-replication, the Python library that most programs use to read binary logs.

It reads from servers only. So a private server is given a log as its own first log file, and streams it over the
loopback address. The server's own work is not counted.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from make_logs import OPTIONS, bench_folder

from gtidal.cli.bench import Measure
from tests.live.servers import MySQLServer, short_temporary_folder

PEER = "python-mysql-replication"
REQUIREMENT = "mysql-replication==1.0.17"
READER = Path(__file__).with_name("peer_reader.py")


def environment() -> Path:
    """The Python of the peer's own environment; made on the first call, from the package index."""
    folder = bench_folder() / "peer"
    python = folder / "bin" / "python"
    ready = folder / "ready"
    if not ready.exists() or ready.read_text() != REQUIREMENT:
        print(f"installing {REQUIREMENT} into {folder} (once) …", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", REQUIREMENT]
        subprocess.run(install, check=True)
        ready.write_text(REQUIREMENT)
    return python


@contextmanager
def served(log: Path) -> Iterator[Measure]:
    """A server whose first log file is this one, and how the peer reads it from there."""
    python = environment()
    with short_temporary_folder() as folder:
        server = MySQLServer(folder / "s", *OPTIONS)
        server.adopt([log])
        try:
            server.start()
            command = [str(python), "-E", str(READER), str(server.port), log.name]
            yield Measure(PEER, log.stat().st_size, command, reports=True)
        finally:
            server.crash()
