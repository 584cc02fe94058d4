"""What runs a plan, epoch by epoch: Spark's micro-batches, or this process alone.

    Host.open(plan, place, on_epoch) ─▶ Run ─▶ on_epoch(n, work) for every epoch ─▶ wait() returns

An *epoch* is the unit of exactly-once: what sources gave, what state became and what sinks staged
in it count together or not at all.  A micro-batch is one kind of epoch.  A host calls ``on_epoch``
with the epoch's number and the work that runs it; when that returns, the epoch is committed, and
its number is not given again.  A host that dies in between repeats the epoch: the same number, the
same input.

In: a PhysicalPlan and a directory.  Out: calls of ``on_epoch``, the end, or an error.
Implementations: hosts/spark/host.py, hosts/local/host.py.  Next: control/attempt.py
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, cast, runtime_checkable

from headrace.errors import ConfigurationError
from headrace.spi.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.common.opaque import Committable, HostFrame, HostSession, JsonObject
    from headrace.errors import HeadraceError
    from headrace.graph.nodes import Step
    from headrace.plan.physical import PhysicalPlan
    from headrace.plan.plan_graph import TypeResolver
    from headrace.runtime.task_samples import Sampling
    from headrace.spi.job_spec import JobSpec
    from headrace.spi.source import Source
    from headrace.spi.state import PageStore


@dataclass(frozen=True, slots=True)
class AlignedSplit:
    """How far a split came in an epoch, and what its strategy says of alignment.

    Attributes:
        watermark: what its records allow.
        max_drift_ms: how far it may be ahead of the slowest of its group.
        idle_ms: the strategy's idle timeout; None without one.
    """

    watermark: int
    max_drift_ms: int
    idle_ms: int | None


@dataclass(frozen=True, slots=True)
class TaskReport:
    """Where the time of one task went in an epoch, and what passed it.

    Attributes:
        level: of its stage.
        source: uid of the source that it reads; None behind an exchange.
        subtask: its number.
        began_ms, ended_ms: by the clock of its machine.
        busy_ms: at work, operators included.
        own_ms: that part of it which belongs to no operator: records in and out of packets.
        waiting_ms: for input.
        blocked_ms: for those who take its output.
        in_steps: whether a stage works on an epoch when the one in front of it is done with it.
        machine: where it ran, as ``host:pid``.
        uids: of the operators in it, the source included.
    """

    level: int
    source: str | None
    subtask: int
    began_ms: int
    ended_ms: int
    busy_ms: float
    own_ms: float
    waiting_ms: float
    blocked_ms: float
    bytes_in: int
    bytes_out: int
    in_steps: bool
    machine: str
    uids: tuple[str, ...] = ()


@dataclass(slots=True)
class EpochResults:
    """What the tasks of one epoch reported to the driver."""

    # by uid of the sink
    committables: dict[str, list[Committable]] = field(default_factory=dict)
    # (subtask, counts by uid of the operator)
    reports: list[tuple[int, dict[str, JsonObject]]] = field(default_factory=list)
    tasks: list[TaskReport] = field(default_factory=list)
    # what operators stored for the first time in this run: uid -> name -> what it says of itself
    states: dict[str, dict[str, JsonObject]] = field(default_factory=dict)
    # when the next processing-time timer is due
    wake_at: int | None = None
    error: HeadraceError | None = None
    # for watermark alignment: group -> channel (source uid/split) -> how far it came
    aligned: dict[str, dict[str, AlignedSplit]] = field(default_factory=dict)
    # whether the end of input has reached all operators: every window and timer has fired
    at_end_of_time: bool = False


# Called with the number of an epoch and the work that runs it.
OnEpoch = Callable[[int, Callable[[], EpochResults]], None]
# Called with the uid of a sink, the running epoch, and records that do not wait for its end.
OnDelivery = Callable[[str, int, "list[Committable]"], None]


@dataclass(frozen=True, slots=True)
class Place:
    """The id and the directory of a run.

    Attributes:
        job_id: the same after a restart.
        directory: of the job, a path or a URI; what hosts keep there belongs to them.
        temporary: whether it goes away with the job.
    """

    job_id: str
    directory: str
    temporary: bool


class Run(Protocol):
    """One run of a plan, from its start to its end or failure."""

    def recover(self) -> None:
        """Commit an epoch that counts and whose sinks may not know it; before the start."""
        ...

    def start(self) -> None:
        """Begin; from now on epochs come on a thread of the host."""
        ...

    def wait(self) -> None:
        """Wait until it ends; raises why it failed."""
        ...

    def wait_until_idle(self) -> None:
        """Wait until everything that the sources have now is processed; raises why it failed."""
        ...

    def exhausted(self) -> bool:
        """Whether every source that may hold records back has given them all."""
        ...

    def end_input(self) -> None:
        """Let event time reach its end in the next epoch."""
        ...

    def finish_epoch(self) -> None:
        """Where epochs are long: end the running one now, and wait until it is committed.

        Raises:
            Exception: why it was not.
        """
        ...

    def wake_at(self, when_ms: int | None) -> None:
        """Have an epoch at this time, for timers that are due; replaces an earlier request."""
        ...

    def stop(self) -> None:
        """End now: the epoch that is running is thrown away and will be repeated."""
        ...

    def close(self) -> None:
        """Release everything; the run has ended."""
        ...

    @property
    def in_epoch(self) -> bool:
        """Whether an epoch is being made, run or committed."""
        ...

    @property
    def is_waiting(self) -> bool:
        """Whether it has started, and the sources have nothing for an epoch."""
        ...

    @property
    def waits_for(self) -> str | None:
        """What has to be there before its tasks can start; None if nothing is missing."""
        ...

    @property
    def has_short_epochs(self) -> bool:
        """Whether an epoch ends soon by itself, as a micro-batch does."""
        ...

    @property
    def can_run_again(self) -> bool:
        """Whether the host is still there to open another run."""
        ...


# Called with the number of a running epoch, and what a task says of it so far.
OnProgress = Callable[[int, TaskReport, "dict[str, JsonObject]"], None]


@runtime_checkable
class TellsProgress(Protocol):
    """A run with long epochs, whose tasks tell in between how far they are."""

    def tell_progress(self, on_progress: OnProgress) -> None:
        """Call this from now on; before the start."""
        ...


@runtime_checkable
class CountsTasks(Protocol):
    """A run whose engine counts the tasks of the epoch that runs."""

    def tasks(self) -> tuple[int, int]:
        """How many have ended, and how many are known so far; (0, 0) between epochs."""
        ...


@dataclass(frozen=True, slots=True)
class SourcePosition:
    """Where one source of a plan was after an epoch.

    Attributes:
        offsets: as JSON; a source may be several streams to a host. None: at its beginning.
        numbers: the folders of a savepoint's ``sources/`` with what the host keeps beside them.
        source: which one, for messages.
    """

    offsets: tuple[str | None, ...]
    numbers: tuple[int, ...] = ()
    source: str = ""


# Fills the state of (stage from 0, subtask) in a store.
LoadState = Callable[[int, int, "PageStore"], None]


@dataclass(frozen=True, slots=True)
class Beginning:
    """What a checkpoint begins with, taken from a savepoint.

    Attributes:
        load: fills the state of every subtask.
        positions: for every source of the plan in order; None to start at its beginning.
        location: the savepoint, for what is kept beside positions.
        old_directory: of the job that the savepoint is of: paths below it have moved.
    """

    load: LoadState
    positions: Sequence[SourcePosition | None]
    location: str
    old_directory: str


class Checkpoints(Protocol):
    """What a host has stored about a job in its directory."""

    def last_epoch(self) -> int | None:
        """The newest epoch that is committed; None before the first."""
        ...

    def save(
        self, epoch: int, location: str, max_parallelism: Mapping[str, int]
    ) -> list[SourcePosition]:
        """Write the state after an epoch into a savepoint's directory; where the sources were.

        Args:
            epoch: a committed one; the job may be running meanwhile.
            location: of the savepoint.
            max_parallelism: of every operator that may have state, by uid.
        """
        ...

    def begin_with(self, beginning: Beginning) -> None:
        """Make the checkpoint that a run will begin with; what was there is removed."""
        ...


@dataclass(frozen=True, slots=True)
class Carriage:
    """How a host carries plans, in the words of `explain`.

    Attributes:
        whole: what a job becomes that does not run in BATCH mode.
        engine: what reads sources: "native" for the host's own readers, or "python".
        source: how they are read.
        first: what calls the operators right behind sources.
        later: what calls those behind an exchange.
        later_in_batch: the same in BATCH mode.
    """

    whole: str
    engine: Literal["native", "python"]
    source: str
    first: str
    later: str
    later_in_batch: str


class Host(Protocol):
    """Something that can run plans."""

    carriage: ClassVar[Carriage]

    def types(self) -> TypeResolver | None:
        """What finds the types of steps that the host runs itself; starts it if it has to be."""
        ...

    def prepare(self, plan: PhysicalPlan, place: Place) -> None:
        """Get ready for runs of a plan; raises what keeps it from running here."""
        ...

    def open(
        self, plan: PhysicalPlan, place: Place, on_epoch: OnEpoch, on_delivery: OnDelivery
    ) -> Run:
        """A new run, not started yet.

        Args:
            plan: what is run.
            place: its directory.
            on_epoch: called for every epoch.
            on_delivery: called, where epochs are long, with records for sinks that take effect
                at once (``Sink.acts_at_once``).
        """
        ...

    def checkpoints(self, plan: PhysicalPlan, place: Place) -> Checkpoints:
        """What is stored of the job."""
        ...

    @property
    def web(self) -> dict[str, str]:
        """Pages that show the host at work, by name."""
        ...

    @property
    def folder(self) -> str:
        """Where in a job's directory the host keeps its checkpoints."""
        ...

    @property
    def epochs_overlap(self) -> bool:
        """Whether an epoch is written while the one before it is committed (spi/sink.py)."""
        ...


