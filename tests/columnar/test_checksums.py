"""Checksums of events of every size: the kernel has several ways to compute one, by what the processor can do."""

from __future__ import annotations

import random
import zlib
from pathlib import Path

import pytest

import gtidal
from gtidal.errors import GtidalError

SHOP = Path(__file__).parents[2] / "examples" / "shop" / "binlog.000001"
IGNORABLE = 28
SIZES = (*range(23, 1200), 2047, 2048, 2049, 4096, 8192, 65_537)


def log_of(sizes: tuple[int, ...], seed: int) -> tuple[bytearray, list[int]]:
    """A log's head, and events of random bytes; and where these begin."""
    random_bytes = random.Random(seed).randbytes
    head = SHOP.read_bytes()
    log = bytearray(head[: 4 + int.from_bytes(head[13:17], "little")])
    starts = []
    for size in sizes:
        starts.append(len(log))
        end = len(log) + size
        event = (
            bytes([1, 2, 3, 4, IGNORABLE, 1, 0, 0, 0])
            + size.to_bytes(4, "little")
            + end.to_bytes(4, "little")
        )
        event += b"\x80\0" + random_bytes(size - 23)
        log += event + zlib.crc32(event).to_bytes(4, "little")
    return log, starts


def test_every_size(tmp_path: Path) -> None:
    log, starts = log_of(SIZES, 1)
    path = tmp_path / "binlog.000001"
    path.write_bytes(log)
    read = gtidal.events(path, columns=["position", "checksum"]).read_all()
    assert read["position"].to_pylist()[1:] == starts
    assert set(read["checksum"].to_pylist()) == {"ok"}


@pytest.mark.parametrize("size", [23, 60, 200, 300, 511, 600, 1000, 5000])
def test_a_flipped_bit(size: int, tmp_path: Path) -> None:
    log, (start,) = log_of((size,), size)
    path = tmp_path / "binlog.000001"
    for offset in {*range(17, size, max(size // 40, 1)), size - 1}:
        path.write_bytes(
            log[: start + offset] + bytes([log[start + offset] ^ 16]) + log[start + offset + 1 :]
        )
        with pytest.raises(GtidalError, match="checksum"):
            gtidal.events(path).read_all()
