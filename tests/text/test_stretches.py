"""Stretches of events printed by the kernel: the text, the messages and the exit code of the reference, whatever is
asked for, however the log is cut into pieces, and with any number of threads."""

from __future__ import annotations

import io
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gtidal.cli.main import main
from gtidal.columnar import kernel
from gtidal.events import Event, encode_event
from gtidal.events.format import CRC32, NO_CHECKSUM, Format
from gtidal.events.header import SUPPRESS_USE, THREAD_SPECIFIC
from gtidal.events.rows import DeleteRows, PartitionInfo, UpdateRows, WriteRows
from gtidal.events.statement import (
    Flags2,
    Intvar,
    LcTimeNames,
    Microseconds,
    Query,
    RowsQuery,
    SessionCharset,
    SqlMode,
    StatusVariable,
    TimeZone,
)
from gtidal.events.table_map import TableMap
from gtidal.events.transaction import (
    AnonymousGtid,
    Compression,
    EndMark,
    Gtid,
    PayloadSize,
    TransactionPayload,
    UncompressedSize,
    Xid,
)
from gtidal.gtid.mysql import GtidSet
from gtidal.log.codecs import NONE
from gtidal.sources import files
from gtidal.text import dumping, ordered, printer, stretch, stretches
from gtidal.text.dumping import Dump
from gtidal.text.options import DumpOptions
from tests.log.making import START, UUID, UUID_BYTES, header, rotate
from tests.logs import build_log, corpus_logs
from tests.text.dumps import dump_all_ways, run_dump

THREADS = (1, 3)
compiled_only = pytest.mark.skipif(bool(kernel.interpreted_modules()), reason="the kernel is not compiled")


# --- a log that has a little of everything


def session(mode: int = 1, client: int = 255, zone: str = "") -> tuple[StatusVariable, ...]:
    status: list[StatusVariable] = [
        Flags2(0, flags=0),
        SqlMode(1, mode=mode),
        SessionCharset(4, client=client, connection=client, server=255),
    ]
    if zone:
        status.append(TimeZone(5, time_zone=zone))
    return (*status, LcTimeNames(7, number=0))


def query(
    text: str,
    schema: str = "shop",
    status: tuple[StatusVariable, ...] | None = None,
    flags: int = 0,
    **fields: Any,
) -> Query:
    return Query(
        **{"thread_id": 7, "exec_time": 0, "error_code": 0, **fields},
        schema=schema,
        status=session() if status is None else status,
        query=text.encode(),
        header=header(2, flags=flags),
    )


def begin(**fields: Any) -> Query:
    return query("BEGIN", flags=SUPPRESS_USE, **fields)


def table(number: int = 5, schema: str = "shop", name: str = "orders", flags: int = 1) -> TableMap:
    return TableMap(number, flags, schema, name, b"\x03\x0f", b"\x50\x00", b"\x02", header=header(19))


def image(number: int, text: str | None) -> bytes:
    nulls = b"\xfe" if text is None else b"\xfc"
    value = b"" if text is None else bytes((len(text.encode()),)) + text.encode()
    return nulls + number.to_bytes(4, "little") + value


def insert(*values: tuple[int, str | None], number: int = 5, flags: int = 1, **fields: Any) -> WriteRows:
    images = b"".join(image(*value) for value in values)
    return WriteRows(number, flags, 2, after_columns=b"\3", undecoded=images, header=header(30), **fields)


def update(one: tuple[int, str | None], two: tuple[int, str | None], flags: int = 1) -> UpdateRows:
    return UpdateRows(5, flags, 2, b"\3", b"\3", undecoded=image(*one) + image(*two), header=header(31))


def delete(one: tuple[int, str | None], number: int = 5, flags: int = 1) -> DeleteRows:
    return DeleteRows(number, flags, 2, b"\3", undecoded=image(*one), header=header(32))


def gtid(gno: int, **fields: Any) -> Gtid:
    given: dict[str, Any] = {
        "clock_type": 2,
        "last_committed": gno - 1,
        "sequence_number": gno,
        "immediate_commit_timestamp": (START + gno) * 1_000_000 + gno,
        "transaction_length": 700 * gno,
        "immediate_server_version": 90704,
        **fields,
    }
    return Gtid(flags=gno % 2, uuid=UUID_BYTES, gno=gno, header=header(33), **given)


def xid(number: int) -> Xid:
    return Xid(xid=number, header=header(16))


