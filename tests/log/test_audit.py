"""One file examined: what is found in sound and in damaged files, and that the account adds up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gtidal.errors import NotABinlog
from gtidal.events import Event, Unknown, encode_event
from gtidal.events.format import CRC32, NO_CHECKSUM
from gtidal.events.images import Row
from gtidal.events.rows import WriteRows
from gtidal.events.transaction import TransactionPayload, UncompressedSize, Xid
from gtidal.log.audit import Account
from gtidal.log.chain import judge_link
from gtidal.log.facts import Ending
from gtidal.log.findings import Finding, Kind
from tests.log.making import (
    UUID,
    audit,
    frames,
    gtid,
    header,
    log,
    previous,
    query,
    rotate,
    sample,
    stop,
    transaction,
)
from tests.logs import CorpusLog, corpus_logs, format_description
from tests.samples import ALL, FIRST, SECOND, TABLE, payload

FORMAT = format_description().format
TABLE_MAP = replace(TABLE, header=header(19))
INSERT = WriteRows(
    table_id=77,
    flags=1,
    width=13,
    table=TABLE,
    after_columns=ALL,
    rows=(Row(None, FIRST), Row(None, SECOND)),
    header=header(30),
)


def found(data: bytes) -> list[tuple[Kind, bool]]:
    return kinds(audit(data)[1])


def kinds(findings: list[Finding]) -> list[tuple[Kind, bool]]:
    return [(finding.kind, finding.is_problem) for finding in findings]


def closed(*events: Event) -> bytes:
    return log([previous(), *events, rotate("binlog.000002")])


def size_of(*events: Event) -> int:
    return sum(len(encode_event(event, FORMAT)) for event in events)


@pytest.mark.parametrize("chunk", [1, 100, 1 << 20])
def test_a_sound_file(chunk: int) -> None:
    data = sample()
    examined, findings = audit(data, chunk=chunk)
    assert findings == []
    assert examined.account == Account(head=4, events=len(data) - 4)
    assert (examined.transactions, examined.damaged_transactions) == (8, 0)
    assert examined.events == 3 + 8 * 4
    assert examined.facts.ending is Ending.ROTATE


def test_magic_bytes_alone() -> None:
    examined, findings = audit(sample()[:4])
    assert findings == []
    assert examined.account == Account(head=4)


@pytest.mark.parametrize("size", [0, 1, 3])
def test_less_than_magic_bytes(size: int) -> None:
    examined, _ = audit(sample()[:size])
    assert examined.account == Account(partial=size)
    assert examined.facts.ending is Ending.PARTIAL


def test_not_a_log() -> None:
    with pytest.raises(NotABinlog):
        audit(b"no log at all, just text\n" * 10)


def test_a_flipped_byte() -> None:
    data = sample()
    victim = frames(data)[12]
    broken = bytearray(data)
    broken[victim.position + 30] ^= 1
    examined, findings = audit(bytes(broken))
    assert kinds(findings) == [(Kind.CHECKSUM, True), (Kind.INCOMPLETE, False)]
    first, second = findings
    assert (first.position, first.size) == (victim.position, len(victim.data))
    assert f"goes on at {victim.end}" in first.message
    assert f"{UUID}:3" in second.message
    assert examined.account.damaged == len(victim.data)
    assert (examined.transactions, examined.damaged_transactions) == (8, 1)


def test_the_gtid_event_is_damaged() -> None:
    """Its transaction counts once, and its GTID is missing when the next file is looked at."""
    data = sample()
    victim = frames(data)[2 + 4 * 2]
    assert victim.type_code == 33
    broken = bytearray(data)
    broken[victim.position + 25] ^= 1
    examined, findings = audit(bytes(broken))
    assert kinds(findings) == [(Kind.CHECKSUM, True), (Kind.INCOMPLETE, False)]
    assert (examined.transactions, examined.damaged_transactions) == (8, 1)
    following, _ = audit(log([previous(f"{UUID}:1-8")]), "binlog.000002")
    (gap,) = judge_link(examined.facts, following.facts)
    assert f"{UUID}:3 is before binlog.000002" in gap.message


@pytest.mark.parametrize("checksum", [CRC32, NO_CHECKSUM])
def test_garbage_shifts_positions(checksum: int) -> None:
    data = sample(checksum)
    place = frames(data)[12].position
    examined, findings = audit(data[:place] + b"\xaa" * 500 + data[place:])
    assert (Kind.DAMAGE, True) in kinds(findings)
    (shift,) = [finding for finding in findings if finding.kind is Kind.POSITION]
    assert "500 bytes before do not belong here" in shift.message
    assert examined.account.damaged == 500


def test_whole_events_cut_out() -> None:
    data = sample()
    first, last = frames(data)[6], frames(data)[9]
    _, findings = audit(data[: first.position] + data[last.end :])
    assert kinds(findings) == [(Kind.POSITION, True)]
    assert f"{last.end - first.position} bytes before are missing" in findings[0].message


def test_nothing_can_be_proven_behind_the_damage() -> None:
    data = sample()
    place = frames(data)[12].position
    examined, findings = audit(data[:place] + b"\xaa" * 500)
    (damage, _) = findings
    assert "nothing follows" in damage.message
    assert examined.facts.ending is Ending.DAMAGED


def test_rows_and_their_map() -> None:
    begin, end = [gtid(1), query("BEGIN")], Xid(xid=1, header=header(16))
    assert found(closed(*begin, TABLE_MAP, INSERT, end)) == []
    assert found(closed(*begin, INSERT, end)) == [(Kind.ROWS, True), (Kind.INCOMPLETE, False)]


def test_rows_that_do_not_decode() -> None:
    data = closed(
        gtid(1),
        query("BEGIN"),
        TABLE_MAP,
        replace(INSERT, undecoded=b"\xff" * 9),
        Xid(xid=1, header=header(16)),
    )
    examined, findings = audit(data)
    assert kinds(findings) == [(Kind.DAMAGE, True), (Kind.INCOMPLETE, False)]
    assert examined.damaged_transactions == 1


def compressed_transaction(**changes: object) -> list[Event]:
    return [gtid(1), replace(payload(), header=header(40), **changes)]


def test_a_payload() -> None:
    examined, findings = audit(closed(*compressed_transaction()))
    assert findings == []
    assert examined.transactions == 1


def test_a_payload_of_another_size() -> None:
    event = payload()
    values = tuple(UncompressedSize(3, 5) if isinstance(v, UncompressedSize) else v for v in event.values)
    assert (Kind.PAYLOAD, True) in found(closed(*compressed_transaction(values=values)))


def test_a_payload_that_does_not_unpack() -> None:
    event = payload()
    assert isinstance(event, TransactionPayload)
    broken = event.payload[:-6] + bytes(6)
    assert (Kind.DAMAGE, True) in found(closed(*compressed_transaction(payload=broken)))


def test_transaction_length() -> None:
    rest = [query("BEGIN"), query("INSERT"), Xid(xid=1, header=header(16))]
    length = size_of(gtid(1, 200), *rest)
    assert found(closed(gtid(1, length), *rest)) == []
    assert found(closed(gtid(1, length + 1), *rest)) == [(Kind.LENGTH, True)]


def test_gtids_that_come_twice() -> None:
    assert found(closed(*transaction(1), *transaction(2), *transaction(1))) == [(Kind.GTID, True)]
    assert found(log([previous(f"{UUID}:1-5"), *transaction(5), stop()])) == [(Kind.GTID, True)]


def test_a_number_that_no_gtid_has() -> None:
    event = replace(gtid(1), gno=-5)
    data = closed(event, query("BEGIN"), Xid(xid=1, header=header(16)))
    assert (Kind.DAMAGE, True) in found(data)


@pytest.mark.parametrize("last", [rotate("binlog.000002"), stop()], ids=["rotate", "stop"])
def test_a_transaction_that_does_not_end(last: Event) -> None:
    assert found(log([previous(), *transaction(1), gtid(2), query("BEGIN"), last])) == [
        (Kind.INCOMPLETE, True)
    ]
    inside = [gtid(2), query("BEGIN"), *transaction(3)]
    assert found(log([previous(), *inside, last])) == [(Kind.INCOMPLETE, True)]


@pytest.mark.parametrize(
    ("code", "flags", "problem"), [(200, 0, True), (200, 0x80, False)], ids=["unknown", "ignorable"]
)
def test_unknown_events(code: int, flags: int, problem: bool) -> None:
    """Told once for each type."""
    event = Unknown(body=b"what", header=header(code, flags=flags))
    assert found(closed(event, event)) == [(Kind.UNKNOWN, problem)]


def test_a_format_description_of_another_length() -> None:
    first = format_description()
    lengths = bytearray(first.post_header_lengths)
    lengths[14] += 1
    first = replace(first, post_header_lengths=bytes(lengths), header=replace(first.header, log_pos=126))
    data = b"\xfebin" + encode_event(first, first.format)
    first = replace(first, header=replace(first.header, log_pos=len(data)))
    assert found(b"\xfebin" + encode_event(first, first.format)) == [(Kind.FORMAT, True)]


ACCOUNTED = [entry for entry in corpus_logs() if not entry.name.endswith(".ibb")]


@pytest.mark.parametrize("entry", ACCOUNTED, ids=str)
def test_corpus_logs_add_up(entry: CorpusLog) -> None:
    examined, findings = audit(entry.data, entry.name)
    checksums = [finding for finding in findings if finding.kind is Kind.CHECKSUM]
    assert bool(checksums) == bool(entry.bad_checksums)
    assert examined.account.head == 4
