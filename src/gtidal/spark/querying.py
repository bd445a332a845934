"""``gtidal query``: SQL over the views and, by name, over any table in the logs.

The query is first analysed over empty tables. From Spark's plan of that it is known which columns of which tables it
needs, and between which times, of which schemas, GTIDs and so on; then only those are read. Spark still applies all
conditions itself, so what is read may be more than what was asked for, never less.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from py4j.java_gateway import is_instance_of  # type: ignore[import-untyped]  # py4j has no types
from pyspark.sql.types import StructField, StructType

from gtidal.columnar.selection import pattern
from gtidal.errors import UsageError
from gtidal.events.registry import EVENTS
from gtidal.gtid import parse_gtid_set
from gtidal.planning import ReadPlan
from gtidal.sources.files import find_logs
from gtidal.sources.storage import Storage
from gtidal.spark.batch import Snapshot, columns_of
from gtidal.spark.failures import explained
from gtidal.spark.needs import Conditions, Node, Reading, Span, Words, any_of, readings
from gtidal.spark.options import BY_NAME, TYPED, VIEWS, ReadOptions
from gtidal.spark.schemas import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MARK = "gtidal"
"""In the metadata of a column: the table that it is of."""
_PLAN = "org.apache.spark.sql.catalyst.plans.QueryPlan"
_STATEMENTS = (
    "org.apache.spark.sql.catalyst.plans.logical.Command",
    "org.apache.spark.sql.catalyst.plans.logical.ParsedStatement",
)
LONGEST_TRANSACTION = timedelta(days=1)
"""Changes bear the time of their statement; ``start`` and ``stop`` are compared with that of the whole transaction."""


@dataclass(frozen=True)
class LogTable:
    """A table that a query reads: a view of the logs, or one of the tables in them."""

    name: str
    """``changes``, or ``shop.orders``."""
    options: dict[str, str]
    paths: tuple[str, ...]
    columns: pa.Schema
    readings: int = 1

    @property
    def is_typed(self) -> bool:
        return "." in self.name

    def read_options(self) -> ReadOptions:
        return _read_options(self.options, self.paths)

    def plan(self) -> ReadPlan:
        return Snapshot.of(self.read_options()).plan


def _read_options(options: Mapping[str, str], paths: Sequence[str]) -> ReadOptions:
    return ReadOptions.parse({**options, "paths": json.dumps(paths)})


class Query:
    """A query over logs. ``options`` are those of ``spark.read.format("binlog")``, the same for all tables in it."""

    def __init__(
        self,
        spark: SparkSession,
        sql: str,
        paths: Sequence[str],
        options: Mapping[str, str] | None = None,
        *,
        prune: bool = True,
    ) -> None:
        self._spark = spark
        self._given = dict(options or {})
        self._paths = tuple(paths)
        self.reasons: dict[str, list[str]] = {}
        """Of each table that is read: what the query's conditions were turned into."""
        for name in ("view", "table"):
            if name in {given.lower() for given in self._given}:
                raise UsageError(f"{name} is no option of a query: name what is read after FROM")
        with explained():
            names = _Names(spark, sql)
            self.sql = names.rewritten()
            tables = {name: self._whole(name) for name in (*names.views, *names.typed)}
            for table in tables.values():
                _register_empty(spark, table)
            places = _places(spark, self.sql)
        self.tables = [
            self._needed(tables[name], found) if prune else tables[name] for name, found in places.items()
        ]

    def run(self) -> DataFrame:
        with explained():
            for table in self.tables:
                reader = self._spark.read.format("binlog").options(**table.options)
                frame = reader.schema(spark_schema(table.columns)).load(list(table.paths))
                frame.createOrReplaceTempView(_quoted(table.name))
            return self._spark.sql(self.sql)

    def explain(self) -> list[str]:
        """What is read, in sentences."""
        sentences = []
        for table in self.tables:
            there = len(self._whole(table.name).columns.names)
            times = "" if table.readings == 1 else f" {table.readings} times"
            names = ", ".join(table.columns.names)
            sentences.append(
                f"{table.name} is read{times}: {len(table.columns.names)} of {there} columns ({names})."
            )
            sentences += [f"{table.name}: {reason}." for reason in self.reasons.get(table.name, ())]
            plan = table.plan()
            sentences += [f"{table.name}: left out are {pruned}." for pruned in plan.pruned]
            sentences.append(
                f"{table.name}: {plan.bytes_planned:,} of {plan.bytes_total:,} bytes are read, in "
                f"{len(plan.parts)} {'task' if len(plan.parts) == 1 else 'tasks'}."
            )
        return sentences or ["No log is read."]

    # --- tables

    def _whole(self, name: str) -> LogTable:
        """All of a table."""
        typed = "." in name
        # Options that mean nothing for one of the views are for the others.
        view = TYPED if typed else name
        known = {
            given: value
            for given, value in self._given.items()
            if (option := BY_NAME.get(given.lower())) is None or view in option.views
        }
        options = {**known, "table" if typed else "view": name}
        read = _read_options(options, self._paths)
        columns = Snapshot.of(read).columns if typed else columns_of(read)
        return LogTable(name, options, self._paths, columns)

    def _needed(self, table: LogTable, places: list[Reading]) -> LogTable:
        """What a query needs of a table: enough for each place where it reads it."""
        wanted = {name for place in places for name in place.columns}
        names = [name for name in table.columns.names if name in wanted]
        columns = pa.schema([table.columns.field(name) for name in names or table.columns.names[:1]])
        conditions = places[0].conditions
        for place in places[1:]:
            conditions = any_of(conditions, place.conditions)
        pruner = _Pruner(table, conditions)
        self.reasons[table.name] = pruner.reasons
        return replace(
            table, columns=columns, options=pruner.options, paths=pruner.paths, readings=len(places)
        )


