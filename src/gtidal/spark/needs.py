"""What a query needs of each table it reads, told by Spark's optimised plan: columns, and conditions on them.

Spark has then settled what names mean, and has moved conditions as near to the tables as they may go: past joins that
allow it, never past those that do not. So only what stands directly above a table is believed, and what is not
understood counts for nothing: less is pruned then, and the result is the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

TABLE = "LogicalRDD"
"""Spark's name for the leaves that stand for our tables."""
_CHOOSES = ("Project", "Aggregate")
"""Of their children's columns they use those that they name."""
_PASSES_ON = (
    *("Filter", "Sort", "GlobalLimit", "LocalLimit", "Offset", "Join", "Window", "Generate", "Sample"),
    *("Repartition", "RepartitionByExpression"),
)
_MICROSECOND = timedelta(microseconds=1)


@dataclass
class Node:
    """One node of a plan or an expression, as Spark writes them in JSON."""

    kind: str
    fields: dict[str, Any]
    children: list[Node] = field(default_factory=list)

    @staticmethod
    def read(items: Iterable[dict[str, Any]]) -> Node:
        """A tree is a list: each node, then its children."""
        return Node._next(iter(items))

    @staticmethod
    def _next(items: Iterator[dict[str, Any]]) -> Node:
        fields = next(items)
        node = Node(str(fields["class"]).rpartition(".")[2], fields)
        node.children = [Node._next(items) for _ in range(fields["num-children"])]
        return node

    def inner(self) -> Iterator[Node]:
        """The trees in its fields: a plan's expressions, a subquery's plan."""
        for value in self.fields.values():
            yield from _trees(value)

    @property
    def id(self) -> int:
        """Of a column."""
        return int(self.fields["exprId"]["id"])


def _trees(value: Any) -> Iterator[Node]:
    if isinstance(value, list) and value:
        if isinstance(value[0], dict) and "class" in value[0]:
            yield Node.read(value)
        else:
            for each in value:
                yield from _trees(each)


# --- conditions


@dataclass(frozen=True)
class Words:
    """The column is one of these texts; ``*`` stands for any characters."""

    words: frozenset[str]

    def both(self, other: Any) -> Words:
        """One of the two is enough; the one that lets less through."""
        return self if len(self.words) <= len(other.words) else Words(other.words)

    def either(self, other: Any) -> Words:
        return Words(self.words | other.words)


@dataclass(frozen=True)
class Span:
    """The column is a time from one to another, exclusive; None: no bound."""

    start: datetime | None
    stop: datetime | None

    def both(self, other: Any) -> Span:
        starts = [each for each in (self.start, other.start) if each is not None]
        stops = [each for each in (self.stop, other.stop) if each is not None]
        return Span(max(starts, default=None), min(stops, default=None))

    def either(self, other: Any) -> Span:
        start = None if self.start is None or other.start is None else min(self.start, other.start)
        stop = None if self.stop is None or other.stop is None else max(self.stop, other.stop)
        return Span(start, stop)


Condition = Words | Span
Conditions = dict[str, Condition]
"""By the column's name, whose type decides which of the two it is."""


def all_of(one: Mapping[str, Condition], other: Mapping[str, Condition]) -> Conditions:
    shared = {name: one[name].both(other[name]) for name in one.keys() & other.keys()}
    return {**one, **other, **shared}


def any_of(one: Mapping[str, Condition], other: Mapping[str, Condition]) -> Conditions:
    """What holds if one of two does: only of columns that both speak of."""
    return {name: one[name].either(other[name]) for name in one.keys() & other.keys()}


def conditions_of(node: Node) -> Conditions:
    """What holds for the columns wherever the expression is true."""
    if node.kind in ("And", "Or"):
        left, right = map(conditions_of, node.children)
        return all_of(left, right) if node.kind == "And" else any_of(left, right)
    if node.kind in _COMPARISONS and len(node.children) == 2:
        left_side, right_side = node.children
        if right_side.kind == "AttributeReference":
            return _compared(_MIRRORED.get(node.kind, ""), right_side, [left_side])
        return _compared(node.kind, left_side, [right_side])
    if node.kind == "In":
        return _compared("In", node.children[0], node.children[1:])
    return {}


