"""The public value vectors, which lie beside the checkout with the corpus."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.logs import CORPUS


def load(name: str) -> list[dict[str, Any]]:
    path = CORPUS / "vectors" / name
    if not path.is_file():
        pytest.skip("the public vectors are not part of the repository, and not beside this checkout")
    found: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))
    return found
