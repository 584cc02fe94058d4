"""execute_and_collect: a job whose records come back to the program that started it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from headrace.common.job_client import JobClient
from headrace.connectors.driver.collect import CollectSink
from headrace.datastream.closeable_iterator import CloseableIterator
from headrace.errors import JobError

if TYPE_CHECKING:
    from headrace.control.job import Job
    from headrace.datastream.data_stream import DataStream
    from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment

# how long the last batch of a preview may take before it is cut off
_PATIENCE_S = 5.0


def collect(
    env: StreamExecutionEnvironment, stream: DataStream, name: str, *, alone: bool = False
) -> CloseableIterator:
    """Start the job and give an iterator that its batches fill.

    Args:
        env: the stream's environment.
        stream: whose records to collect.
        name: of the job.
        alone: leave out the other sinks of the program, and read in small batches: for a preview.
    """
    records = CloseableIterator()
    collecting = stream._sink(CollectSink(records.add), "Collect")
    if alone:
        graph = env._graph.reachable_from([collecting._step])
        env._graph.steps.remove(collecting._step)
    else:
        graph = env._take_graph()
    job = env._submit(graph, name, kind="preview" if alone else "collect")
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


def _end_soon(job: Job) -> None:
    """End behind the batch that is running: Spark kills the workers of a batch that is cut off.

    The next job would have to start them again.
    """
    try:
        job.stop()
    except JobError:  # it has not begun, or is about to be started again
        job.cancel()
    if not job.wait(_PATIENCE_S):
        job.cancel()
