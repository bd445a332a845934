"""Micro-batches of growing logs: whatever their size and wherever the log is, together they are the log."""

from __future__ import annotations

import re
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pytest

import gtidal
from gtidal.errors import (
    ChainBroken,
    ChecksumMismatch,
    ConnectionLost,
    LogsDiverged,
    LogsPurged,
    SchemaConflict,
    UsageError,
)
from gtidal.spark.source import BinlogSource
from gtidal.spark.stream import PAUSES
from tests.live.checkpoints import wait_for_checkpoint
from tests.live.conftest import live_servers, made_logs, start_mysql
from tests.live.proxy import Proxy
from tests.live.servers import MariaDBServer, MySQLServer, Server
from tests.live.writer import TABLE, Writer
from tests.spark.driving import batches, drained, options_of, reader, rows_between, table_of
from tests.spark.test_views_live import LARGE, every_log, key_of

__all__ = ["live_servers", "made_logs", "start_mysql"]
pytestmark = pytest.mark.live

SHOP = Path(__file__).parents[2] / "examples" / "shop"
GTIDS = ("--gtid-mode=ON", "--enforce-gtid-consistency=ON")
ROWS = ("--binlog-format=ROW",)
VIEWS = {"changes": gtidal.changes, "transactions": gtidal.transactions, "events": gtidal.events}


def at(server: Server, *others: Server) -> dict[str, str]:
    hosts = ",".join(f"127.0.0.1:{each.port}" for each in (server, *others))
    return {"host": hosts, "user": "root", "tls": "off"}


def folder(server: Server) -> dict[str, str]:
    return {"path": str(server.binlog_dir / "binlog.[0-9]*[0-9]")}


def write(server: Server, rows: int, **options: object) -> Writer:
    with Writer(server, 5, pause=0, **options) as writer:  # type: ignore[arg-type]
        writer.wait_for(rows)
    return writer


