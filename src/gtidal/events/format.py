"""What the first event of a log says about all others: FORMAT_DESCRIPTION, or START_V3 before MySQL 5.0."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gtidal.errors import DecodeError
from gtidal.events.registry import Event, event
from gtidal.wire.layout import Fields

MAGIC = b"\xfebin"
NO_CHECKSUM, CRC32, UNDEFINED_CHECKSUM = 0, 1, 255
CHECKSUM_SIZE = 4
CHECKSUM_NAMES = {NO_CHECKSUM: "NONE", CRC32: "CRC32", UNDEFINED_CHECKSUM: "UNDEFINED"}

# Post-header lengths by type code for logs that announce none (versions 1 and 3).
_V3_LENGTHS = {1: 56, 2: 11, 4: 8, 6: 18, 8: 4, 9: 4, 10: 4, 11: 4, 12: 18}


def version_numbers(server_version: str) -> tuple[int, int, int]:
    """``8.0.34-log`` as numbers, by the server's own rule: three of them, each below 256, else 0.0.0."""
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", server_version, re.ASCII)
    numbers = tuple(int(part) for part in found.groups()) if found else (0, 0, 0)
    return numbers if max(numbers) < 256 else (0, 0, 0)  # type: ignore[return-value]  # three by the pattern


def announces_checksum(server_version: str) -> bool:
    """Whether a format description of this server ends in an algorithm byte and a checksum slot."""
    minimum = (5, 3, 0) if "MariaDB" in server_version else (5, 6, 1)
    return version_numbers(server_version) >= minimum


@dataclass(frozen=True, slots=True)
class Format:
    """What decoding the events of a log depends on."""

    version: int = 4
    server_version: str = ""
    header_length: int = 19
    post_header_lengths: bytes = b""
    checksum: int = NO_CHECKSUM

    def post_header_length(self, code: int, default: int) -> int:
        """The announced length of a type's fixed part, or ``default`` where nothing is announced."""
        if self.version < 4:
            return _V3_LENGTHS.get(code, 0) if (self.version, code) != (1, 4) else 0
        if 0 < code <= len(self.post_header_lengths):
            return self.post_header_lengths[code - 1]
        return default

    @property
    def has_checksums(self) -> bool:
        return self.checksum == CRC32

    @property
    def is_mariadb(self) -> bool:
        return "MariaDB" in self.server_version


@event(1, "START_V3")
class StartV3(Event):
    """The first event of a log before MySQL 5.0."""

    binlog_version: int
    server_version: str
    created: int

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.u16("binlog_version")
        f.padded_text("server_version", 50)
        f.u32("created")

    @property
    def format(self) -> Format:
        """Version 2 (4.0.0 and 4.0.1) has version 3's layout."""
        version = 1 if not self.header.long else 3
        return Format(version, self.server_version, self.header.length)

    def summary(self) -> str:
        return f"binlog v{self.binlog_version}, server {self.server_version}"


@event(15, "FORMAT_DESCRIPTION")
class FormatDescription(Event):
    """The first event of a log since MySQL 5.0: who wrote it, and how long each type's fixed part is."""

    binlog_version: int
    server_version: str
    created: int
    """When the server started, in the first log after a start: a reader then drops the open transactions
    and temporary tables of the server before. 0 after a rotation."""
    common_header_length: int
    post_header_lengths: bytes
    """One byte for each type code from 1 on."""
    checksum_algorithm: int | None = None
    """0 none, 1 CRC32, 255 undefined; None in logs of servers that know no checksums."""

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.u16("binlog_version")
        aware = announces_checksum(f.padded_text("server_version", 50))
        f.u32("created")
        f.u8("common_header_length")
        f.raw("post_header_lengths", f.remaining() - aware)
        if aware:
            f.u8("checksum_algorithm")

    @property
    def format(self) -> Format:
        if self.binlog_version != 4:
            raise DecodeError(f"version {self.binlog_version}; only 4 is known", field="binlog_version")
        if self.common_header_length < 19:
            raise DecodeError(f"{self.common_header_length} is below 19", field="common_header_length")
        algorithm = self.checksum_algorithm or NO_CHECKSUM
        if algorithm not in CHECKSUM_NAMES:
            raise DecodeError(f"{algorithm} is unknown", field="checksum_algorithm")
        return Format(
            self.binlog_version,
            self.server_version,
            self.common_header_length,
            self.post_header_lengths,
            NO_CHECKSUM if algorithm == UNDEFINED_CHECKSUM else algorithm,
        )

    @property
    def own_length(self) -> tuple[int, int]:
        """The body's length as the event announces it for itself, and as it is: equal in a sound log."""
        announced = self.post_header_lengths[14] if len(self.post_header_lengths) > 14 else 0
        return announced, 57 + len(self.post_header_lengths)

    def summary(self) -> str:
        checksum = CHECKSUM_NAMES.get(self.checksum_algorithm or 0, str(self.checksum_algorithm))
        text = f"server {self.server_version}, checksum {checksum}"
        return text + (", in use or not closed" if self.header.flags & 1 else "")
