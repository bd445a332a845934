"""What ``gtidal dump`` prints for MariaDB's logs: the public logs as mariadb-binlog 11.8 printed them, and small
logs of our own whose text was compared with that tool's."""

from __future__ import annotations

import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gtidal.events import (
    Event,
    Header,
    control,
    encode_event,
    images,
    load,
    mariadb,
    rows,
    statement,
    table_map,
)
from gtidal.events.format import CRC32, MAGIC, NO_CHECKSUM
from gtidal.events.transaction import XaPrepare, Xid
from gtidal.text.dumping import Dump
from gtidal.text.mariadb_session import is_transaction_keyword, named_flags
from tests.logs import CorpusLog, context, corpus_logs, format_description
from tests.text.dumps import Dumped, dump
from tests.text.test_dump_corpus import ORACLE_OPTIONS, oracle

LOGS = [log for log in corpus_logs() if ".maria118." in log.oracle]
# Logs of MySQL: they are printed as MySQL's tool does, unless we are told that they are MariaDB's.
OF_MYSQL = {"polardb+polardbx-cdc__mysql_bin.19_1", "vitessio+vitess__vt-0000062347-bin.000001"}


@pytest.mark.parametrize("log", LOGS, ids=str)
def test_oracle(log: CorpusLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if log.name in OF_MYSQL:
        monkeypatch.setattr(Dump, "_is_mariadb", lambda self, reader: True)
    expected, code = oracle(log)
    found = dump(log.path, load_folder=tmp_path, **ORACLE_OPTIONS)
    assert found.text.rstrip(b"\n") == expected.rstrip(b"\n")
    assert (found.code == 0) == (code == 0), found.messages


# --- logs of our own --------------------------------------------------------------------------------------

WHEN = 1_700_000_000
VERSION = "11.8.6-MariaDB-log"
FIXED_SIZES = (
    bytes.fromhex("380d0008001200040404041200 00e400041a08000000080808020000000a0a0a0000000000000a0a0a")
    + bytes(118)
    + bytes.fromhex("0004130400 0d0808080a0a0a")
)
"""What MariaDB 11.8 announces: the sizes of the fixed parts of its 171 types."""


def make_log(
    path: Path, *events: Event, checksum: int = NO_CHECKSUM, version: str = VERSION, flags: int = 0
) -> Path:
    first = format_description(version, checksum)
    first = replace(
        first, created=0, post_header_lengths=FIXED_SIZES, header=replace(first.header, flags=flags)
    )
    data = MAGIC
    for event in (first, *events):
        old = event.header
        header = replace(
            old, type_code=event.code, timestamp=old.timestamp or WHEN, server_id=old.server_id or 1
        )
        size = len(encode_event(replace(event, header=header), first.format))
        data += encode_event(replace(event, header=replace(header, log_pos=len(data) + size)), first.format)
    path.write_bytes(data)
    return path


def printed(path: Path, *events: Event, **options: Any) -> str:
    """The text of events after the format description, without the lines before each."""
    making = {key: options.pop(key) for key in ("checksum", "version", "flags") if key in options}
    found = dump(make_log(path / "log.000001", *events, **making), **{"base64": "decode-rows", **options})
    assert found.code == 0, found.messages
    return bare(found)


def bare(found: Dumped) -> str:
    lines = found.events.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("# at ") and "\tStart: " not in line)


HEAD = "#231114 22:13:20 server id 1  end_log_pos "


def gtid(sequence: int, flags: int = 0, **more: Any) -> mariadb.MariadbGtidEvent:
    """Padded to 19 bytes, as servers do."""
    event = mariadb.MariadbGtidEvent(sequence=sequence, domain=more.pop("domain", 0), flags=flags, **more)
    missing = 19 - len(event.encode(context()))
    return replace(event, padding=bytes(max(0, missing)))


def query(text: str, schema: str = "", *status: statement.StatusVariable, **header: int) -> statement.Query:
    return statement.Query(
        thread_id=7,
        exec_time=0,
        error_code=0,
        schema=schema,
        status=status,
        query=text.encode(),
        header=Header(**header),
    )