_MIRRORED = {
    "EqualTo": "EqualTo",
    "EqualNullSafe": "EqualNullSafe",
    "LessThan": "GreaterThan",
    "LessThanOrEqual": "GreaterThanOrEqual",
    "GreaterThan": "LessThan",
    "GreaterThanOrEqual": "LessThanOrEqual",
}
_ESCAPED_OR_WILD = re.compile(r"(.)\1|.?[%_]", re.DOTALL)
"""Of a LIKE. Its escape character is not in the plan that Spark writes: any may be it that stands before a wildcard, or twice."""
_COMPARISONS = (*_MIRRORED, "StartsWith", "EndsWith", "Contains", "Like")


def _compared(kind: str, column: Node, others: list[Node]) -> Conditions:
    if column.kind != "AttributeReference" or any(other.kind != "Literal" for other in others):
        return {}
    values = [other.fields.get("value") for other in others]
    if any(value is None for value in values):
        return {}
    texts = [str(value) for value in values]
    of = column.fields["dataType"]
    condition: Condition | None = None
    if of == "timestamp":
        condition = _span(kind, texts)
    elif of in ("string", "long", "short"):
        condition = _words(kind, texts)
    return {} if condition is None else {column.fields["name"]: condition}


def _words(kind: str, texts: list[str]) -> Words | None:
    if kind in ("EqualTo", "EqualNullSafe", "In"):
        return Words(frozenset(texts))
    (text,) = texts
    if kind == "Like":
        return Words(frozenset((_ESCAPED_OR_WILD.sub("*", text),)))
    around = {"StartsWith": ("", "*"), "EndsWith": ("*", ""), "Contains": ("*", "*")}.get(kind)
    return Words(frozenset((around[0] + text + around[1],))) if around else None


def _span(kind: str, texts: list[str]) -> Span | None:
    """Spark writes times in the session's zone, which is UTC."""
    try:
        moments = [datetime.fromisoformat(text).replace(tzinfo=UTC) for text in texts]
        after = max(moments) + _MICROSECOND
    except (ValueError, OverflowError):
        return None
    if kind in ("EqualTo", "EqualNullSafe", "In"):
        return Span(min(moments), after)
    if kind in ("GreaterThan", "GreaterThanOrEqual"):
        return Span(moments[0], None)
    if kind in ("LessThan", "LessThanOrEqual"):
        return Span(None, after)
    return None


# --- tables


@dataclass(frozen=True)
class Reading:
    """One place where a query reads a table."""

    first: int
    """The id of the table's first column there."""
    columns: tuple[str, ...]
    conditions: Conditions


def readings(plan: Node) -> list[Reading]:
    """All places where a plan, with its subqueries, reads a table."""
    used: set[int] = set()
    found: list[tuple[Node, bool, Conditions]] = []
    _visit(plan, True, {}, used, found)
    places = []
    for table, whole, conditions in found:
        output = [tree for tree in _trees(table.fields["output"]) if tree.kind == "AttributeReference"]
        columns = tuple(column.fields["name"] for column in output if whole or column.id in used)
        places.append(Reading(output[0].id, columns, conditions))
    return places


def _visit(
    node: Node,
    whole: bool,
    conditions: Conditions,
    used: set[int],
    found: list[tuple[Node, bool, Conditions]],
) -> None:
    """``whole``: whoever is above uses all columns. ``conditions``: hold for all rows that are used."""
    if node.kind == TABLE:
        found.append((node, whole, conditions))
        return
    for tree in node.inner():
        _use(tree, used, found)
    below: Conditions = {}
    if node.kind == "Filter":
        below = conditions
        for tree in _trees(node.fields["condition"]):
            below = all_of(below, conditions_of(tree))
    whole = node.kind not in _CHOOSES and (whole or node.kind not in _PASSES_ON)
    for child in node.children:
        _visit(child, whole, below, used, found)


def _use(tree: Node, used: set[int], found: list[tuple[Node, bool, Conditions]]) -> None:
    if ".plans.logical." in tree.fields["class"] or tree.kind == TABLE:
        _visit(tree, True, {}, used, found)
        return
    if tree.kind == "AttributeReference":
        used.add(tree.id)
    for each in (*tree.inner(), *tree.children):
        _use(each, used, found)
