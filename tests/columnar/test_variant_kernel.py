"""VARIANT from the kernel, interpreted and compiled: the reference encoder's values and types, to the bit.

Bytes may differ: the kernel chooses sizes of offsets before it writes, and keys of documents may be numbered in another
order. ``decode_typed`` compares strictly, and PySpark's reader must agree.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql.types import VariantVal

from gtidal.columnar.codes import State, VariantKind
from gtidal.columnar.variant import decode, decode_typed, encode_image
from gtidal.columns.jsonb import Opaque, decode_json, encode_json
from gtidal.columns.shapes import RawNan
from gtidal.columns.temporal import Date, DateTime, Time, Timestamp
from gtidal.columns.types import Column
from gtidal.errors import GtidalError
from gtidal.events.images import ABSENT, Image
from tests.columnar.row_images import (
    COMPILED,
    INTERPRETED,
    KERNELS,
    Images,
    Kernel,
    Table,
    TooLarge,
    Variant,
    column,
    reread,
    table,
    variants,
)

UTF8MB4, LATIN1, BINARY = 255, 8, 63
JSON = table(column(245, 4, "doc"))
QUICK = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))

each_kernel = pytest.mark.parametrize(
    "one", KERNELS, ids=lambda one: "compiled" if one is COMPILED else "interpreted"
)


compiled_only = pytest.mark.skipif(len(KERNELS) < 2, reason="the kernel is not compiled")


def reference(columns: Table, image: Image) -> Any:
    """What the reference encoder writes; None where it, or the decoder, refuses."""
    try:
        return decode_typed(*encode_image(columns, reread(columns, image)))
    except GtidalError:
        return None


def typed(variant: Variant | None) -> Any:
    if variant is None:
        return None
    found = decode_typed(*variant)
    assert sorted(VariantVal(*variant).toPython()) == sorted(decode(*variant))
    return found


def check(made: Sequence[tuple[Table, Image]], **room: int) -> list[Variant]:
    """All kernels write the same, and what the reference writes."""
    images = Images(made)
    found = [images.settled(one).written(**room) for one in KERNELS]
    assert all(other == found[0] for other in found[1:])
    for (columns, image), variant in zip(made, found[0], strict=True):
        assert variant is not None, image
        assert typed(variant) == reference(columns, image)
    return found[0]  # type: ignore[return-value]


def names_of(metadata: bytes) -> list[str]:
    size = (metadata[0] >> 6) + 1
    numbers = [
        int.from_bytes(metadata[at : at + size], "little") for at in range(1, len(metadata) - size + 1, size)
    ]
    count, offsets = numbers[0], numbers[1 : numbers[0] + 2]
    text = metadata[1 + (count + 2) * size :]
    return [text[start:end].decode() for start, end in pairwise(offsets)]


def test_literals_are_those_of_the_codes() -> None:
    assert [State.HEAP, State.RAW, State.HEAP_BYTES, getattr(State, "VARIANT", 7)] == [4, 5, 6, 7]
    assert [kind.value for kind in VariantKind] == list(range(13))
    assert (VariantKind.JSON, VariantKind.GEOMETRY, VariantKind.LABELS) == (8, 11, 10)


# Columns.

VALUES: list[tuple[Column, list[Any]]] = [
    (column(1), [-128, -1, 127]),
    (column(1, unsigned=True), [0, 128, 255]),
    (column(2), [-32768, 258]),
    (column(9), [-(1 << 23), (1 << 23) - 1]),
    (column(9, unsigned=True), [(1 << 24) - 1]),
    (column(3), [-(1 << 31), (1 << 31) - 1, 0x01020304]),
    (column(3, unsigned=True), [(1 << 32) - 1]),
    (column(8), [-(1 << 63), (1 << 63) - 1, 0x0102030405060708]),
    (column(8, unsigned=True), [0, 1 << 63, (1 << 64) - 1]),
    (column(13), [0, 2155]),
    (column(4, 4), [0.5, -0.0, RawNan(b"\x01\x00\xa0\x7f")]),
    (column(5, 8), [0.1, -1e300]),
    (column(246, 9 << 8 | 2), [Decimal("-1234567.89"), Decimal("0.00")]),
    (column(246, 18 << 8), [Decimal("9" * 18), Decimal("-" + "9" * 18)]),
    (column(246, 19 << 8 | 19), [Decimal("-0." + "9" * 19), Decimal("0.0000000001")]),
    (column(246, 38 << 8 | 30), [Decimal("9" * 8 + "." + "9" * 30), Decimal(-1)]),
    (column(246, 65 << 8 | 30), [Decimal("-" + "9" * 35 + "." + "1" * 30), Decimal("0.5")]),
    (column(10), [Date(1000, 1, 1), Date(9999, 12, 31), Date(2020, 0, 0), Date(2023, 2, 29)]),
    (column(18, 3), [DateTime(1969, 12, 31, 23, 59, 59, 999000), DateTime(2024, 2, 30, 1, 2, 3, 45000)]),
    (column(17, 6), [Timestamp(0, 1), Timestamp(0), Timestamp((1 << 32) - 1, 999999)]),
    (column(19, 4), [Time(True, 838, 59, 59, 999900), Time(False, 0, 0, 0)]),
    (column(16, 1), [0, 1]),
    (column(16, 0x0707), [(1 << 63) - 1]),
    (column(16, 0x0800), [1 << 63]),
    (column(15, 400, charset=UTF8MB4), ["grün".encode(), b"", b"x" * 63, b"x" * 64, b"gr\xfcn"]),
    (column(15, 400, charset=LATIN1), [b"gr\xfcn \x80", b"plain"]),
    (column(15, 400, charset=BINARY), [b"\xff\x00", b""]),
    (column(254, 0xFE05, charset=BINARY), [b"ab", b"abcde"]),
    (column(254, 0xF701, labels=(b"a", b"\xe9" * 70), charset=LATIN1), [0, 1, 2, 3, 255]),
    (column(254, 0xF702), [700]),
    (column(254, 0xF801, labels=(b"a", b"b" * 300, b"c"), charset=UTF8MB4), [0, 5, 7, 8]),
    (column(254, 0xF808, labels=tuple(b"%d" % i for i in range(64)), charset=UTF8MB4), [1 << 63, (1 << 64) - 1]),
    (column(254, 0xF808, labels=tuple(b"%d" % i for i in range(40)), charset=UTF8MB4), [1 << 63, 1 << 40, 1]),
    (column(242, 4), [struct.pack("<2f", 0.1, -2.0), b"", b"abcde", bytes(range(256)) * 5]),
    (column(255, 4), [b"\xff\xff\xff\xffpoint", b"ab", b"", bytes(4), b"\x01\0\0\0" + bytes(70000)]),
    (column(245, 4), [b"", encode_json([1, None]), encode_json({"srid": {"c0": 1}})]),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(VALUES)))
def test_columns(number: int) -> None:
    one, values = VALUES[number]
    columns = table(one, column(1))
    check([(columns, (value, 7)) for value in [*values, None, ABSENT]])


ALL = table(*(one for one, _ in VALUES))


def test_all_columns_in_a_row() -> None:
    rows = [tuple(values[turn % len(values)] for _, values in VALUES) for turn in range(6)]
    check([(ALL, row) for row in rows])


@QUICK
@given(st.data())
def test_any_columns(data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.sampled_from(range(len(VALUES))), min_size=1, max_size=8))
    names = data.draw(
        st.lists(st.text(st.characters(codec="utf-8"), max_size=12), min_size=len(chosen), max_size=len(chosen), unique=True)
    )  # fmt: skip
    columns = table(*(VALUES[number][0] for number in chosen))
    columns = tuple(
        Column(one.index, one.type_code, one.real_type, one.metadata, name=name, unsigned=one.unsigned,
               charset=one.charset, labels=one.labels)
        for one, name in zip(columns, names, strict=True)
    )  # fmt: skip
    image = st.tuples(*(st.sampled_from([*VALUES[number][1], None, ABSENT]) for number in chosen))
    rows = [
        row for row in data.draw(st.lists(image, min_size=1, max_size=4)) if any(v is not ABSENT for v in row)
    ]
    if rows:
        check([(columns, row) for row in rows])


@pytest.mark.parametrize("width", [33, 255, 256, 257, 300, 701])
def test_wide_tables(width: int) -> None:
    """The names' order is not the columns'; the first and the last are in the right place."""
    columns = table(*(column(3, name=f"n{(7 * place) % width}") for place in range(width)))
    full = tuple(range(width))
    partial = tuple(value if value % 3 else ABSENT for value in full)
    for variant in check([(columns, full), (columns, partial), (columns, full)]):
        assert names_of(variant[1]) == [one.name for one in columns]


def test_tables_that_take_turns() -> None:
    plain = table(column(3), column(15, 20, charset=UTF8MB4))
    with_keys = table(column(245, 4, "a"), column(3, name="key"))
    documents = [
        encode_json(value) for value in ({"x": 1, "key": 2}, {"x": 2, "key": 3}, {"y": 1}, [], {"x": 1})
    ]
    made: list[tuple[Table, Image]] = []
    for turn, document in enumerate(documents):
        made += [
            (plain, (turn, b"t")),
            (with_keys, (document, turn)),
            (with_keys, (None, turn)),
            (ALL[:3], (1, 2, 3)),
        ]
    found = check(made)
    assert names_of(found[1][1]) == ["a", "key", "x"]
    assert names_of(found[2][1]) == ["a", "key"]
    assert names_of(found[9][1]) == ["a", "key", "y"]


def test_names_of_geometries() -> None:
    for names, expected in [
        (("g", "doc"), ["g", "doc", "srid", "wkb", "k"]),
        (("wkb", "doc"), ["wkb", "doc", "srid", "k"]),
        (("wkb", "srid"), ["wkb", "srid", "k"]),
    ]:
        columns = table(column(255, 4, names[0]), column(245, 4, names[1]))
        document = encode_json({"k": {"srid": 1, "wkb": 2}})
        found = check([(columns, (b"\1\0\0\0w", document)), (columns, (None, None))])
        assert names_of(found[0][1]) == expected
        assert names_of(found[1][1]) == [name for name in expected if name != "k"]


@each_kernel
def test_two_columns_of_one_name(one: Kernel) -> None:
    twins = table(column(3, name="a"), column(3, name="b"), column(3, name="a"))
    nested = table(column(3, name="a"), column(245, 4, name="a"))
    alike = table(column(3, name="ab"), column(3, name="a"), column(3, name=""))
    found = variants(one, [(twins, (1, 2, 3)), (nested, (1, encode_json({}))), (alike, (1, 2, 3))])
    assert found[:2] == [None, None]
    assert found[2] is not None


@each_kernel
def test_a_name_that_is_no_text(one: Kernel) -> None:
    """Half a surrogate pair; plans do not let it come here."""
    images = Images([(table(column(3, name="a\ud7ff\ue000"), column(3)), (1, 2))])
    settled = images.settled(one)
    assert settled.written() != [None]
    names = images.book.title_bytes.array
    assert names[:4].tobytes() == b"a\xed\x9f\xbf"
    names[2] = 0xA0
    assert settled.written() == [None]


@each_kernel
def test_what_is_not_settled_is_not_ours(one: Kernel) -> None:
    images = Images([(table(column(10)), (Date(0, 0, 0),)), (JSON, (encode_json(1),)), (JSON, (None,))])
    settled = images.settled(one)
    settled.slots, settled.states = images.slots, images.states
    assert [variant is None for variant in settled.written()] == [True, True, False]


@each_kernel
def test_spans_that_lead_outside(one: Kernel) -> None:
    images = Images([(table(column(15, 20, charset=BINARY)), (b"abc",))])
    images.slots[0] += 1 << 32
    assert images.settled(one).written() == [None]


def test_small_buffers() -> None:
    documents = [encode_json({"k" * size: "v" * size}) for size in (1, 20, 200)]
    rows: list[tuple[Table, Image]] = [
        (ALL, tuple(values[turn % len(values)] for _, values in VALUES)) for turn in range(3)
    ]
    rows += [(JSON, (document,)) for document in documents for _ in range(3)]
    images = Images(rows)
    whole = images.settled(COMPILED).written()
    assert None not in whole
    for one in KERNELS:
        for size in (1, 100, 400, 1000):
            found = images.settled(one, heap_size=size).written(value_size=size, metadata_size=size // 2)
            assert found == whole


def test_metadata_fills_before_the_value() -> None:
    columns = table(*(column(1, name="n" * 60 + str(place)) for place in range(8)))
    made: list[tuple[Table, Image]] = [(columns, tuple(range(8)))] * 5
    check(made, metadata_size=700)


@compiled_only
def test_a_value_above_the_limit() -> None:
    size = (128 << 20) // 3
    columns = table(*(column(252, 4, charset=BINARY) for _ in range(3)))
    images = Images([(columns, (b"abc",) * 3)])
    images.data = np.zeros(size + 8192, np.uint8)  # the same bytes three times: the kernel does not mind

    def written(of_each: int, room: int) -> int:
        images.slots[:3] = of_each << 32
        [variant] = images.settled(COMPILED).written(value_size=room)
        assert variant is not None
        return len(variant[0])

    # header, count, ids, offsets; header and length of each
    head = 2 + 3 + 4 * 4 + 3 * 5
    assert (128 << 20) - head == 3 * (size - 12) + 2
    assert written(size - 12, 129 << 20) == (128 << 20) - 2
    for too_large in (size - 11, size + 100):
        with pytest.raises(TooLarge):
            written(too_large, 129 << 20)
    with pytest.raises(TooLarge):  # no room is asked for what would be too large anyway
        written(size + 100, 1000)


# Documents.

_SCALARS = (
    st.none() | st.booleans() | st.floats() | st.text(max_size=80)
    | st.sampled_from([edge + step for power in (7, 8, 15, 16, 31, 32, 63) for edge in (1 << power, -(1 << power))
                       for step in (-1, 0, 1) if -(1 << 63) <= edge + step < 1 << 64])
    | st.integers(-(1 << 63), (1 << 64) - 1)
    | st.integers(-(10**38) + 1, 10**38 - 1).map(lambda number: Decimal(f"{number}E-7"))
    | st.integers(-(10**12), 10**12).map(lambda number: Decimal(f"{number}E-3"))
    | st.dates().map(lambda day: Date(day.year, day.month, day.day))
    | st.datetimes().map(lambda t: DateTime(t.year, t.month, t.day, t.hour, t.minute, t.second, t.microsecond))
    | st.builds(Time, st.just(False), st.integers(0, 1 << 26), st.integers(0, 63), st.integers(0, 63), st.integers(0, (1 << 24) - 1))
    | st.just(Time(True, 838, 59, 59, 999999))
    | st.text(max_size=5).map(lambda text: Opaque(253, text.encode()))
)  # fmt: skip
_KEYS = st.text(max_size=12) | st.sampled_from(
    ["doc", "a", "aa", "aaaaaaa", "aaaaaaaa", "aaaaaaab", "aaaaaaaaa"]
)
DOCUMENTS = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(_KEYS, inner, max_size=8),
    max_leaves=30,
)


@settings(QUICK, max_examples=150)
@given(st.lists(DOCUMENTS, min_size=1, max_size=4))
def test_any_documents(values: list[Any]) -> None:
    check([(JSON, (encode_json(value),)) for value in values])


@pytest.mark.parametrize("count", [31, 32, 33, 255, 256, 300, 3000])
def test_many_keys(count: int) -> None:
    """Long keys with a common start, so that sorting and hashing see all their bytes."""
    value = {f"{'common start ' * (place % 2)}{place * 7919 % count}": place for place in range(count)}
    [variant] = check([(JSON, (encode_json([value, value, {"doc": value}]),))])
    assert len(names_of(variant[1])) == count + 1
    assert VariantVal(*variant).toPython()["doc"][1] == value


@compiled_only
@pytest.mark.parametrize("size", [0, 1, 40, 63, 64, 100, 200, 255, 256, 5000, 40000, 70000])
def test_offsets_of_all_sizes(size: int) -> None:
    text = "x" * size
    values = [[text, 1], {"a": text, "b": [text, {"c": text}]}, [1] * size, [[]] * (size // 4), [True] * size,
              [1 << 63] * (size // 8), [{"k": place} for place in range(size // 20)]]  # fmt: skip
    made: list[tuple[Table, Image]] = [(JSON, (encode_json(value),)) for value in values]
    images = Images(made)
    for variant, value in zip(images.settled(COMPILED, 1 << 22).written(1 << 22, 1 << 20), made, strict=True):
        assert typed(variant) == reference(*value)


def nested(depth: int) -> Any:
    value: Any = 1
    for level in range(depth):
        value = [value] if level % 2 else {"k": value}
    return value


def test_the_deepest_document() -> None:
    check([(JSON, (encode_json(nested(100)),))])
    deeper = encode_json(nested(100))
    outer = b"\x02\x01\x00" + (len(deeper) + 6).to_bytes(2, "little") + deeper[:1] + b"\x07\x00" + deeper[1:]
    assert reference(JSON, (outer,)) is None
    for one in KERNELS:
        assert variants(one, [(JSON, (outer,))]) == [None]


@each_kernel
@pytest.mark.parametrize(
    "document",
    [
        encode_json(Date(2020, 0, 1)),
        encode_json(DateTime(2023, 2, 29, 1, 2, 3)),
        encode_json(DateTime(2023, 2, 28, 24, 0, 0)),
        encode_json(Decimal("1" * 39)),
        encode_json(Opaque(15, b"x")),
        encode_json(Opaque(12, b"short")),
        encode_json(Opaque(253, b"\xff")),
        encode_json("\udcff"),
        b"\x0c\x03\xed\xa0\x80",
        encode_json({"\udcff": 1}),
        b"\x0f\x0b\x08" + bytes(7) + b"\x80",
        b"\x0f\x0c\x08" + b"\xff" * 8,
        b"\x0f\xf6\x03\x04\x00\xff",
        b"\x0f\xf6\x04\x04\x00\xa7\x10",
    ],
)
def test_documents_for_the_reference(one: Kernel, document: bytes) -> None:
    assert variants(one, [(JSON, (document,)), (JSON, (b"\x04\x01",))])[0] is None


@each_kernel
def test_equal_keys_in_an_object(one: Kernel) -> None:
    for key in (b"k", b"a longer key"):
        first = 4 + 2 * 7
        size = len(key)
        entries = b"".join(struct.pack("<HH", first + place * size, size) for place in range(2))
        body = struct.pack("<HH", 2, first + 2 * size) + entries + b"\x04\x01\x00" * 2 + key * 2
        assert decode_json(b"\x00" + body) == {key.decode(): True}
        assert variants(one, [(JSON, (b"\x00" + body,))]) == [None]


def damaged(document: bytes) -> list[bytes]:
    cut = [document[:size] for size in range(1, len(document))]
    flipped = [
        document[:place] + bytes((document[place] ^ change,)) + document[place + 1 :]
        for place in range(len(document))
        for change in (0x01, 0x02, 0x04, 0x08, 0x10, 0x80, 0xFF)
    ]
    return cut + flipped


SAMPLE = {
    "doc": [1, -2, 70000, 1 << 40, (1 << 64) - 1, 0.1, "text", "gr\u00fcn", None, True],
    "nested": {"a": {}, "bb": [], "a longer key": {"a": [[["x"]]]}, "k\u00e4": False},
    "": [
        Decimal("-12.345"),
        Date(2020, 2, 29),
        DateTime(1969, 12, 31, 23, 59, 59, 1),
        Time(True, 1, 2, 3, 4),
    ],
}
LARGE = {"large": ["x" * 3000] * 23, "n": [1, 70000, -5]}


@each_kernel
def test_damaged_documents(one: Kernel) -> None:
    """Never a crash, never what the reference refuses, never another value."""
    damages = damaged(encode_json(SAMPLE))
    if one is INTERPRETED:
        damages = damages[::7]
    else:
        # The large format: its head, each with the rest behind it.
        large = encode_json(LARGE)
        damages += [head + large[60:] for head in damaged(large[:60])[59:]]
    made: list[tuple[Table, Image]] = [(JSON, (document,)) for document in damages]
    accepted = 0
    for row, variant in zip(made, variants(one, made, heap=1 << 20), strict=True):
        if variant is not None:
            accepted += 1
            assert typed(variant) == reference(*row)
    assert accepted > len(made) // 10


@settings(QUICK, max_examples=300)
@given(
    st.lists(
        st.binary(max_size=60).map(lambda data: bytes((data[0] % 16,)) + data[1:] if data else data),
        min_size=10,
        max_size=20,
    )
)
def test_any_bytes(documents: list[bytes]) -> None:
    made: list[tuple[Table, Image]] = [(JSON, (document,)) for document in documents]
    for row, variant in zip(made, variants(COMPILED, made), strict=True):
        if variant is not None:
            assert typed(variant) == reference(*row)


def shared(levels: int) -> bytes:
    """Arrays that hold the same array twice, and so on: small to store, large to write."""
    size = 10 * levels + 10
    body = b""
    for level in range(levels):
        end = size - 10 * level
        body += struct.pack("<HHBHBH", 2, end, 2, 10, 2, 10)
    return b"\x02" + body + struct.pack("<HH", 0, 10) + bytes(6)


@each_kernel
def test_shared_members_do_not_multiply(one: Kernel) -> None:
    begin = time.perf_counter()
    assert variants(one, [(JSON, (shared(40),))]) == [None]
    assert time.perf_counter() - begin < 2
    with pytest.raises(GtidalError):
        decode_json(shared(40))


@each_kernel
def test_more_names_than_the_scratch_space_holds(one: Kernel) -> None:
    value = {f"{place}": 1 for place in range(4200)}
    assert variants(one, [(JSON, (encode_json(value),)), (JSON, (encode_json({"a": 1}),))])[0] is None
    assert variants(one, [(JSON, (encode_json({"a": 1}),))])[0] is not None
