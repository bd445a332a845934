"""Small logs for the tests of damage and of chains: transactions with GTIDs, heads and ends of all kinds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gtidal.events import Event, Header, encode_event
from gtidal.events.control import PreviousGtids, Rotate, Stop
from gtidal.events.format import CRC32, MAGIC
from gtidal.events.header import IN_USE
from gtidal.events.mariadb import GtidList, GtidListEntry, MariadbGtidEvent
from gtidal.events.statement import Query
from gtidal.events.transaction import Gtid, Xid
from gtidal.gtid import EncodedGtidSet, GtidSet
from gtidal.log.audit import FileAudit
from gtidal.log.decoder import Frame
from gtidal.log.findings import Finding
from gtidal.log.salvage import Damage, SalvageDecoder
from tests.logs import format_description

UUID = "b8ae2fd2-3005-11f0-8be8-0242ac150002"
UUID_BYTES = bytes.fromhex(UUID.replace("-", ""))
START = 1_700_000_000


def header(type_code: int, timestamp: int = START, flags: int = 0, server_id: int = 1) -> Header:
    return Header(timestamp=timestamp, type_code=type_code, server_id=server_id, flags=flags)


def query(text: str | bytes) -> Query:
    text = text.encode() if isinstance(text, str) else text
    return Query(
        thread_id=7, exec_time=0, error_code=0, schema="shop", status=(), query=text, header=header(2)
    )


def previous(gtids: str = "") -> PreviousGtids:
    return PreviousGtids(EncodedGtidSet.from_set(GtidSet(gtids)), header=header(35, flags=0x80))


def gtid(gno: int, length: int | None = None) -> Gtid:
    """With a ``length``, also the fields that come before it."""
    event = Gtid(flags=0, uuid=UUID_BYTES, gno=gno, header=header(33))
    if length is None:
        return event
    return replace(
        event,
        clock_type=2,
        last_committed=gno - 1,
        sequence_number=gno,
        immediate_commit_timestamp=START * 1_000_000,
        transaction_length=length,
    )


def transaction(gno: int, *statements: str | bytes) -> list[Event]:
    """GTID, BEGIN, statements, XID."""
    return [
        gtid(gno),
        query("BEGIN"),
        *(query(text) for text in statements or (f"INSERT INTO t VALUES ({gno})",)),
        Xid(xid=gno, header=header(16)),
    ]


def rotate(next_file: str, flags: int = 0) -> Rotate:
    return Rotate(start=4, next_file=next_file, header=header(4, flags=flags))


def stop() -> Stop:
    return Stop(header=header(3))


def mariadb_list(*gtids: tuple[int, int, int]) -> GtidList:
    return GtidList(list_flags=0, entries=tuple(GtidListEntry(*parts) for parts in gtids), header=header(163))


def mariadb_transaction(sequence: int) -> list[Event]:
    begin = MariadbGtidEvent(sequence=sequence, domain=0, flags=0, padding=bytes(6), header=header(162))
    return [begin, query(f"INSERT INTO t VALUES ({sequence})"), Xid(xid=sequence, header=header(16))]


def log(
    events: Sequence[Event],
    *,
    checksum: int = CRC32,
    created: int = 0,
    in_use: bool = False,
    first_flags: int = 0,
    server_version: str = "9.7.4",
) -> bytes:
    """A file: sizes, positions and checksums are right."""
    first = format_description(server_version, checksum)
    flags = first_flags | (IN_USE if in_use else 0)
    first = replace(first, created=created, header=replace(first.header, flags=flags))
    data = MAGIC
    for event in (first, *events):
        draft = encode_event(event, first.format)
        placed = replace(event, header=replace(event.header, log_pos=(len(data) + len(draft)) & 0xFFFFFFFF))
        data += encode_event(placed, first.format)
    return data


def sample(checksum: int = CRC32, transactions: int = 8) -> bytes:
    """One whole file."""
    events = [event for gno in range(1, transactions + 1) for event in transaction(gno)]
    return log([previous(), *events, rotate("binlog.000002")], checksum=checksum, created=START)


def salvage(data: bytes, chunk: int | None = None, known_size: bool = True) -> list[Frame | Damage]:
    """All frames and damages, the data given in pieces."""
    decoder = SalvageDecoder("binlog.000001", size=len(data) if known_size else None)
    items: list[Frame | Damage] = []
    step = chunk or max(len(data), 1)
    for start in range(0, len(data), step):
        decoder.receive_data(data[start : start + step])
        while (item := decoder.next_item()) is not None:
            items.append(item)
    decoder.end_of_data()
    while (item := decoder.next_item()) is not None:
        items.append(item)
    return items


def frames(data: bytes) -> list[Frame]:
    return [item for item in salvage(data) if isinstance(item, Frame)]


def damages(data: bytes, **options: bool) -> list[Damage]:
    return [item for item in salvage(data, **options) if isinstance(item, Damage)]


def audit(data: bytes, name: str = "binlog.000001", chunk: int = 1 << 20) -> tuple[FileAudit, list[Finding]]:
    """A file examined; its account must add up."""
    examined = FileAudit(name, len(data))
    findings: list[Finding] = []
    for start in range(0, len(data), chunk):
        examined.receive_data(data[start : start + chunk])
        findings.extend(examined.findings())
    examined.end_of_data()
    findings.extend(examined.findings())
    assert examined.account.total == len(data)
    return examined, findings
