"""Spark's own daemon of Python workers, but quiet at the end.

A session that ends closes its workers' sockets. A worker still has a last word to send then, and on a Unix domain
socket that fails at once (over TCP it does not): Spark's daemon prints a traceback. A session's settings name this daemon
for tasks. The planner's processes always have Spark's, which is made quiet once it has loaded the data source.
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any

from pyspark import daemon


class Tracebacks:
    """What the daemon uses of the module ``traceback``. What a task has to say is sent before; nobody listens any more."""

    format_exc = staticmethod(traceback.format_exc)

    @staticmethod
    def print_exc() -> None:
        if not isinstance(sys.exception(), BrokenPipeError):
            traceback.print_exc()


def quieten() -> None:
    """If this process is one of Spark's daemon's, of a session with Unix domain sockets."""
    running: Any = sys.modules["__main__"]
    if os.environ.get("PYTHON_UNIX_DOMAIN_ENABLED", "").lower() == "true" and _is_daemon(running):
        vars(running)["traceback"] = Tracebacks


def _is_daemon(module: Any) -> bool:
    return getattr(getattr(module, "__spec__", None), "name", None) == daemon.__name__


if __name__ == "__main__":
    vars(daemon)["traceback"] = Tracebacks
    daemon.manager()
