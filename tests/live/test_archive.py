"""`gtidal archive` on real servers: the archive is byte for byte what the server has, whatever happens meanwhile."""

from __future__ import annotations

import hashlib
import json
import os
import pty
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from moto.server import ThreadedMotoServer
from pyarrow.fs import S3FileSystem

from gtidal.archiving import Archiver, Folder, Options, Progress, archiver
from gtidal.columnar.auditing import read_facts
from gtidal.planning import plan_read
from gtidal.sources.archive import MANIFEST
from gtidal.sources.server.address import ServerAddress
from gtidal.sources.server.logs import ServerLogs
from tests.live.checkpoints import wait_for_checkpoint
from tests.live.conftest import StartMariaDB, StartMySQL
from tests.live.copies import assert_archived, assert_identical, has_all
from tests.live.killing import Killing
from tests.live.proxy import Proxy
from tests.live.servers import CRASH_SAFE, MariaDBServer, MySQLServer, Server
from tests.live.waiting import wait_until
from tests.live.writer import Writer

GTID = ("--gtid-mode=ON", "--enforce-gtid-consistency=ON")
EXTRAS = ("update", "delete", "ddl", "rollback", "myisam")
COMMAND = (sys.executable, "-m", "gtidal", "archive")
SETUP = "CREATE DATABASE shop; CREATE TABLE shop.t (a INT PRIMARY KEY AUTO_INCREMENT, b LONGTEXT)"


def url(server: Server, port: int = 0, heartbeat: float = 0.5) -> str:
    return f"{server.name}://root@127.0.0.1:{port or server.port}/?tls=off&heartbeat={heartbeat}"


