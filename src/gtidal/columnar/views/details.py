"""The column ``detail`` of the view ``events``, from the log's bytes.

The events of a log are much alike: but for a few numbers (times, positions, ids) and a text, one is as the other. So
the detail of one event, as ``encode_detail`` writes it, is the template for all events whose other bytes are the same
and whose numbers need as many bytes. The numbers are copied from the log into copies of the template, for all of them
at once. What is not declared here as a number or a text has to be equal, and events of which nothing is declared are
encoded one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from operator import itemgetter
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.lib.stride_tricks import sliding_window_view

from gtidal.columnar.arrays import Array, Texts
from gtidal.columnar.following import IS_ROWS, ROWS_TYPES, Followed, Follower, roles_of
from gtidal.columnar.schemas import VARIANT
from gtidal.columnar.variant import encode_detail, places_in
from gtidal.errors import DecodeError
from gtidal.events.format import CRC32, Format
from gtidal.events.frame import HEADER_SIZE
from gtidal.events.statement import Query, RowsQuery
from gtidal.events.table_map import TableMap
from gtidal.events.transaction import AnonymousGtid, Gtid, Xid

MOST_KEPT = 16 << 20
"""Bytes of templates and their keys."""
BINARY = VARIANT.field(0).type
LARGEST_COLUMN = (1 << 31) - 1
_LARGEST_HEAD, _LARGEST_TEXT = 1 << 20, 1 << 16
"""Larger events are encoded one by one: few are alike."""
_UNUSUAL = 1 << 62
"""Numbers from here on, and negative ones, are left to the reference decoder."""
_STEPS = np.array([1, 0x80, 0x8000, 0x80000000, _UNUSUAL], np.uint64)
"""Numbers between two of them are written with as many bytes. Some parts are absent where the number is 0."""
_POWERS = 10 ** np.arange(19, dtype=np.uint64)
_UUID_TEXT = 37
"""A UUID and a colon: what precedes the number in a GTID."""


class Number(NamedTuple):
    """A number that differs from event to event: where it lies in the event, and where in the detail."""

    start: int
    size: int
    path: tuple[str, ...]
    bits: int = 64
    instants: tuple[str, ...] = ()
    """Where the detail shows it as a time."""
    digits: str = ""
    """Where the detail shows it behind a UUID."""


_HEADER = (
    Number(0, 4, ("header", "timestamp")),
    Number(9, 4, ("header", "size")),
    Number(13, 4, ("header", "log_pos")),
)
_GNO = Number(36, 8, ("gno",), digits="gtid")
_CLOCK = (Number(45, 8, ("last_committed",)), Number(53, 8, ("sequence_number",)))
_IMMEDIATE, _ORIGINAL = "immediate_commit_time", "original_commit_time"
_COMMIT = Number(61, 7, ("immediate_commit_timestamp",), bits=55, instants=(_IMMEDIATE, _ORIGINAL))
_COMMIT_HERE = _COMMIT._replace(instants=(_IMMEDIATE,))
_COMMIT_THERE = Number(68, 7, ("original_commit_timestamp",), instants=(_ORIGINAL,))
_COMMIT_END, _ORIGINAL_END = 68, 75
_LENGTH_WIDTHS = np.array([1] * 251 + [0, 2, 3, 8, 0])
"""By the first byte of a length-encoded number: 1, it is the number itself; 0, it is none; else so many bytes follow."""
_GTIDS = (Gtid.code, AnonymousGtid.code)
_NUMBERS = {
    Xid.code: (Number(19, 8, ("xid",)),),
    Query.code: (Number(19, 4, ("thread_id",)), Number(23, 4, ("exec_time",))),
    RowsQuery.code: (),
    **dict.fromkeys((TableMap.code, *ROWS_TYPES), (Number(19, 6, ("table_id",)),)),
}
_HAS_TEMPLATES = np.zeros(256, bool)
_HAS_TEMPLATES[[*_GTIDS, *_NUMBERS]] = True
_NEEDS_TABLE = np.zeros(256, bool)
_NEEDS_TABLE[[TableMap.code, *ROWS_TYPES]] = True
_QUERY_HEAD = HEADER_SIZE + 13


class Part(NamedTuple):
    """Bytes that differ from event to event, a row for each, and where they go."""

    path: tuple[str, ...]
    rows: Array
    may_lack: Array
    """Whether the detail may not show it: that it is 0 says all."""
    behind: int = 0
    """So many bytes of the value stay as they are, and the last ones of the row follow."""


class Template(NamedTuple):
    """The detail of one event, and the places where others differ."""

    value: Array
    metadata: bytes
    places: list[range | None]
    """Of each part; None where the detail does not show it."""


class Bucket:
    """Events of one type and layout: ``head`` bytes, of which some are numbers, and perhaps a text or row images."""

    def __init__(self, followed: Followed, places: Array, head: int, text: int, sealed: bool) -> None:
        index, lanes = followed.window.index, followed.lanes
        self._data = followed.window.data
        self.parts: list[Part] = []
        self._classes: list[Array] = []
        self._usual = np.ones(len(places), bool)
        self._raw = self._bytes(index.offsets[places], head)
        code = int(index.types[places[0]])
        for number in numbers_of(code, self._raw[0]):
            self._add(number, self._take(number))
        if sealed:
            checksums = self._bytes(index.stops[places], 4).view("<u4").ravel()
            self._add(Number(0, 0, ("checksum",)), checksums.astype(np.uint64))
        if IS_ROWS[code]:
            images = index.stops[places] - lanes.event_start[places]
            self._add(Number(0, 0, ("undecoded_size",)), images.astype(np.uint64))
            self._classes.append(lanes.event_plan[places].astype("<i4").view(np.uint8).reshape(-1, 4))
        if text:
            rows = self._bytes(index.offsets[places] + head, text)
            for row in np.flatnonzero((rows >= 0x80).any(axis=1)).tolist():
                self._usual[row] &= _is_utf8(rows[row].tobytes())
            self.parts.append(Part(("query",), rows, np.zeros(len(rows), bool)))

    def _bytes(self, starts: Array, size: int) -> Array:
        return np.ascontiguousarray(sliding_window_view(self._data, size)[starts])

    def _take(self, number: Number) -> Array:
        """The number of each event; its bytes no longer tell the events apart."""
        wide = np.zeros((len(self._raw), 8), np.uint8)
        stop = number.start + number.size
        wide[:, : number.size] = self._raw[:, number.start : stop]
        self._raw[:, number.start : stop] = 0
        values: Array = wide.view("<u8").ravel()
        return values & np.uint64((1 << number.bits) - 1)

    def _add(self, number: Number, values: Array) -> None:
        classes = np.searchsorted(_STEPS, values, side="right").astype(np.uint8)
        self._usual &= classes < len(_STEPS)
        self._classes.append(classes[:, None])
        rows = values.astype("<u8").view(np.uint8).reshape(-1, 8)
        for path in (number.path, *((name,) for name in number.instants)):
            self.parts.append(Part(path, rows, values == 0))
        if number.digits:
            count = np.searchsorted(_POWERS, values, side="right").astype(np.uint8)
            self._classes.append(count[:, None])
            digits = (values[:, None] // _POWERS[::-1] % np.uint64(10)).astype(np.uint8) + np.uint8(ord("0"))
            self.parts.append(Part((number.digits,), digits, values == 0, _UUID_TEXT))

    def groups(self) -> Iterator[tuple[bytes, Array]]:
        """What some events share, and which of the bucket's they are; those that are unusual are in no group."""
        rows = np.flatnonzero(self._usual)
        keys = np.hstack((self._raw, *self._classes))[rows]
        width = keys.shape[1]
        flat = keys.tobytes()
        seen: dict[bytes, int] = {}
        starts = range(0, len(flat), width)
        numbers = np.array([seen.setdefault(flat[at : at + width], len(seen)) for at in starts], np.int64)
        for key, some in zip(seen, _places_of_each(numbers), strict=True):
            yield key, rows[some]

    def template(self, row: int, value: bytes, metadata: bytes) -> Template | None:
        """Of the detail of one event. None: it does not show all numbers, so their bytes are something else."""
        found = places_in(value, metadata)
        places: list[range | None] = []
        for part in self.parts:
            place = found
            for name in part.path:
                place = None if place is None else place.get(name)
            if place is None and not part.may_lack[row]:
                return None
            places.append(None if place is None else place[part.behind :])
        return Template(np.frombuffer(value, np.uint8), metadata, places)

    def fill(self, template: Template, rows: Array) -> Array:
        """The details of these events, a row each."""
        filled = np.empty((len(rows), len(template.value)), np.uint8)
        filled[:] = template.value
        for part, place in zip(self.parts, template.places, strict=True):
            if place is not None:
                first = part.rows.shape[1] - len(place) if part.behind else 0
                filled[:, place.start : place.stop] = part.rows[rows, first : first + len(place)]
        return filled


