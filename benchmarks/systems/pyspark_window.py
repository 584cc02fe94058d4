"""Hand-written PySpark: tumbling windows of 1 s by Catalyst, count and sum a key, noop sink."""

from __future__ import annotations

import os
import sys

os.environ["PYSPARK_PYTHON"] = sys.executable

from measure import arguments, measure_query, read_timed_events, run_to_noop, spark_session
from pyspark.sql import functions as F


def main() -> None:
    options = arguments()
    spark = spark_session(options.scratch)
    windows = read_timed_events(spark, options.data).groupBy(F.window("time", "1 second"), "key")
    out = windows.agg(F.count("*").alias("n"), F.sum("value").alias("total")).select(
        "key", "n", "total", F.unix_millis("window.start").alias("window_start")
    )
    measure_query(
        options,
        lambda: run_to_noop(out, options.scratch),
        system="pyspark_window",
        every_batch=True,
    )
    spark.stop()


if __name__ == "__main__":
    main()
