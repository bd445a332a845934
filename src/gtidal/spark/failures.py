"""What Spark says when something fails, in one sentence."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager

from gtidal import errors
from gtidal.errors import GtidalError, UsageError

_OURS = re.compile(r"gtidal\.errors\.(\w+): (.*)")
_CLASS = re.compile(r"^\s*\[[A-Z0-9_.]+\]\s*")
_STATE = re.compile(r"\s*SQLSTATE: \w+.*", re.DOTALL)
_PLACE = re.compile(r"line (\d+),? pos (\d+)")
_SIMPLER = (
    (
        re.compile(r"The table or view (\S+) cannot be found.*", re.DOTALL),
        r"there is no table \1; there are events, transactions, changes, and each table of the logs with its schema "
        "before it, as in shop.orders",
    ),
    (
        re.compile(r"Path (?:file:)?(\S.*?) already exists\. Set mode as .*", re.DOTALL),
        r"\1 already exists, and what is in it is not overwritten: name a new folder, or remove it first",
    ),
)


@contextmanager
def explained() -> Iterator[None]:
    """Errors of Spark's, of its SQL and of its tasks, become ours: one sentence, without a stack."""
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # py4j has no types
    from pyspark.errors import PySparkException

    # Spark also prints errors of SQL, with a stack of Java's.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
    try:
        yield
    except PySparkException as error:
        raise in_one_sentence(str(error)) from None
    except Py4JJavaError as error:
        raise in_one_sentence(str(error.java_exception)) from None


def in_one_sentence(text: str) -> GtidalError:
    if found := _OURS.search(text):
        kind: type[GtidalError] = getattr(errors, found[1], GtidalError)
        return kind(found[2].strip())
    place = _PLACE.search(text)
    text = _STATE.sub("", _CLASS.sub("", text.strip()))
    for shape, simpler in _SIMPLER:
        text = shape.sub(simpler, text)
    sentence = " ".join(text.split("\n== SQL")[0].split()) or "Spark failed without a word"
    if place:
        sentence = f"line {place[1]}, column {int(place[2]) + 1}: {sentence}"
    return UsageError(sentence)
