"""Calls of the user's scalar functions: line by line, or with pandas for a batch at once.

A function is a `UserFunctionDefinition`.  It sees what PyFlink's functions see: Row for rows,
timedelta for intervals, timestamps of the session's zone.

In: scalars/compile.py.  Out: arrays and values.  Next: data/line_values.py
"""

from __future__ import annotations

import asyncio
import inspect
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headrace.common import data_types as t
from headrace.common.types import Row
from headrace.data.line_values import to_line_value
from headrace.errors import HeadraceError, TypeMismatchError, UserFunctionError
from headrace.scalars.frames import LineFrame
from headrace.scalars.parts import ConstantPart, Part
from headrace.scalars.values import arrow_column, arrow_type

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import tzinfo

    from headrace.api.table.definitions import UserFunctionDefinition
    from headrace.common.data_types import DataType
    from headrace.scalars.frames import ColumnFrame
    from headrace.scalars.parts import Datum, RowFunction
    from headrace.scalars.session import ScalarSession

    Change = Callable[[Any], Any]


class UserPart(Part):
    """A call of a function of the user."""

    vectorised = False

    def __init__(
        self,
        function: UserFunctionDefinition,
        arguments: list[Part],
        type_: DataType,
        session: ScalarSession,
    ) -> None:
        self.function = function
        self.arguments = arguments
        self.type = type_
        self._zone = session.zone
        self._calls = session.async_calls
        self._name = function.name
        self._pandas = function.pandas
        scalar: Any = function.function
        self._eval = scalar.eval
        self._wraps = function.takes_row and not _is_one_row(arguments)
        self._row_names = list(function.row_names) or None
        self._give = [user_reader(part.type, self._zone) for part in arguments]
        self._take = to_line_value(type_)

    def open(self, context: Any) -> None:
        """Opens the function."""
        self.function.function.open(context)

    def close(self) -> None:
        """Closes the function."""
        self.function.function.close()

    def datum(self, frame: ColumnFrame) -> Datum:
        """See Part."""
        if frame.length == 0:
            return pa.array([], arrow_type(self.type))
        if not self._pandas:
            return self._column(self.values(frame))
        given = [self._given(part, frame) for part in self.arguments]
        if self._wraps:
            import pandas as pd

            if self._row_names is not None:  # the columns of rows keep their own names
                named = zip(given, self._row_names, strict=True)
                given = [g if isinstance(g, pd.DataFrame) else g.rename(n) for g, n in named]
            given = [pd.concat(given, axis=1)]
        return self._whole(_arrow_of(self._call(*given), self.type), frame)

    def values(self, frame: ColumnFrame) -> list[Any]:
        """See Part."""
        if self._pandas:
            return super().values(frame)
        pairs = zip(self.arguments, self._give, strict=True)
        columns = [_all_changed(change, part.values(frame)) for part, change in pairs]
        lines = list(zip(*columns, strict=True)) if columns else [()] * frame.length
        if self._wraps:
            lines = [(self._row_of(line),) for line in lines]
        if inspect.iscoroutinefunction(self._eval):
            found = asyncio.run(self._all(lines))
        else:
            found = [self._call(*line) for line in lines]
        return _all_changed(self._take, found)

    async def _all(self, lines: list[tuple[Any, ...]]) -> list[Any]:
        """The results of an asynchronous function, in order."""
        slots = asyncio.Semaphore(self._calls.at_once)

        async def one(line: tuple[Any, ...]) -> Any:
            async with slots:
                try:
                    return await self._in_time(line)
                except Exception as error:
                    raise failed(self._name, line, error) from error

        return await asyncio.gather(*(one(line) for line in lines))

    async def _in_time(self, line: tuple[Any, ...]) -> Any:
        """The result of one call and of its retries, which have so long together."""
        limit = asyncio.timeout(self._calls.timeout_s or None)
        try:
            async with limit:
                return await self._tried(line)
        except TimeoutError:
            if not limit.expired():  # the function's own
                raise
            msg = f"Async function call has timed out for input: {list(line)}"
            raise TimeoutError(msg) from None

    async def _tried(self, line: tuple[Any, ...]) -> Any:
        """The result of one call, made again if it raises."""
        for _ in range(self._calls.retries):
            try:
                return await self._eval(*line)
            except Exception:
                await asyncio.sleep(self._calls.delay_s)
        return await self._eval(*line)

    def _given(self, part: Part, frame: ColumnFrame) -> Any:
        """An argument of a function of columns; constants are given as they are."""
        if isinstance(part, ConstantPart):
            return _changed(user_reader(part.type, self._zone), part.value)
        return pandas_of(part.array(frame), part.type, self._zone)

    def _call(self, *arguments: Any) -> Any:
        try:
            return self._eval(*arguments)
        except HeadraceError:
            raise
        except Exception as error:
            raise failed(self._name, arguments, error) from error

    def _column(self, values: list[Any]) -> pa.Array:
        try:
            return arrow_column(values, self.type)
        except Exception as error:
            message = f"function {self._name} gave a value that is no {self.type.nullable()}"
            fix = f"return values of {self.type.nullable()}, or declare another result_type"
            raise TypeMismatchError(message, fix=fix) from error

    def _whole(self, found: Any, frame: ColumnFrame) -> pa.Array:
        """What a function of columns gave, with the right type and length."""
        if isinstance(found, pa.ChunkedArray):
            found = found.combine_chunks()
        if not isinstance(found, pa.Array) or len(found) != frame.length:
            got = f"{len(found)} values" if isinstance(found, pa.Array) else type(found).__name__
            message = f"function {self._name} was given {frame.length} lines and gave {got}"
            raise TypeMismatchError(message, fix="return one value for each line")
        return found.cast(arrow_type(self.type))

    def row(self) -> RowFunction:
        """See Part."""
        if self._pandas or inspect.iscoroutinefunction(self._eval):
            return self._row_by_columns
        arguments = [part.row() for part in self.arguments]
        give, take, wraps = self._give, self._take, self._wraps

        def run(line: Sequence[Any]) -> Any:
            pairs = zip(arguments, give, strict=True)
            given = [_changed(change, part(line)) for part, change in pairs]
            found = self._call(*([self._row_of(given)] if wraps else given))
            return _changed(take, found)

        return run

    def _row_of(self, values: Sequence[Any]) -> Row:
        return Row.of_values(tuple(values), self._row_names)

    def _row_by_columns(self, line: Sequence[Any]) -> Any:
        return self.values(LineFrame(line))[0]


