"""VAR_POP, VAR_SAMP, STDDEV_POP, STDDEV_SAMP and PERCENTILE.

Variances follow Welford, line by line, as Flink's do: a state is (count, mean, sum of squares).
In: ArgumentLines.  Next: runtime/table/aggregates/distinct.py
"""

from __future__ import annotations

import decimal
import math
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headrace.runtime.table.accumulators import LineAggregate, objects
from headrace.runtime.table.aggregates.extremes import add_to_counts
from headrace.runtime.table.vectors import EXACT

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from headrace.data.columns import ColumnCodec
    from headrace.runtime.table.accumulators import ArgumentLines, Running
    from headrace.runtime.table.segments import KeySegments

    Array = NDArray[Any]
    Mask = NDArray[np.bool_]

    Moments = tuple[int, float, float]


class Variance(LineAggregate):
    """A variance, or its root.

    Args:
        sample: whether it is divided by one less than the count.
        root: whether it is a standard deviation.
    """

    keeps_states = True
    takes_out_exactly = False

    def __init__(self, result: ColumnCodec, *, sample: bool, root: bool) -> None:
        super().__init__(result)
        self.sample = sample
        self.root = root

    def create(self) -> Moments:
        return (0, 0.0, 0.0)

    def accumulate(self, state: Moments, arguments: tuple[Any, ...]) -> Moments:
        if arguments[0] is None:
            return state
        count, mean, squares = state
        count += 1
        if count <= 0:  # lines were taken back before they came
            return (count, mean, squares)
        value = float(arguments[0])
        delta = value - mean
        mean += delta / count
        return (count, mean, squares + delta * (value - mean))

    def retract(self, state: Moments, arguments: tuple[Any, ...]) -> Moments:
        if arguments[0] is None:
            return state
        count, mean, squares = state
        count -= 1
        if count <= 0:
            return (count, 0.0, 0.0) if count == 0 else (count, mean, squares)
        value = float(arguments[0])
        after = value - mean
        mean -= after / count
        return (count, mean, squares - (value - mean) * after)

    def merge(self, state: Moments, other: Moments) -> Moments:
        if other[0] <= 0:
            return (state[0] + other[0], *state[1:]) if state[0] + other[0] > 0 else (0, 0.0, 0.0)
        if state[0] == 0:
            return other
        count = state[0] + other[0]
        delta = other[1] - state[1]
        mean = state[1] + other[0] / count * delta
        squares = state[2] + other[2] + state[0] * other[0] / count * delta * delta
        return (count, mean, squares)

    def run(self, lines: ArgumentLines, segments: KeySegments, states: Sequence[Any]) -> Running:
        measured = _MeasuredVariance(self.result, sample=self.sample, root=self.root)
        return measured.run_by_row(lines, segments, states)

    def column(self, values: Array, valid: Mask | None) -> pa.Array:
        found = [each[0] if isinstance(each, tuple) else each for each in values.tolist()]
        return super().column(objects(found), valid)

    def value(self, state: Moments) -> Any:
        count, _, squares = state
        divisor = count - 1 if self.sample else count
        if count <= 0 or squares < 0 or divisor == 0:
            return None
        found = squares / divisor
        return of_double(math.sqrt(found) if self.root else found, self.result.arrow)


class _MeasuredVariance(Variance):
    """(the value, count, sum of squares): where a count changed Flink sends an equal value again.

    Flink's plan has the count and the sum as aggregates, and divides what they give.
    """

    def value(self, state: Moments) -> Any:
        return (super().value(state), state[0], state[2])


def of_double(value: float, kind: pa.DataType) -> Any:
    """CAST of a DOUBLE to the type of a result."""
    if pa.types.is_integer(kind):
        if not math.isfinite(value):
            return 0 if math.isnan(value) else _bound(kind, above=value > 0)
        return max(_bound(kind, above=False), min(_bound(kind, above=True), int(value)))
    if pa.types.is_decimal(kind):
        if not math.isfinite(value):
            return None
        step = decimal.Decimal(1).scaleb(-kind.scale)
        found = EXACT.quantize(decimal.Decimal(repr(value)), step)
        return found if len(found.as_tuple().digits) <= kind.precision else None
    return value


def _bound(kind: pa.DataType, *, above: bool) -> int:
    half: int = 1 << (kind.bit_width - 1)
    return half - 1 if above else -half


class Percentile(LineAggregate):
    """PERCENTILE(value, percentage or ARRAY of them [, frequency]): exact, interpolated."""

    has_map = True

    def create(self) -> list[Any]:
        return [{}, None]

    def accumulate(self, state: list[Any], arguments: tuple[Any, ...]) -> list[Any]:
        return self._counted(state, arguments, 1)

    def retract(self, state: list[Any], arguments: tuple[Any, ...]) -> list[Any]:
        return self._counted(state, arguments, -1)

    def _counted(self, state: list[Any], arguments: tuple[Any, ...], step: int) -> list[Any]:
        value, percentage, *frequency = arguments
        times = frequency[0] if frequency else 1
        if value is not None and times is not None and times > 0:
            add_to_counts(state[0], float(value), step * times)
        return [state[0], percentage]

    def merge(self, state: list[Any], other: list[Any]) -> list[Any]:
        for key, count in other[0].items():
            add_to_counts(state[0], key, count)
        return [state[0], other[1] if state[1] is None else state[1]]

    def value(self, state: list[Any]) -> Any:
        counts, asked = state
        if asked is None:
            return None
        ordered = sorted((key, count) for key, count in counts.items() if count > 0)
        if not ordered:
            return None
        if isinstance(asked, list | tuple):
            return [_percentile(ordered, float(share)) for share in asked]
        return _percentile(ordered, float(asked))


def _percentile(ordered: list[tuple[float, int]], share: float) -> float:
    """The value at a share of the way from the first to the last, between two if it is there."""
    place = (sum(count for _, count in ordered) - 1) * share
    lower = math.floor(place)
    low, high = _value_at(ordered, lower), _value_at(ordered, math.ceil(place))
    return low if low == high else (lower + 1 - place) * low + (place - lower) * high


def _value_at(ordered: list[tuple[float, int]], place: int) -> float:
    for value, count in ordered:
        place -= count
        if place < 0:
            return value
    return ordered[-1][0]
