"""Collation names and the servers' conversions."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gtidal.columns import charsets
from gtidal.columns.charsets import Undecoded, charset_of_name, collation_name, decode_text, decoder
from gtidal.errors import UsageError


@pytest.mark.parametrize(
    ("collation", "charset", "name"),
    [
        (1, "big5", "big5_chinese_ci"),
        (8, "latin1", "latin1_swedish_ci"),
        (33, "utf8mb3", "utf8mb3_general_ci"),
        (45, "utf8mb4", "utf8mb4_general_ci"),
        (63, "binary", "binary"),
        (76, "utf8mb3", "utf8mb3_tolower_ci"),
        (249, "gb18030", "gb18030_bin"),
        (255, "utf8mb4", "utf8mb4_0900_ai_ci"),
        (309, "utf8mb4", "utf8mb4_0900_bin"),
        (323, "utf8mb4", "utf8mb4_mn_cyrl_0900_as_cs"),
        (608, "utf8mb4", "utf8mb4_croatian_ci"),
        (1071, "latin1", "latin1_nopad_bin"),
        (2304, "utf8mb4", "utf8mb4_uca1400_ai_ci"),
        (2048 + 5 * 8 + 7, "utf8mb3", "utf8mb3_uca1400_polish_nopad_as_cs"),
    ],
)
def test_collations(collation: int, charset: str, name: str) -> None:
    assert charsets.COLLATIONS[collation] == (charset, name)


def test_names_that_differ() -> None:
    assert collation_name(245) == "utf8mb4_croatian_ci"
    assert collation_name(245, mariadb=True) == "utf8mb4_croatian_mysql561_ci"
    assert collation_name(40000) is None


def test_every_charset_has_a_decoder() -> None:
    names = {charset for charset, _ in charsets.COLLATIONS.values()}
    assert len(names) == 41
    assert [name for name in sorted(names) if decoder(name) is None] == ["binary"]


# What MySQL 9.7 answered to SELECT CONVERT(_charset x'…' USING utf8mb4).
@pytest.mark.parametrize(
    ("charset", "data", "text"),
    [
        ("latin1", "8081e99d", "€\x81é\x9d"),
        ("greek", "a1a2e1", "\u02bd\u02bcα"),
        ("cp866", "fcfd80", "ⁿ²А"),
        ("koi8u", "95", "•"),
        ("hebrew", "afe0", "‾א"),
        ("swe7", "405b5c5d", "ÉÄÖÅ"),
        ("dec8", "a8d7", "¤Œ"),
        ("keybcs2", "80a4", "Čň"),
        ("armscii8", "b2b3", "Աա"),
        ("geostd8", "c0c1fd", "აბ№"),
        ("hp8", "a1", "À"),
        ("tis620", "a1", "ก"),
        ("big5", "a440f9d6", "一碁"),
        ("gbk", "d6d0", "中"),
        ("gb2312", "d6d0", "中"),
        ("gb18030", "a8bc8135f437d6d09439fc36", "\u1e3f\ue7c7中\U0001f600"),
        ("euckr", "b0a18141", "가갂"),
        ("sjis", "815f93fab1", "\\日ｱ"),
        ("cp932", "815f8740", "＼①"),
        ("ujis", "a1c0c6fcf5a18ff5a1", "\\日\ue000\ue3ac"),
        ("eucjpms", "a1c1ada1a1c08ff3f3f5a1", "～①＼ⅰ\ue000"),
        ("ucs2", "00e9", "é"),
        ("utf16", "d83dde00", "😀"),
        ("utf16le", "3dd800de", "😀"),
        ("utf32", "0001f600", "😀"),
    ],
)
def test_conversions(charset: str, data: str, text: str) -> None:
    decode = decoder(charset)
    assert decode is not None
    assert decode(bytes.fromhex(data)) == text


def test_undecoded_is_marked_and_whole() -> None:
    value = decode_text(b"\xff", 255)
    assert isinstance(value, Undecoded)
    copy = pickle.loads(pickle.dumps(value))
    assert (copy, copy.charset) == (b"\xff", "utf8mb4")
    assert repr(value) == "Undecoded(b'\\xff', 'utf8mb4')"
    assert type(decode_text(b"\xff", 63)) is bytes
    assert isinstance(decode_text(b"\xe9", 11), Undecoded)


@given(st.sampled_from(sorted(charsets.COLLATIONS)), st.binary(max_size=30))
def test_any_bytes_in_any_charset(collation: int, data: bytes) -> None:
    value = decode_text(data, collation)
    assert isinstance(value, str) or value == data


def test_names_a_user_gives() -> None:
    assert charset_of_name("UTF8") == "utf8mb3"
    assert charset_of_name("latin1_swedish_ci") == "latin1"
    with pytest.raises(UsageError):
        charset_of_name("klingon")
