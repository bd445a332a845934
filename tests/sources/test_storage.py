"""Logs in a storage: the same files, the same rows; and no secret is ever shown."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest
from moto.server import ThreadedMotoServer
from pyarrow.fs import S3FileSystem

import gtidal
from gtidal.errors import UsageError
from gtidal.planning import plan_read, read_part
from gtidal.sources.files import LogFile, Meter, find_logs, open_log
from gtidal.sources.storage import FIRST_BLOCK, LARGEST_BLOCK, Storage, Uri, is_uri
from tests.planning.making import LogMaker, insert

SHOP = Path(__file__).parents[2] / "examples" / "shop"
SECRET = "a-secret-that-nobody-sees"
KEY = "an-access-key-neither"


@pytest.fixture(scope="module")
def settings() -> Iterator[dict[str, str]]:
    """A bucket ``logs`` with the sample logs, and how to get at it."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    system = S3FileSystem(
        access_key=KEY,
        secret_key=SECRET,
        endpoint_override=f"{host}:{port}",
        scheme="http",
        region="us-east-1",
        allow_bucket_creation=True,
    )
    system.create_dir("logs")
    system.delete_dir_contents("logs")  # all of moto's servers in a process are one
    for path in SHOP.glob("binlog.*"):
        for folder in ("db1", "old/2019"):
            put(system, f"logs/{folder}/{path.name}", path.read_bytes())
    put(system, "logs/db1/auto.cnf", b"[auto]\n")
    put(system, "logs/db1/moved.index", b"/var/lib/mysql/binlog.000003\n./binlog.000001\n")
    put(system, "logs/db1/bad.index", b"binlog.777777\n")
    large = LogMaker("")
    one = LogMaker("")
    start = len(one.data)
    one.transaction(1, *insert(1, b"x" * 8000))
    large.repeat(bytes(one.data[start:]), [1_700_000_000] * 4000)
    put(system, "logs/large/binlog.000001", bytes(large.data))
    yield {
        "spark.hadoop.fs.s3a.access.key": KEY,
        "fs.s3a.secret.key": SECRET,
        "fs.s3a.endpoint": f"http://{host}:{port}",
        "fs.s3a.path.style.access": "true",
    }
    server.stop()


def put(system: S3FileSystem, path: str, data: bytes) -> None:
    with system.open_output_stream(path) as stream:
        stream.write(data)


def names(files: list[LogFile]) -> list[str]:
    return [file.name for file in files]


ALL = ["binlog.000001", "binlog.000002", "binlog.000003"]


def test_paths(settings: dict[str, str]) -> None:
    storage = Storage(settings)
    for path, expected in [
        ("s3://logs/db1/binlog.000002", ALL[1:2]),
        ("s3a://logs/db1", ALL),
        ("s3://logs/db1/", ALL),
        ("s3://logs/db1/binlog.*", ALL),
        ("s3://logs/db?/binlog.00000[12]", ALL[:2]),
        ("s3://logs/**/binlog.000003", [ALL[2], ALL[2]]),
        ("s3://logs/db1/binlog.index", ALL),
        ("s3://logs/db1/moved.index", [ALL[2], ALL[0]]),
    ]:
        assert names(find_logs(path, storage)) == expected, path
    assert names(find_logs(["s3://logs/db1/binlog.000003", "s3://logs/db1"], storage)) == [ALL[2], *ALL[:2]]
    assert names(find_logs("s3://logs/old", storage, recursive=True)) == ALL


def test_sizes_come_with_the_listing(settings: dict[str, str]) -> None:
    found = find_logs("s3://logs/db1", Storage(settings))
    assert [file.listed_size for file in found] == [(SHOP / name).stat().st_size for name in ALL]
    assert LogFile.at("s3://logs/db1/binlog.000001", Storage(settings)).size == found[0].size


@pytest.mark.parametrize("view", ["events", "transactions", "changes"])
def test_the_same_rows(settings: dict[str, str], view: str) -> None:
    expected = getattr(gtidal, view)(SHOP).read_all()
    assert getattr(gtidal, view)("s3a://logs/db1/", storage=settings).read_all() == expected
    plan = plan_read("s3://logs/db1/", {}, part_bytes=9000, storage=settings)
    assert len(plan.parts) > 10
    parts = pickle.loads(pickle.dumps(plan.parts))
    rows = [
        row
        for part in parts
        for batch in read_part(view, part, {}, storage=settings)
        for row in batch.to_pylist()
    ]
    assert rows == expected.to_pylist()


def test_typed_rows(settings: dict[str, str]) -> None:
    expected = gtidal.rows(SHOP, "shop.orders").read_all()
    assert expected.num_rows
    assert gtidal.rows("s3://logs/db1", "shop.orders", storage=settings).read_all() == expected


