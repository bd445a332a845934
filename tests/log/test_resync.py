"""Behind damage: every byte is in one frame or damage, sound events are found again, others are not taken."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gtidal.errors import ChecksumMismatch, KeyProblem, NotABinlog, Truncated
from gtidal.events import encode_event
from gtidal.events.format import CRC32, NO_CHECKSUM, Format
from gtidal.events.transaction import Xid
from gtidal.log.decoder import Frame
from gtidal.log.resync import Prover, Verdict
from gtidal.log.salvage import Damage
from tests.log.making import (
    damages,
    frames,
    gtid,
    header,
    log,
    previous,
    rotate,
    salvage,
    sample,
    transaction,
)
from tests.logs import CorpusLog, corpus_logs, format_description

SEALED = format_description().format
BARE = format_description(checksum=NO_CHECKSUM).format
BOTH = pytest.mark.parametrize("checksum", [CRC32, NO_CHECKSUM], ids=["crc32", "none"])


def assert_all_bytes(items: list[Frame | Damage], size: int) -> None:
    position = 0 if items and items[0].position == 0 else min(4, size)
    for item in items:
        assert item.position == position
        position = item.end
    assert position == size


def at(data: bytes, number: int) -> Frame:
    return frames(data)[number]


def test_a_sound_log_has_no_damage() -> None:
    data = sample()
    items = salvage(data)
    assert not [item for item in items if isinstance(item, Damage)]
    assert_all_bytes(items, len(data))


def test_a_flipped_byte_costs_one_event() -> None:
    data = sample()
    victim = at(data, 12)
    position = victim.position + 25
    broken = data[:position] + bytes([data[position] ^ 4]) + data[position + 1 :]
    (damage,) = damages(broken)
    assert (damage.position, damage.size, damage.goes_on) == (victim.position, len(victim.data), True)
    assert isinstance(damage.error, ChecksumMismatch)
    assert [frame for frame in frames(data) if frame != victim] == frames(broken)


@BOTH
@pytest.mark.parametrize("field", ["size", "log_pos"])
def test_a_lying_header_costs_one_event(checksum: int, field: str) -> None:
    data = sample(checksum)
    victim = at(data, 12)
    offset = victim.position + {"size": 9, "log_pos": 13}[field]
    for lie in (0, 19, 50, 5000, 1 << 29, (1 << 32) - 1):
        broken = data[:offset] + lie.to_bytes(4, "little") + data[offset + 4 :]
        items = salvage(broken)
        assert_all_bytes(items, len(data))
        lost = [item for item in items if isinstance(item, Damage)]
        if field == "size" or checksum == CRC32:
            assert [(damage.position, damage.size) for damage in lost] == [
                (victim.position, len(victim.data))
            ]
        assert set(frames(data)) - set(frames(broken)) == {victim}


@BOTH
def test_garbage_between_events(checksum: int) -> None:
    data = sample(checksum)
    place = at(data, 12).position
    garbage = random.Random(1).randbytes(3000)
    broken = data[:place] + garbage + data[place:]
    (damage,) = damages(broken)
    assert (damage.position, damage.size) == (place, len(garbage))
    assert [frame.data for frame in frames(broken)] == [frame.data for frame in frames(data)]


@BOTH
def test_bytes_cut_out(checksum: int) -> None:
    data = sample(checksum)
    first, last = at(data, 8), at(data, 12)
    broken = data[: first.position + 30] + data[last.position + 5 :]
    kept = [frame.data for frame in frames(broken)]
    untouched = [
        frame.data for frame in frames(data) if frame.end <= first.position or frame.position >= last.end
    ]
    assert set(untouched) <= set(kept)


@BOTH
def test_zeroed_pages(checksum: int) -> None:
    data = sample(checksum)
    first = at(data, 8)
    broken = data[: first.position] + bytes(512) + data[first.position + 512 :]
    (damage,) = damages(broken)
    assert damage.position == first.position
    assert damage.size >= 512
    assert damage.goes_on


def test_a_tail_of_zeros() -> None:
    data = sample()
    (damage,) = damages(data + bytes(4096))
    assert (damage.position, damage.size, damage.zeros) == (len(data), 4096, True)
    assert not damage.goes_on


@BOTH
@pytest.mark.parametrize("known_size", [True, False], ids=["size known", "size unknown"])
def test_every_cut_is_partial(checksum: int, known_size: bool) -> None:
    data = sample(checksum, transactions=2)
    ends = {4, *(frame.end for frame in frames(data))}
    for size in range(5, len(data)):
        lost = damages(data[:size], known_size=known_size)
        if size in ends:
            assert lost == []
        else:
            (damage,) = lost
            assert damage.partial, size
            assert isinstance(damage.error, Truncated)


@pytest.mark.parametrize("size", [0, 1, 2, 3])
def test_fewer_bytes_than_magic(size: int) -> None:
    (damage,) = salvage(sample()[:size])
    assert damage == damage._replace(position=0, size=size, goes_on=False, partial=True)


def test_magic_bytes_alone_are_damaged() -> None:
    data = sample()
    items = salvage(b"\0\0\0\0" + data[4:])
    assert (items[0].position, items[0].end) == (0, 4)
    assert items[1:] == salvage(data)


def test_something_else_is_no_log() -> None:
    with pytest.raises(NotABinlog):
        salvage(b"root:x:0:0:root:/root:/bin/bash\n" * 20)


@BOTH
def test_a_damaged_format_description(checksum: int) -> None:
    """Whether the events have checksums is then told by them."""
    data = sample(checksum)
    first = at(data, 0)
    for position in range(19 + 4, first.end, 7):
        broken = bytearray(data)
        broken[position] ^= 0xFF
        items = salvage(bytes(broken))
        assert_all_bytes(items, len(data))
        got = {item.data for item in items if isinstance(item, Frame)}
        assert {frame.data for frame in frames(data)[1:]} <= got


def test_an_encryption_header_that_is_none() -> None:
    data = b"\xfdbin" + bytes([1, 77]) + random.Random(4).randbytes(2000)
    (damage,) = salvage(data)
    assert (damage.position, damage.size, damage.goes_on) == (0, len(data), False)


# --- events inside BLOBs


def crafted(place: int, format: Format, count: int = 6) -> bytes:
    """Events that claim to lie at ``place`` of the file, with positions and checksums that fit."""
    data = b""
    for number in range(count):
        event = Xid(xid=number, header=header(16))
        end = place + len(data) + len(encode_event(event, format))
        data += encode_event(replace(event, header=replace(event.header, log_pos=end & 0xFFFFFFFF)), format)
    return data


def with_blob(checksum: int) -> tuple[bytes, Frame]:
    """A log, and the event of it that holds crafted events with matching positions."""
    format = SEALED if checksum == CRC32 else BARE
    text = b"INSERT INTO t VALUES ('" + bytes(400) + b"')"

    def build(blob: bytes) -> bytes:
        events = [
            previous(),
            *transaction(1),
            *transaction(2, blob),
            *transaction(3),
            rotate("binlog.000002"),
        ]
        return log(events, checksum=checksum)

    draft = build(text)
    place = draft.index(bytes(400))
    fake = crafted(place, format)
    data = build(text[:23] + fake + bytes(400 - len(fake)) + text[423:])
    assert data[place : place + len(fake)] == fake
    return data, next(frame for frame in frames(data) if frame.position < place < frame.end)


@BOTH
def test_crafted_events_are_not_seen_in_a_sound_log(checksum: int) -> None:
    data, _ = with_blob(checksum)
    assert damages(data) == []


@BOTH
@pytest.mark.parametrize("offset", range(19), ids=str)
def test_crafted_events_are_not_taken_when_one_field_lies(checksum: int, offset: int) -> None:
    """The damaged event's own header still tells where it ends: in its size, or in its position."""
    data, victim = with_blob(checksum)
    place = victim.position + offset
    broken = data[:place] + bytes([data[place] ^ 0x15]) + data[place + 1 :]
    before = frames(data)
    after = frames(broken)
    assert {frame.position for frame in after} <= {frame.position for frame in before}
    assert set(before) - set(after) == {victim}


