"""The logs of real servers in parts: together they are the log, also relay logs and encrypted ones."""

from __future__ import annotations

from typing import Any

import pytest

from gtidal.planning import SPLITTINGS, plan_read
from tests.live.reading import every_scenario
from tests.live.scenarios import Logs
from tests.planning.reading import VIEWS, in_parts, in_sequence, sizes

LARGE = 100_000


@pytest.mark.parametrize("logs", every_scenario(lambda each: not each.soak), indirect=True)
def test_parts_together_are_the_log(logs: Logs) -> None:
    options = key_of(logs)
    for path in logs.files:
        if path.stat().st_size > LARGE:
            continue
        for view in VIEWS:
            expected = in_sequence(view, path, **options)
            for splitting, size in zip(SPLITTINGS, sizes(path, 2), strict=True):
                assert in_parts(view, path, size, splitting, **options) == expected, (path, view, size)


def key_of(logs: Logs) -> dict[str, Any]:
    found = [logs.folder / name for name in ("keyring", "keys") if (logs.folder / name).exists()]
    return {"key_file": found[0]} if found else {}


@pytest.mark.parametrize(
    ("logs", "cut"),
    [("mysql.encrypted", True), ("mysql.replica", True), ("mariadb.encrypted", False)],
    indirect=["logs"],
)
def test_which_are_cut(logs: Logs, cut: bool) -> None:
    """MySQL's cipher can be entered anywhere. MariaDB encrypts each event by itself."""
    for path in logs.files:
        plan = plan_read(path, key_of(logs), part_bytes=150)
        assert (len(plan.parts) > 1) == cut
