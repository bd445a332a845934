"""A traced field in words: its value and what that means, looked up by the record that it belongs to."""

from __future__ import annotations

import re
from typing import Any

from gtidal.cli.field_meanings import BYTES, COLLATION, TABLE, How, Scene, in_bits, key_column, says, set_bits
from gtidal.cli.values import value_text
from gtidal.events import header, images, rows, statement, table_map
from gtidal.events import transaction as transactions
from gtidal.log.tables import column_title, sql_type
from gtidal.wire.layout import Field, Record

_IN_ROW = re.compile(r"(rows\[\d+\]\.(?:before|after))\.(.*)", re.DOTALL)
_INDEX = re.compile(r"\[(\d+)\]")


def split_name(name: str) -> tuple[str, str]:
    """A field's group and its name in there: ``status[1]``, ``mode``."""
    inside = _IN_ROW.fullmatch(name)
    if inside:  # a column's name may hold a dot
        return inside[1], inside[2]
    found = re.fullmatch(r"(.*?)\.?(interval\[\d+\]\.(?:start|end))", name)
    if found:
        return found[1], found[2]
    prefix, _, leaf = name.rpartition(".")
    return prefix, leaf


def owner_of(scene: Scene, prefix: str) -> Any:
    """The record that a group of fields belongs to; None where it is none or was not decoded."""
    target: Any = scene.event
    if not prefix or target is None:
        return target
    for part in prefix.split("."):
        name, *indexes = _INDEX.split(part)
        target = getattr(target, name, None)
        for index in indexes[::2]:
            target = target[int(index)] if isinstance(target, tuple) and int(index) < len(target) else None
    return target


def group_title(scene: Scene, prefix: str) -> str:
    """What stands over a group of fields: its path and, where it has one, its own name."""
    owner = owner_of(scene, prefix)
    if isinstance(owner, statement.StatusVariable):
        return f"{prefix} {owner.variable or 'unknown'}"
    if isinstance(owner, table_map.Metadata):
        return f"{prefix} {owner.title or 'unknown'}"
    return prefix


def find_how(kind: type[Any], leaf: str) -> How | None:
    plain = _INDEX.sub("[]", leaf)
    for base in kind.__mro__:
        found = TABLE.get((base, plain))
        if found is not None:
            return found
    return None


def explain(field: Field, scene: Scene) -> tuple[str, str]:
    """A field's value as text, and its meaning; either may be empty."""
    prefix, leaf = split_name(field.name)
    if _IN_ROW.fullmatch(field.name):
        return _explain_in_row(field, prefix, leaf, scene)
    owner = owner_of(scene, prefix)
    kind: type[Any] = type(owner) if owner is not None else scene.kind if not prefix else Record
    if prefix == "header":
        kind = header.Header
    how = find_how(kind, leaf) or _by_name(leaf, kind, scene)
    value = how.value(field.value, field.size) if how.value else value_text(field.value)
    return value, how.meaning(field.value, scene)


def _by_name(leaf: str, kind: type[Any], scene: Scene) -> How:
    """Fields that mean the same in every record."""
    if leaf.endswith("_size"):
        return BYTES
    if leaf.endswith("_id") and kind is transactions.GtidTagged:
        return says(f"field: {leaf[:-3]}")
    if kind in (table_map.DefaultCharset, table_map.EnumAndSetDefaultCharset):
        return _default_charset(leaf)
    if kind is table_map.PrimaryKeyWithPrefix and leaf.startswith("numbers["):
        even = int(_INDEX.findall(leaf)[0]) % 2 == 0
        return How(key_column) if even else says("characters of it; 0: all")
    return How()


def _default_charset(leaf: str) -> How:
    """The first number is a collation, then come pairs of a column and its collation."""
    found = _INDEX.findall(leaf)
    if not found or int(found[0]) % 2 == 0:
        return COLLATION if found else How()
    return says("the column, among those of text, that differs")


def _explain_in_row(field: Field, prefix: str, leaf: str, scene: Scene) -> tuple[str, str]:
    event = scene.event
    side = prefix.rpartition(".")[2]
    if isinstance(event, rows.RowsEvent) and event.table is not None:
        held = images.Present(event.table.columns, getattr(event, f"{side}_columns"))
        if leaf == "null_bitmap" and isinstance(field.value, bytes):
            nulls = [held.indexes[i] for i in set_bits(field.value) if i < len(held.indexes)]
            meaning = f"NULL: {scene.column_names(nulls)}" if nulls else "none is NULL"
            return in_bits(field.value, field.size), meaning
        for column in held.columns:
            if column_title(column) == leaf:
                return value_text(field.value), sql_type(column)
    return value_text(field.value), ""
