"""``gtidal verify`` on whole, damaged and missing files."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from gtidal.cli import verify as verify_module
from gtidal.cli.main import main
from gtidal.events import Event
from tests.log.making import START, UUID, frames, gtid, log, previous, query, rotate, transaction

WIDTH = 100


@pytest.fixture(autouse=True)
def _width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))


def chain(folder: Path, count: int = 3) -> list[Path]:
    """Files of two transactions each, as a server writes them; the last is in use."""
    files = []
    for number in range(1, count + 1):
        before = f"{UUID}:1-{2 * number - 2}" if number > 1 else ""
        events: list[Event] = [previous(before), *transaction(2 * number - 1), *transaction(2 * number)]
        last = number == count
        if not last:
            events.append(rotate(f"binlog.{number + 1:06}"))
        path = folder / f"binlog.{number:06}"
        path.write_bytes(log(events, in_use=last, created=0 if number > 1 else START))
        files.append(path)
    return files


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    code = main(["verify", *map(str, arguments)])
    out, err = capsys.readouterr()
    assert all(len(line) <= WIDTH for line in out.splitlines()) or "--output" in arguments
    return code, out, err


def records(out: str) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {"finding": [], "file": [], "summary": []}
    for line in out.splitlines():
        record = json.loads(line)
        found[record["record"]].append(record)
    return found


def flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)


def test_a_sound_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = chain(tmp_path)
    code, out, err = run(capsys, tmp_path)
    assert (code, err) == (0, "")
    assert "no problems, 1 note" in out
    for path in files:
        (line,) = [line for line in out.splitlines() if path.name in line and line.startswith("ok")]
        assert f"{path.stat().st_size:,} =    4 + " in line
    assert "in use, or the server crashed" in out


def test_one_line_when_fine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, *_ = chain(tmp_path)
    _, out, _ = run(capsys, first)
    assert len(out.splitlines()) == 3


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = chain(tmp_path)
    code, out, _ = run(capsys, tmp_path, "--output", "json")
    assert code == 0
    found = records(out)
    assert [record["file"] for record in found["file"]] == [path.name for path in files]
    for record, path in zip(found["file"], files, strict=True):
        assert sum(record["account"].values()) == record["size"] == path.stat().st_size
        assert record["accounted_for"] is True
        assert (record["transactions"], record["problems"]) == (2, 0)
    assert found["file"][1]["previous_gtids"] == f"{UUID}:1-2"
    assert found["file"][1]["gtids"] == f"{UUID}:3-4"
    (summary,) = found["summary"]
    assert summary == {"record": "summary", "files": 3, "problems": 0, "notes": 1}


def test_damage_is_told_and_passed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = chain(tmp_path)[1]
    victim = frames(path.read_bytes())[4]
    flip(path, victim.position + 25)
    code, out, _ = run(capsys, tmp_path)
    assert code == 1
    assert "bad binlog.000002" in out
    assert f"problem at {victim.position} ({len(victim.data)} bytes) QUERY: checksum: stored is" in out
    assert f"goes on at {victim.end}" in out.replace("\n       ", " ")
    assert f"transaction {UUID}:3 is damaged" in out
    assert "1 of 2 transactions untouched" in out
    assert "1 problem, 2 notes" in out


def test_a_missing_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chain(tmp_path)[1].unlink()
    code, out, _ = run(capsys, tmp_path)
    assert code == 1
    assert "1 file is missing behind it: binlog.000002" in out
    assert f"{UUID}:3-4 is before binlog.000003" in out


def test_restarted_numbering(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The index tells the order: the history before a reset, and the one behind it."""
    (tmp_path / "binlog.000007").write_bytes(log([previous(), *transaction(1), rotate("binlog.000008")]))
    (tmp_path / "binlog.000001").write_bytes(log([previous(), *transaction(1)], in_use=True))
    index = tmp_path / "binlog.index"
    index.write_text("./binlog.000007\n./binlog.000001\n")
    code, out, _ = run(capsys, index, "--output", "json")
    found = records(out)
    assert code == 0
    assert [record["file"] for record in found["file"]] == ["binlog.000007", "binlog.000001"]
    assert "RESET" in found["finding"][0]["message"]


