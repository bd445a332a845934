"""``gtidal export``: logs as files. Parquet is written by the tasks that decode, with Arrow, which is several times
faster than to hand rows to Spark's Java; only what was written comes back. Other formats go through Spark's writers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gtidal.columnar.splitting import Boundaries
from gtidal.columnar.windows import WindowReader
from gtidal.errors import UsageError
from gtidal.events.format import MAGIC, Format
from gtidal.log.facts import LogName
from gtidal.planning import Part, Piece, plan_read, read_part
from gtidal.sources.files import LogFile, each_of
from gtidal.sources.keyring import KeyStore
from gtidal.sources.storage import Storage
from gtidal.spark.batch import BatchReader, LogPartition, Snapshot
from gtidal.spark.errors import plain_errors
from gtidal.spark.failures import explained
from gtidal.spark.manifest import ATTEMPTS, ExportedFile, ExportedLog, Folder, Manifest
from gtidal.spark.options import TYPED, ReadOptions
from gtidal.spark.schemas import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARQUET = "parquet"
FORMATS = (PARQUET, "orc", "json", "csv")
PARTITIONS = ("date", "table")
_SPARK_SCHEMA = "org.apache.spark.sql.parquet.row.metadata"
"""Where Spark looks in a file for its own types: VARIANT and intervals have no other."""
_NONE = "__HIVE_DEFAULT_PARTITION__"
_ESCAPED = re.compile(r"""[\x00-\x1f\x7f"#%'*/:=?\\{\[\]^]""")
"""What names of folders do not have: Hive's and Spark's rule."""
_WAITING = 64 << 20
"""Bytes of rows that wait until there are enough for a row group."""
_ROW_GROUP = 16 << 20
_TAIL = 4 << 20


@dataclass(frozen=True)
class Report:
    """What an export did."""

    files: int
    rows: int
    size: int
    logs: int
    """That had something new."""


# --- partitions


def partition_columns(view: str, partition_by: str | None, columns: Iterable[str]) -> tuple[str, ...]:
    """The columns that folders are named after."""
    if partition_by is None:
        return ()
    if partition_by == "date":
        if "date" in columns:
            raise UsageError("partition by date: the table has a column of that name itself")
        return ("date",)
    if view != "changes":
        raise UsageError("partition by table: that is for the view changes, the others have no tables")
    return ("schema", "table")


def _date_source(view: str) -> str:
    return "_commit_timestamp" if view == TYPED else "timestamp"


# --- what tasks do


