"""What there is to say about a job, as frozen dataclasses.  Times are epoch milliseconds.

In: files that a driver writes (control/history.py).  Out: values for REST, the command line,
Prometheus and OpenTelemetry.  A *vertex* is Flink's: the steps that run chained in one task, with
the parallelism of the task.  Next: control/views/reader.py makes them
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.common.opaque import JsonValue

__all__ = [
    "AccumulatorView",
    "BackPressureView",
    "CheckpointCounts",
    "CheckpointView",
    "CheckpointsView",
    "Counts",
    "Diagnosis",
    "ExceptionsView",
    "ExecutorView",
    "FailureView",
    "JobConfigView",
    "JobOverview",
    "JobView",
    "LongEpochs",
    "MetricKind",
    "MetricSeries",
    "OperatorView",
    "PlanInput",
    "PlanNode",
    "PlanView",
    "Skew",
    "SlowOperator",
    "SourceLag",
    "StateCheckpoint",
    "StatisticsView",
    "SubtaskCheckpoint",
    "SubtaskPressure",
    "SubtaskView",
    "VertexView",
]

PressureLevel = Literal["ok", "low", "high"]
CheckpointStatus = Literal["IN_PROGRESS", "COMPLETED", "FAILED"]


class MetricKind(StrEnum):
    """What becomes of a number over time."""

    GAUGE = "gauge"
    COUNT = "count"  # it only grows
    TALLY = "tally"  # a counter of the user's, who may count down


# --- the plan ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PlanInput:
    """Records from another vertex.

    Attributes:
        id: the vertex they come from.
        ship_strategy: Flink's name: FORWARD, HASH, REBALANCE, BROADCAST, ...
        exchange: how they travel: ``pipelined`` in continuous mode, else ``batched``.
    """

    id: str
    ship_strategy: str
    exchange: str


@dataclass(frozen=True, slots=True)
class PlanNode:
    """A vertex in the plan.

    Attributes:
        id: 32 hexadecimal digits, the same after a restart.
        name: of its steps, joined by arrows as in Flink's dashboard.
        level: how many exchanges are in front of it at most.
        runs: ``python``, or ``native`` where Catalyst runs all of it.
        call_site: where in the user's program it begins.
        uids: of its steps, in order.
    """

    id: str
    name: str
    parallelism: int
    max_parallelism: int
    level: int
    runs: Literal["native", "python"]
    call_site: str
    uids: tuple[str, ...]
    kind: Literal["source", "operator", "sink"]
    inputs: tuple[PlanInput, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanView:
    """The graph of a job: vertices and how records travel between them."""

    job_id: str
    name: str
    type: Literal["STREAMING", "BATCH"]
    nodes: tuple[PlanNode, ...]


# --- counts --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Counts:
    """What a task, or several, has done; rates and shares are of the last few seconds.

    Attributes:
        busy, idle, back_pressured: milliseconds of every second; together about 1000.  None where
            it is not known: vertices that Catalyst runs.
        busy_total_ms, idle_total_ms, back_pressured_total_ms: since the job began.
        state_bytes: what it keeps in state; None if it keeps none.
        late_dropped: records that came too late for their window.
    """

    records_in: int = 0
    records_out: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    records_in_per_second: float = 0.0
    records_out_per_second: float = 0.0
    bytes_in_per_second: float = 0.0
    bytes_out_per_second: float = 0.0
    busy: float | None = None
    idle: float | None = None
    back_pressured: float | None = None
    busy_total_ms: float = 0.0
    idle_total_ms: float = 0.0
    back_pressured_total_ms: float = 0.0
    late_dropped: int = 0
    state_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class AccumulatorView:
    """An accumulator of the user's, merged over a subtask, a vertex or a job."""

    name: str
    type: str
    value: str


@dataclass(frozen=True, slots=True)
class SubtaskView:
    """One subtask of a vertex."""

    number: int
    status: str
    attempt: int
    host: str
    started: int
    ended: int | None
    counts: Counts
    # None before the first watermark
    watermark: int | None = None
    metrics: Mapping[str, JsonValue] = field(default_factory=dict)
    accumulators: tuple[AccumulatorView, ...] = ()


@dataclass(frozen=True, slots=True)
class SplitView:
    """One split of a source.

    Attributes:
        watermark: its event time; None before its first record.
        still_ms: for how long that has stood still.
        idle: whether it is left out, and so holds nothing.
    """

    watermark: int | None
    still_ms: int
    idle: bool


