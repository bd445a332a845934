"""Private MySQL and MariaDB servers for tests, and the tools that read their logs.

    with MySQLServer.temporary("--gtid-mode=ON", "--enforce-gtid-consistency=ON") as server:
        server.execute("CREATE DATABASE shop; CREATE TABLE shop.t (a INT PRIMARY KEY)")
        server.execute(["INSERT INTO shop.t VALUES (1)", "INSERT INTO shop.t VALUES (2)"])
        assert server.query("SELECT * FROM shop.t WHERE a > %s", 1) == [(2,)]
        server.flush()
        print(server.binlogs(), run_mysqlbinlog("-vv", server.binlogs()[0]))

Each server has a folder of its own with a copy of a data folder that was initialised once, and a free port
on the loopback address. Options given to it come after ours, so they win. All of it is made for speed and
throw-away data: nothing is synced to disk.
"""

from __future__ import annotations

import atexit
import fcntl
import hashlib
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Self

import pymysql
from pymysql.constants import CLIENT

import fetch_servers  # tools/fetch_servers.py

START_SECONDS = 120
STOP_SECONDS = 120
MAX_SOCKET_PATH = 100  # the kernel's limit is 107 bytes
CRASH_SAFE = ("--innodb-flush-log-at-trx-commit=1", "--innodb-doublewrite=ON")
"""Without these a killed server forgets what it has committed and logged: its data no longer are what its log says."""
TOOL_ENVIRONMENT = {"TZ": "UTC", "LC_ALL": "C", "PATH": os.environ.get("PATH", "/usr/bin:/bin")}


class ServerError(Exception):
    """A server is missing, or did not do what it was asked for."""


# --- which programs ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Binaries:
    """The programs of one kind of server."""

    server: Path
    reader: Path
    """mysqlbinlog or mariadb-binlog."""
    version: str


@cache
def mysql_binaries() -> Binaries:
    return _binaries("mysql", "mysqld", "mysqlbinlog")


@cache
def mariadb_binaries() -> Binaries:
    return _binaries("mariadb", "mariadbd", "mariadb-binlog")


def _binaries(name: str, server: str, reader: str) -> Binaries:
    recipe = next(each for each in fetch_servers.SERVERS if each.name == name)
    own = [os.environ.get(variable, "") for variable in recipe.variables]
    if any(own):
        for variable, path in zip(recipe.variables, own, strict=True):
            if not os.access(path, os.X_OK):
                raise ServerError(f"{variable} must name a program that can be run, not {path!r}")
        said = subprocess.run([own[0], "--version"], capture_output=True, text=True, check=True)
        return Binaries(Path(own[0]).absolute(), Path(own[1]).absolute(), said.stdout.strip())
    folder = fetch_servers.cache_folder()
    version = fetch_servers.fetched_version(recipe, folder)
    if version is None:
        raise ServerError(
            f"no {recipe.title} in {folder}: run `make servers`, or set {' and '.join(recipe.variables)}"
        )
    bin_folder = folder / name / "bin"
    return Binaries(bin_folder / server, bin_folder / reader, version)


# --- the log readers --------------------------------------------------------------------------------------


