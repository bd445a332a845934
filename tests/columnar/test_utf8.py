"""What the kernel takes for UTF-8 is what Python's decoder takes: by bytes, and by pairs of bytes where there are many."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from gtidal.columnar import kernel

LEADS = (
    0x00,
    0x41,
    0x7F,
    0x80,
    0x8F,
    0x90,
    0x9F,
    0xA0,
    0xBF,
    0xC0,
    0xC1,
    0xC2,
    0xDF,
    0xE0,
    0xE1,
    0xEC,
    0xED,
    0xEE,
    0xEF,
)
BYTES = (*LEADS, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xF7, 0xF8, 0xFF)


pytestmark = pytest.mark.usefixtures("implementation")


def states_of(texts: list[bytes]) -> list[int]:
    """For each text 0 if it is UTF-8, 5 if not, as ``settle`` has it; texts lie one behind the other."""
    count = len(texts)
    sizes = np.array([len(text) for text in texts], np.int64)
    slots = (np.cumsum(sizes) - sizes) | sizes << 32
    states, zeros = np.zeros(count, np.uint8), np.zeros(count, np.int32)
    one = np.ones(1, np.int32)
    arrays = (
        np.frombuffer(b"".join(texts), np.uint8), np.zeros(1, np.uint8), slots, states, np.arange(count, dtype=np.int32), zeros
    )  # fmt: skip
    rest = (zeros[:1], one, zeros[:1], one, zeros[:1], np.zeros(256, np.int32), np.zeros(2, np.int64))
    assert kernel.texts.settle(*map(memoryview, arrays), count, *map(memoryview, rest)) == 0
    return [int(state) for state in states]


def is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def check(texts: list[bytes]) -> None:
    for text, state in zip(texts, states_of(texts), strict=True):
        assert (state == 0) == is_text(text), text


@pytest.mark.parametrize(("before", "behind"), [(0, 0), (0, 20), (13, 20), (14, 3), (15, 40), (40, 0)])
def test_every_kind_of_sequence(before: int, behind: int) -> None:
    """Wherever it stands among sixteen bytes, also at the end."""
    for count in (1, 2, 3):
        check(
            [b"a" * before + bytes(some) + b"z" * behind for some in itertools.product(BYTES, repeat=count)]
        )
    four = [
        bytes(some)
        for some in itertools.product(
            (0xEF, 0xF0, 0xF1, 0xF4, 0xF5), (0x7F, 0x80, 0x8F, 0x90, 0xBF), (0x80, 0xBF, 0xC2), (0x41, 0x80)
        )
    ]
    check([b"a" * before + some + b"z" * behind for some in four])


def test_characters_of_all_lengths() -> None:
    chance = random.Random(5)
    letters = "aZ\0\x7fé߿ࠀ東\ud7ff\ue000\uffff\U00010000\U0010ffff"
    texts = ["".join(chance.choices(letters, k=chance.randrange(1, 60))).encode() for _ in range(300)]
    check(texts)
    damaged = []
    for text in texts:
        place = chance.randrange(len(text))
        damaged.append(text[:place] + bytes([chance.randrange(256)]) + text[place + 1 :])
        damaged.append(text[:place] or b"x")
    check(damaged)
