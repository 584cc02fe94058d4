"""Runs programs from this process: plans them, claims their checkpoint, starts them on a host.

    plan ─▶ does the checkpoint fit? ─▶ lock it ─▶ attempts (open, start, run) ─▶ clear up

In: a StreamGraph and a JobSpec.  Out: a started Job.  Next: control/job_dir.py, spi/host.py,
control/job.py
"""

from __future__ import annotations

import contextlib
import logging
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, cast

from headrace.common.job_status import JobStatus
from headrace.common.restart_strategy import strategy_from_options
from headrace.control.agent import JobAgent, continue_record, new_record
from headrace.control.attempt import Attempt
from headrace.control.fingerprint import fingerprint
from headrace.control.history import HistorySettings, JobHistory, about
from headrace.control.job import Job
from headrace.control.job_dir import JobDir, new_job_id
from headrace.control.metrics_port import MetricsPort
from headrace.control.orders import Orders, take_orders
from headrace.control.otel_reporter import OtelReporter, is_started, otel_settings
from headrace.control.registry import JobRegistry
from headrace.control.restore import check, compare, declared_types, restore, restored_states
from headrace.control.savepoints import read_savepoint
from headrace.control.snapshot import SnapshotJob, take_savepoint
from headrace.errors import (
    InvalidArgumentError,
    JobError,
    PlanError,
    SavepointError,
    UnsupportedStepError,
)
from headrace.io.lease import Lease
from headrace.io.storage import absolute_target
from headrace.plan.alignment import alignment_without_effect
from headrace.plan.explain import plan_as_json, plan_as_text
from headrace.plan.planner import PlanOptions, plan
from headrace.plan.rules.resolve_execution_mode import runs_in_batch
from headrace.spi.host import (
    HOSTS,
    HasExecutors,
    HasFrames,
    HasThreads,
    Place,
    carriage_of,
    host_of,
    runs_continuously,
)
from headrace.spi.sink import CommitterContext

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.opaque import HostFrame, HostSession
    from headrace.control.fingerprint import Fingerprint
    from headrace.control.history import JobAbout
    from headrace.control.job_dir import Identity
    from headrace.control.metrics import JobMetrics
    from headrace.control.registry import JobRecord
    from headrace.control.restore import Match
    from headrace.control.savepoints import StoredSavepoint
    from headrace.graph.nodes import Step
    from headrace.graph.stream_graph import StreamGraph
    from headrace.plan.physical import PhysicalPlan
    from headrace.plan.plan_graph import TypeResolver
    from headrace.spi.host import Host
    from headrace.spi.job_spec import JobSpec
    from headrace.spi.sink import Committer
    from headrace.spi.source import Source

log = logging.getLogger(__name__)


class JobExecutor:
    """Carries programs out on the host that their configuration names."""

    def execute(self, program: StreamGraph, spec: JobSpec) -> Job:
        """Plan, claim and start; errors in the program are raised here, before anything runs."""
        orders = take_orders() if spec.kind == "job" else Orders()
        if orders.parallelism:
            spec = replace(spec, parallelism=orders.parallelism)
        job_dir = JobDir.open(checkpoint_dir(program, spec))
        claimed: _Claimed | None = None
        try:
            _savepoint(spec, _kept(job_dir, orders), job_dir)  # is it there? before Spark starts
            host = host_of(spec)
            types = host.types()
            if spec.kind == "preview":
                spec = _for_a_look(program, spec, types)
            claimed = _claim(program, spec, job_dir, types, orders)
            job, agent = _job(claimed, host, job_dir, spec, orders)
        except BaseException:
            if claimed is not None and claimed.lease is not None:
                claimed.lease.release()
            if job_dir.temporary:
                job_dir.delete()
            raise
        agent.start()
        job.start()
        return job

    def explain(self, program: StreamGraph, spec: JobSpec, *, as_json: bool = False) -> str:
        """The plan as text, or in the JSON that Flink's plan visualisers read."""
        explain = plan_as_json if as_json else plan_as_text
        return explain(program, plan_options(spec), carriage_of(spec))

    def session(self, spec: JobSpec) -> HostSession:
        """The SparkSession that programs of the spec run on."""
        return _with_frames(host_of(spec), "get_spark_session()").base

    def source_of(self, data: HostFrame, *, lines: bool = False) -> Source:
        """The source that reads a DataFrame."""
        spark = cast("type[HasFrames]", HOSTS.find("spark"))
        return spark.source_of(data, lines=lines)

    def frame_of(self, program: StreamGraph, end: Step, spec: JobSpec) -> HostFrame:
        """The records that reach a step as a streaming DataFrame."""
        host = host_of(spec)
        framed = _with_frames(host, "to_dataframe()")
        if runs_in_batch(program, spec.option("execution.runtime-mode")):
            raise InvalidArgumentError(
                "to_dataframe gives a streaming DataFrame, and the program is in BATCH mode",
                fix="use RuntimeExecutionMode.STREAMING, or write the stream to files and read "
                "those",
            )
        physical = plan(program, plan_options(spec, new_job_id()), host.types())
        program.learn_types(physical.graph)
        return framed.frame_of(physical, end)


