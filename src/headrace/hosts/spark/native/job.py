"""A program that Catalyst runs as a whole: Spark writes the files, headrace commits them.

In: a NativeJob, then each batch's DataFrame.  Out: committables per sink, as a writer in Python
would return.  Next: hosts/spark/native/steps.py for its steps.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from headrace.connectors.files.manifest import FileCommittable, SinkPlaces
from headrace.hosts.spark.microbatch.build import open_step
from headrace.hosts.spark.native.steps import apply_native
from headrace.io.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.common.opaque import Committable
    from headrace.connectors.files.sink import FileSink
    from headrace.hosts.spark.sources.opening import SourceOptions
    from headrace.plan.physical import NativeJob


def open_native(
    job: NativeJob, spark: SparkSession, job_dir: str, options: SourceOptions
) -> DataFrame:
    """What a native program reads in each batch."""
    return open_step(job.source, spark, job_dir, options).frame


def native_frame(
    job: NativeJob, spark: SparkSession, job_dir: str, options: SourceOptions
) -> DataFrame:
    """A native program up to its only end, for a query of the user's."""
    frame = open_native(job, spark, job_dir, options)
    [(_, steps)] = job.sinks
    for step in steps:
        frame = apply_native(frame, step)
    return frame


def run_native_batch(
    batch: DataFrame, job: NativeJob, batch_id: int, job_id: str
) -> dict[str, list[Committable]]:
    """Stage one batch for every sink; with several sinks it is computed once."""
    several = len(job.sinks) > 1
    if several:
        batch.persist()
    try:
        staged: dict[str, list[Committable]] = {}
        for sink_step, steps in job.sinks:
            frame = batch
            for step in steps:
                frame = apply_native(frame, step)
            sink: FileSink = sink_step.operator.sink  # type: ignore[union-attr]
            uid = sink_step.stable_id
            staged[uid] = stage_parquet(frame, sink.path, SinkPlaces(job_id, uid), batch_id)
        return staged
    finally:
        if several:
            batch.unpersist()


def stage_parquet(
    frame: DataFrame, path: str, layout: SinkPlaces, batch_id: int
) -> list[FileCommittable]:
    """Let Spark write a batch to a folder of this attempt, then hand its files to the committer."""
    attempt = uuid.uuid4().hex[:12]
    folder = f"{layout.folder}/native-{batch_id:010d}-{attempt}"
    frame.write.parquet(f"{path.rstrip('/')}/{folder}")
    storage = Storage.open(path)
    staged = []
    for number, file in enumerate(f for f in storage.list(folder) if f.name.startswith("part-")):
        source, target = f"{folder}/{file.name}", layout.staged(batch_id, number, attempt, 0)
        with storage.open_input(source) as content:
            rows = pq.read_metadata(content).num_rows
        if rows:
            storage.move(source, target)
            staged.append(FileCommittable(target, "", number, 0, rows, file.size_bytes))
    storage.delete_folder(folder)
    return staged
