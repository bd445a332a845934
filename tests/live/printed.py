"""What the real log readers print, kept in the cache: the same call on the same log is made once.

    CACHE/logs/printed/ab/abcdef….z    exit code, standard output, standard error

Where LOAD DATA's files go is written as `@loads@`. A call's name is made of the reader's version, the arguments and the content of the files it reads.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import subprocess
import zlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.live.scenarios import logs_folder, version
from tests.live.servers import TOOL_ENVIRONMENT, mariadb_binaries, mysql_binaries


class Printed(NamedTuple):
    code: int
    out: bytes
    err: bytes


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
    done = subprocess.run(
        command,
        env={**TOOL_ENVIRONMENT, "TZ": zone},
        input=stdin.read_bytes() if stdin is not None else b"",
        capture_output=True,
        check=False,
    )
    printed = without_folder(Printed(done.returncode, done.stdout, done.stderr), loads)
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(f".{os.getpid()}")
    fresh.write_bytes(zlib.compress(pickle.dumps(tuple(printed)), 1))
    fresh.rename(path)
    return printed


def without_folder(printed: Printed, loads: Path | None) -> Printed:
    if loads is None:
        return printed
    return printed._replace(out=printed.out.replace(os.fsencode(loads), b"@loads@"))
