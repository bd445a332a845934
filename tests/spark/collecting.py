"""What a DataFrame holds, as Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def collect(frame: DataFrame) -> pa.Table:
    """In the order of Spark's tasks. Not by ``toArrow``, whose last cast fails on a VARIANT that is null."""
    return pa.Table.from_batches(frame._collect_as_arrow(empty_list_if_zero_records=False))
