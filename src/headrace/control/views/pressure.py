"""Which step is slow, which subtasks have too much, which sources lag or hold event time.

In: vertices as they are now (control/views/vertices.py).  Out: what limits the job, epochs that
take long included.  Pure.
Next: control/scaling.py proposes what to do about it
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Literal

from headrace.control.views.event_time import held_time
from headrace.control.views.models import (
    BackPressureView,
    Diagnosis,
    LongEpochs,
    Skew,
    SlowOperator,
    SourceLag,
    SubtaskPressure,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.control.views.models import OperatorView, PressureLevel, SubtaskView, VertexView

__all__ = ["back_pressure", "diagnose", "level_of", "long_epochs"]

# Flink's: up to a tenth of the time is nothing, above a half is much
_LOW, _HIGH = 0.1, 0.5
# a vertex that is at work for so much of the time limits the job, whoever waits for it
_BUSY = 0.5
# the largest share of a subtask, in shares of the mean, that is called even
_EVEN = 1.5
# below these nothing is uneven: a few records or bytes say nothing
_FEW_RECORDS, _FEW_BYTES = 1_000, 64 * 1024
# and nobody is slow who had few records and has worked for no longer than this
_SHORT_WORK_MS = 5_000
# epochs are long if several, one after the other, take more than so many times the interval
_LONG, _SEVERAL = 3.0, 3
# what takes less can be fixed costs of a batch, which are not the fault of its records
_SHORT_MS = 5_000


def level_of(ratio: float) -> PressureLevel:
    """How bad a share of back-pressured time is."""
    return "ok" if ratio <= _LOW else "low" if ratio <= _HIGH else "high"


def back_pressure(vertex: VertexView, measured: int) -> BackPressureView:
    """Where the time of each subtask of a vertex goes; its level is that of the worst."""
    subtasks = tuple(_pressure(subtask) for subtask in vertex.subtasks)
    worst = max((each.back_pressured for each in subtasks), default=0.0)
    return BackPressureView(vertex.id, level_of(worst), measured, subtasks)


def _pressure(subtask: SubtaskView) -> SubtaskPressure:
    counts = subtask.counts
    busy, pressed = (counts.busy or 0.0) / 1000, (counts.back_pressured or 0.0) / 1000
    return SubtaskPressure(
        number=subtask.number,
        level=level_of(pressed),
        back_pressured=round(pressed, 3),
        idle=round(max(0.0, 1 - busy - pressed), 3),
        busy=round(busy, 3),
    )


def diagnose(
    vertices: Sequence[VertexView],
    inputs: Mapping[str, Sequence[str]],
    epochs: LongEpochs | None = None,
) -> Diagnosis:
    """What limits a job.

    Args:
        vertices: all of it.
        inputs: for each vertex those whose records it gets.
        epochs: those that are too long, if there are any.
    """
    return Diagnosis(
        slow=_slow(vertices, inputs),
        skews=tuple(skew for vertex in vertices for skew in _skews(vertex)),
        lags=tuple(
            lag
            for vertex in vertices
            for operator in vertex.operators
            if (lag := _lag(vertex, operator)) is not None
        ),
        epochs=epochs,
        held=tuple(
            held
            for vertex in vertices
            for operator in vertex.operators
            if (held := held_time(vertex, operator)) is not None
        ),
    )


# --- the slow one --------------------------------------------------------------------------------


def _slow(
    vertices: Sequence[VertexView], inputs: Mapping[str, Sequence[str]]
) -> SlowOperator | None:
    measured = [vertex for vertex in vertices if vertex.counts.busy is not None]
    if not measured:
        return None
    # one that works and waits in turns has a slower one behind it
    slowest = max(measured, key=lambda vertex: _busy(vertex) * (1 - _pressed(vertex)))
    waiting = _in_front(slowest.id, inputs)
    pressed = max((_pressed(vertex) for vertex in measured if vertex.id in waiting), default=0.0)
    if not _had_load(slowest) or (_busy(slowest) < _BUSY and pressed <= _LOW):
        return None
    step, share = _slowest_step(slowest)
    front = f", and those in front of it wait {pressed:.0%} of it" if pressed > _LOW else ""
    return SlowOperator(
        vertex=slowest.id,
        uid=step.uid,
        name=step.name,
        where=step.where,
        busy=round(share, 3),
        vertex_busy=round(_busy(slowest), 3),
        reason=f"its task is at work {_busy(slowest):.0%} of the time, {share:.0%} in this step"
        + front,
    )


def _busy(vertex: VertexView) -> float:
    return (vertex.counts.busy or 0.0) / 1000


def _had_load(vertex: VertexView) -> bool:
    """Whether a subtask has done enough to say how fast it is."""
    return any(
        max(counts.records_in, counts.records_out) >= _FEW_RECORDS
        or counts.busy_total_ms >= _SHORT_WORK_MS
        for counts in (subtask.counts for subtask in vertex.subtasks)
    )


def _pressed(vertex: VertexView) -> float:
    return (vertex.counts.back_pressured or 0.0) / 1000


def _in_front(vertex: str, inputs: Mapping[str, Sequence[str]]) -> set[str]:
    """All vertices from which records come, directly or not."""
    found: set[str] = set()
    rest = list(inputs.get(vertex, ()))
    while rest:
        each = rest.pop()
        if each not in found:
            found.add(each)
            rest += inputs.get(each, ())
    return found


def _slowest_step(vertex: VertexView) -> tuple[OperatorView, float]:
    """The step that takes most of the busiest subtask's time."""
    busiest = max(vertex.subtasks, key=lambda subtask: subtask.counts.busy or 0.0).number
    shares = [(_own(operator, busiest), number) for number, operator in enumerate(vertex.operators)]
    share, number = max(shares)
    return vertex.operators[number], share


