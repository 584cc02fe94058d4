"""Spark's executors, from the list that every SparkContext keeps, with or without its web pages.

In: a session.  Out: ExecutorFacts (spi/host.py).  In local mode the driver is the only executor.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from headrace.spi.host import ExecutorFacts

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import SparkSession


def executors_of(session: SparkSession) -> list[ExecutorFacts]:
    """The executors that live; some milliseconds, so ask now and then only."""
    context = session.sparkContext
    master = context.master or ""
    found = context._jsc.sc().statusStore().executorList(True)  # noqa: FBT003
    summaries = [found.apply(number) for number in range(found.size())]
    workers = [each for each in summaries if each.id() != "driver"]
    if master.startswith("local"):
        return [_facts(each, cores=context.defaultParallelism) for each in summaries]
    return [_facts(each, cores=each.totalCores()) for each in workers]


def _facts(summary: JavaObject, *, cores: int) -> ExecutorFacts:
    logs = summary.executorLogs()
    names = [str(logs.keys().toSeq().apply(number)) for number in range(logs.size())]
    return ExecutorFacts(
        id=str(summary.id()),
        address=str(summary.hostPort()),
        slots=int(cores),
        memory_bytes=int(summary.maxMemory()),
        memory_used_bytes=int(summary.memoryUsed()),
        seen=int(time.time() * 1000),
        logs={name: str(logs.apply(name)) for name in names},
    )