def run(server: Server, folder: Path | str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, url(server, heartbeat=10), str(folder), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def archive(server: Server, folder: Path | str, *options: str) -> str:
    """Run it to the end that the log has now; what it says."""
    done = run(server, folder, "--once", *options)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    return done.stderr


def refused(server: Server, folder: Path, *options: str) -> str:
    """The one line that it says when it cannot go on."""
    done = run(server, folder, "--once", *options)
    assert done.returncode == 1, done.stderr
    [line] = done.stderr.splitlines()
    return line


@contextmanager
def running(
    server: Server, folder: Path | str, *options: str, port: int = 0
) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [*COMMAND, url(server, port), str(folder), *options], stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def stop(process: subprocess.Popen[str], number: int = signal.SIGTERM) -> str:
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    return said


def manifest(folder: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((folder / MANIFEST).read_bytes())
    return value


@pytest.fixture(scope="module")
def source() -> Iterator[MySQLServer]:
    with MySQLServer.temporary(*GTID, *CRASH_SAFE, "--server-id=5") as server:
        yield server


@pytest.fixture
def empty(source: MySQLServer) -> MySQLServer:
    """A server that may be killed, with nothing in it and one new log."""
    source.execute(["DROP DATABASE IF EXISTS live", "DROP DATABASE IF EXISTS shop"])
    source.reset_logs()
    return source


@pytest.fixture(params=["mysql", "mariadb"])
def either(request: pytest.FixtureRequest) -> Iterator[Server]:
    kind = MySQLServer if request.param == "mysql" else MariaDBServer
    with kind.temporary(*(GTID if kind is MySQLServer else ()), *CRASH_SAFE) as server:
        yield server


# --- what is written --------------------------------------------------------------------------------------


def test_copies_manifest_and_index(either: Server, tmp_path: Path) -> None:
    """Two runs, with new logs between them; the manifest says what the server's own files say."""
    with Writer(either, seed=1, extras=EXTRAS, flush_odds=0.2) as writer:
        writer.wait_for(600)
    wait_for_checkpoint(either)
    archive(either, tmp_path)
    assert_archived(tmp_path, either)
    either.execute("CREATE TABLE live.more (a INT)")
    if isinstance(either, MySQLServer):
        tagged = ["SET gtid_next = 'automatic:blue'", "INSERT INTO live.more VALUES (2)"]
        either.execute([*tagged, "SET gtid_next = 'automatic'"])
    either.flush()
    either.execute("INSERT INTO live.more VALUES (1)")
    wait_for_checkpoint(either)
    assert "the archive ends at" in archive(either, tmp_path)
    assert archive(either, tmp_path) == "gtidal: nothing is new\n"
    assert_archived(tmp_path, either)

    logs = either.binlogs()
    assert len(logs) > 3
    assert (tmp_path / "binlog.index").read_text() == "".join(f"./{log.name}\n" for log in logs)
    files = manifest(tmp_path)["files"]
    assert [file["name"] for file in files] == [log.name for log in logs]
    assert [file["state"] for file in files] == ["closed"] * (len(logs) - 1) + ["current"]
    assert [file["next_file"] for file in files] == [*(log.name for log in logs[1:]), None]
    for file, log in zip(files[:-1], logs, strict=False):
        with log.open("rb", 0) as stream:
            facts = read_facts(stream, log.name, log.stat().st_size)
        assert file["size"] == facts.size
        assert file["events"] == facts.events
        assert file["previous_gtids"] == (facts.previous.one_line() if facts.previous is not None else None)
        assert file["gtids"] == (facts.inside.one_line() if facts.inside is not None else None)
        assert file["anonymous_transactions"] == facts.anonymous
        assert file["sha256"] == hashlib.sha256(log.read_bytes()).hexdigest()
        assert file["first_time"] <= file["last_time"]


@pytest.mark.parametrize("by", ["all", "time", "gtid"])
def test_plans_without_a_look_into_closed_files(empty: MySQLServer, tmp_path: Path, by: str) -> None:
    """Files of nothing but zeros are planned as the logs were, as long as they have the size that the manifest says."""
    with Writer(empty, seed=8, flush_odds=0.3) as writer:
        writer.wait_for(500)
    archive(empty, tmp_path)
    *closed, _ = (tmp_path / log.name for log in empty.binlogs())
    assert len(closed) > 3
    had = manifest(tmp_path)["files"][2]["previous_gtids"]
    options: dict[str, Any] = {"time": {"stop": "2001-01-01"}, "gtid": {"start": had}}.get(by, {})
    (tmp_path / MANIFEST).rename(tmp_path / "hidden")
    expected = plan_read(tmp_path, options, part_bytes=20_000, view="changes")
    (tmp_path / "hidden").rename(tmp_path / MANIFEST)
    for path in closed:
        path.write_bytes(bytes(path.stat().st_size))
    found = plan_read(tmp_path, options, part_bytes=20_000, view="changes")
    assert found == expected
    assert found.pruned or by == "all"
    with closed[0].open("ab") as file:
        file.write(b"more")
    assert plan_read(tmp_path, {}, part_bytes=20_000).files == expected.files - 1, "it is no log any more"


def test_where_an_empty_archive_begins(empty: MySQLServer, tmp_path: Path) -> None:
    for _ in range(3):
        empty.flush()
    names = [log.name for log in empty.binlogs()]
    for start, expected in (("oldest", names), ("now", names[-1:]), (names[1], names[1:])):
        archive(empty, tmp_path / start, "--start", start)
        assert sorted(path.name for path in (tmp_path / start).glob("binlog.0*")) == expected
    done = run(empty, tmp_path / "none", "--start", "binlog.777777")
    assert done.returncode == 2
    assert "has no file binlog.777777: it has binlog.000001 to binlog.000004" in done.stderr


def test_encrypted_logs_come_as_plain_text(
    start_mysql: StartMySQL, start_mariadb: StartMariaDB, tmp_path: Path
) -> None:
    for server in (start_mysql(*GTID, encrypted=True), start_mariadb(encrypted=True)):
        server.execute(SETUP)
        server.flush()
        server.execute("INSERT INTO shop.t (b) VALUES ('nobody hides this')")
        archive(server, tmp_path / server.name)
        server.execute("INSERT INTO shop.t (b) VALUES ('nor that')")
        archive(server, tmp_path / server.name)
        copies = sorted((tmp_path / server.name).glob("binlog.0*"))
        assert b"nobody hides this" in copies[-1].read_bytes()
        assert b"nor that" in copies[-1].read_bytes()
        raw = tmp_path / f"{server.name}-raw"
        raw.mkdir()
        tool = [str(server.binaries.reader), "--no-defaults", *server.remote_options()]
        result = f"--result-file={raw}/"
        subprocess.run([*tool, "--raw", "--to-last-log", result, copies[0].name], check=True)
        for copy in copies[:-1]:
            assert copy.read_bytes() == (raw / copy.name).read_bytes()
        checked = subprocess.run(
            [sys.executable, "-m", "gtidal", "verify", str(tmp_path / server.name)],
            capture_output=True,
            check=False,
        )
        assert checked.returncode == 0, checked.stdout


def test_checksums_that_come_and_go(either: Server, tmp_path: Path) -> None:
    """Each file has them or not, and one connection sends all files."""
    either.execute(SETUP)
    for checksum in ("NONE", "CRC32", "NONE", "NONE", "CRC32"):
        either.execute(f"SET GLOBAL binlog_checksum = {checksum}")
        either.execute(f"INSERT INTO shop.t (b) VALUES ('{checksum}')")
    archive(either, tmp_path)
    assert_archived(tmp_path, either)
    either.execute("SET GLOBAL binlog_checksum = NONE")
    for number in range(2):
        either.execute(f"INSERT INTO shop.t (b) VALUES ('{number}')")
        archive(either, tmp_path)
        assert_archived(tmp_path, either)


@pytest.mark.parametrize("size", [(1 << 24) - 2, (1 << 24) - 1, 1 << 24, 40_000_000])
def test_events_of_many_packets(empty: MySQLServer, tmp_path: Path, size: int) -> None:
    """An event of exactly so many bytes. The first one fills a packet, and another one of no bytes follows it."""
    empty.execute(SETUP)
    empty.execute("INSERT INTO shop.t (b) VALUES (REPEAT('x', 70000))")
    around = largest_event(empty) - 70_000
    empty.execute(f"INSERT INTO shop.t (b) VALUES (REPEAT('x', {size - around}))")
    assert largest_event(empty) == size
    empty.flush()
    archive(empty, tmp_path)
    assert_archived(tmp_path, empty)


def largest_event(server: Server) -> int:
    events = server.query(f"SHOW BINLOG EVENTS IN '{server.binlogs()[-1].name}'")
    return max(int(event[4]) - int(event[1]) for event in events)


def test_memory_stays_small(empty: MySQLServer, tmp_path: Path) -> None:
    """A transaction of 170 MB takes no more than a log of nothing."""
    peaks = []
    for rows in (1, 170):
        empty.reset_logs()
        empty.execute("DROP DATABASE IF EXISTS shop")
        empty.execute(SETUP)
        values = ", ".join(["(REPEAT('y', 1000000))"] * rows)
        empty.execute(f"INSERT INTO shop.t (b) VALUES {values}")
        folder = tmp_path / str(rows)
        process = subprocess.Popen([*COMMAND, url(empty), str(folder), "--once"], stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        assert_archived(folder, empty)
        peaks.append(usage.ru_maxrss << 10)
    assert peaks[1] - peaks[0] < 40 << 20


# --- stopped and killed -----------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["int", "term"])
def test_it_follows_the_server_until_it_is_stopped(empty: MySQLServer, tmp_path: Path, number: int) -> None:
    with Writer(empty, seed=2) as writer, running(empty, tmp_path) as process:
        writer.wait_for(1000)
        with writer.resting():
            wait_until(lambda: has_all(tmp_path, empty), "all is here")
            assert_archived(tmp_path, empty)
            last = empty.binlogs()[-1].name
            said = stop(process, number)
    assert f"the archive ends at {last}:" in said
    assert "Traceback" not in said
    assert [file["state"] for file in manifest(tmp_path)["files"]][-2:] == ["closed", "current"]


def test_the_status_line(empty: MySQLServer, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    command = [*COMMAND, url(empty), str(tmp_path)]
    process = subprocess.Popen(command, stderr=theirs)
    try:
        said = ""
        wanted = f"{empty.binlogs()[-1].name}:{empty.binlogs()[-1].stat().st_size}  0.0 MB/s  all is here …"
        while wanted not in said:
            said += os.read(ours, 1 << 16).decode()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        os.close(ours)
        os.close(theirs)


def test_a_full_disk(empty: MySQLServer, tmp_path: Path) -> None:
    """One sentence; and it goes on when there is room."""
    empty.execute(SETUP)
    empty.execute("INSERT INTO shop.t (b) VALUES (REPEAT('x', 300000))")
    process = subprocess.run(
        [*COMMAND, url(empty), str(tmp_path), "--once"],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)),
    )
    assert process.returncode == 2
    assert process.stderr == f"gtidal: cannot write {tmp_path / 'binlog.000001'}: File too large\n"
    assert manifest(tmp_path)["files"][0]["size"] <= 100_000
    archive(empty, tmp_path)
    assert_archived(tmp_path, empty)


def test_behind_4_gib_it_begins_with_the_file(
    empty: MySQLServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Servers are asked for no such position. The same here, for a smaller one."""
    monkeypatch.setattr(archiver, "FURTHEST", 1000)
    empty.execute(SETUP)
    for number in range(3):
        empty.execute(f"INSERT INTO shop.t (b) VALUES (REPEAT('x', {20_000 + number}))")
        with Folder(tmp_path) as folder, ServerLogs(ServerAddress.parse(url(empty))) as logs:
            Archiver(logs, folder, Options(once=True), Quiet()).run()
        assert_archived(tmp_path, empty)


class Quiet:
    """Looks on, and says nothing."""

    def progress(self, progress: Progress) -> None:
        pass

    def say(self, text: str) -> None:
        raise AssertionError(text)

    def stopped(self) -> bool:
        return False


def killed(server: Server, tmp_path: Path, *, seed: int, kills: int) -> None:
    with Proxy(server) as proxy, Writer(server, seed=seed, extras=EXTRAS) as writer:
        writer.wait_for(300)
        command = [*COMMAND, url(server, proxy.port), tmp_path]
        killing = Killing(
            command,
            tmp_path,
            seed=seed + 1,
            kills=kills,
            longest=3.0,
            most_written=200_000,
            may_fail=lambda: True,
        )

        def trouble(run: int) -> None:
            if run == kills:
                writer.stop()
                wait_for_checkpoint(server)
            elif run % 3 == 0:
                proxy.cut_after(1 + 20_000 * run)
            elif run % 3 == 1:
                server.recover() if run % 2 else server.restart()

        runs = killing.run(lambda: has_all(tmp_path, server), trouble, seconds=60 + 20 * kills)
    assert [each.ended for each in runs].count("killed") == kills
    assert_archived(tmp_path, server)
    # The last one may be stopped before it has begun.
    assert not any("Traceback" in each.errors for each in runs[:-1]), killing.report()
    # Nothing of a broken run is left for the next one.
    assert archive(server, tmp_path) == "gtidal: nothing is new\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [*(log.name for log in server.binlogs()), "binlog.index", MANIFEST, "gtidal-archive.lock"]
    )


def test_killed_and_started_again(either: Server, tmp_path: Path) -> None:
    killed(either, tmp_path, seed=10, kills=3)


@pytest.mark.soak
def test_killed_often(either: Server, tmp_path: Path) -> None:
    killed(either, tmp_path, seed=20, kills=20)


def test_a_server_that_stops_and_one_that_is_killed(either: Server, tmp_path: Path) -> None:
    """The archiver goes on by itself."""
    with Writer(either, seed=3) as writer, running(either, tmp_path) as process:
        wait_until(lambda: has_logs(tmp_path), "logs come")
        for trouble in (either.restart, either.recover):
            writer.wait_for(writer.count + 300)
            trouble()
        writer.wait_for(writer.count + 300)
        with writer.resting():
            wait_for_checkpoint(either)
            wait_until(lambda: has_all(tmp_path, either), "all is here")
            said = stop(process)
            assert_archived(tmp_path, either)
    assert "trying again" in said
    assert "Traceback" not in said


def test_a_network_that_breaks_and_stalls(empty: MySQLServer, tmp_path: Path) -> None:
    with Proxy(empty) as proxy, Writer(empty, seed=4) as writer:
        writer.wait_for(500)
        with running(empty, tmp_path, port=proxy.port) as process:
            wait_until(lambda: has_logs(tmp_path), "logs come")
            for size in (1, 77, 5000, 60_000):  # inside of packets, headers and events
                cuts = proxy.counts.cuts
                proxy.cut_after(size)
                writer.wait_for(writer.count + 200)
                wait_until(lambda before=cuts: proxy.counts.cuts > before, "the connection is cut")
            with writer.resting():
                wait_until(lambda: has_all(tmp_path, empty), "all is here")
            connections = proxy.counts.connections
            proxy.stall()
            wait_until(lambda: proxy.counts.connections > connections, "silence counts as a lost connection")
            proxy.cut()
            proxy.resume()
            writer.wait_for(writer.count + 200)
            with writer.resting():
                wait_until(lambda: has_all(tmp_path, empty), "all is here")
                said = stop(process)
                assert_archived(tmp_path, empty)
    assert "was silent for" in said


def has_logs(folder: Path) -> bool:
    return any(path.stat().st_size for path in folder.glob("binlog.0*"))


# --- what must not be archived ----------------------------------------------------------------------------


def test_two_archivers(empty: MySQLServer, tmp_path: Path) -> None:
    with running(empty, tmp_path):
        wait_until(lambda: has_logs(tmp_path), "logs come")
        done = run(empty, tmp_path)
    assert done.returncode == 2
    assert done.stderr == f"gtidal: another gtidal archive is writing into {tmp_path}\n"
    archive(empty, tmp_path)  # the lock of a killed one is none


def test_purged_logs(empty: MySQLServer, tmp_path: Path) -> None:
    empty.execute(SETUP)
    archive(empty, tmp_path)
    empty.execute("INSERT INTO shop.t (b) VALUES ('in the file that is here in part')")
    for _ in range(3):
        empty.flush()
    empty.purge_to(empty.binlogs()[2])
    before = (tmp_path / "binlog.000001").read_bytes()
    said = refused(empty, tmp_path)
    assert said.startswith("gtidal: binlog.000001: ")
    assert (
        f"its oldest file is binlog.000003; the archive has binlog.000001 up to position {len(before)}"
        in said
    )
    assert "--allow-gap" in said
    assert "a gap: binlog.000001 and what follows it up to binlog.000003" in archive(
        empty, tmp_path, "--allow-gap"
    )
    assert_archived(tmp_path, empty)
    files = manifest(tmp_path)["files"]
    assert [(file["name"], file["state"], file["follows_gap"]) for file in files] == [
        ("binlog.000001", "cut", False),
        ("binlog.000003", "closed", True),
        ("binlog.000004", "current", False),
    ]


def test_a_file_that_was_purged_when_all_of_it_was_here(empty: MySQLServer, tmp_path: Path) -> None:
    """As if it had been killed between the last event of a file and the manifest that says so."""
    archive(empty, tmp_path)
    before = (tmp_path / MANIFEST).read_bytes()
    empty.flush()
    archive(empty, tmp_path)
    (tmp_path / MANIFEST).write_bytes(before)
    (tmp_path / "binlog.000002").unlink()
    empty.purge_to(empty.binlogs()[-1])
    archive(empty, tmp_path)
    assert_archived(tmp_path, empty)
    states = [(file["state"], file["follows_gap"]) for file in manifest(tmp_path)["files"]]
    assert states == [("closed", False), ("current", False)]


def test_logs_that_were_reset(empty: MySQLServer, tmp_path: Path) -> None:
    empty.execute(SETUP)
    for _ in range(3):
        empty.flush()
    archive(empty, tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.glob("binlog.0*")}
    empty.reset_logs()
    said = refused(empty, tmp_path)
    assert "its logs were reset; archive them into a new folder" in said
    for _ in range(3):
        empty.flush()
    empty.execute("INSERT INTO shop.t (b) VALUES (REPEAT('z', 1000))")
    said = refused(empty, tmp_path)
    assert said.startswith("gtidal: binlog.000004: ")
    assert "has another file of this name than the archive: its logs were reset" in said
    assert {path.name: path.read_bytes() for path in tmp_path.glob("binlog.0*")} == before


def test_another_server(empty: MySQLServer, mysql: MySQLServer, tmp_path: Path) -> None:
    archive(empty, tmp_path)
    said = refused(mysql, tmp_path)
    assert f"is the server {mysql.uuid}; {tmp_path} holds the logs of {empty.uuid}" in said


def test_files_of_others_stay(empty: MySQLServer, tmp_path: Path) -> None:
    (tmp_path / "binlog.000001").write_bytes(b"precious")
    done = run(empty, tmp_path, "--once")
    assert done.returncode == 2
    assert done.stderr.endswith("binlog.000001 is there already, and was not written by gtidal archive\n")
    assert (tmp_path / "binlog.000001").read_bytes() == b"precious"


def test_a_damaged_event_is_not_archived(start_mysql: StartMySQL, tmp_path: Path) -> None:
    server = start_mysql(*GTID)
    server.execute(SETUP)
    server.execute("INSERT INTO shop.t (b) VALUES ('before')")
    [log] = server.binlogs()
    good = log.stat().st_size
    server.execute("INSERT INTO shop.t (b) VALUES ('damaged soon')")
    server.flush()
    data = bytearray(log.read_bytes())
    data[data.index(b"damaged soon")] ^= 1
    log.write_bytes(data)
    said = refused(server, tmp_path / "a")
    assert said.startswith("gtidal: binlog.000001, position ")
    assert "WRITE_ROWS" in said
    copy = (tmp_path / "a" / "binlog.000001").read_bytes()
    assert len(copy) >= good
    assert copy[22:] == bytes(data[22 : len(copy)])
    assert b"amaged soon" not in copy
    assert refused(server, tmp_path / "a") == said
    assert [file["state"] for file in manifest(tmp_path / "a")["files"]] == ["current"]


# --- in a storage -----------------------------------------------------------------------------------------


@pytest.fixture
def bucket() -> Iterator[tuple[S3FileSystem, list[str]]]:
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    system = S3FileSystem(
        access_key="x",
        secret_key="y",
        endpoint_override=endpoint,
        region="us-east-1",
        allow_bucket_creation=True,
    )
    system.create_dir("logs")
    system.delete_dir_contents("logs")  # all of these servers in one process have the same
    yield system, ["--option", f"fs.s3a.endpoint={endpoint}", "--option", "fs.s3a.path.style.access=true"]
    server.stop()


def fetch(system: S3FileSystem, folder: Path) -> None:
    """What is in the bucket."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    from pyarrow.fs import FileSelector

    for info in system.get_file_info(FileSelector("logs/db1")):
        with system.open_input_stream(info.path) as stream:
            (folder / info.base_name).write_bytes(stream.read())


def test_an_archive_in_a_storage(empty: MySQLServer, tmp_path: Path, bucket: Any) -> None:
    system, settings = bucket
    spool, copy = tmp_path / "spool", tmp_path / "copy"
    options = [*settings, "--spool", str(spool)]
    with Writer(empty, seed=6) as writer:
        writer.wait_for(500)
    said = archive(empty, "s3://logs/db1", *options)
    assert f"what is not in s3://logs/db1 yet is kept in {spool}" in said
    fetch(system, copy)
    assert_archived(copy, empty)
    last = empty.binlogs()[-1].name
    assert [path.name for path in spool.glob("binlog.0*")] == [last], "what is closed is there alone"
    assert manifest(copy) == manifest(spool)

    empty.execute("CREATE TABLE live.more (a INT)")
    archive(empty, "s3://logs/db1", *options)
    fetch(system, copy)
    assert_archived(copy, empty)

    empty.flush()
    empty.execute("INSERT INTO live.more VALUES (1)")
    shutil.rmtree(spool)
    said = archive(empty, "s3://logs/db1", *options)
    fetch(system, copy)
    assert_archived(copy, empty)
    grown = sum(log.stat().st_size for log in empty.binlogs())
    told = int(said.splitlines()[-1].split()[1].replace(",", ""))
    assert told < grown / 2, "it went on from what was in the storage"


def test_uploads_at_intervals_and_after_a_kill(empty: MySQLServer, tmp_path: Path, bucket: Any) -> None:
    system, settings = bucket
    spool, copy = tmp_path / "spool", tmp_path / "copy"
    options = [*settings, "--spool", str(spool), "--upload-every", "0.3s"]
    with Writer(empty, seed=7) as writer:
        for _ in range(2):
            with running(empty, "s3://logs/db1", *options) as process:
                writer.wait_for(writer.count + 300)
                with writer.resting():
                    wait_until(lambda: uploaded(system, empty, process), "all is in the storage")
            # It was killed. The next one goes on from the spool.
            writer.wait_for(writer.count + 100)
    archive(empty, "s3://logs/db1", *options)
    fetch(system, copy)
    assert_archived(copy, empty)


def uploaded(system: S3FileSystem, server: Server, process: subprocess.Popen[str]) -> bool:
    if process.poll() is not None:
        assert process.stderr is not None
        raise AssertionError(process.stderr.read())
    time.sleep(0.2)  # the storage is slow
    last = server.binlogs()[-1]
    return bool(system.get_file_info(f"logs/db1/{last.name}").size == last.stat().st_size)


def test_a_storage_that_is_away(empty: MySQLServer, tmp_path: Path) -> None:
    """What cannot be uploaded is kept."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    options = [
        "--option",
        f"fs.s3a.endpoint=http://{host}:{port}",
        "--option",
        "fs.s3a.path.style.access=true",
    ]
    try:
        done = run(empty, "s3://nowhere/db1", "--once", *options, "--spool", str(tmp_path / "spool"))
    finally:
        server.stop()
    assert done.returncode == 2
    assert "s3://nowhere/db1" in done.stderr
    assert "Traceback" not in done.stderr
    assert_identical(tmp_path / "spool" / "binlog.000001", empty.binlogs()[0])
