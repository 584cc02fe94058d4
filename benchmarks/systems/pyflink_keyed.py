"""PyFlink in process mode with the best settings found.  Runs in PyFlink's own environment.

Source: the same rows as CSV files, read by Flink's own (Java) file source through the Table API.
Its Parquet format needs Hadoop jars that PyFlink does not ship; reading CSV costs the JVM a few
percent of what the Python side costs.  The sink drops the rows in the JVM.

Settings: state cache larger than the number of keys, bundles of 500,000 or 5 s, parallelism 2,
object reuse.  The functions note when their share of the warm-up is done, and when they end.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from measure import arguments, report
from pyflink.common import Configuration, Types
from pyflink.datastream import (
    KeyedProcessFunction,
    ReduceFunction,
    RuntimeContext,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.table import StreamTableEnvironment

PARALLELISM = 2
STARTED = time.perf_counter()


class Marks:
    """Notes when a subtask passes its share of the warm-up and when it ends."""

    def __init__(self, scratch: str, warmup: int) -> None:
        self.scratch, self.warmup = scratch, warmup
        self.done, self.steady_from, self.last = 0, 0.0, 0.0

    def event(self) -> None:
        self.done += 1
        if self.done == self.warmup:
            self.steady_from = time.time()

    def write(self) -> None:
        if self.done > self.warmup:
            rate = (self.done - self.warmup) / (time.time() - self.steady_from)
            name = f"pyflink-{os.getpid()}-{id(self)}.json"
            Path(self.scratch, name).write_text(json.dumps({"events": self.done, "rate": rate}))


class Sum(ReduceFunction):
    def __init__(self, marks: Marks) -> None:
        self.marks = marks

    def reduce(self, value1: Any, value2: Any) -> Any:
        self.marks.event()
        return value1[0], value1[1] + value2[1]

    def close(self) -> None:
        self.marks.write()


class CountAndSum(KeyedProcessFunction):
    def __init__(self, marks: Marks) -> None:
        self.marks = marks

    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = ValueStateDescriptor("state", Types.TUPLE([Types.LONG(), Types.DOUBLE()]))
        self.state = runtime_context.get_state(descriptor)

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.marks.event()
        count, total = self.state.value() or (0, 0.0)
        count, total = count + 1, total + value[1]
        self.state.update((count, total))
        yield value[0], count, total

    def close(self) -> None:
        self.marks.write()


def environment() -> StreamExecutionEnvironment:
    config = Configuration()
    for key, value in {
        "python.execution-mode": "process",
        "python.state.cache-size": "20000",
        "python.fn-execution.bundle.size": "500000",
        "python.fn-execution.bundle.time": "5000",
        "python.fn-execution.arrow.batch.size": "10000",
        "parallelism.default": str(PARALLELISM),
        "pipeline.object-reuse": "true",
        "rest.address": "localhost",
        "rest.bind-address": "127.0.0.1",
        "jobmanager.bind-host": "127.0.0.1",
        "taskmanager.bind-host": "127.0.0.1",
        "taskmanager.memory.managed.size": "512m",
    }.items():
        config.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(config)
    env.set_runtime_mode(RuntimeExecutionMode.STREAMING)
    return env


def main() -> None:
    options = arguments()
    env = environment()
    tables = StreamTableEnvironment.create(env)
    tables.execute_sql(
        "CREATE TABLE events (`key` BIGINT, `value` DOUBLE) WITH ('connector' = 'filesystem', "
        f"'path' = '{options.data / 'csv'}', 'format' = 'csv')"
    )
    pair = Types.TUPLE([Types.LONG(), Types.DOUBLE()])
    events = tables.to_data_stream(tables.from_path("events"))
    marks = Marks(str(options.scratch), options.warmup_events // PARALLELISM)
    if options.job == "reduce":
        # reduce needs tuples in and out; the map shares the Python operator of the key selector.
        pairs = events.map(lambda row: (row[0], row[1]), output_type=pair)
        results = pairs.key_by(lambda e: e[0], key_type=Types.LONG()).reduce(Sum(marks))
        schema = "f0 BIGINT, f1 DOUBLE"
    else:
        out = Types.TUPLE([Types.LONG(), Types.LONG(), Types.DOUBLE()])
        keyed = events.key_by(lambda row: row[0], key_type=Types.LONG())
        results = keyed.process(CountAndSum(marks), output_type=out)
        schema = "f0 BIGINT, f1 BIGINT, f2 DOUBLE"
    tables.execute_sql(f"CREATE TABLE dropped ({schema}) WITH ('connector' = 'blackhole')")
    tables.from_data_stream(results).execute_insert("dropped").wait()
    report(system="pyflink", job=options.job, **rate_of(options))


def rate_of(options: Any) -> dict[str, Any]:
    """What the subtasks have noted, once the job has ended."""
    parts = [json.loads(file.read_text()) for file in options.scratch.glob("pyflink-*.json")]
    if len(parts) != PARALLELISM:
        raise SystemExit(f"{len(parts)} of {PARALLELISM} subtasks reported")
    return {
        "events": options.events,
        "seconds": round(time.perf_counter() - STARTED, 3),
        "events_per_s": round(sum(part["rate"] for part in parts)),
    }


if __name__ == "__main__":
    main()
