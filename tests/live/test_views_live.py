"""The views of the real servers' logs say what the reference decoder says: every log of every scenario."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import gtidal
from gtidal.columnar import kernel
from tests.columnar.drift_judges import How, compare
from tests.live.reading import every_scenario, keys_of
from tests.live.scenarios import Logs, find_logs

SMALL = 8_000
"""Logs up to this size are read with the interpreted kernel, too."""
LARGE = 300_000
TINY_WINDOW = 3000


@pytest.mark.parametrize("logs", every_scenario(lambda each: not each.soak), indirect=True)
def test_views(logs: Logs) -> None:
    how = How(keys=keys_of(logs), uncommitted=True)
    for number, file in enumerate(logs.files):
        if file.stat().st_size > LARGE:
            continue
        compare(file, how)
        compare(file, replace(how, uncommitted=False, window=TINY_WINDOW, verify=False), ("changes",))
        if file.stat().st_size <= SMALL and number % 4 == 0:
            with kernel.use("interpreted"):
                compare(file, replace(how, window=1000))


@pytest.mark.soak
@pytest.mark.parametrize("logs", every_scenario(), indirect=True)
def test_views_in_every_way(logs: Logs) -> None:
    for file in logs.files:
        for verify in (True, False):
            for uncommitted in (True, False):
                how = How(keys=keys_of(logs), verify=verify, uncommitted=uncommitted)
                compare(file, how)
                if file.stat().st_size < 10 * LARGE:
                    compare(file, replace(how, window=TINY_WINDOW))
                if file.stat().st_size <= 10 * SMALL:
                    with kernel.use("interpreted"):
                        compare(file, how)


@pytest.mark.parametrize("name", ["mysql.encrypted", "mariadb.encrypted", "mariadb.encrypted_ctr"])
def test_damage_in_encrypted_logs(made_logs: None, tmp_path: Path, name: str) -> None:
    """Each bad region is told once, in order, and what stands before the first one is read."""
    logs = find_logs(name)
    keys = next(logs.folder / each for each in ("keyring", "keys") if (logs.folder / each).exists())
    whole = logs.binlogs[0].read_bytes()
    expected = gtidal.transactions(logs.binlogs[0], key_file=keys, columns=["end_position"]).read_all()
    damaged = tmp_path / logs.binlogs[0].name
    chance = random.Random(5)
    for _ in range(12):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 2, 3))):
            data[chance.randrange(600, len(data))] ^= 1 << chance.randrange(8)
        damaged.write_bytes(data)
        bad: list[Any] = []
        read = gtidal.transactions(
            damaged, mode="DROPMALFORMED", on_corrupt=bad.append, key_file=keys, columns=["end_position"]
        ).read_all()
        assert bad
        assert all(one.position + one.length <= other.position for one, other in pairwise(bad))
        ends = read["end_position"].to_pylist()
        whole_before = [end for end in expected["end_position"].to_pylist() if end <= bad[0].position]
        assert ends[: len(whole_before)] == whole_before
