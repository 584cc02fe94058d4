"""One of Nexmark's queries as Flink SQL, in PyFlink's JVM; no Python runs.  Variant: state backend.

Runs in PyFlink's environment.  Flink takes files in any order and would drop what is late then, so
it gets the same events in one file a subtask, in order (`lanes`).  A first job warms the JVM up,
two jobs count: rate = (events - a few) / (time - time of the few), so that the start of a job is
not part of it.  State is written to a checkpoint every 10 s.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from measure import arguments, report
from pyflink.common import Configuration
from pyflink.table import EnvironmentSettings, TableEnvironment

from nexmark.queries import into_nothing, query_of, tables

PARALLELISM = 2
SETTINGS = {
    "parallelism.default": str(PARALLELISM),
    "pipeline.object-reuse": "true",
    "execution.checkpointing.interval": "10 s",
    "execution.checkpointing.incremental": "true",
    # else the end of a job waits for the next checkpoint
    "execution.checkpointing.checkpoints-after-tasks-finish": "false",
    "table.local-time-zone": "UTC",
    "rest.address": "localhost",
    "rest.bind-address": "127.0.0.1",
    "jobmanager.bind-host": "127.0.0.1",
    "taskmanager.bind-host": "127.0.0.1",
    "taskmanager.memory.managed.size": "1g",
}


def environment(options: Any) -> TableEnvironment:
    config = Configuration()
    jars = ";".join(f"file://{jar}" for jar in options.jars.split(","))
    here = {
        "state.backend.type": {"heap": "hashmap"}.get(options.variant, options.variant),
        "execution.checkpointing.dir": f"file://{options.scratch}/checkpoints",
        "io.tmp.dirs": str(options.scratch),
        "pipeline.jars": jars,
        "pipeline.classpaths": jars,
    }
    for key, value in {**SETTINGS, **here}.items():
        config.set_string(key, value)
    settings = EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(config)
    return TableEnvironment.create(settings.build())


def run(options: Any, lanes: str) -> float:
    """Seconds from the moment the job manager has the job to its end."""
    t_env = environment(options)
    query = query_of(options.job)
    for statement in tables(query, events=options.data / lanes, side=options.data / "side"):
        t_env.execute_sql(statement)
    client = t_env.execute_sql(into_nothing(query)).get_job_client()
    return float(client.get_job_execution_result().result().get_net_runtime() / 1_000)


def main() -> None:
    options = arguments()
    began = time.perf_counter()
    run(options, "lanes-warmup")
    start = run(options, "lanes-start")
    took = run(options, "lanes")
    if took <= start:
        raise SystemExit(f"{options.events} events took {took} s, a few {start} s: a busy machine")
    report(
        system=f"nexmark_flink_{options.variant}",
        job=options.job,
        events=options.events,
        seconds=round(time.perf_counter() - began, 3),
        events_per_s=round((options.events - options.start_events) / (took - start)),
        note=f"start {start:.1f} s",
    )


if __name__ == "__main__":
    main()
