"""MariaDB's GTIDs and lists of positions."""

from __future__ import annotations

import pickle
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gtidal.errors import UsageError
from gtidal.gtid import (
    GtidSet,
    MariadbGtid,
    MariadbGtidSet,
    MariadbGtidSetBuilder,
    parse_gtid_set,
)

gtids = st.builds(MariadbGtid, st.integers(0, 3), st.integers(1, 3), st.integers(0, 20))
states = st.lists(gtids, max_size=10).map(MariadbGtidSet.of)


def test_printed_as_the_server_does() -> None:
    # @@gtid_binlog_state and @@gtid_binlog_pos of MariaDB 11.8 after it was set to the first text
    state = MariadbGtidSet("0-1-100,0-3-90,0-2-95,7-1-4,3-5-9")
    assert str(state) == "0-1-100,0-3-90,0-2-95,3-5-9,7-1-4"
    assert str(state.positions()) == "0-2-95,3-5-9,7-1-4"
    builder = MariadbGtidSetBuilder(state)
    assert builder.add(0, 3, 200)
    assert not builder.add(7, 1, 4)
    assert str(builder.build()) == "0-1-100,0-2-95,0-3-200,3-5-9,7-1-4"
    assert str(builder.build().positions()) == "0-3-200,3-5-9,7-1-4"


def test_loose_input() -> None:
    assert str(MariadbGtidSet(" 1 - 2 - 5 ,,\n0-1-100, ")) == "0-1-100,1-2-5"
    assert str(MariadbGtidSet("0-1-5,0-1-9,0-1-7")) == "0-1-9"
    largest = "4294967295-4294967295-18446744073709551615"
    assert str(MariadbGtidSet(largest)) == largest
    assert str(MariadbGtid.parse(" 0-1-100")) == "0-1-100"


@pytest.mark.parametrize(
    "text", ["x", "1-2", "1-2-3-4", "1-2-3 4-5-6", "4294967296-1-1", "0-1-18446744073709551616", "0-1--1"]
)
def test_malformed(text: str) -> None:
    with pytest.raises(UsageError, match=r"malformed MariaDB GTID list: expected .* at character"):
        MariadbGtidSet(text)


@given(states, states)
def test_algebra(a: MariadbGtidSet, b: MariadbGtidSet) -> None:
    assert a | b == b | a
    assert str(a | b) == str(b | a)
    assert a & b <= a <= a | b
    assert (a - b) | b == a | b
    assert (a - b == MariadbGtidSet()) == (a <= b)
    assert (a < b) == (a <= b and a != b) == (b > a)
    assert str(a | MariadbGtidSet()) == str(a)


@given(states)
def test_one_value(a: MariadbGtidSet) -> None:
    for copy in (MariadbGtidSet(str(a)), pickle.loads(pickle.dumps(a)), MariadbGtidSet.of(a)):
        assert copy == a
        assert hash(copy) == hash(a)
        assert str(copy) == str(a)


def test_membership_and_cover() -> None:
    state = MariadbGtidSet("0-1-100,0-2-120")
    assert "0-1-100" in state
    assert "0-1-101" not in state
    assert MariadbGtid(0, 3, 5) not in state
    assert state.covers(MariadbGtid(0, 3, 5))
    assert state.covers(MariadbGtid(0, 1, 120))
    assert not state.covers(MariadbGtid(0, 1, 121))
    assert not state.covers(MariadbGtid(1, 1, 1))
    with pytest.raises(UsageError, match="not a single"):
        "0-1-1,0-2-1" in state  # noqa: B015


def test_it_does_not_change() -> None:
    state: Any = MariadbGtidSet("0-1-1")
    with pytest.raises(AttributeError):
        state._state = {}
    with pytest.raises(TypeError):
        state | GtidSet()


def test_the_flavours_are_told_apart() -> None:
    digits = "12345678-1234-1234-1234-123456789012"
    assert isinstance(parse_gtid_set(f"{digits}:1"), GtidSet)
    assert isinstance(parse_gtid_set("12345678-1234-11ed-b12d-0242ac130003:1"), GtidSet)
    assert isinstance(parse_gtid_set(digits), GtidSet)
    assert isinstance(parse_gtid_set(digits.replace("-", "") + ":1"), GtidSet)
    assert isinstance(parse_gtid_set(" ,\n0-1-100,1-2-5"), MariadbGtidSet)
    assert parse_gtid_set("") == GtidSet()
    with pytest.raises(UsageError, match=r"the form is uuid:.*, or MariaDB's 0-1-100"):
        parse_gtid_set("nonsense")
    with pytest.raises(UsageError, match="malformed MariaDB GTID list"):
        parse_gtid_set(f"0-1-100,{digits}:1")
    with pytest.raises(UsageError, match="malformed GTID set"):
        parse_gtid_set(f"{digits}:1,0-1-100")


def test_a_domain_and_server_in_a_hundred_thousand_entries() -> None:
    started = time.process_time()
    gtids = MariadbGtidSet.of(MariadbGtid(0, number % 7, number) for number in range(100_000))
    assert len(gtids) == 7
    assert time.process_time() - started < 3