def _is_one_row(arguments: list[Part]) -> bool:
    return len(arguments) == 1 and isinstance(arguments[0].type, t.RowType)


def failed(name: str, arguments: Sequence[Any], error: Exception) -> UserFunctionError:
    """The error of a function that raised, with what it was given."""
    given = ", ".join(repr(argument)[:60] for argument in arguments)
    made = UserFunctionError(f"function {name} raised {type(error).__name__}: {error}")
    made.step = name
    made.record = f"({given})"
    made.original = f"{type(error).__name__}: {error}"
    return made


def _changed(change: Change | None, value: Any) -> Any:
    return value if value is None or change is None else change(value)


def _all_changed(change: Change | None, values: list[Any]) -> list[Any]:
    return values if change is None else [_changed(change, value) for value in values]


def user_reader(type_: DataType, zone: tzinfo) -> Change | None:
    """What makes a value for the user's functions; None if it is the same."""
    match type_:
        case t.LocalZonedTimestampType():
            return lambda value: value.astimezone(zone)
        case t.DayTimeIntervalType():
            return lambda value: timedelta(milliseconds=value)
        case t.ArrayType():
            element = user_reader(type_.element_type, zone)
            return element and (lambda values: [_changed(element, v) for v in values])
        case t.MapType():
            key, item = user_reader(type_.key_type, zone), user_reader(type_.value_type, zone)
            if key is None and item is None:
                return None
            return lambda found: {_changed(key, k): _changed(item, v) for k, v in found.items()}
        case t.RowType():
            return _row_reader(type_, zone)
        case _:
            return None


def _row_reader(type_: t.RowType, zone: tzinfo) -> Change:
    names = type_.field_names()
    changes = [user_reader(kind, zone) for kind in type_.field_types()]

    def change(values: Any) -> Row:
        pairs = zip(changes, values, strict=True)
        return Row.of_values(tuple(_changed(each, value) for each, value in pairs), names)

    return change


def pandas_of(column: pa.Array, type_: DataType, zone: tzinfo) -> Any:
    """A column for pandas functions: a series, or a data frame for rows."""
    if isinstance(type_, t.RowType):
        import pandas as pd

        parts = zip(column.flatten(), type_.fields, strict=True)
        return pd.DataFrame({f.name: pandas_of(part, f.data_type, zone) for part, f in parts})
    series = column.to_pandas(date_as_object=True)
    if isinstance(type_, t.LocalZonedTimestampType):
        return series.dt.tz_convert(zone)
    return series


def _arrow_of(found: Any, type_: DataType) -> Any:
    """What a pandas function gave as a column; anything else comes back as it is."""
    import pandas as pd

    if isinstance(found, pd.DataFrame) and isinstance(type_, t.RowType):
        columns = [found[name] for name in found.columns]
        pairs = zip(columns, type_.field_types(), strict=True)
        arrays = [_arrow_of(column, kind) for column, kind in pairs]
        return pa.StructArray.from_arrays(arrays, type_.field_names())
    if not isinstance(found, pd.Series):
        return found
    return pa.Array.from_pandas(found, type=arrow_type(type_), safe=False)
