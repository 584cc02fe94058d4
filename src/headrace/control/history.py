"""What a driver writes about its job for those who show it, beside the job's file in the registry.

    <job id>.history/
        about.json         its vertices, its configuration without secrets: written once
        now.json           counts by operator and subtask, where time goes: at most once a second
        checkpoints.json   the newest checkpoints with their sizes
        failures.json      what went wrong, with the user's line and code
        series.jsonl       a line every few seconds; series.old.jsonl has those before it

All of it is bounded.  In: a Job.  Out: files, each replaced as a whole.
Next: control/views/reader.py reads them
"""

from __future__ import annotations

import contextlib
import json
import time
import traceback
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from headrace.common.clock import wall_clock
from headrace.common.sensitive import masked, masked_text
from headrace.control.registry import write_json
from headrace.errors import HeadraceError, UserFunctionError
from headrace.plan.vertices import vertices_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace.common.opaque import JsonObject
    from headrace.control.job import Failure, Job
    from headrace.control.metrics import SubtaskTotals
    from headrace.plan.physical import PhysicalPlan
    from headrace.plan.vertices import Vertex
    from headrace.spi.host import ExecutorFacts
    from headrace.spi.job_spec import JobSpec

__all__ = ["FILES", "HistorySettings", "JobAbout", "JobHistory", "about"]

ABOUT, NOW, CHECKPOINTS, FAILURES = "about.json", "now.json", "checkpoints.json", "failures.json"
SERIES, OLD_SERIES = "series.jsonl", "series.old.jsonl"
FILES = (ABOUT, NOW, CHECKPOINTS, FAILURES, SERIES, OLD_SERIES)
_MOST_TRACE = 20_000
_EXECUTORS_EVERY_S = 10.0


