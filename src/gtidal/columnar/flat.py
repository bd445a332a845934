"""Small questions about flat arrays, answered without the modules that NumPy's set functions load."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


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