TABLE = table_map.TableMap(
    table_id=5,
    flags=0x4000,
    schema="d",
    table="t`1",
    types=b"\x03\x0f",
    metadata=b"\x14\0",
    null_bitmap=b"\x02",
)


def insert(
    *values: tuple[int, bytes | None], table: table_map.TableMap = TABLE, ends: bool = True
) -> rows.WriteRowsV1:
    return rows.WriteRowsV1(
        table_id=table.table_id,
        flags=int(ends),
        width=2,
        after_columns=b"\x03",
        rows=tuple(images.Row(None, value) for value in values),
        table=table,
    )


def test_gtids(tmp_path: Path) -> None:
    """Settings of the session are printed when they change."""
    text = printed(
        tmp_path,
        gtid(1, 1 | 32 | 8),
        gtid(2, 2 | 4 | 8, commit_id=99),
        gtid(1, 1 | 16, domain=3, header=Header(server_id=9)),
        gtid(3, 1, extra_flags=2),
        gtid(4, 1, extra_flags=4 | 16, start_alter=3, thread_id=8),
        gtid(5, 1, extra_flags=8, start_alter=3),
    )
    after_words = [line.partition("\tGTID ")[2] or line for line in text.splitlines()]
    assert after_words == [
        "0-1-1 ddl",
        "/*M!100101 SET @@session.skip_parallel_replication=0*//*!*/;",
        "/*M!100001 SET @@session.gtid_domain_id=0*//*!*/;",
        "/*M!100001 SET @@session.server_id=1*//*!*/;",
        "/*M!100001 SET @@session.gtid_seq_no=1*//*!*/;",
        "0-1-2 cid=99 trans",
        "/*M!100001 SET @@session.gtid_seq_no=2*//*!*/;",
        "START TRANSACTION",
        "/*!*/;",
        "3-9-1 waited",
        "/*M!100101 SET @@session.skip_parallel_replication=1*//*!*/;",
        "/*M!100001 SET @@session.gtid_domain_id=3*//*!*/;",
        "/*M!100001 SET @@session.server_id=9*//*!*/;",
        "/*M!100001 SET @@session.gtid_seq_no=1*//*!*/;",
        "0-1-3 START ALTER",
        "/*M!100001 SET @@session.gtid_domain_id=0*//*!*/;",
        "/*M!100001 SET @@session.server_id=1*//*!*/;",
        "/*M!100001 SET @@session.gtid_seq_no=3*//*!*/;",
        "0-1-4 COMMIT ALTER id= 3 thread_id=8",
        "/*M!100001 SET @@session.gtid_seq_no=4*//*!*/;",
        "0-1-5 ROLLBACK ALTER id= 3",
        "/*M!100001 SET @@session.gtid_seq_no=5*//*!*/;",
    ]


def test_xa(tmp_path: Path) -> None:
    xa = {"format_id": 1, "gtrid": b"\0'", "bqual": b""}
    text = printed(
        tmp_path,
        gtid(1, 64, **xa),
        query("XA END X'0027',X'',1", "d"),
        XaPrepare(one_phase=0, **xa),
        short_form=True,
    )
    assert text.startswith("XA START X'0027',X'',1/*!*/;\nSET TIMESTAMP=")  # and no `use`
    assert text.endswith("XA END X'0027',X'',1\n/*!*/;\nXA PREPARE X'0027',X'',1\n/*!*/;\n")


def test_a_gtid_that_goes_back_ends_the_output(tmp_path: Path) -> None:
    found = dump(
        make_log(tmp_path / "log.000001", gtid(5, 1), gtid(5, 1, domain=1), gtid(4, 1), control.Stop())
    )
    assert found.code == 1
    assert "0-1-4 comes after 0-1-5" in found.messages[0]
    assert found.text.endswith(b"/*M!100001 SET @@session.gtid_seq_no=5*//*!*/;\n")  # no closing lines


