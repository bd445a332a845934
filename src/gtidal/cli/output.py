"""What the commands share in printing: text or JSON Lines on stdout, colours on a terminal only."""

from __future__ import annotations

import dataclasses
import datetime
import json
import sys
from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from typing import Any


class Output(StrEnum):
    """The forms of ``--output``."""

    text = "text"
    json = "json"


def plain(value: Any) -> Any:
    """A value as JSON has it: bytes as text where they are UTF-8, else in hex with a mark."""
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return "0x" + value.hex()
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Decimal | datetime.date | datetime.datetime | datetime.timedelta):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list | set | frozenset):
        return [plain(item) for item in value]
    return str(value)


def print_json(record: Mapping[str, Any]) -> None:
    """One line of JSON Lines."""
    sys.stdout.write(json.dumps(plain(record), ensure_ascii=False, separators=(",", ":")) + "\n")


def utc(seconds: int) -> str:
    """A header's timestamp, in UTC."""
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S")
