"""sum, min, max, min_by and max_by of overlapping windows, so that they can share panes.

What these give depends on who came first: its other fields, or the record itself among equals.
Panes are merged in the order of time, so records carry a number in the order of arrival.
"""

from __future__ import annotations

from typing import Any

from headrace.api.functions import AggregateFunction
from headrace.runtime.operators.rolling import rolling_reduce

# A number is made of the time and the number of the batch, and the place within it. Batches are
# numbered anew when a job starts from a savepoint, so they alone would not do.
_BATCH_BITS, _PLACE_BITS = 20, 32


class RollingAggregate(AggregateFunction):
    """Accumulators are (number of the record that stands for all, that record)."""

    def __init__(self, kind: str, field: int | str) -> None:
        self._reduce = rolling_reduce(kind, field)
        self._picks = kind.endswith("_by")
        self._next = 0

    def begin_batch(self, now: int, batch_id: int) -> None:
        """Give the records to come numbers above those of earlier batches."""
        batch = (now << _BATCH_BITS) + batch_id % (1 << _BATCH_BITS)
        self._next = max(self._next, batch << _PLACE_BITS)

    def create_accumulator(self) -> Any:
        """Nothing yet."""
        return None

    def add(self, value: Any, accumulator: Any) -> Any:
        """The record comes after all others."""
        self._next += 1
        return self.merge(accumulator, (self._next, value))

    def get_result(self, accumulator: Any) -> Any:
        """The record."""
        return accumulator[1]

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        """Both in one, by the order of arrival."""
        if acc_a is None:
            return acc_b
        first, second = (acc_a, acc_b) if acc_a[0] <= acc_b[0] else (acc_b, acc_a)
        record = self._reduce(first[1], second[1])
        stands_for_all = second if self._picks and record is not first[1] else first
        return stands_for_all[0], record
