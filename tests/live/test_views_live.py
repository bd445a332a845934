"""The views of the real servers' logs say what the reference decoder says: every log of every scenario."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gtidal.columnar import kernel
from tests.columnar.drift_judges import How, compare
from tests.live.reading import every_scenario, keys_of
from tests.live.scenarios import Logs

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
