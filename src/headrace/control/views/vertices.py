"""Vertices of a job as they are now: the plan's steps with what their subtasks have counted.

In: about.json and now.json (control/history.py).  Out: VertexView, PlanView.
A task may hold several vertices, those of one level; its time is split by what their steps took.
Next: control/views/pressure.py
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headrace.common.constants import MIN_LONG_VALUE
from headrace.control.split_times import splits_of
from headrace.control.views.models import (
    AccumulatorView,
    Counts,
    MetricKind,
    OperatorView,
    PlanInput,
    PlanNode,
    PlanView,
    SplitView,
    SubtaskView,
    VertexView,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from headrace.common.opaque import JsonObject, JsonValue
    from headrace.control.registry import JobRecord

__all__ = [
    "COUNTS",
    "accumulator_views",
    "metric_scope",
    "plan_view",
    "task_status",
    "vertex_views",
]

# what a job's tasks do while the job is in a state; they are all in the same
_STATUS_OF_TASKS = {
    "CREATED": "CREATED",
    "INITIALIZING": "INITIALIZING",
    "RUNNING": "RUNNING",
    "RESTARTING": "SCHEDULED",
    "FAILING": "CANCELING",
    "CANCELLING": "CANCELING",
    "CANCELED": "CANCELED",
    "FINISHED": "FINISHED",
    "FAILED": "FAILED",
    "SUSPENDED": "CANCELED",
    "RECONCILING": "RECONCILING",
}
# which of the metrics of tasks and steps are counters in Flink
COUNTS: Mapping[str, MetricKind] = dict.fromkeys(
    ("numRecordsIn", "numRecordsOut", "numBytesIn", "numBytesOut", "numLateRecordsDropped"),
    MetricKind.COUNT,
)
_SECOND_MS = 1000.0


def plan_view(record: JobRecord, about: JsonObject) -> PlanView:
    """The graph of a job."""
    exchange = "pipelined" if about.get("mode") == "continuous" else "batched"
    return PlanView(
        job_id=record.job_id,
        name=record.name,
        type=about.get("type", "STREAMING"),
        nodes=tuple(
            PlanNode(
                id=vertex["id"],
                name=vertex["name"],
                parallelism=vertex["parallelism"],
                max_parallelism=vertex["max_parallelism"],
                level=vertex["level"],
                runs=vertex["runs"],
                call_site=vertex["call_site"],
                uids=tuple(step["uid"] for step in vertex["steps"]),
                kind=vertex["kind"],
                inputs=tuple(
                    PlanInput(each["id"], each["ship_strategy"], exchange)
                    for each in vertex["inputs"]
                ),
            )
            for vertex in about.get("vertices", ())
        ),
    )


def vertex_views(
    record: JobRecord, state: str, about: JsonObject, now: JsonObject
) -> tuple[VertexView, ...]:
    """All vertices of a job."""
    numbers = _Numbers(now)
    status = task_status(record, state)
    return tuple(
        _Vertex(vertex, numbers, record, status).view() for vertex in about.get("vertices", ())
    )


def task_status(record: JobRecord, state: str) -> str:
    """What all tasks of a job do."""
    if state == "RUNNING" and record.waits_for:
        return "SCHEDULED"
    return _STATUS_OF_TASKS.get(state, "CREATED")


def accumulator_views(found: JsonObject) -> tuple[AccumulatorView, ...]:
    """Accumulators as now.json has them."""
    return tuple(AccumulatorView(name, each["type"], each["value"]) for name, each in found.items())


def metric_scope(name: str) -> str:
    """A step's name as it stands in the names of metrics."""
    return re.sub(r"[^A-Za-z0-9_:>()\-]+", "_", name)


@dataclass(frozen=True, slots=True)
class _Share:
    """A vertex's part of one task: where the time of the task goes, and what passes it."""

    subtask: int
    machine: str
    began: int
    busy_ms: float
    pressed_ms: float
    bytes_in: int
    bytes_out: int
    rates: tuple[float, float, float, float]


