"""Expressions as Spark columns: the third body of every function of expr/functions.py.

In: a node.  Out: a pyspark Column.  Next: hosts/spark/native/steps.py applies them.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, assert_never

from pyspark.sql import functions as F

from headrace.errors import InternalError
from headrace.expr.functions import function
from headrace.expr.nodes import (
    Aggregate,
    AggregateKind,
    CallNode,
    ConstantNode,
    FieldNode,
    Node,
    WindowBound,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column as SparkColumn

# columns, then plain constants, as in expr/functions.py
BODIES: dict[str, Callable[..., SparkColumn]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
    "and": operator.and_,
    "or": operator.or_,
    "not": operator.invert,
    "is_null": lambda column: column.isNull(),
    "isin": lambda column, options: column.isin(*options),
    "rlike": lambda column, pattern: column.rlike(pattern),
    "startswith": lambda column, prefix: column.startswith(prefix),
    "upper": F.upper,
    "lower": F.lower,
}
AGGREGATES: dict[AggregateKind, Callable[[Any], SparkColumn]] = {
    AggregateKind.COUNT: F.count,
    AggregateKind.SUM: F.sum,
    AggregateKind.MIN: F.min,
    AggregateKind.MAX: F.max,
    AggregateKind.AVG: F.avg,
}


def column_of(node: Node) -> SparkColumn:
    """The Spark column of an expression."""
    match node:
        case FieldNode():
            return F.col(f"`{node.name}`")
        case ConstantNode():
            return F.lit(node.value)
        case Aggregate():
            of = F.lit(1) if node.argument is None else column_of(node.argument)
            return AGGREGATES[node.kind](of)
        case CallNode():
            called = function(node.function)
            count = len(node.arguments) - called.constants
            columns = [column_of(part) for part in node.arguments[:count]]
            return BODIES[node.function](*columns, *called.given(node))
        case WindowBound():
            msg = f"{text_of(node)} is taken out in front: datastream/window_select.py"
            raise InternalError(msg)
    assert_never(node)
