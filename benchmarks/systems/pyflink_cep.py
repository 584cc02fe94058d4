"""The pattern of headrace_cep.py as Flink's MATCH_RECOGNIZE.  Runs in PyFlink's own environment.

Variant `python`: conditions in Python.  Flink refuses Python functions inside MATCH_RECOGNIZE, so a
function in front of it says which condition an event satisfies, as users of PyFlink do.
Variant `sql`: conditions in SQL; no Python runs, it is Java's CEP library.

Flink takes files in any order and would drop what is late then, so it gets the same events as CSV
in one file a subtask, in order.  A first job warms up, two count: rate = (events - a few) / (time -
time of the few), so that the start of a job is not part of it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from measure import DISORDER_MS, arguments, report
from pyflink.common import Configuration
from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.udf import udf

if TYPE_CHECKING:
    from pathlib import Path

PARALLELISM = 2
A_FEW = 100_000
SETTINGS = {
    "parallelism.default": str(PARALLELISM),
    "pipeline.object-reuse": "true",
    "python.execution-mode": "process",
    "python.fn-execution.bundle.size": "500000",
    "python.fn-execution.bundle.time": "5000",
    "python.fn-execution.arrow.batch.size": "10000",
    "table.local-time-zone": "UTC",
    "rest.address": "localhost",
    "rest.bind-address": "127.0.0.1",
    "jobmanager.bind-host": "127.0.0.1",
    "taskmanager.bind-host": "127.0.0.1",
    "taskmanager.memory.managed.size": "512m",
}
CONDITIONS = {
    "sql": (
        "low.`value` < 0.03",
        "middle.`value` >= 0.03 AND middle.`value` < 0.06",
        "high.`value` >= 0.06 AND high.`value` < 0.1",
    ),
    "python": ("low.step = 1", "middle.step = 2", "high.step = 3"),
}


@udf(result_type=DataTypes.INT())
def step_of(value: float) -> int:
    """Which condition an event satisfies; 0 for none."""
    if value < 0.03:
        return 1
    if value < 0.06:
        return 2
    return 3 if value < 0.1 else 0


def write_lanes(data: Path, folder: Path, events: int) -> None:
    """The first events, every other one in a file, as each subtask reads one."""
    folder.mkdir(parents=True)
    table = pa.concat_tables(pq.read_table(file) for file in sorted(data.glob("parquet/*")))
    table = table.slice(0, events)
    for lane in range(PARALLELISM):
        rows = pa.array(range(lane, len(table), PARALLELISM))
        options = pa_csv.WriteOptions(include_header=False)
        pa_csv.write_csv(table.take(rows), folder / f"lane-{lane}.csv", options)


def query(variant: str) -> str:
    low, middle, high = CONDITIONS[variant]
    # the other events lie between: `followed_by` in SQL is a greedy variable for them
    return f"""
        INSERT INTO dropped SELECT `key`, low_ts, high_ts FROM matched_in MATCH_RECOGNIZE (
            PARTITION BY `key` ORDER BY rowtime
            MEASURES low.ts AS low_ts, high.ts AS high_ts
            ONE ROW PER MATCH AFTER MATCH SKIP TO NEXT ROW
            PATTERN (low others1*? middle others2*? high) WITHIN INTERVAL '1' MINUTE
            DEFINE low AS {low}, middle AS {middle}, high AS {high}
        )"""


def run(variant: str, lanes: Path) -> float:
    """Seconds from the moment the job manager has the job to its end."""
    config = Configuration()
    for key, value in SETTINGS.items():
        config.set_string(key, value)
    settings = EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(config)
    tables = TableEnvironment.create(settings.build())
    tables.execute_sql(
        "CREATE TABLE events (`key` BIGINT, `value` DOUBLE, ts BIGINT, "
        "rowtime AS TO_TIMESTAMP_LTZ(ts, 3), "
        f"WATERMARK FOR rowtime AS rowtime - INTERVAL '0.{DISORDER_MS:03d}' SECOND) "
        f"WITH ('connector' = 'filesystem', 'path' = '{lanes}', 'format' = 'csv')"
    )
    tables.create_temporary_function("step_of", step_of)
    extra = ", step_of(`value`) AS step" if variant == "python" else ""
    tables.execute_sql(
        f"CREATE TEMPORARY VIEW matched_in AS SELECT `key`, `value`, ts, rowtime{extra} FROM events"
    )
    tables.execute_sql(
        "CREATE TABLE dropped (k BIGINT, first_ts BIGINT, last_ts BIGINT) "
        "WITH ('connector' = 'blackhole')"
    )
    client = tables.execute_sql(query(variant)).get_job_client()
    result: Any = client.get_job_execution_result().result()
    return float(result.get_net_runtime()) / 1_000


def main() -> None:
    options = arguments()
    began = time.perf_counter()
    write_lanes(options.data, options.scratch / "few", A_FEW)
    write_lanes(options.data, options.scratch / "all", options.events)
    run(options.variant, options.scratch / "few")
    start = run(options.variant, options.scratch / "few")
    took = run(options.variant, options.scratch / "all")
    if took <= start:
        raise SystemExit(f"{options.events} events took {took} s, a few {start} s: a busy machine")
    report(
        system=f"pyflink_cep_{options.variant}",
        job=options.job,
        events=options.events,
        seconds=round(time.perf_counter() - began, 3),
        events_per_s=round((options.events - A_FEW) / (took - start)),
        note=f"start {start:.1f} s",
    )


if __name__ == "__main__":
    main()
