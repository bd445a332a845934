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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
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


@dataclass(frozen=True)
class Cluster:
    """A master and its workers."""

    address: str
    folder: Path

    def executors(self) -> set[Path]:
        """A folder for each that ran here."""
        return set(self.folder.glob("worker*/app-*/*"))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """As Spark's own scripts start it."""
    folder = tmp_path_factory.mktemp("cluster")
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
            started(command, environment, folder / "master.log", "I have been elected leader")
        )
        for number in range(WORKERS):
            work = ["--work-dir", str(folder / f"worker{number}")]
            command = [
                spark_class,
                f"{main}.worker.Worker",
                *here,
                "--cores",
                "1",
                "--memory",
                "1g",
                *work,
                address,
            ]
            log = folder / f"worker{number}.log"
            stack.enter_context(started(command, environment, log, "Successfully registered with master"))
        yield Cluster(address, folder)


@dataclass(frozen=True)
class Shipped:
    """What it takes that executors have gtidal from an archive alone."""

    settings: dict[str, str]
    environment: dict[str, str]


@pytest.fixture
def shipped(tmp_path: Path) -> Shipped:
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
        # All workers are there before the first task.
        "spark.cores.max": str(WORKERS),
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
    }
    return Shipped(settings, {"PYSPARK_PYTHON": str(python), "PYTHONPATH": f"{libs}:{PACKAGES}"})


def test_a_cluster_to_which_the_package_is_shipped(cluster: Cluster, shipped: Shipped) -> None:
    places, parts, counted = run(
        ON_A_CLUSTER,
        cluster.address,
        str(SHOP),
        json.dumps(shipped.settings),
        environment=shipped.environment,
    )
    assert len({folder for folder, _, _ in places}) == WORKERS
    for folder, file, kernel in places:
        assert Path(file).is_relative_to(Path(folder).resolve()), "the shipped one"
        assert kernel == gtidal.kernel
    assert parts > WORKERS
    assert counted == changes_by_table()


def test_query_and_export_on_a_cluster(cluster: Cluster, shipped: Shipped, tmp_path: Path) -> None:
    """Spark's settings are where its users have them: in spark-defaults.conf."""
    defaults = tmp_path / "conf" / "spark-defaults.conf"
    defaults.parent.mkdir()
    defaults.write_text("".join(f"{name} {value}\n" for name, value in shipped.settings.items()))
    environment = shipped.environment | {"SPARK_CONF_DIR": str(defaults.parent)}

    def command(*words: str) -> str:
        before = cluster.executors()
        ran = subprocess.run(
            [sys.executable, "-m", "gtidal", *words, "--master", cluster.address],
            env=os.environ | environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert ran.returncode == 0, ran.stderr
        assert len(cluster.executors() - before) >= WORKERS
        return ran.stdout

    sql = "SELECT coalesce(table, 'null') AS name, count(*) AS n FROM changes GROUP BY ALL"
    lines = command("query", sql, str(SHOP), "--output", "json").splitlines()
    assert {row["name"]: row["n"] for row in map(json.loads, lines)} == changes_by_table()

    to = tmp_path / "exported"
    command("export", str(SHOP), "--to", str(to), "--option", "maxPartitionBytes=32k")
    place = [("file", "ascending"), ("position", "ascending"), ("row", "ascending")]
    exported = pq.read_table(to).sort_by(place)
    expected = gtidal.changes(SHOP).read_all().sort_by(place)
    assert exported.to_pylist() == expected.to_pylist()
    assert len(list(to.glob("*.parquet"))) > WORKERS


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