class _Numbers:
    """now.json, by operator and by task."""

    def __init__(self, now: JsonObject) -> None:
        self.at: int = now.get("at", 0)
        self.operators: Mapping[str, Mapping[str, JsonObject]] = now.get("operators", {})
        self.accumulators: Mapping[str, JsonObject] = now.get("vertex_accumulators", {})
        self._splits: Mapping[str, JsonObject] = now.get("splits", {})
        self._tasks: Sequence[JsonObject] = now.get("tasks", ())

    def shares(self, uids: frozenset[str]) -> list[_Share]:
        """The part that the steps of a vertex have in each task that runs them."""
        return [self._share(task, uids) for task in self._tasks if uids & set(task["uids"])]

    def splits(self, source: str) -> dict[str, SplitView]:
        """The splits of a source; of a source without splits, what it has instead of one."""
        return {
            name: SplitView(each["watermark"], max(0, self.at - each["moved"]), each["idle"])
            for name, each in splits_of(source, self._splits).items()
        }

    def _share(self, task: JsonObject, uids: frozenset[str]) -> _Share:
        subtask = task["subtask"]
        took = {uid: self._busy_ms(uid, subtask) for uid in task["uids"]}
        whole, mine = sum(took.values()), sum(took[uid] for uid in uids & set(took))
        part = mine / whole if whole else len(uids & set(took)) / len(took)
        busy, pressed, bytes_in, bytes_out = task["rates"] or (0.0, 0.0, 0.0, 0.0)
        return _Share(
            subtask=subtask,
            machine=task["machine"],
            began=task["began_ms"],
            busy_ms=task["busy_ms"] * part,
            pressed_ms=task["pressed_ms"],
            bytes_in=round(task["bytes_in"] * part),
            bytes_out=round(task["bytes_out"] * part),
            rates=(busy * part, pressed, bytes_in * part, bytes_out * part),
        )

    def _busy_ms(self, uid: str, subtask: int) -> float:
        return float(self.operators.get(uid, {}).get(str(subtask), {}).get("busy_ms", 0.0))


