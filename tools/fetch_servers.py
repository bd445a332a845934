#!/usr/bin/env python3
"""Fetch a real MySQL and a real MariaDB for the tests, without root and without installing anything.

The packages come from the machine's own Debian mirror: MySQL from the suite `unstable`, MariaDB from
`stable`. A private apt configuration with an empty package database makes apt download the servers with
everything they need, the C library included. The packages are unpacked below a cache folder, and small
wrapper scripts run the programs through the dynamic loader unpacked beside them:

    CACHE/mysql/bin/      mysqld  mysqlbinlog  mysql
    CACHE/mariadb/bin/    mariadbd  mariadb-binlog  mariadb  mariadb-install-db
    CACHE/*/version       the package version that was fetched
    CACHE/*/root/         the unpacked packages

CACHE is $GTIDAL_CACHE, else $XDG_CACHE_HOME/gtidal/servers, else ~/.cache/gtidal/servers. A server that
is there already is left alone; --refresh fetches it again. Servers of your own are named with
GTIDAL_MYSQLD and GTIDAL_MYSQLBINLOG, GTIDAL_MARIADBD and GTIDAL_MARIADB_BINLOG; then nothing is fetched.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

# Raise it when the layout of a fetched server changes: older copies are then fetched again.
RECIPE = "1"

ARCHIVE_KEYRINGS = (
    "/usr/share/keyrings/debian-archive-keyring.gpg",
    "/usr/share/keyrings/debian-archive-keyring.pgp",
)


class FetchError(Exception):
    """Something is missing; the text says what, and what to do."""


@dataclass(frozen=True)
class Server:
    """What to fetch for one kind of server, and how its programs are called."""

    name: str
    title: str
    suite: str
    packages: tuple[str, ...]
    """Fetched with everything they depend on."""
    programs: Mapping[str, str]
    """Wrapper name -> program inside the unpacked tree."""
    variables: tuple[str, str]
    """Environment variables that name other binaries: the server and its log reader."""
    bare_packages: tuple[str, ...] = ()
    """Fetched alone: their dependencies are for parts that the tests do not use."""
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Wrapper name -> options it gives to the program, before the caller's ($root: the unpacked tree)."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Path inside the unpacked tree -> text, written after unpacking."""
    scripts: Mapping[str, str] = field(default_factory=dict)
    """Name -> text of further scripts in bin/."""
    expired_index_ok: bool = False
    """Accept the suite's index after its validity date (signatures are verified all the same)."""


# mysqld reads keyring settings from files beside its program; these send it to the data folder instead, so
# that each test server decides for itself whether it has a keyring.
KEYRING_FILES = {
    "usr/sbin/mysqld.my": '{ "read_local_manifest": true }\n',
    "usr/lib/mysql/plugin/component_keyring_file.cnf": '{ "read_local_config": true }\n',
}

# The packaged mariadb-install-db starts programs without our loader. This one does its work: it feeds the
# system tables to `mariadbd --bootstrap`. root has no password, there is no test schema, and the options
# of the original that ask for this are accepted.
MARIADB_INSTALL_DB = """\
#!/bin/sh
# Create MariaDB's system tables: mariadb-install-db --no-defaults --datadir=FOLDER [mariadbd options]
set -eu
here=$(dirname -- "$(readlink -f -- "$0")")
share=$here/../root/usr/share/mariadb
for argument do
    shift
    case $argument in
        --auth-root-authentication-method=normal | --skip-test-db) ;;
        --datadir=*) mkdir -p -- "${argument#--datadir=}/mysql"; set -- "$@" "$argument" ;;
        *) set -- "$@" "$argument" ;;
    esac
done
{
    # The bootstrap takes one statement per line.
    printf '%s;\\n' "create database if not exists mysql" "use mysql" "set @auth_root_socket=NULL"
    cat "$share/mariadb_system_tables.sql" "$share/mariadb_performance_tables.sql"
    echo "set @skip_auth_anonymous_user=1, @current_hostname='localhost';"
    cat "$share/mariadb_system_tables_data.sql" "$share/fill_help_tables.sql"
    cat "$share/maria_add_gis_sp_bootstrap.sql" "$share/mariadb_sys_schema.sql"
} | "$here/mariadbd" "$@" --bootstrap --silent-startup --enforce-storage-engine="" --max-allowed-packet=8M \\
    --net-buffer-length=16K
"""