def test_crafted_events_with_the_wrong_position_are_no_boundary() -> None:
    prover = Prover(SEALED, strict=True)
    fake = crafted(5000, SEALED)
    assert prover.judge(fake, 0, 4000, True) is Verdict.REFUTED
    assert prover.judge(fake, 0, 5000, True) is Verdict.PROVEN


def test_a_log_inside_an_unfinished_event_is_not_read() -> None:
    """A file in use ends inside an event that holds another log: that log's events are no part of this."""
    data = log([previous(), *transaction(1, sample()), *transaction(2)], in_use=True)
    holder = max(frames(data), key=lambda frame: len(frame.data))
    (damage,) = damages(data[: holder.end - 10])
    assert damage.partial
    assert damage.position == holder.position


# --- positions of another file


def relay(checksum: int = CRC32) -> bytes:
    """A relay log: the replica's own head, then the source's events with the source's positions."""
    inner = sample(checksum)
    first = at(inner, 0)
    head = log([rotate("binlog.000001", flags=0x20)], first_flags=0x40, checksum=checksum)
    return head + inner[first.position :]


@BOTH
def test_a_relay_log(checksum: int) -> None:
    data = relay(checksum)
    assert damages(data) == []
    victim = at(data, 14)
    broken = data[: victim.position] + random.Random(2).randbytes(len(victim.data)) + data[victim.end :]
    lost = set(frames(data)) - set(frames(broken))
    assert victim in lost
    assert len(lost) <= (1 if checksum == CRC32 else 3)
    assert_all_bytes(salvage(broken), len(data))


