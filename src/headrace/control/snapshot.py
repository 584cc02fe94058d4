"""Takes a savepoint of a job, running or stopped, at its newest committed batch.

    state store files ── hosts/spark/state/export.py ──▶ state/*.parquet ┐
    offsets/N, sources/ ───────── copied ────────▶ sources/        ┴─▶ metadata.json, last

In: a job's directory and what its program looks like.  Out: a Savepoint.
Next: control/savepoints.py (the format), control/restore.py (the way back)
"""

from __future__ import annotations

import contextlib
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
from headrace.errors import ConnectorError, SavepointError
from headrace.hosts.spark.state.checkpoint_files import last_batch, read_offsets
from headrace.hosts.spark.state.export import entries_frame
from headrace.io.storage import Storage

if TYPE_CHECKING:
    from headrace.control.fingerprint import Fingerprint

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


def take_savepoint(
    spark: Any, job: SnapshotJob, folder: str, *, drained: bool = False
) -> Savepoint:
    """Write a savepoint into a new directory of a folder.

    Raises:
        SavepointError: no batch is committed yet, or something could not be written; what was
            written so far is removed.
    """
    if not drained:
        _check_can_be_saved(job)
    checkpoint = f"{job.job_dir}/query"
    batch_id = last_batch(checkpoint)
    if batch_id is None:
        raise SavepointError(
            f"job {job.name!r} has not committed a batch yet, so there is nothing to save",
            fix="try again when it has",
        )
    location = f"{folder.rstrip('/')}/savepoint-{job.job_id[:6]}-{uuid.uuid4().hex[:12]}"
    try:
        savepoint = _write(spark, job, checkpoint, batch_id, location, drained=drained)
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
    spark: Any, job: SnapshotJob, checkpoint: str, batch_id: int, location: str, *, drained: bool
) -> Savepoint:
    offsets = read_offsets(checkpoint, batch_id)
    _copy_sources(checkpoint, location, sum(job.streams))
    _export(spark, job, checkpoint, batch_id, location)
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


def _export(spark: Any, job: SnapshotJob, checkpoint: str, batch_id: int, location: str) -> None:
    """Write the entries as Parquet."""
    width = {step.uid: step.max_parallelism for step in job.program.steps if step.kind != "sink"}
    frame = entries_frame(spark, checkpoint, batch_id, width)
    if frame is not None:
        frame.write.parquet(f"{location}/{STATE_FOLDER}")
