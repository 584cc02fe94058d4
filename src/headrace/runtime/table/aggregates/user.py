"""Aggregates of users: PyFlink's AggregateFunction, and pandas functions where Flink has them.

A state is the accumulator that the function made; stored, its rows and views are plain Python
(`packed`).  A pandas function sees all lines of a group at once, so its state is the lines.
In: the UserFunctionDefinition that `udaf` made.
Next: runtime/table/table_aggregate.py for `udtaf`
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from headrace.common.types import Row
from headrace.data.line_values import to_line_value
from headrace.errors import UnsupportedStepError
from headrace.runtime.table.accumulators import LineAggregate, Running
from headrace.runtime.table.views import packed, unpacked
from headrace.scalars.user_parts import pandas_of, user_reader

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import tzinfo

    import pyarrow as pa
    from numpy.typing import NDArray

    from headrace.common.data_types import DataType
    from headrace.data.columns import ColumnCodec
    from headrace.runtime.table.accumulators import ArgumentLines
    from headrace.runtime.table.segments import KeySegments

    Fields = Sequence[tuple[str, DataType]]


def user_aggregate(
    user: Any,
    result: DataType,
    codec: ColumnCodec,
    arguments: Fields,
    zone: tzinfo,
    *,
    retracts: bool,
) -> LineAggregate:
    """The form of a user's function.

    Args:
        user: the definition that `udaf` made.
        result: the type of its results.
        codec: converts them.
        arguments: names and types of its arguments.
        zone: of the session.
        retracts: whether lines may be taken back.

    Raises:
        UnsupportedStepError: the input takes lines back and the function cannot.
    """
    form: type[UserAggregate] = PandasAggregate if is_pandas(user) else UserAggregate
    function = function_of(user)
    if retracts and form is UserAggregate and _lacks(function, "retract"):
        raise UnsupportedStepError(
            f"{type(function).__name__} has no retract, but lines of its input are taken back",
            fix="write the method retract(self, accumulator, *args)",
        )
    takes_row = bool(getattr(user, "takes_row", False))
    arguments = named_arguments(user, arguments)
    return form(function, codec, UserArguments(arguments, zone, takes_row=takes_row), result)


def function_of(user: Any) -> Any:
    """The function within what `udaf` or `udtaf` made."""
    return getattr(user, "function", user)


def named_arguments(user: Any, fields: Fields) -> Fields:
    """The arguments with the names that a function that takes whole lines knows them by."""
    names = getattr(user, "row_names", ())
    if len(names) != len(fields):
        return fields
    return [(name, kind) for name, (_, kind) in zip(names, fields, strict=True)]


def is_pandas(user: Any) -> bool:
    """Whether a function takes pandas.Series."""
    return bool(getattr(user, "pandas", False))


def _lacks(function: Any, method: str) -> bool:
    found = getattr(type(function), method, None)
    # the base classes have it only to say that it is missing
    return found is None or str(found.__module__).startswith("headrace.api.table.")


class UserArguments:
    """How a user's function sees the columns of a line.

    Args:
        fields: names and types of the columns.
        zone: of the session.
        takes_row: whether it sees them as one Row.
    """

    def __init__(self, fields: Fields, zone: tzinfo, *, takes_row: bool) -> None:
        self.names = [name for name, _ in fields]
        self.types = [kind for _, kind in fields]
        self.zone = zone
        self.takes_row = takes_row
        self._readers = [user_reader(kind, zone) for kind in self.types]

    def of(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """The arguments of a line."""
        pairs = zip(self._readers, values, strict=True)
        found = tuple(v if read is None or v is None else read(v) for read, v in pairs)
        return (Row.of_values(found, self.names),) if self.takes_row else found


class UserAggregate(LineAggregate):
    """A function with an accumulator.

    Args:
        function: what is called.
        codec: converts results.
        arguments: what it sees.
        result: the type of results.
    """

    has_value_of_nothing = False

    def __init__(
        self, function: Any, codec: ColumnCodec, arguments: UserArguments, result: DataType
    ) -> None:
        super().__init__(codec)
        self.function = function
        self.arguments = arguments
        self._to_line: Callable[[Any], Any] | None = to_line_value(result)

    def create(self) -> Any:
        return self.function.create_accumulator()

    def accumulate(self, state: Any, arguments: tuple[Any, ...]) -> Any:
        self.function.accumulate(state, *self.arguments.of(arguments))
        return state

    def retract(self, state: Any, arguments: tuple[Any, ...]) -> Any:
        self.function.retract(state, *self.arguments.of(arguments))
        return state

    def merge(self, state: Any, other: Any) -> Any:
        self.function.merge(state, [other])
        return state

    def value(self, state: Any) -> Any:
        found = self.function.get_value(state)
        if found is None or self._to_line is None:
            # a part of the accumulator would change with it
            return copy.deepcopy(found) if isinstance(found, list | dict) else found
        return self._to_line(found)

    def stored(self, state: Any) -> Any:
        return packed(state)

    def loaded(self, stored: Any) -> Any:
        return unpacked(stored)

    def run(self, lines: ArgumentLines, segments: KeySegments, states: Sequence[Any]) -> Running:
        return self.run_by_row(lines.for_users(), segments, states)

    def column(self, values: NDArray[Any], valid: NDArray[Any] | None) -> pa.Array:
        return self.result.to_arrow(values.tolist())


class PandasAggregate(UserAggregate):
    """A function of whole columns: the state is the lines so far."""

    def create(self) -> list[tuple[Any, ...]]:
        return []

    def accumulate(self, state: list[Any], arguments: tuple[Any, ...]) -> list[Any]:
        state.append(arguments)
        return state

    def retract(self, state: list[Any], arguments: tuple[Any, ...]) -> list[Any]:
        if arguments in state:
            state.remove(arguments)
        return state

    def merge(self, state: list[Any], other: list[Any]) -> list[Any]:
        return [*state, *other]

    def value(self, state: list[Any]) -> Any:
        if not state:
            return None
        accumulator = self.function.create_accumulator()
        self.function.accumulate(accumulator, *self._columns(state))
        found = self.function.get_value(accumulator)
        found = found.item() if hasattr(found, "item") else found
        return found if found is None or self._to_line is None else self._to_line(found)

    def _columns(self, state: list[tuple[Any, ...]]) -> list[Any]:
        from headrace.data.row_data import column_of

        pairs = zip(zip(*state, strict=True), self.arguments.types, strict=True)
        zone = self.arguments.zone
        found = [pandas_of(column_of(t).to_arrow(list(c)), t, zone) for c, t in pairs]
        if not self.arguments.takes_row:
            return found
        import pandas as pd

        return [pd.DataFrame(dict(zip(self.arguments.names, found, strict=True)))]

    def stored(self, state: Any) -> Any:
        return state

    def loaded(self, stored: Any) -> Any:
        return stored
