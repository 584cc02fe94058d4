"""SHOW JOBS, DESCRIBE JOB and STOP JOB: this user's jobs, or those of a dispatcher.

In: statements.  Out: lines that are known.  Jobs of other terminals are there, too.
Next: cli/targets.py
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from headrace.cli.output import when
from headrace.common.data_types import DataTypes
from headrace.errors import JobError
from headrace.io.processes import this_process
from headrace.table.table_result import TableResult, content_result, ok_result

if TYPE_CHECKING:
    from headrace.cli.targets import Jobs
    from headrace.common.opaque import JsonObject
    from headrace.control.registry import JobRecord
    from headrace.sql.statement_ast import StopJob

_COLUMNS = [(name, DataTypes.STRING()) for name in ("job id", "job name", "status", "start time")]
_PATIENCE_S, _POLL_S = 120.0, 0.05


def show_jobs(jobs: Jobs) -> TableResult:
    """The jobs that run, and those that this client has started; the newest first."""
    me = this_process()
    shown = [
        record
        for record in jobs.all()
        if record.kind == "job" and (record.is_running or record.driver == me)
    ]
    return content_result(_COLUMNS, [_line(record) for record in shown])


def describe_job(jobs: Jobs, job: str) -> TableResult:
    """One job, by its id, the beginning of its id, or its name."""
    return content_result(_COLUMNS, [_line(jobs.find(job, newest=True))])


def stop_job(jobs: Jobs, statement: StopJob, folder: str | None) -> TableResult:
    """Cancel a job; WITH SAVEPOINT stops it after what it is doing, and says where it is.

    Args:
        jobs: all of them.
        statement: which of them, and how.
        folder: for the savepoint; None for the job's own.
    """
    record = jobs.find(statement.job_id)
    if not statement.savepoint:
        jobs.ask_to_end(record.job_id, "cancel", {}, timeout_s=_PATIENCE_S)
        wait_for_end(jobs, record)
        return ok_result()
    how: JsonObject = {"drain": statement.drain, "savepoint": folder}
    jobs.ask_to_end(record.job_id, "stop", how, timeout_s=_PATIENCE_S)
    ended = wait_for_end(jobs, record)
    if ended.savepoint is None:
        raise JobError(
            f"no savepoint was written: {ended.savepoint_error or 'the job ended before'}",
            fix="the job has ended, and its checkpoint stays",
        )
    return content_result([("savepoint path", DataTypes.STRING())], [(ended.savepoint,)])


def _line(record: JobRecord) -> tuple[str, ...]:
    return (record.job_id, record.name, record.state, when(record.started))


def wait_for_end(jobs: Jobs, record: JobRecord, patience_s: float = _PATIENCE_S) -> JobRecord:
    """The job when it has ended."""
    deadline = time.monotonic() + patience_s
    while True:
        found = jobs.get(record.job_id)
        if found is None or not found.is_running:
            return found or record
        if time.monotonic() > deadline:
            raise JobError(
                f"job {record.name!r} was asked to end, but is still {found.state}",
                fix="it is still ending; SHOW JOBS shows when it has ended",
            )
        time.sleep(_POLL_S)
