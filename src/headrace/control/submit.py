"""Starts a job from a graph: plan it, build it on Spark, make its committers, run it.

In: a StreamGraph and a JobSpec.  Out: a started Job.  Next: spark/build.py, control/job.py
"""

from __future__ import annotations

import json
import shutil
import tempfile
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.control.commands import CommandWriter
from headrace.control.job import Job
from headrace.datastream.connectors.collection import CollectionSource
from headrace.datastream.connectors.python_source import PythonSource
from headrace.datastream.connectors.sink import CommitterContext
from headrace.plan.planner import PlanOptions, plan
from headrace.spark.build import build_packets, control_dir, is_local, local_path, open_step
from headrace.spark.native import resolve_types
from headrace.spark.native_job import run_native_batch
from headrace.spark.query import SparkQuery
from headrace.spark.results import packets_of
from headrace.spark.session import base_session, job_session
from headrace.spark.sources import SourceOptions

if TYPE_CHECKING:
    from headrace.datastream.connectors.sink import Committer
    from headrace.graph.stream_graph import StreamGraph
    from headrace.plan.physical import PhysicalPlan


@dataclass(slots=True)
class JobSpec:
    """What the environment and the configuration say about a job."""

    name: str
    parallelism: int
    max_parallelism: int | None = None
    master: str = "local[*]"
    spark_settings: dict[str, str] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    checkpoint_dir: str | None = None
    interval_ms: int = 0
    job_parameters: dict[str, str] = field(default_factory=dict)
    session: Any = None
    python_files: list[str] = field(default_factory=list)


def submit(graph: StreamGraph, spec: JobSpec) -> Job:
    """Plan, build and start; errors in the program are raised here, before anything runs."""
    base = spec.session or session_of(spec)
    for file in spec.python_files:
        base.sparkContext.addPyFile(file)
    resolve_types(graph, base)
    job_dir, temporary = _job_dir(spec)
    try:
        job_id = _job_id(job_dir)
        physical = plan(graph, plan_options(spec, job_id))
        spark = job_session(base, spec.spark_settings, physical.slots)
        commands = CommandWriter(control_dir(job_dir)) if physical.uses_time else None
        job = Job(
            job_id=job_id,
            name=spec.name,
            bounded=physical.bounded,
            exhausted=lambda query: _exhausted(physical, query),
            committers=_committers(physical, job_id, None if temporary else job_dir),
            commands=commands,
            cleanup=lambda: _remove(job_dir) if temporary else None,
        )
        query = _query(physical, spark, job, job_dir, spec)
    except BaseException:
        if temporary:
            _remove(job_dir)
        raise
    job.start(query)
    return job


def session_of(spec: JobSpec) -> Any:
    """The SparkSession for a job: the running one, or a new one."""
    return base_session(spec.spark_settings, spec.master)


def plan_options(spec: JobSpec, job_id: str) -> PlanOptions:
    """What the planner has to know of a job."""
    return PlanOptions(
        parallelism=spec.parallelism,
        max_parallelism=spec.max_parallelism,
        job_id=job_id,
        job_name=spec.name,
        job_parameters=spec.job_parameters,
    )


def _query(physical: PhysicalPlan, spark: Any, job: Job, job_dir: str, spec: JobSpec) -> SparkQuery:
    options = SourceOptions.from_configuration(spec.options, parallelism=spec.parallelism)
    native = physical.native_job
    if native is not None:
        frame = open_step(native.source, spark, job_dir, options)
        return SparkQuery(
            frame,
            checkpoint=f"{job_dir}/query",
            name=spec.name,
            interval_ms=spec.interval_ms,
            on_batch=lambda batch, number: job.commit(
                number, run_native_batch(batch, native, number, job.job_id)
            ),
        )
    frame = build_packets(physical, spark, job_dir, uuid.uuid4().hex, options)
    return SparkQuery(
        frame,
        checkpoint=f"{job_dir}/query",
        name=spec.name,
        interval_ms=spec.interval_ms,
        on_batch=lambda batch, number: job.on_batch(packets_of(batch), number),
    )


def _exhausted(physical: PhysicalPlan, query: SparkQuery) -> bool:
    """Whether every source that may hold records back has given them all."""
    limited = [
        (number, plan.step.source)
        for number, plan in enumerate(physical.sources)
        if isinstance(plan.step.source, PythonSource)
        and not isinstance(plan.step.source, CollectionSource)
    ]
    offsets = query.source_offsets() if limited else []
    return all(
        number < len(offsets) and source.is_exhausted(offsets[number] or {})
        for number, source in limited
    )


def _committers(
    physical: PhysicalPlan, job_id: str, state_dir: str | None
) -> dict[str, tuple[str, Committer]]:
    made: dict[str, tuple[str, Committer]] = {}
    for step in physical.sinks:
        uid = step.stable_id
        sink = step.operator.sink  # type: ignore[union-attr]
        folder = None if state_dir is None else f"{state_dir}/sinks/{uid}"
        context = CommitterContext(job_id=job_id, sink_uid=uid, state_dir=folder)
        made[uid] = (f"{step.name} at {step.call_site}", sink.create_committer(context))
    return made


def _job_dir(spec: JobSpec) -> tuple[str, bool]:
    """The job's directory, and whether it goes away with the job."""
    if spec.checkpoint_dir is None:
        return tempfile.mkdtemp(prefix="headrace-job-"), True
    if "://" not in spec.checkpoint_dir:
        folder = Path(spec.checkpoint_dir).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        return str(folder), False
    return spec.checkpoint_dir.rstrip("/"), False


def _job_id(job_dir: str) -> str:
    """The id in the job's directory, so that a restarted job is the same job."""
    if not is_local(job_dir):
        return stored_job_id(job_dir)
    file = local_path(job_dir) / "job.json"
    if file.exists():
        return str(json.loads(file.read_text())["job_id"])
    job_id = uuid.uuid4().hex
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"job_id": job_id}))
    return job_id


def stored_job_id(job_dir: str) -> str:
    """The same in a directory of another file system: a new id when the directory is new."""
    from pyarrow import fs

    system, folder = fs.FileSystem.from_uri(job_dir)
    path = f"{folder}/job.json"
    if system.get_file_info(path).type == fs.FileType.File:
        with system.open_input_stream(path) as stream:
            return str(json.loads(stream.read())["job_id"])
    job_id = uuid.uuid4().hex
    system.create_dir(folder, recursive=True)
    with system.open_output_stream(path) as stream:
        stream.write(json.dumps({"job_id": job_id}).encode())
    return job_id


def _remove(folder: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
