"""Metrics over time, from the lines that a driver adds every few seconds.

In: series.jsonl (control/history.py), about.json.  Out: MetricSeries.  Pure.
Rates are those between two lines: finer than the minute over which current rates are told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.control.metrics import NO_TIME, time_shares
from headrace.control.views.models import MetricSeries
from headrace.control.views.vertices import metric_scope

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from headrace.common.opaque import JsonObject

__all__ = ["metric_series"]

_RATES = {"numRecordsIn": "from_exchange", "numRecordsOut": "to_exchange"}
_OWN = ("numRecordsIn", "numRecordsOut", "busyMs", "currentInputWatermark", "numLateRecordsDropped")
_END_OF_TIME = (1 << 63) - 1


def metric_series(
    lines: Sequence[JsonObject], about: JsonObject, wanted: Collection[str] | None
) -> tuple[MetricSeries, ...]:
    """All metrics of a job over time, or those that are wanted."""
    found: dict[str, list[tuple[int, float]]] = {}
    before: JsonObject | None = None
    for line in lines:
        for name, value in _values(line, before, about):
            if wanted is None or name in wanted:
                found.setdefault(name, []).append((line["at"], value))
        before = line
    return tuple(MetricSeries(name, tuple(points)) for name, points in sorted(found.items()))


def _values(
    line: JsonObject, before: JsonObject | None, about: JsonObject
) -> Iterator[tuple[str, float]]:
    for name, value in line["values"].get("job", {}).items():
        yield f"job.{name}", value
    for vertex in about.get("vertices", ()):
        for name, value in _vertex_values(vertex, line, before):
            yield f"{vertex['id']}.{name}", value


def _vertex_values(
    vertex: JsonObject, line: JsonObject, before: JsonObject | None
) -> Iterator[tuple[str, float]]:
    passed_s = 0.0 if before is None else (line["at"] - before["at"]) / 1000
    for name, which in _RATES.items():
        steps = [step["uid"] for step in vertex["steps"] if step[which]]
        if not any(uid in line["values"] for uid in steps):
            continue
        now = sum(line["values"].get(uid, {}).get(name, 0) for uid in steps)
        yield name, now
        if before is not None and passed_s > 0:
            old = sum(before["values"].get(uid, {}).get(name, 0) for uid in steps)
            yield f"{name}PerSecond", _grown(now, old) / passed_s
    if before is not None and passed_s > 0:
        yield from _shares(vertex, line, before, passed_s)
    marks = [
        mark
        for step in vertex["steps"]
        if (mark := line["values"].get(step["uid"], {}).get("currentInputWatermark", NO_TIME))
        not in (NO_TIME, _END_OF_TIME)
    ]
    if marks:
        yield "currentInputWatermark", max(marks)
    for step in vertex["steps"]:
        for name, value in line["values"].get(step["uid"], {}).items():
            if name not in _OWN:  # the user's own, and what sources tell
                yield f"{metric_scope(step['name'])}.{name}", value


def _shares(
    vertex: JsonObject, line: JsonObject, before: JsonObject, passed_s: float
) -> Iterator[tuple[str, float]]:
    """Where the time of the busiest task went since the line before."""
    uids = {step["uid"] for step in vertex["steps"]}
    old = {tuple(key): (busy, pressed) for *key, busy, pressed in before["tasks"]}
    shares = [
        ((_grown(busy, was[0])) / passed_s, (_grown(pressed, was[1])) / passed_s)
        for level, source, subtask, busy, pressed in line["tasks"]
        if ((source in uids) if source else level == vertex["level"])
        for was in (old.get((level, source, subtask), (0.0, 0.0)),)
    ]
    if shares:
        yield from time_shares(*max(shares)).items()


def _grown(now: float, old: float) -> float:
    """How much a count grew; a driver that was started again counts from 0."""
    return now - old if now >= old else now
