"""Logging in: PyMySQL makes the connection, and what goes wrong becomes one sentence that says what to do.

A password is read when a connection is made, and kept by nobody. Only one that was typed is remembered, by this
process alone: a lost connection must not ask again.
"""

from __future__ import annotations

import getpass
import os
import re
import socket
import ssl
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gtidal.errors import ConnectionLost, ServerProblem, UsageError
from gtidal.sources.server.address import PASSWORD_PLACES, Host, ServerAddress
from gtidal.sources.server.option_file import read_option_file

if TYPE_CHECKING:
    from pymysql.connections import Connection

_DENIED = (1045, 1698)
_NOT_FROM_HERE = 1130
_TOO_MANY = (1040, 1203, 1226)
_LOST = (1053, 1152, 1158, 1159, 1160, 1161, 1927, 2006, 2013, 2055)
"""The server stops, or the connection broke."""
_TLS_WANTED = 3159
_NO_TLS = 2026
_NO_PLUGIN = 2059
_OTHER_NAME = (62, 64)
"""OpenSSL: a good certificate, of another name or number."""

SSL_MODES = {
    "DISABLED": "off",
    "PREFERRED": "preferred",
    "REQUIRED": "required",
    "VERIFY_CA": "verify-ca",
    "VERIFY_IDENTITY": "verify",
}
"""What option files say for ``tls``."""


@dataclass(frozen=True)
class _Password:
    secret: bytes = field(repr=False)
    origin: str
    """For messages."""


_NO_PASSWORD = _Password(b"", "without a password")


def ask_at_terminal(account: str) -> str | None:
    """The password as somebody types it; None where nobody can."""
    if not (sys.stdin and sys.stdin.isatty() and sys.stderr and sys.stderr.isatty()):
        return None
    with suppress(EOFError):
        return getpass.getpass(f"Password of {account}: ")
    return None


ask_password: Callable[[str], str | None] = ask_at_terminal
"""Asked for the password of ``user at host`` when a server wants one and none was given. A program may set its own."""

_typed: dict[tuple[str | None, str], _Password] = {}
"""By user and server."""
_asking = threading.Lock()


def connect(address: ServerAddress, host: Host, *, read_timeout: float | None = None) -> Connection[Any]:
    """A session with one host of an address: text in UTF-8, autocommit."""
    address, password = _completed(address)
    settings = _settings(address, host)
    outer = sys.exception()
    while True:
        try:
            return _open(settings, password.secret, read_timeout)
        except Exception as error:  # PyMySQL raises anything where the other side is no server at all
            # It wraps what the socket raised. Who connects again after an error has that one around all others.
            cause = error if error.__context__ in (None, outer) else error.__context__
            problem = _problem(error, cause, address, host, password)
            denied = _code(error) in _DENIED
        # Raised here, it has no link to PyMySQL's frames, in which the password is.
        if not denied:
            raise problem
        if password is not _NO_PASSWORD or not (typed := _ask(address, host)):
            _typed.pop((address.user, address.title), None)
            raise problem
        password = typed


def connect_any(address: ServerAddress, *, read_timeout: float | None = None) -> tuple[Connection[Any], Host]:
    """A session with the first host that can be reached."""
    lost: list[str] = []
    for host in address.hosts:
        try:
            return connect(address, host, read_timeout=read_timeout), host
        except ConnectionLost as error:
            lost.append(error.message)
    raise ConnectionLost("; ".join(lost))


def _settings(address: ServerAddress, host: Host) -> dict[str, Any]:
    return {
        "host": host.name,
        "port": host.port,
        "unix_socket": _path(address.socket),
        "user": address.user,
        "charset": "utf8mb4",
        "autocommit": True,
        "program_name": "gtidal",
        "auth_plugin_map": {
            name: partial(_BarePassword, name) for name in ("mysql_clear_password", "dialog")
        },
        "connect_timeout": address.connect_timeout,
        "read_timeout": address.connect_timeout,  # who accepts and says nothing is out of reach, too
        **_tls(address),
    }


def _open(settings: Mapping[str, Any], password: bytes, read_timeout: float | None) -> Connection[Any]:
    connection: Any = _session_type()(password=password, **settings)
    connection.password = b""
    connection._read_timeout = connection._current_timeout = read_timeout
    connection._sock.settimeout(read_timeout)
    return connection  # type: ignore[no-any-return]  # made by a class that is built when it is needed


@cache
def _session_type() -> type[Connection[Any]]:
    import pymysql

    # Where nothing is verified, nobody needs the certificates of this machine: to load them takes longer than to log in.
    unverified = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    unverified.check_hostname = False
    unverified.verify_mode = ssl.CERT_NONE

    class Session(pymysql.Connection):
        def _create_ssl_ctx(self, given: Any) -> ssl.SSLContext:
            return given if isinstance(given, ssl.SSLContext) else unverified

    return Session


