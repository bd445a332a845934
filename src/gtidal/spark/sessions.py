"""``gtidal.spark.session()``: Spark on this machine, with settings that suit the work, and quiet."""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from gtidal.errors import UsageError
from gtidal.spark.java import Runtime, find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NO_SPARK = "Spark is not installed: pip install 'gtidal[spark]'"

_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "8",  # Spark's 200 are for clusters
    "spark.ui.showConsoleProgress": "false",
}
_ON_THIS_MACHINE = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
}


def session(
    master: str = "local[*]", *, name: str = "gtidal", settings: Mapping[str, str] | None = None
) -> SparkSession:
    """A session, or the one that runs already. ``settings``: Spark's own, which go before those made here.

    SPARK_HOME, if it is set, is left as it is; else the first session takes a little longer than the next: it leaves
    some 200 MB in the cache folder, from which Java starts faster."""
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        raise UsageError(NO_SPARK)
    from pyspark.sql import SparkSession

    chosen: dict[str, bool | float | int | str | None] = dict(_SETTINGS)
    if master.startswith("local"):
        chosen |= (
            _ON_THIS_MACHINE | {"spark.driver.memory": f"{_quarter_of_memory() >> 20}m"} | _unix_sockets()
        )
    chosen |= settings or {}
    builder = SparkSession.builder.master(master).appName(name).config(map=chosen)
    with _environment(_variables(Path(found.origin).parent)):
        made = builder.getOrCreate()
    _stop_with_process()
    return made


@cache
def _stop_with_process() -> None:
    """Else Spark's Python workers find their Java gone, and print so."""
    from pyspark import SparkContext

    def stop() -> None:
        if SparkContext._active_spark_context is not None:
            SparkContext._active_spark_context.stop()

    atexit.register(stop)


@cache
def _unix_sockets() -> dict[str, str]:
    """Java and its Python workers talk in a folder of this user alone, faster than over TCP. A path that is too long for
    a socket (macOS has such temporary folders) leaves it at TCP."""
    if not hasattr(socket, "AF_UNIX") or len(tempfile.gettempdir()) > 40:
        return {}
    folder = tempfile.mkdtemp(prefix="gtidal-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return {
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": folder,
        "spark.python.daemon.module": "gtidal.spark.daemon",
    }


def _quarter_of_memory() -> int:
    """In bytes, at least Spark's own default: all tasks of a local session share it."""
    return max(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4, 1 << 30)


def _variables(spark: Path) -> dict[str, str]:
    variables = {"PYSPARK_PYTHON": os.environ.get("PYSPARK_PYTHON") or sys.executable}
    java = find_java()
    if "SPARK_HOME" in os.environ:
        return {**variables, "JAVA_HOME": os.environ.get("JAVA_HOME") or str(java.path.parents[1])}
    runtime = Runtime.of(java, spark)
    return {**variables, "SPARK_HOME": str(runtime.spark_home), "JAVA_HOME": str(runtime.java_home)}


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """What Java and its Python workers inherit; this process keeps its own."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
