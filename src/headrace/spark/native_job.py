"""A program that Catalyst runs as a whole: Spark writes the files, headrace commits them.

In: a batch's DataFrame.  Out: committables per sink, as writers in Python workers would return them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.spark.native import apply_native

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

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
            sink = sink_step.operator.sink  # type: ignore[union-attr]
            uid = sink_step.stable_id
            staged[uid] = sink.stage_natively(frame, batch_id=batch_id, job_id=job_id, sink_uid=uid)
        return staged
    finally:
        if several:
            batch.unpersist()
