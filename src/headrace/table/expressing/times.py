"""Days, times, intervals and time attributes of expressions.  Next: table/expressing/composed.py"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from headrace.common import data_types as t
from headrace.sql.api_ast import TypedCast, WindowPropertyAccess
from headrace.sql.ast import BinaryOperation, FunctionCall, SqlKeyword, SqlLiteral, UnaryOperation
from headrace.table.expressing.base import ExpressionBase, UnaryProperty, expression, written
from headrace.table.expressing.literals import interval, months

if TYPE_CHECKING:
    from headrace.common.data_types import DataType
    from headrace.table.expressing.units import TimeIntervalUnit
    from headrace.table.expression import Expression


class _IntervalProperty(UnaryProperty):
    """So many units of time: milliseconds, or months."""

    def __init__(self, amount: int, *, in_months: bool = False) -> None:
        super().__init__("INTERVAL")
        self.amount, self.in_months = amount, in_months

    def __get__(self, instance: ExpressionBase | None, owner: type) -> Expression[Any]:
        """An interval; of a number that is no literal a product of it."""
        if instance is None:
            return self  # type: ignore[return-value]
        number = _whole_number(instance)
        make = months if self.in_months else interval
        if number is not None:
            return expression(make(number * self.amount), str(number * self.amount))
        node = BinaryOperation("*", instance._value, make(self.amount))
        return expression(node, f"times({instance}, {self.amount})")


class _CastProperty(UnaryProperty):
    def __init__(self, data_type: DataType) -> None:
        super().__init__("CAST")
        self.data_type = data_type

    def __get__(self, instance: ExpressionBase | None, owner: type) -> Expression[Any]:
        """The cast."""
        if instance is None:
            return self  # type: ignore[return-value]
        node = TypedCast(instance._value, self.data_type)
        return expression(node, f"cast({instance}, {self.data_type})")


class _WindowProperty(UnaryProperty):
    def __init__(self, what: Literal["start", "end", "rowtime", "proctime"]) -> None:
        super().__init__(what, what)
        self.what = what

    def __get__(self, instance: ExpressionBase | None, owner: type) -> Expression[Any]:
        """What is asked of a window, or the mark of a time attribute."""
        if instance is None:
            return self  # type: ignore[return-value]
        return expression(
            WindowPropertyAccess(instance._value, self.what), written(self.what, instance)
        )


def _whole_number(given: ExpressionBase) -> int | None:
    node, sign = given._node, 1
    if isinstance(node, UnaryOperation) and node.operator == "-":
        node, sign = node.operand, -1
    if isinstance(node, SqlLiteral) and isinstance(node.value, int):
        return sign * node.value
    return None


_SECOND = 1000
_DAY = 24 * 3600 * _SECOND


class TimeExpressions(ExpressionBase):
    """What days and times can do, and numbers that count them."""

    to_date = _CastProperty(t.DateType())
    to_time = _CastProperty(t.TimeType(0))
    to_timestamp = _CastProperty(t.TimestampType(3))

    start = _WindowProperty("start")
    end = _WindowProperty("end")
    rowtime = _WindowProperty("rowtime")
    proctime = _WindowProperty("proctime")

    year = years = _IntervalProperty(12, in_months=True)
    quarter = quarters = _IntervalProperty(3, in_months=True)
    month = months = _IntervalProperty(1, in_months=True)
    week = weeks = _IntervalProperty(7 * _DAY)
    day = days = _IntervalProperty(_DAY)
    hour = hours = _IntervalProperty(3600 * _SECOND)
    minute = minutes = _IntervalProperty(60 * _SECOND)
    second = seconds = _IntervalProperty(_SECOND)
    milli = millis = _IntervalProperty(1)

    def extract(self, time_interval_unit: TimeIntervalUnit) -> Expression[Any]:
        """A part of a day or time, as a number."""
        unit = time_interval_unit.name
        node = FunctionCall(("EXTRACT",), (SqlKeyword(unit), self._value))
        return expression(node, f"extract({unit}, {self})")

    def floor(self, time_interval_unit: TimeIntervalUnit | None = None) -> Expression[Any]:
        """Rounded down: a number to a whole one, a time to a unit."""
        units = () if time_interval_unit is None else (time_interval_unit,)
        return self._call("FLOOR", "floor", *units)

    def ceil(self, time_interval_unit: TimeIntervalUnit | None = None) -> Expression[Any]:
        """Rounded up: a number to a whole one, a time to a unit."""
        units = () if time_interval_unit is None else (time_interval_unit,)
        return self._call("CEIL", "ceil", *units)
