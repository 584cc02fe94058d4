"""The threads of a Spark application: JVMs by Spark's own message, Python by our lines to workers.

Spark asks an executor's JVM for its stacks with or without web pages; nobody has to log in there.
In: a session, an Inspector (inspection.py).  Out: Flink's `threadInfos`, samples for flame graphs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import JobError
from headrace.runtime.thread_infos import thread_infos

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.common.opaque import JsonObject
    from headrace.hosts.spark.inspection import Inspector, WorkerProcess
    from headrace.runtime.task_samples import Sampling

# how the application's driver is called among its executors
DRIVER = "driver"
_DUMP_S = 5.0
_SAMPLES_S = 5.0


def spark_threads(
    session: SparkSession, inspector: Inspector | None, executor: str | None
) -> list[JsonObject]:
    """Threads of an executor, its JVM and its Python workers; of the driver alone for None."""
    workers = [] if executor is None or inspector is None else _workers(inspector, executor)
    own = thread_infos() if executor in (None, DRIVER) else []
    return [*own, *workers, *_jvm_threads(session, executor or DRIVER)]


def spark_samples(inspector: Inspector | None, job_id: str, asked: Sampling) -> list[JsonObject]:
    """What the tasks of a job are doing, in all workers."""
    if inspector is None:
        return []
    patience_s = 2 * asked.count * asked.delay_s + _SAMPLES_S
    found = inspector.ask("samples", job_id, asked, patience_s=patience_s)
    return [sample for _, samples in found for sample in samples]


def _workers(inspector: Inspector, executor: str) -> list[JsonObject]:
    def is_of(worker: WorkerProcess) -> bool:
        # one that cannot tell is shown with each rather than with none
        return worker.executor in (None, executor)

    return [
        {**info, "threadName": f"{info['threadName']} (Python worker {worker.machine})"}
        for worker, infos in inspector.ask("threads", patience_s=_DUMP_S, of=is_of)
        for info in infos
    ]


def _jvm_threads(session: SparkSession, executor: str) -> list[JsonObject]:
    try:
        found = session.sparkContext._jsc.sc().getExecutorThreadDump(executor)
        threads = found.get() if found.isDefined() else []
        return [
            {"threadName": str(each.threadName()), "stringifiedThreadInfo": str(each.toString())}
            for each in threads
        ]
    except Exception as error:
        raise JobError(
            f"Spark did not tell what the threads of executor {executor} do: {error}",
            fix="the executor may have ended just now: try again",
        ) from error
