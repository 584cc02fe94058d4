"""Filter and projection on headrace and by hand in turns, in one process.

Both jobs are the same plan, so what is to be found is smaller than the difference between two
processes on a shared host; in one process they share the JVM's warm-up and the host's weather.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

os.environ["PYSPARK_PYTHON"] = sys.executable

import headrace_native
import pyspark_native
from measure import QueryCatcher, arguments, report, run_to_noop, spark_session

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

WARM_UP, PAIRS = 3, 6


def rate(
    make: Callable[[SparkSession, Path], DataFrame],
    spark: SparkSession,
    options: argparse.Namespace,
) -> float:
    """Events a second of one query, without its first batch."""
    with QueryCatcher() as queries:
        run_to_noop(
            make(spark, options.data), Path(tempfile.mkdtemp(dir=options.scratch, prefix="query"))
        )
    batches = [batch for batch in queries[0].recentProgress if batch["numInputRows"]][1:]
    rows = sum(batch["numInputRows"] for batch in batches)
    return float(rows / sum(batch["batchDuration"] for batch in batches) * 1000)


def main() -> None:
    options = arguments()
    spark = spark_session(options.scratch)
    began = time.perf_counter()
    hand: list[float] = []
    ours: list[float] = []
    for number in range(WARM_UP + PAIRS):
        turns = [(pyspark_native.native, hand), (headrace_native.native, ours)]
        for make, rates in turns if number % 2 else turns[::-1]:
            rates.append(rate(make, spark, options))
    hand, ours = hand[WARM_UP:], ours[WARM_UP:]
    ratio = statistics.median(our / his for our, his in zip(ours, hand, strict=True))
    report(
        system="headrace_native_pair",
        job=options.job,
        events=options.events * 2 * (WARM_UP + PAIRS),
        seconds=round(time.perf_counter() - began, 3),
        events_per_s=round(statistics.median(ours)),
        note=f"PySpark by hand, in turns: {statistics.median(hand):,.0f}; median ratio of "
        f"{PAIRS} pairs {ratio:.2f}",
    )
    spark.stop()


if __name__ == "__main__":
    main()
