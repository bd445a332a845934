"""gtidal turns MySQL's binary log into tables."""

from gtidal.errors import GtidalError
from gtidal.gtid import GtidSet
from gtidal.sources.files import open_log
from gtidal.sources.tables import tables

__version__ = "0.1.0"

__all__ = ["GtidSet", "GtidalError", "__version__", "open_log", "tables"]