SERVERS = (
    Server(
        name="mysql",
        title="MySQL",
        suite="unstable",
        packages=("mysql-server-core", "mysql-client-core"),
        programs={
            "mysqld": "usr/sbin/mysqld",
            "mysqlbinlog": "usr/bin/mysqlbinlog",
            "mysql": "usr/bin/mysql",
        },
        options={"mysqld": ("--secure-file-priv=",)},  # the packaged default names a folder of the system
        variables=("GTIDAL_MYSQLD", "GTIDAL_MYSQLBINLOG"),
        files=KEYRING_FILES,
        expired_index_ok=True,
    ),
    Server(
        name="mariadb",
        title="MariaDB",
        suite="stable",
        packages=("mariadb-server-core", "mariadb-client-core"),
        # mariadb-server holds the plugins (file_key_management), mariadb-client the log reader; they
        # would bring Perl and Galera along.
        bare_packages=("mariadb-server", "mariadb-client"),
        programs={
            "mariadbd": "usr/sbin/mariadbd",
            "mariadb-binlog": "usr/bin/mariadb-binlog",
            "mariadb": "usr/bin/mariadb",
        },
        options={
            "mariadbd": (
                "--basedir=$root/usr",
                "--plugin-dir=$root/usr/lib/mysql/plugin",
                "--lc-messages-dir=$root/usr/share/mariadb",
                "--character-sets-dir=$root/usr/share/mariadb/charsets",
            ),
            "mariadb-binlog": ("--character-sets-dir=$root/usr/share/mariadb/charsets",),
            "mariadb": ("--character-sets-dir=$root/usr/share/mariadb/charsets",),
        },
        variables=("GTIDAL_MARIADBD", "GTIDAL_MARIADB_BINLOG"),
        scripts={"mariadb-install-db": MARIADB_INSTALL_DB},
    ),
)


def cache_folder() -> Path:
    """Where fetched servers are kept."""
    if chosen := os.environ.get("GTIDAL_CACHE"):
        return Path(chosen).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().absolute() / "gtidal" / "servers"


def fetched_version(server: Server, cache: Path) -> str | None:
    """The version in the cache, or None if there is none that this script would make today."""
    folder = cache / server.name
    try:
        if (folder / "recipe").read_text().strip() != RECIPE:
            return None
        return (folder / "version").read_text().strip()
    except OSError:
        return None


# --- the machine's mirror ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mirror:
    """A Debian archive that the machine's apt is set up for, and the key that signs it."""

    uri: str
    keyring: str | None


def machine_mirrors(etc: Path = Path("/etc/apt")) -> list[Mirror]:
    """The archives in the machine's apt sources: both file formats, each archive once, in order."""
    mirrors: dict[str, Mirror] = {}
    for path in [etc / "sources.list", *sorted((etc / "sources.list.d").glob("*"))]:
        if not path.is_file():
            continue
        text = path.read_text(errors="replace")
        if path.suffix == ".list":
            entries = one_line_entries(text)
        elif path.suffix == ".sources":
            entries = deb822_entries(text)
        else:
            continue
        for uri, suites, components, signed_by in entries:
            only_security = all("security" in suite for suite in suites)
            if "main" in components and not only_security:
                mirrors.setdefault(uri.rstrip("/"), Mirror(uri.rstrip("/"), existing_keyring(signed_by)))
    return list(mirrors.values())


Entry = tuple[str, list[str], list[str], str]
"""URI, suites, components, Signed-By."""


