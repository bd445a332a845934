"""GTID_TAGGED: published vectors, and messages no server has written yet."""

from __future__ import annotations

from uuid import UUID

import pytest

from gtidal.errors import DecodeError, Unsupported
from gtidal.events import Context, Format
from gtidal.events.transaction import GtidTagged
from gtidal.wire.words import encode_uvarint

CONTEXT = Context(Format(), {})
FOOBAZ = bytes.fromhex(
    "02 76 00 00 02 02 25 02 dc f0 09 02 30 f9 03 22 bd 03 ad 02 21 02 44 44 5a 68 51 03 22 04 04 06"
    "0c 66 6f 6f 62 61 7a 08 00 0a 04 0c 7f 15 83 22 2d 5c 2e 06 10 49 03 12 c3 02 0b"
)
SECONDTEST = bytes.fromhex(
    "02 78 00 00 00 02 aa aa aa aa 88 88 66 66 44 44 22 22 22 22 22 22 04 73 20 1b 06 14 73 65 63 6f"
    "6e 64 74 65 73 74 08 c1 0e 0a d1 0e 0c 7f 23 35 48 61 bd 26 06 10 59 04 12 a3 ff 0a"
)


def test_first_vector() -> None:
    event = GtidTagged.decode(FOOBAZ, CONTEXT)
    assert event.flags == 1
    assert str(UUID(bytes=event.uuid)) == "896e7882-18fe-11ef-ab88-22222d34d411"
    assert (event.gno, event.tag) == (1, "foobaz")
    assert (event.last_committed, event.sequence_number) == (0, 1)
    assert event.immediate_commit_timestamp == 1739823289369365
    assert (event.transaction_length, event.immediate_server_version) == (210, 90200)
    assert event.encode(CONTEXT) == FOOBAZ


def test_second_vector() -> None:
    event = GtidTagged.decode(SECONDTEST, CONTEXT)
    assert event.row_only
    assert str(event.gtid) == "55555555-4444-3333-2222-111111111111:secondtest:111111"
    assert (event.last_committed, event.sequence_number) == (472, 474)
    assert event.immediate_commit_timestamp == 1731444683060515
    assert (event.transaction_length, event.immediate_server_version) == (278, 90100)
    assert event.encode(CONTEXT) == SECONDTEST


def sample(**changes: object) -> GtidTagged:
    values = {"flags": 0, "uuid": b"\xff" * 16, "gno": 7, "tag": "t" * 32} | changes
    return GtidTagged(**values)  # type: ignore[arg-type]


def test_a_message_longer_than_127_bytes() -> None:
    """The size then takes two bytes, and counts them."""
    event = sample(
        last_committed=(1 << 62),
        sequence_number=(1 << 62) + 1,
        immediate_commit_timestamp=1 << 55,
        original_commit_timestamp=1 << 55,
        transaction_length=1 << 63,
        commit_group_ticket=(1 << 64) - 1,
    )
    data = event.encode(CONTEXT)
    assert len(data) > 127
    assert GtidTagged.decode(data, CONTEXT).encode(CONTEXT) == data
    assert GtidTagged.decode(data, CONTEXT).commit_group_ticket == (1 << 64) - 1


@pytest.mark.parametrize("length", range(100, 140))
def test_the_size_counts_itself(length: int) -> None:
    data = sample(unknown_fields=encode_uvarint(50) + bytes(length)).encode(CONTEXT)
    decoded = GtidTagged.decode(data, CONTEXT)
    assert len(decoded.unknown_fields) == length + 1
    assert decoded.encode(CONTEXT) == data


def test_unknown_fields_are_kept() -> None:
    event = sample(unknown_fields=bytes.fromhex("18 02 1a 04"))
    assert GtidTagged.decode(event.encode(CONTEXT), CONTEXT).unknown_fields == bytes.fromhex("18 02 1a 04")


def test_an_unknown_field_that_must_not_be_ignored() -> None:
    event = sample(unknown_fields=bytes.fromhex("18 02"), last_non_ignorable=13)
    with pytest.raises(Unsupported, match="field 12"):
        GtidTagged.decode(event.encode(CONTEXT), CONTEXT)


def test_fields_ascend() -> None:
    data = bytearray(FOOBAZ)
    place = data.index(bytes.fromhex("08 00 0a 04"))
    data[place : place + 4] = bytes.fromhex("0a 04 08 00")
    with pytest.raises(DecodeError, match="comes after"):
        GtidTagged.decode(bytes(data), CONTEXT)


def test_another_version_is_named() -> None:
    with pytest.raises(Unsupported, match="serialization version 2"):
        GtidTagged.decode(b"\x04" + FOOBAZ[1:], CONTEXT)
