"""What the views must say of a log, told by the reference decoder alone; and the views themselves, in the same words.

A ``Reading`` is the rows of a view, as dictionaries, and the error that ended it. Of the columnar package only the
writer of VARIANT in plain Python is used here: the kernel, its windows, its transactions and its arrays are judged.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from gtidal.columnar.scanning import VIEWS, LogScan, Scan
from gtidal.columnar.schemas import CHANGES, DETAIL, EVENTS, TRANSACTIONS, VARIANT
from gtidal.columnar.selection import Selection
from gtidal.columnar.variant import decode_typed, encode_detail, encode_image
from gtidal.columnar.windows import WINDOW
from gtidal.columns.charsets import decode_text
from gtidal.errors import DecodeError, GtidalError, MissingTableMap, Truncated
from gtidal.events.format import CRC32, NO_CHECKSUM, Format, FormatDescription
from gtidal.events.frame import checksum_size, decode_event
from gtidal.events.header import FLAGS, IN_USE, flag_names
from gtidal.events.images import apply_json_diffs
from gtidal.events.load import ExecLoad, ExecuteLoadQuery, Load, NewLoad
from gtidal.events.mariadb import AnnotateRows, MariadbGtidEvent, PartialRowData, QueryCompressed
from gtidal.events.registry import Context, Event
from gtidal.events.rows import RowsEvent
from gtidal.events.statement import Query, RowsQuery, SessionCharset
from gtidal.events.transaction import GtidEvent, TransactionPayload, version_text
from gtidal.log.decoder import Frame, Keys, event_name
from gtidal.log.tables import GENERATED_KEY, GENERATED_KEY_NAME, column_title
from gtidal.log.transactions import Transaction, TransactionTracker, statement_kind
from gtidal.sources.files import LogReader

SECOND = 1_000_000
FILE = "binlog.000001"
SCHEMAS = {"events": EVENTS.append(DETAIL), "transactions": TRANSACTIONS, "changes": CHANGES}
JUDGED = tuple(SCHEMAS)
DATA_WORDS = {"dml": "statement", "ddl": "ddl", "xa_commit": "xa_commit", "xa_rollback": "xa_rollback"}

NO_NUMBER = -(2**63 - 1)
"""Stands for null in the kernel's lanes; no server counts that far down."""

Row = dict[str, Any]


@dataclass
class Reading:
    """The rows of a view, and how it ended."""

    rows: list[Row] = field(default_factory=list)
    error: tuple[str, str] | None = None
    """The error's class, and what it says: message, file, position, event and field."""
    unsure: list[Row] = field(default_factory=list)
    """Rows of the transaction that the error cut off. A reader that sees further may give the first of them."""
    passed_over: dict[tuple[str, str], int] = field(default_factory=dict)
    """Lazy: errors in rows that were not looked at, and how many rows of the view stood before each."""


@dataclass(frozen=True)
class How:
    """How a log is read."""

    verify: bool = True
    keys: Keys | None = None
    uncommitted: bool = False
    window: int = WINDOW
    columns: tuple[str, ...] | None = None


def told(error: GtidalError) -> tuple[str, str]:
    return type(error).__name__, str(error)


def opened(log: bytes | Path) -> Any:
    return io.BytesIO(log) if isinstance(log, bytes) else log.open("rb")


# --- the views


def read_view(view: str, log: bytes | Path, how: How) -> Reading:
    found = Reading()
    schema = SCHEMAS[view]
    columns = how.columns or tuple(schema.names)
    wanted = pa.schema([schema.field(name) for name in columns])
    scan = Scan(
        columns,
        Selection(include_uncommitted=how.uncommitted),
        verify_checksum=how.verify,
        keys=how.keys,
        window=how.window,
    )
    batches = []  # looked at when all are there: a batch keeps what it holds while others are made
    with opened(log) as stream:
        try:
            for batch in VIEWS[view](LogScan(stream, FILE, scan)):
                batches.append(batch)
        except GtidalError as error:
            found.error = told(error)
    for batch in batches:
        assert batch.schema.equals(wanted, check_metadata=True)
        assert batch.num_rows
        batch.validate(full=True)
        found.rows += plain_rows(batch)
    return found


