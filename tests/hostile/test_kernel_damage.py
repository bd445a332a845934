"""Damaged logs: the views end as the reference decoder does, with the same rows before the same error.

Flipped bytes with the checksum set right again reach the decoders; without checksums all do. Truncations are logs that
were cut. The kernel runs compiled and interpreted.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator

import pytest

from gtidal.columnar import kernel
from tests.columnar.drift_judges import JUDGED, REFERENCES, How, Reading, read_view, verdict
from tests.hostile.damage import MAGIC_SIZE, Damager, event_spans
from tests.hostile.small_logs import small_logs

LOGS = small_logs(others=True)
SEALED = range(len(LOGS) // 2, len(LOGS))
"""The second half of them has checksums."""
KERNELS: list[kernel.Implementation] = ["interpreted"]
if not kernel.interpreted_modules():
    KERNELS.append("compiled")

Damaged = tuple[str, bytes, bool]
"""What was done, the log, whether checksums are compared."""


def resealed(log: bytes, offset: int) -> bytes:
    """The checksum of the event at ``offset`` set right."""
    for start, end in event_spans(log):
        if start <= offset < end and end - start > 4:
            return log[: end - 4] + zlib.crc32(log[start : end - 4]).to_bytes(4, "little") + log[end:]
    return log


def flipped(number: int, offset: int, bits: int) -> Damaged:
    log = LOGS[number]
    log = log[:offset] + bytes((log[offset] ^ bits,)) + log[offset + 1 :]
    name = f"log {number}, byte {offset} ^ {bits}"
    return (name, resealed(log, offset), True) if number in SEALED else (name, log, False)


def cut(number: int, size: int) -> Damaged:
    return f"log {number}, cut at {size}", LOGS[number][:size], True


def judge(damaged: Damaged, kernels: list[kernel.Implementation], shape: int) -> int:
    """Compare all views of a log; returns how many rows the reference decoder told."""
    name, log, verify = damaged
    # One window for all, or windows that end in the middle of things.
    how = How(verify=verify, uncommitted=shape % 3 > 0, window=len(log) + 64 if shape % 2 else 400)
    told = 0
    for view in JUDGED:
        expected = REFERENCES[view](log, how)
        told += len(expected.rows)
        for implementation in kernels:
            with kernel.use(implementation):
                found = read_view(view, log, how)
            wrong = verdict(view, log, how, expected, found)
            assert wrong is None, f"{name}, {how}, {view}, {implementation}: {wrong}"
    return told


def all_flips(numbers: range, bits: tuple[int, ...]) -> Iterator[Damaged]:
    for number in numbers:
        for offset in range(MAGIC_SIZE, len(LOGS[number])):
            for some in bits:
                yield flipped(number, offset, some)


def all_cuts(numbers: range) -> Iterator[Damaged]:
    for number in numbers:
        for size in range(len(LOGS[number])):
            yield cut(number, size)


def random_flips(count: int) -> Iterator[Damaged]:
    chance = random.Random(3)
    for _ in range(count):
        number = chance.randrange(len(LOGS))
        yield flipped(number, chance.randrange(MAGIC_SIZE, len(LOGS[number])), 1 << chance.randrange(8))


def random_cuts(count: int) -> Iterator[Damaged]:
    chance = random.Random(4)
    for _ in range(count):
        number = chance.randrange(len(LOGS))
        yield cut(number, chance.randrange(len(LOGS[number])))


def run(damaged: Iterator[Damaged], kernels: list[kernel.Implementation], least: int) -> None:
    told = sum(judge(one, kernels, shape) for shape, one in enumerate(damaged))
    assert told > least  # most damage leaves something to compare


@pytest.mark.parametrize("implementation", KERNELS)
def test_flipped_bits(implementation: kernel.Implementation) -> None:
    run(random_flips(90 if implementation == "compiled" else 45), [implementation], 300)


@pytest.mark.parametrize("implementation", KERNELS)
def test_cut_logs(implementation: kernel.Implementation) -> None:
    run(random_cuts(50 if implementation == "compiled" else 25), [implementation], 100)


def test_damage_of_every_kind() -> None:
    """Sizes, lengths, foreign bytes, events that changed places."""
    damager = Damager(LOGS, "views")
    run((("damager", damager.next(), False) for _ in range(80)), KERNELS[-1:], 200)


@pytest.mark.parametrize("number", range(0, len(LOGS), 3))
def test_undamaged_small_logs(number: int) -> None:
    for shape in range(3):
        assert judge(("undamaged", LOGS[number], True), KERNELS, shape)


@pytest.mark.soak
@pytest.mark.parametrize("number", range(len(LOGS)))
def test_every_byte(number: int) -> None:
    bits = (1, 4, 32, 128, 255)
    run(all_flips(range(number, number + 1), bits), KERNELS[-1:], 1000)


@pytest.mark.soak
@pytest.mark.parametrize("number", range(len(LOGS)))
def test_every_truncation(number: int) -> None:
    run(all_cuts(range(number, number + 1)), KERNELS[-1:], 500)


@pytest.mark.soak
def test_every_byte_interpreted() -> None:
    run(random_flips(4000), KERNELS[:1], 10_000)


@pytest.mark.soak
def test_much_damage() -> None:
    damager = Damager(LOGS, "views soaked")
    run((("damager", damager.next(), False) for _ in range(20_000)), KERNELS[-1:], 100_000)


def test_the_judge_sees_differences() -> None:
    log = LOGS[-1]
    how = How()
    for view in JUDGED:
        expected, found = REFERENCES[view](log, how), read_view(view, log, how)
        assert verdict(view, log, how, expected, found) is None
        lost = Reading(found.rows[:-1], found.error)
        assert verdict(view, log, how, expected, lost)
        changed = Reading([*found.rows[:-1], found.rows[-1] | {"position": 5}], found.error)
        assert verdict(view, log, how, expected, changed)
        failed = Reading(found.rows, ("Truncated", "the log ends"))
        assert verdict(view, log, how, expected, failed)
