"""tools/fetch_servers.py without a network: reading apt's sources, the cache, the variables."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import fetch_servers

ONE_LINE = """\
# deb http://mirror.test/commented stable main
deb-src http://mirror.test/debian stable main
deb [arch=amd64 signed-by=KEYRING] http://mirror.test/debian/ bookworm main contrib  # ours
deb http://mirror.test/debian-security bookworm-security main
deb http://mirror.test/nonfree bookworm non-free
deb\tftp://tabs.test/debian\tstable\tmain
"""

DEB822 = """\
Types: deb deb-src
# a comment
URIs: http://one.test/debian http://two.test/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: KEYRING

Types: deb
URIs: http://one.test/debian-security
Suites: bookworm-security
Components: main

Types: deb
Enabled: no
URIs: http://off.test/debian
Suites: bookworm
Components: main

Types: deb
URIs: http://embedded.test/debian
Suites: stable
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 -----END PGP PUBLIC KEY BLOCK-----
"""


def test_mirrors_of_both_formats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, default = tmp_path / "own.gpg", tmp_path / "default.gpg"
    own.touch()
    default.touch()
    monkeypatch.setattr(fetch_servers, "ARCHIVE_KEYRINGS", (str(default),))
    (tmp_path / "sources.list").write_text(ONE_LINE.replace("KEYRING", str(own)))
    parts = tmp_path / "sources.list.d"
    parts.mkdir()
    (parts / "debian.sources").write_text(DEB822.replace("KEYRING", str(tmp_path / "missing.gpg")))
    (parts / "other.list.disabled").write_text("deb http://disabled.test/debian stable main\n")
    assert fetch_servers.machine_mirrors(tmp_path) == [
        fetch_servers.Mirror("http://mirror.test/debian", str(own)),
        fetch_servers.Mirror("ftp://tabs.test/debian", str(default)),
        fetch_servers.Mirror("http://one.test/debian", str(default)),
        fetch_servers.Mirror("http://two.test/debian", str(default)),
        fetch_servers.Mirror("http://embedded.test/debian", str(default)),
    ]


def test_no_sources_no_mirrors(tmp_path: Path) -> None:
    assert fetch_servers.machine_mirrors(tmp_path) == []


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GTIDAL_CACHE", raising=False)
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert fetch_servers.cache_folder() == Path("/home/someone/.cache/gtidal/servers")
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/tmp/cache")
    assert fetch_servers.cache_folder() == Path("/var/tmp/cache/gtidal/servers")
    monkeypatch.setenv("GTIDAL_CACHE", "~/servers")
    assert fetch_servers.cache_folder() == Path("/home/someone/servers")


class TestProvide:
    @pytest.fixture(autouse=True)
    def _no_fetching(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for server in fetch_servers.SERVERS:
            for variable in server.variables:
                monkeypatch.delenv(variable, raising=False)
        monkeypatch.setattr(fetch_servers, "machine_mirrors", list)

    server = fetch_servers.SERVERS[0]

    def test_a_machine_without_a_mirror_is_told_what_to_set(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert not fetch_servers.provide(self.server, tmp_path, refresh=False)
        said = capsys.readouterr().err
        assert "names no Debian mirror" in said
        assert "set GTIDAL_MYSQLD and GTIDAL_MYSQLBINLOG" in said
        assert [path.name for path in tmp_path.iterdir()] == ["lock"]

    def test_servers_of_ones_own(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv("GTIDAL_MYSQLD", "/bin/sh")
        assert not fetch_servers.provide(self.server, tmp_path, refresh=False)
        assert "GTIDAL_MYSQLBINLOG is not" in capsys.readouterr().err
        monkeypatch.setenv("GTIDAL_MYSQLBINLOG", "/no/such/program")
        assert not fetch_servers.provide(self.server, tmp_path, refresh=False)
        assert "/no/such/program" in capsys.readouterr().err
        monkeypatch.setenv("GTIDAL_MYSQLBINLOG", "/bin/sh")
        assert fetch_servers.provide(self.server, tmp_path, refresh=False)

    def test_what_is_there_is_left_alone_until_it_is_refreshed(self, tmp_path: Path) -> None:
        folder = tmp_path / self.server.name
        folder.mkdir()
        (folder / "version").write_text("9.7.0\n")
        assert fetch_servers.fetched_version(self.server, tmp_path) is None
        (folder / "recipe").write_text(fetch_servers.RECIPE + "\n")
        assert fetch_servers.fetched_version(self.server, tmp_path) == "9.7.0"
        assert fetch_servers.provide(self.server, tmp_path, refresh=False)
        assert not fetch_servers.provide(self.server, tmp_path, refresh=True)  # no mirror here
        assert fetch_servers.fetched_version(self.server, tmp_path) == "9.7.0"


def test_wrappers_run_programs_through_their_own_loader(tmp_path: Path) -> None:
    """With a shell script in the loader's place, a wrapper shows what it calls; it may be moved."""
    folder = tmp_path / "made here"
    place = folder / "root" / "usr" / "lib" / "x86_64-linux-gnu"
    place.mkdir(parents=True)
    loader = place / "ld-linux-x86-64.so.2"
    loader.write_text('#!/bin/sh\nfor word do echo "$word"; done\n')
    loader.chmod(0o755)
    server = fetch_servers.Server(
        name="x",
        title="X",
        suite="stable",
        packages=("x",),
        programs={"xd": "usr/sbin/xd"},
        variables=("A", "B"),
        options={"xd": ("--basedir=$root/usr",)},
    )
    fetch_servers.write_programs(server, folder)
    moved = tmp_path / "moved away"
    folder.rename(moved)
    said = subprocess.run(
        [moved / "bin" / "xd", "--no-defaults", "a b"], capture_output=True, text=True, check=True
    )
    root = moved / "root"
    assert said.stdout.splitlines() == [
        "--library-path",
        f"{root}/usr/lib/x86_64-linux-gnu",
        f"{root}/usr/sbin/xd",
        "--no-defaults",
        f"--basedir={root}/usr",
        "a b",
    ]
