"""One Spark session for all tests of a process: starting one takes many seconds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

import gtidal.spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    settings = {
        "spark.sql.python.filterPushdown.enabled": "true",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        # Plans are small and many: to compile them takes longer than to run them.
        "spark.sql.codegen.wholeStage": "false",
    }
    session = gtidal.spark.session("local[2]", settings=settings)
    yield session
    session.stop()
