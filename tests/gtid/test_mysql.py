"""The algebra of GTID sets, against plain Python sets; and the builder."""

from __future__ import annotations

import pickle
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gtidal.errors import DecodeError, UsageError
from gtidal.gtid import Gtid, GtidSet, GtidSetBuilder, intervals, parse_uuid
from tests.gtid.strategies import LARGEST, UUIDS, Model, enumerate_set, gtid_sets, small_sets

U = UUIDS[1]
RAW = parse_uuid(U)

Pair = tuple[GtidSet, Model]


@given(small_sets, small_sets)
def test_algebra_is_that_of_sets(a: Pair, b: Pair) -> None:
    (left, left_model), (right, right_model) = a, b
    assert enumerate_set(left) == left_model
    assert enumerate_set(left | right) == left_model | right_model
    assert enumerate_set(left & right) == left_model & right_model
    assert enumerate_set(left - right) == left_model - right_model
    assert (left <= right) == (left_model <= right_model)
    assert (left < right) == (left_model < right_model)
    assert (left >= right) == (left_model >= right_model)
    assert (left > right) == (left_model > right_model)
    assert (left == right) == (left_model == right_model)
    assert left.isdisjoint(right) == left_model.isdisjoint(right_model)
    assert left.count == len(left_model)
    assert bool(left) == bool(left_model)


@given(small_sets)
def test_gaps_are_what_is_missing_below_the_largest(a: Pair) -> None:
    gtids, model = a
    largest: dict[tuple[str, str], int] = {}
    for uuid, tag, gno in model:
        largest[uuid, tag] = max(largest.get((uuid, tag), 0), gno)
    every = {(uuid, tag, gno) for (uuid, tag), last in largest.items() for gno in range(1, last)}
    assert enumerate_set(gtids.gaps()) == every - model


@given(small_sets, st.sampled_from(UUIDS), st.sampled_from(["", "a"]), st.integers(1, 40))
def test_membership(a: Pair, uuid: str, tag: str, gno: int) -> None:
    gtids, model = a
    gtid = Gtid(uuid, tag, gno)
    expected = (uuid, tag, gno) in model
    assert (gtid in gtids) == expected
    assert (str(gtid) in gtids) == expected
    assert gtids.has(parse_uuid(uuid), tag, gno) == expected


@given(gtid_sets, gtid_sets)
def test_laws_at_full_range(a: GtidSet, b: GtidSet) -> None:
    assert a | b == b | a
    assert a & b == b & a
    assert (a - b) | (a & b) == a
    assert (a - b).isdisjoint(b)
    assert a & b <= a <= a | b
    assert (a | b).count == a.count + b.count - (a & b).count
    assert (a | a.gaps()).gaps() == GtidSet()
    assert a.gaps().isdisjoint(a)


@given(gtid_sets)
def test_equal_sets_are_one_value(gtids: GtidSet) -> None:
    copy = pickle.loads(pickle.dumps(gtids))
    assert copy == gtids
    assert hash(copy) == hash(gtids) == hash(GtidSet(str(gtids)))
    assert str(copy) == str(gtids)


def test_boundaries_always_ascend() -> None:
    a = GtidSet(f"{U}:1-5:9")
    for made in (a | GtidSet(f"{U}:6-8"), a - GtidSet(f"{U}:5"), a & GtidSet(f"{U}:2-9"), a.gaps()):
        for _, _, lane in made.lanes():
            assert intervals.ascending(lane)
    assert str(a | GtidSet(f"{U}:6-8")) == f"{U}:1-9"


def test_a_set_does_not_change() -> None:
    gtids: Any = GtidSet(f"{U}:1")
    with pytest.raises(AttributeError, match="does not change"):
        gtids._lanes = {}
    with pytest.raises(TypeError):
        gtids | f"{U}:1"
    with pytest.raises(TypeError):
        gtids <= 3  # noqa: B015
    assert gtids != f"{U}:1"


def test_from_ranges() -> None:
    made = GtidSet.from_ranges({U: [(7, 9), (1, 5)], (U.upper(), "Tag"): [(1, 1)], (U, ""): [(6, 6)]})
    assert str(made) == f"{U}:1-9:tag:1"
    assert list(made) == [(U, "", ((1, 9),)), (U, "tag", ((1, 1),))]
    assert made.has_tags
    assert made.interval_count == 2
    assert repr(made) == f"GtidSet('{U}:1-9:tag:1')"
    assert GtidSet.from_ranges({U: [(1, LARGEST)]}).count == LARGEST
    for key, pair in (("x", (1, 1)), (U, (0, 1)), (U, (1, LARGEST + 1)), ((U, "9"), (1, 1))):
        with pytest.raises(UsageError):
            GtidSet.from_ranges({key: [pair]})


def test_membership_asks_for_one_gtid() -> None:
    with pytest.raises(UsageError, match="not a single GTID"):
        f"{U}:1-5" in GtidSet()  # noqa: B015