# --- names in SQL


class _Names:
    """The tables that a query names. Spark knows no views with two names, so ``shop.orders`` is put into one."""

    def __init__(self, spark: SparkSession, sql: str) -> None:
        self._gateway = spark.sparkContext._gateway
        self._sql = sql
        self.views: list[str] = []
        self._relations: list[tuple[int, int, list[str], bool]] = []
        self._columns: list[tuple[int, int, list[str]]] = []
        plan = spark._jsparkSession.sessionState().sqlParser().parsePlan(sql)
        if any(is_instance_of(self._gateway, plan, kind) for kind in _STATEMENTS):
            raise UsageError("query takes a SELECT; nothing can be changed in logs")
        self._walk(plan, False)
        self.typed = list(dict.fromkeys(".".join(parts) for *_, parts, _ in self._relations))

    def _walk(self, node: Any, named: bool) -> None:
        """``named``: whether the query gives it another name."""
        kind = node.getClass().getSimpleName()
        if kind == "UnresolvedRelation":
            parts = _strings(node.multipartIdentifier())
            if len(parts) == 1 and parts[0].lower() in VIEWS and parts[0].lower() not in self.views:
                self.views.append(parts[0].lower())
            if len(parts) == 2:
                self._relations.append((*_place(node), parts, named))
        elif kind == "UnresolvedAttribute":
            self._columns.append((*_place(node), _strings(node.nameParts())))
        elif kind == "UnresolvedStar" and node.target().isDefined():
            self._columns.append((*_place(node), [*_strings(node.target().get()), "*"]))
        inner = [*_items(node.children()), *_items(node.innerChildren())]
        if is_instance_of(self._gateway, node, _PLAN):
            inner += _items(node.expressions())
        for each in inner:
            # A sample stands before its name, and there is no room for ours.
            self._walk(each, kind in ("SubqueryAlias", "Sample"))

    def rewritten(self) -> str:
        """The query, with names that Spark's views can have."""
        alone = {
            parts[1]: sum(typed.partition(".")[2] == parts[1] for typed in self.typed) == 1
            for *_, parts, _ in self._relations
        }
        edits: dict[int, tuple[int, str]] = {}
        called = {}
        for start, end, parts, named in self._relations:
            own = parts[1] if alone[parts[1]] else ".".join(parts)
            called[tuple(parts)] = own
            view = _quoted(".".join(parts))
            edits[start] = end, view if named else f"{view} AS {_quoted(own)}"
        for start, end, parts in self._columns:
            if len(parts) > 2 and tuple(parts[:2]) in called:
                rest = ["*" if part == "*" else _quoted(part) for part in parts[2:]]
                edits[start] = end, ".".join([_quoted(called[tuple(parts[:2])]), *rest])
        text = self._sql
        for start, (end, words) in sorted(edits.items(), reverse=True):
            text = text[:start] + words + text[end:]
        return text


def _items(sequence: Any) -> list[Any]:
    return [sequence.apply(index) for index in range(sequence.size())]


def _strings(sequence: Any) -> list[str]:
    return [str(item) for item in _items(sequence)]


def _place(node: Any) -> tuple[int, int]:
    origin = node.origin()
    return int(origin.startIndex().get()), int(origin.stopIndex().get()) + 1


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


# --- Spark's plan


