"""What a checkpoint on disk costs: the job `state`, variant `disk`, or `memory` (in /dev/shm)."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

os.environ["PYSPARK_PYTHON"] = sys.executable

from headrace_keyed import build, events_of
from measure import arguments, measure_query, spark_session

from headrace.common import Configuration
from headrace.connectors.discarding import DiscardingSink
from headrace.datastream import StreamExecutionEnvironment

PLACES = {"disk": None, "memory": "/dev/shm"}


def main() -> None:
    options = arguments()
    root = PLACES[options.variant] or options.scratch
    with tempfile.TemporaryDirectory(prefix="headrace-bench-", dir=root) as place:
        spark = spark_session(options.scratch)
        configuration = Configuration()
        configuration.set_string("execution.checkpointing.dir", str(Path(place) / "job"))
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(2)
        build("state", events_of(env, options.data)).sink_to(DiscardingSink())
        system = f"headrace_{options.variant}"
        measure_query(options, lambda: env.execute("checkpoint"), system=system)
        spark.stop()


if __name__ == "__main__":
    main()