def mysqlbinlog(*arguments: str | Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run mysqlbinlog; give exit code, standard output and standard error."""
    return _run_reader(mysql_binaries().reader, arguments, stdin)


def mariadb_binlog(*arguments: str | Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run mariadb-binlog; give exit code, standard output and standard error."""
    return _run_reader(mariadb_binaries().reader, arguments, stdin)


def run_mysqlbinlog(*arguments: str | Path, stdin: bytes = b"") -> bytes:
    """What mysqlbinlog prints; ServerError if it fails."""
    return _checked(mysqlbinlog(*arguments, stdin=stdin))


def run_mariadb_binlog(*arguments: str | Path, stdin: bytes = b"") -> bytes:
    """What mariadb-binlog prints; ServerError if it fails."""
    return _checked(mariadb_binlog(*arguments, stdin=stdin))


def _run_reader(
    reader: Path, arguments: Sequence[str | Path], stdin: bytes
) -> subprocess.CompletedProcess[bytes]:
    command = [str(reader), "--no-defaults", *map(str, arguments)]
    return subprocess.run(command, env=TOOL_ENVIRONMENT, input=stdin, capture_output=True, check=False)


def _checked(done: subprocess.CompletedProcess[bytes]) -> bytes:
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise ServerError(f"exit {done.returncode} from {' '.join(done.args)}: {said}")
    return done.stdout


# --- the servers ------------------------------------------------------------------------------------------


class Server:
    """What MySQL and MariaDB have in common."""

    name: ClassVar[str]
    options: ClassVar[tuple[str, ...]] = (
        "--bind-address=127.0.0.1",
        "--server-id=1",
        "--default-time-zone=+00:00",
        "--character-set-server=utf8mb4",
        "--local-infile=ON",
        "--max-allowed-packet=1G",
        "--secure-file-priv=",
        "--sync-binlog=0",
        "--innodb-buffer-pool-size=32M",
        "--innodb-doublewrite=OFF",
        "--innodb-flush-log-at-trx-commit=0",
        "--innodb-flush-method=nosync",
    )

    def __init__(
        self,
        folder: Path,
        *options: str,
        binaries: Binaries | None = None,
        encrypted: bool = False,
    ) -> None:
        """A stopped server in `folder` (made if need be). `encrypted` gives it a key for its logs."""
        self.folder = folder.absolute()
        self.binaries = binaries or self.default_binaries()
        self.extra_options = options
        self.encrypted = encrypted
        self.port = 0
        self.data_dir = self.folder / "data"
        self.binlog_dir = self.folder / "logs"
        self.tmp_dir = self.folder / "tmp"
        self.error_log = self.folder / "error.log"
        self.socket = self.folder / "sock"
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: pymysql.Connection[Any] | None = None
        if len(os.fsencode(self.socket)) > MAX_SOCKET_PATH:
            raise ServerError(f"{self.folder}: too long a path for the server's socket, use a shorter one")
        if not self.data_dir.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            self.binlog_dir.mkdir()
            self.tmp_dir.mkdir()
            copy_folder(self.template(self.binaries), self.data_dir)
            if encrypted:
                self.write_keys()

    @classmethod
    @contextmanager
    def temporary(cls, *options: str, encrypted: bool = False) -> Iterator[Self]:
        """A running server in a new folder; both are gone afterwards."""
        with short_temporary_folder() as folder:
            server = cls(folder / "s", *options, encrypted=encrypted)
            try:
                server.start()
                yield server
            finally:
                server.crash()

    # What differs between the two kinds.

    reader_options: ClassVar[tuple[str, ...]] = ()
    """What its log reader needs in order to log in."""

    def reset_logs(self) -> None:
        """Remove all logs and all that is known of GTIDs; numbers begin anew."""
        raise NotImplementedError

    def follow(self, source: Self, settings: str = "") -> None:
        """Become a read-only replica of `source` by GTIDs. MySQL needs GTIDs on both; MariaDB's replica keeps logs of
        its own with --log-slave-updates."""
        raise NotImplementedError

    def wait_for(self, source: Self, seconds: int = 60) -> None:
        """Wait until this replica has applied what `source` has in its logs now."""
        raise NotImplementedError

    def promote(self) -> None:
        """Stop being a replica, and accept writes."""
        raise NotImplementedError

    @classmethod
    def semi_sync_source(cls, seconds: int) -> list[str]:
        """The options of a source whose commits wait so long for a replica's acknowledgement."""
        raise NotImplementedError

    @classmethod
    def semi_sync_replica(cls) -> list[str]:
        """The options of a replica that acknowledges."""
        raise NotImplementedError

    def acknowledged(self) -> int:
        """How many commits of a semi-synchronous source were acknowledged."""
        raise NotImplementedError

    @classmethod
    def default_binaries(cls) -> Binaries:
        raise NotImplementedError

    @classmethod
    def initialise(cls, binaries: Binaries, data_dir: Path) -> None:
        """Create an empty server's data folder."""
        raise NotImplementedError

    def write_keys(self) -> None:
        """Write what the server needs in order to encrypt its logs."""
        raise NotImplementedError

    def key_options(self) -> list[str]:
        """The options that make it encrypt its logs."""
        raise NotImplementedError

    @property
    def key_file(self) -> Path:
        """The file that holds the keys of an encrypted server's logs."""
        return self.folder / "keys"

    # Starting and stopping.

    @classmethod
    def template(cls, binaries: Binaries) -> Path:
        """The initialised data folder of this version: made once, kept in the cache, only ever copied."""
        key = hashlib.sha256("\n".join([binaries.version, str(binaries.server), *cls.options]).encode())
        folder = fetch_servers.cache_folder() / "templates"
        final = folder / f"{cls.name}-{key.hexdigest()[:16]}"
        if final.exists():
            return final
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not final.exists():
                with tempfile.TemporaryDirectory(prefix=".new-", dir=folder) as work:
                    data_dir = Path(work) / "data"
                    cls.initialise(binaries, data_dir)
                    # Without it, each copy makes a server UUID of its own.
                    (data_dir / "auto.cnf").unlink(missing_ok=True)
                    data_dir.rename(final)
        return final

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def adopt(self, logs: Sequence[Path]) -> None:
        """Take copies of these logs for one's own, before the first start; the server goes on behind them."""
        copies = [self.binlog_dir / log.name for log in logs]
        for log, copy in zip(logs, copies, strict=True):
            if log.stem != "binlog":
                raise ServerError(f"{log}: a server's logs are called binlog.000001 and so on")
            copy_folder(log, copy)
        self.binlog_index.write_text("".join(f"{copy}\n" for copy in copies))

    def start(self, *more_options: str) -> None:
        """Start the server and wait until it answers. `more_options` hold for this start only."""
        if self.running:
            raise ServerError(f"{self.folder} is running already")
        for attempt in range(5):
            # A restarted server keeps its port if it can: its replicas know it.
            if attempt or not self.port:
                self.port = free_port()
            log_size = self.error_log.stat().st_size if self.error_log.exists() else 0
            self._spawn(more_options)
            try:
                self._wait_until_ready()
                return
            except ServerError:
                self.crash()
                if b"Address already in use" not in self.error_log.read_bytes()[log_size:]:
                    raise
        raise ServerError("found no free port in five attempts")

    def _spawn(self, more_options: Sequence[str]) -> None:
        command = [
            str(self.binaries.server),
            "--no-defaults",
            *user_option(),
            *self.options,
            f"--datadir={self.data_dir}",
            f"--tmpdir={self.tmp_dir}",
            f"--socket={self.socket}",
            f"--pid-file={self.folder / 'pid'}",
            f"--port={self.port}",
            f"--log-bin={self.binlog_dir / 'binlog'}",
            f"--relay-log={self.binlog_dir / 'relay'}",
            *(self.key_options() if self.encrypted else ()),
            *self.extra_options,
            *more_options,
        ]
        with self.error_log.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for pytest
            )
        atexit.register(self.crash)

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if not self.running:
                raise ServerError(f"the server did not start; its log ends:\n{self.log_tail()}")
            with suppress(pymysql.MySQLError, OSError):
                self._connection = self.connect()
                return
            time.sleep(0.03)
        raise ServerError(f"the server did not answer in {START_SECONDS} s; its log ends:\n{self.log_tail()}")

    def stop(self) -> None:
        """Shut the server down cleanly: its current log ends in a STOP event."""
        if not self.running:
            raise ServerError(f"{self.folder} is not running: {self.log_tail()}")
        assert self._process is not None
        self.disconnect()
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.crash()
            raise ServerError(f"the server did not stop in {STOP_SECONDS} s:\n{self.log_tail()}") from None
        self._process = None
        atexit.unregister(self.crash)

    def crash(self) -> None:
        """Kill the server at once, as a power cut would (kill -9). Harmless if it is not running."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None
            atexit.unregister(self.crash)
        self.disconnect()  # not before: with our connection the locks would go that it holds

    def restart(self, *more_options: str) -> None:
        self.stop()
        self.start(*more_options)

    def recover(self, *more_options: str) -> None:
        """Kill the server at once and start it again: it repairs its data and its log. See `CRASH_SAFE`."""
        self.crash()
        self.start(*more_options)

    def log_tail(self) -> str:
        """The last lines of the server's error log."""
        lines = self.error_log.read_text(errors="replace").splitlines() if self.error_log.exists() else []
        return "\n".join(lines[-25:])

    # SQL.

    def connect(self, **settings: Any) -> pymysql.Connection[Any]:
        """A new connection as root (autocommit, several statements in one call); the caller closes it."""
        defaults: dict[str, Any] = {
            "host": "127.0.0.1",
            "port": self.port,
            "user": "root",
            "password": "",
            "charset": "utf8mb4",
            "autocommit": True,
            "local_infile": True,
            "max_allowed_packet": 1 << 30,
            "client_flag": CLIENT.MULTI_STATEMENTS,
        }
        return pymysql.connect(**{**defaults, **settings})

    @property
    def connection(self) -> pymysql.Connection[Any]:
        """The connection that `query` and `execute` use: session variables stay set."""
        if self._connection is None or not self._connection.open:
            if not self.running:
                raise ServerError(f"{self.folder} is not running:\n{self.log_tail()}")
            self._connection = self.connect()
        return self._connection

    def query(self, sql: str | bytes, *arguments: object) -> list[tuple[Any, ...]]:
        """Run one statement and give its rows. With arguments, they replace `%s` in the statement."""
        with self.connection.cursor() as cursor:
            cursor.execute(sql, arguments or None)
            return list(cursor.fetchall())

    def execute(self, statements: str | bytes | Sequence[str | bytes]) -> None:
        """Run a script (statements split by `;`, by the server itself) or a list of statements."""
        if isinstance(statements, str):
            statements = [statements.strip().rstrip(";")]
        elif isinstance(statements, bytes):
            statements = [statements.strip().rstrip(b";")]
        with self.connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
                while cursor.nextset():
                    pass

    def flush(self) -> None:
        """Begin a new log file."""
        self.execute("FLUSH BINARY LOGS")

    def purge_to(self, log: Path, patience: float = 60.0) -> None:
        """Remove the logs before this one; ServerError if a reader of one of them keeps it for so many seconds. A server
        notices late that a reader has gone."""
        deadline = time.monotonic() + patience
        while True:
            self.execute(f"PURGE BINARY LOGS TO '{log.name}'")
            if self.binlogs()[0].name == log.name:
                return
            if time.monotonic() > deadline:
                raise ServerError(f"{self.binlogs()[0].name} was not purged: it is being read")
            time.sleep(0.05)

    def add_user(self, name: str, password: str, *privileges: str) -> None:
        """A user who may do this and nothing else. No log tells of it: replicas keep users of their own."""
        statements = [f"CREATE USER '{name}'@'localhost' IDENTIFIED BY '{password}'"]
        if privileges:
            statements.append(f"GRANT {', '.join(privileges)} ON *.* TO '{name}'@'localhost'")
        self.execute(["SET sql_log_bin = 0", *statements, "SET sql_log_bin = 1"])

    def require_tls(self) -> None:
        """Refuse plain connections over TCP until the next start. Ours use TLS wherever a server offers it; a MariaDB
        of ours does so with --ssl=ON."""
        self.execute("SET GLOBAL require_secure_transport = ON")

    def remote_options(self, port: int = 0) -> list[str]:
        """What its log reader needs to read from this server, perhaps at another port: a proxy's."""
        address = ["--host=127.0.0.1", f"--port={port or self.port}", "--user=root"]
        return ["--read-from-remote-server", *address, *self.reader_options]

    def binlogs(self) -> list[Path]:
        """The log files, oldest first."""
        return numbered(self.binlog_dir, "binlog")

    @property
    def binlog_index(self) -> Path:
        return self.binlog_dir / "binlog.index"

    def relay_logs(self) -> list[Path]:
        """The relay log files of a replica (see `replicate_from`), oldest first."""
        return numbered(self.binlog_dir, "relay")

    def disconnect(self) -> None:
        """Close that connection; the next statement opens another."""
        if self._connection is not None:
            with suppress(pymysql.MySQLError, OSError):
                self._connection.close()
            self._connection = None


