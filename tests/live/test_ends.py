"""How real files end and follow each other, and that decrypted files are what their server sends."""

from __future__ import annotations

from pathlib import Path

import pytest

from gtidal.errors import Truncated
from gtidal.events.control import PreviousGtids, Rotate, Stop
from gtidal.events.format import FormatDescription
from gtidal.events.header import IN_USE
from gtidal.events.registry import Event
from gtidal.events.transaction import GtidEvent
from gtidal.gtid.mysql import GtidSet
from gtidal.log.decoder import LogDecoder
from tests.live.reading import every_scenario, frames, open_decoder
from tests.live.scenarios import Logs, Scenario

WITH_ENDS = {
    *("mysql.end_flush", "mysql.end_size", "mysql.end_stop"),
    *("mysql.end_reset", "mysql.end_crash", "mysql.end_cut"),
    *("mariadb.ends", "mariadb.end_cut"),
}


START_ENCRYPTION = 164


def ending(logs: Logs, file: Path) -> str:
    """By the last event and the mark in the first one. A MySQL that starts after a crash takes the mark away."""
    decoder = open_decoder(logs, file)
    decoder.end_of_data()
    first: Event | None = None
    last: Event | None = None
    try:
        for _, event in frames(decoder):
            first = first or event
            last = event
    except Truncated:
        return "cut"
    assert isinstance(first, FormatDescription)
    in_use = bool(first.header.flags & IN_USE)
    if isinstance(last, Rotate | Stop):
        assert not in_use, "a file that was closed is marked as in use"
        return "rotate" if isinstance(last, Rotate) else "stop"
    return "open" if in_use else "crashed"


@pytest.mark.parametrize("logs", sorted(WITH_ENDS), indirect=True)
def test_endings(logs: Logs) -> None:
    assert [ending(logs, file) for file in logs.binlogs] == logs.notes["ends"]


@pytest.mark.parametrize("logs", every_scenario(lambda each: not each.encrypted), indirect=True)
def test_a_rotate_names_the_next_file(logs: Logs) -> None:
    """The other scenarios' files are closed by FLUSH."""
    if logs.name in WITH_ENDS:
        return
    files = logs.binlogs
    for number, file in enumerate(files):
        *_, last = (event for _, event in frames(open_decoder(logs, file)))
        assert isinstance(last, Rotate | Stop)
        if isinstance(last, Rotate) and number + 1 < len(files):
            assert last.next_file == files[number + 1].name


def gtid_sets(logs: Logs, file: Path) -> tuple[GtidSet, GtidSet]:
    """The GTIDs before a file, and those in it."""
    before, inside = GtidSet(), []
    for _, event in frames(open_decoder(logs, file)):
        if isinstance(event, PreviousGtids):
            before = event.gtids.to_set()
        elif isinstance(event, GtidEvent) and event.gtid is not None:
            inside.append(str(event.gtid))
    return before, GtidSet(",".join(inside))


@pytest.mark.parametrize("logs", every_scenario(lambda each: each.kind == "mysql"), indirect=True)
def test_previous_gtids_are_those_of_the_files_before(logs: Logs) -> None:
    if logs.name in ("mysql.end_reset", "mysql.gtid_purged_and_reset"):
        return  # GTIDs were forgotten or added by hand
    known = None
    for file in logs.binlogs:
        before, inside = gtid_sets(logs, file)
        assert known is None or before == known, file
        known = before | inside
    if executed := logs.notes.get("gtid_executed"):
        assert known == GtidSet(executed)


def encrypted(each: Scenario) -> bool:
    return each.encrypted


@pytest.mark.parametrize("logs", every_scenario(encrypted), indirect=True)
def test_decrypted_files_are_what_the_server_sends(logs: Logs) -> None:
    for file in logs.binlogs:
        decrypted = [frame.data for frame, _ in frames(open_decoder(logs, file))]
        sent = split((logs.folder / f"plain.{file.name}").read_bytes())
        # MariaDB sends the event that begins the encryption, too, with the mark that it may be passed over.
        for ours, theirs in zip(decrypted, sent, strict=True):
            assert ours == theirs or ours[4] == theirs[4] == START_ENCRYPTION


def split(data: bytes) -> list[bytes]:
    """The events of a log, cut by hand."""
    found, position = [], 4
    while position < len(data):
        end = position + int.from_bytes(data[position + 9 : position + 13], "little")
        found.append(data[position:end])
        position = end
    return found


@pytest.mark.parametrize("logs", every_scenario(encrypted), indirect=True)
def test_files_that_a_server_sent_need_no_key(logs: Logs) -> None:
    for file in logs.binlogs:
        data = (logs.folder / f"plain.{file.name}").read_bytes()
        decoder = LogDecoder(file.name)
        decoder.receive_data(data)
        assert [frame.data for frame, _ in frames(decoder)] == split(data)
