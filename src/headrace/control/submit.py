"""Starts a job from a graph: plan it, check its checkpoint, build it on Spark, run it.

    plan ─▶ does the checkpoint fit? ─▶ lock it ─▶ attempts (build, start, run) ─▶ clear up

In: a StreamGraph and a JobSpec.  Out: a started Job.  Next: control/job_dir.py,
hosts/spark/microbatch/build.py, control/job.py
"""

from __future__ import annotations

import logging
import uuid
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from headrace.common.configuration import Configuration
from headrace.common.job_status import JobStatus
from headrace.common.options import OPTIONS
from headrace.common.restart_strategy import strategy_from_options
from headrace.control.agent import JobAgent, new_record
from headrace.control.attempt import Attempt
from headrace.control.commands import CommandWriter
from headrace.control.fingerprint import fingerprint
from headrace.control.job import Job
from headrace.control.job_dir import JobDir, new_job_id
from headrace.control.messages import BatchMessages, read_messages
from headrace.control.registry import Registry
from headrace.control.restore import check, compare, declared_types, restore, restored_states
from headrace.control.savepoints import read_savepoint
from headrace.control.snapshot import SnapshotJob, take_savepoint
from headrace.errors import InternalError, PlanError, SavepointError
from headrace.hosts.spark.microbatch.build import build_packets, control_dir
from headrace.hosts.spark.microbatch.query import SparkQuery
from headrace.hosts.spark.microbatch.results import packets_of
from headrace.hosts.spark.native.job import native_settings, open_native, run_native_batch
from headrace.hosts.spark.native.types import resolve_types
from headrace.hosts.spark.native.windows import begin_event_time_anew, is_at_end
from headrace.hosts.spark.session import base_session, job_session, state_store_settings
from headrace.hosts.spark.sources.opening import SourceOptions, are_exhausted, streams_of
from headrace.hosts.spark.user_files import ship
from headrace.io.lease import Lease
from headrace.io.storage import Storage, absolute_target
from headrace.plan.execution_mode import runs_in_batch
from headrace.plan.planner import PlanOptions, plan
from headrace.spi.sink import CommitterContext

if TYPE_CHECKING:
    from headrace.control.fingerprint import Fingerprint
    from headrace.control.job_dir import Identity
    from headrace.control.metrics import JobMetrics
    from headrace.control.restore import Match
    from headrace.control.savepoints import Savepoint
    from headrace.graph.stream_graph import StreamGraph
    from headrace.plan.physical import PhysicalPlan
    from headrace.spi.sink import Committer

log = logging.getLogger(__name__)


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
    kind: str = "job"  # preview and collect are left out of lists of jobs

    def for_preview(self) -> JobSpec:
        """The same program for a look at its first records.

        In small batches, so that the first one is soon over however much there is to read; and in
        a directory of its own: the checkpoint of the job itself stays as it is.
        """
        begins = ("execution.checkpointing.", "execution.state-recovery.", "headrace.jobs.unique")
        kept = {key: value for key, value in self.options.items() if not key.startswith(begins)}
        limits = {"source.max-records-per-batch": 1000, "source.max-files-per-batch": 1}
        return replace(
            self, kind="preview", checkpoint_dir=None, interval_ms=0, options={**kept, **limits}
        )

    def option(self, key: str) -> Any:
        """The value of an option in its type, or its default."""
        return Configuration.from_dict(self.options).get(OPTIONS[key])

    def plan_options(self, job_id: str = "", savepoint: Savepoint | None = None) -> PlanOptions:
        """What the planner has to know of the job."""
        operators = () if savepoint is None else savepoint.operators
        return PlanOptions(
            restored_max_parallelism={o.uid: o.max_parallelism for o in operators},
            parallelism=self.parallelism,
            max_parallelism=self.max_parallelism,
            mode=self.option("execution.runtime-mode"),
            sort_memory_bytes=self.option("execution.sorted-inputs.memory"),
            job_id=job_id,
            job_name=self.name,
            job_parameters=self.job_parameters,
        )


