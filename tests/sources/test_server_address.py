"""Addresses of servers: what they mean, that they come back the same, and what is said of wrong ones."""

from __future__ import annotations

import pickle
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gtidal.errors import UsageError
from gtidal.sources.server.address import TLS, Host, ServerAddress, is_server
from gtidal.sources.server.option_file import read_option_file


def test_all_parts() -> None:
    address = ServerAddress.parse(
        "MySQL://some%40one@db1,db2:3307,[::1]:3308/binlog.000007?start=2026-11-15T10:00:00+01:00&stop=binlog.000008:4"
        "&follow=true&tls=VERIFY&ca=ca.pem&cert=c.pem&key=k.pem&password-file=~/p&option_file=/my%20files/my.cnf"
        "&server-id=77&heartbeat=0.5&connect_timeout=3&semi-sync=True"
    )
    assert address == ServerAddress(
        kind="mysql",
        hosts=(Host("db1"), Host("db2", 3307), Host("::1", 3308)),
        user="some@one",
        file="binlog.000007",
        start="2026-11-15T10:00:00+01:00",
        stop="binlog.000008:4",
        follow=True,
        tls="verify",
        ca="ca.pem",
        cert="c.pem",
        key="k.pem",
        password_file="~/p",
        option_file="/my files/my.cnf",
        server_id=77,
        heartbeat=0.5,
        connect_timeout=3.0,
        semi_sync=True,
    )
    assert address.title == "db1:3306, db2:3307, [::1]:3308"


@pytest.mark.parametrize(
    "url", ["mariadb://db1", "mariadb://db1/", "MARIADB://db1:3306/?", "mariadb://@db1/"]
)
def test_little(url: str) -> None:
    address = ServerAddress.parse(url)
    assert address == ServerAddress("mariadb", (Host("db1", 3306),))
    assert address.url() == "mariadb://db1:3306/"


def test_socket() -> None:
    address = ServerAddress.parse("mysql://root@/?socket=/run/mysqld.sock")
    assert address == ServerAddress.parse("mysql://root@localhost:3306/?socket=/run/mysqld.sock")
    assert address.title == "/run/mysqld.sock"


@pytest.mark.parametrize(
    ("options", "tls"),
    [
        ("", "preferred"),
        ("ca=x", "verify-ca"),
        ("ssl_ca=x", "verify-ca"),
        ("ssl-cert=x&ssl-key=y", "required"),
        ("ca=x&cert=y", "verify-ca"),
        ("ca=x&tls=verify", "verify"),
        ("tls=verify", "verify"),
        ("tls=off", "off"),
    ],
)
def test_what_files_say_about_tls(options: str, tls: str) -> None:
    address = ServerAddress.parse(f"mysql://db1/?{options}")
    assert address.tls == tls
    assert ServerAddress.parse(address.url()) == address


PASSWORD = r"password in an address is seen .*password-file=.*MYSQL_PWD.*option-file="


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("postgres://db1/", "begins with mysql:// or mariadb://"),
        ("mysql://", "names no host"),
        ("mysql://root@/binlog.000001", "names no host"),
        ("mysql://db1,/", "has no name"),
        ("mysql://db1,:3306/", "has no name"),
        ("mysql://::1/", r"has no name.*\[::1\]:port"),
        ("mysql://fe80::1/", "port of the host fe80 is not"),
        ("mysql://[db1]/", r"\[db1\] is no IPv6 address"),
        ("mysql://[1::2::3]/", r"\[1::2::3\] is no IPv6 address"),
        ("mysql://[::1/", "not well-formed"),
        ("mysql://d b/", "'d b' is neither"),
        ("mysql://db1:0/", "port 0 of the host db1 is not between 1 and 65535"),
        ("mysql://db1:65536/", "port 65536"),
        ("mysql://db1:/", "port of the host db1 is not a number"),
        ("mysql://db1/a/b", "'a/b' in the address is not one name"),
        ("mysql://db1/%ff", "the file in the address is not UTF-8.*'%ff'"),
        ("mysql://%ff@db1/", "the user in the address is not UTF-8"),
        ("mysql://db1/?folow=true", "no option 'folow'; did you mean follow?"),
        ("mysql://db1/?passwordfile=x", "no option 'passwordfile'; did you mean password-file?"),
        ("mysql://db1/?zzz=1", "no option 'zzz'; there are start, stop, follow, tls,"),
        ("mysql://db1/?tls=off&tls=off", "tls stands twice"),
        ("mysql://db1/?ssl_ca=a&ca=b", "ca stands twice"),
        ("mysql://db1/?follow=1", "follow='1': it is true or false"),
        ("mysql://db1/?follow", "follow='': it is true or false"),
        ("mysql://db1/?ca=", "ca='': it is empty"),
        ("mysql://db1/?tls=on", "tls='on': it is preferred, required, verify-ca, verify or off"),
        ("mysql://db1/?key=k", "name that too, with cert="),
        ("mysql://db1/?ca=c&tls=required", "which tls=required does not: say tls=verify"),
        ("mysql://db1/?ca=c&tls=off", "which tls=off does not"),
        ("mysql://db1/?cert=c&tls=off", "which tls=off forbids"),
        ("mysql://db1,db2/?socket=/s", "socket='/s' is of one server, and the address names 2 hosts"),
        ("mysql://db1/?server_id=0", "server-id=0: it is a number from 1 to 4294967295"),
        ("mysql://db1/?server_id=4294967296", "server-id=4294967296"),
        ("mysql://db1/?server_id=x", "server-id='x': it is a number from 1"),
        ("mysql://db1/?heartbeat=0", "heartbeat=0.0: it is seconds, from 0.001"),
        ("mysql://db1/?heartbeat=nan", "heartbeat='nan': it is a number of seconds"),
        ("mysql://db1/?connect-timeout=9999999", "connect-timeout=9999999.0: it is seconds"),
        ("mysql://root:secret@db1/", PASSWORD),
        ("mysql://root:@db1/", PASSWORD),
        ("mysql://root:se@cret@db1/", PASSWORD),
        ("mysql://root:se/cret@db1/", PASSWORD),
        ("mysql://root:12/secret@db1/", PASSWORD),
        ("mysql://root:se?cret@db1/", PASSWORD),
        ("mysql://root:secret", "port of the host root is not a number"),
        ("mysql://db1/?password=secret", PASSWORD),
        ("mysql://db1/?Pass%77ord=secret", PASSWORD),
        ("mysql://db1/?pwd=secret", PASSWORD),
    ],
)
def test_wrong(url: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        ServerAddress.parse(url)
    assert "secret" not in str(caught.value)
    assert "cret" not in str(caught.value)


def test_wrong_without_text() -> None:
    """What an address holds is checked however it was made."""
    for given_fields, message in (
        ({"kind": "oracle"}, "mysql or mariadb, not 'oracle'"),
        ({"hosts": ()}, "names no host"),
        ({"tls": "on"}, "tls='on'"),
        ({"heartbeat": float("nan")}, "heartbeat=nan"),
    ):
        fields: dict[str, Any] = {"kind": "mysql", "hosts": (Host("db1"),), **given_fields}
        with pytest.raises(UsageError, match=message):
            ServerAddress(**fields)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("mysql://db1/", True),
        ("MariaDB://db1", True),
        ("mysql", False),
        ("s3://mysql://", False),
        (Path("mysql:/db1"), False),
        (b"mysql://db1/", False),
        (None, False),
    ],
)
def test_is_server(path: object, expected: bool) -> None:
    assert is_server(path) is expected