class _Vertex:
    """One vertex, put together."""

    def __init__(
        self, vertex: JsonObject, numbers: _Numbers, record: JobRecord, status: str
    ) -> None:
        self._vertex = vertex
        self._numbers = numbers
        self._record = record
        self._status = status
        self._width: int = max(1, vertex["parallelism"])
        self._accumulators = numbers.accumulators.get(vertex["id"], {})
        self._shares = numbers.shares(frozenset(step["uid"] for step in vertex["steps"]))

    def view(self) -> VertexView:
        vertex, record = self._vertex, self._record
        operators = tuple(self._operator(step) for step in vertex["steps"])
        subtasks = tuple(self._subtask(number, operators) for number in range(self._width))
        watermarks = [each.watermark for each in subtasks if each.watermark is not None]
        return VertexView(
            id=vertex["id"],
            name=vertex["name"],
            parallelism=vertex["parallelism"],
            max_parallelism=vertex["max_parallelism"],
            level=vertex["level"],
            runs=vertex["runs"],
            kind=vertex["kind"],
            status=self._status,
            started=record.started,
            ended=record.ended,
            counts=_summed([each.counts for each in subtasks]),
            watermark=min(watermarks, default=None),
            operators=operators,
            subtasks=subtasks,
            accumulators=accumulator_views(self._accumulators.get("all", {})),
        )

    # --- steps -------------------------------------------------------------------------------

    def _operator(self, step: JsonObject) -> OperatorView:
        raw = self._numbers.operators.get(step["uid"], {})
        by_subtask: dict[int, Counts] = {}
        metrics: dict[int, dict[str, JsonValue]] = {}
        kinds: dict[str, MetricKind] = {}
        for text, content in raw.items():
            number = int(text) % self._width
            counts = _operator_counts(content)
            known = by_subtask.get(number)
            by_subtask[number] = counts if known is None else _together(known, counts)
            metrics.setdefault(number, {}).update(_operator_metrics(content))
            kinds |= _operator_kinds(content)
        total = _summed(list(by_subtask.values()))
        splits = self._numbers.splits(step["uid"])
        return OperatorView(
            id=step["id"],
            uid=step["uid"],
            name=step["name"],
            where=step["where"],
            counts=total,
            watermark=min(
                (each["watermark"] for each in raw.values() if each["watermark"] is not None),
                default=None,
            ),
            by_subtask=by_subtask,
            metrics=_over_subtasks(metrics.values(), _added_names(raw.values()))
            | {
                f"split.{name}.watermark.currentWatermark": split.watermark
                for name, split in splits.items()
                if split.watermark is not None
            },
            metrics_by_subtask=metrics,
            kinds=kinds,
            splits=splits,
        )

    # --- subtasks ----------------------------------------------------------------------------

    def _subtask(self, number: int, operators: tuple[OperatorView, ...]) -> SubtaskView:
        shares = [share for share in self._shares if share.subtask % self._width == number]
        counts = self._task_counts(number, shares, operators)
        marks = [
            operator.metrics_by_subtask.get(number, {}).get("currentInputWatermark", MIN_LONG_VALUE)
            for operator in operators
        ]
        known = [mark for mark in marks if mark != MIN_LONG_VALUE]
        metrics = _task_metrics(counts, max(known, default=MIN_LONG_VALUE))
        return SubtaskView(
            number=number,
            status=self._status,
            attempt=self._record.restarts,
            host=shares[-1].machine if shares else self._record.host,
            started=min((share.began for share in shares), default=self._record.started),
            ended=self._record.ended,
            counts=counts,
            watermark=max(known, default=None),
            metrics=metrics,
            accumulators=accumulator_views(
                self._accumulators.get("subtasks", {}).get(str(number), {})
            ),
        )

    def _task_counts(
        self, number: int, shares: list[_Share], operators: tuple[OperatorView, ...]
    ) -> Counts:
        """A task reads what comes from other tasks, and writes what goes to others, as in Flink."""
        heads, ends = [], []
        for step, operator in zip(self._vertex["steps"], operators, strict=True):
            counts = operator.by_subtask.get(number, Counts())
            heads += [counts] if step["from_exchange"] else []
            ends += [counts] if step["to_exchange"] else []
        mine = [operator.by_subtask.get(number, Counts()) for operator in operators]
        kept = [counts.state_bytes for counts in mine if counts.state_bytes is not None]
        # the tasks of a source that Spark numbers beyond its parallelism run one after the other
        busy = min(_SECOND_MS, sum(share.rates[0] for share in shares))
        pressed = min(_SECOND_MS - busy, max((share.rates[1] for share in shares), default=0.0))
        busy_total = sum(share.busy_ms for share in shares)
        pressed_total = max((share.pressed_ms for share in shares), default=0.0)
        lived = self._numbers.at - min((share.began for share in shares), default=0)
        return Counts(
            records_in=sum(counts.records_in for counts in heads),
            records_out=sum(counts.records_out for counts in ends),
            bytes_in=sum(share.bytes_in for share in shares),
            bytes_out=sum(share.bytes_out for share in shares),
            records_in_per_second=sum(counts.records_in_per_second for counts in heads),
            records_out_per_second=sum(counts.records_out_per_second for counts in ends),
            bytes_in_per_second=sum(share.rates[2] for share in shares),
            bytes_out_per_second=sum(share.rates[3] for share in shares),
            busy=busy if shares else None,
            back_pressured=pressed if shares else None,
            idle=_SECOND_MS - busy - pressed if shares else None,
            busy_total_ms=busy_total,
            back_pressured_total_ms=pressed_total,
            idle_total_ms=max(0.0, lived - busy_total - pressed_total) if shares else 0.0,
            late_dropped=sum(counts.late_dropped for counts in mine),
            state_bytes=sum(kept) if kept else None,
        )


def _operator_counts(content: JsonObject) -> Counts:
    records_in, records_out, busy = content["rates"] or (0.0, 0.0, 0.0)
    return Counts(
        records_in=content["in"],
        records_out=content["out"],
        records_in_per_second=records_in,
        records_out_per_second=records_out,
        busy=min(_SECOND_MS, busy),
        busy_total_ms=content["busy_ms"],
        late_dropped=content["late"],
        state_bytes=content["state"],
    )


def _operator_metrics(content: JsonObject) -> dict[str, JsonValue]:
    """Under Flink's names; a user's name wins, as it does there."""
    counts = _operator_counts(content)
    mark = MIN_LONG_VALUE if content["watermark"] is None else content["watermark"]
    found: dict[str, JsonValue] = {
        "numRecordsIn": counts.records_in,
        "numRecordsOut": counts.records_out,
        "numRecordsInPerSecond": counts.records_in_per_second,
        "numRecordsOutPerSecond": counts.records_out_per_second,
        "numLateRecordsDropped": counts.late_dropped,
        "currentInputWatermark": mark,
        "currentOutputWatermark": mark,
        "ownTimeMsPerSecond": round(counts.busy or 0.0),
    }
    if counts.state_bytes is not None:
        found["stateBytes"] = counts.state_bytes
    found |= content["counters"]
    found |= {name: value for name, value in content["gauges"].items() if value is not None}
    found |= content["meters"]
    for name, (count, total, low, high) in content["distributions"].items():
        found |= {
            f"{name}.count": count,
            f"{name}.sum": total,
            f"{name}.min": low,
            f"{name}.max": high,
            f"{name}.mean": total / count if count else 0.0,
        }
    return found


