"""Column expressions that need no running Spark: ``stream.filter(col("status") >= 500)``.

An expression is a recipe.  Right after a source Catalyst runs it (hosts/spark/native/columns.py
builds a Spark column from it); anywhere else it is evaluated in Python: over the columns of an
Arrow batch where records are one (expr/kernels.py), else record by record (expr/rows.py).  For more
than operators and a few functions, pass a pyspark Column instead: it runs natively only.

Aggregates (``count()``, ``col("value").sum()``) and the bounds of a window need a window:
``keyed.window(...).select(...)``; datastream/window_select.py takes them apart.  Next: nodes.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.common.call_site import call_site
from headrace.errors import InvalidArgumentError
from headrace.expr.nodes import (
    Aggregate,
    AggregateKind,
    BoundKind,
    CallNode,
    ConstantNode,
    FieldNode,
    WindowBound,
    children,
    text_of,
    walk,
)
from headrace.expr.rows import row_function
from headrace.expr.types import VALUE

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.expr.nodes import Node

__all__ = ["VALUE", "Expression", "col", "count", "lit", "window_end", "window_start"]


def col(name: str) -> Expression:
    """The field of a record with this name."""
    return Expression(FieldNode(name))


def lit(value: Any) -> Expression:
    """A constant."""
    return Expression(ConstantNode(value))


def count() -> Expression:
    """How many records a window holds."""
    return Expression(Aggregate(AggregateKind.COUNT))


def window_start() -> Expression:
    """Where the window begins, in epoch milliseconds."""
    return Expression(WindowBound(BoundKind.START))


def window_end() -> Expression:
    """Where the window ends, in epoch milliseconds; its last record is before that."""
    return Expression(WindowBound(BoundKind.END))


class Expression:
    """An operation on fields and constants; combine with operators, ``&``, ``|`` and ``~``."""

    __slots__ = ("_name", "_row", "node")

    def __init__(self, node: Node, name: str | None = None) -> None:
        self.node = node
        self._name = name
        # the node as a function of a record, made with the first one
        self._row: Callable[[Any], Any] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Expression, (self.node, self._name)

    def _binary(self, sign: str, other: Any) -> Expression:
        return Expression(CallNode(sign, (self.node, _node(other))))

    def _reversed(self, sign: str, other: Any) -> Expression:
        return Expression(CallNode(sign, (_node(other), self.node)))

    def _called(self, function: str, *constants: Any) -> Expression:
        return Expression(CallNode(function, (self.node, *map(ConstantNode, constants))))

    def _aggregated(self, kind: AggregateKind) -> Expression:
        return Expression(Aggregate(kind, self.node))

    def __eq__(self, other: object) -> Expression:  # type: ignore[override]
        return self._binary("==", other)

    def __ne__(self, other: object) -> Expression:  # type: ignore[override]
        return self._binary("!=", other)

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: Any) -> Expression:
        return self._binary("<", other)

    def __le__(self, other: Any) -> Expression:
        return self._binary("<=", other)

    def __gt__(self, other: Any) -> Expression:
        return self._binary(">", other)

    def __ge__(self, other: Any) -> Expression:
        return self._binary(">=", other)

    def __add__(self, other: Any) -> Expression:
        return self._binary("+", other)

    def __sub__(self, other: Any) -> Expression:
        return self._binary("-", other)

    def __mul__(self, other: Any) -> Expression:
        return self._binary("*", other)

    def __truediv__(self, other: Any) -> Expression:
        return self._binary("/", other)

    def __mod__(self, other: Any) -> Expression:
        return self._binary("%", other)

    def __radd__(self, other: Any) -> Expression:
        return self._reversed("+", other)

    def __rsub__(self, other: Any) -> Expression:
        return self._reversed("-", other)

    def __rmul__(self, other: Any) -> Expression:
        return self._reversed("*", other)

    def __rtruediv__(self, other: Any) -> Expression:
        return self._reversed("/", other)

    def __rmod__(self, other: Any) -> Expression:
        return self._reversed("%", other)

    def __neg__(self) -> Expression:
        return 0 - self

    def __and__(self, other: Any) -> Expression:
        return self._binary("and", other)

    def __or__(self, other: Any) -> Expression:
        return self._binary("or", other)

    def __invert__(self) -> Expression:
        return self._called("not")

    def __bool__(self) -> bool:
        raise InvalidArgumentError(
            "a column expression has no truth value before it runs",
            where=call_site(),
            fix="combine conditions with & | ~ instead of and, or, not",
        )

    def is_null(self) -> Expression:
        """Whether the field is None."""
        return self._called("is_null")

    def is_not_null(self) -> Expression:
        """Whether the field is not None."""
        return ~self.is_null()

    def isin(self, *values: Any) -> Expression:
        """Whether the field is one of some constants."""
        return self._called("isin", values)

    def rlike(self, pattern: str) -> Expression:
        """Whether a regular expression is found in the text."""
        return self._called("rlike", pattern)

    def startswith(self, prefix: str) -> Expression:
        """Whether the text starts with a prefix."""
        return self._called("startswith", prefix)

    def upper(self) -> Expression:
        """The text in capitals."""
        return self._called("upper")

    def lower(self) -> Expression:
        """The text in small letters."""
        return self._called("lower")

    def sum(self) -> Expression:
        """The sum over a window; None if there is nothing but None."""
        return self._aggregated(AggregateKind.SUM)

    def min(self) -> Expression:
        """The least value of a window; None if there is nothing but None."""
        return self._aggregated(AggregateKind.MIN)

    def max(self) -> Expression:
        """The greatest value of a window; None if there is nothing but None."""
        return self._aggregated(AggregateKind.MAX)

    def avg(self) -> Expression:
        """The mean over a window; None if there is nothing but None."""
        return self._aggregated(AggregateKind.AVG)

    def count(self) -> Expression:
        """How many values of a window are not None."""
        return self._aggregated(AggregateKind.COUNT)

    def alias(self, name: str) -> Expression:
        """The same under another name, for projections."""
        return Expression(self.node, name)

    @property
    def kind(self) -> str:
        """What it does: ``col``, ``lit``, an operator or the name of a function."""
        match self.node:
            case FieldNode():
                return "col"
            case ConstantNode():
                return "lit"
            case CallNode():
                return self.node.function
            case _:
                return str(self.node.kind)

    @property
    def arguments(self) -> tuple[Expression, ...]:
        """The expressions that it is made of."""
        return tuple(map(Expression, children(self.node)))

    @property
    def column_name(self) -> str | None:
        """The field, if this is a field and nothing more."""
        return self.node.name if isinstance(self.node, FieldNode) else None

    def fields(self) -> set[str]:
        """The fields of records that it reads."""
        return {part.name for part in walk(self.node) if isinstance(part, FieldNode)}

    @property
    def needs_window(self) -> bool:
        """Whether there are aggregates or the bounds of a window in it."""
        return any(isinstance(part, Aggregate | WindowBound) for part in walk(self.node))

    def evaluate(self, record: Any) -> Any:
        """The value for one record, in Python, with SQL's rules for None."""
        if self._row is None:
            self._row = row_function(self.node)
        return self._row(record)

    @property
    def output_name(self) -> str:
        """The name of the projected field."""
        if self._name is not None:
            return self._name
        return str(self.node.kind) if isinstance(self.node, WindowBound) else text_of(self.node)

    def __repr__(self) -> str:
        return text_of(self.node)


def _node(thing: Any) -> Node:
    return thing.node if isinstance(thing, Expression) else ConstantNode(thing)


def is_expression(thing: Any) -> bool:
    """Whether something is a column expression: ours, or a pyspark Column."""
    if isinstance(thing, Expression):
        return True
    return any(
        base.__name__ == "Column" and base.__module__.startswith("pyspark")
        for base in type(thing).__mro__
    )
