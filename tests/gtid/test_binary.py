"""The three binary encodings: the seeds' bytes, round trips, traces, and bytes that lie."""

from __future__ import annotations

import pickle
import struct
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gtidal.errors import DecodeError, GtidalError, Truncated, UsageError
from gtidal.gtid import EncodedEntry, EncodedGtidSet, GtidSet, parse_uuid
from gtidal.wire.layout import Fields, Record
from tests.gtid.strategies import LARGEST, UUIDS, gtid_sets, untagged_sets

# seeds/001: binlog.000024 at 145
UNTAGGED = bytes.fromhex(
    "0100000000000000 b8ae2fd2300511f08be80242ac150002 0100000000000000 0100000000000000 0c00000000000000"
)
# seeds/001: binlog_gtid_tag.000001 at 146
TWO_TAGS = bytes.fromhex(
    """
    0102 0000 0000 0001 5577 8904 0299 11f1 b1b8 4ef0 c495 6feb 0001 0000 0000 0000
    0001 0000 0000 0000 000e 0000 0000 0000 0055 7789 0402 9911 f1b1 b84e f0c4 956f
    eb0a 6d79 7461 6701 0000 0000 0000 0001 0000 0000 0000 0003 0000 0000 0000 00
    """
)
# seeds/004: two servers
TWO_UUIDS = bytes.fromhex(
    "0200000000000000"
    "24985463a53611e8a30c5254008138e4 0100000000000000 0100000000000000 0800000000000000"
    "6cea48f6926c11e9b1cb5254008138e4 0100000000000000 0100000000000000 0500000000000000"
)
# By hand from format.md 10.2: tags "" and "a"; uuid:1-5:9 and uuid:a:4, then another uuid:a:1.
COMPACT = bytes.fromhex(
    "02 030000000000 02   04 00 02 61"
    "02 3e11fa4771ca11e19e33c80aa9429562 06 08 04 00"  # new uuid, tag 0, 3 boundaries: (1) 6 9 10
    "04                                  04 04 00"  # same uuid, tag 1, 2 boundaries: 4 5
    "06 b8ae2fd2300511f08be80242ac150002 02 00"  # new uuid, tag 1, 1 boundary: (1) 2
)

SEEDS = {
    "untagged": (UNTAGGED, 0, "b8ae2fd2-3005-11f0-8be8-0242ac150002:1-11"),
    "tagged": (TWO_TAGS, 1, "55778904-0299-11f1-b1b8-4ef0c4956feb:1-13:mytag:1-2"),
    "two uuids": (
        TWO_UUIDS,
        0,
        "24985463-a536-11e8-a30c-5254008138e4:1-7,\n6cea48f6-926c-11e9-b1cb-5254008138e4:1-4",
    ),
    "compact": (COMPACT, 2, f"{UUIDS[1]}:1-5:9:a:4,\n{UUIDS[2]}:a:1"),
    "empty": (bytes(8), 0, ""),
    "empty, tagged": (bytes.fromhex("0100000000000001"), 1, ""),
    "empty, compact": (bytes.fromhex("0200000000000002"), 2, ""),
}


@pytest.mark.parametrize("name", SEEDS)
def test_seeds(name: str) -> None:
    data, encoding, text = SEEDS[name]
    record = EncodedGtidSet.decode(data)
    assert record.encoding == encoding
    assert str(record.to_set()) == text
    assert record.encode() == data
    assert EncodedGtidSet.from_set(GtidSet(text), encoding) == record
    assert GtidSet.decode(data).encode(encoding) == data
    assert pickle.loads(pickle.dumps(record)) == record


def test_traces_say_what_the_seed_says() -> None:
    def rows(data: bytes) -> list[tuple[str, int, int, object]]:
        return [(field.name, field.offset, field.size, field.value) for field in EncodedGtidSet.trace(data)]

    uuid = TWO_TAGS[8:24]
    assert rows(UNTAGGED) == [
        ("n_sids", 0, 8, 1),
        ("entries[0].uuid", 8, 16, UNTAGGED[8:24]),
        ("entries[0].n_intervals", 24, 8, 1),
        ("entries[0].interval[0].start", 32, 8, 1),
        ("entries[0].interval[0].end", 40, 8, 12),
    ]
    assert rows(TWO_TAGS) == [
        ("encoding", 0, 1, 1),
        ("n_tsids", 1, 6, 2),
        ("encoding_again", 7, 1, 1),
        ("entries[0].uuid", 8, 16, uuid),
        ("entries[0].tag_length", 24, 1, 0),
        ("entries[0].n_intervals", 25, 8, 1),
        ("entries[0].interval[0].start", 33, 8, 1),
        ("entries[0].interval[0].end", 41, 8, 14),
        ("entries[1].uuid", 49, 16, uuid),
        ("entries[1].tag_length", 65, 1, 5),
        ("entries[1].tag", 66, 5, "mytag"),
        ("entries[1].n_intervals", 71, 8, 1),
        ("entries[1].interval[0].start", 79, 8, 1),
        ("entries[1].interval[0].end", 87, 8, 3),
    ]
    assert [(name, value) for name, _, _, value in rows(COMPACT)][3:12] == [
        ("n_tags", 2),
        ("tags[0]_length", 0),
        ("tags[1]_length", 1),
        ("tags[1]", "a"),
        ("entries[0].code", 1),
        ("entries[0].uuid", parse_uuid(UUIDS[1])),
        ("entries[0].n_boundaries", 3),
        ("entries[0].interval[0].end", 6),
        ("entries[0].interval[1].start", 9),
    ]


