"""The log decoder: any way of cutting the input gives the same events, and every kind of file is told."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from gtidal.errors import ChecksumMismatch, DecodeError, GtidalError, KeyProblem, NotABinlog, Truncated
from gtidal.events import Event, Format, Header, decode_event, encode_event
from gtidal.events.control import Rotate, Stop
from gtidal.events.format import CRC32, MAGIC, FormatDescription, StartV3
from gtidal.events.rows import RowsEvent
from gtidal.events.statement import Query
from gtidal.events.transaction import Xid
from gtidal.log.decoder import Frame, LogDecoder
from tests.logs import build_log, format_description, read_all
from tests.samples import query, samples, with_type

SAMPLES = [event for event in samples() if event.code not in (1, 15, 164)]
LOG = build_log(SAMPLES)


def read_in_pieces(data: bytes, size: int) -> list[Event]:
    decoder = LogDecoder("log")
    events: list[Event] = []
    for start in range(0, len(data), size):
        decoder.receive_data(data[start : start + size])
        events.extend(decoder)
    decoder.end_of_data()
    events.extend(decoder)
    return events


def test_three_ways_of_feeding() -> None:
    """Whole, one byte at a time, and in odd pieces."""
    whole = list(read_all(LOG))
    assert len(whole) == len(SAMPLES) + 1
    for size in (1, 7, 1000):
        assert read_in_pieces(LOG, size) == whole


def test_positions_are_computed() -> None:
    """What the headers say of positions is not believed: it wraps at 4 GiB and is the source's in relay logs."""
    decoder = LogDecoder("large")
    start = (1 << 32) - 100
    decoder.start_at(start, format_description().format)
    events = [with_type(Xid(number)) for number in range(8)]
    data = b"".join(encode_event(event, decoder.format) for event in events)
    decoder.receive_data(data)
    assert [event.header.position for event in decoder] == [start + 31 * number for number in range(8)]
    assert decoder.position == start + 31 * 8


def test_a_cut_log() -> None:
    decoder = LogDecoder("binlog.000007")
    decoder.receive_data(LOG[:-1])
    events = list(decoder)
    assert len(events) == len(SAMPLES)
    decoder.end_of_data()
    with pytest.raises(Truncated, match=r"binlog\.000007, position") as caught:
        decoder.next_event()
    assert caught.value.position == decoder.position


def test_a_file_of_the_magic_alone() -> None:
    assert list(read_all(MAGIC)) == []


@pytest.mark.parametrize("data", [b"", b"\xfe", b"\xfebi"])
def test_fewer_than_four_bytes(data: bytes) -> None:
    with pytest.raises(NotABinlog, match="fewer than four bytes"):
        list(read_all(data))


def test_not_a_binlog() -> None:
    with pytest.raises(NotABinlog, match="no binary log: starts with 50 4b 03 04"):
        list(read_all(b"PK\x03\x04" + bytes(50)))


def test_mariadb_pages_are_named() -> None:
    with pytest.raises(NotABinlog, match=r"\.ibb"):
        list(read_all(b"\xfe\xfe\x0d\x01" + bytes(50)))


def test_a_bad_checksum_is_passed_over_when_asked() -> None:
    data = bytearray(build_log([with_type(Xid(1)), with_type(Xid(2)), with_type(Xid(3))]))
    data[-31 * 2 + 20] ^= 1  # in the second
    decoder = LogDecoder("log")
    decoder.receive_data(bytes(data))
    decoder.next_event()
    assert isinstance(decoder.next_event(), Xid)
    with pytest.raises(ChecksumMismatch, match="field checksum"):
        decoder.next_event()
    third = decoder.next_event()
    assert isinstance(third, Xid)
    assert third.xid == 3
    assert len(list(read_all(bytes(data), verify_checksum=False))) == 4


