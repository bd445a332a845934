"""Row images as VARIANT: each column has its type, and its values are the reference decoder's."""

from __future__ import annotations

import datetime
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from itertools import islice, pairwise
from typing import Any

import pytest

from gtidal.columnar.variant import (
    ImageEncoder,
    decode,
    decode_typed,
    encode_image,
    writing,
)
from gtidal.columns.jsonb import Json, JsonDiff, Opaque, decode_json, encode_diffs, encode_json, opaque_text
from gtidal.columns.meanings import Geometry
from gtidal.columns.shapes import Bits, Int, RawNan
from gtidal.columns.temporal import Date, DateTime, Time, Timestamp
from gtidal.columns.types import Column, make_columns
from gtidal.errors import DecodeError
from gtidal.events.images import ABSENT, JsonDiffs, apply_json_diffs
from gtidal.events.rows import RowsEvent
from gtidal.events.transaction import TransactionPayload
from gtidal.log.decoder import LogDecoder
from tests import samples
from tests.columnar.variant_judge import both, column
from tests.logs import CorpusLog, corpus_logs

UTF8MB4, LATIN1, BINARY, UCS2, SJIS = 255, 8, 63, 35, 13


def written(one: Column, value: Any) -> Any:
    """The typed value of a column's physical value, by way of an image."""
    kind, found = decode_typed(*encode_image((one,), (value,)))
    assert kind == "object"
    assert list(found) == [one.name]
    return found[one.name]


def float_hex(value: float, letter: str = "d") -> str:
    return struct.pack(f"<{letter}", value).hex()