def test_gtids_that_the_first_list_covers_may_come_again(tmp_path: Path) -> None:
    entries = (mariadb.GtidListEntry(0, 1, 5),)
    log = make_log(
        tmp_path / "log.000001",
        mariadb.GtidList(list_flags=0, entries=entries),
        gtid(6, 1),
        gtid(4, 1),
        gtid(5, 1),
    )
    assert dump(log).code == 0


def test_a_domain_that_does_not_come_back_to_where_it_began(tmp_path: Path) -> None:
    """All is printed; the complaint comes last."""
    entries = (mariadb.GtidListEntry(0, 1, 5),)
    log = make_log(tmp_path / "log.000001", mariadb.GtidList(list_flags=0, entries=entries), gtid(3, 1))
    found = dump(log)
    assert found.code == 1
    assert "0-1-3" in found.messages[0]
    assert found.text.endswith(b"MODE=0*/;\n")


def test_gtid_list(tmp_path: Path) -> None:
    entries = tuple(mariadb.GtidListEntry(*entry) for entry in ((9, 1, 3), (9, 77, 2), (0, 1, 31)))
    text = printed(
        tmp_path, mariadb.GtidList(list_flags=0, entries=entries), mariadb.BinlogCheckpoint("b.000001")
    )
    lines = [line.partition("\t")[2] or line for line in text.splitlines()]
    assert lines == ["Gtid list [0-1-31,", "# 9-77-2,", "# 9-1-3]", "Binlog checkpoint b.000001"]


SETTINGS = (
    statement.Flags2(0, 1 << 24),
    statement.SqlMode(1, 8),
    statement.SessionCharset(4, 45, 2304, 8),
    statement.MariadbMicroseconds(128, 1234),
    statement.MariadbXid(129, 77),
    statement.CharacterSetCollations(131, (statement.CollationPair(45, 2304), statement.CollationPair(8, 5))),
)


def test_settings(tmp_path: Path) -> None:
    text = printed(tmp_path, query("insert 1", "d", *SETTINGS), query("COMMIT", "e"), query("insert 2", "d"))
    first, _, rest = text.partition("insert 1\n")
    assert first.splitlines()[1:] == [
        "use `d`/*!*/;",
        "SET TIMESTAMP=1700000000.001234/*!*/;",
        "SET @@session.pseudo_thread_id=7/*!*/;",
        "SET @@session.foreign_key_checks=1, @@session.sql_auto_is_null=0, @@session.unique_checks=1, "
        "@@session.autocommit=1, @@session.check_constraint_checks=1, @@session.sql_if_exists=0, "
        "@@session.explicit_defaults_for_timestamp=1, @@session.system_versioning_insert_history=0/*!*/;",
        "SET @@session.sql_mode=8/*!*/;",
        "SET @@session.auto_increment_increment=1, @@session.auto_increment_offset=1/*!*/;",
        "/*!\\C utf8mb4 *//*!*/;",
        "SET @@session.character_set_client=utf8mb4,@@session.collation_connection=2304,"
        "@@session.collation_server=8/*!*/;",
        "SET @@session.character_set_collations='latin1=latin1_german1_ci,utf8mb4=utf8mb4_uca1400_ai_ci'/*!*/;",
        "SET @@session.lc_time_names=0/*!*/;",
        "SET @@session.collation_database=DEFAULT/*!*/;",
    ]
    assert first.splitlines()[0].endswith("\tQuery\tthread_id=7\texec_time=0\terror_code=0\txid=77")
    assert "use" not in rest  # COMMIT needs no schema, and leaves `d` in use


@pytest.mark.parametrize(
    ("version", "flags"),
    [
        ("8.0.40", 0x4C08C000),
        ("10.3.36-MariaDB", 0x4C08C000),
        ("10.5.2-MariaDB", 0x5C08C000),
        ("10.5.17-MariaDB", 0x5D08C000),
        ("10.6.8-MariaDB", 0x5C08C000),
        ("10.10.1-MariaDB", 0x5D08C000),
        ("10.11.2-MariaDB", 0x5D08C000),
        ("11.8.6-MariaDB", 0x5D08C000),
    ],
)
def test_flags_by_version(version: str, flags: int) -> None:
    assert named_flags(version) == flags


