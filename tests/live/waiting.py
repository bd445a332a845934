"""Waiting for what a real process or server does in its own time."""

from __future__ import annotations

import time
from collections.abc import Callable

SECONDS = 60.0
STEP = 0.01


def wait_until(condition: Callable[[], bool], what: str, seconds: float = SECONDS) -> None:
    """Wait until the condition holds; AssertionError if it does not within these seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"in {seconds:g} s it did not happen that {what}")
        time.sleep(STEP)
