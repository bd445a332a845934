"""The columns of a change that its event, its transaction and its table tell: one call of the kernel for all of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import pyarrow as pa

from gtidal.columnar import kernel
from gtidal.columnar.arrays import Array, constant, no_texts
from gtidal.columnar.codes import OUTCOMES, TXN_FIELDS, Txn
from gtidal.columnar.flat import own_numbers
from gtidal.columnar.following import Followed
from gtidal.columnar.plan import Plan, PlanBook, printable
from gtidal.columnar.schemas import BIGINT, STRING, TIMESTAMP
from gtidal.columnar.ways import Labels, Room, Way, Ways

EVENT, TRANSACTION, CHANGE, TEXT, OPERATION, PLAN, FIELD, IMAGE = range(8)
"""What the kernel makes a column of (kernel/stamps.py)."""
FULL = 1
_SECOND = 1_000_000
_LONGEST_TEXT = 256
"""A GTID or an XA id is hardly longer."""
_NUMBERS: dict[str, tuple[Way, pa.DataType]] = {
    "position": (Way(EVENT, 0, 1), BIGINT),
    "timestamp": (Way(EVENT, 1, _SECOND), TIMESTAMP),
    "server_id": (Way(EVENT, 2, 1), BIGINT),
    "transaction_position": (Way(TRANSACTION, Txn.POSITION, 1), BIGINT),
    "commit_timestamp": (Way(TRANSACTION, Txn.IMMEDIATE_TIMESTAMP, 1), TIMESTAMP),
    "row": (Way(CHANGE, 0, 1), BIGINT),
}
_TEXTS = {
    "gtid": Way(TEXT, Txn.GTID, Txn.GTID_SIZE),
    "xa": Way(TEXT, Txn.XA, Txn.XA_SIZE),
}
_LABELS = {
    "op": Way(OPERATION, 0, 0),
    "change_type": Way(IMAGE, 0, 0),
    "outcome": Way(FIELD, Txn.OUTCOME, 0),
    "schema": Way(PLAN, 0, 0),
    "table": Way(PLAN, 0, 0),
}
NAMES = frozenset(("file", *_NUMBERS, *_TEXTS, *_LABELS))


@dataclass(slots=True)
class Runs:
    """Some changes of one window, or their images, in runs that share an event."""

    rows: int
    """Of all runs."""
    counts: Array
    """How many rows each run has."""
    events: Array
    """The place of each run's event."""
    transactions: Array
    """The number of each run's transaction."""
    operations: Array
    plans: Array
    firsts: Array
    """The number of each run's first change in its transaction."""


class Stamps:
    """Makes those of the columns ``names`` that are known here. ``operations``: what they are called. ``paired``: rows are
    images, two for an update."""

    def __init__(
        self,
        book: PlanBook,
        file: str,
        names: Sequence[str],
        operations: Sequence[str],
        *,
        paired: bool = False,
    ) -> None:
        self._names = [name for name in names if name in NAMES]
        self._file = file
        self._paired = paired
        self._plans = book.plans
        self._known: dict[str, list[str]] = {
            "op": list(operations),
            "change_type": list(operations),
            "outcome": list(OUTCOMES),
            "schema": [],
            "table": [],
        }
        self._learned = 0  # plans
        self._same: dict[str, str] = {}
        """Columns whose text is the same for all plans, as all tables of one schema have it."""
        self._calls: dict[tuple[str, ...], _Call] = {}
        self._shares: dict[tuple[object, ...], tuple[list[tuple[str, str | None]], _Call | None]] = {}
        """What ``_share`` gave, by what it depends on."""
        self._labels = Labels([])
        self._first_label: dict[str, int] = {}
        self._learn()

    def _learn(self) -> None:
        """What is known of new plans."""
        for plan in self._plans[self._learned :]:
            for name in ("schema", "table"):
                self._known[name].append(_text_of(plan, name))
        self._learned = len(self._plans)
        self._same = {
            name: self._known[name][0] for name in ("schema", "table") if len(set(self._known[name])) == 1
        }
        texts: list[str] = []
        for name in self._known:
            if name in self._names:
                self._first_label[name] = len(texts)
                texts += self._known[name]
        self._labels = Labels(texts)
        self._calls.clear()
        self._shares.clear()

    def make(self, followed: Followed, runs: Runs, without: Collection[str] = ()) -> dict[str, pa.Array]:
        """The columns of these runs; ``without`` those that are made elsewhere."""
        if self._learned < len(self._plans):
            self._learn()
        known = followed.has_xa, followed.all_committed, *without
        if known not in self._shares:
            self._shares[known] = self._share(followed, without)
        same, call = self._shares[known]
        rows = runs.rows
        made = {name: no_texts(rows) if text is None else constant(text, rows) for name, text in same}
        if call is not None:
            made.update(call.make(followed, runs))
        return made

    def _share(
        self, followed: Followed, without: Collection[str]
    ) -> tuple[list[tuple[str, str | None]], _Call | None]:
        """The columns that have one text everywhere, None for nulls; and the call that makes the others."""
        texts: dict[str, str | None] = {"file": self._file, **self._same}
        if not followed.has_xa:
            texts["xa"] = None
        if followed.all_committed:
            texts["outcome"] = OUTCOMES[0]
        names = [name for name in self._names if name not in without]
        asked = tuple(name for name in names if name not in texts)
        return [(name, texts[name]) for name in names if name in texts], self._call(asked) if asked else None

    def _call(self, names: tuple[str, ...]) -> _Call:
        if names not in self._calls:
            known, first = self._known, self._first_label
            labelled = {name: (first[name], known[name]) for name in names if name in known}
            self._calls[names] = _Call(names, labelled, self._labels, self._paired)
        return self._calls[names]


