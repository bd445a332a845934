"""``gtidal inspect``: the listing, one event's bytes beside its fields, JSON, damage, wrong use."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gtidal.cli import hexview
from gtidal.cli.field_meanings import TABLE, Scene
from gtidal.cli.main import main
from gtidal.cli.screen import cut, printable, wrap
from gtidal.errors import GtidalError
from gtidal.events import EVENTS, Context, Header, encode_event
from gtidal.events.control import Rotate
from gtidal.events.format import MAGIC, Format, StartV3
from gtidal.sources.files import LogFile, LogReader
from tests.cli import example_logs
from tests.log.test_decoder import encrypt_mysql
from tests.logs import corpus_logs

ENOUGH = 25
"""Events of one type in one log of the corpus: large logs repeat themselves."""

LISTING = """\
 #  position  time                 type                size  summary
 1         4  2025-05-27 01:03:42  FORMAT_DESCRIPTION   122  server 8.0.40, checksum CRC32
 2       126  2025-05-27 01:03:42  PREVIOUS_GTIDS        71  b8ae2fd2…:1-11
 3       197  2025-05-27 01:06:53  GTID                  79  b8ae2fd2…:12 last_committed=0 sequence…
 4       276  2025-05-27 01:06:53  IGNORABLE            182
 5       458  2025-05-27 01:06:58  GTID                  79  b8ae2fd2…:13 last_committed=1 sequence…
 6       537  2025-05-27 01:06:53  IGNORABLE            231
 7       768  2025-05-27 01:06:58  GTID                  79  b8ae2fd2…:14 last_committed=2 sequence…
 8       847  2025-05-27 01:06:53  IGNORABLE            263
 9      1110  2025-05-27 01:06:58  GTID                  79  b8ae2fd2…:15 last_committed=3 sequence…
10      1189  2025-05-27 01:06:53  IGNORABLE            239
11      1428  2025-05-27 01:07:05  ROTATE                44  to binlog.000025:4
"""

GTID = """\
GTID, 79 bytes, at 197, event 3 of binlog.000024
  b8ae2fd2-3005-11f0-8be8-0242ac150002:12 last_committed=0 sequence_number=1
header, 19 bytes at 197
    0  2d 10 35 68              timestamp                   1748308013 → 2025-05-27 01:06:53 UTC
    4  21                       type_code                   33 → GTID
    5  01 00 00 00              server_id                   1
    9  4f 00 00 00              size                        79 bytes
   13  14 01 00 00              log_pos                     276 → 197 + 79 = 276 ✓ the next event
   17  00 00                    flags                       0x0000 → none
body, 56 bytes at 216
   19  01                       flags                       0x01 → MAY_HAVE_SBR
   20  b8 ae 2f d2 30 05 11 f0  uuid                        b8ae2fd2-3005-11f0-8be8-0242ac150002
       8b e8 02 42 ac 15 00 02
   36  0c 00 00 00 00 00 00 00  gno                         12 → transaction number 12
   44  02                       clock_type                  2 → logical clock follows
   45  00 00 00 00 00 00 00 00  last_committed              0 → waits for none
   53  01 00 00 00 00 00 00 00  sequence_number             1
   61  c6 55 1b ae 13 36 06     immediate_commit_timestamp  1748308013569478
                                                            → 2025-05-27 01:06:53.569478 UTC; bit
                                                              55=0: it began on this server
   68  fc 05 01                 transaction_length          261 → 197 + 261 = 458 ✓ its end
   71  a8 38 01 00              immediate_server_version    80040
                                                            → server 8.0.40; bit 31=0: the original
                                                              too
checksum, 4 bytes at 272
   75  68 d6 27 61              checksum                    0x6127d668 → CRC-32 ✓
"""

ROTATE = """\
ROTATE, 44 bytes, at 1428, event 11 of binlog.000024
  to binlog.000025:4
header, 19 bytes at 1428
    0  39 10 35 68              timestamp  1748308025 → 2025-05-27 01:07:05 UTC
    4  04                       type_code  4 → ROTATE
    5  01 00 00 00              server_id  1
    9  2c 00 00 00              size       44 bytes
   13  c0 05 00 00              log_pos    1472 → 1428 + 44 = 1472 ✓ the next event
   17  00 00                    flags      0x0000 → none
