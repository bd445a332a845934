"""The details of events as VARIANT."""

from __future__ import annotations

import datetime
import json
from contextlib import suppress
from decimal import Decimal
from itertools import islice
from typing import Any

import pytest

from gtidal.columnar.variant import (
    decode,
    decode_typed,
    encode_detail,
    json_text,
    writing,
)
from gtidal.errors import DecodeError
from gtidal.events import Event
from tests import samples
from tests.columnar.variant_judge import both
from tests.logs import CorpusLog, corpus_logs, read_all


@pytest.mark.parametrize("event", samples.samples(), ids=lambda event: event.name)
def test_every_event_has_a_detail(event: Event) -> None:
    value, metadata = encode_detail(event)
    found = both(value, metadata)
    decode_typed(value, metadata)
    assert json.loads(json_text(value, metadata)).keys() == found.keys()
    assert found["header"]["type_code"] == event.header.type_code
    assert found["header"]["timestamp"] == 1_700_000_000
    assert "grün".encode() not in value  # a row's value
    hidden = {"rows", "undecoded", "compressed_rows", "payload", "compressed", "mariadb"}
    assert not hidden & found.keys()


def detail(event: Event) -> Any:
    return decode(*encode_detail(samples.with_type(event)))


def test_details_say_what_numbers_mean() -> None:
    found = {event.name: detail(event) for event in samples.samples()}
    assert found["GTID_TAGGED"]["gtid"] == f"b8ae2fd2-3005-11f0-8be8-0242ac150002:{'x' * 32}:12"
    assert found["GTID_TAGGED"]["immediate_server_version_text"] == "9.7.4"
    assert found["GTID_TAGGED"]["immediate_commit_time"] == datetime.datetime(
        2025, 5, 27, 1, 6, 53, 569478, tzinfo=datetime.UTC
    )
    assert "original_commit_timestamp" not in found["GTID_TAGGED"]  # the log does not hold it
    assert "gtid" not in found["ANONYMOUS_GTID"]
    assert found["WRITE_ROWS"]["flag_names"] == ["STMT_END"]
    assert found["WRITE_ROWS"]["row_count"] == 2
    assert found["WRITE_ROWS"]["table_name"] == "shop.orders"
    assert found["WRITE_ROWS"]["extra_info"] == [{"kind": "PartitionInfo", "partition_id": 3, "typecode": 1}]
    assert found["QUERY"]["query"] == "CREATE TABLE t (a INT)"
    assert found["QUERY"]["status"]["time_zone"] == {"code": 5, "time_zone": "SYSTEM"}
    assert "STRICT_TRANS_TABLES" in found["QUERY"]["status"]["sql_mode"]["names"]
    assert found["QUERY_COMPRESSED"]["query"] == "INSERT INTO t VALUES (1)"
    assert found["RAND"]["seed1"] == 1 << 63
    assert found["TABLE_MAP"]["columns"][8]["labels"] == ["new", "paid"]
    assert found["TABLE_MAP"]["optional"]["simple_primary_key"]["numbers"] == [0]
    assert found["TABLE_MAP"]["optional"]["unknown_99"] == {"tag": 99, "data": b"later"}
    assert found["PREVIOUS_GTIDS"]["gtids"]["set"] == samples.GTIDS.one_line()
    assert found["XA_PREPARE"]["xa"] == "X'747278',X'6272616e6368',1"
    assert found["TRANSACTION_PAYLOAD"]["compression_name"] == "ZSTD"
    assert found["TRANSACTION_PAYLOAD"]["payload_size"] == len(samples.payload().payload)
    assert found["MARIADB_GTID"]["gtid"] == "0-1-5"
    assert found["UNKNOWN"]["body"] == b"something new"
    first = next(event for event in samples.samples() if event.name == "USER_VAR")
    assert detail(first)["decoded_value"] == Decimal("123.45")


def test_a_text_that_is_none_is_binary() -> None:
    assert detail(samples.query(b"SELECT '\xff'"))["query"] == b"SELECT '\xff'"


def test_a_detail_that_is_too_large_says_where(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "LARGEST", 500)
    with pytest.raises(DecodeError, match="128 MiB") as caught:
        detail(samples.query(b"x" * 400))
    assert (caught.value.event, caught.value.field) == ("QUERY", "detail")


MOST_EVENTS = 200
"""Of each log; they are much alike."""


@pytest.mark.parametrize("log", corpus_logs(), ids=str)
def test_details_of_real_logs(log: CorpusLog) -> None:
    with suppress(DecodeError):  # the damaged ones end early
        for event in islice(read_all(log.data), MOST_EVENTS):
            value, metadata = encode_detail(event)
            decode_typed(value, metadata)
            assert both(value, metadata)["header"]["server_id"] == event.header.server_id