def test_options_are_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "servers.md").read_text("utf-8")

    def rows(section: str) -> set[str]:
        return set(re.findall(r"`([a-z-]+)`", "".join(re.findall(r"^\|([^|]*)", section, re.MULTILINE))))

    in_the_path = {"kind", "hosts", "user", "file"}
    options = {field.name for field in fields(ServerAddress)} - in_the_path
    assert rows(page.partition("\n## ")[0]) == {name.replace("_", "-") for name in options}
    assert rows(page.partition("\n## TLS\n")[2].partition("\n## ")[0]) == {"tls", *TLS}


text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
hosts = st.builds(
    Host,
    st.one_of(st.from_regex(r"[a-z0-9_.-]{1,20}", fullmatch=True), st.ip_addresses().map(str)),
    st.integers(1, 65535),
)
seconds = st.floats(0.001, 4294967)


@given(
    st.builds(
        ServerAddress,
        kind=st.sampled_from(["mysql", "mariadb"]),
        hosts=st.tuples(hosts) | st.lists(hosts, min_size=1, max_size=3).map(tuple),
        user=st.none() | text,
        file=st.none() | text,
        start=st.none() | text,
        stop=st.none() | text,
        follow=st.booleans(),
        tls=st.sampled_from(TLS),
        password_file=st.none() | text,
        option_file=st.none() | text,
        server_id=st.none() | st.integers(1, (1 << 32) - 1),
        heartbeat=seconds,
        connect_timeout=seconds,
        semi_sync=st.booleans(),
        server_uuid=st.none() | text,
    )
)
def test_text_and_back(address: ServerAddress) -> None:
    assert ServerAddress.parse(address.url()) == address
    assert pickle.loads(pickle.dumps(address)) == address


@given(st.text() | st.text("mysql:/?@&=%[],.0a").map("mysql://".__add__))
def test_any_text(url: str) -> None:
    """An address that comes back the same, or one error."""
    try:
        address = ServerAddress.parse(url)
    except UsageError:
        return
    assert ServerAddress.parse(address.url()) == address


def test_option_file_problems(tmp_path: Path) -> None:
    file = tmp_path / "my.cnf"
    with pytest.raises(UsageError, match=r"cannot read the option file .*my\.cnf: No such file"):
        read_option_file(str(file))
    file.write_text("[client]\n!include /etc/my.cnf\n")
    with pytest.raises(UsageError, match=r"my\.cnf, line 2: !include is not followed"):
        read_option_file(str(file))


def test_option_file_groups(tmp_path: Path) -> None:
    file = tmp_path / "my.cnf"
    file.write_bytes(
        b"\xef\xbb\xbfuser=0\r\n[client]\r\nuser=1\r\n[mysqld]\r\nuser=2\r\n[gtidal]\r\nssl_ca = \xff\r\n"
    )
    assert read_option_file(str(file)) == {"user": "1", "ssl-ca": "\udcff"}
