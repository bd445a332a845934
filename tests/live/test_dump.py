"""`gtidal dump` prints what the real tools print, byte for byte: every log, every mode."""

from __future__ import annotations

import difflib
import io
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import typer.main

from gtidal.cli.main import main
from gtidal.events.transaction import GtidEvent
from tests.live.printed import Printed, run_reader, without_folder
from tests.live.reading import every_scenario, frames, open_decoder
from tests.live.scenarios import Logs, Scenario, scenarios

EXAMPLE = Path(__file__).parents[2] / "examples" / "shop"
LARGE = 300_000
"""Bytes of log from which on only a few modes are compared."""

Arguments = Callable[[Logs, Path], list[str] | None]


# --- the modes --------------------------------------------------------------------------------------------


def event_heads(file: Path) -> list[tuple[int, int, int]]:
    """Position, timestamp and type of each event, read by hand."""
    data = file.read_bytes()
    found, position = [], 4
    while position + 19 <= len(data):
        size = int.from_bytes(data[position + 9 : position + 13], "little")
        found.append((position, int.from_bytes(data[position : position + 4], "little"), data[position + 4]))
        position += max(size, 19)
    return found


def position(part: float, option: str, shift: int = 0) -> Arguments:
    """The position of the event at `part` of the file."""

    def arguments(logs: Logs, file: Path) -> list[str]:
        heads = event_heads(file)
        return [f"{option}={heads[int(len(heads) * part)][0] + shift}"]

    return arguments


def moment(part: float, option: str) -> Arguments:
    """The time of the event at `part` of the file."""

    def arguments(logs: Logs, file: Path) -> list[str]:
        heads = event_heads(file)
        when = datetime.fromtimestamp(heads[int(len(heads) * part)][1], UTC)
        return [f"{option}={when:%Y-%m-%d %H:%M:%S}"]

    return arguments


def gtids(option: str, step: int) -> Arguments:
    """Some of the file's GTIDs."""

    def arguments(logs: Logs, file: Path) -> list[str] | None:
        found = []
        for _, event in frames(open_decoder(logs, file)):
            if isinstance(event, GtidEvent) and event.gtid is not None:
                found.append(str(event.gtid))
        return [f"{option}={','.join(found[::step])}"] if found else None

    return arguments


def both(*parts: Arguments | str) -> Arguments:
    def arguments(logs: Logs, file: Path) -> list[str] | None:
        result = []
        for part in parts:
            more = [part] if isinstance(part, str) else part(logs, file)
            if more is None:
                return None
            result += more
        return result

    return arguments


def fixed(*arguments: str) -> Arguments:
    return lambda logs, file: list(arguments)


COMMON: dict[str, Arguments] = {
    "default": fixed(),
    "v": fixed("-v"),
    "vv": fixed("-vv"),
    "decode-rows": fixed("-vv", "--base64-output=decode-rows"),
    "decode-rows-v": fixed("--base64-output=DECODE-ROWS", "-v"),
    "never": fixed("--base64-output=never"),
    "never-v": fixed("--base64-output=never", "-v"),
    "auto": fixed("--base64-output=auto"),
    "hexdump": fixed("--hexdump"),
    "hexdump-vv": fixed("-H", "-vv"),
    "short-form": fixed("--short-form"),
    "short-form-v": fixed("-s", "-v"),
    "metadata": fixed("--print-table-metadata"),
    "metadata-vv": fixed("--print-table-metadata", "-vv"),
    "verify-checksum": fixed("--verify-binlog-checksum"),
    "database": fixed("--database=d", "-v"),
    "database-other": fixed("-d", "e"),
    "rewrite-db": fixed("--rewrite-db=d->elsewhere", "-v"),
    "rewrite-db-database": fixed("--rewrite-db=d->elsewhere", "--database=elsewhere", "--rewrite-db=e->f"),
    "disable-log-bin": fixed("--disable-log-bin"),
    "set-charset": fixed("--set-charset=latin1"),
    "offset": fixed("--offset=5"),
    "server-id": fixed("--server-id=1", "-v"),
    "server-id-other": fixed("--server-id=77"),
    "force-if-open": fixed("--force-if-open"),
    "force-read": fixed("-f", "-v"),
    "start-position": position(0.5, "--start-position"),
    "stop-position": position(0.7, "--stop-position"),
    "positions": both(position(0.3, "--start-position"), position(0.6, "--stop-position"), "-v"),
    "start-position-first": both(position(0, "--start-position"), "-v"),
    "start-position-inside": position(0.5, "--start-position", shift=3),
    "stop-position-inside": position(0.5, "--stop-position", shift=3),
    "start-position-short": lambda logs, file: ["-j", position(0.4, "")(logs, file)[0][1:]],
    "start-datetime": moment(0.5, "--start-datetime"),
    "stop-datetime": moment(0.9, "--stop-datetime"),
    "datetimes": both(moment(0.2, "--start-datetime"), moment(0.9, "--stop-datetime")),
}
MYSQL: dict[str, Arguments] = {
    **COMMON,
    "skip-gtids": fixed("--skip-gtids"),
    "skip-gtids-vv": fixed("-vv", "--skip-gtids"),
    "include-gtids": gtids("--include-gtids", 2),
    "exclude-gtids": both(gtids("--exclude-gtids", 3), "-v"),
    "include-and-exclude": both(gtids("--include-gtids", 2), gtids("--exclude-gtids", 4)),
    "idempotent": fixed("--idempotent", "-v"),
    "require-row-format": fixed("--require-row-format"),
    "short-options": fixed("-v", "-D", "-i", "-c"),
    "everything": both(
        "-vv", "-H", "--print-table-metadata", "--skip-gtids", "-D", "--verify-binlog-checksum"
    ),
}
MARIADB: dict[str, Arguments] = {
    name: arguments for name, arguments in COMMON.items() if name not in ("never", "never-v")
}
FEW = ("default", "decode-rows", "short-form", "positions", "metadata-vv")
MODES = {"mysql": MYSQL, "mariadb": MARIADB}


