"""The kernel and the reference decoder do not drift apart: the same rows and the same errors from the same bytes.

Over the public corpus, and over logs that hypothesis makes with our own encoder: any columns, any values, any
statements. ``tests/hostile/test_kernel_damage.py`` does the same with damaged logs, ``tests/live`` with those of real
servers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gtidal.columnar import kernel
from gtidal.columns.jsonb import encode_json
from gtidal.columns.temporal import Date, DateTime, Time, Timestamp
from gtidal.events import (
    Event,
    Format,
    Header,
    encode_event,
    mariadb,
    rows,
    statement,
    table_map,
    transaction,
)
from gtidal.events.control import EndMark
from gtidal.events.images import ABSENT
from gtidal.events.transaction import Compression, PayloadSize, TransactionPayload, UncompressedSize
from tests.columnar.drift_judges import JUDGED, How, compare, reference_changes
from tests.events.test_rows_generated import COLUMNS, Made
from tests.logs import CorpusLog, build_log, corpus_logs
from tests.samples import UUID, query

CORPUS = corpus_logs()
SMALL = 20_000
"""Logs up to this size are read with the interpreted kernel, too."""
TINY_WINDOW = 3000
LARGE = 300_000

QUICK = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
LONG = settings(QUICK, max_examples=1500)


# --- the corpus


@pytest.mark.parametrize("log", [log for log in CORPUS if log.path.stat().st_size <= LARGE], ids=str)
def test_corpus(log: CorpusLog) -> None:
    compare(log.path, How(uncommitted=True))
    compare(log.path, How(window=TINY_WINDOW), ("changes",))


@pytest.mark.parametrize("log", [log for log in CORPUS if log.path.stat().st_size <= SMALL][::4], ids=str)
def test_corpus_interpreted(log: CorpusLog) -> None:
    with kernel.use("interpreted"):
        compare(log.path, How(verify=False, window=TINY_WINDOW))


@pytest.mark.soak
@pytest.mark.parametrize("uncommitted", [False, True])
@pytest.mark.parametrize("verify", [False, True])
@pytest.mark.parametrize("window", [None, TINY_WINDOW, 500])
@pytest.mark.parametrize("log", CORPUS, ids=str)
def test_corpus_in_every_way(log: CorpusLog, verify: bool, uncommitted: bool, window: int | None) -> None:
    how = How(verify=verify, uncommitted=uncommitted)
    how = how if window is None else replace(how, window=window)
    compare(log.path, how)
    if log.path.stat().st_size <= SMALL:
        with kernel.use("interpreted"):
            compare(log.path, how)


# --- logs of our own making


Column = tuple[Made, bool]
"""How a column is made, and whether it is unsigned."""

JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.sampled_from(
            [0, -1, 127, -128, 128, 32767, -32769, 2**31, -(2**31) - 1, 2**53 + 1, 2**63, 2**64 - 1]
        ),
        st.integers(-(2**63), 2**64 - 1),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(max_size=20),
        st.decimals(-(10**30), 10**30, allow_nan=False, places=9),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=5), st.dictionaries(st.text(max_size=8), inner, max_size=6)
    ),
    max_leaves=25,
)

UNSIGNED = {1: 1, 2: 2, 9: 3, 3: 4, 8: 8}
"""Bytes of the integer types."""


def unsigned_numbers(code: int) -> st.SearchStrategy[int]:
    top = (1 << 8 * UNSIGNED[code]) - 1
    return st.one_of(st.sampled_from([0, 1, top // 2, top // 2 + 1, top - 1, top]), st.integers(0, top))


def old_temporals() -> st.SearchStrategy[Made]:
    """TIMESTAMP, TIME and DATETIME as servers before 5.6 wrote them."""
    date = st.tuples(st.integers(0, 9999), st.integers(0, 12), st.integers(0, 31))
    clock = st.tuples(st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
    moments = st.tuples(date, clock).map(lambda parts: DateTime(*parts[0], *parts[1], 0))
    spans = st.tuples(st.booleans(), st.integers(0, 838), st.integers(0, 59), st.integers(0, 59)).map(
        lambda parts: Time(parts[0] and any(parts[1:]), *parts[1:], 0)
    )
    instants = st.integers(0, 2**32 - 1).map(lambda seconds: Timestamp(seconds, 0))
    return st.sampled_from([(12, b"", moments, False), (11, b"", spans, False), (7, b"", instants, False)])


def texts() -> st.SearchStrategy[bytes]:
    return st.one_of(st.text(max_size=40).map(str.encode), st.binary(max_size=60))


ALL_COLUMNS: st.SearchStrategy[Made] = st.one_of(
    COLUMNS,
    old_temporals(),
    st.just((245, b"\x04", st.one_of(JSON.map(encode_json), st.just(b"")), False)),
    st.sampled_from([(15, b"\xff\x00", texts(), False), (252, b"\x02", texts(), False), (254, b"\xfe\xf0", texts(), False)]),
)  # fmt: skip
CHARSETS = (255, 45, 33, 8, 63, 28, 13, 51, 224, 54, 240, 999)
"""utf8mb4, utf8, latin1, binary, gbk, sjis, cp1251, utf16, unknown …"""
CHARACTERS = (15, 252, 254)
NAMES = st.one_of(
    st.sampled_from(["id", "a", "b", "ä", "name", "srid", "wkb", "@1"]), st.text(min_size=1, max_size=12)
)


@st.composite
def tables(draw: st.DrawFn, number: int) -> tuple[table_map.TableMap, list[st.SearchStrategy[Any]]]:
    """A table map, and what its columns may hold."""
    made = draw(st.lists(ALL_COLUMNS, min_size=1, max_size=12))
    count = len(made)
    values: list[st.SearchStrategy[Any]] = []
    signs: list[int] = []
    for code, _, strategy, takes_sign in made:
        if code in UNSIGNED and draw(st.booleans()):
            strategy = unsigned_numbers(code)
            signs.append(1)
        elif takes_sign:
            signs.append(0)
        values.append(strategy)
    bits = "".join(map(str, signs)).ljust(-(-len(signs) // 8) * 8, "0")
    optional: list[table_map.Metadata] = []
    if signs:
        optional.append(table_map.Signedness(1, int(bits, 2).to_bytes(len(bits) // 8, "big")))
    if draw(st.booleans()):
        optional.append(table_map.DefaultCharset(2, (draw(st.sampled_from(CHARSETS)),)))
    if draw(st.booleans()):
        names = draw(st.lists(NAMES, min_size=count, max_size=count, unique=True))
        optional.append(table_map.ColumnName(4, tuple(names)))
        if draw(st.booleans()):
            optional.append(table_map.SimplePrimaryKey(8, (draw(st.integers(0, count - 1)),)))
    table = table_map.TableMap(
        table_id=number,
        flags=1,
        schema=draw(st.sampled_from(["shop", "größe", "s" * 60])),
        table=f"t{number}",
        types=bytes(code for code, *_ in made),
        metadata=b"".join(metadata for _, metadata, *_ in made),
        null_bitmap=b"\xff" * ((count + 7) // 8),
        optional=tuple(optional),
    )
    return table, values


KINDS = [
    *(rows.WriteRows, rows.UpdateRows, rows.DeleteRows),
    *(rows.WriteRowsV1, rows.UpdateRowsV1, rows.DeleteRowsV1),
]


@st.composite
def rows_events(
    draw: st.DrawFn, table: table_map.TableMap, values: list[st.SearchStrategy[Any]], last: bool
) -> Event:
    count = len(values)
    kind = draw(st.sampled_from(KINDS))

    def bitmap() -> list[bool]:
        chosen = draw(
            st.one_of(st.just([True] * count), st.lists(st.booleans(), min_size=count, max_size=count))
        )
        return chosen if any(chosen) else [True] * count

    def packed(there: list[bool]) -> bytes:
        return sum(1 << index for index, one in enumerate(there) if one).to_bytes((count + 7) // 8, "little")

    def image(there: list[bool]) -> tuple[Any, ...]:
        return tuple(
            draw(st.one_of(values[index], values[index], st.none())) if one else ABSENT
            for index, one in enumerate(there)
        )

    before, after = bitmap(), bitmap()
    changed = tuple(
        rows.Row(image(before) if kind.has_before else None, image(after) if kind.has_after else None)
        for _ in range(draw(st.integers(1, 3)))
    )
    return kind(
        table_id=table.table_id,
        flags=int(last),
        width=count,
        before_columns=packed(before) if kind.has_before else b"",
        after_columns=packed(after) if kind.has_after else b"",
        rows=changed,
        table=table,
    )


@st.composite
def gtids(draw: st.DrawFn, number: int) -> Event:
    wide = st.one_of(st.sampled_from([0, 1, 2**31, 2**32, 2**55 - 1]), st.integers(0, 2**55 - 1))
    fields: dict[str, Any] = {
        "flags": draw(st.sampled_from([0, 1])),
        "uuid": draw(st.sampled_from([UUID, bytes(range(16))])),
        "gno": draw(st.sampled_from([number, 2**40 + number, 2**63 - 2])),
        "last_committed": draw(st.integers(0, 2**62)),
        "sequence_number": draw(st.integers(0, 2**62)),
        "immediate_commit_timestamp": draw(wide),
        "transaction_length": draw(st.sampled_from([0, 250, 251, 65535, 65536, 2**24, 2**40])),
        "immediate_server_version": draw(st.sampled_from([80036, 90704, 999999, 0x7FFFFFFF])),
    }
    if draw(st.booleans()):
        fields |= {
            "original_commit_timestamp": draw(wide),
            "original_server_version": draw(st.sampled_from([50744, 80040])),
            "commit_group_ticket": draw(st.sampled_from([0, 5, 2**63, 2**64 - 1])),
        }
    if draw(st.booleans()):
        return transaction.GtidTagged(**fields, tag=draw(st.sampled_from(["blue", "x" * 32])))
    if draw(st.booleans()):
        fields |= {"gno": 0, "uuid": bytes(16)}
        return transaction.AnonymousGtid(**fields, clock_type=2)
    return transaction.Gtid(**fields, clock_type=2)


@st.composite
def mariadb_gtids(draw: st.DrawFn, number: int) -> Event:
    flags = draw(st.sampled_from([4, 4, 4 | 8, 2 | 4, 0, 1, 1 | 32, 32, 64]))
    extra = draw(st.sampled_from([None, 0, 16, 16, 1 | 16, 2, 4 | 16]))
    return mariadb.MariadbGtidEvent(
        sequence=draw(st.sampled_from([number, 0, 2**40 + number, 2**63 - 1])),
        domain=draw(st.sampled_from([0, 7, 2**32 - 1])),
        flags=flags,
        commit_id=9 if flags & 2 else None,
        **({"format_id": 1, "gtrid": b"a", "bqual": b""} if flags & 64 else {}),
        extra_flags=extra,
        extra_engines=1 if extra is not None and extra & 1 else None,
        start_alter=4 if extra is not None and extra & 12 else None,
        thread_id=draw(st.sampled_from([8, 2**32 - 1])) if extra is not None and extra & 16 else None,
        padding=b"" if extra is None else draw(st.sampled_from([b"", bytes(5)])),
    )


SETTINGS = st.sampled_from(
    [
        statement.Intvar(2, 1 << 40),
        statement.Rand(1 << 63, 12345),
        statement.UserVar(b"v", 0, 4, 8, bytes([5, 2, 0x80, 123, 45]), 1),
        statement.UserVar(b"w", 1),
        statement.UserVar(b"", 0, 0, 8, b""),
        statement.UserVar(b"p", 0, 0, 8, b"xy", 2, b"point"),
    ]
)


@st.composite
def queries(draw: st.DrawFn, text: bytes) -> Event:
    """With the settings of one server or the other, with few, or with such as nobody knows."""
    known = query(text)
    status: tuple[statement.StatusVariable, ...] = draw(
        st.sampled_from(
            [
                known.status,
                known.status,
                (),
                (statement.Flags2(0, 1), statement.UpdatedSchemas(12, schemas=None)),
                (
                    statement.MariadbMicroseconds(128, 5),
                    statement.MariadbXid(129, 2**63 + 1),
                    statement.CharacterSetCollations(131, pairs=(statement.CollationPair(45, 255),)),
                ),
                (statement.MariadbGtidFlags(130, 2),),
                (statement.SqlMode(1, 2**63), statement.UnknownStatus(77, b"?")),
            ]
        )
    )
    return replace(known, status=status, schema=draw(st.sampled_from(["shop", "", "größe"])))


STATEMENTS = st.one_of(
    st.sampled_from(
        [
            *(
                b"commit",
                b"COMMIT WORK",
                b"rollback",
                b"ROLLBACK  TO s",
                b"ROLLBACK WORK TO s",
                b"Begin Work",
            ),
            *(
                b"insert t values (1)",
                b" /* a */\t/**/ REPLACE t VALUES (1)",
                b"/*! INSERT INTO t VALUES (1) */",
            ),
            *(
                b"/* open INSERT",
                b"-- a\nDELETE FROM t",
                b"SET a",
                b"SET @a = 1",
                b"INSERTED",
                b"Release SAVEPOINT s",
            ),
            *(
                b"CREATE TABLE t (a INT) START TRANSACTION",
                b"create view n",
                b"/*M! DROP TABLE t */",
                b"/*/ DROP */ DO 1",
            ),
            *(b"CREATE TABLE t (a INT)", b"TRUNCATE t", b"INSERT INTO t VALUES (1)", b"/* x */ DROP TABLE t"),
            *(
                b"SAVEPOINT s",
                b"ROLLBACK TO s",
                b"XA COMMIT X'61',X'62',1",
                b"XA ROLLBACK X'61',X'',7",
                b"",
                b"BEGIN",
            ),
            *("INSERT INTO t VALUES ('grün')".encode(), b"UPDATE t SET a = '\xff\xfe'"),
        ]
    ),
    st.binary(max_size=30),
)


@st.composite
def transactions(draw: st.DrawFn, number: int) -> list[Event]:
    """A transaction as servers write them; or some other order of the same events."""
    shape = draw(st.sampled_from(["rows", "rows", "rows", "statement", "text", "xa", "mixed"]))
    named = draw(st.sampled_from(["mysql", "mysql", "mysql", "mariadb", "mariadb", ""]))
    events: list[Event] = []
    if named:
        events.append(draw(gtids(number) if named == "mysql" else mariadb_gtids(number)))
    if shape == "statement":
        settings = draw(st.lists(SETTINGS, max_size=1))
        return [*events, *settings, draw(queries(draw(STATEMENTS)))]
    if named != "mariadb" or shape == "xa":
        begin = b"XA START X'61',X'',1" if shape == "xa" else b"BEGIN"
        events.append(draw(queries(begin)))
    for _ in range(draw(st.integers(1, 3))):
        if shape == "text":
            events += [*draw(st.lists(SETTINGS, max_size=2)), draw(queries(draw(STATEMENTS)))]
            continue
        if draw(st.booleans()):
            text = draw(st.binary(max_size=40))
            events.append(mariadb.AnnotateRows(text) if named == "mariadb" else statement.RowsQuery(22, text))
        described = [draw(tables(number)) for number in draw(st.sampled_from([[77], [77, 78], [2**40]]))]
        events += [table for table, _ in described]
        parts = draw(st.integers(1, 3))
        for part in range(parts):
            table, values = draw(st.sampled_from(described))
            events.append(draw(rows_events(table, values, part == parts - 1)))
        if shape == "mixed":
            events.append(draw(queries(draw(STATEMENTS))))
    if shape == "xa":
        ends = [query(b"XA END X'61',X'',1"), transaction.XaPrepare(draw(st.integers(0, 1)), 1, b"a", b"")]
        return [*events, *ends]
    end = draw(st.sampled_from(["xid", "xid", "commit", "rollback", "nothing"]))
    if end == "xid":
        events.append(transaction.Xid(draw(st.sampled_from([0, 9, 2**63, 2**64 - 1]))))
    elif end != "nothing":
        events.append(draw(queries(end.upper().encode())))
    return events


def headed(event: Event, timestamp: int, server_id: int, flags: int) -> Event:
    event.__dict__["header"] = Header(
        timestamp=timestamp, type_code=event.code or 0, server_id=server_id, flags=flags
    )
    return event


def packed_events(events: list[Event], frames: int) -> TransactionPayload:
    """Events as a compressed payload, in so many zstd frames."""
    return packed_bytes(b"".join(encode_event(event, Format()) for event in events), frames)


def packed_bytes(plain: bytes, frames: int) -> TransactionPayload:
    cuts = [len(plain) * number // frames for number in range(frames + 1)]
    data = b"".join(zstandard.compress(plain[start:end]) for start, end in pairwise(cuts))
    values = (Compression(2, 0), UncompressedSize(3, len(plain)), PayloadSize(1, len(data)), EndMark(0))
    return TransactionPayload(values=values, payload=data)


@st.composite
def logs(draw: st.DrawFn) -> bytes:
    events: list[Event] = []
    seconds = st.sampled_from([0, 1, 1_700_000_000, 2**31 - 1, 2**31, 2**32 - 1])
    servers = st.sampled_from([0, 1, 2**31, 2**32 - 1])
    for number in range(1, draw(st.integers(1, 4)) + 1):
        made = draw(transactions(number))
        placed = [
            headed(one, draw(seconds), draw(servers), draw(st.sampled_from([0, 8, 0x80]))) for one in made
        ]
        if len(placed) > 2 and isinstance(placed[0], transaction.GtidEvent) and draw(st.integers(0, 3)) == 0:
            payload = packed_events(placed[1:], draw(st.sampled_from([1, 2])))
            placed = [placed[0], headed(payload, draw(seconds), 1, 0)]
        events += placed
    return build_log(events, draw(st.sampled_from([0, 1])))


@contextmanager
def interpreted_if(wanted: bool) -> Iterator[None]:
    if not wanted:
        yield
        return
    with kernel.use("interpreted"):
        yield


def judge(log: bytes, how: How) -> None:
    compare(log, how)
    with kernel.use("interpreted"):
        compare(log, how)


HOWS = st.builds(
    How, verify=st.booleans(), uncommitted=st.booleans(), window=st.sampled_from([200, 1000, 1 << 20])
)


@QUICK
@given(logs(), HOWS)
def test_generated_logs(log: bytes, how: How) -> None:
    judge(log, how)


@pytest.mark.soak
@LONG
@given(logs(), HOWS)
def test_many_generated_logs(log: bytes, how: How) -> None:
    judge(log, how)


@st.composite
def cut_logs(draw: st.DrawFn) -> bytes:
    log = draw(logs())
    return log[: draw(st.integers(0, len(log)))]


@settings(QUICK, max_examples=25)
@given(cut_logs(), HOWS)
def test_generated_logs_that_were_cut(log: bytes, how: How) -> None:
    compare(log, how)


@pytest.mark.soak
@LONG
@given(cut_logs(), HOWS)
def test_many_generated_logs_that_were_cut(log: bytes, how: How) -> None:
    judge(log, how)


# --- values that a wrong width, sign or rounding would change


EDGES: list[tuple[int, str, bool, list[Any]]] = [
    *((code, "", False, [-(1 << 8 * size - 1), -1, 0, 1, (1 << 8 * size - 1) - 1]) for code, size in UNSIGNED.items()),
    *(
        (code, "", True, [0, 1, (1 << 8 * size - 1) - 1, 1 << 8 * size - 1, (1 << 8 * size) - 1])
        for code, size in UNSIGNED.items()
    ),
    (4, "04", False, [1.5, -0.0, 3.4028234663852886e38, 1.401298464324817e-45, float("inf")]),
    (5, "08", False, [0.1, -0.0, 1.7976931348623157e308, 5e-324, float("-inf")]),
    *(
        (246, f"{precision:02x}{scale:02x}", False, [Decimal(f"{sign}{'9' * precision}e-{scale}") for sign in "-+"])
        for precision in (1, 8, 9, 10, 18, 19, 27, 28, 37, 38, 39, 65)
        for scale in (0, 1, min(9, precision), min(30, precision))
    ),
    (13, "", False, [0, 1901, 2155]),
    *((16, f"{bits % 8:02x}{bits // 8:02x}", False, [0, 1, (1 << bits) - 1]) for bits in (1, 2, 8, 63, 64)),
    (10, "", False, [Date(0, 0, 0), Date(1, 1, 1), Date(1969, 12, 31), Date(2024, 2, 29), Date(2023, 2, 29), Date(9999, 12, 31)]),
    *(
        (18, f"{digits:02x}", False, [DateTime(1969, 12, 31, 23, 59, 59, 999999 // step * step), DateTime(9999, 12, 31, 23, 59, 59, 0), DateTime(2024, 0, 31, 1, 2, 3, 0), DateTime(1, 1, 1, 0, 0, 0, 1 * step)])
        for digits in range(7)
        for step in [10 ** (6 - digits)]
        if digits
    ),
    *(
        (19, f"{digits:02x}", False, [Time(True, 838, 59, 59, 0), Time(True, 0, 0, 0, step), Time(False, 0, 0, 1, step), Time(True, 0, 0, 1, 999999 // step * step)])
        for digits in range(1, 7)
        for step in [10 ** (6 - digits)]
    ),
    *(
        (17, f"{digits:02x}", False, [Timestamp(0, 0), Timestamp(1, step), Timestamp(2**31, 0), Timestamp(2**32 - 1, 999999 // step * step)])
        for digits in range(1, 7)
        for step in [10 ** (6 - digits)]
    ),
]  # fmt: skip


@pytest.mark.parametrize("implementation", ["interpreted", "compiled"])
def test_edges(implementation: kernel.Implementation) -> None:
    """Inserted all at once and one type at a time, so that a value that spills over hits its neighbour."""
    if implementation == "compiled" and kernel.interpreted_modules():
        pytest.skip("the kernel is not compiled")
    events: list[Event] = []
    longest = max(len(values) for *_, values in EDGES)
    for number, chosen in enumerate([EDGES, *([edge] for edge in EDGES)]):
        signs = "".join("1" if unsigned else "0" for code, _, unsigned, _ in chosen if code in NUMERIC)
        signs = signs.ljust(-(-len(signs) // 8) * 8, "0")
        table = table_map.TableMap(
            table_id=number,
            flags=1,
            schema="shop",
            table=f"edges{number}",
            types=bytes(code for code, *_ in chosen),
            metadata=bytes.fromhex("".join(metadata for _, metadata, *_ in chosen)),
            null_bitmap=b"\xff" * ((len(chosen) + 7) // 8),
            optional=(table_map.Signedness(1, int(signs, 2).to_bytes(len(signs) // 8, "big")),)
            if signs
            else (),
        )
        everything = ((1 << len(chosen)) - 1).to_bytes((len(chosen) + 7) // 8, "little")
        images = [tuple(values[turn % len(values)] for *_, values in chosen) for turn in range(longest)]
        insert = rows.WriteRows(
            table_id=number,
            flags=1,
            width=len(chosen),
            after_columns=everything,
            rows=tuple(rows.Row(None, image) for image in images),
            table=table,
        )
        events += [query(b"BEGIN"), table, insert, transaction.Xid(number)]
    log = build_log([headed(event, 1_700_000_000, 1, 0) for event in events])
    with kernel.use(implementation):
        told = compare(log, How(), ("changes",))
    assert len(told["changes"].rows) == longest * (len(EDGES) + 1)


NUMERIC = {1, 2, 3, 4, 5, 8, 9, 13, 246}
"""Types that take a bit of signedness."""


def test_judged_views_are_told() -> None:
    """The comparison is not between two empty things."""
    log = build_log([headed(event, 1, 1, 0) for event in (query(b"CREATE TABLE t (a INT)"),)])
    told = compare(log, How())
    assert [len(told[view].rows) for view in JUDGED] == [2, 1, 1]
    assert reference_changes(log, How()).rows[0]["op"] == "ddl"