def _own(operator: OperatorView, subtask: int) -> float:
    counts = operator.by_subtask.get(subtask)
    return 0.0 if counts is None else (counts.busy or 0.0) / 1000


# --- uneven subtasks -----------------------------------------------------------------------------


def _skews(vertex: VertexView) -> list[Skew]:
    if vertex.parallelism < 2:
        return []
    records = [subtask.counts.records_in for subtask in vertex.subtasks]
    state = [subtask.counts.state_bytes or 0 for subtask in vertex.subtasks]
    found = (
        _skew(vertex, "records", records, _FEW_RECORDS),
        _skew(vertex, "state", state, _FEW_BYTES),
    )
    return [skew for skew in found if skew is not None]


def _skew(
    vertex: VertexView, what: Literal["records", "state"], shares: list[int], few: int
) -> Skew | None:
    mean = sum(shares) / len(shares)
    most = max(shares)
    if most < few or most < _EVEN * mean:
        return None
    return Skew(
        vertex=vertex.id,
        name=vertex.name,
        what=what,
        subtask=shares.index(most),
        most=most,
        mean=round(mean, 1),
        ratio=round(most / mean, 2),
    )


# --- sources -------------------------------------------------------------------------------------


def _lag(vertex: VertexView, operator: OperatorView) -> SourceLag | None:
    pending = operator.metrics.get("pendingRecords")
    largest = operator.metrics.get("records-lag-max")
    if pending is None and largest is None:
        return None
    rate = operator.counts.records_out_per_second
    return SourceLag(
        vertex=vertex.id,
        uid=operator.uid,
        name=operator.name,
        pending_records=pending,
        records_lag_max=largest,
        seconds=round(pending / rate, 1) if pending is not None and rate > 0 else None,
    )


# --- epochs --------------------------------------------------------------------------------------


def long_epochs(took_ms: Sequence[int], interval_ms: int, *, continuous: bool) -> LongEpochs | None:
    """The newest epochs, if they take many times their interval.

    Args:
        took_ms: how long each took, the newest first.
        interval_ms: from one to the next; 0 if none is set.
        continuous: an epoch is a checkpoint, and not a batch.
    """
    limit_ms = max(_LONG * interval_ms, _SHORT_MS)
    long = list(takewhile(lambda ms: ms > limit_ms, took_ms))
    if not interval_ms or len(long) < _SEVERAL:
        return None
    return LongEpochs(
        count=len(long),
        interval_ms=interval_ms,
        duration_ms=long[0],
        ratio=round(min(long) / interval_ms, 1),
        fix="raise the parallelism or make the slow step faster; "
        + (
            "barriers wait behind the records in front of it"
            if continuous
            else "lower source.max-records-per-batch for shorter batches"
        ),
    )