def cases(kind: str) -> Iterator[object]:
    for name, each in scenarios().items():
        if each.kind == kind and not each.encrypted:
            for mode in MODES[kind]:
                if not each.soak or mode in FEW:
                    yield pytest.param(name, mode, marks=[pytest.mark.soak] * each.soak, id=f"{name}-{mode}")


# --- running gtidal ---------------------------------------------------------------------------------------


@pytest.fixture(autouse=True, scope="module")
def commands_are_made_once() -> Iterator[None]:
    """Typer makes all commands anew for each call, which takes longer than most of the dumps here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", cache(typer.main.get_command))
        yield


@contextmanager
def local_time(name: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", name)
        time.tzset()
        yield
    time.tzset()


class Standard(io.TextIOWrapper):
    """Standard input or output in memory."""

    def __init__(self, data: bytes = b"") -> None:
        super().__init__(io.BytesIO(data), encoding="utf-8", write_through=True)

    def content(self) -> bytes:
        self.flush()
        assert isinstance(self.buffer, io.BytesIO)
        return self.buffer.getvalue()


def run_gtidal(
    arguments: Sequence[str], monkeypatch: pytest.MonkeyPatch, *, zone: str = "UTC", stdin: Path | None = None
) -> Printed:
    out, err = Standard(), Standard()
    with local_time(zone, monkeypatch), monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        if stdin is not None:
            patch.setattr(sys, "stdin", Standard(stdin.read_bytes()))
        code = main(["dump", *arguments])
    return Printed(code, out.content(), err.content())


def difference(ours: bytes, theirs: bytes) -> str:
    """The first lines that differ, with some before them."""
    left, right = ours.split(b"\n"), theirs.split(b"\n")
    first = next(
        (n for n, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right))
    )
    window = slice(max(0, first - 6), first + 12)
    lines = difflib.unified_diff(
        [repr(line)[2:300] for line in right[window]],
        [repr(line)[2:300] for line in left[window]],
        "the real tool",
        f"gtidal, from line {max(1, first - 5)}",
        lineterm="",
        n=20,
    )
    return "\n".join(lines)


STRICT_ABOUT_GTIDS = b"Binary logs are missing data for domain"
"""mariadb-binlog ends where a GTID list in the middle of its input names GTIDs that it has not seen. Relay logs
have such lists wherever their replica connected anew; we print on."""


CLOSING = b"DELIMITER ;\n# End of log file"


def check(ours: Printed, theirs: Printed, what: str) -> None:
    if theirs.has_no_end:
        # Behind an event that the log ends in, mariadb-binlog -f takes every 19 bytes for an event, and the last again
        # and again, if it ends in the middle of a statement's text.
        assert "-f" in what.split(), what
        assert theirs.out.startswith(ours.out.partition(CLOSING)[0]), what
        return
    if STRICT_ABOUT_GTIDS in theirs.err:
        assert ours.out.startswith(theirs.out)
        return
    if ours.out != theirs.out:
        said = (
            f"\nits stderr: {theirs.err.decode(errors='replace')}\nours: {ours.err.decode(errors='replace')}"
        )
        pytest.fail(f"{what}\n{difference(ours.out, theirs.out)}{said}", pytrace=False)
    if (ours.code == 0) != (theirs.code == 0):
        pytest.fail(
            f"{what}: exit {ours.code}, the tool's {theirs.code}: {ours.err!r} {theirs.err!r}", pytrace=False
        )


LOAD_EVENTS = {17, 18}


def compare(
    logs: Logs, files: list[Path], arguments: list[str], monkeypatch: pytest.MonkeyPatch, zone: str = "UTC"
) -> None:
    has_loads = any(kind in LOAD_EVENTS for file in files for _, _, kind in event_heads(file))
    with TemporaryDirectory() as one, TemporaryDirectory() as other:
        loads = (Path(one), Path(other)) if has_loads else (None, None)
        theirs = run_reader(logs.scenario.kind, arguments, files, zone=zone, loads=loads[0])
        more = [f"--local-load={loads[1]}"] if has_loads else []
        ours = run_gtidal([*arguments, *more, *map(str, files)], monkeypatch, zone=zone)
    names = " ".join(file.name for file in files)
    check(without_folder(ours, loads[1]), theirs, f"{logs.name}: dump {' '.join(arguments)} {names}")


# --- the tests --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("logs", "mode"), [*cases("mysql"), *cases("mariadb")], indirect=["logs"])
def test_one_file(logs: Logs, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in logs.files:
        if file.stat().st_size > LARGE and mode not in FEW:
            continue
        arguments = MODES[logs.scenario.kind][mode](logs, file)
        if arguments is not None:
            compare(logs, [file], arguments, monkeypatch)


def short_and_plain(each: Scenario) -> bool:
    return not each.soak and not each.encrypted


@pytest.mark.parametrize("logs", every_scenario(short_and_plain), indirect=True)
def test_several_files(logs: Logs, monkeypatch: pytest.MonkeyPatch) -> None:
    """All files in one call; positions hold for the first and the last."""
    for files in (logs.binlogs, logs.relay_logs):
        if len(files) > 1:
            compare(logs, files, ["-v"], monkeypatch)
            ends = [
                *position(0.6, "--start-position")(logs, files[0]),
                *position(0.5, "--stop-position")(logs, files[-1]),
            ]
            compare(logs, files, ends, monkeypatch)


@pytest.mark.parametrize("logs", every_scenario(short_and_plain), indirect=True)
def test_standard_input(logs: Logs, monkeypatch: pytest.MonkeyPatch) -> None:
    file = logs.files[0]
    if any(kind in LOAD_EVENTS for _, _, kind in event_heads(file)):
        return  # names a folder: compared above
    theirs = run_reader(logs.scenario.kind, ["-v", "-"], [], stdin=file)
    check(run_gtidal(["-v", "-"], monkeypatch, stdin=file), theirs, f"{logs.name}: dump -v - <{file.name}")


@pytest.mark.parametrize("zone", ["EST5EDT,M3.2.0,M11.1.0", "XXX-5:45"])
@pytest.mark.parametrize(
    "logs",
    ["mysql.gtid_tags", "mysql.types_times", "mysql.statement_settings", "mariadb.gtids"],
    indirect=True,
)
def test_time_zones(logs: Logs, zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in logs.files:
        compare(logs, [file], ["-v"], monkeypatch, zone)
        compare(logs, [file], moment(0.8, "--start-datetime")(logs, file), monkeypatch, zone)


@pytest.mark.parametrize("logs", ["mysql.rows_full", "mariadb.row_images"], indirect=True)
def test_result_file(logs: Logs, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = logs.files[0]
    theirs = run_reader(logs.scenario.kind, ["-v"], [file])
    ours = run_gtidal(["-v", "-r", str(tmp_path / "out.sql"), str(file)], monkeypatch)
    assert ours == Printed(0, b"", b"")
    check(ours._replace(out=(tmp_path / "out.sql").read_bytes()), theirs, "dump -r")


@pytest.mark.parametrize("logs", ["mysql.encrypted"], indirect=True)
def test_encrypted_logs(logs: Logs, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tool cannot read these files; it can read what the server sends instead of them."""
    for file in logs.binlogs:
        theirs = run_reader(logs.scenario.kind, ["-vv"], [logs.folder / f"plain.{file.name}"])
        ours = run_gtidal(["-vv", f"--key-file={logs.folder / 'keyring'}", str(file)], monkeypatch)
        check(ours, theirs, f"{logs.name}: dump -vv {file.name}")


@pytest.mark.parametrize(
    "arguments", [["-v"], ["-vv", "--base64-output=decode-rows", "--print-table-metadata"]]
)
def test_the_example(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    files = sorted(EXAMPLE.glob("binlog.0*"))
    theirs = run_reader("mysql", arguments, files)
    check(run_gtidal([*arguments, str(EXAMPLE / "binlog.index")], monkeypatch), theirs, "examples/shop")