def test_a_flag_without_a_name(tmp_path: Path) -> None:
    events = query("a", "", statement.Flags2(0, 0)), query("b", "", statement.Flags2(0, 1))
    text = printed(tmp_path, *events, short_form=True)
    assert text.endswith("a\n/*!*/;\nSET TIMESTAMP=1700000000/*!*/;\nSET /*!*/;\nb\n/*!*/;\n")


@pytest.mark.parametrize(
    ("text", "xa", "is_keyword"),
    [
        (b"BEGIN", False, True),
        (b"COMMIT", False, True),
        (b"rollback to x", False, True),
        (b"savepoint x", False, True),
        (b"begin", False, False),
        (b"XA COMMIT X'61'", False, False),
        (b"xa commit X'61'", True, True),
        (b"COMMIT", True, False),
    ],
)
def test_keywords(text: bytes, xa: bool, is_keyword: bool) -> None:
    assert is_transaction_keyword(text, xa) is is_keyword


def test_skip_replication(tmp_path: Path) -> None:
    text = printed(tmp_path, query("a", flags=0x8000), query("b", flags=0x8000), Xid(1), short_form=True)
    assert text.startswith("/*!50521 SET skip_replication=1*//*!*/;\nSET TIMESTAMP")
    assert text.endswith("b\n/*!*/;\n/*!50521 SET skip_replication=0*//*!*/;\nCOMMIT/*!*/;\n")


def test_two_phase_alter(tmp_path: Path) -> None:
    start = query("alter table t", "", statement.MariadbGtidFlags(130, 2))
    commit = query("alter table t", "", statement.MariadbGtidFlags(130, 4, 9))
    assert "\n/*!100600 BINLOG '\n" in printed(tmp_path, start, base64="auto")
    text = printed(tmp_path, start, commit, base64="auto", verbosity=1)
    assert text.count("' *//*!*/;\n### alter table t\n") == 1
    assert text.count("'/*!*/;\n### alter table t\n") == 1
    assert "alter table" not in printed(tmp_path, start)


@pytest.mark.parametrize(
    ("more", "value"),
    [
        ({"is_null": 1}, "NULL"),
        ({"type": 0, "collation": 45, "value": b"q\xff"}, "_utf8mb4 X'71FF' COLLATE `utf8mb4_general_ci`"),
        ({"type": 0, "collation": 2304, "value": b""}, '_utf8mb4 "" COLLATE `utf8mb4_uca1400_ai_ci`'),
        ({"type": 0, "collation": 60000, "value": b"q"}, "???"),
        ({"type": 2, "collation": 8, "value": b"\xff" * 8, "flags": 0}, "-1"),
        ({"type": 2, "collation": 8, "value": b"\xff" * 8, "flags": 1}, "18446744073709551615"),
    ],
)
def test_user_variables(tmp_path: Path, more: dict[str, Any], value: str) -> None:
    event = statement.UserVar(**{"variable": b"a`b", "is_null": 0, **more})
    assert printed(tmp_path, event, short_form=True) == f"SET @`a``b`:={value}/*!*/;\n"


