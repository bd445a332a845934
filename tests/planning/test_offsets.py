"""Users name any offsets; parts begin and end where the views do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import gtidal
from gtidal.planning import plan_read, read_part

SHOP = Path(__file__).parents[2] / "examples" / "shop"
VIEWS = {"events": gtidal.events, "transactions": gtidal.transactions, "changes": gtidal.changes}


def in_parts(view: str, options: dict[str, Any]) -> list[dict[str, Any]]:
    plan = plan_read(SHOP, options, part_bytes=3000, view=view)
    return [
        row
        for part in plan.parts
        for batch in read_part(view, part, options)
        for row in pa.Table.from_batches([batch]).to_pylist()
    ]


@pytest.mark.parametrize("view", VIEWS)
def test_any_offset_will_do(view: str) -> None:
    every = VIEWS[view](SHOP).read_all().to_pylist()
    file = "binlog.000002"
    places = [row["position"] for row in every if row["file"] == file]
    for offset in range(min(places) - 3, max(places) + 99, 1 + (max(places) - min(places)) // 7):
        for option in ("start", "stop"):
            options = {option: f"{file}:{offset}"}
            assert in_parts(view, options) == VIEWS[view](SHOP, **options).read_all().to_pylist(), options
