"""One Spark session with room for all tasks of a continuous job at the same time.

A process of its own: `make test` runs this folder apart from tests/spark, whose session has two
cores.  Next: tests/spark/conftest.py, whose fixtures are used here as well
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.hosts.spark.fast_start import home_without_zip
from spark_session import local_session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

SLOTS = 16


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local session with many slots; environments made in the same process share it."""
    with home_without_zip():
        session = local_session(tmp_path_factory.mktemp("spark"), SLOTS)
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
