"""The schema of typed rows, found in the logs."""

from __future__ import annotations

from pathlib import Path

from gtidal.columnar.table_schema import TableSchema
from gtidal.columnar.table_versions import find_versions
from gtidal.columnar.windows import WindowReader
from gtidal.errors import UsageError
from gtidal.log.tables import TableVersion
from gtidal.planning import ReadPlan
from gtidal.requests import settle_of
from gtidal.sources.files import LogFile
from gtidal.sources.keyring import KeyStore
from gtidal.spark.options import ReadOptions


def find_table_schema(read: ReadOptions, plan: ReadPlan) -> TableSchema:
    """That of the table's last version, looked for from the last file on backwards; with ``mergeSchema`` that of all
    its versions, in all files."""
    assert read.table is not None
    schema, _, table = read.table.partition(".")
    keys = KeyStore(None, read.filters.get("key_file"))
    settle = settle_of(read.filters)
    versions: list[TableVersion] = []
    files = _files(plan)
    for file in reversed(files):
        with file.open_raw() as stream:
            reader = WindowReader(stream, file.name, keys=keys, verify_checksum=False)
            versions[:0] = find_versions(reader, schema, table, settle)
        if versions and not read.merge_schema:
            break
    if not versions:
        raise UsageError(f"no rows of {read.table} in {_named(files)}; gtidal tables lists what is there")
    return TableSchema(schema, table, versions if read.merge_schema else versions[-1:], read.images)


def _files(plan: ReadPlan) -> list[LogFile]:
    pieces = [piece for part in plan.parts for piece in part.pieces]
    return [LogFile(Path(path)) for path in dict.fromkeys(piece.path for piece in pieces)]


def _named(files: list[LogFile]) -> str:
    names = [file.name for file in files]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more files" if len(names) > 3 else "")
