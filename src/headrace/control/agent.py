"""The driver's side of the registry: one thread a job that writes, renews and answers.

In: a Job, its lease, its place in the registry.  Out: a fresh file for `headrace list`, a fresh
lock for other drivers, answers for `headrace cancel` and `headrace stop`.
HANDLERS is the table of what can be asked.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.common.clock import wall_clock
from headrace.common.restart_strategy import strategy_as_options
from headrace.control.progress import Teller
from headrace.control.registry import JobRecord
from headrace.control.requests import Inbox, Request
from headrace.control.split_times import splits_of
from headrace.errors import ConnectorError, HeadraceError, JobError, UserFunctionError
from headrace.io.processes import this_process
from headrace.runtime.task_samples import Sampling

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.opaque import JsonObject
    from headrace.control.fence import Fence
    from headrace.control.history import JobHistory
    from headrace.control.job import Failure, Job
    from headrace.control.registry import JobRegistry
    from headrace.io.lease import Lease
    from headrace.spi.host import HasThreads

log = logging.getLogger(__name__)

_POLL_S = 0.25
_WRITE_EVERY_S = 1.0
_SIGN_OF_LIFE_S = 15.0
# set by `headrace run --detached` for the process that it starts
LAUNCH_VARIABLE, LOG_VARIABLE = "_HEADRACE_LAUNCH", "_HEADRACE_LAUNCH_LOG"


def _cancel(job: Job, arguments: JsonObject) -> JsonObject:
    # the answer comes first: the job, and with it this process, may end any moment now
    threading.Thread(target=job.cancel, name="headrace-cancel", daemon=True).start()
    return {"state": "CANCELLING"}


def _stop(job: Job, arguments: JsonObject) -> JsonObject:
    drain = bool(arguments.get("drain"))
    if "savepoint" in arguments:  # the folder; None for the one that is configured
        # the record tells where it is: the driver may end before an answer could be written
        job.begin_stop_with_savepoint(arguments["savepoint"], drain=drain)
    else:
        job.stop(drain=drain)
    return {"state": job.status.name}


def _savepoint(job: Job, arguments: JsonObject) -> JsonObject:
    return {"savepoint": job.savepoint(arguments.get("folder")).location}


def _checkpoint(job: Job, arguments: JsonObject) -> JsonObject:
    return {"checkpoint": job.checkpoint()}


def _threads(job: Job, arguments: JsonObject) -> JsonObject:
    return {"threadInfos": _threads_of(job).thread_infos(arguments.get("executor"))}


def _samples(job: Job, arguments: JsonObject) -> JsonObject:
    asked = Sampling(
        frozenset(arguments["uids"]), arguments["subtask"], int(arguments["count"]),
        arguments["delay_ms"] / 1000, int(arguments["depth"]),
    )  # fmt: skip
    return {"samples": _threads_of(job).samples(job.job_id, asked)}


def _threads_of(job: Job) -> HasThreads:
    if job.threads is None:
        raise JobError(
            "the host of this job does not tell what its threads do",
            fix="look at its process with py-spy dump, or py-spy record",
        )
    return job.threads


# What another terminal can ask of a job: a handler gets the job and the arguments, and returns
# what the client sees. Each runs in a thread of its own, so it may take its time.
HANDLERS: dict[str, Callable[[Job, JsonObject], JsonObject]] = {
    "cancel": _cancel,
    "stop": _stop,
    "savepoint": _savepoint,
    "checkpoint": _checkpoint,
    "threads": _threads,
    "samples": _samples,
}


def new_record(
    job: Job,
    *,
    checkpoint: str | None,
    parallelism: int,
    web: dict[str, str],
    kind: str = "job",
    mode: str = "micro-batch",
) -> JobRecord:
    """The record of a job that is about to run in this process."""
    me = this_process()
    now_ms = wall_clock()
    return JobRecord(
        job_id=job.job_id,
        name=job.name,
        state=job.status.name,
        host=me.host,
        pid=me.pid,
        born=me.born,
        started=now_ms,
        updated=now_ms,
        program=str(Path(sys.argv[0]).absolute()) if sys.argv and sys.argv[0] else "",
        checkpoint=checkpoint,
        parallelism=parallelism,
        restart_strategy=str(job.strategy),
        restart_options=strategy_as_options(job.strategy),
        web=web,
        kind=kind,
        mode=mode,
        launch=os.environ.get(LAUNCH_VARIABLE),
        log=os.environ.get(LOG_VARIABLE),
    )


def continue_record(record: JobRecord, earlier: JobRecord | None) -> None:
    """Take over what a dispatcher has noted: when the job began, and why drivers were started."""
    if earlier is not None and earlier.launch is None:
        record.started = earlier.started
        record.restarts = earlier.restarts
        record.failures = earlier.failures


class JobAgent:
    """Keeps a job's file, lock and requests up to date until the job has ended.

    Args:
        job: the job.
        registry: where its file goes; while it cannot be written, the job runs without it.
        record: the file's first content.
        lease: the lock of its checkpoint directory; None for a temporary one.
        history: what else is told of it.
        fence: says whether the job is still this driver's; what another driver tells stays.
    """

    def __init__(
        self,
        job: Job,
        registry: JobRegistry,
        record: JobRecord,
        lease: Lease | None,
        history: JobHistory | None = None,
        fence: Fence | None = None,
    ) -> None:
        self._job = job
        self._fence = fence
        # of earlier drivers
        self._restarts_before = record.restarts
        self._failures_before = list(record.failures)
        self._registry = registry
        self._record = record
        self._lease = lease
        self._history = history
        self._step_names = {} if history is None else history.step_names
        self._lease_over = False
        self._lease_failed = False
        self._record_failed = False
        self._history_failed = False
        self._inbox: Inbox | None = None
        self._written: tuple[object, ...] = ()
        self._written_at = 0.0
        self._looked_at = 0.0
        self._teller = Teller(record)
        self._over = threading.Event()
        self._writing = threading.Lock()  # the job ends in another thread than this one's

    def start(self) -> None:
        """Show the job in the registry, and begin to listen."""
        self._write()
        self._tell_history(lambda history: history.begin(self._job))
        self._teller.start()
        name = f"headrace-agent-{self._job.name}"
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def end(self) -> None:
        """The job has ended: write its last state, give the directory free."""
        self._over.set()
        self._record.ended = wall_clock()
        self._tell_history(lambda history: history.write(self._job, last=True))
        self._write()
        self._teller.end()
        if self._lease is not None:
            self._lease.release()

    def _run(self) -> None:
        while not self._over.wait(_POLL_S):
            self._renew()
            self._answer()
            if time.monotonic() - self._looked_at >= _WRITE_EVERY_S:
                self._looked_at = time.monotonic()
                self._write_if_changed()
                self._tell_history(lambda history: history.write(self._job))
                self._teller.look()

    # --- the lock ----------------------------------------------------------------------------

    def _renew(self) -> None:
        if self._lease is None or self._lease_over:
            return
        try:
            self._lease.renew()
            self._lease_failed = False
        except JobError as error:
            self._job.fail(error)
            self._lease_over = True
        except ConnectorError as error:
            if not self._lease_failed:  # tried again at every look, told once
                log.warning("the lock of job %s could not be renewed: %s", self._job.name, error)
            self._lease_failed = True

    # --- the file ----------------------------------------------------------------------------

    def _write_if_changed(self) -> None:
        quiet_s = time.monotonic() - self._written_at
        if self._facts() != self._written or quiet_s >= _SIGN_OF_LIFE_S:
            self._write()

    def _facts(self) -> tuple[object, ...]:
        job = self._job
        changing = job.metrics.batches, job.restarts, len(job.failures)
        return job.status, job.is_stopping, job.waits_for, *changing

    def _write(self) -> None:
        with self._writing:
            self._written, self._written_at = self._facts(), time.monotonic()
            if not self._is_ours():
                return
            self._fill()
            try:
                self._registry.write(self._record)
                if self._inbox is None:
                    self._inbox = Inbox(self._registry.requests_of(self._record.job_id))
                self._record_failed = False
            except (OSError, TypeError, ValueError) as error:  # also a gauge that is no JSON
                self._record_not_written(error)

    def _tell_history(self, tell: Callable[[JobHistory], None]) -> None:
        """The job runs on, whatever becomes of its history."""
        if self._history is None or not self._is_ours():
            return
        try:
            with self._writing:
                tell(self._history)
            self._history_failed = False
        except Exception as error:
            if not self._history_failed:  # tried again at the next look, told once
                log.warning(
                    "the metrics of job %s could not be written: %s: %s",
                    self._job.name, type(error).__name__, error,
                )  # fmt: skip
            self._history_failed = True

    def _is_ours(self) -> bool:
        """Whether no other driver tells of the job; one that was replaced may say so first."""
        if self._fence is None or self._fence.holds():
            return True
        told = self._registry.get(self._record.job_id)
        return told is None or told.driver == self._record.driver

    def _record_not_written(self, error: Exception) -> None:
        self._written = ()  # tried again at the next look, told once
        if not self._record_failed:
            log.warning(
                "`headrace list` cannot show the current state of job %s: %s (set "
                "headrace.jobs.dir or HEADRACE_HOME to a writable directory)",
                self._job.name, error,
            )  # fmt: skip
        self._record_failed = True

    def _fill(self) -> None:
        job, record = self._job, self._record
        splits = job.metrics.splits.to_json()
        record.state = job.status.name
        record.stopping = job.is_stopping
        record.waits_for = job.waits_for
        if record.waits_for is None:
            record.waits_since = None
        elif record.waits_since is None:
            record.waits_since = wall_clock()
        record.updated = wall_clock()
        record.restarts = self._restarts_before + job.restarts
        record.driver_is_lost = job.driver_is_lost
        record.batches = job.metrics.batches
        record.last_batch = job.metrics.last_batch_id
        record.operators = {
            uid: {
                "name": self._step_names.get(uid, uid),
                "splits": {
                    split: each["watermark"] for split, each in splits_of(uid, splits).items()
                },
                **counts,
            }
            for uid, counts in job.metrics.snapshot()["operators"].items()
        }
        record.failures = [*self._failures_before, *map(_failure, list(job.failures))]
        record.error = None if job.error is None else str(job.error)
        last = job.last_savepoint
        if last is not None:
            record.savepoint = None if last.savepoint is None else last.savepoint.location
            record.savepoint_error = None if last.error is None else str(last.error)

    # --- requests ----------------------------------------------------------------------------

    def _answer(self) -> None:
        if self._inbox is None:
            return
        for request in self._inbox.take():
            threading.Thread(
                target=self._handle, args=(request,), name="headrace-request", daemon=True
            ).start()

    def _handle(self, request: Request) -> None:
        try:
            self._carry_out(request)
        except OSError as error:
            log.warning("an answer of job %s could not be written: %s", self._job.name, error)

    def _carry_out(self, request: Request) -> None:
        assert self._inbox is not None
        try:
            handler = HANDLERS.get(request.action)
            if handler is None:
                raise JobError(
                    f"this job's headrace does not know {request.action!r}",
                    fix="run the job with the same headrace version as the command",
                )
            result = handler(self._job, request.arguments)
        except BaseException as error:
            self._inbox.refuse(request, error)
        else:
            self._inbox.answer(request, result)


def _failure(failure: Failure) -> JsonObject:
    error = failure.error
    told = error.message if isinstance(error, HeadraceError) else str(error)
    return {
        "when": failure.when_ms,
        "type": type(error).__name__,
        "message": told[:2000],
        "where": getattr(error, "where", None),
        "raised_at": error.raised_at if isinstance(error, UserFunctionError) else None,
        "batches": failure.batches,
        "delay_ms": failure.delay_ms,
    }