@dataclass
class PartWriter:
    """Writes the rows of a part. It travels to the tasks."""

    reader: BatchReader
    folder: Folder
    run: str
    partitions: tuple[str, ...]

    def __call__(self, number: int, parts: Iterable[Part]) -> Iterator[ExportedFile]:
        with plain_errors(), self.folder.problems():
            for part in parts:
                yield from self.write(number, part)

    def write(self, number: int, part: Part) -> list[ExportedFile]:
        # Each attempt has a folder of its own: one that failed, or was too slow, disturbs nobody.
        attempt = f"{ATTEMPTS}/{self.run}/{number:05}-{uuid4().hex}"
        files = PartFiles(self.folder, attempt, f"part-{self.run}-{number:05}.parquet")
        for batch in self.reader.read(LogPartition(part)):
            for folder, rows in self._split(batch):
                files.add(folder, rows)
        return files.close()

    def _split(self, batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
        """The rows of a batch by the folder that they go to."""
        if not self.partitions:
            yield "", batch
            return
        keys = [self._key(batch, name) for name in self.partitions]
        folders = pc.binary_join_element_wise(*keys, "/").dictionary_encode()
        stays = [name for name in batch.schema.names if name not in self.partitions]
        rows = batch.select(stays)
        for number, folder in enumerate(folders.dictionary.to_pylist()):
            yield folder, rows.filter(pc.equal(folders.indices, number))

    def _key(self, batch: pa.RecordBatch, name: str) -> pa.Array:
        if name == "date":
            moments = batch.column(_date_source(self.reader.read_options.view))
            days = moments.cast(pa.timestamp("us")).cast(pa.date32())
            values = days.cast(pa.string()).dictionary_encode()
        else:
            values = batch.column(name).dictionary_encode()
        names = [f"{name}={_escaped(value) or _NONE}" for value in values.dictionary.to_pylist()]
        found = pc.take(pa.array(names, pa.string()), values.indices)
        return pc.fill_null(found, f"{name}={_NONE}")


def _escaped(value: str) -> str:
    return _ESCAPED.sub(lambda found: f"%{ord(found[0]):02X}", value)


class PartFiles:
    """The files that one task writes, one for each folder. Rows wait until they make a row group."""

    def __init__(self, folder: Folder, attempt: str, name: str) -> None:
        self._folder = folder
        self._attempt = attempt
        self._name = name
        self._writers: dict[str, pq.ParquetWriter] = {}
        self._rows: dict[str, int] = {}
        self._waiting: dict[str, list[pa.RecordBatch]] = {}
        self._sizes: dict[str, int] = {}

    def add(self, folder: str, rows: pa.RecordBatch) -> None:
        if not rows.num_rows:
            return
        self._waiting.setdefault(folder, []).append(rows)
        self._sizes[folder] = self._sizes.get(folder, 0) + rows.nbytes
        if self._sizes[folder] >= _ROW_GROUP:
            self._flush(folder)
        while sum(self._sizes.values()) > _WAITING:
            self._flush(max(self._sizes, key=lambda each: self._sizes[each]))

    def _flush(self, folder: str) -> None:
        table = pa.Table.from_batches(self._waiting.pop(folder))
        del self._sizes[folder]
        self._rows[folder] = self._rows.get(folder, 0) + table.num_rows
        if folder not in self._writers:
            path = f"{self._attempt}/{self._path(folder)}"
            self._folder.make_room(path)
            types = spark_schema(table.schema).json()
            schema = table.schema.with_metadata({_SPARK_SCHEMA: types})
            self._writers[folder] = pq.ParquetWriter(
                self._folder.at(path), schema, filesystem=self._folder.system, compression="zstd"
            )
        self._writers[folder].write_table(
            table.replace_schema_metadata(self._writers[folder].schema.metadata)
        )

    def _path(self, folder: str) -> str:
        return f"{folder}/{self._name}" if folder else self._name

    def close(self) -> list[ExportedFile]:
        for folder in list(self._waiting):
            self._flush(folder)
        written = []
        for folder, writer in self._writers.items():
            writer.close()
            path = f"{self._attempt}/{self._path(folder)}"
            size = self._folder.system.get_file_info(self._folder.at(path)).size
            written.append(ExportedFile(self._path(folder), self._rows[folder], size, path))
        return written


# --- what is new


@dataclass(frozen=True)
class _Log:
    """A log of this read, as it is now."""

    path: str
    name: str
    size: int
    head: str
    may_grow: bool
    until: int | None
    """The end of its last transaction that is whole; None: it is read to its end."""

    def exported(self) -> ExportedLog:
        return ExportedLog(self.name, self.head, self.size, self.until)


def _look(piece: Piece, may_grow: bool, read: ReadOptions) -> _Log:
    with LogFile.at(piece.path, Storage(read.storage)).open_raw() as stream:
        head = bytearray(stream.read(64))
    if head.startswith(MAGIC):
        head[21:23] = bytes(2)  # the flag that says the server still writes it
    until = _whole_until(piece.path, read) if may_grow else None
    return _Log(piece.path, piece.name, piece.size, sha256(head).hexdigest()[:16], may_grow, until)


def _whole_until(path: str, read: ReadOptions) -> int:
    """Where a log that may grow is cut: before a transaction that has not ended, else behind its last whole event."""
    options = {name: read.filters[name] for name in ("key_file",) if name in read.filters}
    options["verify_checksum"] = False
    plan = plan_read(path, options, part_bytes=_TAIL, storage=read.storage)

    def rows(view: str, part: Part, *columns: str) -> list[dict[str, Any]]:
        batches = read_part(view, part, options, columns, storage=read.storage)
        return [row for batch in batches for row in batch.to_pylist()]

    for part in reversed(plan.parts):
        transactions = rows("transactions", part, "position", "outcome")
        if transactions and transactions[-1]["outcome"] == "incomplete":
            return int(transactions[-1]["position"])
        events = rows("events", part, "end_position", "payload_position")
        ends = [event["end_position"] for event in events if event["payload_position"] is None]
        if ends:
            return int(max(ends))
    return 0


def _last_ones(pieces: Iterable[Piece]) -> set[str]:
    """The paths of the logs after which none of the same server follows."""
    last: dict[tuple[str, str], tuple[int, str]] = {}
    for piece in pieces:
        name = LogName.parse(piece.name)
        chain = piece.path[: -len(piece.name)], name.base
        last[chain] = max(last.get(chain, (-2, "")), (-1 if name.number is None else name.number, piece.path))
    return {path for _, path in last.values()}


def _format_at(piece: Piece, position: int, read: ReadOptions) -> Format | None:
    """That in force at a place; None: that of the log's head. Relay logs have those of their sources as well."""
    with LogFile.at(piece.path, Storage(read.storage)).open_raw() as stream:
        reader = WindowReader(stream, piece.name, keys=KeyStore(None, read.filters.get("key_file")))
        reader.open()
        boundaries = Boundaries(reader, piece.size - reader.head_size)
        place = boundaries.first(position, boundaries.size) if boundaries.relay else None
        return None if place is None else place.format


def _new_pieces(
    part: Part, logs: Mapping[str, _Log], done: Mapping[tuple[str, str], ExportedLog], read: ReadOptions
) -> Part:
    pieces = []
    for piece in part.pieces:
        log = logs[piece.path]
        before = done.get((log.name, log.head))
        start = _start(log, before)
        if start is None or (piece.until is not None and piece.until <= start):
            continue
        if log.until is not None and (piece.cut or 0) >= log.until:
            continue
        if start > (piece.cut or 0):
            piece = replace(piece, cut=start, searched=False, format=_format_at(piece, start, read))
        if log.until is not None:
            piece = replace(piece, stop=min(piece.stop or log.until, log.until))
        pieces.append(piece)
    return Part(tuple(pieces))


def _start(log: _Log, before: ExportedLog | None) -> int | None:
    """From where a log is new; None: nowhere."""
    if before is None:
        return 0
    if before.size == log.size and (before.until is None or log.may_grow or before.until >= log.size):
        return None
    if before.until is None or before.size > log.size:
        raise UsageError(
            f"{log.name} has {log.size:,} bytes, and had {before.size:,} when it was exported whole: "
            "export the logs as they are now into another folder"
        )
    return None if before.until == log.until else before.until


# --- the job


@dataclass(frozen=True)
class Export:
    """An export to Parquet. A second one into the same folder adds what is new in the logs."""

    read: ReadOptions
    to: str
    partition_by: str | None = None

    def run(self, spark: SparkSession) -> Report:
        folder = Folder(self.to, tuple(sorted(self.read.storage.items())))
        with folder.problems():
            return self._run(spark, folder)

    def _run(self, spark: SparkSession, folder: Folder) -> Report:
        before = folder.manifest()
        snapshot = Snapshot.of(self.read)
        partitions = partition_columns(self.read.view, self.partition_by, snapshot.columns.names)
        manifest = self._continued(before, snapshot)
        pieces = {piece.path: piece for part in snapshot.plan.parts for piece in part.pieces}
        last = _last_ones(pieces.values())
        seen = each_of(list(pieces.values()), lambda piece: _look(piece, piece.path in last, self.read))
        logs = {log.path: log for log in seen}
        done = manifest.by_log
        parts = [_new_pieces(part, logs, done, self.read) for part in snapshot.plan.parts]
        parts = [part for part in parts if part.pieces]
        reader = BatchReader(self.read, snapshot, spark_schema(snapshot.columns))
        writer = PartWriter(reader, folder, uuid4().hex[:12], partitions)
        written = _in_tasks(spark, writer, parts)
        manifest.logs = list(
            {**done, **{log.exported().key: log.exported() for log in logs.values()}}.values()
        )
        if parts or before is None:
            folder.commit(manifest, written)
        folder.clean()
        new = {piece.path for part in parts for piece in part.pieces}
        return Report(
            len(written), sum(file.rows for file in written), sum(file.size for file in written), len(new)
        )

    def _continued(self, before: Manifest | None, snapshot: Snapshot) -> Manifest:
        """What is in the folder, if this export can go on with it."""
        asked = self._asked()
        columns = {field.name: str(field.type) for field in snapshot.columns}
        if before is None:
            return Manifest(asked, columns)
        if differing := [name for name in asked if asked[name] != before.read.get(name)]:
            name = differing[0]
            raise UsageError(
                f"{self.to} holds an export with {name} {before.read.get(name)}, not {asked[name]}: "
                "name another folder"
            )
        for name, kind in columns.items():
            if before.columns.get(name, kind) != kind:
                raise UsageError(
                    f"column {name} is {kind} now, and was {before.columns[name]} when {self.to} was written: "
                    "name another folder"
                )
        return replace(before, columns={**before.columns, **columns})

    def _asked(self) -> dict[str, Any]:
        read = self.read
        filters = {name: str(value) for name, value in sorted(read.filters.items()) if name != "key_file"}
        return {
            "view": read.view,
            "table": read.table,
            "partition": self.partition_by,
            "images": read.images,
            "options": filters,
        }


def _in_tasks(spark: SparkSession, writer: Callable[..., Any], parts: list[Part]) -> list[ExportedFile]:
    """One task for each part. Spark gives the answers of attempts that ended well, one of each task."""
    if not parts:
        return []
    with explained():
        tasks = spark.sparkContext.parallelize(parts, len(parts))
        written: list[ExportedFile] = tasks.mapPartitionsWithIndex(writer).collect()
    return written


# --- Spark's writers


def write_with_spark(frame: DataFrame, form: str, to: str, partitions: tuple[str, ...] = ()) -> None:
    """A DataFrame as files. What a format has no type for becomes JSON text, in CSV binary becomes base64."""
    from pyspark.sql import functions as spark_sql
    from pyspark.sql.types import ArrayType, BinaryType, MapType, StructType, VariantType

    texts: tuple[type, ...] = {
        "orc": (VariantType,),
        "csv": (VariantType, ArrayType, MapType, StructType),
    }.get(form, ())
    columns = []
    for field in frame.schema.fields:
        column = spark_sql.col(f"`{field.name}`")
        if isinstance(field.dataType, texts):
            column = spark_sql.to_json(column).alias(field.name)
        elif form == "csv" and isinstance(field.dataType, BinaryType):
            column = spark_sql.base64(column).alias(field.name)
        columns.append(column)
    writer = frame.select(columns).write.format(form)
    if form == "csv":
        writer = writer.option("header", True)
    with explained():
        writer.partitionBy(*partitions).save(to)


def export_with_spark(
    spark: SparkSession,
    options: Mapping[str, str],
    paths: list[str],
    form: str,
    to: str,
    partition_by: str | None,
) -> None:
    """All at once: Spark's writers know nothing of what was written before."""
    read = ReadOptions.parse({**options, "paths": json.dumps(paths)})
    with explained():
        frame = spark.read.format("binlog").options(**options).load(paths)
        partitions = partition_columns(read.view, partition_by, frame.columns)
        if "date" in partitions:
            from pyspark.sql.functions import to_date

            frame = frame.withColumn("date", to_date(_date_source(read.view)))
        write_with_spark(frame, form, to, partitions)
