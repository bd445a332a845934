"""gtidal turns MySQL's binary log into tables."""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gtidal.columnar.kernel import IMPLEMENTATION as kernel
    from gtidal.errors import GtidalError
    from gtidal.gtid import GtidSet
    from gtidal.sources.files import open_log
    from gtidal.sources.tables import tables
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

_HOMES = {
    "GtidSet": "gtidal.gtid",
    "GtidalError": "gtidal.errors",
    "changes": "gtidal.views",
    "events": "gtidal.views",
    "open_log": "gtidal.sources.files",
    "rows": "gtidal.views",
    "tables": "gtidal.sources.tables",
    "transactions": "gtidal.views",
}


class _Package(ModuleType):
    """Loads a public name when it is first asked for: who needs one of them does not wait for the others."""

    def __getattr__(self, name: str) -> Any:
        if name == "kernel":  # ``compiled`` or ``interpreted``: which may change
            return import_module("gtidal.columnar.kernel").IMPLEMENTATION
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(import_module(_HOMES[name]), name)
        setattr(self, name, found)
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        """Python would put the package ``gtidal.events`` here once it is imported. The function of that name hides
        it; its modules are imported by their full names."""
        if not (name == "events" and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *__all__})


sys.modules[__name__].__class__ = _Package
