"""What an aggregate is to the operators: a state that takes lines and gives a value.

    row form     create ─▶ accumulate, retract, merge ─▶ value         the reference, always there
    vector form  run: lines sorted by key, the states they begin with ─▶ the value after each line
                 and the states they end with; where there is no faster way it is the row form

A state is plain Python (numbers, texts, tuples, dicts); `stored` makes it so where it is a user's.
Where it has a
map that may grow large, it is a list with the map first (`has_map`); operators may keep that part
elsewhere.  `accumulate`, `retract` and `merge` give the new state and may change the old one in
place; `merge` leaves its second argument alone, and `value` gives nothing that changes later.
In: an AggregateCall (scalars/aggregates.py).  Next: runtime/table/aggregates/
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from headrace.runtime.table.lines import kept_array, kept_values
from headrace.runtime.table.vectors import Vector, as_true, column_of_vector, vector_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from headrace.data.columns import ColumnCodec
    from headrace.runtime.table.segments import KeySegments

    Array = NDArray[Any]
    Mask = NDArray[np.bool_]


class Running(NamedTuple):
    """The values of an aggregate along segments.

    Attributes:
        values: after each line, and behind these the one that each segment begins with.
        valid: where values are not NULL; None where all are, or NULL is None among objects.
        states: of each segment at its end.
    """

    values: Array
    valid: Mask | None
    states: Sequence[Any]


class LineAggregate(ABC):
    """One aggregate call.

    Args:
        result: converts its values.
    """

    has_map = False
    # whether changes leave an old state as it is, so that one can be kept and taken up again
    keeps_states = False
    # whether a line that is taken out leaves the state that there was without it
    takes_out_exactly = True
    has_value_of_nothing = True
    # of the columns that a state can be kept in; None if it has no such form
    state_types: tuple[pa.DataType, ...] | None = None

    def __init__(self, result: ColumnCodec) -> None:
        self.result = result

    @abstractmethod
    def create(self) -> Any:
        """The state of no lines."""

    @abstractmethod
    def accumulate(self, state: Any, arguments: tuple[Any, ...]) -> Any:
        """The state with a line more."""

    @abstractmethod
    def retract(self, state: Any, arguments: tuple[Any, ...]) -> Any:
        """The state with a line less."""

    @abstractmethod
    def merge(self, state: Any, other: Any) -> Any:
        """The state of the lines of both."""

    @abstractmethod
    def value(self, state: Any) -> Any:
        """The result, as a Python value of the call's type."""

    def stored(self, state: Any) -> Any:
        """The state as it is stored; the same, unless there is something of users in it."""
        return state

    def loaded(self, stored: Any) -> Any:
        """The way back."""
        return stored

    def states_of(self, columns: list[pa.Array]) -> list[Any]:
        """States from columns of `state_types`."""
        lists = [list_of(column) for column in columns]
        return lists[0] if len(lists) == 1 else list(zip(*lists, strict=True))

    def columns_of(self, states: Sequence[Any]) -> list[pa.Array]:
        """States as columns of `state_types`."""
        kinds = self.state_types or ()
        parts = [states] if len(kinds) == 1 else zip(*states, strict=True)
        return [pa.array(part, kind) for part, kind in zip(parts, kinds, strict=True)]

    def run(self, lines: ArgumentLines, segments: KeySegments, states: Sequence[Any]) -> Running:
        """The values along segments.

        Args:
            lines: the arguments, in sorted order.
            segments: which lines belong together.
            states: what each segment begins with; None for nothing.
        """
        return self.run_by_row(lines, segments, states)

    def run_by_row(
        self, lines: ArgumentLines, segments: KeySegments, states: Sequence[Any]
    ) -> Running:
        """The same, line by line: the reference."""
        rows, active, retracts = lines.rows(), lines.active_list(), lines.retract_list()
        values: list[Any] = []
        before: list[Any] = []
        ended: list[Any] = []
        begin = 0
        for given, length in zip(states, segments.lengths.tolist(), strict=True):
            state = self.create() if given is None else given
            # a function of a user may have no value of nothing
            value = None if given is None and not self.has_value_of_nothing else self.value(state)
            before.append(value)
            last = begin + length - 1
            for place in range(begin, last + 1):
                if active is None or active[place]:
                    if retracts is None or not retracts[place]:
                        state = self.accumulate(state, rows[place])
                    else:
                        state = self.retract(state, rows[place])
                    if place == last or not segments.ends_only:
                        value = self.value(state)
                values.append(value)
            if segments.ends_only and not (active is None or active[last]):
                values[-1] = self.value(state)
            begin = last + 1
            ended.append(state)
        return Running(objects([*values, *before]), None, ended)

    def column(self, values: Array, valid: Mask | None) -> pa.Array:
        """Some of the values that `run` gave as a column of the result."""
        if values.dtype == object and not pa.types.is_decimal(self.result.arrow):
            found = values.tolist()
            if valid is not None:
                found = [v if is_valid else None for v, is_valid in zip(found, valid, strict=True)]
            return kept_array(self.result, found)
        if values.dtype == object and valid is None:  # decimals, as such
            return kept_array(self.result, values.tolist())
        return column_of_vector(values, valid, self.result.arrow)


