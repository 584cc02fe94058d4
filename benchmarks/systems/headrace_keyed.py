"""The keyed jobs on headrace, as a user of PyFlink would write them.

Variant `dataframe`: the results go to Spark as a DataFrame and into its noop sink, so that they
cross into the JVM just as in the hand-written job.  Variant `discarding`: a sink drops them in
the worker.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

os.environ["PYSPARK_PYTHON"] = sys.executable

from measure import arguments, measure_query, run_to_noop, spark_session

from headrace.common import Types
from headrace.connectors.discarding import DiscardingSink
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSource
from headrace.datastream.formats.parquet import ParquetColumnarRowInputFormat
from headrace.datastream.state import ValueStateDescriptor

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from headrace.datastream import DataStream, RuntimeContext


class Event(NamedTuple):
    key: int
    value: float


RESULT = Types.TUPLE([Types.LONG(), Types.LONG(), Types.DOUBLE()])


class CountAndSum(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        pair = Types.TUPLE([Types.LONG(), Types.DOUBLE()])
        self.state = runtime_context.get_state(ValueStateDescriptor("state", pair))

    def process_element(self, value: Event, ctx: Any) -> Iterator[tuple[int, int, float]]:
        count, total = self.state.value() or (0, 0.0)
        count, total = count + 1, total + value.value
        self.state.update((count, total))
        yield value.key, count, total


def events_of(
    env: StreamExecutionEnvironment, data: Path, *, files_per_batch: int = 2
) -> DataStream:
    source = FileSource.for_bulk_file_format(
        ParquetColumnarRowInputFormat(Event), str(data / "parquet")
    )
    some = source.set_option("maxFilesPerTrigger", str(files_per_batch)).build()
    return env.from_source(some, None, "events")


def build(job: str, events: DataStream) -> DataStream:
    keyed = events.key_by(lambda event: event.key, key_type=Types.LONG())
    if job == "reduce":
        return keyed.reduce(lambda a, b: Event(a.key, a.value + b.value))
    return keyed.process(CountAndSum(), output_type=RESULT)


def main() -> None:
    options = arguments()
    spark = spark_session(options.scratch)
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    results = build(options.job, events_of(env, options.data))
    if options.variant == "dataframe":
        frame = results.to_dataframe()
        measure_query(options, lambda: run_to_noop(frame, options.scratch), system="headrace")
    else:
        results.sink_to(DiscardingSink())
        measure_query(options, lambda: env.execute("bench"), system="headrace_sink")
    spark.stop()


if __name__ == "__main__":
    main()
