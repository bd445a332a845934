"""Logs of MySQL 3.23 to 4.1 as the tools up to 5.7 printed them: START, and LOAD DATA in its old forms."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from gtidal.events import Event, Format, Header, encode_event, load, statement
from gtidal.events.format import MAGIC, StartV3
from tests.text.dumps import dump

WHEN = 1_065_204_671
LOAD = {
    "thread_id": 3,
    "exec_time": 1,
    "skip_lines": 2,
    "opt_flags": 4,
    "fields": ("a", "b"),
    "table": "t",
    "schema": "test",
    "file": "/data/words.dat",
}
NEW_SEPARATORS = {
    "field_terminator": b"\t",
    "enclosed_by": b"",
    "line_terminator": b"\r\n",
    "line_start": b"",
    "escaped_by": b"\\",
}
OLD_SEPARATORS = {**NEW_SEPARATORS, "enclosed_by": b"'", "line_terminator": b"\n", "line_start": b"-"}


def make_log(path: Path, version: int, *events: Event) -> Path:
    """In version 3 a header tells where its event begins; in version 1 it tells nothing."""
    long = version > 1
    format = Format(version, header_length=19 if long else 13)
    start = StartV3(binlog_version=version, server_version="4.0.16-log", created=WHEN)
    data = MAGIC
    for event in (start, *events):
        header = Header(
            timestamp=WHEN, type_code=event.code, server_id=1, long=long, log_pos=len(data) * long
        )
        data += encode_event(replace(event, header=header), format)
    path.write_bytes(data)
    return path


def create(**more: Any) -> load.CreateFile:
    return load.CreateFile(**{**LOAD, **NEW_SEPARATORS, "file_id": 10, "block": b"one\n", **more})


STATEMENT = (
    "INTO TABLE `t` FIELDS TERMINATED BY '\\t' ENCLOSED BY '' ESCAPED BY '\\\\' "
    "LINES TERMINATED BY '\\r\\n' STARTING BY '' IGNORE 2 LINES (`a`,`b`)/*!*/;\n"
)


def test_load_in_pieces(tmp_path: Path) -> None:
    """The statement as it was is a comment; the one to run reads the file that the pieces make."""
    log = make_log(tmp_path / "log.001", 3, create(), load.AppendBlock(10, b"two\n"), load.ExecLoad(10))
    found = dump(log, load_folder=tmp_path)
    assert found.code == 0, found.messages
    path = tmp_path / "words.dat-a-0"
    assert path.read_bytes() == b"one\ntwo\n"
    text = found.events.partition("ROLLBACK/*!*/;\n")[2].partition("SET @@SESSION.GTID_NEXT")[0]
    lines = [line for line in text.splitlines(keepends=True) if not line.startswith("# at ")]
    head = "#031003 18:11:11 server id 1  end_log_pos "
    query = "\tQuery\tthread_id=3\texec_time=1\n"
    assert [line for line in lines if not line.startswith(head)] == [
        "# use `test`/*!*/;\n",
        f"# LOAD DATA INFILE '/data/words.dat' REPLACE {STATEMENT}",
        "# file_id: 10  block_len: 4\n",
        "#Append_block: file_id: 10  block_len: 4\n",
        "#Exec_load: file_id=10\n",
        "use `test`/*!*/;\n",
        f"LOAD DATA LOCAL INFILE '{path}' REPLACE {STATEMENT}",
        "# file_id: 10  block_len: 4\n",
    ]
    heads = [line for line in lines if line.startswith(head)]
    assert [line.endswith(query) for line in heads] == [True, False, False, True]
    assert heads[0] == heads[3]  # the head of the event that began the load


def test_short_form(tmp_path: Path) -> None:
    log = make_log(tmp_path / "log.001", 3, create(), load.ExecLoad(10))
    text = dump(log, load_folder=tmp_path, short_form=True).events.partition("ROLLBACK/*!*/;\n")[2]
    path = tmp_path / "words.dat-a-0"
    assert text.startswith(f"use `test`/*!*/;\nLOAD DATA LOCAL INFILE '{path}' REPLACE {STATEMENT}")


def test_other_schemas_are_left_out(tmp_path: Path) -> None:
    log = make_log(
        tmp_path / "log.001", 3, create(), load.ExecLoad(10), load.NewLoad(**LOAD, **NEW_SEPARATORS)
    )
    assert "LOAD DATA" not in dump(log, load_folder=tmp_path, database="other").events
    assert dump(log, load_folder=tmp_path, database="test").events.count("LOAD DATA") == 3


def test_load_without_its_file(tmp_path: Path) -> None:
    """Flags say which of the oldest form's separators, a byte each, are empty."""
    event = load.Load(**LOAD, **OLD_SEPARATORS, empty_flags=2 | 8)
    text = dump(make_log(tmp_path / "log.001", 1, event)).events
    assert (
        "use `test`/*!*/;\nLOAD DATA INFILE '/data/words.dat' REPLACE INTO TABLE `t` FIELDS TERMINATED BY '\\t' "
        "ENCLOSED BY '' ESCAPED BY '\\\\' LINES TERMINATED BY '\\n' STARTING BY '' IGNORE 2 LINES" in text
    )


def query() -> statement.Query:
    return statement.Query(thread_id=3, exec_time=0, error_code=0, schema="test", status=(), query=b"BEGIN")


def test_positions(tmp_path: Path) -> None:
    """As the tools did, a position that tells an event's beginning is printed as its end."""
    text = dump(make_log(tmp_path / "log.001", 3, query())).events
    assert (
        "server id 1  end_log_pos 79 \tStart: binlog v 3, server v 4.0.16-log created 031003 18:11:11" in text
    )
    assert "# at 79\n#031003 18:11:11 server id 1  end_log_pos 119 \tQuery\tthread_id=3" in text
    assert "server id 1  end_log_pos 0 \tQuery" in dump(make_log(tmp_path / "log.001", 1, query())).events


def test_hexdump_of_version_1(tmp_path: Path) -> None:
    """Its header of 13 bytes has no line of its own; no byte is left out."""
    log = make_log(tmp_path / "log.001", 1, query())
    data = log.read_bytes()[73:]
    block = dump(log, hexdump=True).events.rpartition("# at 73\n")[2].split("\n# \t")[0]
    shown = "".join(line[11:59] for line in block.splitlines()[1:])
    assert bytes.fromhex(shown) == data