class _Call:
    """What is asked of the kernel for some columns. ``labelled``: of those that are labels, the first one and all."""

    def __init__(
        self,
        names: tuple[str, ...],
        labelled: dict[str, tuple[int, list[str]]],
        labels: Labels,
        paired: bool,
    ) -> None:
        self._names = names
        self._labels = labels
        self._paired = paired
        self._rooms = [
            Room() if name in _TEXTS
            else max((len(text.encode()) for text in labelled[name][1]), default=0) if name in labelled
            else 0
            for name in names
        ]  # fmt: skip
        """For the text of each column; where it is a number, so many bytes for a row."""
        self._kinds = [_NUMBERS[name][1] if name in _NUMBERS else None for name in names]
        ways = [
            _NUMBERS[name][0] if name in _NUMBERS else _TEXTS[name] if name in _TEXTS else _LABELS[name]
            for name in names
        ]
        self._ways = Ways(ways, [8 if name in _NUMBERS else 0 for name in names])
        for number, name in enumerate(names):
            if name in labelled:
                first, texts = labelled[name]
                self._ways.numbers[number, [2, 7]] = len(texts), first
        self._progress = own_numbers(0)

    def make(self, followed: Followed, runs: Runs) -> dict[str, pa.Array]:
        index, lanes, rows = followed.window.index, followed.lanes, runs.rows
        arguments = (
            memoryview(runs.events), memoryview(runs.transactions), memoryview(runs.plans), memoryview(runs.operations),
            memoryview(runs.counts), memoryview(runs.firsts), len(runs.counts), rows, self._paired,
            memoryview(index.positions), memoryview(index.timestamps), memoryview(index.server_ids),
            memoryview(lanes.txn.reshape(-1)), lanes.txn.size // TXN_FIELDS, memoryview(lanes.heap), self._labels.spans,
            self._labels.heap,
        )  # fmt: skip

        def texts() -> list[int]:
            return [
                room * rows if isinstance(room, int) else room.first(rows, rows * _LONGEST_TEXT)
                for room in self._rooms
            ]

        def call(ways: memoryview, out: memoryview) -> int | None:
            code = kernel.stamps.columns(*arguments, ways, out, self._progress)
            assert code in (0, FULL)
            return self._progress[0] if code else None

        flats = self._ways.make(rows, texts, call, lambda _, size: 2 * size)
        made: dict[str, pa.Array] = {}
        for name, kind, room, flat in zip(self._names, self._kinds, self._rooms, flats, strict=True):
            if isinstance(room, Room):
                room.was(flat.text.size, rows)
            made[name] = flat.texts(STRING) if kind is None else flat.array(kind)
        return made


def _text_of(plan: Plan, name: str) -> str:
    return printable(plan.table.schema if name == "schema" else plan.table.table)
