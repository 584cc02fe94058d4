"""The floor: what a batch of 100 events costs that goes through one Python stage with state."""

from __future__ import annotations

import os
import statistics
import sys
import time
from pathlib import Path

os.environ["PYSPARK_PYTHON"] = sys.executable

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from headrace_keyed import build, events_of
from measure import QueryCatcher, arguments, report, spark_session

import data
from headrace.datastream import StreamExecutionEnvironment
from headrace.runtime.sinks.discarding import DiscardingSink

BATCHES, WARM_UP, EVENTS = 100, 40, 100
# the parts of a batch as Spark names them
PARTS = ("latestOffset", "walCommit", "getBatch", "queryPlanning", "addBatch", "commitOffsets")


def main() -> None:
    options = arguments()
    folder = options.scratch / "data"
    data.write_events(folder, events=BATCHES * EVENTS, rows_per_file=EVENTS, with_csv=False)
    spark = spark_session(options.scratch)
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    build("state", events_of(env, folder, files_per_batch=1)).sink_to(DiscardingSink())
    began = time.perf_counter()
    with QueryCatcher() as queries:
        env.execute("floor")
    batches = [p for p in queries[0].recentProgress if p["sources"][0]["numInputRows"]][WARM_UP:]
    median = statistics.median(batch["batchDuration"] for batch in batches)
    parts = {
        part: statistics.median(batch["durationMs"].get(part, 0) for batch in batches)
        for part in PARTS
    }
    report(
        system="headrace_floor",
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
