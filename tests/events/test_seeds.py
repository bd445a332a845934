"""Every hex example of the documents the product was asked for in: bytes to the printed values, and back."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gtidal.errors import Truncated
from gtidal.events import Format, decode_event, encode_event, trace_event
from gtidal.events.control import PreviousGtids, Rotate
from gtidal.events.format import CRC32, FormatDescription
from gtidal.events.frame import compute_checksum
from gtidal.events.header import Header
from gtidal.events.transaction import Gtid, version_text
from gtidal.gtid import EncodedGtidSet
from tests.logs import context

SEALED = Format(checksum=CRC32)

ROTATE = bytes.fromhex(
    "3910 3568 0401 0000 002c 0000 00c0 0500 0000 0004 0000 0000 0000 0062 696e 6c6f"
    "672e 3030 3030 3235 de7e 7110"
)
GTID = bytes.fromhex(
    "2d10 3568 2101 0000 004f 0000 0014 0100 0000 0001 b8ae 2fd2 3005 11f0 8be8 0242"
    "ac15 0002 0c00 0000 0000 0000 0200 0000 0000 0000 0001 0000 0000 0000 00c6 551b"
    "ae13 3606 fc05 01a8 3801 0068 d627 61"
)
PREVIOUS_GTIDS_HEADER = bytes.fromhex("6e0f 3568 2301 0000 0047 0000 00c5 0000 0080 00")
PREVIOUS_GTIDS = bytes.fromhex(
    "0100 0000 0000 0000 b8ae 2fd2 3005 11f0 8be8 0242 ac15 0002 0100 0000 0000 0000"
    "0100 0000 0000 0000 0c00 0000 0000 0000"
)
TAGGED_GTIDS = bytes.fromhex(
    "0102 0000 0000 0001 5577 8904 0299 11f1 b1b8 4ef0 c495 6feb 0001 0000 0000 0000"
    "0001 0000 0000 0000 000e 0000 0000 0000 0055 7789 0402 9911 f1b1 b84e f0c4 956f"
    "eb0a 6d79 7461 6701 0000 0000 0000 0001 0000 0000 0000 0003 0000 0000 0000 00"
)
PROXY_LOG = bytes.fromhex(
    "fe 62 69 6e 19 6f c9 4c 0f 01 00 00 00 66 00 00 00 6a 00 00 00 00 00 04 00 6d 79 73 71 6c 2d 70"
    "72 6f 78 79 2d 30 2e 37 2e 30 00 00 00 00 00 00"
)
FORMAT_5_5 = bytes.fromhex(
    "82 2d c2 4b 0f 02 00 00 00 67 00 00 00 6b 00 00 00 00 00 04 00 35 2e 35 2e 32 2d 6d 32 00 00 00"
    "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00"
    "00 00 00 00 00 00 00 82 2d c2 4b 13 38 0d 00 08 00 12 00 04 04 04 04 12 00 00 54 00 04 1a 08 00"
    "00 00 08 08 08 02 00"
)
FORMAT_8_0 = bytes.fromhex(
    "3a 49 5c 65 0f 9c 0d 09 00 7a 00 00 00 7e 00 00 00 01 00"
    "04 00 38 2e 30 2e 33 34 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00"
    "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 13 00 0d 00 08 00 00 00"
    "00 04 00 04 00 00 00 62 00 04 1a 08 00 00 00 08 08 08 02 00 00 00 0a 0a 0a 2a 2a 00 12 34 00 0a"
    "28 00 01 a1 35 e0 cd"
)


def utc(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


class TestRotate:
    """Part 10: ROTATE_EVENT."""

    def test_values(self) -> None:
        event = decode_event(ROTATE, 1428, context(SEALED))
        assert isinstance(event, Rotate)
        header = event.header
        assert (header.timestamp, utc(header.timestamp)) == (1748308025, "2025-05-27 01:07:05")
        assert (header.type_code, header.server_id, header.size) == (4, 1, 44)
        assert (header.log_pos, header.end_position, header.flags) == (1472, 1472, 0)
        assert (event.start, event.next_file) == (4, "binlog.000025")
        assert event.checksum == 0x10717EDE == compute_checksum(ROTATE[:-4], 4)
        assert not event.artificial

    def test_back(self) -> None:
        assert encode_event(decode_event(ROTATE, 1428, context(SEALED)), SEALED) == ROTATE

    def test_try_it_yourself(self) -> None:
        event = decode_event(ROTATE, 1428, context(SEALED))
        assert isinstance(event, Rotate)
        header = event.header
        when = datetime.fromtimestamp(header.timestamp, UTC)
        lines = [
            f"ROTATE_EVENT at offset {header.position} ({header.size} bytes)",
            f"Timestamp: {header.timestamp} ({when})",
            f"Server ID: {header.server_id}",
            f"Next position: {header.log_pos}",
            f"Flags: 0x{header.flags:04x}",
            f"pos: {event.start}",
            f"new_log_ident: {event.next_file!r}",
            f"CRC32: {(event.checksum or 0).to_bytes(4, 'little').hex()}",
            f"→ Rotate to {event.next_file} pos: {event.start}",
        ]
        assert " ".join(lines) == (
            "ROTATE_EVENT at offset 1428 (44 bytes) Timestamp: 1748308025 (2025-05-27 01:07:05+00:00) "
            "Server ID: 1 Next position: 1472 Flags: 0x0000 pos: 4 new_log_ident: 'binlog.000025' "
            "CRC32: de7e7110 → Rotate to binlog.000025 pos: 4"
        )

    def test_breakdown(self) -> None:
        """The picture of the event: every byte in one field."""
        _, fields = trace_event(ROTATE, 1428, context(SEALED))
        assert [(field.name, ROTATE[field.offset : field.offset + field.size].hex()) for field in fields] == [
            ("header.timestamp", "39103568"),
            ("header.type_code", "04"),
            ("header.server_id", "01000000"),
            ("header.size", "2c000000"),
            ("header.log_pos", "c0050000"),
            ("header.flags", "0000"),
            ("start", "0400000000000000"),
            ("next_file", "62696e6c6f672e303030303235"),
            ("checksum", "de7e7110"),
        ]


class TestPreviousGtids:
    """Part 4: PREVIOUS_GTIDS_LOG_EVENT."""

    def test_header(self) -> None:
        header = Header.decode(PREVIOUS_GTIDS_HEADER, 19)
        assert (header.timestamp, utc(header.timestamp)) == (1748307822, "2025-05-27 01:03:42")
        assert (header.type_code, header.server_id, header.size, header.log_pos) == (35, 1, 71, 197)
        assert (header.flags, header.flag_names) == (0x80, ("IGNORABLE",))
        assert header.size - 19 - 4 == len(PREVIOUS_GTIDS) == 48

    def test_untagged(self) -> None:
        decoded = EncodedGtidSet.decode(PREVIOUS_GTIDS)
        assert str(decoded.to_set()) == "b8ae2fd2-3005-11f0-8be8-0242ac150002:1-11"
        assert decoded.encode() == PREVIOUS_GTIDS

    def test_tagged(self) -> None:
        assert len(TAGGED_GTIDS) == 95
        decoded = EncodedGtidSet.decode(TAGGED_GTIDS)
        uuid = "55778904-0299-11f1-b1b8-4ef0c4956feb"
        assert [
            f"{entry[0]}:{entry[1] + ':' if entry[1] else ''}{a}-{b}"
            for entry in decoded.to_set()
            for a, b in entry[2]
        ] == [
            f"{uuid}:1-13",
            f"{uuid}:mytag:1-2",
        ]
        assert decoded.encode() == TAGGED_GTIDS

    def test_as_an_event(self) -> None:
        body = PREVIOUS_GTIDS_HEADER + PREVIOUS_GTIDS
        data = body + compute_checksum(body, 35).to_bytes(4, "little")
        event = decode_event(data, 126, context(SEALED))
        assert isinstance(event, PreviousGtids)
        assert event.header.end_position == 197
        assert encode_event(event, SEALED) == data


class TestGtid:
    """Part 5: GTID_LOG_EVENT."""

    def test_values(self) -> None:
        event = decode_event(GTID, 197, context(SEALED))
        assert isinstance(event, Gtid)
        header = event.header
        assert (header.timestamp, utc(header.timestamp)) == (1748308013, "2025-05-27 01:06:53")
        assert (header.type_code, header.server_id, header.size) == (33, 1, 79)
        assert (header.log_pos, header.flags) == (276, 0)
        assert (event.flags, event.row_only) == (1, False)
        assert str(event.gtid) == "b8ae2fd2-3005-11f0-8be8-0242ac150002:12"
        assert (event.clock_type, event.last_committed, event.sequence_number) == (2, 0, 1)
        assert event.immediate_commit_timestamp == 1748308013569478
        assert event.original_commit_timestamp is None
        assert event.transaction_length == 261
        assert event.immediate_server_version == 80040
        assert (event.original_server_version, event.commit_group_ticket) == (None, None)
        assert event.checksum == 0x6127D668 == compute_checksum(GTID[:-4], 33)

    def test_back(self) -> None:
        assert encode_event(decode_event(GTID, 197, context(SEALED)), SEALED) == GTID

    def test_breakdown(self) -> None:
        _, fields = trace_event(GTID, 197, context(SEALED))
        shown = {field.name: GTID[field.offset : field.offset + field.size].hex() for field in fields}
        assert shown["flags"] == "01"
        assert shown["uuid"] == "b8ae2fd2300511f08be80242ac150002"
        assert shown["gno"] == "0c00000000000000"
        assert shown["clock_type"] == "02"
        assert shown["last_committed"] == "0000000000000000"
        assert shown["sequence_number"] == "0100000000000000"
        assert shown["immediate_commit_timestamp"] == "c6551bae133606"
        assert shown["transaction_length"] == "fc0501"
        assert shown["immediate_server_version"] == "a8380100"
        assert shown["checksum"] == "68d62761"

    @pytest.mark.parametrize(
        ("position", "gno", "flags", "last", "sequence", "committed", "length"),
        [
            (197, 12, 1, 0, 1, 1748308013569478, 261),
            (458, 13, 0, 1, 2, 1748308018964504, 310),
            (768, 14, 0, 2, 3, 1748308018968955, 342),
            (1110, 15, 0, 3, 4, 1748308018972353, 318),
        ],
    )
    def test_try_it_yourself(
        self, position: int, gno: int, flags: int, last: int, sequence: int, committed: int, length: int
    ) -> None:
        """The four GTID events of binlog.000024, rebuilt from their printed fields at their offsets."""
        first = decode_event(GTID, 197, context(SEALED))
        assert isinstance(first, Gtid)
        rebuilt = Gtid(
            flags=flags,
            uuid=first.uuid,
            gno=gno,
            clock_type=2,
            last_committed=last,
            sequence_number=sequence,
            immediate_commit_timestamp=committed,
            transaction_length=length,
            immediate_server_version=80040,
            header=Header(committed // 1_000_000, 33, 1, 79, position + 79),
        )
        event = decode_event(encode_event(rebuilt, SEALED), position, context(SEALED))
        assert isinstance(event, Gtid)
        kind = "row-only" if event.row_only else "FLAG_MAY_HAVE_SBR"
        microseconds = event.immediate_commit_timestamp or 0
        assert (
            f"Position {event.header.position}: GTID: {event.gtid} GTID Flags: 0x{event.flags:02x} ({kind}) "
            f"Last Committed: {event.last_committed}, Sequence: {event.sequence_number} "
            f"Immediate Commit Timestamp: {microseconds} μs ({microseconds / 1_000_000:.6f} epoch) "
            f"Transaction Length: {event.transaction_length} bytes "
            f"Server Version: {event.immediate_server_version} ({version_text(event.immediate_server_version)})"
        ) == (
            f"Position {position}: GTID: b8ae2fd2-3005-11f0-8be8-0242ac150002:{gno} GTID Flags: 0x{flags:02x} "
            f"({'FLAG_MAY_HAVE_SBR' if flags else 'row-only'}) Last Committed: {last}, Sequence: {sequence} "
            f"Immediate Commit Timestamp: {committed} μs ({committed // 1_000_000}.{committed % 1_000_000:06d} "
            f"epoch) Transaction Length: {length} bytes Server Version: 80040 (8.0.40)"
        )
        assert event.header.size == 79

    def test_first_is_the_printed_one(self) -> None:
        """Rebuilding the first from its printed fields gives the printed bytes."""
        rebuilt = Gtid(
            flags=1,
            uuid=bytes.fromhex("b8ae2fd2300511f08be80242ac150002"),
            gno=12,
            clock_type=2,
            last_committed=0,
            sequence_number=1,
            immediate_commit_timestamp=1748308013569478,
            transaction_length=261,
            immediate_server_version=80040,
            header=Header(1748308013, 33, 1, 0, 276),
        )
        assert encode_event(rebuilt, SEALED) == GTID

    def test_positions(self) -> None:
        positions = [197]
        for length in (261, 310, 342, 318, 44):
            positions.append(positions[-1] + length)
        assert positions == [197, 458, 768, 1110, 1428, 1472]


class TestFormatDescription:
    """The MySQL Internals page, and the annotated hexdump of an 8.0.34 log."""

    def test_5_5(self) -> None:
        event = decode_event(FORMAT_5_5, 4, context())
        assert isinstance(event, FormatDescription)
        assert (event.header.size, event.header.log_pos, event.header.server_id) == (103, 107, 2)
        assert (event.binlog_version, event.server_version) == (4, "5.5.2-m2")
        assert event.created == 0x4BC22D82
        assert (event.common_header_length, len(event.post_header_lengths)) == (19, 27)
        assert event.checksum_algorithm is None
        assert event.own_length == (84, 103 - 19)
        lengths = dict(enumerate(event.post_header_lengths, 1))
        assert (lengths[1], lengths[2], lengths[4], lengths[15], lengths[18]) == (56, 13, 8, 84, 26)
        assert encode_event(event, event.format) == FORMAT_5_5

    def test_8_0(self) -> None:
        event = decode_event(FORMAT_8_0, 4, context())
        assert isinstance(event, FormatDescription)
        header = event.header
        assert (header.timestamp, header.type_code, header.server_id) == (1700546874, 15, 593308)
        assert (header.size, header.log_pos, header.flag_names) == (122, 126, ("BINLOG_IN_USE",))
        assert (event.binlog_version, event.server_version, event.created) == (4, "8.0.34", 0)
        assert len(event.post_header_lengths) == 41
        assert event.checksum_algorithm == 1
        assert event.own_length == (98, 98)
        assert event.checksum == 0xCDE035A1 == compute_checksum(FORMAT_8_0[:-4], 15)
        assert encode_event(event, event.format) == FORMAT_8_0

    def test_proxy_log_is_cut(self) -> None:
        """The first dump ends after 48 bytes: its header is whole, its body is not."""
        header = Header.decode(PROXY_LOG[4:23], 19)
        assert (header.type_code, header.server_id, header.size, header.log_pos) == (15, 1, 102, 106)
        with pytest.raises(Truncated):
            decode_event(PROXY_LOG[4:], 4, context())
        assert PROXY_LOG[25:41] == b"mysql-proxy-0.7."
