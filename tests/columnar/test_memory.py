"""Memory is bounded by a constant and the largest row, however large an event, a transaction, a payload or a log is.

Each log is read by a process of its own. What counts is its peak above what it had after it had read a small log.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from gtidal.events import Event, Format, encode_event, rows, table_map, transaction
from gtidal.events.control import EndMark
from gtidal.events.transaction import Compression, PayloadSize, TransactionPayload, UncompressedSize
from tests.logs import build_log, format_description
from tests.samples import UUID, query, with_type

MB = 1 << 20
LIMIT = 400 * MB
READ = """
import sys
import gtidal

def drain(view, path):
    options = {"table": "shop.blobs"} if view == "rows" else {}
    batches = getattr(gtidal, view)(path, threads=int(sys.argv[3]), **options)
    return sum(batch.num_rows for batch in batches)

def peak():
    # Not ru_maxrss: that begins with the peak of the process that started this one.
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024

small, large, _ = sys.argv[1:]
views = ("events", "transactions", "changes", "rows")
for view in views:
    drain(view, small)
before = peak()
for view in views:
    print(view, drain(view, large), peak() - before)
"""

TABLE = table_map.TableMap(
    table_id=7,
    flags=1,
    schema="shop",
    table="blobs",
    types=bytes((8, 252)),
    metadata=b"\x04",
    null_bitmap=b"\x03",
    optional=(table_map.ColumnName(4, ("id", "data")),),
)


def gtid() -> transaction.Gtid:
    return transaction.Gtid(flags=1, uuid=UUID, gno=1, clock_type=2, last_committed=0, sequence_number=1)


def insert(count: int, size: int, flags: int = 0, start: int = 0) -> rows.WriteRows:
    changed = tuple(rows.Row(None, (start + number, b"x" * size)) for number in range(count))
    return rows.WriteRows(table_id=7, flags=flags, width=2, after_columns=b"\x03", rows=changed, table=TABLE)


def whole(*events: Event) -> list[Event]:
    """A transaction of these rows."""
    return [with_type(event) for event in (gtid(), query(b"BEGIN"), TABLE, *events, transaction.Xid(9))]


def bytes_of(events: list[Event], format: Format | None = None) -> bytes:
    """Events as they stand in a log; the views do not look at the positions in their headers."""
    return b"".join(encode_event(event, format or format_description().format) for event in events)


def head(path: Path, events: list[Event] | None = None) -> None:
    """A log that begins with these."""
    path.write_bytes(build_log([]) + bytes_of(events or []))


def repeat(path: Path, piece: bytes, total: int) -> int:
    """Add ``piece`` again and again, by copies inside the file; returns how often."""
    start = path.stat().st_size
    times = -(-total // len(piece))
    with path.open("r+b") as stream:
        stream.seek(start)
        stream.write(piece)
        stream.flush()
        done, number = len(piece), stream.fileno()
        while done < times * len(piece):
            source = start + done % len(piece)  # a call may copy less than it is asked to
            count = min(start + done - source, times * len(piece) - done, 256 * MB)
            copied = os.copy_file_range(number, number, count, source, start + done)
            assert copied
            done += copied
    return times


def large_event(path: Path) -> tuple[dict[str, int], int]:
    """One event of 40 MB: many small rows."""
    head(path, whole(insert(40_000, 1000, flags=1)))
    return {"events": 6, "transactions": 1, "changes": 40_000}, 1000


def large_row(path: Path) -> tuple[dict[str, int], int]:
    """One event of 40 MB: one row."""
    head(path, whole(insert(1, 40 * MB, flags=1)))
    return {"events": 6, "transactions": 1, "changes": 1}, 40 * MB


def large_transaction(path: Path) -> tuple[dict[str, int], int]:
    """One transaction of 170 MB."""
    events = whole(insert(20, 400))
    head(path)
    with path.open("ab") as stream:
        stream.write(bytes_of(events[:3]))
    times = repeat(path, bytes_of([events[3]] * 100), 170 * MB) * 100
    with path.open("ab") as stream:
        stream.write(bytes_of(events[4:]))
    return {"events": times + 5, "transactions": 1, "changes": times * 20}, 400


def unpacking(path: Path, total: int) -> tuple[dict[str, int], int]:
    """A payload that unpacks to very much."""
    inside = Format()
    events = whole(insert(20, 400))
    some = bytes_of([events[3]] * 100, inside)
    times = -(-total // len(some))
    packer = zstandard.ZstdCompressor().compressobj()
    data = packer.compress(bytes_of(events[1:3], inside))
    data += b"".join(packer.compress(some) for _ in range(times))
    data += packer.compress(bytes_of(events[4:], inside)) + packer.flush()
    announced = times * len(some) + len(bytes_of([*events[1:3], *events[4:]], inside))
    values = (Compression(2, 0), UncompressedSize(3, announced), PayloadSize(1, len(data)), EndMark(0))
    path.write_bytes(
        build_log([with_type(gtid()), with_type(TransactionPayload(values=values, payload=data))])
    )
    return {"events": times * 100 + 6, "transactions": 1, "changes": times * 2000}, 400


def many_transactions(path: Path, total: int) -> tuple[dict[str, int], int]:
    head(path)
    piece = bytes_of([event for _ in range(1000) for event in whole(insert(20, 400, flags=1))])
    times = repeat(path, piece, total)
    return {"events": 5000 * times + 1, "transactions": 1000 * times, "changes": 20_000 * times}, 400


Make = Callable[[Path], tuple[dict[str, int], int]]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("memory") / "binlog.000001"
    path.write_bytes(build_log(whole(insert(3, 10, flags=1))))
    return path


def measure(small: Path, large: Path, threads: int = 1) -> dict[str, tuple[int, int]]:
    """Of each view: how many rows it has, and the process's peak in bytes until then."""
    command = [sys.executable, "-c", READ, str(small), str(large), str(threads)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    return {view: (int(count), int(peak)) for view, count, peak in lines}


def judge(make: Make, small: Path, tmp_path: Path, threads: tuple[int, ...] = (1, 2)) -> None:
    path = tmp_path / "large.000001"
    counts, largest = make(path)
    counts["rows"] = counts["changes"]  # all are inserts into one table
    for several in threads:
        found = measure(small, path, several)
        assert {view: count for view, (count, _) in found.items()} == counts
        for view, (_, peak) in found.items():
            assert peak < LIMIT + 3 * largest, (
                f"{view}, {several} threads: {peak // MB} MB above the libraries"
            )
    path.unlink()


def large_rows(path: Path) -> tuple[dict[str, int], int]:
    """Transactions with rows of a megabyte each: few rows, many bytes."""
    head(path)
    times = repeat(path, bytes_of(whole(insert(1, MB, flags=1))), 600 * MB)
    return {"events": 5 * times + 1, "transactions": times, "changes": times}, MB


@pytest.mark.parametrize("make", [large_event, large_row, large_transaction, large_rows])
def test_large_ones(make: Make, small: Path, tmp_path: Path) -> None:
    judge(make, small, tmp_path)


def test_a_payload_is_unpacked_in_pieces(small: Path, tmp_path: Path) -> None:
    judge(lambda path: unpacking(path, 300 * MB), small, tmp_path)


@pytest.mark.soak
def test_a_payload_of_a_gibibyte(small: Path, tmp_path: Path) -> None:
    judge(lambda path: unpacking(path, 1024 * MB), small, tmp_path)


@pytest.mark.soak
def test_a_log_of_five_gibibytes(small: Path, tmp_path: Path) -> None:
    judge(lambda path: many_transactions(path, 5 << 30), small, tmp_path)


def test_the_measure_works(small: Path, tmp_path: Path) -> None:
    """What is held shows."""
    path = tmp_path / "row.000001"
    large_row(path)
    assert measure(small, path)["changes"][1] > 80 * MB
