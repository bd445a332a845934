"""Running ``gtidal dump`` in a test, without its command line."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gtidal.columnar import kernel
from gtidal.text.dumping import Dump
from gtidal.text.options import DumpOptions


class Dumped(NamedTuple):
    code: int
    text: bytes
    messages: list[str]

    @property
    def events(self) -> str:
        """What is printed between the opening and the closing lines."""
        body = self.text.partition(b"DELIMITER /*!*/;\n")[2].partition(b"DELIMITER ;\n")[0]
        return body.decode("utf-8", "surrogateescape")


def dump(paths: Path | str | Sequence[Path | str], load_folder: Path | None = None, **options: Any) -> Dumped:
    given = [paths] if isinstance(paths, Path | str) else paths
    out = io.BytesIO()
    messages: list[str] = []
    folder = None if load_folder is None else str(load_folder)
    made = Dump(
        list(map(str, given)), DumpOptions(**options), out, report=messages.append, load_folder=folder
    )
    return Dumped(made.run(), out.getvalue(), messages)


def dump_all_ways(
    path: Path | str, *, threads: Sequence[int] = (1,), interpreted: bool = True, **options: Any
) -> Dumped:
    """By the reference and by the kernel, compiled and interpreted: all must print and say the same."""
    expected = run_dump(path, by_kernel=False, **options)
    if not kernel.interpreted_modules():
        with kernel.use("compiled"):
            for count in threads:
                assert run_dump(path, by_kernel=True, threads=count, **options) == expected
    if interpreted:
        with kernel.use("interpreted"):
            assert run_dump(path, by_kernel=True, **options) == expected
    return expected


def run_dump(path: Path | str, *, by_kernel: bool, threads: int = 1, **options: Any) -> Dumped:
    out = io.BytesIO()
    messages: list[str] = []
    made = Dump(
        [str(path)],
        DumpOptions(**options),
        out,
        report=messages.append,
        by_kernel=by_kernel,
        threads=threads,
    )
    return Dumped(made.run(), out.getvalue(), messages)
