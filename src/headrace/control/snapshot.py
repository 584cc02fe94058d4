"""Takes a savepoint of a job, running or stopped, at its newest committed epoch.

    the host's checkpoint ── Checkpoints.save ──▶ state/*.parquet, sources/ ──▶ metadata.json, last

A running job continues, and may remove the batch that is being read: then the newest one is read
instead, and as a last resort the job waits.

In: what a host has stored of a job, and what its program looks like.  Out: a StoredSavepoint.
Next: control/savepoints.py (the format), control/restore.py (the way back)
"""

from __future__ import annotations

import contextlib
import logging
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.common.clock import wall_clock
from headrace.control.savepoints import (
    SavedOperator,
    SavedSource,
    StoredSavepoint,
    checksums,
    saved_states,
    write_metadata,
    written_files,
)
from headrace.errors import ConnectorError, HeadraceError, SavepointError
from headrace.io.storage import Storage

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from headrace.control.fingerprint import Fingerprint
    from headrace.spi.host import Checkpoints

log = logging.getLogger(__name__)

_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class SnapshotJob:
    """What has to be known of a job to take its savepoint.

    Attributes:
        job_id: its id.
        name: for people.
        job_dir: its directory.
        program: what it looks like.
        checkpoints: what its host has stored of it.
    """

    job_id: str
    name: str
    job_dir: str
    program: Fingerprint
    checkpoints: Checkpoints


def take_savepoint(
    job: SnapshotJob,
    folder: str,
    *,
    drained: bool = False,
    paused: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext,
    publish: Callable[[], None] = lambda: None,
) -> StoredSavepoint:
    """Write a savepoint into a new directory of a folder.

    Args:
        job: whose savepoint.
        folder: where the new directory goes.
        drained: whether event time of the job has reached its end.
        paused: holds the next batch of the job back while it is open.
        publish: has the job's sinks show what they hold back. Called when all is written and
            before it counts: what was committed up to this batch is then in sight of readers.

    Raises:
        SavepointError: no batch is committed yet, or something could not be written; what was
            written so far is removed.
    """
    location = f"{folder.rstrip('/')}/savepoint-{job.job_id[:6]}-{uuid.uuid4().hex[:12]}"
    for _ in range(_ATTEMPTS - 1):
        batch_id = _newest_batch(job)
        try:
            return _take(job, batch_id, location, drained=drained, publish=publish)
        except Exception as error:
            if not _may_be_cleared_away(error, job, batch_id):
                raise
            log.info("savepoint of job %s: batch %d was removed while it was read (%s)",
                     job.name, batch_id, error)  # fmt: skip
    with contextlib.ExitStack() as pause:
        pause.enter_context(paused())

        def go_on_and_publish() -> None:
            pause.close()
            publish()

        batch_id = _newest_batch(job)
        return _take(job, batch_id, location, drained=drained, publish=go_on_and_publish)


def _newest_batch(job: SnapshotJob) -> int:
    batch_id = job.checkpoints.last_epoch()
    if batch_id is None:
        raise SavepointError(
            f"job {job.name!r} has not committed a batch yet, so there is nothing to save",
            fix="try again when it has committed one",
        )
    return batch_id


def _may_be_cleared_away(error: Exception, job: SnapshotJob, batch_id: int) -> bool:
    """Whether reading a batch can have failed because the job has gone on.

    Spark tells of a file that is missing in many ways; so what counts is whether there is a newer
    batch.  What headrace itself refuses, another batch has as well.
    """
    refused = isinstance(error, HeadraceError) and not isinstance(error, ConnectorError)
    return not refused and job.checkpoints.last_epoch() != batch_id


def _take(
    job: SnapshotJob,
    batch_id: int,
    location: str,
    *,
    drained: bool,
    publish: Callable[[], None],
) -> StoredSavepoint:
    """Write a savepoint of one batch; all or nothing."""
    try:
        savepoint = _write(job, batch_id, location, drained=drained)
        publish()
        write_metadata(savepoint)
    except BaseException:
        with contextlib.suppress(Exception):
            Storage.open(location).delete_folder("")
        raise
    return savepoint


def _write(job: SnapshotJob, batch_id: int, location: str, *, drained: bool) -> StoredSavepoint:
    width = {step.uid: step.max_parallelism for step in job.program.steps if step.kind != "sink"}
    positions = job.checkpoints.save(batch_id, location, width)
    kept = written_files(location)
    states = saved_states(location, kept)
    return StoredSavepoint(
        location=location,
        job_id=job.job_id,
        job_name=job.name,
        job_dir=job.job_dir,
        batch_id=batch_id,
        created_ms=wall_clock(),
        drained=drained,
        operators=tuple(
            SavedOperator(
                step.uid, step.name, step.kind, step.parallelism, step.max_parallelism,
                states.get(step.uid, ()),
            )
            for step in job.program.steps
            if step.kind != "sink"
        ),
        sources=tuple(
            SavedSource(uid, kind, position.offsets, position.numbers)
            for (uid, kind), position in zip(job.program.sources, positions, strict=True)
        ),
        files=checksums(location, kept),
    )  # fmt: skip
