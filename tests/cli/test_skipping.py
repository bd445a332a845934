"""What `inspect` passes over unseen changes nothing of what it shows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gtidal.cli import opening
from gtidal.cli.main import main
from gtidal.cli.skipping import SkippingReader
from gtidal.columnar import surveying
from gtidal.log.decoder import Keys
from gtidal.sources.files import LogFile, LogReader
from tests.columnar.test_auditing import closed, many, ordinary, packed, sealed
from tests.log.making import gtid, query, transaction

Run = Callable[..., tuple[int, str, str]]


def without_skipping(file: LogFile, keys: Keys) -> LogReader:
    return LogReader(file, verify_checksum=False, inner=False, keys=keys)


@pytest.fixture
def both(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str, str]]:
    """Runs `inspect` both ways, which must say the same, and returns it."""
    monkeypatch.setenv("COLUMNS", "100")

    def run(data: bytes, *arguments: str) -> tuple[int, str, str]:
        path = tmp_path / "binlog.000001"
        path.write_bytes(data)
        said = []
        for reader in (without_skipping, SkippingReader):
            monkeypatch.setattr(opening, "SkippingReader", reader)
            code = main(["inspect", str(path), *arguments])
            said.append((code, *capsys.readouterr()))
        assert said[0] == said[1]
        return said[1]

    return run


EVENTS = [
    *many(1, 6),
    query("CREATE TABLE t (a INT)"),
    *packed(7),
    *many(8, 9),
    *packed(10),
    *packed(11),
    *transaction(12),
    *many(13, 20),
]
DATA = closed(*EVENTS)


def position_of(gno: int) -> int:
    """Of a transaction that is not in a payload."""
    found = DATA.index(gtid(gno).uuid + gno.to_bytes(8, "little"))
    return found - 20


@pytest.mark.parametrize("window", [2000, 1 << 20])
@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "--output json",
        "--type XID",
        "--type XID --output json --limit 3",
        "--type *ROWS*,ROTATE",
        "--type STOP",
        "--limit 0",
        "--limit 7",
        "--limit 33 --type GTID,TRANSACTION_PAYLOAD",
        "--start 2000",
        "--stop 3000 --type QUERY",
        "--start 1500 --stop 4000 --output json",
        "--start 2023-11-14T22:13:20",
        "--start 2023-11-14T22:13:20.5",
        "--stop 2023-11-14T22:13:20.5 --type XID",
        "--event 1",
        "--event 20",
        "--event 40",
        "--event 45 --output json",
        "--event 100",
        "--event 1000",
        "--at 4",
        "--at 5",
        "--at 99999",
    ],
)
def test_the_same_is_shown(arguments: str, window: int, both: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surveying, "WINDOW", window)
    both(DATA, *arguments.split())


@pytest.mark.parametrize("gno", [1, 3, 8, 13, 20])
@pytest.mark.parametrize("offset", [-1, 0, 1, 79])
def test_one_event(gno: int, offset: int, both: Run) -> None:
    code, out, _ = both(DATA, "--at", str(position_of(gno) + offset))
    assert (code == 0) == (offset == 0)
    assert offset or "GTID" in out


def test_what_is_passed_over_is_read(both: Run) -> None:
    """A row that does not decode is told of, though it was not to be shown."""
    data = bytearray(closed(*many(1, 30)))
    at = [place for place in range(len(data)) if data[place : place + 5] == "grün".encode()][20]
    data[at + 5 : at + 9] = bytes(4)
    code, out, err = both(sealed(bytes(data)), "--type", "XID")
    assert (code, len(out.splitlines())) == (1, 31)
    assert "WRITE_ROWS" in err
    code, out, err = both(sealed(bytes(data)), "--type", "XID", "--limit", "2")
    assert (code, err) == (0, "")


def test_a_bad_checksum_is_told_of(both: Run) -> None:
    data = bytearray(closed(*many(1, 30)))
    data[len(data) // 2] ^= 1
    code, _, err = both(bytes(data), "--type", "ROTATE")
    assert code == 1
    assert "checksum" in err


def test_it_skips(tmp_path: Path) -> None:
    """Few events of a long log are decoded to show one of them."""
    path = tmp_path / "binlog.000001"
    path.write_bytes(closed(*many(1, 200), *ordinary(201)))
    reader = SkippingReader(LogFile(path), Keys())
    frames = 0
    with reader:
        while True:
            if (found := reader.stretch()) is not None:
                assert reader.pass_over(found) is found
            elif reader.next_frame() is None:
                break
            else:
                frames += 1
    assert frames == 3  # format description, previous GTIDs, rotate
