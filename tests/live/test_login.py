"""Logins on real servers: each way to give a password and to encrypt, and each thing that can go wrong."""

from __future__ import annotations

import gc
import os
import pickle
import socket
import struct
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pymysql
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from gtidal.cli.main import main
from gtidal.errors import ConnectionLost, GtidalError, ServerProblem, UsageError
from gtidal.sources.server import login
from gtidal.sources.server.address import ServerAddress
from gtidal.sources.server.connection import Connection
from gtidal.sources.server.login import connect, connect_any, privilege_problem
from gtidal.sources.server.option_file import read_option_file
from tests.live.servers import MariaDBServer, MySQLServer, Server, mysql_binaries

PASSWORD = "pass#1 ü"


@pytest.fixture(scope="module", autouse=True)
def accounts(mysql: MySQLServer, mariadb: MariaDBServer) -> None:
    """`reader` may do nothing but log in. Each server knows accounts of this machine alone."""
    for server in (mysql, mariadb):
        server.execute(f"CREATE USER reader@localhost IDENTIFIED BY '{PASSWORD}'")
    mysql.execute(f"CREATE USER sha@localhost IDENTIFIED WITH sha256_password BY '{PASSWORD}'")
    mysql.execute(f"CREATE USER secured@localhost IDENTIFIED BY '{PASSWORD}' REQUIRE SSL")
    mysql.execute(f"CREATE USER known@localhost IDENTIFIED BY '{PASSWORD}' REQUIRE X509")
    mysql.execute(f"CREATE USER single@localhost IDENTIFIED BY '{PASSWORD}' WITH MAX_USER_CONNECTIONS 1")


@pytest.fixture(autouse=True)
def nobody_at_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MYSQL_PWD", raising=False)
    monkeypatch.setattr(login, "ask_password", lambda account: None)
    monkeypatch.setattr(login, "_typed", {})


@pytest.fixture
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MYSQL_PWD", PASSWORD)


def address_of(server: Server, user: str = "reader", **options: object) -> ServerAddress:
    query = "&".join(f"{name}={value}" for name, value in options.items())
    return ServerAddress.parse(f"{server.name}://{user}@127.0.0.1:{server.port}/?{query}")


def ask(address: ServerAddress, statement: str = "SELECT CURRENT_USER()") -> Any:
    """One value from the server."""
    with closing(connect(address, address.hosts[0])) as connection, connection.cursor() as cursor:
        cursor.execute(statement)
        row = cursor.fetchone()
        assert row is not None
        return row[-1]


def cipher(address: ServerAddress) -> str:
    return str(ask(address, "SHOW STATUS LIKE 'Ssl_cipher'"))


def problem(address: ServerAddress, kind: type[GtidalError] = ServerProblem) -> str:
    """The one sentence of a login that fails; the password is nowhere in it, nor in what hangs on it."""
    with pytest.raises(GtidalError) as caught:
        ask(address)
    assert type(caught.value) is kind
    assert PASSWORD not in str(caught.value) + repr(caught.value)
    assert PASSWORD.encode() not in pickle.dumps(caught.value)
    if kind is not UsageError:
        for frame, _ in traceback.walk_tb(caught.tb):
            assert frame.f_code.co_filename == __file__ or "pass#1" not in repr(frame.f_locals)
        around = caught.value.__context__
        assert around is None or type(around) is TimeoutError  # see below
    return str(caught.value)


# --- passwords


@pytest.mark.parametrize("user", ["reader", "sha"])
@pytest.mark.parametrize("tls", ["off", "preferred", "required"])
def test_ways_to_log_in(mysql: MySQLServer, password: None, user: str, tls: str) -> None:
    """Over plain TCP a password travels under the server's RSA key; a flush makes it forget the quick way."""
    for _ in range(2):
        assert ask(address_of(mysql, user, tls=tls)) == f"{user}@localhost"
    mysql.execute("FLUSH PRIVILEGES")


def test_mariadb(mariadb: MariaDBServer, password: None) -> None:
    assert ask(address_of(mariadb)) == "reader@localhost"
    assert cipher(address_of(mariadb)) == ""