@pytest.mark.parametrize(
    ("one", "value", "expected"),
    [
        (column(1, unsigned=False), -128, ("int8", -128)),
        (column(1), 127, ("int8", 127)),
        (column(1, unsigned=True), 255, ("int16", 255)),
        (column(2, unsigned=False), -1, ("int16", -1)),
        (column(2, unsigned=True), 65535, ("int32", 65535)),
        (column(9, unsigned=False), -(1 << 23), ("int32", -(1 << 23))),
        (column(9, unsigned=True), (1 << 24) - 1, ("int32", (1 << 24) - 1)),
        (column(3, unsigned=False), -1, ("int32", -1)),
        (column(3, unsigned=True), (1 << 32) - 1, ("int64", (1 << 32) - 1)),
        (column(8, unsigned=False), -(1 << 63), ("int64", -(1 << 63))),
        (column(8, unsigned=True), 1, ("decimal16", (1, 0))),
        (column(8, unsigned=True), (1 << 64) - 1, ("decimal16", ((1 << 64) - 1, 0))),
        (column(13), 2155, ("int16", 2155)),
        (column(13), 0, ("int16", 0)),
        (column(4, 4), 0.5, ("float", float_hex(0.5, "f"))),
        (column(4, 4), -0.0, ("float", "00000080")),
        (column(4, 4), RawNan(b"\x01\x00\xa0\x7f"), ("float", "0100a07f")),
        (column(5, 8), 0.1, ("double", float_hex(0.1))),
        (column(246, 9 << 8 | 2), Decimal("-1.50"), ("decimal4", (-150, 2))),
        (column(246, 10 << 8 | 2), Decimal("-1.50"), ("decimal8", (-150, 2))),
        (column(246, 18 << 8), Decimal("9" * 18), ("decimal8", (10**18 - 1, 0))),
        (column(246, 19 << 8 | 19), Decimal("-0." + "9" * 19), ("decimal16", (1 - 10**19, 19))),
        (column(246, 38 << 8 | 30), Decimal("9" * 8 + "." + "9" * 30), ("decimal16", (10**38 - 1, 30))),
        (column(246, 39 << 8 | 1), Decimal("-1.5"), ("string", "-1.5")),
        (column(246, 65 << 8 | 30), Decimal("1." + "0" * 30), ("string", "1." + "0" * 30)),
        (column(10), Date(1000, 1, 1), ("date", -354285)),
        (column(10), Date(9999, 12, 31), ("date", 2932896)),
        (column(10), Date(2020, 0, 0), ("string", "2020-00-00")),
        (column(12), DateTime(2024, 2, 29, 23, 59, 59), ("timestamp_ntz", 1709251199000000)),
        (column(12), DateTime(0, 0, 0, 0, 0, 0), ("string", "0000-00-00 00:00:00")),
        (column(18, 3), DateTime(1969, 12, 31, 23, 59, 59, 999000), ("timestamp_ntz", -1000)),
        (column(18, 3), DateTime(2024, 2, 30, 1, 2, 3, 45000), ("string", "2024-02-30 01:02:03.045")),
        (column(7), Timestamp(1 << 31), ("timestamp", (1 << 31) * 1_000_000)),
        (column(7), Timestamp(0), ("string", "0000-00-00 00:00:00")),
        (column(17, 6), Timestamp(0, 1), ("timestamp", 1)),
        (column(17, 2), Timestamp(0), ("string", "0000-00-00 00:00:00.00")),
        (column(11), Time(True, 838, 59, 59), ("string", "-838:59:59")),
        (column(19, 4), Time(False, 1, 2, 3, 456700), ("string", "01:02:03.4567")),
        (column(19, 0), Time(False, 0, 0, 0), ("string", "00:00:00")),
        (column(16, 1), 1, ("boolean", True)),
        (column(16, 1), 0, ("boolean", False)),
        (column(16, 0x0100), 1, ("int64", 1)),
        (column(16, 0x0707), (1 << 63) - 1, ("int64", (1 << 63) - 1)),
        (column(16, 0x0800), 1 << 63, ("decimal16", (1 << 63, 0))),
        (column(15, 400, charset=UTF8MB4), "grün".encode(), ("string", "grün")),
        (column(15, 400, charset=UTF8MB4), b"gr\xfcn", ("binary", b"gr\xfcn")),
        (column(15, 400, charset=LATIN1), b"gr\xfcn \x80", ("string", "grün €")),
        (column(15, 400, charset=UCS2), "né".encode("utf-16-be"), ("string", "né")),
        (column(15, 400, charset=UCS2), b"\xd8\x00\x00n", ("binary", b"\xd8\x00\x00n")),
        (column(15, 400, charset=SJIS), "日本".encode("shift_jis"), ("string", "日本")),
        (column(15, 400, charset=9999), b"plain", ("binary", b"plain")),
        (column(15, 400), "grün".encode(), ("string", "grün")),
        (column(15, 400), b"gr\xfcn", ("binary", b"gr\xfcn")),
        (column(15, 400, charset=BINARY), b"ab", ("binary", b"ab")),
        (column(254, 0xFE05, charset=BINARY), b"ab", ("binary", b"ab\0\0\0")),
        (column(254, 0xFE05, charset=UTF8MB4), b"ab", ("string", "ab")),
        (column(252, 2, charset=UTF8MB4), b"t" * 64, ("string", "t" * 64)),
        (column(252, 2, charset=BINARY), b"", ("binary", b"")),
        (column(140, 2, charset=UTF8MB4), b"\x89\x01" + zlib.compress(b"z", wbits=-15), ("string", "z")),
        (column(254, 0xF701, labels=(b"a", b"\xe9"), charset=LATIN1), 2, ("string", "é")),
        (column(254, 0xF701, labels=(b"a", b"\xe9"), charset=LATIN1), 0, ("string", "")),
        (column(254, 0xF701, labels=(b"a", b"\xe9"), charset=LATIN1), 3, ("int64", 3)),
        (column(254, 0xF701, labels=(b"a", b"\xe9")), 2, ("binary", b"\xe9")),
        (column(254, 0xF702), 700, ("int64", 700)),
        (
            column(254, 0xF801, labels=(b"a", b"b", b"c"), charset=UTF8MB4),
            0b101,
            ("array", [("string", "a"), ("string", "c")]),
        ),
        (column(254, 0xF801, labels=(b"a", b"b", b"c"), charset=UTF8MB4), 0, ("array", [])),
        (column(254, 0xF801, labels=(b"a", b"b", b"c"), charset=UTF8MB4), 8, ("int64", 8)),
        (column(254, 0xF808), 1 << 63, ("decimal16", (1 << 63, 0))),
        (column(254, 0xF808), 5, ("decimal16", (5, 0))),
        (column(254, 0xF804), 5, ("int64", 5)),
        (column(254, 0xF808, labels=(b"a",), charset=UTF8MB4), (1 << 63) - 1, ("int64", (1 << 63) - 1)),
        (column(254, 0xF808, labels=(b"a",), charset=UTF8MB4), 1 << 63, ("decimal16", (1 << 63, 0))),
        (
            column(242, 4),
            struct.pack("<2f", 0.1, -2.0),
            ("array", [("float", float_hex(0.1, "f")), ("float", float_hex(-2.0, "f"))]),
        ),
        (column(242, 4), b"\x01\x00\xa0\x7f", ("array", [("float", "0100a07f")])),
        (column(242, 4), b"abcde", ("binary", b"abcde")),
        (
            column(255, 4),
            b"\xff\xff\xff\xffpoint",
            ("object", {"srid": ("int64", (1 << 32) - 1), "wkb": ("binary", b"point")}),
        ),
        (column(255, 4), b"ab", ("object", {"srid": ("null", None), "wkb": ("binary", b"ab")})),
        (column(255, 4, name="wkb"), bytes(4), ("object", {"srid": ("int64", 0), "wkb": ("binary", b"")})),
        (column(245, 4), b"", ("null", None)),
        (column(20, 4), encode_json([1, None]), ("array", [("int8", 1), ("null", None)])),
    ],
)  # fmt: skip
def test_a_column_has_its_type(one: Column, value: Any, expected: Any) -> None:
    assert written(one, value) == expected
    both(*encode_image((one,), (value,)))
    assert written(one, None) == ("null", None)
    assert decode_typed(*encode_image((one,), (ABSENT,))) == ("object", {})


