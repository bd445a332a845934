"""Files examined in long stretches: what is found is what the reference decoder finds event by event."""

from __future__ import annotations

import io
import random
import zlib
from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from typing import Any

import pytest
import zstandard

from gtidal.columnar import auditing, surveying
from gtidal.errors import GtidalError, KeyProblem, NotABinlog, Truncated
from gtidal.events import Event, Format, encode_event
from gtidal.events.control import EndMark
from gtidal.events.format import CRC32, NO_CHECKSUM
from gtidal.events.images import Row
from gtidal.events.rows import DeleteRows, UpdateRows, WriteRows
from gtidal.events.statement import RowsQuery
from gtidal.events.transaction import (
    Compression,
    Gtid,
    PayloadSize,
    TransactionPayload,
    UncompressedSize,
    Xid,
)
from gtidal.gtid import GtidSet
from gtidal.gtid.mysql import GtidSetBuilder
from gtidal.log.audit import FileAudit
from gtidal.log.decoder import LogDecoder
from gtidal.log.facts import Ending, FactsBuilder
from gtidal.log.findings import Finding, Kind
from gtidal.log.tables import TableCatalog
from tests.hostile.damage import Damager
from tests.hostile.small_logs import small_logs
from tests.log.making import UUID, UUID_BYTES, gtid, header, log, previous, query, rotate, stop, transaction
from tests.logs import CorpusLog, corpus_logs, format_description
from tests.samples import ALL, FIRST, SECOND, TABLE

FORMAT = format_description().format
OTHER_UUID = bytes(range(16))
TABLE_MAP = replace(TABLE, header=header(19))


# --- two ways to the same answer


def of_audit(audit: FileAudit) -> dict[str, Any]:
    told = {each.name: str(getattr(audit.facts, each.name)) for each in fields(audit.facts)}
    numbers = audit.events, audit.transactions, audit.damaged_transactions
    return {"facts": told, "numbers": numbers, "outcomes": audit.outcomes, "account": asdict(audit.account)}


def examined_slowly(data: bytes) -> Any:
    audit = FileAudit("binlog.000001", len(data))
    findings: list[Finding] = []
    try:
        audit.receive_data(data)
        findings.extend(audit.findings())
        audit.end_of_data()
        findings.extend(audit.findings())
    except GtidalError as error:
        return findings, str(error)
    return findings, of_audit(audit)


def examined(data: bytes) -> Any:
    audit = FileAudit("binlog.000001", len(data))
    findings: list[Finding] = []
    done = [0]
    try:
        findings.extend(auditing.examine(io.BytesIO(data), audit, len(data), advance=done.append))
    except GtidalError as error:
        return findings, str(error)
    assert audit.account.total == len(data)
    assert sum(done) <= len(data)
    assert min(done) >= 0
    return findings, of_audit(audit)


def facts_slowly(data: bytes) -> Any:
    builder = FactsBuilder("binlog.000001", len(data))
    decoder = LogDecoder("binlog.000001", verify_checksum=False, decode_rows=False)
    decoder.receive_data(data)
    decoder.end_of_data()
    try:
        while (frame := decoder.next_frame()) is not None:
            builder.read(decoder, frame)
    except (KeyProblem, NotABinlog) as error:
        return str(error)
    except Truncated:
        builder.stop_at(decoder.position, Ending.PARTIAL)
    except GtidalError as error:
        builder.stop_at(error.position if error.position is not None else decoder.position, Ending.DAMAGED)
    return asdict(builder.finish())


def facts(data: bytes) -> Any:
    try:
        return asdict(auditing.read_facts(io.BytesIO(data), "binlog.000001", len(data)))
    except GtidalError as error:
        return str(error)


def of_catalog(catalog: TableCatalog, error: GtidalError | None) -> Any:
    latest = [table.versions.index(table.latest) if table.latest else None for table in catalog.tables]
    return catalog.tables, latest, str(error)


def tables_slowly(data: bytes) -> Any:
    catalog, problem = TableCatalog(), None
    decoder = LogDecoder("binlog.000001")
    decoder.receive_data(data)
    decoder.end_of_data()
    try:
        while (frame := decoder.next_frame()) is not None:
            catalog.read(decoder, frame, "binlog.000001")
    except GtidalError as error:
        problem = error
    return of_catalog(catalog, problem)


def tables(data: bytes) -> Any:
    catalog, problem = TableCatalog(), None
    try:
        auditing.read_tables(catalog, io.BytesIO(data), "binlog.000001")
    except GtidalError as error:
        problem = error
    return of_catalog(catalog, problem)


