"""MIN and MAX: of lines that only come the value alone, of others how often each value is there.

Flink compares floats as Java does while lines only come, so a NaN that is first stays, and any
other is passed over; with retractions NaN is above all numbers.
In: ArgumentLines.  Next: runtime/table/aggregates/lists.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.data.row_data import column_of
from headrace.runtime.table.accumulators import LineAggregate, Running, objects
from headrace.runtime.table.aggregates.sums import running_count
from headrace.runtime.table.keying import frozen
from headrace.runtime.table.lines import kept_array, kept_values
from headrace.runtime.table.vectors import Vector, column_of_vector, vector_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from headrace.data.columns import ColumnCodec
    from headrace.runtime.table.accumulators import ArgumentLines
    from headrace.runtime.table.segments import KeySegments
    from headrace.scalars.aggregates import AggregateCall

    Array = NDArray[Any]


class InsertedExtreme(LineAggregate):
    """MIN or MAX of lines that are never taken back: the state is the value."""

    keeps_states = True

    def __init__(self, result: ColumnCodec, *, highest: bool) -> None:
        super().__init__(result)
        self.highest = highest
        if not pa.types.is_nested(result.arrow):
            self.state_types = (result.arrow,)

    def states_of(self, columns: list[pa.Array]) -> list[Any]:
        return kept_values(self.result, columns[0])

    def columns_of(self, states: Sequence[Any]) -> list[pa.Array]:
        return [kept_array(self.result, list(states))]

    def create(self) -> Any:
        return None

    def accumulate(self, state: Any, arguments: tuple[Any, ...]) -> Any:
        value = arguments[0]
        if state is None or value is None:
            return value if state is None else state
        better = value > state if self.highest else value < state
        return value if better else state

    def retract(self, state: Any, arguments: tuple[Any, ...]) -> Any:
        raise AssertionError("an input that retracts has another form")

    def merge(self, state: Any, other: Any) -> Any:
        return self.accumulate(state, (other,))

    def value(self, state: Any) -> Any:
        return state

    def run(self, lines: ArgumentLines, segments: KeySegments, states: Sequence[Any]) -> Running:
        if pa.types.is_string(self.result.arrow):
            return self._run_texts(lines, segments, states)
        vector = lines.vector(0)
        if vector is None or vector.values.dtype == object or _is_odd(vector.values):
            return self.run_by_row(lines, segments, states)
        initial = vector_of(kept_array(self.result, list(states)))
        assert initial is not None
        if initial.values.dtype == object or _is_odd(initial.values):
            return self.run_by_row(lines, segments, states)
        values, valid = self._run(vector, initial, lines, segments)
        last = segments.ends
        column = column_of_vector(values[last], valid[last], self.result.arrow)
        return Running(values, valid, kept_values(self.result, column))

    def _run_texts(
        self, lines: ArgumentLines, segments: KeySegments, states: Sequence[Any]
    ) -> Running:
        """Texts as their places among all of the batch, in order."""
        given = kept_array(self.result, list(states))
        encoded = pa.concat_arrays([lines.array(0), given]).dictionary_encode()
        order = pc.sort_indices(encoded.dictionary).to_numpy()
        ranks = np.empty(len(order) + 1, dtype=np.int64)
        ranks[order] = np.arange(len(order))
        ranks[-1] = 0  # of NULL
        places = encoded.indices.fill_null(len(order)).to_numpy(zero_copy_only=False)
        valid = encoded.is_valid().to_numpy(zero_copy_only=False)
        numbers, count = ranks[places], lines.count
        values, valid = self._run(
            Vector(numbers[:count], valid[:count]),
            Vector(numbers[count:], valid[count:]),
            lines,
            segments,
        )
        texts = objects([*encoded.dictionary.take(pa.array(order)).to_pylist(), None])
        found = texts[np.where(valid, values, len(order))]
        return Running(found, None, found[segments.ends].tolist())

    def _run(
        self, vector: Vector, initial: Vector, lines: ArgumentLines, segments: KeySegments
    ) -> tuple[Array, Array]:
        """(values, where there are any), as `Running` has them."""
        given = np.ones(len(segments), np.bool_) if initial.valid is None else initial.valid
        active = lines.active_with_value()
        filler = _lowest(vector.values.dtype) if self.highest else _highest(vector.values.dtype)
        found = vector.values.copy()
        if active is not None:
            found[~active] = filler
        function = np.maximum if self.highest else np.minimum
        segments.fold_initial(function, found, initial.values, given)
        segments.scan(function, found)
        if active is None:
            after_valid = np.ones(lines.count, dtype=np.bool_)
        else:
            after_valid = running_count(lines, segments, given.astype(np.int64)) > 0
        valid = np.concatenate([after_valid, given])
        return np.concatenate([found, initial.values]), valid


def _is_odd(values: Array) -> bool:
    """Whether there are floats that NumPy orders in another way than Java: NaN, -0.0."""
    if values.dtype.kind != "f":
        return False
    return bool((np.isnan(values) | ((values == 0) & np.signbit(values))).any())


def _lowest(dtype: np.dtype[Any]) -> Any:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _highest(dtype: np.dtype[Any]) -> Any:
    return np.inf if dtype.kind == "f" else np.iinfo(dtype).max


class CountedExtreme(LineAggregate):
    """MIN or MAX of lines that may be taken back: [how often each value is there, the value]."""

    has_map = True

    def __init__(self, result: ColumnCodec, *, highest: bool) -> None:
        super().__init__(result)
        self.highest = highest
        self._choose: Callable[..., Any] = max if highest else min
        self._floats = pa.types.is_floating(result.arrow)
        self._order = _java_order if self._floats else None

    def create(self) -> list[Any]:
        return [{}, None]

    def accumulate(self, state: list[Any], arguments: tuple[Any, ...]) -> list[Any]:
        value = arguments[0]
        if value is None:
            return state
        counts, extreme = state
        extreme = value if extreme is None else self._choose(extreme, value, key=self._order)
        add_to_counts(counts, frozen(value), 1)
        return [counts, extreme]

    def retract(self, state: list[Any], arguments: tuple[Any, ...]) -> list[Any]:
        value = arguments[0]
        if value is None:
            return state
        counts, extreme = state
        key = frozen(value)
        if add_to_counts(counts, key, -1) == 0 and extreme is not None and key == frozen(extreme):
            extreme = self._extreme_of(counts)
        return [counts, extreme]

    def _extreme_of(self, counts: Any) -> Any:
        # as in Flink also of values that were only taken back, whose lines are still to come
        values = [float(key) for key in counts] if self._floats else list(counts)
        return self._choose(values, key=self._order) if values else None

    def merge(self, state: list[Any], other: list[Any]) -> list[Any]:
        counts = state[0]
        for key, count in other[0].items():
            add_to_counts(counts, key, count)
        return [counts, self._extreme_of(counts)]

    def value(self, state: list[Any]) -> Any:
        return state[1]


class LastingExtreme(InsertedExtreme):
    """MIN or MAX of lines that stay while it lasts, of an input that takes lines back.

    It is the same value that `CountedExtreme` has, which also knows the next one.
    """

    def accumulate(self, state: Any, arguments: tuple[Any, ...]) -> Any:
        value = arguments[0]
        if state is None or value is None:
            return value if state is None else state
        choose = max if self.highest else min
        return choose(state, value, key=_java_order if isinstance(value, float) else None)


def lasting_extreme(call: AggregateCall) -> LastingExtreme | None:
    """The form of MIN or MAX where lines that go begin it anew; None for other calls."""
    name = call.function.upper()
    if call.user is not None or name not in ("MIN", "MAX"):
        return None
    return LastingExtreme(column_of(call.type), highest=name == "MAX")


def add_to_counts(counts: Any, key: Any, step: int) -> int:
    """Count a value, and forget it at zero; how often it is there now."""
    count: int = counts.get(key, 0) + step
    if count:
        counts[key] = count
    else:
        counts.pop(key, None)
    return count


def _java_order(value: float) -> tuple[bool, float, float]:
    """NaN above all numbers, -0.0 below 0.0."""
    return (value != value, value if value == value else 0.0, math.copysign(1, value))
