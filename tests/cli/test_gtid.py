"""``gtidal gtid``: set algebra, and the file to start from."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from gtidal.cli.main import main
from tests.cli.test_verify import chain
from tests.log.making import UUID, log, mariadb_list, mariadb_transaction, rotate

OTHER = "3e11fa47-71ca-11e1-9e33-c80aa9429562"


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    code = main(["gtid", *map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize(
    ("command", "sets", "expected"),
    [
        ("union", [f"{UUID}:1-5", f"{UUID}:4-9", f"{OTHER}:1"], f"{OTHER}:1,{UUID}:1-9"),
        ("subtract", [f"{UUID}:1-9", f"{UUID}:4-5", f"{UUID}:9"], f"{UUID}:1-3:6-8"),
        ("intersect", [f"{UUID}:1-5:red:1-3", f"{UUID}:4-9:red:2"], f"{UUID}:4-5:red:2"),
        ("subtract", [f"{UUID}:1", f"{UUID}:1"], ""),
        ("normalize", [f" {UUID.upper()} : 3 , {UUID}:1-2"], f"{UUID}:1-3"),
        ("normalize", ["1-2-5, 0-1-100"], "0-1-100,1-2-5"),
        ("union", ["0-1-100", "0-1-90,1-1-1"], "0-1-100,1-1-1"),
        ("union", ["0-1-100", ""], "0-1-100"),
        ("intersect", ["0-1-100", "0-1-90,1-1-1"], "0-1-90"),
        ("count", [f"{UUID}:1-5:7"], "6"),
        ("count", [f"{UUID}:1-9000000000", ""], "9000000000\n0"),
    ],
)
def test_algebra(capsys: pytest.CaptureFixture[str], command: str, sets: list[str], expected: str) -> None:
    assert run(capsys, command, *sets) == (0, expected + "\n", "")


@pytest.mark.parametrize(
    ("sets", "code"),
    [
        ([f"{UUID}:1-9", f"{UUID}:4-5"], 0),
        ([f"{UUID}:1-9", f"{UUID}:4-5", f"{UUID}:10"], 1),
        ([f"{UUID}:1-9", f"{UUID}:red:4"], 1),
        ([f"{UUID}:1-9", ""], 0),
        (["", f"{UUID}:1-9"], 1),
        (["0-1-100", "0-1-99"], 0),
        (["0-1-100", "0-1-101"], 1),
    ],
)
def test_contains(capsys: pytest.CaptureFixture[str], sets: list[str], code: int) -> None:
    assert run(capsys, "contains", *sets) == (code, ["yes\n", "no\n"][code], "")


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "union", f"{UUID}:1", f"{UUID}:2", "--output", "json")
    assert json.loads(out) == {"gtids": f"{UUID}:1-2", "count": 2}
    code, out, _ = run(capsys, "contains", f"{UUID}:1", f"{UUID}:2", "--output", "json")
    assert (code, json.loads(out)) == (1, {"contains": False, "missing": f"{UUID}:2"})


def test_sets_from_files_and_standard_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "executed.txt"
    file.write_text(f"{UUID}:1-3,\n{OTHER}:5\n")
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{UUID}:2-9\n"))
    assert run(capsys, "union", f"@{file}", "-") == (0, f"{OTHER}:5,{UUID}:1-9\n", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["union", "nonsense"], "malformed GTID set"),
        (["union", f"{UUID}:0"], "malformed GTID set"),
        (["union", f"{UUID}:1", "0-1-1"], "cannot be mixed"),
        (["contains", f"{UUID}:1"], "at least two"),
        (["count", "0-1-100"], "cannot be counted"),
        (["union", "@/no/such/file"], "cannot read /no/such/file"),
    ],
)
def test_wrong_use(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1


def test_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two, three = chain(tmp_path)
    for had, file in (("", one), (f"{UUID}:1", one), (f"{UUID}:1-2", two), (f"{UUID}:1-9", three)):
        assert run(capsys, "start", had, tmp_path) == (0, f"{file}\n", "")
    _, out, _ = run(capsys, "start", f"{UUID}:1-3", tmp_path, "--output", "json")
    assert json.loads(out) == {"file": two.name, "path": str(two)}


def test_start_reads_heads_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Damage behind the head of a file does not matter."""
    files = chain(tmp_path)
    for path in files:
        data = path.read_bytes()
        path.write_bytes(data[:250] + b"\xaa" * 5000)
    assert run(capsys, "start", f"{UUID}:1-3", tmp_path)[:2] == (0, f"{files[1]}\n")


def test_start_passes_over_a_file_without_a_head(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A crash while a file was begun leaves one that says nothing."""
    *_, three = chain(tmp_path)
    (tmp_path / "binlog.000004").write_bytes(three.read_bytes()[:100])
    assert run(capsys, "start", f"{UUID}:1-9", tmp_path) == (0, f"{three}\n", "")


def test_start_is_purged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chain(tmp_path)[0].unlink()
    code, out, err = run(capsys, "start", f"{UUID}:1", tmp_path)
    assert (code, out) == (1, "")
    assert f"purged: {UUID}:2 was before" in err


def test_start_mariadb(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number, before in ((1, []), (2, [(0, 1, 2)])):
        events = [mariadb_list(*before), *mariadb_transaction(2 * number), rotate("binlog.000009")]
        (tmp_path / f"binlog.{number:06}").write_bytes(log(events, server_version="11.8.6-MariaDB"))
    assert run(capsys, "start", "0-1-1", tmp_path)[1] == f"{tmp_path / 'binlog.000001'}\n"
    assert run(capsys, "start", "0-1-2", tmp_path)[1] == f"{tmp_path / 'binlog.000002'}\n"
    assert run(capsys, "start", f"{UUID}:1", tmp_path)[0] == 2


@pytest.mark.parametrize(
    "command", ["union", "subtract", "intersect", "contains", "normalize", "count", "start"]
)
def test_help_has_an_example(capsys: pytest.CaptureFixture[str], command: str) -> None:
    code, out, _ = run(capsys, command, "--help")
    assert code == 0
    assert f"gtidal gtid {command} " in out
