"""``gtidal export``: what is written comes back, once; failed tasks leave nothing; a second run adds what is new."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from moto.server import ThreadedMotoServer
from pyarrow.fs import FileSelector, S3FileSystem
from pyspark.sql.functions import to_json

import gtidal
from gtidal.cli.main import main
from gtidal.errors import UsageError
from gtidal.spark.exporting import Export
from gtidal.spark.manifest import ExportedFile, Folder, Manifest
from gtidal.spark.options import ReadOptions
from tests.live.waiting import wait_until

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SHOP = Path(__file__).parents[2] / "examples" / "shop"
LOGS = [SHOP / f"binlog.00000{number}" for number in (1, 2, 3)]


def export(spark: SparkSession, path: Path, to: Path, partition_by: str | None = None, **options: str) -> int:
    """How many rows were added."""
    read = ReadOptions.parse({**options, "path": str(path)})
    return Export(read, str(to), partition_by).run(spark).rows


def seen(folder: Path) -> list[str]:
    """What those see who list the folder."""
    paths = (path.relative_to(folder) for path in folder.rglob("*.parquet"))
    return sorted(str(path) for path in paths if not path.parts[0].startswith("_"))


def rows(frame: DataFrame, columns: list[str]) -> list[str]:
    """All values as text, in an order of their own: JSON text tells VARIANTs apart."""
    shown = [
        to_json(name).alias(name) if kind == "variant" else frame[name]
        for name, kind in frame.select(columns).dtypes
    ]
    return sorted(map(str, frame.select(shown).collect()))


def load(spark: SparkSession, path: Path, **options: str) -> DataFrame:
    return spark.read.format("binlog").options(**options).load(str(path))


def test_what_is_written_comes_back(spark: SparkSession, tmp_path: Path) -> None:
    for number, (options, partition_by) in enumerate(
        (
            ({"view": "changes", "maxPartitionBytes": "20000"}, None),
            ({"view": "changes"}, "table"),
            ({"view": "events", "detail": "true"}, "date"),
            ({"table": "shop.customers", "mergeSchema": "true"}, None),
        )
    ):
        to = tmp_path / str(number)
        expected = load(spark, SHOP, **options)
        assert export(spark, SHOP, to, partition_by, **options) == expected.count()
        found = spark.read.parquet(str(to))
        more = ["date"] if partition_by == "date" else []
        assert sorted(found.columns) == sorted([*expected.columns, *more])
        assert dict(found.dtypes) == {**dict(expected.dtypes), **dict.fromkeys(more, "date")}
        assert rows(found, expected.columns) == rows(expected, expected.columns)
        assert not (to / "_gtidal" / "attempts").exists()

    files = seen(tmp_path / "0")
    assert len(files) > 3, "one for each task"
    folders = {path.rpartition("/")[0] for path in seen(tmp_path / "1")}
    assert "schema=shop/table=orders" in folders
    assert "schema=shop/table=__HIVE_DEFAULT_PARTITION__" in folders
    names = (
        spark.read.parquet(str(tmp_path / "1"))
        .where("table = 'products' AND op = 'insert'")
        .selectExpr("variant_get(after, '$.title', 'string') AS title", "schema_of_variant(after) AS kind")
        .collect()
    )
    assert len(names) == 64
    assert all(row.title and row.kind.startswith("OBJECT<") for row in names)


def grown(folder: Path, *logs: bytes) -> Path:
    folder.mkdir(exist_ok=True)
    for number, log in enumerate(logs, 1):
        (folder / f"binlog.00000{number}").write_bytes(log)
    return folder


def in_use(log: bytes, size: int) -> bytes:
    """A log that a server still writes, up to somewhere."""
    flagged = bytearray(log)
    flagged[21] |= 1
    return bytes(flagged[:size])


@pytest.mark.parametrize("view", ["changes", "transactions", "events"])
def test_a_second_run_adds_what_is_new(spark: SparkSession, tmp_path: Path, view: str) -> None:
    first, second, third = (path.read_bytes() for path in LOGS)
    # The transaction at 36057 has begun, and its last event is half written.
    logs = grown(tmp_path / "logs", first, in_use(second, 38000))
    to = tmp_path / "out"
    count = export(spark, logs, to, view=view)
    before = seen(to)
    assert 0 < count < getattr(gtidal, view)(SHOP).read_all().num_rows
    assert export(spark, logs, to, view=view) == 0
    assert seen(to) == before

    grown(logs, first, second, third)
    added = export(spark, logs, to, view=view)
    assert added > 0
    assert set(before) < set(seen(to))
    expected = load(spark, SHOP, view=view)
    columns = [name for name in expected.columns if name != "flags"]  # one was in use then
    assert rows(spark.read.parquet(str(to)), columns) == rows(expected, columns)
    assert export(spark, logs, to, view=view) == 0
    manifest = json.loads((to / "_gtidal" / "manifest.json").read_text())
    assert sum(file["rows"] for file in manifest["files"]) == count + added == expected.count()

    with pytest.raises(UsageError, match=f"holds an export with view {view}, not rows"):
        export(spark, logs, to, table="shop.orders")
    grown(logs, first[:-5], second, third)
    with pytest.raises(
        UsageError, match=r"binlog\.000001 has .* bytes, and had .* when it was exported whole"
    ):
        export(spark, logs, to, view=view)


FAILS_ONCE = """
import json, sys
from pathlib import Path
import gtidal.spark
from gtidal.spark import exporting
from gtidal.spark.options import ReadOptions

