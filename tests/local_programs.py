"""Runs the programs of pages in the test's own process, with real servers and without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.datastream.data_stream import DataStream
from headrace.datastream.stream_builder import Origin
from headrace.testing import LocalRunner
from headrace.testing.programs import graph_of

if TYPE_CHECKING:
    from headrace.datastream import StreamExecutionEnvironment


def run_locally(env: StreamExecutionEnvironment, job_name: str | None = None) -> None:
    """What `env.execute` does, in this process: all sinks of the program, one batch."""
    graph = graph_of(env)
    whole = graph.reachable_from(graph.sinks())
    graph.reachable_from = lambda ends: whole  # type: ignore[method-assign]
    first = whole.steps[0]
    with LocalRunner(DataStream(env, [Origin(first, None, first.output_type)])) as job:
        job.read_batch()
    del graph.reachable_from
    graph.steps.clear()
