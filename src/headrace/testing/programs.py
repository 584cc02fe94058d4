"""What tests may look at in a program and its job, and users need not know of.

In: an environment, a stream, the client of a job.  Out: what stands behind it: the graph, a step
(graph/nodes.py), the job's handle (spi/executor.py).  Of no public name: they may change any day.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.common.job_client import JobClient
    from headrace.datastream.data_stream import DataStream
    from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
    from headrace.graph.nodes import Step
    from headrace.graph.stream_graph import StreamGraph
    from headrace.spi.executor import JobHandle


def graph_of(env: StreamExecutionEnvironment) -> StreamGraph:
    """All steps that were made so far, for whichever sink."""
    return env._graph


def program_of(env: StreamExecutionEnvironment) -> StreamGraph:
    """The steps that lead to a sink: what ``env.execute()`` would run."""
    return env._graph.reachable_from(env._graph.sinks())


def step_of(stream: DataStream) -> Step:
    """The step whose records a stream has."""
    return stream._step


def handle_of(client: JobClient) -> JobHandle:
    """The job behind a client."""
    return client._job
