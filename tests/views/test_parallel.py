"""Several threads that read one log: who reads, who waits for whom, and what happens when one fails."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import gtidal
from gtidal import parallel
from gtidal.columnar import kernel
from gtidal.columnar.windows import Place

SHOP = Path(__file__).parents[2] / "examples" / "shop"


def changes(**options: Any) -> list[dict[str, Any]]:
    return gtidal.changes(SHOP, **options).read_all().to_pylist()


def helpers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if isinstance(thread, parallel.Helper)]


@pytest.fixture(autouse=True)
def _nobody_is_left() -> Iterator[None]:
    yield
    assert not helpers()


@pytest.mark.parametrize("threads", [2, 3])
def test_who_asks_is_one_of_the_threads(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "STRETCH", 3000)
    readers: set[int] = set()
    read = parallel.StretchReader.read

    def noted(*arguments: Any) -> Any:
        readers.add(threading.get_ident())
        if len(readers) < 2:
            time.sleep(0.01)  # who has taken the first stretch lets others take some
        return read(*arguments)

    monkeypatch.setattr(parallel.StretchReader, "read", noted)
    most = 0
    for _ in parallel_changes(threads):
        most = max(most, len(helpers()))
    assert most <= threads - 1
    assert threading.get_ident() in readers
    assert 1 < len(readers) <= threads


def test_little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no batch may wait, threads wait for each other; nothing is lost, and nobody waits for ever."""
    expected = changes(threads=1)
    monkeypatch.setattr(parallel, "STRETCH", 3000)
    monkeypatch.setattr(parallel, "READ_AHEAD", 0)
    monkeypatch.setattr(parallel, "max", lambda *_: 1, raising=False)  # room for one byte
    for threads in (2, 3, 5):
        assert changes(threads=threads) == expected


def test_slow_and_fast_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is slow, the order is the same."""
    expected = changes(threads=1)
    monkeypatch.setattr(parallel, "STRETCH", 3000)
    read = parallel.StretchReader.read
    main = threading.get_ident()

    def slow(ours: bool) -> Any:
        def reading(*arguments: Any) -> Iterator[pa.RecordBatch]:
            for batch in read(*arguments):
                if (threading.get_ident() == main) is ours:
                    time.sleep(0.002)
                yield batch

        return reading

    for ours in (True, False):
        monkeypatch.setattr(parallel.StretchReader, "read", slow(ours))
        assert changes(threads=3) == expected


@pytest.mark.parametrize("good", [0, 1, 5])
def test_a_cut_that_fails_is_told(good: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind the stretches before it, whoever asked for the cut."""
    monkeypatch.setattr(parallel, "STRETCH", 3000)
    split = parallel.split

    def failing(*arguments: Any) -> Iterator[Place]:
        for number, place in enumerate(split(*arguments)):
            if number == good:
                raise OSError("the disk is gone")
            yield place

    monkeypatch.setattr(parallel, "split", failing)
    for threads in (1, 2, 3):
        given: list[pa.RecordBatch] = []
        with pytest.raises(OSError, match="the disk is gone"):
            given.extend(parallel_changes(threads))
        assert bool(given) is bool(good)


def parallel_changes(threads: int) -> Iterator[pa.RecordBatch]:
    """Without what puts small batches together, which keeps some back."""
    from gtidal.columnar.scanning import VIEWS, Scan, Stretch
    from gtidal.views import find_logs

    tasks = [(file, Stretch()) for file in find_logs(SHOP)]
    return parallel.read(VIEWS["changes"], tasks, Scan(("file", "position")), threads)


def test_a_stretch_that_fails_is_told_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "STRETCH", 3000)
    whole = pa.Table.from_batches(parallel_changes(2)).to_pylist()
    read = parallel.StretchReader.read

    def failing(self: Any, file: Any, stretch: Any) -> Iterator[pa.RecordBatch]:
        if file.name == "binlog.000002" and (stretch.start or 0) > 20_000:
            raise ValueError(f"from {stretch.start} on")
        yield from read(self, file, stretch)

    monkeypatch.setattr(parallel.StretchReader, "read", failing)
    for threads in (2, 3):
        given: list[dict[str, Any]] = []
        with pytest.raises(ValueError, match=r"from \d+ on") as told:
            given.extend(row for batch in parallel_changes(threads) for row in batch.to_pylist())
        start = int(str(told.value).split()[1])
        before = [
            row
            for row in whole
            if row["file"] == "binlog.000001" or (row["file"] == "binlog.000002" and row["position"] < start)
        ]
        assert given == before


def test_ctrl_c_does_not_wait_for_its_turn() -> None:
    """It reaches the thread that reads a stretch whose turn is not yet."""

    def interrupted() -> Iterator[pa.RecordBatch]:
        raise KeyboardInterrupt
        yield

    pipe = parallel.Pipe(1)
    with pytest.raises(KeyboardInterrupt):
        pipe.fill_from(interrupted())
    assert pipe.is_ready  # and nobody who waits for these batches waits for ever


def test_ctrl_c_while_a_log_is_cut() -> None:
    def interrupted() -> Iterator[Any]:
        raise KeyboardInterrupt
        yield

    stretches = parallel.Stretches(interrupted(), 2)
    with pytest.raises(KeyboardInterrupt):
        stretches.take(wait=False)
    assert stretches.take() is None


# --- turns: waiting awake for Python's lock


def work(calls: int) -> None:
    """Calls of the kernel, with a little Python between."""
    data = memoryview(np.zeros(1 << 8, np.uint8))
    for _ in range(calls):
        assert kernel.walk.next_placed(data, 0, 1) == -1


def test_threads_that_end_or_wait_elsewhere_keep_nobody() -> None:
    """A thread that came back from the kernel and did not go there again is a hint that stays: it costs others one wait,
    not one for every call."""
    work(1)
    for seconds in (0.2, 0):
        waits = threading.Event()

        def sleeper(seconds: float = seconds, waits: threading.Event = waits) -> None:
            work(1)
            waits.set()
            time.sleep(seconds)

        thread = threading.Thread(target=sleeper)
        thread.start()
        waits.wait()
        begun = time.thread_time()
        work(2000)
        assert (
            time.thread_time() - begun < 0.1
        )  # with a wait for every call, at least 0.2 of the processor's time
        thread.join()


def test_many_threads_take_turns() -> None:
    done: list[None] = []
    threads = [threading.Thread(target=lambda: done.append(work(20_000))) for _ in range(6)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert len(done) == 6


def test_a_turn_can_be_ended_by_anyone() -> None:
    there: list[kernel.Implementation] = ["interpreted"]
    if not kernel.interpreted_modules():
        there.append("compiled")
    for implementation in there:
        with kernel.use(implementation):
            assert kernel.turns.end() is None
            work(10)
            kernel.turns.end()
            kernel.turns.end()
