"""What holds for all tests: the markers `live` and `soak`, and a header that says with what they run."""

from __future__ import annotations

import os
from importlib.metadata import version
from pathlib import Path

import pytest
from hypothesis import settings

import fetch_servers  # tools/fetch_servers.py
from gtidal.columnar import kernel

LIVE = Path(__file__).parent / "live"

# For the tests' own storage. A Java passes its environment on to its workers, so these must be there before it starts;
# and whoever runs the tests keeps their own to themselves.
SECRET = "that nobody sees"
os.environ |= {"AWS_ACCESS_KEY_ID": "for the tests", "AWS_SECRET_ACCESS_KEY": SECRET}
os.environ.pop("AWS_SESSION_TOKEN", None)


settings.register_profile("same examples", derandomize=True)
settings.register_profile("new examples")


def pytest_configure(config: pytest.Config) -> None:
    # Ordinary runs answer "did this change break it?"; it is the soak that looks for what was never right.
    settings.load_profile("new examples" if "soak" in config.option.markexpr else "same examples")
    require_compiled_kernel()


def require_compiled_kernel() -> None:
    """Where the kernel must be compiled (`make test`, CI), nothing runs with another one, or with an old one."""
    if os.environ.get("GTIDAL_REQUIRE_COMPILED", "") in ("", "0"):
        return
    if interpreted := kernel.interpreted_modules():
        raise pytest.UsageError(
            f"the kernel is not compiled: {', '.join(interpreted)} (make venv compiles it)"
        )
    if stale := kernel.stale_modules():
        raise pytest.UsageError(
            f"the compiled kernel is older than {', '.join(stale)} (make venv compiles it)"
        )


def pytest_report_header() -> list[str]:
    stale = kernel.stale_modules()
    state = kernel.IMPLEMENTATION + (f", but not from these sources: {', '.join(stale)}" if stale else "")
    libraries = ", ".join(f"{name} {version(name)}" for name in ("pyarrow", "pyspark"))
    return [f"kernel: {state} (gtidal {version('gtidal')}), {libraries}", servers_header()]


def servers_header() -> str:
    found = []
    for server in fetch_servers.SERVERS:
        variable = server.variables[0]
        fetched = fetch_servers.fetched_version(server, fetch_servers.cache_folder())
        if own := os.environ.get(variable):
            found.append(f"{server.title} as in {variable} ({own})")
        elif fetched:
            found.append(f"{server.title} {fetched}")
    return f"live servers: {', '.join(found)}" if found else "no live servers fetched"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if LIVE in item.path.parents:
            item.add_marker(pytest.mark.live)
    if "soak" not in config.option.markexpr:  # the long ones run only when they are asked for
        long = [item for item in items if item.get_closest_marker("soak")]
        if long:
            config.hook.pytest_deselected(items=long)
            items[:] = [item for item in items if not item.get_closest_marker("soak")]