@pytest.mark.parametrize("size", [0, 12, 18, (1 << 30) + 1, 0xFFFFFFFF])
def test_an_impossible_size_loses_the_framing(size: int) -> None:
    data = build_log([with_type(Xid(1))])
    at = len(data) - 31
    decoder = LogDecoder("log")
    decoder.receive_data(data[: at + 9] + size.to_bytes(4, "little") + data[at + 13 :])
    decoder.next_event()
    for _ in range(2):
        with pytest.raises(DecodeError, match=r"position \d+, XID, field header.size"):
            decoder.next_event()


def test_a_longer_header() -> None:
    """Header lengths other than 19 are announced; format descriptions and ROTATEs keep 19."""
    first = replace(format_description(checksum=0), common_header_length=27)
    xid = Xid(5, header=Header(type_code=16, extra=b"12345678"))
    rotate = Rotate(4, "next", header=Header(timestamp=1, type_code=4))
    data = MAGIC + b"".join(encode_event(event, first.format) for event in (first, xid, rotate))
    _, read, last = read_all(data)
    assert isinstance(read, Xid)
    assert (read.xid, read.header.extra, read.header.length) == (5, b"12345678", 27)
    assert isinstance(last, Rotate)
    assert (last.next_file, last.header.length) == ("next", 19)


def test_relay_log_with_two_format_descriptions() -> None:
    """The source's format description changes how what follows is read."""
    own = format_description()
    source = format_description("8.0.40", checksum=0)
    data = MAGIC + encode_event(own, own.format) + encode_event(with_type(Xid(1)), own.format)
    data += encode_event(source, source.format) + encode_event(with_type(Xid(2)), source.format)
    read = list(read_all(data))
    assert [event.checksum is not None for event in read] == [True, True, True, False]
    assert [event.xid for event in read if isinstance(event, Xid)] == [1, 2]


@pytest.mark.parametrize("checksum", [0, CRC32])
def test_a_captured_stream(checksum: int) -> None:
    """An artificial ROTATE comes before the format description that tells of checksums."""
    first = format_description(checksum=checksum)
    rotate = Rotate(4, "binlog.000001", header=Header(type_code=4, flags=0x20))
    data = MAGIC + b"".join(encode_event(event, first.format) for event in (rotate, first, with_type(Xid(1))))
    read = list(read_all(data))
    assert isinstance(read[0], Rotate)
    assert read[0].artificial
    assert read[0].next_file == "binlog.000001"
    assert len(read) == 3


def old_log(version: int) -> bytes:
    short = version == 1
    format = Format(version, header_length=13 if short else 19)
    events: list[Event] = [
        StartV3(version, "3.23.58" if short else "4.0.16", 1, header=Header(1, 1, long=not short)),
        Query(5, 0, 0, "test", (), query=b"INSERT INTO t VALUES (1)", header=Header(2, 2, long=not short)),
        Rotate(4, "next.002", header=Header(3, 4, long=not short)),
        Stop(header=Header(3, 3, long=not short)),
    ]
    return MAGIC + b"".join(encode_event(event, format) for event in events)


@pytest.mark.parametrize(("version", "read_as"), [(1, 1), (2, 3), (3, 3)])
def test_old_versions(version: int, read_as: int) -> None:
    data = old_log(version)
    decoder = LogDecoder("old.001")
    decoder.receive_data(data)
    decoder.end_of_data()
    start, statement, rotate, stop = decoder
    assert isinstance(start, StartV3)
    assert (start.binlog_version, decoder.format.version) == (version, read_as)
    assert isinstance(statement, Query)
    assert (statement.schema, statement.query, statement.status) == ("test", b"INSERT INTO t VALUES (1)", ())
    assert isinstance(rotate, Rotate)
    assert (rotate.start, rotate.next_file) == (4, "next.002")
    assert isinstance(stop, Stop)


def test_a_start_event_of_no_known_size() -> None:
    data = bytearray(old_log(3))
    data[4 + 9] += 1
    with pytest.raises(DecodeError, match="no known version"):
        list(read_all(bytes(data)))