def test_a_cut_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, *_ = chain(tmp_path)
    data = first.read_bytes()
    first.write_bytes(data[:-10])
    code, out, _ = run(capsys, first)
    assert code == 1
    assert "it was cut" in out


def test_a_partial_event_in_a_file_in_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    last = chain(tmp_path)[-1]
    last.write_bytes(last.read_bytes()[:-10])
    code, out, _ = run(capsys, tmp_path)
    assert code == 0
    joined = out.replace("\n       ", " ")
    assert "the last event is not written to its end: the file is in use, or the server crashed" in joined
    assert f"transaction {UUID}:6 is not whole" in joined


def test_garbage_and_how_much_is_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = chain(tmp_path)[0]
    data = path.read_bytes()
    place = frames(data)[6].position
    path.write_bytes(data[:place] + b"\xaa" * 1000 + data[place:])
    code, out, _ = run(capsys, path, "--output", "json")
    assert code == 1
    (record,) = records(out)["file"]
    assert record["account"] == {"head": 4, "events": len(data) - 4, "damaged": 1000, "partial": 0}


def test_files_in_any_order_are_followed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two, three = chain(tmp_path)
    code, out, _ = run(capsys, one, three, two, "--output", "json")
    assert code == 0
    assert [record["file"] for record in records(out)["file"]] == [one.name, two.name, three.name]


def test_damaged_magic_is_damage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = chain(tmp_path)[0]
    flip(path, 1)
    code, out, _ = run(capsys, path, "--output", "json")
    assert code == 1
    (record,) = records(out)["file"]
    assert record["account"]["damaged"] == 4


def test_transactions_that_were_rolled_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = [gtid(1), query("BEGIN"), query("INSERT INTO t VALUES (1)"), query("ROLLBACK")]
    path = tmp_path / "binlog.000001"
    path.write_bytes(log([previous(), *events, *transaction(2), rotate("binlog.000002")]))
    code, out, _ = run(capsys, path)
    assert code == 0
    assert "1 transaction rolled back" in out
    _, out, _ = run(capsys, path, "--output", "json")
    assert records(out)["file"][0]["outcomes"] == {"rollback": 1, "commit": 1}


def test_progress_is_for_terminals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    chain(tmp_path)
    monkeypatch.setattr(verify_module, "LARGE", 0)
    code, quiet, err = run(capsys, tmp_path)
    assert (code, err) == (0, "")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    code, out, err = run(capsys, tmp_path)
    assert (code, out) == (0, quiet)
    assert "verifying" in err


def test_many_findings_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify_module, "MOST_FINDINGS", 3)
    events = [event for gno in range(1, 10) for event in (gtid(gno), query("BEGIN"))]
    path = tmp_path / "binlog.000001"
    path.write_bytes(log([previous(), *events, rotate("binlog.000002")]))
    code, out, _ = run(capsys, path)
    assert code == 1
    assert "... and 6 problems more" in out
    assert "9 problems" in out


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"root:x:0:0:root:/root:/bin/bash\n" * 3, "no binary log"),
        (b"\xfe\xfe\x0d\x01" + bytes(99), "InnoDB"),
    ],
    ids=["text", "ibb"],
)
def test_not_a_log(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, message: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    code, out, err = run(capsys, path)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1


def test_nothing_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([tmp_path], [tmp_path / "binlog.000001"], ["--no-such-option", tmp_path], []):
        code, out, err = run(capsys, *arguments)
        assert (code, out) == (2, "")
        assert err


def test_an_empty_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "binlog.000001"
    path.touch()
    code, out, _ = run(capsys, path)
    assert code == 1
    assert "bad binlog.000001" in out


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--help")
    assert code == 0
    assert "gtidal verify /var/lib/mysql" in out
