"""Copies of a server's log files, compared with the files byte for byte."""

from __future__ import annotations

from pathlib import Path

from tests.live.servers import Server

FLAGS = 4 + 17
"""Where the flags of a log's first event lie: behind the magic number, at the end of the event's header."""
IN_USE = 0x01
CONTEXT = 8


def assert_identical(copy: Path, original: Path) -> None:
    """Both files hold the same bytes. One bit is free: a server marks the log that it writes as in use, and takes the
    mark out of what it sends. (A checksum is always that of the event without the mark.)"""
    expected = original.read_bytes()
    found = copy.read_bytes()
    if len(found) > FLAGS and len(expected) > FLAGS and expected[FLAGS] & IN_USE:
        expected = expected[:FLAGS] + bytes([expected[FLAGS] & ~IN_USE]) + expected[FLAGS + 1 :]
        found = found[:FLAGS] + bytes([found[FLAGS] & ~IN_USE]) + found[FLAGS + 1 :]
    if found == expected:
        return
    offset = first_difference(found, expected)
    raise AssertionError(
        f"{copy} ({len(found)} bytes) and {original} ({len(expected)} bytes) differ at offset {offset}: "
        f"{shown(found, offset)}, not {shown(expected, offset)}"
    )


def assert_archived(folder: Path, server: Server) -> None:
    """The folder holds a copy of each of the server's logs."""
    for log in server.binlogs():
        if not (folder / log.name).exists():
            raise AssertionError(
                f"{folder} has no {log.name}, but {sorted(each.name for each in folder.iterdir())}"
            )
        assert_identical(folder / log.name, log)


def has_all(folder: Path, server: Server) -> bool:
    """Whether the copies of a server at rest are as long as its logs: the moment to compare them."""
    copies = [folder / log.name for log in server.binlogs()]
    return all(
        copy.exists() and copy.stat().st_size == log.stat().st_size
        for copy, log in zip(copies, server.binlogs(), strict=True)
    )


def first_difference(left: bytes, right: bytes) -> int:
    """The first offset at which two different texts differ; where one begins the other, the shorter one's end."""
    low, high = 0, min(len(left), len(right))
    while low < high:  # up to `low` they are equal
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def shown(data: bytes, offset: int) -> str:
    return data[offset : offset + CONTEXT].hex(" ") or "its end"
