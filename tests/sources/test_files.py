"""Which files a path means, in which order, and how a mistake is told."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from gtidal.errors import KeyProblem, UsageError
from gtidal.events.transaction import Xid
from gtidal.log.facts import LogName
from gtidal.sources.files import LogFile, find_logs, open_log
from gtidal.sources.keyring import KeyStore
from tests.logs import build_log
from tests.samples import payload, with_type

LOG = build_log([with_type(Xid(1)), with_type(payload())])


def names(files: list[LogFile]) -> list[str]:
    return [file.name for file in files]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("binlog.1000000", "binlog.000002", "binlog.999999", "binlog.000010", "relay-bin.000001"):
        (tmp_path / name).write_bytes(LOG)
    (tmp_path / "auto.cnf").write_text("[auto]\n")
    return tmp_path


def test_a_directory_in_numeric_order(folder: Path) -> None:
    assert names(find_logs(folder)) == [
        "binlog.000002",
        "binlog.000010",
        "binlog.999999",
        "binlog.1000000",
        "relay-bin.000001",
    ]


def test_a_glob(folder: Path) -> None:
    (folder / "binlog.index").write_text("binlog.000002\n")
    assert names(find_logs(str(folder / "binlog.*")))[-1] == "binlog.1000000"


def test_an_index_tells_the_order(folder: Path) -> None:
    """Also where it names a folder that is not there any more: the files beside it are meant."""
    index = folder / "binlog.index"
    index.write_text("./binlog.000010\n/var/lib/mysql/binlog.000002\n\n")
    assert names(find_logs(index)) == ["binlog.000010", "binlog.000002"]


def test_several_paths_without_repetition(folder: Path) -> None:
    first = folder / "binlog.000010"
    assert names(find_logs([first, folder]))[0] == "binlog.000010"
    assert len(find_logs([first, folder])) == 5


def test_mistakes(folder: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    index = folder / "bad.index"
    index.write_text("binlog.777777\n")
    for path, words in [
        (folder / "nothing", "no such file or directory"),
        (empty, "holds no binary logs"),
        (str(folder / "mariadb.*"), "no file matches"),
        (index, "names binlog.777777, which is neither there nor beside"),
    ]:
        with pytest.raises(UsageError, match=words):
            find_logs(path)
    with pytest.raises(UsageError, match="no path was given"):
        find_logs([])
    with pytest.raises(UsageError, match="is a directory: name one file"):
        open_log(folder)
    with pytest.raises(UsageError, match="cannot open"):
        open_log(folder / "nothing")


def test_numbers_in_names() -> None:
    assert LogName.parse("binlog.000024")[1:] == ("binlog", 24)
    assert LogName.parse("my.host-bin.1000000")[1:] == ("my.host-bin", 1000000)
    assert LogName.parse("dump")[1:] == ("dump", None)


def test_inner_events_follow_their_payload(folder: Path) -> None:
    with open_log(folder / "binlog.000002") as log:
        assert [event.name for event in log] == [
            "FORMAT_DESCRIPTION",
            "XID",
            "TRANSACTION_PAYLOAD",
            "QUERY",
            "TABLE_MAP",
            "WRITE_ROWS",
            "XID",
        ]
    with open_log(io.BytesIO(LOG), inner=False) as log:
        assert len(list(log)) == 3


class TestKeys:
    def test_mysql_keyring(self, tmp_path: Path) -> None:
        path = tmp_path / "keyring"
        path.write_text(
            '{"version":"1.0","elements":[{"user":"","data_id":"K_1","data_type":"AES","data":"'
            + "0a" * 32
            + '"}]}'
        )
        assert KeyStore(key_file=path).mysql("K_1") == b"\n" * 32
        with pytest.raises(KeyProblem, match="does not hold the log's key K_2"):
            KeyStore(key_file=path).mysql("K_2")
        with pytest.raises(KeyProblem, match="does not hold key 1"):
            KeyStore(key_file=path).mariadb(1)

    def test_mariadb_key_file(self, tmp_path: Path) -> None:
        path = tmp_path / "keys"
        path.write_text("# keys\n1;" + "0b" * 16 + "\n2;" + "0c" * 32 + "\n")
        assert KeyStore(key_file=path).mariadb(1) == b"\x0b" * 16

    def test_given_in_hex(self) -> None:
        assert KeyStore(key="0d" * 32).mysql("any") == b"\r" * 32
        with pytest.raises(UsageError, match="hex digits"):
            KeyStore(key="no hex")

    def test_no_key_at_all(self) -> None:
        with pytest.raises(
            KeyProblem,
            match=r"give the server's keyring file .key_file in Python, keyFile in Spark, --key-file",
        ):
            KeyStore().mysql("K_1")
        with pytest.raises(KeyProblem, match=r"give the server's key file .key_file in Python"):
            KeyStore().mariadb(1)

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (b"{}", "not a keyring file"),
            (b"{not json", "not a keyring file"),
            (b"\xff\xfe", "neither a MySQL keyring file"),
            (b"", "holds no keys"),
            (b"Salted__12345678", "itself encrypted"),
        ],
    )
    def test_other_files(self, tmp_path: Path, content: bytes, words: str) -> None:
        path = tmp_path / "file"
        path.write_bytes(content)
        with pytest.raises((UsageError, KeyProblem), match=words):
            KeyStore(key_file=path)

    def test_no_such_file(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="cannot read the key file"):
            KeyStore(key_file=tmp_path / "none")
