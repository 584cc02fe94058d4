"""Threads and flame graphs of a continuous job on Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_looks import see_where_a_job_stands

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def test_a_task_that_hangs_shows_where(spark: SparkSession, tmp_path: Path) -> None:
    see_where_a_job_stands(tmp_path, headrace__execution__mode="continuous")