@given(gtid_sets, st.integers(1, 2))
def test_round_trip(gtids: GtidSet, encoding: int) -> None:
    check_round_trip(gtids, encoding)


@given(untagged_sets)
def test_round_trip_without_tags(gtids: GtidSet) -> None:
    check_round_trip(gtids, 0)
    assert gtids.encode() == gtids.encode(0)


def check_round_trip(gtids: GtidSet, encoding: int) -> None:
    data = gtids.encode(encoding)
    record = EncodedGtidSet.decode(data)
    assert record.to_set() == GtidSet.decode(data) == gtids
    assert record.encode() == data
    fields = EncodedGtidSet.trace(data)
    assert fields[0].offset == 0
    assert all(before.offset + before.size == after.offset for before, after in pairwise(fields))
    assert fields[-1].offset + fields[-1].size == len(data)


@given(gtid_sets.filter(lambda gtids: gtids.interval_count > 1), st.integers(1, 2), st.data())
def test_any_order_of_entries_is_kept(gtids: GtidSet, encoding: int, data: st.DataObject) -> None:
    record = EncodedGtidSet.from_set(gtids, encoding)
    entries = tuple(data.draw(st.permutations(record.entries)))
    tags = tuple(data.draw(st.permutations(record.tags)))
    mixed = EncodedGtidSet(encoding, entries, tags)
    again = EncodedGtidSet.decode(mixed.encode())
    assert again == mixed
    assert again.to_set() == gtids


def test_default_encoding() -> None:
    assert EncodedGtidSet.from_set(GtidSet(f"{UUIDS[0]}:1")).encoding == 0
    assert EncodedGtidSet.from_set(GtidSet(f"{UUIDS[0]}:t:1")).encoding == 1
    with pytest.raises(UsageError, match="needs encoding 1 or 2"):
        GtidSet(f"{UUIDS[0]}:t:1").encode(0)
    with pytest.raises(UsageError, match="encodings 0, 1 and 2, not 3"):
        GtidSet().encode(3)


def test_odd_but_valid() -> None:
    uuid = parse_uuid(UUIDS[0])
    record = EncodedGtidSet(
        1,
        (
            EncodedEntry(uuid, "MyTag", ((5, 6),)),  # folded in the set, kept in the bytes
            EncodedEntry(uuid, "", ()),
            EncodedEntry(uuid, "mytag", ((1, 2), (6, LARGEST + 1))),  # the same tag once more
        ),
    )
    assert EncodedGtidSet.decode(record.encode()) == record
    assert str(record.to_set()) == f"{UUIDS[0]}:mytag:1:5-{LARGEST}"


def test_a_changed_field_changes_the_bytes() -> None:
    record = EncodedGtidSet.decode(UNTAGGED)
    entry = record.entries[0]
    longer = EncodedGtidSet(0, (EncodedEntry(entry.uuid, "", ((1, 12), (20, 22))),))
    assert str(GtidSet.decode(longer.encode())) == "b8ae2fd2-3005-11f0-8be8-0242ac150002:1-11:20-21"
    assert EncodedGtidSet(1, record.entries).encode()[:8].hex() == "0101000000000001"


class _Holder(Record):
    """A record with a set inside, as events have it."""

    before: int
    gtids: EncodedGtidSet
    after: int

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.u16("before")
        f.record("gtids", EncodedGtidSet)
        f.u16("after")


@pytest.mark.parametrize("name", SEEDS)
def test_inside_another_record(name: str) -> None:
    data = b"\x01\x02" + SEEDS[name][0] + b"\x03\x04"
    record = _Holder.decode(data)
    assert (record.before, record.after) == (0x0201, 0x0403)
    assert record.encode() == data
    names = [field.name for field in _Holder.trace(data)]
    assert names[1] in ("gtids.n_sids", "gtids.encoding")
    with pytest.raises(Truncated) as caught:
        _Holder.decode(data[:5])
    assert caught.value.field == "gtids.n_sids"


def word(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}q", *numbers)


ID = bytes(15) + b"\1"

