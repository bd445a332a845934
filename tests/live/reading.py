"""Reading the scenarios' logs with gtidal: what several tests of this folder need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gtidal.events.registry import Event
from gtidal.events.transaction import TransactionPayload
from gtidal.log.decoder import Frame, Keys, LogDecoder
from gtidal.sources.keyring import KeyStore
from tests.live.scenarios import Logs, Scenario, scenarios


def keys_of(logs: Logs) -> Keys:
    """The keys of an encrypted scenario; none for the others."""
    for name in ("keyring", "keys"):
        if (logs.folder / name).exists():
            return KeyStore(key_file=logs.folder / name)
    return Keys()


def open_decoder(logs: Logs, file: Path) -> LogDecoder:
    decoder = LogDecoder(file.name, keys=keys_of(logs))
    decoder.receive_data(file.read_bytes())
    return decoder


def frames(decoder: LogDecoder) -> Iterator[tuple[Frame, Event]]:
    """Each event with its bytes, as far as the log has whole events."""
    while (frame := decoder.next_frame()) is not None:
        yield frame, decoder.decode(frame)


def events(decoder: LogDecoder) -> Iterator[Event]:
    """Each event; those inside compressed payloads in place of the payload."""
    for _, event in frames(decoder):
        if isinstance(event, TransactionPayload):
            for _, inner in decoder.inner(event):
                yield inner
        else:
            yield event


def every_scenario(which: Callable[[Scenario], bool] = lambda each: True) -> list[Any]:
    """Parameters for the fixture `logs`; the long ones are marked."""
    return [
        pytest.param(name, marks=[pytest.mark.soak] * each.soak)
        for name, each in scenarios().items()
        if which(each)
    ]
