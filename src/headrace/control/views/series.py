"""Metrics over time, from the lines that a driver adds every few seconds.

    lines       5 s      10 s      15 s      20 s      25 s
    counted      0        0         0        900       900
    until       4 s      4 s       4 s      20 s      25 s       a batch ran from 4 s to 19 s
    a second          56       56       56        0

In: series.jsonl (control/history.py), about.json.  Out: MetricSeries.  Pure.
Rates are those between two lines: finer than the minute over which current rates are told.  What a
batch did is spread over the time from its beginning to the line that has it, and there are no rates
yet for the time of a batch that runs.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from headrace.common.constants import MAX_LONG_VALUE, MIN_LONG_VALUE
from headrace.control.metrics import time_shares
from headrace.control.views.models import MetricSeries
from headrace.control.views.vertices import metric_scope

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from headrace.common.opaque import JsonObject

__all__ = ["metric_series"]

_RATES = {"numRecordsIn": "from_exchange", "numRecordsOut": "to_exchange"}
_OWN = ("numRecordsIn", "numRecordsOut", "busyMs", "currentInputWatermark", "numLateRecordsDropped")
# (level, source, subtask)
_Task = tuple[int, str, int]


def metric_series(
    lines: Sequence[JsonObject], about: JsonObject, wanted: Collection[str] | None
) -> tuple[MetricSeries, ...]:
    """All metrics of a job over time, or those that are wanted."""
    found: dict[str, list[tuple[int, float]]] = {}
    read = [_SeriesLine.of(line) for line in lines]
    for line, growth in zip(read, _growths(read), strict=True):
        for name, value in _values(line, growth, about):
            if wanted is None or name in wanted:
                found.setdefault(name, []).append((line.at, value))
    return tuple(MetricSeries(name, tuple(points)) for name, points in sorted(found.items()))


# --- how counts grow -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _SeriesLine:
    """A line of the file.

    Attributes:
        until: up to which moment its counts hold.
        tasks: busy and back-pressured milliseconds.
    """

    at: int
    until: int
    values: JsonObject
    tasks: dict[_Task, tuple[float, float]]

    @staticmethod
    def of(line: JsonObject) -> _SeriesLine:
        tasks = {(level, source, subtask): (b, p) for level, source, subtask, b, p in line["tasks"]}
        until = line["until"] if "until" in line else line["at"]
        return _SeriesLine(line["at"], until, line["values"], tasks)


@dataclass(frozen=True, slots=True)
class _Growth:
    """How counts grew in some time: shares of how they grew between lines.

    Attributes:
        lines: those around and in that time.
        shares: for each of them but the last, how much of what lies before the next one is meant.
    """

    seconds: float
    lines: list[_SeriesLine]
    shares: list[float]

    def a_second(self, count: Callable[[_SeriesLine], float]) -> float:
        """How much a count grew, a second."""
        counts = pairwise(map(count, self.lines))
        grown = (
            share * _grown(new, old) for (old, new), share in zip(counts, self.shares, strict=True)
        )
        return sum(grown) / self.seconds


def _growths(lines: Sequence[_SeriesLine]) -> Iterator[_Growth | None]:
    """For each line how counts grew since the one before; None where that is not known (yet)."""
    known: list[_SeriesLine] = []
    for line in lines:
        if not known or line.until > known[-1].until:
            known.append(line)
    untils = [line.until for line in known]
    if lines:
        yield None
    for before, line in pairwise(lines):
        yield _growth(before.at, line.at, known, untils)


def _growth(begin: int, end: int, known: list[_SeriesLine], untils: list[int]) -> _Growth | None:
    if begin >= end or end > untils[-1]:
        return None
    first, last = max(0, bisect_right(untils, begin) - 1), bisect_left(untils, end)
    lines = known[first : last + 1]
    shares = [
        (min(end, new.until) - max(begin, old.until)) / (new.until - old.until)
        for old, new in pairwise(lines)
    ]
    return _Growth((end - begin) / 1000, lines, shares)


def _grown(now: float, old: float) -> float:
    """How much a count grew; a driver that was started again counts from 0."""
    return now - old if now >= old else now


# --- what is told --------------------------------------------------------------------------------


def _values(
    line: _SeriesLine, growth: _Growth | None, about: JsonObject
) -> Iterator[tuple[str, float]]:
    for name, value in line.values.get("job", {}).items():
        yield f"job.{name}", value
    for vertex in about.get("vertices", ()):
        for name, value in _vertex_values(vertex, line):
            yield f"{vertex['id']}.{name}", value
        if growth is not None:
            for name, value in (*_rates(vertex, growth), *_shares(vertex, growth)):
                yield f"{vertex['id']}.{name}", value


def _vertex_values(vertex: JsonObject, line: _SeriesLine) -> Iterator[tuple[str, float]]:
    for name in _RATES:
        steps = _counting(vertex, name, [line])
        if steps:
            yield name, _count(steps, name, line)
    marks = [
        mark
        for step in vertex["steps"]
        if (mark := line.values.get(step["uid"], {}).get("currentInputWatermark", MIN_LONG_VALUE))
        not in (MIN_LONG_VALUE, MAX_LONG_VALUE)
    ]
    if marks:
        yield "currentInputWatermark", max(marks)
    for step in vertex["steps"]:
        for name, value in line.values.get(step["uid"], {}).items():
            if name not in _OWN:  # the user's own, and what sources tell
                yield f"{metric_scope(step['name'])}.{name}", value


def _rates(vertex: JsonObject, growth: _Growth) -> Iterator[tuple[str, float]]:
    for name in _RATES:
        steps = _counting(vertex, name, growth.lines)
        if steps:
            yield f"{name}PerSecond", growth.a_second(partial(_count, steps, name))


def _counting(vertex: JsonObject, name: str, lines: Iterable[_SeriesLine]) -> list[str]:
    """The steps that count records of a vertex; none if none of them has told anything."""
    steps = [step["uid"] for step in vertex["steps"] if step[_RATES[name]]]
    return steps if any(uid in line.values for line in lines for uid in steps) else []


def _count(steps: list[str], name: str, line: _SeriesLine) -> float:
    counts: list[int] = [line.values.get(uid, {}).get(name, 0) for uid in steps]
    return sum(counts)


def _shares(vertex: JsonObject, growth: _Growth) -> Iterator[tuple[str, float]]:
    """Where the time of the busiest task went."""
    uids = {step["uid"] for step in vertex["steps"]}
    shares = [
        (growth.a_second(partial(_busy, task)), growth.a_second(partial(_pressed, task)))
        for task in {task for line in growth.lines for task in line.tasks}
        if ((task[1] in uids) if task[1] else task[0] == vertex["level"])
    ]
    if shares:
        yield from time_shares(*max(shares)).items()


def _busy(task: _Task, line: _SeriesLine) -> float:
    return line.tasks.get(task, (0.0, 0.0))[0]


def _pressed(task: _Task, line: _SeriesLine) -> float:
    return line.tasks.get(task, (0.0, 0.0))[1]
