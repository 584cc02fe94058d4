"""What carries a program out: the one way from an environment to a job.

    env.execute() ─▶ executor() ─▶ Executor.execute(program, spec) ─▶ JobHandle

Implementations: control/executor.py (plans, claims a checkpoint, runs on a host), and
cli/program.py (remembers what would be run).  `while_executing_with` puts another one in their
place, for the programs that run inside of it.
"""

from __future__ import annotations

import contextlib
import contextvars
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from headrace.spi.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.common.job_status import JobStatus
    from headrace.common.opaque import HostFrame, HostSession, JsonObject, StateValue
    from headrace.graph.nodes import Step
    from headrace.graph.stream_graph import StreamGraph
    from headrace.spi.job_spec import JobSpec
    from headrace.spi.source import Source


class JobFailure(Protocol):
    """One failure in the life of a job."""

    @property
    def error(self) -> BaseException:
        """What was raised."""
        ...


@dataclass(frozen=True, slots=True)
class WorkDone:
    """How far a job is.

    Attributes:
        epochs: that are committed.
        records: that the busiest step has taken in, as far as tasks have told.
        tasks_done, tasks: of the epoch that runs, those that are known so far; 0 of 0 where
            nobody counts them.
    """

    epochs: int
    records: int
    tasks_done: int
    tasks: int


class JobCounts(Protocol):
    """What the tasks of a job have counted in its committed epochs."""

    def snapshot(self) -> JsonObject:
        """All counts as plain data, under Flink's names."""
        ...

    def accumulator_values(self) -> dict[str, StateValue]:
        """The merged value of every accumulator."""
        ...


class WrittenSavepoint(Protocol):
    """A savepoint that is complete."""

    @property
    def location(self) -> str:
        """Its directory."""
        ...


class JobHandle(Protocol):
    """A started job. All methods may be called from any thread."""

    @property
    def job_id(self) -> str:
        """The same after a restart of the job."""
        ...

    @property
    def name(self) -> str:
        """For people."""
        ...

    @property
    def status(self) -> JobStatus:
        """Where the job is in its life."""
        ...

    @property
    def error(self) -> BaseException | None:
        """Why it failed; None as long as it has not."""
        ...

    @property
    def failures(self) -> Sequence[JobFailure]:
        """What went wrong on the way, the oldest first; each has an ``error``."""
        ...

    @property
    def metrics(self) -> JobCounts:
        """Its counts (control/metrics.py)."""
        ...

    @property
    def in_batch_mode(self) -> bool:
        """Whether the whole input is read before there is a result."""
        ...

    @property
    def is_warm(self) -> bool:
        """Whether the first epoch is over, or the sources had nothing for one."""
        ...

    def work_done(self) -> WorkDone:
        """How far it is."""
        ...

    def wait(self, timeout_s: float | None = None) -> bool:
        """Until the job has ended; False if it has not after the timeout."""
        ...

    def cancel(self) -> None:
        """End now; what was committed stays."""
        ...

    def stop(self, *, drain: bool = False) -> None:
        """End after the running epoch."""
        ...

    def savepoint(self, folder: str | None = None) -> WrittenSavepoint:
        """Write a savepoint of the newest committed epoch; the job keeps running."""
        ...

    def stop_with_savepoint(
        self, folder: str | None = None, *, drain: bool = False
    ) -> WrittenSavepoint:
        """End after the running epoch, and write a savepoint of exactly that."""
        ...


class Executor(Protocol):
    """Runs programs, and answers what a program asks about where it runs."""

    def execute(self, program: StreamGraph, spec: JobSpec) -> JobHandle:
        """Start a job; errors in the program are raised here, before anything runs."""
        ...

    def explain(self, program: StreamGraph, spec: JobSpec, *, as_json: bool = False) -> str:
        """The plan of a program as text, or in Flink's JSON."""
        ...

    def session(self, spec: JobSpec) -> HostSession:
        """What programs of the spec run on, started if it has to be: a SparkSession."""
        ...

    def source_of(self, data: HostFrame, *, lines: bool = False) -> Source:
        """The source that reads what the host has of its own: a DataFrame, as rows or lines."""
        ...

    def frame_of(self, program: StreamGraph, end: Step, spec: JobSpec) -> HostFrame:
        """The records that reach a step as the host's own stream: a DataFrame."""
        ...


EXECUTORS: Registry[Executor] = Registry(
    "executor", "headrace.executors", {"job": "headrace.control.executor:JobExecutor"}
)
_in_place: contextvars.ContextVar[Executor | None] = contextvars.ContextVar(
    "headrace_executor", default=None
)


def executor() -> Executor:
    """The executor in place, else the one that runs jobs from this process."""
    return _in_place.get() or EXECUTORS.new("job")


@contextlib.contextmanager
def while_executing_with(executor: Executor) -> Iterator[None]:
    """Let programs that run inside of this be carried out by another executor."""
    token = _in_place.set(executor)
    try:
        yield
    finally:
        _in_place.reset(token)
