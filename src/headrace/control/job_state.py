"""The life of a job as a table: which status may follow which."""

from __future__ import annotations

from headrace.common.job_status import JobStatus
from headrace.errors import JobError

_NEXT: dict[JobStatus, frozenset[JobStatus]] = {
    JobStatus.CREATED: frozenset({JobStatus.RUNNING, JobStatus.FAILED, JobStatus.CANCELLING}),
    JobStatus.RUNNING: frozenset(
        {JobStatus.FINISHED, JobStatus.FAILED, JobStatus.CANCELLING, JobStatus.RESTARTING}
    ),
    JobStatus.RESTARTING: frozenset({JobStatus.RUNNING, JobStatus.FAILED, JobStatus.CANCELLING}),
    JobStatus.CANCELLING: frozenset({JobStatus.CANCELED, JobStatus.FAILED}),
    JobStatus.FINISHED: frozenset(),
    JobStatus.FAILED: frozenset(),
    JobStatus.CANCELED: frozenset(),
}


def is_terminal(status: JobStatus) -> bool:
    """Whether a job with this status will never run again."""
    return not _NEXT[status]


def check_transition(before: JobStatus, after: JobStatus) -> None:
    """Refuse a step that the table does not have."""
    if after not in _NEXT[before]:
        raise JobError(f"a job that is {before.name} cannot become {after.name}")
