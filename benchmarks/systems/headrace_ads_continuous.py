"""The ad campaigns in continuous mode: the program of examples/applications, with an end.

With the variant `sql` the one in SQL.
"""

from __future__ import annotations

import os
import sys
from functools import partial

os.environ["PYSPARK_PYTHON"] = sys.executable

from headrace_continuous import continuous
from headrace_kafka import ads, ads_in_sql
from latency import PARALLELISM
from measure import arguments, measure_checkpoints

from headrace.datastream import StreamExecutionEnvironment

EPOCH = "2 s"


def main() -> None:
    options = arguments()
    jobs = options.scratch / "jobs"
    settings = {
        "execution.checkpointing.interval": EPOCH,
        "headrace.jobs.dir": str(jobs),
        "web.checkpoints.history": "1000",
    }
    configuration = continuous(options.scratch, **settings)
    if options.variant == "sql":
        run = ads_in_sql(configuration, options)
    else:
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(PARALLELISM)
        ads(env, options)
        run = partial(env.execute, "bench")
    measure_checkpoints(options, jobs, run, system="headrace_ads_continuous", epoch=EPOCH)


if __name__ == "__main__":
    main()
