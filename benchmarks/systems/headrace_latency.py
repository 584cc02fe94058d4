"""From an event that is due to a callback in the driver, on headrace in both of its modes.

Job `latency`: one keyed exchange, a KeyedProcessFunction that counts in a ValueState.  Job
`latency-windows`: two of them, the second one into event-time windows of 10 ms a group of keys,
whose result is the newest event of the window.  Variants: `micro-batch`, or
`continuous-<buffer timeout>-<tick>-<watermark interval>` in ms.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

os.environ["PYSPARK_PYTHON"] = sys.executable

from latency import (
    EPOCH_S,
    GROUPS,
    KEYS,
    PARALLELISM,
    RATE,
    WINDOW_MS,
    Arrivals,
    Schedule,
    let_run,
    report_latency,
)
from measure import arguments

from headrace.common import Configuration, Time, Types, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream import (
    AggregateFunction,
    KeyedProcessFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.window import TumblingEventTimeWindows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import numpy as np

    from headrace.datastream import DataStream, RuntimeContext

EVENT = Types.TUPLE([Types.LONG(), Types.DOUBLE()])
TICK_MS = 5
# the best found: windows send a packet for every watermark, so some have to go together
BEST = {"latency": f"continuous-0-{TICK_MS}-200", "latency-windows": "continuous-5-5-5"}


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
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


def generator() -> DataGeneratorSource:
    schedule = Schedule(RATE)

    def make(index: np.ndarray) -> dict[str, np.ndarray]:
        began = schedule.due(int(index[-1]) + 1, time.time())
        return {"f0": index % KEYS, "f1": began + (index + 1) / RATE}

    limit = RateLimiterStrategy.per_second(RATE)
    return DataGeneratorSource.vectorized(make, None, limit, type_info=EVENT)


def build(job: str, env: StreamExecutionEnvironment) -> DataStream:
    strategy = WatermarkStrategy.no_watermarks()
    if job == "latency-windows":
        strategy = WatermarkStrategy.for_monotonous_timestamps()
        strategy = strategy.with_timestamp_assigner(CreationTime())
    events = env.from_source(generator(), strategy, "events")
    counted = events.key_by(lambda event: event[0], key_type=Types.LONG()).process(Count(), EVENT)
    if job == "latency":
        return counted
    grouped = counted.key_by(lambda event: event[0] % GROUPS, key_type=Types.LONG())
    windows = grouped.window(TumblingEventTimeWindows.of(Time.milliseconds(WINDOW_MS)))
    return windows.aggregate(Newest(), accumulator_type=Types.DOUBLE(), output_type=EVENT)


def configuration(variant: str, scratch: Path) -> Configuration:
    mode, *numbers = variant.rsplit("-", 3) if variant.startswith("continuous") else [variant]
    settings = {
        "headrace.execution.mode": mode,
        "execution.checkpointing.dir": str(scratch / "job"),
        "spark.local.dir": str(scratch / "local"),
    }
    if mode == "continuous":
        timeout, tick, watermarks = numbers
        settings |= {
            "execution.buffer-timeout.interval": f"{timeout} ms" if timeout != "full" else "-1 ms",
            "headrace.continuous.tick": f"{tick} ms",
            "pipeline.auto-watermark-interval": f"{watermarks} ms",
            "execution.checkpointing.interval": f"{EPOCH_S} s",
        }
    made = Configuration()
    for key, value in settings.items():
        made.set_string(key, value)
    return made


class EpochWatch:
    """When epochs were written and done, from the files in the directory of a job."""

    def __init__(self, directory: Path) -> None:
        self._folder = directory / "continuous" / "epochs"
        self._seen: dict[str, dict[str, float]] = {"json": {}, "done": {}}
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while True:
            for ending, seen in self._seen.items():
                for file in self._folder.glob(f"*.{ending}"):
                    with contextlib.suppress(FileNotFoundError):  # cleared away meanwhile
                        seen.setdefault(file.stem, file.stat().st_mtime)
            time.sleep(0.2)

    def ends(self) -> list[tuple[float, float]]:
        done = self._seen["done"]
        return [(at, done[name]) for name, at in self._seen["json"].items() if name in done]


def run(
    job: str, variant: str, scratch: Path, during: Callable[[Arrivals], None]
) -> tuple[Arrivals, EpochWatch]:
    """Runs a job for as long as `during` does."""
    arrivals, epochs = Arrivals(), EpochWatch(scratch / "job")
    settings = configuration(variant, scratch)
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.set_parallelism(PARALLELISM)
    build(job, env).add_sink(lambda event: arrivals.note(event[1]))
    with env.execute_async(job):
        during(arrivals)
    return arrivals, epochs


def in_words(variant: str) -> str:
    if not variant.startswith("continuous"):
        return "a batch after the other"
    _, timeout, tick, watermarks = variant.rsplit("-", 3)
    return f"buffer timeout {timeout} ms, tick {tick} ms, watermarks every {watermarks} ms"


def main() -> None:
    options = arguments()
    variant = options.variant if options.variant != "continuous" else BEST[options.job]
    arrivals, epochs = run(options.job, variant, options.scratch, lambda a: let_run(options, a))
    report_latency(
        f"headrace_{variant.partition('-')[0]}",
        options,
        arrivals,
        settings=in_words(variant),
        epochs=epochs.ends(),
    )


if __name__ == "__main__":
    main()
