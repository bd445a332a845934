"""``schema_from=``: which kind of source is meant, and what is said of a wrong one."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from gtidal.columns.definitions import TableDefinitions
from gtidal.errors import UsageError
from gtidal.sources.definitions import ServerDefinitions, read_definitions

SQL = "CREATE TABLE shop.t (ü ENUM('é') CHARACTER SET latin1)"


@pytest.mark.parametrize("as_text", [True, False])
def test_file(tmp_path: Path, as_text: bool) -> None:
    path = tmp_path / "schema.sql"
    path.write_bytes(b"\xef\xbb\xbf" + SQL.encode())  # with a byte order mark, as some editors write it
    definition = read_definitions(str(path) if as_text else path).get("shop", "t")
    assert definition is not None
    assert [(column.name, column.labels) for column in definition.columns] == [("ü", ("é",))]


def test_file_problems(tmp_path: Path) -> None:
    path = tmp_path / "schema.sql"
    with pytest.raises(UsageError, match=r"schema\.sql: No such file"):
        read_definitions(path)
    path.write_text("\nCREATE TABLE t (a FROB)")
    with pytest.raises(UsageError, match=r"schema\.sql: line 2: column a"):
        read_definitions(path)


def test_text_and_mapping() -> None:
    for given in (SQL, {"shop.t": SQL}, {"t": ["ü"]}):
        definitions = read_definitions(given)
        assert isinstance(definitions, TableDefinitions)
        found = definitions.get("shop", "t")
        assert found is not None
        assert found.columns[0].name == "ü"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("mysql://root:secret@host/", "a password in an address .* MYSQL_PWD"),
        ("mysql://root@host:x/", "the port of the host host"),
        ("mysql://root@host/shop", "schema_from: file='shop' means nothing"),
        ("mysql://root@host/?start=now", "schema_from: start='now' means nothing"),
        ("mysql://root@host/?sslmode=off", "no option 'sslmode'"),
        ("", "not ''"),
        (5, "not 5"),
    ],
)
def test_wrong(given: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        read_definitions(given)
    assert "secret" not in str(caught.value)


def test_server_is_pickled_without_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MYSQL_PWD", "hidden-word")
    definitions = read_definitions("MySQL://some%40one@db1:3307/")
    assert isinstance(definitions, ServerDefinitions)
    assert definitions.title == "db1:3307"
    data = pickle.dumps(definitions)
    assert b"hidden-word" not in data
    assert pickle.loads(data).title == "db1:3307"
