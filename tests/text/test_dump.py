"""``gtidal dump`` on small logs of our own making. That every mode prints what the real tools print is shown by
``test_dump_corpus`` and ``tests/live/test_dump``; here are the texts of the seeds, what the tool does not know, and
what happens when something is wrong."""

from __future__ import annotations

import struct
import time
from base64 import b64decode
from dataclasses import replace
from pathlib import Path

import pytest

from gtidal.errors import UsageError
from gtidal.events import Event, Header, encode_event
from gtidal.events.format import CRC32, MAGIC, NO_CHECKSUM, Format, StartV3
from gtidal.events.load import CreateFile, ExecLoad
from gtidal.events.statement import Flags2, Query, RowsQuery, SessionCharset, SqlMode, UserVar
from gtidal.events.table_map import TableMap
from gtidal.gtid.mysql import GtidSet
from gtidal.text.hexdump import base64_lines
from gtidal.text.times import parse_datetime
from tests.events.test_seeds import ROTATE
from tests.log.making import START, UUID, header, query, rotate, stop, transaction
from tests.logs import build_log
from tests.text.dumps import dump

# seeds/004: mysqlbinlog --hexdump of a server in China. In the document, tabs and trailing spaces were lost.
SEED_004 = """\
# at 4
#231121 14:07:54 server id 593308  end_log_pos 126 CRC32 0xcde035a1 \n\
# Position  Timestamp   Type   Source ID        Size      Source Pos    Flags \n\
# 00000004 3a 49 5c 65   0f   9c 0d 09 00   7a 00 00 00   7e 00 00 00   01 00
# 00000017 04 00 38 2e 30 2e 33 34  00 00 00 00 00 00 00 00 |..8.0.34........|
# 00000027 00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00 |................|
# 00000037 00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00 |................|
# 00000047 00 00 00 00 00 00 00 00  13 00 0d 00 08 00 00 00 |................|
# 00000057 00 04 00 04 00 00 00 62  00 04 1a 08 00 00 00 08 |.......b........|
# 00000067 08 08 02 00 00 00 0a 0a  0a 2a 2a 00 12 34 00 0a |.............4..|
# 00000077 28 00 01 a1 35 e0 cd                             |....5..|
# \tStart: binlog v 4, server v 8.0.34 created 231121 14:07:54
# Warning: this binlog is either in use or was not closed properly.
BINLOG '
OklcZQ+cDQkAegAAAH4AAAABAAQAOC4wLjM0AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAEwANAAgAAAAABAAEAAAAYgAEGggAAAAICAgCAAAACgoKKioAEjQA
CigAAaE14M0=
'/*!*/;
"""
# seeds/000: mysqlbinlog --no-defaults binlog.000024 | tail -5
SEED_000 = """\
# at 1428
#250527  1:07:05 server id 1  end_log_pos 1472 CRC32 0x10717ede \tRotate to binlog.000025  pos: 4
"""
AUTOMATIC = "SET @@SESSION.GTID_NEXT= 'AUTOMATIC' /* added by mysqlbinlog */ /*!*/;\n"


@pytest.fixture
def made(tmp_path: Path) -> Path:
    return tmp_path / "binlog.000001"


def write(path: Path, *events: Event, checksum: int = CRC32) -> Path:
    path.write_bytes(build_log(list(events), checksum))
    return path


