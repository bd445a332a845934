"""Options of Python's views that are wrong, or mean nothing there: one sentence each, that says what to do."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import gtidal
from gtidal.errors import UsageError
from tests.logs import build_log
from tests.samples import query

SHOP = Path(__file__).parents[2] / "examples" / "shop"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"types": 99999}, "types: no event 99999; the numbers are 0 to 255"),
        ({"types": "UNKNOWN_2"}, "types: no event UNKNOWN_2; there are ANNOTATE_ROWS, "),
        ({"start": -1}, "start=-1: a position is 0 or more"),
        ({"stop": -7}, "stop=-7: a position is 0 or more"),
        ({"stop": ""}, "stop is empty: give a position or a time, or leave it out"),
        ({"stop": "server-uuid"}, "stop='server-uuid' is no position"),
        (
            {"start": "5b0a6d3e-2f1c-11f1-9c6a-0242ac12:7"},
            "start='5b0a6d3e-2f1c-11f1-9c6a-0242ac12:7' is no position",
        ),
        (
            {"include_uncommitted": True},
            "include_uncommitted is for changes and rows: events shows all transactions, whatever their outcome",
        ),
    ],
)
def test_what_is_wrong_is_said(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError) as raised:
        gtidal.events(SHOP, **options)
    assert str(raised.value).startswith(sentence)


def test_transactions_are_of_all_outcomes() -> None:
    with pytest.raises(
        UsageError, match="include_uncommitted is for changes and rows: transactions shows all"
    ):
        gtidal.transactions(SHOP, include_uncommitted=True)
    assert gtidal.transactions(SHOP, include_uncommitted=False).read_all().num_rows


@pytest.mark.parametrize("name", ["schemas", "tables"])
def test_rows_are_of_one_table(name: str) -> None:
    with pytest.raises(
        UsageError, match=f"{name}: rows are of the one table that is named; leave out the rest"
    ):
        gtidal.rows(SHOP, "shop.orders", **{name: "shop"})


def test_types_have_the_names_that_are_shown(tmp_path: Path) -> None:
    unknown = query(b"BEGIN")
    data = bytearray(build_log([unknown, unknown], 0))
    path = tmp_path / "binlog.000001"
    path.write_bytes(data)
    first = gtidal.events(path, types="QUERY").read_all().to_pylist()[0]["position"]
    data[first + 4] = 100
    path.write_bytes(data)
    shown = gtidal.events(path, types="UNKNOWN_100").read_all().to_pylist()
    assert [(row["position"], row["type"]) for row in shown] == [(first, "UNKNOWN_100")]


def test_files_without_a_dot_in_their_names(tmp_path: Path) -> None:
    path = tmp_path / "relay-binlog001"
    shutil.copy(SHOP / "binlog.000002", path)
    expected = gtidal.events(path, start=2829).read_all()
    assert gtidal.events(path, start="relay-binlog001:2829").read_all() == expected
    with pytest.raises(UsageError, match="start: no file relay-binlog002 among relay-binlog001"):
        gtidal.events(path, start="relay-binlog002:2829")