class MySQLServer(Server):
    name = "mysql"
    reader_options = ("--get-server-public-key",)
    options = (
        *Server.options,
        "--mysqlx=OFF",
        "--performance-schema=OFF",
        "--innodb-redo-log-capacity=64M",
        "--skip-replica-start",
        "--log-error-verbosity=2",
    )

    @classmethod
    def default_binaries(cls) -> Binaries:
        return mysql_binaries()

    @classmethod
    def initialise(cls, binaries: Binaries, data_dir: Path) -> None:
        options = ["--initialize-insecure", *user_option(), *cls.options, f"--datadir={data_dir}"]
        run_setup([str(binaries.server), "--no-defaults", *options])

    def write_keys(self) -> None:
        # The fetched mysqld looks for these two in its data folder (see tools/fetch_servers.py).
        manifest = '{ "components": "file://component_keyring_file" }\n'
        settings = f'{{ "path": "{self.key_file}", "read_only": false }}\n'
        for file, text in (("mysqld.my", manifest), ("component_keyring_file.cnf", settings)):
            (self.data_dir / file).write_text(text)
            (self.data_dir / file).chmod(0o444)

    def key_options(self) -> list[str]:
        return ["--binlog-encryption=ON"]

    @property
    def uuid(self) -> str:
        [(value,)] = self.query("SELECT @@server_uuid")
        return str(value)

    def take_uuid(self, uuid: str) -> None:
        """Have this UUID from the next start on."""
        (self.data_dir / "auto.cnf").write_text(f"[auto]\nserver-uuid={uuid}\n")

    def reset_logs(self) -> None:
        self.execute("RESET BINARY LOGS AND GTIDS")

    @classmethod
    def semi_sync_source(cls, seconds: int) -> list[str]:
        timeout = f"--rpl-semi-sync-source-timeout={seconds * 1000}"
        return ["--plugin-load-add=semisync_source.so", "--rpl-semi-sync-source-enabled=ON", timeout]

    @classmethod
    def semi_sync_replica(cls) -> list[str]:
        return ["--plugin-load-add=semisync_replica.so", "--rpl-semi-sync-replica-enabled=ON"]

    def acknowledged(self) -> int:
        [(_, count)] = self.query("SHOW STATUS LIKE 'Rpl_semi_sync_source_yes_tx'")
        return int(count)

    def follow(self, source: MySQLServer, settings: str = "") -> None:
        self.execute("SET GLOBAL super_read_only = ON")
        self.replicate_from(source, ", ".join(filter(None, ("SOURCE_AUTO_POSITION=1", settings))))

    def promote(self) -> None:
        self.execute(["STOP REPLICA", "RESET REPLICA ALL", "SET GLOBAL super_read_only = OFF"])
        self.execute("SET GLOBAL read_only = OFF")

    def replicate_from(self, source: MySQLServer, settings: str = "") -> None:
        """Become a replica of `source`, whose --server-id must differ; `settings` are added to CHANGE."""
        more = f", {settings}" if settings else ""
        self.execute(
            f"CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={source.port}, "
            f"SOURCE_USER='root', SOURCE_PASSWORD='', GET_SOURCE_PUBLIC_KEY=1{more}"
        )
        self.execute("START REPLICA")

    def wait_for(self, source: MySQLServer, seconds: int = 60) -> None:
        [status] = source.query("SHOW BINARY LOG STATUS")
        [(result,)] = self.query("SELECT SOURCE_POS_WAIT(%s, %s, %s)", status[0], status[1], seconds)
        if result is None or result < 0:
            raise ServerError(f"the replica did not catch up in {seconds} s:\n{self.log_tail()}")


