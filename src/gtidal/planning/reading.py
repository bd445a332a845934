"""One part, read: each piece finds where it begins and where it has to arrive, and must arrive there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

import pyarrow as pa

from gtidal.columnar import kernel
from gtidal.columnar.coalescing import coalesced
from gtidal.columnar.codes import FAILFAST
from gtidal.columnar.modes import schema_in_mode, view_columns, view_in_mode
from gtidal.columnar.scanning import LogScan, Scan, Stretch, View
from gtidal.columnar.schemas import CHANGES, DETAIL, TRANSACTIONS
from gtidal.columnar.splitting import Boundaries
from gtidal.columnar.table_schema import TableSchema
from gtidal.columnar.views.changes import schema_of
from gtidal.columnar.views.events import SCHEMA_WITH_DETAIL
from gtidal.columnar.windows import WindowReader
from gtidal.errors import DecodeError, UsageError
from gtidal.events.format import Format
from gtidal.planning.parts import Carried, Part, Piece
from gtidal.requests import check_options, chosen_columns, selection_of, settle_of
from gtidal.sources.files import BoundedStream, LogFile, Meter
from gtidal.sources.keyring import KeyStore
from gtidal.sources.seeking import SeekingStream
from gtidal.sources.storage import Storage

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_SCHEMAS = {"events": SCHEMA_WITH_DETAIL, "transactions": TRANSACTIONS, "changes": CHANGES}
_LOOK = 1 << 14


def read_part(
    view: str,
    part: Part,
    options: Mapping[str, Any],
    columns: Sequence[str] | None = None,
    *,
    images: str = "variant",
    table: TableSchema | None = None,
    storage: Mapping[str, str] | None = None,
    meter: Meter | None = None,
) -> Iterator[pa.RecordBatch]:
    """The batches of one part. ``options`` are those of ``gtidal.changes``; ``table``: whose rows, for the view
    ``rows``. ``meter`` counts the bytes that are read."""
    check_options(options, images)
    mode = options.get("mode", FAILFAST)
    there = _schema(view, table, images)
    shown = schema_in_mode(there, mode)
    if view == "events" and columns is None:
        columns = [name for name in shown.names if name != DETAIL.name]  # the details are for those who ask
    chosen = chosen_columns(columns, shown.names)
    batch_schema = pa.schema([shown.field(name) for name in chosen])
    read = view_in_mode(view, mode, batch_schema, options.get("on_corrupt"))
    scan = Scan(
        columns=view_columns(chosen, there),
        selection=selection_of(options),
        images=images,
        verify_checksum=options.get("verify_checksum", True),
        keys=KeyStore(None, options.get("key_file")),
        settle=settle_of(options),
        table=table,
    )
    kernel.announce()
    where = Storage(options.get("storage") if storage is None else storage)

    def batches() -> Iterator[pa.RecordBatch]:
        for piece in part.pieces:
            with cast(BinaryIO, _opened(piece, where, meter)) as stream:
                yield from _PieceReader(stream, piece, scan).batches(read)

    return coalesced(batches())


def _opened(piece: Piece, where: Storage, meter: Meter | None) -> SeekingStream:
    if piece.carried is not None:
        return _CarriedStream(piece.carried, piece.cut or 0)
    file = replace(LogFile.at(piece.path, where), listed_size=piece.size)
    return BoundedStream(file.open_raw(), piece.size, meter)


class _CarriedStream(SeekingStream):
    """A file of which only the head and one piece are here."""

    searchable = False

    def __init__(self, carried: Carried, begins: int) -> None:
        super().__init__()
        self._extents = ((0, carried.head), (begins, carried.events))

    def readinto(self, buffer: WriteableBuffer) -> int:
        target = memoryview(buffer).cast("B")
        for begins, data in self._extents:
            if begins <= self._at < begins + len(data):
                some = data[self._at - begins :][: len(target)]
                target[: len(some)] = some
                self._at += len(some)
                return len(some)
        return 0


def _schema(view: str, table: TableSchema | None, images: str) -> pa.Schema:
    if view == "rows":
        if table is None:
            raise UsageError("rows of which table?")
        return table.arrow_schema()
    if view not in _SCHEMAS:
        raise UsageError(f"no view {view}; there are {', '.join(_SCHEMAS)} and rows")
    return schema_of(CHANGES.names, images) if view == "changes" else _SCHEMAS[view]


class _Arrival(NamedTuple):
    """Where a reader has to arrive, and the format that is taken to be in force there; None: not by the next reader."""

    position: int
    format: Format | None


class _PieceReader:
    def __init__(self, stream: BinaryIO, piece: Piece, scan: Scan) -> None:
        self.stream = stream
        self.piece = piece
        self.scan = scan

    def batches(self, read: View) -> Iterator[pa.RecordBatch]:
        piece = self.piece
        begin, arrival = self._bounds()
        if begin is None:
            return  # no transaction begins here: the one before goes on
        stop = piece.stop
        if arrival is not None and (stop is None or arrival.position < stop):
            stop = arrival.position
        else:
            arrival = None
        if begin.start is not None and stop is not None and begin.start >= stop:
            return
        scan = replace(self.scan, window=min(self.scan.window, max(piece.size, _LOOK)))
        log = LogScan(self.stream, piece.name, scan, replace(begin, stop=stop, shown_from=piece.shown_from))
        reader = log.reader
        reader.in_use |= piece.in_use
        try:
            yield from read(log)
        except DecodeError:
            if arrival is None or not reader.overran:
                raise
            raise self._missed(reader, arrival) from None
        if arrival is not None and not _has_arrived(reader, arrival):
            raise self._missed(reader, arrival)

    def _bounds(self) -> tuple[Stretch | None, _Arrival | None]:
        """The stretch that begins here, or None; and where the next one begins."""
        piece = self.piece
        begin: Stretch | None = Stretch(piece.cut, None, piece.format)
        arrival = None if piece.until is None else _Arrival(piece.until, None)
        if piece.searched or piece.step:
            reader = WindowReader(self.stream, piece.name, keys=self.scan.keys, window=_LOOK)
            reader.open()
            boundaries = Boundaries(reader, piece.size - reader.head_size)
            if piece.searched:
                begin = self._begin(boundaries)
            if begin is not None and piece.step:
                arrival = self._arrival(boundaries)
            self.stream.seek(0)
        return begin, arrival

    def _begin(self, boundaries: Boundaries) -> Stretch | None:
        piece = self.piece
        assert piece.cut is not None
        place = boundaries.first(piece.cut, boundaries.size if piece.until is None else piece.until)
        return None if place is None else Stretch(place.position, None, place.format)

    def _arrival(self, boundaries: Boundaries) -> _Arrival | None:
        """The same search that the readers of the following ranges make."""
        cut = self.piece.until
        while cut is not None:
            following = self.piece.following(cut, boundaries.size)
            place = boundaries.first(cut, boundaries.size if following is None else following)
            if place is not None:
                return _Arrival(place.position, place.format)
            cut = following
        return None

    def _missed(self, reader: WindowReader, arrival: _Arrival) -> DecodeError:
        way_out = "read the log with splitting=walk, which goes from transaction to transaction"
        if reader.position == arrival.position:
            message = f"the log's format changes before position {arrival.position}, where a part of it begins: {way_out}"
        else:
            message = (
                f"at position {arrival.position} a transaction seems to begin and does not: the event at "
                f"{reader.position} goes on beyond it. Bytes in it look like events: {way_out}"
            )
        return DecodeError(message, file=self.piece.name, position=reader.position)


def _has_arrived(reader: WindowReader, arrival: _Arrival) -> bool:
    in_force = arrival.format is None or reader.decoder.format == arrival.format
    return reader.position == arrival.position and in_force