def numbers_of(code: int, raw: Array) -> list[Number]:
    """The numbers of an event that begins with these bytes, and of all of its bucket."""
    numbers = _numbers_of_gtid(raw) if code in _GTIDS else _NUMBERS[code]
    return [number for number in _HEADER + numbers if number.start + number.size <= len(raw)]


def _numbers_of_gtid(raw: Array) -> tuple[Number, ...]:
    numbers: tuple[Number, ...] = (_GNO, *_CLOCK)
    if len(raw) < _COMMIT_END:
        return numbers
    began_elsewhere = bool(raw[_COMMIT_END - 1] & 0x80)
    numbers += (_COMMIT_HERE, _COMMIT_THERE) if began_elsewhere else (_COMMIT,)
    start = _ORIGINAL_END if began_elsewhere else _COMMIT_END
    if len(raw) <= start:
        return numbers
    width = int(_LENGTH_WIDTHS[raw[start]])
    if not width:
        return numbers
    return (*numbers, Number(start + (width != 1), width, ("transaction_length",)))


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _places_of_each(numbers: Array) -> list[Array]:
    """Where 0 is, where 1 is, and so on to the largest."""
    if not len(numbers):
        return []
    ends = np.cumsum(np.bincount(numbers))
    return np.split(np.argsort(numbers, kind="stable"), ends[:-1])


