"""Whatever the size of parts: together they are the log, every transaction once."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from pathlib import Path

import pytest

from gtidal.errors import DecodeError
from gtidal.events.control import Rotate
from gtidal.events.format import NO_CHECKSUM
from gtidal.events.header import ARTIFICIAL, RELAY_LOG
from gtidal.planning import SPLITTINGS, plan_read, read_part
from tests.logs import corpus_logs, format_description
from tests.planning.making import START, LogMaker, crafted, insert
from tests.planning.reading import VIEWS, drained, in_parts, in_sequence, sizes

EXAMPLES = Path(__file__).parents[2] / "examples" / "shop"


CORPUS = [log.path for log in corpus_logs() if log.path.stat().st_size < 200_000]
OWN = sorted(EXAMPLES.glob("binlog.0*"))


@pytest.mark.parametrize("path", [*OWN, *CORPUS], ids=lambda path: path.name)
def test_parts_together_are_the_log(path: Path) -> None:
    for view in VIEWS:
        expected = in_sequence(view, path)
        for splitting in SPLITTINGS:
            for size in sizes(path, 2):
                assert in_parts(view, path, size, splitting) == expected, (view, splitting, size)


# --- logs of our own making


def mixed(maker: LogMaker, count: int = 40) -> bytes:
    """Transactions of many sizes."""
    sizes_of_blobs = random.Random(3)
    for number in range(1, count + 1):
        blobs = [
            insert(number, sizes_of_blobs.randbytes(sizes_of_blobs.randint(0, 2000)))
            for _ in range(number % 3)
        ]
        maker.transaction(number, *(event for blob in blobs for event in blob), named=number % 4 != 0)
    maker.rotate()
    return bytes(maker.data)


def without_gtids() -> bytes:
    """As before 5.6: a transaction begins with BEGIN, or with whatever comes."""
    maker = LogMaker(None, checksum=NO_CHECKSUM, server_version="5.6.51-log")
    for number in range(1, 30):
        maker.statements(
            "BEGIN", f"INSERT INTO t VALUES ({number})", "SAVEPOINT s", "ROLLBACK TO s", "COMMIT"
        )
        maker.statements(f"CREATE TABLE t{number} (a INT)", f"DELETE FROM m WHERE a = {number}")
        maker.statements("BEGIN", "UPDATE t SET a = 1", "ROLLBACK")
    maker.rotate()
    return bytes(maker.data)


def relay(second: int = 400_000) -> bytes:
    """A replica's own head, then the source's events at the source's positions, which jump when it reconnects."""
    maker = LogMaker("", server_version="9.7.4", server_id=2)
    source = format_description("8.0.40")
    for origin, first in ((100_000, 1), (second, 21)):
        maker.add(Rotate(start=4, next_file="source.000007"), 0, ARTIFICIAL)
        maker.add(replace(source, created=0), START, RELAY_LOG)
        maker.format = source.format
        maker.origin = origin
        for number in range(first, first + 20):
            maker.transaction(number, *insert(number, b"r" * (37 * number)))
    return bytes(maker.data)


def still_written() -> bytes:
    maker = LogMaker("", in_use=True)
    return mixed(maker)[:-170]


