"""Whatever the bytes: events, or a GtidalError. No other exception, no hang, no memory the input does not justify."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gtidal.errors import GtidalError
from gtidal.events import Context, decode_event, trace_event
from gtidal.events.mariadb import QueryCompressed
from gtidal.events.rows import RowsEvent
from gtidal.events.statement import UserVar
from gtidal.events.transaction import TransactionPayload
from gtidal.log.decoder import LogDecoder
from gtidal.log.transactions import TransactionTracker
from tests.logs import CorpusLog, build_log, corpus_logs, format_description
from tests.samples import samples

PARTS = 10
SAMPLES = [event for event in samples() if event.code not in (1, 15, 164)]


def small_log(part: int, parts: int = PARTS, checksum: int = 0) -> bytes:
    """A log of 1 to 2 KB; together the parts hold every event type. No checksums: damage gets through."""
    table = [event for event in SAMPLES if event.code == 19]
    return build_log([*table, *SAMPLES[part::parts]], checksum)


def survive(data: bytes) -> int:
    """Read everything in every way; returns how many events came out."""
    decoder = LogDecoder("hostile", verify_checksum=False)
    decoder.receive_data(data)
    decoder.end_of_data()
    tracker = TransactionTracker()
    count = 0
    while True:
        try:
            frame = decoder.next_frame()
        except GtidalError:
            return count
        if frame is None:
            return count
        count += 1
        tables = dict(decoder.context.tables)
        try:
            event = decoder.decode(frame)
            trace_event(frame.data, frame.position, Context(decoder.format, tables))
            event.summary()
            list(tracker.feed(event))
            if isinstance(event, RowsEvent) and event.table is not None:
                for before, after in event.changes():
                    repr(before), repr(after)
            elif isinstance(event, TransactionPayload):
                for _, inner in decoder.inner(event):
                    list(tracker.feed(inner))
            elif isinstance(event, QueryCompressed):
                len(event.query)
            elif isinstance(event, UserVar):
                event.python()
        except GtidalError as error:
            assert str(error)
            assert error.position is not None or error.field is not None


def damaged_bytes(data: bytes, offsets: Iterable[int]) -> Iterator[bytes]:
    """Each byte set to 0, to 255, and with each bit flipped."""
    for offset in offsets:
        old = data[offset]
        for new in {0, 255, *(old ^ (1 << bit) for bit in range(8))} - {old}:
            yield data[:offset] + bytes((new,)) + data[offset + 1 :]


def boundaries(data: bytes) -> list[int]:
    decoder = LogDecoder(verify_checksum=False)
    decoder.receive_data(data)
    found = [0, 4]
    try:
        while (frame := decoder.next_frame()) is not None:
            found.append(frame.end)
    except GtidalError:
        pass
    return found


@pytest.mark.parametrize("part", range(PARTS))
def test_every_prefix(part: int) -> None:
    data = small_log(part)
    for end in range(part % 5, len(data), 5):  # `make soak` takes every one
        survive(data[:end])
    assert survive(data) == len(SAMPLES[part::PARTS]) + 2


@pytest.mark.parametrize("part", range(PARTS))
def test_damaged_bytes_sampled(part: int) -> None:
    data = small_log(part)
    chosen = random.Random(part).sample(range(len(data)), 30)
    for damaged in damaged_bytes(data, chosen):
        survive(damaged)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(PARTS))
def test_every_damaged_byte(part: int) -> None:
    data = small_log(part)
    for end in range(len(data)):
        survive(data[:end])
    for damaged in damaged_bytes(data, range(len(data))):
        survive(damaged)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    part=st.integers(0, PARTS - 1),
    cuts=st.lists(
        st.tuples(st.floats(0, 1), st.integers(0, 40), st.binary(max_size=40)), min_size=1, max_size=4
    ),
)
def test_random_changes_and_lengths(part: int, cuts: list[tuple[float, int, bytes]]) -> None:
    data = small_log(part)
    for place, removed, inserted in cuts:
        start = 4 + int(place * (len(data) - 4))
        data = data[:start] + inserted + data[start + removed :]
    survive(data)


@settings(max_examples=300, deadline=None)
@given(code=st.integers(0, 255), body=st.binary(max_size=200), flags=st.integers(0, 65535))
def test_random_bodies(code: int, body: bytes, flags: int) -> None:
    """Any bytes as the body of any type."""
    size = 19 + len(body)
    header = (
        bytes(4)
        + bytes((code,))
        + bytes(4)
        + size.to_bytes(4, "little")
        + bytes(4)
        + flags.to_bytes(2, "little")
    )
    context = Context(format_description(checksum=0).format, {})
    for read in (decode_event, trace_event):
        try:
            read(header + body, 4, context)
        except GtidalError as error:
            assert error.position == 4


CODES = sorted({event.code for event in SAMPLES})


def lie_about_lengths(code: int, widths: tuple[int, ...], step: int, reach: int) -> None:
    """Bytes of a body as the largest number there is: no memory is taken for a promise."""
    log = build_log([event for event in SAMPLES if event.code in (19, code)], 0)
    tracemalloc.start()
    try:
        for start in boundaries(log)[2:-1]:
            for offset in range(start + 13 + code % step, min(len(log), start + reach), step):
                for width in widths:
                    survive(log[:offset] + b"\xff" * width + log[offset + width :])
                    survive(log[:offset] + (b"\xfe" + b"\xff" * 8)[: width + 1] + log[offset + width + 1 :])
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("code", CODES)
def test_lying_lengths(code: int) -> None:
    lie_about_lengths(code, (4,), 4, 70)


@pytest.mark.soak
@pytest.mark.parametrize("code", CODES)
def test_lying_lengths_everywhere(code: int) -> None:
    lie_about_lengths(code, (1, 2, 4, 8), 1, 400)


@pytest.mark.parametrize("log", [log for log in corpus_logs() if "IBB_FORMAT" not in log.flags], ids=str)
def test_prefixes_around_boundaries(log: CorpusLog) -> None:
    data = log.data[:4000]
    for end in boundaries(data)[:4]:
        for cut in range(max(0, end - 3), min(len(data), end + 24)):
            survive(data[:cut])


@pytest.mark.soak
@pytest.mark.parametrize("log", [log for log in corpus_logs() if "IBB_FORMAT" not in log.flags], ids=str)
def test_every_prefix_of_small_logs(log: CorpusLog) -> None:
    data = log.data
    if len(data) <= 4096:
        for end in range(len(data)):
            survive(data[:end])


@pytest.mark.soak
@pytest.mark.parametrize("log", [log for log in corpus_logs() if "IBB_FORMAT" not in log.flags], ids=str)
def test_damage_in_the_corpus(log: CorpusLog) -> None:
    data = log.data[:4096]
    for damaged in damaged_bytes(data, range(0, len(data), 7)):
        survive(damaged)