def _operator_kinds(content: JsonObject) -> dict[str, MetricKind]:
    """In the order of `_operator_metrics`: the kind is that of the value that won."""
    return {
        **COUNTS,
        **dict.fromkeys(content["counters"], MetricKind.TALLY),
        **dict.fromkeys((*content["gauges"], *content["meters"]), MetricKind.GAUGE),
        **dict.fromkeys((f"{each}.count" for each in content["distributions"]), MetricKind.COUNT),
    }


def _task_metrics(counts: Counts, mark: int) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {
        "numRecordsIn": counts.records_in,
        "numRecordsOut": counts.records_out,
        "numRecordsInPerSecond": counts.records_in_per_second,
        "numRecordsOutPerSecond": counts.records_out_per_second,
        "numBytesIn": counts.bytes_in,
        "numBytesOut": counts.bytes_out,
        "numBytesInPerSecond": counts.bytes_in_per_second,
        "numBytesOutPerSecond": counts.bytes_out_per_second,
        "numLateRecordsDropped": counts.late_dropped,
        "currentInputWatermark": mark,
    }
    if counts.busy is not None and counts.idle is not None and counts.back_pressured is not None:
        found |= {
            "busyTimeMsPerSecond": round(counts.busy),
            "idleTimeMsPerSecond": round(counts.idle),
            "backPressuredTimeMsPerSecond": round(counts.back_pressured),
            "accumulateBusyTimeMs": round(counts.busy_total_ms),
            "accumulateIdleTimeMs": round(counts.idle_total_ms),
            "accumulateBackPressuredTimeMs": round(counts.back_pressured_total_ms),
            "isBackPressured": counts.back_pressured > 100,
        }
    if counts.state_bytes is not None:
        found["stateBytes"] = counts.state_bytes
    return found


_LOWEST = ("currentInputWatermark", "currentOutputWatermark")
_ADDED = ("numRecords", "numBytes", "numLate", "stateBytes", "pendingRecords")


def _added_names(parts: Iterable[JsonObject]) -> set[str]:
    """The users' counters and meters, which add up over subtasks."""
    return {name for part in parts for name in (*part["counters"], *part["meters"])}


def _over_subtasks(
    parts: Iterable[Mapping[str, JsonValue]], added: set[str]
) -> dict[str, JsonValue]:
    """Counts add up, of watermarks the lowest holds, of anything else the largest."""
    found: dict[str, JsonValue] = {}
    for part in parts:
        for name, value in part.items():
            known = found.get(name)
            if known is None or not isinstance(value, (int, float)):
                found[name] = value
            elif name in _LOWEST:
                found[name] = min(known, value)
            elif name.startswith(_ADDED) or name in added:
                found[name] = known + value
            else:
                found[name] = max(known, value)
    return found


def _together(one: Counts, other: Counts) -> Counts:
    return replace(_summed([one, other]), busy=(one.busy or 0.0) + (other.busy or 0.0))


def _summed(parts: Sequence[Counts]) -> Counts:
    """All parts as one: numbers add up, of shares of time the busiest part's count."""
    busy = [part.busy for part in parts if part.busy is not None]
    idle = [part.idle for part in parts if part.idle is not None]
    pressed = [part.back_pressured for part in parts if part.back_pressured is not None]
    kept = [part.state_bytes for part in parts if part.state_bytes is not None]
    return Counts(
        records_in=sum(part.records_in for part in parts),
        records_out=sum(part.records_out for part in parts),
        bytes_in=sum(part.bytes_in for part in parts),
        bytes_out=sum(part.bytes_out for part in parts),
        records_in_per_second=sum(part.records_in_per_second for part in parts),
        records_out_per_second=sum(part.records_out_per_second for part in parts),
        bytes_in_per_second=sum(part.bytes_in_per_second for part in parts),
        bytes_out_per_second=sum(part.bytes_out_per_second for part in parts),
        busy=max(busy, default=None),
        idle=min(idle, default=None),
        back_pressured=max(pressed, default=None),
        busy_total_ms=sum(part.busy_total_ms for part in parts),
        idle_total_ms=sum(part.idle_total_ms for part in parts),
        back_pressured_total_ms=sum(part.back_pressured_total_ms for part in parts),
        late_dropped=sum(part.late_dropped for part in parts),
        state_bytes=sum(kept) if kept else None,
    )