def test_session(mysql: MySQLServer, password: None) -> None:
    address = address_of(mysql)
    with closing(connect(address, address.hosts[0], read_timeout=5)) as connection:
        assert connection.password == b""
        found: Any = connection
        assert found._sock.gettimeout() == 5
        with connection.cursor() as cursor:
            cursor.execute("SELECT @@autocommit, @@character_set_client, 'ü🐬'")
            assert cursor.fetchall() == ((1, "utf8mb4", "ü🐬"),)
    with closing(connect(address, address.hosts[0])) as connection:
        found = connection
        assert found._sock.gettimeout() is None


def test_password_file(mysql: MySQLServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "password"
    address = address_of(mysql, password_file=file)
    assert "cannot read the password file" in problem(address, UsageError)
    for text in (PASSWORD, f"{PASSWORD}\n", f"{PASSWORD}\r\n"):
        file.write_text(text, newline="")
        assert ask(address) == "reader@localhost"
    file.write_text("\n")
    assert "is empty" in problem(address, UsageError)
    file.write_text(f"{PASSWORD}\n\n")
    assert "more than one line" in problem(address, UsageError)
    file.write_text("wrong")
    monkeypatch.setenv("MYSQL_PWD", PASSWORD)  # which the file goes before
    assert f"refuses the login of reader with the password in {file}" in problem(address)
    monkeypatch.setenv("HOME", str(tmp_path))
    file.write_text(PASSWORD)
    assert ask(address_of(mysql, password_file="~/password")) == "reader@localhost"


def test_option_file(mysql: MySQLServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "my.cnf"
    options = f"?option_file={file}"
    address = ServerAddress.parse(f"mysql://127.0.0.1:{mysql.port}/{options}")
    assert "cannot read the option file" in problem(address, UsageError)
    # A socket and a host in it are those of another server.
    file.write_text(f"[client]\nuser = reader\npassword = '{PASSWORD}'\nsocket = /nowhere\nhost = nowhere\n")
    assert ask(address) == "reader@localhost"
    assert ask(ServerAddress.parse(f"mysql://sha@127.0.0.1:{mysql.port}/{options}")) == "sha@localhost"
    monkeypatch.setenv("MYSQL_PWD", "wrong")
    assert ask(address) == "reader@localhost"
    file.write_text(f"{file.read_text()}[gtidal]\npassword=none\n")
    assert f"with the password in {file}" in problem(address)


def test_option_file_and_tls(mysql: MySQLServer, tmp_path: Path, password: None) -> None:
    file = tmp_path / "my.cnf"
    ca = mysql.data_dir / "ca.pem"

    def outcome(options: str, **more: object) -> str:
        file.write_text(f"[client]\n{options}\n")
        address = address_of(mysql, option_file=file, **more)
        try:
            return "encrypted" if cipher(address) else "plain"
        except GtidalError as error:
            return str(error)

    assert outcome("") == "encrypted"
    assert outcome("ssl-mode = disabled") == "plain"
    assert outcome("ssl-mode = disabled", tls="required") == "encrypted"
    assert (
        outcome(f"ssl_mode=REQUIRED\nssl-ca={tmp_path}/none.pem") == "encrypted"
    )  # required verifies nothing
    assert outcome(f"ssl-ca={ca}") == "encrypted"
    assert "none.pem" in outcome(f"ssl-ca={tmp_path}/none.pem")
    assert "cannot be verified" in outcome("ssl-mode=VERIFY_CA")
    assert "is not for that name" in outcome(f"ssl-mode=VERIFY_IDENTITY\nssl-ca={ca}")
    assert "is not for that name" in outcome(f"ssl-verify-server-cert\nssl-ca={ca}")
    assert "my.cnf: ssl-mode='SOMETIMES': it is one of DISABLED," in outcome("ssl-mode=sometimes")
    assert "my.cnf: key= is the key of a certificate" in outcome("ssl-key=k.pem")


@pytest.mark.parametrize(
    "line",
    [
        *("user=plain", "user = a b  ", "user", "user=", "  user=x", "user=x#y", "user=x # y", r"user=a\#b"),
        *('user="a # b"', "user='a # b' # c", 'user="a"b', "user='it''s'", 'user="tail" ; c', 'user=a"b#c"d'),
        *(
            r"user=a\sb\tc\\d\x",
            r'user="a\"b"',
            r"user='a\'b#'",
            'user="open # end',
            "user=\"a' # b",
            "user==a",
        ),
        *(r"user=\\s", r"user='\n'", "#user=x", ";user=x"),
    ],
)
def test_option_file_reads_like_the_tools(line: str, tmp_path: Path) -> None:
    file = tmp_path / "my.cnf"
    file.write_text(f"[client]\n{line}\n[ client ]\nuser=spaces\n[mysqld]\nuser=server\n")
    tool = [str(mysql_binaries().reader), f"--defaults-file={file}", "--print-defaults"]
    printed = subprocess.run(tool, capture_output=True, text=True, check=True).stdout
    argument = printed.partition(":\n")[2].removesuffix("\n").removesuffix(" ").removeprefix("--")
    name, _, value = argument.partition("=")
    assert read_option_file(str(file)) == ({name: value} if argument else {})


def test_no_password(mysql: MySQLServer) -> None:
    said = problem(address_of(mysql))
    assert f"127.0.0.1:{mysql.port} refuses the login of reader without a password: Access denied" in said
    assert "put its password into a file (password-file=FILE), into MYSQL_PWD" in said


def test_wrong_password(mysql: MySQLServer, mariadb: MariaDBServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MYSQL_PWD", "wrong")
    for server in (mysql, mariadb):
        said = problem(address_of(server))
        assert "refuses the login of reader with the password in MYSQL_PWD: Access denied" in said
        assert "wrong" not in said


def test_question(mysql: MySQLServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked once, when the server wants one; a wrong answer is forgotten."""
    answers = ["wrong", PASSWORD]
    asked = []

    def answer(account: str) -> str:
        asked.append(account)
        return answers.pop(0)

    monkeypatch.setattr(login, "ask_password", answer)
    assert ask(address_of(mysql, "root")) == "root@localhost"
    assert asked == []
    address = address_of(mysql)
    assert "with the password that was typed" in problem(address)
    for _ in range(2):
        assert ask(address) == "reader@localhost"
    assert asked == [f"reader at 127.0.0.1:{mysql.port}"] * 2
    assert PASSWORD not in repr(login._typed)


def test_question_at_a_terminal(mysql: MySQLServer) -> None:
    """The real question, in a process that has a terminal."""
    program = (
        "from gtidal.sources.server.address import ServerAddress; from gtidal.sources.server.login import connect_any\n"
        f"connection, _ = connect_any(ServerAddress.parse({address_of(mysql).url()!r}))\n"
        "cursor = connection.cursor(); cursor.execute('SELECT CURRENT_USER()'); print(cursor.fetchone()[0])"
    )
    ours, theirs = os.openpty()
    try:
        process = subprocess.Popen(
            [sys.executable, "-c", program],
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=theirs,
            start_new_session=True,
        )
        shown = b""
        while b": " not in shown:
            shown += os.read(ours, 1000)
        assert shown.decode() == f"Password of reader at 127.0.0.1:{mysql.port}: "
        os.write(ours, f"{PASSWORD}\n".encode())
        out, _ = process.communicate()
        assert out == b"reader@localhost\n"
        assert PASSWORD.encode() not in os.read(ours, 1000)  # not echoed
    finally:
        os.close(ours)
        os.close(theirs)


def test_other_ways(mariadb: MariaDBServer, password: None) -> None:
    mariadb.execute("INSTALL SONAME 'auth_parsec'")
    mariadb.execute(f"CREATE USER modern@localhost IDENTIFIED VIA parsec USING PASSWORD('{PASSWORD}')")
    assert "wants modern to log in by means that are not at hand (" in problem(address_of(mariadb, "modern"))
    mariadb.execute(
        "CREATE USER nobody_here@localhost IDENTIFIED VIA unix_socket"
    )  # for that user of the system
    address = ServerAddress.parse(f"mariadb://nobody_here@/?socket={mariadb.socket}")
    assert "refuses the login of nobody_here" in problem(address)


@pytest.mark.parametrize(
    ("plugin", "question"), [("mysql_clear_password", b""), ("dialog", b"\x05Password: ")]
)
def test_bare_password(
    mariadb: MariaDBServer, password: None, plugin: str, question: bytes, tmp_path: Path
) -> None:
    """Where everybody on the way could read it, whoever asks for the password itself does not get it."""
    body = b"\xfe" + plugin.encode() + b"\0" + question
    told: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as place, asking(mariadb, place, body, told):
        said = problem(ServerAddress.parse(f"mysql://reader@127.0.0.1:{place.getsockname()[1]}/"))
    assert f"{plugin} sends the bare password, and the connection is not encrypted" in said
    assert b"reader" in told[0]
    assert told[1] == b""
    told.clear()
    file = tmp_path / "s"
    with socket.create_server(str(file), family=socket.AF_UNIX) as place, asking(mariadb, place, body, told):
        problem(ServerAddress.parse(f"mysql://reader@/?socket={file}"), ConnectionLost)
    assert told[1][4:] == PASSWORD.encode() + b"\0"


# --- TLS


def test_tls(mysql: MySQLServer, password: None) -> None:
    ca = mysql.data_dir / "ca.pem"
    assert cipher(address_of(mysql))
    assert cipher(address_of(mysql, tls="off")) == ""
    assert cipher(address_of(mysql, tls="required"))
    assert cipher(address_of(mysql, ca=ca))
    said = problem(address_of(mysql, ca=ca, tls="verify"))  # a server's own certificate has no host's name
    assert f"certificate of 127.0.0.1:{mysql.port} is not for that name" in said
    assert "tls=verify-ca" in said
    for tls in ("verify", "verify-ca"):
        said = problem(address_of(mysql, tls=tls))  # signed by nobody whom this machine trusts
        assert "cannot be verified (self-signed certificate in certificate chain)" in said
        assert "ca=FILE" in said


def test_tls_names(mysql: MySQLServer, password: None, tmp_path: Path) -> None:
    """A server whose certificate has its name."""
    ca = Authority(tmp_path / "ca.pem")
    stranger = Authority(tmp_path / "stranger.pem")
    certificate, key = ca.sign(tmp_path / "server", "localhost")
    mysql.execute(
        f"SET GLOBAL ssl_ca = '{ca.file}', ssl_cert = '{certificate}', ssl_key = '{key}'; ALTER INSTANCE RELOAD TLS"
    )
    try:
        by_name = f"mysql://reader@localhost:{mysql.port}/"
        assert cipher(ServerAddress.parse(f"{by_name}?tls=verify&ca={ca.file}"))
        assert cipher(address_of(mysql, ca=ca.file))
        assert "is not for that name" in problem(address_of(mysql, tls="verify", ca=ca.file))
        for tls in ("verify-ca", "verify"):
            said = problem(ServerAddress.parse(f"{by_name}?tls={tls}&ca={stranger.file}"))
            assert f"certificate of localhost:{mysql.port} cannot be verified" in said
    finally:
        mysql.execute(
            "SET GLOBAL ssl_ca = 'ca.pem', ssl_cert = 'server-cert.pem', ssl_key = 'server-key.pem';"
            "ALTER INSTANCE RELOAD TLS"
        )


def test_own_certificate(mysql: MySQLServer, password: None, tmp_path: Path) -> None:
    folder = mysql.data_dir
    address = address_of(mysql, "known", cert=folder / "client-cert.pem", key=folder / "client-key.pem")
    assert ask(address) == "known@localhost"
    assert "refuses the login of known" in problem(address_of(mysql, "known"))
    said = problem(address_of(mysql, cert=folder / "client-cert.pem", key=folder / "ca-key.pem"), UsageError)
    assert "ca-key.pem (key): key values mismatch" in said
    said = problem(address_of(mysql, cert=tmp_path / "none.pem"), UsageError)
    assert "none.pem (cert): No such file" in said
    said = problem(address_of(mysql, ca=tmp_path / "none.pem"), UsageError)
    assert "none.pem (ca): No such file" in said
    (tmp_path / "text.pem").write_text("no certificate")
    assert "text.pem (ca): no certificate" in problem(address_of(mysql, ca=tmp_path / "text.pem"), UsageError)


def test_locked_key(mysql: MySQLServer, password: None, tmp_path: Path) -> None:
    """Nobody is asked for the pass phrase of a key."""
    certificate, key = Authority(tmp_path / "ca.pem").sign(
        tmp_path / "client", "reader", phrase=b"open sesame"
    )
    assert f"{key} (key): the key is locked with a pass phrase" in problem(
        address_of(mysql, cert=certificate, key=key), UsageError
    )


def test_tls_wanted(mysql: MySQLServer, password: None) -> None:
    mysql.execute("SET GLOBAL require_secure_transport = ON")
    try:
        assert "takes encrypted connections alone: leave out tls=off" in problem(address_of(mysql, tls="off"))
        assert cipher(address_of(mysql))
        # A socket counts as safe.
        assert cipher(ServerAddress.parse(f"mysql://reader@/?socket={mysql.socket}")) == ""
    finally:
        mysql.execute("SET GLOBAL require_secure_transport = OFF")
    assert ask(address_of(mysql, "secured")) == "secured@localhost"
    assert "if the account requires TLS, leave out tls=off" in problem(
        address_of(mysql, "secured", tls="off")
    )


@pytest.mark.parametrize("tls", ["required", "verify-ca", "verify"])
def test_tls_not_offered(mariadb: MariaDBServer, password: None, tls: str) -> None:
    assert f"does not encrypt, as tls={tls} asks for" in problem(address_of(mariadb, tls=tls))


# --- out of reach


def test_socket(mysql: MySQLServer, mariadb: MariaDBServer, password: None) -> None:
    for server in (mysql, mariadb):
        assert (
            ask(ServerAddress.parse(f"{server.name}://reader@/?socket={server.socket}")) == "reader@localhost"
        )
    assert cipher(ServerAddress.parse(f"mysql://reader@/?tls=required&socket={mysql.socket}"))


# PyMySQL leaves a socket open that nobody listens at.
@pytest.mark.filterwarnings("ignore:Exception ignored in:pytest.PytestUnraisableExceptionWarning")
def test_no_socket(tmp_path: Path) -> None:
    said = problem(ServerAddress.parse(f"mysql://reader@/?socket={tmp_path}/s"), ConnectionLost)
    assert f"nobody listens at {tmp_path}/s: check that the server runs, and the socket" in said
    gc.collect()


@pytest.mark.parametrize("name", ["nowhere.invalid", "a..b", 70 * "x"])
def test_unknown_host(name: str) -> None:
    said = problem(ServerAddress.parse(f"mysql://{name}/"), ConnectionLost)
    assert f"the host of {name}:3306 is unknown" in said


def test_refused_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as place:
        port = place.getsockname()[1]
    said = problem(ServerAddress.parse(f"mysql://127.0.0.1:{port}/"), ConnectionLost)
    assert f"nobody listens at 127.0.0.1:{port}: check that the server runs, and the port" in said


def test_silence() -> None:
    """Somebody accepts the connection, and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as place:
        port = place.getsockname()[1]
        said = problem(ServerAddress.parse(f"mysql://127.0.0.1:{port}/?connect_timeout=0.2"), ConnectionLost)
    assert f"127.0.0.1:{port} did not answer within 0.2 seconds (connect-timeout)" in said


@pytest.mark.parametrize(
    "words",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"SSH-2.0-OpenSSH\r\n",
        b"\x01\0\0\0\x0a",
        b"\0\0\0\0",
        b"\xff" * 9,
    ],
)
def test_no_database(words: bytes) -> None:
    with answering(words) as port:
        said = problem(ServerAddress.parse(f"mysql://127.0.0.1:{port}/"))
    assert f"what answers at 127.0.0.1:{port} is not MySQL or MariaDB" in said


def test_ended_connection() -> None:
    with answering(b"") as port:
        said = problem(ServerAddress.parse(f"mysql://127.0.0.1:{port}/"), ConnectionLost)
    assert f"127.0.0.1:{port} ended the connection during the login" in said


def test_too_many(mysql: MySQLServer, password: None) -> None:
    address = address_of(mysql, "single")
    with closing(connect(address, address.hosts[0])):
        assert "has too many connections: User 'single' has exceeded" in problem(address, ConnectionLost)
    [(limit,)] = mysql.query("SELECT @@max_connections")
    mysql.execute("SET GLOBAL max_connections = 1")
    try:
        assert "has too many connections: Too many connections" in problem(address_of(mysql), ConnectionLost)
    finally:
        mysql.execute(f"SET GLOBAL max_connections = {limit}")


@pytest.mark.parametrize("kind", ["mysql", "mariadb"])
def test_wrong_machine(kind: str, request: pytest.FixtureRequest) -> None:
    server: Server = request.getfixturevalue(kind)
    with calling_from("127.0.0.2", server.port) as port:
        said = problem(ServerAddress.parse(f"{kind}://reader@127.0.0.1:{port}/"))
    assert f"127.0.0.1:{port}: Host '127.0.0.2' is not allowed to connect" in said
    assert "CREATE USER" in said


def test_an_error_around_does_not_mislead(mysql: MySQLServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python links an error to the one that is being handled, as when a lost connection is made again."""
    monkeypatch.setenv("MYSQL_PWD", "wrong")
    try:
        raise TimeoutError
    except TimeoutError:
        assert "refuses the login" in problem(address_of(mysql))


def test_several_hosts(mysql: MySQLServer, password: None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as place:
        port = place.getsockname()[1]
    address = ServerAddress.parse(f"mysql://reader@127.0.0.1:{port},127.0.0.1:{mysql.port}/")
    connection, host = connect_any(address)
    connection.close()
    assert host.port == mysql.port
    with pytest.raises(
        ConnectionLost, match=rf"nobody listens at 127.0.0.1:{port}.*; the host of a\.\.b:3306 is"
    ):
        connect_any(ServerAddress.parse(f"mysql://reader@127.0.0.1:{port},a..b/"))


# --- privileges


def do(server: Server, statement: str) -> None:
    """As the reader: a statement, or a command of replicas."""
    address = address_of(server)
    with closing(connect(address, address.hosts[0])) as connection:
        if statement in COMMANDS:
            session: Any = connection
            session._execute_command(*COMMANDS[statement])
            session._read_packet()
            session._force_close()
        else:
            connection.cursor().execute(statement)


def refusal(server: Server, statement: str) -> str:
    with pytest.raises(pymysql.MySQLError) as caught:
        do(server, statement)
    return privilege_problem(*caught.value.args, statement)


REPLICA = 4242
COMMANDS = {
    "COM_BINLOG_DUMP": (0x12, struct.pack("<IHI", 4, 1, REPLICA)),
    "COM_REGISTER_SLAVE": (0x15, struct.pack("<IBBBHII", REPLICA, 0, 0, 0, 0, 0, 0)),
    "COM_BINLOG_DUMP_GTID": (0x1E, struct.pack("<HIIQIQ", 1, REPLICA, 0, 4, 8, 0)),
}


@pytest.mark.parametrize(
    ("kind", "statement", "privilege"),
    [
        ("mysql", "SHOW BINARY LOGS", "REPLICATION CLIENT"),
        ("mysql", "SHOW BINARY LOG STATUS", "REPLICATION CLIENT"),
        ("mysql", "COM_REGISTER_SLAVE", "REPLICATION SLAVE"),
        ("mysql", "COM_BINLOG_DUMP", "REPLICATION SLAVE"),
        ("mysql", "COM_BINLOG_DUMP_GTID", "REPLICATION SLAVE"),
        ("mariadb", "SHOW BINARY LOGS", "BINLOG MONITOR"),
        ("mariadb", "SHOW MASTER STATUS", "BINLOG MONITOR"),
        ("mariadb", "COM_REGISTER_SLAVE", "REPLICATION SLAVE"),
        ("mariadb", "COM_BINLOG_DUMP", "REPLICATION SLAVE"),
    ],
)
def test_missing_privilege(
    kind: str, statement: str, privilege: str, request: pytest.FixtureRequest, password: None
) -> None:
    server: Server = request.getfixturevalue(kind)
    said = refusal(server, statement)
    assert f"needs the privilege {privilege}, which the account does not have" in said
    assert f"GRANT {privilege} ON *.* TO " in said
    server.execute(f"GRANT {privilege} ON *.* TO reader@localhost")  # it is the one that was missing
    try:
        do(server, statement)
    finally:
        server.execute(f"REVOKE {privilege} ON *.* FROM reader@localhost")


def test_other_refusals(mysql: MySQLServer, password: None) -> None:
    assert "SELECT * FROM mysql.user: SELECT command denied" in refusal(mysql, "SELECT * FROM mysql.user")


def test_words_of_other_versions() -> None:
    """Servers speak other languages, too."""
    foreign = "Zugriff verweigert"
    assert "needs the privilege REPLICATION CLIENT" in privilege_problem(1227, foreign, "SHOW BINARY LOGS")
    assert "needs the privilege REPLICATION SLAVE" in privilege_problem(1227, foreign, "COM_BINLOG_DUMP")


def test_command_line(mysql: MySQLServer, capsys: pytest.CaptureFixture[str]) -> None:
    """One line each: a problem with the server, and an address that is wrong."""
    assert main(["logs", f"mysql://reader@127.0.0.1:{mysql.port}/"]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"gtidal: 127.0.0.1:{mysql.port} refuses the login of reader")
    assert said.count("\n") == 1
    assert main(["logs", f"mysql://reader:secret@127.0.0.1:{mysql.port}/"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("gtidal: a password in an address is seen by everybody")
    assert "secret" not in said
    assert said.count("\n") == 1


# --- small parts


class Authority:
    """Signs certificates. Its own is in a file."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, file.stem)])
        certificate = self._certificate(self._name, self._key.public_key()).add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        )
        self._write(certificate, file)

    def sign(self, file: Path, name: str, phrase: bytes | None = None) -> tuple[Path, Path]:
        """The files of a certificate for a host, and of its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        certificate = self._certificate(subject, key.public_key()).add_extension(
            x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False
        )
        self._write(certificate, file.with_suffix(".pem"))
        lock = serialization.BestAvailableEncryption(phrase) if phrase else serialization.NoEncryption()
        file.with_suffix(".key").write_bytes(
            key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, lock)
        )
        return file.with_suffix(".pem"), file.with_suffix(".key")

    def _certificate(self, subject: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return x509.CertificateBuilder(
            issuer_name=self._name,
            subject_name=subject,
            public_key=key,
            serial_number=x509.random_serial_number(),
            not_valid_before=now - timedelta(days=1),
            not_valid_after=now + timedelta(days=1),
        )

    def _write(self, certificate: x509.CertificateBuilder, file: Path) -> None:
        signed = certificate.sign(self._key, hashes.SHA256())
        file.write_bytes(signed.public_bytes(serialization.Encoding.PEM))


@contextmanager
def answering(words: bytes) -> Iterator[int]:
    """A port where one caller hears some words, and then the end."""
    with socket.create_server(("127.0.0.1", 0)) as place:

        def answer() -> None:
            caller, _ = place.accept()
            with caller:
                caller.sendall(words)

        thread = threading.Thread(target=answer)
        thread.start()
        yield place.getsockname()[1]
        thread.join()


@contextmanager
def asking(server: Server, place: socket.socket, body: bytes, told: list[bytes]) -> Iterator[None]:
    """Somebody greets one caller as a server does that cannot encrypt, and asks a question; the answers are told."""
    with socket.create_connection(("127.0.0.1", server.port)) as real:
        greeting = real.recv(1000)

    def ask_him() -> None:
        caller, _ = place.accept()
        with caller:
            caller.sendall(greeting)
            told.append(caller.recv(1000))
            caller.sendall(struct.pack("<I", len(body) | 2 << 24) + body)
            told.append(caller.recv(1000))

    thread = threading.Thread(target=ask_him)
    thread.start()
    yield
    thread.join()


@contextmanager
def calling_from(machine: str, port: int) -> Iterator[int]:
    """A port behind which a server is called from another address, and its first words come back."""
    with socket.create_server(("127.0.0.1", 0)) as place:

        def pass_on() -> None:
            caller, _ = place.accept()
            with caller, socket.create_connection(("127.0.0.1", port), source_address=(machine, 0)) as server:
                caller.sendall(server.recv(1000))

        thread = threading.Thread(target=pass_on)
        thread.start()
        yield place.getsockname()[1]
        thread.join()


def test_hanging_up_swallows_no_ctrl_c() -> None:
    """As pymysql's own function does."""

    class Interrupted:
        def close(self) -> None:
            raise KeyboardInterrupt

    for one, other in ((Interrupted(), None), (None, Interrupted())):
        connection = Connection.__new__(Connection)
        connection._session = SimpleNamespace(_rfile=one, _sock=other)
        with pytest.raises(KeyboardInterrupt):
            connection.close()
