"""Logs for tests: the public corpus where it lies beside the checkout, and small logs of our own making."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from gtidal.events import Context, Event, Format, Header, encode_event
from gtidal.events.format import CRC32, MAGIC, FormatDescription
from gtidal.log.decoder import LogDecoder

CORPUS = Path(__file__).parents[2] / "shared" / "corpus"
"""Public binlogs; not part of the repository. Tests over it are collected only where it is there."""

POST_HEADER_LENGTHS = bytes.fromhex(
    "000d0008000000000400040000006200041a08000000080808020000000a0a0a2a2a001234000a28000000"
)


@dataclass(frozen=True)
class CorpusLog:
    path: Path
    bad_checksums: int
    flags: frozenset[str]
    oracle: str

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def data(self) -> bytes:
        return self.path.read_bytes()

    def __str__(self) -> str:
        return self.name


def corpus_logs() -> list[CorpusLog]:
    """All logs of the corpus, or none where it is not there."""
    index = CORPUS / "index.tsv"
    if not index.exists():
        return []
    with index.open(encoding="utf-8") as stream:
        return [
            CorpusLog(
                CORPUS / "logs" / row["log"],
                int(row["bad_crc"] or 0),
                frozenset((row["flags"] or "").split(",")),
                row["oracle"],
            )
            for row in csv.DictReader(stream, delimiter="\t")
        ]


def format_description(server_version: str = "9.7.4", checksum: int = CRC32) -> FormatDescription:
    lengths = bytearray(POST_HEADER_LENGTHS)
    lengths[14] = 57 + len(lengths)
    return FormatDescription(
        binlog_version=4,
        server_version=server_version,
        created=1_700_000_000,
        common_header_length=19,
        post_header_lengths=bytes(lengths),
        checksum_algorithm=checksum,
        header=Header(timestamp=1_700_000_000, type_code=15, server_id=1),
    )


def build_log(events: list[Event], checksum: int = CRC32) -> bytes:
    """A file of these events: headers get their type, size and position, events their checksums."""
    first = format_description(checksum=checksum)
    data = MAGIC
    for event in [first, *events]:
        header = replace(event.header, type_code=event.header.type_code or event.code)
        draft = encode_event(replace(event, header=header), first.format)
        end = len(data) + len(draft)
        data += encode_event(replace(event, header=replace(header, log_pos=end)), first.format)
    return data


def read_all(data: bytes, **options: bool) -> Iterator[Event]:
    """All events of a log in memory; inner events are left inside their payloads."""
    decoder = LogDecoder("test", **options)
    decoder.receive_data(data)
    decoder.end_of_data()
    yield from decoder


def context(format: Format | None = None) -> Context:
    return Context(format or Format(), {})