logs, to, marks = map(Path, sys.argv[1:])

class FailsOnce(exporting.PartWriter):
    def write(self, number, part):
        written = super().write(number, part)
        mark = marks / str(number)
        if number % 2 and not mark.exists():
            mark.touch()
            raise OSError("the machine is gone")
        return written

exporting.PartWriter = FailsOnce
spark = gtidal.spark.session("local[2,2]")
read = ReadOptions.parse({"path": str(logs), "maxPartitionBytes": "20000"})
print(json.dumps(exporting.Export(read, str(to)).run(spark).rows))
"""


def test_failed_tasks_leave_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """Their files are written whole before they fail; others are written by the next attempts."""
    marks, to = tmp_path / "marks", tmp_path / "out"
    marks.mkdir()
    script = tmp_path / "fails_once.py"
    script.write_text(FAILS_ONCE)
    done = subprocess.run(
        [sys.executable, script, SHOP, to, marks], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert len(list(marks.iterdir())) >= 2
    expected = load(spark, SHOP)
    assert int(done.stdout) == expected.count()
    assert rows(spark.read.parquet(str(to)), expected.columns) == rows(expected, expected.columns)
    assert len(seen(to)) == len({path.rpartition("-")[2] for path in seen(to)}), "one for each task"
    assert not (to / "_gtidal" / "attempts").exists()


def test_a_task_that_always_fails(spark: SparkSession, tmp_path: Path) -> None:
    damaged = bytearray(LOGS[1].read_bytes())
    damaged[60000] ^= 1
    logs = grown(tmp_path / "logs", LOGS[0].read_bytes(), bytes(damaged), LOGS[2].read_bytes())
    to = tmp_path / "out"
    assert main(["export", str(logs), "--to", str(to), "--option", "maxPartitionBytes=20000"]) == 1
    assert seen(to) == []
    grown(logs, *(path.read_bytes() for path in LOGS))
    assert export(spark, logs, to, maxPartitionBytes="20000") == load(spark, SHOP).count()

    def nothing_is_left() -> bool:
        # Tasks of the job that failed may have gone on for a while.
        assert export(spark, logs, to, maxPartitionBytes="20000") == 0
        return not (to / "_gtidal" / "attempts").exists()

    wait_until(nothing_is_left, "what tasks have left is removed")


def test_an_interrupted_commit_is_brought_to_its_end(tmp_path: Path) -> None:
    folder = Folder(str(tmp_path))
    # One file was moved, the other one was not.
    attempt = tmp_path / "_gtidal" / "attempts" / "run" / "0" / "part.parquet"
    attempt.parent.mkdir(parents=True)
    attempt.write_bytes(b"rows")
    moved = tmp_path / "date=2026-11-16" / "first.parquet"
    moved.parent.mkdir()
    moved.write_bytes(b"rows")
    files = [{"path": f"date=2026-11-{day}", "rows": 1, "size": 4, "attempt": ""} for day in (16, 17)]
    commit: dict[str, Any] = {
        "moves": [
            ["_gtidal/attempts/run/1/part.parquet", "date=2026-11-16/first.parquet"],
            ["_gtidal/attempts/run/0/part.parquet", "date=2026-11-17/second.parquet"],
        ],
        "manifest": {"read": {"view": "changes"}, "columns": {}, "logs": [], "files": files},
    }
    (tmp_path / "_gtidal" / "commit.json").write_text(json.dumps(commit))
    assert folder.manifest() == Manifest(
        {"view": "changes"}, {}, [], [ExportedFile(**file) for file in files]
    )
    assert seen(tmp_path) == ["date=2026-11-16/first.parquet", "date=2026-11-17/second.parquet"]
    assert not (tmp_path / "_gtidal" / "commit.json").exists()


def test_into_a_storage(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Object storages have no folders, and move files by copying them."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    keys = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
    for name, value in keys.items():
        monkeypatch.setenv(name, value)
        monkeypatch.setitem(spark.sparkContext.environment, name, value)  # of the workers
    system = S3FileSystem(endpoint_override=f"{host}:{port}", scheme="http", allow_bucket_creation=True)
    system.create_dir("lake")
    read = ReadOptions.parse(
        {
            "path": str(SHOP),
            "fs.s3a.endpoint": f"http://{host}:{port}",
            "fs.s3a.path.style.access": "true",
            "maxPartitionBytes": "50000",
        }
    )
    try:
        report = Export(read, "s3://lake/changes", "table").run(spark)
        assert Export(read, "s3://lake/changes", "table").run(spark).files == 0
        entries = system.get_file_info(FileSelector("lake", recursive=True))
        files = [entry.path for entry in entries if entry.path.endswith(".parquet")]
        assert len(files) == report.files > 5
        assert not any("_gtidal" in path for path in files)
        written = sum(pq.ParquetFile(path, filesystem=system).metadata.num_rows for path in files)
        assert written == report.rows == gtidal.changes(SHOP).read_all().num_rows
    finally:
        server.stop()


def test_the_command(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for form in ("csv", "json", "orc"):
        to = tmp_path / form
        assert main(["export", str(SHOP), "--to", str(to), "--format", form, "--partition-by", "date"]) == 0
        read = spark.read.format(form)
        found = (read.option("header", True).option("multiLine", True) if form == "csv" else read).load(
            str(to)
        )
        assert found.count() == load(spark, SHOP).count()
        assert {str(row.date) for row in found.select("date").distinct().collect()} == {"2026-11-15"}
    after = spark.read.orc(str(tmp_path / "orc")).where("table = 'orders' AND op = 'insert'").select("after")
    assert "total" in json.loads(after.first().after)
    capsys.readouterr()

    to = tmp_path / "orders"
    arguments = ["export", str(SHOP), "--table", "shop.orders", "--to", str(to)]
    assert main([*arguments, "--option", "mergeSchema=true"]) == 0
    assert "rows of 3 logs in 1 file" in capsys.readouterr().err
    assert main([*arguments, "--option", "mergeSchema=true"]) == 0
    assert capsys.readouterr().err == f"gtidal: nothing is new; {to} is as it was\n"
    for wrong, sentence in (
        ([*arguments, "--view", "events"], "--view events and --table shop.orders: give one of the two"),
        ([*arguments, "--partition-by", "table"], "that is for the view changes"),
        (["export", str(SHOP), "--to", str(SHOP)], "is not empty, and what is in it was not written by gtidal"),
        (["export", str(SHOP), "--to", str(to), "--format", "csv"], f"{to} already exists, and what is in it is not overwritten: name a new folder, or remove"),
        (["export", str(SHOP), "--to", str(LOGS[0] / "x")], f"cannot write to {LOGS[0] / 'x'}: "),
        (["export", str(tmp_path / "none"), "--to", str(tmp_path / "n")], "no such file or directory"),
    ):  # fmt: skip
        assert main(wrong) == 2
        said = capsys.readouterr().err
        assert sentence in said
        assert said.count("\n") == 1, said