WAYS = ((examined_slowly, examined), (facts_slowly, facts), (tables_slowly, tables))


def same(data: bytes) -> list[Finding]:
    """All three say what the reference decoder says; what is found."""
    for slowly, quickly in WAYS:
        assert quickly(data) == slowly(data)
    findings: list[Finding] = examined(data)[0]
    return findings


@pytest.fixture
def passed(monkeypatch: pytest.MonkeyPatch) -> list[surveying.Ordinary]:
    """The stretches that ``examine`` is offered."""
    found: list[surveying.Ordinary] = []
    original = surveying.Survey.stretch

    def stretch(self: surveying.Survey, *arguments: Any, **options: Any) -> surveying.Ordinary | None:
        one = original(self, *arguments, **options)
        if one is not None:
            assert len(one.ends) > 0 or not one.whole  # looked at now: windows are used again
            found.append(one)
        return one

    monkeypatch.setattr(surveying.Survey, "stretch", stretch)
    return found


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is tried, and nothing fits."""
    sizes = {
        "WINDOW": 3000,
        "SMALLEST_WINDOW": 700,
        "LARGEST_PAYLOAD": 3000,
        "SHORTEST": 1,
        "FIRST_PENALTY": 300,
        "LARGEST_PENALTY": 2000,
        "CELLS": 64,
        "IMAGES": 4,
    }
    for name, size in sizes.items():
        monkeypatch.setattr(surveying, name, size)


# --- logs


def rows(kind: type[WriteRows | UpdateRows | DeleteRows] = WriteRows, flags: int = 1, **other: Any) -> Event:
    has_before, has_after = kind is not WriteRows, kind is not DeleteRows
    images = [Row(FIRST if has_before else None, SECOND if has_after else None), Row(SECOND, FIRST)]
    images[1] = Row(SECOND if has_before else None, FIRST if has_after else None)
    made = kind(
        table_id=77,
        flags=flags,
        width=13,
        table=TABLE,
        before_columns=ALL if has_before else b"",
        after_columns=ALL if has_after else b"",
        rows=tuple(images),
        header=header(kind.code),
    )
    return replace(made, **other)


def size_of(*events: Event) -> int:
    return sum(len(encode_event(event, FORMAT)) for event in events)


def ordinary(gno: int, *events: Event, uuid: bytes = UUID_BYTES, wrong_by: int = 0) -> list[Event]:
    """A transaction that announces its length."""
    inside = [query("BEGIN"), *(events or (TABLE_MAP, rows())), Xid(xid=gno, header=header(16))]
    length = size_of(gtid(gno, 1000), *inside)
    return [replace(gtid(gno, length + wrong_by), uuid=uuid), *inside]


def many(first: int = 1, last: int = 40, **options: Any) -> list[Event]:
    return [event for gno in range(first, last + 1) for event in ordinary(gno, **options)]


def closed(*events: Event, before: str = "", **options: Any) -> bytes:
    return log([previous(before), *events, rotate("binlog.000002")], **options)


def kinds(findings: Sequence[Finding]) -> list[Kind]:
    return [finding.kind for finding in findings]


# --- sound logs


def test_a_sound_log_is_one_stretch(passed: list[surveying.Ordinary]) -> None:
    data = closed(*many())
    findings, told = examined(data)
    assert findings == []
    (stretch,) = passed
    assert stretch.whole
    assert len(stretch.ends) == 40
    assert (stretch.position, stretch.end) == (
        data.index(UUID_BYTES) - 20,
        len(data) - size_of(rotate("binlog.000002")),
    )
    assert told["numbers"] == (3 + 40 * 5, 40, 0)
    assert told["facts"]["inside"] == f"{UUID}:1-40"
    assert same(data) == []


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("checksum", [CRC32, NO_CHECKSUM])
def test_a_sound_log_in_small_windows(checksum: int, passed: list[surveying.Ordinary]) -> None:
    shorter = {"wrong_by": 0 if checksum else -4 * len(ordinary(1))}
    events = [*many(**shorter), query("CREATE TABLE t (a INT)"), *many(41, 60, **shorter)]
    assert same(closed(*events, checksum=checksum)) == []
    assert len(passed) > 10


def test_a_transaction_larger_than_a_window(
    monkeypatch: pytest.MonkeyPatch, passed: list[surveying.Ordinary]
) -> None:
    monkeypatch.setattr(surveying, "WINDOW", 4000)
    statement = [
        RowsQuery(size_byte=6, query=b"INSERT", header=header(29)),
        TABLE_MAP,
        rows(flags=0),
        rows(flags=0),
        rows(),
    ]
    data = closed(*ordinary(1, *statement * 20), *ordinary(2))
    findings, told = examined(data)
    assert findings == []
    assert told["numbers"] == (3 + 3 + 5 * 20 + 5, 2, 0)
    inside = [stretch for stretch in passed if not stretch.whole]
    assert len(inside) > 3
    assert any(stretch.maps for stretch in inside), "a window that ends inside a statement"
    assert same(data) == []


def test_facts_behind_a_large_transaction(
    monkeypatch: pytest.MonkeyPatch, passed: list[surveying.Ordinary]
) -> None:
    """It ends in a window that begins inside of a statement; what follows is a stretch again."""
    monkeypatch.setattr(surveying, "WINDOW", 4000)
    data = closed(*ordinary(1, TABLE_MAP, *[rows(flags=0)] * 44, rows()), *many(2, 20))
    assert facts(data) == facts_slowly(data)
    assert any(stretch.maps for stretch in passed)
    assert sum(len(stretch.ends) for stretch in passed) == 19


def test_several_servers_in_any_order() -> None:
    numbers = [(uuid, gno) for uuid in (UUID_BYTES, OTHER_UUID) for gno in range(1, 30) if gno != 17]
    random.Random(1).shuffle(numbers)
    data = closed(*(event for uuid, gno in numbers for event in ordinary(gno, uuid=uuid)))
    assert same(data) == []
    inside = examined(data)[1]["facts"]["inside"]
    assert GtidSet(inside) == GtidSet(f"{UUID}:1-16:18-29, 00010203-0405-0607-0809-0a0b0c0d0e0f:1-16:18-29")


def test_anonymous_transactions() -> None:
    anonymous = [replace(event, gno=0) if isinstance(event, Gtid) else event for event in many(1, 5)]
    data = closed(*anonymous, *many(6, 9))
    assert same(data) == []
    assert examined(data)[1]["facts"]["anonymous"] == "5"


def test_timestamps() -> None:
    """Some have none; the first and the last of those that have."""

    def at(event: Event, timestamp: int) -> Event:
        return replace(event, header=replace(event.header, timestamp=timestamp))

    first = [at(event, 0) for event in (previous(), *many(1, 3))]
    data = log(
        [*first, *(at(event, 1_800_000_000) for event in ordinary(4)), *(at(e, 0) for e in ordinary(5))]
    )
    assert same(data) == []
    assert examined(data)[1]["facts"]["last_timestamp"] == "1800000000"


def test_all_kinds_of_rows_are_counted() -> None:
    data = closed(
        *many(1, 3),
        *ordinary(4, TABLE_MAP, rows(UpdateRows)),
        *ordinary(5, TABLE_MAP, rows(DeleteRows), TABLE_MAP, rows()),
    )
    assert same(data) == []
    ((table,), _, _) = tables(data)
    assert (table.rows_inserted, table.rows_updated, table.rows_deleted) == (8, 2, 2)


def test_versions_of_tables_in_order() -> None:
    """The latest version is the one seen last, and those that come first are first."""
    other = replace(TABLE_MAP, table="a")
    wider = replace(TABLE_MAP, optional=())
    data = closed(
        *ordinary(1, TABLE_MAP, rows()),
        *ordinary(2, other, rows()),
        *ordinary(3, wider, rows()),
        *ordinary(4, TABLE_MAP, rows()),
        *ordinary(5, other, rows()),
    )
    assert same(data) == []
    (first, second), latest, _ = tables(data)
    assert (first.name, len(first.versions), second.name) == ("orders", 2, "a")
    assert latest == [0, 0]
    assert [version.rows_inserted for version in first.versions] == [4, 2]


def test_two_table_maps_with_one_id(passed: list[surveying.Ordinary]) -> None:
    """They push each other out of the kernel's cache: that must end."""
    other = replace(TABLE_MAP, table="other")
    twice = ordinary(2, TABLE_MAP, rows(), other, rows())
    data = closed(*many(1, 1), *twice, *many(3, 9))
    assert same(data) == []
    assert len(passed) > 1


