"""`gtidal dump -R` prints what the tools print of a running server's log, byte for byte, and `--raw` copies it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gtidal.cli.main import main
from tests.live.checkpoints import wait_for_checkpoint
from tests.live.servers import (
    TOOL_ENVIRONMENT,
    MariaDBServer,
    MySQLServer,
    Server,
    mariadb_binlog,
    mysqlbinlog,
)
from tests.live.waiting import wait_until

SECOND = "@second"
"""Stands for the position of the second transaction of the first log."""
EXCLUDED = "@excluded"
"""Stands for some GTIDs."""


def fill(server: Server) -> None:
    server.execute("CREATE DATABASE shop; CREATE TABLE shop.t (a INT PRIMARY KEY, b LONGBLOB)")
    for number in range(1, 8):
        if number in (3, 5):
            server.flush()
        server.execute(f"INSERT INTO shop.t VALUES ({number}, REPEAT('x', {number * 30}))")
    server.execute("UPDATE shop.t SET b = 'é' WHERE a > 5; DELETE FROM shop.t WHERE a = 1")


@pytest.fixture(scope="module")
def source() -> Iterator[MySQLServer]:
    options = "--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--server-id=5"
    with MySQLServer.temporary(*options) as server:
        fill(server)
        server.execute(
            "SET SESSION binlog_transaction_compression=ON; INSERT INTO shop.t VALUES (9, REPEAT('z', 3000))"
        )
        server.execute("SET GTID_NEXT='AUTOMATIC:tagged'; INSERT INTO shop.t VALUES (10, 'tag')")
        yield server


@pytest.fixture(scope="module")
def maria() -> Iterator[MariaDBServer]:
    with MariaDBServer.temporary("--binlog-format=ROW") as server:
        fill(server)
        wait_for_checkpoint(server)
        yield server


def second_transaction(server: Server) -> int:
    kinds = ("Gtid", "Gtid_list")
    events = server.query("SHOW BINLOG EVENTS IN 'binlog.000001'")
    found = [row[1] for row in events if row[2].startswith(kinds[0]) and row[2] != kinds[1]]
    return int(found[1])


def written_out(arguments: list[str], server: Server) -> list[str]:
    text = [each.replace(SECOND, str(second_transaction(server))) for each in arguments]
    if any(EXCLUDED in each for each in text):
        (uuid,) = server.query("SELECT @@server_uuid")[0]
        text = [each.replace(EXCLUDED, f"{uuid}:1-2:4") for each in text]
    return text


def tool_options(server: Server, mode: list[str]) -> list[str]:
    """-R, or what stands for it in the mode, and where the server is."""
    connection = server.remote_options()[1:]
    return connection if any("remote-source" in each for each in mode) else ["-R", *connection]


def own_options(server: Server, mode: list[str]) -> list[str]:
    return [each for each in tool_options(server, mode) if each not in server.reader_options]


def printed(
    arguments: list[str], capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> bytes:
    monkeypatch.setenv("TZ", "UTC")
    code = main(["dump", *arguments])
    out, err = capfdbinary.readouterr()
    assert code == 0, err
    return out


ALL = ["binlog.000001", "binlog.000002", "binlog.000003"]
MODES = [
    ALL,
    ["-vv", *ALL],
    ["-H", "-v", "--base64-output=decode-rows", *ALL],
    ["-j", SECOND, *ALL],
    ["-j", SECOND, "--stop-position=900", ALL[0]],
    ["--to-last-log", ALL[0]],
    ["-t", "-H", "-vv", ALL[1]],
    ["-t", "-j", SECOND, ALL[0]],
    ["-t", "--stop-position=400", ALL[0]],
    ["-s", "--to-last-log", ALL[0]],
    ["--start-datetime=2001-01-01 00:00:00", "--connection-server-id=77", ALL[2]],
    ["--read-from-remote-source=BINLOG-DUMP-NON-GTIDS", ALL[2]],
]
MYSQL_MODES = [
    [f"--exclude-gtids={EXCLUDED}", *ALL],
    ["--to-last-log", ALL[0], ALL[2]],
    ["--read-from-remote-source=BINLOG-DUMP-GTIDS", *ALL],
    ["--read-from-remote-source=BINLOG-DUMP-GTIDS", f"--exclude-gtids={EXCLUDED}", *ALL],
    ["--read-from-remote-source=BINLOG-DUMP-GTIDS", f"--exclude-gtids={EXCLUDED}", "-vv", "-t", ALL[0]],
    ["--read-from-remote-source=BINLOG-DUMP-GTIDS", f"--include-gtids={EXCLUDED}", ALL[0]],
]


@pytest.mark.parametrize("mode", [*MODES, *MYSQL_MODES], ids=" ".join)
def test_mysql(
    source: MySQLServer,
    mode: list[str],
    capfdbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arguments = written_out(mode, source)
    tool = mysqlbinlog(*tool_options(source, mode), *arguments)
    assert tool.returncode == 0, tool.stderr
    assert printed([*own_options(source, mode), *arguments], capfdbinary, monkeypatch) == tool.stdout


@pytest.mark.parametrize("mode", MODES[:-1], ids=" ".join)
def test_mariadb(
    maria: MariaDBServer,
    mode: list[str],
    capfdbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arguments = written_out(mode, maria)
    theirs = [each.replace("--connection-server-id", "--stop-never-slave-server-id") for each in arguments]
    tool = mariadb_binlog(*tool_options(maria, mode), *theirs)
    assert tool.returncode == 0, tool.stderr
    assert printed([*own_options(maria, mode), *arguments], capfdbinary, monkeypatch) == tool.stdout


# --- an address instead of options


def test_addresses(
    source: MySQLServer, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"mysql://root@127.0.0.1:{source.port}/"
    options = own_options(source, [])
    whole = printed([*options, *ALL], capfdbinary, monkeypatch)
    assert printed([url], capfdbinary, monkeypatch) == whole
    second = second_transaction(source)
    middle = printed([*options, "-j", str(second), *ALL], capfdbinary, monkeypatch)
    assert printed([f"{url}?start=binlog.000001:{second}"], capfdbinary, monkeypatch) == middle
    part = printed([*options, "--stop-position=900", *ALL[:2]], capfdbinary, monkeypatch)
    assert printed([f"{url}?stop=binlog.000002:900"], capfdbinary, monkeypatch) == part
    assert printed([f"{url}{ALL[1]}"], capfdbinary, monkeypatch) == printed(
        [*options, ALL[1]], capfdbinary, monkeypatch
    )
    (uuid,) = source.query("SELECT @@server_uuid")[0]
    had = printed([f"{url}?start={uuid}:1-4"], capfdbinary, monkeypatch)
    assert (
        had.count(b"GTID_NEXT= '") == whole.count(b"GTID_NEXT= '") - 5
    )  # one file less, which ends with AUTOMATIC


# --- --raw


@pytest.mark.parametrize("mode", [ALL, ["--to-last-log", ALL[0]], ["-j", SECOND, ALL[0]]], ids=" ".join)
@pytest.mark.parametrize("kind", ["source", "maria"])
def test_raw(kind: str, mode: list[str], tmp_path: Path, request: pytest.FixtureRequest) -> None:
    server: Server = request.getfixturevalue(kind)
    tool, own = tmp_path / "tool", tmp_path / "own"
    arguments = written_out(mode, server)
    for folder in (tool, own):
        folder.mkdir()
    run = mysqlbinlog if kind == "source" else mariadb_binlog
    done = run(*tool_options(server, mode), "--raw", f"--result-file={tool}/x-", *arguments)
    assert done.returncode == 0, done.stderr
    assert main(["dump", *own_options(server, mode), "--raw", "-r", f"{own}/x-", *arguments]) == 0
    files = sorted(file.name for file in tool.iterdir())
    assert sorted(file.name for file in own.iterdir()) == files
    for name in files:
        assert (own / name).read_bytes() == (tool / name).read_bytes()


# --- without an end


def reading(arguments: list[str], out: Path) -> subprocess.Popen[bytes]:
    environment = {**TOOL_ENVIRONMENT, "PYTHONPATH": os.pathsep.join(sys.path)}
    with out.open("wb") as target:
        return subprocess.Popen(
            arguments, env=environment, stdin=subprocess.DEVNULL, stdout=target, stderr=subprocess.PIPE
        )


@pytest.mark.parametrize("form", ["options", "address"])
def test_stop_never(source: MySQLServer, tmp_path: Path, form: str) -> None:
    """Both print the same while the log grows; each event is there as soon as it is complete."""
    start = source.binlogs()[-1].name
    gtidal = [sys.executable, "-m", "gtidal", "dump", "-vv"]
    if form == "options":
        ours = [*gtidal, *own_options(source, []), "--stop-never", start]
    else:
        ours = [*gtidal, f"mysql://root@127.0.0.1:{source.port}/{start}?follow=true"]
    theirs = [
        str(source.binaries.reader),
        "--no-defaults",
        "-vv",
        *tool_options(source, []),
        "--stop-never",
        start,
    ]
    files = tmp_path / "ours", tmp_path / "theirs"
    processes = [reading(command, file) for command, file in zip((ours, theirs), files, strict=True)]
    try:
        for number, name in enumerate(("first", "second")):
            source.execute(
                f"CREATE TABLE shop.{form}_{name} (a INT); INSERT INTO shop.{form}_{name} VALUES ({number})"
            )
            found = f"INSERT INTO `shop`.`{form}_{name}`".encode()
            wait_until(lambda: all(found in file.read_bytes() for file in files), name)  # noqa: B023
            source.flush()
        last = f"Rotate to {source.binlogs()[-1].name}".encode()
        wait_until(lambda: all(file.read_bytes().count(last) > 1 for file in files), "the last file")
        wait_until(lambda: files[0].stat().st_size >= files[1].stat().st_size, "all of it")
        processes[0].send_signal(signal.SIGINT)
        assert processes[0].wait(20) == 130
        assert processes[0].stderr is not None
        assert processes[0].stderr.read() == b""
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    # The tool's output waits in its buffer.
    printed_by_tool = files[1].read_bytes()
    assert len(printed_by_tool) > 4000
    assert files[0].read_bytes().startswith(printed_by_tool)


# --- what goes wrong


def problem(arguments: list[str], capfd: pytest.CaptureFixture[str], code: int = 2) -> str:
    assert main(["dump", *arguments]) == code
    _, err = capfd.readouterr()
    assert "Traceback" not in err
    return err


def test_passwords_are_refused(capfd: pytest.CaptureFixture[str]) -> None:
    for argument in ("-psecret", "--password=secret", "-vRpsecret", "--loose-password=secret"):
        said = problem(["-R", "-h127.0.0.1", argument, ALL[0]], capfd)
        assert "a password in a command is seen by everybody" in said
        assert "secret" not in said


def test_problems(source: MySQLServer, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    options = own_options(source, [])
    assert "has no log 'nosuch'; it has binlog.000001" in problem([*options, "nosuch"], capfd)
    assert "--compress" in problem([*options, "-C", ALL[0]], capfd)
    assert "goes with --read-from-remote-server" in problem(["--raw", ALL[0]], capfd)
    assert "--stop-never goes with" in problem(["--stop-never", ALL[0]], capfd)
    assert "--ssl-mode is one of" in problem([*options, "--ssl-mode=maybe", ALL[0]], capfd)
    assert "--protocol is tcp or socket" in problem([*options, "--protocol=pipe", ALL[0]], capfd)
    assert "--raw copies whole files" in problem([*options, "--raw", "--stop-position=9", ALL[0]], capfd)
    assert "cannot write" in problem([*options, "--raw", f"-r{tmp_path}/no/x", ALL[0]], capfd)
    assert "leave it out" in problem([*options, "--read-from-remote-source=binlog-dump-gtids", ALL[0]], capfd)
    assert "is BINLOG-DUMP-NON-GTIDS or" in problem([*options, "--read-from-remote-source=x", ALL[0]], capfd)
    url = f"mysql://root@127.0.0.1:{source.port}/"
    assert "say it once" in problem([f"{url}?start=binlog.000001:4", "-j", "300"], capfd)
    assert "do not go together" in problem([url, "binlog.000001"], capfd)
    assert "has no file" in problem([f"{url}nosuch.000001"], capfd, 1)
    assert problem([*options, "-j", "126", ALL[0]], capfd, 1)


def test_option_file(
    source: MySQLServer,
    tmp_path: Path,
    capfdbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "my.cnf"
    file.write_text(f"[client]\nhost=127.0.0.1\nport={source.port}\nuser=root\n")
    expected = printed([*own_options(source, []), ALL[0]], capfdbinary, monkeypatch)
    assert printed([f"--defaults-file={file}", "-R", ALL[0]], capfdbinary, monkeypatch) == expected
    assert printed(["-R", "-uroot", f"-S{source.socket}", ALL[0]], capfdbinary, monkeypatch) == expected
