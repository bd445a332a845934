"""Arrow arrays from flat buffers: numbers with nulls, texts by number, lists of texts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from gtidal.columnar import kernel
from gtidal.columnar.codes import NONE
from gtidal.columnar.memory import numbers_room, offsets_room, room
from gtidal.columnar.schemas import STRING, STRINGS, TIMESTAMP, UNSIGNED, VARIANT

Array = np.ndarray[Any, Any]
_NO_COUNTS = np.zeros(0, np.int64)


def bitmap(valid: Array) -> pa.Buffer | None:
    """A validity buffer; None where all are valid."""
    return None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))


def numbers(values: Array, kind: pa.DataType, valid: Array | None = None) -> pa.Array:
    """An array over the very bytes of ``values``, which have the width of ``kind``."""
    mask = None if valid is None else bitmap(valid)
    values = np.ascontiguousarray(values)
    return pa.Array.from_buffers(kind, len(values), [mask, pa.py_buffer(values)])


def bigints(values: Array) -> pa.Array:
    """int64, NONE for null."""
    return numbers(values, pa.int64(), values != NONE)


def timestamps(microseconds: Array) -> pa.Array:
    return numbers(microseconds, TIMESTAMP, microseconds != NONE)


def unsigned(values: Array, valid: Array | None = None) -> pa.Array:
    """The 64 bits of unsigned numbers as decimal(20, 0)."""
    wide = np.zeros((len(values), 2), np.int64)
    wide[:, 0] = values
    mask = None if valid is None else bitmap(valid)
    return pa.Array.from_buffers(UNSIGNED, len(values), [mask, pa.py_buffer(wide)])


def booleans(values: Array, valid: Array | None = None) -> pa.Array:
    bits = pa.py_buffer(np.packbits(values.astype(bool), bitorder="little"))
    return pa.Array.from_buffers(pa.bool_(), len(values), [None if valid is None else bitmap(valid), bits])


class Texts:
    """Texts by number: a heap of bytes, where each begins and its size (below 0: null)."""

    __slots__ = ("heap", "sizes", "starts")

    def __init__(self, heap: Array, starts: Array, sizes: Array) -> None:
        self.heap = heap
        self.starts = np.ascontiguousarray(starts, np.int64)
        self.sizes = np.ascontiguousarray(sizes, np.int64)

    @staticmethod
    def of(texts: Sequence[str | bytes | None]) -> Texts:
        data = [b"" if text is None else text.encode() if isinstance(text, str) else text for text in texts]
        sizes = np.array([len(text) for text in data], np.int64)
        starts = np.cumsum(sizes) - sizes
        sizes[[index for index, text in enumerate(texts) if text is None]] = NONE
        return Texts(np.frombuffer(b"".join(data) or b"\0", np.uint8), starts, sizes)

    def pick(self, codes: Array, kind: pa.DataType = STRING, counts: Array | None = None) -> pa.Array:
        """The texts of these numbers; below 0: null. With ``counts``, each so many times."""
        codes = np.ascontiguousarray(codes, np.int32)
        runs = len(codes)
        count = runs if counts is None else int(counts.sum())
        if not len(self.sizes):
            return pa.nulls(count, kind)
        each = memoryview(_NO_COUNTS if counts is None else counts)
        progress = memoryview(np.zeros(2, np.int64))
        code = kernel.gather.measured(memoryview(self.sizes), memoryview(codes), each, runs, progress)
        assert not code
        if progress[1] == count:
            return pa.nulls(count, kind)
        out, offsets = room(progress[0]), offsets_room(count)
        code = kernel.gather.picked(
            memoryview(self.heap), memoryview(self.starts), memoryview(self.sizes), memoryview(codes), each, runs,
            memoryview(out), memoryview(offsets),
        )  # fmt: skip
        assert not code
        mask = None
        if progress[1]:
            valid = (codes >= 0) & (self.sizes[codes] >= 0)
            mask = bitmap(valid if counts is None else np.repeat(valid, counts))
        return pa.Array.from_buffers(kind, count, [mask, pa.py_buffer(offsets), pa.py_buffer(out)])

    def one(self, code: int, count: int) -> pa.Array:
        """The same text over and over."""
        return self.pick(np.full(count, code, np.int32))


def constant(text: str, count: int) -> pa.Array:
    """The same text over and over."""
    return _repeated(text, 1 << max(count - 1, 0).bit_length()).slice(0, count)


@lru_cache(maxsize=8)
def _repeated(text: str, count: int) -> pa.Array:
    """Kept, for every batch of a log has such columns; arrays never change."""
    return Texts.of([text]).one(0, count)


def constant_list(texts: tuple[str, ...] | None, count: int) -> pa.Array:
    """The same list over and over."""
    return _repeated_list(texts, 1 << max(count - 1, 0).bit_length()).slice(0, count)


@lru_cache(maxsize=8)
def _repeated_list(texts: tuple[str, ...] | None, count: int) -> pa.Array:
    return lists_by_code([texts], np.zeros(count, np.int32))


def no_texts(count: int) -> pa.Array:
    """Nothing but null."""
    return _nulls(1 << max(count - 1, 0).bit_length()).slice(0, count)


@lru_cache(maxsize=2)
def _nulls(count: int) -> pa.Array:
    return pa.nulls(count, STRING)


def picked_numbers(values: Array, codes: Array, kind: pa.DataType) -> pa.Array:
    """The numbers (int64) at these places; below 0, and where the number is NONE, null."""
    count = len(codes)
    codes = np.ascontiguousarray(codes, np.int32)
    values = np.ascontiguousarray(values)
    out = numbers_room(count)
    progress = memoryview(np.zeros(1, np.int64))
    code = kernel.gather.numbers(memoryview(values), memoryview(codes), count, memoryview(out), progress)
    assert not code
    if not progress[0]:
        return numbers(out, kind)
    if progress[0] == count:
        return pa.nulls(count, kind)
    valid = codes >= 0
    valid[valid] = values[codes[valid]] != NONE
    return numbers(out, kind, valid)


def from_values(values: Sequence[str | bytes | None], kind: pa.DataType = STRING) -> pa.Array:
    """As ``pa.array``, which loads all of pandas wherever that is installed, to ask whether a list is one of its."""
    parts = [value.encode() if isinstance(value, str) else value or b"" for value in values]
    offsets = np.zeros(len(parts) + 1, np.int32)
    np.cumsum([len(part) for part in parts], out=offsets[1:])
    mask = bitmap(np.array([value is not None for value in values], bool))
    return pa.Array.from_buffers(
        kind, len(parts), [mask, pa.py_buffer(offsets), pa.py_buffer(b"".join(parts))]
    )


def variants(images: Sequence[tuple[bytes, bytes] | None]) -> pa.Array:
    """Of pairs of value and metadata."""
    children = [
        from_values([b"" if image is None else image[place] for image in images], pa.binary())
        for place in (0, 1)
    ]
    mask = bitmap(np.array([image is not None for image in images], bool))
    return pa.StructArray.from_buffers(VARIANT, len(images), [mask], children=children)


def text_or_escaped(array: pa.Array) -> pa.Array:
    """Binary as text. Bytes that are not UTF-8 are written as ``\\xe4``: visibly, and nothing is lost."""
    try:
        return array.cast(STRING)
    except pa.ArrowInvalid:
        decoded = [
            None if value is None else value.decode("utf-8", "backslashreplace")
            for value in array.to_pylist()
        ]
        return from_values(decoded)


def lists(
    members: Sequence[str],
    first: Array,
    sizes: Array,
    valid: Array | None = None,
    numbers: Array | None = None,
) -> pa.Array:
    """Lists of texts: ``sizes[i]`` members from ``first[i]`` on; with ``numbers``, these are the members' numbers."""
    offsets = np.zeros(len(sizes) + 1, np.int32)
    np.cumsum(sizes, out=offsets[1:])
    total = int(offsets[-1])
    if int(sizes.max(initial=0)) <= 1:
        places = first[sizes > 0]
    else:
        places = np.arange(total, dtype=np.int64) - np.repeat(offsets[:-1], sizes) + np.repeat(first, sizes)
    codes = places if numbers is None else numbers[places]
    values = Texts.of(members).pick(codes) if total else pa.nulls(0, STRING)
    mask = None if valid is None else bitmap(valid)
    return pa.ListArray.from_buffers(STRINGS, len(sizes), [mask, pa.py_buffer(offsets)], children=[values])


