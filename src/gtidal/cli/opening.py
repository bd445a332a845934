"""Opening the one log that a command is about, and saying in a sentence why that does not work."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from gtidal.cli.skipping import SkippingReader
from gtidal.errors import UsageError
from gtidal.events.format import MAGIC
from gtidal.log.decoder import IBB_MAGIC
from gtidal.log.encryption import ENCRYPTED_MAGIC
from gtidal.sources.files import STDIN, LogFile, LogReader, find_logs
from gtidal.sources.keyring import KeyStore

MOST_NAMES = 5

KeyOption = Annotated[
    str | None, typer.Option("--key", metavar="HEX", help="The key of an encrypted log, in hex.")
]
KeyFileOption = Annotated[
    Path | None,
    typer.Option(
        "--key-file",
        metavar="PATH",
        help="The server's key file: MySQL's component_keyring_file, MariaDB's file_key_management.",
    ),
]


def open_one(path: str, key: str | None, key_file: Path | None) -> LogReader:
    """The one log that ``path`` means. Checksums are read, not compared: that is the command's choice."""
    keys = KeyStore(key, key_file)
    if path == STDIN:
        return LogReader(sys.stdin.buffer, verify_checksum=False, inner=False, keys=keys)
    found = find_logs(path)
    if len(found) > 1:
        names = ", ".join(file.name for file in found[:MOST_NAMES])
        more = f" and {len(found) - MOST_NAMES} more" if len(found) > MOST_NAMES else ""
        raise UsageError(f"{path} means {len(found)} logs; name one of them: {names}{more}")
    check_magic(found[0])
    return SkippingReader(found[0], keys)


def check_magic(file: LogFile) -> None:
    """A file that is no log at all is a mistake in its name, not damage in a log."""
    with file.open() as stream:
        try:
            magic = stream.read(len(MAGIC))
        except OSError as error:
            raise UsageError(f"cannot read {file.path}: {error.strerror}") from None
    if magic not in (MAGIC, ENCRYPTED_MAGIC, IBB_MAGIC):
        start = f"it starts with {magic.hex(' ')}" if magic else "it is empty"
        raise UsageError(f"{file.path} is not a binary log: {start}, a log starts with {MAGIC.hex(' ')}")
