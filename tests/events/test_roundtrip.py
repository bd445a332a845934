"""encode(decode(bytes)) == bytes, and a trace that accounts for every byte, over all logs there are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gtidal.errors import GtidalError
from gtidal.events import Context, encode_event, trace_event
from gtidal.events.frame import compute_checksum
from gtidal.events.transaction import TransactionPayload
from gtidal.log.decoder import Frame, LogDecoder
from tests.logs import CorpusLog, corpus_logs

UNDECODABLE = {
    "pingcap+tiflow__mysql-bin.000001": "MariaDB 10.0 temporals with fractions: the log does not tell their size",
    "vlasky+zongji-fixtures__mariadb-11.8.8.netcapture.binlog": "the same, with mysql56_temporal_format=OFF",
}


def check_frame(context: Context, frame: Frame) -> None:
    event, fields = trace_event(frame.data, frame.position, context)
    end = 0
    for field in fields:
        assert field.offset == end, f"{field.name} at {field.offset}, the field before it ends at {end}"
        end += field.size
    assert end == len(frame.data)
    encoded = encode_event(event, context.format)
    if event.checksum is not None and event.checksum != compute_checksum(frame.data[:-4], frame.type_code):
        assert encoded[:-4] == frame.data[:-4]  # a bad checksum is not written again
    else:
        assert encoded == frame.data


LOGS = [log for log in corpus_logs() if "IBB_FORMAT" not in log.flags]


@pytest.mark.parametrize("log", LOGS, ids=str)
def test_corpus(log: CorpusLog) -> None:
    check_log(log, 400)


@pytest.mark.soak
@pytest.mark.parametrize("log", LOGS, ids=str)
def test_the_whole_corpus(log: CorpusLog) -> None:
    check_log(log, 1_000_000)


def check_log(log: CorpusLog, most: int) -> None:
    decoder = LogDecoder(log.name, verify_checksum=False)
    decoder.receive_data(log.data)
    checked = 0
    while checked < most and (frame := decoder.next_frame()) is not None:
        context = Context(decoder.format, dict(decoder.context.tables))
        try:
            event = decoder.decode(frame)
        except GtidalError:
            assert log.name in UNDECODABLE
            continue
        check_frame(context, frame)
        checked += 1
        if isinstance(event, TransactionPayload):
            for inner, inside in decoder.inner(event):
                sealed = replace(decoder.format, checksum=0)
                assert encode_event(inside, sealed) == inner.data
    assert checked
