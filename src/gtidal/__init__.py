"""gtidal turns MySQL's binary log into tables."""

from typing import Any

from gtidal.errors import GtidalError
from gtidal.gtid import GtidSet
from gtidal.sources.files import open_log
from gtidal.sources.tables import tables

# The function ``gtidal.events`` hides the package of that name, whose modules are imported by their full names.
from gtidal.views import changes, events, rows, transactions

__version__ = "0.1.0"

__all__ = [
    "GtidSet",
    "GtidalError",
    "__version__",
    "changes",
    "events",
    "kernel",
    "open_log",
    "rows",
    "tables",
    "transactions",
]


def __getattr__(name: str) -> Any:
    """``gtidal.kernel``: ``compiled`` or ``interpreted``. Looked at only when asked for: it loads Arrow."""
    if name == "kernel":
        from gtidal.columnar.kernel import IMPLEMENTATION

        return IMPLEMENTATION
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