def one_line_entries(text: str) -> Iterator[Entry]:
    """Read `deb [option=value …] URI suite component…` lines."""
    for line in text.splitlines():
        kind, *more = line.partition("#")[0].split(maxsplit=1) or [""]
        if kind != "deb" or not more:
            continue
        rest = more[0]
        options: dict[str, str] = {}
        if rest.startswith("["):
            inside, _, rest = rest[1:].partition("]")
            options = dict(part.split("=", 1) for part in inside.split() if "=" in part)
        words = rest.split()
        if len(words) >= 2:
            yield words[0], [words[1]], words[2:], options.get("signed-by", "")


def deb822_entries(text: str) -> Iterator[Entry]:
    """Read `Types: / URIs: / Suites: / Components: / Signed-By:` paragraphs."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    for paragraph in "\n".join(line.rstrip() for line in lines).split("\n\n"):
        fields: dict[str, str] = {}
        name = ""
        for line in paragraph.splitlines():
            if line[:1].isspace():
                fields[name] = f"{fields.get(name, '')}\n{line.strip()}"
            elif ":" in line:
                name, value = line.split(":", 1)
                name = name.strip().lower()
                fields[name] = value.strip()
        if "deb" not in fields.get("types", "").split() or fields.get("enabled", "yes").lower() == "no":
            continue
        for uri in fields.get("uris", "").split():
            suites = fields.get("suites", "").split()
            yield uri, suites, fields.get("components", "").split(), fields.get("signed-by", "")


def existing_keyring(signed_by: str) -> str | None:
    """The keyring file to trust: the source's own, else Debian's, else whatever apt trusts by default."""
    own = signed_by.strip().split(",")[0]
    for path in (own, *ARCHIVE_KEYRINGS):
        if path.startswith("/") and Path(path).is_file():
            return path
    return None


# --- a private apt ----------------------------------------------------------------------------------------


class PrivateApt:
    """apt with a state, a cache and a source list of its own. It never touches the system's."""

    def __init__(self, folder: Path, mirror: Mirror, suite: str, *, expired_index_ok: bool) -> None:
        self.folder = folder
        self.archives = folder / "archives"
        self.bare_archives = folder / "bare"
        for path in ("state/lists/partial", "cache", "archives/partial", "bare", "log"):
            (folder / path).mkdir(parents=True)
        (folder / "status").touch()  # no package is installed: apt downloads them all
        architecture = run(["dpkg", "--print-architecture"]).strip()
        options = [f"arch={architecture}"]
        if mirror.keyring:
            options.append(f"signed-by={mirror.keyring}")
        if expired_index_ok:
            options.append("check-valid-until=no")
        (folder / "sources.list").write_text(f"deb [{' '.join(options)}] {mirror.uri} {suite} main\n")
        (folder / "apt.conf").write_text(self._configuration(architecture))
        self.environment = {**os.environ, "APT_CONFIG": str(folder / "apt.conf"), "LC_ALL": "C.UTF-8"}

    def _configuration(self, architecture: str) -> str:
        own = {
            "Dir::State": self.folder / "state",
            "Dir::State::status": self.folder / "status",
            "Dir::Cache": self.folder / "cache",
            "Dir::Cache::archives": self.archives,
            "Dir::Log": self.folder / "log",
            "Dir::Etc::sourcelist": self.folder / "sources.list",
            "Dir::Etc::sourceparts": "/dev/null",
            "Dir::Etc::preferences": "/dev/null",
            "Dir::Etc::preferencesparts": "/dev/null",
            # The machine's own settings would bring its hooks along; the ones on networking follow below.
            "Dir::Etc::main": "/dev/null",
            "Dir::Etc::parts": "/dev/null",
            "APT::Architecture": architecture,
            "APT::Install-Recommends": "false",
            "APT::Sandbox::User": "root",  # no change of user: the folders here are ours
            "Acquire::Languages": "none",
            "Acquire::Retries": "3",
        }
        lines = [f'{name} "{value}";' for name, value in own.items()]
        return "\n".join([*lines, *network_settings()]) + "\n"

    def update(self) -> None:
        """Fetch and verify the suite's index."""
        # Without this, apt-get update ends with 0 even if nothing could be fetched.
        run(["apt-get", "update", "--error-on=any", "-q"], env=self.environment)

    def download(self, packages: tuple[str, ...], bare_packages: tuple[str, ...]) -> list[Path]:
        """Fetch packages with all they need, and bare packages without; give the .deb files."""
        run(["apt-get", "install", "-q", "-y", "--download-only", *packages], env=self.environment)
        if bare_packages:
            run(["apt-get", "download", "-q", *bare_packages], env=self.environment, cwd=self.bare_archives)
        return sorted([*self.archives.glob("*.deb"), *self.bare_archives.glob("*.deb")])


