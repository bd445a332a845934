"""What a file holds, summed up from the index of its events as they come."""

from __future__ import annotations

import numpy as np

from gtidal.columnar.flat import distinct, lane_of, numbers_at
from gtidal.columnar.index import Index
from gtidal.columnar.windows import Array
from gtidal.events.control import PreviousGtids, Rotate
from gtidal.events.format import Format, FormatDescription
from gtidal.events.frame import HEADER_SIZE, decode_event
from gtidal.events.mariadb import GtidList, MariadbGtidEvent, StartEncryption
from gtidal.events.registry import Context
from gtidal.events.transaction import AnonymousGtid, Gtid, GtidTagged
from gtidal.gtid import GtidSet, MariadbGtidSet
from gtidal.gtid.mariadb import MariadbGtidSetBuilder
from gtidal.gtid.mysql import GtidSetBuilder
from gtidal.log.facts import AnyGtidSet

_HEAD = np.zeros(256, bool)
_HEAD[[each.code for each in (FormatDescription, PreviousGtids, GtidList, StartEncryption)]] = True
_UUID, _GNO = HEADER_SIZE + 1, HEADER_SIZE + 17


class Contents:
    """Of one file."""

    def __init__(self) -> None:
        self.events = 0
        self.anonymous = 0
        self.earliest: int | None = None
        self.latest: int | None = None
        self.last_time = 0
        """Of the last event that has a time."""
        self.last_type = 0
        self.last_position = 0
        self.next_file: str | None = None
        """If the last event ends the file: which one follows."""
        self.previous: AnyGtidSet | None = None
        self.body: int | None = None
        """Where the first event begins that says nothing of the file as a whole."""
        self._mysql = GtidSetBuilder()
        self._mariadb = MariadbGtidSetBuilder()

    @property
    def gtids(self) -> AnyGtidSet | None:
        """Those of the transactions that begin in it."""
        return self._mysql.build() or self._mariadb.build() or None

    def add(self, data: Array, index: Index, format: Format) -> None:
        """Some events more."""
        count = index.count
        if not count:
            return
        types, times = index.types[:count], index.timestamps[:count]
        self.events += count
        self.last_type = int(types[-1])
        self.last_position = int(index.positions[count - 1])
        last = _event(data, index, count - 1, format) if self.last_type == Rotate.code else None
        self.next_file = last.next_file if isinstance(last, Rotate) else None
        told = times[times != 0]
        if len(told):
            first, last = int(told.min()), int(told.max())
            self.earliest = first if self.earliest is None else min(self.earliest, first)
            self.latest = last if self.latest is None else max(self.latest, last)
            self.last_time = int(told[-1])
        if self.body is None:
            self._add_head(data, index, format)
        self.anonymous += int(np.count_nonzero(types == AnonymousGtid.code))
        self._add_gtids(data, index, format)

    def _add_head(self, data: Array, index: Index, format: Format) -> None:
        for place, kind in enumerate(index.types[: index.count].tolist()):
            if not _HEAD[kind]:
                self.body = int(index.positions[place])
                return
            if kind in (PreviousGtids.code, GtidList.code):
                event = _event(data, index, place, format)
                if isinstance(event, PreviousGtids):
                    self.previous = event.gtids.to_set()
                elif isinstance(event, GtidList):
                    self.previous = MariadbGtidSet.of(event.gtids)

    def _add_gtids(self, data: Array, index: Index, format: Format) -> None:
        types = index.types[: index.count]
        plain = index.offsets[np.flatnonzero(types == Gtid.code)]
        if len(plain):
            words = numbers_at(data, "<i8")
            low, high, numbers = words[plain + _UUID], words[plain + _UUID + 8], words[plain + _GNO]
            while len(numbers):
                of_this = (low == low[0]) & (high == high[0])
                lane = lane_of(numbers[of_this]) or lane_of(distinct(numbers[of_this]))
                assert lane is not None
                uuid = low[:1].tobytes() + high[:1].tobytes()
                self._mysql.add_set(GtidSet.from_lanes([(uuid, "", lane)]))
                low, high, numbers = low[~of_this], high[~of_this], numbers[~of_this]
        for place in np.flatnonzero(types == GtidTagged.code).tolist():
            event = _event(data, index, place, format)
            if isinstance(event, GtidTagged):
                self._mysql.add(event.uuid, event.tag or "", event.gno)
        places = np.flatnonzero(types == MariadbGtidEvent.code)
        if len(places):
            offsets = index.offsets[places] + HEADER_SIZE
            sequences, domains = numbers_at(data, "<u8")[offsets], numbers_at(data, "<u4")[offsets + 8]
            servers = index.server_ids[places]
            # Of each server in each domain the last one, in the order in which these come.
            keys = domains.astype(np.int64) << 32 | servers
            for place in sorted(int(np.flatnonzero(keys == key)[-1]) for key in distinct(keys)):
                self._mariadb.add(int(domains[place]), int(servers[place]), int(sequences[place]))


def _event(data: Array, index: Index, place: int, format: Format) -> object:
    start = int(index.offsets[place])
    raw = data[start : start + int(index.sizes[place])].tobytes()
    return decode_event(raw, int(index.positions[place]), Context(format, {}))