def list_of(column: pa.Array) -> list[Any]:
    """Numbers as Python's."""
    if column.null_count:
        return list(column.to_pylist())
    return list(column.to_numpy(zero_copy_only=False).tolist())


def objects(values: list[Any]) -> Array:
    """A list as an array of Python objects, also if these are lists."""
    found = np.empty(len(values), dtype=object)
    found[:] = values if not values or not isinstance(values[0], list | tuple) else None
    if values and isinstance(values[0], list | tuple):
        for place, value in enumerate(values):
            found[place] = value
    return found


class ArgumentLines:
    """The arguments of one call in sorted order, each form made when it is asked for.

    Args:
        columns: all columns of the input, as they came.
        codecs: convert them.
        order: the places of the lines in sorted order.
        retracts: which sorted lines are taken back; None for none.
        shared: forms that calls have in common.
    """

    def __init__(
        self,
        columns: Sequence[pa.Array],
        codecs: Sequence[ColumnCodec],
        order: NDArray[np.int64],
        retracts: Mask | None,
    ) -> None:
        self._columns = columns
        self._codecs = codecs
        self._order = pa.array(order)
        self.count = len(order)
        self.retracts = retracts
        self._arrays: dict[int, pa.Array] = {}
        self._vectors: dict[int, Vector | None] = {}
        self._values: dict[int, list[Any]] = {}
        self._masks: dict[int, Mask] = {}
        self._arguments: tuple[int, ...] = ()
        self._filter: int | None = None
        self._only: Mask | None = None
        self._for_users = False

    def of_call(self, arguments: tuple[int, ...], filter_place: int | None) -> ArgumentLines:
        """The same lines for another call."""
        found = ArgumentLines.__new__(ArgumentLines)
        found.__dict__.update(self.__dict__)
        found._arguments, found._filter, found._only = arguments, filter_place, None
        return found

    def only(self, chosen: Mask) -> ArgumentLines:
        """The same, of which only some lines count."""
        found = self.of_call(self._arguments, None)
        found._only = chosen
        return found

    def for_users(self) -> ArgumentLines:
        """The same with Python values as users know them, not as they are kept in state."""
        found = self.of_call(self._arguments, self._filter)
        found._only, found._for_users, found._values = self._only, True, {}
        return found

    def array(self, number: int) -> pa.Array:
        """An argument as Arrow."""
        place = self._arguments[number]
        if place not in self._arrays:
            self._arrays[place] = self._columns[place].take(self._order)
        return self._arrays[place]

    def arrays(self) -> list[pa.Array]:
        """All arguments as Arrow."""
        return [self.array(number) for number in range(len(self._arguments))]

    def vector(self, number: int) -> Vector | None:
        """An argument as numbers; None for types without."""
        place = self._arguments[number]
        if place not in self._vectors:
            self._vectors[place] = vector_of(self.array(number))
        return self._vectors[place]

    def values(self, number: int) -> list[Any]:
        """An argument as Python values."""
        place = self._arguments[number]
        if place not in self._values:
            codec, array = self._codecs[place], self.array(number)
            values = codec.to_python(array) if self._for_users else kept_values(codec, array)
            self._values[place] = values
        return self._values[place]

    def rows(self) -> list[tuple[Any, ...]]:
        """All arguments of each line."""
        if not self._arguments:
            return [()] * self.count
        values = [self.values(number) for number in range(len(self._arguments))]
        return list(zip(*values, strict=True))

    def active(self) -> Mask | None:
        """The lines that the call's filter lets through; None for all."""
        if self._only is not None:
            return self._only
        if self._filter is None:
            return None
        if self._filter not in self._masks:
            self._masks[self._filter] = as_true(self._columns[self._filter].take(self._order))
        return self._masks[self._filter]

    def active_with_value(self) -> Mask | None:
        """Those of them of which no argument is NULL; None for all."""
        found = self.active()
        for number in range(len(self._arguments)):
            array = self.array(number)
            if array.null_count:
                valid = array.is_valid().to_numpy(zero_copy_only=False)
                found = valid if found is None else found & valid
        return found

    def active_list(self) -> list[bool] | None:
        """`active` for loops."""
        found = self.active()
        return None if found is None else found.tolist()

    def retract_list(self) -> list[bool] | None:
        """`retracts` for loops."""
        return None if self.retracts is None else self.retracts.tolist()

    def signs(self) -> NDArray[np.int64] | None:
        """1 for lines that come, -1 for those that are taken back; None if all come."""
        if self.retracts is None:
            return None
        return np.where(self.retracts, np.int64(-1), np.int64(1))
