"""A program that Catalyst runs as a whole: Spark writes the files, headrace commits them.

In: a batch's DataFrame.  Out: committables per sink, as a writer in Python would return.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from headrace.runtime.sinks.manifest import FileCommittable, Layout
from headrace.runtime.sinks.storage import Storage
from headrace.spark.native import apply_native

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from headrace.datastream.connectors.file_system import FileSink
    from headrace.plan.physical import NativeJob


def run_native_batch(
    batch: DataFrame, job: NativeJob, batch_id: int, job_id: str
) -> dict[str, list[Any]]:
    """Stage one batch for every sink; with several sinks the source is read once."""
    several = len(job.sinks) > 1
    if several:
        batch.persist()
    try:
        staged: dict[str, list[Any]] = {}
        for sink_step, steps in job.sinks:
            frame = batch
            for step in steps:
                frame = apply_native(frame, step)
            sink: FileSink = sink_step.operator.sink  # type: ignore[union-attr]
            uid = sink_step.stable_id
            staged[uid] = stage_parquet(frame, sink.path, Layout(job_id, uid), batch_id)
        return staged
    finally:
        if several:
            batch.unpersist()


def stage_parquet(
    frame: DataFrame, path: str, layout: Layout, batch_id: int
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
