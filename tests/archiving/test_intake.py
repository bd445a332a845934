"""What comes in pieces goes out as whole events; what is found after a crash is cut back to them."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from gtidal.archiving.folder import Folder, GrowingFile
from gtidal.archiving.intake import ROOM, Intake
from gtidal.columnar.auditing import read_facts
from gtidal.errors import ChecksumMismatch, DecodeError, NotABinlog, UsageError
from gtidal.sources.archive import MANIFEST, ArchivedFile, ArchivedServer, Manifest, State
from gtidal.sources.files import open_log
from tests.planning.making import LogMaker, insert

SHOP = Path(__file__).parents[2] / "examples" / "shop"
LOGS = sorted(SHOP.glob("binlog.0*"))
IN_USE_AT = 21


def feed(intake: Intake, data: bytes) -> bytes:
    """Give it all, as much at a time as it has room for; what comes out."""
    out = b""
    while data:
        room = intake.room()
        size = min(len(room), len(data))
        room[:size] = data[:size]
        data = data[size:]
        out += bytes(intake.take(size))
        intake.check()
    return out


def boundaries(log: Path) -> list[int]:
    with log.open("rb") as stream:
        return [0, *(event.header.end_position for event in open_log(stream, inner=False))]


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name)
@pytest.mark.parametrize("size", [1, 19, 1000, 1 << 20])
def test_pieces_of_any_size(log: Path, size: int) -> None:
    data = log.read_bytes()
    intake = Intake(log.name)
    out = b"".join(feed(intake, data[at : at + size]) for at in range(0, len(data), size))
    assert out == data
    assert intake.position == len(data)
    assert intake.sha256 == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name)
def test_contents_are_what_the_log_says(log: Path) -> None:
    intake = Intake(log.name)
    feed(intake, log.read_bytes())
    with log.open("rb", 0) as stream:
        facts = read_facts(stream, log.name, log.stat().st_size)
    contents = intake.contents
    assert contents.events == facts.events
    assert contents.anonymous == facts.anonymous
    assert contents.previous == facts.previous
    assert contents.gtids == facts.inside
    with log.open("rb") as stream:
        events = list(open_log(stream, inner=False))
    times = [event.header.timestamp for event in events if event.header.timestamp]
    assert (contents.earliest, contents.latest) == (min(times), max(times))
    assert (contents.last_position, contents.last_type) == (
        events[-1].header.position,
        events[-1].header.type_code,
    )


def test_an_event_larger_than_the_room() -> None:
    maker = LogMaker("")
    maker.transaction(1, *insert(1, b"x" * (3 * ROOM)))
    maker.transaction(2, *insert(2, b"y"))
    data = bytes(maker.data)
    intake = Intake("binlog.000001")
    assert feed(intake, data) == data
    assert len(intake.room()) <= ROOM, "the room is as small again"


@pytest.mark.parametrize("first", range(5))
def test_a_file_that_ends_anywhere(tmp_path: Path, first: int) -> None:
    """It ends behind its last whole event, is marked as in use, and goes on from there."""
    data = LOGS[0].read_bytes()
    ends = boundaries(LOGS[0])
    for cut in range(first, len(data), 499):
        check_cut(tmp_path / LOGS[0].name, data, cut, max(end for end in ends if end <= cut))


def check_cut(path: Path, data: bytes, cut: int, kept: int) -> None:
    path.write_bytes(data[:cut])
    file = GrowingFile(path)
    intake = file.recover()
    assert (file.size, intake.position, path.stat().st_size) == (kept, kept, kept)
    if kept:
        assert path.read_bytes()[IN_USE_AT] == data[IN_USE_AT] | 1
    file.add(memoryview(feed(intake, data[kept:])))
    assert path.read_bytes()[IN_USE_AT] == data[IN_USE_AT] | 1
    file.finish()
    assert path.read_bytes() == data
    assert intake.sha256 == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("place", [0, 1, 5, 20])
def test_damage_in_what_is_here_is_cut_off(tmp_path: Path, place: int) -> None:
    data = bytearray(LOGS[1].read_bytes())
    begins = boundaries(LOGS[1])[place]
    data[begins + 20 if begins else 30] ^= 0x40
    path = tmp_path / LOGS[1].name
    path.write_bytes(data)
    file = GrowingFile(path)
    file.recover()
    assert file.size == (begins if place else 0)
    file.close()


def test_damage_is_told_with_its_place() -> None:
    data = bytearray(LOGS[1].read_bytes())
    begins = boundaries(LOGS[1])[7]
    data[begins + 25] ^= 1
    intake = Intake(LOGS[1].name)
    with pytest.raises(ChecksumMismatch) as caught:
        feed(intake, bytes(data))
    assert (caught.value.file, caught.value.position) == (LOGS[1].name, begins)
    assert intake.position == begins
    intake = Intake("x")
    with pytest.raises(NotABinlog):
        feed(intake, b"no log at all, but rather long for all that")
    data = bytearray(LOGS[1].read_bytes())
    data[begins + 9 : begins + 13] = bytes(4)
    with pytest.raises(DecodeError, match="an event of 0 bytes"):
        feed(Intake("x"), bytes(data))


# --- the folder -------------------------------------------------------------------------------------------


def entry(name: str, state: State = State.CLOSED) -> ArchivedFile:
    return ArchivedFile(name, state, 100, 7, "9.7.4", gtids="", first_time="2026-11-16T06:00:00Z")


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    with (
        Folder(tmp_path),
        pytest.raises(UsageError, match="another gtidal archive is writing into"),
        Folder(tmp_path),
    ):
        pass
    with Folder(tmp_path):
        pass


def test_the_manifest_comes_back(tmp_path: Path) -> None:
    with Folder(tmp_path) as folder:
        folder.manifest.server = ArchivedServer("u", 1, "9.7.4")
        folder.manifest.put(entry("binlog.000001"))
        folder.manifest.put(entry("binlog.000002", State.CURRENT))
        folder.manifest.put(entry("binlog.000002"))
        folder.save()
        folder.save_index()
    with Folder(tmp_path) as again:
        assert again.manifest == folder.manifest
        assert [file.name for file in again.manifest.files] == ["binlog.000001", "binlog.000002"]
        assert again.manifest.files[0].earliest == 1794808800
    assert (tmp_path / "binlog.index").read_text() == "./binlog.000001\n./binlog.000002\n"


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"version": 1, "server": null, "files": [{"name": 1}]}'])
def test_what_is_no_manifest(tmp_path: Path, text: str) -> None:
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(UsageError, match="is not the manifest of an archive"), Folder(tmp_path):
        pass


def test_a_manifest_of_the_future() -> None:
    with pytest.raises(UsageError, match="is of version 2; this gtidal knows 1"):
        Manifest.decode(b'{"version": 2}', "m")