def test_the_values_are_the_reference_decoders() -> None:
    """What ``Column.python`` says of a sample's values, in other words."""
    event = samples.TABLE
    found = decode(*encode_image(event.columns, samples.FIRST))
    for one, physical in zip(event.columns, samples.FIRST, strict=True):
        logical = one.python(physical)
        assert one.name is not None
        shown = found[one.name]
        if one.name == "doc":
            assert shown == logical.python()
        elif one.name == "took":
            assert shown == "-838:59:58.99"
        elif one.name == "d":
            assert shown == logical.text()
        elif one.name == "g":
            assert shown == {"srid": logical.srid, "wkb": logical.wkb}
        else:
            assert shown == logical
            assert type(shown) is type(logical)


def test_the_dictionary_begins_with_the_columns() -> None:
    columns = samples.TABLE.columns
    _, metadata = encode_image(columns, samples.FIRST)
    names = _names(metadata)
    assert names[:13] == [one.name for one in columns]
    assert names[13:15] == ["srid", "wkb"]
    assert names[15:] == ["a", "c"]  # "b" is a column
    _, shorter = encode_image(columns, samples.SECOND)
    assert _names(shorter) == names[:15]


def _names(metadata: bytes) -> list[str]:
    count = metadata[1]
    ends = metadata[2 : 3 + count]
    text = metadata[3 + count :].decode()
    return [text[start:end] for start, end in pairwise(ends)]


def test_absent_is_not_null() -> None:
    columns = make_columns(b"\x03\x03\x03", b"", b"\x07", names=["z", "y", "x"])
    found = decode(*encode_image(columns, (1, ABSENT, None)))
    assert found == {"x": None, "z": 1}


def test_columns_without_names_are_numbered() -> None:
    columns = make_columns(b"\x03" * 12, b"", b"\xff\x0f")
    found = decode(*encode_image(columns, tuple(range(12))))
    assert found == {f"@{number + 1}": number for number in range(12)}
    assert list(found)[:4] == ["@1", "@10", "@11", "@12"]


