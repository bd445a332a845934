"""GTID sets for hypothesis, each with the plain Python set that it must agree with."""

from __future__ import annotations

from hypothesis import strategies as st

from gtidal.gtid import GtidSet

UUIDS = [
    "00000000-0000-0000-0000-000000000001",
    "3e11fa47-71ca-11e1-9e33-c80aa9429562",
    "b8ae2fd2-3005-11f0-8be8-0242ac150002",
]
TAGS = ["", "_", "a", "a1", "a_", "mytag", "z" * 32]
LARGEST = (1 << 63) - 2

Model = set[tuple[str, str, int]]
"""Every transaction by itself: uuid, tag, number."""

ranges = st.tuples(st.integers(1, 30), st.integers(0, 6)).map(lambda pair: (pair[0], pair[0] + pair[1]))
small_items = st.lists(st.tuples(st.sampled_from(UUIDS), st.sampled_from(TAGS[:4]), ranges), max_size=12)


def model_of(items: list[tuple[str, str, tuple[int, int]]]) -> Model:
    return {(uuid, tag, gno) for uuid, tag, (first, last) in items for gno in range(first, last + 1)}


def set_of(items: list[tuple[str, str, tuple[int, int]]]) -> GtidSet:
    found: dict[str | tuple[str, str], list[tuple[int, int]]] = {}
    for uuid, tag, pair in items:
        found.setdefault((uuid, tag), []).append(pair)
    return GtidSet.from_ranges(found)


def enumerate_set(gtids: GtidSet) -> Model:
    return {
        (uuid, tag, gno)
        for uuid, tag, found in gtids
        for first, last in found
        for gno in range(first, last + 1)
    }


small_sets = small_items.map(lambda items: (set_of(items), model_of(items)))

_large = st.one_of(st.integers(1, 300), st.integers(1, LARGEST), st.integers(LARGEST - 5, LARGEST))
_large_ranges = st.tuples(_large, _large).map(lambda pair: (min(pair), max(pair)))
_uuids = st.one_of(st.sampled_from(UUIDS), st.uuids().map(str))
_tags = st.one_of(st.sampled_from(TAGS), st.from_regex(r"[a-z_][a-z0-9_]{0,31}", fullmatch=True))

gtid_sets = st.lists(st.tuples(_uuids, _tags, _large_ranges), max_size=15).map(set_of)
untagged_sets = st.lists(st.tuples(_uuids, st.just(""), _large_ranges), max_size=15).map(set_of)
