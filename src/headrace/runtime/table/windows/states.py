"""The aggregates of a window: states of many windows go on with a batch, and become columns.

    state of a window and key    (how many lines, state of the first call, of the second, ...)

In: lines with the number of their group.  Out: new states, merged states, columns of results.
Next: runtime/table/windows/slices.py, runtime/table/windows/whole.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headrace.data.row_data import column_of
from headrace.runtime.table.accumulators import ArgumentLines, objects
from headrace.runtime.table.aggregates.registry import aggregate_for
from headrace.runtime.table.segments import KeySegments, sorted_by_code
from headrace.runtime.table.user_functions import open_aggregates

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from headrace.common.row_data_type import RowDataTypeInfo
    from headrace.runtime.operators.keyed import KeyedOperator
    from headrace.runtime.table.accumulators import LineAggregate, Running
    from headrace.runtime.table.lines import Lines
    from headrace.scalars.aggregates import AggregateCall
    from headrace.scalars.session import ScalarSession

    State = tuple[Any, ...]


class WindowAggregates:
    """The aggregate calls of one window operator.

    Args:
        calls: the calls.
        input_type: of the lines; whether it has changes decides the form of aggregates.
        session: of the query.
        retracts: whether lines are taken out of states although none of the input is.
        special: gives the form of calls that are no aggregates for GROUP BY; None for others.
    """

    def __init__(
        self,
        calls: Sequence[AggregateCall],
        input_type: RowDataTypeInfo,
        session: ScalarSession,
        *,
        retracts: bool = False,
        special: Callable[[AggregateCall], LineAggregate | None] | None = None,
    ) -> None:
        types = input_type.get_data_types()
        retracts = retracts or input_type.changes
        self.calls = tuple(calls)
        self.forms: list[LineAggregate] = [
            (special and special(call))
            or aggregate_for(call, input_type, retracts=retracts, session=session)
            for call in calls
        ]
        self._codecs = [column_of(kind) for kind in types]
        self._closing: list[Any] = []

    def open(self, operator: KeyedOperator) -> None:
        """Open the functions of users."""
        self._closing = open_aggregates(operator, self.calls)

    def close(self) -> None:
        """Close them."""
        for function in self._closing:
            function.close()

    def create(self) -> State:
        """The state of no lines."""
        return (0, *(form.create() for form in self.forms))

    # --- many groups at once -----------------------------------------------------------------

    def run(
        self, lines: Lines, groups: NDArray[np.int64], states: Sequence[State | None]
    ) -> list[State]:
        """The states of groups after some lines; see `run_along`."""
        return self.run_along(lines, groups, states)[0]

    def run_along(
        self, lines: Lines, groups: NDArray[np.int64], states: Sequence[State | None]
    ) -> tuple[list[State], list[Running], KeySegments]:
        """The states of groups after some lines, and the results after each of them.

        Args:
            lines: the lines.
            groups: the number of each line's group; each group has at least one.
            states: what each group begins with; None for nothing.

        Returns:
            States by group; the results of each call, sorted by group; where sorted lines are.
        """
        order, starts, numbers = sorted_by_code(groups, len(states))
        given = [states[number] for number in numbers.tolist()]
        fresh = np.array([state is None for state in given], dtype=np.bool_)
        segments = KeySegments(order, starts, numbers, fresh)
        retracts = None if lines.retracts is None else lines.retracts[order]
        arguments = ArgumentLines(lines.columns, self._codecs, order, retracts)
        columns: list[Sequence[Any]] = [self._counts(segments, retracts, given)]
        results: list[Running] = []
        for place, (call, form) in enumerate(zip(self.calls, self.forms, strict=True), start=1):
            initial = [None if state is None else state[place] for state in given]
            of_call = arguments.of_call(call.arguments, call.filter)
            results.append(form.run(of_call, segments, initial))
            columns.append(results[-1].states)
        return list(zip(*columns, strict=True)), results, segments

    @staticmethod
    def _counts(
        segments: KeySegments, retracts: NDArray[np.bool_] | None, given: list[State | None]
    ) -> list[int]:
        before = np.array([0 if state is None else state[0] for state in given], dtype=np.int64)
        change = segments.lengths
        if retracts is not None:
            change = np.add.reduceat(np.where(retracts, -1, 1), segments.starts)
        found: list[int] = (before + change).tolist()
        return found

    # --- one group ---------------------------------------------------------------------------

    def add(self, state: State, row: Sequence[Any], *, retract: bool = False) -> State:
        """A state with a line more or less."""
        found = [state[0] + (-1 if retract else 1)]
        for call, form, old in zip(self.calls, self.forms, state[1:], strict=True):
            if call.filter is not None and row[call.filter] is not True:
                found.append(old)
                continue
            arguments = tuple([row[place] for place in call.arguments])
            change = form.retract if retract else form.accumulate
            found.append(change(old, arguments))
        return tuple(found)

    def merge(self, state: State, other: State) -> State:
        """The state of the lines of both; it may reuse the first, and leaves the second alone."""
        parts = zip(self.forms, state[1:], other[1:], strict=True)
        return (state[0] + other[0], *(form.merge(mine, its) for form, mine, its in parts))

    def values(self, state: State) -> tuple[Any, ...]:
        """The results of a state."""
        return tuple(form.value(s) for form, s in zip(self.forms, state[1:], strict=True))

    # --- states as columns -------------------------------------------------------------------

    def state_columns(self, states: Sequence[State]) -> list[pa.Array]:
        """How many lines, then the columns of each call's states."""
        parts = list(zip(*states, strict=True))
        columns = [pa.array(parts[0], pa.int64())]
        for form, part in zip(self.forms, parts[1:], strict=True):
            columns += form.columns_of(part)
        return columns

    def states_of(self, columns: Sequence[pa.Array]) -> list[State]:
        """The way back."""
        found: list[Sequence[Any]] = [columns[0].to_pylist()]
        place = 1
        for form in self.forms:
            width = len(form.state_types or ())
            found.append(form.states_of(list(columns[place : place + width])))
            place += width
        return list(zip(*found, strict=True))

    # --- results -----------------------------------------------------------------------------

    def columns(self, states: Sequence[State]) -> list[pa.Array]:
        """The columns of the results of some states."""
        return [
            form.column(objects([form.value(state[place]) for state in states]), None)
            for place, form in enumerate(self.forms, start=1)
        ]

    def columns_of_values(self, rows: Sequence[tuple[Any, ...]]) -> list[pa.Array]:
        """The columns of results that `values` gave."""
        columns = zip(*rows, strict=True) if rows else ((),) * len(self.forms)
        return [
            form.column(objects(list(column)), None)
            for form, column in zip(self.forms, columns, strict=True)
        ]
