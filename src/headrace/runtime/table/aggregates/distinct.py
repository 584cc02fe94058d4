"""DISTINCT: the aggregate below it sees each value when it comes first and when it goes last.

    [how often each value is there, state of the aggregate below]

In: ArgumentLines.  Next: runtime/table/aggregates/user.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headrace.runtime.table.accumulators import LineAggregate, Running
from headrace.runtime.table.aggregates.extremes import add_to_counts
from headrace.runtime.table.keying import LineKeying, frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from headrace.runtime.table.accumulators import ArgumentLines
    from headrace.runtime.table.segments import KeySegments


class DistinctValues(LineAggregate):
    """An aggregate of distinct arguments.

    Args:
        inner: the aggregate.
        kinds: of its arguments.
        retracts: whether lines may be taken back; if not, counts are all 1.
    """

    has_map = True

    def __init__(
        self, inner: LineAggregate, kinds: Sequence[pa.DataType], *, retracts: bool
    ) -> None:
        super().__init__(inner.result)
        self.inner = inner
        self.retracts = retracts
        self._floats = [pa.types.is_floating(kind) for kind in kinds]

    def create(self) -> list[Any]:
        return [{}, self.inner.create()]

    def accumulate(self, state: list[Any], arguments: tuple[Any, ...]) -> list[Any]:
        counts, inner = state
        key = _key(arguments)
        if self.retracts:
            is_first = add_to_counts(counts, key, 1) == 1
        else:
            is_first = key not in counts
            if is_first:
                counts[key] = 1
        return [counts, self.inner.accumulate(inner, arguments) if is_first else inner]

    def retract(self, state: list[Any], arguments: tuple[Any, ...]) -> list[Any]:
        counts, inner = state
        is_last = add_to_counts(counts, _key(arguments), -1) == 0
        return [counts, self.inner.retract(inner, arguments) if is_last else inner]

    def merge(self, state: list[Any], other: list[Any]) -> list[Any]:
        counts, inner = state
        for key, count in other[0].items():
            before = counts.get(key, 0)
            if self.retracts:
                after = add_to_counts(counts, key, count)
            else:
                after = counts[key] = 1
            if before <= 0 < after:
                inner = self.inner.accumulate(inner, self._arguments(key))
        return [counts, inner]

    def _arguments(self, key: Any) -> tuple[Any, ...]:
        parts = (key,) if len(self._floats) == 1 else key
        pairs = zip(parts, self._floats, strict=True)
        return tuple(float(v) if is_float and v is not None else v for v, is_float in pairs)

    def value(self, state: list[Any]) -> Any:
        return self.inner.value(state[1])

    def column(self, values: Any, valid: Any) -> Any:
        return self.inner.column(values, valid)

    def run(self, lines: ArgumentLines, segments: KeySegments, states: Sequence[Any]) -> Running:
        if self.retracts:
            return self.run_by_row(lines, segments, states)
        given = [self.create() if state is None else state for state in states]
        first = self._first_lines(lines, segments, given)
        inner_states = [
            None if state is None else held[1] for state, held in zip(states, given, strict=True)
        ]
        found = self.inner.run(lines.only(first), segments, inner_states)
        pairs = zip(given, found.states, strict=True)
        return found._replace(states=[[held[0], inner] for held, inner in pairs])

    def _first_lines(
        self, lines: ArgumentLines, segments: KeySegments, states: list[list[Any]]
    ) -> NDArray[np.bool_]:
        """The lines that bring a value for the first time; values are noted in the states."""
        active = lines.active()
        places = np.arange(lines.count) if active is None else np.flatnonzero(active)
        arrays = [array.take(places) for array in lines.arrays()]
        codes = LineKeying(range(len(arrays))).codes_of(arrays, len(places))
        width = max(1, codes.count)
        pairs, at = np.unique(segments.ids[places] * width + codes.numbers, return_index=True)
        is_new = np.zeros(len(pairs), dtype=np.bool_)
        numbers = zip((pairs // width).tolist(), (pairs % width).tolist(), strict=True)
        for place, (segment, code) in enumerate(numbers):
            seen, key = states[segment][0], codes.keys[code]
            if key not in seen:
                seen[key] = 1
                is_new[place] = True
        found = np.zeros(lines.count, dtype=np.bool_)
        found[places[at[is_new]]] = True
        return found


def _key(arguments: tuple[Any, ...]) -> Any:
    return frozen(arguments[0]) if len(arguments) == 1 else frozen(arguments)
