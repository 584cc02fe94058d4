"""Physical plan -> one streaming DataFrame of packets.

    source ── native steps ── stage 0 (mapInArrow) ─┐
    source ── native steps ── stage 0 (mapInArrow) ─┼─ union ── stage 1 ── stage 2 ── ... ── packets
    control ─────────────────────────────────────── ┘     (transformWithState by slot)

In: a PhysicalPlan.  Out: a DataFrame that control/job.py starts.  Next:
hosts/spark/microbatch/worker.py
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import cloudpickle

from headrace.connectors.collection.source import CollectionSource
from headrace.data.pickling import UserCode
from headrace.errors import HeadraceError
from headrace.hosts.spark.microbatch.processor import StageCode, StageProcessor
from headrace.hosts.spark.microbatch.slots import slot_ids
from headrace.hosts.spark.microbatch.worker import (
    ENVELOPE,
    bounded_function,
    control_function,
    source_function,
)
from headrace.hosts.spark.native.steps import apply_native
from headrace.hosts.spark.sources.collection_reader import open_collection
from headrace.hosts.spark.sources.file_reader import is_read_by_workers, open_file_paths
from headrace.hosts.spark.sources.opening import open_source
from headrace.hosts.spark.user_files import SHIPPED
from headrace.io.storage import Storage, local_path
from headrace.runtime.exchange.control_packets import source_edges

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from headrace.graph.nodes import Step
    from headrace.hosts.spark.sources.opening import SourceOptions
    from headrace.plan.physical import PhysicalPlan, SourcePlan
    from headrace.runtime.stage import StagePlan


def build_packets(
    plan: PhysicalPlan, spark: SparkSession, job_dir: str, run_id: str, options: SourceOptions
) -> DataFrame:
    """The whole job as one streaming DataFrame; its rows are packets for the driver."""
    ids = tuple(slot_ids(plan.slots))
    codes = [
        _code(source.stage, f"{run_id}/source{number}", ids, number, spark)
        for number, source in enumerate(plan.sources)
    ]
    frames = [
        # as many tasks as the job has subtasks: each keeps the user's functions open
        source_frame(source, spark, job_dir, options)
        .coalesce(options.parallelism)
        .mapInArrow(source_function(code), ENVELOPE)
        for source, code in zip(plan.sources, codes, strict=True)
    ]
    if plan.uses_time:
        control = open_control(spark, job_dir)
        edges = source_edges(source.stage for source in plan.sources)
        send = control_function(edges, ids, len(plan.sources))
        frames.append(control.mapInArrow(send, ENVELOPE))
    packets = reduce(lambda left, right: left.unionAll(right), frames)
    for stage in plan.stages:
        code = _code(stage, f"{run_id}/level{stage.level}", ids, 0, spark)
        if plan.batch:  # no state is kept, so none of what it costs is needed
            exchanged = packets.repartition(plan.slots, "slot")
            packets = exchanged.mapInArrow(bounded_function(code), ENVELOPE)
        else:
            packets = packets.groupBy("slot").transformWithState(
                StageProcessor(code), ENVELOPE, "Append", "None"
            )
    return packets


def _code(
    stage: StagePlan, key: str, ids: tuple[int, ...], number: int, spark: SparkSession
) -> StageCode:
    shipped = spark.conf.get(SHIPPED, "") or ""
    return StageCode(key, cloudpickle.dumps(stage), ids, UserCode.of_driver(), number, shipped)


def source_frame(
    plan: SourcePlan, spark: SparkSession, job_dir: str, options: SourceOptions
) -> DataFrame:
    """A source with its native steps applied."""
    source, here = plan.source, local_path(job_dir)
    if isinstance(source, CollectionSource) and not plan.native_steps and here is not None:
        folder = here / "sources" / plan.step.stable_id
        return open_collection(source, spark, folder, options.max_records_per_batch)
    if not plan.native_steps and is_read_by_workers(source):
        read = options.cut(source, job_dir, plan.step.stable_id)
        return _explained(
            plan.step,
            lambda: open_file_paths(read, spark, max_files_per_batch=options.max_files_per_batch),
        )
    frame = open_step(plan.step, spark, job_dir, options)
    for step in plan.native_steps:
        frame = apply_native(frame, step)
    return frame


def open_step(step: Step, spark: SparkSession, job_dir: str, options: SourceOptions) -> DataFrame:
    """The DataFrame of a source step; what cannot be read is told with the user's line."""
    source = step.source
    assert source is not None
    return _explained(
        step, lambda: open_source(source, spark, job_dir, options, source_id=step.stable_id)
    )


def _explained(step: Step, open_frame: Callable[[], DataFrame]) -> DataFrame:
    try:
        return open_frame()
    except HeadraceError as error:
        if error.where is None:
            error.where = str(step.call_site)
        raise


def control_dir(job_dir: str) -> str:
    """Where commands for a running query are put, one small file each."""
    return f"{job_dir.rstrip('/')}/control"


def open_control(spark: SparkSession, job_dir: str) -> DataFrame:
    """The stream of commands: files, so that a command is replayed with its batch."""
    folder = control_dir(job_dir)
    Storage.open(folder).make()
    return spark.readStream.text(folder)