class _BarePassword:
    """The ways to log in that send the password itself: PyMySQL would, also where everybody on the way reads it."""

    def __init__(self, plugin: str, session: Any) -> None:
        self._plugin = plugin
        self._session = session

    def authenticate(self, packet: Any) -> Any:
        if not self._session._secure:
            raise RuntimeError(f"{self._plugin} sends the bare password, and the connection is not encrypted")
        return self._session._process_auth(self._plugin.encode(), packet)


def _path(name: str | None) -> str | None:
    return None if name is None else os.path.expanduser(name)


# --- what the address leaves open


def _completed(address: ServerAddress) -> tuple[ServerAddress, _Password]:
    options = read_option_file(address.option_file) if address.option_file else {}
    address = _with_options(address, options)
    return address, _password(address, options)


def _with_options(address: ServerAddress, options: Mapping[str, str]) -> ServerAddress:
    """With the account and the encryption of the option file. Where the server is stands in the address alone: the
    host or socket in a file that all programs read may be another server's."""
    user = address.user or options.get("user") or _login_name()
    if address.tls != "preferred":
        return replace(address, user=user)
    mode = options.get("ssl-mode", "PREFERRED").upper()
    if mode not in SSL_MODES:
        raise UsageError(f"{address.option_file}: ssl-mode={mode!r}: it is one of {', '.join(SSL_MODES)}")
    tls = SSL_MODES[mode]
    if "ssl-mode" not in options and options.get("ssl-verify-server-cert", "0").lower() in (
        "",
        "1",
        "on",
        "true",
    ):
        tls = "verify"
    verifies = tls in ("preferred", "verify-ca", "verify")
    try:
        return replace(
            address,
            user=user,
            tls=tls,
            ca=(options.get("ssl-ca") or None) if verifies else None,
            cert=(options.get("ssl-cert") or None) if tls != "off" else None,
            key=(options.get("ssl-key") or None) if tls != "off" else None,
        )
    except UsageError as error:
        raise error.at(file=address.option_file) from None


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container without accounts
        raise UsageError("the address names no user: it is mysql://user@host:port/") from None


def _password(address: ServerAddress, options: Mapping[str, str]) -> _Password:
    if address.password_file:
        return _Password(_password_in(address.password_file), f"with the password in {address.password_file}")
    if options.get("password"):
        secret = options["password"].encode("utf-8", "surrogateescape")
        return _Password(secret, f"with the password in {address.option_file}")
    if os.environ.get("MYSQL_PWD"):
        return _Password(os.fsencode(os.environ["MYSQL_PWD"]), "with the password in MYSQL_PWD")
    return _typed.get((address.user, address.title), _NO_PASSWORD)


def _password_in(name: str) -> bytes:
    path = Path(name).expanduser()
    try:
        secret = path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read the password file {path}: {error.strerror}") from None
    secret = secret.removesuffix(b"\n").removesuffix(b"\r")
    if not secret:
        raise UsageError(f"the password file {path} is empty")
    if b"\n" in secret or b"\0" in secret:
        raise UsageError(
            f"the password file {path} holds more than one line: it is the password and nothing else"
        )
    return secret


def _ask(address: ServerAddress, host: Host) -> _Password | None:
    key = (address.user, address.title)
    with _asking:
        if key not in _typed:
            typed = ask_password(f"{address.user} at {address.socket or host.title}")
            if not typed:
                return None
            _typed[key] = _Password(
                typed.encode("utf-8", "surrogateescape"), "with the password that was typed"
            )
        return _typed[key]


def _tls(address: ServerAddress) -> dict[str, Any]:
    """What PyMySQL is told. It encrypts if the server can, unless told otherwise."""
    if address.tls == "off" or (address.tls == "preferred" and address.socket):
        return {"ssl_disabled": True}  # nobody listens between the two ends of a socket
    if address.tls == "preferred":
        return {}
    try:
        context = ssl.create_default_context(cafile=_path(address.ca))
    except OSError as error:
        raise UsageError(f"cannot use the certificates in {address.ca} (ca): {_reason(error)}") from None
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # which the certificates that servers make do not pass
    context.check_hostname = address.tls == "verify"
    if address.tls == "required":
        context.verify_mode = ssl.CERT_NONE
    if address.cert:
        files = f"{address.cert} (cert)" + (f" with {address.key} (key)" if address.key else "")

        def locked() -> str:
            raise UsageError(f"cannot use the certificate {files}: the key is locked with a pass phrase")

        try:
            context.load_cert_chain(os.path.expanduser(address.cert), _path(address.key), password=locked)
        except OSError as error:
            raise UsageError(f"cannot use the certificate {files}: {_reason(error)}") from None
    return {"ssl": context}


