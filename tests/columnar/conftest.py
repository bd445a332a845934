"""What tests of the kernel share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gtidal.columnar import kernel


@pytest.fixture(params=["interpreted", "compiled"])
def implementation(request: pytest.FixtureRequest) -> Iterator[None]:
    """Both, one after the other. A machine without a compiler has one of them; where GTIDAL_REQUIRE_COMPILED is set, as
    in CI, the build has failed before."""
    if request.param == "compiled" and kernel.interpreted_modules():
        pytest.skip("the kernel is not compiled")
    with kernel.use(request.param):
        yield