@pytest.mark.parametrize("width", [33, 256, 300, 4096])
def test_wide_tables(width: int) -> None:
    names = (
        [f"c{number * 7 % width}" for number in range(width)]
        if width % 7
        else [f"c{n}" for n in range(width)]
    )
    columns = make_columns(b"\x02" * width, b"", b"\xff" * ((width + 7) // 8), names=names)
    image = [number - 150 for number in range(width)]
    image[5] = ABSENT  # type: ignore[call-overload]
    expected = {name: value for name, value in zip(names, image, strict=True) if value is not ABSENT}
    value, metadata = encode_image(columns, image)
    assert both(value, metadata) == expected
    decode_typed(value, metadata)


def test_two_columns_of_one_name() -> None:
    columns = make_columns(b"\x03\x03", b"", b"\x03", names=["same", "same"])
    with pytest.raises(DecodeError, match="two columns are called same"):
        encode_image(columns, (1, 2))


def test_a_name_that_is_no_text() -> None:
    with pytest.raises(DecodeError, match="no UTF-8"):
        encode_image((column(3, name="a\udcff"),), (1,))


def test_an_image_of_another_table() -> None:
    with pytest.raises(DecodeError, match="an image of 1 columns, the table has 13"):
        encode_image(samples.TABLE.columns, (1,))


def test_an_error_names_its_column() -> None:
    with pytest.raises(DecodeError) as caught:
        encode_image((column(245, 4, name="doc"),), (b"\x00\x01",))
    assert caught.value.field == "doc"


def test_the_size_of_an_image_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "LARGEST", 1000)
    one = column(252, 4, charset=BINARY)
    assert written(one, b"x" * 980) == ("binary", b"x" * 980)
    for size in (997, 1001):
        with pytest.raises(DecodeError, match="typed `rows`"):
            encode_image((one,), (b"x" * size,))


def test_encoders_are_kept_by_table() -> None:
    first, second = (column(1),), (column(1, unsigned=True),)
    for _ in range(2):
        assert decode_typed(*encode_image(first, (5,))) == ("object", {"c": ("int8", 5)})
        assert decode_typed(*encode_image(second, (5,))) == ("object", {"c": ("int16", 5)})
    assert ImageEncoder(list(first)).encode([7]) == encode_image(first, (7,))


DOCUMENT = column(245, 4, name="doc")


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (None, ("null", None)),
        (True, ("boolean", True)),
        (-129, ("int16", -129)),
        (1 << 63, ("decimal16", (1 << 63, 0))),
        (2.0, ("double", float_hex(2.0))),
        ("x" * 200, ("string", "x" * 200)),
        ("a\udcff", ("binary", b"a\xff")),
        (Decimal("1.50"), ("decimal4", (150, 2))),
        (Decimal("-12345678.90"), ("decimal8", (-1234567890, 2))),
        (Decimal("9" * 39), ("string", "9" * 39)),
        (Date(2024, 2, 29), ("date", 19782)),
        (Date(0, 0, 0), ("string", "0000-00-00")),
        (DateTime(2024, 2, 29, 1, 2, 3, 4), ("timestamp_ntz", 1709168523000004)),
        (DateTime(0, 0, 0, 0, 0, 0), ("string", "0000-00-00 00:00:00.000000")),
        (Time(True, 1, 2, 3, 40), ("string", "-01:02:03.000040")),
        (Opaque(252, b"\x00\x01"), ("string", "base64:type252:AAE=")),
        ([], ("array", [])),
        ({"b": [{}], "aa": 1}, ("object", {"aa": ("int8", 1), "b": ("array", [("object", {})])})),
    ],
)  # fmt: skip
def test_documents(document: Any, expected: Any) -> None:
    data = encode_json(document)
    assert decode_json(data) == document
    assert written(DOCUMENT, data) == expected


def test_a_decimal_has_the_type_of_its_declared_precision() -> None:
    """The same number, 1.5, declared with 2 and with 12 digits."""
    assert written(DOCUMENT, b"\x0f\xf6\x04\x02\x01\x81\x05") == ("decimal4", (15, 1))
    assert written(DOCUMENT, b"\x0f\xf6\x08\x0c\x01\x80\x00\x00\x00\x01\x05") == ("decimal8", (15, 1))


def test_keys_of_documents() -> None:
    keys = ["doc", "k" * 300, "", "é", *(f"n{number}" for number in range(300))]
    document = {key: {"inner": key, "doc": None} for key in keys}
    value, metadata = encode_image((DOCUMENT,), (encode_json(document),))
    assert both(value, metadata) == {"doc": document}
    decode_typed(value, metadata)


def test_a_key_that_is_no_text() -> None:
    with pytest.raises(DecodeError, match="no UTF-8"):
        encode_image((DOCUMENT,), (encode_json({"a\udcff": 1}),))


