"""Options as scripts for mysqlbinlog write them."""

from __future__ import annotations

import pytest

from gtidal.cli.getopt import plain_forms
from gtidal.cli.main import main
from tests.logs import build_log

FLAGS = {
    "hexdump": True,
    "start-position": False,
    "start-datetime": False,
    "stop-position": False,
    "skip-gtids": True,
    "force-if-open": True,
    "skip-force-if-open": True,
    "base64-output": False,
    "disable-log-bin": True,
    "database": False,
}


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        ("--start-position=4 log", "--start-position=4 log"),
        ("--start_position=4 log", "--start-position=4 log"),
        ("--start-position 4 log", "--start-position 4 log"),
        ("--start_position 4 log", "--start-position 4 log"),
        ("--start-pos=4", "--start-pos=4"),
        ("--hexdump=1 --hexdump=on --hexdump=TRUE", "--hexdump --hexdump --hexdump"),
        ("--hexdump=0 --skip-hexdump --disable-hexdump", ""),
        ("--skip-gtids --skip-gtids=true", "--skip-gtids --skip-gtids"),
        ("--skip-gtids=false", ""),
        ("--disable-log-bin", "--disable-log-bin"),
        ("--skip-force-if-open", "--skip-force-if-open"),
        ("--force-if-open=0", "--skip-force-if-open"),
        ("--no-defaults --loose-nonsense=3 --loose-hexdump", "--hexdump"),
        ("--nonsense=3", "--nonsense=3"),
        ("--database --weird-name log", "--database --weird-name log"),
        ("-- --start-pos", "-- --start-pos"),
        ("-vv -j 4 -", "-vv -j 4 -"),
    ],
)
def test_forms(given: str, plain: str) -> None:
    assert plain_forms(given.split(), FLAGS) == plain.split()


def test_a_script_of_the_tool(tmp_path, capsysbinary) -> None:
    log = tmp_path / "binlog.000001"
    log.write_bytes(build_log([]))
    assert main(["dump", "--hexdump", "--base64-output=never", str(log)]) == 0
    expected = capsysbinary.readouterr().out
    assert b"# Position  Timestamp" in expected
    arguments = [
        "dump",
        "--no-defaults",
        "--hexdump=1",
        "--base64_output=NEVER",
        "--start_position=4",
        str(log),
    ]
    assert main(arguments) == 0
    assert capsysbinary.readouterr().out == expected