def submit(graph: StreamGraph, spec: JobSpec) -> Job:
    """Plan, build and start; errors in the program are raised here, before anything runs."""
    job_dir = JobDir.open(_checkpoint_dir(graph, spec))
    claimed: _Claimed | None = None
    try:
        _savepoint(spec, job_dir.read_identity(), job_dir)  # is it there? before Spark is started
        base = spec.session or session_of(spec)
        resolve_types(graph, base)
        if spec.kind == "preview":
            spec = _for_a_look(graph, spec)
        claimed = _claim(graph, spec, job_dir)
        job, agent = _job(claimed, base, job_dir, spec)
    except BaseException:
        if claimed is not None and claimed.lease is not None:
            claimed.lease.release()
        if job_dir.temporary:
            job_dir.delete()
        raise
    agent.start()
    job.start()
    return job


def _checkpoint_dir(graph: StreamGraph, spec: JobSpec) -> str | None:
    """Where the checkpoint goes that a later run starts from; BATCH jobs have none, as in Flink."""
    if not runs_in_batch(graph, spec.option("execution.runtime-mode")):
        return spec.checkpoint_dir
    if spec.option("execution.state-recovery.path") is not None:
        raise SavepointError(
            "a job in BATCH mode reads its whole input, so it cannot start from a savepoint",
            where=spec.option("execution.state-recovery.path"),
            fix="use RuntimeExecutionMode.STREAMING, or take execution.state-recovery.path away",
        )
    if spec.checkpoint_dir is not None:
        log.warning(
            "job %s runs in BATCH mode, which keeps no checkpoint: execution.checkpointing.dir is "
            "not used, and a run that fails starts from the beginning",
            spec.name,
        )
    return None


def _for_a_look(graph: StreamGraph, spec: JobSpec) -> JobSpec:
    """A preview in BATCH mode reads in small batches, too, where that gives the same records."""
    physical = plan(graph, spec.plan_options())
    if not (physical.batch and physical.looks_at_single_records):
        return spec
    return replace(spec, options={**spec.options, "execution.runtime-mode": "STREAMING"})


def session_of(spec: JobSpec) -> Any:
    """The SparkSession for a job: the running one, or a new one."""
    return base_session(spec.spark_settings, spec.master)


# --- before anything runs ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Claimed:
    """A planned job whose directory is its own."""

    job_id: str
    physical: PhysicalPlan
    program: Fingerprint
    stored: Identity | None
    lease: Lease | None
    savepoint: Savepoint | None
    matches: list[Match]


def _claim(graph: StreamGraph, spec: JobSpec, job_dir: JobDir) -> _Claimed:
    """Plan the job and make sure that its directory is its own; changes nothing if it is not."""
    stored = job_dir.read_identity()
    savepoint = _savepoint(spec, stored, job_dir)
    # the id in the job's directory, so that a restarted job is the same job
    job_id = new_job_id() if stored is None else stored.job_id
    physical = plan(graph, spec.plan_options(job_id, savepoint))
    if physical.batch:
        _check_gives_all_at_once(physical)
    now = fingerprint(graph, physical)
    drop = bool(spec.option("execution.state-recovery.ignore-unclaimed-state"))
    matches: list[Match] = []
    if savepoint is not None:
        renamed = spec.option("execution.state-recovery.uid-mapping")
        matches = compare(savepoint, now, renamed, declared_types(physical))
        check(savepoint, matches, allow_dropped=drop)
    else:
        job_dir.check_fits(stored, spec.name, now, drop_unclaimed=drop)
    if spec.option("headrace.jobs.unique-names"):
        _registry(spec).check_name_is_free(spec.name, job_id)
    lease: Lease | None = None
    if not job_dir.temporary:
        lease = Lease(
            job_dir.storage,
            spec.name,
            lease_s=spec.option("headrace.checkpoint.lease") / 1000,
            local_path=job_dir.local_path,
        )
        lease.acquire()
        if job_dir.read_identity() != stored:  # another job came and went in between
            lease.release()
            return _claim(graph, spec, job_dir)
    return _Claimed(job_id, physical, now, stored, lease, savepoint, matches)


