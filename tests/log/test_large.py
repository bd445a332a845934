"""Large logs: positions beyond 4 GiB, events near the limit, payloads that unpack to many times their size.

The sizes of `make test` show the same mechanisms; `make soak` runs the real ones."""

from __future__ import annotations

import resource
import subprocess
import sys
from dataclasses import replace

import pytest
import zstandard

from gtidal.events import Format, Header, encode_event
from gtidal.events.control import EndMark
from gtidal.events.format import MAGIC
from gtidal.events.load import AppendBlock
from gtidal.events.statement import RowsQuery
from gtidal.events.transaction import Compression, PayloadSize, TransactionPayload, UncompressedSize
from gtidal.log.decoder import LogDecoder
from tests.logs import build_log, format_description
from tests.samples import with_type

MB = 1 << 20


def run_through(total: int, size: int) -> tuple[int, int]:
    """Feed a log of ``total`` bytes in events of ``size``; returns (events, end position)."""
    first = format_description()
    block = AppendBlock(1, bytes(size), header=Header(1, 9, 1))
    decoder = LogDecoder("large")
    decoder.receive_data(MAGIC + encode_event(first, first.format))
    assert decoder.next_event() is not None
    count = 0
    while decoder.position < total:
        end = decoder.position + size + 27
        header = replace(block.header, log_pos=end & 0xFFFFFFFF)
        data = encode_event(replace(block, header=header), first.format)
        for start in range(0, len(data), MB):
            decoder.receive_data(data[start : start + MB])
        event = decoder.next_event()
        assert event is not None
        assert event.header.end_position == decoder.position == end
        assert event.header.log_pos == end & 0xFFFFFFFF
        count += 1
    return count, decoder.position


def test_events_of_many_pieces() -> None:
    assert run_through(60 * MB, 16 * MB)[0] == 4


@pytest.mark.parametrize("size", [16 * MB - 1, 16 * MB, 16 * MB + 1])
def test_sixteen_mebibytes_more_or_less(size: int) -> None:
    assert run_through(MB, size)[0] == 1


@pytest.mark.soak
def test_positions_beyond_four_gibibytes() -> None:
    count, end = run_through((1 << 32) + 100 * MB, 64 * MB)
    assert end > 1 << 32
    assert count > 60


def packed_log(unpacked: int) -> bytes:
    """A log whose one payload unpacks to about ``unpacked`` bytes."""
    inner = encode_event(with_type(RowsQuery(0, b"x" * 8000)), Format())
    times = unpacked // len(inner)
    packer = zstandard.ZstdCompressor().compressobj()
    data = b"".join(packer.compress(inner * 100) for _ in range(times // 100)) + packer.flush()
    values = (
        Compression(2, 0),
        UncompressedSize(3, times // 100 * 100 * len(inner)),
        PayloadSize(1, len(data)),
        EndMark(0),
    )
    return build_log([with_type(TransactionPayload(values=values, payload=data))])


READ_INNER = """
import resource, sys
from gtidal import open_log
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
count = sum(1 for event in open_log(sys.argv[1]))
print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def unpack_in_a_process(tmp_path, unpacked: int) -> tuple[int, int]:
    path = tmp_path / "packed.000001"
    path.write_bytes(packed_log(unpacked))
    assert path.stat().st_size < unpacked // 100
    done = subprocess.run(
        [sys.executable, "-c", READ_INNER, str(path)], capture_output=True, text=True, check=True
    )
    count, kilobytes = map(int, done.stdout.split())
    return count, kilobytes // 1024


def test_a_payload_is_streamed(tmp_path) -> None:
    count, megabytes = unpack_in_a_process(tmp_path, 200 * MB)
    assert count > 20_000
    assert megabytes < 100


@pytest.mark.soak
def test_a_payload_of_a_gibibyte(tmp_path) -> None:
    count, megabytes = unpack_in_a_process(tmp_path, 1024 * MB)
    assert count > 130_000
    assert megabytes < 100


def test_the_measure_works() -> None:
    """ru_maxrss counts kilobytes here; elsewhere the two tests above would prove nothing."""
    assert 1_000 < resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 100_000_000
