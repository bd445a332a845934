"""Which server, and how to reach it, as one line of text: ``mysql://user@host:port/FILE?start=…``.

No file is opened and no name is looked up here. An address never holds a password, so it may stand in a plan, a
pickle or a message.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any
from urllib.parse import quote, unquote

from gtidal.errors import UsageError

_URL = re.compile(r"(mysql|mariadb)://([^/?]*)(?:/([^?]*))?(?:\?(.*))?", re.IGNORECASE | re.DOTALL)
_HOST = re.compile(r"(?:\[([^\]]*)\]|([^:\[\]]*))(?::(.*))?", re.DOTALL)
_NAME = re.compile(r"[^\s:@/?#%\[\],]+")
_SECONDS = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_MIN_SECONDS, _MAX_SECONDS = 0.001, 4294967
"""The heartbeats that servers take; for a login more than enough."""
_MAX_SERVER_ID = (1 << 32) - 1
_PORTS = range(1, 1 << 16)

KINDS = ("mysql", "mariadb")
TLS = ("preferred", "required", "verify-ca", "verify", "off")

PASSWORD_PLACES = "into a file (password-file=FILE), into MYSQL_PWD or into an option file (option-file=FILE)"
_PASSWORD_SEEN = f"a password in an address is seen by everybody: put it {PASSWORD_PLACES}, or leave it out to be asked for it"


@dataclass(frozen=True)
class Host:
    """One machine, by name or number."""

    name: str
    port: int = 3306

    def __post_init__(self) -> None:
        if ":" in self.name:
            try:
                ipaddress.IPv6Address(self.name)
            except ValueError:
                raise UsageError(f"the host [{self.name}] is no IPv6 address") from None
        elif not _NAME.fullmatch(self.name):
            raise UsageError(f"the host {self.name!r} is neither a name nor a number")
        if self.port not in _PORTS:
            raise UsageError(f"the port {self.port} of the host {self.name} is not between 1 and 65535")

    @property
    def title(self) -> str:
        return f"[{self.name}]:{self.port}" if ":" in self.name else f"{self.name}:{self.port}"


@dataclass(frozen=True)
class ServerAddress:
    """A server, or several with the same history: the next is tried when one is out of reach."""

    kind: str
    """``mysql`` or ``mariadb``: the scheme."""
    hosts: tuple[Host, ...]
    user: str | None = None
    file: str | None = None
    """One log file of the server; None: all."""
    start: str | None = None
    stop: str | None = None
    follow: bool = False
    """Go on at the end of the log, and wait for more."""
    tls: str = "preferred"
    """``preferred``: encrypt if the server can, and check nothing. ``required``: encrypt, or do not connect.
    ``verify-ca``: and the certificate must be signed by ``ca``. ``verify``: and be that of this host. ``off``: plain.

    Servers encrypt as they come out of the box (MySQL since 5.7, MariaDB since 11.4), but with certificates that
    they signed themselves: a default that verified would reach hardly any of them, and one that did not encrypt would
    show everybody on the way each row of the log. It is the default of MySQL's own tools."""
    ca: str | None = None
    """The certificates to trust. With it ``preferred`` becomes ``verify-ca``: nobody names it for nothing."""
    cert: str | None = None
    """Our own certificate. With it ``preferred`` becomes ``required``: it can be shown over TLS alone."""
    key: str | None = None
    password_file: str | None = None
    option_file: str | None = None
    """A my.cnf."""
    socket: str | None = None
    server_id: int | None = None
    """What we register as; None: a random high one for each connection."""
    heartbeat: float = 10.0
    connect_timeout: float = 30.0
    semi_sync: bool = False
    server_uuid: str | None = None
    """Which server it has to be; None: whichever answers. MariaDB's servers have none: ``server-`` and their id."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UsageError(f"a server is {' or '.join(KINDS)}, not {self.kind!r}")
        if not self.hosts:
            raise UsageError("the address names no host: it is mysql://user@host:port/")
        if self.socket is not None and len(self.hosts) > 1:
            raise UsageError(
                f"socket={self.socket!r} is of one server, and the address names {len(self.hosts)} hosts"
            )
        self._check_tls()
        if self.server_id is not None and not 0 < self.server_id <= _MAX_SERVER_ID:
            raise UsageError(f"server-id={self.server_id}: it is a number from 1 to {_MAX_SERVER_ID}")
        for name in ("heartbeat", "connect_timeout"):
            if not _MIN_SECONDS <= getattr(self, name) <= _MAX_SECONDS:
                raise UsageError(
                    f"{_written(name)}={getattr(self, name)}: it is seconds, from {_MIN_SECONDS} to {_MAX_SECONDS}"
                )

    def _check_tls(self) -> None:
        if self.tls not in TLS:
            raise UsageError(f"tls={self.tls!r}: it is {', '.join(TLS[:-1])} or {TLS[-1]}")
        if self.key is not None and self.cert is None:
            raise UsageError("key= is the key of a certificate: name that too, with cert=")
        if self.tls == "preferred" and (self.ca or self.cert):
            object.__setattr__(self, "tls", "verify-ca" if self.ca else "required")
        if self.ca is not None and self.tls not in ("verify-ca", "verify"):
            raise UsageError(
                f"ca= is to verify with, which tls={self.tls} does not: say tls=verify or tls=verify-ca"
            )
        if self.cert is not None and self.tls == "off":
            raise UsageError("cert= is shown to the server over TLS, which tls=off forbids")

    @classmethod
    def parse(cls, url: str) -> ServerAddress:
        """Understand an address. The errors never repeat what may be a password."""
        found = _URL.fullmatch(url)
        if not found:
            raise UsageError(
                "an address of a server begins with mysql:// or mariadb://, as in mysql://user@host:port/"
            )
        kind, authority, file, query = found.groups(default="")
        user, _, hosts = authority.rpartition("@")
        pairs = [piece.partition("=")[::2] for piece in query.split("&") if piece]
        if ":" in user:
            raise UsageError(_PASSWORD_SEEN)
        if "@" in file or any("@" in name for name, _ in pairs):
            # What looks like the host ends at the slash or question mark of a password.
            raise UsageError(
                f"an @ stands behind the host; in a file's name it is %40. If it ends a password: {_PASSWORD_SEEN}"
            )
        if "/" in file:
            raise UsageError(
                f"the file {file!r} in the address is not one name: it is mysql://user@host:port/FILE"
            )
        values = _options(pairs)
        return cls(
            kind=kind.lower(),
            hosts=(Host("localhost"),) if not hosts and "socket" in values else _hosts(hosts),
            user=_decoded("the user", user) or None,
            file=_decoded("the file", file) or None,
            **values,
        )

    def url(self) -> str:
        """The address as text, always the same for the same address."""
        user = "" if self.user is None else f"{quote(self.user, safe='')}@"
        hosts = ",".join(host.title for host in self.hosts)
        options = [
            f"{_written(field.name)}={quote(_text(getattr(self, field.name)), safe='/:,+')}"
            for field in fields(self)
            if field.name in _OPTIONS and getattr(self, field.name) != field.default
        ]
        query = f"?{'&'.join(options)}" if options else ""
        return f"{self.kind}://{user}{hosts}/{quote(self.file or '', safe='')}{query}"

    @property
    def title(self) -> str:
        """For messages."""
        return self.socket or ", ".join(host.title for host in self.hosts)


def is_server(path: object) -> bool:
    """Whether what was given in the place of a path is the address of a server."""
    return isinstance(path, str) and path.lower().startswith(tuple(f"{kind}://" for kind in KINDS))


# --- parts of the text


def _hosts(text: str) -> tuple[Host, ...]:
    return tuple(_host(each) for each in text.split(",")) if text else ()


def _host(text: str) -> Host:
    found = _HOST.fullmatch(text)
    if found is None:
        raise UsageError(
            "the host in the address is not well-formed: it is host:port, or [::1]:port for IPv6"
        )
    in_brackets, name, port = found.groups()
    if in_brackets is not None and ":" not in in_brackets:
        raise UsageError(f"the host [{in_brackets}] is no IPv6 address: only those stand in brackets")
    if in_brackets is None and not name:
        raise UsageError("a host in the address has no name: it is host:port, or [::1]:port for IPv6")
    name = name if in_brackets is None else in_brackets
    if port is None:
        return Host(name)
    if not re.fullmatch("[0-9]{1,5}", port):  # not repeated: user:password without a host looks like this
        raise UsageError(f"the port of the host {name} is not a number from 1 to 65535")
    return Host(name, int(port))


def _options(pairs: list[tuple[str, str]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for written, text in pairs:
        given = _decoded("an option's name", written).lower().replace("-", "_")
        if given in _PASSWORDS:
            raise UsageError(_PASSWORD_SEEN)
        name = _SYNONYMS.get(given, given)
        if name not in _OPTIONS:
            near = get_close_matches(name, _OPTIONS, n=1)
            hint = (
                f"did you mean {_written(near[0])}?"
                if near
                else f"there are {', '.join(map(_written, _OPTIONS))}"
            )
            raise UsageError(f"an address has no option {written!r}; {hint}")
        if name in values:
            raise UsageError(f"{_written(name)} stands twice in the address")
        value = _decoded(_written(name), text)
        try:
            values[name] = _OPTIONS[name](value)
        except ValueError as error:
            raise UsageError(f"{_written(name)}={value!r}: {error}") from None
    return values


def _decoded(part: str, text: str) -> str:
    # A plus sign means itself: times have one before their zone.
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise UsageError(f"{part} in the address is not UTF-8 in percent signs: {text!r}") from None


def _written(name: str) -> str:
    return name.replace("_", "-")


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _words(text: str) -> str:
    if not text:
        raise ValueError("it is empty")
    return text


def _true_or_false(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError("it is true or false")
    return text.lower() == "true"


def _seconds(text: str) -> float:
    if not _SECONDS.fullmatch(text):
        raise ValueError("it is a number of seconds")
    return float(text)


def _number(text: str) -> int:
    if not re.fullmatch("[0-9]{1,10}", text):
        raise ValueError(f"it is a number from 1 to {_MAX_SERVER_ID}")
    return int(text)


_OPTIONS: dict[str, Callable[[str], Any]] = {
    "start": _words,
    "stop": _words,
    "follow": _true_or_false,
    "tls": str.lower,
    "ca": _words,
    "cert": _words,
    "key": _words,
    "password_file": _words,
    "option_file": _words,
    "socket": _words,
    "server_id": _number,
    "heartbeat": _seconds,
    "connect_timeout": _seconds,
    "semi_sync": _true_or_false,
    "server_uuid": _words,
}
"""What may stand behind the question mark: fields of the address."""
_SYNONYMS = {"ssl_ca": "ca", "ssl_cert": "cert", "ssl_key": "key"}
"""As MySQL's tools call them."""
_PASSWORDS = ("password", "passwd", "pass", "pwd")
