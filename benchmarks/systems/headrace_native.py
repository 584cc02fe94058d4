"""Filter and projection given as expressions: headrace should leave them to Catalyst entirely."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

os.environ["PYSPARK_PYTHON"] = sys.executable

from headrace_keyed import events_of
from measure import arguments, measure_query, run_to_noop, spark_session

from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.expressions import col

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession


def native(spark: SparkSession, data: Path) -> DataFrame:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    out = (
        events_of(env, data)
        .filter(col("value") > 0.5)
        .select((col("key") % 100).alias("key"), (col("value") * 2).alias("value"))
    )
    return out.to_dataframe()


def main() -> None:
    options = arguments()
    spark = spark_session(options.scratch)
    frame = native(spark, options.data)
    measure_query(options, lambda: run_to_noop(frame, options.scratch), system="headrace_native")
    spark.stop()


if __name__ == "__main__":
    main()
