"""What a program's options say about a continuous run, on whatever carries it.

In: a JobSpec, a source.  Out: settings of loops and runs, the source as it is read in Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.connectors.files.source import FileSource
from headrace.errors import ConfigurationError, UnsupportedStepError
from headrace.hosts.continuous.coordinator import RunSettings
from headrace.hosts.continuous.feeding import RECORDS_AT_ONCE
from headrace.hosts.continuous.loops import LoopSettings
from headrace.spi.python_source import PythonSource

if TYPE_CHECKING:
    from headrace.plan.physical import SourcePlan
    from headrace.spi.job_spec import JobSpec

# where nothing else is said: Flink would make no checkpoint at all, and commit nothing.  Who
# collects results waits for them: they come with their epoch.
_DEFAULT_EPOCH_S = {"job": 10.0, "collect": 1.0}


def refuse_batch(spec: JobSpec) -> None:
    """Refuse a job that asks for both.

    Raises:
        ConfigurationError: it is to run in BATCH mode.
    """
    if spec.option("execution.runtime-mode") == "BATCH":
        raise ConfigurationError(
            "BATCH mode reads the whole input before there is a result, and continuous mode is for "
            "results at once",
            fix="remove headrace.execution.mode, or use RuntimeExecutionMode.STREAMING",
        )


def loop_settings(spec: JobSpec) -> LoopSettings:
    """How tasks hand on what they have."""
    timeout = spec.option("execution.buffer-timeout.interval")
    if not spec.option("execution.buffer-timeout.enabled") or timeout < 0:
        timeout = None
    return LoopSettings(
        buffer_timeout_ms=timeout,
        watermark_interval_ms=spec.option("pipeline.auto-watermark-interval"),
        latency_interval_ms=spec.option("metrics.latency.interval"),
    )


def run_settings(spec: JobSpec, host: str, reached_as: str) -> RunSettings:
    """How the driver ends epochs.

    Args:
        spec: of the job.
        host: the address to listen on.
        reached_as: how tasks call it.
    """
    return RunSettings(
        interval_s=spec.interval_ms / 1000 or _DEFAULT_EPOCH_S[spec.kind],
        tick_s=spec.option("headrace.continuous.tick") / 1000,
        host=host,
        reached_as=reached_as,
        retained=spec.option("execution.checkpointing.num-retained"),
        slots_s=spec.option("slot.request.timeout") / 1000,
        at_once=min(RECORDS_AT_ONCE, spec.option("source.max-records-per-batch")),
    )


def read_in_python(plan: SourcePlan) -> PythonSource:
    """A source as stage 0 reads it.

    Raises:
        UnsupportedStepError: only Spark's own readers can read it.
    """
    source = plan.source
    if isinstance(source, PythonSource):
        return source
    if isinstance(source, FileSource):
        from headrace.connectors.files.python_reader import files_in_python

        return files_in_python(source)
    raise UnsupportedStepError(
        f"continuous mode has no reader for {source.describe()}: stage 0 reads sources itself, in "
        "Python",
        where=plan.step.call_site,
        fix="run this program in micro-batches: headrace.execution.mode: micro-batch",
    )