def test_rows(tmp_path: Path) -> None:
    """The headers of a statement's rows come together, after all of the ``# at`` lines; then the count."""
    annotation = mariadb.AnnotateRows(b"insert\r\n\n into t")
    events = annotation, TABLE, insert((1, b"it's\\\n"), ends=False), insert((-2, None))
    found = dump(make_log(tmp_path / "log.000001", *events), base64="decode-rows", verbosity=2)
    text = found.events.partition("\tStart: ")[2].partition("\n")[2]
    at = [line for line in text.splitlines() if line.startswith("# at ")]
    ends = [int(line.split()[2]) for line in at[1:]]
    end = make_log(tmp_path / "x", *events).stat().st_size
    assert text == (
        f"{at[0]}\n{at[1]}\n"
        f"{HEAD}{ends[0]} \tAnnotate_rows:\n#Q> insert\n#Q>  into t\n"
        f"{HEAD}{ends[1]} \tTable_map: `d`.`t``1` mapped to number 5 (has triggers)\n"
        f"{at[2]}\n{at[3]}\n"
        f"{HEAD}{ends[2]} \tWrite_rows: table id 5\n"
        f"{HEAD}{end} \tWrite_rows: table id 5 flags: STMT_END_F\n"
        "### INSERT INTO `d`.`t``1`\n### SET\n"
        "###   @1=1 /* INT meta=0 nullable=0 is_null=0 */\n"
        "###   @2='it's\\\\x0a' /* VARSTRING(20) meta=20 nullable=1 is_null=0 */\n"
        "### INSERT INTO `d`.`t``1`\n### SET\n"
        "###   @1=-2 (4294967294) /* INT meta=0 nullable=0 is_null=0 */\n"
        "###   @2=NULL /* VARSTRING(20) meta=20 nullable=1 is_null=1 */\n"
        "# Number of rows: 2\n"
    )


def test_rows_in_other_modes(tmp_path: Path) -> None:
    events = mariadb.AnnotateRows(b"insert"), TABLE, insert((1, b"x"), (2, b"y"))
    counted = printed(tmp_path, *events)
    assert counted.endswith("flags: STMT_END_F\n# Number of rows: 2\n")
    assert printed(tmp_path, *events, short_form=True, verbosity=2) == "# Annotate_rows:\n#Q> insert\n"
    assert "Annotate" not in printed(tmp_path, *events, skip_annotate=True)
    assert printed(tmp_path, *events, base64="never", verbosity=1).count("### INSERT") == 2
    encoded = printed(tmp_path, *events, base64="auto")
    assert encoded.count("BINLOG '") == 2  # of the format description and of the rows


def test_row_counts_end_at_a_type_that_is_not_measured(tmp_path: Path) -> None:
    table = replace(TABLE, types=b"\x03\xff", metadata=b"\x04")
    point = b"\0" * 25
    events = table, insert((1, None), (2, point), (3, point), table=table)
    assert "# Number of rows: 2\n" in printed(tmp_path, *events)
    assert "# Number of rows: 3\n" in printed(tmp_path, *events, verbosity=1)


def test_filters(tmp_path: Path) -> None:
    other = replace(TABLE, table_id=6, schema="e")
    both = TABLE, other, insert((1, b"x"), ends=False), insert((2, b"y"), table=other)
    # The tool closes a BINLOG statement here that it has not opened.
    text = printed(tmp_path, *both, database="d", base64="auto", verbosity=1)
    assert "Write_rows: table id 5\n" in text
    assert "'/*!*/;\n### INSERT INTO `d`.`t``1`\n" in text
    assert "`e`" not in text
    assert "Number of rows" not in text
    assert "`d`" not in printed(tmp_path, *both, tables=frozenset({("e", "t`1")}))
    assert "`d`" in printed(tmp_path, *both, tables=frozenset({("", "t`1")}))
    assert "Number of rows: 1\n" in printed(tmp_path, *both, database="e")


def test_renamed_schemas(tmp_path: Path) -> None:
    """Tables get the new name, in the BINLOG statement too; queries are left alone but for their ``use``."""
    events = query("insert into d.x", "d"), TABLE, insert((1, b"x"))
    text = printed(tmp_path, *events, rewrite_db={"d": "new"}, verbosity=1)
    assert text.startswith("use `new`/*!*/;\n#")
    assert "insert into d.x\n" in text
    assert "Table_map: `new`.`t``1` mapped" in text
    assert "### INSERT INTO `new`.`t``1`\n" in text