def plain_rows(batch: pa.RecordBatch) -> list[Row]:
    """Times as microseconds, VARIANT as a pair, lists as tuples."""
    columns = [plain_column(column) for column in batch.columns]
    names = batch.schema.names
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def plain_column(column: pa.Array) -> list[Any]:
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    values: list[Any] = column.to_pylist()
    if column.type == VARIANT:
        return [None if value is None else (value["value"], value["metadata"]) for value in values]
    if pa.types.is_list(column.type):
        return [None if value is None else tuple(value) for value in values]
    if pa.types.is_decimal(column.type):
        return [None if value is None else int(value) for value in values]
    return values


# --- the reference decoder


@dataclass
class Met:
    """An event, and how the views speak of it."""

    event: Event
    frame: Frame
    position: int
    end: int
    payload: int | None = None
    """The position of the payload around it."""
    in_pieces: bool = False
    """Rows that MariaDB logged in pieces: the pieces are the events."""
    broken: GtidalError | None = None
    """Why its rows could not be decoded."""


class Reference:
    """Reads a log event by event. Rows that cannot be decoded are an error at once; or, ``lazy``, when someone asks
    for them: a view need not look at the values of rows that it does not show."""

    def __init__(self, log: bytes | Path, how: How, *, decode_rows: bool, lazy: bool = False) -> None:
        self.how = how
        self.lazy = lazy
        self.decode_rows = decode_rows
        self.reader = LogReader(
            opened(log), name=FILE, verify_checksum=how.verify, decode_rows=False, keys=how.keys
        )
        self.in_use = False

    def next_frame(self) -> Frame | None:
        try:
            return self.reader.next_frame()
        except Truncated:
            if self.in_use:  # the server is writing this event: no error, by intention
                return None
            raise

    def __iter__(self) -> Iterator[Met]:
        decoder = self.reader.decoder
        with self.reader:
            while (frame := self.next_frame()) is not None:
                if frame.type_code == FormatDescription.code:
                    self.in_use = bool(frame.data[17] & IN_USE)
                event = decoder.decode(frame)
                yield self._with_rows(Met(event, frame, frame.position, frame.end), decoder.format)
                if isinstance(event, TransactionPayload):
                    for number, (inside, inner) in enumerate(decoder.inner(event), 1):
                        met = Met(inner, inside, frame.position + number, frame.end, frame.position)
                        yield self._with_rows(met, decoder.inner_format)
                elif isinstance(event, PartialRowData):
                    for inside, inner in decoder.inner(event):
                        sealed = CRC32 if inner.checksum is not None else NO_CHECKSUM
                        met = Met(inner, inside, frame.position, frame.end, in_pieces=True)
                        yield self._with_rows(met, replace(decoder.inner_format, checksum=sealed))

    def _with_rows(self, met: Met, format: Format) -> Met:
        event, frame = met.event, met.frame
        if not self.decode_rows or not isinstance(event, RowsEvent) or event.table is None:
            return met
        try:
            met.event = decode_event(
                frame.data, frame.position, Context(format, {event.table_id: event.table})
            )
        except GtidalError as error:
            met.broken = error.at(file=FILE, position=frame.position, event=event.name)
            if not self.lazy:
                raise met.broken from None
        return met

    def checksum(self, met: Met) -> str:
        frame, format = met.frame, self.reader.decoder.format
        if met.payload is not None or not checksum_size(frame.data, frame.type_code, format):
            return "none"
        return "ok" if self.how.verify else "unchecked"