def _with_frames(host: Host, what: str) -> HasFrames:
    if not isinstance(host, HasFrames):
        raise UnsupportedStepError(
            f"{what} needs Spark, and this program runs on another host",
            fix="remove headrace.execution.host, or set it to spark",
        )
    return host


def plan_options(
    spec: JobSpec, job_id: str = "", savepoint: StoredSavepoint | None = None
) -> PlanOptions:
    """What the planner has to know of a job."""
    operators = () if savepoint is None else savepoint.operators
    on_spark = spec.option("headrace.execution.host") == "spark"
    continuous = runs_continuously(spec)
    return PlanOptions(
        restored_max_parallelism={o.uid: o.max_parallelism for o in operators},
        parallelism=spec.parallelism,
        max_parallelism=spec.max_parallelism,
        mode=spec.option("execution.runtime-mode"),
        sort_memory_bytes=spec.option("execution.sorted-inputs.memory"),
        job_id=job_id,
        job_name=spec.name,
        job_parameters=spec.job_parameters,
        # only there is a Catalyst
        native=on_spark and not continuous,
        continuous=on_spark and continuous,
        auto_uids=spec.option("pipeline.auto-generate-uids"),
        generic_types=spec.option("pipeline.generic-types"),
    )


def checkpoint_dir(program: StreamGraph, spec: JobSpec) -> str | None:
    """Where the checkpoint goes that a later run starts from; BATCH jobs have none, as in Flink."""
    if not runs_in_batch(program, spec.option("execution.runtime-mode")):
        return spec.checkpoint_dir
    if spec.option("execution.state-recovery.path") is not None:
        raise SavepointError(
            "a job in BATCH mode reads its whole input, so it cannot start from a savepoint",
            where=spec.option("execution.state-recovery.path"),
            fix="use RuntimeExecutionMode.STREAMING, or remove execution.state-recovery.path",
        )
    if spec.checkpoint_dir is not None:
        log.warning(
            "job %s runs in BATCH mode, which keeps no checkpoint: execution.checkpointing.dir is "
            "not used, and a run that fails starts from the beginning",
            spec.name,
        )
    return None


def _for_a_look(program: StreamGraph, spec: JobSpec, types: TypeResolver | None) -> JobSpec:
    """A preview in BATCH mode reads in small batches, too, where that gives the same records."""
    physical = plan(program, plan_options(spec), types)
    if not (physical.batch and physical.looks_at_single_records):
        return spec
    return replace(spec, options={**spec.options, "execution.runtime-mode": "STREAMING"})


# --- before anything runs ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Claimed:
    """A planned job whose directory is its own."""

    job_id: str
    physical: PhysicalPlan
    program: Fingerprint
    stored: Identity | None
    lease: Lease | None
    savepoint: StoredSavepoint | None
    matches: list[Match]


def _doubts(physical: PhysicalPlan) -> list[str]:
    """What sources find to be wrong with themselves, and where they stand."""
    steps = [step for step in physical.graph.steps if step.source is not None]
    return [
        f"{step.source.describe()} at {step.call_site}: {doubt}"
        for step in steps
        if step.source is not None
        for doubt in step.source.doubts()
    ]


def _kept(job_dir: JobDir, orders: Orders) -> Identity | None:
    """Whose checkpoint is in the directory, and is to stay there."""
    stored = job_dir.read_identity()
    return None if stored is not None and stored.job_id == orders.replaces else stored


def _claim(
    graph: StreamGraph,
    spec: JobSpec,
    job_dir: JobDir,
    types: TypeResolver | None,
    orders: Orders,
) -> _Claimed:
    """Plan the job and make sure that its directory is its own; changes nothing if it is not."""
    stored = _kept(job_dir, orders)
    savepoint = _savepoint(spec, stored, job_dir)
    # the id in the job's directory, so that a restarted job is the same job
    job_id = stored.job_id if stored is not None else orders.job_id or new_job_id()
    physical = plan(graph, plan_options(spec, job_id, savepoint), types)
    graph.learn_types(physical.graph)
    if physical.batch:
        check_gives_all_at_once(physical)
    for line in (*alignment_without_effect(physical), *_doubts(physical)):
        log.warning("%s", line)
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
        JobRegistry.of(spec.configuration()).check_name_is_free(spec.name, job_id, orders.job_id)
    lease: Lease | None = None
    if not job_dir.temporary:
        lease = Lease(
            job_dir.storage,
            spec.name,
            lease_s=spec.option("headrace.checkpoint.lease") / 1000,
            local_path=job_dir.local_path,
        )
        lease.acquire()
        if _kept(job_dir, orders) != stored:  # another job came and went in between
            lease.release()
            return _claim(graph, spec, job_dir, types, orders)
        try:
            if orders.fence is not None:
                orders.fence.check()  # before anything is written: another driver may have the job
            if job_dir.read_identity() != stored:
                job_dir.clear()  # it was stopped with the savepoint that this job starts from
        except BaseException:
            lease.release()
            raise
    return _Claimed(job_id, physical, now, stored, lease, savepoint, matches)