class Layouts:
    """How the bytes of some events of a window lie: what buckets are made of."""

    def __init__(
        self, followed: Followed, places: Array, asked: Collection[int], has_templates: Array
    ) -> None:
        window, lanes = followed.window, followed.lanes
        self._followed, self._places = followed, places
        self._data = window.data
        self._types = types = window.index.types[places]
        self._offsets = window.index.offsets[places].astype(np.int64)
        self._sizes = window.index.stops[places] - self._offsets
        self._heads = self._sizes.copy()
        self._marks = np.zeros(len(places), np.int64)
        self._sealed = (window.index.payloads[places] < 0) & (window.format.checksum == CRC32)
        # Those that were asked for know their tables; the lanes do not.
        known = (lanes.event_plan[places] >= 0) & ~np.isin(places, list(asked))
        self._fit = has_templates[types] & (known | ~_NEEDS_TABLE[types])
        rows = np.flatnonzero(self._fit & IS_ROWS[types])
        self._heads[rows] = lanes.event_start[places[rows]] - self._offsets[rows]
        self._heads[types == RowsQuery.code] = HEADER_SIZE + 1
        self._find_texts(self._of(types == Query.code, _QUERY_HEAD))
        self._find_lengths(self._of(np.isin(types, _GTIDS), _COMMIT_END))
        self._texts = np.where(IS_ROWS[types], 0, self._sizes - self._heads)
        self._fit &= (self._heads >= HEADER_SIZE) & (self._heads < _LARGEST_HEAD)
        self._fit &= (self._texts >= 0) & (self._texts < _LARGEST_TEXT)

    def _of(self, kind: Array, size: int) -> Array:
        """The events of a kind that have at least so many bytes."""
        return np.flatnonzero(self._fit & kind & (self._sizes >= size))

    def _find_texts(self, queries: Array) -> None:
        offsets, data = self._offsets[queries], self._data
        status = data[offsets + 30] + (data[offsets + 31].astype(np.int64) << 8)
        self._heads[queries] = _QUERY_HEAD + status + data[offsets + 27] + 1

    def _find_lengths(self, gtids: Array) -> None:
        """How the transaction's length is written, and where, as the events' first bytes tell."""
        offsets, data = self._offsets[gtids], self._data
        began_elsewhere = data[offsets + _COMMIT_END - 1] >> 7
        starts = np.where(began_elsewhere, _ORIGINAL_END, _COMMIT_END)
        there = self._sizes[gtids] > starts
        widths = _LENGTH_WIDTHS[data[np.where(there, offsets + starts, 0)]]
        self._marks[gtids] = began_elsewhere | np.where(there, widths, 0) << 1

    def buckets(self) -> Iterator[tuple[int, Array, Bucket]]:
        """A number for each layout, which of the events have it, and their bucket."""
        fit = np.flatnonzero(self._fit)
        numbers = (
            self._types[fit]
            | self._marks[fit] << 8
            | self._sealed[fit].astype(np.int64) << 13
            | self._heads[fit] << 14
            | self._texts[fit] << 34
        )
        found, which = np.unique(numbers, return_inverse=True)
        for number, some in zip(found.tolist(), _places_of_each(which), strict=True):
            members = fit[some]
            first = members[0]
            head, text = int(self._heads[first]), int(self._texts[first])
            places = self._places[members]
            yield number, members, Bucket(self._followed, places, head, text, bool(self._sealed[first]))


