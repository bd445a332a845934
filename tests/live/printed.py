"""What the real log readers print, kept in the cache: the same call on the same log is made once.

    CACHE/logs/printed/ab/abcdef….z    exit code, standard output, standard error

Where LOAD DATA's files go is written as `@loads@`. A call's name is made of the reader's version, the arguments and the content of the files it reads.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import signal
import subprocess
import zlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import NamedTuple

from tests.live.scenarios import logs_folder, version
from tests.live.servers import TOOL_ENVIRONMENT, mariadb_binaries, mysql_binaries

MOST_PRINTED = 1 << 28


class Printed(NamedTuple):
    code: int
    out: bytes
    err: bytes

    @property
    def has_no_end(self) -> bool:
        return self.code == -signal.SIGKILL


@cache
def content_hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def run_reader(
    kind: str,
    arguments: Sequence[str],
    files: Sequence[Path],
    *,
    zone: str = "UTC",
    stdin: Path | None = None,
    loads: Path | None = None,
) -> Printed:
    """Run mysqlbinlog or mariadb-binlog on files, perhaps with standard input from a file; `loads` is an empty
    folder for the files of LOAD DATA."""
    words = [kind, version(kind), zone, *arguments, *(content_hash(file) for file in files)]
    if loads is not None:
        words += ["@loads@"]
        arguments = [*arguments, f"--local-load={loads}"]
    if stdin is not None:
        words += ["<", content_hash(stdin)]
    name = hashlib.sha256("\0".join(words).encode()).hexdigest()
    path = logs_folder() / "printed" / name[:2] / f"{name}.z"
    if path.exists():
        os.utime(path)  # see `forget_old` in scenarios.py
        return Printed(*pickle.loads(zlib.decompress(path.read_bytes())))
    binaries = mysql_binaries() if kind == "mysql" else mariadb_binaries()
    command = [str(binaries.reader), "--no-defaults", *arguments, *map(str, files)]
    printed = without_folder(_run(command, zone, stdin or Path(os.devnull)), loads)
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(f".{os.getpid()}")
    fresh.write_bytes(zlib.compress(pickle.dumps(tuple(printed)), 1))
    fresh.rename(path)
    return printed


def _run(command: Sequence[str], zone: str, stdin: Path) -> Printed:
    """One that prints without end is killed."""
    environment = {**TOOL_ENVIRONMENT, "TZ": zone}
    with stdin.open("rb") as given, TemporaryFile() as errors:
        with subprocess.Popen(
            command, env=environment, stdin=given, stdout=subprocess.PIPE, stderr=errors
        ) as process:
            assert process.stdout is not None
            out = process.stdout.read(MOST_PRINTED)
            if process.stdout.read(1):
                process.kill()
        errors.seek(0)
        return Printed(process.returncode, out, errors.read())


def without_folder(printed: Printed, loads: Path | None) -> Printed:
    if loads is None:
        return printed
    return printed._replace(out=printed.out.replace(os.fsencode(loads), b"@loads@"))
