"""Physical plan -> one streaming DataFrame of packets.

    source ── native steps ── stage 0 (mapInArrow) ─┐
    source ── native steps ── stage 0 (mapInArrow) ─┼─ union ── stage 1 ── stage 2 ── ... ── packets
    control ─────────────────────────────────────── ┘     (transformWithState by slot)

In: a PhysicalPlan.  Out: a DataFrame that control/job.py starts.  Next:
hosts/spark/microbatch/worker.py
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

import cloudpickle

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
from headrace.hosts.spark.sources.adapter import OpenedSource, SourceRequest
from headrace.hosts.spark.sources.opening import ADAPTERS
from headrace.hosts.spark.user_files import SHIPPED
from headrace.io.storage import Storage
from headrace.runtime.exchange.control_packets import source_edges

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.graph.nodes import Step
    from headrace.hosts.spark.sources.adapter import SourceOptions
    from headrace.plan.physical import PhysicalPlan, SourcePlan
    from headrace.runtime.stage import StagePlan


def build_packets(
    plan: PhysicalPlan,
    spark: SparkSession,
    job_dir: str,
    run_id: str,
    options: SourceOptions,
    inspector: bytes = b"",
) -> DataFrame:
    """The whole job as one streaming DataFrame; its rows are packets for the driver."""
    ids = tuple(slot_ids(plan.slots))

    def code_of(stage: StagePlan, name: str) -> StageCode:
        shipped = spark.conf.get(SHIPPED, "") or ""
        return StageCode(
            f"{run_id}/{name}",
            cloudpickle.dumps(stage),
            ids,
            UserCode.of_driver(),
            shipped=shipped,
            inspector=inspector,
        )

    frames = []
    for number, source in enumerate(plan.sources):
        opened = source_frame(source, spark, job_dir, options)
        code = replace(
            code_of(source.stage, f"source{number}"),
            source_number=number,
            layout=cloudpickle.dumps(opened.layout),
        )
        # as many tasks as the job has subtasks: each keeps the user's functions open
        tasks = opened.frame.coalesce(options.parallelism)
        frames.append(tasks.mapInArrow(source_function(code), ENVELOPE))
    if plan.uses_time:
        control = open_control(spark, job_dir)
        edges = source_edges(source.stage for source in plan.sources)
        send = control_function(edges, ids, len(plan.sources))
        # one task, whose packets are numbered: Spark would give every file of commands its own
        frames.append(control.coalesce(1).mapInArrow(send, ENVELOPE))
    packets = reduce(lambda left, right: left.unionAll(right), frames)
    for stage in plan.stages:
        code = code_of(stage, f"level{stage.level}")
        if plan.batch:  # no state is kept, so none of what it costs is needed
            exchanged = packets.repartition(plan.slots, "slot")
            packets = exchanged.mapInArrow(bounded_function(code), ENVELOPE)
        else:
            packets = packets.groupBy("slot").transformWithState(
                StageProcessor(code), ENVELOPE, "Append", "None"
            )
    return packets


def source_frame(
    plan: SourcePlan, spark: SparkSession, job_dir: str, options: SourceOptions
) -> OpenedSource:
    """A source with its native steps applied."""
    opened = open_step(plan.step, spark, job_dir, options, columns=bool(plan.native_steps))
    frame, layout = opened.frame, opened.layout
    for step in plan.native_steps:
        frame = apply_native(frame, step)
        if step.native is not None and step.native.kind == "stamp":
            layout = replace(layout, timestamps=True)
    return OpenedSource(frame, layout)


def open_step(
    step: Step, spark: SparkSession, job_dir: str, options: SourceOptions, *, columns: bool = True
) -> OpenedSource:
    """The DataFrame of a source step; what cannot be read is reported with the user's line.

    Args:
        step: the step.
        spark: the session that will run the query.
        job_dir: the job's directory.
        options: limits of a batch.
        columns: whether Catalyst goes on with the records, so that they must be plain columns.
    """
    source = step.source
    assert source is not None
    adapter = ADAPTERS.of(source, where=step.call_site)
    try:
        return adapter.open(
            source, SourceRequest(spark, job_dir, step.stable_id, options, columns=columns)
        )
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