def network_settings() -> list[str]:
    """The machine's apt settings for http, https and ftp (proxies, certificates, time limits)."""
    kept = ("Acquire::http::", "Acquire::https::", "Acquire::ftp::")
    return [line for line in run(["apt-config", "dump"]).splitlines() if line.startswith(kept)]


def run(
    command: list[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> str:
    """Run a command, give its output; FetchError with what it said if it fails."""
    try:
        done = subprocess.run(
            command,
            env=env,
            cwd=cwd,
            check=True,
            text=True,
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
    except FileNotFoundError:
        raise FetchError(
            f"this machine has no `{command[0]}`: servers can be fetched on Debian only"
        ) from None
    except subprocess.CalledProcessError as error:
        said = (error.stderr or error.stdout).strip()
        raise FetchError(f"`{' '.join(command)}` failed:\n{said}") from None
    return done.stdout


# --- fetching ---------------------------------------------------------------------------------------------


def fetch(server: Server, cache: Path) -> str:
    """Fetch one server into the cache, replacing what is there; give its version."""
    with tempfile.TemporaryDirectory(prefix=f".{server.name}-", dir=cache) as name:
        work = Path(name)
        debs = download(server, work)
        result = work / "result"
        root = result / "root"
        root.mkdir(parents=True)
        for deb in debs:
            run(["dpkg-deb", "-x", str(deb), str(root)])
        main_deb = next(deb for deb in debs if deb.name.startswith(f"{server.packages[0]}_"))
        version = run(["dpkg-deb", "-f", str(main_deb), "Version"]).strip()
        for path, text in server.files.items():
            (root / path).write_text(text)
            (root / path).chmod(0o444)
        write_programs(server, result)
        for program in server.programs:
            run([str(result / "bin" / program), "--version"])
        (result / "version").write_text(f"{version}\n")
        (result / "recipe").write_text(f"{RECIPE}\n")
        final = cache / server.name
        if final.exists():
            final.rename(work / "old")
        result.rename(final)
    return version


def download(server: Server, work: Path) -> list[Path]:
    """Download the server's packages from the first of the machine's mirrors that has them."""
    failures: list[str] = []
    for number, mirror in enumerate(machine_mirrors()):
        apt = PrivateApt(
            work / f"apt{number}", mirror, server.suite, expired_index_ok=server.expired_index_ok
        )
        try:
            apt.update()
            return apt.download(server.packages, server.bare_packages)
        except FetchError as error:
            failures.append(f"{mirror.uri} {server.suite}: {error}")
    if not failures:
        failures.append("the apt configuration of this machine names no Debian mirror (section `main`)")
    raise FetchError("\n".join(failures))


WRAPPER = """\
#!/bin/sh
root=$(dirname -- "$(readlink -f -- "$0")")/../root
root=$(CDPATH= cd -- "$root" && pwd)
# The options on defaults must stay first.
case ${{1-}} in
    --no-defaults | --defaults-*) first=$1; shift ;;
    *) first= ;;
esac
exec "$root/{loader}" --library-path "{libraries}" "$root/{program}" ${{first:+"$first"}}{options} "$@"
"""


def write_programs(server: Server, folder: Path) -> None:
    """Write the wrapper scripts, which find everything relative to themselves."""
    root = folder / "root"
    loader = find_loader(root)
    # Merged /usr or not: the libraries are beside the loader, or in the other of the two places.
    triplet = loader.resolve().parent.name
    places = (f"usr/lib/{triplet}", f"lib/{triplet}")
    libraries = ":".join(f"$root/{place}" for place in places if (root / place).is_dir())
    scripts = dict(server.scripts)
    for name, program in server.programs.items():
        options = "".join(f' "{option}"' for option in server.options.get(name, ()))
        scripts[name] = WRAPPER.format(
            loader=loader.relative_to(root), libraries=libraries, program=program, options=options
        )
    (folder / "bin").mkdir()
    for name, text in scripts.items():
        path = folder / "bin" / name
        path.write_text(text)
        path.chmod(0o755)


def find_loader(root: Path) -> Path:
    """The dynamic loader of the unpacked C library."""
    for pattern in ("usr/lib/*-linux-gnu*/ld-linux*.so.*", "lib/*-linux-gnu*/ld-linux*.so.*"):
        for path in sorted(root.glob(pattern)):
            return path
    raise FetchError("the downloaded packages hold no dynamic loader (ld-linux*.so.*)")


@contextmanager
def locked(cache: Path) -> Iterator[None]:
    """Let one process at a time fetch into the cache."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another process that fetches into {cache}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def provide(server: Server, cache: Path, *, refresh: bool) -> bool:
    """Make one server available; False (and a message) if it cannot be had."""
    named = [variable for variable in server.variables if os.environ.get(variable)]
    if len(named) == len(server.variables):
        for variable in named:
            if not os.access(os.environ[variable], os.X_OK):
                say(f"{server.title}: {variable}={os.environ[variable]} is not a program that can be run")
                return False
        say(f"{server.title}: using {os.environ[named[0]]}, nothing fetched")
        return True
    if named:
        missing = next(variable for variable in server.variables if variable not in named)
        say(f"{server.title}: {named[0]} is set but {missing} is not: set both or none")
        return False
    version = fetched_version(server, cache)
    if version and not refresh:
        say(f"{server.title} {version}: already in {cache / server.name}")
        return True
    try:
        with locked(cache):
            version = fetched_version(server, cache)
            if version and not refresh:  # another process fetched it while we waited
                say(f"{server.title} {version}: already in {cache / server.name}")
                return True
            say(f"{server.title}: fetching from Debian's suite '{server.suite}' into {cache / server.name}")
            begin = time.monotonic()
            version = fetch(server, cache)
            say(f"{server.title} {version}: fetched in {time.monotonic() - begin:.0f} s")
            return True
    except (FetchError, OSError, shutil.Error) as error:
        wanted = " and ".join(server.variables)
        say(
            f"{server.title} could not be fetched.\n{error}\n"
            f"If this machine's mirror has no Debian suite '{server.suite}', install {server.title} yourself "
            f"and set {wanted} to the server and its log reader."
        )
        return False


def main() -> int:
    parser = argparse.ArgumentParser(description="Fetch the real servers that the tests run against.")
    parser.add_argument("--refresh", action="store_true", help="fetch again what is there already")
    parser.add_argument(
        "servers", nargs="*", metavar="SERVER", help="mysql or mariadb (default: both)", default=[]
    )
    arguments = parser.parse_args()
    known = {server.name: server for server in SERVERS}
    for name in arguments.servers:
        if name not in known:
            parser.error(f"no such server: {name} (there are {', '.join(known)})")
    wanted = [known[name] for name in arguments.servers] or list(SERVERS)
    cache = cache_folder()
    results = [provide(server, cache, refresh=arguments.refresh) for server in wanted]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
