"""GTID sets against the real servers: what they read, print, compute and write."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from pathlib import Path

import pymysql
import pytest

from gtidal.errors import UsageError
from gtidal.gtid import EncodedGtidSet, GtidSet, MariadbGtidSet
from tests.gtid.strategies import LARGEST, TAGS, UUIDS
from tests.gtid.test_text import ACCEPTED, REFUSED
from tests.live.conftest import StartMySQL
from tests.live.servers import MariaDBServer, MySQLServer, run_mysqlbinlog

PREVIOUS_GTIDS = 35
HEADER = 19
CHECKSUM = 4


@pytest.fixture(scope="module")
def gtid_server() -> Iterator[MySQLServer]:
    with MySQLServer.temporary("--gtid-mode=ON", "--enforce-gtid-consistency=ON") as server:
        yield server


def loose_set(random: random.Random) -> str:
    """A set as careless people and odd tools write it; always legal."""
    sets = []
    for _ in range(random.randint(0, 5)):
        uuid = random.choice(UUIDS)
        text = random.choice([uuid, uuid.upper(), uuid.replace("-", ""), f"{{{uuid}}}"])
        for _ in range(random.randint(0, 8)):
            blank = random.choice(["", "", " ", "\n"])
            if random.random() < 0.25:
                tag = random.choice(TAGS[1:])
                text += f":{blank}{random.choice([tag, tag.upper()])}{blank}"
                continue
            start = random.choice(
                [random.randint(1, 30), random.randint(1, 30), LARGEST - random.randint(0, 5)]
            )
            text += f":{blank}{start}"
            if random.random() < 0.5:
                text += f"{blank}-{blank}{random.choice([random.randint(0, 35), LARGEST])}"
        sets.append(text)
    return random.choice([",", " , ", ",\n", ",,"]).join(sets)


def test_the_text_we_read_is_the_text_it_reads(gtid_server: MySQLServer) -> None:
    for text, canonical in ACCEPTED.items():
        assert gtid_server.query("SELECT GTID_SUBTRACT(%s, '')", text) == [(canonical,)]
    for text in REFUSED:
        with pytest.raises(pymysql.MySQLError, match="Malformed GTID set"):
            gtid_server.query("SELECT GTID_SUBTRACT(%s, '')", text)
        with pytest.raises(UsageError):
            GtidSet(text)


@pytest.mark.parametrize("seed", range(300))
def test_algebra(gtid_server: MySQLServer, seed: int) -> None:
    chance = random.Random(seed)
    one, other = loose_set(chance), loose_set(chance)
    a, b = GtidSet(one), GtidSet(other)
    sql = """SELECT GTID_SUBTRACT(%s, ''), GTID_SUBTRACT(%s, %s), GTID_SUBSET(%s, %s),
                    GTID_SUBTRACT(%s, GTID_SUBTRACT(%s, %s)), GTID_SUBTRACT(CONCAT(%s, ',', %s), '')"""
    arguments = (one, one, other, one, other, one, one, other, one, other)
    assert gtid_server.query(sql, *arguments) == [(str(a), str(a - b), int(a <= b), str(a & b), str(a | b))]


def previous_gtids(log: Path) -> bytes:
    """The body of the file's PREVIOUS_GTIDS event."""
    data = log.read_bytes()
    position = 4
    while data[position + 4] != PREVIOUS_GTIDS:
        position += struct.unpack_from("<I", data, position + 9)[0]
    (size,) = struct.unpack_from("<I", data, position + 9)
    return data[position + HEADER : position + size - CHECKSUM]


@pytest.mark.parametrize("seed", range(20))
def test_what_the_server_prints(gtid_server: MySQLServer, seed: int) -> None:
    purged = GtidSet(loose_set(random.Random(seed)))
    gtid_server.execute("RESET BINARY LOGS AND GTIDS")
    gtid_server.execute(f"SET GLOBAL gtid_purged = '{purged}'")
    gtid_server.execute("SET gtid_next = 'AUTOMATIC:Live'; CREATE DATABASE IF NOT EXISTS d")
    gtid_server.execute("SET gtid_next = 'AUTOMATIC'; CREATE DATABASE IF NOT EXISTS d")
    executed = purged | GtidSet(f"{gtid_server.uuid}:1:live:1")
    assert gtid_server.query("SELECT @@gtid_purged, @@gtid_executed") == [(str(purged), str(executed))]


@pytest.mark.parametrize(("seed", "tags"), [(seed, TAGS if seed else [""]) for seed in range(8)])
def test_what_the_server_logs(gtid_server: MySQLServer, seed: int, tags: list[str]) -> None:
    chance = random.Random(seed)
    gtid_server.execute("RESET BINARY LOGS AND GTIDS")
    gtids = {f"{chance.choice(UUIDS)}:{chance.choice(tags)}:{chance.randint(1, 12)}" for _ in range(40)}
    for gtid in sorted(gtid.replace("::", ":") for gtid in gtids):
        gtid_server.execute(f"SET gtid_next = '{gtid}'; BEGIN; COMMIT")
    gtid_server.execute("SET gtid_next = 'AUTOMATIC'")
    gtid_server.flush()
    ((executed,),) = gtid_server.query("SELECT @@gtid_executed")
    expected = GtidSet(",".join(gtids).replace("::", ":"))
    assert executed == str(expected)

    log = gtid_server.binlogs()[-1]
    body = previous_gtids(log)
    record = EncodedGtidSet.decode(body)
    assert record.encode() == body
    assert record.to_set() == expected
    # The entries come in the server's own order; which encoding it chose is another test's question.
    assert EncodedGtidSet.from_set(expected, record.encoding) == record
    shown = "".join(f"# {line}\n" for line in executed.splitlines())
    assert shown in run_mysqlbinlog(log).decode()


def test_a_server_that_has_seen_a_tag_writes_encoding_1(start_mysql: StartMySQL) -> None:
    server = start_mysql("--gtid-mode=ON", "--enforce-gtid-consistency=ON")

    def encoding_after(*statements: str) -> int:
        server.execute(statements)
        server.flush()
        return EncodedGtidSet.decode(previous_gtids(server.binlogs()[-1])).encoding

    assert encoding_after("CREATE DATABASE a") == 0
    assert encoding_after("SET gtid_next = 'AUTOMATIC:t'", "CREATE DATABASE b") == 1
    # The tag is gone from the set, not from the server's memory: only empty tags, yet encoding 1.
    untagged = ("RESET BINARY LOGS AND GTIDS", "SET gtid_next = 'AUTOMATIC'", "CREATE DATABASE c")
    assert encoding_after(*untagged) == 1
    record = EncodedGtidSet.decode(previous_gtids(server.binlogs()[-1]))
    assert str(record.to_set()) == f"{server.uuid}:1"


def test_mariadb_positions(mariadb: MariaDBServer) -> None:
    mariadb.execute("RESET MASTER")
    given = "0-1-100,0-3-90,0-2-95,7-1-4,3-5-9"
    mariadb.execute(f"SET GLOBAL gtid_binlog_state = '{given}'")
    state = MariadbGtidSet(given)
    sql = "SELECT @@gtid_binlog_state, @@gtid_binlog_pos"
    assert mariadb.query(sql) == [(str(state), str(state.positions()))]
    mariadb.execute("SET server_id = 3; SET gtid_seq_no = 200; CREATE DATABASE IF NOT EXISTS a")
    state |= MariadbGtidSet("0-3-200")
    (found,) = mariadb.query(sql)
    assert MariadbGtidSet(found[0]) == state
    assert found[1] == str(state.positions())