def reference_events(log: bytes | Path, how: How, lazy: bool = False) -> Reading:
    found = Reading()
    reference = Reference(log, how, decode_rows=False)
    tracker = TransactionTracker()
    try:
        for met in reference:
            event = met.event
            ended = tracker.feed(event)
            if met.in_pieces:
                continue
            header = event.header
            owner = tracker.current
            if owner is None and ended and ended[-1].end_position > header.position:
                owner = ended[-1]  # this event was its last one
            row = {
                "file": FILE,
                "position": met.position,
                "end_position": met.end,
                "timestamp": header.timestamp * SECOND,
                "type": event_name(header.type_code),
                "type_code": header.type_code,
                "server_id": header.server_id,
                "size": header.size,
                "flags": tuple(flag_names(header.flags, FLAGS)),
                "checksum": reference.checksum(met),
                "gtid": name_text(owner.gtid) if owner else None,
                "transaction_position": owner and owner.position,
                "payload_position": met.payload,
            }
            if how.columns is None or "detail" in how.columns:
                row["detail"] = detail(event)
            found.rows.append(row)
    except GtidalError as error:
        found.error = told(error)
    return found


def detail(event: Event) -> tuple[bytes, bytes]:
    try:
        return encode_detail(event)
    except GtidalError as error:
        raise error.at(file=FILE) from None


def reference_transactions(log: bytes | Path, how: How, lazy: bool = False) -> Reading:
    found = Reading()
    tracker = TransactionTracker()
    unknown: list[Transaction] = []  # of which not all rows can be counted

    def add(one: Transaction) -> None:
        row = transaction_row(one)
        if any(one is other for other in unknown):
            row |= dict.fromkeys(("rows_inserted", "rows_updated", "rows_deleted"))
        found.rows.append(row)

    try:
        for met in Reference(log, how, decode_rows=True, lazy=lazy):
            ended = tracker.feed(met.event)
            if met.broken is not None:
                found.passed_over.setdefault(told(met.broken), len(found.rows))
            if met.broken is not None and (tracker.current or ended):
                unknown.append(tracker.current or ended[-1])
            for one in ended:
                add(one)
        for one in tracker.finish():
            add(one)
    except GtidalError as error:
        found.error = told(error)
    return found


def escaped(text: bytes | None) -> str | None:
    return None if text is None else text.decode("utf-8", "backslashreplace")


def name_text(name: str | None) -> str | None:
    """A name whose bytes were not UTF-8 keeps them as surrogates; in a view they are escaped."""
    return (
        None if name is None else name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    )


def transaction_row(one: Transaction) -> Row:
    event = one.gtid_event
    mysql = event if isinstance(event, GtidEvent) else None
    named = mysql if mysql is not None and mysql.gno else None
    domain = event.gtid if isinstance(event, MariadbGtidEvent) else None
    return {
        "file": FILE,
        "position": one.position,
        "end_position": one.end_position,
        "outcome": one.outcome,
        "kind": one.kind,
        "gtid": name_text(one.gtid),
        "source_uuid": str(named.gtid).split(":")[0] if named else None,
        "tag": (name_text(named.tag) or None) if named else None,
        "gno": named.gno if named else domain.sequence if domain else None,
        "last_committed": mysql and mysql.last_committed,
        "sequence_number": mysql and mysql.sequence_number,
        "row_only": mysql and mysql.row_only,
        "timestamp": one.timestamp * SECOND,
        "immediate_commit_timestamp": mysql and mysql.immediate_commit_timestamp,
        "original_commit_timestamp": mysql and mysql.original_timestamp,
        "immediate_server_version": version_text(mysql.immediate_server_version) if mysql else None,
        "original_server_version": version_text(mysql.original_version) if mysql else None,
        "server_id": one.server_id,
        "thread_id": one.thread_id,
        "length": one.end_position - one.position,
        "commit_group_ticket": mysql and mysql.commit_group_ticket,
        "xid": one.xid,
        "xa": one.xa,
        "schema": name_text(one.schema),
        "query": escaped(one.query),
        "events": one.events,
        "rows_inserted": one.rows_inserted,
        "rows_updated": one.rows_updated,
        "rows_deleted": one.rows_deleted,
        "tables": tuple(name_text(name) for name in one.tables),
        "compressed": one.compressed,
        "uncompressed_length": one.uncompressed_length,
    }


@dataclass
class Change:
    """What one event did, until its transaction's outcome is known."""

    event: Event
    position: int
    query: bytes | None
    broken: GtidalError | None


