"""Every event of every real log encodes back to its own bytes, from its fields alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gtidal.events.frame import encode_event, trace_event
from gtidal.events.registry import EVENTS, Context, Event, Unknown
from gtidal.events.statement import STATUS_VARIABLES, QueryEvent
from gtidal.events.table_map import METADATA, TableMap
from gtidal.events.transaction import TransactionPayload
from gtidal.log.decoder import LogDecoder
from tests.live.reading import every_scenario, frames, open_decoder
from tests.live.scenarios import Logs, find_logs, scenarios

TRACED = 64 * 1024  # larger events are too slow to trace


def check(data: bytes, event: object, decoder: LogDecoder, inner: bool) -> None:
    format = decoder.inner_format if inner else decoder.format
    assert not isinstance(event, Unknown), event
    assert encode_event(event, format) == data, event  # type: ignore[arg-type]


@pytest.mark.parametrize("logs", every_scenario(), indirect=True)
def test_events_encode_to_the_same_bytes(logs: Logs) -> None:
    count = 0
    for file in logs.files:
        decoder = open_decoder(logs, file)
        for frame, event in frames(decoder):
            check(frame.data, event, decoder, inner=False)
            count += 1
            if isinstance(event, TransactionPayload):
                for inner_frame, inner in decoder.inner(event):
                    check(inner_frame.data, inner, decoder, inner=True)
    assert count


@pytest.mark.parametrize("logs", every_scenario(lambda each: not each.soak), indirect=True)
def test_traces_account_for_every_byte(logs: Logs) -> None:
    """Fields follow each other without gaps from the first byte of an event to its last."""
    for file in logs.files:
        decoder = open_decoder(logs, file)
        while (frame := decoder.next_frame()) is not None:
            if len(frame.data) < TRACED:
                tables = dict(decoder.context.tables)
                _, fields = trace_event(frame.data, frame.position, Context(decoder.format, tables))
                place = 0
                for field in fields:
                    assert field.offset == place, (file, frame.position, field)
                    place += field.size
                assert place == len(frame.data), (file, frame.position)
            decoder.decode(frame)


# What today's servers do not write into files.
OF_OLD_VERSIONS = {1, 6, 7, 8, 10, 12, 20, 21, 22}
OF_THE_STREAM = {27, 41}  # heartbeats
OF_GROUPS_ON_THE_WAY = {36, 37}  # group replication takes them out before it writes its relay log
OF_NO_VERSION_YET = {28, 43, 169, 170, 171, 172}
NOT_WRITTEN = OF_OLD_VERSIONS | OF_THE_STREAM | OF_GROUPS_ON_THE_WAY | OF_NO_VERSION_YET


STATUS_NOT_WRITTEN = {2, 10, 14, 15, 255}


def all_events() -> Iterator[Event]:
    """Those of all scenarios but the long ones; payloads, and what is inside them."""
    for name, each in scenarios().items():
        if not each.soak:
            logs = find_logs(name)
            for file in logs.files:
                decoder = open_decoder(logs, file)
                for _, event in frames(decoder):
                    yield event
                    if isinstance(event, TransactionPayload):
                        for _, inner in decoder.inner(event):
                            yield inner


def test_the_scenarios_hold_every_kind_of_thing(made_logs: None) -> None:
    """Every event, every status variable of statements, every kind of table metadata: else they prove less."""
    codes = set(EVENTS)
    variables = {cls: code for code, cls in STATUS_VARIABLES.items()}
    metadata = {cls: code for code, cls in METADATA.items()}
    for event in all_events():
        codes.discard(event.header.type_code)
        if isinstance(event, QueryEvent):
            for variable in event.status:
                variables.pop(type(variable), None)
        elif isinstance(event, TableMap):
            for each in event.optional:
                metadata.pop(type(each), None)
    assert codes == NOT_WRITTEN
    assert set(variables.values()) == STATUS_NOT_WRITTEN
    assert not metadata