def test_format_description_in_use() -> None:
    """The in-use bit is flipped in place; the checksum does not count it."""
    first = format_description()
    closed = encode_event(first, first.format)
    opened = closed[:17] + b"\x01" + closed[18:]
    (event,) = read_all(MAGIC + opened)
    assert isinstance(event, FormatDescription)
    assert event.header.flag_names == ("BINLOG_IN_USE",)
    assert encode_event(event, event.format) == opened


def test_tables_are_in_force_until_the_statement_ends() -> None:
    insert = next(event for event in SAMPLES if isinstance(event, RowsEvent) and event.code == 30)
    table = next(event for event in SAMPLES if event.code == 19)
    data = build_log([table, insert, insert])
    events = [event for event in read_all(data) if isinstance(event, RowsEvent)]
    assert events[0].table is not None
    assert events[0].rows
    assert events[1].table is None
    assert events[1].undecoded
    assert not events[1].rows


def test_undecoded_rows_encode_back() -> None:
    insert = next(event for event in SAMPLES if isinstance(event, RowsEvent) and event.code == 30)
    data = build_log([insert])
    _, event = read_all(data)
    assert encode_event(event, format_description().format) == data[event.header.position :]


def encrypt_mysql(data: bytes, key: bytes) -> bytes:
    """A log as a server with binlog_encryption writes it; an encryptor of the tests' own."""
    from hashlib import sha512

    iv, password = bytes(range(16)), bytes(range(100, 132))
    name = b"MySQLReplicationKey_b8ae2fd2-3005-11f0-8be8-0242ac150002_1"
    encryptor = Cipher(algorithms.AES(key), modes.CBC(iv)).encryptor()
    stored = encryptor.update(password) + encryptor.finalize()
    header = b"\xfdbin\x01" + b"\x01" + bytes((len(name),)) + name + b"\x02" + stored + b"\x03" + iv + b"\x00"
    digest = sha512(password).digest()
    stream = Cipher(algorithms.AES(digest[:32]), modes.CTR(digest[32:40] + bytes(8))).encryptor()
    return header.ljust(512, b"\0") + stream.update(data)


class OneKey:
    def __init__(self, key: bytes) -> None:
        self.key = key

    def mysql(self, key_id: str) -> bytes:
        assert key_id.startswith("MySQLReplicationKey_")
        return self.key


@pytest.mark.parametrize("size", [1, 33, 1 << 20])
def test_encrypted_like_mysql(size: int) -> None:
    key = bytes(range(32))
    data = encrypt_mysql(LOG, key)
    decoder = LogDecoder("secret", keys=OneKey(key))  # type: ignore[arg-type]
    events: list[Event] = []
    for start in range(0, len(data), size):
        decoder.receive_data(data[start : start + size])
        events.extend(decoder)
    assert events == list(read_all(LOG))


def test_encrypted_without_or_with_the_wrong_key() -> None:
    data = encrypt_mysql(LOG, bytes(range(32)))
    with pytest.raises(KeyProblem, match="MySQLReplicationKey_b8ae2fd2"):
        list(read_all(data))
    decoder = LogDecoder("secret", keys=OneKey(bytes(32)))  # type: ignore[arg-type]
    decoder.receive_data(data)
    with pytest.raises(KeyProblem, match="does not decrypt"):
        decoder.next_event()


def test_errors_survive_a_pickle() -> None:
    import pickle

    decoder = LogDecoder("binlog.000001")
    decoder.receive_data(LOG[:-1])
    decoder.end_of_data()
    with pytest.raises(GtidalError) as caught:
        list(decoder)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again)) == (Truncated, str(caught.value))
    assert (again.file, again.position) == ("binlog.000001", caught.value.position)


def test_a_frame_alone() -> None:
    event = with_type(query(b"BEGIN"))
    format = format_description().format
    data = encode_event(event, format)
    frame = Frame(4, data)
    assert (frame.type_code, frame.end) == (2, 4 + len(data))
    from tests.samples import context_for

    assert decode_event(data, 4, context_for(event)).header.end_position == frame.end