def _savepoint(spec: JobSpec, stored: Identity | None, job_dir: JobDir) -> StoredSavepoint | None:
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
            "continues from its checkpoint",
        )
    return savepoint


def check_gives_all_at_once(physical: PhysicalPlan) -> None:
    """BATCH mode takes the input in one batch, so no source may hold any of it back."""
    for each in physical.sources:
        if not each.source.gives_all_at_once():
            raise PlanError(
                f"{each.source.describe()} gives its records little by little, but BATCH mode "
                "takes all of them at once",
                where=each.step.call_site,
                fix="remove its rate limit, or use RuntimeExecutionMode.STREAMING",
            )


# --- the job -------------------------------------------------------------------------------------


def _job(
    claimed: _Claimed, host: Host, job_dir: JobDir, spec: JobSpec, orders: Orders
) -> tuple[Job, JobAgent]:
    job_id, physical = claimed.job_id, claimed.physical
    place = Place(job_id, job_dir.location, temporary=job_dir.temporary)
    if claimed.stored is not None and claimed.savepoint is None:
        _check_same_mode(host, job_dir)
    host.prepare(physical, place)
    checkpoints = host.checkpoints(physical, place)
    if claimed.savepoint is not None:
        _check_sources(physical, claimed.savepoint)
        restore(checkpoints, claimed.savepoint, claimed.program, claimed.matches)
    if claimed.stored is None and not job_dir.temporary:
        job_dir.states.begin(
            {} if claimed.savepoint is None else restored_states(claimed.savepoint, claimed.matches)
        )
    # last: a directory that says whose it is holds a whole checkpoint
    origin = None if claimed.savepoint is None else claimed.savepoint.location
    job_dir.write_identity(claimed.stored, job_id, spec.name, claimed.program, origin)
    snapshot = SnapshotJob(job_id, spec.name, job_dir.location, claimed.program, checkpoints)
    job = Job(
        job_id=job_id,
        name=spec.name,
        strategy=strategy_from_options(spec.configuration(), checkpointing=spec.interval_ms > 0),
        make_attempt=lambda metrics: _attempt(
            physical, host, place, job_dir, metrics, lambda: _check_right(job, claimed, orders)
        ),
        take_savepoint=partial(take_savepoint, snapshot),
        savepoint_folder=lambda folder: _savepoint_folder(folder, spec, physical),
        on_end=lambda job: _end(job, agent, reporters, job_dir, spec),
        in_batch_mode=physical.batch,
        threads=host if isinstance(host, HasThreads) else None,
    )
    record = new_record(
        job,
        checkpoint=None if job_dir.temporary else job_dir.location,
        parallelism=spec.parallelism,
        web=host.web,
        kind=spec.kind,
        mode=spec.option("headrace.execution.mode"),
    )
    facts = about(physical, spec, _restored_from(claimed, spec))
    record.tasks = sum(vertex.parallelism for vertex in facts.vertices)
    registry = JobRegistry.of(spec.configuration())
    registry.forget_old()
    if orders.fence is not None:
        continue_record(record, registry.get(job_id))
    history = None if spec.kind == "preview" else _history(job_id, facts, host, spec, registry)
    reporters = [] if spec.kind == "preview" else _reporters(job_id, spec, registry, record)
    agent = JobAgent(job, registry, record, claimed.lease, history, orders.fence)
    return job, agent


def _reporters(
    job_id: str, spec: JobSpec, registry: JobRegistry, record: JobRecord
) -> list[MetricsPort | OtelReporter]:
    """Whoever tells others of the job's metrics; all that can be refused is, before one starts."""
    settings = spec.configuration()
    senders = [OtelReporter(each, registry, job_id) for each in otel_settings(settings)]
    number = spec.option("metrics.reporter.prom.port")
    ports = []
    if number is not None and is_started(settings, "prom"):
        ports.append(MetricsPort(registry, job_id, number))
        record.web = {**record.web, "prometheus": ports[0].address}
    for each in senders:
        each.start()
    return [*ports, *senders]


def _history(
    job_id: str, facts: JobAbout, host: Host, spec: JobSpec, registry: JobRegistry
) -> JobHistory:
    return JobHistory(
        registry.history_of(job_id),
        facts,
        HistorySettings.of(spec),
        host.executors if isinstance(host, HasExecutors) else list,
    )


