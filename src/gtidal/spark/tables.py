"""The schema of typed rows, found in the logs."""

from __future__ import annotations

from dataclasses import replace
from typing import BinaryIO, cast

from gtidal.columnar.table_schema import TableSchema
from gtidal.columnar.table_versions import find_versions_quickly
from gtidal.columnar.windows import WindowReader
from gtidal.errors import UsageError
from gtidal.log.tables import TableVersion
from gtidal.planning import Piece, ReadPlan
from gtidal.requests import settle_of
from gtidal.sources.files import BoundedStream, LogFile, find_logs
from gtidal.sources.keyring import KeyStore
from gtidal.sources.storage import Storage
from gtidal.spark.options import ReadOptions


def listed(read: ReadOptions) -> list[Piece]:
    """The files of a read, each as one piece."""
    files = find_logs(read.paths, Storage(read.storage), recursive=read.recursive)
    return [Piece(str(file.path), file.name, file.size) for file in files]


def planned(plan: ReadPlan) -> list[Piece]:
    """The files that a plan reads, each as one of its pieces."""
    return list({piece.path: piece for part in plan.parts for piece in part.pieces}.values())


def find_table_schema(read: ReadOptions, files: list[Piece]) -> TableSchema:
    """That of the table's last version, looked for from the last file on backwards; with ``mergeSchema`` that of all
    its versions, in all files."""
    assert read.table is not None
    schema, _, table = read.table.partition(".")
    keys = KeyStore(None, read.filters.get("key_file"))
    settle = settle_of(read.filters)
    storage = Storage(read.storage)
    versions: list[TableVersion] = []
    for piece in reversed(files):
        file = replace(LogFile.at(piece.path, storage), listed_size=piece.size)
        with cast(BinaryIO, BoundedStream(file.open_raw(), piece.size)) as stream:
            reader = WindowReader(stream, piece.name, keys=keys, verify_checksum=False)
            reader.open()
            versions[:0] = find_versions_quickly(reader, piece.size - reader.head_size, schema, table, settle)
        if versions and not read.merge_schema:
            break
    if not versions:
        where = _named(files)
        raise UsageError(f"no rows of {read.table} in {where}; gtidal tables lists what is there")
    return TableSchema(schema, table, versions if read.merge_schema else versions[-1:], read.images)


def _named(files: list[Piece]) -> str:
    names = [file.name for file in files]
    more = f" and {len(names) - 3} more files" if len(names) > 3 else ""
    return (", ".join(names[:3]) or "what is read") + more
