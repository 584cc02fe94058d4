"""Windows on headrace: count and sum a key.

Variant `columns`: tumbling 1 s, aggregates over columns; a sink in the worker.
Variant `python`: tumbling 1 s through an AggregateFunction, as in PyFlink; a sink in the worker.
Variant `sliding`: the same in windows of 60 s that slide by 1 s.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

os.environ["PYSPARK_PYTHON"] = sys.executable

from measure import DISORDER_MS, arguments, measure_query, spark_session

from headrace.common import Types, WatermarkStrategy
from headrace.connectors.discarding import DiscardingSink
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSource
from headrace.datastream.expressions import col, count, window_start
from headrace.datastream.formats.parquet import ParquetColumnarRowInputFormat
from headrace.datastream.functions import AggregateFunction, WindowFunction
from headrace.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from headrace.datastream import DataStream

RESULT = Types.TUPLE([Types.LONG(), Types.LONG(), Types.DOUBLE(), Types.LONG()])
BOUND = WatermarkStrategy.for_bounded_out_of_orderness(DISORDER_MS)


class Event(NamedTuple):
    key: int
    value: float
    ts: int


class CountAndSum(AggregateFunction):
    def create_accumulator(self) -> tuple[int, float]:
        return 0, 0.0

    def add(self, value: Event, accumulator: tuple[int, float]) -> tuple[int, float]:
        return accumulator[0] + 1, accumulator[1] + value.value

    def get_result(self, accumulator: tuple[int, float]) -> tuple[int, float]:
        return accumulator

    def merge(self, acc_a: tuple[int, float], acc_b: tuple[int, float]) -> tuple[int, float]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class WithBounds(WindowFunction):
    def apply(
        self, key: int, window: Any, inputs: Iterable[tuple[int, float]]
    ) -> Iterator[tuple[int, int, float, int]]:
        for n, total in inputs:
            yield key, n, total, window.start


def events_of(env: StreamExecutionEnvironment, data: Path, strategy: Any) -> DataStream:
    source = FileSource.for_bulk_file_format(
        ParquetColumnarRowInputFormat(Event), str(data / "parquet")
    )
    return env.from_source(source.set_option("maxFilesPerTrigger", "2").build(), strategy, "events")


def selected(env: StreamExecutionEnvironment, data: Path) -> DataStream:
    events = events_of(env, data, BOUND.with_timestamp_assigner("ts"))
    windows = events.key_by("key").window(TumblingEventTimeWindows.of("1 s"))
    return windows.select(
        col("key"), count().alias("n"), col("value").sum().alias("total"), window_start()
    )


def in_python(env: StreamExecutionEnvironment, data: Path, assigner: Any) -> DataStream:
    events = events_of(env, data, BOUND.with_timestamp_assigner(lambda event, _: event.ts))
    windows = events.key_by(lambda event: event.key, key_type=Types.LONG()).window(assigner)
    return windows.aggregate(CountAndSum(), WithBounds(), output_type=RESULT)


PYTHON = {
    "python": TumblingEventTimeWindows.of("1 s"),
    "sliding": SlidingEventTimeWindows.of("60 s", "1 s"),
}


def main() -> None:
    options = arguments()
    spark = spark_session(options.scratch)
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    name = f"headrace_window_{options.variant}"
    assigner = PYTHON.get(options.variant)
    stream = (
        selected(env, options.data) if assigner is None else in_python(env, options.data, assigner)
    )
    stream.sink_to(DiscardingSink())
    measure_query(options, lambda: env.execute("bench"), system=name, every_batch=True)
    spark.stop()


if __name__ == "__main__":
    main()
