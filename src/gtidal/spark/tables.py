"""The schema of typed rows, found in the logs."""

from __future__ import annotations

from gtidal.columnar.plan import Settle
from gtidal.columnar.splitting import Boundaries
from gtidal.columnar.table_schema import TableSchema
from gtidal.columnar.table_versions import find_versions
from gtidal.columnar.windows import WindowReader
from gtidal.errors import UsageError
from gtidal.log.decoder import Keys
from gtidal.log.tables import TableVersion
from gtidal.planning import Piece, ReadPlan
from gtidal.requests import settle_of
from gtidal.sources.files import LogFile
from gtidal.sources.keyring import KeyStore
from gtidal.sources.storage import Storage
from gtidal.spark.options import ReadOptions


def find_table_schema(read: ReadOptions, plan: ReadPlan) -> TableSchema:
    """That of the table's last version, looked for from the end of the logs on backwards; with ``mergeSchema`` that of
    all its versions, in all of the logs."""
    assert read.table is not None
    schema, _, table = read.table.partition(".")
    finder = _Finder(schema, table, read)
    pieces = [piece for part in plan.parts for piece in part.pieces]
    versions: list[TableVersion] = []
    for piece in reversed(pieces):
        versions[:0] = finder.versions(piece)
        if versions and not read.merge_schema:
            break
    if not versions:
        names = list(dict.fromkeys(piece.name for piece in pieces))
        more = f" and {len(names) - 3} more files" if len(names) > 3 else ""
        raise UsageError(
            f"no rows of {read.table} in {', '.join(names[:3]) or 'what is read'}{more}; gtidal tables lists what is there"
        )
    return TableSchema(schema, table, versions if read.merge_schema else versions[-1:], read.images)


class _Finder:
    def __init__(self, schema: str, table: str, read: ReadOptions) -> None:
        self.schema = schema
        self.table = table
        self.keys: Keys = KeyStore(None, read.filters.get("key_file"))
        self.settle: Settle | None = settle_of(read.filters)
        self.storage = Storage(read.storage)
        self._looked_at: dict[str, int] = {}
        """Of each file, from where on."""

    def versions(self, piece: Piece) -> list[TableVersion]:
        """Those in one piece of a log. Pieces are given in turn, the last one first."""
        with LogFile.at(piece.path, self.storage).open_raw() as stream:
            reader = WindowReader(stream, piece.name, keys=self.keys, verify_checksum=False)
            if piece.cut is not None:
                boundaries = Boundaries(reader, piece.size - reader.head_size)
                place = boundaries.first(piece.cut, piece.until or boundaries.size)
                if place is None:
                    return []
                reader.seek(place)
            reader.stop = self._looked_at.get(piece.path)
            self._looked_at[piece.path] = 0 if piece.cut is None else place.position
            return find_versions(reader, self.schema, self.table, self.settle)