def test_the_deepest_document() -> None:
    document: Any = 7
    for _ in range(50):
        document = [{"k": document}]
    assert decode(*encode_image((DOCUMENT,), (encode_json(document),))) == {"doc": document}
    diffs = JsonDiffs(encode_diffs([JsonDiff(0, "$.a", encode_json(document))]))
    found = both(*encode_image((DOCUMENT,), (diffs,)))
    assert found["doc (diff)"][0]["value"] == document


def test_diffs_that_could_not_be_applied() -> None:
    diffs = JsonDiffs(encode_diffs([JsonDiff(0, "$.a[0]", encode_json(9)), JsonDiff(2, "$.b")]))
    columns = (replace(DOCUMENT, index=0), column(3, index=1, name="doc "), column(3, index=2, name="a"))
    value, metadata = encode_image(columns, (diffs, 5, None))
    shown = [{"operation": "REPLACE", "path": "$.a[0]", "value": 9}, {"operation": "REMOVE", "path": "$.b"}]
    assert both(value, metadata) == {"a": None, "doc ": 5, "doc (diff)": shown}
    decode_typed(value, metadata)
    taken = (*columns[:1], column(3, index=1, name="doc (diff)"), *columns[2:])
    found = both(*encode_image(taken, (diffs, 5, None)))
    assert found == {"a": None, "doc (diff)": 5, "doc (diff) (diff)": shown}


# --- whole logs --------------------------------------------------------------------------------------------


def expected_json(value: Any) -> Any:
    """A value as ``decode_json`` makes it, in VARIANT's types."""
    match value:
        case dict():
            return {key: expected_json(value[key]) for key in sorted(value)}
        case list():
            return [expected_json(item) for item in value]
        case int() if value >= 1 << 63:
            return Decimal(value)
        case Opaque():
            return opaque_text(value)
        case Date() | DateTime():
            made: Callable[..., Any] = datetime.date if isinstance(value, Date) else datetime.datetime
            try:
                return made(*value)
            except ValueError:
                return value.text(6)
        case Time():
            return value.text(6)
    return value


def expected(one: Column, physical: Any) -> Any:
    """A physical value in VARIANT's types, by way of what the reference decoder says it means."""
    logical = one.python(physical)
    match logical:
        case Json():
            return expected_json(logical.python())
        case Geometry():
            return logical._asdict()
        case datetime.timedelta() | Date() | DateTime():  # what has no VARIANT is text
            zero = isinstance(physical, Timestamp)
            return (logical if zero else physical).text(one.digits)
        case int() if one.shape in (Int(8, signed=False), Bits(64)):
            return Decimal(logical)
        case Decimal() if (one.precision or 0) > 38:
            return f"{logical:f}"
        case bytes() if one.charset is None and one.type.character:
            with suppress(UnicodeDecodeError):
                return logical.decode()
            return logical
        case tuple():
            return list(logical)
    return logical


def images_of(data: bytes) -> Iterator[tuple[tuple[Column, ...], Sequence[Any]]]:
    """The images of all rows of a log, up to the first damage."""
    decoder = LogDecoder("test")
    with suppress(DecodeError):
        decoder.receive_data(data)
        decoder.end_of_data()
        for outer in decoder:
            inner = (
                [event for _, event in decoder.inner(outer)] if isinstance(outer, TransactionPayload) else []
            )
            for event in (outer, *inner):
                if isinstance(event, RowsEvent) and event.table is not None:
                    for row in event.rows:
                        if row.before is not None:
                            yield event.table.columns, row.before
                        if row.after is not None:
                            yield event.table.columns, apply_json_diffs(row)


MOST_IMAGES = 300
"""Of each log; they are much alike."""


@pytest.mark.parametrize("log", corpus_logs(), ids=str)
def test_images_of_real_logs(log: CorpusLog) -> None:
    for columns, image in islice(images_of(log.data), MOST_IMAGES):
        value, metadata = encode_image(columns, image)
        decode_typed(value, metadata)  # strict
        wanted = {
            one.name or f"@{one.index + 1}": None if physical is None else expected(one, physical)
            for one, physical in zip(columns, image, strict=True)
            if physical is not ABSENT and not isinstance(physical, JsonDiffs)
        }
        found = {key: item for key, item in both(value, metadata).items() if not key.endswith(" (diff)")}
        # As text, which tells 1 from True and one NaN from none.
        assert repr(found) == repr(dict(sorted(wanted.items())))
