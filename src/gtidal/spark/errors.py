"""How errors reach the user of Spark."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from gtidal.errors import GtidalError


@contextmanager
def plain_errors() -> Iterator[None]:
    """Spark shows what gtidal raises on purpose as one sentence, without the worker's stack.

    Spark reads the variable when it reports an error, and then ends this process."""
    try:
        yield
    except GtidalError:
        os.environ["SPARK_HIDE_TRACEBACK"] = "1"
        raise
