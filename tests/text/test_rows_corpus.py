"""The rows and the table metadata of all public logs, as the reference tools printed them."""

from __future__ import annotations

import gzip
from collections.abc import Iterator

import pytest

from gtidal.errors import GtidalError
from gtidal.events.registry import Event
from gtidal.events.rows import RowsEvent
from gtidal.events.table_map import TableMap
from gtidal.events.transaction import TransactionPayload
from gtidal.log.decoder import LogDecoder
from gtidal.text.rows import RowPrinter
from tests.logs import CORPUS, CorpusLog, corpus_logs

NOT_AN_ORACLE = {
    "ctripcorp+drc__rbinlog.0000000001": "the tool stops at the first event: its checksum is bad",
}
METADATA = (b"# Columns(", b"#         ", b"# Primary Key(")
LOGS = [log for log in corpus_logs() if log.oracle and log.name not in NOT_AN_ORACLE]


def oracle_text(log: CorpusLog) -> bytes:
    return gzip.decompress((CORPUS / "oracle" / log.oracle).read_bytes()).partition(b"\n=== STDERR ===")[0]


def lines(text: bytes, starts: tuple[bytes, ...]) -> list[bytes]:
    return [line for line in text.split(b"\n") if line.startswith(starts)]


def events(log: CorpusLog) -> Iterator[Event]:
    """All events, inner ones too, up to the one that ends the log or cannot be decoded."""
    decoder = LogDecoder(log.name, verify_checksum=False)
    decoder.receive_data(log.data)
    decoder.end_of_data()
    try:
        for event in decoder:
            if isinstance(event, TransactionPayload):
                yield from (inner for _, inner in decoder.inner(event))
            else:
                yield event
    except GtidalError:
        return


@pytest.mark.parametrize("log", LOGS, ids=str)
def test_corpus(log: CorpusLog) -> None:
    expected = oracle_text(log)
    printer = RowPrinter(2, True, flavor="mariadb" if ".maria" in log.oracle else "mysql")
    rows: list[str] = []
    metadata: list[str] = []
    for event in events(log):
        if isinstance(event, RowsEvent):
            rows.append(printer.rows(event))
        elif isinstance(event, TableMap):
            metadata.append(printer.table_metadata(event))
    shown = "".join(rows).encode("utf-8", "surrogateescape")
    assert lines(shown, (b"###",)) == lines(expected, (b"###",))
    shown = "".join(metadata).encode("utf-8", "surrogateescape")
    assert lines(shown, METADATA) == lines(expected, METADATA)
