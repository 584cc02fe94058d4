"""One job: attempts one after the other, its status, its failures and its counts.

    CREATED ─▶ RUNNING ─▶ FINISHED
                 │  ▲  └▶ CANCELLING ─▶ CANCELED
          failure▼  │after a pause (control/restart.py)
              RESTARTING ─▶ FAILED, when the strategy gives up

In: a maker of attempts (control/executor.py).  Out: a status, a result or an error.
Next: control/attempt.py
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.common.clock import wall_clock
from headrace.common.interruptible import InterruptibleEvent
from headrace.common.job_status import JobStatus
from headrace.control.job_state import check_transition, is_terminal
from headrace.control.metrics import JobMetrics
from headrace.control.restart import is_worth_another_try, make_backoff
from headrace.errors import HeadraceError, JobError
from headrace.spi.executor import WorkDone
from headrace.spi.host import CountsTasks

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from headrace.common.opaque import JsonObject
    from headrace.common.restart_strategy import RestartStrategyConfiguration
    from headrace.control.attempt import Attempt
    from headrace.control.savepoints import StoredSavepoint
    from headrace.spi.host import HasThreads, Run

log = logging.getLogger(__name__)

_KEPT_FAILURES = 16
_LOOK_S = 0.02
_running: set[Job] = set()


def running_jobs() -> list[Job]:
    """The jobs of this process that have not ended."""
    return list(_running)


@dataclass(frozen=True, slots=True)
class Failure:
    """One failure in the life of a job."""

    when_ms: int
    error: BaseException
    # how many batches were committed before it, over all attempts
    batches: int
    # the pause before the next attempt; None if the job gave up
    delay_ms: int | None


class Job:
    """A running or finished job. All public methods may be called from any thread.

    Args:
        job_id: the same after a restart.
        name: for people.
        strategy: what to do after a failure.
        make_attempt: opens and starts a new run; what it raises at the first time is the
            program's own fault, later it is one more failure.
        take_savepoint: called with a folder, or None, ``drained`` and, while the job runs,
            ``paused``, which holds the next batch back, and ``publish``, which has sinks show what
            they hold back; writes a savepoint.
        savepoint_folder: the folder to use for what was asked for; raises if there is none.
        on_end: called once, after the status is final and before ``wait`` returns.
        in_batch_mode: whether the whole input is read before there is a result.
        threads: whom to ask what its threads are doing; None where the host does not tell.
    """

    def __init__(
        self,
        *,
        job_id: str,
        name: str,
        strategy: RestartStrategyConfiguration,
        make_attempt: Callable[[JobMetrics], Attempt],
        take_savepoint: Callable[..., StoredSavepoint],
        on_end: Callable[[Job], None],
        savepoint_folder: Callable[[str | None], str | None] = lambda folder: folder,
        in_batch_mode: bool = False,
        threads: HasThreads | None = None,
    ) -> None:
        self.job_id = job_id
        self.name = name
        self.strategy = strategy
        self.in_batch_mode = in_batch_mode
        self.threads = threads
        self.metrics = JobMetrics()
        self.error: BaseException | None = None
        self.failures: deque[Failure] = deque(maxlen=_KEPT_FAILURES)
        self._status = JobStatus.CREATED
        # when the job entered each state, the last time
        self.state_times: dict[str, int] = {self._status.name: wall_clock()}
        # how long it was in those that it has left, in ms
        self.state_totals: dict[str, int] = {}
        self._backoff = make_backoff(strategy)
        self._make_attempt = make_attempt
        self._take_savepoint = take_savepoint
        self._savepoint_folder = savepoint_folder
        self._on_end = on_end
        self._lock = threading.RLock()
        self._attempt: Attempt | None = None
        self._run: Run | None = None  # of the newest attempt, running or not
        self._stopping: bool | None = None  # None, or whether to drain
        self.last_savepoint: LastSavepoint | None = None
        self._wake = threading.Event()  # ends the pause before a new attempt
        self._ended = InterruptibleEvent()
        # Spark itself has ended: this process can do no more, another one could
        self.driver_is_lost = False

    # --- for everybody -----------------------------------------------------------------------

    @property
    def status(self) -> JobStatus:
        """Where the job is in its life."""
        return self._status

    @property
    def restarts(self) -> int:
        """How often it was started again."""
        return self.metrics.restarts

    @property
    def is_stopping(self) -> bool:
        """Whether it was told to stop, and has not ended yet."""
        return self._stopping is not None and not is_terminal(self._status)

    @property
    def is_warm(self) -> bool:
        """Whether the first batch is over, or the sources had nothing for one."""
        return self.metrics.batches > 0 or (self._run is not None and self._run.is_waiting)

    def work_done(self) -> WorkDone:
        """How far it is."""
        operators, _ = self.metrics.totals()
        run = self._run
        done, known = run.tasks() if isinstance(run, CountsTasks) else (0, 0)
        return WorkDone(
            epochs=self.metrics.batches,
            records=max((each.records_in for each in operators.values()), default=0),
            tasks_done=done,
            tasks=known,
        )

    @property
    def waits_for(self) -> str | None:
        """What its tasks wait for before they can start; None if they need not wait."""
        run = self._run
        return run.waits_for if run is not None and self._status is JobStatus.RUNNING else None

    def start(self) -> None:
        """Start the first attempt, and watch it from a thread of its own."""
        try:
            attempt = self._make_attempt(self.metrics)
        except BaseException as error:
            self.error = error
            self._become(JobStatus.FAILED)
            self._end()
            raise
        self._adopt(attempt)
        _running.add(self)
        threading.Thread(target=self._watch, name=f"headrace-{self.name}", daemon=True).start()

    def cancel(self) -> None:
        """End now. The batch that is running is thrown away; what was committed stays."""
        with self._lock:
            if is_terminal(self._status) or self._status is JobStatus.CANCELLING:
                return
            self._become(JobStatus.CANCELLING)
            attempt = self._attempt
        self._wake.set()
        if attempt is not None:
            attempt.cancel()

    def stop(self, *, drain: bool = False) -> None:
        """End after the running batch; the checkpoint is complete and stays.

        Args:
            drain: let event time reach its end first, so that all windows and timers fire. If the
                job is run again on the same checkpoint, event time starts again.
        """
        with self._lock:
            if is_terminal(self._status) or self._stopping is not None:
                return
            if self._status is not JobStatus.RUNNING or self._attempt is None:
                raise JobError(
                    f"job {self.name!r} is {self._status.name}, so there is no batch to stop after",
                    fix="wait until it runs, or cancel it; what was committed stays either way",
                )
            self._stopping = drain
            self._attempt.stop(drain=drain)

    def checkpoint(self) -> int:
        """Have a checkpoint with all that was processed so far; its number.

        A long epoch ends now; of short ones, the one that is running counts, or the last one if
        the sources have nothing for another.

        Raises:
            JobError: the job does not run, or failed or ended before there was such a checkpoint.
        """
        run = self._run
        if self.in_batch_mode:
            raise JobError(f"job {self.name!r} runs in BATCH mode, which makes no checkpoints")
        if run is None or self._status is not JobStatus.RUNNING:
            raise JobError(
                f"job {self.name!r} is {self._status.name}, so it makes no checkpoint",
                fix=None if is_terminal(self._status) else "wait until it runs",
            )
        before = self.metrics.checkpoints.last("completed")
        run.finish_epoch()
        while (found := self._checkpoint_since(before, run)) is None:
            if self._run is not run or self._status is not JobStatus.RUNNING:
                raise JobError(
                    f"job {self.name!r} failed or ended before its checkpoint was made: it is "
                    f"{self._status.name}"
                )
            self._ended.wait(_LOOK_S)
        return found

    def _checkpoint_since(self, before: JsonObject | None, run: Run) -> int | None:
        """The number of a newer checkpoint, or of the last one if there will be no other."""
        # looked at first: an epoch that is committed in between is newer
        is_waiting = run.has_short_epochs and run.is_waiting and not run.in_epoch
        last = self.metrics.checkpoints.last("completed")
        if last is not None and (last is not before or is_waiting):
            return int(last["id"])
        if is_waiting:
            raise JobError(
                f"the sources of job {self.name!r} have given nothing yet, so there is nothing "
                "to make a checkpoint of",
                fix="ask again after its first batch",
            )
        return None

    def savepoint(self, folder: str | None = None) -> StoredSavepoint:
        """Write a savepoint of the newest committed batch; the job keeps running."""
        if is_terminal(self._status):
            raise JobError(f"job {self.name!r} has ended: it is {self._status.name}")
        folder = self._savepoint_folder(folder)
        if self._run is not None and self._status is JobStatus.RUNNING:
            with contextlib.suppress(Exception):  # a run that fails has its last checkpoint still
                self._run.finish_epoch()  # of now, and not of the last checkpoint
        return self._saved(folder, drained=False, paused=self._paused, publish=self._publish)

    def _saved(
        self,
        folder: str | None,
        *,
        drained: bool,
        **while_it_runs: Callable[[], AbstractContextManager[None] | None],
    ) -> StoredSavepoint:
        began_ms = wall_clock()
        taken = self._take_savepoint(folder, drained=drained, **while_it_runs)
        self.metrics.checkpoints.saved(
            self.metrics.last_batch_id, began_ms, taken.location, taken.bytes
        )
        return taken

    def stop_with_savepoint(
        self, folder: str | None = None, *, drain: bool = False
    ) -> StoredSavepoint:
        """End after the running batch, and write a savepoint of exactly that.

        Raises:
            SavepointError: it could not be written; the job has ended, its checkpoint stays.
        """
        last = self.begin_stop_with_savepoint(folder, drain=drain)
        self.wait()
        if last.error is not None:
            raise last.error
        if last.savepoint is None:
            raise self.error or JobError(f"job {self.name!r} ended before its savepoint was taken")
        return last.savepoint

    def begin_stop_with_savepoint(
        self, folder: str | None = None, *, drain: bool = False
    ) -> LastSavepoint:
        """As `stop_with_savepoint`, but without waiting; what is returned is filled at the end."""
        last = LastSavepoint(self._savepoint_folder(folder), drain)
        with self._lock:
            if self._stopping is not None or is_terminal(self._status):
                raise JobError(f"job {self.name!r} is already ending: it is {self._status.name}")
            self.stop(drain=drain)  # the lock keeps the job from ending before the next line
            self.last_savepoint = last
        return last

    def fail(self, error: BaseException) -> None:
        """End now, for a reason outside of the query that no restart can fix."""
        with self._lock:
            if is_terminal(self._status) or self._status is JobStatus.CANCELLING:
                return
            self.error = error
            attempt = self._attempt
        self._wake.set()
        if attempt is not None:
            attempt.cancel()

    def give_up(self, error: BaseException) -> None:
        """As `fail`, for the thread of an epoch, which ends the attempt by what it raises."""
        with self._lock:
            if not (is_terminal(self._status) or self._status is JobStatus.CANCELLING):
                self.error = error

    def wait(self, timeout_s: float | None = None) -> bool:
        """Until the job has ended; False if it has not after the timeout."""
        return self._ended.wait(timeout_s)

    def _paused(self) -> AbstractContextManager[None]:
        """Holds the next batch back; between two attempts there is none."""
        with self._lock:
            attempt = self._attempt
        return contextlib.nullcontext() if attempt is None else attempt.paused()

    def _publish(self) -> None:
        """Has sinks show what they hold back; between two attempts there are none to ask."""
        with self._lock:
            attempt = self._attempt
        if attempt is None:
            raise JobError(
                f"job {self.name!r} is {self._status.name}, so its sinks cannot publish what they "
                "hold back, and the savepoint would be without it",
                fix="ask again when it runs; its checkpoint stays",
            )
        attempt.publish_held_back()

    # --- attempts ----------------------------------------------------------------------------

    def _watch(self) -> None:
        try:
            failure = self._run_attempt()
            while failure is not None and self._wants_another(failure):
                failure = self._run_again()
            self.error = self.error or failure
        except BaseException as error:  # a defect of ours: nobody may wait for ever
            self.error = error
        finally:
            self._finish()

    def _run_attempt(self) -> BaseException | None:
        attempt = self._attempt
        assert attempt is not None
        try:
            attempt.watch()
        except BaseException as error:
            return None if self._must_end else error
        finally:
            attempt.close()
        return None

    @property
    def _must_end(self) -> bool:
        """Cancelled, or failed for good."""
        return self._status is JobStatus.CANCELLING or self.error is not None

    def _wants_another(self, error: BaseException) -> bool:
        """Note the failure, and wait for the next attempt; False to give up."""
        now_ms = wall_clock()
        delay_ms = self._backoff.after_failure(now_ms) if self._can_run_again(error) else None
        self.failures.append(Failure(now_ms, error, self.metrics.batches, delay_ms))
        with self._lock:
            if self._must_end:
                return False
            if delay_ms is None:
                _tell_restarts(error, self)
                return False
            self._attempt = None
            if self._status is JobStatus.RUNNING:
                self._become(JobStatus.RESTARTING)
        log.warning(
            "job %s failed, and restarts from its checkpoint in %.1f s (restart %d, %s)\n%s",
            self.name, delay_ms / 1000, self.restarts + 1, self.strategy, error,
        )  # fmt: skip
        self._wake.wait(delay_ms / 1000)
        return not self._must_end

    def _can_run_again(self, error: BaseException) -> bool:
        if self._run is not None and not self._run.can_run_again:
            error.add_note("Spark itself has ended: run the program again to continue")
            self.driver_is_lost = True
            return False
        # a job that was told to stop has nothing to be started again for
        return is_worth_another_try(error) and self._stopping is None

    def _run_again(self) -> BaseException | None:
        self.metrics.restarts += 1
        try:
            attempt = self._make_attempt(self.metrics)
        except BaseException as error:
            return error
        self._adopt(attempt)
        return self._run_attempt()

    def _adopt(self, attempt: Attempt) -> None:
        """A new attempt has been started; the job may have been cancelled meanwhile."""
        with self._lock:
            self._attempt, self._run = attempt, attempt.run
            if self._must_end:
                attempt.cancel()
            else:
                self._become(JobStatus.RUNNING)

    def _finish(self) -> None:
        with self._lock:
            last = self.last_savepoint
        if last is not None and not self._must_end:
            try:
                last.savepoint = self._saved(last.folder, drained=last.drain)
            except BaseException as error:
                last.error = error
        with self._lock:
            if self._status is JobStatus.CANCELLING:
                self._become(JobStatus.CANCELED)
                self.error = None
            else:
                self._become(JobStatus.FINISHED if self.error is None else JobStatus.FAILED)
        self._end()

    def _end(self) -> None:
        try:
            self._on_end(self)
        except Exception:
            log.exception("cleaning up after job %s failed", self.name)
        finally:
            _running.discard(self)
            self._ended.set()

    def _become(self, status: JobStatus) -> None:
        check_transition(self._status, status)
        now_ms, left = wall_clock(), self._status.name
        spent_ms = max(0, now_ms - self.state_times[left])
        self.state_totals[left] = self.state_totals.get(left, 0) + spent_ms
        self._status = status
        self.state_times[status.name] = now_ms


@dataclass(slots=True)
class LastSavepoint:
    """The savepoint that a job ends with: asked for, then taken or failed."""

    folder: str | None
    drain: bool
    savepoint: StoredSavepoint | None = None
    error: BaseException | None = None


def _tell_restarts(error: BaseException, job: Job) -> None:
    """Say in the last error how often the job was started again before it gave up."""
    if not job.restarts:
        return
    times = "once" if job.restarts == 1 else f"{job.restarts} times"
    tried = f"the job was restarted {times} before ({job.strategy})"
    if isinstance(error, HeadraceError):
        error.message = f"{error.message}; {tried}"
    else:
        error.add_note(tried)