def test_rows_without_their_table_map(tmp_path: Path) -> None:
    log = make_log(tmp_path / "log.000001", TABLE, insert((1, b"x")))
    start = 4 + int.from_bytes(log.read_bytes()[13:17], "little")
    size = int.from_bytes(log.read_bytes()[start + 9 : start + 13], "little")
    found = dump(log, verbosity=1, base64="decode-rows", start_position=start + size)
    assert found.events.endswith("### Row event for unknown table #5# Number of rows: 0\n")
    assert "\tStart: " not in found.events  # with base64 it would be there
    assert "\tStart: " in dump(log, start_position=start + size).events


def zlib_block(data: bytes) -> bytes:
    return b"\x82" + len(data).to_bytes(2, "big") + zlib.compress(data)


def test_compressed(tmp_path: Path) -> None:
    """Rows are printed as the event they stand for, with a checksum of its own."""
    plain = insert((1, b"x" * 19))
    images = plain.encode(context())[-25:]
    packed = mariadb.WriteRowsCompressedV1(
        table_id=5, flags=1, width=2, after_columns=b"\x03", compressed_rows=zlib_block(images)
    )
    text = mariadb.QueryCompressed(
        thread_id=7, exec_time=0, error_code=0, schema="", status=(), compressed=zlib_block(b"create table t")
    )
    found = printed(tmp_path, text, TABLE, packed, base64="auto", verbosity=1, checksum=CRC32)
    assert "\tQuery_compressed\tthread_id=7" in found
    assert "\ncreate table t\n/*!*/;\n" in found
    assert "\tWrite_compressed_rows: table id 5 flags: STMT_END_F\n" in found
    same = printed(tmp_path, text, TABLE, plain, base64="auto", verbosity=1, checksum=CRC32)
    # The same but for the position that the header tells, and the checksum after it.
    assert found.split("BINLOG '")[2].splitlines()[2][:16] == same.split("BINLOG '")[2].splitlines()[2][:16]
    assert "###   @2='xxxxxxxxxxxxxxxxxxx'\n# Number of rows: 1\n" in found


def test_load_data(tmp_path: Path) -> None:
    end = load.ExecuteLoadQuery(
        thread_id=7,
        exec_time=0,
        error_code=0,
        schema="",
        status=(),
        file_id=2,
        file_name_start=9,
        file_name_end=30,
        duplicates=2,
        query=b"LOAD DATA LOCAL INFILE 'x' INTO TABLE t",
    )
    log = make_log(tmp_path / "log.000001", load.BeginLoadQuery(2, b"ab"), load.AppendBlock(2, b"c"), end)
    found = dump(log, load_folder=tmp_path)
    path = tmp_path / "SQL_LOAD_MB-2-0"
    assert path.read_bytes() == b"abc"
    assert "\n#Begin_load_query: file_id: 2  block_len: 2\n" in found.events
    assert f"LOAD DATA LOCAL INFILE '{path}' REPLACE INTO" in found.events
    assert found.events.endswith("/*!*/;\n# file_id: 2 \n")


def test_hexdump(tmp_path: Path) -> None:
    event = mariadb.BinlogCheckpoint("binlog.000001")
    found = dump(make_log(tmp_path / "log.000001", event), hexdump=True, base64="decode-rows")
    block = found.events.partition("\n# at ")[2]
    position = int(block.split("\n")[0])
    end = position + 36
    stamp, size, log_pos = (number.to_bytes(4, "little").hex(" ") for number in (WHEN, 36, end))
    assert block.partition("\n")[2] == (
        f"{HEAD}{end} \n"
        "# Position\n"
        "#           |Timestamp   |Type |Master ID   |Size        |Master Pos  |Flags\n"
        f"# {position:8x}  |{stamp} |a1   |01 00 00 00 |{size} |{log_pos} |00 00\n"
        "#\n"
        f"# {position + 19:8x}  0d 00 00 00 62 69 6e 6c  6f 67 2e 30 30 30 30 30  |....binlog.00000|\n"
        f"# {position + 35:8x}  31                                                |1|\n"
        "#\n"
        "# Event: \tBinlog checkpoint binlog.000001\n"
    )


