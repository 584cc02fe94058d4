"""One of Nexmark's queries as SQL on headrace, in micro-batches; a sink that drops what it gets.

`--job nexmark-q5` is query q5, and so is `--variant q5` of any other job; the text is that of Flink
(benchmarks/nexmark/queries).  Variant `mini-batch`: one change a key and batch, which is what Spark
gives in update mode, instead of one for every row.  Variant `continuous`: the same statements in
continuous mode, with a checkpoint a second, as often as the micro-batches have one.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

os.environ["PYSPARK_PYTHON"] = sys.executable
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from measure import arguments, measure_checkpoints, measure_query, spark_session

from headrace.table import EnvironmentSettings, TableEnvironment
from nexmark.queries import into_nothing, query_of, tables

if TYPE_CHECKING:
    import argparse

PARALLELISM = 2
EPOCH = "1 s"


def main() -> None:
    options = arguments()
    if options.variant == "continuous":
        run_continuous(options)
    else:
        run_micro_batches(options)


def run_micro_batches(options: argparse.Namespace) -> None:
    spark = spark_session(options.scratch)
    settings = {"source.max-records-per-batch": str(options.batch)}
    query = query_of(options.job)
    if options.variant == "mini-batch":
        settings["table.exec.mini-batch.enabled"] = "true"
    elif options.variant:
        query = options.variant
    t_env = environment(options, query, settings)
    measure_query(
        options,
        lambda: t_env.execute_sql(into_nothing(query)).wait(),
        system="nexmark_headrace",
        every_batch=True,
    )
    spark.stop()


def run_continuous(options: argparse.Namespace) -> None:
    query, jobs = query_of(options.job), options.scratch / "jobs"
    settings = {
        "headrace.execution.mode": "continuous",
        "headrace.jobs.dir": str(jobs),
        "web.checkpoints.history": "1000",
        "execution.checkpointing.dir": str(options.scratch / "job"),
        "execution.checkpointing.interval": EPOCH,
        "spark.local.dir": str(options.scratch / "local"),
        "spark.driver.memory": "4g",
    }
    t_env = environment(options, query, settings)
    measure_checkpoints(
        options,
        jobs,
        lambda: t_env.execute_sql(into_nothing(query)).wait(),
        system="nexmark_headrace_continuous",
        epoch=EPOCH,
    )


def environment(
    options: argparse.Namespace, query: str, settings: dict[str, str]
) -> TableEnvironment:
    """The tables that a query reads, and the settings."""
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    config = t_env.get_config()
    for key, value in {"parallelism.default": str(PARALLELISM), **settings}.items():
        config.set(key, value)
    for statement in tables(query, events=options.data / "events", side=options.data / "side"):
        t_env.execute_sql(statement)
    return t_env


if __name__ == "__main__":
    main()
