"""``spark.readStream``: what Spark gets of a growing log, and what ``gtidal stream`` leaves in its folder."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyspark.errors import StreamingQueryException

import gtidal
from gtidal.cli.main import main
from gtidal.spark.failures import in_one_sentence
from tests.live.conftest import live_servers, mysql
from tests.live.killing import Killing
from tests.live.proxy import Proxy
from tests.live.servers import CRASH_SAFE, MySQLServer, free_port
from tests.live.writer import TABLE, Writer
from tests.spark.test_memory import MOST, workers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["live_servers", "mysql"]
pytestmark = pytest.mark.live

ROOT = Path(__file__).parents[2]
SHOP = ROOT / "examples" / "shop"


def address(port: int) -> str:
    return f"mysql://root@127.0.0.1:{port}/?tls=off"


def drained(frame: DataFrame, checkpoint: Path) -> list[tuple[int, list[Any]]]:
    """The micro-batches of what is there now, each with its number."""
    found: list[tuple[int, list[Any]]] = []

    def keep(batch: DataFrame, number: int) -> None:
        found.append((number, batch.collect()))

    query = (
        frame.writeStream.foreachBatch(keep)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return found


PLACES = {
    "view": ["file", "position", "row", "op", "gtid"],
    "table": ["_file", "_position", "_row", "_change_type"],
}


@pytest.mark.parametrize("what", [{"view": "changes"}, {"table": "shop.orders"}])
def test_a_folder(spark: SparkSession, tmp_path: Path, what: dict[str, str]) -> None:
    """In several batches, and again when the folder has grown."""
    logs = sorted(SHOP.glob("binlog.0*"))
    folder = tmp_path / "logs"
    folder.mkdir()
    for log in logs[:2]:
        (folder / log.name).write_bytes(log.read_bytes())
    options = {**what, "mergeSchema": "true"} if "table" in what else what
    columns = PLACES[next(iter(what))]

    def read() -> list[tuple[int, list[Any]]]:
        frame = (
            spark.readStream.format("binlog").options(**options, maxBytesPerTrigger="40k").load(str(folder))
        )
        assert frame.isStreaming
        return drained(frame.select(columns), tmp_path / "checkpoint")

    first = read()
    assert [number for number, _ in first] == list(range(len(first)))
    assert len(first) > 3
    (folder / logs[2].name).write_bytes(logs[2].read_bytes())
    second = read()
    assert second[0][0] == len(first)
    expected = (
        spark.read.format("binlog")
        .options(**options)
        .load([str(log) for log in logs])
        .select(columns)
        .collect()
    )
    assert [row for _, rows in (*first, *second) for row in rows] == expected
    assert read() == []


def test_a_first_batch_that_failed(spark: SparkSession, mysql: MySQLServer, tmp_path: Path) -> None:
    """It is done again from where the query began, not from what is now when it is started again."""
    mysql.execute("CREATE DATABASE f; CREATE TABLE f.t (a INT PRIMARY KEY)")
    frame = spark.readStream.format("binlog").load(address(mysql.port)).select("op")

    def fail(batch: DataFrame, number: int) -> None:
        raise RuntimeError(f"batch {number}")

    writer = frame.writeStream.foreachBatch(fail).option("checkpointLocation", str(tmp_path))
    with pytest.raises(StreamingQueryException, match="batch 0"):
        writer.start().awaitTermination()
    mysql.execute("INSERT INTO f.t VALUES (1)")
    mysql.flush()
    mysql.execute("DELETE FROM f.t")
    found = drained(frame, tmp_path)
    assert [number for number, _ in found] == [0, 1]
    assert [row["op"] for _, rows in found for row in rows] == ["insert", "delete"]


def test_a_server(spark: SparkSession, mysql: MySQLServer, tmp_path: Path) -> None:
    """From now on, with rows as they come; then what a checkpoint has gone on from is not there any more."""
    mysql.execute("CREATE DATABASE s; CREATE TABLE s.t (a INT PRIMARY KEY, b JSON)")
    options = {
        "host": "127.0.0.1",
        "port": str(mysql.port),
        "user": "root",
        "tls": "off",
        "maxRowsPerTrigger": "3",
    }
    frame = spark.readStream.format("binlog").options(**options).load()
    assert drained(frame, tmp_path / "one") == [(0, [])]  # it begins now, which Spark keeps
    mysql.execute(
        "INSERT INTO s.t VALUES (1, '{\"x\": [1, 2]}'), (2, NULL), (3, NULL); INSERT INTO s.t VALUES (4, NULL)"
    )
    mysql.flush()
    mysql.execute("DELETE FROM s.t WHERE a > 3")
    rows = [[(row["op"], str(row["after"])) for row in rows] for _, rows in drained(frame, tmp_path / "one")]
    assert [len(batch) for batch in rows] == [3, 2]
    assert rows[0][0] == ("insert", '{"@1":1,"@2":{"x":[1,2]}}')
    assert [op for batch in rows for op, _ in batch] == ["insert"] * 4 + ["delete"]

    typed = spark.readStream.format("binlog").options(**options, table="s.t", start="oldest").load()
    found = [row for _, batch in drained(typed, tmp_path / "two") for row in batch]
    assert [(row["_change_type"], row["@1"]) for row in found][:4] == [
        ("insert", number) for number in (1, 2, 3, 4)
    ]

    reached = mysql.binlogs()[-1].name
    mysql.execute("INSERT INTO s.t VALUES (9, NULL)")
    mysql.flush()
    mysql.purge_to(mysql.binlogs()[-1])
    with pytest.raises(StreamingQueryException) as problem:
        drained(frame, tmp_path / "one")
    assert f"does not have {reached} any more" in str(in_one_sentence(str(problem.value)))


def test_what_is_for_streams_alone(spark: SparkSession) -> None:
    with pytest.raises(Exception, match="maxBytesPerTrigger: for streams alone"):
        spark.read.format("binlog").option("maxBytesPerTrigger", "1m").load(str(SHOP)).collect()
    query = spark.readStream.format("binlog").option("stop", "binlog.000002:4").load(str(SHOP)).writeStream
    query = query.format("noop").start()
    with pytest.raises(StreamingQueryException, match="UsageError: stop means nothing for a stream"):
        query.awaitTermination()


def test_a_table_that_is_not_there(spark: SparkSession) -> None:
    """With the user's own schema nobody asks for the table before the stream is started."""
    frame = (
        spark.readStream.format("binlog").schema("id BIGINT").option("table", "shop.orderz").load(str(SHOP))
    )
    query = frame.writeStream.format("noop").start()
    with pytest.raises(StreamingQueryException) as problem:
        query.awaitTermination()
    assert str(in_one_sentence(str(problem.value))).startswith("no rows of shop.orderz in binlog.00000")