def everything() -> list[Event]:
    text = "it's\ta\\ \x01 Grüße"
    return [
        *(gtid(1), begin(), table(), insert((1, text), (2, None)), xid(11)),
        *(gtid(2), begin(), table(), update((1, text), (1, "x")), table(), delete((2, None)), xid(12)),
        # two tables, several events, flags, the statement itself
        *(gtid(3), begin(), RowsQuery(9, b"insert\n\tinto\\ x", header=header(29))),
        *(table(), table(6, "other", "t")),
        *(insert((3, "a"), flags=0), insert((4, "b"), number=6, flags=0), delete((3, "c"), flags=0x13)),
        xid(13),
        # settings that change, microseconds, schemas
        *(gtid(4), begin(status=session(2)), table(), insert((5, "e")), xid(14)),
        *(gtid(5), begin(status=session()), table(), insert((5, "e")), xid(15)),
        *(gtid(6), query("CREATE TABLE x (a INT)"), gtid(7), query("DROP TABLE x, yy", schema="other")),
        *(
            gtid(8),
            query("CREATE TABLE x (a INT)", schema="other", status=(*session(), Microseconds(13, 1234))),
        ),
        *(
            gtid(9),
            query("CREATE TABLE x2 (a INT)", schema="other", status=(*session(), Microseconds(13, 99))),
        ),
        *(gtid(10), query("CREATE DATABASE db1", schema="db1", flags=SUPPRESS_USE)),
        *(gtid(11), query("CREATE TEMPORARY TABLE q (a INT)", flags=THREAD_SPECIFIC, thread_id=99)),
        *(
            gtid(12),
            query("SET PASSWORD FOR x", status=session(3, 33, "SYSTEM"), error_code=1234, exec_time=9),
        ),
        # statements as text
        *(gtid(13), begin(), Intvar(2, 7, header=header(5)), query("INSERT INTO t VALUES (NULL)")),
        *(query("SAVEPOINT a"), query("ROLLBACK TO a"), query("COMMIT", flags=SUPPRESS_USE)),
        *(gtid(14), begin(), table(), insert((8, "gone")), query("ROLLBACK")),
        # GTIDs of other servers
        *(gtid(15, original_commit_timestamp=START * 1_000_000), begin(), table(), insert((1, "o")), xid(16)),
        *(gtid(16, original_server_version=80040, immediate_server_version=80011), begin(), table()),
        *(insert((1, "p"), extra_info=(PartitionInfo(1, 3),)), xid(17)),
        *(
            Gtid(flags=0, uuid=UUID_BYTES, gno=17, header=header(33)),
            begin(),
            table(flags=5),
            insert((1, "q")),
            xid(18),
        ),
        *(
            AnonymousGtid(flags=0, uuid=bytes(16), gno=0, header=header(34)),
            begin(),
            table(),
            insert((1, "r")),
            xid(19),
        ),
        # a statement that never ends, then one that does
        *(gtid(18), begin(), table(), insert((1, "s"), flags=0), xid(20)),
        *(gtid(19), begin(), table(), insert((1, "t")), xid(21)),
        # rows without a table map
        *(gtid(20), begin(), insert((1, "u"), number=44), xid(22)),
        *later(gtid(21), begin(), table(), insert((1, "v")), xid(23)),
        rotate("binlog.000002"),
    ]


def later(*events: Event) -> Iterator[Event]:
    for event in events:
        yield replace(event, header=replace(event.header, timestamp=START + 3600, server_id=2))


MODES: list[dict[str, Any]] = [
    {"verbosity": 2},
    {"verbosity": 1, "base64": "decode-rows"},
    {},
    {"verbosity": 2, "base64": "never"},
    {"verbosity": 1, "print_table_metadata": True, "verify_checksum": True},
    {"verbosity": 2, "database": "shop"},
    {"verbosity": 2, "database": "other"},
    {"verbosity": 1, "tables": frozenset({("", "t")})},
    {"verbosity": 2, "include_gtids": GtidSet(f"{UUID}:2-4:13:19")},
    {"verbosity": 2, "exclude_gtids": GtidSet(f"{UUID}:2-4:13:19")},
    {"verbosity": 2, "skip_gtids": True},
    {"verbosity": 1, "server_id": 2},
    {"verbosity": 1, "server_id": 1},
    {"verbosity": 2, "offset": 9},
    {"verbosity": 2, "offset": 9, "start_time": START + 100},
    {"verbosity": 2, "start_time": START + 10_000},
    {"verbosity": 2, "stop_time": START + 100},
    {"verbosity": 2, "start_position": 900},
    {"verbosity": 2, "stop_position": 2500},
    {"hexdump": True},
    {"short_form": True},
    {"verbosity": 2, "rewrite_db": {"shop": "store"}},
    {"verbosity": 2, "idempotent": True, "disable_log_bin": True},
]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "binlog.000001"
    path.write_bytes(build_log(everything()))
    return path


