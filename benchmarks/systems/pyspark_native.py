"""Hand-written PySpark without Python functions: filter and projection by Catalyst, noop sink."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

os.environ["PYSPARK_PYTHON"] = sys.executable

from measure import arguments, measure_query, read_events, run_to_noop, spark_session
from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession


def native(spark: SparkSession, data: Path) -> DataFrame:
    events = read_events(spark, data)
    return events.filter(F.col("value") > 0.5).select(
        (F.col("key") % 100).alias("key"), (F.col("value") * 2).alias("value")
    )


def main() -> None:
    options = arguments()
    spark = spark_session(options.scratch)
    out = native(spark, options.data)
    measure_query(options, lambda: run_to_noop(out, options.scratch), system="pyspark_native")
    spark.stop()


if __name__ == "__main__":
    main()
