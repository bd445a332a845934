"""One large row before many small ones: what the first needed is no measure for the others."""

from __future__ import annotations

from pathlib import Path

import pytest

import gtidal
from gtidal.events.rows import Row, WriteRows
from tests.planning.making import TABLE, LogMaker, insert

LARGE = 24 << 20
SMALL = 30_000


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    maker = LogMaker("")
    maker.transaction(1, *insert(1, b"x" * LARGE))
    for number in (2, 3):
        some = tuple(Row(None, (row, b"small")) for row in range(SMALL))
        maker.transaction(
            number,
            TABLE,
            WriteRows(table_id=7, flags=1, width=2, after_columns=b"\x03", rows=some, table=TABLE),
        )
    path = tmp_path_factory.mktemp("uneven") / "binlog.000001"
    path.write_bytes(maker.data)
    return path


def test_typed_rows(path: Path) -> None:
    sizes = [
        len(value.as_buffer())
        for batch in gtidal.rows(path, "shop.blobs", threads=1)
        for value in batch.column(batch.num_columns - 1)
    ]
    assert sizes == [LARGE, *[5] * (2 * SMALL)]


def test_changes(path: Path) -> None:
    sizes = [
        len(value["value"].as_buffer())
        for batch in gtidal.changes(path, threads=1, columns=["after"])
        for value in batch.column(0)
    ]
    assert len(sizes) == 1 + 2 * SMALL
    assert sizes[0] > LARGE
    assert max(sizes[1:]) < 100