class Group(NamedTuple):
    """Events that may share a template."""

    key: tuple[int, bytes]
    members: Array
    """Which of the column's events they are."""
    bucket: Bucket
    rows: Array
    """Which of the bucket's events they are."""


class DetailWriter:
    """Writes the details of one log's events."""

    def __init__(self, follower: Follower) -> None:
        self._follower = follower
        self._format: Format | None = None
        self._has_templates = _HAS_TEMPLATES
        self._templates: dict[tuple[int, bytes], Template | None] = {}
        self._kept = 0

    def column(self, followed: Followed, places: Array) -> pa.Array:
        """The details of the events at these places of a window."""
        format = followed.window.format
        if format is not self._format:
            self._format = format
            self._has_templates = _HAS_TEMPLATES & (np.asarray(roles_of(format)) != 0)
            self._forget()
        asked = dict(reversed(followed.asked))

        def encode(member: int) -> tuple[bytes, bytes]:
            place = int(places[member])
            return encode_detail(asked.get(place) or self._follower.decode_alone(followed, place))

        grouped = np.zeros(len(places), bool)
        work: list[tuple[int, Group | None]] = []
        for number, members, bucket in Layouts(followed, places, asked, self._has_templates).buckets():
            for key, rows in bucket.groups():
                group = Group((number, key), members[rows], bucket, rows)
                if len(rows) > 1 or group.key in self._templates:
                    grouped[group.members] = True
                    work.append((int(group.members[0]), group))
        work += [(member, None) for member in np.flatnonzero(~grouped).tolist()]
        # In the order of the events, so that an error is of the first one that has no detail.
        work.sort(key=itemgetter(0))
        details = Details(len(places))
        for first, shared in work:
            template = None if shared is None else self._template(shared, encode)
            if shared is not None and template is not None:
                details.put(shared.members, shared.bucket.fill(template, shared.rows), template.metadata)
                continue
            for member in [first] if shared is None else shared.members.tolist():
                value, metadata = encode(member)
                details.put([member], np.frombuffer(value, np.uint8)[None], metadata)
        return details.array()

    def _template(self, group: Group, encode: Callable[[int], tuple[bytes, bytes]]) -> Template | None:
        """None: the group has none, and each of its events is encoded."""
        if group.key in self._templates:
            return self._templates[group.key]
        value, metadata = encode(int(group.members[0]))
        template = group.bucket.template(int(group.rows[0]), value, metadata)
        size = len(value) + len(metadata) + len(group.key[1])
        if self._kept + size > MOST_KEPT:
            self._forget()
        self._kept += size
        self._templates[group.key] = template
        return template

    def _forget(self) -> None:
        self._templates.clear()
        self._kept = 0


class Details:
    """Details as they come, and the column that they make."""

    def __init__(self, count: int) -> None:
        self._starts = np.zeros(count, np.int64)
        self._sizes = np.zeros(count, np.int64)
        self._dictionaries = np.zeros(count, np.int32)
        self._known: dict[bytes, int] = {}
        self._values: list[Array] = []
        self._used = 0

    def put(self, members: Array | list[int], values: Array, metadata: bytes) -> None:
        """The details of these events, a row each, and the metadata of all."""
        count, size = values.shape
        self._starts[members] = self._used + size * np.arange(count)
        self._sizes[members] = size
        self._dictionaries[members] = self._known.setdefault(metadata, len(self._known))
        self._values.append(values.reshape(-1))
        self._used += values.size

    def array(self) -> pa.Array:
        values = Texts(np.concatenate(self._values), self._starts, self._sizes)
        metadata = Texts.of(list(self._known))
        count = len(self._sizes)
        for size in (self._used, int(metadata.sizes[self._dictionaries].sum())):
            if size > LARGEST_COLUMN:
                raise DecodeError(
                    f"the details of {count} events are {size} bytes, more than a column of Arrow's holds"
                )
        columns = [values.pick(np.arange(count), BINARY), metadata.pick(self._dictionaries, BINARY)]
        return pa.StructArray.from_arrays(columns, fields=list(VARIANT))