# --- gtidal stream


def numbers(folder: Path) -> list[int]:
    """Of the rows that were inserted, in the order of the files."""
    after = f"SELECT (after->>'number')::BIGINT FROM '{folder}/*.parquet' WHERE op = 'insert' AND \"table\" = 'numbers'"
    return [number for (number,) in duckdb.sql(after).fetchall()]


def test_the_command(
    mysql: MySQLServer, spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder that anybody reads; run again it adds what is new."""
    del spark  # the session is there, so that the command need not start one
    mysql.execute("CREATE DATABASE c; CREATE TABLE c.t (a INT PRIMARY KEY)")
    mysql.execute("INSERT INTO c.t VALUES (1), (2)")
    folder, log = tmp_path / "out", mysql.binlogs()[-1]
    command = [
        "stream",
        address(mysql.port),
        "--to",
        str(folder),
        "--trigger",
        "once",
        "--start",
        "oldest",
        "--tables",
        "c.t",
    ]

    def read() -> pa.Table:
        return (
            ds.dataset(str(folder), format="parquet")
            .to_table()
            .sort_by([("file", "ascending"), ("position", "ascending"), ("row", "ascending")])
        )

    assert main(command) == 0
    assert "rows in 1 batch" in capsys.readouterr().err
    assert main(command) == 0
    assert "0 rows in 0 batches" in capsys.readouterr().err
    mysql.execute("UPDATE c.t SET a = 3 WHERE a = 1")
    assert main(command) == 0
    expected = gtidal.changes([str(path) for path in mysql.binlogs()], tables="c.t").read_all()
    assert read().cast(expected.schema).equals(expected)
    assert log in mysql.binlogs()
    files = sorted(path.name for path in folder.glob("*.parquet"))
    assert files == ["batch-0000000000-part-00000.parquet", "batch-0000000001-part-00000.parquet"]
    # Another checkpoint would number its batches from the beginning.
    assert main([*command, "--checkpoint", str(tmp_path / "other")]) == 2
    assert "written with another checkpoint" in capsys.readouterr().err
    assert sorted(path.name for path in folder.glob("*.parquet")) == files


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--trigger", "soon"], "a trigger is once, or a time such as 100ms"),
        (["--view", "events", "--table", "a.b"], "give one of the two"),
        (["--option", "stop=binlog.000002:4"], "stop means nothing for a stream"),
        (["--option", "password=x"], "Spark shows options in its plans"),
        (["--to", "s3://lake/changes"], "name a folder for Spark's checkpoint"),
    ],
)
def test_wrong_use(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    to = [] if "--to" in arguments else ["--to", str(tmp_path)]
    assert main(["stream", str(SHOP), *to, *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_server_that_is_not_there(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence, and no stack."""
    del spark
    assert main(["stream", address(free_port()), "--to", str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err
    assert "nobody listens at" in said
    assert len(said.splitlines()) == 1


def test_the_example(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["stream_to_parquet.py", str(SHOP), str(tmp_path / "out"), "once"])
    runpy.run_path(str(ROOT / "examples" / "stream_to_parquet.py"), run_name="__main__")
    assert spark.read.parquet(str(tmp_path / "out")).count() == gtidal.changes(SHOP).read_all().num_rows


def killed(tmp_path: Path, kills: int, longest: float, rows: int) -> None:
    """The whole command is killed while rows are written, the server is restarted and killed, connections are cut."""
    folder = tmp_path / "out"
    with (
        MySQLServer.temporary(
            "--gtid-mode=ON",
            "--enforce-gtid-consistency=ON",
            "--binlog-row-metadata=FULL",
            "--sync-binlog=1",
            *CRASH_SAFE,
        ) as server,
        Proxy(server) as proxy,
        Writer(server, 17, flush_odds=0.02, pause=0.02, extras=("update", "rollback")) as writer,
    ):
        command = [
            sys.executable,
            "-m",
            "gtidal",
            "stream",
            address(proxy.port),
            "--start",
            "oldest",
            "--to",
            folder,
        ]
        command += ["--trigger", "200ms", "--master", "local[2]", "--option", "images=json"]
        kept = folder / "_gtidal" / "checkpoint" / "offsets" / "0"
        killing = Killing(
            command,
            folder,
            seed=3,
            kills=kills,
            longest=longest,
            most_written=60_000,
            may_fail=lambda: not kept.exists(),  # a new query tells soon that the server is away
        )

        def trouble(number: int) -> None:
            writer.wait_for(rows * (number + 1), 120)
            (server.restart, proxy.cut, server.recover)[number % 3]()
            if number == kills:
                writer.stop()

        def done() -> bool:
            return any(folder.glob("*.parquet")) and len(numbers(folder)) >= writer.count

        runs = killing.run(done, trouble, seconds=60 + 60 * kills)
        found = numbers(folder)
        assert found == [row.number for row in writer.rows()], killing.report()
        assert runs[-1].code == 0, killing.report()
        assert "Traceback" not in runs[-1].errors
    read = ds.dataset(str(folder), format="parquet").to_table(columns=["after", "op", "table"]).to_pylist()
    inserted = [
        json.loads(row["after"])["number"]
        for row in read
        if (row["op"], row["table"]) == ("insert", "numbers")
    ]
    assert sorted(inserted) == sorted(found)
    assert TABLE.endswith("numbers")


def test_over_to_a_replica(spark: SparkSession, tmp_path: Path) -> None:
    """The source dies, its replica is written to from then on: the same command goes on there."""
    del spark
    options = ("--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--binlog-row-metadata=FULL")
    folder = tmp_path / "out"
    with (
        MySQLServer.temporary(*options, "--server-id=1") as source,
        MySQLServer.temporary(*options, "--server-id=2") as replica,
    ):
        replica.follow(source)
        hosts = f"mysql://root@127.0.0.1:{source.port},127.0.0.1:{replica.port}/?tls=off"
        command = ["stream", hosts, "--to", str(folder), "--trigger", "once", "--start", "oldest"]
        command += ["--option", "images=json"]
        with Writer(source, 23, flush_odds=0.05, pause=0.05) as writer:
            writer.wait_for(500)
            assert main(command) == 0  # while rows are written
            with writer.resting():
                replica.wait_for(source)
                source.crash()
                replica.promote()
                writer.move_to(replica)
            writer.wait_for(writer.count + 300)
        assert main(command) == 0
        assert numbers(folder) == [row.number for row in writer.rows()]


def test_killed_three_times(tmp_path: Path) -> None:
    killed(tmp_path, kills=3, longest=10, rows=300)


@pytest.mark.soak
def test_killed_many_times(tmp_path: Path) -> None:
    killed(tmp_path, kills=20, longest=20, rows=200)


@pytest.mark.soak
def test_memory(spark: SparkSession, tmp_path: Path) -> None:
    """Neither the driver's process nor a task holds a transaction of 170 MB; an event of 40 MB they have to."""
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    with MySQLServer.temporary() as server:
        server.execute("CREATE DATABASE m; CREATE TABLE m.t (a INT PRIMARY KEY, b LONGBLOB)")
        inserts = [f"INSERT INTO m.t VALUES ({number}, REPEAT('x', 1000000))" for number in range(170)]
        server.execute(["BEGIN", *inserts, "COMMIT", "INSERT INTO m.t VALUES (1000, REPEAT('y', 40000000))"])
        frame = (
            spark.readStream.format("binlog").options(start="oldest", tables="m.t").load(address(server.port))
        )
        counts: list[int] = []
        query = frame.writeStream.foreachBatch(lambda batch, _: counts.append(batch.count()))
        query = query.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True)
        query.start().awaitTermination()
    assert sum(counts) == 172  # with the statement that made the table
    found = workers(gateway.proc.pid)
    assert found
    assert max(found.values()) < MOST, found
