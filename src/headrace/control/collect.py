"""execute_and_collect: a job whose records come back to the program that started it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from headrace.common.job_client import JobClient
from headrace.datastream.closeable_iterator import CloseableIterator
from headrace.runtime.sinks.collect import CollectSink

if TYPE_CHECKING:
    from headrace.datastream.data_stream import DataStream
    from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment


def collect(
    env: StreamExecutionEnvironment, stream: DataStream, name: str, *, alone: bool = False
) -> CloseableIterator:
    """Start the job and give an iterator that its batches fill.

    Args:
        env: the stream's environment.
        stream: whose records to collect.
        name: of the job.
        alone: leave out the other sinks of the program, as a preview does.
    """
    records = CloseableIterator()
    collecting = stream._sink(CollectSink(records.add), "Collect")
    if alone:
        graph = env._graph.reachable_from([collecting._step])
        env._graph.steps.remove(collecting._step)
    else:
        graph = env._take_graph()
    job = env._submit(graph, name)
    records.on_close(job.cancel)
    records.job_client = JobClient(job)

    def finish() -> None:
        job.wait()
        records.end(job.error)

    waiter = threading.Thread(target=finish, name=f"headrace-collect-{name}", daemon=True)
    waiter.start()
    records.wait = waiter.join
    return records