@dataclass(frozen=True, slots=True)
class ExecutorFacts:
    """One process that runs tasks, as its host knows it."""

    id: str
    address: str
    slots: int
    memory_bytes: int
    memory_used_bytes: int
    seen: int  # epoch milliseconds
    logs: dict[str, str] = field(default_factory=dict)


@runtime_checkable
class HasExecutors(Protocol):
    """A host that can name the processes which run its tasks."""

    def executors(self) -> list[ExecutorFacts]:
        """Those that live now."""
        ...


@runtime_checkable
class HasThreads(Protocol):
    """A host that can tell what its tasks are doing right now, also of those that hang."""

    def thread_infos(self, executor: str | None) -> list[JsonObject]:
        """Flink's `threadInfos` of an executor and all its processes; of the driver for None."""
        ...

    def samples(self, job_id: str, asked: Sampling) -> list[JsonObject]:
        """Look at tasks for a while: stacks, each with how often it was seen on and off the CPU."""
        ...


@runtime_checkable
class HasFrames(Protocol):
    """A host with streams of its own besides headrace's: Spark and its DataFrames."""

    @property
    def base(self) -> HostSession:
        """What programs run on, started if necessary: a SparkSession."""
        ...

    @staticmethod
    def source_of(frame: HostFrame, *, lines: bool = False) -> Source:
        """The source that reads a stream of the host's own, as rows or as lines of a table."""
        ...

    def frame_of(self, plan: PhysicalPlan, end: Step) -> HostFrame:
        """The records that reach a step as a stream of the host's own."""
        ...


