"""Logs made to cost: little input that asks for much memory or time, and lies in places that are believed."""

from __future__ import annotations

import io
import tracemalloc
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

import pytest
import zstandard

from gtidal.errors import DecodeError, GtidalError, Unsupported
from gtidal.events import Event, Header, encode_event
from gtidal.events.control import EndMark, Rotate
from gtidal.events.format import MAGIC
from gtidal.events.images import Row
from gtidal.events.mariadb import PartialRowData, QueryCompressed, StartEncryption
from gtidal.events.rows import WriteRows
from gtidal.events.statement import Query, UnknownStatus
from gtidal.events.table_map import ColumnName, GeometryType, Labels, SetLabels, TableMap
from gtidal.events.transaction import Compression, PayloadSize, TransactionPayload, UncompressedSize, Xid
from gtidal.log.decoder import LogDecoder
from gtidal.log.transactions import TransactionTracker
from gtidal.sources.files import open_log
from tests.logs import build_log, format_description, read_all
from tests.samples import with_type

MB = 1 << 20


@contextmanager
def memory(limit: int) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < limit
    finally:
        tracemalloc.stop()


def table(columns: int, number: int = 1, **more: object) -> Event:
    made = TableMap(number, 0, "s", "t", b"\x03" * columns, b"", b"\xff" * ((columns + 7) // 8), **more)  # type: ignore[arg-type]
    return with_type(made)


def test_narrow_images_of_a_wide_table() -> None:
    """Thousands of columns, of which each image holds one."""
    bitmap = b"\x01" + bytes(511)
    wide = table(4096)
    assert isinstance(wide, TableMap)
    image = (None, *((),) * 4095)
    event = WriteRows(1, 1, 4096, after_columns=bitmap, rows=(Row(None, image),) * 10_000, table=wide)
    data = build_log([wide, with_type(event)])
    del event, image
    with memory(40 * MB):
        rows = next(event for event in read_all(data) if isinstance(event, WriteRows)).rows
    assert len(rows) == 10_000
    after = rows[0].after
    assert after is not None
    assert (len(after), after[0], repr(after[1])) == (4096, None, "ABSENT")


def test_many_bitmaps_of_a_wide_table() -> None:
    wide = table(4096)
    assert isinstance(wide, TableMap)
    events: list[Event] = [wide]
    for number in range(100):
        bitmap = number.to_bytes(2, "little") + b"\xff" * 510
        events.append(with_type(WriteRows(1, 0, 4096, after_columns=bitmap, table=wide)))
    data = build_log(events)
    with memory(60 * MB):
        assert sum(1 for _ in read_all(data)) == 102


def test_many_wide_tables_are_not_kept() -> None:
    data = build_log([table(4096, number) for number in range(18)])
    with memory(100 * MB):
        for event in read_all(data):
            if isinstance(event, TableMap):
                assert len(event.columns) == 4096


def test_many_tables_in_one_statement_are_not_kept() -> None:
    data = build_log([table(1, number) for number in range(9_000)])
    decoder = LogDecoder()
    decoder.receive_data(data)
    assert sum(1 for _ in decoder) == 9_001
    assert len(decoder.context.tables) <= 4096


@pytest.mark.parametrize("columns", [4097, 100_000])
def test_more_columns_than_a_table_can_have(columns: int) -> None:
    with pytest.raises(DecodeError, match="a table has at most 4096"):
        list(read_all(build_log([table(columns)])))


@pytest.mark.parametrize(
    "part",
    [
        GeometryType(7, (1,) * 60_000),
        ColumnName(4, ("",) * 60_000),
        SetLabels(5, (Labels((b"",) * 60_000),)),
        SetLabels(5, (Labels(()),) * 60_000),
    ],
    ids=lambda part: type(part).__name__,
)
def test_metadata_of_many_small_things(part: object) -> None:
    data = build_log([table(1, optional=(part,))])
    with memory(40 * MB), suppress(GtidalError):
        list(read_all(data))


def test_large_status_blocks_are_not_kept() -> None:
    def query(number: int) -> Event:
        status = (UnknownStatus(99, number.to_bytes(4, "little") + bytes(60_000)),)
        return with_type(Query(1, 0, 0, "", status, query=b"x"))

    data = build_log([query(number) for number in range(300)])
    with memory(5 * MB + len(data)):
        assert sum(1 for _ in read_all(data)) == 301


def test_a_compressed_query_that_lies() -> None:
    block = b"\x84" + (1 << 30).to_bytes(4, "big") + zlib.compress(bytes(1000))
    event = next(
        e
        for e in read_all(build_log([with_type(QueryCompressed(1, 0, 0, "", (), compressed=block))]))
        if e.code == 165
    )
    assert isinstance(event, QueryCompressed)
    with (
        memory(MB),
        pytest.raises(
            DecodeError, match=r"position \d+, QUERY_COMPRESSED, field compressed: .* cannot unpack"
        ),
    ):
        _ = event.query


def test_an_inner_event_that_lies() -> None:
    """It claims nine hundred megabytes, and the payload would unpack to as many."""
    inner = bytearray(encode_event(with_type(Xid(1)), format_description(checksum=0).format))
    inner[9:13] = (900 * MB).to_bytes(4, "little")
    packed = zstandard.compress(bytes(inner) + bytes(100 * MB))
    values = (Compression(2, 0), UncompressedSize(3, 100), PayloadSize(1, len(packed)), EndMark(0))
    data = build_log([with_type(TransactionPayload(values=values, payload=packed))])
    with memory(100 * MB), pytest.raises(DecodeError, match="an inner event of 943718400 bytes"):
        list(open_log(io.BytesIO(data)))


def test_many_empty_frames() -> None:
    packed = zstandard.compress(b"") * 20_000
    values = (Compression(2, 0), PayloadSize(1, len(packed)), EndMark(0))
    data = build_log([with_type(TransactionPayload(values=values, payload=packed))])
    assert len(list(open_log(io.BytesIO(data)))) == 2


def test_magic_after_magic_on_standard_input() -> None:
    decoder = LogDecoder()
    decoder.joined_files = True
    decoder.receive_data(build_log([]) + MAGIC * 50_000)
    decoder.end_of_data()
    with pytest.raises(GtidalError):
        list(decoder)


class TestFragments:
    """MariaDB's PARTIAL_ROW_DATA: a rows event in pieces."""

    ROWS = encode_event(
        with_type(
            WriteRows(
                1, 1, 1, after_columns=b"\xff", rows=tuple(Row(None, (n,)) for n in range(50)), table=table(1)
            )  # type: ignore[arg-type]
        ),
        format_description(checksum=0).format,
    )

    def pieces(self, data: bytes, count: int = 3) -> list[Event]:
        size = -(-len(data) // count)
        return [
            with_type(PartialRowData(count, number + 1, 0, data=data[number * size : (number + 1) * size]))
            for number in range(count)
        ]

    @pytest.mark.parametrize("sealed", [False, True])
    def test_they_make_the_event(self, sealed: bool) -> None:
        data = self.ROWS
        if sealed:
            head = data[:9] + (len(data) + 4).to_bytes(4, "little") + data[13:]
            data = head + zlib.crc32(head).to_bytes(4, "little")
        log = build_log(
            [
                with_type(Query(1, 0, 0, "", (), query=b"BEGIN")),
                table(1),
                *self.pieces(data),
                with_type(Xid(1)),
            ]
        )
        events = list(open_log(io.BytesIO(log)))
        assert [event.name for event in events][-2:] == ["WRITE_ROWS", "XID"]
        rows = events[-2]
        assert isinstance(rows, WriteRows)
        assert [row.after[0] for row in rows.rows if row.after] == list(range(50))
        tracker = TransactionTracker()
        done = [transaction for event in events for transaction in tracker.feed(event)]
        assert [transaction.rows_inserted for transaction in done] == [50]

    @pytest.mark.parametrize(
        ("data", "words"),
        [
            (b"abc", "make 3 bytes"),
            (ROWS[:-1], "their event has"),
            (bytes(4) + b"\x10" + bytes(4) + (27).to_bytes(4, "little") + bytes(14), "not rows"),
        ],
    )
    def test_pieces_of_something_else(self, data: bytes, words: str) -> None:
        log = build_log(self.pieces(data))
        with pytest.raises(DecodeError, match=words) as caught:
            list(open_log(io.BytesIO(log)))
        assert caught.value.event == "PARTIAL_ROW_DATA"
        assert caught.value.position

    def test_a_missing_piece(self) -> None:
        first, _, third = self.pieces(self.ROWS)
        with pytest.raises(DecodeError, match="piece 3 follows 1"):
            list(open_log(io.BytesIO(build_log([first, third]))))


def test_a_rotate_to_nowhere() -> None:
    with pytest.raises(DecodeError, match="names no file"):
        list(read_all(build_log([with_type(Rotate(4, ""))])))


def test_an_unknown_cipher_is_named() -> None:
    with pytest.raises(Unsupported, match="encryption scheme 119"):
        list(read_all(build_log([with_type(StartEncryption(0x77, 1, bytes(12)))])))


def test_a_longer_fixed_part_than_known() -> None:
    """A newer server announces it; what it added is kept, and what follows is read."""
    first = format_description(checksum=0)
    lengths = bytearray(first.post_header_lengths)
    lengths[1], lengths[18], lengths[29] = 15, 11, 13
    newer = replace(first, post_header_lengths=bytes(lengths))
    one = table(1)
    assert isinstance(one, TableMap)
    events: list[Event] = [
        with_type(Query(1, 0, 0, "s", (), query=b"BEGIN", post_header_extra=b"ab")),
        replace(one, post_header_extra=b"cde"),
        with_type(
            WriteRows(
                1, 1, 1, after_columns=b"\xff", rows=(Row(None, (7,)),), table=one, post_header_extra=b"fgh"
            )
        ),
    ]
    data = MAGIC + b"".join(encode_event(event, newer.format) for event in [newer, *events])
    _, query, _, rows = read_all(data)
    assert isinstance(query, Query)
    assert (query.query, query.post_header_extra) == (b"BEGIN", b"ab")
    assert isinstance(rows, WriteRows)
    assert (rows.rows[0].after, rows.post_header_extra) == ((7,), b"fgh")
    assert data.endswith(encode_event(rows, newer.format))


def test_events_print_readably() -> None:
    event = with_type(Query(1, 0, 0, "shop", (), query=b"x" * 5_000_000, header=Header()))
    assert len(repr(event)) < 2_000
    assert str(with_type(Xid(7))) == "XID: COMMIT, xid 7"
