"""gtidal in Spark: ``spark.read.format("binlog")``, and a local session that suits it."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gtidal.spark.sessions import session

__all__ = ["session"]


def __getattr__(name: str) -> Any:
    """Loaded when asked for: Spark's workers read logs and start no sessions."""
    if name == "session":
        from gtidal.spark.sessions import session

        return session
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