HOSTS: Registry[Host] = Registry(
    "host",
    "headrace.hosts",
    {
        "spark": "headrace.hosts.spark.host:SparkHost",
        "spark-continuous": "headrace.hosts.spark.continuous.host:ContinuousHost",
        "local": "headrace.hosts.local.host:LocalHost",
        "local-continuous": "headrace.hosts.local.continuous:LocalContinuousHost",
    },
)
# what runs the continuous mode of a host
_CONTINUOUS = {"spark": "spark-continuous", "local": "local-continuous"}


def host_of(spec: JobSpec) -> Host:
    """A host for a job, as it is configured.

    Raises:
        ConfigurationError: there is no such host, or it has no continuous mode.
    """
    return HOSTS.new(_host_name(spec), spec)


def carriage_of(spec: JobSpec) -> Carriage:
    """How the host of a job would carry it; starts nothing.

    Raises:
        ConfigurationError: there is no such host, or it has no continuous mode.
    """
    host = cast("type[Host]", HOSTS.find(_host_name(spec)))
    return host.carriage


def _host_name(spec: JobSpec) -> str:
    name: str = spec.option("headrace.execution.host")
    if not runs_continuously(spec):
        return name
    if name not in _CONTINUOUS:
        raise ConfigurationError(
            f"the host {name!r} has no continuous mode",
            fix="remove headrace.execution.host, or headrace.execution.mode",
        )
    return _CONTINUOUS[name]


def runs_continuously(spec: JobSpec) -> bool:
    """Whether a job asks for continuous mode; a look at its first records never does."""
    return spec.option("headrace.execution.mode") == "continuous" and spec.kind != "preview"