LIES = {
    "count": (struct.pack("<Q", 1 << 48), "n_sids"),
    "count of 56 bits": (struct.pack("<Q", (1 << 56) - 1) + bytes(100), "n_sids"),
    "tagged count": (b"\1\xff\xff\xff\xff\xff\xff\1" + bytes(100), "n_tsids"),
    "compact count": (b"\2\xff\xff\xff\xff\xff\xff\2" + bytes(100), "n_tsids"),
    "unknown encoding": (word(3 << 56), "encoding"),
    "encodings differ": (word(1 << 56), "encoding"),
    "intervals": (word(1) + ID + struct.pack("<Q", 1 << 60), "entries[0].n_intervals"),
    "start 0": (word(1) + ID + word(1, 0, 5), "entries[0].interval[0].start"),
    "start below 0": (word(1) + ID + word(1, -5, 5), "entries[0].interval[0].start"),
    "empty interval": (word(1) + ID + word(1, 5, 5), "entries[0].interval[0].end"),
    "backwards": (word(1) + ID + word(1, 5, 4), "entries[0].interval[0].end"),
    "touching": (word(1) + ID + word(2, 1, 5, 5, 9), "entries[0].interval[1].start"),
    "descending": (word(1) + ID + word(2, 5, 9, 1, 2), "entries[0].interval[1].start"),
    "tag too long": (b"\1\1\0\0\0\0\0\1" + ID + b"\x42" + b"a" * 33 + word(0), "entries[0].tag_length"),
    "not a tag": (b"\1\1\0\0\0\0\0\1" + ID + b"\x04a-" + word(0), "entries[0].tag"),
    "not ASCII": (b"\1\1\0\0\0\0\0\1" + ID + b"\x04a\xe9" + word(0), "entries[0].tag"),
    "tags": (b"\2\1\0\0\0\0\0\2" + b"\xfe" + ID, "n_tags"),
    "tag index": (b"\2\1\0\0\0\0\0\2" + b"\2\0" + b"\6" + ID + b"\0", "entries[0].code"),
    "no uuid": (b"\2\1\0\0\0\0\0\2" + b"\2\0" + b"\0" + ID + b"\0", "entries[0].code"),
    "boundaries": (b"\2\1\0\0\0\0\0\2" + b"\2\0" + b"\2" + ID + b"\xfe", "entries[0].n_boundaries"),
    "boundary too large": (
        b"\2\1\0\0\0\0\0\2" + b"\2\0" + b"\2" + ID + b"\2" + b"\xff" * 9,
        "entries[0].interval[0].end",
    ),
}


@pytest.mark.parametrize("name", LIES)
def test_lies_are_named(name: str) -> None:
    data, field = LIES[name]
    for read in (EncodedGtidSet.decode, EncodedGtidSet.trace):
        with pytest.raises(DecodeError) as caught:
            read(data)
        assert caught.value.field == field


@pytest.mark.parametrize(
    ("entry", "field"),
    [
        (EncodedEntry(ID[1:], "", ()), "entries[0].uuid"),
        (EncodedEntry(ID, "9", ()), "entries[0].tag"),
        (EncodedEntry(ID, "", ((0, 1),)), "entries[0].interval[0].start"),
        (EncodedEntry(ID, "", ((1, LARGEST + 2),)), "entries[0].interval[0].end"),
        (EncodedEntry(ID, "", ((1, 1 << 70),)), "entries[0].interval[0].end"),
    ],
)
def test_what_cannot_be_written(entry: EncodedEntry, field: str) -> None:
    for encoding in (0, 1, 2):
        with pytest.raises(DecodeError) as caught:
            EncodedGtidSet(encoding, (entry,), ("",) if encoding == 2 else ()).encode()
        assert caught.value.field == field


def read_or_refuse(data: bytes) -> None:
    try:
        record = EncodedGtidSet.decode(data)
    except GtidalError:
        return
    assert EncodedGtidSet.decode(record.encode()) == record
    record.to_set()


@pytest.mark.parametrize("name", SEEDS)
def test_every_prefix_and_every_flipped_bit(name: str) -> None:
    data = SEEDS[name][0]
    for size in range(len(data)):
        with pytest.raises(DecodeError):
            EncodedGtidSet.decode(data[:size])
    for bit in range(8 * len(data)):
        damaged = bytearray(data)
        damaged[bit >> 3] ^= 1 << (bit & 7)
        read_or_refuse(bytes(damaged))
    for position in range(len(data)):
        for value in (0, 255):
            read_or_refuse(data[:position] + bytes((value,)) + data[position + 1 :])
    with pytest.raises(DecodeError, match="follow the last field"):
        EncodedGtidSet.decode(data + b"\0")


@given(st.sampled_from([0, 1, 2]), st.integers(0, 3), st.binary(max_size=120))
def test_any_bytes(encoding: int, count: int, rest: bytes) -> None:
    head = word(count) if encoding == 0 else bytes((encoding, count, 0, 0, 0, 0, 0, encoding))
    read_or_refuse(head + rest)
    read_or_refuse(rest)


@pytest.mark.parametrize("encoding", [0, 1, 2])
def test_many_intervals(encoding: int) -> None:
    gtids = GtidSet.from_ranges({UUIDS[1]: [(3 * n + 1, 3 * n + 2) for n in range(10_000)]})
    check_round_trip(gtids, encoding)


def test_a_uuid_in_fifty_thousand_entries() -> None:
    uuid = parse_uuid(UUIDS[1])
    data = word(50_000) + b"".join(
        uuid + struct.pack("<Qqq", 1, 3 * number + 1, 3 * number + 2) for number in range(50_000)
    )
    started = time.process_time()
    assert GtidSet.decode(data).interval_count == 50_000
    assert time.process_time() - started < 5
