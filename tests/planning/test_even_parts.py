"""How large the parts of a read are."""

from __future__ import annotations

import pytest

from gtidal.planning.plan import SMALLEST_PART, even_part

MB = 1 << 20


@pytest.mark.parametrize(
    ("part_bytes", "cost", "least_parts", "count"),
    [
        (128 * MB, 900 * MB, 1, 8),
        (128 * MB, 860 * MB, 4, 8),  # seven parts, else: one of two processors would be idle for a while
        (128 * MB, 1025 * MB, 4, 12),
        (128 * MB, 1024 * MB, 4, 8),
        (128 * MB, 300 * MB, 4, 4),
        (128 * MB, 40 * MB, 4, 3),  # not smaller than 16 MB
        (64 * MB, 4000 * MB, 16, 64),
        (4 * MB, 40 * MB, 4, 10),  # so small because the user says so
        (128 * MB, 0, 4, 0),
    ],
)
def test_parts_come_in_waves(part_bytes: int, cost: int, least_parts: int, count: int) -> None:
    size = even_part(part_bytes, cost, least_parts)
    assert size <= part_bytes
    assert size >= min(part_bytes, SMALLEST_PART)
    assert -(-cost // size) == count