@dataclass(frozen=True, slots=True)
class OperatorView:
    """One step of a vertex.

    Attributes:
        id: the digits that Flink's REST would show; `uid` is ours.
        counts: of all subtasks; busy is the step's own part of its task's time.
        by_subtask: the same for each subtask.
        metrics: everything under Flink's names, the users' own included.
        kinds: of those metrics that may be something else than gauges.
        splits: of a source, by name.
    """

    id: str
    uid: str
    name: str
    where: str
    counts: Counts
    watermark: int | None
    by_subtask: Mapping[int, Counts] = field(default_factory=dict)
    metrics: Mapping[str, JsonValue] = field(default_factory=dict)
    metrics_by_subtask: Mapping[int, Mapping[str, JsonValue]] = field(default_factory=dict)
    kinds: Mapping[str, MetricKind] = field(default_factory=dict)
    splits: Mapping[str, SplitView] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class VertexView:
    """One vertex of a job as it is now."""

    id: str
    name: str
    parallelism: int
    max_parallelism: int
    level: int
    runs: Literal["native", "python"]
    kind: Literal["source", "operator", "sink"]
    status: str
    started: int
    ended: int | None
    counts: Counts
    # the lowest of the subtasks; None before the first watermark
    watermark: int | None
    operators: tuple[OperatorView, ...]
    subtasks: tuple[SubtaskView, ...]
    accumulators: tuple[AccumulatorView, ...] = ()


# --- jobs ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class JobOverview:
    """A line in a list of jobs.

    Attributes:
        state: Flink's; a job whose driver is dead is FAILED, and `lost` is true.
        tasks: how many tasks are in each of Flink's execution states, in lower case; ``total``.
        waits_for: what has to be there before its tasks can start; None if nothing is missing.
        waits_since: when it began to wait.
    """

    job_id: str
    name: str
    state: str
    started: int
    ended: int | None
    duration_ms: int
    updated: int
    tasks: Mapping[str, int]
    lost: bool = False
    kind: str = "job"
    restarts: int = 0
    parallelism: int = 1
    waits_for: str | None = None
    waits_since: int | None = None


@dataclass(frozen=True, slots=True)
class JobView:
    """One job in detail.

    Attributes:
        state_times: when the job entered each state; 0 for never, as in Flink.
        restored_from: the savepoint or checkpoint it began with.
    """

    overview: JobOverview
    now: int
    mode: str
    type: Literal["STREAMING", "BATCH"]
    max_parallelism: int
    state_times: Mapping[str, int]
    vertices: tuple[VertexView, ...]
    plan: PlanView
    checkpoint: str | None
    restarts: int
    restart_strategy: str
    program: str
    driver: str | None
    log: str | None
    web: Mapping[str, str]
    epochs: int
    last_epoch: int
    error: str | None
    metrics: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class JobConfigView:
    """How a job was configured; secrets are masked.

    Attributes:
        options: what was set, under its key.
        job_parameters: the user's own.
    """

    job_id: str
    name: str
    execution_mode: str
    restart_strategy: str
    parallelism: int
    object_reuse: bool
    job_parameters: Mapping[str, str]
    options: Mapping[str, str]
    checkpoint_interval_ms: int
    checkpoint_timeout_ms: int


# --- checkpoints ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SubtaskCheckpoint:
    """What one subtask added to a checkpoint."""

    number: int
    acknowledged: int
    duration_ms: int
    size_bytes: int
    state_bytes: int


@dataclass(frozen=True, slots=True)
class StateCheckpoint:
    """What one vertex added to a checkpoint."""

    id: str
    size_bytes: int
    state_bytes: int
    duration_ms: int
    acknowledged: int
    subtasks: tuple[SubtaskCheckpoint, ...]


