"""Metrics in Flink's JSON: names alone, values, or values over several jobs or subtasks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from headrace.rest.answers import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from headrace.common.opaque import JsonObject, JsonValue
    from headrace.control.views.models import MetricSeries

_AGGREGATES = ("min", "max", "avg", "sum", "skew")


def asked_for(text: str | None) -> list[str] | None:
    """The names in ``get=a,b``; None if only the names of all are wanted."""
    return None if text is None else [name for name in text.split(",") if name]


def metrics(found: Mapping[str, JsonValue], get: str | None) -> list[JsonObject]:
    """All names; or the values of those that were asked for, as text."""
    names = asked_for(get)
    if names is None:
        return [{"id": name} for name in found]
    return [{"id": name, "value": _text(found[name])} for name in names if name in found]


def aggregated_metrics(
    found: Sequence[Mapping[str, JsonValue]], get: str | None, agg: str | None
) -> list[JsonObject]:
    """The same over several; what is no number is left out, as in Flink."""
    names = asked_for(get)
    if names is None:
        return [{"id": name} for name in dict.fromkeys(name for each in found for name in each)]
    wanted = _wanted(agg)
    told: list[JsonObject] = []
    for name in names:
        values = [value for each in found if (value := number(each.get(name))) is not None]
        if values:
            figures = _figures(values)
            told.append({"id": name, **{each: figures[each] for each in wanted}})
    return told


def _wanted(agg: str | None) -> tuple[str, ...]:
    if agg is None:
        return _AGGREGATES
    wanted = tuple(each.strip().lower() for each in agg.split(",") if each.strip())
    unknown = [each for each in wanted if each not in _AGGREGATES]
    if unknown:
        raise Refusal(
            400,
            f"agg does not know {unknown[0][:50]!r}",
            fix=f"any of {', '.join(_AGGREGATES)}",
            kind="BAD_REQUEST",
        )
    return wanted


def _figures(values: Sequence[float]) -> Mapping[str, float]:
    mean = sum(values) / len(values)
    off = sum(abs(value - mean) for value in values) / len(values)
    return {
        "min": min(values),
        "max": max(values),
        "avg": mean,
        "sum": sum(values),
        # Flink's: the mean distance from the mean, in percent of it
        "skew": 0.0 if mean == 0 else off / mean * 100,
    }


def number(value: JsonValue) -> float | None:
    """A metric as a number; None if it is none."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        found = float(value)
    except (TypeError, ValueError):
        return None
    return found if math.isfinite(found) else None


def _text(value: JsonValue) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "NaN" if isinstance(value, float) and math.isnan(value) else str(value)


def series(found: Iterable[MetricSeries], since: int) -> JsonObject:
    """`/jobs/:jobid/metrics/history`, which Flink has not: metrics over time."""
    return {
        "series": [
            {
                "id": each.name,
                "points": [[when, value] for when, value in each.points if when > since],
            }
            for each in found
        ]
    }
