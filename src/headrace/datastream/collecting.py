"""Streams that end in the program itself: execute_and_collect, preview, to_dataframe.

In: a stream.  Out: its records, or a DataFrame of them.  Next: connectors/driver/collect.py
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from headrace.common.job_client import JobClient
from headrace.connectors.driver.collect import CollectSink
from headrace.data.codec import codec_for
from headrace.datastream.closeable_iterator import CloseableIterator
from headrace.datastream.stream_builder import add_step
from headrace.errors import InvalidArgumentError, JobError
from headrace.spi.executor import executor

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from headrace.datastream.data_stream import DataStream
    from headrace.graph.nodes import Step
    from headrace.spi.executor import JobHandle

# how long the last batch of a preview may take before it is cut off
_PATIENCE_S = 5.0


def collect(stream: DataStream, name: str, *, alone: bool = False) -> CloseableIterator:
    """Start the job and give an iterator that its batches fill.

    Args:
        stream: whose records to collect.
        name: of the job.
        alone: leave out the other sinks of the program, and read in small batches: for a preview.
    """
    env, records = stream._env, CloseableIterator()
    end = collecting_end(stream, records.add)
    program = env._graph.cut_off([end]) if alone else env._take_graph()
    job = env._start(program, name, kind="preview" if alone else "collect")
    records.on_close((lambda: _end_soon(job)) if alone else job.cancel)
    records.job_client = JobClient(job)
    records.is_warm = lambda: job.is_warm
    records.reads_all_first = job.in_batch_mode

    def finish() -> None:
        job.wait()
        records.end(job.error)

    waiter = threading.Thread(target=finish, name=f"headrace-collect-{name}", daemon=True)
    waiter.start()
    records.wait = waiter.join
    return records


def _end_soon(job: JobHandle) -> None:
    """End after the running batch: Spark kills the workers of a batch that is cut off.

    The next job would have to start them again.
    """
    try:
        job.stop()
    except JobError:  # it has not begun, or is about to be started again
        job.cancel()
    if not job.wait(_PATIENCE_S):
        job.cancel()


def collecting_end(stream: DataStream, deliver: Callable[[list[Any]], None]) -> Step:
    """The end of a stream whose records are handed to the program itself."""
    end = stream._sink(CollectSink(deliver), "Collect")._step
    end.inner = True
    return end


def dataframe_end(stream: DataStream) -> Step:
    """The end of a stream whose records become rows of a DataFrame."""
    inputs = [(stream._origins, stream._partitioning)]
    end = add_step(stream._env, "dataframe", "DataFrame", None, stream.get_type(), inputs)
    end.inner = True
    return end


def to_dataframe(stream: DataStream) -> DataFrame:
    """The streaming DataFrame of one stream; its query is the user's to start and stop."""
    if codec_for(stream.get_type()).schema is None:
        raise InvalidArgumentError(
            "to_dataframe needs a stream with a type, and this one is pickled",
            fix="give the last step an output_type, such as Types.ROW_NAMED([...], [...])",
        )
    env = stream._env
    end = dataframe_end(stream)
    program = env._graph.cut_off([end])
    env.get_spark_session()
    frame: DataFrame = executor().frame_of(program, end, env.job_spec("dataframe"))
    return frame