class TestSeeds:
    def test_hexdump(self, made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TZ", "CST-8")
        time.tzset()
        made.write_bytes(MAGIC + b64decode(SEED_004.partition("BINLOG '")[2].partition("'")[0]))
        assert dump(made, hexdump=True).events == SEED_004 + AUTOMATIC

    def test_rotate(self, made: Path) -> None:
        """At the position it had: the bytes between are one large event."""
        start = build_log([])
        filler = Query(7, 0, 0, "", (), query=b"", header=header(2))
        room = 1428 - len(start) - len(encode_event(filler, Format(checksum=CRC32)))
        made.write_bytes(build_log([replace(filler, query=b"-" * room)]) + ROTATE)
        assert dump(made).events.endswith(SEED_000 + AUTOMATIC)


class TestTransactions:
    def test_incomplete(self, made: Path) -> None:
        """A log that ends inside a transaction is ended with a rollback."""
        whole = transaction(1)
        assert dump(write(made, *whole)).events.endswith(f"COMMIT/*!*/;\n{AUTOMATIC}")
        rollback = "ROLLBACK /* added by mysqlbinlog */ /*!*/;\n"
        assert dump(write(made, *whole[:3])).events.endswith(rollback + AUTOMATIC)
        begin = "BEGIN /*added by mysqlbinlog */ /*!*/;\n"
        assert dump(write(made, *whole[:1])).events.endswith(begin + rollback + AUTOMATIC)

    def test_gtid_filters(self, made: Path) -> None:
        write(made, *transaction(1), *transaction(2), *transaction(3))
        one = GtidSet(f"{UUID}:2")
        included = dump(made, include_gtids=one).events
        assert [n for n in (1, 2, 3) if f"VALUES ({n})" in included] == [2]
        excluded = dump(made, exclude_gtids=one).events
        assert [n for n in (1, 2, 3) if f"VALUES ({n})" in excluded] == [1, 3]
        assert "GTID_NEXT= '" not in dump(made, skip_gtids=True).events

    def test_positions_of_events_that_are_left_out(self, made: Path) -> None:
        """Their ``# at`` lines are printed with the next event, as the tool does."""
        write(made, *transaction(1), stop())
        text = dump(made, exclude_gtids=GtidSet(f"{UUID}:1")).events
        assert text.count("# at ") == 6
        assert text.count("end_log_pos") == 2


class TestTables:
    TABLE = TableMap(9, 1, "shop", "orders", b"\x03", b"", b"\x00", header=header(19))
    OTHER = replace(TABLE, table_id=10, table="other")

    def rows(self, table_id: int, flags: int) -> bytes:
        return struct.pack("<IHHH", table_id, 0, flags, 2) + b"\x01\xff\x00" + struct.pack("<i", table_id)

    def log(self) -> bytes:
        data = build_log([*transaction(1)[:2], self.TABLE, self.OTHER], NO_CHECKSUM)
        for table_id, flags in ((9, 0), (10, 1)):
            body = self.rows(table_id, flags)
            data += (
                replace(header(30), size=19 + len(body), log_pos=len(data) + 19 + len(body)).encode() + body
            )
        return data

    def test_only_one_table(self, made: Path) -> None:
        made.write_bytes(self.log())
        whole = dump(made, verbosity=1).events
        assert "`shop`.`orders`\n### SET\n###   @1=9\n" in whole
        assert "`shop`.`other`\n### SET\n###   @1=10\n" in whole
        one = dump(made, verbosity=1, tables=frozenset({("shop", "orders")})).events
        assert "###   @1=9\n" in one
        assert "other" not in one
        assert "'/*!*/;\n### INSERT" in one

    def test_rows_without_their_table(self, made: Path) -> None:
        made.write_bytes(self.log())
        text = dump(made, verbosity=1, offset=5).events
        assert "### Row event for unknown table #9" in text

    def test_never(self, made: Path) -> None:
        made.write_bytes(self.log())
        found = dump(made, base64="never")
        assert found.code == 1
        assert found.events.endswith("ROLLBACK /* added by mysqlbinlog */ /*!*/;\n" + AUTOMATIC)
        assert "--base64-output=never" in found.messages[0]

    def test_damaged_rows(self, made: Path) -> None:
        """Printed as far as they go, and the log's rest; but the exit code tells."""
        data = self.log()
        size = len(self.rows(10, 1)) + 19 - 3
        start = len(data) - len(self.rows(10, 1)) - 19
        broken = data[: start + 9] + size.to_bytes(4, "little") + data[start + 13 : start + size]
        made.write_bytes(broken + replace(stop().header, size=19).encode())
        found = dump(made, verbosity=1)
        assert found.code == 1
        assert "\tStop\n" in found.events
        assert "###   @1=***Corrupted replication event was detected: field data is truncated" in found.events


class TestStatements:
    def test_settings_are_printed_when_they_change(self, made: Path) -> None:
        settings = (Flags2(0, 0), SqlMode(1, 4), SessionCharset(4, 8, 8, 8))
        first = replace(query("SELECT 1"), status=settings)
        changed = replace(query("SELECT 2"), status=(*settings[:1], SqlMode(1, 0x10000004), settings[2]))
        text = dump(write(made, first, first, changed)).events
        assert text.count("use `shop`") == text.count("foreign_key_checks=1") == text.count("\\C latin1") == 1
        assert text.count("SET @@session.sql_mode=4/*!*/;") == 1
        assert text.count("SET @@session.sql_mode=268435460/*!80005 &~0x1003ff00*//*!*/;") == 1

    @pytest.mark.parametrize(
        ("variable", "expected"),
        [
            (UserVar(b"a`b", 1), "@`a``b`:=NULL"),
            (UserVar(b"x", 0, 0, 8, b"\xe9"), "@`x`:=_latin1 0xE9 COLLATE `latin1_swedish_ci`"),
            (UserVar(b"x", 0, 0, 255, b""), '@`x`:=_utf8mb4 "" COLLATE `utf8mb4_0900_ai_ci`'),
            (UserVar(b"x", 0, 0, 1025, b"a"), "@`x`:=???"),
            (UserVar(b"x", 0, 1, 8, struct.pack("<d", 1.5e300), 0), "@`x`:=1.5e+300"),
            (UserVar(b"x", 0, 2, 8, struct.pack("<q", -5), 0), "@`x`:=-5"),
            (UserVar(b"x", 0, 2, 8, b"\xff" * 8, 1), "@`x`:=18446744073709551615"),
            (UserVar(b"x", 0, 4, 8, bytes.fromhex("0704807b1194"), 0), "@`x`:=123.4500"),
        ],
    )
    def test_user_variables(self, made: Path, variable: UserVar, expected: str) -> None:
        text = dump(write(made, replace(variable, header=header(14)), query("SELECT @x"))).events
        assert f"SET {expected}/*!*/;\n" in text

    def test_variables_without_their_statement(self, made: Path) -> None:
        found = dump(write(made, UserVar(b"x", 1, header=header(14))))
        assert "@`x`" not in found.events
        assert found.messages

    def test_rows_query(self, made: Path) -> None:
        text = b"INSERT\n\n\tINTO t\r"
        event = RowsQuery(len(text), text, header=header(29, flags=0x80))
        assert "\tRows_query\n# INSERT\n# \n# \\tINTO t\\r\n" in dump(write(made, event), verbosity=2).events
        assert "INTO" not in dump(made, verbosity=1).events

    def test_any_bytes(self, made: Path) -> None:
        text = bytes(range(256))
        assert text in dump(write(made, query(text))).text

    def test_require_row_format(self, made: Path) -> None:
        write(made, *transaction(1))
        found = dump(made, require_row_format=True)
        assert found.code == 1
        assert "VALUES (1)" not in found.events
        assert "--require-row-format" in found.messages[0]

    def test_rewrite(self, made: Path) -> None:
        text = dump(
            write(made, query("SELECT 1")), rewrite_db={"shop": "a longer name"}, verify_checksum=True
        )
        assert text.code == 0
        assert "use `a longer name`/*!*/;" in text.events


class TestOldLogs:
    """Before MySQL 5.0: refused by the tool of today."""

    def log(self, *events: Event) -> bytes:
        first = StartV3(3, "4.1.22-log", START, header=header(1))
        data = MAGIC
        for event in (first, *events):
            data += encode_event(replace(event, header=replace(event.header, log_pos=len(data))), Format(3))
        return data

    def test_load_data(self, made: Path, tmp_path: Path) -> None:
        load = CreateFile(
            *(7, 0, 2, b",", b'"', b"\n", b"", b"\\", 2 | 4, ("a", "b"), "t", "shop", "/tmp/data.csv"),
            file_id=3,
            block=b"1,2\n",
            header=header(8),
        )
        made.write_bytes(self.log(load, ExecLoad(3, header=header(10))))
        found = dump(made, load_folder=tmp_path)
        assert found.code == 0, found.messages
        path = tmp_path / "data.csv-3-0"
        assert path.read_bytes() == b"1,2\n"
        assert (
            f"LOAD DATA LOCAL INFILE '{path}' REPLACE INTO TABLE `t` FIELDS TERMINATED BY ',' OPTIONALLY  "
            "ENCLOSED BY '\"' ESCAPED BY '\\\\' LINES TERMINATED BY '\\n' STARTING BY '' IGNORE 2 LINES (`a`,`b`)/*!*/;\n"
        ) in found.events

    def test_positions(self, made: Path) -> None:
        """Their headers say where the event begins."""
        made.write_bytes(self.log(rotate("binlog.000002")))
        text = dump(made).events
        assert "end_log_pos 79 \tStart: binlog v 3, server v 4.1.22-log" in text
        assert "BINLOG" not in text
        assert f"end_log_pos {len(made.read_bytes())} \tRotate" in text


class TestTrouble:
    def test_cut(self, made: Path) -> None:
        """Damage in a log that was closed; but what a log that is being written ends with."""
        data = build_log(transaction(1))[:-9]
        made.write_bytes(data)
        found = dump(made)
        assert found.code == 1
        assert found.events.endswith(f"ROLLBACK /* added by mysqlbinlog */ /*!*/;\n{AUTOMATIC}")
        made.write_bytes(data[:21] + b"\x01" + data[22:])
        assert dump(made).code == 0
        refused = dump(made, force_if_open=False)
        assert refused.code == 1
        assert "--force-if-open" in refused.messages[0]

    def test_checksum(self, made: Path) -> None:
        data = bytearray(build_log(transaction(1)))
        data[-12] ^= 1
        made.write_bytes(data)
        assert dump(made).code == 0
        found = dump(made, verify_checksum=True)
        assert found.code == 1
        assert "COMMIT/*!*/" not in found.events

    def test_unknown_event(self, made: Path) -> None:
        start = build_log([], NO_CHECKSUM)
        event = Header(START, 40, 1, 22, 0, 0)
        for type_code, flags, code in ((30, 0, 1), (28, 0x80, 0), (28, 0, 1), (99, 0x80, 1)):
            made.write_bytes(start + replace(event, type_code=type_code, flags=flags).encode() + b"abc")
            found = dump(made)
            assert found.code == code
            assert ("# Unrecognized ignorable event\n" in found.events) == (code == 0)

    def test_several_files(self, tmp_path: Path) -> None:
        one = write(tmp_path / "one", *transaction(1), stop())
        two = write(tmp_path / "two", *transaction(2), stop())
        text = dump([one, two, one]).events
        assert text.count(AUTOMATIC) == 3
        assert text.count("VALUES (1)") == 2
        assert text.count("use `shop`") == 1  # the session goes on from file to file

    def test_start_position(self, made: Path) -> None:
        """The format description is printed too, at the place of the last event that was read."""
        write(made, *transaction(1), stop())
        position = len(made.read_bytes()) - 23
        text = dump(made, start_position=position).events
        assert text.startswith("# at 128\n")
        assert text.count("# at ") == 2
        assert f"# at {position}\n" in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-08-01 12:00:00", 1785585600),
        ("2026-8-1 12:0:0", 1785585600),
        ("26-08-01 12:00:00", 1785585600),
        ("2026/08/01 12.00.00", 1785585600),
        ("2026-08-01T12:00", 1785585600),
        ("20260801120000", 1785585600),
        ("260801120000", 1785585600),
        ("20260801T120000", 1785585600),
        ("2026-08-01 12:00:00.999", 1785585600),
        ("2026-04-31 00:00:00", 1777593600),
        ("70-01-02 00:00:00", 86400),
    ],
)
def test_times(text: str, expected: int) -> None:
    assert parse_datetime(text) == expected


@pytest.mark.parametrize(
    "text", ["", "yesterday", "2026-08-01", "202608011200", "2026-13-01 00:00:00", "2026-08-01 25:00:00"]
)
def test_no_times(text: str) -> None:
    with pytest.raises(UsageError, match="2026-08-01 12:00:00"):
        parse_datetime(text)


@pytest.mark.parametrize("size", [1, 3, 56, 57, 58, 114, 115])
def test_base64_lines(size: int) -> None:
    lines = base64_lines(bytes(size)).split("\n")
    assert lines.pop() == ""
    assert all(len(line) == 76 for line in lines[:-1])
    assert 0 < len(lines[-1]) <= 76