# --- what went wrong


def privilege_problem(code: int, message: str, statement: str) -> str:
    """Which privilege an account lacks for a statement or command that a server refused, and how to give it."""
    asks = "sending its log" if statement.startswith("COM_") else statement
    named = re.search(r" the ([A-Z_, ]+) privilege\(s\)", message)
    if named:  # the server knows best: names differ between versions
        wanted = named[1].split(", ")[-1]
    elif statement.startswith("COM_"):
        wanted = "REPLICATION SLAVE"
    elif re.match("SHOW (BINARY|BINLOG|MASTER) ", statement):
        wanted = "REPLICATION CLIENT"
    else:
        return f"{statement}: {message} (error {code})"
    account = re.search(r"'[^']*'@'[^']*'", message)
    return (
        f"{asks} needs the privilege {wanted}, which the account does not have;"
        f" an administrator gives it with: GRANT {wanted} ON *.* TO {account[0] if account else 'USER'}"
    )


def _problem(
    error: Exception, cause: BaseException, address: ServerAddress, host: Host, password: _Password
) -> ServerProblem:
    where = address.socket or host.title
    code, said = _code(error), _said(error)
    if isinstance(cause, OSError | UnicodeError):
        return _unreachable(cause, address, where)
    if code in _DENIED:
        return ServerProblem(_denied(said, address, where, password))
    if code == _NOT_FROM_HERE:
        return ServerProblem(
            f"{where}: {said}; an administrator lets an account in from there with: CREATE USER 'user'@'host'"
        )
    if code in _TOO_MANY:
        return ConnectionLost(f"{where} has too many connections: {said}")
    if code in _LOST:
        return ConnectionLost(f"{where} ended the connection during the login: {said}")
    if code == _TLS_WANTED:
        return ServerProblem(f"{where} takes encrypted connections alone: leave out tls=off")
    if code == _NO_TLS:
        return ServerProblem(
            f"{where} does not encrypt, as tls={address.tls} asks for: set up TLS there, or leave out tls"
        )
    if code == _NO_PLUGIN or isinstance(error, RuntimeError):  # a library is missing, or see above
        return ServerProblem(
            f"{where} wants {address.user} to log in by means that are not at hand ({said}):"
            " give the account caching_sha2_password or mysql_native_password"
        )
    if code:
        return ServerProblem(f"{where}: {said} (error {code})")
    return ServerProblem(f"what answers at {where} is not MySQL or MariaDB: {said}")


def _denied(said: str, address: ServerAddress, where: str, password: _Password) -> str:
    hints = []
    if not password.secret:
        hints.append(f"put its password {PASSWORD_PLACES}")
    if address.tls == "off":
        hints.append("if the account requires TLS, leave out tls=off")
    return "; ".join([f"{where} refuses the login of {address.user} {password.origin}: {said}", *hints])


def _unreachable(cause: OSError | UnicodeError, address: ServerAddress, where: str) -> ServerProblem:
    match cause:
        case ssl.SSLCertVerificationError() if cause.verify_code in _OTHER_NAME:
            return ServerProblem(
                f"the certificate of {where} is not for that name ({cause.verify_message}): connect by the name in it,"
                " or compare no names, with tls=verify-ca"
            )
        case ssl.SSLCertVerificationError():
            return ServerProblem(
                f"the certificate of {where} cannot be verified ({cause.verify_message}):"
                " name the file of the authority that signed it, with ca=FILE"
            )
        case ssl.SSLEOFError():
            return ConnectionLost(f"{where} ended the connection during the login")
        case ssl.SSLError():
            return ServerProblem(f"TLS with {where} failed: {_reason(cause)}")
        case socket.gaierror() | UnicodeError():
            return ConnectionLost(f"the host of {where} is unknown ({_reason(cause)}): check its name")
        case TimeoutError():
            return ConnectionLost(
                f"{where} did not answer within {address.connect_timeout:g} seconds (connect-timeout)"
            )
        case ConnectionRefusedError() | FileNotFoundError():
            what = "the socket" if address.socket else "the port"
            return ConnectionLost(f"nobody listens at {where}: check that the server runs, and {what}")
        case _:
            return ConnectionLost(f"{where} cannot be reached: {_reason(cause)}")


def _code(error: Exception) -> int:
    return error.args[0] if error.args and isinstance(error.args[0], int) else 0


def _said(error: Exception) -> str:
    return str(error.args[-1]) if error.args else type(error).__name__


def _reason(error: OSError | UnicodeError) -> str:
    if isinstance(error, ssl.SSLError):
        return (error.reason or str(error)).replace("_", " ").lower()
    return (isinstance(error, OSError) and error.strerror) or str(error)
