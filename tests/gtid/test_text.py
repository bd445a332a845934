"""MySQL's text form: what is read, what is printed, what is refused. The cases are 9.7.4's own answers."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gtidal.errors import UsageError
from gtidal.gtid import Gtid, GtidSet, format_uuid, parse_uuid
from tests.gtid.strategies import gtid_sets

U = "3E11FA47-71CA-11E1-9E33-C80AA9429562"
V = "aaaaaaaa-71ca-11e1-9e33-c80aa9429562"
u = U.lower()

ACCEPTED = {
    "": "",
    " , ,\n": "",
    f"{U}:1-5": f"{u}:1-5",
    f"{U}:1-1": f"{u}:1",
    f"{U}:01-0005": f"{u}:1-5",
    f"{U}:{'0' * 30}5": f"{u}:5",
    f"{U}:1-9223372036854775806": f"{u}:1-9223372036854775806",
    f"{U}:1-2:4-6:3": f"{u}:1-6",
    f"{U}:1-5:6-7": f"{u}:1-7",
    f"{U}:9:3-20:1": f"{u}:1:3-20",
    f"{V}:1,{U}:1": f"{u}:1,\n{V}:1",
    f"{U}:1-5,,": f"{u}:1-5",
    # white space
    f" {U} : 1 - 5 : 7 , ": f"{u}:1-5:7",
    f"{U}\n:\n1\t-\r\n5\x0b:\x0c7": f"{u}:1-5:7",
    f"{U}: t : 1": f"{u}:t:1",
    # the three forms of a UUID
    f"{U.replace('-', '')}:1-5": f"{u}:1-5",
    f"{{{U}}} : 1": f"{u}:1",
    # tags
    f"{U}:1-3:5:tag:7": f"{u}:1-3:5:tag:7",
    f"{U}:tag:7:Tag:9:1-3": f"{u}:tag:1-3:7:9",
    f"{U}:tag:1:2,{U}:3": f"{u}:3:tag:1-2",
    f"{U}:tag:1,{U}:1,{U}:abc:3,{U}:_x9:2": f"{u}:1:_x9:2:abc:3:tag:1",
    f"{U}:a:1:a1:2:a_:3:aa:4:b:5:_:6": f"{u}:_:6:a:1:a1:2:a_:3:aa:4:b:5",
    f"{U}:tag:1-3:tag2:4,{V}:5:tag:6": f"{u}:tag:1-3:tag2:4,\n{V}:5:tag:6",
    f"{U}:{'a' * 32}:1": f"{u}:{'a' * 32}:1",
    # legal, and nothing
    f"{U}:5-3": "",
    f"{U}:5-0": "",
    f"{U}:5-3:7": f"{u}:7",
    f"{U}:4-2:1-3": f"{u}:1-3",
    U: "",
    f"{U}:tag": "",
    f"{U}:1-5:tag": f"{u}:1-5",
    f"{U}:tag1:tag2:5": f"{u}:tag2:5",
    f"{U} , {V}:5": f"{V}:5",
}

REFUSED = {
    f"{U}:0": "a number from 1 to 9223372036854775806 at character 38, found '0'",
    f"{U}:0-5": "at character 38",
    f"{U}:9223372036854775807": "at character 38",
    f"{U}:1-9223372036854775807": "at character 40",
    f"{U}:1-99999999999999999999": "at character 40",
    f"{U}:{'9' * 9999}": "at character 38",
    f"{U}:": "a transaction number, or a tag of up to 32 letters, digits, _ at character 38, found the end",
    f"{U}::1": "at character 38, found ':1'",
    f"{U}:1::2": "at character 40, found ':2'",
    f"{U}:tag:": "at character 42",
    f"{U}:-5": "at character 38",
    f"{U}:+5": "at character 38",
    f"{U}:1-": "the last number of a range at character 40, found the end",
    f"{U}:1--5": "at character 40",
    f"{U}:1.5": "a comma or a colon at character 39, found '.5'",
    f"{U}:1-5x": "at character 41",
    f"{U}:1 2": "at character 40",
    f"{U}:1-3\n{V}:4": "a comma or a colon at character 42",
    f"{U}:9tag:1": "at character 39",
    f"{U}:ta-g:1": "at character",
    f"{U}:t ag:1": "at character 40",
    f"{U}:é:1": "at character 38",
    f"{U}:\u00a01": "at character 38",
    f"{U}:{'a' * 33}:1": "at character 38",
    f"{U};1": "at character 37",
    f"{U}0:1": "at character 37",
    f"{U[:-1]}:1": "a UUID at character 1",
    f"{U}:1,:8": "a UUID at character 40, found ':8'",
    f"{{{U}:1": "a UUID at character 1",
    f"{U}}}:1": "at character 37",
    f"{{ {U} }}:1": "a UUID at character 1",
    "garbage": "expected a UUID at character 1, found 'garbage'; the form is uuid:1-5:7, uuid:tag:1-2",
    "0-1-5": "a UUID at character 1",
}


@pytest.mark.parametrize("text", ACCEPTED)
def test_accepted_as_the_server_does(text: str) -> None:
    assert str(GtidSet(text)) == ACCEPTED[text]


@pytest.mark.parametrize("text", REFUSED)
def test_refused_as_the_server_does(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        GtidSet(text)
    message = str(caught.value)
    assert REFUSED[text] in message
    assert "the form is" in message
    assert "\n" not in message
    assert len(message) < 260


@given(gtid_sets)
def test_printed_text_reads_back(gtids: GtidSet) -> None:
    assert GtidSet(str(gtids)) == gtids
    assert GtidSet(gtids.one_line()) == gtids
    assert GtidSet(str(gtids).upper()) == gtids
    assert "\n" not in gtids.one_line()
    assert str(gtids) == gtids.one_line().replace(",", ",\n")


@given(gtid_sets, st.data())
def test_loose_formatting_does_not_matter(gtids: GtidSet, data: st.DataObject) -> None:
    blank = st.sampled_from(["", " ", "\n", "\t \r\n"])
    parts = []
    for uuid, tag, ranges in gtids:
        uuid = data.draw(st.sampled_from([uuid, uuid.upper(), uuid.replace("-", ""), f"{{{uuid}}}"]))
        for first, last in data.draw(st.permutations(ranges)):
            item = [uuid, ":", *([tag, ":"] if tag else []), str(first), "-", str(last)]
            parts.append("".join(data.draw(blank) + token for token in item))
    text = data.draw(st.sampled_from([",", ",,", " ,\n"])).join(data.draw(st.permutations(parts)))
    assert GtidSet(text) == gtids


@given(st.text(alphabet=f"{U[:4]}-:,tag19{{}} \n\0é", max_size=60))
def test_any_text_gives_a_set_or_one_kind_of_error(text: str) -> None:
    for candidate in (text, f"{U}:{text}", f"{U}{text}"):
        with suppress(UsageError):
            GtidSet(candidate)


def test_a_single_gtid() -> None:
    assert Gtid.parse(f" {U} : TAG : 7 ") == Gtid(u, "tag", 7)
    assert str(Gtid.parse(f"{U}:7")) == f"{u}:7"
    assert str(Gtid.parse(f"{U}:tag:7")) == f"{u}:tag:7"
    assert Gtid.of(parse_uuid(U), "", 7) == Gtid(u, "", 7)
    for text in ("", U, f"{U}:1-2", f"{U}:1:2", f"{U}:1,{V}:1", f"{U}:5-3"):
        with pytest.raises(UsageError, match="not a single GTID"):
            Gtid.parse(text)


def test_uuids() -> None:
    raw = bytes.fromhex("b8ae2fd2300511f08be80242ac150002")
    assert format_uuid(raw) == "b8ae2fd2-3005-11f0-8be8-0242ac150002"
    for text in (format_uuid(raw), raw.hex().upper(), f"{{{format_uuid(raw)}}}", f" {raw.hex()}\n"):
        assert parse_uuid(text) == raw
    for text in ("", "b8ae2fd2", raw.hex() + "0", format_uuid(raw)[:-1] + "g", "{" + raw.hex() + "}"):
        with pytest.raises(UsageError, match="not a UUID"):
            parse_uuid(text)
