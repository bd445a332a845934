"""``gtidal dump`` over the public logs, as the reference tools printed them (see the corpus's README).

Compared is standard output. A log on which the reference tool fails is printed further than the tool does; the
reasons are below."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.logs import CORPUS, CorpusLog, corpus_logs
from tests.text.dumps import dump

# Where what we print differs from the oracle, and why.
DIFFERENT = {
    "vlasky+zongji-fixtures__mysql-8.4.8-fullmeta.netcapture.binlog": (
        "a captured stream, not a file: the tool takes the first ROTATE's checksum for a part of the file's name"
    ),
}
# What the 9.7 tool refuses or cannot know, and something that must be in our text.
BEYOND = {
    "alibaba+AliSQL__master-bin.001": ("binlog version 1", "Rotate to"),
    "alibaba+AliSQL__trunc_binlog.000001": ("binlog version 3", "Query\tthread_id="),
    "alibaba+canal__mysql-bin.000001": ("version 1 rows", "Update_rows_v1: table id"),
    "alibaba+canal__mysql-bin.000002": ("version 1 rows", "### UPDATE `"),
    "osheroff+mysql-binlog-connector-java__mysql-bin.sakila": ("version 1 rows", "### INSERT INTO `sakila`"),
}

LOGS = [log for log in corpus_logs() if ".mysql97." in log.oracle]
ORACLE_OPTIONS = {
    "verbosity": 2,
    "base64": "decode-rows",
    "print_table_metadata": True,
    "verify_checksum": True,
}


def oracle(log: CorpusLog) -> tuple[bytes, int]:
    text = gzip.decompress((CORPUS / "oracle" / log.oracle).read_bytes())
    printed, _, rest = text.partition(b"\n=== STDERR ===")
    code = int(rest.rpartition(b"=== RC ")[2].split()[0])
    return printed, code


@pytest.mark.parametrize("log", LOGS, ids=str)
def test_oracle(log: CorpusLog, tmp_path: Path) -> None:
    expected, code = oracle(log)
    found = dump(log.path, load_folder=tmp_path, **ORACLE_OPTIONS)
    if log.name in DIFFERENT:
        assert found.text != expected, f"no difference any more; there was: {DIFFERENT[log.name]}"
        return
    assert found.text.rstrip(b"\n") == expected.rstrip(b"\n")
    assert (found.code == 0) == (code == 0), found.messages


@pytest.mark.parametrize("log", [log for log in corpus_logs() if log.name in BEYOND], ids=str)
def test_beyond_the_tool(log: CorpusLog) -> None:
    found = dump(log.path, verbosity=2)
    assert found.code == 0, found.messages
    assert BEYOND[log.name][1] in found.events


ODD_MODES = (
    {"verbosity": 1, "base64": "never"},
    {"hexdump": True, "offset": 3},
    {"short_form": True, "verbosity": 2},
    {"database": "x", "skip_gtids": True, "require_row_format": True},
)
SMALL = 100_000


@pytest.mark.parametrize("log", [log for log in corpus_logs() if log.path.stat().st_size < SMALL], ids=str)
def test_nothing_breaks(log: CorpusLog, tmp_path: Path) -> None:
    """Every log in every mode ends in a proper way: with text, or with one sentence."""
    for options in ODD_MODES:
        found = dump(log.path, load_folder=tmp_path, **options)
        assert found.code in (0, 1, 2)
        assert found.code == 0 or found.messages
