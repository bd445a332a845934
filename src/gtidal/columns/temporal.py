"""MySQL's four kinds of time, as the log stores them, and the text the server prints for them.

They are not Python's: MySQL keeps zero and partly zero dates (``0000-00-00``, ``2020-00-00``), times
up to ±838 hours, and a timestamp 0 that is not 1970. ``datetime`` values are made in ``meanings``, where
they exist. Nothing here checks the calendar: what the bytes say is what the tuple says.
"""

from __future__ import annotations

from typing import NamedTuple


def fraction_text(microsecond: int, digits: int) -> str:
    """``.12`` for 120000 µs and 2 digits; nothing for 0 digits. The server cuts, it does not round."""
    return f".{microsecond:06d}"[: digits + 1] if digits else ""


class Date(NamedTuple):
    """A calendar date; month and day may be 0."""

    year: int
    month: int
    day: int

    def text(self, digits: int = 0) -> str:
        return f"{self.year:04d}-{self.month:02d}-{self.day:02d}"


class DateTime(NamedTuple):
    """Date and clock time without a zone; any part may be 0."""

    year: int
    month: int
    day: int
    hour: int
    minute: int
    second: int
    microsecond: int = 0

    def text(self, digits: int = 0) -> str:
        return (
            f"{self.year:04d}-{self.month:02d}-{self.day:02d} "
            f"{self.hour:02d}:{self.minute:02d}:{self.second:02d}{fraction_text(self.microsecond, digits)}"
        )


class Time(NamedTuple):
    """A span of time with a sign, at most 838:59:59.999999 on a real server."""

    negative: bool
    hour: int
    minute: int
    second: int
    microsecond: int = 0

    def text(self, digits: int = 0) -> str:
        return (
            f"{'-' if self.negative else ''}{self.hour:02d}:{self.minute:02d}:{self.second:02d}"
            f"{fraction_text(self.microsecond, digits)}"
        )


class Timestamp(NamedTuple):
    """Seconds since 1970 in UTC; 0 and no fraction is MySQL's zero value, not an instant."""

    seconds: int
    microsecond: int = 0

    @property
    def zero(self) -> bool:
        return not self.seconds and not self.microsecond

    def text(self, digits: int = 0) -> str:
        """As the reference tool prints it: the seconds, not a calendar date."""
        return f"{self.seconds}{fraction_text(self.microsecond, digits)}"


Temporal = Date | DateTime | Time | Timestamp


def text(value: Temporal, digits: int = 0) -> str:
    """What MySQL prints for ``value`` with ``digits`` fractional digits (0 to 6)."""
    return value.text(digits)


def unpack_datetime(packed: int) -> DateTime:
    """From the in-memory number that JSON stores: ((year·13+month)·32+day)… shifted left 24, plus µs."""
    microsecond = packed & 0xFFFFFF
    packed >>= 24
    year, month = divmod(packed >> 22, 13)
    return DateTime(
        year, month, packed >> 17 & 31, packed >> 12 & 31, packed >> 6 & 63, packed & 63, microsecond
    )


def pack_datetime(value: DateTime) -> int:
    year, month, day, hour, minute, second, microsecond = value
    return ((year * 13 + month) << 22 | day << 17 | hour << 12 | minute << 6 | second) << 24 | microsecond


def unpack_time(packed: int) -> Time:
    """From the in-memory number that JSON stores: hour<<12 | minute<<6 | second, shifted left 24, plus µs,
    negated as a whole for a negative time."""
    negative = packed < 0
    packed = -packed if negative else packed
    microsecond = packed & 0xFFFFFF
    packed >>= 24
    return Time(negative, packed >> 12, packed >> 6 & 63, packed & 63, microsecond)


def pack_time(value: Time) -> int:
    negative, hour, minute, second, microsecond = value
    packed = (hour << 12 | minute << 6 | second) << 24 | microsecond
    return -packed if negative else packed
