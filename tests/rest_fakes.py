"""A dispatcher and read models without processes: what REST stands on, in memory."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.common import Configuration
from headrace.control.registry import JobRecord, JobRegistry
from headrace.control.views.models import (
    AccumulatorView,
    BackPressureView,
    CheckpointCounts,
    CheckpointsView,
    CheckpointView,
    Counts,
    Diagnosis,
    ExceptionsView,
    ExecutorView,
    FailureView,
    JobConfigView,
    JobOverview,
    JobView,
    MetricSeries,
    OperatorView,
    PlanInput,
    PlanNode,
    PlanView,
    SlowOperator,
    StateCheckpoint,
    StatisticsView,
    SubtaskCheckpoint,
    SubtaskPressure,
    SubtaskView,
    VertexView,
)
from headrace.control.views.reader import JobViews
from headrace.dispatcher.dispatcher import Dispatcher
from headrace.dispatcher.operations import Operation, Operations
from headrace.dispatcher.program_store import ProgramStore
from headrace.dispatcher.settings import ClusterSettings
from headrace.errors import JobError, JobNotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from headrace.common.opaque import JsonObject, JsonValue
    from headrace.dispatcher.job_store import Submission
    from headrace.dispatcher.leadership import Leader

JOB = "0123456789abcdef0123456789abcdef"
ENDED = "f" * 32
WAITING = "e" * 32
SOURCE, WINDOW = "a" * 32, "b" * 32
NOW = 1_795_006_238_533
STARTED = NOW - 20_000

_COUNTS = Counts(
    records_in=3400, records_out=1200, bytes_in=90_032, bytes_out=40_000, busy=120.0, idle=880.0,
    back_pressured=0.0, busy_total_ms=708.0, idle_total_ms=15_477.0, state_bytes=4096,
)  # fmt: skip


def overview(job_id: str = JOB, state: str = "RUNNING", name: str = "orders") -> JobOverview:
    ended = NOW if state in ("FINISHED", "FAILED", "CANCELED") else None
    return JobOverview(
        job_id=job_id, name=name, state=state, started=STARTED, ended=ended, duration_ms=20_000,
        updated=NOW, tasks={"running": 4, "total": 4}, parallelism=2,
    )  # fmt: skip


def _subtask(number: int) -> SubtaskView:
    return SubtaskView(
        number=number, status="RUNNING", attempt=0, host="localhost:38241", started=STARTED,
        ended=None, counts=_COUNTS, watermark=NOW - 5000, metrics={"numRecordsIn": 1700},
    )  # fmt: skip


def _vertex(vertex_id: str, name: str, level: int, kind: str) -> VertexView:
    return VertexView(
        id=vertex_id, name=name, parallelism=2, max_parallelism=128, level=level, runs="python",
        kind=kind, status="RUNNING", started=STARTED, ended=None, counts=_COUNTS,  # type: ignore[arg-type]
        watermark=NOW - 5000,
        operators=(
            OperatorView(vertex_id, name.lower(), name, "orders.py:12", _COUNTS, NOW - 5000),
        ),
        subtasks=(_subtask(0), _subtask(1)),
    )  # fmt: skip


PLAN = PlanView(
    JOB, "orders", "STREAMING",
    (
        PlanNode(
            SOURCE, "Source: orders", 2, 128, 0, "python", "orders.py:9", ("orders",), "source"
        ),
        PlanNode(
            WINDOW, "window <b>", 2, 128, 1, "python", "orders.py:12", ("window",), "sink",
            (PlanInput(SOURCE, "HASH", "batched"),),
        ),
    ),
)  # fmt: skip
CHECKPOINT = CheckpointView(
    id=34, status="COMPLETED", is_savepoint=False, triggered=NOW - 1000, acknowledged=NOW - 900,
    duration_ms=100, size_bytes=8491, state_bytes=8491, subtasks=4, records=200,
    path="/data/checkpoint",
    vertices=(
        StateCheckpoint(SOURCE, 0, 0, 20, NOW - 980, (
            SubtaskCheckpoint(0, NOW - 980, 20, 0, 0), SubtaskCheckpoint(1, NOW - 980, 20, 0, 0),
        )),
        StateCheckpoint(WINDOW, 8491, 8491, 36, NOW - 900, (
            SubtaskCheckpoint(0, NOW - 900, 29, 4225, 4225),
            SubtaskCheckpoint(1, NOW - 900, 36, 4266, 4266),
        )),
    ),
)  # fmt: skip


SAVEPOINT = replace(CHECKPOINT, id=20, is_savepoint=True, path="/data/savepoint-012345-0")


class FakeViews(JobViews):
    """Three jobs: one runs, one has failed, one waits."""

    def __init__(self) -> None:
        super().__init__(JobRegistry(Path(tempfile.gettempdir()) / "no-such-registry"))
        self.jobs = {
            JOB: overview(),
            ENDED: overview(ENDED, "FAILED", "broken"),
            WAITING: overview(WAITING, "CREATED", "waiting"),
        }

    def overview(self) -> tuple[JobOverview, ...]:
        return tuple(self.jobs.values())

    def find(self, job_id: str) -> JobOverview | None:
        return self.jobs.get(job_id)

    def _known(self, job_id: str) -> JobOverview:
        found = self.jobs.get(job_id)
        if found is None:
            raise JobNotFoundError(f"there is no job {job_id!r}")
        return found

    def job(self, job_id: str) -> JobView:
        job = self._known(job_id)
        return JobView(
            overview=job, now=NOW, mode="micro-batch", type="STREAMING", max_parallelism=128,
            state_times={"CREATED": STARTED, "RUNNING": STARTED + 10},
            vertices=(
                _vertex(SOURCE, "Source: orders", 0, "source"),
                _vertex(WINDOW, "window", 1, "sink"),
            ),
            plan=self.plan(job_id), checkpoint="/data/checkpoint", restarts=0,
            restart_strategy="exponential-delay", program="orders.py", driver="vm:42", log=None,
            web={"spark": "http://127.0.0.1:4040"}, epochs=34, last_epoch=33,
            error="[USER_FUNCTION] division by zero" if job.state == "FAILED" else None,
            metrics=self.job_metrics(job_id),
        )  # fmt: skip

    def plan(self, job_id: str) -> PlanView:
        return replace(PLAN, job_id=self._known(job_id).job_id)

    def configuration(self, job_id: str) -> JobConfigView:
        job = self._known(job_id)
        return JobConfigView(
            job_id, job.name, "PIPELINED", "exponential-delay", 2, False, {"region": "eu"},
            {"parallelism.default": "2"}, 500, 600_000,
        )  # fmt: skip

    def accumulators(self, job_id: str) -> tuple[AccumulatorView, ...]:
        self._known(job_id)
        return (AccumulatorView("seen", "IntCounter", "3400"),)

    def exceptions(self, job_id: str, limit: int = 20) -> ExceptionsView:
        if self._known(job_id).state != "FAILED":
            return ExceptionsView((), False)
        failure = FailureView(
            NOW, "ZeroDivisionError", "USER_FUNCTION", "division by zero", "orders.py:12",
            "check the divisor", "Traceback ...", "window (1/2)", "return 1 / 0", 3, None,
            machine="localhost:77", executor=self.executors()[0],
        )  # fmt: skip
        return ExceptionsView((failure,)[:limit], False)

    def checkpoints(self, job_id: str) -> CheckpointsView:
        self._known(job_id)
        figures = StatisticsView(25, 399, 77, 48.0, 160.0, 348.75, 399.0, 399.0)
        return CheckpointsView(
            CheckpointCounts(0, 35, 0, 34, 1), figures, figures, figures, (CHECKPOINT,),
            CHECKPOINT, None, SAVEPOINT, None, None, None,
        )  # fmt: skip

    def checkpoint(self, job_id: str, number: int) -> CheckpointView | None:
        self._known(job_id)
        return {CHECKPOINT.id: CHECKPOINT, SAVEPOINT.id: SAVEPOINT}.get(number)

    def back_pressure(self, job_id: str, vertex: str) -> BackPressureView:
        subtasks = tuple(SubtaskPressure(n, "ok", 0.0, 0.884, 0.116) for n in range(2))
        return BackPressureView(vertex, "ok", NOW, subtasks)

    def diagnosis(self, job_id: str) -> Diagnosis:
        slow = SlowOperator(WINDOW, "window", "window", "orders.py:12", 0.9, 0.95, "busiest")
        return Diagnosis(slow, (), ())

    def executors(self, job_id: str | None = None) -> tuple[ExecutorView, ...]:
        logs = {"stdout": "http://127.0.0.1:8081/log"}
        return (ExecutorView("0", JOB, "localhost:38241", 4, 2, 4, 1 << 30, 1 << 28, NOW, logs),)

    def job_metrics(self, job_id: str) -> Mapping[str, JsonValue]:
        self._known(job_id)
        return {"numRestarts": 0, "uptime": 18_518, "lastCheckpointExternalPath": "/data"}

    def vertex_metrics(self, job_id: str, vertex: str) -> Mapping[str, JsonValue]:
        return {"0.numRecordsIn": 1344, "1.numRecordsIn": 2056}

    def subtask_metrics(self, job_id: str, vertex: str, subtask: int) -> Mapping[str, JsonValue]:
        return {"numRecordsIn": (1344, 2056)[subtask]}

    def series(self, job_id: str, names: Sequence[str] | None = None) -> tuple[MetricSeries, ...]:
        return (MetricSeries("job.numRestarts", ((1, 0.0), (2, 1.0))),)


class FakeDispatcher(Dispatcher):
    """Notes what it was asked for; its operations end at once."""

    def __init__(self, views: FakeViews, folder: Path) -> None:
        configuration = Configuration()
        configuration.set_string("spark.authenticate.secret", "hunter2")
        configuration.set_string("parallelism.default", "2")
        self.settings = ClusterSettings(configuration, folder)
        self.registry = views.registry
        self.programs = ProgramStore(folder / "programs")
        self.views = views
        self.asked: list[tuple[str, JsonObject]] = []
        self.leading = True
        self.other: Leader | None = None
        self._operations = Operations()
        self.fails: BaseException | None = None
        self.address = "http://127.0.0.1:8081"
        self.started_ms = STARTED

    @property
    def is_leader(self) -> bool:
        return self.leading

    @property
    def leader(self) -> Leader | None:
        return self.other

    def submit(self, submission: Submission) -> str:
        self.asked.append(("submit", {"submission": submission}))
        return submission.job_id or JOB

    def queue_position(self, job_id: str) -> int | None:
        return 1 if job_id == WAITING else None

    def find(self, text: str, *, newest: bool = False) -> JobRecord:
        job = self.views.find(text)
        if job is None:
            raise JobNotFoundError(f"there is no job {text!r}")
        return JobRecord(job.job_id, job.name, job.state, "vm", 1, "0", job.started, job.updated)

    def slots(self) -> tuple[int, int]:
        return 0, 0

    def queue(self) -> list[str]:
        return [WAITING]

    def log_file(self, job_id: str) -> str | None:
        return None

    def cancel(self, job_id: str) -> None:
        self.asked.append(("cancel", {"job": job_id}))
        self.views.jobs[job_id] = replace(self.views.jobs[job_id], state="CANCELED", ended=NOW)

    def stop(
        self,
        job_id: str,
        *,
        drain: bool = False,
        savepoint: bool = True,
        folder: str | None = None,
        operation_id: str | None = None,
    ) -> Operation:
        self.asked.append(("stop", {"drain": drain, "folder": folder}))

        def work() -> JsonObject:
            self.views.jobs[job_id] = replace(self.views.jobs[job_id], state="FINISHED", ended=NOW)
            return {"savepoint": f"{folder}/savepoint-012345-1" if savepoint else None}

        return self._begin(job_id, "stop", self._or_failing(work), operation_id)

    def savepoint(
        self,
        job_id: str,
        folder: str | None = None,
        *,
        cancel_job: bool = False,
        operation_id: str | None = None,
    ) -> Operation:
        self.asked.append(("savepoint", {"folder": folder, "cancel": cancel_job}))
        location = f"{folder or '/data'}/savepoint-012345-0"
        work = self._or_failing(lambda: {"savepoint": location})
        return self._begin(job_id, "savepoint", work, operation_id)

    def checkpoint(self, job_id: str, *, operation_id: str | None = None) -> Operation:
        self.asked.append(("checkpoint", {}))
        work = self._or_failing(lambda: {"checkpoint": CHECKPOINT.id})
        return self._begin(job_id, "checkpoint", work, operation_id)

    def rescale(
        self, job_id: str, parallelism: int, *, operation_id: str | None = None
    ) -> Operation:
        self.asked.append(("rescale", {"parallelism": parallelism}))
        return self._operations.begin(job_id, "rescale", lambda: {"job_id": job_id}, operation_id)

    def _running_job(self, text: str, what: str) -> JobRecord:
        return self.find(text)

    def _or_failing(self, work: Callable[[], JsonObject]) -> Callable[[str], JsonObject]:
        def failing(own_id: str) -> JsonObject:
            if self.fails is not None:
                raise self.fails
            return work()

        return failing


def not_now() -> JobError:
    """What a dispatcher says of a job that cannot be stopped at the moment."""
    return JobError(
        "job 'orders' is RESTARTING, so there is no batch to stop after", fix="wait until it runs"
    )
