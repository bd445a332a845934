"""Room for what becomes a batch, taken again when the batch is gone.

A batch of some megabytes is made, used and dropped, and then the next: allocators give such room back to the system
and get it anew, and the system clears every page of it. So, while logs are read, it is kept here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from sys import getrefcount
from threading import Lock
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

SMALLEST_KEPT = 1 << 14
MOST_KEPT = 128 << 20
_lock = Lock()
_kept: defaultdict[int, list[Array]] = defaultdict(list)
"""By their sizes."""
_kept_bytes = 0
_readers = 0


@contextmanager
def keeping() -> Iterator[None]:
    """While logs are read: room is kept until the last reader is done."""
    global _readers, _kept_bytes
    with _lock:
        _readers += 1
    try:
        yield
    finally:
        with _lock:
            _readers -= 1
            if not _readers:
                _kept.clear()
                _kept_bytes = 0


def room(size: int) -> Array:
    """So many bytes, at least one, not set to anything."""
    if size < SMALLEST_KEPT or not _readers:
        return np.empty(max(size, 1), np.uint8)
    with _lock:
        array = _found(_rounded(size))
    return array[:size]


def _found(size: int) -> Array:
    """One that is kept and at most half as large again, or a new one."""
    global _kept_bytes
    larger = size
    while larger <= size + size // 2:
        array = _first_free(_kept[larger])
        if array is not None:
            return array
        larger = _rounded(larger + 1)
    array = np.empty(size, np.uint8)
    if _kept_bytes + size > MOST_KEPT:
        _let_go(size)
    if _kept_bytes + size <= MOST_KEPT:
        _kept[size].append(array)
        _kept_bytes += size
    return array


def _let_go(size: int) -> None:
    """So many bytes, if there are, of what lies idle: nobody wants that size any more."""
    global _kept_bytes
    for arrays in _kept.values():
        while size > 0 and (array := _first_free(arrays)) is not None:
            arrays[:] = [each for each in arrays if each is not array]
            _kept_bytes -= len(array)
            size -= len(array)


def _first_free(arrays: list[Array]) -> Array | None:
    """One that no batch holds any more: each that does has a view of it, which refers to it."""
    for array in arrays:
        if getrefcount(array) <= _REFERENCES_OF_OURS:
            return array
    return None


def _references_of_ours(arrays: list[Array]) -> int:
    """What ``_first_free`` counts for an array that is nowhere else."""
    for array in arrays:
        return getrefcount(array)
    raise AssertionError


_REFERENCES_OF_OURS = _references_of_ours([np.empty(1, np.uint8)])


def _rounded(size: int) -> int:
    """Sizes that differ by less than an eighth share their room."""
    step = 1 << max(size.bit_length() - 4, 0)
    return -(-size // step) * step


def numbers_room(count: int, kind: type[np.integer[Any]] = np.int64) -> Array:
    """So many numbers, not set to anything."""
    size = count * np.dtype(kind).itemsize
    return room(size)[:size].view(kind)


def offsets_room(count: int) -> Array:
    """Arrow's offsets of ``count`` values; the first is 0, the others are not set."""
    offsets = room(4 * (count + 1)).view(np.int32)
    offsets[0] = 0
    return offsets
