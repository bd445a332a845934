"""``gtidal dump``: its switches, files and exit codes. What it prints is in ``tests/text`` and ``tests/live``."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gtidal.cli.main import main
from tests.log.making import UUID, query, rotate, stop, transaction
from tests.logs import build_log

Run = tuple[int, str, str]


class Standard(io.TextIOWrapper):
    """Standard input in memory."""

    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data))


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A folder with two logs."""
    (tmp_path / "binlog.000001").write_bytes(build_log([*transaction(1), rotate("binlog.000002")]))
    (tmp_path / "binlog.000002").write_bytes(
        build_log([*transaction(2), query("CREATE TABLE u (a INT)"), stop()])
    )
    (tmp_path / "binlog.index").write_text("./binlog.000001\n./binlog.000002\n")
    return tmp_path


def run(capfdbinary: pytest.CaptureFixture[bytes], *arguments: str | Path) -> Run:
    code = main(["dump", *map(str, arguments)])
    sys.stdout.flush()
    out, err = capfdbinary.readouterr()
    return code, out.decode(), err.decode()


def one(capfdbinary: pytest.CaptureFixture[bytes], logs: Path, *switches: str) -> str:
    code, out, err = run(capfdbinary, *switches, logs / "binlog.000001")
    assert code == 0, err
    return out


class TestFiles:
    def test_index_directory_and_glob_are_the_same(
        self, capfdbinary: pytest.CaptureFixture[bytes], logs: Path
    ) -> None:
        both = run(capfdbinary, logs / "binlog.000001", logs / "binlog.000002")
        assert both[0] == 0
        assert both[1].count("COMMIT/*!*/;") == 2
        for path in (logs, logs / "binlog.index", logs / "binlog.0*"):
            assert run(capfdbinary, path) == both

    def test_standard_input(
        self, capfdbinary: pytest.CaptureFixture[bytes], logs: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        expected = run(capfdbinary, logs / "binlog.000001")
        data = (logs / "binlog.000001").read_bytes()
        monkeypatch.setattr(sys, "stdin", Standard(data))
        assert run(capfdbinary, "-") == expected
        monkeypatch.setattr(sys, "stdin", Standard(data * 2))  # two files one after the other
        code, out, _ = run(capfdbinary, "-")
        assert code == 0
        assert out.count("COMMIT/*!*/;") == 2
        assert f"# at {len(data)}\n" in out

    def test_result_file(self, capfdbinary: pytest.CaptureFixture[bytes], logs: Path) -> None:
        expected = one(capfdbinary, logs)
        for switch in ("-r", "--result-file"):
            target = logs / f"out{switch}"
            assert run(capfdbinary, switch, target, logs / "binlog.000001") == (0, "", "")
            assert target.read_text() == expected

    def test_a_closed_pipe_is_no_error(self, logs: Path) -> None:
        command = [
            sys.executable,
            "-c",
            "import sys; from gtidal.cli.main import main; sys.exit(main())",
            "dump",
        ]
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([*command, str(logs)], stdout=writer, stderr=subprocess.PIPE, check=False)
        os.close(writer)
        assert b"Traceback" not in done.stderr


class TestSwitches:
    @pytest.mark.parametrize(
        ("short", "long"),
        [
            (["-v"], ["--verbose"]),
            (["-vv"], ["-v", "-v"]),
            (["-vv"], ["--verbose", "--verbose"]),
            (["-s"], ["--short-form"]),
            (["-H"], ["--hexdump"]),
            (["-d", "shop"], ["--database=shop"]),
            (["-j", "128"], ["--start-position=128"]),
            (["-D"], ["--disable-log-bin"]),
            (["-o", "2"], ["--offset=2"]),
            (["-i"], ["--idempotent"]),
            (["-f"], ["--force-read"]),
            (["-F"], ["--force-if-open"]),
            (["-c"], ["--verify-binlog-checksum"]),
            (["-l", "/tmp"], ["--local-load=/tmp"]),
            (["--base64-output=DECODE-ROWS"], ["--base64-output=decode-rows"]),
            (["--base64-output=dec"], ["--base64-output=decode-rows"]),
        ],
    )
    def test_short_forms(
        self, capfdbinary: pytest.CaptureFixture[bytes], logs: Path, short: list[str], long: list[str]
    ) -> None:
        assert one(capfdbinary, logs, *short) == one(capfdbinary, logs, *long)

    def test_opening_and_closing_lines(self, capfdbinary: pytest.CaptureFixture[bytes], logs: Path) -> None:
        text = one(capfdbinary, logs, "-D", "-i", "--set-charset=latin1")
        assert "SQL_LOG_BIN=0" in text
        assert "RBR_EXEC_MODE=IDEMPOTENT" in text
        assert "SET NAMES latin1" in text
        assert text.endswith("/*!50700 SET @@SESSION.RBR_EXEC_MODE=STRICT*/;\n")

    def test_filters(self, capfdbinary: pytest.CaptureFixture[bytes], logs: Path) -> None:
        code, out, _ = run(capfdbinary, f"--include-gtids={UUID}:2", logs)
        assert (code, "VALUES (1)" in out, "VALUES (2)" in out) == (0, False, True)
        assert "VALUES (1)" not in one(capfdbinary, logs, "-d", "elsewhere")
        assert "VALUES (1)" not in one(capfdbinary, logs, "--stop-datetime=2000-01-01 00:00:00")
        assert "use `b`" in one(capfdbinary, logs, "--rewrite-db", "shop -> b", "--rewrite-db=shop->a")

    def test_help_has_examples(self, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
        code, out, _ = run(capfdbinary, "--help")
        assert code == 0
        assert "gtidal dump -vv --base64-output=decode-rows binlog.000024" in out
        assert "--start-datetime" in out


class TestWrongUse:
    """One sentence that says what to do, exit 2, nothing printed."""

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (["nothing-here"], "no such file"),
            (["--include-gtids=1-2"], "UUID"),
            (["--start-datetime=tomorrow"], "2026-08-01 12:00:00"),
            (["--base64-output=sometimes"], "auto, never or decode-rows"),
            (["--rewrite-db=shop"], "from->to"),
            (["--table=.orders"], "schema.table"),
            (["--key=xyz"], "hex"),
            (["--result-file=/nowhere/at/all"], "cannot write"),
            (["--stop-position=500", "-"], "standard input"),
            (["--no-such-switch"], "--no-such-switch"),
        ],
    )
    def test_sentence(
        self, capfdbinary: pytest.CaptureFixture[bytes], logs: Path, arguments: list[str], says: str
    ) -> None:
        file = [] if arguments[-1] in ("-", "nothing-here") else [logs / "binlog.000001"]
        code, out, err = run(capfdbinary, *arguments, *file)
        assert (code, out) == (2, "")
        assert says in err
        assert "Traceback" not in err

    def test_no_binlog(self, capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> None:
        (tmp_path / "notes.txt").write_text("these are no events")
        code, _, err = run(capfdbinary, tmp_path / "notes.txt")
        assert code == 2
        assert len(err.strip().splitlines()) == 1

    def test_damage(self, capfdbinary: pytest.CaptureFixture[bytes], logs: Path) -> None:
        path = logs / "binlog.000001"
        path.write_bytes(path.read_bytes()[:-5])
        code, out, err = run(capfdbinary, path)
        assert code == 1
        assert out.endswith("/*!50530 SET @@SESSION.PSEUDO_SLAVE_MODE=0*/;\n")
        assert err.startswith("gtidal: ")
        assert len(err.strip().splitlines()) == 1
