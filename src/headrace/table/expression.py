"""``Expression``: what ``col``, ``lit`` and functions of them give.

In: columns and values.  Out: nodes of the syntax tree, for the resolver.
Next: table/expressions.py has the functions, table/expressing/ the methods by topic
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headrace.errors import ArgumentTypeError, InvalidArgumentError
from headrace.sql.api_ast import AliasedExpression, TypedCast
from headrace.sql.ast import NamedArgument, SortItem
from headrace.table.expressing.aggregates import AggregateExpressions
from headrace.table.expressing.arithmetic import NumberExpressions
from headrace.table.expressing.base import expression, operand, written
from headrace.table.expressing.composed import BitmapExpressions, ComposedExpressions
from headrace.table.expressing.texts import TextExpressions
from headrace.table.expressing.times import TimeExpressions
from headrace.table.expressing.units import (
    JsonExistsOnError,
    JsonOnNull,
    JsonQueryOnEmptyOrError,
    JsonQueryWrapper,
    JsonType,
    JsonValueOnEmptyOrError,
    TimeIntervalUnit,
    TimePointUnit,
)

if TYPE_CHECKING:
    from headrace.common.data_types import DataType

__all__ = [
    "Expression",
    "JsonExistsOnError",
    "JsonOnNull",
    "JsonQueryOnEmptyOrError",
    "JsonQueryWrapper",
    "JsonType",
    "JsonValueOnEmptyOrError",
    "TimeIntervalUnit",
    "TimePointUnit",
]

T = TypeVar("T")


class Expression(
    NumberExpressions,
    TextExpressions,
    TimeExpressions,
    ComposedExpressions,
    BitmapExpressions,
    AggregateExpressions,
    Generic[T],
):
    """A value of every line of a table, not yet computed.

    Example:
        >>> from headrace.table.expressions import col
        >>> str((col("price") * 2).alias("double"))
        "as(times(price, 2), 'double')"
    """

    # equality makes an expression, so expressions cannot be keys
    __hash__ = None  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Expression[Any]:
        if name.startswith("_"):  # copy, pickle and debuggers ask for such names
            raise AttributeError(name)
        return self.get(name)

    def __getitem__(self, index: Any) -> Expression[Any]:
        return self.at(index)

    def __iter__(self) -> Any:
        msg = f"{self} is one value, not several"
        raise ArgumentTypeError(msg, fix="call at(i) for an item of an array")

    def alias(self, name: str, *extra_names: str) -> Expression[T]:
        """The same under a name; several are for the columns of a table function."""
        names = (name, *extra_names)
        if not all(isinstance(each, str) for each in names):
            raise InvalidArgumentError(f"names of columns are text, not {names}")
        text = f"as({', '.join([str(self), *(str(operand(each)) for each in names)])})"
        return expression(AliasedExpression(self._value, names), text)

    def as_argument(self, name: str) -> Expression[Any]:
        """This as the argument of that name in a call."""
        return expression(NamedArgument(name, self._value), f"ASSIGNMENT({operand(name)}, {self})")

    def cast(self, data_type: DataType) -> Expression[Any]:
        """As another type; an error at run time if that cannot be done."""
        return expression(TypedCast(self._value, data_type), f"cast({self}, {data_type})")

    def try_cast(self, data_type: DataType) -> Expression[Any]:
        """As another type; NULL if that cannot be done."""
        node = TypedCast(self._value, data_type, lenient=True)
        return expression(node, f"TRY_CAST({self}, {data_type})")

    @property
    def asc(self) -> Expression[Any]:
        """In rising order, for order_by."""
        return expression(SortItem(self._value), written("asc", self))

    @property
    def desc(self) -> Expression[Any]:
        """In falling order, for order_by."""
        return expression(SortItem(self._value, descending=True), written("desc", self))
