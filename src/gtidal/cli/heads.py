"""What the files of a log say of themselves: read for `logs`, `verify` and `gtid start`."""

from __future__ import annotations

from gtidal.errors import GtidalError, KeyProblem, NotABinlog, Truncated
from gtidal.log.facts import Ending, FactsBuilder, FileFacts
from gtidal.sources.files import LogFile, LogReader
from gtidal.sources.keyring import KeyStore

_MOST_HEAD_EVENTS = 16
"""PREVIOUS_GTIDS comes among the first events, or not at all."""


def read_head(file: LogFile, keys: KeyStore) -> FileFacts:
    """The head alone: what comes before the first transaction."""
    builder = FactsBuilder(file.name, file.size)
    with LogReader(file, verify_checksum=False, decode_rows=False, keys=keys) as reader:
        try:
            for frame in reader.frames():
                builder.read(reader.decoder, frame)
                if builder.head_is_read or builder.facts.events >= _MOST_HEAD_EVENTS:
                    break
        except (KeyProblem, NotABinlog) as error:
            raise error.at(file=str(file.path)) from None
        except Truncated:
            builder.stop_at(reader.decoder.position, Ending.PARTIAL)
        except GtidalError as error:
            position = error.position if error.position is not None else reader.decoder.position
            builder.stop_at(position, Ending.DAMAGED)
    return builder.finish()


def read_facts(file: LogFile, keys: KeyStore) -> FileFacts:
    """The whole file, of which only the events that say something of it are decoded."""
    from gtidal.columnar import auditing  # here, so that other commands start without it

    with file.open_raw() as stream:
        try:
            return auditing.read_facts(stream, file.name, file.size, keys)
        except GtidalError as error:
            raise error.at(file=str(file.path)) from None
