"""Takes a savepoint of a job, running or stopped, at its newest committed batch.

    state store files ── hosts/spark/state/export.py ──▶ state/*.parquet ┐
    offsets/N, sources/ ───────── copied ────────▶ sources/        ┴─▶ metadata.json, last

A running job goes on meanwhile, and may clear away the batch that is read: then the newest one is
read in its place, and at last the job waits for it.

In: a job's directory and what its program looks like.  Out: a Savepoint.
Next: control/savepoints.py (the format), control/restore.py (the way back)
"""

from __future__ import annotations

import contextlib
import logging
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.common.clock import wall_clock
from headrace.control.fingerprint import NATIVE_WINDOW
from headrace.control.savepoints import (
    SOURCES_FOLDER,
    STATE_FOLDER,
    SavedOperator,
    SavedSource,
    Savepoint,
    checksums,
    saved_states,
    write_metadata,
    written_files,
)
from headrace.errors import ConnectorError, HeadraceError, SavepointError
from headrace.hosts.spark.state.checkpoint_files import last_batch, read_offsets
from headrace.hosts.spark.state.export import entries_frame
from headrace.io.storage import Storage

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from headrace.control.fingerprint import Fingerprint

log = logging.getLogger(__name__)

_ATTEMPTS = 3
_COPY_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class SnapshotJob:
    """What has to be known of a job to take its savepoint.

    Attributes:
        job_id: its id.
        name: for people.
        job_dir: its directory.
        program: what it looks like.
        streams: for every source of the program, how many of Spark's sources it is.
    """

    job_id: str
    name: str
    job_dir: str
    program: Fingerprint
    streams: tuple[int, ...]

    @property
    def checkpoint(self) -> str:
        """That of its query."""
        return f"{self.job_dir}/query"


def take_savepoint(
    spark: Any,
    job: SnapshotJob,
    folder: str,
    *,
    drained: bool = False,
    paused: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext,
) -> Savepoint:
    """Write a savepoint into a new directory of a folder.

    Args:
        spark: the job's session.
        job: whose savepoint.
        folder: where the new directory goes.
        drained: whether event time of the job has reached its end.
        paused: holds the next batch of the job back while it is open.

    Raises:
        SavepointError: no batch is committed yet, or something could not be written; what was
            written so far is removed.
    """
    if not drained:
        _check_can_be_saved(job)
    location = f"{folder.rstrip('/')}/savepoint-{job.job_id[:6]}-{uuid.uuid4().hex[:12]}"
    for _ in range(_ATTEMPTS - 1):
        batch_id = _newest_batch(job)
        try:
            return _take(spark, job, batch_id, location, drained=drained)
        except Exception as error:
            if not _may_be_cleared_away(error, job, batch_id):
                raise
            log.info("savepoint of job %s: batch %d went away while it was read (%s)",
                     job.name, batch_id, error)  # fmt: skip
    with paused():
        return _take(spark, job, _newest_batch(job), location, drained=drained)


def _newest_batch(job: SnapshotJob) -> int:
    batch_id = last_batch(job.checkpoint)
    if batch_id is None:
        raise SavepointError(
            f"job {job.name!r} has not committed a batch yet, so there is nothing to save",
            fix="try again when it has",
        )
    return batch_id


def _may_be_cleared_away(error: Exception, job: SnapshotJob, batch_id: int) -> bool:
    """Whether reading a batch can have failed because the job has gone on.

    Spark tells of a file that is missing in many ways; so what counts is whether there is a newer
    batch.  What headrace itself refuses, another batch has as well.
    """
    refused = isinstance(error, HeadraceError) and not isinstance(error, ConnectorError)
    return not refused and last_batch(job.checkpoint) != batch_id


def _take(
    spark: Any, job: SnapshotJob, batch_id: int, location: str, *, drained: bool
) -> Savepoint:
    """Write a savepoint of one batch; all or nothing."""
    try:
        savepoint = _write(spark, job, batch_id, location, drained=drained)
        write_metadata(savepoint)
    except BaseException:
        with contextlib.suppress(Exception):
            Storage.open(location).delete_folder("")
        raise
    return savepoint


def _check_can_be_saved(job: SnapshotJob) -> None:
    for step in job.program.steps:
        if step.kind == NATIVE_WINDOW:
            raise SavepointError(
                f"the open windows of step {step.name!r} (uid {step.uid!r}) are in Spark's own "
                "state, which a savepoint cannot hold",
                fix="drain the job, or run its windows in Python from the start: "
                "headrace.windows.native: false",
            )


def _write(
    spark: Any, job: SnapshotJob, batch_id: int, location: str, *, drained: bool
) -> Savepoint:
    offsets = read_offsets(job.checkpoint, batch_id)
    _copy_sources(job.checkpoint, location, sum(job.streams))
    _export(spark, job, batch_id, location)
    kept = written_files(location)
    states = saved_states(location, kept)
    return Savepoint(
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
        sources=tuple(_sources(job, offsets)),
        files=checksums(location, kept),
    )  # fmt: skip


def _sources(job: SnapshotJob, offsets: list[str | None]) -> list[SavedSource]:
    found, first = [], 0
    for (uid, kind), width in zip(job.program.sources, job.streams, strict=True):
        numbers = tuple(range(first, first + width))
        found.append(SavedSource(uid, kind, tuple(offsets[n] for n in numbers), numbers))
        first += width
    return found


def _copy_sources(checkpoint: str, location: str, count: int) -> None:
    """Copy what sources keep; a source that clears up its log meanwhile is copied once more."""
    source, target = Storage.open(checkpoint), Storage.open(location)
    for attempt in range(_COPY_ATTEMPTS):
        try:
            for number in range(count):
                for name in source.walk(f"{SOURCES_FOLDER}/{number}"):
                    if not name.rsplit("/", 1)[-1].startswith("."):  # half written, or a checksum
                        target.write_atomic(name, source.read(name))
            return
        except ConnectorError:
            target.delete_folder(SOURCES_FOLDER)
            if attempt == _COPY_ATTEMPTS - 1:
                raise


def _export(spark: Any, job: SnapshotJob, batch_id: int, location: str) -> None:
    """Write the entries as Parquet."""
    width = {step.uid: step.max_parallelism for step in job.program.steps if step.kind != "sink"}
    frame = entries_frame(spark, job.checkpoint, batch_id, width)
    if frame is not None:
        frame.write.parquet(f"{location}/{STATE_FOLDER}")