def lists_by_code(texts: Sequence[Sequence[str] | None], codes: Array) -> pa.Array:
    """Lists of texts by number: of ``texts``, the codes-th; below 0, and None there, are null."""
    count = len(codes)
    codes = np.ascontiguousarray(codes, np.int32)
    sizes = np.array([len(each or ()) for each in texts] or [0], np.int64)
    first = np.cumsum(sizes) - sizes
    there = np.array([each is not None for each in texts] or [False])
    members = [text for each in texts for text in each or ()]
    offsets = offsets_room(count)
    numbers_of = np.empty(count * int(sizes.max()), np.int32)
    progress = memoryview(np.zeros(2, np.int64))
    code = kernel.gather.listed(
        memoryview(first), memoryview(sizes), memoryview(codes), count, memoryview(offsets), memoryview(numbers_of),
        progress,
    )  # fmt: skip
    assert not code
    total = progress[0]
    if len(members) == 1:
        values = constant(members[0], total)
    else:
        values = Texts.of(members).pick(numbers_of[:total])
    has_nulls = progress[1] or not there.all()
    mask = bitmap((codes >= 0) & there[codes]) if has_nulls else None
    return pa.ListArray.from_buffers(STRINGS, count, [mask, pa.py_buffer(offsets)], children=[values])