@pytest.mark.parametrize("count", [10_000, 100_000])
def test_many_intervals(count: int) -> None:
    text = U + "".join(f":{3 * n + 1}-{3 * n + 2}" for n in range(count))
    many = GtidSet(text)
    assert str(many) == text
    assert many.interval_count == count
    shifted = GtidSet.from_ranges({U: [(3 * n + 2, 3 * n + 3) for n in range(count)]})
    assert str(many | shifted) == f"{U}:1-{3 * count}"
    assert (many & shifted).count == (many - shifted).count == count
    assert many.gaps() == GtidSet.from_ranges({U: [(3 * n + 3, 3 * n + 3) for n in range(count - 1)]})
    assert not many.isdisjoint(shifted)
    assert many <= many | shifted
    assert f"{U}:{3 * count - 1}" in many
    assert f"{U}:{3 * count}" not in many


def test_a_huge_range_costs_nothing() -> None:
    huge = GtidSet(f"{U}:1-{LARGEST}")
    assert huge.count == LARGEST
    assert str(huge - GtidSet(f"{U}:5")) == f"{U}:1-4:6-{LARGEST}"


class TestBuilder:
    @given(st.lists(st.tuples(st.sampled_from(UUIDS), st.sampled_from(["", "a"]), st.integers(1, 25))))
    def test_any_order(self, gtids: list[tuple[str, str, int]]) -> None:
        builder = GtidSetBuilder()
        seen: Model = set()
        for uuid, tag, gno in gtids:
            assert builder.add(parse_uuid(uuid), tag, gno) == ((uuid, tag, gno) not in seen)
            seen.add((uuid, tag, gno))
        assert enumerate_set(builder.build()) == seen

    @given(st.permutations(range(1, 40)), st.integers(0, 3), st.integers(1, 6))
    def test_numbers_set_aside(self, order: list[int], near: int, aside: int) -> None:
        builder = GtidSetBuilder()
        builder._NEAR, builder._ASIDE = near, aside
        for done, gno in enumerate(order, 1):
            assert builder.add(RAW, "", gno)
            assert not builder.add(RAW, "", order[done // 2])
            if done % 13 == 0:
                assert builder.build().count == done
        assert str(builder.build()) == f"{U}:1-39"

    def test_begins_with_a_set_and_takes_more(self) -> None:
        builder = GtidSetBuilder(GtidSet(f"{U}:1-5"))
        builder.add(RAW, "", 6)
        before = builder.build()
        builder.add_set(GtidSet(f"{U}:9:t:1"))
        builder.add(RAW, "t", 2)
        assert str(before) == f"{U}:1-6"
        assert str(builder.build()) == f"{U}:1-6:9:t:1-2"

    @pytest.mark.parametrize(
        ("uuid", "tag", "gno"),
        [(RAW, "", 0), (RAW, "", -1), (RAW, "", LARGEST + 1), (RAW[1:], "", 1), (RAW, "9", 1), (RAW, "A", 1)],
    )
    def test_what_is_no_gtid(self, uuid: bytes, tag: str, gno: int) -> None:
        with pytest.raises(DecodeError):
            GtidSetBuilder().add(uuid, tag, gno)

    @given(st.lists(small_sets, max_size=8), st.booleans())
    def test_takes_sets_in_any_order(self, sets: list[tuple[GtidSet, Model]], start: bool) -> None:
        builder = GtidSetBuilder(sets[0][0] if start and sets else None)
        model: Model = set()
        for gtids, items in sets:
            builder.add_set(gtids)
            model |= items
        assert enumerate_set(builder.build()) == model

    def test_thousands_of_sets_from_the_end(self) -> None:
        started = time.process_time()
        builder = GtidSetBuilder()
        for gno in range(20_001, 0, -2):
            builder.add_set(GtidSet.from_ranges({U: [(gno, gno)]}))
        assert builder.build().interval_count == 10_001
        assert time.process_time() - started < 3

    def test_a_million_in_order(self) -> None:
        builder = GtidSetBuilder()
        for gno in range(1, 1_000_001):
            builder.add(RAW, "", gno)
        assert str(builder.build()) == f"{U}:1-1000000"


class TestRepeated:
    """One UUID in many entries, as only a hostile PREVIOUS_GTIDS has it."""

    @given(st.lists(small_sets, max_size=8))
    def test_lanes_are_united(self, sets: list[tuple[GtidSet, Model]]) -> None:
        lanes = [lane for gtids, _ in sets for lane in gtids.lanes()]
        model: Model = set()
        for _, items in sets:
            model |= items
        assert enumerate_set(GtidSet.from_lanes(lanes)) == model

    def test_empty_and_equal_lanes(self) -> None:
        lanes: list[tuple[bytes, str, intervals.Lane]] = [
            (RAW, "", lane) for lane in ((), (5, 6), (5, 6), (6, 8), (), (1, 2))
        ]
        assert str(GtidSet.from_lanes(lanes)) == f"{U}:1:5-7"
        assert not GtidSet.from_lanes(lanes[:1])

    @pytest.mark.parametrize("step", [1, 3, -3])
    def test_fifty_thousand(self, step: int) -> None:
        starts = [5 + 3 * number if step != 1 else 5 + number for number in range(50_000)][
            :: step // abs(step)
        ]
        started = time.process_time()
        gtids = GtidSet.from_lanes((RAW, "", (start, start + 1)) for start in starts)
        assert time.process_time() - started < 1.5
        assert gtids.count == 50_000
        assert gtids.interval_count == (1 if step == 1 else 50_000)
