"""A pattern of three steps within a minute, over 10,000 keys; one event in ten is a candidate.

Variant `functions`: conditions are Python functions.  Variant `columns`: column expressions.
Variant `j1`: the job `state` of headrace_keyed.py with a sink in the worker, on the same events;
the bar is half of its rate.  All tell how much state there is after how many events.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

os.environ["PYSPARK_PYTHON"] = sys.executable

import headrace_keyed
from headrace_window import BOUND, Event, events_of
from measure import arguments, checkpoints_of, measure_query, spark_session

from headrace.cep import CEP, MatchedEvents, Pattern
from headrace.common import Configuration, Types
from headrace.connectors.discarding import DiscardingSink
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.expressions import col

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.datastream import DataStream

RESULT = Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG()])
WITHIN_MS = 60_000
# values are spread evenly from 0 to 1: one in ten is low enough for a step
FUNCTIONS: tuple[Any, ...] = (
    lambda event: event.value < 0.03,
    lambda event: 0.03 <= event.value < 0.06,
    lambda event: 0.06 <= event.value < 0.1,
)
COLUMNS: tuple[Any, ...] = (
    col("value") < 0.03,
    (col("value") >= 0.03) & (col("value") < 0.06),
    (col("value") >= 0.06) & (col("value") < 0.1),
)


def three_steps(conditions: tuple[Any, ...]) -> Pattern:
    first, second, third = conditions
    pattern = Pattern.begin("low").where(first).followed_by("middle").where(second)
    return pattern.followed_by("high").where(third).within(WITHIN_MS)


def found(match: MatchedEvents) -> tuple[int, int, int]:
    first: Event = match["low"][0]
    return first.key, first.ts, match["high"][0].ts


def build(variant: str, env: StreamExecutionEnvironment, data: Path) -> DataStream:
    if variant == "j1":
        return headrace_keyed.build("state", headrace_keyed.events_of(env, data))
    events = events_of(env, data, BOUND.with_timestamp_assigner("ts"))
    keyed = events.key_by("key", key_type=Types.LONG())
    pattern = three_steps(COLUMNS if variant == "columns" else FUNCTIONS)
    return CEP.pattern(keyed, pattern).select(found, RESULT)


def main() -> None:
    options = arguments()
    spark = spark_session(options.scratch)
    configuration, jobs = Configuration(), options.scratch / "jobs"
    configuration.set_string("headrace.jobs.dir", str(jobs))
    configuration.set_string("web.checkpoints.history", "1000")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    build(options.variant, env, options.data).sink_to(DiscardingSink())
    measure_query(
        options,
        lambda: env.execute("bench"),
        system=f"headrace_cep_{options.variant}",
        every_batch=True,
        more=lambda: {
            "state_bytes": [(mark.events, mark.state_bytes) for mark in checkpoints_of(jobs)]
        },
    )
    spark.stop()


if __name__ == "__main__":
    main()