def damaged() -> bytes:
    data = bytearray(mixed(LogMaker("")))
    data[len(data) // 2] ^= 0x40
    return bytes(data)


def with_bytes_lost() -> bytes:
    data = mixed(LogMaker(""))
    return data[: len(data) // 2] + data[len(data) // 2 + 33 :]


MADE = {
    "plain": lambda: mixed(LogMaker("")),
    "no checksums": lambda: mixed(LogMaker("", checksum=NO_CHECKSUM)),
    "no GTIDs": without_gtids,
    "relay": relay,
    "in use": still_written,
    "damaged": damaged,
    "bytes lost": with_bytes_lost,
}


@pytest.mark.parametrize("kind", MADE)
def test_logs_of_all_kinds(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "binlog.000001"
    path.write_bytes(MADE[kind]())
    for view in VIEWS:
        expected = in_sequence(view, path)
        assert expected[0]
        assert (expected[1] is not None) == (kind in ("damaged", "bytes lost"))
        for splitting in SPLITTINGS:
            for size in (200, 333, *sizes(path, 6)):
                assert in_parts(view, path, size, splitting) == expected, (view, splitting, size)


@pytest.mark.parametrize("kind", ["plain", "no GTIDs", "relay", "no checksums"])
def test_logs_are_really_cut(kind: str, tmp_path: Path) -> None:
    """So that the tests above do not compare one part with one part."""
    path = tmp_path / "binlog.000001"
    path.write_bytes(MADE[kind]())
    for splitting in SPLITTINGS:
        plan = plan_read(path, {}, part_bytes=700, splitting=splitting)
        full = [part for part in plan.parts if drained(read_part("transactions", part, {}))[0]]
        assert len(full) > 10


def test_a_log_that_grew_is_read_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "binlog.000001"
    whole = mixed(LogMaker("", in_use=True))
    path.write_bytes(whole[: len(whole) // 2])
    expected = in_sequence("transactions", path)
    plans = [plan_read(path, {}, part_bytes=size) for size in (500, 1 << 20)]
    closed = bytearray(whole)
    closed[4 + 17] &= 0xFE  # the server has closed it meanwhile
    checksum = LogMaker("").data[: 4 + 119]
    closed[: len(checksum)] = checksum
    path.write_bytes(closed)
    for plan in plans:
        assert (
            drained(batch for part in plan.parts for batch in read_part("transactions", part, {})) == expected
        )


def test_one_transaction_longer_than_many_parts(tmp_path: Path) -> None:
    """It belongs to the part it begins in; the others are empty."""
    maker = LogMaker("")
    maker.transaction(1)
    maker.transaction(2, *(event for number in range(40) for event in insert(number, b"z" * 500)))
    maker.transaction(3)
    path = tmp_path / "binlog.000001"
    path.write_bytes(maker.data)
    expected = in_sequence("changes", path)
    for splitting in SPLITTINGS:
        assert in_parts("changes", path, 300, splitting) == expected
    plan = plan_read(path, {}, part_bytes=300)
    found = [len(drained(read_part("changes", part, {}))[0]) for part in plan.parts]
    assert sorted(found)[-1] >= 40
    assert found.count(0) > len(found) // 2


def test_a_format_that_changes_inside_a_relay_log(tmp_path: Path) -> None:
    """A part cannot know that from where it begins. The one before notices."""
    data = relay()
    first = LogMaker("", server_version="9.7.4", server_id=2)
    assert data.startswith(bytes(first.data))
    maker = LogMaker("", server_version="9.7.4", server_id=2)
    for version in ("8.0.40", "5.7.44"):
        source = replace(format_description(version), created=0)
        maker.add(source, START, RELAY_LOG)
        maker.format = source.format
        maker.origin += 70_000
        for number in range(1, 20):
            maker.transaction(number)
    path = tmp_path / "relay.000001"
    path.write_bytes(maker.data)
    expected = in_sequence("transactions", path)
    assert expected[1] is None
    assert in_parts("transactions", path, 900, "walk") == expected
    error = in_parts("transactions", path, 900)[1]
    assert error is not None
    assert "the log's format changes" in error
    assert "splitting=walk" in error


# --- bytes that look like events


@pytest.fixture
def forged(tmp_path: Path) -> Path:
    maker = LogMaker("")
    for number in range(1, 6):
        maker.transaction(number)
    maker.transaction(6, *insert(6, crafted(maker, 6000, 6)))
    for number in range(7, 12):
        maker.transaction(number)
    maker.rotate()
    path = tmp_path / "binlog.000001"
    path.write_bytes(maker.data)
    return path


def test_forged_events_are_noticed(forged: Path) -> None:
    """Where a cut falls into the BLOB, its bytes pass for transactions. The part before does not arrive there."""
    for view in VIEWS:
        expected = in_sequence(view, forged)
        assert expected[1] is None
        noticed = 0
        for size in (700, 900, 1500, 2500):
            rows, error = in_parts(view, forged, size)
            if error is None:
                assert rows == expected[0]
            else:
                assert "splitting=walk" in error
                assert rows == expected[0][: len(rows)]
                noticed += 1
        assert noticed > 2


def test_walking_is_not_deceived(forged: Path) -> None:
    for view in VIEWS:
        expected = in_sequence(view, forged)
        for size in (300, 700, 900, 1500, 2500):
            assert in_parts(view, forged, size, "walk") == expected


def test_forged_events_are_noticed_where_their_transaction_is_jumped_over(forged: Path) -> None:
    """The reader before never sees the event that goes on beyond the cut: it jumps, and arrives elsewhere."""
    options = {"exclude_gtids": "b8ae2fd2-3005-11f0-8be8-0242ac150002:6"}
    error = in_parts("changes", forged, 1500, **options)[1]
    assert error is not None
    assert "splitting=walk" in error


def test_the_error_names_the_positions(forged: Path) -> None:
    plan = plan_read(forged, {}, part_bytes=1500)
    errors = []
    for part in plan.parts:
        try:
            list(read_part("changes", part, {}))
        except DecodeError as error:
            errors.append(str(error))
    (told,) = [error for error in errors if "seems to begin" in error]
    assert re.match(r"binlog.000001, position \d+: at position \d+ a transaction seems to begin", told)


def test_positions_beyond_four_gibibytes(tmp_path: Path) -> None:
    """The log_pos of headers has 32 bits. A hole in the file stands for what is before."""
    maker = LogMaker("")
    head = bytes(maker.data)
    beyond = (1 << 32) + 5_000_000
    maker.data = bytearray()
    maker.origin = beyond
    for number in range(1, 30):
        maker.transaction(number, timestamp=START + number)
    path = tmp_path / "binlog.000001"
    with path.open("wb") as stream:
        stream.write(head)
        stream.seek(beyond)
        stream.write(maker.data)
    plan = plan_read(path, {}, part_bytes=1 << 30)
    (piece,) = plan.parts[-1].pieces
    found: list[int] = []
    for cut in range(beyond, path.stat().st_size, 1000):
        part = replace(piece, cut=cut, searched=True, until=cut + 1000, step=1000)
        rows, error = drained(read_part("transactions", type(plan.parts[0])((part,)), {}))
        assert error is None
        found += [row["position"] for row in rows]
    assert len(found) == 29
    assert found == sorted(found)
    assert min(found) == beyond
