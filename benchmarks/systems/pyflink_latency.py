"""The latency jobs on PyFlink.  Runs in PyFlink's own environment.

Flink makes numbers, a Python map in the same task lets each go when it is due (Flink's own rate
limiter comes in bursts, some 300 ms late), and a Python map behind the keyed function notes what
came: it shares the operator of that function, so results do not travel any further.

Variants: `<mode>-<bundle size>-<bundle time>-<buffer timeout>-<watermark interval>`, times in ms;
BEST is what came out of trying them.  In process mode each state that a bundle has changed is a
request of its own to the JVM: with small bundles a subtask stays below 2,000 events a second, so it
is not measured.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

from latency import (
    EPOCH_S,
    GROUPS,
    KEYS,
    PARALLELISM,
    RATE,
    WINDOW_MS,
    Arrivals,
    report_latency,
)
from measure import arguments
from pyflink.common import Configuration, Types, WatermarkStrategy
from pyflink.common.time import Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    AggregateFunction,
    DataStream,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.datastream.window import TumblingEventTimeWindows
from pyflink.table import StreamTableEnvironment

EVENT = Types.TUPLE([Types.LONG(), Types.DOUBLE()])
BEST = {"latency": "thread-100-2-2-200", "latency-windows": "thread-1-1-5-10"}
TICK_S = 0.001


class Stamp(MapFunction):
    """A number becomes an event when it is due; a subtask makes its share of the rate."""

    def __init__(self) -> None:
        self.began: float | None = None
        self.made = 0

    def map(self, value: Any) -> tuple[int, float]:
        if self.began is None:
            self.began = time.time()
        self.made += 1
        due = self.began + self.made * PARALLELISM / RATE
        early = due - time.time()
        if early > 0:
            time.sleep(max(early, TICK_S))
        return value % KEYS, due


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        yield value


class Newest(AggregateFunction):
    def create_accumulator(self) -> float:
        return 0.0

    def add(self, value: Any, accumulator: float) -> float:
        return max(float(value[1]), accumulator)

    def get_result(self, accumulator: float) -> tuple[int, float]:
        return 0, accumulator

    def merge(self, a: float, b: float) -> float:
        return max(a, b)


class CreationTime(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1] * 1000)


class Note(MapFunction):
    """The callback; what it has noted is written when the input ends."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = str(scratch)

    def open(self, runtime_context: RuntimeContext) -> None:
        self.arrivals = Arrivals()
        self.name = f"arrivals-{os.getpid()}-{id(self)}"

    def map(self, value: Any) -> int:
        self.arrivals.note(value[1])
        return 0

    def close(self) -> None:
        self.arrivals.write(Path(self.scratch, self.name))


def environment(variant: str) -> StreamExecutionEnvironment:
    mode, bundle, bundle_ms, buffer_ms, watermarks = variant.split("-")
    config = Configuration()
    for key, value in {
        "python.execution-mode": mode,
        # in thread mode the JVM's Python would not find what this one has
        "python.executable": sys.executable,
        "python.pythonpath": os.pathsep.join(path for path in sys.path if path),
        "python.state.cache-size": "20000",
        "python.fn-execution.bundle.size": bundle,
        "python.fn-execution.bundle.time": bundle_ms,
        "execution.buffer-timeout.interval": f"{buffer_ms} ms",
        "execution.checkpointing.interval": f"{EPOCH_S} s",
        "pipeline.auto-watermark-interval": f"{watermarks} ms",
        "pipeline.object-reuse": "true",
        "restart-strategy.type": "none",  # an error shall be seen
        "parallelism.default": str(PARALLELISM),
        "rest.address": "localhost",
        "rest.bind-address": "127.0.0.1",
        "jobmanager.bind-host": "127.0.0.1",
        "taskmanager.bind-host": "127.0.0.1",
        "taskmanager.memory.managed.size": "512m",
    }.items():
        config.set_string(key, value)
    return StreamExecutionEnvironment.get_execution_environment(config)


def build(job: str, numbers: DataStream) -> DataStream:
    events = numbers.map(Stamp(), output_type=EVENT)
    if job == "latency-windows":
        strategy = WatermarkStrategy.for_monotonous_timestamps()
        events = events.assign_timestamps_and_watermarks(
            strategy.with_timestamp_assigner(CreationTime())
        )
    counted = events.key_by(lambda e: e[0], key_type=Types.LONG()).process(Count(), EVENT)
    if job == "latency":
        return counted
    grouped = counted.key_by(lambda e: e[0] % GROUPS, key_type=Types.LONG())
    windows = grouped.window(TumblingEventTimeWindows.of(Time.milliseconds(WINDOW_MS)))
    return windows.aggregate(Newest(), accumulator_type=Types.DOUBLE(), output_type=EVENT)


def main() -> None:
    options = arguments()
    variant = options.variant or BEST[options.job]
    env = environment(variant)
    source = NumberSequenceSource(0, options.events - 1)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
    noted = build(options.job, numbers).map(Note(options.scratch), output_type=Types.LONG())
    tables = StreamTableEnvironment.create(env)
    tables.execute_sql("CREATE TABLE dropped (f0 BIGINT) WITH ('connector' = 'blackhole')")
    tables.from_data_stream(noted).execute_insert("dropped").wait()
    arrivals = Arrivals()
    for file in options.scratch.glob("arrivals-*"):
        arrivals.read(file)
    mode, bundle, bundle_ms, buffer_ms, watermarks = variant.split("-")
    settings = (
        f"{mode} mode, bundles of {bundle} or {bundle_ms} ms, buffer timeout {buffer_ms} ms, "
        f"watermarks every {watermarks} ms"
    )
    report_latency("pyflink", options, arrivals, settings=settings)


if __name__ == "__main__":
    main()
