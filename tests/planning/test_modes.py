"""Damaged logs in parts of any size: the same rows as in one piece, each bad region once."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from gtidal.events.format import NO_CHECKSUM
from gtidal.planning import SPLITTINGS, plan_read, read_part
from tests.hostile.damage import Damager, event_spans
from tests.planning.making import LogMaker, insert
from tests.planning.reading import VIEWS, drained, in_parts, in_sequence
from tests.planning.test_union import mixed, relay, without_gtids

LOGS = {
    "plain": lambda: mixed(LogMaker(""), 20),
    "no checksums": lambda: mixed(LogMaker("", checksum=NO_CHECKSUM), 20),
    "no GTIDs": without_gtids,
    "relay": relay,
}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", LOGS)
def test_parts_together_are_the_log(kind: str, seed: int, tmp_path: Path) -> None:
    path = tmp_path / "binlog.000001"
    path.write_bytes(Damager([LOGS[kind]()], seed).next())
    chosen = random.Random(seed)
    for view in VIEWS:
        options = {"mode": "PERMISSIVE", "include_uncommitted": view == "changes" and bool(seed % 2)}
        expected = in_sequence(view, path, **options)
        assert expected[1] is None
        for splitting in SPLITTINGS:
            for size in (chosen.randint(300, 900), chosen.randint(900, 9000)):
                assert in_parts(view, path, size, splitting, **options) == expected, (view, splitting, size)


@pytest.fixture
def broken(tmp_path: Path) -> tuple[Path, tuple[int, int]]:
    """An event of 6000 bytes with one wrong byte."""
    maker = LogMaker("")
    for number in range(1, 20):
        maker.transaction(number, *insert(number, b"x" * (6000 if number == 7 else 300)))
    data = bytes(maker.data)
    at = data.index(b"x" * 6000)
    span = next(span for span in event_spans(data) if span[0] < at < span[1])
    path = tmp_path / "binlog.000001"
    path.write_bytes(data[: at + 3000] + b"y" + data[at + 3001 :])
    return path, span


def test_a_bad_region_across_cuts_is_told_once(broken: tuple[Path, tuple[int, int]]) -> None:
    path, (start, end) = broken
    options = {"mode": "PERMISSIVE"}
    for view in VIEWS:
        parts = plan_read(path, options, part_bytes=700, view=view).parts
        assert len(parts) > 10
        told = []
        for part in parts:
            rows, error = drained(read_part(view, part, options))
            assert error is None
            told += [row["_corrupt"] for row in rows if row["_corrupt"]]
        assert [(each["position"], each["length"]) for each in told] == [(start, end - start)]


def test_what_is_dropped_is_told_to_who_asks(broken: tuple[Path, tuple[int, int]]) -> None:
    path, (start, _) = broken
    found = []
    rows, error = in_parts("changes", path, 900, mode="DROPMALFORMED", on_corrupt=found.append)
    assert error is None
    assert len(rows) == 18
    assert [each.position for each in found] == [start]
    shown = in_sequence("changes", path, mode="PERMISSIVE")[0]
    kept = [row for row in shown if row.pop("_corrupt") is None]
    assert rows == kept
