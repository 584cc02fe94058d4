"""A handle on a running job: status, cancel, result, accumulators, metrics."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, TypeVar

from headrace.common.completable_future import CompletableFuture
from headrace.common.job_execution_result import JobExecutionResult
from headrace.common.job_id import JobID

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.job_status import JobStatus
    from headrace.common.opaque import JsonObject, StateValue
    from headrace.spi.executor import JobHandle

__all__ = ["JobClient"]

T = TypeVar("T")


def _in_background(action: Callable[[], T]) -> CompletableFuture[T]:
    future: CompletableFuture[T] = CompletableFuture()

    def run() -> None:
        try:
            future.complete(action())
        except BaseException as error:
            future.complete_exceptionally(error)

    threading.Thread(target=run, name="headrace-client", daemon=True).start()
    return future


class JobClient:
    """Watches and steers one job. As a context manager it cancels the job at the end."""

    def __init__(self, job: JobHandle) -> None:
        self._job = job
        self._started = time.time()

    def get_job_id(self) -> JobID:
        """The job's id."""
        return JobID(self._job.job_id)

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        """Where the job is in its life."""
        return CompletableFuture.completed(self._job.status)

    def cancel(self) -> CompletableFuture[None]:
        """Stop the job; the running batch is thrown away, what was committed stays."""
        self._job.cancel()
        return _in_background(self._ended)

    def _ended(self) -> None:
        self._job.wait()

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture[str]:
        """Write a savepoint into a new directory of a folder; the job keeps running."""
        return _in_background(lambda: self._job.savepoint(savepoint_directory).location)

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture[str]:
        """Stop the job after its running batch with a savepoint of exactly that.

        Args:
            advance_to_end_of_event_time: let all windows and timers fire first.
            savepoint_directory: the folder in which a new directory is made; the option
                ``execution.checkpointing.savepoint-dir`` if None.
        """
        drain = advance_to_end_of_event_time
        return _in_background(
            lambda: self._job.stop_with_savepoint(savepoint_directory, drain=drain).location
        )

    def get_accumulators(self) -> CompletableFuture[dict[str, StateValue]]:
        """The accumulators so far."""
        return CompletableFuture.completed(self._job.metrics.accumulator_values())

    def get_metrics(self) -> JsonObject:
        """Records, watermarks, late records and user metrics by operator uid."""
        snapshot: JsonObject = self._job.metrics.snapshot()
        return snapshot

    def get_exception_history(self) -> list[BaseException]:
        """The errors after which the job was restarted or gave up, the oldest first."""
        return [failure.error for failure in self._job.failures]

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """The result, once the job has ended; raises the job's error."""
        return _in_background(self._wait)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Until the job has ended; False if it has not after the timeout."""
        ended: bool = self._job.wait(timeout_s)
        return ended

    def _wait(self) -> JobExecutionResult:
        try:
            while not self._job.wait(0.2):  # in steps, so that Ctrl-C is seen at once
                pass
        except KeyboardInterrupt:
            self._job.cancel()
            self._job.wait()
            raise
        if self._job.error is not None:
            raise self._job.error
        runtime_ms = int((time.time() - self._started) * 1000)
        return JobExecutionResult(
            self.get_job_id(), runtime_ms, self._job.metrics.accumulator_values()
        )

    def __enter__(self) -> JobClient:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._job.cancel()
        self._job.wait()
