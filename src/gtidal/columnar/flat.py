"""Flat arrays: numbers that a thread has for itself, and small questions, answered without the modules that NumPy's set
functions load."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
_CACHE_LINES = 16
"""Numbers in two lines of a processor's cache: some processors fetch two at a time."""


def own_numbers(*numbers: int) -> memoryview:
    """Numbers that the kernel writes again and again. Nothing else is in the same lines of the processor's caches, for a
    thread that writes there would wait each time for one that writes beside it: that made a loop four times slower."""
    array = np.zeros(len(numbers) + 2 * _CACHE_LINES, np.int64)
    own = array[_CACHE_LINES : _CACHE_LINES + len(numbers)]
    own[:] = numbers
    return memoryview(own)


def distinct(values: Array) -> Array:
    """Each number once, in order."""
    if not len(values) or (values == values[0]).all():
        return values[:1]
    ordered = np.sort(values)
    return ordered[np.concatenate(([True], ordered[1:] != ordered[:-1]))]


def is_one_of(values: Array, wanted: Iterable[int]) -> Array:
    """Which of the values are among the wanted ones, of which there are few."""
    found = np.zeros(len(values), bool)
    for number in wanted:
        found |= values == number
    return found


def numbers_at(data: Array, kind: str) -> Array:
    """A view of bytes as the numbers that begin at each of them."""
    size = np.dtype(kind).itemsize
    return np.ndarray((len(data) - size + 1,), kind, data, strides=(1,))


def lane_of(numbers: Array) -> tuple[int, ...] | None:
    """Numbers as boundaries (``gtid.intervals``); None if one is there twice."""
    steps = np.diff(numbers)
    if (steps <= 0).any():
        numbers = np.sort(numbers)
        steps = np.diff(numbers)
        if (steps == 0).any():
            return None
    breaks = np.flatnonzero(steps != 1)
    firsts = numbers[np.concatenate(([0], breaks + 1))]
    lasts = numbers[np.concatenate((breaks, [len(numbers) - 1]))]
    return tuple(np.stack((firsts, lasts + 1), axis=1).reshape(-1).tolist())
