"""Arrow arrays from flat buffers, and what the kernel does for them: interpreted and compiled."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from gtidal.columnar import kernel
from gtidal.columnar.arrays import Texts, constant, lists_by_code, picked_numbers

NUMBERS = pa.int64()
SIZES = (*range(140), 255, 256, 1000)


pytestmark = pytest.mark.usefixtures("implementation")


def whole(array: pa.Array) -> list[object]:
    array.validate(full=True)
    return array.to_pylist()


def test_texts_of_every_size() -> None:
    """Bytes that all differ from their neighbours: one that is not copied, or copied from elsewhere, shows."""
    texts = ["".join(chr(33 + (size + place) % 90) for place in range(size)) for size in SIZES]
    codes = np.random.default_rng(7).permutation(len(texts)).repeat(2)
    assert whole(Texts.of(texts).pick(codes)) == [texts[code] for code in codes]


def test_texts_that_are_null() -> None:
    texts = Texts.of(["one", None, "", "three"])
    assert whole(texts.pick(np.array([3, -1, 1, 2, 0]))) == ["three", None, None, "", "one"]
    assert whole(texts.pick(np.array([-1, 1, 1]))) == [None, None, None]
    assert whole(texts.pick(np.array([], np.int32))) == []
    assert whole(Texts.of([]).pick(np.array([-1]))) == [None]


def test_a_number_that_no_text_has() -> None:
    with pytest.raises(AssertionError):
        Texts.of(["one"]).pick(np.array([0, 1]))
    with pytest.raises(AssertionError):
        picked_numbers(np.array([1]), np.array([0, 1]), NUMBERS)
    with pytest.raises(AssertionError):
        lists_by_code([("a",)], np.array([0, 1]))


@pytest.mark.parametrize("count", [0, 1, 2, 3, 1000])
def test_the_same_text(count: int) -> None:
    assert whole(constant("binlog.000001", count)) == ["binlog.000001"] * count
    assert whole(constant("", count)) == [""] * count


def test_texts_in_runs() -> None:
    texts = Texts.of(["one", None, "", "a text that is longer than most of them, but not by much" * 3])
    codes, counts = np.array([3, -1, 0, 1, 2, 0]), np.array([2, 1, 5, 2, 0, 1])
    each = np.repeat(codes, counts)
    assert whole(texts.pick(codes, counts=counts)) == whole(texts.pick(each))
    assert whole(texts.pick(codes[:1], counts=counts[:1])) == whole(texts.pick(each[:2]))
    assert whole(texts.pick(codes[1:2], counts=counts[1:2])) == [None]


def test_numbers_by_number() -> None:
    values = np.array([5, -(2**62), 7])
    assert whole(picked_numbers(values, np.array([2, 1, 1, 0]), NUMBERS)) == [7, -(2**62), -(2**62), 5]
    assert whole(picked_numbers(values, np.array([2, -1, 0]), NUMBERS)) == [7, None, 5]
    assert whole(picked_numbers(values[:0], np.array([-1]), NUMBERS)) == [None]


@pytest.mark.parametrize(
    "lists",
    [
        [("a",)],
        [(), ("a",)],
        [("a", "b"), (), ("c",), None],
        [()],
        [None],
    ],
)
def test_lists_by_number(lists: list[tuple[str, ...] | None]) -> None:
    codes = np.random.default_rng(3).integers(-1, len(lists), 50)
    expected = [None if code < 0 or lists[code] is None else list(lists[code] or ()) for code in codes]
    assert whole(lists_by_code(lists, codes)) == expected
    assert whole(lists_by_code(lists, codes[:0])) == []
    there = np.zeros(3, np.int32)
    assert whole(lists_by_code(lists, there)) == [None if lists[0] is None else list(lists[0])] * 3


def text_state(data: bytes, start: int, size: int) -> int:
    """The state of a cell of UTF-8 text: 0 where it is, 5 where it is not."""
    states = np.zeros(1, np.uint8)
    one = np.zeros(1, np.int32)
    arrays = (
        np.frombuffer(data, np.uint8), np.zeros(1, np.uint8), np.array([start | size << 32]), states, one, one
    )  # fmt: skip
    rest = (one, one + 1, one, one + 1, one, np.zeros(256, np.int32), np.zeros(2, np.int64))
    assert kernel.texts.settle(*map(memoryview, arrays), 1, *map(memoryview, rest)) == 0
    return int(states[0])


def test_one_byte_that_is_no_text() -> None:
    for size in range(1, 100):
        for place in {0, 1, size // 2, size - 2, size - 1, *range(7, size, 8)} & set(range(size)):
            data = bytearray(b"a" * (size + 2))
            data[place + 1] = 0xFF
            assert text_state(bytes(data), 1, size) == 5, (size, place)
        # The bytes around it are not looked at.
        assert text_state(b"\xff" + b"a" * size + b"\xff", 1, size) == 0, size


def test_gathering_stops_where_there_is_no_room() -> None:
    texts = Texts.of(["abcd", "efgh"])
    codes = memoryview(np.array([0, 1], np.int32))
    arrays = (memoryview(texts.heap), memoryview(texts.starts), memoryview(texts.sizes), codes)
    offsets, progress = memoryview(np.zeros(3, np.int32)), memoryview(np.zeros(2, np.int64))
    no_counts = memoryview(np.zeros(0, np.int64))
    for room, code in ((8, 0), (7, 1), (3, 1)):
        out = memoryview(np.zeros(room, np.uint8))
        assert kernel.gather.picked(*arrays, no_counts, 2, out, offsets) == code
        assert kernel.gather.picked(*arrays, memoryview(np.array([1, 1])), 2, out, offsets) == code
    assert (
        kernel.gather.picked(*arrays, memoryview(np.array([1, 2])), 2, memoryview(bytearray(99)), offsets)
        == 1
    )
    members = memoryview(np.zeros(1, np.int32))
    two = memoryview(np.array([1, 1]))
    assert kernel.gather.listed(two, two, codes, 2, offsets, members, progress) == 1


def test_places_by_marks() -> None:
    random = np.random.default_rng(5)
    for _ in range(40):
        types = random.integers(0, 256, 60).astype(np.uint8)
        marks = random.integers(0, 5, 256).astype(np.uint8)
        first, last = sorted(random.integers(0, 61, 2).tolist())
        width = last - first + int(random.integers(0, 3))
        places, progress = np.full(3 * width, -7, np.int32), memoryview(np.zeros(3, np.int64))
        views = memoryview(types), memoryview(marks)
        assert kernel.gather.placed(*views, first, last, width, memoryview(places), progress) == 0
        for mark in (1, 2, 3):
            found = places[(mark - 1) * width :][: progress[mark - 1]].tolist()
            assert found == [place for place in range(first, last) if marks[types[place]] == mark]
    room = memoryview(np.zeros(30, np.int32))
    for first, last, width in ((-1, 5, 9), (0, 61, 9), (0, 10, 9), (0, 5, 11)):
        assert kernel.gather.placed(*views, first, last, width, room, progress) == 1
