"""``gtidal stream``: a growing log as Parquet files, each row exactly once.

The tasks that decode write the files, as those of an export do; only what was written goes through Spark. Each micro-batch
comes into sight under names of its own. One that is done again, after a crash, first removes what it left there before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.fs import FileSelector, FileType
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StructType

from gtidal.errors import UsageError
from gtidal.spark.batch import columns_of
from gtidal.spark.errors import plain_errors
from gtidal.spark.exporting import PartFiles
from gtidal.spark.failures import explained
from gtidal.spark.manifest import ATTEMPTS, HIDDEN, Folder
from gtidal.spark.options import STORAGE_PREFIX, TYPED
from gtidal.spark.schemas import arrow_schema, spark_schema
from gtidal.spark.source import BinlogSource
from gtidal.spark.stream import StreamReader, StretchPartition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

FORMAT = "binlog-files"
TO = "to"
AVAILABLE_NOW = "once"
_STREAM = f"{HIDDEN}/stream.json"
_TRIGGER = re.compile(r"(\d+)\s*(ms|s|m|h)")
_UNITS = {"ms": "milliseconds", "s": "seconds", "m": "minutes", "h": "hours"}
_WRITTEN = pa.schema(
    [
        pa.field("number", pa.int32(), nullable=False),
        pa.field("attempt", pa.string(), nullable=False),
        pa.field("rows", pa.int64(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("newest", pa.int64()),
    ]
)
"""What a task says of a file: which part of the batch it is, where it lies, and the time of its last change in microseconds."""


# --- what tasks do


class FilesSource(BinlogSource):
    """The data source of this command: writes what ``binlog`` would give, and gives what was written."""

    def __init__(self, options: dict[str, str]) -> None:
        own = {name.lower(): value for name, value in options.items()}
        self.to = own.pop(TO)
        super().__init__(own)

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        super().schema()
        return spark_schema(_WRITTEN)

    def streamReader(self, schema: StructType) -> FilesReader:  # Spark's name
        with plain_errors():
            self._snapshot = None
            columns = spark_schema(columns_of(self.read, self.table()))
            return FilesReader(self.read, self.table, columns, Folder(self.to, _settings(self.read.storage)))


def _settings(storage: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(storage.items()))


class FilesReader(StreamReader):
    """Writes each part of a micro-batch into a file of its own."""

    def __init__(self, read: Any, table: Any, asked: StructType, folder: Folder) -> None:
        super().__init__(read, table, asked)
        self._folder = folder

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, StretchPartition):
            return
        with plain_errors(), self._folder.problems():
            # Each attempt has a folder of its own: one that failed, or was too slow, disturbs nobody.
            files = PartFiles(self._folder, f"{ATTEMPTS}/{uuid4().hex}", "part.parquet")
            clock = "_commit_timestamp" if self.read_options.view == TYPED else "timestamp"
            newest: int | None = None
            for batch in super().read(partition):
                files.add("", batch)
                last = pc.max(batch.column(clock).cast(pa.int64())).as_py()
                newest = last if newest is None else max(newest, last or newest)
            for written in files.close():
                row = [partition.number, written.attempt, written.rows, written.size, newest]
                arrays = [pa.array([value], kind) for value, kind in zip(row, _WRITTEN.types, strict=True)]
                yield pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(spark_schema(_WRITTEN)))


# --- what the driver does


@dataclass
class Progress:
    """What was written since the start."""

    batches: int = 0
    rows: int = 0
    size: int = 0
    newest: int | None = None
    """When the newest row was written to the log, in microseconds since 1970."""


@dataclass
class FilesSink:
    """Brings the files of a micro-batch into sight. Spark calls it again with a batch that it does not know to be done."""

    folder: Folder
    progress: Progress = field(default_factory=Progress)
    _ready: bool = False

    def __call__(self, frame: DataFrame, batch: int) -> None:
        with self.folder.problems():
            if not self._ready:
                self._get_ready(frame, batch)
            written = frame.collect()
            for file in written:
                self.folder.system.move(
                    self.folder.at(file["attempt"]), self.folder.at(_name(batch, file["number"]))
                )
                self.folder.system.delete_dir(self.folder.at(file["attempt"]).rpartition("/")[0])
        self._count(written)

    def _get_ready(self, frame: DataFrame, batch: int) -> None:
        """Only the first batch of a run may have been done before."""
        query = frame.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
        seen = self._seen()
        owner = self.folder.read_json(_STREAM)
        if owner is None and seen:
            raise UsageError(
                f"{self.folder.to} is not empty, and what is in it was not written by gtidal stream"
            )
        if owner is not None and owner["query"] != query:
            raise UsageError(
                f"{self.folder.to} is written with another checkpoint; with this one its files would be replaced: name another "
                "folder, or that checkpoint"
            )
        if owner is None:
            self.folder.write_json(_STREAM, {"query": query})
        for name in seen:
            if name.startswith(_name(batch, None)):
                self.folder.system.delete_file(self.folder.at(name))
        self.folder.clean()
        self._ready = True

    def _seen(self) -> list[str]:
        found = self.folder.system.get_file_info(FileSelector(self.folder.at(""), allow_not_found=True))
        return [
            entry.base_name
            for entry in found
            if entry.type == FileType.File and not entry.base_name.startswith(("_", "."))
        ]

    def _count(self, written: Sequence[Row]) -> None:
        progress = self.progress
        progress.batches += 1
        progress.rows += sum(file["rows"] for file in written)
        progress.size += sum(file["size"] for file in written)
        times = [file["newest"] for file in written if file["newest"] is not None]
        progress.newest = max(times, default=progress.newest)


def _name(batch: int, number: int | None) -> str:
    """In the order of the log, when sorted."""
    return f"batch-{batch:010}-" + ("" if number is None else f"part-{number:05}.parquet")


def trigger_of(text: str) -> dict[str, Any]:
    """What Spark calls ``1s``, ``100ms`` or ``once``."""
    if text.strip().lower() == AVAILABLE_NOW:
        return {"availableNow": True}
    found = _TRIGGER.fullmatch(text.strip().lower())
    if found is None:
        raise UsageError(f"a trigger is once, or a time such as 100ms, 5s, 1m, not {text!r}")
    return {"processingTime": f"{found[1]} {_UNITS[found[2]]}"}


def start_stream(
    spark: SparkSession,
    source: str,
    options: Mapping[str, str],
    to: str,
    checkpoint: str | None,
    trigger: str,
) -> tuple[StreamingQuery, Progress]:
    """Begin to write a log into a folder, or go on with it."""
    chosen = trigger_of(trigger)
    storage = {name: value for name, value in options.items() if name.lower().startswith(STORAGE_PREFIX)}
    folder = Folder(to, _settings(storage))
    sink = FilesSink(folder)
    with explained():
        spark.dataSource.register(FilesSource)
        frame = spark.readStream.format(FORMAT).options(**options, **{TO: to}).load(source)
        writer = frame.writeStream.foreachBatch(sink).trigger(**chosen)
        query = writer.option(
            "checkpointLocation", checkpoint or f"{to.rstrip('/')}/{HIDDEN}/checkpoint"
        ).start()
    return query, sink.progress