def _savepoint(spec: JobSpec, stored: Identity | None, job_dir: JobDir) -> Savepoint | None:
    """What the job starts from; None for its own checkpoint, or nothing."""
    location = spec.option("execution.state-recovery.path")
    if location is None or (stored is not None and stored.restored_from == location):
        return None
    savepoint = read_savepoint(location)
    if stored is not None:
        raise SavepointError(
            f"{job_dir.location} already holds the checkpoint of job {stored.name!r}",
            where=location,
            fix="restore into another execution.checkpointing.dir; without a savepoint the job "
            "goes on from its checkpoint",
        )
    return savepoint


def _registry(spec: JobSpec) -> Registry:
    return Registry.of(Configuration.from_dict(spec.options))


# --- the job -------------------------------------------------------------------------------------


def _job(claimed: _Claimed, base: Any, job_dir: JobDir, spec: JobSpec) -> tuple[Job, JobAgent]:
    job_id, physical = claimed.job_id, claimed.physical
    spark = job_session(
        base,
        {
            **native_settings(physical.native_job, own_query=True),
            **state_store_settings(
                spec.option("state.backend.type"), native=physical.native_job is not None
            ),
            **ship(base.sparkContext, spec.option),
            **_spark_settings(spec),
        },
        physical.slots,
        local_checkpoint=job_dir.local_path is not None,
    )
    streams = tuple(streams_of(each.source, where=each.step.call_site) for each in physical.sources)
    if claimed.savepoint is not None:
        _check_sources(physical, claimed.savepoint)
        restore(
            spark,
            claimed.savepoint,
            claimed.program,
            claimed.matches,
            job_dir=job_dir.location,
            streams=streams,
        )
    if claimed.stored is None and not job_dir.temporary:
        job_dir.states.begin(
            {} if claimed.savepoint is None else restored_states(claimed.savepoint, claimed.matches)
        )
    # last: a directory that says whose it is holds a whole checkpoint
    origin = None if claimed.savepoint is None else claimed.savepoint.location
    job_dir.write_identity(claimed.stored, job_id, spec.name, claimed.program, origin)
    snapshot = SnapshotJob(job_id, spec.name, job_dir.location, claimed.program, streams)
    job = Job(
        job_id=job_id,
        name=spec.name,
        strategy=strategy_from_options(
            Configuration.from_dict(spec.options), checkpointing=spec.interval_ms > 0
        ),
        make_attempt=lambda metrics: _attempt(job_id, physical, spark, job_dir, spec, metrics),
        take_savepoint=partial(take_savepoint, spark, snapshot),
        savepoint_folder=lambda folder: _savepoint_folder(folder, spec, physical),
        on_end=lambda job: _end(job, agent, job_dir, spec),
        in_batch_mode=physical.batch,
    )
    web = {"spark": base.sparkContext.uiWebUrl} if base.sparkContext.uiWebUrl else {}
    record = new_record(
        job,
        checkpoint=None if job_dir.temporary else job_dir.location,
        parallelism=spec.parallelism,
        web=web,
        kind=spec.kind,
    )
    registry = _registry(spec)
    registry.forget_old()
    agent = JobAgent(job, registry, record, claimed.lease)
    return job, agent


def _savepoint_folder(wanted: str | None, spec: JobSpec, physical: PhysicalPlan) -> str:
    if physical.batch:
        raise SavepointError(
            f"job {spec.name!r} runs in BATCH mode, which keeps no state between two runs",
            fix="use RuntimeExecutionMode.STREAMING for a job that is to go on from a savepoint",
        )
    folder = wanted or spec.option("execution.checkpointing.savepoint-dir")
    if folder is None:
        raise SavepointError(
            "nobody said where the savepoint should go",
            fix="give a directory, or set execution.checkpointing.savepoint-dir",
        )
    return absolute_target(folder)


def _check_sources(physical: PhysicalPlan, savepoint: Savepoint) -> None:
    for each in physical.sources:
        obstacle = each.source.place_obstacle()
        if obstacle is not None:
            raise SavepointError(
                f"source {each.step.name!r} {obstacle.what}",
                where=str(each.step.call_site),
                fix=f"{obstacle.fix}; the savepoint is {savepoint.location}",
            )


