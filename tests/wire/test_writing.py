"""A record that does not fit its layout: the writer says which field, and raises nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gtidal.errors import DecodeError
from gtidal.wire.layout import Fields, Reader, Record, Run, Writer
from gtidal.wire.tagged import TaggedField, walk_message

Walk = Callable[[Fields], Any]
LONE = "a\ud800"


@dataclass
class Values:
    """Any values at all, to be written by any method."""

    value: Any = None
    other: Any = None


class Inner(Record):
    size: int

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.u8("size")


class Sixteen(Record):
    uuid: bytes
    rest: bytes

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.raw("uuid", 16)
        f.raw("rest", f.remaining() - 1)
        f.zero()


class Counted(Record):
    bits: bytes
    width: int

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.raw("bits", (f.u8("width") + 7) // 8)


def write(walk: Walk, value: Any, other: Any = None) -> bytes:
    writer = Writer(Values(value, other))
    walk(writer)
    return bytes(writer.out)


# fmt: off
REFUSED: list[tuple[Walk, Any, str]] = [
    (lambda f: f.u8("value"),                            256,               "value"),
    (lambda f: f.u8("value"),                            -1,                "value"),
    (lambda f: f.u8("value"),                            None,              "value"),
    (lambda f: f.u8("value"),                            "1",               "value"),
    (lambda f: f.i64("value"),                           1 << 63,           "value"),
    (lambda f: f.lenenc("value"),                        -5,                "value"),
    (lambda f: f.lenenc("value"),                        1 << 64,           "value"),
    (lambda f: f.lenenc("value"),                        None,              "value"),
    (lambda f: f.sized_lenenc("value"),                  -5,                "value"),
    (lambda f: f.uvarint("value"),                       -1,                "value"),
    (lambda f: f.uvarint("value"),                       1 << 64,           "value"),
    (lambda f: f.uvarint("value", 16),                   1 << 16,           "value"),
    (lambda f: f.uvarint("value"),                       None,              "value"),
    (lambda f: f.svarint("value"),                       1 << 63,           "value"),
    (lambda f: f.svarint("value"),                       -(1 << 63) - 1,    "value"),
    (lambda f: f.short_text("value"),                    LONE,              "value"),
    (lambda f: f.short_text("value"),                    "x" * 256,         "value_size"),
    (lambda f: f.lenenc_text("value"),                   LONE,              "value"),
    (lambda f: f.lenenc_bytes("value"),                  5,                 "value"),
    (lambda f: f.rest_text("value"),                     LONE,              "value"),
    (lambda f: f.cstring("value"),                       LONE,              "value"),
    (lambda f: f.cstring("value"),                       "a\0b",            "value"),
    (lambda f: f.cstring("value"),                       None,              "value"),
    (lambda f: f.padded_text("value", 9),                LONE,              "value"),
    (lambda f: f.padded_text("value", 9),                "x" * 10,          "value"),
    (lambda f: f.sizes("value", 2),                      ("a", "x" * 300),  "value[1]"),
    (lambda f: f.sizes("value", 1),                      (LONE,),           "value[0]"),
    (lambda f: f.sizes("value", 1),                      (None,),           "value[0]"),
    (lambda f: f.sizes("value", 1),                      None,              "value"),
    (lambda f: f.terminated("value", b"\1"),             (LONE,),           "value[0]"),
    (lambda f: f.count("value", 1),                      (0,) * 256,        "value_count"),
    (lambda f: f.count("value", 1),                      None,              "value"),
    (lambda f: f.lenenc_count("value"),                  None,              "value"),
    (lambda f: f.numbers("value", "lenenc"),             (1, -5),           "value[1]"),
    (lambda f: f.numbers("value", "lenenc_text"),        ("a", LONE),       "value[1]"),
    (lambda f: f.sized_numbers("value", "u8"),           (1, 256),          "value[1]"),
    (lambda f: f.numbers("value", "u8"),                 None,              "value"),
    (lambda f: f.fixed(Run("value:I")),                  1 << 32,           "value"),
    (lambda f: f.fixed(Run("value:I")),                  None,              "value"),
    (lambda f: f.fixed(Run("value:16s")),                bytes(15),         "value"),
    (lambda f: f.fixed(Run("value:16s")),                bytes(17),         "value"),
    (lambda f: f.raw("value", 16),                       bytes(15),         "value"),
    (lambda f: f.raw("value", 16),                       bytes(17),         "value"),
    (lambda f: f.raw("value", 16),                       None,              "value"),
    (lambda f: f.raw("value", 0),                        b"x",              "value"),
    (lambda f: f.text("value", 2),                       "ü" * 2,           "value"),
    (lambda f: f.uvarint_bytes("value", 16),             bytes(15),         "value"),
    (lambda f: f.flagged("value", 4, 31, "other"),       1 << 31,           "value"),
    (lambda f: f.flagged("value", 4, 31, "other"),       None,              "value"),
    (lambda f: f.split_count("value", 4, 28, "other"),   (),                "other"),
    (lambda f: f.split_count("value", 1, 2, "other"),    (0,) * 4,          "value_count"),
    (lambda f: f.record("value", Inner),                 Inner(256),        "value.size"),
    (lambda f: f.record("value", Inner),                 3,                 "value"),
    (lambda f: f.records("value", lambda _: Inner),      (Inner(1), Inner(-1)), "value[1].size"),
    (lambda f: f.records("value", lambda _: Inner),      ("a",),            "value[0]"),
]
# fmt: on


@pytest.mark.parametrize(("walk", "value", "field"), REFUSED)
def test_what_does_not_fit_names_its_field(walk: Walk, value: Any, field: str) -> None:
    with pytest.raises(DecodeError) as caught:
        write(walk, value)
    assert caught.value.field == field


def test_the_high_bits_of_a_split_count() -> None:
    def walk(f: Fields) -> None:
        f.split_count("value", 4, 28, "other")

    assert write(walk, (0,) * 3, 15) == bytes.fromhex("030000f0")
    for high in (16, -1):
        with pytest.raises(DecodeError) as caught:
            write(walk, (), high)
        assert caught.value.field == "other"


def test_bytes_that_are_not_utf8_are_written_back() -> None:
    assert write(lambda f: f.short_text("value"), "a\udcff") == b"\x02a\xff"


def test_announced_and_remaining_sizes_are_free() -> None:
    def later(f: Fields) -> None:
        size = f.size("value", 1, plus=2)
        f.u8("other")
        f.raw("value", size)

    assert write(later, b"abc", 7) == b"\x05\x07abc"
    assert write(lambda f: f.rest("value"), b"abc") == b"abc"
    assert write(lambda f: f.raw("value", f.remaining()), b"") == b""
    record = Sixteen(b"u" * 16, b"any")
    assert Sixteen.decode(record.encode()) == record


def test_a_size_from_another_field_holds() -> None:
    assert Counted(b"ab", 9).encode() == b"\x09ab"
    assert Counted(b"", 0).encode() == b"\0"
    for bits, width in ((b"a", 9), (b"a", 0), (b"", 1)):
        with pytest.raises(DecodeError, match="where the layout has") as caught:
            Counted(bits, width).encode()
        assert caught.value.field == "bits"


class Message(Record):
    serialization_version: int = 1
    last_non_ignorable: int = 0
    number: int | None = None
    name: str | None = None
    unknown_fields: bytes = b""

    @classmethod
    def walk(cls, f: Fields) -> None:
        walk_message(f, (TaggedField(0, "number", "uvarint"), TaggedField(1, "name", "uvarint_text")))


@pytest.mark.parametrize(
    ("message", "field"),
    [
        (Message(number=-1), "number"),
        (Message(name=LONE), "name"),
        (Message(serialization_version=-1), "serialization_version"),
        (Message(serialization_version=1 << 16), "serialization_version"),
        (Message(last_non_ignorable=1 << 64), "last_non_ignorable"),
    ],
)
def test_a_tagged_message_names_its_fields(message: Message, field: str) -> None:
    with pytest.raises(DecodeError) as caught:
        message.encode()
    assert caught.value.field == field


@pytest.mark.parametrize(
    "body",
    [
        "01",  # an id of two bytes, of which one is there
        "02 02 61 00 02",  # 1, then 0
        "00 02 00 02",  # 0 twice
        "06",  # 3: unknown, where fields up to 4 may not be ignored
    ],
)
def test_a_wrong_field_id_is_named(body: str) -> None:
    fields = bytes.fromhex(body)
    data = bytes((2, (3 + len(fields)) << 1, 4 << 1)) + fields
    with pytest.raises(DecodeError) as caught:
        Message.decode(data)
    assert caught.value.field == "field_id"


ANY = st.one_of(
    st.none(),
    st.integers(-(1 << 70), 1 << 70),
    st.text(st.characters(), max_size=300),
    st.binary(max_size=300),
)
METHODS: list[tuple[str, tuple[Any, ...]]] = [
    *((name, ()) for name in ("u8", "u24", "u64", "i32", "lenenc", "uvarint", "svarint", "sized_lenenc")),
    *((name, ()) for name in ("cstring", "short_bytes", "short_text", "lenenc_text", "uvarint_text", "rest")),
    ("raw", (4,)), ("text", (4,)), ("padded_text", (4,)), ("uvarint_bytes", (4,)), ("fixed", (Run("value:4s"),)),
]  # fmt: skip


@pytest.mark.parametrize(("method", "arguments"), METHODS)
def test_any_value_is_written_or_refused(method: str, arguments: tuple[Any, ...]) -> None:
    @given(ANY)
    def check(value: Any) -> None:
        writer = Writer(Values(value))
        try:
            getattr(writer, method)(*(() if method == "fixed" else ("value",)), *arguments)
        except DecodeError as error:
            assert error.field in ("value", "value_size")
            return
        if type(value) is int:
            reader = Reader(bytes(writer.out), 0, len(writer.out))
            getattr(reader, method)("value", *arguments)
            assert (reader.values["value"], reader.pos) == (value, reader.end)

    check()
