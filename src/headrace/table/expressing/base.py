"""What an expression is: a node of the syntax tree, and how Flink writes it.

    col("a") + 1   ──▶   node   BinaryOperation("+", Identifier(("a",)), 1)
                         text   plus(a, 1)

In: operands, which may be Python values.  Out: `Expression` objects.
Next: table/expressing/literals.py makes nodes of values; table/expression.py is the public class
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from headrace.errors import ArgumentTypeError
from headrace.sql.ast import BinaryOperation, FunctionCall, SqlExpression, SqlKeyword

if TYPE_CHECKING:
    from headrace.sql.ast import SqlNode
    from headrace.table.expression import Expression


class ExpressionBase:
    """Holds a node and its text.

    Args:
        node: what the resolver sees.
        text: what ``str`` gives: Flink's summary of the same expression.
    """

    def __init__(self, node: SqlNode, text: str) -> None:
        self._node = node
        self._text = text

    @property
    def _value(self) -> SqlExpression:
        """The node, where a value is needed."""
        if not isinstance(self._node, SqlExpression):
            raise ArgumentTypeError(
                f"{self} is an order and has no value", fix="use asc and desc in order_by only"
            )
        return self._node

    def _call(self, function: str, name: str, *arguments: Any) -> Expression[Any]:
        """A call with this in front of the arguments: SQL's name, and Flink's for the text."""
        return called(function, name, self, *arguments)

    def _binary(
        self, sign: str, name: str, other: Any, *, reverse: bool = False
    ) -> Expression[Any]:
        left, right = operand(self), operand(other)
        if reverse:
            left, right = right, left
        return expression(
            BinaryOperation(sign, left._value, right._value), written(name, left, right)
        )

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Expression<{self._text}>"


class UnaryProperty:
    """A function of one argument that is written as a property: ``col("a").exp``."""

    def __init__(self, function: str, name: str | None = None) -> None:
        self.function = function
        self.name = function.lower() if name is None else name
        self.__doc__ = f"{function}: see docs/reference on the functions of SQL."

    def __get__(self, instance: ExpressionBase | None, owner: type) -> Expression[Any]:
        """The call; the property itself if it is asked of the class."""
        if instance is None:
            return self  # type: ignore[return-value]
        return instance._call(self.function, self.name)


def expression(node: SqlNode, text: str) -> Expression[Any]:
    """The public object of a node."""
    from headrace.table.expression import Expression

    return Expression(node, text)


def operand(value: Any) -> Expression[Any]:
    """An expression as it is; a value as a literal, a unit or a word as a keyword."""
    from headrace.table.expressing.literals import literal_of
    from headrace.table.expression import Expression

    if isinstance(value, Expression):
        return value
    if isinstance(value, Enum):
        return expression(SqlKeyword(value.name), value.name)
    node, text = literal_of(value)
    return expression(node, text)


def written(name: str, *operands: ExpressionBase) -> str:
    """How Flink writes a call."""
    return f"{name}({', '.join(map(str, operands))})"


def called(function: str, name: str | None = None, *arguments: Any) -> Expression[Any]:
    """A call of a function of SQL.

    Args:
        function: its name in SQL.
        name: its name in Flink's summaries; the same in small letters if it is None.
        arguments: expressions or values.
    """
    operands = [operand(argument) for argument in arguments]
    node = FunctionCall((function,), tuple(each._value for each in operands))
    return expression(node, written(function.lower() if name is None else name, *operands))