# --- payloads


def packed(gno: int, announced: int | None = None, behind: bytes = b"") -> list[Event]:
    """A transaction in a payload; ``behind``: what else is in it."""
    inside = (query("BEGIN"), TABLE_MAP, rows(), Xid(xid=gno, header=header(16)))
    plain = b"".join(encode_event(event, Format()) for event in inside)
    data = zstandard.compress(plain + behind)
    made = TransactionPayload(
        values=(
            Compression(2, 0),
            UncompressedSize(3, len(plain) if announced is None else announced),
            PayloadSize(1, len(data)),
            EndMark(0),
        ),
        payload=data,
        header=header(40),
    )
    return [gtid(gno, size_of(gtid(gno, 1000), made)), made]


@pytest.mark.parametrize("window", [2000, 1 << 20])
def test_compressed_payloads(
    window: int, monkeypatch: pytest.MonkeyPatch, passed: list[surveying.Ordinary]
) -> None:
    monkeypatch.setattr(surveying, "WINDOW", window)
    data = closed(*many(1, 5), *(event for gno in range(6, 30) for event in packed(gno)), *many(30, 35))
    findings, told = examined(data)
    assert findings == []
    assert told["numbers"] == (3 + 11 * 5 + 24 * 6, 35, 0)
    assert sum(len(stretch.ends) for stretch in passed) == 35
    assert same(data) == []


