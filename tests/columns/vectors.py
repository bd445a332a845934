"""Where the public vectors are: they lie beside the checkout, not in it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest


def load(name: str) -> list[dict[str, Any]]:
    named = os.environ.get("GTIDAL_CORPUS")
    folders = (
        [Path(named)] if named else [up / "shared" / "corpus" for up in Path(__file__).resolve().parents]
    )
    for folder in folders:
        path = folder / "vectors" / name
        if path.is_file():
            found: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))
            return found
    pytest.skip("no public vectors beside the checkout; GTIDAL_CORPUS names the folder")
