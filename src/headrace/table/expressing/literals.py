"""Python values as literals, and as Flink writes them.

In: what a program gives where an expression may stand.  Out: a node and its text.
Next: table/expressing/base.py
"""

from __future__ import annotations

import datetime
from array import array
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from headrace.common import data_types as t
from headrace.common.data_type_checks import _create_type_verifier
from headrace.common.data_type_inference import _array_type_mappings
from headrace.data.line_values import to_line_value
from headrace.errors import ArgumentTypeError
from headrace.sql.api_ast import TypedLiteral
from headrace.sql.ast import (
    ArrayConstructor,
    IntervalLiteral,
    MapConstructor,
    SqlExpression,
    UnaryOperation,
    literal,
)

if TYPE_CHECKING:
    from headrace.common.data_types import DataType

_MILLI = datetime.timedelta(milliseconds=1)
_PLAIN = (str, bytes, datetime.date, datetime.time, datetime.datetime)


def literal_of(value: Any) -> tuple[SqlExpression, str]:
    """The node of a value, and its text.

    Raises:
        TypeError: SQL has no literal of such a value.
    """
    match value:
        case None | bool():
            return literal(value), {None: "null", True: "true", False: "false"}[value]
        case int() | float() | Decimal():
            return _number(value), str(value)
        case bytearray():
            return literal_of(bytes(value))
        case datetime.datetime() if value.tzinfo is not None:
            local = _on_this_clock(value)
            return literal(local), str(local)
        case str():
            return literal(value), "'" + value.replace("'", "''") + "'"
        case datetime.timedelta():
            return interval(value // _MILLI), str(value // _MILLI)
        case array():
            kind = t.ArrayType(_array_type_mappings[value.typecode].not_null()).not_null()
            return TypedLiteral(list(value), kind), str(list(value))
        case list() | tuple():
            parts = [literal_of(item) for item in value]
            return ArrayConstructor(tuple(node for node, _ in parts)), _text("array", parts)
        case dict():
            entries = [(literal_of(k), literal_of(v)) for k, v in value.items()]
            node = MapConstructor(tuple((k[0], v[0]) for k, v in entries))
            return node, _text("map", [part for entry in entries for part in entry])
        case _ if isinstance(value, _PLAIN):
            return literal(value), str(value)
        case _:
            raise ArgumentTypeError(
                f"{value!r} of {type(value).__name__} cannot stand in an expression",
                fix="use col(name) for a column, lit(value) for numbers, text, dates and times",
            )


def typed_literal(value: Any, data_type: DataType) -> tuple[SqlExpression, str]:
    """The node of a value that is of a given type, and its text.

    Raises:
        TypeError: it is no type, or the value does not fit it.
    """
    if not isinstance(data_type, t.DataType):
        raise ArgumentTypeError(
            f"Unsupported data type: {data_type}", fix="use DataTypes, such as DataTypes.INT()"
        )
    if value is None:
        return TypedLiteral(None, data_type.nullable()), "null"
    if isinstance(data_type, t.MultisetType):
        raise ArgumentTypeError(
            "Non-null MULTISET literals are not supported", fix="use an ARRAY, or COLLECT"
        )
    if isinstance(data_type, t.TimestampType) and getattr(value, "tzinfo", None) is not None:
        value = _on_this_clock(value)
    _create_type_verifier(data_type, name="the literal")(value)
    convert = to_line_value(data_type)
    made = value if convert is None else convert(value)
    if isinstance(data_type, t.FloatType | t.DoubleType):
        made = float(made)
    return TypedLiteral(made, data_type), literal_text(value)


def _on_this_clock(value: datetime.datetime) -> datetime.datetime:
    """What the clock of this machine shows at a point in time, as Flink's client does."""
    return value.astimezone().replace(tzinfo=None)


def literal_text(value: Any) -> str:
    """How Flink writes a value; of those that only a type makes a literal as Python does."""
    try:
        return literal_of(value)[1]
    except ArgumentTypeError:
        return str(value)


def interval(amount_ms: int) -> IntervalLiteral:
    """An interval of milliseconds."""
    text = f"{abs(amount_ms) / 1000:.3f}"
    return IntervalLiteral(text, "SECOND", negative=amount_ms < 0, amount=amount_ms)


def months(amount: int) -> IntervalLiteral:
    """An interval of months."""
    return IntervalLiteral(str(abs(amount)), "MONTH", negative=amount < 0, amount=amount)


def _number(value: float | Decimal) -> SqlExpression:
    if value < 0:
        return UnaryOperation("-", literal(-value))
    return literal(value)


def _text(name: str, parts: list[tuple[SqlExpression, str]]) -> str:
    return f"{name}({', '.join(text for _, text in parts)})"