def _restored_from(claimed: _Claimed, spec: JobSpec) -> str | None:
    if claimed.savepoint is not None:
        return claimed.savepoint.location
    return None if claimed.stored is None else spec.checkpoint_dir


# Who has left a folder in a job's directory: checkpoints of one mode mean nothing to another.
_LEFT_BY = {
    "query": "micro-batches on Spark",
    "local": "this process in micro-batches",
    "continuous": "continuous mode",
}


def _check_same_mode(host: Host, job_dir: JobDir) -> None:
    """Refuse to begin from scratch beside the checkpoint of another mode or host."""
    there = job_dir.storage.folders("")
    others = [_LEFT_BY[name] for name in there if name in _LEFT_BY and name != host.folder]
    if others and host.folder not in there:
        raise SavepointError(
            f"the checkpoint was made by {others[0]}, and the job is now to run otherwise "
            f"({_LEFT_BY.get(host.folder, host.folder)})",
            where=job_dir.location,
            fix="run it as before, stop it with a savepoint, and start from that with another "
            "execution.checkpointing.dir: savepoints are the same for all modes",
        )


def _savepoint_folder(wanted: str | None, spec: JobSpec, physical: PhysicalPlan) -> str:
    if physical.batch:
        raise SavepointError(
            f"job {spec.name!r} runs in BATCH mode, which keeps no state between runs",
            fix="use RuntimeExecutionMode.STREAMING for a job that starts from savepoints",
        )
    folder = wanted or spec.option("execution.checkpointing.savepoint-dir")
    if folder is None:
        raise SavepointError(
            "no directory was given for the savepoint",
            fix="give a directory, or set execution.checkpointing.savepoint-dir",
        )
    return absolute_target(folder)


def _check_sources(physical: PhysicalPlan, savepoint: StoredSavepoint) -> None:
    for each in physical.sources:
        obstacle = each.source.place_obstacle()
        if obstacle is not None:
            raise SavepointError(
                f"source {each.step.name!r} {obstacle.what}",
                where=str(each.step.call_site),
                fix=f"{obstacle.fix}; the savepoint is {savepoint.location}",
            )


def _end(
    job: Job,
    agent: JobAgent,
    reporters: list[MetricsPort | OtelReporter],
    job_dir: JobDir,
    spec: JobSpec,
) -> None:
    """The last thing of a job: its file, its lock, and its checkpoint if that is not to stay."""
    retention = spec.option("execution.checkpointing.externalized-checkpoint-retention")
    cancelled = job.status is JobStatus.CANCELED
    with contextlib.ExitStack() as afterwards:
        for each in reporters:
            afterwards.callback(each.close)
        afterwards.callback(agent.end)  # before those: they report what it writes
        if job_dir.temporary or (cancelled and retention == "DELETE_ON_CANCELLATION"):
            job_dir.delete()


def _check_right(job: Job, claimed: _Claimed, orders: Orders) -> None:
    """Raise, and end the job for good, if another driver has it.

    A driver that was suspended, with its machine or alone, wakes up in the middle of anything: what
    it does next must not be to commit.  What it commits between this look and the next moment is
    repeated by the other driver under the same number, and so not seen twice.
    """
    try:
        if claimed.lease is not None:
            claimed.lease.confirm()
        if orders.fence is not None:
            orders.fence.check()
    except JobError as error:
        job.give_up(error)
        raise


def _attempt(
    physical: PhysicalPlan,
    host: Host,
    place: Place,
    job_dir: JobDir,
    metrics: JobMetrics,
    check_right: Callable[[], None],
) -> Attempt:
    """Open and start a run, with committers of its own."""
    check_right()
    attempt = Attempt(
        bounded=physical.bounded and not physical.batch,  # the run of a batch ends by itself
        uses_time=physical.uses_time,
        committers=_committers(physical, place, epochs_overlap=host.epochs_overlap),
        metrics=metrics,
        note_states=(lambda states: None) if job_dir.temporary else job_dir.states.add,
        check_right=check_right,
    )
    try:
        attempt.start(host.open(physical, place, attempt.run_epoch, attempt.deliver))
    except BaseException:
        attempt.close()
        raise
    return attempt


def _committers(
    physical: PhysicalPlan, place: Place, *, epochs_overlap: bool
) -> dict[str, tuple[str, Committer]]:
    made: dict[str, tuple[str, Committer]] = {}
    for step in physical.sinks:
        uid = step.stable_id
        sink = step.operator.sink  # type: ignore[union-attr]
        folder = None if place.temporary else f"{place.directory}/sinks/{uid}"
        context = CommitterContext(place.job_id, uid, folder, epochs_overlap)
        made[uid] = (f"{step.name} at {step.call_site}", sink.create_committer(context))
    return made
