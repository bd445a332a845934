"""`gtidal verify` finds nothing wrong with what real servers wrote, and one changed byte in any of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from gtidal.cli.main import main
from tests.live.reading import every_scenario
from tests.live.scenarios import Logs

CUT = ("mysql.end_cut", "mariadb.end_cut")


def verify(logs: Logs, files: list[Path], capfd: pytest.CaptureFixture[str]) -> tuple[int, list[Any]]:
    keys = [f"--key-file={path}" for name in ("keyring", "keys") if (path := logs.folder / name).exists()]
    code = main(["verify", "--output", "json", *keys, *map(str, files)])
    return code, [json.loads(line) for line in capfd.readouterr().out.splitlines()]


@pytest.mark.parametrize("logs", every_scenario(lambda each: not each.soak), indirect=True)
def test_real_logs_are_sound(logs: Logs, capfd: pytest.CaptureFixture[str]) -> None:
    for files in (logs.binlogs, logs.relay_logs):
        if files:
            code, said = verify(logs, files, capfd)
            assert code == 0, said


@pytest.mark.parametrize("logs", every_scenario(lambda each: not each.soak), indirect=True)
def test_a_changed_byte_is_found(logs: Logs, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    if logs.name in ("mysql.rows_no_checksum", *CUT):
        return  # no checksum that could tell; too large
    files = [Path(shutil.copyfile(file, tmp_path / file.name)) for file in logs.binlogs]
    data = bytearray(files[0].read_bytes())
    data[len(data) // 2] ^= 0x40
    files[0].write_bytes(data)
    code, said = verify(logs, files, capfd)
    assert code == 1, said
