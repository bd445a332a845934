"""Room for what becomes a batch: from Arrow's pool, which keeps pages for the next batch when this one is gone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa


def room(size: int) -> np.ndarray[Any, Any]:
    """So many bytes, not set to anything."""
    return np.frombuffer(pa.allocate_buffer(max(size, 1)), np.uint8)