body, 21 bytes at 1447
   19  04 00 00 00 00 00 00 00  start      4 → the first event of that file
   27  62 69 6e 6c 6f 67 2e 30  next_file  'binlog.000025'
       30 30 30 32 35
checksum, 4 bytes at 1468
   40  de 7e 71 10              checksum   0x10717ede → CRC-32 ✓
"""


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("FORCE_COLOR", raising=False)


@pytest.fixture
def seed(tmp_path: Path) -> str:
    return example_logs.write(tmp_path, example_logs.seed_log())


@pytest.fixture
def shop(tmp_path: Path) -> str:
    return example_logs.write(tmp_path, example_logs.shop_log(), "shop.000001")


@pytest.fixture
def compressed(tmp_path: Path) -> str:
    return example_logs.write(tmp_path, example_logs.compressed_log(), "z.000001")


def out_of(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main(["inspect", *arguments]) == code
    return capsys.readouterr().out


def json_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out_of(capsys, *arguments, "--output", "json").splitlines()]


def wrong_use(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one sentence of a wrong use."""
    assert main(["inspect", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "Traceback" not in said.err
    return said.err


def test_listing(seed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert out_of(capsys, seed) == LISTING


def test_gtid_event_of_the_seeds(seed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert out_of(capsys, seed, "--at", "197") == GTID
    assert out_of(capsys, seed, "--event", "3") == GTID


def test_rotate_event_of_the_seeds(seed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert out_of(capsys, seed, "--at", "1428") == ROTATE


def test_previous_gtids_of_the_seeds(seed: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = out_of(capsys, seed, "--at", "126")
    assert "  b8ae2fd2-3005-11f0-8be8-0242ac150002:1-11\n" in text
    assert "interval[0].end    12 → exclusive: the last is 11\n" in text
    assert "flags                0x0080 → IGNORABLE\n" in text


def test_format_description_tells_its_own_length(seed: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = out_of(capsys, seed, "--at", "4")
    assert "its own 98, 57 + 41 = 98 ✓" in text
    assert "checksum_algorithm    1 → CRC32\n" in text


@pytest.mark.parametrize(
    ("position", "length", "end"), [(197, 261, 458), (458, 310, 768), (768, 342, 1110), (1110, 318, 1428)]
)
def test_transactions_end_where_the_seeds_say(
    seed: str, capsys: pytest.CaptureFixture[str], position: int, length: int, end: int
) -> None:
    assert f" {position} + {length} = {end} ✓ its end\n" in out_of(capsys, seed, "--at", str(position))


def test_full_listing_cuts_nothing(seed: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = out_of(capsys, seed, "--full")
    assert "b8ae2fd2-3005-11f0-8be8-0242ac150002:12 last_committed=0 sequence_number=1\n" in text


def test_json_of_the_listing(seed: str, capsys: pytest.CaptureFixture[str]) -> None:
    records = json_of(capsys, seed)
    assert len(records) == 11
    assert records[2] == {
        "file": "binlog.000024",
        "event": 3,
        "position": 197,
        "end_position": 276,
        "timestamp": "2025-05-27 01:06:53",
        "type": "GTID",
        "type_code": 33,
        "server_id": 1,
        "size": 79,
        "flags": [],
        "checksum": "ok",
        "payload_position": None,
        "inner": None,
        "summary": "b8ae2fd2-3005-11f0-8be8-0242ac150002:12 last_committed=0 sequence_number=1",
        "error": None,
    }


def test_json_of_one_event(seed: str, capsys: pytest.CaptureFixture[str]) -> None:
    (record,) = json_of(capsys, seed, "--at", "197")
    fields = record["fields"]
    assert "".join(field["hex"] for field in fields) == example_logs.seeds.GTID.hex()
    assert [field["offset"] for field in fields] == [
        sum(field["size"] for field in fields[:index]) for index in range(len(fields))
    ]
    by_name = {field["name"]: field for field in fields}
    assert by_name["uuid"]["value"] == "b8ae2fd2-3005-11f0-8be8-0242ac150002"
    assert by_name["transaction_length"] == {
        "name": "transaction_length",
        "offset": 68,
        "size": 3,
        "hex": "fc0501",
        "value": 261,
        "meaning": "197 + 261 = 458 ✓ its end",
    }
    assert record["checksum"] == "ok"
    assert record["error"] is None


def test_inner_events_stand_below_their_payload(compressed: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = out_of(capsys, compressed).splitlines()
    assert "TRANSACTION_PAYLOAD" in lines[2]
    assert lines[3].startswith("3            2023-11-14 22:13:20    QUERY ")
    assert lines[5].endswith("    WRITE_ROWS           52  insert shop.orders, 2 rows")
    records = json_of(capsys, compressed)
    assert [record["inner"] for record in records] == [None, None, 1, 2, 3, 4, 5, 6]
    assert {record["payload_position"] for record in records[2:]} == {128}
    assert records[4]["checksum"] == "none"


def test_one_inner_event(compressed: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = out_of(capsys, compressed, "--at", "128", "--inner", "3")
    assert text.startswith("WRITE_ROWS, 52 bytes, number 3 in the payload at 128, event 5 of z.000001\n")
    assert "checksum" not in text
    assert out_of(capsys, compressed, "--event", "5") == text
    payload = out_of(capsys, compressed, "--at", "128")
    assert "6 events, compressed: --inner 1 to 6" in " ".join(payload.split())


def test_row_values_have_names_and_types(shop: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = out_of(capsys, shop, "--at", "273")
    assert "table_id           90 → shop.orders\n" in text
    assert "flags              0x0001 → STMT_END\n" in text
    assert "01 00 00 00                id               1 → INT UNSIGNED\n" in text
    assert "04 61 6e 6e 61             name             'anna' → VARCHAR(16) utf8mb4\n" in text
    assert "state            'new' → ENUM('new','paid') utf8mb4\n" in text
    assert "null_bitmap      11111100 → NULL: state\n" in text


def test_table_map_tells_its_columns(shop: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = out_of(capsys, shop, "--at", "174")
    assert "INT UNSIGNED, VARCHAR(16) utf8mb4," in text
    assert "optional[0] SIGNEDNESS\n" in text
    assert "unsigned: id\n" in text
    assert "255 → utf8mb4_0900_ai_ci\n" in text
    assert "may be NULL: state\n" in text


def test_filters(seed: str, capsys: pytest.CaptureFixture[str]) -> None:
    def positions(*arguments: str) -> list[int]:
        return [record["position"] for record in json_of(capsys, seed, *arguments)]

    assert positions("--type", "gtid") == [197, 458, 768, 1110]
    assert positions("--type", "rotate,PREVIOUS*") == [126, 1428]
    assert positions("--type", "33", "--limit", "2") == [197, 458]
    assert positions("--start", "458", "--stop", "768") == [458, 537]
    assert positions("--start", "2025-05-27T01:07") == [1428]
    assert positions("--stop", "2025-05-27 01:06:53") == [4, 126]
    assert positions("--limit", "0") == []


def test_bad_checksum_shows_both_values(
    seed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = bytearray(Path(seed).read_bytes())
    data[216 + 17] ^= 1  # the GTID's number
    bad = example_logs.write(tmp_path, bytes(data), "bad.000001")
    assert main(["inspect", bad, "--at", "197"]) == 1
    said = capsys.readouterr()
    assert "0x6127d668 → ✗ CRC-32 of the bytes is 0x" in " ".join(said.out.split())
    assert said.err.startswith("gtidal: bad.000001, position 197, GTID, field checksum: stored is 0x6127d668")
    assert main(["inspect", bad]) == 1  # the listing marks it and goes on
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 12
    assert "✗ stored is 0x6127d668" in said.out
    assert said.err.count("\n") == 1
    assert [record["checksum"] for record in json_records(bad, capsys)].count("bad") == 1


def json_records(path: str, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    main(["inspect", path, "--output", "json"])
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_truncated_log_shows_what_precedes(
    seed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut_off = example_logs.write(tmp_path, Path(seed).read_bytes()[:500], "cut.000001")
    assert main(["inspect", cut_off]) == 1
    said = capsys.readouterr()
    assert [line.split()[1] for line in said.out.splitlines()[1:]] == ["4", "126", "197", "276"]
    assert (
        said.err
        == "gtidal: cut.000001, position 458, GTID, field header.size: the log ends inside an event: 42 bytes of at least 79\n"
    )


def test_event_that_does_not_decode_shows_what_it_can(
    shop: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = bytearray(Path(shop).read_bytes())
    data[273 + 36] = 200  # the length of the first name
    bad = example_logs.write(tmp_path, bytes(data), "bad.000001")
    assert main(["inspect", bad, "--at", "273"]) == 1
    said = capsys.readouterr()
    assert "01 00 00 00                id               1\n" in said.out
    assert "undecoded" in said.out
    assert "a string needs 200 bytes" in said.err


def test_version_3_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """There log_pos tells where the event starts, and no byte tells of checksums."""
    header = Header(timestamp=1_000_000_000, type_code=1, server_id=1, log_pos=4)
    start = encode_event(StartV3(3, "4.0.30-log", 1_000_000_000, header=header), Format(3))
    rotate_header = Header(timestamp=1_000_000_001, type_code=4, server_id=1, log_pos=4 + len(start))
    rotate = encode_event(Rotate(4, "log.002", header=rotate_header), Format(3))
    path = example_logs.write(tmp_path, MAGIC + start + rotate, "log.001")
    assert "START_V3" in out_of(capsys, path)
    text = out_of(capsys, path, "--at", str(4 + len(start)))
    assert f"{4 + len(start)} → where this event starts ✓" in text
    assert "checksum" not in text


def test_version_1_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    header = Header(timestamp=1_000_000_000, type_code=1, server_id=1, long=False)
    start = encode_event(StartV3(1, "3.23.58-log", 0, header=header), Format(1, header_length=13))
    path = example_logs.write(tmp_path, MAGIC + start, "log.001")
    text = out_of(capsys, path, "--at", "4")
    assert "header, 13 bytes at 4\n" in text
    assert "log_pos" not in text


def test_wrong_use(seed: str, shop: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no such file or directory" in wrong_use(capsys, str(tmp_path / "none"))
    assert "means 2 logs; name one of them: binlog.000024, shop.000001" in wrong_use(capsys, str(tmp_path))
    text = tmp_path / "notes.txt"
    text.write_text("hello")
    assert "is not a binary log: it starts with 68 65 6c 6c" in wrong_use(capsys, str(text))
    text.write_text("")
    assert "is not a binary log: it is empty" in wrong_use(capsys, str(text))
    (tmp_path / "empty").mkdir()
    assert "holds no binary logs" in wrong_use(capsys, str(tmp_path / "empty"))
    assert "it lies inside the GTID at 197, the next is at 276" in wrong_use(capsys, seed, "--at", "200")
    assert "the last event is the ROTATE at 1428" in wrong_use(capsys, seed, "--at", "5000")
    assert "has 11 events" in wrong_use(capsys, seed, "--event", "12")
    assert "has 11 events" in wrong_use(capsys, seed, "--event", "0")
    assert "only a TRANSACTION_PAYLOAD" in wrong_use(capsys, seed, "--at", "197", "--inner", "1")
    assert "--inner needs" in wrong_use(capsys, seed, "--inner", "1")
    assert "give one of them" in wrong_use(capsys, seed, "--inner", "1", "--at", "4", "--event", "1")
    assert "there is no event type NOPE" in wrong_use(capsys, seed, "--type", "nope")
    assert "did you mean WRITE_ROWS" in wrong_use(capsys, seed, "--type", "WRITE_ROWS_V2").replace(", ", " ")
    assert "--start takes a position" in wrong_use(capsys, seed, "--start", "yesterday")
    assert "choose from the list" in wrong_use(capsys, seed, "--at", "4", "--limit", "1")
    assert "hex digits" in wrong_use(capsys, seed, "--key", "xyz")
    assert "cannot read the key file" in wrong_use(capsys, seed, "--key-file", str(tmp_path / "none"))


def test_encrypted_log(seed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = bytes(range(32))
    path = example_logs.write(tmp_path, encrypt_mysql(Path(seed).read_bytes(), key), "secret.000024")
    assert out_of(capsys, path, "--key", key.hex(), "--at", "197") == GTID.replace("binlog.", "secret.")
    keyring = tmp_path / "keyring"
    name = "MySQLReplicationKey_b8ae2fd2-3005-11f0-8be8-0242ac150002_1"
    keyring.write_text(json.dumps({"elements": [{"data_id": name, "data": key.hex()}]}))
    assert len(out_of(capsys, path, "--key-file", str(keyring)).splitlines()) == 12
    assert "encrypted" in wrong_use(capsys, path)
    assert "does not decrypt" in wrong_use(capsys, path, "--key", bytes(32).hex())


def test_inner_number_out_of_range(compressed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "holds 6 events" in wrong_use(capsys, compressed, "--at", "128", "--inner", "7")


def test_colours_only_on_a_terminal(
    seed: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "\x1b" not in out_of(capsys, seed, "--at", "197")
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = out_of(capsys, seed, "--at", "197")
    assert "\x1b[36m2d 10 35 68" in coloured


def test_terminal_escapes_in_a_log_do_no_harm() -> None:
    assert printable("a\x1b[2J\nb\udcff\u202e") == "a\\x1b[2J b\\xff\\u202e"


def test_cut_and_wrap_count_cells() -> None:
    assert cut("日本語", 5) == "日本…"
    assert cut("abc", 3) == "abc"
    assert list(wrap("one two three", 7)) == ["one two", "three"]
    assert list(wrap("abcdefgh", 3)) == ["abc", "def", "gh"]
    assert list(wrap("", 3)) == [""]


def test_meanings_name_fields_that_exist() -> None:
    """A row of the table for a field that was renamed would silently explain nothing."""
    wire_only = {"terminator", "n_sids", "n_tsids", "encoding_again", "tag_length", "message_size", "query"}
    for kind, name in TABLE:
        plain = name.partition("[")[0].removesuffix("_size").removesuffix("_count")
        plain = {"interval": "intervals"}.get(plain, plain)
        fields = getattr(kind, "__dataclass_fields__", {})
        subclasses = [cls for cls in EVENTS.values() if issubclass(cls, kind)]
        known = {plain, name} & set(fields) or any(plain in cls.__dataclass_fields__ for cls in subclasses)
        assert known or name in wire_only, (kind, name)


@pytest.mark.parametrize("log", corpus_logs(), ids=str)
def test_corpus_event_is_shown_whole(log: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Every byte of every event stands beside a field, and no line is wider than the screen."""
    shown: set[int] = set()
    seen: Counter[int] = Counter()
    with LogReader(LogFile(log.path), verify_checksum=False, inner=False) as reader:
        decoder = reader.decoder
        try:
            for frame in reader.frames():
                seen[frame.type_code] += 1
                if seen[frame.type_code] > ENOUGH:
                    continue
                context = Context(decoder.format, dict(decoder.context.tables))
                traced = hexview.trace(frame, context)
                end = 0
                for field in traced.fields:
                    assert field.offset == end
                    end += field.size
                assert end == len(frame.data)
                if frame.type_code not in shown or traced.error:  # one of each kind is printed
                    shown.add(frame.type_code)
                    show(traced, context)
                if traced.event is not None:
                    decoder.decode(frame)
        except GtidalError:
            return
        finally:
            assert max(map(len, capsys.readouterr().out.splitlines()), default=0) <= 100


def show(traced: hexview.Traced, context: Context) -> None:
    frame = traced.frame
    scene = Scene(frame.data, frame.position, context.format, traced.event)
    hexview.show(hexview.Screen(), traced, scene, "here")
    assert json.dumps(hexview.as_json(traced, scene))