def reference_changes(log: bytes | Path, how: How, lazy: bool = False) -> Reading:
    found = Reading()
    tracker = TransactionTracker()
    waiting: list[Change] = []
    query: bytes | None = None
    try:
        for met in Reference(log, how, decode_rows=True, lazy=lazy):
            event = met.event
            if met.broken is not None:
                found.passed_over.setdefault(told(met.broken), len(found.rows))
            before = tracker.current
            events = before.events if before is not None else 0
            ended = tracker.feed(event)
            for transaction in ended:
                if transaction is before and transaction.events == events:
                    show(found, transaction, waiting, how)  # it ended before this event
                    waiting, before = [], None
            if ended or before is None:
                query = None
            if isinstance(event, RowsQuery | AnnotateRows):
                query = event.query
            waiting.append(Change(event, met.position, query, met.broken))
            if isinstance(event, RowsEvent) and event.ends_statement:
                query = None
            if tracker.current is None:
                if ended and ended[-1].end_position > event.header.position:
                    show(found, ended[-1], waiting, how)
                waiting = []
        for transaction in tracker.finish():
            show(found, transaction, waiting, how)
            waiting = []
    except GtidalError as error:
        found.error = told(error)
        if tracker.current is not None:
            rest = Reading()
            with suppress(GtidalError):
                show(rest, tracker.current, waiting, How(uncommitted=True))
            found.unsure = rest.rows
    return found


def show(found: Reading, transaction: Transaction, changes: list[Change], how: How) -> None:
    shown = how.uncommitted or transaction.outcome in ("commit", "prepared")
    # XA ROLLBACK alone, with its GTID: the fate of what was shown as prepared.
    fate = transaction.kind == "xa" and transaction.outcome == "rollback" and transaction.events <= 2
    if not shown and not fate:
        return
    gtid = transaction.gtid_event
    # A payload should hold one transaction. If it holds several, they share a position, and the numbers go on.
    last = found.rows[-1] if found.rows else None
    row = last["row"] + 1 if last and last["transaction_position"] == transaction.position else 0
    for change in changes:
        header = change.event.header
        for part in change_parts(change):
            found.rows.append(
                {
                    "file": FILE,
                    "position": change.position,
                    "row": row,
                    "transaction_position": transaction.position,
                    "timestamp": header.timestamp * SECOND,
                    "commit_timestamp": gtid.immediate_commit_timestamp
                    if isinstance(gtid, GtidEvent)
                    else None,
                    "gtid": name_text(transaction.gtid),
                    "server_id": header.server_id,
                    "outcome": transaction.outcome,
                    "xa": transaction.xa,
                    **part,
                }
            )
            row += 1


def change_parts(change: Change) -> Iterator[Row]:
    """The columns that the event itself tells, of each of its changes."""
    event = change.event
    if change.broken is not None:
        raise change.broken
    nothing = {"schema": None, "table": None, "key": None, "before": None, "after": None}
    if isinstance(event, RowsEvent):
        yield from row_parts(event, change.query)
    elif isinstance(event, Query | QueryCompressed | ExecuteLoadQuery):
        word = (
            "statement"
            if isinstance(event, ExecuteLoadQuery)
            else DATA_WORDS.get(statement_kind(event.query))
        )
        if word is not None:
            text = client_text(event)
            yield nothing | {"op": word, "schema": name_text(event.schema) or None, "query": text}
    elif isinstance(event, Load | NewLoad):
        yield nothing | {
            "op": "statement",
            "schema": name_text(event.schema) or None,
            "query": name_text(event.summary()),
        }
    elif isinstance(event, ExecLoad):
        yield nothing | {"op": "statement", "query": name_text(event.summary())}


def client_text(event: Query | QueryCompressed | ExecuteLoadQuery) -> str | None:
    charset = event.variable(SessionCharset)
    text = None if charset is None else decode_text(event.query, charset.client)
    return text if isinstance(text, str) else escaped(event.query)


