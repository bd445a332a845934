"""The servers' full lists of codes: each is registered, or excused with a reason."""

from __future__ import annotations

from dataclasses import fields

import pytest

from gtidal.events import EVENTS, Event
from gtidal.events.protocol import COMMANDS
from gtidal.events.statement import STATUS_VARIABLES
from gtidal.events.table_map import METADATA

MYSQL_CODES = range(1, 44)
MARIADB_CODES = range(160, 173)


@pytest.mark.parametrize("code", [*MYSQL_CODES, *MARIADB_CODES])
def test_every_type_code_has_a_class(code: int) -> None:
    assert EVENTS[code].code == code


def test_no_code_beyond_the_lists() -> None:
    assert set(EVENTS) == {*MYSQL_CODES, *MARIADB_CODES}


def test_names_are_distinct() -> None:
    assert len({event.name for event in EVENTS.values()}) == len(EVENTS)


@pytest.mark.parametrize("event", EVENTS.values(), ids=lambda event: event.name)
def test_every_event_says_what_it_is(event: type[Event]) -> None:
    assert event.__doc__
    assert not event.__doc__.startswith(event.__name__ + "(")
    assert {"header", "checksum", "trailing"} <= {field.name for field in fields(event)}


def test_status_variables() -> None:
    assert set(STATUS_VARIABLES) == {*range(22), 128, 129, 130, 131, 255}


def test_table_metadata() -> None:
    assert set(METADATA) == set(range(1, 14))


def test_commands() -> None:
    assert {number: command.__name__ for number, command in COMMANDS.items()} == {
        0x12: "BinlogDump",
        0x13: "TableDump",
        0x15: "RegisterSlave",
        0x1E: "BinlogDumpGtid",
    }
