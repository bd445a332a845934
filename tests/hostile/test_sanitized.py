"""The kernel under sanitizers: no report, over real, cut and damaged logs. The work is in sanitized.py."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import sanitize  # tools/sanitize.py

compiler = shutil.which(os.environ.get("CC", "cc"))
pytestmark = pytest.mark.skipif(
    compiler is None and not os.environ.get("GTIDAL_REQUIRE_COMPILED"), reason="there is no C compiler"
)


@pytest.fixture(scope="module")
def package() -> Path:
    return sanitize.build()


@pytest.mark.parametrize(
    ("proof", "report"),
    [
        ("outside", "ERROR: AddressSanitizer"),
        ("bound", "bounds check: IndexError"),
        ("overflow", "runtime error: signed integer overflow"),
    ],
)
def test_each_sanitizer_reports(package: Path, proof: str, report: str) -> None:
    process = sanitize.start(package, "--prove", proof)
    said, _ = process.communicate(timeout=60)
    assert report in said
    assert process.returncode


def test_no_report_over_a_sample(package: Path) -> None:
    fine, said = sanitize.sanitize(logs=3000, every=300, seed="sample", workers=1)
    assert fine, said
    for stage in ("walk2", "count", "fill", "texts", "documents", "variant"):
        assert f"'{stage} 0'" in said, f"the sample does not get to {stage}"


@pytest.mark.soak
def test_no_report_over_a_million_damaged_logs(package: Path) -> None:
    fine, said = sanitize.sanitize(logs=1_000_000, every=1, seed="soak", workers=os.cpu_count() or 1)
    assert fine, said
