"""Literals of statements as scalars with their types.

In: literals of the syntax tree.  Out: `Literal` scalars.  Next: expressions.py
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, assert_never

from headrace.common import data_types as t
from headrace.rel.resolve.problems import problem
from headrace.scalars.casting.times import read_wall
from headrace.scalars.moments import wall_of
from headrace.scalars.nodes import Cast, Literal
from headrace.sql.api_ast import TypedLiteral
from headrace.sql.ast import IntervalLiteral, LiteralKind, SqlLiteral

if TYPE_CHECKING:
    from headrace.scalars.nodes import Scalar
    from headrace.sql.ast import SqlExpression

_INT_LIMIT = 1 << 31
_BIGINT_LIMIT = 1 << 63


def literal_of(node: SqlLiteral, *, negative: bool = False) -> Scalar:
    """A constant with its type; a minus in front of a number is part of it."""
    value = node.value
    match node.kind:
        case LiteralKind.INTEGER:
            assert isinstance(value, int)
            return _whole(-value if negative else value, node)
        case LiteralKind.DECIMAL:
            assert isinstance(value, Decimal)
            if node.text.endswith("."):
                return _whole(int(-value if negative else value), node)
            return _decimal(-value if negative else value, node)
        case LiteralKind.DOUBLE:
            assert isinstance(value, float)
            return Literal(-value if negative else value, t.DoubleType().not_null())
        case LiteralKind.STRING:
            text = str(value)
            kind = t.CharType(len(text)).not_null() if text else t.CharType(1).not_null()
            return Literal(text, kind)
        case LiteralKind.BOOLEAN:
            return Literal(value, t.BooleanType().not_null())
        case LiteralKind.NULL:
            return Literal(None, t.NullType())
        case LiteralKind.DATE:
            return Literal(value, t.DateType().not_null())
        case LiteralKind.TIME:
            return Literal(value, t.TimeType(node.precision).not_null())
        case LiteralKind.TIMESTAMP:
            if node.precision > 6:
                value = wall_of(read_wall(node.text), node.precision)
            return Literal(value, t.TimestampType(node.precision).not_null())
        case LiteralKind.TIMESTAMP_LTZ:
            local = Literal(value, t.TimestampType(node.precision).not_null())
            return Cast(local, t.LocalZonedTimestampType(node.precision).not_null())
        case LiteralKind.BINARY:
            assert isinstance(value, bytes)
            return Literal(value, t.BinaryType(max(1, len(value))).not_null())
    assert_never(node.kind)


def _whole(value: int, node: SqlLiteral) -> Literal:
    if -_INT_LIMIT <= value < _INT_LIMIT:
        return Literal(value, t.IntType().not_null())
    if -_BIGINT_LIMIT <= value < _BIGINT_LIMIT:
        return Literal(value, t.BigIntType().not_null())
    return _decimal(Decimal(value), node)


def _decimal(value: Decimal, node: SqlLiteral) -> Literal:
    _, digits, exponent = value.as_tuple()
    scale = max(0, -int(exponent))
    # a zero in front of the point counts, too: 0.1 is DECIMAL(2, 1), and .1 is DECIMAL(1, 1)
    written = len(node.text.replace(".", "")) if node.text.replace(".", "").isdigit() else 0
    precision = max(len(digits) + max(0, int(exponent)), scale, written)
    if precision > 38:
        raise problem(f"{node.text} has more than 38 digits", node, "use a DOUBLE: 1E0")
    return Literal(value, t.DecimalType(precision, scale).not_null())


def interval_of(node: IntervalLiteral) -> Literal:
    """An interval: months, or milliseconds."""
    month, second = t.DataTypes.MONTH(), t.DataTypes.SECOND(3)
    kind = t.DataTypes.INTERVAL(month if node.in_months else second)
    return Literal(node.amount, kind.not_null())


def milliseconds(node: SqlExpression, what: str) -> int:
    """An interval of days and seconds, as window sizes and bounds are.

    Raises:
        SqlError: it is something else.
    """
    if isinstance(node, IntervalLiteral) and not node.in_months:
        return node.amount
    if isinstance(node, TypedLiteral) and isinstance(node.type, t.DayTimeIntervalType):
        return int(node.value)
    raise problem(f"{what} is an interval of time, such as INTERVAL '10' MINUTES", node)


def whole_number(node: SqlExpression, what: str) -> int:
    """A number that stands in the text.

    Raises:
        SqlError: it is something else.
    """
    if isinstance(node, SqlLiteral) and isinstance(node.value, int):
        return node.value
    raise problem(f"{what} is a whole number", node)