def test_a_payload_that_is_not_what_it_announces() -> None:
    data = closed(*packed(1), *packed(2, announced=5), *packed(3))
    (finding,) = same(data)
    assert finding.kind is Kind.PAYLOAD


@pytest.mark.parametrize(
    "behind", [b"no event", bytes(9) + b"\x05" + bytes(9), bytes(9) + b"\x14" + bytes(9)]
)
def test_a_payload_with_something_behind_its_transaction(behind: bytes) -> None:
    """All of its events are ordinary; the bytes behind them are none."""
    data = closed(*packed(1), *packed(2, behind=behind), *packed(3))
    assert Kind.DAMAGE in kinds(same(data))


def test_a_transaction_behind_another_in_one_payload() -> None:
    """GTIDs inside of payloads are not the file's."""
    behind = b"".join(encode_event(event, Format()) for event in many(8, 8))
    data = closed(*packed(1), *packed(2, behind=behind), *packed(3))
    assert Kind.PAYLOAD in kinds(same(data))
    assert examined(data)[1]["facts"]["inside"] == f"{UUID}:1-3"


def test_a_statement_behind_the_transaction_in_a_payload() -> None:
    behind = encode_event(query("DROP TABLE t"), Format())
    data = closed(*packed(1), *packed(2, behind=behind), *packed(3))
    assert kinds(same(data)) == [Kind.PAYLOAD]
    assert examined(data)[1]["numbers"] == (3 + 3 * 6 + 1, 4, 0)


# --- what is found


def test_a_wrong_length() -> None:
    data = closed(*many(1, 10), *ordinary(11, wrong_by=1), *many(12, 20))
    (finding,) = same(data)
    assert (finding.kind, UUID + ":11 " in finding.message) == (Kind.LENGTH, True)


@pytest.mark.parametrize("again", [3, 13])
def test_a_gtid_that_is_there_twice(again: int) -> None:
    data = closed(*many(1, 12), *ordinary(again), *many(14, 20), *ordinary(13))
    findings = same(data)
    assert kinds(findings) == [Kind.GTID]
    assert f"{UUID}:{again} is in this file" in findings[0].message


def test_gtids_of_files_before() -> None:
    data = closed(*many(8, 12), before=f"{UUID}:1-9")
    assert kinds(same(data)) == [Kind.GTID, Kind.GTID]


def test_the_largest_number_is_none() -> None:
    data = closed(*many(1, 5), *ordinary((1 << 63) - 1), *many(6, 9))
    assert Kind.DAMAGE in kinds(same(data))


def test_a_position_that_is_wrong() -> None:
    """Bytes were lost between two transactions: all that follows is out of place."""
    data = closed(*many())
    start = size_of(*many(1, 20)) + data.index(UUID_BYTES) - 20
    shorter = data[:start] + data[start + size_of(*ordinary(21)) :]
    assert Kind.POSITION in kinds(same(shorter))


def test_a_row_that_is_none() -> None:
    """The digits of a decimal, which only reading the value shows."""
    good = encode_event(rows(), FORMAT)
    at = good.index("grün".encode()) + 5
    data = bytearray(closed(*many(1, 30)))
    places = [start for start in range(len(data)) if data[start : start + 5] == "grün".encode()]
    assert len(places) == 30
    assert good[at : at + 2] != b"\x00\x00"
    victim = places[17]
    data[victim + 5 : victim + 9] = bytes(4)
    spoilt = sealed(bytes(data))
    findings = same(spoilt)
    assert kinds(findings) == [Kind.DAMAGE, Kind.INCOMPLETE]