@dataclass(frozen=True, slots=True)
class JobAbout:
    """What does not change while a job runs.

    Attributes:
        restored: where its state came from when this driver started it: None for nowhere.
    """

    vertices: tuple[Vertex, ...]
    type: str
    mode: str
    parallelism: int
    max_parallelism: int
    options: dict[str, str] = field(default_factory=dict)
    job_parameters: dict[str, str] = field(default_factory=dict)
    interval_ms: int = 0
    timeout_ms: int = 0
    object_reuse: bool = False
    restored: str | None = None

    def to_json(self) -> JsonObject:
        """As plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class HistorySettings:
    """How much is kept."""

    checkpoints: int = 10
    interval_s: float = 5.0
    points: int = 720

    @staticmethod
    def of(spec: JobSpec) -> HistorySettings:
        """What the options say."""
        return HistorySettings(
            spec.option("web.checkpoints.history"),
            spec.option("headrace.metrics.history.interval") / 1000,
            spec.option("headrace.metrics.history.size"),
        )


def about(physical: PhysicalPlan, spec: JobSpec, restored: str | None) -> JobAbout:
    """What there is to say of a job before it runs."""
    vertices = tuple(vertices_of(physical, spec.parallelism))
    options = {**spec.options, **spec.spark_settings}
    return JobAbout(
        vertices=vertices,
        type="BATCH" if physical.batch else "STREAMING",
        mode=spec.option("headrace.execution.mode"),
        parallelism=spec.parallelism,
        max_parallelism=max((vertex.max_parallelism for vertex in vertices), default=1),
        options=masked(options),
        job_parameters=masked(spec.job_parameters),
        interval_ms=spec.interval_ms,
        timeout_ms=spec.option("execution.checkpointing.timeout"),
        object_reuse=bool(spec.option("pipeline.object-reuse")),
        restored=restored,
    )


class JobHistory:
    """Writes the files of one job; called by its agent's thread, and once at the job's end.

    Args:
        folder: where they go.
        facts: what does not change.
        settings: how much is kept.
        executors: asks the host for its processes.
    """

    def __init__(
        self,
        folder: Path,
        facts: JobAbout,
        settings: HistorySettings,
        executors: Callable[[], list[ExecutorFacts]] = list,
    ) -> None:
        self._folder = folder
        self._facts = facts
        self._settings = settings
        self._ask_executors = executors
        self._executors: list[JsonObject] = []
        self._asked_at = float("-inf")
        self._written: dict[str, object] = {}
        self._point_at = float("-inf")
        self._points = 0

    @property
    def step_names(self) -> dict[str, str]:
        """What the program calls its steps, by uid."""
        return {step.uid: step.name for vertex in self._facts.vertices for step in vertex.steps}

    def begin(self, job: Job) -> None:
        """The job is about to run: what an earlier run left is replaced, its series goes on."""
        self._folder.mkdir(parents=True, exist_ok=True)
        job.metrics.checkpoints.keep(self._settings.checkpoints)
        write_json(self._folder / ABOUT, self._facts.to_json(), indent=None)
        for name in (CHECKPOINTS, FAILURES):
            (self._folder / name).unlink(missing_ok=True)
        self._points = _lines(self._folder / SERIES)
        self.write(job)

    def write(self, job: Job, *, last: bool = False) -> None:
        """Write what has changed.

        Args:
            job: whose history it is.
            last: the job has ended.
        """
        self._look_at_executors(last=last)
        metrics = job.metrics
        self._replace(
            NOW, (metrics.changes, job.status, int(time.monotonic()) // 15), lambda: self._now(job)
        )
        self._replace(CHECKPOINTS, metrics.checkpoints.changes, metrics.checkpoints.to_json)
        self._replace(FAILURES, _newest(job), lambda: _failures(job))
        interval_s, now_s = self._settings.interval_s, time.monotonic()
        if interval_s and (last or now_s - self._point_at >= interval_s):
            self._point_at = now_s
            self._add_point(job)

    def _replace(self, name: str, version: object, content: Callable[[], JsonObject]) -> None:
        if self._written.get(name) != version:
            write_json(self._folder / name, content(), indent=None)
            self._written[name] = version

    def _look_at_executors(self, *, last: bool) -> None:
        if last or time.monotonic() - self._asked_at < _EXECUTORS_EVERY_S:
            return
        self._asked_at = time.monotonic()
        with contextlib.suppress(Exception):  # a host that is starting or gone
            self._executors = [asdict(found) for found in self._ask_executors()]

    # --- now ---------------------------------------------------------------------------------

    def _now(self, job: Job) -> JsonObject:
        metrics = job.metrics
        operators, tasks = metrics.totals()
        rates = metrics.rates()
        return {
            "at": wall_clock(),
            "state_times": dict(job.state_times),
            "state_totals": dict(job.state_totals),
            "restarts": job.restarts,
            "epochs": metrics.batches,
            "last_epoch": metrics.last_batch_id,
            "operators": {
                uid: {
                    str(number): _subtask(each, uid, number, rates)
                    for number, each in sorted(totals.subtasks.items())
                }
                for uid, totals in operators.items()
            },
            "splits": metrics.splits.to_json(),
            "tasks": [
                {
                    **_plain(task),
                    "level": level,
                    "source": source,
                    "subtask": subtask,
                    "rates": _rounded(rates.get(("task", str(level), source, str(subtask)), ())),
                }
                for (level, source, subtask), task in sorted(tasks.items())
            ],
            "accumulators": metrics.accumulator_texts(),
            "vertex_accumulators": metrics.vertex_accumulators(self._facts.vertices),
            "executors": self._executors,
        }

    # --- over time ---------------------------------------------------------------------------

    def _add_point(self, job: Job) -> None:
        """One line; half of the points are in the old file, so nothing is ever copied."""
        if self._points >= max(1, self._settings.points // 2):
            (self._folder / SERIES).replace(self._folder / OLD_SERIES)
            self._points = 0
        with (self._folder / SERIES).open("a") as file:
            file.write(json.dumps(self._point(job), separators=(",", ":")) + "\n")
        self._points += 1

    def _point(self, job: Job) -> JsonObject:
        metrics, at = job.metrics, wall_clock()
        until, operators, tasks = metrics.totals_until()
        last = metrics.checkpoints.last("completed") or {}
        values: dict[str, JsonObject] = {
            "job": {
                "numRestarts": job.restarts,
                "numberOfCompletedCheckpoints": metrics.checkpoints.completed,
                "numberOfFailedCheckpoints": metrics.checkpoints.failed,
                "lastCheckpointDuration": last.get("duration", 0),
                "lastCheckpointSize": last.get("size", 0),
                "lastCheckpointFullSize": last.get("state", 0),
            }
        }
        for uid, totals in operators.items():
            values[uid] = {
                "numRecordsIn": totals.records_in,
                "numRecordsOut": totals.records_out,
                "currentInputWatermark": totals.watermark,
                "busyMs": round(sum(each.busy_ms for each in totals.subtasks.values()), 1),
                "numLateRecordsDropped": totals.late_records_dropped,
                **{
                    name: value
                    for name, value in (*totals.counters.items(), *totals.gauges.items())
                    if isinstance(value, (int, float))
                },
            }
        times = [
            [level, source, subtask, round(task.busy_ms, 1), round(task.pressed_ms, 1)]
            for (level, source, subtask), task in sorted(tasks.items())
        ]
        until = at if until is None else min(at, until)
        return {"at": at, "until": until, "values": values, "tasks": times}


def _subtask(
    totals: SubtaskTotals,
    uid: str,
    number: int,
    rates: dict[tuple[str, ...], tuple[float, ...]],
) -> JsonObject:
    place = (uid, str(number))
    return {
        "in": totals.records_in,
        "out": totals.records_out,
        "late": totals.late_records_dropped,
        "watermark": totals.watermark,
        "busy_ms": round(totals.busy_ms, 3),
        "state": totals.state_bytes,
        "written": totals.written_bytes,
        "rates": _rounded(rates.get(("operator", *place), ())),
        "counters": totals.counters,
        "gauges": {name: _showable(value) for name, value in totals.gauges.items()},
        "meters": {
            name: round(rates.get(("counter", *place, name), (0.0,))[0], 3)
            for name in totals.meters
        },
        "distributions": totals.distributions,
    }


def _plain(task: object) -> JsonObject:
    return {
        name: round(value, 3) if isinstance(value, float) else value
        for name, value in asdict(task).items()  # type: ignore[call-overload]
    }


def _rounded(values: tuple[float, ...]) -> list[float]:
    return [round(value, 3) for value in values]


def _showable(value: object) -> object:
    """A gauge as JSON: a function of the user's may return anything."""
    return value if isinstance(value, (int, float, str, bool, type(None))) else str(value)[:200]