@pytest.fixture(scope="module", params=["mysql", "mariadb"])
def written(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server with a log of many kinds of transactions in several files."""
    with ExitStack() as stack:
        server: Server = stack.enter_context(
            MySQLServer.temporary(*GTIDS) if request.param == "mysql" else MariaDBServer.temporary(*ROWS)
        )
        write(server, 1000, extras=("update", "delete", "ddl", "rollback", "myisam"), flush_odds=0.06)
        wait_for_checkpoint(server)
        yield server


def inserts(table: pa.Table) -> int:
    return table.column("op").to_pylist().count("insert")


def of_files(server: Server, view: str) -> pa.Table:
    return VIEWS[view]([str(path) for path in server.binlogs()]).read_all()  # type: ignore[operator]


def same(read: pa.Table, expected: pa.Table) -> bool:
    if "flags" in expected.column_names:  # a server does not send that a file is in use
        read, expected = read.drop_columns(["flags"]), expected.drop_columns(["flags"])
    return read.cast(expected.schema).equals(expected)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("place", [at, folder])
def test_batches_together_are_the_view(written: Server, view: str, place: object) -> None:
    """In one batch and in many, from the server and from its files."""
    expected = of_files(written, view)
    where = place(written)  # type: ignore[operator]
    end, whole, count = drained(reader(**where, view=view, start="oldest"))
    assert end is not None
    assert (count, same(whole, expected)) == (1, True)
    limits = {"maxBytesPerTrigger": "20k"} if view == "transactions" else {"maxRowsPerTrigger": "100"}
    last, pieces, count = drained(reader(**where, view=view, start="oldest", **limits))
    assert same(pieces, expected)
    assert count > 5
    assert last is not None
    assert last["gtids"] == end["gtids"]  # MariaDB writes something behind the last one in its own time


def test_a_batch_read_of_a_server(written: Server) -> None:
    """The same options without a stream: to the end that there is now."""
    source = BinlogSource(at(written))
    batch = source.reader(source.schema())
    rows = [found for partition in batch.partitions() for found in batch.read(partition)]
    assert same(pa.Table.from_batches(rows), of_files(written, "changes"))


def test_limits_are_kept(written: Server) -> None:
    transactions = of_files(written, "transactions").to_pylist()
    largest = max(each["length"] for each in transactions)
    stream = reader(**folder(written), start="oldest", view="transactions", maxBytesPerTrigger="5000")
    for _, table in batches(stream):
        sizes = table.column("length").to_pylist()
        assert sum(sizes) <= 5000 or len(sizes) == 1
    assert largest > 5000, "no transaction was larger than a batch"
    stream = reader(**at(written), start="oldest", maxRowsPerTrigger="40")
    for _, table in batches(stream):
        assert table.num_rows <= 40 or len(set(table.column("transaction_position").to_pylist())) == 1


def test_a_batch_is_read_again_by_another_reader(written: Server) -> None:
    options = {**at(written), "start": "oldest", "maxRowsPerTrigger": "500"}
    stream = reader(**options)
    start = stream.initialOffset()
    for end, table in batches(stream, start):
        again = reader(**options)
        assert table_of(again, rows_between(again, start, end)).equals(table)
        start = end


def test_where_a_query_began_is_kept(start_mysql: object) -> None:
    """Spark asks for it again when it does the first batch again, and the log has grown by then."""
    server = start_mysql()  # type: ignore[operator]
    insert = f"INSERT INTO {TABLE} (number, txn, place, note) VALUES ({{}}, 1, 1, '')"
    write(server, 10)
    stream = reader(**at(server), tables=TABLE)
    start = stream.initialOffset()
    end = stream.latestOffset(start, stream.getDefaultReadLimit())  # Spark has written it down
    assert end != start
    server.execute([insert.format(1_000_000), "FLUSH BINARY LOGS", insert.format(1_000_001)])
    again = reader(**at(server), tables=TABLE)
    assert again.initialOffset() == start
    assert again.partitions(start, end) == []
    later, table, count = drained(again, end)
    assert (table.num_rows, count) == (2, 1)
    assert later is not None
    assert "began" not in later


def test_the_server_is_away_when_the_first_batch_is_done_again(start_mysql: object) -> None:
    """A new query would tell soon that nobody answers; this one has begun long ago."""
    server = start_mysql()  # type: ignore[operator]
    writer = write(server, 50)
    options = {**at(server), "start": "oldest", "tables": TABLE}
    stream = reader(**options)
    start = stream.initialOffset()
    end = stream.latestOffset(start, stream.getDefaultReadLimit())
    expected = table_of(stream, rows_between(stream, start, end))
    assert inserts(expected) == writer.count
    server.stop()
    away = threading.Timer(2 * sum(PAUSES[:3]), server.start)
    with pytest.raises(ConnectionLost):
        reader(**options).latestOffset(start, stream.getDefaultReadLimit())
    away.start()
    again = reader(**options)
    assert table_of(again, rows_between(again, again.initialOffset(), end)).equals(expected)
    away.join()


def test_gtids_are_exact(written: Server) -> None:
    """Those of an offset are what a replica has that got as far."""
    known = [each["gtid"] for each in of_files(written, "transactions").to_pylist()]
    for end, _ in batches(reader(**at(written), start="oldest", maxRowsPerTrigger="200")):
        had = gtidal.gtid.parse_gtid_set(end["gtids"])
        transactions = of_files(written, "transactions").to_pylist()
        passed = [
            each["gtid"]
            for each in transactions
            if (each["file"], each["position"]) < (end["file"], end["position"])
        ]
        assert [gtid for gtid in known if gtid in had] == passed
    assert len(passed) == len(known)


def test_where_it_begins(written: Server) -> None:
    changes = of_files(written, "changes")
    transactions = of_files(written, "transactions").to_pylist()
    chosen = transactions[len(transactions) // 2]

    def begins(start: str, place: dict[str, str]) -> list[tuple[str, int]]:
        _, table, _ = drained(reader(**place, start=start))
        return list(zip(table.column("file").to_pylist(), table.column("position").to_pylist(), strict=True))

    everything = list(
        zip(changes.column("file").to_pylist(), changes.column("position").to_pylist(), strict=True)
    )
    behind = [each for each in everything if each >= (chosen["file"], chosen["position"])]
    for place in (at(written), folder(written)):
        assert begins("now", place) == []
        assert begins("oldest", place) == everything
        assert begins(f"{chosen['file']}:{chosen['position']}", place) == behind
        # In the middle of a transaction: with the next one.
        assert begins(f"{chosen['file']}:{chosen['position'] - 1}", place) == behind
        before = [each["gtid"] for each in transactions[: transactions.index(chosen)]]
        had = str(gtidal.gtid.parse_gtid_set(",".join(before)))
        assert begins(had, place) == behind
        first = next(each for each in transactions if each["timestamp"] >= chosen["timestamp"])
        later = [each for each in everything if each >= (first["file"], first["position"])]
        assert begins(chosen["timestamp"].isoformat(), place) == later


def test_times_that_go_back(start_mysql: object) -> None:
    """A time is where a stream begins: nothing that comes behind that place is left out, whatever its own time."""
    server = start_mysql()  # type: ignore[operator]
    noon = 1_700_000_000
    server.execute(f"SET timestamp = {noon}; CREATE DATABASE s; CREATE TABLE s.t (a INT PRIMARY KEY)")
    for number in (1, 9, 5, 10):
        server.execute(f"SET timestamp = {noon + number}; INSERT INTO s.t VALUES ({number})")
    at_seven = datetime.fromtimestamp(noon + 7, UTC).isoformat()

    def numbers(table: pa.Table) -> list[int]:
        return [int(number) for number in table.column("@1").to_pylist()]

    for place in (at(server), folder(server)):
        options = {**place, "table": "s.t", "maxRowsPerTrigger": "1"}
        assert numbers(drained(reader(**options, start=at_seven))[1]) == [9, 5, 10]
        # With a checkpoint nobody looks at it.
        (offset, first), *_ = batches(reader(**options, start="oldest"))
        later = reader(**options, start=at_seven)
        assert numbers(pa.concat_tables([first, drained(later, offset)[1]])) == [1, 9, 5, 10]
        with pytest.raises(UsageError, match="that time has not come yet; one without a zone is UTC"):
            drained(reader(**options, start="2199-01-01"))


def test_a_file_that_is_written_byte_by_byte(written: Server, tmp_path: Path) -> None:
    """Whatever was there of a log at any moment: batches are whole transactions, and nothing is read twice."""
    stream, offset, found = None, None, []
    for log in written.binlogs()[:3]:
        data = log.read_bytes()
        with (tmp_path / log.name).open("wb") as copy:
            for begin in range(0, len(data), 7919):
                copy.write(data[begin : begin + 7919])
                copy.flush()
                stream = stream or reader(path=str(tmp_path), view="transactions")
                offset, table, _ = drained(stream, offset)
                found.append(table)
    read = pa.concat_tables(found)
    expected = gtidal.transactions([str(log) for log in written.binlogs()[:3]]).read_all()
    assert same(read, expected)
    assert len(found) > 5


def test_a_long_backlog_has_many_parts(written: Server) -> None:
    """A server's files are read one by one, and each is cut where the stream has been; others are cut anywhere."""
    files = len(written.binlogs())
    expected = of_files(written, "changes")
    for place, least in ((at(written), files), (folder(written), 2 * files)):
        stream = reader(**place, start="oldest", maxPartitionBytes="5k")
        start = stream.initialOffset()
        end = stream.latestOffset(start, stream.getDefaultReadLimit())
        assert len(stream.partitions(start, end)) >= least
        assert same(table_of(stream, rows_between(stream, start, end)), expected)


def test_a_missing_file(written: Server, tmp_path: Path) -> None:
    names = [shutil.copy(log, tmp_path) and log.name for log in written.binlogs()[:4]]
    offset, _, _ = drained(reader(path=str(tmp_path), maxBytesPerTrigger="1k"))
    assert offset is not None
    (tmp_path / names[2]).unlink()
    with pytest.raises(ChainBroken, match=f"{names[2]} is missing"):
        drained(reader(path=str(tmp_path)))
    (tmp_path / names[1]).unlink()
    (tmp_path / names[0]).unlink()
    first = {**offset, "file": names[0], "position": 4}
    with pytest.raises(LogsPurged, match=f"does not have {names[0]} any more"):
        drained(reader(path=str(tmp_path)), first)


def test_every_log_of_the_servers(made_logs: None, tmp_path: Path) -> None:
    """All types, all kinds of transactions, relay logs, encrypted ones: in small batches the same as in one read."""
    del made_logs
    count = 0
    alone = tmp_path / "binlog.000001"  # a stream would go on with the next file
    for logs in every_log():
        key = {"keyFile": str(key_of(logs)["key_file"])} if key_of(logs) else {}
        for file in logs.files:
            if file.stat().st_size > LARGE:
                continue
            shutil.copyfile(file, alone)
            for view in ("changes", "events"):
                try:
                    expected = VIEWS[view](alone, **key_of(logs)).read_all()  # type: ignore[operator]
                except gtidal.GtidalError:
                    continue  # damaged ones raise, here as there
                size = str(max(file.stat().st_size // 3, 1))
                _, read, _ = drained(reader(path=str(alone), view=view, maxBytesPerTrigger=size, **key))
                if (
                    read.num_rows < expected.num_rows
                ):  # the last transaction is not whole: it is still to come
                    outcomes = gtidal.transactions(alone, **key_of(logs)).read_all().column("outcome")
                    assert outcomes[-1].as_py() == "incomplete", (file, view)
                    expected = expected.slice(0, read.num_rows)
                assert same(read, expected), (file, view)
                count += 1
    assert count > 50


@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED", "FAILFAST"])
def test_damage(tmp_path: Path, mode: str) -> None:
    """A row event with a flipped byte, wherever batches end."""
    log = SHOP / "binlog.000002"
    chosen = next(
        each
        for each in gtidal.events(log).read_all().to_pylist()
        if each["type"] == "WRITE_ROWS" and each["position"] > 40_000
    )
    data = bytearray(log.read_bytes())
    data[chosen["end_position"] - 8] ^= 0xFF
    (tmp_path / log.name).write_bytes(data)
    for size in ("1g", "20k"):
        options = {"path": str(tmp_path), "mode": mode, "maxBytesPerTrigger": size}
        if mode == "FAILFAST":
            stream = reader(**options)
            with pytest.raises(ChecksumMismatch, match=str(chosen["position"])):
                drained(stream)
            stream.stop()
        else:
            expected = gtidal.changes(tmp_path, mode=mode).read_all()
            assert same(drained(reader(**options))[1], expected)


# --- servers that change


def test_rows_as_they_come(start_mysql: object) -> None:
    """One reader over rotations, a restart, a crash and cut connections."""
    from tests.live.servers import CRASH_SAFE

    server = start_mysql(*GTIDS, *CRASH_SAFE, "--sync-binlog=1")  # type: ignore[operator]
    with Proxy(server) as proxy, Writer(server, 11, flush_odds=0.03, pause=0.01) as writer:
        options = {**at(server), "host": f"127.0.0.1:{proxy.port}", "start": "oldest", "tables": TABLE}
        stream, offset, found = reader(**options), None, []

        def follow(rows: int) -> None:
            nonlocal offset
            writer.wait_for(writer.count + rows)
            for end, table in islice(batches(stream, offset), 2):  # it never ends
                offset = end
                found.append(table)

        for trouble in (
            lambda: None,
            proxy.cut,
            server.restart,
            server.recover,
            lambda: proxy.cut_after(3000),
        ):
            follow(300)
            trouble()
        follow(300)
        with writer.resting():
            offset, table, _ = drained(stream, offset)
            found.append(table)
            expected = gtidal.changes([str(path) for path in server.binlogs()], tables=TABLE).read_all()
            count = writer.count
    assert count > 1500
    read = pa.concat_tables(found)
    assert same(read, expected)
    assert inserts(read) == count


def test_logs_that_were_purged(start_mysql: object) -> None:
    server = start_mysql()  # type: ignore[operator]
    write(server, 300, flush_odds=0.2)
    offset, _, _ = drained(reader(**at(server), start="oldest", maxBytesPerTrigger="1k"))
    end, _ = next(batches(reader(**at(server), start="oldest", maxBytesPerTrigger="1k")))
    server.purge_to(server.binlogs()[2])
    with pytest.raises(LogsPurged, match=r"does not have binlog.000001 any more.*option archive"):
        drained(reader(**at(server)), end)
    # The first batch is done again: from where the query began, whatever is the oldest now.
    again = reader(**at(server), start="oldest")
    with pytest.raises(LogsPurged, match=r"does not have binlog.000001 any more.*option archive"):
        rows_between(again, again.initialOffset(), end)
    assert drained(reader(**at(server)), offset)[2] == 0


@pytest.mark.parametrize("options", [GTIDS, ()])
def test_logs_that_were_reset(start_mysql: object, options: tuple[str, ...]) -> None:
    server = start_mysql(*options)  # type: ignore[operator]
    server.execute("CREATE DATABASE d; CREATE TABLE d.t (a INT)")
    stream = reader(**at(server), start="oldest")
    offset, _, _ = drained(stream)
    time.sleep(1.1)  # files of one second look the same
    server.reset_logs()
    server.execute(["INSERT INTO d.t VALUES (1)"] * 20)
    for each in (reader(**at(server)), stream):
        with pytest.raises(LogsDiverged, match="reset"):
            drained(each, offset)


def test_another_server(start_mysql: object) -> None:
    one, other = start_mysql(*GTIDS), start_mysql(*GTIDS)  # type: ignore[operator]
    for server in (one, other):
        server.execute("CREATE DATABASE d; CREATE TABLE d.t (a INT)")
    with Proxy(one) as proxy:
        options = {**at(one), "host": f"127.0.0.1:{proxy.port}"}
        stream = reader(**options, start="oldest")
        offset, _, _ = drained(stream)
        proxy.server = other
        proxy.cut()
        for each in (stream, reader(**options)):
            with pytest.raises(LogsDiverged, match=f"{other.uuid}.*{one.uuid}"):
                drained(each, offset)


def test_an_archive_and_then_the_server(start_mysql: object, tmp_path: Path) -> None:
    server = start_mysql(*GTIDS)  # type: ignore[operator]
    write(server, 600, flush_odds=0.1)
    for log in server.binlogs()[:-1]:
        shutil.copy(log, tmp_path)
    expected = of_files(server, "changes")
    last = server.binlogs()[-2]
    # The archive has the beginning of a file that the server still writes.
    (tmp_path / server.binlogs()[-1].name).write_bytes(server.binlogs()[-1].read_bytes()[:500])
    server.purge_to(last)
    options = {**at(server), "archive": str(tmp_path), "maxRowsPerTrigger": "100"}
    offset, table, count = drained(reader(**options))
    assert same(table, expected)
    assert count > 3
    stream = reader(**options)
    server.execute(f"INSERT INTO {TABLE} (number, txn, place, note) VALUES (1000000, 1, 1, '')")
    _, table, _ = drained(stream, offset)
    assert table.num_rows == 1


def test_an_archive_of_another_server(start_mysql: object, tmp_path: Path) -> None:
    one, other = start_mysql("--server-id=1"), start_mysql("--server-id=2")  # type: ignore[operator]
    shutil.copy(one.binlogs()[0], tmp_path)
    with pytest.raises(LogsDiverged, match="the archive is of another server"):
        drained(reader(**at(other), archive=str(tmp_path)))


@pytest.mark.parametrize("kind", [MySQLServer, MariaDBServer])
def test_over_to_a_replica(kind: type[Server]) -> None:
    """The server of the checkpoint is gone: the next host goes on, and does again what was not finished."""
    options: tuple[str, ...] = GTIDS if kind is MySQLServer else (*ROWS, "--log-slave-updates")
    with (
        kind.temporary(*options, "--server-id=1") as source,
        kind.temporary(*options, "--server-id=2") as replica,
    ):
        replica.follow(source)
        writer = write(source, 800, flush_odds=0.05)
        read = {**at(source, replica), "start": "oldest", "tables": TABLE, "maxRowsPerTrigger": "150"}
        stream = reader(**read)
        start, first = next(iter(batches(stream)))
        end = stream.latestOffset(start, stream.getDefaultReadLimit())
        unfinished = table_of(stream, rows_between(stream, start, end))
        replica.wait_for(source)
        source.crash()
        again = reader(**read)
        repeated = table_of(again, rows_between(again, start, end))
        assert repeated.column("gtid").to_pylist() == unfinished.column("gtid").to_pylist()
        assert repeated.num_rows == unfinished.num_rows > 0
        replica.promote()
        replica.execute(f"INSERT INTO {TABLE} (number, txn, place, note) VALUES (1000000, 1, 1, '')")
        later, rest, count = drained(stream, end)
        assert later is not None
        assert count > 2
        assert sum(map(inserts, (first, unfinished, rest))) == writer.count + 1
        assert drained(reader(**read), later)[2] == 0


def test_no_gtids_no_other_host(start_mysql: object) -> None:
    one, other = start_mysql("--gtid-mode=OFF"), start_mysql("--gtid-mode=OFF")  # type: ignore[operator]
    offset, _, _ = drained(reader(**at(one, other), start="oldest"))
    one.crash()
    with pytest.raises(LogsDiverged, match="without GTIDs"):
        drained(reader(**at(one, other)), offset)


# --- typed rows


def test_columns_that_change(start_mysql: object) -> None:
    server = start_mysql("--binlog-row-metadata=FULL")  # type: ignore[operator]
    server.execute("CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY); INSERT INTO d.t VALUES (1)")
    stream = reader(**at(server), table="d.t", start="oldest")
    offset, table, _ = drained(stream)
    assert table.column("a").to_pylist() == [1]
    server.execute("ALTER TABLE d.t ADD b INT; INSERT INTO d.t VALUES (2, 3)")
    with pytest.raises(SchemaConflict, match="start it again from the same checkpoint"):
        drained(stream, offset)
    _, table, _ = drained(reader(**at(server), table="d.t"), offset)
    assert table.select(["a", "b"]).to_pylist() == [{"a": 2, "b": 3}]


# --- what means nothing


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"path": "logs", "stop": "binlog.000002:4"}, "stop means nothing for a stream"),
        ({"path": "logs", "archive": "old"}, "archive: name the server"),
        ({"path": "mysql://db1/binlog.000001"}, "file in the address"),
        ({"path": "mysql://db1/?start=now"}, "start in the address"),
        ({"path": "mysql://db1/?semi-sync=true"}, "semi-sync: a stream cannot promise"),
    ],
)
def test_options_that_mean_nothing(options: dict[str, str], said: str) -> None:
    from gtidal.spark.stream import check_for_stream

    with pytest.raises(UsageError, match=re.escape(said)):
        check_for_stream(options_of(**options))


def test_a_checkpoint_of_something_else(written: Server) -> None:
    with pytest.raises(UsageError, match="of another source"):
        drained(reader(**folder(written)), {"partition-1": {"index": 3}})