def sealed(data: bytes) -> bytes:
    """With the checksums that its events should have."""
    made, start = bytearray(data), 4
    while start < len(data):
        end = start + int.from_bytes(data[start + 9 : start + 13], "little")
        made[end - 4 : end] = zlib.crc32(made[start : end - 4]).to_bytes(4, "little")
        start = end
    return bytes(made)


def test_rows_without_their_map() -> None:
    """The map of a statement before that never ended still holds; where there is none, that is found."""
    unended = ordinary(2, TABLE_MAP, rows(flags=0))
    without = ordinary(3, rows())
    data = closed(*many(1, 1), *unended, *without, *ordinary(4, rows()), *many(5, 9))
    findings = same(data)
    assert kinds(findings) == [Kind.ROWS, Kind.INCOMPLETE]
    assert f"{UUID}:4" in findings[1].message


def test_statements_and_rollbacks_between() -> None:
    rolled_back = [gtid(11), query("BEGIN"), TABLE_MAP, rows(), query("ROLLBACK")]
    data = closed(*many(1, 10), *rolled_back, *transaction(12), *many(13, 20), stop())
    same(data)
    assert examined(data)[1]["outcomes"]["rollback"] == 1


def test_a_log_in_use_that_ends_inside_a_transaction() -> None:
    data = log([previous(), *many(1, 9), *ordinary(10)[:-1]], in_use=True)
    assert same(data) == []
    assert examined(data)[1]["facts"]["open_gtid"] == f"{UUID}:10"


@pytest.mark.parametrize("cut", [1, 30, 400])
def test_a_log_that_is_cut(cut: int) -> None:
    same(closed(*many())[:-cut])


def test_what_is_added_meanwhile_is_not_looked_at() -> None:
    data = log([previous(), *many(1, 20)])
    size = len(data) - size_of(*many(19, 20))
    audit = FileAudit("binlog.000001", size)
    assert list(auditing.examine(io.BytesIO(data), audit, size, advance=int)) == []
    assert (audit.account.total, audit.transactions) == (size, 18)


def test_a_relay_log() -> None:
    """Positions are those of the source, and a damaged event is found by them."""
    source = closed(*many(1, 30))
    first = format_description()
    first = replace(first, header=replace(first.header, flags=0x40))
    start = source.index(UUID_BYTES) - 20
    data = source[:4] + encode_event(first, FORMAT) + source[4:]
    assert same(data) == []
    assert examined(data)[1]["facts"]["relay"] == "True"
    broken = bytearray(data)
    broken[start + len(data) // 2] ^= 1
    assert Kind.CHECKSUM in kinds(same(bytes(broken)))


# --- anything


def test_damage_anywhere() -> None:
    _same_for_damaged("some", 150)


@pytest.mark.usefixtures("_small")
def test_damage_anywhere_in_small_windows() -> None:
    _same_for_damaged("small", 150)


def _same_for_damaged(seed: str, count: int) -> None:
    logs = [closed(*many(1, 8)), closed(*many(1, 4), *packed(5), *packed(6), *many(7, 9)), *small_logs()]
    damager = Damager(logs, seed)
    for _ in range(count):
        same(damager.next())


@pytest.mark.parametrize(
    "each", [each for each in corpus_logs() if each.path.stat().st_size < 1 << 18], ids=str
)
def test_corpus(each: CorpusLog) -> None:
    if each.path.suffix != ".ibb":
        same(each.data)


# --- sets of GTIDs


@pytest.mark.parametrize(
    ("there", "more", "new"),
    [
        ("", f"{UUID}:1-5", True),
        (f"{UUID}:1-5", f"{UUID}:6-9", True),
        (f"{UUID}:1-5", f"{UUID}:5-9", False),
        (f"{UUID}:1-5:9", f"{UUID}:6-8", True),
        (f"{UUID}:1-5:9", f"{UUID}:6-9", False),
        (f"{UUID}:1-5", f"{UUID}:blue:1-5", True),
        (f"{UUID}:7-9", f"{UUID}:1:8", False),
    ],
)
def test_sets_that_are_new(there: str, more: str, new: bool) -> None:
    builder = GtidSetBuilder(GtidSet(there))
    assert builder.add_new(GtidSet(more)) is new
    assert builder.build() == (GtidSet(there) | GtidSet(more) if new else GtidSet(there))


def test_numbers_set_aside_are_not_new() -> None:
    builder = GtidSetBuilder()
    for gno in range(2, 5000, 3):
        builder.add(UUID_BYTES, "", gno)
    builder.add(UUID_BYTES, "", 900)  # far from the end
    assert not builder.add_new(GtidSet(f"{UUID}:900"))
    assert builder.add_new(GtidSet(f"{UUID}:901"))