def _lines(path: Path) -> int:
    try:
        with path.open("rb") as file:
            return sum(1 for _ in file)
    except OSError:
        return 0


# --- failures ------------------------------------------------------------------------------------


def _newest(job: Job) -> tuple[int, object]:
    failures = list(job.failures)
    return len(failures), (failures[-1].when_ms if failures else None, job.error is None)


def _failures(job: Job) -> JsonObject:
    found = [failure_facts(failure) for failure in list(job.failures)]
    if job.error is not None and not (found and job.failures[-1].error is job.error):
        found.append({"when": wall_clock(), "epochs": job.metrics.batches, "delay_ms": None,
                      **error_facts(job.error)})  # fmt: skip
    return {"failures": found}


def failure_facts(failure: Failure) -> JsonObject:
    """A failure as plain data."""
    return {
        "when": failure.when_ms,
        "epochs": failure.batches,
        "delay_ms": failure.delay_ms,
        **error_facts(failure.error),
    }


def error_facts(error: BaseException) -> JsonObject:
    """An error with its parts, where it happened and the user's code; passwords are masked."""
    own = error if isinstance(error, HeadraceError) else None
    user_error = error if isinstance(error, UserFunctionError) else None
    cause = None if user_error is None else user_error.__cause__
    trace = "".join(traceback.format_exception(error))
    return {
        "type": type(cause or error).__name__,
        "condition": None if own is None else own.condition,
        "message": masked_text((own.message if own else str(error))[:2000]),
        "where": None if own is None else _text(own.where),
        "fix": None if own is None else _text(own.fix),
        "stacktrace": masked_text(trace[-_MOST_TRACE:]),
        "task": None if user_error is None else user_error.step or None,
        "code": None if user_error is None else user_error.code,
        "raised_at": None if user_error is None else user_error.raised_at,
        "machine": None if user_error is None else user_error.machine or None,
    }


def _text(value: object) -> str | None:
    return None if value is None else masked_text(str(value))
