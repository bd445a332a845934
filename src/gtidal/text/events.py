"""One function for each event that prints itself and depends on nothing before it.

Each gets the event and the header line begun (``#250527  1:07:05 server id 1  end_log_pos 126 CRC32 … ``),
and returns the text. Events whose text depends on what came before are in ``printer``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gtidal.errors import DecodeError
from gtidal.events.control import INCIDENTS, Incident, PreviousGtids, Rotate, Stop
from gtidal.events.group import TransactionContext, ViewChange
from gtidal.events.load import AppendBlock, BeginLoadQuery, BlockEvent, DeleteFile
from gtidal.events.registry import Event
from gtidal.events.statement import Intvar, Rand, RowsQuery
from gtidal.events.transaction import (
    UNDEFINED_SERVER_VERSION,
    AnonymousGtid,
    GtidEvent,
    TransactionPayload,
    XaPrepare,
    Xid,
)
from gtidal.gtid.text import format_uuid
from gtidal.text.statements import (
    DELIMITER,
    intvar_text,
    rand_text,
    signed,
    text_of,
)
from gtidal.text.times import Clock

READ_COMMITTED = f"/*!50718 SET TRANSACTION ISOLATION LEVEL READ COMMITTED*/{DELIMITER}\n"
_WORD = (1 << 64) - 1


class GtidText:
    """GTID events, with the parts that repeat from one to the next."""

    def __init__(self, clock: Clock, short_form: bool) -> None:
        self._clock = clock
        self._short_form = short_form
        self._uuid = b""
        self._uuid_text = ""

    def print(self, event: GtidEvent, header: str) -> str:
        immediate = event.immediate_commit_timestamp or 0
        original = event.original_commit_timestamp
        date = self._clock.commit(immediate)
        original_date = date
        if original is None:
            original = immediate
        elif original != immediate:
            original_date = self._clock.commit(original)
        row_only = event.row_only
        line = ""
        if not self._short_form:
            kind = "Anonymous_GTID" if isinstance(event, AnonymousGtid) else "GTID"
            line = (
                f"{header}\t{kind}\tlast_committed={(event.last_committed or 0) & _WORD}"
                f"\tsequence_number={(event.sequence_number or 0) & _WORD}"
                f"\trbr_only={'yes' if row_only else 'no'}"
                f"\toriginal_committed_timestamp={original}\timmediate_commit_timestamp={immediate}"
                f"\ttransaction_length={event.transaction_length or 0}\n"
            )
        version = event.immediate_server_version
        if version is None:
            version = 0 if event.immediate_commit_timestamp is None else UNDEFINED_SERVER_VERSION
        original_version = event.original_server_version
        if original_version is None:
            original_version = version
        return (
            f"{line}{READ_COMMITTED if row_only else ''}"
            f"# original_commit_timestamp={original} ({original_date})\n"
            f"# immediate_commit_timestamp={immediate} ({date})\n"
            f"/*!80001 SET @@session.original_commit_timestamp={original}*/{DELIMITER}\n"
            f"/*!80014 SET @@session.original_server_version={original_version}*/{DELIMITER}\n"
            f"/*!80014 SET @@session.immediate_server_version={version}*/{DELIMITER}\n"
            f"SET @@SESSION.GTID_NEXT= '{self.gtid_next(event)}'{DELIMITER}\n"
        )

    def gtid_next(self, event: GtidEvent) -> str:
        if isinstance(event, AnonymousGtid):
            return "ANONYMOUS"
        if event.uuid != self._uuid:
            self._uuid = event.uuid
            self._uuid_text = format_uuid(event.uuid)
        tag = f"{event.tag}:" if event.tag else ""
        return f"{self._uuid_text}:{tag}{event.gno}"


def previous_gtids_text(event: PreviousGtids) -> str:
    gtids = event.gtids.to_set()
    if not gtids:
        return "# [empty]\n"
    return "# " + str(gtids).replace("\n", "\n# ") + "\n"


def _append_block(event: BlockEvent, header: str) -> str:
    name = "Begin_load_query" if isinstance(event, BeginLoadQuery) else "Append_block"
    return f"{header}\n#{name}: file_id: {signed32(event.file_id)}  block_len: {len(event.block)}\n"


def signed32(value: int) -> int:
    return value - (1 << 32) if value >> 31 else value


def _transaction_context(event: TransactionContext, header: str) -> str:
    return f"{header}Transaction_context: server_uuid={event.server_uuid}\tthread_id={event.thread_id}\n"


def payload_text(event: TransactionPayload, header: str) -> str:
    return (
        f"{header}\tTransaction_Payload\t\tpayload_size={len(event.payload)}"
        f"\tcompression_type={event.compression_name}\tuncompressed_size={event.uncompressed_size or 0}\n"
        f"# Start of compressed events.\n"
    )


def _rotate(event: Rotate, header: str) -> str:
    return f"{header}\tRotate to {event.next_file}  pos: {signed(event.start)}\n"


def _incident(event: Incident, header: str) -> str:
    name = INCIDENTS.get(event.incident)
    if not event.incident or name is None:
        raise DecodeError(f"{event.incident} is no incident", field="incident")
    return f"{header}\n# Incident: {name}\nRELOAD DATABASE; # Shall generate syntax error\n"


_ROWS_QUERY_ESCAPES = str.maketrans({"\0": "\\0", "\b": "\\b", "\t": "\\t", "\r": "\\r", "\\": "\\\\"})


def rows_query_text(event: RowsQuery, header: str) -> str:
    """Every line becomes a comment, so that nothing of it is run."""
    if not event.query:
        raise DecodeError("is empty", field="query")
    lines = text_of(event.query).translate(_ROWS_QUERY_ESCAPES).split("\n")
    return f"{header}\tRows_query\n" + "".join(f"# {line}\n" for line in lines)


def ignorable_text(event: Event, header: str) -> str:
    return f"{header}\tIgnorable\n# Unrecognized ignorable event\n"


# Comments only: nothing of these is printed in the short form.
COMMENTS: dict[int, Callable[[Any, str], str]] = {
    Stop.code: lambda event, header: f"{header}\tStop\n",
    Rotate.code: _rotate,
    Incident.code: _incident,
    AppendBlock.code: _append_block,
    BeginLoadQuery.code: _append_block,
    DeleteFile.code: lambda event, header: f"{header}\n#Delete_file: file_id={event.file_id}\n",
    TransactionContext.code: _transaction_context,
    ViewChange.code: lambda event, header: f"{header}View_change_log_event: view_id={event.view_id}\n",
}

# A comment line, then a statement that the short form has too.
STATEMENTS: dict[int, tuple[Callable[[Any], str], Callable[[Any], str]]] = {
    Xid.code: (lambda event: f"\tXid = {event.xid}\n", lambda event: f"COMMIT{DELIMITER}\n"),
    Intvar.code: (lambda event: "\tIntvar\n", intvar_text),
    Rand.code: (lambda event: "\tRand\n", rand_text),
    PreviousGtids.code: (lambda event: "\tPrevious-GTIDs\n", previous_gtids_text),
}


def xa_prepare_text(event: XaPrepare, header: str) -> str:
    """The tool has no short form of it."""
    xa = f"X'{event.gtrid.hex()}',X'{event.bqual.hex()}',{event.format_id & 0xFFFFFFFF}"
    statement = f"XA COMMIT {xa} ONE PHASE" if event.one_phase else f"XA PREPARE {xa}"
    return f"{header}\tXA PREPARE {xa}\n{statement}\n{DELIMITER}\n"