def _spark_settings(spec: JobSpec) -> dict[str, str]:
    # One more than is asked for: state is a batch ahead until the batch is committed, and with one
    # Spark would clear away what the committed batch needs as soon as that state is stored.
    retained = spec.option("execution.checkpointing.num-retained") + 1
    return {"spark.sql.streaming.minBatchesToRetain": str(retained), **spec.spark_settings}


def _end(job: Job, agent: JobAgent, job_dir: JobDir, spec: JobSpec) -> None:
    """The last thing of a job: its file, its lock, and its checkpoint if that is not to stay."""
    retention = spec.option("execution.checkpointing.externalized-checkpoint-retention")
    cancelled = job.status is JobStatus.CANCELED
    try:
        if job_dir.temporary or (cancelled and retention == "DELETE_ON_CANCELLATION"):
            job_dir.delete()
    finally:
        agent.end()


def _attempt(
    job_id: str,
    physical: PhysicalPlan,
    spark: Any,
    job_dir: JobDir,
    spec: JobSpec,
    metrics: JobMetrics,
) -> Attempt:
    """Build and start the query, with committers of its own."""
    location = job_dir.location
    attempt = Attempt(
        bounded=physical.bounded and not physical.batch,  # the query of a batch ends by itself
        exhausted=lambda query: _exhausted(physical, query),
        committers=_committers(physical, job_id, None if job_dir.temporary else location),
        commands=(
            CommandWriter(Storage.open(control_dir(location))) if physical.uses_time else None
        ),
        metrics=metrics,
        note_states=(lambda states: None) if job_dir.temporary else job_dir.states.add,
    )
    try:
        attempt.start(_query(physical, spark, attempt, job_id, location, spec))
    except BaseException:
        attempt.close()
        raise
    return attempt


def _query(
    physical: PhysicalPlan, spark: Any, attempt: Attempt, job_id: str, job_dir: str, spec: JobSpec
) -> SparkQuery:
    options = SourceOptions.from_configuration(
        spec.options,
        parallelism=spec.parallelism,
        unlimited=physical.batch,
        in_pieces=spec.kind == "preview",
    )
    native = physical.native_job
    if native is not None:
        if native.window is not None:
            begin_event_time_anew(f"{job_dir}/query")
        frame = open_native(native, spark, job_dir, options, own_query=True)
    else:
        # an id for every attempt: workers must not go on with what they cached in the last one
        frame = build_packets(physical, spark, job_dir, uuid.uuid4().hex, options)

    def messages(batch: Any, number: int) -> BatchMessages:
        if native is not None:
            return BatchMessages(
                run_native_batch(batch, native, number, job_id),
                native_end=native.window is not None and is_at_end(query.watermark_ms()),
            )
        if physical.batch and number > 0:
            raise InternalError(f"a job in BATCH mode was given a second batch, number {number}")
        return read_messages(packets_of(batch))

    query = SparkQuery(
        frame,
        checkpoint=f"{job_dir}/query",
        name=spec.name,
        interval_ms=spec.interval_ms,
        once=physical.batch,
        on_batch=lambda batch, number: attempt.run_batch(number, lambda: messages(batch, number)),
        feeds=options.piece_writers or (),
    )
    return query


def _exhausted(physical: PhysicalPlan, query: SparkQuery) -> bool:
    """Whether every source that may hold records back has given them all."""
    if not query.has_read_feeds():
        return False
    sources = [plan.source for plan in physical.sources]
    if not any(source.may_hold_back() for source in sources):
        return True
    return are_exhausted(sources, query.source_offsets())


def _check_gives_all_at_once(physical: PhysicalPlan) -> None:
    """BATCH mode takes the input in one batch, so no source may hold any of it back."""
    for each in physical.sources:
        if not each.source.gives_all_at_once():
            raise PlanError(
                f"{each.source.describe()} gives its records little by little, and BATCH mode "
                "takes all of them at once",
                where=each.step.call_site,
                fix="take its rate limit away, or use RuntimeExecutionMode.STREAMING",
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