def test_positions_wrap_at_4_gib() -> None:
    prover = Prover(SEALED)
    place = (1 << 32) - 40
    assert prover.judge(crafted(place, SEALED), 0, place, True) is Verdict.PROVEN


# --- undecided, and bounded


def test_more_data_are_asked_for() -> None:
    fake = crafted(100, SEALED, 2)
    prover = Prover(SEALED)
    verdicts = [prover.judge(fake[:size], 0, 100, False) for size in range(len(fake) + 1)]
    proven = verdicts.index(Verdict.PROVEN)
    assert set(verdicts[:proven]) == {Verdict.UNDECIDED}
    assert set(verdicts[proven:]) == {Verdict.PROVEN}


@pytest.mark.parametrize("chunk", [1, 7, 100, None])
def test_the_same_in_any_pieces(chunk: int | None) -> None:
    data = sample()
    place = at(data, 12).position
    broken = data[:place] + random.Random(3).randbytes(777) + data[place + 40 :]
    assert [item[:2] for item in salvage(broken, chunk)] == [item[:2] for item in salvage(broken)]


@pytest.mark.parametrize(
    "garbage", [bytes(1 << 21), b"\x02" * (1 << 20), b"\x13\x00" * (1 << 20)], ids=["0", "2", "19"]
)
def test_monotonous_garbage_is_passed(garbage: bytes) -> None:
    data = sample()
    place = at(data, 12).position
    (damage,) = damages(data[:place] + garbage + data[place:])
    assert damage.size == len(garbage)


def test_headers_that_lie_in_unison_do_not_cost_quadratic_time() -> None:
    """Each claims a long event, and where that ends is another such header: checksums are not computed for
    all of them."""
    step, size = 19, 19 * 20_000
    one = b"".join(
        encode_event(gtid(1), BARE)[:9]
        + size.to_bytes(4, "little")
        + (place + size).to_bytes(4, "little")
        + b"\0\0"
        for place in range(0, 19 * 60_000, step)
    )
    prover = Prover(SEALED, own_positions=False)
    assert prover.search(one, 1, 0, True)[1] is False


@settings(max_examples=300, deadline=None)
@given(st.data(), st.sampled_from([CRC32, NO_CHECKSUM]))
def test_any_damage_is_accounted_for(data: st.DataObject, checksum: int) -> None:
    sound = sample(checksum, transactions=3)
    start = data.draw(st.integers(0, len(sound)))
    end = data.draw(st.integers(start, min(len(sound), start + 200)))
    put_in = data.draw(st.binary(max_size=200))
    broken = sound[:start] + put_in + sound[end:]
    chunk = data.draw(st.sampled_from([None, 1, 50]))
    try:
        items = salvage(broken, chunk, data.draw(st.booleans()))
    except (NotABinlog, KeyProblem):
        assert start < 21
        return
    assert_all_bytes(items, len(broken))


WITH_EVENTS = [entry for entry in corpus_logs() if not entry.name.endswith(".ibb")]


@pytest.mark.parametrize("entry", WITH_EVENTS, ids=str)
def test_corpus_logs_are_read_as_the_plain_decoder_reads_them(entry: CorpusLog) -> None:
    data = entry.data
    items = salvage(data)
    assert_all_bytes(items, len(data))
    if not entry.bad_checksums:
        assert [item for item in items if isinstance(item, Damage) and not item.partial] == []
