"""``gtidal logs``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gtidal.cli.logs import break_set
from gtidal.cli.main import main
from tests.cli.test_verify import chain
from tests.log.making import UUID, log, previous, stop
from tests.logs import CORPUS

WIDTH = 100


@pytest.fixture(autouse=True)
def _width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    code = main(["logs", *map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err


def test_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two, _ = chain(tmp_path)
    code, out, err = run(capsys, tmp_path)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert all(len(line) <= WIDTH for line in lines)
    time = "2023-11-14 22:13:20"
    assert lines[1].split() == [
        "binlog.000001",
        f"{one.stat().st_size:,}",
        *time.split() * 2,
        "rotate",
        "to",
        two.name,
    ]
    assert lines[2:4] == ["  previous (none)", f"  inside   {UUID}:1-2"]
    assert lines[5:7] == [f"  previous {UUID}:1-2", f"  inside   {UUID}:3-4"]
    assert "in use or not closed" in lines[7]


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = chain(tmp_path)
    code, out, _ = run(capsys, tmp_path, "--output", "json")
    assert code == 0
    records = [json.loads(line) for line in out.splitlines()]
    assert [record["path"] for record in records] == list(map(str, files))
    first, *_, last = records
    assert first["first_time"] == "2023-11-14 22:13:20"
    assert (first["previous_gtids"], first["gtids"]) == ("", f"{UUID}:1-2")
    assert (first["ending"], first["next_file"]) == ("rotate", "binlog.000002")
    assert (last["ending"], last["in_use"]) == ("open", True)


def test_a_file_without_gtids(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "binlog.000001").write_bytes(log([stop()]))
    code, out, _ = run(capsys, tmp_path, "--output", "json")
    assert code == 0
    record = json.loads(out)
    assert (record["previous_gtids"], record["gtids"], record["ending"]) == (None, None, "stop")


def test_damage_ends_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "binlog.000001"
    data = log([previous(), stop()])
    path.write_bytes(data + bytes(100))
    code, out, _ = run(capsys, path)
    assert code == 1
    assert f"damaged at {len(data)}" in out


@pytest.mark.parametrize(("byte", "seen"), [(9, True), (11, True), (30, False)])
def test_damage_in_the_middle_is_seen_in_headers_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], byte: int, seen: bool
) -> None:
    """As the help says: checksums are not compared."""
    data = bytearray((Path(__file__).parents[2] / "examples" / "shop" / "binlog.000002").read_bytes())
    data[2829 + byte] ^= 0x40
    path = tmp_path / "binlog.000002"
    path.write_bytes(data)
    assert run(capsys, path)[0] == int(seen)


def test_a_cut_file_ends_with_1_and_one_in_use_with_0(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "binlog.000001"
    path.write_bytes(log([previous(), stop()])[:-4])
    assert run(capsys, path)[0] == 1
    path.write_bytes(log([previous(), stop()], in_use=True)[:-4])
    assert run(capsys, path)[0] == 0


def test_large_sets_are_broken_and_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gtids = f"{UUID}:" + ":".join(str(gno) for gno in range(1, 2000, 2))
    (tmp_path / "binlog.000001").write_bytes(log([previous(gtids), stop()]))
    _, out, _ = run(capsys, tmp_path)
    assert all(len(line) <= WIDTH for line in out.splitlines())
    assert "1,000 transactions in all" in out
    _, out, _ = run(capsys, tmp_path, "--output", "json")
    assert json.loads(out)["previous_gtids"] == gtids


def test_break_set() -> None:
    assert break_set("abc:1-5:7,def:1", 9) == ["abc:1-5:", "7,def:1"]
    assert break_set("a" * 20, 8) == ["a" * 8, "a" * 8, "a" * 4]
    assert "".join(break_set("abc:1-5:7,def:1", 9)) == "abc:1-5:7,def:1"


def test_wrong_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (tmp_path, tmp_path / "nothing", __file__):
        code, out, err = run(capsys, path)
        assert (code, out) == (2, "")
        assert len(err.splitlines()) == 1


@pytest.mark.skipif(not CORPUS.exists(), reason="the corpus is not there")
def test_corpus(capsys: pytest.CaptureFixture[str]) -> None:
    paths = sorted(path for path in (CORPUS / "logs").iterdir() if path.suffix != ".ibb")
    code, out, _ = run(capsys, *paths, "--output", "json")
    assert code == 1
    records = {json.loads(line)["file"]: json.loads(line) for line in out.splitlines()}
    assert len(records) == len(paths)
    tagged = records["blackbeam+rust_mysql_common__binlog_transaction_with_GTID_TAG.000001"]
    assert tagged["gtids"].count(":") >= 2
    relay = records["flike+kingbus__flikedev1-c8pyy-relay-bin.000286"]
    assert relay["relay_log"] is True
    assert relay["next_file"] == "flikedev1-c8pyy-relay-bin.000287"
    old = records["alibaba+AliSQL__master-bin.001"]
    assert (old["binlog_version"], old["ending"]) == (1, "stop")