@dataclass(frozen=True, slots=True)
class CheckpointView:
    """One checkpoint: an epoch of the job; or a savepoint.

    Attributes:
        id: the epoch's number; the first is 1, as in Flink.
        size_bytes: what was written for it.
        state_bytes: all state that it stands for.
        path: where it is; None for a temporary one.
    """

    id: int
    status: CheckpointStatus
    is_savepoint: bool
    triggered: int
    acknowledged: int | None
    duration_ms: int
    size_bytes: int
    state_bytes: int
    subtasks: int
    records: int = 0
    path: str | None = None
    failure: str | None = None
    vertices: tuple[StateCheckpoint, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckpointCounts:
    """How many checkpoints there were since the job's first start on this checkpoint directory."""

    restored: int
    total: int
    in_progress: int
    completed: int
    failed: int


@dataclass(frozen=True, slots=True)
class StatisticsView:
    """Of the completed checkpoints in the history."""

    min: int = 0
    max: int = 0
    avg: int = 0
    p50: float = 0.0
    p90: float = 0.0
    p95: float = 0.0
    p99: float = 0.0
    p999: float = 0.0


@dataclass(frozen=True, slots=True)
class CheckpointsView:
    """The checkpoints of a job; the newest of the history first."""

    counts: CheckpointCounts
    size_bytes: StatisticsView
    state_bytes: StatisticsView
    duration_ms: StatisticsView
    history: tuple[CheckpointView, ...]
    latest_completed: CheckpointView | None
    latest_failed: CheckpointView | None
    latest_savepoint: CheckpointView | None
    restored_id: int | None
    restored_at: int | None
    restored_path: str | None

    @property
    def newest(self) -> tuple[CheckpointView, ...]:
        """The newest of each kind, which may have left the history."""
        newest = (self.latest_completed, self.latest_savepoint, self.latest_failed)
        return tuple(each for each in newest if each is not None)


# --- failures ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FailureView:
    """One failure in the life of a job.

    Attributes:
        type: the class of the error: the user's own where the user's code raised.
        condition, message, where, fix: the parts of our errors; `where` made the step that failed.
        stacktrace: as it would be printed.
        task: the step that failed, with its subtask if it is known.
        raised_at, code: the user's line, where it is one.
        machine: of the task that failed, as ``host:pid``.
        executor: whose task it was, if that is known.
        delay_ms: the pause before the next attempt; None if the job gave up.
    """

    when: int
    type: str
    condition: str | None
    message: str
    where: str | None
    fix: str | None
    stacktrace: str
    task: str | None
    code: str | None
    epochs: int
    delay_ms: int | None
    raised_at: str | None = None
    machine: str | None = None
    executor: ExecutorView | None = None


@dataclass(frozen=True, slots=True)
class ExceptionsView:
    """What went wrong; the newest first."""

    entries: tuple[FailureView, ...]
    truncated: bool


# --- executors -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ExecutorView:
    """A process that runs tasks: Flink's TaskManager, Spark's executor.

    Attributes:
        id: Spark's; ``driver`` in local mode.
        address: host and port.
        slots: how many there are.
        busy_slots: how many of them its job takes, whether its tasks run at the moment or not.
        tasks: how many of the job's tasks are in those.
        logs: Spark's pages by name, such as stdout.
    """

    id: str
    job_id: str
    address: str
    slots: int
    busy_slots: int
    tasks: int
    memory_bytes: int
    memory_used_bytes: int
    seen: int
    logs: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_driver(self) -> bool:
        """Whether tasks run in the driver's process: without Spark, and in its local mode."""
        return self.id == "driver"


# --- back pressure, skew, lag --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SubtaskPressure:
    """Where the time of a subtask goes; the three shares add up to 1."""

    number: int
    level: PressureLevel
    back_pressured: float
    idle: float
    busy: float


@dataclass(frozen=True, slots=True)
class BackPressureView:
    """Flink's back pressure of a vertex: waiting for those behind it."""

    vertex: str
    level: PressureLevel
    measured: int
    subtasks: tuple[SubtaskPressure, ...]


@dataclass(frozen=True, slots=True)
class SlowOperator:
    """The step that limits the job.

    Attributes:
        busy: its own share of the time of its busiest subtask, 0 to 1.
        vertex_busy: that of the whole task.
        reason: why it was chosen, for people.
    """

    vertex: str
    uid: str
    name: str
    where: str
    busy: float
    vertex_busy: float
    reason: str


@dataclass(frozen=True, slots=True)
class Skew:
    """A vertex whose subtasks have unequal shares.

    Attributes:
        what: ``records`` or ``state``.
        subtask: the one with the most.
        ratio: of its share to the mean.
    """

    vertex: str
    name: str
    what: Literal["records", "state"]
    subtask: int
    most: int
    mean: float
    ratio: float


@dataclass(frozen=True, slots=True)
class SourceLag:
    """What waits in front of a source."""

    vertex: str
    uid: str
    name: str
    pending_records: int | None
    records_lag_max: int | None
    # how long the source needs for what waits, at its present rate
    seconds: float | None


@dataclass(frozen=True, slots=True)
class HeldTime:
    """A split that holds the event time of all behind its source.

    Attributes:
        vertex: of the source.
        uid: of the source.
        name: of the source.
        split: the one that holds.
        watermark: its event time; None if it has not had a record yet.
        others: how far the furthest of the other splits is.
        silent_s: for how long it has not moved, while others did.
        fix: what to do, for people.
    """

    vertex: str
    uid: str
    name: str
    split: str
    watermark: int | None
    others: int
    silent_s: float
    fix: str


@dataclass(frozen=True, slots=True)
class LongEpochs:
    """The newest epochs took many times their interval: the job does not keep up.

    Attributes:
        count: how many, one after the other, as far as the history of checkpoints goes.
        duration_ms: of the newest.
        ratio: of the shortest of them to the interval.
        fix: what to do, for people.
    """

    count: int
    interval_ms: int
    duration_ms: int
    ratio: float
    fix: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What limits a job, in one look."""

    slow: SlowOperator | None
    skews: tuple[Skew, ...]
    lags: tuple[SourceLag, ...]
    epochs: LongEpochs | None = None
    held: tuple[HeldTime, ...] = ()


# --- over time -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MetricSeries:
    """A metric over time: (epoch milliseconds, value), the oldest first."""

    name: str
    points: tuple[tuple[int, float], ...]
