"""A short run of the fuzzer, the same damage through the interpreted kernel, and that the judge judges."""

from __future__ import annotations

import os
import re
import shutil
from types import SimpleNamespace
from typing import Any

import pytest

import fuzz  # tools/fuzz.py
from gtidal.columnar import kernel
from tests.hostile.damage import Damager, event_spans
from tests.hostile.kernel_drive import Drive
from tests.hostile.small_logs import small_logs
from tests.hostile.view_judge import compare_views

needs_compiler = pytest.mark.skipif(
    not shutil.which(os.environ.get("CC", "cc")) and not os.environ.get("GTIDAL_REQUIRE_COMPILED"),
    reason="there is no C compiler",
)


@needs_compiler
def test_nothing_is_found_in_five_seconds() -> None:
    fine, said = fuzz.fuzz(5, "test", 1, keep=False)
    assert fine, said
    found = re.match(
        r"(\d+) logs, no report; (\d+) images .*; (\d+) places found beyond the first (\d+)", said
    )
    assert found, said
    logs, images, places, first = map(int, found.groups())
    assert logs > 0  # how many is the machine's affair
    assert images > 0
    assert places > 0  # damage reaches what whole logs do not
    assert first > 1000


def test_small_logs_are_read_whole() -> None:
    drive = Drive(judge=True)
    for data in small_logs():
        drive.drive(data)
    assert not {
        code for code in drive.codes if code in ("fill 2", "count 2", "texts 2", "variant 2", "variant 3")
    }
    assert drive.judged >= 40


@pytest.mark.parametrize("number", range(len(small_logs())))
def test_views_of_small_logs(number: int) -> None:
    found = compare_views(small_logs()[number])
    assert all(error is None for _, error in found.values())
    assert found["events"][0] > 2


def test_the_judge_of_views_notices(monkeypatch: pytest.MonkeyPatch) -> None:
    right = kernel.cells

    def fill(*arguments: Any) -> int:
        code = right.fill(*arguments)
        arguments[-5][0] ^= 1  # a slot
        return int(code)

    monkeypatch.setattr(kernel, "cells", SimpleNamespace(fill=fill, count=right.count))
    with pytest.raises(AssertionError, match="changes, row 0"):
        compare_views(small_logs()[10])


def test_damaged_logs_through_the_interpreted_kernel() -> None:
    """Python notices what C does not: a number too large for its place, an index that is not there."""
    damager = Damager(small_logs(), "interpreted")
    drive = Drive("interpreted", judge=True)
    with kernel.use("interpreted"):
        for data in small_logs()[8:14]:
            drive.drive(data)
        for _ in range(1000):
            drive.drive(damager.next())
    assert drive.judged > 20


def test_damage_is_the_same_for_the_same_seed() -> None:
    one, other, third = (Damager(small_logs(), seed) for seed in (1, 1, 2))
    first = [one.next() for _ in range(50)]
    assert first == [other.next() for _ in range(50)]
    assert first != [third.next() for _ in range(50)]


def test_most_damage_leaves_the_framing_alone() -> None:
    damager = Damager(small_logs(), 3)
    whole = sum(
        event_spans(data)[-1][1] == len(data) for data in (damager.next() for _ in range(300)) if data
    )
    assert whole > 150


@pytest.mark.parametrize("wrong", ["a value", "a state", "a row too few"])
def test_the_judge_notices(monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    right = kernel.cells

    def fill(*arguments: Any) -> int:
        code = right.fill(*arguments)
        slots, states, progress = arguments[-6], arguments[-5], arguments[-1]
        if progress[2]:
            if wrong == "a value":
                slots[0] ^= 1
            elif wrong == "a state":
                states[0] = 1  # NULL
            else:
                progress[2] -= 1
        return int(code)

    monkeypatch.setattr(kernel, "cells", SimpleNamespace(fill=fill, count=right.count))
    data = small_logs()[10]
    with pytest.raises(AssertionError):
        Drive(judge=True).drive(data)
