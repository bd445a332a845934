"""The views of a log, twice: by the kernel, and with everything left to the reference decoder.

The kernel leaves to the reference decoder what it does not know. Told that it knows no event, it leaves all of them:
then the same view is made without its part. Rows, and the error that ends them, must be the same.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from gtidal.columnar import following
from gtidal.columnar.scanning import LogScan, Scan
from gtidal.columnar.schemas import CHANGES, EVENTS, TRANSACTIONS
from gtidal.columnar.variant import decode_typed
from gtidal.errors import GtidalError

VIEWS = {
    "events": tuple(name for name in EVENTS.names if name != "detail"),
    "transactions": tuple(TRANSACTIONS.names),
    "changes": tuple(CHANGES.names),
}
Outcome = tuple[list[dict[str, Any]], str | None]


@contextmanager
def reference_only() -> Iterator[None]:
    nothing = memoryview(bytes(256))
    with mock.patch.object(following, "roles_of", return_value=nothing):
        yield


def drain(view: str, data: bytes, columns: tuple[str, ...] | None = None) -> Outcome:
    """All rows of a view, and the error at their end."""
    scan = Scan(columns=columns or VIEWS[view], verify_checksum=False, window=len(data) + 64)
    rows: list[dict[str, Any]] = []
    try:
        for batch in getattr(LogScan(io.BytesIO(data), "log", scan), view)():
            rows += batch.to_pylist()
    except GtidalError as error:
        return rows, f"{type(error).__name__}: {error}"
    return rows, None


def comparable(row: dict[str, Any]) -> dict[str, Any]:
    """A VARIANT has more than one form; its value has one."""
    return {
        name: repr(decode_typed(value["value"], value["metadata"]))
        if name in ("before", "after") and value
        else value
        for name, value in row.items()
    }


def may_be_unread(view: str, data: bytes, error: str | None, expected: str | None) -> bool:
    """The kernel counts rows without reading their values, and shows nothing of a transaction that has not ended. So
    it need not notice a bad value, and may meet another error first; but it must notice in ``changes`` what it
    shows."""
    if view == "events" or expected is None or not _of_rows(expected):
        return False
    if error is not None:
        return True
    bad = _position(expected)
    spans, _ = drain("transactions", data, columns=("position", "end_position", "outcome"))
    shown = any(
        row["position"] <= bad < row["end_position"] and row["outcome"] != "incomplete" for row in spans
    )
    return view == "transactions" or not shown


def _of_rows(error: str) -> bool:
    return ", field rows[" in error or error.startswith("MissingTableMap")


def _position(error: str) -> int:
    found = re.search(r"position (\d+)", error)
    return int(found[1]) if found else -1


def compare_views(data: bytes) -> dict[str, tuple[int, str | None]]:
    """Raises AssertionError where the two differ; returns how many rows each view has, and how it ends."""
    found = {}
    for view in VIEWS:
        rows, error = drain(view, data)
        with reference_only():
            expected_rows, expected_error = drain(view, data)
        if error != expected_error:
            assert may_be_unread(view, data, error, expected_error), (
                f"{view}: {error}, where the reference decoder has {expected_error}"
            )
        elif error is None:
            assert len(rows) == len(expected_rows), (
                f"{view}: {len(rows)} rows instead of {len(expected_rows)}"
            )
        # A window's rows are lost with its error, and windows may end differently: then one is shorter.
        for number, (row, expected) in enumerate(zip(rows, expected_rows, strict=False)):
            one, other = comparable(row), comparable(expected)
            different = {name: (one[name], other[name]) for name in one if one[name] != other[name]}
            assert not different, f"{view}, row {number}: {different}"
        found[view] = len(rows), error
    return found
