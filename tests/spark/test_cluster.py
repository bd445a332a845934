"""A real cluster of several processes on this machine, to which gtidal is shipped as docs/spark.md tells; and Spark
Connect."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyspark
import pytest

import gtidal
from gtidal.spark.java import find_java

ROOT = Path(__file__).parents[2]
SHOP = ROOT / "examples" / "shop"
PACKAGES = Path(pyspark.__file__).parents[1]
WORKERS = 2

ON_A_CLUSTER = """
import json, os, sys
import gtidal.spark

spark = gtidal.spark.session(sys.argv[1], settings=json.loads(sys.argv[3]))
frame = spark.read.format("binlog").option("maxPartitionBytes", "32k").load(sys.argv[2])

def where(_):
    import gtidal
    return os.getcwd(), gtidal.__file__, gtidal.kernel

places = spark.sparkContext.parallelize(range(8), 8).map(where).distinct().collect()
parts = frame.rdd.getNumPartitions()
by_table = frame.groupBy("table").count().collect()
print(json.dumps([places, parts, {row["table"]: row["count"] for row in by_table}]))
spark.stop()
"""

BY_CONNECT = """
import json, sys
from pyspark.sql import SparkSession

spark = SparkSession.builder.remote("local[2]").getOrCreate()
frame = spark.read.format("binlog").load(sys.argv[1])
by_table = frame.groupBy("table").count().collect()
said = ""
try:
    spark.read.format("binlog").option("view", "tables").load(sys.argv[1]).collect()
except Exception as error:
    said = str(error)
print(json.dumps([type(spark).__module__, {row["table"]: row["count"] for row in by_table}, said]))
spark.stop()
"""


def changes_by_table() -> dict[str, int]:
    counted: dict[str, int] = {}
    for row in gtidal.changes(SHOP, columns=["table"]).read_all().to_pylist():
        name = "null" if row["table"] is None else row["table"]
        counted[name] = counted.get(name, 0) + 1
    return counted


def run(script: str, *arguments: str, environment: dict[str, str]) -> Any:
    ran = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


@contextmanager
def started(command: Sequence[str], environment: dict[str, str], log: Path, sign: str) -> Iterator[None]:
    """A process that has said a certain word; it is ended afterwards."""
    with log.open("w") as stream:
        process = subprocess.Popen(command, env=os.environ | environment, stdout=stream, stderr=stream)
    try:
        deadline = time.monotonic() + 120
        while sign not in log.read_text():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.2)
        yield
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    """A master and its workers, as Spark's own scripts start them."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
    home = Path(pyspark.__file__).parent
    environment = {
        "JAVA_HOME": str(find_java().path.parents[1]),
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_NO_DAEMONIZE": "1",
        "PYTHONPATH": "",
    }
    main = "org.apache.spark.deploy"
    address = f"spark://127.0.0.1:{port}"
    spark_class = str(home / "bin" / "spark-class")
    here = ["--host", "127.0.0.1", "--webui-port", "0"]
    with ExitStack() as stack:
        command = [spark_class, f"{main}.master.Master", *here, "--port", port]
        stack.enter_context(
            started(command, environment, tmp_path / "master.log", "I have been elected leader")
        )
        for number in range(WORKERS):
            folder = ["--work-dir", str(tmp_path / f"worker{number}")]
            command = [
                spark_class,
                f"{main}.worker.Worker",
                *here,
                "--cores",
                "1",
                "--memory",
                "1g",
                *folder,
                address,
            ]
            log = tmp_path / f"worker{number}.log"
            stack.enter_context(started(command, environment, log, "Successfully registered with master"))
        yield address


def test_a_cluster_to_which_the_package_is_shipped(cluster: str, tmp_path: Path) -> None:
    libs = tmp_path / "libs"
    for package in ("gtidal", "pyspark_binlog"):
        shutil.copytree(
            ROOT / "src" / package, libs / package, ignore=shutil.ignore_patterns("__pycache__", "*.c")
        )
    with tarfile.open(tmp_path / "libs.tar.gz", "w:gz", compresslevel=1) as archive:
        archive.add(libs, ".")
    # A Python that has the libraries and, as it does not look for linked packages, not gtidal.
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    python.chmod(0o755)
    settings = {
        "spark.archives": f"{tmp_path / 'libs.tar.gz'}#libs",
        "spark.executorEnv.PYTHONPATH": f"libs:{PACKAGES}",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": "512m",
        "spark.ui.enabled": "false",
    }
    environment = {"PYSPARK_PYTHON": str(python), "PYTHONPATH": f"{libs}:{PACKAGES}"}
    places, parts, counted = run(
        ON_A_CLUSTER, cluster, str(SHOP), json.dumps(settings), environment=environment
    )
    assert len({folder for folder, _, _ in places}) == WORKERS
    for folder, file, kernel in places:
        assert Path(file).is_relative_to(Path(folder).resolve()), "the shipped one"
        assert kernel == gtidal.kernel
    assert parts > WORKERS
    assert counted == changes_by_table()


def test_spark_connect() -> None:
    environment = {
        "JAVA_HOME": str(find_java().path.parents[1]),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_TESTING": "1",  # a port that is free
    }
    module, counted, said = run(BY_CONNECT, str(SHOP), environment=environment)
    assert module.startswith("pyspark.sql.connect")
    assert counted == changes_by_table()
    assert "view='tables': it is changes, events or transactions" in said