def test_a_look_takes_little_and_reading_on_takes_much(settings: dict[str, str]) -> None:
    file = LogFile.at("s3://logs/large/binlog.000001", Storage(settings))
    assert file.size > 3 * LARGEST_BLOCK
    stream = file.storage.open(file.path)
    assert stream.read(4) == b"\xfebin"
    assert stream.read(100)
    assert stream.fetched == FIRST_BLOCK
    stream.seek(10_000_000)
    stream.read(19)
    assert stream.fetched == 2 * FIRST_BLOCK
    stream.seek(0)
    whole = b"".join(iter(lambda: stream.read(1 << 16), b""))
    assert len(whole) == file.size
    assert stream.fetched == 2 * FIRST_BLOCK + file.size
    assert stream._step == LARGEST_BLOCK
    stream.close()
    stream.close()


def test_planning_takes_little(settings: dict[str, str]) -> None:
    meter = Meter()
    plan = plan_read("s3://logs/large", {}, part_bytes=4 << 20, storage=settings, meter=meter)
    assert len(plan.parts) == 8
    assert meter.bytes_read < 1 << 16


def test_one_part_takes_about_its_size(settings: dict[str, str]) -> None:
    plan = plan_read("s3://logs/large", {}, part_bytes=4 << 20, storage=settings)
    meter = Meter()
    part = plan.parts[4]
    rows = sum(batch.num_rows for batch in read_part("changes", part, {}, storage=settings, meter=meter))
    assert 400 < rows < 600
    assert meter.bytes_read < 1.1 * part.size


# --- mistakes


def told(path: str, settings: dict[str, str] | None = None) -> str:
    storage = Storage(settings)
    with pytest.raises(UsageError) as raised:
        find_logs(path, storage)
    assert SECRET not in str(raised.value)
    assert KEY not in str(raised.value)
    return str(raised.value)


def test_mistakes(settings: dict[str, str]) -> None:
    assert told("s3://logs/nothing", settings) == "no such file or directory: s3://logs/nothing"
    assert told("s3://logs/db1/mariadb.*", settings) == "no file matches s3://logs/db1/mariadb.*"
    assert "names binlog.777777, which is neither there nor beside" in told(
        "s3://logs/db1/bad.index", settings
    )
    assert told("s3://logs/*/auto.cnf/", settings).startswith("no file matches")
    assert "s3://other" in told("s3://other/x", settings)
    assert told("nowhere://logs/x").startswith("cannot open nowhere://logs")


def test_a_file_that_is_gone(settings: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="no such file or directory: s3://logs/gone"):
        LogFile.at("s3://logs/gone", Storage(settings)).open()


def test_nobody_answers(settings: dict[str, str]) -> None:
    closed = {**settings, "fs.s3a.endpoint": "http://127.0.0.1:9", "fs.s3a.connection.timeout": "1"}
    assert told("s3://logs/db1", closed).startswith("cannot read s3://logs/db1: ")


def test_secrets_stay_secret(settings: dict[str, str]) -> None:
    storage = Storage(settings)
    assert SECRET not in repr(storage)
    assert KEY not in repr(storage)
    assert SECRET not in repr(find_logs("s3://logs/db1", storage))
    plan = plan_read("s3://logs/db1", {}, part_bytes=1 << 20, storage=settings)
    assert SECRET not in repr(plan)
    assert SECRET.encode() not in pickle.dumps(plan)
    assert "settings or the environment" in told(f"s3://{KEY}:{SECRET}@logs/db1")


# --- settings


def test_a_bucket_has_its_own(settings: dict[str, str]) -> None:
    own = {
        "fs.s3a.bucket.logs." + name.removeprefix("spark.hadoop.")[7:]: value
        for name, value in settings.items()
    }
    wrong = {"fs.s3a.endpoint": "http://127.0.0.1:9"}
    assert names(find_logs("s3://logs/db1", Storage({**wrong, **own}))) == ALL


def test_an_endpoint_without_a_scheme(settings: dict[str, str]) -> None:
    host = settings["fs.s3a.endpoint"].removeprefix("http://")
    plain = {**settings, "fs.s3a.endpoint": host, "fs.s3a.connection.ssl.enabled": "false"}
    assert names(find_logs("s3://logs/db1", Storage(plain))) == ALL


def test_uris() -> None:
    assert is_uri("s3://x/y")
    assert not is_uri("binlog.000001")
    assert not is_uri(Path("s3:/x"))
    uri = Uri("s3://logs/db1/binlog.000001")
    assert (uri.name, uri.parent, uri.parent / "x") == ("binlog.000001", "s3://logs/db1", "s3://logs/db1/x")


def test_local_uris() -> None:
    """They are as fast as paths: nothing is in between."""
    assert find_logs(SHOP.as_uri()) == find_logs(SHOP)
    with open_log((SHOP / "binlog.000001").as_uri()) as log:
        assert next(iter(log)).name == "FORMAT_DESCRIPTION"
    assert gtidal.changes(SHOP.as_uri()).read_all() == gtidal.changes(SHOP).read_all()


def test_folders_below(tmp_path: Path) -> None:
    for folder in ("a", "b/c"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "binlog.000001").write_bytes(LogMaker("").data)
    assert len(find_logs(tmp_path, recursive=True)) == 2
    assert gtidal.events(tmp_path, recursive=True).read_all().num_rows == 4
    with pytest.raises(UsageError, match="holds no binary logs"):
        find_logs(tmp_path)