@pytest.mark.parametrize("options", MODES, ids=str)
def test_modes(log: Path, options: dict[str, Any]) -> None:
    dump_all_ways(log, threads=THREADS, **options)


def test_without_checksums(log: Path) -> None:
    log.write_bytes(build_log(everything(), NO_CHECKSUM))
    dump_all_ways(log, verbosity=2)


def test_the_kernel_prints_it(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The printer gets what is out of the ordinary, and nothing else."""
    seen: list[str] = []
    process = printer.MysqlPrinter._process

    def spy(self: Any, position: int, data: bytes, event: Event, decoder: Any) -> None:
        seen.append(event.query.decode() if isinstance(event, Query) else event.name)
        process(self, position, data, event, decoder)

    monkeypatch.setattr(printer.MysqlPrinter, "_process", spy)
    run_dump(log, by_kernel=True, verbosity=2)
    assert seen == [
        "FORMAT_DESCRIPTION",
        "BEGIN",  # prints its thread's number, as the first query does
        *("CREATE DATABASE db1", "CREATE TEMPORARY TABLE q (a INT)", "INTVAR", "INSERT INTO t VALUES (NULL)"),
        *("ROLLBACK TO a", "ROLLBACK"),
        "WRITE_ROWS",  # of a table that nobody knows
        "ROTATE",
    ]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, int, int], None]:
    """Makes windows, tasks and buffers so small that everything ends in the middle of something."""

    def make(window: int, task: int, room: int) -> None:
        monkeypatch.setattr(files, "CHUNK", window)
        monkeypatch.setattr(dumping, "_WINDOW", window)
        monkeypatch.setattr(stretches, "_TASK", task)
        monkeypatch.setattr(stretches, "_BATCH", window)
        monkeypatch.setattr(printer, "_LARGE_PAYLOAD", 0)
        monkeypatch.setattr(ordered, "_IN_MEMORY", 100)
        monkeypatch.setattr(stretch, "_BUFFER", room)
        monkeypatch.setattr(stretch, "_SCRATCH", 64)
        monkeypatch.setattr(stretch, "_SHORT", room // 4)

    return make


SIZES = [(200, 50, 2500), (1000, 300, 3000), (3000, 900, 100_000)]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("options", MODES[:6], ids=str)
def test_in_small_pieces(
    log: Path, options: dict[str, Any], sizes: tuple[int, int, int], small: Callable[[int, int, int], None]
) -> None:
    small(*sizes)
    dump_all_ways(log, threads=THREADS, interpreted=sizes == SIZES[0], **options)


def large_statement(tmp_path: Path) -> Path:
    rows = [insert(*((number, "long " * 12) for number in range(40)), flags=0) for _ in range(30)]
    odd = insert((1, "x"), flags=0)
    damaged = replace(odd, undecoded=odd.undecoded + b"\xfc\1")
    path = tmp_path / "binlog.000001"
    path.write_bytes(build_log([gtid(1), begin(), table(), *rows, damaged, *rows, insert((1, "z")), xid(1)]))
    return path


@pytest.mark.parametrize("base64", ["auto", "decode-rows"])
def test_a_statement_of_many_windows(
    tmp_path: Path, base64: str, small: Callable[[int, int, int], None]
) -> None:
    """Its base64 and rows are kept in a file until it is complete; what is damaged is said in order."""
    path = large_statement(tmp_path)
    small(5000, 1000, 4000)
    found = dump_all_ways(path, threads=THREADS, interpreted=False, verbosity=2, base64=base64)
    assert found.code == 1
    assert len(found.messages) == 1
    assert found.events.count("### INSERT INTO") == 40 * 60 + 3


def payload(events: list[Event]) -> TransactionPayload:
    inner = b"".join(encode_event(event, Format(checksum=NO_CHECKSUM)) for event in events)
    values = (
        PayloadSize(),
        Compression(compression=NONE),
        UncompressedSize(uncompressed_size=len(inner)),
        EndMark(),
    )
    return TransactionPayload(values, inner, header=header(40))


@pytest.mark.parametrize("checksum", [CRC32, NO_CHECKSUM])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_payloads(
    tmp_path: Path, checksum: int, sizes: tuple[int, int, int], small: Callable[[int, int, int], None]
) -> None:
    inside: list[Event] = [
        begin(),
        table(),
        *(insert((n, "a"), flags=0) for n in range(50)),
        insert((1, None)),
        xid(1),
    ]
    odd: list[Event] = [
        begin(),
        insert((1, "no table")),
        Intvar(2, 7, header=header(5)),
        query("UPDATE t SET a=1"),
    ]
    path = tmp_path / "binlog.000001"
    events = [gtid(1), payload(inside), gtid(2), payload(odd), *everything()]
    path.write_bytes(build_log(events, checksum))
    small(*sizes)
    for options in ({"verbosity": 2}, {"verbosity": 1, "base64": "never"}, {"stop_time": START + 50}):
        dump_all_ways(path, threads=THREADS, interpreted=False, **options)


def test_joined_files(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On standard input, one file may follow the other."""
    data = log.read_bytes()
    texts = []
    for by_kernel in (False, True):
        out = io.BytesIO()
        stdin = io.TextIOWrapper(io.BytesIO(data + data + data))
        monkeypatch.setattr("sys.stdin", stdin)
        assert Dump(["-"], DumpOptions(verbosity=2), out, by_kernel=by_kernel).run() == 0
        texts.append(out.getvalue())
    assert texts[0] == texts[1]
    assert texts[0].count(b"\tStart: binlog") == 3


def test_several_files(log: Path, tmp_path: Path) -> None:
    second = tmp_path / "binlog.000002"
    second.write_bytes(log.read_bytes())
    texts = []
    for by_kernel in (False, True):
        out = io.BytesIO()
        options = DumpOptions(verbosity=2, stop_position=2000)
        assert Dump([str(log), str(second)], options, out, by_kernel=by_kernel, threads=2).run() == 0
        texts.append(out.getvalue())
    assert texts[0] == texts[1]


def test_many_different_sessions(tmp_path: Path) -> None:
    """More than the kernel keeps: it forgets, and learns again."""
    events: list[Event] = []
    for number in range(200):
        zone = f"+{number % 14:02}:{number % 60:02}"
        events += [
            gtid(number + 1),
            begin(status=session(number, zone=zone)),
            table(),
            insert((1, "a")),
            xid(number),
        ]
    path = tmp_path / "binlog.000001"
    path.write_bytes(build_log(events + events[:60] + events[:60]))
    dump_all_ways(path, verbosity=1)


def test_many_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stretches, "_MOST_PLANS", 10)
    events: list[Event] = []
    for number in range(60):
        name = f"t{number % 35}"
        one = [
            begin(),
            query("FLUSH TABLES", flags=THREAD_SPECIFIC),
            table(number, name=name),
            insert((1, name), number=number),
        ]
        events += [gtid(number + 1), *one, xid(number)]
    path = tmp_path / "binlog.000001"
    path.write_bytes(build_log(events))
    dump_all_ways(path, verbosity=2)


