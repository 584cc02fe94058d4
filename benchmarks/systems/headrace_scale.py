"""The job `state` on headrace with more and more keys: what does a large state cost?

Variant `10k`: 10,000 keys.  `1m`: 1,000,000 keys, all equally likely.  `hot`: 5,000,000 keys are
written once (not measured), then every event goes to one of 10,000 of them, scattered among all.
The data is made here: each variant needs its own.
"""

from __future__ import annotations

import os
import sys

os.environ["PYSPARK_PYTHON"] = sys.executable

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from headrace_keyed import build, events_of
from measure import arguments, measure_query, spark_session

from headrace.connectors.discarding import DiscardingSink
from headrace.datastream import StreamExecutionEnvironment

FILE_ROWS = 200_000  # two files make a batch
SEED = 7


def key_files(variant: str, events: int) -> tuple[list[np.ndarray], int]:
    """The keys of every file, and how many events come before those that count."""
    random = np.random.default_rng(SEED)
    sizes = [FILE_ROWS] * (events // FILE_ROWS)
    if variant == "10k":
        return [random.integers(0, 10_000, size) for size in sizes], 0
    if variant == "1m":
        first = np.array_split(random.permutation(1_000_000), 1_000_000 // FILE_ROWS)
        return [*first, *(random.integers(0, 1_000_000, size) for size in sizes)], 1_000_000
    if variant == "hot":
        everything = random.permutation(5_000_000)
        first = np.array_split(everything, 5_000_000 // FILE_ROWS)
        hot = random.choice(everything, 10_000, replace=False)
        return [*first, *(random.choice(hot, size) for size in sizes)], 5_000_000
    raise SystemExit(f"unknown variant {variant!r}: 10k, 1m or hot")


def main() -> None:
    options = arguments()
    files, before = key_files(options.variant, options.events)
    folder = options.scratch / "data" / "parquet"
    folder.mkdir(parents=True)
    random = np.random.default_rng(SEED)
    for number, keys in enumerate(files):
        table = pa.table({"key": keys, "value": random.random(len(keys))})
        pq.write_table(table, folder / f"part-{number:04d}.parquet")
    options.events += before
    options.warmup_events += before
    spark = spark_session(options.scratch)
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    build("state", events_of(env, options.scratch / "data")).sink_to(DiscardingSink())
    measure_query(options, lambda: env.execute("scale"), system=f"headrace_{options.variant}")
    spark.stop()


if __name__ == "__main__":
    main()
