"""Calls table functions of users: each line's arguments in, any number of lines out.

A function gives a list, range or iterator of lines, one line alone, or None for none.  A line is a
tuple or Row of the function's columns; anything else is the value of its only one, as in PyFlink.
In: runtime/table/correlate.py.  Out: the place of its line for each result, and their columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.common.data_types import RowType
from headrace.common.types import Row
from headrace.data.line_values import to_line_value
from headrace.errors import UserFunctionError
from headrace.runtime.operators.base import user_error
from headrace.runtime.table.user_functions import function_context
from headrace.scalars.user_parts import user_reader
from headrace.scalars.values import python_values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from headrace.common.data_types import DataType
    from headrace.data.columns import ColumnCodec
    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.scalars.session import ScalarSession

    Change = Callable[[Any], Any] | None


class UserTable:
    """One table function in one subtask.

    Args:
        user: what `udtf` made, or an object with `eval`.
        types: of its arguments.
        results: the types of its columns.
        codecs: of its columns.
        session: of the query.
    """

    def __init__(
        self,
        user: Any,
        types: Sequence[DataType],
        results: Sequence[DataType],
        codecs: Sequence[ColumnCodec],
        session: ScalarSession,
    ) -> None:
        definition = getattr(user, "_definition", user)
        self.function = getattr(definition, "function", definition)
        self.types = tuple(types)
        self.codecs = tuple(codecs)
        zone = session.zone
        self._give = [user_reader(kind, zone) for kind in types]
        self._take = [to_line_value(kind) for kind in results]
        whole = len(types) == 1 and isinstance(types[0], RowType)
        self._wraps = bool(getattr(definition, "takes_row", False)) and not whole
        self._row_names = list(getattr(definition, "row_names", ())) or None

    def open(self, runtime: OperatorRuntime) -> None:
        """Open the function."""
        self.runtime = runtime
        opening = getattr(self.function, "open", None)
        if callable(opening):
            try:
                opening(function_context(runtime))
            except Exception as error:
                raise user_error(error, runtime, None) from error
        self.eval: Callable[..., Any] = getattr(self.function, "eval", self.function)

    def call(self, given: list[pa.Array], count: int) -> tuple[NDArray[np.int64], list[pa.Array]]:
        """The results of so many lines: the place of its line for each, and their columns."""
        counts: list[int] = []
        found: list[tuple[Any, ...]] = []
        one: Any = None
        try:
            for one in self._arguments(given, count):
                before = len(found)
                found.extend(self._lines(self.eval(*one)))
                counts.append(len(found) - before)
        except Exception as error:
            raise user_error(error, self.runtime, one) from error
        places = np.repeat(np.arange(count), counts)
        columns: list[Any] = list(zip(*found, strict=True)) or [()] * len(self.codecs)
        made = [
            codec.to_arrow(_changed(list(column), change))
            for codec, column, change in zip(self.codecs, columns, self._take, strict=True)
        ]
        return places, made

    def _arguments(self, given: list[pa.Array], count: int) -> Iterable[tuple[Any, ...]]:
        if not given:
            return [()] * count
        columns = [
            _changed(python_values(array, kind), change)
            for array, kind, change in zip(given, self.types, self._give, strict=True)
        ]
        lines = zip(*columns, strict=True)
        if not self._wraps:
            return lines
        return ((Row.of_values(line, self._row_names),) for line in lines)

    def _lines(self, results: Any) -> Iterable[tuple[Any, ...]]:
        if results is None:
            return ()
        if isinstance(results, list | range | Iterator):
            return map(self._line, results)
        return (self._line(results),)

    def _line(self, result: Any) -> tuple[Any, ...]:
        values = result if isinstance(result, tuple) else (result,)
        if isinstance(result, Row):
            values = tuple(result)
        if len(values) == len(self.codecs):
            return values
        raise UserFunctionError(
            f"a table function gave {result!r:.100} where a line of {len(self.codecs)} columns is "
            "expected",
            fix="yield tuples with a value for each of its result types",
        )

    def close(self) -> None:
        """Close the function."""
        closing = getattr(self.function, "close", None)
        if callable(closing):
            closing()


def _changed(values: list[Any], change: Change) -> list[Any]:
    if change is None:
        return values
    return [None if value is None else change(value) for value in values]