def _register_empty(spark: SparkSession, table: LogTable) -> None:
    """A table that Spark can plan with, and does not know to be empty."""
    fields = [
        StructField(field.name, field.dataType, field.nullable, {_MARK: table.name})
        for field in spark_schema(table.columns).fields
    ]
    session = spark._jsparkSession
    schema = session.parseDataType(StructType(fields).json())
    frame = session.createDataFrame(spark.sparkContext._jsc.emptyRDD(), schema)
    frame.createOrReplaceTempView(_quoted(table.name))


def _places(spark: SparkSession, sql: str) -> dict[str, list[Reading]]:
    """Where a query reads which table."""
    plan = spark._jsparkSession.sql(sql).queryExecution().optimizedPlan()
    tables: dict[int, str] = {}
    for part in (plan, *_items(plan.subqueriesAll())):
        for leaf in _items(part.collectLeaves()):
            output = _items(leaf.output())
            if output and output[0].metadata().contains(_MARK):
                tables[int(output[0].exprId().id())] = output[0].metadata().getString(_MARK)
    places: dict[str, list[Reading]] = {}
    for reading in readings(Node.read(json.loads(plan.toJSON()))):
        places.setdefault(tables[reading.first], []).append(reading)
    return places


# --- conditions as options


class _Pruner:
    """Turns conditions into options of the read. What the user has set is left as it is."""

    def __init__(self, table: LogTable, conditions: Conditions) -> None:
        self.options = dict(table.options)
        self.paths = table.paths
        self.reasons: list[str] = []
        self._given = {name.lower() for name in table.options}
        self._name = table.name
        before = "_" if table.is_typed else ""
        words = {
            name.removeprefix(before): sorted(condition.words)
            for name, condition in conditions.items()
            if isinstance(condition, Words) and name.startswith(before)
        }
        self._gtids(words.get("gtid"))
        self._files(words.get("file"), table)
        if self._name == "changes":
            self._listed("schemas", words.get("schema"))
            tables = words.get("table")
            self._listed("tables", None if tables is None else [f"*.{word}" for word in tables if word])
        elif not table.is_typed:
            self._numbers("serverIds", words.get("server_id"))
        if self._name == "events":
            names = {each.name for each in EVENTS.values()}
            types = words.get("type")
            self._listed("types", types if types and names.issuperset(types) else None)
        span = conditions.get("timestamp")
        if isinstance(span, Span) and not table.is_typed:
            self._times(span)

    def _set(self, name: str, value: str, reason: str) -> None:
        if name.lower() not in self._given:
            self.options[name] = value
            self.reasons.append(reason)

    def _listed(self, name: str, words: list[str] | None) -> None:
        # Commas separate words, and blanks around them are dropped.
        if words and all(word and "," not in word and word == word.strip() for word in words):
            self._set(name, ",".join(words), f"only {name} {', '.join(words)}")

    def _numbers(self, name: str, words: list[str] | None) -> None:
        if words and all(word.isdigit() for word in words):
            self._listed(name, words)

    def _gtids(self, words: list[str] | None) -> None:
        if not words or any("*" in word for word in words):
            return
        try:
            gtids = parse_gtid_set(",".join(words))
        except UsageError:
            return  # no row has such a GTID; Spark will say so
        self._set("includeGtids", str(gtids), f"only the GTIDs {', '.join(words)}")

    def _files(self, words: list[str] | None, table: LogTable) -> None:
        if words is None or self._given & {"start", "stop"}:
            return  # these may name other files
        read = table.read_options()
        shapes = [pattern(word) for word in words]
        found = find_logs(list(self.paths), Storage(read.storage), recursive=read.recursive)
        kept = [file for file in found if any(shape.fullmatch(file.name) for shape in shapes)]
        # Without any file there is nothing to read from, so one stays.
        self.paths = tuple(str(file.path) for file in kept or found[:1])
        self.reasons.append(f"only files named {', '.join(words)}: {len(self.paths)} of {len(found)}")

    def _times(self, span: Span) -> None:
        spare = LONGEST_TRANSACTION if self._name == "changes" else timedelta(0)
        more = ", with a day to spare for long transactions" if spare else ""
        for name, moment, sign in (("start", span.start, -1), ("stop", span.stop, 1)):
            if moment is not None and (shifted := _shifted(moment, sign * spare)) is not None:
                self._set(name, shifted.isoformat(), f"{name} at {shifted:%Y-%m-%d %H:%M:%S} UTC{more}")


def _shifted(moment: datetime, by: timedelta) -> datetime | None:
    try:
        return moment + by
    except OverflowError:
        return None
