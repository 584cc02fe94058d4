"""One of Nexmark's queries as SQL on headrace, in micro-batches; a sink that drops what it gets.

`--job nexmark-q5` is query q5, and so is `--variant q5` of any other job; the text is that of Flink
(benchmarks/nexmark/queries).  Variant `mini-batch`: one change a key and batch, which is what Spark
gives in update mode, instead of one for every row.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ["PYSPARK_PYTHON"] = sys.executable
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from measure import arguments, measure_query, spark_session

from headrace.table import EnvironmentSettings, TableEnvironment
from nexmark.queries import into_nothing, query_of, tables

PARALLELISM = 2


def main() -> None:
    options = arguments()
    spark = spark_session(options.scratch)
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    config = t_env.get_config()
    config.set("parallelism.default", str(PARALLELISM))
    config.set("source.max-records-per-batch", str(options.batch))
    if options.variant == "mini-batch":
        config.set("table.exec.mini-batch.enabled", "true")
        query = query_of(options.job)
    else:
        query = options.variant or query_of(options.job)
    for statement in tables(query, events=options.data / "events", side=options.data / "side"):
        t_env.execute_sql(statement)
    measure_query(
        options,
        lambda: t_env.execute_sql(into_nothing(query)).wait(),
        system="nexmark_headrace",
        every_batch=True,
    )
    spark.stop()


if __name__ == "__main__":
    main()