class MariaDBServer(Server):
    name = "mariadb"
    reader_options = ("--skip-ssl",)
    options = (
        *Server.options,
        "--innodb-log-file-size=64M",
        "--skip-ssl",
        "--skip-slave-start",
    )

    @classmethod
    def default_binaries(cls) -> Binaries:
        return mariadb_binaries()

    @classmethod
    def initialise(cls, binaries: Binaries, data_dir: Path) -> None:
        places = [binaries.server.parent, binaries.server.parent.parent / "bin"]
        installers = [place / "mariadb-install-db" for place in places]
        installer = next((path for path in installers if path.exists()), None)
        if installer is None:
            raise ServerError(f"mariadb-install-db is not beside {binaries.server}")
        options = ["--auth-root-authentication-method=normal", "--skip-test-db", *user_option()]
        run_setup([str(installer), "--no-defaults", *options, f"--datadir={data_dir}", *cls.options])

    def write_keys(self) -> None:
        self.key_file.write_text(f"1;{os.urandom(32).hex()}\n")

    def key_options(self) -> list[str]:
        return [
            "--plugin-load-add=file_key_management",
            f"--file-key-management-filename={self.key_file}",
            "--encrypt-binlog=ON",
        ]

    def reset_logs(self) -> None:
        self.execute("RESET MASTER")

    @classmethod
    def semi_sync_source(cls, seconds: int) -> list[str]:
        return ["--rpl-semi-sync-master-enabled=ON", f"--rpl-semi-sync-master-timeout={seconds * 1000}"]

    @classmethod
    def semi_sync_replica(cls) -> list[str]:
        return ["--rpl-semi-sync-slave-enabled=ON"]

    def acknowledged(self) -> int:
        [(_, count)] = self.query("SHOW STATUS LIKE 'Rpl_semi_sync_master_yes_tx'")
        return int(count)

    def follow(self, source: MariaDBServer, settings: str = "") -> None:
        self.execute("SET GLOBAL read_only = ON")
        self.replicate_from(source, ", ".join(filter(None, ("MASTER_USE_GTID=slave_pos", settings))))

    def promote(self) -> None:
        self.execute(["STOP SLAVE", "RESET SLAVE ALL", "SET GLOBAL read_only = OFF"])

    def replicate_from(self, source: MariaDBServer, settings: str = "") -> None:
        """Become a replica of `source`, whose --server-id must differ; `settings` are added to CHANGE."""
        more = f", {settings}" if settings else ""
        self.execute(
            f"CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={source.port}, MASTER_USER='root', "
            f"MASTER_PASSWORD='', MASTER_SSL=0{more}"
        )
        self.execute("START SLAVE")

    def wait_for(self, source: MariaDBServer, seconds: int = 60) -> None:
        [status] = source.query("SHOW MASTER STATUS")
        [(result,)] = self.query("SELECT MASTER_POS_WAIT(%s, %s, %s)", status[0], status[1], seconds)
        if result is None or result < 0:
            raise ServerError(f"the replica did not catch up in {seconds} s:\n{self.log_tail()}")