@pytest.mark.parametrize("open_log", [True, False])
def test_start_encryption(tmp_path: Path, open_log: bool) -> None:
    """Without a key the text is that of the tool, which never has one; but we say what is needed."""
    event = mariadb.StartEncryption(1, 3, bytes(range(12)))
    found = dump(make_log(tmp_path / "log.000001", event, control.Stop(), flags=int(open_log)))
    assert found.code == 2
    assert "key version 3" in found.messages[0]
    scheme = "# Encryption scheme: 1, key_version: 3, nonce: 000102030405060708090a0b\n"
    assert found.events.endswith(f"{scheme}# The rest of the binlog is encrypted!\n")
    assert found.text.endswith(b"MODE=0*/;\n") is open_log


@pytest.mark.parametrize(
    ("code", "flags", "text"),
    [
        (100, 0x80, "\tIgnorable\n# Ignorable event type 100 (Unknown)\n"),
        (3, 0x80, "\tIgnorable\n# Ignorable event type 3 (Stop)\n"),
        (35, 0, "\tIgnorable\n# Ignorable event type 35 (MySQL Previous_gtids)\n"),
        (14, 0x80, "\tIgnorable\n# Ignorable event type 14 (User var)\n"),
        (161, 0x80, "\tIgnorable\n# Ignorable event type 161 (Binlog_checkpoint)\n"),
        (100, 0, None),
        (173, 0x80, None),
    ],
)
def test_types_that_are_passed_over(tmp_path: Path, code: int, flags: int, text: str | None) -> None:
    log = make_log(tmp_path / "log.000001")
    data = log.read_bytes()
    header = Header(
        timestamp=WHEN, type_code=code, server_id=1, size=19 + 60, log_pos=len(data) + 79, flags=flags
    )
    log.write_bytes(data + header.encode() + bytes(60))
    found = dump(log, base64="decode-rows")
    if text is None:
        assert found.code == 1
        assert not found.text.endswith(b"MODE=0*/;\n")
        assert "# Unknown event\n" in dump(log, force_read=True).events
    else:
        assert found.events.endswith(f"{HEAD}{len(data) + 79} {text}")


def test_several_files(tmp_path: Path) -> None:
    """Each file begins anew: what the session was told is told again."""
    first = make_log(tmp_path / "log.000001", gtid(1), query("a", "d"))
    second = make_log(tmp_path / "log.000002", gtid(2), query("b", "d"))
    text = dump([first, second]).text.decode()
    assert text.count("\nDELIMITER ;\nDELIMITER /*!*/;\n# at 4\n") == 1
    assert text.count("use `d`") == text.count("gtid_domain_id=0") == 2


def test_server_ids(tmp_path: Path) -> None:
    mine, other = Header(server_id=77), Header(server_id=1)
    log = make_log(
        tmp_path / "log.000001",
        gtid(1, 1, header=other),
        gtid(2, 1, header=mine),
        control.Rotate(4, "x", header=other),
    )
    found = dump(log, server_id=77)
    assert "GTID 0-77-2" in found.events
    assert "GTID 0-1-1" not in found.events
    assert "Rotate to x" in found.events
    assert found.text.endswith(b"/*!100001 SET @@SESSION.GTID_DOMAIN_ID=@@GLOBAL.GTID_DOMAIN_ID */;\n")


@pytest.mark.parametrize("open_log", [True, False])
def test_the_end_of_a_cut_log(tmp_path: Path, open_log: bool) -> None:
    """In a log that was not closed it is the end; in one that was, an error without closing lines."""
    log = make_log(tmp_path / "log.000001", gtid(1), query("a"), flags=int(open_log))
    log.write_bytes(log.read_bytes()[:-3])
    found = dump(log)
    assert (found.code == 0) is open_log
    assert found.text.endswith(b"MODE=0*/;\n") is open_log
    refused = dump(log, force_if_open=False)
    assert refused.code == 1
    assert b"\tStart: binlog v 4" in refused.text
