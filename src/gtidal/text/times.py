"""Points in time as the tool prints them, in the local time zone, and as it reads them from its switches."""

from __future__ import annotations

import re
import time
from datetime import datetime

from gtidal.errors import UsageError


class Clock:
    """Formats seconds since 1970. Neighbouring events share their second, so the last text is kept."""

    __slots__ = ("_commit", "_commit_second", "_header", "_header_second")

    def __init__(self) -> None:
        self._header_second = self._commit_second = -1
        self._header = ""
        self._commit = ("", "")

    def header(self, second: int) -> str:
        """``250527  1:07:05``: the hour has no leading zero."""
        if second != self._header_second:
            t = time.localtime(second)
            self._header = (
                f"{t.tm_year % 100:02}{t.tm_mon:02}{t.tm_mday:02} {t.tm_hour:2}:{t.tm_min:02}:{t.tm_sec:02}"
            )
            self._header_second = second
        return self._header

    def commit(self, microseconds: int) -> str:
        """``2025-05-27 01:07:05.123456 UTC``"""
        second, fraction = divmod(microseconds, 1_000_000)
        date, zone = self.commit_parts(second)
        return f"{date}.{fraction:06}{zone}"

    def commit_parts(self, second: int) -> tuple[str, str]:
        """What stands before and behind the fraction."""
        if second != self._commit_second:
            try:
                t = time.localtime(second)
            except (OverflowError, ValueError, OSError):
                return str(second), ""
            self._commit = (time.strftime("%Y-%m-%d %H:%M:%S", t), time.strftime(" %Z", t))
            self._commit_second = second
        return self._commit


_SIGN = r"(?:_|[^\w\s])"
_DELIMITED = re.compile(
    rf"\s*(\d{{4}}|\d{{1,2}}){_SIGN}(\d{{1,2}}){_SIGN}(\d{{1,2}})(?:T|\s+|{_SIGN})"
    rf"(\d{{1,2}})(?:{_SIGN}(\d{{1,2}})(?:{_SIGN}(\d{{1,2}})(?:\.\d*)?)?)?\s*",
    re.ASCII,
)
_PACKED = re.compile(
    r"\s*(\d\d(?:\d\d)?)" + r"(\d\d)" * 2 + "T?" + r"(\d\d)" * 3 + r"(?:\.\d*)?\s*", re.ASCII
)


def parse_datetime(text: str) -> int:
    """A date and time in any form MySQL takes for a DATETIME, in the local time zone, as seconds since 1970."""
    match = _DELIMITED.fullmatch(text) or _PACKED.fullmatch(text)
    if match is None:
        raise _wrong(text)
    numbers = [int(part or 0) for part in match.groups()]
    if len(match[1]) <= 2:
        numbers[0] += 2000 if numbers[0] < 70 else 1900
    year, month, day, hour, minute, second = numbers
    overflow = 0
    if month in (4, 6, 9, 11, 2) and day <= 31:  # the 31st of April is the 1st of May
        last = (datetime(year, month + 1, 1) - datetime(year, month, 1)).days if 1 <= year <= 9999 else 31
        overflow = max(0, day - last)
        day -= overflow
    try:
        moment = datetime(year, month, day, hour, minute, second)
    except ValueError:
        raise _wrong(text) from None
    return int(time.mktime(moment.timetuple())) + 86400 * overflow


def _wrong(text: str) -> UsageError:
    return UsageError(f"not a date and time: {text!r}; write it as 2026-08-01 12:00:00")
