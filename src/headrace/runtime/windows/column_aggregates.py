"""window(...).select(...) in Python: column aggregates as an aggregate and a window function.

    record ─▶ ColumnAggregates: a tuple of cells per key and window ─▶ Selected*: one Row a window

An average is kept as a sum and a count, so cells are plain values and windows can share panes.
None follows SQL: it is left out, and an aggregate of nothing is None (a count is 0).
The parts come from datastream/window_select.py; runtime/windows/column_folds.py makes accumulators
of whole batches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.api.functions import AggregateFunction, AllWindowFunction, WindowFunction
from headrace.common.types import Row
from headrace.runtime.windows.column_folds import ColumnFold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from headrace.expr.expressions import Expression

# Fields of what the results are computed from, beside the key's own name.
START, END = "__start", "__end"


def cell(number: int) -> str:
    """The field that holds the n-th aggregate."""
    return f"__{number}"


# --- cells: (what is kept so far, a value) -> what is kept from now on ---------------------------


def _count_records(old: int, value: Any) -> int:
    return old + 1


def _count(old: int, value: Any) -> int:
    return old if value is None else old + 1


def _sum(old: Any, value: Any) -> Any:
    if old is None or value is None:
        return value if old is None else old
    return old + value


def _min(old: Any, value: Any) -> Any:
    if old is None or value is None:
        return value if old is None else old
    return value if value < old or old != old else old  # Spark has NaN above all numbers


def _max(old: Any, value: Any) -> Any:
    if old is None or value is None:
        return value if old is None else old
    return value if value > old or value != value else old


def _whole_record(record: Any) -> Any:
    return record


def _add_counts(left: int, right: int) -> int:
    return left + right


_FOLDS: dict[str, Callable[[Any, Any], Any]] = {
    "count": _count,
    "sum": _sum,
    "min": _min,
    "max": _max,
}


class ColumnAggregates(AggregateFunction):
    """The aggregates of a window in one accumulator; its result is their values, in order."""

    def __init__(self, aggregates: Sequence[Expression]) -> None:
        self._parts: list[tuple[str, tuple[Expression, ...]]] = []
        self._folds: list[tuple[Callable[[Any, Any], Any], Callable[[Any], Any]]] = []
        self._merges: list[Callable[[Any, Any], Any]] = []
        # which cells an aggregate is made of: one, or the sum and the count of an average
        self._cells: list[tuple[int, ...]] = []
        for aggregate in aggregates:
            kinds = ("sum", "count") if aggregate.kind == "avg" else (aggregate.kind,)
            self._cells.append(tuple(self._add_cell(kind, aggregate.arguments) for kind in kinds))
        self._empty = tuple(0 if m is _add_counts else None for m in self._merges)

    def _add_cell(self, kind: str, arguments: tuple[Expression, ...]) -> int:
        self._parts.append((kind, arguments))
        fold = _FOLDS[kind] if arguments else _count_records
        self._folds.append((fold, arguments[0].evaluate if arguments else _whole_record))
        self._merges.append(_add_counts if kind == "count" else fold)
        return len(self._folds) - 1

    def column_fold(self) -> ColumnFold:
        """What makes accumulators of whole batches."""
        return ColumnFold(self._parts)

    def create_accumulator(self) -> tuple[Any, ...]:
        """Nothing seen yet."""
        return self._empty

    def add(self, value: Any, accumulator: tuple[Any, ...]) -> tuple[Any, ...]:
        """One record more."""
        return tuple(
            [fold(old, of(value)) for old, (fold, of) in zip(accumulator, self._folds, strict=True)]
        )

    def get_result(self, accumulator: tuple[Any, ...]) -> tuple[Any, ...]:
        """The values of the aggregates."""
        return tuple(
            [
                accumulator[cells[0]]
                if len(cells) == 1
                else _mean(*map(accumulator.__getitem__, cells))
                for cells in self._cells
            ]
        )

    def merge(self, acc_a: tuple[Any, ...], acc_b: tuple[Any, ...]) -> tuple[Any, ...]:
        """Two parts of a window in one."""
        return tuple([merge(a, b) for merge, a, b in zip(self._merges, acc_a, acc_b, strict=True)])


def _mean(total: Any, count: int) -> Any:
    return None if count == 0 else total / count


# --- results -------------------------------------------------------------------------------------


class _Results:
    """Evaluates the selected expressions over key, bounds and aggregates."""

    def __init__(self, results: Sequence[Expression], names: list[str], key: str | None) -> None:
        self.results = results
        self.names = names
        self.key_name = key
        self.needs_bounds = any(_names_bounds(result) for result in results)

    def row(self, key: Any, window: Any, values: tuple[Any, ...]) -> Row:
        fields = {cell(number): value for number, value in enumerate(values)}
        if self.key_name is not None:
            fields[self.key_name] = key
        if self.needs_bounds:
            fields[START], fields[END] = window.start, window.end
        return Row.of_values(tuple([r.evaluate(fields) for r in self.results]), self.names)


def _names_bounds(expression: Any) -> bool:
    if getattr(expression, "column_name", None) in (START, END):
        return True
    return any(map(_names_bounds, getattr(expression, "arguments", ())))


class SelectedOfKey(WindowFunction[Any, Any, Any, Any]):
    """One Row for a window of a key."""

    def __init__(self, results: Sequence[Expression], names: list[str], key: str | None) -> None:
        self.results = _Results(results, names, key)

    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> list[Row]:
        """The row of what the window holds."""
        return [self.results.row(key, window, values) for values in inputs]


class SelectedOfAll(AllWindowFunction[Any, Any, Any]):
    """One Row for a window of the whole stream."""

    def __init__(self, results: Sequence[Expression], names: list[str]) -> None:
        self.results = _Results(results, names, None)

    def apply(self, window: Any, inputs: Iterable[Any]) -> list[Row]:
        """The row of what the window holds."""
        return [self.results.row(None, window, values) for values in inputs]
