"""Logs in parts that can be read anywhere: planned in one place, read in many.

``plan_read`` looks at the heads and the tails of files, never at whole ones, and cuts them at plain byte offsets.
``read_part`` gives the batches of one part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from gtidal.columnar.scanning import VIEWS, LogScan, Scan, Stretch
from gtidal.columnar.schemas import CHANGES, EVENTS, TRANSACTIONS
from gtidal.columnar.table_schema import TableSchema
from gtidal.columnar.views.events import SCHEMA_WITH_DETAIL
from gtidal.requests import Request, check_options, chosen_columns, selection_of, settle_of
from gtidal.sources.files import LogFile, find_logs
from gtidal.sources.keyring import KeyStore

Paths = str | Path | Iterable[str | Path]
SPLITTINGS = ("search", "walk")


@dataclass(frozen=True)
class Piece:
    """A range of one log, by byte offsets; its transactions are those that begin in it."""

    path: str
    name: str
    size: int
    """Of the file, when the read was planned."""
    cut: int | None = None
    """Where it begins; None: at the file's head."""
    until: int | None = None
    """Where it ends; None: at the file's end."""
    in_use: bool = False
    """Whether a server was still writing the file."""


@dataclass(frozen=True)
class Part:
    """What one task reads: a range of a large file, or several small files."""

    pieces: tuple[Piece, ...]

    @property
    def size(self) -> int:
        return sum((piece.until or piece.size) - (piece.cut or 0) for piece in self.pieces)


@dataclass
class ReadPlan:
    """All parts of a read, and what is left out of them."""

    parts: list[Part]
    files: int
    bytes_total: int
    bytes_planned: int
    pruned: list[str] = field(default_factory=list)
    """One sentence for each kind of pruning."""


def plan_read(
    paths: Paths,
    options: Mapping[str, Any],
    *,
    part_bytes: int,
    splitting: str = "search",
    storage: Mapping[str, str] | None = None,
) -> ReadPlan:
    """The parts of a read; ``options`` are those of ``gtidal.changes``."""
    check_options(options)
    request = Request.of(find_logs(paths), options)
    parts = []
    for index, file in enumerate(request.files):
        start = request.start if index == 0 else None
        stop = request.stop if index == len(request.files) - 1 else None
        parts.append(Part((Piece(str(file.path), file.name, file.size, start, stop),)))
    size = sum(part.size for part in parts)
    return ReadPlan(parts, len(parts), size, size)


def read_part(
    view: str,
    part: Part,
    options: Mapping[str, Any],
    columns: Sequence[str] | None = None,
    *,
    images: str = "variant",
    table: TableSchema | None = None,
    storage: Mapping[str, str] | None = None,
) -> Iterator[pa.RecordBatch]:
    """The batches of one part. ``table``: whose rows, for the view ``rows``."""
    check_options(options, images)
    schema = {"events": SCHEMA_WITH_DETAIL, "transactions": TRANSACTIONS, "changes": CHANGES}.get(view)
    if schema is None:
        assert table is not None, "rows of which table?"
        schema = table.arrow_schema()
    elif view == "events" and columns is None:
        schema = EVENTS
    scan = Scan(
        columns=chosen_columns(columns, schema.names),
        selection=selection_of(options),
        images=images,
        verify_checksum=options.get("verify_checksum", True),
        keys=KeyStore(None, options.get("key_file")),
        settle=settle_of(options),
        table=table,
    )
    for piece in part.pieces:
        with LogFile(Path(piece.path)).open_raw() as stream:
            yield from VIEWS[view](LogScan(stream, piece.name, scan, Stretch(piece.cut, piece.until)))