def row_parts(event: RowsEvent, query: bytes | None) -> Iterator[Row]:
    table = event.table
    if event.is_dummy and table is None:
        return
    place: dict[str, Any] = {"file": FILE, "position": event.header.position, "event": event.name}
    if table is None:
        message = f"table id {event.table_id} has no table map before it"
        raise MissingTableMap(message, field="table_id", **place)
    if event.undecoded:
        raise DecodeError(
            "rows that cannot be decoded: they were logged by a server whose format the log does not describe",
            **place,
        )
    keys = sorted(
        (column.key_position, name_text(column_title(column)))
        for column in table.columns
        if column.key_position is not None
    )
    key: tuple[str, ...] | None = tuple(title for _, title in keys) or None
    if table.flags & GENERATED_KEY:
        key = (GENERATED_KEY_NAME,)
    for row in event.rows:
        try:
            before = None if row.before is None else encode_image(table.columns, row.before)
            after = None if row.after is None else encode_image(table.columns, apply_json_diffs(row))
        except GtidalError as error:
            raise error.at(**place) from None
        yield {
            "op": event.operation,
            "schema": name_text(table.schema),
            "table": name_text(table.table),
            "key": key,
            "before": before,
            "after": after,
            "query": escaped(query),
        }


REFERENCES = {
    "events": reference_events,
    "transactions": reference_transactions,
    "changes": reference_changes,
}


# --- the verdict


def difference(expected: Reading, found: Reading) -> str | None:
    """How a view differs from what the reference decoder says; None if it does not."""
    for number, (one, other) in enumerate(zip(expected.rows, found.rows, strict=False)):
        if wrong := row_difference(one, other):
            return f"row {number}: {wrong}"
    more = found.rows[len(expected.rows) :]
    if len(found.rows) < len(expected.rows):
        return f"{len(found.rows)} rows of {len(expected.rows)}; {found.error}, not {expected.error}"
    if len(more) > len(expected.unsure):
        return f"{len(found.rows)} rows, not {len(expected.rows)}; {found.error}, not {expected.error}"
    for number, (one, other) in enumerate(zip(expected.unsure, more, strict=False)):
        if wrong := row_difference(one, other, ("outcome", "xa")):
            return f"row {number} behind the last whole transaction: {wrong}"
    if expected.error != found.error:
        return f"{found.error}, not {expected.error}"
    return None


def row_difference(expected: Row, found: Row, unknown: tuple[str, ...] = ()) -> str | None:
    for name, value in found.items():
        wanted = expected[name]
        if value == wanted or name in unknown or (wanted is None and name.startswith("rows_")):
            continue
        if value is None and wanted == NO_NUMBER:
            continue
        if name in ("before", "after", "detail") and value is not None and wanted is not None:
            # The same value may be written with wider offsets, or its parts in another order.
            one, other = decode_typed(*wanted), decode_typed(*value)
            if repr(one) == repr(other):
                continue
            return f"{name} of {found.get('position')} is {other!r:.600}, not {one!r:.600}"
        return f"{name} of {found.get('position')} is {value!r:.300}, not {wanted!r:.300}"
    return None


def compare(log: bytes | Path, how: How, views: tuple[str, ...] = JUDGED) -> dict[str, Reading]:
    """Assert that views agree with the reference decoder; returns what it says."""
    told_by_reference = {}
    for view in views:
        expected = REFERENCES[view](log, how)
        wrong = verdict(view, log, how, expected, read_view(view, log, how))
        assert wrong is None, f"{view}: {wrong}"
        told_by_reference[view] = expected
    return told_by_reference


def verdict(view: str, log: bytes | Path, how: How, expected: Reading, found: Reading) -> str | None:
    """As ``difference``; but a view that did not look at broken rows may have gone on."""
    wrong = difference(expected, found)
    if wrong is None or expected.error is None or view == "events":
        return wrong
    lazy = REFERENCES[view](log, how, True)
    if difference(lazy, found) is None:
        return None
    if found.error in lazy.passed_over:  # it looked at some of them, and this is the first of those
        certain = lazy.passed_over[found.error]
        if (
            len(found.rows) >= certain
            and difference(Reading(lazy.rows[: len(found.rows)], found.error), found) is None
        ):
            return None
    return wrong
