"""The floor: what a batch of 100 events costs that goes through one Python stage with state.

Variant `headrace`: the keyed job with a sink.  Variant `pyspark`: the same by hand, with
transformWithState and the noop sink: what of the floor is Spark's own.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

os.environ["PYSPARK_PYTHON"] = sys.executable

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pyspark_tws
from headrace_keyed import build, events_of
from measure import QueryCatcher, arguments, read_events, report, run_to_noop, spark_session
from pyspark import cloudpickle

import data
from headrace.connectors.discarding import DiscardingSink
from headrace.datastream import StreamExecutionEnvironment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BATCHES, WARM_UP, EVENTS = 100, 40, 100
# the parts of a batch as Spark names them
PARTS = ("latestOffset", "walCommit", "getBatch", "queryPlanning", "addBatch", "commitOffsets")


def run_headrace(spark: SparkSession, folder: Path, scratch: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    build("state", events_of(env, folder, files_per_batch=1)).sink_to(DiscardingSink())
    env.execute("floor")


def run_pyspark(spark: SparkSession, folder: Path, scratch: Path) -> None:
    processor, schema = pyspark_tws.JOBS["state"]
    # workers cannot import it
    cloudpickle.register_pickle_by_value(pyspark_tws)  # type: ignore[no-untyped-call]
    events = read_events(spark, folder, files_per_batch=1)
    out = events.groupBy("key").transformWithState(processor(), schema, "Append", "None")
    run_to_noop(out, scratch)


VARIANTS = {"headrace": run_headrace, "pyspark": run_pyspark}


def main() -> None:
    options = arguments()
    folder = options.scratch / "data"
    data.write_events(folder, events=BATCHES * EVENTS, rows_per_file=EVENTS, with_csv=False)
    spark = spark_session(options.scratch)
    began = time.perf_counter()
    with QueryCatcher() as queries:
        VARIANTS[options.variant](spark, folder, options.scratch)
    batches = [p for p in queries[0].recentProgress if p["sources"][0]["numInputRows"]][WARM_UP:]
    median = statistics.median(batch["batchDuration"] for batch in batches)
    parts = {
        part: statistics.median(batch["durationMs"].get(part, 0) for batch in batches)
        for part in PARTS
    }
    report(
        system=f"{options.variant}_floor",
        job=options.job,
        events=len(batches) * EVENTS,
        seconds=round(time.perf_counter() - began, 3),
        events_per_s=round(EVENTS / (median / 1000)),
        batch_ms=[batch["batchDuration"] for batch in batches],
        note=f"median batch {median:.0f} ms: "
        + ", ".join(f"{part} {time_ms:.0f}" for part, time_ms in parts.items()),
    )
    spark.stop()


if __name__ == "__main__":
    main()
