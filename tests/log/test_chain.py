"""What a file says of itself, which file follows it, what two files say of each other, where to start."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gtidal.errors import ChainBroken, UsageError
from gtidal.gtid import GtidSet, MariadbGtidSet
from gtidal.log.chain import AnyGtidSet, find_start, judge_link, next_in_chain
from gtidal.log.facts import Ending, FileFacts, LogName
from gtidal.log.findings import Kind
from tests.log.making import (
    START,
    UUID,
    audit,
    gtid,
    log,
    mariadb_list,
    mariadb_transaction,
    previous,
    query,
    rotate,
    stop,
    transaction,
)

MARIADB = "11.8.6-MariaDB"


def facts(name: str, data: bytes) -> FileFacts:
    examined, findings = audit(data, name)
    assert findings == []
    return examined.facts


def file(number: int, before: str, *gnos: int, end: str = "rotate", created: int = 0) -> FileFacts:
    """binlog.N with transactions, ended as told."""
    events = [previous(before), *(event for gno in gnos for event in transaction(gno))]
    if end == "rotate":
        events.append(rotate(f"binlog.{number + 1:06}"))
    elif end == "stop":
        events.append(stop())
    return facts(f"binlog.{number:06}", log(events, created=created, in_use=end == "in use"))


def link(this: FileFacts, following: FileFacts | None) -> list[tuple[Kind, bool]]:
    return [(finding.kind, finding.is_problem) for finding in judge_link(this, following)]


def messages(this: FileFacts, following: FileFacts | None) -> str:
    return " / ".join(finding.message for finding in judge_link(this, following))


FIRST = file(1, "", 1, 2, 3)
SECOND = file(2, f"{UUID}:1-3", 4, 5)
THIRD = file(3, f"{UUID}:1-5", 6)


def test_facts_of_a_file() -> None:
    assert FIRST.previous == GtidSet()
    assert FIRST.inside == FIRST.state == GtidSet(f"{UUID}:1-3")
    assert SECOND.state == GtidSet(f"{UUID}:1-5")
    assert (FIRST.ending, FIRST.next_file, FIRST.ends) == (
        Ending.ROTATE,
        "binlog.000002",
        "rotate to binlog.000002",
    )
    assert (FIRST.first_timestamp, FIRST.last_timestamp) == (START, START)
    assert (FIRST.checksum, FIRST.format.server_version, FIRST.relay) == ("CRC32", "9.7.4", False)


@pytest.mark.parametrize(
    ("end", "ending", "text"),
    [
        ("stop", Ending.STOP, "stop (clean shutdown)"),
        ("in use", Ending.OPEN, "in use or not closed"),
        ("nothing", Ending.OPEN, "open: no ROTATE or STOP"),
    ],
)
def test_how_files_end(end: str, ending: Ending, text: str) -> None:
    found = file(1, "", 1, end=end)
    assert (found.ending, found.ends) == (ending, text)


def test_an_open_transaction_is_not_counted() -> None:
    found = facts("binlog.000001", log([previous(), *transaction(1), gtid(2), query("BEGIN")], in_use=True))
    assert found.inside == GtidSet(f"{UUID}:1")
    assert found.open_gtid == f"{UUID}:2"


def test_an_artificial_rotate_ends_nothing() -> None:
    found = facts("binlog.000001", log([previous(), rotate("binlog.000009", flags=0x20)]))
    assert (found.ending, found.next_file) == (Ending.OPEN, None)


def test_relay_log() -> None:
    """It holds the ROTATEs of the source; its own is marked."""
    head = [previous(), rotate("binlog.000001", flags=0x20)]
    source = facts("relay.000001", log([*head, *transaction(1), rotate("binlog.000002")], first_flags=0x40))
    assert (source.relay, source.ending) == (True, Ending.OPEN)
    own = facts("relay.000001", log([*head, rotate("relay.000002", flags=0x40)], first_flags=0x40))
    assert own.next_file == "relay.000002"


# --- names


@pytest.mark.parametrize(
    ("name", "base", "number"),
    [
        ("binlog.000024", "binlog", 24),
        ("./binlog.000024", "binlog", 24),
        ("mysql-bin.log.1000000", "mysql-bin.log", 1_000_000),
        ("saved", "saved", None),
    ],
)
def test_names(name: str, base: str, number: int | None) -> None:
    found = LogName.parse(name)
    assert (found.base, found.number) == (base, number)


def test_numbers_grow_a_digit() -> None:
    assert LogName.parse("binlog.999999").at(1_000_000) == "binlog.1000000"
    last, grown = file(999_999, "", 1), file(1_000_000, f"{UUID}:1", 2)
    assert next_in_chain(last, [grown]) is grown
    assert link(last, grown) == []


# --- which comes next


def test_next_by_rotate_by_index_by_number() -> None:
    assert next_in_chain(FIRST, [THIRD, SECOND]) is SECOND
    stopped = file(1, "", 1, 2, 3, end="stop")
    assert next_in_chain(stopped, [THIRD, SECOND]) is SECOND
    assert next_in_chain(stopped, [THIRD, SECOND], indexed=True) is THIRD
    assert next_in_chain(FIRST, [THIRD]) is THIRD
    assert next_in_chain(THIRD, []) is None


def test_next_where_numbering_restarted() -> None:
    old = file(9, f"{UUID}:1-8", 9, end="stop")
    new = file(1, "", 1)
    assert next_in_chain(old, [new]) is new
    assert next_in_chain(old, [file(1, f"{UUID}:1-3", 4)]) is None


# --- links


def test_a_sound_chain() -> None:
    assert link(FIRST, SECOND) == link(SECOND, THIRD) == link(THIRD, None) == []


def test_a_missing_file() -> None:
    found = list(judge_link(FIRST, THIRD))
    assert [finding.kind for finding in found] == [Kind.CHAIN, Kind.GTID]
    assert "1 file is missing behind it: binlog.000002" in found[0].message
    assert f"{UUID}:4-5" in found[1].message


def test_several_missing_files() -> None:
    assert "3 files are missing behind it: binlog.000002 to binlog.000004" in messages(
        FIRST, file(5, f"{UUID}:1-3")
    )


def test_missing_transactions() -> None:
    assert link(FIRST, file(2, f"{UUID}:1-4")) == [(Kind.GTID, True)]
    assert link(FIRST, file(2, f"{UUID}:1-2")) == [(Kind.GTID, True)]


def test_numbering_restarted() -> None:
    old = file(9, f"{UUID}:1-8", 9, end="stop")
    assert link(old, file(1, "", 1)) == [(Kind.CHAIN, False)]
    assert "RESET" in messages(old, file(1, "", 1))


def test_left_over_from_before_a_restart() -> None:
    older = file(2, f"{UUID}:1-90", 91)
    older.first_timestamp = START - 1000
    new = file(1, "", 1, 2, 3, end="stop")
    assert (Kind.GTID, True) in link(new, older)
    other = GtidSet("00000000-0000-0000-0000-000000000001:1-5")
    older.previous = other
    assert "left over" in messages(new, older)


def test_renamed_files_are_compared_by_number() -> None:
    renamed = [
        facts(f"saved.{number:06}", log([previous(), rotate(f"binlog.{number + 1:06}")]))
        for number in (1, 2, 3)
    ]
    assert link(renamed[0], renamed[1]) == []
    assert link(renamed[0], renamed[2]) == [(Kind.CHAIN, True)]


def test_a_crash_and_the_file_behind_it() -> None:
    crashed = file(1, "", 1, 2, 3, end="in use")
    after = file(2, f"{UUID}:1-3", 4, created=START)
    assert link(crashed, after) == [(Kind.ENDING, False)]
    assert "knows of nothing that is missing" in messages(crashed, after)
    assert link(crashed, file(2, f"{UUID}:1-4", created=START)) == [(Kind.GTID, True), (Kind.ENDING, False)]


def test_a_cut_file_before_one_that_a_running_server_began() -> None:
    cut = file(1, "", 1, 2, 3, end="nothing")
    assert link(cut, SECOND) == [(Kind.ENDING, True)]


def test_the_last_file() -> None:
    assert link(file(1, "", 1, end="in use"), None) == [(Kind.ENDING, False)]
    assert link(file(1, "", 1, end="nothing"), None) == [(Kind.ENDING, False)]
    open_events = [previous(), *transaction(1), gtid(2), query("BEGIN")]
    assert link(facts("binlog.000001", log(open_events, in_use=True)), None) == [(Kind.ENDING, False)]
    assert link(facts("binlog.000001", log(open_events)), None) == [(Kind.ENDING, True)]


def test_the_last_event_is_partial() -> None:
    events = [previous(), *transaction(1)]
    assert link(facts("binlog.000001", log(events, in_use=True)[:-3]), None) == [(Kind.PARTIAL, False)]
    assert link(facts("binlog.000001", log(events)[:-3]), None) == [(Kind.PARTIAL, True)]


def mariadb_file(number: int, before: list[tuple[int, int, int]], *sequences: int) -> FileFacts:
    events = [mariadb_list(*before), *(event for n in sequences for event in mariadb_transaction(n))]
    data = log([*events, rotate(f"binlog.{number + 1:06}")], server_version=MARIADB)
    return facts(f"binlog.{number:06}", data)


def test_mariadb_chain() -> None:
    first = mariadb_file(1, [], 1, 2)
    second = mariadb_file(2, [(0, 1, 2)], 3)
    third = mariadb_file(3, [(0, 1, 3)], 4)
    assert first.inside == MariadbGtidSet("0-1-2")
    assert link(first, second) == link(second, third) == []
    assert link(first, third) == [(Kind.CHAIN, True), (Kind.GTID, True)]


# --- where to start


def start(had: str | AnyGtidSet, *files: FileFacts) -> tuple[str, int]:
    """The file, and how many heads it took."""
    taken = 0

    def heads() -> Iterator[tuple[str, AnyGtidSet | None]]:
        nonlocal taken
        for entry in reversed(files):
            taken += 1
            yield entry.name, entry.previous

    already_had = GtidSet(had) if isinstance(had, str) else had
    return find_start(heads(), already_had), taken


@pytest.mark.parametrize(
    ("had", "name", "taken"),
    [
        ("", "binlog.000001", 3),
        (f"{UUID}:1-2", "binlog.000001", 3),
        (f"{UUID}:1-3", "binlog.000002", 2),
        (f"{UUID}:1-4", "binlog.000002", 2),
        (f"{UUID}:1-3:5", "binlog.000002", 2),
        (f"{UUID}:1-5", "binlog.000003", 1),
        (f"{UUID}:1-500", "binlog.000003", 1),
        (f"{UUID}:blue:1-5", "binlog.000001", 3),
    ],
)
def test_start(had: str, name: str, taken: int) -> None:
    assert start(had, FIRST, SECOND, THIRD) == (name, taken)


def test_start_is_purged() -> None:
    with pytest.raises(ChainBroken, match=rf"purged: {UUID}:3 was before binlog\.000002"):
        start(f"{UUID}:1-2", SECOND, THIRD)


def test_start_without_gtids() -> None:
    old = facts("binlog.000001", log([stop()]))
    with pytest.raises(ChainBroken, match="no GTIDs"):
        start("", old)
    assert start("", FIRST, old)[0] == "binlog.000001"


def test_start_with_the_other_flavour() -> None:
    with pytest.raises(UsageError, match="MariaDB's, and the log"):
        start(MariadbGtidSet("0-1-5"), SECOND)


MARIADB_LISTS = [
    ("binlog.000001", ""),
    ("binlog.000002", "0-1-10"),
    ("binlog.000003", "0-1-20,0-2-30"),
    ("binlog.000004", "0-1-20,0-2-40,5-1-3"),
]


@pytest.mark.parametrize(
    ("had", "name"),
    [
        ("", "binlog.000001"),
        ("0-1-5", "binlog.000001"),
        ("0-1-10", "binlog.000002"),
        ("0-1-11", "binlog.000002"),
        # server 1 wrote 0-1-20 last, but server 2 wrote behind it: what follows it is in file 2
        ("0-1-20", "binlog.000002"),
        ("0-2-30", "binlog.000003"),
        ("0-2-35", "binlog.000003"),
        # domain 5 is new in file 3, and the reader has nothing of it
        ("0-2-40", "binlog.000003"),
        ("0-2-40,5-1-3", "binlog.000004"),
        ("0-2-41,5-1-9", "binlog.000004"),
        # a server that the lists do not know: its transaction is in the last file
        ("0-9-50,5-1-3", "binlog.000004"),
    ],
)
def test_start_mariadb(had: str, name: str) -> None:
    heads = [(entry, MariadbGtidSet(text)) for entry, text in reversed(MARIADB_LISTS)]
    assert find_start(heads, MariadbGtidSet(had)) == name


def test_start_mariadb_is_purged() -> None:
    heads = [(entry, MariadbGtidSet(text)) for entry, text in reversed(MARIADB_LISTS[1:])]
    with pytest.raises(ChainBroken, match=r"purged: 0-1-10 was before binlog\.000002"):
        find_start(heads, MariadbGtidSet("0-1-5"))