def test_more_tables_than_a_statement_has(tmp_path: Path) -> None:
    """The kernel leaves a statement of more than a thousand to the printer."""
    tables = [table(number, name=f"t{number}") for number in range(1002)]
    path = tmp_path / "binlog.000001"
    path.write_bytes(
        build_log([gtid(1), begin(), *tables, insert((1, "a"), number=1001), xid(1), *everything()])
    )
    dump_all_ways(path, interpreted=False, verbosity=2)


def test_damage(tmp_path: Path) -> None:
    """Cut anywhere, and with any byte changed: the same text, the same complaint."""
    whole = build_log(everything())
    path = tmp_path / "binlog.000001"
    dice = random.Random(7)
    for number in range(150):
        data = bytearray(whole)
        if number % 3:
            data[dice.randrange(130, len(data))] ^= 1 << dice.randrange(8)
        else:
            del data[dice.randrange(4, len(data)) :]
        path.write_bytes(data)
        options: dict[str, Any] = {"verify_checksum": True} if number % 7 == 0 else {}
        dump_all_ways(path, interpreted=number % 20 == 0, verbosity=2, **options)


@compiled_only
@pytest.mark.parametrize("log", corpus_logs(), ids=str)
def test_corpus(log: Any, small: Callable[[int, int, int], None]) -> None:
    """MySQL's, and MariaDB's, of which the kernel prints the rows."""
    size = log.path.stat().st_size
    for options in MODES[:1] if size > 300_000 else (MODES[0], MODES[4], MODES[5]):
        dump_all_ways(log.path, interpreted=False, **options)
    if size < 300_000:
        small(5000, 2000, 9000)
        dump_all_ways(log.path, threads=THREADS, interpreted=False, verbosity=2)


def test_threads_on_the_command_line(log: Path, tmp_path: Path) -> None:
    texts = set()
    for number in ("1", "2", "7"):
        out = tmp_path / "out.sql"
        assert main(["dump", "-vv", "--threads", number, "-r", str(out), str(log)]) == 0
        texts.add(out.read_bytes())
    assert texts == {run_dump(log, by_kernel=False, verbosity=2).text}
    assert main(["dump", "--threads", "0", str(log)]) == 2