# --- small parts ------------------------------------------------------------------------------------------


def user_option() -> list[str]:
    """The servers refuse to run as root unless told that it is meant."""
    return ["--user=root"] if os.geteuid() == 0 else []


def run_setup(command: list[str]) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode:
        said = (done.stdout + done.stderr).decode(errors="replace").strip()
        raise ServerError(f"{' '.join(command)} failed:\n{said}")


def copy_folder(source: Path, target: Path) -> None:
    """Copy a tree, sharing blocks where the file system can, and leaving holes where there are zeros."""
    subprocess.run(
        ["cp", "--archive", "--reflink=auto", "--sparse=always", "--", str(source), str(target)], check=True
    )


def numbered(folder: Path, stem: str) -> list[Path]:
    """The files `stem.000001`, `stem.000002`… of a folder, in the order of their numbers."""
    found = [path for path in folder.glob(f"{stem}.*") if path.suffix[1:].isdigit()]
    return sorted(found, key=lambda path: int(path.suffix[1:]))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def short_temporary_folder() -> Iterator[Path]:
    """A temporary folder whose path is short enough for a socket in it."""
    base = tempfile.gettempdir()
    if len(os.fsencode(base)) > MAX_SOCKET_PATH - 40:
        base = "/tmp"
    with tempfile.TemporaryDirectory(prefix="gtidal-", dir=base) as name:
        yield Path(name)
